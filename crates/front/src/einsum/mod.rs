//! The language of statements: `y(i) = A(i,j) * x(j)`.
//!
//! ```text
//! program    := statement ((newline | ';') statement)*          comments: # and // to the end of the line
//! statement  := access ('=' | '+=') expression
//! expression := term (('+' | '-') term)*
//! term       := factor (('*' | '/') factor)*
//! factor     := ('-' | '+') factor | primary
//! primary    := number | 'true' | 'false' | access | '(' expression ')'
//!             | function '(' expression (',' expression)* ')'
//!             | 'sum' '(' variable (',' variable)* ',' expression ')'
//!             | type '(' expression ')' | 'cast' '<' type '>' '(' expression ')'
//! access     := name | name '(' [variable (',' variable)*] ')' | name '[' [variable (',' variable)*] ']'
//! ```
//!
//! A newline ends a statement unless it is inside parentheses or follows an operator. In reading order: `lexer`, `ast`,
//! `parser`, `check` (names, sizes, types, formats), and `error`, the words of every mistake.

mod ast;
mod check;
mod declarations;
mod error;
mod lexer;
mod parser;

pub use ast::{Ast, BinaryOp, Expr, ExprKind, Name, Number, Statement};
pub(crate) use check::{Meaning, expression, meaning};
pub use check::{check, tensors};
pub use declarations::Declarations;
pub(crate) use error::{Error, SyntaxMistake};
pub(crate) use lexer::TokenKind;
pub use parser::parse;
pub(crate) use parser::{MAX_ERRORS, Parser};

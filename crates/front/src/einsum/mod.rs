//! The language of statements: `y(i) = A(i,j) * x(j)`.
//!
//! ```text
//! program    := (action | operator) ((newline | ';') action)*                comments: # and // to the end of the line
//! action     := statement | 'swap' name ',' name | 'print' name | 'clock' name | 'elapsed' name
//!             | 'read' name text | 'write' name text
//!             | 'for' name 'in' expression '..' expression block | 'while' condition block
//!             | 'if' condition block ['else' block | 'else' 'if' ...]
//! block      := '{' program '}'
//! condition  := 'not' condition | condition ('and' | 'or') condition | expression (sign expression)?
//!               sign: < <= > >= == !=
//! operator   := 'op' name '(' name (',' name)* ')' ['=' expression] ['{' item (',' item)* '}']     before its first use
//! item       := ('identity' | 'annihilator') constant | 'commutative' | 'associative' | 'idempotent'
//!             | ('both' | 'left' | 'right' | 'neither' | 'present' | 'absent' | 'at' '(' [name (',' name)*] ')') expression
//! statement  := access ('=' | '+=') expression
//! expression := term (('+' | '-') term)*
//! term       := factor (('*' | '/') factor)*
//! factor     := ('-' | '+') factor | primary
//! primary    := number | 'inf' | 'true' | 'false' | access | '(' expression ')'
//!             | function '(' expression (',' expression)* ')'
//!             | 'sum' '(' variable (',' variable)* ',' expression ')'
//!             | type '(' expression ')' | 'cast' '<' type '>' '(' expression ')'
//! access     := name | name '(' [variable (',' variable)*] ')' | name '[' [variable (',' variable)*] ']'
//! ```
//!
//! A newline ends a statement unless it is inside parentheses or follows an operator. In reading order: `lexer`, `ast`,
//! `action`, `parser`, `check` (names, sizes, types, formats), and `error`, the words of every mistake.

mod action;
mod affine;
mod ast;
mod brackets;
mod check;
mod declarations;
mod error;
mod lexer;
pub mod operators;
mod parser;
mod places;

pub use action::{Action, ActionKind};
pub(crate) use ast::MAX_HEIGHT;
pub use ast::{Ast, BinaryOp, Bodies, Callee, Declared, Expr, ExprKind, Name, Number, Statement};
pub use brackets::Bracket;
pub(crate) use check::{Meaning, Typing, check_tree, confined, expression, meaning, tells};
pub use check::{carried, check, index_tensors, tensors};
pub use declarations::{Declarations, Language};
pub(crate) use error::{Error, SyntaxMistake};
pub(crate) use lexer::TokenKind;
pub(crate) use parser::{MAX_ERRORS, Parser};
pub use parser::{parse, parse_with};

//! Concrete notation as text: loops, workspaces and their order, as `--emit concrete` prints them and as taco does.
//!
//! ```text
//! statement := 'forall' '(' variable ',' statement (',' tag)* ')'
//!            | 'where' '(' consumer ',' producer ')'
//!            | 'sequence' '(' [statement (',' statement)*] ')'
//!            | 'suchthat' '(' statement ',' relation ('and' relation)* ')'       outermost only
//!            | 'assemble' '(' query ',' statement ')'                            outermost only, taco's
//!            | access ('=' | '+=' | ...) expression
//! tag       := unit ',' race | 'unroll' [number] | 'coiterate' | 'gallop' | 'bitmap'
//! relation  := 'split' '(' variable ',' variable ',' variable ',' number ')' and other commands that make variables
//!            | 'rename' '(' variable ',' variable ')'                            `precompute` in taco
//! ```
//!
//! The same may be written in lines, where a deeper line belongs to the line above it; `such that` and `and` begin the lines of
//! relations, and a line for each tensor tells its format:
//!
//! ```text
//! forall i (cpu, none)
//!   where
//!     forall j
//!       t += A(i,j) * x(j)
//!   do
//!     y(i) = t
//! y: f64 dense result 5
//! A: f64 csr input 5x7
//! ```
//!
//! A statement of this language is one of a program. Its *meaning* is a statement of index notation, which is checked as any
//! other; its loops are carried out as they are written. In reading order: `ast`, `parser`, `targets`, `lines`, `sources`, `meaning` (to index
//! notation), `resolve` (to [`lacunar_notation::concrete`]), and `error`, the words of every mistake.
//!
//! Papers: Kjolstad et al. 2019, §3 (the language); Senanayake et al. 2020, §4 (`suchthat`).
//!
//! ```
//! use lacunar_front::{Declarations, check};
//! let text = "forall(i, forall(j, y(i) += A(i,j) * x(j)))";
//! let program = check(text, &Declarations::new()).unwrap();
//! assert_eq!(program.statement_text(&program.statements[0]), "y(i) = sum(j, A(i,j) * x(j))");
//! assert_eq!(program.loops[0].1.stmt_text(), text);
//! ```

mod ast;
mod error;
mod lines;
mod meaning;
mod parser;
mod resolve;
mod sources;
mod targets;
mod terms;
mod vars;

pub use ast::Nest;
pub(crate) use error::Mistake;
pub use lines::{Line, LineRole};
pub(crate) use lines::{split, update};
pub(crate) use parser::{begins, statement};
pub(crate) use resolve::resolve;
pub(crate) use sources::read_sources;

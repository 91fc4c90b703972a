//! The language of schedules: `split(i, i0, i1, 32), parallelize(i0, cpu)`.
//!
//! ```text
//! schedule := [command] ((',' | ';' | newline) [command])*      comments: # and // to the end of the line
//! command  := [statement ':'] name '(' [argument (',' argument)*] ')'
//! argument := expression | number 'threads' | '{' [name (',' name)*] '}' | '[' [name (',' name)*] ']'
//! ```
//!
//! `statement` is the result of one, or its number from 1; it is needed if several statements have the variables that the command
//! names. Names of commands and of their words (`cpu`, `atomics`, ...) may be written in capitals or not, and in taco's spelling
//! (`CPUThread`). `docs/schedules.md` explains the meaning of each command.
//!
//! In reading order: `parser` (text to calls), `ast`, `forms` (the arguments of each command), `scope` (the variables after each
//! command), `resolve` (names of the program), and `error`, the words of every mistake. The compiler decides if a transformation is
//! legal; this language decides only if it has a meaning.
//!
//! ```
//! use lacunar_front::{Declarations, check, schedule};
//! let program = check("y(i) = A(i,j) * x(j)", &Declarations::new()).unwrap();
//! let schedules = schedule::check("split(i,i0,i1,32), parallelize(i0, CPUThread, NoRaces)", &program).unwrap();
//! assert_eq!(program.schedule_text(&schedules[0]), "split(i, i0, i1, 32), parallelize(i0, cpu, none)");
//! ```

mod ast;
mod error;
mod forms;
mod parser;
mod resolve;
mod scope;

pub use ast::{Argument, Ast, Call};
pub(crate) use error::Error;
pub(crate) use forms::{Form, MERGES, RACES, UNITS};
pub use parser::parse;
pub use resolve::check;

/// Reads one command inside of another language's text, up to its closing parenthesis.
pub(crate) fn command(parser: &mut crate::einsum::Parser<'_>) -> Result<Form, Error> {
    forms::form(&parser::read_call(parser)?)
}

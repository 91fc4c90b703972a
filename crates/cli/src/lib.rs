//! The command `lacunar`: `run`, `compile` and `tune` programs, `convert`, describe (`info`) and `plot` files.
//!
//! In reading order: [`args`], the command line; [`program`] and [`request`], the program and the flags in it;
//! [`inputs`], tensors from files and made-up ones; `run`, `compile` and `tune`, which put the library's pieces
//! together; `measure`, `report` and `check`, the messages about a run; [`failure`] and [`replay`], the messages when
//! something goes wrong.
//!
//! Exit codes: 0 done; 1 a difference found by `--check`, or a property by `--check-algebra` that does not hold; 2 a mistake in the user's
//! text; 3 a file that can't be read or is malformed; 4 out of memory or a size that does not fit; 70 an internal error.

mod algebra;
pub mod args;
mod check;
mod compile;
mod convert;
mod emit;
pub mod failure;
mod flops;
mod info;
pub mod inputs;
mod measure;
mod output;
mod picture;
pub mod plot;
mod prepare;
pub mod program;
mod recommend;
pub mod replay;
mod report;
pub mod request;
mod run;
mod sample;
mod schemas;
mod structured;
mod tune;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Command};
use crate::failure::Failure;
use crate::program::Program;

/// Runs the command on its arguments, the command's own name first. Messages go to standard error.
pub fn main(argv: Vec<OsString>) -> ExitCode {
    let code = replay::guarded(&argv, &replay::places(), || match execute(&argv) {
        Ok(()) => 0,
        Err(failure) => {
            failure.print(failure::is_colored());
            if failure.code() == failure::INTERNAL {
                replay::write_and_tell(&argv, &replay::places(), &failure.to_string());
            }
            failure.code()
        }
    });
    ExitCode::from(code)
}

fn execute(argv: &[OsString]) -> Result<(), Failure> {
    let cli = Cli::try_parse_from(argv)?;
    match &cli.command {
        Command::Run(args) | Command::Compile(args) => with_program(argv, &args.program, &cli.command),
        Command::Tune(args) => with_program(argv, &args.program.program, &cli.command),
        Command::Convert(args) => schemas::define(&args.schemas).and_then(|()| convert::convert(args)),
        Command::Info(args) => schemas::define(&args.schemas).and_then(|()| info::info(args)),
        Command::Plot(args) => schemas::define(&args.schemas).and_then(|()| picture::plot(args)),
    }
}

/// Opens the program that the arguments name; where it is a file with flags in it, these come before the command's own,
/// so that the command line has the last word.
fn with_program(argv: &[OsString], name: &str, command: &Command) -> Result<(), Failure> {
    let program = Program::open(name)?;
    if program.flags.is_empty() {
        return on_program(&program, command).map_err(|failure| program.placed(failure));
    }
    let (head, tail) = argv.split_at(argv.len().min(2));
    let flags = program.flags.iter().map(OsString::from);
    let cli = Cli::try_parse_from(head.iter().cloned().chain(flags).chain(tail.iter().cloned()))
        .map_err(|error| Failure::Usage { error, file: Some(program.origin.clone()) })?;
    on_program(&program, &cli.command).map_err(|failure| program.placed(failure))
}

fn on_program(program: &Program, command: &Command) -> Result<(), Failure> {
    match command {
        Command::Run(args) | Command::Compile(args) => schemas::define(&args.schemas)?,
        Command::Tune(args) => schemas::define(&args.program.schemas)?,
        Command::Convert(_) | Command::Info(_) | Command::Plot(_) => {}
    }
    match command {
        Command::Run(args) | Command::Compile(args) if args.check_algebra => algebra::algebra(program),
        Command::Run(args) => run::run(program, args),
        Command::Compile(args) => compile::compile(program, args),
        Command::Tune(args) => tune::tune(program, args),
        // The first two words are those that were parsed before.
        Command::Convert(_) | Command::Info(_) | Command::Plot(_) => Ok(()),
    }
}

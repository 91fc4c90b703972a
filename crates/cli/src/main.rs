//! The command `lacunar`: everything is in the library of this package, so that tests can reach it.

use std::process::ExitCode;

fn main() -> ExitCode {
    lacunar_runtime::scratch::remove_on_signals();
    lacunar_cli::main(std::env::args_os().collect())
}

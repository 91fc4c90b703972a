//! Kernels printed as C, compiled by the system's compiler and run: the text itself, alone, with a runtime table, and
//! against the interpreter.

mod common;
mod differential;
mod golden;
mod standalone;
mod with_runtime;

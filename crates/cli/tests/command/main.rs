//! The command as its users meet it: run as a process, in folders with small files.

#![allow(clippy::unwrap_used)]

mod algebra;
mod common;
mod files;
#[cfg(all(feature = "llvm", target_arch = "x86_64", target_os = "linux"))]
mod library;
mod machine;
mod mistakes;
mod outputs;
mod programs;
mod rules;
mod run;
mod schemas;
mod ship;
mod structures;
mod tune;
#[cfg(all(feature = "llvm", target_os = "linux"))]
mod visible;

//! Machine code by LLVM: against the interpreter, under threads, in vectors, out of memory, and shipped.
//!
//! One program: each that links LLVM or all of the runtime takes seconds to link.

mod common;
mod differential;
mod failures;
mod kernels;
mod parallel;
mod ship;
mod vector;

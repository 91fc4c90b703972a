//! The imperative IR: text, verifier, interpreter and passes, from outside.
//!
//! One program: each that links LLVM or all of the runtime takes seconds to link.

mod generated;
mod interpreter;
mod passes;
mod text;
mod verifier;

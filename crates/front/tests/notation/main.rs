//! Tests of the front end: programs are checked, printed and read back.
//!
//! One program: each that links LLVM or all of the runtime takes seconds to link.

mod check;
mod properties;
mod schedules;
mod words;

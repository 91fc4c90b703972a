//! The public interface, as other programs use it.
//!
//! One program: each that links LLVM or all of the runtime takes seconds to link.

mod again;
mod auto;
mod caches;
mod early;
mod errors;
mod fill;
mod gathers;
#[cfg(all(feature = "llvm", target_os = "linux", target_pointer_width = "64"))]
mod huge;
mod interop;
mod kinds;
mod language;
mod nodes;
mod operands;
mod operators;
mod phases;
mod programs;
mod prune;
mod reuse;
mod schedules;
mod sizes;
mod structure;
mod tensor;
mod tune;
mod widths;

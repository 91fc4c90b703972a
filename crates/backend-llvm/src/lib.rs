//! LLVM back end of Lacunar: native code in the process, assembly, objects.
//!
//! Reading order: `emit` turns a function of the imperative IR into an LLVM module, `optimize` runs LLVM's passes over
//! it, `machine` turns it into an object file for a processor, and `jit` loads that object into the process; `stored` keeps it for later
//! ones, and `visible` tells perf and gdb its name. `ship` makes objects for other programs, with versions for several processors.
//!
//! # The interface of a kernel
//!
//! A kernel is a C function `int32_t kernel(uint64_t *args)`. `args[0]` points to the runtime table (see
//! `emit/runtime.rs`); then follow, for each parameter in order, two words for an array (pointer to the data, capacity
//! in elements) or one for a scalar. Pointer and capacity of `Grown` arrays are written whenever they change, so that
//! the caller can release them whether the kernel succeeded or not. The return value is 0 or a [`lacunar_imp::Status`].
//!
//! The body of a parallel loop is a function of its own, which the kernel passes to the runtime's `parallel`. So a
//! kernel uses as many threads as the runtime in its table decides, and so does code that was stored or shipped.
//!
//! # Floating point
//!
//! Unless a function is strict, additions and subtractions carry LLVM's `reassoc` and `contract`, multiplications
//! `contract`; nothing assumes that a value is finite, a number, or of a positive sign. Products of complex numbers are
//! the textbook formula (no recovery of infinities as in C's Annex G), quotients are Smith's.

mod emit;
mod error;
mod jit;
mod library;
mod linker;
mod machine;
mod optimize;
mod options;
mod processor;
mod ship;
mod stored;
#[cfg(target_os = "linux")]
mod visible;

pub use error::LlvmError;
pub use jit::{JitKernel, KernelFn, compile};
pub use machine::{assembly, llvm_ir, object};
pub use options::{CompileOptions, Cpu, Optimization, Version};
pub use processor::processor;
pub use ship::{Form, Shipped, ship, version_symbol};
pub use stored::{MOST_BYTES, compile_stored};

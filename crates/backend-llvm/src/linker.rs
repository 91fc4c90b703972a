//! Links an object file into the process.
//!
//! On x86-64 under Linux this is done here ([`elf`]): an object of LLVM's code generator has few kinds of relocations, and code that
//! an earlier process kept then runs without LLVM in the process. Elsewhere LLVM's ORC does it ([`orc`]).
//!
//! On entry: an object that this crate made, for this processor. On exit: its code in memory, and the address of a function in it.

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod elf;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub(crate) use elf::Linked;

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
mod orc;
#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
pub(crate) use orc::Linked;

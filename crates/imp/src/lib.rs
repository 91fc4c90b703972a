//! Waist 2: the imperative IR. No tensor, no lattice, no format in it; back ends know only this.
//!
//! Read [`ir`] first: its head comment is the meaning. [`Builder`] makes functions, [`verify()`] checks them,
//! [`optimize`] improves them, [`interpret`] runs them as the meaning says; `Display` prints them and [`parse()`] reads
//! the text back.

pub mod arith;
pub mod build;
#[cfg(any(test, feature = "testing"))]
pub mod generate;
pub mod interp;
pub mod ir;
pub mod loops;
pub mod memory;
pub mod ops;
pub mod parse;
pub mod passes;
pub mod print;
pub mod verify;
mod walk;

pub use build::Builder;
pub use interp::{Fault, InterpError, Limits, Outcome, interpret, interpret_within};
pub use ir::*;
pub use loops::Reduction;
pub use memory::{ArrayData, Memory};
pub use ops::{LENGTH_BITS, type_code};
pub use parse::parse;
pub use passes::{PassError, optimize};
pub use verify::{Rule, Verified, VerifyError, is_c_keyword, verify};

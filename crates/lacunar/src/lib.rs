//! Lacunar: a compiler for tensors with gaps.
//!
//! Tensor algebra as people write it, with how each tensor is stored, becomes one fused native kernel.
//!
//! ```
//! use lacunar::{Format, Tensor, einsum};
//! # fn main() -> Result<(), lacunar::Error> {
//! // 2 0 1
//! // 0 0 3
//! let a = Tensor::from_entries(&[2, 3], &[(&[0, 0], 2.0), (&[0, 2], 1.0), (&[1, 2], 3.0)], Format::csr())?;
//! let x = Tensor::from_slice(&[3], &[1.0, 10.0, 100.0])?;
//! let y = einsum!("y(i) = A(i,j) * x(j)", A = &a, x = &x)?;
//! assert_eq!(y.to_dense::<f64>()?, [102.0, 300.0]);
//! # Ok(())
//! # }
//! ```
//!
//! - [`einsum!`] evaluates; its kernels are cached.
//! - [`Kernel`] compiles once, to be run many times.
//! - [`Schedule`] transforms the loops of a kernel; [`tune`] finds the fastest of a few by measuring, for later runs too.
//! - [`Kernel::ship`] makes objects, libraries and C for other programs.
//! - [`Tensor`] is a tensor with its element type in its type; [`DynTensor`] one without.
//!
//! Sizes, coordinates and positions count elements; times that are printed are in milliseconds, [`Measured::seconds`] in seconds.

mod bind;
mod cache;
pub mod compile;
mod einsum;
mod error;
mod evaluate;
mod generate;
#[cfg(any(feature = "faer", feature = "ndarray", feature = "sprs"))]
mod interop;
mod interpret;
mod kernel;
mod launch;
mod options;
mod promises;
mod schedule;
mod ship;
mod store;
mod tensor;
mod tune;

pub use compile::{Backend, Stage, Step};
#[doc(hidden)]
pub use einsum::{declare, einsum as evaluate_einsum};
pub use error::Error;
pub use kernel::{Kernel, Run};
pub use lacunar_base::{Category, Diagnostic};
pub use lacunar_compiler::lower::Phase;
pub use lacunar_compiler::plan::Search;
pub use lacunar_formats::{DType, Format, FormatSpec, IndexWidth, Level, Scalar};
pub use lacunar_macros::einsum;
pub use lacunar_runtime::io;
pub use lacunar_runtime::{Coo, Element, Route, StorageError, Tensor as DynTensor};
pub use options::{Optimization, Options};
pub use schedule::{Assembly, BoundKind, Merge, Parts, Race, Schedule, Unit, WorkspaceKind};
pub use ship::{Shape, Shipment};
pub use tensor::Tensor;
pub use tune::{Effort, Measured, Progress, Proposal, Refused, TunedStatement, Tuning, median, tune, tune_among};

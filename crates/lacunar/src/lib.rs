//! Lacunar: a compiler for tensors with gaps.
//!
//! Tensor algebra as people write it, with the format of each tensor, becomes one fused native kernel.
//!
//! ```
//! use lacunar::{Format, Tensor, einsum};
//! # fn main() -> Result<(), lacunar::Error> {
//! // 2 0 1
//! // 0 0 3
//! let a = Tensor::from_triplets([2, 3], &[0, 0, 1], &[0, 2, 2], &[2.0, 1.0, 3.0], Format::csr())?;
//! let y = einsum!("y(i) = A(i,j) * x(j)", A = &a, x = &[1.0, 10.0, 100.0] -> Vec<f64>)?;
//! assert_eq!(y, [102.0, 300.0]);
//! # Ok(())
//! # }
//! ```
//!
//! - [`einsum!`] evaluates; its kernels are cached.
//! - [`Kernel`] compiles once, to be run many times.
//! - [`Schedule`] transforms the loops of a kernel; [`tune`] finds the fastest of a few by measuring, for later runs too.
//! - [`Kernel::ship`] makes objects, libraries and C for other programs.
//! - [`Tensor`] is a tensor with its element type in its type; [`DynTensor`] one without. A [`Builder`] makes one of entries.
//! - An [`Operator`] is a function of one's own, made of a closure; [`check_algebra`] tests the claims of operators.
//! - [`Structured`] says which elements of a tensor follow from others, or are 0.
//! - [`Operand`] is implemented by the types that expressions take, [`FromResult`] by those that their results become.
//!
//! `docs/rust.md` leads through the crate, `docs/language.md` through the language of expressions.
//!
//! Threads: kernels, packing and conversion use as many as [`with_threads`] says around a call, as [`Options::threads`] says
//! for a kernel, or as the environment variable `LACUNAR_THREADS` says, the first of these that is given; else one for each
//! processor. They wait in a pool of the library's between two uses.
//!
//! Sizes, coordinates and positions count elements; times that are printed are in milliseconds, [`Measured::seconds`] in seconds.

mod again;
mod algebra;
mod bind;
mod bound;
mod cache;
mod call;
mod choose;
pub mod compile;
#[doc(hidden)]
pub mod einsum;
mod error;
mod evaluate;
mod generate;
mod givens;
mod indices;
#[cfg(any(feature = "faer", feature = "ndarray", feature = "sprs"))]
mod interop;
mod interpret;
mod kernel;
mod launch;
mod machine;
mod memory;
mod operand;
mod operator;
mod options;
mod promises;
mod ready;
mod run;
mod schedule;
mod ship;
mod signature;
mod store;
mod tensor;
mod tune;
mod warnings;

pub use algebra::{AlgebraReport, Violation, check_algebra};
pub use bound::Bound;
pub use call::Run;
pub use choose::{Candidate, Choice, Costs, Demand, Needs, choose, plain_format, restore, store};
pub use compile::{Backend, Stage, Step};
pub use error::Error;
pub use kernel::Kernel;
pub use lacunar_base::{Category, Diagnostic, Label, Span, Trace};
pub use lacunar_compiler::lower::Phase;
pub use lacunar_compiler::plan::Search;
pub use lacunar_formats::{
    DType, Format, FormatError, FormatSpec, IndexWidth, Kind, Level, LevelKind, Map, MapError, One, Packing,
    PackingFault, Scalar, Term,
};
pub use lacunar_front::{Declarations, Language};
pub use lacunar_machine::Machine;
pub use lacunar_macros::einsum;
pub use lacunar_notation::Program;
pub use lacunar_runtime::abi::KernelStatus;
pub use lacunar_runtime::buffer::Indices;
pub use lacunar_runtime::io;
pub use lacunar_runtime::io::IoError;
pub use lacunar_runtime::pool::{threads, with_threads};
pub use lacunar_runtime::storage::LevelStorage;
pub use lacunar_runtime::tensor::ValuesMut;
pub use lacunar_runtime::{
    AllocError, Batch, Buffer, Contradiction, Convert, Coo, Coordinates, Element, FoundStructure, Lent, LentArray,
    Number, Route, StorageError, StructureError, Structured, Tensor as DynTensor, Updated, Values, Walk,
};
pub use launch::ExternalFunction;
pub use machine::machine;
pub use operand::{Destination, FromResult, Operand, TensorView};
pub use operator::{Operator, Traced};
pub use options::{Optimization, Options};
pub use schedule::{Assembly, BoundKind, Merge, Parts, Race, Schedule, Unit, WorkspaceKind};
pub use ship::{Shape, Shipment};
pub use signature::{Parameter, ShippedStatus, ShippedTensor, Signature};
pub use tensor::{Builder, Entries, Ranges, Tensor};
pub use tune::{Effort, Measured, Progress, Proposal, Refused, TunedStatement, Tuning, median, tune, tune_among};

/// The crates that this one is made of, for those who look inside of kernels: a [`Program`] and its plan are of `notation`
/// and `compiler`, a kernel's function of `imp`, level kinds of `formats`, memory of `runtime`.
pub mod inside {
    pub use {
        lacunar_base as base, lacunar_compiler as compiler, lacunar_formats as formats, lacunar_front as front,
        lacunar_imp as imp, lacunar_notation as notation, lacunar_runtime as runtime, lacunar_sets as sets,
    };
}

/// The pages of `docs` whose pieces of Rust are run as documentation tests.
#[cfg(doctest)]
mod docs {
    #[doc = include_str!("../../../docs/rust.md")]
    struct Rust;
    #[doc = include_str!("../../../docs/structure.md")]
    struct Structure;
    #[doc = include_str!("../../../docs/dynamic.md")]
    struct Dynamic;
}

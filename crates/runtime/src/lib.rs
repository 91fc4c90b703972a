//! Tensors at run time: storage, packing, conversion, files, and the interface to compiled kernels.
//!
//! Knows neither the compiler nor the IR.

pub mod abi;
pub mod alloc;
mod apart;
mod array;
pub mod buffer;
mod cast;
pub mod coo;
mod counting;
mod dense;
mod dispatch;
mod enumerate;
pub mod error;
mod fill;
mod fits;
mod forms;
mod gather;
mod import;
mod index_array;
mod insert;
pub mod io;
mod kernel_fill;
mod kernel_parts;
mod kernel_sort;
mod keys;
pub mod lent;
pub mod lists;
pub mod load;
mod moved;
mod native;
mod nodes;
mod outside;
mod pack;
mod pack_counted;
#[cfg(all(target_os = "linux", not(miri)))]
mod pages;
#[cfg(not(all(target_os = "linux", not(miri))))]
#[path = "no_pages.rs"]
mod pages;
mod parallel;
mod placed;
pub mod pool;
mod prune;
pub mod random;
mod ranking;
mod remap;
mod reorder;
mod route;
mod runs;
mod scalars;
pub mod scratch;
mod segments;
mod show;
mod sort;
mod span;
mod spread;
mod stats;
pub mod storage;
mod stream;
mod structure;
mod sums;
pub mod tensor;
mod transpose;
mod update;
pub mod values;
mod views;
mod walk;
mod words;

pub use array::{Array, Plain};
pub use buffer::Buffer;
pub use cast::{Convert, Number, Wide};
pub use coo::{Coo, Coordinates};
pub use error::{Above, AllocError, StorageError};
pub use fill::{element_of, scalar_of};
pub use gather::Outside;
pub use kernel_parts::Header;
pub use lent::{Lent, LentArray};
pub use route::Route;
pub use stats::Predictor;
pub use structure::{Contradiction, FoundStructure, StructureError, Structured};
pub use tensor::Tensor;
pub use update::{Batch, Updated};
pub use values::{Element, Values};
pub use walk::Walk;

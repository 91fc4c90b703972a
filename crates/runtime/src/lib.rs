//! Tensors at run time: storage, packing, conversion, files, and the interface to compiled kernels.
//!
//! Knows neither the compiler nor the IR.

pub mod abi;
mod accumulate;
pub mod alloc;
mod apart;
mod array;
pub mod buffer;
mod cast;
mod convert;
pub mod coo;
mod counting;
mod dispatch;
pub mod error;
mod fill;
mod forms;
mod grow;
mod import;
mod insert;
pub mod io;
mod kernel_fill;
mod kernel_parts;
mod kernel_sort;
mod keys;
pub mod load;
mod outside;
mod pack;
mod pack_counted;
mod parallel;
mod placed;
pub mod pool;
pub mod random;
mod ranking;
mod remap;
mod runs;
pub mod scratch;
mod segments;
mod sort;
mod spread;
mod stats;
pub mod storage;
pub mod tensor;
mod transpose;
pub mod values;

pub use accumulate::Accumulate;
pub use array::{Array, Plain};
pub use buffer::Buffer;
pub use cast::{Convert, Number};
pub use coo::{Coo, Coordinates};
pub use error::{AllocError, StorageError};
pub use fill::{element_of, scalar_of};
pub use kernel_parts::Header;
pub use tensor::Tensor;
pub use values::{Element, Values};

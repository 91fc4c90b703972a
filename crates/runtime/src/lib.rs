//! Tensors at run time: storage, packing, conversion, files, and the interface to compiled kernels.
//!
//! Knows neither the compiler nor the IR.

pub mod coo;
pub mod io;
pub mod values;

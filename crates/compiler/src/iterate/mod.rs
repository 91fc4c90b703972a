//! Which coordinates a loop visits: concrete notation to iterators and lattices.
//!
//! [`iterators`] lists what there is to iterate at one loop; [`lattice`] says how it is merged.

pub mod graph;
pub mod iterators;
pub mod lattice;
pub mod position_space;
pub mod races;
pub mod residual;

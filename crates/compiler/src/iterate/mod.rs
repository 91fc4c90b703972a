//! The coordinates that a loop visits: concrete notation to iterators and lattices.
//!
//! [`iterators`] lists the iterators of one loop; [`lattice`] says how they are merged.

pub mod additions;
pub mod graph;
pub(crate) mod in_order;
pub mod iterators;
mod joined;
pub mod lattice;
mod points;
pub mod position_space;
pub mod races;
pub(crate) mod reading;
pub mod residual;

//! Waist 2: the imperative IR. No tensor, no lattice, no format in it; back ends know only this.
//!
//! Read [`ir`] first: its head comment is the meaning. [`Builder`] makes functions.

pub mod build;
pub mod ir;

pub use build::Builder;
pub use ir::*;

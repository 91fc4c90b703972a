//! Notation to imperative IR, pure: no file, no clock, no machine code.
//!
//! In reading order: [`reduction`] makes sums explicit, [`plan`] chooses the order of loops, conversions and workspaces, [`concretize`]
//! writes concrete notation in that order, [`schedule`] transforms its loops, [`iterate`] finds the coordinates that each loop visits,
//! [`levels`] has the code of each level kind, and [`lower`] puts it together as imperative IR. Beside them, [`algebra`] says where an
//! expression differs from its background, and [`functions`] composes functions of IR operations, those that a program declares
//! ([`operators`]) among them. [`structure`] says which elements of a result are 0 or follow from others.

pub mod algebra;
pub mod comparisons;
pub mod concretize;
pub mod functions;
mod gaps;
pub mod iterate;
pub mod levels;
pub mod lower;
pub mod operators;
pub mod plan;
pub mod reduction;
pub mod schedule;
pub mod structure;
pub mod swaps;

//! Levels of nodes: linked data structures whose types a [`Schema`] describes, in two arrays of 32-bit numbers.
//!
//! Nothing here knows a data structure: all knowledge is the schema's, of fields, lengths and the order of visits.
//!
//! ```text
//! view.rs    reads fields of nodes that are there
//! walk.rs    goes through the elements of a subtensor in the order of the schema
//! counts.rs  sets of numbers of elements
//! shape.rs   how many elements a tree of a height has, and how those of one node go to it and its children
//! choose.rs  the type of the root of a tree of so many elements
//! build.rs   makes balanced trees of sorted coordinates
//! relocate.rs  trees that are moved as they are
//! gaps.rs    room between the trees of a level that is going to grow
//! template.rs  a tree that is copied for all of its number of elements
//! check.rs   checks arrays from outside
//! update/    puts elements in and takes them out
//! ```
//!
//! Handles, layouts and the first words of the node array: see [`lacunar_formats::schema`].
//!
//! [`Schema`]: lacunar_formats::Schema

mod build;
mod check;
mod choose;
mod counts;
mod gaps;
mod relocate;
mod shape;
mod template;
#[cfg(test)]
mod tests;
mod update;
mod view;
mod walk;

pub(crate) use build::spread;
pub(crate) use check::check;
pub(crate) use gaps::{Gaps, is_due};
pub(crate) use relocate::relocate;
#[cfg(test)]
pub(crate) use update::limit;
pub(crate) use update::{
    Changes, Kept, change_runs, find, may_refuse, place_runs, put, put_quickly, remove, remove_quickly,
};
pub use update::{Payload, Put};
pub(crate) use view::{View, holder_word};
pub(crate) use walk::{count, deepest, visit, visits_soon};

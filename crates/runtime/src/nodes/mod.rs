//! Levels of nodes.

mod update;
mod view;

pub(crate) use update::{Kept, find, put, remove};
pub use update::{Payload, Put};
pub(crate) use view::{View, holder_word};

//! Versions that share pages, where the system has none: no array has any ([`pages`](https://docs.rs/lacunar-runtime) are Linux's).
//!
//! ```text
//! Pages::copy_of(bytes, 1)  None, so that arrays are copied
//! ```

use std::ptr::NonNull;

/// Memory whose versions share pages: none.
#[derive(Debug)]
pub(crate) enum Pages {}

impl Pages {
    /// Nothing.
    pub fn copy_of(_: &[u8], _: usize) -> Option<Pages> {
        None
    }

    /// Another version.
    pub fn version(&self, _: usize, _: usize) -> Option<Pages> {
        match *self {}
    }

    /// True if nothing else sees writes here.
    pub fn is_own(&self) -> bool {
        match *self {}
    }

    /// The first byte.
    pub fn base(&self) -> NonNull<u8> {
        match *self {}
    }

    /// The bytes that are memory.
    pub fn capacity(&self) -> usize {
        match *self {}
    }

    /// Makes so many bytes memory.
    pub fn reserve(&mut self, _: usize) -> bool {
        match *self {}
    }

    /// Makes bytes zero.
    pub fn clear(&mut self, _: usize, _: usize) {
        match *self {}
    }
}

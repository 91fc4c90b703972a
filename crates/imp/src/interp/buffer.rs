//! One array of a running function: its elements, and which of them have a value.
//!
//! The length is the capacity that the function may count on, which an allocator may exceed: a program that is right
//! for it is right for every way to grow. After `grow a[2]`, `a[1] = x` the elements are `[?, x]`.

use std::collections::TryReserveError;

use crate::ir::Const;
use crate::memory::ArrayData;

/// The elements of an array, with the ones that were never written.
pub(super) struct Buffer {
    pub(super) data: ArrayData,
    /// By element, true if it has a value; `None` if all have.
    defined: Option<Vec<bool>>,
    /// True if elements beyond the end may lie in memory that was used earlier and not zeroed.
    slack: bool,
}

impl Buffer {
    /// A buffer of which every element has a value.
    pub(super) fn new(data: ArrayData) -> Buffer {
        Buffer { data, defined: None, slack: false }
    }

    /// A buffer of which no element has a value.
    pub(super) fn blank(data: ArrayData) -> Buffer {
        let defined = Some(vec![false; data.len()]);
        Buffer { data, defined, slack: false }
    }

    /// The first element that has no value.
    pub(super) fn first_undefined(&self) -> Option<usize> {
        self.defined.as_ref().and_then(|defined| defined.iter().position(|defined| !defined))
    }

    /// True if an element within the length has a value.
    pub(super) fn is_defined(&self, index: usize) -> bool {
        self.defined.as_ref().is_none_or(|defined| defined[index])
    }

    /// True if all of the first `len` elements have a value. `len` is at most the length.
    pub(super) fn all_defined(&self, len: usize) -> bool {
        self.defined.as_ref().is_none_or(|defined| defined[..len].iter().all(|&defined| defined))
    }

    /// Writes an element; false if there is none.
    pub(super) fn write(&mut self, index: usize, value: Const) -> bool {
        let done = self.data.set(index, value);
        if let (true, Some(defined)) = (done, &mut self.defined) {
            defined[index] = true;
        }
        done
    }

    /// Takes the value from an element within the length.
    pub(super) fn forget(&mut self, index: usize) {
        let len = self.data.len();
        self.defined.get_or_insert_with(|| vec![true; len])[index] = false;
    }

    /// Drops the elements from `len` on, which are no more than there are.
    pub(super) fn truncate(&mut self, len: usize) {
        self.data.truncate(len);
        if let Some(defined) = &mut self.defined {
            defined.truncate(len);
        }
    }

    /// Makes the buffer at least `len` elements long.
    pub(super) fn enlarge(&mut self, len: usize, zeroed: bool) -> Result<(), TryReserveError> {
        let old = self.data.len();
        if len <= old {
            return Ok(());
        }
        self.data.resize(len)?;
        let zero = zeroed && !self.slack;
        if !zero || self.defined.is_some() {
            let defined = self.defined.get_or_insert_with(|| vec![true; old]);
            defined.try_reserve(len - old)?;
            defined.resize(len, zero);
        }
        self.slack |= !zeroed;
        Ok(())
    }
}

//! Memory whose versions share the pages that are the same in both.
//!
//! A version is a range of addresses, as long as the array, so that kernels and slices read it like any other memory. Its pages lie in a
//! file without a name ([`store`]), which versions have in common. The first version, a copy of an array, maps the file as it is.
//! Later ones map it privately: the system gives a page of its own to whoever writes to one, and can tell which pages these are. To
//! make a version of one that is written no more, these pages alone are appended to the file:
//!
//! ```text
//! file              a b c d            a b c d B            a b c d B
//! first version     a b c d            a b c d              (dropped: b is given back)
//! second            -                  a B c d, private     a B c d; written next: C, in a page of its own
//! ```
//!
//! So a version costs the pages that were changed since the one before, and a call for each stretch of the file that it consists of. If
//! these are too many, a copy of all costs less, and there is no version. The paper on a file system of this kind is Rosenblum and
//! Ousterhout, The Design and Implementation of a Log-Structured File System, 1992.
//!
//! On entry: arrays of at least [`LEAST`] bytes. On exit: memory of the same content; pages that no version has are given back when the last
//! but one is dropped.

mod store;
mod system;

use std::os::unix::fs::FileExt;
use std::sync::Arc;

use store::{Extent, State, Store};
use system::Span;

/// Arrays of fewer bytes are copied.
const LEAST: usize = 256 << 10;
/// Pages between two that were changed are appended with them, up to so many: each stretch costs about as much as a copy of so many.
const BETWEEN: usize = 4;
/// The cost of a stretch of a version, which is mapped and unmapped, in pages that a copy of all would have.
const STRETCH: usize = 20;
/// The same of a page that is appended, or copied by the system when it is written to.
const PAGE: usize = 8;
/// A version of more stretches is a copy, as a process has about 65,000 of them.
const STRETCHES: usize = 2048;
/// A version has so many times the addresses that it needs, to grow in place.
const AHEAD: usize = 8;

/// A version: memory of one owner.
#[derive(Debug)]
pub(crate) struct Pages {
    span: Span,
    /// The bytes that are memory, from the first on.
    capacity: usize,
    /// All bytes from here on are zero.
    clean: usize,
    store: Arc<Store>,
}

impl Pages {
    /// A first version with a copy of some bytes, in which so many places are about to be written to; `None` if the bytes are few and the
    /// places many, so that a version will not be worth it, or the system lacks an operation.
    pub fn copy_of(bytes: &[u8], changes: usize) -> Option<Pages> {
        let pages = bytes.len().div_ceil(system::page());
        if bytes.len() < LEAST || !is_cheap(1 + changes, changes, pages) || !system::tells_changes() {
            return None;
        }
        let file = system::file()?;
        file.write_all_at(bytes, 0).ok()?;
        let store = Arc::new(Store::new(file, pages)?);
        let extents = vec![Extent { page: 0, at: 0, pages }];
        Pages::map(&store, &mut store.lock(), extents, pages, bytes.len(), false)
    }

    /// Maps a version of so many pages.
    fn map(
        store: &Arc<Store>,
        state: &mut State,
        extents: Vec<Extent>,
        pages: usize,
        clean: usize,
        is_private: bool,
    ) -> Option<Pages> {
        let capacity = pages.checked_mul(system::page())?;
        let mut span = Span::reserve(capacity.checked_mul(AHEAD)?)?;
        extents.iter().try_for_each(|extent| span.map(store.file(), *extent, is_private))?;
        state.add(span.base().as_ptr() as usize, extents, is_private);
        Some(Pages { span, capacity, clean, store: Arc::clone(store) })
    }

    /// Another version, with the first `used` bytes of this one, in which so many places are about to be written to; `None` if a copy
    /// costs less. Nobody writes to this one meanwhile, as it is borrowed.
    pub fn version(&self, used: usize, changes: usize) -> Option<Pages> {
        let (page, own) = (system::page(), self.span.base().as_ptr() as usize);
        let mut state = self.store.lock();
        let (extents, is_private) = state.of(own)?;
        let pages = self.capacity / page;
        let changed = match is_private {
            true => store::joined(system::changed(own, used.div_ceil(page))?, BETWEEN),
            false => Vec::new(),
        };
        let count: usize = changed.iter().map(ExactSizeIterator::len).sum();
        let extents = store::overlaid(extents, &changed, state.end());
        if !is_cheap(extents.len(), count + changes, pages) || state.end() + count > 2 * pages {
            return None;
        }
        let first = state.extend(&self.store, count)?;
        let mut at = first;
        for run in changed {
            let len = run.len();
            self.store
                .file()
                .write_all_at(self.span.bytes(run.start * page..run.end * page), (at * page) as u64)
                .ok()?;
            at += len;
        }
        Pages::map(&self.store, &mut state, extents, pages, self.clean, true)
    }

    /// True if nothing else sees writes here.
    pub fn is_own(&self) -> bool {
        self.store.lock().is_own(self.span.base().as_ptr() as usize)
    }

    /// The first byte.
    pub fn base(&self) -> std::ptr::NonNull<u8> {
        self.span.base()
    }

    /// The bytes that are memory.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Makes so many bytes memory, which stay where they are; false if that cannot be.
    pub fn reserve(&mut self, bytes: usize) -> bool {
        self.capacity >= bytes || self.extend(bytes).is_some()
    }

    fn extend(&mut self, bytes: usize) -> Option<()> {
        let page = system::page();
        let (before, pages) = (self.capacity / page, bytes.div_ceil(page));
        if pages.checked_mul(page)? > self.span.len() {
            return None;
        }
        let mut state = self.store.lock();
        let own = self.span.base().as_ptr() as usize;
        let (_, is_private) = state.of(own)?;
        let at = state.extend(&self.store, pages - before)?;
        let extent = Extent { page: before, at, pages: pages - before };
        self.span.map(self.store.file(), extent, is_private)?;
        state.append(own, extent);
        self.capacity = pages * page;
        Some(())
    }

    /// Makes the bytes from `used` to `bytes` zero, which are memory.
    pub fn clear(&mut self, used: usize, bytes: usize) {
        let bytes = bytes.min(self.capacity);
        self.span.fill(used..bytes.min(self.clean), 0);
        self.clean = self.clean.max(bytes);
    }
}

/// True if a version of so many stretches, with so many pages that are copied, costs less than a copy of all.
fn is_cheap(stretches: usize, copied: usize, pages: usize) -> bool {
    let cost = stretches.saturating_mul(STRETCH).saturating_add(copied.saturating_mul(PAGE));
    stretches <= STRETCHES && cost <= pages
}

impl Drop for Pages {
    fn drop(&mut self) {
        self.store.forget(self.span.base().as_ptr() as usize);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    /// Writes a byte in every page of a range.
    fn write(pages: &mut Pages, range: std::ops::Range<usize>, byte: u8) {
        range.for_each(|page| pages.span.fill(page * system::page()..page * system::page() + 8, byte));
    }

    fn content(pages: &Pages, count: usize) -> Vec<u8> {
        (0..count).map(|page| pages.span.bytes(0..pages.capacity)[page * system::page()]).collect()
    }

    #[test]
    fn versions_share_pages_and_give_them_back() {
        let page = system::page();
        let count = LEAST / page;
        let Some(mut first) = Pages::copy_of(&vec![1; count * page], 0) else { return };
        write(&mut first, 3..5, 2);
        let store = Arc::clone(&first.store);
        let mut expected = vec![1; count];
        expected[3..5].fill(2);

        let mut second = first.version(count * page, 0).unwrap();
        assert!(!first.is_own() && second.is_own());
        // One stretch: a version of this size has few.
        write(&mut second, 0..2, 3);
        assert_eq!(content(&first, count), expected);
        let before = expected.clone();
        expected[0..2].fill(3);
        assert_eq!(content(&second, count), expected);
        assert_eq!(store.lock().end(), count);

        // Two pages were changed.
        let mut third = second.version(count * page, 0).unwrap();
        assert_eq!(store.lock().end(), count + 2);
        write(&mut third, 0..count, 4);
        assert_eq!(content(&second, count), expected);
        assert_eq!(content(&first, count), before);
        assert_eq!(content(&third, count), vec![4; count]);

        // The third one has pages of its own now: nothing of the file is needed.
        drop(second);
        drop(first);
        assert!(third.is_own());
        assert_eq!(store.file().metadata().unwrap().blocks(), 0);
        assert_eq!(content(&third, count), vec![4; count]);
        // All is changed: a copy costs less.
        assert!(third.version(count * page, 0).is_none());
    }

    #[test]
    fn versions_grow_in_place_with_zeros() {
        let page = system::page();
        let Some(mut first) = Pages::copy_of(&vec![1; LEAST + 1], 0) else { return };
        assert!(first.reserve(2 * LEAST));
        let base = first.base();
        first.clear(LEAST + 1, 2 * LEAST);
        let mut second = first.version(2 * LEAST, 0).unwrap();
        assert!(second.reserve(4 * LEAST) && !second.reserve(100 * LEAST));
        second.clear(2 * LEAST, 4 * LEAST);
        assert_eq!(base, first.base());
        assert!(second.span.bytes(LEAST + 1..4 * LEAST).iter().all(|byte| *byte == 0));
        // Shorter, with something behind, and longer again.
        write(&mut second, 3 * LEAST / page..3 * LEAST / page + 2, 7);
        let mut third = second.version(2 * LEAST, 0).unwrap();
        third.clear(2 * LEAST, 4 * LEAST);
        assert!(third.span.bytes(2 * LEAST..4 * LEAST).iter().all(|byte| *byte == 0));
    }
}

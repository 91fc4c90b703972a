//! The file of some versions, and the stretches of it that each of them consists of.
//!
//! ```text
//! file       0 1 2 3 4 5       a version of pages 0 .. 4 of which page 1 was changed:   pages 0, 1, 2 .. 4 lie at 0, 4, 2 .. 4
//! ```
//!
//! A version that maps the file privately appends its changed pages. A page in the file is never overwritten, because other versions may
//! read it. One lock guards the file; so a page is given back only when no version, not even one in the making, reads it.

use std::fs::File;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::system;

/// Pages of a version that lie one behind the other in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    /// The first page of the version.
    pub page: usize,
    /// The page of the file where it lies.
    pub at: usize,
    /// The number of pages.
    pub pages: usize,
}

/// A file, and the versions of it.
#[derive(Debug)]
pub(super) struct Store {
    file: File,
    state: Mutex<State>,
}

/// The versions of a file.
#[derive(Debug)]
pub(super) struct State {
    /// The pages of the file.
    end: usize,
    versions: Vec<Version>,
}

#[derive(Debug)]
struct Version {
    /// Its first address.
    base: usize,
    /// In the order of pages, all of them.
    extents: Vec<Extent>,
    is_private: bool,
}

impl Store {
    /// A file of so many pages.
    pub fn new(file: File, pages: usize) -> Option<Store> {
        let store = Store { file, state: Mutex::new(State { end: 0, versions: Vec::new() }) };
        store.lock().extend(&store, pages)?;
        Some(store)
    }

    pub fn file(&self) -> &File {
        &self.file
    }

    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets a version that is dropped. If one is left, pages that it does not need are given back.
    pub fn forget(&self, base: usize) {
        let mut state = self.lock();
        state.versions.retain(|version| version.base != base);
        let [left] = state.versions.as_slice() else { return };
        let pages = left.extents.last().map_or(0, |last| last.page + last.pages);
        // Pages that were changed lie elsewhere.
        let changed = if left.is_private { system::changed(left.base, pages) } else { Some(Vec::new()) };
        let Some(changed) = changed else { return };
        let mut needed: Vec<(usize, usize)> = Vec::new();
        for extent in &left.extents {
            let within = extent.page..extent.page + extent.pages;
            let place = |page: usize| extent.at + (page - extent.page);
            let from = changed.partition_point(|run| run.end <= within.start);
            let mut page = within.start;
            for run in changed[from..].iter().take_while(|run| run.start < within.end) {
                if run.start > page {
                    needed.push((place(page), place(run.start)));
                }
                page = run.end;
            }
            if page < within.end {
                needed.push((place(page), place(within.end)));
            }
        }
        needed.sort_unstable();
        let mut from = 0;
        for (start, end) in needed.into_iter().chain([(state.end, state.end)]) {
            if start > from {
                system::give_back(&self.file, from..start);
            }
            from = from.max(end);
        }
    }
}

impl State {
    pub fn end(&self) -> usize {
        self.end
    }

    /// Makes the file longer by pages of zeros, and gives the first of them.
    pub fn extend(&mut self, store: &Store, pages: usize) -> Option<usize> {
        let first = self.end;
        let end = first.checked_add(pages)?;
        store.file.set_len(u64::try_from(end.checked_mul(system::page())?).ok()?).ok()?;
        self.end = end;
        Some(first)
    }

    /// Adds a version.
    pub fn add(&mut self, base: usize, extents: Vec<Extent>, is_private: bool) {
        self.versions.push(Version { base, extents, is_private });
    }

    /// The extents of a version, and a flag that is true if it is mapped privately.
    pub fn of(&self, base: usize) -> Option<(&[Extent], bool)> {
        let version = self.versions.iter().find(|version| version.base == base)?;
        Some((&version.extents, version.is_private))
    }

    /// True if no other version sees writes to one.
    pub fn is_own(&self, base: usize) -> bool {
        self.versions.len() == 1 || self.of(base).is_some_and(|(_, is_private)| is_private)
    }

    /// Adds pages to the end of a version.
    pub fn append(&mut self, base: usize, extent: Extent) {
        let own = self.versions.iter_mut().find(|version| version.base == base);
        own.into_iter().for_each(|version| version.extents.push(extent));
    }
}

/// Ranges that ascend, with those taken together that have at most so many pages between.
pub(super) fn joined(ranges: Vec<Range<usize>>, between: usize) -> Vec<Range<usize>> {
    let mut all: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match all.last_mut().filter(|last| range.start - last.end <= between) {
            Some(last) => last.end = range.end,
            None => all.push(range),
        }
    }
    all
}

/// Extents in which ranges of pages lie one behind the other from a page of the file on, and all other pages where they were.
pub(super) fn overlaid(extents: &[Extent], changed: &[Range<usize>], mut at: usize) -> Vec<Extent> {
    let mut all: Vec<Extent> = Vec::with_capacity(extents.len() + 2 * changed.len());
    let mut add = |extent: Extent| match all.last_mut() {
        Some(last) if last.at + last.pages == extent.at && last.page + last.pages == extent.page => {
            last.pages += extent.pages;
        }
        _ => all.push(extent),
    };
    let mut next = changed.iter().peekable();
    // The part of the extents before a page is taken or replaced.
    let mut done = 0;
    for extent in extents {
        let end = extent.page + extent.pages;
        while done < end {
            let start = next.peek().map_or(end, |range| range.start.max(done));
            if start > done {
                let stop = start.min(end);
                add(Extent { page: done, at: extent.at + (done - extent.page), pages: stop - done });
                done = stop;
                continue;
            }
            let Some(range) = next.next() else { break };
            add(Extent { page: range.start, at, pages: range.len() });
            at += range.len();
            done = range.end;
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlaid_extents_have_every_page_once() {
        let mut rng = fastrand_like(7);
        for _ in 0..200 {
            let pages = 40;
            let mut extents = vec![Extent { page: 0, at: 0, pages }];
            let mut places: Vec<usize> = (0..pages).collect();
            let mut end = pages;
            for _ in 0..5 {
                let mut changed = Vec::new();
                let mut page = (rng() % 9) as usize;
                while page < pages {
                    let stop = (page + 1 + (rng() % 5) as usize).min(pages);
                    changed.push(page..stop);
                    page = stop + (rng() % 9) as usize;
                }
                let changed = joined(changed, 1);
                extents = overlaid(&extents, &changed, end);
                for page in changed.into_iter().flatten() {
                    places[page] = end;
                    end += 1;
                }
                let found: Vec<(usize, usize)> = extents
                    .iter()
                    .flat_map(|extent| (0..extent.pages).map(|k| (extent.page + k, extent.at + k)))
                    .collect();
                let expected: Vec<(usize, usize)> = places.iter().copied().enumerate().collect();
                assert_eq!(found, expected);
            }
        }
    }

    /// Numbers that look random.
    fn fastrand_like(mut state: u64) -> impl FnMut() -> u64 {
        move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 33
        }
    }
}

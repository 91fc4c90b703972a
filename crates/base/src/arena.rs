//! Typed handles into arenas, so that mixing up two kinds of identifiers is a compile error.
//!
//! [`Arena`] gives each pushed item its own handle; [`UniqueArena`] gives equal items the same handle (hash-consing),
//! so that structural equality is handle equality.
//!
//! ```
//! use lacunar_base::UniqueArena;
//! let mut words = UniqueArena::new();
//! let a = words.insert("row");
//! assert_eq!(a, words.insert("row"));
//! assert_eq!(words[a], "row");
//! ```

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

use rustc_hash::FxHashMap;

/// The place of a `T` in its arena.
pub struct Handle<T> {
    index: u32,
    marker: PhantomData<fn() -> T>,
}

impl<T> Handle<T> {
    /// A handle from an index; meaningful only for the arena that index belongs to.
    pub fn from_index(index: usize) -> Handle<T> {
        // An arena of 2^32 items does not fit in memory before this could wrap.
        Handle { index: index as u32, marker: PhantomData }
    }

    /// The index in the arena.
    pub fn index(self) -> usize {
        self.index as usize
    }
}

impl<T> Clone for Handle<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Handle<T> {}
impl<T> PartialEq for Handle<T> {
    fn eq(&self, other: &Self) -> bool {
        self.index == other.index
    }
}
impl<T> Eq for Handle<T> {}
impl<T> PartialOrd for Handle<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<T> Ord for Handle<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.index.cmp(&other.index)
    }
}
impl<T> Hash for Handle<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.index.hash(state);
    }
}
impl<T> fmt::Debug for Handle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.index)
    }
}

/// Items, each under a handle of its own.
#[derive(Clone, PartialEq, Eq)]
pub struct Arena<T> {
    items: Vec<T>,
}

impl<T> Default for Arena<T> {
    fn default() -> Self {
        Arena { items: Vec::new() }
    }
}

impl<T> Arena<T> {
    /// An empty arena.
    pub fn new() -> Arena<T> {
        Arena::default()
    }

    /// Adds an item.
    pub fn push(&mut self, item: T) -> Handle<T> {
        let handle = Handle::from_index(self.items.len());
        self.items.push(item);
        handle
    }

    /// The number of items.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The item, or `None` for a handle of another arena.
    pub fn get(&self, handle: Handle<T>) -> Option<&T> {
        self.items.get(handle.index())
    }

    /// All items with their handles, in order of insertion.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (Handle<T>, &T)> + ExactSizeIterator {
        self.items.iter().enumerate().map(|(index, item)| (Handle::from_index(index), item))
    }

    /// All handles, in order of insertion.
    pub fn handles(&self) -> impl DoubleEndedIterator<Item = Handle<T>> + ExactSizeIterator + use<T> {
        (0..self.items.len()).map(Handle::from_index)
    }
}

impl<T> Index<Handle<T>> for Arena<T> {
    type Output = T;
    fn index(&self, handle: Handle<T>) -> &T {
        &self.items[handle.index()]
    }
}

impl<T> IndexMut<Handle<T>> for Arena<T> {
    fn index_mut(&mut self, handle: Handle<T>) -> &mut T {
        &mut self.items[handle.index()]
    }
}

impl<T: fmt::Debug> fmt::Debug for Arena<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// Items under handles, equal items under the same one.
#[derive(Clone)]
pub struct UniqueArena<T> {
    items: Arena<T>,
    handles: FxHashMap<T, Handle<T>>,
}

impl<T> Default for UniqueArena<T> {
    fn default() -> Self {
        UniqueArena { items: Arena::new(), handles: FxHashMap::default() }
    }
}

impl<T: Clone + Eq + Hash> UniqueArena<T> {
    /// An empty arena.
    pub fn new() -> UniqueArena<T> {
        UniqueArena::default()
    }

    /// Adds an item, or finds the equal one that is there.
    pub fn insert(&mut self, item: T) -> Handle<T> {
        if let Some(&handle) = self.handles.get(&item) {
            return handle;
        }
        let handle = self.items.push(item.clone());
        self.handles.insert(item, handle);
        handle
    }

    /// The number of items.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The item, or `None` for a handle of another arena.
    pub fn get(&self, handle: Handle<T>) -> Option<&T> {
        self.items.get(handle)
    }

    /// All items with their handles; an item comes after those that were inserted before it.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (Handle<T>, &T)> + ExactSizeIterator {
        self.items.iter()
    }
}

impl<T> Index<Handle<T>> for UniqueArena<T> {
    type Output = T;
    fn index(&self, handle: Handle<T>) -> &T {
        &self.items[handle]
    }
}

impl<T: fmt::Debug> fmt::Debug for UniqueArena<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.items.fmt(f)
    }
}

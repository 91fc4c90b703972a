//! Nodes that are changed: their words, the memory for more of them, and the references between them.
//!
//! An [`Editor`] works at one subtensor. Every change is one of a node's *items* (`items.rs`). A node is read into a list of elements and
//! children in the order of the schema, the list is changed, and it is written into nodes that it fits, by the rules of fields, their
//! bounds and `nonempty`. So nothing here knows a list from a tree: a block that is full is a list of items that does not fit, and its
//! fate (`insert.rs`, `split.rs`, `remove.rs`, `merge.rs`) depends on the node types that its parts fit.
//!
//! On entry: a level that has been checked, whose arrays are owned. Memory for a change is taken before the first word is written
//! ([`Editor::reserve`]); so a change that fails leaves everything as it was.

use lacunar_formats::schema::{Field, FieldKind, Schema, Target};

use super::cells::Cell;
use super::free::{Kept, LONG, Shape};
use super::items::Item;
use super::payload::{Payload, reserve};
use crate::buffer::Buffer;
use crate::error::StorageError;
use crate::nodes::build::growing_room;
use crate::nodes::{View, holder_word};

/// A node on the way from the root to an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Visit {
    /// Its first word.
    pub base: u32,
    /// Its type.
    pub ty: u32,
    /// The word that refers to it: in array `root` for the first node, in `node` for the others.
    pub link: u32,
}

impl Visit {
    /// The type, as an index.
    pub fn ty(self) -> usize {
        self.ty as usize
    }
}

/// A reference to a node, or the place of one that is null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    /// The word.
    pub at: u32,
    /// The types of nodes that it may refer to.
    pub to: Target,
    /// The type and the handle of the node that has it; none for array `root`.
    pub holder: Option<(usize, u32)>,
}

/// The nodes of one subtensor, for changes.
pub(crate) struct Editor<'a> {
    pub schema: &'static Schema,
    pub node: &'a mut Buffer,
    pub root: &'a mut Buffer,
    pub kept: &'a mut Kept,
    pub payload: Payload<'a>,
    /// The parent position.
    pub parent: u32,
    /// The nodes from the root on to the one that is changed.
    pub path: Vec<Visit>,
    /// The number of nodes of the path, from the root on, that may not be changed: their items are in hand already.
    pub fixed: usize,
    /// The position that the new element was given.
    pub landed: Option<u32>,
}

impl<'a> Editor<'a> {
    /// For the nodes under a parent position of a level with these arrays of root nodes and of words.
    #[inline]
    pub fn new(
        schema: &'static Schema,
        (root, node): (&'a mut Buffer, &'a mut Buffer),
        kept: &'a mut Kept,
        payload: Payload<'a>,
        parent: u32,
    ) -> Editor<'a> {
        let path = std::mem::take(&mut kept.path);
        Editor { schema, node, root, kept, payload, parent, path, fixed: 0, landed: None }
    }

    /// Keeps the memory of the path for the next update.
    #[inline]
    pub fn finish(self) {
        if self.path.capacity() <= KEPT_PATH {
            self.kept.path = self.path;
        }
    }
}

impl Editor<'_> {
    /// The level as it is.
    pub fn view(&self) -> View<'_> {
        let root = self.root.as_slice().unwrap_or_default();
        View { schema: self.schema, root, node: self.node.as_slice().unwrap_or_default() }
    }

    /// A word; 0 outside.
    pub fn word(&self, at: u64) -> u32 {
        let words = self.node.as_slice::<u32>().unwrap_or_default();
        words.get(at as usize).copied().unwrap_or_default()
    }

    /// The room of a node's arrays without a bound.
    pub fn room(&self, base: u32, ty: usize) -> u32 {
        self.view().room_of(base, ty)
    }

    /// The position of the first element of a node.
    pub fn slot(&self, base: u32, ty: usize) -> u64 {
        self.view().slot_of(base, ty)
    }

    /// The handle of a node.
    pub fn handle(&self, base: u32, ty: usize) -> u32 {
        self.view().handle(base, ty)
    }

    /// A node as the holder of others.
    pub fn holder(&self, visit: Visit) -> Option<(usize, u32)> {
        Some((visit.ty(), self.handle(visit.base, visit.ty())))
    }

    /// The node that a handle refers to.
    pub fn follow(&self, handle: u32, to: Target) -> Option<(u32, usize)> {
        self.view().follow(handle, to)
    }

    /// The handle that a reference has.
    pub fn referred(&self, link: Link) -> u32 {
        self.view().referred(link)
    }

    /// The number of items that an array of a node has room for.
    pub fn capacity(&self, ty: usize, field: &Field, room: u32) -> u32 {
        self.view().capacity(ty, field, room)
    }

    /// The items of a node.
    pub fn read(&self, base: u32, ty: usize) -> Vec<Item> {
        self.view().read(base, ty)
    }

    /// Calls `each` with the places for items of a node, until it says that this is enough.
    pub fn cells(&self, base: u32, ty: usize, each: &mut dyn FnMut(Cell) -> bool) {
        self.view().cells(base, ty, each);
    }

    /// Writes a word.
    pub fn set(&mut self, at: u64, word: u32) {
        let words = self.node.as_mut_slice::<u32>().unwrap_or_default();
        if let Some(slot) = words.get_mut(at as usize) {
            *slot = word;
        }
    }

    /// The properties of a type.
    pub fn shape(&self, ty: usize) -> &Shape {
        &self.kept.shapes[ty]
    }

    /// The reference to the root node.
    pub fn root_link(&self) -> Link {
        Link { at: self.parent, to: self.schema.entry(), holder: None }
    }

    /// The reference to a node of the path.
    pub fn link_of(&self, level: usize) -> Link {
        let Some(above) = level.checked_sub(1).and_then(|above| self.path.get(above)) else { return self.root_link() };
        let at = self.path[level].link;
        let (node, room) = (&self.schema.nodes()[above.ty()], self.room(above.base, above.ty()));
        let has = |field: &&Field| match field.kind {
            FieldKind::Child { .. } => {
                let first = u64::from(above.base) + field.word(room, 0);
                let len = match field.array() {
                    None => 1,
                    Some(_) => self.capacity(above.ty(), field, room),
                };
                (first..first + u64::from(len)).contains(&u64::from(at))
            }
            _ => false,
        };
        let to = node.fields.iter().find(has).map(|field| match field.kind {
            FieldKind::Child { to, .. } => to,
            _ => self.schema.entry(),
        });
        Link { at, to: to.unwrap_or(self.schema.entry()), holder: self.holder(*above) }
    }

    /// Lets a reference refer to a node, and the node to its holder.
    pub fn connect(&mut self, link: Link, base: u32, ty: usize) {
        let handle = self.handle(base, ty);
        if link.holder.is_none() {
            if let Some(root) = self.root.as_mut_slice::<u32>().and_then(|root| root.get_mut(link.at as usize)) {
                *root = handle;
            }
        } else {
            self.set(u64::from(link.at), handle);
        }
        self.set_holder(base, ty, link.holder);
    }

    /// Makes a reference null.
    pub fn disconnect(&mut self, link: Link) {
        if link.holder.is_none() {
            if let Some(root) = self.root.as_mut_slice::<u32>().and_then(|root| root.get_mut(link.at as usize)) {
                *root = 0;
            }
        } else {
            self.set(u64::from(link.at), 0);
        }
    }

    /// Writes the reference of a node to its holder, if its type has one.
    pub fn set_holder(&mut self, base: u32, ty: usize, holder: Option<(usize, u32)>) {
        if let Some(word) = self.shape(ty).parent {
            let holder = holder_word(self.schema, &self.schema.nodes()[ty], holder);
            self.set(u64::from(base) + u64::from(word), holder);
        }
    }

    /// Makes room for so many nodes with so much room in their arrays: then [`Editor::make`] does not fail.
    ///
    /// # Errors
    /// Handles or positions do not fit into 32 bits, or memory is refused.
    pub fn reserve(&mut self, nodes: u64, room: u32) -> Result<(), StorageError> {
        let (words, slots) = self.kept.most.with_room(room);
        self.reserve_exactly(nodes * words, nodes * slots)
    }

    /// Makes room for so many words and positions.
    ///
    /// # Errors
    /// Handles or positions do not fit into 32 bits, or memory is refused.
    pub fn reserve_exactly(&mut self, words: u64, slots: u64) -> Result<(), StorageError> {
        let wide = |what: &str| StorageError::Width { what: what.to_string(), width: 32 };
        if self.node.len() as u64 + words > u64::from(u32::MAX) {
            return Err(wide("a handle of a node"));
        }
        if self.payload.positions() + slots > u64::from(u32::MAX) {
            return Err(wide("a position of a level of nodes"));
        }
        reserve(self.node, words.max(u64::from(self.schema.align())))?;
        self.payload.reserve(slots)?;
        Ok(())
    }

    /// A node of a type with room for so many items in arrays without a bound; its words are 0, but for those of positions and
    /// room.
    ///
    /// # Errors
    /// Memory is refused; none that has been [reserved](Editor::reserve).
    pub fn make(&mut self, ty: usize, items: u32) -> Result<u32, StorageError> {
        let room = match self.schema.nodes()[ty].layout.room {
            Some(_) => growing_room(items),
            None => 0,
        };
        let (base, room, slot) = self.place_for(ty, room)?;
        self.clear(base, ty, room, slot);
        Ok(base)
    }

    /// The place of a new node with so much room: near the last node of the path if there is a gap, else that of a node that is not used any
    /// more, else behind all others. Its first word, its room, and its first position.
    ///
    /// # Errors
    /// Memory is refused; none that has been [reserved](Editor::reserve).
    #[inline]
    pub fn place_for(&mut self, ty: usize, room: u32) -> Result<(u32, u32, u64), StorageError> {
        let described = &self.schema.nodes()[ty];
        let (words, slots) = (described.words(room), described.slots(room));
        let near = self.path.last().map(|visit| visit.base);
        if let Some((base, slot)) = self.take_near(near, words, slots) {
            // Rows beside a new one are near it in the array of roots, which need not be the order of walks.
            self.kept.far_words += if near.is_none() { words } else { 0 };
            return Ok((base, room, slot.into()));
        }
        self.kept.far_words += words;
        if let Some(base) = self.kept.take(ty, room) {
            let (room, slot) = (self.room(base, ty), self.slot(base, ty));
            self.kept.has_taken(described.words(room));
            self.kept.new_words += words;
            return Ok((base, room, slot));
        }
        let (base, slot) = self.extend(words, slots)?;
        Ok((base, room, slot.into()))
    }

    /// Takes so many words and positions in the room that is nearest to a node, or else to the first one of a row beside this one.
    pub fn take_near(&mut self, near: Option<u32>, words: u64, slots: u64) -> Option<(u32, u32)> {
        let beside = || {
            let (row, roots) = (self.parent as usize, self.root.as_slice::<u32>()?);
            let rows = row.saturating_sub(BESIDE)..roots.len().min(row + BESIDE + 1);
            roots.get(rows)?.iter().copied().find(|root| *root != 0)
        };
        let near = near.or_else(beside)?;
        let taken = self.kept.gaps.take(near, words, slots);
        self.kept.new_words += if taken.is_some() { words } else { 0 };
        taken
    }

    /// So many words and positions behind all others: the first of both.
    ///
    /// # Errors
    /// Handles or positions do not fit into 32 bits, or memory is refused; none that has been [reserved](Editor::reserve).
    pub fn extend(&mut self, words: u64, slots: u64) -> Result<(u32, u32), StorageError> {
        self.reserve_exactly(words, slots)?;
        let align = u64::from(self.schema.align());
        let base = (self.node.len() as u64).max(align).next_multiple_of(align);
        let slot = self.payload.positions();
        self.kept.new_words += words;
        self.node.resize(base + words)?;
        self.payload.grow(slot + slots)?;
        let positions = self.payload.positions();
        self.set(Schema::POSITIONS as u64, positions as u32);
        Ok((base as u32, slot as u32))
    }

    /// Clears a node's words.
    fn clear(&mut self, base: u32, ty: usize, room: u32, slot: u64) {
        let schema = self.schema;
        let (described, first) = (&schema.nodes()[ty], u64::from(base));
        let words = first as usize..(first + described.words(room)) as usize;
        let Some(words) = self.node.as_mut_slice::<u32>().and_then(|all| all.get_mut(words)) else { return };
        words.fill(0);
        for (word, number) in [(described.layout.slot, slot as u32), (described.layout.room, room)] {
            if let Some(word) = word.and_then(|word| words.get_mut(word as usize)) {
                *word = number;
            }
        }
    }

    /// Gives a node up, whose elements are elsewhere or gone.
    pub fn discard(&mut self, base: u32, ty: usize) {
        let room = self.room(base, ty);
        if self.payload.is_cleared() {
            let slot = self.slot(base, ty);
            (slot..slot + self.schema.nodes()[ty].slots(room)).for_each(|position| self.payload.vacate(position));
        }
        self.kept.give(ty, room, (base, self.schema.nodes()[ty].words(room)));
    }

    /// The most items that arrays without a bound have room for, of nodes on the path.
    pub fn longest(&self) -> u32 {
        if self.kept.most.is_bounded() {
            return 0;
        }
        let rooms = self.path.iter().rev().take(NEAR).map(|visit| self.room(visit.base, visit.ty()));
        rooms.max().unwrap_or(0).max(LONG)
    }

    /// The depth of the last node of the path.
    pub fn depth(&self) -> usize {
        self.depth_of(&self.path)
    }

    /// The number of nodes of a path that may wait for others.
    pub fn depth_of(&self, path: &[Visit]) -> usize {
        path.iter().filter(|visit| !self.shape(visit.ty()).is_linear).count()
    }
}

/// Longer paths than this are not kept.
const KEPT_PATH: usize = 1 << 12;

/// The number of rows on either side that are looked at for a node that tells the place of a new row.
const BESIDE: usize = 8;

/// The most nodes of a path that one element may change in chains.
const NEAR: usize = 64;

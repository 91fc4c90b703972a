//! Rows that are one node: elements side by side, and no children. Most short rows of B-trees and of lists of blocks are such, and most
//! updates of large sparse matrices are of short rows.
//!
//! ```text
//! root 17 -> node at word 16, tag 1: btree_leaf   slot 32   B 3   e = [10, 20, 40]
//! 30 goes to place 2, where the search (`search.rs`) and the block (`block.rs`) would put it
//! ```
//!
//! The layout of a leaf follows from the schema and is computed once. An update then has half of the instructions of a general search, so
//! that the processor starts the next update while this one waits for memory. `quick.rs` and `insert.rs` make the same change by a general
//! search. They take the updates that do not end in the first node.
//!
//! On entry: an innermost level that has been checked, and the values at its positions. On exit: the change is done, or nothing is changed.

use lacunar_formats::schema::{Schema, Step};

use super::block::Block;
use super::edit::Editor;
use super::free::Kept;
use super::guess::Rate;
use super::insert::Put;
use super::payload::FRESH;
use crate::moved::fetch;
use crate::values::Element;

/// The places of the elements in a node that has nothing else, but for a child behind them all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaf {
    /// The word of the number of elements, that of the first position, and that of the number there is room for, if nodes differ in it.
    size: u32,
    slot: u32,
    room: Option<u32>,
    /// The word of the first element.
    first: u32,
    /// The word of the child behind the elements, if the type has one.
    next: Option<u32>,
    /// The bounds of the number of elements.
    least: u32,
    most: u32,
    /// The positions that a word takes.
    rate: Option<Rate>,
}

/// The elements of a node, and the place of a coordinate among them.
struct Found {
    /// The word and the position of the first.
    first: usize,
    slot: usize,
    count: usize,
    /// The number of elements that are less, and true if the next one is the coordinate.
    k: usize,
    is_there: bool,
}

impl Leaf {
    /// The rows that are one node, by the tags of handles of roots.
    pub fn of_roots(schema: &'static Schema) -> Vec<Option<Leaf>> {
        let mut leaves = vec![None; schema.align() as usize];
        for &ty in schema.types(schema.entry()) {
            if let Some(place) = leaves.get_mut(schema.nodes()[ty].tag as usize) {
                *place = Leaf::of(schema, ty);
            }
        }
        leaves
    }

    /// `None` if a type has other elements than those of a block, children before or between them, or other arrays before them.
    fn of(schema: &'static Schema, ty: usize) -> Option<Leaf> {
        let node = &schema.nodes()[ty];
        let child = |step: &Step| match step {
            Step::One(field) => node.children().find(|(number, child)| number == field && child.array().is_none()),
            Step::Together(_) => None,
        };
        let next = match node.seq.as_slice() {
            [Step::Together(_)] => None,
            [Step::Together(_), last] => Some(child(last)?.1.offset),
            _ => return None,
        };
        let block = Block::of(node)?;
        let elems = &node.fields[block.field];
        let is_first = elems.rooms == 0 && elems.slot == 0 && elems.slot_rooms == 0;
        let is_all = node.children().count() == usize::from(next.is_some()) && node.elems().count() == 1;
        (schema.is_ordered() && is_first && is_all).then_some(Leaf {
            size: block.size,
            slot: node.layout.slot?,
            room: node.layout.room.filter(|_| block.may_grow()),
            first: elems.offset,
            next,
            least: block.least,
            most: block.usual,
            rate: Rate::of(node),
        })
    }

    /// The place of a coordinate in the node that begins at a word; `None` if it may be in a node behind.
    #[inline]
    fn find(&self, node: &[u32], base: usize, coordinate: u32) -> Option<Found> {
        let word = |word: u32| node.get(base + word as usize).copied();
        let (count, slot, first) = (word(self.size)? as usize, word(self.slot)? as usize, base + self.first as usize);
        let own = node.get(first..first + count)?;
        // A sum has no branches. The processor would mispredict half of those of a search.
        let k = match count {
            0..=FEW => own.iter().map(|there| usize::from(*there < coordinate)).sum(),
            _ => own.partition_point(|there| *there < coordinate),
        };
        let is_there = own.get(k) == Some(&coordinate);
        if k == count && self.next.is_some_and(|next| word(next) != Some(0)) {
            return None;
        }
        Some(Found { first, slot, count, k, is_there })
    }

    /// Puts a coordinate that is not there into its place; false if there is no room. Values are left as they are.
    #[inline]
    fn put(&self, node: &mut [u32], base: usize, &Found { first, count, k, .. }: &Found, coordinate: u32) -> bool {
        let most = self.room.map_or(self.most, |room| self.most.min(node[base + room as usize]));
        let Some(words) = node.get_mut(first..=first + count).filter(|_| count < most as usize) else { return false };
        words.copy_within(k..count, k + 1);
        words[k] = coordinate;
        node[base + self.size as usize] = count as u32 + 1;
        true
    }
}

/// The row of a handle, if it is one node: its type, and its first word.
#[inline]
fn of_handle(leaves: &[Option<Leaf>], schema: &Schema, handle: u32) -> Option<(Leaf, usize)> {
    let tags = schema.align() - 1;
    let leaf = (*leaves.get((handle & tags) as usize)?)?;
    let base = handle & !tags;
    (base != 0).then_some((leaf, base as usize))
}

/// The search compares every element of a row that has no more elements than this, and halves a longer row.
const FEW: usize = 32;

impl Kept {
    /// Finds the place of a coordinate in the row of a handle, if the row is one node: its type, its first word, and the place. The values
    /// are asked for before the node has come from memory.
    #[inline]
    fn in_leaf<T>(
        &mut self,
        (schema, handle): (&Schema, u32),
        (node, values): (&[u32], &[T]),
        coordinate: u32,
    ) -> Option<(Leaf, usize, Found)> {
        let (leaf, base) = of_handle(&self.leaves, schema, handle)?;
        if let Some(slot) = leaf.rate.and_then(|rate| self.guesses.slot(rate, base as u32)) {
            fetch(values.as_ptr().wrapping_add(slot as usize));
        }
        let found = leaf.find(node, base, coordinate)?;
        self.guesses.note(base as u32, found.slot as u64);
        Some((leaf, base, found))
    }

    /// Stores a coordinate with a value in a row of one node with room, and gives the value before; `None` if it takes more.
    #[inline]
    pub fn put_in_leaf<T: Element>(
        &mut self,
        row: (&Schema, u32),
        (node, values): (&mut [u32], &mut [T]),
        coordinate: u32,
        value: T,
    ) -> Option<Option<T>> {
        let (leaf, base, found) = self.in_leaf(row, (node, values), coordinate)?;
        let Found { slot, count, k, is_there, .. } = found;
        if is_there {
            return values.get_mut(slot + k).map(|place| Some(std::mem::replace(place, value)));
        }
        let own = values.get_mut(slot..=slot + count)?;
        if !leaf.put(node, base, &found, coordinate) {
            return None;
        }
        own.copy_within(k..count, k + 1);
        own[k] = value;
        self.inserted += 1;
        Some(None)
    }

    /// Takes a coordinate out of a row of one node that keeps enough, and gives its value; `None` if it takes more.
    #[inline]
    pub fn remove_from_leaf<T: Element>(
        &mut self,
        row: (&Schema, u32),
        (node, values): (&mut [u32], &mut [T]),
        coordinate: u32,
    ) -> Option<Option<T>> {
        let (leaf, base, Found { first, slot, count, k, is_there }) = self.in_leaf(row, (node, values), coordinate)?;
        if !is_there {
            return Some(None);
        }
        let has_next = leaf.next.is_some_and(|next| node[base + next as usize] != 0);
        if has_next || count <= leaf.least as usize {
            return None;
        }
        let (words, own) = (node.get_mut(first..first + count)?, values.get_mut(slot..slot + count)?);
        let value = own[k];
        words.copy_within(k + 1.., k);
        own.copy_within(k + 1.., k);
        node[base + leaf.size as usize] = count as u32 - 1;
        Some(Some(value))
    }
}

impl Editor<'_> {
    /// Stores a coordinate, with the held value as the new element, if its row is one node with room; `None` if it takes more.
    #[inline]
    pub fn insert_into_leaf(&mut self, coordinate: u32) -> Option<Put> {
        let handle = self.root.as_slice::<u32>()?.get(self.parent as usize).copied()?;
        let (leaf, base) = of_handle(&self.kept.leaves, self.schema, handle)?;
        let node = self.node.as_mut_slice::<u32>()?;
        let found = leaf.find(node, base, coordinate)?;
        let (position, end) = ((found.slot + found.k) as u64, (found.slot + found.count) as u64);
        if found.is_there {
            return Some(Put::Before(position));
        }
        if !leaf.put(node, base, &found, coordinate) {
            return None;
        }
        self.payload.shift(position..end, position + 1);
        self.payload.put(FRESH, position);
        self.kept.inserted += 1;
        Some(Put::Now(position))
    }
}

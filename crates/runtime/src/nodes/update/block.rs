//! Blocks: elements side by side in a node, which alone are a step of its order.
//!
//! An element that goes into a block with room, or out of one that keeps enough, changes nothing but this node: the coordinates behind it go
//! one place up or down, and so do their values.
//!
//! ```text
//! btree_leaf   slot 32   B 3   e = [10, 20, 40]    30 goes to place 2:   B 4   e = [10, 20, 30, 40]    values 34 .. 36 go up
//! ```

use lacunar_formats::schema::{Extent, Field, FieldKind, Node, Step};

use super::free::{Shape, usual};
use crate::nodes::View;

/// An array of elements that alone is a step of its type's order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    /// Its field.
    pub field: usize,
    node: &'static Node,
    elems: &'static Field,
    /// The word of its length.
    pub size: u32,
    /// The number of elements that there is room for, if that is the same in all nodes.
    bound: Option<u32>,
    /// The least number of elements: 0 for a type with others that are always there.
    pub least: u32,
    /// A block with at most this many elements has few: a quarter of its usual number, and not below its least.
    pub few: u32,
    /// The number of elements that it usually has at most.
    pub usual: u32,
}

/// Where the elements of a block are in a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Elems {
    /// The word of the length.
    pub size: usize,
    /// The word of the first element, and its position.
    pub first: usize,
    pub slot: u64,
    /// The number of elements, and the number there may be.
    pub count: u32,
    pub most: u32,
}

impl Block {
    /// Where its elements are in a node of the type.
    #[inline]
    pub fn elems_in(&self, view: View, base: u32) -> Elems {
        let (room, size) = (view.room_in(base, self.node), base as usize + self.size as usize);
        Elems {
            size,
            first: base as usize + self.elems.word(room, 0) as usize,
            slot: view.slot_in(base, self.node) + self.elems.slot(room, 0),
            count: view.word(size as u64),
            most: self.usual.min(self.bound.unwrap_or(room)),
        }
    }

    /// The least number of elements that the block of this node may have. A block in a chain joins the next block when it has few elements;
    /// any other block changes with a neighbor only when it would have too few.
    #[inline]
    pub fn least_in(&self, view: View, base: u32, shape: &Shape) -> u32 {
        let has_next = |next: u32| view.word(u64::from(base) + u64::from(next)) != 0;
        if shape.is_linear && shape.next.is_some_and(has_next) { self.few } else { self.least }
    }

    /// The block of a type, if one has elements that are all used and a length of its own.
    pub fn of(node: &'static Node) -> Option<Block> {
        node.seq.iter().find_map(|step| {
            let Step::Together(fields) = step else { return None };
            let [field] = *fields.as_slice() else { return None };
            let FieldKind::Elem { array: Some(Extent::Size(size)), nonempty: true } = node.fields[field].kind else {
                return None;
            };
            let FieldKind::Size { least, most, about } = node.fields[size].kind else { return None };
            if node.fields.iter().filter(|other| other.array() == node.fields[field].array()).count() > 1 {
                return None;
            }
            let has_others = node.elems().any(|(number, other)| number != field && other.is_nonempty());
            let usual = most.unwrap_or(usual(about));
            Some(Block {
                field,
                node,
                elems: &node.fields[field],
                size: node.fields[size].offset,
                bound: most,
                least: least.max(u32::from(!has_others)),
                few: least.max(usual / 4).max(1),
                usual,
            })
        })
    }
}

impl Block {
    /// True if the nodes of the type may have more or less room.
    pub fn may_grow(&self) -> bool {
        self.bound.is_none()
    }
}

impl Elems {
    /// Puts a coordinate into place `k`, with those behind it one place up; false if there is no room. Values are left as they are.
    #[inline]
    pub fn make_place(&self, words: &mut [u32], k: u32, coordinate: u32) -> bool {
        let (count, k) = (self.count as usize, k as usize);
        if self.count >= self.most || self.first + count >= words.len() {
            return false;
        }
        let own = &mut words[self.first..=self.first + count];
        own.copy_within(k..count, k + 1);
        own[k] = coordinate;
        words[self.size] = self.count + 1;
        true
    }

    /// Takes out the coordinate of a word, with those behind it one place down, and gives its number; `None` if it is not of the block, or
    /// no more than so many are left.
    #[inline]
    pub fn close(&self, words: &mut [u32], at: u32, least: u32) -> Option<u32> {
        let k = (at as usize).checked_sub(self.first)?;
        if k >= self.count as usize || self.count <= least {
            return None;
        }
        let own = words.get_mut(self.first..self.first + self.count as usize)?;
        own.copy_within(k + 1.., k);
        words[self.size] = self.count - 1;
        Some(k as u32)
    }
}

//! Nodes that are read: their words, as the layout of their type says.
//!
//! A [`View`] has the arrays of a level that has been checked. It tells the places for items of a node in the order of the schema, one
//! after the other ([`View::cells`]): all that updates know of a node comes from there.

use lacunar_formats::Schema;
use lacunar_formats::schema::{Extent, Field, FieldKind, Node, Step, Target};

use super::edit::Link;
use super::items::{Item, Source};
use crate::nodes::View;

impl View<'_> {
    /// A word; 0 outside.
    #[inline]
    pub fn word(&self, at: u64) -> u32 {
        self.node.get(at as usize).copied().unwrap_or_default()
    }

    /// The room of a node's arrays without a bound.
    pub fn room_of(&self, base: u32, ty: usize) -> u32 {
        self.room_in(base, &self.schema.nodes()[ty])
    }

    /// The same of a node whose type is at hand.
    #[inline]
    pub fn room_in(&self, base: u32, node: &Node) -> u32 {
        node.layout.room.map_or(0, |word| self.word(u64::from(base) + u64::from(word)))
    }

    /// The position of the first element of a node.
    pub fn slot_of(&self, base: u32, ty: usize) -> u64 {
        self.slot_in(base, &self.schema.nodes()[ty])
    }

    /// The same of a node whose type is at hand.
    #[inline]
    pub fn slot_in(&self, base: u32, node: &Node) -> u64 {
        node.layout.slot.map_or(0, |word| u64::from(self.word(u64::from(base) + u64::from(word))))
    }

    /// The handle of a node.
    pub fn handle(&self, base: u32, ty: usize) -> u32 {
        base | self.schema.nodes()[ty].tag
    }

    /// The node that a handle refers to: its first word and its type. `None` for null.
    #[inline]
    pub fn follow(&self, handle: u32, to: Target) -> Option<(u32, usize)> {
        let base = handle & !(self.schema.align() - 1);
        match to {
            _ if base == 0 => None,
            Target::Node(ty) => Some((base, ty)),
            Target::Super(_) => self.schema.type_of(to, handle).map(|ty| (base, ty)),
        }
    }

    /// The number of items of a step of a node's order.
    pub fn count(&self, base: u32, ty: usize, step: &Step) -> u32 {
        let node = &self.schema.nodes()[ty];
        let Step::Together(fields) = step else { return 1 };
        match fields.first().and_then(|field| node.fields[*field].array()) {
            Some(Extent::Const(count)) => count,
            Some(Extent::Size(size)) => self.word(u64::from(base) + u64::from(node.fields[size].offset)),
            None => 1,
        }
    }

    /// The handle that a reference has.
    pub fn referred(&self, link: Link) -> u32 {
        match link.holder {
            None => self.root.get(link.at as usize).copied().unwrap_or_default(),
            Some(_) => self.word(u64::from(link.at)),
        }
    }

    /// The reference to the root node of a parent position.
    pub fn root_link(&self, parent: u32) -> Link {
        Link { at: parent, to: self.schema.entry(), holder: None }
    }

    /// The number of items that an array of a node has room for.
    pub fn capacity(&self, ty: usize, field: &Field, room: u32) -> u32 {
        match field.array() {
            None => 1,
            Some(Extent::Const(count)) => count,
            Some(Extent::Size(size)) => match self.schema.nodes()[ty].fields[size].kind {
                FieldKind::Size { most: Some(most), .. } => most,
                _ => room,
            },
        }
    }

    /// The items of a node.
    pub fn read(&self, base: u32, ty: usize) -> Vec<Item> {
        let mut items = Vec::with_capacity(FEW);
        self.cells(base, ty, &mut |cell| {
            items.extend(cell.item);
            true
        });
        items
    }

    /// Calls `each` with the places for items of a node in the order of the schema, until it says that this is enough.
    pub fn cells(&self, base: u32, ty: usize, each: &mut dyn FnMut(Cell) -> bool) {
        for step in &self.schema.nodes()[ty].seq {
            if !self.step_cells(base, ty, step, 0, each) {
                return;
            }
        }
    }

    /// The same for a step of the order, from item `from` on; returns true if that was not enough.
    pub fn step_cells(&self, base: u32, ty: usize, step: &Step, from: u32, each: &mut dyn FnMut(Cell) -> bool) -> bool {
        let node = &self.schema.nodes()[ty];
        let (room, slot) = (self.room_of(base, ty), self.slot_of(base, ty));
        let (own, of_arrays) = match step {
            Step::One(field) => (Some(*field), &[][..]),
            Step::Together(fields) => (None, fields.as_slice()),
        };
        for k in from..self.count(base, ty, step) {
            for &number in own.iter().chain(of_arrays) {
                let field = &node.fields[number];
                let at = u64::from(base) + field.word(room, k);
                let word = self.word(at);
                let item = match field.kind {
                    FieldKind::Elem { .. } => (word != Schema::UNUSED).then(|| Item::Elem {
                        coordinate: word,
                        value: Source::At((slot + field.slot(room, k)) as u32),
                    }),
                    FieldKind::Child { to, .. } => self.follow(word, to).map(|(base, ty)| Item::Child { base, ty }),
                    _ => None,
                };
                if !each(Cell { field: number, at: at as u32, item }) {
                    return false;
                }
            }
        }
        true
    }
}

/// The number of items that a list has room for at first: a node with as many, and a new one, takes no more memory.
const FEW: usize = 24;

/// A place for an item in a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    /// The field.
    pub field: usize,
    /// The word.
    pub at: u32,
    /// The item there, if there is one.
    pub item: Option<Item>,
}

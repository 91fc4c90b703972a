//! The code of places in nodes: the words and positions of fields, from the layout of their types.
//!
//! ```text
//! def blist { e: elem[B] nonempty  n: blist  B: size in [0,16]  seq = {e}, n }
//! base = the handle without its tag      word(e) = base + 3      position(e) = node[base + 2]
//! ```

use lacunar_formats::schema::{Extent, Schema, Step};
use lacunar_imp::{BinaryOp, Builder, ExprId};

use super::visit::fields;
use super::{Nodes, Walk};

impl Nodes {
    /// The first word of the node that an iterator stands at, which is of a type.
    pub(super) fn base(&self, b: &mut Builder, walk: &Walk, node: usize) -> ExprId {
        let (handle, tag) = (b.var(walk.node), b.int(i64::from(self.visit.schema.nodes()[node].tag)));
        b.sub(handle, tag)
    }

    /// The word of the first item of a field, of a node at `base`.
    pub(super) fn word(&self, b: &mut Builder, base: ExprId, node: usize, field: usize) -> ExprId {
        let field = self.visit.field(node, field);
        let offset = b.int(i64::from(field.offset));
        let word = b.add(base, offset);
        let beside = self.rooms(b, base, node, field.rooms);
        b.add(word, beside)
    }

    /// The position of the first item of a field of elements.
    pub(super) fn position_of(&self, b: &mut Builder, base: ExprId, node: usize, field: usize) -> ExprId {
        let field = self.visit.field(node, field);
        let layout = &self.visit.schema.nodes()[node].layout;
        let (word, slot) = (b.int(i64::from(layout.slot.unwrap_or(0))), b.int(i64::from(field.slot)));
        let word = b.add(base, word);
        let first = b.load_index("slot", self.node, word);
        let position = b.add(first, slot);
        let beside = self.rooms(b, base, node, field.slot_rooms);
        b.add(position, beside)
    }

    /// The room of each array without a bound, times a number.
    fn rooms(&self, b: &mut Builder, base: ExprId, node: usize, count: u32) -> ExprId {
        let layout = &self.visit.schema.nodes()[node].layout;
        let Some(room) = layout.room.filter(|_| count > 0) else { return b.int(0) };
        let (word, count) = (b.int(i64::from(room)), b.int(i64::from(count)));
        let word = b.add(base, word);
        let room = b.load_index("room", self.node, word);
        b.mul(room, count)
    }

    /// The number of items of the arrays of a step; 1 if it is no array.
    pub(super) fn count(&self, b: &mut Builder, base: ExprId, node: usize, step: &Step) -> ExprId {
        match fields(step).first().and_then(|field| self.visit.field(node, *field).array()) {
            None => b.int(1),
            Some(Extent::Const(count)) => b.int(i64::from(count)),
            Some(Extent::Size(size)) => {
                let word = self.word(b, base, node, size);
                b.load_index("count", self.node, word)
            }
        }
    }

    /// The number of items that a field of elements has words for.
    pub(super) fn capacity(&self, b: &mut Builder, base: ExprId, node: usize, field: usize) -> ExprId {
        if let Some(count) = self.visit.bound(node, field) {
            return b.int(i64::from(count));
        }
        let room = self.rooms(b, base, node, 1);
        if !self.visit.schema.nodes()[node].is_padded(field) {
            return room;
        }
        let last = i64::from(Schema::VECTOR) - 1;
        let (mask, last) = (b.int(!last), b.int(last));
        let room = b.add(room, last);
        b.binary(BinaryOp::And, room, mask)
    }
}

//! A block whose node has no room left. The node is copied into one with more room, which takes its place.
//!
//! ```text
//! ctree_root   room 4   N 4   e = [10, 20, 40, 50]    r 7          30 goes to place 2:
//! ctree_root   room 8   N 5   e = [10, 20, 30, 40, 50, -, -, -]    r 7
//! ```
//!
//! The general way reads the node into a list of items, and fits and writes that. Here words and values are copied as they are.

use lacunar_formats::schema::FieldKind;

use super::edit::{Editor, Link, Visit};
use super::items::meta_words;
use super::payload::FRESH;
use crate::error::StorageError;

impl Editor<'_> {
    /// Inserts the new element at place `k` of a full block that may become longer: copies the node into one with more room, and lets the link
    /// refer to that. Returns the new node and the element's position. Returns `None`, and changes nothing, if the block has room, has
    /// its usual length, or has a bound.
    ///
    /// # Errors
    /// Memory is refused; none that has been [reserved](Editor::reserve), for a node of that room.
    pub fn grow_block(
        &mut self,
        (visit, link): (Visit, Link),
        (field, k): (usize, u32),
        coordinate: u32,
    ) -> Result<Option<(u32, u32)>, StorageError> {
        let (base, ty) = (visit.base, visit.ty());
        let Some(block) = self.shape(ty).block.filter(|block| block.field == field && block.may_grow()) else {
            return Ok(None);
        };
        let elems = block.elems_in(self.view(), base);
        let room = self.room(base, ty);
        if elems.count != room || elems.count >= block.usual {
            return Ok(None);
        }
        let larger = self.make(ty, room + 1)?;
        self.copy_node((base, room), larger, ty);
        self.connect(link, larger, ty);
        self.discard(base, ty);
        let elems = block.elems_in(self.view(), larger);
        let Some(words) = self.node.as_mut_slice() else { return Ok(None) };
        elems.make_place(words, k, coordinate);
        let at = elems.slot + u64::from(k);
        self.payload.shift(at..elems.slot + u64::from(elems.count), at + 1);
        self.payload.put(FRESH, at);
        Ok(Some((larger, at as u32)))
    }

    /// Copies the fields of a node into a new node with more room, and the values of its elements. The node's children then name the new
    /// node as their parent. The places behind the end of an array stay zero.
    fn copy_node(&mut self, (base, room): (u32, u32), larger: u32, ty: usize) {
        let schema = self.schema;
        let node = &schema.nodes()[ty];
        let (slot, more, to_slot) = (self.slot(base, ty), self.room(larger, ty), self.slot(larger, ty));
        for field in &node.fields {
            let count = match field.kind {
                FieldKind::Elem { .. } | FieldKind::Child { .. } if field.array().is_some() => {
                    self.capacity(ty, field, room)
                }
                FieldKind::Meta(meta) => meta_words(meta),
                FieldKind::Parent => continue,
                FieldKind::Elem { .. } | FieldKind::Child { .. } | FieldKind::Size { .. } => 1,
            };
            let from = (u64::from(base) + field.word(room, 0)) as usize;
            let to = (u64::from(larger) + field.word(more, 0)) as usize;
            if let Some(words) = self.node.as_mut_slice::<u32>()
                && words.len() >= from.max(to) + count as usize
            {
                words.copy_within(from..from + count as usize, to);
            }
            match field.kind {
                FieldKind::Elem { .. } => {
                    let first = slot + field.slot(room, 0);
                    self.payload.shift(first..first + u64::from(count), to_slot + field.slot(more, 0));
                }
                FieldKind::Child { to: target, .. } => {
                    let own = Some((ty, self.handle(larger, ty)));
                    for word in to..to + count as usize {
                        if let Some((child, of)) = self.follow(self.word(word as u64), target) {
                            self.set_holder(child, of, own);
                        }
                    }
                }
                _ => {}
            }
        }
    }
}

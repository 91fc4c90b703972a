//! Reading nodes: fields, lengths and handles, of arrays that were checked or made here.
//!
//! ```text
//! handle 17 = node at word 16, of the subtype with tag 1; with align 4 the low 2 bits are the tag
//! ```

use lacunar_formats::Schema;
use lacunar_formats::schema::{Extent, Field, Node, Target};

use crate::buffer::{Buffer, Indices};
use crate::storage::LevelStorage;

/// The arrays of a level of nodes.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    /// The types of the nodes.
    pub schema: &'static Schema,
    /// The handle of each parent position's root node.
    pub root: &'a [u32],
    /// The words of nodes.
    pub node: &'a [u32],
}

impl<'a> View<'a> {
    /// The view of a level; none of levels of other kinds, or if an array is of another type.
    pub fn of(level: &'a LevelStorage) -> Option<View<'a>> {
        let words = |array: &'a Buffer| match array.indices()? {
            Indices::U32(words) => Some(words),
            _ => None,
        };
        let (schema, root, node) = level.nodes()?;
        Some(View { schema, root: words(root)?, node: words(node)? })
    }

    /// The number of positions of the level.
    pub fn positions(&self) -> u64 {
        self.node.get(Schema::POSITIONS).copied().unwrap_or_default().into()
    }

    /// The first word of the node of a handle.
    #[inline(always)]
    pub fn base(&self, handle: u32) -> usize {
        (handle & !(self.schema.align() - 1)) as usize
    }

    /// The number of the type of a child's node, and its first word; none of a handle that is 0.
    #[inline(always)]
    pub fn open(&self, target: Target, handle: u32) -> Option<(usize, usize)> {
        if handle == 0 {
            return None;
        }
        let number = match target {
            Target::Node(number) => number,
            Target::Super(_) => self.schema.type_of(target, handle)?,
        };
        Some((number, self.base(handle)))
    }

    /// The number of items that each array without a bound has room for.
    #[inline(always)]
    pub fn room(&self, node: &Node, base: usize) -> u32 {
        node.layout.room.map_or(0, |word| self.node[base + word as usize])
    }

    /// The position of the first element of a node.
    #[inline(always)]
    pub fn slot(&self, node: &Node, base: usize) -> u64 {
        node.layout.slot.map_or(0, |word| self.node[base + word as usize].into())
    }

    /// The number of items of a field.
    #[inline(always)]
    pub fn length(&self, node: &Node, base: usize, field: &Field) -> u32 {
        match field.array() {
            None => 1,
            Some(Extent::Const(length)) => length,
            Some(Extent::Size(size)) => self.node[base + node.fields[size].offset as usize],
        }
    }
}

/// The word for the field `parent` of a node that is held by one of these types, with this handle: the handle, or 0 if such fields
/// do not refer to the holder's type.
pub(crate) fn holder_word(schema: &Schema, held: &Node, holder: Option<(usize, u32)>) -> u32 {
    match (held.holder, holder) {
        (Some(target), Some((number, handle))) if schema.types(target).contains(&number) => handle,
        _ => 0,
    }
}

//! Layouts: the words of each field of a node.
//!
//! Words that every visit reads come first: coordinates that are no arrays, then children, then lengths, the first position and the
//! room. Metadata and the parent follow, then arrays with a bound, then those without one. Positions of elements are in the order of
//! fields, those of arrays without a bound behind the others.
//!
//! ```text
//! def ctree { h: elem nonempty  t: elem[N] nonempty  l: ctree  r: ctree  N: size  seq = l, h, {t}, r }
//! word      0 h   1 l   2 r   3 N   4 room   5 slot   6 t[0] .. t[room - 1]         t a multiple of 8, and of 4 in all
//! position  slot: of h   slot + 1 ..: of t
//! ```

use super::{Extent, Field, FieldKind, Layout, Meta, Node};

/// The least alignment of nodes, in words.
pub(super) const ALIGN: u32 = 4;

/// The number of items of an array with a bound, of other fields 1; none of arrays without a bound.
fn bound(fields: &[Field], field: &Field) -> Option<u32> {
    match field.array() {
        None => Some(1),
        Some(Extent::Const(length)) => Some(length),
        Some(Extent::Size(size)) => match fields.get(size)?.kind {
            FieldKind::Size { most, .. } => most,
            _ => None,
        },
    }
}

/// The group of words to which a field that is no array belongs.
fn group(field: &Field) -> usize {
    match field.kind {
        FieldKind::Elem { .. } => 0,
        FieldKind::Child { .. } => 1,
        FieldKind::Size { .. } => 2,
        FieldKind::Meta(_) => 4,
        FieldKind::Parent => 5,
    }
}

/// The group of the words that no field has.
const OWN: usize = 3;
/// The number of groups.
const GROUPS: usize = 6;

/// Gives the fields of a node their places.
pub(super) fn lay_out(node: &mut Node, align: u32) {
    let bounds: Vec<Option<u32>> = node.fields.iter().map(|field| bound(&node.fields, field)).collect();
    let mut layout = Layout { align, ..Layout::default() };
    let mut words = 0;
    for step in 0..GROUPS {
        for field in node.fields.iter_mut().filter(|field| field.array().is_none() && group(field) == step) {
            field.offset = words;
            words += if matches!(field.kind, FieldKind::Meta(Meta::Int(64) | Meta::Uint(64))) { 2 } else { 1 };
        }
        if step == OWN {
            let takes = |own: bool, words: &mut u32| own.then(|| std::mem::replace(words, *words + 1));
            layout.room = takes(bounds.contains(&None), &mut words);
            layout.slot =
                takes(node.fields.iter().any(|field| matches!(field.kind, FieldKind::Elem { .. })), &mut words);
        }
    }
    for (field, bound) in node.fields.iter_mut().zip(&bounds).filter(|(field, _)| field.array().is_some()) {
        if let Some(bound) = bound {
            field.offset = words;
            words += bound;
        }
    }
    let is_elem = |field: &Field| matches!(field.kind, FieldKind::Elem { .. });
    for (field, bound) in node.fields.iter_mut().zip(&bounds).filter(|(field, _)| is_elem(field)) {
        field.slot = layout.slots;
        layout.slots += bound.unwrap_or_default();
    }
    for (number, field) in node.fields.iter_mut().enumerate().filter(|(number, _)| bounds[*number].is_none()) {
        (field.offset, field.rooms) = (words, layout.unbounded.len() as u32);
        if is_elem(field) {
            (field.slot, field.slot_rooms) = (layout.slots, layout.slot_rooms);
            layout.slot_rooms += 1;
        }
        layout.unbounded.push(number);
    }
    layout.words = if layout.unbounded.is_empty() { words.next_multiple_of(align) } else { words };
    node.layout = layout;
}

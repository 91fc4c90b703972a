//! Updates of one entry that change one node only. Most updates that come one by one are such.
//!
//! ```text
//! put       a value is replaced
//!           an element goes into a block with room (`block.rs`)
//!           a block without moves into a node with more (`grow.rs`)
//!           a node of one element takes the place of a null child
//! removed   an element goes out of a block that keeps enough
//!           a node of one element goes, and its only child takes its place
//! ```
//!
//! The search records no path, and values move as elements of their type. The [`Editor`] carries out all other updates: it records the path, and
//! splits and joins nodes along it.
//!
//! On entry: an innermost level that has been checked, and the values at its positions. On exit: the change is done, or nothing is changed.

use super::edit::{Editor, Link, Visit};
use super::free::Kept;
use super::guess::Guesses;
use super::locate::Spot;
use super::payload::Payload;
use super::search::{Search, Way};
use crate::buffer::Buffer;
use crate::moved::fetch;
use crate::nodes::View;
use crate::nodes::build::growing_room;
use crate::storage::LevelStorage;
use crate::values::Element;

/// Stores a coordinate under a parent position with a value, and gives the one before; `None` if it takes more than this.
pub(crate) fn put_quickly<T: Element>(
    level: &mut LevelStorage,
    buffer: &mut Buffer,
    (parent, coordinate): (u64, u64),
    value: T,
) -> Option<Option<T>> {
    let (schema, roots, nodes, kept) = level.nodes_mut()?;
    kept.prepare(schema);
    let (root, node, values) = (roots.as_slice()?, nodes.as_mut_slice()?, buffer.as_mut_slice::<T>()?);
    let (parent, coordinate) = (u32::try_from(parent).ok()?, u32::try_from(coordinate).ok()?);
    let handle = root.get(parent as usize).copied().unwrap_or_default();
    if let Some(before) = kept.put_in_leaf((schema, handle), (node, values), coordinate, value) {
        return Some(before);
    }
    let view = View { schema, root, node };
    let spot = view.spot(&kept.searches, parent, coordinate, fetch_values(view, &kept.guesses, values))?;
    kept.has_met(view, spot);
    let (spot, place) = match spot {
        Some(Spot { way: Way::Found(_, position), .. }) => {
            return values.get_mut(position as usize).map(|place| Some(std::mem::replace(place, value)));
        }
        Some(spot @ Spot { way: Way::Child(_, _, place) | Way::Gap(place), .. }) => (Some(spot), place),
        None => (None, None),
    };
    if let (Some(spot), Some((field, k))) = (spot, place) {
        let block = kept.shapes[spot.ty].block.filter(|block| block.field == field)?;
        let array = block.elems_in(view, spot.base);
        let (k, slot, count) = (k as usize, array.slot as usize, array.count as usize);
        let own = values.get_mut(slot..=slot + count)?;
        if array.make_place(node, k as u32, coordinate) {
            own.copy_within(k..count, k + 1);
            own[k] = value;
            kept.inserted += 1;
            return Some(None);
        }
        if !block.may_grow() || roots.is_borrowed() {
            return None;
        }
        let visit = Visit { base: spot.base, ty: spot.ty as u32, link: spot.link.at };
        let editor = Editor::new(schema, (roots, nodes), kept, Payload::values(buffer, 1, &[]), parent);
        let position = changed(editor, Some(visit), |editor| {
            editor.reserve(1, growing_room(array.count + 1)).ok()?;
            let grown = editor.grow_block((visit, spot.link), (field, k as u32), coordinate).ok()?;
            grown.map(|(_, position)| position)
        });
        *buffer.as_mut_slice()?.get_mut(position? as usize)? = value;
        return Some(None);
    }
    let (link, first) = match spot {
        None => (view.root_link(parent), usize::MAX),
        Some(Spot { base, ty, way: Way::Child(at, to, _), .. }) if kept.shapes[ty].is_full => {
            (Link { at, to, holder: Some((ty, view.handle(base, ty))) }, ty)
        }
        Some(_) => return None,
    };
    if !kept.most.is_bounded() || roots.is_borrowed() {
        return None;
    }
    let visit = spot.map(|spot| Visit { base: spot.base, ty: spot.ty as u32, link: spot.link.at });
    let depth = spot.map_or(0, |spot| spot.depth);
    let editor = Editor::new(schema, (roots, nodes), kept, Payload::values(buffer, 1, &[]), parent);
    let position = changed(editor, visit, |editor| {
        // Two more than there are, as for `Editor::balance`.
        if depth + 2 > editor.depth_limit() {
            return None;
        }
        let single = editor.single_of(link.to, first)?;
        editor.hang_single(link, single, coordinate).ok().map(|(_, position)| position)
    });
    *buffer.as_mut_slice()?.get_mut(position? as usize)? = value;
    Some(None)
}

/// Puts in an element at the end of a path of one node, or of none; gives the position at which it landed.
fn changed(
    mut editor: Editor<'_>,
    visit: Option<Visit>,
    change: impl FnOnce(&mut Editor<'_>) -> Option<u32>,
) -> Option<u32> {
    editor.path.clear();
    editor.path.extend(visit);
    let position = change(&mut editor);
    editor.kept.inserted += u64::from(position.is_some());
    editor.finish();
    position
}

/// Removes a coordinate under a parent position, and gives its value, if it was stored; `None` if it takes more than this.
pub(crate) fn remove_quickly<T: Element>(
    level: &mut LevelStorage,
    buffer: &mut Buffer,
    (parent, coordinate): (u64, u64),
) -> Option<Option<T>> {
    let (schema, roots, nodes, kept) = level.nodes_mut()?;
    let (root, node, values) = (roots.as_slice()?, nodes.as_mut_slice()?, buffer.as_mut_slice::<T>()?);
    let (parent, coordinate) = (u32::try_from(parent).ok()?, u32::try_from(coordinate).ok()?);
    let handle = root.get(parent as usize).copied().unwrap_or_default();
    if let Some(removed) = kept.remove_from_leaf((schema, handle), (node, values), coordinate) {
        return Some(removed);
    }
    let view = View { schema, root, node };
    let spot = view.spot(&kept.searches, parent, coordinate, fetch_values(view, &kept.guesses, values))?;
    kept.has_met(view, spot);
    let Some(spot) = spot else { return Some(None) };
    let Way::Found(at, position) = spot.way else { return Some(None) };
    let shape = &kept.shapes[spot.ty];
    let value = *values.get(position as usize)?;
    if let Some(block) = shape.block {
        let (array, least) = (block.elems_in(view, spot.base), block.least_in(view, spot.base, shape));
        let own = values.get_mut(array.slot as usize..array.slot as usize + array.count as usize)?;
        let k = array.close(node, at, least)? as usize;
        own.copy_within(k + 1.., k);
        return Some(Some(value));
    }
    if shape.lone.is_none() || roots.is_borrowed() {
        return None;
    }
    let mut editor = Editor::new(schema, (roots, nodes), kept, Payload::values(buffer, 1, &[]), parent);
    let is_done = editor.unhook_from(spot.link, spot.base, spot.ty);
    editor.finish();
    is_done.then_some(Some(value))
}

impl Kept {
    /// Keeps the place of the values of a node that a search has ended in.
    #[inline]
    fn has_met(&mut self, view: View, spot: Option<Spot>) {
        if let Some(Spot { base, ty, .. }) = spot {
            self.guesses.note(base, view.slot_of(base, ty));
        }
    }
}

/// Asks for the values of each node that a search meets: for those of a guess at once, and for those of nodes with elements side by side
/// as soon as the node is there.
#[inline]
fn fetch_values<'a, T>(view: View<'a>, guesses: &'a Guesses, values: &[T]) -> impl FnMut(&Search, u32) + use<'a, T> {
    let first = values.as_ptr();
    move |search, base| {
        if let Some(slot) = search.rate().and_then(|rate| guesses.slot(rate, base)) {
            fetch(first.wrapping_add(slot as usize));
        }
        if search.has_block() {
            fetch(first.wrapping_add(view.slot_in(base, search.node()) as usize));
        }
    }
}

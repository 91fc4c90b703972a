//! A new element.
//!
//! If the gap of its coordinate is in a block that has room, the elements behind go one place up. A block that may become longer moves into a
//! node with more room (`grow.rs`). Otherwise the node's items with the new
//! one are fitted again, and these are tried, one after the other:
//!
//! ```text
//! the node as it is                                 two used places of a block of four, and a hole
//! a new node for the null child in the gap          binary trees; the end of a list
//! a chain: the node's second half behind it         blocks of lists            a b c d -> z   becomes   a b -> c d -> z
//! hanging: the second half under the next node      blocks of binary trees
//! a split around a separator, upward                B-trees (`split.rs`)
//! a small tree of the elements in the node's place  nodes that may not have few children
//! the last element goes on, to the child behind it  a bounded row above a tree
//! ```
//!
//! Nodes with arrays of children try splits first: their children stay equally deep. Trees that become too deep are
//! balanced again (`rebalance.rs`). If nothing fits, the tensor has to be made anew.

use lacunar_formats::schema::{FieldKind, Target};

use super::edit::{Editor, Link, Visit};
use super::free::Single;
use super::items::{Item, Source, elems};
use super::locate::Located;
use super::payload::FRESH;
use super::rebalance::DEEPEST;
use crate::error::StorageError;

/// The outcome for a coordinate that was to be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// It was stored before, at this position.
    Before(u64),
    /// It is stored now, at this position.
    Now(u64),
    /// There is no room for it, and nothing has been changed.
    Nowhere,
}

impl Editor<'_> {
    /// Stores a coordinate, with the held value as the new element.
    ///
    /// # Errors
    /// Handles or positions do not fit into 32 bits, or memory is refused; nothing has been changed.
    pub fn insert(&mut self, coordinate: u32) -> Result<Put, StorageError> {
        if let Some(put) = self.insert_into_leaf(coordinate) {
            return Ok(put);
        }
        let (null, block) = match self.locate(coordinate) {
            Located::Found { position, .. } => return Ok(Put::Before(u64::from(position))),
            Located::Gap { null, block } => (null, block),
        };
        if let Some((field, k)) = block
            && let Some(position) = self.shift_in(field, k, coordinate)
        {
            self.kept.inserted += 1;
            return Ok(Put::Now(u64::from(position)));
        }
        let depth = self.depth();
        if depth > DEEPEST {
            return Ok(Put::Nowhere);
        }
        self.reserve(depth as u64 + SPARE, 2 * self.longest())?;
        self.landed = None;
        if let (Some(place), Some(visit)) = (block, self.path.last().copied()) {
            let level = self.path.len() - 1;
            if let Some((larger, position)) = self.grow_block((visit, self.link_of(level)), place, coordinate)? {
                self.path[level].base = larger;
                self.kept.inserted += 1;
                return Ok(Put::Now(u64::from(position)));
            }
        }
        let new = Item::Elem { coordinate, value: Source::Held(FRESH) };
        let stored = self.place(new, null, MOST_PASSED)?;
        self.payload.release();
        match (stored, self.landed) {
            (true, Some(position)) => {
                self.kept.inserted += 1;
                self.balance(1)?;
                Ok(Put::Now(u64::from(position)))
            }
            _ => Ok(Put::Nowhere),
        }
    }

    /// Puts the new element into place `k` of a block with room, if the last node of the path has one.
    fn shift_in(&mut self, field: usize, k: u32, coordinate: u32) -> Option<u32> {
        let visit = *self.path.last()?;
        let block = self.shape(visit.ty()).block.filter(|block| block.field == field)?;
        let array = block.elems_in(self.view(), visit.base);
        if !array.make_place(self.node.as_mut_slice()?, k, coordinate) {
            return None;
        }
        let at = array.slot + u64::from(k);
        self.payload.shift(at..array.slot + u64::from(array.count), at + 1);
        self.payload.put(FRESH, at);
        Some(at as u32)
    }

    /// Puts an element at the end of the path, where its gap may have a null child; as many nodes as said may pass an element on. False if
    /// it fits nowhere: then nothing has been changed.
    fn place(&mut self, new: Item, null: Option<Link>, passed: usize) -> Result<bool, StorageError> {
        let Some(visit) = self.path.last().copied() else {
            return match null {
                Some(link) => self.hang_one(link, new, usize::MAX),
                None => Ok(false),
            };
        };
        let (ty, level) = (visit.ty(), self.path.len() - 1);
        if self.shape(ty).is_full
            && let Some(link) = null
            && self.hang_one(link, new, ty)?
        {
            return Ok(true);
        }
        let mut items = self.read(visit.base, ty);
        let at = self.gap_among(&items, &new);
        items.insert(at, new);
        if let Some(fit) = self.fit_short(ty, &items) {
            self.rewrite(level, &items, &fit)?;
            return Ok(true);
        }
        if self.shape(ty).is_wide && self.split(level, &items)? {
            return Ok(true);
        }
        if let Some(link) = null
            && self.hang_one(link, new, ty)?
        {
            return Ok(true);
        }
        if self.chain(level, &items)? || self.split(level, &items)? {
            return Ok(true);
        }
        if items.iter().all(Item::is_elem)
            && let Some(tree) = self.sketch(level, &items)
        {
            self.replace_by_tree(level, tree)?;
            return Ok(true);
        }
        self.pass_on(level, items, passed)
    }

    /// The place of a new element among items: before the first that is greater, at the end if there is no order.
    fn gap_among(&self, items: &[Item], new: &Item) -> usize {
        let behind = |item: &Item| item.coordinate() > new.coordinate() && item.is_elem();
        match self.schema.is_ordered() {
            true => items.iter().position(behind).unwrap_or_else(|| {
                // Behind all elements, and before the children that are behind these.
                items.iter().rposition(Item::is_elem).map_or(items.len(), |last| last + 1)
            }),
            false => items.len(),
        }
    }

    /// Makes a node of the new element for a reference that is null, of type `first` before others. False if no type that it may refer to
    /// has nodes of one element.
    pub fn hang_one(&mut self, link: Link, new: Item, first: usize) -> Result<bool, StorageError> {
        let chosen = self.single_of(link.to, first);
        let (Some((ty, single)), Item::Elem { coordinate, value: Source::Held(held) }) = (chosen, new) else {
            let Some((ty, fit)) = self.choose(link.to, &[new], first) else { return Ok(false) };
            let base = self.make_of(ty, &[new], &fit)?;
            self.connect(link, base, ty);
            self.path.push(Visit { base, ty: ty as u32, link: link.at });
            return Ok(true);
        };
        let (base, position) = self.hang_single(link, (ty, single), coordinate)?;
        self.payload.put(held, position.into());
        if held == FRESH {
            self.landed = Some(position);
        }
        self.path.push(Visit { base, ty: ty as u32, link: link.at });
        Ok(true)
    }

    /// Makes a node of one element, whose value is not written, for a reference that is null. Its first word, and the element's position.
    ///
    /// # Errors
    /// Memory is refused; none that has been [reserved](Editor::reserve).
    #[inline]
    pub fn hang_single(
        &mut self,
        link: Link,
        (ty, single): (usize, Single),
        coordinate: u32,
    ) -> Result<(u32, u32), StorageError> {
        let base = self.make(ty, u32::from(single.size.is_some()))?;
        let (node, room) = (&self.schema.nodes()[ty], self.room(base, ty));
        let element = &node.fields[single.field];
        if let Some(size) = single.size {
            self.set(u64::from(base) + u64::from(node.fields[size].offset), 1);
        }
        self.set(u64::from(base) + element.word(room, 0), coordinate);
        let position = self.slot(base, ty) + element.slot(room, 0);
        self.connect(link, base, ty);
        Ok((base, position as u32))
    }

    /// A type whose nodes may have one element alone, of those that a reference may refer to: a wanted one before others.
    #[inline]
    pub fn single_of(&self, to: Target, first: usize) -> Option<(usize, Single)> {
        let types = self.schema.types(to);
        let single = |ty: usize| Some((ty, self.shape(ty).single?));
        let own = types.contains(&first).then_some(first).and_then(single);
        own.or_else(|| types.iter().copied().find_map(single))
    }

    /// Puts the second half of a node's items behind it: into a new node that its last child refers to, or that hangs under the first node
    /// of that child's.
    fn chain(&mut self, level: usize, items: &[Item]) -> Result<bool, StorageError> {
        let visit = self.path[level];
        let ty = visit.ty();
        let Some(field) = self.shape(ty).last else { return Ok(false) };
        let FieldKind::Child { to, .. } = self.schema.nodes()[ty].fields[field].kind else { return Ok(false) };
        let behind = match items.last() {
            Some(Item::Child { base, ty }) => Some((*base, *ty)),
            _ => None,
        };
        let (len, middle) = (items.len(), elems(items).div_ceil(2));
        let half = items.iter().enumerate().filter(|(_, item)| item.is_elem()).nth(middle).map_or(len, |(at, _)| at);
        let cuts = std::iter::once(half).chain(1..len);
        for cut in cuts.filter(|cut| *cut > 0 && *cut < len) {
            let (front, back) = items.split_at(cut);
            let Some((other, fit)) = self.choose(to, back, ty) else { continue };
            let mut own = front.to_vec();
            own.push(Item::Child { base: visit.base, ty: other });
            if self.fit(ty, &own).is_none() {
                continue;
            }
            if behind.is_none() || self.shape(other).is_linear {
                let base = self.make_of(other, back, &fit)?;
                own.pop();
                own.push(Item::Child { base, ty: other });
                return self.finish_chain(level, &own, (base, other, field));
            }
            return self.hang(level, items, cut);
        }
        Ok(false)
    }

    /// Writes the first half of a chain, whose last child is the second half; the path goes on to there.
    fn finish_chain(
        &mut self,
        level: usize,
        own: &[Item],
        (base, ty, field): (u32, usize, usize),
    ) -> Result<bool, StorageError> {
        let visit = self.path[level];
        let Some(fit) = self.fit(visit.ty(), own) else { return Ok(false) };
        self.rewrite(level, own, &fit)?;
        let above = self.path[level];
        let room = self.room(above.base, above.ty());
        let link = u64::from(above.base) + self.schema.nodes()[above.ty()].fields[field].word(room, 0);
        self.path.push(Visit { base, ty: ty as u32, link: link as u32 });
        Ok(true)
    }

    /// Puts the elements from `cut` on under the first node of the last child, which is there.
    fn hang(&mut self, level: usize, items: &[Item], cut: usize) -> Result<bool, StorageError> {
        let (Some(last), len) = (items.last().copied(), items.len()) else { return Ok(false) };
        let (ty, back) = (self.path[level].ty(), &items[cut..len - 1]);
        let mut own = items[..cut].to_vec();
        own.push(last);
        let Some(fit) = self.fit(ty, &own) else { return Ok(false) };
        let depth = self.path.len();
        let Some(link) = self.leftmost(level, &own) else {
            self.path.truncate(depth);
            return Ok(false);
        };
        let Some((other, back_fit)) = self.choose(link.to, back, ty) else {
            self.path.truncate(depth);
            return Ok(false);
        };
        let base = self.make_of(other, back, &back_fit)?;
        self.connect(link, base, other);
        self.path.push(Visit { base, ty: other as u32, link: link.at });
        // The node keeps its place: it has fewer items than before.
        self.rewrite(level, &own, &fit)?;
        Ok(true)
    }

    /// Leads the path on into the last child of a node, to the reference at its very beginning, if that is null.
    fn leftmost(&mut self, level: usize, items: &[Item]) -> Option<Link> {
        let Some(Item::Child { base, .. }) = items.last().copied() else { return None };
        let visit = self.path[level];
        let mut link = self.link_to(visit, base)?;
        loop {
            let Some((base, ty)) = self.follow(self.referred(link), link.to) else { return Some(link) };
            self.path.push(Visit { base, ty: ty as u32, link: link.at });
            let field = self.shape(ty).first?;
            let described = &self.schema.nodes()[ty].fields[field];
            let FieldKind::Child { to, .. } = described.kind else { return None };
            let at = u64::from(base) + described.word(self.room(base, ty), 0);
            link = Link { at: at as u32, to, holder: Some((ty, self.handle(base, ty))) };
        }
    }

    /// The reference of a node to a child.
    pub fn link_to(&self, visit: Visit, child: u32) -> Option<Link> {
        let mut link = None;
        self.cells(visit.base, visit.ty(), &mut |cell| {
            if let (Some(item), FieldKind::Child { to, .. }) =
                (cell.item, &self.schema.nodes()[visit.ty()].fields[cell.field].kind)
                && item.is_child(child)
            {
                link = Some(Link { at: cell.at, to: *to, holder: self.holder(visit) });
            }
            link.is_none()
        });
        link
    }

    /// Puts all but the last element into a node, and that one at the beginning of the child behind it.
    fn pass_on(&mut self, level: usize, mut items: Vec<Item>, passed: usize) -> Result<bool, StorageError> {
        // Lists of nodes that are all full may have any length.
        let Some(passed) = passed.checked_sub(1) else { return Ok(false) };
        let visit = self.path[level];
        let [.., Item::Elem { .. }, Item::Child { base: child, .. }] = items[..] else { return Ok(false) };
        let at = items.len() - 2;
        let Item::Elem { coordinate, value } = items.remove(at) else { return Ok(false) };
        let Some(fit) = self.fit(visit.ty(), &items) else { return Ok(false) };
        let depth = self.path.len();
        let Some(link) = self.link_to(visit, child) else { return Ok(false) };
        let located = self.locate_from(link, coordinate);
        let value = match value {
            Source::At(position) => Source::Held(self.payload.hold(u64::from(position))),
            held @ Source::Held(_) => held,
        };
        let Located::Gap { null, .. } = located else { return Ok(false) };
        // A split below would write into this node, whose items are rewritten behind it.
        let fixed = std::mem::replace(&mut self.fixed, depth);
        let placed = self.depth() <= DEEPEST && self.place(Item::Elem { coordinate, value }, null, passed)?;
        self.fixed = fixed;
        if !placed {
            self.path.truncate(depth);
            return Ok(false);
        }
        // Another node may be the child by now.
        if let (Some(last), Some((base, ty))) = (items.last_mut(), self.follow(self.referred(link), link.to)) {
            *last = Item::Child { base, ty };
        }
        let below = self.path.split_off(depth);
        self.rewrite(level, &items, &fit)?;
        self.path.extend(below);
        Ok(true)
    }
}

/// An insertion changes at most so many nodes that pass an element on to the next.
const MOST_PASSED: usize = 64;
/// The number of nodes that are made for an element besides one for each node above it.
const SPARE: u64 = 4;

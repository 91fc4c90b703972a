//! An element that is taken out.
//!
//! Elements behind it in a block go one place down. Otherwise the rest of the node decides, and that is known before anything is
//! written ([`Plan`]):
//!
//! ```text
//! items that fit          written again; a block with few elements takes in those of the next one in its chain
//! nothing                 the reference to the node becomes null
//! one child alone         it takes the node's place
//! too few                 the node joins the sibling beside its separator, or takes elements from there (`join.rs`)
//! two children alone      the greatest element of the one, or the least of the other, takes the place of the removed one,
//!                         and is removed where it was
//! ```
//!
//! If nothing of this can be, the tensor has to be made anew.

use lacunar_formats::schema::Target;

use super::cells::Cell;
use super::edit::{Editor, Link, Visit};
use super::free::Single;
use super::items::{Fit, Item, Source, elems};
use super::join::Join;
use super::locate::Located;
use crate::error::StorageError;

/// The outcome for an element that was to be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Removed {
    /// It is not stored.
    Absent,
    /// It is removed.
    Done,
    /// Its node would fit nothing without it; nothing has been changed.
    Stuck,
}

/// The change of a node whose items have become fewer.
pub(crate) enum Plan {
    /// Its items are written again.
    Write(Vec<Item>, Fit),
    /// Nothing refers to it any more.
    Unlink(Link),
    /// A child takes its place.
    Replace(Link, (u32, usize)),
    /// It changes with another node.
    Join(Box<Join>),
}

/// Elements of a node that were moved to make place for one from below, as they were.
struct Before {
    cells: Vec<(Cell, u32)>,
}

impl Editor<'_> {
    /// Removes a coordinate.
    ///
    /// # Errors
    /// Memory is refused; nothing has been changed.
    pub fn remove(&mut self, coordinate: u32) -> Result<Removed, StorageError> {
        match self.locate(coordinate) {
            Located::Found { at, .. } => self.remove_at(at),
            Located::Gap { .. } => Ok(Removed::Absent),
        }
    }

    /// Removes the element of a word in the last node of the path.
    ///
    /// # Errors
    /// Memory is refused; nothing has been changed.
    pub fn remove_at(&mut self, at: u32) -> Result<Removed, StorageError> {
        if self.shift_out(at) || self.unhook() || self.unhook_before() {
            return Ok(Removed::Done);
        }
        let (mut at, mut log) = (at, Vec::new());
        let done = loop {
            let Some(level) = self.path.len().checked_sub(1) else { break false };
            let visit = self.path[level];
            let mut items = Vec::new();
            let mut hole = None;
            self.cells(visit.base, visit.ty(), &mut |cell| {
                if cell.at == at {
                    hole = Some(items.len());
                } else {
                    items.extend(cell.item);
                }
                true
            });
            if let Some(plan) = self.plan(level, items) {
                self.carry_plan(level, plan)?;
                break true;
            }
            match self.pull(at) {
                Some((below, before)) => {
                    at = below;
                    log.push(before);
                }
                None => break false,
            }
        };
        if !done {
            // The last that was moved first.
            for Before { cells } in log.iter().rev() {
                for (cell, held) in cells {
                    self.restore(cell, *held);
                }
            }
        }
        self.payload.release();
        Ok(if done { Removed::Done } else { Removed::Stuck })
    }

    /// Closes the gap of an element of a block, if enough are left in it.
    fn shift_out(&mut self, at: u32) -> bool {
        let Some(visit) = self.path.last().copied() else { return false };
        let shape = self.shape(visit.ty());
        let Some(block) = shape.block else { return false };
        let array = block.elems_in(self.view(), visit.base);
        let least = block.least_in(self.view(), visit.base, shape);
        let Some(k) = self.node.as_mut_slice().and_then(|words| array.close(words, at, least)) else { return false };
        let (at, last) = (array.slot + u64::from(k), array.slot + u64::from(array.count) - 1);
        self.payload.shift(at + 1..last + 1, at);
        self.payload.vacate(last);
        true
    }

    /// Takes out the last node of the path, which has one element and at most one child, if that may be in its place.
    fn unhook(&mut self) -> bool {
        let Some(level) = self.path.len().checked_sub(1) else { return false };
        let visit = self.path[level];
        self.shape(visit.ty()).lone.is_some() && self.unhook_from(self.link_of(level), visit.base, visit.ty())
    }

    /// The same for a node and the reference to it.
    pub fn unhook_from(&mut self, link: Link, base: u32, ty: usize) -> bool {
        let is_lone = |ty: usize| self.shape(ty).lone.as_ref();
        let (Some(children), true) = (is_lone(ty), link.holder.is_none_or(|(holder, _)| is_lone(holder).is_some()))
        else {
            return false;
        };
        let child = |&(word, to): &(u32, Target)| self.follow(self.word(u64::from(base) + u64::from(word)), to);
        let mut there = children.iter().filter_map(child);
        match (there.next(), there.next()) {
            (None, _) => self.disconnect(link),
            (Some((base, ty)), None) if self.schema.types(link.to).contains(&ty) => self.connect(link, base, ty),
            _ => return false,
        }
        self.discard(base, ty);
        true
    }

    /// Puts the element before it into the last node of the path, which has one element between two children, and takes out the node of
    /// that: the last in order under the first child. Nodes of one element each are on the way.
    fn unhook_before(&mut self) -> bool {
        let (Some(visit), depth) = (self.path.last().copied(), self.path.len()) else { return false };
        let Some(((first, _), single)) = self.shape(visit.ty()).pair() else { return false };
        let (mut from, mut field) = (visit, first);
        while let Some((base, ty)) = self.child(from.base, from.ty(), field) {
            let Some(((_, last), _)) = self.shape(ty).pair() else {
                self.path.truncate(depth);
                return false;
            };
            // Fields of these types are no arrays.
            let link = from.base + self.schema.nodes()[from.ty()].fields[field].offset;
            (from, field) = (Visit { base, ty: ty as u32, link }, last);
            self.path.push(from);
        }
        let Some((_, its)) = self.shape(from.ty()).pair().filter(|_| from != visit) else { return false };
        let place = |visit: Visit, single: Single| {
            let field = &self.schema.nodes()[visit.ty()].fields[single.field];
            (u64::from(visit.base + field.offset), self.slot(visit.base, visit.ty()) + u64::from(field.slot))
        };
        let ((to, new), (at, old)) = (place(visit, single), place(from, its));
        let (before, coordinate) = (self.word(to), self.word(at));
        self.set(to, coordinate);
        self.payload.exchange(old, new);
        if self.unhook() {
            return true;
        }
        self.set(to, before);
        self.payload.exchange(old, new);
        self.path.truncate(depth);
        false
    }

    /// True if few elements are left of those that nodes of a type take.
    pub fn is_short(&self, ty: usize, items: &[Item]) -> bool {
        self.shape(ty).block.is_some_and(|block| elems(items) as u32 <= block.few)
    }

    /// The change by which a node of the path gets these items; `None` if that cannot be.
    pub fn plan(&mut self, level: usize, items: Vec<Item>) -> Option<Plan> {
        let visit = self.path[level];
        let link = self.link_of(level);
        if elems(&items) > 0
            && let Some(fit) = self.fit(visit.ty(), &items)
        {
            if self.is_short(visit.ty(), &items)
                && let Some(join) = self.take_in_next(level, &items)
            {
                return Some(Plan::Join(Box::new(join)));
            }
            return Some(Plan::Write(items, fit));
        }
        let simple = match items.as_slice() {
            [] if self.may_be_null(level) => Some(Plan::Unlink(link)),
            [Item::Child { base, ty }] if self.schema.types(link.to).contains(ty) => {
                Some(Plan::Replace(link, (*base, *ty)))
            }
            _ => None,
        };
        let is_under_wide = level > 0 && self.shape(self.path[level - 1].ty()).is_wide;
        if simple.is_some() && !is_under_wide {
            return simple;
        }
        if let Some(join) = self.join(level, &items) {
            return Some(Plan::Join(Box::new(join)));
        }
        if simple.is_some() {
            return simple;
        }
        self.fit(visit.ty(), &items).map(|fit| Plan::Write(items, fit))
    }

    /// True if the reference to a node of the path may become null.
    fn may_be_null(&self, level: usize) -> bool {
        let Some(above) = level.checked_sub(1).map(|above| self.path[above]) else { return true };
        let (at, mut may_be) = (self.path[level].link, false);
        self.cells(above.base, above.ty(), &mut |cell| {
            if cell.at == at {
                may_be = !self.schema.nodes()[above.ty()].fields[cell.field].is_nonempty();
            }
            cell.at != at
        });
        may_be
    }

    /// Changes a node of the path.
    pub fn carry_plan(&mut self, level: usize, plan: Plan) -> Result<(), StorageError> {
        let visit = self.path[level];
        match plan {
            Plan::Write(items, fit) => self.rewrite(level, &items, &fit)?,
            Plan::Unlink(link) => {
                self.disconnect(link);
                self.discard(visit.base, visit.ty());
                // A node that has nothing any more goes as well.
                if let Some(above) = level.checked_sub(1)
                    && self.read(self.path[above].base, self.path[above].ty()).is_empty()
                    && let Some(plan) = self.plan(above, Vec::new())
                {
                    self.carry_plan(above, plan)?;
                }
            }
            Plan::Replace(link, (base, ty)) => {
                self.connect(link, base, ty);
                self.discard(visit.base, visit.ty());
            }
            Plan::Join(join) => self.carry_join(level, *join)?,
        }
        Ok(())
    }

    /// Puts the next element below in the place of one of the last node's, and leads the path to there: its word, and the
    /// elements that were moved.
    fn pull(&mut self, at: u32) -> Option<(u32, Before)> {
        let visit = *self.path.last()?;
        let mut cells = Vec::new();
        self.cells(visit.base, visit.ty(), &mut |cell| {
            if cell.item.is_some() {
                cells.push(cell);
            }
            true
        });
        let hole = cells.iter().position(|cell| cell.at == at)?;
        let is_child = |cell: &Cell| cell.item.is_some_and(|item| !item.is_elem());
        let left = cells[..hole].iter().rposition(is_child);
        let right = cells[hole + 1..].iter().position(is_child).map(|k| hole + 1 + k);
        let (child, is_left) = left.map(|left| (left, true)).or(right.map(|right| (right, false)))?;
        let depth = self.path.len();
        let Some(below) = self.extreme(visit, cells[child], is_left) else {
            self.path.truncate(depth);
            return None;
        };
        // The elements between go one place towards the hole.
        let between: Vec<Cell> = match is_left {
            true => cells[child + 1..=hole].iter().rev().copied().collect(),
            false => cells[hole..child].to_vec(),
        };
        let before =
            between.iter().filter_map(|cell| Some((*cell, self.payload.hold(u64::from(position(cell)?))))).collect();
        for pair in between.iter().chain([&below]).copied().collect::<Vec<_>>().windows(2) {
            self.move_element(&pair[1], &pair[0]);
        }
        Some((below.at, Before { cells: before }))
    }

    /// Leads the path to the last element under a child, or to the first.
    fn extreme(&mut self, holder: Visit, child: Cell, is_last: bool) -> Option<Cell> {
        let mut next = (holder, child);
        loop {
            let (holder, cell) = next;
            match cell.item? {
                Item::Elem { .. } => return Some(cell),
                Item::Child { base, ty } => {
                    let visit = Visit { base, ty: ty as u32, link: cell.at };
                    self.path.push(visit);
                    let mut end = None;
                    self.cells(base, ty, &mut |cell| {
                        if cell.item.is_some() {
                            end = Some(cell);
                        }
                        is_last || end.is_none()
                    });
                    debug_assert_ne!(holder.base, base);
                    next = (visit, end?);
                }
            }
        }
    }

    /// Copies an element to another place for one.
    fn move_element(&mut self, from: &Cell, to: &Cell) {
        let (Some(old), Some(new)) = (position(from), position(to)) else { return };
        let coordinate = self.word(u64::from(from.at));
        self.set(u64::from(to.at), coordinate);
        self.payload.shift(u64::from(old)..u64::from(old) + 1, u64::from(new));
    }

    /// Gives an element its place again, where its value was held.
    fn restore(&mut self, cell: &Cell, held: u32) {
        if let Some(Item::Elem { coordinate, value: Source::At(position) }) = cell.item {
            self.set(u64::from(cell.at), coordinate);
            self.payload.put(held, u64::from(position));
        }
    }
}

/// The position of an element.
fn position(cell: &Cell) -> Option<u32> {
    match cell.item {
        Some(Item::Elem { value: Source::At(position), .. }) => Some(position),
        _ => None,
    }
}

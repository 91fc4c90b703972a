//! The way to a coordinate, from the order of fields alone.
//!
//! In an ordered schema, the elements of a node cut the coordinates into gaps, and the children between two elements have the
//! coordinates between them. So a search compares the coordinate with the elements of a node, halving where they are an array,
//! and goes on in the child of the gap:
//!
//! ```text
//! btree_internal  e = [20, 40], c = [a, b], cl = d; seq = {c, e}, cl       30: in the gap between 20 and 40 is b
//! bst             e = 20, l null, r = b; seq = l, e, r                     10: in the gap before 20 is l, which is null
//! ```
//!
//! Types whose gaps have one child each are searched by comparisons alone (`search.rs`). If several children are in one gap, it is
//! the first one whose largest coordinate is not below; if there is none, the last one. Schemas without an order are searched from
//! end to end.

use lacunar_formats::schema::{FieldKind, Schema, Step, Target};

use super::edit::{Editor, Link, Visit};
use super::items::{Fit, Item, Source};
use super::payload::FRESH;
use super::search::{Search, Way};
use crate::nodes::View;

/// The end of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Located {
    /// The coordinate is stored: its word, and its position.
    Found {
        /// The word.
        at: u32,
        /// The position.
        position: u32,
    },
    /// It would be in the last node of the path, or under the last null child in its gap; with nodes on the path or without.
    Gap {
        /// A child that is null.
        null: Option<Link>,
        /// The array of elements, and the place there, if the gap is in one that is a step alone.
        block: Option<(usize, u32)>,
    },
}

/// The node that a search ends in, and how it ends there; a child in the gap is null.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spot {
    /// Its first word.
    pub base: u32,
    /// Its type.
    pub ty: usize,
    /// The end.
    pub way: Way,
    /// The reference to the node.
    pub link: Link,
    /// The number of nodes on the way, with this one.
    pub depth: usize,
}

/// The children in a gap.
#[derive(Default)]
struct Gap {
    /// The last child that is there: its word.
    last: Option<(u32, Target, Item)>,
    /// The children before it.
    others: Vec<(u32, Target, Item)>,
    /// The last one that is null.
    null: Option<(u32, Target)>,
    /// The array of elements, and the place there.
    block: Option<(usize, u32)>,
}

impl Gap {
    /// Begins anew, behind an element.
    fn clear(&mut self) {
        (self.last, self.null, self.block) = (None, None, None);
        self.others.clear();
    }

    /// Adds a child that is there.
    fn push(&mut self, child: (u32, Target, Item)) {
        self.others.extend(self.last.replace(child));
    }
}

impl Editor<'_> {
    /// Makes the path to a coordinate, and returns the element or the gap there.
    pub fn locate(&mut self, coordinate: u32) -> Located {
        let mut path = std::mem::take(&mut self.path);
        let located = self.view().locate(&self.kept.searches, self.parent, coordinate, &mut path);
        self.path = path;
        located
    }

    /// Goes on from a reference, which the last node of the path has.
    pub fn locate_from(&mut self, link: Link, coordinate: u32) -> Located {
        let mut path = std::mem::take(&mut self.path);
        let located = self.view().locate_from(&self.kept.searches, link, coordinate, &mut path);
        self.path = path;
        located
    }
}

impl View<'_> {
    /// The position of a coordinate under a parent position.
    pub fn find(&self, searches: &[Option<Search>], parent: u32, coordinate: u32) -> Option<u32> {
        match self.spot(searches, parent, coordinate, |_, _| ()) {
            Some(Some(Spot { way: Way::Found(_, position), .. })) => return Some(position),
            Some(_) => return None,
            None => {}
        }
        match self.locate(searches, parent, coordinate, &mut Vec::new()) {
            Located::Found { position, .. } => Some(position),
            Located::Gap { .. } => None,
        }
    }

    /// The node under a parent position that the search for a coordinate ends in; none, if there are no nodes. `None` if comparisons alone do
    /// not lead there. `met` is told the nodes on the way.
    #[inline]
    pub fn spot(
        &self,
        searches: &[Option<Search>],
        parent: u32,
        coordinate: u32,
        mut met: impl FnMut(&Search, u32),
    ) -> Option<Option<Spot>> {
        let (mut at, mut to, mut holder, mut depth) = (parent, self.schema.entry(), None, 0);
        let mut word = self.root.get(parent as usize).copied().unwrap_or_default();
        while let Some((mut base, ty)) = self.follow(word, to) {
            depth += 1;
            let search = searches.get(ty)?.as_ref()?;
            met(search, base);
            let (_, way) = self.descend(search, (base, ty), coordinate, |next, link| {
                met(search, next);
                (at, to, holder) = (link, Target::Node(ty), Some((ty, base)));
                (base, depth) = (next, depth + 1);
            });
            if let Way::Child(child, its, _) = way {
                word = self.word(child.into());
                if self.follow(word, its).is_some() {
                    (at, to, holder) = (child, its, Some((ty, base)));
                    continue;
                }
            }
            let holder = holder.map(|(ty, base)| (ty, self.handle(base, ty)));
            return Some(Some(Spot { base, ty, way, link: Link { at, to, holder }, depth }));
        }
        Some(None)
    }

    /// Looks for a coordinate under a parent position, and makes the path to there.
    pub fn locate(&self, searches: &[Option<Search>], parent: u32, coordinate: u32, path: &mut Vec<Visit>) -> Located {
        path.clear();
        match self.schema.is_ordered() {
            true => self.locate_from(searches, self.root_link(parent), coordinate, path),
            false => self.locate_unordered(self.root_link(parent), coordinate, path),
        }
    }

    fn locate_from(
        &self,
        searches: &[Option<Search>],
        mut link: Link,
        coordinate: u32,
        path: &mut Vec<Visit>,
    ) -> Located {
        loop {
            let Some((base, ty)) = self.follow(self.referred(link), link.to) else {
                return Located::Gap { null: Some(link), block: None };
            };
            path.push(Visit { base, ty: ty as u32, link: link.at });
            if let Some(Some(search)) = searches.get(ty) {
                let visit = |base, link| path.push(Visit { base, ty: ty as u32, link });
                let (base, way) = self.descend(search, (base, ty), coordinate, visit);
                match way {
                    Way::Found(at, position) => return Located::Found { at, position },
                    Way::Gap(block) => return Located::Gap { null: None, block },
                    Way::Child(at, to, block) => {
                        link = Link { at, to, holder: Some((ty, self.handle(base, ty))) };
                        if self.word(u64::from(at)) == 0 {
                            return Located::Gap { null: Some(link), block };
                        }
                    }
                }
                continue;
            }
            let mut gap = Gap::default();
            if let Some(found) = self.search(base, ty, coordinate, &mut gap) {
                return found;
            }
            let holder = Some((ty, self.handle(base, ty)));
            link = match self.child_in(&gap, coordinate) {
                Some((at, to)) => Link { at, to, holder },
                None => {
                    let null = gap.null.map(|(at, to)| Link { at, to, holder });
                    return Located::Gap { null, block: gap.block };
                }
            };
        }
    }

    /// The child of a gap in which the coordinate is, if it is anywhere.
    fn child_in(&self, gap: &Gap, coordinate: u32) -> Option<(u32, Target)> {
        let last = gap.last.as_ref()?;
        let holds = |child: &&(u32, Target, Item)| match child.2 {
            Item::Child { base, ty } => self.largest(base, ty).is_some_and(|largest| largest >= coordinate),
            Item::Elem { .. } => false,
        };
        let (at, to, _) = gap.others.iter().find(holds).unwrap_or(last);
        Some((*at, *to))
    }

    /// The largest coordinate under a node.
    fn largest(&self, base: u32, ty: usize) -> Option<u32> {
        let mut waiting = vec![(base, ty)];
        let mut largest = None;
        while let Some((base, ty)) = waiting.pop() {
            let items = self.read(base, ty);
            let behind = items.iter().rposition(Item::is_elem).map_or(0, |last| last + 1);
            if behind > 0 {
                // All that waits is before this.
                waiting.clear();
                largest = items[behind - 1].coordinate().max(largest);
            }
            waiting.extend(items[behind..].iter().filter_map(|item| match item {
                Item::Child { base, ty } => Some((*base, *ty)),
                Item::Elem { .. } => None,
            }));
        }
        largest
    }

    /// Looks for a coordinate among the elements of a node; otherwise tells the gap.
    fn search(&self, base: u32, ty: usize, coordinate: u32, gap: &mut Gap) -> Option<Located> {
        let node = &self.schema.nodes()[ty];
        for step in &node.seq {
            let mut end = None;
            match step {
                Step::One(field) => self.search_one(base, ty, *field, coordinate, gap, &mut end),
                Step::Together(fields) => {
                    self.search_arrays(base, ty, (step, fields), coordinate, gap, &mut end);
                }
            }
            if end.is_some() {
                return end.flatten();
            }
        }
        None
    }

    /// The same for a field that is no array; `end` is set to the finding if the search ends here.
    fn search_one(
        &self,
        base: u32,
        ty: usize,
        number: usize,
        coordinate: u32,
        gap: &mut Gap,
        end: &mut Option<Option<Located>>,
    ) {
        let field = &self.schema.nodes()[ty].fields[number];
        let at = u64::from(base) + u64::from(field.offset);
        let word = self.word(at);
        match field.kind {
            FieldKind::Elem { .. } if word == coordinate => {
                let position = (self.slot_of(base, ty) + u64::from(field.slot)) as u32;
                *end = Some(Some(Located::Found { at: at as u32, position }));
            }
            FieldKind::Elem { .. } if word == Schema::UNUSED => {}
            FieldKind::Elem { .. } if word > coordinate => *end = Some(None),
            FieldKind::Elem { .. } => {
                gap.clear();
            }
            FieldKind::Child { to, .. } => match self.follow(word, to) {
                Some((base, ty)) => gap.push((at as u32, to, Item::Child { base, ty })),
                None => gap.null = Some((at as u32, to)),
            },
            _ => {}
        }
    }

    /// The same for arrays.
    fn search_arrays(
        &self,
        base: u32,
        ty: usize,
        (step, fields): (&Step, &[usize]),
        coordinate: u32,
        gap: &mut Gap,
        end: &mut Option<Option<Located>>,
    ) {
        let (node, room) = (&self.schema.nodes()[ty], self.room_of(base, ty));
        let count = self.count(base, ty, step);
        let full = |number: &&usize| matches!(node.fields[**number].kind, FieldKind::Elem { nonempty: true, .. });
        let reached = fields.iter().find(full).map(|number| {
            let first = (u64::from(base) + node.fields[*number].word(room, 0)) as usize;
            let coordinates = self.node.get(first..first + count as usize).unwrap_or_default();
            coordinates.partition_point(|there| *there < coordinate) as u32
        });
        if let ([number], Some(k)) = (fields, reached) {
            let field = &node.fields[*number];
            let at = u64::from(base) + field.word(room, k);
            if k < count && self.word(at) == coordinate {
                let position = (self.slot_of(base, ty) + field.slot(room, k)) as u32;
                *end = Some(Some(Located::Found { at: at as u32, position }));
                return;
            }
            if k > 0 {
                gap.clear();
            }
            gap.block = Some((*number, k));
            if k < count {
                *end = Some(None);
            }
            return;
        }
        // The gap may begin in the arrays' items before.
        let from = reached.map_or(0, |k| k.saturating_sub(1));
        self.step_cells(base, ty, step, from, &mut |cell| {
            match (cell.item, &node.fields[cell.field].kind) {
                (Some(Item::Elem { coordinate: there, value: Source::At(position) }), _) => {
                    if there == coordinate {
                        *end = Some(Some(Located::Found { at: cell.at, position }));
                    } else if there > coordinate {
                        *end = Some(None);
                    } else {
                        gap.clear();
                    }
                }
                (Some(child), FieldKind::Child { to, .. }) => gap.push((cell.at, *to, child)),
                (None, FieldKind::Child { to, .. }) => gap.null = Some((cell.at, *to)),
                _ => {}
            }
            end.is_none()
        });
    }

    /// Looks for a coordinate in all nodes. If it is not there, the path leads to a node that it fits in, or to a null child.
    fn locate_unordered(&self, root: Link, coordinate: u32, path: &mut Vec<Visit>) -> Located {
        // Each node that was met, with the number of the one that holds it.
        let mut met: Vec<(Visit, usize)> = Vec::new();
        let mut waiting = vec![(root, usize::MAX)];
        let (mut found, mut with_room, mut null) = (None, None, None);
        let new = Item::Elem { coordinate, value: Source::Held(FRESH) };
        while let Some((link, above)) = waiting.pop() {
            let Some((base, ty)) = self.follow(self.referred(link), link.to) else {
                null = null.or(Some((link, above)));
                continue;
            };
            let own = met.len();
            met.push((Visit { base, ty: ty as u32, link: link.at }, above));
            let holder = Some((ty, self.handle(base, ty)));
            let mut items = Vec::new();
            self.cells(base, ty, &mut |cell| {
                match (cell.item, &self.schema.nodes()[ty].fields[cell.field].kind) {
                    (Some(Item::Elem { coordinate: there, value: Source::At(position) }), _) if there == coordinate => {
                        found = Some((Located::Found { at: cell.at, position }, own));
                    }
                    (_, FieldKind::Child { to, .. }) => {
                        waiting.push((Link { at: cell.at, to: *to, holder }, own));
                    }
                    _ => {}
                }
                items.extend(cell.item);
                found.is_none()
            });
            if found.is_some() {
                break;
            }
            items.push(new);
            if with_room.is_none() && Fit::of(self.schema, ty, &items, false).is_some() {
                with_room = Some(own);
            }
        }
        let (located, mut at) = match (found, with_room, null) {
            (Some((located, own)), ..) => (located, own),
            (None, Some(own), _) => (Located::Gap { null: None, block: None }, own),
            (None, None, Some((link, above))) => (Located::Gap { null: Some(link), block: None }, above),
            (None, None, None) => (Located::Gap { null: None, block: None }, usize::MAX),
        };
        while let Some((visit, above)) = met.get(at) {
            path.push(*visit);
            at = *above;
        }
        path.reverse();
        located
    }
}

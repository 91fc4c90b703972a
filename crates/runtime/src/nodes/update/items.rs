//! The items of a node: its elements and children in the order of the schema, and the fields that such a list fits.
//!
//! ```text
//! btree_internal { e: elem[B] nonempty  c: btree[B] nonempty  cl: btree nonempty  B: size in [1,3]  seq = {c, e}, cl }
//!     items      child 40, element 5, child 48, element 9, child 56
//!     fit        B = 2: c = [40, 48], e = [5, 9], cl = 56
//!     child 40, element 5, child 48, child 56    does not fit: between two children of `c` is an element
//! ```
//!
//! Null children and coordinates that are not used are no items. A list fits a node type if its items, from the first on, can be given to
//! the steps of the order one after the other, each taking as many as it can. In types without an order, elements go to any field of
//! elements and children to any field of children.

use lacunar_formats::schema::{Extent, FieldKind, Meta, Node, Schema, Step, Target};

use super::edit::Editor;
use super::free::usual;
use super::payload::FRESH;
use crate::error::StorageError;

/// The place of the value of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// At a position.
    At(u32),
    /// Held beside ([`super::payload::Payload::hold`]).
    Held(u32),
}

/// An element or a child of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// An element.
    Elem {
        /// Its coordinate.
        coordinate: u32,
        /// The place of its value.
        value: Source,
    },
    /// A child that is there.
    Child {
        /// Its first word.
        base: u32,
        /// Its type.
        ty: usize,
    },
}

impl Item {
    /// True of elements.
    pub fn is_elem(&self) -> bool {
        matches!(self, Item::Elem { .. })
    }

    /// The coordinate of an element.
    pub fn coordinate(&self) -> Option<u32> {
        match self {
            Item::Elem { coordinate, .. } => Some(*coordinate),
            Item::Child { .. } => None,
        }
    }

    /// True of the child that begins at a word.
    pub fn is_child(&self, at: u32) -> bool {
        matches!(self, Item::Child { base, .. } if *base == at)
    }
}

/// The number of elements among items.
pub(crate) fn elems(items: &[Item]) -> usize {
    items.iter().filter(|item| item.is_elem()).count()
}

/// The fit of a list into a node type: the number of items of each step, and for each item its field and its place there.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fit {
    counts: Vec<u32>,
    pub places: Vec<(usize, u32)>,
    /// The items of the longest array without a bound.
    pub room: u32,
}

impl Fit {
    /// The fit of a list of items into a node type of a schema, if there is one. `is_long` says if arrays without a bound may
    /// be as long as they have to.
    pub fn of(schema: &Schema, ty: usize, items: &[Item], is_long: bool) -> Option<Fit> {
        let node = &schema.nodes()[ty];
        let mut fit = Fit { counts: Vec::with_capacity(node.seq.len()), ..Fit::default() };
        let mut left = Left::new(items, schema.is_ordered());
        fit.places.resize(items.len(), (0, 0));
        for step in &node.seq {
            let count = match step {
                Step::One(field) => fit.take(schema, node, &[*field], 0, &mut left)?.min(1),
                Step::Together(fields) => fit.take_all(schema, node, fields, &mut left, is_long)?,
            };
            fit.counts.push(count);
        }
        (left.is_done() && fit.is_consistent(node)).then_some(fit)
    }

    /// Gives item `k` of each of some fields the next items; returns how many they took. `None` if one that has to be there is not,
    /// and is the first.
    fn take(&mut self, schema: &Schema, node: &Node, fields: &[usize], k: u32, left: &mut Left) -> Option<u32> {
        let mut taken = 0;
        for &number in fields {
            let field = &node.fields[number];
            match left.next_of(schema, &field.kind) {
                Some(item) => {
                    self.places[item] = (number, k);
                    taken += 1;
                }
                None if field.is_nonempty() => return None,
                None => {}
            }
        }
        Some(taken)
    }

    /// Gives arrays of the same length as many items as they can take; their length.
    fn take_all(
        &mut self,
        schema: &Schema,
        node: &Node,
        fields: &[usize],
        left: &mut Left,
        is_long: bool,
    ) -> Option<u32> {
        let (least, most, is_bounded) = match fields.first().and_then(|field| node.fields[*field].array())? {
            Extent::Const(count) => {
                let all = fields.iter().any(|field| node.fields[*field].is_nonempty());
                (if all { count } else { 0 }, count, true)
            }
            Extent::Size(size) => match node.fields[size].kind {
                FieldKind::Size { least, most: Some(most), .. } => (least, most, true),
                FieldKind::Size { least, about, .. } => (least, if is_long { u32::MAX } else { usual(about) }, false),
                _ => return None,
            },
        };
        let mut count = 0;
        while count < most {
            let before = left.clone();
            match self.take(schema, node, fields, count, left) {
                Some(taken) if taken > 0 => count += 1,
                _ => {
                    *left = before;
                    break;
                }
            }
        }
        // Places that need not be used make up for a length that is not reached.
        let may_pad = fields.iter().all(|field| !node.fields[*field].is_nonempty());
        let padded = if count < least && may_pad { least } else { count };
        if !is_bounded {
            self.room = self.room.max(padded);
        }
        (padded >= least).then_some(padded)
    }

    /// True if arrays of the same length have the same number of items.
    fn is_consistent(&self, node: &Node) -> bool {
        let size = |step: &Step| match step {
            Step::Together(fields) => match node.fields[*fields.first()?].array() {
                Some(Extent::Size(size)) => Some(size),
                _ => None,
            },
            Step::One(_) => None,
        };
        let sizes = || node.seq.iter().zip(&self.counts).filter_map(|(step, count)| Some((size(step)?, count)));
        sizes().all(|(own, count)| sizes().all(|(other, its)| other != own || its == count))
    }
}

/// The items that are not given to a field yet.
#[derive(Clone)]
struct Left<'i> {
    items: &'i [Item],
    is_ordered: bool,
    /// The next element and the next child; in an ordered list both are the next item.
    elem: usize,
    child: usize,
}

impl<'i> Left<'i> {
    fn new(items: &'i [Item], is_ordered: bool) -> Left<'i> {
        Left { items, is_ordered, elem: 0, child: 0 }
    }

    /// Takes the next item for a field of a kind, if it may be the one.
    fn next_of(&mut self, schema: &Schema, kind: &FieldKind) -> Option<usize> {
        let wants_elem = matches!(kind, FieldKind::Elem { .. });
        let from = if wants_elem { self.elem } else { self.child };
        let of_kind = |item: &Item| item.is_elem() == wants_elem;
        let at = match self.is_ordered {
            true => from,
            false => from + self.items.get(from..)?.iter().position(of_kind)?,
        };
        let fits = match (self.items.get(at)?, kind) {
            (Item::Elem { .. }, FieldKind::Elem { .. }) => true,
            (Item::Child { ty, .. }, FieldKind::Child { to, .. }) => schema.types(*to).contains(ty),
            _ => false,
        };
        if !fits {
            return None;
        }
        match (self.is_ordered, wants_elem) {
            (true, _) => (self.elem, self.child) = (at + 1, at + 1),
            (false, true) => self.elem = at + 1,
            (false, false) => self.child = at + 1,
        }
        Some(at)
    }

    fn is_done(&self) -> bool {
        let left = |from: usize, elems: bool| {
            self.items.get(from..).is_some_and(|items| items.iter().any(|item| item.is_elem() == elems))
        };
        !left(self.elem, true) && !left(self.child, false)
    }
}

impl Editor<'_> {
    /// The fit of a list of items into a node type.
    pub fn fit(&self, ty: usize, items: &[Item]) -> Option<Fit> {
        Fit::of(self.schema, ty, items, true)
    }

    /// The same where arrays without a bound stay within their usual length.
    pub fn fit_short(&self, ty: usize, items: &[Item]) -> Option<Fit> {
        Fit::of(self.schema, ty, items, false)
    }

    /// The node type that a list of items fits, of those that a reference may refer to; `first` before others.
    pub fn choose(&self, to: Target, items: &[Item], first: usize) -> Option<(usize, Fit)> {
        let types = self.schema.types(to);
        let own = types.iter().copied().filter(|ty| *ty == first);
        own.chain(types.iter().copied()).find_map(|ty| self.fit(ty, items).map(|fit| (ty, fit)))
    }

    /// Writes items into a node that has room for them. Values are taken from their positions, and stay there too; all other data of
    /// the node are gone.
    pub fn write(&mut self, base: u32, ty: usize, items: &[Item], fit: &Fit) {
        let schema = self.schema;
        let node = &schema.nodes()[ty];
        let (room, slot, own) = (self.room(base, ty), self.slot(base, ty), (ty, self.handle(base, ty)));
        // Where each value comes from, and where it goes; those of this node are held, as others may go to their places.
        let own_slots = slot..slot + node.slots(room);
        let mut moves = Vec::with_capacity(items.len());
        for (item, &(field, k)) in items.iter().zip(&fit.places) {
            let Item::Elem { value, .. } = *item else { continue };
            let to = slot + node.fields[field].slot(room, k);
            match value {
                Source::At(from) if u64::from(from) == to => {}
                Source::At(from) if own_slots.contains(&u64::from(from)) => {
                    moves.push((Source::Held(self.payload.hold(u64::from(from))), to));
                }
                other => moves.push((other, to)),
            }
        }
        self.empty(base, ty, room);
        for (step, count) in node.seq.iter().zip(&fit.counts) {
            if let Step::Together(fields) = step
                && let Some(Extent::Size(size)) = fields.first().and_then(|field| node.fields[*field].array())
            {
                self.set(u64::from(base) + u64::from(node.fields[size].offset), *count);
            }
        }
        for (item, &(field, k)) in items.iter().zip(&fit.places) {
            let at = u64::from(base) + node.fields[field].word(room, k);
            match *item {
                Item::Elem { coordinate, .. } => self.set(at, coordinate),
                Item::Child { base, ty } => {
                    let child = self.handle(base, ty);
                    self.set(at, child);
                    self.set_holder(base, ty, Some(own));
                }
            }
        }
        for (from, to) in moves {
            match from {
                Source::At(from) => self.payload.shift(u64::from(from)..u64::from(from) + 1, to),
                Source::Held(number) => self.payload.put(number, to),
            }
            if from == Source::Held(FRESH) {
                self.landed = Some(to as u32);
            }
        }
        self.vacate_unused(base, ty);
    }

    /// Makes all places for items of a node unused.
    fn empty(&mut self, base: u32, ty: usize, room: u32) {
        let schema = self.schema;
        for field in &schema.nodes()[ty].fields {
            let nothing = match field.kind {
                FieldKind::Elem { nonempty: false, .. } => Schema::UNUSED,
                FieldKind::Elem { .. } | FieldKind::Child { .. } => 0,
                _ => continue,
            };
            let first = (u64::from(base) + field.word(room, 0)) as usize;
            let words = first..first + self.capacity(ty, field, room) as usize;
            if let Some(words) = self.node.as_mut_slice::<u32>().and_then(|all| all.get_mut(words)) {
                words.fill(nothing);
            }
        }
    }

    /// Clears the values at positions of a node that have no element, if that is needed.
    pub fn vacate_unused(&mut self, base: u32, ty: usize) {
        if !self.payload.is_cleared() {
            return;
        }
        let slot = self.slot(base, ty);
        let slots = self.schema.nodes()[ty].slots(self.room(base, ty));
        let mut used: Vec<u32> = Vec::new();
        self.cells(base, ty, &mut |cell| {
            if let Some(Item::Elem { value: Source::At(position), .. }) = cell.item {
                used.push(position);
            }
            true
        });
        let unused = (slot..slot + slots).filter(|position| !used.contains(&(*position as u32)));
        unused.collect::<Vec<_>>().into_iter().for_each(|position| self.payload.vacate(position));
    }

    /// Writes items into the last node of the path, or one with more room in its place. The list fits its type.
    ///
    /// # Errors
    /// Memory is refused; none that has been reserved.
    pub fn rewrite(&mut self, level: usize, items: &[Item], fit: &Fit) -> Result<(), StorageError> {
        let visit = self.path[level];
        let (base, ty) = (visit.base, visit.ty());
        if fit.room <= self.room(base, ty) {
            self.write(base, ty, items, fit);
            return Ok(());
        }
        let link = self.link_of(level);
        let larger = self.make(ty, fit.room)?;
        self.copy_data(base, larger, ty);
        self.write(larger, ty, items, fit);
        self.connect(link, larger, ty);
        self.discard(base, ty);
        self.path[level].base = larger;
        Ok(())
    }

    /// Copies the data of a node that only its author knows.
    fn copy_data(&mut self, from: u32, to: u32, ty: usize) {
        let schema = self.schema;
        for field in &schema.nodes()[ty].fields {
            let FieldKind::Meta(meta) = field.kind else { continue };
            for word in 0..meta_words(meta) {
                let data = self.word(u64::from(from) + u64::from(field.offset + word));
                self.set(u64::from(to) + u64::from(field.offset + word), data);
            }
        }
    }

    /// Makes a node of items that fit its type.
    ///
    /// # Errors
    /// Memory is refused; none that has been reserved.
    pub fn make_of(&mut self, ty: usize, items: &[Item], fit: &Fit) -> Result<u32, StorageError> {
        let base = self.make(ty, fit.room)?;
        self.write(base, ty, items, fit);
        Ok(base)
    }
}

/// The number of words of data.
pub(super) fn meta_words(meta: Meta) -> u32 {
    match meta {
        Meta::Int(64) | Meta::Uint(64) => 2,
        _ => 1,
    }
}

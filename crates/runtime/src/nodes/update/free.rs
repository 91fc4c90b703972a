//! Nodes that are not used any more, and facts about the types of a schema.
//!
//! A node that is freed keeps its positions and its room: so it can be the next one of its type. Nodes without arrays that have no bound
//! are all alike; others are sorted by the logarithm of their room. Nothing is merged: [`Tensor::compact`] gives back the nodes that
//! updates leave unused.
//!
//! [`Tensor::compact`]: crate::Tensor::compact

use lacunar_formats::schema::{Extent, Field, FieldKind, Node, Schema, Step, Target};

use super::block::Block;
use super::guess::Guesses;
use super::items::{Fit, Item, Source};
use super::leaf::Leaf;
use super::payload::FRESH;
use super::renew::Renewal;
use super::search::Search;
use crate::nodes::gaps::Gaps;

/// The number of items that an array without a bound may get before its node is split, if it can be.
pub(crate) const LONG: u32 = 128;

/// The number of items that an array without a bound may get, if its schema says how many conversions give it.
pub(crate) fn usual(about: Option<u32>) -> u32 {
    about.map_or(LONG, |about| about.saturating_mul(2).max(2))
}

/// Facts and free nodes of a level, kept between two updates.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// By type of nodes.
    pub shapes: Vec<Shape>,
    /// The comparisons of each type, if a search needs no more.
    pub searches: Vec<Option<Search>>,
    /// The rows that are one node, by the tags of roots' handles.
    pub leaves: Vec<Option<Leaf>>,
    /// The most words and positions that a node may take.
    pub most: Most,
    /// By type and class of room, the first words of free nodes.
    free: Vec<Vec<u32>>,
    /// The number of words of these.
    free_words: u64,
    /// The room between trees that were laid out in order.
    pub gaps: Gaps,
    /// Nodes that were met lately.
    pub guesses: Guesses,
    /// The number of elements when nodes were laid out in order, the number put in since, and the number of words of nodes that were made
    /// since, and of those among them that lie far from their rows.
    pub laid_out: u64,
    pub inserted: u64,
    pub new_words: u64,
    pub far_words: u64,
    /// The way to the last element, whose memory is used again.
    pub path: Vec<super::edit::Visit>,
    /// True if rows of some numbers of elements cannot be made anew, once that was asked for.
    pub refuses: Option<bool>,
    /// The data to make subtensors anew with, once that was asked for.
    pub renewal: Option<Box<Renewal>>,
}

impl Clone for Kept {
    fn clone(&self) -> Kept {
        Kept {
            shapes: self.shapes.clone(),
            searches: self.searches.clone(),
            leaves: self.leaves.clone(),
            most: self.most,
            free: self.free.clone(),
            free_words: self.free_words,
            gaps: self.gaps.clone(),
            guesses: Guesses::default(),
            laid_out: self.laid_out,
            inserted: self.inserted,
            new_words: self.new_words,
            far_words: self.far_words,
            path: Vec::new(),
            refuses: self.refuses,
            renewal: None,
        }
    }
}

/// Tensors are the same whatever they could use again.
impl PartialEq for Kept {
    fn eq(&self, _: &Kept) -> bool {
        true
    }
}

/// Classes of room: one for each bit of a number.
const CLASSES: usize = 33;

impl Kept {
    /// Prepares for the types of a schema, if that is not done.
    #[inline]
    pub fn prepare(&mut self, schema: &'static Schema) {
        if self.shapes.is_empty() {
            self.learn(schema);
        }
    }

    /// Finds the properties of the types of a schema.
    #[cold]
    fn learn(&mut self, schema: &'static Schema) {
        self.shapes = (0..schema.nodes().len()).map(|ty| Shape::of(schema, ty)).collect();
        self.searches = (0..self.shapes.len()).map(|ty| Search::of(schema, ty)).collect();
        self.leaves = Leaf::of_roots(schema);
        self.most = Most::of(schema);
        self.free = vec![Vec::new(); self.shapes.len() * CLASSES];
    }

    /// A free node of a type with so much room, or more.
    pub fn take(&mut self, ty: usize, room: u32) -> Option<u32> {
        let class = if room == 0 { 0 } else { (u32::BITS - (room - 1).leading_zeros()) as usize + 1 };
        self.free.get_mut(ty * CLASSES + class)?.pop()
    }

    /// Says how many words a node has that was taken.
    pub fn has_taken(&mut self, words: u64) {
        self.free_words -= words;
    }

    /// Keeps a node that is free, by its first word, with so many words.
    pub fn give(&mut self, ty: usize, room: u32, (base, words): (u32, u64)) {
        let class = (u32::BITS - room.leading_zeros()) as usize;
        if let Some(list) = self.free.get_mut(ty * CLASSES + class) {
            list.push(base);
            self.free_words += words;
        }
    }

    /// True if a quarter of so many words is free.
    pub fn is_largely_free(&self, words: usize) -> bool {
        self.free_words > words as u64 / 4
    }
}

/// The words and the positions that no node of a schema exceeds: constant ones, and so many for each item that there is room for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Most {
    words: u64,
    arrays: u64,
    slots: u64,
    slot_arrays: u64,
}

impl Most {
    fn of(schema: &Schema) -> Most {
        let most = |of: fn(&Node) -> u64| schema.nodes().iter().map(of).max().unwrap_or(0);
        Most {
            words: most(|node| u64::from(node.layout.words) + u64::from(node.layout.align + Schema::VECTOR)),
            arrays: most(|node| node.layout.unbounded.len() as u64),
            slots: most(|node| node.layout.slots.into()),
            slot_arrays: most(|node| node.layout.slot_rooms.into()),
        }
    }

    /// True if no array grows without a bound.
    pub fn is_bounded(&self) -> bool {
        self.arrays == 0
    }

    /// The words and the positions of a node with so much room at most.
    pub fn with_room(&self, room: u32) -> (u64, u64) {
        let room = u64::from(room);
        (self.words + self.arrays * room, self.slots + self.slot_arrays * room)
    }
}

/// A node of one element alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Single {
    /// The field of the element.
    pub field: usize,
    /// The length of its array, if it has one.
    pub size: Option<usize>,
}

impl Single {
    /// `None` if no node of a type has one element alone, or it has places that are not used, or other arrays that have some length.
    fn of(schema: &Schema, ty: usize) -> Option<Single> {
        let node = &schema.nodes()[ty];
        if node.elems().any(|(_, field)| !field.is_nonempty()) {
            return None;
        }
        let one = [Item::Elem { coordinate: 0, value: Source::Held(FRESH) }];
        let &(field, _) = Fit::of(schema, ty, &one, true)?.places.first()?;
        let size = match node.fields[field].array() {
            Some(Extent::Size(size)) => Some(size),
            _ => None,
        };
        let has_others =
            node.fields.iter().enumerate().any(|(number, other)| {
                matches!(other.kind, FieldKind::Size { least: 1.., .. }) && size != Some(number)
            });
        (!has_others).then_some(Single { field, size })
    }
}

/// Properties of a node type, which follow from its fields.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    /// True if there is one child at most, which is the last step: a chain of such nodes has no depth.
    pub is_linear: bool,
    /// True if there is an array of children: nodes grow and split, and so all leaves have the same depth.
    pub is_wide: bool,
    /// True if there are no children.
    pub is_leaf: bool,
    /// True if all elements are single, and always there: a node has no room for more.
    pub is_full: bool,
    /// The fields of the first and the last child, which may be absent, of a type with these two alone, around all elements.
    pub binary: Option<(usize, usize)>,
    /// The field of the last step, if it is a child that may be absent.
    pub last: Option<usize>,
    /// The field of the first step, if it is a child that may be absent.
    pub first: Option<usize>,
    /// The elements, all used, that alone are a step.
    pub block: Option<Block>,
    /// The element of a node that has just one.
    pub single: Option<Single>,
    /// The words of the children of a node of one element, which may all be absent.
    pub lone: Option<Vec<(u32, Target)>>,
    /// The word of the field that refers to the holder.
    pub parent: Option<u32>,
    /// The last child in order is a field that no array is, and may be absent: its word.
    pub next: Option<u32>,
}

impl Shape {
    /// For a type with one element between two children, the fields of these, and the element's.
    pub fn pair(&self) -> Option<((usize, usize), Single)> {
        self.binary.zip(self.single).filter(|_| self.lone.is_some())
    }

    fn of(schema: &'static Schema, ty: usize) -> Shape {
        let node = &schema.nodes()[ty];
        let children: Vec<usize> = node.children().map(|(number, _)| number).collect();
        let is_wide = children.iter().any(|child| node.fields[*child].array().is_some());
        let absent = |step: Option<&Step>| match step {
            Some(Step::One(field)) if children.contains(field) && !node.fields[*field].is_nonempty() => Some(*field),
            _ => None,
        };
        let (first, last) = (absent(node.seq.first()), absent(node.seq.last()));
        let target = |field: usize| match node.fields[field].kind {
            FieldKind::Child { to, .. } => Some(to),
            _ => None,
        };
        let binary = match (first, last) {
            (Some(first), Some(last)) if first != last && children.len() == 2 && !is_wide => {
                let has_elems = node.elems().any(|(_, field)| field.is_nonempty());
                (has_elems && target(first) == target(last)).then_some((first, last))
            }
            _ => None,
        };
        let at_end = |child: &usize| matches!(node.seq.last(), Some(Step::One(field)) if field == child);
        let is_full = node.elems().all(|(_, field)| field.array().is_none() && field.is_nonempty());
        let is_linear = children.len() <= 1 && !is_wide && children.iter().all(at_end);
        let child = |(_, field): (usize, &Field)| match field.kind {
            FieldKind::Child { to, array: None, nonempty: false } => Some((field.offset, to)),
            _ => None,
        };
        let is_lone = is_full && node.elems().count() == 1;
        Shape {
            lone: if is_lone { node.children().map(child).collect() } else { None },
            is_linear,
            is_wide,
            is_leaf: children.is_empty(),
            is_full,
            binary,
            last,
            first,
            block: Block::of(node),
            single: Single::of(schema, ty),
            parent: node.parent().map(|field| field.offset),
            next: last.map(|field| node.fields[field].offset),
        }
    }
}

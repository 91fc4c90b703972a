//! The comparisons that lead through a node, written down once for each type.
//!
//! In an ordered schema most types have elements that are all used, and at most one child between two of them. Then a search needs no
//! list of a gap's children: it goes on at the last child before the first element that is greater.
//!
//! ```text
//! bst              seq = l, e, r        child l, element e, child r
//! btree_internal   seq = {c, e}, cl     pairs c e, child cl             k elements are less: c[k], or cl if these are all
//! ctree            seq = h, {t}, ..     element h, block t
//! ```
//!
//! Types that are otherwise (places that may be unused, two children side by side) are searched item by item (`locate.rs`).

use lacunar_formats::schema::{Extent, Field, FieldKind, Node, Schema, Step, Target};

use super::guess::Rate;
use crate::nodes::View;

/// One comparison, or a child on the way.
#[derive(Clone, Copy, Debug)]
enum Probe {
    /// A child: its word, and the types that it refers to.
    Child(u32, Target),
    /// An element: its word and its position.
    Elem(u32, u32),
    /// Elements side by side: their field with its number, the word of their length, and a flag that is true if there may be none.
    Block { elems: &'static Field, number: usize, size: u32, may_be_empty: bool },
    /// Elements, with a child before each: their fields, the types that the children refer to, and the word of the length.
    Pairs { elems: &'static Field, children: &'static Field, to: Target, size: u32 },
}

/// The comparisons of a type.
#[derive(Clone, Debug)]
pub(crate) struct Search {
    node: &'static Node,
    /// True if there are elements side by side without children between.
    has_block: bool,
    /// The positions that a word takes.
    rate: Option<Rate>,
    probes: Vec<Probe>,
    /// The comparison of a type that has one element between two children of that type, as binary search trees have: a loop of its own
    /// searches these.
    between: Option<Between>,
}

/// One element between two children: their words, and the word and the position of the element.
#[derive(Clone, Copy, Debug)]
struct Between {
    /// The child before the element, and the one behind it.
    children: [u32; 2],
    /// The element.
    elem: u32,
    /// Its position, counted from the node's first one.
    slot: u32,
}

/// The end of a search in a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// To the element: its word and its position.
    Found(u32, u32),
    /// To the child in the gap: its word, and the types that it refers to. If it is null, the gap is also at this place of an array of
    /// elements.
    Child(u32, Target, Option<(usize, u32)>),
    /// To a gap without a child, and the place of it in an array of elements.
    Gap(Option<(usize, u32)>),
}

impl Search {
    /// The comparisons of a type; `None` if they are not of this kind.
    pub fn of(schema: &'static Schema, ty: usize) -> Option<Search> {
        let node = &schema.nodes()[ty];
        if !schema.is_ordered() {
            return None;
        }
        let probes = node.seq.iter().map(|step| Probe::of(node, step)).collect::<Option<Vec<Probe>>>()?;
        // A child behind a child is in the same gap; so is one behind a block without elements, or one with children.
        let mut has_child = false;
        for probe in &probes {
            match probe {
                Probe::Child(..) | Probe::Pairs { .. } if has_child => return None,
                Probe::Child(..) => has_child = true,
                Probe::Elem(..) | Probe::Block { may_be_empty: false, .. } => has_child = false,
                Probe::Block { may_be_empty: true, .. } | Probe::Pairs { .. } => {}
            }
        }
        let own = Target::Node(ty);
        let between = match probes[..] {
            [Probe::Child(left, before), Probe::Elem(elem, slot), Probe::Child(right, behind)]
                if before == own && behind == own =>
            {
                Some(Between { children: [left, right], elem, slot })
            }
            _ => None,
        };
        let has_block = probes.iter().any(|probe| matches!(probe, Probe::Block { .. }));
        Some(Search { node, has_block, rate: Rate::of(node), probes, between })
    }

    /// The type.
    #[inline]
    pub fn node(&self) -> &'static Node {
        self.node
    }

    /// The positions that a word takes, if all nodes of the type are of one size.
    #[inline]
    pub fn rate(&self) -> Option<Rate> {
        self.rate
    }

    /// True if the type has elements side by side: a search ends in many nodes of such a type, and few are on the way.
    #[inline]
    pub fn has_block(&self) -> bool {
        self.has_block
    }
}

impl Probe {
    fn of(node: &'static Node, step: &Step) -> Option<Probe> {
        let size = |field: usize| match node.fields[field].array() {
            Some(Extent::Size(size)) => Some(node.fields[size].offset),
            _ => None,
        };
        let may_be_empty = |field: usize| match node.fields[field].array() {
            Some(Extent::Size(size)) => !matches!(node.fields[size].kind, FieldKind::Size { least: 1.., .. }),
            _ => true,
        };
        match step {
            Step::One(field) => match node.fields[*field].kind {
                FieldKind::Child { to, .. } => Some(Probe::Child(node.fields[*field].offset, to)),
                FieldKind::Elem { nonempty: true, .. } => {
                    Some(Probe::Elem(node.fields[*field].offset, node.fields[*field].slot))
                }
                _ => None,
            },
            Step::Together(fields) => match *fields.as_slice() {
                [number] => match node.fields[number].kind {
                    FieldKind::Elem { nonempty: true, .. } => Some(Probe::Block {
                        elems: &node.fields[number],
                        number,
                        size: size(number)?,
                        may_be_empty: may_be_empty(number),
                    }),
                    _ => None,
                },
                [children, elems] => match (&node.fields[children].kind, &node.fields[elems].kind) {
                    (FieldKind::Child { to, .. }, FieldKind::Elem { nonempty: true, .. }) => {
                        let (own, before) = (&node.fields[elems], &node.fields[children]);
                        Some(Probe::Pairs { elems: own, children: before, to: *to, size: size(elems)? })
                    }
                    _ => None,
                },
                _ => None,
            },
        }
    }
}

impl View<'_> {
    /// The way that the search for a coordinate takes from a node.
    #[inline]
    fn way(&self, search: &Search, base: u32, coordinate: u32) -> Way {
        let node = search.node;
        let at = |word: u32| u64::from(base) + u64::from(word);
        // The child of the gap, and the place in an array.
        let (mut child, mut place) = (None, None);
        for probe in &search.probes {
            match *probe {
                Probe::Child(word, to) => child = Some((at(word) as u32, to)),
                Probe::Elem(word, slot) => {
                    let there = self.word(at(word));
                    if there == coordinate {
                        return Way::Found(at(word) as u32, self.slot_in(base, node) as u32 + slot);
                    }
                    if there > coordinate {
                        break;
                    }
                    (child, place) = (None, None);
                }
                Probe::Block { elems, number, size, .. } => {
                    let room = self.room_in(base, node);
                    let first = u64::from(base) + elems.word(room, 0);
                    let (k, count, is_there) = self.reach(first, self.word(at(size)), coordinate);
                    if is_there {
                        let position = self.slot_in(base, node) + elems.slot(room, k);
                        return Way::Found(first as u32 + k, position as u32);
                    }
                    if k > 0 {
                        child = None;
                    }
                    place = Some((number, k));
                    if k < count {
                        break;
                    }
                }
                Probe::Pairs { elems, children, to, size } => {
                    let room = self.room_in(base, node);
                    let first = u64::from(base) + elems.word(room, 0);
                    let (k, count, is_there) = self.reach(first, self.word(at(size)), coordinate);
                    if is_there {
                        let position = self.slot_in(base, node) + elems.slot(room, k);
                        return Way::Found(first as u32 + k, position as u32);
                    }
                    if k > 0 {
                        place = None;
                    }
                    if k < count {
                        child = Some(((u64::from(base) + children.word(room, k)) as u32, to));
                        break;
                    }
                }
            }
        }
        match child {
            Some((word, to)) => Way::Child(word, to, place),
            None => Way::Gap(place),
        }
    }

    /// The way that the search for a coordinate takes from a node, and the node that it ends in: through nodes of the same type, if these
    /// have one element between two children each. `visit` is told the nodes below, each with the word that refers to it.
    #[inline]
    pub fn descend(
        &self,
        search: &Search,
        (base, ty): (u32, usize),
        coordinate: u32,
        mut visit: impl FnMut(u32, u32),
    ) -> (u32, Way) {
        let Some(between) = search.between else { return (base, self.way(search, base, coordinate)) };
        let mask = !(self.schema.align() - 1);
        let mut base = base;
        loop {
            let elem = base.wrapping_add(between.elem);
            let there = self.word(elem.into());
            if there == coordinate {
                return (base, Way::Found(elem, self.slot_in(base, search.node) as u32 + between.slot));
            }
            let link = base.wrapping_add(between.children[usize::from(there < coordinate)]);
            let next = self.word(link.into()) & mask;
            if next == 0 {
                return (base, Way::Child(link, Target::Node(ty), None));
            }
            visit(next, link);
            base = next;
        }
    }

    /// The number of coordinates from a word on that are less than one, the number of all, and true if the next one is it.
    #[inline]
    fn reach(&self, first: u64, count: u32, coordinate: u32) -> (u32, u32, bool) {
        let words = self.node.get(first as usize..first as usize + count as usize).unwrap_or_default();
        let k = words.partition_point(|there| *there < coordinate);
        (k as u32, words.len() as u32, words.get(k) == Some(&coordinate))
    }
}

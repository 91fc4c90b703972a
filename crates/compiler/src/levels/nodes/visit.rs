//! The visit of a subtensor's nodes in the order of its schema: the elements that come one behind the other, the places where the
//! visit goes into children, and those where it goes on behind these.
//!
//! ```text
//! seq = l, e, r          into l, which is not the last: go on before e;   a block: e, go on before r;   into r, the last: nothing is left
//! seq = {c, e}, cl       into c[k]: go on before e[k];   a block: e[k], go on before c[k + 1], or before cl;   into cl
//! seq = {e}, n           a block: e[0 .. B], go on before n;   into n
//! ```
//!
//! The visit hands out *blocks*: elements whose coordinates are neighbors in the node, and so are their positions. A *place* says where
//! the visit of a node goes on. Places behind blocks are those that an iterator stands at, places behind children those of the nodes that
//! wait on its stack.

use lacunar_formats::schema::{Extent, Field, FieldKind, Schema, Step, Target};

/// A place in the visit of a node: before an item of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The type of the node.
    pub node: usize,
    /// The step of its order; behind the last step, the end.
    pub step: usize,
    /// The field among those of the step; behind the last, the next items of these, or the next step.
    pub item: usize,
}

impl Place {
    /// The beginning of a node's visit.
    pub fn first(node: usize) -> Place {
        Place { node, step: 0, item: 0 }
    }

    /// The place behind the step.
    pub fn next_step(self) -> Place {
        Place { step: self.step + 1, item: 0, ..self }
    }

    /// The place behind the item.
    pub fn next_item(self) -> Place {
        Place { item: self.item + 1, ..self }
    }
}

/// The mark that tells one of several places from the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// There is one at most.
    Alone,
    /// By the tag of the node's handle.
    ByTag,
    /// By its number, which is kept.
    ByNumber,
}

/// The visit of the nodes of a schema.
#[derive(Clone, Debug)]
pub(super) struct Visit {
    pub schema: &'static Schema,
    /// The places behind blocks, each once.
    pub blocks: Vec<Place>,
    /// The places behind children, each once.
    pub resumed: Vec<Place>,
    /// The types of children that are visited.
    pub targets: Vec<Target>,
    /// True if some place behind a child is inside of an array.
    pub has_items: bool,
    /// True if some block can have several elements.
    pub has_arrays: bool,
    /// True if some elements of blocks may be unused.
    pub has_unused: bool,
    /// The numbers of elements that blocks have room for, each once. An array without a bound gives none.
    pub bounds: Vec<Option<u32>>,
    /// True if some blocks have words for more elements than positions.
    pub has_padding: bool,
    /// True if some elements of arrays are handed out one by one, with blocks between them.
    pub alternates: bool,
}

impl Visit {
    /// The visit of a schema's nodes.
    pub fn of(schema: &'static Schema) -> Visit {
        let mut visit = Visit {
            schema,
            blocks: Vec::new(),
            resumed: Vec::new(),
            targets: Vec::new(),
            has_items: false,
            has_arrays: false,
            has_unused: false,
            bounds: Vec::new(),
            has_padding: false,
            alternates: false,
        };
        if schema.is_transparent() {
            visit.targets.push(schema.entry());
        }
        let mut reached: Vec<usize> = schema.types(schema.entry()).to_vec();
        let mut done = 0;
        while let Some(&node) = reached.get(done) {
            done += 1;
            for target in visit.node(node) {
                add(&mut visit.targets, target);
                schema.types(target).iter().for_each(|next| add(&mut reached, *next));
            }
        }
        visit
    }

    /// Takes the places of a node type's visit; gives the types of its children.
    fn node(&mut self, node: usize) -> Vec<Target> {
        let mut targets = Vec::new();
        for (number, step) in self.steps(node).iter().enumerate() {
            let place = Place { node, step: number, item: 0 };
            let fields = fields(step);
            for (item, &field) in fields.iter().enumerate() {
                let behind = self.behind_block(Place { item, ..place });
                match &self.field(node, field).kind {
                    FieldKind::Child { to, .. } => {
                        targets.push(*to);
                        let is_array = matches!(step, Step::Together(_));
                        if is_array || !self.is_last(place) {
                            add(&mut self.resumed, behind);
                            self.has_items |= is_array;
                        }
                    }
                    FieldKind::Elem { nonempty, .. } => {
                        add(&mut self.blocks, behind);
                        self.has_arrays |= self.is_block(node, step);
                        self.has_unused |= !nonempty;
                        let bound = if self.is_block(node, step) { self.bound(node, field) } else { Some(1) };
                        add(&mut self.bounds, bound);
                        self.has_padding |= self.schema.nodes()[node].is_padded(field);
                        self.alternates |= matches!(step, Step::Together(_)) && !self.is_block(node, step);
                    }
                    FieldKind::Size { .. } | FieldKind::Meta(_) | FieldKind::Parent => {}
                }
            }
        }
        targets
    }

    /// The place behind the block that begins at one.
    pub fn behind_block(&self, place: Place) -> Place {
        let step = self.steps(place.node).get(place.step);
        let is_part = step.is_some_and(|step| matches!(step, Step::Together(_)) && !self.is_block(place.node, step));
        if is_part { place.next_item() } else { place.next_step() }
    }

    /// The order of a node's elements and children.
    pub fn steps(&self, node: usize) -> &'static [Step] {
        self.schema.nodes().get(node).map_or(&[], |node| node.seq.as_slice())
    }

    /// A field of a node type.
    pub fn field(&self, node: usize, field: usize) -> &'static Field {
        &self.schema.nodes()[node].fields[field]
    }

    /// True if nothing follows the step of a place.
    pub fn is_last(&self, place: Place) -> bool {
        place.step + 1 == self.steps(place.node).len()
    }

    /// True if a step is an array of elements alone.
    pub fn is_block(&self, node: usize, step: &Step) -> bool {
        let is_elem = |field: &usize| matches!(self.field(node, *field).kind, FieldKind::Elem { .. });
        matches!(step, Step::Together(fields) if fields.len() == 1 && fields.iter().all(is_elem))
    }

    /// True if a field of elements is a step by itself.
    pub fn has_block(&self, node: usize, field: usize) -> bool {
        self.steps(node).iter().any(|step| fields(step).contains(&field) && self.is_block(node, step))
    }

    /// True if a step is of arrays of children alone, of which none may be there.
    pub fn is_of_children(&self, node: usize, step: &Step) -> bool {
        let is_child = |field: &usize| matches!(self.field(node, *field).kind, FieldKind::Child { .. });
        matches!(step, Step::Together(fields) if fields.iter().all(is_child))
    }

    /// The least number of items of the arrays of a step.
    pub fn least(&self, node: usize, step: &Step) -> u32 {
        let extent = fields(step).first().and_then(|field| self.field(node, *field).array());
        match extent {
            None => 1,
            Some(Extent::Const(count)) => count,
            Some(Extent::Size(size)) => match self.field(node, size).kind {
                FieldKind::Size { least, .. } => least,
                _ => 0,
            },
        }
    }

    /// The number of items that a field has room for in every node; none if its array has no bound.
    pub fn bound(&self, node: usize, field: usize) -> Option<u32> {
        match self.field(node, field).array() {
            None => Some(1),
            Some(Extent::Const(count)) => Some(count),
            Some(Extent::Size(size)) => match self.field(node, size).kind {
                FieldKind::Size { most, .. } => most,
                _ => None,
            },
        }
    }

    /// The number of a place behind a block.
    pub fn number_of_block(&self, behind: Place) -> usize {
        self.blocks.iter().position(|place| *place == behind).unwrap_or(0)
    }

    /// The number of a place behind a child.
    pub fn number_of_resumed(&self, behind: Place) -> usize {
        self.resumed.iter().position(|place| *place == behind).unwrap_or(0)
    }

    /// The number of a type of children.
    pub fn number_of_target(&self, target: Target) -> usize {
        self.targets.iter().position(|own| *own == target).unwrap_or(0)
    }

    /// The mark that tells places from each other.
    pub fn told(&self, places: &[Place]) -> Told {
        let nodes: Vec<usize> = places.iter().map(|place| place.node).collect();
        let supertype = |node: &usize| self.schema.nodes()[*node].supertype;
        match nodes.as_slice() {
            [] | [_] => Told::Alone,
            [first, others @ ..] => {
                let are_apart = (0..nodes.len()).all(|k| !nodes[..k].contains(&nodes[k]));
                let are_told =
                    supertype(first).is_some() && others.iter().all(|node| supertype(node) == supertype(first));
                if are_apart && are_told { Told::ByTag } else { Told::ByNumber }
            }
        }
    }
}

/// The fields of a step.
pub(super) fn fields(step: &Step) -> &[usize] {
    match step {
        Step::One(field) => std::slice::from_ref(field),
        Step::Together(fields) => fields,
    }
}

fn add<T: PartialEq>(all: &mut Vec<T>, one: T) {
    if !all.contains(&one) {
        all.push(one);
    }
}

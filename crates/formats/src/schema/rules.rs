//! The rules that a schema keeps as a whole: one root from which all types are reached, nodes that can end, an order of its fields
//! that is complete or not there, holders of one type.

use super::names::Names;
use super::syntax::{Raw, RawEntry, RawKind, RawNode, RawSupertype};
use super::{Extent, FieldKind, Node, Schema, Step, Supertype, Target};

/// The most nodes of the smallest tree of a type: one element takes so many at least.
const MOST_NEEDED: u64 = 1 << 20;

/// The types of nodes, and what they were made of.
pub(super) struct Types<'r> {
    pub raw: &'r Raw,
    pub nodes: Vec<Node>,
    pub supertypes: Vec<Supertype>,
}

/// The order of a type's fields.
pub(super) struct Seq {
    /// All elements and children.
    pub steps: Vec<Step>,
    /// The entries in the text.
    pub written: Vec<(Vec<usize>, bool)>,
    /// True if the text tells the order of all coordinates.
    pub told: bool,
}

impl Types<'_> {
    /// The node types of a target.
    fn types(&self, target: Target) -> Vec<usize> {
        match target {
            Target::Node(number) => vec![number],
            Target::Super(number) => self.supertypes.get(number).map(|it| it.subtypes.clone()).unwrap_or_default(),
        }
    }

    /// The targets of a type's children.
    fn children(&self, number: usize) -> impl Iterator<Item = Target> + '_ {
        self.nodes[number].fields.iter().filter_map(|field| match field.kind {
            FieldKind::Child { to, .. } => Some(to),
            _ => None,
        })
    }

    /// True if a node of the first type may hold one of the second.
    fn holds(&self, holder: usize, held: usize) -> bool {
        self.children(holder).any(|target| self.types(target).contains(&held))
    }

    /// The root: the one type that no other type holds.
    pub fn root(&self, names: &mut Names) -> Option<usize> {
        let is_held = |held: usize| (0..self.nodes.len()).any(|holder| holder != held && self.holds(holder, held));
        let roots: Vec<usize> = (0..self.nodes.len()).filter(|number| !is_held(*number)).collect();
        match roots.as_slice() {
            [] => {
                let node = self.raw.nodes.first()?;
                let of = node.supertype.as_ref().unwrap_or(&node.name);
                let message = "no type is the root: each is a child of another one";
                let hint = format!("define the type of roots, as in `def {0}_root {{ r: {0} }}`", of.text);
                names.error("E1604", node.name.span, message, hint);
                None
            }
            [root] => Some(*root),
            [first, others @ ..] => {
                for other in others {
                    let (first, other) = (&self.raw.nodes[*first].name, &self.raw.nodes[*other].name);
                    let message = format!("`{}` is a root besides `{}`", other.text, first.text);
                    let hint =
                        "a schema has one type that no other has as a child; let one hold the other, or leave one out";
                    names.error("E1604", other.span, message, hint);
                }
                None
            }
        }
    }

    /// Checks that every type is reached from the root, that some type holds elements, and that nodes can end.
    pub fn reach(&self, root: usize, names: &mut Names) {
        let mut reached = vec![false; self.nodes.len()];
        let mut waiting = vec![root];
        while let Some(number) = waiting.pop() {
            if !std::mem::replace(&mut reached[number], true) {
                waiting.extend(self.children(number).flat_map(|target| self.types(target)));
            }
        }
        for (node, _) in self.raw.nodes.iter().zip(&reached).filter(|(_, reached)| !**reached) {
            let message = format!("no node of type `{}` is ever held by another", node.name.text);
            names.error("E1605", node.name.span, message, "leave the type out, or add a child of it");
        }
        for RawSupertype { name: supertype, .. } in &self.raw.supertypes {
            let is_used = |number: usize| {
                self.children(number).any(|target| match target {
                    Target::Super(other) => self.supertypes[other].name == supertype.text,
                    Target::Node(_) => false,
                })
            };
            if !(0..self.nodes.len()).any(is_used) {
                let message = format!("no child is a `{}`", supertype.text);
                names.error("E1605", supertype.span, message, "leave the supertype out, or add a child of it");
            }
        }
        if self.nodes.iter().all(|node| node.elems().next().is_none()) {
            let root = &self.raw.nodes[root].name;
            names.error("E1613", root.span, "no type holds elements", "add a field `e: elem nonempty` to one");
        }
        self.can_end(names);
    }

    /// Checks that there are trees of every type that end: none needs children that need children without end, or so many that nobody
    /// could make them.
    fn can_end(&self, names: &mut Names) {
        let mut least: Vec<Option<u64>> = vec![None; self.nodes.len()];
        loop {
            // By type, the nodes of the smallest tree so far.
            let smallest = |target: Target| self.types(target).into_iter().filter_map(|number| least[number]).min();
            let with_children = |node: &Node| {
                node.fields.iter().try_fold(1u64, |nodes, field| match field.kind {
                    FieldKind::Child { to, array, nonempty: true } => match self.least_items(node, array) {
                        0 => Some(nodes),
                        items => Some(nodes.saturating_add(smallest(to)?.saturating_mul(items))),
                    },
                    _ => Some(nodes),
                })
            };
            let next: Vec<Option<u64>> = self.nodes.iter().map(with_children).collect();
            if next == least {
                break;
            }
            least = next;
        }
        for (node, least) in self.raw.nodes.iter().zip(least) {
            let name = &node.name;
            let message = match least {
                None => format!("a node of type `{}` needs children without end", name.text),
                Some(least) if least > MOST_NEEDED => {
                    format!("a node of type `{}` needs more than {MOST_NEEDED} others below it", name.text)
                }
                Some(_) => continue,
            };
            names.error("E1610", name.span, message, "leave `nonempty` out at a child, or let the least length be 0");
        }
    }

    /// The number of items that a field has in every node.
    fn least_items(&self, node: &Node, array: Option<Extent>) -> u64 {
        match array {
            None => 1,
            Some(Extent::Const(items)) => items.into(),
            Some(Extent::Size(size)) => match node.fields[size].kind {
                FieldKind::Size { least, .. } => least.into(),
                _ => 1,
            },
        }
    }

    /// The types of the nodes that hold those of a type with a field `parent`.
    pub fn holder(&self, number: usize, root: usize, is_transparent: bool, names: &mut Names) -> Option<Target> {
        let raw = &self.raw.nodes[number];
        let parents = self.nodes[number].fields.iter().enumerate().filter(|(_, field)| field.kind == FieldKind::Parent);
        let parents: Vec<usize> = parents.map(|(field, _)| field).collect();
        let (first, others) = parents.split_first()?;
        if let Some(second) = others.first() {
            let span = raw.fields[*second].name.span;
            names.error("E1609", span, "a second field for the parent", "a node has one holder: leave this field out");
        }
        let holders: Vec<usize> = (0..self.nodes.len()).filter(|holder| self.holds(*holder, number)).collect();
        // The words of nodes that a root holds are 0, unless roots are of the only type there is.
        let inner: Vec<usize> = holders.iter().copied().filter(|holder| *holder != root).collect();
        let all = if is_transparent { &inner } else { &holders };
        let found = [all, &inner].into_iter().find_map(|holders| self.common(holders));
        if found.is_none() && !inner.is_empty() {
            let shown: Vec<String> = inner.iter().map(|holder| format!("`{}`", self.nodes[*holder].name)).collect();
            let message = format!("nodes of type `{}` are held by those of {}", raw.name.text, shown.join(", "));
            let hint = "a field `parent` refers to nodes of one type, or of one supertype: declare `def supertype NAME` for them";
            names.error("E1609", raw.fields[*first].span, message, hint);
        }
        found
    }

    /// The type that nodes of several types have in common.
    fn common(&self, holders: &[usize]) -> Option<Target> {
        let (first, others) = holders.split_first()?;
        if others.is_empty() {
            return Some(Target::Node(*first));
        }
        let supertype = self.nodes[*first].supertype?;
        others.iter().all(|other| self.nodes[*other].supertype == Some(supertype)).then_some(Target::Super(supertype))
    }

    /// The order in which a type's elements and children are visited, and true if the text tells it.
    pub fn seq(&self, number: usize, names: &mut Names) -> Seq {
        let (raw, node) = (&self.raw.nodes[number], &self.nodes[number]);
        let items = node.elems().chain(node.children()).map(|(field, _)| field);
        let mut left: Vec<usize> = items.collect();
        let is_obvious = left.len() <= 1 && left.iter().all(|field| node.fields[*field].array().is_none());
        let mut told = raw.seq.is_some() || is_obvious;
        let (mut seq, mut written) = (Vec::new(), Vec::new());
        for entry in raw.seq.iter().flatten() {
            let fields = names.in_seq(raw, entry);
            for (field, name) in fields.iter().zip(&entry.names) {
                let field_name = &node.fields[*field].name;
                match left.iter().position(|other| other == field) {
                    Some(place) => {
                        left.remove(place);
                    }
                    None if node.fields[*field].array().is_some() || is_item(&node.fields[*field].kind) => {
                        let message = format!("`{field_name}` is in the order twice");
                        names.error("E1607", name.span, message, "every field is visited once: leave one of them out");
                    }
                    None => {
                        let message = format!("`{field_name}` is neither an element nor a child");
                        names.error("E1607", name.span, message, "leave it out: `seq` orders elements and children");
                    }
                }
            }
            let is_array = |field: &usize| node.fields[*field].array().is_some();
            if entry.braced {
                self.check_braces(raw, node, entry, &fields, names);
            } else {
                told &= !fields.iter().any(is_array);
            }
            let alone = matches!(fields.as_slice(), [only] if !is_array(only));
            written.push((fields.clone(), entry.braced && !alone));
            match fields.as_slice() {
                [only] if alone => seq.push(Step::One(*only)),
                [] => {}
                _ => seq.push(Step::Together(fields)),
            }
        }
        told &= left.is_empty() || is_obvious;
        if is_obvious {
            written.clear();
        }
        let is_array = |field: usize| node.fields[field].array().is_some();
        seq.extend(
            left.into_iter().map(|field| if is_array(field) { Step::Together(vec![field]) } else { Step::One(field) }),
        );
        Seq { steps: seq, written, told }
    }

    fn check_braces(&self, raw: &RawNode, node: &Node, entry: &RawEntry, fields: &[usize], names: &mut Names) {
        let array = |field: &usize| node.fields[*field].array();
        let (Some(first), Some(first_name)) = (fields.first(), entry.names.first()) else { return };
        if fields.len() == 1 || fields.len() != entry.names.len() {
            return;
        }
        for (field, name) in fields.iter().zip(&entry.names) {
            let hint = "fields in braces are arrays of the same length, whose items alternate";
            if array(field).is_none() {
                names.error("E1608", name.span, format!("`{}` is no array of `{}`", name.text, raw.name.text), hint);
                return;
            }
            if array(field) != array(first) {
                let message = format!("`{}` is not as long as `{}`", name.text, first_name.text);
                names.error("E1608", name.span, message, hint);
                return;
            }
        }
    }

    /// Checks that every size is the length of an array.
    pub fn sizes(&self, names: &mut Names) {
        for (raw, node) in self.raw.nodes.iter().zip(&self.nodes) {
            let sizes = raw.fields.iter().filter(|field| matches!(field.kind, RawKind::Size { .. }));
            if let Some(field) = sizes.clone().nth(Schema::SIZES) {
                let message = format!("`{}` has more than {} sizes", raw.name.text, Schema::SIZES);
                names.error("E1612", field.name.span, message, "let arrays that are equally long name the same size");
            }
            for (number, field) in raw.fields.iter().enumerate() {
                let is_size = matches!(node.fields[number].kind, FieldKind::Size { .. });
                if is_size && !node.fields.iter().any(|other| other.array() == Some(Extent::Size(number))) {
                    let message = format!("no array of `{}` has the length `{}`", raw.name.text, field.name.text);
                    let hint = format!("write `elem[{}]`; a number of your own is `uint32`", field.name.text);
                    names.error("E1606", field.name.span, message, hint);
                }
            }
        }
    }
}

/// True of elements and children.
fn is_item(kind: &FieldKind) -> bool {
    matches!(kind, FieldKind::Elem { .. } | FieldKind::Child { .. })
}

//! The code that looks a coordinate up: from the root node to the one that has it, by comparisons with elements.
//!
//! ```text
//! seq = l, e, r                                 seq = {c, e}, cl
//! while node != 0 {                             while node != 0 { ..
//!   if e >= wanted {                              k = the first element that is `wanted` or more
//!     if e == wanted { found }                    if k < B { if e[k] == wanted { found } else { node = c[k] } }
//!     node = l                                    else { node = cl }
//!   } else { node = r }                         }
//! }
//! ```
//!
//! An element tells on which side of it a coordinate is: nodes are *parted* if between two children that may both have it there is always
//! an element. Nodes with a single child are searched element by element if some elements may be unused. In a schema with other nodes,
//! the elements are visited in order.
//!
//! An iterator that begins at a coordinate goes the same way, and the nodes that it comes through wait as if it had visited the
//! elements before ([`Nodes::begin_at`]).

use lacunar_formats::schema::{FieldKind, Step};
use lacunar_imp::{Builder, CompareOp, ExprId, Stmt, VarId};

use super::visit::{Place, Visit, fields};
use super::{Nodes, Walk};

/// A search for the position of a coordinate.
struct Search {
    /// The coordinate.
    wanted: ExprId,
    /// The handle of the node to look into; 0 at the end.
    node: VarId,
    /// The number of the type of children that it is one of, where that has to be told.
    target: Option<VarId>,
    /// The position of the coordinate, and the one behind it if it was found.
    found: (VarId, VarId),
}

/// The wanted answer: the position of a coordinate, or an iterator that stands at the first element from there on.
#[derive(Clone, Copy)]
enum Goal<'a> {
    Position(&'a Search),
    Begin(&'a Walk, ExprId),
}

impl Goal<'_> {
    fn wanted(&self) -> ExprId {
        match self {
            Goal::Position(search) => search.wanted,
            Goal::Begin(_, wanted) => *wanted,
        }
    }

    fn node(&self) -> VarId {
        match self {
            Goal::Position(search) => search.node,
            Goal::Begin(walk, _) => walk.node,
        }
    }

    fn target(&self) -> Option<VarId> {
        match self {
            Goal::Position(search) => search.target,
            Goal::Begin(walk, _) => walk.target,
        }
    }
}

/// A child that has the wanted coordinate, if an element behind it tells so.
#[derive(Clone, Copy)]
struct Before {
    /// The place of the child in the visit.
    place: Place,
    field: usize,
    /// The number of the item, in arrays.
    item: Option<ExprId>,
}

/// Elements of a node: a field, of which an item is the first that is wanted or more.
#[derive(Clone, Copy)]
struct Reached {
    place: Place,
    field: usize,
    item: ExprId,
    /// The number of items of the field.
    count: ExprId,
    /// The coordinate of the item.
    own: ExprId,
}

impl Visit {
    /// True if comparisons with elements lead to a coordinate, from every node.
    pub fn can_be_searched(&self) -> bool {
        let types = || self.targets.iter().flat_map(|target| self.schema.types(*target));
        self.schema.is_ordered() && self.is_searched(self.schema.root()) && types().all(|node| self.is_searched(*node))
    }

    /// True if comparisons with its elements lead from a node on.
    fn is_searched(&self, node: usize) -> bool {
        self.is_parted(node) || self.is_chained(node)
    }

    /// True if comparisons lead to the first element from a coordinate on, from every node.
    pub fn can_begin_anywhere(&self) -> bool {
        let types = || self.targets.iter().flat_map(|target| self.schema.types(*target));
        self.schema.is_ordered() && self.is_parted(self.schema.root()) && types().all(|node| self.is_parted(*node))
    }

    /// True if there is an element between every two children, all of whose elements are used.
    fn is_parted(&self, node: usize) -> bool {
        let mut after_child = false;
        self.steps(node).iter().all(|step| {
            let own = fields(step);
            let is_child = |field: &usize| matches!(self.field(node, *field).kind, FieldKind::Child { .. });
            let (least, children) = (self.least(node, step), own.iter().filter(|field| is_child(field)).count());
            let is_full = own.iter().all(|field| is_child(field) || self.field(node, *field).is_nonempty());
            let before = after_child;
            let alone = match (step, children) {
                (Step::One(_), 0) => {
                    after_child = false;
                    true
                }
                (Step::One(_), _) => {
                    after_child = true;
                    !before
                }
                (Step::Together(_), 0) => {
                    after_child = false;
                    own.len() == 1 && (least > 0 || !before)
                }
                (Step::Together(_), 1) if own.len() == 2 => {
                    // A child before its element, or behind it.
                    let is_first = is_child(&own[0]);
                    after_child = !is_first;
                    if is_first { !before } else { least > 0 }
                }
                (Step::Together(_), _) => false,
            };
            alone && is_full
        })
    }

    /// True if a node has one child at most.
    fn is_chained(&self, node: usize) -> bool {
        let all = self.steps(node).iter().flat_map(fields).map(|field| &self.field(node, *field).kind);
        let children: Vec<&FieldKind> = all.filter(|kind| matches!(kind, FieldKind::Child { .. })).collect();
        matches!(children.as_slice(), [] | [FieldKind::Child { array: None, .. }])
    }
}

impl Nodes {
    /// The position of a coordinate in the subtensor whose root node has a handle, and the one behind it: the same if it is not there.
    /// The visit [can be searched](Visit::can_be_searched).
    pub(super) fn search(&self, b: &mut Builder, root: ExprId, wanted: ExprId) -> (ExprId, ExprId) {
        let zero = b.int(0);
        let found = (b.declare("found_at", zero), b.declare("found_end", zero));
        let is_transparent = self.visit.schema.is_transparent();
        let node = b.declare("node", if is_transparent { root } else { zero });
        let target = (self.visit.targets.len() > 1).then(|| b.declare("target", zero));
        let search = Search { wanted, node, target, found };
        if !is_transparent {
            let some = b.compare(CompareOp::Ne, root, zero);
            b.if_then(some, |b| {
                b.assign(node, root);
                self.look_into(b, Goal::Position(&search), self.visit.schema.root());
            });
        }
        if !self.visit.targets.is_empty() {
            let here = b.var(node);
            let some = b.compare(CompareOp::Ne, here, zero);
            b.while_loop(some, |b| self.look_into_child(b, Goal::Position(&search)));
        }
        (b.var(found.0), b.var(found.1))
    }

    /// Moves an iterator, whose node is that of a root, to the first block with an element that is `low` or more, at that element.
    /// The visit [can begin anywhere](Visit::can_begin_anywhere).
    pub(super) fn begin_at(&self, b: &mut Builder, walk: &Walk, root: ExprId, low: ExprId) {
        let (goal, yes) = (Goal::Begin(walk, low), b.bool(true));
        let into_children = |b: &mut Builder| {
            b.while_loop(yes, |b| {
                let valid = self.is_valid(b, walk);
                let then = b.block(|b| self.look_into_child(b, goal));
                let otherwise = b.block(|b| {
                    // Nothing from here on: a node that waits has it.
                    self.settle(b, walk);
                    b.push(Stmt::Break);
                });
                b.push(Stmt::If { cond: valid, then, otherwise });
            });
        };
        if self.visit.schema.is_transparent() {
            return into_children(b);
        }
        b.while_loop(yes, |b| {
            let zero = b.int(0);
            let some = b.compare(CompareOp::Ne, root, zero);
            b.if_then(some, |b| {
                b.assign(walk.node, root);
                self.look_into(b, goal, self.visit.schema.root());
            });
            into_children(b);
            b.push(Stmt::Break);
        });
    }

    /// Looks into the node, by its type.
    fn look_into_child(&self, b: &mut Builder, goal: Goal<'_>) {
        let targets = &self.visit.targets;
        let number = goal.target().map(|target| b.var(target));
        let types = |target: usize| self.visit.schema.types(targets[target]);
        self.choose_by_number(b, targets.len(), number, &mut |b, k| {
            self.choose_by_tag(b, goal.node(), types(k), &mut |b, node| self.look_into(b, goal, node));
        });
    }

    /// Looks into the node, which is of a type: reaches the goal, or moves to a child.
    fn look_into(&self, b: &mut Builder, goal: Goal<'_>, node: usize) {
        let tag = b.int(i64::from(self.visit.schema.nodes()[node].tag));
        let handle = b.var(goal.node());
        let base = b.sub(handle, tag);
        let base = b.define("base", base);
        match goal {
            Goal::Position(search) if !self.visit.is_parted(node) => self.scan(b, search, (base, node)),
            _ => self.descend(b, goal, base, Place::first(node), None),
        }
    }

    /// The handle of a child.
    fn handle(&self, b: &mut Builder, base: ExprId, child: Before) -> ExprId {
        let word = self.word(b, base, child.place.node, child.field);
        let word = child.item.map_or(word, |item| b.add(word, item));
        b.load_index("child", self.node, word)
    }

    /// All elements are less: the wanted coordinate is in the last child, or not here.
    fn go_to(&self, b: &mut Builder, goal: Goal<'_>, base: ExprId, child: Option<Before>) {
        let Some(child) = child else {
            let zero = b.int(0);
            return b.assign(goal.node(), zero);
        };
        let FieldKind::Child { to, .. } = self.visit.field(child.place.node, child.field).kind else { return };
        let handle = self.handle(b, base, child);
        if let Some(target) = goal.target() {
            let number = b.int(self.visit.number_of_target(to) as i64);
            b.assign(target, number);
        }
        b.assign(goal.node(), handle);
    }

    /// An element is the first that is not less than the wanted coordinate: that is in the child before, or at the element.
    fn reached(&self, b: &mut Builder, goal: Goal<'_>, base: ExprId, of: Reached, before: Option<Before>) {
        match (goal, before) {
            (Goal::Position(search), _) => {
                let equal = b.compare(CompareOp::Eq, of.own, search.wanted);
                let then = b.block(|b| {
                    let first = self.position_of(b, base, of.place.node, of.field);
                    let position = b.add(first, of.item);
                    self.found(b, search, position);
                });
                let otherwise = b.block(|b| self.go_to(b, goal, base, before));
                b.push(Stmt::If { cond: equal, then, otherwise });
            }
            // The state is that of a visit that has come to the child: behind it, the element is next.
            (Goal::Begin(walk, _), Some(child)) => {
                self.at_place(b, walk, child.place, child.item);
            }
            (Goal::Begin(walk, _), None) => {
                let count = b.sub(of.count, of.item);
                self.hand_out(b, walk, (of.place.node, of.field), (of.item, count), self.visit.behind_block(of.place));
            }
        }
    }

    fn found(&self, b: &mut Builder, search: &Search, position: ExprId) {
        let (one, zero) = (b.int(1), b.int(0));
        b.assign(search.found.0, position);
        let behind = b.add(position, one);
        b.assign(search.found.1, behind);
        b.assign(search.node, zero);
    }

    /// Compares with the elements from a step on, all before which are less. `before` is the child between those and these.
    fn descend(&self, b: &mut Builder, goal: Goal<'_>, base: ExprId, place: Place, before: Option<Before>) {
        let node = place.node;
        let Some(step) = self.visit.steps(node).get(place.step) else { return self.go_to(b, goal, base, before) };
        let is_child = |field: &usize| matches!(self.visit.field(node, *field).kind, FieldKind::Child { .. });
        match (step, fields(step)) {
            (Step::One(_), &[field]) if is_child(&field) => {
                self.descend(b, goal, base, place.next_step(), Some(Before { place, field, item: None }));
            }
            (Step::One(_), &[field]) => {
                let word = self.word(b, base, node, field);
                let own = b.load_index("own", self.node, word);
                let reached = b.compare(CompareOp::Ge, own, goal.wanted());
                let (zero, one) = (b.int(0), b.int(1));
                let of = Reached { place, field, item: zero, count: one, own };
                let then = b.block(|b| self.reached(b, goal, base, of, before));
                let otherwise = b.block(|b| self.descend(b, goal, base, place.next_step(), None));
                b.push(Stmt::If { cond: reached, then, otherwise });
            }
            (_, all) => self.descend_array(b, goal, base, place, (all, before)),
        }
    }

    /// Compares with the elements of an array, which have a child each or none.
    fn descend_array(
        &self,
        b: &mut Builder,
        goal: Goal<'_>,
        base: ExprId,
        place: Place,
        (all, before): (&[usize], Option<Before>),
    ) {
        let node = place.node;
        let is_child = |k: &usize| matches!(self.visit.field(node, all[*k]).kind, FieldKind::Child { .. });
        let (Some(elem), child) = ((0..all.len()).find(|k| !is_child(k)), (0..all.len()).find(is_child)) else {
            return;
        };
        let field = all[elem];
        let (zero, one) = (b.int(0), b.int(1));
        let first = self.word(b, base, node, field);
        let count = self.count(b, base, node, &self.visit.steps(node)[place.step]);
        let end = b.add(first, count);
        let (first, end) = (b.define("first", first), b.define("end", end));
        let word = b.lower_bound(self.node, first, end, goal.wanted());
        let inside = b.compare(CompareOp::Lt, word, end);
        let beside =
            |item| child.map(|k| Before { place: Place { item: k, ..place }, field: all[k], item: Some(item) });
        let then = b.block(|b| {
            let item = b.sub(word, first);
            let item = b.define("item", item);
            let own = b.load_index("own", self.node, word);
            let of = Reached { place: Place { item: elem, ..place }, field, item, count, own };
            if child.is_some_and(|child| child < elem) {
                return self.reached(b, goal, base, of, beside(item));
            }
            // The child behind the element before, if there is one; before the first, the one before the array.
            if before.is_none() && child.is_none() {
                return self.reached(b, goal, base, of, None);
            }
            let is_first = b.compare(CompareOp::Eq, item, zero);
            let then = b.block(|b| self.reached(b, goal, base, of, before));
            let otherwise = b.block(|b| {
                let earlier = b.sub(item, one);
                self.reached(b, goal, base, of, beside(earlier));
            });
            b.push(Stmt::If { cond: is_first, then, otherwise });
        });
        let otherwise = b.block(|b| {
            let last = b.sub(count, one);
            let behind = child.filter(|child| *child > elem).and_then(|_| beside(last));
            self.descend(b, goal, base, place.next_step(), behind);
        });
        b.push(Stmt::If { cond: inside, then, otherwise });
    }

    /// Compares with every element of a node, and goes on with its child.
    fn scan(&self, b: &mut Builder, search: &Search, (base, node): (ExprId, usize)) {
        let goal = Goal::Position(search);
        let places = self
            .visit
            .steps(node)
            .iter()
            .enumerate()
            .flat_map(|(step, own)| fields(own).iter().map(move |&field| (Place { node, step, item: 0 }, field)));
        let (children, elems): (Vec<_>, Vec<_>) =
            places.partition(|(_, field)| matches!(self.visit.field(node, *field).kind, FieldKind::Child { .. }));
        let child = children.first().map(|&(place, field)| Before { place, field, item: None });
        self.go_to(b, goal, base, child);
        let zero = b.int(0);
        for (place, field) in elems {
            let first = self.word(b, base, node, field);
            let count = self.count(b, base, node, &self.visit.steps(node)[place.step]);
            let position = self.position_of(b, base, node, field);
            b.for_loop("item", zero, count, |b, item| {
                let word = b.add(first, item);
                let own = b.load_index("own", self.node, word);
                let equal = b.compare(CompareOp::Eq, own, search.wanted);
                b.if_then(equal, |b| {
                    let here = b.add(position, item);
                    self.found(b, search, here);
                    b.push(Stmt::Break);
                });
            });
        }
    }
}

//! The code of an iterator that goes from node to node: its variables, and the steps of a [`Visit`] as statements.
//!
//! ```text
//! bst                                          btree
//! node = root[p]; depth = 0                    node = root[p]; depth = 0
//! settle: while true {                         settle: while true {
//!   if node == 0 {                               if node == 0 {
//!     if depth == 0 { break }                      if depth == 0 { break }
//!     depth -= 1; node = nodes[depth]              depth -= 1; node = nodes[depth]; k = items[depth]
//!     block: the element; break                    block: element k; break
//!   } else {                                     } else if its tag is an internal node's {
//!     l = left child                               nodes[depth] = node; items[depth] = 0; depth += 1
//!     if l != 0 {                                  node = child 0
//!       nodes[depth] = node; depth += 1          } else {
//!       node = l                                   block: all elements; break
//!     } else { block: the element; break }       }
//! } }                                          }
//! next block: node = right child; settle       next block, of a leaf: node = 0; settle
//! ```
//!
//! The stack has the nodes that wait for the rest of their visit; the visit goes into a last child without one. Tensors are checked to
//! need no more than [`Schema::DEPTH`] frames, so that its arrays have a constant size, and no code asks. Two more serve nodes that wait
//! for their own items.
//!
//! Paper: Chou and Amarasinghe 2022, §4.3, without its resume codes where a node's type tells the place.

use lacunar_formats::DType;
use lacunar_formats::schema::{FieldKind, Schema, Step, Target};
use lacunar_imp::{ArrayId, Block, Builder, CompareOp, ExprId, Stmt, VarId};

use super::Nodes;
use super::visit::{Place, Told, fields};

/// The frames of a stack.
const FRAMES: i64 = Schema::DEPTH as i64 + 2;

/// The stack of an iterator: the nodes that wait, and the places where their visits go on.
#[derive(Clone, Copy, Debug)]
pub struct Stack {
    nodes: ArrayId,
    places: Option<ArrayId>,
    items: Option<ArrayId>,
}

impl Stack {
    /// The arrays.
    pub fn arrays(&self) -> impl Iterator<Item = ArrayId> {
        [Some(self.nodes), self.places, self.items].into_iter().flatten()
    }

    /// The number of elements of each array.
    pub fn frames(b: &mut Builder) -> ExprId {
        b.int(FRAMES)
    }
}

/// The variables of an iterator that goes from node to node.
#[derive(Clone, Copy, Debug)]
pub struct Walk {
    /// The handle of the node that it stands at; 0 at the end.
    pub(super) node: VarId,
    /// The word of the coordinate.
    word: VarId,
    /// The position of the element.
    pub(in crate::levels) position: VarId,
    /// The end of the block, of schemas with blocks of several elements: a position, or the word of iterators over blocks.
    end: Option<VarId>,
    /// The word behind those that the block has for coordinates, if their number is not the same for all blocks.
    room_end: Option<VarId>,
    /// The coordinate; of iterators that go from element to element.
    pub(in crate::levels) at: Option<VarId>,
    /// The number of the place behind the block, where that has to be told.
    behind: Option<VarId>,
    /// The number of the type of children that the node is one of, where that has to be told.
    pub(super) target: Option<VarId>,
    /// The stack and the number of its frames.
    stack: Option<(Stack, VarId)>,
}

/// The block that an iterator stands at.
#[derive(Clone, Copy, Debug)]
pub struct Elements {
    /// The word of the first coordinate.
    pub begin: ExprId,
    /// The word behind the last.
    pub end: ExprId,
    /// The word behind those that the node has for coordinates, if blocks tell that. Words without an element are
    /// coordinates as well, or 0.
    pub room_end: Option<ExprId>,
    /// True if the position of that may be behind the last position of the level.
    pub is_padded: bool,
    /// From words to positions.
    pub shift: ExprId,
}

/// The ways in which statements end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flow {
    /// True if some end at a block or at the end of the visit, by a `break`.
    stops: bool,
    /// True if some end before a node that is to be visited, or that waits.
    goes_on: bool,
}

impl Flow {
    const STOPS: Flow = Flow { stops: true, goes_on: false };
    const GOES_ON: Flow = Flow { stops: false, goes_on: true };

    fn or(self, other: Flow) -> Flow {
        Flow { stops: self.stops || other.stops, goes_on: self.goes_on || other.goes_on }
    }
}

impl Nodes {
    /// Declares a stack for an iterator, if it needs one.
    pub fn stack(&self, b: &mut Builder, name: &str) -> Option<Stack> {
        if self.visit.resumed.is_empty() {
            return None;
        }
        let mut array = |of: &str| b.local_array(&format!("{name}_{of}"), DType::U32);
        let has_numbers = self.visit.told(&self.visit.resumed) == Told::ByNumber;
        Some(Stack {
            nodes: array("nodes"),
            places: has_numbers.then(|| array("places")),
            items: self.visit.has_items.then(|| array("items")),
        })
    }

    /// Declares the variables of an iterator, before it stands anywhere.
    fn declare(&self, b: &mut Builder, name: &str, root: ExprId, stack: Option<Stack>, by_elements: bool) -> Walk {
        let zero = b.int(0);
        let has_numbers = self.visit.told(&self.visit.blocks) == Told::ByNumber;
        let mut keep = |what: &str| b.declare(&format!("{name}_{what}"), zero);
        let entry = if self.visit.schema.is_transparent() { root } else { zero };
        Walk {
            word: keep("word"),
            end: self.visit.has_arrays.then(|| keep("stop")),
            room_end: (!by_elements && self.tells_room() && self.bound().is_none()).then(|| keep("room_end")),
            at: by_elements.then(|| keep("at")),
            behind: has_numbers.then(|| keep("behind")),
            target: (self.visit.targets.len() > 1).then(|| keep("target")),
            stack: stack.map(|stack| (stack, keep("depth"))),
            position: b.declare(name, zero),
            node: b.declare(&format!("{name}_node"), entry),
        }
    }

    /// Opens an iterator on the first block of the subtensor whose root node has a handle.
    pub fn open_blocks(&self, b: &mut Builder, name: &str, root: ExprId, stack: Option<Stack>) -> Walk {
        let walk = self.declare(b, name, root, stack, false);
        self.begin(b, &walk, root);
        walk
    }

    /// Opens an iterator on the first element of the subtensor whose root node has a handle; on the first that is `low` or more, if that
    /// is given.
    pub fn open(&self, b: &mut Builder, name: &str, root: ExprId, stack: Option<Stack>, low: Option<ExprId>) -> Walk {
        let walk = self.declare(b, name, root, stack, true);
        match low.filter(|low| b.as_const(*low).is_none_or(|low| low.bits != 0)) {
            Some(low) if self.visit.can_begin_anywhere() => self.begin_at(b, &walk, root, low),
            Some(low) => {
                self.begin(b, &walk, root);
                self.pass_unused(b, &walk);
                self.pass_until(b, &walk, low);
            }
            None => {
                self.begin(b, &walk, root);
                self.pass_unused(b, &walk);
            }
        }
        walk
    }

    /// Moves an iterator to the first block under a root.
    fn begin(&self, b: &mut Builder, walk: &Walk, root: ExprId) {
        if self.visit.schema.is_transparent() {
            return self.settle(b, walk);
        }
        let zero = b.int(0);
        let mut flow = Flow::GOES_ON;
        let first = b.block(|b| {
            let some = b.compare(CompareOp::Ne, root, zero);
            b.if_then(some, |b| {
                b.assign(walk.node, root);
                flow = flow.or(self.at_place(b, walk, Place::first(self.visit.schema.root()), None));
            });
        });
        self.then_settle(b, walk, first, flow);
    }

    /// Moves an iterator to the first element that is `low` or more, one by one.
    fn pass_until(&self, b: &mut Builder, walk: &Walk, low: ExprId) {
        let Some(at) = walk.at.map(|at| b.var(at)) else { return };
        let (valid, less) = (self.is_valid(b, walk), b.compare(CompareOp::Lt, at, low));
        let passed = b.and(valid, less);
        b.while_loop(passed, |b| self.next(b, walk));
    }

    /// The condition that an iterator stands at an element.
    pub fn is_valid(&self, b: &mut Builder, walk: &Walk) -> ExprId {
        let (node, zero) = (b.var(walk.node), b.int(0));
        b.compare(CompareOp::Ne, node, zero)
    }

    /// Moves an iterator to the next element.
    pub fn next(&self, b: &mut Builder, walk: &Walk) {
        self.step(b, walk);
        self.pass_unused(b, walk);
    }

    /// Moves an iterator to the next element, which may be one that is not used.
    fn step(&self, b: &mut Builder, walk: &Walk) {
        let Some(end) = walk.end else { return self.next_block(b, walk) };
        let (one, position, word, end) = (b.int(1), b.var(walk.position), b.var(walk.word), b.var(end));
        let (next, next_word) = (b.add(position, one), b.add(word, one));
        let inside = b.compare(CompareOp::Lt, next, end);
        let then = b.block(|b| {
            b.assign(walk.position, next);
            b.assign(walk.word, next_word);
            self.look(b, walk);
        });
        let otherwise = b.block(|b| self.next_block(b, walk));
        b.push(Stmt::If { cond: inside, then, otherwise });
    }

    /// Moves an iterator to the first element from here on that is used.
    fn pass_unused(&self, b: &mut Builder, walk: &Walk) {
        let Some(at) = walk.at.filter(|_| self.visit.has_unused) else { return };
        let (at, none) = (b.var(at), b.int(i64::from(Schema::UNUSED)));
        let unused = b.compare(CompareOp::Eq, at, none);
        let valid = self.is_valid(b, walk);
        let passed = b.and(valid, unused);
        b.while_loop(passed, |b| self.step(b, walk));
    }

    /// Loads the coordinate of the element that an iterator stands at.
    fn look(&self, b: &mut Builder, walk: &Walk) {
        let Some(at) = walk.at else { return };
        let word = b.var(walk.word);
        let own = b.load_index("own", self.node, word);
        b.assign(at, own);
    }

    /// The block that an iterator over blocks stands at.
    pub fn elements(&self, b: &mut Builder, walk: &Walk) -> Elements {
        let (word, position) = (b.var(walk.word), b.var(walk.position));
        let begin = b.define("begin", word);
        let shift = b.sub(position, begin);
        let shift = b.define("shift", shift);
        let end = match walk.end {
            Some(end) => b.var(end),
            None => {
                let one = b.int(1);
                b.add(begin, one)
            }
        };
        let room_end = match (walk.room_end, self.bound()) {
            (Some(room_end), _) => Some(b.var(room_end)),
            (None, bound) => bound.filter(|_| self.tells_room()).map(|bound| {
                let bound = b.int(bound.into());
                b.add(begin, bound)
            }),
        };
        Elements { begin, end: b.define("end", end), room_end, is_padded: self.visit.has_padding, shift }
    }

    /// True if blocks tell how many elements they have words for. If single elements come between blocks (inner nodes of B-trees), loading
    /// only some vectors whole costs more than it saves: no processor predicts which ones.
    fn tells_room(&self) -> bool {
        self.visit.has_arrays && !self.visit.alternates
    }

    /// The number of elements that a block has room for, if it is the same for all blocks.
    fn bound(&self) -> Option<u32> {
        match self.visit.bounds.as_slice() {
            [bound] => *bound,
            _ => None,
        }
    }

    /// The position of a word of a block, its coordinate, and the condition that it is one, if there are unused elements.
    pub fn element(&self, b: &mut Builder, name: &str, of: Elements, word: ExprId) -> (ExprId, ExprId, Option<ExprId>) {
        let own = b.load_index(name, self.node, word);
        let none = b.int(i64::from(Schema::UNUSED));
        let position = b.add(word, of.shift);
        (position, own, self.visit.has_unused.then(|| b.compare(CompareOp::Ne, own, none)))
    }

    /// Moves an iterator to the next block, or to the end.
    pub fn next_block(&self, b: &mut Builder, walk: &Walk) {
        let mut flow = Flow::default();
        let first = b.block(|b| {
            let number = walk.behind.map(|behind| b.var(behind));
            self.choose_place(b, walk, &self.visit.blocks, number, &mut |b, place| {
                let item = (place.item > 0).then(|| self.item_here(b, walk, place));
                flow = flow.or(self.at_place(b, walk, place, item));
            });
        });
        self.then_settle(b, walk, first, flow);
    }

    /// The number of the item of its arrays that an iterator stands at.
    fn item_here(&self, b: &mut Builder, walk: &Walk, place: Place) -> ExprId {
        let step = &self.visit.steps(place.node)[place.step];
        let field = fields(step)[place.item - 1];
        let base = self.base(b, walk, place.node);
        let (first, word) = (self.word(b, base, place.node, field), b.var(walk.word));
        let item = b.sub(word, first);
        b.define("item", item)
    }

    /// Statements that may leave a node to be visited, and the visit up to the next block.
    fn then_settle(&self, b: &mut Builder, walk: &Walk, first: Block, flow: Flow) {
        match flow {
            Flow { goes_on: false, .. } => without_breaks(first).into_iter().for_each(|stmt| b.push(stmt)),
            Flow { stops: false, .. } => {
                first.into_iter().for_each(|stmt| b.push(stmt));
                self.settle(b, walk);
            }
            Flow { .. } => {
                let yes = b.bool(true);
                b.while_loop(yes, |b| {
                    first.into_iter().for_each(|stmt| b.push(stmt));
                    self.settle(b, walk);
                    b.push(Stmt::Break);
                });
            }
        }
    }

    /// Visits the node that an iterator has come to, or if there is none, goes on with the one that waits last: up to a block, or
    /// to the end.
    pub(super) fn settle(&self, b: &mut Builder, walk: &Walk) {
        let mut flow = Flow::default();
        let none = b.block(|b| flow = flow.or(self.resume(b, walk)));
        let some = b.block(|b| {
            let targets = &self.visit.targets;
            let number = walk.target.map(|target| b.var(target));
            self.choose_by_number(b, targets.len(), number, &mut |b, k| {
                self.choose_by_tag(b, walk.node, self.visit.schema.types(targets[k]), &mut |b, node| {
                    flow = flow.or(self.at_place(b, walk, Place::first(node), None));
                });
            });
        });
        let valid = self.is_valid(b, walk);
        let body = vec![Stmt::If { cond: valid, then: some, otherwise: none }];
        if flow.goes_on || walk.stack.is_some() {
            let yes = b.bool(true);
            b.while_loop(yes, |b| body.into_iter().for_each(|stmt| b.push(stmt)));
        } else {
            without_breaks(body).into_iter().for_each(|stmt| b.push(stmt));
        }
    }

    /// Goes on with the node that waits last; ends the visit if none does.
    fn resume(&self, b: &mut Builder, walk: &Walk) -> Flow {
        let Some((stack, depth)) = walk.stack else {
            b.push(Stmt::Break);
            return Flow::STOPS;
        };
        let (frames, zero, one) = (b.var(depth), b.int(0), b.int(1));
        let is_last = b.compare(CompareOp::Eq, frames, zero);
        b.if_then(is_last, |b| b.push(Stmt::Break));
        let fewer = b.sub(frames, one);
        b.assign(depth, fewer);
        let node = b.load_index("waiting", stack.nodes, frames);
        b.assign(walk.node, node);
        let number = stack.places.map(|places| b.load_index("place", places, frames));
        let mut flow = Flow::STOPS;
        self.choose_place(b, walk, &self.visit.resumed, number, &mut |b, place| {
            let items = stack.items.filter(|_| place.item > 0);
            let item = items.map(|items| b.load_index("item", items, frames));
            flow = flow.or(self.at_place(b, walk, place, item));
        });
        flow
    }

    /// One of several places at which the visit of the node goes on: by the type of the node, or by the number that is kept.
    fn choose_place(
        &self,
        b: &mut Builder,
        walk: &Walk,
        places: &[Place],
        number: Option<ExprId>,
        build: &mut dyn FnMut(&mut Builder, Place),
    ) {
        match self.visit.told(places) {
            Told::ByTag => {
                let types: Vec<usize> = places.iter().map(|place| place.node).collect();
                let place = |node: usize| places.iter().find(|place| place.node == node).copied();
                self.choose_by_tag(b, walk.node, &types, &mut |b, node| {
                    place(node).into_iter().for_each(|place| build(b, place));
                });
            }
            Told::Alone | Told::ByNumber => {
                self.choose_by_number(b, places.len(), number, &mut |b, k| build(b, places[k]));
            }
        }
    }

    /// Goes on with a node's visit at a place: up to its next block, to a child, or to its end. Inside of arrays, `item` is the number of
    /// the item; at the beginning of these, the first.
    pub(super) fn at_place(&self, b: &mut Builder, walk: &Walk, place: Place, item: Option<ExprId>) -> Flow {
        let Some(step) = self.visit.steps(place.node).get(place.step) else {
            let zero = b.int(0);
            b.assign(walk.node, zero);
            return Flow::GOES_ON;
        };
        let is_inside = item.is_some();
        if is_inside || self.visit.least(place.node, step) > 0 {
            return self.inside(b, walk, place, item);
        }
        // There may be no items.
        let base = self.base(b, walk, place.node);
        let (count, zero) = (self.count(b, base, place.node, step), b.int(0));
        let some = b.compare(CompareOp::Gt, count, zero);
        let mut flow = Flow::default();
        let then = b.block(|b| flow = flow.or(self.inside(b, walk, place, item)));
        let otherwise = b.block(|b| flow = flow.or(self.at_place(b, walk, place.next_step(), None)));
        b.push(Stmt::If { cond: some, then, otherwise });
        flow
    }

    /// The same where the step has items.
    fn inside(&self, b: &mut Builder, walk: &Walk, place: Place, item: Option<ExprId>) -> Flow {
        let step = &self.visit.steps(place.node)[place.step];
        let base = self.base(b, walk, place.node);
        let Some(&field) = fields(step).get(place.item) else { return self.next_items(b, walk, place, item) };
        match self.visit.field(place.node, field).kind {
            FieldKind::Child { to, nonempty, .. } => self.child(b, walk, (place, field), (to, nonempty), item),
            _ => {
                let zero = b.int(0);
                let count = match self.visit.is_block(place.node, step) {
                    true => self.count(b, base, place.node, step),
                    false => b.int(1),
                };
                let behind = self.visit.behind_block(place);
                self.hand_out(b, walk, (place.node, field), (item.unwrap_or(zero), count), behind)
            }
        }
    }

    /// Behind the last of several arrays: the next items of all, or the next step.
    fn next_items(&self, b: &mut Builder, walk: &Walk, place: Place, item: Option<ExprId>) -> Flow {
        let Some(item) = item else { return self.at_place(b, walk, place.next_step(), None) };
        let step = &self.visit.steps(place.node)[place.step];
        let base = self.base(b, walk, place.node);
        let (count, one) = (self.count(b, base, place.node, step), b.int(1));
        let next = b.add(item, one);
        let next = b.define("next", next);
        let more = b.compare(CompareOp::Lt, next, count);
        let first = Place { item: 0, ..place };
        let mut flow = Flow::default();
        let then = b.block(|b| flow = flow.or(self.inside(b, walk, first, Some(next))));
        let otherwise = b.block(|b| flow = flow.or(self.at_place(b, walk, place.next_step(), None)));
        b.push(Stmt::If { cond: more, then, otherwise });
        flow
    }

    /// Goes into a child, if it is there. The node waits for the rest of its visit, unless the child is the last.
    fn child(
        &self,
        b: &mut Builder,
        walk: &Walk,
        (place, field): (Place, usize),
        (to, nonempty): (Target, bool),
        item: Option<ExprId>,
    ) -> Flow {
        let step = &self.visit.steps(place.node)[place.step];
        let base = self.base(b, walk, place.node);
        let is_array = matches!(step, Step::Together(_));
        let (zero, one) = (b.int(0), b.int(1));
        let item = is_array.then(|| item.unwrap_or(zero));
        let first = self.word(b, base, place.node, field);
        let word = item.map_or(first, |item| b.add(first, item));
        let child = b.load_index("child", self.node, word);
        let is_last_step = self.visit.is_last(place);
        if is_last_step && !is_array {
            self.go(b, walk, child, to);
            return Flow::GOES_ON;
        }
        let behind = if is_array { place.next_item() } else { place.next_step() };
        let into = |b: &mut Builder| {
            match item.filter(|_| is_last_step && place.item + 1 == fields(step).len()) {
                Some(item) => {
                    let (count, next) = (self.count(b, base, place.node, step), b.add(item, one));
                    let waits = b.compare(CompareOp::Lt, next, count);
                    b.if_then(waits, |b| self.push(b, walk, behind, Some(item)));
                }
                None => self.push(b, walk, behind, item),
            }
            self.go(b, walk, child, to);
        };
        if nonempty {
            into(b);
            return Flow::GOES_ON;
        }
        let some = b.compare(CompareOp::Ne, child, zero);
        let then = b.block(into);
        let mut flow = Flow::GOES_ON;
        let otherwise = b.block(|b| {
            flow = flow.or(if !is_array {
                self.at_place(b, walk, behind, None)
            } else if behind.item == fields(step).len() && self.visit.is_of_children(place.node, step) {
                // There may be none of many: the node waits for the rest of its own items.
                self.push(b, walk, behind, item);
                b.assign(walk.node, zero);
                Flow::GOES_ON
            } else {
                self.inside(b, walk, behind, item)
            });
        });
        b.push(Stmt::If { cond: some, then, otherwise });
        flow
    }

    /// Moves to a child.
    fn go(&self, b: &mut Builder, walk: &Walk, child: ExprId, to: Target) {
        if let Some(target) = walk.target {
            let number = b.int(self.visit.number_of_target(to) as i64);
            b.assign(target, number);
        }
        b.assign(walk.node, child);
    }

    /// The node waits for its visit to go on at a place.
    fn push(&self, b: &mut Builder, walk: &Walk, place: Place, item: Option<ExprId>) {
        let Some((stack, depth)) = walk.stack else { return };
        let (frames, node) = (b.var(depth), b.var(walk.node));
        b.store_index(stack.nodes, frames, node);
        if let Some(places) = stack.places {
            let number = b.int(self.visit.number_of_resumed(place) as i64);
            b.store_index(places, frames, number);
        }
        if let (Some(items), Some(item)) = (stack.items, item) {
            b.store_index(items, frames, item);
        }
        let one = b.int(1);
        let more = b.add(frames, one);
        b.assign(depth, more);
    }

    /// Stands at a block: so many elements of a field, from an item on.
    pub(super) fn hand_out(
        &self,
        b: &mut Builder,
        walk: &Walk,
        (node, field): (usize, usize),
        (item, count): (ExprId, ExprId),
        behind: Place,
    ) -> Flow {
        let base = self.base(b, walk, node);
        let word = self.word(b, base, node, field);
        let word = b.add(word, item);
        b.assign(walk.word, word);
        let position = self.position_of(b, base, node, field);
        let position = b.add(position, item);
        b.assign(walk.position, position);
        let here = if walk.at.is_some() { position } else { word };
        if let Some(end) = walk.end {
            let stop = b.add(here, count);
            b.assign(end, stop);
        }
        if let Some(room_end) = walk.room_end {
            // Iterators over blocks come to the first element.
            let room = if self.visit.has_block(node, field) { self.capacity(b, base, node, field) } else { count };
            let stop = b.add(here, room);
            b.assign(room_end, stop);
        }
        if let Some(number) = walk.behind {
            let own = b.int(self.visit.number_of_block(behind) as i64);
            b.assign(number, own);
        }
        self.look(b, walk);
        b.push(Stmt::Break);
        Flow::STOPS
    }
}

/// Statements of which all end by a `break`, without it.
fn without_breaks(mut block: Block) -> Block {
    match block.last_mut() {
        Some(Stmt::Break) => {
            block.pop();
        }
        Some(Stmt::If { then, otherwise, .. }) => {
            *then = without_breaks(std::mem::take(then));
            *otherwise = without_breaks(std::mem::take(otherwise));
        }
        _ => {}
    }
    block
}

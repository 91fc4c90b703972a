//! Walks through the elements of one subtensor, node by node, in the order of the schema.
//!
//! A node whose last item is a child is done before the child is visited, so that a list of any length is walked without a stack. The
//! others wait on one, which is a list: no depth is too great.
//!
//! ```text
//! bst   seq = l, e, r     b          a waits for b's left child; b and c don't wait: r is the last item
//!                        / \
//!                       a   c        visited: a b c
//! ```

use lacunar_formats::Schema;
use lacunar_formats::schema::{Field, FieldKind, Node, Step, Target};

use super::View;
use crate::moved::fetch_to_read;

/// A node whose items are visited, and the next item.
struct Frame {
    node: &'static Node,
    base: usize,
    /// The step, the item of each of its arrays, and the array.
    step: usize,
    item: u32,
    array: usize,
}

impl Frame {
    fn new((node, base): (&'static Node, usize)) -> Frame {
        Frame { node, base, step: 0, item: 0, array: 0 }
    }
}

/// Elements that lie one behind the other, with their positions.
pub(super) struct Run<'a> {
    pub coordinates: &'a [u32],
    pub position: u64,
}

/// Takes the elements and nodes that a walk meets.
pub(super) trait Visitor {
    /// A node, by its type and its first word; false if the walk is to end here.
    fn node(&mut self, _ty: usize, _base: usize) -> bool {
        true
    }

    /// Elements.
    fn run(&mut self, run: Run);
}

impl<F: FnMut(Run)> Visitor for F {
    fn run(&mut self, run: Run) {
        self(run);
    }
}

/// Calls `each` with every coordinate under a parent position and its position, in the order of coordinates.
pub(crate) fn visit(view: View, parent: u64, each: &mut dyn FnMut(u64, u64)) {
    if view.schema.is_ordered() {
        elements(view, parent, each);
        return;
    }
    let mut found = Vec::new();
    elements(view, parent, &mut |coordinate, position| found.push((coordinate, position)));
    found.sort_unstable();
    found.into_iter().for_each(|(coordinate, position)| each(coordinate, position));
}

/// The number of visits between two prefetches for one subtensor: a visit takes at least a quarter of the time that memory takes.
const BETWEEN: usize = 4;

/// Prefetches nodes of the parent positions that a walk visits soon. It fetches the root node of one, the root's children of the next, which
/// comes sooner, and their children of a third. So the walk does not wait for each node, wherever it lies. `behind` gives the parent
/// position that the walk visits after so many others.
pub(crate) fn visits_soon(view: View, behind: &dyn Fn(usize) -> Option<u64>) {
    let fetch = |(_, base): (usize, usize)| fetch_to_read(view.node.as_ptr().wrapping_add(base));
    let root = |others: usize| {
        let root = view.root.get(usize::try_from(behind(others)?).ok()?)?;
        view.open(view.schema.entry(), *root)
    };
    root(3 * BETWEEN).into_iter().for_each(fetch);
    if let Some(root) = root(2 * BETWEEN) {
        children(view, root, &mut { fetch });
    }
    if let Some(root) = root(BETWEEN) {
        children(view, root, &mut |child| children(view, child, &mut { fetch }));
    }
}

/// Calls `each` with the children of a node, the first of each array.
#[inline(always)]
fn children(view: View, (ty, base): (usize, usize), each: &mut impl FnMut((usize, usize))) {
    let node = &view.schema.nodes()[ty];
    for (_, field) in node.children() {
        let FieldKind::Child { to, .. } = field.kind else { continue };
        if view.length(node, base, field) > 0
            && let Some(child) = child(view, node, base, (field, to), 0)
        {
            each(child);
        }
    }
}

/// The same in the order of the schema.
fn elements(view: View, parent: u64, each: &mut dyn FnMut(u64, u64)) {
    runs(view, parent, &mut |run: Run| {
        for (coordinate, position) in run.coordinates.iter().zip(run.position..) {
            if *coordinate != Schema::UNUSED {
                each(u64::from(*coordinate), position);
            }
        }
    });
}

/// The number of coordinates under a parent position.
pub(crate) fn count(view: View, parent: u64) -> u64 {
    let mut count = 0;
    runs(view, parent, &mut |run: Run| {
        count += run.coordinates.iter().filter(|coordinate| **coordinate != Schema::UNUSED).count() as u64;
    });
    count
}

/// The parent position from which the way down to the first node without a child before its elements is the longest, if any has nodes.
/// Balanced trees have the most elements there. The ways of lists end at once: the longest of them is not told.
pub(crate) fn deepest(view: View) -> Option<u64> {
    let depth = |root: u32| {
        let (mut depth, mut node) = (0u32, view.open(view.schema.entry(), root));
        while let Some((ty, base)) = node {
            let mut frame = Frame::new((&view.schema.nodes()[ty], base));
            let first = frame.node.seq.first();
            let begins = |fields: &[usize]| matches!(frame.node.fields[fields[0]].kind, FieldKind::Child { .. });
            let goes_down = match first {
                Some(Step::One(field)) => begins(std::slice::from_ref(field)),
                Some(Step::Together(fields)) => begins(fields),
                None => false,
            };
            depth += 1;
            node = if goes_down { next_child(view, &mut frame, &mut |_: Run| {}) } else { None };
        }
        depth
    };
    let some = view.root.iter().enumerate().filter(|(_, root)| **root != 0);
    some.max_by_key(|(_, root)| depth(**root)).map(|(parent, _)| parent as u64)
}

/// Shows the nodes and the elements under a parent position, in the order of the schema; false if the visitor has ended that.
pub(super) fn runs(view: View, parent: u64, visitor: &mut impl Visitor) -> bool {
    let root = view.root.get(parent as usize).copied().unwrap_or_default();
    let mut waiting: Vec<Frame> = Vec::new();
    let Some(root) = view.open(view.schema.entry(), root) else { return true };
    let Some(mut frame) = enter(view, root, visitor) else { return false };
    loop {
        match next_child(view, &mut frame, visitor) {
            Some(child) => {
                let Some(child) = enter(view, child, visitor) else { return false };
                let before = std::mem::replace(&mut frame, child);
                if before.step < before.node.seq.len() {
                    waiting.push(before);
                }
            }
            None => match waiting.pop() {
                Some(before) => frame = before,
                None => return true,
            },
        }
    }
}

/// Begins with a node, unless the visitor ends the walk there.
#[inline(always)]
fn enter(view: View, (ty, base): (usize, usize), visitor: &mut impl Visitor) -> Option<Frame> {
    visitor.node(ty, base).then(|| Frame::new((&view.schema.nodes()[ty], base)))
}

/// Goes through the items of a node up to the next child that is there: its type and its first word.
#[inline]
fn next_child(view: View, frame: &mut Frame, visitor: &mut impl Visitor) -> Option<(usize, usize)> {
    let (node, base) = (frame.node, frame.base);
    while let Some(step) = node.seq.get(frame.step) {
        let fields = match step {
            Step::One(field) => {
                let field = &node.fields[*field];
                frame.step += 1;
                match field.kind {
                    FieldKind::Child { to, .. } => {
                        if let Some(child) = child(view, node, base, (field, to), 0) {
                            return Some(child);
                        }
                    }
                    _ => visitor.run(run(view, node, base, field, 0..1)),
                }
                continue;
            }
            Step::Together(fields) => fields.as_slice(),
        };
        let length = fields.first().map_or(0, |field| view.length(node, base, &node.fields[*field]));
        if let ([field], FieldKind::Elem { .. }) = (fields, &node.fields[fields[0]].kind) {
            visitor.run(run(view, node, base, &node.fields[*field], 0..length));
            frame.step += 1;
            continue;
        }
        while frame.item < length {
            let field = &node.fields[fields[frame.array]];
            let item = frame.item;
            frame.array += 1;
            if frame.array == fields.len() {
                (frame.array, frame.item) = (0, item + 1);
            }
            if frame.item == length {
                (frame.step, frame.item) = (frame.step + 1, 0);
            }
            let ends = frame.item == 0 && frame.array == 0;
            match field.kind {
                FieldKind::Child { to, .. } => {
                    if let Some(child) = child(view, node, base, (field, to), item) {
                        return Some(child);
                    }
                }
                _ => visitor.run(run(view, node, base, field, item..item + 1)),
            }
            if ends {
                break;
            }
        }
        // An array of no items.
        if length == 0 {
            frame.step += 1;
        }
    }
    None
}

/// The node of an item of a field of children.
#[inline(always)]
fn child(view: View, node: &Node, base: usize, (field, to): (&Field, Target), item: u32) -> Option<(usize, usize)> {
    let word = field.word(view.room(node, base), item);
    view.open(to, view.node[base + word as usize])
}

/// Some elements of a field.
#[inline(always)]
fn run<'a>(view: View<'a>, node: &Node, base: usize, field: &Field, items: std::ops::Range<u32>) -> Run<'a> {
    let room = view.room(node, base);
    let first = base + field.word(room, items.start) as usize;
    let coordinates = &view.node[first..first + items.len()];
    Run { coordinates, position: view.slot(node, base) + field.slot(room, items.start) }
}

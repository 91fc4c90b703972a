//! Prefetches of the root nodes of parent positions that come next.
//!
//! First their first lines are prefetched. Once these are there, a node tells the place of its values, and the number of its elements:
//! only the lines of these are prefetched then, as blocks with room for many are often almost empty. Lines behind the last element stand
//! for its own, so that nothing branches.
//!
//! Small nodes whose first child is visited before their elements lie between others of their row, if they were laid out in the order of
//! elements. So the lines before and behind a root node, and before and behind its values, are prefetched as well. (Rows of 5 and of 10
//! elements in search trees that lie anywhere take 0.3 and 0.6 of the time so, on Zen 5.)
//!
//! ```text
//! d{blist<64>}     root = root[p]     prefetch node[root .. root + 32]
//!                  root = root[q]     count = node[root + 1]     slot = node[root + 2]
//!                  prefetch node[root + min(32, 3 + count)], node[root + min(48, 3 + count)], ..
//!                  prefetch vals[slot + min(0, count)], vals[slot + min(8, count)], ..
//! ```

use lacunar_formats::schema::{Extent, FieldKind, Node};
use lacunar_imp::{ArrayId, BinaryOp, Builder, CompareOp, ExprId, Stmt};

use super::Nodes;
use super::visit::fields;

/// The words of a line.
const LINE: u64 = 16;
/// The lines of a root node that are asked for before anything is known of it.
const FIRST: u64 = 2;
/// The items of an array without a bound for which lines are asked for: two vectors of 8.
const USUAL: u32 = 16;

/// The data of a parent position's root node that tell which memory is worth asking for.
#[derive(Clone, Copy)]
struct Root {
    /// The handle without its tag, or 0.
    base: ExprId,
    /// The position of its first element.
    slot: ExprId,
    /// The number of words besides those of coordinates.
    others: ExprId,
    /// The number of elements of its block, if the node stores it.
    count: Option<ExprId>,
}

impl Nodes {
    /// The words and the positions of a root node that may be worth asking for: those of its type, or of the larger of its types.
    pub fn root_extent(&self) -> (u64, u64) {
        let types = self.types();
        let most = |of: fn(&Node) -> u64| types.iter().map(|node| of(node)).max().unwrap_or(0);
        (most(|node| node.words(USUAL)), most(|node| node.slots(USUAL)))
    }

    /// The lines of a root node, and of the values of its elements, that are asked for in any case and no other row has, for values of so
    /// many bytes.
    pub fn least_lines(&self, size: u64) -> (u64, u64) {
        let (words, slots) = self.root_extent();
        (words.div_ceil(LINE).min(FIRST), (slots * size).div_ceil(LINE * 4).min(FIRST))
    }

    /// The types of root nodes.
    fn types(&self) -> Vec<&'static Node> {
        let schema = self.visit.schema;
        schema.types(schema.entry()).iter().map(|number| &schema.nodes()[*number]).collect()
    }

    /// True if a row has nodes before its root node and behind it, some of them in the same lines.
    fn is_amid(&self) -> bool {
        self.types().iter().all(|node| {
            let first = node.seq.first().and_then(|step| fields(step).first());
            let is_child = first.is_some_and(|first| matches!(node.fields[*first].kind, FieldKind::Child { .. }));
            is_child && node.words(0) <= LINE
        })
    }

    /// Asks for the first lines of the root node of a parent position.
    pub fn prefetch_root(&self, b: &mut Builder, parent: ExprId) {
        let root = b.load_index("ahead", self.root, parent);
        let words = self.root_extent().0.min(FIRST * LINE);
        self.prefetch_around(b, (self.node, root), (words, LINE));
    }

    /// Asks for the lines of some elements of an array from a first one on, of so many a line; and for one before and one behind these, if
    /// the row is on both sides.
    fn prefetch_around(&self, b: &mut Builder, (array, first): (ArrayId, ExprId), (elements, each): (u64, u64)) {
        let beside = if self.is_amid() { each } else { 0 };
        let (before, all) = (b.int(beside as i64), b.int((elements.max(beside) + 2 * beside) as i64));
        let begin = b.sub(first, before);
        let end = b.add(begin, all);
        b.push(Stmt::Prefetch { array, begin, end });
    }

    /// Asks for the other lines of the root node of a parent position, whose first ones are there, and for its values, of so many bytes, if
    /// there are such.
    pub fn prefetch_elements(&self, b: &mut Builder, values: Option<(ArrayId, u64)>, parent: ExprId) {
        let root = self.root(b, parent);
        let (words, slots) = self.root_extent();
        if words > FIRST * LINE {
            // Coordinates lie behind the other words.
            let used = root.count.map(|count| b.add(count, root.others));
            prefetch_lines(b, (self.node, root.base), (FIRST * LINE..words, LINE), used);
        }
        let Some((values, size)) = values else { return };
        let each = (LINE * 4 / size).max(1);
        match root.count {
            Some(_) => prefetch_lines(b, (values, root.slot), (0..slots, each), root.count),
            None => self.prefetch_around(b, (values, root.slot), (slots, each)),
        }
    }

    /// The facts that the root node of a parent position tells. There is no node 0: the first words stand for its own.
    fn root(&self, b: &mut Builder, parent: ExprId) -> Root {
        let root = b.load_index("ahead", self.root, parent);
        let (types, align) = (self.types(), i64::from(self.visit.schema.align()));
        let (mut base, mut tag) = (root, b.int(0));
        if types.iter().any(|node| node.tag != 0) {
            let mask = b.int(align - 1);
            tag = b.binary(BinaryOp::And, root, mask);
            base = b.sub(root, tag);
        }
        // A number that each type has.
        let choose = |b: &mut Builder, own: &dyn Fn(&Node) -> Option<i64>| {
            let numbers: Vec<(u32, i64)> =
                types.iter().map(|node| Some((node.tag, own(node)?))).collect::<Option<_>>()?;
            let (&(_, last), others) = numbers.split_last()?;
            let mut chosen = b.int(last);
            for &(number, own) in others {
                let (own, number) = (b.int(own), b.int(number.into()));
                let is_own = b.compare(CompareOp::Eq, tag, number);
                chosen = b.select(is_own, own, chosen);
            }
            Some((chosen, numbers.iter().map(|(_, own)| *own).max()?))
        };
        let load = |b: &mut Builder, word: &dyn Fn(&Node) -> Option<u32>| {
            let (offset, most) = choose(b, &|node| word(node).map(i64::from))?;
            let mut at = b.add(base, offset);
            if most >= align {
                let zero = b.int(0);
                let is_some = b.compare(CompareOp::Ne, root, zero);
                at = b.select(is_some, at, zero);
            }
            Some(b.load_index("ahead", self.node, at))
        };
        let slot = load(b, &|node| node.layout.slot).unwrap_or(base);
        let besides = |node: &Node| Some(node.words(USUAL).saturating_sub(node.slots(USUAL)) as i64);
        let others = choose(b, &besides).map_or(base, |(others, _)| others);
        Root { base, slot, others, count: load(b, &length_of_block) }
    }
}

/// The word with the number of elements of a type, if these are an array alone.
fn length_of_block(node: &Node) -> Option<u32> {
    let mut elems = node.elems();
    let (Some((_, field)), None) = (elems.next(), elems.next()) else { return None };
    let Some(Extent::Size(size)) = field.array() else { return None };
    let FieldKind::Size { .. } = node.fields[size].kind else { return None };
    Some(node.fields[size].offset)
}

/// Asks for the lines of some elements of an array, behind a first one, each of which has so many; for no element behind the last that is
/// used.
fn prefetch_lines(
    b: &mut Builder,
    (array, first): (ArrayId, ExprId),
    (elements, each): (std::ops::Range<u64>, u64),
    used: Option<ExprId>,
) {
    let one = b.int(1);
    for at in elements.step_by(each as usize) {
        let is_first = at == 0;
        let at = b.int(at as i64);
        let at = used.filter(|_| !is_first).map_or(at, |used| b.binary(BinaryOp::Min, at, used));
        let begin = b.add(first, at);
        let end = b.add(begin, one);
        b.push(Stmt::Prefetch { array, begin, end });
    }
}

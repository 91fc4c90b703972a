//! Levels whose coordinates are kept in nodes that refer to each other, as a schema describes them: lists, trees, lists of blocks.
//!
//! ```text
//! d{bst}: rows {1, 4, 6}, {}, {2}      root 4 0 16      a tree of nodes under each parent position
//! node      4: 4 8 12 0      8: 1 0 0 1      12: 6 0 0 2      16: 2 0 0 3
//!              coordinate 4, left 8, right 12, value at position 0
//! ```
//!
//! All code follows from the schema's layout and the order that it gives to elements and children: `visit.rs` lists the places at which a
//! visit stands, `walk.rs` emits iterators, and `find.rs` searches. A position is that of an element's value; positions under a parent are no
//! interval, and nothing counts them. So loops over such levels go from element to element, or from block to block.
//!
//! ```text
//! y(i) = A(i,j) * x(j)      A: dense, bst       node = the first in order;   while node != 0 { .. A_vals[p] * x[at]; to the next }
//!                           A: dense, btree     while node != 0 { for w in begin .. end { .. A_vals[w + shift] * x[node[w]] }; to the next block }
//! ```
//!
//! Paper: Chou and Amarasinghe, *Compilation of Dynamic Sparse Tensor Algebra* (OOPSLA 2022), §4.

mod ahead;
mod fields;
mod find;
#[cfg(test)]
mod tests;
mod visit;
mod walk;

use lacunar_formats::Schema;
use lacunar_imp::{ArrayId, BinaryOp, Block, Builder, CompareOp, ExprId, Stmt, VarId};

use super::{Arrays, At, Demand, Length, LevelCode, Position};
use visit::Visit;

pub use walk::{Elements, Stack, Walk};

/// The code of a level of a schema.
pub(super) fn make(Arrays { arrays, size, .. }: Arrays<'_>, schema: &'static Schema) -> Box<dyn LevelCode> {
    Box::new(Nodes { root: arrays[0], node: arrays[1], size, visit: Visit::of(schema) })
}

/// True if nodes of a schema have elements whose coordinates and positions are neighbors, in arrays.
pub fn has_blocks(schema: &'static Schema) -> bool {
    Visit::of(schema).has_arrays
}

/// A level of a tensor whose coordinates are in nodes.
#[derive(Debug)]
pub struct Nodes {
    /// The handle of the root node of each parent position; 0 if there is none.
    root: ArrayId,
    /// The words of all nodes.
    node: ArrayId,
    /// The size of the dimension.
    size: ExprId,
    visit: Visit,
}

impl Nodes {
    /// True if some blocks have several elements: loops go from block to block.
    pub fn has_blocks(&self) -> bool {
        self.visit.has_arrays
    }

    /// True if a search leads to a coordinate; otherwise all elements are visited.
    pub fn is_searched(&self) -> bool {
        self.visit.can_be_searched()
    }

    /// One of several alternatives, by a number.
    fn choose_by_number(
        &self,
        b: &mut Builder,
        count: usize,
        number: Option<ExprId>,
        build: &mut dyn FnMut(&mut Builder, usize),
    ) {
        let alternatives: Vec<(i64, usize)> = (0..count).map(|k| (k as i64, k)).collect();
        choose(b, number, &alternatives, build);
    }

    /// One of several types of nodes, by the tag of a handle.
    fn choose_by_tag(
        &self,
        b: &mut Builder,
        handle: VarId,
        types: &[usize],
        build: &mut dyn FnMut(&mut Builder, usize),
    ) {
        let tag = |node: &usize| (i64::from(self.visit.schema.nodes()[*node].tag), *node);
        let alternatives: Vec<(i64, usize)> = types.iter().map(tag).collect();
        let (handle, mask) = (b.var(handle), b.int(i64::from(self.visit.schema.align()) - 1));
        let which = b.binary(lacunar_imp::BinaryOp::And, handle, mask);
        choose(b, Some(which), &alternatives, build);
    }
}

/// The alternative whose number is that of a choice; the last, if it is none of the others'. The choice is made before anything is
/// assigned.
fn choose(
    b: &mut Builder,
    choice: Option<ExprId>,
    alternatives: &[(i64, usize)],
    build: &mut dyn FnMut(&mut Builder, usize),
) {
    let Some(((_, last), others)) = alternatives.split_last() else { return };
    let choice = choice.filter(|_| !others.is_empty()).map(|choice| b.define("which", choice));
    let branches: Vec<(i64, Block)> = others.iter().map(|&(number, of)| (number, b.block(|b| build(b, of)))).collect();
    let last = b.block(|b| build(b, *last));
    let chain = branches.into_iter().rev().fold(last, |otherwise, (number, then)| {
        let number = b.int(number);
        let cond = choice.map(|choice| b.compare(CompareOp::Eq, choice, number));
        cond.map_or_else(Block::new, |cond| vec![Stmt::If { cond, then, otherwise }])
    });
    chain.into_iter().for_each(|stmt| b.push(stmt));
}

impl LevelCode for Nodes {
    /// The handle of the root node takes the place of the first position: it is 0 where there is nothing, or nothing is to be read.
    fn bounds(&self, b: &mut Builder, parent: Position) -> (ExprId, ExprId) {
        let root = b.load_index("root", self.root, parent.first());
        (root, b.int(0))
    }

    /// Positions do not tell their parents. Nothing asks: schedules do not enumerate them, and shares are cut by coordinates.
    fn parent(&self, _b: &mut Builder, _position: ExprId, parents: ExprId) -> ExprId {
        parents
    }

    /// The coordinate that an iterator keeps. Positions do not tell coordinates, and nothing asks them.
    fn coordinate(&self, b: &mut Builder, name: &str, at: At) -> ExprId {
        let own = match at.state {
            Some(state) => b.var(state.at),
            None => self.size,
        };
        b.define(name, own)
    }

    fn is_contiguous(&self) -> bool {
        false
    }

    fn stops_at_coordinates(&self) -> bool {
        true
    }

    fn most_between(&self, b: &mut Builder, begin: ExprId, _end: ExprId) -> ExprId {
        let all = self.count_positions(b, begin, self.size);
        b.binary(BinaryOp::Min, self.size, all)
    }

    fn nodes(&self) -> Option<&Nodes> {
        Some(self)
    }

    fn find(&self, b: &mut Builder, _parent: ExprId, (root, _): (ExprId, ExprId), wanted: ExprId) -> (ExprId, ExprId) {
        self.search(b, root, wanted)
    }

    fn lengths(&self, b: &mut Builder, parents: ExprId, demand: &mut Demand<'_>) {
        demand(b, self.root, Length::of(parents));
        let first = b.int(i64::from(self.visit.schema.align()));
        demand(b, self.node, Length::of(first));
    }

    fn count_positions(&self, b: &mut Builder, _parents: ExprId, _size: ExprId) -> ExprId {
        let word = b.int(Schema::POSITIONS as i64);
        b.load_index("positions", self.node, word)
    }
}

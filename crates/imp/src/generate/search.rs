//! Random searches: reductions that may come to a value that nothing changes any more before their loops end.
//!
//! ```text
//! var found: bool = false;
//! var k: i64 = 0;
//! while k < m { let x: f64 = a0[k]; found = found | bool(x); k = k + 1; }
//! for i in k .. n { found = found | true; }
//! ```

use lacunar_base::random::Draw;
use lacunar_formats::DType;

use super::{Generator, Known, Worth};
use crate::ir::{BinaryOp, CompareOp, Const, Expr, ExprId, LoopKind, Turns, VarId};

/// The variable of a search, and the operation that combines values with it.
#[derive(Clone, Copy)]
struct Search {
    found: VarId,
    held: ExprId,
    ty: DType,
    how: How,
}

#[derive(Clone, Copy)]
enum How {
    /// By an operation.
    Operation(BinaryOp),
    /// The first value other than a constant is kept.
    First(Const),
    /// It becomes a constant under a condition.
    Flag(Const),
}

impl Generator {
    /// A search: some loops, one after the other, which do nothing else.
    pub(super) fn search(&mut self, depth: u32) {
        let types = [DType::Bool, DType::Bool, DType::U8, DType::I16, DType::U64];
        let ty = self.rng.pick(&types).unwrap_or(DType::Bool);
        let ops: Vec<BinaryOp> =
            BinaryOp::ALL.into_iter().filter(|op| op.is_associative() && op.terminal(ty).is_some()).collect();
        let how = match (self.rng.below(4), self.rng.pick(&ops)) {
            (0, _) | (_, None) => How::First(Const::zero(ty)),
            (1, _) => How::Flag(self.constant(ty)),
            (_, Some(op)) => How::Operation(op),
        };
        let first = self.constant(ty);
        let first = self.b.constant(first);
        let found = self.b.declare("found", first);
        let held = self.b.var(found);
        let search = Search { found, held, ty, how };
        if self.rng.one_in(2) {
            self.search_by_cursor(search)
        } else {
            self.search_loop(search, depth)
        }
        self.known.push(Known { expr: held, ty, mutable: Some(found), worth: Worth::Sum });
    }

    /// A loop that moves a variable on, and one over the values that it leaves.
    fn search_by_cursor(&mut self, search: Search) {
        let (zero, one, bound, last) = (self.b.int(0), self.b.int(1), self.bound(), self.bound());
        let cursor = self.b.declare("cursor", zero);
        let at = self.b.var(cursor);
        let is_left = self.b.compare(CompareOp::Lt, at, bound);
        let mut b = std::mem::take(&mut self.b);
        b.while_loop(is_left, |b| {
            self.lent(b, |generator| {
                generator.inside(|generator| {
                    generator.learn(at, Worth::Exact);
                    generator.meet(search);
                });
                let next = generator.b.add(at, one);
                generator.b.assign(cursor, next);
            });
        });
        self.b = b;
        self.search_over(search, LoopKind::Serial, (at, last), 0);
    }

    /// A loop over a range, perhaps with others in it.
    fn search_loop(&mut self, search: Search, depth: u32) {
        let range = (self.b.int(0), self.bound());
        let kind = match (search.how, self.rng.below(4)) {
            (How::Operation(_), 0) => LoopKind::VECTOR,
            (_, 1) => LoopKind::Unrolled(Turns { times: 2, near: false }),
            _ => LoopKind::Serial,
        };
        self.search_over(search, kind, range, depth);
    }

    fn search_over(&mut self, search: Search, kind: LoopKind, (begin, end): (ExprId, ExprId), depth: u32) {
        self.loop_of(kind, begin, end, |generator, i| {
            generator.inside(|generator| {
                generator.learn(i, Worth::Exact);
                generator.meet(search);
                if depth > 0 && !matches!(kind, LoopKind::Vector(_)) && generator.rng.one_in(2) {
                    generator.search_loop(search, depth - 1);
                }
            });
        });
    }

    /// One value is met.
    fn meet(&mut self, search: Search) {
        if let Some((array, _, index)) = self.place(&self.inputs.clone()) {
            let loaded = self.b.load("x", array, index);
            self.learn(loaded, Worth::Exact);
        }
        let Search { found, held, ty, how } = search;
        match how {
            How::Operation(op) => {
                let term = self.exact(ty, 2);
                let value = self.b.expr(Expr::Binary(op, held, term));
                self.b.assign(found, value);
            }
            How::First(none) => {
                let (none, term) = (self.b.constant(none), self.exact(ty, 2));
                let is_some = self.b.expr(Expr::Compare(CompareOp::Ne, held, none));
                let value = self.b.expr(Expr::Select(is_some, held, term));
                self.b.assign(found, value);
            }
            How::Flag(value) => {
                let (cond, value) = (self.exact(DType::Bool, 2), self.b.constant(value));
                self.b.if_then(cond, |b| b.assign(found, value));
            }
        }
    }
}

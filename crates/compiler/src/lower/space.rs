//! Loops over derived variables: which values they take, and when an original coordinate is recovered.
//!
//! A loop over a leaf of the provenance graph is one of two things. Where other leaves of the same original variable are
//! still to come, it is a plain *counter*. The last of them *finishes*: what is left is an interval of an original variable,
//! or of positions, and the loop becomes the ordinary one over that variable, confined to the interval:
//!
//! ```text
//! split(i, i0, i1, 32)      for i0 in 0 .. ceil(n / 32)                          a counter
//!                             for i in 32 i0 .. min(32 i0 + 32, n)               i1 finishes i
//! ```
//!
//! A dense loop takes the interval as its bounds. Iterators are confined by a search for its ends among their coordinates,
//! so that merges of any kind work inside a strip as they do without one. An interval of a fused variable is a nest of two
//! loops, whose inner one is confined by the outer one's value; an interval of positions is a nest over the levels above,
//! from the ancestor of its first position to that of its last:
//!
//! ```text
//! fuse(i, j, f), pos(f, fp, A(i,j)), split(fp, c, p, 1000)         A: csr
//!   for c in 0 .. ceil(nnz / 1000)
//!     lo, hi = 1000 c, min(1000 c + 1000, nnz)
//!     for i in row of lo ..= row of hi - 1
//!       for p in max(lo, pos[i]) .. min(hi, pos[i + 1])
//! ```
//!
//! Where strips are fused (`fuse(i0, j0, f)`), pairs of them are counted, and each is a strip of one value.
//!
//! Where the strip's number comes last (`reorder(i1, i0)`), every value is an interval of length one.
//!
//! On entry: a kernel whose provenance passed the checks of `schedule/`. On exit: the coordinates of all original
//! variables are bound where the assignment is reached.
//!
//! Paper: Senanayake et al. 2020, §6.1-6.2 (coordinate recovery and bounds); the confined loops take the place of its
//! guards and while loops with tracked variables.

use lacunar_base::Diagnostic;
use lacunar_imp::{BinaryOp, Builder, CompareOp, ExprId};
use lacunar_notation::concrete::Stmt;
use lacunar_notation::provenance::Relation;
use lacunar_notation::{Access, VarId};

use super::{Lowerer, Scope};
use crate::iterate::iterators::AccessKey;
use crate::iterate::space::pos_levels;
use crate::levels::LevelCode;

/// First value, and one past the last.
pub(super) type Interval = (ExprId, ExprId);

/// What the loop over a leaf amounts to.
enum Leaf {
    /// Other leaves are to come.
    Counter,
    /// The rest of what it derives from is an interval.
    Finishes,
    /// It counts the strips of a variable whose place inside the strip is known.
    Strides(Relation),
    /// It counts pairs of two variables, not both of which are intervals when their turn comes.
    Pairs { fused: VarId, outer: VarId, inner: VarId },
}

/// What remains to be looped over, inside a loop that has taken its place.
#[derive(Clone, Debug)]
pub(super) enum Pending {
    /// The variable itself, within the windows of the scope.
    Direct,
    /// The inner variable of a fused pair: its values for which `outer * size + inner` is in an interval.
    Fused { outer: VarId, size: ExprId, interval: Interval },
    /// One value of a variable that is half of a pair.
    Half(ExprId),
}

impl Lowerer<'_> {
    /// The loop over a leaf that derives from other variables.
    pub(super) fn derived_loop(&mut self, var: VarId, body: &Stmt, scope: &Scope) -> Result<(), Diagnostic> {
        let mut scope = scope.clone();
        // Edges of the variables behind the first are those of loops inside.
        let first = self.kernel.provenance.originals(var).first().copied().filter(|var| !scope.started.contains(var));
        scope.started.extend(self.kernel.provenance.originals(var));
        let interval = self.range(var, &mut scope)?;
        self.leaf_loop(var, interval, body, &scope)?;
        match first {
            Some(first) => self.append_edges(first, body, &scope),
            None => Ok(()),
        }
    }

    /// The loop over a leaf, within an interval of its values.
    pub(super) fn leaf_loop(
        &mut self,
        var: VarId,
        interval: Interval,
        body: &Stmt,
        scope: &Scope,
    ) -> Result<(), Diagnostic> {
        match self.leaf(var, scope) {
            Leaf::Finishes => {
                let mut inner = scope.clone();
                if let Some(&last) = self.kernel.provenance.originals(var).last() {
                    inner.leaves.insert(last, var);
                }
                self.finish(var, interval, body, &inner)
            }
            Leaf::Counter => {
                let mut outcome = Ok(());
                self.in_for_over(var, interval, scope, |this, value| {
                    let mut inner = scope.clone();
                    inner.coordinates.insert(var, value);
                    outcome = this.clear_strip(var, value, &inner).and_then(|()| this.stmt(body, &inner)).map(|_| ());
                });
                outcome
            }
            Leaf::Strides(relation) => {
                let mut outcome = Ok(());
                self.in_for_over(var, interval, scope, |this, value| {
                    let mut inner = scope.clone();
                    inner.coordinates.insert(var, value);
                    outcome = this.stride(&relation, body, &mut inner);
                });
                outcome
            }
            Leaf::Pairs { fused, outer, inner: second } => {
                let mut sized = scope.clone();
                let size = self.width(second, &mut sized)?;
                let mut outcome = Ok(());
                self.in_for_over(var, interval, scope, |this, value| {
                    let mut inner = scope.clone();
                    inner.coordinates.insert(var, value);
                    let pair = match this.coordinate(fused, &inner) {
                        Ok(pair) => pair,
                        Err(fault) => {
                            outcome = Err(fault);
                            return;
                        }
                    };
                    let rest = this.b.binary(BinaryOp::Rem, pair, size);
                    let rest = this.b.define(&this.var_name(second), rest);
                    inner.widths.insert(second, size);
                    inner.pending.insert(second, Pending::Half(rest));
                    let half = this.b.binary(BinaryOp::Div, pair, size);
                    let nest = Stmt::Forall(second, Box::new(body.clone()));
                    outcome = this.half(outer, half, &nest, &inner);
                });
                outcome
            }
        }
    }

    /// What the loop over a leaf amounts to, where the other variables of the scope have values.
    fn leaf(&self, var: VarId, scope: &Scope) -> Leaf {
        self.leaf_among(var, &scope.bound())
    }

    fn leaf_among(&self, var: VarId, bound: &[VarId]) -> Leaf {
        let known = |var: VarId| self.is_bound(var, bound);
        match self.kernel.provenance.origin(var) {
            Some(
                relation @ (Relation::Split { parent, outer, inner, .. }
                | Relation::Divide { parent, outer, inner, .. }),
            ) => {
                if var == *inner && known(*outer) {
                    match self.leaf_among(*parent, bound) {
                        Leaf::Strides(_) => Leaf::Strides(relation.clone()),
                        other => other,
                    }
                } else if var == *outer && known(*inner) {
                    Leaf::Strides(relation.clone())
                } else {
                    Leaf::Counter
                }
            }
            Some(Relation::Bound { parent, .. }) => self.leaf_among(*parent, bound),
            Some(Relation::Fuse { outer, inner, fused }) => {
                let later = [bound, &[*outer]].concat();
                match (self.leaf_among(*outer, bound), self.leaf_among(*inner, &later)) {
                    (Leaf::Finishes, Leaf::Finishes) => Leaf::Finishes,
                    _ => Leaf::Pairs { fused: *fused, outer: *outer, inner: *inner },
                }
            }
            _ => Leaf::Finishes,
        }
    }

    /// Whether a variable, or all that it was cut into, has a loop of its own around. What is fused has one when its pairs are
    /// taken apart.
    pub(super) fn is_bound(&self, var: VarId, bound: &[VarId]) -> bool {
        bound.contains(&var)
            || self.kernel.provenance.uses(var).any(|relation| {
                !matches!(relation, Relation::Fuse { .. } | Relation::Rename { .. })
                    && relation.children().into_iter().all(|child| self.is_bound(child, bound))
            })
    }

    /// Whether the values of a variable will not be narrowed down further by loops to come.
    pub(super) fn is_settled(&self, var: VarId, bound: &[VarId]) -> bool {
        match self.kernel.provenance.origin(var) {
            None | Some(Relation::Rename { .. }) => true,
            Some(Relation::Split { parent, outer, .. } | Relation::Divide { parent, outer, .. }) => {
                self.is_settled(*parent, bound) && (var == *outer || self.is_bound(*outer, bound))
            }
            Some(relation) => relation.parents().into_iter().all(|parent| self.is_settled(parent, bound)),
        }
    }

    /// The loop over a variable that is half of a pair, and takes one value.
    fn half(&mut self, var: VarId, value: ExprId, body: &Stmt, scope: &Scope) -> Result<(), Diagnostic> {
        let mut scope = scope.clone();
        let (_, end) = self.range(var, &mut scope)?;
        let value = self.b.define(&self.var_name(var), value);
        let one = self.b.int(1);
        let next = self.b.add(value, one);
        let last = self.b.binary(BinaryOp::Min, next, end);
        self.leaf_loop(var, (value, last), body, &scope)
    }

    /// The one value of a variable whose strip and place in it are known.
    fn stride(&mut self, relation: &Relation, body: &Stmt, scope: &mut Scope) -> Result<(), Diagnostic> {
        let Some(&parent) = relation.parents().first() else { return Ok(()) };
        let (_, end) = self.range(parent, scope)?;
        let value = self.coordinate(parent, scope)?;
        let value = self.b.define(&self.var_name(parent), value);
        let one = self.b.int(1);
        let next = self.b.add(value, one);
        let last = self.b.binary(BinaryOp::Min, next, end);
        match self.leaf(parent, scope) {
            Leaf::Finishes => self.finish(parent, (value, last), body, scope),
            Leaf::Pairs { .. } => self.leaf_loop(parent, (value, last), body, scope),
            Leaf::Counter | Leaf::Strides(_) => {
                // The rest of the way up is bound by other loops: the body, if the value is one of the variable's.
                let inside = self.b.compare(CompareOp::Lt, value, end);
                let mut inner = scope.clone();
                inner.coordinates.insert(parent, value);
                let outer = self.kernel.provenance.origin(parent).cloned();
                self.b.begin_block();
                let outcome = match outer {
                    Some(outer) if matches!(self.leaf(parent, scope), Leaf::Strides(_)) => {
                        self.stride(&outer, body, &mut inner)
                    }
                    _ => self.stmt(body, &inner).map(|_| ()),
                };
                let then = self.b.end_block();
                self.b.push(lacunar_imp::Stmt::If { cond: inside, then, otherwise: Vec::new() });
                outcome
            }
        }
    }

    /// The loops over what a variable stands for, within an interval of its values.
    pub(super) fn finish(
        &mut self,
        var: VarId,
        (low, high): Interval,
        body: &Stmt,
        scope: &Scope,
    ) -> Result<(), Diagnostic> {
        let mut scope = scope.clone();
        match self.kernel.provenance.origin(var).cloned() {
            None | Some(Relation::Rename { .. }) => {
                scope.confined.insert(var, (low, high));
                self.original_loop(var, body, &scope)
            }
            Some(Relation::Bound { parent, .. }) => self.finish(parent, (low, high), body, &scope),
            Some(relation @ (Relation::Split { parent, outer, .. } | Relation::Divide { parent, outer, .. })) => {
                let first = self.first(parent, &mut scope)?;
                let size = self.strip(&relation, &mut scope)?;
                let number = self.coordinate(outer, &scope)?;
                let begin = self.b.mul(number, size);
                let begin = self.b.add(first, begin);
                let (low, high) = (self.b.add(begin, low), self.b.add(begin, high));
                self.finish(parent, (low, high), body, &scope)
            }
            Some(Relation::Fuse { outer, inner, .. }) => {
                let size = self.width(inner, &mut scope)?;
                let (low, high) = (self.b.define("low", low), self.b.define("high", high));
                let one = self.b.int(1);
                let first = self.b.binary(BinaryOp::Div, low, size);
                let last = self.b.sub(high, one);
                let last = self.b.binary(BinaryOp::Div, last, size);
                let end = self.b.add(last, one);
                // Nothing of nothing, though 0 / 0 is 0.
                let some = self.b.compare(CompareOp::Lt, low, high);
                let end = self.b.select(some, end, first);
                scope.pending.insert(inner, Pending::Fused { outer, size, interval: (low, high) });
                let nest = Stmt::Forall(inner, Box::new(body.clone()));
                self.finish(outer, (first, end), &nest, &scope)
            }
            Some(Relation::Pos { coordinate, access, .. }) => {
                self.positions_nest(coordinate, &access, (low, high), body, &scope)
            }
            Some(Relation::Coord { position, .. }) => {
                let original = self.kernel.provenance.originals(position).last().copied();
                let original = original.ok_or_else(|| Diagnostic::internal("positions of nothing"))?;
                scope.confined.insert(original, (low, high));
                self.original_loop(original, body, &scope)
            }
        }
    }

    /// A loop over what [`Lowerer::finish`] left to be looped over inside another one.
    pub(super) fn pending_loop(
        &mut self,
        var: VarId,
        pending: &Pending,
        body: &Stmt,
        scope: &Scope,
    ) -> Result<(), Diagnostic> {
        let mut scope = scope.clone();
        scope.pending.remove(&var);
        match *pending {
            Pending::Direct => self.original_loop(var, body, &scope)?,
            Pending::Fused { outer, size, interval: (low, high) } => {
                let value = self.coordinate(outer, &scope)?;
                let begin = self.b.mul(value, size);
                let zero = self.b.int(0);
                let (from, to) = (self.b.sub(low, begin), self.b.sub(high, begin));
                let from = self.b.binary(BinaryOp::Max, from, zero);
                let mut to = self.b.binary(BinaryOp::Min, to, size);
                let (_, end) = self.range(var, &mut scope)?;
                if end != size {
                    to = self.b.binary(BinaryOp::Min, to, end);
                }
                self.finish(var, (from, to), body, &scope)?;
            }
            Pending::Half(value) => self.half(var, value, body, &scope)?,
        }
        let first = self.kernel.provenance.originals(var).first().copied();
        first.map_or(Ok(()), |first| self.append_edges(first, body, &scope))
    }

    /// Loops over the levels of an access, from the ancestors of an interval of positions down to it.
    fn positions_nest(
        &mut self,
        coordinate: VarId,
        access: &Access,
        interval: Interval,
        body: &Stmt,
        scope: &Scope,
    ) -> Result<(), Diagnostic> {
        let mut scope = scope.clone();
        let key = AccessKey::from(access);
        let originals = self.kernel.provenance.originals(coordinate);
        let levels = pos_levels(self.kernel, &key, &originals);
        if let Some(carry) = self.carry.take() {
            let outcome = self.carried_nests(&carry, interval, &mut |this, part| {
                this.positions_nest(coordinate, access, part, body, &scope)
            });
            self.carry = Some(carry);
            return outcome;
        }
        let mut window = (self.b.define("low", interval.0), self.b.define("high", interval.1));
        for level in levels.clone().rev() {
            scope.windows.insert((key.clone(), level), window);
            if level > levels.start {
                window = self.ancestors(&key, level, window)?;
            }
        }
        let (Some(&first), rest) = (originals.first(), originals.get(1..).unwrap_or_default()) else {
            return Err(Diagnostic::internal("positions of nothing"));
        };
        for &var in rest {
            scope.pending.insert(var, Pending::Direct);
        }
        let nest = Stmt::foralls(rest, body.clone());
        self.original_loop(first, &nest, &scope)
    }

    /// The positions of the level above whose segments an interval of positions lies in.
    pub(super) fn ancestors(
        &mut self,
        key: &AccessKey,
        level: usize,
        (low, high): Interval,
    ) -> Result<Interval, Diagnostic> {
        let one = self.b.int(1);
        let last = self.b.sub(high, one);
        let first = self.ancestor(key, level, low)?;
        let end = self.ancestor(key, level, last)?;
        let end = self.b.add(end, one);
        Ok((self.b.define("low", first), self.b.define("high", end)))
    }

    /// The position of the level above whose segment a position lies in.
    pub(super) fn ancestor(&mut self, key: &AccessKey, level: usize, position: ExprId) -> Result<ExprId, Diagnostic> {
        let parents = self.positions_before(key, level)?;
        let (b, code) = self.level(key, level)?;
        Ok(code.parent(b, position, parents))
    }

    /// The number of positions of the level above a level.
    fn positions_before(&mut self, key: &AccessKey, level: usize) -> Result<ExprId, Diagnostic> {
        match level.checked_sub(1) {
            None => Ok(self.b.int(1)),
            Some(above) => self.count_positions(key, above).ok_or_else(|| self.unbound(key, above)),
        }
    }

    /// The positions of levels `from ..= to` under a position interval of the level above them.
    pub(super) fn descend(
        &mut self,
        key: &AccessKey,
        levels: std::ops::RangeInclusive<usize>,
        interval: Interval,
    ) -> Result<Interval, Diagnostic> {
        let (mut low, mut high) = interval;
        for level in levels {
            let (b, code) = self.level(key, level)?;
            (low, high) = code.span(b, low, high);
        }
        Ok((low, high))
    }

    /// The code of a level, and the builder it emits into.
    pub(super) fn level(
        &mut self,
        key: &AccessKey,
        level: usize,
    ) -> Result<(&mut Builder, &dyn LevelCode), Diagnostic> {
        if self.tensors[key.tensor.index()].levels.len() <= level {
            return Err(self.unbound(key, level));
        }
        Ok((&mut self.b, &*self.tensors[key.tensor.index()].levels[level]))
    }

    pub(super) fn var_name(&self, var: VarId) -> String {
        self.kernel.vars[var].name.clone()
    }

    /// A `for` loop over a leaf as the schedule says it is run.
    pub(super) fn in_for_over(
        &mut self,
        var: VarId,
        (begin, end): Interval,
        scope: &Scope,
        build: impl FnOnce(&mut Self, ExprId),
    ) {
        let name = self.var_name(var);
        let kind = self.loop_kind(var, scope);
        self.in_for_kind(&name, begin, end, kind, build);
    }
}

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
use lacunar_notation::concrete::{Kernel, Stmt};
use lacunar_notation::provenance::Relation;
use lacunar_notation::schedule::{BoundKind, Parts};
use lacunar_notation::{Access, VarId};

use super::{Lowerer, Scope};
use crate::iterate::iterators::{AccessKey, Iterator, Mode, level_var};
use crate::iterate::space::{driver, pos_levels};
use crate::levels::{LevelCode, Position};

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
        let first = self.kernel.provenance.originals(var).into_iter().find(|var| !scope.started.contains(var));
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
                    outcome = this.stmt(body, &inner).map(|_| ());
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
                let (_, size) = self.range(second, &mut sized)?;
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
    fn is_bound(&self, var: VarId, bound: &[VarId]) -> bool {
        bound.contains(&var)
            || self.kernel.provenance.uses(var).any(|relation| {
                !matches!(relation, Relation::Fuse { .. } | Relation::Rename { .. })
                    && relation.children().into_iter().all(|child| self.is_bound(child, bound))
            })
    }

    /// Whether the values of a variable will not be narrowed down further by loops to come.
    fn is_settled(&self, var: VarId, bound: &[VarId]) -> bool {
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
                let (first, _) = self.range(parent, &mut scope)?;
                let size = self.strip(&relation, &mut scope)?;
                let number = self.coordinate(outer, &scope)?;
                let begin = self.b.mul(number, size);
                let begin = self.b.add(first, begin);
                let (low, high) = (self.b.add(begin, low), self.b.add(begin, high));
                self.finish(parent, (low, high), body, &scope)
            }
            Some(Relation::Fuse { outer, inner, .. }) => {
                let (_, size) = self.range(inner, &mut scope)?;
                let (low, high) = (self.b.define("low", low), self.b.define("high", high));
                let one = self.b.int(1);
                let first = self.b.binary(BinaryOp::Div, low, size);
                let last = self.b.sub(high, one);
                let last = self.b.binary(BinaryOp::Div, last, size);
                let end = self.b.add(last, one);
                // Nothing of nothing, though 0 / 0 is 0.
                let some = self.b.compare(CompareOp::Lt, low, high);
                let end = self.b.select(some, end, first);
                scope.widths.insert(inner, size);
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
                let to = self.b.binary(BinaryOp::Min, to, size);
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

    /// The values of a variable, where the variables of the scope have theirs. Values of strips count from 0.
    pub(super) fn range(&mut self, var: VarId, scope: &mut Scope) -> Result<Interval, Diagnostic> {
        if let Some(&known) = scope.ranges.get(&var) {
            return Ok(known);
        }
        let zero = self.b.int(0);
        let interval = match self.kernel.provenance.origin(var).cloned() {
            None | Some(Relation::Rename { .. }) => (zero, self.size(var)),
            Some(Relation::Bound { parent, size, kind, .. }) => {
                let (low, high) = self.range(parent, scope)?;
                let number = self.b.int(i64::try_from(size).unwrap_or(i64::MAX));
                match kind {
                    BoundKind::MaxExact => (low, number),
                    BoundKind::MinExact => (number, high),
                    BoundKind::MaxConstraint | BoundKind::MinConstraint => (low, high),
                }
            }
            Some(relation @ (Relation::Split { parent, outer, .. } | Relation::Divide { parent, outer, .. })) => {
                let (low, high) = self.range(parent, scope)?;
                let size = self.strip(&relation, scope)?;
                let length = self.b.sub(high, low);
                if var == outer {
                    (zero, self.ceil_div(length, size))
                } else if self.is_bound(outer, &scope.bound()) && !self.divides(size, length) {
                    let number = self.coordinate(outer, scope)?;
                    let begin = self.b.mul(number, size);
                    let rest = self.b.sub(length, begin);
                    let end = self.b.binary(BinaryOp::Min, rest, size);
                    (zero, self.b.define(&format!("{}_end", self.var_name(var)), end))
                } else {
                    (zero, size)
                }
            }
            Some(Relation::Fuse { outer, inner, .. }) => {
                let ((_, outer), (_, inner)) = (self.range(outer, scope)?, self.range(inner, scope)?);
                (zero, self.b.mul(outer, inner))
            }
            Some(Relation::Pos { coordinate, access, .. }) => {
                let key = AccessKey::from(&access);
                let originals = self.kernel.provenance.originals(coordinate);
                let levels = pos_levels(self.kernel, &key, &originals);
                let parent = match self.position(&key, levels.start.checked_sub(1), scope)? {
                    Position::One(parent) => {
                        let one = self.b.int(1);
                        (parent, self.b.add(parent, one))
                    }
                    Position::Range(low, high) => (low, high),
                };
                self.descend(&key, levels.start..=levels.end - 1, parent)?
            }
            Some(Relation::Coord { position, .. }) => self.coordinates_of(position, scope)?,
        };
        if self.is_settled(var, &scope.bound()) {
            scope.ranges.insert(var, interval);
        }
        Ok(interval)
    }

    /// The coordinates that belong to a strip of positions: from that of its first position (from 0, for the first strip) up to
    /// that of the first position behind it (to the end, for the last strip).
    fn coordinates_of(&mut self, position: VarId, scope: &mut Scope) -> Result<Interval, Diagnostic> {
        let originals = self.kernel.provenance.originals(position);
        let (Some(&original), Some(access)) = (originals.last(), driver(self.kernel, position)) else {
            return Err(Diagnostic::internal("coordinates of what are no positions"));
        };
        let key = AccessKey::from(access);
        let level = pos_levels(self.kernel, &key, &originals).end - 1;
        let (mut low, mut high) = self.range(position, scope)?;
        let mut var = position;
        let (first, last) = loop {
            match self.kernel.provenance.origin(var).cloned() {
                Some(relation @ (Relation::Split { parent, outer, .. } | Relation::Divide { parent, outer, .. })) => {
                    let (begin, _) = self.range(parent, scope)?;
                    let size = self.strip(&relation, scope)?;
                    let number = self.coordinate(outer, scope)?;
                    let offset = self.b.mul(number, size);
                    let begin = self.b.add(begin, offset);
                    (low, high) = (self.b.add(begin, low), self.b.add(begin, high));
                    var = parent;
                }
                _ => break self.range(var, scope)?,
            }
        };
        let zero = self.b.int(0);
        let size = self.size(original);
        let (from, to) = (self.b.declare("from", zero), self.b.declare("to", size));
        for (at, bound, place) in [(low, first, from), (high, last, to)] {
            let inside = self.b.compare(CompareOp::Ne, at, bound);
            self.b.begin_block();
            let (b, code) = self.level(&key, level)?;
            let coordinate = code.coordinate(b, "edge", at);
            self.b.assign(place, coordinate);
            let then = self.b.end_block();
            self.b.push(lacunar_imp::Stmt::If { cond: inside, then, otherwise: Vec::new() });
        }
        Ok((self.b.var(from), self.b.var(to)))
    }

    /// The size of the strips that a relation makes.
    pub(super) fn strip(&mut self, relation: &Relation, scope: &mut Scope) -> Result<ExprId, Diagnostic> {
        match *relation {
            Relation::Split { size, .. } => Ok(self.b.int(i64::try_from(size).unwrap_or(i64::MAX))),
            Relation::Divide { parent, parts, .. } => {
                let (low, high) = self.range(parent, scope)?;
                let length = self.b.sub(high, low);
                let parts = self.parts(parts);
                let size = self.ceil_div(length, parts);
                Ok(match self.b.as_const(size) {
                    Some(_) => size,
                    None => self.b.define("strip", size),
                })
            }
            _ => Err(Diagnostic::internal("strips of what is not split")),
        }
    }

    /// How many strips a `divide` makes.
    pub(super) fn parts(&mut self, parts: Parts) -> ExprId {
        match parts {
            Parts::Count(count) => self.b.int(i64::try_from(count).unwrap_or(i64::MAX)),
            Parts::PerThread(count) => {
                let count = self.b.int(i64::try_from(count).unwrap_or(i64::MAX));
                let threads = self.threads();
                self.b.mul(threads, count)
            }
        }
    }

    /// The value of a variable: bound by a loop, put together from what derives from it, or taken from what it derives from.
    pub(super) fn coordinate(&mut self, var: VarId, scope: &Scope) -> Result<ExprId, Diagnostic> {
        match self.value_below(var, scope)? {
            Some(value) => Ok(value),
            None => self.value_above(var, scope)?.ok_or_else(|| {
                Diagnostic::internal(format!("`{}` has no value where it is needed", self.var_name(var)))
            }),
        }
    }

    fn value_below(&mut self, var: VarId, scope: &Scope) -> Result<Option<ExprId>, Diagnostic> {
        if let Some(&value) = scope.coordinates.get(&var) {
            return Ok(Some(value));
        }
        let uses: Vec<Relation> = self.kernel.provenance.uses(var).cloned().collect();
        for relation in uses {
            match relation {
                Relation::Split { outer, inner, .. } | Relation::Divide { outer, inner, .. } => {
                    let (Some(outer), Some(inner)) = (self.value_below(outer, scope)?, self.value_below(inner, scope)?)
                    else {
                        continue;
                    };
                    let mut inside = scope.clone();
                    let (first, _) = self.range(var, &mut inside)?;
                    let size = self.strip(&relation, &mut inside)?;
                    let offset = self.b.mul(outer, size);
                    let begin = self.b.add(first, offset);
                    return Ok(Some(self.b.add(begin, inner)));
                }
                Relation::Bound { bounded, .. } => {
                    if let Some(value) = self.value_below(bounded, scope)? {
                        return Ok(Some(value));
                    }
                }
                Relation::Fuse { .. } | Relation::Pos { .. } | Relation::Coord { .. } | Relation::Rename { .. } => {}
            }
        }
        Ok(None)
    }

    fn value_above(&mut self, var: VarId, scope: &Scope) -> Result<Option<ExprId>, Diagnostic> {
        let Some(relation) = self.kernel.provenance.origin(var).cloned() else { return Ok(None) };
        let mut inside = scope.clone();
        let value = match relation {
            Relation::Split { parent, outer, .. } | Relation::Divide { parent, outer, .. } => {
                let parent_value = self.coordinate(parent, scope)?;
                let (first, _) = self.range(parent, &mut inside)?;
                let size = self.strip(&relation, &mut inside)?;
                let offset = self.b.sub(parent_value, first);
                let op = if var == outer { BinaryOp::Div } else { BinaryOp::Rem };
                Some(self.b.binary(op, offset, size))
            }
            Relation::Bound { parent, .. } => Some(self.coordinate(parent, scope)?),
            Relation::Fuse { outer, inner, .. } => {
                let size = match scope.widths.get(&inner) {
                    Some(&width) => width,
                    None => self.range(inner, &mut inside)?.1,
                };
                let (outer, inner) = (self.coordinate(outer, scope)?, self.coordinate(inner, scope)?);
                let first = self.b.mul(outer, size);
                Some(self.b.add(first, inner))
            }
            Relation::Pos { coordinate, access, .. } => {
                let key = AccessKey::from(&access);
                let originals = self.kernel.provenance.originals(coordinate);
                let level = pos_levels(self.kernel, &key, &originals).end - 1;
                match self.position(&key, Some(level), scope)? {
                    Position::One(position) => Some(position),
                    Position::Range(..) => None,
                }
            }
            Relation::Coord { position, .. } => {
                let original = self.kernel.provenance.originals(position).last().copied();
                match original {
                    Some(original) => Some(self.coordinate(original, scope)?),
                    None => None,
                }
            }
            Relation::Rename { .. } => None,
        };
        Ok(value)
    }

    /// Where a dense loop over a variable begins and ends.
    pub(super) fn dense_bounds(&mut self, var: VarId, scope: &Scope) -> Result<Interval, Diagnostic> {
        let (mut low, mut high) = match scope.confined.get(&var) {
            Some(&range) => range,
            None => (self.b.int(0), self.size(var)),
        };
        // Positions of a dense level are its coordinates, one segment after the other.
        for ((key, level), &(first, last)) in &scope.windows {
            let full = self.kernel.tensors[key.tensor].format.levels()[*level].properties().full;
            if full && level_var(self.kernel, key, *level) == var {
                let Position::One(parent) = self.position(key, level.checked_sub(1), scope)? else {
                    return Err(Diagnostic::internal("a dense level under repeated coordinates"));
                };
                let size = self.size(var);
                let begin = self.b.mul(parent, size);
                let (from, to) = (self.b.sub(first, begin), self.b.sub(last, begin));
                low = self.b.binary(BinaryOp::Max, low, from);
                high = self.b.binary(BinaryOp::Min, high, to);
            }
        }
        Ok((low, high))
    }

    /// The part of an iterator's positions whose coordinates, and which themselves, lie within what the scope says.
    pub(super) fn confine(
        &mut self,
        iterator: &Iterator,
        (mut begin, mut end): Interval,
        scope: &Scope,
    ) -> Result<Interval, Diagnostic> {
        let (key, level) = (&iterator.access, iterator.level);
        if iterator.mode == Mode::Search {
            return Ok((begin, end));
        }
        if let Some(&(low, high)) = scope.windows.get(&(key.clone(), level)) {
            begin = self.b.binary(BinaryOp::Max, begin, low);
            end = self.b.binary(BinaryOp::Min, end, high);
            return Ok((begin, end));
        }
        let var = level_var(self.kernel, key, level);
        let Some(&(low, high)) = scope.confined.get(&var) else { return Ok((begin, end)) };
        let size = self.size(var);
        if self.b.as_const(low).is_none_or(|low| low.bits != 0) {
            let (b, code) = self.level(key, level)?;
            begin = code.seek(b, begin, end, low);
        }
        if high != size {
            let (b, code) = self.level(key, level)?;
            end = code.seek(b, begin, end, high);
        }
        Ok((begin, end))
    }

    /// The code of a level, and the builder it emits into.
    fn level(&mut self, key: &AccessKey, level: usize) -> Result<(&mut Builder, &dyn LevelCode), Diagnostic> {
        if self.tensors[key.tensor.index()].levels.len() <= level {
            return Err(self.unbound(key, level));
        }
        Ok((&mut self.b, &*self.tensors[key.tensor.index()].levels[level]))
    }

    pub(super) fn var_name(&self, var: VarId) -> String {
        self.kernel.vars[var].name.clone()
    }

    pub(super) fn ceil_div(&mut self, a: ExprId, b: ExprId) -> ExprId {
        if let (Some(a), Some(b)) = (self.b.as_const(a), self.b.as_const(b))
            && b.bits != 0
        {
            return self.b.int((a.bits.div_ceil(b.bits)) as i64);
        }
        let one = self.b.int(1);
        let round = self.b.sub(b, one);
        let sum = self.b.add(a, round);
        self.b.binary(BinaryOp::Div, sum, b)
    }

    /// Whether one constant divides another.
    fn divides(&self, a: ExprId, b: ExprId) -> bool {
        let (a, b) = (self.b.as_const(a), self.b.as_const(b));
        a.zip(b).is_some_and(|(a, b)| a.bits != 0 && b.bits % a.bits == 0)
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

/// The number of values of a derived variable, where it follows from the sizes of the variables made before it: strips of
/// positions have none that is known in advance. `None` for an original one.
pub(super) fn derived_size(b: &mut Builder, kernel: &Kernel, var: VarId, sizes: &[ExprId]) -> Option<ExprId> {
    let ceil_div = |b: &mut Builder, a: ExprId, divisor: u64| {
        let divisor = i64::try_from(divisor).unwrap_or(i64::MAX);
        let (round, divisor) = (b.int(divisor - 1), b.int(divisor));
        let sum = b.add(a, round);
        b.binary(BinaryOp::Div, sum, divisor)
    };
    let size = |var: VarId| sizes[var.index()];
    Some(match *kernel.provenance.origin(var)? {
        Relation::Rename { parent, .. } => size(parent),
        Relation::Bound { parent, size: number, kind, .. } => match kind {
            BoundKind::MaxExact => b.int(i64::try_from(number).unwrap_or(i64::MAX)),
            _ => size(parent),
        },
        Relation::Split { inner, size: strip, .. } if inner == var => b.int(i64::try_from(strip).unwrap_or(i64::MAX)),
        Relation::Split { parent, size: strip, .. } => ceil_div(b, size(parent), strip),
        Relation::Divide { outer, parts: Parts::Count(count), .. } if outer == var => {
            b.int(i64::try_from(count).unwrap_or(i64::MAX))
        }
        Relation::Divide { parent, parts: Parts::Count(count), .. } => ceil_div(b, size(parent), count),
        Relation::Divide { parent, .. } => size(parent),
        Relation::Fuse { outer, inner, .. } => b.mul(size(outer), size(inner)),
        Relation::Pos { coordinate, .. } => size(coordinate),
        Relation::Coord { position, .. } => size(position),
    })
}

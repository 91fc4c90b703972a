//! Unions without a case for every combination: what is absent counts as its fill value, in these examples zero.
//!
//! Two situations. At the innermost level, a merge that has a value at every coordinate it meets needs no branches: each
//! operand is read where its cursor stands and dropped unless the cursor has the coordinate,
//!
//! ```text
//! a(i) = b(i) + c(i)      while .. { i = min(ib, ic); a = (ib == i ? b : 0) + (ic == i ? c : 0) }
//! ```
//!
//! which costs less than a branch that the processor cannot predict. And a union of many operands would have a loop for each
//! of their exponentially many combinations; instead there is one loop as long as any has coordinates left, whose
//! body knows each operand to be present under a condition.
//!
//! ```text
//! a(i) = b(i) + c(i) + d(i) + e(i)
//!   ib = first of b, or the largest number if there is none; ..
//!   while (i = min(ib, ic, id, ie)) is a coordinate { ..; advance those that have it }
//! ```

use lacunar_base::Diagnostic;
use lacunar_imp::{BinaryOp, CompareOp, ExprId};
use lacunar_notation::concrete::Stmt;
use lacunar_notation::{Role, VarId, WorkspaceKind};

use super::merge::Cursor;
use super::{Counter, Lowerer, Reading, Scope, Uncertain};
use crate::iterate::iterators::{AccessKey, sparse_levels};
use crate::iterate::lattice::{Lattice, Point};
use crate::levels::Position;

/// The most lattice points that get loops and cases of their own, in an innermost loop and in one around others.
const MOST_POINTS: usize = 7;
const MOST_OUTER_POINTS: usize = 3;

/// More than any coordinate.
const NONE: i64 = i64::MAX;

/// Whether a lattice has too many points for a loop each.
pub(super) fn is_large(lattice: &Lattice, body: &Stmt) -> bool {
    let limit = if matches!(body, Stmt::Assign(_)) { MOST_POINTS } else { MOST_OUTER_POINTS };
    lattice.points.len() > limit && lattice.searched() == Point::ALL
}

impl Lowerer<'_> {
    /// Whether a merge has a value at every coordinate it meets, and everything it reads there is at hand.
    pub(super) fn is_plain_union(&self, lattice: &Lattice, point: Point, body: &Stmt, scope: &Scope) -> bool {
        let mut certain = true;
        body.visit_assigns(&mut |assign| {
            let accesses = assign.rhs.accesses().into_iter().map(AccessKey::from);
            certain &= accesses.into_iter().all(|access| !scope.uncertain.contains_key(&access));
        });
        let innermost = |k: usize| {
            let iterator = &lattice.iterators[k];
            let last = sparse_levels(self.kernel, iterator.access.tensor).last().map(|(level, _)| level);
            let order = self.kernel.tensors[iterator.access.tensor].order();
            // A marked workspace has its values at their coordinates, not where its cursor stands.
            let marked = self.kernel.tensors[iterator.access.tensor].role == Role::Workspace(WorkspaceKind::Marked);
            let steps = !self.repeats(lattice, k) && self.is_contiguous(lattice, k);
            last == Some(iterator.level) && iterator.level + 1 == order && !marked && steps
        };
        certain
            && matches!(body, Stmt::Assign(_))
            && point.0.count_ones() > 1
            && lattice.searched() == Point::ALL
            && point.members().all(|k| innermost(k) && lattice.points.contains(&Point(1 << k)))
    }

    /// The body of a plain union and the steps behind it: once where all operands have the coordinate, which a processor
    /// foresees where patterns are alike, so that it need not wait for coordinates to step on; and once for all other
    /// combinations, without a branch.
    #[expect(clippy::too_many_arguments, reason = "a place of a merge is described by all of these")]
    pub(super) fn together_or_not(
        &mut self,
        var: VarId,
        body: &Stmt,
        lattice: &Lattice,
        point: Point,
        present: &[(usize, ExprId)],
        steps: &[(Counter, ExprId)],
        scope: &Scope,
    ) -> Result<(), Diagnostic> {
        let together = present.iter().fold(self.b.bool(true), |all, (_, has)| self.b.and(all, *has));
        self.b.begin_block();
        let mut inside = scope.clone();
        inside.depth += 1;
        let one = self.b.int(1);
        let outcome = match lattice.residual(self.kernel, body, point) {
            Some(residual) => self.at_coordinate(var, &residual, &inside),
            None => Ok(()),
        };
        for (position, _) in steps {
            let at = self.b.var(*position);
            let next = self.b.add(at, one);
            self.b.assign(*position, next);
        }
        let then = self.b.end_block();
        outcome?;
        self.b.begin_block();
        let outcome = self.select_present(var, body, lattice, present, scope.clone());
        steps.iter().for_each(|(position, next)| self.b.assign(*position, *next));
        let otherwise = self.b.end_block();
        outcome?;
        self.b.push(lacunar_imp::Stmt::If { cond: together, then, otherwise });
        Ok(())
    }

    /// The body of a plain union: once for all combinations.
    pub(super) fn select_present(
        &mut self,
        var: VarId,
        body: &Stmt,
        lattice: &Lattice,
        present: &[(usize, ExprId)],
        mut scope: Scope,
    ) -> Result<(), Diagnostic> {
        scope.depth += 1;
        let members = Point::of(present.iter().map(|(k, _)| *k));
        for &(k, present) in present {
            let uncertain = Uncertain { present, reading: Reading::Ignored };
            scope.uncertain.insert(lattice.iterators[k].access.clone(), uncertain);
        }
        let Some(residual) = lattice.residual(self.kernel, body, members) else { return Ok(()) };
        self.clear_result(&scope)?;
        let mark = self.before_append(var, &residual, &scope)?;
        self.stmt(&residual, &scope)?;
        // One of them is present.
        self.append(var, mark, None, &scope)
    }

    /// One loop for a union of many operands.
    pub(super) fn union_loop(
        &mut self,
        var: VarId,
        body: &Stmt,
        lattice: &Lattice,
        scope: &Scope,
    ) -> Result<(), Diagnostic> {
        let all = Point::union(&lattice.points);
        let cursors = self.cursors(lattice, all, scope)?;
        let loops: Vec<Point> = lattice.points.clone();
        let lengths = self.lengths(lattice, &cursors);
        self.reserved |=
            self.reserve_ahead(var, body, scope, &mut |this| this.most_visited(var, lattice, &loops, &lengths));
        let name = self.kernel.vars[var].name.clone();
        let none = self.b.int(NONE);
        let mut heads: Vec<(usize, Counter)> = Vec::new();
        for k in all.members() {
            let tensor = self.name(lattice.iterators[k].access.tensor).to_string();
            let head = self.b.declare(&format!("{name}_{tensor}"), none);
            self.look(lattice, k, cursors[&k], head, none);
            heads.push((k, head));
        }
        if lattice.is_full() {
            let (begin, end) = self.dense_bounds(var, scope)?;
            let mut outcome = Ok(());
            self.in_for(&name, begin, end, |this, coordinate| {
                outcome = this.union_body(var, body, lattice, &heads, &cursors, coordinate, scope);
            });
            return outcome;
        }
        let least = |this: &mut Self| {
            let heads: Vec<ExprId> = heads.iter().map(|(_, head)| this.b.var(*head)).collect();
            heads.into_iter().reduce(|a, b| this.b.binary(BinaryOp::Min, a, b)).unwrap_or(none)
        };
        let coordinate = least(self);
        let left = self.b.compare(CompareOp::Lt, coordinate, none);
        self.b.begin_block();
        let here = self.b.define(&name, coordinate);
        let outcome = self.union_body(var, body, lattice, &heads, &cursors, here, scope);
        let block = self.b.end_block();
        self.b.push(lacunar_imp::Stmt::While { cond: left, body: block });
        outcome
    }

    /// The coordinate a cursor stands on goes to `head`, which has the type of `none`; at the cursor's end, `none`.
    pub(super) fn look(&mut self, lattice: &Lattice, k: usize, cursor: Cursor, head: Counter, none: ExprId) {
        let iterator = &lattice.iterators[k];
        let at = self.b.var(cursor.position);
        let valid = self.is_valid(cursor);
        self.b.begin_block();
        let code = &self.tensors[iterator.access.tensor.index()].levels[iterator.level];
        let own = code.coordinate(&mut self.b, "head", cursor.at(at));
        let own = self.b.cast(self.b.type_of(none), own);
        self.b.assign(head, own);
        let then = self.b.end_block();
        self.b.begin_block();
        self.b.assign(head, none);
        let otherwise = self.b.end_block();
        self.b.push(lacunar_imp::Stmt::If { cond: valid, then, otherwise });
    }

    /// One coordinate: the body with each operand present where its cursor has the coordinate; then these are advanced.
    #[expect(clippy::too_many_arguments, reason = "a loop of a union is described by all of these")]
    fn union_body(
        &mut self,
        var: VarId,
        body: &Stmt,
        lattice: &Lattice,
        heads: &[(usize, Counter)],
        cursors: &rustc_hash::FxHashMap<usize, Cursor>,
        coordinate: ExprId,
        scope: &Scope,
    ) -> Result<(), Diagnostic> {
        let mut inner = scope.clone();
        inner.depth += 1;
        inner.coordinates.insert(var, coordinate);
        let none = self.b.int(NONE);
        let mut advance = Vec::new();
        for &(k, head) in heads {
            let iterator = &lattice.iterators[k];
            let own = self.b.var(head);
            let has = self.b.compare(CompareOp::Eq, own, coordinate);
            let has = self.b.define(&format!("at_{}", self.position_name(lattice, k)), has);
            let at = self.b.var(cursors[&k].position);
            let (position, next) = if self.repeats(lattice, k) {
                let end = self.segment_end(lattice, k, cursors[&k], coordinate);
                (Position::Range(at, end), Some(end))
            } else if self.is_contiguous(lattice, k) {
                let one = self.b.int(1);
                (Position::One(at), Some(self.b.add(at, one)))
            } else {
                (Position::One(at), None)
            };
            inner.positions.insert((iterator.access.clone(), iterator.level), position);
            inner.uncertain.insert(iterator.access.clone(), Uncertain { present: has, reading: Reading::Guarded });
            advance.push((k, head, has, next));
        }
        self.at_coordinate(var, body, &inner)?;
        for (k, head, has, next) in advance {
            self.b.begin_block();
            match next {
                Some(next) => self.b.assign(cursors[&k].position, next),
                None => {
                    let yes = self.b.bool(true);
                    self.advance_if(lattice, k, cursors[&k], yes);
                }
            }
            self.look(lattice, k, cursors[&k], head, none);
            let then = self.b.end_block();
            self.b.push(lacunar_imp::Stmt::If { cond: has, then, otherwise: Vec::new() });
        }
        Ok(())
    }
}

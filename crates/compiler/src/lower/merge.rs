//! Merges: loops that advance several iterators together.
//!
//! ```text
//! a(i) = b(i) + c(i), all compressed
//!   while pb < pb_end && pc < pc_end {      { b, c }
//!     i = min(b_crd[pb], c_crd[pc])
//!     case both / only b / only c
//!     pb += b has i;  pc += c has i
//!   }
//!   for the rest of b ..                    { b }
//!   for the rest of c ..                    { c }
//! ```
//!
//! Where every coordinate is visited, a counter takes the place of the minimum, and the last loop runs it to the end.
//!
//! Paper: Kjolstad et al. 2017, §4.3 and Figure 8.

use lacunar_base::Diagnostic;
use lacunar_imp::{BinaryOp, CompareOp, ExprId};
use lacunar_notation::VarId;
use lacunar_notation::concrete::Stmt;
use lacunar_notation::schedule::Merge;
use rustc_hash::FxHashMap;

use super::{Counter, INDEX, Lowerer, Scope};
use crate::iterate::lattice::{Lattice, Point};
use crate::levels::{At, Position, State};

/// Where an iterator of a merge stands.
#[derive(Clone, Copy)]
pub(super) struct Cursor {
    pub position: Counter,
    pub end: ExprId,
    /// The position of the level above.
    pub parent: ExprId,
    /// What the level kind keeps beside the position.
    pub state: Option<State>,
    /// The coordinate at which to stop, where positions are shared by some before it and some from it on.
    pub limit: Option<ExprId>,
}

impl Cursor {
    /// The cursor at a position.
    pub fn at(&self, position: ExprId) -> At {
        At { parent: self.parent, position, state: self.state }
    }
}

impl Lowerer<'_> {
    /// The loops of a merge, one for each set of iterators in `loops`.
    pub(super) fn merge_loops(
        &mut self,
        var: VarId,
        body: &Stmt,
        lattice: &Lattice,
        loops: &[Point],
        scope: &Scope,
    ) -> Result<(), Diagnostic> {
        let merged = Point::union(loops);
        let cursors = self.cursors(lattice, merged, scope)?;
        let lengths = self.lengths(lattice, &cursors);
        self.reserved |=
            self.reserve_ahead(var, body, scope, &mut |this| this.most_visited(var, lattice, loops, &lengths));
        let range = self.dense_bounds(var, scope)?;
        let counter = lattice.visits_all().then(|| self.b.declare(&self.var_name(var), range.0));
        let leaf = scope.leaves.get(&var).copied().unwrap_or(var);
        if let (Merge::Gallop, &[only], None) = (self.kernel.provenance.merge(leaf), loops, counter)
            && only.members().all(|k| !self.repeats(lattice, k) && self.is_contiguous(lattice, k))
        {
            return self.gallop(var, body, lattice, only, &cursors, scope);
        }
        for &point in loops {
            match (counter, point.0.count_ones()) {
                (Some(counter), 0) => {
                    let begin = self.b.var(counter);
                    self.dense_loop(var, body, lattice, scope, (begin, range.1))?;
                }
                (None, 1) if point.members().all(|k| !self.repeats(lattice, k) && self.is_contiguous(lattice, k)) => {
                    self.rest(var, body, lattice, point, &cursors, scope)?;
                }
                _ => self.merge(var, body, lattice, point, &cursors, counter, scope)?,
            }
        }
        Ok(())
    }

    /// A cursor at the first position of each iterator in a set.
    pub(super) fn cursors(
        &mut self,
        lattice: &Lattice,
        set: Point,
        scope: &Scope,
    ) -> Result<FxHashMap<usize, Cursor>, Diagnostic> {
        let mut cursors = FxHashMap::default();
        for k in set.members() {
            let (begin, end) = self.bounds(lattice, k, scope)?;
            let name = self.position_name(lattice, k);
            let position = self.b.declare(&name, begin);
            let end = self.b.define(&format!("{name}_end"), end);
            let parent = self.parent_of(lattice, k, scope)?;
            let iterator = &lattice.iterators[k];
            let code = &self.tensors[iterator.access.tensor.index()].levels[iterator.level];
            let state = code.start(&mut self.b, parent, position, end);
            let confined = scope.confined.get(&self.level_var(&iterator.access, iterator.level)).copied();
            let mut limit = None;
            if let (true, Some((low, high)), Some(State { at, .. })) =
                (self.shares_positions(lattice, k), confined, state)
            {
                let here = self.b.var(at);
                let here = self.b.binary(BinaryOp::Max, here, low);
                self.b.assign(at, here);
                limit = Some(high);
            }
            cursors.insert(k, Cursor { position, end, parent, state, limit });
        }
        Ok(cursors)
    }

    /// How many coordinates each cursor has before it at most.
    pub(super) fn lengths(
        &mut self,
        lattice: &Lattice,
        cursors: &FxHashMap<usize, Cursor>,
    ) -> FxHashMap<usize, ExprId> {
        let length = |(k, cursor): (&usize, &Cursor)| {
            let begin = self.b.var(cursor.position);
            let positions = self.b.sub(cursor.end, begin);
            (*k, self.most_coordinates(lattice, *k, positions))
        };
        cursors.iter().map(length).collect()
    }

    /// Whether a cursor stands on a coordinate.
    pub(super) fn is_valid(&mut self, cursor: Cursor) -> ExprId {
        let at = self.b.var(cursor.position);
        let valid = self.b.compare(CompareOp::Lt, at, cursor.end);
        let (Some(limit), Some(State { at, .. })) = (cursor.limit, cursor.state) else { return valid };
        let here = self.b.var(at);
        let before = self.b.compare(CompareOp::Lt, here, limit);
        self.b.and(valid, before)
    }

    /// Whether all of some cursors do.
    fn all_valid(&mut self, members: &[usize], cursors: &FxHashMap<usize, Cursor>) -> Option<ExprId> {
        members.iter().map(|k| cursors[k]).fold(None, |all, cursor| {
            let valid = self.is_valid(cursor);
            Some(match all {
                None => valid,
                Some(all) => self.b.and(all, valid),
            })
        })
    }

    /// The largest number of coordinates that a merge can visit: all of the dimension; or those of every iterator, of which
    /// an intersection visits those of one.
    pub(super) fn most_visited(
        &mut self,
        var: VarId,
        lattice: &Lattice,
        loops: &[Point],
        lengths: &FxHashMap<usize, ExprId>,
    ) -> ExprId {
        if lattice.visits_all() {
            return self.size(var);
        }
        let of = |point: Point| -> Vec<ExprId> { point.members().filter_map(|k| lengths.get(&k).copied()).collect() };
        let zero = self.b.int(0);
        match loops {
            [only] => of(*only).into_iter().reduce(|a, b| self.b.binary(BinaryOp::Min, a, b)).unwrap_or(zero),
            _ => {
                let merged = Point::union(loops);
                of(merged).into_iter().fold(zero, |sum, length| self.b.add(sum, length))
            }
        }
    }

    /// The positions that are left of a single iterator.
    fn rest(
        &mut self,
        var: VarId,
        body: &Stmt,
        lattice: &Lattice,
        point: Point,
        cursors: &FxHashMap<usize, Cursor>,
        scope: &Scope,
    ) -> Result<(), Diagnostic> {
        let mut outcome = Ok(());
        for k in point.members() {
            let begin = self.b.var(cursors[&k].position);
            self.in_for(&self.position_name(lattice, k), begin, cursors[&k].end, |this, p| {
                outcome = this.at_position(var, body, lattice, k, p, scope);
            });
        }
        outcome
    }

    /// One loop while every iterator of `point` has coordinates left.
    #[expect(clippy::too_many_arguments, reason = "a loop of a merge is described by all of these")]
    fn merge(
        &mut self,
        var: VarId,
        body: &Stmt,
        lattice: &Lattice,
        point: Point,
        cursors: &FxHashMap<usize, Cursor>,
        counter: Option<Counter>,
        scope: &Scope,
    ) -> Result<(), Diagnostic> {
        let members: Vec<usize> = point.members().collect();
        let Some(valid) = self.all_valid(&members, cursors) else { return Ok(()) };
        let name = self.kernel.vars[var].name.clone();
        self.b.begin_block();
        let coordinates: Vec<ExprId> =
            members.iter().map(|k| self.cursor_coordinate(lattice, *k, cursors, &name)).collect();
        let coordinate = match counter {
            Some(counter) => self.b.var(counter),
            None => {
                let least = coordinates.iter().copied().reduce(|a, b| self.b.binary(BinaryOp::Min, a, b));
                match least {
                    Some(least) if members.len() > 1 => self.b.define(&name, least),
                    Some(only) => only,
                    None => self.b.int(0),
                }
            }
        };
        let mut inner = scope.clone();
        inner.coordinates.insert(var, coordinate);
        let mut present = Vec::new();
        let mut steps = Vec::new();
        let mut advances = Vec::new();
        for (&k, &own) in members.iter().zip(&coordinates) {
            let cursor = cursors[&k];
            let at = self.b.var(cursor.position);
            let has = match own == coordinate {
                true => self.b.bool(true),
                false => {
                    let has = self.b.compare(CompareOp::Eq, own, coordinate);
                    let has = self.b.define(&format!("at_{}", self.position_name(lattice, k)), has);
                    present.push((k, has));
                    has
                }
            };
            let position = if self.repeats(lattice, k) {
                let end = self.segment_end(lattice, k, cursor, coordinate);
                steps.push((cursor.position, end));
                Position::Range(at, end)
            } else if self.is_contiguous(lattice, k) {
                let step = self.b.cast(INDEX, has);
                steps.push((cursor.position, self.b.add(at, step)));
                Position::One(at)
            } else {
                advances.push((k, has));
                Position::One(self.b.define(&format!("{}_here", self.position_name(lattice, k)), at))
            };
            let iterator = &lattice.iterators[k];
            inner.bind(&iterator.access, iterator.level, position);
        }
        if counter.is_none() && self.is_plain_union(lattice, point, body, &inner) {
            self.together_or_not(var, body, lattice, point, &present, &steps, &inner)?;
        } else {
            self.cases(var, body, lattice, point, &present, &inner)?;
            steps.iter().for_each(|(position, next)| self.b.assign(*position, *next));
            advances.into_iter().for_each(|(k, has)| self.advance_if(lattice, k, cursors[&k], has));
        }
        if let Some(counter) = counter {
            let one = self.b.int(1);
            let next = self.b.add(coordinate, one);
            self.b.assign(counter, next);
        }
        let block = self.b.end_block();
        self.b.push(lacunar_imp::Stmt::While { cond: valid, body: block });
        Ok(())
    }

    /// An intersection in which iterators that lag jump to the coordinate of the one that leads.
    ///
    /// ```text
    /// while pb < pb_end && pc < pc_end {
    ///   i = max(b_crd[pb], c_crd[pc])
    ///   if both have i { body; pb += 1; pc += 1 }
    ///   else { pb = first of b at i or behind; pc = first of c at i or behind }      exponential search
    /// }
    /// ```
    fn gallop(
        &mut self,
        var: VarId,
        body: &Stmt,
        lattice: &Lattice,
        point: Point,
        cursors: &FxHashMap<usize, Cursor>,
        scope: &Scope,
    ) -> Result<(), Diagnostic> {
        let members: Vec<usize> = point.members().collect();
        let Some(valid) = self.all_valid(&members, cursors) else { return Ok(()) };
        let name = self.var_name(var);
        self.b.begin_block();
        let coordinates: Vec<ExprId> =
            members.iter().map(|k| self.cursor_coordinate(lattice, *k, cursors, &name)).collect();
        let greatest = coordinates.iter().copied().reduce(|a, b| self.b.binary(BinaryOp::Max, a, b));
        let coordinate = greatest.unwrap_or_else(|| self.b.int(0));
        let coordinate = self.b.define(&name, coordinate);
        let mut all = self.b.bool(true);
        for &own in &coordinates {
            let has = self.b.compare(CompareOp::Eq, own, coordinate);
            all = self.b.and(all, has);
        }
        let one = self.b.int(1);
        self.b.begin_block();
        let mut inner = scope.clone();
        inner.coordinates.insert(var, coordinate);
        for &k in &members {
            let iterator = &lattice.iterators[k];
            let at = self.b.var(cursors[&k].position);
            inner.bind(&iterator.access, iterator.level, Position::One(at));
        }
        let outcome = self.cases(var, body, lattice, point, &[], &inner);
        for k in &members {
            let at = self.b.var(cursors[k].position);
            let next = self.b.add(at, one);
            self.b.assign(cursors[k].position, next);
        }
        let then = self.b.end_block();
        self.b.begin_block();
        for (&k, &own) in members.iter().zip(&coordinates) {
            let lags = self.b.compare(CompareOp::Lt, own, coordinate);
            self.b.begin_block();
            self.jump(lattice, k, cursors[&k], coordinate);
            let jump = self.b.end_block();
            self.b.push(lacunar_imp::Stmt::If { cond: lags, then: jump, otherwise: Vec::new() });
        }
        let otherwise = self.b.end_block();
        self.b.push(lacunar_imp::Stmt::If { cond: all, then, otherwise });
        let block = self.b.end_block();
        self.b.push(lacunar_imp::Stmt::While { cond: valid, body: block });
        outcome
    }

    /// Moves a cursor to its first coordinate that is `coordinate` or more: steps of doubled length until one is, then a search
    /// within the last step.
    pub(super) fn jump(&mut self, lattice: &Lattice, k: usize, cursor: Cursor, coordinate: ExprId) {
        let iterator = &lattice.iterators[k];
        let (one, two) = (self.b.int(1), self.b.int(2));
        let from = self.b.var(cursor.position);
        let step = self.b.declare("step", one);
        let length = self.b.var(step);
        let ahead = self.b.add(from, length);
        let left = self.b.compare(CompareOp::Lt, ahead, cursor.end);
        self.b.begin_block();
        let code = &self.tensors[iterator.access.tensor.index()].levels[iterator.level];
        let own = code.coordinate(&mut self.b, "ahead", cursor.at(ahead));
        let reached = self.b.compare(CompareOp::Ge, own, coordinate);
        self.b.if_then(reached, |b| b.push(lacunar_imp::Stmt::Break));
        let doubled = self.b.mul(length, two);
        self.b.assign(step, doubled);
        let block = self.b.end_block();
        self.b.push(lacunar_imp::Stmt::While { cond: left, body: block });
        let half = self.b.binary(BinaryOp::Div, length, two);
        let begin = self.b.add(from, half);
        let end = self.b.binary(BinaryOp::Min, ahead, cursor.end);
        let code = &self.tensors[iterator.access.tensor.index()].levels[iterator.level];
        let found = code.seek(&mut self.b, cursor.parent, begin, end, coordinate);
        self.b.assign(cursor.position, found);
    }

    /// Moves a cursor to its next coordinate, under a condition.
    pub(super) fn advance_if(&mut self, lattice: &Lattice, k: usize, cursor: Cursor, condition: ExprId) {
        let iterator = &lattice.iterators[k];
        self.b.begin_block();
        let code = &self.tensors[iterator.access.tensor.index()].levels[iterator.level];
        code.advance(&mut self.b, cursor.parent, cursor.position, cursor.end, cursor.state);
        let then = self.b.end_block();
        match self.b.as_const(condition) {
            Some(_) => then.into_iter().for_each(|stmt| self.b.push(stmt)),
            None => self.b.push(lacunar_imp::Stmt::If { cond: condition, then, otherwise: Vec::new() }),
        }
    }

    fn cursor_coordinate(
        &mut self,
        lattice: &Lattice,
        k: usize,
        cursors: &FxHashMap<usize, Cursor>,
        var: &str,
    ) -> ExprId {
        let iterator = &lattice.iterators[k];
        let at = self.b.var(cursors[&k].position);
        let name = format!("{var}_{}", self.kernel.tensors[iterator.access.tensor].name);
        let code = &self.tensors[iterator.access.tensor.index()].levels[iterator.level];
        code.coordinate(&mut self.b, &name, cursors[&k].at(at))
    }

    /// The end of the positions from a cursor on that have the coordinate; none, if the cursor has another.
    pub(super) fn segment_end(&mut self, lattice: &Lattice, k: usize, cursor: Cursor, coordinate: ExprId) -> ExprId {
        let iterator = &lattice.iterators[k];
        let name = self.position_name(lattice, k);
        let at = self.b.var(cursor.position);
        let segment = self.b.declare(&format!("{name}_segment"), at);
        let here = self.b.var(segment);
        let left = self.b.compare(CompareOp::Lt, here, cursor.end);
        self.b.begin_block();
        let code = &self.tensors[iterator.access.tensor.index()].levels[iterator.level];
        let own = code.coordinate(&mut self.b, &format!("{name}_crd"), cursor.at(here));
        let other = self.b.compare(CompareOp::Ne, own, coordinate);
        self.b.if_then(other, |b| b.push(lacunar_imp::Stmt::Break));
        let one = self.b.int(1);
        let next = self.b.add(here, one);
        self.b.assign(segment, next);
        let block = self.b.end_block();
        self.b.push(lacunar_imp::Stmt::While { cond: left, body: block });
        here
    }
}

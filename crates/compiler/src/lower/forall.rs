//! Loops: `forall(i, body)` by its merge lattice.
//!
//! One loop is made for each set of iterators that is advanced together (largest set first), and inside each loop one
//! case for every lattice point that it contains. A set of one iterator is a `for` over its positions; the empty set
//! is a `for` over the dimension; anything else is a `while` merge ([`super::merge`]).

use lacunar_base::Diagnostic;
use lacunar_imp::{CompareOp, ExprId, LoopKind};
use lacunar_notation::VarId;
use lacunar_notation::concrete::Stmt;
use lacunar_notation::schedule::Unit;

use super::space::Interval;
use super::{Lowerer, Scope};
use crate::iterate::iterators::level_var;
use crate::iterate::lattice::{Lattice, Point};
use crate::levels::{At, Only, Position};

impl Lowerer<'_> {
    pub(super) fn forall(&mut self, var: VarId, body: &Stmt, scope: &Scope) -> Result<(), Diagnostic> {
        if let Some(pending) = scope.pending.get(&var).cloned() {
            return self.pending_loop(var, &pending, body, scope);
        }
        if let Some(race) = self.shared(var) {
            return self.parallel_loop(var, race, body, scope);
        }
        if !self.kernel.provenance.is_plain(var) {
            return self.derived_loop(var, body, scope);
        }
        self.original_loop(var, body, scope)?;
        self.append_edges(var, body, scope)
    }

    /// The loops over an original variable, within what the scope confines it to.
    pub(super) fn original_loop(&mut self, var: VarId, body: &Stmt, scope: &Scope) -> Result<(), Diagnostic> {
        let lattice = Lattice::build(self.kernel, body, var).map_err(|error| {
            Diagnostic::internal(format!("{} sparse operands meet in one loop; at most 64 can", error.0))
        })?;
        let mut confined = scope.clone();
        self.confine_recovered(var, &mut confined)?;
        let scope = &confined;
        let searched = lattice.searched();
        let mut loops: Vec<Point> = lattice.points.iter().map(|point| Point(point.0 & !searched.0)).collect();
        loops.sort_by_key(|point| (std::cmp::Reverse(point.0.count_ones()), point.0));
        loops.dedup();
        let reserved = self.reserved;
        match loops.as_slice() {
            [] => {}
            [only] if *only == Point::ALL => {
                let (begin, end) = self.dense_bounds(var, scope)?;
                self.reserved |= self.reserve_ahead(var, body, scope, &mut |this| this.b.sub(end, begin));
                self.tested_loop(var, body, &lattice, scope, (begin, end))?;
            }
            _ if self.stores_words(&lattice, &loops) => self.stored_words(var, body, &lattice, &loops, scope)?,
            [only] if only.0.count_ones() == 1 => self.single_loop(var, body, &lattice, *only, scope)?,
            _ if self.merges_by_words(var, &lattice, &loops, scope) => {
                self.word_loop(var, body, &lattice, &loops, scope)?;
            }
            _ if super::union::is_large(&lattice, body) => {
                self.union_loop(var, body, &lattice, scope)?;
            }
            _ => self.merge_loops(var, body, &lattice, &loops, scope)?,
        }
        self.reserved = reserved;
        Ok(())
    }

    /// A loop over coordinates.
    pub(super) fn dense_loop(
        &mut self,
        var: VarId,
        body: &Stmt,
        lattice: &Lattice,
        scope: &Scope,
        interval: Interval,
    ) -> Result<(), Diagnostic> {
        let mut outcome = Ok(());
        self.in_for_over(var, interval, scope, |this, i| {
            let mut inner = scope.clone();
            inner.coordinates.insert(var, i);
            outcome = match this.tests_in_lanes(var, body, lattice, &inner) {
                true => this.test_in_lanes(var, body, lattice, i, &inner),
                false => this.cases(var, body, lattice, Point::ALL, &[], &inner),
            };
        });
        outcome
    }

    /// A loop over the positions of one iterator.
    fn single_loop(
        &mut self,
        var: VarId,
        body: &Stmt,
        lattice: &Lattice,
        point: Point,
        scope: &Scope,
    ) -> Result<(), Diagnostic> {
        let Some(k) = point.members().next() else { return Ok(()) };
        if !self.repeats(lattice, k) && self.run_loop(var, body, lattice, k, scope)? {
            return Ok(());
        }
        if self.repeats(lattice, k) || !self.is_contiguous(lattice, k) {
            return self.merge_loops(var, body, lattice, &[point], scope);
        }
        let only = self.only(lattice, k, scope)?;
        let (begin, end) = match only {
            Some(only) => only.range(&mut self.b),
            None => self.bounds(lattice, k, scope)?,
        };
        self.reserved |= self.reserve_ahead(var, body, scope, &mut |this| this.b.sub(end, begin));
        let name = self.position_name(lattice, k);
        let iterator = &lattice.iterators[k];
        let level = self.kernel.tensors[iterator.access.tensor].format.levels()[iterator.level];
        if level.properties().single && !level.properties().branchless {
            let some = only.map_or_else(|| self.b.compare(CompareOp::Lt, begin, end), |only| only.present);
            self.b.begin_block();
            let outcome = self.at_position(var, body, lattice, k, begin, scope);
            let then = self.b.end_block();
            self.b.push(lacunar_imp::Stmt::If { cond: some, then, otherwise: Vec::new() });
            return outcome;
        }
        let mut outcome = Ok(());
        let kind = self.loop_kind(var, scope);
        self.in_for_kind(&name, begin, end, kind, |this, p| {
            outcome = this.at_position(var, body, lattice, k, p, scope);
        });
        outcome
    }

    /// What is done at one position of the only iterator of a loop.
    pub(super) fn at_position(
        &mut self,
        var: VarId,
        body: &Stmt,
        lattice: &Lattice,
        k: usize,
        position: ExprId,
        scope: &Scope,
    ) -> Result<(), Diagnostic> {
        let iterator = &lattice.iterators[k];
        let name = self.kernel.vars[var].name.clone();
        let at = At { parent: self.parent_of(lattice, k, scope)?, position, state: None };
        let code = &self.tensors[iterator.access.tensor.index()].levels[iterator.level];
        let coordinate = code.coordinate(&mut self.b, &name, at);
        self.at_stored(var, body, lattice, k, (position, coordinate), scope)
    }

    /// What is done at a position of the only iterator of a loop, which has this coordinate.
    pub(super) fn at_stored(
        &mut self,
        var: VarId,
        body: &Stmt,
        lattice: &Lattice,
        k: usize,
        (position, coordinate): (ExprId, ExprId),
        scope: &Scope,
    ) -> Result<(), Diagnostic> {
        let iterator = &lattice.iterators[k];
        let mut inner = scope.clone();
        inner.coordinates.insert(var, coordinate);
        inner.bind(&iterator.access, iterator.level, Position::One(position));
        self.cases(var, body, lattice, Point(1 << k), &[], &inner)
    }

    /// The body at one coordinate of a loop over the iterators of `here`: a case for each lattice point in it.
    ///
    /// `present` says, for the iterators of a merge, under which condition each has the coordinate; an iterator of
    /// `here` that is not named is certain to have it.
    pub(super) fn cases(
        &mut self,
        var: VarId,
        body: &Stmt,
        lattice: &Lattice,
        here: Point,
        present: &[(usize, ExprId)],
        scope: &Scope,
    ) -> Result<(), Diagnostic> {
        let searched = lattice.searched();
        let mut scope = scope.clone();
        scope.depth += 1;
        let mut present = present.to_vec();
        let points: Vec<Point> =
            lattice.points.iter().copied().filter(|point| here.contains(Point(point.0 & !searched.0))).collect();
        if points.iter().any(|point| point.0 & searched.0 != 0) {
            self.search(var, lattice, here, &points, &mut present, &mut scope)?;
        }
        let mut branches: Vec<(ExprId, lacunar_imp::Block)> = Vec::new();
        let mut last = None;
        // Which combinations of uncertain iterators no earlier case has taken.
        let uncertain: Vec<usize> = present.iter().map(|(k, _)| *k).collect();
        let merging = here.0 & !searched.0;
        let needs_one = merging != 0 && !lattice.visits_all();
        let mut open = combinations(&uncertain, merging, needs_one);
        for point in points {
            let taken = |set: &u64| Point(*set | !mask(&uncertain)).contains(Point(point.0 & mask(&uncertain)));
            if !open.is_empty() && !open.iter().any(taken) {
                continue;
            }
            let certain = !open.is_empty() && open.iter().all(taken);
            open.retain(|set| !taken(set));
            let residual = lattice.residual(self.kernel, body, point);
            let mut outcome = Ok(());
            self.b.begin_block();
            if let Some(residual) = &residual {
                outcome = self.at_coordinate(var, residual, &scope);
            }
            let block = self.b.end_block();
            outcome?;
            let condition = present.iter().filter(|(k, _)| point.has(*k)).fold(None, |all, (_, c)| match all {
                None => Some(*c),
                Some(all) => Some(self.b.and(all, *c)),
            });
            match condition {
                Some(condition) if !certain => branches.push((condition, block)),
                _ => {
                    last = Some(block);
                    break;
                }
            }
        }
        let chain = branches.into_iter().rev().fold(last.unwrap_or_default(), |otherwise, (cond, then)| {
            if then.is_empty() && otherwise.is_empty() {
                return otherwise;
            }
            vec![lacunar_imp::Stmt::If { cond, then, otherwise }]
        });
        chain.into_iter().for_each(|stmt| self.b.push(stmt));
        Ok(())
    }

    /// One case: the residual body with the coordinate bound, and what a result appends around it.
    pub(super) fn at_coordinate(&mut self, var: VarId, residual: &Stmt, scope: &Scope) -> Result<(), Diagnostic> {
        if let Some(whole) = self.is_whole_block(var, scope)? {
            let (mut inside, mut last) = (scope.clone(), scope.clone());
            inside.whole_blocks.push(whole.var);
            last.last_block = true;
            self.b.begin_block();
            self.at_coordinate(var, residual, &inside)?;
            let then = self.b.end_block();
            self.b.begin_block();
            self.at_coordinate(var, residual, &last)?;
            let otherwise = self.b.end_block();
            self.b.push(lacunar_imp::Stmt::If { cond: whole.cond, then, otherwise });
            return Ok(());
        }
        self.clear_result(scope)?;
        let mark = self.before_append(var, residual, scope)?;
        let written = self.stmt(residual, scope)?;
        self.append(var, mark, written, scope)
    }

    /// Looks the coordinate up in the levels that are searched.
    fn search(
        &mut self,
        var: VarId,
        lattice: &Lattice,
        here: Point,
        points: &[Point],
        present: &mut Vec<(usize, ExprId)>,
        scope: &mut Scope,
    ) -> Result<(), Diagnostic> {
        let searched = lattice.searched();
        let wanted = Point::union(points).0 & searched.0;
        for k in Point(wanted).members() {
            let iterator = &lattice.iterators[k];
            // Searched only where the levels above have the coordinate.
            let above: Vec<usize> = (0..lattice.iterators.len())
                .filter(|&other| {
                    lattice.iterators[other].access == iterator.access
                        && lattice.iterators[other].level < iterator.level
                })
                .collect();
            let mut conditions: Vec<ExprId> =
                present.iter().filter(|(other, _)| above.contains(other)).map(|(_, condition)| *condition).collect();
            conditions.extend(scope.uncertain.get(&iterator.access).map(|uncertain| uncertain.present));
            if above.iter().any(|&other| !here.has(other) && !searched.has(other)) {
                continue;
            }
            if let Some(marks) = self.marks_of(iterator.access.tensor) {
                let coordinate = scope.coordinates[&var];
                let marked = self.b.load("marked", marks, coordinate);
                let found = conditions.into_iter().fold(marked, |all, c| self.b.and(all, c));
                scope.bind(&iterator.access, iterator.level, Position::One(coordinate));
                present.push((k, found));
                continue;
            }
            let no = self.b.bool(false);
            let found = self.b.declare("found", no);
            let zero = self.b.int(0);
            let at = self.b.declare(&self.position_name(lattice, k), zero);
            let until = self.b.declare(&format!("{}_end", self.position_name(lattice, k)), zero);
            let coordinate = scope.coordinates[&var];
            let condition = conditions.into_iter().fold(self.b.bool(true), |all, c| self.b.and(all, c));
            self.b.begin_block();
            let bounds = self.bounds(lattice, k, scope);
            let parent = self.parent_of(lattice, k, scope);
            if let (Ok(bounds), Ok(parent)) = (&bounds, &parent) {
                let code = &self.tensors[iterator.access.tensor.index()].levels[iterator.level];
                let (p, q) = code.find(&mut self.b, *parent, *bounds, coordinate);
                let hit = self.b.compare(CompareOp::Lt, p, q);
                self.b.assign(found, hit);
                self.b.assign(at, p);
                self.b.assign(until, q);
            }
            let block = self.b.end_block();
            bounds.and(parent)?;
            match self.b.as_const(condition) {
                Some(_) => block.into_iter().for_each(|stmt| self.b.push(stmt)),
                None => self.b.push(lacunar_imp::Stmt::If { cond: condition, then: block, otherwise: Vec::new() }),
            }
            let (at, until, found) = (self.b.var(at), self.b.var(until), self.b.var(found));
            let position = if self.repeats(lattice, k) { Position::Range(at, until) } else { Position::One(at) };
            scope.bind(&iterator.access, iterator.level, position);
            present.push((k, found));
        }
        Ok(())
    }

    /// The positions of an iterator, under the position of the level above.
    pub(super) fn bounds(
        &mut self,
        lattice: &Lattice,
        k: usize,
        scope: &Scope,
    ) -> Result<(ExprId, ExprId), Diagnostic> {
        let iterator = &lattice.iterators[k];
        let parent = self.position(&iterator.access, iterator.level.checked_sub(1), scope)?;
        let code = self.tensors[iterator.access.tensor.index()].levels.get(iterator.level);
        let code = code.ok_or_else(|| {
            Diagnostic::internal(format!(
                "`{}` is iterated but has no arrays",
                self.kernel.tensors[iterator.access.tensor].name
            ))
        })?;
        let Some(uncertain) = scope.uncertain.get(&iterator.access) else {
            let bounds = code.bounds(&mut self.b, parent);
            return self.confine(iterator, bounds, scope);
        };
        // Nothing under a parent that is absent.
        let zero = self.b.int(0);
        let (begin, end) = (self.b.declare("begin", zero), self.b.declare("end", zero));
        self.b.begin_block();
        let bounds = code.bounds(&mut self.b, parent);
        let confined = self.confine(iterator, bounds, scope);
        let (from, to) = confined.clone().unwrap_or(bounds);
        self.b.assign(begin, from);
        self.b.assign(end, to);
        let then = self.b.end_block();
        self.b.push(lacunar_imp::Stmt::If { cond: uncertain.present, then, otherwise: Vec::new() });
        confined.map(|_| (self.b.var(begin), self.b.var(end)))
    }

    /// The only position of an iterator that has one at most, where nothing confines it.
    fn only(&mut self, lattice: &Lattice, k: usize, scope: &Scope) -> Result<Option<Only>, Diagnostic> {
        let iterator = &lattice.iterators[k];
        let (key, level) = (&iterator.access, iterator.level);
        let var = level_var(self.kernel, key, level);
        let whole = (self.b.int(0), self.size(var));
        let confined = scope.confined.get(&var).is_some_and(|interval| *interval != whole);
        if confined || scope.windows.contains_key(&(key.clone(), level)) || scope.uncertain.contains_key(key) {
            return Ok(None);
        }
        let parent = self.position(key, level.checked_sub(1), scope)?;
        Ok(self.tensors[key.tensor.index()].levels.get(level).and_then(|code| code.only(&mut self.b, parent)))
    }

    /// The position of the level above that an iterator is under (one of them, where they share a coordinate).
    pub(super) fn parent_of(&mut self, lattice: &Lattice, k: usize, scope: &Scope) -> Result<ExprId, Diagnostic> {
        let iterator = &lattice.iterators[k];
        Ok(self.position(&iterator.access, iterator.level.checked_sub(1), scope)?.first())
    }

    /// Whether an iterator has a coordinate at every position within its bounds.
    pub(super) fn is_contiguous(&self, lattice: &Lattice, k: usize) -> bool {
        let iterator = &lattice.iterators[k];
        let code = self.tensors[iterator.access.tensor.index()].levels.get(iterator.level);
        code.is_none_or(|code| code.is_contiguous())
    }

    /// Whether a coordinate can occur at several positions of an iterator: it is not the last level, and the level below
    /// has one position for each of them.
    pub(super) fn repeats(&self, lattice: &Lattice, k: usize) -> bool {
        let iterator = &lattice.iterators[k];
        let levels = self.kernel.tensors[iterator.access.tensor].format.levels();
        let below = levels.get(iterator.level + 1);
        !levels[iterator.level].properties().unique && below.is_some_and(|level| level.properties().branchless)
    }

    pub(super) fn position_name(&self, lattice: &Lattice, k: usize) -> String {
        let iterator = &lattice.iterators[k];
        format!("p{}{}", self.name(iterator.access.tensor), iterator.level + 1)
    }

    /// A serial `for` loop whose body needs the whole lowerer.
    pub(super) fn in_for(&mut self, name: &str, begin: ExprId, end: ExprId, build: impl FnOnce(&mut Self, ExprId)) {
        self.in_for_kind(name, begin, end, LoopKind::Serial, build);
    }

    /// A `for` loop of some kind.
    pub(super) fn in_for_kind(
        &mut self,
        name: &str,
        begin: ExprId,
        end: ExprId,
        kind: LoopKind,
        build: impl FnOnce(&mut Self, ExprId),
    ) {
        let counter = self.b.begin_for_kind(kind, name, begin, end);
        build(self, counter);
        self.b.end_for();
    }

    /// How the schedule says that the loop over a variable is run, other than by threads.
    pub(super) fn loop_kind(&self, var: VarId, scope: &Scope) -> LoopKind {
        let leaf = scope.leaves.get(&var).copied().unwrap_or(var);
        match self.kernel.provenance.parallel(leaf) {
            Some((Unit::CpuVector, _)) => LoopKind::Vector(0),
            _ => self.kernel.provenance.unroll(leaf).map_or(LoopKind::Serial, LoopKind::Unrolled),
        }
    }
}

fn mask(iterators: &[usize]) -> u64 {
    iterators.iter().fold(0, |all, k| all | 1 << k)
}

/// The combinations in which uncertain iterators can be present; at least one of the merged ones, where some one is sure
/// to be. Nothing (no knowledge) where they would be too many.
fn combinations(uncertain: &[usize], merging: u64, needs_one: bool) -> Vec<u64> {
    if uncertain.len() > 6 {
        return Vec::new();
    }
    let sets = (0u64..1 << uncertain.len()).map(|bits| {
        uncertain.iter().enumerate().filter(|(n, _)| bits >> n & 1 == 1).fold(0, |all, (_, k)| all | 1 << k)
    });
    let all_uncertain = merging & !mask(uncertain) == 0;
    sets.filter(|set| !(needs_one && all_uncertain) || set & merging != 0).collect()
}

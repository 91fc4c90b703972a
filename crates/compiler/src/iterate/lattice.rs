//! Merge lattices: the combinations of iterators that a loop has to visit, and the computation at each.
//!
//! A *lattice point* is a set of iterators that all have a value at a coordinate. A loop over `i` around
//! `a(i) = b(i) + c(i)`, all sparse, has the points
//!
//! ```text
//!          {b, c}     a = b + c      while both have coordinates left, visit the smaller of theirs
//!         /      \
//!      {b}        {c}     a = b      then the rest of b;  a = c   then the rest of c
//!         \      /
//!           {}            nothing is stored: not visited, and not in the lattice
//! ```
//!
//! For `b(i) * c(i)` only `{b, c}` is left. The point without iterators stands for *every* coordinate of the dimension:
//! it is there where the expression has a value even if nothing is stored (a dense operand in a sum, `exp(b(i))`).
//! Points are ordered by inclusion; a loop is made for each, the largest first, and inside it the smaller ones that it
//! contains are its cases.
//!
//! The points of a statement follow from the algebra of its expression:
//!
//! ```text
//! access whose levels at the variable are iterated       {those}          located, or of other variables: {}
//! f(a, b), absent if either is (a * b)                   p + q for p of a, q of b
//! f(a, b), absent if a is (a / b)                        p + q, and p
//! f(a, b) otherwise (a + b, min)                         p + q, and p, and q
//! an operator with regions, such as { left a }           p + q, and p: values tell which region it is
//! assignment                                             those of its right-hand side;  with {} unless it preserves the fill value where
//!                                                        nothing is stored (exp(b), sums of other fill values than 0)
//! ```
//!
//! Papers: Kjolstad et al. 2017, §4 and §5.1; the rule for other operators from Henry et al. 2021, §4.2. The
//! simplifications of §5.2 fall out: full levels are located and never in a point, so that dense with dense is the one
//! point `{}`, and a dense operand never adds an iterator to a product.

use lacunar_formats::Level;
use lacunar_notation::concrete::{Assign, Kernel, Stmt};
use lacunar_notation::provenance::{Relation, Tag};
use lacunar_notation::schedule::Unit;
use lacunar_notation::{Access, Expr, ExprKind, Role, TensorId, VarId, WorkspaceKind};

use super::iterators::{AccessKey, Iterator, Mode, iterators, level_var};
pub use super::points::Point;
use super::points::PointSet;
use super::position_space::replaced_by;
use super::residual::residual;
use crate::algebra::{Support, choice, preserves_fill, support};
use crate::levels::{is_searched, is_tested};
use crate::operators::visited;

/// The iterators of a loop and the points at which its body has something to do, largest first.
#[derive(Clone, Debug)]
pub struct Lattice {
    /// The iterators.
    pub iterators: Vec<Iterator>,
    /// The points; none is there twice.
    pub points: Vec<Point>,
    /// True if there are so many points that only the smallest are among `points`, and the largest: the others, with whatever is done at
    /// them, lie between.
    pub is_coarse: bool,
    /// Levels that hold all coordinates of an interval and are in every point: they are no iterators, as they confine the loop.
    pub confining: Vec<Iterator>,
}

/// The most lattice points that get a loop each in an innermost merge of intervals.
pub const MOST_PIECES: usize = 8;
/// The same in a loop around others.
pub const MOST_OUTER_PIECES: usize = 4;

/// More iterators in one loop than a point can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyIterators(pub usize);

impl Lattice {
    /// The lattice of a loop over `var` around `body`.
    ///
    /// # Errors
    /// [`TooManyIterators`] above 64.
    pub fn build(kernel: &Kernel, body: &Stmt, var: VarId) -> Result<Lattice, TooManyIterators> {
        let iterators = iterators(kernel, body, var);
        if iterators.len() > 64 {
            return Err(TooManyIterators(iterators.len()));
        }
        let builder = Points { kernel, iterators: &iterators, var };
        let PointSet { mut points, is_coarse } = builder.of_stmt(body, &mut Vec::new());
        // A loop over positions visits only coordinates at these.
        let driven = replaced_by(kernel, var).map(AccessKey::from);
        let driver = iterators.iter().position(|it| driven.as_ref() == Some(&it.access) && it.mode == Mode::Coiterate);
        if let Some(driver) = driver {
            points.iter_mut().for_each(|point| point.0 |= 1 << driver);
        }
        points.sort_by_key(|point| (std::cmp::Reverse(point.0.count_ones()), point.0));
        points.dedup();
        if !is_coarse {
            drop_apart(kernel, &iterators, &mut points);
        }
        let mut iterators = iterators;
        let confining = take_confining(kernel, &mut iterators, &mut points);
        search_indicators(kernel, body, &mut iterators, &points);
        search_tested(kernel, var, &mut iterators, &points);
        if let ([only], true) = (iterators.as_mut_slice(), points == [Point(1)])
            && confining.is_empty()
            && can_be_unordered(kernel, body, var, only)
        {
            only.mode = Mode::Coiterate;
        }
        Ok(Lattice { iterators, points, is_coarse, confining })
    }

    /// The same without the points between the smallest and the largest: a loop has no cases for them, and tests each operand.
    pub fn coarsened(self) -> Lattice {
        let mut points = PointSet::coarse(self.points).points;
        points.sort_by_key(|point| (std::cmp::Reverse(point.0.count_ones()), point.0));
        Lattice { points, is_coarse: true, ..self }
    }

    /// True if there is something to do at every coordinate of the dimension.
    pub fn is_full(&self) -> bool {
        self.has_rest() && self.confining.is_empty()
    }

    /// True if there is something to do where no iterator has a coordinate.
    pub fn has_rest(&self) -> bool {
        self.points.contains(&Point::ALL)
    }

    /// True if the same is done at every coordinate of the dimension.
    pub fn is_dense(&self) -> bool {
        self.points == [Point::ALL] && self.confining.is_empty()
    }

    /// True if every coordinate of the loop is looked at: something may be done where no iterator that is advanced has a
    /// coordinate, perhaps if one is found that is searched.
    pub fn visits_all(&self) -> bool {
        let searched = self.searched();
        self.points.iter().any(|point| searched.contains(*point))
    }

    /// The iterators that are searched rather than advanced.
    pub fn searched(&self) -> Point {
        Point(self.iterators.iter().enumerate().filter(|(_, it)| it.mode == Mode::Search).map(|(k, _)| 1 << k).sum())
    }

    /// The rest of `body` at a point: every iterator that is not in it is absent.
    pub fn residual(&self, kernel: &Kernel, body: &Stmt, point: Point) -> Option<Stmt> {
        let absent: Vec<&AccessKey> =
            self.iterators.iter().enumerate().filter(|(k, _)| !point.has(*k)).map(|(_, it)| &it.access).collect();
        residual(&kernel.tensors, body, &|access: &Access| absent.iter().any(|key| **key == AccessKey::from(access)))
    }
}

/// The interval of coordinates at which an equation leaves something, if the iterator is its first level and sizes tell.
pub fn solvable(kernel: &Kernel, iterator: &Iterator) -> Option<(u64, u64)> {
    let tensor = &kernel.tensors[iterator.access.tensor];
    let equation = tensor.indicator.as_deref()?.equation().filter(|_| iterator.level == 0)?;
    let sizes: Vec<u64> = tensor.dims.iter().copied().collect::<Option<_>>()?;
    equation.solvable(*tensor.format.mode_order().first()?, &sizes)
}

/// Drops the points at which no coordinate is: those of intervals that are never met together, or never without another.
///
/// ```text
/// C(i,j) = A(i,j) + B(i-8,j)      A with 8 rows: intervals 0 .. 8 and 8 .. 16, and no point {A, B}
/// ```
fn drop_apart(kernel: &Kernel, iterators: &[Iterator], points: &mut Vec<Point>) {
    let advanced = iterators.iter().enumerate().filter(|(_, it)| it.mode == Mode::Coiterate);
    let known: Vec<(usize, (u64, u64))> = advanced.filter_map(|(k, it)| Some((k, solvable(kernel, it)?))).collect();
    let all = Point::of(known.iter().map(|(k, _)| *k));
    // The set of present iterators changes at the ends of intervals only.
    let ends = known.iter().flat_map(|(_, (low, high))| [*low, *high]).chain([0]);
    let present =
        |at: u64| Point::of(known.iter().filter(|(_, (low, high))| (*low..*high).contains(&at)).map(|(k, _)| *k));
    let met: Vec<Point> = ends.map(present).collect();
    let others = |point: Point| point.0 & !all.0;
    let is_met = |point: &Point| {
        let own = Point(point.0 & all.0);
        let is_largest = |present: &Point| {
            let is_larger = |other: &Point| {
                let theirs = Point(other.0 & all.0);
                others(*other) == others(*point) && theirs != own && theirs.contains(own) && present.contains(theirs)
            };
            present.contains(own) && !points.iter().any(is_larger)
        };
        *point == Point::ALL || met.iter().any(is_largest)
    };
    let left: Vec<Point> = points.iter().copied().filter(is_met).collect();
    // An iterator without a point would be taken for one that is always there.
    if Point::union(&left) == Point::union(points) {
        *points = left;
    }
}

/// Takes the levels that confine the loop out of its iterators: those that hold all coordinates of an interval, without which nothing
/// is done. The remaining iterators are advanced by searches, to coordinates within the interval.
///
/// ```text
/// y(i) = A(i,j) * (j <= i) * x(j)      A: csr      for p in A2_pos[i] .. the first position behind column i
/// ```
fn take_confining(kernel: &Kernel, iterators: &mut Vec<Iterator>, points: &mut Vec<Point>) -> Vec<Iterator> {
    let advanced = |it: &Iterator| it.mode == Mode::Coiterate;
    let required = points.iter().fold(u64::MAX, |all, point| all & point.0);
    let confines = |k: usize| {
        let it = &iterators[k];
        let indicator = kernel.tensors[it.access.tensor].indicator.as_deref();
        advanced(it) && indicator.is_some_and(|own| own.has_interval(it.level)) && Point(required).has(k)
    };
    let taken = Point::of((0..iterators.len()).filter(|&k| confines(k)));
    // Lists of workspaces are in the order in which they were filled, unless that is asked for.
    let in_order = |it: &Iterator| {
        let tensor = &kernel.tensors[it.access.tensor];
        tensor.format.levels()[it.level].properties().ordered && !tensor.role.is_listed()
    };
    let others = (0..iterators.len()).filter(|&k| !taken.has(k) && advanced(&iterators[k]));
    if points.is_empty() || !others.into_iter().all(|k| in_order(&iterators[k])) {
        return Vec::new();
    }
    let kept: Vec<usize> = (0..iterators.len()).filter(|&k| !taken.has(k)).collect();
    let renumbered = |point: &Point| Point::of((0..kept.len()).filter(|&new| point.has(kept[new])));
    *points = points.iter().map(renumbered).collect();
    let (confining, rest) =
        std::mem::take(iterators).into_iter().enumerate().partition::<Vec<_>, _>(|(k, _)| taken.has(*k));
    *iterators = rest.into_iter().map(|(_, it)| it).collect();
    confining.into_iter().map(|(_, it)| it).collect()
}

/// Searches around indicators: their intervals tell at once if they have a coordinate, and are not advanced where stored coordinates
/// lead; where the last level of one leads, its only coordinate is looked up in the others.
///
/// If every coordinate is looked at, and nothing else is merged, the intervals are advanced: they part the dimension into pieces.
fn search_indicators(kernel: &Kernel, body: &Stmt, iterators: &mut [Iterator], points: &[Point]) {
    let computed = |it: &Iterator| kernel.tensors[it.access.tensor].indicator.is_some();
    let has_interval = |it: &Iterator| {
        let indicator = kernel.tensors[it.access.tensor].indicator.as_deref();
        indicator.is_some_and(|own| own.has_interval(it.level))
    };
    let last = |it: &Iterator| computed(it) && !has_interval(it);
    let advanced = |it: &Iterator| it.mode == Mode::Coiterate;
    let led = |iterators: &[Iterator], by: &dyn Fn(&Iterator) -> bool| {
        points.iter().all(|point| point.members().any(|k| advanced(&iterators[k]) && by(&iterators[k])))
    };
    if led(iterators, &last) {
        let level = |it: &Iterator| kernel.tensors[it.access.tensor].format.levels()[it.level];
        let others = iterators.iter_mut().filter(|it| !computed(it) && is_searched(level(it)));
        others.for_each(|it| it.mode = Mode::Search);
    }
    let gathered = |it: &Iterator| {
        let indicator = kernel.tensors[it.access.tensor].indicator.as_deref();
        last(it) && indicator.is_some_and(|indicator| indicator.gather().is_some())
    };
    let stored = |it: &Iterator| gathered(it) || (!computed(it) && !kernel.tensors[it.access.tensor].role.is_marked());
    let interval = |it: &Iterator| {
        let tensor = &kernel.tensors[it.access.tensor];
        let mode = tensor.format.mode_order().get(it.level);
        let factor = tensor.indicator.as_deref().zip(mode).and_then(|(own, &mode)| own.factor(mode));
        has_interval(it) && factor.is_some_and(|factor| factor.abs() == 1)
    };
    let most = if matches!(body, Stmt::Assign(_)) { MOST_PIECES } else { MOST_OUTER_PIECES };
    let in_pieces = points.len() <= most && iterators.iter().filter(|it| advanced(it)).all(interval);
    if led(iterators, &stored) || (points.contains(&Point::ALL) && !in_pieces) {
        iterators.iter_mut().filter(|it| computed(it) && !last(it)).for_each(|it| it.mode = Mode::Search);
    }
}

/// Searches the iterators that tell at once if they have a coordinate: workspaces with marks, and levels that are tested. They are
/// not advanced if others lead, or if every coordinate is looked at, because something is done at all of them, or in vector lanes.
///
/// ```text
/// a(i) = b(i) * c(i)     b: compressed, c: bitmap     for p in positions of b { i = crd[p]; if bit i of c .. }
/// a(i) = b(i) + c(i)     a: dense, c: bitmap, lanes   for i in lanes { .. if bit i of c .. }
/// ```
fn search_tested(kernel: &Kernel, var: VarId, iterators: &mut [Iterator], points: &[Point]) {
    let marked = |it: &Iterator| kernel.tensors[it.access.tensor].role.is_marked();
    let tested = |it: &Iterator| advances_by_words(kernel, it);
    let advanced = |it: &Iterator| it.mode == Mode::Coiterate;
    for k in 0..iterators.len() {
        let follows = marked(&iterators[k]) || tested(&iterators[k]);
        let leads = |it: &Iterator| advanced(it) && !marked(it) && (marked(&iterators[k]) || !tested(it));
        let led = |point: &Point| point.members().any(|other| leads(&iterators[other]));
        if follows && points.iter().all(led) {
            iterators[k].mode = Mode::Search;
        }
    }
    let all_tested = iterators.iter().filter(|it| advanced(it)).all(tested);
    if all_tested && (points.contains(&Point::ALL) || runs_in_lanes(kernel, var)) {
        iterators.iter_mut().filter(|it| it.mode == Mode::Coiterate).for_each(|it| it.mode = Mode::Search);
    }
}

/// True if an iterator can be advanced by words of 64 coordinates, and tested for each of them.
pub(crate) fn advances_by_words(kernel: &Kernel, it: &Iterator) -> bool {
    let tensor = &kernel.tensors[it.access.tensor];
    let by_positions = kernel.provenance.relations.iter().any(|relation| matches!(relation, Relation::Pos { .. }));
    let again =
        (0..it.level).any(|above| level_var(kernel, &it.access, above) == level_var(kernel, &it.access, it.level));
    !matches!(tensor.role, Role::Workspace(_)) && is_tested(tensor.format.levels()[it.level]) && !by_positions && !again
}

/// True if the loops over a variable, none of which appends to a result, run in vector lanes.
fn runs_in_lanes(kernel: &Kernel, var: VarId) -> bool {
    let lanes = |(leaf, tag): &(VarId, Tag)| {
        matches!(tag, Tag::Parallel(Unit::CpuVector, _)) && kernel.provenance.originals(*leaf).contains(&var)
    };
    kernel.provenance.tags.iter().any(lanes) && !appends(kernel, &kernel.stmt, var)
}

/// True if a statement appends coordinates of a variable to a result.
fn appends(kernel: &Kernel, stmt: &Stmt, var: VarId) -> bool {
    let mut appended = false;
    stmt.visit_assigns(&mut |assign| {
        let tensor = &kernel.tensors[assign.lhs.tensor];
        appended |= tensor.role == Role::Result && !tensor.format.is_dense() && assign.lhs.vars.contains(&var);
    });
    appended
}

/// True if the only iterator of a loop, whose coordinates are in no order, can be enumerated all the same: the loop visits all of
/// them, and no result is appended to in their order.
fn can_be_unordered(kernel: &Kernel, body: &Stmt, var: VarId, only: &Iterator) -> bool {
    let level = kernel.tensors[only.access.tensor].format.levels()[only.level];
    let first = (0..only.level).all(|above| level_var(kernel, &only.access, above) != var);
    let unordered = !level.properties().ordered && level.capabilities().iterate();
    unordered && first && !demands_order(kernel, body, var)
}

/// True if the only iterator of a loop over a variable has to have its coordinates in order: the loop does not visit all of them, or
/// a result is appended to in their order.
pub(crate) fn demands_order(kernel: &Kernel, body: &Stmt, var: VarId) -> bool {
    let whole = kernel.provenance.is_plain(var) && !kernel.provenance.is_shared(var) && !kernel.is_confined(var);
    !whole || appends_in_order(kernel, body, var)
}

/// True if a statement appends coordinates of a variable to a result, in a level that keeps them in order.
fn appends_in_order(kernel: &Kernel, stmt: &Stmt, var: VarId) -> bool {
    let mut found = false;
    stmt.visit_assigns(&mut |assign| {
        let tensor = &kernel.tensors[assign.lhs.tensor];
        let levels = tensor.format.levels().iter().zip(tensor.format.mode_order());
        // Levels below one that is in no order do not tell its coordinates, however they are met.
        let in_order =
            |(level, &mode): (&Level, &usize)| assign.lhs.vars.get(mode) == Some(&var) && level.properties().ordered;
        let is_result = tensor.role == Role::Result && !tensor.format.is_dense();
        found |= is_result && levels.into_iter().any(in_order);
    });
    found
}

struct Points<'a> {
    kernel: &'a Kernel,
    iterators: &'a [Iterator],
    var: VarId,
}

/// A workspace that is read under a producer: the statement that fills it.
type Producers<'s> = Vec<(TensorId, &'s Stmt)>;

impl Points<'_> {
    fn of_stmt<'s>(&self, stmt: &'s Stmt, producers: &mut Producers<'s>) -> PointSet {
        match stmt {
            Stmt::Assign(assign) => self.of_assign(assign, producers),
            Stmt::Forall(_, body) => self.of_stmt(body, producers),
            Stmt::Sequence(stmts) => {
                let points = stmts.iter().map(|stmt| self.of_stmt(stmt, producers));
                points.fold(PointSet::none(), |a, b| a.either(&b))
            }
            Stmt::Where { consumer, producer } => {
                // Additions of a producer to a result happen whether the consumer has something to do or not.
                let written = producer.writes();
                let results = written.iter().filter(|tensor| self.kernel.tensors[**tensor].role == Role::Result);
                let own = results.map(|tensor| self.of_writes(producer, *tensor, producers));
                let own = own.fold(PointSet::none(), |a, b| a.either(&b));
                let depth = producers.len();
                producers.extend(written.into_iter().map(|tensor| (tensor, &**producer)));
                let points = self.of_stmt(consumer, producers);
                producers.truncate(depth);
                own.either(&points)
            }
        }
    }

    fn of_assign(&self, assign: &Assign, producers: &mut Producers<'_>) -> PointSet {
        let points = self.of_expr(&assign.rhs, producers);
        if preserves_fill(&self.kernel.tensors, assign) { points } else { points.either(&PointSet::of(Point::ALL)) }
    }

    /// The points at which an expression may differ from its background.
    fn of_expr(&self, expr: &Expr, producers: &mut Producers<'_>) -> PointSet {
        match &expr.kind {
            ExprKind::Literal(_) => PointSet::none(),
            ExprKind::Access(access) => self.of_access(access, producers),
            ExprKind::Cast(a) | ExprKind::Unary(_, a) | ExprKind::Reduce(_, _, a) => self.of_expr(a, producers),
            ExprKind::Binary(function, left, right) => {
                let (a, b) = (self.of_expr(left, producers), self.of_expr(right, producers));
                match support(&self.kernel.tensors, *function, left, right) {
                    Support::Intersection => a.both(&b),
                    Support::Left => a.both(&b).unite(&a),
                    Support::Right => a.both(&b).unite(&b),
                    Support::Union => a.either(&b),
                }
            }
            ExprKind::Apply(operator, operands) => {
                let visited = visited(&self.kernel.tensors, *operator, operands);
                let points: Vec<PointSet> = operands.iter().map(|operand| self.of_expr(operand, producers)).collect();
                let all = visited.demanded(operands.len()).into_iter().map(|set| PointSet::with_all(&points, &set));
                all.fold(PointSet::none(), |found, points| found.unite(&points))
            }
            ExprKind::Select(operands) => {
                let chosen = choice(&self.kernel.tensors, operands);
                let condition = self.of_expr(&operands[0], producers);
                let usual = self.of_expr(chosen.usual, producers);
                let other = condition.both(&self.of_expr(chosen.other, producers));
                // The condition decides also where the other value is absent.
                let decided = if chosen.is_same { condition.both(&usual) } else { condition };
                usual.either(&other.unite(&decided))
            }
        }
    }

    fn of_access(&self, access: &Access, producers: &mut Producers<'_>) -> PointSet {
        let role = self.kernel.tensors[access.tensor].role;
        if matches!(role, Role::Workspace(_)) && !access.vars.contains(&self.var) {
            // Outside the loops over the workspace: it has values at the points of its producer.
            let found = producers.iter().rposition(|(tensor, _)| *tensor == access.tensor);
            return match found {
                Some(place) => {
                    let (tensor, producer) = producers[place];
                    let mut outer: Producers<'_> = producers[..place].to_vec();
                    self.of_writes(producer, tensor, &mut outer)
                }
                None => PointSet::of(Point::ALL),
            };
        }
        if role == Role::Workspace(WorkspaceKind::Dense) {
            return PointSet::of(Point::ALL);
        }
        let key = AccessKey::from(access);
        let members = self.iterators.iter().enumerate().filter(|(_, it)| it.access == key);
        PointSet::of(Point::of(members.map(|(k, _)| k)))
    }

    /// The points of those assignments in a producer that fill `tensor`.
    fn of_writes<'s>(&self, stmt: &'s Stmt, tensor: TensorId, producers: &mut Producers<'s>) -> PointSet {
        match stmt {
            Stmt::Assign(assign) if assign.lhs.tensor == tensor => self.of_assign(assign, producers),
            Stmt::Assign(_) => PointSet::none(),
            Stmt::Forall(_, body) => self.of_writes(body, tensor, producers),
            Stmt::Sequence(stmts) => {
                let points = stmts.iter().map(|stmt| self.of_writes(stmt, tensor, producers));
                points.fold(PointSet::none(), |a, b| a.either(&b))
            }
            Stmt::Where { consumer, producer } => {
                let depth = producers.len();
                producers.extend(producer.writes().into_iter().map(|inner| (inner, &**producer)));
                let points = self.of_writes(consumer, tensor, producers);
                producers.truncate(depth);
                points
            }
        }
    }
}

/// True if a statement is an assignment, inside of loops with at most one iteration.
pub(crate) fn is_single(kernel: &Kernel, stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Assign(_) => true,
        Stmt::Forall(var, body) => {
            let single = Lattice::build(kernel, body, *var).is_ok_and(|lattice| {
                let [iterator] = lattice.iterators.as_slice() else { return false };
                let level = kernel.tensors[iterator.access.tensor].format.levels()[iterator.level];
                lattice.points == [Point(1)] && lattice.searched() == Point::ALL && level.properties().single
            });
            single && is_single(kernel, body)
        }
        Stmt::Where { .. } | Stmt::Sequence(_) => false,
    }
}

//! Products of a tensor with itself: `T(y, z) = M(y) M(z)`, and of more factors.
//!
//! The product does not change when the tuples `y` and `z` are exchanged, as multiplication is commutative. So it follows from the product
//! whose tuples ascend, in lexicographic order, after each is sent to its target; `k` factors are sorted by all orders of `k` tuples
//! (Ghorbani et al. 2023, Fig. 10, rule 1, corrected: the order is lexicographic, and targets are sorted again). Dimensions that all
//! factors index by one variable stay; where the maps of the factors move that variable unlike each other, the tuples are only sorted.
//! A product of a tensor and its conjugate is conjugated by an exchange.
//!
//! ```text
//! x(i) * x(j)                  (i,j) -> (j,i) where j < i
//! x(i) * x(j) * x(k)           sorted: of n^3 elements n (n + 1) (n + 2)/6 are unique
//! X(t,i) * X(t,j)              (t,i,j) -> (t,j,i) where j < i
//! conj(X(t,i)) * X(t,j)        conj * (t,j,i) where j < i
//! ```

use lacunar_notation::{Access, BinaryFn, Expr, ExprKind, UnaryFn, VarId};
use lacunar_sets::{Affine, Coefficient, Map, MapPiece, Piece, Set};

use super::Context;
use super::closed::{Closed, together};
use super::product::multiplied;

/// Combinations of pieces and orders of more are left to the rule for products.
const MOST_COMBINATIONS: usize = 120;

/// Factors of one tensor whose indices can be exchanged.
struct Group<'a> {
    factors: Vec<Factor<'a>>,
    /// The dimensions that all index by one variable.
    shared: Vec<usize>,
    /// The others.
    own: Vec<usize>,
    /// True if one of two factors is conjugated.
    conjugates: bool,
}

#[derive(Clone, Copy)]
struct Factor<'a> {
    expr: &'a Expr,
    access: &'a Access,
    conjugate: bool,
}

/// A product in which a tensor occurs several times.
pub(super) fn self_product(context: &Context<'_>, expr: &Expr) -> Option<Closed> {
    let ExprKind::Binary(BinaryFn::Mul, ..) = &expr.kind else { return None };
    let operands = expr.operands(BinaryFn::Mul);
    let group = operands.iter().find_map(|operand| Group::of(context, operand, &operands))?;
    let mut closed = group.sorted(context)?;
    let is_in = |operand: &&Expr| group.factors.iter().any(|factor| std::ptr::eq(factor.expr, *operand));
    for operand in operands.iter().copied().filter(|operand| !is_in(operand)) {
        closed = multiplied(context, &closed, &context.infer(operand)?)?.bounded(context)?;
    }
    Some(closed)
}

/// An access, perhaps conjugated.
fn factor(expr: &Expr) -> Option<Factor<'_>> {
    match &expr.kind {
        ExprKind::Access(access) => Some(Factor { expr, access, conjugate: false }),
        ExprKind::Unary(UnaryFn::Conj, inner) => match &inner.kind {
            ExprKind::Access(access) => Some(Factor { expr, access, conjugate: inner.dtype.is_complex() }),
            _ => None,
        },
        _ => None,
    }
}

impl<'a> Group<'a> {
    /// The factors that have the tensor of one of them, if their indices can be exchanged.
    fn of(context: &Context<'_>, first: &Expr, operands: &[&'a Expr]) -> Option<Group<'a>> {
        let tensor = factor(first)?.access.tensor;
        if context.tensors[tensor].role.is_computed() {
            return None;
        }
        let factors: Vec<Factor<'a>> = operands.iter().filter_map(|operand| factor(operand)).collect();
        let factors: Vec<Factor<'a>> = factors.into_iter().filter(|factor| factor.access.tensor == tensor).collect();
        let (leader, others) = factors.split_first()?;
        let is_shared =
            |dim: &usize| others.iter().all(|other| other.access.vars.get(*dim) == leader.access.vars.get(*dim));
        let (shared, own): (Vec<usize>, Vec<usize>) = (0..leader.access.vars.len()).partition(is_shared);
        let mut seen: Vec<VarId> = shared.iter().map(|&dim| leader.access.vars[dim]).collect();
        let shared_count = seen.len();
        seen.extend(factors.iter().flat_map(|factor| own.iter().map(|&dim| factor.access.vars[dim])));
        let all = seen.len();
        seen.sort();
        seen.dedup();
        let conjugated = factors.iter().filter(|factor| factor.conjugate).count();
        let mixed = conjugated != 0 && conjugated != factors.len();
        let fits = !others.is_empty() && !own.is_empty() && seen.len() == all && shared_count == shared.len();
        (fits && (!mixed || factors.len() == 2)).then_some(Group { factors, shared, own, conjugates: mixed })
    }

    /// The closed map of the product.
    fn sorted(&self, context: &Context<'_>) -> Option<Closed> {
        let closed: Vec<Closed> =
            self.factors.iter().map(|factor| context.infer(factor.expr)).collect::<Option<_>>()?;
        let vars = closed.iter().fold(Vec::new(), |vars, closed| together(&vars, &closed.vars));
        let orders = orders(self.factors.len());
        let combinations =
            closed.iter().try_fold(orders.len(), |all, closed| all.checked_mul(closed.map.pieces().len()))?;
        if combinations > MOST_COMBINATIONS {
            return None;
        }
        let space = context.space(&vars);
        let mut support = Set::universe(space.clone());
        for closed in &closed {
            support = support.intersect(&closed.support_over(context, &vars)?)?;
        }
        let mut map = Map::empty(space.clone(), space.dims.clone());
        let mut states = vec![State { domain: space.universe(), targets: Vec::new(), coefficient: Coefficient::ONE }];
        for (factor, closed) in self.factors.iter().zip(&closed) {
            states = self.with_factor(context, states, factor, closed, &vars)?;
        }
        for state in states {
            for piece in self.pieces(context, &state, &orders, &vars)? {
                map.add_apart(piece)?;
            }
        }
        // If the maps disagree on the shared variables, tuples are sorted as they are.
        let whole = |piece: &Piece| {
            let own = |factor: &Factor<'_>| factor.access.vars.iter().map(|var| column(context, &vars, *var)).collect();
            let targets = self.factors.iter().map(own).collect::<Option<Vec<Vec<Affine>>>>();
            Some(State { domain: piece.clone(), targets: targets?, coefficient: Coefficient::ONE })
        };
        for piece in support.pieces() {
            for piece in self.pieces(context, &whole(piece)?, &orders, &vars)? {
                map.add(piece)?;
            }
        }
        let map = map.restricted(&support)?;
        Closed::new(vars, support.coalesced(), map)
    }

    /// Goes on with every piece of a factor's map that conjugates as those before do, and moves the shared variables alike.
    fn with_factor(
        &self,
        context: &Context<'_>,
        states: Vec<State>,
        factor: &Factor<'_>,
        closed: &Closed,
        vars: &[VarId],
    ) -> Option<Vec<State>> {
        let columns = closed.columns(context, vars)?;
        let mut next = Vec::new();
        for state in &states {
            for piece in closed.map.pieces() {
                let is_first = state.targets.is_empty();
                if !is_first && piece.coefficient.conjugate != state.coefficient.conjugate {
                    continue;
                }
                let (mut domain, target) = piece.pulled(&state.domain, &columns)?;
                let at = |var: &VarId| closed.vars.iter().position(|other| other == var);
                let own = factor.access.vars.iter().map(|var| target.get(at(var)?).cloned());
                let own: Vec<Affine> = own.collect::<Option<_>>()?;
                if let Some(first) = state.targets.first() {
                    for &dim in &self.shared {
                        domain.equal(first.get(dim)?.minus(own.get(dim)?)?);
                    }
                }
                let numbers = state.coefficient.times(piece.coefficient)?;
                let conjugate = piece.coefficient.conjugate;
                let coefficient = Coefficient::new(numbers.numerator(), numbers.denominator(), conjugate)?;
                let targets = state.targets.iter().cloned().chain([own]).collect();
                next.push(State { domain, targets, coefficient });
            }
        }
        Some(next)
    }

    /// For each order of the tuples' targets, the points at which they have it, sent to the sorted tuples.
    fn pieces(
        &self,
        context: &Context<'_>,
        state: &State,
        orders: &[Vec<usize>],
        vars: &[VarId],
    ) -> Option<Vec<MapPiece>> {
        let tuple = |place: usize| -> Option<Vec<Affine>> {
            let target = state.targets.get(place)?;
            self.own.iter().map(|&dim| target.get(dim).cloned()).collect()
        };
        let mut found = Vec::new();
        for order in orders {
            let mut domains = vec![state.domain.clone()];
            for pair in order.windows(2) {
                domains = ascending(domains, &tuple(pair[0])?, &tuple(pair[1])?, pair[0] > pair[1])?;
            }
            let mut target: Vec<Affine> = vars.iter().map(|var| column(context, vars, *var)).collect::<Option<_>>()?;
            for (factor, &from) in self.factors.iter().zip(order) {
                for (dim, var) in factor.access.vars.iter().enumerate() {
                    let source = if self.shared.contains(&dim) { 0 } else { from };
                    let slot = vars.iter().position(|other| other == var).and_then(|place| target.get_mut(place))?;
                    *slot = state.targets.get(source)?.get(dim)?.clone();
                }
            }
            let exchanged = self.conjugates && order.first() != Some(&0);
            let old = state.coefficient;
            let coefficient = Coefficient::new(old.numerator(), old.denominator(), old.conjugate ^ exchanged)?;
            found.extend(domains.into_iter().map(|domain| MapPiece { domain, target: target.clone(), coefficient }));
        }
        Some(found)
    }
}

/// Pieces of some factors' maps together.
struct State {
    domain: Piece,
    /// The target of each factor's dimensions.
    targets: Vec<Vec<Affine>>,
    coefficient: Coefficient,
}

/// The column of a variable, as a form.
fn column(context: &Context<'_>, vars: &[VarId], var: VarId) -> Option<Affine> {
    vars.iter().position(|other| *other == var).map(|dim| Affine::variable(context.params.len() + dim))
}

/// The parts of pieces in which a tuple comes before another in lexicographic order, or, if not `strict`, is equal to it.
pub(super) fn ascending(pieces: Vec<Piece>, a: &[Affine], b: &[Affine], strict: bool) -> Option<Vec<Piece>> {
    let mut found = Vec::new();
    for piece in pieces {
        let mut equal = piece;
        for (place, (left, right)) in a.iter().zip(b).enumerate() {
            let ahead = right.minus(left)?;
            let may_end_equal = !strict && place + 1 == a.len();
            let mut less = equal.clone();
            less.at_least(if may_end_equal { ahead.clone() } else { ahead.shifted(-1)? });
            found.push(less);
            equal.equal(ahead);
        }
    }
    Some(found)
}

/// All orders of so many things; the first is the one in which they stand.
pub(super) fn orders(count: usize) -> Vec<Vec<usize>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    let mut found = Vec::new();
    for shorter in orders(count - 1) {
        for place in (0..=shorter.len()).rev() {
            let mut order = shorter.clone();
            order.insert(place, count - 1);
            found.push(order);
        }
    }
    found
}

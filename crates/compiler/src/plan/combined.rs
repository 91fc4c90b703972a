//! The cost model's facts about an expression that hold for every order of the loops: the sums in it, the coordinates that they visit, and
//! the restriction of loops by all operands together.
//!
//! A function intersects or unites its operands, depending on their values where they are absent. One walk through the expression
//! finds this, and the cost model uses the answer for every order of loops that it compares.
//!
//! ```text
//! A(i,j) * x(j) + b(i)      Pair(Union) of Pair(Intersection) of A, x, and of b
//! ```

use lacunar_notation::concrete::Kernel;
use lacunar_notation::{Access, Expr, ExprKind, Indicator, Monoid, VarId};

use super::storage::distinct_accesses;
use crate::algebra::{Support, background, choice, is_left_out, support};
use crate::iterate::iterators::AccessKey;
use crate::operators::visited;

/// The coordinates that a nest visits.
#[derive(Clone, Copy)]
pub(super) enum Visits {
    /// All coordinates: if operands store nothing, the body still changes the value that it is combined into.
    All,
    /// The coordinates that operands store. With `left_out`, the nest skips elements that are fill values other than 0.
    Stored { left_out: bool },
}

impl Visits {
    /// The coordinates that the reduction of a body visits.
    fn of(kernel: &Kernel, monoid: Monoid, body: &Expr) -> Visits {
        match background(&kernel.tensors, body) {
            Some(background) if background.absent && !is_left_out(monoid, background.value) => Visits::All,
            _ => Visits::Stored { left_out: true },
        }
    }
}

/// An expression that one nest of loops computes: the whole of a statement, or what a sum adds up.
pub(super) struct Part<'e> {
    pub expr: &'e Expr,
    pub visits: Visits,
    pub combined: Combined<'e>,
    /// The accesses in it, each once.
    pub accesses: Vec<AccessKey>,
    /// The accesses that are not in a sum, each once.
    pub own_accesses: Vec<AccessKey>,
    /// The number of operations that are not in a sum.
    pub operations: f64,
    /// The sums in it that are in no other sum in it.
    pub sums: Vec<Sum<'e>>,
}

/// A sum in an expression.
pub(super) struct Sum<'e> {
    pub expr: &'e Expr,
    /// The variables that it sums over, without those of sums in it.
    pub summed: &'e [VarId],
    /// The variables that it and the sums in it sum over.
    pub reduced: Vec<VarId>,
    pub free: Vec<VarId>,
    pub body: Part<'e>,
}

impl<'e> Part<'e> {
    pub fn of(kernel: &Kernel, expr: &'e Expr, visits: Visits) -> Part<'e> {
        let mut part = Part {
            expr,
            visits,
            combined: Combined::of(kernel, expr),
            accesses: distinct_accesses(expr),
            own_accesses: Vec::new(),
            operations: 0.0,
            sums: Vec::new(),
        };
        part.collect(kernel, expr);
        part
    }

    fn collect(&mut self, kernel: &Kernel, expr: &'e Expr) {
        match &expr.kind {
            ExprKind::Access(access) => {
                let key = AccessKey::from(access);
                if !self.own_accesses.contains(&key) {
                    self.own_accesses.push(key);
                }
            }
            ExprKind::Literal(_) => {}
            ExprKind::Reduce(monoid, summed, body) => self.sums.push(Sum {
                expr,
                summed,
                reduced: expr.reduced_vars(),
                free: expr.free_vars(),
                body: Part::of(kernel, body, Visits::of(kernel, *monoid, body)),
            }),
            _ => {
                self.operations += 1.0;
                expr.children().into_iter().for_each(|child| self.collect(kernel, child));
            }
        }
    }
}

/// An expression, with the way in which it combines the restrictions of loops. A converted number is one.
pub(super) enum Combined<'e> {
    /// A number restricts nothing.
    Number,
    /// An access, by the coordinates that it stores.
    Access(&'e Access),
    /// The elements of the operand: the operation adds none and leaves none out.
    Same(Box<Combined<'e>>),
    /// Two operands.
    Pair(Support, Met, Box<[Combined<'e>; 2]>),
    /// Operands of an operator, and the sets of them that have to be there together.
    Sets(Vec<Vec<usize>>, Vec<Combined<'e>>),
    /// A selection: its condition, and the values where that is absent and where it is not. The latter restricts only if both are the
    /// same where they are absent.
    Choice { is_same: bool, parts: Box<[Combined<'e>; 3]> },
}

/// The operands of an intersection whose coordinates are met one by one; those of the other are looked up.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Met {
    Left,
    Right,
    Both,
}

impl<'e> Combined<'e> {
    pub fn of(kernel: &Kernel, expr: &'e Expr) -> Combined<'e> {
        Combined::part(kernel, expr, false)
    }

    /// A part of an expression, which may be absent where the only operand of the part that is no number is.
    fn part(kernel: &Kernel, expr: &'e Expr, is_absent: bool) -> Combined<'e> {
        let tensors = &kernel.tensors;
        let of = |expr: &'e Expr| Combined::of(kernel, expr);
        let is_absent = || is_absent || background(tensors, expr).is_some_and(|background| background.absent);
        match &expr.kind {
            ExprKind::Literal(_) => Combined::Number,
            ExprKind::Access(access) => Combined::Access(access),
            ExprKind::Reduce(_, _, a) => Combined::Same(Box::new(of(a))),
            ExprKind::Unary(_, a) | ExprKind::Cast(a) => match Combined::part(kernel, a, is_absent()) {
                Combined::Number => Combined::Number,
                other => Combined::Same(Box::new(other)),
            },
            ExprKind::Binary(function, left, right) => {
                // The intervals of an indicator are looked up, not merged; the one coordinate of a gather is looked up in the other.
                let met = if is_gather(kernel, left) {
                    Met::Left
                } else if is_gather(kernel, right) || is_computed(kernel, left) {
                    Met::Right
                } else if is_computed(kernel, right) {
                    Met::Left
                } else {
                    Met::Both
                };
                let support = support(tensors, *function, left, right);
                // A function of an operand and a number, absent where the operand is, has the operand's elements: `A(i,j) > 0`,
                // `log(1 + A(i,j))`.
                let other = match (is_number(left), is_number(right)) {
                    (false, true) => Some(left),
                    (true, false) => Some(right),
                    _ => None,
                };
                match other.filter(|_| support == Support::Union && is_absent()) {
                    Some(other) => Combined::Same(Box::new(Combined::part(kernel, other, true))),
                    None => Combined::Pair(support, met, Box::new([of(left), of(right)])),
                }
            }
            ExprKind::Apply(operator, operands) => {
                let sets = visited(tensors, *operator, operands).demanded(operands.len());
                Combined::Sets(sets, operands.iter().map(of).collect())
            }
            ExprKind::Select(operands) => {
                let chosen = choice(tensors, operands);
                let parts = Box::new([of(&operands[0]), of(chosen.usual), of(chosen.other)]);
                Combined::Choice { is_same: chosen.is_same, parts }
            }
        }
    }
}

/// True for a number, converted or not.
fn is_number(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Literal(_) => true,
        ExprKind::Cast(a) => is_number(a),
        _ => false,
    }
}

/// True if an operand is an indicator.
fn is_computed(kernel: &Kernel, operand: &Expr) -> bool {
    match &operand.kind {
        ExprKind::Access(access) => kernel.tensors[access.tensor].indicator.is_some(),
        ExprKind::Cast(a) => is_computed(kernel, a),
        _ => false,
    }
}

/// True if an operand is an indicator that gathers coordinates.
fn is_gather(kernel: &Kernel, operand: &Expr) -> bool {
    match &operand.kind {
        ExprKind::Access(access) => {
            matches!(kernel.tensors[access.tensor].indicator.as_deref(), Some(Indicator::Gather(_)))
        }
        ExprKind::Cast(a) => is_gather(kernel, a),
        _ => false,
    }
}

//! The restriction of loops by all operands of an expression together: the part of the cost model that does not depend on the order of the
//! loops.
//!
//! A function intersects or unites its operands, depending on their values where they are absent. One walk through the expression
//! finds this, and the cost model uses the answer for every order of loops that it compares.
//!
//! ```text
//! A(i,j) * x(j) + b(i)      Pair(Union) of Pair(Intersection) of A, x, and of b
//! ```

use lacunar_notation::concrete::Kernel;
use lacunar_notation::{Access, Expr, ExprKind, Indicator};

use crate::algebra::{Support, background, choice, support};
use crate::operators::visited;

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

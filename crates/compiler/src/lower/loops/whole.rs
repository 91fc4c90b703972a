//! Loops of a constant length: where an equation confines the loop inside to an interval, and no end of the dimension cuts it off.
//!
//! ```text
//! y(i) = a(i - j) * x(j)      a of 16 values
//!   i < 15 or behind n      for j in max(i - 15, 0) .. min(i + 1, n) { t += a[i - j] * x[j] }
//!   others                  for place in 0 .. 16 { j = i - 15 + place;  t += a[i - j] * x[j] }
//! ```
//!
//! A loop of a constant length is unrolled, and the loop around it has lanes then.
//!
//! On entry: a loop around a loop without others inside, which is confined by an equation of both variables and a third one alone. On exit: the
//! part of it, and what is known there.

use lacunar_imp::{BinaryOp, CompareOp, LoopKind};
use lacunar_notation::VarId;
use lacunar_notation::concrete::{Kernel, Stmt};

use crate::iterate::iterators::level_var;
use crate::iterate::lattice::{Lattice, Point};
use crate::lower::region::whole::Whole;
use crate::lower::scope::{Interval, Scope};
use crate::lower::strategy::loop_kind;
use crate::lower::{Lowerer, region};

/// The most values of a loop that is unrolled.
const MOST: u64 = 32;

/// The loop inside of a loop that is confined so.
pub(super) fn found(kernel: &Kernel, var: VarId, body: &Stmt, scope: &Scope) -> Option<Whole> {
    match body {
        Stmt::Assign(_) => None,
        Stmt::Where { consumer, producer } => {
            found(kernel, var, producer, scope).or_else(|| found(kernel, var, consumer, scope))
        }
        Stmt::Sequence(stmts) => stmts.iter().find_map(|stmt| found(kernel, var, stmt, scope)),
        Stmt::Forall(inner, body) => {
            // A loop that threads share is cut into chunks.
            let is_alone =
                loop_kind(kernel, *inner) == LoopKind::Serial && kernel.provenance.parallel(*inner).is_none();
            let is_plain = kernel.provenance.is_plain(*inner) && is_alone;
            let is_open = scope.value(*inner).is_none() && scope.region(*inner).is_none();
            let fits = is_plain && is_open && !region::leaves_out(kernel, *inner);
            confined(kernel, var, *inner, body).filter(|_| fits)
        }
    }
}

/// The values of an inner loop that an equation leaves, if nothing else is inside but the loop over what the equation tells.
fn confined(kernel: &Kernel, var: VarId, inner: VarId, body: &Stmt) -> Option<Whole> {
    let Stmt::Forall(told, rest) = body else { return None };
    let lattice = Lattice::build(kernel, body, inner).ok()?;
    let [confining] = lattice.confining.as_slice() else { return None };
    let equation = kernel.tensors[confining.access.tensor].indicator.as_deref()?.equation()?;
    let vars = &confining.access.vars;
    let of = |var: VarId| vars.iter().position(|own| *own == var).map(|place| equation.factors[place]);
    let (own, around, third) = (of(inner)?, of(var)?, of(*told)?);
    let is_last = level_var(kernel, &confining.access, 2) == *told;
    let is_unit = equation.factors.iter().all(|factor| factor.abs() == 1);
    let fits = matches!(**rest, Stmt::Assign(_)) && vars.len() == 3 && is_unit && is_last;
    if !fits || lattice.points != [Point::ALL] || inner == var {
        return None;
    }
    let len = kernel.vars[*told].size.filter(|len| (2..=MOST).contains(len))?;
    // The own coordinate, by the one around and the third.
    let (step, by, constant) = (-around * own, -third * own, -equation.constant * own);
    let rest = if by > 0 { constant } else { constant - (len as i64 - 1) };
    Some(Whole { var: inner, by: confining.access.tensor, of: var, step, rest, told: *told, len })
}

/// The part of a loop in which the inner one has all values that an equation leaves; none where sizes are others than those that are known.
pub(super) fn part(cx: &mut Lowerer<'_>, whole: &Whole, (begin, end): Interval) -> Interval {
    let &Whole { var, step, rest, len, told, .. } = whole;
    let (size, len, rest) = (cx.size(var), cx.b.int(len as i64), cx.b.int(rest));
    let (zero, one) = (cx.b.int(0), cx.b.int(1));
    // `rest + step * i` is from 0 to `last`.
    let last = cx.b.sub(size, len);
    let (low, high) = if step > 0 {
        let (low, high) = (cx.b.sub(zero, rest), cx.b.sub(last, rest));
        (low, cx.b.add(high, one))
    } else {
        (cx.b.sub(rest, last), cx.b.add(rest, one))
    };
    let (low, high) = (cx.b.binary(BinaryOp::Max, low, begin), cx.b.binary(BinaryOp::Min, high, end));
    let own = cx.size(told);
    let is_so = cx.b.compare(CompareOp::Eq, own, len);
    (low, cx.b.select(is_so, high, low))
}

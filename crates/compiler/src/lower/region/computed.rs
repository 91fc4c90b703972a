//! Elements of a result that follow from others: loops leave them out.
//!
//! ```text
//! C(i,j) = X(t,i) * X(t,j), i before j       j in i .. n
//! the same, j in strips of 32                j0 in i / 32 .. ceil(n / 32), whole strips
//! ```
//!
//! The variable of a condition that is bound last is confined by it. Strips stay whole: the elements that they have too many are right.
//!
//! On entry: a kernel with [followers](lacunar_notation::follow). On exit: loops come to every element that is to be computed.

use lacunar_base::Diagnostic;
use lacunar_imp::BinaryOp;
use lacunar_notation::VarId;
use lacunar_notation::concrete::Kernel;
use lacunar_notation::follow::Condition;
use lacunar_notation::provenance::Relation;

use super::Restriction;
use crate::iterate::iterators::result_of;
use crate::lower::Lowerer;
use crate::lower::derive::coordinate;
use crate::lower::scope::{Fact, Interval, Scope};
use crate::lower::sizes::{ceil_div, constant};

/// Confines the variables of a result to elements that do not follow from others.
pub(in crate::lower) struct Computed;

impl Restriction for Computed {
    fn confine(&self, cx: &mut Lowerer<'_>, var: VarId, scope: &mut Scope) -> Result<(), Diagnostic> {
        if !cx.kernel.provenance.is_plain(var) {
            return Ok(());
        }
        let whole = (cx.b.int(0), cx.size(var));
        let within = scope.region(var).unwrap_or(whole);
        if let Some((low, high)) = interval(cx, var, within, scope)? {
            let name = cx.var_name(var);
            let region = (cx.b.define(&format!("{name}_low"), low), cx.b.define(&format!("{name}_high"), high));
            scope.know(Fact::Region(var, region));
        }
        Ok(())
    }

    fn leaves_out(&self, kernel: &Kernel, var: VarId) -> bool {
        let Some((followers, result)) = kernel.followers.as_ref().zip(result_of(kernel)) else { return false };
        let dim = result.vars.iter().position(|own| *own == var);
        dim.is_some_and(|dim| followers.computed.iter().any(|condition| condition.factors[dim] != 0))
    }
}

/// The numbers of strips, within an interval of them, that have elements to be computed, if a variable counts strips of another.
pub(in crate::lower) fn strips(
    cx: &mut Lowerer<'_>,
    var: VarId,
    (low, high): Interval,
    scope: &Scope,
) -> Result<Interval, Diagnostic> {
    let Some(&Relation::Split { parent, outer, size, .. }) = cx.kernel.provenance.origin(var) else {
        return Ok((low, high));
    };
    if outer != var || cx.kernel.provenance.originals(var) != [parent] || scope.value(parent).is_some() {
        return Ok((low, high));
    }
    let whole = (cx.b.int(0), cx.size(parent));
    let Some((first, behind)) = interval(cx, parent, whole, scope)? else { return Ok((low, high)) };
    let size = constant(&mut cx.b, size);
    let first = cx.b.binary(BinaryOp::Div, first, size);
    let behind = ceil_div(&mut cx.b, behind, size);
    let low = cx.b.binary(BinaryOp::Max, low, first);
    let high = cx.b.binary(BinaryOp::Min, high, behind);
    Ok((cx.b.define("first_strip", low), cx.b.define("end_strip", high)))
}

/// The values of a variable, within others, of elements that are to be computed; `None` if nothing confines them here.
fn interval(cx: &mut Lowerer<'_>, var: VarId, within: Interval, scope: &Scope) -> Result<Option<Interval>, Diagnostic> {
    let (kernel, bound) = (cx.kernel, scope.bound());
    let Some((followers, result)) = kernel.followers.as_ref().zip(result_of(kernel)) else { return Ok(None) };
    let Some(own) = result.vars.iter().position(|other| *other == var) else { return Ok(None) };
    let is_last = |condition: &&Condition| {
        let mut others = result.vars.iter().zip(&condition.factors).filter(|(other, _)| **other != var);
        let is_known = others.all(|(other, factor)| *factor == 0 || kernel.provenance.is_known(*other, &bound));
        condition.factors[own] != 0 && is_known
    };
    let mut values = Vec::new();
    let conditions: Vec<&Condition> = followers.computed.iter().filter(is_last).collect();
    for (dim, other) in result.vars.iter().enumerate() {
        let is_needed = dim != own && conditions.iter().any(|condition| condition.factors[dim] != 0);
        values.push(if is_needed { Some(coordinate(cx, *other, scope)?) } else { None });
    }
    Ok((!conditions.is_empty()).then(|| narrowed(cx, &conditions, (own, &values), within)))
}

/// The part of an interval of one coordinate in which conditions hold, where the others have values that they are of.
pub(in crate::lower) fn narrowed(
    cx: &mut Lowerer<'_>,
    conditions: &[&Condition],
    (own, values): (usize, &[Option<lacunar_imp::ExprId>]),
    (mut low, mut high): Interval,
) -> Interval {
    let (zero, one) = (cx.b.int(0), cx.b.int(1));
    for condition in conditions {
        let rest = sum(cx, condition, own, values);
        let is_least = condition.factors[own] > 0;
        if is_least || condition.is_equation {
            let least = if is_least { cx.b.sub(zero, rest) } else { rest };
            low = cx.b.binary(BinaryOp::Max, low, least);
        }
        if !is_least || condition.is_equation {
            let most = if is_least { cx.b.sub(zero, rest) } else { rest };
            let behind = cx.b.add(most, one);
            high = cx.b.binary(BinaryOp::Min, high, behind);
        }
    }
    // There may be none, and a loop may not begin behind its end where others ask how many there are.
    (cx.b.binary(BinaryOp::Min, low, high), high)
}

/// The sum of a condition without one coordinate.
pub(in crate::lower) fn sum(
    cx: &mut Lowerer<'_>,
    condition: &Condition,
    without: usize,
    values: &[Option<lacunar_imp::ExprId>],
) -> lacunar_imp::ExprId {
    let mut sum = cx.b.int(condition.constant);
    for (dim, value) in values.iter().enumerate().filter(|(dim, _)| *dim != without) {
        if let Some(value) = value {
            sum = match condition.factors[dim] {
                0 => sum,
                factor if factor > 0 => cx.b.add(sum, *value),
                _ => cx.b.sub(sum, *value),
            };
        }
    }
    sum
}

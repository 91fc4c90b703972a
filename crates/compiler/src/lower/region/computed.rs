//! Elements of a result that follow from others, or have no place in its format: loops leave them out.
//!
//! ```text
//! C(i,j) = X(t,i) * X(t,j), i before j       j in i .. n
//! the same, j in strips of 32                j0 in i / 32 .. ceil(n / 32), whole strips
//! the same, i in strips of 8                 j0 in 8 i0 / 32 .. ceil(n / 32)
//! ```
//!
//! The variable of a condition that is bound last is confined by it. Strips stay whole: the elements that they have too many are right. If
//! a packed result has no place for these, the conditions that no loop has made sure of are tested before a value is stored ([`guard`]).
//!
//! On entry: a kernel with [followers](lacunar_notation::follow). On exit: loops come to every element that is to be computed.

use lacunar_base::Diagnostic;
use lacunar_imp::{BinaryOp, CompareOp, ExprId};
use lacunar_notation::VarId;
use lacunar_notation::concrete::Kernel;
use lacunar_notation::follow::Condition;
use lacunar_notation::provenance::Relation;

use super::Restriction;
use crate::iterate::iterators::{AccessKey, Iterator, Mode, result_of};
use crate::iterate::lattice::Lattice;
use crate::lower::Lowerer;
use crate::lower::derive::coordinate;
use crate::lower::scope::{Fact, Interval, Scope};
use crate::lower::sizes::{ceil_div, constant};

/// Confines the variables of a result to elements that do not follow from others.
pub(in crate::lower) struct Computed;

impl Restriction for Computed {
    fn confine(
        &self,
        cx: &mut Lowerer<'_>,
        var: VarId,
        lattice: &Lattice,
        scope: &mut Scope,
    ) -> Result<(), Diagnostic> {
        if !cx.kernel.provenance.is_plain(var) || !is_in_order(cx.kernel, lattice) {
            return Ok(());
        }
        let whole = (cx.b.int(0), cx.size(var));
        let mut within = scope.region(var).unwrap_or(whole);
        let ahead = ahead(cx, var, within, scope);
        if let Some((region, _)) = &ahead {
            within = *region;
        }
        let is_packed = cx.kernel.followers.as_ref().is_some_and(|followers| followers.is_packed);
        let is_run = is_packed && scope.region(var).is_none();
        if let Some(((low, high), held)) = interval(cx, var, within, scope)? {
            let name = cx.var_name(var);
            let region = (cx.b.define(&format!("{name}_low"), low), cx.b.define(&format!("{name}_high"), high));
            scope.know(Fact::Region(var, region));
            let conditions = cx.kernel.followers.as_ref().map(|followers| &followers.computed);
            let is_equation = |number: &usize| conditions.is_some_and(|all| all[*number].is_equation);
            if held.iter().any(is_equation) {
                let one = cx.b.int(1);
                let there = (cx.b.add(low, one) == high).then_some(region);
                scope.know(Fact::Single { var, there });
            } else if is_run {
                scope.know(Fact::Run(var, region));
            }
            held.into_iter().for_each(|number| scope.know(Fact::Computed(number)));
        } else if ahead.is_some() {
            let name = cx.var_name(var);
            let region =
                (cx.b.define(&format!("{name}_low"), within.0), cx.b.define(&format!("{name}_high"), within.1));
            scope.know(Fact::Region(var, region));
        }
        ahead.into_iter().flat_map(|(_, solvable)| solvable).for_each(|fact| scope.know(fact));
        Ok(())
    }

    fn leaves_out(&self, kernel: &Kernel, var: VarId) -> bool {
        let Some((followers, result)) = kernel.followers.as_ref().zip(result_of(kernel)) else { return false };
        let dim = result.vars.iter().position(|own| *own == var);
        dim.is_some_and(|dim| followers.computed.iter().any(|condition| condition.factors[dim] != 0))
    }

    /// A packed result has no places for the elements that are left out.
    fn leaves_places_out(&self, kernel: &Kernel, var: VarId) -> bool {
        !kernel.followers.as_ref().is_some_and(|followers| followers.is_packed) && self.leaves_out(kernel, var)
    }
}

/// True if the iterators that a loop merges can be confined: searches take coordinates in order.
fn is_in_order(kernel: &Kernel, lattice: &Lattice) -> bool {
    let in_order = |it: &Iterator| {
        let tensor = &kernel.tensors[it.access.tensor];
        tensor.format.levels()[it.level].properties().ordered && !tensor.role.is_listed()
    };
    lattice.iterators.iter().filter(|it| it.mode == Mode::Coiterate).all(in_order)
}

/// Some if an equation leaves one value of a variable at most; the answer is true if an interval has one for certain.
pub(in crate::lower) fn single(var: VarId, interval: Interval, scope: &Scope) -> Option<bool> {
    scope.facts().find_map(|fact| match fact {
        Fact::Single { var: own, there } if *own == var => Some(*there == Some(interval)),
        _ => None,
    })
}

/// The values of a variable that are the coordinates of a run of a packed result.
pub(in crate::lower) fn run(var: VarId, scope: &Scope) -> Option<Interval> {
    scope.facts().find_map(|fact| match fact {
        Fact::Run(own, interval) if *own == var => Some(*interval),
        _ => None,
    })
}

/// True if loops make sure of all conditions of a packed result's elements in which a dimension does not occur: then the coordinates of the
/// others lead to a run that is stored.
pub(in crate::lower) fn leads_to_run(kernel: &Kernel, dim: usize, scope: &Scope) -> bool {
    let is_held = |number: usize| scope.facts().any(|fact| matches!(fact, Fact::Computed(own) if *own == number));
    let conditions = kernel.followers.iter().flat_map(|followers| followers.computed.iter().enumerate());
    conditions.into_iter().all(|(number, condition)| condition.factors[dim] != 0 || is_held(number))
}

/// The condition that the current element of a packed result has a place in it, as far as loops do not make sure of it.
///
/// # Errors
/// A coordinate of the element has no value.
pub(in crate::lower) fn guard(
    cx: &mut Lowerer<'_>,
    key: &AccessKey,
    scope: &Scope,
) -> Result<Option<ExprId>, Diagnostic> {
    let kernel = cx.kernel;
    let Some(followers) = kernel.followers.as_ref().filter(|followers| followers.is_packed) else { return Ok(None) };
    let is_held = |number: usize| scope.facts().any(|fact| matches!(fact, Fact::Computed(own) if *own == number));
    let left = followers.computed.iter().enumerate().filter(|(number, _)| !is_held(*number));
    let left: Vec<&Condition> = left.map(|(_, condition)| condition).collect();
    if left.is_empty() || result_of(kernel).is_none_or(|result| result.tensor != key.tensor) {
        return Ok(None);
    }
    let mut values = Vec::new();
    for (dim, var) in key.vars.iter().enumerate() {
        let is_needed = left.iter().any(|condition| condition.factors[dim] != 0);
        values.push(if is_needed { Some(coordinate(cx, *var, scope)?) } else { None });
    }
    let sizes: Vec<ExprId> = key.vars.iter().map(|var| cx.size(*var)).collect();
    let mut holds = None;
    for condition in left {
        let own = holds_at(cx, condition, None, (&values, &sizes));
        holds = Some(holds.map_or(own, |all| cx.b.and(all, own)));
    }
    Ok(holds)
}

/// The condition that an element is one of those of a condition; without one of its coordinates, which the condition is not of.
pub(in crate::lower) fn holds_at(
    cx: &mut Lowerer<'_>,
    condition: &Condition,
    without: Option<usize>,
    at: (&[Option<ExprId>], &[ExprId]),
) -> ExprId {
    let zero = cx.b.int(0);
    let sum = sum(cx, condition, without, at);
    let op = if condition.is_equation { CompareOp::Eq } else { CompareOp::Ge };
    cx.b.compare(op, sum, zero)
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
    let exact = interval(cx, parent, whole, scope)?.map(|(interval, _)| interval);
    let loose = loosely(cx, parent, exact.unwrap_or(whole), scope)?;
    let Some((first, behind)) = loose.or(exact) else { return Ok((low, high)) };
    let size = constant(&mut cx.b, size);
    let first = cx.b.binary(BinaryOp::Div, first, size);
    let behind = ceil_div(&mut cx.b, behind, size);
    let low = cx.b.binary(BinaryOp::Max, low, first);
    let high = cx.b.binary(BinaryOp::Min, high, behind);
    Ok((cx.b.define("first_strip", low), cx.b.define("end_strip", high)))
}

/// The values of a variable, within others, of elements that are to be computed, and the numbers of the conditions that hold there then;
/// `None` if nothing confines them here.
fn interval(
    cx: &mut Lowerer<'_>,
    var: VarId,
    within: Interval,
    scope: &Scope,
) -> Result<Option<(Interval, Vec<usize>)>, Diagnostic> {
    let (kernel, bound) = (cx.kernel, scope.bound());
    let Some((followers, result)) = kernel.followers.as_ref().zip(result_of(kernel)) else { return Ok(None) };
    let Some(own) = result.vars.iter().position(|other| *other == var) else { return Ok(None) };
    let is_last = |condition: &&Condition| {
        let mut others = result.vars.iter().zip(&condition.factors).filter(|(other, _)| **other != var);
        let is_known = others.all(|(other, factor)| *factor == 0 || kernel.provenance.is_known(*other, &bound));
        condition.factors[own] != 0 && is_known
    };
    let mut values = Vec::new();
    let last = followers.computed.iter().enumerate().filter(|(_, condition)| is_last(condition));
    let (held, conditions): (Vec<usize>, Vec<&Condition>) = last.unzip();
    for (dim, other) in result.vars.iter().enumerate() {
        let is_needed = dim != own && conditions.iter().any(|condition| condition.factors[dim] != 0);
        values.push(if is_needed { Some(coordinate(cx, *other, scope)?) } else { None });
    }
    let sizes: Vec<ExprId> = result.vars.iter().map(|var| cx.size(*var)).collect();
    if let ([number], [equation]) = (&held[..], &conditions[..])
        && scope.region(var).is_none()
        && is_solvable(*number, scope)
    {
        let rest = sum(cx, equation, Some(own), (&values, &sizes));
        let (zero, one) = (cx.b.int(0), cx.b.int(1));
        let only = if equation.factors[own] > 0 { cx.b.sub(zero, rest) } else { rest };
        return Ok(Some(((only, cx.b.add(only, one)), held)));
    }
    Ok((!conditions.is_empty()).then(|| (narrowed(cx, &conditions, own, (&values, &sizes), within), held)))
}

/// True if it is known that an equation leaves a value of the variable that is bound last.
fn is_solvable(number: usize, scope: &Scope) -> bool {
    let holds = |number: usize| scope.facts().any(|fact| matches!(fact, Fact::Computed(own) if *own == number));
    let tells = |fact: &Fact| match *fact {
        Fact::Solvable { equation, by } => equation == number && by.is_none_or(holds),
        _ => false,
    };
    scope.facts().any(tells)
}

/// The values of a variable, within others, for which equations leave values of variables that are bound later, and the facts about these
/// equations then; `None` if there are none.
///
/// ```text
/// i = j, j = k, and the loops are over i, j, k      i below the sizes of j and k: j and k have a value each
/// ```
fn ahead(
    cx: &mut Lowerer<'_>,
    var: VarId,
    (mut low, mut high): Interval,
    scope: &Scope,
) -> Option<(Interval, Vec<Fact>)> {
    let (kernel, bound) = (cx.kernel, scope.bound());
    let (followers, result) = kernel.followers.as_ref().zip(result_of(kernel))?;
    let own = result.vars.iter().position(|other| *other == var)?;
    let sizes: Vec<ExprId> = result.vars.iter().map(|var| cx.size(*var)).collect();
    // Dimensions whose coordinates follow, each with the number that is added to the coordinate of the variable, and the equation that
    // tells it.
    let (mut apart, mut used) = (vec![(own, 0_i64, None)], Vec::new());
    let mut next = 0;
    while let Some(&(from, by, told)) = apart.get(next) {
        next += 1;
        for (equation, condition) in
            followers.computed.iter().enumerate().filter(|(_, condition)| condition.is_equation)
        {
            let behind = (0..result.vars.len()).find(|dim| *dim != from && condition.factors[*dim] != 0);
            let Some((dim, beside)) = behind.and_then(|dim| Some((dim, Beside::of(condition, dim, &sizes)?))) else {
                continue;
            };
            let is_later =
                !kernel.provenance.is_known(result.vars[dim], &bound) && apart.iter().all(|(own, ..)| *own != dim);
            if beside.dim == from
                && is_later
                && let Some(by) = by.checked_add(beside.by).filter(|by| *by != i64::MIN)
            {
                apart.push((dim, by, Some(equation)));
                used.push(Fact::Solvable { equation, by: told });
            }
        }
    }
    for &(dim, by, _) in &apart[1..] {
        if by < 0 {
            let least = cx.b.int(-by);
            low = cx.b.binary(BinaryOp::Max, low, least);
        }
        if sizes[dim] != sizes[own] || by > 0 {
            let apart = cx.b.int(by);
            let end = cx.b.sub(sizes[dim], apart);
            high = cx.b.binary(BinaryOp::Min, high, end);
        }
    }
    // A loop may not begin behind its end.
    let low = if apart.iter().all(|(_, by, _)| *by == 0) { low } else { cx.b.binary(BinaryOp::Min, low, high) };
    (!used.is_empty()).then_some(((low, high), used))
}

/// The values of a variable, within others, that conditions leave where other variables are known to be in a strip alone: those of all
/// values in the strip together. `None` if there is no such condition.
fn loosely(cx: &mut Lowerer<'_>, var: VarId, within: Interval, scope: &Scope) -> Result<Option<Interval>, Diagnostic> {
    let (kernel, bound) = (cx.kernel, scope.bound());
    let Some((followers, result)) = kernel.followers.as_ref().zip(result_of(kernel)) else { return Ok(None) };
    let Some(own) = result.vars.iter().position(|other| *other == var) else { return Ok(None) };
    let sizes: Vec<ExprId> = result.vars.iter().map(|var| cx.size(*var)).collect();
    let mut found = None;
    for condition in followers.computed.iter().filter(|condition| !condition.is_equation && condition.factors[own] != 0)
    {
        let (mut values, mut is_loose, mut is_told) = (vec![None; result.vars.len()], false, true);
        for (dim, other) in result.vars.iter().enumerate().filter(|(dim, _)| *dim != own) {
            let factor = condition.factors[dim];
            values[dim] = match (factor, kernel.provenance.is_known(*other, &bound)) {
                (0, _) => continue,
                (_, true) => Some(coordinate(cx, *other, scope)?),
                (_, false) => {
                    is_loose = true;
                    end_of_strip(cx, *other, factor > 0, scope)
                }
            };
            is_told &= values[dim].is_some();
        }
        if is_loose && is_told {
            found = Some(narrowed(cx, &[condition], own, (&values, &sizes), found.unwrap_or(within)));
        }
    }
    Ok(found)
}

/// The first or the last value in the strip that a variable is known to be in.
fn end_of_strip(cx: &mut Lowerer<'_>, var: VarId, is_last: bool, scope: &Scope) -> Option<ExprId> {
    let (number, size) = cx.kernel.provenance.relations.iter().find_map(|relation| match *relation {
        Relation::Split { parent, outer, size, .. } if parent == var => Some((scope.value(outer)?, size)),
        _ => None,
    })?;
    // Strips are counted from the first value of all.
    scope.region(var).is_none().then_some(())?;
    let length = constant(&mut cx.b, size);
    let first = cx.b.mul(number, length);
    let apart = cx.b.int(if is_last { i64::try_from(size).ok()?.checked_sub(1)? } else { 0 });
    Some(cx.b.add(first, apart))
}

/// The part of an interval of one coordinate in which conditions hold, where the others have values that they are of.
pub(in crate::lower) fn narrowed(
    cx: &mut Lowerer<'_>,
    conditions: &[&Condition],
    own: usize,
    at: (&[Option<ExprId>], &[ExprId]),
    (mut low, mut high): Interval,
) -> Interval {
    let (zero, one, size) = (cx.b.int(0), cx.b.int(1), at.1[own]);
    // Ends that are told by another coordinate, as far as they are.
    let (mut least_known, mut end_known) = (None, None);
    for condition in conditions {
        let rest = sum(cx, condition, Some(own), at);
        let beside = Beside::of(condition, own, at.1);
        let is_least = condition.factors[own] > 0;
        if is_least || condition.is_equation {
            let least = if is_least { cx.b.sub(zero, rest) } else { rest };
            let is_positive = low == zero && beside.is_some_and(|beside| beside.by >= 0);
            least_known = beside.filter(|_| is_positive);
            low = if is_positive { least } else { cx.b.binary(BinaryOp::Max, low, least) };
        }
        if !is_least || condition.is_equation {
            let most = if is_least { cx.b.sub(zero, rest) } else { rest };
            let behind = cx.b.add(most, one);
            let is_inside = high == size && beside.is_some_and(|beside| beside.by <= 0 && beside.is_as_large);
            end_known = beside.filter(|_| is_inside);
            high = if is_inside { behind } else { cx.b.binary(BinaryOp::Min, high, behind) };
        }
    }
    let is_ascending = match (least_known, end_known) {
        (Some(least), Some(end)) => least.dim == end.dim && least.by <= end.by + 1,
        (Some(least), None) => high == size && least.is_as_large && least.by <= 1,
        (None, Some(end)) => low == zero && end.by >= -1,
        (None, None) => false,
    };
    // There may be none, and a loop may not begin behind its end where others ask how many there are.
    (if is_ascending { low } else { cx.b.binary(BinaryOp::Min, low, high) }, high)
}

/// The value that a condition compares a coordinate with, where that is another coordinate and a number. The other lies in its dimension.
#[derive(Clone, Copy)]
struct Beside {
    dim: usize,
    by: i64,
    /// True if the two dimensions have the same size.
    is_as_large: bool,
}

impl Beside {
    fn of(condition: &Condition, own: usize, sizes: &[ExprId]) -> Option<Beside> {
        let mut others = (0..condition.factors.len()).filter(|dim| *dim != own && condition.factors[*dim] != 0);
        let (dim, sign) = (others.next()?, condition.factors[own]);
        let is_plain = others.next().is_none()
            && condition.factors[dim] == -sign
            && condition.sizes.iter().all(|factor| *factor == 0);
        let by = condition.constant.checked_mul(-sign)?;
        is_plain.then(|| Beside { dim, by, is_as_large: sizes[dim] == sizes[own] })
    }
}

/// The sum of a condition, perhaps without one coordinate, of coordinates and sizes by dimension.
fn sum(
    cx: &mut Lowerer<'_>,
    condition: &Condition,
    without: Option<usize>,
    (values, sizes): (&[Option<ExprId>], &[ExprId]),
) -> ExprId {
    let mut sum = cx.b.int(condition.constant);
    for (size, factor) in sizes.iter().zip(&condition.sizes).filter(|(_, factor)| **factor != 0) {
        let factor = cx.b.int(*factor);
        let term = cx.b.mul(*size, factor);
        sum = cx.b.add(sum, term);
    }
    for (dim, value) in values.iter().enumerate().filter(|(dim, _)| Some(*dim) != without) {
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

//! Loops over summed variables that need no workspace, as they come to the places of a result one after the other.
//!
//! ```text
//! C(i,j) = sum(d, [d == i + 1] * A(d,j))             i, d, j      d follows from i: one row, appended as it is
//! y(r) = sum(i, sum(j, [r == 8*i + j] * A(i,j)))     i, j, r      j < 8: r ascends with i and j
//! C(i,j) = sum(d, [d == j + 1] * A(i,d))             i, d, j      j ascends with d
//! ```
//!
//! A variable that an indicator tells has at most one value for each value of the indicator's other variables. The same holds for a
//! variable whose factor in an equation exceeds the range of the terms that are still open, as in a number of several digits. A place
//! that follows from loops over open variables ascends if these are such digits, with the greatest first, and with the sign that makes
//! the place grow.

use lacunar_base::Arena;
use lacunar_formats::{Format, Level, LevelKind};
use lacunar_notation::concrete::Assign;
use lacunar_notation::{Access, AssignOp, Equation, Expr, Indicator, Tensor, VarId};

use crate::algebra::{preserves_fill, without};

/// True if loops in this order can append a term of a sum to a result as it is: compressed levels, whose places they come to in order,
/// each once.
pub fn is_appended(tensors: &Arena<Tensor>, lhs: &Access, body: &Expr, loops: &[VarId]) -> bool {
    let format = &tensors[lhs.tensor].format;
    let places: Vec<VarId> = format.mode_order().iter().map(|&mode| lhs.vars[mode]).collect();
    // Loops come to no place that the body leaves out: it has to be one that the result may leave out.
    let assign = Assign { lhs: lhs.clone(), op: AssignOp::Set, rhs: body.clone() };
    preserves_fill(tensors, &assign) && ends_compressed(format) && in_order(tensors, body, loops, &places)
}

/// True for a format of dense and compressed levels, the last of which is compressed.
pub(super) fn ends_compressed(format: &Format) -> bool {
    let is_plain = |level: &Level| [LevelKind::DENSE, LevelKind::COMPRESSED].contains(&level.kind);
    format.map().is_none()
        && format.levels().iter().all(is_plain)
        && format.levels().last().is_some_and(|level| level.kind == LevelKind::COMPRESSED)
}

/// True if loops in this order over `places`, the variables of a result in the order of its levels, and over summed ones come to every
/// combination of places once at most, in ascending order. Variables that are not among `loops` have a value already.
pub fn in_order(tensors: &Arena<Tensor>, expr: &Expr, loops: &[VarId], places: &[VarId]) -> bool {
    let is_factor = |by: &&Access| {
        tensors[by.tensor].indicator.is_some()
            && without(tensors, expr, &|other: &Access| other.tensor == by.tensor).is_absent()
    };
    let accesses = expr.accesses();
    let ties: Vec<&Access> = accesses.iter().copied().filter(is_factor).collect();
    let mut digits: Vec<VarId> = Vec::new();
    let mut placed = places.iter();
    for (at, &var) in loops.iter().enumerate() {
        let open = &loops[at + 1..];
        let is_place = places.contains(&var);
        if is_place && placed.next() != Some(&var) {
            return false;
        }
        if is_place && !digits.is_empty() {
            let first = loops.iter().position(|own| *own == digits[0]).unwrap_or(0);
            let before = |own: &VarId| !loops[first..].contains(own);
            if !ties.iter().any(|tie| ascends(tensors, tie, (var, &digits), &before)) {
                return false;
            }
            digits.clear();
        } else if !is_place && !ties.iter().any(|tie| tells(tensors, tie, var, open)) {
            digits.push(var);
        }
    }
    // A value is appended where the innermost place is known: sums inside of that loop are formed first.
    digits.is_empty() && placed.next().is_none() && loops.last() == places.last()
}

/// True if an expression has no more values at combinations of variables than an operand stores: it has none without the operand, whose
/// coordinates tell all of the variables, by indicators where they are not its own.
pub fn bounds_all(tensors: &Arena<Tensor>, expr: &Expr, by: &Access, vars: &[VarId]) -> bool {
    let accesses = expr.accesses();
    let mut known = by.vars.clone();
    loop {
        let told = accesses.iter().find_map(|access| {
            let mut others = access.vars.iter().enumerate().filter(|(_, var)| !known.contains(var));
            let (place, var) = others.next()?;
            (others.next().is_none() && tensors[access.tensor].tells(place)).then_some(*var)
        });
        match told {
            Some(var) => known.push(var),
            None => break,
        }
    }
    let is_own = |other: &Access| other.tensor == by.tensor;
    vars.iter().all(|var| known.contains(var)) && without(tensors, expr, &is_own).is_absent()
}

/// True if an expression has a value for one coordinate of a variable at most, where all other variables have theirs.
pub fn is_tied(tensors: &Arena<Tensor>, expr: &Expr, var: VarId) -> bool {
    let is_factor = |tie: &Access| without(tensors, expr, &|other: &Access| other.is_same_element(tie)).is_absent();
    let is_tie = |tie: &Access| tensors[tie.tensor].indicator.is_some() && tells(tensors, tie, var, &[]);
    expr.accesses().into_iter().any(|tie| is_tie(tie) && is_factor(tie))
}

/// True if an indicator leaves one value at most to a variable, whatever those that are `open` have.
fn tells(tensors: &Arena<Tensor>, tie: &Access, var: VarId, open: &[VarId]) -> bool {
    let Some(place) = only_place(tie, var) else { return false };
    let rest: Vec<VarId> = tie.vars.iter().copied().filter(|own| open.contains(own)).collect();
    let tensor = &tensors[tie.tensor];
    match tensor.indicator.as_deref() {
        _ if rest.is_empty() => tensor.tells(place),
        Some(Indicator::Equation(equation)) => {
            reach(tensor, equation, tie, &rest).is_some_and(|reach| equation.factors[place].abs() > reach)
        }
        _ => false,
    }
}

/// True if a place follows from digits, the greatest of which comes first, and grows with them; all other variables of the indicator
/// have their value `before`.
fn ascends(
    tensors: &Arena<Tensor>,
    tie: &Access,
    (var, digits): (VarId, &[VarId]),
    before: &dyn Fn(&VarId) -> bool,
) -> bool {
    let tensor = &tensors[tie.tensor];
    let (Some(place), Some(Indicator::Equation(equation))) = (only_place(tie, var), tensor.indicator.as_deref()) else {
        return false;
    };
    let known = |own: &VarId| *own == var || digits.contains(own) || before(own);
    tie.vars.iter().all(known)
        && digits.iter().enumerate().all(|(at, digit)| {
            let Some(own) = only_place(tie, *digit) else { return false };
            let opposite = equation.factors[own].signum() != equation.factors[place].signum();
            let rest = &digits[at + 1..];
            let reach = if rest.is_empty() { Some(0) } else { reach(tensor, equation, tie, rest) };
            opposite && reach.is_some_and(|reach| equation.factors[own].abs() > reach)
        })
}

/// The place of a variable that an access has once.
fn only_place(tie: &Access, var: VarId) -> Option<usize> {
    let mut places = (0..tie.vars.len()).filter(|place| tie.vars[*place] == var);
    places.next().filter(|_| places.next().is_none())
}

/// The largest difference between the sums of the terms of some variables, if their sizes are known.
fn reach(tensor: &Tensor, equation: &Equation, tie: &Access, vars: &[VarId]) -> Option<i64> {
    vars.iter().try_fold(0i64, |sum, var| {
        let place = only_place(tie, *var)?;
        let most = i64::try_from(tensor.dims[place]?.saturating_sub(1)).ok()?;
        sum.checked_add(equation.factors[place].abs().checked_mul(most)?)
    })
}

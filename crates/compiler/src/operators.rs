//! The coordinates at which operators that a program declares give something: their part of the [algebra](crate::algebra) of absent
//! entries.
//!
//! An operator with one body is looked at where an operand that annihilates it is stored; without one, where any operand is stored. An
//! operator with regions is looked at where all operands of a region with a body may be present, whatever the others are: values
//! tell which region it is.
//!
//! ```text
//! op f(a, b) = a * b { annihilator 0 }        fill values 0, 0       where both are stored
//! op f(a, b) = a + b + a * b { identity 0 }  fill values 0, 0       where either is stored; where one is, it is the value
//! op u(a, b) { left a }                       fill values 0, 0       where a is stored, with b or without
//! op u(a, b) { both a + b, right b }          a dense, b sparse      where b is stored
//! op u(a, b) { both a + b, left a }           a dense                everywhere
//! ```
//!
//! Paper: Henry et al. 2021, §4: a region that is left out has no point in the iteration space.

use lacunar_base::Arena;
use lacunar_formats::{DType, Scalar};
use lacunar_imp::arith;
use lacunar_notation::operator::{Bodies, Typed};
use lacunar_notation::{Expr, ExprKind, Operator, Program, Role, Tensor};

use crate::algebra::{Background, background, background_where};
use crate::functions::{Constants, apply};

/// The combinations of operands due to which an operator differs from its background.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visited {
    /// Sets of operands, each a number whose bit `k` stands for operand `k`: if all of one set differ from their backgrounds, there may be
    /// something.
    pub sets: Vec<usize>,
    /// The operands that are not asked for, because they are always there.
    pub always: usize,
}

impl Visited {
    /// The operands of each set that have to be there.
    pub fn demanded(&self, operands: usize) -> Vec<Vec<usize>> {
        let of = |set: &usize| (0..operands).filter(|k| (set & !self.always) >> k & 1 == 1).collect();
        self.sets.iter().map(of).collect()
    }
}

/// The background of an operator's result; `None` if it is not the same everywhere.
pub(crate) fn of_operator(operator: Operator, operands: &[Option<Background>]) -> Option<Background> {
    let typed = operator.typed()?;
    if let Bodies::Regions(_) = typed.bodies {
        let visited = regions_of(operator, operands);
        // An operator of numbers alone, which are always present, is a number.
        let numbers: Option<Vec<Scalar>> =
            operands.iter().map(|operand| operand.filter(|number| !number.absent).map(|number| number.value)).collect();
        if let Some(numbers) = numbers
            && visited.sets.contains(&visited.always)
        {
            return Some(Background { value: apply(&mut Constants, operator, &numbers, 0), absent: false });
        }
        let rests = visited.sets.iter().all(|set| set & !visited.always != 0);
        return rests.then(|| Background { value: at_rest(operator, typed), absent: true });
    }
    if let Some(value) = annihilated(typed, operands) {
        return Some(Background { value, absent: true });
    }
    let found: Vec<Background> = operands.iter().copied().collect::<Option<_>>()?;
    let values: Vec<Scalar> = found.iter().map(|operand| operand.value).collect();
    let kept = match found.as_slice() {
        [a, b] if a.absent && is_identity(operator, a.value) => Some(b.value),
        [a, b] if b.absent && is_identity(operator, b.value) => Some(a.value),
        _ => None,
    };
    let value = kept.unwrap_or_else(|| apply(&mut Constants, operator, &values, 0));
    let from_fill = found.iter().any(|a| a.absent && !a.value.is_zero());
    let absent = from_fill || (found.iter().any(|a| a.absent) && value.is_zero());
    Some(Background { value, absent })
}

/// The value of an operator with regions in those that are left out.
fn at_rest(operator: Operator, typed: &Typed) -> Scalar {
    let zero = Scalar::zero(typed.operand);
    let values: Vec<Scalar> =
        (0..operator.arity()).map(|k| typed.rests.get(k).copied().flatten().unwrap_or(zero)).collect();
    apply(&mut Constants, operator, &values, (1 << operator.arity()) - 1)
}

/// The value, if an operand that is not stored annihilates the others.
fn annihilated(typed: &Typed, operands: &[Option<Background>]) -> Option<Scalar> {
    let by = typed.annihilator?;
    let is_annihilated = operands.iter().flatten().any(|operand| operand.absent && operand.value == by);
    is_annihilated.then(|| arith::cast(typed.result, by))
}

/// The combinations of operands for which there may be something else than the background.
pub fn visited(tensors: &Arena<Tensor>, operator: Operator, operands: &[Expr]) -> Visited {
    let backgrounds: Vec<Option<Background>> = operands.iter().map(|operand| background(tensors, operand)).collect();
    if operator.regions().is_some() {
        return regions_of(operator, &backgrounds);
    }
    let by = operator.typed().and_then(|typed| typed.annihilator);
    let annihilates = |operand: &Option<Background>| operand.is_some_and(|a| a.absent && Some(a.value) == by);
    let needed = backgrounds.iter().enumerate().filter(|(_, operand)| annihilates(operand));
    let needed = needed.fold(0, |set, (k, _)| set | 1 << k);
    let sets = if needed != 0 { vec![needed] } else { (0..operands.len()).map(|k| 1 << k).collect() };
    Visited { sets, always: 0 }
}

/// The regions with a body; operands that are never absent are always there.
fn regions_of(operator: Operator, operands: &[Option<Background>]) -> Visited {
    let is_always = |operand: &Option<Background>| !operand.is_some_and(|operand| operand.absent);
    let always = operands.iter().enumerate().filter(|(_, operand)| is_always(operand));
    let always = always.fold(0, |set, (k, _)| set | 1 << k);
    Visited { sets: operator.regions().unwrap_or_default(), always }
}

/// True if an operator of operands, of which some are absent literals, has its background's value.
pub(crate) fn is_annihilated(tensors: &Arena<Tensor>, operator: Operator, operands: &[Expr]) -> bool {
    let gone = |k: usize| operands.get(k).is_some_and(Expr::is_absent);
    let Visited { sets, .. } = visited(tensors, operator, operands);
    // Without an annihilator, a set is one operand, whose absence leaves others.
    let annihilates = operator.regions().is_some() || is_annihilable(tensors, operator, operands);
    annihilates && sets.iter().all(|set| (0..operands.len()).any(|k| set >> k & 1 == 1 && gone(k)))
}

/// True if the identity of an operator is this value.
pub(crate) fn is_identity(operator: Operator, value: Scalar) -> bool {
    operator.typed().is_some_and(|typed| typed.identity == Some(value))
}

/// True if an operand that is absent annihilates an operator with one body.
pub(crate) fn is_annihilable(tensors: &Arena<Tensor>, operator: Operator, operands: &[Expr]) -> bool {
    let backgrounds: Vec<Option<Background>> = operands.iter().map(|operand| background(tensors, operand)).collect();
    operator.typed().is_some_and(|typed| annihilated(typed, &backgrounds).is_some())
}

/// The operand that is left of two, if the other is absent and the identity.
pub(crate) fn left_alone(operator: Operator, operands: &[Expr]) -> Option<&Expr> {
    let typed = operator.typed()?;
    let value = |expr: &Expr| match expr.kind {
        ExprKind::Literal(literal) if expr.is_absent() => Some(literal.value(expr.dtype)),
        _ => None,
    };
    let is_identity = |expr: &Expr| typed.identity.is_some() && value(expr) == typed.identity;
    match operands {
        [a, b] if is_identity(a) => Some(b),
        [a, b] if is_identity(b) => Some(a),
        _ => None,
    }
}

/// Tells the operators with regions in the loops that a program has written out at which values their operands are not present. Fill
/// values are known.
pub(crate) fn set_rests(program: &mut Program) {
    for (_, kernel) in &mut program.loops {
        let mut tensors = kernel.tensors.clone();
        for (id, tensor) in program.tensors.iter() {
            tensors[id].fill = tensor.fill;
        }
        kernel.stmt.visit_assigns_mut(&mut |assign| {
            let rhs = std::mem::replace(&mut assign.rhs, Expr::zero(DType::Bool));
            assign.rhs = with_rests(&tensors, rhs);
        });
    }
}

/// An expression in which operators with regions know at which values their operands are not present.
pub(crate) fn with_rests(tensors: &Arena<Tensor>, expr: Expr) -> Expr {
    let expr = expr.map_children(&mut |child| with_rests(tensors, child));
    match expr.kind {
        ExprKind::Apply(operator, operands) if operator.regions().is_some() => {
            let rests = operands.iter().map(|operand| rest(tensors, operand)).collect();
            Expr { kind: ExprKind::Apply(operator.with_rests(rests), operands), ..expr }
        }
        kind => Expr { kind, ..expr },
    }
}

/// The value of an expression where no tensor in it has entries, if it is absent there; that of dense tensors is their fill value. A
/// tensor without dimensions is a number, which is always present, unless it is a workspace, which stands for an expression.
fn rest(tensors: &Arena<Tensor>, expr: &Expr) -> Option<Scalar> {
    let is_made = |tensor: &Tensor| matches!(tensor.role, Role::Workspace(_));
    let has_gaps = |tensor: &Tensor| tensor.role != Role::Index && (tensor.order() > 0 || is_made(tensor));
    background_where(tensors, expr, &has_gaps).filter(|background| background.absent).map(|background| background.value)
}

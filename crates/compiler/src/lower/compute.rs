//! Values: expressions evaluated, and assignments carried out.
//!
//! ```text
//! y(i) += A(i,j) * x(j)         y_vals[i] += A_vals[p] * x_vals[j]
//! C(i,j) = A(i,j) + B(i,j)      where B may be absent:   A_vals[p] + (at_pB2 ? B_vals[q] : 0)
//! ```
//!
//! On entry: the scope knows where every access stands, and which of them may be absent. An assignment says under which condition
//! it gave its target something. Paper: Henry et al. 2021, §4 (the effect of absent operands).

use lacunar_base::Diagnostic;
use lacunar_formats::{DType, Scalar};
use lacunar_imp::{CompareOp, ExprId};
use lacunar_notation::concrete::Assign;
use lacunar_notation::{Access, AssignOp, BinaryFn, Expr, ExprKind, Literal, Monoid, Operator, Role, TensorId};

use super::derive::value_position;
use super::scope::{Reading, Scope, Uncertain};
use super::sinks::{Addition, Beside};
use super::storage::{code, values};
use super::{Lowerer, Written, sinks};
use crate::algebra::{Support, background, choice, preserves_fill, selected, support};
use crate::functions;
use crate::iterate::iterators::AccessKey;
use crate::operators::{self, visited};

/// Tells if an expression differs from its background at a place, or if an assignment has something to assign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    Never,
    Always,
    /// If a condition holds.
    If(ExprId),
}

/// An assignment; says under which condition the result got a value.
pub(super) fn assign(cx: &mut Lowerer<'_>, assign: &Assign, scope: &Scope) -> Result<Written, Diagnostic> {
    let target = assign.lhs.tensor;
    let presence = match preserves_fill(&cx.kernel.tensors, assign) {
        true => presence(cx, &assign.rhs, scope),
        false => Presence::Always,
    };
    let presence = match selected(&cx.kernel.tensors, assign) {
        Some(value) => {
            let condition = differs(cx, value, target, scope)?;
            all_present(cx, presence, Presence::If(condition))
        }
        None => presence,
    };
    if matches!(cx.kernel.tensors[target].role, Role::Workspace(_)) {
        match presence {
            Presence::Never => {}
            Presence::Always => add(cx, assign, scope)?,
            Presence::If(condition) => cx.when(condition, |cx| add(cx, assign, scope))?,
        }
        return Ok(Written::Untold);
    }
    let written = match presence {
        Presence::If(condition) => Written::If(condition),
        Presence::Always => Written::Always,
        Presence::Never => Written::If(cx.b.bool(false)),
    };
    if let Some(given) = scope.block_given().filter(|_| scope.appended().is_some_and(|a| a.access.tensor == target)) {
        let yes = written.condition().unwrap_or_else(|| cx.b.bool(true));
        let so_far = cx.b.var(given);
        let now = cx.b.or(so_far, yes);
        cx.b.assign(given, now);
    }
    if code(cx, target, scope).values.is_none() {
        return Ok(written);
    }
    // A given pattern has room for values that there are; otherwise the next value overwrites one that is not kept.
    let asks = !scope.is_reserved()
        && scope.appended().is_some_and(|appended| appended.access.tensor == target && appended.stored.is_some());
    cx.when_some(written.condition().filter(|_| asks), |cx| add(cx, assign, scope))?;
    Ok(written)
}

/// The condition that a value differs from the fill value of a target.
fn differs(cx: &mut Lowerer<'_>, value: &Expr, target: TensorId, scope: &Scope) -> Result<ExprId, Diagnostic> {
    let of = expr(cx, value, scope)?;
    let tensor = &cx.kernel.tensors[target];
    let fill = if tensor.dtype == DType::Pattern { Scalar::zero(cx.b.type_of(of)) } else { tensor.fill() };
    let fill = cx.b.constant(fill);
    // Values of some types are only stored, and compared in the type that they are computed in.
    let dtype = cx.b.type_of(of).arithmetic();
    let (of, fill) = (cx.b.cast(dtype, of), cx.b.cast(dtype, fill));
    Ok(cx.b.compare(CompareOp::Ne, of, fill))
}

/// Gives a target the value of an assignment. An absent value may annihilate the value before: see [`absorbed`].
fn add(cx: &mut Lowerer<'_>, assign: &Assign, scope: &Scope) -> Result<(), Diagnostic> {
    let Some(absorbed) = absorbed(cx, assign, scope) else { return combine(cx, assign, scope) };
    match presence(cx, &assign.rhs, scope) {
        Presence::Always => combine(cx, assign, scope),
        Presence::Never => combine(cx, &absorbed, scope),
        Presence::If(condition) => {
            let (then, present) = cx.block(|cx| combine(cx, assign, scope));
            let (otherwise, absent) = cx.block(|cx| combine(cx, &absorbed, scope));
            cx.branch(condition, then, otherwise);
            present.and(absent)
        }
    }
}

/// The assignment that remains for an absent value, if that annihilates every earlier value, infinite or NaN included: an absent 0 in
/// `y(i) *= x(i)`. The places of the target tell the loops around, so that each has one value combined with it.
fn absorbed(cx: &Lowerer<'_>, assign: &Assign, scope: &Scope) -> Option<Assign> {
    let monoid = assign.op.monoid().filter(|_| assign.rhs.dtype.is_float())?;
    let background = background(&cx.kernel.tensors, &assign.rhs).filter(|background| background.absent)?;
    let (_, left) = monoid.function().annihilated_by(background.value);
    let originals = scope.bound().into_iter().flat_map(|var| cx.kernel.provenance.originals(var));
    let is_result = cx.kernel.tensors[assign.lhs.tensor].role == Role::Result;
    let is_told = is_result && originals.into_iter().all(|var| assign.lhs.vars.contains(&var));
    let kind = ExprKind::Literal(Literal::Fill(left.filter(|_| is_told)?));
    Some(Assign { op: AssignOp::Set, rhs: Expr { kind, ..assign.rhs.clone() }, ..assign.clone() })
}

/// Combines the value of an assignment with that of its target, or replaces it.
fn combine(cx: &mut Lowerer<'_>, assign: &Assign, scope: &Scope) -> Result<(), Diagnostic> {
    if let ExprKind::Select(operands) = &assign.rhs.kind
        && scope.sink(assign.lhs.tensor).is_some_and(|sink| sink.takes_selected())
    {
        let [condition, value, _] = &**operands;
        let condition = expr(cx, condition, scope)?;
        return cx.when(condition, |cx| combine(cx, &Assign { rhs: value.clone(), ..assign.clone() }, scope));
    }
    let of = match assign.op.monoid().and_then(Monoid::compared) {
        Some(_) => value_of(cx, &assign.rhs, scope)?,
        None => None,
    };
    let value = addend(cx, assign, scope)?;
    sinks::add(cx, &Addition { key: AccessKey::from(&assign.lhs), op: assign.op, value, of }, scope)
}

/// The value that an expression is the index of: it is written beside it, or it is kept beside it in a workspace.
fn value_of(cx: &mut Lowerer<'_>, index: &Expr, scope: &Scope) -> Result<Option<ExprId>, Diagnostic> {
    if let Some((value, _)) = index.as_at() {
        return expr(cx, value, scope).map(Some);
    }
    let ExprKind::Access(access) = &index.kind else { return Ok(None) };
    Ok(match scope.sink(access.tensor).and_then(|workspace| workspace.beside()) {
        Some(Beside::Variable(value)) => Some(cx.b.var(value)),
        Some(Beside::Array(values)) => {
            let at = value_position(cx, &AccessKey::from(access), scope)?;
            Some(cx.b.load("beside", values, at))
        }
        None => None,
    })
}

/// The value that is added, as often as the scope says.
fn addend(cx: &mut Lowerer<'_>, assign: &Assign, scope: &Scope) -> Result<ExprId, Diagnostic> {
    let value = expr(cx, &assign.rhs, scope)?;
    let dtype = cx.b.type_of(value);
    // A minimum stays the same, however often a value is met.
    let is_counted = assign.op.monoid().is_some_and(|monoid| !monoid.is_idempotent(dtype));
    let Some(times) = scope.times().filter(|_| is_counted) else { return Ok(value) };
    let times = cx.b.cast(dtype, times);
    Ok(cx.b.mul(value, times))
}

/// Evaluates an expression where `scope` holds.
pub(super) fn expr(cx: &mut Lowerer<'_>, of: &Expr, scope: &Scope) -> Result<ExprId, Diagnostic> {
    match &of.kind {
        ExprKind::Literal(literal) => Ok(cx.b.constant(literal.value(value_type(of.dtype)))),
        ExprKind::Access(access) => read(cx, access, scope),
        // The value of a pattern at a place says whether there is something.
        ExprKind::Cast(a) if of.dtype == DType::Pattern => {
            let is_absent = background(&cx.kernel.tensors, a).is_some_and(|background| background.absent);
            let present = if is_absent { presence(cx, a, scope) } else { Presence::Always };
            Ok(match present {
                Presence::If(condition) => condition,
                Presence::Always => cx.b.bool(true),
                Presence::Never => cx.b.bool(false),
            })
        }
        ExprKind::Cast(a) => {
            let a = expr(cx, a, scope)?;
            Ok(cx.b.cast(of.dtype, a))
        }
        ExprKind::Unary(function, a) => {
            let a = expr(cx, a, scope)?;
            Ok(functions::unary(&mut cx.b, *function, a))
        }
        // The value beside an index is read on its own.
        ExprKind::Binary(BinaryFn::At, _, index) => expr(cx, index, scope),
        ExprKind::Binary(function, a, b) => {
            let value = (expr(cx, a, scope)?, expr(cx, b, scope)?);
            let value = functions::binary(&mut cx.b, *function, value.0, value.1);
            // An absent operand makes the result absent even where the other is NaN or infinite.
            let uncertain = match support(&cx.kernel.tensors, *function, a, b) {
                Support::Intersection => is_uncertain(a, scope) || is_uncertain(b, scope),
                Support::Left => is_uncertain(a, scope),
                Support::Right => is_uncertain(b, scope),
                Support::Union => false,
            };
            let background = background(&cx.kernel.tensors, of).filter(|_| uncertain);
            match background.map(|background| (background.value, presence(cx, of, scope))) {
                Some((absent, Presence::If(present))) => {
                    let absent = cx.b.constant(absent);
                    Ok(cx.b.select(present, value, absent))
                }
                _ => Ok(value),
            }
        }
        ExprKind::Apply(operator, operands) => apply(cx, of, (*operator, operands), scope),
        ExprKind::Select(operands) => {
            let [condition, a, b] = &**operands;
            let (condition, a, b) = (expr(cx, condition, scope)?, expr(cx, a, scope)?, expr(cx, b, scope)?);
            Ok(cx.b.select(condition, a, b))
        }
        ExprKind::Reduce(..) => Err(Diagnostic::internal("a reduction is left in concrete notation")),
    }
}

/// The value of an operator that the program declares.
fn apply(
    cx: &mut Lowerer<'_>,
    of: &Expr,
    (operator, operands): (Operator, &[Expr]),
    scope: &Scope,
) -> Result<ExprId, Diagnostic> {
    let values = operands.iter().map(|operand| expr(cx, operand, scope)).collect::<Result<Vec<_>, _>>()?;
    let absent = operands.iter().enumerate().filter(|(_, operand)| operand.is_absent());
    let absent = absent.fold(0, |set, (k, _)| set | 1 << k);
    let mut value = functions::apply(&mut cx.b, operator, &values, absent);
    let uncertain: Vec<bool> = operands.iter().map(|operand| is_uncertain(operand, scope)).collect();
    if operator.regions().is_some() || !uncertain.contains(&true) {
        return Ok(value);
    }
    // An operand that is absent and the identity leaves the other, whatever the body gives.
    if let ([left, right], [a, b]) = (operands, values.as_slice()) {
        for (k, operand, other) in [(0, left, *b), (1, right, *a)] {
            let background = background(&cx.kernel.tensors, operand).filter(|background| background.absent);
            let is_identity = background.is_some_and(|background| operators::is_identity(operator, background.value));
            if is_identity
                && uncertain[k]
                && let Presence::If(present) = presence(cx, operand, scope)
            {
                value = cx.b.select(present, value, other);
            }
        }
    }
    let annihilated = operators::is_annihilable(&cx.kernel.tensors, operator, operands);
    let background = background(&cx.kernel.tensors, of).filter(|_| annihilated);
    match background.map(|background| (background.value, presence(cx, of, scope))) {
        Some((absent, Presence::If(present))) => {
            let absent = cx.b.constant(absent);
            Ok(cx.b.select(present, value, absent))
        }
        _ => Ok(value),
    }
}

/// The value of an access; the fill value of its tensor, where it is absent.
pub(super) fn read(cx: &mut Lowerer<'_>, access: &Access, scope: &Scope) -> Result<ExprId, Diagnostic> {
    if let Some(value) = scope.sink(access.tensor).and_then(|workspace| workspace.scalar()) {
        return Ok(cx.b.var(value));
    }
    let key = AccessKey::from(access);
    if let Some(value) = scope.read(&key) {
        return Ok(value);
    }
    let uncertain = scope.uncertain(&key);
    if cx.kernel.tensors[access.tensor].dtype == DType::Pattern {
        return Ok(uncertain.map_or_else(|| cx.b.bool(true), |uncertain| uncertain.present));
    }
    let at = value_position(cx, &key, scope)?;
    // The value of an index variable is its place among the values.
    if cx.kernel.tensors[access.tensor].role == Role::Index {
        return Ok(cx.b.cast(DType::I64, at));
    }
    let name = format!("{}_v", cx.name(access.tensor));
    let values = values(cx, access.tensor, scope)?;
    let fill = cx.kernel.tensors[access.tensor].fill();
    Ok(match uncertain {
        None => cx.b.load(&name, values, at),
        Some(Uncertain { reading: Reading::Done(value), .. }) => value,
        Some(Uncertain { present, reading: Reading::Ignored }) => {
            let value = cx.b.load(&name, values, at);
            let fill = cx.b.constant(fill);
            cx.b.select(present, value, fill)
        }
        Some(Uncertain { present, reading: Reading::Guarded }) => {
            let fill = cx.b.constant(fill);
            let variable = cx.b.declare(&name, fill);
            cx.b.if_then(present, |b| {
                let value = b.load(&name, values, at);
                b.assign(variable, value);
            });
            cx.b.var(variable)
        }
    })
}

/// True if an expression reads an access that may be absent.
fn is_uncertain(expr: &Expr, scope: &Scope) -> bool {
    expr.accesses().into_iter().any(|access| scope.uncertain(&AccessKey::from(access)).is_some())
}

/// Tells if an expression differs from its background here. Every access that is left in it is present, except that one may be
/// uncertain in this scope, and that a workspace may have been given nothing.
fn presence(cx: &mut Lowerer<'_>, expr: &Expr, scope: &Scope) -> Presence {
    match &expr.kind {
        ExprKind::Literal(_) => Presence::Never,
        ExprKind::Access(access) => match scope.uncertain(&AccessKey::from(access)) {
            Some(uncertain) => Presence::If(uncertain.present),
            None => workspace_presence(cx, access.tensor, scope),
        },
        ExprKind::Cast(a) | ExprKind::Unary(_, a) | ExprKind::Reduce(_, _, a) => presence(cx, a, scope),
        ExprKind::Binary(function, left, right) => {
            let (a, b) = (presence(cx, left, scope), presence(cx, right, scope));
            match support(&cx.kernel.tensors, *function, left, right) {
                Support::Intersection => all_present(cx, a, b),
                Support::Left => a,
                Support::Right => b,
                Support::Union => any_present(cx, a, b),
            }
        }
        ExprKind::Apply(operator, operands) => {
            let visited = visited(&cx.kernel.tensors, *operator, operands);
            let of_operands: Vec<Presence> = operands.iter().map(|operand| presence(cx, operand, scope)).collect();
            let mut any = Presence::Never;
            for set in visited.demanded(operands.len()) {
                let all = set.iter().fold(Presence::Always, |all, k| all_present(cx, all, of_operands[*k]));
                any = any_present(cx, any, all);
            }
            any
        }
        ExprKind::Select(operands) => {
            let (usual, other, is_same) = {
                let chosen = choice(&cx.kernel.tensors, operands);
                (chosen.usual, chosen.other, chosen.is_same)
            };
            let (condition, usual) = (presence(cx, &operands[0], scope), presence(cx, usual, scope));
            let other = if is_same { presence(cx, other, scope) } else { Presence::Always };
            let other = all_present(cx, condition, other);
            any_present(cx, usual, other)
        }
    }
}

/// True if an expression reads a workspace that may have been given nothing.
pub(super) fn may_be_over_nothing(expr: &Expr, scope: &Scope) -> bool {
    let given = |access: &&Access| scope.sink(access.tensor).and_then(|workspace| workspace.given());
    expr.accesses().iter().any(|access| given(access).is_some())
}

/// Tells if a workspace has a value where it is read. Any other tensor has one.
fn workspace_presence(cx: &mut Lowerer<'_>, tensor: TensorId, scope: &Scope) -> Presence {
    match scope.sink(tensor).and_then(|workspace| workspace.given()) {
        Some(given) => Presence::If(cx.b.var(given)),
        None => Presence::Always,
    }
}

fn all_present(cx: &mut Lowerer<'_>, a: Presence, b: Presence) -> Presence {
    match (a, b) {
        (Presence::Never, _) | (_, Presence::Never) => Presence::Never,
        (Presence::Always, other) | (other, Presence::Always) => other,
        (Presence::If(a), Presence::If(b)) => Presence::If(cx.b.and(a, b)),
    }
}

fn any_present(cx: &mut Lowerer<'_>, a: Presence, b: Presence) -> Presence {
    match (a, b) {
        (Presence::Always, _) | (_, Presence::Always) => Presence::Always,
        (Presence::Never, other) | (other, Presence::Never) => other,
        (Presence::If(a), Presence::If(b)) => Presence::If(cx.b.or(a, b)),
    }
}

/// The type of the values of an expression; a pattern has truth values.
fn value_type(dtype: DType) -> DType {
    if dtype == DType::Pattern { DType::Bool } else { dtype }
}

//! The algebra of absent entries in expressions, which decides between intersection and union.
//!
//! An entry that is not stored is *absent*: it is read as the fill value of its tensor, 0 unless said otherwise
//! ([`Literal::Absent`], [`Literal::Fill`]). The *background* of an expression is its value where all its operands are absent, and
//! the *support* of a function tells the places at which it differs from that:
//!
//! ```text
//! A * B            fill values 0, 0         background 0     where both are stored: 0 annihilates the product
//! A + B            fill values 0, 0         background 0     where either is stored
//! A + B            fill values inf, inf     background inf   where both are stored: inf annihilates the sum
//! min(A, B)        fill values inf, inf     background inf   where either is stored
//! A * B            fill values 0, 2         background 0     where A is stored
//! A + B            fill values 1, 2         background 3     where either is stored
//! A + x, x dense   fill value 1             none             everywhere
//! ```
//!
//! An assignment *preserves the fill value* of its target if its value is the one that the target has anyway: the fill value of a
//! tensor, nothing combined with an accumulator. If its background does so, only coordinates where it differs are visited; else all are.
//!
//! A function of absent operands is absent, and annihilates operands further out, unless its operands are 0 and its value is not:
//! `max(A, 0)` and `pow(A, 2)` are absent where `A` is, `exp(A)` is not. [`without`] is the residual of an expression when some
//! of its accesses are known to be absent:
//!
//! ```text
//! (A + B) * C  without A  =  B * C
//! (A + B) * C  without C  =  absent
//! exp(A)       without A  =  exp(0)
//! ```
//!
//! Paper: Kjolstad et al. 2017, §5.1 (rules for `+` and `*`); Henry et al. 2021, §4 (any operator, by annihilators and
//! identities, and any fill values).

use lacunar_base::{Arena, Span};
use lacunar_formats::{DType, Scalar};
use lacunar_imp::arith;
use lacunar_notation::concrete::Assign;
use lacunar_notation::{
    Access, AssignOp, Assignment, BinaryFn, Expr, ExprKind, Literal, Monoid, Program, Role, Tensor, UnaryFn, VarId,
};

use crate::comparisons::Patterns;
use crate::functions::{self, Constants};
use crate::operators::{is_annihilated, left_alone, of_operator, set_rests, with_rests};
use crate::reduction::{make_explicit, presence, sums_of_zeros, with_patterns_of_terms};
use crate::structure::confined;

/// The value of an expression where all its operands are absent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Background {
    /// The value.
    pub value: Scalar,
    /// True if the expression is absent there, and not a constant like one that is written.
    pub absent: bool,
}

/// The places at which a function of two operands differs from its background.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// The places at which both operands differ from theirs.
    Intersection,
    /// The places at which the left operand differs from its background.
    Left,
    /// The places at which the right operand differs from its background.
    Right,
    /// The places at which at least one operand differs from its background.
    Union,
}

/// The background of an expression; `None` if its value is not the same everywhere its operands are absent, or some never is.
pub fn background(tensors: &Arena<Tensor>, expr: &Expr) -> Option<Background> {
    let has_gaps = |tensor: &Tensor| matches!(tensor.role, Role::Workspace(_)) || !tensor.format.is_dense();
    background_where(tensors, expr, &has_gaps)
}

/// The background of an expression if the tensors that `has_gaps` accepts may have elements that are not stored.
pub(crate) fn background_where(
    tensors: &Arena<Tensor>,
    expr: &Expr,
    has_gaps: &dyn Fn(&Tensor) -> bool,
) -> Option<Background> {
    let background = |expr: &Expr| background_where(tensors, expr, has_gaps);
    match &expr.kind {
        ExprKind::Literal(literal) => {
            let absent = matches!(literal, Literal::Absent | Literal::Fill(_));
            Some(Background { value: literal.value(expr.dtype), absent })
        }
        ExprKind::Access(access) => {
            let tensor = &tensors[access.tensor];
            has_gaps(tensor).then(|| Background { value: tensor.fill(), absent: true })
        }
        // A pattern stores ones, and only absent entries are not stored.
        ExprKind::Cast(a) if expr.dtype == DType::Pattern => Some(match background(a)?.absent {
            true => Background { value: Scalar::zero(expr.dtype), absent: true },
            false => Background { value: Scalar::one(expr.dtype), absent: false },
        }),
        ExprKind::Cast(a) => Some(of_one(background(a)?, |a| arith::cast(expr.dtype, a))),
        ExprKind::Unary(function, a) => {
            Some(of_one(background(a)?, |a| functions::unary(&mut Constants, *function, a)))
        }
        // A reduction over nothing is absent, and values that are the identity are nothing, unless they are 0; of other values it may
        // depend on their number.
        ExprKind::Reduce(monoid, _, a) => background(a).filter(|a| is_kept(*monoid, a.value)).map(|a| {
            let is_nothing = !a.value.is_zero() && monoid.identity(a.value.ty) == Some(a.value);
            Background { absent: a.absent || is_nothing, ..a }
        }),
        ExprKind::Binary(function, left, right) => {
            let (a, b) = (background(left), background(right));
            if let (_, Some(value)) = support_of(*function, a, b) {
                return Some(Background { value, absent: true });
            }
            let (a, b) = (a?, b?);
            let value = functions::binary(&mut Constants, *function, a.value, b.value);
            let from_fill = |a: Background| a.absent && !a.value.is_zero();
            let absent = from_fill(a) || from_fill(b) || ((a.absent || b.absent) && value.is_zero());
            Some(Background { value, absent })
        }
        ExprKind::Apply(operator, operands) => {
            of_operator(*operator, &operands.iter().map(background).collect::<Vec<_>>())
        }
        ExprKind::Select(operands) => choice_of(&background, operands).background,
    }
}

/// The operands of `select(c, a, b)` in the roles that the condition's background gives them: `usual` is the value where the
/// condition is not stored, and `other` may be it elsewhere. The selection differs from its background where `usual` does, and where
/// the condition does, but only together with `other` if both values are the `same` where they are absent.
///
/// ```text
/// select(M, A, B)          M sparse, A, B dense      at M: everywhere, as B is
/// select(M, A, 0)          M, A sparse               where both are stored: A is 0 elsewhere, too
/// select(not(M), A, B)     A, B sparse               where A is stored, or M and B
/// select(x > 0, A, 0)      x dense                   where A is stored
/// ```
pub struct Choice<'e> {
    /// The value where the condition is not stored; where it always is, the last operand.
    pub usual: &'e Expr,
    /// The other value.
    pub other: &'e Expr,
    /// True if both values are the same where they are absent.
    pub is_same: bool,
    /// The background of the whole.
    background: Option<Background>,
}

/// The roles of a selection's operands.
pub fn choice<'e>(tensors: &Arena<Tensor>, operands: &'e [Expr; 3]) -> Choice<'e> {
    choice_of(&|expr| background(tensors, expr), operands)
}

/// The roles of a selection's operands, which have these backgrounds.
fn choice_of<'e>(background: &dyn Fn(&Expr) -> Option<Background>, [condition, a, b]: &'e [Expr; 3]) -> Choice<'e> {
    let condition = background(condition);
    let holds = condition.is_some_and(|condition| !condition.value.is_zero());
    let (usual, other) = if holds { (a, b) } else { (b, a) };
    let (of_usual, of_other) = (background(usual), background(other));
    let same = of_usual.zip(of_other).filter(|(a, b)| a.value.equals(b.value) && (a.absent || b.absent));
    let background = match (same, condition) {
        (Some((usual, other)), _) => Some(if usual.absent { usual } else { other }),
        // A zero that follows from an absent condition is absent.
        (None, Some(condition)) => of_usual
            .map(|usual| Background { absent: usual.absent || (condition.absent && usual.value.is_zero()), ..usual }),
        (None, None) => None,
    };
    Choice { usual, other, is_same: same.is_some(), background }
}

/// True if a value combined with itself, however often, is itself.
pub(crate) fn is_kept(monoid: Monoid, value: Scalar) -> bool {
    monoid.is_idempotent(value.ty) || is_left_out(monoid, value)
}

/// True if a reduction may leave out values like this one: it is the identity.
pub(crate) fn is_left_out(monoid: Monoid, value: Scalar) -> bool {
    monoid.identity(value.ty).is_some_and(|identity| identity.equals(value))
}

fn of_one(a: Background, function: impl FnOnce(Scalar) -> Scalar) -> Background {
    let value = function(a.value);
    Background { value, absent: a.absent && (!a.value.is_zero() || value.is_zero()) }
}

/// The places at which a function of two operands differs from its background.
pub fn support(tensors: &Arena<Tensor>, function: BinaryFn, left: &Expr, right: &Expr) -> Support {
    support_of(function, background(tensors, left), background(tensors, right)).0
}

/// The same for the operands' backgrounds, and the value if an operand annihilates the other.
pub(crate) fn support_of(
    function: BinaryFn,
    left: Option<Background>,
    right: Option<Background>,
) -> (Support, Option<Scalar>) {
    let absent = |background: Option<Background>| background.filter(|background| background.absent);
    let by_left = absent(left).and_then(|left| function.annihilated_by(left.value).0);
    let by_right = absent(right).and_then(|right| function.annihilated_by(right.value).1);
    match (by_left, by_right) {
        (Some(a), Some(b)) if a == b => (Support::Intersection, by_left),
        (Some(_), _) => (Support::Left, by_left),
        (None, Some(_)) => (Support::Right, by_right),
        (None, None) => (Support::Union, None),
    }
}

/// True if an assignment need not be carried out where all its operands are absent: its target has that value anyway.
pub fn preserves_fill(tensors: &Arena<Tensor>, assign: &Assign) -> bool {
    let target = match assign.op {
        AssignOp::Set => tensors[assign.lhs.tensor].fill(),
        // Nothing is combined with what is there.
        AssignOp::Reduce(monoid) => match monoid.identity(assign.rhs.dtype) {
            Some(identity) => identity,
            None => return false,
        },
    };
    background(tensors, &assign.rhs).is_some_and(|background| match target.is_zero() {
        // A zero that is written, and nothing else, is a value, not an absence.
        true => background.value.is_zero() && !is_written(&assign.rhs),
        false => background.value.equals(target),
    })
}

/// The expression that an assignment stores only where it differs from the fill value: a pruned one. `None` if the operands alone
/// tell which coordinates the result has.
pub fn selected<'a>(tensors: &Arena<Tensor>, assign: &'a Assign) -> Option<&'a Expr> {
    let target = &tensors[assign.lhs.tensor];
    let is_written = matches!(target.role, Role::Result | Role::Workspace(_));
    if !is_written || target.format.is_dense() || assign.op != AssignOp::Set {
        return None;
    }
    // A pattern has no values: the values that it is made of are looked at.
    let value = match &assign.rhs.kind {
        ExprKind::Cast(of) if assign.rhs.dtype == DType::Pattern => of,
        _ => &assign.rhs,
    };
    is_pruned(value).then_some(value)
}

/// A statement that stores the true values alone of a mask: a sparse `bool` result that is computed by comparisons.
///
/// ```text
/// M(i,j) = gt(A(i,j), 0)             ->  M(i,j) = prune(gt(A(i,j), 0))
/// M(i) = sum(j, gt(A(i,j), 0))       ->  M(i) = prune(sum(j, gt(A(i,j), 0)))
/// ```
///
/// The same is done where an operator leaves out regions: values tell which region it is.
pub fn with_pruned_mask(tensors: &Arena<Tensor>, mut statement: Assignment) -> Assignment {
    let target = &tensors[statement.lhs.tensor];
    let is_sparse = !target.format.is_dense();
    let is_mask = target.dtype == DType::Bool && is_sparse && target.fill().is_zero() && compares(&statement.rhs);
    let is_told = is_mask || (is_sparse && leaves_out(&statement.rhs));
    if is_told && statement.op == AssignOp::Set && !is_pruned(&statement.rhs) {
        let (dtype, span) = (statement.rhs.dtype, statement.rhs.span);
        statement.rhs = Expr { kind: ExprKind::Unary(UnaryFn::Prune, Box::new(statement.rhs)), dtype, span };
    }
    statement
}

/// True if an expression is pruned, and then perhaps converted.
fn is_pruned(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Unary(UnaryFn::Prune, _) => true,
        ExprKind::Cast(a) => is_pruned(a),
        _ => false,
    }
}

/// True if an expression is that of an operator which leaves out regions, and then perhaps converted.
fn leaves_out(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Apply(operator, _) => operator.omits(),
        ExprKind::Cast(a) => leaves_out(a),
        _ => false,
    }
}

/// True if an expression is a truth value that is computed of other values.
fn compares(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Literal(_) | ExprKind::Access(_) => false,
        ExprKind::Cast(a) | ExprKind::Unary(_, a) | ExprKind::Reduce(_, _, a) => compares(a),
        ExprKind::Binary(
            BinaryFn::Eq | BinaryFn::Ne | BinaryFn::Lt | BinaryFn::Le | BinaryFn::Gt | BinaryFn::Ge,
            ..,
        ) => true,
        ExprKind::Binary(_, a, b) => compares(a) || compares(b),
        ExprKind::Select(operands) => operands.iter().any(compares),
        ExprKind::Apply(_, operands) => operands.iter().any(compares),
    }
}

/// True if an expression has nothing that can be absent.
fn is_written(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Literal(literal) => !matches!(literal, Literal::Absent | Literal::Fill(_)),
        ExprKind::Access(_) => false,
        ExprKind::Cast(a) | ExprKind::Unary(_, a) | ExprKind::Reduce(_, _, a) => is_written(a),
        ExprKind::Binary(_, a, b) => is_written(a) && is_written(b),
        ExprKind::Select(operands) => operands.iter().all(is_written),
        // In regions that are left out, nothing is written.
        ExprKind::Apply(operator, operands) => operator.regions().is_none() && operands.iter().all(is_written),
    }
}

/// The least part of an expression due to which its value is another than `target` where nothing is stored.
pub fn fills<'e>(tensors: &Arena<Tensor>, expr: &'e Expr, target: Scalar) -> &'e Expr {
    let is_due = |part: &Expr| background(tensors, part).is_none_or(|background| !background.value.is_zero());
    match &expr.kind {
        ExprKind::Cast(a) | ExprKind::Reduce(_, _, a) => fills(tensors, a, target),
        ExprKind::Unary(_, a) if background(tensors, a).is_none() => fills(tensors, a, target),
        ExprKind::Binary(function, a, b) => {
            let parts = [a, b].map(|part| (part, background(tensors, part).is_none(), is_due(part)));
            let sum = matches!(function, BinaryFn::Add | BinaryFn::Sub) && target.is_zero();
            match parts {
                [(a, true, _), _] => fills(tensors, a, target),
                [_, (b, true, _)] => fills(tensors, b, target),
                [(a, _, true), (_, _, false)] if sum => fills(tensors, a, target),
                [(_, _, false), (b, _, true)] if sum => fills(tensors, b, target),
                _ => expr,
            }
        }
        _ => expr,
    }
}

/// The expression with every access that `absent` names replaced by the fill value of its tensor, simplified.
pub fn without(tensors: &Arena<Tensor>, expr: &Expr, absent: &impl Fn(&Access) -> bool) -> Expr {
    let rebuild = |kind| Expr { kind, dtype: expr.dtype, span: expr.span };
    let rest = match &expr.kind {
        ExprKind::Access(access) if absent(access) => {
            return Expr { span: expr.span, ..Expr::fill(tensors[access.tensor].fill()) };
        }
        ExprKind::Literal(_) | ExprKind::Access(_) => return expr.clone(),
        ExprKind::Cast(a) => rebuild(ExprKind::Cast(Box::new(without(tensors, a, absent)))),
        ExprKind::Unary(function, a) => rebuild(ExprKind::Unary(*function, Box::new(without(tensors, a, absent)))),
        ExprKind::Reduce(op, vars, a) => {
            rebuild(ExprKind::Reduce(*op, vars.clone(), Box::new(without(tensors, a, absent))))
        }
        ExprKind::Binary(function, left, right) => {
            let (a, b) = (without(tensors, left, absent), without(tensors, right, absent));
            let annihilated = match support(tensors, *function, &a, &b) {
                Support::Intersection => a.is_absent() || b.is_absent(),
                Support::Left => a.is_absent(),
                Support::Right => b.is_absent(),
                Support::Union => false,
            };
            let rest = rebuild(ExprKind::Binary(*function, Box::new(a), Box::new(b)));
            if annihilated { absent_literal(tensors, &rest).unwrap_or(rest) } else { rest }
        }
        ExprKind::Apply(operator, operands) => {
            let operands: Vec<Expr> = operands.iter().map(|operand| without(tensors, operand, absent)).collect();
            if let Some(other) = left_alone(*operator, &operands) {
                return other.clone();
            }
            let annihilated = is_annihilated(tensors, *operator, &operands);
            let rest = rebuild(ExprKind::Apply(*operator, operands));
            if annihilated { absent_literal(tensors, &rest).unwrap_or(rest) } else { rest }
        }
        ExprKind::Select(operands) => {
            let operands = operands.each_ref().map(|operand| without(tensors, operand, absent));
            return chosen(tensors, operands, rebuild);
        }
    };
    if rest.accesses().is_empty()
        && let Some(absent) = absent_literal(tensors, &rest)
    {
        return absent;
    }
    match rest.kind {
        ExprKind::Binary(function, a, b) => simplified(function, *a, *b, rebuild),
        _ => rest,
    }
}

/// A selection, or the one of its values that is left: the usual one if nothing of the condition is stored, and the value of both if
/// they are absent and the same.
fn chosen(tensors: &Arena<Tensor>, operands: [Expr; 3], rebuild: impl FnOnce(ExprKind) -> Expr) -> Expr {
    let [condition, a, b] = operands.each_ref().map(|operand| operand.accesses().is_empty());
    let is_same = choice(tensors, &operands).is_same;
    let holds = background(tensors, &operands[0]).filter(|_| condition).map(|condition| !condition.value.is_zero());
    let rest = rebuild(ExprKind::Select(Box::new(operands)));
    if a && b
        && (condition || is_same)
        && let Some(absent) = absent_literal(tensors, &rest)
    {
        return absent;
    }
    match (holds, rest.kind) {
        (Some(true), ExprKind::Select(operands)) => {
            let [_, a, _] = *operands;
            a
        }
        (Some(false), ExprKind::Select(operands)) => {
            let [_, _, b] = *operands;
            b
        }
        (_, kind) => Expr { kind, ..rest },
    }
}

/// The background of an expression as a literal, if the expression is absent there.
fn absent_literal(tensors: &Arena<Tensor>, expr: &Expr) -> Option<Expr> {
    let background = background(tensors, expr).filter(|background| background.absent)?;
    Some(Expr { span: expr.span, ..Expr::fill(background.value) })
}

/// A function of two operands, of which one that is absent may leave the other as it is.
fn simplified(function: BinaryFn, a: Expr, b: Expr, rebuild: impl FnOnce(ExprKind) -> Expr) -> Expr {
    let value = |expr: &Expr| match expr.kind {
        ExprKind::Literal(literal) if expr.is_absent() => Some(literal.value(expr.dtype)),
        _ => None,
    };
    let (of_a, of_b) = (value(&a), value(&b));
    let is_identity = |value: Option<Scalar>, place: usize| {
        value.is_some_and(|value| function.identities(value.ty)[place].is_some_and(|identity| identity == value))
    };
    if is_identity(of_a, 0) {
        return b;
    }
    if is_identity(of_b, 1) {
        return a;
    }
    match (function, of_a) {
        (BinaryFn::Sub, Some(zero)) if zero.is_zero() => rebuild(ExprKind::Unary(UnaryFn::Neg, Box::new(b))),
        _ => rebuild(ExprKind::Binary(function, Box::new(a), Box::new(b))),
    }
}

/// Gives fill values to the results that have none declared: the background of the statement that sets them, if fill values
/// other than 0 are among its operands. A dense result has no elements that are not stored, and keeps 0, as a packed one does. A
/// result that values are first combined with begins with the identity, unless another action may have given it a value before:
/// that one has the fill value 0.
///
/// ```text
/// y(i) = x(i + 1)             fill value inf         y(i) is inf where i + 1 lies outside of x
/// C(i,j) = A(i,j) + B(i,j)    fill values 1 and 2    C is stored where A or B is, with fill value 3
/// d(j) min= A(i,j) + s(i)                            d begins with infinity
/// ```
pub fn infer_fills(program: &mut Program) {
    let mut patterns = Patterns::default();
    let made = program.made_before();
    for (place, made) in made.into_iter().enumerate() {
        let rhs = std::mem::replace(&mut program.statements[place].rhs, Expr::zero(DType::Bool));
        let rhs = filled_outside(&program.tensors, with_patterns_of_terms(rhs, &program.tensors));
        let statement = program.statements[place].clone();
        let rhs = filled_between(program, &statement, rhs);
        let rhs = match program.loops.is_empty() {
            true => {
                let rhs = patterns.in_place_of_factors(program, rhs);
                confined(program, &mut patterns, &statement, rhs)
            }
            false => rhs,
        };
        program.statements[place].rhs = with_rests(&program.tensors, rhs);
        let statement = &program.statements[place];
        let result = &program.tensors[statement.lhs.tensor];
        let target = statement.lhs.tensor;
        let is_first = !program.statements[..place].iter().any(|earlier| earlier.lhs.tensor == target);
        if result.fill.is_some() || !is_first || made.contains(&target) {
            continue;
        }
        if let AssignOp::Reduce(monoid) = statement.op {
            let identity = monoid.identity(result.dtype).filter(|identity| !identity.is_zero());
            program.tensors[target].fill = identity;
            continue;
        }
        let filled = |access: &&Access| !program.tensors[access.tensor].fill().is_zero();
        let is_filled = statement.rhs.accesses().iter().any(filled);
        let is_zero_elsewhere = result.format.is_dense() || result.format.packing().is_some();
        if is_zero_elsewhere || !(is_filled || leaves_out(&statement.rhs)) {
            continue;
        }
        let explicit = make_explicit(statement, &mut program.vars.clone());
        // A number is stored everywhere, unless it is computed with fill values.
        let is_kept = |background: &Background| !background.value.is_zero() && (background.absent || is_filled);
        let found = background(&program.tensors, &explicit.rhs).filter(is_kept);
        program.tensors[target].fill = found.map(|background| background.value);
    }
    set_rests(program);
}

/// Gives each result the fill value that it has without any knowledge of structures: no structure changes the meaning of a program. Before
/// statements are confined to the elements that may be other than 0.
pub fn keep_fills(program: &mut Program) {
    if program.tensors.iter().all(|(_, tensor)| tensor.structure.is_none()) {
        return;
    }
    let mut plain = program.clone();
    for id in plain.tensors.handles() {
        plain.tensors[id].structure = None;
    }
    infer_fills(&mut plain);
    for statement in &program.statements {
        let result = &mut program.tensors[statement.lhs.tensor];
        if !result.format.is_dense() && result.fill.is_none() {
            result.fill = Some(plain.tensors[statement.lhs.tensor].fill());
        }
    }
}

/// An expression in which elements at indices that are no variables have the fill value of their tensor where these lie outside, if that
/// is not 0, as a sum over no coordinate is.
fn filled_outside(tensors: &Arena<Tensor>, expr: Expr) -> Expr {
    let expr = expr.map_children(&mut |child| filled_outside(tensors, child));
    let (ExprKind::Reduce(_, vars, _), Some((indicators, element))) = (&expr.kind, gathered(tensors, &expr)) else {
        return expr;
    };
    // A pattern of an element that is not stored is 0, whatever the fill value.
    let Some(fill) = background_where(tensors, element, &|_| true).map(|found| found.value) else { return expr };
    if fill.is_zero() {
        return expr;
    }
    let fill = arith::cast(expr.dtype, fill);
    let Some(inside) = all_hold(&indicators, expr.span) else { return expr };
    let inside = any(vars.clone(), where_stored(tensors, inside, element, fill));
    Expr::select(inside, expr, Expr::fill(fill))
}

/// The element, perhaps converted, that a sum is over the one place of, and the indicators that tell the place.
pub(crate) fn gathered<'e>(tensors: &Arena<Tensor>, expr: &'e Expr) -> Option<(Vec<Access>, &'e Expr)> {
    let ExprKind::Reduce(Monoid::SUM, _, body) = &expr.kind else { return None };
    let access = |factor: &Expr| match &unconverted(factor).kind {
        ExprKind::Access(access) => Some(access.clone()),
        _ => None,
    };
    let factors = body.operands(BinaryFn::Mul);
    let (element, indicators) = factors.split_last()?;
    access(element)?;
    let is_indicator = |access: &Access| tensors[access.tensor].role == Role::Indicator;
    let indicators = indicators.iter().map(|factor| access(factor).filter(is_indicator)).collect::<Option<Vec<_>>>()?;
    (!indicators.is_empty()).then_some((indicators, *element))
}

/// A condition, and that a value is not the fill value anyway, as nothing of it is stored.
fn where_stored(tensors: &Arena<Tensor>, condition: Expr, value: &Expr, fill: Scalar) -> Expr {
    let found = background(tensors, value).filter(|found| found.absent && sums_of_zeros(value, tensors));
    match found.is_some_and(|found| arith::cast(fill.ty, found.value).equals(fill)) {
        true => Expr::binary(BinaryFn::And, condition, presence(value.clone(), tensors), DType::Bool),
        false => condition,
    }
}

/// True if a condition holds for any values of some variables.
fn any(vars: Vec<VarId>, condition: Expr) -> Expr {
    match (Monoid::parse("or"), vars.is_empty()) {
        (Some(any), false) => Expr::reduce(any, vars, condition),
        _ => condition,
    }
}

/// The value of a statement, with the fill value of its target at elements that indices on the left do not come to, if that is not 0.
fn filled_between(program: &mut Program, statement: &Assignment, rhs: Expr) -> Expr {
    let (vars, fill) = (&statement.lhs.vars, program.tensors[statement.lhs.tensor].fill());
    let mut indicators: Vec<Access> = Vec::new();
    // Elements that are summands of an index have indicators of their own: `R(p(i) + 1)`.
    let mut told = vars.clone();
    let open = |access: &&Access, told: &[VarId], known: &[Access]| {
        let tensor = &program.tensors[access.tensor];
        let is_element = tensor.indicator.as_deref().is_some_and(|indicator| indicator.gather().is_some());
        let of = if is_element { told } else { vars.as_slice() };
        let solved = access.vars.last().is_some_and(|last| of.contains(last));
        tensor.role == Role::Indicator && solved && !known.contains(*access)
    };
    while let Some(access) = rhs.accesses().into_iter().find(|access| open(access, &told, &indicators)) {
        told.extend(&access.vars);
        indicators.push(access.clone());
    }
    if statement.op != AssignOp::Set || fill.is_zero() || indicators.is_empty() {
        return rhs;
    }
    let fill = arith::cast(rhs.dtype, fill);
    let summed: Vec<VarId> = indicators.iter().flat_map(|access| &access.vars).copied().collect();
    let mut summed: Vec<VarId> = summed.into_iter().filter(|var| !vars.contains(var)).collect();
    summed.sort_by_key(|var| var.index());
    summed.dedup();
    let Some(inside) = all_hold(&indicators, rhs.span) else { return rhs };
    let value = without_indicators(rhs.clone(), &indicators);
    let is_bound = value.free_vars().iter().all(|var| vars.contains(var) || summed.contains(var));
    let inside = match is_bound {
        true => where_stored(&program.tensors, inside, &value, fill),
        false => inside,
    };
    let explicit = make_explicit(&Assignment { rhs, ..statement.clone() }, &mut program.vars).rhs;
    Expr::select(any(summed, inside), explicit, Expr::fill(fill))
}

/// An expression without the indicators that its terms are multiplied by.
fn without_indicators(expr: Expr, indicators: &[Access]) -> Expr {
    let is_one =
        |expr: &Expr| matches!(&unconverted(expr).kind, ExprKind::Access(access) if indicators.contains(access));
    match expr.kind {
        ExprKind::Binary(BinaryFn::Mul, a, b) if is_one(&a) => without_indicators(*b, indicators),
        kind => Expr { kind, ..expr }.map_children(&mut |child| without_indicators(child, indicators)),
    }
}

/// The condition that some indicators hold.
fn all_hold(indicators: &[Access], span: Span) -> Option<Expr> {
    let holds = |access: &Access| {
        Expr { kind: ExprKind::Access(access.clone()), dtype: DType::Pattern, span }.cast(DType::Bool)
    };
    let both = |a, b| Expr::binary(BinaryFn::And, a, b, DType::Bool);
    indicators.iter().map(holds).reduce(both)
}

/// The operand of conversions.
fn unconverted(expr: &Expr) -> &Expr {
    match &expr.kind {
        ExprKind::Cast(a) => unconverted(a),
        _ => expr,
    }
}

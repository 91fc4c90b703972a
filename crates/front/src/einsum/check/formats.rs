//! Step 4: the format of each tensor.
//!
//! Declared formats are resolved to the tensor's order. Undeclared inputs, scalars and vectors are dense. Any other
//! undeclared result is sparse (order 2: `csr`, higher: `csf`) if, along each of its dimensions, its entries are
//! structurally absent wherever those of the sparse operands that run along it are; else it is dense.
//! `C(i,k) = A(i,j) * B(j,k)` is sparse if both `A` and `B` are, and dense if only one is, for then whole rows or columns
//! of it are full. A packed operand that has every element, a symmetric one, is as good as a dense one.

use indexmap::IndexSet;
use lacunar_formats::{DType, Format, FormatError, Packing, Scalar};
use lacunar_notation::operator::Bodies;
use lacunar_notation::{
    Access, Assignment, BinaryFn, Expr, ExprKind, Literal, Operator, Program, Role, Tensor, TensorId, VarId,
};

use super::super::declarations::Declarations;
use super::super::error::{Error, FormatMistake};
use super::exchanged;
use super::names::Names;

/// Sets the format of every tensor.
pub(super) fn choose(program: &mut Program, names: &Names, declarations: &Declarations, errors: &mut Vec<Error>) {
    let mut open = IndexSet::new();
    for id in program.tensors.handles() {
        let tensor = &mut program.tensors[id];
        let order = tensor.order();
        match declarations.formats.get(&tensor.name).map(|spec| spec.resolve(order)) {
            Some(Ok(format)) => tensor.format = format,
            Some(Err(FormatError::Auto(format))) => {
                let result = tensor.role == Role::Result;
                errors.push(
                    FormatMistake::AutoFormat { name: tensor.name.clone(), span: tensor.span, format, result }.into(),
                );
            }
            Some(Err(FormatError::Packing { structure, fault })) => {
                let (name, span) = (tensor.name.clone(), tensor.span);
                errors.push(FormatMistake::Packing { name, span, structure, fault }.into());
            }
            Some(Err(error)) => {
                let (name, span) = (tensor.name.clone(), tensor.span);
                errors.push(FormatMistake::FormatOrder { name, span, order, error: Box::new(error) }.into());
            }
            None if names.tensors.get_index(id.index()).is_some_and(|(_, entry)| entry.is_open()) && order >= 2 => {
                tensor.format = if order == 2 { Format::csr() } else { Format::csf(order) };
                open.insert(id);
            }
            None => {}
        }
    }
    // The open results are taken as sparse; each that turns out dense can make others dense.
    while settle_dense(program, &mut open) {}
    // A result that takes the value of another is stored as that is, unless a format is declared for it.
    let is_declared = |tensor: &Tensor| declarations.formats.contains_key(&tensor.name);
    for id in program.tensors.handles() {
        if program.tensors[id].role != Role::Result || is_declared(&program.tensors[id]) {
            continue;
        }
        let format = program.tensors[id].format.clone();
        for other in exchanged(names, id) {
            let taker = &mut program.tensors[other];
            if taker.role == Role::Input && !is_declared(taker) && taker.order() == format.order() {
                taker.format = format.clone();
            }
        }
    }
    for (_, tensor) in program.tensors.iter() {
        let is_stored = !tensor.role.is_computed();
        if is_stored && tensor.dtype == DType::Pattern && !tensor.format.tells_entries() {
            let (name, span, format) = (tensor.name.clone(), tensor.span, tensor.format.to_string());
            errors.push(match tensor.order() {
                0 => FormatMistake::ScalarPattern { name, span }.into(),
                _ => FormatMistake::PaddedPattern { name, span, format }.into(),
            });
        }
    }
}

/// Makes those of the open results dense that some statement does not leave sparse; they are open no more. Tells if there was one.
fn settle_dense(program: &mut Program, open: &mut IndexSet<TensorId>) -> bool {
    let before = open.len();
    for place in 0..program.statements.len() {
        let Assignment { lhs, rhs, .. } = &program.statements[place];
        let target = lhs.tensor;
        let is_told = |var: &VarId| {
            gathered_with(program, rhs, &lhs.vars, *var).into_iter().any(|own| is_absent(program, rhs, &lhs.vars, own))
        };
        if open.contains(&target) && !lhs.vars.iter().all(is_told) {
            open.swap_remove(&target);
            program.tensors[target].format = Format::dense(program.tensors[target].order());
        }
    }
    open.len() < before
}

/// True for an indicator that leaves out no place of a result with these variables: it has an entry at all coordinates but the last, or
/// is an index of an operand, outside of which there is the fill value. One that is an index on the left leaves out places between.
fn has_every_place(program: &Program, access: &Access, target: &[VarId]) -> bool {
    let tensor = &program.tensors[access.tensor];
    let is_sum = tensor.indicator.as_deref().is_some_and(|indicator| indicator.equation().is_some());
    let is_inside = access.vars.last().is_some_and(|last| !target.contains(last));
    tensor.gathered().is_some() || tensor.border().is_some() || (is_sum && is_inside)
}

/// A variable, and those that indices tie to it: if one of a row's entries is absent, so are those of the rows that it is gathered into.
fn gathered_with(program: &Program, expr: &Expr, target: &[VarId], var: VarId) -> Vec<VarId> {
    let is_gather = |access: &&Access| has_every_place(program, access, target);
    let gathers: Vec<&Access> = expr.accesses().into_iter().filter(is_gather).collect();
    let mut found = vec![var];
    loop {
        let tied = gathers.iter().filter(|access| access.vars.iter().any(|own| found.contains(own)));
        let more = tied.flat_map(|access| &access.vars).copied().find(|own| !found.contains(own));
        match more {
            Some(more) => found.push(more),
            None => return found,
        }
    }
}

/// True if the value of an expression is zero because it is absent where the entries of all sparse operands along `var` are.
fn is_absent(program: &Program, expr: &Expr, target: &[VarId], var: VarId) -> bool {
    let absent = |expr: &Expr| is_absent(program, expr, target, var);
    match &expr.kind {
        // A zero that is written is a value, not an absence.
        ExprKind::Literal(_) => false,
        ExprKind::Access(access) => {
            let tensor = &program.tensors[access.tensor];
            let is_full = tensor.format.packing().is_some_and(Packing::is_full);
            let is_sparse = !tensor.format.is_dense() && !is_full && !has_every_place(program, access, target);
            access.vars.contains(&var) && is_sparse && tensor.fill().is_zero()
        }
        ExprKind::Unary(function, operand) => function.keeps_zero() && absent(operand),
        ExprKind::Binary(function, left, right) => {
            let (by_left, by_right) = function.annihilates();
            let (left, right) = (absent(left), absent(right));
            (by_left && left) || (by_right && right) || (function.keeps_zero() && left && right)
        }
        ExprKind::Select(operands) => {
            let [condition, a, b] = operands.each_ref().map(absent);
            (condition || a) && b
        }
        ExprKind::Apply(operator, operands) => {
            let absent: Vec<bool> = operands.iter().map(absent).collect();
            is_absent_operator(*operator, &absent)
        }
        ExprKind::Cast(operand) | ExprKind::Reduce(_, _, operand) => absent(operand),
    }
}

/// True if an operator gives zero where some of its operands are zeros that are not stored.
fn is_absent_operator(operator: Operator, absent: &[bool]) -> bool {
    let Some(typed) = operator.typed() else { return false };
    let misses = |region: usize| absent.iter().enumerate().any(|(k, absent)| *absent && region >> k & 1 == 1);
    match &typed.bodies {
        Bodies::Regions(bodies) => {
            bodies.first().is_some_and(Option::is_none)
                && operator.regions().is_some_and(|all| all.into_iter().all(misses))
        }
        Bodies::External(function) => {
            let annihilates = typed.annihilator.is_some_and(Scalar::is_zero);
            let zeros = vec![Scalar::zero(typed.operand); absent.len()];
            (annihilates && absent.contains(&true))
                || (absent.iter().all(|absent| *absent) && function.call(&zeros).is_zero())
        }
        Bodies::One(body) => {
            let annihilates = typed.annihilator.is_some_and(Scalar::is_zero);
            (annihilates && absent.contains(&true)) || (absent.iter().all(|absent| *absent) && is_zero_at_zeros(body))
        }
    }
}

/// True if it is seen that a body is 0 where all operands are.
fn is_zero_at_zeros(body: &Expr) -> bool {
    match &body.kind {
        ExprKind::Literal(literal) => matches!(literal, Literal::Bool(false) | Literal::Int(0) | Literal::Float(0.0)),
        ExprKind::Access(_) => true,
        ExprKind::Cast(a) => is_zero_at_zeros(a),
        ExprKind::Unary(function, a) => function.keeps_zero() && is_zero_at_zeros(a),
        ExprKind::Binary(function, a, b) => {
            let (a, b) = (is_zero_at_zeros(a), is_zero_at_zeros(b));
            let by_one = *function == BinaryFn::Mul && (a || b);
            by_one || (function.keeps_zero() && a && b)
        }
        ExprKind::Select(operands) => is_zero_at_zeros(&operands[1]) && is_zero_at_zeros(&operands[2]),
        ExprKind::Apply(..) | ExprKind::Reduce(..) => false,
    }
}

//! The promises about expressions: `1 + 2` keeps them; `1 + 2.0`, `bit(1.5, 0)` and an expression that an operand follows do not.

use lacunar_formats::{DType, Kind, Signature};

use super::{MAX_EXPR_DEPTH, Rule, VerifyError, error};
use crate::ir::{Const, Expr, ExprId, Function};

/// Checks the expressions of a function.
pub(super) fn check(function: &Function) -> Result<(), VerifyError> {
    for (id, expr) in function.exprs.iter() {
        if expr.operands().any(|operand| operand >= id) {
            return Err(error(Rule::OperandOrder, format!("{expr:?}")));
        }
    }
    if let Some(depth) = expr_depths(function).into_iter().find(|&depth| depth > MAX_EXPR_DEPTH) {
        return Err(error(Rule::TooDeep, format!("depth {depth}, {MAX_EXPR_DEPTH} at most")));
    }
    // Types by handle: an operand's is known when its user is looked at.
    let mut types: Vec<DType> = Vec::with_capacity(function.exprs.len());
    for (id, &expr) in function.exprs.iter() {
        let ty = |operand: ExprId| types[operand.index()];
        let result = match expr {
            Expr::Const(constant) => {
                if !in_range(constant) {
                    return Err(error(Rule::ConstantRange, format!("{constant:?}")));
                }
                constant.ty
            }
            Expr::Var(var) => match function.vars.get(var) {
                Some(var) => var.ty,
                None => return Err(error(Rule::DanglingHandle, format!("{expr:?}"))),
            },
            Expr::Unary(op, a) if op.accepts(ty(a)) => op.result_type(ty(a)),
            Expr::Binary(op, a, b) if ty(a) == ty(b) && op.accepts(ty(a)) => ty(a),
            Expr::Compare(op, a, b) if ty(a) == ty(b) && op.accepts(ty(a)) => DType::Bool,
            Expr::Select(condition, a, b) if ty(condition) == DType::Bool && ty(a) == ty(b) => ty(a),
            Expr::Cast(to, _) if to.size() > 0 => to,
            Expr::Word(op, word, place) if op.accepts(ty(word)) && ty(place) == DType::I64 => op.result_type(),
            Expr::Extern(function, a, b)
                if {
                    let Signature { operand, operands, .. } = function.signature();
                    operands == 1 + usize::from(b.is_some())
                        && [Some(a), b].iter().flatten().all(|id| ty(*id) == operand)
                } =>
            {
                function.signature().result
            }
            Expr::Unary(..)
            | Expr::Binary(..)
            | Expr::Compare(..)
            | Expr::Select(..)
            | Expr::Cast(..)
            | Expr::Word(..)
            | Expr::Extern(..) => {
                return Err(error(Rule::OperandTypes, function.expr_text(id)));
            }
        };
        types.push(result);
    }
    Ok(())
}

/// The depth of each expression, by handle; operands come before their users.
pub(crate) fn expr_depths(function: &Function) -> Vec<u32> {
    let mut depths: Vec<u32> = Vec::with_capacity(function.exprs.len());
    for (_, expr) in function.exprs.iter() {
        let operands = expr.operands().filter_map(|operand| depths.get(operand.index()));
        depths.push(1 + operands.max().copied().unwrap_or(0));
    }
    depths
}

fn in_range(constant: Const) -> bool {
    if constant.ty.size() == 0 {
        return false;
    }
    let fits = |bits: u64| bits.checked_shr(8 * constant.ty.part().size() as u32).unwrap_or(0) == 0;
    match constant.ty.kind() {
        Kind::Real => fits(constant.bits) && constant.imag == 0,
        Kind::Complex => fits(constant.bits) && fits(constant.imag),
        Kind::Bool | Kind::Signed | Kind::Unsigned => constant == crate::arith::wrap(constant.ty, constant.bits),
    }
}

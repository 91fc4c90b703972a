//! Indices that are no variables, printed as they are written: what ties them to their variables is left out.
//!
//! ```text
//! sum(d, [d == i + 1] * x(d))                 x(i + 1)
//! y(d) = [d == i + 1] * x(i)                  y(i + 1) = x(i)
//! ```
//!
//! On entry: a statement of a program, in which indices have variables of their own. Expressions of another form, as plans have them, show
//! the equation.

use std::fmt::Write;

use super::Names;
use crate::index::{Access, AssignOp, Expr, ExprKind, Literal, VarId};
use crate::indicator::Indicator;
use crate::monoid::Monoid;
use crate::ops::{BinaryFn, UnaryFn};

/// The texts of variables in the place of their names.
pub(super) type Placed = Vec<(VarId, String)>;

/// The operand of conversions.
fn unconverted(expr: &Expr) -> &Expr {
    match &expr.kind {
        ExprKind::Cast(a) => unconverted(a),
        _ => expr,
    }
}

impl Names<'_> {
    /// The sum that an indicator's last variable is, if its factor is one.
    pub(super) fn sum_text(self, indicator: &Indicator, vars: &[VarId]) -> Option<String> {
        let (&last, factors) = indicator.factors.split_last()?;
        let sign = -last;
        (last.abs() == 1).then_some(())?;
        let mut text = String::new();
        let mut add = |factor: i64, term: String| {
            let _ = match (text.is_empty(), factor < 0) {
                (true, false) => write!(text, "{term}"),
                (true, true) => write!(text, "-{term}"),
                (false, false) => write!(text, " + {term}"),
                (false, true) => write!(text, " - {term}"),
            };
        };
        for (&factor, &var) in factors.iter().zip(vars) {
            let name = &self.vars[var].name;
            let term = if factor.abs() == 1 { name.clone() } else { format!("{} * {name}", factor.abs()) };
            add(sign * factor, term);
        }
        // A variable alone would be another index.
        if indicator.constant != 0 || matches!(factors, [] | [_]) {
            add(sign * indicator.constant, indicator.constant.abs().to_string());
        }
        Some(text)
    }

    /// The access of an indicator whose last variable is one of some, and its text.
    fn tied(self, expr: &Expr, vars: &[VarId]) -> Option<(VarId, String)> {
        let ExprKind::Access(access) = &unconverted(expr).kind else { return None };
        let indicator = self.tensors[access.tensor].indicator.as_deref()?;
        let last = *access.vars.last().filter(|last| vars.contains(last))?;
        Some((last, self.sum_text(indicator, &access.vars)?))
    }

    /// The access that a sum over the variables of its indices is, with the texts of these.
    pub(super) fn element(self, expr: &Expr) -> Option<(&Access, Placed)> {
        if let Some((inside, _)) = self.chosen(expr) {
            return self.element(inside);
        }
        let reduction = match &expr.kind {
            ExprKind::Cast(a) if expr.dtype.is_storage() => a,
            _ => expr,
        };
        let ExprKind::Reduce(Monoid::SUM, vars, body) = &reduction.kind else { return None };
        let mut placed = Placed::new();
        let mut rest = body;
        while let ExprKind::Binary(BinaryFn::Mul, a, b) = &rest.kind {
            placed.push(self.tied(a, vars)?);
            rest = b;
        }
        let ExprKind::Access(access) = &unconverted(rest).kind else { return None };
        let is_whole = placed.len() == vars.len() && vars.iter().all(|var| access.vars.contains(var));
        let dtype = self.tensors[access.tensor].dtype;
        let is_own = expr.dtype == dtype || expr.dtype == dtype.arithmetic();
        (is_whole && !placed.is_empty() && is_own).then_some((access, placed))
    }

    /// The value of a selection whose condition is that indices lie inside, and the condition.
    fn chosen(self, expr: &Expr) -> Option<(&Expr, &Expr)> {
        fn holds(names: Names<'_>, expr: &Expr) -> bool {
            match &expr.kind {
                ExprKind::Cast(a) | ExprKind::Reduce(_, _, a) => holds(names, a),
                ExprKind::Binary(BinaryFn::And, a, b) => holds(names, a) && holds(names, b),
                ExprKind::Access(access) => names.tensors[access.tensor].indicator.is_some(),
                _ => false,
            }
        }
        let ExprKind::Select(operands) = &expr.kind else { return None };
        let [condition, inside, outside] = &**operands;
        let is_fill = matches!(outside.kind, ExprKind::Literal(Literal::Fill(_) | Literal::Absent));
        (is_fill && holds(self, condition)).then_some((inside, condition))
    }

    /// The value of a statement without what ties the indices on its left, and their texts.
    pub(super) fn assigned(self, lhs: &Access, op: AssignOp, rhs: &Expr) -> Option<(Expr, Placed)> {
        let mut placed = Placed::new();
        let rest = match op {
            AssignOp::Set | AssignOp::Reduce(Monoid::SUM) => self.terms(rhs.clone(), &lhs.vars, &mut placed),
            AssignOp::Reduce(_) => {
                let mut rest = rhs;
                while let Some((inside, condition)) = self.chosen(rest)
                    && let Some(tied) = self.tied(condition, &lhs.vars)
                {
                    placed.push(tied);
                    rest = inside;
                }
                rest.clone()
            }
        };
        (!placed.is_empty()).then_some((rest, placed))
    }

    fn terms(self, expr: Expr, vars: &[VarId], placed: &mut Placed) -> Expr {
        match expr.kind {
            ExprKind::Binary(BinaryFn::Mul, a, b) => match self.tied(&a, vars) {
                Some(tied) => {
                    if !placed.contains(&tied) {
                        placed.push(tied);
                    }
                    self.terms(*b, vars, placed)
                }
                None => Expr { kind: ExprKind::Binary(BinaryFn::Mul, a, b), ..expr },
            },
            ExprKind::Unary(UnaryFn::Neg | UnaryFn::Prune, _)
            | ExprKind::Binary(BinaryFn::Add | BinaryFn::Sub, ..)
            | ExprKind::Cast(_) => expr.map_children(&mut |child| self.terms(child, vars, placed)),
            _ => expr,
        }
    }
}

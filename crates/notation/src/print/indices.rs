//! Indices that are no variables, printed as they are written: the relations that tie them to their variables are left out.
//!
//! ```text
//! sum(d, [d == i + 1] * x(d))                 x(i + 1)
//! sum(d, e, [d == 2 e] * [e == p(i)] * x(d))  x(2 * p(i))
//! sum(d, [d == (i - 1) mod n] * x(d))         x(wrap(i - 1))
//! y(d) = [d == i + 1] * x(i)                  y(i + 1) = x(i)
//! ```
//!
//! On entry: a statement of a program, in which indices have variables of their own. Expressions of another form, as plans have them, show
//! the equation.

use std::fmt::Write;

use super::Names;
use crate::gather::Source;
use crate::index::{Access, AssignOp, Expr, ExprKind, Literal, VarId};
use crate::indicator::{Equation, Indicator};
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
    /// The index that an indicator's last variable is: a sum whose factor for it is one, or an element of the gathered tensor.
    pub(super) fn index_text(self, indicator: &Indicator, vars: &[VarId]) -> Option<String> {
        match indicator {
            Indicator::Equation(equation) => self.sum_text(equation, vars, true),
            Indicator::Inequality(_) => None,
            Indicator::Gather(gather) => {
                let of = match &gather.source {
                    Source::Border(border) => {
                        let sum = self.sum_text(&border.equation, vars, false)?;
                        return Some(format!("{}({sum})", border.rule.name()));
                    }
                    Source::Tensor(tensor) => self.tensors[*tensor].name.clone(),
                    Source::List(values) => {
                        format!("{{{}}}", values.iter().map(u64::to_string).collect::<Vec<_>>().join(", "))
                    }
                };
                let indices: Vec<&str> = vars.iter().take(gather.order - 1).map(|var| self.index(*var)).collect();
                Some(format!("{of}({})", indices.join(",")))
            }
        }
    }

    /// The sum that is the last coordinate. If `is_whole`, it is the index, and a variable alone would be another one.
    fn sum_text(self, equation: &Equation, vars: &[VarId], is_whole: bool) -> Option<String> {
        let (&last, factors) = equation.factors.split_last()?;
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
            let name = self.index(var);
            let term = if factor.abs() == 1 { name.to_string() } else { format!("{} * {name}", factor.abs()) };
            add(sign * factor, term);
        }
        if equation.constant != 0 || factors.is_empty() || (is_whole && factors.len() == 1) {
            add(sign * equation.constant, equation.constant.abs().to_string());
        }
        Some(text)
    }

    /// The relation that an indicator is, of these variables, in brackets: `[d == i + 1]`, `[d == p(i)]`, `[2 * i - 3 * j >= 1]`.
    pub(super) fn bracket_text(self, indicator: &Indicator, vars: &[VarId]) -> String {
        let last = vars.last().map_or("", |var| self.index(*var));
        let (equation, sign) = match indicator {
            Indicator::Equation(equation) => (equation, "=="),
            Indicator::Inequality(inequality) => (&inequality.border, ">="),
            Indicator::Gather(_) => {
                let index = self.index_text(indicator, vars).unwrap_or_default();
                return format!("[{last} == {index}]");
            }
        };
        let is_solved = sign == "==" && equation.factors.last() == Some(&-1);
        if let Some(sum) = self.sum_text(equation, vars, false).filter(|_| is_solved) {
            return format!("[{last} == {sum}]");
        }
        let whole = Equation { factors: [equation.factors.as_slice(), &[-1]].concat(), constant: 0 };
        let sum = self.sum_text(&whole, vars, false).unwrap_or_default();
        format!("[{sum} {sign} {}]", -equation.constant)
    }

    /// The sum of variables times factors and a constant, compared with 0: negative terms stand on the right.
    pub(super) fn comparison_text(self, equation: &Equation, sign: &str, vars: &[VarId]) -> String {
        let Equation { factors, constant } = equation;
        let side = |sign: i64| {
            let of = |(&factor, &var): (&i64, &VarId)| {
                let name = self.index(var);
                let term = if factor.abs() == 1 { name.to_string() } else { format!("{} * {name}", factor.abs()) };
                (factor.signum() == sign).then_some(term)
            };
            let mut terms: Vec<String> = factors.iter().zip(vars).filter_map(of).collect();
            if constant.signum() == sign || terms.is_empty() {
                terms.push((constant * sign).max(0).to_string());
            }
            terms.join(" + ")
        };
        format!("{} {sign} {}", side(1), side(-1))
    }

    /// The access that an expression is, if it is of an indicator whose last variable is one of some.
    fn tied<'e>(self, expr: &'e Expr, vars: &[VarId]) -> Option<&'e Access> {
        let ExprKind::Access(access) = &unconverted(expr).kind else { return None };
        let is_index = |indicator: &Indicator| !matches!(indicator, Indicator::Inequality(_));
        let is_tied = self.tensors[access.tensor].indicator.as_deref().is_some_and(is_index)
            && vars.contains(access.vars.last()?);
        is_tied.then_some(access)
    }

    /// The texts of the last variables of indicators. An index comes before those that are a part of it.
    fn texts(self, tied: &[&Access]) -> Option<Placed> {
        let mut placed = Placed::new();
        for access in tied.iter().rev() {
            let indicator = self.tensors[access.tensor].indicator.as_deref()?;
            let text = Names { placed: &placed, ..self }.index_text(indicator, &access.vars)?;
            placed.push((*access.vars.last()?, text));
        }
        Some(placed)
    }

    /// The access that a sum over the variables of its indices is, with the texts of these.
    pub(super) fn element(self, expr: &Expr) -> Option<(&Access, Placed)> {
        (!self.in_loops).then_some(())?;
        if let Some((inside, _)) = self.chosen(expr) {
            return self.element(inside);
        }
        let reduction = match &expr.kind {
            ExprKind::Cast(a) if expr.dtype.is_storage() => a,
            _ => expr,
        };
        let ExprKind::Reduce(Monoid::SUM, vars, body) = &reduction.kind else { return None };
        let mut tied: Vec<&Access> = Vec::new();
        let mut rest = body;
        while let ExprKind::Binary(BinaryFn::Mul, a, b) = &rest.kind {
            tied.push(self.tied(a, vars)?);
            rest = b;
        }
        let ExprKind::Access(access) = &unconverted(rest).kind else { return None };
        let parts = tied.iter().flat_map(|tied| tied.vars.iter().take(tied.vars.len() - 1));
        let used: Vec<VarId> = parts.chain(&access.vars).copied().collect();
        let is_whole = tied.len() == vars.len() && vars.iter().all(|var| used.contains(var));
        let dtype = self.tensors[access.tensor].dtype;
        let is_own = expr.dtype == dtype || expr.dtype == dtype.arithmetic();
        let placed = self.texts(&tied)?;
        (is_whole && !placed.is_empty() && is_own).then_some((access, placed))
    }

    /// The value of a selection whose condition is that indices lie inside, and maybe that something is stored there, and the condition.
    /// Only an index that is no variable makes one whose other value is a fill value.
    fn chosen(self, expr: &Expr) -> Option<(&Expr, &Expr)> {
        fn holds(names: Names<'_>, expr: &Expr) -> bool {
            match &expr.kind {
                ExprKind::Cast(a) | ExprKind::Reduce(_, _, a) => holds(names, a),
                ExprKind::Binary(BinaryFn::And, a, b) => holds(names, a) || holds(names, b),
                ExprKind::Access(access) => names.tensors[access.tensor].indicator.is_some(),
                _ => false,
            }
        }
        let ExprKind::Select(operands) = &expr.kind else { return None };
        let [condition, inside, outside] = &**operands;
        let is_fill = matches!(outside.kind, ExprKind::Literal(Literal::Fill(_) | Literal::Absent));
        (is_fill && holds(self, condition)).then_some((inside, condition))
    }

    /// The value of a statement without the indicators that tie the indices on its left, and the texts of these.
    pub(super) fn assigned(self, lhs: &Access, op: AssignOp, rhs: &Expr) -> Option<(Expr, Placed)> {
        (!self.in_loops).then_some(())?;
        let mut ties = Ties { names: self, found: Vec::new(), vars: lhs.vars.clone() };
        let mut rest = rhs;
        while let Some((inside, condition)) = self.chosen(rest)
            && ties.conditions(condition)
        {
            rest = inside;
        }
        let rest = match op {
            AssignOp::Set | AssignOp::Reduce(Monoid::SUM) => ties.terms(rest.clone()),
            AssignOp::Reduce(_) => rest.clone(),
        };
        let placed = self.texts(&ties.found.iter().collect::<Vec<_>>())?;
        (!placed.is_empty()).then_some((rest, placed))
    }
}

/// The indicators that tie the indices on the left of a statement.
struct Ties<'a> {
    names: Names<'a>,
    found: Vec<Access>,
    /// The variables on the left, and those that their indicators tie them to.
    vars: Vec<VarId>,
}

impl Ties<'_> {
    fn add(&mut self, access: &Access) {
        if !self.found.contains(access) {
            self.found.push(access.clone());
            self.vars.extend(&access.vars);
        }
    }

    /// The term of a sum over variables that the indices on the left bind.
    fn unsummed<'e>(&self, expr: &'e Expr) -> &'e Expr {
        match &expr.kind {
            ExprKind::Reduce(Monoid::SUM, vars, body) if vars.iter().all(|var| self.vars.contains(var)) => body,
            _ => expr,
        }
    }

    /// Adds the indicators of a condition that tie indices on the left; false if there are none.
    fn conditions(&mut self, condition: &Expr) -> bool {
        match &condition.kind {
            ExprKind::Reduce(_, _, a) => self.conditions(a),
            ExprKind::Binary(BinaryFn::And, a, b) => self.conditions(a) | self.conditions(b),
            _ => {
                let tied = self.names.tied(condition, &self.vars);
                tied.into_iter().for_each(|tied| self.add(tied));
                tied.is_some()
            }
        }
    }

    /// An expression without the indicators that its terms are multiplied by, and without the sums over variables that these bind.
    fn terms(&mut self, expr: Expr) -> Expr {
        match expr.kind {
            ExprKind::Reduce(Monoid::SUM, vars, body) if vars.iter().any(|var| self.vars.contains(var)) => {
                let left: Vec<VarId> = vars.into_iter().filter(|var| !self.vars.contains(var)).collect();
                let body = self.terms(*body);
                if left.is_empty() { body } else { Expr::sum(left, body) }
            }
            ExprKind::Binary(BinaryFn::Mul, a, b) => match self.names.tied(self.unsummed(&a), &self.vars) {
                Some(tied) => {
                    self.add(&tied.clone());
                    self.terms(*b)
                }
                None => Expr { kind: ExprKind::Binary(BinaryFn::Mul, a, b), ..expr },
            },
            ExprKind::Unary(UnaryFn::Neg | UnaryFn::Prune, _)
            | ExprKind::Binary(BinaryFn::Add | BinaryFn::Sub, ..)
            | ExprKind::Cast(_) => expr.map_children(&mut |child| self.terms(child)),
            _ => expr,
        }
    }
}

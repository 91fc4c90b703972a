//! Comparisons of indices as patterns.
//!
//! A comparison of two sums of index variables, each times a number, is an [indicator](lacunar_notation::indicator) where it is a factor: a
//! pattern that nobody stores, which confines loops as any sparse operand does. Where it does not hold, nothing is stored, and the product
//! is absent.
//!
//! ```text
//! y(i) = A(i,j) * (j <= i) * x(j)        the loop over j ends behind i
//! d(i) = A(i,j) * (i == j)               the loop over j is one look at j = i
//! ```
//!
//! Other comparisons stay what they are, values: those of other numbers, `!=`, which holds almost everywhere, and those that are added or
//! choose, which leave nothing out: a merge of their intervals would have a case for every combination.
//!
//! On entry: an expression of a program in which elements outside of their tensors have their fill values. On exit: the same, with a
//! tensor for each pattern. Paper: Ghorbani et al. 2023, §4.1.

use lacunar_formats::DType;
use lacunar_notation::{
    Access, BinaryFn, Equation, Expr, ExprKind, Indicator, Inequality, Literal, Program, Role, UnaryFn, VarId,
};

use crate::plan::convert::free_name;

/// The patterns of a program. One comparison of the same variables is one tensor, wherever it stands.
#[derive(Default)]
pub(crate) struct Patterns {
    made: Vec<(Indicator, Access)>,
}

impl Patterns {
    /// An expression of a program with a pattern for each comparison of indices that is a factor.
    pub fn in_place_of_factors(&mut self, program: &mut Program, expr: Expr) -> Expr {
        let is_product = matches!(expr.kind, ExprKind::Binary(BinaryFn::Mul | BinaryFn::And, ..));
        expr.map_children(&mut |child| {
            let pattern = if is_product { self.in_place_of(program, &child) } else { None };
            pattern.unwrap_or_else(|| self.in_place_of_factors(program, child))
        })
    }

    /// The pattern that a comparison is, converted as that is.
    fn in_place_of(&mut self, program: &mut Program, factor: &Expr) -> Option<Expr> {
        match &factor.kind {
            ExprKind::Cast(a) => Some(self.in_place_of(program, a)?.cast(factor.dtype)),
            ExprKind::Binary(function, a, b) => {
                let (indicator, vars) = indicator(program, *function, a, b)?;
                let access = self.access(program, indicator, vars, factor);
                let element = Expr { kind: ExprKind::Access(access), dtype: DType::Pattern, span: factor.span };
                Some(element.cast(factor.dtype))
            }
            _ => None,
        }
    }

    /// The access of a pattern: of that which is there, or of a new one.
    fn access(&mut self, program: &mut Program, indicator: Indicator, vars: Vec<VarId>, expr: &Expr) -> Access {
        let is_same = |(own, access): &&(Indicator, Access)| *own == indicator && access.vars == vars;
        if let Some((_, known)) = self.made.iter().find(is_same) {
            return Access { span: expr.span, ..known.clone() };
        }
        let dims = vars.iter().map(|var| program.vars[*var].size).collect();
        let names: Vec<&str> = vars.iter().map(|var| program.vars[*var].name.as_str()).collect();
        let name = free_name(&program.tensors, &format!("{}_within", names.join("_")));
        let tensor = program.tensors.push(indicator.clone().tensor(name, dims, expr.span));
        let access = Access { tensor, vars, span: expr.span };
        self.made.push((indicator, access.clone()));
        access
    }
}

/// The pattern that a comparison is, and its variables.
fn indicator(program: &Program, function: BinaryFn, a: &Expr, b: &Expr) -> Option<(Indicator, Vec<VarId>)> {
    // The sum that is at least 0, or 0.
    let (mut sum, less) = match function {
        BinaryFn::Le | BinaryFn::Lt => (Sum::of(program, b)?, Sum::of(program, a)?),
        BinaryFn::Ge | BinaryFn::Gt | BinaryFn::Eq => (Sum::of(program, a)?, Sum::of(program, b)?),
        _ => return None,
    };
    sum.add(&less, -1)?;
    if matches!(function, BinaryFn::Lt | BinaryFn::Gt) {
        sum.constant = sum.constant.checked_sub(1)?;
    }
    sum.terms.retain(|(_, factor)| *factor != 0);
    let divisor = sum.terms.iter().map(|(_, factor)| factor.checked_abs()).try_fold(0, |a, b| Some(gcd(a, b?)))?;
    let (vars, mut factors): (Vec<VarId>, Vec<i64>) = sum.terms.into_iter().unzip();
    if divisor == 0 {
        return None;
    }
    let is_equation = function == BinaryFn::Eq;
    let mut constant = sum.constant;
    // An equation that no integers solve stays as it is.
    if !is_equation || constant % divisor == 0 {
        factors.iter_mut().for_each(|factor| *factor /= divisor);
        constant = constant.div_euclid(divisor);
    }
    let is_small = |number: &i64| number.abs() <= Equation::MOST;
    if !factors.iter().chain([&constant]).all(is_small) {
        return None;
    }
    let border = Equation { factors, constant };
    let indicator = match is_equation {
        true => Indicator::Equation(border),
        false => Indicator::Inequality(Inequality { border }),
    };
    Some((indicator, vars))
}

/// A sum of variables times numbers, and a number.
#[derive(Default)]
struct Sum {
    terms: Vec<(VarId, i64)>,
    constant: i64,
}

impl Sum {
    /// The sum that an expression is, if it is one.
    fn of(program: &Program, expr: &Expr) -> Option<Sum> {
        let mut sum = Sum::default();
        (expr.dtype == DType::I64 && sum.add_expr(program, expr, 1).is_some()).then_some(sum)
    }

    fn add_expr(&mut self, program: &Program, expr: &Expr, factor: i64) -> Option<()> {
        match &expr.kind {
            ExprKind::Literal(Literal::Int(value)) => {
                let product = i64::try_from(*value).ok()?.checked_mul(factor)?;
                self.constant = self.constant.checked_add(product)?;
            }
            ExprKind::Access(access) if program.tensors[access.tensor].role == Role::Index => {
                self.add_term(*access.vars.first()?, factor)?;
            }
            ExprKind::Unary(UnaryFn::Neg, a) => self.add_expr(program, a, factor.checked_neg()?)?,
            ExprKind::Binary(BinaryFn::Add, a, b) => {
                self.add_expr(program, a, factor)?;
                self.add_expr(program, b, factor)?;
            }
            ExprKind::Binary(BinaryFn::Sub, a, b) => {
                self.add_expr(program, a, factor)?;
                self.add_expr(program, b, factor.checked_neg()?)?;
            }
            ExprKind::Binary(BinaryFn::Mul, a, b) => {
                let (number, rest) = match (number(a), number(b)) {
                    (Some(number), _) => (number, b),
                    (None, Some(number)) => (number, a),
                    (None, None) => return None,
                };
                self.add_expr(program, rest, factor.checked_mul(number)?)?;
            }
            _ => return None,
        }
        Some(())
    }

    fn add_term(&mut self, var: VarId, factor: i64) -> Option<()> {
        match self.terms.iter_mut().find(|(own, _)| *own == var) {
            Some((_, own)) => *own = own.checked_add(factor)?,
            None => self.terms.push((var, factor)),
        }
        Some(())
    }

    fn add(&mut self, other: &Sum, factor: i64) -> Option<()> {
        for (var, own) in &other.terms {
            self.add_term(*var, own.checked_mul(factor)?)?;
        }
        self.constant = self.constant.checked_add(other.constant.checked_mul(factor)?)?;
        Some(())
    }
}

/// The number that an expression is.
fn number(expr: &Expr) -> Option<i64> {
    match &expr.kind {
        ExprKind::Literal(Literal::Int(value)) => i64::try_from(*value).ok(),
        ExprKind::Unary(UnaryFn::Neg, a) => number(a)?.checked_neg(),
        _ => None,
    }
}

/// The greatest common divisor of two numbers that are not negative; that with 0 is the other.
fn gcd(mut a: i64, mut b: i64) -> i64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

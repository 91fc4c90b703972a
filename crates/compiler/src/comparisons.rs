//! Comparisons of indices as patterns.
//!
//! A comparison of two sums of index variables, each times a number, is an [indicator](lacunar_notation::indicator) where it is a factor: a
//! pattern that nobody stores, which confines loops as any sparse operand does. If it does not hold, nothing is stored, and the product is
//! absent.
//!
//! ```text
//! y(i) = A(i,j) * (j <= i) * x(j)        the loop over j ends behind i
//! d(i) = A(i,j) * (i == j)               the loop over j is one look at j = i
//! ```
//!
//! Other comparisons stay values: comparisons of other numbers; `!=`, which holds almost everywhere; and comparisons that are added or
//! select, which leave nothing out, so that a merge of their intervals would have a case for every combination.
//!
//! [Structures](crate::structure) of tensors leave parts out by patterns too.
//!
//! On entry: an expression of a program in which elements outside of their tensors have their fill values. On exit: the same, with a
//! tensor for each pattern. Paper: Ghorbani et al. 2023, §4.1.

use lacunar_base::{Arena, Span};
use lacunar_formats::DType;
use lacunar_notation::schedule::{CommandKind, Schedule};
use lacunar_notation::{
    Access, BinaryFn, Equation, Expr, ExprKind, Indicator, Inequality, Literal, Program, Role, Tensor, UnaryFn, VarId,
};
use lacunar_sets::Affine;

use crate::plan::convert::free_name;

/// The patterns of a program. One comparison of the same variables is one tensor, wherever it stands.
#[derive(Default)]
pub(crate) struct Patterns {
    made: Vec<(Indicator, Access)>,
}

impl Patterns {
    /// The patterns that the statements of a program have.
    fn of(program: &Program) -> Patterns {
        let accesses = program.statements.iter().flat_map(|statement| statement.rhs.accesses());
        let made =
            |access: &Access| Some((program.tensors[access.tensor].indicator.as_deref()?.clone(), access.clone()));
        Patterns { made: accesses.filter_map(made).collect() }
    }

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
            // A pattern needs no conversion on the way to a number.
            ExprKind::Cast(a) => Some(unconverted(self.in_place_of(program, a)?).cast(factor.dtype)),
            ExprKind::Binary(function, a, b) => {
                let (sum, is_equation) = compared(&program.tensors, *function, a, b)?;
                self.where_sum(program, sum, is_equation, factor)
            }
            _ => None,
        }
    }

    /// The pattern of the points at which a sum is 0, if that is to be an equation, or else at least 0; as a factor of an expression of
    /// this type and place. `None` for a sum without variables, or with numbers that are too large.
    pub fn where_sum(&mut self, program: &mut Program, sum: Sum, is_equation: bool, like: &Expr) -> Option<Expr> {
        let (indicator, vars) = indicator(sum, is_equation)?;
        let access = self.access(program, indicator, vars, like.span);
        let element = Expr { kind: ExprKind::Access(access), dtype: DType::Pattern, span: like.span };
        Some(element.cast(like.dtype))
    }

    /// The access of a pattern: of that which is there, or of a new one.
    fn access(&mut self, program: &mut Program, indicator: Indicator, vars: Vec<VarId>, span: Span) -> Access {
        let is_same = |(own, access): &&(Indicator, Access)| *own == indicator && access.vars == vars;
        if let Some((_, known)) = self.made.iter().find(is_same) {
            return Access { span, ..known.clone() };
        }
        let dims = vars.iter().map(|var| program.vars[*var].size).collect();
        let names: Vec<&str> = vars.iter().map(|var| program.vars[*var].name.as_str()).collect();
        let name = free_name(&program.tensors, &format!("{}_within", names.join("_")));
        let tensor = program.tensors.push(indicator.clone().tensor(name, dims, span));
        let access = Access { tensor, vars, span };
        self.made.push((indicator, access.clone()));
        access
    }
}

/// A schedule for a program that has patterns: in the expressions that it precomputes, the program's patterns stand in the place of
/// comparisons, as in statements.
pub fn with_patterns(program: &Program, mut schedule: Schedule) -> Schedule {
    for command in &mut schedule.commands {
        let CommandKind::Precompute { expr, .. } = &mut command.kind else { continue };
        let mut extended = program.clone();
        let with_own = Patterns::of(program).in_place_of_factors(&mut extended, expr.clone());
        // A pattern that no statement has is a mistake of the schedule, which names the comparison.
        if extended.tensors.len() == program.tensors.len() {
            *expr = with_own;
        }
    }
    schedule
}

/// The operand of a conversion.
fn unconverted(expr: Expr) -> Expr {
    match expr.kind {
        ExprKind::Cast(a) => *a,
        _ => expr,
    }
}

/// The sum that a comparison says to be 0, or at least 0; true for the first.
pub(crate) fn compared(tensors: &Arena<Tensor>, function: BinaryFn, a: &Expr, b: &Expr) -> Option<(Sum, bool)> {
    let (mut sum, less) = match function {
        BinaryFn::Le | BinaryFn::Lt => (Sum::of(tensors, b)?, Sum::of(tensors, a)?),
        BinaryFn::Ge | BinaryFn::Gt | BinaryFn::Eq => (Sum::of(tensors, a)?, Sum::of(tensors, b)?),
        _ => return None,
    };
    sum.add(&less, -1)?;
    if matches!(function, BinaryFn::Lt | BinaryFn::Gt) {
        sum.constant = sum.constant.checked_sub(1)?;
    }
    Some((sum, function == BinaryFn::Eq))
}

/// The pattern of the points at which a sum is 0, or at least 0, and its variables.
fn indicator(mut sum: Sum, is_equation: bool) -> Option<(Indicator, Vec<VarId>)> {
    sum.terms.retain(|(_, factor)| *factor != 0);
    let divisor = sum.terms.iter().map(|(_, factor)| factor.checked_abs()).try_fold(0, |a, b| Some(gcd(a, b?)))?;
    let (vars, mut factors): (Vec<VarId>, Vec<i64>) = sum.terms.into_iter().unzip();
    if divisor == 0 {
        return None;
    }
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
pub(crate) struct Sum {
    terms: Vec<(VarId, i64)>,
    constant: i64,
}

impl Sum {
    /// A number.
    pub fn number(constant: i64) -> Sum {
        Sum { terms: Vec::new(), constant }
    }

    /// Adds a number. `None` if the sum does not fit.
    pub fn add_number(&mut self, number: i64) -> Option<()> {
        self.constant = self.constant.checked_add(number)?;
        Some(())
    }

    /// The sum that an expression is, if it is one.
    fn of(tensors: &Arena<Tensor>, expr: &Expr) -> Option<Sum> {
        let mut sum = Sum::default();
        (expr.dtype == DType::I64 && sum.add_expr(tensors, expr, 1).is_some()).then_some(sum)
    }

    fn add_expr(&mut self, tensors: &Arena<Tensor>, expr: &Expr, factor: i64) -> Option<()> {
        match &expr.kind {
            ExprKind::Literal(Literal::Int(value)) => {
                let product = i64::try_from(*value).ok()?.checked_mul(factor)?;
                self.add_number(product)?;
            }
            ExprKind::Access(access) if tensors[access.tensor].role == Role::Index => {
                self.add_term(*access.vars.first()?, factor)?;
            }
            ExprKind::Unary(UnaryFn::Neg, a) => self.add_expr(tensors, a, factor.checked_neg()?)?,
            ExprKind::Binary(BinaryFn::Add, a, b) => {
                self.add_expr(tensors, a, factor)?;
                self.add_expr(tensors, b, factor)?;
            }
            ExprKind::Binary(BinaryFn::Sub, a, b) => {
                self.add_expr(tensors, a, factor)?;
                self.add_expr(tensors, b, factor.checked_neg()?)?;
            }
            ExprKind::Binary(BinaryFn::Mul, a, b) => {
                let (number, rest) = match (number(a), number(b)) {
                    (Some(number), _) => (number, b),
                    (None, Some(number)) => (number, a),
                    (None, None) => return None,
                };
                self.add_expr(tensors, rest, factor.checked_mul(number)?)?;
            }
            _ => return None,
        }
        Some(())
    }

    /// The variables with the numbers that they are multiplied by, and the number that is added.
    pub fn parts(&self) -> (&[(VarId, i64)], i64) {
        (&self.terms, self.constant)
    }

    /// The sum over columns; `None` if a variable is none of them, or a number does not fit.
    pub fn over(&self, column: impl Fn(VarId) -> Option<usize>) -> Option<Affine> {
        let term = |sum: Affine, &(var, factor): &(VarId, i64)| sum.plus(&Affine::term(column(var)?, factor));
        self.terms.iter().try_fold(Affine::constant(self.constant), term)
    }

    /// The number that a variable is multiplied by.
    pub fn factor_of(&self, var: VarId) -> i64 {
        self.terms.iter().find(|(own, _)| *own == var).map_or(0, |(_, factor)| *factor)
    }

    /// Adds a variable times a number. `None` if a number does not fit.
    pub fn add_term(&mut self, var: VarId, factor: i64) -> Option<()> {
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

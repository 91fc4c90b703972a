//! Step 0: indices that are no variables.
//!
//! An index may be a sum of variables, each times a number, and a number. On exit every index is a variable: each other one has
//! got a variable of its own, which an [indicator](lacunar_notation::indicator) ties to those that it is made of. An operand is
//! summed over that variable; a term that is assigned is multiplied by the indicator.
//!
//! ```text
//! y(i) = x(2*i + 1)            y(i) = sum(i_at, [i_at == 2 i + 1] * x(i_at))
//! y(i + k) += x(i) * w(k)      y(i_at) += [i_at == i + k] * x(i) * w(k)
//! ```
//!
//! An index that is written as a sum is one, even `i + 0`: the variable need not have the size of the dimension. An index of another form stays, and is refused where names are resolved.

use indexmap::{IndexMap, IndexSet};
use lacunar_base::Span;
use lacunar_notation::{AssignOp, Function, Indicator, Monoid, UnaryFn};

use super::super::ast::{Ast, BinaryOp, Callee, Expr, ExprKind, MAX_HEIGHT, Name, Number, Statement};
use super::super::declarations::Declarations;
use super::super::error::{AccessMistake, Error, StatementMistake, SyntaxMistake};
use super::names::{Meaning, meaning, variable};

/// The indicators that were made, by their names.
pub(super) type Indicators = IndexMap<String, Made>;

/// An indicator of an index.
pub(super) struct Made {
    pub indicator: Indicator,
    /// The index is of a tensor whose values are replaced, so that its size may follow from the others'. That of an operand is given,
    /// and one whose values are combined may be.
    pub replaced: bool,
}

/// A sum of variables, each times a number, and a number.
#[derive(Clone, Debug, Default, PartialEq)]
struct Affine {
    terms: IndexMap<String, i64>,
    constant: i64,
}

/// A statement without indices that are no variables.
pub(super) struct Expanded {
    pub ast: Ast,
    pub indicators: Indicators,
    /// The indices on the left of statements that replace values.
    pub replaced: Vec<Replaced>,
}

/// The indices of a tensor whose values are replaced.
pub(super) struct Replaced {
    span: Span,
    forms: Vec<Affine>,
}

impl Replaced {
    /// Checks that no element is assigned twice, if variables have these sizes: the indices tell the variables.
    pub fn check(&self, size: &dyn Fn(&str) -> Option<u64>) -> Result<(), Error> {
        let mut known: IndexSet<&str> = IndexSet::new();
        loop {
            let before = known.len();
            for form in &self.forms {
                let mut open: Vec<(&str, u64)> = Vec::new();
                for (name, factor) in form.terms.iter().filter(|(name, _)| !known.contains(name.as_str())) {
                    open.push((name, factor.unsigned_abs()));
                }
                if tells_all(&mut open, size) {
                    known.extend(open.into_iter().map(|(name, _)| name));
                }
            }
            if known.len() == before {
                break;
            }
        }
        let names = self.forms.iter().flat_map(|form| form.terms.keys());
        match names.into_iter().find(|name| !known.contains(name.as_str())) {
            Some(variable) => Err(StatementMistake::Overlapping { span: self.span, variable: variable.clone() }.into()),
            None => Ok(()),
        }
    }
}

/// True if a sum of variables times factors tells each of them, as the digits of a number do: every factor is larger than all that the
/// terms with smaller ones come to.
fn tells_all(terms: &mut [(&str, u64)], size: &dyn Fn(&str) -> Option<u64>) -> bool {
    terms.sort_by_key(|(_, factor)| *factor);
    let mut most = Some(0u64);
    // A variable of one value is known.
    terms.iter().filter(|(name, _)| size(name).is_none_or(|size| size > 1)).all(|(name, factor)| {
        let is_larger = most.is_some_and(|most| *factor > most);
        let own = size(name).map(|size| size.saturating_sub(1).saturating_mul(*factor));
        most = most.zip(own).map(|(most, own)| most.saturating_add(own));
        is_larger
    })
}

/// Gives a variable to each index that is none.
pub(super) fn expand(ast: Ast, declarations: &Declarations) -> Result<Expanded, Vec<Error>> {
    let mut taken: IndexSet<String> = IndexSet::new();
    for statement in &ast.statements {
        taken.insert(statement.name.text.clone());
        statement.indices.iter().chain([&statement.rhs]).for_each(|expr| words(expr, &mut taken));
    }
    taken.extend(declarations.tensor_names().into_iter().chain(declarations.sized_names()).map(str::to_string));
    let mut expansion = Expansion { taken, indicators: Indicators::new(), replaced: Vec::new(), errors: Vec::new() };
    let statements = ast.statements.into_iter().map(|statement| expansion.statement(statement)).collect();
    let Expansion { indicators, replaced, errors, .. } = expansion;
    let ast = Ast { statements, ..ast };
    if errors.is_empty() { Ok(Expanded { ast, indicators, replaced }) } else { Err(errors) }
}

/// All words of an expression.
fn words(expr: &Expr, found: &mut IndexSet<String>) {
    match &expr.kind {
        ExprKind::Number(_) | ExprKind::Bool(_) | ExprKind::Identity(_) => {}
        ExprKind::Name(name) => _ = found.insert(name.clone()),
        ExprKind::Apply { name, args, .. } => {
            found.insert(name.text.clone());
            args.iter().for_each(|arg| words(arg, found));
        }
        ExprKind::Cast { operand, .. } | ExprKind::Neg(operand) => words(operand, found),
        ExprKind::Binary(_, a, b) => [a, b].into_iter().for_each(|operand| words(operand, found)),
    }
}

struct Expansion {
    /// Names that a new tensor or variable cannot have.
    taken: IndexSet<String>,
    indicators: Indicators,
    replaced: Vec<Replaced>,
    errors: Vec<Error>,
}

/// An index that got a variable.
struct Tied {
    /// Its variable.
    variable: Expr,
    /// The access of the indicator.
    indicator: Expr,
}

impl Expansion {
    fn statement(&mut self, statement: Statement) -> Statement {
        // Loops are taken as they are.
        if statement.nest.is_some() {
            self.plain(&statement.rhs);
            self.variables(&statement.indices);
            return statement;
        }
        let mut rhs = self.expression(statement.rhs);
        let mut indices = statement.indices;
        let tied: Vec<Option<Tied>> = indices.iter().map(|index| self.tie(index)).collect();
        if statement.op == AssignOp::Set && tied.iter().any(Option::is_some) {
            let forms = indices.iter().filter_map(|index| affine(index)?.ok()).collect();
            self.replaced.push(Replaced { span: statement.lhs_span, forms });
        }
        for (index, tied) in indices.iter_mut().zip(tied).rev() {
            let Some(Tied { variable, indicator }) = tied else { continue };
            if let ExprKind::Apply { name, .. } = &indicator.kind
                && let Some(made) = self.indicators.get_mut(&name.text)
            {
                made.replaced = statement.op == AssignOp::Set;
            }
            rhs = self.confined(rhs, &indicator, statement.op);
            *index = variable;
        }
        Statement { indices, rhs, ..statement }
    }

    /// Asks that all indices in an expression are variables.
    fn plain(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Number(_) | ExprKind::Bool(_) | ExprKind::Name(_) | ExprKind::Identity(_) => {}
            ExprKind::Cast { operand, .. } | ExprKind::Neg(operand) => self.plain(operand),
            ExprKind::Binary(_, a, b) => [a, b].into_iter().for_each(|operand| self.plain(operand)),
            ExprKind::Apply { name, args, callee } => match meaning(&name.text, args, *callee) {
                Meaning::Access => self.variables(args),
                _ => args.iter().for_each(|arg| self.plain(arg)),
            },
        }
    }

    fn variables(&mut self, indices: &[Expr]) {
        let sums = indices.iter().filter(|index| variable(index).is_none() && affine(index).is_some());
        self.errors.extend(sums.map(|index| Error::from(AccessMistake::IndexInLoops { span: index.span })));
    }

    /// An expression with each of its terms multiplied by an indicator. If values are combined otherwise than by sums, the whole
    /// expression is the identity of the monoid where the indicator does not hold.
    fn confined(&mut self, expr: Expr, indicator: &Expr, op: AssignOp) -> Expr {
        let span = expr.span;
        if let AssignOp::Reduce(monoid) = op
            && monoid != Monoid::SUM
        {
            let otherwise = Expr { kind: ExprKind::Identity(monoid), span, height: 1 };
            let name = Name { text: Function::Select.name().to_string(), span };
            let args = vec![indicator.clone(), expr, otherwise];
            return self.node(ExprKind::Apply { name, args, callee: Callee::Named }, span);
        }
        let kind = match expr.kind {
            // It stays outermost.
            ExprKind::Apply { name, args, callee: Callee::Named } if is_prune(&name.text) => {
                let args = args.into_iter().map(|arg| self.confined(arg, indicator, op)).collect();
                ExprKind::Apply { name, args, callee: Callee::Named }
            }
            ExprKind::Neg(a) => ExprKind::Neg(Box::new(self.confined(*a, indicator, op))),
            ExprKind::Binary(sign @ (BinaryOp::Add | BinaryOp::Sub), a, b) => {
                let (a, b) = (self.confined(*a, indicator, op), self.confined(*b, indicator, op));
                ExprKind::Binary(sign, Box::new(a), Box::new(b))
            }
            kind => ExprKind::Binary(BinaryOp::Mul, Box::new(indicator.clone()), Box::new(Expr { kind, ..expr })),
        };
        self.node(kind, span)
    }

    /// An expression whose accesses have variables as indices.
    fn expression(&mut self, expr: Expr) -> Expr {
        let span = expr.span;
        let kind = match expr.kind {
            ExprKind::Apply { name, args, callee } => {
                if matches!(meaning(&name.text, &args, callee), Meaning::Access) {
                    return self.access(name, args, callee, span);
                }
                let args = args.into_iter().map(|arg| self.expression(arg)).collect();
                ExprKind::Apply { name, args, callee }
            }
            ExprKind::Cast { dtype, operand } => ExprKind::Cast { dtype, operand: Box::new(self.expression(*operand)) },
            ExprKind::Neg(a) => ExprKind::Neg(Box::new(self.expression(*a))),
            ExprKind::Binary(op, a, b) => {
                ExprKind::Binary(op, Box::new(self.expression(*a)), Box::new(self.expression(*b)))
            }
            kind => kind,
        };
        self.node(kind, span)
    }

    /// An access; if some of its indices are no variables, the sum over theirs.
    fn access(&mut self, name: Name, mut args: Vec<Expr>, callee: Callee, span: Span) -> Expr {
        let tied: Vec<Option<Tied>> = args.iter().map(|index| self.tie(index)).collect();
        let mut bound = Vec::new();
        let mut indicators = Vec::new();
        for (index, tied) in args.iter_mut().zip(tied) {
            let Some(Tied { variable, indicator }) = tied else { continue };
            *index = variable.clone();
            bound.push(variable);
            indicators.push(indicator);
        }
        let mut body = self.node(ExprKind::Apply { name, args, callee }, span);
        if bound.is_empty() {
            return body;
        }
        for indicator in indicators.into_iter().rev() {
            body = self.node(ExprKind::Binary(BinaryOp::Mul, Box::new(indicator), Box::new(body)), span);
        }
        bound.push(body);
        let name = Name { text: Monoid::SUM.name().to_string(), span };
        self.node(ExprKind::Apply { name, args: bound, callee: Callee::Named }, span)
    }

    /// The variable and the indicator of an index; `None` for one that is a variable, or is not of the form.
    fn tie(&mut self, index: &Expr) -> Option<Tied> {
        variable(index).is_none().then_some(())?;
        let span = index.span;
        let Affine { terms, constant } = match affine(index)? {
            Ok(affine) => affine,
            Err(error) => {
                self.errors.push(error);
                return None;
            }
        };
        let base = terms.keys().next().map_or("at".to_string(), |name| format!("{name}_at"));
        let own = self.free(&base);
        let (vars, mut factors): (Vec<String>, Vec<i64>) = terms.into_iter().unzip();
        factors.push(-1);
        let name = self.free(&format!("{own}_is"));
        let made = Made { indicator: Indicator { factors, constant }, replaced: false };
        self.indicators.insert(name.clone(), made);
        let variable = |name: String| Expr { kind: ExprKind::Name(name), span, height: 1 };
        let args = vars.into_iter().chain([own.clone()]).map(variable).collect();
        let kind = ExprKind::Apply { name: Name { text: name, span }, args, callee: Callee::Tensor };
        Some(Tied { variable: variable(own), indicator: Expr { kind, span, height: 1 } })
    }

    /// A name that nothing has yet.
    fn free(&mut self, base: &str) -> String {
        let mut name = base.to_string();
        let mut number = 1;
        while !self.taken.insert(name.clone()) {
            number += 1;
            name = format!("{base}{number}");
        }
        name
    }

    fn node(&mut self, kind: ExprKind, span: Span) -> Expr {
        let highest = match &kind {
            ExprKind::Number(_) | ExprKind::Bool(_) | ExprKind::Name(_) | ExprKind::Identity(_) => 0,
            ExprKind::Apply { args, .. } => {
                let nested = args.iter().any(|arg| !matches!(arg.kind, ExprKind::Name(_)));
                let highest = args.iter().map(|arg| arg.height).max().unwrap_or(0);
                if nested { highest + args.len() - 1 } else { 0 }
            }
            ExprKind::Cast { operand, .. } | ExprKind::Neg(operand) => operand.height,
            ExprKind::Binary(_, a, b) => a.height.max(b.height),
        };
        if highest >= MAX_HEIGHT && self.errors.is_empty() {
            self.errors.push(SyntaxMistake::TooDeep { span }.into());
        }
        Expr { kind, span, height: highest + 1 }
    }
}

/// True for the name of the function that says what a result stores.
fn is_prune(name: &str) -> bool {
    Function::parse(name) == Some(Function::Unary(UnaryFn::Prune))
}

/// An index as a sum; `None` if it has another form.
fn affine(index: &Expr) -> Option<Result<Affine, Error>> {
    let within = |number: &i64| number.abs() <= Indicator::MOST;
    let mut affine = match form(index)? {
        Some(affine) => affine,
        None => return Some(Err(AccessMistake::LargeIndex { span: index.span }.into())),
    };
    affine.terms.retain(|_, factor| *factor != 0);
    let is_small = affine.terms.values().chain([&affine.constant]).all(within);
    Some(if is_small { Ok(affine) } else { Err(AccessMistake::LargeIndex { span: index.span }.into()) })
}

/// The same with factors that may be 0; inside, `None` if a number is too large.
fn form(index: &Expr) -> Option<Option<Affine>> {
    let combined = |a: Affine, b: Affine, times: i64| -> Option<Affine> {
        let mut sum = a;
        for (name, factor) in b.terms {
            let own = sum.terms.entry(name).or_insert(0);
            *own = own.checked_add(factor.checked_mul(times)?)?;
        }
        sum.constant = sum.constant.checked_add(b.constant.checked_mul(times)?)?;
        Some(sum)
    };
    Some(match &index.kind {
        ExprKind::Number(Number::Int(value)) => {
            i64::try_from(*value).ok().map(|constant| Affine { constant, ..Affine::default() })
        }
        ExprKind::Name(name) => Some(Affine { terms: IndexMap::from([(name.clone(), 1)]), constant: 0 }),
        ExprKind::Neg(a) => form(a)?.and_then(|a| combined(Affine::default(), a, -1)),
        ExprKind::Binary(op, a, b) => {
            let (a, b) = (form(a)?, form(b)?);
            let (Some(a), Some(b)) = (a, b) else { return Some(None) };
            match op {
                BinaryOp::Add => combined(a, b, 1),
                BinaryOp::Sub => combined(a, b, -1),
                BinaryOp::Mul if a.terms.is_empty() => combined(Affine::default(), b, a.constant),
                BinaryOp::Mul if b.terms.is_empty() => combined(Affine::default(), a, b.constant),
                _ => return None,
            }
        }
        _ => return None,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::super::parser::parse;
    use super::*;

    fn index(text: &str) -> Option<Result<Affine, Error>> {
        let (ast, errors) = parse(&format!("y = x({text})"));
        assert!(errors.is_empty(), "{errors:?}");
        let ExprKind::Apply { args, .. } = &ast.statements[0].rhs.kind else { panic!("no access") };
        affine(&args[0])
    }

    #[test]
    fn sums_of_variables_times_numbers_are_found() {
        let found = |text| {
            let Affine { terms, constant } = index(text).unwrap().unwrap();
            (terms.into_iter().collect::<Vec<_>>(), constant)
        };
        let i = |factor| vec![("i".to_string(), factor)];
        assert_eq!(found("i + 1"), (i(1), 1));
        assert_eq!(found("2 * (i - 3) + i"), (i(3), -6));
        assert_eq!(found("-(4 - i * 2)"), (i(2), -4));
        assert_eq!(found("i - i + 7"), (vec![], 7));
        assert_eq!(found("i + k"), (vec![("i".to_string(), 1), ("k".to_string(), 1)], 0));
        assert!(index("i * j").is_none() && index("i / 2").is_none() && index("1.5").is_none());
        assert!(index("i * 5000000000").unwrap().is_err());
        assert!(index("9223372036854775807 + 1").unwrap().is_err());
    }
}

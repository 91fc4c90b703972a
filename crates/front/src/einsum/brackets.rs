//! Relations of index variables in brackets: `[d == i + 1]`, the tensor that is one where the relation holds and stores nothing elsewhere.
//!
//! They stand in loops that are written and in schedules, where every index is a variable: the relation ties one to others. The
//! kind of that tensor, an [indicator](lacunar_notation::indicator), follows from the form:
//!
//! ```text
//! [d == i + 1]      [d == wrap(i + 1)]      a sum, and one that stays inside of the dimension of `d`
//! [d == p(i)]       [d == {3, 1}(i)]        an element of a tensor, and one of a list
//! [i - j >= 0]      [2 * i - 3 * j == 0]    sums that are compared
//! ```
//!
//! On exit of the parser, each relation is an access of a tensor of its own, whose name is that which a line for the tensor says, or a new
//! one. The same text is the same tensor. The brackets are Iverson's.

use indexmap::IndexMap;
use lacunar_base::Span;
use lacunar_notation::{Border, Equation, Inequality, Rule};

use super::affine::{Affine, affine};
use super::ast::{BinaryOp, Callee, Expr, ExprKind};
use super::check::{Meaning, Relation, meaning};
use super::error::{AccessMistake, Error};
use crate::concrete::Mistake;

/// A relation in brackets.
#[derive(Clone, Debug)]
pub struct Bracket {
    /// `==`, `>=` or another comparison.
    pub op: BinaryOp,
    /// Its left side.
    pub left: Expr,
    /// Its right side.
    pub right: Expr,
    /// The variables of the tensor that stands for it, in the order of its dimensions.
    pub vars: Vec<String>,
    /// Its place.
    pub span: Span,
}

/// The relations that a parser has read.
#[derive(Default)]
pub(crate) struct Brackets {
    /// True if brackets may stand where the parser is.
    pub may_stand: bool,
    /// The names that tensors of relations have, by the texts of these.
    named: IndexMap<String, String>,
    /// By the names of their tensors.
    pub found: IndexMap<String, Bracket>,
}

impl Brackets {
    /// Gives names to the tensors of relations: pairs of text and name.
    pub fn name(&mut self, texts: impl Iterator<Item = (String, String)>) {
        for (text, name) in texts {
            self.named.entry(without_blanks(&text)).or_insert(name);
        }
    }

    /// The tensor and the variables that a comparison at a place of a text stands for. The words are all of the text.
    ///
    /// # Errors
    /// The comparison is no relation of index variables.
    pub fn access(
        &mut self,
        source: &str,
        compared: Expr,
        span: Span,
        words: &[&str],
    ) -> Result<(String, Vec<String>), Error> {
        let ExprKind::Binary(op, left, right) = compared.kind else { return Err(Mistake::Bracket { span }.into()) };
        let text = without_blanks(&source[span.range()]);
        let known = |bracket: &&Bracket| without_blanks(&source[bracket.span.range()]) == text;
        if let Some((name, bracket)) = self.found.iter().find(|(_, bracket)| known(bracket)) {
            return Ok((name.clone(), bracket.vars.clone()));
        }
        let (_, vars) = relation(op, &left, &right, span)?;
        let is_free = |name: &String| !words.contains(&name.as_str()) && !self.found.contains_key(name);
        let said = self.named.get(&text).cloned().filter(is_free);
        let name = said.unwrap_or_else(|| {
            let is_free = |name: &String| is_free(name) && self.named.values().all(|other| other != name);
            let last = vars.last().cloned().unwrap_or_default();
            let base = if op == BinaryOp::Eq { format!("{last}_is") } else { format!("{}_within", vars.join("_")) };
            let numbered = (2..).map(|number| format!("{base}{number}"));
            std::iter::once(base.clone()).chain(numbered).find(|name| is_free(name)).unwrap_or_default()
        });
        let bracket = Bracket { op, left: *left, right: *right, vars: vars.clone(), span };
        self.found.insert(name.clone(), bracket);
        Ok((name, vars))
    }

    /// A new variable for an index of a target; the tensor of the relation that ties it to others, and the variables of that.
    ///
    /// # Errors
    /// The index is none.
    pub fn tie(&mut self, index: &Expr, words: &[&str]) -> Result<(String, String, Vec<String>), Error> {
        let span = index.span;
        let is_free = |name: &String| {
            let is_var = |bracket: &Bracket| bracket.vars.contains(name);
            let is_known = self.found.contains_key(name) || self.named.values().any(|other| other == name);
            !words.contains(&name.as_str()) && !is_known && !self.found.values().any(is_var)
        };
        let free = |base: String| {
            let numbered = (2..).map(|number| format!("{base}{number}"));
            std::iter::once(base.clone()).chain(numbered).find(is_free).unwrap_or_default()
        };
        let base = match &index.kind {
            ExprKind::Apply { name, .. } => Some(name.text.clone()),
            _ => affine(index).and_then(Result::ok).and_then(|form| form.terms.keys().next().cloned()),
        };
        let var = free(base.map_or("at".to_string(), |base| format!("{base}_at")));
        let tensor = free(format!("{var}_is"));
        let left = Expr { kind: ExprKind::Name(var.clone()), span, height: 1 };
        let wrong = |_| Error::from(AccessMistake::NotAnIndex { span });
        let (_, vars) = relation(BinaryOp::Eq, &left, index, span).map_err(wrong)?;
        let bracket = Bracket { op: BinaryOp::Eq, left, right: index.clone(), vars: vars.clone(), span };
        self.found.insert(tensor.clone(), bracket);
        Ok((var, tensor, vars))
    }
}

impl Brackets {
    /// Puts comparisons in the place of relations whose tensors have no names of their own.
    pub fn compare(&self, expr: &mut Expr) {
        match &mut expr.kind {
            ExprKind::Number(_) | ExprKind::Bool(_) | ExprKind::Identity(_) | ExprKind::Name(_) => {}
            ExprKind::List { index, .. } => index.iter_mut().for_each(|index| self.compare(index)),
            ExprKind::Cast { operand, .. } | ExprKind::Neg(operand) => self.compare(operand),
            ExprKind::Binary(_, left, right) => [left, right].into_iter().for_each(|side| self.compare(side)),
            ExprKind::Apply { name, args, .. } => {
                let is_said = self.named.values().any(|said| *said == name.text);
                if let Some(Bracket { op, left, right, .. }) = self.found.get(&name.text).filter(|_| !is_said) {
                    let height = left.height.max(right.height) + 1;
                    let kind = ExprKind::Binary(*op, Box::new(left.clone()), Box::new(right.clone()));
                    *expr = Expr { kind, span: expr.span, height };
                } else {
                    args.iter_mut().for_each(|arg| self.compare(arg));
                }
            }
        }
    }
}

impl Bracket {
    /// The relation between its variables.
    ///
    /// # Errors
    /// It is no relation of index variables.
    pub(crate) fn relation(&self) -> Result<Relation, Error> {
        relation(self.op, &self.left, &self.right, self.span).map(|(relation, _)| relation)
    }
}

/// The relation that a comparison is, and its variables.
fn relation(op: BinaryOp, left: &Expr, right: &Expr, span: Span) -> Result<(Relation, Vec<String>), Error> {
    let wrong = || Error::from(Mistake::Bracket { span });
    if let (BinaryOp::Eq, Some(own)) = (op, name(left))
        && let Some((relation, mut vars)) = tied(right, span)?
        && !vars.contains(&own)
    {
        vars.push(own);
        return Ok((relation, vars));
    }
    let (left, right) = (affine(left).ok_or_else(wrong)??, affine(right).ok_or_else(wrong)??);
    let (mut sum, less, least) = match op {
        BinaryOp::Eq | BinaryOp::Ge => (left, right, 0),
        BinaryOp::Le => (right, left, 0),
        BinaryOp::Gt => (left, right, 1),
        BinaryOp::Lt => (right, left, 1),
        _ => return Err(wrong()),
    };
    // Each number of a side is small.
    for (name, factor) in less.terms {
        *sum.terms.entry(name).or_insert(0) -= factor;
    }
    sum.constant -= less.constant + least;
    sum.terms.retain(|_, factor| *factor != 0);
    if sum.terms.is_empty() {
        return Err(wrong());
    }
    if sum.terms.values().chain([&sum.constant]).any(|number| number.abs() > Equation::MOST) {
        return Err(AccessMistake::LargeIndex { span }.into());
    }
    let (vars, factors) = sum.terms.into_iter().unzip();
    let equation = Equation { factors, constant: sum.constant };
    let relation = match op {
        BinaryOp::Eq => Relation::Equation(equation),
        _ => Relation::Inequality(Inequality { border: equation }),
    };
    Ok((relation, vars))
}

/// The equation that ties a variable to others, and these; `None` for another form.
fn tied(right: &Expr, span: Span) -> Result<Option<(Relation, Vec<String>)>, Error> {
    let names = |args: &[Expr]| args.iter().map(name).collect::<Option<Vec<String>>>();
    let solved = |Affine { terms, constant }: Affine| {
        let (vars, mut factors): (Vec<String>, Vec<i64>) = terms.into_iter().unzip();
        factors.push(-1);
        (Equation { factors, constant }, vars)
    };
    Ok(match &right.kind {
        ExprKind::Apply { name, args, callee: Callee::Named } if Rule::parse(&name.text).is_some() => {
            let (Some(rule), [sum]) = (Rule::parse(&name.text), args.as_slice()) else { return Ok(None) };
            let (equation, vars) = solved(affine(sum).ok_or(Mistake::Bracket { span })??);
            Some((Relation::Border(Border { rule, equation }), vars))
        }
        ExprKind::Apply { name, args, callee } if matches!(meaning(&name.text, args, *callee), Meaning::Access) => {
            names(args).map(|vars| (Relation::Values(name.clone()), vars))
        }
        ExprKind::List { values, index: Some(place) } => {
            name(place).map(|place| (Relation::List(values.clone()), vec![place]))
        }
        _ => match affine(right) {
            Some(form) => {
                let (equation, vars) = solved(form?);
                Some((Relation::Equation(equation), vars))
            }
            None => None,
        },
    })
}

/// The name that an expression is.
fn name(expr: &Expr) -> Option<String> {
    match &expr.kind {
        ExprKind::Name(name) => Some(name.clone()),
        _ => None,
    }
}

fn without_blanks(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

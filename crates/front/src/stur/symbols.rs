//! The numbers that symbols stand for.
//!
//! A symbol is declared, or follows from the size of a tensor that is given, where the rule for its dimensions has one upper bound and
//! one symbol in it that is not known.
//!
//! ```text
//! A:D(i,j) := (0 <= i < 2*m) * (0 <= j < n)     A: 6 x 4      m = 3, n = 4
//! ```

use std::collections::BTreeMap;

use lacunar_sets::{Expression, Formula};

use super::error::Error;
use super::extents::{conditions, declared};
use super::form::Form;
use super::ranges::Sign;
use super::{Access, Factor, Index, Part, Program, Rule, Term};
use crate::einsum::Declarations;

/// The values of symbols.
pub(super) type Symbols = BTreeMap<String, i64>;

/// The numbers that are declared for symbols, and those that follow from the sizes of tensors.
pub(super) fn symbols(program: &Program, declarations: &Declarations) -> Result<Symbols, Error> {
    let mut known = Symbols::new();
    for symbol in &program.symbols {
        if let Some([value]) = declared(declarations, symbol, 1).as_deref() {
            known.insert(symbol.clone(), *value);
        }
    }
    loop {
        let before = known.len();
        for rule in program.rules.iter().filter(|rule| rule.head.part == Part::Dimensions) {
            let order = rule.head.indices.len();
            if let Some(dims) = declared(declarations, &rule.head.tensor, order) {
                solve(program, rule, &dims, &mut known)?;
            }
        }
        if known.len() == before {
            return Ok(known);
        }
    }
}

/// Finds the symbols that the sizes of a tensor tell, each as the one that is not known in an upper bound.
fn solve(program: &Program, rule: &Rule, dims: &[i64], known: &mut Symbols) -> Result<(), Error> {
    let [term] = rule.terms.as_slice() else { return Ok(()) };
    for (index, size) in rule.head.indices.iter().zip(dims) {
        let Index::Name(index, _) = index else { continue };
        let mut bounds = Vec::new();
        for factor in &term.factors {
            let Factor::Comparison { condition, span, .. } = factor else { continue };
            let meaning = |name: &str| known.get(name).map_or_else(|| Form::name(name), |value| Form::constant(*value));
            bounds.extend(conditions(condition, *span, &meaning)?.into_iter().filter(|condition| {
                let is_of_symbols = |name: &&str| program.symbols.iter().any(|symbol| symbol == name);
                condition.sign == Sign::AtLeast
                    && condition.form.factor(index) == -1
                    && condition.form.without(index).names().iter().all(is_of_symbols)
            }));
        }
        let [bound] = bounds.as_slice() else { continue };
        // bound >= index, so that the bound is the size less 1.
        let form = bound.form.without(index);
        let (true, [(_, factor)]) = (form.is_affine(), form.terms.as_slice()) else { continue };
        let Some(symbol) = form.names().first().map(|name| (*name).to_string()) else { continue };
        let rest = size.checked_sub(1).and_then(|last| last.checked_sub(form.constant));
        match rest.filter(|rest| rest.checked_rem(*factor) == Some(0)) {
            Some(rest) => _ = known.insert(symbol, rest / factor),
            None => {
                let (span, tensor) = (bound.span, rule.head.tensor.clone());
                return Err(Error::Unsolved { span, tensor, symbol, size: *size });
            }
        }
    }
    Ok(())
}

/// A program in which symbols are numbers.
pub(super) fn with_numbers(program: &Program, symbols: &Symbols) -> Program {
    let mut program = program.clone();
    program.symbols.clear();
    for rule in &mut program.rules {
        rule.head.replace(symbols);
        replace(&mut rule.terms, symbols);
    }
    program
}

fn replace(terms: &mut [Term], symbols: &Symbols) {
    for factor in terms.iter_mut().flat_map(|term| &mut term.factors) {
        match factor {
            Factor::Access(access) => access.replace(symbols),
            Factor::Sum(terms) => replace(terms, symbols),
            Factor::Comparison { condition: Formula::Chain(first, rest), .. } => {
                for expression in std::iter::once(first).chain(rest.iter_mut().map(|(_, next)| next)) {
                    numbered(expression, symbols);
                }
            }
            Factor::Comparison { .. } | Factor::Number { .. } => {}
        }
    }
}

impl Access {
    fn replace(&mut self, symbols: &Symbols) {
        for index in &mut self.indices {
            if let Index::Name(name, span) = index
                && let Some(value) = symbols.get(name)
            {
                *index = Index::Number(*value, *span);
            }
        }
    }
}

fn numbered(expression: &mut Expression, symbols: &Symbols) {
    match expression {
        Expression::Number(..) => {}
        Expression::Name(name, span) => {
            if let Some(value) = symbols.get(name) {
                *expression = Expression::Number(*value, *span);
            }
        }
        Expression::Sum(a, b, _) | Expression::Product(a, b) => {
            numbered(a, symbols);
            numbered(b, symbols);
        }
        Expression::Quotient(inner, ..) | Expression::Remainder(inner, ..) => numbered(inner, symbols),
    }
}

/// The first symbol in some rules that is still a name, with the first of its places.
pub(super) fn unknown(rules: &[Rule], symbols: &[String]) -> Option<Error> {
    let is_symbol = |name: &str| symbols.iter().any(|symbol| symbol == name);
    rules.iter().find_map(|rule| {
        let accesses = std::iter::once(&rule.head).flat_map(|head| &head.indices);
        let in_head = accesses.filter_map(|index| match index {
            Index::Name(name, span) => Some((name.as_str(), *span)),
            Index::Number(..) => None,
        });
        let found = in_head.chain(places(&rule.terms)).find(|(name, _)| is_symbol(name));
        found.map(|(name, span)| Error::Symbol { span, name: name.to_string() })
    })
}

/// The names in some terms, with their places.
fn places(terms: &[Term]) -> Vec<(&str, lacunar_base::Span)> {
    let mut found = Vec::new();
    for factor in terms.iter().flat_map(|term| &term.factors) {
        match factor {
            Factor::Access(access) => found.extend(access.indices.iter().filter_map(|index| match index {
                Index::Name(name, span) => Some((name.as_str(), *span)),
                Index::Number(..) => None,
            })),
            Factor::Comparison { condition, .. } => found.extend(condition.names()),
            Factor::Sum(terms) => found.extend(places(terms)),
            Factor::Number { .. } => {}
        }
    }
    found
}

//! The operands of comparisons: sums of variables, rounded quotients, remainders and products, each times a whole number.
//!
//! Symbols are numbers by then. A sum whose terms are all variables is affine, and kernels can confine loops by it; other terms stand as
//! values in the statement.
//!
//! ```text
//! n*i + j - i*(i + 1)/2      n = 8      8 * i + j - ((i * (i + 1)) / 2)
//! ```

use std::collections::BTreeSet;

use lacunar_sets::Expression;

/// Products, quotients and remainders are inside of each other so often at most: bounds recursion.
const MOST_DEPTH: usize = 64;

/// A summand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Atom {
    /// A variable.
    Name(String),
    /// The quotient by a positive number, rounded down.
    Quotient(Form, i64),
    /// The remainder of that quotient, which is not negative.
    Remainder(Form, i64),
    /// The product of two sums that are no numbers.
    Product(Form, Form),
}

/// A sum of atoms, each times a number other than 0, and a number. Each atom occurs once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Form {
    pub terms: Vec<(Atom, i64)>,
    pub constant: i64,
}

impl Form {
    /// A number.
    pub fn constant(constant: i64) -> Form {
        Form { terms: Vec::new(), constant }
    }

    /// A variable.
    pub fn name(name: &str) -> Form {
        Form { terms: vec![(Atom::Name(name.to_string()), 1)], constant: 0 }
    }

    /// The form of an expression; `meaning` gives the forms that names stand for; `None` if a number is too large, or products and
    /// quotients are nested too deeply.
    pub fn of(expression: &Expression, meaning: &dyn Fn(&str) -> Form) -> Option<Form> {
        Form::within(expression, meaning, MOST_DEPTH)
    }

    /// The form of an expression in which no more than `depth` operations other than sums are inside of each other.
    fn within(expression: &Expression, meaning: &dyn Fn(&str) -> Form, depth: usize) -> Option<Form> {
        let inner = |inner: &Expression| Form::within(inner, meaning, depth.checked_sub(1)?);
        // A long sum is written as one inside of another, many times.
        let (mut first, mut sum) = (expression, Form::default());
        while let Expression::Sum(rest, last, is_sum) = first {
            sum = sum.plus(&inner(last)?, if *is_sum { 1 } else { -1 })?;
            first = rest;
        }
        let first = match first {
            Expression::Number(number, _) => Form::constant(*number),
            Expression::Name(name, _) => meaning(name),
            Expression::Product(a, b) => inner(a)?.product(inner(b)?)?,
            Expression::Quotient(of, by, false, _) => inner(of)?.quotient(*by)?,
            Expression::Quotient(of, by, true, _) => inner(of)?.shifted(by.checked_sub(1)?)?.quotient(*by)?,
            Expression::Remainder(of, by, _) => inner(of)?.remainder(*by)?,
            Expression::Sum(..) => return None,
        };
        first.plus(&sum, 1)
    }

    /// The sum with so many times another one.
    pub fn plus(&self, other: &Form, times: i64) -> Option<Form> {
        let mut sum = self.clone();
        sum.constant = sum.constant.checked_add(other.constant.checked_mul(times)?)?;
        for (atom, factor) in &other.terms {
            let factor = factor.checked_mul(times)?;
            match sum.terms.iter_mut().find(|(own, _)| own == atom) {
                Some((_, own)) => *own = own.checked_add(factor)?,
                None => sum.terms.push((atom.clone(), factor)),
            }
        }
        sum.terms.retain(|(_, factor)| *factor != 0);
        Some(sum)
    }

    /// The sum with a number.
    pub fn shifted(&self, by: i64) -> Option<Form> {
        self.plus(&Form::constant(by), 1)
    }

    /// So many times the form.
    pub fn times(&self, factor: i64) -> Option<Form> {
        Form::default().plus(self, factor)
    }

    /// The product of two.
    fn product(self, other: Form) -> Option<Form> {
        match (self.terms.is_empty(), other.terms.is_empty()) {
            (true, _) => other.times(self.constant),
            (_, true) => self.times(other.constant),
            (false, false) => Atom::Product(self, other).into_form(),
        }
    }

    /// The quotient by a positive number, rounded down.
    pub fn quotient(self, by: i64) -> Option<Form> {
        match (by, self.terms.is_empty()) {
            (..=0, _) => None,
            (_, true) => Some(Form::constant(self.constant.div_euclid(by))),
            (1, _) => Some(self),
            _ => Atom::Quotient(self, by).into_form(),
        }
    }

    fn remainder(self, by: i64) -> Option<Form> {
        match (by, self.terms.is_empty()) {
            (..=0, _) => None,
            (1, _) => Some(Form::constant(0)),
            (_, true) => Some(Form::constant(self.constant.rem_euclid(by))),
            _ => Atom::Remainder(self, by).into_form(),
        }
    }

    /// The form with other forms in the places of names, where `meaning` has one.
    pub fn substituted(&self, meaning: &dyn Fn(&str) -> Option<Form>) -> Option<Form> {
        let mut sum = Form::constant(self.constant);
        for (atom, factor) in &self.terms {
            let form = match atom {
                Atom::Name(name) => meaning(name).unwrap_or_else(|| Form::name(name)),
                Atom::Quotient(inner, by) => inner.substituted(meaning)?.quotient(*by)?,
                Atom::Remainder(inner, by) => inner.substituted(meaning)?.remainder(*by)?,
                Atom::Product(a, b) => a.substituted(meaning)?.product(b.substituted(meaning)?)?,
            };
            sum = sum.plus(&form, *factor)?;
        }
        Some(sum)
    }

    /// The number, if it is one.
    pub fn as_number(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// The variable, if it is nothing else.
    pub fn as_name(&self) -> Option<&str> {
        match self.terms.as_slice() {
            [(Atom::Name(name), 1)] if self.constant == 0 => Some(name),
            _ => None,
        }
    }

    /// True if all terms are variables.
    pub fn is_affine(&self) -> bool {
        self.terms.iter().all(|(atom, _)| matches!(atom, Atom::Name(_)))
    }

    /// The number of times that a variable is a summand; 0 if it is none.
    pub fn factor(&self, name: &str) -> i64 {
        let own = self.terms.iter().find(|(atom, _)| matches!(atom, Atom::Name(own) if own == name));
        own.map_or(0, |(_, factor)| *factor)
    }

    /// The form without the summand that a variable is.
    pub fn without(&self, name: &str) -> Form {
        let others = self.terms.iter().filter(|(atom, _)| !matches!(atom, Atom::Name(own) if own == name));
        Form { terms: others.cloned().collect(), constant: self.constant }
    }

    /// The depth to which atoms are inside of each other.
    fn height(&self) -> usize {
        self.terms.iter().map(|(atom, _)| atom.height()).max().unwrap_or(0)
    }

    /// The variables in it.
    pub fn names(&self) -> BTreeSet<&str> {
        self.terms.iter().flat_map(|(atom, _)| atom.names()).collect()
    }
}

impl Atom {
    /// The atom alone; `None` if too many are inside of each other.
    fn into_form(self) -> Option<Form> {
        (self.height() <= MOST_DEPTH).then(|| Form { terms: vec![(self, 1)], constant: 0 })
    }

    fn height(&self) -> usize {
        match self {
            Atom::Name(_) => 0,
            Atom::Quotient(inner, _) | Atom::Remainder(inner, _) => inner.height() + 1,
            Atom::Product(a, b) => a.height().max(b.height()) + 1,
        }
    }

    fn names(&self) -> BTreeSet<&str> {
        match self {
            Atom::Name(name) => BTreeSet::from([name.as_str()]),
            Atom::Quotient(inner, _) | Atom::Remainder(inner, _) => inner.names(),
            Atom::Product(a, b) => a.names().into_iter().chain(b.names()).collect(),
        }
    }
}

//! Polynomials with rational coefficients, over numbered variables.
//!
//! Numbers are of 128 bits; a result that does not fit is `None`.
//!
//! ```
//! use lacunar_sets::{Affine, Polynomial};
//! let n = Polynomial::of(&Affine::variable(0));
//! let square = n.times(&n).unwrap();
//! assert_eq!(square.plus(&n).unwrap().at(&[5]), Some(30));
//! ```

use std::collections::BTreeMap;
use std::fmt;

use crate::affine::Affine;

/// A sum of products of variables with rational coefficients.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Polynomial {
    /// For the powers of variables, without trailing zeros, a coefficient other than 0: numerator and positive denominator.
    terms: BTreeMap<Vec<u32>, Ratio>,
}

/// A reduced fraction with a positive denominator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ratio {
    numerator: i128,
    denominator: i128,
}

impl Ratio {
    fn new(numerator: i128, denominator: i128) -> Option<Ratio> {
        let (mut a, mut b) = (numerator.checked_abs()?, denominator.checked_abs()?);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        let common = a.max(1).checked_mul(denominator.signum())?;
        (denominator != 0).then(|| Ratio { numerator: numerator / common, denominator: denominator / common })
    }

    fn plus(self, other: Ratio) -> Option<Ratio> {
        let (a, b) = (self.numerator.checked_mul(other.denominator)?, other.numerator.checked_mul(self.denominator)?);
        Ratio::new(a.checked_add(b)?, self.denominator.checked_mul(other.denominator)?)
    }

    fn times(self, other: Ratio) -> Option<Ratio> {
        let numerator = self.numerator.checked_mul(other.numerator)?;
        Ratio::new(numerator, self.denominator.checked_mul(other.denominator)?)
    }
}

impl Polynomial {
    /// A number.
    pub fn constant(value: i128) -> Polynomial {
        Polynomial { terms: BTreeMap::from([(Vec::new(), Ratio { numerator: value, denominator: 1 })]) }.without_zeros()
    }

    /// An affine form.
    pub fn of(form: &Affine) -> Polynomial {
        let whole = |value: i64| Ratio { numerator: value.into(), denominator: 1 };
        let mut terms = BTreeMap::from([(Vec::new(), whole(form.offset()))]);
        terms.extend(form.terms().map(|(column, factor)| (power(column, 1), whole(factor))));
        Polynomial { terms }.without_zeros()
    }

    fn without_zeros(mut self) -> Polynomial {
        self.terms.retain(|_, ratio| ratio.numerator != 0);
        self
    }

    /// The sum of two polynomials.
    pub fn plus(&self, other: &Polynomial) -> Option<Polynomial> {
        let mut sum = self.clone();
        for (powers, &ratio) in &other.terms {
            let old = sum.terms.get(powers).copied().unwrap_or(Ratio { numerator: 0, denominator: 1 });
            sum.terms.insert(powers.clone(), old.plus(ratio)?);
        }
        Some(sum.without_zeros())
    }

    /// The product of two polynomials.
    pub fn times(&self, other: &Polynomial) -> Option<Polynomial> {
        let mut product = Polynomial::default();
        for (left, &a) in &self.terms {
            for (right, &b) in &other.terms {
                let width = left.len().max(right.len());
                let at = |powers: &[u32], column: usize| powers.get(column).copied().unwrap_or(0);
                let powers = (0..width).map(|column| at(left, column).checked_add(at(right, column)));
                let term = BTreeMap::from([(powers.collect::<Option<Vec<u32>>>()?, a.times(b)?)]);
                product = product.plus(&Polynomial { terms: term })?;
            }
        }
        Some(product)
    }

    /// The polynomial times a fraction; `None` also if the denominator is 0.
    fn scaled(&self, numerator: i128, denominator: i128) -> Option<Polynomial> {
        let by = Ratio::new(numerator, denominator)?;
        let terms = self.terms.iter().map(|(powers, ratio)| Some((powers.clone(), ratio.times(by)?)));
        Some(Polynomial { terms: terms.collect::<Option<_>>()? }.without_zeros())
    }

    /// The difference of two polynomials.
    pub fn minus(&self, other: &Polynomial) -> Option<Polynomial> {
        self.plus(&other.scaled(-1, 1)?)
    }

    /// The polynomial with a variable replaced by another polynomial.
    pub fn substituted(&self, column: usize, by: &Polynomial) -> Option<Polynomial> {
        let mut sum = Polynomial::default();
        for (degree, rest) in self.by_power(column).iter().enumerate() {
            let mut term = rest.clone();
            for _ in 0..degree {
                term = term.times(by)?;
            }
            sum = sum.plus(&term)?;
        }
        Some(sum)
    }

    /// The coefficients of the powers of a variable, from the power 0 on.
    fn by_power(&self, column: usize) -> Vec<Polynomial> {
        let mut parts: Vec<Polynomial> = Vec::new();
        for (powers, &ratio) in &self.terms {
            let degree = powers.get(column).copied().unwrap_or(0) as usize;
            let mut rest = powers.clone();
            if let Some(power) = rest.get_mut(column) {
                *power = 0;
            }
            while rest.last() == Some(&0) {
                rest.pop();
            }
            if parts.len() <= degree {
                parts.resize(degree + 1, Polynomial::default());
            }
            parts[degree].terms.insert(rest, ratio);
        }
        parts
    }

    /// The sum over all values of a variable from `low` to `high`, which may be one less than `low`: Faulhaber's formulas.
    ///
    /// ```
    /// use lacunar_sets::{Affine, Polynomial};
    /// let to = Polynomial::of(&Affine::new([1], -1)); // n - 1
    /// let sum = Polynomial::of(&Affine::variable(1)).summed(1, &Polynomial::constant(0), &to).unwrap();
    /// assert_eq!(sum.at(&[10]), Some(45));
    /// ```
    pub fn summed(&self, column: usize, low: &Polynomial, high: &Polynomial) -> Option<Polynomial> {
        let parts = self.by_power(column);
        let sums = power_sums(parts.len())?;
        let before = low.minus(&Polynomial::constant(1))?;
        let mut total = Polynomial::default();
        for (part, sum) in parts.iter().zip(&sums) {
            let range = sum.substituted(0, high)?.minus(&sum.substituted(0, &before)?)?;
            total = total.plus(&part.times(&range)?)?;
        }
        Some(total)
    }

    /// The value at a point. `None` if a number does not fit, or if it is no whole number.
    pub fn at(&self, point: &[i64]) -> Option<i128> {
        let mut sum = Ratio { numerator: 0, denominator: 1 };
        for (powers, &ratio) in &self.terms {
            let mut term = ratio;
            for (column, &degree) in powers.iter().enumerate() {
                let value = Ratio { numerator: i128::from(point.get(column).copied().unwrap_or(0)), denominator: 1 };
                for _ in 0..degree {
                    term = term.times(value)?;
                }
            }
            sum = sum.plus(term)?;
        }
        (sum.denominator == 1).then_some(sum.numerator)
    }

    /// The polynomial with names for its variables: `1/2 n^2 + 1/2 n`.
    pub fn text(&self, names: &[String]) -> String {
        if self.terms.is_empty() {
            return "0".to_string();
        }
        let mut terms: Vec<(&Vec<u32>, &Ratio)> = self.terms.iter().collect();
        terms.sort_by_key(|(powers, _)| (std::cmp::Reverse(powers.iter().sum::<u32>()), std::cmp::Reverse(*powers)));
        let mut text = String::new();
        for (place, (powers, ratio)) in terms.into_iter().enumerate() {
            let sign = match (place, ratio.numerator < 0) {
                (0, false) => "",
                (0, true) => "-",
                (_, false) => " + ",
                (_, true) => " - ",
            };
            text.push_str(sign);
            let factors = powers.iter().enumerate().filter(|(_, degree)| **degree > 0).map(|(column, degree)| {
                let name = names.get(column).cloned().unwrap_or_else(|| format!("c{column}"));
                if *degree == 1 { name } else { format!("{name}^{degree}") }
            });
            let factors: Vec<String> = factors.collect();
            let number = match (ratio.numerator.unsigned_abs(), ratio.denominator) {
                (1, 1) if !factors.is_empty() => None,
                (numerator, 1) => Some(numerator.to_string()),
                (numerator, denominator) => Some(format!("{numerator}/{denominator}")),
            };
            let parts: Vec<String> = number.into_iter().chain(factors).collect();
            text.push_str(&parts.join(" "));
        }
        text
    }
}

impl fmt::Display for Polynomial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(&[]))
    }
}

fn power(column: usize, degree: u32) -> Vec<u32> {
    let mut powers = vec![0; column];
    powers.push(degree);
    powers
}

/// The sums of the powers 0, 1, 2, ... of the numbers from 0 to n, as polynomials in n (variable 0), with 0^0 = 1.
///
/// `(p + 1) S_p = (n + 1)^(p + 1) - sum of binomial(p + 1, j) S_j over j < p`, as the differences of `k^(p + 1)` add up to it.
fn power_sums(count: usize) -> Option<Vec<Polynomial>> {
    let next = Polynomial::of(&Affine::new([1], 1));
    let mut sums: Vec<Polynomial> = Vec::new();
    let mut powers = next.clone();
    for p in 0..count {
        let mut sum = powers.clone();
        let mut binomial: i128 = 1;
        for (j, lower) in sums.iter().enumerate() {
            sum = sum.minus(&lower.scaled(binomial, 1)?)?;
            binomial = binomial.checked_mul((p + 1 - j) as i128)? / (j as i128 + 1);
        }
        sums.push(sum.scaled(1, p as i128 + 1)?);
        powers = powers.times(&next)?;
    }
    Some(sums)
}

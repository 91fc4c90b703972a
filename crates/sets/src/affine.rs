//! Affine forms: sums of columns times whole factors, and a constant.
//!
//! The columns of a piece are its parameters, then its dimensions, then its divisions. A form knows columns by number alone, and has
//! factor 0 for all that it does not mention, so that columns behind them can be added freely.
//!
//! ```
//! use lacunar_sets::Affine;
//! let form = Affine::new([1, -2], 5); // c0 - 2 c1 + 5
//! assert_eq!(form.at(&[10, 3]), Some(9));
//! assert_eq!(form.plus(&Affine::variable(1)), Some(Affine::new([1, -1], 5)));
//! assert_eq!(Affine::constant(i64::MAX).shifted(1), None);
//! ```

/// A sum of columns times factors, and a constant. Factors behind the last that is not 0 are not kept, so that equal forms are alike.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Affine {
    factors: Vec<i64>,
    constant: i64,
}

impl Affine {
    /// The form with these factors, of the first columns, and this constant.
    pub fn new(factors: impl Into<Vec<i64>>, constant: i64) -> Affine {
        let mut factors = factors.into();
        while factors.last() == Some(&0) {
            factors.pop();
        }
        Affine { factors, constant }
    }

    /// A number.
    pub fn constant(constant: i64) -> Affine {
        Affine { factors: Vec::new(), constant }
    }

    /// A column by itself.
    pub fn variable(column: usize) -> Affine {
        Affine::term(column, 1)
    }

    /// A column times a factor.
    pub fn term(column: usize, factor: i64) -> Affine {
        let mut factors = vec![0; column];
        factors.push(factor);
        Affine::new(factors, 0)
    }

    /// The factor of a column.
    pub fn factor(&self, column: usize) -> i64 {
        self.factors.get(column).copied().unwrap_or(0)
    }

    /// The number that is added.
    pub fn offset(&self) -> i64 {
        self.constant
    }

    /// The factors of the first columns; those of all others are 0.
    pub fn factors(&self) -> &[i64] {
        &self.factors
    }

    /// The columns with a factor other than 0, with it.
    pub fn terms(&self) -> impl DoubleEndedIterator<Item = (usize, i64)> + '_ {
        self.factors.iter().copied().enumerate().filter(|&(_, factor)| factor != 0)
    }

    /// True if it is a number.
    pub fn is_constant(&self) -> bool {
        self.factors.is_empty()
    }

    /// True if a column has a factor other than 0.
    pub fn uses(&self, column: usize) -> bool {
        self.factor(column) != 0
    }

    /// The greatest common divisor of the factors; 0 of a number.
    pub fn content(&self) -> u64 {
        self.factors.iter().fold(0, |divisor, factor| gcd(divisor, factor.unsigned_abs()))
    }

    /// The value at a point, which has a number for each column; columns that it lacks are 0.
    pub fn at(&self, point: &[i64]) -> Option<i64> {
        let terms =
            self.factors.iter().zip(point).map(|(&factor, &value)| i128::from(factor).checked_mul(value.into()));
        let sum = terms.into_iter().try_fold(i128::from(self.constant), |sum, term| sum.checked_add(term?))?;
        i64::try_from(sum).ok()
    }

    /// `a` times this form plus `b` times another. `None` if a number does not fit.
    pub fn combined(&self, a: i64, other: &Affine, b: i64) -> Option<Affine> {
        let fits = |x: i64, y: i64| {
            let sum = i128::from(a) * i128::from(x) + i128::from(b) * i128::from(y);
            i64::try_from(sum).ok()
        };
        let width = self.factors.len().max(other.factors.len());
        let factors = (0..width).map(|column| fits(self.factor(column), other.factor(column)));
        Some(Affine::new(factors.collect::<Option<Vec<i64>>>()?, fits(self.constant, other.constant)?))
    }

    /// The sum of two forms.
    pub fn plus(&self, other: &Affine) -> Option<Affine> {
        self.combined(1, other, 1)
    }

    /// The difference of two forms.
    pub fn minus(&self, other: &Affine) -> Option<Affine> {
        self.combined(1, other, -1)
    }

    /// The form times a number.
    pub fn times(&self, factor: i64) -> Option<Affine> {
        self.combined(factor, &Affine::default(), 0)
    }

    /// The form with its sign changed.
    pub fn negated(&self) -> Option<Affine> {
        self.times(-1)
    }

    /// The form plus a number.
    pub fn shifted(&self, by: i64) -> Option<Affine> {
        Some(Affine { factors: self.factors.clone(), constant: self.constant.checked_add(by)? })
    }

    /// The form with a column replaced by another form.
    pub fn substituted(&self, column: usize, by: &Affine) -> Option<Affine> {
        let factor = self.factor(column);
        if factor == 0 {
            return Some(self.clone());
        }
        self.without(column).combined(1, by, factor)
    }

    /// The form without the term of a column.
    pub fn without(&self, column: usize) -> Affine {
        let mut factors = self.factors.clone();
        if let Some(factor) = factors.get_mut(column) {
            *factor = 0;
        }
        Affine::new(factors, self.constant)
    }

    /// The form with every column replaced by a form. `None` also if it uses a column that has none.
    pub fn mapped(&self, columns: &[Affine]) -> Option<Affine> {
        let start = Affine::constant(self.constant);
        self.terms().try_fold(start, |sum, (column, factor)| sum.combined(1, columns.get(column)?, factor))
    }

    /// The form with its columns renumbered. Two columns that come to one number are added, so they have to be few enough not to
    /// leave 64 bits.
    pub fn renumbered(&self, number: impl Fn(usize) -> usize) -> Option<Affine> {
        let start = Affine::constant(self.constant);
        self.terms().try_fold(start, |sum, (column, factor)| sum.plus(&Affine::term(number(column), factor)))
    }

    /// The form divided by a number that divides all its factors, the constant rounded down; of an inequality `>= 0` this is the same
    /// constraint over the integers.
    pub(crate) fn divided(&self, by: u64) -> Affine {
        let Some(by) = i64::try_from(by).ok().filter(|&by| by > 1) else { return self.clone() };
        let factors: Vec<i64> = self.factors.iter().map(|factor| factor / by).collect();
        Affine { factors, constant: self.constant.div_euclid(by) }
    }
}

/// The greatest common divisor; of 0 and a number, the number.
pub(crate) fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_canonical() {
        assert_eq!(Affine::new([1, 0, 0], 2), Affine::new([1], 2));
        assert_eq!(Affine::variable(1).minus(&Affine::variable(1)), Some(Affine::default()));
        assert_eq!(Affine::new([2, 4], 5).content(), 2);
        assert_eq!(Affine::new([2, 4], -5).divided(2), Affine::new([1, 2], -3));
    }

    #[test]
    fn nothing_wraps_around() {
        let large = Affine::term(0, i64::MAX);
        assert_eq!(large.plus(&Affine::variable(0)), None);
        assert_eq!(Affine::constant(i64::MIN).negated(), None);
        assert_eq!(large.at(&[2]), None);
        assert_eq!(large.at(&[1]), Some(i64::MAX));
    }

    #[test]
    fn columns_are_replaced() {
        let form = Affine::new([3, -1], 4);
        assert_eq!(form.substituted(0, &Affine::new([0, 1], 1)), Some(Affine::new([0, 2], 7)));
        assert_eq!(form.mapped(&[Affine::variable(1), Affine::variable(0)]), Some(Affine::new([-1, 3], 4)));
        assert_eq!(form.mapped(&[Affine::variable(1)]), None);
        assert_eq!(form.renumbered(|column| column + 2), Some(Affine::new([0, 0, 3, -1], 4)));
    }
}

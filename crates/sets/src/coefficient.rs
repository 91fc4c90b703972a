//! The factor of a value on its way from one point to another: a rational number, and a flag that is true if the value is conjugated.
//!
//! ```
//! use lacunar_sets::Coefficient;
//! let skew = Coefficient::new(-1, 1, false).unwrap();
//! let hermitian = Coefficient::new(1, 1, true).unwrap();
//! assert_eq!(skew.times(skew), Some(Coefficient::ONE));
//! assert_eq!(skew.times(hermitian).unwrap().to_string(), "-conj");
//! ```

use std::fmt;

use crate::affine::gcd;

/// A rational number, and a flag that is true if the value that it multiplies is conjugated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Coefficient {
    /// The numerator, without a common divisor with the denominator.
    numerator: i64,
    /// The denominator, positive.
    denominator: i64,
    /// True if the value is conjugated.
    pub conjugate: bool,
}

impl Coefficient {
    /// The value stays.
    pub const ONE: Coefficient = Coefficient { numerator: 1, denominator: 1, conjugate: false };

    /// `numerator / denominator`. `None` if the denominator is 0, or a number does not fit.
    pub fn new(numerator: i64, denominator: i64, conjugate: bool) -> Option<Coefficient> {
        Coefficient::reduced(numerator.into(), denominator.into(), conjugate)
    }

    fn reduced(numerator: i128, denominator: i128, conjugate: bool) -> Option<Coefficient> {
        if denominator == 0 {
            return None;
        }
        let magnitude = |number: i128| u64::try_from(number.unsigned_abs()).ok();
        let common = match (magnitude(numerator), magnitude(denominator)) {
            (Some(a), Some(b)) => i128::from(gcd(a, b)),
            _ => 1,
        };
        let sign = denominator.signum();
        let part = |number: i128| i64::try_from(sign * number / common).ok();
        Some(Coefficient { numerator: part(numerator)?, denominator: part(denominator)?, conjugate })
    }

    /// The number above the line.
    pub fn numerator(self) -> i64 {
        self.numerator
    }

    /// The positive number below the line.
    pub fn denominator(self) -> i64 {
        self.denominator
    }

    /// The coefficient of two steps, one after the other. A real number commutes with conjugation.
    pub fn times(self, other: Coefficient) -> Option<Coefficient> {
        let product = |a: i64, b: i64| i128::from(a) * i128::from(b);
        let (numerator, denominator) =
            (product(self.numerator, other.numerator), product(self.denominator, other.denominator));
        Coefficient::reduced(numerator, denominator, self.conjugate ^ other.conjugate)
    }

    /// True if it is one, and nothing is conjugated.
    pub fn is_one(self) -> bool {
        self == Coefficient::ONE
    }

    /// The number, as it multiplies real values.
    pub fn number(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }
}

impl fmt::Display for Coefficient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let conjugate = if self.conjugate { "conj" } else { "" };
        match (self.numerator, self.denominator) {
            (1, 1) if self.conjugate => f.write_str(conjugate),
            (-1, 1) if self.conjugate => write!(f, "-{conjugate}"),
            (numerator, 1) => write!(f, "{numerator}{}{conjugate}", if self.conjugate { " " } else { "" }),
            (numerator, denominator) => {
                write!(f, "{numerator}/{denominator}{}{conjugate}", if self.conjugate { " " } else { "" })
            }
        }
    }
}

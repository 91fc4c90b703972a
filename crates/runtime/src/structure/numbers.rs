//! Elements of any type as numbers: their comparison, and their products with coefficients.
//!
//! ```text
//! 0 = -0, NaN = NaN       -1/2 * 3 = -1.5 of reals, -1 of integers, which are truncated as they are everywhere
//! conj * (2 + 3i) = 2 - 3i
//! ```

use std::sync::{Mutex, PoisonError};

use crate::alloc::make_room;
use crate::dispatch::with_element;
use crate::{AllocError, Buffer, Convert, Element, Number, Values, pool, scalar_of};
use lacunar_formats::{DType, Kind, Scalar};
use lacunar_sets::Coefficient;

use super::dense::Places;

/// The number of values that a thread makes at a time.
const CHUNK: usize = 1 << 16;

/// The values of a tensor, of any type.
pub(super) trait Elements: Sync {
    /// One of them.
    fn number(&self, at: usize) -> Number;
    /// A number times a coefficient, rounded to a value of the type.
    fn times(&self, number: Number, by: Coefficient) -> Number;
    /// The value that a number is.
    fn scalar(&self, number: Number) -> Scalar;
    /// Values at places, each times a coefficient.
    ///
    /// # Errors
    /// Memory is refused.
    fn gathered(&self, places: &[(usize, Coefficient)]) -> Result<Values, AllocError>;
    /// A value for each of some places, from where it gets it.
    ///
    /// # Errors
    /// Memory is refused.
    fn remade(&self, places: &Places<'_>) -> Result<Buffer, AllocError>;
}

impl<T: Convert> Elements for &[T] {
    #[inline]
    fn number(&self, at: usize) -> Number {
        self[at].number()
    }

    fn times(&self, number: Number, by: Coefficient) -> Number {
        times::<T>(number, by)
    }

    fn scalar(&self, number: Number) -> Scalar {
        match T::DTYPE {
            // Elements of a pattern that are not stored have no value of its type.
            DType::Pattern => Scalar::bool(!is_zero(number)),
            _ => scalar_of(T::from_number(number)),
        }
    }

    fn gathered(&self, places: &[(usize, Coefficient)]) -> Result<Values, AllocError> {
        let mut values: Vec<T> = Vec::new();
        let bytes = places.len().saturating_mul(size_of::<T>()) as u64;
        make_room(&mut values, places.len()).map_err(|_| AllocError { bytes })?;
        values.extend(places.iter().map(|&(at, by)| match by.is_one() {
            true => self[at],
            false => T::from_number(times::<T>(self[at].number(), by)),
        }));
        Ok(T::wrap(values))
    }

    fn remade(&self, places: &Places<'_>) -> Result<Buffer, AllocError> {
        // Memory that was given back is taken again: fresh pages cost more than their values.
        let mut made = Buffer::zeroed(T::DTYPE, places.len as u64)?;
        let values = made.as_mut_slice::<T>().unwrap_or_default();
        let multiple = |value: T, by: Coefficient| match by.is_one() {
            true => value,
            false => T::from_number(times::<T>(value.number(), by)),
        };
        if places.complete(self, values, multiple) {
            return Ok(made);
        }
        let chunks = values.len().div_ceil(CHUNK);
        let left = Mutex::new(values.chunks_mut(CHUNK).enumerate());
        pool::run(0, chunks as i64, &|_| {
            let next = left.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((number, chunk)) = next else { return 0 };
            let start = number * CHUNK;
            let range = start..start + chunk.len();
            let mut slots = chunk.iter_mut();
            places.each(range, &mut |source| {
                if let (Some(slot), Some((at, by))) = (slots.next(), source) {
                    *slot = multiple(self[at], by);
                }
            });
            0
        });
        Ok(made)
    }
}

/// A value times a coefficient; `None` if that is a fraction.
pub(crate) fn multiplied<T: Element>(value: T, by: Coefficient) -> Option<T> {
    if by.is_one() {
        return Some(value);
    }
    let one = Buffer::from_vec(vec![value]);
    let gathered = elements(&one).gathered(&[(0, by)]).ok()?;
    (by.denominator() == 1).then(|| T::unwrap(&gathered).and_then(|values| values.first().copied()))?
}

fn times<T: Convert>(number: Number, by: Coefficient) -> Number {
    if by.is_one() {
        return number;
    }
    let whole = |number: i128| number * i128::from(by.numerator()) / i128::from(by.denominator());
    let real = |number: f64| if by.denominator() == 1 && by.numerator() == 1 { number } else { number * by.number() };
    let product = match number {
        Number::Unsigned(number) => Number::Unsigned(whole(number.into()) as u64),
        Number::Signed(number) => Number::Signed(whole(number.into()) as i64),
        Number::Real(number) => Number::Real(real(number)),
        Number::Complex(re, im) => Number::Complex(real(re), real(if by.conjugate { -im } else { im })),
    };
    T::from_number(product).number()
}

/// True if two numbers of one type are equal: zeros of either sign are, and so are NaN.
#[inline]
pub(super) fn same(a: Number, b: Number) -> bool {
    let real = |a: f64, b: f64| a == b || (a.is_nan() && b.is_nan());
    match (a, b) {
        (Number::Real(a), Number::Real(b)) => real(a, b),
        (Number::Complex(a, b), Number::Complex(c, d)) => real(a, c) && real(b, d),
        (a, b) => a == b,
    }
}

/// Half of the sum of a number and a multiple of it that it should equal: what the two have in common.
pub(super) fn mean(a: Number, b: Number) -> Number {
    match (a, b) {
        (Number::Complex(a, b), Number::Complex(c, d)) => Number::Complex((a + c) / 2.0, (b + d) / 2.0),
        // A number that is not complex and differs from its multiple is that of opposite sign.
        (Number::Real(_) | Number::Complex(..), _) => Number::Real(0.0),
        (Number::Signed(_), _) => Number::Signed(0),
        (Number::Unsigned(_), _) => Number::Unsigned(0),
    }
}

/// Replaces values by what they have in common with a multiple of themselves.
pub(super) fn set_means(values: &mut Buffer, places: &[usize], by: Coefficient) {
    fn of<T: Convert>(values: &mut Buffer, places: &[usize], by: Coefficient) {
        let Some(values) = values.as_mut_slice::<T>() else { return };
        for &at in places {
            let (own, multiple) = (values[at].number(), times::<T>(values[at].number(), by));
            if !same(own, multiple) {
                values[at] = T::from_number(mean(own, multiple));
            }
        }
    }
    with_element!(values.dtype(), T => of::<T>(values, places, by));
}

/// True if a number is 0, of either sign.
#[inline]
pub(super) fn is_zero(number: Number) -> bool {
    match number {
        Number::Unsigned(number) => number == 0,
        Number::Signed(number) => number == 0,
        Number::Real(number) => number == 0.0,
        Number::Complex(re, im) => re == 0.0 && im == 0.0,
    }
}

/// Zero, of the kind of a type.
pub(super) fn zero(dtype: DType) -> Number {
    match dtype.kind() {
        Kind::Bool | Kind::Unsigned => Number::Unsigned(0),
        Kind::Signed => Number::Signed(0),
        Kind::Real => Number::Real(0.0),
        Kind::Complex => Number::Complex(0.0, 0.0),
    }
}

/// The values of a tensor.
pub(super) fn elements(values: &Buffer) -> Box<dyn Elements + '_> {
    fn of<T: Convert>(values: &Buffer) -> Box<dyn Elements + '_> {
        Box::new(values.as_slice::<T>().unwrap_or_default())
    }
    with_element!(values.dtype(), T => of::<T>(values))
}

//! Numbers made of all elements of a tensor. Elements that are not stored count as the fill value, and in packed formats as the values that
//! follow from their unique elements.
//!
//! ```
//! use lacunar::{Format, Tensor};
//! # fn main() -> Result<(), lacunar::Error> {
//! let a = Tensor::from_triplets([2, 2], &[0, 1], &[1, 1], &[3.0, 4.0], Format::csr())?;
//! assert_eq!((a.sum(), a.norm(), a.min(), a.max()), (7.0, 5.0, Some(0.0), Some(4.0)));
//! # Ok(())
//! # }
//! ```

use std::cmp::Ordering;

use lacunar_runtime::{Convert, Element, Wide};

use super::Tensor;

/// Two of them fit each of eight 128-bit registers, as many as additions are on their way in.
const PARTS: usize = 16;

/// Sums of squares from here on lose nothing of consequence to squares that are too small for an `f64`.
const LEAST_SQUARE: f64 = f64::MIN_POSITIVE / f64::EPSILON / f64::EPSILON;

impl<T: Element> Tensor<T> {
    /// The number of elements that are no entries; saturates.
    fn missing(&self) -> u64 {
        let elements = self.dims().iter().fold(1u64, |product, size| product.saturating_mul(*size));
        let mut entries = self.nnz();
        if self.has_followers() {
            entries = 0;
            self.inner.for_each_of_whole(&mut |_, _| entries += 1);
        }
        elements.saturating_sub(entries)
    }

    /// True if some elements are not stored because they follow from others.
    fn has_followers(&self) -> bool {
        self.format().packing().is_some_and(|packing| !packing.structure().is_without_redundancy())
    }

    /// True if the values are those of the entries, each once.
    fn is_exact(&self) -> bool {
        self.nnz() == self.stored() && !self.format().shares_positions() && !self.has_followers()
    }

    /// The values of all entries.
    fn each_value(&self, mut each: impl FnMut(T)) {
        if self.is_exact() {
            self.values().iter().for_each(|&value| each(value));
        } else if self.has_followers() {
            let values = self.values();
            self.inner.for_each_of_whole(&mut |position, other| {
                each(other.map_or_else(|| values[position], lacunar_runtime::element_of));
            });
        } else {
            self.for_each_entry(|_, value| each(value));
        }
    }

    /// The values of all entries put together: `step` adds each to a part, and `join` joins the parts. A part does not wait for the
    /// others, and a processor has vectors of them.
    fn fold<A: Copy>(&self, zero: A, step: impl Fn(A, T) -> A, join: impl Fn(A, A) -> A) -> A {
        let mut parts = [zero; PARTS];
        if self.is_exact() {
            let (blocks, rest) = self.values().as_chunks::<PARTS>();
            let mut add = |values: &[T]| {
                parts.iter_mut().zip(values).for_each(|(part, &value)| *part = step(*part, value));
            };
            blocks.iter().for_each(|block| add(block));
            add(rest);
        } else {
            self.each_value(|value| parts[0] = step(parts[0], value));
        }
        parts.into_iter().reduce(join).unwrap_or(zero)
    }

    /// The sum of all elements, added up in any order. Integers wrap; real and complex numbers are added up in double
    /// precision; the sum of truth values is true if any is true.
    pub fn sum(&self) -> T
    where
        T: Convert,
    {
        let sum = self.fold(T::Wide::default(), |sum, value| sum.plus(value.wide()), |a, b| a.plus(b)).number();
        let missing = self.missing();
        // No element at all is not so many times the fill value, if that is infinite.
        T::from_number(if missing > 0 { sum.plus(self.fill().number().times(missing)) } else { sum })
    }

    /// The square root of the sum of the squares of all elements' magnitudes, in double precision. It is right also where the
    /// squares are too large or too small for that.
    pub fn norm(&self) -> f64
    where
        T: Convert,
    {
        let missing = self.missing();
        let with_fill = |sum: f64, square: f64| if missing > 0 { sum + square * missing as f64 } else { sum };
        let stored = self.fold(0.0, |sum, value| sum + value.wide().square(), |a, b| a + b);
        let sum = with_fill(stored, self.fill().wide().square());
        if (LEAST_SQUARE..f64::INFINITY).contains(&sum) { sum.sqrt() } else { self.scaled_norm(with_fill) }
    }

    /// The norm by way of the quotients of the elements and the largest of them, whose squares neither overflow nor vanish.
    fn scaled_norm(&self, with_fill: impl Fn(f64, f64) -> f64) -> f64
    where
        T: Convert,
    {
        let magnitude = |value: T| value.number().magnitude();
        let fill = if self.missing() > 0 { magnitude(self.fill()) } else { 0.0 };
        let larger = |a: f64, b: f64| if b > a || b.is_nan() { b } else { a };
        let largest = self.fold(fill, |largest, value| larger(largest, magnitude(value)), larger);
        if largest == 0.0 || !largest.is_finite() {
            return largest;
        }
        let square = |magnitude: f64| (magnitude / largest).powi(2);
        let stored = self.fold(0.0, |sum, value| sum + square(magnitude(value)), |a, b| a + b);
        largest * with_fill(stored, square(fill)).sqrt()
    }

    /// The least element. Elements that compare with nothing (NaN) are passed over; `None` if nothing is left.
    pub fn min(&self) -> Option<T>
    where
        T: PartialOrd,
    {
        self.extreme(Ordering::Less)
    }

    /// The greatest element. Elements that compare with nothing (NaN) are passed over; `None` if nothing is left.
    pub fn max(&self) -> Option<T>
    where
        T: PartialOrd,
    {
        self.extreme(Ordering::Greater)
    }

    fn extreme(&self, wanted: Ordering) -> Option<T>
    where
        T: PartialOrd,
    {
        let mut found: Option<T> = None;
        let mut meet = |value: T| {
            let ordered = value.partial_cmp(&value).is_some();
            if ordered && found.is_none_or(|found| value.partial_cmp(&found) == Some(wanted)) {
                found = Some(value);
            }
        };
        self.each_value(&mut meet);
        if self.missing() > 0 {
            meet(self.fill());
        }
        found
    }
}

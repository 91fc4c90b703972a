//! Numbers made of all elements of a tensor. Elements that are not stored count as the fill value.
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

use lacunar_runtime::{Convert, Element};

use super::Tensor;

impl<T: Element> Tensor<T> {
    /// How many elements are no entries; saturates.
    fn missing(&self) -> u64 {
        let elements = self.dims().iter().fold(1u64, |product, size| product.saturating_mul(*size));
        elements.saturating_sub(self.nnz())
    }

    /// The values of all entries.
    fn each_value(&self, mut each: impl FnMut(T)) {
        if self.nnz() == self.stored() && !self.format().shares_positions() {
            self.values().iter().for_each(|&value| each(value));
        } else {
            self.for_each_entry(|_, value| each(value));
        }
    }

    /// The sum of all elements. Integers wrap; real and complex numbers are added up in double precision; the sum of
    /// truth values is true if any is true.
    pub fn sum(&self) -> T
    where
        T: Convert,
    {
        let mut sum = T::default().number();
        self.each_value(|value| sum = sum.plus(value.number()));
        let missing = self.missing();
        // No element at all is not so many times the fill value, if that is infinite.
        T::from_number(if missing > 0 { sum.plus(self.fill().number().times(missing)) } else { sum })
    }

    /// The square root of the sum of the squares of all elements' magnitudes, in double precision.
    pub fn norm(&self) -> f64
    where
        T: Convert,
    {
        let square = |value: T| value.number().magnitude().powi(2);
        let mut sum = 0.0;
        self.each_value(|value| sum += square(value));
        let missing = self.missing();
        if missing > 0 {
            sum += square(self.fill()) * missing as f64;
        }
        sum.sqrt()
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

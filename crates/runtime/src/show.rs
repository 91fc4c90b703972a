//! Tensors as text, for people: all elements of small ones, and the first entries of others.
//!
//! ```
//! use lacunar_formats::Format;
//! use lacunar_runtime::{Buffer, Tensor};
//! let elements = |len: usize| Buffer::from_vec((0..len).map(|k| (k % 7) as f64 - 3.0).collect::<Vec<f64>>());
//! let small = Tensor::from_dense(vec![2, 3], elements(6), &Format::csr()).unwrap();
//! assert_eq!(small.to_string(), "[[-3, -2, -1], [0, 1, 2]]");
//! let large = Tensor::from_dense(vec![50, 100], elements(5000), &Format::csr()).unwrap();
//! let first = "f64 csr 50x100, 4286 entries: (0, 0) -3, (0, 1) -2, (0, 2) -1, (0, 4) 1, (0, 5) 2, (0, 6) 3, ...";
//! assert_eq!(large.to_string(), first);
//! ```

use std::fmt;

use lacunar_formats::{DType, Scalar};

use crate::fill::scalar_of;
use crate::structure;
use crate::tensor::Tensor;
use crate::values::Element;

/// Tensors of no more elements are written in full.
const SMALL: u64 = 64;

/// The number of entries that are shown of a larger tensor.
const FIRST: usize = 6;

/// All elements of a small tensor, rows in brackets; of a larger one its type, format and sizes, and its first entries.
impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Rows without elements are written as well.
        let brackets = self.dims().iter().try_fold(1u64, |product, size| product.checked_mul((*size).max(1)));
        match brackets {
            Some(brackets) if brackets <= SMALL && self.order() <= SMALL as usize => self.all(f),
            _ => self.summary(f),
        }
    }
}

impl Tensor {
    fn all(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut coordinates = vec![0; self.order()];
        self.part(f, &mut coordinates, 0)
    }

    /// The elements with the coordinates that are set, of as many dimensions as `set`.
    fn part(&self, f: &mut fmt::Formatter<'_>, coordinates: &mut [u64], set: usize) -> fmt::Result {
        if set == coordinates.len() {
            return write!(f, "{}", shown(self.element(coordinates)));
        }
        f.write_str("[")?;
        for coordinate in 0..self.dims()[set] {
            coordinates[set] = coordinate;
            f.write_str(if coordinate == 0 { "" } else { ", " })?;
            self.part(f, coordinates, set + 1)?;
        }
        f.write_str("]")
    }

    fn summary(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dims: Vec<String> = self.dims().iter().map(u64::to_string).collect();
        write!(f, "{} {} {}, {} entries", self.dtype(), self.format(), dims.join("x"), self.count_entries())?;
        // The stored entries of a packed tensor.
        let mut walk = self.walk();
        for number in 0..=FIRST {
            let Some((coordinates, position)) = walk.next_entry() else { break };
            if number == FIRST {
                return f.write_str(", ...");
            }
            let coordinates: Vec<String> = coordinates.iter().map(u64::to_string).collect();
            let before = if number == 0 { ":" } else { "," };
            write!(f, "{before} ({}) {}", coordinates.join(", "), shown(self.value_at(position)))?;
        }
        Ok(())
    }

    /// The value of the element with these coordinates, which lie inside; of a tensor of order 0, with none.
    ///
    /// ```
    /// assert_eq!(lacunar_runtime::Tensor::scalar(2.5).element(&[]).re(), 2.5);
    /// ```
    pub fn element(&self, coordinates: &[u64]) -> Scalar {
        if self.format().packing().is_some() {
            return structure::element(self, coordinates).unwrap_or(self.fill());
        }
        self.position_of(coordinates).map_or(self.fill(), |position| self.value_at(position))
    }

    /// The value at a position.
    fn value_at(&self, position: usize) -> Scalar {
        if self.dtype() == DType::Pattern {
            // There are no values, and an element that is stored is true.
            return Scalar { ty: DType::Pattern, bits: 1, imag: 0 };
        }
        fn at<T: Element>(tensor: &Tensor, position: usize) -> Option<Scalar> {
            Some(scalar_of(*tensor.values().as_slice::<T>()?.get(position)?))
        }
        crate::dispatch::with_element!(self.dtype(), T => at::<T>(self, position).unwrap_or(self.fill()))
    }
}

/// A value as people write it: zeros have no sign.
fn shown(value: Scalar) -> Scalar {
    let unsigned = |part: u64, magnitude: f64| if magnitude == 0.0 { 0 } else { part };
    let (bits, imag) = (unsigned(value.bits, value.re()), unsigned(value.imag, value.im()));
    if value.ty.kind() == lacunar_formats::Kind::Real || value.ty.kind() == lacunar_formats::Kind::Complex {
        Scalar { bits, imag, ..value }
    } else {
        value
    }
}

#[cfg(test)]
mod tests {
    use lacunar_formats::{DType, Format};

    use crate::buffer::Buffer;
    use crate::tensor::Tensor;

    #[test]
    fn patterns_have_their_elements() {
        let values = Buffer::from_vec(vec![2.0, 0.0, 0.0, -1.0]);
        let tensor = Tensor::from_dense(vec![2, 2], values, &Format::csr()).unwrap();
        assert_eq!(tensor.cast(DType::Pattern).unwrap().to_string(), "[[true, false], [false, true]]");
    }
}

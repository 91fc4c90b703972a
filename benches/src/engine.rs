//! Engines that compute a kernel, ours and others.

use anyhow::{Context, Result};
use lacunar::{DType, DynTensor, Element};

/// A result, in numbers that can be compared: they do not depend on the order of storage, nor on stored zeros.
#[derive(Clone, Copy, Debug, Default)]
pub struct Check {
    /// The number of stored values that are finite.
    pub values: u64,
    /// Their sum.
    pub sum: f64,
    /// The sum of their magnitudes.
    pub magnitude: f64,
    /// A sum weighted by coordinates.
    pub placed: f64,
}

/// For each dimension, the factor of its coordinate in the weight of a place. The peers' programs have the same
/// numbers.
const FACTORS: [u64; 8] = [1, 31, 577, 97, 211, 401, 13, 7];

impl Check {
    /// Takes note of a value at a place: the sum of `(coordinate + 1) * factor` over all dimensions. Infinite values stand for
    /// elements that are not there.
    fn add(&mut self, value: f64, place: u64) {
        if value.is_infinite() {
            return;
        }
        self.values += 1;
        self.sum += value;
        self.magnitude += value.abs();
        self.placed += value * (place % 1009) as f64 / 1009.0;
    }

    /// The check of a tensor.
    pub fn of(tensor: &DynTensor) -> Result<Check> {
        let other_type = "the result is not of type f64";
        let cast = (tensor.dtype() != DType::F64).then(|| tensor.cast(DType::F64)).transpose()?;
        let tensor = cast.as_ref().unwrap_or(tensor);
        let mut check = Check::default();
        if tensor.format().is_dense() {
            let values = tensor.values().as_slice::<f64>().context(other_type)?;
            let modes = tensor.format().mode_order();
            let steps: Vec<(u64, u64)> = modes.iter().map(|&mode| (tensor.dims()[mode], FACTORS[mode % 8])).collect();
            check.add_dense(&mut values.iter(), &steps, 0);
        } else {
            let coo = tensor.to_coo()?;
            for (k, &value) in f64::unwrap(&coo.values).context(other_type)?.iter().enumerate() {
                let terms = coo.coords.iter().zip(FACTORS.iter().cycle());
                check.add(value, terms.map(|(column, factor)| (column.get(k).unwrap_or(0) + 1) * factor).sum());
            }
        }
        Ok(check)
    }

    /// The part of a dense tensor below a place; `steps` are the sizes and factors of the levels left.
    fn add_dense<'v>(&mut self, values: &mut impl Iterator<Item = &'v f64>, steps: &[(u64, u64)], place: u64) {
        match steps {
            [] => values.next().into_iter().for_each(|&value| self.add(value, place)),
            [(size, factor), rest @ ..] => {
                for coordinate in 0..*size {
                    self.add_dense(values, rest, place + (coordinate + 1) * factor);
                }
            }
        }
    }

    /// True if the two differ by no more than rounding.
    pub fn agrees(&self, other: &Check) -> bool {
        let tolerance = 1e-9 * self.magnitude.max(other.magnitude) + f64::MIN_POSITIVE;
        let near = |a: f64, b: f64| (a - b).abs() <= tolerance;
        near(self.sum, other.sum) && near(self.magnitude, other.magnitude) && near(self.placed, other.placed)
    }
}

/// A kernel ready to run on some number of threads.
pub trait Engine {
    /// The name of the engine, and after a colon that of the variant, if there are several.
    fn name(&self) -> &str;

    /// The time of the analysis of the inputs beforehand, in milliseconds; 0 if there is none.
    fn inspection_ms(&self) -> f64 {
        0.0
    }

    /// Runs so many times; a time in milliseconds for each.
    fn run(&mut self, times: usize) -> Result<Vec<f64>>;

    /// Runs once more and describes the result.
    fn check(&mut self) -> Result<Check>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use lacunar::{Format, Tensor};

    fn matrix(entries: &[(&[u64], f64)], format: Format) -> Check {
        let tensor = Tensor::from_entries(&[2, 3], entries, format).expect("well-formed");
        Check::of(tensor.as_dyn()).expect("of type f64")
    }

    #[test]
    fn checks_notice_values_and_places() {
        let entries: [(&[u64], f64); 3] = [(&[0, 1], 1.0), (&[1, 0], 2.0), (&[1, 2], 3.0)];
        let check = matrix(&entries, Format::csr());
        assert_eq!(check.values, 3);
        let csc = Format::csr().with_mode_order(vec![1, 0]).expect("two modes");
        let blocks = Format::bcsr(2, 2).expect("two sizes");
        for format in [Format::dense(2), csc, Format::csf(2), Format::coo(2), blocks, Format::dia()] {
            assert!(check.agrees(&matrix(&entries, format)));
        }
        assert!(!check.agrees(&matrix(&[(&[0, 1], 1.0), (&[1, 0], 2.0), (&[1, 2], 3.1)], Format::csr())));
        assert!(!check.agrees(&matrix(&[(&[0, 2], 1.0), (&[1, 0], 2.0), (&[1, 2], 3.0)], Format::csr())));
        assert!(!check.agrees(&Check { sum: f64::NAN, ..check }));
    }
}

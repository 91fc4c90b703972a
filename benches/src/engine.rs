//! What computes a kernel, of ours or of others.

use anyhow::Result;

/// What came out, in numbers that can be compared.
#[derive(Clone, Copy, Debug, Default)]
pub struct Check {
    /// The number of stored values.
    pub values: u64,
    /// Their sum.
    pub sum: f64,
    /// The sum of their magnitudes.
    pub magnitude: f64,
    /// A sum in which the place of a value matters.
    pub placed: f64,
}

impl Check {
    /// Of values in the order of storage.
    pub fn of(values: &[f64]) -> Check {
        let mut check = Check { values: values.len() as u64, ..Check::default() };
        for (place, value) in values.iter().enumerate() {
            check.sum += value;
            check.magnitude += value.abs();
            check.placed += value * (place % 1009) as f64 / 1009.0;
        }
        check
    }

    /// Whether the two differ by no more than rounding.
    pub fn agrees(&self, other: &Check) -> bool {
        let tolerance = 1e-9 * self.magnitude.max(other.magnitude) + f64::MIN_POSITIVE;
        let near = |a: f64, b: f64| (a - b).abs() <= tolerance;
        near(self.sum, other.sum)
            && near(self.magnitude, other.magnitude)
            && (self.values != other.values || near(self.placed, other.placed))
    }
}

/// A kernel ready to run.
pub trait Engine {
    /// The name of the engine.
    fn name(&self) -> &str;

    /// Runs so many times; a time in milliseconds for each.
    fn run(&mut self, times: usize) -> Result<Vec<f64>>;

    /// Runs once more and describes the result.
    fn check(&mut self) -> Result<Check>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_notice_values_and_places() {
        let check = Check::of(&[1.0, 2.0, 3.0]);
        assert!(check.agrees(&Check::of(&[1.0, 2.0, 3.0 + 1e-12])));
        assert!(!check.agrees(&Check::of(&[1.0, 2.0, 3.1])));
        assert!(!check.agrees(&Check::of(&[3.0, 2.0, 1.0])));
        // Stored zeros are no difference.
        assert!(check.agrees(&Check::of(&[1.0, 2.0, 0.0, 3.0])));
        assert!(!check.agrees(&Check::of(&[f64::NAN, 2.0, 3.0])));
    }
}

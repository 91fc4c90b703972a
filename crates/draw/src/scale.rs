//! Logarithmic axes: the places of values, and the ticks.
//!
//! A scale for ratios has its ticks at powers of two; one over decades at powers of ten, with others between them where there
//! is room. Example: from 0.3 to 5, as a ratio, the ticks are ½, 1, 2 and 4.

use crate::words::short;

/// A logarithmic axis.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    low: f64,
    high: f64,
    /// The places at which `low` and `high` are drawn.
    from: f32,
    to: f32,
}

impl Scale {
    /// An axis over values, drawn between two places. Without values it is from 1 to 10.
    pub fn over(values: impl IntoIterator<Item = f64>, from: f32, to: f32) -> Scale {
        let (low, high) = extent(values);
        Scale { low, high, from, to }
    }

    /// The least and the greatest value that it shows.
    pub fn range(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// The same axis with room for a share of its length beyond both ends.
    pub fn padded(self, share: f64) -> Scale {
        let factor = (self.high / self.low).powf(share).max(1.02);
        Scale { low: self.low / factor, high: self.high * factor, ..self }
    }

    /// The place at which a value is drawn; values beyond an end are drawn at that end.
    pub fn at(&self, value: f64) -> f32 {
        let part = (value.clamp(self.low, self.high) / self.low).ln() / (self.high / self.low).ln();
        self.from + part as f32 * (self.to - self.from)
    }

    /// The length of a factor, in units.
    pub fn length(&self, factor: f64) -> f32 {
        (f64::from(self.to - self.from) * factor.ln() / (self.high / self.low).ln()).abs() as f32
    }

    fn shows(&self, value: f64) -> bool {
        value >= self.low * 0.999_999 && value <= self.high * 1.000_001
    }

    /// Ticks at powers of two, at least `apart` units from each other.
    pub fn ratios(&self, apart: f32) -> Vec<(f64, String)> {
        let step = (1..8).find(|&step| self.length(2f64.powi(step)) >= apart).unwrap_or(8);
        let powers = (-40..=40).filter(|power| power % step == 0);
        powers.map(|power| (2f64.powi(power), ratio(power))).filter(|(value, _)| self.shows(*value)).collect()
    }

    /// Ticks at powers of ten, at least `apart` units from each other, and between them where there is room.
    pub fn decades(&self, apart: f32) -> Vec<(f64, String)> {
        // Digits, and the least factor from one to the next.
        let choices: [(&[f64], f64); 3] =
            [(&[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0], 1.2), (&[1.0, 2.0, 3.0, 5.0], 1.5), (&[1.0, 2.0, 5.0], 2.0)];
        let fitting = choices.iter().find(|(_, factor)| self.length(*factor) >= apart);
        let digits = fitting.map_or(&[1.0][..], |(digits, _)| digits);
        let step = (1..12).find(|&step| self.length(10f64.powi(step)) >= apart).unwrap_or(12);
        let powers = (-18..=18).filter(|power| power % step == 0);
        let ticks = powers.flat_map(|power| digits.iter().map(move |digit| digit * 10f64.powi(power)));
        ticks.filter(|value| self.shows(*value)).map(|value| (value, short(value))).collect()
    }
}

/// The least and the greatest of the positive values.
fn extent(values: impl IntoIterator<Item = f64>) -> (f64, f64) {
    let positive = values.into_iter().filter(|value| value.is_finite() && *value > 0.0);
    let (low, high) = positive.fold((f64::INFINITY, 0.0f64), |(low, high), value| (low.min(value), high.max(value)));
    match low < high {
        true => (low, high),
        false if high > 0.0 => (high / 2.0, high * 2.0),
        false => (1.0, 10.0),
    }
}

/// A power of two as people write it.
fn ratio(power: i32) -> String {
    match power {
        -1 => "½".to_string(),
        -2 => "¼".to_string(),
        -3 => "⅛".to_string(),
        negative @ ..-3 => format!("1/{}", 2f64.powi(-negative)),
        positive => format!("{}", 2f64.powi(positive)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(ticks: Vec<(f64, String)>) -> Vec<String> {
        ticks.into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn ticks_keep_apart() {
        let scale = Scale::over([0.3, 5.0], 100.0, 0.0);
        assert_eq!(labels(scale.ratios(10.0)), ["½", "1", "2", "4"]);
        assert_eq!(labels(scale.ratios(40.0)), ["1", "4"]);
        assert!((scale.at(0.3) - 100.0).abs() < 1e-4 && scale.at(5.0).abs() < 1e-4);
        assert_eq!(labels(Scale::over([900.0, 3e6], 0.0, 300.0).decades(30.0)), ["1k", "10k", "100k", "1M"]);
        assert_eq!(labels(Scale::over([0.04, 3.0], 0.0, 300.0).decades(40.0)), ["0.05", "0.1", "0.2", "0.5", "1", "2"]);
        assert_eq!(labels(Scale::over([900.0, 2100.0], 0.0, 130.0).decades(16.0)), ["1k", "1.5k", "2k"]);
    }

    #[test]
    fn odd_values_have_axes() {
        for values in [vec![], vec![3.0], vec![f64::NAN, 0.0, -1.0, f64::INFINITY]] {
            let (low, high) = Scale::over(values, 0.0, 1.0).range();
            assert!(low > 0.0 && low < high);
        }
    }
}

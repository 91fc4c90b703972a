//! The ticks of axes, and their labels.
//!
//! Steps are 1, 2 or 5 times a power of ten (Heckbert, "Nice numbers for graph labels", Graphics Gems, 1990), the
//! smallest whose labels keep apart.
//!
//! Example: an axis of 93261 coordinates on 480 units, with labels of up to 72 units, gets
//! `0  20,000  40,000  60,000  80,000`.

use crate::words::{grouped, superscript};

/// A mark on an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// The coordinate, or the count on a color bar.
    pub value: u64,
    /// The text that is written there.
    pub label: String,
}

/// The ticks of the coordinates `0..size`, drawn on `length` units. `room` says how much of the axis a label needs.
pub fn axis(size: u64, length: f32, room: impl Fn(&str) -> f32) -> Vec<Tick> {
    let Some(last) = size.checked_sub(1) else { return Vec::new() };
    for step in nice_steps() {
        let count = last / step + 1;
        // More labels than units cannot fit; this also bounds the work for huge sizes.
        if count as f32 > length {
            continue;
        }
        let spacing = (step as f64 / size as f64 * f64::from(length)) as f32;
        let unit = Unit::of(last / step * step);
        let ticks: Vec<Tick> = (0..count).map(|k| Tick { value: k * step, label: unit.label(k * step) }).collect();
        if count == 1 || ticks.iter().all(|tick| room(&tick.label) <= spacing) {
            return ticks;
        }
    }
    Vec::new()
}

/// 1, 2, 5, 10, 20, ... as far as 64 bits go.
fn nice_steps() -> impl Iterator<Item = u64> {
    let powers = std::iter::successors(Some(1u64), |power| power.checked_mul(10));
    powers.flat_map(|power| [1, 2, 5].into_iter().filter_map(move |digit| power.checked_mul(digit)))
}

/// The unit in which the labels of one axis count.
struct Unit {
    size: u64,
    letter: &'static str,
}

impl Unit {
    /// The unit for an axis whose last label is `largest`: one, or from a million on a prefix of the SI.
    fn of(largest: u64) -> Unit {
        let prefixes = [("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
        let fitting = prefixes.iter().rev().map(|&(letter, power)| Unit { size: 10u64.pow(power), letter });
        fitting.into_iter().find(|unit| largest >= unit.size).unwrap_or(Unit { size: 1, letter: "" })
    }

    fn label(&self, value: u64) -> String {
        if self.size == 1 || value == 0 {
            return grouped(value);
        }
        // Values are multiples of a nice step, so the shortest decimal is exact.
        format!("{}{}", value as f64 / self.size as f64, self.letter)
    }
}

/// The ticks of a logarithmic color bar from 1 to `largest`: powers of ten, no more than about seven; below a thousand
/// their doubles and halves too.
pub fn decades(largest: u64) -> Vec<Tick> {
    let tick = |value: u64, power: u32| {
        let label = if power < 4 { grouped(value) } else { format!("10{}", superscript(power as i32)) };
        Tick { value, label }
    };
    if largest < 1000 {
        return nice_steps().take_while(|&value| value <= largest).map(|value| tick(value, 0)).collect();
    }
    let every = largest.ilog10() / 7 + 1;
    (0..=largest.ilog10()).step_by(every as usize).map(|power| tick(10u64.pow(power), power)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(ticks: &[Tick]) -> Vec<&str> {
        ticks.iter().map(|tick| tick.label.as_str()).collect()
    }

    #[test]
    fn steps_are_nice_and_labels_keep_apart() {
        let room = |label: &str| 12.0 * label.len() as f32;
        assert_eq!(labels(&axis(93_261, 480.0, room)), ["0", "20,000", "40,000", "60,000", "80,000"]);
        assert_eq!(labels(&axis(5, 480.0, room)), ["0", "1", "2", "3", "4"]);
        assert_eq!(labels(&axis(1 << 31, 480.0, room)), ["0", "0.5G", "1G", "1.5G", "2G"]);
        assert_eq!(labels(&axis(0, 480.0, room)), Vec::<&str>::new());
        assert_eq!(labels(&axis(1, 4.0, room)), ["0"]);
    }

    #[test]
    fn huge_axes_end() {
        for size in [1, 2, 10, u64::MAX / 3, u64::MAX] {
            assert!(axis(size, 300.0, |_| 40.0).len() <= 8);
        }
        assert_eq!(labels(&decades(0)), Vec::<&str>::new());
        assert_eq!(labels(&decades(60)), ["1", "2", "5", "10", "20", "50"]);
        assert_eq!(labels(&decades(20_000)), ["1", "10", "100", "1,000", "10⁴"]);
        assert!(decades(u64::MAX).len() <= 8);
    }
}

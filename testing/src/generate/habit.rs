//! Habits of random programs: the constructs that one has many of, and the sizes of its variables.
//!
//! ```text
//! Habit::Maps       65 of 100 formats have maps, half of the vectors and results are dense
//! Habit::Places     40 of 100 operands and 35 of 100 results have indices like `i + 1`, and most tensors a fill value
//! Habit::Repeats    60 of 100 operands were there already, and all variables have one size
//! ```

use fastrand::Rng;

/// The constructs that a program has many of.
#[derive(Clone, Copy, Debug)]
pub(super) enum Habit {
    /// A little of everything.
    Usual,
    /// Formats with maps, beside dense vectors and results, and sums of unlike terms.
    Maps,
    /// Mixed types and chains of conversions.
    Casts,
    /// One operand several times, in several orders of its variables.
    Repeats,
    /// Indices that are no variables, and fill values that are declared, of operands and of results.
    Places,
    /// A variable with more coordinates than memory has bytes.
    Far,
}

impl Habit {
    pub(super) fn draw(rng: &mut Rng) -> Habit {
        match rng.u8(..20) {
            0..=5 => Habit::Usual,
            6..=11 => Habit::Maps,
            12 | 13 => Habit::Places,
            14 | 15 => Habit::Casts,
            16..=18 => Habit::Repeats,
            _ => Habit::Far,
        }
    }

    /// The number of formats with maps among 100.
    pub(super) fn mapped(self) -> u32 {
        match self {
            Habit::Usual | Habit::Casts | Habit::Places | Habit::Far => 17,
            Habit::Maps => 65,
            Habit::Repeats => 55,
        }
    }

    /// The number of vectors and results that are dense in any case, among 100.
    pub(super) fn dense(self) -> u32 {
        if matches!(self, Habit::Maps) { 50 } else { 0 }
    }

    /// The number of operands that were there already, among 100.
    pub(super) fn repeated(self) -> u32 {
        if matches!(self, Habit::Repeats) { 60 } else { 20 }
    }

    /// The number of results that have indices which are no variables, among 100, and of operands.
    pub(super) fn indexed(self) -> (u32, u32) {
        if matches!(self, Habit::Places) { (35, 40) } else { (6, 8) }
    }

    /// The number of tensors with a fill value that is declared, among 100 of those of a program that has such.
    pub(super) fn filled(self) -> u32 {
        if matches!(self, Habit::Places) { 70 } else { 40 }
    }

    /// The number of operands that are converted, among 100.
    pub(super) fn converted(self) -> u32 {
        if matches!(self, Habit::Casts) { 45 } else { 4 }
    }
}

/// The size of each variable. The whole space is small enough to be enumerated in no time.
pub(super) fn sizes(rng: &mut Rng, habit: Habit) -> [u64; 5] {
    let square = rng.bool() || matches!(habit, Habit::Repeats);
    let common = rng.u64(1..=6);
    let mut sizes = [0; 5].map(|_: u64| match rng.u8(..12) {
        _ if square => common,
        0 => 0,
        1 => 1,
        _ => rng.u64(1..=6),
    });
    let (one, other) = (rng.usize(..5), rng.usize(..5));
    if matches!(habit, Habit::Far) {
        sizes = sizes.map(|size| size.max(1));
        sizes[one] = [i64::MAX as u64, i64::MAX as u64 - 1, 1 << 62, 1 << 40, 1 << 32, (1 << 31) + 1][rng.usize(..6)];
        return sizes;
    }
    match rng.u8(..60) {
        // More values than a word has bits, or a chunk has rows.
        0..=2 => {
            sizes = sizes.map(|size| size.min(3));
            sizes[one] = rng.u64(60..=140);
        }
        // More than a few vectors.
        3..=5 => {
            sizes = sizes.map(|size| size.min(2));
            sizes[one] = rng.u64(17..=40);
            sizes[other] = if square { sizes[one] } else { rng.u64(17..=40) };
        }
        6 => {
            sizes = sizes.map(|size| size.min(2));
            // Rows of any lengths begin anywhere in a line.
            sizes[one] = rng.u64(990..=1010);
        }
        _ => {}
    }
    sizes
}

//! Generated entries: small values whose sums and products are exact, at random coordinates, from a seed.
//!
//! Reals are multiples of a quarter between -4 and 4, integers between -5 and 5 (0 to 5 where unsigned), so that an
//! engine that adds up in another order still gives the same bits, and a difference is a fault.

use fastrand::Rng;
use lacunar_base::random::Draw;
use lacunar_formats::{DType, Kind};
use num_complex::Complex;
use serde::Deserialize;

use crate::entries::{Entries, coordinates};
use crate::scalar::Scalar;

/// Tensors have fewer places for entries than that.
const MANY: u64 = 1 << 20;
/// The number of coordinates with entries, of a dimension that has too many.
const FEW: u64 = 5;

/// One value of a type; zero now and then if `zeros` says so.
pub fn value(rng: &mut Rng, dtype: DType, zeros: bool) -> Scalar {
    if zeros && rng.one_in(8) && dtype != DType::Pattern {
        return Scalar::zero(dtype);
    }
    let quarters = |rng: &mut Rng| {
        let magnitude = f64::from(rng.u8(1..=16)) / 4.0;
        if rng.bool() { magnitude } else { -magnitude }
    };
    match dtype.kind() {
        Kind::Bool => Scalar::Bool(true),
        Kind::Unsigned => Scalar::Int(i128::from(rng.u8(1..=5))),
        Kind::Signed => {
            let magnitude = i128::from(rng.u8(1..=5));
            Scalar::Int(if rng.bool() { magnitude } else { -magnitude })
        }
        Kind::Real => Scalar::Real(quarters(rng)),
        Kind::Complex => Scalar::Complex(Complex::new(quarters(rng), quarters(rng))),
    }
}

/// Entries at each coordinate with probability `density`; some of them store zeros if `zeros` says so.
pub fn entries(seed: u64, dims: &[u64], dtype: DType, density: f64, zeros: bool) -> Entries {
    let mut rng = Rng::with_seed(seed);
    let mut entries = Entries::empty(dims.to_vec(), dtype);
    for coordinate in drawn_from(dims) {
        // Drawn in any case, so that a tensor of lower density has a part of the entries of one of higher density.
        let (chance, value) = (rng.f64(), value(&mut rng, dtype, zeros));
        if chance < density {
            entries.values.insert(coordinate, value);
        }
    }
    entries
}

/// The quarter of a tensor's first dimension that has most of its entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Heavy {
    /// The first coordinates.
    First,
    /// The last coordinates.
    Last,
}

/// Keeps all entries in one quarter of the first dimension, and one in eight of the others, so that rows take unequal work.
pub fn uneven(seed: u64, mut entries: Entries, heavy: Heavy) -> Entries {
    let mut rng = Rng::with_seed(seed);
    let size = entries.dims.first().copied().unwrap_or(0);
    let light = match heavy {
        Heavy::First => size.div_ceil(4)..size,
        Heavy::Last => 0..size - size.div_ceil(4),
    };
    entries.values.retain(|coordinate, _| {
        let is_kept = rng.u8(..8) == 0;
        is_kept || coordinate.first().is_none_or(|row| !light.contains(row))
    });
    entries
}

/// The same entries with coordinates of a dimension of this size as values.
pub fn below(seed: u64, entries: Entries, size: u64) -> Entries {
    let mut rng = Rng::with_seed(seed);
    let mut coordinates = entries;
    // No type holds fewer.
    let size = size.clamp(1, 128);
    coordinates.values.values_mut().for_each(|value| *value = Scalar::Int(i128::from(rng.u64(..size))));
    coordinates
}

/// The coordinates at which entries may be: all, or a few of each dimension that has too many, among them the first and the last.
fn drawn_from(dims: &[u64]) -> impl Iterator<Item = Vec<u64>> {
    let counts = |most: u64| dims.iter().map(|&size| if size < most { size } else { FEW }).collect::<Vec<u64>>();
    let can_be_visited = |counts: &Vec<u64>| {
        counts.iter().try_fold(1, |all: u64, &count| all.checked_mul(count)).is_some_and(|all| all < MANY)
    };
    let fitting = [MANY, 512, 64].map(counts).into_iter().find(can_be_visited);
    let counts = fitting.unwrap_or_else(|| counts(2 * FEW));
    let dims = dims.to_vec();
    coordinates(&counts.clone()).map(move |numbers| {
        let place = |((&size, &count), &number): ((&u64, &u64), &u64)| match count < size {
            true => [0, 1, size / 3, size - 2, size - 1][number as usize],
            false => number,
        };
        dims.iter().zip(&counts).zip(&numbers).map(place).collect()
    })
}

/// A seed from words: 64-bit FNV-1a.
pub fn seed(words: &[&str]) -> u64 {
    let bytes = words.iter().flat_map(|word| word.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

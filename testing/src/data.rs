//! Generated entries: small values whose sums and products are exact, at random coordinates, from a seed.
//!
//! Reals are multiples of a quarter between -4 and 4, integers between -5 and 5 (0 to 5 where unsigned), so that an
//! engine that adds up in another order still gives the same bits, and a difference is a fault.

use fastrand::Rng;
use lacunar_formats::{DType, Kind};
use num_complex::Complex;

use crate::entries::{Entries, coordinates};
use crate::scalar::Scalar;

/// Dimensions of at least so many coordinates have entries at few of them.
const MANY: u64 = 1 << 20;

/// One value of a type; zero now and then if `zeros` says so.
pub fn value(rng: &mut Rng, dtype: DType, zeros: bool) -> Scalar {
    if zeros && rng.u8(..8) == 0 && dtype != DType::Pattern {
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

/// The coordinates at which entries may be: all, or a few of each dimension that has too many, among them the first and the last.
fn drawn_from(dims: &[u64]) -> impl Iterator<Item = Vec<u64>> {
    let few = |size: u64| match size {
        ..MANY => size,
        _ => 5,
    };
    let counts: Vec<u64> = dims.iter().map(|&size| few(size)).collect();
    let dims = dims.to_vec();
    coordinates(&counts).map(move |numbers| {
        let place = |(&size, &number): (&u64, &u64)| match (size, number) {
            (..MANY, number) => number,
            (size, number) => [0, 1, size / 3, size - 2, size - 1][number as usize],
        };
        dims.iter().zip(&numbers).map(place).collect()
    })
}

/// A seed from words: 64-bit FNV-1a.
pub fn seed(words: &[&str]) -> u64 {
    let bytes = words.iter().flat_map(|word| word.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

//! Coordinate lists: what files are read into and what packing consumes.
//!
//! One array per dimension and one of values, all of the same length. Coordinates count from 0 and are below the
//! dimension's size. The order of entries is free and a coordinate may repeat (packing sorts and sums).

use lacunar_formats::DType;

use crate::parallel::{GRAIN, fill_chunks};
use crate::values::Values;

/// The coordinates of one dimension.
#[derive(Clone, Debug, PartialEq)]
pub enum Coordinates {
    /// The size of the dimension is at most 2^32.
    U32(Vec<u32>),
    /// Any size.
    U64(Vec<u64>),
}

impl Coordinates {
    /// An empty array of the width that a dimension of `size` needs.
    pub fn for_size(size: u64) -> Coordinates {
        if size <= 1 << 32 { Coordinates::U32(Vec::new()) } else { Coordinates::U64(Vec::new()) }
    }

    /// The number of coordinates.
    pub fn len(&self) -> usize {
        match self {
            Coordinates::U32(v) => v.len(),
            Coordinates::U64(v) => v.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The coordinate of entry `k`; `None` past the end.
    pub fn get(&self, k: usize) -> Option<u64> {
        match self {
            Coordinates::U32(v) => v.get(k).map(|&c| u64::from(c)),
            Coordinates::U64(v) => v.get(k).copied(),
        }
    }

    /// Those that are `kept`, in an array for a dimension of a size, below which they all are.
    pub(crate) fn kept(mut self, kept: &[bool], size: u64) -> Coordinates {
        match &mut self {
            Coordinates::U32(v) => retain(v, kept),
            Coordinates::U64(v) => retain(v, kept),
        }
        match (Coordinates::for_size(size), self) {
            (Coordinates::U32(_), Coordinates::U64(v)) => Coordinates::U32(v.into_iter().map(|c| c as u32).collect()),
            (_, fitting) => fitting,
        }
    }

    /// Puts another coordinate of the same dimension in the place of each.
    pub(crate) fn renumber(&mut self, other: impl Fn(u64) -> u64 + Sync) {
        match self {
            Coordinates::U32(v) => {
                fill_chunks(v, GRAIN, |_, chunk| chunk.iter_mut().for_each(|c| *c = other(u64::from(*c)) as u32));
            }
            Coordinates::U64(v) => {
                fill_chunks(v, GRAIN, |_, chunk| chunk.iter_mut().for_each(|c| *c = other(*c)));
            }
        }
    }

    /// Appends a coordinate. The caller has checked that it is below the size given to [`Coordinates::for_size`].
    pub fn push(&mut self, coordinate: u64) {
        match self {
            Coordinates::U32(v) => v.push(coordinate as u32),
            Coordinates::U64(v) => v.push(coordinate),
        }
    }
}

/// A tensor as a list of coordinates and values.
#[derive(Clone, Debug, PartialEq)]
pub struct Coo {
    /// The size of each dimension.
    pub dims: Vec<u64>,
    /// One array per dimension, each as long as `values`. Empty for order 0.
    pub coords: Vec<Coordinates>,
    /// The value of each entry.
    pub values: Values,
}

impl Coo {
    /// A list without entries.
    pub fn empty(dims: Vec<u64>, dtype: DType) -> Coo {
        let coords = dims.iter().map(|&size| Coordinates::for_size(size)).collect();
        Coo { dims, coords, values: Values::empty(dtype) }
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Keeps those elements of an array that are `kept`; there is one answer for each.
pub(crate) fn retain<T>(vec: &mut Vec<T>, kept: &[bool]) {
    let mut kept = kept.iter();
    vec.retain(|_| kept.next().copied().unwrap_or(false));
}

//! Packing without sorting, for formats with one level that takes coordinates in any order below dense levels.
//!
//! The position in the dense levels follows from the coordinates; the level below puts each coordinate and its value where it finds
//! a place for them, in one pass over the list.
//!
//! ```text
//! dense, hashed    (1,0) 5   (0,2) 6   (1,0) 7      parents 1 0 1    positions 3 1 3    values . 6 . 12
//! ```
//!
//! On entry: a list whose coordinates are below the sizes. On exit: the tensor that packing by sorting makes.

use lacunar_formats::{Format, LevelKind};

use crate::buffer::{Buffer, Number};
use crate::coo::{Coo, Coordinates};
use crate::error::StorageError;
use crate::fits::{level_sizes, positions, strides, widen};
use crate::storage::{LevelStorage, Place};
use crate::tensor::Tensor;

/// Entries in the order in which they came.
pub struct Unsorted<'a> {
    /// The number of parent positions.
    pub parents: usize,
    /// The coordinates of the levels above, which are dense, and the distance of the parent positions of neighbors.
    outer: Vec<(&'a Coordinates, u64)>,
    /// The coordinates.
    coordinates: &'a Coordinates,
    /// The values.
    pub values: &'a Buffer,
}

impl Unsorted<'_> {
    /// The parent positions of the entries from `start` on.
    pub fn parents_from(&self, start: usize, parents: &mut [u64]) {
        parents.fill(0);
        for (column, stride) in &self.outer {
            match column {
                Coordinates::U32(v) => add(parents, &v[start..], *stride),
                Coordinates::U64(v) => add(parents, &v[start..], *stride),
            }
        }
    }

    /// The coordinates of the entries from `start` on.
    pub fn coordinates_from(&self, start: usize, coordinates: &mut [u64]) {
        coordinates.fill(0);
        match self.coordinates {
            Coordinates::U32(v) => add(coordinates, &v[start..], 1),
            Coordinates::U64(v) => add(coordinates, &v[start..], 1),
        }
    }
}

fn add<C: Number>(to: &mut [u64], from: &[C], times: u64) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += from.get() * times);
}

/// A level that holds the entries put in.
pub struct Inserted {
    /// The level.
    pub level: LevelStorage,
    /// The values at its positions. Values of one coordinate are added up, in the order in which they came.
    pub values: Buffer,
}

/// Stores entries in a level of the place. The level does not depend on the order of coordinates.
pub type Inserter = fn(&Unsorted, Place) -> Result<Inserted, StorageError>;

/// The function that stores entries in the innermost level of a format that takes them unsorted.
pub fn inserter(format: &Format) -> Option<Inserter> {
    let (inner, outer) = format.levels().split_last()?;
    let dense = outer.iter().all(|level| level.kind == LevelKind::DENSE);
    LevelStorage::inserter(inner.kind).filter(|_| dense && format.map().is_none())
}

/// Packs a list into a format with an [`inserter`].
///
/// # Errors
/// Positions are too many, or memory is refused.
pub fn pack(coo: Coo, format: &Format) -> Result<Tensor, StorageError> {
    let insert = inserter(format).ok_or(StorageError::Astray)?;
    let format = &widen(format, &coo.dims, coo.len() as u64);
    let outer = format.order() - 1;
    let Coo { dims, coords, values } = coo;
    let place = Place { format, dims: &dims, level: outer };
    let sizes = &level_sizes(&dims, format)[..outer];
    let parents =
        usize::try_from(positions(1, sizes)?).map_err(|_| StorageError::overflow("the number of positions"))?;
    let values = Buffer::from_values(values);
    let columns = format.mode_order().iter().map(|&dimension| &coords[dimension]);
    let outer = columns.zip(strides(sizes)?).collect();
    let list = Unsorted { parents, outer, coordinates: &coords[place.dimension()], values: &values };
    let Inserted { level, values } = insert(&list, place)?;
    let levels = sizes.iter().map(|&size| LevelStorage::dense(size)).chain([level]).collect();
    Ok(Tensor::assemble(dims, format.clone(), levels, values))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use lacunar_formats::Level;
    use proptest::prelude::*;

    use super::*;
    use crate::values::Values;

    proptest! {
        #[test]
        fn lists_in_any_order_make_what_sorted_ones_make(
            rows in 1u64..9,
            columns in prop::sample::select(vec![3u64, 40, 5000, 1 << 33]),
            entries in prop::collection::vec((any::<u64>(), any::<u64>(), -3i32..4), 0..400),
        ) {
            let entries: Vec<_> = entries.into_iter().map(|(i, j, value)| (i % rows, j % columns, value)).collect();
            let level = Level::from_letter('h').unwrap();
            let hashed = Format::new(vec![Level::DENSE, level], vec![0, 1]).unwrap();
            let dims = vec![rows, columns];
            let mut coords = [rows, columns].map(Coordinates::for_size);
            entries.iter().for_each(|&(i, j, _)| [i, j].into_iter().zip(&mut coords).for_each(|(c, to)| to.push(c)));
            let values = Values::F64(entries.iter().map(|entry| f64::from(entry.2) * 0.1).collect());
            let list = Coo { dims, coords: coords.into(), values };
            let sorted = Tensor::from_coo(list.clone(), &hashed.plain()).unwrap().spread(&hashed).unwrap();
            let inserted = Tensor::from_coo(list, &hashed).unwrap();
            prop_assert_eq!(inserted.levels(), sorted.levels());
            prop_assert_eq!(inserted.values(), sorted.values());
        }
    }
}

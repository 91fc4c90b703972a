//! Entries that are put into a tensor that is there, one at a time.
//!
//! If the outer levels have the coordinates already and the innermost one has room, the arrays stay where they are: a
//! loose level moves coordinates up to the next unused place, a hashed one takes a free place of the table. If there is
//! no room, the innermost level is made anew with more of it, so that n entries take about n steps and a few copies.
//! Levels of nodes take coordinates wherever they are, above others and dense levels, too ([`crate::nodes`]). Other
//! formats are made anew for each entry, in time that goes with all they store.
//!
//! ```text
//! dense, loose:   pos 0     3   5     insert (0, 1) 9:   pos 0     3   5
//!                 crd 0 2 - 4 -                          crd 0 1 2 4 -
//!              values 5 6 . 7 .                       values 5 9 6 7 .
//! ```

use lacunar_formats::{Format, LevelKind};

use super::{exchange, is_updated_in_place, payload_of};
use crate::coo::Coo;
use crate::error::StorageError;
use crate::nodes::{Payload, Put, put_quickly};
use crate::spread::gather;
use crate::storage::{Place, Places, Spread};
use crate::tensor::Tensor;
use crate::values::Element;

impl Tensor {
    /// Stores a value at coordinates, and gives that which was stored there, if there was one.
    ///
    /// # Errors
    /// There are too few or too many coordinates, one is not below the size of its dimension, the elements are of another type, the
    /// format cannot hold the entry, or memory is refused. The tensor is as it was then.
    ///
    /// ```
    /// use lacunar_formats::{DType, FormatSpec};
    /// use lacunar_runtime::Tensor;
    /// let format = "dl".parse::<FormatSpec>().unwrap().resolve(2).unwrap();
    /// let mut rows = Tensor::zeros(vec![3, 4], &format, DType::F64).unwrap();
    /// assert_eq!(rows.insert(&[1, 3], 5.0).unwrap(), None);
    /// assert_eq!(rows.insert(&[1, 3], 6.0).unwrap(), Some(5.0));
    /// assert!(rows.insert(&[3, 0], 1.0).is_err());
    /// ```
    pub fn insert<T: Element>(&mut self, coordinates: &[u64], value: T) -> Result<Option<T>, StorageError> {
        self.check_entry(coordinates, T::DTYPE)?;
        if self.format().packing().is_some() {
            return self.set_packed(coordinates, value);
        }
        let quick = self.change_row(coordinates, |level, values, at| put_quickly(level, values, at, value));
        match quick.map_or_else(|| self.insert_in_place(coordinates, value), |before| Ok(Some(before)))? {
            Some(before) => {
                self.tidy();
                Ok(before)
            }
            None => self.insert_anew(coordinates, value),
        }
    }

    /// The same if the tensor need not be made anew; `None` if it must.
    pub(super) fn insert_in_place<T: Element>(
        &mut self,
        coordinates: &[u64],
        value: T,
    ) -> Result<Option<Option<T>>, StorageError> {
        match self.store(coordinates)? {
            Some(Put::Before(position)) => Ok(Some(exchange(self.parts_mut().3, position, value)?)),
            Some(Put::Now(position)) => {
                exchange(self.parts_mut().3, position, value)?;
                Ok(Some(None))
            }
            Some(Put::Nowhere) | None => Ok(None),
        }
    }

    /// Stores coordinates, and gives the position of their value; `None` if the tensor has to be made anew for it.
    pub(super) fn store(&mut self, coordinates: &[u64]) -> Result<Option<Put>, StorageError> {
        if !is_updated_in_place(self.format()) {
            return Ok(None);
        }
        let mut at = 0;
        for level in 0..self.levels().len() {
            let own = coordinates[self.format().mode_order()[level]];
            // Levels of nodes find an existing element when they are put into.
            let moves = self.moves(level);
            let storage = &self.levels()[level];
            if storage.kind().schema().is_none() || !moves {
                match storage.operations().find(storage, at, own) {
                    Some(position) => {
                        at = position;
                        continue;
                    }
                    None if !moves => return Ok(None),
                    None => {}
                }
            }
            at = match self.put(level, at, own)? {
                Put::Before(position) => position,
                Put::Now(position) => return self.store_below(level, (at, position), coordinates),
                Put::Nowhere => return Ok(None),
            };
        }
        Ok(Some(Put::Before(at)))
    }

    /// Goes on below a new position of a level, under a parent position.
    fn store_below(
        &mut self,
        level: usize,
        (parent, position): (u64, u64),
        coordinates: &[u64],
    ) -> Result<Option<Put>, StorageError> {
        let mut at = position;
        for below in level + 1..self.levels().len() {
            let own = coordinates[self.format().mode_order()[below]];
            let storage = &self.levels()[below];
            if storage.kind() == LevelKind::DENSE {
                at = at * storage.size() + own;
                continue;
            }
            match self.put(below, at, own) {
                Ok(Put::Before(position) | Put::Now(position)) => at = position,
                failed => {
                    // The new coordinate above goes again: levels of nodes do not fail in that.
                    let own = coordinates[self.format().mode_order()[level]];
                    self.take_out(level, parent, own)?;
                    return failed.map(|_| None);
                }
            }
        }
        Ok(Some(Put::Now(at)))
    }

    /// Puts a coordinate into a level, or makes the level anew with more room for it.
    fn put(&mut self, level: usize, parent: u64, coordinate: u64) -> Result<Put, StorageError> {
        self.own(level, 1)?;
        let fill = self.fill();
        let (dims, format, levels, values) = self.parts_mut();
        let (own, below) = levels.split_at_mut(level + 1);
        let Some(storage) = own.last_mut() else { return Ok(Put::Nowhere) };
        let operations = storage.operations();
        let Some(payload) = payload_of(below, values, fill) else { return Ok(Put::Nowhere) };
        match operations.put(storage, parent, coordinate, payload)? {
            Put::Nowhere if below.is_empty() => {}
            stored => return Ok(stored),
        }
        let place = Place { format, dims, level };
        let Some(Spread { level: wider, places }) = operations.with_room(storage, parent, place)? else {
            return Ok(Put::Nowhere);
        };
        let moved = match places {
            Places::Same(_) => values.try_clone()?,
            Places::Listed(places) => gather(values, &places)?,
        };
        (*storage, *values) = (wider, moved);
        operations.put(storage, parent, coordinate, Payload::values(values, 1, &[]))
    }

    /// The same by way of a list.
    fn insert_anew<T: Element>(&mut self, coordinates: &[u64], value: T) -> Result<Option<T>, StorageError> {
        let mut list = self.convert(&Format::csf(self.order()))?.to_coo()?;
        let here = |k: &usize| list.coords.iter().zip(coordinates).all(|(column, own)| column.get(*k) == Some(*own));
        let before = match (0..list.values.len()).find(here) {
            Some(k) => T::unwrap_mut(&mut list.values).map(|values| std::mem::replace(&mut values[k], value)),
            None => {
                append(&mut list, coordinates, value);
                None
            }
        };
        let (format, fill) = (self.format().clone(), self.fill());
        *self = Tensor::from_coo_filled(list, &format, fill)?;
        Ok(before)
    }
}

/// Appends an entry to a list of values of its type.
fn append<T: Element>(list: &mut Coo, coordinates: &[u64], value: T) {
    list.coords.iter_mut().zip(coordinates).for_each(|(column, own)| column.push(*own));
    if let Some(values) = T::unwrap_mut(&mut list.values) {
        values.push(value);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeMap;

    use lacunar_formats::{DType, FormatSpec, IndexWidth, Scalar};

    use super::*;
    use crate::random::SplitMix;

    fn empty(format: &str, dims: &[u64]) -> Tensor {
        let format = format.parse::<FormatSpec>().unwrap().resolve(dims.len()).unwrap();
        Tensor::zeros(dims.to_vec(), &format, DType::F64).unwrap()
    }

    /// The entries of a tensor, without zeros of padding.
    fn stored(tensor: &Tensor) -> BTreeMap<Vec<u64>, f64> {
        let list = tensor.convert(&Format::csf(tensor.order())).unwrap().to_coo().unwrap();
        let at = |k: usize| list.coords.iter().map(|column| column.get(k).unwrap()).collect();
        f64::unwrap(&list.values).unwrap().iter().enumerate().map(|(k, value)| (at(k), *value)).collect()
    }

    #[test]
    fn what_is_inserted_is_stored_in_every_format() {
        let formats = [
            "dl",
            "dh",
            "dl:1,0",
            "dense",
            "csr",
            "coo",
            "dcsr",
            "db",
            "dk",
            "dr",
            "dt",
            "dg",
            "hh",
            "sl",
            "lh",
            "bcsr(2,3)",
            "dia",
            "ell",
            "sell(2,4)",
            "{bst}s",
            "{btree<3>}{blist<2>}",
            "s{ctree}",
            "{list}d",
            "d{rbtree}:1,0",
            "d{blist_unsorted<3>}",
        ];
        for format in formats {
            let (mut rng, mut expected) = (SplitMix(7), BTreeMap::new());
            let mut tensor = empty(format, &[9, 40]);
            for step in 0..300 {
                // Most into a few rows.
                let row = if rng.below(2) == 0 { rng.below(2) } else { rng.below(9) };
                let (at, value) = (vec![row, rng.below(40)], 1.0 + rng.below(3) as f64);
                let before = tensor.insert(&at, value).unwrap();
                let was = expected.insert(at, value);
                assert_eq!(before.filter(|before| *before != 0.0), was, "{format}, {step}");
            }
            assert_eq!(stored(&tensor), expected, "{format}");
            let (dims, format, levels, values) = tensor.into_parts();
            assert!(Tensor::from_parts(dims, &format, levels, values).is_ok(), "{format}");
        }
    }

    #[test]
    fn long_rows_and_many_rows_grow() {
        for (format, dims) in
            [("l", &[5000][..]), ("h", &[5000]), ("dl", &[2000, 50]), ("dh", &[2000, 50]), ("ddl", &[9, 8, 99])]
        {
            let (mut rng, mut expected) = (SplitMix(3), BTreeMap::new());
            let mut tensor = empty(format, dims);
            for step in 0..4000 {
                let at: Vec<u64> = dims.iter().map(|size| rng.below(*size)).collect();
                assert_eq!(
                    tensor.insert(&at, f64::from(step)).unwrap(),
                    expected.insert(at, f64::from(step)),
                    "{format}"
                );
            }
            assert_eq!(stored(&tensor), expected, "{format}");
            let (dims, format, levels, values) = tensor.into_parts();
            assert!(Tensor::from_parts(dims, &format, levels, values).is_ok(), "{format}");
        }
    }

    #[test]
    fn scalars_fill_values_widths_and_borrowed_arrays() {
        let mut scalar = Tensor::scalar(2.0);
        assert_eq!(scalar.insert(&[], 3.0).unwrap(), Some(2.0));
        for format in ["l", "dense", "sv", "b"] {
            let mut filled = empty(format, &[5]).with_fill(Scalar::real(DType::F64, 1.5)).unwrap();
            filled.insert(&[3], 4.0).unwrap();
            assert_eq!(filled.to_dense::<f64>().unwrap()[3], 4.0, "{format}");
            assert_eq!(filled.fill(), Scalar::real(DType::F64, 1.5));
        }
        let narrow = Format::new(empty("dl", &[3, 200]).format().levels().to_vec(), vec![0, 1]).unwrap();
        let mut narrow = Tensor::zeros(vec![3, 200], &narrow.with_coordinates(1, IndexWidth::W8), DType::F64).unwrap();
        (0..200).for_each(|j| assert_eq!(narrow.insert(&[1, j], 1.0).unwrap(), None));
        assert_eq!(stored(&narrow).len(), 200);
        let mut other = empty("dl", &[3, 4]);
        assert!(matches!(other.insert(&[1, 2], 1.0f32), Err(StorageError::Type { .. })));
        assert!(matches!(other.insert(&[1], 1.0), Err(StorageError::Coordinates { .. })));
        assert!(matches!(other.insert(&[1, 4], 1.0), Err(StorageError::OutOfRange { dimension: 1, .. })));
        let mut single = empty("dq", &[2, 3]);
        single.insert(&[0, 1], 1.0).unwrap();
        let before = single.try_clone().unwrap();
        assert!(matches!(single.insert(&[0, 2], 1.0), Err(StorageError::NotRepresentable { .. })));
        assert_eq!(single, before);
    }
}

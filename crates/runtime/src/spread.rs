//! Tensors with levels of any kind, made of plain ones (dense, compressed, singleton levels) and turned into them.
//!
//! The plain tensor has the same dimensions in the same order of levels, with a compressed level in the place of each
//! that is not plain. Level after level, from the outermost inwards, the positions of one tensor are related to those of
//! the other:
//!
//! ```text
//! [ 5 . 6 ]  as csr:  pos 0 2 2 3   crd 0 2 1   values 5 6 7
//! [ . . . ]
//! [ . 7 . ]  dense, banded:   pos 0 3 3 4   first 0 0 1
//!            places           0 - 1  2      from which position each of the skyline's is
//!            values           5 . 6  7
//! ```
//!
//! So a kind says only how it stores the coordinates under each parent position ([`LevelArrays::spread`]), and how they
//! are found again ([`LevelArrays::visit`]); packing and conversion are those of plain tensors, before or after.
//!
//! [`LevelArrays::spread`]: crate::storage::LevelArrays::spread
//! [`LevelArrays::visit`]: crate::storage::LevelArrays::visit

use std::ops::Range;

use lacunar_formats::{Format, IndexWidth, LevelKind};

use crate::array::Array;
use crate::buffer::Buffer;
use crate::dispatch::with_word;
use crate::error::{AllocError, StorageError};
use crate::keys::index_array;
use crate::pack::widen;
use crate::parallel::{self, GRAIN};
use crate::storage::{LevelStorage, Place};
use crate::tensor::Tensor;

/// In the place of a position: there is none.
pub const NOWHERE: u64 = u64::MAX;

/// The coordinates of a plain level under the parent positions of the level that is to store them.
pub struct Segments<'a> {
    /// The plain level.
    level: &'a LevelStorage,
    /// For each parent position that of the plain tensor, or [`NOWHERE`].
    parents: &'a [u64],
    /// The values at the level's positions, if it is the innermost.
    values: Option<&'a Buffer>,
}

/// A level, and for each of its positions that of the plain level it stands for, or [`NOWHERE`].
pub struct Spread {
    /// The level.
    pub level: LevelStorage,
    /// One for each position of the level.
    pub places: Array<u64>,
}

impl Segments<'_> {
    /// The number of parent positions.
    pub fn parents(&self) -> usize {
        self.parents.len()
    }

    /// The positions of the plain level under a parent position.
    pub fn range(&self, parent: usize) -> Range<u64> {
        let at = self.parents[parent];
        if at == NOWHERE {
            return 0..0;
        }
        match self.level.pos().and_then(Buffer::indices) {
            Some(pos) => pos.get(at as usize)..pos.get(at as usize + 1),
            None if self.level.kind() == LevelKind::DENSE => at * self.level.size()..(at + 1) * self.level.size(),
            None => at..at + 1,
        }
    }

    /// The coordinates under a parent position, ascending, each with its position in the plain level.
    pub fn under(&self, parent: usize) -> impl Iterator<Item = (u64, u64)> {
        let range = self.range(parent);
        let (first, crd) = (range.start, self.level.crd().and_then(Buffer::indices));
        range.map(move |position| match crd {
            Some(crd) => (crd.get(position as usize), position),
            None => (position - first, position),
        })
    }

    /// Whether the values at two positions of the plain level are known to have the same bits.
    pub fn same(&self, a: u64, b: u64) -> bool {
        let Some(values) = self.values else { return false };
        with_word!(values.dtype(), V => {
            let words = values.as_words::<V>();
            words.get(a as usize) == words.get(b as usize)
        })
    }

    /// The number of coordinates under all parent positions.
    pub fn total(&self) -> usize {
        (0..self.parents()).map(|parent| self.range(parent)).map(|range| (range.end - range.start) as usize).sum()
    }

    /// The edges and the coordinates as a compressed level has them, one segment behind the other, and the places. For kinds that
    /// keep coordinates: those of others have no width that fits.
    ///
    /// # Errors
    /// Memory is refused.
    pub fn copied(&self, place: Place) -> Result<(Buffer, Buffer, Array<u64>), StorageError> {
        let total = self.total();
        let (mut edges, mut crd) = (Array::<u64>::zeroed(self.parents() + 1)?, Array::<u64>::zeroed(total)?);
        let mut places = Array::zeroed(total)?;
        let mut count = 0;
        for parent in 0..self.parents() {
            for (coordinate, position) in self.under(parent) {
                (crd[count], places[count]) = (coordinate, position);
                count += 1;
            }
            edges[parent + 1] = count as u64;
        }
        Ok((numbers(&edges, place.positions())?, numbers(&crd, place.coordinates())?, places))
    }

    /// The places of a level that has a position for each coordinate of the dimension.
    ///
    /// # Errors
    /// Positions are too many, or memory is refused.
    pub fn by_coordinate(&self, place: Place) -> Result<Array<u64>, StorageError> {
        let overflow = || StorageError::overflow(format!("the number of positions of level {}", place.level));
        let size = usize::try_from(place.size()).map_err(|_| overflow())?;
        let mut places = Array::zeroed(self.parents().checked_mul(size).ok_or_else(overflow)?)?;
        places.fill(NOWHERE);
        for parent in 0..self.parents() {
            for (coordinate, position) in self.under(parent) {
                places[parent * size + coordinate as usize] = position;
            }
        }
        Ok(places)
    }

    /// The coordinates of a level that has one for each parent position; `absent` where there is none.
    ///
    /// # Errors
    /// There are several, or memory is refused.
    pub fn one_each(&self, place: Place, absent: u64) -> Result<(Buffer, Array<u64>), StorageError> {
        let mut crd = Array::<u64>::zeroed(self.parents())?;
        let mut places = Array::zeroed(self.parents())?;
        for parent in 0..self.parents() {
            let mut under = self.under(parent);
            (crd[parent], places[parent]) = under.next().unwrap_or((absent, NOWHERE));
            if crd[parent] == 0 && absent == 0 && place.size() == 0 {
                let reason = format!("dimension {} has size 0, but one coordinate is needed", place.dimension());
                return Err(not_representable(place, parent, reason));
            }
            if let Some((other, _)) = under.next() {
                let reason = format!(
                    "the level holds one coordinate of dimension {}, but there are {} and {other} at least; a \
                     compressed level holds several",
                    place.dimension(),
                    crd[parent]
                );
                return Err(not_representable(place, parent, reason));
            }
        }
        Ok((numbers(&crd, place.coordinates())?, places))
    }
}

fn not_representable(place: Place, position: usize, reason: String) -> StorageError {
    StorageError::NotRepresentable {
        format: Box::new(place.format.clone()),
        prefix: format!("position {position}"),
        reason,
    }
}

/// Numbers as an index array of a width.
///
/// # Errors
/// One does not fit, or memory is refused.
pub fn numbers(from: &[u64], width: IndexWidth) -> Result<Buffer, StorageError> {
    if parallel::first(from.len(), |k| (from[k] > width.max()).then_some(())).is_some() {
        return Err(StorageError::Width { what: "an index".into(), width: width.bits() });
    }
    Ok(index_array(from.len(), width, |k| from[k])?)
}

impl Tensor {
    /// A plain tensor, stored in a format of the same order of levels. All its entries are kept.
    ///
    /// # Errors
    /// The format cannot hold the entries, or memory is refused.
    pub(crate) fn spread(self, format: &Format) -> Result<Tensor, StorageError> {
        let (dims, from, plain, values) = self.into_parts();
        let format = widen(&format.clone().with_widths_of(&from), &dims, values.len() as u64);
        let mut levels = Vec::with_capacity(plain.len());
        let mut places = Array::zeroed(1)?;
        for (level, storage) in plain.iter().enumerate() {
            let values = (level + 1 == plain.len()).then_some(&values);
            let segments = Segments { level: storage, parents: &places, values };
            let spread = LevelStorage::spread(&segments, Place { format: &format, dims: &dims, level })?;
            levels.push(spread.level);
            places = spread.places;
        }
        let values = gather(&values, &places)?;
        Ok(Tensor::assemble(dims, format, levels, values))
    }

    /// The same entries in plain levels, padding included.
    ///
    /// # Errors
    /// Memory is refused.
    pub(crate) fn to_plain(&self) -> Result<Tensor, StorageError> {
        let mut levels = Vec::with_capacity(self.order());
        let mut places = Array::<u64>::zeroed(1)?;
        let plain = widen(&self.format().plain(), self.dims(), self.nnz());
        for (level, storage) in self.levels().iter().enumerate() {
            let Stored { edges, crd, positions } = stored(storage, &places)?;
            let kind = plain.levels()[level].kind;
            levels.push(if kind == LevelKind::DENSE {
                LevelStorage::dense(storage.size())
            } else if kind == LevelKind::SINGLETON {
                LevelStorage::singleton(numbers(&crd, plain.coordinates(level))?)
            } else {
                LevelStorage::compressed(
                    numbers(&edges, plain.positions(level))?,
                    numbers(&crd, plain.coordinates(level))?,
                )
            });
            places = positions;
        }
        let values = gather(self.values(), &places)?;
        Ok(Tensor::assemble(self.dims().to_vec(), plain, levels, values))
    }
}

/// What a level stores under parent positions.
struct Stored {
    /// Where the coordinates of each parent position begin, and at the end their number.
    edges: Array<u64>,
    /// The coordinates.
    crd: Array<u64>,
    /// Their positions.
    positions: Array<u64>,
}

fn stored(level: &LevelStorage, parents: &[u64]) -> Result<Stored, StorageError> {
    let operations = level.operations()?;
    let mut edges = Array::<u64>::zeroed(parents.len() + 1)?;
    parallel::fill(&mut edges[1..], |parent| operations.count(level, parents[parent]));
    for parent in 0..parents.len() {
        edges[parent + 1] = edges[parent + 1].saturating_add(edges[parent]);
    }
    let total = usize::try_from(edges[parents.len()]).map_err(|_| AllocError { bytes: u64::MAX })?;
    let (mut crd, mut positions) = (Array::<u64>::zeroed(total)?, Array::<u64>::zeroed(total)?);
    let mut parts = Vec::new();
    let (mut crd_left, mut positions_left) = (&mut crd[..], &mut positions[..]);
    for first in (0..parents.len()).step_by(GRAIN) {
        let own = first..parents.len().min(first + GRAIN);
        let len = (edges[own.end] - edges[own.start]) as usize;
        let (own_crd, crd_rest) = crd_left.split_at_mut(len);
        let (own_positions, positions_rest) = positions_left.split_at_mut(len);
        parts.push((own, own_crd, own_positions));
        (crd_left, positions_left) = (crd_rest, positions_rest);
    }
    parallel::each(parts, |_, (own, crd, positions)| {
        let mut slots = crd.iter_mut().zip(positions.iter_mut());
        for &parent in &parents[own] {
            operations.visit(level, parent, &mut |coordinate, position| {
                if let Some(slot) = slots.next() {
                    (*slot.0, *slot.1) = (coordinate, position);
                }
            });
        }
    });
    Ok(Stored { edges, crd, positions })
}

/// The values at positions; zeros where there is none.
fn gather(values: &Buffer, places: &[u64]) -> Result<Buffer, StorageError> {
    let dtype = values.dtype();
    with_word!(dtype, V => {
        let from = values.as_words::<V>();
        let to = Array::<V>::of(places.len(), |k| from.get(places[k] as usize).copied().unwrap_or_default())?;
        Ok(Buffer::from_words(to, dtype))
    })
}

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
//! So a kind defines only the storage of the coordinates under each parent position ([`LevelArrays::spread`], of
//! [`segments`](crate::segments)), and the way to find them again ([`LevelArrays::visit`]); packing and conversion are
//! those of plain tensors, before or after. If positions are the same in both, as under a bitmap, no list of them is
//! made, and values stay as they are.
//!
//! [`LevelArrays::spread`]: crate::storage::LevelArrays::spread
//! [`LevelArrays::visit`]: crate::storage::LevelArrays::visit

use std::borrow::Borrow;
use std::collections::TryReserveError;
use std::ops::Range;

use lacunar_formats::{Format, IndexWidth, LevelKind};

use crate::array::Array;
use crate::buffer::{Buffer, Number, with_indices};
use crate::dispatch::with_word;
use crate::error::{Above, AllocError, StorageError};
use crate::fits::widen;
use crate::index_array::{Numbers, Parts, index_array, index_array_of, index_parts};
use crate::parallel;
use crate::segments::{Places, Segments};
use crate::storage::{LevelArrays, LevelStorage, Place};
use crate::tensor::Tensor;

/// A level, and for each of its positions the position of the plain level that it stands for.
pub struct Spread {
    /// The level.
    pub level: LevelStorage,
    /// One for each position of the level.
    pub places: Places,
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
        self.spread_growing(format, &[])
    }

    /// The same of a tensor that is going to get more entries: by level, the words of nodes to come for each that is there.
    ///
    /// # Errors
    /// The format cannot hold the entries, or memory is refused.
    pub(crate) fn spread_growing(self, format: &Format, growths: &[f64]) -> Result<Tensor, StorageError> {
        let (dims, from, plain, values) = self.into_parts();
        let format = widen(&format.clone().with_widths_of(&from), &dims, values.len() as u64);
        let (levels, places) = spread_levels(plain, &values, (&format, &dims), growths)?;
        let values = match places {
            Places::Same(_) => values,
            Places::Listed(places) => gather(&values, &places)?,
        };
        Ok(Tensor::assemble(dims, format, levels, values))
    }

    /// The same of a tensor that stays as it is.
    ///
    /// # Errors
    /// The format cannot hold the entries, or memory is refused.
    pub(crate) fn to_spread(&self, format: &Format) -> Result<Tensor, StorageError> {
        let format = widen(&format.clone().with_widths_of(self.format()), self.dims(), self.nnz());
        let (levels, places) = spread_levels(self.levels(), self.values(), (&format, self.dims()), &[])?;
        Ok(Tensor::assemble(self.dims().to_vec(), format, levels, self.values_at(&places)?))
    }

    /// The same entries in plain levels, padding included.
    ///
    /// # Errors
    /// Memory is refused.
    pub(crate) fn to_plain(&self) -> Result<Tensor, StorageError> {
        let mut levels = Vec::with_capacity(self.order());
        let (mut parents, mut positions) = (Places::Same(1), 1);
        let mut plain = widen(&self.format().plain(), self.dims(), self.nnz());
        for (level, storage) in self.levels().iter().enumerate() {
            let kind = plain.levels()[level].kind;
            // No dimension tells the number of slots.
            let width = plain.coordinates(level).wider(IndexWidth::for_max(storage.size().saturating_sub(1)));
            plain = plain.with_coordinates(level, width);
            let stored = Stored::new(storage, &parents)?;
            levels.push(if kind == LevelKind::DENSE {
                LevelStorage::dense(storage.size())
            } else if kind == LevelKind::SINGLETON {
                LevelStorage::singleton(stored.coordinates(width)?)
            } else {
                LevelStorage::compressed(numbers(&stored.edges, plain.positions(level))?, stored.coordinates(width)?)
            });
            let overflow = || StorageError::overflow(format!("the number of positions of level {level}"));
            positions = storage.positions(positions).ok_or_else(overflow)?;
            parents = stored.positions(positions)?;
        }
        let values = self.values_at(&parents)?;
        Ok(Tensor::assemble(self.dims().to_vec(), plain, levels, values))
    }

    /// The number of coordinates that the innermost level stores.
    ///
    /// # Errors
    /// Memory is refused.
    pub(crate) fn counted(&self) -> Result<u64, StorageError> {
        let (mut parents, mut positions, mut count) = (Places::Same(1), 1, 1);
        for (level, storage) in self.levels().iter().enumerate() {
            let stored = Stored::new(storage, &parents)?;
            count = stored.edges[parents.count()];
            if level + 1 < self.levels().len() {
                let overflow = || StorageError::overflow(format!("the number of positions of level {level}"));
                positions = storage.positions(positions).ok_or_else(overflow)?;
                let next = stored.positions(positions)?;
                parents = next;
            }
        }
        Ok(count)
    }

    /// The values at places of the tensor; zeros where there is none.
    fn values_at(&self, places: &Places) -> Result<Buffer, StorageError> {
        match places {
            Places::Same(_) => Ok(self.values().try_clone()?),
            Places::Listed(places) => gather(self.values(), places),
        }
    }
}

/// The levels of a format with the entries of plain ones, and the places of the innermost one's positions. Levels that are going to get more
/// coordinates have their growths.
fn spread_levels<L: Borrow<LevelStorage>>(
    plain: impl IntoIterator<Item = L>,
    values: &Buffer,
    (format, dims): (&Format, &[u64]),
    growths: &[f64],
) -> Result<(Vec<LevelStorage>, Places), StorageError> {
    let mut levels = Vec::with_capacity(dims.len());
    let (mut parents, mut positions) = (Places::Same(1), 1);
    // A plain level that is not needed any more is given up, if it may be.
    for (level, storage) in plain.into_iter().enumerate() {
        let storage = storage.borrow();
        let overflow = || StorageError::overflow(format!("the number of positions of level {level}"));
        positions = storage.positions(positions).ok_or_else(overflow)?;
        let values = (level + 1 == format.levels().len()).then_some(values);
        let segments = Segments::new((storage, positions), &parents, values)?.growing(growths.get(level).copied());
        let spread = LevelStorage::spread(&segments, Place { format, dims, level });
        let spread = spread.map_err(|error| located(error, &levels))?;
        levels.push(spread.level);
        parents = spread.places;
    }
    Ok((levels, parents))
}

/// An error about entries under a position of the last of some levels, told of its coordinates.
fn located(error: StorageError, levels: &[LevelStorage]) -> StorageError {
    match error {
        StorageError::NotRepresentable { format, above: Above::Position(position), reason } => {
            let coordinates = coordinates_at(levels, position);
            let above = coordinates.map_or(Above::Position(position), Above::Coordinates);
            StorageError::NotRepresentable { format, above, reason }
        }
        other => other,
    }
}

/// The coordinates, from the outermost level on, of a position of the last level. All positions are visited up to it.
fn coordinates_at(levels: &[LevelStorage], mut position: u64) -> Option<Vec<u64>> {
    let mut counts = vec![1];
    for level in levels {
        counts.push(level.positions(counts[counts.len() - 1])?);
    }
    let mut coordinates = Vec::with_capacity(levels.len());
    for (level, &parents) in levels.iter().zip(&counts).rev() {
        let found = (0..parents).find_map(|parent| {
            let mut coordinate = None;
            level
                .operations()
                .visit(level, parent, &mut |at, own| coordinate = coordinate.or((own == position).then_some(at)));
            coordinate.map(|coordinate| (parent, coordinate))
        });
        let (parent, coordinate) = found?;
        coordinates.push(coordinate);
        position = parent;
    }
    coordinates.reverse();
    Some(coordinates)
}

/// The coordinates that a level stores under parent positions.
struct Stored<'a> {
    level: &'a LevelStorage,
    parents: &'a Places,
    /// The start of each parent position's coordinates, and at the end their number.
    edges: Array<u64>,
    /// All that is stored, if it had to be visited to count it.
    lists: Vec<List>,
}

/// The entries under some neighboring parent positions.
#[derive(Default)]
struct List {
    /// The number of entries under each.
    counts: Vec<u32>,
    /// Coordinates and positions.
    entries: Vec<(u32, u32)>,
}

/// The number of parent positions of a list.
const LISTED: usize = 1 << 12;

impl<'a> Stored<'a> {
    fn new(level: &'a LevelStorage, parents: &'a Places) -> Result<Stored<'a>, StorageError> {
        let operations = level.operations();
        if !operations.counts_by_visits() {
            let edges = parallel::edges(parents.count(), |parent| operations.count(level, parents.get(parent)))?;
            return Ok(Stored { level, parents, edges, lists: Vec::new() });
        }
        let lists =
            parallel::map(parallel::chunks(parents.count(), LISTED), |_, share| List::of(level, parents, share));
        let lists = lists.into_iter().collect::<Result<Vec<List>, TryReserveError>>();
        let lists = lists.map_err(|_| AllocError { bytes: parents.count() as u64 * size_of::<u32>() as u64 })?;
        let edges = parallel::edges(parents.count(), |parent| lists[parent / LISTED].counts[parent % LISTED].into())?;
        Ok(Stored { level, parents, edges, lists })
    }

    /// The results of `of` for the coordinate and the position of all that is stored, in its order.
    fn column(&self, width: IndexWidth, of: impl Fn(u64, u64) -> u64 + Sync) -> Result<Buffer, StorageError> {
        if !self.lists.is_empty() {
            let lengths: Vec<usize> = self.lists.iter().map(|list| list.entries.len()).collect();
            let numbers = |part: usize| {
                let entries = self.lists[part].entries.iter();
                entries.map(|&(coordinate, position)| of(coordinate.into(), position.into()))
            };
            return Ok(index_parts(&lengths, width, numbers)?);
        }
        let (shares, lengths) = parallel::shares(&self.edges);
        let visits = Visits { stored: self, operations: self.level.operations(), shares, of };
        Ok(index_array_of(&lengths, width, &visits)?)
    }

    fn coordinates(&self, width: IndexWidth) -> Result<Buffer, StorageError> {
        self.column(width, |coordinate, _| coordinate)
    }

    /// The positions, of so many that the level has.
    fn positions(&self, count: u64) -> Result<Places, StorageError> {
        let properties = self.level.kind().info().properties;
        match self.parents {
            Places::Same(_) if properties.compact && properties.ordered && !properties.shared => {
                Ok(Places::Same(self.edges[self.parents.count()] as usize))
            }
            _ => Ok(Places::Listed(self.column(Places::width(count), |_, position| position)?)),
        }
    }
}

impl List {
    /// The entries under a share of parent positions.
    fn of(level: &LevelStorage, parents: &Places, share: Range<usize>) -> Result<List, TryReserveError> {
        let mut list = List::default();
        list.counts.try_reserve_exact(share.len())?;
        let mut refused = None;
        for parent in share.clone() {
            let behind = |others: usize| (parent + others < share.end).then(|| parents.get(parent + others));
            level.operations().visits_soon(level, &behind);
            let before = list.entries.len();
            level.operations().visit(level, parents.get(parent), &mut |coordinate, position| match list
                .entries
                .try_reserve(1)
            {
                Ok(()) => list.entries.push((coordinate as u32, position as u32)),
                Err(error) => refused = Some(error),
            });
            list.counts.push((list.entries.len() - before) as u32);
        }
        refused.map_or(Ok(list), Err)
    }
}

/// The numbers that `of` makes of the coordinates and positions stored under shares of parent positions.
struct Visits<'a, F> {
    stored: &'a Stored<'a>,
    operations: &'static dyn LevelArrays,
    shares: Vec<Range<usize>>,
    of: F,
}

impl<F: Fn(u64, u64) -> u64 + Sync> Parts for Visits<'_, F> {
    #[inline(always)]
    fn put(&self, share: usize, room: &mut impl Numbers) {
        for parent in self.shares[share].clone() {
            self.operations.visit(self.stored.level, self.stored.parents.get(parent), &mut |coordinate, position| {
                room.take((self.of)(coordinate, position));
            });
        }
    }
}

/// The values at places; zeros where there is none.
pub(crate) fn gather(values: &Buffer, places: &Buffer) -> Result<Buffer, StorageError> {
    let dtype = values.dtype();
    let places = places.indices().ok_or_else(|| StorageError::overflow("the number of values"))?;
    with_word!(dtype, V => {
        let from = values.as_words::<V>();
        let to = with_indices!(places, places => {
            Array::<V>::of(places.len(), |k| from.get(places[k].get() as usize).copied().unwrap_or_default())?
        });
        Ok(Buffer::from_words(to, dtype))
    })
}

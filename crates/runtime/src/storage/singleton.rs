//! Singleton levels: exactly one coordinate under each parent position.
//!
//! `crd[p]` is the coordinate; the position is the parent's. A parent without any entry (under a dense level) gets
//! coordinate 0, with a stored zero below.
//!
//! ```text
//! coordinate list:   level 0 compressed, not unique   crd 0 0 2
//!                    level 1 singleton                crd 0 2 1     entries (0,0) (0,2) (2,1)
//! ```

use super::{
    Assembly, Bounds, LevelArrays, LevelStorage, Place, Segments, Spread, check_length, check_range, checked_indices,
};
use crate::array::{Array, Plain};
use crate::buffer::{Number, with_indices};
use crate::error::{Above, AllocError, StorageError};
use crate::index_array::index_array;
use crate::keys::{Access, Entries, with_access};
use crate::parallel;

/// Singleton levels.
pub(super) struct Singleton;

impl LevelArrays for Singleton {
    fn length(&self, _part: usize, parents: u64, _before: &LevelStorage) -> Option<u64> {
        Some(parents)
    }

    fn positions(&self, _level: &LevelStorage, parents: u64) -> Option<u64> {
        Some(parents)
    }

    fn check(&self, level: &LevelStorage, parents: u64, place: Place) -> Result<u64, StorageError> {
        let crd = checked_indices(level, 0, place)?;
        check_length(level, 0, parents, place)?;
        check_range(crd, place)?;
        Ok(parents)
    }

    fn assembly(&self) -> Assembly {
        Assembly::Single { absent: false }
    }

    fn spread(&self, segments: &Segments, place: Place) -> Result<Spread, StorageError> {
        let (crd, places) = segments.one_each(place, 0)?;
        Ok(Spread { level: LevelStorage::singleton(crd), places })
    }

    fn count(&self, _level: &LevelStorage, _parent: u64) -> u64 {
        1
    }

    fn visit(&self, level: &LevelStorage, parent: u64, each: &mut dyn FnMut(u64, u64)) {
        each(level.numbers(0).get(parent as usize), parent);
    }
}

/// Packs one level: see [`LevelStorage::pack`].
pub fn pack(entries: &mut Entries, parents: Bounds, place: Place) -> Result<(LevelStorage, Bounds), StorageError> {
    let width = place.coordinates();
    if let Bounds::Identity(_) = parents {
        return Ok((LevelStorage::singleton(entries.take_column(place.level, width)?), parents));
    }
    let crd = with_access!(entries, entries => {
        let coordinate = entries.column(place.level);
        // Coordinates ascend under one parent: they are all equal if the first and the last are.
        let bad = parallel::first(parents.positions(), |p| {
            let range = parents.range(p);
            let unfit = if range.is_empty() {
                place.size() == 0
            } else {
                coordinate(range.start) != coordinate(range.end - 1)
            };
            unfit.then_some((p, range))
        });
        if let Some((position, range)) = bad {
            return Err(not_representable(entries, position, range, place));
        }
        index_array(parents.positions(), width, |p| {
            let range = parents.range(p);
            if range.is_empty() { 0 } else { coordinate(range.start) }
        })?
    });
    Ok((LevelStorage::singleton(crd), parents))
}

/// Enumerates the positions: see [`LevelStorage::extend`].
pub fn extend<T: Plain>(
    level: &LevelStorage,
    parents: &[T],
    combine: impl Fn(T, u64) -> T + Sync,
) -> Result<Array<T>, AllocError> {
    with_indices!(level.numbers(0), crd => Array::of(parents.len(), |p| combine(parents[p], crd[p].get())))
}

fn not_representable(
    entries: &impl Access,
    position: usize,
    range: std::ops::Range<usize>,
    place: Place,
) -> StorageError {
    let dimension = place.dimension();
    let (above, reason) = if range.is_empty() {
        (Above::Position(position as u64), format!("dimension {dimension} has size 0, but one coordinate is needed"))
    } else {
        let above = (0..place.level).map(|level| entries.column(level)(range.start)).collect();
        let coordinate = entries.column(place.level);
        let reason = format!(
            "a singleton level holds one coordinate of dimension {dimension}, but there are {} and {} at least; a \
             compressed level, or a non-unique level above, holds several",
            coordinate(range.start),
            coordinate(range.end - 1)
        );
        (Above::Coordinates(above), reason)
    };
    StorageError::NotRepresentable { format: Box::new(place.format.clone()), above, reason }
}

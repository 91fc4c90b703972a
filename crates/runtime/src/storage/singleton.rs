//! Singleton levels: exactly one coordinate under each parent position.
//!
//! `crd[p]` is the coordinate; the position is the parent's. A parent without any entry (under a dense level) gets
//! coordinate 0, with a stored zero below.
//!
//! ```text
//! coordinate list:   level 0 compressed, not unique   crd 0 0 2
//!                    level 1 singleton                crd 0 2 1     entries (0,0) (0,2) (2,1)
//! ```

use super::{Bounds, LevelArrays, Place, check_range, checked_indices};
use crate::array::{Array, Plain};
use crate::buffer::{Buffer, Indices};
use crate::error::{AllocError, StorageError};
use crate::keys::{Access, Entries, index_array, with_access};
use crate::parallel;

/// A singleton level.
#[derive(Debug, PartialEq)]
pub struct Singleton {
    /// One coordinate per parent position.
    pub crd: Buffer,
}

impl LevelArrays for Singleton {
    fn arrays(&self) -> Vec<(&'static str, &Buffer)> {
        vec![("crd", &self.crd)]
    }

    fn try_map<E>(self, mut change: impl FnMut(&'static str, Buffer) -> Result<Buffer, E>) -> Result<Self, E> {
        Ok(Singleton { crd: change("crd", self.crd)? })
    }

    fn try_clone(&self) -> Result<Self, AllocError> {
        Ok(Singleton { crd: self.crd.try_clone()? })
    }

    fn positions(&self, parents: u64) -> Option<u64> {
        Some(parents)
    }

    fn pack(entries: &mut Entries, parents: Bounds, place: Place) -> Result<(Self, Bounds), StorageError> {
        let width = place.format.coordinates;
        if let Bounds::Identity(_) = parents {
            return Ok((Singleton { crd: entries.take_column(place.level, width)? }, parents));
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
        Ok((Singleton { crd }, parents))
    }

    fn check(&self, parents: u64, place: Place) -> Result<u64, StorageError> {
        let crd = checked_indices(&self.crd, place.format.coordinates, "crd", place)?;
        if crd.len() as u64 != parents {
            let what = format!("array crd of level {}", place.level);
            return Err(StorageError::Length { what, found: crd.len() as u64, expected: parents });
        }
        check_range(crd, place)?;
        Ok(parents)
    }

    fn check_order(&self, _chain: &[Indices], _place: Place) -> Result<(), StorageError> {
        Ok(())
    }

    fn extend<T: Plain>(&self, parents: &[T], combine: impl Fn(T, u64) -> T + Sync) -> Result<Array<T>, AllocError> {
        let mut children = Array::zeroed(parents.len())?;
        match self.crd.indices() {
            Some(Indices::U32(crd)) => parallel::fill(&mut children, |p| combine(parents[p], u64::from(crd[p]))),
            Some(Indices::U64(crd)) => parallel::fill(&mut children, |p| combine(parents[p], crd[p])),
            None => {}
        }
        Ok(children)
    }
}

fn not_representable(
    entries: &impl Access,
    position: usize,
    range: std::ops::Range<usize>,
    place: Place,
) -> StorageError {
    let dimension = place.dimension();
    let (prefix, reason) = if range.is_empty() {
        (format!("position {position}"), format!("dimension {dimension} has size 0, but one coordinate is needed"))
    } else {
        let prefix: Vec<String> =
            (0..place.level).map(|level| entries.column(level)(range.start).to_string()).collect();
        let coordinate = entries.column(place.level);
        let reason = format!(
            "a singleton level holds one coordinate of dimension {dimension}, but there are {} and {} at least; a \
             compressed level, or a non-unique level above, holds several",
            coordinate(range.start),
            coordinate(range.end - 1)
        );
        (format!("({})", prefix.join(", ")), reason)
    };
    StorageError::NotRepresentable { format: place.format.clone(), prefix, reason }
}

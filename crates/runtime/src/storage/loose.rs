//! Loose levels: compressed ones with unused places behind each segment, where coordinates could be put in.
//!
//! The coordinates under parent position `p` are `crd[pos[p] .. end[p]]`, ascending; the places from there up to `pos[p + 1]`
//! are not used, and the values there are no entries. Packing leaves a place in four, and one more.
//!
//! ```text
//! [ 5 . 6 ]    dense, loose:   pos 0     3   4    6      end 2 3 5
//! [ . . . ]                    crd 0 2 - | - | 1 -
//! [ . 7 . ]                 values 5 6 . | . | 7 .
//! ```

use std::iter::repeat_n;

use super::{
    LevelArrays, LevelStorage, NOWHERE, Piece, Place, Places, Segments, Spread, check_ascending, check_edges,
    check_length, checked_indices, chunked, first_reaching, last, numbers, stored_at,
};
use crate::array::Array;
use crate::buffer::Buffer;
use crate::error::StorageError;
use crate::index_array::{index_array, index_parts};
use crate::nodes::{Payload, Put};
use crate::parallel;

/// Loose levels.
pub(super) struct Loose;

impl LevelArrays for Loose {
    fn length(&self, part: usize, parents: u64, before: &LevelStorage) -> Option<u64> {
        match part {
            0 => parents.checked_add(1),
            1 => Some(parents),
            _ => Some(last(before.numbers(0))),
        }
    }

    fn positions(&self, level: &LevelStorage, _parents: u64) -> Option<u64> {
        Some(level.numbers(2).len() as u64)
    }

    fn check(&self, level: &LevelStorage, parents: u64, place: Place) -> Result<u64, StorageError> {
        let crd = checked_indices(level, 2, place)?;
        check_edges(level, 0, parents, crd.len() as u64, place)?;
        let (pos, end) = (level.numbers(0), checked_indices(level, 1, place)?);
        check_length(level, 1, parents, place)?;
        let outside = |p: usize| (end.get(p) < pos.get(p) || end.get(p) > pos.get(p + 1)).then_some(p as u64);
        if let Some(at) = parallel::first(end.len(), outside) {
            let reason = "a segment ends outside its places";
            return Err(StorageError::Positions { level: place.level, place: at, reason });
        }
        check_ascending(crd, parents, |p| pos.get(p)..end.get(p), place)?;
        Ok(crd.len() as u64)
    }

    fn spread(&self, segments: &Segments, place: Place) -> Result<Spread, StorageError> {
        let parents = segments.parents();
        let edges = parallel::edges(parents, |parent| with_unused(segments.count(parent)))?;
        let end = |parent: usize| edges[parent] + segments.count(parent);
        let total = usize::try_from(edges[parents]).map_err(|_| StorageError::overflow("the number of positions"))?;
        let (chunks, lengths) = chunked(total);
        let pieces = |chunk: usize| segments.pieces_at(|parent| edges[parent], chunks[chunk].clone());
        let crd = index_parts(&lengths, place.coordinates(), |chunk| {
            let with_unused = |piece: Piece| segments.coordinates(piece.positions).chain(repeat_n(0, piece.unused));
            pieces(chunk).flat_map(with_unused)
        })?;
        let places = index_parts(&lengths, segments.width(), |chunk| {
            pieces(chunk).flat_map(|piece| piece.positions.chain(repeat_n(NOWHERE, piece.unused)))
        })?;
        let positions = place.positions();
        let arrays = vec![numbers(&edges, positions)?, index_array(parents, positions, end)?, crd];
        let level = LevelStorage::new(place.kind(), place.size(), arrays);
        Ok(Spread { level, places: Places::Listed(places) })
    }

    fn count(&self, level: &LevelStorage, parent: u64) -> u64 {
        level.numbers(1).get(parent as usize) - level.numbers(0).get(parent as usize)
    }

    fn visit(&self, level: &LevelStorage, parent: u64, each: &mut dyn FnMut(u64, u64)) {
        let (pos, end, crd) = (level.numbers(0), level.numbers(1), level.numbers(2));
        let segment = pos.get(parent as usize)..end.get(parent as usize);
        segment.for_each(|position| each(crd.get(position as usize), position));
    }

    fn find(&self, level: &LevelStorage, parent: u64, coordinate: u64) -> Option<u64> {
        let (begin, end, crd) =
            (level.numbers(0).get(parent as usize), level.numbers(1).get(parent as usize), level.numbers(2));
        stored_at(crd, begin..end, coordinate)
    }

    fn put(
        &self,
        level: &mut LevelStorage,
        parent: u64,
        coordinate: u64,
        mut payload: Payload<'_>,
    ) -> Result<Put, StorageError> {
        let (pos, end) = (level.numbers(0), level.numbers(1));
        let own = pos.get(parent as usize)..end.get(parent as usize);
        let at = first_reaching(level.numbers(2), own.clone(), coordinate);
        let most = MOST_MOVED + (own.end - own.start);
        let parents = end.len() as u64;
        let has_room = |segment: &u64| end.get(*segment as usize) < pos.get(*segment as usize + 1);
        let above =
            (parent..parents).take_while(|&segment| pos.get(segment as usize) - own.start <= most).find(has_room);
        if let Some(last) = above {
            // Everything up to the unused place goes one place up.
            let above = at..end.get(last as usize);
            level.copy_numbers(2, above.clone(), at + 1);
            payload.shift(above, at + 1);
            for segment in parent..=last {
                if segment > parent {
                    let begin = level.numbers(0).get(segment as usize);
                    level.set_number(0, segment, begin + 1);
                }
                let end = level.numbers(1).get(segment as usize);
                level.set_number(1, segment, end + 1);
            }
            level.set_number(2, at, coordinate);
            return Ok(Put::Now(at));
        }
        let below =
            (0..parent).rev().take_while(|&segment| own.start - end.get(segment as usize) <= most).find(has_room);
        let Some(below) = below else { return Ok(Put::Nowhere) };
        // Everything behind the unused place goes one place down.
        let behind = pos.get(below as usize + 1)..at;
        level.copy_numbers(2, behind.clone(), behind.start - 1);
        payload.shift(behind.clone(), behind.start - 1);
        for segment in below + 1..=parent {
            let begin = level.numbers(0).get(segment as usize);
            level.set_number(0, segment, begin - 1);
            if segment < parent {
                let end = level.numbers(1).get(segment as usize);
                level.set_number(1, segment, end - 1);
            }
        }
        level.set_number(2, at - 1, coordinate);
        Ok(Put::Now(at - 1))
    }

    fn remove(
        &self,
        level: &mut LevelStorage,
        parent: u64,
        coordinate: u64,
        mut payload: Payload<'_>,
    ) -> Result<bool, StorageError> {
        let Some(at) = self.find(level, parent, coordinate) else { return Ok(true) };
        let end = level.numbers(1).get(parent as usize);
        level.copy_numbers(2, at + 1..end, at);
        payload.shift(at + 1..end, at);
        level.set_number(1, parent, end - 1);
        Ok(true)
    }

    fn with_room(&self, level: &LevelStorage, parent: u64, place: Place) -> Result<Option<Spread>, StorageError> {
        let (pos, end, crd) = (level.numbers(0), level.numbers(1), level.numbers(2));
        let used = |segment: usize| end.get(segment) - pos.get(segment);
        let wanted = |segment: usize| used(segment) + u64::from(segment as u64 == parent);
        let edges = parallel::edges(end.len(), |segment| with_unused(wanted(segment)))?;
        let total = usize::try_from(edges[end.len()]).map_err(|_| StorageError::overflow("the number of positions"))?;
        let mut places = Array::<u64>::zeroed(total)?;
        places.fill(NOWHERE);
        for segment in 0..end.len() {
            let first = edges[segment] as usize;
            let positions = pos.get(segment)..end.get(segment);
            places[first..].iter_mut().zip(positions).for_each(|(place, position)| *place = position);
        }
        let coordinate = |at: usize| if places[at] == NOWHERE { 0 } else { crd.get(places[at] as usize) };
        let (positions, coordinates) = (place.positions(), place.coordinates());
        let ends = index_array(end.len(), positions, |segment| edges[segment] + used(segment))?;
        let arrays = vec![numbers(&edges, positions)?, ends, index_array(total, coordinates, coordinate)?];
        let level = LevelStorage::new(place.kind(), place.size(), arrays);
        Ok(Some(Spread { level, places: Places::Listed(Buffer::from_array(places)) }))
    }
}

/// The most coordinates that are moved for one, besides those of its segment, before the level is made anew.
const MOST_MOVED: u64 = 1024;

/// The length of a segment with so many coordinates.
fn with_unused(used: u64) -> u64 {
    used + used / 4 + 1
}

//! Hashed levels: under each parent position a table of coordinates with open addressing.
//!
//! The table of parent position `p` is `crd[pos[p] .. pos[p + 1]]`; it is empty, or its length is a power of two and at least
//! twice the number of coordinates. A coordinate stands at the place that [`slot`] gives, or at the first free one behind it,
//! around the end. Free places hold the largest number of their type.
//!
//! ```text
//! [ 5 . 6 ]    dense, hashed:   pos 0       4 4   6
//! [ . . . ]                     crd - 2 - 0     1 -
//! [ . 7 . ]                  values . 6 . 5     7 .
//! ```
//!
//! Where coordinates meet, the smallest stands first: a table depends on what is in it, not on the order in which that came
//! (ordered hash tables). So coordinates are put in as they come, without being sorted.
//!
//! Paper: Chou et al. 2018, §3 (hashed levels); Knuth, *The Art of Computer Programming* 3, §6.4 (linear probing); Amble and Knuth,
//! *Ordered Hash Tables* (The Computer Journal 17, 1974).

use std::collections::HashSet;

use lacunar_formats::{Capabilities, LEVELS, LevelInfo, LevelKind, Part, Properties};
use linkme::distributed_slice;

use super::{
    Inserted, Inserter, LevelArrays, LevelStorage, NOWHERE, Place, STORAGE, Segments, Spread, Unsorted, check_edges,
    check_size, checked_indices, last, numbers,
};
use crate::array::{Array, Plain};
use crate::buffer::{Buffer, Indices};
use crate::coo::Coordinates;
use crate::error::StorageError;
use crate::keys::index_array;
use crate::parallel;

#[distributed_slice(LEVELS)]
static HASHED: LevelInfo = LevelInfo {
    name: "hashed",
    letter: 'h',
    repeating: None,
    properties: Properties { ordered: false, compact: false, ..Properties::ASCENDING },
    capabilities: Capabilities { iterate_coordinates: true, search: true, ..Capabilities::NONE },
    parts: &[Part::POSITIONS, Part::COORDINATES_OR_NONE],
};

/// 2^64 divided by the golden ratio (Knuth, §6.4).
const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

/// Where a coordinate stands in a table of `capacity` places, if that is free.
fn slot(coordinate: u64, capacity: u64) -> u64 {
    (coordinate.wrapping_mul(FACTOR) >> 32) & (capacity - 1)
}

/// The length of a table of so many coordinates; `None` if it overflows.
fn capacity(count: u64) -> Option<u64> {
    if count == 0 { Some(0) } else { count.checked_mul(2).and_then(u64::checked_next_power_of_two) }
}

/// Hashed levels.
struct Hashed;

#[distributed_slice(STORAGE)]
static OPERATIONS: &dyn LevelArrays = &Hashed;

impl LevelArrays for Hashed {
    fn kind(&self) -> LevelKind {
        LevelKind::new(&HASHED)
    }

    fn length(&self, part: usize, parents: u64, before: &LevelStorage) -> Option<u64> {
        if part == 0 { parents.checked_add(1) } else { Some(last(before.numbers(0))) }
    }

    fn positions(&self, level: &LevelStorage, _parents: u64) -> Option<u64> {
        Some(level.numbers(1).len() as u64)
    }

    fn check(&self, level: &LevelStorage, parents: u64, place: Place) -> Result<u64, StorageError> {
        let crd = checked_indices(level, 1, place)?;
        check_edges(level, 0, parents, crd.len() as u64, place)?;
        check_size(place)?;
        let pos = level.numbers(0);
        let table = |parent: usize| check_table(crd, pos.get(parent)..pos.get(parent + 1), place);
        parallel::first(parents as usize, table).map_or(Ok(crd.len() as u64), Err)
    }

    fn spread(&self, segments: &Segments, place: Place) -> Result<Spread, StorageError> {
        let overflow = || StorageError::overflow(format!("the number of positions of level {}", place.level));
        let (parents, none) = (segments.parents(), place.coordinates().max());
        check_size(place)?;
        let mut edges = Array::<u64>::zeroed(parents + 1)?;
        for parent in 0..parents {
            let range = segments.range(parent);
            let capacity = capacity(range.end - range.start).ok_or_else(overflow)?;
            edges[parent + 1] = edges[parent].checked_add(capacity).ok_or_else(overflow)?;
        }
        let total = usize::try_from(edges[parents]).map_err(|_| overflow())?;
        let (mut crd, mut places) = (Array::<u64>::zeroed(total)?, Array::zeroed(total)?);
        crd.fill(none);
        places.fill(NOWHERE);
        for parent in 0..parents {
            let (first, capacity) = (edges[parent], edges[parent + 1] - edges[parent]);
            for (coordinate, position) in segments.under(parent) {
                let mut at = slot(coordinate, capacity);
                while crd[(first + at) as usize] != none {
                    at = (at + 1) & (capacity - 1);
                }
                (crd[(first + at) as usize], places[(first + at) as usize]) = (coordinate, position);
            }
        }
        let arrays = vec![numbers(&edges, place.positions())?, numbers(&crd, place.coordinates())?];
        Ok(Spread { level: LevelStorage::new(self.kind(), place.size(), arrays), places })
    }

    fn inserter(&self) -> Option<Inserter> {
        Some(insert)
    }

    fn visit(&self, level: &LevelStorage, parent: u64, each: &mut dyn FnMut(u64, u64)) {
        let (pos, crd) = (level.numbers(0), level.numbers(1));
        let table = pos.get(parent as usize)..pos.get(parent as usize + 1);
        let stored = table.map(|position| (crd.get(position as usize), position));
        let mut stored: Vec<(u64, u64)> = stored.filter(|(coordinate, _)| *coordinate != crd.width().max()).collect();
        stored.sort_unstable();
        stored.into_iter().for_each(|(coordinate, position)| each(coordinate, position));
    }
}

/// A number in a table that is filled.
trait Stored: Plain + Ord {
    /// That of a free place.
    const FREE: Self;

    fn number(self) -> u64;
}

impl Stored for u32 {
    const FREE: u32 = u32::MAX;

    fn number(self) -> u64 {
        u64::from(self)
    }
}

impl Stored for u64 {
    const FREE: u64 = u64::MAX;

    fn number(self) -> u64 {
        self
    }
}

/// Tables of all parent positions, one behind the other.
struct Tables<C: Plain> {
    /// Where each begins.
    edges: Array<u64>,
    crd: Array<C>,
}

impl<C: Stored> Tables<C> {
    /// Empty tables, each for so many coordinates.
    fn empty(counts: &[u64], place: Place) -> Result<Tables<C>, StorageError> {
        let overflow = || StorageError::overflow(format!("the number of positions of level {}", place.level));
        let mut edges = Array::<u64>::zeroed(counts.len() + 1)?;
        for (parent, &count) in counts.iter().enumerate() {
            let next = capacity(count).and_then(|capacity| edges[parent].checked_add(capacity));
            edges[parent + 1] = next.ok_or_else(overflow)?;
        }
        let mut crd = Array::<C>::zeroed(usize::try_from(edges[counts.len()]).map_err(|_| overflow())?)?;
        parallel::fill(&mut crd, |_| C::FREE);
        Ok(Tables { edges, crd })
    }

    /// The table of a parent position, and where it begins.
    fn table(&mut self, parent: usize) -> (&mut [C], u64) {
        let (first, end) = (self.edges[parent], self.edges[parent + 1]);
        (&mut self.crd[first as usize..end as usize], first)
    }

    /// Puts a coordinate in, before larger ones; whether it was not there yet. Some place of the table is free.
    fn put(&mut self, parent: usize, mut coordinate: C) -> bool {
        let (table, _) = self.table(parent);
        let mask = table.len() - 1;
        let mut at = slot(coordinate.number(), table.len() as u64) as usize;
        loop {
            let there = table[at];
            if there == C::FREE {
                table[at] = coordinate;
                return true;
            }
            if there == coordinate {
                return false;
            }
            if there > coordinate {
                // It was not there, or it would stand before this one.
                table[at] = coordinate;
                coordinate = there;
            }
            at = (at + 1) & mask;
        }
    }

    /// The position of a coordinate that was put in.
    fn position(&mut self, parent: usize, coordinate: C) -> u64 {
        let (table, first) = self.table(parent);
        let mask = table.len() - 1;
        let mut at = slot(coordinate.number(), table.len() as u64) as usize;
        while table[at] != coordinate {
            at = (at + 1) & mask;
        }
        first + at as u64
    }
}

/// Puts coordinates into tables.
fn insert(list: &Unsorted, place: Place) -> Result<Inserted, StorageError> {
    match (list.coordinates, place.size() <= u32::FREE.number()) {
        (Coordinates::U32(crd), true) => insert_as::<u32>(list, place, |k| crd[k]),
        (Coordinates::U32(crd), false) => insert_as::<u64>(list, place, |k| u64::from(crd[k])),
        (Coordinates::U64(crd), true) => insert_as::<u32>(list, place, |k| crd[k] as u32),
        (Coordinates::U64(crd), false) => insert_as::<u64>(list, place, |k| crd[k]),
    }
}

fn insert_as<C: Stored>(list: &Unsorted, place: Place, at: impl Fn(usize) -> C) -> Result<Inserted, StorageError> {
    match list.of {
        None => insert_under::<C>(list, place, at, |_| 0),
        Some(of) => insert_under::<C>(list, place, at, |k| of[k] as usize),
    }
}

/// The same, where `at` gives the coordinate of an entry, and `parent` the parent position.
fn insert_under<C: Stored>(
    list: &Unsorted,
    place: Place,
    at: impl Fn(usize) -> C,
    parent: impl Fn(usize) -> usize,
) -> Result<Inserted, StorageError> {
    check_size(place)?;
    let len = list.coordinates.len();
    let mut counts = Array::<u64>::zeroed(list.parents)?;
    (0..len).for_each(|k| counts[parent(k)] += 1);
    let mut tables = Tables::<C>::empty(&counts, place)?;
    let mut distinct = Array::<u64>::zeroed(list.parents)?;
    for k in 0..len {
        distinct[parent(k)] += u64::from(tables.put(parent(k), at(k)));
    }
    // Repeated coordinates need no room.
    if counts.iter().zip(distinct.iter()).any(|(&count, &distinct)| capacity(count) != capacity(distinct)) {
        let larger = std::mem::replace(&mut tables, Tables::empty(&distinct, place)?);
        for parent in 0..list.parents {
            let own = &larger.crd[larger.edges[parent] as usize..larger.edges[parent + 1] as usize];
            own.iter().filter(|there| **there != C::FREE).for_each(|there| {
                tables.put(parent, *there);
            });
        }
    }
    let mut positions = Array::<u64>::zeroed(len)?;
    for (k, position) in positions.iter_mut().enumerate() {
        *position = tables.position(parent(k), at(k));
    }
    let none = place.coordinates().max();
    let number = |crd: C| if crd == C::FREE { none } else { crd.number() };
    let Tables { edges, crd } = tables;
    let crd = index_array(crd.len(), place.coordinates(), |k| number(crd[k]))?;
    let arrays: Vec<Buffer> = vec![numbers(&edges, place.positions())?, crd];
    let level = LevelStorage::new(LevelKind::new(&HASHED), place.size(), arrays);
    Ok(Inserted { level, positions, repeats: distinct.iter().sum::<u64>() < len as u64 })
}

/// What is wrong with a table: every coordinate has to be found from its slot on, and only once; some place is free.
fn check_table(crd: Indices, table: std::ops::Range<u64>, place: Place) -> Option<StorageError> {
    let (first, capacity, none, size) = (table.start, table.end - table.start, crd.width().max(), place.size());
    if capacity == 0 {
        return None;
    }
    let wrong = |at: u64, reason| StorageError::Positions { level: place.level, place: at, reason };
    if !capacity.is_power_of_two() {
        return Some(wrong(first, "the length of a table is not a power of two"));
    }
    let mut seen = HashSet::new();
    let mut used = 0;
    for at in table {
        let coordinate = crd.get(at as usize);
        if coordinate == none {
            continue;
        }
        if coordinate >= size {
            return Some(StorageError::OutOfRange { dimension: place.dimension(), entry: at, coordinate, size });
        }
        if !seen.insert(coordinate) {
            return Some(StorageError::Duplicate { level: place.level, place: at });
        }
        used += 1;
        // No free place between the slot and the coordinate.
        let mut from = slot(coordinate, capacity);
        while first + from != at {
            if crd.get((first + from) as usize) == none {
                return Some(wrong(at, "a coordinate of a table is not found from its slot on"));
            }
            from = (from + 1) & (capacity - 1);
        }
    }
    (2 * used > capacity).then(|| wrong(first, "a table is more than half full"))
}

//! Hashed levels: under each parent position a table of coordinates with open addressing.
//!
//! The table of parent position `p` is `crd[pos[p] .. pos[p + 1]]`; it is empty, or its length is a power of two, and some
//! place is free. Packing makes it twice as long as it has coordinates or longer; a table that is put into gets more places when
//! coordinates stand far from their slots. A coordinate stands at the place that [`slot`] gives, or at the first free one behind it,
//! around the end. Free places hold the largest number of their type.
//!
//! ```text
//! [ 5 . 6 ]    dense, hashed:   pos 0       4 4   6
//! [ . . . ]                     crd - 2 - 0     1 -
//! [ . 7 . ]                  values . 6 . 5     7 .
//! ```
//!
//! If coordinates meet, the smallest stands first: a table depends on its content, not on the order in which that came
//! (ordered hash tables). So coordinates are put in as they come, without being sorted.
//!
//! Paper: Chou et al. 2018, §3 (hashed levels); Knuth, *The Art of Computer Programming* 3, §6.4 (linear probing); Amble and Knuth,
//! *Ordered Hash Tables* (The Computer Journal 17, 1974).

use lacunar_formats::{DType, IndexWidth};

use super::{
    Inserted, Inserter, LevelArrays, LevelStorage, NOWHERE, Place, Places, Segments, Spread, Unsorted, check_edges,
    check_size, checked_indices, length, numbers,
};
use crate::array::Array;
use crate::buffer::{Buffer, Indices, Number, with_indices};
use crate::dispatch::{with_width, with_word};
use crate::error::{AllocError, StorageError};
use crate::index_array::index_array;
use crate::moved::fetch;
use crate::nodes::{Payload, Put};
use crate::parallel;
use crate::values::Element;
use crate::words::{Sum, Word};

/// 2^64 divided by the golden ratio (Knuth, §6.4).
const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

/// The place of a coordinate in a table of `capacity` places, if that is free.
fn slot(coordinate: u64, capacity: u64) -> u64 {
    (coordinate.wrapping_mul(FACTOR) >> 32) & (capacity - 1)
}

/// The length of a table of so many coordinates; `None` if it overflows.
fn capacity(count: u64) -> Option<u64> {
    if count == 0 { Some(0) } else { count.checked_mul(2).and_then(u64::checked_next_power_of_two) }
}

/// Hashed levels.
pub(super) struct Hashed;

impl LevelArrays for Hashed {
    fn check(&self, level: &LevelStorage, parents: u64, place: Place) -> Result<u64, StorageError> {
        let crd = checked_indices(level, 1, place)?;
        check_edges(level, 0, parents, crd.len() as u64, place)?;
        check_size(place)?;
        let pos = level.numbers(0);
        let table = |parent: usize| check_table(crd, pos.get(parent)..pos.get(parent + 1), place);
        parallel::first(parents as usize, table).map_or(Ok(crd.len() as u64), Err)
    }

    fn spread(&self, segments: &Segments, place: Place) -> Result<Spread, StorageError> {
        check_size(place)?;
        // A length that overflows makes the sum overflow.
        let length = |parent: usize| capacity(segments.count(parent)).unwrap_or(u64::MAX);
        let edges = parallel::edges(segments.parents(), length)?;
        let (crd, places) = with_width!(place.coordinates(), C => match segments.width() {
            IndexWidth::W64 => tables::<C, u64>(segments, &edges)?,
            _ => tables::<C, u32>(segments, &edges)?,
        });
        let arrays = vec![numbers(&edges, place.positions())?, crd];
        let level = LevelStorage::new(place.kind(), place.size(), arrays);
        Ok(Spread { level, places: Places::Listed(places) })
    }

    fn count(&self, level: &LevelStorage, parent: u64) -> u64 {
        let (pos, crd) = (level.numbers(0), level.numbers(1));
        let table = pos.get(parent as usize) as usize..pos.get(parent as usize + 1) as usize;
        let none = crd.width().max();
        with_indices!(crd, crd => crd[table].iter().filter(|there| there.get() != none).count() as u64)
    }

    fn inserter(&self) -> Option<Inserter> {
        Some(insert)
    }

    fn visit(&self, level: &LevelStorage, parent: u64, each: &mut dyn FnMut(u64, u64)) {
        let (pos, crd) = (level.numbers(0), level.numbers(1));
        let (first, end) = (pos.get(parent as usize), pos.get(parent as usize + 1));
        let (none, count) = (crd.width().max(), self.count(level, parent) as usize);
        // Most tables are small, and there are many.
        let (mut few, mut many) = ([(0, 0); FEW], Vec::new());
        let stored = match few.get_mut(..count) {
            Some(stored) => stored,
            None => {
                many.resize(count, (0, 0));
                many.as_mut_slice()
            }
        };
        with_indices!(crd, crd => {
            let table = crd[first as usize..end as usize].iter().map(|there| there.get()).zip(first..);
            stored.iter_mut().zip(table.filter(|(there, _)| *there != none)).for_each(|(slot, there)| *slot = there);
        });
        stored.sort_unstable();
        stored.iter().for_each(|(coordinate, position)| each(*coordinate, *position));
    }

    fn find(&self, level: &LevelStorage, parent: u64, coordinate: u64) -> Option<u64> {
        let (pos, crd) = (level.numbers(0), level.numbers(1));
        let (first, capacity) = (pos.get(parent as usize), length(pos, parent));
        let mut at = if capacity == 0 { return None } else { slot(coordinate, capacity) };
        loop {
            match crd.get((first + at) as usize) {
                there if there == coordinate => return Some(first + at),
                there if there == crd.width().max() => return None,
                _ => at = (at + 1) & (capacity - 1),
            }
        }
    }

    fn put(
        &self,
        level: &mut LevelStorage,
        parent: u64,
        coordinate: u64,
        mut payload: Payload<'_>,
    ) -> Result<Put, StorageError> {
        let (pos, crd) = (level.numbers(0), level.numbers(1));
        let (first, capacity) = (pos.get(parent as usize), length(pos, parent));
        let start = if capacity == 0 { return Ok(Put::Nowhere) } else { slot(coordinate, capacity) };
        let place = |steps: u64| first + ((start + steps) & (capacity - 1));
        let is_free = |steps: &u64| crd.get(place(*steps) as usize) == crd.width().max();
        let far = FAR.min(capacity);
        // Some other place has to stay free, so that a search ends.
        let free = (0..far).find(is_free).filter(|free| (free + 1..free + far).any(|steps| is_free(&steps)));
        let Some(free) = free else { return Ok(Put::Nowhere) };
        // Larger coordinates on the way give their place to the one before, and the last of them goes to the free place.
        let (mut carried, mut from) = (coordinate, None);
        let mut steps = Vec::new();
        for step in 0..free {
            let there = crd.get(place(step) as usize);
            if there > carried {
                carried = there;
                from = from.or(Some(step));
                steps.push(step);
            }
        }
        let (places, at): (Vec<u64>, u64) =
            (steps.iter().map(|step| place(*step)).chain([place(free)]).collect(), place(from.unwrap_or(free)));
        for pair in places.windows(2).rev() {
            let there = level.numbers(1).get(pair[0] as usize);
            level.set_number(1, pair[1], there);
            payload.shift(pair[0]..pair[0] + 1, pair[1]);
        }
        level.set_number(1, at, coordinate);
        Ok(Put::Now(at))
    }

    fn with_room(&self, level: &LevelStorage, parent: u64, place: Place) -> Result<Option<Spread>, StorageError> {
        let (pos, overflow) = (level.numbers(0), || StorageError::overflow("the number of positions"));
        let parents = pos.len() - 1;
        // More than packing gives them, small ones above all, of which some one is soon full again.
        let room = |segment: usize| {
            let own = u64::from(segment as u64 == parent);
            let wanted = capacity(2 * (self.count(level, segment as u64) + own) + SPARE);
            wanted.map_or(u64::MAX, |wanted| wanted.max(length(pos, segment as u64)))
        };
        let edges = parallel::edges(parents, room)?;
        let total = usize::try_from(edges[parents]).map_err(|_| overflow())?;
        let (mut crd, mut places) = (Array::<u64>::zeroed(total)?, Array::<u64>::zeroed(total)?);
        crd.fill(place.coordinates().max());
        places.fill(NOWHERE);
        for segment in 0..parents {
            let table = edges[segment] as usize..edges[segment + 1] as usize;
            let (crd, places) = (&mut crd[table.clone()], &mut places[table]);
            self.visit(level, segment as u64, &mut |coordinate, position| {
                let mut at = slot(coordinate, crd.len() as u64) as usize;
                while places[at] != NOWHERE {
                    at = (at + 1) & (crd.len() - 1);
                }
                (crd[at], places[at]) = (coordinate, position);
            });
        }
        let arrays = vec![numbers(&edges, place.positions())?, index_array(total, place.coordinates(), |at| crd[at])?];
        let level = LevelStorage::new(place.kind(), place.size(), arrays);
        Ok(Some(Spread { level, places: Places::Listed(Buffer::from_array(places)) }))
    }
}

/// Coordinates that a table gets room for besides twice its own.
const SPARE: u64 = 4;
/// The largest distance of a coordinate from its slot: beyond it, its table gets more places.
const FAR: u64 = 32;

/// The most coordinates that are sorted without a memory allocation.
const FEW: usize = 64;

/// The tables of segments, which begin at these edges, and beside each coordinate its position.
fn tables<C: Number + Element, P: Number + Element>(
    segments: &Segments,
    edges: &[u64],
) -> Result<(Buffer, Buffer), StorageError> {
    let total = usize::try_from(edges[segments.parents()]);
    let total = total.map_err(|_| StorageError::overflow("the number of positions"))?;
    let (mut crd, mut places) = (Array::of(total, |_| C::of(u64::MAX))?, Array::of(total, |_| P::of(NOWHERE))?);
    let (shares, lengths) = parallel::shares(edges);
    let parts = parallel::split(&mut crd, &lengths).into_iter().zip(parallel::split(&mut places, &lengths));
    parallel::each(shares.into_iter().zip(parts), |_, (share, (crd, places))| {
        let begin = edges[share.start];
        for parent in share {
            let table = (edges[parent] - begin) as usize..(edges[parent + 1] - begin) as usize;
            let (crd, places) = (&mut crd[table.clone()], &mut places[table]);
            let last = crd.len().wrapping_sub(1);
            segments.range(parent).zip(segments.under(parent)).for_each(|(position, coordinate)| {
                let mut at = slot(coordinate, crd.len() as u64) as usize;
                while places[at] != P::of(NOWHERE) {
                    at = (at + 1) & last;
                }
                (crd[at], places[at]) = (C::of(coordinate), P::of(position));
            });
        }
    });
    Ok((Buffer::from_array(crd), Buffer::from_array(places)))
}

/// A number in a table that is filled.
trait Stored: Element + Number {
    /// The number in a free place.
    const FREE: Self;
    /// Its width.
    const WIDTH: IndexWidth;
}

impl Stored for u32 {
    const FREE: u32 = u32::MAX;
    const WIDTH: IndexWidth = IndexWidth::W32;
}

impl Stored for u64 {
    const FREE: u64 = u64::MAX;
    const WIDTH: IndexWidth = IndexWidth::W64;
}

/// Tables of all parent positions, one behind the other, with the values of their places.
struct Tables<C: Stored, V: Word> {
    /// The start of each.
    edges: Array<u64>,
    crd: Array<C>,
    values: Array<V>,
    /// The function that adds up values of one coordinate.
    sum: Sum<V>,
}

impl<C: Stored, V: Word> Tables<C, V> {
    /// Empty tables for values of a type, given the number of coordinates of each behind a 0.
    fn empty(mut counts: Array<u64>, ty: DType, place: Place) -> Result<Tables<C, V>, StorageError> {
        let overflow = || StorageError::overflow(format!("the number of positions of level {}", place.level));
        let mut end = 0u64;
        for count in counts.iter_mut() {
            end = capacity(*count).and_then(|capacity| end.checked_add(capacity)).ok_or_else(overflow)?;
            *count = end;
        }
        let total = usize::try_from(end).map_err(|_| overflow())?;
        let (crd, values) = (Array::of(total, |_| C::FREE)?, Array::of(total, |_| V::default())?);
        Ok(Tables { edges: counts, crd, values, sum: V::sum(ty) })
    }

    /// Puts the entries of a list in; returns true if each had a coordinate of its own. There is room for all.
    fn put_all(&mut self, list: &Unsorted) -> bool {
        let entries = list.values.as_words::<V>();
        let mut distinct = true;
        let (mut coordinates, mut parents, mut places) = ([0; BLOCK], [0; BLOCK], [0; BLOCK]);
        for (block, entries) in entries.chunks(BLOCK).enumerate() {
            let coordinates = &mut coordinates[..entries.len()];
            let parents = &mut parents[..entries.len()];
            list.coordinates_from(block * BLOCK, coordinates);
            list.parents_from(block * BLOCK, parents);
            // Places are far from each other: all of a block are fetched at once.
            for ((place, &coordinate), &parent) in places.iter_mut().zip(&*coordinates).zip(&*parents) {
                let (first, end) = (self.edges[parent as usize], self.edges[parent as usize + 1]);
                *place = first + slot(coordinate, end - first);
                fetch(self.crd.as_ptr().wrapping_add(*place as usize));
                fetch(self.values.as_ptr().wrapping_add(*place as usize));
            }
            let keys = coordinates.iter().zip(&*parents).zip(&places);
            for (((&coordinate, &parent), &place), &value) in keys.zip(entries) {
                distinct &= self.put(parent as usize, place as usize, C::of(coordinate), value);
            }
        }
        distinct
    }

    /// Puts an entry in from a place of its table on, before larger coordinates; returns true if it was not there yet. Some
    /// place of the table is free.
    fn put(&mut self, parent: usize, mut place: usize, mut coordinate: C, mut value: V) -> bool {
        loop {
            let (there, stored) = (&mut self.crd[place], &mut self.values[place]);
            if *there == C::FREE {
                (*there, *stored) = (coordinate, value);
                return true;
            }
            if *there == coordinate {
                *stored = (self.sum)(*stored, value);
                return false;
            }
            if *there > coordinate {
                // It was not there, or it would stand before this one.
                std::mem::swap(there, &mut coordinate);
                std::mem::swap(stored, &mut value);
            }
            place += 1;
            if place as u64 == self.edges[parent + 1] {
                place = self.edges[parent] as usize;
            }
        }
    }

    /// Gives every table the length that its coordinates need: repeated coordinates need no room.
    fn shrink(mut self) -> Result<Tables<C, V>, StorageError> {
        let refused = |_| AllocError { bytes: (size_of::<C>() + size_of::<V>()) as u64 };
        let (before, mut moved) = (self.crd.len(), Vec::new());
        let (mut begin, mut to) = (0, 0);
        for parent in 0..self.edges.len() - 1 {
            let from = begin..self.edges[parent + 1] as usize;
            begin = from.end;
            let used = self.crd[from.clone()].iter().filter(|there| **there != C::FREE).count();
            // Fewer than it was made for.
            let capacity = capacity(used as u64).map_or(from.len(), |capacity| capacity as usize);
            self.edges[parent] = to as u64;
            self.edges[parent + 1] = (to + capacity) as u64;
            if capacity == from.len() && to == from.start {
                // It stays where it is.
            } else if capacity == from.len() {
                self.crd.copy_within(from.clone(), to);
                self.values.copy_within(from, to);
            } else {
                moved.clear();
                moved.try_reserve(used).map_err(refused)?;
                let stored = self.crd[from.clone()].iter().zip(&self.values[from]);
                moved.extend(stored.filter(|(there, _)| **there != C::FREE).map(|(there, value)| (*there, *value)));
                self.crd[to..to + capacity].fill(C::FREE);
                self.values[to..to + capacity].fill(V::default());
                for &(coordinate, value) in &moved {
                    let place = to + slot(coordinate.get(), capacity as u64) as usize;
                    self.put(parent, place, coordinate, value);
                }
            }
            to += capacity;
        }
        self.crd.truncate(to);
        self.values.truncate(to);
        if to < before / 2 {
            (self.crd, self.values) = (Array::copy_of(&self.crd)?, Array::copy_of(&self.values)?);
        }
        Ok(self)
    }
}

/// The number of entries that are put in at a time.
const BLOCK: usize = 128;

/// Puts entries into tables.
fn insert(list: &Unsorted, place: Place) -> Result<Inserted, StorageError> {
    check_size(place)?;
    match place.coordinates() {
        IndexWidth::W64 => insert_as::<u64>(list, place),
        _ => insert_as::<u32>(list, place),
    }
}

fn insert_as<C: Stored>(list: &Unsorted, place: Place) -> Result<Inserted, StorageError> {
    let (counts, ty) = (counts(list)?, list.values.dtype());
    let (edges, crd, values) = with_word!(ty, V => {
        let mut tables = Tables::<C, V>::empty(counts, ty, place)?;
        if !tables.put_all(list) {
            tables = tables.shrink()?;
        }
        (tables.edges, tables.crd, Buffer::from_words(tables.values, ty))
    });
    let none = place.coordinates().max();
    let crd = match place.coordinates() == C::WIDTH {
        true => Buffer::from_array(crd),
        false => index_array(crd.len(), place.coordinates(), |k| if crd[k] == C::FREE { none } else { crd[k].get() })?,
    };
    let arrays = vec![numbers(&edges, place.positions())?, crd];
    let level = LevelStorage::new(place.kind(), place.size(), arrays);
    Ok(Inserted { level, values })
}

/// The number of entries under each parent position, behind a 0.
fn counts(list: &Unsorted) -> Result<Array<u64>, AllocError> {
    let mut counts = Array::<u64>::zeroed(list.parents + 1)?;
    if let [_, only] = &mut *counts {
        *only = list.values.len() as u64;
        return Ok(counts);
    }
    let mut parents = [0; BLOCK];
    for start in (0..list.values.len()).step_by(BLOCK) {
        let parents = &mut parents[..BLOCK.min(list.values.len() - start)];
        list.parents_from(start, parents);
        parents.iter().for_each(|&parent| counts[parent as usize + 1] += 1);
    }
    Ok(counts)
}

/// The fault of a table, if any: every coordinate has to be found from its slot on, and only once; some place is free.
fn check_table(crd: Indices, table: std::ops::Range<u64>, place: Place) -> Option<StorageError> {
    let (first, capacity, none, size) = (table.start, table.end - table.start, crd.width().max(), place.size());
    if capacity == 0 {
        return None;
    }
    let wrong = |at: u64, reason| StorageError::Positions { level: place.level, place: at, reason };
    if !capacity.is_power_of_two() {
        return Some(wrong(first, "the length of a table is not a power of two"));
    }
    let at = |offset: u64| first + (offset & (capacity - 1));
    let Some(free) = (0..capacity).find(|&offset| crd.get(at(offset) as usize) == none) else {
        return Some(wrong(first, "a table is full"));
    };
    // From there on, around the end: coordinates that are found without a free place before them are in one run, and so
    // are two equal ones.
    let mut run = Vec::new();
    for offset in free + 1..=free + capacity {
        let coordinate = crd.get(at(offset) as usize);
        if coordinate == none {
            run.sort_unstable();
            if let Some(pair) = run.windows(2).find(|pair| pair[0] == pair[1]) {
                let second = (0..offset).rev().find(|&offset| crd.get(at(offset) as usize) == pair[0]);
                return Some(StorageError::Duplicate { level: place.level, place: at(second.unwrap_or_default()) });
            }
            run.clear();
            continue;
        }
        if coordinate >= size {
            let (dimension, entry) = (place.dimension(), at(offset));
            return Some(StorageError::OutOfRange { dimension, entry, coordinate, size });
        }
        let behind_its_slot = offset.wrapping_sub(slot(coordinate, capacity)) & (capacity - 1);
        if behind_its_slot > run.len() as u64 {
            return Some(wrong(at(offset), "a coordinate of a table is not found from its slot on"));
        }
        run.push(coordinate);
    }
    None
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use lacunar_formats::{Format, Level};

    use super::*;

    #[test]
    fn wrong_tables_are_refused() {
        let format = Format::new(vec![Level::from_letter('h').unwrap()], vec![0]).unwrap();
        let place = Place { format: &format, dims: &[100], level: 0 };
        let none = u32::MAX;
        let check = |crd: &[u32]| check_table(Indices::U32(crd), 0..crd.len() as u64, place);
        let mut last = (0..100).filter(|&coordinate| slot(coordinate, 8) == 7).map(|coordinate| coordinate as u32);
        let [a, b, c] = [(); 3].map(|()| last.next().unwrap());
        let other = (0..100).find(|&coordinate| slot(coordinate, 8) == 1).unwrap() as u32;
        let table = |used: &[(usize, u32)]| {
            let mut table = [none; 8];
            used.iter().for_each(|&(at, coordinate)| table[at] = coordinate);
            table
        };
        // Around the end, in any order, and behind others.
        for used in [&[(7, a), (0, b), (1, c)][..], &[(7, c), (0, a)], &[(7, a), (0, b), (1, c), (2, other)], &[]] {
            assert_eq!(check(&table(used)), None, "{used:?}");
        }
        let reason = |used: &[(usize, u32)]| check(&table(used)).unwrap().to_string();
        assert!(reason(&[(0, a)]).contains("from its slot on"));
        assert!(reason(&[(7, a), (1, b)]).contains("from its slot on"));
        assert!(reason(&[(7, a), (0, b), (1, c), (2, other), (3, other)]).contains("twice"));
        assert_eq!(check(&table(&[(7, a), (0, a)])), Some(StorageError::Duplicate { level: 0, place: 0 }));
        assert!(reason(&[(4, 100)]).contains("100"));
        let full = (0..100u32).filter(|&coordinate| slot(u64::from(coordinate), 8) < 4);
        assert!(check(&full.take(8).collect::<Vec<_>>()).is_some());
        assert!(check(&[none; 3]).unwrap().to_string().contains("power of two"));
    }
}

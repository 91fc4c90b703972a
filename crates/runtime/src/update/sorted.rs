//! The changes of a batch in the order of a tensor's levels, one for each coordinates that occur.
//!
//! Coordinates are packed into one key (`keys.rs`), which is sorted with the numbers of changes; the sort is stable, so that changes of the
//! same coordinates are taken together in the order in which they were given. The columns of coordinates are read off the sorted keys.
//!
//! ```text
//! set (2,1) 5    add (0,3) 1    add (2,1) 2      numbers 1 0    changes  add 1, set 7    columns  0 2 | 3 1
//! ```

use std::cmp::Ordering;

use super::batch::{Change, Places, Rules};
use crate::array::Array;
use crate::buffer::Buffer;
use crate::error::StorageError;
use crate::keys::{Access, Keyed, Layout};
use crate::moved::fetch;
use crate::sort::{Key, Scan, scan, sort};
use crate::words::Word;

/// Changes in the order of levels, each at other coordinates.
#[derive(Debug)]
pub(super) struct Sorted<V> {
    /// The number in the batch of the first change with these coordinates.
    pub numbers: Vec<u32>,
    pub changes: Vec<Change<V>>,
    /// The coordinates, by level.
    pub columns: Vec<Vec<u64>>,
}

impl<V: Word> Sorted<V> {
    /// One change for each coordinates that occur, in the order of modes of a tensor of such sizes.
    pub fn of(
        places: &Places,
        changes: &[Change<V>],
        (modes, dims): (&[usize], &[u64]),
        rules: Rules<V>,
    ) -> Result<Sorted<V>, StorageError> {
        let Order { numbers, repeats, columns } = places.in_order(modes, dims)?;
        let numbers = numbers.as_slice::<u32>().unwrap_or_default();
        let kept = columns.first().map_or(1, Vec::len);
        let mut sorted = Sorted { numbers: Vec::with_capacity(kept), changes: Vec::with_capacity(kept), columns };
        for (k, (&number, repeats)) in numbers.iter().zip(repeats).enumerate() {
            // Changes lie in the order in which they were given.
            if let Some(next) = numbers.get(k + AHEAD).and_then(|next| changes.get(*next as usize)) {
                fetch(std::ptr::from_ref(next));
            }
            let change = changes[number as usize];
            match sorted.changes.last_mut().filter(|_| repeats) {
                Some(last) => *last = last.then(change, rules),
                None => {
                    sorted.numbers.push(number);
                    sorted.changes.push(change);
                }
            }
        }
        Ok(sorted)
    }

    fn with_room(levels: usize, len: usize) -> Sorted<V> {
        let columns = (0..levels).map(|_| Vec::with_capacity(len)).collect();
        Sorted { numbers: Vec::with_capacity(len), changes: Vec::with_capacity(len), columns }
    }

    /// The changes for which a condition holds, and the others.
    pub fn partition(self, is_first: impl Fn(&Change<V>) -> bool) -> (Sorted<V>, Sorted<V>) {
        let (levels, first) = (self.columns.len(), self.changes.iter().filter(|change| is_first(change)).count());
        if first == self.changes.len() {
            return (self, Sorted::with_room(levels, 0));
        }
        if first == 0 {
            return (Sorted::with_room(levels, 0), self);
        }
        let mut parts = (Sorted::with_room(levels, first), Sorted::with_room(levels, self.changes.len() - first));
        for (k, change) in self.changes.iter().enumerate() {
            let part = if is_first(change) { &mut parts.0 } else { &mut parts.1 };
            part.numbers.push(self.numbers[k]);
            part.changes.push(*change);
            part.columns.iter_mut().zip(&self.columns).for_each(|(own, column)| own.push(column[k]));
        }
        parts
    }

    /// The changes with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (u32, Change<V>)> {
        self.numbers.iter().copied().zip(self.changes.iter().copied())
    }
}

/// The number of changes ahead at which one is asked for.
const AHEAD: usize = 16;

/// The numbers of changes in the order of their coordinates, and then as they were given.
struct Order {
    numbers: Buffer,
    /// For each, true if it has the coordinates of the one before.
    repeats: Vec<bool>,
    /// The coordinates of those that do not repeat others, by level.
    columns: Vec<Vec<u64>>,
}

impl Places {
    fn in_order(&self, modes: &[usize], dims: &[u64]) -> Result<Order, StorageError> {
        let sizes: Vec<u64> = modes.iter().map(|mode| dims[*mode]).collect();
        let layout = Layout::new(&sizes);
        match layout.bits() {
            0..=64 => self.by_keys::<u64>(modes, layout),
            65..=128 => self.by_keys::<u128>(modes, layout),
            _ => {
                let mut numbers: Vec<u32> = (0..self.len() as u32).collect();
                numbers.sort_by(|one, other| {
                    let (one, other) = (self.at(*one), self.at(*other));
                    modes
                        .iter()
                        .map(|mode| one[*mode].cmp(&other[*mode]))
                        .find(|it| it.is_ne())
                        .unwrap_or(Ordering::Equal)
                });
                let repeats = |k: usize| k > 0 && self.at(numbers[k - 1]) == self.at(numbers[k]);
                let repeats: Vec<bool> = (0..numbers.len()).map(repeats).collect();
                let column = |mode: &usize| distinct(&repeats, |k| self.at(numbers[k])[*mode]);
                let columns = modes.iter().map(column).collect();
                Ok(Order { numbers: Buffer::from_vec(numbers), repeats, columns })
            }
        }
    }

    /// The same with the coordinates of a change in one key.
    fn by_keys<K: Key>(&self, modes: &[usize], layout: Layout) -> Result<Order, StorageError> {
        let units: Vec<K> = (0..modes.len()).map(|level| layout.unit(level)).collect();
        let key = |number: usize| {
            let at = self.at(number as u32);
            modes.iter().zip(&units).fold(K::ZERO, |key, (mode, unit)| key.plus(unit.times(at[*mode])))
        };
        let mut keys = Array::of(self.len(), key)?;
        let Scan { sorted, varying, .. } = scan(&keys, 0);
        let mut numbers = Buffer::from_array(Array::of(self.len(), |number| number as u32)?);
        if !sorted {
            (keys, numbers) = sort(keys, &numbers, 0, varying)?;
        }
        let keyed = Keyed { keys, layout };
        let repeats: Vec<bool> = (0..self.len()).map(|k| k > 0 && keyed.keys[k] == keyed.keys[k - 1]).collect();
        let columns = (0..modes.len()).map(|level| distinct(&repeats, keyed.column(level))).collect();
        Ok(Order { numbers, repeats, columns })
    }
}

/// The coordinates of a level at the places that do not repeat the one before.
fn distinct(repeats: &[bool], coordinate: impl Fn(usize) -> u64) -> Vec<u64> {
    let mut column = Vec::with_capacity(repeats.len());
    column.extend((0..repeats.len()).filter(|k| !repeats[*k]).map(coordinate));
    column
}

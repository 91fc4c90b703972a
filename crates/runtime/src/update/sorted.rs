//! The changes of a batch in the order of a tensor's levels, one for each coordinates that occur.
//!
//! Coordinates are packed into one key (`keys.rs`), which is sorted with the numbers of changes; the sort is stable, so that changes of the
//! same coordinates are taken together in the order in which they were given. The columns of coordinates are read off the sorted keys.
//!
//! ```text
//! set (2,1) 5    add (0,3) 1    add (2,1) 2      numbers 1 0    changes  add 1, set 7    columns  0 2 | 3 1
//! ```

use std::cmp::Ordering;

use super::batch::{Batch, Change};
use crate::array::Array;
use crate::buffer::Buffer;
use crate::error::StorageError;
use crate::keys::{Access, Keyed, Layout};
use crate::moved::fetch;
use crate::sort::{Key, Scan, scan, sort};
use crate::values::Element;

/// Changes in the order of levels, each at other coordinates.
#[derive(Debug)]
pub(super) struct Sorted<T> {
    /// The number in the batch of a change with these coordinates.
    pub numbers: Vec<u32>,
    pub changes: Vec<Change<T>>,
    /// The coordinates, by level.
    pub columns: Vec<Vec<u64>>,
}

impl<T: Element> Sorted<T> {
    fn with_room(levels: usize, len: usize) -> Sorted<T> {
        let columns = (0..levels).map(|_| Vec::with_capacity(len)).collect();
        Sorted { numbers: Vec::with_capacity(len), changes: Vec::with_capacity(len), columns }
    }

    /// The changes for which a condition holds, and the others.
    pub fn partition(self, is_first: impl Fn(&Change<T>) -> bool) -> (Sorted<T>, Sorted<T>) {
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
    pub fn iter(&self) -> impl Iterator<Item = (u32, Change<T>)> {
        self.numbers.iter().copied().zip(self.changes.iter().copied())
    }
}

/// The number of changes ahead at which one is asked for.
const AHEAD: usize = 16;

impl<T: Element> Batch<T> {
    /// One change for each coordinates that occur, in the order of modes of a tensor of such sizes.
    pub(super) fn taken_together(&self, modes: &[usize], dims: &[u64], fill: T) -> Result<Sorted<T>, StorageError> {
        let sizes: Vec<u64> = modes.iter().map(|mode| dims[*mode]).collect();
        let layout = Layout::new(&sizes);
        match layout.bits() {
            0..=64 => self.together_by::<u64>(modes, layout, fill),
            65..=128 => self.together_by::<u128>(modes, layout, fill),
            _ => {
                let mut numbers: Vec<u32> = (0..self.changes.len() as u32).collect();
                numbers.sort_by(|one, other| {
                    let (one, other) = (self.at(*one), self.at(*other));
                    modes
                        .iter()
                        .map(|mode| one[*mode].cmp(&other[*mode]))
                        .find(|it| it.is_ne())
                        .unwrap_or(Ordering::Equal)
                });
                let repeats = |k: usize| k > 0 && self.at(numbers[k - 1]) == self.at(numbers[k]);
                let coordinate = |k: usize, level: usize| self.at(numbers[k])[modes[level]];
                Ok(self.together(&numbers, modes.len(), repeats, coordinate, fill))
            }
        }
    }

    /// The same with the coordinates of a change in one key.
    fn together_by<K: Key>(&self, modes: &[usize], layout: Layout, fill: T) -> Result<Sorted<T>, StorageError> {
        let units: Vec<K> = (0..modes.len()).map(|level| layout.unit(level)).collect();
        let key = |number: usize| {
            let at = self.at(number as u32);
            modes.iter().zip(&units).fold(K::ZERO, |key, (mode, unit)| key.plus(unit.times(at[*mode])))
        };
        let mut keys = Array::of(self.changes.len(), key)?;
        let Scan { sorted, varying, .. } = scan(&keys, 0);
        let mut numbers = Buffer::from_array(Array::of(self.changes.len(), |number| number as u32)?);
        if !sorted {
            (keys, numbers) = sort(keys, &numbers, 0, varying)?;
        }
        let keyed = Keyed { keys, layout };
        let repeats = |k: usize| k > 0 && keyed.keys[k] == keyed.keys[k - 1];
        let columns: Vec<_> = (0..modes.len()).map(|level| keyed.column(level)).collect();
        let coordinate = |k: usize, level: usize| columns[level](k);
        Ok(self.together(numbers.as_slice().unwrap_or_default(), modes.len(), repeats, coordinate, fill))
    }

    /// The same of changes in order, with those that repeat the coordinates of the one before.
    fn together(
        &self,
        numbers: &[u32],
        levels: usize,
        repeats: impl Fn(usize) -> bool,
        coordinate: impl Fn(usize, usize) -> u64,
        fill: T,
    ) -> Sorted<T> {
        let mut sorted = Sorted::with_room(levels, numbers.len());
        for (k, &number) in numbers.iter().enumerate() {
            // Changes lie in the order in which they were given.
            if let Some(next) = numbers.get(k + AHEAD).and_then(|next| self.changes.get(*next as usize)) {
                fetch(std::ptr::from_ref(next));
            }
            let change = self.changes[number as usize];
            match sorted.changes.last_mut().filter(|_| repeats(k)) {
                Some(last) => *last = last.then(change, fill),
                None => {
                    sorted.numbers.push(number);
                    sorted.changes.push(change);
                    sorted.columns.iter_mut().enumerate().for_each(|(level, own)| own.push(coordinate(k, level)));
                }
            }
        }
        sorted
    }
}

//! A batch of changes of a tensor whose levels are dense or of nodes: level by level, and in each row after row.
//!
//! Changes come in the order of the levels. So changes with the same coordinates in the outer levels are neighbors, and each level
//! is entered with the parent positions of all changes. An outer level stores the coordinates that are new and gives positions; the
//! innermost one takes the changes of each of its rows together ([`change_runs`]).
//!
//! ```text
//! {bst}{ctree}     set (2,1) (2,4) (7,0)     bst: 2 is there, 7 is new      parents 5 5 8      ctree: 1 4 into row 5, 0 into row 8
//! ```
//!
//! Removals leave rows that are empty: when all are done, the coordinates of these rows go from the outer levels as well.

use lacunar_formats::LevelKind;

use super::batch::{Batch, Change, Done, Updated};
use super::payload_of;
use super::sorted::Sorted;
use crate::buffer::Buffer;
use crate::error::StorageError;
use crate::fill::element_of;
use crate::nodes::{Changes, change_runs, place_runs};
use crate::tensor::Tensor;
use crate::values::Element;

impl Tensor {
    /// True if a batch goes down level by level.
    pub(super) fn has_rows(&self) -> bool {
        let has_nodes = |level: usize| self.levels()[level].kind().schema().is_some();
        let mut levels = 0..self.levels().len();
        let all = levels.clone().all(|level| has_nodes(level) || self.levels()[level].kind() == LevelKind::DENSE);
        all && levels.any(has_nodes)
    }

    /// Carries out changes in the order of levels, each at other coordinates; `None` if the tensor has to be made anew, and is as it was.
    pub(super) fn update_rows<T: Element>(
        &mut self,
        batch: &Batch<T>,
        changes: Sorted<T>,
    ) -> Result<Option<Updated>, StorageError> {
        let (removals, puts) = changes.partition(|change| *change == Change::Remove);
        let mut done: Vec<Done<T>> = Vec::with_capacity(puts.numbers.len());
        let mut removed: Vec<(u32, T)> = Vec::with_capacity(removals.numbers.len());
        let outcome = match self.put_rows(&puts, &mut done) {
            Ok(true) => self.remove_rows(batch, &removals, &mut removed),
            failed => failed,
        };
        if !matches!(outcome, Ok(true)) {
            self.undo(batch, &done, &removed)?;
            for number in puts.numbers {
                self.prune(batch.at(number))?;
            }
            return outcome.map(|_| None);
        }
        let changed = done.iter().filter(|(_, before)| before.is_some()).count();
        let (inserted, changed) = ((done.len() - changed) as u64, changed as u64);
        Ok(Some(Updated { inserted, changed, removed: removed.len() as u64 }))
    }

    /// Stores entries and changes their values; false if there is no way to for one of them.
    fn put_rows<T: Element>(&mut self, puts: &Sorted<T>, done: &mut Vec<Done<T>>) -> Result<bool, StorageError> {
        let Sorted { numbers, changes: all, columns } = puts;
        let (count, fill, scalar) = (numbers.len(), element_of::<T>(self.fill()), self.fill());
        let (mut parents, mut is_new) = (vec![0u64; count], vec![false; count]);
        for (level, column) in columns.iter().enumerate() {
            if self.levels()[level].kind() == LevelKind::DENSE {
                let size = self.levels()[level].size();
                parents.iter_mut().zip(column).for_each(|(parent, own)| *parent = *parent * size + own);
                continue;
            }
            self.own(level, count)?;
            let is_last = level + 1 == self.levels().len();
            let fresh = all.iter().take(if is_last { count } else { 0 });
            let fresh = Buffer::from_vec(fresh.map(|change| change.fresh(fill).unwrap_or(fill)).collect());
            let (_, _, levels, values) = self.parts_mut();
            let (own, below) = levels.split_at_mut(level + 1);
            let (Some(storage), Some(payload)) = (own.last_mut(), payload_of(below, values, scalar)) else {
                return Ok(false);
            };
            let coordinates = &narrow(column);
            let changes = Changes { parents: &parents, coordinates, values: Some(fresh.as_bytes()) };
            if is_last {
                let mut each = |number: usize, position: Option<u32>, values: &mut Buffer| {
                    let before = position.and_then(|position| apply(values, u64::from(position), all[number]));
                    done.push((numbers[number], before));
                };
                return Ok(change_runs(storage, payload, &changes, &mut each)? == count);
            }
            let (positions, new) = place_runs(storage, payload, &changes)?;
            if positions.len() < count {
                return Ok(false);
            }
            is_new.iter_mut().zip(new).for_each(|(is_new, own)| *is_new |= own);
            parents = positions;
        }
        let values = self.parts_mut().3;
        values.make_changeable(count)?;
        for (((number, change), position), is_new) in numbers.iter().zip(all).zip(parents).zip(is_new) {
            done.push((*number, apply(values, position, *change).filter(|_| !is_new)));
        }
        Ok(true)
    }

    /// Removes entries that are stored; false if there is no way to for one of them.
    fn remove_rows<T: Element>(
        &mut self,
        batch: &Batch<T>,
        removals: &Sorted<T>,
        removed: &mut Vec<(u32, T)>,
    ) -> Result<bool, StorageError> {
        let Sorted { numbers, columns, .. } = removals;
        let last = self.levels().len() - 1;
        // The changes that lead somewhere, and their parent positions of the next level.
        let (mut left, mut parents): (Vec<usize>, Vec<u64>) = ((0..numbers.len()).collect(), vec![0; numbers.len()]);
        for (storage, column) in self.levels()[..last].iter().zip(columns) {
            let (mut kept, mut positions) = (Vec::with_capacity(left.len()), Vec::with_capacity(left.len()));
            let mut before = None;
            for (&change, &parent) in left.iter().zip(&parents) {
                let at = (parent, column[change]);
                let position = match before {
                    Some((other, position)) if other == at => position,
                    _ => storage.operations().find(storage, parent, at.1),
                };
                before = Some((at, position));
                if let Some(position) = position {
                    kept.push(change);
                    positions.push(position);
                }
            }
            (left, parents) = (kept, positions);
        }
        if left.is_empty() {
            return Ok(true);
        }
        self.own(last, left.len())?;
        let fill = self.fill();
        let column: Vec<u64> = left.iter().map(|change| columns[last][*change]).collect();
        let (_, _, levels, values) = self.parts_mut();
        let (own, below) = levels.split_at_mut(last + 1);
        let Some(storage) = own.last_mut() else { return Ok(false) };
        if storage.kind() == LevelKind::DENSE {
            let (size, fill) = (storage.size(), Change::Set(element_of::<T>(fill)));
            for ((&change, parent), own) in left.iter().zip(parents).zip(column) {
                removed.extend(apply(values, parent * size + own, fill).map(|value| (numbers[change], value)));
            }
            return Ok(true);
        }
        let Some(payload) = payload_of(below, values, fill) else { return Ok(false) };
        let changes = Changes { parents: &parents, coordinates: &narrow(&column), values: None };
        let mut each = |number: usize, position: Option<u32>, values: &mut Buffer| {
            let value = position.and_then(|position| values.as_slice::<T>()?.get(position as usize).copied());
            removed.extend(value.map(|value| (numbers[left[number]], value)));
        };
        if change_runs(storage, payload, &changes, &mut each)? < left.len() {
            return Ok(false);
        }
        // Positions of outer levels move when the first coordinate goes: all that are empty are found before.
        if last > 0 && self.levels()[last - 1].kind().schema().is_some() {
            let roots = self.levels()[last].numbers(0);
            let is_first = |k: &usize| *k == 0 || parents[*k] != parents[*k - 1];
            let empty = (0..left.len()).filter(|k| is_first(k) && roots.get(parents[*k] as usize) == 0);
            let empty: Vec<u32> = empty.map(|k| numbers[left[k]]).collect();
            empty.into_iter().try_for_each(|number| self.prune(batch.at(number)))?;
        }
        Ok(true)
    }
}

/// Coordinates of a level of nodes, which have 32 bits: no such dimension is larger.
fn narrow(column: &[u64]) -> Vec<u32> {
    column.iter().map(|coordinate| *coordinate as u32).collect()
}

/// Changes a value; gives the one before.
fn apply<T: Element>(values: &mut Buffer, at: u64, change: Change<T>) -> Option<T> {
    let place = values.as_mut_slice::<T>()?.get_mut(at as usize)?;
    let before = *place;
    *place = change.applied(before)?;
    Some(before)
}

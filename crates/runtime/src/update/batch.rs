//! Many changes of a tensor at once: all of them, or none.
//!
//! Changes of the same coordinates are taken together first, in the order in which they were given; then there is one for each. They are
//! carried out in the order of coordinates as the format stores them, row after row ([`rows`](super::rows)): neighbors meet the same
//! nodes. Changes that could fail come first, and are undone if one does; removals come last.
//!
//! ```text
//! set (2,1) 5    add (0,3) 1    remove (1,1)    add (2,1) 2      sorted and taken together:  add (0,3) 1   remove (1,1)   set (2,1) 7
//! ```
//!
//! Formats that take no changes in place are made anew once, from a list of the entries with the changes merged into it; so are
//! others if there are about as many changes as entries.

use lacunar_formats::Format;

use super::sorted::Sorted;
use super::{exchange, is_updated_in_place};
use crate::coo::{Coo, Coordinates};
use crate::dispatch::with_word;
use crate::error::StorageError;
use crate::fill::{element_of, scalar_of};
use crate::nodes::{Put, may_refuse};
use crate::tensor::Tensor;
use crate::values::Element;
use crate::words::Word;

/// Changes of the entries of a tensor.
///
/// ```
/// use lacunar_formats::{DType, FormatSpec};
/// use lacunar_runtime::{Batch, Tensor};
/// let format = "d{blist<4>}".parse::<FormatSpec>().unwrap().resolve(2).unwrap();
/// let mut graph = Tensor::zeros(vec![3, 4], &format, DType::F64).unwrap();
/// let mut batch = Batch::new(2);
/// batch.set(&[2, 1], 5.0).add(&[0, 3], 1.0).remove(&[1, 1]).add(&[2, 1], 2.0);
/// let updated = graph.update(&batch).unwrap();
/// assert_eq!((updated.inserted, updated.changed, updated.removed), (2, 0, 0));
/// assert_eq!(graph.remove::<f64>(&[2, 1]).unwrap(), Some(7.0));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Batch<T> {
    order: usize,
    /// The number of coordinates of the first change that has another one.
    other: Option<usize>,
    /// The coordinates of each change, one after the other.
    coordinates: Vec<u64>,
    pub(super) changes: Vec<Change<T>>,
}

/// A change of an entry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Change<T> {
    /// It has this value.
    Set(T),
    /// This is added to its value.
    Add(T),
    /// It is there no more.
    Remove,
}

/// The outcome of changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Updated {
    /// Entries that were not stored before.
    pub inserted: u64,
    /// Entries that have been given a value, or had one added.
    pub changed: u64,
    /// Entries that were stored before.
    pub removed: u64,
}

impl<T: Element> Batch<T> {
    /// No changes of a tensor of an order.
    pub fn new(order: usize) -> Batch<T> {
        Batch { order, other: None, coordinates: Vec::new(), changes: Vec::new() }
    }

    /// Stores a value at coordinates, whatever is there. Coordinates that are too few or too many are an error of the update.
    pub fn set(&mut self, coordinates: &[u64], value: T) -> &mut Batch<T> {
        self.push(coordinates, Change::Set(value))
    }

    /// Adds a value to that at coordinates; where nothing is stored, that is the fill value.
    pub fn add(&mut self, coordinates: &[u64], value: T) -> &mut Batch<T> {
        self.push(coordinates, Change::Add(value))
    }

    /// Removes the entry at coordinates, if there is one.
    pub fn remove(&mut self, coordinates: &[u64]) -> &mut Batch<T> {
        self.push(coordinates, Change::Remove)
    }

    fn push(&mut self, coordinates: &[u64], change: Change<T>) -> &mut Batch<T> {
        if coordinates.len() != self.order {
            self.other.get_or_insert(coordinates.len());
        }
        self.coordinates.extend_from_slice(coordinates);
        self.changes.push(change);
        self
    }

    /// The number of changes.
    pub fn len(&self) -> usize {
        self.changes.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// The coordinates of a change.
    pub(super) fn at(&self, number: u32) -> &[u64] {
        let first = number as usize * self.order;
        &self.coordinates[first..first + self.order]
    }
}

impl<T: Element> Change<T> {
    /// The value of an entry that is not stored before, of a tensor of a fill value. Nothing of one that is removed.
    pub(super) fn fresh(self, fill: T) -> Option<T> {
        match self {
            Change::Set(value) => Some(value),
            Change::Add(value) => Some(sum(fill, value)),
            Change::Remove => None,
        }
    }

    /// The value of an entry that has one before.
    pub(super) fn applied(self, before: T) -> Option<T> {
        match self {
            Change::Set(value) => Some(value),
            Change::Add(value) => Some(sum(before, value)),
            Change::Remove => None,
        }
    }

    /// This change, and then another.
    pub(super) fn then(self, next: Change<T>, fill: T) -> Change<T> {
        match (self, next) {
            (Change::Set(value), Change::Add(more)) => Change::Set(sum(value, more)),
            (Change::Remove, Change::Add(more)) => Change::Set(sum(fill, more)),
            (Change::Add(value), Change::Add(more)) => Change::Add(sum(value, more)),
            (_, next) => next,
        }
    }
}

/// The sum of two elements.
fn sum<T: Element>(one: T, other: T) -> T {
    let ty = T::DTYPE;
    with_word!(ty, V => {
        let (one, other) = (V::of(scalar_of(one)), V::of(scalar_of(other)));
        element_of(V::sum(ty)(one, other).scalar(ty))
    })
}

/// A change that was carried out: the change's number, and the value before, if the entry was there.
pub(super) type Done<T> = (u32, Option<T>);

impl Tensor {
    /// Carries out all changes of a batch, or none.
    ///
    /// # Errors
    /// Coordinates are too few or too many, one is not below the size of its dimension, the elements are of another type, the format
    /// cannot hold the entries, or memory is refused. The tensor has the same entries as before then.
    pub fn update<T: Element>(&mut self, batch: &Batch<T>) -> Result<Updated, StorageError> {
        if batch.is_empty() {
            return Ok(Updated::default());
        }
        let wrong = batch.other.or((batch.order != self.order()).then_some(batch.order));
        if let Some(found) = wrong {
            return Err(StorageError::Coordinates { found, order: self.order() });
        }
        let count = u32::try_from(batch.len()).map_err(|_| StorageError::overflow("the number of changes"))?;
        (0..count).try_for_each(|number| self.check_entry(batch.at(number), T::DTYPE))?;
        if self.format().packing().is_some() {
            return self.update_packed(batch);
        }
        let fill = element_of::<T>(self.fill());
        let few = batch.len() as u64 <= (self.nnz() / PART).max(FEW);
        if few && is_updated_in_place(self.format()) {
            let modes = self.format().mode_order().to_vec();
            let changes = batch.taken_together(&modes, self.dims(), fill)?;
            // Rows that are changed in place may have become such as cannot be made anew, and so not be restored.
            let refuses = self.parts_mut().2.iter_mut().any(may_refuse);
            let before = if refuses { Some(self.try_clone()?) } else { None };
            let updated = match self.has_rows() {
                true => self.update_rows(batch, changes),
                false => self.update_in_place(batch, &changes),
            };
            let updated = match (updated, before) {
                (Err(error), Some(before)) => {
                    *self = before;
                    let is_refused = matches!(error, StorageError::NotRepresentable { .. });
                    if is_refused { None } else { return Err(error) }
                }
                (updated, _) => updated?,
            };
            if let Some(updated) = updated {
                self.tidy();
                return Ok(updated);
            }
        }
        let natural: Vec<usize> = (0..self.order()).collect();
        self.update_anew(batch, &batch.taken_together(&natural, self.dims(), fill)?)
    }

    /// The same of a packed tensor, whose places stay.
    fn update_packed<T: Element>(&mut self, batch: &Batch<T>) -> Result<Updated, StorageError> {
        let (mut updated, mut done) = (Updated::default(), Vec::new());
        for (number, change) in (0..).zip(&batch.changes) {
            let at = batch.at(number);
            let wanted = match (*change, self.get_packed::<T>(at)) {
                (Change::Remove, _) => Ok(T::default()),
                (Change::Set(value), _) => Ok(value),
                (Change::Add(value), before) => before.map(|before| sum(before.unwrap_or_default(), value)),
            };
            match wanted.and_then(|value| self.set_packed(at, value)) {
                Ok(before) => {
                    let count = match (before, change) {
                        (None, Change::Remove) => None,
                        (Some(_), Change::Remove) => Some(&mut updated.removed),
                        (None, _) => Some(&mut updated.inserted),
                        (Some(_), _) => Some(&mut updated.changed),
                    };
                    count.into_iter().for_each(|count| *count += 1);
                    done.push((number, before));
                }
                Err(error) => {
                    for (number, before) in done.into_iter().rev() {
                        self.set_packed(batch.at(number), before.unwrap_or_default())?;
                    }
                    return Err(error);
                }
            }
        }
        Ok(updated)
    }

    /// The same one after the other; `None` if the tensor has to be made anew, and is as it was.
    fn update_in_place<T: Element>(
        &mut self,
        batch: &Batch<T>,
        changes: &Sorted<T>,
    ) -> Result<Option<Updated>, StorageError> {
        let (mut updated, mut done, mut removed) = (Updated::default(), Vec::new(), Vec::new());
        for (number, change) in changes.iter() {
            let stored = match change {
                Change::Remove => continue,
                Change::Set(_) | Change::Add(_) => self.change(batch.at(number), change),
            };
            match stored {
                Ok(Some(before)) => {
                    done.push((number, before));
                    *(if before.is_some() { &mut updated.changed } else { &mut updated.inserted }) += 1;
                }
                failed => {
                    self.undo(batch, &done, &[])?;
                    return failed.map(|_| None);
                }
            }
        }
        for (number, _) in changes.iter().filter(|(_, change)| *change == Change::Remove) {
            match self.remove_in_place::<T>(batch.at(number)) {
                Ok(Some(before)) => {
                    updated.removed += u64::from(before.is_some());
                    removed.extend(before.map(|value| (number, value)));
                }
                failed => {
                    self.undo(batch, &done, &removed)?;
                    return failed.map(|_| None);
                }
            }
        }
        Ok(Some(updated))
    }

    /// Sets a value or adds to it; the one before, if there was one. `None` if that cannot be done in place.
    fn change<T: Element>(&mut self, at: &[u64], change: Change<T>) -> Result<Option<Option<T>>, StorageError> {
        let fill = element_of::<T>(self.fill());
        let (position, is_new) = match self.store(at)? {
            Some(Put::Before(position)) => (position, false),
            Some(Put::Now(position)) => (position, true),
            Some(Put::Nowhere) | None => return Ok(None),
        };
        let values = self.parts_mut().3;
        let there = values.as_slice::<T>().and_then(|values| values.get(position as usize).copied());
        let own = if is_new { change.fresh(fill) } else { change.applied(there.unwrap_or_default()) };
        let Some(own) = own else { return Ok(None) };
        let before = exchange(values, position, own)?;
        Ok(Some(before.filter(|_| !is_new)))
    }

    /// Takes changes back: entries that were removed, then changes from the last on. If nodes cannot hold the states in between,
    /// it takes all back at once.
    pub(super) fn undo<T: Element>(
        &mut self,
        batch: &Batch<T>,
        done: &[Done<T>],
        removed: &[(u32, T)],
    ) -> Result<(), StorageError> {
        let before = removed.iter().map(|(number, value)| (*number, Some(*value))).chain(done.iter().rev().copied());
        let one_by_one = before.clone().try_for_each(|(number, value)| match value {
            Some(value) => self.insert(batch.at(number), value).map(drop),
            None => self.remove::<T>(batch.at(number)).map(drop),
        });
        if !matches!(one_by_one, Err(StorageError::NotRepresentable { .. })) {
            return one_by_one;
        }
        let mut back = Batch::new(batch.order);
        for (number, value) in before {
            let at = batch.at(number);
            match value {
                Some(value) => back.set(at, value),
                None => back.remove(at),
            };
        }
        let natural: Vec<usize> = (0..self.order()).collect();
        let changes = back.taken_together(&natural, self.dims(), element_of::<T>(self.fill()))?;
        self.update_anew(&back, &changes).map(drop)
    }

    /// Makes the tensor anew from its entries and changes in natural order.
    fn update_anew<T: Element>(&mut self, batch: &Batch<T>, changes: &Sorted<T>) -> Result<Updated, StorageError> {
        let stored = self.convert(&Format::csf(self.order()))?.to_coo()?;
        let fill = element_of::<T>(self.fill());
        let old = T::unwrap(&stored.values).map_or(&[][..], Vec::as_slice);
        let mut columns: Vec<Coordinates> = self.dims().iter().map(|size| Coordinates::for_size(*size)).collect();
        let (mut values, mut updated) = (Vec::with_capacity(old.len() + changes.numbers.len()), Updated::default());
        let mut take = |at: &[u64], value: T| {
            columns.iter_mut().zip(at).for_each(|(column, coordinate)| column.push(*coordinate));
            values.push(value);
        };
        let mut own = vec![0; self.order()];
        let mut next = changes.iter().peekable();
        for (k, value) in old.iter().enumerate() {
            own.iter_mut().zip(&stored.coords).for_each(|(own, column)| *own = column.get(k).unwrap_or_default());
            while let Some((number, change)) = next.next_if(|(number, _)| batch.at(*number) < own.as_slice()) {
                put_new(batch.at(number), change, fill, &mut updated, &mut take);
            }
            match next.next_if(|(number, _)| batch.at(*number) == own.as_slice()) {
                Some((_, change)) => match change.applied(*value) {
                    Some(new) => {
                        updated.changed += 1;
                        take(&own, new);
                    }
                    None => updated.removed += 1,
                },
                None => take(&own, *value),
            }
        }
        next.for_each(|(number, change)| put_new(batch.at(number), change, fill, &mut updated, &mut take));
        let list = Coo { dims: self.dims().to_vec(), coords: columns, values: T::wrap(values) };
        let (format, fill): (Format, _) = (self.format().clone(), self.fill());
        *self = Tensor::from_coo_filled(list, &format, fill)?;
        Ok(updated)
    }
}

/// Takes a change of an entry that is not stored.
fn put_new<T: Element>(
    at: &[u64],
    change: Change<T>,
    fill: T,
    updated: &mut Updated,
    take: &mut impl FnMut(&[u64], T),
) {
    if let Some(value) = change.fresh(fill) {
        take(at, value);
        updated.inserted += 1;
    }
}

/// A batch of more than one change for so many entries is merged with all that is stored.
const PART: u64 = 4;
/// A batch of so many changes is not.
const FEW: u64 = 64;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use lacunar_formats::{DType, FormatSpec};

    use super::*;
    use crate::nodes::limit;
    use crate::random::SplitMix;

    #[test]
    fn a_batch_that_nodes_cannot_hold_changes_nothing() {
        // A row of such nodes has 1, 3, 4, .. elements, but not 2.
        for text in ["d{btree<1>}", "{bst}{btree<1>}"] {
            let format = text.parse::<FormatSpec>().unwrap().resolve(2).unwrap();
            let mut tensor = Tensor::zeros(vec![5, 7], &format, DType::F64).unwrap();
            tensor.insert(&[4, 1], 7.0).unwrap();
            let before = tensor.to_string();
            let mut batch = Batch::new(2);
            for (at, value) in [([2, 0], 1.0), ([2, 6], 2.0), ([2, 3], 1.0), ([3, 5], 3.0), ([3, 6], 3.0)] {
                batch.set(&at, value);
            }
            let error = tensor.update(&batch).unwrap_err();
            assert!(matches!(error, StorageError::NotRepresentable { .. }), "{text}: {error}");
            assert_eq!((tensor.to_string(), tensor.nnz()), (before, 1), "{text}");
        }
    }

    #[test]
    fn without_memory_nothing_is_changed() {
        for text in ["d{btree<4>}", "{bst}{blist<4>}", "d{ctree<4>}", "{pactree<6,3>}{rbtree}"] {
            let format = text.parse::<FormatSpec>().unwrap().resolve(2).unwrap();
            let mut rng = SplitMix(5);
            let mut tensor = Tensor::zeros(vec![20, 1000], &format, DType::F64).unwrap();
            for _ in 0..400 {
                tensor.insert(&[rng.below(20), rng.below(1000)], rng.below(9) as f64).unwrap();
            }
            let entries = |tensor: &Tensor| tensor.convert(&Format::csf(2)).unwrap().to_coo().unwrap();
            let before = entries(&tensor);
            let mut batch = Batch::new(2);
            for k in 0..64 {
                // So many into three rows that these are made anew.
                let at = [rng.below(if k % 4 == 3 { 20 } else { 3 }), rng.below(1000)];
                match k % 8 {
                    0 => batch.remove(&[before.coords[0].get(k).unwrap(), before.coords[1].get(k).unwrap()]),
                    1 => batch.add(&[before.coords[0].get(k).unwrap(), before.coords[1].get(k).unwrap()], 1.0),
                    _ => batch.set(&at, 1.0),
                };
            }
            // Every limit from about the present size on, until one is enough.
            let mut refused = 0;
            for elements in (tensor.levels()[1].numbers(1).len() as u64 / 2..).step_by(40) {
                limit::ELEMENTS.set(elements);
                let updated = tensor.update(&batch);
                limit::ELEMENTS.set(u64::MAX);
                tensor.validate().unwrap();
                if updated.is_ok() {
                    break;
                }
                assert!(matches!(updated, Err(StorageError::Alloc(_))));
                assert_eq!(entries(&tensor), before, "{text}");
                refused += 1;
            }
            assert!(refused > 3, "{text}");
            assert_ne!(entries(&tensor), before);
        }
    }
}

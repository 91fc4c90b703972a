//! Compares the elements of a tensor with a structure.
//!
//! Every stored element that is redundant is compared with its unique one, which is searched; every one outside of the support is compared
//! with 0. The redundant elements that are not stored, although their unique one is not 0, are left. If none is missing, the nonzero
//! redundant elements are as many as follow from nonzero unique ones, which is a sum that takes no search: of a unique element, the
//! followers are counted (`followers.rs`). Only if the two numbers differ, the followers are searched one by one. So the work is
//! proportional to the stored elements, times the logarithm of a search: it stops at the first element that is missing.
//!
//! ```text
//! symmetric 3 x 3      (0,1) 5   (1,0) 5   (1,2) 7       nonzero and redundant: 1; followers of (0,1) and (1,2): 2
//!                                                        (2,1) is 0, but by its structure it is 7, as element (1, 2) is
//! ```
//!
//! The first element that contradicts is told, in the order of storage; one that is not stored stands where its unique one does. Threads
//! take parts of the storage, in order.

use std::sync::{Mutex, PoisonError};

use crate::{Number, Tensor as DynTensor, pool};
use lacunar_formats::Structure;

use super::error::{Contradiction, StructureError, zero_elsewhere};
use super::followers::Followers;
use super::numbers::{Elements, elements, is_zero, mean, same, zero};
use super::points::{Place, Points};
use super::table::Table;

/// A tensor of fewer stored values is looked at by one thread.
const FEW: u64 = 1 << 14;

/// The number of parts of the storage for each thread.
const PARTS: usize = 16;

/// A sample is so many entries of so many parts.
const SAMPLE: u64 = 16;
const SAMPLES: usize = 16;

/// Compares a tensor with a structure.
///
/// # Errors
/// The first element that contradicts; or why that can't be told.
pub(super) fn check(tensor: &DynTensor, structure: &Structure, params: &[i64]) -> Result<(), StructureError> {
    let points = Points::new(structure, params, tensor.dims())?;
    zero_elsewhere(tensor)?;
    let table = if points.parts.is_empty() { None } else { Some(Table::of(tensor)?) };
    with(tensor, &points, table.as_ref(), |check| check.run())
}

/// Checks that a structure is one of tensors of the sizes of one, of whose elements that is known.
///
/// # Errors
/// It is not.
pub(super) fn fits(tensor: &DynTensor, structure: &Structure, params: &[i64]) -> Result<(), StructureError> {
    Points::new(structure, params, tensor.dims()).map(|_| ())
}

/// True if a tensor that is its own table may have a structure, by a few of its elements, taken from everywhere.
///
/// # Errors
/// It can't be told what follows from a unique element.
pub(super) fn may_have(tensor: &DynTensor, points: &Points, table: &Table<'_>) -> Result<bool, StructureError> {
    with(tensor, points, Some(table), |check| {
        let check = Check { limit: SAMPLE, ..check };
        let holds = |part| check.compare(part, SAMPLES).is_ok() && check.search(part, SAMPLES).is_ok();
        Ok((0..SAMPLES).all(holds))
    })
}

/// Makes the data that a comparison needs.
fn with<R>(
    tensor: &DynTensor,
    points: &Points,
    table: Option<&Table<'_>>,
    run: impl FnOnce(Check<'_>) -> Result<R, StructureError>,
) -> Result<R, StructureError> {
    // If every element is stored, none is missing.
    let mut followers = Vec::new();
    if !tensor.format().is_dense() {
        for part in &points.parts {
            followers.push(Followers::of(&part.piece, &points.ranges).ok_or(StructureError::TooHard)?);
        }
    }
    let searched = table.map_or(tensor, Table::tensor);
    let (own, others) = (elements(tensor.values()), elements(searched.values()));
    run(Check { tensor, points, own: &*own, others: &*others, table, followers, limit: u64::MAX })
}

/// The number of parts that the walk through a tensor is cut into.
pub(super) fn parts(tensor: &DynTensor) -> usize {
    if tensor.nnz() < FEW { 1 } else { PARTS * pool::threads() }
}

struct Check<'a> {
    tensor: &'a DynTensor,
    points: &'a Points,
    own: &'a dyn Elements,
    others: &'a dyn Elements,
    /// `None` for a structure without redundant elements.
    table: Option<&'a Table<'a>>,
    /// By part of the redundancy; none where every element is stored.
    followers: Vec<Followers>,
    /// The number of entries of each part that are looked at.
    limit: u64,
}

/// The counts of a part of the storage, if nothing there contradicts.
#[derive(Clone, Copy, Default)]
struct Tally {
    /// Redundant elements that are not 0.
    redundant: u64,
    /// The number of redundant elements that follow from unique ones that are not 0.
    needed: u64,
}

/// An element that contradicts, and the number of the entry at which that is seen.
type Found = (u64, Box<Contradiction>);

/// The results of parts, and the first part that failed, with the reason.
type Done<R, E> = (Vec<R>, Option<(usize, E)>);

impl Check<'_> {
    fn run(&self) -> Result<(), StructureError> {
        let parts = parts(self.tensor);
        let (tallies, first) = ascending(parts, |part| self.compare(part, parts));
        let (sum, limit) = match &first {
            None => (tallies.iter().fold(Tally::default(), |sum, tally| sum.plus(tally)), parts),
            Some((part, _)) => (Tally { redundant: 0, needed: 1 }, part + 1),
        };
        let is_unique = self.tensor.format().levels().iter().all(|level| level.unique);
        let missing = if self.followers.is_empty() || (sum.redundant == sum.needed && is_unique) {
            None
        } else {
            ascending(limit, |part| self.search(part, parts)).1
        };
        let place = |(part, (entry, _)): &(usize, Found)| (*part, *entry);
        let worst = match (first, missing) {
            (Some(first), Some(missing)) => Some(if place(&missing) < place(&first) { missing } else { first }),
            (first, missing) => first.or(missing),
        };
        worst.map_or(Ok(()), |(_, (_, contradiction))| Err(StructureError::Element(contradiction)))
    }

    /// Compares the stored elements of a part with the elements that they follow from.
    fn compare(&self, part: usize, parts: usize) -> Result<Tally, Found> {
        let mut columns = self.points.scratch();
        let mut spare = self.spare();
        let mut target = vec![0; self.tensor.order()];
        let mut tally = Tally::default();
        let mut walk = self.tensor.part_of_walk(part, parts);
        let mut entry = 0;
        while let Some((coordinates, position)) = walk.next_entry().filter(|_| entry < self.limit) {
            load(&mut columns, coordinates);
            let found = self.own.number(position);
            match self.points.place(&mut columns) {
                Place::Unique => {
                    let multiple = self.points.multiple(&mut columns).map(|by| self.own.times(found, by));
                    if let Some(multiple) = multiple.filter(|multiple| !same(found, *multiple)) {
                        let source = Contradiction {
                            expected: self.own.scalar(mean(found, multiple)),
                            ..*self.contradiction(coordinates, found, None)
                        };
                        return Err((entry, Box::new(source)));
                    }
                    tally.needed = self.needed(found, &columns, &mut spare, tally.needed);
                }
                Place::Outside if is_zero(found) => {}
                Place::Outside => return Err((entry, self.contradiction(coordinates, found, None))),
                Place::Redundant(number) => {
                    let part = &self.points.parts[number];
                    part.target(&columns, &mut target);
                    let unique = self.table.and_then(|table| table.position(&target));
                    let unique = unique.map(|position| self.others.number(position));
                    let expected = unique.map_or(self.zero(), |unique| self.own.times(unique, part.by));
                    if !same(found, expected) {
                        let source = Some((expected, &target[..], number));
                        return Err((entry, self.contradiction(coordinates, found, source)));
                    }
                    tally.redundant += u64::from(!is_zero(found));
                }
            }
            entry += 1;
        }
        Ok(tally)
    }

    /// The number of nonzero elements that have to follow from the unique elements so far, this one included; the count may stop
    /// once it is more than are stored.
    fn needed(&self, found: Number, columns: &[i64], spare: &mut [i64], before: u64) -> u64 {
        let stored = self.tensor.nnz();
        let mut needed = before;
        if is_zero(found) || self.limit < u64::MAX {
            return needed;
        }
        for (followers, part) in self.followers.iter().zip(&self.points.parts) {
            if needed > stored {
                break;
            }
            if !is_zero(self.own.times(found, part.by)) {
                spare[..self.tensor.order()].copy_from_slice(&columns[..self.tensor.order()]);
                needed = needed.saturating_add(followers.count(spare, stored + 1 - needed));
            }
        }
        needed
    }

    /// Searches all that follows from the unique elements of a part. `Ok` if nothing is missing.
    fn search(&self, part: usize, parts: usize) -> Result<(), Found> {
        let order = self.tensor.order();
        let mut columns = self.points.scratch();
        let mut spare = self.spare();
        let mut point = vec![0; order];
        let mut walk = self.tensor.part_of_walk(part, parts);
        let mut entry = 0;
        while let Some((coordinates, position)) = walk.next_entry().filter(|_| entry < self.limit) {
            load(&mut columns, coordinates);
            let found = self.own.number(position);
            if !is_zero(found) && self.points.place(&mut columns) == Place::Unique {
                for (number, followers) in self.followers.iter().enumerate() {
                    let expected = self.own.times(found, self.points.parts[number].by);
                    if is_zero(expected) {
                        continue;
                    }
                    load(&mut spare, coordinates);
                    let all = followers.each(&mut spare, &mut |follower| {
                        point.iter_mut().zip(follower).for_each(|(slot, at)| *slot = *at as u64);
                        self.table.is_some_and(|table| table.position(&point).is_some())
                    });
                    if !all {
                        let source = Some((expected, coordinates, number));
                        return Err((entry, self.contradiction(&point, self.zero(), source)));
                    }
                }
            }
            entry += 1;
        }
        Ok(())
    }

    fn contradiction(
        &self,
        coordinates: &[u64],
        found: Number,
        source: Option<(Number, &[u64], usize)>,
    ) -> Box<Contradiction> {
        let expected = source.map_or(self.zero(), |(expected, ..)| expected);
        Box::new(Contradiction {
            coordinates: coordinates.to_vec(),
            found: self.own.scalar(found),
            expected: self.own.scalar(expected),
            source: source.map(|(_, unique, part)| (unique.to_vec(), self.points.parts[part].by)),
        })
    }

    fn zero(&self) -> Number {
        zero(self.tensor.dtype())
    }

    /// Columns for followers.
    fn spare(&self) -> Vec<i64> {
        vec![0; self.followers.iter().map(|followers| followers.columns).max().unwrap_or(0)]
    }
}

impl Tally {
    fn plus(self, other: &Tally) -> Tally {
        let needed = self.needed.saturating_add(other.needed);
        Tally { redundant: self.redundant + other.redundant, needed }
    }
}

/// Sets the first columns to coordinates, which fit as sizes do.
#[inline]
pub(super) fn load(columns: &mut [i64], coordinates: &[u64]) {
    columns.iter_mut().zip(coordinates).for_each(|(slot, coordinate)| *slot = *coordinate as i64);
}

/// Works on parts with several threads; those behind the first that fails may be left out. The results, in any order, and the first
/// failure, with its part.
fn ascending<R: Send, E: Send>(parts: usize, work: impl Fn(usize) -> Result<R, E> + Sync) -> Done<R, E> {
    let done: Mutex<Done<R, E>> = Mutex::new((Vec::new(), None));
    pool::run_ascending(0, parts as i64, &|part| {
        let part = part as usize;
        let result = work(part);
        let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
        match result {
            Ok(result) => done.0.push(result),
            Err(error) => {
                if done.1.as_ref().is_none_or(|(first, _)| part < *first) {
                    done.1 = Some((part, error));
                }
                return 1;
            }
        }
        0
    });
    done.into_inner().unwrap_or_else(PoisonError::into_inner)
}

//! Tensors that have a structure, made of others: the unique elements alone, or with all that follows from them.
//!
//! On entry: a tensor of any format. On exit: one in the same format, with the entries of it that are unique, and as many more as follow
//! from these (`followers.rs`); entries that the structure says something else of are left out.
//!
//! ```text
//! symmetric of     1 2 3      unique     1 2 3      with all that follows     1 2 3
//!                  4 5 6                 . 5 6                                2 5 6
//!                  7 8 9                 . . 9                                3 6 9
//! ```

use std::sync::{Mutex, PoisonError};

use crate::{AllocError, Coo, Coordinates, StorageError, Tensor as DynTensor, pool};
use lacunar_formats::Structure;
use lacunar_sets::Coefficient;

use super::check::{load, parts};
use super::dense::remade;
use super::error::{StructureError, zero_elsewhere};
use super::followers::Followers;
use super::numbers::{elements, set_means};
use super::points::{Place, Points};

/// The unique elements of a tensor.
///
/// # Errors
/// The structure is of other tensors, or memory is refused.
pub(super) fn keep_unique(
    tensor: &DynTensor,
    structure: &Structure,
    params: &[i64],
) -> Result<DynTensor, StructureError> {
    let points = Points::new(structure, params, tensor.dims())?;
    zero_elsewhere(tensor)?;
    if tensor.format().is_dense() {
        return Ok(settled(remade(tensor, &points, false)?, &points));
    }
    Making { tensor, points, followers: Vec::new() }.run()
}

/// The unique elements of a tensor, and all that follows from them.
///
/// # Errors
/// The structure is of other tensors, it can't be told what follows, or memory is refused.
pub(super) fn with_structure(
    tensor: &DynTensor,
    structure: &Structure,
    params: &[i64],
) -> Result<DynTensor, StructureError> {
    let points = Points::new(structure, params, tensor.dims())?;
    zero_elsewhere(tensor)?;
    if tensor.format().is_dense() {
        return Ok(settled(remade(tensor, &points, true)?, &points));
    }
    let followers = points.parts.iter().map(|part| Followers::of(&part.piece, &points.ranges));
    let followers = followers.collect::<Option<Vec<_>>>().ok_or(StructureError::TooHard)?;
    Making { tensor, points, followers }.run()
}

/// The tensor with unique elements that equal multiples of themselves: of others, what they have in common with these.
fn settled(mut tensor: DynTensor, points: &Points) -> DynTensor {
    if !points.has_multiples() {
        return tensor;
    }
    let mut columns = points.scratch();
    let mut found: Option<(Vec<usize>, Coefficient)> = None;
    let mut walk = tensor.part_of_walk(0, 1);
    while let Some((coordinates, position)) = walk.next_entry() {
        load(&mut columns, coordinates);
        if points.place(&mut columns) == Place::Unique
            && let Some(by) = points.multiple(&mut columns)
        {
            found.get_or_insert_with(|| (Vec::new(), by)).0.push(position);
        }
    }
    drop(walk);
    if let Some((places, by)) = found {
        let (.., values) = tensor.parts_mut();
        set_means(values, &places, by);
    }
    tensor
}

struct Making<'a> {
    tensor: &'a DynTensor,
    points: Points,
    /// By part of the redundancy; none if only unique elements are kept.
    followers: Vec<Followers>,
}

/// Entries: their coordinates one after the other, and the position of the value that each is made of, with a coefficient.
#[derive(Default)]
struct Entries {
    coordinates: Vec<u64>,
    values: Vec<(usize, Coefficient)>,
}

impl Entries {
    fn push(
        &mut self,
        coordinates: impl ExactSizeIterator<Item = u64>,
        position: usize,
        by: Coefficient,
    ) -> Result<(), AllocError> {
        let refused = |_| AllocError { bytes: (8 * coordinates.len()) as u64 };
        self.values.try_reserve(1).map_err(refused)?;
        self.coordinates.try_reserve(coordinates.len()).map_err(refused)?;
        self.coordinates.extend(coordinates);
        self.values.push((position, by));
        Ok(())
    }
}

impl Making<'_> {
    fn run(&self) -> Result<DynTensor, StructureError> {
        let parts = parts(self.tensor);
        let mut made: Vec<Option<Result<Entries, AllocError>>> = Vec::new();
        made.resize_with(parts, || None);
        let made = Mutex::new(made);
        pool::run(0, parts as i64, &|part| {
            let entries = self.entries(part as usize, parts);
            made.lock().unwrap_or_else(PoisonError::into_inner)[part as usize] = Some(entries);
            0
        });
        let made = made.into_inner().unwrap_or_else(PoisonError::into_inner);
        let made = made.into_iter().flatten().collect::<Result<Vec<Entries>, AllocError>>()?;
        Ok(settled(self.list(made)?, &self.points))
    }

    /// The entries of a part of the storage that are kept, and those that follow from them.
    fn entries(&self, part: usize, parts: usize) -> Result<Entries, AllocError> {
        let mut columns = self.points.scratch();
        let mut spare = vec![0; self.followers.iter().map(|followers| followers.columns).max().unwrap_or(0)];
        let mut entries = Entries::default();
        let mut walk = self.tensor.part_of_walk(part, parts);
        while let Some((coordinates, position)) = walk.next_entry() {
            load(&mut columns, coordinates);
            if self.points.place(&mut columns) != Place::Unique {
                continue;
            }
            entries.push(coordinates.iter().copied(), position, Coefficient::ONE)?;
            for (followers, part) in self.followers.iter().zip(&self.points.parts) {
                load(&mut spare, coordinates);
                let mut result = Ok(());
                followers.each(&mut spare, &mut |follower| {
                    result = entries.push(follower.iter().map(|&at| at as u64), position, part.by);
                    result.is_ok()
                });
                result?;
            }
        }
        Ok(entries)
    }

    /// A tensor of entries in the format of the first one.
    fn list(&self, made: Vec<Entries>) -> Result<DynTensor, StorageError> {
        let (tensor, order) = (self.tensor, self.tensor.order());
        let mut coords: Vec<Coordinates> = tensor.dims().iter().map(|&size| Coordinates::for_size(size)).collect();
        let mut places = Vec::new();
        for entries in made {
            for (dim, column) in coords.iter_mut().enumerate() {
                entries.coordinates.iter().skip(dim).step_by(order).for_each(|&coordinate| column.push(coordinate));
            }
            places.extend(entries.values);
        }
        let values = elements(tensor.values()).gathered(&places)?;
        let list = Coo { dims: tensor.dims().to_vec(), coords, values };
        DynTensor::from_coo_filled(list, tensor.format(), tensor.fill())
    }
}

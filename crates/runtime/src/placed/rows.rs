//! The way back from slots: a matrix whose rows are stored in slots, with a coordinate in each or none, by rows.
//!
//! The places of a row's slots follow from its number, so that entries are counted and then taken row after row, by
//! threads that share the rows. Slots may have been filled in any order: rows that do not ascend are sorted.
//!
//! ```text
//! sell(2) of 3 rows    pos 0 2 3   slots (0 and 1 of rows 0 1), (0 of row 2 and of none)   crd 1 0, 2 -, 0 -
//! row 0: places 0 2    row 1: places 1 3    row 2: place 4         counts 2 1 1     csr: pos 0 2 3 4   crd 1 2 0 0
//! ```
//!
//! On exit nothing but the result has been made, and a number for each row where rows are stored by ranks.

#![allow(unsafe_code)]

use lacunar_formats::Format;

use super::Placing;
use crate::array::Array;
use crate::buffer::{Buffer, Indices, Number};
use crate::error::StorageError;
use crate::fits::{positions, strides, widen};
use crate::forms::{Form, Weight};
use crate::index_array::{index_array, of_width};
use crate::moved::{BLOCK, Moved};
use crate::parallel;
use crate::sort::{self, Key};
use crate::storage::LevelStorage;
use crate::tensor::Tensor;
use crate::values::Element;

/// The places of the slots of rows.
struct Slots<'a> {
    /// The first slot of each bin.
    edges: Indices<'a>,
    /// The number of rows in a bin; 0 if there is one bin.
    rows_of_bin: u64,
    /// The number of places in a slot.
    block: u64,
    /// The place of a rank in them.
    start: u64,
    weight: Weight<u64>,
    /// The rank of each row, where it is not its number.
    ranks: Option<&'a [u64]>,
}

impl Slots<'_> {
    /// The places of a row's slots.
    #[inline(always)]
    fn of_row(&self, row: usize) -> impl Iterator<Item = usize> {
        let rank = self.ranks.map_or(row as u64, |ranks| ranks[row]);
        let bin = rank.checked_div(self.rows_of_bin).unwrap_or(0) as usize;
        let (block, inside) = (self.block, self.start.wrapping_add(self.weight.of(rank)));
        (self.edges.get(bin)..self.edges.get(bin + 1)).map(move |slot| (slot * block + inside) as usize)
    }
}

/// A matrix that is stored in slots ([`super::slots`]), by rows; `ranks` are those of its rows, if it is stored by
/// them.
///
/// # Errors
/// Memory is refused.
pub fn rows(tensor: &Tensor, placing: &Placing, ranks: Option<&[u64]>) -> Result<Tensor, StorageError> {
    let missing = || StorageError::overflow("the number of slots");
    let (counted, first) = placing.counted.zip(placing.first).ok_or_else(missing)?;
    let last = placing.terms.len() - 1;
    let target = placing.stage()?;
    let inner = placing.inner_sizes()?;
    let mut place = Form::<u64>::zero(tensor.order());
    for (level, stride) in (counted + 1..last).zip(strides(&inner)?) {
        place.add_term(placing.terms[level], stride, (&target, tensor.dims()));
    }
    let slots = Slots {
        edges: tensor.levels()[counted].numbers(0),
        rows_of_bin: placing.block,
        block: positions(1, &inner)?,
        start: place.start(),
        weight: place.weight(0),
        ranks,
    };
    let rows = usize::try_from(tensor.dims()[first]).map_err(|_| StorageError::overflow("the size of a dimension"))?;
    match tensor.levels()[last].numbers(0) {
        Indices::U8(crd) => by_rows::<_, u32>(tensor, &slots, crd, (rows, target)),
        Indices::U16(crd) => by_rows::<_, u32>(tensor, &slots, crd, (rows, target)),
        Indices::U32(crd) => by_rows::<_, u32>(tensor, &slots, crd, (rows, target)),
        Indices::U64(crd) => by_rows::<_, u64>(tensor, &slots, crd, (rows, target)),
    }
}

/// Calls `take` with places, block after block.
fn in_blocks(places: impl Iterator<Item = usize>, mut take: impl FnMut(&[u64])) {
    let (mut block, mut len) = ([0; BLOCK], 0);
    places.for_each(|place| {
        if len == BLOCK {
            take(&block);
            len = 0;
        }
        block[len] = place as u64;
        len += 1;
    });
    take(&block[..len]);
}

/// The matrix by rows, of coordinates in slots; they fit `K`.
fn by_rows<C: Number, K: Key + Number + Element>(
    tensor: &Tensor,
    slots: &Slots,
    crd: &[C],
    (rows, format): (usize, Format),
) -> Result<Tensor, StorageError> {
    let none = C::of(u64::MAX);
    let entries = |row: usize| slots.of_row(row).filter(|place| crd[*place] != none);
    let edges = parallel::edges(rows, |row| entries(row).count() as u64)?;
    let (shares, lengths) = parallel::shares(&edges);
    let total = lengths.iter().sum::<usize>();
    // SAFETY: shares take as many values as they were found to have, one behind the other.
    let values = unsafe { Moved::new(tensor.values(), total)? };
    let mut keys = Array::<K>::in_parts(&lengths, &|share, mut room| {
        let rows = shares[share].clone();
        let mut first = edges[rows.start] as usize;
        in_blocks(rows.flat_map(entries), |places| {
            places.iter().for_each(|&place| room.put(K::of(crd[place as usize].get())));
            // SAFETY: nobody else takes values to the places of this share.
            unsafe { values.take(places, first) };
            first += places.len();
        });
        room
    })?;
    let mut values = values.into_buffer();
    let size = tensor.dims()[format.mode_order()[1]];
    let bits = u64::BITS - size.saturating_sub(1).leading_zeros();
    sort_rows(&mut keys, &mut values, &edges, bits)?;
    let dims = tensor.dims().to_vec();
    let format = widen(&format, &dims, values.len() as u64);
    let pos = index_array(edges.len(), format.positions(1), |row| edges[row])?;
    let crd = of_width(Buffer::from_array(keys), format.coordinates(1))?;
    let levels = vec![LevelStorage::dense(rows as u64), LevelStorage::compressed(pos, crd)];
    Ok(Tensor::assemble(dims, format, levels, values))
}

/// Sorts rows that do not ascend.
fn sort_rows<K: Key>(keys: &mut [K], values: &mut Buffer, edges: &[u64], bits: u32) -> Result<(), StorageError> {
    let ascends = |row: usize| keys[edges[row] as usize..edges[row + 1] as usize].is_sorted();
    if parallel::first(edges.len() - 1, |row| (!ascends(row)).then_some(())).is_some() {
        // There are at most as many entries as 32 bits can count, or nothing is placed.
        let offsets = Array::<u32>::of(edges.len(), |row| edges[row] as u32)?;
        sort::sort_bins(keys, values, &offsets, bits)?;
    }
    Ok(())
}

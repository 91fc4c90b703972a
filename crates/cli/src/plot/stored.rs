//! The places that a format stores besides a tensor's entries: padding, and the blocks and diagonals that it belongs
//! to.
//!
//! The map decides the regions of a matrix: blocks, if a level stores quotients; diagonals, if it stores differences. A
//! region is there if some place of it is stored. Slices of sorted rows are no regions, as they lie in pieces.
//!
//! ```text
//! dia of a 3 x 4 matrix      | a + . . |   entries a b c, places + that fill up
//!                            | . + b . |   two diagonals of three places, 50% full
//!                            | . . c + |
//! ```

use lacunar_draw::words::{density, grouped};
use std::collections::BTreeSet;

use lacunar::{Coo, Diagnostic, DynTensor, Format};
use lacunar_formats::Term;

use crate::failure::Failure;
use lacunar_base::amounts::bytes_text;

/// The places that a format stores for a tensor.
#[derive(Debug)]
pub struct Stored {
    /// Every place with coordinates of the tensor, entry or not.
    pub places: Coo,
    /// Blocks and diagonals of a matrix.
    pub regions: Vec<Region>,
    /// The format, how full it is, and the bytes that it takes.
    pub caption: String,
}

/// A part of a matrix that is stored as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Region {
    /// From the first row and column up to but not including the end.
    Block {
        /// The first row and column.
        first: [u64; 2],
        /// Behind the last row and column.
        end: [u64; 2],
    },
    /// A diagonal.
    Diagonal {
        /// The row and column of its first place.
        first: [u64; 2],
        /// The number of places.
        len: u64,
    },
}

/// The most places that are drawn: as a list they take 2 GB.
const MOST: u64 = 100_000_000;
/// A matrix that has so many times as many rows as it stores places is compared with a format that lists its rows.
const FEW: u64 = 1024;

impl Stored {
    /// The places that a tensor stores.
    ///
    /// # Errors
    /// The tensor stores too many places, or memory is refused.
    pub fn of(tensor: DynTensor) -> Result<Stored, Failure> {
        let stored = tensor.nnz();
        if stored > MOST {
            let message = format!("{} stores {} places, which are too many to draw", tensor.format(), grouped(stored));
            let hint = "leave `-f` away: the entries alone are drawn, however large the tensor is";
            return Err(Failure::plain(Diagnostic::error("E1016", message).hint(hint)));
        }
        // Only the unique elements of a packed tensor have places.
        let places = match tensor.format().packing() {
            Some(_) => tensor.as_unpacked()?.to_coo()?,
            None => tensor.to_coo()?,
        };
        let regions = regions(tensor.format(), &places);
        let order = tensor.order();
        let rows = tensor.dims().first().copied().unwrap_or(0);
        let plain = if order == 2 && rows / FEW <= stored { Format::csr() } else { Format::csf(order) };
        // Zeros that fill up are left out.
        let entries = tensor.convert(&plain)?;
        let kinds = match regions.first() {
            Some(Region::Block { .. }) => format!("{} blocks, ", grouped(regions.len() as u64)),
            Some(Region::Diagonal { .. }) => format!("{} diagonals, ", grouped(regions.len() as u64)),
            None => String::new(),
        };
        let caption = format!(
            "{}: {kinds}{} of {} stored places are entries; {}, {:.2} times the {} of {plain}",
            tensor.format(),
            density(entries.nnz(), stored as f64),
            grouped(stored),
            bytes_text(tensor.bytes()),
            tensor.bytes() as f64 / entries.bytes().max(1) as f64,
            bytes_text(entries.bytes()),
        );
        Ok(Stored { places, regions, caption })
    }
}

/// The regions in which something is stored.
fn regions(format: &Format, places: &Coo) -> Vec<Region> {
    let (Some(map), &[rows, columns]) = (format.map(), places.dims.as_slice()) else { return Vec::new() };
    if map.ranked().is_some() {
        // Rows of one slice are no neighbors.
        return Vec::new();
    }
    let sizes = [rows, columns];
    let at = |k: usize| [0, 1].map(|d: usize| places.coords[d].get(k).unwrap_or(0));
    if map.terms().iter().any(|term| matches!(term, Term::Difference(..))) {
        // The first place of the diagonal through each place.
        let first = |[row, column]: [u64; 2]| [row - row.min(column), column - row.min(column)];
        let all: BTreeSet<[u64; 2]> = (0..places.len()).map(|k| first(at(k))).collect();
        let len = |[row, column]: [u64; 2]| (rows - row).min(columns - column);
        return all.into_iter().map(|first| Region::Diagonal { first, len: len(first) }).collect();
    }
    let block = |d: usize| {
        let size = |term: &Term| match *term {
            Term::Quotient(of, size) if of == d => Some(u64::from(size)),
            _ => None,
        };
        map.terms().iter().find_map(size)
    };
    let blocks = [block(0), block(1)];
    if blocks == [None, None] {
        return Vec::new();
    }
    let size = |d: usize| blocks[d].unwrap_or(sizes[d].max(1));
    let number = |at: [u64; 2]| [at[0] / size(0), at[1] / size(1)];
    let all: BTreeSet<[u64; 2]> = (0..places.len()).map(|k| number(at(k))).collect();
    let edge = |d: usize, number: u64| number.saturating_mul(size(d)).min(sizes[d]);
    all.into_iter()
        .map(|number| Region::Block {
            first: [edge(0, number[0]), edge(1, number[1])],
            end: [edge(0, number[0] + 1), edge(1, number[1] + 1)],
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lacunar::FormatSpec;
    use lacunar_runtime::{Coordinates, Values};

    fn stored(format: &str, dims: [u64; 2], entries: &[[u64; 2]]) -> Stored {
        let column = |d: usize| Coordinates::U32(entries.iter().map(|entry| entry[d] as u32).collect());
        let values = Values::F64(vec![1.0; entries.len()]);
        let coo = Coo { dims: dims.to_vec(), coords: vec![column(0), column(1)], values };
        let format = format.parse::<FormatSpec>().expect("a format").resolve(2).expect("of a matrix");
        Stored::of(DynTensor::from_coo(coo, &format).expect("stored")).expect("memory")
    }

    #[test]
    fn blocks_end_with_the_matrix() {
        let found = stored("bcsr(2,3)", [3, 4], &[[0, 0], [2, 3]]);
        let block = |first, end| Region::Block { first, end };
        assert_eq!(found.regions, [block([0, 0], [2, 3]), block([2, 3], [3, 4])]);
        // One place of the second block is inside.
        assert_eq!(found.places.len(), 7);
        assert!(found.caption.starts_with("bcsr(2,3): 2 blocks, 16.7% of 12 stored places are entries; "));
        let slices = stored("sell(2)", [5, 4], &[[0, 0], [0, 1], [4, 3]]);
        assert_eq!(slices.regions, [block([0, 0], [2, 4]), block([4, 0], [5, 4])]);
        let sorted = stored("sell(2,4)", [5, 4], &[[1, 0], [3, 1], [1, 3]]);
        assert_eq!((sorted.regions.len(), sorted.places.len()), (0, 3));
    }

    #[test]
    fn diagonals_begin_at_an_edge() {
        let found = stored("dia", [3, 4], &[[1, 2], [2, 0]]);
        let diagonal = |first, len| Region::Diagonal { first, len };
        assert_eq!(found.regions, [diagonal([0, 1], 3), diagonal([2, 0], 1)]);
        assert!(found.caption.contains("2 diagonals, 33.3% of 6"), "{}", found.caption);
    }

    #[test]
    fn what_cannot_be_drawn_is_refused_and_large_sizes_are_no_matter() {
        let coo = Coo {
            dims: vec![60_000_000; 2],
            coords: vec![Coordinates::U32(vec![0, 1]), Coordinates::U32(vec![0, 0])],
            values: Values::F64(vec![1.0; 2]),
        };
        let diagonals = DynTensor::from_coo(coo, &Format::dia()).expect("stored");
        let refused = Stored::of(diagonals).expect_err("120 million places").to_string();
        assert!(refused.contains("E1016") && refused.contains("too many to draw"), "{refused}");
        let coo = Coo {
            dims: vec![1 << 40; 2],
            coords: vec![Coordinates::U64(vec![1 << 39]), Coordinates::U64(vec![7])],
            values: Values::F64(vec![1.0]),
        };
        let listed = Stored::of(DynTensor::from_coo(coo, &Format::coo(2)).expect("stored")).expect("drawn");
        assert!(listed.caption.contains("100% of 1 "), "{}", listed.caption);
    }

    #[test]
    fn formats_without_a_map_have_no_regions() {
        let found = stored("dk", [2, 9], &[[0, 1], [0, 4]]);
        assert_eq!((found.regions.len(), found.places.len()), (0, 4));
        assert!(stored("csr", [2, 9], &[[0, 1]]).caption.contains("100% of 1 "));
        assert!(stored("dia", [0, 0], &[]).regions.is_empty());
    }
}

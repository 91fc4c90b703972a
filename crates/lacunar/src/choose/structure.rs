//! The properties of a matrix that its storage depends on: lengths of rows, blocks, diagonals.
//!
//! Counts are exact for small matrices, and estimated from a sample of bands of neighboring rows otherwise, so that they take less
//! time than a few products with a vector:
//!
//! ```text
//! rows   0 ......|####|..........|####|..........|####|......   bands, evenly spaced
//! slots and strips: of bands of rows, by their lengths alone; blocks and diagonals: of narrow bands, by their columns
//! ```
//!
//! Papers: Vuduc, *Automatic Performance Tuning of Sparse Matrix Kernels* (2003), §3 (the fill of blocks estimated from a sample of
//! rows); Kreutzer et al., *A Unified Sparse Matrix Data Format* (SISC 2014), §4 (windows of rows sorted by their lengths).

use std::ops::Range;

use lacunar_runtime::Predictor;
use lacunar_runtime::lists::Lists;
use rustc_hash::FxHashSet;

/// Sizes of square blocks that are counted.
pub(super) const BLOCKS: [u64; 5] = [2, 3, 4, 6, 8];
/// Rows of a slice: the lanes of a vector.
pub(super) const SLICE: u64 = 8;
/// Windows in which rows may be sorted, the smallest first: in larger ones, neighboring rows are less likely to read neighboring
/// elements of the vector. The first sorts nothing.
pub(super) const WINDOWS: [u64; 5] = [SLICE, 64, 256, 1024, 8192];
/// The entries of a row that loops in vector lanes take at once.
const STRIP: u64 = 8;
/// Longer rows than of so many strips are not told from shorter ones.
const FEW_STRIPS: u64 = 16;
/// Rows of a narrow band: whole blocks of every size.
const BAND: usize = 24;
/// Columns of a piece: whole blocks of every size.
const PIECE: u64 = 16 * BAND as u64;
/// Blocks less full than this are of no use, and larger ones are not counted.
const LEAST_FULL: f64 = 0.4;
/// Rows whose lengths are looked at, and entries whose columns are; in larger matrices, those of a sample.
const ROWS: usize = 1 << 15;
const ENTRIES: usize = 1 << 15;

/// Counts of a matrix of listed rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Structure {
    /// Rows with entries.
    pub full_rows: f64,
    /// Rows whose ends a processor does not foresee: they take another number of strips of a vector's lanes than the row that last followed two
    /// rows with as many strips as the two before them.
    pub changes: f64,
    /// For each of [`WINDOWS`], the slots of all slices, and the slices with another number of them than the slice before.
    pub slots: [(f64, f64); WINDOWS.len()],
    /// For each of [`BLOCKS`], how many blocks have entries.
    pub blocks: [f64; BLOCKS.len()],
}

impl Structure {
    /// The counts of a matrix whose rows are listed.
    pub fn of(lists: Lists<'_>) -> Structure {
        let (rows, entries) = (lists.len(), lists.entries());
        let mut structure = Structure::default();
        // The sample has whole windows, so that sorting has the same effect in it as in the matrix.
        let window = WINDOWS[WINDOWS.len() - 1] as usize;
        let wide = bands(rows, window, ROWS);
        structure.count_lengths(lists, &wide);
        let narrow = bands(rows, BAND, (rows as f64 * ENTRIES as f64 / entries.max(1) as f64) as usize);
        structure.count_blocks(lists, &narrow);
        structure
    }

    fn count_lengths(&mut self, lists: Lists<'_>, bands: &[Range<usize>]) {
        let (mut seen, mut entries, mut longest) = (0, 0, 0);
        let mut lengths: Vec<u64> = Vec::new();
        let mut predictor = Predictor::<{ (FEW_STRIPS * FEW_STRIPS) as usize }>::new(FEW_STRIPS as usize);
        for band in bands {
            seen += band.len();
            lengths.clear();
            lengths.extend(band.clone().map(|place| lists.row(place).1.len() as u64));
            entries += lengths.iter().sum::<u64>();
            longest = lengths.iter().fold(longest, |longest, length| longest.max(*length));
            self.full_rows += lengths.iter().filter(|length| **length > 0).count() as f64;
            let strips = lengths.iter().map(|length| (length.div_ceil(STRIP) % FEW_STRIPS) as usize);
            self.changes += strips.filter(|strips| predictor.misses(*strips)).count() as f64;
            for (window, (slots, changes)) in WINDOWS.into_iter().zip(&mut self.slots) {
                let mut before = 0;
                for rows in lengths.chunks_mut(window as usize) {
                    // The longest first: each slice is as long as its first row. Rows that smaller windows have sorted stay so.
                    rows.sort_unstable_by(|a, b| b.cmp(a));
                    for slice in rows.iter().step_by(SLICE as usize) {
                        *slots += *slice as f64;
                        *changes += f64::from(u8::from(*slice != before));
                        before = *slice;
                    }
                }
            }
        }
        let (of_rows, of_entries) = (ratio(lists.len(), seen), ratio(lists.entries(), entries as usize));
        self.full_rows *= of_rows;
        self.changes *= of_rows;
        // A row that is longer than all of the sample is a slice's longest.
        let missed = (0..lists.len()).map(|place| lists.row(place).1.len() as u64).max().unwrap_or(0);
        for (slots, changes) in &mut self.slots {
            *slots = *slots * of_entries + missed.saturating_sub(longest) as f64;
            *changes *= of_rows;
        }
    }

    fn count_blocks(&mut self, lists: Lists<'_>, bands: &[Range<usize>]) {
        let mut entries = 0;
        let mut columns = Vec::new();
        let mut empty = false;
        for (block, count) in BLOCKS.into_iter().zip(&mut self.blocks) {
            // A block of any size is in blocks of 2 x 2 that are half full at least, or nearly.
            if empty {
                *count = entries as f64;
                continue;
            }
            entries = 0;
            for band in bands {
                let (mut current, thinned) = (u64::MAX, thinned(lists, band));
                for (row, places) in band.clone().map(|place| lists.row(place)) {
                    if row / block != current {
                        *count += distinct(&mut columns) as f64;
                        current = row / block;
                    }
                    let before = columns.len();
                    let taken = places
                        .map(|place| lists.column(place))
                        .filter(|column| (column / PIECE).is_multiple_of(thinned));
                    columns.extend(taken.map(|column| column / block));
                    entries += columns.len() - before;
                }
                *count += distinct(&mut columns) as f64;
            }
            empty = (entries as f64) < LEAST_FULL * *count * (block * block) as f64;
        }
        let scale = ratio(lists.entries(), entries);
        self.blocks.iter_mut().for_each(|count| *count *= scale);
    }
}

/// In a band, one of this many pieces of columns is looked at: some pieces of long rows have enough entries.
fn thinned(lists: Lists<'_>, band: &Range<usize>) -> u64 {
    let longest = band.clone().map(|place| lists.row(place).1.len()).max().unwrap_or(0);
    longest.div_ceil(ENTRIES / BAND).max(1) as u64
}

/// The number of diagonals with entries in a matrix of these sizes; `None` if they are more than `most`.
pub(super) fn count_diagonals(lists: Lists<'_>, [rows, columns]: [u64; 2], most: u64) -> Option<u64> {
    let all = rows.checked_add(columns)?;
    // A bit for each diagonal, where that takes less than the matrix.
    let words = if all / 64 <= lists.entries() as u64 { all.div_ceil(64) as usize } else { 0 };
    let (mut bits, mut seen, mut found) = (vec![0u64; words], FxHashSet::default(), 0);
    let mut count = |range: Range<usize>| {
        range.into_iter().all(|place| {
            let (row, places) = lists.row(place);
            places.into_iter().all(|place| {
                let diagonal = lists.column(place) + (rows - 1 - row);
                let new = match bits.get_mut((diagonal / 64) as usize) {
                    Some(word) => {
                        let bit = 1 << (diagonal % 64);
                        let new = *word & bit == 0;
                        *word |= bit;
                        new
                    }
                    None => seen.insert(diagonal),
                };
                found += u64::from(new);
                found <= most
            })
        })
    };
    // A sample says soonest that they are too many.
    let few = bands(lists.len(), BAND, ROWS / 16).into_iter().all(&mut count);
    (few && count(0..lists.len())).then_some(found)
}

/// The number of different numbers; the list is emptied.
fn distinct(numbers: &mut Vec<u64>) -> usize {
    // Rows that are in order each.
    numbers.sort();
    numbers.dedup();
    let count = numbers.len();
    numbers.clear();
    count
}

/// Bands of so many neighbors of `all`, evenly spaced, about `wanted` in all; everything if that is not much more.
fn bands(all: usize, width: usize, wanted: usize) -> Vec<Range<usize>> {
    let whole = all.div_ceil(width);
    let count = wanted.div_ceil(width).clamp(1, whole.max(1));
    if 2 * count >= whole {
        return (0..whole).map(|band| band * width..all.min((band + 1) * width)).collect();
    }
    let start = |band: usize| (band * whole + whole / 2) / count * width;
    (0..count).map(|band| start(band)..all.min(start(band) + width)).collect()
}

fn ratio(all: usize, seen: usize) -> f64 {
    if seen == 0 { 0.0 } else { all as f64 / seen as f64 }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{Format, Tensor};

    #[test]
    fn a_sample_is_evenly_spaced_and_whole_where_that_is_hardly_more() {
        assert_eq!(bands(100, 24, 1000), [0..24, 24..48, 48..72, 72..96, 96..100]);
        let some = bands(24_000, 24, 240);
        assert_eq!((some.len(), some[0].clone(), some[9].clone()), (10, 1200..1224, 22_800..22_824));
        assert_eq!(bands(0, 24, 1000), []);
    }

    #[test]
    fn long_rows_are_sampled_across_all_columns() {
        // Full blocks in the first tenth of the columns, single entries in the rest.
        let at = |i: u64, j: u64| j < 3000 || (i + j).is_multiple_of(7);
        let (rows, columns): (Vec<u64>, Vec<u64>) =
            (0..18).flat_map(|i| (0..30_000).filter(move |j| at(i, *j)).map(move |j| (i, j))).unzip();
        let values = vec![1.0; rows.len()];
        let matrix = Tensor::from_triplets([18, 30_000], &rows, &columns, &values, Format::csr()).unwrap();
        let structure = Structure::of(Lists::of(matrix.as_dyn()).unwrap());
        // Five of seven blocks of 3 x 3 hold one of the single entries.
        let all = 18.0 * 3000.0 / 9.0 + 18.0 * 27_000.0 / 9.0 * 5.0 / 7.0;
        assert!((structure.blocks[1] / all - 1.0).abs() < 0.2, "{structure:?} {all}");
    }

    #[test]
    fn diagonals_are_counted_up_to_a_number() {
        let line = |rows: &[u64], columns: &[u64], size: u64| {
            let values = vec![1.0; rows.len()];
            Tensor::from_triplets([size; 2], rows, columns, &values, Format::dcsr()).unwrap()
        };
        let few = line(&[0, 1, 2, 2], &[1, 2, 2, 0], 3);
        let lists = Lists::of(few.as_dyn()).unwrap();
        assert_eq!((count_diagonals(lists, [3, 3], 3), count_diagonals(lists, [3, 3], 2)), (Some(3), None));
        // There is no bit for each of so many.
        let far = line(&[0, 1 << 60, (1 << 60) + 1], &[1 << 40, 5, 6], 1 << 61);
        assert_eq!(count_diagonals(Lists::of(far.as_dyn()).unwrap(), [1 << 61; 2], 9), Some(2));
    }

    #[test]
    fn a_sample_tells_what_all_rows_would() {
        // Full blocks of 3 x 3, eight in a row; many more rows than are sampled.
        let size = 300_000u64;
        let row = |row: u64| (0..24).map(move |k| (row / 3 * 7 % 90_000 + 40 * (k / 3)) * 3 + k % 3);
        let (rows, columns): (Vec<u64>, Vec<u64>) = (0..size).flat_map(|i| row(i).map(move |j| (i, j))).unzip();
        let matrix = Tensor::from_triplets([size; 2], &rows, &columns, &vec![1.0; rows.len()], Format::csr()).unwrap();
        let structure = Structure::of(Lists::of(matrix.as_dyn()).unwrap());
        let entries = matrix.nnz() as f64;
        assert!((structure.blocks[1] * 9.0 / entries - 1.0).abs() < 0.01, "{structure:?}");
        assert!((structure.slots[0].0 * 8.0 / entries - 1.0).abs() < 0.01, "{structure:?}");
        assert!((structure.full_rows - size as f64).abs() < 1.0, "{structure:?}");
        // The first rows of the sample stand for others as well.
        assert!(structure.changes < 100.0, "{structure:?}");
    }
}

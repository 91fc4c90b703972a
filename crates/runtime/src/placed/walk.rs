//! A tensor's entries in the order of rows, and computations on them: the attribute queries, and the places.
//!
//! The outermost level is dense; the *rows* are its coordinates, in their own order or in another one that is given: row `k` is that
//! of coordinate `order[k]`. A *bin* is a position above the level that is counted: some rows, or all of them. Tasks are ranges of
//! rows, of whole bins where there are several.
//!
//! ```text
//! csr, pos 0 2 3, crd 0 3 1, to bcsr(2,2):    one bin, rows 0 and 1     distinct j/2:  0 1
//!                                             places  (0,0) -> 0 * 4 + 0,  (0,3) -> 1 * 4 + 1,  (1,1) -> 0 * 4 + 3
//! ```
//!
//! Paper: Chou et al., *Automatic Generation of Efficient Sparse Tensor Format Conversion Routines* (PLDI 2020), §5.

use std::ops::Range;

use super::GRAIN;
use super::locate::Locate;
use crate::array::Array;
use crate::buffer::{Indices, Number};
use crate::error::{AllocError, StorageError};
use crate::forms::{Form, Weight};
use crate::parallel;
use crate::remap::reserved;
use crate::tensor::Tensor;

/// The number of the innermost level.
fn last(tensor: &Tensor) -> usize {
    tensor.order() - 1
}

/// The bounds of nothing: every other coordinate extends them.
const NO_COORDINATE: Range<u64> = Range { start: u64::MAX, end: 0 };

/// A tensor with a dense level over compressed ones.
pub struct Source<'a> {
    /// The tensor.
    pub tensor: &'a Tensor,
    /// The segments of the innermost level.
    pos: Indices<'a>,
    /// Coordinates of the outermost level.
    rows: usize,
    /// The order in which rows are taken, of a matrix; otherwise their own.
    order: Option<&'a [u64]>,
}

impl<'a> Source<'a> {
    /// The source of a tensor with a dense level over compressed ones. If an `order` is given, which is for matrices,
    /// rows are taken one by one, and row `k` is that of coordinate `order[k]`.
    ///
    /// # Errors
    /// The number of rows is none in memory.
    pub fn new(tensor: &'a Tensor, order: Option<&'a [u64]>) -> Result<Source<'a>, StorageError> {
        let pos = tensor.levels()[last(tensor)].numbers(0);
        let rows = usize::try_from(tensor.levels()[0].size());
        let rows = rows.map_err(|_| StorageError::overflow("the size of a dimension"))?;
        Ok(Source { tensor, pos, rows, order })
    }

    /// The coordinate of a row.
    #[inline(always)]
    fn coordinate(&self, row: usize) -> usize {
        self.order.map_or(row, |order| order[row] as usize)
    }

    /// The entries of a row.
    #[inline(always)]
    fn entries(&self, row: usize) -> Range<usize> {
        let coordinate = self.coordinate(row);
        self.entry(coordinate)..self.entry(coordinate + 1)
    }

    /// The first position of a level under a coordinate.
    fn edge(&self, coordinate: usize, level: usize) -> usize {
        let levels = &self.tensor.levels()[1..=level];
        levels.iter().fold(coordinate, |at, level| level.numbers(0).get(at) as usize)
    }

    /// The parent positions of the innermost level under rows; under one row, if an order is given.
    fn parents(&self, rows: &Range<usize>) -> Range<usize> {
        if self.order.is_some() {
            let coordinate = self.coordinate(rows.start);
            return coordinate..coordinate + rows.len();
        }
        let level = last(self.tensor) - 1;
        self.edge(rows.start, level)..self.edge(rows.end, level)
    }

    /// The first entry of a coordinate.
    fn entry(&self, coordinate: usize) -> usize {
        self.pos.get(self.edge(coordinate, last(self.tensor) - 1)) as usize
    }
}

/// The value of a form at the parent positions of the innermost level, and the weight of that level.
pub enum Parents {
    /// There is one level above, and it is dense: a position is its coordinate.
    Numbered(u64, Weight<u64>, Weight<u64>),
    /// By parent position.
    Stored(Array<u64>, Weight<u64>),
}

impl Parents {
    /// The parts of a form.
    ///
    /// # Errors
    /// The system refused the memory.
    pub fn new(form: &Form<u64>, tensor: &Tensor) -> Result<Parents, AllocError> {
        Ok(match last(tensor) {
            1 => Parents::Numbered(form.start(), form.weight(0), form.weight(1)),
            last => Parents::Stored(form.at_positions(tensor, last)?, form.weight(last)),
        })
    }

    #[inline(always)]
    fn at(&self, parent: usize) -> u64 {
        match self {
            Parents::Numbered(start, weight, _) => start.wrapping_add(weight.of(parent as u64)),
            Parents::Stored(numbers, _) => numbers[parent],
        }
    }

    fn innermost(&self) -> Weight<u64> {
        match self {
            Parents::Numbered(_, _, weight) | Parents::Stored(_, weight) => *weight,
        }
    }
}

/// The entries of a source, and the parts from which their places are computed.
pub struct Walk<'a> {
    /// The tensor.
    pub source: Source<'a>,
    /// The coordinate on the counted level.
    pub coordinates: Parents,
    /// The place under a position of the counted level.
    pub places: Parents,
    /// The number of rows in a bin; 0 if there is one bin.
    pub rows_of_bin: u64,
    /// The number of places under a position of the counted level.
    pub block: u64,
}

/// The number of ranges of rows for each thread, if they have unequally many entries.
const SPARE: usize = 8;
/// The number of places that are computed before they are used.
const CHUNK: usize = 512;

/// Places that were computed.
struct Chunk<'a> {
    places: [u64; CHUNK],
    len: usize,
    /// The first one's entry.
    first: usize,
    put: &'a mut dyn Put,
}

/// A receiver of the places of entries.
pub trait Put {
    /// A bin begins, which has these places.
    fn enter(&mut self, places: Range<u64>);
    /// The places of an entry and of the following ones.
    fn put(&mut self, first: usize, places: &[u64]);
}

impl Chunk<'_> {
    fn room(&self) -> usize {
        CHUNK - self.len
    }

    /// The next place is that of an entry.
    fn go_on(&mut self, entry: usize) {
        if entry != self.first + self.len {
            self.empty();
            self.first = entry;
        }
    }

    fn empty(&mut self) {
        self.put.put(self.first, &self.places[..self.len]);
        self.first += self.len;
        self.len = 0;
    }
}

/// The coordinates under each bin.
pub struct Distinct {
    /// The start of each bin's coordinates.
    pub edges: Array<u64>,
    /// Ascending in each bin.
    pub coordinates: Array<u32>,
}

impl Walk<'_> {
    pub fn has_bins(&self) -> bool {
        self.rows_of_bin > 0
    }

    fn bins(&self) -> usize {
        if self.has_bins() { self.source.rows.div_ceil(self.rows_of_bin as usize) } else { 1 }
    }

    /// The rows of a bin.
    fn rows(&self, bin: usize) -> Range<usize> {
        let size = if self.has_bins() { self.rows_of_bin as usize } else { self.source.rows };
        (bin * size).min(self.source.rows)..(bin * size).saturating_add(size).min(self.source.rows)
    }

    /// Ranges of rows with about as many entries each; of whole bins, where there are several.
    pub fn tasks(&self) -> Vec<Range<usize>> {
        let (rows, len) = (self.source.rows, self.source.tensor.values().len());
        let parts = parallel::parts(len, GRAIN);
        let bin = if self.has_bins() { self.rows_of_bin as usize } else { 1 };
        if self.source.order.is_some() {
            // Nothing tells how many entries are before a row: more ranges than threads even that out.
            let ranges = if parts == 1 { 1 } else { parts * SPARE };
            return parallel::chunks(rows, rows.div_ceil(bin).div_ceil(ranges).max(1).saturating_mul(bin)).collect();
        }
        let mut starts = vec![0];
        for part in 1..parts {
            let entry = (len as u128 * part as u128 / parts as u128) as usize;
            let (mut low, mut high) = (0, rows.div_ceil(bin));
            while low < high {
                let middle = low + (high - low) / 2;
                if self.source.entry((middle * bin).min(rows)) < entry { low = middle + 1 } else { high = middle }
            }
            starts.push((low * bin).min(rows).max(starts[part - 1]));
        }
        starts.push(rows);
        starts.windows(2).map(|pair| pair[0]..pair[1]).collect()
    }

    /// The bins of a task's rows; none, if it has no rows, also where the last bin is not full.
    fn bins_of(&self, rows: &Range<usize>) -> Range<usize> {
        match self.has_bins() {
            true if rows.is_empty() => 0..0,
            true => rows.start / self.rows_of_bin as usize..rows.end.div_ceil(self.rows_of_bin as usize),
            false => 0..1,
        }
    }

    /// Gives `put` the places of all entries under rows, and before those of each bin what places it has.
    pub fn places<C: Number, N: Locate>(&self, locate: &mut N, rows: Range<usize>, crd: &[C], put: &mut dyn Put) {
        let mut chunk = Chunk { places: [0; CHUNK], len: 0, first: self.source.entries(rows.start).start, put };
        let (number, place) = (self.coordinates.innermost(), self.places.innermost());
        let blocks = number.block().and_then(|size| Some((size, place.factors(size)?)));
        for bin in self.bins_of(&rows) {
            let own = self.rows(bin);
            let own = own.start.max(rows.start)..own.end.min(rows.end);
            let positions = locate.enter(bin);
            chunk.put.enter(positions.start * self.block..positions.end * self.block);
            // Slots are counted row by row; nothing else tells rows of a bin apart.
            let step = if N::BY_ROW { 1 } else { own.len().max(1) };
            for start in own.clone().step_by(step) {
                if N::BY_ROW {
                    let entry = self.source.entry(self.source.coordinate(start));
                    chunk.go_on(entry);
                    locate.enter_row(entry);
                }
                for parent in self.source.parents(&(start..(start + step).min(own.end))) {
                    let row = if self.source.order.is_some() { start } else { parent };
                    let (under, inside) = (self.coordinates.at(row), self.places.at(row));
                    let mut run = self.source.pos.get(parent) as usize..self.source.pos.get(parent + 1) as usize;
                    while !run.is_empty() {
                        let part = run.start..run.end.min(run.start + chunk.room());
                        run.start = part.end;
                        let slots = chunk.places[chunk.len..].iter_mut().zip(part.clone()).zip(&crd[part.clone()]);
                        let place_of = |position: usize, coordinate: u64| {
                            let counted = under.wrapping_add(number.of(coordinate));
                            locate.position(position, counted).wrapping_mul(self.block).wrapping_add(inside)
                        };
                        if let Some((size, (of_block, of_coordinate))) = blocks {
                            // Coordinates ascend, so those of one block follow each other: the block's part is computed
                            // once.
                            let (mut first, mut end) = (0, 0);
                            for ((slot, position), coordinate) in slots {
                                let coordinate = coordinate.get();
                                if coordinate >= end {
                                    let block = number.block_of(coordinate);
                                    end = block.saturating_add(1).saturating_mul(size);
                                    first = place_of(position, coordinate).wrapping_add(of_block.wrapping_mul(block));
                                }
                                *slot = first.wrapping_add(of_coordinate.wrapping_mul(coordinate));
                            }
                        } else {
                            for ((slot, position), coordinate) in slots {
                                let coordinate = coordinate.get();
                                *slot = place_of(position, coordinate).wrapping_add(place.of(coordinate));
                            }
                        }
                        chunk.len += part.len();
                        if chunk.room() == 0 {
                            chunk.empty();
                        }
                    }
                }
            }
        }
        chunk.empty();
    }

    /// Calls `each` with the coordinates on the counted level under rows; not with one again that the entry before has.
    #[inline(always)]
    fn counted<C: Number>(&self, rows: &Range<usize>, crd: &[C], mut each: impl FnMut(u64)) {
        let number = self.coordinates.innermost();
        let blocks = number.block();
        for parent in self.source.parents(rows) {
            let under = self.coordinates.at(parent);
            let run = self.source.pos.get(parent) as usize..self.source.pos.get(parent + 1) as usize;
            if let Some(size) = blocks {
                let mut end = 0;
                for coordinate in crd[run].iter().map(|coordinate| coordinate.get()) {
                    if coordinate >= end {
                        end = number.block_of(coordinate).saturating_add(1).saturating_mul(size);
                        each(under.wrapping_add(number.of(coordinate)));
                    }
                }
            } else {
                crd[run].iter().for_each(|coordinate| each(under.wrapping_add(number.of(coordinate.get()))));
            }
        }
    }

    /// The coordinates of the counted level under each bin, ascending; all are below `size`, which fits 32 bits.
    pub fn distinct<C: Number>(&self, crd: &[C], size: usize) -> Result<Distinct, StorageError> {
        let found = parallel::map(self.tasks(), |_, rows| -> Result<_, AllocError> {
            let bins = self.bins_of(&rows);
            let mut last_bin = Array::<u32>::zeroed(size)?;
            let (mut coordinates, mut lengths) = (Vec::<u32>::new(), reserved(bins.len())?);
            for (number, bin) in (1u32..).zip(bins) {
                let start = coordinates.len();
                self.counted(&self.rows(bin), crd, |counted| {
                    if let Some(last) = last_bin.get_mut(counted as usize).filter(|last| **last != number) {
                        *last = number;
                        coordinates.push(counted as u32);
                    }
                });
                let own = &mut coordinates[start..];
                if !own.is_sorted() {
                    // Each row adds ascending coordinates: a sort that merges such runs has little to do, however long they are.
                    own.sort();
                }
                lengths.push((coordinates.len() - start) as u64);
            }
            Ok((coordinates, lengths))
        });
        let found = found.into_iter().collect::<Result<Vec<_>, _>>()?;
        let total = found.iter().map(|(coordinates, _)| coordinates.len()).sum();
        let mut edges = Array::<u64>::zeroed(self.bins() + 1)?;
        for (bin, length) in found.iter().flat_map(|(_, lengths)| lengths).enumerate() {
            edges[bin + 1] = edges[bin] + length;
        }
        let mut coordinates = Array::<u32>::zeroed(total)?;
        let mut rest = &mut coordinates[..];
        let mut parts = Vec::with_capacity(found.len());
        for (from, _) in found {
            let (to, others) = rest.split_at_mut(from.len());
            parts.push((from, to));
            rest = others;
        }
        parallel::each(parts, |_, (from, to)| to.copy_from_slice(&from));
        Ok(Distinct { edges, coordinates })
    }

    /// The same if there is one bin.
    pub fn marked<C: Number>(&self, crd: &[C], size: usize) -> Result<Distinct, StorageError> {
        let marks = parallel::map(self.tasks(), |_, rows| -> Result<_, AllocError> {
            let mut marks = Array::<bool>::zeroed(size)?;
            self.counted(&rows, crd, |counted| {
                if let Some(mark) = marks.get_mut(counted as usize) {
                    *mark = true;
                }
            });
            Ok(marks)
        });
        let marks = marks.into_iter().collect::<Result<Vec<_>, _>>()?;
        let is_marked = |c: &usize| marks.iter().any(|marks| marks[*c]);
        let total = (0..size).filter(is_marked).count();
        let (mut edges, mut coordinates) = (Array::<u64>::zeroed(2)?, Array::<u32>::zeroed(total)?);
        edges[1] = total as u64;
        coordinates.iter_mut().zip((0..size).filter(is_marked)).for_each(|(slot, c)| *slot = c as u32);
        Ok(Distinct { edges, coordinates })
    }

    /// The number of entries of the longest row of each bin.
    pub fn slots(&self) -> Vec<Range<u64>> {
        let length = |row: usize| self.source.entries(row).len() as u64;
        self.by_bin(|rows| 0..rows.map(length).max().unwrap_or(0))
    }

    /// The least coordinate of the counted level under each bin, and the greatest plus 1.
    pub fn bounds<C: Number>(&self, crd: &[C]) -> Vec<Range<u64>> {
        self.by_bin(|rows| {
            let mut bounds = NO_COORDINATE;
            self.counted(&rows, crd, |counted| {
                bounds = bounds.start.min(counted)..bounds.end.max(counted.saturating_add(1));
            });
            bounds
        })
    }

    /// The least range for each bin that includes the ranges which `bounds` gives for its rows.
    fn by_bin(&self, bounds: impl Fn(Range<usize>) -> Range<u64> + Sync) -> Vec<Range<u64>> {
        let found = parallel::map(self.tasks(), |_, rows| {
            let own = |bin: usize| {
                let own = self.rows(bin);
                own.start.max(rows.start)..own.end.min(rows.end)
            };
            self.bins_of(&rows).map(|bin| bounds(own(bin))).collect::<Vec<_>>()
        });
        let all = found.into_iter().flatten();
        if self.has_bins() {
            return all.collect();
        }
        vec![all.fold(NO_COORDINATE, |all, own| all.start.min(own.start)..all.end.max(own.end))]
    }
}

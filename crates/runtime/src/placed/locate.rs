//! The position of an entry on the counted level, for each way in which a level is counted.
//!
//! A task keeps one of these, and tells it which bin and which row begins.

use std::ops::Range;

/// The position of an entry on the counted level.
pub trait Locate {
    /// True if rows are entered one by one.
    const BY_ROW: bool = false;
    /// A bin begins; gives its positions.
    fn enter(&mut self, bin: usize) -> Range<u64>;
    /// A row begins, whose first entry is this one.
    fn enter_row(&mut self, _entry: usize) {}
    /// The position of the source's entry with a coordinate on the counted level.
    fn position(&self, entry: usize, coordinate: u64) -> u64;
}

/// There is no counted level.
pub struct Uncounted;

impl Locate for Uncounted {
    fn enter(&mut self, _bin: usize) -> Range<u64> {
        0..1
    }

    #[inline(always)]
    fn position(&self, _entry: usize, _coordinate: u64) -> u64 {
        0
    }
}

/// Positions of the coordinates of the bin that was entered.
pub struct TableByBin<'a> {
    edges: &'a [u64],
    coordinates: &'a [u32],
    table: Vec<u32>,
}

impl<'a> TableByBin<'a> {
    /// The positions of bins that begin at `edges` of the coordinates, which are below `size`.
    pub fn new(edges: &'a [u64], coordinates: &'a [u32], size: usize) -> TableByBin<'a> {
        TableByBin { edges, coordinates, table: vec![0; size] }
    }
}

impl Locate for TableByBin<'_> {
    fn enter(&mut self, bin: usize) -> Range<u64> {
        let own = self.edges[bin]..self.edges[bin + 1];
        for position in own.clone() {
            self.table[self.coordinates[position as usize] as usize] = position as u32;
        }
        own
    }

    #[inline(always)]
    fn position(&self, _entry: usize, coordinate: u64) -> u64 {
        self.table.get(coordinate as usize).copied().map_or(u64::MAX, u64::from)
    }
}

/// Positions of coordinates where there is one bin.
pub struct Table<'a> {
    table: &'a [u32],
    count: u64,
}

impl<'a> Table<'a> {
    /// The positions of a table by coordinate, of which there are so many.
    pub fn new(table: &'a [u32], count: u64) -> Table<'a> {
        Table { table, count }
    }
}

impl Locate for Table<'_> {
    fn enter(&mut self, _bin: usize) -> Range<u64> {
        0..self.count
    }

    #[inline(always)]
    fn position(&self, _entry: usize, coordinate: u64) -> u64 {
        self.table.get(coordinate as usize).copied().map_or(u64::MAX, u64::from)
    }
}

/// Slots, counted in each row.
pub struct Slots<'a> {
    edges: &'a [u64],
    edge: u64,
    /// The row's first entry.
    entry: usize,
}

impl<'a> Slots<'a> {
    /// The positions of bins, which begin at `edges`.
    pub fn new(edges: &'a [u64]) -> Slots<'a> {
        Slots { edges, edge: 0, entry: 0 }
    }
}

impl Locate for Slots<'_> {
    const BY_ROW: bool = true;

    fn enter(&mut self, bin: usize) -> Range<u64> {
        self.edge = self.edges[bin];
        self.edge..self.edges[bin + 1]
    }

    fn enter_row(&mut self, entry: usize) {
        self.entry = entry;
    }

    #[inline(always)]
    fn position(&self, entry: usize, _coordinate: u64) -> u64 {
        self.edge + (entry - self.entry) as u64
    }
}

/// Coordinates counted from the first of each bin, or from 0.
pub struct Shifted<'a> {
    edges: &'a [u64],
    bounds: Option<&'a [Range<u64>]>,
    /// The position of coordinate 0, if it were there.
    edge: u64,
}

impl<'a> Shifted<'a> {
    /// The positions of bins, which begin at `edges`; the first coordinates of bins are those of `bounds`, or 0.
    pub fn new(edges: &'a [u64], bounds: Option<&'a [Range<u64>]>) -> Shifted<'a> {
        Shifted { edges, bounds, edge: 0 }
    }
}

impl Locate for Shifted<'_> {
    fn enter(&mut self, bin: usize) -> Range<u64> {
        let first = self.bounds.map_or(0, |bounds| bounds[bin].start);
        self.edge = self.edges[bin].wrapping_sub(first);
        self.edges[bin]..self.edges[bin + 1]
    }

    #[inline(always)]
    fn position(&self, _entry: usize, coordinate: u64) -> u64 {
        self.edge.wrapping_add(coordinate)
    }
}

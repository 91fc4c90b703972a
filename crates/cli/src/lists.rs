//! The rows of a sparse matrix that have entries, each with the columns of its entries. The description of a matrix
//! follows from them, in time and memory that grow with the entries and not with the matrix's sizes.

use lacunar::DynTensor;
use lacunar_runtime::buffer::Indices;

/// The index arrays of two compressed levels: rows, or, of a matrix stored by columns, columns.
#[derive(Clone, Copy)]
pub struct Lists<'a> {
    rows: Indices<'a>,
    starts: Indices<'a>,
    columns: Indices<'a>,
}

impl<'a> Lists<'a> {
    /// The lists of a matrix whose two levels are compressed; `None` of another one.
    pub fn of(matrix: &'a DynTensor) -> Option<Lists<'a>> {
        let [outer, inner] = matrix.levels() else { return None };
        let rows = outer.crd()?.indices()?;
        Some(Lists { rows, starts: inner.pos()?.indices()?, columns: inner.crd()?.indices()? })
    }

    /// How many rows have entries.
    pub fn len(self) -> u64 {
        self.rows.len() as u64
    }

    /// Each row that has entries, in order, and the places of these.
    pub fn rows(self) -> impl Iterator<Item = (u64, std::ops::Range<usize>)> + 'a {
        let start = move |place: usize| self.starts.get(place) as usize;
        (0..self.rows.len()).map(move |place| (self.rows.get(place), start(place)..start(place + 1)))
    }

    /// The column of the entry at a place.
    pub fn column(self, place: usize) -> u64 {
        self.columns.get(place)
    }

    /// True if the same rows have the same columns in both.
    pub fn same_as(self, other: Lists<'_>) -> bool {
        let same = |a: Indices<'_>, b: Indices<'_>| a.len() == b.len() && (0..a.len()).all(|k| a.get(k) == b.get(k));
        same(self.rows, other.rows) && same(self.starts, other.starts) && same(self.columns, other.columns)
    }
}

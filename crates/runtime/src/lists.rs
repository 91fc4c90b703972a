//! The rows of a sparse matrix, each with the columns of its entries. The properties of a matrix are found from them.
//!
//! If the rows of a matrix are compressed, only those with entries are listed, so that descriptions of it take time and memory
//! that grow with the entries and not with its sizes. If a matrix is stored by columns, the lists are its columns.
//!
//! ```
//! use lacunar_formats::Format;
//! use lacunar_runtime::lists::Lists;
//! use lacunar_runtime::{Buffer, Tensor};
//! let entries = Buffer::from_vec(vec![0.0, 1.0, 2.0, 0.0, 0.0, 0.0]);
//! let matrix = Tensor::from_dense(vec![2, 3], entries, &Format::csr()).unwrap();
//! let lists = Lists::of(&matrix).unwrap();
//! assert_eq!((lists.len(), lists.row(0), lists.row(1)), (2, (0, 0..2), (1, 2..2)));
//! assert_eq!((lists.column(0), lists.column(1)), (1, 2));
//! ```

use std::ops::Range;

use lacunar_formats::LevelKind;

use crate::buffer::Indices;
use crate::tensor::Tensor;

/// The index arrays of a compressed level and, where not every row is listed, those of the compressed level above.
#[derive(Clone, Copy, Debug)]
pub struct Lists<'a> {
    /// The rows that are listed; `None`: all of them.
    rows: Option<Indices<'a>>,
    starts: Indices<'a>,
    columns: Indices<'a>,
}

impl<'a> Lists<'a> {
    /// The lists of a matrix with a compressed level below a dense or a compressed one; `None` of another one.
    pub fn of(matrix: &'a Tensor) -> Option<Lists<'a>> {
        let ([outer, inner], [above, below]) = (matrix.levels(), matrix.format().levels()) else { return None };
        let listed = above.kind == LevelKind::DENSE || above.kind == LevelKind::COMPRESSED;
        if !listed || below.kind != LevelKind::COMPRESSED || matrix.format().map().is_some() {
            return None;
        }
        let rows = if above.kind == LevelKind::DENSE { None } else { Some(outer.crd()?.indices()?) };
        Some(Lists { rows, starts: inner.pos()?.indices()?, columns: inner.crd()?.indices()? })
    }

    /// The number of rows that are listed: those with entries, if the level of rows is compressed, else all.
    pub fn len(self) -> usize {
        self.rows.map_or(self.starts.len().saturating_sub(1), |rows| rows.len())
    }

    /// True if none is.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// A row that is listed, by its place among them: its number, and the places of its entries.
    pub fn row(self, place: usize) -> (u64, Range<usize>) {
        let number = self.rows.map_or(place as u64, |rows| rows.get(place));
        (number, self.starts.get(place) as usize..self.starts.get(place + 1) as usize)
    }

    /// Each row that is listed, in order, and the places of its entries.
    pub fn rows(self) -> impl Iterator<Item = (u64, Range<usize>)> + 'a {
        (0..self.len()).map(move |place| self.row(place))
    }

    /// The number of entries.
    pub fn entries(self) -> usize {
        self.columns.len()
    }

    /// The column of the entry at a place.
    pub fn column(self, place: usize) -> u64 {
        self.columns.get(place)
    }

    /// True if the same rows are listed with the same columns in both.
    pub fn same_as(self, other: Lists<'_>) -> bool {
        let same = |a: Indices<'_>, b: Indices<'_>| a.len() == b.len() && (0..a.len()).all(|k| a.get(k) == b.get(k));
        let rows = match (self.rows, other.rows) {
            (Some(a), Some(b)) => same(a, b),
            (a, b) => a.is_none() && b.is_none(),
        };
        rows && same(self.starts, other.starts) && same(self.columns, other.columns)
    }
}

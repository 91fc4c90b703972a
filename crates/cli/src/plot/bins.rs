//! Counting entries: panels of cells, each cell a block of coordinates.
//!
//! A panel shows two modes of a tensor; a third may choose the panel, and entries that differ elsewhere fall together.
//! All cells of a panel but the last of a row or column are of one size, so that a regular pattern makes no moiré.
//! Memory depends on the number of cells alone, however large the tensor is.
//!
//! ```text
//! 3 x 6 matrix, blocks of 2 x 3:    x . . | . . x
//!                                   . . . | . . .   ->   1 1
//!                                   ------+------        2 0
//!                                   x . x | . . .
//! ```

use lacunar_runtime::{Coo, Coordinates};

/// One mode of a tensor cut into blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// The mode; `None` for a direction in which the tensor has only one place.
    pub mode: Option<usize>,
    /// The size of the mode.
    pub size: u64,
    /// Coordinates to a block.
    pub block: u64,
}

impl Axis {
    /// Cuts a mode into no more than `cells` blocks.
    pub fn cut(mode: Option<usize>, size: u64, cells: u64) -> Axis {
        Axis { mode, size, block: size.div_ceil(cells.max(1)).max(1) }
    }

    /// The number of blocks.
    pub fn cells(&self) -> usize {
        // The constructor keeps it small.
        self.size.div_ceil(self.block) as usize
    }
}

/// The rule that assigns entries to panels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// There is one panel.
    Whole,
    /// Blocks of a mode.
    Blocks(Axis),
    /// These coordinates of a mode, ascending; entries elsewhere are not counted.
    At(usize, Vec<u64>),
}

impl Choice {
    /// The number of panels.
    pub fn panels(&self) -> usize {
        match self {
            Choice::Whole => 1,
            Choice::Blocks(axis) => axis.cells(),
            Choice::At(_, coordinates) => coordinates.len(),
        }
    }
}

/// The counts of every panel, each row by row. Entries outside the sizes of the axes are not counted.
pub fn count(coo: &Coo, choice: &Choice, rows: Axis, columns: Axis) -> Vec<Vec<u64>> {
    let width = columns.cells();
    let mut panels = vec![vec![0; rows.cells() * width]; choice.panels()];
    let (row, column) = (Finder::new(coo, rows), Finder::new(coo, columns));
    let panel = match choice {
        Choice::Blocks(axis) => Finder::new(coo, *axis),
        Choice::Whole | Choice::At(..) => Finder { coordinates: None, size: 1, block: 1 },
    };
    let chosen = match choice {
        Choice::At(mode, list) => coo.coords.get(*mode).map(|coordinates| (coordinates, list)),
        Choice::Whole | Choice::Blocks(_) => None,
    };
    for entry in 0..coo.len() {
        let number = match chosen {
            None => panel.cell(entry),
            Some((coordinates, list)) => coordinates.get(entry).and_then(|c| list.binary_search(&c).ok()),
        };
        let place = (number, row.cell(entry), column.cell(entry));
        if let (Some(number), Some(row), Some(column)) = place {
            // All three are below the number of blocks that the panels were made for.
            panels[number][row * width + column] += 1;
        }
    }
    panels
}

/// Finds the block of an entry along one axis.
struct Finder<'a> {
    coordinates: Option<&'a Coordinates>,
    size: u64,
    block: u64,
}

impl<'a> Finder<'a> {
    fn new(coo: &'a Coo, axis: Axis) -> Finder<'a> {
        let coordinates = axis.mode.and_then(|mode| coo.coords.get(mode));
        Finder { coordinates, size: axis.size, block: axis.block }
    }

    fn cell(&self, entry: usize) -> Option<usize> {
        let coordinate = match self.coordinates {
            Some(coordinates) => coordinates.get(entry)?,
            None => 0,
        };
        (coordinate < self.size).then(|| (coordinate / self.block) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lacunar_runtime::Values;

    fn matrix(dims: [u64; 2], entries: &[[u64; 2]]) -> Coo {
        let mut coords = dims.map(Coordinates::for_size);
        for entry in entries {
            coords[0].push(entry[0]);
            coords[1].push(entry[1]);
        }
        Coo { dims: dims.to_vec(), coords: coords.to_vec(), values: Values::F64(vec![1.0; entries.len()]) }
    }

    #[test]
    fn blocks_count_their_entries() {
        let coo = matrix([3, 6], &[[0, 0], [0, 5], [2, 0], [2, 2]]);
        let counts = count(&coo, &Choice::Whole, Axis::cut(Some(0), 3, 2), Axis::cut(Some(1), 6, 2));
        assert_eq!(counts, [[1, 1, 2, 0]]);
    }

    #[test]
    fn counts_sum_to_the_entries() {
        let entries: Vec<[u64; 2]> = (0..5000).map(|k| [k * k % 997, k * 31 % 1013]).collect();
        let coo = matrix([997, 1013], &entries);
        for cells in [1, 7, 100, 2000] {
            let (rows, columns) = (Axis::cut(Some(0), 997, cells), Axis::cut(Some(1), 1013, cells));
            assert!(rows.cells() as u64 <= cells.max(1));
            let whole = count(&coo, &Choice::Whole, rows, columns);
            assert_eq!(whole.iter().flatten().sum::<u64>(), 5000);
            let by_row = count(&coo, &Choice::Blocks(rows), Axis::cut(None, 1, 1), columns);
            assert_eq!(by_row.len(), rows.cells());
            assert_eq!(by_row.iter().flatten().sum::<u64>(), 5000);
        }
        let some = Choice::At(0, vec![0, 4, 996]);
        let counts = count(&coo, &some, Axis::cut(None, 1, 1), Axis::cut(Some(1), 1013, 9));
        let expected = entries.iter().filter(|entry| [0, 4, 996].contains(&entry[0])).count() as u64;
        assert_eq!((counts.len(), counts.iter().flatten().sum::<u64>()), (3, expected));
    }

    #[test]
    fn huge_sizes_take_few_cells() {
        let coo = matrix([u64::MAX, 1 << 40], &[[0, 0], [u64::MAX - 1, (1 << 40) - 1]]);
        let counts = count(&coo, &Choice::Whole, Axis::cut(Some(0), u64::MAX, 10), Axis::cut(Some(1), 1 << 40, 10));
        assert_eq!(counts[0].iter().sum::<u64>(), 2);
        assert!(counts[0].len() <= 100);
    }
}

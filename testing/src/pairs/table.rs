//! A table of pairs: for each row and each column the numbers of right results, and of refusals with their reasons.
//!
//! ```text
//! from \ to     csr    dia
//! csr            12   10-2      10 conversions were right, 2 were refused
//! dia            10     10
//! 42 right, 2 refused
//!   2 more places than the test has memory for
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// The outcome of one pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The result is as expected.
    Right,
    /// It was not done, for a reason.
    Refused(String),
}

/// Counts by row and column, which trials on several threads add to.
#[derive(Debug)]
pub struct Table {
    title: String,
    rows: Vec<String>,
    columns: Vec<String>,
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    /// Right ones and refused ones, by row and column.
    pairs: BTreeMap<(usize, usize), (usize, usize)>,
    reasons: BTreeMap<String, usize>,
}

impl Table {
    /// An empty table.
    pub fn new(title: impl Into<String>, rows: Vec<String>, columns: Vec<String>) -> Table {
        Table { title: title.into(), rows, columns, counts: Mutex::default() }
    }

    /// Counts the outcome of a pair, given as the numbers of its row and its column.
    pub fn count(&self, pair: (usize, usize), outcome: Outcome) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        match outcome {
            Outcome::Right => counts.pairs.entry(pair).or_default().0 += 1,
            Outcome::Refused(reason) => {
                counts.pairs.entry(pair).or_default().1 += 1;
                *counts.reasons.entry(reason).or_default() += 1;
            }
        }
    }

    /// The first pair of which nothing was right, in words.
    pub fn missing(&self) -> Option<String> {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let all = (0..self.rows.len()).flat_map(|row| (0..self.columns.len()).map(move |column| (row, column)));
        let mut bare = all.filter(|pair| counts.pairs.get(pair).is_none_or(|(right, _)| *right == 0));
        bare.next().map(|(row, column)| format!("{}: {} with {}", self.title, self.rows[row], self.columns[column]))
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let cell = |row: usize, column: usize| match counts.pairs.get(&(row, column)) {
            None => ".".to_string(),
            Some((right, 0)) => right.to_string(),
            Some((right, refused)) => format!("{right}-{refused}"),
        };
        let cells: Vec<Vec<String>> =
            (0..self.rows.len()).map(|row| (0..self.columns.len()).map(|column| cell(row, column)).collect()).collect();
        let width = |column: usize| {
            let widest = cells.iter().map(|row| row[column].len()).max().unwrap_or(0);
            1 + widest.max(self.columns[column].len())
        };
        let first = self.rows.iter().map(String::len).max().unwrap_or(0);
        writeln!(f, "{}", self.title)?;
        write!(f, "{:first$}", "")?;
        for (column, name) in self.columns.iter().enumerate() {
            write!(f, "{name:>width$}", width = width(column))?;
        }
        writeln!(f)?;
        for (name, row) in self.rows.iter().zip(&cells) {
            write!(f, "{name:first$}")?;
            for (column, cell) in row.iter().enumerate() {
                write!(f, "{cell:>width$}", width = width(column))?;
            }
            writeln!(f)?;
        }
        let total = |of: fn(&(usize, usize)) -> usize| counts.pairs.values().map(of).sum::<usize>();
        writeln!(f, "{} right, {} refused", total(|pair| pair.0), total(|pair| pair.1))?;
        counts.reasons.iter().try_for_each(|(reason, count)| writeln!(f, "  {count} {reason}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_stand_under_their_names() {
        let names = |names: [&str; 2]| names.map(str::to_string).to_vec();
        let table = Table::new("from, to", names(["csr", "dia"]), names(["csr", "dia"]));
        (0..10).for_each(|_| table.count((0, 1), Outcome::Right));
        table.count((0, 1), Outcome::Refused("too large".to_string()));
        table.count((1, 0), Outcome::Right);
        assert_eq!(
            table.to_string(),
            "from, to\n    csr  dia\ncsr   . 10-1\ndia   1    .\n11 right, 1 refused\n  1 too large\n"
        );
        assert_eq!(table.missing(), Some("from, to: csr with csr".to_string()));
    }
}

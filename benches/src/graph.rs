//! Operands of programs about graphs: the links of a file's matrix, lengths of them, and the node at which a search starts.
//!
//! ```text
//! entries of the file    (1,2) (2,1) (3,3) (1,4)
//! DIRECTED               (1,2) (2,1) (3,3) (1,4)      each entry
//! LOWER                  (2,1) (4,1)                  each pair of nodes once, below the diagonal
//! BOTH                   (1,2) (1,4) (2,1) (4,1)      each pair in both directions
//! ```
//!
//! Values are 1, or lengths. The start is the node with the most links, the first of several.

use anyhow::{Context, Result, bail};
use fastrand::Rng;
use lacunar::{Coo, DType, DynTensor, Format};
use lacunar_runtime::{Coordinates, Values};

use crate::data::Entries;

/// The links that an entry gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// One from its row to its column.
    Directed,
    /// One below the diagonal, if it is not on it.
    Lower,
    /// One in either direction, if it is not on the diagonal.
    Both,
}

/// The longest of the lengths that are made up.
const LONGEST: u64 = 255;
const SEED: u64 = 42;

/// The graph of a square matrix, with values 1.
///
/// # Errors
/// It is no matrix.
pub fn links(entries: &Entries, format: &Format, which: Links) -> Result<DynTensor> {
    let list = entries.list()?;
    let [rows, columns] = &list.coords[..] else { bail!("a graph is a matrix") };
    let mut pairs: Vec<(u64, u64)> = Vec::with_capacity(list.len());
    for (row, column) in (0..list.len()).filter_map(|k| Some((rows.get(k)?, columns.get(k)?))) {
        match which {
            Links::Directed => pairs.push((row, column)),
            Links::Lower | Links::Both if row == column => {}
            Links::Lower => pairs.push((row.max(column), row.min(column))),
            Links::Both => pairs.extend([(row, column), (column, row)]),
        }
    }
    pairs.sort_unstable();
    pairs.dedup();
    let values = vec![1.0; pairs.len()];
    packed(&list.dims, &pairs, values, format)
}

/// The links of a matrix with their lengths: the values of the file, if they are positive and differ, else made up.
///
/// # Errors
/// It is no matrix.
pub fn with_lengths(entries: &Entries, format: &Format) -> Result<DynTensor> {
    let (own, graph) = (entries.pack(&Format::csr())?, links(entries, &Format::csr(), Links::Directed)?);
    let values = own.values().as_slice::<f64>().context("lengths are of type f64")?;
    let are_lengths = values.iter().all(|value| *value > 0.0) && values.iter().any(|value| *value != values[0]);
    if are_lengths && own.nnz() == graph.nnz() {
        return Ok(own.convert(format)?);
    }
    let mut coo = graph.to_coo()?;
    let mut random = Rng::with_seed(SEED);
    coo.values = Values::F64((0..coo.len()).map(|_| (1 + random.u64(..LONGEST)) as f64).collect());
    Ok(DynTensor::from_coo(coo, format)?)
}

/// A vector with one value, at the row with the most entries of the first operand.
///
/// # Errors
/// There is no operand before it that is stored by rows.
pub fn start(before: &[(&str, DynTensor)], format: &Format, value: f64) -> Result<DynTensor> {
    let (_, matrix) = before.first().context("a start follows a matrix")?;
    let pos = matrix.levels().last().and_then(|level| level.pos()?.as_slice::<u32>());
    let lengths = pos.context("a start follows a matrix by rows")?.windows(2).map(|ends| ends[1] - ends[0]);
    let most =
        lengths.enumerate().max_by_key(|(row, length)| (*length, std::cmp::Reverse(*row))).map_or(0, |(row, _)| row);
    let size = matrix.dims().first().copied().unwrap_or_default();
    let mut place = Coordinates::for_size(size);
    place.push(most as u64);
    Ok(DynTensor::from_coo(Coo { dims: vec![size], coords: vec![place], values: Values::F64(vec![value]) }, format)?)
}

/// A dense tensor of random whole numbers from 0 to less than `below`.
///
/// # Errors
/// Memory is refused.
pub fn indices(dims: Vec<u64>, format: &Format, below: f64) -> Result<DynTensor> {
    let mut random = Rng::with_seed(SEED);
    let count = dims.iter().product::<u64>();
    let values: Vec<f64> = (0..count).map(|_| random.u64(..(below as u64).max(1)) as f64).collect();
    Ok(DynTensor::from_dense(dims, lacunar_runtime::Buffer::from_values(Values::F64(values)), format)?)
}

fn packed(dims: &[u64], pairs: &[(u64, u64)], values: Vec<f64>, format: &Format) -> Result<DynTensor> {
    let mut coo = Coo::empty(dims.to_vec(), DType::F64);
    for &(row, column) in pairs {
        coo.coords[0].push(row);
        coo.coords[1].push(column);
    }
    coo.values = Values::F64(values);
    Ok(DynTensor::from_coo(coo, format)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Source;

    fn entries(text: &str) -> Entries {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.mtx");
        std::fs::write(&path, format!("%%MatrixMarket matrix coordinate integer general\n{text}")).expect("written");
        Source::File(path).read().expect("well-formed")
    }

    #[test]
    fn links_are_those_of_entries() {
        let entries = entries("3 3 4\n1 2 5\n2 1 7\n2 2 1\n1 3 4\n");
        let dense = |which| links(&entries, &Format::csr(), which).expect("it fits").to_dense::<f64>().expect("small");
        assert_eq!(dense(Links::Lower), [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
        assert_eq!(dense(Links::Both), [0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
        assert_eq!(dense(Links::Directed), [0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
        let lengths = with_lengths(&entries, &Format::csr()).expect("it fits");
        assert_eq!(lengths.to_dense::<f64>().expect("small"), [0.0, 5.0, 4.0, 7.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
        let first = start(&[("A", lengths)], &Format::dense(1), 2.0).expect("it fits");
        assert_eq!(first.to_dense::<f64>().expect("small"), [2.0, 0.0, 0.0]);
    }

    #[test]
    fn lengths_are_made_up_where_values_are_none() {
        let lengths = with_lengths(&entries("2 2 2\n1 2 -3\n2 1 7\n"), &Format::csr()).expect("it fits");
        let values = lengths.to_dense::<f64>().expect("small");
        assert!(values[1] >= 1.0 && values[2] >= 1.0 && values[0] + values[3] == 0.0, "{values:?}");
    }
}

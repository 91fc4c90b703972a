//! Matrices whose entries arrive in random order, each once.
//!
//! ```text
//! rmat-18    2^18 rows and columns, about 10 entries a row, by the recursive model (0.5, 0.1, 0.1, 0.3) that Aspen's benchmarks use
//! grid-512   the 5-point operator on 512 x 512 points
//! NAME       a matrix of the folder of data
//! ```
//!
//! Paper: Chakrabarti, Zhan and Faloutsos, *R-MAT: A Recursive Model for Graph Mining* (SDM 2004).

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use fastrand::Rng;
use lacunar::{Coo, DynTensor, Format, One};
use lacunar_runtime::{Coordinates, Values};

use crate::data::{self, Wanted};

/// Files that are taken if they are there.
const FILES: [&str; 4] = ["USA-road-d", "cit-HepPh", "delaunay_n16", "soc-Slashdot0902"];

/// Rows and columns of entries.
type Pairs = Vec<(u32, u32)>;

/// A matrix as a list in the order in which entries arrive.
pub struct Input {
    pub rows: u64,
    pub columns: u64,
    pub coordinates: Pairs,
    pub values: Vec<f64>,
}

/// The names of inputs.
pub fn names(quick: bool) -> Vec<String> {
    if quick {
        return vec!["rmat-14".to_string(), "grid-128".to_string()];
    }
    ["rmat-18", "grid-512"].into_iter().chain(FILES).map(str::to_string).collect()
}

impl Input {
    /// Reads or makes one.
    ///
    /// # Errors
    /// It is not there, or no matrix.
    pub fn read(name: &str) -> Result<Input> {
        let number = |prefix: &str| name.strip_prefix(prefix).and_then(|rest| rest.parse::<u32>().ok());
        let mut rng = Rng::with_seed(7);
        let (rows, columns, mut coordinates) = if let Some(scale) = number("rmat-") {
            (1 << scale, 1 << scale, rmat(scale, 10 << scale, &mut rng))
        } else if let Some(side) = number("grid-") {
            (u64::from(side).pow(2), u64::from(side).pow(2), grid(side))
        } else {
            from_file(name)?
        };
        rng.shuffle(&mut coordinates);
        let values = coordinates.iter().map(|_| 0.5 + f64::from(rng.u32(..8))).collect();
        Ok(Input { rows, columns, coordinates, values })
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.coordinates.len()
    }

    /// A tensor of the first entries.
    ///
    /// # Errors
    /// Memory is refused.
    pub fn pack(&self, count: usize, format: &Format) -> Result<DynTensor> {
        self.pack_with(Values::F64(self.values[..count].to_vec()), format)
    }

    /// A tensor of as many entries as there are values.
    fn pack_with(&self, values: Values, format: &Format) -> Result<DynTensor> {
        let count = values.len();
        let entries = &self.coordinates[..count];
        let coords = vec![
            Coordinates::U32(entries.iter().map(|entry| entry.0).collect()),
            Coordinates::U32(entries.iter().map(|entry| entry.1).collect()),
        ];
        Ok(DynTensor::from_coo(Coo { dims: vec![self.rows, self.columns], coords, values }, format)?)
    }

    /// A pattern of the first entries.
    ///
    /// # Errors
    /// Memory is refused.
    pub fn pack_pattern(&self, count: usize, format: &Format) -> Result<DynTensor> {
        self.pack_with(Values::Pattern(vec![One; count]), format)
    }

    /// Writes it where peers can read it (`peers/dynamic.h`).
    ///
    /// # Errors
    /// The file can't be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
        for number in [self.rows, self.columns, self.len() as u64] {
            out.write_all(&number.to_ne_bytes())?;
        }
        self.coordinates.iter().try_for_each(|entry| out.write_all(&entry.0.to_ne_bytes()))?;
        self.coordinates.iter().try_for_each(|entry| out.write_all(&entry.1.to_ne_bytes()))?;
        self.values.iter().try_for_each(|value| out.write_all(&value.to_ne_bytes()))?;
        Ok(out.flush()?)
    }
}

/// A random graph in which rows and columns have lengths of a power law.
fn rmat(scale: u32, count: usize, rng: &mut Rng) -> Pairs {
    let mut seen = HashSet::with_capacity(count);
    let one = |rng: &mut Rng| {
        (0..scale).fold((0, 0), |(row, column), _| match rng.f64() {
            part if part < 0.5 => (2 * row, 2 * column),
            part if part < 0.6 => (2 * row, 2 * column + 1),
            part if part < 0.7 => (2 * row + 1, 2 * column),
            _ => (2 * row + 1, 2 * column + 1),
        })
    };
    // The order of the set is that of its hashes: entries are kept beside.
    let drawn = (0..count).map(|_| one(rng)).collect::<Pairs>();
    drawn.into_iter().filter(|entry| seen.insert(*entry)).collect()
}

/// Points of a grid with their neighbors.
fn grid(side: u32) -> Pairs {
    let near = |at: u32| (at.saturating_sub(1)..=(at + 1).min(side - 1)).collect::<Vec<_>>();
    let mut entries = Vec::new();
    for (i, j) in (0..side).flat_map(|i| (0..side).map(move |j| (i, j))) {
        entries.extend(near(i).into_iter().map(|other| (i * side + j, other * side + j)));
        entries.extend(near(j).into_iter().filter(|other| *other != j).map(|other| (i * side + j, i * side + other)));
    }
    entries
}

/// The entries of a matrix of the folder of data.
fn from_file(name: &str) -> Result<(u64, u64, Pairs)> {
    let sources = data::sources(&Wanted { folder: None, made_up: false, scaling: false, quick: false })?;
    let source = sources.iter().find(|source| source.name() == name).with_context(|| format!("there is no {name}"))?;
    let list = source.read()?.pack(&Format::csr())?.to_coo()?;
    ensure!(list.dims.len() == 2, "{name} is no matrix");
    let at = |dimension: usize, k: usize| list.coords[dimension].get(k).unwrap_or_default() as u32;
    Ok((list.dims[0], list.dims[1], (0..list.len()).map(|k| (at(0, k), at(1, k))).collect()))
}

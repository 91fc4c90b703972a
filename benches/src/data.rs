//! The inputs: files of a folder, or made up where there is no folder.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use lacunar::io::{self, PatternValues, ReadOptions};
use lacunar::{Coo, DType, DynTensor, Format};
use lacunar_examples::grid::{Kind, write_grid};
use lacunar_runtime::random::{Generator, generate};
use lacunar_runtime::{Coordinates, Values};

use crate::made::{Shape, make};

/// The folder of the files of development, beside the repository.
const DEFAULT_FOLDER: &str = "../../shared/data/medium";
/// The files of `--quick`, by the beginning of their names.
const QUICK: [&str; 6] = ["bcsstk33", "cnr-2000", "ego-Twitter", "wave", "tags-math-sx", "email-Eu-core-temporal"];

/// An input that can be read.
pub enum Source {
    /// A file.
    File(PathBuf),
    /// A grid.
    Grid(&'static str, Kind),
    /// A random matrix.
    Matrix {
        /// Its name.
        name: String,
        /// Its sizes.
        shape: Shape,
        /// The series to which it belongs.
        series: Option<Place>,
    },
    /// No matrix, for programs whose operands are all made up.
    Nothing,
    /// A random tensor of these sizes, with so many entries in each fibre along the last dimension.
    Tensor(&'static str, [u64; 3], u64),
}

/// A place in a series of inputs that differ in one thing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// The name of the series, and of the thing.
    pub series: &'static str,
    /// The amount of it.
    pub at: f64,
}

/// The entries of an input.
pub enum Entries {
    /// A list, as files have it.
    List(Coo),
    /// A matrix by rows, of type `f64`.
    Rows(DynTensor),
}

/// The inputs that are wanted.
pub struct Wanted<'a> {
    /// A folder of files.
    pub folder: Option<&'a Path>,
    /// True for made-up inputs, though there may be files.
    pub made_up: bool,
    /// True for series of matrices as well, in each of which one thing grows.
    pub scaling: bool,
    /// True for few and small ones.
    pub quick: bool,
}

/// All inputs: the files of the folder, or of the default folder, or made up.
pub fn sources(wanted: &Wanted<'_>) -> Result<Vec<Source>> {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join(DEFAULT_FOLDER);
    let mut sources = match wanted.folder {
        Some(folder) => files(folder, wanted.quick)?,
        None if default.is_dir() && !wanted.made_up => files(&default, wanted.quick)?,
        None => made_up(wanted.quick),
    };
    if wanted.scaling {
        sources.extend(growing(wanted.quick));
    }
    Ok(sources)
}

fn files(folder: &Path, quick: bool) -> Result<Vec<Source>> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .with_context(|| format!("{} can't be read", folder.display()))?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    paths.retain(|path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let known = [".mtx", ".tns"].iter().any(|ending| {
            ["", ".gz", ".zst"].iter().any(|compression| name.ends_with(&format!("{ending}{compression}")))
        });
        known && (!quick || QUICK.iter().any(|start| name.starts_with(start)))
    });
    paths.sort();
    Ok(paths.into_iter().map(Source::File).collect())
}

/// A grid in the plane, one in space, a random matrix and two random tensors. The names say how large they are.
fn made_up(quick: bool) -> Vec<Source> {
    let uniform = |rows: u64| {
        let shape = Shape { rows, columns: rows, entries: 16 * rows, skew: 1.0 };
        Source::Matrix { name: format!("uniform-{rows}"), shape, series: None }
    };
    if quick {
        return vec![
            Source::Grid("grid-250", Kind::Laplace2d(250)),
            Source::Grid("cube-20", Kind::Laplace3d(20)),
            uniform(50_000),
            Source::Tensor("random3", [200, 200, 5000], 20),
        ];
    }
    vec![
        Source::Grid("grid-1500", Kind::Laplace2d(1500)),
        Source::Grid("cube-60", Kind::Laplace3d(60)),
        uniform(1_000_000),
        Source::Tensor("random3", [1000, 1000, 5000], 5),
        Source::Tensor("random3-sparse", [1000, 5000, 50_000], 1),
    ]
}

/// The inputs of programs beside files: nothing, and an image of 4096 x 4096 points, one in a hundred of which is not 0.
pub fn for_programs() -> Vec<Source> {
    let shape = Shape { rows: 4096, columns: 4096, entries: 167_772, skew: 1.0 };
    vec![Source::Nothing, Source::Matrix { name: "image-4096".to_string(), shape, series: None }]
}

/// Random matrices in series: of more and more entries, 16 a row; and of a million entries in more and more rows, in more and more
/// columns, in rows of more and more different lengths.
fn growing(quick: bool) -> Vec<Source> {
    const MILLION: u64 = 1_000_000;
    let largest = if quick { MILLION } else { 200 * MILLION };
    let one = |series: &'static str, at: u64, shape| Source::Matrix {
        name: format!("{series}-{at}"),
        shape,
        series: Some(Place { series, at: at as f64 }),
    };
    // 1, 3, 10, 30, ... times a number, as far as it goes.
    let steps = |from: u64, to: u64| {
        let decades = std::iter::successors(Some(from), |&size| size.checked_mul(10));
        decades.flat_map(|size| [size, 3 * size]).take_while(move |&size| size <= to)
    };
    let last = (largest > 100 * MILLION).then_some(largest);
    let entries = steps(10_000, largest).chain(last).map(|entries| {
        let rows = entries / 16;
        one("entries", entries, Shape { rows, columns: rows, entries, skew: 1.0 })
    });
    let rows = steps(100, MILLION)
        .map(|rows| one("rows", rows, Shape { rows, columns: 100_000, entries: MILLION, skew: 1.0 }));
    let columns = steps(100, 10 * MILLION)
        .map(|columns| one("columns", columns, Shape { rows: MILLION / 16, columns, entries: MILLION, skew: 1.0 }));
    let skewed = steps(1, 10_000).map(|skew| {
        let shape = Shape { rows: 100_000, columns: 100_000, entries: MILLION, skew: skew as f64 };
        one("skew", skew, shape)
    });
    entries.chain(rows).chain(columns).chain(skewed).collect()
}

impl Source {
    /// The name: that of the file, without its endings.
    pub fn name(&self) -> &str {
        match self {
            Source::File(path) => {
                let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
                name.split_once('.').map_or(name, |(name, _)| name)
            }
            Source::Matrix { name, .. } => name,
            Source::Nothing => "made-up",
            Source::Grid(name, _) | Source::Tensor(name, ..) => name,
        }
    }

    /// The series to which it belongs.
    pub fn series(&self) -> Option<Place> {
        match self {
            Source::Matrix { series, .. } => *series,
            Source::File(_) | Source::Nothing | Source::Grid(..) | Source::Tensor(..) => None,
        }
    }

    /// Reads or makes it.
    pub fn read(&self) -> Result<Entries> {
        match self {
            Source::File(path) => read(path),
            Source::Grid(_, kind) => {
                let folder = tempfile::tempdir()?;
                let path = folder.path().join("grid.mtx");
                write_grid(&mut BufWriter::new(File::create(&path)?), *kind)?;
                read(&path)
            }
            Source::Nothing => Ok(Entries::List(Coo::empty(Vec::new(), DType::F64))),
            Source::Matrix { shape, .. } => Ok(Entries::Rows(make(shape)?)),
            Source::Tensor(_, sizes, each) => {
                let kind = Generator::Uniform(*each);
                let tensor = generate(&kind, sizes.to_vec(), DType::F64, &Format::csf(3), 42)?;
                Ok(Entries::List(tensor.to_coo()?))
            }
        }
    }
}

fn read(path: &Path) -> Result<Entries> {
    let options = ReadOptions { pattern: PatternValues::Places, ..ReadOptions::default() };
    match io::read(path, &options)? {
        io::Data::Coordinate(mut coo) => {
            if let Values::Pattern(_) = coo.values {
                coo.values = Values::F64((0..coo.len()).map(|place| made_value(&coo, place)).collect());
            }
            Ok(Entries::List(coo))
        }
        io::Data::Dense(_) => bail!("an array, not a sparse matrix"),
    }
}

/// A value between 1/2 and 3/2 for an entry of a file without values. An engine that finds all values equal moves none of them, which
/// says nothing about other matrices. Coordinates that are exchanged have one value, as symmetric matrices have.
fn made_value(coo: &Coo, place: usize) -> f64 {
    let mut at: Vec<u64> = coo.coords.iter().filter_map(|column| column.get(place)).collect();
    at.sort_unstable();
    let mixed = at.iter().fold(1, |hash: u64, &c| (hash ^ c).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29));
    0.5 + (mixed >> 11) as f64 / (1u64 << 53) as f64
}

impl Entries {
    fn dims(&self) -> &[u64] {
        match self {
            Entries::List(coo) => &coo.dims,
            Entries::Rows(rows) => rows.dims(),
        }
    }

    /// The number of dimensions.
    pub fn order(&self) -> usize {
        self.dims().len()
    }

    /// Their number.
    pub fn len(&self) -> usize {
        match self {
            Entries::List(coo) => coo.len(),
            Entries::Rows(rows) => rows.nnz() as usize,
        }
    }

    /// The list of them.
    pub fn list(&self) -> Result<Cow<'_, Coo>> {
        Ok(match self {
            Entries::List(coo) => Cow::Borrowed(coo),
            Entries::Rows(rows) => Cow::Owned(rows.to_coo()?),
        })
    }

    /// Packed, values of type `f64`.
    pub fn pack(&self, format: &Format) -> Result<DynTensor> {
        match self {
            Entries::List(coo) => floating(DynTensor::from_coo(coo.clone(), format)?),
            Entries::Rows(rows) => Ok(rows.convert(format)?),
        }
    }

    /// True if it is a square matrix.
    pub fn is_square(&self) -> bool {
        matches!(self.dims(), [rows, columns] if rows == columns)
    }

    /// Packed, with each entry moved by so much along the last dimension, and around its end.
    pub fn pack_shifted(&self, format: &Format, by: u64) -> Result<DynTensor> {
        let mut coo = self.list()?.into_owned();
        if let (Some(size), Some(last)) = (coo.dims.last().copied(), coo.coords.last_mut()) {
            let mut moved = Coordinates::for_size(size);
            for k in 0..last.len() {
                if let Some(coordinate) = last.get(k) {
                    moved.push((coordinate + by % size) % size);
                }
            }
            *last = moved;
        }
        floating(DynTensor::from_coo(coo, format)?)
    }
}

fn floating(tensor: DynTensor) -> Result<DynTensor> {
    Ok(if tensor.dtype() == DType::F64 { tensor } else { tensor.cast(DType::F64)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_up_inputs_are_whole() {
        for source in made_up(true) {
            let entries = source.read().expect("it can be made");
            assert!(entries.len() > 1000, "{}", source.name());
        }
    }

    #[test]
    fn shifting_moves_the_last_column_first() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.mtx");
        fs::write(&path, "%%MatrixMarket matrix coordinate integer general\n2 3 2\n1 3 5\n2 1 7\n").expect("written");
        let source = Source::File(path);
        assert_eq!(source.name(), "a");
        let entries = source.read().expect("well-formed");
        let shifted = entries.pack_shifted(&Format::csr(), 1).expect("it fits");
        assert_eq!(shifted.to_dense::<f64>().expect("small"), [5.0, 0.0, 0.0, 0.0, 7.0, 0.0]);
    }

    #[test]
    fn series_grow() {
        let names =
            |quick: bool| -> Vec<String> { growing(quick).iter().map(|source| source.name().to_string()).collect() };
        let (few, all) = (names(true), names(false));
        assert_eq!(few[..3], ["entries-10000", "entries-30000", "entries-100000"]);
        assert!(all.contains(&"entries-200000000".to_string()) && !few.contains(&"entries-3000000".to_string()));
        for name in ["rows-100", "rows-1000000", "columns-10000000", "skew-1", "skew-10000"] {
            assert!(all.contains(&name.to_string()), "{name}");
        }
        for source in growing(true).iter().filter(|source| source.name().ends_with("-100")) {
            let entries = source.read().expect("it can be made");
            assert_eq!(entries.pack(&Format::csr()).expect("it fits").nnz(), entries.len() as u64);
        }
    }
}

//! The inputs: files of a folder, or made up where there is no folder.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use lacunar::io::{self, ReadOptions};
use lacunar::{Coo, DType, DynTensor, Format};
use lacunar_examples::grid::{Kind, write_grid};
use lacunar_runtime::random::{Generator, generate};
use lacunar_runtime::{Coordinates, Values};

/// The folder of the files of development, beside the repository.
const DEFAULT_FOLDER: &str = "../../shared/data/medium";
/// The files of `--quick`, by the beginning of their names.
const QUICK: [&str; 6] = ["bcsstk33", "cnr-2000", "ego-Twitter", "wave", "tags-math-sx", "email-Eu-core-temporal"];

/// An input that can be read.
pub enum Source {
    /// A file.
    File(PathBuf),
    /// A grid or random matrix.
    Matrix {
        /// Its name.
        name: String,
        /// Its kind.
        kind: Kind,
        /// The series of sizes to which it belongs.
        series: Option<&'static str>,
    },
    /// A random tensor of these sizes, with so many entries in each fibre along the last dimension.
    Tensor(&'static str, [u64; 3], u64),
}

/// The entries of an input, of type `f64`.
pub struct Entries {
    /// The entries.
    pub coo: Coo,
}

/// The inputs that are wanted.
pub struct Wanted<'a> {
    /// A folder of files.
    pub folder: Option<&'a Path>,
    /// Made-up inputs, though there may be files.
    pub made_up: bool,
    /// Matrices of one kind in growing sizes as well.
    pub scaling: bool,
    /// Few and small ones.
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

/// A grid in the plane, one in space, a random matrix and two random tensors.
fn made_up(quick: bool) -> Vec<Source> {
    let matrix = |name: &str, kind| Source::Matrix { name: name.to_string(), kind, series: None };
    let random = |size| Kind::Random { size, per_row: 16, seed: 42 };
    if quick {
        return vec![
            matrix("grid2d", Kind::Laplace2d(250)),
            matrix("grid3d", Kind::Laplace3d(20)),
            matrix("random", random(50_000)),
            Source::Tensor("random3", [200, 200, 5000], 20),
        ];
    }
    vec![
        matrix("grid2d", Kind::Laplace2d(1500)),
        matrix("grid3d", Kind::Laplace3d(60)),
        matrix("random", random(1_000_000)),
        Source::Tensor("random3", [1000, 1000, 5000], 5),
        Source::Tensor("random3-sparse", [1000, 5000, 50_000], 1),
    ]
}

/// Random matrices of 16 entries a row, and grids, each size twice or four times the one before.
fn growing(quick: bool) -> Vec<Source> {
    let largest = if quick { 14 } else { 20 };
    let source = |series: &'static str, size: u64, kind| {
        let name = format!("{series}-{size}");
        Source::Matrix { name, kind, series: Some(series) }
    };
    let random = (10..=largest).map(|power| {
        let size = 1 << power;
        source("random", size, Kind::Random { size, per_row: 16, seed: 42 })
    });
    let grids = (10..=largest).step_by(2).map(|power| {
        let side = 1 << (power / 2);
        source("grid2d", side * side, Kind::Laplace2d(side))
    });
    random.chain(grids).collect()
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
            Source::Tensor(name, ..) => name,
        }
    }

    /// The series of sizes to which it belongs.
    pub fn series(&self) -> Option<&'static str> {
        match self {
            Source::Matrix { series, .. } => *series,
            Source::File(_) | Source::Tensor(..) => None,
        }
    }

    /// Reads or makes it.
    pub fn read(&self) -> Result<Entries> {
        match self {
            Source::File(path) => read(path),
            Source::Matrix { kind, .. } => {
                let folder = tempfile::tempdir()?;
                let path = folder.path().join("grid.mtx");
                write_grid(&mut BufWriter::new(File::create(&path)?), *kind)?;
                read(&path)
            }
            Source::Tensor(_, sizes, each) => {
                let kind = Generator::Uniform(*each);
                let tensor = generate(&kind, sizes.to_vec(), DType::F64, &Format::csf(3), 42)?;
                Ok(Entries { coo: tensor.to_coo()? })
            }
        }
    }
}

fn read(path: &Path) -> Result<Entries> {
    match io::read(path, &ReadOptions::default())? {
        io::Data::Coordinate(coo) => Ok(Entries { coo }),
        io::Data::Dense(_) => bail!("an array, not a sparse matrix"),
    }
}

impl Entries {
    /// The number of dimensions.
    pub fn order(&self) -> usize {
        self.coo.dims.len()
    }

    /// Packed, values of type `f64`.
    pub fn pack(&self, format: &Format) -> Result<DynTensor> {
        floating(DynTensor::from_coo(self.coo.clone(), format)?)
    }

    /// True if it is a square matrix.
    pub fn is_square(&self) -> bool {
        matches!(self.coo.dims[..], [rows, columns] if rows == columns)
    }

    /// Packed, with each entry moved by so much along the last dimension, and around its end.
    pub fn pack_shifted(&self, format: &Format, by: u64) -> Result<DynTensor> {
        let mut coo = self.coo.clone();
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

    /// The graph of a square matrix: a 1 below the diagonal where either of two mirrored places has an entry.
    pub fn pack_lower(&self, format: &Format) -> Result<DynTensor> {
        let [rows, columns] = &self.coo.coords[..] else { bail!("a graph is a matrix") };
        let places = (0..self.coo.len()).filter_map(|k| Some((rows.get(k)?, columns.get(k)?)));
        let mut pairs: Vec<(u64, u64)> = places
            .filter(|(row, column)| row != column)
            .map(|(row, column)| (row.max(column), row.min(column)))
            .collect();
        pairs.sort_unstable();
        pairs.dedup();
        let mut coo = Coo::empty(self.coo.dims.clone(), DType::F64);
        for &(row, column) in &pairs {
            coo.coords[0].push(row);
            coo.coords[1].push(column);
        }
        coo.values = Values::F64(vec![1.0; pairs.len()]);
        Ok(DynTensor::from_coo(coo, format)?)
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
            assert!(entries.coo.len() > 1000, "{}", source.name());
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
    fn a_graph_has_each_pair_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.mtx");
        let text = "%%MatrixMarket matrix coordinate integer general\n3 3 4\n1 2 5\n2 1 7\n2 2 1\n1 3 4\n";
        fs::write(&path, text).expect("written");
        let entries = Source::File(path).read().expect("well-formed");
        let lower = entries.pack_lower(&Format::csr()).expect("it fits");
        assert_eq!(lower.to_dense::<f64>().expect("small"), [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
    }

    #[test]
    fn sizes_grow() {
        let sizes: Vec<String> = growing(true).iter().map(|source| source.name().to_string()).collect();
        assert_eq!(sizes.first().map(String::as_str), Some("random-1024"));
        assert!(sizes.contains(&"grid2d-4096".to_string()));
    }
}

//! The inputs: files of a folder, or made up where there is no folder.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use lacunar::io::{self, ReadOptions};
use lacunar::{Coo, DType, DynTensor, Format};
use lacunar_examples::grid::{Kind, write_grid};
use lacunar_runtime::random::{Generator, generate};

/// Where the files of development lie, beside the repository.
const DEFAULT_FOLDER: &str = "../../shared/data/medium";
/// The files of `--quick`, by the beginning of their names.
const QUICK: [&str; 6] = ["bcsstk33", "cnr-2000", "ego-Twitter", "wave", "tags-math-sx", "email-Eu-core-temporal"];

/// An input that can be read.
pub enum Source {
    /// A file.
    File(PathBuf),
    /// A grid or random matrix.
    Matrix(&'static str, Kind),
    /// A random tensor of these sizes, with so many entries in each fibre.
    Tensor(&'static str, [u64; 3], u64),
}

/// What an input holds, values of type `f64`.
pub struct Entries {
    /// The entries.
    pub coo: Coo,
}

/// All inputs: the files of `folder`, or of the default folder, or made up.
pub fn sources(folder: Option<&Path>, quick: bool) -> Result<Vec<Source>> {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join(DEFAULT_FOLDER);
    let folder = match folder {
        Some(folder) => folder,
        None if default.is_dir() => &default,
        None => return Ok(made_up(quick)),
    };
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

fn made_up(quick: bool) -> Vec<Source> {
    let scale = if quick { 1 } else { 4 };
    vec![
        Source::Matrix("grid2d", Kind::Laplace2d(250 * scale)),
        Source::Matrix("grid3d", Kind::Laplace3d(20 * scale)),
        Source::Matrix("random", Kind::Random { size: 50_000 * scale, per_row: 16, seed: 42 }),
        Source::Tensor("random3", [200, 200, 5000 * scale], 20),
    ]
}

impl Source {
    /// The name: that of the file, without its endings.
    pub fn name(&self) -> &str {
        match self {
            Source::File(path) => {
                let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
                name.split_once('.').map_or(name, |(name, _)| name)
            }
            Source::Matrix(name, _) | Source::Tensor(name, ..) => name,
        }
    }

    /// Reads or makes it.
    pub fn read(&self) -> Result<Entries> {
        match self {
            Source::File(path) => read(path),
            Source::Matrix(_, kind) => {
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

    /// Packed, with each entry one further along the last dimension, and the last first.
    pub fn pack_shifted(&self, format: &Format) -> Result<DynTensor> {
        let mut coo = self.coo.clone();
        if let (Some(size), Some(last)) = (coo.dims.last().copied(), coo.coords.last_mut()) {
            let mut moved = lacunar_runtime::Coordinates::for_size(size);
            for k in 0..last.len() {
                if let Some(coordinate) = last.get(k) {
                    moved.push((coordinate + 1) % size);
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
        let shifted = entries.pack_shifted(&Format::csr()).expect("it fits");
        assert_eq!(shifted.to_dense::<f64>().expect("small"), [5.0, 0.0, 0.0, 0.0, 7.0, 0.0]);
    }
}

//! Arrays of NumPy (`.npy`), and archives of them (`.npz`), in which SciPy keeps sparse matrices.
//!
//! `header` reads and writes the header before an array, `array` the numbers, `archive` finds the arrays of an archive,
//! `sparse` makes a list of entries of them, and `write` writes all of it. The sizes that a header announces take no
//! memory before the numbers are there. Objects are refused: reading them would run what the file says.
//!
//! References: NumPy, `numpy.lib.format` (versions 1.0 to 3.0); SciPy, `scipy.sparse.save_npz`.

mod archive;
mod array;
mod header;
mod sparse;
mod write;

pub(super) use archive::read_archive;
pub(super) use array::read_file;
pub(super) use write::{no_list, write};

use std::path::{Path, PathBuf};

use lacunar_formats::{DType, Kind};

use super::error::IoError;
use super::{Compression, FieldKind, FileFormat, Metadata, Symmetry};

/// The first bytes of an array.
pub(super) const ARRAY_MAGIC: &[u8] = b"\x93NUMPY";
/// The first bytes of an archive.
pub(super) const ARCHIVE_MAGIC: &[u8] = b"PK\x03\x04";

/// The place of a mistake: the file, and the array in it.
#[derive(Clone, Debug)]
struct Place {
    file: PathBuf,
    /// `array`, or the name of one in an archive.
    name: String,
}

impl Place {
    fn new(file: &Path, name: &str) -> Place {
        Place { file: file.to_path_buf(), name: name.to_string() }
    }

    fn invalid(&self, expected: impl Into<String>, found: impl Into<String>) -> IoError {
        let (file, place) = (self.file.clone(), self.name.clone());
        IoError::Invalid { file, place, expected: expected.into(), found: found.into() }
    }

    fn unreadable(&self, source: std::io::Error) -> IoError {
        match source.kind() {
            std::io::ErrorKind::OutOfMemory => self.too_large("no memory for its values"),
            _ => IoError::Read { file: self.file.clone(), source },
        }
    }

    fn too_large(&self, what: &str) -> IoError {
        IoError::TooLarge { file: self.file.clone(), what: format!("{}: {what}", self.name) }
    }
}

/// The metadata of such a file.
fn metadata(format: FileFormat, compression: Compression, dtype: DType, stored: u64) -> Metadata {
    let field = match dtype.kind() {
        Kind::Real => FieldKind::Real,
        Kind::Complex => FieldKind::Complex,
        Kind::Bool | Kind::Signed | Kind::Unsigned => FieldKind::Integer,
    };
    Metadata { format, compression, field, symmetry: Symmetry::General, stored }
}

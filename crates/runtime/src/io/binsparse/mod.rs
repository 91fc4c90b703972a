//! Binsparse: sparse arrays in HDF5 (`.bsp.h5`, `.h5`, `.hdf5`), in builds with the feature `binsparse`.
//!
//! An attribute `binsparse` of a group is a text in JSON that describes the arrays of the group:
//!
//! ```text
//! {"binsparse": {"version": "0.1", "format": "CSR", "shape": [2, 3], "number_of_stored_values": 3,
//!   "data_types": {"pointers_to_1": "uint32", "indices_1": "uint32", "values": "float64"}}}
//! pointers_to_1  0 2 3
//! indices_1      0 2 2          1 . 2
//! values         1 2 3          . . 3
//! ```
//!
//! `descriptor` is that text: every format is a list of levels and an order of the dimensions. `types` has the names of element
//! types, `group` finds the group of a file and `heap` its text, `arrays` reads and writes its arrays, `read` makes entries from
//! levels, and `write` makes levels from entries.
//!
//! A file may have several such groups; `FILE.h5:GROUP` names one.
//!
//! References: the Binsparse Specification, version 0.1 (graphblas.org/binsparse-specification), and its implementation in C.

#[cfg(feature = "binsparse")]
mod arrays;
#[cfg(feature = "binsparse")]
mod descriptor;
#[cfg(feature = "binsparse")]
mod group;
#[cfg(feature = "binsparse")]
mod heap;
#[cfg(feature = "binsparse")]
mod read;
#[cfg(feature = "binsparse")]
mod types;
#[cfg(feature = "binsparse")]
mod write;

use std::path::{Path, PathBuf};

#[cfg(feature = "binsparse")]
pub(super) use read::read_file;
#[cfg(feature = "binsparse")]
pub(super) use write::write;

use super::error::IoError;

/// The first bytes of an HDF5 file.
pub(super) const MAGIC: &[u8] = b"\x89HDF\r\n\x1a\n";
/// The endings of the names of such files, compressed ones included.
const EXTENSIONS: [&str; 6] = [".h5", ".hdf5", ".h5.gz", ".hdf5.gz", ".h5.zst", ".hdf5.zst"];

/// The file and the group that `FILE.h5:GROUP` names; `None` if there is a file of that whole name.
pub(super) fn split_group(path: &Path) -> Option<(PathBuf, String)> {
    let text = path.to_str()?;
    let (file, group) = text.match_indices(':').find_map(|(colon, _)| {
        let name = text[..colon].to_ascii_lowercase();
        EXTENSIONS.iter().any(|extension| name.ends_with(extension)).then(|| text.split_at(colon))
    })?;
    if path.exists() { None } else { Some((PathBuf::from(file), group[1..].to_string())) }
}

/// Checks that such files can be written, and that the path names a file, which is written whole, and no group of one.
pub(super) fn check_output(path: &Path) -> Result<(), IoError> {
    if !cfg!(feature = "binsparse") {
        return Err(unavailable(path));
    }
    match split_group(path) {
        Some(_) => {
            let reason = "a file is written whole; name it without a group".to_string();
            Err(IoError::Unwritable { file: path.to_path_buf(), reason })
        }
        None => Ok(()),
    }
}

/// The error of a build without the feature, which has no HDF5.
fn unavailable(path: &Path) -> IoError {
    IoError::Unavailable { file: path.to_path_buf(), what: "HDF5 files (binsparse)", feature: "binsparse" }
}

/// The reader of a build without the feature: an error.
#[cfg(not(feature = "binsparse"))]
pub(super) fn read_file(
    path: &Path,
    _: Option<&str>,
    _: &super::ReadOptions,
) -> Result<(super::Data, super::Metadata), IoError> {
    Err(unavailable(path))
}

/// The writer of a build without the feature: an error.
#[cfg(not(feature = "binsparse"))]
pub(super) fn write(
    path: &Path,
    _: super::write::DataRef<'_>,
    _: super::Compression,
    _: &super::WriteOptions,
) -> Result<(), IoError> {
    Err(unavailable(path))
}

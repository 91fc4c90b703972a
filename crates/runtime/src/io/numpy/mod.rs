//! Arrays of NumPy (`.npy`), and archives of them (`.npz`), in which SciPy keeps sparse matrices.
//!
//! `header` reads and writes the header before an array, `array` the numbers, `archive` finds the arrays of an archive,
//! `sparse` makes a list of entries of them, and `write` writes all of it. The sizes that a header announces take no
//! memory before the numbers are there. Objects are refused: reading them would run code from the file.
//!
//! References: NumPy, `numpy.lib.format` (versions 1.0 to 3.0); SciPy, `scipy.sparse.save_npz`.

mod archive;
mod array;
mod header;
mod sparse;
mod write;

pub(super) use archive::read_archive;
pub(super) use array::{dtype, read_file};
pub(super) use write::{no_list, write};

use lacunar_formats::DType;

use super::{Compression, FieldKind, FileFormat, Metadata, Symmetry};

/// The first bytes of an array.
pub(super) const ARRAY_MAGIC: &[u8] = b"\x93NUMPY";
/// The first bytes of an archive.
pub(super) const ARCHIVE_MAGIC: &[u8] = b"PK\x03\x04";

/// The metadata of such a file.
fn metadata(format: FileFormat, compression: Compression, dtype: DType, stored: u64) -> Metadata {
    Metadata { format, compression, field: FieldKind::of(dtype), symmetry: Symmetry::General, stored }
}

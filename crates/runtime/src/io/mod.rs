//! Reading and writing files of matrices and tensors.
//!
//! | format          | names                                  | read | written |
//! |-----------------|----------------------------------------|------|---------|
//! | Matrix Market   | `.mtx` `.mm`                           | yes  | yes     |
//! | FROSTT          | `.tns` (also ParTI's, Tensor Toolbox's) | yes  | yes     |
//! | edge lists      | `.el` `.wel` `.edges` `.csv` `.tsv` `.txt` | yes | no    |
//! | NumPy           | `.npy`; `.npz` of SciPy, of one array  | yes  | yes     |
//! | Harwell-Boeing  | `.rb` `.hb` `.rua` `.rsa` `.psa` ...   | yes  | no      |
//! | Binsparse       | `.bsp.h5` `.h5` `.hdf5`                | yes  | yes     |
//!
//! each plain, or compressed by gzip (`.gz`) or Zstandard (`.zst`). The format follows from the name, or else from the
//! content; the compression when reading follows from the content alone. Binsparse needs HDF5, and the feature `binsparse`.
//!
//! Coordinate files become a [`Coo`], in the order of the file and with symmetry expanded; array files become a
//! [`Dense`] array. A file is written beside its place and renamed when it is whole.
//!
//! ```
//! use lacunar_runtime::io::{self, Data, ReadOptions};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("a.mtx");
//! std::fs::write(&path, "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 4\n2 1 -1\n")?;
//! let Data::Coordinate(coo) = io::read(&path, &ReadOptions::default())? else { panic!("an array") };
//! assert_eq!((coo.dims, coo.values.len()), (vec![2, 2], 3));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod binsparse;
mod edge_list;
mod entries;
mod error;
mod fortran;
mod frostt;
mod harwell_boeing;
mod matrix_market;
mod mirror;
mod numpy;
mod output;
mod progress;
mod scan;
mod text;
mod write;

use std::path::Path;

pub use error::IoError;
pub use output::{check_place, place_of, replace};
pub use write::{DataRef, WriteField, WriteOptions, check_list, check_output, write};

use lacunar_formats::{DType, Format, Kind};

use crate::coo::Coo;
use crate::error::StorageError;
use crate::tensor::Tensor;
use crate::values::Values;
use text::Text;

/// The names of files that are read, for messages.
const READ_EXTENSIONS: &str = ".mtx, .mm, .tns, .npy, .npz, .el, .wel, .edges, .csv, .tsv, .txt, .rb, .hb, .h5, .hdf5, or a Harwell-Boeing type such as .rua";

/// The names of files that are written.
const WRITTEN_EXTENSIONS: &str = ".mtx, .mm, .tns, .npy, .npz, .h5 or .hdf5";

/// The content of a file.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// The entries that are stored, and where.
    Coordinate(Coo),
    /// The value of every place.
    Dense(Dense),
}

impl Data {
    /// A tensor as the content of a file: one that is dense as an array, others as their entries.
    ///
    /// # Errors
    /// Memory is refused.
    ///
    /// ```
    /// use lacunar_runtime::{Tensor, io::Data};
    /// assert!(matches!(Data::of(&Tensor::scalar(1.0)), Ok(Data::Dense(array)) if array.values.len() == 1));
    /// ```
    pub fn of(tensor: &Tensor) -> Result<Data, StorageError> {
        if !tensor.format().is_dense() {
            return Data::listed(tensor);
        }
        let converted = match tensor.format().is_natural_order() {
            true => None,
            false => Some(tensor.convert(&Format::dense(tensor.order()))?),
        };
        let natural = converted.as_ref().unwrap_or(tensor);
        Ok(Data::Dense(Dense { dims: natural.dims().to_vec(), values: natural.to_coo()?.values }))
    }

    /// The entries of a tensor as the content of a file. All values of a dense one are entries; in others the padding of blocks, diagonals
    /// and slots is none.
    ///
    /// # Errors
    /// Memory is refused.
    pub fn listed(tensor: &Tensor) -> Result<Data, StorageError> {
        let format = tensor.format();
        let fills_up = !format.is_dense() && format.is_padded() && format.packing().is_none();
        let list = if fills_up { Some(tensor.convert(&Format::coo(tensor.order()))?) } else { None };
        Ok(Data::Coordinate(list.as_ref().unwrap_or(tensor).to_coo()?))
    }
}

/// An array of all values.
#[derive(Clone, Debug, PartialEq)]
pub struct Dense {
    /// The size of each dimension.
    pub dims: Vec<u64>,
    /// The values, the last dimension varying fastest; as many as the product of the sizes.
    pub values: Values,
}

/// The statements of a file about its content, which the content itself no longer shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// The format of the file.
    pub format: FileFormat,
    /// Its compression.
    pub compression: Compression,
    /// The kind of its values.
    pub field: FieldKind,
    /// The symmetry that was expanded.
    pub symmetry: Symmetry,
    /// The number of entries in the file, before symmetry was expanded.
    pub stored: u64,
}

/// A format of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFormat {
    /// Matrix Market.
    MatrixMarket,
    /// FROSTT and its relatives.
    Frostt,
    /// Lines of a source, a target and perhaps a weight.
    EdgeList,
    /// An array of NumPy.
    Npy,
    /// An archive of such arrays, as SciPy writes sparse matrices.
    Npz,
    /// Harwell-Boeing and Rutherford-Boeing.
    HarwellBoeing,
    /// Binsparse in HDF5.
    Binsparse,
}

/// The kind of values in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// Read as `f64`.
    Real,
    /// Read as `i64`.
    Integer,
    /// Read as `Complex<f64>`.
    Complex,
    /// No values: places only.
    Pattern,
}

impl FieldKind {
    /// The kind of an element type's values.
    fn of(dtype: DType) -> FieldKind {
        match dtype.kind() {
            Kind::Real => FieldKind::Real,
            Kind::Complex => FieldKind::Complex,
            Kind::Bool | Kind::Signed | Kind::Unsigned => FieldKind::Integer,
        }
    }
}

/// The symmetry of a matrix file: it tells the entries that stand for their mirror image too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symmetry {
    /// None.
    General,
    /// The image has the same value.
    Symmetric,
    /// The image has the negative value.
    SkewSymmetric,
    /// The image has the conjugate value.
    Hermitian,
}

/// The compression of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Not.
    None,
    /// Gzip (RFC 1952), of one or more members.
    Gzip,
    /// Zstandard (RFC 8878), of one or more frames.
    Zstd,
}

impl Compression {
    /// The compression that the first bytes of a file show.
    fn of_magic(bytes: &[u8]) -> Compression {
        match bytes {
            [0x1f, 0x8b, ..] => Compression::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Compression::Zstd,
            _ => Compression::None,
        }
    }
}

/// The values that the entries of a pattern file become.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PatternValues {
    /// `f64` ones.
    #[default]
    Ones,
    /// `bool` trues.
    True,
    /// Places without values, of type `pattern`.
    Places,
}

/// The type that whole numbers are read as: exactly, where reals of 64 bits would round those above 2^53. A tensor file (`.tns`) or
/// an edge list is read as reals if it holds one other number; a matrix file declares its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Integers {
    /// As `i64`.
    Signed,
    /// As `u64`.
    Unsigned,
}

impl Integers {
    /// The way in which whole numbers of an element type are read; `None` if it is no type of integers.
    pub fn of(dtype: DType) -> Option<Integers> {
        match dtype.kind() {
            Kind::Signed => Some(Integers::Signed),
            Kind::Unsigned => Some(Integers::Unsigned),
            _ => None,
        }
    }
}

/// The index of the first place in a tensor file or an edge list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IndexBase {
    /// Indices start at 1, as the format says.
    #[default]
    One,
    /// Indices start at 0.
    Zero,
}

impl IndexBase {
    /// The first index.
    pub(crate) fn first(self) -> u64 {
        match self {
            IndexBase::One => 1,
            IndexBase::Zero => 0,
        }
    }
}

/// The options of reading.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// The sizes of a tensor (`.tns`) or of the matrix of an edge list, whose files need not tell them. Files that do tell sizes of
    /// matrices ignore this.
    pub dims: Option<Vec<u64>>,
    /// The first index of a tensor file (`.tns`) or of an edge list.
    pub base: IndexBase,
    /// The values that the entries of a pattern become.
    pub pattern: PatternValues,
    /// The type that whole numbers are read as, if the caller takes no others.
    pub integers: Option<Integers>,
    /// True if a progress bar may show on a terminal, in builds with the feature `progress`.
    pub progress: bool,
}

impl Default for ReadOptions {
    fn default() -> ReadOptions {
        ReadOptions { dims: None, base: IndexBase::One, pattern: PatternValues::Ones, integers: None, progress: true }
    }
}

/// Reads a file.
pub fn read(path: &Path, options: &ReadOptions) -> Result<Data, IoError> {
    Ok(read_described(path, options)?.0)
}

/// Reads a file, and returns also its metadata.
pub fn read_described(path: &Path, options: &ReadOptions) -> Result<(Data, Metadata), IoError> {
    if let Some((file, group)) = binsparse::split_group(path) {
        return binsparse::read_file(&file, Some(&group), options);
    }
    let (named, _) = split_name(path);
    match named {
        Some(FileFormat::Binsparse) => return binsparse::read_file(path, None, options),
        Some(FileFormat::Npy) => return numpy::read_file(path, options),
        Some(FileFormat::Npz) => return numpy::read_archive(path, options),
        _ => {}
    }
    let mut text = Text::open(path, options.progress)?;
    match named.or_else(|| sniff(text.ahead())) {
        Some(FileFormat::Npy) => numpy::read_file(path, options),
        Some(FileFormat::Npz) => numpy::read_archive(path, options),
        Some(FileFormat::Binsparse) => binsparse::read_file(path, None, options),
        Some(FileFormat::MatrixMarket) => matrix_market::read(&mut text, options),
        Some(FileFormat::Frostt) => read_numbers(path, text, options, frostt::read),
        Some(FileFormat::EdgeList) => read_numbers(path, text, options, edge_list::read),
        Some(FileFormat::HarwellBoeing) => harwell_boeing::read(&mut text, options),
        None => Err(IoError::UnknownFormat { file: path.to_path_buf(), names: READ_EXTENSIONS }),
    }
}

/// The type of the values that [`read`] gives, where nothing is asked for: of matrix files and arrays of NumPy by their heads alone,
/// of lists of entries by their names.
///
/// ```
/// use lacunar_formats::DType;
/// use lacunar_runtime::io;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("a.mtx");
/// std::fs::write(&path, "%%MatrixMarket matrix coordinate complex general\n2 2 1\n1 1 4 0\n")?;
/// assert_eq!(io::dtype(&path)?, DType::C128);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The file cannot be read.
pub fn dtype(path: &Path) -> Result<DType, IoError> {
    let named = if binsparse::split_group(path).is_some() { Some(FileFormat::Binsparse) } else { split_name(path).0 };
    match named {
        Some(FileFormat::Npy) => numpy::dtype(path),
        Some(FileFormat::MatrixMarket) => matrix_market::dtype(&mut Text::open(path, false)?),
        Some(FileFormat::Frostt | FileFormat::EdgeList) => Ok(DType::F64),
        _ => {
            let data = read(path, &ReadOptions { progress: false, ..ReadOptions::default() })?;
            Ok(match data {
                Data::Coordinate(coo) => coo.values.dtype(),
                Data::Dense(dense) => dense.values.dtype(),
            })
        }
    }
}

/// The function that reads a text that is at its start.
type Reader = fn(&mut Text, &ReadOptions) -> Result<(Data, Metadata), IoError>;

/// Reads a file that may hold whole numbers or others, as whole numbers if the caller wants them and there are no others.
fn read_numbers(path: &Path, mut text: Text, options: &ReadOptions, read: Reader) -> Result<(Data, Metadata), IoError> {
    match read(&mut text, options) {
        Err(IoError::Malformed { .. }) if options.integers.is_some() => {
            let reals = ReadOptions { integers: None, ..options.clone() };
            read(&mut Text::open(path, options.progress)?, &reals)
        }
        read => read,
    }
}

/// The format that the first lines of a text show.
fn sniff(text: &[u8]) -> Option<FileFormat> {
    if text.starts_with(numpy::ARRAY_MAGIC) {
        Some(FileFormat::Npy)
    } else if text.starts_with(numpy::ARCHIVE_MAGIC) {
        Some(FileFormat::Npz)
    } else if text.starts_with(binsparse::MAGIC) {
        Some(FileFormat::Binsparse)
    } else if matrix_market::sniff(text) {
        Some(FileFormat::MatrixMarket)
    } else if harwell_boeing::sniff(text) {
        Some(FileFormat::HarwellBoeing)
    } else if edge_list::sniff(text) {
        Some(FileFormat::EdgeList)
    } else if frostt::sniff(text) {
        Some(FileFormat::Frostt)
    } else {
        None
    }
}

/// The format and the compression that a file's name shows.
fn split_name(path: &Path) -> (Option<FileFormat>, Compression) {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let (stem, compression) = if let Some(stem) = name.strip_suffix(".gz") {
        (stem, Compression::Gzip)
    } else if let Some(stem) = name.strip_suffix(".zst") {
        (stem, Compression::Zstd)
    } else {
        (name.as_str(), Compression::None)
    };
    let format = match stem.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "mtx" | "mm" => Some(FileFormat::MatrixMarket),
        "tns" => Some(FileFormat::Frostt),
        "npy" => Some(FileFormat::Npy),
        "npz" => Some(FileFormat::Npz),
        "h5" | "hdf5" => Some(FileFormat::Binsparse),
        extension if extension.starts_with("h5:") || extension.starts_with("hdf5:") => Some(FileFormat::Binsparse),
        // `.txt` may be anything: the content tells.
        "el" | "wel" | "edges" | "csv" | "tsv" => Some(FileFormat::EdgeList),
        "rb" | "hb" => Some(FileFormat::HarwellBoeing),
        extension if is_matrix_type(extension.as_bytes()) => Some(FileFormat::HarwellBoeing),
        _ => None,
    };
    (format, compression)
}

/// True if three letters are a type of the Harwell-Boeing family, such as `rua`: values, symmetry, assembly.
fn is_matrix_type(letters: &[u8]) -> bool {
    matches!(letters, [b'r' | b'c' | b'i' | b'p' | b'q', b'u' | b's' | b'h' | b'z' | b'r', b'a' | b'e'])
}

//! Makes levels of arrays from a list of entries, or from an array of all values.
//!
//! An array is written as `DVEC`, `DMATR`, or dense levels. A list is packed into the levels nearest to the levels of its tensor's
//! format, if the caller gives that format:
//!
//! | format of the tensor                              | in the file                      |
//! |---------------------------------------------------|----------------------------------|
//! | dense levels outside                              | dense                            |
//! | a list of coordinates                             | sparse, of as many ranks         |
//! | any other level, and dense ones below such        | sparse of rank 1                 |
//! | blocks, diagonals, slots, or not known: a matrix  | `CSR`, `DCSR` if rows are sparse |
//! | ... any other order                               | sparse, of all ranks             |
//!
//! So entries are sorted, and entries of equal coordinates are added up, as the specification demands. Levels with a name in the
//! specification have that name in the file; other levels are written out as `custom`.

use std::path::Path;

use hdf5_metno as hdf5;
use lacunar_formats::{DType, Format, Level as Kind, LevelKind};

use super::descriptor::{Descriptor, Level};
use super::types::ValueType;
use super::{arrays, check_output, group};
use crate::buffer::{Buffer, Indices};
use crate::coo::Coo;
use crate::error::StorageError;
use crate::fits::plain_format;
use crate::io::error::IoError;
use crate::io::output::write_file;
use crate::io::progress::Progress;
use crate::io::write::{DataRef, WriteOptions};
use crate::io::{Compression, Dense};
use crate::storage::LevelStorage;
use crate::tensor::Tensor;
use crate::values::{Element, Values};

/// Writes a file.
pub(in crate::io) fn write(
    path: &Path,
    data: DataRef<'_>,
    compression: Compression,
    options: &WriteOptions,
) -> Result<(), IoError> {
    check_output(path)?;
    let label = format!("writing {}", path.file_name().unwrap_or_default().to_string_lossy());
    match data {
        DataRef::Dense(Dense { dims, values }) => {
            let levels = vec![Level::Dense; dims.len()];
            let content = Content::new(dims, levels, (0..dims.len()).collect(), &[], Stored::Values(values));
            let progress = Progress::start(label, content.bytes(), options.progress);
            write_file(path, compression, |place| content.write(place, progress))
        }
        DataRef::Coordinate(coo) => {
            let (levels, format) = nearest(coo, options.format.as_ref());
            let packed = format.and_then(|format| Tensor::from_coo(coo.clone(), &format));
            let packed = packed.map_err(|error| match error {
                StorageError::Alloc(error) => IoError::TooLarge { file: path.to_path_buf(), what: error.to_string() },
                other => IoError::Unwritable { file: path.to_path_buf(), reason: other.to_string() },
            })?;
            let order = packed.format().mode_order().to_vec();
            let values = Stored::Buffer(packed.values());
            let content = Content::new(packed.dims(), levels, order, packed.levels(), values);
            let progress = Progress::start(label, content.bytes(), options.progress);
            write_file(path, compression, |place| content.write(place, progress))
        }
    }
}

/// The levels that a list is written in, and the format that has these levels.
fn nearest(coo: &Coo, wanted: Option<&Format>) -> (Vec<Level>, Result<Format, StorageError>) {
    let order = coo.dims.len();
    let wanted = wanted.filter(|format| format.order() == order && format.map().is_none());
    let known = match (wanted, order) {
        (Some(format), _) => format.plain(),
        (None, 2) => plain_format(&coo.dims, coo.len() as u64),
        (None, _) => Format::coo(order),
    };
    let (mut levels, mut kinds) = (Vec::new(), Vec::new());
    for kind in known.levels() {
        let is_outside = levels.iter().all(|level| *level == Level::Dense);
        match levels.last_mut() {
            // A level of a list of coordinates: it has one for each position of the level above.
            Some(Level::Sparse(rank)) if kind.kind == LevelKind::SINGLETON => {
                *rank += 1;
                kinds.push(*kind);
            }
            _ if kind.kind == LevelKind::DENSE && is_outside => {
                levels.push(Level::Dense);
                kinds.push(Kind::DENSE);
            }
            _ => {
                levels.push(Level::Sparse(1));
                kinds.push(if kind.kind == LevelKind::COMPRESSED { *kind } else { Kind::COMPRESSED });
            }
        }
    }
    // The last level of each list of coordinates tells its entries apart.
    for place in 0..kinds.len() {
        let ends = kinds.get(place + 1).is_none_or(|next| next.kind != LevelKind::SINGLETON);
        kinds[place].unique |= ends;
    }
    let format = Format::new(kinds, known.mode_order().to_vec());
    (levels, format.map_err(|_| StorageError::overflow("the order of the dimensions")))
}

/// The values of a list or an array.
enum Stored<'a> {
    Values(&'a Values),
    Buffer(&'a Buffer),
}

impl Stored<'_> {
    fn len(&self) -> usize {
        match self {
            Stored::Values(values) => values.len(),
            Stored::Buffer(buffer) => buffer.len(),
        }
    }

    fn dtype(&self) -> DType {
        match self {
            Stored::Values(values) => values.dtype(),
            Stored::Buffer(buffer) => buffer.dtype(),
        }
    }

    /// The values as a slice; `T` is their type.
    fn slice<T: Element>(&self) -> &[T] {
        match self {
            Stored::Values(values) => T::unwrap(values).map(Vec::as_slice),
            Stored::Buffer(buffer) => buffer.as_slice(),
        }
        .unwrap_or_default()
    }
}

/// The content of a file.
struct Content<'a> {
    descriptor: Descriptor,
    /// Starts and coordinates, with their names.
    indices: Vec<(String, Indices<'a>)>,
    values: Stored<'a>,
}

impl<'a> Content<'a> {
    /// The content that has these levels; their arrays are in `storage`, which has a level for each dimension.
    fn new(
        dims: &[u64],
        levels: Vec<Level>,
        order: Vec<usize>,
        storage: &'a [LevelStorage],
        values: Stored<'a>,
    ) -> Content<'a> {
        let mut indices: Vec<(String, Indices<'a>)> = Vec::new();
        let mut depth = 0;
        for level in &levels {
            let Level::Sparse(rank) = *level else {
                depth += 1;
                continue;
            };
            let starts = storage.get(depth).and_then(LevelStorage::pos).and_then(Buffer::indices);
            // There is one position above the outermost level.
            indices.extend(starts.filter(|_| depth > 0).map(|starts| (format!("pointers_to_{depth}"), starts)));
            for (place, level) in storage.iter().enumerate().skip(depth).take(rank) {
                let coordinates = level.crd().and_then(Buffer::indices);
                indices.extend(coordinates.map(|coordinates| (format!("indices_{place}"), coordinates)));
            }
            depth += rank;
        }
        let mut descriptor = Descriptor::new(dims.to_vec(), levels, order, values.len() as u64);
        for (name, numbers) in &indices {
            descriptor.add_type(name, ValueType::of(numbers.width().dtype()));
        }
        descriptor.add_type("values", ValueType::of(values.dtype()));
        Content { descriptor, indices, values }
    }

    /// The approximate number of bytes that are written.
    fn bytes(&self) -> u64 {
        let numbers = |numbers: &Indices<'_>| numbers.len() as u64 * u64::from(numbers.width().bits() / 8);
        let indices: u64 = self.indices.iter().map(|(_, found)| numbers(found)).sum();
        indices + (self.values.len() * self.values.dtype().size()) as u64
    }

    /// Writes the file.
    fn write(&self, place: &Path, mut progress: Progress) -> std::io::Result<()> {
        let mut write = || {
            let file = hdf5::File::create(place)?;
            let root = file.group("/")?;
            for (name, numbers) in &self.indices {
                match numbers {
                    Indices::U8(found) => plain(&root, name, found, &mut progress)?,
                    Indices::U16(found) => plain(&root, name, found, &mut progress)?,
                    Indices::U32(found) => plain(&root, name, found, &mut progress)?,
                    Indices::U64(found) => plain(&root, name, found, &mut progress)?,
                }
            }
            self.write_values(&root, &mut progress)?;
            let text: hdf5::types::VarLenUnicode =
                self.descriptor.text().parse().map_err(|_| hdf5::Error::from("the descriptor is no text"))?;
            root.new_attr::<hdf5::types::VarLenUnicode>().create(group::ATTRIBUTE)?.write_scalar(&text)?;
            file.flush()?;
            drop(root);
            file.close()
        };
        write().map_err(|error: hdf5::Error| reason(&error))
    }

    fn write_values(&self, group: &hdf5::Group, progress: &mut Progress) -> Result<(), hdf5::Error> {
        const NAME: &str = "values";
        let values = &self.values;
        macro_rules! plain {
            ($ty:ty) => {
                plain(group, NAME, values.slice::<$ty>(), progress)
            };
        }
        macro_rules! mapped {
            ($ty:ty, $len:expr, $all:ident, $range:ident => $items:expr) => {{
                let $all = values.slice::<$ty>();
                arrays::write(group, NAME, $len, progress, |$range| $items.collect())
            }};
        }
        // The parts of complex numbers: a range of parts begins and ends with whole numbers.
        macro_rules! parts {
            ($part:ty) => {
                mapped!(num_complex::Complex<$part>, 2 * values.len(), all, range =>
                    range.map(|place| if place % 2 == 0 { all[place / 2].re } else { all[place / 2].im }))
            };
        }
        match values.dtype() {
            DType::Bool => mapped!(bool, values.len(), all, range => all[range].iter().map(|&value| u8::from(value))),
            DType::Pattern => arrays::write(group, NAME, 1, progress, |_| vec![1u8]),
            DType::F16 => mapped!(half::f16, values.len(), all, range => all[range].iter().map(|value| value.to_f32())),
            DType::BF16 => {
                mapped!(half::bf16, values.len(), all, range => all[range].iter().map(|value| value.to_f32()))
            }
            DType::C64 => parts!(f32),
            DType::C128 => parts!(f64),
            DType::U8 => plain!(u8),
            DType::U16 => plain!(u16),
            DType::U32 => plain!(u32),
            DType::U64 => plain!(u64),
            DType::I8 => plain!(i8),
            DType::I16 => plain!(i16),
            DType::I32 => plain!(i32),
            DType::I64 => plain!(i64),
            DType::F32 => plain!(f32),
            DType::F64 => plain!(f64),
        }
    }
}

/// Writes numbers as they are.
fn plain<T: hdf5::H5Type + Copy>(
    group: &hdf5::Group,
    name: &str,
    numbers: &[T],
    progress: &mut Progress,
) -> Result<(), hdf5::Error> {
    arrays::write(group, name, numbers.len(), progress, |range| numbers[range].to_vec())
}

/// The reason for which HDF5 could not write: the error of the system, whose number is in HDF5's innermost message.
fn reason(error: &hdf5::Error) -> std::io::Error {
    const NUMBER: &str = "errno = ";
    let stack = error.stack();
    let innermost = stack.as_ref().and_then(|stack| stack.iter().last()).map(hdf5::ErrorFrame::desc);
    let words = innermost.map_or_else(|| error.to_string(), ToString::to_string);
    let number = words.split_once(NUMBER).and_then(|(_, rest)| rest.split(',').next()?.trim().parse().ok());
    number.map_or_else(|| std::io::Error::other(words), std::io::Error::from_raw_os_error)
}

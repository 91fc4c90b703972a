//! The arrays of a group: read in pieces, and written in pieces.
//!
//! An array has one dimension. Before anything is read, its length and type are compared with the expected ones, and its length
//! with the bytes that the file has for it: HDF5 makes up numbers that were never written, and no memory is set aside for them.
#![allow(unsafe_code)]

use std::ops::Range;

use hdf5_metno as hdf5;
use hdf5_metno_sys::h5t::{H5T_class_t, H5T_sign_t, H5Tget_class, H5Tget_sign, H5Tget_size};
use hdf5_metno_sys::h5z::H5Zfilter_avail;
use lacunar_formats::DType;
use num_complex::Complex;

use super::descriptor::Descriptor;
use super::types::ValueType;
use crate::alloc::make_room;
use crate::io::error::{IoError, Place};
use crate::io::progress::Progress;
use crate::values::{Element, Values};

/// The number of bytes that are read or written at a time.
const PIECE_BYTES: usize = 1 << 20;
/// The most bytes of numbers that a byte of the file may stand for: Deflate, which HDF5 compresses with, gives no more.
const MOST_EXPANSION: u64 = 1100;

/// The arrays of a group that is read.
pub(super) struct Arrays<'a> {
    pub(super) group: &'a hdf5::Group,
    /// The bytes of the file.
    pub(super) file_bytes: u64,
    pub(super) descriptor: &'a Descriptor,
    pub(super) place: Place,
    pub(super) progress: Progress,
}

impl Arrays<'_> {
    /// Reads whole numbers from 0: `count` of them, if that is known.
    pub(super) fn numbers(&mut self, name: &str, count: Option<u64>) -> Result<Vec<u64>, IoError> {
        let place = self.place.within(name);
        let found = self.announced(name)?;
        if found.complex || found.iso || !(found.stored.is_integer() && found.stored != DType::Bool) {
            return Err(place.invalid("a type of whole numbers", found.name()));
        }
        let values = self.read(name, found.stored, count)?;
        let whole = |found: String| place.invalid("whole numbers from 0", found);
        fn unsigned<T: Copy + TryInto<u64> + std::fmt::Display>(values: Vec<T>) -> Result<Vec<u64>, String> {
            values.into_iter().map(|value| value.try_into().map_err(|_| value.to_string())).collect()
        }
        match values {
            Values::U64(numbers) => Ok(numbers),
            Values::U8(numbers) => unsigned(numbers).map_err(whole),
            Values::U16(numbers) => unsigned(numbers).map_err(whole),
            Values::U32(numbers) => unsigned(numbers).map_err(whole),
            Values::I8(numbers) => unsigned(numbers).map_err(whole),
            Values::I16(numbers) => unsigned(numbers).map_err(whole),
            Values::I32(numbers) => unsigned(numbers).map_err(whole),
            Values::I64(numbers) => unsigned(numbers).map_err(whole),
            other => Err(whole(format!("values of type {}", other.dtype()))),
        }
    }

    /// Reads `count` values; of an `iso` array, the one value that stands for all.
    pub(super) fn values(&mut self, name: &str, count: u64) -> Result<(Values, ValueType), IoError> {
        let found = self.announced(name)?;
        let place = self.place.within(name);
        let len = if found.iso { 1 } else { count };
        let parts = if found.complex { len.checked_mul(2) } else { Some(len) };
        let parts = parts.ok_or_else(|| place.too_large("its number of values does not fit into 64 bits"))?;
        let values = self.read(name, found.stored, Some(parts))?;
        fn paired<T: Copy>(parts: &[T]) -> Vec<Complex<T>> {
            parts.chunks_exact(2).map(|part| Complex::new(part[0], part[1])).collect()
        }
        let values = match values {
            Values::F32(parts) if found.complex => Values::C64(paired(&parts)),
            Values::F64(parts) if found.complex => Values::C128(paired(&parts)),
            values => values,
        };
        Ok((values, found))
    }

    /// The type of an array in the descriptor.
    fn announced(&self, name: &str) -> Result<ValueType, IoError> {
        let place = || self.place.within("data_types").within(name);
        self.descriptor.type_of(name).ok_or_else(|| place().invalid("the type of this array", "none"))
    }

    /// Reads an array of a type: `count` numbers, if that is known.
    fn read(&mut self, name: &str, dtype: DType, count: Option<u64>) -> Result<Values, IoError> {
        let place = self.place.within(name);
        // Some programs write no array if there is nothing to write.
        if count == Some(0) && !self.group.link_exists(name) {
            return Ok(Values::empty(dtype));
        }
        let damaged = |error: hdf5::Error| place.invalid("an array that can be read", error.to_string());
        let missing = |error: hdf5::Error| place.invalid("an array of this name", error.to_string());
        let dataset = self.group.dataset(name).map_err(missing)?;
        let space = dataset.space().map_err(damaged)?;
        let &[len] = space.shape().as_slice() else {
            return Err(place.invalid("an array of one dimension", format!("one of {}", space.ndim())));
        };
        if count.is_some_and(|count| count != len as u64) {
            let expected = format!("{} numbers", count.unwrap_or_default());
            return Err(place.invalid(expected, len.to_string()));
        }
        let found = stored_type(&dataset.dtype().map_err(damaged)?);
        let is_byte = matches!(found, Some(DType::U8 | DType::I8 | DType::Bool));
        if found != Some(dtype) && !(dtype == DType::Bool && is_byte) {
            let found = found.map_or("another type".to_string(), |found| ValueType::of(found).name());
            return Err(place.invalid(format!("{} as announced", ValueType::of(dtype).name()), found));
        }
        let chunk = self.believed(&dataset, len, &place)?;
        let mut piece = Pieces { dataset: &dataset, len, chunk, place: &place, progress: &mut self.progress };
        match dtype {
            DType::Bool if found == Some(DType::Bool) => piece.read::<bool>().map(Element::wrap),
            DType::Bool if found == Some(DType::I8) => piece.read::<i8>().map(|bytes| truths(&bytes)),
            DType::Bool => piece.read::<u8>().map(|bytes| truths(&bytes)),
            DType::U8 => piece.read::<u8>().map(Element::wrap),
            DType::U16 => piece.read::<u16>().map(Element::wrap),
            DType::U32 => piece.read::<u32>().map(Element::wrap),
            DType::U64 => piece.read::<u64>().map(Element::wrap),
            DType::I8 => piece.read::<i8>().map(Element::wrap),
            DType::I16 => piece.read::<i16>().map(Element::wrap),
            DType::I32 => piece.read::<i32>().map(Element::wrap),
            DType::I64 => piece.read::<i64>().map(Element::wrap),
            DType::F32 => piece.read::<f32>().map(Element::wrap),
            DType::F64 => piece.read::<f64>().map(Element::wrap),
            DType::F16 | DType::BF16 | DType::C64 | DType::C128 | DType::Pattern => {
                Err(place.invalid("a type of the specification", dtype.name()))
            }
        }
    }

    /// Checks that the file has as many bytes for an array as its length needs; returns the number of items in a chunk.
    fn believed(&self, dataset: &hdf5::Dataset, len: usize, place: &Place) -> Result<usize, IoError> {
        use hdf5::dataset::Layout;
        let damaged = |error: hdf5::Error| place.invalid("an array that can be read", error.to_string());
        let how = dataset.dcpl().map_err(damaged)?;
        let layout = how.layout();
        let known = matches!(layout, Layout::Compact | Layout::Contiguous | Layout::Chunked);
        if !known || !how.external().is_empty() {
            return Err(place.invalid("an array that is stored in this file", "one that is stored in others"));
        }
        let missing = |filter: &hdf5::filters::Filter| {
            // SAFETY: the lock of the library is held, and a number is looked up.
            hdf5::sync::sync(|| unsafe { H5Zfilter_avail(filter.id()) } <= 0)
        };
        if let Some(filter) = how.filters().iter().find(|filter| missing(filter)) {
            let found = format!("filter {}", filter.id());
            return Err(place.invalid("filters that this HDF5 has", found));
        }
        let item = dataset.dtype().map_err(damaged)?.size() as u64;
        let stored = dataset.storage_size().min(self.file_bytes);
        let expansion = if how.filters().is_empty() { 1 } else { MOST_EXPANSION };
        let chunk = how.chunk().and_then(|chunk| chunk.first().copied()).filter(|_| layout == Layout::Chunked);
        let bytes = |items: usize| (items as u64).saturating_mul(item);
        if len > 0 && bytes(len.max(chunk.unwrap_or(0))) > stored.saturating_mul(expansion) {
            return Err(
                place.invalid(format!("{len} numbers as announced"), format!("{stored} bytes of the file for them"))
            );
        }
        Ok(chunk.unwrap_or(1).max(1))
    }
}

/// The type of the numbers in the file; `None` if it is not one of ours.
fn stored_type(dtype: &hdf5::Datatype) -> Option<DType> {
    let (class, sign, size) = hdf5::sync::sync(|| {
        // SAFETY: the handle is open, and the lock of the library is held.
        unsafe {
            let class = H5Tget_class(dtype.id());
            // Only types of whole numbers have a sign.
            let sign =
                if class == H5T_class_t::H5T_INTEGER { H5Tget_sign(dtype.id()) } else { H5T_sign_t::H5T_SGN_NONE };
            (class, sign, H5Tget_size(dtype.id()))
        }
    });
    match (class, sign, size) {
        (H5T_class_t::H5T_INTEGER, H5T_sign_t::H5T_SGN_NONE, 1) => Some(DType::U8),
        (H5T_class_t::H5T_INTEGER, H5T_sign_t::H5T_SGN_NONE, 2) => Some(DType::U16),
        (H5T_class_t::H5T_INTEGER, H5T_sign_t::H5T_SGN_NONE, 4) => Some(DType::U32),
        (H5T_class_t::H5T_INTEGER, H5T_sign_t::H5T_SGN_NONE, 8) => Some(DType::U64),
        (H5T_class_t::H5T_INTEGER, H5T_sign_t::H5T_SGN_2, 1) => Some(DType::I8),
        (H5T_class_t::H5T_INTEGER, H5T_sign_t::H5T_SGN_2, 2) => Some(DType::I16),
        (H5T_class_t::H5T_INTEGER, H5T_sign_t::H5T_SGN_2, 4) => Some(DType::I32),
        (H5T_class_t::H5T_INTEGER, H5T_sign_t::H5T_SGN_2, 8) => Some(DType::I64),
        (H5T_class_t::H5T_FLOAT, _, 4) => Some(DType::F32),
        (H5T_class_t::H5T_FLOAT, _, 8) => Some(DType::F64),
        // The type in which h5py writes truth values.
        (H5T_class_t::H5T_ENUM, _, 1) if dtype.is::<bool>() => Some(DType::Bool),
        _ => None,
    }
}

/// The truth values of bytes: every byte but 0 is true.
fn truths(bytes: &[impl Copy + Default + PartialEq]) -> Values {
    Values::Bool(bytes.iter().map(|byte| *byte != Default::default()).collect())
}

/// An array that is read piece by piece.
struct Pieces<'a> {
    dataset: &'a hdf5::Dataset,
    len: usize,
    /// The number of items in a chunk, which is stored and decompressed as a whole.
    chunk: usize,
    place: &'a Place,
    progress: &'a mut Progress,
}

impl Pieces<'_> {
    fn read<T: hdf5::H5Type + Copy>(&mut self) -> Result<Vec<T>, IoError> {
        let mut found: Vec<T> = Vec::new();
        let step = (PIECE_BYTES / size_of::<T>()).next_multiple_of(self.chunk);
        while found.len() < self.len {
            let range: Range<usize> = found.len()..self.len.min(found.len().saturating_add(step));
            make_room(&mut found, range.len()).map_err(|_| self.place.too_large("no memory for its numbers"))?;
            let damaged = |error: hdf5::Error| self.place.invalid("numbers that can be read", error.to_string());
            let piece = self.dataset.read_slice_1d::<T, _>(range).map_err(damaged)?;
            found.extend(&piece);
            self.progress.advance((piece.len() * size_of::<T>()) as u64);
        }
        Ok(found)
    }
}

/// Writes an array of `len` items; `piece` makes the items of a range.
pub(super) fn write<T: hdf5::H5Type>(
    group: &hdf5::Group,
    name: &str,
    len: usize,
    progress: &mut Progress,
    piece: impl Fn(Range<usize>) -> Vec<T>,
) -> Result<(), hdf5::Error> {
    let dataset = group.new_dataset::<T>().shape(len).create(name)?;
    let step = (PIECE_BYTES / size_of::<T>()).max(1);
    for start in (0..len).step_by(step) {
        let range = start..len.min(start + step);
        let items = piece(range.clone());
        dataset.write_slice(&items, range)?;
        progress.advance((items.len() * size_of::<T>()) as u64);
    }
    Ok(())
}

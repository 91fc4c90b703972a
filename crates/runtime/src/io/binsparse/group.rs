//! The file, the group in it, and the text that describes the group.
//!
//! A file that is compressed as a whole is decompressed into a temporary file, because HDF5 reads files by name. The group is the
//! one that was named; or else the root, if it has a text, or the only group below the root that has one.
#![allow(unsafe_code)]

use std::fs::File;
use std::path::{Path, PathBuf};

use hdf5_metno as hdf5;
use hdf5_metno::ObjectReference;
use hdf5_metno_sys::h5a::H5Aread;
use hdf5_metno_sys::h5t::{H5T_class_t, H5Tget_class, H5Tget_size, H5Tis_variable_str};

use super::heap;
use crate::io::Compression;
use crate::io::error::{IoError, Place};
use crate::io::text::Source;
use crate::scratch::ScratchFolder;

/// The attribute that has the text.
pub(super) const ATTRIBUTE: &str = "binsparse";
/// The most bytes of a text: the text of 64 dimensions has some thousand.
const LONGEST: usize = 1 << 20;
/// The most groups that are searched.
const MOST_GROUPS: usize = 1 << 10;
/// The hint if several groups have a text.
const CHOOSE: &str = "name the group behind the file, as in FILE.h5:GROUP";

/// The hint if no text is found: how to write one that is.
const FIXED: &str = "write the attribute as a text of a fixed length, or with fewer attributes beside it";

/// A group that is open.
pub(super) struct Opened {
    pub(super) group: hdf5::Group,
    /// The bytes of the file that HDF5 reads.
    pub(super) bytes: u64,
    pub(super) compression: Compression,
    /// The folder of the temporary file, removed when this is dropped.
    _folder: Option<ScratchFolder>,
}

/// Opens a group of a file, the named one or the only one, and reads its text.
pub(super) fn open(path: &Path, group: Option<&str>, progress: bool) -> Result<(Opened, Vec<u8>), IoError> {
    let (file_place, compression, folder) = plain(path, progress)?;
    let open_error = |source| IoError::Open { file: path.to_path_buf(), source };
    let bytes = std::fs::metadata(&file_place).map_err(open_error)?.len();
    let whole = Place::new(path, "file");
    let file = hdf5::File::open(&file_place).map_err(|error| whole.invalid("a file of HDF5", error.to_string()))?;
    let group = match group {
        Some(name) => file.group(name).map_err(|error| whole.invalid(format!("a group {name}"), error.to_string()))?,
        None => only_group(&file, &whole)?,
    };
    let place = whole.within(ATTRIBUTE);
    let attribute = group.attr(ATTRIBUTE).map_err(|_| whole.invalid(format!("an attribute `{ATTRIBUTE}`"), "none"))?;
    let text = text_of(&attribute, &group, &file_place, &place)?;
    Ok((Opened { group, bytes, compression, _folder: folder }, text))
}

/// The file itself, or, if it is compressed, a temporary file with its content.
fn plain(path: &Path, progress: bool) -> Result<(PathBuf, Compression, Option<ScratchFolder>), IoError> {
    let read_error = |source| IoError::Read { file: path.to_path_buf(), source };
    // The bytes that are read here only tell the compression, and are no progress.
    let compression = Source::open(path, false)?.compression;
    if compression == Compression::None {
        return Ok((path.to_path_buf(), compression, None));
    }
    let Source { mut bytes, .. } = Source::open(path, progress)?;
    let folder = ScratchFolder::new().map_err(read_error)?;
    let place = folder.path().join("content.h5");
    let mut file = File::create(&place).map_err(read_error)?;
    std::io::copy(&mut bytes, &mut file).map_err(read_error)?;
    Ok((place, compression, Some(folder)))
}

/// The root, or the only group below it, that has a text.
fn only_group(file: &hdf5::File, place: &Place) -> Result<hdf5::Group, IoError> {
    let damaged = |error: hdf5::Error| place.invalid("a group that can be read", error.to_string());
    let root = file.group("/").map_err(damaged)?;
    if root.attr(ATTRIBUTE).is_ok() {
        return Ok(root);
    }
    let names = root.member_names().map_err(damaged)?;
    let described = |name: &String| file.group(name).ok().filter(|group| group.attr(ATTRIBUTE).is_ok());
    let mut groups = names.iter().take(MOST_GROUPS).filter_map(|name| Some((name, described(name)?)));
    let expected = format!("one group with an attribute `{ATTRIBUTE}`");
    match (groups.next(), groups.next()) {
        (Some((_, group)), None) => Ok(group),
        (None, _) => Err(place.invalid(expected, "none")),
        (Some((first, _)), Some((second, _))) => {
            Err(place.invalid(expected, format!("several, such as {first} and {second}")).with_hint(Some(CHOOSE)))
        }
    }
}

/// The text of the attribute, of fixed or variable length.
fn text_of(attribute: &hdf5::Attribute, group: &hdf5::Group, file: &Path, place: &Place) -> Result<Vec<u8>, IoError> {
    let damaged = |error: hdf5::Error| place.invalid("a text that can be read", error.to_string());
    let dtype = attribute.dtype().map_err(damaged)?;
    let count = attribute.space().map_err(damaged)?.size();
    let (class, is_variable, len) = hdf5::sync::sync(|| {
        // SAFETY: the handle is open, and the lock of the library is held. The second question is asked of texts only.
        unsafe {
            let class = H5Tget_class(dtype.id());
            let is_text = class == H5T_class_t::H5T_STRING;
            (class, is_text && H5Tis_variable_str(dtype.id()) > 0, H5Tget_size(dtype.id()))
        }
    });
    if class != H5T_class_t::H5T_STRING || count != 1 {
        return Err(place.invalid("one text", "something else"));
    }
    let mut text = if is_variable {
        let header = group.reference::<hdf5::ObjectReference1>(".").map_err(damaged)?;
        // SAFETY: a reference of this kind is the address of an object, of 8 bytes.
        let header = unsafe { header.ptr().cast::<u64>().read() };
        let file = File::open(file).map_err(|error| place.unreadable(error))?;
        let text = heap::text(file, header, ATTRIBUTE);
        text.ok_or_else(|| place.invalid("a text in the header of the group", "none").with_hint(Some(FIXED)))?
    } else {
        if len > LONGEST {
            return Err(place.invalid(format!("a text of at most {LONGEST} bytes"), format!("one of {len}")));
        }
        let mut text = vec![0u8; len];
        // SAFETY: the handles are open, the lock of the library is held, and there is room for one item of the type that it has
        // in the file.
        let read = hdf5::sync::sync(|| unsafe { H5Aread(attribute.id(), dtype.id(), text.as_mut_ptr().cast()) });
        if read < 0 {
            return Err(place.invalid("a text that can be read", "a damaged one"));
        }
        text
    };
    // A shorter text is padded with zeros or blanks; JSON ignores blanks.
    text.truncate(text.iter().position(|&byte| byte == 0).unwrap_or(text.len()));
    Ok(text)
}

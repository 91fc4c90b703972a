//! The file, the group in it, and the text that describes the group.
//!
//! A file that is compressed as a whole is decompressed into a temporary one, as HDF5 reads files by name. The group is the one
//! that was named; or else the root, or the only one below the root that has a text.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char};
use std::fs::File;
use std::path::{Path, PathBuf};

use hdf5_metno as hdf5;
use hdf5_metno_sys::h5::H5free_memory;
use hdf5_metno_sys::h5a::H5Aread;
use hdf5_metno_sys::h5t::{H5T_class_t, H5Tget_class, H5Tget_size, H5Tis_variable_str};

use crate::io::Compression;
use crate::io::error::{IoError, Place};
use crate::io::text::Source;
use crate::scratch::ScratchFolder;

/// The attribute that has the text.
pub(super) const ATTRIBUTE: &str = "binsparse";
/// The longest text taken: that of 64 dimensions has some thousand bytes.
const LONGEST: usize = 1 << 20;
/// The most groups that are looked through.
const MOST_GROUPS: usize = 1 << 10;
/// Says how to choose.
const CHOOSE: &str = "name the group behind the file, as in FILE.h5:GROUP";

/// A group that is open.
pub(super) struct Opened {
    pub(super) group: hdf5::Group,
    /// The bytes of the file that HDF5 reads.
    pub(super) bytes: u64,
    pub(super) compression: Compression,
    /// Keeps a temporary file.
    _folder: Option<ScratchFolder>,
}

/// Opens a group of a file: the named one, or the only one.
pub(super) fn open(path: &Path, group: Option<&str>, progress: bool) -> Result<(Opened, Vec<u8>), IoError> {
    let (place, compression, folder) = plain(path, progress)?;
    let open_error = |source| IoError::Open { file: path.to_path_buf(), source };
    let bytes = std::fs::metadata(&place).map_err(open_error)?.len();
    let whole = Place::new(path, "file");
    let file = hdf5::File::open(&place).map_err(|error| whole.invalid("a file of HDF5", error.to_string()))?;
    let group = match group {
        Some(name) => file.group(name).map_err(|error| whole.invalid(format!("a group {name}"), error.to_string()))?,
        None => only_group(&file, &whole)?,
    };
    let place = whole.within(ATTRIBUTE);
    let attribute = group.attr(ATTRIBUTE).map_err(|_| whole.invalid(format!("an attribute `{ATTRIBUTE}`"), "none"))?;
    let text = text_of(&attribute, &place)?;
    Ok((Opened { group, bytes, compression, _folder: folder }, text))
}

/// The file itself, or, where it is compressed, a temporary one of its content.
fn plain(path: &Path, progress: bool) -> Result<(PathBuf, Compression, Option<ScratchFolder>), IoError> {
    let read_error = |source| IoError::Read { file: path.to_path_buf(), source };
    // The bytes that are read here tell the compression only, and are no progress.
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

/// The text of an attribute, whether its length is fixed or not.
fn text_of(attribute: &hdf5::Attribute, place: &Place) -> Result<Vec<u8>, IoError> {
    let damaged = |error: hdf5::Error| place.invalid("a text that can be read", error.to_string());
    let unreadable = || place.invalid("a text that can be read", "a damaged one");
    let dtype = attribute.dtype().map_err(damaged)?;
    let count = attribute.space().map_err(damaged)?.size();
    hdf5::sync::sync(|| {
        // SAFETY: the handles are open, and the lock of the library is held. One item is read in the type that it has in the
        // file: a text of a fixed length into so many bytes; one without into a pointer, to memory that the library allocates,
        // ends with a zero, and leaves to the caller, who gives it back once it is copied.
        unsafe {
            if H5Tget_class(dtype.id()) != H5T_class_t::H5T_STRING || count != 1 {
                return Err(place.invalid("one text", "something else"));
            }
            if H5Tis_variable_str(dtype.id()) > 0 {
                let mut start: *mut c_char = std::ptr::null_mut();
                let failed = H5Aread(attribute.id(), dtype.id(), (&raw mut start).cast()) < 0;
                if failed || start.is_null() {
                    return Err(unreadable());
                }
                let text = CStr::from_ptr(start).to_bytes().to_vec();
                H5free_memory(start.cast());
                return if text.len() <= LONGEST { Ok(text) } else { Err(too_long(place, text.len())) };
            }
            let len = H5Tget_size(dtype.id());
            if len > LONGEST {
                return Err(too_long(place, len));
            }
            let mut text = vec![0u8; len];
            if H5Aread(attribute.id(), dtype.id(), text.as_mut_ptr().cast()) < 0 {
                return Err(unreadable());
            }
            // What is shorter is filled up with zeros or blanks, and blanks are nothing in JSON.
            text.truncate(text.iter().position(|&byte| byte == 0).unwrap_or(len));
            Ok(text)
        }
    })
}

fn too_long(place: &Place, len: usize) -> IoError {
    place.invalid(format!("a text of at most {LONGEST} bytes"), format!("one of {len}"))
}

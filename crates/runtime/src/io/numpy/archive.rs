//! Archives of arrays: zip files, in which each array is a file `NAME.npy`.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use zip::ZipArchive;
use zip::result::ZipError;

use super::{array, metadata, sparse};
use crate::io::error::{IoError, Place};
use crate::io::text::{Counted, Source};
use crate::io::{Compression, Data, Dense, FileFormat, Metadata, ReadOptions};

/// The extension behind the name of each array.
const EXTENSION: &str = ".npy";

/// Reads an archive: a sparse matrix or tensor of SciPy, or one array.
pub(in crate::io) fn read_archive(path: &Path, options: &ReadOptions) -> Result<(Data, Metadata), IoError> {
    let (file, compression) = seekable(path, options.progress)?;
    let mut archive = Archive::open(path, file, options.progress)?;
    let data = read_content(&mut archive)?;
    let (dtype, stored) = match &data {
        Data::Coordinate(coo) => (coo.values.dtype(), coo.len()),
        Data::Dense(dense) => (dense.values.dtype(), dense.values.len()),
    };
    Ok((data, metadata(FileFormat::Npz, compression, dtype, stored as u64)))
}

/// Reads the tensor that the arrays make together.
fn read_content(archive: &mut Archive<'_>) -> Result<Data, IoError> {
    let names = archive.names()?;
    let is_sparse = names.contains("data") && names.contains("shape");
    if is_sparse && (names.contains("format") || names.contains("coords")) {
        return Ok(Data::Coordinate(sparse::read(archive, &names)?));
    }
    match names.first() {
        Some(name) if names.len() == 1 => Ok(Data::Dense(archive.array(name)?)),
        _ => {
            let found = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            let found = if found.is_empty() { "none".to_string() } else { found };
            Err(archive.place("archive").invalid("one array, or those of a sparse matrix of SciPy", found))
        }
    }
}

/// The arrays of a file.
pub(super) struct Archive<'a> {
    path: &'a Path,
    zip: ZipArchive<BufReader<Counted<File>>>,
}

impl<'a> Archive<'a> {
    /// Finds the arrays of a file, of which the name is that at a path.
    fn open(path: &'a Path, file: File, progress: bool) -> Result<Archive<'a>, IoError> {
        let bytes = file.metadata().map_err(|source| IoError::Read { file: path.to_path_buf(), source })?.len();
        let file = Counted::new(file, path, bytes, progress);
        let zip = ZipArchive::new(BufReader::new(file));
        Ok(Archive { path, zip: zip.map_err(|error| zip_error(&Place::new(path, "archive"), error))? })
    }

    /// A place in the file.
    pub(super) fn place(&self, name: &str) -> Place {
        Place::new(self.path, name)
    }

    /// Reads an array of numbers.
    pub(super) fn array(&mut self, name: &str) -> Result<Dense, IoError> {
        self.with(name, array::read)
    }

    /// Reads a word, such as `csr`.
    pub(super) fn word(&mut self, name: &str) -> Result<Vec<u8>, IoError> {
        self.with(name, array::read_word)
    }

    fn with<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&mut dyn Read, &Place) -> Result<T, IoError>,
    ) -> Result<T, IoError> {
        let place = self.place(name);
        let mut bytes = self.zip.by_name(&format!("{name}{EXTENSION}")).map_err(|error| zip_error(&place, error))?;
        let found = read(&mut bytes, &place)?;
        // The checksum is compared at the end.
        let behind = std::io::copy(&mut bytes, &mut std::io::sink()).map_err(|error| place.unreadable(error))?;
        if behind > 0 {
            return Err(place.invalid("the end of the array behind the numbers", format!("{behind} more bytes")));
        }
        Ok(found)
    }

    /// The names of the arrays, in order.
    fn names(&self) -> Result<BTreeSet<String>, IoError> {
        let place = self.place("archive");
        let mut names = BTreeSet::new();
        for name in self.zip.file_names() {
            let name = name.map_err(|error| zip_error(&place, error))?;
            if let Some(name) = name.strip_suffix(EXTENSION) {
                names.insert(name.to_string());
            }
        }
        Ok(names)
    }
}

/// The file itself, or, where it is compressed once more, a temporary one of its content.
fn seekable(path: &Path, progress: bool) -> Result<(File, Compression), IoError> {
    let read_error = |source| IoError::Read { file: path.to_path_buf(), source };
    let Source { mut bytes, compression, .. } = Source::open(path, progress)?;
    if compression == Compression::None {
        let file = File::open(path).map_err(|source| IoError::Open { file: path.to_path_buf(), source })?;
        return Ok((file, compression));
    }
    let mut file = tempfile::tempfile().map_err(read_error)?;
    std::io::copy(&mut bytes, &mut file).map_err(read_error)?;
    file.seek(SeekFrom::Start(0)).map_err(read_error)?;
    Ok((file, compression))
}

fn zip_error(place: &Place, error: ZipError) -> IoError {
    match error {
        ZipError::Io(source) => place.unreadable(source),
        ZipError::FileNotFound => place.invalid("an array of this name", "none"),
        other => place.invalid("an archive that can be read", other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::{DataRef, WriteOptions, write};
    use crate::values::Values;

    #[test]
    fn progress_reaches_the_end_of_the_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.npz");
        let dense = Dense { dims: vec![100_000], values: Values::I64((0..100_000).collect()) };
        write(&path, DataRef::Dense(&dense), &WriteOptions::default()).expect("written");
        let bytes = std::fs::metadata(&path).expect("there").len();
        let mut archive = Archive::open(&path, File::open(&path).expect("there"), false).expect("an archive");
        assert_eq!(read_content(&mut archive).expect("read"), Data::Dense(dense));
        let steps = archive.zip.into_inner().into_inner().progress.steps;
        // The list of arrays at the end of the file is read first, and may be read again.
        assert!((bytes..2 * bytes).contains(&steps), "{steps} of {bytes}");
    }
}

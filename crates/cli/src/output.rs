//! What leaves the command: text on standard output, tensors in files.

use std::io::{ErrorKind, Write};
use std::path::Path;

use lacunar::{Category, Diagnostic, DynTensor, Format};
use lacunar_runtime::io::{self, Data, Dense, WriteOptions};

use crate::failure::Failure;

/// Prints to standard output. That nobody reads it any more is not an error.
///
/// # Errors
/// Standard output can't be written to, for example because a disk is full.
pub fn print(text: &[u8]) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            let diagnostic = Diagnostic::error("E1014", format!("cannot write to standard output: {error}"));
            Err(Failure::plain(diagnostic.category(Category::File)))
        }
        _ => Ok(()),
    }
}

/// Writes a result to a file, whole or not at all; `-` is standard output, as `.tns`. A dense tensor is written as an
/// array where the file's format has arrays.
///
/// # Errors
/// The file can't be written, or its format can't hold the tensor; memory is refused.
pub fn write(tensor: &DynTensor, file: &str) -> Result<(), Failure> {
    let data = data_of(tensor)?;
    if file != "-" {
        return Ok(io::write(Path::new(file), &data, &WriteOptions::default())?);
    }
    let passing = |error: std::io::Error| {
        let diagnostic = Diagnostic::error("E1014", format!("cannot write to a temporary file: {error}"));
        Failure::plain(diagnostic.category(Category::File))
    };
    let folder = tempfile::tempdir().map_err(passing)?;
    let path = folder.path().join("result.tns");
    io::write(&path, &data, &WriteOptions::default())?;
    print(&std::fs::read(&path).map_err(passing)?)
}

/// Writes a file beside its place, then renames it.
///
/// # Errors
/// What the system says.
pub fn replace(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".lacunar-").suffix(".part");
    // The usual rights of a new file, less what the user's mask takes; by default only the owner may read.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(content)?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

/// A tensor as what files hold.
///
/// # Errors
/// Memory is refused.
pub fn data_of(tensor: &DynTensor) -> Result<Data, Failure> {
    if !tensor.format().is_dense() {
        return Ok(Data::Coordinate(tensor.to_coo()?));
    }
    let converted = match tensor.format().is_natural_order() {
        true => None,
        false => Some(tensor.convert(&Format::dense(tensor.order()))?),
    };
    let natural = converted.as_ref().unwrap_or(tensor);
    Ok(Data::Dense(Dense { dims: natural.dims().to_vec(), values: natural.to_coo()?.values }))
}

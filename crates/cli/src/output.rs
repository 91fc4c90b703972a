//! The command's output: text on standard output, tensors in files.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use lacunar::{Category, Diagnostic, DynTensor};
use lacunar_base::Span;
use lacunar_runtime::io::{self, Data, IndexBase, WriteOptions};
use lacunar_runtime::scratch::ScratchFolder;

use crate::failure::{self, Failure};

/// Prints to standard output. It is no error if nobody reads that any more.
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

/// Prints to standard error. If that can't be written to, nobody can be told.
pub fn tell(text: &str) {
    let mut err = std::io::stderr().lock();
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}

/// Writes a result to a file, whole or not at all; `-` is standard output, as `.tns`. A dense tensor is written as an
/// array where the file's format has arrays. `base` is the first index of a file that does not tell it.
///
/// # Errors
/// The file can't be written, or its format can't hold the tensor; memory is refused.
pub fn write(tensor: &DynTensor, file: &str, base: IndexBase) -> Result<(), Failure> {
    let data = Data::of(tensor)?;
    if file != "-" {
        let format = Some(tensor.format().clone());
        return Ok(io::write(Path::new(file), &data, &WriteOptions { format, base, ..WriteOptions::default() })?);
    }
    let passing = |error: std::io::Error| {
        let diagnostic = Diagnostic::error("E1014", format!("cannot write to a temporary file: {error}"));
        Failure::plain(diagnostic.category(Category::File))
    };
    let folder = ScratchFolder::new().map_err(passing)?;
    let path = folder.path().join("result.tns");
    io::write(&path, &data, &WriteOptions { base, ..WriteOptions::default() })?;
    print(&std::fs::read(&path).map_err(passing)?)
}

/// Checks, before anything is computed, that a result of this order can be written to a file that the value of a flag names.
///
/// # Errors
/// Its name tells no format that is written, or not for such tensors; its folder is not there or can't be written.
pub fn check_tensor(value: &str, file: &str, order: Option<usize>) -> Result<(), Failure> {
    if file == "-" {
        return Ok(());
    }
    io::check_output(Path::new(file), order).map_err(|error| misplaced(value, "-o", file, failure::of_file(&error)))
}

/// Checks, before a program runs, that a result that is not dense can be written to a file that the value of a flag names.
///
/// # Errors
/// The file's format has arrays only.
pub fn check_list(value: &str, file: &str) -> Result<(), Failure> {
    io::check_list(Path::new(file)).map_err(|error| misplaced(value, "-o", file, failure::of_file(&error)))
}

/// Checks that a file of another kind can be written that the value of a flag names.
///
/// # Errors
/// Its folder is not there or can't be written.
pub fn check_file(value: &str, file: &Path) -> Result<(), Failure> {
    io::check_place(file).map_err(|error| {
        let diagnostic = Diagnostic::error("E1014", format!("cannot write {}: {error}", file.display()));
        let diagnostic = diagnostic.hint("choose a place that exists and may be written to");
        misplaced(value, "-o", &file.display().to_string(), diagnostic.category(Category::File))
    })
}

/// Checks that files can be put into a folder that is made if it is not there.
///
/// # Errors
/// It is a file, or can't be made.
pub fn check_folder(folder: &Path) -> Result<(), Failure> {
    let Some(there) = folder.ancestors().find(|part| part.exists()).filter(|part| !part.is_dir()) else {
        return Ok(());
    };
    let message = format!("cannot write into {}: {} is no folder", folder.display(), there.display());
    let diagnostic = Diagnostic::error("E1014", message).category(Category::File);
    let value = folder.display().to_string();
    Err(misplaced(&value, "--emit-to", &value, diagnostic.hint("choose a place that exists and may be written to")))
}

/// A mistake in the place that the value of a flag names.
fn misplaced(value: &str, flag: &str, file: &str, diagnostic: Diagnostic) -> Failure {
    let start = value.rfind(file).unwrap_or(0);
    let end = (start + file.len()).min(value.len());
    Failure::text(value, flag, diagnostic.label(Span::new(start, end), "nothing was computed"))
}

/// Asks that no two of the files that `-o` names are one, by whatever paths and links; each comes with the flag's value.
///
/// # Errors
/// Two are one.
pub fn distinct<'a>(outputs: impl Iterator<Item = (&'a str, &'a str)>) -> Result<(), Failure> {
    let mut known: Vec<(&str, PathBuf)> = Vec::new();
    for (value, file) in outputs {
        // Standard output is no path, and no file is called the empty name.
        let place = if file == "-" { PathBuf::new() } else { io::place_of(Path::new(file)) };
        if let Some((before, _)) = known.iter().find(|(_, other)| *other == place) {
            let start = value.rfind(file).unwrap_or(0);
            let diagnostic = Diagnostic::error("E1019", "two outputs go into one file")
                .label(Span::new(start, start + file.len()), format!("the file of `-o {before}`"))
                .hint("name a file for each: the second would replace the first");
            return Err(Failure::text(value, "-o", diagnostic));
        }
        known.push((value, place));
    }
    Ok(())
}

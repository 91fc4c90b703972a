//! Errors of files, worded so that a person can find the place and mend it.
//!
//! A malformed text names the file, the line (counted from 1, in the decompressed text), the content that the format
//! asks for there, and the content found instead, shortened and with unprintable bytes escaped:
//!
//! ```text
//! file.mtx:12: expected a row index from 1 to 3, found "4"
//! ```

use std::collections::TryReserveError;
use std::path::{Path, PathBuf};

/// An error of reading or writing a file.
#[derive(Debug, thiserror::Error)]
pub enum IoError {
    /// The file cannot be opened.
    #[error("cannot open {}: {source}", file.display())]
    Open {
        /// The file.
        file: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// Reading failed midway: the device's error, or a compressed stream that is cut short or corrupt.
    #[error("cannot read {}: {source}", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// The error of the system or the decompressor.
        source: std::io::Error,
    },
    /// Writing failed; nothing is left behind.
    #[error("cannot write {}: {source}", file.display())]
    Write {
        /// The file that was to be written.
        file: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The content breaks the rules of its format.
    #[error("{}:{line}: expected {expected}, found {found}", file.display())]
    Malformed {
        /// The file.
        file: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// The content that the format asks for.
        expected: String,
        /// The content found: a quoted, shortened excerpt, or words such as `the end of the file`.
        found: String,
        /// A hint that may help.
        hint: Option<&'static str>,
    },
    /// The content breaks the rules of its format, which has no lines.
    #[error("{}: {place}: expected {expected}, found {found}", file.display())]
    Invalid {
        /// The file.
        file: PathBuf,
        /// The part of it.
        place: String,
        /// The content that the format asks for.
        expected: String,
        /// The content found.
        found: String,
        /// Advice that may help.
        hint: Option<&'static str>,
    },
    /// Neither the name nor the content tells the format.
    #[error("{}: the file's format is not known; names end in {names}, each also with .gz or .zst", file.display())]
    UnknownFormat {
        /// The file.
        file: PathBuf,
        /// The ends of names that tell a format which is read, or one which is written.
        names: &'static str,
    },
    /// The format is one that this build does not have.
    #[error("{}: {what} need a build with the feature `{feature}`", file.display())]
    Unavailable {
        /// The file.
        file: PathBuf,
        /// The format, in words.
        what: &'static str,
        /// The feature of the crates.
        feature: &'static str,
    },
    /// The tensor cannot be expressed in the format that was asked for.
    #[error("cannot write {}: {reason}", file.display())]
    Unwritable {
        /// The file that was to be written.
        file: PathBuf,
        /// The reason, and the remedy.
        reason: String,
    },
    /// The content does not fit the memory or the address space.
    #[error("{}: too large: {what}", file.display())]
    TooLarge {
        /// The file.
        file: PathBuf,
        /// The part that does not fit.
        what: String,
    },
}

impl IoError {
    /// The file that it is about.
    pub fn file(&self) -> &Path {
        match self {
            IoError::Open { file, .. }
            | IoError::Read { file, .. }
            | IoError::Write { file, .. }
            | IoError::Malformed { file, .. }
            | IoError::Invalid { file, .. }
            | IoError::UnknownFormat { file, .. }
            | IoError::Unavailable { file, .. }
            | IoError::Unwritable { file, .. }
            | IoError::TooLarge { file, .. } => file,
        }
    }

    /// A hint that may help, if one is known.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            IoError::Malformed { hint, .. } | IoError::Invalid { hint, .. } => *hint,
            _ => None,
        }
    }

    /// The code under which `docs/errors.md` explains it.
    pub fn code(&self) -> &'static str {
        match self {
            IoError::Open { .. } | IoError::Read { .. } => "E1101",
            IoError::Malformed { .. } | IoError::Invalid { .. } => "E1102",
            IoError::UnknownFormat { .. } => "E1103",
            IoError::Unwritable { .. } => "E1104",
            IoError::TooLarge { .. } => "E1105",
            IoError::Unavailable { .. } => "E1106",
            IoError::Write { .. } => "E1014",
        }
    }

    /// The same error with a hint.
    pub(super) fn with_hint(mut self, known: Option<&'static str>) -> IoError {
        if let IoError::Malformed { hint, .. } | IoError::Invalid { hint, .. } = &mut self {
            *hint = known;
        }
        self
    }

    /// The memory for the entries of `file` is not there.
    pub(super) fn out_of_memory(file: &Path, source: &TryReserveError) -> IoError {
        IoError::TooLarge { file: file.to_path_buf(), what: format!("no memory for its entries ({source})") }
    }
}

/// The place of a mistake: the file, and the part of it.
#[derive(Clone, Debug)]
pub(super) struct Place {
    file: PathBuf,
    /// The part of it, such as the name of an array.
    name: String,
}

impl Place {
    pub(super) fn new(file: &Path, name: &str) -> Place {
        Place { file: file.to_path_buf(), name: name.to_string() }
    }

    /// A part of the part.
    #[cfg_attr(not(feature = "binsparse"), expect(dead_code))]
    pub(super) fn within(&self, name: &str) -> Place {
        Place::new(&self.file, &format!("{}: {name}", self.name))
    }

    pub(super) fn invalid(&self, expected: impl Into<String>, found: impl Into<String>) -> IoError {
        let (file, place) = (self.file.clone(), self.name.clone());
        IoError::Invalid { file, place, expected: expected.into(), found: found.into(), hint: None }
    }

    pub(super) fn unreadable(&self, source: std::io::Error) -> IoError {
        match source.kind() {
            std::io::ErrorKind::OutOfMemory => self.too_large("no memory for its values"),
            _ => IoError::Read { file: self.file.clone(), source },
        }
    }

    pub(super) fn too_large(&self, what: &str) -> IoError {
        IoError::TooLarge { file: self.file.clone(), what: format!("{}: {what}", self.name) }
    }
}

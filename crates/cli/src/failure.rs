//! Failures: the one error type of the command, and its exit codes.

use std::fmt;
use std::io::IsTerminal;

use lacunar::{Category, Diagnostic, Error, StorageError};
use lacunar_runtime::io::IoError;

use crate::output;

/// A difference was found by `--check`.
pub const DIFFERENCE: u8 = 1;
/// A mistake in the user's text.
pub const USER: u8 = 2;
/// A file that can't be read, written, or is malformed.
pub const FILE: u8 = 3;
/// Out of memory, or a size that does not fit.
pub const MEMORY: u8 = 4;
/// A fault of Lacunar.
pub const INTERNAL: u8 = 70;

/// True if messages have colors: standard error is a terminal, and `NO_COLOR` is not set.
pub fn is_colored() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

/// The reason for which the command failed.
#[derive(Debug)]
pub enum Failure {
    /// Mistakes in a text: a program, or the value of a flag.
    Text {
        /// The text.
        text: String,
        /// The origin of the text: a file, `expression`, a flag, or `read` where the text is the file name of that action. If a data file
        /// is wrong, this is its name, and the text is empty.
        origin: String,
        /// The mistakes in it.
        diagnostics: Vec<Diagnostic>,
    },
    /// An error of the library.
    Library(Error),
    /// The message of the parser of the command line; also help and version, which are no failures.
    Usage {
        /// The message.
        error: clap::Error,
        /// The file whose flags it is about, if they are not the command line's.
        file: Option<String>,
    },
    /// The differences that `--check` found.
    Difference(String),
}

impl Failure {
    /// One mistake in a text.
    pub fn text(text: &str, origin: &str, diagnostic: Diagnostic) -> Failure {
        Failure::Text { text: text.to_string(), origin: origin.to_string(), diagnostics: vec![diagnostic] }
    }

    /// One mistake without a place.
    pub fn plain(diagnostic: Diagnostic) -> Failure {
        Failure::text("", "", diagnostic)
    }

    /// The command's exit code.
    pub fn code(&self) -> u8 {
        let category = match self {
            Failure::Usage { error, .. } => return u8::try_from(error.exit_code()).unwrap_or(USER),
            Failure::Difference(_) => return DIFFERENCE,
            Failure::Library(error) => error.category(),
            Failure::Text { diagnostics, .. } => diagnostics.first().map_or(Category::Internal, |first| first.category),
        };
        match category {
            Category::User => USER,
            Category::File => FILE,
            Category::Memory => MEMORY,
            Category::Internal => INTERNAL,
        }
    }

    /// Prints it: help and version to standard output, everything else to standard error.
    pub fn print(&self, color: bool) {
        match self {
            // A closed pipe is the reader's choice.
            Failure::Usage { error, .. } if !error.use_stderr() => drop(error.print()),
            other => output::tell(&other.render(color)),
        }
    }

    fn render(&self, color: bool) -> String {
        match self {
            Failure::Text { text, origin, diagnostics } => {
                diagnostics.iter().map(|diagnostic| diagnostic.render(text, origin, color)).collect()
            }
            Failure::Library(error) => error.render(color),
            Failure::Usage { error, file } => {
                let text = error.render();
                let text = if color { text.ansi().to_string() } else { text.to_string() };
                let place = file.as_ref().map_or_else(String::new, |file| format!(" in the flags of {file}:"));
                text.replacen("error:", &format!("error[E1000]:{place}"), 1)
            }
            Failure::Difference(differences) => format!("error: {differences}\n"),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.render(false).trim_end())
    }
}

/// The advice on a build with an optional format of files.
const BUILD: &str =
    "install HDF5 (libhdf5-dev) and build with `cargo build --release -p lacunar-cli --features binsparse`";

/// The mistake in a file, with its code and a hint.
pub fn of_file(error: &IoError) -> Diagnostic {
    let hint = match error {
        IoError::Open { .. } => Some("name a file that is there and may be read"),
        IoError::Unavailable { .. } => Some(BUILD),
        IoError::Write { .. } => Some("choose a place that exists and may be written to"),
        _ => None,
    };
    let category = if matches!(error, IoError::TooLarge { .. }) { Category::Memory } else { Category::File };
    let diagnostic = Diagnostic::error(error.code(), error.to_string()).category(category);
    match error.hint().or(hint) {
        Some(hint) => diagnostic.hint(hint),
        None => diagnostic,
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let diagnostic = match &error {
            Error::Io(error) => of_file(error),
            _ => Diagnostic::error(error.code().unwrap_or_default(), error.to_string()).category(error.category()),
        };
        match error.file() {
            Some(file) => Failure::text("", &file.to_string_lossy(), diagnostic),
            None => Failure::Library(error),
        }
    }
}

impl From<StorageError> for Failure {
    fn from(error: StorageError) -> Failure {
        Failure::Library(error.into())
    }
}

impl From<IoError> for Failure {
    fn from(error: IoError) -> Failure {
        Error::from(error).into()
    }
}

impl From<clap::Error> for Failure {
    fn from(error: clap::Error) -> Failure {
        Failure::Usage { error, file: None }
    }
}

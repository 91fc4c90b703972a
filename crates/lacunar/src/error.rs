//! Everything that can go wrong, with who has to act on it.

use lacunar_base::{Category, Diagnostic};
use lacunar_runtime::StorageError;
use lacunar_runtime::abi::KernelStatus;
use lacunar_runtime::io::IoError;
use thiserror::Error as ThisError;

/// Why something could not be compiled or run.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// Mistakes in a program, with their places.
    #[error("{}", diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Program {
        /// The program's text.
        source_text: String,
        /// What is wrong; at least one.
        diagnostics: Vec<Diagnostic>,
    },
    /// Mistakes in a schedule, with their places.
    #[error("{}", diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Schedule {
        /// The schedule's text.
        source_text: String,
        /// What is wrong; at least one.
        diagnostics: Vec<Diagnostic>,
    },
    /// A file that can't be read or written, or is malformed.
    #[error(transparent)]
    Io(#[from] IoError),
    /// A tensor that can't be stored as asked.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// A kernel that stopped.
    #[error(transparent)]
    Kernel(#[from] KernelStatus),
    /// A tensor that does not fit the kernel it is given to.
    #[error("{0}")]
    Argument(String),
    /// A back end that is not there, or failed.
    #[error("{0}")]
    Backend(String),
    /// Code that does what no kernel may: a fault of the compiler.
    #[error("internal error: {0}")]
    Internal(String),
}

impl Error {
    /// An error in a program.
    pub fn program(source: &str, diagnostics: Vec<Diagnostic>) -> Error {
        Error::Program { source_text: source.to_string(), diagnostics }
    }

    /// Who has to act.
    pub fn category(&self) -> Category {
        match self {
            Error::Program { diagnostics, .. } | Error::Schedule { diagnostics, .. } => {
                diagnostics.first().map_or(Category::Internal, |diagnostic| diagnostic.category)
            }
            Error::Io(_) => Category::File,
            Error::Storage(StorageError::Alloc(_) | StorageError::Overflow { .. } | StorageError::Width { .. }) => {
                Category::Memory
            }
            Error::Storage(_) | Error::Argument(_) | Error::Backend(_) => Category::User,
            Error::Kernel(KernelStatus::OutOfMemory | KernelStatus::SizeOverflow) => Category::Memory,
            Error::Kernel(_) | Error::Internal(_) => Category::Internal,
        }
    }

    /// The error as text, with the program's text underlined where it has places.
    pub fn render(&self, color: bool) -> String {
        let rendered = |text: &str, name: &str, diagnostics: &[Diagnostic]| {
            diagnostics.iter().map(|diagnostic| diagnostic.render(text, name, color)).collect()
        };
        match self {
            Error::Program { source_text, diagnostics } => rendered(source_text, "expression", diagnostics),
            Error::Schedule { source_text, diagnostics } => rendered(source_text, "schedule", diagnostics),
            other => format!("error: {other}\n"),
        }
    }
}

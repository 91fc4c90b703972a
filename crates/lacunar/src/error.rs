//! All errors, each with a category that tells who has to act.

use std::fmt;
use std::path::Path;

use lacunar_base::{Category, Diagnostic};
use lacunar_formats::{DType, FormatError};
use lacunar_runtime::abi::KernelStatus;
use lacunar_runtime::io::IoError;
use lacunar_runtime::{StorageError, StructureError};
use thiserror::Error as ThisError;

/// The reason why something could not be compiled or run.
///
/// [`Debug`](fmt::Debug) prints the same as [`Error::report`], with the place in the program, so that a `main` which returns
/// an error prints something to read; [`Display`](fmt::Display) prints a line for each mistake.
///
/// ```
/// use lacunar::{Kernel, Options};
/// let error = Kernel::compile("y(i) = A(i,j) * x(k", &Options::new()).unwrap_err();
/// assert!(format!("{error:?}").contains("1 │ y(i) = A(i,j) * x(k"));
/// ```
#[derive(ThisError)]
#[non_exhaustive]
pub enum Error {
    /// Mistakes in a program, with their places.
    #[error("{}", diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Program {
        /// The program's text.
        source_text: String,
        /// The mistakes; at least one.
        diagnostics: Vec<Diagnostic>,
    },
    /// Mistakes in a schedule, with their places.
    #[error("{}", diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Schedule {
        /// The schedule's text.
        source_text: String,
        /// The mistakes; at least one.
        diagnostics: Vec<Diagnostic>,
    },
    /// A file that can't be read or written, or is malformed.
    #[error(transparent)]
    Io(#[from] IoError),
    /// A text or levels that are no format, or a format of another order.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// A tensor that can't be stored as asked.
    #[error(transparent)]
    Storage(StorageError),
    /// A tensor that does not have a structure.
    #[error("{}{error}", of_tensor(.tensor.as_deref(), .error))]
    Structure {
        /// Its name, if it is a program's.
        tensor: Option<String>,
        /// The reason.
        error: StructureError,
    },
    /// A kernel that stopped.
    #[error(transparent)]
    Kernel(#[from] KernelStatus),
    /// A result that gets every element, and more of them than memory holds.
    #[error("`{name}` gets every element, {bytes} bytes, and this machine has {memory} bytes of memory")]
    Full {
        /// The result.
        name: String,
        /// The least memory that its values take, in bytes.
        bytes: u64,
        /// The memory of the machine, in bytes.
        memory: u64,
    },
    /// A value that is an index lies outside of its dimension.
    #[error(
        "{whose} is {value}, which is no index of a dimension of size {size}, in `{statement}`: {}declare a larger size",
        if *size == 0 { "" } else { "confine it with `clamp` or `wrap`, or " }
    )]
    OutOfRange {
        /// The statement, as text.
        statement: String,
        /// The value.
        value: String,
        /// The element that it is of.
        whose: String,
        /// The size of the dimension.
        size: u64,
    },
    /// A file that a program reads for a tensor holds values that the tensor's type does not have.
    #[error(
        "{what} of {file} cannot be converted to {dtype}, the type of `{name}`: declare a type that holds all values"
    )]
    Inexact {
        /// The value, or all of them.
        what: String,
        /// The file.
        file: String,
        /// The tensor.
        name: String,
        /// Its type.
        dtype: DType,
    },
    /// A tensor that changes or is made up, whose sizes nothing tells.
    #[error("nothing tells the sizes of `{name}`, which has no value before: declare them, `-d {name}:{}` or `Options::dims`", vec!["100"; *.order].join(","))]
    NoSizes {
        /// The tensor.
        name: String,
        /// The number of its dimensions.
        order: usize,
    },
    /// A file whose tensor, or an entry of it, does not fit the sizes of a tensor of the program.
    #[error("{file} {fault}")]
    Sizes {
        /// The file.
        file: String,
        /// The sizes, or the entry.
        fault: String,
    },
    /// A file whose tensor, or whose entries, have another number of dimensions than a tensor of the program, or that has no entries at
    /// all.
    #[error("{file} {fault}")]
    Order {
        /// The file.
        file: String,
        /// The numbers of dimensions.
        fault: String,
    },
    /// A range whose ends no counter reaches.
    #[error("a range begins or ends at {0}, which no counter reaches")]
    Range(String),
    /// A range of entries of a file that begins below 0.
    #[error("a range of entries begins at {0}, but the first entry of a file has number 0")]
    Entries(i64),
    /// A tensor that is read has no value.
    #[error("{0}")]
    NoValue(String),
    /// A tensor that does not fit the kernel it is given to.
    #[error("{0}")]
    Argument(String),
    /// A machine that is neither known by its name nor described by a file.
    #[error("`{name}` is no machine: {why}")]
    Machine {
        /// The name, or the file.
        name: String,
        /// The reason.
        why: String,
    },
    /// A kernel for another machine, whose instructions the processor does not have.
    #[error("this processor cannot run code for `{name}`")]
    Foreign {
        /// The machine.
        name: String,
    },
    /// A back end that is not there, or failed.
    #[error("{0}")]
    Backend(String),
    /// Code that does something that no kernel may: a fault of the compiler.
    #[error("internal error: {0}")]
    Internal(String),
}

impl Error {
    /// The error of a program's tensor that does not have its structure.
    pub fn structure(tensor: &str, error: StructureError) -> Error {
        match error {
            StructureError::Storage(error) => Error::Storage(error),
            error => Error::Structure { tensor: Some(tensor.to_string()), error },
        }
    }

    /// An error in a program.
    pub fn program(source: &str, diagnostics: Vec<Diagnostic>) -> Error {
        Error::Program { source_text: source.to_string(), diagnostics }
    }

    /// The category of the error, which tells who has to act.
    pub fn category(&self) -> Category {
        match self {
            Error::Program { diagnostics, .. } | Error::Schedule { diagnostics, .. } => {
                diagnostics.first().map_or(Category::Internal, |diagnostic| diagnostic.category)
            }
            Error::Io(_) | Error::OutOfRange { .. } | Error::Structure { error: StructureError::Element(_), .. } => {
                Category::File
            }
            Error::Storage(StorageError::Alloc(_) | StorageError::Overflow { .. } | StorageError::Width { .. }) => {
                Category::Memory
            }
            Error::Format(_) | Error::Storage(_) | Error::Argument(_) | Error::Backend(_) => Category::User,
            Error::NoSizes { .. } | Error::NoValue(_) | Error::Inexact { .. } | Error::Sizes { .. } => Category::User,
            Error::Order { .. } | Error::Range(_) | Error::Entries(_) => Category::User,
            Error::Machine { .. } | Error::Foreign { .. } | Error::Structure { .. } => Category::User,
            Error::Kernel(KernelStatus::OutOfMemory | KernelStatus::SizeOverflow) | Error::Full { .. } => {
                Category::Memory
            }
            Error::Kernel(_) | Error::Internal(_) => Category::Internal,
        }
    }

    /// The code under which `docs/errors.md` explains the error: the first mistake's of several.
    ///
    /// ```
    /// use lacunar::{Format, FormatSpec, Tensor};
    /// let optional: FormatSpec = "dp".parse().unwrap();
    /// let error = Tensor::from_triplets([1, 2], &[0, 0], &[0, 1], &[1.0, 2.0], optional).unwrap_err();
    /// assert_eq!(error.code(), Some("E1301"));
    /// assert!(error.report(false).starts_with("error[E1301]: the entries under"));
    /// ```
    pub fn code(&self) -> Option<&'static str> {
        match self {
            Error::Program { diagnostics, .. } | Error::Schedule { diagnostics, .. } => {
                diagnostics.first().map(|diagnostic| diagnostic.code)
            }
            Error::Storage(StorageError::NotRepresentable { .. }) => Some("E1301"),
            Error::Storage(StorageError::Alloc(_)) | Error::Kernel(KernelStatus::OutOfMemory) | Error::Full { .. } => {
                Some("E1302")
            }
            Error::Storage(StorageError::Overflow { .. } | StorageError::Width { .. })
            | Error::Kernel(KernelStatus::SizeOverflow) => Some("E1303"),
            Error::Machine { .. } => Some("E1304"),
            Error::Foreign { .. } => Some("E1305"),
            Error::Backend(_) => Some("E1306"),
            Error::OutOfRange { .. } => Some("E1307"),
            Error::Inexact { .. } => Some("E0506"),
            Error::NoSizes { .. } => Some("E1311"),
            Error::Sizes { .. } => Some("E1012"),
            Error::Order { .. } => Some("E1011"),
            Error::Range(_) | Error::Entries(_) => Some("E0607"),
            Error::NoValue(_) => Some("E0203"),
            Error::Structure { error: StructureError::Element(_), .. } => Some("E1308"),
            Error::Structure { error: StructureError::TooHard, .. } => Some("E1509"),
            Error::Structure { .. } => Some("E1309"),
            Error::Storage(StorageError::Order { .. }) | Error::Format(FormatError::Order { .. }) => Some("E0401"),
            Error::Format(FormatError::Unknown(_) | FormatError::Trailing(_)) => Some("E0402"),
            Error::Format(FormatError::Letter(..)) => Some("E0403"),
            Error::Format(FormatError::Map(_)) => Some("E0404"),
            Error::Format(FormatError::Arguments(_)) => Some("E0405"),
            Error::Format(FormatError::Width { .. }) => Some("E0406"),
            Error::Format(FormatError::Ranked(_)) => Some("E0408"),
            Error::Format(FormatError::Auto(_)) => Some("E0409"),
            Error::Format(FormatError::Schema { .. }) => Some("E0410"),
            Error::Format(FormatError::Open { .. }) => Some("E0412"),
            Error::Format(FormatError::Packing { .. }) => Some("E0411"),
            Error::Storage(StorageError::PaddedPattern { .. }) => Some("E0407"),
            Error::Io(error) => Some(error.code()),
            Error::Argument(_) => Some("E1312"),
            Error::Storage(_) => Some("E1313"),
            Error::Kernel(_) => Some("E1314"),
            Error::Internal(_) => Some("E9000"),
        }
    }

    /// The file that the error is about, if it is about one.
    ///
    /// ```
    /// use lacunar::{Format, Tensor};
    /// let error = Tensor::<f64>::read("missing.mtx", Format::csr()).unwrap_err();
    /// assert_eq!(error.file(), Some("missing.mtx".as_ref()));
    /// ```
    pub fn file(&self) -> Option<&Path> {
        match self {
            Error::Io(error) => Some(error.file()),
            Error::Sizes { file, .. } | Error::Order { file, .. } | Error::Inexact { file, .. } => Some(file.as_ref()),
            _ => None,
        }
    }

    /// The error as text, with the program's text underlined where it has places. Hints speak of this library.
    pub fn report(&self, color: bool) -> String {
        self.rendered(&|text, name, diagnostic| diagnostic.for_library().render(text, name, color))
    }

    /// The same as the command `lacunar` prints it: hints name its flags.
    pub fn render(&self, color: bool) -> String {
        self.rendered(&|text, name, diagnostic| diagnostic.render(text, name, color))
    }

    fn rendered(&self, render: &dyn Fn(&str, &str, &Diagnostic) -> String) -> String {
        let all = |text: &str, name: &str, diagnostics: &[Diagnostic]| {
            diagnostics.iter().map(|diagnostic| render(text, name, diagnostic)).collect()
        };
        match self {
            Error::Program { source_text, diagnostics } => all(source_text, "expression", diagnostics),
            Error::Schedule { source_text, diagnostics } => all(source_text, "schedule", diagnostics),
            other => match other.code() {
                Some(code) => format!("error[{code}]: {other}\n"),
                None => format!("error: {other}\n"),
            },
        }
    }
}

/// The beginning of a message about a tensor and its structure.
fn of_tensor(name: Option<&str>, error: &StructureError) -> String {
    match (name, error) {
        (None, _) => String::new(),
        (Some(name), StructureError::TooHard) => format!("the structure of `{name}`: "),
        (Some(name), _) => format!("`{name}` does not have its structure: "),
    }
}

impl From<StorageError> for Error {
    fn from(error: StorageError) -> Error {
        match error {
            StorageError::Structure(error) => Error::Structure { tensor: None, error: *error },
            error => Error::Storage(error),
        }
    }
}

impl From<StructureError> for Error {
    fn from(error: StructureError) -> Error {
        match error {
            StructureError::Storage(error) => Error::Storage(error),
            error => Error::Structure { tensor: None, error },
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Behind the word `Error: ` that the standard library writes.
        write!(f, "\n{}", self.report(false).trim_end())
    }
}

//! Vocabulary shared by compile time and run time: element types, level kinds with their properties, formats, and structures.
//!
//! Nothing here computes: the compiler asks a [`Level`] for its properties and capabilities and emits code from the
//! answers; the runtime stores tensors by their [`Format`].
//!
//! Papers: Kjolstad et al., *The Tensor Algebra Compiler* (OOPSLA 2017), §3; Chou et al., *Format Abstraction for
//! Sparse Tensor Algebra Compilers* (OOPSLA 2018), §3-4.

mod dtype;
mod external;
mod format;
mod generator;
mod kinds;
mod level;
mod map;
mod map_error;
mod names;
mod packing;
mod registry;
mod scalar;
pub mod schema;
mod slots;
mod stretch;
pub mod structure;
mod width;

pub use dtype::{DType, Kind, One};
pub use external::{External, Signature};
pub use format::{Format, FormatError, FormatSpec};
pub use generator::{Generator, GeneratorError};
pub use kinds::Family;
pub use level::{Capabilities, DescribedPart, Description, Holds, Level, LevelInfo, LevelKind, Part, Properties};
pub use map::{Map, Ranked, Recovery, Term, diagonals};
pub use map_error::{MapError, MapFault};
pub use packing::{Packing, PackingFault, Runs};
pub use registry::KindError;
pub use scalar::Scalar;
pub use schema::{Schema, SchemaError, Template};
pub use stretch::Stretch;
pub use structure::Structure;
pub use width::IndexWidth;

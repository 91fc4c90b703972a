//! Spans, diagnostics, typed handles, the pass trace and random choices, the day of samples, and words that were meant: the needs of every
//! stage, and nothing of tensors.

pub mod amounts;
pub mod arena;
pub mod day;
pub mod diagnostic;
pub mod random;
pub mod span;
pub mod trace;
pub mod words;

pub use arena::{Arena, Handle, UniqueArena};
pub use diagnostic::{Category, Diagnostic, Label};
pub use span::Span;
pub use trace::Trace;

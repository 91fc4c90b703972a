//! Spans, diagnostics, typed handles, the pass trace and random choices: what every stage needs and nothing of tensors.

pub mod arena;
pub mod diagnostic;
pub mod random;
pub mod span;
pub mod trace;

pub use arena::{Arena, Handle, UniqueArena};
pub use diagnostic::{Category, Diagnostic, Label};
pub use span::Span;
pub use trace::Trace;

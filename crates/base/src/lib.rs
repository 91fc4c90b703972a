//! Spans, diagnostics, typed handles and the pass trace: what every stage needs and nothing of tensors.

pub mod arena;
pub mod diagnostic;
pub mod span;
pub mod trace;

pub use arena::{Arena, Handle, UniqueArena};
pub use diagnostic::{Category, Diagnostic, Label};
pub use span::Span;
pub use trace::Trace;

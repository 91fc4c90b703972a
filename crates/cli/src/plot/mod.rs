//! Pictures: the places of a tensor's entries ([`spy`]), the entries that follow from others ([`Derived`]), the padding that a format
//! stores besides ([`Stored`]), the order of tensors' levels in loops ([`graph`]), and the derivations of the variables of loops from each
//! other ([`provenance`](provenance())).
//!
//! All give a [`Drawing`](lacunar_draw::Drawing), which is written as SVG or as PNG; nothing here reads or writes a
//! file. No input makes a picture larger than its options say.
//!
//! ```text
//! Coo, Stored, Derived -> bins -> panel -> spy   \
//!            IterationGraph   -> graph -> Drawing -> to_svg(), to_png(SCALE)
//!            ProvenanceGraph  -> provenance /
//! ```

mod bins;
mod derived;
mod graph;
mod legend;
mod page;
mod panel;
mod provenance;
mod spy;
mod stored;

pub use derived::Derived;
pub use graph::graph;
pub use provenance::provenance;
pub use spy::{PlotError, PlotOptions, Slices, spy};
pub use stored::Stored;

/// Pixels of a PNG to a unit: about 190 to an inch.
pub const SCALE: f32 = 2.0;

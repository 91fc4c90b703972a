//! Pictures: where the entries of a tensor are ([`spy`]) and what a format stores besides ([`Stored`]), how the levels of tensors nest in loops ([`graph`]), and how the
//! variables of loops derive from each other ([`provenance`](provenance())).
//!
//! All give a [`Drawing`], a list of shapes and texts, which is written as SVG or as PNG; nothing here reads or writes
//! a file. No input makes a picture larger than its options say.
//!
//! ```text
//! Coo, Stored -> bins -> panel, ticks, words, color -> spy   \
//!                                  IterationGraph   -> graph -> Drawing -> to_svg(), to_png()
//!                                  ProvenanceGraph  -> provenance /
//! ```

mod bins;
mod color;
mod drawing;
mod font;
mod graph;
mod panel;
mod provenance;
mod raster;
mod spy;
mod stored;
mod svg;
mod ticks;
mod words;

pub use drawing::Drawing;
pub use graph::graph;
pub use provenance::provenance;
pub use raster::PngError;
pub use spy::{PlotError, PlotOptions, Slices, spy};
pub use stored::Stored;

//! Pictures: shapes, texts and colored grids on paper, written as SVG and as PNG; for figures also axes with ticks, and
//! numbers as people read them.
//!
//! On entry: nothing but numbers and texts; a picture knows of no tensor and of no measurement. On exit: a [`Drawing`]
//! that looks alike in both kinds of file and on every machine. Nothing here reads or writes a file, and no input makes
//! a picture larger than its sides say.
//!
//! ```
//! use lacunar_draw::{Anchor, Color, Drawing, Path, Stroke, Text};
//! # fn main() -> Result<(), lacunar_draw::PngError> {
//! let mut drawing = Drawing::new(100.0, 50.0, "a line");
//! drawing.add(Path::line([10.0, 40.0], [90.0, 40.0], Stroke::solid(Color::INK, 1.0)));
//! drawing.add(Text::new([50.0, 30.0], Anchor::Middle, 12.0, "nnz"));
//! assert!(drawing.to_svg().contains("M10 40L90 40"));
//! assert_eq!(&drawing.to_png(2.0)?[1..4], b"PNG");
//! # Ok(())
//! # }
//! ```

mod color;
mod drawing;
pub mod font;
mod marker;
mod raster;
mod scale;
mod svg;
pub mod ticks;
pub mod words;

pub use color::{Color, ramp, warm_ramp};
pub use drawing::{Anchor, Cells, Drawing, Item, Path, Segment, Stroke, Text};
pub use font::Weight;
pub use marker::Marker;
pub use raster::PngError;
pub use scale::Scale;

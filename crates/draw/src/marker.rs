//! Points of figures: a shape for each thing that is shown, so that colors need not tell them apart alone.
//!
//! `Marker::Diamond.path([5.0, 5.0], 4.0, color, true)` is a hollow diamond that is 10 units wide.

use crate::color::Color;
use crate::drawing::{Path, Stroke};

/// The shape of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// A disk.
    Circle,
    /// An upright square.
    Square,
    /// A triangle on its base.
    Triangle,
    /// A square on its corner.
    Diamond,
    /// A triangle on its tip.
    Tip,
}

impl Marker {
    /// The point at a place, filled or hollow. Shapes of one radius look equally large.
    pub fn path(self, at: [f32; 2], radius: f32, color: Color, hollow: bool) -> Path {
        let fill = if hollow { Color::WHITE } else { color };
        let corners: &[[f32; 2]] = match self {
            Marker::Circle => return Path::circle(at, radius, fill).outlined(Stroke::solid(color, 1.0)),
            Marker::Square => &[[-0.88, -0.88], [0.88, -0.88], [0.88, 0.88], [-0.88, 0.88]],
            Marker::Triangle => &[[0.0, -1.2], [1.1, 0.8], [-1.1, 0.8]],
            Marker::Diamond => &[[0.0, -1.25], [1.25, 0.0], [0.0, 1.25], [-1.25, 0.0]],
            Marker::Tip => &[[0.0, 1.2], [1.1, -0.8], [-1.1, -0.8]],
        };
        let corners: Vec<[f32; 2]> = corners.iter().map(|[x, y]| [at[0] + x * radius, at[1] + y * radius]).collect();
        Path::polygon(&corners, fill).outlined(Stroke::solid(color, 1.0))
    }
}

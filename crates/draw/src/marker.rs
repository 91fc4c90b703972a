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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawing::Drawing;

    #[test]
    fn markers_and_dashes_are_well_formed() {
        let mut drawing = Drawing::new(60.0, 30.0, "");
        for (place, marker) in
            [Marker::Circle, Marker::Square, Marker::Triangle, Marker::Diamond, Marker::Tip].into_iter().enumerate()
        {
            drawing.add(marker.path([5.0 + 10.0 * place as f32, 15.0], 4.0, Color::INK, place % 2 == 0));
        }
        let pen = Stroke::solid(Color::GRID, 1.0).with_dashes([4.0, 3.0]).rounded();
        drawing.add(Path::polyline(&[[0.0, 0.0], [30.0, 10.0], [60.0, 30.0]], pen));
        let svg = drawing.to_svg();
        let document = roxmltree::Document::parse(&svg).expect("well-formed");
        let paths: Vec<_> = document.descendants().filter(|node| node.has_tag_name("path")).collect();
        assert_eq!(paths.len(), 6);
        assert_eq!(paths[3].attribute("d"), Some("M35 10L40 15L35 20L30 15Z"));
        assert_eq!([paths[2], paths[3]].map(|path| path.attribute("fill")), [Some("#ffffff"), Some("#222222")]);
        assert_eq!(paths[5].attribute("stroke-dasharray"), Some("4 3"));
        assert!(drawing.to_png(3.0).is_ok());
    }
}

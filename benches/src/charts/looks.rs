//! What engines and kernels look like: colors of Okabe and Ito (2008), which also color-blind readers tell apart, with a
//! shape of their own each.

use super::canvas::{Anchor, Canvas, Marker, Pen, Style, width};

/// How something is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// Its color.
    pub color: &'static str,
    /// Its shape.
    pub marker: Marker,
}

const COLORS: [&str; 7] = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#000000"];
const MARKERS: [Marker; 5] = [Marker::Circle, Marker::Square, Marker::Triangle, Marker::Diamond, Marker::Tip];

/// An engine's name and look: the same in every chart.
pub fn engine(family: &str) -> (String, Look) {
    let known = [
        ("lacunar", "Lacunar"),
        ("mkl", "oneMKL"),
        ("graphblas", "SuiteSparse:GraphBLAS"),
        ("eigen", "Eigen"),
        ("librsb", "librsb"),
        ("scipy", "SciPy"),
        ("taco", "taco"),
    ];
    let place = known.iter().position(|(name, _)| *name == family);
    let name = place.map_or(family, |place| known[place].1);
    // Ours is the black one.
    let color = place.map_or(COLORS[0], |place| COLORS[(place + 6) % 7]);
    (name.to_string(), Look { color, marker: MARKERS[place.unwrap_or(0) % 5] })
}

/// The look of a kernel by its place among all.
pub fn kernel(place: usize) -> Look {
    Look { color: COLORS[place % 7], marker: MARKERS[(place + place / 7) % 5] }
}

/// "1 thread", "2 threads".
pub fn threads(count: usize) -> String {
    format!("{count} thread{}", if count == 1 { "" } else { "s" })
}

/// The height of a line of a legend.
pub const LEGEND_LINE: f64 = 16.0;
const LEGEND_SIZE: f64 = 10.0;

/// A legend in as many lines as the width needs, from a top left corner on. Gives its height.
pub fn legend(canvas: &mut Canvas, (left, top): (f64, f64), room: f64, entries: &[(String, Look)], lines: bool) -> f64 {
    let sample = if lines { 22.0 } else { 12.0 };
    let (mut x, mut y) = (left, top + LEGEND_LINE / 2.0);
    for (name, look) in entries {
        let long = sample + 5.0 + width(name, LEGEND_SIZE) + 18.0;
        if x > left && x + long - 18.0 > left + room {
            (x, y) = (left, y + LEGEND_LINE);
        }
        if lines {
            canvas.line(&[(x, y), (x + sample, y)], Pen::new(look.color, 1.6));
            canvas.marker((x + sample / 2.0, y), look.marker, 3.2, look.color, false);
        } else {
            canvas.rectangle((x, y - 5.0), (x + sample - 2.0, y + 5.0), look.color, None);
        }
        canvas.text((x + sample + 5.0, y + 3.6), Style::new(LEGEND_SIZE, Anchor::Start), name);
        x += long;
    }
    y + LEGEND_LINE / 2.0 - top
}

/// How high such a legend is.
pub fn legend_height(room: f64, entries: &[(String, Look)], lines: bool) -> f64 {
    legend(&mut Canvas::new(0.0, 0.0), (0.0, 0.0), room, entries, lines)
}

//! The looks of engines and kernels: colors of Okabe and Ito (2008), which also color-blind readers tell apart, with a
//! shape of their own each.

use lacunar_draw::{Anchor, Color, Drawing, Marker, Path, Stroke, Text, Weight, font};

/// The color and the marker of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// Its color.
    pub color: Color,
    /// Its shape.
    pub marker: Marker,
}

const COLORS: [Color; 7] = [
    Color::new(0x0072b2),
    Color::new(0xe69f00),
    Color::new(0x009e73),
    Color::new(0xcc79a7),
    Color::new(0x56b4e9),
    Color::new(0xd55e00),
    Color::new(0x000000),
];
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

/// The width of a text in letters of the usual weight.
pub fn width(text: &str, size: f32) -> f32 {
    font::width(text, size, Weight::Regular)
}

/// "1 thread", "2 threads".
pub fn threads(count: usize) -> String {
    format!("{count} thread{}", if count == 1 { "" } else { "s" })
}

/// The height of a line of a legend.
pub const LEGEND_LINE: f32 = 16.0;
const LEGEND_SIZE: f32 = 10.0;

/// A legend in as many lines as the width needs, from a top left corner on. Gives its height.
pub fn legend(drawing: &mut Drawing, [left, top]: [f32; 2], room: f32, entries: &[(String, Look)], lines: bool) -> f32 {
    let sample = if lines { 22.0 } else { 12.0 };
    let (mut x, mut y) = (left, top + LEGEND_LINE / 2.0);
    for (name, look) in entries {
        let long = sample + 5.0 + width(name, LEGEND_SIZE) + 18.0;
        if x > left && x + long - 18.0 > left + room {
            (x, y) = (left, y + LEGEND_LINE);
        }
        if lines {
            drawing.add(Path::line([x, y], [x + sample, y], Stroke::solid(look.color, 1.6)));
            drawing.add(look.marker.path([x + sample / 2.0, y], 3.2, look.color, false));
        } else {
            drawing.add(Path::between([x, y - 5.0], [x + sample - 2.0, y + 5.0], look.color));
        }
        drawing.add(Text::new([x + sample + 5.0, y + 3.6], Anchor::Start, LEGEND_SIZE, name));
        x += long;
    }
    y + LEGEND_LINE / 2.0 - top
}

/// The height of such a legend.
pub fn legend_height(room: f32, entries: &[(String, Look)], lines: bool) -> f32 {
    legend(&mut Drawing::new(0.0, 0.0, ""), [0.0, 0.0], room, entries, lines)
}

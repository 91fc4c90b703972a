//! A picture in SVG, and the same as PNG.
//!
//! Lengths are in units of which there are 96 to an inch; `y` points downwards. The letters are those of DejaVu Sans, which
//! is carried in the program: its widths lay the pictures out, and PNGs are drawn with it, so that they look alike on
//! every machine, also on one without fonts. Viewers of the SVG use it where they have it, and a similar one elsewhere.
//!
//! Example: `Canvas::new(100.0, 50.0)`, then `line`, `text` and so on, then `svg("a title")`.

use std::fmt::Write;
use std::sync::LazyLock;

use anyhow::{Context, Result};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};
use ttf_parser::Face;

/// Pixels of a PNG to a unit: about 290 to an inch, as papers want.
const SCALE: f32 = 3.0;
/// Text and axes.
pub const INK: &str = "#222222";
/// Text of second importance.
pub const FAINT: &str = "#666666";
/// Lines that help to read values.
pub const GRID: &str = "#dddddd";

static FACE: LazyLock<Option<Face<'static>>> = LazyLock::new(|| Face::parse(dejavu::sans::regular(), 0).ok());

/// How wide a text is.
pub fn width(text: &str, size: f64) -> f64 {
    let Some(face) = FACE.as_ref() else { return 0.6 * size * text.chars().count() as f64 };
    let advance = |character| face.glyph_hor_advance(face.glyph_index(character).unwrap_or_default()).unwrap_or(0);
    text.chars().map(|character| f64::from(advance(character))).sum::<f64>() * size / f64::from(face.units_per_em())
}

/// Which part of a text stands at its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// Its start.
    Start,
    /// Its middle.
    Middle,
    /// Its end.
    End,
}

/// How a text looks.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// Height of the font.
    pub size: f64,
    /// Color.
    pub color: &'static str,
    /// Which part of it stands at its point.
    pub anchor: Anchor,
    /// By how many degrees it is turned, clockwise.
    pub turn: f64,
    /// Whether its letters are thick.
    pub bold: bool,
}

impl Style {
    /// Ink, not turned.
    pub fn new(size: f64, anchor: Anchor) -> Style {
        Style { size, color: INK, anchor, turn: 0.0, bold: false }
    }

    /// The same in another color.
    pub fn colored(self, color: &'static str) -> Style {
        Style { color, ..self }
    }

    /// The same, turned.
    pub fn turned(self, turn: f64) -> Style {
        Style { turn, ..self }
    }

    /// The same in thick letters.
    pub fn bold(self) -> Style {
        Style { bold: true, ..self }
    }
}

/// A pen.
#[derive(Clone, Copy, Debug)]
pub struct Pen {
    /// Color.
    pub color: &'static str,
    /// How wide it is.
    pub width: f64,
    /// Whether its lines are dashed.
    pub dashed: bool,
}

impl Pen {
    /// A solid pen.
    pub fn new(color: &'static str, width: f64) -> Pen {
        Pen { color, width, dashed: false }
    }

    /// The same, dashed.
    pub fn dashed(self) -> Pen {
        Pen { dashed: true, ..self }
    }
}

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

/// A picture being painted, item over item, on white.
pub struct Canvas {
    width: f64,
    height: f64,
    body: String,
}

// Writing to a `String` cannot fail, so the results of `write!` carry nothing.
impl Canvas {
    /// An empty picture.
    pub fn new(width: f64, height: f64) -> Canvas {
        Canvas { width, height, body: String::new() }
    }

    /// A line through points.
    pub fn line(&mut self, points: &[(f64, f64)], pen: Pen) {
        let list: Vec<String> = points.iter().map(|(x, y)| format!("{x:.2},{y:.2}")).collect();
        let dashes = if pen.dashed { format!(" stroke-dasharray=\"{:.1} {:.1}\"", 4.0, 3.0) } else { String::new() };
        let _ = writeln!(
            self.body,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-linejoin=\"round\"{dashes}/>",
            list.join(" "),
            pen.color,
            pen.width
        );
    }

    /// A rectangle between two corners, filled or drawn around.
    pub fn rectangle(&mut self, from: (f64, f64), to: (f64, f64), fill: &str, outline: Option<Pen>) {
        let (x, y) = (from.0.min(to.0), from.1.min(to.1));
        let (width, height) = ((from.0 - to.0).abs(), (from.1 - to.1).abs());
        let pen = outline.map(|pen| format!(" stroke=\"{}\" stroke-width=\"{}\"", pen.color, pen.width));
        let _ = writeln!(
            self.body,
            "<rect x=\"{x:.2}\" y=\"{y:.2}\" width=\"{width:.2}\" height=\"{height:.2}\" fill=\"{fill}\"{}/>",
            pen.unwrap_or_default()
        );
    }

    /// A point of some shape, filled or hollow.
    pub fn marker(&mut self, (x, y): (f64, f64), marker: Marker, radius: f64, color: &'static str, hollow: bool) {
        let fill = if hollow { "#ffffff" } else { color };
        let paint = format!("fill=\"{fill}\" stroke=\"{color}\" stroke-width=\"1\"");
        let corners: &[(f64, f64)] = match marker {
            Marker::Circle => {
                let _ = writeln!(self.body, "<circle cx=\"{x:.2}\" cy=\"{y:.2}\" r=\"{radius}\" {paint}/>");
                return;
            }
            Marker::Square => &[(-0.88, -0.88), (0.88, -0.88), (0.88, 0.88), (-0.88, 0.88)],
            Marker::Triangle => &[(0.0, -1.2), (1.1, 0.8), (-1.1, 0.8)],
            Marker::Diamond => &[(0.0, -1.25), (1.25, 0.0), (0.0, 1.25), (-1.25, 0.0)],
            Marker::Tip => &[(0.0, 1.2), (1.1, -0.8), (-1.1, -0.8)],
        };
        let list: Vec<String> =
            corners.iter().map(|(dx, dy)| format!("{:.2},{:.2}", x + dx * radius, y + dy * radius)).collect();
        let _ = writeln!(self.body, "<polygon points=\"{}\" {paint}/>", list.join(" "));
    }

    /// A line of text, its base line at the point.
    pub fn text(&mut self, (x, y): (f64, f64), style: Style, text: &str) {
        let anchor = match style.anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let turn = match style.turn {
            0.0 => String::new(),
            angle => format!(" transform=\"rotate({angle:.2} {x:.2} {y:.2})\""),
        };
        let bold = if style.bold { " font-weight=\"bold\"" } else { "" };
        let _ = writeln!(
            self.body,
            "<text x=\"{x:.2}\" y=\"{y:.2}\" font-size=\"{}\" fill=\"{}\" text-anchor=\"{anchor}\"{bold}{turn}>{}</text>",
            style.size,
            style.color,
            escape(text)
        );
    }

    /// The picture as SVG. The title is what a screen reader says.
    pub fn svg(&self, title: &str) -> String {
        let (width, height, title) = (self.width, self.height, escape(title));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.2} {height:.2}\" role=\"img\" font-family=\"DejaVu Sans, Verdana, sans-serif\">\n\
             <title>{title}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{}</svg>\n",
            self.body
        )
    }
}

fn escape(text: &str) -> String {
    let clean = text.replace(char::is_control, " ");
    clean.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// An SVG drawn as PNG.
pub fn png(svg: &str) -> Result<Vec<u8>> {
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(dejavu::sans::regular().to_vec());
    fonts.load_font_data(dejavu::sans::bold().to_vec());
    let options = Options { fontdb: fonts.into(), font_family: "DejaVu Sans".to_string(), ..Options::default() };
    let tree = Tree::from_str(svg, &options)?;
    let size = tree.size().to_int_size().scale_by(SCALE).context("the picture has no size")?;
    let mut pixels = Pixmap::new(size.width(), size.height()).context("the picture is too large")?;
    resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
    Ok(pixels.encode_png()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_well_formed() {
        let mut canvas = Canvas::new(60.0, 30.0);
        canvas.line(&[(0.0, 0.0), (60.0, 30.0)], Pen::new(INK, 1.0).dashed());
        canvas.marker((30.0, 15.0), Marker::Diamond, 4.0, INK, true);
        canvas.text((5.0, 20.0), Style::new(10.0, Anchor::Start), "a < b & \u{7}\"c\"");
        let svg = canvas.svg("a \"title\"");
        assert!(roxmltree::Document::parse(&svg).is_ok());
        let png = png(&svg).unwrap();
        assert_eq!(&png[1..4], b"PNG");
        // The header's width.
        assert_eq!(u32::from_be_bytes([png[16], png[17], png[18], png[19]]), 180);
    }

    #[test]
    fn letters_have_widths() {
        assert!(width("mm", 10.0) > width("ii", 10.0));
        assert!((width("mm", 20.0) - 2.0 * width("mm", 10.0)).abs() < 1e-9);
    }
}

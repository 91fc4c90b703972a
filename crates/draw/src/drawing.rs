//! A drawing: a list of shapes, texts and colored grids, from which every file format is written.
//!
//! Lengths are in units of which there are 96 to an inch, as in SVG; `y` points downwards. Items are painted in order.
//!
//! ```text
//! Drawing::new(100.0, 50.0) + line (10, 10)-(90, 10) + text "nnz" at (50, 30)   ->   to_svg(), to_png(2.0)
//! ```

use crate::color::Color;
use crate::font::Weight;

/// A picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawing {
    /// Units from left to right.
    pub width: f32,
    /// Units from top to bottom.
    pub height: f32,
    /// The title: a screen reader says it, and a viewer shows it as the picture's name.
    pub title: String,
    /// The painted items, in order, on white.
    pub items: Vec<Item>,
}

/// One thing that is painted.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// A shape.
    Path(Path),
    /// A line of text.
    Text(Text),
    /// A grid of colored cells.
    Cells(Cells),
}

/// A shape of lines and curves, filled, stroked or both.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// Its outline.
    pub segments: Vec<Segment>,
    /// The color inside.
    pub fill: Option<Color>,
    /// The pen along the outline.
    pub stroke: Option<Stroke>,
}

/// A piece of an outline. Points are `[x, y]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Segment {
    /// Starts a new piece here.
    Move([f32; 2]),
    /// A straight line to here.
    Line([f32; 2]),
    /// A cubic Bézier curve: two control points, then its end.
    Cubic([f32; 2], [f32; 2], [f32; 2]),
    /// Back to where the piece started.
    Close,
}

/// A pen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stroke {
    /// Its color.
    pub color: Color,
    /// Its width.
    pub width: f32,
    /// The lengths of dashes and of the gaps between them; `None` for a line without gaps.
    pub dashes: Option<[f32; 2]>,
    /// True if its corners are round, false if they are pointed.
    pub round: bool,
}

/// The part of a text that stands at its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// Its start.
    Start,
    /// Its middle.
    Middle,
    /// Its end.
    End,
}

/// A line of text.
#[derive(Clone, Debug, PartialEq)]
pub struct Text {
    /// The point at which its base line is anchored.
    pub at: [f32; 2],
    /// The part of it that stands there.
    pub anchor: Anchor,
    /// The text itself.
    pub content: String,
    /// The height of the font.
    pub size: f32,
    /// The thickness of the letters.
    pub weight: Weight,
    /// Its color.
    pub color: Color,
    /// Its turn around its point, in degrees, clockwise.
    pub turn: f32,
}

/// A grid of cells of one size, each empty or of a color of a palette.
#[derive(Clone, Debug, PartialEq)]
pub struct Cells {
    /// The top left corner.
    pub at: [f32; 2],
    /// The width and the height of a cell.
    pub cell: [f32; 2],
    /// The part of a cell's width and height that is left blank around its color.
    pub gap: f32,
    /// Cells from left to right.
    pub columns: usize,
    /// For each cell, row by row: 0 where it is empty, else one more than its place in the palette.
    pub levels: Vec<u8>,
    /// At most 255 colors.
    pub palette: Vec<Color>,
}

impl Cells {
    /// Rows, columns and color of the cells that are painted. A level past the palette's end counts as empty.
    pub fn painted(&self) -> impl Iterator<Item = (usize, usize, Color)> + '_ {
        let columns = self.columns.max(1);
        self.levels.iter().enumerate().filter_map(move |(k, &level)| {
            let color = self.palette.get(usize::from(level).checked_sub(1)?)?;
            Some((k / columns, k % columns, *color))
        })
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.levels.len() / self.columns.max(1)
    }
}

/// The distance of the control points of a quarter of a circle from its ends, as a part of the radius.
const QUARTER: f32 = 0.552_285;

impl Path {
    /// A shape with a pen along it.
    pub fn stroked(segments: Vec<Segment>, stroke: Stroke) -> Path {
        Path { segments, fill: None, stroke: Some(stroke) }
    }

    /// A straight line.
    pub fn line(from: [f32; 2], to: [f32; 2], stroke: Stroke) -> Path {
        Path::stroked(vec![Segment::Move(from), Segment::Line(to)], stroke)
    }

    /// Straight lines from each point to the next.
    pub fn polyline(points: &[[f32; 2]], stroke: Stroke) -> Path {
        Path::stroked(through(points), stroke)
    }

    /// A shape with corners, filled.
    pub fn polygon(corners: &[[f32; 2]], fill: Color) -> Path {
        let mut segments = through(corners);
        segments.push(Segment::Close);
        Path { segments, fill: Some(fill), stroke: None }
    }

    /// An upright rectangle, filled.
    pub fn rectangle([x, y]: [f32; 2], [width, height]: [f32; 2], fill: Color) -> Path {
        Path::polygon(&[[x, y], [x + width, y], [x + width, y + height], [x, y + height]], fill)
    }

    /// An upright rectangle from one corner to the opposite one, filled.
    pub fn between([left, top]: [f32; 2], [right, bottom]: [f32; 2], fill: Color) -> Path {
        Path::rectangle([left.min(right), top.min(bottom)], [(right - left).abs(), (bottom - top).abs()], fill)
    }

    /// A circle, filled.
    pub fn circle([x, y]: [f32; 2], radius: f32, fill: Color) -> Path {
        let near = radius * QUARTER;
        let quarter = |[ax, ay]: [f32; 2], [bx, by]: [f32; 2]| {
            let point = |px: f32, py: f32| [x + px, y + py];
            Segment::Cubic(
                point(radius * ax + near * bx, radius * ay + near * by),
                point(radius * bx + near * ax, radius * by + near * ay),
                point(radius * bx, radius * by),
            )
        };
        let corners = [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0], [1.0, 0.0]];
        let mut segments = vec![Segment::Move([x + radius, y])];
        segments.extend(corners.windows(2).map(|pair| quarter(pair[0], pair[1])));
        segments.push(Segment::Close);
        Path { segments, fill: Some(fill), stroke: None }
    }

    /// The edges of an upright rectangle from one corner to the opposite one.
    pub fn frame(from: [f32; 2], to: [f32; 2], stroke: Stroke) -> Path {
        Path { fill: None, stroke: Some(stroke), ..Path::between(from, to, Color::WHITE) }
    }

    /// The same shape with a pen along it too.
    pub fn outlined(self, stroke: Stroke) -> Path {
        Path { stroke: Some(stroke), ..self }
    }
}

/// The outline through points.
fn through(points: &[[f32; 2]]) -> Vec<Segment> {
    let segment = |(k, &point)| if k == 0 { Segment::Move(point) } else { Segment::Line(point) };
    points.iter().enumerate().map(segment).collect()
}

impl Stroke {
    /// A solid pen.
    pub const fn solid(color: Color, width: f32) -> Stroke {
        Stroke { color, width, dashes: None, round: false }
    }

    /// The same pen with dashes that go with its width.
    pub fn dashed(self) -> Stroke {
        self.with_dashes([self.width * 3.2, self.width * 2.2])
    }

    /// The same pen with dashes and gaps of these lengths.
    pub const fn with_dashes(self, dashes: [f32; 2]) -> Stroke {
        Stroke { dashes: Some(dashes), ..self }
    }

    /// The same pen with round corners.
    pub fn rounded(self) -> Stroke {
        Stroke { round: true, ..self }
    }
}

impl Text {
    /// A text of the regular weight, in ink.
    pub fn new(at: [f32; 2], anchor: Anchor, size: f32, content: impl Into<String>) -> Text {
        let content = content.into();
        Text { at, anchor, content, size, weight: Weight::Regular, color: Color::INK, turn: 0.0 }
    }

    /// The same text in another color.
    pub fn colored(self, color: Color) -> Text {
        Text { color, ..self }
    }

    /// The same text in bold.
    pub fn bold(self) -> Text {
        Text { weight: Weight::Bold, ..self }
    }

    /// The same text, reading upwards.
    pub fn upwards(self) -> Text {
        self.turned(-90.0)
    }

    /// The same text, turned clockwise by so many degrees.
    pub fn turned(self, turn: f32) -> Text {
        Text { turn, ..self }
    }

    /// Its length.
    pub fn length(&self) -> f32 {
        crate::font::width(&self.content, self.size, self.weight)
    }

    /// The distance from its start to its point.
    pub fn lead(&self) -> f32 {
        match self.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => self.length() / 2.0,
            Anchor::End => self.length(),
        }
    }
}

impl From<Path> for Item {
    fn from(path: Path) -> Item {
        Item::Path(path)
    }
}

impl From<Text> for Item {
    fn from(text: Text) -> Item {
        Item::Text(text)
    }
}

impl From<Cells> for Item {
    fn from(cells: Cells) -> Item {
        Item::Cells(cells)
    }
}

impl Drawing {
    /// An empty picture.
    pub fn new(width: f32, height: f32, title: impl Into<String>) -> Drawing {
        Drawing { width, height, title: title.into(), items: Vec::new() }
    }

    /// Paints one thing more.
    pub fn add(&mut self, item: impl Into<Item>) {
        self.items.push(item.into());
    }
}

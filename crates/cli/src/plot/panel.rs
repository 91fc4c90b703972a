//! One panel of a picture of sparsity: its cells in a frame, its axes, and the color bar beside all panels.
//!
//! Lengths of cells are whole pixels, so a panel is often a little smaller than the space it was given.
//!
//! Example: 34 x 34 cells in 480 units become squares of 14 units, a panel of 476.

use super::SCALE;
use super::bins::Axis;
use super::stored::Region;
use lacunar_draw::ticks::{self, Tick};
use lacunar_draw::words::grouped;
use lacunar_draw::{Anchor, Cells, Color, Drawing, Path, Segment, Stroke, Text, Weight, font, ramp, warm_ramp};

/// The height of the line over a panel of a grid.
pub const HEAD: f32 = 14.0;

/// The longer side of a panel is at most this many times as long as the shorter one.
const FLATTEST: f32 = 6.0;
/// The side of the largest cell, in pixels.
const LARGEST_CELL: f32 = 64.0;
/// The side of the smallest cell, in pixels, and that where there are so few entries that each should be seen.
const SMALLEST_CELL: f32 = 2.0;
const SMALLEST_LONE_CELL: f32 = 6.0;
const FEW: usize = 300;
/// The number of pixels from which on cells have a gap between them, and the part of a cell that the gap takes.
const GAP: (f32, f32) = (8.0, 0.1);

/// The side of the smallest block, or place of a diagonal, that gets an outline, in pixels.
const SMALLEST_REGION: f32 = 6.0;

const LABEL_SIZE: f32 = 9.0;
const NAME_SIZE: f32 = 10.0;
const TICK: f32 = 4.0;
const BAR_WIDTH: f32 = 12.0;
const BAR_AWAY: f32 = 18.0;

/// The size of panels and of their cells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Geometry {
    /// Units from left to right.
    pub width: f32,
    /// Units from top to bottom.
    pub height: f32,
    /// The width and the height of a cell, in units.
    pub cell: [f32; 2],
    /// True if rows and columns are drawn to the same scale.
    pub to_scale: bool,
}

impl Geometry {
    /// The largest panel for a matrix of this size in a space, of its shape unless that is too flat or too narrow.
    pub fn within([width, height]: [f32; 2], rows: u64, columns: u64) -> Geometry {
        let shape = columns.max(1) as f32 / rows.max(1) as f32;
        let drawn = shape.clamp(1.0 / FLATTEST, FLATTEST);
        let (width, height) = if width / height > drawn { (height * drawn, height) } else { (width, width / drawn) };
        Geometry { width, height, cell: [1.0, 1.0], to_scale: shape == drawn }
    }

    /// Cuts rows and columns into as many blocks as the panel has room for, the same for both where drawn to scale.
    pub fn axes(&self, [rows, columns]: [(Option<usize>, u64); 2], entries: usize) -> [Axis; 2] {
        let smallest = if entries <= FEW { SMALLEST_LONE_CELL } else { SMALLEST_CELL };
        let most = |side: f32| (side * SCALE / smallest).max(1.0) as u64;
        let rows = Axis::cut(rows.0, rows.1, most(self.height));
        let columns = Axis::cut(columns.0, columns.1, most(self.width));
        if !self.to_scale {
            return [rows, columns];
        }
        let block = rows.block.max(columns.block);
        [Axis { block, ..rows }, Axis { block, ..columns }]
    }

    /// The panel shrunk to cells of whole pixels.
    pub fn fitted(&self, rows: &Axis, columns: &Axis) -> Geometry {
        let pixels = |side: f32, axis: &Axis| {
            (side * SCALE / axis.cells().max(1) as f32).floor().clamp(1.0, LARGEST_CELL) / SCALE
        };
        let (wide, high) = (pixels(self.width, columns), pixels(self.height, rows));
        let cell = if self.to_scale { [wide.min(high); 2] } else { [wide, high] };
        let [width, height] =
            [(cell[0], columns), (cell[1], rows)].map(|(side, axis)| side * axis.cells().max(1) as f32);
        Geometry { width, height, cell, to_scale: self.to_scale }
    }
}

/// The meaning of the colors of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shades {
    largest: u64,
    tone: Tone,
}

/// The colors of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// From light green to dark purple.
    Entries,
    /// From light to dark orange: entries that follow from others.
    Derived,
}

impl Tone {
    /// The color at a place from 0 to 1.
    pub fn color(self, place: f64) -> Color {
        match self {
            Tone::Entries => ramp(place),
            Tone::Derived => warm_ramp(place),
        }
    }
}

impl Shades {
    /// The meaning of colors where the fullest cell has `largest` entries.
    pub fn of(largest: u64) -> Shades {
        Shades { largest, tone: Tone::Entries }
    }

    /// The same in other colors.
    pub fn toned(self, tone: Tone) -> Shades {
        Shades { tone, ..self }
    }

    /// True if counts differ, so that colors need explaining.
    pub fn shown(&self) -> bool {
        self.largest > 1
    }

    /// True if the bar is logarithmic.
    fn logarithmic(&self) -> bool {
        self.largest > 10
    }

    /// The place of a positive count between 0 and 1.
    fn place(&self, count: u64) -> f64 {
        let (count, largest) = (count.max(1) as f64, self.largest.max(1) as f64);
        if self.largest <= 1 {
            1.0
        } else if self.logarithmic() {
            count.ln() / largest.ln()
        } else {
            (count - 1.0) / (largest - 1.0)
        }
    }

    /// The level of a count in a palette of 255 colors.
    fn level(&self, count: u64) -> u8 {
        if count == 0 { 0 } else { 1 + (self.place(count) * 254.0).round() as u8 }
    }

    fn palette(&self) -> Vec<Color> {
        (0..255).map(|k| self.tone.color(f64::from(k) / 254.0)).collect()
    }

    fn ticks(&self) -> Vec<Tick> {
        if self.logarithmic() {
            return ticks::decades(self.largest);
        }
        (1..=self.largest).map(|value| Tick { value, label: grouped(value) }).collect()
    }
}

/// The space left of a panel for the axis of its rows.
pub fn left_room(geometry: &Geometry, rows: &Axis, name: &str) -> f32 {
    if name.is_empty() {
        return 0.0;
    }
    let widest = row_ticks(geometry, rows).iter().map(|tick| label_width(&tick.label)).fold(0.0, f32::max);
    widest + TICK + 3.0 + NAME_SIZE + 6.0
}

/// The space under a panel for the axis of its columns.
pub fn below_room(columns: &Axis, name: &str) -> f32 {
    let labels = if columns.mode.is_some() { TICK + 2.0 + LABEL_SIZE } else { 0.0 };
    if name.is_empty() { labels } else { labels + 4.0 + NAME_SIZE }
}

/// The space right of the panels for the color bar.
pub fn bar_room(shades: &Shades) -> f32 {
    let widest = shades.ticks().iter().map(|tick| label_width(&tick.label)).fold(0.0, f32::max);
    BAR_AWAY + BAR_WIDTH + TICK + 3.0 + widest + 6.0 + NAME_SIZE
}

fn label_width(label: &str) -> f32 {
    font::width(label, LABEL_SIZE, Weight::Regular)
}

fn row_ticks(geometry: &Geometry, rows: &Axis) -> Vec<Tick> {
    ticks::axis(rows.size, geometry.height, |_| LABEL_SIZE * 2.6)
}

fn ink(width: f32) -> Stroke {
    Stroke::solid(Color::INK, width)
}

/// The position of a coordinate along an axis whose cells are of a length: the middle of its place.
fn along(coordinate: u64, axis: &Axis, cell: f32) -> f32 {
    ((coordinate as f64 + 0.5) / axis.block as f64 * f64::from(cell)) as f32
}

/// Writes the line over a panel, shortened to its width.
pub fn paint_head(drawing: &mut Drawing, [x, y]: [f32; 2], geometry: &Geometry, head: &str) {
    let shortened = font::fit(head, LABEL_SIZE, Weight::Regular, geometry.width);
    drawing.add(Text::new([x + geometry.width / 2.0, y - 4.0], Anchor::Middle, LABEL_SIZE, shortened));
}

/// Paints the cells of a panel that have entries.
pub fn paint_cells(
    drawing: &mut Drawing,
    at: [f32; 2],
    geometry: &Geometry,
    columns: usize,
    counts: &[u64],
    shades: &Shades,
) {
    let levels = counts.iter().map(|&count| shades.level(count)).collect();
    let smallest = geometry.cell[0].min(geometry.cell[1]) * SCALE;
    let gap = if smallest >= GAP.0 { GAP.1 } else { 0.0 };
    drawing.add(Cells { at, cell: geometry.cell, gap, columns, levels, palette: shades.palette() });
}

/// Paints the frame of a panel.
pub fn paint_frame(drawing: &mut Drawing, at: [f32; 2], geometry: &Geometry) {
    let frame = frame(at, [geometry.width, geometry.height]);
    drawing.add(Path::stroked(frame, ink(0.8)));
}

/// Paints places that are stored, whether entries or not, lighter than any entry.
pub fn paint_places(drawing: &mut Drawing, at: [f32; 2], geometry: &Geometry, columns: usize, counts: &[u64]) {
    let levels = counts.iter().map(|&count| u8::from(count > 0)).collect();
    drawing.add(Cells { at, cell: geometry.cell, gap: 0.0, columns, levels, palette: vec![Color::FILLED] });
}

/// Paints the outlines of blocks and diagonals, as long as they are large enough to be seen.
pub fn paint_regions(
    drawing: &mut Drawing,
    [x, y]: [f32; 2],
    geometry: &Geometry,
    axes: [&Axis; 2],
    regions: &[Region],
) {
    let units = [geometry.cell[1] / axes[0].block as f32, geometry.cell[0] / axes[1].block as f32];
    let point = |[row, column]: [u64; 2]| [x + column as f32 * units[1], y + row as f32 * units[0]];
    let mut outlines = Vec::new();
    for region in regions {
        let (corners, smallest) = match *region {
            Region::Block { first, end } => {
                let side = |d: usize| (end[d] - first[d]) as f32 * units[d];
                (vec![first, [first[0], end[1]], end, [end[0], first[1]]], side(0).min(side(1)))
            }
            Region::Diagonal { first: [row, column], len } => {
                let (last_row, last_column) = (row + len, column + len);
                let corners = vec![
                    [row, column],
                    [row, column + 1],
                    [last_row - 1, last_column],
                    [last_row, last_column],
                    [last_row, last_column - 1],
                    [row + 1, column],
                ];
                (corners, units[0].min(units[1]))
            }
        };
        if smallest * SCALE < SMALLEST_REGION {
            continue;
        }
        let segment = |(k, corner): (usize, [u64; 2])| match k {
            0 => Segment::Move(point(corner)),
            _ => Segment::Line(point(corner)),
        };
        outlines.extend(corners.into_iter().enumerate().map(segment).chain([Segment::Close]));
    }
    if !outlines.is_empty() {
        drawing.add(Path::stroked(outlines, Stroke::solid(Color::FAINT, 0.6)));
    }
}

/// A rectangle whose pen runs outside of it.
fn frame([x, y]: [f32; 2], [width, height]: [f32; 2]) -> Vec<Segment> {
    let (left, top, right, bottom) = (x - 0.5, y - 0.5, x + width + 0.5, y + height + 0.5);
    vec![
        Segment::Move([left, top]),
        Segment::Line([right, top]),
        Segment::Line([right, bottom]),
        Segment::Line([left, bottom]),
        Segment::Close,
    ]
}

/// Paints ticks, labels and the name left of a panel.
pub fn paint_row_axis(drawing: &mut Drawing, [x, y]: [f32; 2], geometry: &Geometry, rows: &Axis, name: &str) {
    if name.is_empty() {
        return;
    }
    let mut widest = 0f32;
    for tick in row_ticks(geometry, rows) {
        let at = y + along(tick.value, rows, geometry.cell[1]);
        drawing.add(Path::line([x - 0.5 - TICK, at], [x - 0.5, at], ink(0.8)));
        widest = widest.max(label_width(&tick.label));
        drawing.add(Text::new([x - TICK - 3.0, at + LABEL_SIZE * 0.36], Anchor::End, LABEL_SIZE, tick.label));
    }
    let at = [x - TICK - 3.0 - widest - 6.0, y + geometry.height / 2.0];
    drawing.add(Text::new(at, Anchor::Middle, NAME_SIZE, name).upwards());
}

/// Paints ticks, labels and the name under a panel.
pub fn paint_column_axis(drawing: &mut Drawing, [x, y]: [f32; 2], geometry: &Geometry, columns: &Axis, name: &str) {
    if name.is_empty() {
        return;
    }
    let bottom = y + geometry.height + 0.5;
    let room = |label: &str| label_width(label) + 10.0;
    for tick in ticks::axis(columns.size, geometry.width, room) {
        let at = x + along(tick.value, columns, geometry.cell[0]);
        drawing.add(Path::line([at, bottom], [at, bottom + TICK], ink(0.8)));
        let base = bottom + TICK + 2.0 + LABEL_SIZE * 0.8;
        drawing.add(Text::new([at, base], Anchor::Middle, LABEL_SIZE, tick.label));
    }
    let base = bottom + TICK + 2.0 + LABEL_SIZE + 3.0 + NAME_SIZE * 0.8;
    drawing.add(Text::new([x + geometry.width / 2.0, base], Anchor::Middle, NAME_SIZE, name));
}

/// Paints the color bar, its top left corner `BAR_AWAY` right of a place.
pub fn paint_bar(drawing: &mut Drawing, [x, y]: [f32; 2], height: f32, shades: &Shades) {
    let height = height.max(60.0);
    let left = x + BAR_AWAY;
    let steps = 128usize;
    let levels = (0..steps).map(|k| 255 - (k * 254 / (steps - 1)) as u8).collect();
    let cell = [BAR_WIDTH, height / steps as f32];
    drawing.add(Cells { at: [left, y], cell, gap: 0.0, columns: 1, levels, palette: shades.palette() });
    drawing.add(Path::stroked(frame([left, y], [BAR_WIDTH, height]), ink(0.8)));
    let right = left + BAR_WIDTH + 0.5;
    let mut widest = 0f32;
    for tick in shades.ticks() {
        let at = y + height * (1.0 - shades.place(tick.value)) as f32;
        drawing.add(Path::line([right, at], [right + TICK, at], ink(0.8)));
        widest = widest.max(label_width(&tick.label));
        drawing.add(Text::new([right + TICK + 3.0, at + LABEL_SIZE * 0.36], Anchor::Start, LABEL_SIZE, tick.label));
    }
    let at = [right + TICK + 3.0 + widest + 4.0 + NAME_SIZE * 0.8, y + height / 2.0];
    let name = if height < 90.0 { "per cell" } else { "entries per cell" };
    drawing.add(Text::new(at, Anchor::Middle, NAME_SIZE, name).upwards());
}

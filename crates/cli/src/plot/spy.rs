//! The picture of a tensor's sparsity: the places of its entries, and their density.
//!
//! A matrix is one panel. A vector is a strip. A tensor of higher order is a grid of panels, each of one slice or of a
//! run of neighboring slices of one mode. The two modes after it (in the tensor's order) are the rows and the columns
//! of every panel. Entries that differ in further modes fall together, and the picture says so.
//!
//! The way: sizes and options -> geometry of a panel -> counts ([`super::bins`]) -> panels and color bar
//! ([`super::panel`]) under a heading.
//!
//! ```text
//!            heading: file, sizes, nonzeros, density
//!         +-----------+
//!  rows 0 |  .:#      |  # 100    color bar: entries to a cell
//!       5 |     #:.   |  :  10
//!         +-----------+  .   1
//!         0    5    columns
//! ```

use lacunar_draw::words::{density, grouped, sizes};
use lacunar_draw::{Anchor, Color, Drawing, Text, Weight, font};
use lacunar_runtime::Coo;
use thiserror::Error;

use super::SCALE;
use super::bins::{self, Axis, Choice};
use super::derived::Derived;
use super::legend::Legend;
use super::panel::{self, Geometry, Shades, Tone};
use super::stored::Stored;

/// The slices of a tensor of order 3 or more that are drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Slices {
    /// The whole mode, cut into at most this many runs of neighboring slices, each projected to one panel.
    Runs(u64),
    /// These slices alone, counted from 0.
    At(Vec<u64>),
}

/// The options of the drawing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlotOptions {
    /// The heading: usually the name of the file.
    pub title: String,
    /// About how many pixels the longer side of the PNG has. Kept between 600 and 8000.
    pub max_pixels: u32,
    /// The mode that is sliced, from 0; for tensors of order 3 or more.
    pub mode: usize,
    /// Its slices.
    pub slices: Slices,
}

impl Default for PlotOptions {
    fn default() -> PlotOptions {
        PlotOptions { title: String::new(), max_pixels: 1200, mode: 0, slices: Slices::Runs(9) }
    }
}

/// The reason why there is no picture.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlotError {
    /// There is no such mode to slice.
    #[error("there is no mode {mode} to slice: the tensor is of order {order}, and modes count from 0")]
    Mode {
        /// The mode asked for.
        mode: usize,
        /// The order of the tensor.
        order: usize,
    },
    /// There is no such slice.
    #[error("there is no slice {slice}: the mode is of size {size}, and slices count from 0")]
    Slice {
        /// The slice asked for.
        slice: u64,
        /// The size of the mode.
        size: u64,
    },
    /// No panel or too many.
    #[error("{0} slices cannot be drawn in one picture: choose 1 to {MOST_PANELS}")]
    Panels(usize),
}

/// The most panels in a picture.
const MOST_PANELS: usize = 100;
/// Blank space around the picture.
const MARGIN: f32 = 14.0;
/// The space that the axes and the color bar need beside the panels, for the choice of the panels' size.
const SURROUNDINGS: f32 = 120.0;
/// The space between panels of a grid, beside that for their labels.
const BETWEEN: f32 = 12.0;

/// Draws the places of a tensor's entries, on top of those of other stored values; in two colors, if some follow from others.
pub fn spy(
    coo: &Coo,
    stored: Option<&Stored>,
    derived: Option<&Derived>,
    options: &PlotOptions,
) -> Result<Drawing, PlotError> {
    let modes = Modes::of(coo, options)?;
    let room = options.max_pixels.clamp(600, 8000) as f32 / SCALE - SURROUNDINGS;
    let grid = Grid::of(modes.panels(), room, modes.rows.1, modes.columns.1);
    let [rows, columns] = grid.geometry.axes([modes.rows, modes.columns], coo.len());
    let count = |list: &Coo| bins::count(list, &modes.choice, rows, columns);
    let counts = count(derived.map_or(coo, |derived| &derived.unique));
    let places = stored.map(|stored| count(&stored.places));
    let following = derived.map(|derived| count(&derived.derived));
    let geometry = grid.geometry.fitted(&rows, &columns);
    let largest = counts.iter().chain(following.iter().flatten()).flatten().copied().max().unwrap_or(0);
    let shades = Shades::of(largest);

    let names = modes.names();
    let heads = modes.heads();
    let several = heads.len() > 1 || !matches!(modes.choice, Choice::Whole);
    let head_room = if several { panel::HEAD } else { 0.0 };
    let left = panel::left_room(&geometry, &rows, &names[0]);
    let pitch = [geometry.width + BETWEEN, geometry.height + head_room + BETWEEN];
    let lines = heads.len().div_ceil(grid.columns).max(1);
    let across = grid.columns.min(heads.len()).max(1);
    let body = [
        across as f32 * pitch[0] - BETWEEN,
        lines as f32 * pitch[1] - BETWEEN + panel::below_room(&columns, &names[1]),
    ];
    let bar = if shades.shown() { panel::bar_room(&shades) } else { 0.0 };
    let legend = derived.map(Legend::of);
    let heading = Heading { legend, ..Heading::of(coo, options, &modes, [&rows, &columns], &geometry, stored) };
    let inner = (left + body[0] + bar).max(heading.needed(room));
    let mut drawing = Drawing::new(
        inner + 2.0 * MARGIN,
        heading.height() + body[1] + 2.0 * MARGIN,
        [&options.title, &heading.facts, &heading.stored].map(String::as_str).join(" ").trim_end(),
    );
    let start = [MARGIN + (inner - left - body[0] - bar) / 2.0 + left, MARGIN + heading.height()].map(whole_pixel);
    heading.paint(&mut drawing, start[0] + body[0] / 2.0, inner);
    for (k, (head, counts)) in heads.iter().zip(&counts).enumerate() {
        let (line, column) = (k / grid.columns, k % grid.columns);
        let corner =
            [start[0] + column as f32 * pitch[0], start[1] + line as f32 * pitch[1] + head_room].map(whole_pixel);
        if several {
            panel::paint_head(&mut drawing, corner, &geometry, head);
        }
        if let (Some(places), Some(stored)) = (&places, stored) {
            panel::paint_places(&mut drawing, corner, &geometry, columns.cells(), &places[k]);
            panel::paint_regions(&mut drawing, corner, &geometry, [&rows, &columns], &stored.regions);
        }
        if let Some(following) = &following {
            let shades = shades.toned(Tone::Derived);
            panel::paint_cells(&mut drawing, corner, &geometry, columns.cells(), &following[k], &shades);
        }
        panel::paint_cells(&mut drawing, corner, &geometry, columns.cells(), counts, &shades);
        panel::paint_frame(&mut drawing, corner, &geometry);
        if column == 0 {
            panel::paint_row_axis(&mut drawing, corner, &geometry, &rows, &names[0]);
        }
        if k + grid.columns >= heads.len() {
            panel::paint_column_axis(&mut drawing, corner, &geometry, &columns, &names[1]);
        }
    }
    if shades.shown() {
        let height = lines as f32 * pitch[1] - BETWEEN - head_room;
        panel::paint_bar(&mut drawing, [start[0] + body[0], start[1] + head_room], height, &shades);
    }
    Ok(drawing)
}

/// A length at which a pixel starts.
fn whole_pixel(length: f32) -> f32 {
    (length * SCALE).round() / SCALE
}

/// A mode, if any, and its size.
type Mode = (Option<usize>, u64);

/// The roles of the tensor's modes in the drawing.
struct Modes {
    rows: Mode,
    columns: Mode,
    choice: Choice,
    /// The mode that chooses the panel and the modes that are not shown.
    sliced: Option<usize>,
    hidden: Vec<usize>,
}

impl Modes {
    fn of(coo: &Coo, options: &PlotOptions) -> Result<Modes, PlotError> {
        let none = (None, 1);
        let mode = |mode: usize| coo.dims.get(mode).map_or(none, |&size| (Some(mode), size));
        let order = coo.dims.len();
        let whole = |rows, columns| Modes { rows, columns, choice: Choice::Whole, sliced: None, hidden: Vec::new() };
        if order < 3 {
            return Ok(if order == 2 { whole(mode(0), mode(1)) } else { whole(none, mode(0)) });
        }
        let sliced = options.mode;
        let &size = coo.dims.get(sliced).ok_or(PlotError::Mode { mode: sliced, order })?;
        let choice = match &options.slices {
            Slices::Runs(most) => {
                let most = usize::try_from(*most).unwrap_or(usize::MAX);
                if most == 0 || most > MOST_PANELS {
                    return Err(PlotError::Panels(most));
                }
                Choice::Blocks(Axis::cut(Some(sliced), size, most as u64))
            }
            Slices::At(list) => {
                let mut list = list.clone();
                list.sort_unstable();
                list.dedup();
                if list.is_empty() || list.len() > MOST_PANELS {
                    return Err(PlotError::Panels(list.len()));
                }
                if let Some(&slice) = list.iter().find(|&&slice| slice >= size) {
                    return Err(PlotError::Slice { slice, size });
                }
                Choice::At(sliced, list)
            }
        };
        let mut shown = (0..order).filter(|&mode| mode != sliced);
        let (rows, columns) = (shown.next().map_or(none, mode), shown.next().map_or(none, mode));
        Ok(Modes { rows, columns, choice, sliced: Some(sliced), hidden: shown.collect() })
    }

    /// The number of panels; a mode of size 0 still gets an empty one.
    fn panels(&self) -> usize {
        self.choice.panels().max(1)
    }

    /// The names along the rows and the columns.
    fn names(&self) -> [String; 2] {
        let name = |(mode, _): Mode, matrix: &str| match (mode, self.sliced) {
            (None, _) => String::new(),
            (Some(mode), Some(_)) => format!("mode {mode}"),
            (Some(_), None) => matrix.to_owned(),
        };
        let columns = if self.rows.0.is_none() { "coordinate" } else { "column" };
        [name(self.rows, "row"), name(self.columns, columns)]
    }

    /// The texts over the panels.
    fn heads(&self) -> Vec<String> {
        let heads: Vec<String> = match &self.choice {
            Choice::Whole => vec![String::new()],
            Choice::At(mode, list) => list.iter().map(|&c| format!("mode {mode} at {}", grouped(c))).collect(),
            Choice::Blocks(axis) => (0..axis.cells() as u64)
                .map(|k| {
                    let first = k * axis.block;
                    let last = (axis.size - 1).min(first.saturating_add(axis.block - 1));
                    let mode = axis.mode.unwrap_or(0);
                    match first == last {
                        true => format!("mode {mode} at {}", grouped(first)),
                        false => format!("mode {mode} at {}–{}", grouped(first), grouped(last)),
                    }
                })
                .collect(),
        };
        if heads.is_empty() { vec!["no slices".to_owned()] } else { heads }
    }
}

/// The arrangement of panels.
struct Grid {
    columns: usize,
    geometry: Geometry,
}

impl Grid {
    /// The arrangement whose panels are largest in a square of `room`.
    fn of(panels: usize, room: f32, rows: u64, columns: u64) -> Grid {
        let geometry = |across: usize| {
            let down = panels.div_ceil(across);
            let share = |parts: usize, extra: f32| (room - (parts - 1) as f32 * (BETWEEN + extra)) / parts as f32;
            Geometry::within([share(across, 0.0), share(down, panel::HEAD)].map(|side| side.max(16.0)), rows, columns)
        };
        let arrangements = (1..=panels).map(|across| Grid { columns: across, geometry: geometry(across) });
        let area = |grid: &Grid| grid.geometry.width * grid.geometry.height;
        let best = arrangements.reduce(|best, next| if area(&next) > area(&best) * 1.001 { next } else { best });
        best.unwrap_or_else(|| Grid { columns: 1, geometry: geometry(1) })
    }
}

/// The lines over the panels.
struct Heading {
    title: String,
    facts: String,
    /// The storage of the format, in words.
    stored: String,
    notes: String,
    /// The meaning of the colors, if there are two.
    legend: Option<Legend>,
}

const TITLE_SIZE: f32 = 14.0;
const FACTS_SIZE: f32 = 10.5;
const NOTES_SIZE: f32 = 9.0;

impl Heading {
    fn of(
        coo: &Coo,
        options: &PlotOptions,
        modes: &Modes,
        [rows, columns]: [&Axis; 2],
        geometry: &Geometry,
        stored: Option<&Stored>,
    ) -> Heading {
        let entries = coo.len() as u64;
        let places: f64 = coo.dims.iter().map(|&size| size as f64).product();
        let shape = match coo.dims.as_slice() {
            [] => "a scalar".to_owned(),
            [size] => format!("size {}", grouped(*size)),
            dims => sizes(dims),
        };
        let facts = format!("{shape}, {} nonzeros, density {}", grouped(entries), density(entries, places));
        let mut notes = Vec::new();
        if rows.block > 1 || columns.block > 1 {
            let shown = [rows, columns].into_iter().filter(|axis| axis.mode.is_some());
            let blocks: Vec<u64> = shown.map(|axis| axis.block).collect();
            notes.push(format!("a cell covers {}", sizes(&blocks)));
        }
        if !geometry.to_scale && modes.rows.0.is_some() {
            notes.push("axes not to one scale".to_owned());
        }
        if !modes.hidden.is_empty() {
            let hidden: Vec<String> = modes.hidden.iter().map(|mode| format!("mode {mode}")).collect();
            notes.push(format!("projected along {}", hidden.join(", ")));
        }
        let stored = stored.map(|stored| stored.caption.clone()).unwrap_or_default();
        Heading { title: options.title.clone(), facts, stored, notes: notes.join("; "), legend: None }
    }

    fn height(&self) -> f32 {
        let title = if self.title.is_empty() { 0.0 } else { TITLE_SIZE + 5.0 };
        let small = |line: &str| if line.is_empty() { 0.0 } else { NOTES_SIZE + 5.0 };
        let legend = if self.legend.is_some() { NOTES_SIZE + 5.0 } else { 0.0 };
        title + FACTS_SIZE + 5.0 + small(&self.stored) + small(&self.notes) + legend + 5.0
    }

    /// The width of the longest line, up to `room`.
    fn needed(&self, room: f32) -> f32 {
        let lines = [
            font::width(&self.title, TITLE_SIZE, Weight::Bold),
            font::width(&self.facts, FACTS_SIZE, Weight::Regular),
            font::width(&self.stored, NOTES_SIZE, Weight::Regular),
            font::width(&self.notes, NOTES_SIZE, Weight::Regular),
            self.legend.as_ref().map_or(0.0, Legend::width),
        ];
        lines.into_iter().fold(0.0, f32::max).min(room)
    }

    /// Writes the lines around `middle`, or as near as they fit into the picture.
    fn paint(&self, drawing: &mut Drawing, middle: f32, inner: f32) {
        let mut y = MARGIN;
        let half = self.needed(inner) / 2.0;
        let x = middle.min(MARGIN + inner - half).max(MARGIN + half);
        let mut line = |content: &str, size: f32, weight: Weight, color: Color| {
            if !content.is_empty() {
                y += size;
                let shown = font::fit(content, size, weight, inner);
                drawing.add(Text { weight, color, ..Text::new([x, y], Anchor::Middle, size, shown) });
                y += 5.0;
            }
        };
        line(&self.title, TITLE_SIZE, Weight::Bold, Color::INK);
        line(&self.facts, FACTS_SIZE, Weight::Regular, Color::INK);
        line(&self.stored, NOTES_SIZE, Weight::Regular, Color::INK);
        line(&self.notes, NOTES_SIZE, Weight::Regular, Color::FAINT);
        if let Some(legend) = &self.legend {
            legend.paint(drawing, [x - legend.width() / 2.0, y + NOTES_SIZE]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lacunar_draw::Item;
    use lacunar_runtime::{Coordinates, Values};

    fn tensor(dims: &[u64], entries: &[&[u64]]) -> Coo {
        let mut coords: Vec<Coordinates> = dims.iter().map(|&size| Coordinates::for_size(size)).collect();
        for entry in entries {
            coords.iter_mut().zip(*entry).for_each(|(list, &coordinate)| list.push(coordinate));
        }
        Coo { dims: dims.to_vec(), coords, values: Values::F64(vec![1.0; entries.len()]) }
    }

    fn drawn(coo: &Coo, options: &PlotOptions) -> Drawing {
        let drawing = spy(coo, None, None, options).expect("a picture");
        let svg = drawing.to_svg();
        let document = roxmltree::Document::parse(&svg).expect("well-formed");
        assert!(document.root_element().has_tag_name("svg"));
        let bytes = drawing.to_png(SCALE).expect("a picture");
        let reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().expect("a PNG");
        assert_eq!([reader.info().width, reader.info().height], drawing.pixels(SCALE));
        drawing
    }

    fn texts(drawing: &Drawing) -> Vec<&str> {
        let mut texts = Vec::new();
        for item in &drawing.items {
            if let Item::Text(text) = item {
                texts.push(text.content.as_str());
            }
        }
        texts
    }

    /// The painted cells of every grid, the color bar's last.
    fn painted(drawing: &Drawing) -> Vec<usize> {
        let cells = |item: &Item| if let Item::Cells(cells) = item { Some(cells.painted().count()) } else { None };
        drawing.items.iter().filter_map(cells).collect()
    }

    #[test]
    fn a_small_matrix_shows_every_entry() {
        let coo = tensor(&[4, 5], &[&[0, 0], &[1, 4], &[3, 2]]);
        let drawing = drawn(&coo, &PlotOptions { title: "a<b>.mtx".to_owned(), ..PlotOptions::default() });
        assert_eq!(painted(&drawing), [3]);
        let texts = texts(&drawing);
        for wanted in ["a<b>.mtx", "4 × 5, 3 nonzeros, density 15.0%", "row", "column", "3", "4"] {
            assert!(texts.contains(&wanted), "{wanted} in {texts:?}");
        }
    }

    #[test]
    fn extreme_shapes_are_drawn_small() {
        let end = (1 << 31) - 1;
        let shapes: [(&[u64], &[&[u64]]); 9] = [
            (&[0, 0], &[]),
            (&[0, 7], &[]),
            (&[1, 1_000_000], &[&[0, 999_999]]),
            (&[1_000_000, 1], &[&[0, 0]]),
            (&[1 << 31, 1 << 31], &[&[0, 0], &[end, end]]),
            (&[u64::MAX, 3], &[&[u64::MAX - 1, 2]]),
            (&[], &[&[]]),
            (&[12], &[&[11]]),
            (&[0, 4, 4], &[]),
        ];
        for (dims, entries) in shapes {
            let drawing = drawn(&tensor(dims, entries), &PlotOptions::default());
            assert!(drawing.pixels(SCALE).iter().all(|&side| side < 1400), "{dims:?}: {:?}", drawing.pixels(SCALE));
            assert_eq!(painted(&drawing).iter().sum::<usize>(), entries.len(), "{dims:?}");
        }
    }

    #[test]
    fn slices_are_panels() {
        let entries: [&[u64]; 3] = [&[0, 1, 2, 0], &[19, 3, 4, 1], &[19, 0, 0, 0]];
        let coo = tensor(&[20, 5, 6, 2], &entries);
        let runs = drawn(&coo, &PlotOptions { slices: Slices::Runs(4), ..PlotOptions::default() });
        assert_eq!(painted(&runs), [1, 0, 0, 2]);
        assert!(texts(&runs).contains(&"mode 0 at 15–19") && texts(&runs).contains(&"projected along mode 3"));
        let some = PlotOptions { mode: 3, slices: Slices::At(vec![1, 0, 1]), ..PlotOptions::default() };
        assert_eq!(painted(&drawn(&coo, &some)), [2, 1]);
    }

    #[test]
    fn a_color_bar_explains_full_cells() {
        let entries: Vec<[u64; 2]> = (0..100).map(|k| [k, 0]).chain([[9999, 9999]]).collect();
        let entries: Vec<&[u64]> = entries.iter().map(|entry| entry.as_slice()).collect();
        let drawing = drawn(&tensor(&[10_000, 10_000], &entries), &PlotOptions::default());
        assert!(texts(&drawing).contains(&"entries per cell") && texts(&drawing).contains(&"20"));
    }

    #[test]
    fn what_fills_up_is_lighter_and_blocks_have_outlines() {
        let coo = tensor(&[4, 5], &[&[0, 0], &[1, 4], &[3, 2]]);
        let format = "bcsr(2,2)".parse::<lacunar::FormatSpec>().expect("a format").resolve(2).expect("of a matrix");
        let stored = Stored::of(lacunar::DynTensor::from_coo(coo.clone(), &format).expect("stored")).expect("memory");
        let drawing = spy(&coo, Some(&stored), None, &PlotOptions::default()).expect("a picture");
        // Two blocks of four places, and one that is cut in half by the edge of the matrix.
        assert_eq!(painted(&drawing), [10, 3]);
        let outlines = |item: &&Item| matches!(item, Item::Path(path) if path.segments.len() == 3 * 5);
        assert_eq!(drawing.items.iter().filter(outlines).count(), 1);
        assert!(texts(&drawing).iter().any(|text| text.starts_with("bcsr(2,2): 3 blocks, 25.0% of 12")));
        assert!(drawing.to_svg().contains("bcsr(2,2)"));
    }

    #[test]
    fn impossible_slices_are_errors() {
        let coo = tensor(&[4, 5, 6], &[]);
        let plot = |mode, slices| spy(&coo, None, None, &PlotOptions { mode, slices, ..PlotOptions::default() }).err();
        assert_eq!(plot(3, Slices::Runs(9)), Some(PlotError::Mode { mode: 3, order: 3 }));
        assert_eq!(plot(0, Slices::At(vec![4])), Some(PlotError::Slice { slice: 4, size: 4 }));
        assert_eq!(plot(0, Slices::At(Vec::new())), Some(PlotError::Panels(0)));
        assert_eq!(plot(0, Slices::Runs(101)), Some(PlotError::Panels(101)));
    }
}

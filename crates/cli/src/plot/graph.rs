//! The picture of an iteration graph: its loops in a column, and a path through them for every tensor.
//!
//! An edge runs in a lane of its own: the first edge between neighbors goes straight down, the others swing out to the
//! left or right, past everything that is already there, and carry their label on the outer side. The column is cut
//! into bands, one for each node and one for each space between nodes; each band keeps the distance to which it is
//! filled on either side (a greedy form of the lane assignment of orthogonal layouts).
//!
//! ```text
//!        .          root
//!      /   \        A1 solid: the level is iterated; x1 dashed: it is full, so that it can be located
//!    (i)    |
//!     |A2   | x1
//!    (j) <-/
//! ```

use lacunar_compiler::iterate::graph::{Edge, IterationGraph, Part};
use lacunar_draw::{Anchor, Color, Drawing, Path, Segment, Stroke, Text, Weight, font};

use super::page::Page;

const NODE_SIZE: f32 = 14.0;
const LABEL_SIZE: f32 = 11.0;
const LEGEND_SIZE: f32 = 10.0;
/// The smallest radius of a node, and the root's.
const RADIUS: f32 = 16.0;
const ROOT_RADIUS: f32 = 4.0;
/// The distance from the middle of one node to that of the next.
const PITCH: f32 = 96.0;
/// The space between an edge and its label, and between neighboring lanes with their labels.
const NEAR: f32 = 5.0;
const APART: f32 = 14.0;
const ARROW: f32 = 8.0;
/// The distance from an end of a lane after which it runs straight.
const SWING: f32 = 34.0;

/// Draws an iteration graph. An edge to or from a node that does not exist is left out.
pub fn graph(graph: &IterationGraph, title: &str) -> Drawing {
    let nodes = Nodes::of(graph);
    let mut lanes = Lanes::new(&nodes);
    let mut edges: Vec<(&Edge, usize, usize)> = graph
        .edges
        .iter()
        .map(|edge| (edge, edge.from.map_or(0, |from| from.saturating_add(1)), edge.to.saturating_add(1)))
        .filter(|&(_, from, to)| from < nodes.radii.len() && to < nodes.radii.len())
        .collect();
    // Short edges are placed first and so lie inside; edges alike keep their order.
    edges.sort_by_key(|&(_, from, to)| if from == to { 0 } else { 2 * from.abs_diff(to) - 1 });
    let placed: Vec<Placed<'_>> =
        edges.into_iter().map(|(edge, from, to)| (lanes.place(&label(edge), from, to), edge, from, to)).collect();

    let legend = Legend::of(graph);
    let reach = lanes.reach();
    let column = reach[0] + reach[1];
    let page = Page::under(title, column.max(legend.width()));
    let origin = [page.left(column) + reach[0], page.top + ROOT_RADIUS];
    let below = page.top + ROOT_RADIUS + nodes.depth();
    let mut drawing = page.drawing(below + legend.height());
    for &(lane, edge, from, to) in &placed {
        let down = from < to;
        let ports = [port(&placed, lane, from, down), port(&placed, lane, to, !down)];
        paint_edge(&mut drawing, origin, &nodes, lane, edge, [from, to], ports);
    }
    nodes.paint(&mut drawing, origin);
    legend.paint(&mut drawing, [page.left(legend.width()), below]);
    drawing
}

fn label(edge: &Edge) -> String {
    format!("{}{}", edge.tensor, edge.level)
}

/// The pen of a level's edge, which is dashed where the level is full.
fn edge_pen(color: Color, full: bool) -> Stroke {
    let pen = Stroke::solid(color, 1.6);
    if full { pen.dashed() } else { pen }
}

fn color(part: Part) -> Color {
    Color::from_hex(part.color()).unwrap_or(Color::INK)
}

/// The root and the loops, from the top.
struct Nodes<'a> {
    names: &'a [String],
    /// The radius of each node, the root's first.
    radii: Vec<f32>,
}

impl<'a> Nodes<'a> {
    fn of(graph: &'a IterationGraph) -> Nodes<'a> {
        let radius = |name: &String| (font::width(name, NODE_SIZE, Weight::Regular) / 2.0 + 7.0).max(RADIUS);
        let radii = std::iter::once(ROOT_RADIUS).chain(graph.nodes.iter().map(radius)).collect();
        Nodes { names: &graph.nodes, radii }
    }

    /// The middle of a node under that of the root. Nodes of long names push the ones below down.
    fn y(&self, node: usize) -> f32 {
        let grown: f32 = self.radii.windows(2).take(node).map(|pair| (pair[0] + pair[1] - 2.0 * RADIUS).max(0.0)).sum();
        node as f32 * PITCH - if node > 0 { RADIUS - ROOT_RADIUS } else { 0.0 } + grown
    }

    /// The distance from the middle of the root to the lower end of the last node.
    fn depth(&self) -> f32 {
        let last = self.radii.len() - 1;
        self.y(last) + self.radii[last]
    }

    fn paint(&self, drawing: &mut Drawing, [x, y]: [f32; 2]) {
        drawing.add(Path::circle([x, y], ROOT_RADIUS, Color::INK));
        for (k, name) in self.names.iter().enumerate() {
            let middle = [x, y + self.y(k + 1)];
            let circle = Path::circle(middle, self.radii[k + 1], Color::WHITE);
            drawing.add(circle.outlined(Stroke::solid(Color::INK, 1.2)));
            let base = [x, middle[1] + NODE_SIZE * 0.32];
            drawing.add(Text::new(base, Anchor::Middle, NODE_SIZE, name.as_str()));
        }
    }
}

/// The way of an edge beside the column.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Lane {
    /// The distance to the right of the column; negative on the left.
    x: f32,
    /// True if the label is left of the lane.
    left: bool,
}

/// An edge with its lane, and the nodes it goes from and to; 0 is the root.
type Placed<'a> = (Lane, &'a Edge, usize, usize);

/// The point at which an edge meets a node, as an angle from the vertical, `below` the node or above it. Edges that
/// meet the node on the same side have angles of their own, the inner ones nearer to the vertical, so that arrow heads
/// keep apart.
fn port(placed: &[Placed<'_>], lane: Lane, node: usize, below: bool) -> f32 {
    let meets = |&&(other, _, from, to): &&Placed<'_>| {
        let here = if below { from.min(to) == node } else { from.max(to) == node };
        here && from != to && other.x * lane.x > 0.0
    };
    let rank = placed.iter().filter(meets).filter(|other| other.0.x.abs() < lane.x.abs()).count();
    let count = placed.iter().filter(meets).count();
    if lane.x == 0.0 {
        return 0.0;
    }
    let step = (56.0 / count as f32).min(28.0);
    (30.0 + step * rank as f32).to_radians() * lane.x.signum()
}

/// The distances to which each band of the column is filled to the left and to the right. Band `2 n` is that of node
/// `n`; those between belong to the spaces.
struct Lanes {
    filled: Vec<[f32; 2]>,
    /// For each space, true if the way straight down is taken.
    straight: Vec<bool>,
}

impl Lanes {
    fn new(nodes: &Nodes<'_>) -> Lanes {
        let spaces = nodes.radii.len() - 1;
        let mut filled = vec![[0.0; 2]; 2 * spaces + 1];
        for (band, &radius) in filled.iter_mut().step_by(2).zip(&nodes.radii) {
            *band = [radius; 2];
        }
        Lanes { filled, straight: vec![false; spaces] }
    }

    /// Finds a lane for an edge, and fills it.
    fn place(&mut self, label: &str, from: usize, to: usize) -> Lane {
        let (first, last) = (from.min(to), from.max(to));
        let room = NEAR + font::width(label, LABEL_SIZE, Weight::Regular);
        // A loop at a node lies in that node's band.
        let bands = if first == last { 2 * first..2 * first + 1 } else { 2 * first + 1..2 * last };
        if last - first == 1 && !self.straight[first] {
            self.straight[first] = true;
            self.filled[2 * first + 1][1] = self.filled[2 * first + 1][1].max(room);
            return Lane { x: 0.0, left: false };
        }
        let bands = &mut self.filled[bands];
        let side = |side: usize| bands.iter().map(|band| band[side]).fold(0.0, f32::max);
        let (left, right) = (side(0), side(1));
        let (out, k) = if left < right { (left + APART, 0) } else { (right + APART, 1) };
        for band in bands {
            band[k] = out + room;
        }
        Lane { x: if k == 0 { -out } else { out }, left: k == 0 }
    }

    /// The distances that the column reaches to the left and to the right.
    fn reach(&self) -> [f32; 2] {
        [0, 1].map(|side| self.filled.iter().map(|band| band[side]).fold(0.0, f32::max))
    }
}

fn paint_edge(
    drawing: &mut Drawing,
    [x, y]: [f32; 2],
    nodes: &Nodes<'_>,
    lane: Lane,
    edge: &Edge,
    ends: [usize; 2],
    ports: [f32; 2],
) {
    let [from, to] = ends;
    let color = color(edge.part);
    let pen = edge_pen(color, edge.full);
    let (start, end, middle) = if from == to {
        // A loop leaves the node above its middle and comes back below it.
        let height = nodes.radii[from] * 0.352;
        let middle = nodes.y(from);
        let side = lane.x.signum() * nodes.radii[from] * 0.936;
        ([side, middle - height], [side, middle + height], middle)
    } else {
        let down = if from < to { 1.0 } else { -1.0 };
        let border = |node: usize, port: f32, down: f32| {
            let (out, under) = port.sin_cos();
            [out * nodes.radii[node], nodes.y(node) + down * under * nodes.radii[node]]
        };
        let space = (from.min(to) + from.max(to) - 1) / 2;
        let middle = (nodes.y(space) + nodes.radii[space] + nodes.y(space + 1) - nodes.radii[space + 1]) / 2.0;
        (border(from, ports[0], down), border(to, ports[1], -down), middle)
    };
    let segments = way(start, end, lane.x, from == to);
    let tip = direction(&segments);
    let at = |[px, py]: [f32; 2]| [x + px, y + py];
    // The line ends inside the arrow's head.
    let stop = [end[0] - tip[0] * ARROW * 0.8, end[1] - tip[1] * ARROW * 0.8];
    let line = segments.iter().enumerate().map(|(k, &segment)| match segment {
        Segment::Cubic(a, b, _) if k + 1 == segments.len() => Segment::Cubic(at(a), at(b), at(stop)),
        Segment::Line(_) if k + 1 == segments.len() => Segment::Line(at(stop)),
        Segment::Cubic(a, b, c) => Segment::Cubic(at(a), at(b), at(c)),
        Segment::Line(a) => Segment::Line(at(a)),
        Segment::Move(a) => Segment::Move(at(a)),
        Segment::Close => Segment::Close,
    });
    drawing.add(Path::stroked(line.collect(), pen));
    let side = |away: f32| [end[0] - tip[0] * ARROW - tip[1] * away, end[1] - tip[1] * ARROW + tip[0] * away];
    drawing.add(Path::polygon(&[at(end), at(side(ARROW * 0.45)), at(side(-ARROW * 0.45))], color));
    let (anchor, away) = if lane.left { (Anchor::End, -NEAR) } else { (Anchor::Start, NEAR) };
    let place = at([lane.x + away, middle + LABEL_SIZE * 0.36]);
    drawing.add(Text::new(place, anchor, LABEL_SIZE, label(edge)).colored(color));
}

/// The line of an edge around the column: out to its lane, along it, and back.
fn way(start: [f32; 2], end: [f32; 2], x: f32, is_loop: bool) -> Vec<Segment> {
    if x == 0.0 {
        return vec![Segment::Move(start), Segment::Line(end)];
    }
    let height = end[1] - start[1];
    let swing = if is_loop { height / 2.0 } else { height.signum() * SWING.min(height.abs() / 2.0) };
    let (out, back) = ([x, start[1] + swing], [x, end[1] - swing]);
    let turn = |from: [f32; 2], lane: [f32; 2]| {
        let leave =
            if is_loop { [x, from[1]] } else { [from[0] + (x - from[0]) * 0.45, from[1] + (lane[1] - from[1]) * 0.35] };
        [leave, [x, lane[1] + (from[1] - lane[1]) * 0.55]]
    };
    let ([a, b], [d, c]) = (turn(start, out), turn(end, back));
    let mut segments = vec![Segment::Move(start), Segment::Cubic(a, b, out)];
    if out != back {
        segments.push(Segment::Line(back));
    }
    segments.push(Segment::Cubic(c, d, end));
    segments
}

/// The direction in which a line arrives, of length 1.
fn direction(segments: &[Segment]) -> [f32; 2] {
    let (before, end) = match *segments {
        [.., Segment::Cubic(_, before, end)] | [Segment::Move(before), Segment::Line(end)] => (before, end),
        _ => ([0.0, 0.0], [0.0, 1.0]),
    };
    let way = [end[0] - before[0], end[1] - before[1]];
    let length = way[0].hypot(way[1]);
    if length > 0.0 { way.map(|part| part / length) } else { [0.0, 1.0] }
}

/// The meanings of the colors and dashes that occur.
struct Legend {
    entries: Vec<(&'static str, Stroke)>,
}

/// The length of a sample of a line, and the space between entries.
const SAMPLE: f32 = 24.0;
const SPACE: f32 = 16.0;

impl Legend {
    fn of(graph: &IterationGraph) -> Legend {
        let mut entries = Vec::new();
        for (name, part) in [("operand", Part::Operand), ("result", Part::Result), ("workspace", Part::Workspace)] {
            if graph.edges.iter().any(|edge| edge.part == part) {
                entries.push((name, Stroke::solid(color(part), 2.4)));
            }
        }
        for (name, full) in [("iterated", false), ("full", true)] {
            if graph.edges.iter().any(|edge| edge.full == full) {
                entries.push((name, edge_pen(Color::FAINT, full)));
            }
        }
        Legend { entries }
    }

    fn entry_width(name: &str) -> f32 {
        SAMPLE + 5.0 + font::width(name, LEGEND_SIZE, Weight::Regular)
    }

    fn width(&self) -> f32 {
        let entries: f32 = self.entries.iter().map(|(name, _)| Legend::entry_width(name) + SPACE).sum();
        (entries - SPACE).max(0.0)
    }

    fn height(&self) -> f32 {
        if self.entries.is_empty() { 0.0 } else { 22.0 + LEGEND_SIZE }
    }

    fn paint(&self, drawing: &mut Drawing, [mut x, y]: [f32; 2]) {
        let base = y + 22.0 + LEGEND_SIZE * 0.7;
        for (name, stroke) in &self.entries {
            let middle = base - LEGEND_SIZE * 0.36;
            drawing.add(Path::line([x, middle], [x + SAMPLE, middle], *stroke));
            drawing.add(Text::new([x + SAMPLE + 5.0, base], Anchor::Start, LEGEND_SIZE, *name));
            x += Legend::entry_width(name) + SPACE;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::SCALE;
    use crate::plot::page::boxes;
    use lacunar_draw::Item;

    fn edge(tensor: &str, level: usize, from: Option<usize>, to: usize, part: Part) -> Edge {
        Edge { tensor: tensor.to_owned(), level, from, to, full: level == 1, part }
    }

    fn nodes(count: usize) -> Vec<String> {
        (0..count).map(|k| format!("i{k}")).collect()
    }

    #[test]
    fn no_texts_overlap_and_none_leaves_the_picture() {
        for seed in 0..40usize {
            let count = 1 + seed % 6;
            let mut edges = Vec::new();
            for tensor in 0..seed / 2 {
                let (mut from, mut step) = (None, seed * 31 + tensor * 17);
                for level in 1..4 {
                    let to = step % count;
                    edges.push(edge(&format!("T{tensor}"), level, from, to, Part::Operand));
                    (from, step) = (Some(to), step / 3 + tensor);
                }
            }
            let drawing = graph(&IterationGraph { nodes: nodes(count), edges: edges.clone() }, "a title");
            let boxes = boxes(&drawing);
            assert!(boxes.len() >= edges.len() + count);
            for (k, one) in boxes.iter().enumerate() {
                assert!(one[0] >= 0.0 && one[1] >= 0.0 && one[2] <= drawing.width && one[3] <= drawing.height);
                for other in &boxes[k + 1..] {
                    let apart = one[2] <= other[0] || other[2] <= one[0] || one[3] <= other[1] || other[3] <= one[1];
                    assert!(apart, "seed {seed}: {one:?} {other:?}");
                }
            }
            roxmltree::Document::parse(&drawing.to_svg()).expect("well-formed");
        }
    }

    #[test]
    fn the_first_edge_between_neighbors_is_straight() {
        let parsed = [edge("A", 1, None, 0, Part::Operand), edge("x", 1, None, 0, Part::Result)];
        let drawing = graph(&IterationGraph { nodes: nodes(1), edges: parsed.to_vec() }, "");
        let straight =
            |item: &&Item| matches!(item, Item::Path(path) if path.segments.len() == 2 && path.fill.is_none());
        // Beside the edge, the legend has a line for each of two parts and for dashes.
        assert_eq!(drawing.items.iter().filter(straight).count(), 1 + 3);
        assert!(drawing.to_png(SCALE).is_ok());
    }

    #[test]
    fn odd_graphs_are_drawn() {
        let edges = vec![edge("A", 1, Some(7), 0, Part::Operand), edge("A", 2, None, usize::MAX, Part::Workspace)];
        for graph_of in [IterationGraph::default(), IterationGraph { nodes: nodes(1), edges }] {
            assert!(graph(&graph_of, "").to_png(SCALE).is_ok());
        }
    }
}

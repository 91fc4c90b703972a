//! The picture of a provenance graph: variables in rows, and between them the relations that made them.
//!
//! A relation is a word on its own, with lines from the variables that it takes and arrows to those that it makes. The
//! variables that a relation makes stand two rows below, its word between. A line that crosses a row has a place of its
//! own in it (the dummy vertices of Sugiyama et al., *Methods for Visual Understanding of Hierarchical System
//! Structures*, 1981). In its row, a thing stands below the middle of the things that it hangs on, as far as the things
//! left of it let it.
//!
//! ```text
//!   [i]   [j]        variables of the statement: framed
//!     \   /
//!      fuse
//!       |
//!     ((f))          variables of loops: doubled
//! ```

use lacunar_draw::{Anchor, Color, Drawing, Path, Segment, Stroke, Text, Weight, font};
use lacunar_notation::print::{Node, ProvenanceGraph};

use super::page::Page;

const NODE_SIZE: f32 = 14.0;
const LABEL_SIZE: f32 = 11.0;
/// The heights of variables and of relations, and between rows.
const NODE_HEIGHT: f32 = 26.0;
const LABEL_HEIGHT: f32 = 14.0;
const BETWEEN: f32 = 20.0;
/// Between neighbors of a row.
const APART: f32 = 26.0;
/// Between a name and its frame, and between the two lines of a doubled one.
const INSIDE: f32 = 9.0;
const DOUBLED: f32 = 3.0;
const ARROW: f32 = 8.0;

/// Draws a provenance graph. A relation of a variable that does not exist is left out.
pub fn provenance(graph: &ProvenanceGraph, title: &str) -> Drawing {
    let layout = Layout::of(graph);
    let page = Page::under(title, layout.width());
    let mut drawing = page.drawing(page.top + layout.height());
    layout.paint(&mut drawing, [page.left(layout.width()), page.top]);
    drawing
}

/// A thing that stands in a row.
enum Thing<'a> {
    Variable(&'a Node),
    Relation(&'a str),
    /// A line that crosses the row.
    Crossing,
}

impl Thing<'_> {
    fn width(&self) -> f32 {
        match self {
            Thing::Variable(node) => {
                let tags = font::width(&node.tags, LABEL_SIZE, Weight::Regular);
                // The tags stand on the right; the node stays in the middle.
                2.0 * (node_width(node) / 2.0 + DOUBLED + if node.tags.is_empty() { 0.0 } else { tags + 6.0 })
            }
            Thing::Relation(label) => font::width(label, LABEL_SIZE, Weight::Regular),
            Thing::Crossing => 4.0,
        }
    }
}

fn node_width(node: &Node) -> f32 {
    font::width(&node.name, NODE_SIZE, Weight::Regular).max(8.0) + 2.0 * INSIDE
}

/// A thing with its place, and the things that it hangs on.
struct Placed<'a> {
    thing: Thing<'a>,
    row: usize,
    x: f32,
    above: Vec<usize>,
}

/// Things from the upper rows to the lower ones.
struct Layout<'a> {
    things: Vec<Placed<'a>>,
}

impl<'a> Layout<'a> {
    fn of(graph: &'a ProvenanceGraph) -> Layout<'a> {
        let nodes = graph.nodes.len();
        let mut layout = Layout { things: Vec::new() };
        for node in &graph.nodes {
            layout.push(Thing::Variable(node), 0, Vec::new());
        }
        let exists = |places: &[usize]| places.iter().all(|&place| place < nodes);
        for step in graph.steps.iter().filter(|step| exists(&step.parents) && exists(&step.children)) {
            let row = step.parents.iter().map(|&parent| layout.things[parent].row + 1).max().unwrap_or(1);
            let above = step.parents.iter().map(|&parent| layout.lowered(parent, row)).collect();
            let label = layout.push(Thing::Relation(&step.label), row, above);
            for &child in &step.children {
                let placed = &mut layout.things[child];
                placed.row = placed.row.max(row + 1);
                placed.above.push(label);
            }
        }
        layout.arrange();
        layout
    }

    fn push(&mut self, thing: Thing<'a>, row: usize, above: Vec<usize>) -> usize {
        self.things.push(Placed { thing, row, x: 0.0, above });
        self.things.len() - 1
    }

    /// The end, just above a row, of a line down from a thing.
    fn lowered(&mut self, mut from: usize, row: usize) -> usize {
        for crossed in self.things[from].row + 1..row {
            from = self.push(Thing::Crossing, crossed, vec![from]);
        }
        from
    }

    fn rows(&self) -> usize {
        self.things.iter().map(|placed| placed.row + 1).max().unwrap_or(0)
    }

    /// Gives every thing its place in its row.
    fn arrange(&mut self) {
        for row in 0..self.rows() {
            let mut members: Vec<(f32, usize)> = Vec::new();
            for (place, placed) in self.things.iter().enumerate().filter(|(_, placed)| placed.row == row) {
                let above: Vec<f32> = placed.above.iter().map(|&above| self.things[above].x).collect();
                members.push((above.iter().sum::<f32>() / above.len().max(1) as f32, place));
            }
            // Stable: things that hang on the same one stay in order.
            members.sort_by(|a, b| a.0.total_cmp(&b.0));
            self.spread(&members);
        }
        let least = self.things.iter().map(|placed| placed.x - placed.thing.width() / 2.0).fold(f32::MAX, f32::min);
        self.things.iter_mut().for_each(|placed| placed.x -= least);
    }

    /// Places the members of a row side by side, so that those that want the same place surround it.
    fn spread(&mut self, members: &[(f32, usize)]) {
        let mut at = f32::MIN;
        for group in members.chunk_by(|a, b| a.0 == b.0) {
            let widths = group.iter().map(|&(_, place)| self.things[place].thing.width() + APART);
            let mut left = (group[0].0 - widths.sum::<f32>() / 2.0).max(at);
            for &(_, place) in group {
                let width = self.things[place].thing.width() + APART;
                self.things[place].x = left + width / 2.0;
                left += width;
            }
            at = left;
        }
    }

    fn width(&self) -> f32 {
        self.things.iter().map(|placed| placed.x + placed.thing.width() / 2.0).fold(0.0, f32::max)
    }

    /// The upper edge of a row. Variables are in the even rows, relations in the odd ones.
    fn top(row: usize) -> f32 {
        row.div_ceil(2) as f32 * (NODE_HEIGHT + BETWEEN) + (row / 2) as f32 * (LABEL_HEIGHT + BETWEEN)
    }

    fn row_height(row: usize) -> f32 {
        if row.is_multiple_of(2) { NODE_HEIGHT } else { LABEL_HEIGHT }
    }

    fn height(&self) -> f32 {
        self.rows().checked_sub(1).map_or(0.0, |last| Layout::top(last) + Layout::row_height(last))
    }

    fn paint(&self, drawing: &mut Drawing, [left, top]: [f32; 2]) {
        let pen = Stroke::solid(Color::FAINT, 1.4);
        for placed in &self.things {
            let x = left + placed.x;
            let (upper, height) = (top + Layout::top(placed.row), Layout::row_height(placed.row));
            for above in placed.above.iter().map(|&above| &self.things[above]) {
                let start = [left + above.x, top + Layout::top(above.row) + Layout::row_height(above.row)];
                let arrow = matches!(placed.thing, Thing::Variable(_));
                let end = [x, upper - if arrow { DOUBLED } else { 0.0 }];
                paint_line(drawing, start, end, arrow, pen);
            }
            match placed.thing {
                Thing::Variable(node) => paint_node(drawing, node, [x, upper + height / 2.0]),
                Thing::Relation(label) => {
                    drawing.add(Text::new([x, upper + LABEL_HEIGHT * 0.75], Anchor::Middle, LABEL_SIZE, label));
                }
                Thing::Crossing => drawing.add(Path::line([x, upper], [x, upper + height], pen)),
            }
        }
    }
}

/// A line that leaves and arrives vertically.
fn paint_line(drawing: &mut Drawing, start: [f32; 2], end: [f32; 2], arrow: bool, pen: Stroke) {
    let stop = [end[0], end[1] - if arrow { ARROW * 0.8 } else { 0.0 }];
    let middle = (start[1] + stop[1]) / 2.0;
    let curve = Segment::Cubic([start[0], middle], [stop[0], middle], stop);
    drawing.add(Path::stroked(vec![Segment::Move(start), curve], pen));
    if arrow {
        let side = |out: f32| [end[0] + out * ARROW * 0.45, end[1] - ARROW];
        drawing.add(Path::polygon(&[end, side(-1.0), side(1.0)], pen.color));
    }
}

fn paint_node(drawing: &mut Drawing, node: &Node, [x, y]: [f32; 2]) {
    let width = node_width(node);
    let outline = |grown: f32| {
        let size = [width + 2.0 * grown, NODE_HEIGHT + 2.0 * grown];
        let path = if node.is_original {
            Path::rectangle([x - size[0] / 2.0, y - size[1] / 2.0], size, Color::WHITE)
        } else {
            pill([x, y], size)
        };
        path.outlined(Stroke::solid(Color::INK, 1.2))
    };
    if node.is_leaf {
        drawing.add(outline(DOUBLED));
    }
    drawing.add(outline(0.0));
    drawing.add(Text::new([x, y + NODE_SIZE * 0.32], Anchor::Middle, NODE_SIZE, node.name.as_str()));
    if !node.tags.is_empty() {
        let at = [x + width / 2.0 + DOUBLED + 6.0, y + LABEL_SIZE * 0.36];
        drawing.add(Text::new(at, Anchor::Start, LABEL_SIZE, node.tags.as_str()));
    }
}

/// A rectangle whose short sides are half circles.
fn pill([x, y]: [f32; 2], [width, height]: [f32; 2]) -> Path {
    let radius = height / 2.0;
    // A half circle as one cubic curve: its handles are 4/3 of the radius long.
    let reach = radius * 4.0 / 3.0;
    let (left, right) = (x - width / 2.0 + radius, x + width / 2.0 - radius);
    let (upper, lower) = (y - radius, y + radius);
    Path {
        segments: vec![
            Segment::Move([left, upper]),
            Segment::Line([right, upper]),
            Segment::Cubic([right + reach, upper], [right + reach, lower], [right, lower]),
            Segment::Line([left, lower]),
            Segment::Cubic([left - reach, lower], [left - reach, upper], [left, upper]),
            Segment::Close,
        ],
        fill: Some(Color::WHITE),
        stroke: None,
    }
}

#[cfg(test)]
mod tests {
    use lacunar_notation::print::Step;

    use super::*;
    use crate::plot::SCALE;
    use crate::plot::page::boxes;

    fn node(name: &str, is_leaf: bool) -> Node {
        let tags = if name.len() == 3 { "cpu, none".to_string() } else { String::new() };
        Node { name: name.to_string(), is_original: name.len() == 1, is_leaf, tags }
    }

    fn step(label: &str, parents: &[usize], children: &[usize]) -> Step {
        Step { label: label.to_string(), parents: parents.to_vec(), children: children.to_vec() }
    }

    /// `i`, `j`: j split, its outer part fused with i, and that taken to positions and split again.
    fn balanced() -> ProvenanceGraph {
        let names = ["i", "j", "j0", "j1", "f_", "p_", "p_0", "p_1"];
        ProvenanceGraph {
            nodes: names.iter().map(|name| node(name, ["j1", "p_0", "p_1"].contains(name))).collect(),
            steps: vec![
                step("split 32", &[1], &[2, 3]),
                step("fuse", &[0, 2], &[4]),
                step("pos A(i,j)", &[4], &[5]),
                step("divide 4 threads", &[5], &[6, 7]),
            ],
        }
    }

    #[test]
    fn no_texts_overlap_and_none_leaves_the_picture() {
        let drawing = provenance(&balanced(), "y(i) = A(i,j) * x(j)");
        let boxes = boxes(&drawing);
        // The title, the names, the relations and two tags.
        assert_eq!(boxes.len(), 1 + 8 + 4 + 2);
        for (k, one) in boxes.iter().enumerate() {
            assert!(one[0] >= 0.0 && one[1] >= 0.0 && one[2] <= drawing.width && one[3] <= drawing.height, "{one:?}");
            for other in &boxes[k + 1..] {
                let apart = one[2] <= other[0] || other[2] <= one[0] || one[3] <= other[1] || other[3] <= one[1];
                assert!(apart, "{one:?} {other:?}");
            }
        }
        roxmltree::Document::parse(&drawing.to_svg()).expect("well-formed");
        assert!(drawing.to_png(SCALE).is_ok());
    }

    #[test]
    fn what_derives_from_a_variable_stands_below_it() {
        let graph = balanced();
        let layout = Layout::of(&graph);
        let rows: Vec<usize> = layout.things[..8].iter().map(|placed| placed.row).collect();
        assert_eq!(rows, [0, 0, 2, 2, 4, 6, 8, 8]);
        // The line from `i` crosses the rows of `split` and of `j0`.
        assert_eq!(layout.things.iter().filter(|placed| matches!(placed.thing, Thing::Crossing)).count(), 2);
    }

    #[test]
    fn odd_graphs_are_drawn() {
        for graph in [
            ProvenanceGraph::default(),
            ProvenanceGraph { nodes: vec![node("i", true)], steps: vec![step("split 2", &[0], &[7, 8])] },
            ProvenanceGraph { nodes: vec![node("i", true)], steps: vec![step("coord", &[], &[0])] },
        ] {
            assert!(provenance(&graph, "").to_png(SCALE).is_ok());
        }
    }
}

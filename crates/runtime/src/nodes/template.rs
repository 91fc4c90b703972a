//! Trees of the same number of elements, which differ only in their coordinates and in where they lie.
//!
//! The form of a tree follows from its number of elements. So a tree that many parent positions have is made once, and copied: handles and
//! positions are moved by where the copy begins, and coordinates are put into their words.
//!
//! ```text
//! bst of three     words     . 4 8 0   . 0 0 1   . 0 0 2       handles at 1 and 2, positions at 3, 7, 11
//!                  elements  the first at word 4, the second at word 0, the third at word 8
//! ```
//!
//! Two trees that begin at different places tell which words are handles, and which are positions. Nodes of a copy lie one behind the
//! other, or each has a place of its own: so a template also tells which node each of these words belongs to.

use lacunar_formats::schema::Target;

use super::build::{New, Nodes, subtree};
use super::shape::Shapes;

/// A tree to copy.
#[derive(Debug)]
pub(super) struct Template {
    /// The words of its nodes, with handles and positions as if it began at 0, and without coordinates.
    pub words: Vec<u32>,
    /// The nodes, one behind the other.
    pub nodes: Vec<Part>,
    /// The words that are handles, and those that are positions.
    pub handles: Vec<Reference>,
    pub slots: Vec<u32>,
    /// The word and the position of each element, in order, and the number of its node.
    pub elements: Vec<(u32, u32, u32)>,
    /// The number of its positions.
    pub positions: u64,
    /// The handle of the root, and the number of that node.
    pub root: (u32, u32),
}

/// A node of a template.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// Its type.
    pub ty: u32,
    /// The room of its arrays without a bound.
    pub room: u32,
    /// Its first word and its first position.
    pub word: u32,
    pub slot: u32,
}

/// A word that is a handle: the number of its node, and of the one that it refers to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reference {
    pub at: u32,
    pub holder: u32,
    pub to: u32,
}

impl Template {
    /// The tree of so many elements; `None` if there is none.
    pub fn new(shapes: &Shapes, count: u64) -> Option<Template> {
        Template::of(shapes, (shapes.schema.entry(), count, None))
    }

    /// The tree of so many elements whose root has one of some types, and if it is known, of a height; `None` if there is none.
    pub fn of(shapes: &Shapes, wanted: (Target, u64, Option<usize>)) -> Option<Template> {
        let align = shapes.schema.align();
        let near = Recorder::record(shapes, wanted, (align, 0))?;
        let far = Recorder::record(shapes, wanted, (align + FAR, FAR / 2 + 1))?;
        let moved_by = |distance: u32| {
            let pairs = near.0.words.iter().zip(&far.0.words).enumerate();
            pairs.filter(move |(_, (one, other))| other.wrapping_sub(**one) == distance).map(|(at, _)| at as u32)
        };
        let (handles, slots): (Vec<u32>, Vec<u32>) = (moved_by(FAR).collect(), moved_by(FAR / 2 + 1).collect());
        let (Recorder { mut words, nodes, elements, slots: positions, .. }, root) = near;
        handles.iter().for_each(|at| words[*at as usize] -= align);
        let node_at = |word: u32| nodes.partition_point(|node| node.word <= word).saturating_sub(1) as u32;
        let reference = |at: &u32| Reference { at: *at, holder: node_at(*at), to: node_at(words[*at as usize]) };
        let handles = handles.iter().map(reference).collect();
        let elements = elements.into_iter().map(|(word, position)| (word, position, node_at(word))).collect();
        let root = (root - align, node_at(root - align));
        Some(Template { words, handles, slots, elements, positions, root, nodes })
    }

    /// The words of a node.
    pub fn words_of(&self, number: usize) -> &[u32] {
        let first = self.nodes[number].word as usize;
        let end = self.nodes.get(number + 1).map_or(self.words.len(), |next| next.word as usize);
        &self.words[first..end]
    }
}

/// A distance that is a multiple of any alignment.
const FAR: u32 = 1 << 24;

/// Keeps the parts of a tree.
struct Recorder {
    start: (u32, u32),
    words: Vec<u32>,
    nodes: Vec<Part>,
    slots: u64,
    elements: Vec<(u32, u32)>,
    /// The position of the element whose word comes next.
    element: Option<u32>,
}

impl Recorder {
    /// A tree that begins at a word and a position, and the handle of its root.
    fn record(shapes: &Shapes, wanted: (Target, u64, Option<usize>), start: (u32, u32)) -> Option<(Recorder, u32)> {
        let (words, nodes, elements) = (Vec::new(), Vec::new(), Vec::new());
        let mut recorder = Recorder { start, words, nodes, slots: 0, elements, element: None };
        let root = subtree(shapes, wanted, &mut recorder)?;
        Some((recorder, root))
    }
}

impl Nodes for Recorder {
    fn add(&mut self, New { ty, room, words, slots }: New) -> (u32, u32) {
        let (word, slot) = (self.words.len() as u32, self.slots as u32);
        self.nodes.push(Part { ty: ty as u32, room, word, slot });
        self.words.resize(self.words.len() + words as usize, 0);
        self.slots += slots;
        (self.start.0 + word, self.start.1 + slot)
    }

    fn set(&mut self, word: u64, number: u32) {
        let at = word as u32 - self.start.0;
        match self.element.take() {
            Some(position) => self.elements.push((at, position)),
            None => self.words[at as usize] = number,
        }
    }

    fn element(&mut self, position: u64) -> u32 {
        self.element = Some(position as u32 - self.start.1);
        0
    }

    const COUNTS: bool = false;
}

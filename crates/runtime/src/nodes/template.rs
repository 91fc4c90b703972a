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
//! Two trees that begin at different places tell which words are handles, and which are positions.

use super::build::{Nodes, tree};
use super::shape::Shapes;

/// A tree to copy.
pub(super) struct Template {
    /// The words of its nodes, with handles and positions as if it began at 0, and without coordinates.
    pub words: Vec<u32>,
    /// The words that are handles, and those that are positions.
    pub handles: Vec<u32>,
    pub slots: Vec<u32>,
    /// The word and the position of each element, in order.
    pub elements: Vec<(u32, u32)>,
    /// The number of its positions.
    pub positions: u64,
    /// The handle of the root.
    pub root: u32,
}

impl Template {
    /// The tree of so many elements; `None` if there is none.
    pub fn new(shapes: &Shapes, count: u64) -> Option<Template> {
        let align = shapes.schema.align();
        let near = Recorder::record(shapes, count, (align, 0))?;
        let far = Recorder::record(shapes, count, (align + FAR, FAR / 2 + 1))?;
        let moved_by = |distance: u32| {
            let pairs = near.0.words.iter().zip(&far.0.words).enumerate();
            pairs.filter(move |(_, (one, other))| other.wrapping_sub(**one) == distance).map(|(at, _)| at as u32)
        };
        let (handles, slots): (Vec<u32>, Vec<u32>) = (moved_by(FAR).collect(), moved_by(FAR / 2 + 1).collect());
        let (Recorder { mut words, elements, slots: positions, .. }, root) = near;
        handles.iter().for_each(|at| words[*at as usize] -= align);
        Some(Template { words, handles, slots, elements, positions, root: root - align })
    }
}

/// A distance that is a multiple of any alignment.
const FAR: u32 = 1 << 24;

/// Keeps what a tree is made of.
struct Recorder {
    start: (u32, u32),
    words: Vec<u32>,
    slots: u64,
    elements: Vec<(u32, u32)>,
    /// The position of the element whose word comes next.
    element: Option<u32>,
}

impl Recorder {
    /// A tree that begins at a word and a position, and the handle of its root.
    fn record(shapes: &Shapes, count: u64, start: (u32, u32)) -> Option<(Recorder, u32)> {
        let mut recorder = Recorder { start, words: Vec::new(), slots: 0, elements: Vec::new(), element: None };
        let root = tree(shapes, count, &mut recorder)?;
        Some((recorder, root))
    }
}

impl Nodes for Recorder {
    fn add(&mut self, words: u64, slots: u64) -> (u32, u32) {
        let added = (self.start.0 + self.words.len() as u32, self.start.1 + self.slots as u32);
        self.words.resize(self.words.len() + words as usize, 0);
        self.slots += slots;
        added
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

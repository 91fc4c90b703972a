//! Subtensors that are made anew with many changes at once.
//!
//! If a run of changes is a considerable part of the elements under a parent position, these are read in order, merged with the
//! changes, and written as a new tree, of which each node is a copy of one in a template (`nodes/template.rs`):
//!
//! ```text
//! bst of 3 7 9, values a b c     put 5 v, 8 w     read  3 a  7 b  9 c     merged  3 a  5 v  7 b  8 w  9 c
//! ```
//!
//! So a change costs a few steps for each element, instead of a search and a new shape of the nodes around it; and the nodes lie one
//! behind the other again. The tree takes free nodes where these are many, and else new memory; its old nodes become free when
//! the new ones are there. Memory is taken before anything is written: a change that fails leaves everything as it was.
//!
//! Trees whose nodes have data that only their author knows are changed element by element, as these stay with their nodes.

use std::collections::HashMap;

use lacunar_formats::schema::{FieldKind, Schema};

use super::edit::Editor;
use super::run::{Changed, Changes};
use crate::error::StorageError;
use crate::nodes::View;
use crate::nodes::shape::Shapes;
use crate::nodes::template::Template;
use crate::nodes::walk::{Run, Visitor, runs};

/// Subtensors of more elements are changed element by element, and those that would get twice as many.
const MOST: usize = 256;
/// The same holds for those with more elements for each change.
const PART: usize = 4;
/// The same holds for those of so few nodes, unless there are as many changes as elements and one block has no room for all: an element goes
/// into a block faster.
const FEW_NODES: usize = 3;

/// The data to make subtensors anew with.
#[derive(Debug)]
pub(crate) struct Renewal {
    shapes: Shapes,
    /// By number of elements.
    templates: HashMap<usize, Option<Template>>,
    read: Read,
    merged: Vec<Merged>,
    /// The first words and the first positions of new nodes.
    places: Vec<(u32, u32)>,
}

impl Renewal {
    /// `None` if nodes of a schema have data.
    pub fn of(schema: &'static Schema) -> Option<Renewal> {
        let has_data = |field: &lacunar_formats::schema::Field| matches!(field.kind, FieldKind::Meta(_));
        if schema.nodes().iter().any(|node| node.fields.iter().any(has_data)) {
            return None;
        }
        let (read, merged, places) = (Read::default(), Vec::new(), Vec::new());
        let shapes = Shapes::new(schema).growing(true);
        Some(Renewal { shapes, templates: HashMap::new(), read, merged, places })
    }
}

/// An element of the new tree.
#[derive(Clone, Copy, Debug)]
struct Merged {
    coordinate: u32,
    value: Origin,
}

/// The origin of an element's value.
#[derive(Clone, Copy, Debug)]
enum Origin {
    /// The position that it had.
    Position(u32),
    /// A change.
    Change(usize),
}

/// The elements and nodes under a parent position.
#[derive(Debug, Default)]
struct Read {
    /// Coordinates and positions.
    elements: Vec<(u32, u32)>,
    /// The types and first words of nodes.
    nodes: Vec<(u32, u32)>,
    /// More elements or nodes than these are not read.
    most: usize,
}

impl Visitor for Read {
    fn node(&mut self, ty: usize, base: usize) -> bool {
        self.nodes.push((ty as u32, base as u32));
        self.nodes.len() <= self.most + 1 && self.elements.len() <= self.most
    }

    fn run(&mut self, run: Run) {
        let positions = run.position as u32..;
        let used = run.coordinates.iter().zip(positions).filter(|(coordinate, _)| **coordinate != Schema::UNUSED);
        self.elements.extend(used.map(|(coordinate, position)| (*coordinate, position)));
    }
}

impl Read {
    /// Reads the elements under a parent position; false if they are more than `most`.
    fn all(&mut self, view: View, parent: u32, most: usize) -> bool {
        self.elements.clear();
        self.nodes.clear();
        self.most = most;
        if !runs(view, u64::from(parent), self) || self.elements.len() > most {
            return false;
        }
        if !view.schema.is_ordered() {
            self.elements.sort_unstable();
        }
        true
    }
}

impl Editor<'_> {
    /// Carries out a run of changes by making the subtensor anew, if that is worth it: false if it is not, and nothing has been changed.
    ///
    /// # Errors
    /// Handles or positions do not fit into 32 bits, or memory is refused; nothing has been changed.
    pub fn renew(
        &mut self,
        changes: &Changes<'_>,
        run: std::ops::Range<usize>,
        each: &mut Changed<'_>,
    ) -> Result<bool, StorageError> {
        let Some(mut renewal) = self.kept.renewal.take() else { return Ok(false) };
        let renewed = self.renew_by(&mut renewal, changes, run, each);
        self.kept.renewal = Some(renewal);
        renewed
    }

    /// True if the nodes are one with a block that has room for so many more elements, and changes put some in.
    fn has_room(&self, nodes: &[(u32, u32)], changes: &Changes<'_>, count: usize) -> bool {
        let &[(ty, base)] = nodes else { return false };
        let elems = self.shape(ty as usize).block.map(|block| block.elems_in(self.view(), base));
        changes.values.is_some() && elems.is_some_and(|elems| elems.count as usize + count <= elems.most as usize)
    }

    fn renew_by(
        &mut self,
        renewal: &mut Renewal,
        changes: &Changes<'_>,
        run: std::ops::Range<usize>,
        each: &mut Changed<'_>,
    ) -> Result<bool, StorageError> {
        let Renewal { shapes, templates, read, merged, places } = renewal;
        let count = run.len();
        if !read.all(self.view(), self.parent, MOST.min(PART * count)) {
            return Ok(false);
        }
        if read.nodes.len() <= FEW_NODES && (read.elements.len() > count || self.has_room(&read.nodes, changes, count))
        {
            return Ok(false);
        }
        merge(&read.elements, changes, run.clone(), merged);
        let template = match merged.len() {
            0 => None,
            len if len > 2 * MOST => return Ok(false),
            len => {
                let template = templates.entry(len).or_insert_with(|| Template::new(shapes, len as u64));
                let Some(template) = template else { return Ok(false) };
                Some(&*template)
            }
        };
        // Nodes with arrays without a bound have just the room that they need: free ones have other rooms.
        let from_free = self.kept.is_largely_free(self.node.len());
        if from_free && !self.kept.most.is_bounded() {
            return Ok(false);
        }
        if let Some(template) = template {
            let words = template.words.len() as u64 + u64::from(self.schema.align());
            self.reserve_exactly(words, template.positions)?;
        }
        tell(&read.elements, changes, run, self, each);
        let root = match template {
            Some(template) => {
                let near = read.nodes.first().map(|(_, base)| *base);
                self.copy(template, (from_free, near), (places, merged), changes)?
            }
            None => 0,
        };
        self.kept.inserted += count as u64;
        if let Some(word) = self.root.as_mut_slice::<u32>().and_then(|root| root.get_mut(self.parent as usize)) {
            *word = root;
        }
        // The last that becomes free is the first that is used again: so those that lie one behind the other stay so.
        for &(ty, base) in read.nodes.iter().rev() {
            self.discard(base, ty as usize);
        }
        Ok(true)
    }

    /// Writes a copy of a template with elements, of free nodes or near a node; the handle of its root.
    fn copy(
        &mut self,
        template: &Template,
        (from_free, near): (bool, Option<u32>),
        (places, merged): (&mut Vec<(u32, u32)>, &[Merged]),
        changes: &Changes<'_>,
    ) -> Result<u32, StorageError> {
        places.clear();
        if from_free {
            for node in &template.nodes {
                let base = self.make(node.ty as usize, node.room)?;
                places.push((base, self.slot(base, node.ty as usize) as u32));
            }
        } else {
            let (words, slots) = (template.words.len() as u64, template.positions);
            let (base, slot) = match self.take_near(near, words, slots) {
                Some(taken) => taken,
                None => {
                    // All but the first are behind another one.
                    self.kept.far_words += template.words_of(0).len() as u64;
                    self.extend(words, slots)?
                }
            };
            places.extend(template.nodes.iter().map(|node| (base + node.word, slot + node.slot)));
        }
        let words = self.node.as_mut_slice::<u32>().unwrap_or_default();
        for (number, (base, slot)) in places.iter().enumerate() {
            let from = template.words_of(number);
            words[*base as usize..*base as usize + from.len()].copy_from_slice(from);
            if let Some(word) = self.schema.nodes()[template.nodes[number].ty as usize].layout.slot {
                words[(*base + word) as usize] = *slot;
            }
        }
        let moved = |word: u32, node: u32| word - template.nodes[node as usize].word + places[node as usize].0;
        for handle in &template.handles {
            let own = &mut words[moved(handle.at, handle.holder) as usize];
            *own = moved(*own, handle.to);
        }
        for (&(word, _, node), element) in template.elements.iter().zip(merged) {
            words[moved(word, node) as usize] = element.coordinate;
        }
        for (&(_, position, node), element) in template.elements.iter().zip(merged) {
            let to = u64::from(position - template.nodes[node as usize].slot + places[node as usize].1);
            match element.value {
                Origin::Position(from) => self.payload.shift(u64::from(from)..u64::from(from) + 1, to),
                Origin::Change(number) => self.payload.write(changes.value(number), to),
            }
        }
        Ok(moved(template.root.0, template.root.1))
    }
}

/// Merges the stored elements with changes.
fn merge(stored: &[(u32, u32)], changes: &Changes<'_>, run: std::ops::Range<usize>, merged: &mut Vec<Merged>) {
    merged.clear();
    let mut stored = stored.iter().copied().peekable();
    for number in run {
        let coordinate = changes.coordinates[number];
        while let Some((coordinate, position)) = stored.next_if(|(own, _)| *own < coordinate) {
            merged.push(Merged { coordinate, value: Origin::Position(position) });
        }
        let there = stored.next_if(|(own, _)| *own == coordinate);
        match (changes.values, there) {
            (None, _) => {}
            (Some(_), Some((_, position))) => merged.push(Merged { coordinate, value: Origin::Position(position) }),
            (Some(_), None) => merged.push(Merged { coordinate, value: Origin::Change(number) }),
        }
    }
    merged.extend(stored.map(|(coordinate, position)| Merged { coordinate, value: Origin::Position(position) }));
}

/// Tells of each change at which position its coordinate was stored, if it was.
fn tell(
    stored: &[(u32, u32)],
    changes: &Changes<'_>,
    run: std::ops::Range<usize>,
    editor: &mut Editor<'_>,
    each: &mut Changed<'_>,
) {
    let mut stored = stored.iter().copied().peekable();
    for number in run {
        let coordinate = changes.coordinates[number];
        while stored.next_if(|(own, _)| *own < coordinate).is_some() {}
        let there = stored.next_if(|(own, _)| *own == coordinate).map(|(_, position)| position);
        if there.is_some() || changes.values.is_some() {
            each(number, there, editor.payload.buffer_mut());
        }
    }
}

//! Builds the nodes of a level from the sorted coordinates of each parent position: balanced, leaves full, nodes in the order in which
//! their first elements are visited.
//!
//! The number of a tree's elements tells the words and the positions that it takes. So a first pass counts these, and a second one
//! lets threads write the trees of parent positions into places of their own. Small trees of the same number of elements are copies
//! of one (`template.rs`), and so are the small subtrees of a large one.
//!
//! ```text
//! list of   0 2 5 under one parent     node: . 3 . .   0 8 0 .   2 12 1 .   5 0 2 .     coordinate, next, position
//! bst of the same                      node: . 3 . .   0 0 0 0   2 4 12 1   5 0 0 2     coordinate, left, right, position
//! ```
//!
//! A node gets its place when its first element is visited, or a child is the last that is left of it: its holder and the children
//! that come before it, which needed its handle before, are told it then.

use std::collections::HashMap;

use lacunar_formats::schema::{Extent, Field, FieldKind, Node, Step, Target};
use lacunar_formats::{IndexWidth, Schema};

use super::gaps::Gaps;
use super::holder_word;
use super::shape::{Bounds, Choice, Deal, Shapes};
use super::template::Template;
use crate::array::Array;
use crate::buffer::{Buffer, Number};
use crate::dispatch::with_width;
use crate::error::{Above, StorageError};
use crate::parallel;
use crate::storage::{LevelStorage, NOWHERE, Place, Places, Segments, Spread, check_size};
use crate::values::Element;

/// A level of a schema's nodes with the coordinates of a plain level; see `spread.rs`.
///
/// # Errors
/// No node of the schema holds so many elements, words or positions are more than 32 bits count, or memory is refused.
pub(crate) fn spread(schema: &'static Schema, segments: &Segments, place: Place) -> Result<Spread, StorageError> {
    check_size(place)?;
    let shapes = Shapes::new(schema).growing(segments.growth().is_some());
    let parents = segments.parents();
    let counts = (0..parents).map(|parent| segments.count(parent));
    let mut forms = Forms::new(&shapes, counts).map_err(|parent| StorageError::NotRepresentable {
        format: Box::new(place.format.clone()),
        above: Above::Position(parent as u64),
        reason: format!(
            "no tree of `{}` nodes that is made here has {} elements",
            schema.name(),
            segments.count(parent)
        ),
    })?;
    forms.make_templates(&shapes);
    let first = u64::from(schema.align());
    let mut words = parallel::edges(parents, |parent| forms.of(segments.count(parent)).words)?;
    let mut slots = parallel::edges(parents, |parent| forms.of(segments.count(parent)).slots)?;
    let gaps = match segments.growth() {
        Some(growth) => Gaps::of_growing((&mut words, &mut slots), first, (segments.total() as u64, growth)),
        None => Gaps::default(),
    };
    let end = words[parents].checked_add(first).filter(|end| *end <= 1 << 32);
    let wide = |what: &str| StorageError::Width { what: format!("the {what} of level {}", place.level), width: 32 };
    let end = end.ok_or_else(|| wide("number of words of nodes"))?;
    if slots[parents] >= u64::from(u32::MAX) {
        return Err(wide("number of positions"));
    }
    let mut root = Array::<u32>::zeroed(parents)?;
    let mut node = Array::<u32>::cleared(end as usize)?;
    node[Schema::POSITIONS] = slots[parents] as u32;
    let (shares, lengths) = parallel::shares(&words);
    let slot_lengths: Vec<usize> =
        shares.iter().map(|share| (slots[share.end] - slots[share.start]) as usize).collect();
    let root_lengths: Vec<usize> = shares.iter().map(ExactSizeIterator::len).collect();
    let places = with_width!(segments.width().wider(IndexWidth::W32), P => {
        let mut places = Array::<P>::of(slots[parents] as usize, |_| P::of(NOWHERE))?;
        let parts = parallel::split(&mut node[first as usize..], &lengths).into_iter();
        let parts = parts.zip(parallel::split(&mut places, &slot_lengths)).zip(parallel::split(&mut root, &root_lengths));
        parallel::each(shares.into_iter().zip(parts), |_, (share, ((node, places), root))| {
            let start = (first + words[share.start], slots[share.start]);
            let mut writer = Writer { node, places, start, words: 0, slots: 0, segments, position: 0 };
            let from = (words[share.start], slots[share.start]);
            for (parent, root) in share.zip(root) {
                // There may be room before it.
                (writer.words, writer.slots) = (words[parent] - from.0, slots[parent] - from.1);
                writer.position = segments.range(parent).start;
                let count = segments.count(parent);
                *root = match &forms.of(count).template {
                    Some(template) => writer.write(template),
                    // Sizes were counted, so that the tree is there.
                    None => tree(&shapes, count, &mut writer).unwrap_or_default(),
                };
            }
        });
        Buffer::from_array(places)
    });
    let mut level =
        LevelStorage::new(place.kind(), place.size(), vec![Buffer::from_array(root), Buffer::from_array(node)]);
    level.set_laid_out(segments.total() as u64, gaps);
    Ok(Spread { level, places: Places::Listed(places) })
}

/// The trees of one number of elements.
#[derive(Default)]
pub(super) struct Form {
    /// The words and the positions that each of them takes.
    pub words: u64,
    slots: u64,
    /// The number of these trees.
    trees: u64,
    /// One to copy, if there are many.
    template: Option<Template>,
}

/// The trees of a level, by numbers of elements: of small ones by place, of others by key.
pub(super) struct Forms {
    small: Vec<Form>,
    large: HashMap<u64, Form>,
    none: Form,
}

/// Trees of fewer elements than this are copied.
const SMALL: u64 = 256;
/// Up to this number, trees are made one by one, without a template.
const FEW: u64 = 3;
/// Subtrees of trees with so many elements or more are copied.
const LARGE: u64 = 16 * SMALL;

impl Forms {
    /// The forms of trees of these numbers of elements, without templates.
    ///
    /// # Errors
    /// There is no tree of one of them: its place.
    pub fn new(shapes: &Shapes, counts: impl Iterator<Item = u64>) -> Result<Forms, usize> {
        let small = (0..SMALL).map(|_| Form::default()).collect();
        let mut forms = Forms { small, large: HashMap::new(), none: Form::default() };
        for (place, count) in counts.enumerate() {
            let form = match forms.small.get_mut(count as usize) {
                Some(form) => form,
                None => forms.large.entry(count).or_default(),
            };
            form.trees += 1;
            if form.trees > 1 {
                continue;
            }
            let mut counter = Counter::default();
            tree(shapes, count, &mut counter).ok_or(place)?;
            (form.words, form.slots) = (counter.words, counter.slots);
        }
        Ok(forms)
    }

    /// Makes templates of the forms that many trees have.
    fn make_templates(&mut self, shapes: &Shapes) {
        for (count, form) in self.small.iter_mut().enumerate().filter(|(count, form)| *count > 0 && form.trees > FEW) {
            form.template = Template::new(shapes, count as u64);
        }
    }

    /// The trees of so many elements.
    pub fn of(&self, count: u64) -> &Form {
        self.small.get(count as usize).or_else(|| self.large.get(&count)).unwrap_or(&self.none)
    }
}

/// A node that is to be made.
#[derive(Clone, Copy, Debug)]
pub(super) struct New {
    /// Its type.
    pub ty: usize,
    /// The room of its arrays without a bound.
    pub room: u32,
    /// The words and the positions that it takes.
    pub words: u64,
    pub slots: u64,
}

/// Takes the nodes of trees.
pub(super) trait Nodes {
    /// Takes a node: its first word, and the first position.
    fn add(&mut self, node: New) -> (u32, u32);
    /// Writes a word of a node.
    fn set(&mut self, word: u64, number: u32);
    /// The coordinate of the next element, which has a position.
    fn element(&mut self, position: u64) -> u32;
    /// Takes a copy of a subtree, if it does that: the handle of its root.
    fn copy(&mut self, _subtree: &Template) -> Option<u32> {
        None
    }
    /// True if only sizes are asked for.
    const COUNTS: bool;
}

/// Counts words and positions.
#[derive(Default)]
struct Counter {
    words: u64,
    slots: u64,
}

impl Nodes for Counter {
    fn add(&mut self, node: New) -> (u32, u32) {
        self.words = self.words.saturating_add(node.words);
        self.slots = self.slots.saturating_add(node.slots);
        // Any handle but 0.
        (1, 0)
    }

    fn set(&mut self, _word: u64, _number: u32) {}

    fn element(&mut self, _position: u64) -> u32 {
        0
    }

    fn copy(&mut self, subtree: &Template) -> Option<u32> {
        self.words = self.words.saturating_add(subtree.words.len() as u64);
        self.slots = self.slots.saturating_add(subtree.positions);
        Some(1)
    }

    const COUNTS: bool = true;
}

/// Writes the nodes of neighboring parent positions.
struct Writer<'a, P> {
    node: &'a mut [u32],
    places: &'a mut [P],
    /// The first word and the first position of all.
    start: (u64, u64),
    /// The number of words so far.
    words: u64,
    slots: u64,
    segments: &'a Segments<'a>,
    /// The position in the plain level of the next element.
    position: u64,
}

impl<P: Number + Element> Writer<'_, P> {
    /// Writes a copy of a tree with the next elements; the handle of its root.
    fn write(&mut self, template: &Template) -> u32 {
        let slots = self.slots as usize;
        let (base, slot) = self.take(template.words.len() as u64, template.positions);
        let first = (u64::from(base) - self.start.0) as usize;
        let words = &mut self.node[first..first + template.words.len()];
        words.copy_from_slice(&template.words);
        template.handles.iter().for_each(|handle| words[handle.at as usize] += base);
        template.slots.iter().for_each(|at| words[*at as usize] += slot);
        let own = &mut self.places[slots..];
        for (&(word, position, _), element) in template.elements.iter().zip(self.position..) {
            words[word as usize] = self.segments.coordinate(element) as u32;
            own[position as usize] = P::of(element);
        }
        self.position += template.elements.len() as u64;
        template.root.0 + base
    }

    /// Takes so many words and positions: the first of both.
    fn take(&mut self, words: u64, slots: u64) -> (u32, u32) {
        let taken = (self.start.0 + self.words, self.start.1 + self.slots);
        (self.words, self.slots) = (self.words + words, self.slots + slots);
        (taken.0 as u32, taken.1 as u32)
    }
}

impl<P: Number + Element> Nodes for Writer<'_, P> {
    fn add(&mut self, node: New) -> (u32, u32) {
        self.take(node.words, node.slots)
    }

    #[inline(always)]
    fn set(&mut self, word: u64, number: u32) {
        self.node[(word - self.start.0) as usize] = number;
    }

    #[inline(always)]
    fn element(&mut self, position: u64) -> u32 {
        let own = self.position;
        self.position += 1;
        self.places[(position - self.start.1) as usize] = P::of(own);
        self.segments.coordinate(own) as u32
    }

    fn copy(&mut self, subtree: &Template) -> Option<u32> {
        Some(self.write(subtree))
    }

    const COUNTS: bool = false;
}

/// The place that is told the handle of a node once it has one.
#[derive(Clone, Copy)]
enum Holder {
    /// The array of roots.
    Root,
    /// A word of a node that has its place; with the type and the handle of that node.
    Word(u64, (usize, u32)),
    /// The node that waits for it, which has no place yet, at this word of it.
    Waiting(u64),
}

/// A node whose items are made, and the next item.
struct Frame {
    node: &'static Node,
    choice: Choice,
    deal: Deal,
    room: u32,
    holder: Holder,
    /// The handle and the first position, once it has a place.
    placed: Option<(u32, u32)>,
    /// The number of children of waiting nodes that were told before this node began.
    before: usize,
    step: usize,
    item: u32,
    array: usize,
    /// The number of children to come, and the bounds of the elements that these take.
    to_come: (u64, Bounds),
    rest: u64,
    open: u64,
}

/// The parts of one tree that is being made.
struct Tree<'s, N> {
    shapes: &'s Shapes,
    nodes: &'s mut N,
    /// Children that have their places before their holders: words of these, and handles.
    early: Vec<(u64, u32, &'static Node)>,
    /// The subtrees of a large tree that are copied.
    subtrees: Option<Subtrees>,
    root: u32,
}

/// Subtrees by the number of elements and the height, each with the types that its root may have.
type Subtrees = HashMap<(u64, Option<usize>), Vec<(Target, Option<Template>)>>;

/// A child that is to be made next.
struct Next {
    to: Target,
    count: u64,
    height: Option<usize>,
    holder: Holder,
}

/// Makes a tree of so many elements; gives the handle of its root, which is 0 if there are none. `None` if there is no such tree.
pub(super) fn tree(shapes: &Shapes, count: u64, nodes: &mut impl Nodes) -> Option<u32> {
    subtree(shapes, (shapes.schema.entry(), count, None), nodes)
}

/// True if trees of any number of elements are made, as far as can be told: bounds of lengths may leave out numbers of which only the
/// attempt tells.
pub(super) fn makes_all(shapes: &Shapes) -> bool {
    shapes.holds_all() && (1..=TRIED).all(|count| tree(shapes, count, &mut Counter::default()).is_some())
}

/// Trees of up to so many elements are tried.
const TRIED: u64 = 40;

/// The same of a tree whose root has one of some types, and if it is known, of a height.
pub(super) fn subtree(
    shapes: &Shapes,
    (to, count, height): (Target, u64, Option<usize>),
    nodes: &mut impl Nodes,
) -> Option<u32> {
    if count == 0 {
        return Some(0);
    }
    let subtrees = (count >= LARGE).then(HashMap::new);
    let mut tree = Tree { shapes, nodes, early: Vec::new(), subtrees, root: 0 };
    let mut waiting: Vec<Frame> = Vec::new();
    let root = Next { to, count, height, holder: Holder::Root };
    let mut frame = tree.begin(root)?;
    loop {
        match tree.next(&mut frame)? {
            Some(child) if tree.copy(&child) => {}
            Some(child) => {
                let before = std::mem::replace(&mut frame, tree.begin(child)?);
                if before.step < before.node.seq.len() {
                    waiting.push(before);
                }
            }
            None => match waiting.pop() {
                Some(before) => frame = before,
                None => return Some(tree.root),
            },
        }
    }
}

impl<N: Nodes> Tree<'_, N> {
    /// Copies a small subtree of a large tree; false if it has to be made.
    fn copy(&mut self, &Next { to, count, height, holder }: &Next) -> bool {
        let Some(subtrees) = self.subtrees.as_mut().filter(|_| (1..SMALL).contains(&count)) else { return false };
        let known = subtrees.entry((count, height)).or_default();
        let place = known.iter().position(|(own, _)| *own == to).unwrap_or_else(|| {
            known.push((to, Template::of(self.shapes, (to, count, height))));
            known.len() - 1
        });
        let Some(template) = &known[place].1 else { return false };
        let node = &self.shapes.schema.nodes()[template.nodes[template.root.1 as usize].ty as usize];
        let Some(handle) = self.nodes.copy(template) else { return false };
        self.tell(node, handle, holder);
        true
    }

    /// Tells the handle of a node that has its place to who waits for it, and the node who holds it.
    fn tell(&mut self, node: &'static Node, handle: u32, holder: Holder) {
        match holder {
            Holder::Root => self.root = handle,
            Holder::Waiting(word) => self.early.push((word, handle, node)),
            Holder::Word(word, holder) => {
                self.nodes.set(word, handle);
                if let Some(parent) = node.parent() {
                    let word = holder_word(self.shapes.schema, node, Some(holder));
                    let base = handle & !(self.shapes.schema.align() - 1);
                    self.nodes.set(u64::from(base) + u64::from(parent.offset), word);
                }
            }
        }
    }

    /// Begins a node: its type, its lengths, and the elements that are left for children.
    fn begin(&mut self, Next { to, count, height, holder }: Next) -> Option<Frame> {
        let choice = self.shapes.choose(to, count, height)?;
        let deal = self.shapes.deal(choice, count)?;
        let node = &self.shapes.schema.nodes()[choice.number];
        let it = &self.shapes.types[choice.number];
        let is_unbounded = |field: usize| {
            node.layout.unbounded.iter().any(|array| node.fields[*array].array() == Some(Extent::Size(field)))
        };
        let lengths = it.sizes.iter().zip(deal.lengths).filter(|(size, _)| is_unbounded(size.field));
        let room = match lengths.map(|(_, length)| length).max() {
            Some(length) if self.shapes.grows => growing_room(length),
            length => length.unwrap_or_default(),
        };
        let to_come = self.shapes.to_come(choice, &deal);
        let (before, rest, open) = (self.early.len(), deal.rest, deal.open);
        let placed = None;
        Some(Frame {
            node,
            choice,
            deal,
            room,
            holder,
            placed,
            before,
            step: 0,
            item: 0,
            array: 0,
            to_come,
            rest,
            open,
        })
    }

    /// Makes the items of a node up to the next child. `None` if a child can't be.
    fn next(&mut self, frame: &mut Frame) -> Option<Option<Next>> {
        let node = frame.node;
        while let Some(step) = node.seq.get(frame.step) {
            let fields = match step {
                Step::One(field) => std::slice::from_ref(field),
                Step::Together(fields) => fields.as_slice(),
            };
            let length = fields
                .first()
                .map_or(0, |field| self.shapes.length(frame.choice.number, &frame.deal, &node.fields[*field]));
            if N::COUNTS && length > 0 && fields.iter().all(|field| !is_child(&node.fields[*field])) {
                self.place(frame);
                let open = fields.iter().filter(|field| !node.fields[**field].is_nonempty()).count() as u64;
                frame.open = frame.open.saturating_sub(open * u64::from(length));
                frame.step += 1;
                continue;
            }
            if frame.item >= length {
                (frame.step, frame.item, frame.array) = (frame.step + 1, 0, 0);
                continue;
            }
            let (field, item) = (&node.fields[fields[frame.array]], frame.item);
            frame.array += 1;
            if frame.array == fields.len() {
                (frame.array, frame.item) = (0, item + 1);
            }
            if frame.item == length {
                (frame.step, frame.item) = (frame.step + 1, 0);
            }
            match field.kind {
                FieldKind::Child { to, nonempty, .. } => {
                    if let Some(next) = self.child(frame, (field, to, nonempty), item)? {
                        return Some(Some(next));
                    }
                }
                _ => self.element(frame, field, item),
            }
        }
        self.place(frame);
        (frame.rest == 0 && frame.open == 0).then_some(None)
    }

    /// The child at an item, if there is to be one. `None` if it can't be.
    fn child(
        &mut self,
        frame: &mut Frame,
        (field, to, nonempty): (&Field, Target, bool),
        item: u32,
    ) -> Option<Option<Next>> {
        let place = self.shapes.place(frame.choice, &frame.deal, to, nonempty);
        let (count, bounds) = frame.to_come;
        let least = if nonempty { place.bounds.least } else { 0 };
        let behind = Bounds {
            least: bounds.least - least.min(bounds.least),
            most: bounds.most - place.bounds.most.min(bounds.most),
        };
        let share = self.shapes.share(&place, frame.rest, count, behind)?;
        frame.to_come = (count - 1, behind);
        if share == 0 && !nonempty {
            return Some(None);
        }
        frame.rest -= share;
        if frame.step == frame.node.seq.len() {
            self.place(frame);
        }
        let word = field.word(frame.room, item);
        let holder = match frame.placed {
            Some((handle, _)) => {
                let base = handle & !(self.shapes.schema.align() - 1);
                Holder::Word(u64::from(base) + word, (frame.choice.number, handle))
            }
            None => Holder::Waiting(word),
        };
        Some(Some(Next { to, count: share, height: self.shapes.below(frame.choice), holder }))
    }

    fn element(&mut self, frame: &mut Frame, field: &Field, item: u32) {
        self.place(frame);
        let Some((handle, slot)) = frame.placed else { return };
        let is_used = field.is_nonempty() || frame.open > 0;
        if !field.is_nonempty() {
            frame.open = frame.open.saturating_sub(1);
        }
        let coordinate = match is_used {
            true => self.nodes.element(u64::from(slot) + field.slot(frame.room, item)),
            false => Schema::UNUSED,
        };
        let base = handle & !(self.shapes.schema.align() - 1);
        self.nodes.set(u64::from(base) + field.word(frame.room, item), coordinate);
    }

    /// Gives a node its place, unless it has one, and tells its handle to those that are to know it.
    fn place(&mut self, frame: &mut Frame) {
        if frame.placed.is_some() {
            return;
        }
        let (node, number) = (frame.node, frame.choice.number);
        let (words, slots) = (node.words(frame.room), node.slots(frame.room));
        let (base, slot) = self.nodes.add(New { ty: number, room: frame.room, words, slots });
        let handle = base | node.tag;
        frame.placed = Some((handle, slot));
        let at = |word: u32| u64::from(base) + u64::from(word);
        if N::COUNTS {
            return;
        }
        for (size, length) in self.shapes.types[number].sizes.iter().zip(frame.deal.lengths) {
            self.nodes.set(at(node.fields[size.field].offset), length);
        }
        node.layout.room.into_iter().for_each(|word| self.nodes.set(at(word), frame.room));
        node.layout.slot.into_iter().for_each(|word| self.nodes.set(at(word), slot));
        for (word, child, held) in self.early.drain(frame.before..) {
            self.nodes.set(u64::from(base) + word, child);
            let first = u64::from(child & !(self.shapes.schema.align() - 1));
            if let Some(parent) = held.parent() {
                let word = holder_word(self.shapes.schema, held, Some((number, handle)));
                self.nodes.set(first + u64::from(parent.offset), word);
            }
        }
        self.tell(node, handle, frame.holder);
    }
}

/// The room of arrays without a bound that have so many items, and are going to get more.
pub(super) fn growing_room(items: u32) -> u32 {
    items.next_power_of_two().max(LEAST_ROOM)
}

/// The least room of such an array.
const LEAST_ROOM: u32 = 4;

/// True of fields of children.
fn is_child(field: &Field) -> bool {
    matches!(field.kind, FieldKind::Child { .. })
}

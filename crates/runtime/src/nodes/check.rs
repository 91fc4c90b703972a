//! Checks levels of nodes from outside: after this, walks end, and read nothing out of bounds.
//!
//! Every node is reached once, by a handle in range, aligned and of a tag that is there; no two nodes share words or positions. Lengths
//! are within their bounds, coordinates below the size of the dimension, each once under a parent position, and in the order that the
//! schema tells. Behind the elements of an array that is always used from its beginning, room holds coordinates as well, or 0: kernels load
//! whole vectors. Items that the schema says are never absent are there, parents are those that hold, and no tree is deeper than
//! [`Schema::DEPTH`].

use lacunar_formats::Schema;
use lacunar_formats::schema::{Extent, Field, FieldKind, Node, Step, Target};

use super::{View, holder_word};
use crate::array::Array;
use crate::error::StorageError;
use crate::storage::{LevelStorage, Place, check_length, check_size, checked_indices};

/// Checks the arrays of a level under so many parent positions; gives the number of its positions.
///
/// # Errors
/// The fault of the arrays.
pub(crate) fn check(level: &LevelStorage, parents: u64, place: Place) -> Result<u64, StorageError> {
    checked_indices(level, 0, place)?;
    checked_indices(level, 1, place)?;
    check_length(level, 0, parents, place)?;
    check_size(place)?;
    let Some(view) = View::of(level) else { return Err(StorageError::Astray) };
    let wrong = |word, reason| Err(StorageError::Nodes { level: place.level, word, reason });
    if view.node.len() < view.schema.align() as usize || view.node.len() as u64 > 1 << 32 {
        return wrong(0, "the array of nodes is not as long as it has to be");
    }
    let is_set = |word: usize| word != Schema::POSITIONS && view.node[word] != 0;
    if let Some(word) = (0..view.schema.align() as usize).find(|word| is_set(*word)) {
        return wrong(word as u64, "a word before the first node is not 0");
    }
    let units = view.node.len().div_ceil(view.schema.align() as usize);
    let positions = view.positions();
    // Every element has a word of its own.
    if positions > view.node.len() as u64 {
        return wrong(Schema::POSITIONS as u64, "there are more positions than words");
    }
    let mut check = Check {
        view,
        place,
        words: Marks(Array::zeroed(units.div_ceil(64))?),
        slots: Marks(Array::zeroed((positions as usize).div_ceil(64))?),
        found: Vec::new(),
    };
    for parent in 0..parents {
        check.subtensor(parent)?;
    }
    Ok(positions)
}

/// Marks of numbers.
struct Marks(Array<u64>);

impl Marks {
    /// Marks numbers; false if one was marked.
    fn mark(&mut self, numbers: std::ops::Range<usize>) -> bool {
        let mut free = true;
        for number in numbers {
            let (word, bit) = (&mut self.0[number / 64], 1 << (number % 64));
            free &= *word & bit == 0;
            *word |= bit;
        }
        free
    }
}

/// A node whose items are checked, and the next item.
struct Frame {
    node: &'static Node,
    number: usize,
    handle: u32,
    base: usize,
    step: usize,
    item: u32,
    array: usize,
}

struct Check<'a> {
    view: View<'a>,
    place: Place<'a>,
    /// The multiples of the alignment that belong to nodes that were met.
    words: Marks,
    /// The positions that do.
    slots: Marks,
    /// The coordinates under one parent position, of schemas that are in no order.
    found: Vec<u32>,
}

impl Check<'_> {
    fn wrong<T>(&self, word: u64, reason: &'static str) -> Result<T, StorageError> {
        Err(StorageError::Nodes { level: self.place.level, word, reason })
    }

    /// Checks the nodes under a parent position.
    fn subtensor(&mut self, parent: u64) -> Result<(), StorageError> {
        let root = self.view.root[parent as usize];
        if root == 0 {
            return Ok(());
        }
        let (mut waiting, mut next) = (Vec::new(), 0);
        self.found.clear();
        let mut frame = self.open(self.view.schema.entry(), root, None)?;
        loop {
            match self.next_child(&mut frame, &mut next)? {
                Some((to, handle)) => {
                    let child = self.open(to, handle, Some((frame.number, frame.handle)))?;
                    let before = std::mem::replace(&mut frame, child);
                    if before.step < before.node.seq.len() {
                        waiting.push(before);
                    }
                    if waiting.len() > Schema::DEPTH {
                        return self.wrong(frame.base as u64, "the tree is too deep");
                    }
                }
                None => match waiting.pop() {
                    Some(before) => frame = before,
                    None => break,
                },
            }
        }
        self.found.sort_unstable();
        match self.found.windows(2).any(|pair| pair[0] == pair[1]) {
            true => Err(StorageError::Duplicate { level: self.place.level, place: parent }),
            false => Ok(()),
        }
    }

    /// Checks a node on its own: its place, lengths and holder.
    fn open(&mut self, to: Target, handle: u32, holder: Option<(usize, u32)>) -> Result<Frame, StorageError> {
        let View { schema, node: words, .. } = self.view;
        let base = self.view.base(handle);
        let Some(number) = schema.type_of(to, handle) else {
            return self.wrong(base as u64, "the low bits of the handle are those of no type that may be there");
        };
        let node = &schema.nodes()[number];
        let left = words.len().saturating_sub(base) as u64;
        if base < schema.align() as usize || u64::from(node.layout.words) > left {
            return self.wrong(base as u64, "the node is not inside of the array");
        }
        let room = self.view.room(node, base);
        if node.words(room) > left {
            return self.wrong(base as u64, "the node is not inside of the array");
        }
        for (size, field) in node.fields.iter().enumerate() {
            let FieldKind::Size { least, most, .. } = field.kind else { continue };
            let length = words[base + field.offset as usize];
            let is_unbounded = |array: &usize| node.fields[*array].array() == Some(Extent::Size(size));
            let most = if node.layout.unbounded.iter().any(is_unbounded) { Some(room) } else { most };
            if length < least || most.is_some_and(|most| length > most) {
                return self.wrong(base as u64 + u64::from(field.offset), "a length is not between its bounds");
            }
        }
        let align = schema.align() as usize;
        if !self.words.mark(base / align..(base + node.words(room) as usize) / align) {
            return self.wrong(base as u64, "two nodes have a word in common");
        }
        for (array, field) in node.elems().filter(|(_, field)| field.is_nonempty()) {
            let length = self.view.length(node, base, field);
            let all = match node.is_padded(array) {
                true => node.vectors(array, room) as u32,
                false => self.view.capacity(number, field, room),
            };
            for word in (length..all).map(|item| base as u64 + field.word(room, item)) {
                let unused = u64::from(words[word as usize]);
                if unused != 0 && unused >= self.place.size() {
                    return self.wrong(word, "what a block has behind its elements is no coordinate");
                }
            }
        }
        let slot = self.view.slot(node, base);
        let end = slot + node.slots(room);
        if node.layout.slot.is_some() && end > self.view.positions() {
            return self.wrong(base as u64, "the positions of the node are not below the number of positions");
        }
        if !self.slots.mark(slot as usize..end as usize) {
            return self.wrong(base as u64, "two nodes have a position in common");
        }
        if let Some(parent) = node.parent()
            && words[base + parent.offset as usize] != holder_word(schema, node, holder)
        {
            return self
                .wrong(base as u64 + u64::from(parent.offset), "the parent is not the node that holds this one");
        }
        Ok(Frame { node, number, handle, base, step: 0, item: 0, array: 0 })
    }

    /// Checks the items of a node up to the next child that is there. `next` is the least coordinate that may come.
    fn next_child(&mut self, frame: &mut Frame, next: &mut u64) -> Result<Option<(Target, u32)>, StorageError> {
        let (node, base) = (frame.node, frame.base);
        let room = self.view.room(node, base);
        while let Some(step) = node.seq.get(frame.step) {
            let fields = match step {
                Step::One(field) => std::slice::from_ref(field),
                Step::Together(fields) => fields.as_slice(),
            };
            let length = fields.first().map_or(0, |field| self.view.length(node, base, &node.fields[*field]));
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
            let word = base as u64 + field.word(room, item);
            let number = self.view.node[word as usize];
            match field.kind {
                FieldKind::Child { nonempty: true, .. } if number == 0 => {
                    return self.wrong(word, "a child that is never absent is");
                }
                FieldKind::Child { to, .. } if number != 0 => return Ok(Some((to, number))),
                FieldKind::Child { .. } => {}
                _ => self.element(field, (number, word), next)?,
            }
        }
        Ok(None)
    }

    fn element(&mut self, field: &Field, (number, word): (u32, u64), next: &mut u64) -> Result<(), StorageError> {
        if number == Schema::UNUSED {
            return match field.is_nonempty() {
                true => self.wrong(word, "an element that is always used is not"),
                false => Ok(()),
            };
        }
        let (coordinate, size, level) = (u64::from(number), self.place.size(), self.place.level);
        if coordinate >= size {
            let dimension = self.place.dimension();
            return Err(StorageError::OutOfRange { dimension, entry: word, coordinate, size });
        }
        if !self.view.schema.is_ordered() {
            self.found.push(number);
            return Ok(());
        }
        if coordinate < *next {
            return match coordinate + 1 == *next {
                true => Err(StorageError::Duplicate { level, place: word }),
                false => Err(StorageError::NotSorted { level, place: word }),
            };
        }
        *next = coordinate + 1;
        Ok(())
    }
}

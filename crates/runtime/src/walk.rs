//! The stored entries of a tensor, one after the other, and the place of one of them.
//!
//! A walk goes down the levels: at each it stands in the segment under one parent position. Dense levels count,
//! compressed ones are read where they are, and the coordinates of other kinds under a parent position are put into a
//! list that is used again for the next one. So no entry takes memory of its own, whatever the format is.
//!
//! A stored value is an entry if it lies in the tensor's dimensions, and is no padding: in padded formats
//! ([`Format::is_padded`](lacunar_formats::Format::is_padded), but for dense ones, which store every element), a value
//! that equals the fill value bit by bit is no entry. Conversions draw the same line.
//!
//! ```
//! use lacunar_formats::{DType, Format};
//! use lacunar_runtime::{Buffer, Tensor};
//! let elements = Buffer::from_vec(vec![5.0, 0.0, 0.0, 0.0, 6.0, 0.0]);
//! let blocks = Tensor::from_dense(vec![2, 3], elements, &Format::bcsr(2, 2).unwrap()).unwrap();
//! let (mut walk, mut found) = (blocks.walk(), Vec::new());
//! while let Some((coordinates, position)) = walk.next_entry() {
//!     found.push((coordinates.to_vec(), position));
//! }
//! assert_eq!(found, [(vec![0, 0], 0), (vec![1, 1], 3)]);
//! assert_eq!((blocks.count_entries(), blocks.nnz()), (2, 4));
//! assert_eq!((blocks.position_of(&[1, 1]), blocks.position_of(&[1, 2])), (Some(3), None));
//! ```

use std::ops::Range;

use lacunar_formats::{LevelKind, Map, Recovery, Scalar, Term};

use crate::buffer::{Buffer, Indices};
use crate::dispatch::with_word;
use crate::ranking;
use crate::storage::{LevelStorage, first_reaching};
use crate::tensor::Tensor;
use crate::words::Word;

/// An element of a tensor of so many levels is looked up without asking for memory.
const FEW: usize = 8;

/// The coordinates stored under one parent position, from the next on.
enum Segment<'a> {
    /// Every coordinate of a dense level: positions, and the coordinate of the first.
    Counted { positions: Range<u64>, coordinate: u64 },
    /// The coordinates at positions of a compressed level.
    Listed { crd: Indices<'a>, positions: Range<u64> },
    /// Coordinates and positions that a level has told, and the number of those taken.
    Told { list: Vec<(u64, u64)>, taken: usize },
}

impl<'a> Segment<'a> {
    /// A segment of a level without anything in it.
    fn of(level: &'a LevelStorage) -> Segment<'a> {
        if level.kind() == LevelKind::DENSE {
            Segment::Counted { positions: 0..0, coordinate: 0 }
        } else if level.kind() == LevelKind::COMPRESSED {
            Segment::Listed { crd: level.numbers(1), positions: 0..0 }
        } else {
            Segment::Told { list: Vec::new(), taken: 0 }
        }
    }

    /// Stands before the first that is stored under a parent position of its level.
    fn open(&mut self, level: &LevelStorage, parent: u64) {
        match self {
            Segment::Counted { positions, coordinate } => {
                *coordinate = 0;
                *positions = parent * level.size()..(parent + 1) * level.size();
            }
            Segment::Listed { positions, .. } => {
                let pos = level.numbers(0);
                *positions = pos.get(parent as usize)..pos.get(parent as usize + 1);
            }
            Segment::Told { list, taken } => {
                *taken = 0;
                list.clear();
                level.operations().visit(level, parent, &mut |coordinate, position| list.push((coordinate, position)));
            }
        }
    }

    /// Leaves out, as far as it can, the coordinates before a coordinate.
    fn skip_to(&mut self, wanted: u64) {
        match self {
            Segment::Counted { positions, coordinate } => {
                let skipped = wanted.saturating_sub(*coordinate).min(positions.end - positions.start);
                positions.start += skipped;
                *coordinate += skipped;
            }
            Segment::Listed { crd, positions } => positions.start = first_reaching(*crd, positions.clone(), wanted),
            Segment::Told { .. } => {}
        }
    }

    /// Leaves one of so many parts of neighbors.
    fn confine(&mut self, part: usize, parts: usize) {
        let share = |count: u64| {
            let edge = |part: usize| (u128::from(count) * part as u128 / parts.max(1) as u128) as u64;
            edge(part)..edge(part + 1)
        };
        match self {
            Segment::Counted { positions, coordinate } => {
                let share = share(positions.end - positions.start);
                *coordinate += share.start;
                *positions = positions.start + share.start..positions.start + share.end;
            }
            Segment::Listed { positions, .. } => {
                let share = share(positions.end - positions.start);
                *positions = positions.start + share.start..positions.start + share.end;
            }
            Segment::Told { list, taken } => {
                let share = share(list.len() as u64);
                list.truncate(share.end as usize);
                *taken = share.start as usize;
            }
        }
    }

    /// The next coordinate and its position.
    fn next(&mut self) -> Option<(u64, u64)> {
        match self {
            Segment::Counted { positions, coordinate } => {
                let position = positions.next()?;
                *coordinate += 1;
                Some((*coordinate - 1, position))
            }
            Segment::Listed { crd, positions } => {
                let position = positions.next()?;
                Some((crd.get(position as usize), position))
            }
            Segment::Told { list, taken } => {
                let next = list.get(*taken).copied();
                *taken += 1;
                next
            }
        }
    }
}

/// A walk through the entries of a tensor, in the order of storage.
pub struct Walk<'a> {
    tensor: &'a Tensor,
    /// By level.
    segments: Vec<Segment<'a>>,
    /// The stored coordinates, by level.
    stored: Vec<u64>,
    /// The coordinates of the tensor's dimensions.
    coordinates: Vec<u64>,
    /// The recovery of each of them from the stored coordinates, by dimension.
    recoveries: Vec<Recovery>,
    ranking: Option<(usize, Indices<'a>)>,
    /// The value of padding, if there can be any.
    filler: Option<Scalar>,
    /// The level to go on with; `None` at the end.
    level: Option<usize>,
}

impl<'a> Walk<'a> {
    fn new(tensor: &'a Tensor) -> Walk<'a> {
        let (format, levels) = (tensor.format(), tensor.levels());
        let level_of = |dimension: usize| Recovery::Whole(format.level_of(dimension).unwrap_or(dimension));
        let recovery = |dimension: usize| match format.map() {
            Some(map) => map.recovery(dimension).unwrap_or(Recovery::Whole(dimension)),
            None => level_of(dimension),
        };
        let mut segments: Vec<Segment> = levels.iter().map(Segment::of).collect();
        if let (Some(segment), Some(level)) = (segments.first_mut(), levels.first()) {
            segment.open(level, 0);
        }
        Walk {
            tensor,
            segments,
            stored: vec![0; levels.len()],
            coordinates: vec![0; tensor.order()],
            recoveries: (0..tensor.order()).map(recovery).collect(),
            ranking: ranking::of(tensor).map(|(ranked, ranking)| (ranked.dimension, ranking)),
            filler: filler(tensor),
            level: Some(0),
        }
    }

    /// The coordinates of the next entry, one a dimension, and the position of its value.
    pub fn next_entry(&mut self) -> Option<(&[u64], usize)> {
        loop {
            let position = self.next_position()? as usize;
            if self.recover() && !is_filler(self.tensor.values(), self.filler, position) {
                return Some((&self.coordinates, position));
            }
        }
    }

    /// The next position of the innermost level.
    fn next_position(&mut self) -> Option<u64> {
        let mut level = self.level?;
        let levels = self.tensor.levels();
        if levels.is_empty() {
            self.level = None;
            return Some(0);
        }
        loop {
            match self.segments[level].next() {
                Some((coordinate, position)) => {
                    self.stored[level] = coordinate;
                    if level + 1 == levels.len() {
                        self.level = Some(level);
                        return Some(position);
                    }
                    level += 1;
                    self.segments[level].open(&levels[level], position);
                }
                None if level == 0 => {
                    self.level = None;
                    return None;
                }
                None => level -= 1,
            }
        }
    }

    /// Makes the coordinates of the dimensions from the stored ones. Returns true if they lie inside.
    fn recover(&mut self) -> bool {
        let dims = self.tensor.dims();
        let whole = |dimension: usize| match self.recoveries[dimension] {
            Recovery::Whole(level) => self.stored[level],
            _ => 0,
        };
        for (dimension, recovery) in self.recoveries.iter().enumerate() {
            let coordinate = match *recovery {
                Recovery::Whole(level) => Some(self.stored[level]),
                Recovery::Block { quotient, remainder, size } => {
                    Some(self.stored[quotient] * u64::from(size) + self.stored[remainder])
                }
                Recovery::Diagonal { difference, other, reverse: true } => {
                    (whole(other) + dims[dimension].saturating_sub(1)).checked_sub(self.stored[difference])
                }
                Recovery::Diagonal { difference, other, reverse: false } => {
                    (self.stored[difference] + whole(other)).checked_sub(dims[other].saturating_sub(1))
                }
            };
            match coordinate.filter(|coordinate| *coordinate < dims[dimension]) {
                Some(coordinate) => self.coordinates[dimension] = coordinate,
                None => return false,
            }
        }
        if let Some((dimension, ranking)) = self.ranking {
            self.coordinates[dimension] = ranking.get(self.coordinates[dimension] as usize);
        }
        true
    }
}

/// The value of padding, if there can be any.
fn filler(tensor: &Tensor) -> Option<Scalar> {
    let format = tensor.format();
    (format.is_padded() && !format.is_dense()).then(|| tensor.fill())
}

fn is_filler(values: &Buffer, filler: Option<Scalar>, position: usize) -> bool {
    filler.is_some_and(|filler| with_word!(filler.ty, V => values.as_words::<V>()[position] == V::of(filler)))
}

impl Tensor {
    /// The entries one after the other. See the head of this module.
    pub fn walk(&self) -> Walk<'_> {
        Walk::new(self)
    }

    /// The entries of one of so many parts of neighboring coordinates of the outermost level: all parts, one behind the other, are the
    /// entries of [`Tensor::walk`]. So several threads go through a tensor.
    ///
    /// ```
    /// use lacunar_formats::Format;
    /// use lacunar_runtime::{Buffer, Tensor};
    /// let elements = Buffer::from_vec(vec![1.0, 0.0, 2.0, 3.0, 0.0, 4.0]);
    /// let rows = Tensor::from_dense(vec![3, 2], elements, &Format::csr()).unwrap();
    /// let mut second = rows.part_of_walk(1, 2);
    /// assert_eq!(second.next_entry(), Some((&[1, 0][..], 1)));
    /// ```
    pub fn part_of_walk(&self, part: usize, parts: usize) -> Walk<'_> {
        let mut walk = Walk::new(self);
        match walk.segments.first_mut() {
            Some(segment) => segment.confine(part, parts),
            // The one element of a tensor without levels is in the first part.
            None if part > 0 => walk.level = None,
            None => {}
        }
        walk
    }

    /// The number of entries that a walk comes across: not more than there are elements. It takes a walk; only in plain
    /// levels without padding are the values counted instead.
    pub fn count_entries(&self) -> u64 {
        let format = self.format();
        if format.map().is_none() && format.is_plain() && (format.is_dense() || !format.is_padded()) {
            return self.values().len() as u64;
        }
        let (mut walk, mut count) = (self.walk(), 0);
        while walk.next_entry().is_some() {
            count += 1;
        }
        count
    }

    /// The position of the value of the entry with these coordinates, one a dimension; `None` if there is none. Each
    /// level is searched as its kind is: by computing, halving, hashing, or by going through the coordinates under a
    /// parent position.
    pub fn position_of(&self, coordinates: &[u64]) -> Option<usize> {
        let inside = coordinates.iter().zip(self.dims()).all(|(coordinate, size)| coordinate < size);
        if coordinates.len() != self.order() || !inside {
            return None;
        }
        let mut few = [None; FEW];
        let mut many = Vec::new();
        let wanted = match few.get_mut(..self.levels().len()) {
            Some(few) => few,
            None => {
                many.resize(self.levels().len(), None);
                &mut many[..]
            }
        };
        match self.format().map() {
            None => {
                let stored = self.format().mode_order().iter().map(|&dimension| Some(coordinates[dimension]));
                wanted.iter_mut().zip(stored).for_each(|(slot, coordinate)| *slot = coordinate);
            }
            Some(map) => self.want(map, coordinates, wanted),
        }
        let position = self.descend(wanted, 0, 0)? as usize;
        (!is_filler(self.values(), filler(self), position)).then_some(position)
    }

    /// Sets the stored coordinates of an element, by level; `None` if they depend on other entries.
    fn want(&self, map: &Map, coordinates: &[u64], wanted: &mut [Option<u64>]) {
        let mut renumbered = Vec::new();
        let mut coordinates = coordinates;
        if let Some((ranked, ranking)) = ranking::of(self) {
            renumbered.extend_from_slice(coordinates);
            // A coordinate and its rank are in one window.
            let (own, window) = (coordinates[ranked.dimension], u64::from(ranked.window).max(1));
            let first = own / window * window;
            let rank = (first..first.saturating_add(window)).find(|rank| ranking.get(*rank as usize) == own);
            renumbered[ranked.dimension] = rank.unwrap_or(own);
            coordinates = &renumbered;
        }
        let stored = |term: &Term| match *term {
            Term::Whole(d) => Some(coordinates[d]),
            Term::Quotient(d, size) => Some(coordinates[d] / u64::from(size)),
            Term::Remainder(d, size) => Some(coordinates[d] % u64::from(size)),
            Term::Difference(d, other) => Some(coordinates[d] + self.dims()[other] - 1 - coordinates[other]),
            Term::Ordinal(_) | Term::RankedOrdinal(..) => None,
        };
        wanted.iter_mut().zip(map.terms()).for_each(|(slot, term)| *slot = stored(term));
    }

    /// The position of an element of these stored coordinates, from a level and a parent position of it on.
    fn descend(&self, wanted: &[Option<u64>], level: usize, parent: u64) -> Option<u64> {
        let Some(storage) = self.levels().get(level) else { return Some(parent) };
        if let (Some(coordinate), true) = (wanted[level], self.format().levels()[level].unique) {
            let position = storage.operations().find(storage, parent, coordinate)?;
            return self.descend(wanted, level + 1, position);
        }
        let mut segment = Segment::of(storage);
        segment.open(storage, parent);
        wanted[level].iter().for_each(|coordinate| segment.skip_to(*coordinate));
        while let Some((coordinate, position)) = segment.next() {
            let found = match wanted[level] {
                Some(wanted) if wanted < coordinate && storage.kind() == LevelKind::COMPRESSED => return None,
                Some(wanted) if wanted != coordinate => None,
                _ => self.descend(wanted, level + 1, position),
            };
            if found.is_some() {
                return found;
            }
        }
        None
    }
}

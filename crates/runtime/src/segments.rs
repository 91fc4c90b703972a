//! The coordinates of a plain level under the parent positions of another one, in any order of these. Levels of all
//! other kinds are made of them.
//!
//! Coordinates are numbered, segment after segment in the order of parent positions. If these are the positions of the
//! plain tensor, an entry's number is its position there. A task takes a range of numbers, or of places of the level
//! that is made, and goes through the *pieces* of segments in it: so it matters to nobody how many segments there are
//! and how long they are.
//!
//! ```text
//! pos 0 3 3 4   crd 0 2 3 1    parents 0 1 2:         numbers 0 1 2 3 are positions 0 1 2 3
//!                              parents 2 - 0:         numbers 0 1 2 3 are positions 3 0 1 2
//!                              pieces of numbers 2 .. 4, parents 0 1 2:    position 2 under 0, and 3 under 2
//! ```
//!
//! Attribute queries (Chou et al. 2020, §5) are asked of segments: the number of coordinates (`count`), the least and the greatest.

use std::ops::Range;

use lacunar_formats::{IndexWidth, LevelKind};

use crate::array::Array;
use crate::buffer::{Buffer, Indices, Number, with_indices};
use crate::dispatch::{with_width, with_word};
use crate::error::{Above, StorageError};
use crate::index_array::{copied, index_array, index_parts};
use crate::parallel::{self, GRAIN};
use crate::storage::{LevelStorage, Place};

/// In the place of a position: there is none.
pub const NOWHERE: u64 = u64::MAX;

/// For each position of a level, the position of the plain level that it stands for, or [`NOWHERE`].
pub enum Places {
    /// Itself, of so many.
    Same(usize),
    /// The position in an index array, which has the largest number of its width for [`NOWHERE`].
    Listed(Buffer),
}

impl Places {
    /// The number of positions.
    pub fn count(&self) -> usize {
        match self {
            Places::Same(len) => *len,
            Places::Listed(places) => places.len(),
        }
    }

    /// The place of a position.
    #[inline(always)]
    pub fn get(&self, position: usize) -> u64 {
        match self {
            Places::Same(_) => position as u64,
            Places::Listed(places) => match places.indices() {
                Some(Indices::U32(places)) if places[position] != u32::MAX => u64::from(places[position]),
                Some(Indices::U64(places)) => places[position],
                _ => NOWHERE,
            },
        }
    }

    /// The width of numbers below a bound that leaves room for [`NOWHERE`].
    pub fn width(bound: u64) -> IndexWidth {
        IndexWidth::for_positions(bound)
    }
}

/// The coordinates of a plain level under the parent positions of the level that is to store them.
pub struct Segments<'a> {
    /// The plain level.
    level: &'a LevelStorage,
    /// Its arrays, of kinds that keep them.
    pos: Option<Indices<'a>>,
    crd: Option<Indices<'a>>,
    /// The number of its positions.
    positions: u64,
    /// By parent position.
    parents: &'a Places,
    /// The values at its positions, if it is the innermost level.
    values: Option<&'a Buffer>,
    /// The numbers at which segments begin, where they are not positions.
    numbers: Option<Array<u64>>,
    /// If more coordinates are to come, the words that their nodes will take, for each word of nodes that are there.
    growth: Option<f64>,
}

/// Neighboring coordinates that are taken together.
pub struct Runs {
    /// The number of each parent position's first run among all, and the number of runs.
    pub edges: Buffer,
    /// The first coordinate of each.
    pub first: Buffer,
    /// The number of that coordinate; behind all, how many coordinates there are.
    pub start: Buffer,
}

impl Runs {
    /// The first coordinates, and the numbers at which runs begin.
    pub fn numbers(&self) -> (Indices<'_>, Indices<'_>) {
        let none = Indices::U32(&[]);
        (self.first.indices().unwrap_or(none), self.start.indices().unwrap_or(none))
    }
}

/// A part of a segment.
pub struct Piece {
    /// The parent position.
    pub parent: usize,
    /// The number of the segment's coordinates before it.
    pub skipped: u64,
    /// Positions of the plain level.
    pub positions: Range<u64>,
    /// The number of unused places behind the segment's last.
    pub unused: usize,
}

impl<'a> Segments<'a> {
    /// The segments of a level with so many positions, and with the values at them, if it is the innermost.
    ///
    /// # Errors
    /// Memory is refused.
    pub fn new(
        (level, positions): (&'a LevelStorage, u64),
        parents: &'a Places,
        values: Option<&'a Buffer>,
    ) -> Result<Segments<'a>, StorageError> {
        let (pos, crd) = (level.pos().and_then(Buffer::indices), level.crd().and_then(Buffer::indices));
        let mut segments = Segments { level, pos, crd, positions, parents, values, numbers: None, growth: None };
        if matches!(parents, Places::Listed(_)) {
            segments.numbers = Some(parallel::edges(parents.count(), |parent| segments.count(parent))?);
        }
        Ok(segments)
    }

    /// The same for a level that is going to get more coordinates, if there is a growth: so many words of nodes for each that is there.
    pub fn growing(self, growth: Option<f64>) -> Segments<'a> {
        Segments { growth, ..self }
    }

    /// The words of nodes that are to come, for each that is there; `None` if the level gets no more coordinates.
    pub fn growth(&self) -> Option<f64> {
        self.growth
    }

    /// The number of parent positions.
    pub fn parents(&self) -> usize {
        self.parents.count()
    }

    /// The position of the plain level at which the segment of a position of the level above begins.
    #[inline(always)]
    fn edge_of(&self, above: u64) -> u64 {
        match self.pos {
            Some(Indices::U32(pos)) => u64::from(pos[above as usize]),
            Some(pos) => pos.get(above as usize),
            None if self.level.kind() == LevelKind::DENSE => above * self.level.size(),
            None => above,
        }
    }

    /// The positions of the plain level under a parent position.
    #[inline(always)]
    pub fn range(&self, parent: usize) -> Range<u64> {
        match self.parents.get(parent) {
            NOWHERE => 0..0,
            at => self.edge_of(at)..self.edge_of(at + 1),
        }
    }

    /// The number of coordinates under a parent position.
    #[inline(always)]
    pub fn count(&self, parent: usize) -> u64 {
        let range = self.range(parent);
        range.end - range.start
    }

    /// The number of the first coordinate under a parent position; behind the last parent position, the number of all
    /// coordinates.
    #[inline(always)]
    pub fn edge(&self, parent: usize) -> u64 {
        match &self.numbers {
            Some(numbers) => numbers[parent],
            None => self.edge_of(parent as u64),
        }
    }

    /// The number of coordinates under all parent positions.
    pub fn total(&self) -> usize {
        self.edge(self.parents()) as usize
    }

    /// The coordinates at positions of the plain level that are under one parent position.
    #[inline(always)]
    pub fn coordinates(&self, positions: Range<u64>) -> Coordinates<'a> {
        let stored = positions.start as usize..positions.end as usize;
        match self.crd {
            Some(Indices::U32(crd)) => Coordinates::U32(crd[stored].iter()),
            Some(Indices::U8(crd)) => Coordinates::U8(crd[stored].iter()),
            Some(Indices::U16(crd)) => Coordinates::U16(crd[stored].iter()),
            Some(Indices::U64(crd)) => Coordinates::U64(crd[stored].iter()),
            None if positions.is_empty() => Coordinates::Counted(0..0),
            None => {
                let first = positions.start % self.level.size().max(1);
                Coordinates::Counted(first..first + (positions.end - positions.start))
            }
        }
    }

    /// The coordinate at a position of the plain level.
    #[inline(always)]
    pub fn coordinate(&self, position: u64) -> u64 {
        match self.crd {
            Some(crd) => crd.get(position as usize),
            None => position % self.level.size().max(1),
        }
    }

    /// The coordinates under a parent position, ascending.
    #[inline(always)]
    pub fn under(&self, parent: usize) -> Coordinates<'a> {
        self.coordinates(self.range(parent))
    }

    /// The least and the greatest coordinate under a parent position, if there are any.
    pub fn bounds(&self, parent: usize) -> Option<(u64, u64)> {
        let range = self.range(parent);
        (!range.is_empty()).then(|| (self.coordinate(range.start), self.coordinate(range.end - 1)))
    }

    /// The first position under a parent position whose coordinate is not below a bound.
    pub fn find(&self, parent: usize, bound: u64) -> u64 {
        let Range { start: mut low, end: mut high } = self.range(parent);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.coordinate(middle) < bound { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// The pieces of segments at `places`. A segment and the unused places behind it take those from `edge(parent)` up
    /// to `edge(parent + 1)`.
    pub fn pieces_at<'s>(
        &'s self,
        edge: impl Fn(usize) -> u64 + 's,
        places: Range<usize>,
    ) -> impl Iterator<Item = Piece> + 's {
        let (start, stop) = (places.start as u64, places.end as u64);
        let (mut low, mut high) = (0, self.parents());
        while low < high {
            let middle = low + (high - low) / 2;
            if edge(middle + 1) <= start { low = middle + 1 } else { high = middle }
        }
        let mut begin = if low < self.parents() { edge(low) } else { stop };
        (low..self.parents()).map_while(move |parent| {
            let (first, end) = (begin, edge(parent + 1));
            begin = end;
            let own = first.max(start)..end.min(stop);
            (first < stop).then(|| {
                let range = self.range(parent);
                let used = range.end - range.start;
                let skipped = own.start.saturating_sub(first);
                let positions = range.start + skipped.min(used)..range.start + (own.end - first).min(used);
                let unused = (own.end - own.start - (positions.end - positions.start)) as usize;
                Piece { parent, skipped, positions, unused }
            })
        })
    }

    /// The pieces of segments with coordinates of these numbers.
    pub fn pieces(&self, numbers: Range<usize>) -> impl Iterator<Item = Piece> + '_ {
        self.pieces_at(|parent| self.edge(parent), numbers)
    }

    /// The coordinate before a piece in its segment; `None` where the segment begins.
    #[inline(always)]
    pub fn before(&self, piece: &Piece) -> Option<u64> {
        (piece.skipped > 0).then(|| self.coordinate(piece.positions.start - 1))
    }

    /// True if the values at two positions of the plain level are known to have the same bits.
    pub fn same(&self, a: u64, b: u64) -> bool {
        let Some(values) = self.values else { return false };
        with_word!(values.dtype(), V => {
            let words = values.as_words::<V>();
            words.get(a as usize) == words.get(b as usize)
        })
    }

    /// The beginnings of runs in a range of numbers: the number of the first coordinate of each, and this coordinate. A
    /// run goes on at the next coordinate, if that `joins` it, given the position before and its own.
    fn beginnings<'s>(
        &'s self,
        numbers: Range<usize>,
        joins: impl Fn(u64, u64) -> bool + Copy + 's,
    ) -> impl Iterator<Item = (u64, u64)> + 's {
        let mut number = numbers.start as u64;
        self.pieces(numbers).flat_map(move |piece| {
            let mut next = self.before(&piece).map(|before| before + 1);
            let (mut own, mut position) = (number, piece.positions.start);
            number += piece.positions.end - piece.positions.start;
            self.coordinates(piece.positions).filter_map(move |coordinate| {
                let goes_on = next == Some(coordinate) && joins(position - 1, position);
                let beginning = (!goes_on).then_some((own, coordinate));
                (next, own, position) = (Some(coordinate + 1), own + 1, position + 1);
                beginning
            })
        })
    }

    /// The coordinates as runs of neighbors, each of which `joins` the run, given the position before and its own.
    ///
    /// # Errors
    /// Memory is refused.
    pub fn runs(&self, place: Place, joins: impl Fn(u64, u64) -> bool + Copy + Sync) -> Result<Runs, StorageError> {
        let (positions, total) = (place.positions(), self.total());
        let (mut chunks, _) = chunked(total);
        let mut counts = parallel::map(&chunks, |_, chunk| self.beginnings(chunk.clone(), joins).count());
        let first = index_parts(&counts, place.coordinates(), |chunk| {
            self.beginnings(chunks[chunk].clone(), joins).map(|(_, coordinate)| coordinate)
        })?;
        // The last run ends with all.
        chunks.push(total..total);
        counts.push(1);
        let start = index_parts(&counts, positions, |chunk| {
            let end = (chunk + 1 == chunks.len()).then_some(total as u64);
            self.beginnings(chunks[chunk].clone(), joins).map(|(number, _)| number).chain(end)
        })?;
        let (parents, lengths) = chunked(self.parents() + 1);
        let edges = with_indices!(start.indices().unwrap_or(Indices::U32(&[])), start => {
            index_parts(&lengths, positions, |chunk| {
                let own = parents[chunk].clone();
                let mut run = start.partition_point(|start| start.get() < self.edge(own.start));
                own.map(move |parent| {
                    let edge = self.edge(parent);
                    run += start[run..].iter().take_while(|start| start.get() < edge).count();
                    run as u64
                })
            })?
        });
        Ok(Runs { edges, first, start })
    }

    /// The position of a coordinate in the plain level, given its number.
    pub fn position(&self, number: u64) -> u64 {
        match &self.numbers {
            None => number,
            Some(numbers) => {
                let parent = numbers.partition_point(|edge| *edge <= number).saturating_sub(1);
                self.range(parent).start + (number - numbers[parent])
            }
        }
    }

    /// The starts of segments, as an index array.
    ///
    /// # Errors
    /// Memory is refused.
    pub fn edges(&self, width: IndexWidth) -> Result<Buffer, StorageError> {
        match self.pos {
            Some(pos) if self.numbers.is_none() => Ok(copied(pos, width)?),
            _ => Ok(index_array(self.parents() + 1, width, |parent| self.edge(parent))?),
        }
    }

    /// An index array with a number for each coordinate: `of` is told of each piece, and of each of its coordinates.
    ///
    /// # Errors
    /// Memory is refused.
    pub fn column<F: FnMut(u64) -> u64>(
        &self,
        width: IndexWidth,
        of: impl Fn(&Piece) -> F + Sync,
    ) -> Result<Buffer, StorageError> {
        let (chunks, lengths) = chunked(self.total());
        Ok(index_parts(&lengths, width, |chunk| {
            self.pieces(chunks[chunk].clone()).flat_map(|piece| {
                let of = of(&piece);
                self.coordinates(piece.positions).map(of)
            })
        })?)
    }

    /// The places of a level that has a position for each coordinate, in their order.
    ///
    /// # Errors
    /// Memory is refused.
    pub fn places(&self) -> Result<Places, StorageError> {
        if self.numbers.is_none() {
            return Ok(Places::Same(self.total()));
        }
        let (chunks, lengths) = chunked(self.total());
        let positions = |chunk: usize| self.pieces(chunks[chunk].clone()).flat_map(|piece| piece.positions);
        Ok(Places::Listed(index_parts(&lengths, self.width(), positions)?))
    }

    /// The width of the places of a level.
    pub fn width(&self) -> IndexWidth {
        Places::width(self.positions)
    }

    /// The coordinates as a compressed level has them, one segment behind the other.
    ///
    /// # Errors
    /// Memory is refused.
    pub fn copied(&self, place: Place) -> Result<(LevelStorage, Places), StorageError> {
        let crd = match self.crd {
            Some(crd) if self.numbers.is_none() => copied(crd, place.coordinates())?,
            _ => self.column(place.coordinates(), |_| |coordinate| coordinate)?,
        };
        Ok((LevelStorage::compressed(self.edges(place.positions())?, crd), self.places()?))
    }

    /// The places of a level with positions for all coordinates from `first(parent)` on: the positions of a parent
    /// begin at its edge.
    ///
    /// # Errors
    /// Positions are too many, or memory is refused.
    pub fn between(&self, edges: &[u64], first: impl Fn(usize) -> u64 + Sync) -> Result<Places, StorageError> {
        let total = usize::try_from(edges[self.parents()]);
        let total = total.map_err(|_| StorageError::overflow("the number of positions"))?;
        Ok(Places::Listed(with_width!(self.width(), P => {
            let mut places = Array::<P>::of(total, |_| P::of(NOWHERE))?;
            parallel::fill_chunks(&mut places, GRAIN, |start, chunk| {
                let stop = (start + chunk.len()) as u64;
                let mut parent = edges.partition_point(|edge| *edge <= start as u64).saturating_sub(1);
                while parent < self.parents() && edges[parent] < stop {
                    let own = edges[parent].max(start as u64)..edges[parent + 1].min(stop);
                    let coordinate = |place: u64| place - edges[parent] + first(parent);
                    let positions = self.find(parent, coordinate(own.start))..self.find(parent, coordinate(own.end));
                    positions.clone().zip(self.coordinates(positions)).for_each(|(position, found)| {
                        let place = found - first(parent) + edges[parent];
                        chunk[(place - start as u64) as usize] = P::of(position);
                    });
                    parent += 1;
                }
            });
            Buffer::from_array(places)
        })))
    }

    /// The places of a level that has a position for each coordinate of the dimension.
    ///
    /// # Errors
    /// Positions are too many, or memory is refused.
    pub fn by_coordinate(&self, place: Place) -> Result<Places, StorageError> {
        if self.numbers.is_none() && self.level.kind() == LevelKind::DENSE {
            return self.places();
        }
        let overflow = || StorageError::overflow(format!("the number of positions of level {}", place.level));
        (self.parents() as u64).checked_mul(place.size()).ok_or_else(overflow)?;
        let edges = Array::of(self.parents() + 1, |parent| parent as u64 * place.size())?;
        self.between(&edges, |_| 0)
    }

    /// The coordinates of a level that has one for each parent position; `absent` where there is none.
    ///
    /// # Errors
    /// There are several, or memory is refused.
    pub fn one_each(&self, place: Place, absent: u64) -> Result<(Buffer, Places), StorageError> {
        let refused = |parent: usize| {
            let dimension = place.dimension();
            let reason = match self.count(parent) {
                0 if absent == 0 && place.size() == 0 => {
                    format!("dimension {dimension} has size 0, but one coordinate is needed")
                }
                0 | 1 => return None,
                _ => {
                    let first = self.range(parent).start;
                    format!(
                        "the level holds one coordinate of dimension {dimension}, but there are {} and {} at least; a \
                         compressed level holds several",
                        self.coordinate(first),
                        self.coordinate(first + 1)
                    )
                }
            };
            Some(StorageError::NotRepresentable {
                format: Box::new(place.format.clone()),
                above: Above::Position(parent as u64),
                reason,
            })
        };
        parallel::first(self.parents(), refused).map_or(Ok(()), Err)?;
        let coordinate = |parent: usize| self.under(parent).next().unwrap_or(absent);
        let crd = index_array(self.parents(), place.coordinates(), coordinate)?;
        if self.total() == self.parents() {
            return Ok((crd, self.places()?));
        }
        let at = |parent: usize| if self.count(parent) == 0 { NOWHERE } else { self.range(parent).start };
        Ok((crd, Places::Listed(index_array(self.parents(), self.width(), at)?)))
    }
}

/// Ranges of numbers that a task each is made of, and their lengths.
pub fn chunked(len: usize) -> (Vec<Range<usize>>, Vec<usize>) {
    let chunks: Vec<Range<usize>> = parallel::chunks(len, GRAIN).collect();
    let lengths = chunks.iter().map(Range::len).collect();
    (chunks, lengths)
}

/// Coordinates that follow each other in a plain level.
pub enum Coordinates<'a> {
    /// Stored in 8 bits.
    U8(std::slice::Iter<'a, u8>),
    /// In 16 bits.
    U16(std::slice::Iter<'a, u16>),
    /// In 32 bits.
    U32(std::slice::Iter<'a, u32>),
    /// In 64 bits.
    U64(std::slice::Iter<'a, u64>),
    /// The coordinates of a dense level.
    Counted(Range<u64>),
}

impl Iterator for Coordinates<'_> {
    type Item = u64;

    #[inline(always)]
    fn next(&mut self) -> Option<u64> {
        match self {
            Coordinates::U8(crd) => crd.next().map(|coordinate| coordinate.get()),
            Coordinates::U16(crd) => crd.next().map(|coordinate| coordinate.get()),
            Coordinates::U32(crd) => crd.next().map(|coordinate| coordinate.get()),
            Coordinates::U64(crd) => crd.next().copied(),
            Coordinates::Counted(crd) => crd.next(),
        }
    }

    /// The width of their storage is asked for once, outside of the loop.
    #[inline(always)]
    fn fold<B, F: FnMut(B, u64) -> B>(self, start: B, mut with: F) -> B {
        match self {
            Coordinates::U8(crd) => crd.fold(start, |so_far, coordinate| with(so_far, coordinate.get())),
            Coordinates::U16(crd) => crd.fold(start, |so_far, coordinate| with(so_far, coordinate.get())),
            Coordinates::U32(crd) => crd.fold(start, |so_far, coordinate| with(so_far, coordinate.get())),
            Coordinates::U64(crd) => crd.fold(start, |so_far, coordinate| with(so_far, *coordinate)),
            Coordinates::Counted(crd) => crd.fold(start, with),
        }
    }
}

//! Conversion into formats whose positions can be computed: every entry goes straight to its place.
//!
//! They can if at most one level is *counted*: its positions depend on the stored entries, and an attribute query tells
//! them. Above it are full levels, whose positions number *bins*; below it are full levels, or one that keeps a
//! coordinate for each position ([`Assembly`]). Two passes over the source, bin after bin: the query, and the entries.
//!
//! ```text
//! bcsr(2,2)     bins  i/2    counted  j/2, compressed: which are there    below  i%2, j%2
//! dia           one bin      counted  j-i, compressed: which are there    below  i
//! sell(8)       bins  i/8    counted  #i, slots: the most                 below  i%8, and j for each position
//! skyline       bins  i      counted  j, banded: the least and the most
//! ```
//!
//! The source has a dense level over the dimension that makes bins, and compressed ones below ([`Placing::stage`]). So a bin's entries
//! follow each other, and threads take ranges of bins, or of rows where there is one bin. Besides the result there are, for each thread,
//! four bytes for each coordinate of a counted level that is compressed. The way back from slots is that of `rows.rs`.
//!
//! Paper: Chou et al., *Automatic Generation of Efficient Sparse Tensor Format Conversion Routines* (PLDI 2020), §5
//! (attribute queries) and §6 (assembly).

mod fill;
mod locate;
mod rows;
mod walk;

use std::ops::Range;

use lacunar_formats::{Format, IndexWidth, Level, Map, Term};

use crate::array::Array;
use crate::buffer::{Buffer, Indices, Number};
use crate::error::StorageError;
use crate::fits::{by_rows, positions, widen};
use crate::forms::Form;
use crate::index_array::{index_array, of_width};
use crate::parallel;
use crate::route::Facts;
use crate::storage::{Assembly, LevelStorage, assembly, numbers};
use crate::tensor::Tensor;
use fill::put;
use locate::{Locate, Shifted, Slots, Table, TableByBin, Uncounted};
pub use rows::rows;
use walk::{Distinct, Parents, Source, Walk};

/// The number of entries that are worth a thread.
const GRAIN: usize = 1 << 14;
/// The bytes of tables that are always allowed.
const SMALL: u64 = 1 << 16;

/// The format of the levels that take the place of a format's: itself, or plain ones if its levels need sorted
/// coordinates.
pub fn placed_format(format: &Format) -> Format {
    let sorted = |level: &Level| assembly(level.kind) == Assembly::Sorted;
    if format.levels().iter().any(sorted) { format.plain() } else { format.clone() }
}

/// The placing of rows into slots as if they were in another order; `None` if they have to be put into that order first.
pub fn in_order(source: &Facts, format: &Format) -> Option<Placing> {
    let placing = Placing::new(source, format)?;
    (source.dims.len() == 2 && placing.counts_slots() && placing.takes(source)).then_some(placing)
}

/// The placing of a matrix that stores its rows in slots with a coordinate each or none; `None` for all other storage.
pub fn slots(source: &Facts) -> Option<Placing> {
    if source.dims.len() != 2 {
        return None;
    }
    let placing = Placing::new(source, &source.format()?.of_ranks())?;
    let absent = *placing.assemblies.last()? == Assembly::Single { absent: true };
    (placing.counts_slots() && absent).then_some(placing)
}

/// The computation of the places of entries in a format.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Placing {
    format: Format,
    dims: Vec<u64>,
    /// The term that each level stores.
    terms: Vec<Term>,
    /// The assembly of each level.
    assemblies: Vec<Assembly>,
    /// The level that is counted.
    counted: Option<usize>,
    /// The dimension whose coordinates make bins or count slots.
    first: Option<usize>,
    /// The number of its coordinates in a bin; 0 if there is one bin.
    block: u64,
    /// The least width of the innermost coordinates of a source: 32 bits, or 64 if such a column is made of them.
    width: IndexWidth,
}

impl Placing {
    /// The placing of entries into a format; `None` if its positions cannot be computed, or tables would be larger than the source.
    pub fn new(source: &Facts, format: &Format) -> Option<Placing> {
        let dims = &source.dims;
        let whole = |level: &usize| Term::Whole(*level);
        let terms = match format.map() {
            Some(map) => map.terms().to_vec(),
            None => format.mode_order().iter().map(whole).collect(),
        };
        let of = |level: &Level| level.unique.then(|| assembly(level.kind));
        let assemblies: Vec<Assembly> = format.levels().iter().map(of).collect::<Option<_>>()?;
        let counted = assemblies.iter().position(|assembly| assembly.is_counted());
        let last = terms.len().checked_sub(1)?;
        let below = counted.map_or(0, |level| level + 1);
        let is_placed = |level: usize| match assemblies[level] {
            Assembly::Full => true,
            // Two entries cannot have one place only where slots tell apart those that differ in this dimension alone.
            Assembly::Single { .. } => {
                let counted = format.map().and_then(Map::ordinal).map(|(_, dimension)| dimension);
                level == last
                    && matches!(terms[last], Term::Whole(own) if counted.is_some_and(|counted| counted != own))
            }
            _ => false,
        };
        let (mut first, mut block) = (None, 0);
        if counted == Some(1) {
            (first, block) = match (terms[0], assemblies[0]) {
                (Term::Whole(d), Assembly::Full) => (Some(d), 1),
                (Term::Quotient(d, size), Assembly::Full) => (Some(d), u64::from(size)),
                _ => return None,
            };
        }
        let ordinal = terms.iter().position(|term| matches!(term, Term::Ordinal(_)));
        if let Some(level) = ordinal {
            let counts = Some(terms[level].dimension());
            // Entries do not tell their slots: these are counted from 0 on.
            let is_counted = counted == Some(level) && assemblies[level] == Assembly::Extent;
            if !is_counted || first.is_some_and(|_| first != counts) {
                return None;
            }
            first = counts;
        }
        let singles = assemblies.iter().any(|assembly| matches!(assembly, Assembly::Single { .. }));
        // Coordinates that each have a position of their own are sorted in another way.
        let listed = counted == Some(last) && assemblies[last] == Assembly::Distinct && format.map().is_none();
        let fits = dims.len() >= 2
            && counted.is_none_or(|level| level <= 1)
            && counted.is_none_or(|level| level == 0 || first.is_some())
            && (below..=last).all(is_placed)
            && (!singles || ordinal.is_some() && dims.len() == 2)
            && !listed
            && !assemblies.iter().all(|assembly| *assembly == Assembly::Full);
        let own = match assemblies[last] {
            Assembly::Single { .. } => widen(format, dims, source.entries).coordinates(last),
            _ => source.format().map_or(IndexWidth::W32, |format| format.coordinates(format.levels().len() - 1)),
        };
        let width = own.wider(IndexWidth::W32);
        let (format, dims) = (format.clone(), dims.clone());
        let placing = Placing { format, dims, terms, assemblies, counted, first, block, width };
        (fits && placing.is_affordable(source)).then_some(placing)
    }

    /// True if tables take less than the source.
    fn is_affordable(&self, source: &Facts) -> bool {
        let table = match self.counted {
            Some(level) if self.assemblies[level] == Assembly::Distinct => self.stored_size(level),
            _ => Some(0),
        };
        let rows = self.dims.get(self.first.unwrap_or(0)).copied();
        // Tables count in 32 bits.
        let entries = u32::try_from(source.entries).ok();
        let table = table.filter(|size| entries.is_some() && u32::try_from(*size).is_ok());
        let bytes = table.zip(rows).and_then(|(table, rows)| {
            let entries = usize::try_from(source.entries).ok()?;
            let tables = table.checked_mul(4 * parallel::parts(entries, GRAIN) as u64)?;
            tables.checked_add(rows.checked_mul(8)?)
        });
        bytes.is_some_and(|bytes| bytes <= source.bytes.max(SMALL))
    }

    /// The most coordinates that a level stores; `None` for slots.
    fn stored_size(&self, level: usize) -> Option<u64> {
        match self.format.map() {
            Some(map) => map.stored_dims(&self.dims)?.get(level).copied().flatten(),
            None => self.dims.get(self.format.mode_order()[level]).copied(),
        }
    }

    /// The format that entries get into.
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// The query to answer before entries have places, in words.
    pub fn query(&self) -> Option<String> {
        let level = self.counted?;
        let number = level + 1;
        Some(match self.assemblies[level] {
            _ if self.counts_slots() && level == 0 => "the longest row".to_string(),
            _ if self.counts_slots() => format!("the longest row under each coordinate of level {level}"),
            Assembly::Extent => format!("the greatest coordinate of level {number}"),
            Assembly::Span => format!("the least and the greatest coordinate of level {number}"),
            _ => format!("which coordinates level {number} has"),
        })
    }

    fn counts_slots(&self) -> bool {
        self.counted.is_some_and(|level| matches!(self.terms[level], Term::Ordinal(_)))
    }

    /// True if a source can be taken as it is.
    pub fn takes(&self, source: &Facts) -> bool {
        let Some(format) = source.format() else { return false };
        let (levels, modes) = (format.levels(), format.mode_order());
        let in_order = !self.counts_slots() || modes[1..].is_sorted();
        !source.padded
            && levels[0] == Level::DENSE
            && levels[1..].iter().all(|level| *level == Level::COMPRESSED)
            && self.first.is_none_or(|first| modes[0] == first)
            && format.coordinates(levels.len() - 1) == self.width
            && in_order
    }

    /// The format that is taken.
    ///
    /// # Errors
    /// There are too many dimensions.
    pub fn stage(&self) -> Result<Format, StorageError> {
        let order = self.dims.len();
        Ok(by_rows(order, self.first.unwrap_or(0))?.with_coordinates(order - 1, self.width))
    }

    /// The sizes of the levels below the counted one that have a position for each coordinate.
    fn inner_sizes(&self) -> Result<Vec<u64>, StorageError> {
        let below = self.counted.map_or(0, |level| level + 1);
        let size = |level: usize| match self.assemblies[level] {
            Assembly::Single { .. } => Some(1),
            _ => self.stored_size(level),
        };
        let sizes: Option<Vec<u64>> = (below..self.terms.len()).map(size).collect();
        sizes.ok_or_else(|| StorageError::overflow("the size of a level"))
    }

    /// Puts the entries of a source that is taken to their places. If an `order` is given, row `k` is that of
    /// coordinate `order[k]`.
    ///
    /// # Errors
    /// The format cannot hold the entries, or memory is refused.
    pub fn place(&self, tensor: &Tensor, order: Option<&[u64]>) -> Result<Tensor, StorageError> {
        let source = Source::new(tensor, order)?;
        let described = (tensor.format(), &self.dims[..]);
        // The coordinate that is counted, and the place below its position.
        let (mut number, mut place) = (Form::<u64>::zero(tensor.order()), Form::<u64>::zero(tensor.order()));
        if let Some(level) = self.counted {
            number.add_term(self.terms[level], 1, described);
        }
        let inner = self.inner_sizes()?;
        let mut stride = positions(1, &inner)?;
        let block = stride;
        for (level, size) in (self.terms.len() - inner.len()..).zip(&inner) {
            stride = stride.checked_div(*size).unwrap_or(0);
            if !matches!(self.assemblies[level], Assembly::Single { .. }) {
                place.add_term(self.terms[level], stride, described);
            }
        }
        let coordinates = Parents::new(&number, tensor)?;
        let places = Parents::new(&place, tensor)?;
        let walk = Walk { source, coordinates, places, rows_of_bin: self.block, block };
        match tensor.levels()[tensor.order() - 1].numbers(1) {
            Indices::U64(crd) => self.assemble(&walk, crd),
            Indices::U32(crd) => self.assemble(&walk, crd),
            // A source of narrower ones is not taken.
            Indices::U8(_) | Indices::U16(_) => Err(StorageError::overflow("the size of a dimension")),
        }
    }

    /// The query, then the levels and the values.
    fn assemble<C: Number>(&self, walk: &Walk, crd: &[C]) -> Result<Tensor, StorageError> {
        let size = self.counted.and_then(|level| self.stored_size(level));
        let Some(level) = self.counted else {
            return self.fill(walk, crd, Counted { size: 0, arrays: Vec::new(), count: 1 }, || Uncounted);
        };
        match self.assemblies[level] {
            Assembly::Distinct => self.assemble_distinct(walk, crd, (level, size.unwrap_or(0))),
            Assembly::Extent => {
                let bounds = if self.counts_slots() { walk.slots() } else { walk.bounds(crd) };
                let edges = parallel::edges(bounds.len(), |bin| bounds[bin].end)?;
                let longest = bounds.iter().map(|bounds| bounds.end).max().unwrap_or(0);
                let count = edges[edges.len() - 1];
                let arrays = vec![numbers(&edges, self.widened(count).positions(level))?];
                let counted = Counted { size: size.unwrap_or(longest), arrays, count };
                match self.counts_slots() {
                    true => self.fill(walk, crd, counted, || Slots::new(&edges)),
                    false => self.fill(walk, crd, counted, || Shifted::new(&edges, None)),
                }
            }
            _ => {
                let bounds = walk.bounds(crd);
                let length = |bounds: &Range<u64>| bounds.end.saturating_sub(bounds.start);
                let edges = parallel::edges(bounds.len(), |bin| length(&bounds[bin]))?;
                let count = edges[edges.len() - 1];
                let format = self.widened(count);
                let first = |bin: usize| if bounds[bin].is_empty() { 0 } else { bounds[bin].start };
                let firsts = index_array(bounds.len(), format.coordinates(level), first)?;
                let arrays = vec![numbers(&edges, format.positions(level))?, firsts];
                let counted = Counted { size: size.unwrap_or(0), arrays, count };
                self.fill(walk, crd, counted, || Shifted::new(&edges, Some(&bounds)))
            }
        }
    }

    fn assemble_distinct<C: Number>(
        &self,
        walk: &Walk,
        crd: &[C],
        (level, size): (usize, u64),
    ) -> Result<Tensor, StorageError> {
        let len = usize::try_from(size).map_err(|_| StorageError::overflow("the size of a level"))?;
        let Distinct { edges, coordinates } =
            if walk.has_bins() { walk.distinct(crd, len)? } else { walk.marked(crd, len)? };
        let count = coordinates.len() as u64;
        let format = self.widened(count);
        let column = index_array(coordinates.len(), format.coordinates(level), |k| u64::from(coordinates[k]))?;
        let counted = Counted { size, arrays: vec![numbers(&edges, format.positions(level))?, column], count };
        if walk.has_bins() {
            return self.fill(walk, crd, counted, || TableByBin::new(&edges, &coordinates, len));
        }
        let mut table = Array::<u32>::zeroed(len)?;
        coordinates.iter().zip(0..).for_each(|(&coordinate, rank)| table[coordinate as usize] = rank);
        self.fill(walk, crd, counted, || Table::new(&table, count))
    }

    /// The format with arrays wide enough for the stored dimensions and so many positions.
    fn widened(&self, positions: u64) -> Format {
        widen(&self.format, &self.dims, positions)
    }

    /// The values in place, and the levels around the counted one. `locate` gives a task the means to find an entry's
    /// position on the counted level.
    fn fill<C: Number, N: Locate>(
        &self,
        walk: &Walk,
        crd: &[C],
        counted: Counted,
        locate: impl Fn() -> N + Sync,
    ) -> Result<Tensor, StorageError> {
        let overflow = || StorageError::overflow("the number of values");
        let total = positions(counted.count, &self.inner_sizes()?)?;
        let total = usize::try_from(total).map_err(|_| overflow())?;
        let format = self.widened(counted.count);
        let last = self.terms.len() - 1;
        let tensor = walk.source.tensor;
        let mut moved = vec![(tensor.values(), 0)];
        let columns = tensor.levels()[tensor.order() - 1].crd();
        if let (Assembly::Single { absent }, Some(columns)) = (self.assemblies[last], columns) {
            // The largest number stands for no coordinate.
            moved.push((columns, if absent { u8::MAX } else { 0 }));
        }
        let mut moved = put(walk, crd, locate, &moved, total)?.into_iter();
        let values = moved.next().ok_or_else(overflow)?;
        let beside = moved.next().map(|column| of_width(column, format.coordinates(last))).transpose()?;
        let Counted { size, arrays, .. } = counted;
        let (mut own, mut beside) = (Some((size, arrays)), beside.map(|buffer| vec![buffer]));
        let mut levels = Vec::with_capacity(self.terms.len());
        for (level, described) in self.format.levels().iter().enumerate() {
            let (size, arrays) = match own.take_if(|_| self.counted == Some(level)) {
                Some(own) => own,
                None if level == last => (self.stored_size(level).unwrap_or(0), beside.take().unwrap_or_default()),
                None => (self.stored_size(level).unwrap_or(0), Vec::new()),
            };
            levels.push(LevelStorage::new(described.kind, size, arrays));
        }
        Ok(Tensor::assemble(self.dims.clone(), format, levels, values))
    }
}

/// The level that is counted.
struct Counted {
    /// The number of possible coordinates.
    size: u64,
    arrays: Vec<Buffer>,
    /// The number of its positions; 1 if there is no such level.
    count: u64,
}

//! The arrays of a tensor's levels: one file per family of level kinds, named as in the compiler's `levels/`.
//!
//! A level turns *parent positions* (places in the level above; one for the outermost level) into *positions* of its
//! own. Each file defines the arrays that its levels keep, the storage of coordinates in them, their checks when they come from
//! outside, and their enumeration. A new family is a file with an implementation of [`LevelArrays`], its `mod` line, and a line
//! of `operations`; a kind that is made while the program runs finds its family's.
//!
//! Dense, compressed and singleton levels are *plain*: tensors of these are packed from lists and converted at the speed of
//! memory (`pack.rs`, `route/`). All others are made of plain ones and turned into them
//! (`spread.rs`), level by level.
//!
//! ```text
//! csr of  [ 5 . 6 ]    level 0 dense, size 3         positions 0 1 2
//!         [ . . . ]    level 1 compressed
//!         [ . 7 . ]      pos  0 2 2 3                positions 0..2 under 0, none under 1, 2..3 under 2
//!                        crd  0 2 1
//!                      values 5 6 7
//! ```

mod banded;
mod bitmap;
mod bounds;
mod checks;
mod compressed;
mod delta;
mod dense;
mod hashed;
mod loose;
mod nodes;
mod optional;
mod ranked;
mod repeated;
mod runs;
mod singleton;
mod slots;
mod unordered;

use std::ops::Range;

use lacunar_formats::{Family, Format, IndexWidth, LevelKind, Part, Schema};

use crate::array::{Array, Plain};
use crate::buffer::{Buffer, Indices, Number};
use crate::dispatch::with_width;
use crate::error::{AllocError, StorageError};
use crate::keys::Entries;
use crate::nodes::{Gaps, Kept, Payload, Put};

pub use bounds::{Bounds, Offsets};
pub use checks::{
    check_ascending, check_edges, check_extents, check_length, check_range, check_size, checked_indices,
    first_reaching, last, length, stored_at,
};

pub use crate::insert::{Inserted, Inserter, Unsorted};
pub use crate::segments::{NOWHERE, Piece, Places, Segments, chunked};
pub use crate::spread::{Spread, numbers};

/// The place of a level, for packing, checking and messages.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The format of the tensor; its widths are those of the arrays.
    pub format: &'a Format,
    /// The sizes of the dimensions.
    pub dims: &'a [u64],
    /// The number of the level, outermost 0.
    pub level: usize,
}

impl Place<'_> {
    /// The kind of the level.
    pub fn kind(&self) -> LevelKind {
        self.format.levels()[self.level].kind
    }

    /// The size of the dimension the level stores.
    pub fn size(&self) -> u64 {
        self.dims[self.dimension()]
    }

    /// The dimension the level stores.
    pub fn dimension(&self) -> usize {
        self.format.mode_order()[self.level]
    }

    /// The width of the level's positions.
    pub fn positions(&self) -> IndexWidth {
        self.format.positions(self.level)
    }

    /// The width of the level's coordinates; 32 bits, whatever the size of the dimension, for kinds that keep none.
    pub fn coordinates(&self) -> IndexWidth {
        self.format.coordinates(self.level)
    }

    /// The last level whose coordinates distinguish the positions of this one. A non-unique level repeats a
    /// coordinate for each position of the singleton level below; every other level has one position per coordinate.
    pub fn distinguished_to(&self) -> usize {
        let levels = self.format.levels();
        let below = |level: usize| levels.get(level + 1).is_some_and(|next| next.kind == LevelKind::SINGLETON);
        let mut last = self.level;
        while !levels[last].unique && below(last) {
            last += 1;
        }
        last
    }

    /// True if this is the innermost level.
    pub fn is_last(&self) -> bool {
        self.level + 1 == self.format.order()
    }
}

/// The operations of the level kinds of a family at run time. `operations` gives them for a kind.
pub trait LevelArrays: Sync {
    /// The length of array number `part` of a level, under `parents` positions, if the arrays before it are there. `None` if
    /// that overflows, or they say nothing of it. Asked when a kernel's result becomes a level. Unless a kind says
    /// otherwise, the first array has the edges of segments, and the others a number for each place in these.
    fn length(&self, part: usize, parents: u64, before: &LevelStorage) -> Option<u64> {
        if part == 0 { parents.checked_add(1) } else { Some(last(before.numbers(0))) }
    }

    /// The number of positions of a level under `parents` positions; `None` if that overflows. Unless a kind says otherwise, each
    /// place in a segment is one.
    fn positions(&self, level: &LevelStorage, _parents: u64) -> Option<u64> {
        Some(level.numbers(1).len() as u64)
    }

    /// Checks arrays from outside, whose numbers may be any: types, lengths, ranges. Returns the number of positions.
    /// After this, enumerating reads and writes nothing out of bounds. Kinds other than compressed also check here that
    /// coordinates ascend. It takes no longer than the arrays are long: edges are checked before the numbers between
    /// them.
    ///
    /// # Errors
    /// The fault of the arrays.
    fn check(&self, level: &LevelStorage, parents: u64, place: Place) -> Result<u64, StorageError>;

    /// The assembly of a level from coordinates that come one by one.
    fn assembly(&self) -> Assembly {
        Assembly::Sorted
    }

    /// Stores the coordinates of a plain level (dense, compressed or singleton), and says which position of it each position of
    /// this level stands for: see `spread.rs`.
    ///
    /// # Errors
    /// The level cannot hold the coordinates, or memory is refused.
    fn spread(&self, segments: &Segments, place: Place) -> Result<Spread, StorageError>;

    /// The function that stores coordinates that come in any order and may repeat; `None` for kinds that need them
    /// sorted.
    fn inserter(&self) -> Option<Inserter> {
        None
    }

    /// The number of coordinates under a parent position: a query that is answered before [`LevelArrays::visit`] is called with
    /// as many. The arrays have been checked.
    fn count(&self, level: &LevelStorage, parent: u64) -> u64;

    /// True if [`LevelArrays::count`] visits what it counts, and coordinates and positions are numbers of 32 bits: then all are better
    /// listed in one visit.
    fn counts_by_visits(&self) -> bool {
        false
    }

    /// Calls `each` with the coordinate and the position of every entry under a parent position, in the order of
    /// coordinates. The arrays have been checked. Several threads do so.
    fn visit(&self, level: &LevelStorage, parent: u64, each: &mut dyn FnMut(u64, u64));

    /// Asks for the memory of parent positions that are visited soon: `behind` tells the one that is visited after so many others. Nothing is
    /// asked for where it lies in the order of visits.
    fn visits_soon(&self, _level: &LevelStorage, _behind: &dyn Fn(usize) -> Option<u64>) {}

    /// The position of a coordinate under a parent position, if it is stored there. The arrays have been checked.
    fn find(&self, level: &LevelStorage, parent: u64, coordinate: u64) -> Option<u64> {
        let mut found = None;
        self.visit(level, parent, &mut |other, position| {
            if other == coordinate {
                found = Some(position);
            }
        });
        found
    }

    /// Stores a coordinate under a parent position, if there is room. `payload` is the data at positions, and moves with them. The
    /// arrays have been checked, and are owned; unless a kind says otherwise, the coordinate is not stored yet.
    ///
    /// # Errors
    /// Positions are too many, or memory is refused; nothing has been changed.
    fn put(
        &self,
        _level: &mut LevelStorage,
        _parent: u64,
        _coordinate: u64,
        _payload: Payload<'_>,
    ) -> Result<Put, StorageError> {
        Ok(Put::Nowhere)
    }

    /// Removes a coordinate that is stored under a parent position; tells if it could be removed in place. All else is
    /// as for [`LevelArrays::put`].
    ///
    /// # Errors
    /// Memory is refused; nothing has been changed.
    fn remove(
        &self,
        _level: &mut LevelStorage,
        _parent: u64,
        _coordinate: u64,
        _payload: Payload<'_>,
    ) -> Result<bool, StorageError> {
        Ok(false)
    }

    /// The same level with room for another coordinate under a parent position, and for more under others; `None` for kinds
    /// that do not grow in place.
    ///
    /// # Errors
    /// Positions are too many, or memory is refused.
    fn with_room(&self, _level: &LevelStorage, _parent: u64, _place: Place) -> Result<Option<Spread>, StorageError> {
        Ok(None)
    }
}

/// The assembly of a level from coordinates that come one by one: the queries on all coordinates under a parent
/// position that come before (attribute queries, Chou et al. 2020, §5), and the arrays that keep the answers. See
/// `placed/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assembly {
    /// Nothing: every coordinate has a position. No arrays.
    Full,
    /// Nothing: the one coordinate under each parent position is kept in the one array.
    Single {
        /// True if the array has the largest number where there is no coordinate; otherwise it has 0 there.
        absent: bool,
    },
    /// The coordinates that are there (`nir`): arrays of edges and of coordinates.
    Distinct,
    /// The greatest (`max`): every coordinate up to it has a position. An array of edges.
    Extent,
    /// The least and the greatest (`min`, `max`): every coordinate between has a position. Arrays of edges and of the least.
    Span,
    /// It is made of a plain level, whose coordinates are sorted.
    Sorted,
}

impl Assembly {
    /// True if the number of positions depends on the stored entries.
    pub fn is_counted(self) -> bool {
        [Assembly::Distinct, Assembly::Extent, Assembly::Span].contains(&self)
    }
}

/// The operations of a kind at run time.
fn operations(kind: LevelKind) -> &'static dyn LevelArrays {
    match kind.info().family {
        Family::Banded => &banded::Banded,
        Family::Bitmap => &bitmap::Bitmap,
        Family::Compressed => &compressed::Compressed,
        Family::Delta => &delta::Delta,
        Family::Dense => &dense::Dense,
        Family::Hashed => &hashed::Hashed,
        Family::Loose => &loose::Loose,
        Family::Nodes(_) => &nodes::Nodes,
        Family::Optional => &optional::Optional,
        Family::Ranked => &ranked::Ranked,
        Family::Repeated => &repeated::Repeated,
        Family::Runs => &runs::Runs,
        Family::Singleton => &singleton::Singleton,
        Family::Slots => &slots::Slots,
        Family::Unordered => &unordered::Unordered,
    }
}

/// The assembly of levels of a kind.
pub(crate) fn assembly(kind: LevelKind) -> Assembly {
    operations(kind).assembly()
}

/// The arrays of one level.
#[derive(Debug, PartialEq)]
pub struct LevelStorage {
    kind: LevelKind,
    /// The size of the dimension.
    size: u64,
    /// In the order of the kind's parts.
    arrays: Vec<Buffer>,
    /// The data that updates of a level of nodes keep.
    kept: Kept,
}

impl LevelStorage {
    /// A level of a kind for a dimension of `size` coordinates, with the arrays of the kind's parts.
    pub fn new(kind: LevelKind, size: u64, arrays: Vec<Buffer>) -> LevelStorage {
        // The arrays of these are all there is to them: wherever they come from, they are the same.
        let size = if [LevelKind::COMPRESSED, LevelKind::SINGLETON].contains(&kind) { 0 } else { size };
        LevelStorage { kind, size, arrays, kept: Kept::default() }
    }

    /// A dense level of `size` coordinates.
    pub fn dense(size: u64) -> LevelStorage {
        LevelStorage::new(LevelKind::DENSE, size, Vec::new())
    }

    /// A compressed level.
    pub fn compressed(pos: Buffer, crd: Buffer) -> LevelStorage {
        LevelStorage::new(LevelKind::COMPRESSED, 0, vec![pos, crd])
    }

    /// A singleton level.
    pub fn singleton(crd: Buffer) -> LevelStorage {
        LevelStorage::new(LevelKind::SINGLETON, 0, vec![crd])
    }

    /// A level whose arrays `take` gives, from the part and its length, under `parents` positions; with the number of its
    /// positions. A kernel's result becomes a level by it.
    ///
    /// # Errors
    /// The errors of `take`; a size overflows.
    pub fn receive<E: From<StorageError>>(
        kind: LevelKind,
        size: u64,
        parents: u64,
        take: &mut dyn FnMut(Part, u64) -> Result<Buffer, E>,
    ) -> Result<(LevelStorage, u64), E> {
        let overflow = || E::from(StorageError::overflow("the size of the result"));
        let small = |count: &u64| i64::try_from(*count).is_ok();
        let mut level = LevelStorage::new(kind, size, Vec::new());
        let operations = level.operations();
        for (place, &part) in kind.info().parts.iter().enumerate() {
            let len = operations.length(place, parents, &level).filter(small).ok_or_else(overflow)?;
            level.arrays.push(take(part, len)?);
        }
        let positions = operations.positions(&level, parents).filter(small).ok_or_else(overflow)?;
        Ok((level, positions))
    }

    /// The kind of the level.
    pub fn kind(&self) -> LevelKind {
        self.kind
    }

    /// The size of the dimension, if the kind needs it; a dense level has so many positions under each parent position.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The arrays with their names, in the order in which kernels take them: `pos`, `crd`.
    pub fn arrays(&self) -> impl Iterator<Item = (&'static str, &Buffer)> {
        self.kind.info().parts.iter().map(|part| part.name).zip(&self.arrays)
    }

    /// The arrays, for changes that leave the elements as they are.
    pub(crate) fn arrays_mut(&mut self) -> &mut [Buffer] {
        &mut self.arrays
    }

    /// The arrays, in the same order.
    pub(crate) fn into_arrays(self) -> Vec<Buffer> {
        self.arrays
    }

    /// The array of a name, of kinds that keep one.
    pub fn array(&self, name: &str) -> Option<&Buffer> {
        self.arrays.get(self.kind.place(name)?)
    }

    /// The position array, of kinds that keep one.
    pub fn pos(&self) -> Option<&Buffer> {
        self.array(Part::POSITIONS.name)
    }

    /// The coordinate array, of kinds that keep one.
    pub fn crd(&self) -> Option<&Buffer> {
        self.array(Part::COORDINATES.name)
    }

    /// The numbers of array number `part`; none if there is no such array.
    pub fn numbers(&self, part: usize) -> Indices<'_> {
        self.arrays.get(part).and_then(Buffer::indices).unwrap_or(Indices::U32(&[]))
    }

    /// Writes a number of array number `part`, which is owned and as wide as the number.
    pub fn set_number(&mut self, part: usize, place: u64, number: u64) {
        let Some(array) = self.arrays.get_mut(part) else { return };
        with_width!(IndexWidth::of(array.dtype()).unwrap_or(IndexWidth::W64), N => {
            if let Some(slot) = array.as_mut_slice::<N>().and_then(|numbers| numbers.get_mut(place as usize)) {
                *slot = N::of(number);
            }
        });
    }

    /// Copies numbers of array number `part`, which is owned, to a place of it and those behind; nothing if either is not within it.
    pub fn copy_numbers(&mut self, part: usize, from: Range<u64>, to: u64) {
        let Some(array) = self.arrays.get_mut(part) else { return };
        with_width!(IndexWidth::of(array.dtype()).unwrap_or(IndexWidth::W64), N => {
            if let Some(numbers) = array.as_mut_slice::<N>() {
                let (from, to) = (from.start as usize..from.end as usize, to as usize);
                let fits = from.start <= from.end && from.end <= numbers.len() && to <= numbers.len();
                if fits && from.len() <= numbers.len() - to {
                    numbers.copy_within(from, to);
                }
            }
        });
    }

    /// Copies arrays that are borrowed, for so many changes; of those that are shared perhaps the pages alone that are written to from now on.
    ///
    /// # Errors
    /// The system refused the memory.
    pub(crate) fn make_changeable(&mut self, changes: usize) -> Result<(), AllocError> {
        self.arrays.iter_mut().try_for_each(|array| array.make_changeable(changes))
    }

    /// The arrays of a level of nodes for changes, the roots and the words of nodes, and the data that updates keep; nothing of other
    /// levels.
    pub(crate) fn nodes_mut(&mut self) -> Option<(&'static Schema, &mut Buffer, &mut Buffer, &mut Kept)> {
        let schema = self.kind.schema()?;
        match self.arrays.as_mut_slice() {
            [roots, nodes] => Some((schema, roots, nodes, &mut self.kept)),
            _ => None,
        }
    }

    /// The schema of nodes and their arrays: handles of root nodes, and words of all nodes.
    pub(crate) fn nodes(&self) -> Option<(&'static Schema, &Buffer, &Buffer)> {
        match self.arrays.as_slice() {
            [roots, nodes] => Some((self.kind.schema()?, roots, nodes)),
            _ => None,
        }
    }

    /// Says how many elements a level of nodes has, which lie in order.
    pub(crate) fn set_laid_out(&mut self, elements: u64, gaps: Gaps) {
        (self.kept.laid_out, self.kept.gaps) = (elements, gaps);
    }

    /// Counts elements that are put in from 0 on again.
    pub(crate) fn forget_inserted(&mut self) {
        self.kept.inserted = 0;
    }

    /// The data that updates of nodes keep beside the arrays.
    pub(crate) fn kept(&self) -> &Kept {
        &self.kept
    }

    /// A level that uses the same arrays, until one of the two is written to.
    ///
    /// # Errors
    /// Memory is refused, for arrays that are lent.
    pub(crate) fn share(&mut self) -> Result<LevelStorage, AllocError> {
        let arrays = self.arrays.iter_mut().map(Buffer::share).collect::<Result<_, _>>()?;
        Ok(LevelStorage { arrays, kept: self.kept.clone(), ..*self })
    }

    /// Says that the dimension has another size, which the kind's arrays do not depend on.
    pub(crate) fn resize(&mut self, size: u64) {
        *self = LevelStorage {
            kept: std::mem::take(&mut self.kept),
            ..LevelStorage::new(self.kind, size, std::mem::take(&mut self.arrays))
        };
    }

    /// The number of positions of the level under `parents` positions; `None` if that overflows.
    pub fn positions(&self, parents: u64) -> Option<u64> {
        self.operations().positions(self, parents)
    }

    /// The level with `change` applied to each array.
    ///
    /// # Errors
    /// The errors of `change`.
    pub fn try_map<E>(
        self,
        mut change: impl FnMut(&'static str, Buffer) -> Result<Buffer, E>,
    ) -> Result<LevelStorage, E> {
        let LevelStorage { kind, size, arrays, .. } = self;
        let names = kind.info().parts.iter().map(|part| part.name);
        let arrays = names.zip(arrays).map(|(name, array)| change(name, array)).collect::<Result<_, E>>()?;
        Ok(LevelStorage { kind, size, arrays, kept: Kept::default() })
    }

    /// A second level of the same content.
    ///
    /// # Errors
    /// The system refused the memory.
    pub fn try_clone(&self) -> Result<LevelStorage, AllocError> {
        let arrays = self.arrays.iter().map(Buffer::try_clone).collect::<Result<_, _>>()?;
        Ok(LevelStorage { arrays, kept: self.kept.clone(), ..*self })
    }

    /// Packs one plain level of sorted, distinct entries. `parents` says which entries each parent position covers; the
    /// result says it of the level's own positions.
    pub(crate) fn pack(
        entries: &mut Entries,
        parents: Bounds,
        place: Place,
    ) -> Result<(LevelStorage, Bounds), StorageError> {
        let kind = place.kind();
        if kind == LevelKind::DENSE {
            dense::pack(entries, parents, place)
        } else if kind == LevelKind::SINGLETON {
            singleton::pack(entries, parents, place)
        } else {
            compressed::pack(entries, parents, place)
        }
    }

    /// Checks arrays from outside; see [`LevelArrays::check`].
    pub(crate) fn check(&self, parents: u64, place: Place) -> Result<u64, StorageError> {
        let parts = self.kind.info().parts.len() as u64;
        if self.arrays.len() as u64 != parts {
            let what = format!("the list of arrays of level {}", place.level);
            return Err(StorageError::Length { what, found: self.arrays.len() as u64, expected: parts });
        }
        self.operations().check(self, parents, place)
    }

    /// Checks that coordinates ascend under each parent. `chain` are the coordinate arrays of this level and the
    /// following ones up to [`Place::distinguished_to`], all checked.
    pub(crate) fn check_order(&self, chain: &[Indices], place: Place) -> Result<(), StorageError> {
        if self.kind == LevelKind::COMPRESSED { compressed::check_order(self, chain, place) } else { Ok(()) }
    }

    /// For each position of a plain level: `combine` of the value in `parents` at the parent position, and of the
    /// coordinate.
    pub(crate) fn extend<T: Plain>(
        &self,
        parents: &[T],
        combine: impl Fn(T, u64) -> T + Sync,
    ) -> Result<Array<T>, AllocError> {
        if self.kind == LevelKind::DENSE {
            dense::extend(self, parents, combine)
        } else if self.kind == LevelKind::SINGLETON {
            singleton::extend(self, parents, combine)
        } else {
            compressed::extend(self, parents, combine)
        }
    }

    /// The operations of the kind.
    pub(crate) fn operations(&self) -> &'static dyn LevelArrays {
        operations(self.kind)
    }

    /// Stores the coordinates of a plain level; see [`LevelArrays::spread`].
    pub(crate) fn spread(segments: &Segments, place: Place) -> Result<Spread, StorageError> {
        operations(place.kind()).spread(segments, place)
    }

    /// The function that stores coordinates in any order; see [`LevelArrays::inserter`].
    pub(crate) fn inserter(kind: LevelKind) -> Option<Inserter> {
        operations(kind).inserter()
    }
}

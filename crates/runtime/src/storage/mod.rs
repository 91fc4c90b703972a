//! The arrays of a tensor's levels: one file per level kind, named as in the compiler's `levels/`.
//!
//! A level turns *parent positions* (places in the level above; one for the outermost level) into *positions* of its
//! own. Each file says which arrays it keeps, how sorted entries are packed into them, how they are checked when they
//! come from outside, and how they are enumerated. A new kind is a file with an implementation of [`LevelArrays`] and
//! a line in `kinds!` below.
//!
//! ```text
//! csr of  [ 5 . 6 ]    level 0 dense, size 3         positions 0 1 2
//!         [ . . . ]    level 1 compressed
//!         [ . 7 . ]      pos  0 2 2 3                positions 0..2 under 0, none under 1, 2..3 under 2
//!                        crd  0 2 1
//!                      values 5 6 7
//! ```

mod bounds;

use lacunar_formats::{Format, IndexWidth, Level, LevelKind};

use crate::array::{Array, Plain};
use crate::buffer::{Buffer, Indices};
use crate::error::{AllocError, StorageError};
use crate::keys::Entries;

pub use bounds::{Bounds, Offsets};

/// Where a level stands, for packing, checking and messages.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The format of the tensor; its widths are those of the arrays.
    pub format: &'a Format,
    /// The sizes of the dimensions.
    pub dims: &'a [u64],
    /// Which level, outermost 0.
    pub level: usize,
}

impl Place<'_> {
    /// The size of the dimension the level stores.
    pub fn size(&self) -> u64 {
        self.dims[self.dimension()]
    }

    /// The dimension the level stores.
    pub fn dimension(&self) -> usize {
        self.format.mode_order()[self.level]
    }

    /// The last level whose coordinates distinguish the positions of this one. A non-unique level repeats a
    /// coordinate for each position of the singleton level below; every other level has one position per coordinate.
    pub fn distinguished_to(&self) -> usize {
        let levels = self.format.levels();
        let below = |level: usize| levels.get(level + 1).is_some_and(|next| next.kind == LevelKind::Singleton);
        let mut last = self.level;
        while !levels[last].unique && below(last) {
            last += 1;
        }
        last
    }

    /// Whether this is the innermost level.
    pub fn is_last(&self) -> bool {
        self.level + 1 == self.format.order()
    }
}

/// What a level kind does at run time.
pub trait LevelArrays: Sized {
    /// The arrays with their names, in the order in which kernels take them.
    fn arrays(&self) -> Vec<(&'static str, &Buffer)>;

    /// The level with `change` applied to each array.
    fn try_map<E>(self, change: impl FnMut(&'static str, Buffer) -> Result<Buffer, E>) -> Result<Self, E>;

    /// A second level of the same content.
    fn try_clone(&self) -> Result<Self, AllocError>;

    /// How many positions the level has under `parents` positions; `None` if that overflows.
    fn positions(&self, parents: u64) -> Option<u64>;

    /// Packs one level of sorted, distinct entries. `parents` says which entries each parent position covers; the
    /// result says it of the level's own positions.
    fn pack(entries: &mut Entries, parents: Bounds, place: Place) -> Result<(Self, Bounds), StorageError>;

    /// Checks arrays from outside: types, lengths, ranges. Returns the number of positions. After this, enumerating
    /// reads and writes nothing out of bounds.
    fn check(&self, parents: u64, place: Place) -> Result<u64, StorageError>;

    /// Checks that coordinates ascend under each parent. `chain` are the coordinate arrays of this level and the
    /// following ones up to [`Place::distinguished_to`], all checked.
    fn check_order(&self, chain: &[Indices], place: Place) -> Result<(), StorageError>;

    /// For each position: `combine` of what `parents` has at the parent position, and the coordinate.
    fn extend<T: Plain>(&self, parents: &[T], combine: impl Fn(T, u64) -> T + Sync) -> Result<Array<T>, AllocError>;
}

/// Declares the modules of level kinds, the enum of their arrays, and the dispatch.
macro_rules! kinds {
    ($($Kind:ident in $module:ident),* $(,)?) => {
        $(mod $module; pub use $module::$Kind;)*

        /// The arrays of one level.
        #[derive(Debug, PartialEq)]
        pub enum LevelStorage {
            $(
                #[doc = concat!("Of a `", stringify!($module), "` level.")]
                $Kind($Kind),
            )*
        }

        impl LevelStorage {
            /// The kind of the level.
            pub fn kind(&self) -> LevelKind {
                match self { $(LevelStorage::$Kind(_) => LevelKind::$Kind,)* }
            }

            /// The arrays with their names, in the order in which kernels take them: `pos`, `crd`.
            pub fn arrays(&self) -> Vec<(&'static str, &Buffer)> {
                match self { $(LevelStorage::$Kind(level) => level.arrays(),)* }
            }

            /// How many positions the level has under `parents` positions; `None` if that overflows.
            pub fn positions(&self, parents: u64) -> Option<u64> {
                match self { $(LevelStorage::$Kind(level) => level.positions(parents),)* }
            }

            /// The level with `change` applied to each array.
            ///
            /// # Errors
            /// Those of `change`.
            pub fn try_map<E>(
                self,
                change: impl FnMut(&'static str, Buffer) -> Result<Buffer, E>,
            ) -> Result<LevelStorage, E> {
                Ok(match self { $(LevelStorage::$Kind(level) => LevelStorage::$Kind(level.try_map(change)?),)* })
            }

            /// A second level of the same content.
            ///
            /// # Errors
            /// The system refused the memory.
            pub fn try_clone(&self) -> Result<LevelStorage, AllocError> {
                Ok(match self { $(LevelStorage::$Kind(level) => LevelStorage::$Kind(level.try_clone()?),)* })
            }

            /// Packs one level of sorted, distinct entries; see [`LevelArrays::pack`].
            pub(crate) fn pack(
                entries: &mut Entries,
                parents: Bounds,
                place: Place,
            ) -> Result<(LevelStorage, Bounds), StorageError> {
                let level: Level = place.format.levels()[place.level];
                match level.kind {
                    $(LevelKind::$Kind => {
                        let (level, bounds) = <$Kind as LevelArrays>::pack(entries, parents, place)?;
                        Ok((LevelStorage::$Kind(level), bounds))
                    })*
                }
            }

            /// Checks arrays from outside; see [`LevelArrays::check`].
            pub(crate) fn check(&self, parents: u64, place: Place) -> Result<u64, StorageError> {
                match self { $(LevelStorage::$Kind(level) => level.check(parents, place),)* }
            }

            /// Checks that coordinates ascend; see [`LevelArrays::check_order`].
            pub(crate) fn check_order(&self, chain: &[Indices], place: Place) -> Result<(), StorageError> {
                match self { $(LevelStorage::$Kind(level) => level.check_order(chain, place),)* }
            }

            /// Enumerates the positions; see [`LevelArrays::extend`].
            pub(crate) fn extend<T: Plain>(
                &self,
                parents: &[T],
                combine: impl Fn(T, u64) -> T + Sync,
            ) -> Result<Array<T>, AllocError> {
                match self { $(LevelStorage::$Kind(level) => level.extend(parents, combine),)* }
            }
        }
    };
}

kinds! {
    Dense in dense,
    Compressed in compressed,
    Singleton in singleton,
}

impl LevelStorage {
    /// A dense level of `size` coordinates.
    pub fn dense(size: u64) -> LevelStorage {
        LevelStorage::Dense(Dense { size })
    }

    /// A compressed level.
    pub fn compressed(pos: Buffer, crd: Buffer) -> LevelStorage {
        LevelStorage::Compressed(Compressed { pos, crd })
    }

    /// A singleton level.
    pub fn singleton(crd: Buffer) -> LevelStorage {
        LevelStorage::Singleton(Singleton { crd })
    }

    /// The number of coordinates, of kinds that hold as many under every parent.
    pub fn size(&self) -> Option<u64> {
        match self {
            LevelStorage::Dense(level) => Some(level.size),
            _ => None,
        }
    }

    /// The position array, of kinds that keep one.
    pub fn pos(&self) -> Option<&Buffer> {
        self.array("pos")
    }

    /// The coordinate array, of kinds that keep one.
    pub fn crd(&self) -> Option<&Buffer> {
        self.array("crd")
    }

    fn array(&self, name: &str) -> Option<&Buffer> {
        self.arrays().into_iter().find(|(n, _)| *n == name).map(|(_, buffer)| buffer)
    }
}

/// The numbers of an index array of the width the format names.
fn checked_indices<'a>(
    buffer: &'a Buffer,
    width: IndexWidth,
    name: &str,
    place: Place,
) -> Result<Indices<'a>, StorageError> {
    match buffer.indices() {
        Some(indices) if indices.width() == width => Ok(indices),
        _ => Err(StorageError::Type {
            what: format!("array {name} of level {}", place.level),
            found: buffer.dtype(),
            expected: width.dtype().to_string(),
        }),
    }
}

/// Checks that all coordinates are below the size of the dimension.
fn check_range(crd: Indices, place: Place) -> Result<(), StorageError> {
    let size = place.size();
    let outside = |k: usize, coordinate: u64| {
        (coordinate >= size).then(|| StorageError::OutOfRange {
            dimension: place.dimension(),
            entry: k as u64,
            coordinate,
            size,
        })
    };
    let bad = match crd {
        Indices::U32(crd) => crate::parallel::first(crd.len(), |k| outside(k, u64::from(crd[k]))),
        Indices::U64(crd) => crate::parallel::first(crd.len(), |k| outside(k, crd[k])),
    };
    bad.map_or(Ok(()), Err)
}

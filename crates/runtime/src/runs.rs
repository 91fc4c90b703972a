//! The innermost level of a tensor as *runs*: the positions under each parent position, one run behind the other.
//!
//! A loop over runs needs the part of the levels above only once for each run, and reads coordinates from where they
//! are: no list of all entries is made.
//!
//! ```text
//! csr, pos 0 2 2 3, crd 0 2 1:    run 0: positions 0..2 (coordinates 0 2)   run 1: none   run 2: 2..3 (coordinate 1)
//! coordinate list:                each position is a run
//! dense level of size 3:          run 0: 0..3 (coordinates 0 1 2)   run 1: 3..6 (0 1 2)   ...
//! ```

use std::ops::Range;

use lacunar_formats::{IndexWidth, LevelKind};

use crate::array::Array;
use crate::buffer::{Buffer, Indices, Number, with_indices};
use crate::error::AllocError;
use crate::storage::LevelStorage;

/// Positions grouped by parent position.
pub trait Runs: Sync {
    /// True if coordinates are read from an array, as if all positions were one run.
    const STORED: bool;
    /// True if these are worth loops of their own.
    const FREQUENT: bool;
    /// The type in which coordinates are stored.
    type Coordinate: Number;
    /// The end of a parent's run; the next one starts there.
    fn end(&self, parent: usize) -> usize;
    /// The parent of a position that exists.
    fn parent_of(&self, position: usize) -> usize;
    /// The coordinates of all positions, if they are [`Runs::STORED`]; else none.
    fn stored(&self) -> &[Self::Coordinate];
    /// The coordinates at positions of a parent's run.
    fn coordinates(&self, parent: usize, positions: Range<usize>) -> impl Iterator<Item = u64>;
}

/// A walk through the runs of a range of positions, some at a time.
pub struct Walk<'a, R> {
    runs: &'a R,
    /// The next position, and its parent or one before it.
    from: usize,
    parent: usize,
}

impl<'a, R: Runs> Walk<'a, R> {
    /// A walk from the first of these positions on.
    pub fn from(runs: &'a R, positions: &Range<usize>) -> Walk<'a, R> {
        let parent = if positions.is_empty() { 0 } else { runs.parent_of(positions.start) };
        Walk { runs, from: positions.start, parent }
    }

    /// Calls `run(parent, positions)` for each run, or part of one, up to a position.
    #[inline(always)]
    pub fn on(&mut self, end: usize, mut run: impl FnMut(usize, Range<usize>)) {
        while self.from < end {
            let own = self.runs.end(self.parent);
            let to = own.min(end);
            run(self.parent, self.from..to);
            self.from = to;
            if own <= end {
                self.parent += 1;
            }
        }
    }
}

/// The runs of a compressed level.
pub struct Segments<'a, C> {
    pos: Indices<'a>,
    crd: &'a [C],
}

impl<C: Number> Runs for Segments<'_, C> {
    const STORED: bool = true;
    const FREQUENT: bool = size_of::<C>() == size_of::<u32>();
    type Coordinate = C;

    #[inline(always)]
    fn end(&self, parent: usize) -> usize {
        match self.pos {
            Indices::U32(pos) => pos[parent + 1] as usize,
            pos => pos.get(parent + 1) as usize,
        }
    }

    fn parent_of(&self, position: usize) -> usize {
        with_indices!(self.pos, pos => pos.partition_point(|start| start.get() as usize <= position)).saturating_sub(1)
    }

    fn stored(&self) -> &[C] {
        self.crd
    }

    #[inline(always)]
    fn coordinates(&self, _parent: usize, positions: Range<usize>) -> impl Iterator<Item = u64> {
        self.crd[positions].iter().map(|coordinate| coordinate.get())
    }
}

/// The runs of a singleton level.
pub struct Singles<'a, C> {
    crd: &'a [C],
}

impl<'a, C> Singles<'a, C> {
    /// Runs of one position each, of these coordinates.
    pub fn new(crd: &'a [C]) -> Singles<'a, C> {
        Singles { crd }
    }
}

impl<C: Number> Runs for Singles<'_, C> {
    const STORED: bool = true;
    const FREQUENT: bool = size_of::<C>() == size_of::<u32>();
    type Coordinate = C;

    #[inline(always)]
    fn end(&self, parent: usize) -> usize {
        parent + 1
    }

    fn parent_of(&self, position: usize) -> usize {
        position
    }

    fn stored(&self) -> &[C] {
        self.crd
    }

    #[inline(always)]
    fn coordinates(&self, _parent: usize, positions: Range<usize>) -> impl Iterator<Item = u64> {
        self.crd[positions].iter().map(|coordinate| coordinate.get())
    }
}

/// The runs of a dense level.
pub struct Blocks {
    size: usize,
}

impl Runs for Blocks {
    const STORED: bool = false;
    const FREQUENT: bool = true;
    type Coordinate = u32;

    #[inline(always)]
    fn end(&self, parent: usize) -> usize {
        (parent + 1) * self.size
    }

    fn parent_of(&self, position: usize) -> usize {
        position / self.size
    }

    fn stored(&self) -> &[u32] {
        &[]
    }

    #[inline(always)]
    fn coordinates(&self, parent: usize, positions: Range<usize>) -> impl Iterator<Item = u64> {
        let start = parent * self.size;
        (positions.start - start..positions.end - start).map(|coordinate| coordinate as u64)
    }
}

/// Runs of any plain level kind.
pub enum AnyRuns<'a> {
    /// Compressed, 32-bit coordinates.
    Segments32(Segments<'a, u32>),
    /// Compressed, 64-bit coordinates.
    Segments64(Segments<'a, u64>),
    /// Singleton, 32-bit coordinates.
    Singles32(Singles<'a, u32>),
    /// Singleton, 64-bit coordinates.
    Singles64(Singles<'a, u64>),
    /// Dense.
    Blocks(Blocks),
}

impl<'a> AnyRuns<'a> {
    /// The runs of a plain level, with its [`widened`] coordinates; `None` if its arrays are of no index type or its size is none
    /// in memory.
    pub fn of(level: &'a LevelStorage, widened: Option<&'a [u32]>) -> Option<AnyRuns<'a>> {
        if level.kind() == LevelKind::DENSE {
            return Some(AnyRuns::Blocks(Blocks { size: usize::try_from(level.size()).ok()? }));
        }
        let crd = widened.map(Indices::U32).or_else(|| level.crd()?.indices())?;
        Some(match (level.pos(), crd) {
            (Some(pos), Indices::U32(crd)) => AnyRuns::Segments32(Segments { pos: pos.indices()?, crd }),
            (Some(pos), Indices::U64(crd)) => AnyRuns::Segments64(Segments { pos: pos.indices()?, crd }),
            (None, Indices::U32(crd)) => AnyRuns::Singles32(Singles { crd }),
            (None, Indices::U64(crd)) => AnyRuns::Singles64(Singles { crd }),
            (_, Indices::U8(_) | Indices::U16(_)) => return None,
        })
    }
}

/// The coordinates of a level in 32 bits, where it keeps narrower ones: there are loops over wide ones only.
///
/// # Errors
/// The system refused the memory.
pub fn widened(level: &LevelStorage) -> Result<Option<Array<u32>>, AllocError> {
    let narrow = level.crd().and_then(Buffer::indices).filter(|crd| crd.width() < IndexWidth::W32);
    let Some(crd) = narrow else { return Ok(None) };
    Ok(Some(Array::of(crd.len(), |k| crd.get(k) as u32)?))
}

/// Evaluates the body with `$runs` bound to runs of a kind that is known where it is compiled.
macro_rules! with_runs {
    ($any:expr, $runs:ident => $body:expr) => {
        match $any {
            $crate::runs::AnyRuns::Segments32($runs) => $body,
            $crate::runs::AnyRuns::Segments64($runs) => $body,
            $crate::runs::AnyRuns::Singles32($runs) => $body,
            $crate::runs::AnyRuns::Singles64($runs) => $body,
            $crate::runs::AnyRuns::Blocks($runs) => $body,
        }
    };
}
pub(crate) use with_runs;

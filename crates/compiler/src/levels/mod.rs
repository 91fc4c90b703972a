//! The code that level kinds emit, one family of kinds a file.
//!
//! [`LevelCode`] is the interface of the format abstraction: iterating positions, locating a coordinate, and assembling
//! a result by appending. The lowering calls nothing else. A family is one file here, with its `mod` line and a line of `make`,
//! and the file of the same name in `runtime/src/storage/`; a kind that is made while the program runs finds its family's.
//!
//! An iterator is a position that goes up, `begin .. end` under one parent position. Most kinds have a coordinate at each position
//! between, which tells it. The others say that they do not ([`LevelCode::is_contiguous`]): then the lowering
//! [starts](LevelCode::start) and [advances](LevelCode::advance) the position through them, and they may keep a variable beside it:
//!
//! ```text
//! compressed                          delta-coded coordinates
//! for p in pos[i] .. pos[i+1] {       p = pos[i]; at = 0 + delta[p]               start
//!   j = crd[p]; ..                    while p < pos[i+1] {
//! }                                     j = at; ..
//!                                       p += 1; at += delta[p]                    advance
//!                                     }
//! ```
//!
//! Papers: Chou et al. 2018, §3.1-3.2 (level functions, Table 1 and Figure 6).

mod banded;
mod bitmap;
pub mod border;
mod compressed;
mod cursor;
mod delta;
mod dense;
pub mod gathered;
mod hashed;
pub mod indicator;
mod list;
mod loose;
pub mod nodes;
mod optional;
mod ranked;
mod repeated;
mod runs;
mod singleton;
mod slots;
mod source;
pub mod stretch;
mod strided;
mod unordered;
mod word;

use std::rc::Rc;

use lacunar_formats::{DType, Family, Holds, IndexWidth, Level, LevelKind};
use lacunar_imp::{ArrayId, Builder, CompareOp, ExprId, Stmt, VarId as ImpVar};
use lacunar_notation::Tensor;

pub use cursor::Cursor;
pub use hashed::hash;
pub use lacunar_formats::Part;
pub use list::List;
pub use strided::{Parent, Strided, Through};
pub use word::Word;

/// The code of a level of a kind.
fn make(kind: LevelKind, arrays: Arrays<'_>) -> Box<dyn LevelCode> {
    match kind.info().family {
        Family::Banded => banded::make(arrays),
        Family::Bitmap => bitmap::make(arrays),
        Family::Compressed => compressed::make(arrays),
        Family::Delta => delta::make(arrays),
        Family::Dense => dense::make(arrays),
        Family::Hashed => hashed::make(arrays),
        Family::Loose => loose::make(arrays),
        Family::Nodes(schema) => nodes::make(arrays, schema),
        Family::Optional => optional::make(arrays),
        Family::Ranked => ranked::make(arrays),
        Family::Repeated => repeated::make(arrays),
        Family::Runs => runs::make(arrays),
        Family::Singleton => singleton::make(arrays),
        Family::Slots => slots::make(arrays),
        Family::Unordered => unordered::make(arrays),
    }
}

/// The arrays and the size that the code of a level is made of.
#[derive(Clone, Copy, Debug)]
pub struct Arrays<'a> {
    /// The arrays of the kind's parts, in their order.
    pub arrays: &'a [ArrayId],
    /// The size of the dimension.
    pub size: ExprId,
    /// True if the level is that of a whole tensor; otherwise it is that of a piece of a result.
    pub whole: bool,
}

/// Positions of a level that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// One position.
    One(ExprId),
    /// All positions from the first up to the second, which share a coordinate (levels that are not unique).
    Range(ExprId, ExprId),
}

impl Position {
    /// The position; of several, the first.
    pub fn first(self) -> ExprId {
        match self {
            Position::One(position) | Position::Range(position, _) => position,
        }
    }

    /// The positions as an interval.
    pub fn range(self, b: &mut Builder) -> (ExprId, ExprId) {
        match self {
            Position::One(position) => {
                let one = b.int(1);
                (position, b.add(position, one))
            }
            Position::Range(first, end) => (first, end),
        }
    }
}

/// The place that an iterator stands at.
#[derive(Clone, Copy, Debug)]
pub struct At {
    /// The position of the level above (one of them, where they share a coordinate).
    pub parent: ExprId,
    /// The position.
    pub position: ExprId,
    /// The variables that the kind keeps beside it; nothing if a position is looked at that no iterator was moved to.
    pub state: Option<State>,
}

/// The variables that a kind keeps beside the position of an iterator.
#[derive(Clone, Copy, Debug)]
pub struct State {
    /// The coordinate, or a number that tells it.
    pub at: ImpVar,
    /// A second variable, of any type, if the kind needs one: the bits that are left of the coordinate's word, for bitmaps.
    pub rest: Option<ImpVar>,
}

impl State {
    /// One variable.
    pub fn one(at: ImpVar) -> State {
        State { at, rest: None }
    }
}

/// The only position under a parent.
#[derive(Clone, Copy, Debug)]
pub struct Only {
    /// The position.
    pub position: ExprId,
    /// True if it has a coordinate.
    pub present: ExprId,
}

impl Only {
    /// The position as an interval, which is empty if it has no coordinate.
    pub fn range(self, b: &mut Builder) -> (ExprId, ExprId) {
        let count = b.cast(DType::I64, self.present);
        (self.position, b.add(self.position, count))
    }
}

/// Coordinates that follow each other.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// The first of them.
    pub first: ExprId,
    /// The coordinate behind the last.
    pub end: ExprId,
    /// The position of the first.
    pub position: ExprId,
    /// The positions of the others.
    pub neighbors: Neighbors,
}

/// The positions of neighbors in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Neighbors {
    /// At positions that follow each other.
    Apart,
    /// All at one position.
    Shared,
}

/// The place at which something is appended.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// The position of the level above.
    pub parent: ExprId,
    /// The position.
    pub position: ExprId,
    /// True if room for all parents was made by [`LevelCode::append_init`].
    pub fixed: bool,
}

/// Takes the least length that an array must have.
pub type Demand<'a> = dyn FnMut(&mut Builder, ArrayId, Length) + 'a;

/// The least length of an array: `of * each`, or one more.
#[derive(Clone, Copy, Debug)]
pub struct Length {
    /// The first factor.
    pub of: ExprId,
    /// The second factor; 1 if there is none.
    pub each: Option<ExprId>,
    /// True if the array has one more element, the end of the last segment.
    pub is_one_more: bool,
}

impl Length {
    /// The length of an array with `count` elements.
    pub fn of(count: ExprId) -> Length {
        Length { of: count, each: None, is_one_more: false }
    }

    /// The length of an array with the edges of `count` segments.
    pub fn edges(count: ExprId) -> Length {
        Length { is_one_more: true, ..Length::of(count) }
    }
}

/// The code of one level of one tensor. The kind's properties and capabilities tell which functions are called:
///
/// | levels that | need |
/// |---|---|
/// | have code at all | `bounds`, `span`, `parent`, `coordinate`, `count_positions` |
/// | have arrays | `lengths` |
/// | are ordered and enumerated | `seek`, of which `find` is made |
/// | have one coordinate at most under a parent, or none | `only` |
/// | have positions that do not tell coordinates, or are unused | `is_contiguous`, `start`, `advance` |
/// | have neighboring coordinates at neighboring positions | `is_gapless` |
/// | have positions that do not go up to an end | `is_before_end`, `most_between`, `stops_at_coordinates`, `seek_end` |
/// | are searched | `find` |
/// | locate | `locate` |
/// | are tested | `word` |
/// | store runs | `has_runs`, `runs`, `run` |
/// | keep coordinates in nodes | `nodes` |
/// | share positions | `seek_end`, `stops_at_coordinates`, `enter` |
/// | are appended to | `append_..`, `takes_words`, `part_length` |
///
/// The arrays were checked when the tensor was made, and nothing is checked again: no code may read behind the end of one, as an
/// `advance` from the last position could.
pub trait LevelCode: std::fmt::Debug {
    /// The array of the level that holds a part.
    fn array(&self, _part: Part) -> Option<ArrayId> {
        None
    }

    /// The positions under those of the parent level, for levels that are iterated.
    fn bounds(&self, b: &mut Builder, parent: Position) -> (ExprId, ExprId);

    /// The only position under one of the parent level, and the condition that it has a coordinate, for levels that have one at
    /// most. Bounds say the same: they end at the position, or behind it.
    fn only(&self, _b: &mut Builder, _parent: Position) -> Option<Only> {
        None
    }

    /// The positions under parent positions `first .. end`.
    fn span(&self, b: &mut Builder, first: ExprId, end: ExprId) -> (ExprId, ExprId) {
        self.bounds(b, Position::Range(first, end))
    }

    /// The parent position of a position. There are `parents` parent positions.
    fn parent(&self, b: &mut Builder, position: ExprId, parents: ExprId) -> ExprId;

    /// The first position of `begin .. end`, all under one parent, whose coordinate is `coordinate` or more; for levels that are
    /// iterated in order. If positions are not contiguous, it may be before that one, behind all smaller coordinates.
    fn seek(&self, _b: &mut Builder, _parent: ExprId, begin: ExprId, _end: ExprId, _coordinate: ExprId) -> ExprId {
        begin
    }

    /// The position behind all of `begin .. end` that have coordinates less than `coordinate`, if it is not the one that
    /// [`LevelCode::seek`] finds: positions may be shared.
    fn seek_end(&self, b: &mut Builder, parent: ExprId, begin: ExprId, end: ExprId, coordinate: ExprId) -> ExprId {
        self.seek(b, parent, begin, end, coordinate)
    }

    /// The coordinate that an iterator stands on, for levels that are iterated.
    fn coordinate(&self, b: &mut Builder, name: &str, at: At) -> ExprId;

    /// True if every position within bounds has a coordinate, which the position tells.
    fn is_contiguous(&self) -> bool {
        true
    }

    /// True if the bounds under a parent hold one position at most, which [`LevelCode::only`] gives.
    fn is_single(&self) -> bool {
        false
    }

    /// True if neighboring positions under one parent have neighboring coordinates.
    fn is_gapless(&self) -> bool {
        false
    }

    /// Moves `position`, which is the first of an interval that ends before `end`, to the first position in it that has a
    /// coordinate, if it has none itself. Gives the variable that is kept beside the position, if there is one.
    fn start(&self, _b: &mut Builder, _parent: ExprId, _position: ImpVar, _end: ExprId) -> Option<State> {
        None
    }

    /// Moves `position` to the next that has a coordinate, or to `end`.
    fn advance(&self, b: &mut Builder, _parent: ExprId, position: ImpVar, _end: ExprId, _state: Option<State>) {
        let (at, one) = (b.var(position), b.int(1));
        let next = b.add(at, one);
        b.assign(position, next);
    }

    /// True if an iterator keeps to a region by its coordinates, as the end of its positions does not tell: they are shared, or do
    /// not go up.
    fn stops_at_coordinates(&self) -> bool {
        false
    }

    /// Moves an iterator of a kind that stops at coordinates to the first that is `low` or more.
    fn enter(&self, b: &mut Builder, cursor: &Cursor, low: ExprId) {
        let valid = cursor.valid(b);
        b.while_loop(valid, |b| {
            let own = cursor.coordinate(b, "own");
            let reached = b.compare(CompareOp::Ge, own, low);
            b.if_then(reached, |b| b.push(Stmt::Break));
            cursor.advance(b);
        });
    }

    /// The condition that a position which an iterator was moved to, of an interval that ends at `end`, is one of it.
    fn is_before_end(&self, b: &mut Builder, position: ExprId, end: ExprId) -> ExprId {
        b.compare(CompareOp::Lt, position, end)
    }

    /// The most positions that an iterator meets from `begin` on, before `end`.
    fn most_between(&self, b: &mut Builder, begin: ExprId, end: ExprId) -> ExprId {
        b.sub(end, begin)
    }

    /// True if positions are runs of neighbors.
    fn has_runs(&self) -> bool {
        false
    }

    /// The code of a level whose coordinates are in nodes that refer to each other: iterators go from node to node, and positions under
    /// a parent are no interval. The first of its bounds is the handle of the root node.
    fn nodes(&self) -> Option<&nodes::Nodes> {
        None
    }

    /// The runs under parent positions, by their numbers, for levels whose positions are runs of neighbors.
    fn runs(&self, _b: &mut Builder, _parent: Position) -> Option<(ExprId, ExprId)> {
        None
    }

    /// The run with a number.
    fn run(&self, _b: &mut Builder, _number: ExprId) -> Option<Run> {
        None
    }

    /// The positions of a coordinate among `begin .. end`, all those under one parent, for levels that are searched: none, if
    /// they end where they begin.
    fn find(
        &self,
        b: &mut Builder,
        parent: ExprId,
        (begin, end): (ExprId, ExprId),
        coordinate: ExprId,
    ) -> (ExprId, ExprId) {
        let one = b.int(1);
        let first = self.seek(b, parent, begin, end, coordinate);
        let next = b.add(coordinate, one);
        (first, self.seek_end(b, parent, first, end, next))
    }

    /// The position of a coordinate under a parent position, for levels that locate.
    fn locate(&self, _b: &mut Builder, _parent: ExprId, _coordinate: ExprId) -> Option<ExprId> {
        None
    }

    /// The first coordinate under a parent position and the one behind the last, for levels that have all between them and locate
    /// these.
    fn interval(&self, _b: &mut Builder, _parent: ExprId) -> Option<(ExprId, ExprId)> {
        None
    }

    /// The coordinates `64 number ..` under a parent position, for levels that are tested.
    fn word(&self, _b: &mut Builder, _parent: ExprId, _number: ExprId) -> Option<Word> {
        None
    }

    /// The number of positions, under `parents` parent positions.
    fn count_positions(&self, b: &mut Builder, parents: ExprId, size: ExprId) -> ExprId;

    /// The number of positions under each parent position, if it is the same for all of them.
    fn factor(&self, _size: ExprId) -> Option<ExprId> {
        None
    }

    /// Tells how long each array has to be, under `parents` parent positions, before it is read: for callers who may be wrong.
    /// When it returns, [`LevelCode::count_positions`] reads nothing that is not there.
    fn lengths(&self, _b: &mut Builder, _parents: ExprId, _demand: &mut Demand<'_>) {}

    /// Result: before anything is appended. `parents` is the number of parent positions, if it is known in advance.
    fn append_init(&self, _b: &mut Builder, _parents: Option<ExprId>) {}

    /// Result: makes room for `count` positions.
    fn append_reserve(&self, _b: &mut Builder, _count: ExprId) {}

    /// Result: stores the coordinate of a position, for which there is room.
    fn append_coordinate(&self, _b: &mut Builder, _slot: Slot, _coordinate: ExprId) {}

    /// Result: stores the coordinates `64 number ..` whose bits are set, of which the first has the position of the slot, for
    /// levels that take words.
    fn append_word(&self, _b: &mut Builder, _slot: Slot, _number: ExprId, _bits: ExprId) {}

    /// Result: true if coordinates are stored by words, rather than one by one.
    fn takes_words(&self) -> bool {
        false
    }

    /// Result: the segment of `parent` ends before position `end`. `fixed` says that room for all parents was made by
    /// [`LevelCode::append_init`].
    fn append_edge(&self, _b: &mut Builder, _parent: ExprId, _end: ExprId, _fixed: bool) {}

    /// Result: everything is appended, from position `start` on, and there are `parents` parent positions. `complete` says that every one
    /// had its [`LevelCode::append_edge`].
    fn append_finish(&self, _b: &mut Builder, _parents: ExprId, _start: ExprId, _complete: bool) {}

    /// Piece of a result: the length of the array of a part that is put behind those of other pieces; `None` if
    /// [`LevelCode::append_finish`] of the whole makes it. There are `parents` parent positions and `positions` positions.
    fn part_length(&self, _b: &mut Builder, part: Part, parents: ExprId, positions: ExprId) -> Option<ExprId> {
        match part.holds {
            Holds::Positions => Some(parents),
            Holds::Coordinates | Holds::CoordinatesOrNone | Holds::Words => Some(positions),
            // Results are stored by ranks only when they are converted.
            Holds::Ranking | Holds::Nodes => None,
        }
    }
}

/// True if kernels can walk through the coordinates of a level in order.
pub fn is_iterated(level: Level) -> bool {
    level.properties().ordered && level.capabilities().iterate()
}

/// True if kernels can compute for every coordinate if a level has it, and its position.
pub fn is_tested(level: Level) -> bool {
    level.capabilities().test
}

/// True if kernels can look coordinates up in a level.
pub fn is_searched(level: Level) -> bool {
    is_iterated(level) || level.capabilities().search
}

/// The code of level `level` of a tensor, whose arrays `array` makes, from the part, a name and the type of its elements.
/// `size` is the size of the dimension it stores. `whole` says that the level is that of a whole tensor; otherwise it is
/// that of a piece of a result, to be put behind other pieces, and its positions have no leading zero.
pub fn level_code(
    tensor: &Tensor,
    level: usize,
    size: ExprId,
    whole: bool,
    array: &mut dyn FnMut(Part, &str, DType) -> ArrayId,
) -> Rc<dyn LevelCode> {
    let format = &tensor.format;
    // A packed tensor that is seen as an array has the levels that it is stored by.
    let stored = format.as_stored();
    let kind = stored.levels()[level].kind;
    let mut arrays = Vec::new();
    for part in kind.info().parts {
        let dtype = part.dtype(format.positions(level), format.coordinates(level));
        arrays.push(array(*part, &format!("{}{}_{}", tensor.name, level + 1, part.name), dtype));
    }
    let arrays = Arrays { arrays: &arrays, size, whole };
    let packing = format.packing().filter(|_| stored != *format);
    let made: Rc<dyn LevelCode> = match kind == format.levels()[level].kind {
        true => make(kind, arrays).into(),
        false => banded::make_array(arrays, packing.and_then(|packing| packing.runs(level))).into(),
    };
    // Redundant elements are read where their unique ones stand.
    match packing.and_then(|packing| packing.sources()?.get(level).copied().flatten()) {
        Some(source) => Rc::new(source::Sourced { level: made, source }),
        None => made,
    }
}

/// The code of the levels of a sorted workspace: a coordinate list whose length is a variable.
pub fn list_levels(keys: &[ArrayId], count: ImpVar) -> Vec<Rc<dyn LevelCode>> {
    keys.iter()
        .enumerate()
        .map(|(level, &keys)| match level {
            0 => Rc::new(List { keys, count }) as Rc<dyn LevelCode>,
            _ => Rc::new(list::ListedSingleton(singleton::Singleton { crd: keys })),
        })
        .collect()
}

/// The positions under a parent position, if each parent has those of `pos[parent] .. pos[parent + 1]`.
pub(crate) fn segment_bounds(b: &mut Builder, pos: ArrayId, parent: Position) -> (ExprId, ExprId) {
    let (first, end) = parent.range(b);
    (b.load_index("begin", pos, first), b.load_index("end", pos, end))
}

/// The segment that a position lies in, of segments that begin at `pos[0 .. segments]`: the last that begins at the position
/// or before it; those after it begin behind.
pub(crate) fn segment_of(b: &mut Builder, pos: ArrayId, position: ExprId, segments: ExprId) -> ExprId {
    let (zero, one) = (b.int(0), b.int(1));
    let (edges, behind) = (b.add(segments, one), b.add(position, one));
    let next = b.lower_bound(pos, zero, edges, behind);
    b.sub(next, one)
}

/// The number in an index array that is no coordinate, as kernels load it: the largest of its type.
pub(crate) fn none_in(b: &mut Builder, array: ArrayId) -> ExprId {
    let width = IndexWidth::of(b.function().arrays[array].elem).unwrap_or(IndexWidth::W64);
    b.int(width.max() as i64)
}

/// The first position of `begin .. end` whose coordinate, which `coordinate` loads, is `wanted` or more, from one to the next.
pub(crate) fn first_reaching(
    b: &mut Builder,
    begin: ExprId,
    end: ExprId,
    wanted: ExprId,
    coordinate: impl FnOnce(&mut Builder, ExprId) -> ExprId,
) -> ExprId {
    let at = b.declare("at", begin);
    step_until(b, at, end, |b, here| {
        let own = coordinate(b, here);
        b.compare(CompareOp::Ge, own, wanted)
    });
    b.var(at)
}

/// Moves a position on, one by one, to the first before `end` that `is_there`, or to `end`.
pub(crate) fn step_until(
    b: &mut Builder,
    position: ImpVar,
    end: ExprId,
    is_there: impl FnOnce(&mut Builder, ExprId) -> ExprId,
) {
    let here = b.var(position);
    let left = b.compare(CompareOp::Lt, here, end);
    b.while_loop(left, |b| {
        let there = is_there(b, here);
        b.if_then(there, |b| b.push(Stmt::Break));
        let one = b.int(1);
        let next = b.add(here, one);
        b.assign(position, next);
    });
}

//! Step 4: the code that each level kind emits, one kind a file.
//!
//! [`LevelCode`] is the interface of the format abstraction: iterating positions, locating a coordinate, and assembling
//! a result by appending. The lowering calls nothing else; a new kind is one more file here, a line in [`level_code`], and
//! the file of the same name in `runtime/src/storage/`.
//!
//! Papers: Chou et al. 2018, §3.1-3.2 (level functions, Table 1 and Figure 6).

mod compressed;
mod dense;
mod list;
mod singleton;
mod strided;

use lacunar_formats::{DType, Format, LevelKind};
use lacunar_imp::{ArrayId, Builder, ExprId, VarId as ImpVar};

pub use list::List;
pub use strided::Strided;

/// What one array of a level holds; with the level's number, its place in the kernel's interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// Where the segment of each parent position begins.
    Positions,
    /// The coordinate of each position.
    Coordinates,
}

/// Positions of a level that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// One position.
    One(ExprId),
    /// All positions from the first up to the second, which share a coordinate (levels that are not unique).
    Range(ExprId, ExprId),
}

/// The code of one level of one tensor.
pub trait LevelCode: std::fmt::Debug {
    /// The array of the level that holds a part.
    fn array(&self, _part: Part) -> Option<ArrayId> {
        None
    }

    /// The positions under those of the parent level, for levels that are iterated.
    fn bounds(&self, b: &mut Builder, parent: Position) -> (ExprId, ExprId);

    /// The positions under parent positions `first .. end`.
    fn span(&self, b: &mut Builder, first: ExprId, end: ExprId) -> (ExprId, ExprId);

    /// The parent position of a position. There are `parents` parent positions.
    fn parent(&self, b: &mut Builder, position: ExprId, parents: ExprId) -> ExprId;

    /// The first position of `begin .. end`, all under one parent, whose coordinate is `coordinate` or more; for levels
    /// that are iterated.
    fn seek(&self, b: &mut Builder, begin: ExprId, end: ExprId, coordinate: ExprId) -> ExprId;

    /// The coordinate at a position, for levels that are iterated.
    fn coordinate(&self, b: &mut Builder, name: &str, position: ExprId) -> ExprId;

    /// The array of coordinates and the range to search, for levels that are searched.
    fn search_array(&self) -> Option<ArrayId> {
        None
    }

    /// The position of a coordinate under a parent position, for levels that locate.
    fn locate(&self, _b: &mut Builder, _parent: ExprId, _coordinate: ExprId) -> Option<ExprId> {
        None
    }

    /// The number of positions, under `parents` parent positions.
    fn count_positions(&self, b: &mut Builder, parents: ExprId, size: ExprId) -> ExprId;

    /// Result: before anything is appended. `parents` is the number of parent positions, where it is known in advance.
    fn append_init(&self, _b: &mut Builder, _parents: Option<ExprId>) {}

    /// Result: makes room for `count` positions.
    fn append_reserve(&self, _b: &mut Builder, _count: ExprId) {}

    /// Result: stores the coordinate of position `position`, for which there is room.
    fn append_coordinate(&self, _b: &mut Builder, _position: ExprId, _coordinate: ExprId) {}

    /// Result: the segment of `parent` ends before position `end`. `fixed` says that room for all parents was made by
    /// [`LevelCode::append_init`].
    fn append_edge(&self, _b: &mut Builder, _parent: ExprId, _end: ExprId, _fixed: bool) {}

    /// Result: everything is appended and there are `parents` parent positions. `complete` says that every one had its
    /// [`LevelCode::append_edge`].
    fn append_finish(&self, _b: &mut Builder, _parents: ExprId, _complete: bool) {}
}

/// The arrays that a level of a kind keeps.
pub fn parts(kind: LevelKind) -> &'static [Part] {
    match kind {
        LevelKind::Dense => &[],
        LevelKind::Compressed => &[Part::Positions, Part::Coordinates],
        LevelKind::Singleton => &[Part::Coordinates],
    }
}

/// The code of level `level` of a tensor, whose arrays `array` makes, from the part, a name and the type of its elements.
/// `size` is the size of the dimension it stores. `whole` says that the level is that of a whole tensor; otherwise it is
/// that of a part of a result, to be put behind other parts, and its positions have no leading zero.
pub fn level_code(
    name: &str,
    format: &Format,
    level: usize,
    size: ExprId,
    whole: bool,
    array: &mut dyn FnMut(Part, &str, DType) -> ArrayId,
) -> Box<dyn LevelCode> {
    let kind = format.levels()[level].kind;
    let mut arrays = Vec::new();
    for part in parts(kind) {
        let (suffix, width) = match part {
            Part::Positions => ("pos", format.positions),
            Part::Coordinates => ("crd", format.coordinates),
        };
        arrays.push(array(*part, &format!("{name}{}_{suffix}", level + 1), width.dtype()));
    }
    match (kind, arrays.as_slice()) {
        (LevelKind::Compressed, &[pos, crd]) => Box::new(compressed::Compressed { pos, crd, first: i64::from(whole) }),
        (LevelKind::Singleton, &[crd]) => Box::new(singleton::Singleton { crd }),
        _ => Box::new(dense::Dense { size }),
    }
}

/// The code of the levels of a sorted workspace: a coordinate list whose length is a variable.
pub fn list_levels(keys: &[ArrayId], count: ImpVar) -> Vec<Box<dyn LevelCode>> {
    keys.iter()
        .enumerate()
        .map(|(level, &keys)| match level {
            0 => Box::new(List { keys, count }) as Box<dyn LevelCode>,
            _ => Box::new(list::ListedSingleton(singleton::Singleton { crd: keys })),
        })
        .collect()
}

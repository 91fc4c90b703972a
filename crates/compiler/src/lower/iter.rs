//! Iterators of a loop: their properties, their positions here, and cursors on these.
//!
//! ```text
//! forall(j, ..)  A: csr, i known       positions A2_pos[i] .. A2_pos[i+1], within the region of j        bounds
//!                                      pA2 = the first of them                                           open
//! ```
//!
//! A loop uses the storage of an operand only through these functions and the [`Cursor`] that they open; facts that hold
//! wherever the loop stands are in [`Traits`], by which [`super::strategy`] decides.

use lacunar_base::Diagnostic;
use lacunar_formats::DType;
use lacunar_imp::{BinaryOp, CompareOp, ExprId};

use super::derive::position;
use super::scope::{Interval, Scope, Uncertain};
use super::storage::{find_level, level};
use super::{Lowerer, ahead, region, room};
use crate::iterate::iterators::{Iterator, level_var};
use crate::iterate::lattice::{Lattice, Point, advances_by_words};
use crate::levels::nodes::{Nodes, Walk};
use crate::levels::{Cursor, LevelCode, Only, Word};

/// The properties of an iterator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Traits {
    /// True if it has a coordinate at every position, which the position tells.
    pub contiguous: bool,
    /// True if neighboring positions have neighboring coordinates.
    pub gapless: bool,
    /// True if a coordinate can occur at several positions: it is not the last level, and the level below has one position for each.
    pub repeats: bool,
    /// True if neighboring coordinates may have one position.
    pub shared: bool,
    /// True if its positions are runs of neighbors.
    pub runs: bool,
    /// True if it goes from node to node, some of which have several neighboring positions.
    pub blocks: bool,
    /// True if it has at most one coordinate.
    pub single: bool,
    /// True if it can be advanced by words of 64 coordinates, and tested for each of them.
    pub words: bool,
    /// True if its positions are those of values.
    pub innermost: bool,
    /// True if it is a workspace that has its values at their coordinates.
    pub marked: bool,
    /// True if it may be absent here.
    pub uncertain: bool,
}

/// The properties of the iterators of a loop, by their numbers.
pub(super) fn traits(cx: &Lowerer<'_>, lattice: &Lattice, scope: &Scope) -> Vec<Traits> {
    lattice.iterators.iter().map(|iterator| traits_of(cx, iterator, scope)).collect()
}

fn traits_of(cx: &Lowerer<'_>, iterator: &Iterator, scope: &Scope) -> Traits {
    let tensor = &cx.kernel.tensors[iterator.access.tensor];
    let levels = tensor.format.levels();
    let properties = levels[iterator.level].properties();
    let below = levels.get(iterator.level + 1);
    let code = find_level(cx, iterator.access.tensor, iterator.level, scope);
    Traits {
        contiguous: code.as_ref().is_none_or(|code| code.is_contiguous()),
        gapless: code.as_ref().is_some_and(|code| code.is_gapless()),
        repeats: !properties.unique && below.is_some_and(|level| level.properties().branchless),
        shared: properties.shared,
        runs: code.as_ref().is_some_and(|code| code.has_runs()),
        blocks: code.as_ref().and_then(|code| code.nodes()).is_some_and(Nodes::has_blocks),
        single: (properties.single && !properties.branchless) || code.as_ref().is_some_and(|code| code.is_single()),
        words: advances_by_words(cx.kernel, iterator),
        innermost: iterator.level + 1 == tensor.order(),
        marked: tensor.role.is_marked(),
        uncertain: scope.uncertain(&iterator.access).is_some(),
    }
}

/// The name of a position of an iterator.
pub(super) fn name(cx: &Lowerer<'_>, iterator: &Iterator) -> String {
    format!("p{}{}", cx.name(iterator.access.tensor), iterator.level + 1)
}

/// The position of the level above that an iterator is under (one of them, where they share a coordinate).
pub(super) fn parent(cx: &mut Lowerer<'_>, iterator: &Iterator, scope: &Scope) -> Result<ExprId, Diagnostic> {
    Ok(position(cx, &iterator.access, iterator.level.checked_sub(1), scope)?.first())
}

/// The positions of an iterator, under the position of the level above and within its region.
pub(super) fn bounds(cx: &mut Lowerer<'_>, iterator: &Iterator, scope: &Scope) -> Result<Interval, Diagnostic> {
    let above = position(cx, &iterator.access, iterator.level.checked_sub(1), scope)?;
    let code = level(cx, &iterator.access, iterator.level, scope)?;
    let Some(uncertain) = scope.uncertain(&iterator.access) else {
        let all = code.bounds(&mut cx.b, above);
        return region::positions(cx, iterator, all, scope);
    };
    // Nothing under a parent that is absent.
    let zero = cx.b.int(0);
    let (begin, end) = (cx.b.declare("begin", zero), cx.b.declare("end", zero));
    cx.when(uncertain.present, |cx| {
        let all = code.bounds(&mut cx.b, above);
        let (from, to) = region::positions(cx, iterator, all, scope)?;
        cx.b.assign(begin, from);
        cx.b.assign(end, to);
        Ok::<(), Diagnostic>(())
    })?;
    Ok((cx.b.var(begin), cx.b.var(end)))
}

/// The only position of an iterator that has one at most, if nothing confines it.
pub(super) fn only(cx: &mut Lowerer<'_>, iterator: &Iterator, scope: &Scope) -> Result<Option<Only>, Diagnostic> {
    let (key, number) = (&iterator.access, iterator.level);
    let var = level_var(cx.kernel, key, number);
    let whole = (cx.b.int(0), cx.size(var));
    let is_confined = scope.region(var).is_some_and(|region| region != whole);
    if is_confined || scope.window(key, number).is_some() || scope.uncertain(key).is_some() {
        return Ok(None);
    }
    let above = position(cx, key, number.checked_sub(1), scope)?;
    Ok(level(cx, key, number, scope)?.only(&mut cx.b, above))
}

/// A cursor on the first coordinate of an iterator.
pub(super) fn open(cx: &mut Lowerer<'_>, iterator: &Iterator, scope: &Scope) -> Result<Cursor, Diagnostic> {
    let positions = bounds(cx, iterator, scope)?;
    let code = level(cx, &iterator.access, iterator.level, scope)?;
    let var = level_var(cx.kernel, &iterator.access, iterator.level);
    let region = scope.region(var);
    let name = name(cx, iterator);
    let above = parent(cx, iterator, scope)?;
    let stack = room::stack(cx, iterator, (&*code, &name), scope)?;
    if let Some(nodes) = code.nodes() {
        ahead::next_rows(cx, iterator, (nodes, above), scope)?;
    }
    Ok(Cursor::open(&mut cx.b, (code, name), above, positions, region, stack))
}

/// The first block of an iterator that goes from node to node.
pub(super) fn open_blocks(
    cx: &mut Lowerer<'_>,
    iterator: &Iterator,
    (code, nodes): (&dyn LevelCode, &Nodes),
    scope: &Scope,
) -> Result<Walk, Diagnostic> {
    let (root, _) = bounds(cx, iterator, scope)?;
    let name = name(cx, iterator);
    let stack = room::stack(cx, iterator, (code, &name), scope)?;
    let above = parent(cx, iterator, scope)?;
    ahead::next_rows(cx, iterator, (nodes, above), scope)?;
    Ok(nodes.open_blocks(&mut cx.b, &name, root, stack))
}

/// The positions of a coordinate of an iterator: none, if they end where they begin.
pub(super) fn find(
    cx: &mut Lowerer<'_>,
    iterator: &Iterator,
    coordinate: ExprId,
    scope: &Scope,
) -> Result<Interval, Diagnostic> {
    let code = level(cx, &iterator.access, iterator.level, scope)?;
    if code.nodes().is_none_or(Nodes::is_searched) {
        let bounds = bounds(cx, iterator, scope)?;
        let parent = parent(cx, iterator, scope)?;
        return Ok(code.find(&mut cx.b, parent, bounds, coordinate));
    }
    // Nothing leads to a coordinate: all are visited.
    let cursor = open(cx, iterator, scope)?;
    let Some(at) = cursor.state().map(|state| cx.b.var(state.at)) else {
        return Err(Diagnostic::internal("an iterator that goes from node to node keeps no coordinate"));
    };
    let valid = cursor.valid(&mut cx.b);
    let other = cx.b.compare(CompareOp::Ne, at, coordinate);
    let on = cx.b.and(valid, other);
    cx.repeat(on, |cx| cursor.advance(&mut cx.b));
    let position = cursor.position(&mut cx.b);
    let found = cx.b.cast(DType::I64, valid);
    Ok((position, cx.b.add(position, found)))
}

/// Cursors on the iterators of a point, by their numbers.
pub(super) fn open_all(
    cx: &mut Lowerer<'_>,
    lattice: &Lattice,
    set: Point,
    scope: &Scope,
) -> Result<Cursors, Diagnostic> {
    let mut cursors = Vec::new();
    for k in set.members() {
        cursors.push((k, open(cx, &lattice.iterators[k], scope)?));
    }
    Ok(Cursors(cursors))
}

/// Cursors by the numbers of their iterators.
#[derive(Clone, Debug)]
pub(super) struct Cursors(pub Vec<(usize, Cursor)>);

impl Cursors {
    /// The cursor of an iterator that was opened.
    pub fn of(&self, k: usize) -> Result<&Cursor, Diagnostic> {
        let found = self.0.iter().find(|(own, _)| *own == k).map(|(_, cursor)| cursor);
        found.ok_or_else(|| Diagnostic::internal("a loop moves an iterator that it has not opened"))
    }
}

/// The most coordinates that a number of positions of an iterator can have.
pub(super) fn most_coordinates(cx: &Lowerer<'_>, iterator: &Iterator, positions: ExprId, scope: &Scope) -> ExprId {
    if traits_of(cx, iterator, scope).shared {
        cx.size(level_var(cx.kernel, &iterator.access, iterator.level))
    } else {
        positions
    }
}

/// The largest number of coordinates that a merge of iterators can visit, each of which has so many: all of the dimension; or those
/// of every iterator, of which an intersection visits those of one.
pub(super) fn most_visited(
    cx: &mut Lowerer<'_>,
    lattice: &Lattice,
    size: ExprId,
    loops: &[Point],
    lengths: &[(usize, ExprId)],
) -> ExprId {
    if lattice.visits_all() {
        return size;
    }
    let of = |point: Point| lengths.iter().filter(move |(k, _)| point.has(*k)).map(|(_, length)| *length);
    let zero = cx.b.int(0);
    match loops {
        [only] => of(*only).reduce(|a, b| cx.b.binary(BinaryOp::Min, a, b)).unwrap_or(zero),
        _ => of(Point::union(loops)).fold(zero, |sum, length| cx.b.add(sum, length)),
    }
}

/// The word of an iterator with a number, empty where its access is absent.
pub(super) fn word(
    cx: &mut Lowerer<'_>,
    iterator: &Iterator,
    number: ExprId,
    scope: &Scope,
) -> Result<Word, Diagnostic> {
    let above = parent(cx, iterator, scope)?;
    let code = level(cx, &iterator.access, iterator.level, scope)?;
    let none = || Diagnostic::internal("a level that is tested has no words");
    let Some(Uncertain { present, .. }) = scope.uncertain(&iterator.access) else {
        return code.word(&mut cx.b, above, number).ok_or_else(none);
    };
    let (empty, zero) = (Word::constant(&mut cx.b, 0), cx.b.int(0));
    let (bits, first) = (cx.b.declare("word", empty), cx.b.declare("first", zero));
    cx.when(present, |cx| {
        let word = code.word(&mut cx.b, above, number).ok_or_else(none)?;
        cx.b.assign(bits, word.bits);
        cx.b.assign(first, word.first);
        Ok::<(), Diagnostic>(())
    })?;
    Ok(Word { bits: cx.b.var(bits), first: cx.b.var(first) })
}

//! Iterators of a loop: their properties, their positions here, and cursors on these.
//!
//! ```text
//! forall(j, ..)  A: csr, i known       positions A2_pos[i] .. A2_pos[i+1], within the region of j        bounds
//!                                      pA2 = the first of them                                           open
//! ```
//!
//! All that a loop asks of the storage of an operand it asks of these functions and of the [`Cursor`] that they open; what holds
//! wherever the loop stands is in [`Traits`], by which [`super::strategy`] decides.

use lacunar_base::Diagnostic;
use lacunar_imp::{BinaryOp, ExprId};

use super::Lowerer;
use super::derive::position;
use super::region;
use super::scope::{Interval, Scope, Uncertain};
use super::storage::{find_level, level};
use crate::iterate::iterators::{Iterator, level_var};
use crate::iterate::lattice::{Lattice, Point, advances_by_words};
use crate::levels::{Cursor, Only, Word};

/// The properties of an iterator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Traits {
    /// It has a coordinate at every position, which the position tells.
    pub contiguous: bool,
    /// Neighboring positions have neighboring coordinates.
    pub gapless: bool,
    /// A coordinate can occur at several positions: it is not the last level, and the level below has one position for each.
    pub repeats: bool,
    /// Neighboring coordinates may have one position.
    pub shared: bool,
    /// Its positions are runs of neighbors.
    pub runs: bool,
    /// It has at most one coordinate.
    pub single: bool,
    /// It can be advanced by words of 64 coordinates, and tested for each of them.
    pub words: bool,
    /// Its positions are those of values.
    pub innermost: bool,
    /// It is a workspace that has its values at their coordinates.
    pub marked: bool,
    /// It may be absent here.
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
        runs: code.is_some_and(|code| code.has_runs()),
        single: properties.single && !properties.branchless,
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
    Ok(Cursor::open(&mut cx.b, (code, name), above, positions, region))
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

/// How many coordinates so many positions of an iterator have at most.
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

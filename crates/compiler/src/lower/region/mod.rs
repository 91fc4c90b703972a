//! Regions: the part of its values that a loop takes.
//!
//! A variable of the statement takes the values of an interval, and an iterator the positions of a window. Both are all there are,
//! unless something *confines* them: a strip or a chunk that a schedule cut, the coordinates that lie inside of a dimension, a
//! structure. The code that knows of such a restriction [narrows](narrow) the region, so that several of them meet; loops ask here
//! for their bounds and know nothing of the reasons.
//!
//! ```text
//! i in 32 i0 .. min(32 i0 + 32, n)        a dense loop takes the interval as its bounds
//! p in the positions of coordinates low .. high        an iterator is confined by two searches among its coordinates
//! p in max(begin, first) .. min(end, last)             or by a window of its positions
//! ```
//!
//! A restriction that holds wherever a variable's loop stands is a [`Restriction`], one file each in this folder, and listed in
//! [`RESTRICTIONS`].
//!
//! Paper: Senanayake et al. 2020, §6.2 (bounds).

pub(super) mod computed;
pub(super) mod recovered;
pub(super) mod whole;

use lacunar_base::Diagnostic;
use lacunar_imp::BinaryOp;
use lacunar_notation::VarId;
use lacunar_notation::concrete::Kernel;

use super::Lowerer;
use super::derive::position;
use super::scope::{Fact, Interval, Scope};
use super::storage::level;
use crate::iterate::iterators::{Iterator, Mode, level_var};
use crate::iterate::lattice::{Lattice, solvable};
use crate::levels::Position;

/// Something that confines variables, known from the kernel alone.
pub(super) trait Restriction: Sync {
    /// Confines a variable whose loop comes next, where other variables have values.
    ///
    /// # Errors
    /// A variable that the region depends on has no value.
    fn confine(&self, cx: &mut Lowerer<'_>, var: VarId, lattice: &Lattice, scope: &mut Scope)
    -> Result<(), Diagnostic>;

    /// True if loops over a variable leave out coordinates of its dimension, so that they do not cover it.
    fn leaves_out(&self, kernel: &Kernel, var: VarId) -> bool;

    /// True if some of the coordinates that they leave out have a place in the result.
    fn leaves_places_out(&self, kernel: &Kernel, var: VarId) -> bool {
        self.leaves_out(kernel, var)
    }
}

/// All that confines variables.
const RESTRICTIONS: [&dyn Restriction; 2] = [&recovered::InsideDimension, &computed::Computed];

/// Confines a variable whose loop comes next to all that is known of its values: restrictions, and the intervals of the lattice.
pub(super) fn confine(cx: &mut Lowerer<'_>, var: VarId, lattice: &Lattice, scope: &Scope) -> Result<Scope, Diagnostic> {
    let mut scope = scope.clone();
    if whole::confine(cx, var, &lattice.confining, &mut scope) {
        return Ok(scope);
    }
    for restriction in RESTRICTIONS {
        restriction.confine(cx, var, lattice, &mut scope)?;
    }
    let confining: Vec<&Iterator> =
        lattice.confining.iter().filter(|iterator| !is_everywhere(cx.kernel, iterator)).collect();
    for iterator in &confining {
        let interval = interval(cx, iterator, &scope)?;
        narrow(cx, var, interval, &mut scope);
    }
    if let (Some((low, high)), false) = (scope.region(var), confining.is_empty()) {
        let name = cx.var_name(var);
        let high = cx.b.define(&format!("{name}_high"), high);
        // Several intervals may have nothing in common.
        let is_first = cx.b.as_const(low).is_some_and(|low| low.bits == 0);
        let low = if is_first { low } else { cx.b.binary(BinaryOp::Min, low, high) };
        let low = cx.b.define(&format!("{name}_low"), low);
        scope.know(Fact::Region(var, (low, high)));
    }
    Ok(scope)
}

/// True if an equation of two coordinates has a solution at every coordinate of its first level, as the sizes tell.
fn is_everywhere(kernel: &Kernel, iterator: &Iterator) -> bool {
    let size = kernel.vars[level_var(kernel, &iterator.access, iterator.level)].size;
    solvable(kernel, iterator).is_some_and(|interval| Some(interval) == size.map(|size| (0, size)))
}

/// The coordinates of an iterator that has all of an interval: none where it is absent.
fn interval(cx: &mut Lowerer<'_>, iterator: &Iterator, scope: &Scope) -> Result<Interval, Diagnostic> {
    let (key, number) = (&iterator.access, iterator.level);
    let parent = position(cx, key, number.checked_sub(1), scope)?.first();
    let code = level(cx, key, number, scope)?;
    let none = || Diagnostic::internal("a level that confines a loop has no interval");
    let (low, high) = code.interval(&mut cx.b, parent).ok_or_else(none)?;
    Ok(match scope.uncertain(key) {
        Some(uncertain) => (low, cx.b.select(uncertain.present, high, low)),
        None => (low, high),
    })
}

/// True if loops over a variable leave out coordinates of its dimension.
pub(super) fn leaves_out(kernel: &Kernel, var: VarId) -> bool {
    RESTRICTIONS.iter().any(|restriction| restriction.leaves_out(kernel, var))
}

/// True if loops over a variable leave out coordinates of its dimension at which the result has places.
pub(super) fn leaves_places_out(kernel: &Kernel, var: VarId) -> bool {
    RESTRICTIONS.iter().any(|restriction| restriction.leaves_places_out(kernel, var))
}

/// Confines a variable to an interval of its values, within its earlier region.
pub(super) fn narrow(cx: &mut Lowerer<'_>, var: VarId, (mut low, mut high): Interval, scope: &mut Scope) {
    if let Some((first, last)) = scope.region(var) {
        low = cx.b.binary(BinaryOp::Max, first, low);
        high = cx.b.binary(BinaryOp::Min, last, high);
    }
    scope.know(Fact::Region(var, (low, high)));
}

/// The coordinates that a dense loop over a variable visits.
pub(super) fn coordinates(cx: &mut Lowerer<'_>, var: VarId, scope: &Scope) -> Result<Interval, Diagnostic> {
    let (mut low, mut high) = match scope.region(var) {
        Some(region) => region,
        None => (cx.b.int(0), cx.size(var)),
    };
    // Positions of a dense level are its coordinates, one segment after the other.
    for (key, number, (first, last)) in scope.windows() {
        let is_full = cx.kernel.tensors[key.tensor].format.levels()[number].properties().full;
        if is_full && level_var(cx.kernel, key, number) == var {
            let Position::One(parent) = position(cx, key, number.checked_sub(1), scope)? else {
                return Err(Diagnostic::internal("a dense level under repeated coordinates"));
            };
            let begin = cx.b.mul(parent, cx.size(var));
            let (from, to) = (cx.b.sub(first, begin), cx.b.sub(last, begin));
            low = cx.b.binary(BinaryOp::Max, low, from);
            high = cx.b.binary(BinaryOp::Min, high, to);
        }
    }
    Ok((low, high))
}

/// True if a loop over a variable is known to visit all of its dimension.
pub(super) fn is_whole(kernel: &Kernel, var: VarId, scope: &Scope) -> bool {
    let is_own = |key, number| level_var(kernel, key, number) == var;
    scope.region(var).is_none() && !scope.windows().into_iter().any(|(key, number, _)| is_own(key, number))
}

/// The part of an iterator's positions that lie, with their coordinates, within the limits of the scope.
pub(super) fn positions(
    cx: &mut Lowerer<'_>,
    iterator: &Iterator,
    (mut begin, mut end): Interval,
    scope: &Scope,
) -> Result<Interval, Diagnostic> {
    let (key, number) = (&iterator.access, iterator.level);
    if iterator.mode == Mode::Search {
        return Ok((begin, end));
    }
    let var = level_var(cx.kernel, key, number);
    if let Some((low, high)) = scope.region(var) {
        let parent = position(cx, key, number.checked_sub(1), scope)?.first();
        let code = level(cx, key, number, scope)?;
        if cx.b.as_const(low).is_none_or(|low| low.bits != 0) {
            begin = code.seek(&mut cx.b, parent, begin, end, low);
        }
        if high != cx.size(var) {
            end = code.seek_end(&mut cx.b, parent, begin, end, high);
        }
    }
    // Behind the searches, as a window may end before it begins.
    Ok(clamped(cx, (begin, end), scope.window(key, number)))
}

/// The part of an interval inside of another.
pub(super) fn clamped(cx: &mut Lowerer<'_>, (from, to): Interval, within: Option<Interval>) -> Interval {
    let Some((low, high)) = within else { return (from, to) };
    (cx.b.binary(BinaryOp::Max, from, low), cx.b.binary(BinaryOp::Min, to, high))
}

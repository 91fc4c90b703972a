//! The values of variables and the positions of levels, from those that are known.
//!
//! Variables are related: a schedule splits and fuses them, and counts the positions of a level instead of coordinates. This file
//! is where the relations of `notation/src/provenance.rs` are solved, in both directions:
//!
//! ```text
//! split(i, i0, i1, 32)     i0 in 0 .. ceil(n / 32),  i1 in 0 .. min(32, n - 32 i0)       range
//!                          i = 32 i0 + i1     from below:  i0 and i1 have values          coordinate
//!                          i1 = i - 32 i0     from above:  i and i0 have; i % 32, where only i does
//! A(i,j): csr              level 0 at i,  level 1 where its iterator stands               position
//! ```
//!
//! On entry: the loops around have told the scope the values of their variables. A variable of the statement may be *confined* to a
//! part of its values (a strip, a chunk); variables that derive from it are counted from the first of all its values, wherever its
//! loop begins.
//!
//! Sizes go up to the greatest index, and so may those in schedules. No value here exceeds the size that it derives from: numbers
//! of a schedule end at the greatest index, quotients are rounded up without a sum ([`super::sizes`]), strips end at the end of the
//! variable that they are cut from, and `i0` counts the strips that have an `i1`-th value if `i1` comes first. Products of fused
//! sizes are the exception; the caller of a kernel checks them.
//!
//! Paper: Senanayake et al. 2020, §6.1-6.2 (coordinate recovery and bounds).

use lacunar_base::Diagnostic;
use lacunar_imp::{BinaryOp, CompareOp, ExprId};
use lacunar_notation::provenance::Relation;
use lacunar_notation::schedule::{BoundKind, Parts};
use lacunar_notation::{Access, Role, VarId};

use super::Lowerer;
use super::scope::{Fact, Interval, Scope, Uncertain};
use super::sizes::{ceil_div, constant, divides, strip_begin, strip_of};
use super::storage::{descend, find_level, level, unbound};
use crate::iterate::iterators::{AccessKey, level_var, result_of};
use crate::iterate::position_space::{driver, numbers_of_strips, pos_levels};
use crate::levels::{At, Position};

/// The most strips for each thread that a `divide` makes; with any number of threads they can be counted.
const MOST_PER_THREAD: u64 = 1 << 32;

/// The position of an access at a level, counted from the root (level 0 is the outermost level; `None` the root).
pub(super) fn position(
    cx: &mut Lowerer<'_>,
    access: &AccessKey,
    number: Option<usize>,
    scope: &Scope,
) -> Result<Position, Diagnostic> {
    let Some(number) = number else { return Ok(Position::One(cx.b.int(0))) };
    if let Some(position) = scope.position(access, number) {
        return Ok(position);
    }
    if let Some(position) = appended_position(cx, access, number, scope) {
        return Ok(Position::One(position));
    }
    if let Some(position) = position_alike(cx, access, number, scope) {
        return Ok(position);
    }
    let tensor = &cx.kernel.tensors[access.tensor];
    let var = level_var(cx.kernel, access, number);
    let mut at = coordinate(cx, var, scope)?;
    if let Some(slab) = scope.slab().filter(|slab| slab.tensor == access.tensor && number == 0) {
        at = cx.b.sub(at, slab.first);
    }
    let Position::One(parent) = position(cx, access, number.checked_sub(1), scope)? else {
        return Err(Diagnostic::internal(format!("a dense level of `{}` under repeated coordinates", tensor.name)));
    };
    // In a kernel that only computes, the result's levels have no code of their own unless threads look up their places in it, but
    // its dense levels are located all the same, as are those of workspaces.
    let own = find_level(cx, access.tensor, number, scope).filter(|_| !matches!(tensor.role, Role::Workspace(_)));
    let located = match own {
        Some(code) => code.locate(&mut cx.b, parent, at),
        None => {
            let first = cx.b.mul(parent, cx.size(var));
            Some(cx.b.add(first, at))
        }
    };
    let position = located.map(Position::One).or_else(|| scope.position_by_another(cx.kernel, access, number));
    position.ok_or_else(|| unbound(cx, access, number))
}

/// The position of an operand that is packed as the result is, and read at its coordinates, where a loop over the result's positions has it.
fn position_alike(cx: &Lowerer<'_>, access: &AccessKey, number: usize, scope: &Scope) -> Option<Position> {
    cx.kernel.followers.as_ref().filter(|followers| followers.is_packed)?;
    let result = result_of(cx.kernel)?;
    let format = |key: &AccessKey| &cx.kernel.tensors[key.tensor].format;
    let is_alike = result.vars == access.vars && format(&result) == format(access) && format(access).is_dense();
    scope.position(&result, number).filter(|_| is_alike)
}

/// The position in a result that is appended to: the counter of the level's group, or the slot of a lane.
fn appended_position(cx: &mut Lowerer<'_>, access: &AccessKey, level: usize, scope: &Scope) -> Option<ExprId> {
    let appended = scope.appended().filter(|appended| appended.access.tensor == access.tensor)?;
    let group = appended.groups.iter().position(|group| (group.head..=group.tail).contains(&level))?;
    let is_innermost = group + 1 == appended.groups.len();
    let counter = appended.groups[group].counter;
    Some(scope.slot().filter(|_| is_innermost).unwrap_or_else(|| cx.b.var(counter)))
}

/// The position of an access's value.
pub(super) fn value_position(cx: &mut Lowerer<'_>, access: &AccessKey, scope: &Scope) -> Result<ExprId, Diagnostic> {
    let tensor = &cx.kernel.tensors[access.tensor];
    if tensor.role.is_marked() {
        // Values lie at their coordinate, whatever the order of the list.
        return coordinate(cx, access.vars[0], scope);
    }
    match position(cx, access, tensor.order().checked_sub(1), scope)? {
        Position::One(position) => Ok(position),
        Position::Range(..) => {
            Err(Diagnostic::internal(format!("the last level of `{}` repeats a coordinate", tensor.name)))
        }
    }
}

/// The value of a variable: bound by a loop, put together from the variables that derive from it, or taken from those that it
/// derives from.
pub(super) fn coordinate(cx: &mut Lowerer<'_>, var: VarId, scope: &Scope) -> Result<ExprId, Diagnostic> {
    match value_below(cx, var, scope)? {
        Some(value) => Ok(value),
        None => value_above(cx, var, scope)?
            .ok_or_else(|| Diagnostic::internal(format!("`{}` has no value where it is needed", cx.var_name(var)))),
    }
}

fn value_below(cx: &mut Lowerer<'_>, var: VarId, scope: &Scope) -> Result<Option<ExprId>, Diagnostic> {
    if let Some(value) = scope.value(var) {
        return Ok(Some(value));
    }
    for relation in cx.kernel.provenance.uses(var) {
        match *relation {
            Relation::Split { outer, inner, .. } | Relation::Divide { outer, inner, .. } => {
                let (Some(outer), Some(inner)) = (value_below(cx, outer, scope)?, value_below(cx, inner, scope)?)
                else {
                    continue;
                };
                let mut inside = scope.clone();
                let first = first(cx, var, &mut inside)?;
                let size = strip(cx, relation, &mut inside)?;
                let offset = cx.b.mul(outer, size);
                let begin = cx.b.add(first, offset);
                return Ok(Some(cx.b.add(begin, inner)));
            }
            Relation::Bound { bounded, .. } => {
                if let Some(value) = value_below(cx, bounded, scope)? {
                    return Ok(Some(value));
                }
            }
            Relation::Fuse { .. } | Relation::Pos { .. } | Relation::Coord { .. } | Relation::Rename { .. } => {}
        }
    }
    Ok(None)
}

fn value_above(cx: &mut Lowerer<'_>, var: VarId, scope: &Scope) -> Result<Option<ExprId>, Diagnostic> {
    let Some(relation) = cx.kernel.provenance.origin(var) else { return Ok(None) };
    let mut inside = scope.clone();
    Ok(match *relation {
        Relation::Split { parent, outer, .. } | Relation::Divide { parent, outer, .. } => {
            let whole = coordinate(cx, parent, scope)?;
            let first = first(cx, parent, &mut inside)?;
            let size = strip(cx, relation, &mut inside)?;
            let offset = cx.b.sub(whole, first);
            if var == outer {
                return Ok(Some(cx.b.binary(BinaryOp::Div, offset, size)));
            }
            // If the strip is known, the place in it is a difference.
            match value_below(cx, outer, scope)? {
                Some(number) => {
                    let begin = cx.b.mul(number, size);
                    Some(cx.b.sub(offset, begin))
                }
                None => Some(cx.b.binary(BinaryOp::Rem, offset, size)),
            }
        }
        Relation::Bound { parent, .. } => Some(coordinate(cx, parent, scope)?),
        Relation::Fuse { outer, inner, .. } => {
            let size = width(cx, inner, &mut inside)?;
            let (outer, inner) = (coordinate(cx, outer, scope)?, coordinate(cx, inner, scope)?);
            let first = cx.b.mul(outer, size);
            Some(cx.b.add(first, inner))
        }
        Relation::Pos { coordinate, ref access, .. } => {
            let key = AccessKey::from(access);
            let originals = cx.kernel.provenance.originals(coordinate);
            let level = pos_levels(cx.kernel, &key, &originals).end - 1;
            match position(cx, &key, Some(level), scope)? {
                Position::One(position) => Some(position),
                Position::Range(..) => None,
            }
        }
        Relation::Coord { position, .. } => match cx.kernel.provenance.originals(position).last() {
            Some(&original) => Some(coordinate(cx, original, scope)?),
            None => None,
        },
        Relation::Rename { .. } => None,
    })
}

/// The values of a variable, where the variables of the scope have theirs. Values of strips count from 0.
pub(super) fn range(cx: &mut Lowerer<'_>, var: VarId, scope: &mut Scope) -> Result<Interval, Diagnostic> {
    let place = place_in_strips(cx, var, scope);
    // A range that is known for strips holds for no place in particular.
    if let (Some(known), None) = (scope.range(var), place) {
        return Ok(known);
    }
    let zero = cx.b.int(0);
    let interval = match cx.kernel.provenance.origin(var) {
        None | Some(Relation::Rename { .. }) => (zero, cx.size(var)),
        Some(&Relation::Bound { parent, size, kind, .. }) => {
            let (low, high) = range(cx, parent, scope)?;
            let number = constant(&mut cx.b, size);
            match kind {
                BoundKind::MaxExact => (low, number),
                BoundKind::MinExact => (number, high),
                BoundKind::MaxConstraint | BoundKind::MinConstraint => (low, high),
            }
        }
        Some(relation @ (Relation::Split { .. } | Relation::Divide { .. })) => {
            range_of_part(cx, var, relation, place, scope)?
        }
        Some(&Relation::Fuse { outer, inner, .. }) => {
            let ((_, outer), inner) = (range(cx, outer, scope)?, width(cx, inner, scope)?);
            (zero, cx.b.mul(outer, inner))
        }
        Some(Relation::Pos { coordinate, access, .. }) => range_of_positions(cx, *coordinate, access, scope)?,
        Some(&Relation::Coord { position, .. }) => coordinates_of(cx, position, scope)?,
    };
    if is_settled(cx, var, &scope.bound()) {
        scope.know(Fact::Range(var, interval));
    }
    Ok(interval)
}

/// The values of a strip's number, or of the place in a strip; for numbers, of those strips that have a value at `place`, if it is
/// known.
fn range_of_part(
    cx: &mut Lowerer<'_>,
    var: VarId,
    relation: &Relation,
    place: Option<VarId>,
    scope: &mut Scope,
) -> Result<Interval, Diagnostic> {
    let (Relation::Split { parent, outer, .. } | Relation::Divide { parent, outer, .. }) = *relation else {
        return Err(Diagnostic::internal("strips of what is not split"));
    };
    let zero = cx.b.int(0);
    let (low, high) = range(cx, parent, scope)?;
    let size = strip(cx, relation, scope)?;
    let length = cx.b.sub(high, low);
    if var == outer {
        let before = match place {
            Some(place) => coordinate(cx, place, scope)?,
            None => zero,
        };
        let length = cx.b.sub(length, before);
        Ok((zero, ceil_div(&mut cx.b, length, size)))
    } else if is_bound(cx, outer, &scope.bound()) && !divides(&cx.b, size, length) && !scope.is_whole_strip(var) {
        let number = coordinate(cx, outer, scope)?;
        let begin = cx.b.mul(number, size);
        let rest = cx.b.sub(length, begin);
        let end = cx.b.binary(BinaryOp::Min, rest, size);
        Ok((zero, cx.b.define(&format!("{}_end", cx.kernel.vars[var].name), end)))
    } else {
        Ok((zero, strip_of(&mut cx.b, size, length)))
    }
}

/// The positions of the last level that stores a coordinate, under those above that are known; none where the access is absent, whose
/// position above may lie behind the last one.
fn range_of_positions(
    cx: &mut Lowerer<'_>,
    coordinate: VarId,
    access: &Access,
    scope: &mut Scope,
) -> Result<Interval, Diagnostic> {
    let key = AccessKey::from(access);
    let Some(Uncertain { present, .. }) = scope.uncertain(&key) else {
        return range_of_present(cx, coordinate, &key, scope);
    };
    let none = cx.b.int(0);
    let (first, end) = (cx.b.declare("first", none), cx.b.declare("behind", none));
    cx.when(present, |cx| {
        let (low, high) = range_of_present(cx, coordinate, &key, &mut scope.clone())?;
        cx.b.assign(first, low);
        cx.b.assign(end, high);
        Ok(())
    })?;
    Ok((cx.b.var(first), cx.b.var(end)))
}

/// The same where the access is present.
fn range_of_present(
    cx: &mut Lowerer<'_>,
    coordinate: VarId,
    key: &AccessKey,
    scope: &mut Scope,
) -> Result<Interval, Diagnostic> {
    let originals = cx.kernel.provenance.originals(coordinate);
    let levels = pos_levels(cx.kernel, key, &originals);
    let parent = position(cx, key, levels.start.checked_sub(1), scope)?;
    let parents = parent.range(&mut cx.b);
    let all = descend(cx, key, levels.start..=levels.end - 1, parents, scope)?;
    let Some((from, to)) = strip_of_coordinates(cx, coordinate, scope)? else { return Ok(all) };
    let code = level(cx, key, levels.start, scope)?;
    // A segment may end before the next one begins.
    let is_full = cx.kernel.tensors[key.tensor].format.levels()[levels.start].properties().full;
    let (begin, end) = if is_full { all } else { code.bounds(&mut cx.b, parent) };
    let first = code.seek(&mut cx.b, parent.first(), begin, end, from);
    Ok((first, code.seek_end(&mut cx.b, parent.first(), begin, end, to)))
}

/// The coordinates of the strip that a variable is the place inside of; `None` if it is not part of another variable.
fn strip_of_coordinates(cx: &mut Lowerer<'_>, var: VarId, scope: &mut Scope) -> Result<Option<Interval>, Diagnostic> {
    if numbers_of_strips(cx.kernel, var).is_empty() {
        return Ok(None);
    }
    let (low, high) = range(cx, var, scope)?;
    Ok(Some((first_below(cx, var, low, scope)?, first_below(cx, var, high, scope)?)))
}

/// The variable of the place inside of strips, where a variable counts those that have a value at a place which is known.
fn place_in_strips(cx: &Lowerer<'_>, var: VarId, scope: &Scope) -> Option<VarId> {
    match cx.kernel.provenance.origin(var)? {
        Relation::Split { outer, inner, .. } | Relation::Divide { outer, inner, .. } if *outer == var => {
            Some(*inner).filter(|inner| is_bound(cx, *inner, &scope.bound()))
        }
        _ => None,
    }
}

/// The coordinates that belong to a strip of positions: from that of its first position (from 0, for the first strip) up to
/// that of the first position behind it (to the end, for the last strip).
fn coordinates_of(cx: &mut Lowerer<'_>, positions: VarId, scope: &mut Scope) -> Result<Interval, Diagnostic> {
    let originals = cx.kernel.provenance.originals(positions);
    let (Some(&original), Some(access)) = (originals.last(), driver(cx.kernel, positions)) else {
        return Err(Diagnostic::internal("coordinates of what are no positions"));
    };
    let key = AccessKey::from(access);
    let number = pos_levels(cx.kernel, &key, &originals).end - 1;
    let (mut low, mut high) = range(cx, positions, scope)?;
    let mut var = positions;
    let (first, last) = loop {
        match cx.kernel.provenance.origin(var) {
            Some(relation @ (Relation::Split { parent, outer, .. } | Relation::Divide { parent, outer, .. })) => {
                let (begin, _) = range(cx, *parent, scope)?;
                let size = strip(cx, relation, scope)?;
                let number = coordinate(cx, *outer, scope)?;
                let offset = cx.b.mul(number, size);
                let begin = cx.b.add(begin, offset);
                (low, high) = (cx.b.add(begin, low), cx.b.add(begin, high));
                var = *parent;
            }
            _ => break range(cx, var, scope)?,
        }
    };
    let strip = match cx.kernel.provenance.origin(var) {
        Some(&Relation::Pos { coordinate, .. }) => strip_of_coordinates(cx, coordinate, scope)?,
        _ => None,
    };
    let (all, size) = strip.unwrap_or((cx.b.int(0), cx.size(original)));
    let (from, to, zero) = (cx.b.declare("from", all), cx.b.declare("to", size), cx.b.int(0));
    for (at, bound, place) in [(low, first, from), (high, last, to)] {
        let is_inside = cx.b.compare(CompareOp::Ne, at, bound);
        cx.when(is_inside, |cx| {
            let parent = position(cx, &key, number.checked_sub(1), scope)?.first();
            let is_dense = cx.kernel.tensors[key.tensor].format.levels()[number].properties().full;
            let code = level(cx, &key, number, scope)?;
            let coordinate = match is_dense {
                // The positions of one parent follow each other among those of all.
                true => {
                    let begin = code.locate(&mut cx.b, parent, zero).unwrap_or(zero);
                    cx.b.sub(at, begin)
                }
                false => code.coordinate(&mut cx.b, "edge", At { parent, position: at, state: None }),
            };
            cx.b.assign(place, coordinate);
            Ok::<(), Diagnostic>(())
        })?;
    }
    Ok((cx.b.var(from), cx.b.var(to)))
}

/// The first value of a variable, whatever else is known.
pub(super) fn first(cx: &mut Lowerer<'_>, var: VarId, scope: &mut Scope) -> Result<ExprId, Diagnostic> {
    match cx.kernel.provenance.origin(var) {
        None
        | Some(Relation::Rename { .. } | Relation::Split { .. } | Relation::Divide { .. } | Relation::Fuse { .. }) => {
            Ok(cx.b.int(0))
        }
        Some(&Relation::Bound { parent, kind, .. }) if kind != BoundKind::MinExact => first(cx, parent, scope),
        Some(Relation::Bound { .. } | Relation::Pos { .. } | Relation::Coord { .. }) => Ok(range(cx, var, scope)?.0),
    }
}

/// The number of values of the inner variable of a pair by which the outer one advances. Pairs keep their numbers even if fewer
/// values of the inner one are left where more is known.
pub(super) fn width(cx: &mut Lowerer<'_>, inner: VarId, scope: &mut Scope) -> Result<ExprId, Diagnostic> {
    if let Some(width) = scope.width(inner) {
        return Ok(width);
    }
    let (_, width) = range(cx, inner, scope)?;
    scope.know(Fact::Width(inner, width));
    Ok(width)
}

/// The size of the strips that a relation makes. They keep it even if more is known of the variable that they are cut from.
pub(super) fn strip(cx: &mut Lowerer<'_>, relation: &Relation, scope: &mut Scope) -> Result<ExprId, Diagnostic> {
    match *relation {
        Relation::Split { size, .. } => Ok(constant(&mut cx.b, size)),
        Relation::Divide { parent, parts, .. } => {
            if let Some(size) = scope.strip(parent) {
                return Ok(size);
            }
            let (low, high) = range(cx, parent, scope)?;
            let length = cx.b.sub(high, low);
            let parts = number_of(cx, parts);
            let size = ceil_div(&mut cx.b, length, parts);
            let size = match cx.b.as_const(size) {
                Some(_) => size,
                None => cx.b.define("strip", size),
            };
            scope.know(Fact::Strip(parent, size));
            Ok(size)
        }
        _ => Err(Diagnostic::internal("strips of what is not split")),
    }
}

/// The number of strips that a `divide` makes.
fn number_of(cx: &mut Lowerer<'_>, parts: Parts) -> ExprId {
    match parts {
        Parts::Count(count) => constant(&mut cx.b, count),
        Parts::PerThread(count) => {
            let count = constant(&mut cx.b, count.min(MOST_PER_THREAD));
            let threads = cx.threads();
            cx.b.mul(threads, count)
        }
    }
}

/// The first value that belongs to a value of a leaf, of the variable that the leaf was split from, in the terms of the outermost
/// variable that is not split.
pub(super) fn first_below(
    cx: &mut Lowerer<'_>,
    var: VarId,
    value: ExprId,
    scope: &mut Scope,
) -> Result<ExprId, Diagnostic> {
    match cx.kernel.provenance.origin(var) {
        Some(relation @ (Relation::Split { parent, outer, .. } | Relation::Divide { parent, outer, .. })) => {
            let (first, high) = range(cx, *parent, scope)?;
            let size = strip(cx, relation, scope)?;
            let offset = if var == *outer {
                let whole = cx.b.sub(high, first);
                strip_begin(&mut cx.b, value, size, whole)
            } else {
                let number = coordinate(cx, *outer, scope)?;
                let begin = cx.b.mul(number, size);
                cx.b.add(begin, value)
            };
            let value = cx.b.add(first, offset);
            let value = cx.b.binary(BinaryOp::Min, value, high);
            first_below(cx, *parent, value, scope)
        }
        Some(Relation::Bound { parent, .. }) => first_below(cx, *parent, value, scope),
        _ => Ok(value),
    }
}

/// True if a variable, or all that it was cut into, has a loop of its own around. A fused variable has one when its pairs are taken
/// apart.
pub(super) fn is_bound(cx: &Lowerer<'_>, var: VarId, bound: &[VarId]) -> bool {
    bound.contains(&var)
        || cx.kernel.provenance.uses(var).any(|relation| {
            !matches!(relation, Relation::Fuse { .. } | Relation::Rename { .. })
                && relation.children().into_iter().all(|child| is_bound(cx, child, bound))
        })
}

/// True if the loops to come will not narrow the values of a variable further.
pub(super) fn is_settled(cx: &Lowerer<'_>, var: VarId, bound: &[VarId]) -> bool {
    match cx.kernel.provenance.origin(var) {
        None | Some(Relation::Rename { .. }) => true,
        Some(Relation::Split { parent, outer, .. } | Relation::Divide { parent, outer, .. }) => {
            is_settled(cx, *parent, bound) && (var == *outer || is_bound(cx, *outer, bound))
        }
        Some(relation) => relation.parents().into_iter().all(|parent| is_settled(cx, parent, bound)),
    }
}

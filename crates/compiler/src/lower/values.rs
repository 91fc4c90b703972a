//! The values of derived variables: from where to where they go, and which one is taken where others are known.
//!
//! ```text
//! split(i, i0, i1, 32)     i0 in 0 .. ceil(n / 32),  i1 in 0 .. min(32, n - 32 i0)
//!                          i = 32 i0 + i1     from below:  where i0 and i1 have values
//!                          i1 = i % 32        from above:  where i has one, in a loop that i1's stands for
//! ```
//!
//! On entry: the loops around have bound variables of the scope. A variable of the statement may be *confined* to a part of its
//! values (a strip, a chunk); what derives from it is counted from the first of all, wherever its loop begins.
//!
//! Sizes go up to the greatest index, and so may those in schedules. Nothing here exceeds the size that it derives from: numbers
//! of a schedule end at the greatest index, quotients are rounded up without a sum ([`super::sizes`]), strips end where what they
//! are cut from does, and `i0` counts the strips that have an `i1`-th value where `i1` comes first. Products of fused sizes are
//! the exception; who runs a kernel checks them.
//!
//! Paper: Senanayake et al. 2020, §6.1-6.2 (coordinate recovery and bounds).

use lacunar_base::Diagnostic;
use lacunar_imp::{BinaryOp, Builder, CompareOp, ExprId};
use lacunar_notation::VarId;
use lacunar_notation::concrete::Kernel;
use lacunar_notation::provenance::Relation;
use lacunar_notation::schedule::{BoundKind, Parts};

use super::sizes::{ceil_div, constant, strip_of};
use super::space::Interval;
use super::{Lowerer, Scope};
use crate::iterate::iterators::{AccessKey, Iterator, Mode, level_var};
use crate::iterate::space::{driver, pos_levels};
use crate::levels::{At, Position};

impl Lowerer<'_> {
    /// The values of a variable, where the variables of the scope have theirs. Values of strips count from 0.
    pub(super) fn range(&mut self, var: VarId, scope: &mut Scope) -> Result<Interval, Diagnostic> {
        let place = self.place_in_strips(var, scope);
        // What is known of strips holds for no place in particular.
        if let (Some(&known), None) = (scope.ranges.get(&var), place) {
            return Ok(known);
        }
        let zero = self.b.int(0);
        let interval = match self.kernel.provenance.origin(var).cloned() {
            None | Some(Relation::Rename { .. }) => (zero, self.size(var)),
            Some(Relation::Bound { parent, size, kind, .. }) => {
                let (low, high) = self.range(parent, scope)?;
                let number = constant(&mut self.b, size);
                match kind {
                    BoundKind::MaxExact => (low, number),
                    BoundKind::MinExact => (number, high),
                    BoundKind::MaxConstraint | BoundKind::MinConstraint => (low, high),
                }
            }
            Some(relation @ (Relation::Split { parent, outer, .. } | Relation::Divide { parent, outer, .. })) => {
                let (low, high) = self.range(parent, scope)?;
                let size = self.strip(&relation, scope)?;
                let length = self.b.sub(high, low);
                if var == outer {
                    let before = match place {
                        Some(place) => self.coordinate(place, scope)?,
                        None => zero,
                    };
                    let length = self.b.sub(length, before);
                    (zero, self.ceil_div(length, size))
                } else if self.is_bound(outer, &scope.bound()) && !self.divides(size, length) {
                    let number = self.coordinate(outer, scope)?;
                    let begin = self.b.mul(number, size);
                    let rest = self.b.sub(length, begin);
                    let end = self.b.binary(BinaryOp::Min, rest, size);
                    (zero, self.b.define(&format!("{}_end", self.var_name(var)), end))
                } else {
                    (zero, strip_of(&mut self.b, size, length))
                }
            }
            Some(Relation::Fuse { outer, inner, .. }) => {
                let ((_, outer), inner) = (self.range(outer, scope)?, self.width(inner, scope)?);
                (zero, self.b.mul(outer, inner))
            }
            Some(Relation::Pos { coordinate, access, .. }) => {
                let key = AccessKey::from(&access);
                let originals = self.kernel.provenance.originals(coordinate);
                let levels = pos_levels(self.kernel, &key, &originals);
                let parent = match self.position(&key, levels.start.checked_sub(1), scope)? {
                    Position::One(parent) => {
                        let one = self.b.int(1);
                        (parent, self.b.add(parent, one))
                    }
                    Position::Range(low, high) => (low, high),
                };
                self.descend(&key, levels.start..=levels.end - 1, parent)?
            }
            Some(Relation::Coord { position, .. }) => self.coordinates_of(position, scope)?,
        };
        if self.is_settled(var, &scope.bound()) {
            scope.ranges.insert(var, interval);
        }
        Ok(interval)
    }

    /// The variable of the place inside of strips, where a variable counts those that have a value at a place which is known.
    fn place_in_strips(&self, var: VarId, scope: &Scope) -> Option<VarId> {
        match self.kernel.provenance.origin(var)? {
            Relation::Split { outer, inner, .. } | Relation::Divide { outer, inner, .. } if *outer == var => {
                Some(*inner).filter(|inner| self.is_bound(*inner, &scope.bound()))
            }
            _ => None,
        }
    }

    /// The coordinates that belong to a strip of positions: from that of its first position (from 0, for the first strip) up to
    /// that of the first position behind it (to the end, for the last strip).
    fn coordinates_of(&mut self, position: VarId, scope: &mut Scope) -> Result<Interval, Diagnostic> {
        let originals = self.kernel.provenance.originals(position);
        let (Some(&original), Some(access)) = (originals.last(), driver(self.kernel, position)) else {
            return Err(Diagnostic::internal("coordinates of what are no positions"));
        };
        let key = AccessKey::from(access);
        let level = pos_levels(self.kernel, &key, &originals).end - 1;
        let (mut low, mut high) = self.range(position, scope)?;
        let mut var = position;
        let (first, last) = loop {
            match self.kernel.provenance.origin(var).cloned() {
                Some(relation @ (Relation::Split { parent, outer, .. } | Relation::Divide { parent, outer, .. })) => {
                    let (begin, _) = self.range(parent, scope)?;
                    let size = self.strip(&relation, scope)?;
                    let number = self.coordinate(outer, scope)?;
                    let offset = self.b.mul(number, size);
                    let begin = self.b.add(begin, offset);
                    (low, high) = (self.b.add(begin, low), self.b.add(begin, high));
                    var = parent;
                }
                _ => break self.range(var, scope)?,
            }
        };
        let zero = self.b.int(0);
        let size = self.size(original);
        let (from, to) = (self.b.declare("from", zero), self.b.declare("to", size));
        for (at, bound, place) in [(low, first, from), (high, last, to)] {
            let inside = self.b.compare(CompareOp::Ne, at, bound);
            self.b.begin_block();
            let parent = self.position(&key, level.checked_sub(1), scope)?.first();
            let (b, code) = self.level(&key, level)?;
            let coordinate = code.coordinate(b, "edge", At { parent, position: at, state: None });
            self.b.assign(place, coordinate);
            let then = self.b.end_block();
            self.b.push(lacunar_imp::Stmt::If { cond: inside, then, otherwise: Vec::new() });
        }
        Ok((self.b.var(from), self.b.var(to)))
    }

    /// The first value of a variable, whatever else is known.
    pub(super) fn first(&mut self, var: VarId, scope: &mut Scope) -> Result<ExprId, Diagnostic> {
        match self.kernel.provenance.origin(var) {
            None
            | Some(
                Relation::Rename { .. } | Relation::Split { .. } | Relation::Divide { .. } | Relation::Fuse { .. },
            ) => Ok(self.b.int(0)),
            Some(&Relation::Bound { parent, kind, .. }) if kind != BoundKind::MinExact => self.first(parent, scope),
            Some(Relation::Bound { .. } | Relation::Pos { .. } | Relation::Coord { .. }) => {
                Ok(self.range(var, scope)?.0)
            }
        }
    }

    /// By how many values of the inner variable of a pair the outer one advances. Though fewer may be left of the inner one where
    /// more is known, pairs keep their numbers.
    pub(super) fn width(&mut self, inner: VarId, scope: &mut Scope) -> Result<ExprId, Diagnostic> {
        if let Some(&width) = scope.widths.get(&inner) {
            return Ok(width);
        }
        let (_, width) = self.range(inner, scope)?;
        scope.widths.insert(inner, width);
        Ok(width)
    }

    /// The size of the strips that a relation makes, which they keep where more is known of what they are cut from.
    pub(super) fn strip(&mut self, relation: &Relation, scope: &mut Scope) -> Result<ExprId, Diagnostic> {
        match *relation {
            Relation::Split { size, .. } => Ok(constant(&mut self.b, size)),
            Relation::Divide { parent, parts, .. } => {
                if let Some(&size) = scope.strips.get(&parent) {
                    return Ok(size);
                }
                let (low, high) = self.range(parent, scope)?;
                let length = self.b.sub(high, low);
                let parts = self.parts(parts);
                let size = self.ceil_div(length, parts);
                let size = match self.b.as_const(size) {
                    Some(_) => size,
                    None => self.b.define("strip", size),
                };
                scope.strips.insert(parent, size);
                Ok(size)
            }
            _ => Err(Diagnostic::internal("strips of what is not split")),
        }
    }

    /// How many strips a `divide` makes.
    pub(super) fn parts(&mut self, parts: Parts) -> ExprId {
        match parts {
            Parts::Count(count) => constant(&mut self.b, count),
            Parts::PerThread(count) => {
                let count = constant(&mut self.b, count.min(MOST_PER_THREAD));
                let threads = self.threads();
                self.b.mul(threads, count)
            }
        }
    }

    /// The value of a variable: bound by a loop, put together from what derives from it, or taken from what it derives from.
    pub(super) fn coordinate(&mut self, var: VarId, scope: &Scope) -> Result<ExprId, Diagnostic> {
        match self.value_below(var, scope)? {
            Some(value) => Ok(value),
            None => self.value_above(var, scope)?.ok_or_else(|| {
                Diagnostic::internal(format!("`{}` has no value where it is needed", self.var_name(var)))
            }),
        }
    }

    fn value_below(&mut self, var: VarId, scope: &Scope) -> Result<Option<ExprId>, Diagnostic> {
        if let Some(&value) = scope.coordinates.get(&var) {
            return Ok(Some(value));
        }
        let uses: Vec<Relation> = self.kernel.provenance.uses(var).cloned().collect();
        for relation in uses {
            match relation {
                Relation::Split { outer, inner, .. } | Relation::Divide { outer, inner, .. } => {
                    let (Some(outer), Some(inner)) = (self.value_below(outer, scope)?, self.value_below(inner, scope)?)
                    else {
                        continue;
                    };
                    let mut inside = scope.clone();
                    let first = self.first(var, &mut inside)?;
                    let size = self.strip(&relation, &mut inside)?;
                    let offset = self.b.mul(outer, size);
                    let begin = self.b.add(first, offset);
                    return Ok(Some(self.b.add(begin, inner)));
                }
                Relation::Bound { bounded, .. } => {
                    if let Some(value) = self.value_below(bounded, scope)? {
                        return Ok(Some(value));
                    }
                }
                Relation::Fuse { .. } | Relation::Pos { .. } | Relation::Coord { .. } | Relation::Rename { .. } => {}
            }
        }
        Ok(None)
    }

    fn value_above(&mut self, var: VarId, scope: &Scope) -> Result<Option<ExprId>, Diagnostic> {
        let Some(relation) = self.kernel.provenance.origin(var).cloned() else { return Ok(None) };
        let mut inside = scope.clone();
        let value = match relation {
            Relation::Split { parent, outer, .. } | Relation::Divide { parent, outer, .. } => {
                let parent_value = self.coordinate(parent, scope)?;
                let first = self.first(parent, &mut inside)?;
                let size = self.strip(&relation, &mut inside)?;
                let offset = self.b.sub(parent_value, first);
                let op = if var == outer { BinaryOp::Div } else { BinaryOp::Rem };
                Some(self.b.binary(op, offset, size))
            }
            Relation::Bound { parent, .. } => Some(self.coordinate(parent, scope)?),
            Relation::Fuse { outer, inner, .. } => {
                let size = self.width(inner, &mut inside)?;
                let (outer, inner) = (self.coordinate(outer, scope)?, self.coordinate(inner, scope)?);
                let first = self.b.mul(outer, size);
                Some(self.b.add(first, inner))
            }
            Relation::Pos { coordinate, access, .. } => {
                let key = AccessKey::from(&access);
                let originals = self.kernel.provenance.originals(coordinate);
                let level = pos_levels(self.kernel, &key, &originals).end - 1;
                match self.position(&key, Some(level), scope)? {
                    Position::One(position) => Some(position),
                    Position::Range(..) => None,
                }
            }
            Relation::Coord { position, .. } => {
                let original = self.kernel.provenance.originals(position).last().copied();
                match original {
                    Some(original) => Some(self.coordinate(original, scope)?),
                    None => None,
                }
            }
            Relation::Rename { .. } => None,
        };
        Ok(value)
    }

    /// Where a dense loop over a variable begins and ends.
    pub(super) fn dense_bounds(&mut self, var: VarId, scope: &Scope) -> Result<Interval, Diagnostic> {
        let (mut low, mut high) = match scope.confined.get(&var) {
            Some(&range) => range,
            None => (self.b.int(0), self.size(var)),
        };
        // Positions of a dense level are its coordinates, one segment after the other.
        for ((key, level), &(first, last)) in &scope.windows {
            let full = self.kernel.tensors[key.tensor].format.levels()[*level].properties().full;
            if full && level_var(self.kernel, key, *level) == var {
                let Position::One(parent) = self.position(key, level.checked_sub(1), scope)? else {
                    return Err(Diagnostic::internal("a dense level under repeated coordinates"));
                };
                let size = self.size(var);
                let begin = self.b.mul(parent, size);
                let (from, to) = (self.b.sub(first, begin), self.b.sub(last, begin));
                low = self.b.binary(BinaryOp::Max, low, from);
                high = self.b.binary(BinaryOp::Min, high, to);
            }
        }
        Ok((low, high))
    }

    /// The part of an iterator's positions whose coordinates, and which themselves, lie within what the scope says.
    pub(super) fn confine(
        &mut self,
        iterator: &Iterator,
        (mut begin, mut end): Interval,
        scope: &Scope,
    ) -> Result<Interval, Diagnostic> {
        let (key, level) = (&iterator.access, iterator.level);
        if iterator.mode == Mode::Search {
            return Ok((begin, end));
        }
        if let Some(&(low, high)) = scope.windows.get(&(key.clone(), level)) {
            begin = self.b.binary(BinaryOp::Max, begin, low);
            end = self.b.binary(BinaryOp::Min, end, high);
            return Ok((begin, end));
        }
        let var = level_var(self.kernel, key, level);
        let Some(&(low, high)) = scope.confined.get(&var) else { return Ok((begin, end)) };
        let size = self.size(var);
        let parent = self.position(key, level.checked_sub(1), scope)?.first();
        if self.b.as_const(low).is_none_or(|low| low.bits != 0) {
            let (b, code) = self.level(key, level)?;
            begin = code.seek(b, parent, begin, end, low);
        }
        if high != size {
            let (b, code) = self.level(key, level)?;
            end = code.seek_end(b, parent, begin, end, high);
        }
        Ok((begin, end))
    }

    pub(super) fn ceil_div(&mut self, a: ExprId, b: ExprId) -> ExprId {
        ceil_div(&mut self.b, a, b)
    }

    /// Whether one constant divides another.
    fn divides(&self, a: ExprId, b: ExprId) -> bool {
        let (a, b) = (self.b.as_const(a), self.b.as_const(b));
        a.zip(b).is_some_and(|(a, b)| a.bits != 0 && b.bits % a.bits == 0)
    }
}

/// The most strips for each thread that a `divide` makes; with any number of threads they can be counted.
const MOST_PER_THREAD: u64 = 1 << 32;

/// The number of values of a derived variable, where it follows from the sizes of the variables made before it: strips of
/// positions have none that is known in advance. `None` for an original one.
pub(super) fn derived_size(b: &mut Builder, kernel: &Kernel, var: VarId, sizes: &[ExprId]) -> Option<ExprId> {
    let size = |var: VarId| sizes[var.index()];
    Some(match *kernel.provenance.origin(var)? {
        Relation::Rename { parent, .. } => size(parent),
        Relation::Bound { parent, size: number, kind, .. } => match kind {
            BoundKind::MaxExact => constant(b, number),
            _ => size(parent),
        },
        Relation::Split { parent, inner, size: strip, .. } => {
            let strip = constant(b, strip);
            if inner == var { strip_of(b, strip, size(parent)) } else { ceil_div(b, size(parent), strip) }
        }
        Relation::Divide { parent, outer, parts: Parts::Count(count), .. } if outer == var => {
            let count = constant(b, count);
            strip_of(b, count, size(parent))
        }
        Relation::Divide { parent, parts: Parts::Count(count), .. } => {
            let count = constant(b, count);
            ceil_div(b, size(parent), count)
        }
        Relation::Divide { parent, .. } => size(parent),
        Relation::Fuse { outer, inner, .. } => b.mul(size(outer), size(inner)),
        Relation::Pos { coordinate, .. } => size(coordinate),
        Relation::Coord { position, .. } => size(position),
    })
}

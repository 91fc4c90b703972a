//! Sums over dense rows: the sums of a row are formed in registers; in a long row, for one strip of a constant length after the
//! other.
//!
//! ```text
//! C(i,k) = A(i,j) * B(j,k)      A: csr, k: of at most 128 values
//!   reorder(i, j, k), precompute(A(i,j) * B(j,k), k, k, dense), parallelize(i, cpu, none), parallelize(k, vector, ignore)
//! C(i,k) = A(i,j) * B(j,k)      A: csr, k: of unknown size, or of more values than registers hold
//!   reorder(i, j, k), split(k, k0, k1, 32), reorder(i, k0, j, k1), precompute(A(i,j) * B(j,k), k1, k1, dense),
//!   parallelize(i, cpu, none), parallelize(k1, vector, ignore)
//! D(i,l) = A(i,k) * B(k,l)      A: packed(lower), and B is more than the caches hold: each strip of B stays in them for all i
//!                               (of a packed A(i,j,k), for all j of an i)
//!   reorder(i, k, l), split(l, l0, l1, 32), reorder(l0, i, k, l1), precompute(A(i,k) * B(k,l), l1, l1, dense),
//!   parallelize(i, cpu, none), parallelize(l1, vector, ignore)
//! C(i,j) = A(i,j) * D(i,k) * E(j,k)      the sum over k itself
//!   reorder(i, j, k), parallelize(i, cpu, none), parallelize(k, vector, ignore)
//! ```
//!
//! Without strips, every addition goes through memory, or a loop of a length that nobody knows stands innermost. Demands: the last
//! variable is innermost and dense wherever it is read or written. Inner sums whose factors are fewer get strips of their own. Where all is dense and
//! large, strips of several rows are formed together (`panels`).
//!
//! Paper: Senanayake et al. 2020, §5 (`split`, `precompute`), and Figure 7, where users write such strips.

use std::collections::BTreeSet;

use lacunar_notation::concrete::Kernel;
use lacunar_notation::schedule::{CommandKind, Name, Race, Schedule, Unit};
use lacunar_notation::{Access, BinaryFn, Expr, ExprKind, TensorId, VarId, WorkspaceKind};

use super::commands::{self, part};
use super::order::{choose, choose_factored};
use super::traffic::{LINE_BYTES, Memory};
use super::{Request, Search};
use crate::concretize::{REGISTER_BYTES, fits_registers};
use crate::iterate::iterators::{AccessKey, level_var};

/// The bytes of a strip: a quarter of the registers, so that several strips fit.
const STRIP_BYTES: u64 = REGISTER_BYTES / 4;
/// The most bytes of a strip of a row whose length is known, which is divided evenly.
const MOST_STRIP_BYTES: u64 = REGISTER_BYTES / 2;

/// The number of times that rows are read at least, of which strips are kept in the caches.
const OFTEN: f64 = 4.0;
/// The sums of so many rows are near at least, where rows are taken whole: one then stays in the first cache.
const ROWS_NEAR: f64 = 32.0;

/// The way in which long rows are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taken {
    /// In strips, one row after the other.
    Strips,
    /// Inside of so many loops: a strip of all rows, then the next one.
    StripsOfAll(usize),
    /// As they are.
    Whole,
}

/// A statement, its loops in order, and the planner's choices for them.
pub(super) struct Rows<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) lhs: &'a Access,
    pub(super) summed: &'a [VarId],
    pub(super) body: &'a Expr,
    pub(super) order: Vec<VarId>,
    chosen: &'a Schedule,
    pub(super) strict: bool,
    pub(super) memory: Memory,
}

/// A schedule for `lhs = flat` whose rows are summed up in registers, if there are such rows. Threads and lanes share the loops
/// that `chosen` says; a `strict` schedule takes no product out of a sum.
pub(super) fn schedule(
    kernel: &Kernel,
    lhs: &Access,
    flat: &Expr,
    chosen: &Schedule,
    &Request { strict, memory, .. }: &Request<'_>,
) -> Option<Schedule> {
    let ExprKind::Reduce(_, summed, body) = &flat.kind else { return None };
    let plain = choose(kernel, lhs, flat, Search::Cost, memory);
    let factored = if strict { None } else { choose_factored(kernel, lhs, flat, plain.cost, memory) };
    let order = factored.map_or(plain, |(choice, _)| choice).order;
    let rows = Rows { kernel, lhs, summed, body, order, chosen, strict, memory };
    if !rows.order.iter().all(|var| lhs.vars.contains(var) || summed.contains(var)) {
        return None;
    }
    let inside = || rows.sums_inside().and_then(|inside| Some((inside.tiled()?, inside.order)));
    let in_order = |kinds: Vec<CommandKind>| (kinds, rows.order.clone());
    let in_place = || rows.short().or_else(|| rows.long()).map(in_order);
    let (kinds, order) = rows.tiled().map(in_order).or_else(inside).or_else(in_place)?;
    Some(commands::in_order(kernel, &order, kinds))
}

impl<'a> Rows<'a> {
    /// The same with the sums just outside of the last variable, if each operand stays in the cache: tiles of registers read one of them again
    /// for every strip of another, but the result once, to which loops in the given order add every product.
    fn sums_inside(&self) -> Option<Rows<'a>> {
        let operands: BTreeSet<TensorId> = self.body.accesses().iter().map(|access| access.tensor).collect();
        let bytes = |operand: &TensorId| {
            let tensor = &self.kernel.tensors[*operand];
            let elements = tensor.dims.iter().map(|size| size.map(|size| size as f64)).product::<Option<f64>>()?;
            Some(elements * tensor.dtype.size() as f64)
        };
        let largest = operands.iter().map(bytes).try_fold(0.0, |largest, bytes| Some(f64::max(largest, bytes?)))?;
        let (row, outer) = self.order.split_last()?;
        let (sums, others): (Vec<VarId>, Vec<VarId>) = outer.iter().partition(|var| self.summed.contains(var));
        let order = [others, sums, vec![*row]].concat();
        let fits = largest <= self.memory.near_bytes();
        (fits && order != self.order).then_some(Rows { order, ..*self })
    }

    /// Rows that fit the registers as they are: the variables behind the last sum.
    fn short(&self) -> Option<Vec<CommandKind>> {
        let last = self.order.iter().rposition(|var| self.summed.contains(var))?;
        let row = &self.order[last + 1..];
        let is_short = fits_registers(self.kernel, row, self.body.dtype) && row.iter().all(|var| self.is_dense(*var));
        if !is_short || !self.is_row(*row.last()?) || self.order.iter().position(|var| self.summed.contains(var))? == 0
        {
            return None;
        }
        let names: Vec<Name> = row.iter().map(|var| self.name(*var)).collect();
        let mut kinds = self.precomputed(&names);
        kinds.extend(self.shared(|_| true));
        Some(kinds)
    }

    /// Rows of unknown or great length, in strips.
    fn long(&self) -> Option<Vec<CommandKind>> {
        let (&row, outer) = self.order.split_last()?;
        let dtype = self.body.dtype.arithmetic().size() as u64;
        let is_long = self.kernel.vars[row].size.is_none_or(|size| size > REGISTER_BYTES / dtype);
        if !is_long || outer.is_empty() || !self.is_row(row) {
            return None;
        }
        let lanes = |var: Name| CommandKind::Parallelize { var, unit: Unit::CpuVector, race: Race::Ignore };
        if self.summed.contains(&row) {
            return Some(self.shared(|unit| unit == Unit::CpuThread).chain([lanes(self.name(row))]).collect());
        }
        let (strip, place) = (part(self.kernel, row, 0), part(self.kernel, row, 1));
        let even = self.kernel.vars[row].size.and_then(|all| even_strip(all, dtype));
        let size = even.unwrap_or(STRIP_BYTES / dtype);
        let in_strips = CommandKind::Split { var: self.name(row), outer: strip.clone(), inner: place.clone(), size };
        let mut kinds = Vec::new();
        match outer.iter().position(|var| self.summed.contains(var)) {
            // A workspace over strips does not tell which coordinates a sparse result has: rows are added to where they are.
            Some(_) if !self.kernel.tensors[self.lhs.tensor].format.is_dense() => kinds.push(in_strips),
            // A result outside of any loop over its variables would be added to by all threads.
            None | Some(0) => return None,
            Some(first) => {
                let names = |vars: &[VarId]| vars.iter().map(|var| self.name(*var)).collect::<Vec<Name>>();
                let depth = match self.taken(outer, first, row, size) {
                    Taken::Whole => {
                        let inner = self.precomputed(&[self.name(row)]).into_iter().skip(1);
                        let threads = self.shared(|unit| unit == Unit::CpuThread);
                        return Some(inner.chain(threads).chain([lanes(self.name(row))]).collect());
                    }
                    Taken::StripsOfAll(depth) => depth,
                    Taken::Strips => first,
                };
                let (around, inside) = (names(&outer[..depth]), names(&outer[depth..]));
                kinds.push(in_strips);
                kinds.push(CommandKind::Reorder([around, vec![strip.clone()], inside, vec![place.clone()]].concat()));
                kinds.extend(self.precomputed(std::slice::from_ref(&place)));
            }
        }
        kinds.extend(self.shared(|unit| unit == Unit::CpuThread));
        kinds.push(lanes(place));
        Some(kinds)
    }

    /// The way to take the rows that sums read, which stand from place `first` on in the loops around the row. Where a packed operand tells
    /// how often they are read, and they are more than the caches hold, it depends on that: strips of all rows stay in the caches until
    /// they are read again, in as many inner loops as that takes; what comes from beyond the caches anyway comes fastest one whole row after
    /// the other, while the sums of a row stay near.
    ///
    /// Loops over other stored coordinates may come to a few rows here and there.
    fn taken(&self, outer: &[VarId], first: usize, row: VarId, strip: u64) -> Taken {
        let sums = &outer[first..];
        let read = self.body.accesses();
        let size_of = |var: &VarId| self.kernel.vars[*var].size.map(|size| size as f64);
        let packed = |access: &&Access| self.kernel.tensors[access.tensor].packed_count();
        let (Some(row_size), Some(stored)) = (size_of(&row), read.iter().find_map(packed)) else {
            return Taken::Strips;
        };
        let is_of_sums = |access: &Access| access.vars.iter().all(|var| *var == row || sums.contains(var));
        // The bytes of all rows, and of those that each value of the packed operand is multiplied with.
        let (mut all, mut again) = (0.0, 0.0);
        for access in read.into_iter().filter(|access| access.vars.contains(&row) && is_of_sums(access)) {
            let Some(elements) = access.vars.iter().map(size_of).product::<Option<f64>>() else {
                return Taken::Strips;
            };
            let bytes = self.kernel.tensors[access.tensor].dtype.size() as f64;
            all += elements * bytes;
            again += stored as f64 * row_size * bytes;
        }
        let near = self.memory.near_bytes();
        let row_bytes = row_size * self.body.dtype.arithmetic().size() as f64;
        // Inside of so many loops, rows are still read often.
        let around = |depth: usize| outer[..depth].iter().map(size_of).product::<Option<f64>>();
        let often = |depth: &usize| around(*depth).is_some_and(|around| again >= OFTEN * all * around);
        match (0..first).rev().find(often) {
            _ if all <= near => Taken::Strips,
            Some(depth) if all / row_size * strip as f64 <= near => Taken::StripsOfAll(depth),
            None if row_bytes <= near / ROWS_NEAR => Taken::Whole,
            _ => Taken::Strips,
        }
    }

    pub(super) fn name(&self, var: VarId) -> Name {
        commands::name(self.kernel, var)
    }

    /// The commands by which loops are shared that were chosen, of some units.
    pub(super) fn shared(&self, is_wanted: impl Fn(Unit) -> bool) -> impl Iterator<Item = CommandKind> {
        let kinds = self.chosen.commands.iter().map(|command| &command.kind);
        kinds.filter(move |kind| matches!(kind, CommandKind::Parallelize { unit, .. } if is_wanted(*unit))).cloned()
    }

    /// The sums over a row in a workspace, and inner sums of fewer factors in workspaces of their own.
    pub(super) fn precomputed(&self, row: &[Name]) -> Vec<CommandKind> {
        let precompute = |expr: Expr| CommandKind::Precompute {
            expr,
            vars: row.to_vec(),
            into: row.to_vec(),
            kind: Some(WorkspaceKind::Dense),
        };
        let mut kinds = vec![precompute(self.body.clone())];
        let factors = factors(self.body);
        let outer: Vec<VarId> = self.order.split_last().map_or(&[][..], |(_, outer)| outer).to_vec();
        let summed = |at: &usize| self.summed.contains(&outer[*at]);
        let inner_sums = (0..outer.len()).filter(summed).skip(1).filter(|_| !self.strict);
        let mut before = factors.len();
        for inner in inner_sums {
            let depends = |factor: &&&Expr| factor.free_vars().iter().any(|var| outer[inner..].contains(var));
            let own: Vec<&Expr> = factors.iter().filter(depends).copied().collect();
            let is_row = own.iter().any(|factor| factor.free_vars().iter().any(|var| self.order.last() == Some(var)));
            if own.len() < before && is_row {
                before = own.len();
                kinds.extend(product(&own).map(precompute));
            }
        }
        kinds
    }

    /// All accesses, that to the result last.
    pub(super) fn accesses(&self) -> impl Iterator<Item = AccessKey> {
        self.body.accesses().into_iter().chain([self.lhs]).map(AccessKey::from)
    }

    /// True if a variable is stored in dense levels wherever it is.
    fn is_dense(&self, var: VarId) -> bool {
        self.levels_of(var, |_, is_full| is_full)
    }

    /// True if a variable walks through neighboring elements wherever it is.
    pub(super) fn is_row(&self, var: VarId) -> bool {
        self.levels_of(var, |is_last, is_full| is_last && is_full)
    }

    /// True if `holds` accepts all levels over a variable. Its arguments say if a level is the last of a tensor, and if it is
    /// dense.
    fn levels_of(&self, var: VarId, holds: impl Fn(bool, bool) -> bool) -> bool {
        self.accesses().all(|key| {
            let levels = self.kernel.tensors[key.tensor].format.levels();
            let own = (0..key.vars.len()).filter(|level| level_var(self.kernel, &key, *level) == var);
            own.into_iter().all(|level| holds(level + 1 == key.vars.len(), levels[level].properties().full))
        })
    }
}

/// The length of strips that a row is divided into without a rest, if there is one: a rest is of a length that the kernel is told, so that its
/// sums are not in registers. Strips of whole lines are taken before others, and longer ones before shorter ones.
fn even_strip(row: u64, dtype: u64) -> Option<u64> {
    let divides = |size: &u64| row.is_multiple_of(*size);
    let lengths = STRIP_BYTES / dtype..=MOST_STRIP_BYTES / dtype;
    lengths.filter(divides).max_by_key(|size| ((size * dtype).is_multiple_of(LINE_BYTES), *size))
}

/// The factors of an expression.
fn factors(expr: &Expr) -> Vec<&Expr> {
    match &expr.kind {
        ExprKind::Binary(BinaryFn::Mul, left, right) => [factors(left), factors(right)].concat(),
        _ => vec![expr],
    }
}

fn product(factors: &[&Expr]) -> Option<Expr> {
    let multiplied = |left: Expr, right: Expr| {
        let dtype = left.dtype;
        Expr::binary(BinaryFn::Mul, left, right, dtype)
    };
    factors.iter().map(|factor| (*factor).clone()).reduce(multiplied)
}

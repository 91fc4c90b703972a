//! Long sums of few elements, such as covariances of many rows with few columns: strips of the sum are taken one after the other, each of
//! which adds to all elements.
//!
//! ```text
//! C(i,j) = X(t,i) * X(t,j)      X: a million rows of 13, stored by columns: a strip of columns stays in the cache for all elements
//!   reorder(i, j, t), split(t, t0, t1, 256), reorder(t0, i, j, t1), parallelize(t0, cpu, temporary), parallelize(t1, vector, ignore)
//! C(i,j) = X(t,i) * X(t,j)      X: the same, stored by rows: an element is loaded and stored once for several rows
//!   reorder(t, i, j), split(t, t0, t1, 8), reorder(t0, i, j, t1), parallelize(t0, cpu, temporary), unroll(t1, 8)
//! ```
//!
//! Without strips, columns come from memory again for every element, or every product of a row goes through the caches. Demands: all is dense,
//! operands are more than the caches hold, and the sum is over one variable, outermost or innermost in the cheapest order of loops.
//!
//! Paper: Wolf and Lam, *A Data Locality Optimizing Algorithm* (PLDI 1991), §3: strips of loops that are moved outside; unroll and jam.

use lacunar_notation::concrete::Kernel;
use lacunar_notation::schedule::{CommandKind, Race, Schedule, Unit};
use lacunar_notation::{Access, Expr, ExprKind, TensorId, VarId};

use super::commands::{in_order, name, part};
use super::order::choose;
use super::{Request, Search, storage};
use crate::iterate::iterators::{AccessKey, level_var};

/// The bytes of a strip of all columns: most of a first-level cache.
const STRIP_BYTES: u64 = 28 << 10;
/// The lengths of strips, from the longest; in a shorter one, adding up the lanes at the end of each sum would take the most time.
const STRIPS: [u64; 3] = [512, 256, 128];
/// The rows that are added together.
const ROWS: u64 = 8;
/// The least length of a sum that is long, for each value of a variable of the result: tiles of registers form the elements of shorter ones faster.
/// (An Intel processor with AVX-512, a result of 300 x 300: sums of 300 take 1.6 ms in rows and 1.1 in tiles, of 1000 5.7 and 3.9, of 4000 25
/// and 21 to 23, and where the left operand is transposed 23 and 34.)
const LONG: u64 = 8;
/// The least number of strips.
const LEAST_STRIPS: u64 = 8;

/// A statement that sums over one variable, and the caches that it runs with.
struct Sum<'a> {
    kernel: &'a Kernel,
    body: &'a Expr,
    lhs: &'a Access,
    summed: VarId,
    /// The iterations of the sum.
    length: u64,
    /// The bytes that the caches of a thread hold.
    near: f64,
}

/// A schedule for `lhs = flat` in strips of its sum, if few elements are summed up. A sum of rows has to be long, unless it may have any length.
pub(super) fn schedule(
    kernel: &Kernel,
    lhs: &Access,
    flat: &Expr,
    request: &Request<'_>,
    any_length: bool,
) -> Option<Schedule> {
    let ExprKind::Reduce(_, summed, body) = &flat.kind else { return None };
    let &[summed] = summed.as_slice() else { return None };
    let near = request.memory.near_bytes();
    let sum = Sum { kernel, body, lhs, summed, length: kernel.vars[summed].size?, near };
    let is_array = |access: AccessKey| !storage::is_sparse(kernel, access.tensor);
    if request.strict || lhs.vars.is_empty() || !sum.accesses().all(is_array) {
        return None;
    }
    let order = choose(kernel, lhs, flat, Search::Cost, request.memory).order;
    if order.len() != lhs.vars.len() + 1 {
        return None;
    }
    let (size, inside) = match order.as_slice() {
        [elements @ .., last] if *last == summed => sum.columns(elements)?,
        [first, elements @ ..] if *first == summed => sum.rows(elements, any_length)?,
        _ => return None,
    };
    Some(sum.in_strips(&order, size, inside))
}

/// The way to run a strip.
#[derive(Clone, Copy)]
enum Inside {
    Lanes,
    Unrolled,
}

impl Sum<'_> {
    /// The bytes of all operands, if they are more than the caches hold.
    fn large(&self) -> Option<f64> {
        let mut tensors: Vec<TensorId> = self.body.accesses().iter().map(|access| access.tensor).collect();
        tensors.sort_unstable();
        tensors.dedup();
        let bytes = |tensor: &TensorId| {
            let tensor = &self.kernel.tensors[*tensor];
            let elements = tensor.dims.iter().map(|size| size.map(|size| size as f64)).product::<Option<f64>>()?;
            Some(elements * tensor.dtype.size() as f64)
        };
        tensors.iter().map(bytes).sum::<Option<f64>>().filter(|all| *all > self.near)
    }

    /// The length of strips of columns that are read again for other elements.
    fn columns(&self, elements: &[VarId]) -> Option<(u64, Inside)> {
        let all = self.large()?;
        let is_again = |access: &Access| elements.iter().any(|var| !access.vars.contains(var));
        let is_column = self.body.accesses().iter().all(|access| self.is_last(AccessKey::from(*access), self.summed));
        if !is_column || !self.body.accesses().into_iter().all(is_again) {
            return None;
        }
        let fits = |size: &u64| all / self.length as f64 * *size as f64 <= STRIP_BYTES as f64;
        let size = STRIPS.into_iter().find(fits)?;
        (self.length >= LEAST_STRIPS * size).then_some((size, Inside::Lanes))
    }

    /// The number of rows that are added together, if all elements stay in the cache.
    fn rows(&self, elements: &[VarId], any_length: bool) -> Option<(u64, Inside)> {
        let sizes = elements.iter().map(|var| self.kernel.vars[*var].size.map(|size| size as f64));
        let bytes = sizes.product::<Option<f64>>()? * self.body.dtype.arithmetic().size() as f64;
        let is_row = elements.last().is_some_and(|row| self.accesses().all(|access| self.is_last(access, *row)));
        let is_short_of = |var: &VarId| self.kernel.vars[*var].size.is_none_or(|size| self.length / LONG < size);
        let is_long = any_length || !elements.iter().any(is_short_of);
        let fits = bytes <= self.near && is_row && is_long && elements.len() > 1 && self.length >= LEAST_STRIPS * ROWS;
        self.large().filter(|_| fits).map(|_| (ROWS, Inside::Unrolled))
    }

    /// All accesses, that to the result last.
    fn accesses(&self) -> impl Iterator<Item = AccessKey> {
        self.body.accesses().into_iter().chain([self.lhs]).map(AccessKey::from)
    }

    /// True if neighbors along a variable are neighbors in a tensor, if it has the variable.
    fn is_last(&self, access: AccessKey, var: VarId) -> bool {
        let levels = access.vars.len();
        (0..levels).all(|level| level + 1 == levels || level_var(self.kernel, &access, level) != var)
    }

    fn in_strips(&self, order: &[VarId], size: u64, inside: Inside) -> Schedule {
        let (strip, place) = (part(self.kernel, self.summed, 0), part(self.kernel, self.summed, 1));
        let elements = order.iter().filter(|var| **var != self.summed).map(|var| name(self.kernel, *var));
        let nest = [strip.clone()].into_iter().chain(elements).chain([place.clone()]);
        let kinds = [
            CommandKind::Split {
                var: name(self.kernel, self.summed),
                outer: strip.clone(),
                inner: place.clone(),
                size,
            },
            CommandKind::Reorder(nest.collect()),
            CommandKind::Parallelize { var: strip, unit: Unit::CpuThread, race: Race::Temporary },
            match inside {
                Inside::Lanes => CommandKind::Parallelize { var: place, unit: Unit::CpuVector, race: Race::Ignore },
                Inside::Unrolled => CommandKind::Unroll { var: place, times: ROWS as u32 },
            },
        ];
        in_order(self.kernel, order, kinds)
    }
}

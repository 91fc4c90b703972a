//! Few long sparse rows: bands of their columns are taken one after the other, and in each band all rows, so that what a band is multiplied
//! with stays in the caches for all of them.
//!
//! ```text
//! C(i,k) = A(i,j) * B(j,k)      A: csr, 18 rows of 31,000 of 93,000 columns; B: rows of 128 values
//!   reorder(i, j, k), split(j, j0, j1, 512), reorder(j0, i, j1, k), precompute(A(i,j) * B(j,k), k, k, dense),
//!   parallelize(j0, cpu, temporary), parallelize(k, vector, ignore)
//! ```
//!
//! Row after row, B would come from memory 6 times. In bands it comes once; but each row has to be searched for the first column of each
//! band, and added to the result once for each. Demands: the one sparse operand has a dense level over rows, or several, and a last one over
//! the sum's variable, which can be searched, and no structure; the result's last variable is dense wherever it is read or written; sizes and the number of
//! values are known.
//!
//! Paper: Wolf and Lam, *A Data Locality Optimizing Algorithm* (PLDI 1991), §3; Hong et al., *Adaptive Sparse Tiling for Sparse Matrix
//! Multiplication* (PPoPP 2019), §3 (bands of columns).

use lacunar_formats::DType;
use lacunar_notation::concrete::Kernel;
use lacunar_notation::schedule::{CommandKind, Race, Schedule, Unit};
use lacunar_notation::{Access, Expr, ExprKind, VarId, WorkspaceKind};

use super::commands::{in_order, name, part};
use super::skew::only_sparse;
use super::traffic::Memory;
use super::{Request, storage};
use crate::concretize::fits_registers;
use crate::iterate::iterators::{AccessKey, level_var};
use crate::levels::is_searched;

/// The cost of one row in one band, a search and a mispredicted branch, in bytes that the third level delivers in that time.
/// (Zen 4: 80 to 100 ns, at 50 GB/s.)
const SEARCH: f64 = 5000.0;
/// The price of a byte that a band reads again from the third level; a byte that is read there once costs 1.
const AGAIN: f64 = 0.25;
/// A band may have so many times the columns whose rows are near.
const WIDER: [u64; 3] = [1, 2, 4];
/// The least number of bands, which threads share.
const LEAST_BANDS: u64 = 16;
/// Bands have to save so many times the work that they cost.
const WORTH: f64 = 2.0;

/// A schedule for `lhs = flat` in bands, if they save enough.
pub(super) fn schedule(kernel: &Kernel, lhs: &Access, flat: &Expr, request: &Request<'_>) -> Option<Schedule> {
    let ExprKind::Reduce(_, summed, body) = &flat.kind else { return None };
    let (&[column], (&row, outer)) = (summed.as_slice(), lhs.vars.split_last()?) else { return None };
    if request.strict || outer.is_empty() || !kernel.tensors[lhs.tensor].format.is_dense() {
        return None;
    }
    let sparse = AccessKey::from(only_sparse(kernel, flat)?);
    let info = &kernel.tensors[sparse.tensor];
    let levels = info.format.levels();
    let vars: Vec<VarId> = (0..levels.len()).map(|level| level_var(kernel, &sparse, level)).collect();
    let (last, rows) = levels.split_last()?;
    // Rows of a structure have their own order (`rows.rs`).
    let has_rows = info.structure.is_none()
        && is_searched(*last)
        && last.kind.schema().is_none()
        && rows.iter().all(|level| level.properties().full)
        && vars.split_last() == Some((&column, outer));
    let others: Vec<AccessKey> =
        body.accesses().into_iter().map(AccessKey::from).filter(|key| *key != sparse).collect();
    let is_row = |key: &AccessKey| {
        let places = (0..key.vars.len()).filter(|level| level_var(kernel, key, *level) == row);
        !storage::is_sparse(kernel, key.tensor) && places.into_iter().all(|level| level + 1 == key.vars.len())
    };
    if !has_rows || !others.iter().chain([&AccessKey::from(lhs)]).all(is_row) {
        return None;
    }
    let operands = (&sparse, others.as_slice(), body.dtype.arithmetic());
    let size = band(kernel, operands, (outer, column, row), request.memory)?;
    let (bands, inside) = (part(kernel, column, 0), part(kernel, column, 1));
    let around = [bands.clone()].into_iter().chain(outer.iter().map(|var| name(kernel, *var)));
    let mut kinds = vec![
        CommandKind::Split { var: name(kernel, column), outer: bands.clone(), inner: inside.clone(), size },
        CommandKind::Reorder(around.chain([inside, name(kernel, row)]).collect()),
    ];
    if fits_registers(kernel, &[row], body.dtype) {
        let (vars, into) = (vec![name(kernel, row)], vec![name(kernel, row)]);
        kinds.push(CommandKind::Precompute { expr: (**body).clone(), vars, into, kind: Some(WorkspaceKind::Dense) });
    }
    kinds.push(CommandKind::Parallelize { var: bands, unit: Unit::CpuThread, race: Race::Temporary });
    kinds.push(CommandKind::Parallelize { var: name(kernel, row), unit: Unit::CpuVector, race: Race::Ignore });
    let order: Vec<VarId> = outer.iter().copied().chain([column, row]).collect();
    Some(in_order(kernel, &order, kinds))
}

/// The number of columns of a band, if bands are worth it; of the sparse operand and the others, whose products are of a type.
fn band(
    kernel: &Kernel,
    (sparse, others, dtype): (&AccessKey, &[AccessKey], DType),
    (outer, column, row): (&[VarId], VarId, VarId),
    memory: Memory,
) -> Option<u64> {
    let size_of = |var: VarId| kernel.vars[var].size.map(|size| size as f64);
    let rows = outer.iter().map(|var| size_of(*var)).product::<Option<f64>>()?;
    let (columns, values) = (size_of(column)?, kernel.tensors[sparse.tensor].nnz? as f64);
    // The bytes that each value of the sparse operand is multiplied with.
    let read = others.iter().filter(|key| key.vars.contains(&column) && key.vars.contains(&row));
    let bytes = size_of(row)? * read.map(|key| kernel.tensors[key.tensor].dtype.size() as f64).sum::<f64>();
    let (near, all) = (memory.near_bytes(), columns * bytes);
    let results = rows * size_of(row)? * dtype.size() as f64;
    if bytes == 0.0 || all <= near {
        return None;
    }
    let whole = (near / bytes).max(1.0) as u64;
    let sizes = WIDER.map(|times| times << whole.ilog2());
    let costs = sizes.into_iter().filter(|size| size * LEAST_BANDS <= columns as u64).map(|size| {
        let again = if size as f64 * bytes <= near { 0.0 } else { values * bytes * AGAIN };
        // Each band searches all rows, and adds to all results.
        let of_band = rows * SEARCH + 2.0 * results * memory.price(results);
        (size, (columns / size as f64).ceil() * of_band + again)
    });
    let (size, cost) = costs.min_by(|one, other| one.1.total_cmp(&other.1))?;
    ((values * bytes - all) * memory.price(all) > WORTH * cost).then_some(size)
}

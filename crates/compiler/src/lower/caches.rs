//! Streaming stores and prefetches: tensors that exceed the caches are stored past them, or are fetched before they are read.
//!
//! ```text
//! C(i,k) = A(i,j) * B(j,k)     A: csr, 128 columns
//!   let past = i_size * 128 > 16 MiB / 8            C: no line of it is read before the kernel ends, and few are kept
//!   let far = j_size * 128 > 16 MiB / 8             B: rows are read in the order of A's coordinates, which no processor foresees
//!   for p in begin .. end {
//!     let ahead = A2_crd[min(p + 8, stored - 1)];   positions of A are contiguous: the coordinates of the next rows follow
//!     prefetch B_vals[ahead * 128 .. ahead * 128 + 128];
//!     ..
//!   }
//!   for k in 0 .. 128 vector { C_vals[..] = w[k] past past; }
//! ```
//!
//! Sizes decide while the kernel runs, by limits that follow from the machine ([`Reach`]): data that fit a cache are better left
//! to it, and so are rows that many entries choose, where the third level is a fast one. Neither changes a value.
//!
//! Papers: Ainsworth and Jones, *Software prefetching for indirect memory accesses* (CGO 2017): the index a distance ahead, clamped to
//! the array; Wellein et al., *Introducing a performance model for bandwidth-limited loop kernels* (2009), on lines that are loaded
//! only to be overwritten.

use lacunar_base::Diagnostic;
use lacunar_formats::DType;
use lacunar_imp::{BinaryOp, CompareOp, Const, ExprId};
use lacunar_machine::Reach;
use lacunar_notation::concrete::Stmt;
use lacunar_notation::schedule::Unit;
use lacunar_notation::{AssignOp, Role, TensorId, VarId};

use super::Lowerer;
use super::derive::position;
use super::scope::{Fact, Scope};
use super::storage::{count_positions, count_values, extent, level, values};
use crate::iterate::iterators::{AccessKey, Iterator, level_var};
use crate::levels::{At, Position};

/// The bytes of a line.
const LINE: u64 = 64;
/// The bytes of a row whose first and last line may be stored in part.
const LONG_ROW: u64 = 4096;
/// With so many entries for each row, a loop reads a row again while a cache still has it.
const OFTEN: i64 = 24;
/// The least lines of a row that is prefetched: finding its coordinate takes as long as reading as many that are near.
const LEAST_LINES: u64 = 4;

/// The condition that a dense result is more than caches keep, where its values are set in lanes, each once, in order.
pub(super) fn past(cx: &mut Lowerer<'_>, access: &AccessKey, scope: &Scope) -> Option<ExprId> {
    let last = level_var(cx.kernel, access, access.vars.len().checked_sub(1)?);
    let in_lanes = |leaf: VarId| {
        let provenance = &cx.kernel.provenance;
        matches!(provenance.parallel(leaf), Some((Unit::CpuVector, _))) && provenance.originals(leaf) == [last]
    };
    let inner = innermost(&cx.kernel.stmt, access.tensor, None)?;
    let tensor = &cx.kernel.tensors[access.tensor];
    if cx.kernel.updates || tensor.view.is_some() || !in_lanes(inner) {
        return None;
    }
    // The bytes that the loop stores at most, where that is known: lines are stored whole, so that short rows have to consist of lines.
    let bytes = cx.b.as_const(cx.size(inner)).map(|count| count.bits.wrapping_mul(tensor.dtype.size() as u64));
    let is_packed = tensor.format.packing().is_some();
    if bytes.is_some_and(|bytes| bytes < LONG_ROW && (is_packed || !bytes.is_multiple_of(LINE))) {
        return None;
    }
    let limit = cx.options.reach.kept;
    cx.note(format!("`{}` is stored past the caches where it has more than {}", cx.name(access.tensor), amount(limit)));
    if is_packed {
        let stored = count_values(cx, access, scope);
        let stored = cx.b.cast(DType::F64, stored);
        return Some(exceeds(cx, access, stored, limit));
    }
    Some(is_more(cx, access, limit))
}

/// The innermost loop around the assignment that sets a tensor, if there is one.
fn innermost(stmt: &Stmt, tensor: TensorId, around: Option<VarId>) -> Option<VarId> {
    match stmt {
        Stmt::Assign(assign) => around.filter(|_| assign.lhs.tensor == tensor && assign.op == AssignOp::Set),
        Stmt::Forall(var, body) => innermost(body, tensor, Some(*var)),
        Stmt::Where { consumer, .. } => innermost(consumer, tensor, around),
        Stmt::Sequence(stmts) => stmts.iter().find_map(|stmt| innermost(stmt, tensor, around)),
    }
}

/// Judges, around all loops, which dense operands are more than caches keep: those whose rows a sparse operand may choose.
pub(super) fn judge(cx: &mut Lowerer<'_>, scope: &Scope) -> Scope {
    let mut found: Vec<AccessKey> = Vec::new();
    cx.kernel.stmt.visit_assigns(&mut |assign| {
        let all: Vec<AccessKey> = assign.rhs.accesses().into_iter().map(AccessKey::from).collect();
        let is_chosen = |access: &&AccessKey| {
            let chosen = &access.vars[..access.vars.len().saturating_sub(1)];
            let sparse = all.iter().filter(|other| !cx.kernel.tensors[other.tensor].format.is_dense());
            is_plain(cx, access) && sparse.flat_map(|other| &other.vars).any(|var| chosen.contains(var))
        };
        let chosen: Vec<AccessKey> = all.iter().filter(is_chosen).cloned().collect();
        chosen.into_iter().for_each(|access| {
            if !found.contains(&access) {
                found.push(access);
            }
        });
    });
    found.into_iter().fold(scope.clone(), |scope, access| {
        let far = is_more(cx, &access, cx.options.reach.kept);
        let far = cx.b.define("far", far);
        scope.with(Fact::Far(access, far))
    })
}

/// True for a dense operand of rows, as it is stored.
fn is_plain(cx: &Lowerer<'_>, access: &AccessKey) -> bool {
    let tensor = &cx.kernel.tensors[access.tensor];
    let in_order = tensor.format.mode_order().iter().copied().eq(0..access.vars.len());
    tensor.role == Role::Input && tensor.is_array() && tensor.view.is_none() && access.vars.len() > 1 && in_order
}

/// The condition that a dense tensor is more than caches keep.
pub(super) fn is_more_than_kept(cx: &mut Lowerer<'_>, access: &AccessKey) -> ExprId {
    let limit = cx.options.reach.kept;
    is_more(cx, access, limit)
}

/// The condition that the values of a dense tensor take more bytes than some.
fn is_more(cx: &mut Lowerer<'_>, access: &AccessKey, bytes: u64) -> ExprId {
    let mut elements = cx.b.constant(Const::real(DType::F64, 1.0));
    for number in 0..access.vars.len() {
        let extent = cx.size(level_var(cx.kernel, access, number));
        let extent = cx.b.cast(DType::F64, extent);
        elements = cx.b.mul(elements, extent);
    }
    exceeds(cx, access, elements, bytes)
}

/// The condition that so many values of a tensor take more bytes than some.
fn exceeds(cx: &mut Lowerer<'_>, access: &AccessKey, elements: ExprId, bytes: u64) -> ExprId {
    let size = cx.kernel.tensors[access.tensor].dtype.size() as f64;
    let limit = cx.b.constant(Const::real(DType::F64, bytes as f64 / size));
    cx.b.compare(CompareOp::Gt, elements, limit)
}

/// A number of bytes in words.
pub(super) fn amount(bytes: u64) -> String {
    if bytes >= 1 << 20 { format!("{} MiB", bytes >> 20) } else { format!("{} KiB", bytes >> 10) }
}

/// The rows of an operand that the coordinates of an iterator choose.
pub(super) struct Rows {
    access: AccessKey,
    /// The level that the iterator's variable is stored in.
    level: usize,
    /// The elements of a row.
    len: i64,
    /// The condition that they are far.
    pub(super) far: ExprId,
    /// The last position of the iterator's level.
    last: ExprId,
    /// The number of positions that prefetches are ahead.
    ahead: u64,
}

/// The rows that are worth prefetching in the loop over the positions of an iterator around `body`.
pub(super) fn rows(cx: &mut Lowerer<'_>, var: VarId, body: &Stmt, iterator: &Iterator, scope: &Scope) -> Vec<Rows> {
    let own = cx.kernel.tensors[iterator.access.tensor].format.levels()[iterator.level];
    if !own.properties().compact || !own.capabilities().iterate_positions {
        return Vec::new();
    }
    let mut found: Vec<Rows> = Vec::new();
    let mut accesses: Vec<AccessKey> = Vec::new();
    body.visit_assigns(&mut |assign| accesses.extend(assign.rhs.accesses().into_iter().map(AccessKey::from)));
    for access in accesses {
        let Some(far) = scope.far(&access).filter(|_| found.iter().all(|rows| rows.access != access)) else { continue };
        let Some(number) = access.vars.iter().position(|own| *own == var) else { continue };
        let (above, inside) = (&access.vars[..number], &access.vars[number + 1..]);
        let known = above.iter().all(|var| scope.value(*var).is_some());
        if !known || inside.is_empty() || inside.iter().any(|inner| *inner == var || scope.value(*inner).is_some()) {
            continue;
        }
        let extent = extent(cx, &access, number + 1, access.vars.len(), scope);
        let Some(len) = cx.b.as_const(extent).map(|len| len.bits as i64) else { continue };
        let lines_ahead = cx.options.reach.lines_ahead;
        let size = cx.kernel.tensors[access.tensor].dtype.size() as u64;
        let lines = (len.unsigned_abs()).saturating_mul(size) / LINE;
        let Some(ahead) = ahead(lines, lines_ahead) else { continue };
        let Some(positions) = count_positions(cx, &iterator.access, iterator.level, scope) else { continue };
        let one = cx.b.int(1);
        let last = cx.b.sub(positions, one);
        let far = far_rows(cx, &access, (far, ahead), (var, positions));
        found.push(Rows { access, level: number, len, far, last, ahead });
    }
    found
}

/// The condition under which a loop over an iterator prefetches rows of an operand. The operand is larger than `Reach::kept` (`far`), and
/// either larger than `Reach::near`, too, or the iterator has fewer than [`OFTEN`] entries for each row.
fn far_rows(
    cx: &mut Lowerer<'_>,
    access: &AccessKey,
    (far, ahead): (ExprId, u64),
    (var, positions): (VarId, ExprId),
) -> ExprId {
    let Reach { kept, near, .. } = cx.options.reach;
    let name = cx.name(access.tensor).to_string();
    let limit = amount(kept);
    let note = format!("rows of `{name}` are prefetched {ahead} entries ahead where it has more than {limit}");
    if near <= kept {
        cx.note(note);
        return far;
    }
    cx.note(format!("{note}, or {} if there are {OFTEN} entries for each", amount(near)));
    let is_more = is_more(cx, access, near);
    let (size, often) = (cx.size(var), cx.b.int(OFTEN));
    let many = cx.b.mul(size, often);
    let is_seldom = cx.b.compare(CompareOp::Lt, positions, many);
    let counts = cx.b.or(is_more, is_seldom);
    cx.b.and(far, counts)
}

/// The prefetch distance in rows of `lines` cache lines; `None` if rows are short or do not fit. Lines under way stay in the near cache
/// until they are read, and no more are under way than the latency of memory asks for.
fn ahead(lines: u64, most: u64) -> Option<u64> {
    const MOST: u64 = 16;
    let rows = most / lines.max(1);
    (lines >= LEAST_LINES && rows > 0).then(|| rows.min(MOST))
}

/// Prefetches the rows that the coordinate some positions ahead chooses.
pub(super) fn prefetch(
    cx: &mut Lowerer<'_>,
    (var, iterator): (VarId, &Iterator),
    rows: &[Rows],
    (parent, now): (ExprId, ExprId),
    scope: &Scope,
) -> Result<(), Diagnostic> {
    for rows in rows {
        let distance = cx.b.int(rows.ahead as i64);
        let next = cx.b.add(now, distance);
        let next = cx.b.binary(BinaryOp::Min, next, rows.last);
        let code = level(cx, &iterator.access, iterator.level, scope)?;
        let at = At { parent, position: next, state: None };
        let coordinate = code.coordinate(&mut cx.b, "ahead", at);
        let scope = scope.with(Fact::Value(var, coordinate));
        let Position::One(row) = position(cx, &rows.access, Some(rows.level), &scope)? else { continue };
        let len = cx.b.int(rows.len);
        let begin = cx.b.mul(row, len);
        let end = cx.b.add(begin, len);
        let array = values(cx, rows.access.tensor, &scope)?;
        cx.b.push(lacunar_imp::Stmt::Prefetch { array, begin, end });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::ahead;

    #[test]
    fn long_rows_are_prefetched_less_far_ahead() {
        let found = [1, 3, 4, 8, 16, 64, 128, 129].map(|lines| ahead(lines, 128));
        assert_eq!(found, [None, None, Some(16), Some(16), Some(8), Some(2), Some(1), None]);
    }
}

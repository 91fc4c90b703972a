//! The accesses that are walked through as they are stored: those whose maps take the dimensions of variables apart in one way.
//!
//! ```text
//! y(i) = A(i,j) * x(j)               A: bcsr(4,4)                       i and j in blocks of 4
//! C(i,j) = A(i,j) * B(i,j)           A: bcsr(4,4), B: bcsr(8,8)         A as it is stored, B converted
//! ```
//!
//! On entry: a statement in reduction notation. Every access with a map that loops could walk through is a candidate, those of
//! tensors with many values first. [`agree`] keeps those that are compatible with the first of them, and [`contradiction`] names
//! one that another tensor of the statement, stored otherwise, rules out.

use lacunar_formats::{DType, Level, Map, Recovery};
use lacunar_notation::{
    Access, Assignment, BinaryFn, Expr, ExprKind, Monoid, Program, Tensor, TensorId, UnaryFn, VarId,
};
use rustc_hash::FxHashMap;

use crate::iterate::iterators::AccessKey;

/// The parts that the dimension of a variable is split into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Apart {
    /// Not at all.
    Not,
    /// Blocks of a size; those of the ranks of coordinates, where a tensor stores these.
    Blocks(u32, Option<TensorId>),
    /// The ranks that a tensor stores.
    Ranks(TensorId),
    /// Along the diagonals, from the coordinate of another variable.
    Diagonals(VarId),
}

/// The accesses with maps that could be walked through, those of tensors with many values first.
pub(super) fn candidates(program: &Program, statement: &Assignment) -> Vec<AccessKey> {
    let mut found: Vec<AccessKey> = Vec::new();
    for access in statement.rhs.accesses() {
        let key = AccessKey::from(access);
        let Some(map) = program.tensors[access.tensor].format.map() else { continue };
        let distinct = key.vars.iter().enumerate().all(|(k, var)| !key.vars[..k].contains(var));
        let other_result = access.tensor != statement.lhs.tensor;
        // Padding in slots adds nothing to a sum only if it is 0.
        let unfilled = program.tensors[key.tensor].fill().is_zero();
        let slots = map.ordinal().is_none() || (unfilled && is_linear(&statement.rhs, access));
        let tensor = &program.tensors[key.tensor];
        let passable = is_walkable(map) && has_countable(tensor, map);
        if distinct && other_result && slots && passable && !found.contains(&key) {
            found.push(key);
        }
    }
    found.sort_by_key(|key| std::cmp::Reverse(program.tensors[key.tensor].nnz.unwrap_or(u64::MAX)));
    found
}

/// True if loops over a map's levels come to the coordinates of each dimension upwards.
fn is_walkable(map: &Map) -> bool {
    (0..map.order()).all(|d| !matches!(map.recovery(d), Some(Recovery::Diagonal { reverse: true, .. })))
}

/// True if the values of every stored dimension of a tensor can be counted, as far as its sizes are known.
fn has_countable(tensor: &Tensor, map: &Map) -> bool {
    let dims: Option<Vec<u64>> = tensor.dims.iter().copied().collect();
    let countable = |size: &Option<u64>| size.is_none_or(|size| i64::try_from(size).is_ok());
    dims.is_none_or(|dims| map.stored_dims(&dims).is_some_and(|sizes| sizes.iter().all(countable)))
}

/// True if an access occurs once in an expression, and the value is a sum of terms of which one is a multiple of it.
fn is_linear(expr: &Expr, access: &Access) -> bool {
    let is_it = |other: &&Access| other.tensor == access.tensor;
    if expr.accesses().into_iter().filter(is_it).count() != 1 {
        return false;
    }
    let has = |expr: &Expr| expr.accesses().iter().any(is_it);
    match &expr.kind {
        ExprKind::Access(_) => true,
        ExprKind::Cast(a) => is_linear(a, access),
        ExprKind::Unary(UnaryFn::Neg, a) | ExprKind::Reduce(Monoid::SUM, _, a) => is_linear(a, access),
        ExprKind::Binary(BinaryFn::Add | BinaryFn::Sub | BinaryFn::Mul, a, b) => {
            expr.dtype != DType::Bool && is_linear(if has(a) { a } else { b }, access)
        }
        ExprKind::Binary(BinaryFn::Div, a, _) => has(a) && expr.dtype.is_float() && is_linear(a, access),
        _ => false,
    }
}

/// The parts that variables are split into by the first of some accesses, and the accesses that agree with it.
pub(super) fn agree(program: &Program, walked: &[AccessKey]) -> (FxHashMap<VarId, Apart>, Vec<AccessKey>) {
    let mut apart: FxHashMap<VarId, Apart> = FxHashMap::default();
    let mut kept = Vec::new();
    for key in walked {
        let Some(map) = program.tensors[key.tensor].format.map() else { continue };
        let own = wanted(map, key);
        let agrees = own.iter().all(|(var, way)| apart.get(var).is_none_or(|known| known == way));
        if agrees {
            apart.extend(own);
            kept.push(key.clone());
        }
    }
    (apart, kept)
}

/// The parts that a map splits the variables of an access into.
fn wanted(map: &Map, key: &AccessKey) -> Vec<(VarId, Apart)> {
    let ranked = |dimension: usize| map.ranked().filter(|ranked| ranked.dimension == dimension).map(|_| key.tensor);
    let ways = key.vars.iter().enumerate().map(|(dimension, &var)| {
        let way = match map.recovery(dimension) {
            Some(Recovery::Block { size, .. }) => Apart::Blocks(size, ranked(dimension)),
            Some(Recovery::Diagonal { other, .. }) => Apart::Diagonals(key.vars[other]),
            Some(Recovery::Whole(_)) | None => ranked(dimension).map_or(Apart::Not, Apart::Ranks),
        };
        (var, way)
    });
    ways.collect()
}

/// One of the walked accesses that takes a variable apart which another tensor of the statement stores otherwise.
pub(super) fn contradiction(
    program: &Program,
    statement: &Assignment,
    walked: &[AccessKey],
    apart: &FxHashMap<VarId, Apart>,
) -> Option<usize> {
    let ways = |var: &VarId| apart.get(var).copied().unwrap_or(Apart::Not);
    let lhs = AccessKey::from(&statement.lhs);
    // The old values of a result are read from a tensor of their own.
    let read = statement.rhs.accesses().into_iter().map(|access| (AccessKey::from(access), false));
    for (key, written) in read.chain([(lhs, true)]) {
        if walked.contains(&key) && !written {
            continue;
        }
        if written && is_stored_so(program, &key, apart) {
            continue;
        }
        let format = &program.tensors[key.tensor].format;
        let clash = key.vars.iter().enumerate().find(|(dimension, var)| match ways(var) {
            Apart::Not => false,
            // Elements of a result would be met several times.
            Apart::Diagonals(_) if written => true,
            Apart::Blocks(..) | Apart::Ranks(_) | Apart::Diagonals(_) => {
                let level = format.level_of(*dimension).map(|level| format.levels()[level]);
                // A tensor with a map is converted to a sparse format without.
                format.map().is_some() || level != Some(Level::DENSE)
            }
        });
        // Levels of a view are those of a dense tensor.
        let sparse = clash.is_none() && !format.is_dense() && key.vars.iter().any(|var| ways(var) != Apart::Not);
        let var = match clash {
            Some((_, var)) => Some(*var),
            None if sparse => key.vars.iter().copied().find(|var| ways(var) != Apart::Not),
            None => None,
        };
        if let Some(var) = var {
            return walked.iter().rposition(|own| own.vars.contains(&var));
        }
    }
    None
}

/// True if a result has a map that takes its variables apart as the operands' maps do.
pub(super) fn is_stored_so(program: &Program, key: &AccessKey, apart: &FxHashMap<VarId, Apart>) -> bool {
    program.tensors[key.tensor].format.map().is_some_and(|map| {
        map.ordinal().is_none()
            && is_walkable(map)
            && wanted(map, key).iter().all(|(var, way)| match way {
                Apart::Not => apart.get(var).is_none_or(|known| *known == Apart::Not),
                way => apart.get(var) == Some(way),
            })
    })
}

//! Operands whose rows are looked up again and again: they are read from storage that has a place for every row.
//!
//! ```text
//! C(i,j) = A(i,k) * A(k,j)      A: dcsr, coo, {btree}{btree}
//!   i, k, j    for each i, the columns of row i are merged with the rows that A has: as many steps as there are rows
//!   k, i, j    A(i,k) is converted to be read by columns, and the values of C come in any order
//! A_by_order: csr of A          row k is where an array says: i, k, j, with nothing to merge
//! ```
//!
//! Demands: a sum, the user's data for the sizes and the numbers of values, and no schedule of the user's, which may name an operand by the
//! order of its storage. An operand is converted if the cost model says that the loops and the conversion are then less than half the work.
//!
//! On entry: a statement in reduction notation, and its kernel before there are loops. On exit: the same, with conversions.
//! Source: Buluç and Gilbert, *On the representation and multiplication of hypersparse matrices* (IPDPS 2008), where both ways are compared.

use lacunar_formats::{Format, Level};
use lacunar_notation::concrete::Kernel;
use lacunar_notation::{Access, Expr, ExprKind, Role, Tensor};

use super::convert::{free_name, rename, stored_otherwise};
use super::cost::CONVERSION;
use super::order::choose;
use super::storage::{distinct_accesses, may_be_rows, with_widths_of};
use super::traffic::Memory;
use super::{Conversion, Search};
use crate::iterate::iterators::AccessKey;

/// A conversion has to make the work less by so many times: estimates are rough.
const GAIN: f64 = 2.0;

/// Converts operands of `lhs = rhs`; gives the expression that reads them.
pub(super) fn operands(
    kernel: &mut Kernel,
    (lhs, mut rhs): (&Access, Expr),
    memory: Memory,
    conversions: &mut Vec<Conversion>,
    notes: &mut Vec<String>,
) -> Expr {
    let mut cost = None;
    loop {
        let candidates = candidates(kernel, &rhs);
        if candidates.is_empty() {
            return rhs;
        }
        let now = *cost.get_or_insert_with(|| choose(kernel, lhs, &rhs, Search::Cost, memory).cost);
        let tried = candidates.into_iter().map(|found| (with(kernel, (lhs, &rhs), &found, memory), found));
        let best = tried.min_by(|(a, _), (b, _)| a.total_cmp(b)).filter(|(least, _)| least * GAIN < now);
        let Some((least, (key, format))) = best else { return rhs };
        let why = "its rows are looked up again and again";
        let tensor = stored_otherwise(kernel, key.tensor, &format, why, conversions, notes);
        rhs = rename(rhs, &|access| (AccessKey::from(access) == key).then_some(tensor));
        cost = Some(least);
    }
}

/// The operands without a place for every row, each in the formats that have one for every coordinate that another operand has as well.
fn candidates(kernel: &Kernel, rhs: &Expr) -> Vec<(AccessKey, Format)> {
    if !matches!(rhs.kind, ExprKind::Reduce(..)) {
        return Vec::new();
    }
    let accesses = distinct_accesses(rhs);
    let is_shared = |key: &AccessKey, mode: &usize| {
        accesses.iter().any(|other| other != key && other.vars.contains(&key.vars[*mode]))
    };
    let of = |key: &AccessKey| -> Vec<(AccessKey, Format)> {
        let modes = if is_closed(kernel, key) { kernel.tensors[key.tensor].format.mode_order() } else { &[] };
        let shared = modes.iter().filter(|mode| is_shared(key, mode));
        shared.filter_map(|mode| Some((key.clone(), opened(&kernel.tensors[key.tensor], *mode)?))).collect()
    };
    accesses.iter().flat_map(of).collect()
}

/// True for an operand as the user gives it, of which the rows that are there have to be searched for.
fn is_closed(kernel: &Kernel, key: &AccessKey) -> bool {
    let tensor = &kernel.tensors[key.tensor];
    let format = &tensor.format;
    let is_stored = tensor.role == Role::Input && tensor.view.is_none() && !tensor.is_unique;
    let is_plain = format.map().is_none() && format.packing().is_none() && format.order() > 1;
    is_stored && is_plain && format.levels().first().is_some_and(|level| !level.properties().full)
}

/// A format with a place for every coordinate of a dimension, if there are not many more than the tensor has values.
fn opened(tensor: &Tensor, rows: usize) -> Option<Format> {
    let size = tensor.dims[rows]?;
    if !may_be_rows(Some(size), Some(tensor.nnz?)) {
        return None;
    }
    let mut levels = vec![Level::COMPRESSED; tensor.order()];
    levels[0] = Level::DENSE;
    let others = tensor.format.mode_order().iter().copied().filter(|mode| *mode != rows);
    Some(with_widths_of(tensor, levels, std::iter::once(rows).chain(others).collect()))
}

/// The work of `lhs = rhs` if an operand is converted first.
fn with(kernel: &Kernel, (lhs, rhs): (&Access, &Expr), (key, format): &(AccessKey, Format), memory: Memory) -> f64 {
    let mut kernel = kernel.clone();
    let own = &kernel.tensors[key.tensor];
    let values = own.nnz.unwrap_or(0) as f64;
    let rows = format.mode_order().first().and_then(|mode| own.dims[*mode]).unwrap_or(0) as f64;
    let made = Tensor { name: free_name(&kernel.tensors, &own.name), format: format.clone(), ..own.clone() };
    let made = kernel.tensors.push(made);
    let rhs = rename(rhs.clone(), &|access| (AccessKey::from(access) == *key).then_some(made));
    choose(&kernel, lhs, &rhs, Search::Cost, memory).cost + values * CONVERSION + rows
}

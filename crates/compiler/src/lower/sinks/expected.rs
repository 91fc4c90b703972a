//! The number of products that are added up in rows of a result. A piece of the result gets room for as many values before they are computed,
//! so that its arrays do not grow on the way.
//!
//! ```text
//! C(i,j) = A(i,k) * B(k,j)      rows first .. end of C: the sum of B2_pos[k + 1] - B2_pos[k] over the k stored in rows first .. end of A
//! ```
//!
//! The number is an estimate: several products may have one coordinate, and a row may get other values too. The code that appends checks that
//! there is room.
//!
//! On entry: a result whose rows are a dense level, to which loops append.

use lacunar_formats::LevelKind;
use lacunar_imp::{ExprId, LoopKind};
use lacunar_notation::concrete::Kernel;
use lacunar_notation::{Role, TensorId};

use super::append::Append;
use crate::iterate::iterators::{AccessKey, level_var};
use crate::levels::At;
use crate::lower::Lowerer;
use crate::lower::scope::{Interval, Scope};
use crate::lower::storage::{descend, level};

/// The number of products that the rows of an interval are sums of; `None` if no operand chooses rows of another one.
pub(in crate::lower) fn products(
    cx: &mut Lowerer<'_>,
    append: &Append,
    rows: Interval,
    scope: &Scope,
) -> Option<ExprId> {
    let (chooses, chosen) = factors(cx.kernel, &append.access)?;
    let (begin, end) = descend(cx, &chooses, 1..=1, rows, scope).ok()?;
    let code = level(cx, &chooses, 1, scope).ok()?;
    let zero = cx.b.int(0);
    let products = cx.b.declare("products", zero);
    cx.each(LoopKind::Serial, "at", (begin, end), |cx, position| {
        let one = cx.b.int(1);
        let row = code.coordinate(&mut cx.b, "row", At { parent: zero, position, state: None });
        let next = cx.b.add(row, one);
        let (begin, end) = descend(cx, &chosen, 1..=1, (row, next), scope).ok()?;
        let (so_far, more) = (cx.b.var(products), cx.b.sub(end, begin));
        let sum = cx.b.add(so_far, more);
        cx.b.assign(products, sum);
        Some(())
    })?;
    Some(cx.b.var(products))
}

/// An operand whose rows are those of the result, and another one whose rows its coordinates choose, of which the result gets the columns.
fn factors(kernel: &Kernel, result: &AccessKey) -> Option<(AccessKey, AccessKey)> {
    let (row, columns) = (level_var(kernel, result, 0), result.vars.get(1..)?);
    let mut found = None;
    kernel.stmt.visit_assigns(&mut |assign| {
        let has_rows = |key: &AccessKey| {
            let tensor = &kernel.tensors[key.tensor];
            tensor.role == Role::Input && tensor.view.is_none() && is_compressed(kernel, key.tensor)
        };
        let operands = assign.rhs.accesses().into_iter().map(AccessKey::from).filter(has_rows);
        let operands: Vec<AccessKey> = operands.collect();
        let of_rows = operands.iter().filter(|key| level_var(kernel, key, 0) == row);
        let pairs = of_rows.flat_map(|chooses| operands.iter().map(move |chosen| (chooses, chosen)));
        let mut pairs = pairs.filter(|(chooses, chosen)| {
            level_var(kernel, chooses, 1) == level_var(kernel, chosen, 0)
                && columns.contains(&level_var(kernel, chosen, 1))
        });
        found = found.take().or_else(|| pairs.next().map(|(a, b)| (a.clone(), b.clone())));
    });
    found
}

/// True for a matrix of rows whose coordinates are stored one for each position, so that a position alone tells its coordinate. Those of
/// runs and of packed rows follow from the row as well.
fn is_compressed(kernel: &Kernel, tensor: TensorId) -> bool {
    let format = &kernel.tensors[tensor].format;
    let [rows, columns] = format.levels() else { return false };
    let is_stored = [LevelKind::COMPRESSED, LevelKind::UNORDERED].contains(&columns.kind);
    format.map().is_none() && rows.properties().full && is_stored
}

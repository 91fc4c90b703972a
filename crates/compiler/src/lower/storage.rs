//! The layout of a tensor's storage, independent of the place in the nest: its arrays, how many positions a level has, which
//! positions lie under others.
//!
//! ```text
//! A: csr, 5 x 7, 9 stored      count_positions(A, 0) = 5     count_positions(A, 1) = pos[5] = 9
//!                              descend(rows 1 .. 3)  = pos[1] .. pos[3]
//!                              ancestor(position 4)  = the row whose segment position 4 lies in
//! ```

use std::ops::RangeInclusive;
use std::rc::Rc;

use lacunar_base::Diagnostic;
use lacunar_imp::{ArrayId, ExprId};
use lacunar_notation::TensorId;
use lacunar_notation::stored::ViewStep;

use super::scope::{Interval, Scope};
use super::sizes::product;
use super::{Lowerer, TensorCode};
use crate::iterate::iterators::{AccessKey, level_var};
use crate::levels::LevelCode;

/// The arrays of a tensor: those that it has here, or its parameters.
pub(super) fn code(cx: &Lowerer<'_>, tensor: TensorId, scope: &Scope) -> Rc<TensorCode> {
    scope.code(tensor).unwrap_or(&cx.parameters.code[tensor.index()]).clone()
}

/// The code of a level, if it has any here.
pub(super) fn find_level(cx: &Lowerer<'_>, tensor: TensorId, level: usize, scope: &Scope) -> Option<Rc<dyn LevelCode>> {
    code(cx, tensor, scope).levels.get(level).cloned()
}

/// The code of a level.
pub(super) fn level(
    cx: &Lowerer<'_>,
    key: &AccessKey,
    level: usize,
    scope: &Scope,
) -> Result<Rc<dyn LevelCode>, Diagnostic> {
    find_level(cx, key.tensor, level, scope).ok_or_else(|| unbound(cx, key, level))
}

/// The code of a level in which the positions under neighboring parents are neighbors.
fn numbered(cx: &Lowerer<'_>, key: &AccessKey, number: usize, scope: &Scope) -> Result<Rc<dyn LevelCode>, Diagnostic> {
    let none =
        || Diagnostic::internal(format!("positions of level {} of `{}` are counted", number + 1, cx.name(key.tensor)));
    Some(level(cx, key, number, scope)?).filter(|code| code.nodes().is_none()).ok_or_else(none)
}

/// The array of a tensor's values.
pub(super) fn values(cx: &Lowerer<'_>, tensor: TensorId, scope: &Scope) -> Result<ArrayId, Diagnostic> {
    let values = code(cx, tensor, scope).values;
    values.ok_or_else(|| Diagnostic::internal(format!("`{}` has no values here", cx.name(tensor))))
}

/// A level is needed where it has no position.
pub(super) fn unbound(cx: &Lowerer<'_>, access: &AccessKey, level: usize) -> Diagnostic {
    let name = cx.name(access.tensor);
    Diagnostic::internal(format!("level {} of `{name}` is reached before its position", level + 1))
}

/// The product of the sizes of levels `from .. to` of an access.
pub(super) fn extent(cx: &mut Lowerer<'_>, access: &AccessKey, from: usize, to: usize, scope: &Scope) -> ExprId {
    let mut so_far = cx.b.int(1);
    let view = cx.kernel.tensors[access.tensor].view.as_ref();
    for level in from..to {
        // The first of the levels that walk through a dimension together stands for all.
        let size = match view.and_then(|view| view.steps.get(level)) {
            Some(ViewStep::First(var, _)) => cx.size(*var),
            Some(ViewStep::Next(_)) => continue,
            _ => match scope.slab() {
                Some(slab) if slab.tensor == access.tensor && level == 0 => slab.len,
                _ => cx.size(level_var(cx.kernel, access, level)),
            },
        };
        so_far = product(&mut cx.b, so_far, size);
    }
    so_far
}

/// The number of positions of a level.
pub(super) fn count_positions(cx: &mut Lowerer<'_>, access: &AccessKey, level: usize, scope: &Scope) -> Option<ExprId> {
    let parents = match level.checked_sub(1) {
        Some(above) => count_positions(cx, access, above, scope)?,
        None => cx.b.int(1),
    };
    let size = cx.size(level_var(cx.kernel, access, level));
    let code = find_level(cx, access.tensor, level, scope)?;
    Some(code.count_positions(&mut cx.b, parents, size))
}

/// The number of values of a tensor whose levels are all dense or packed.
pub(super) fn count_values(cx: &mut Lowerer<'_>, access: &AccessKey, scope: &Scope) -> ExprId {
    let packed = cx.kernel.tensors[access.tensor].format.packing().is_some();
    let counted = access.vars.len().checked_sub(1).filter(|_| packed);
    let counted = counted.and_then(|last| count_positions(cx, access, last, scope));
    counted.unwrap_or_else(|| extent(cx, access, 0, access.vars.len(), scope))
}

/// The positions of some levels under a position interval of the level above them.
pub(super) fn descend(
    cx: &mut Lowerer<'_>,
    key: &AccessKey,
    levels: RangeInclusive<usize>,
    interval: Interval,
    scope: &Scope,
) -> Result<Interval, Diagnostic> {
    let (mut low, mut high) = interval;
    for number in levels {
        let code = numbered(cx, key, number, scope)?;
        (low, high) = code.span(&mut cx.b, low, high);
    }
    Ok((low, high))
}

/// The position of the level above whose segment a position lies in.
pub(super) fn ancestor(
    cx: &mut Lowerer<'_>,
    key: &AccessKey,
    number: usize,
    position: ExprId,
    scope: &Scope,
) -> Result<ExprId, Diagnostic> {
    let parents = match number.checked_sub(1) {
        None => cx.b.int(1),
        Some(above) => count_positions(cx, key, above, scope).ok_or_else(|| unbound(cx, key, above))?,
    };
    let code = numbered(cx, key, number, scope)?;
    Ok(code.parent(&mut cx.b, position, parents))
}

/// The positions of the level above whose segments an interval of positions lies in.
pub(super) fn ancestors(
    cx: &mut Lowerer<'_>,
    key: &AccessKey,
    level: usize,
    (low, high): Interval,
    scope: &Scope,
) -> Result<Interval, Diagnostic> {
    let one = cx.b.int(1);
    let last = cx.b.sub(high, one);
    let first = ancestor(cx, key, level, low, scope)?;
    let end = ancestor(cx, key, level, last, scope)?;
    let end = cx.b.add(end, one);
    Ok((cx.b.define("low", first), cx.b.define("high", end)))
}

/// True if a level of a view walks through a dimension together with others.
pub(super) fn is_inside_dimension(cx: &Lowerer<'_>, access: &AccessKey, level: usize) -> bool {
    let view = cx.kernel.tensors[access.tensor].view.as_ref();
    view.and_then(|view| view.steps.get(level)).is_some_and(|step| *step != ViewStep::Whole)
}

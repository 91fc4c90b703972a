//! Rows of a packed tensor that are alike: where a loop goes through these, nothing is read to find what they store.
//!
//! ```text
//! y(i) = L(i,j) * x(j)      L: packed(leslie)
//!   row 0          for i in 0 .. 1 { t = 0;  for p in L2_pos[i] .. L2_pos[i + 1] { t += .. };  y[i] = t }
//!   rows 1 .. n    for i in 1 .. n { y[i] = L[base + i - 1] * x[i - 1] }
//! ```
//!
//! Where other rows are known to be empty, their loops are. The stretch follows from the structure alone ([`Stretch`]).
//!
//! On entry: a loop over coordinates of the outermost level. On exit: the part of it, and what is known there.

use std::rc::Rc;

use lacunar_formats::Stretch;
use lacunar_imp::{BinaryOp, CompareOp, ExprId};
use lacunar_notation::concrete::{Kernel, Stmt};
use lacunar_notation::{Role, VarId};
use lacunar_sets::Affine;

use crate::iterate::iterators::{AccessKey, level_var};
use crate::levels::stretch::{Alike, Empty, First};
use crate::levels::{LevelCode, Position};
use crate::lower::scope::{Fact, Interval, Scope};
use crate::lower::storage::code;
use crate::lower::{Lowerer, TensorCode};

/// A packed tensor whose rows a loop goes through, and the stretch of them.
pub(super) struct Met {
    key: AccessKey,
    stretch: &'static Stretch,
}

/// The first such tensor of a loop.
pub(super) fn found(kernel: &Kernel, var: VarId, body: &Stmt, scope: &Scope) -> Option<Met> {
    let mut keys: Vec<AccessKey> = Vec::new();
    body.visit_assigns(&mut |assign| {
        let accesses = assign.rhs.accesses().into_iter().map(AccessKey::from);
        keys.extend(accesses.filter(|key| kernel.tensors[key.tensor].format.packing().is_some()));
    });
    let is_open = |key: &AccessKey, level: usize| scope.value(level_var(kernel, key, level)).is_none();
    keys.iter().find_map(|key| {
        let tensor = &kernel.tensors[key.tensor];
        let is_iterated = tensor.format.as_stored() == tensor.format && tensor.role == Role::Input;
        // The code of a tensor's levels is that of all its accesses.
        let is_once = keys.iter().all(|other| other.tensor != key.tensor || other == key);
        let is_here = level_var(kernel, key, 0) == var && is_open(key, 0) && is_open(key, 1);
        let fits = is_iterated && is_once && is_here && scope.code(key.tensor).is_none();
        let stretch = tensor.format.packing()?.stretch().filter(|_| fits)?;
        Some(Met { key: key.clone(), stretch })
    })
}

/// The rows of the stretch within those of the loop.
pub(super) fn part(cx: &mut Lowerer<'_>, met: &Met, (begin, end): Interval) -> Interval {
    let (mut low, mut high) = (begin, end);
    let one = cx.b.int(1);
    for form in &met.stretch.from {
        let first = value(cx, &met.key, form);
        low = cx.b.binary(BinaryOp::Max, low, first);
    }
    for form in &met.stretch.to {
        let last = value(cx, &met.key, form);
        let behind = cx.b.add(last, one);
        high = cx.b.binary(BinaryOp::Min, high, behind);
    }
    for form in &met.stretch.conditions {
        let zero = cx.b.int(0);
        let number = value(cx, &met.key, form);
        let holds = cx.b.compare(CompareOp::Ge, number, zero);
        high = cx.b.select(holds, high, begin);
    }
    (low, high)
}

/// The value of a form of the sizes of a tensor's dimensions, without the terms of other columns.
fn value(cx: &mut Lowerer<'_>, key: &AccessKey, form: &Affine) -> ExprId {
    let mut sum = cx.b.int(form.offset());
    for (column, factor) in form.terms() {
        if let Some(var) = key.vars.get(column) {
            let (size, factor) = (cx.size(*var), cx.b.int(factor));
            let term = cx.b.mul(size, factor);
            sum = cx.b.add(sum, term);
        }
    }
    sum
}

/// The fact that the rows are alike from one on.
pub(super) fn alike(cx: &mut Lowerer<'_>, met: &Met, low: ExprId, scope: &Scope) -> Fact {
    let Met { key, stretch } = met;
    let rest = value(cx, key, &stretch.first);
    let first = First { factor: stretch.first.factor(key.vars.len()), rest };
    with_rows(cx, key, scope, |cx, level| {
        // No row may follow, so that the end of one is not asked for.
        let (begin, _) = level.bounds(&mut cx.b, Position::Range(low, low));
        Rc::new(Alike { level, base: (low, begin), length: stretch.length, first })
    })
}

/// The fact that other rows are empty, if they are.
pub(super) fn empty(cx: &mut Lowerer<'_>, met: &Met, scope: &Scope) -> Option<Fact> {
    let is_known = met.stretch.are_others_empty;
    is_known.then(|| with_rows(cx, &met.key, scope, |_, level| Rc::new(Empty { level })))
}

/// The fact that the level under the outermost one of a tensor has other code.
fn with_rows(
    cx: &mut Lowerer<'_>,
    key: &AccessKey,
    scope: &Scope,
    made: impl FnOnce(&mut Lowerer<'_>, Rc<dyn LevelCode>) -> Rc<dyn LevelCode>,
) -> Fact {
    let own = code(cx, key.tensor, scope);
    let mut levels = own.levels.clone();
    if let Some(level) = levels.get(1).cloned() {
        levels[1] = made(cx, level);
    }
    Fact::Code(key.tensor, Rc::new(TensorCode { levels, values: own.values }))
}

//! Loops over coordinates with borders: the coordinates beyond a border get a loop of their own, so that the rest is a loop like any other.
//!
//! ```text
//! y(i) = x(wrap(i - 1)) + x(clamp(i + 1))
//!   inside = 0 .. n - 1                              where i + 1 is a coordinate
//!   piece = 0
//!   while piece < n {
//!     by = (piece - 1) mod n - (piece - 1)           as far as the coordinate is from the sum, up to the next multiple of n
//!     until = the end of that, or of the inside
//!     if piece is inside { for i in piece .. until { y[i] = x[i - 1 + by] + x[i + 1] } }
//!     else { for i in piece .. until { y[i] = x[i - 1 + by] + x[min(max(i + 1, 0), n - 1)] } }
//!     piece = until
//!   }
//! ```
//!
//! A sum with variables that loops inside go through is inside where it is so for all of their values.
//!
//! On entry: the loop visits every coordinate, and [`has`] found borders in it.

use std::rc::Rc;

use lacunar_base::Diagnostic;
use lacunar_imp::{BinaryOp, CompareOp, ExprId};
use lacunar_notation::concrete::{Kernel, Stmt};
use lacunar_notation::{Border, Rule, VarId};

use super::dense;
use super::here::Loop;
use crate::iterate::iterators::AccessKey;
use crate::levels::border::{remainder, shifted};
use crate::lower::scope::{Fact, Interval, Scope};
use crate::lower::storage::code;
use crate::lower::{Lowerer, TensorCode};

/// A border whose sum a loop changes.
struct Met<'k> {
    key: AccessKey,
    border: &'k Border,
    /// The variables whose loops are inside.
    open: Vec<VarId>,
}

impl Met<'_> {
    /// The factor of a variable in the sum.
    fn factor(&self, var: VarId) -> i64 {
        let terms = self.border.equation.factors.iter().zip(&self.key.vars);
        terms.filter(|(_, own)| **own == var).map(|(factor, _)| factor).sum()
    }

    /// True if the coordinate is at one distance from the sum up to the end of the dimension, wherever a piece begins.
    fn is_ring(&self) -> bool {
        self.border.rule == Rule::Wrap && self.open.is_empty()
    }
}

/// True if the coordinates of a loop lie within borders that it is worth to part it by.
pub(super) fn has(kernel: &Kernel, var: VarId, body: &Stmt, scope: &Scope) -> bool {
    !found(kernel, var, body, scope).is_empty()
}

/// The borders whose sums the loop over a variable changes: all of them in an innermost loop; around others those that the loops inside
/// change, too.
fn found<'k>(kernel: &'k Kernel, var: VarId, body: &Stmt, scope: &Scope) -> Vec<Met<'k>> {
    let mut keys: Vec<AccessKey> = Vec::new();
    body.visit_assigns(&mut |assign| {
        for access in assign.rhs.accesses() {
            let key = AccessKey::from(access);
            if kernel.tensors[key.tensor].border().is_some() && !keys.contains(&key) {
                keys.push(key);
            }
        }
    });
    let is_once = |key: &&AccessKey| keys.iter().filter(|other| other.tensor == key.tensor).count() == 1;
    let is_innermost = is_innermost(kernel, body);
    let met = keys.iter().filter(is_once).filter_map(|key| {
        let border = kernel.tensors[key.tensor].border()?;
        let (last, parts) = key.vars.split_last()?;
        let is_here = parts.contains(&var) && scope.value(*last).is_none() && scope.code(key.tensor).is_none();
        let open = parts.iter().copied().filter(|own| *own != var && scope.value(*own).is_none()).collect();
        is_here.then(|| Met { key: key.clone(), border, open })
    });
    met.filter(|met| met.factor(var) != 0 && (is_innermost || !met.open.is_empty())).collect()
}

/// True if no loops are inside but those over coordinates that others tell.
fn is_innermost(kernel: &Kernel, stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Assign(_) => true,
        Stmt::Forall(var, body) => {
            let mut is_told = false;
            body.visit_assigns(&mut |assign| {
                let last = assign.rhs.accesses().into_iter().filter(|access| access.vars.last() == Some(var));
                is_told |= last.into_iter().any(|access| kernel.tensors[access.tensor].indicator.is_some());
            });
            is_told && is_innermost(kernel, body)
        }
        Stmt::Where { consumer, producer } => is_innermost(kernel, consumer) && is_innermost(kernel, producer),
        Stmt::Sequence(stmts) => stmts.iter().all(|stmt| is_innermost(kernel, stmt)),
    }
}

/// The loop over all coordinates of the region, in pieces.
pub(super) fn emit(cx: &mut Lowerer<'_>, l: &Loop<'_>) -> Result<(), Diagnostic> {
    let kernel = cx.kernel;
    let met = found(kernel, l.var, l.body, l.scope);
    let ((begin, end), scope) = dense::enter(cx, l)?;
    let l = &l.within(&scope);
    let (rings, others): (Vec<Met>, Vec<Met>) = met.into_iter().partition(Met::is_ring);
    let inside = inside(cx, l, &others, (begin, end));
    let piece = cx.b.declare("piece", begin);
    let at = cx.b.var(piece);
    let is_left = cx.b.compare(CompareOp::Lt, at, end);
    cx.repeat(is_left, |cx| {
        let from = cx.b.define("from", at);
        let (mut until, mut scope) = (end, l.scope.clone());
        for ring in &rings {
            let (by, left) = lap(cx, l, ring, from);
            let stop = cx.b.add(from, left);
            until = cx.b.binary(BinaryOp::Min, until, stop);
            scope.know(kept_apart(cx, ring, by, &scope));
        }
        let is_inside = inside.map(|(low, high)| {
            let is_before = cx.b.compare(CompareOp::Lt, from, low);
            let is_open = cx.b.compare(CompareOp::Lt, from, high);
            let behind = cx.b.select(is_open, high, end);
            let next = cx.b.select(is_before, low, behind);
            until = cx.b.binary(BinaryOp::Min, until, next);
            let reached = cx.b.compare(CompareOp::Ge, from, low);
            let is_inside = cx.b.and(reached, is_open);
            cx.b.define("inside", is_inside)
        });
        let until = cx.b.define("until", until);
        match is_inside {
            None => dense::over(cx, &l.within(&scope), (from, until))?,
            Some(is_inside) => {
                let zero = cx.b.int(0);
                let mut plain = scope.clone();
                for other in &others {
                    plain.know(kept_apart(cx, other, zero, &scope));
                }
                let (then, first) = cx.block(|cx| dense::over(cx, &l.within(&plain), (from, until)));
                let (otherwise, second) = cx.block(|cx| dense::over(cx, &l.within(&scope), (from, until)));
                first.and(second)?;
                cx.branch(is_inside, then, otherwise);
            }
        }
        cx.b.assign(piece, until);
        Ok(())
    })
}

/// The fact that the coordinates of a border lie this far from its sums.
fn kept_apart(cx: &Lowerer<'_>, met: &Met<'_>, by: ExprId, scope: &Scope) -> Fact {
    let own = code(cx, met.key.tensor, scope);
    let levels = shifted(&own.levels, by);
    Fact::Code(met.key.tensor, Rc::new(TensorCode { levels, values: own.values }))
}

/// The sum of a border without the variable of the loop and those that are open.
fn rest(cx: &mut Lowerer<'_>, l: &Loop<'_>, met: &Met<'_>) -> ExprId {
    let mut sum = cx.b.int(met.border.equation.constant);
    let parts = met.key.vars.len().saturating_sub(1);
    for (&factor, &var) in met.border.equation.factors.iter().zip(&met.key.vars).take(parts) {
        if var != l.var
            && let Some(value) = l.scope.value(var)
        {
            let factor = cx.b.int(factor);
            let term = cx.b.mul(value, factor);
            sum = cx.b.add(sum, term);
        }
    }
    sum
}

/// The distance from the sum to the coordinate of a ring, from a value of the loop's variable on, and the number of values that it holds
/// for.
fn lap(cx: &mut Lowerer<'_>, l: &Loop<'_>, met: &Met<'_>, from: ExprId) -> (ExprId, ExprId) {
    let size = size(cx, met);
    let factor = met.factor(l.var);
    let (number, step) = (cx.b.int(factor), cx.b.int(factor.abs()));
    let (rest, term) = (rest(cx, l, met), cx.b.mul(from, number));
    let sum = cx.b.add(rest, term);
    let coordinate = remainder(&mut cx.b, sum, size);
    let coordinate = cx.b.define("coordinate", coordinate);
    let by = cx.b.sub(coordinate, sum);
    let one = cx.b.int(1);
    // Up to the last coordinate, or down to the first.
    let steps = if factor > 0 {
        let last = cx.b.sub(size, one);
        cx.b.sub(last, coordinate)
    } else {
        coordinate
    };
    let steps = if factor.abs() == 1 { steps } else { cx.b.binary(BinaryOp::Div, steps, step) };
    let left = cx.b.add(steps, one);
    (cx.b.define("by", by), left)
}

/// The number of coordinates of a border's dimension, at least 1.
fn size(cx: &mut Lowerer<'_>, met: &Met<'_>) -> ExprId {
    let one = cx.b.int(1);
    let size = met.key.vars.last().map_or(one, |last| cx.size(*last));
    cx.b.binary(BinaryOp::Max, size, one)
}

/// The values of the loop's variable with which the sums of all borders are coordinates; `None` if there are no borders.
fn inside(cx: &mut Lowerer<'_>, l: &Loop<'_>, met: &[Met<'_>], all: Interval) -> Option<Interval> {
    let (mut low, mut high) = all;
    for border in met {
        let (first, behind) = within(cx, l, border);
        low = cx.b.binary(BinaryOp::Max, low, first);
        high = cx.b.binary(BinaryOp::Min, high, behind);
    }
    let last = cx.b.binary(BinaryOp::Min, low, all.1);
    let high = cx.b.binary(BinaryOp::Max, high, last);
    (!met.is_empty()).then(|| (cx.b.define("inside_from", last), cx.b.define("inside_to", high)))
}

/// The first value of the loop's variable with which a sum is a coordinate, and the one behind the last; not within its own size.
fn within(cx: &mut Lowerer<'_>, l: &Loop<'_>, met: &Met<'_>) -> Interval {
    let (zero, one) = (cx.b.int(0), cx.b.int(1));
    let factor = met.factor(l.var);
    let step = cx.b.int(factor.abs());
    let base = rest(cx, l, met);
    let (mut least, mut greatest) = (base, base);
    for &var in &met.open {
        let most = cx.size(var);
        let last = cx.b.sub(most, one);
        let last = cx.b.binary(BinaryOp::Max, last, zero);
        let number = cx.b.int(met.factor(var));
        let most = cx.b.mul(last, number);
        match met.factor(var) > 0 {
            true => greatest = cx.b.add(greatest, most),
            false => least = cx.b.add(least, most),
        }
    }
    let size = size(cx, met);
    let magnitude = factor.abs();
    let (low, high) =
        if factor > 0 { (cx.b.sub(zero, least), cx.b.sub(size, greatest)) } else { (cx.b.sub(greatest, size), least) };
    // Steps up come to a number where all before have not; steps down have passed one where they are beyond.
    let rounding = cx.b.int(if factor > 0 { magnitude - 1 } else { magnitude });
    let mut steps = |number: ExprId| {
        let number = cx.b.add(number, rounding);
        let number = cx.b.binary(BinaryOp::Max, number, zero);
        if magnitude == 1 { number } else { cx.b.binary(BinaryOp::Div, number, step) }
    };
    (steps(low), steps(high))
}

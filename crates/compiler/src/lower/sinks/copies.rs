//! Copies: each chunk of a loop that threads share adds to a copy of its own, and the copies are combined behind the loop.
//!
//! ```text
//! y(j) += A(i,j) * x(i), i shared
//! y_copies: (chunks - 1) * n
//! for chunk parallel {
//!   if chunk == 0 { ..; y_vals[j] += .. } else { y_copies[n (chunk - 1) ..] = 0; ..; y_copies[n (chunk - 1) + j] += .. }
//! }
//! for pieces of 0 .. n parallel { for c, p { y_vals[p] += y_copies[n c + p] } }
//! ```
//!
//! The first chunk adds to the tensor itself where that is an array ([`first_adds`]). If unique elements tell that a chunk adds to none
//! before its first row, as with the upper half of a symmetric matrix, its copy begins there: the part before is neither cleared nor
//! combined.
//!
//! A copy is of all of a tensor, or, inside of loops over its outer levels, of the block under their coordinates. A scalar
//! workspace is a variable of the chunk, which it leaves in its place at the end.
//!
//! Paper: Senanayake et al. 2020, §5.1 (race strategies: temporary).

use std::rc::Rc;

use lacunar_base::Diagnostic;
use lacunar_formats::DType;
use lacunar_imp::{ArrayId, BinaryOp, CompareOp, ExprId};
use lacunar_notation::{Access, Monoid, Role, TensorId, VarId, WorkspaceKind};

use super::values::{
    Beside, Pair, beside_name, combine_at, combine_pair, combine_pair_at, combine_variable, compared_in, first_beside,
    identity_of, monoid_of, set_given,
};
use super::workspace::declare_beside;
use super::{Addition, Sink, Workspace};
use crate::comparisons::Sum;
use crate::iterate::iterators::{AccessKey, level_var};
use crate::iterate::races::combines_nothing;
use crate::lower::derive::{position, value_position};
use crate::lower::scope::{Fact, Scope};
use crate::lower::sizes::{ceil_div, product};
use crate::lower::storage::{count_values, extent, is_inside_dimension, values};
use crate::lower::units::pieces::in_pieces;
use crate::lower::{GRAIN, INDEX, Lowerer, MutableVar, unique};

/// The work of making one element of a copy and adding it up, in scalar iterations.
const WORK_OF_COPY: i64 = 2;

/// The part of a tensor that a loop adds to.
#[derive(Clone, Copy)]
pub(in crate::lower) struct Extent {
    tensor: TensorId,
    /// The element that it begins with.
    first: ExprId,
    /// Its number of elements.
    pub len: ExprId,
}

/// The chunks that a loop is cut into.
#[derive(Clone, Copy)]
pub(in crate::lower) struct Shares {
    pub chunks: ExprId,
    /// The variable whose values they share.
    pub var: VarId,
    /// True if the first adds to the tensor itself.
    pub first_adds: bool,
}

impl Shares {
    /// The number of chunks that have copies.
    fn copied(self, cx: &mut Lowerer<'_>) -> ExprId {
        let one = cx.b.int(1);
        // There may be no chunk, where there is nothing to share.
        let some = cx.b.binary(BinaryOp::Max, self.chunks, one);
        if self.first_adds { cx.b.sub(some, one) } else { self.chunks }
    }
}

impl Extent {
    /// True if it is a variable, which has no place in memory.
    pub fn is_variable(&self, cx: &Lowerer<'_>, scope: &Scope) -> bool {
        cx.kernel.tensors[self.tensor].role == Role::Workspace(WorkspaceKind::Scalar)
            || scope.sink(self.tensor).is_some_and(|sink| sink.scalar().is_some())
    }
}

/// Copies of the tensor that a loop which threads share adds to.
pub(in crate::lower) struct Copies {
    of: Extent,
    array: ArrayId,
    /// For each copy, the element that it begins with, if chunks add to none before.
    begins: Option<ArrayId>,
    /// The flags that tell if a chunk gave anything, if the pattern of a result depends on it.
    given: Option<ArrayId>,
    /// The values beside indices.
    beside: Option<ArrayId>,
}

/// A chunk's copy of a tensor.
#[derive(Debug)]
struct Copy {
    of: Rc<dyn Sink>,
    array: ArrayId,
    /// From an element's place in the tensor to that in the array of all copies.
    offset: ExprId,
    given: Option<MutableVar>,
    /// The values beside indices, at the same places as these.
    beside: Option<ArrayId>,
}

/// The access by which a tensor is assigned to.
pub(super) fn assigned(cx: &Lowerer<'_>, tensor: TensorId) -> Option<AccessKey> {
    let mut key = None;
    cx.kernel.stmt.visit_assigns(&mut |assign| {
        if assign.lhs.tensor == tensor {
            key = Some(AccessKey::from(&assign.lhs));
        }
    });
    key
}

/// The number of elements of a tensor that is not sparse under one position of its level `depth - 1`; all, if `depth` is 0.
pub(super) fn block_below(cx: &mut Lowerer<'_>, tensor: TensorId, depth: usize, scope: &Scope) -> ExprId {
    match assigned(cx, tensor) {
        Some(key) if depth == 0 => count_values(cx, &key, scope),
        Some(key) => extent(cx, &key, depth, key.vars.len(), scope),
        None => cx.b.int(1),
    }
}

/// The number of outer levels of a dense result that have coordinates at a place: additions there go to the block under one
/// position of theirs. Statements that add to several places of the result may go to several blocks, so that levels count whose coordinates
/// are the same in all of them.
fn levels_known(cx: &Lowerer<'_>, tensor: TensorId, scope: &Scope) -> usize {
    let is_result = cx.kernel.tensors[tensor].role == Role::Result;
    let Some(key) = assigned(cx, tensor).filter(|_| is_result) else { return 0 };
    let mut others = Vec::new();
    cx.kernel.stmt.visit_assigns(&mut |assign| {
        if assign.lhs.tensor == tensor {
            others.push(AccessKey::from(&assign.lhs));
        }
    });
    let is_known = |level: &usize| {
        let var = level_var(cx.kernel, &key, *level);
        scope.value(var).is_some() && others.iter().all(|other| level_var(cx.kernel, other, *level) == var)
    };
    let depth = (0..key.vars.len()).take_while(is_known).count();
    let is_packed = cx.kernel.tensors[tensor].format.packing().is_some();
    if is_packed || (0..=depth).any(|level| is_inside_dimension(cx, &key, level)) { 0 } else { depth }
}

/// The part of a tensor that chunks add to: all of it, or the block under the coordinates that it has here.
pub(in crate::lower) fn extent_of(cx: &mut Lowerer<'_>, tensor: TensorId, scope: &Scope) -> Result<Extent, Diagnostic> {
    let info = &cx.kernel.tensors[tensor];
    if info.role.is_listed() {
        let fault = format!("threads cannot share the list that is workspace `{}`", info.name);
        return Err(Diagnostic::internal(fault));
    }
    let depth = levels_known(cx, tensor, scope);
    let len = block_below(cx, tensor, depth, scope);
    let number = match (depth.checked_sub(1), assigned(cx, tensor)) {
        (Some(level), Some(key)) => position(cx, &key, Some(level), scope)?.first(),
        _ => cx.b.int(0),
    };
    let first = cx.b.mul(number, len);
    Ok(Extent { tensor, first, len })
}

/// True if the first chunk can add to the tensors themselves: arrays, about which nothing else has to be kept.
pub(in crate::lower) fn first_adds(cx: &Lowerer<'_>, extents: &[Extent], scope: &Scope) -> bool {
    let is_array = |extent: &Extent| {
        let is_single = cx.b.as_const(extent.len).is_some_and(|len| len.bits == 1);
        let keeps_more = scope.sink(extent.tensor).is_none_or(|sink| sink.given().is_some() || sink.beside().is_some());
        !extent.is_variable(cx, scope) && !is_single && !keeps_more && compared_in(cx.kernel, extent.tensor).is_none()
    };
    scope.appended().is_none() && extents.iter().all(is_array)
}

/// True if a chunk adds to no row of a dense result before the first of its values of `var`.
fn adds_behind(cx: &Lowerer<'_>, extent: &Extent, var: VarId) -> bool {
    let (kernel, info) = (cx.kernel, &cx.kernel.tensors[extent.tensor]);
    let is_whole = cx.b.as_const(extent.first).is_some_and(|first| first.bits == 0);
    let is_plain = info.is_array() && info.format.map().is_none();
    let fits = info.role == Role::Result && is_whole && is_plain && info.view.is_none();
    if !fits || !kernel.provenance.is_plain(var) {
        return false;
    }
    let mut is_behind = true;
    kernel.stmt.visit_assigns(&mut |assign| {
        let key = AccessKey::from(&assign.lhs);
        if assign.lhs.tensor != extent.tensor || key.vars.is_empty() {
            return;
        }
        let row = level_var(kernel, &key, 0);
        let mut sum = Sum::number(0);
        let fits = sum.add_term(row, 1).and_then(|()| sum.add_term(var, -1)).is_some();
        // Another term of a sum is added where the element is absent, too.
        let tells = |access: &Access| {
            let is_behind = unique::is_everywhere(kernel, &AccessKey::from(access), row, &sum);
            is_behind && combines_nothing(kernel, assign, access)
        };
        is_behind &= row == var || fits && assign.rhs.accesses().into_iter().any(tells);
    });
    is_behind
}

/// Reduces the number of chunks, so that each has more work than its copy of a tensor makes; one, if there are any, is left.
pub(in crate::lower) fn worth_copying(cx: &mut Lowerer<'_>, chunks: ExprId, extent: &Extent, scope: &Scope) -> ExprId {
    let Some(most) = scope.most_chunks() else { return chunks };
    let (work, grain, one) = (cx.b.int(WORK_OF_COPY), cx.b.int(GRAIN as i64), cx.b.int(1));
    let own = product(&mut cx.b, extent.len, work);
    let grains = ceil_div(&mut cx.b, own, grain);
    let grains = cx.b.binary(BinaryOp::Max, grains, one);
    let worth = cx.b.binary(BinaryOp::Div, most, grains);
    let worth = cx.b.binary(BinaryOp::Max, worth, one);
    cx.b.binary(BinaryOp::Min, chunks, worth)
}

/// Declares copies of the part of a tensor that the chunks add to.
pub(in crate::lower) fn declare(cx: &mut Lowerer<'_>, extent: &Extent, shares: Shares, scope: &Scope) -> Copies {
    let info = &cx.kernel.tensors[extent.tensor];
    let chunks = shares.copied(cx);
    let total = product(&mut cx.b, chunks, extent.len);
    let array = cx.b.local_array(&format!("{}_copies", info.name), info.dtype);
    cx.b.alloc(array, total, false);
    let given = scope.appended().is_some().then(|| {
        let given = cx.b.local_array(&format!("{}_gave", info.name), DType::Bool);
        cx.b.alloc(given, chunks, false);
        given
    });
    let beside = compared_in(cx.kernel, extent.tensor).map(|(ty, compared)| {
        let name = format!("{}_copies", beside_name(cx, extent.tensor, compared));
        let beside = cx.b.local_array(&name, ty);
        cx.b.alloc(beside, total, false);
        beside
    });
    let begins = (shares.first_adds && adds_behind(cx, extent, shares.var)).then(|| {
        let begins = cx.b.local_array(&format!("{}_begins", info.name), INDEX);
        cx.b.alloc(begins, chunks, false);
        begins
    });
    Copies { of: *extent, array, begins, given, beside }
}

/// At the beginning of a chunk, whose first value of the variable that chunks share is `low`: its copy, that of a number, is empty, and takes
/// the place of the tensor.
pub(in crate::lower) fn begin(
    cx: &mut Lowerer<'_>,
    copies: &Copies,
    (chunk, low): (ExprId, ExprId),
    scope: &mut Scope,
) {
    let info = &cx.kernel.tensors[copies.of.tensor];
    let Some(of) = scope.sink(copies.of.tensor) else { return };
    let identity = identity_of(cx, copies.of.tensor);
    let given = copies.given.map(|_| {
        let no = cx.b.bool(false);
        cx.b.declare(&format!("{}_given", info.name), no)
    });
    // Copies of one element would share cache lines.
    let is_single = cx.b.as_const(copies.of.len).is_some_and(|len| len.bits == 1);
    if of.scalar().is_some() || is_single {
        let value = cx.b.declare(&info.name, identity);
        let beside = declare_beside(cx, copies.of.tensor);
        scope.know(Fact::Sink(copies.of.tensor, Rc::new(Workspace::Scalar { value, given, beside })));
        return;
    }
    let begin = cx.b.mul(chunk, copies.of.len);
    let end = cx.b.add(begin, copies.of.len);
    let mut cleared = begin;
    if let Some(begins) = copies.begins {
        let row = block_below(cx, copies.of.tensor, 1, scope);
        let first = cx.b.mul(low, row);
        cx.b.store(begins, chunk, first);
        cleared = cx.b.add(begin, first);
    }
    cx.fill(copies.array, (cleared, end), identity);
    if let (Some(beside), Some(compared)) = (copies.beside, compared_in(cx.kernel, copies.of.tensor)) {
        let first = first_beside(cx, compared);
        cx.fill(beside, (begin, end), first);
    }
    let offset = cx.b.sub(begin, copies.of.first);
    let copy = Copy { of, array: copies.array, offset, given, beside: copies.beside };
    scope.know(Fact::Sink(copies.of.tensor, Rc::new(copy)));
}

/// At the end of a chunk, in whose scope its copy is: the values of variables go to the arrays.
pub(in crate::lower) fn end(cx: &mut Lowerer<'_>, copies: &Copies, chunk: ExprId, scope: &Scope) {
    let Some(own) = scope.sink(copies.of.tensor) else { return };
    if let Some(value) = own.scalar() {
        let value = cx.b.var(value);
        cx.b.store(copies.array, chunk, value);
        if let (Some(array), Some(Beside::Variable(beside))) = (copies.beside, own.beside()) {
            let beside = cx.b.var(beside);
            cx.b.store(array, chunk, beside);
        }
    }
    if let (Some(array), Some(given)) = (copies.given, own.given()) {
        let given = cx.b.var(given);
        cx.b.store(array, chunk, given);
    }
}

/// True if a tensor that chunks have copies of is a variable that comes to a value which nothing changes any more.
pub(in crate::lower) fn may_be_done(cx: &Lowerer<'_>, tensor: TensorId) -> bool {
    let (info, monoid) = (&cx.kernel.tensors[tensor], monoid_of(cx.kernel, tensor));
    // A strict kernel takes the first of values that are told apart.
    info.role == Role::Workspace(WorkspaceKind::Scalar)
        && (monoid.terminal(info.dtype).is_some() || monoid.keeps_first())
        && (monoid.is_exact(info.dtype) || !cx.options.strict)
}

/// The condition that nothing changes a chunk's copy any more.
pub(in crate::lower) fn is_done(cx: &mut Lowerer<'_>, copies: &Copies, scope: &Scope) -> Option<ExprId> {
    let (tensor, dtype) = (copies.of.tensor, cx.kernel.tensors[copies.of.tensor].dtype);
    let held = scope.sink(tensor).and_then(|own| own.scalar())?;
    let monoid = monoid_of(cx.kernel, tensor);
    let held = cx.b.var(held);
    let (op, value) = match monoid.terminal(dtype) {
        Some(terminal) => (CompareOp::Eq, terminal),
        None => (CompareOp::Ne, monoid.identity(dtype)?),
    };
    let value = cx.b.constant(value);
    Some(cx.b.compare(op, held, value))
}

/// Behind the loop: the copies are combined, place by place in the order of the chunks.
pub(in crate::lower) fn add_up(
    cx: &mut Lowerer<'_>,
    copies: &Copies,
    shares: Shares,
    scope: &Scope,
) -> Result<(), Diagnostic> {
    let (zero, chunks) = (cx.b.int(0), shares.copied(cx));
    let Copies { of: Extent { first, len, .. }, array, begins, beside, .. } = *copies;
    let monoid = monoid_of(cx.kernel, copies.of.tensor);
    let of = scope.sink(copies.of.tensor);
    let held = of.as_ref().and_then(|of| of.beside());
    if let Some(value) = of.as_ref().and_then(|of| of.scalar()) {
        cx.b.for_loop("c", zero, chunks, |b, c| {
            let part = b.load("part", array, c);
            match (monoid.compared(), beside, held) {
                (Some(compared), Some(beside), Some(Beside::Variable(held))) => {
                    let of = b.load("beside", beside, c);
                    combine_pair(b, (value, held), compared, Pair { index: part, value: of });
                }
                _ => combine_variable(b, value, monoid, part),
            }
        });
    } else {
        let values = values(cx, copies.of.tensor, scope)?;
        let held = match (beside, held) {
            (Some(beside), Some(Beside::Array(held))) => Some((beside, held)),
            _ => None,
        };
        let work = product(&mut cx.b, len, chunks);
        in_pieces(cx, len, work, |cx, (from, to)| {
            cx.b.for_loop("c", zero, chunks, |b, c| {
                let begin = b.mul(c, len);
                let from = begins.map_or(from, |begins| {
                    let own = b.load("own_begin", begins, c);
                    b.binary(BinaryOp::Max, from, own)
                });
                b.for_loop("p", from, to, |b, p| {
                    let at = b.add(begin, p);
                    let part = b.load("part", array, at);
                    let place = b.add(first, p);
                    match (monoid.compared(), held) {
                        (Some(compared), Some((beside, held))) => {
                            let of = b.load("beside", beside, at);
                            combine_pair_at(b, (values, held), place, compared, Pair { index: part, value: of });
                        }
                        _ => combine_at(b, values, place, monoid, part),
                    }
                });
            });
        });
    }
    if let (Some(array), Some(given)) = (copies.given, of.and_then(|of| of.given())) {
        cx.b.for_loop("c", zero, chunks, |b, c| {
            let gave = b.load("gave", array, c);
            let so_far = b.var(given);
            let any = b.or(so_far, gave);
            b.assign(given, any);
        });
    }
    Ok(())
}

impl Sink for Copy {
    fn add(&self, cx: &mut Lowerer<'_>, addition: &Addition, scope: &Scope) -> Result<(), Diagnostic> {
        let &Addition { ref key, op, value, of } = addition;
        let at = value_position(cx, key, scope)?;
        let at = cx.b.add(self.offset, at);
        let monoid = op.monoid().unwrap_or(Monoid::SUM);
        match (self.beside, monoid.compared(), of) {
            (Some(beside), Some(compared), Some(of)) => {
                combine_pair_at(&mut cx.b, (self.array, beside), at, compared, Pair { index: value, value: of });
            }
            _ => combine_at(&mut cx.b, self.array, at, monoid, value),
        }
        if cx.kernel.tensors[key.tensor].role != Role::Result {
            set_given(cx, self.given);
        }
        Ok(())
    }

    fn hidden(&self) -> Option<&Rc<dyn Sink>> {
        Some(&self.of)
    }

    fn is_array(&self) -> bool {
        true
    }

    fn given(&self) -> Option<MutableVar> {
        self.given
    }
}

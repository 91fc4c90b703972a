//! Workspaces: temporaries that a producer scatters into and a consumer reads (Kjolstad et al. 2019).
//!
//! ```text
//! scalar   t            a variable, and whether it was given anything
//! dense    w[0 .. n]    set to zero before each use
//! marked   w[0 .. n], w_marks[0 .. n], w_list[0 .. w_n]
//!                       a coordinate is put on the list when its mark is set; the list is sorted before it is read and
//!                       the marks it names are cleared afterwards, so that nothing costs as much as the dimension
//! bitmap   w[0 .. n], w_marks[0 .. n], w_groups[0 .. n/64], w_list[0 .. w_n]
//!                       the marks are read off in order (`bitmap.rs`)
//! stamped  w[0 .. n], w_stamps[0 .. n], w_list[0 .. w_n]
//!                       the list is read as it came, and nothing is cleared (`stamped.rs`)
//! hashed   w_key1[..], .., w_keyR[..], w[..], w_n, w_table[..]
//!                       each coordinate is on the list once, where the table says (`hashed.rs`); sorted if it is read in order
//! sorted   w_key1[..], .., w_keyR[..], w[..], w_n
//!                       every contribution is put on the list; sorted and added up before it is read (`sorted.rs`)
//! ```
//!
//! Arrays are given their memory once for the kernel, or once for each thread that takes chunks of the loop around the producer
//! that threads share ([`declare`]). Before each producer, nothing is in the workspace ([`begin`]).

use std::rc::Rc;

use lacunar_base::Diagnostic;
use lacunar_formats::DType;
use lacunar_imp::{Arg, ArrayId, Callee, ExprId};
use lacunar_notation::concrete::{Kernel, Stmt};
use lacunar_notation::{AssignOp, Monoid, Role, TensorId, VarId, WorkspaceKind};

use super::bitmap::{self, Bitmap};
use super::hashed::{self, Hashed};
use super::sorted::{self, Sorted};
use super::stamped::{self, Stamped};
use super::values::{
    Beside, Pair, beside_name, combine_at, combine_pair, combine_pair_at, combine_variable, compared_in, first_beside,
    set_given,
};
use super::{Addition, Sink};
use crate::iterate::iterators::{AccessKey, level_var};
use crate::iterate::position_space::original_loops;
use crate::iterate::races::filled_inside;
use crate::iterate::reading::is_read_in_order;
use crate::levels::list_levels;
use crate::lower::derive::{coordinate, value_position};
use crate::lower::scope::{Fact, Scope};
use crate::lower::sizes::product;
use crate::lower::storage::{code, values};
use crate::lower::{INDEX, Lowerer, MutableVar, SPECIALIZED_SIZE, TensorCode};

/// The arrays and variables of a workspace.
#[derive(Clone, Debug)]
pub(in crate::lower) enum Workspace {
    Scalar {
        value: MutableVar,
        given: Option<MutableVar>,
        /// The value beside an index.
        beside: Option<MutableVar>,
    },
    Dense {
        len: ExprId,
        given: Option<MutableVar>,
        /// The values beside indices.
        beside: Option<ArrayId>,
    },
    Marked {
        marks: ArrayId,
        list: ArrayId,
        count: MutableVar,
        size: ExprId,
    },
    Bitmap(Bitmap),
    Stamped(Stamped),
    Hashed(Hashed),
    Sorted(Sorted),
}

/// The most elements of an array that each chunk makes anew: it is in registers, or on the stack.
const SMALL: u64 = 1 << 9;

/// True if workspaces with arrays, but for small ones, are filled inside the loop over `shared`, which threads share.
pub(in crate::lower) fn has_arrays(cx: &Lowerer<'_>, shared: VarId) -> bool {
    let filled = filled_in_shared(cx, &cx.kernel.stmt).into_iter();
    filled.filter(|(var, _)| *var == shared).any(|(_, tensor)| !is_small(cx, tensor))
}

fn is_small(cx: &Lowerer<'_>, tensor: TensorId) -> bool {
    let kind = cx.kernel.tensors[tensor].role;
    let mut vars = Vec::new();
    cx.kernel.stmt.visit_assigns(&mut |assign| {
        if assign.lhs.tensor == tensor {
            vars.clone_from(&assign.lhs.vars);
        }
    });
    let len = |var: VarId| {
        let size = cx.size(var);
        cx.b.as_const(size).map(|size| size.bits)
    };
    match kind {
        Role::Workspace(WorkspaceKind::Scalar) => true,
        Role::Workspace(WorkspaceKind::Dense) => {
            let len = vars.into_iter().try_fold(1u64, |all, var| all.checked_mul(len(var)?));
            len.is_some_and(|len| len <= SMALL)
        }
        _ => false,
    }
}

/// Gives workspaces with arrays their memory: those that are filled inside the loop over `shared`, which threads share, once
/// for each thread; with `None` the others, once for the kernel.
pub(in crate::lower) fn declare(cx: &mut Lowerer<'_>, shared: Option<VarId>, scope: &Scope) -> Scope {
    let mut used: Vec<(TensorId, Vec<VarId>)> = Vec::new();
    let here = filled_in_shared(cx, &cx.kernel.stmt);
    cx.kernel.stmt.visit_assigns(&mut |assign| {
        let place = here.iter().find(|(_, tensor)| *tensor == assign.lhs.tensor).map(|(var, _)| *var);
        if place == shared && !used.iter().any(|(tensor, _)| *tensor == assign.lhs.tensor) {
            used.push((assign.lhs.tensor, assign.lhs.vars.clone()));
        }
    });
    let mut scope = scope.clone();
    for (tensor, vars) in used {
        let made = match cx.kernel.tensors[tensor].role {
            Role::Workspace(WorkspaceKind::Dense) => declare_dense(cx, tensor, &vars),
            Role::Workspace(WorkspaceKind::Marked) => declare_marked(cx, tensor, vars[0]),
            Role::Workspace(WorkspaceKind::Bitmap) => bitmap::declare(cx, tensor, vars[0]),
            // A list that is read in order is sorted by its marks.
            Role::Workspace(WorkspaceKind::Stamped) if ordered_somewhere(cx.kernel, &cx.kernel.stmt, tensor) => {
                declare_marked(cx, tensor, vars[0])
            }
            Role::Workspace(WorkspaceKind::Stamped) => stamped::declare(cx, tensor, vars[0]),
            Role::Workspace(WorkspaceKind::Hashed) => hashed::declare(cx, tensor, vars.len()),
            Role::Workspace(WorkspaceKind::Sorted) => sorted::declare(cx, tensor, vars.len()),
            // Variables are declared where they are used.
            Role::Workspace(WorkspaceKind::Scalar) | Role::Input | Role::Indicator | Role::Index | Role::Result => {
                continue;
            }
        };
        let (sink, code) = made;
        scope.know(Fact::Code(tensor, Rc::new(code)));
        scope.know(Fact::Sink(tensor, Rc::new(sink)));
    }
    scope
}

/// Gives small dense workspaces that are filled and read inside a statement arrays of their own there, so that those elsewhere can
/// be registers.
pub(in crate::lower) fn declare_apart(cx: &mut Lowerer<'_>, body: &Stmt, scope: &Scope) -> Scope {
    let mut scope = scope.clone();
    for tensor in filled_inside(body) {
        let sink = scope.sink(tensor);
        let Some(&Workspace::Dense { len, .. }) = sink.as_ref().and_then(|sink| sink.as_workspace()) else { continue };
        if cx.b.as_const(len).is_some_and(|len| len.bits <= SPECIALIZED_SIZE) {
            let info = &cx.kernel.tensors[tensor];
            let values = cx.b.local_array(&info.name, info.dtype);
            cx.b.alloc(values, len, false);
            scope.know(Fact::Code(tensor, Rc::new(TensorCode { levels: Vec::new(), values: Some(values) })));
        }
    }
    scope
}

fn declare_dense(cx: &mut Lowerer<'_>, tensor: TensorId, vars: &[VarId]) -> (Workspace, TensorCode) {
    let info = &cx.kernel.tensors[tensor];
    let mut len = cx.b.int(1);
    for &var in vars {
        let size = cx.size(var);
        len = product(&mut cx.b, len, size);
    }
    let values = cx.b.local_array(&info.name, info.dtype);
    cx.b.alloc(values, len, false);
    let beside = compared_in(cx.kernel, tensor).map(|(ty, compared)| {
        let name = beside_name(cx, tensor, compared);
        let beside = cx.b.local_array(&name, ty);
        cx.b.alloc(beside, len, false);
        beside
    });
    (Workspace::Dense { len, given: None, beside }, TensorCode { levels: Vec::new(), values: Some(values) })
}

fn declare_marked(cx: &mut Lowerer<'_>, tensor: TensorId, var: VarId) -> (Workspace, TensorCode) {
    let info = &cx.kernel.tensors[tensor];
    let size = cx.size(var);
    let values = cx.b.local_array(&info.name, info.dtype);
    let marks = cx.b.local_array(&format!("{}_marks", info.name), DType::Bool);
    let list = cx.b.local_array(&format!("{}_list", info.name), INDEX);
    cx.b.alloc(values, size, false);
    cx.b.alloc(marks, size, true);
    cx.b.alloc(list, size, false);
    let zero = cx.b.int(0);
    let count = cx.b.declare(&format!("{}_n", info.name), zero);
    let levels = list_levels(&[list], count);
    (Workspace::Marked { marks, list, count, size }, TensorCode { levels, values: Some(values) })
}

/// The workspaces that are filled and read inside a loop that threads share, with its variable.
fn filled_in_shared(cx: &Lowerer<'_>, stmt: &Stmt) -> Vec<(VarId, TensorId)> {
    match stmt {
        Stmt::Assign(_) => Vec::new(),
        Stmt::Forall(var, body) if cx.kernel.provenance.is_shared(*var) && !cx.serial => {
            filled_inside(body).into_iter().map(|tensor| (*var, tensor)).collect()
        }
        Stmt::Forall(_, body) => filled_in_shared(cx, body),
        Stmt::Sequence(stmts) => stmts.iter().flat_map(|stmt| filled_in_shared(cx, stmt)).collect(),
        Stmt::Where { consumer, producer } => [filled_in_shared(cx, consumer), filled_in_shared(cx, producer)].concat(),
    }
}

/// The coordinates that an assignment names, by the levels of a list.
fn coordinates(cx: &mut Lowerer<'_>, key: &AccessKey, scope: &Scope) -> Result<Vec<ExprId>, Diagnostic> {
    (0..key.vars.len()).map(|level| coordinate(cx, level_var(cx.kernel, key, level), scope)).collect()
}

/// Before the producer: nothing is in the workspace. `is_certain` says that something will be.
pub(in crate::lower) fn begin(cx: &mut Lowerer<'_>, tensor: TensorId, is_certain: bool, scope: &mut Scope) {
    let info = &cx.kernel.tensors[tensor];
    let (value, none) = (cx.b.constant(info.fill()), cx.b.int(0));
    if info.role == Role::Workspace(WorkspaceKind::Scalar) {
        let value = cx.b.declare(&info.name, value);
        let beside = declare_beside(cx, tensor);
        let given = declare_given(cx, tensor, is_certain, scope);
        scope.know(Fact::Sink(tensor, Rc::new(Workspace::Scalar { value, given, beside })));
        return;
    }
    let sink = scope.sink(tensor);
    match (sink.as_ref().and_then(|sink| sink.as_workspace()), code(cx, tensor, scope).values) {
        (Some(&Workspace::Dense { len, beside, .. }), Some(array)) => {
            cx.fill(array, (none, len), value);
            if let (Some(beside), Some(compared)) = (beside, compared_in(cx.kernel, tensor)) {
                let first = first_beside(cx, compared);
                cx.fill(beside, (none, len), first);
            }
            let given = declare_given(cx, tensor, is_certain, scope);
            scope.know(Fact::Sink(tensor, Rc::new(Workspace::Dense { len, given, beside })));
        }
        (Some(&Workspace::Marked { count, .. }), _) => cx.b.assign(count, none),
        (Some(Workspace::Sorted(sorted)), _) => sorted.begin(cx),
        (Some(Workspace::Bitmap(bitmap)), _) => cx.b.assign(bitmap.count(), none),
        (Some(Workspace::Stamped(stamped)), _) => stamped.begin(cx),
        (Some(Workspace::Hashed(hashed)), _) => hashed.begin(cx),
        _ => {}
    }
}

/// True if a consumer of a workspace goes through it in order.
fn ordered_somewhere(kernel: &Kernel, stmt: &Stmt, tensor: TensorId) -> bool {
    match stmt {
        Stmt::Assign(_) => false,
        Stmt::Forall(_, body) => ordered_somewhere(kernel, body, tensor),
        Stmt::Sequence(stmts) => stmts.iter().any(|stmt| ordered_somewhere(kernel, stmt, tensor)),
        Stmt::Where { consumer, producer } => {
            let is_filled = producer.writes().contains(&tensor);
            is_filled && is_read_in_order(kernel, &original_loops(kernel, consumer), tensor)
                || ordered_somewhere(kernel, consumer, tensor)
                || ordered_somewhere(kernel, producer, tensor)
        }
    }
}

/// The variable for the value beside the index in a workspace, if the workspace holds one.
pub(super) fn declare_beside(cx: &mut Lowerer<'_>, tensor: TensorId) -> Option<MutableVar> {
    let compared = compared_in(cx.kernel, tensor)?;
    let (name, first) = (beside_name(cx, tensor, compared.1), first_beside(cx, compared));
    Some(cx.b.declare(&name, first))
}

/// A variable that says if a workspace was given anything, where that is not certain and the pattern of a result depends on it.
fn declare_given(cx: &mut Lowerer<'_>, tensor: TensorId, is_certain: bool, scope: &Scope) -> Option<MutableVar> {
    if is_certain || scope.appended().is_none() {
        return None;
    }
    let no = cx.b.bool(false);
    Some(cx.b.declare(&format!("{}_given", cx.name(tensor)), no))
}

/// Between the producer of a workspace and a consumer that walks through it: its coordinates ascend.
pub(in crate::lower) fn order(cx: &mut Lowerer<'_>, tensor: TensorId, scope: &Scope) {
    let sink = scope.sink(tensor);
    match (sink.as_ref().and_then(|sink| sink.as_workspace()), code(cx, tensor, scope).values) {
        (Some(&Workspace::Marked { marks, list, count, size }), _) => {
            let n = cx.b.var(count);
            let args = vec![Arg::Array(list), Arg::Scalar(n), Arg::Array(marks), Arg::Scalar(size)];
            cx.b.call(Callee::SortMarked, args);
        }
        (Some(Workspace::Sorted(sorted)), Some(values)) => sorted.order(cx, tensor, values),
        (Some(Workspace::Hashed(hashed)), Some(values)) => hashed.order(cx, values),
        _ => {}
    }
}

/// Behind the consumer: no coordinate is marked.
pub(in crate::lower) fn end(cx: &mut Lowerer<'_>, tensor: TensorId, scope: &Scope) {
    let sink = scope.sink(tensor);
    match sink.as_ref().and_then(|sink| sink.as_workspace()) {
        Some(&Workspace::Marked { marks, list, count, .. }) => {
            let (zero, end) = (cx.b.int(0), cx.b.var(count));
            cx.b.for_loop("q", zero, end, |b, q| {
                let coordinate = b.load("marked", list, q);
                let no = b.bool(false);
                b.store(marks, coordinate, no);
            });
        }
        Some(Workspace::Bitmap(bitmap)) => bitmap::end(cx, tensor, bitmap, scope),
        _ => {}
    }
}

impl Sink for Workspace {
    fn add(&self, cx: &mut Lowerer<'_>, addition: &Addition, scope: &Scope) -> Result<(), Diagnostic> {
        let &Addition { ref key, op, value, of } = addition;
        // Repeated coordinates are added up, also by an assignment that only stores: a sum begins at 0, so beside another
        // fill value nothing is repeated, and an assignment stores.
        let monoid = op.monoid().unwrap_or(Monoid::SUM);
        let is_stored = op == AssignOp::Set && !cx.kernel.tensors[key.tensor].fill().is_zero();
        match *self {
            Workspace::Scalar { value: variable, given, .. } if is_stored => {
                cx.b.assign(variable, value);
                set_given(cx, given);
            }
            Workspace::Dense { given, .. } if is_stored => {
                let at = value_position(cx, key, scope)?;
                let array = values(cx, key.tensor, scope)?;
                cx.b.store(array, at, value);
                set_given(cx, given);
            }
            Workspace::Scalar { value: variable, given, beside } => {
                match (beside, monoid.compared(), of) {
                    (Some(beside), Some(compared), Some(of)) => {
                        combine_pair(&mut cx.b, (variable, beside), compared, Pair { index: value, value: of });
                    }
                    _ => combine_variable(&mut cx.b, variable, monoid, value),
                }
                set_given(cx, given);
            }
            Workspace::Dense { given, beside, .. } => {
                let at = value_position(cx, key, scope)?;
                let array = values(cx, key.tensor, scope)?;
                match (beside, monoid.compared(), of) {
                    (Some(beside), Some(compared), Some(of)) => {
                        combine_pair_at(&mut cx.b, (array, beside), at, compared, Pair { index: value, value: of });
                    }
                    _ => combine_at(&mut cx.b, array, at, monoid, value),
                }
                set_given(cx, given);
            }
            Workspace::Marked { marks, list, count, .. } => {
                let at = value_position(cx, key, scope)?;
                let array = values(cx, key.tensor, scope)?;
                let is_marked = cx.b.load("marked", marks, at);
                let (then, ()) = cx.block(|cx| combine_at(&mut cx.b, array, at, monoid, value));
                let (otherwise, ()) = cx.block(|cx| {
                    let (yes, n, one) = (cx.b.bool(true), cx.b.var(count), cx.b.int(1));
                    cx.b.store(marks, at, yes);
                    cx.b.store(list, n, at);
                    cx.b.store(array, at, value);
                    let next = cx.b.add(n, one);
                    cx.b.assign(count, next);
                });
                cx.branch(is_marked, then, otherwise);
            }
            Workspace::Bitmap(ref bitmap) => {
                let at = value_position(cx, key, scope)?;
                let array = values(cx, key.tensor, scope)?;
                bitmap.add(cx, (array, at), ((!is_stored).then_some(monoid), value));
            }
            Workspace::Stamped(stamped) => {
                let at = value_position(cx, key, scope)?;
                let array = values(cx, key.tensor, scope)?;
                stamped.add(cx, array, at, (monoid, value));
            }
            Workspace::Hashed(ref hashed) => {
                let array = values(cx, key.tensor, scope)?;
                let coordinates = coordinates(cx, key, scope)?;
                hashed.add(cx, array, &coordinates, (monoid, value));
            }
            Workspace::Sorted(ref sorted) => {
                let array = values(cx, key.tensor, scope)?;
                let coordinates = coordinates(cx, key, scope)?;
                sorted.add(cx, array, &coordinates, value);
            }
        }
        Ok(())
    }

    fn is_array(&self) -> bool {
        matches!(self, Workspace::Dense { .. })
    }

    fn scalar(&self) -> Option<MutableVar> {
        match self {
            Workspace::Scalar { value, .. } => Some(*value),
            _ => None,
        }
    }

    fn beside(&self) -> Option<Beside> {
        match *self {
            Workspace::Scalar { beside, .. } => beside.map(Beside::Variable),
            Workspace::Dense { beside, .. } => beside.map(Beside::Array),
            _ => None,
        }
    }

    fn given(&self) -> Option<MutableVar> {
        match self {
            Workspace::Scalar { given, .. } | Workspace::Dense { given, .. } => *given,
            _ => None,
        }
    }

    fn has(&self, cx: &mut Lowerer<'_>, coordinate: ExprId) -> Option<ExprId> {
        match self {
            Workspace::Marked { marks, .. } => Some(cx.b.load("marked", *marks, coordinate)),
            Workspace::Bitmap(bitmap) => Some(cx.b.load("marked", bitmap.marks(), coordinate)),
            Workspace::Stamped(stamped) => Some(stamped.has(cx, coordinate)),
            _ => None,
        }
    }

    fn as_workspace(&self) -> Option<&Workspace> {
        Some(self)
    }
}

//! Workspaces: temporaries that a producer scatters into and a consumer reads (Kjolstad et al. 2019).
//!
//! ```text
//! scalar   t            a variable, and whether it was given anything
//! dense    w[0 .. n]    set to zero before each use
//! marked   w[0 .. n], marks[0 .. n], list[0 .. count]
//!                       a coordinate is put on the list when its mark is set; the list is sorted before it is read and
//!                       the marks it names are cleared afterwards, so that nothing costs as much as the dimension
//! sorted   key_1[..], .., key_r[..], w[..], count
//!                       every contribution is put on the list; sorted and added up before it is read
//! ```

use lacunar_base::Diagnostic;
use lacunar_formats::DType;
use lacunar_imp::{Arg, ArrayId, BinaryOp, Callee, Const, ExprId};
use lacunar_notation::concrete::{Assign, Stmt};
use lacunar_notation::{Access, Role, TensorId, VarId, WorkspaceKind};

use super::compute::Presence;
use super::sizes::product;
use super::{Counter, INDEX, Lowerer, Scope, Written, workspace_kind};
use crate::iterate::iterators::{AccessKey, Mode};
use crate::iterate::lattice::{Lattice, Point};
use crate::iterate::races::filled_inside;
use crate::iterate::space::original_loops;
use crate::levels::list_levels;

/// The arrays and variables of a workspace.
#[derive(Debug)]
pub(super) enum Workspace {
    /// Not yet made ready (scalars are declared where they are used).
    Pending,
    Scalar {
        value: Counter,
        given: Option<Counter>,
    },
    Dense {
        len: ExprId,
        given: Option<Counter>,
    },
    Marked {
        marks: ArrayId,
        list: ArrayId,
        count: Counter,
        size: ExprId,
    },
    Sorted {
        keys: Vec<ArrayId>,
        count: Counter,
    },
}

impl Lowerer<'_> {
    /// Gives workspaces with arrays their memory: those that are filled inside the loop over `shared`, which threads share, once
    /// for each chunk; with `None` the others, once for the kernel.
    pub(super) fn declare_workspaces(&mut self, shared: Option<VarId>) {
        let mut used = Vec::new();
        let here = self.filled_in_shared(&self.kernel.stmt);
        self.kernel.stmt.visit_assigns(&mut |assign| {
            let place = here.iter().find(|(_, tensor)| *tensor == assign.lhs.tensor).map(|(var, _)| *var);
            if place == shared && !used.iter().any(|(tensor, _)| *tensor == assign.lhs.tensor) {
                used.push((assign.lhs.tensor, assign.lhs.vars.clone()));
            }
        });
        for (id, vars) in used {
            let tensor = &self.kernel.tensors[id];
            let Some(kind) = workspace_kind(tensor.role) else { continue };
            let (name, dtype) = (tensor.name.clone(), tensor.dtype);
            let (zero, one) = (self.b.int(0), self.b.int(1));
            let workspace = match kind {
                WorkspaceKind::Scalar => Workspace::Pending,
                WorkspaceKind::Dense => {
                    let len = vars.iter().fold(one, |len, &var| {
                        let size = self.size(var);
                        product(&mut self.b, len, size)
                    });
                    let values = self.b.local_array(&name, dtype);
                    self.b.alloc(values, len, false);
                    self.tensors[id.index()].values = Some(values);
                    Workspace::Dense { len, given: None }
                }
                WorkspaceKind::Marked => {
                    let size = self.size(vars[0]);
                    let values = self.b.local_array(&name, dtype);
                    let marks = self.b.local_array(&format!("{name}_marks"), DType::Bool);
                    let list = self.b.local_array(&format!("{name}_list"), INDEX);
                    self.b.alloc(values, size, false);
                    self.b.alloc(marks, size, true);
                    self.b.alloc(list, size, false);
                    let count = self.b.declare(&format!("{name}_n"), zero);
                    self.tensors[id.index()].values = Some(values);
                    self.tensors[id.index()].levels = list_levels(&[list], count);
                    Workspace::Marked { marks, list, count, size }
                }
                WorkspaceKind::Sorted => {
                    let values = self.b.local_array(&name, dtype);
                    let keys: Vec<ArrayId> =
                        (0..vars.len()).map(|k| self.b.local_array(&format!("{name}_key{}", k + 1), INDEX)).collect();
                    let count = self.b.declare(&format!("{name}_n"), zero);
                    self.tensors[id.index()].values = Some(values);
                    self.tensors[id.index()].levels = list_levels(&keys, count);
                    Workspace::Sorted { keys, count }
                }
            };
            self.tensors[id.index()].workspace = Some(workspace);
        }
    }

    /// The workspaces that are filled and read inside a loop that threads share, with its variable.
    fn filled_in_shared(&self, stmt: &Stmt) -> Vec<(VarId, TensorId)> {
        match stmt {
            Stmt::Assign(_) => Vec::new(),
            Stmt::Forall(var, body) if self.kernel.provenance.is_shared(*var) && !self.serial => {
                filled_inside(body).into_iter().map(|tensor| (*var, tensor)).collect()
            }
            Stmt::Forall(_, body) => self.filled_in_shared(body),
            Stmt::Sequence(stmts) => stmts.iter().flat_map(|stmt| self.filled_in_shared(stmt)).collect(),
            Stmt::Where { consumer, producer } => {
                [self.filled_in_shared(consumer), self.filled_in_shared(producer)].concat()
            }
        }
    }

    pub(super) fn lower_where(
        &mut self,
        consumer: &Stmt,
        producer: &Stmt,
        scope: &Scope,
    ) -> Result<Written, Diagnostic> {
        // Workspaces inside the producer are its own affair.
        let read = consumer.reads();
        let filled: Vec<TensorId> = producer.writes().into_iter().filter(|tensor| read.contains(tensor)).collect();
        for &tensor in &filled {
            let certain = self.is_certain(&original_loops(self.kernel, producer), tensor, false, scope);
            self.empty_workspace(tensor, certain);
        }
        self.stmt(producer, scope)?;
        for &tensor in &filled {
            if self.is_walked(&original_loops(self.kernel, consumer), tensor) {
                self.order_workspace(tensor);
            }
        }
        let written = self.stmt(consumer, scope)?;
        for &tensor in &filled {
            self.unmark_workspace(tensor);
        }
        Ok(written)
    }

    /// Whether a statement gives a tensor something whatever the operands hold: in loops over dimensions that are not
    /// empty (unless that is `assumed`), of values that are there.
    pub(super) fn is_certain(&self, producer: &Stmt, tensor: TensorId, assumed: bool, scope: &Scope) -> bool {
        match producer {
            Stmt::Assign(assign) => {
                let there = |access: &&Access| {
                    let role = self.kernel.tensors[access.tensor].role;
                    !scope.uncertain.contains_key(&AccessKey::from(*access)) && !matches!(role, Role::Workspace(_))
                };
                assign.lhs.tensor == tensor && assign.rhs.accesses().iter().all(there)
            }
            Stmt::Forall(var, body) => {
                let whole = self.kernel.provenance.is_plain(*var);
                let some = assumed || self.b.as_const(self.size(*var)).is_some_and(|size| size.bits > 0);
                let all = |lattice: Lattice| lattice.points == [Point::ALL];
                let full = whole && some && Lattice::build(self.kernel, body, *var).is_ok_and(all);
                full && self.is_certain(body, tensor, assumed, scope)
            }
            Stmt::Where { .. } => false,
            Stmt::Sequence(stmts) => stmts.iter().any(|stmt| self.is_certain(stmt, tensor, assumed, scope)),
        }
    }

    /// Before the producer: nothing is in the workspace. `certain` says that something will be.
    fn empty_workspace(&mut self, tensor: TensorId, certain: bool) {
        let info = &self.kernel.tensors[tensor];
        let zero = self.b.constant(Const::zero(info.dtype));
        let none = self.b.int(0);
        let values = self.tensors[tensor.index()].values;
        match (&self.tensors[tensor.index()].workspace, values) {
            (Some(Workspace::Dense { len, .. }), Some(array)) => {
                let len = *len;
                self.b.push(lacunar_imp::Stmt::Fill { array, begin: none, end: len, value: zero });
                let given = if certain { None } else { self.declare_given(&info.name) };
                self.tensors[tensor.index()].workspace = Some(Workspace::Dense { len, given });
            }
            (Some(Workspace::Marked { count, .. } | Workspace::Sorted { count, .. }), _) => {
                let count = *count;
                self.b.assign(count, none);
            }
            (Some(Workspace::Pending | Workspace::Scalar { .. }), _) => {
                let value = self.b.declare(&info.name, zero);
                let given = if certain { None } else { self.declare_given(&info.name) };
                self.tensors[tensor.index()].workspace = Some(Workspace::Scalar { value, given });
            }
            _ => {}
        }
    }

    /// A variable that says whether a workspace was given anything, where the pattern of a result depends on it.
    fn declare_given(&mut self, name: &str) -> Option<Counter> {
        self.appends().then(|| {
            let no = self.b.bool(false);
            self.b.declare(&format!("{name}_given"), no)
        })
    }

    fn set_given(&mut self, given: Option<Counter>) {
        if let Some(given) = given {
            let yes = self.b.bool(true);
            self.b.assign(given, yes);
        }
    }

    /// Whether a consumer walks through the list of a workspace, other than looking coordinates up.
    fn is_walked(&self, consumer: &Stmt, tensor: TensorId) -> bool {
        match consumer {
            Stmt::Assign(_) => false,
            Stmt::Sequence(stmts) => stmts.iter().any(|stmt| self.is_walked(stmt, tensor)),
            Stmt::Where { consumer, producer } => self.is_walked(consumer, tensor) || self.is_walked(producer, tensor),
            Stmt::Forall(var, body) => {
                let lattice = Lattice::build(self.kernel, body, *var);
                let walks = lattice.map_or(true, |lattice| {
                    lattice.iterators.iter().any(|it| it.access.tensor == tensor && it.mode == Mode::Coiterate)
                });
                walks || self.is_walked(body, tensor)
            }
        }
    }

    /// The marks of a workspace that has some.
    pub(super) fn marks_of(&self, tensor: TensorId) -> Option<ArrayId> {
        match self.tensors[tensor.index()].workspace {
            Some(Workspace::Marked { marks, .. }) => Some(marks),
            _ => None,
        }
    }

    /// Between producer and consumer: the coordinates ascend.
    fn order_workspace(&mut self, tensor: TensorId) {
        let values = self.tensors[tensor.index()].values;
        match (&self.tensors[tensor.index()].workspace, values) {
            (Some(Workspace::Marked { marks, list, count, size }), _) => {
                let (marks, list, size) = (*marks, *list, *size);
                let n = self.b.var(*count);
                let args = vec![Arg::Array(list), Arg::Scalar(n), Arg::Array(marks), Arg::Scalar(size)];
                self.b.call(Callee::SortMarked, args);
            }
            (Some(Workspace::Sorted { keys, count }), Some(values)) => {
                let (keys, count) = (keys.clone(), *count);
                let n = self.b.var(count);
                let mut args = vec![Arg::Scalar(n), Arg::Array(values)];
                args.extend(keys.into_iter().map(Arg::Array));
                let left = self.b.call_value("combined", Callee::SortCombine, args);
                self.b.assign(count, left);
            }
            _ => {}
        }
    }

    /// After the consumer: no coordinate is marked.
    fn unmark_workspace(&mut self, tensor: TensorId) {
        let Some(Workspace::Marked { marks, list, count, .. }) = self.tensors[tensor.index()].workspace else { return };
        let (zero, end) = (self.b.int(0), self.b.var(count));
        self.b.for_loop("q", zero, end, |b, q| {
            let coordinate = b.load("marked", list, q);
            let no = b.bool(false);
            b.store(marks, coordinate, no);
        });
    }

    /// An assignment into a workspace.
    pub(super) fn fill_workspace(
        &mut self,
        kind: WorkspaceKind,
        assign: &Assign,
        presence: Presence,
        scope: &Scope,
    ) -> Result<(), Diagnostic> {
        let condition = match presence {
            Presence::Never => return Ok(()),
            Presence::Always => None,
            Presence::If(condition) => Some(condition),
        };
        self.b.begin_block();
        let outcome = self.put(kind, assign, scope);
        let block = self.b.end_block();
        outcome?;
        match condition {
            Some(cond) => {
                self.b.push(lacunar_imp::Stmt::If { cond, then: block, otherwise: Vec::new() });
            }
            None => block.into_iter().for_each(|stmt| self.b.push(stmt)),
        }
        Ok(())
    }

    fn put(&mut self, kind: WorkspaceKind, assign: &Assign, scope: &Scope) -> Result<(), Diagnostic> {
        let tensor = assign.lhs.tensor;
        let key = AccessKey::from(&assign.lhs);
        let value = self.addend(assign, scope)?;
        match (kind, &self.tensors[tensor.index()].workspace) {
            (WorkspaceKind::Scalar, Some(Workspace::Scalar { value: variable, given })) => {
                let (variable, given) = (*variable, *given);
                let old = self.b.var(variable);
                let sum = self.b.add(old, value);
                self.b.assign(variable, sum);
                self.set_given(given);
            }
            (WorkspaceKind::Dense, Some(Workspace::Dense { given, .. })) => {
                let given = *given;
                let at = self.value_position(&key, scope)?;
                self.add_to(&key, at, value, scope)?;
                self.set_given(given);
            }
            (WorkspaceKind::Marked, Some(Workspace::Marked { marks, list, count, .. })) => {
                let (marks, list, count) = (*marks, *list, *count);
                let at = self.value_position(&key, scope)?;
                let values = self.values_of(tensor)?;
                let marked = self.b.load("marked", marks, at);
                self.b.begin_block();
                self.b.accumulate(values, at, BinaryOp::Add, value);
                let then = self.b.end_block();
                self.b.begin_block();
                let (yes, n, one) = (self.b.bool(true), self.b.var(count), self.b.int(1));
                self.b.store(marks, at, yes);
                self.b.store(list, n, at);
                self.b.store(values, at, value);
                let next = self.b.add(n, one);
                self.b.assign(count, next);
                let otherwise = self.b.end_block();
                self.b.push(lacunar_imp::Stmt::If { cond: marked, then, otherwise });
            }
            (WorkspaceKind::Sorted, Some(Workspace::Sorted { keys, count })) => {
                let (keys, count) = (keys.clone(), *count);
                let values = self.values_of(tensor)?;
                let (n, one) = (self.b.var(count), self.b.int(1));
                let next = self.b.add(n, one);
                for (&array, &var) in keys.iter().zip(&key.vars) {
                    let coordinate = self.coordinate(var, scope)?;
                    self.b.grow(array, next, one, false);
                    self.b.store(array, n, coordinate);
                }
                self.b.grow(values, next, one, false);
                self.b.store(values, n, value);
                self.b.assign(count, next);
            }
            _ => {
                return Err(Diagnostic::internal(format!(
                    "workspace `{}` is filled before it is made ready",
                    self.name(tensor)
                )));
            }
        }
        Ok(())
    }

    /// The value of a scalar workspace.
    pub(super) fn scalar_workspace(&mut self, tensor: TensorId) -> Option<ExprId> {
        match self.tensors[tensor.index()].workspace {
            Some(Workspace::Scalar { value, .. }) => Some(self.b.var(value)),
            _ => None,
        }
    }

    /// Whether a workspace has a value where it is read; any other tensor has.
    pub(super) fn workspace_presence(&mut self, tensor: TensorId) -> Presence {
        match self.tensors[tensor.index()].workspace {
            Some(Workspace::Scalar { given: Some(given), .. } | Workspace::Dense { given: Some(given), .. }) => {
                Presence::If(self.b.var(given))
            }
            _ => Presence::Always,
        }
    }

    /// The array of a tensor's values.
    pub(super) fn values_of(&self, tensor: TensorId) -> Result<ArrayId, Diagnostic> {
        self.tensors[tensor.index()]
            .values
            .ok_or_else(|| Diagnostic::internal(format!("`{}` has no values here", self.name(tensor))))
    }
}

//! Lists that loops read in another order than that in which their dimensions are written.
//!
//! A list is sorted when it is full, so that it takes coordinates in any order, and gives them in one: that in which it is read. One that
//! is read in several orders becomes an array, if its elements are few and the result has a place for each; else its producer fills a list
//! for each order.
//!
//! ```text
//! where(forall(i, forall(j, R(i,j) = T(j,i))), forall(i, forall(j, T(j,i) = A(i,j))))
//!   ->  T: uq:1,0
//! where(forall(i, forall(j, R(i,j) = T(j,i) + T(i,j))), forall(i, forall(j, T(j,i) = A(i,j))))
//!   ->  forall(i, forall(j, sequence(T(j,i) = A(i,j), T_by_order(j,i) = A(i,j)))), and R(i,j) = T(j,i) + T_by_order(i,j)
//! ```
//!
//! On entry: a kernel whose workspaces have no kind yet, but for those that a line of its text gives one. On exit: all lists are read in the
//! order of their levels.

use lacunar_formats::Format;
use lacunar_notation::concrete::{Assign, Kernel, Stmt};
use lacunar_notation::{Access, Role, Tensor, TensorId, VarId, WorkspaceKind};

use super::convert::{free_name, rename};
use super::given::known_orders;
use super::storage::is_concordant;
use super::workspaces::may_be_array;
use crate::concretize::turn;
use crate::iterate::iterators::AccessKey;

/// Gives every list the order in which it is read.
pub(super) fn arrange(kernel: &mut Kernel) {
    let orders = known_orders(kernel);
    let mut lists = Lists::default();
    for (assign, order) in &orders {
        for access in assign.rhs.accesses() {
            lists.read(kernel, access, order);
        }
    }
    if lists.copies.is_empty() {
        return;
    }
    let mut places = orders.into_iter();
    let stmt = std::mem::take(&mut kernel.stmt);
    kernel.stmt = lists.filled(kernel, stmt, &mut || places.next().map(|(_, order)| order).unwrap_or_default());
}

/// The lists that have been met.
#[derive(Default)]
struct Lists {
    /// The lists with a settled order.
    settled: Vec<TensorId>,
    /// Lists, each with another that holds the same in another order.
    copies: Vec<(TensorId, TensorId)>,
}

impl Lists {
    /// Makes sure that loops in an order can read an access, if it is one of a list.
    fn read(&mut self, kernel: &mut Kernel, access: &Access, order: &[VarId]) {
        let tensor = access.tensor;
        if !kernel.tensors[tensor].role.is_list() {
            return;
        }
        let format = arranged(&kernel.tensors[tensor], access, order);
        if !self.settled.contains(&tensor) {
            kernel.tensors[tensor].format = format;
            self.settled.push(tensor);
        } else if self.readable(kernel, access, order).is_none() {
            let is_said = kernel.provenance.stored.contains(&tensor);
            if !is_said && may_be_array(kernel, tensor) {
                let info = &mut kernel.tensors[tensor];
                info.role = Role::Workspace(WorkspaceKind::Dense);
                info.format = Format::dense(access.vars.len());
                return;
            }
            let name = free_name(&kernel.tensors, &format!("{}_by_order", kernel.tensors[tensor].name));
            let copy = kernel.tensors.push(Tensor { name, format, ..kernel.tensors[tensor].clone() });
            if is_said {
                kernel.provenance.stored.push(copy);
            }
            self.copies.push((tensor, copy));
        }
    }

    /// The list itself or the one beside it that loops in an order can read.
    fn readable(&self, kernel: &Kernel, access: &Access, order: &[VarId]) -> Option<TensorId> {
        let beside = self.copies.iter().filter(|(own, _)| *own == access.tensor).map(|(_, copy)| *copy);
        [access.tensor].into_iter().chain(beside).find(|tensor| {
            is_concordant(kernel, &AccessKey::from(&Access { tensor: *tensor, ..access.clone() }), order)
        })
    }

    /// The statement in which the producer of a list also fills the lists beside it, and each is read in its order. The next assignment
    /// stands in the order of loops that is given next.
    fn filled(&self, kernel: &Kernel, stmt: Stmt, next: &mut dyn FnMut() -> Vec<VarId>) -> Stmt {
        match stmt {
            Stmt::Assign(assign) => {
                let order = next();
                let rhs = rename(assign.rhs, &|access| self.readable(kernel, access, &order));
                let own = assign.lhs.tensor;
                let beside = self.copies.iter().filter(|(list, _)| *list == own).map(|(_, copy)| *copy);
                let to = |tensor| {
                    let lhs = Access { tensor, ..assign.lhs.clone() };
                    Stmt::Assign(Assign { lhs, op: assign.op, rhs: rhs.clone() })
                };
                let mut all: Vec<Stmt> = [own].into_iter().chain(beside).map(to).collect();
                if all.len() == 1 { all.remove(0) } else { Stmt::Sequence(all) }
            }
            Stmt::Forall(var, body) => Stmt::Forall(var, Box::new(self.filled(kernel, *body, next))),
            Stmt::Where { consumer, producer } => {
                let producer = Box::new(self.filled(kernel, *producer, next));
                Stmt::Where { consumer: Box::new(self.filled(kernel, *consumer, next)), producer }
            }
            Stmt::Sequence(stmts) => {
                Stmt::Sequence(stmts.into_iter().map(|stmt| self.filled(kernel, stmt, next)).collect())
            }
        }
    }
}

/// The format of a list in which its coordinates come as loops in an order read an access.
fn arranged(list: &Tensor, access: &Access, order: &[VarId]) -> Format {
    let mut modes: Vec<usize> = list.format.mode_order().to_vec();
    modes.sort_by_key(|&mode| turn(order, access.vars[mode]));
    Format::new(list.format.levels().to_vec(), modes).unwrap_or_else(|_| list.format.clone())
}

//! `where`: a producer fills workspaces, and a consumer reads them.
//!
//! ```text
//! forall(i, where(forall(k, C(i,k) = w(k)), forall(j, forall(k, w(k) += A(i,j) * B(j,k)))))     w: marked
//!   w_n = 0;  the producer;  sort the list of w;  the consumer;  clear the marks of w
//!                                                                                            w: bitmap
//!   w_n = 0;  the producer, in one of three ways, each of which makes the list in order;  the consumer;  clear the values of w
//! ```
//!
//! Paper: Kjolstad et al. 2019, §4 and §6.

use lacunar_base::Diagnostic;
use lacunar_notation::concrete::{Kernel, Stmt};
use lacunar_notation::{Role, TensorId, VarId, WorkspaceKind};

use super::coverage::is_certain;
use super::scope::Scope;
use super::sinks::bitmap::{self, Reader};
use super::sinks::workspace;
use super::{Lowerer, Written, statement};
use crate::iterate::iterators::{Iterator, Mode};
use crate::iterate::lattice::{Lattice, demands_order};
use crate::iterate::position_space::original_loops;

/// Lowers a producer and its consumer; says when the result got a value.
pub(super) fn lower(
    cx: &mut Lowerer<'_>,
    consumer: &Stmt,
    producer: &Stmt,
    scope: &Scope,
) -> Result<Written, Diagnostic> {
    // Workspaces inside the producer are its own affair.
    let read = consumer.reads();
    let filled: Vec<TensorId> = producer.writes().into_iter().filter(|tensor| read.contains(tensor)).collect();
    let mut inner = scope.clone();
    for &tensor in &filled {
        let is_certain = is_certain(cx, &original_loops(cx.kernel, producer), tensor, false, scope);
        workspace::begin(cx, tensor, is_certain, &mut inner);
    }
    let reader = original_loops(cx.kernel, consumer);
    let is_filled = match filled.as_slice() {
        &[tensor] => {
            let is_searched = goes_through(cx.kernel, &reader, tensor, &|it, _| it.mode == Mode::Search);
            let reader = Reader { is_searched, in_order: is_read_in_order(cx.kernel, &reader, tensor) };
            bitmap::fill(cx, tensor, producer, reader, &mut inner)?
        }
        _ => false,
    };
    if !is_filled {
        statement(cx, producer, &inner)?;
        for &tensor in filled.iter().filter(|tensor| is_read_in_order(cx.kernel, &reader, **tensor)) {
            workspace::order(cx, tensor, &inner);
        }
    }
    let written = statement(cx, consumer, &inner)?;
    for &tensor in &filled {
        workspace::end(cx, tensor, &inner);
    }
    Ok(written)
}

/// True if a consumer walks through the coordinates of a workspace in order, and not as they come.
fn is_read_in_order(kernel: &Kernel, consumer: &Stmt, tensor: TensorId) -> bool {
    let is_sorted = kernel.tensors[tensor].role == Role::Workspace(WorkspaceKind::Sorted);
    goes_through(kernel, consumer, tensor, &|it, Here { lattice, var, body }| {
        // Something is merged with it: other coordinates, or those of the dimension.
        let advanced = lattice.iterators.iter().filter(|it| it.mode == Mode::Coiterate).count();
        let is_merged = advanced > 1 || lattice.visits_all();
        it.mode == Mode::Coiterate && (is_sorted || is_merged || demands_order(kernel, body, var))
    })
}

/// A loop of a consumer.
struct Here<'a> {
    lattice: &'a Lattice,
    var: VarId,
    body: &'a Stmt,
}

/// True if some loop of a consumer goes through a workspace in a way that is asked for.
fn goes_through(kernel: &Kernel, consumer: &Stmt, tensor: TensorId, so: &dyn Fn(&Iterator, Here<'_>) -> bool) -> bool {
    match consumer {
        Stmt::Assign(_) => false,
        Stmt::Sequence(stmts) => stmts.iter().any(|stmt| goes_through(kernel, stmt, tensor, so)),
        Stmt::Where { consumer, producer } => {
            goes_through(kernel, consumer, tensor, so) || goes_through(kernel, producer, tensor, so)
        }
        Stmt::Forall(var, body) => {
            let is_here = Lattice::build(kernel, body, *var).map_or(true, |lattice| {
                let own = |it: &&Iterator| it.access.tensor == tensor;
                lattice.iterators.iter().filter(own).any(|it| so(it, Here { lattice: &lattice, var: *var, body }))
            });
            is_here || goes_through(kernel, body, tensor, so)
        }
    }
}

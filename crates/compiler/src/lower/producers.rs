//! `where`: a producer fills workspaces, and a consumer reads them.
//!
//! ```text
//! forall(i, where(forall(k, C(i,k) = w(k)), forall(j, forall(k, w(k) += A(i,j) * B(j,k)))))     w: marked
//!   w_n = 0;  the producer;  sort the list of w;  the consumer;  clear the marks of w
//! ```
//!
//! Paper: Kjolstad et al. 2019, §4 and §6.

use lacunar_base::Diagnostic;
use lacunar_notation::TensorId;
use lacunar_notation::concrete::{Kernel, Stmt};

use super::coverage::is_certain;
use super::scope::Scope;
use super::sinks::workspace;
use super::{Lowerer, Written, statement};
use crate::iterate::iterators::Mode;
use crate::iterate::lattice::Lattice;
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
    statement(cx, producer, &inner)?;
    for &tensor in &filled {
        if is_walked(cx.kernel, &original_loops(cx.kernel, consumer), tensor) {
            workspace::order(cx, tensor, &inner);
        }
    }
    let written = statement(cx, consumer, &inner)?;
    for &tensor in &filled {
        workspace::end(cx, tensor, &inner);
    }
    Ok(written)
}

/// True if a consumer walks through the list of a workspace, instead of only looking coordinates up.
fn is_walked(kernel: &Kernel, consumer: &Stmt, tensor: TensorId) -> bool {
    match consumer {
        Stmt::Assign(_) => false,
        Stmt::Sequence(stmts) => stmts.iter().any(|stmt| is_walked(kernel, stmt, tensor)),
        Stmt::Where { consumer, producer } => {
            is_walked(kernel, consumer, tensor) || is_walked(kernel, producer, tensor)
        }
        Stmt::Forall(var, body) => {
            let is_advanced = Lattice::build(kernel, body, *var).map_or(true, |lattice| {
                lattice.iterators.iter().any(|it| it.access.tensor == tensor && it.mode == Mode::Coiterate)
            });
            is_advanced || is_walked(kernel, body, tensor)
        }
    }
}

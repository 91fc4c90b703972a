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
use lacunar_notation::TensorId;
use lacunar_notation::concrete::{Kernel, Stmt};

use super::coverage::is_certain;
use super::scope::Scope;
use super::sinks::{bitmap, workspace};
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
    let reader = original_loops(cx.kernel, consumer);
    let is_filled = match filled.as_slice() {
        &[tensor] => {
            bitmap::fill(cx, tensor, producer, is_iterated(cx.kernel, &reader, tensor, Mode::Search), &mut inner)?
        }
        _ => false,
    };
    if !is_filled {
        statement(cx, producer, &inner)?;
        for &tensor in filled.iter().filter(|tensor| is_iterated(cx.kernel, &reader, **tensor, Mode::Coiterate)) {
            workspace::order(cx, tensor, &inner);
        }
    }
    let written = statement(cx, consumer, &inner)?;
    for &tensor in &filled {
        workspace::end(cx, tensor, &inner);
    }
    Ok(written)
}

/// True if a consumer goes through a workspace in this mode: walks through its list, or looks coordinates up.
fn is_iterated(kernel: &Kernel, consumer: &Stmt, tensor: TensorId, mode: Mode) -> bool {
    match consumer {
        Stmt::Assign(_) => false,
        Stmt::Sequence(stmts) => stmts.iter().any(|stmt| is_iterated(kernel, stmt, tensor, mode)),
        Stmt::Where { consumer, producer } => {
            is_iterated(kernel, consumer, tensor, mode) || is_iterated(kernel, producer, tensor, mode)
        }
        Stmt::Forall(var, body) => {
            let is_here = Lattice::build(kernel, body, *var).map_or(true, |lattice| {
                lattice.iterators.iter().any(|it| it.access.tensor == tensor && it.mode == mode)
            });
            is_here || is_iterated(kernel, body, tensor, mode)
        }
    }
}

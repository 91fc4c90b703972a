//! `where`: a producer fills workspaces, and a consumer reads them.
//!
//! ```text
//! forall(i, where(forall(k, C(i,k) = w(k)), forall(j, forall(k, w(k) += A(i,j) * B(j,k)))))     w: marked
//!   w_n = 0;  the producer;  sort the list of w;  the consumer;  clear the marks of w
//!                                                                                            w: bitmap
//!   w_n = 0;  the producer, in one of three ways, each of which makes the list in order;  the consumer;  clear the values of w
//!             or each with the consumer, which takes coordinates as they are read off, and clears the values of w
//!                                                                                            w: stamped
//!   w_stamp += 1;  w_n = 0;  the producer;  the consumer
//! ```
//!
//! Paper: Kjolstad et al. 2019, §4 and §6.

use lacunar_base::Diagnostic;
use lacunar_notation::TensorId;
use lacunar_notation::concrete::Stmt;

use super::coverage::is_certain;
use super::scope::Scope;
use super::sinks::bitmap::{self, Filled};
use super::sinks::workspace;
use super::{Lowerer, Written, needed, statement};
use crate::iterate::position_space::original_loops;
use crate::iterate::reading::is_read_in_order;

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
    let how = match filled.as_slice() {
        &[tensor] => bitmap::fill(cx, tensor, (producer, consumer), &mut inner)?,
        _ => Filled::Not,
    };
    match how {
        Filled::Read => return Ok(Written::Untold),
        Filled::Listed => {}
        Filled::Not => {
            let needed = match filled.as_slice() {
                &[tensor] => needed::condition(cx, consumer, tensor, &inner)?,
                _ => None,
            };
            cx.when_some(needed, |cx| statement(cx, producer, &inner))?;
            let reader = original_loops(cx.kernel, consumer);
            for &tensor in filled.iter().filter(|tensor| is_read_in_order(cx.kernel, &reader, **tensor)) {
                workspace::order(cx, tensor, &inner);
            }
        }
    }
    let written = statement(cx, consumer, &inner)?;
    for &tensor in &filled {
        workspace::end(cx, tensor, &inner);
    }
    Ok(written)
}

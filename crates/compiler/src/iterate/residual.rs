//! The residual of a statement if some accesses are absent: the rest of it that is to be done at a lattice point.
//!
//! ```text
//! a(i) = b(i) + c(i)                       without b  ->  a(i) = c(i)
//! where(y(i) = t + b(i), t += A(i,j)*x(j)) without A  ->  y(i) = b(i)
//! ```

use lacunar_base::Arena;
use lacunar_notation::concrete::{Assign, Stmt};
use lacunar_notation::{Access, Tensor};

use crate::algebra::{preserves_fill, without};

/// The statement without the accesses that `absent` names; `None` if nothing is left to do.
pub fn residual(tensors: &Arena<Tensor>, stmt: &Stmt, absent: &dyn Fn(&Access) -> bool) -> Option<Stmt> {
    match stmt {
        Stmt::Assign(assign) => {
            let rhs = without(tensors, &assign.rhs, &|access: &Access| absent(access));
            let left = Assign { rhs, ..assign.clone() };
            let nothing = left.rhs.accesses().is_empty() && preserves_fill(tensors, &left);
            (!nothing).then_some(Stmt::Assign(left))
        }
        Stmt::Forall(var, body) => Some(Stmt::Forall(*var, Box::new(residual(tensors, body, absent)?))),
        Stmt::Sequence(stmts) => {
            let mut left: Vec<Stmt> = stmts.iter().filter_map(|stmt| residual(tensors, stmt, absent)).collect();
            match left.len() {
                0 => None,
                1 => left.pop(),
                _ => Some(Stmt::Sequence(left)),
            }
        }
        Stmt::Where { consumer, producer } => {
            let filled = producer.writes();
            let producer = residual(tensors, producer, absent);
            let left = producer.as_ref().map(Stmt::writes).unwrap_or_default();
            let empty = |access: &Access| filled.contains(&access.tensor) && !left.contains(&access.tensor);
            let consumer = residual(tensors, consumer, &|access| absent(access) || empty(access))?;
            let read = consumer.reads();
            match producer.and_then(|producer| keep_writes(producer, &|tensor| read.contains(&tensor))) {
                Some(producer) => Some(Stmt::Where { consumer: Box::new(consumer), producer: Box::new(producer) }),
                None => Some(consumer),
            }
        }
    }
}

/// The part of a producer that fills tensors which are still read.
fn keep_writes(stmt: Stmt, wanted: &dyn Fn(lacunar_notation::TensorId) -> bool) -> Option<Stmt> {
    match stmt {
        Stmt::Sequence(stmts) => {
            let left: Vec<Stmt> = stmts.into_iter().filter_map(|stmt| keep_writes(stmt, wanted)).collect();
            (!left.is_empty()).then_some(Stmt::Sequence(left))
        }
        other => other.writes().iter().any(|&tensor| wanted(tensor)).then_some(other),
    }
}

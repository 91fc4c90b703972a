//! `fission(i)`: a loop over several statements becomes a loop over each of them.
//!
//! Demands: the loop over `i` holds statements one after the other. None of them reads what another one writes; and where several write to one
//! result, it is dense, and each value of `i` has elements of its own. Then each element gets the same values in the same order. Relation:
//! none.
//!
//! ```text
//! forall(i, {S1; S2})  ->  {forall(i, S1); forall(i, S2)}
//! ```
//!
//! Source: Kennedy and McKinley, *Loop Distribution with Arbitrary Control Flow* (Supercomputing 1990).

use lacunar_base::Span;
use lacunar_notation::concrete::{Kernel, Stmt};
use lacunar_notation::schedule::Name;
use lacunar_notation::{TensorId, VarId};

use super::nest::{each_loop, replace_loops};
use super::{Forward, Transformed, leaf, refuse};

pub(super) fn fission(kernel: &Kernel, name: &Name, span: Span) -> Transformed {
    let var = leaf(kernel, name)?;
    let (mut several, mut shared) = (false, None);
    each_loop(&kernel.stmt, var, &mut |body, _| {
        if let Stmt::Sequence(stmts) = body {
            several |= stmts.len() > 1;
            shared = shared.or_else(|| shared_tensor(kernel, var, stmts));
        }
    });
    if !several {
        return Err(refuse("E1222", span, format!("the loop over `{name}` holds one statement"), "nothing to divide")
            .hint(
                "`fission` is for loops over statements that stand one after the other, such as the terms of a sum",
            ));
    }
    if let Some(tensor) = shared {
        let message = format!("the statements in the loop over `{name}` share `{}`", kernel.tensors[tensor].name);
        return Err(refuse("E1223", span, message, "one depends on the other")
            .hint("they may write to one dense result, of which each iteration has elements of its own"));
    }
    let stmt = replace_loops(kernel.stmt.clone(), var, &mut |body| match body {
        Stmt::Sequence(stmts) => {
            Stmt::Sequence(stmts.into_iter().map(|stmt| Stmt::Forall(var, Box::new(stmt))).collect())
        }
        body => Stmt::Forall(var, Box::new(body)),
    });
    Ok((Kernel { stmt, ..kernel.clone() }, Forward::default()))
}

/// A tensor through which statements in a loop over a variable depend on each other.
fn shared_tensor(kernel: &Kernel, var: VarId, stmts: &[Stmt]) -> Option<TensorId> {
    let originals = kernel.provenance.originals(var);
    let (mut read, mut written) = (Vec::new(), Vec::new());
    for (number, stmt) in stmts.iter().enumerate() {
        stmt.visit_assigns(&mut |assign| {
            read.extend(assign.rhs.accesses().into_iter().map(|access| (number, access.tensor)));
            let is_own = originals.iter().all(|original| assign.lhs.vars.contains(original))
                && kernel.tensors[assign.lhs.tensor].format.is_dense();
            written.push((number, assign.lhs.tensor, is_own));
        });
    }
    let meets = |&(number, tensor, is_own): &(usize, TensorId, bool)| {
        let is_read = read.iter().any(|(other, own)| *other != number && *own == tensor);
        let is_written = written.iter().any(|(other, own, _)| *other != number && *own == tensor);
        is_read || is_written && !is_own
    };
    written.iter().find(|own| meets(own)).map(|(_, tensor, _)| *tensor)
}

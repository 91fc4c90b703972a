//! `fission(i, ..)`: loops over several statements become loops over each of them.
//!
//! Demands: the loops are nested directly, and hold statements one after the other. None of them reads what another one writes; and where
//! several write to one result, it is dense, and different iterations write to different elements. Then each element gets the same values in
//! the same order. Relation: none.
//!
//! ```text
//! forall(i, {S1; S2})                               ->  {forall(i, S1); forall(i, S2)}
//! forall(i, forall(j, {C(i,j) += ..; C(j,i) += ..}))  ->  {forall(i, forall(j, C(i,j) += ..)); forall(j, forall(i, C(j,i) += ..))}
//! ```
//!
//! Of several loops, each statement has those over the dimensions of its result in the order in which the result is stored: it writes whole
//! rows, whatever the others do. One that writes elsewhere, or that sums over one of the loops, keeps their order.
//! [Conditions](conditions) of coordinates follow the loops.
//!
//! Source: Kennedy and McKinley, *Loop Distribution with Arbitrary Control Flow* (Supercomputing 1990).

use lacunar_base::Span;
use lacunar_notation::concrete::{Kernel, Stmt};
use lacunar_notation::schedule::Name;
use lacunar_notation::{Role, TensorId, VarId};

use super::nest::chain;
use super::reorder::check_positions;
use super::{Forward, Transformed, leaves, refuse};
use crate::iterate::iterators::{AccessKey, level_var};
use crate::iterate::races::written_together;
use crate::plan::conditions;

pub(super) fn fission(kernel: &Kernel, names: &[Name], span: Span) -> Transformed {
    let vars = leaves(kernel, names)?;
    let loops = match names {
        [name] => format!("the loop over `{name}`"),
        _ => format!("the loops over {}", names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")),
    };
    let (mut several, mut shared) = (false, None);
    let stmt = divided(kernel, kernel.stmt.clone(), &vars, &mut |nest, stmts| {
        several = true;
        shared = shared.take().or_else(|| shared_tensor(kernel, nest, stmts));
    });
    if !several {
        let holds =
            if names.len() == 1 { "holds one statement" } else { "do not stand directly around several statements" };
        return Err(refuse("E1222", span, format!("{loops} {holds}"), "nothing to divide")
            .note(format!("the statement with its loops is `{}`", kernel.stmt_text()))
            .hint(
                "`fission` is for loops over statements that stand one after the other, such as the terms of a sum",
            ));
    }
    if let Some((tensor, why)) = shared {
        let message = format!("the statements in {loops} share `{}`", kernel.tensors[tensor].name);
        return Err(refuse("E1223", span, message, "one depends on the other")
            .note(why)
            .hint("they may write to one dense result, of which each iteration has elements of its own"));
    }
    check_positions(kernel, &stmt, &mut Vec::new(), span)?;
    let mut made = Kernel { stmt, ..kernel.clone() };
    if vars.len() > 1 {
        conditions::arrange(&mut made);
    }
    Ok((made, Forward::default()))
}

/// The statement with each nest of loops over some variables, and nothing but several statements in it, divided. `look` is called with each
/// nest, and its statements.
fn divided(kernel: &Kernel, stmt: Stmt, vars: &[VarId], look: &mut impl FnMut(&Stmt, &[Stmt])) -> Stmt {
    let (around, inside) = chain(&stmt);
    if let (Some(first), Stmt::Sequence(stmts)) = (around.len().checked_sub(vars.len()), inside)
        && vars.iter().all(|var| around[first..].contains(var))
        && stmts.len() > 1
    {
        let (outside, own) = around.split_at(first);
        look(&Stmt::foralls(own, inside.clone()), stmts);
        let each = stmts.iter().map(|stmt| Stmt::foralls(&stored_order(kernel, own, stmt), stmt.clone()));
        return Stmt::foralls(outside, Stmt::Sequence(each.collect()));
    }
    let mut again = |stmt| divided(kernel, stmt, vars, look);
    match stmt {
        Stmt::Assign(_) => stmt,
        Stmt::Forall(var, body) => Stmt::Forall(var, Box::new(again(*body))),
        Stmt::Where { consumer, producer } => {
            Stmt::Where { consumer: Box::new(again(*consumer)), producer: Box::new(again(*producer)) }
        }
        Stmt::Sequence(stmts) => Stmt::Sequence(stmts.into_iter().map(again).collect()),
    }
}

/// Loops in the order of the levels of the result that a statement writes to; as they are, if it writes to several places, or if one of the
/// loops is over none of its dimensions.
fn stored_order(kernel: &Kernel, loops: &[VarId], stmt: &Stmt) -> Vec<VarId> {
    let mut written: Vec<AccessKey> = Vec::new();
    stmt.visit_assigns(&mut |assign| {
        let key = AccessKey::from(&assign.lhs);
        if kernel.tensors[key.tensor].role == Role::Result && !written.contains(&key) {
            written.push(key);
        }
    });
    let [key] = written.as_slice() else { return loops.to_vec() };
    let level = |var: &VarId| {
        let originals = kernel.provenance.originals(*var);
        (0..key.vars.len()).find(|level| originals.contains(&level_var(kernel, key, *level)))
    };
    let placed: Option<Vec<(usize, VarId)>> = loops.iter().map(|var| Some((level(var)?, *var))).collect();
    placed.map_or_else(
        || loops.to_vec(),
        |mut placed| {
            placed.sort_by_key(|(level, _)| *level);
            placed.into_iter().map(|(_, var)| var).collect()
        },
    )
}

/// A tensor through which statements in a nest of loops depend on each other, and in which way.
fn shared_tensor(kernel: &Kernel, nest: &Stmt, stmts: &[Stmt]) -> Option<(TensorId, String)> {
    let (mut read, mut written) = (Vec::new(), Vec::new());
    for (number, stmt) in stmts.iter().enumerate() {
        stmt.visit_assigns(&mut |assign| {
            read.extend(assign.rhs.accesses().into_iter().map(|access| (number, access.tensor)));
            written.push((number, assign.lhs.tensor));
        });
    }
    let mut together: Vec<(TensorId, VarId)> = Vec::new();
    let mut stmt = nest;
    while let Stmt::Forall(var, body) = stmt {
        together.extend(written_together(kernel, *var, body).into_iter().map(|tensor| (tensor, *var)));
        stmt = body;
    }
    written.iter().find_map(|&(number, tensor)| {
        let name = &kernel.tensors[tensor].name;
        let has_other = |all: &[(usize, TensorId)]| all.iter().any(|(other, own)| *other != number && *own == tensor);
        if has_other(&read) {
            return Some((tensor, format!("one of them reads `{name}`, which another one writes")));
        }
        if !has_other(&written) {
            return None;
        }
        if !kernel.tensors[tensor].format.is_dense() {
            return Some((tensor, format!("several of them write entries of `{name}`, which is not dense")));
        }
        let (_, var) = together.iter().find(|(own, _)| *own == tensor)?;
        let var = &kernel.vars[*var].name;
        Some((tensor, format!("iterations over `{var}` write to the same elements of `{name}`")))
    })
}

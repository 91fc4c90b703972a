//! `reorder(a, b, ..)`: loops that are nested directly, in another order.
//!
//! Demands: the loops stand directly inside each other (others may stand between them). They compute an assignment with `+=`, or no
//! loop is one of a sum. A loop over positions stays inside the loops over the levels above. Relation: none.
//!
//! ```text
//! forall(i, forall(j, body))  ->  forall(j, forall(i, body))
//! ```
//!
//! Storage orders are no hindrance: operands that contradict the new order are converted. Paper: Senanayake et al. 2020, §5.1.

use lacunar_base::{Diagnostic, Span};
use lacunar_notation::concrete::{Kernel, Stmt};
use lacunar_notation::provenance::Relation;
use lacunar_notation::schedule::Name;
use lacunar_notation::{AssignOp, VarId};

use super::nest::chain;
use super::{Forward, Transformed, leaves, refuse};
use crate::iterate::iterators::{AccessKey, level_var};
use crate::iterate::position_space::{numbers_of_strips, pos_levels};

pub(super) fn reorder(kernel: &Kernel, names: &[Name], span: Span) -> Transformed {
    let wanted = leaves(kernel, names)?;
    let mut done = false;
    let stmt = rewrite(kernel.stmt.clone(), &wanted, &mut done);
    if !done {
        let listed: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        return Err(refuse(
            "E1202",
            span,
            format!("the loops over {} are not nested directly", listed.join(", ")),
            "these",
        )
        .hint("between loops that are reordered stand other loops only; `precompute` later, or reorder what it made"));
    }
    check_sums(kernel, &stmt, &wanted, span)?;
    check_positions(kernel, &stmt, &mut Vec::new(), span)?;
    Ok((Kernel { stmt, ..kernel.clone() }, Forward::default()))
}

/// The statement with the wanted loops in the wanted order wherever they all stand in one chain.
fn rewrite(stmt: Stmt, wanted: &[VarId], done: &mut bool) -> Stmt {
    if matches!(stmt, Stmt::Forall(..)) {
        let (vars, inner) = chain(&stmt);
        if wanted.iter().all(|var| vars.contains(var)) {
            *done = true;
            let mut next = wanted.iter();
            let order: Vec<VarId> = vars
                .iter()
                .map(|var| if wanted.contains(var) { next.next().copied().unwrap_or(*var) } else { *var })
                .collect();
            return Stmt::foralls(&order, rewrite(inner.clone(), wanted, done));
        }
    }
    match stmt {
        Stmt::Assign(_) => stmt,
        Stmt::Forall(var, body) => Stmt::Forall(var, Box::new(rewrite(*body, wanted, done))),
        Stmt::Where { consumer, producer } => Stmt::Where {
            consumer: Box::new(rewrite(*consumer, wanted, done)),
            producer: Box::new(rewrite(*producer, wanted, done)),
        },
        Stmt::Sequence(stmts) => Stmt::Sequence(stmts.into_iter().map(|stmt| rewrite(stmt, wanted, done)).collect()),
    }
}

/// Checks that assignments add up over the reordered variables that they do not keep: only then does the order not matter.
fn check_sums(kernel: &Kernel, stmt: &Stmt, wanted: &[VarId], span: Span) -> Result<(), Diagnostic> {
    let originals: Vec<VarId> = wanted.iter().flat_map(|var| kernel.provenance.originals(*var)).collect();
    let mut fault = None;
    stmt.visit_assigns(&mut |assign| {
        let summed = assign.rhs.free_vars().into_iter().find(|var| {
            originals.contains(var) && !assign.lhs.vars.iter().any(|own| kernel.provenance.derives(*own, *var))
        });
        let workspace = matches!(kernel.tensors[assign.lhs.tensor].role, lacunar_notation::Role::Workspace(_));
        if let (Some(var), AssignOp::Set, false) = (summed, assign.op, workspace) {
            fault = Some(var);
        }
    });
    match fault {
        None => Ok(()),
        Some(var) => Err(refuse(
            "E1203",
            span,
            format!("the last value over `{}` is kept, so its order matters", kernel.vars[var].name),
            "not these",
        )),
    }
}

/// Loops over positions need the coordinates of the levels above.
pub(super) fn check_positions(
    kernel: &Kernel,
    stmt: &Stmt,
    around: &mut Vec<VarId>,
    span: Span,
) -> Result<(), Diagnostic> {
    match stmt {
        Stmt::Assign(_) => Ok(()),
        Stmt::Sequence(stmts) => stmts.iter().try_for_each(|stmt| check_positions(kernel, stmt, around, span)),
        Stmt::Where { consumer, producer } => {
            check_positions(kernel, producer, around, span)?;
            check_positions(kernel, consumer, around, span)
        }
        Stmt::Forall(var, body) => {
            for relation in &kernel.provenance.relations {
                let Relation::Pos { coordinate, position, access } = relation else { continue };
                if !kernel.provenance.derives(*var, *position) {
                    continue;
                }
                let key = AccessKey::from(access);
                let levels = pos_levels(kernel, &key, &kernel.provenance.originals(*coordinate));
                let above = (0..levels.start).map(|level| level_var(kernel, &key, level));
                for above in above.chain(numbers_of_strips(kernel, *coordinate)) {
                    if !kernel.provenance.is_known(above, around) {
                        let (name, above) = (&kernel.vars[*var].name, &kernel.vars[above].name);
                        let tensor = &kernel.tensors[access.tensor].name;
                        return Err(refuse(
                            "E1204",
                            span,
                            format!("`{name}` runs over positions of `{tensor}` that lie under a value of `{above}`"),
                            "this order",
                        )
                        .hint(format!("the loops over `{above}` stay outside of `{name}`")));
                    }
                }
            }
            around.push(*var);
            let outcome = check_positions(kernel, body, around, span);
            around.pop();
            outcome
        }
    }
}

//! Questions about nests of loops, and rewrites of them, for the transformations.

use lacunar_notation::VarId;
use lacunar_notation::concrete::Stmt;

/// The variables that a statement has loops over, each once.
pub(super) fn loops(stmt: &Stmt) -> Vec<VarId> {
    fn collect(stmt: &Stmt, found: &mut Vec<VarId>) {
        match stmt {
            Stmt::Assign(_) => {}
            Stmt::Forall(var, body) => {
                if !found.contains(var) {
                    found.push(*var);
                }
                collect(body, found);
            }
            Stmt::Where { consumer, producer } => {
                collect(consumer, found);
                collect(producer, found);
            }
            Stmt::Sequence(stmts) => stmts.iter().for_each(|stmt| collect(stmt, found)),
        }
    }
    let mut found = Vec::new();
    collect(stmt, &mut found);
    found
}

/// Replaces every loop over `var` by the statement that `make` makes of its body.
pub(super) fn replace_loops(stmt: Stmt, var: VarId, make: &mut impl FnMut(Stmt) -> Stmt) -> Stmt {
    match stmt {
        Stmt::Assign(_) => stmt,
        Stmt::Forall(own, body) => {
            let body = replace_loops(*body, var, make);
            if own == var { make(body) } else { Stmt::Forall(own, Box::new(body)) }
        }
        Stmt::Where { consumer, producer } => Stmt::Where {
            consumer: Box::new(replace_loops(*consumer, var, make)),
            producer: Box::new(replace_loops(*producer, var, make)),
        },
        Stmt::Sequence(stmts) => Stmt::Sequence(stmts.into_iter().map(|stmt| replace_loops(stmt, var, make)).collect()),
    }
}

/// Calls `look` on each loop over `var`: with its body, and the variables of the loops around it.
pub(crate) fn each_loop<'s>(stmt: &'s Stmt, var: VarId, look: &mut impl FnMut(&'s Stmt, &[VarId])) {
    fn walk<'s>(stmt: &'s Stmt, var: VarId, around: &mut Vec<VarId>, look: &mut impl FnMut(&'s Stmt, &[VarId])) {
        match stmt {
            Stmt::Assign(_) => {}
            Stmt::Forall(own, body) => {
                if *own == var {
                    look(body, around);
                }
                around.push(*own);
                walk(body, var, around, look);
                around.pop();
            }
            Stmt::Where { consumer, producer } => {
                walk(consumer, var, around, look);
                walk(producer, var, around, look);
            }
            Stmt::Sequence(stmts) => stmts.iter().for_each(|stmt| walk(stmt, var, around, look)),
        }
    }
    walk(stmt, var, &mut Vec::new(), look);
}

/// The variables of the loops that are nested directly from a statement on, and the statement inside them.
pub(super) fn chain(mut stmt: &Stmt) -> (Vec<VarId>, &Stmt) {
    let mut vars = Vec::new();
    while let Stmt::Forall(var, body) = stmt {
        vars.push(*var);
        stmt = body;
    }
    (vars, stmt)
}

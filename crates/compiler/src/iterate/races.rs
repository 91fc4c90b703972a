//! Races: the tensors that the iterations of a loop write to together.
//!
//! ```text
//! forall(i, forall(j, y(i) += A(i,j) * x(j)))     nothing over i; over j, every iteration adds to y(i)
//! ```
//!
//! Paper: Senanayake et al. 2020, §5.1.

use lacunar_notation::concrete::{Kernel, Stmt};
use lacunar_notation::{TensorId, VarId};

/// The tensors from outside a loop over a leaf that several of its iterations may write to at one place: results and
/// workspaces whose variables do not tell the iteration.
pub fn written_together(kernel: &Kernel, var: VarId, body: &Stmt) -> Vec<TensorId> {
    let originals = kernel.provenance.originals(var);
    let inside = filled_inside(body);
    let mut found = Vec::new();
    body.visit_assigns(&mut |assign| {
        let (tensor, vars) = (assign.lhs.tensor, &assign.lhs.vars);
        // A workspace may also be indexed by the loop's own variable, or by the variable that this was split from.
        let tells = originals.iter().all(|original| vars.contains(original))
            || vars.iter().any(|own| kernel.provenance.derives(var, *own) && !originals.contains(own));
        // A workspace that puts coordinates on a list has one list.
        let listed = kernel.tensors[tensor].role.is_listed();
        if (!tells || listed) && !inside.contains(&tensor) && !found.contains(&tensor) {
            found.push(tensor);
        }
    });
    found
}

/// Workspaces that are filled and read inside a statement.
pub fn filled_inside(stmt: &Stmt) -> Vec<TensorId> {
    match stmt {
        Stmt::Assign(_) => Vec::new(),
        Stmt::Forall(_, body) => filled_inside(body),
        Stmt::Sequence(stmts) => stmts.iter().flat_map(filled_inside).collect(),
        Stmt::Where { consumer, producer } => {
            let read = consumer.reads();
            let own = producer.writes().into_iter().filter(|tensor| read.contains(tensor));
            own.chain(filled_inside(consumer)).chain(filled_inside(producer)).collect()
        }
    }
}

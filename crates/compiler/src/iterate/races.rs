//! Races: the tensors that the iterations of a loop write to together.
//!
//! ```text
//! forall(i, forall(j, y(i) += A(i,j) * x(j)))     nothing over i; over j, every iteration adds to y(i)
//! ```
//!
//! Paper: Senanayake et al. 2020, §5.1.

use lacunar_notation::concrete::{Assign, Kernel, Stmt};
use lacunar_notation::{Access, TensorId, VarId};

use crate::algebra::without;

/// The tensors from outside a loop over a leaf that several of its iterations may write to at one place: results and
/// workspaces whose variables do not tell the iteration.
pub fn written_together(kernel: &Kernel, var: VarId, body: &Stmt) -> Vec<TensorId> {
    let originals = kernel.provenance.originals(var);
    let inside = filled_inside(body);
    let mut found = Vec::new();
    body.visit_assigns(&mut |assign| {
        let (tensor, vars) = (assign.lhs.tensor, &assign.lhs.vars);
        // A workspace may also be indexed by the loop's own variable, or by the variable that this was split from.
        let follows = |original: &VarId| vars.contains(original) || is_told(kernel, assign, *original);
        let tells = originals.iter().all(follows)
            || vars.iter().any(|own| kernel.provenance.derives(var, *own) && !originals.contains(own));
        // A workspace that puts coordinates on a list has one list.
        let listed = kernel.tensors[tensor].role.is_listed();
        if (!tells || listed) && !inside.contains(&tensor) && !found.contains(&tensor) {
            found.push(tensor);
        }
    });
    found
}

/// True if the place that an assignment writes to tells the value of a variable: a factor of the value is an indicator of it and of
/// variables of the place.
fn is_told(kernel: &Kernel, assign: &Assign, var: VarId) -> bool {
    assign.rhs.accesses().into_iter().any(|access| {
        let of_place = |own: &VarId| *own == var || assign.lhs.vars.contains(own);
        let place = access.vars.iter().position(|own| *own == var);
        access.vars.len() > 1
            && place.is_some_and(|place| kernel.tensors[access.tensor].tells(place))
            && access.vars.iter().all(of_place)
            && without(&kernel.tensors, &assign.rhs, &|other: &Access| other.tensor == access.tensor).is_absent()
    })
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

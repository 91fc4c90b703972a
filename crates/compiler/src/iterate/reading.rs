//! The order in which a consumer reads a workspace: ascending, as its coordinates come, or by looking them up.
//!
//! ```text
//! forall(k, C(i,k) = w(k))            C: csr              in order: the result is appended to in order
//! forall(k, C(i,k) = w(k))            C: csr(unordered)   as they come
//! forall(k, C(i,k) = w(k) + B(i,k))                       in order: they are merged with B's
//! forall(k, C(i,k) = w(k) * B(i,k))   w: marked           looked up at B's coordinates
//! ```

use lacunar_notation::concrete::{Kernel, Stmt};
use lacunar_notation::{Role, TensorId, VarId, WorkspaceKind};

use super::iterators::{Iterator, Mode};
use super::lattice::{Lattice, demands_order};

/// True if a consumer, in loops over original variables, walks through the coordinates of a workspace in order, and not as they come; or
/// looks them up in a list, which has to be sorted for that; or reads a list whose repeated coordinates are combined by sorting it.
pub(crate) fn is_read_in_order(kernel: &Kernel, consumer: &Stmt, tensor: TensorId) -> bool {
    let role = kernel.tensors[tensor].role;
    goes_through(kernel, consumer, tensor, &|it, here| match it.mode {
        _ if role == Role::Workspace(WorkspaceKind::Sorted) => true,
        Mode::Coiterate => here.demands_order(kernel),
        Mode::Search => role.is_list(),
    })
}

/// True if a consumer takes the coordinates of a workspace as they come, whatever kind it is: it neither needs them in order nor looks
/// any up.
pub(crate) fn is_read_as_it_comes(kernel: &Kernel, consumer: &Stmt, tensor: TensorId) -> bool {
    !goes_through(kernel, consumer, tensor, &|it, here| it.mode == Mode::Search || here.demands_order(kernel))
}

/// True if a consumer looks the coordinates of a workspace up.
pub(crate) fn is_searched(kernel: &Kernel, consumer: &Stmt, tensor: TensorId) -> bool {
    goes_through(kernel, consumer, tensor, &|it, _| it.mode == Mode::Search)
}

/// A loop of a consumer.
struct Here<'a> {
    lattice: &'a Lattice,
    var: VarId,
    body: &'a Stmt,
}

impl Here<'_> {
    /// True if the iterators that advance the loop have to have their coordinates in order.
    fn demands_order(&self, kernel: &Kernel) -> bool {
        // Something is merged with it: other coordinates, or those of the dimension.
        let advanced = self.lattice.iterators.iter().filter(|it| it.mode == Mode::Coiterate).count();
        let is_merged = advanced > 1 || self.lattice.visits_all();
        is_merged || demands_order(kernel, self.body, self.var)
    }
}

/// True if some loop of a consumer goes through a workspace in a way that is asked for.
fn goes_through(kernel: &Kernel, consumer: &Stmt, tensor: TensorId, so: &dyn Fn(&Iterator, Here<'_>) -> bool) -> bool {
    match consumer {
        Stmt::Assign(_) => false,
        Stmt::Sequence(stmts) => stmts.iter().any(|stmt| goes_through(kernel, stmt, tensor, so)),
        Stmt::Where { consumer, producer } => {
            goes_through(kernel, consumer, tensor, so) || goes_through(kernel, producer, tensor, so)
        }
        Stmt::Forall(var, body) => {
            let Ok(lattice) = Lattice::build(kernel, body, *var) else { return true };
            let own = |it: &&Iterator| it.access.tensor == tensor;
            let is_here =
                lattice.iterators.iter().filter(own).any(|it| so(it, Here { lattice: &lattice, var: *var, body }));
            is_here || has_loop(body) && inside(kernel, body, &lattice, tensor, so)
        }
    }
}

/// True if loops of a loop's body go through a workspace in a way that is asked for. If an operand of the body is absent, the rest of it
/// may be merged otherwise: `U(k) + w(l) * T(k,l)` visits all `l` where `U(k)` is present, and looks `w` up at the coordinates of `T`
/// elsewhere.
fn inside(
    kernel: &Kernel,
    body: &Stmt,
    lattice: &Lattice,
    tensor: TensorId,
    so: &dyn Fn(&Iterator, Here<'_>) -> bool,
) -> bool {
    goes_through(kernel, body, tensor, so)
        || lattice.points.iter().any(|point| {
            let rest = lattice.residual(kernel, body, *point);
            rest.is_some_and(|rest| rest != *body && goes_through(kernel, &rest, tensor, so))
        })
}

fn has_loop(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Assign(_) => false,
        Stmt::Forall(..) => true,
        Stmt::Sequence(stmts) => stmts.iter().any(has_loop),
        Stmt::Where { consumer, producer } => has_loop(consumer) || has_loop(producer),
    }
}

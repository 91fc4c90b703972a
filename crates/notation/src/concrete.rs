//! Concrete notation: loops, workspaces and their order made explicit (Kjolstad et al. 2019, §3).
//!
//! ```text
//! statement := lhs = expression | lhs += expression
//!            | forall(variable, statement)
//!            | where(consumer, producer)       the producer first, then the consumer, which reads its workspaces
//!            | sequence(statement, ...)        one after the other
//! ```
//!
//! Sparse matrix product with a workspace, all matrices CSR:
//!
//! ```text
//! forall(i, where(forall(k, C(i,k) = w(k)), forall(j, forall(k, w(k) += A(i,j) * B(j,k)))))
//! ```
//!
//! Statements are small immutable trees; a transformation is a function from statement to statement.

use lacunar_base::Arena;

use crate::follow::Followers;
use crate::index::{Access, AssignOp, Expr, ExprKind, IndexVar, Role, Tensor, TensorId, VarId};
use crate::provenance::Provenance;
use crate::schedule::Assembly;
use crate::stored::StoredSpace;

/// A statement with the tensors and variables it names: one kernel.
#[derive(Clone, Debug, Default)]
pub struct Kernel {
    /// Inputs, results and workspaces.
    pub tensors: Arena<Tensor>,
    /// Index variables.
    pub vars: Arena<IndexVar>,
    /// The statement to run.
    pub stmt: Stmt,
    /// True if results hold values on entry, which the statement adds to (`+=`).
    pub updates: bool,
    /// The derivations of its loops' variables from those of its accesses.
    pub provenance: Provenance,
    /// The ties between the variables of stored dimensions and those of the statement.
    pub stored: StoredSpace,
    /// The number of passes in which a sparse result comes into being.
    pub assembly: Assembly,
    /// The elements of a dense result that are computed, if others follow from these.
    pub followers: Option<Followers>,
    /// The input that has the pattern of the result at the same coordinates, and keeps it as the result does: each value lies at the
    /// position that the input's has. The result's format is that of an array then, for loops in any order.
    pub pattern_of: Option<TensorId>,
}

impl Kernel {
    /// True if something other than a schedule confines the loop over a variable to a part of its values: the coordinate that is
    /// recovered from it has to lie in its dimension.
    pub fn is_confined(&self, var: VarId) -> bool {
        self.stored.recovered_from(var).next().is_some()
    }

    /// Gives variables that index one dimension of a workspace the size of another that does, if they have none. `sizes` are those of all
    /// variables.
    pub fn share_sizes(&self, sizes: &mut [Option<u64>]) {
        let mut places: Vec<((TensorId, usize), VarId)> = Vec::new();
        self.stmt.visit_assigns(&mut |assign| {
            for access in assign.rhs.accesses().into_iter().chain([&assign.lhs]) {
                if matches!(self.tensors[access.tensor].role, Role::Workspace(_)) {
                    let own = access.vars.iter().enumerate();
                    places.extend(own.map(|(dimension, var)| ((access.tensor, dimension), *var)));
                }
            }
        });
        let size = |sizes: &[Option<u64>], place: (TensorId, usize)| {
            places.iter().filter(|(own, _)| *own == place).find_map(|(_, var)| sizes[var.index()])
        };
        let is_open =
            |sizes: &[Option<u64>], var: VarId| sizes[var.index()].is_none() && self.provenance.origin(var).is_none();
        while let Some((var, found)) = places.iter().find_map(|(place, var)| {
            let found = size(sizes, *place)?;
            is_open(sizes, *var).then_some((*var, found))
        }) {
            sizes[var.index()] = Some(found);
        }
    }

    /// Tensors that are read, in order of first occurrence, each before that whose values are its coordinates.
    pub fn reads(&self) -> Vec<TensorId> {
        let mut found = Vec::new();
        for tensor in self.stmt.reads() {
            for read in [Some(tensor), self.tensors[tensor].gathered()].into_iter().flatten() {
                if !found.contains(&read) {
                    found.push(read);
                }
            }
        }
        found
    }
}

/// A statement of concrete notation.
#[derive(Clone, Debug, PartialEq)]
pub enum Stmt {
    /// An assignment; its expression has no reductions.
    Assign(Assign),
    /// For each value of a variable.
    Forall(VarId, Box<Stmt>),
    /// First the producer, then the consumer.
    Where {
        /// Reads the workspaces that the producer fills.
        consumer: Box<Stmt>,
        /// Fills workspaces. Each starts empty every time the producer is run.
        producer: Box<Stmt>,
    },
    /// One after the other; nothing if there is none.
    Sequence(Vec<Stmt>),
}

/// An assignment of concrete notation.
#[derive(Clone, Debug, PartialEq)]
pub struct Assign {
    /// The place that is assigned to.
    pub lhs: Access,
    /// The way of assigning.
    pub op: AssignOp,
    /// The value.
    pub rhs: Expr,
}

impl Default for Stmt {
    fn default() -> Stmt {
        Stmt::Sequence(Vec::new())
    }
}

impl Stmt {
    /// `body` inside loops over `vars`, the first outermost.
    pub fn foralls(vars: &[VarId], body: Stmt) -> Stmt {
        vars.iter().rev().fold(body, |body, &var| Stmt::Forall(var, Box::new(body)))
    }

    /// Calls `f` on each assignment, producers before consumers.
    pub fn visit_assigns<'a>(&'a self, f: &mut impl FnMut(&'a Assign)) {
        match self {
            Stmt::Assign(assign) => f(assign),
            Stmt::Forall(_, body) => body.visit_assigns(f),
            Stmt::Where { consumer, producer } => {
                producer.visit_assigns(f);
                consumer.visit_assigns(f);
            }
            Stmt::Sequence(stmts) => stmts.iter().for_each(|stmt| stmt.visit_assigns(f)),
        }
    }

    /// Calls `f` on each assignment, in the order in which they are carried out, to change it.
    pub fn visit_assigns_mut(&mut self, f: &mut impl FnMut(&mut Assign)) {
        match self {
            Stmt::Assign(assign) => f(assign),
            Stmt::Forall(_, body) => body.visit_assigns_mut(f),
            Stmt::Where { consumer, producer } => {
                producer.visit_assigns_mut(f);
                consumer.visit_assigns_mut(f);
            }
            Stmt::Sequence(stmts) => stmts.iter_mut().for_each(|stmt| stmt.visit_assigns_mut(f)),
        }
    }

    /// Calls `f` on the variable of each loop, producers before consumers.
    pub fn visit_loops(&self, f: &mut impl FnMut(VarId)) {
        match self {
            Stmt::Assign(_) => {}
            Stmt::Forall(var, body) => {
                f(*var);
                body.visit_loops(f);
            }
            Stmt::Where { consumer, producer } => {
                producer.visit_loops(f);
                consumer.visit_loops(f);
            }
            Stmt::Sequence(stmts) => stmts.iter().for_each(|stmt| stmt.visit_loops(f)),
        }
    }

    /// Tensors that are read, in order of first occurrence.
    pub fn reads(&self) -> Vec<TensorId> {
        let mut found = Vec::new();
        self.visit_assigns(&mut |assign| {
            for access in assign.rhs.accesses() {
                if !found.contains(&access.tensor) {
                    found.push(access.tensor);
                }
            }
        });
        found
    }

    /// Tensors that are assigned to, in order of first occurrence.
    pub fn writes(&self) -> Vec<TensorId> {
        let mut found = Vec::new();
        self.visit_assigns(&mut |assign| {
            if !found.contains(&assign.lhs.tensor) {
                found.push(assign.lhs.tensor);
            }
        });
        found
    }
}

/// The mistake in a kernel that [`verify`] found.
pub type Fault = String;

/// Checks the invariants of concrete notation: every variable of an access has a value (the loops around it are over the
/// variable, or over all that derive from it), no variable is bound by two loops,
/// no reduction is left, accesses have their tensor's order, inputs are not written, workspaces are written before
/// they are read.
///
/// # Errors
/// The first fault found, as text that names the entity.
pub fn verify(kernel: &Kernel) -> Result<(), Fault> {
    let mut bound = Vec::new();
    let mut written = Vec::new();
    verify_stmt(kernel, &kernel.stmt, &mut bound, &mut written)
}

fn verify_stmt(kernel: &Kernel, stmt: &Stmt, bound: &mut Vec<VarId>, written: &mut Vec<TensorId>) -> Result<(), Fault> {
    match stmt {
        Stmt::Assign(assign) => {
            let mut fault = Ok(());
            assign.rhs.visit(&mut |expr| match &expr.kind {
                ExprKind::Reduce(..) => fault = Err("a reduction is left in concrete notation".to_string()),
                ExprKind::Access(access) => {
                    let tensor = &kernel.tensors[access.tensor];
                    if matches!(tensor.role, Role::Workspace(_)) && !written.contains(&access.tensor) {
                        fault = Err(format!("workspace `{}` is read before it is written", tensor.name));
                    }
                    if let Err(error) = verify_access(kernel, access, bound) {
                        fault = Err(error);
                    }
                }
                _ => {}
            });
            fault?;
            verify_access(kernel, &assign.lhs, bound)?;
            let tensor = &kernel.tensors[assign.lhs.tensor];
            if tensor.role == Role::Input {
                return Err(format!("input `{}` is assigned to", tensor.name));
            }
            written.push(assign.lhs.tensor);
            Ok(())
        }
        Stmt::Forall(var, body) => {
            if bound.contains(var) {
                return Err(format!("`{}` is bound by two loops", kernel.vars[*var].name));
            }
            bound.push(*var);
            verify_stmt(kernel, body, bound, written)?;
            bound.pop();
            Ok(())
        }
        Stmt::Where { consumer, producer } => {
            verify_stmt(kernel, producer, bound, written)?;
            verify_stmt(kernel, consumer, bound, written)
        }
        Stmt::Sequence(stmts) => stmts.iter().try_for_each(|stmt| verify_stmt(kernel, stmt, bound, written)),
    }
}

fn verify_access(kernel: &Kernel, access: &Access, bound: &[VarId]) -> Result<(), Fault> {
    let tensor = &kernel.tensors[access.tensor];
    if access.vars.len() != tensor.order() {
        return Err(format!("`{}` has {} dimensions and {} variables", tensor.name, tensor.order(), access.vars.len()));
    }
    match access.vars.iter().find(|var| !kernel.provenance.is_known(**var, bound)) {
        Some(var) => Err(format!("`{}` in an access of `{}` is not bound", kernel.vars[*var].name, tensor.name)),
        None => Ok(()),
    }
}

//! The iterators of one loop: for `forall(i, body)`, every level of every access in `body` that stores `i` and does not
//! hold all coordinates.
//!
//! ```text
//! forall i, body  y(i) = A(i,j) * b(i)   A: dcsr, b: dense
//!   A level 0 is compressed: an iterator.  b level 0 is dense: located, not iterated.
//! ```
//!
//! If the schedule replaces coordinates by the positions of one access, the others are searched. Levels whose coordinates cannot be
//! enumerated in order are searched as well. A level that is a second one over the same variable (`A(i,i)`) cannot be iterated
//! together with the first, on whose position it depends; once the coordinate is known, it is *searched*.

use super::position_space::replaced_by;
use crate::levels::is_iterated;
use lacunar_formats::Level;
use lacunar_notation::concrete::{Kernel, Stmt};
use lacunar_notation::{Access, Role, TensorId, VarId, WorkspaceKind};

/// The identity of an access: two accesses of one tensor by the same variables share their iterators.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AccessKey {
    /// The tensor.
    pub tensor: TensorId,
    /// The variable of each dimension.
    pub vars: Vec<VarId>,
}

impl From<&Access> for AccessKey {
    fn from(access: &Access) -> AccessKey {
        AccessKey { tensor: access.tensor, vars: access.vars.clone() }
    }
}

/// An iterator over the stored coordinates of one level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Iterator {
    /// The access that is iterated.
    pub access: AccessKey,
    /// The number of the level.
    pub level: usize,
    /// The role of its coordinates in the loop.
    pub mode: Mode,
}

/// The role of an iterator in a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It is advanced from coordinate to coordinate, merged with the others.
    Coiterate,
    /// The loop's coordinate is looked up in it.
    Search,
}

/// The variable that level `level` of an access stores.
pub fn level_var(kernel: &Kernel, access: &AccessKey, level: usize) -> VarId {
    access.vars[kernel.tensors[access.tensor].format.mode_order()[level]]
}

/// The levels of a tensor that may lack coordinates, with their numbers: those that are iterated.
pub fn sparse_levels(kernel: &Kernel, tensor: TensorId) -> impl std::iter::Iterator<Item = (usize, Level)> + '_ {
    let tensor = &kernel.tensors[tensor];
    let iterated = !matches!(tensor.role, Role::Workspace(WorkspaceKind::Scalar | WorkspaceKind::Dense));
    let levels = tensor.format.levels().iter().copied().enumerate();
    levels.filter(move |(_, level)| iterated && !level.properties().full)
}

/// The access of the assignments to a kernel's result.
pub fn result_of(kernel: &Kernel) -> Option<AccessKey> {
    let mut found = None;
    kernel.stmt.visit_assigns(&mut |assign| {
        if kernel.tensors[assign.lhs.tensor].role == Role::Result {
            found = Some(AccessKey::from(&assign.lhs));
        }
    });
    found
}

/// The iterators of a loop over `var` around `body`, in order of the accesses' first occurrence.
pub fn iterators(kernel: &Kernel, body: &Stmt, var: VarId) -> Vec<Iterator> {
    let mut found: Vec<Iterator> = Vec::new();
    let driven = replaced_by(kernel, var).map(AccessKey::from);
    body.visit_assigns(&mut |assign| {
        for access in assign.rhs.accesses() {
            let access = AccessKey::from(access);
            if found.iter().any(|iterator| iterator.access == access) {
                continue;
            }
            for (level, kind) in sparse_levels(kernel, access.tensor) {
                if level_var(kernel, &access, level) != var {
                    continue;
                }
                let again = (0..level).any(|above| level_var(kernel, &access, above) == var);
                // The loop may be over the positions of another access.
                let other = driven.as_ref().is_some_and(|driven| *driven != access);
                let listed = matches!(kernel.tensors[access.tensor].role, Role::Workspace(_)) || is_iterated(kind);
                let mode = if again || other || !listed { Mode::Search } else { Mode::Coiterate };
                found.push(Iterator { access: access.clone(), level, mode });
            }
        }
    });
    // The access whose positions the loop is over need not be read inside.
    if let Some(driven) = driven.filter(|driven| !found.iter().any(|iterator| iterator.access == *driven)) {
        let own = sparse_levels(kernel, driven.tensor).find(|(level, _)| level_var(kernel, &driven, *level) == var);
        if let Some((level, _)) = own {
            found.push(Iterator { access: driven, level, mode: Mode::Coiterate });
        }
    }
    found
}

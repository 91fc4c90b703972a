//! Statements that read unique elements alone: they need only the elements that a tensor stores.
//!
//! ```text
//! d(i) = A(i,i)                A symmetric, i <= j stored: (i, i) is stored
//! y(i) = A(i,j) * x(j)         (i, j) may follow from (j, i)
//! ```
//!
//! For such a statement, the tensor is one without a structure that has these elements. On entry: a program in which tensors may be given by
//! their unique elements. On exit: the program for one of its statements. Paper: Ghorbani et al. 2023, §4.2.

use lacunar_base::Arena;
use lacunar_formats::structure::bounds;
use lacunar_notation::index::read_by;
use lacunar_notation::{Access, Assignment, Program, Tensor, TensorId, VarId};
use lacunar_sets::{Affine, Space};

/// A statement's program in which the tensors that are given by unique elements, and read at these alone, are what they store; `None` if there
/// are none.
pub(crate) fn as_stored(program: &Program, statement: &Assignment) -> Option<Program> {
    let mut found = read_by(&program.tensors, &statement.rhs);
    let is_given = |id: &TensorId| program.tensors[*id].is_unique && *id != statement.lhs.tensor;
    found.retain(|id| is_given(id) && reads_unique_alone(&program.tensors, statement, *id));
    if found.is_empty() {
        return None;
    }
    let mut made = program.clone();
    for tensor in found {
        let own = &mut made.tensors[tensor];
        (own.is_unique, own.structure) = (false, None);
    }
    Some(made)
}

/// True if the accesses of a tensor in a statement's value are of unique elements alone.
pub(crate) fn reads_unique_alone(tensors: &Arena<Tensor>, statement: &Assignment, tensor: TensorId) -> bool {
    let mut accesses = statement.rhs.accesses().into_iter().filter(|access| access.tensor == tensor);
    accesses.all(|access| is_unique(&tensors[tensor], access) == Some(true))
}

/// True if all elements of an access are unique ones; `None` if that can't be told.
fn is_unique(tensor: &Tensor, access: &Access) -> Option<bool> {
    let structure = tensor.structure.as_deref()?;
    let params = structure.space().params.len();
    let mut vars: Vec<VarId> = access.vars.clone();
    vars.sort_unstable();
    vars.dedup();
    let space = Space::new(structure.space().params.clone(), vars.iter().map(|var| format!("v{}", var.index())));
    let place = |var: &VarId| vars.iter().position(|own| own == var);
    let dims = access.vars.iter().map(|var| Some(Affine::variable(params + place(var)?)));
    let columns = (0..params).map(|param| Some(Affine::variable(param))).chain(dims).collect::<Option<Vec<_>>>()?;
    let all = bounds(structure.space(), structure.context())?.preimage(space.clone(), &columns)?;
    Some(all.is_subset(&structure.unique().preimage(space, &columns)?).is_yes())
}

//! Packed tensors in a statement: the way to read each, and the storage that the result is made in.
//!
//! ```text
//! y(i) = A(i,j) * x(j)             A packed(symmetric)      its unique elements, each read once (`structure/mirror.rs`)
//! d(i) = A(i,i)                    the same                 its unique elements, and no others (`structure/alone.rs`)
//! B(i,j) = A(i,k) * X(k,j)         the same                 the whole tensor, which has a place for every element
//! C(i,j) = A(i,j) * X(i,j)         X packed(identical_rows) the first row of X, at every i
//! C(i,j) = A(i,j) + X(t,i)*X(t,j)  A, C packed(symmetric)   unique elements of C, computed of those of A
//! ```
//!
//! A result is made in its own storage where the conditions of its elements end loops; else it is made as a whole, and packed then. Its
//! loops visit its unique elements alone, so an operand that is read at places of its own unique elements is read as it is stored. If all
//! operands are dense, both are arrays whose places are computed, with nothing to merge.
//!
//! On entry: a statement of a program. On exit: the same statement, with formats that say how tensors are seen. Paper: Ghorbani et al. 2023,
//! §4.2 and §5.5.

use lacunar_formats::Format;
use lacunar_notation::{Access, AssignOp, Assignment, Program, Role, Tensor, TensorId};
use lacunar_sets::{Affine, Set};

use super::{Conversion, Plan};
use crate::reduction::make_explicit;
use crate::structure::mirror::{has_conditions, mirrors};
use crate::structure::{packed, reads_unique_alone};

/// The tensors that packed ones are seen as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sight {
    /// Arrays, where loops come to their own elements; those that are read once too, as conditions of their elements say where these are.
    Located,
    /// Arrays, where loops come to their own elements.
    Arrays,
    /// Operands as levels that are iterated.
    Levels,
    /// Results as whole tensors, too, and all operands that are not read once.
    Whole,
}

/// A program for one of its statements, in which formats say how packed tensors are seen.
pub(super) struct Settled {
    pub program: Program,
    /// Operands that are read whole.
    whole: Vec<TensorId>,
    /// Operands of which redundant elements are read where their unique ones stand.
    pub sourced: Vec<TensorId>,
    /// True if the result is made as a whole, and packed then.
    is_packed_later: bool,
    /// True if some operand is seen as an array by loops that come to elements of the result.
    pub has_arrays: bool,
    /// True if the result is made in its own storage.
    pub is_in_place: bool,
    /// Operands that are read once, and seen as arrays.
    pub located: Vec<TensorId>,
}

/// A statement's view of its packed tensors; `None` if it has none.
pub(super) fn settled(program: &Program, statement: &Assignment, sight: Sight) -> Option<Settled> {
    let is_packed = |tensor: TensorId| program.tensors[tensor].format.packing().is_some();
    let result = statement.lhs.tensor;
    let mut read: Vec<TensorId> = statement.rhs.accesses().into_iter().map(|access| access.tensor).collect();
    read.sort_unstable();
    read.dedup();
    read.retain(|tensor| is_packed(*tensor));
    if read.is_empty() && !is_packed(result) {
        return None;
    }
    let stored_region = stored_region(program, statement).filter(|_| sight != Sight::Whole);
    let is_within = |tensor: TensorId| {
        let accesses = statement.rhs.accesses();
        let mut own = accesses.iter().filter(|access| access.tensor == tensor);
        stored_region.as_ref().is_some_and(|region| own.all(|access| reads_unique(program, region, statement, access)))
    };
    let others_are_dense = statement.rhs.accesses().iter().all(|access| {
        let tensor = &program.tensors[access.tensor];
        let is_array = tensor.format.is_dense() && tensor.format.map().is_none() && tensor.role != Role::Indicator;
        is_array || has_sources(tensor) || (is_packed(access.tensor) && is_within(access.tensor))
    });
    let sees_arrays = matches!(sight, Sight::Located | Sight::Arrays) && others_are_dense;
    // The statement reads earlier values of the result, which have to be an array as it is.
    let is_read_alike = !read.contains(&result) || (is_within(result) && sees_arrays);
    let is_in_place = stored_region.is_some() && is_read_alike;
    let mut made = Settled {
        program: program.clone(),
        whole: Vec::new(),
        sourced: Vec::new(),
        is_packed_later: is_packed(result) && !is_in_place,
        has_arrays: false,
        is_in_place: is_packed(result) && is_in_place,
        located: Vec::new(),
    };
    let mut unique = Vec::new();
    for tensor in read {
        let is_alone = tensor != result && reads_unique_alone(&program.tensors, statement, tensor);
        let declared = &mut made.program.tensors[tensor];
        if is_in_place && is_within(tensor) {
            if sees_arrays {
                declared.format = declared.format.as_array();
                made.has_arrays = true;
            }
        } else if has_sources(declared) && tensor != result && sight != Sight::Whole {
            declared.format = declared.format.as_array();
            made.sourced.push(tensor);
        } else if is_alone {
            declared.structure = None;
        } else if declared.structure.as_deref().is_some_and(|structure| !structure.is_without_redundancy()) {
            unique.push(tensor);
        }
    }
    let result_format = &mut made.program.tensors[result].format;
    if made.is_in_place {
        *result_format = result_format.as_array();
    } else if made.is_packed_later {
        let order = result_format.order();
        *result_format = if statement.op == AssignOp::Set { Format::dense(order) } else { Format::csf(order) };
    }
    made.see_unique(statement, unique, sight);
    Some(made)
}

impl Settled {
    /// Settles the view of tensors that are given by unique elements: these are read once where the statement can, else the whole tensor is.
    fn see_unique(&mut self, statement: &Assignment, unique: Vec<TensorId>, sight: Sight) {
        unique.iter().for_each(|tensor| self.program.tensors[*tensor].is_unique = true);
        let are_told =
            unique.iter().all(|tensor| self.program.tensors[*tensor].format.packing().and_then(packed).is_some());
        let explicit = make_explicit(statement, &mut self.program.vars.clone());
        let is_mirrored = !unique.contains(&statement.lhs.tensor)
            && !has_conditions(&self.program.tensors, &explicit.rhs)
            && mirrors(&self.program.tensors, &explicit).is_some();
        if is_mirrored && are_told && sight == Sight::Located {
            for tensor in &unique {
                let format = &mut self.program.tensors[*tensor].format;
                *format = format.as_array();
            }
            self.located = unique.clone();
        }
        for tensor in unique.into_iter().filter(|_| !is_mirrored) {
            let declared = &mut self.program.tensors[tensor];
            declared.is_unique = false;
            if tensor != statement.lhs.tensor {
                (declared.format, declared.nnz) = (Format::dense(declared.order()), None);
                self.whole.push(tensor);
            }
        }
    }

    /// A plan for the statement as one of the program.
    pub fn planned(self, program: &Program, mut plan: Plan) -> Plan {
        for tensor in self.whole {
            plan.conversions.push(Conversion { tensor, source: tensor });
            let declared = &program.tensors[tensor];
            plan.notes
                .push(format!("`{}` ({}) is completed: the statement reads all of it", declared.name, declared.format));
        }
        for tensor in self.sourced {
            let name = &program.tensors[tensor].name;
            plan.notes
                .push(format!("`{name}` is read as it is stored: all of its elements are those of some coordinates"));
        }
        let result = &program.tensors[plan.result];
        if self.is_packed_later {
            let format = plan.kernel.tensors[plan.result].format.clone();
            plan.notes.push(format!("`{}` is made as {format} and then packed", result.name));
            plan.convert_result = Some(format);
        } else if self.is_in_place {
            plan.notes.push(format!("of `{}` the unique elements alone are computed", result.name));
        }
        plan
    }
}

/// True if coordinates alone tell where the value of every element of a packed tensor is.
fn has_sources(tensor: &Tensor) -> bool {
    tensor.format.packing().is_some_and(|packing| packing.sources().is_some())
}

/// The elements that a packed result stores, if their conditions can end loops.
fn stored_region(program: &Program, statement: &Assignment) -> Option<Set> {
    let packing = program.tensors[statement.lhs.tensor].format.packing()?;
    let vars = &statement.lhs.vars;
    let is_once = (1..vars.len()).all(|place| !vars[..place].contains(&vars[place]));
    packed(packing).filter(|_| is_once)?;
    Some(packing.structure().unique().clone())
}

/// True if an operand is read at unique elements alone, where the result's variables are coordinates of elements that are stored.
fn reads_unique(program: &Program, region: &Set, statement: &Assignment, access: &Access) -> bool {
    let place = |var| statement.lhs.vars.iter().position(|own| *own == var);
    let Some(places) = access.vars.iter().map(|var| place(*var)).collect::<Option<Vec<usize>>>() else { return false };
    let Some(packing) = program.tensors[access.tensor].format.packing() else { return false };
    let order = statement.lhs.vars.len();
    let sizes = places.iter().map(|place| Affine::variable(*place));
    let columns: Vec<Affine> = sizes.chain(places.iter().map(|place| Affine::variable(order + *place))).collect();
    let own = packing.structure().unique().preimage(region.space().clone(), &columns);
    own.is_some_and(|own| region.is_subset(&own).is_yes())
}

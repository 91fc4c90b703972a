//! The sizes of a program's variables and dimensions, by rules of the oracle's own.
//!
//! A dimension has the size of the variable that is its index. One whose index is a sum tells a size only if nothing else does:
//!
//! ```text
//! y(i) = x(2*i + 1)     x has 9 elements: i has 5 values        x(2*4 + 1) lies outside, and is absent
//! y(i + 1) = x(i)       i has 4 values: y has 5 elements
//! ```

use lacunar_front::Declarations;
use lacunar_notation::{TensorId, VarId};

use super::actions::Action;
use super::{Reading, collect};
use crate::sums::{Index, variables};

/// The sizes of a program: of each variable, and of the dimensions of each tensor; 0 if nothing tells it.
#[derive(Clone, Debug)]
pub struct Sizes {
    /// By the variables' numbers.
    pub vars: Vec<u64>,
    /// By the tensors' numbers.
    pub dims: Vec<Vec<u64>>,
}

/// The sizes of a program. Tensors are given, or declared. An index that is no variable relates a dimension to its variables only if
/// nothing else tells their sizes: a variable has as many values as its multiples fit in the dimension, and a dimension room for all
/// that the index comes to.
///
/// # Errors
/// Sizes that disagree, or are not known.
pub fn sizes(
    reading: &Reading,
    declarations: &Declarations,
    dims: &dyn Fn(&str) -> Option<Vec<u64>>,
) -> Result<Sizes, String> {
    let mut accesses: Vec<(TensorId, &[Index])> = Vec::new();
    for statement in &reading.statements {
        accesses.push((statement.target, &statement.indices));
        statement.indices.iter().for_each(|index| index.collect(&mut accesses));
        collect(&statement.rhs, &mut accesses);
    }
    let one = |dims: &Vec<u64>| if let [size] = dims[..] { Some(size) } else { None };
    let declared =
        |name: &str| declarations.sizes.get(name).copied().or_else(|| declarations.dims.get(name).and_then(one));
    let mut sizes: Vec<Option<u64>> = reading.vars.iter().map(|name| declared(name)).collect();
    for (name, vars, _) in &reading.relations {
        for (var, &size) in vars.iter().zip(declarations.dims.get(name).into_iter().flatten()) {
            sizes[var.index()] = sizes[var.index()].or(Some(size));
        }
    }
    let mut known: Vec<Vec<Option<u64>>> = Vec::new();
    for (number, tensor) in reading.tensors.iter().enumerate() {
        let list = reading.lists.get(&number).map(|list| vec![list.len() as u64]);
        let own = list.or_else(|| dims(&tensor.name)).or_else(|| declarations.dims.get(&tensor.name).cloned());
        let own = own.or_else(|| declarations.sizes.get(&tensor.name).map(|&size| vec![size]));
        let own: Vec<Option<u64>> = own.map_or(vec![None; tensor.order], |dims| dims.into_iter().map(Some).collect());
        if own.len() != tensor.order {
            return Err(format!("`{}` has {} sizes and {} variables", tensor.name, own.len(), tensor.order));
        }
        known.push(own);
    }
    let pairs = Action::pairs(&reading.body);
    loop {
        agree(reading, &accesses, &mut known, &mut sizes)?;
        if share(&pairs, &mut known) {
            continue;
        }
        if !relate(reading, &accesses, &mut known, &mut sizes) {
            break;
        }
    }
    for var in accesses.iter().flat_map(|(_, indices)| variables(indices)) {
        if sizes[var.index()].is_none() {
            return Err(format!("variable `{}` has no size", reading.vars[var.index()]));
        }
    }
    let or_none = |sizes: Vec<Option<u64>>| sizes.into_iter().map(|size| size.unwrap_or(0)).collect();
    Ok(Sizes { vars: or_none(sizes), dims: known.into_iter().map(or_none).collect() })
}

/// Dimensions have the sizes of the variables that are their indices.
fn agree(
    reading: &Reading,
    accesses: &[(TensorId, &[Index])],
    known: &mut [Vec<Option<u64>>],
    sizes: &mut [Option<u64>],
) -> Result<(), String> {
    let mut changes = true;
    while changes {
        changes = false;
        for (tensor, indices) in accesses {
            for (dimension, var) in indices.iter().enumerate().filter_map(|(d, index)| Some((d, index.variable()?))) {
                let (of_dimension, of_var) = (&mut known[tensor.index()][dimension], &mut sizes[var.index()]);
                match (*of_dimension, *of_var) {
                    (Some(a), Some(b)) if a != b => {
                        return Err(format!("variable `{}` has sizes {a} and {b}", reading.vars[var.index()]));
                    }
                    (None, Some(_)) => (*of_dimension, changes) = (*of_var, true),
                    (Some(_), None) => (*of_var, changes) = (*of_dimension, true),
                    _ => {}
                }
            }
        }
    }
    Ok(())
}

/// Tensors that are exchanged, or snapshots of others, have the sizes of these; true if one has got any.
fn share(pairs: &[[TensorId; 2]], known: &mut [Vec<Option<u64>>]) -> bool {
    let mut changes = false;
    for [a, b] in pairs.iter().flat_map(|&[a, b]| [[a, b], [b, a]]) {
        for dimension in 0..known[a.index()].len() {
            let other = known[b.index()].get(dimension).copied().flatten();
            changes |= known[a.index()][dimension].is_none() && other.is_some();
            known[a.index()][dimension] = known[a.index()][dimension].or(other);
        }
    }
    changes
}

/// Finds one size by an index that is no variable; false if there is none to find.
fn relate(
    reading: &Reading,
    accesses: &[(TensorId, &[Index])],
    known: &mut [Vec<Option<u64>>],
    sizes: &mut [Option<u64>],
) -> bool {
    for (_, _, [own, sum]) in &reading.relations {
        let Some(var) = own.variable().filter(|_| sum.border.is_none() && sum.elements.is_empty()) else { continue };
        let size = sizes[var.index()];
        let open = sum.terms.iter().find(|(var, _)| sizes[var.index()].is_none());
        match (size, open, room(reading, &Index { is_sum: true, ..sum.clone() }, sizes)) {
            (Some(size), Some((var, factor)), _) => sizes[var.index()] = Some(size.div_ceil(factor.unsigned_abs())),
            (None, None, Some(room)) => sizes[var.index()] = Some(room),
            _ => continue,
        }
        return true;
    }
    // Sizes of operands come first: a result has room for all that it is assigned.
    let is_target =
        |indices: &[Index]| reading.statements.iter().any(|own| std::ptr::eq(own.indices.as_slice(), indices));
    let of_operands = accesses.iter().filter(|(_, indices)| !is_target(indices));
    for (tensor, indices) in of_operands.chain(accesses) {
        for (dimension, index) in indices.iter().enumerate().filter(|(_, index)| index.variable().is_none()) {
            if let Some(size) = known[tensor.index()][dimension] {
                let open = index.terms.iter().find(|(var, _)| sizes[var.index()].is_none());
                if let Some((var, factor)) = open {
                    let others =
                        accesses.iter().filter_map(|(tensor, indices)| Some((known.get(tensor.index())?, indices)));
                    let parts =
                        others.flat_map(|(dims, indices)| dims.iter().zip(*indices)).filter_map(|(size, index)| {
                            let first = index.terms.iter().find(|(other, _)| sizes[other.index()].is_none())?;
                            let is_same = first.0 == *var && index.variable().is_none();
                            Some((*size)?.div_ceil(first.1.unsigned_abs())).filter(|_| is_same)
                        });
                    // The largest dimension that has a part for each value tells.
                    sizes[var.index()] = Some(parts.fold(size.div_ceil(factor.unsigned_abs()), u64::max));
                    return true;
                }
            } else if index.border.is_some() {
                // It lies inside of a dimension of any size.
            } else if let Some(size) = room(reading, index, sizes) {
                // All that is assigned finds room.
                let targets = reading.statements.iter().filter(|statement| statement.target == *tensor);
                let others = targets.filter_map(|statement| room(reading, statement.indices.get(dimension)?, sizes));
                known[tensor.index()][dimension] = Some(others.fold(size, u64::max));
                return true;
            }
        }
    }
    false
}

/// The size of a dimension in which all that an index comes to has room, if its variables have sizes.
fn room(reading: &Reading, index: &Index, sizes: &[Option<u64>]) -> Option<u64> {
    if index.border.is_some() || index.variable().is_some() {
        return None;
    }
    let values: Vec<u64> = index.terms.iter().map(|(var, _)| sizes[var.index()]).collect::<Option<_>>()?;
    let last = |(&(_, factor), size): (&(VarId, i64), &u64)| i128::from(factor.max(0)) * (i128::from(*size) - 1);
    let sum = index.terms.iter().zip(&values).map(last).sum::<i128>();
    let most = sum + i128::from(index.constant) + listed(reading, index)?;
    Some(if values.contains(&0) { 0 } else { u64::try_from((most + 1).max(0)).unwrap_or(u64::MAX) })
}

/// The most that the numbers of lists add to an index; `None` if it has elements of tensors, whose values are not known.
fn listed(reading: &Reading, index: &Index) -> Option<i128> {
    let most = |(tensor, _, factor): &(TensorId, Vec<Index>, i64)| {
        let most = reading.lists.get(&tensor.index())?.iter().max().copied().unwrap_or(0);
        Some(i128::from((*factor).max(0)) * i128::from(most))
    };
    index.elements.iter().map(most).sum()
}

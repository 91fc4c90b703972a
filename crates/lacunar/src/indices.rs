//! Values that are indices (`x(p(i))`): they are compared with the sizes of the dimensions that they are coordinates of, before a
//! kernel runs, which compares nothing.
//!
//! The values may be others each time, so that a statement that is carried out again compares them again.

use lacunar_compiler::plan::Conversion;
use lacunar_formats::Format;
use lacunar_notation::gather::room_for;
use lacunar_notation::{Access, Border, Program, Source, TensorId, VarId};
use lacunar_runtime::{Buffer, StorageError, Tensor};

use crate::bind::Slot;
use crate::compile::Step;
use crate::error::Error;

/// The accesses of indicators of a statement that gather coordinates, with their sources and their last variables.
fn gathers<'s>(program: &'s Program, step: &'s Step) -> impl Iterator<Item = (&'s Access, &'s Source, VarId)> {
    step.plan().statement.rhs.accesses().into_iter().filter_map(|access| {
        let gather = program.tensors.get(access.tensor)?.indicator.as_deref()?.gather()?;
        Some((access, &gather.source, *access.vars.last()?))
    })
}

/// Checks the values that are indices in a statement, whose variables have these sizes.
///
/// # Errors
/// The first value that lies outside.
pub(crate) fn check(program: &Program, step: &Step, sizes: &[u64], slots: &[Slot<'_>]) -> Result<(), Error> {
    let mut checked: Vec<(TensorId, u64)> = Vec::new();
    for (access, source, var) in gathers(program, step) {
        let size = sizes[var.index()];
        let of = match source {
            Source::List(list) if room_for(list) > size => {
                let value = list.iter().max().copied().unwrap_or_default();
                let whose = "a list of the program".to_string();
                return Err(Error::OutOfRange { value: value.to_string(), whose, size });
            }
            Source::List(_) => continue,
            Source::Border(border) => {
                let (_, others) = access.vars.split_last().unwrap_or((&var, &[]));
                if size == 0 && others.iter().all(|var| sizes[var.index()] > 0) {
                    let whose = format!("the coordinate of `{}`", border.rule.name());
                    return Err(Error::OutOfRange { value: "0".to_string(), whose, size });
                }
                continue;
            }
            Source::Tensor(of) => *of,
        };
        let Some(tensor) = slots.get(of.index()).and_then(Slot::get) else { continue };
        if checked.contains(&(of, size)) {
            continue;
        }
        checked.push((of, size));
        if let Some(outside) = tensor.outside_of(size)? {
            let name = &program.tensors[of].name;
            let whose = match outside.place {
                Some(place) if place.is_empty() => format!("`{name}`"),
                Some(place) => {
                    let place: Vec<String> = place.iter().map(u64::to_string).collect();
                    format!("`{name}({})`", place.join(","))
                }
                None => format!("every element of `{name}` that is not stored"),
            };
            return Err(Error::OutOfRange { value: outside.value.to_string(), whose, size });
        }
    }
    Ok(())
}

/// The entries of an indicator that a kernel reads as it reads a stored tensor; `None` if the source of a conversion is none that gathers
/// values.
///
/// # Errors
/// The system refused the memory.
pub(crate) fn entries(
    (program, step): (&Program, &Step),
    conversion: &Conversion,
    format: &Format,
    (sizes, slots): (&[u64], &[Slot<'_>]),
) -> Result<Option<Tensor>, Error> {
    let mut own = gathers(program, step).filter(|(access, ..)| access.tensor == conversion.source);
    let Some((access, source, var)) = own.next() else { return Ok(None) };
    let size = sizes[var.index()];
    match source {
        Source::List(_) => Ok(None),
        Source::Tensor(of) => {
            let values = slots.get(of.index()).and_then(Slot::get);
            Ok(values.map(|values| values.gathered(size, format)).transpose()?)
        }
        Source::Border(border) => {
            let (_, others) = access.vars.split_last().unwrap_or((&var, &[]));
            let dims: Vec<u64> = others.iter().map(|var| sizes[var.index()]).collect();
            Ok(Some(kept(border, &dims, size)?.gathered(size, format)?))
        }
    }
}

/// The coordinates of a border, in a dimension of a size, for all values of variables of the sizes `dims`.
fn kept(border: &Border, dims: &[u64], size: u64) -> Result<Tensor, StorageError> {
    let overflow = || StorageError::overflow("the coordinates of an index");
    let count = dims.iter().try_fold(1u64, |count, size| count.checked_mul(*size)).ok_or_else(overflow)?;
    let mut values: Vec<i64> = Vec::new();
    values.try_reserve_exact(usize::try_from(count).map_err(|_| overflow())?).map_err(|_| overflow())?;
    let mut at = vec![0; dims.len()];
    for _ in 0..count {
        values.push(border.coordinate(&at, size) as i64);
        for (place, size) in at.iter_mut().zip(dims).rev() {
            *place += 1;
            if *place < *size {
                break;
            }
            *place = 0;
        }
    }
    Tensor::from_dense(dims.to_vec(), Buffer::from_vec(values), &Format::dense(dims.len()))
}

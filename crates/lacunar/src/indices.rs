//! Values that are indices (`x(p(i))`): they are compared with the sizes of the dimensions that they are coordinates of, before a
//! kernel runs, which compares nothing.
//!
//! The values may be others each time, so that a statement that is carried out again compares them again.

use lacunar_compiler::plan::Conversion;
use lacunar_formats::{Format, One};
use lacunar_notation::gather::room_for;
use lacunar_notation::{Access, Border, Program, Source, TensorId, VarId};
use lacunar_runtime::{Coo, Coordinates, StorageError, Tensor, Values};

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

/// True if a statement has values that are indices.
pub(crate) fn has_gathers(program: &Program, step: &Step) -> bool {
    gathers(program, step).next().is_some()
}

/// Checks the values that are indices in a statement, whose variables have these sizes.
///
/// # Errors
/// The first value that lies outside.
pub(crate) fn check(program: &Program, step: &Step, sizes: &[u64], slots: &[Slot<'_>]) -> Result<(), Error> {
    let outside = |whose, value, size| {
        let statement = program.statements.get(step.statement());
        let statement = statement.map_or_else(String::new, |statement| program.statement_text(statement));
        Error::OutOfRange { statement, whose, value, size }
    };
    let mut checked: Vec<(TensorId, u64)> = Vec::new();
    for (access, source, var) in gathers(program, step) {
        let size = sizes[var.index()];
        let of = match source {
            Source::List(list) if room_for(list) > size => {
                let value = list.iter().max().copied().unwrap_or_default();
                let whose = "a list of the program".to_string();
                return Err(outside(whose, value.to_string(), size));
            }
            Source::List(_) => continue,
            Source::Border(border) => {
                let (_, others) = access.vars.split_last().unwrap_or((&var, &[]));
                if size == 0 && others.iter().all(|var| sizes[var.index()] > 0) {
                    let whose = format!("the coordinate of `{}`", border.rule.name());
                    return Err(outside(whose, "0".to_string(), size));
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
        if let Some(found) = tensor.outside_of(size)? {
            let name = &program.tensors[of].name;
            let whose = match found.place {
                Some(place) if place.is_empty() => format!("`{name}`"),
                Some(place) => {
                    let place: Vec<String> = place.iter().map(u64::to_string).collect();
                    format!("`{name}({})`", place.join(","))
                }
                None => format!("every element of `{name}` that is not stored"),
            };
            return Err(outside(whose, found.value.to_string(), size));
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
            let mut columns = Vec::new();
            for &part in others {
                columns.push(coordinates_of(program, step, part, (sizes, slots))?);
            }
            let dims = access.vars.iter().map(|var| sizes[var.index()]).collect();
            Ok(Some(kept(border, dims, &columns, format)?))
        }
    }
}

/// The coordinates that a variable in the sum of a border takes: all there are, or, if it has the values of a tensor or list, these.
fn coordinates_of(
    program: &Program,
    step: &Step,
    part: VarId,
    (sizes, slots): (&[u64], &[Slot<'_>]),
) -> Result<Vec<u64>, Error> {
    let size = sizes[part.index()];
    let mut values = match gathers(program, step).find(|(.., last)| *last == part) {
        Some((_, Source::Tensor(of), _)) => match slots.get(of.index()).and_then(Slot::get) {
            Some(tensor) => tensor.distinct_coordinates()?,
            None => Vec::new(),
        },
        Some((_, Source::List(list), _)) => distinct(list.clone()),
        Some((_, Source::Border(_), _)) | None => (0..size).collect(),
    };
    values.retain(|value| *value < size);
    Ok(values)
}

/// Numbers in order, each once.
fn distinct(mut numbers: Vec<u64>) -> Vec<u64> {
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// The entries of a border in a tensor of the sizes `dims`, for these coordinates of its variables.
fn kept(border: &Border, dims: Vec<u64>, columns: &[Vec<u64>], format: &Format) -> Result<Tensor, StorageError> {
    let size = dims.last().copied().unwrap_or(0);
    let mut coords: Vec<Coordinates> = dims.iter().map(|size| Coordinates::for_size(*size)).collect();
    let mut places = vec![0; columns.len()];
    let mut entries = 0;
    let mut left = columns.iter().all(|column| !column.is_empty());
    while left {
        let at: Vec<u64> = places.iter().zip(columns).map(|(place, column)| column[*place]).collect();
        let last = border.coordinate(&at, size);
        coords.iter_mut().zip(at.into_iter().chain([last])).for_each(|(column, value)| column.push(value));
        entries += 1;
        // The next place, the last variable first.
        let moved = (0..places.len()).rev().find(|&part| places[part] + 1 < columns[part].len());
        if let Some(moved) = moved {
            places[moved] += 1;
            places[moved + 1..].fill(0);
        }
        left = moved.is_some();
    }
    Tensor::from_coo(Coo { dims, coords, values: Values::Pattern(vec![One; entries]) }, format)
}

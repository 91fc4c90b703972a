//! Step 4b: tensors and lists whose values are indices.
//!
//! On entry: all tensors have their types and formats. On exit: values that are indices are integers, and the numbers of lists lie in
//! their dimensions, as far as the sizes of these are known. The levels of an indicator that gathers values are in the order in which
//! the values are stored, if they are stored without gaps.

use lacunar_formats::{Format, Level};
use lacunar_notation::{Program, Source, TensorId};

use super::super::error::{AccessMistake, Error};

/// Checks the indicators that gather coordinates, and orders their levels.
pub(super) fn check(program: &mut Program, errors: &mut Vec<Error>) {
    for id in program.tensors.handles() {
        let Some(gather) = program.tensors[id].indicator.as_deref().and_then(|indicator| indicator.gather()) else {
            continue;
        };
        let span = program.tensors[id].span;
        match &gather.source {
            Source::List(values) => {
                let size = program.tensors[id].dims.last().copied().flatten();
                let outside = size.and_then(|size| Some((*values.iter().find(|value| **value >= size)?, size)));
                errors.extend(outside.map(|(value, size)| AccessMistake::Listed { span, value, size }.into()));
            }
            Source::Border(_) => {}
            Source::Tensor(of) => {
                let of = *of;
                let (name, dtype) = (program.tensors[of].name.clone(), program.tensors[of].dtype);
                if !dtype.is_integer() {
                    errors.push(AccessMistake::IndexType { name, span, dtype }.into());
                }
                program.tensors[id].format = ordered(program, id, of);
            }
        }
    }
}

/// The format of an indicator whose levels are those of the tensor that it gathers, and the last.
fn ordered(program: &Program, gather: TensorId, of: TensorId) -> Format {
    let (own, like) = (&program.tensors[gather].format, &program.tensors[of].format);
    if !like.is_dense() {
        return own.clone();
    }
    let modes = like.mode_order().iter().copied().chain([like.order()]).collect();
    let levels: Vec<Level> = own.levels().to_vec();
    Format::new(levels, modes).unwrap_or_else(|_| own.clone())
}

//! The file in which peers get their tensors; `peers/peer.h` says what is in it.

use std::io::Write;

use anyhow::{Context, Result, ensure};
use lacunar::{DynTensor, Level};

use crate::case::Case;

/// Writes the result's shape and all operands.
pub fn write(out: &mut impl Write, case: &Case) -> Result<()> {
    out.write_all(b"LACUNAR2")?;
    number(out, 1 + case.inputs.len() as u64)?;
    write_result(out, case)?;
    for (name, tensor) in &case.inputs {
        write_tensor(out, tensor).with_context(|| format!("`{name}` can't be handed to a peer"))?;
    }
    Ok(())
}

/// A result: its shape alone, with the number of its values where it is dense.
fn write_result(out: &mut impl Write, case: &Case) -> Result<()> {
    let format = &case.result_format;
    write_shape(out, &case.result_dims, format.mode_order())?;
    for &level in format.levels() {
        number(out, u64::from(level != Level::DENSE))?;
        if level != Level::DENSE {
            number(out, 0)?;
            number(out, 0)?;
        }
    }
    let values = if format.is_dense() { case.result_dims.iter().product() } else { 0 };
    number(out, values)
}

fn write_tensor(out: &mut impl Write, tensor: &DynTensor) -> Result<()> {
    write_shape(out, tensor.dims(), tensor.format().mode_order())?;
    for (level, arrays) in tensor.format().levels().iter().zip(tensor.levels()) {
        ensure!([Level::DENSE, Level::COMPRESSED].contains(level), "its levels are neither dense nor compressed");
        number(out, u64::from(*level == Level::COMPRESSED))?;
        for (_, array) in arrays.arrays() {
            let numbers = array.as_slice::<u32>().context("its indices are not of 32 bits")?;
            ensure!(numbers.iter().all(|&n| n <= i32::MAX as u32), "its indices are beyond 31 bits");
            number(out, numbers.len() as u64)?;
            out.write_all(array.as_bytes())?;
        }
    }
    number(out, tensor.nnz())?;
    out.write_all(tensor.values().as_bytes())?;
    Ok(())
}

fn write_shape(out: &mut impl Write, dims: &[u64], mode_order: &[usize]) -> Result<()> {
    ensure!(dims.iter().all(|&size| size <= i32::MAX as u64), "a dimension is beyond 31 bits");
    number(out, dims.len() as u64)?;
    for &size in dims {
        number(out, size)?;
    }
    for &dimension in mode_order {
        number(out, dimension as u64)?;
    }
    Ok(())
}

fn number(out: &mut impl Write, number: u64) -> Result<()> {
    Ok(out.write_all(&number.to_ne_bytes())?)
}

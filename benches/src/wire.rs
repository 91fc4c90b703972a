//! The file in which peers get their tensors; `peers/peer.h` describes its content.

use std::io::Write;

use anyhow::{Context, Result, bail, ensure};
use lacunar::{DynTensor, Format};
use lacunar_formats::{Level, LevelKind, Term};

/// Writes the shape of a result, by its sizes and format, and all operands.
pub fn write(out: &mut impl Write, result: (&[u64], &Format), inputs: &[(&str, DynTensor)]) -> Result<()> {
    out.write_all(b"LACUNAR3")?;
    number(out, 1 + inputs.len() as u64)?;
    write_result(out, result)?;
    for (name, tensor) in inputs {
        write_tensor(out, tensor).with_context(|| format!("`{name}` can't be handed to a peer"))?;
    }
    Ok(())
}

/// A result: its shape alone, with the number of its values where it is dense.
fn write_result(out: &mut impl Write, (dims, format): (&[u64], &Format)) -> Result<()> {
    write_shape(out, dims, format)?;
    for (&level, term) in format.levels().iter().zip(terms(format)) {
        let arrays = write_level(out, level, term)?;
        (0..arrays).try_for_each(|_| number(out, 0))?;
    }
    let values = if format.is_dense() { dims.iter().product() } else { 0 };
    number(out, values)
}

fn write_tensor(out: &mut impl Write, tensor: &DynTensor) -> Result<()> {
    let format = tensor.format();
    write_shape(out, tensor.dims(), format)?;
    for ((&level, term), arrays) in format.levels().iter().zip(terms(format)).zip(tensor.levels()) {
        write_level(out, level, term)?;
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

/// The function of the coordinates that each level stores.
fn terms(format: &Format) -> Vec<Term> {
    match format.map() {
        Some(map) => map.terms().to_vec(),
        None => format.mode_order().iter().map(|&dimension| Term::Whole(dimension)).collect(),
    }
}

/// Writes a level's kind, dimension and block size. Returns the number of its arrays, which follow.
fn write_level(out: &mut impl Write, level: Level, term: Term) -> Result<usize> {
    const KINDS: [LevelKind; 3] = [LevelKind::DENSE, LevelKind::COMPRESSED, LevelKind::SINGLETON];
    // To peers, rows are rows, whether their columns are in order or not.
    let own = if level.kind == LevelKind::UNORDERED { LevelKind::COMPRESSED } else { level.kind };
    let kind = KINDS.iter().position(|kind| *kind == own);
    let kind = kind.context("its levels are other than dense, compressed and singleton")?;
    let block = match term {
        Term::Quotient(_, size) | Term::Remainder(_, size) => size,
        Term::Whole(_) | Term::Difference(..) => 0,
        Term::Ordinal(_) | Term::RankedOrdinal(..) => bail!("it has slots"),
    };
    number(out, kind as u64)?;
    number(out, term.dimension() as u64)?;
    number(out, u64::from(block))?;
    Ok(level.kind.info().parts.len())
}

fn write_shape(out: &mut impl Write, dims: &[u64], format: &Format) -> Result<()> {
    ensure!(dims.iter().all(|&size| size <= i32::MAX as u64), "a dimension is beyond 31 bits");
    number(out, dims.len() as u64)?;
    for &size in dims {
        number(out, size)?;
    }
    number(out, format.levels().len() as u64)
}

fn number(out: &mut impl Write, number: u64) -> Result<()> {
    Ok(out.write_all(&number.to_ne_bytes())?)
}

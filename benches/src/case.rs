//! A kernel on an input: its tensors, packed.

use anyhow::{Context, Result, bail};
use lacunar::inside::notation::structure::Named;
use lacunar::{DType, DynTensor, Format, Structured};
use lacunar_runtime::random::{Generator, generate};

use crate::data::{Entries, Place, Source};
use crate::definition::{Definition, Origin, Per, Size};
use crate::engine::Engine;
use crate::fill;
use crate::graph::{self, Links};

/// Inputs of more entries are for the kernels only whose definition says so.
const LARGEST_INPUT: u64 = 25_000_000;
/// The most values of a dense operand, and of a dense result whose definition does not say: 2 GiB.
const LARGEST_DENSE: u64 = 1 << 28;

/// Numbers of values from which on it matters for memory how many there are.
const MANY: u64 = 20_000_000;

/// A kernel with its operands.
pub struct Case<'a> {
    /// The kernel.
    pub definition: &'a Definition,
    /// The name of the input.
    pub input: &'a str,
    /// The series to which the input belongs.
    pub series: Option<Place>,
    /// The format of the result.
    pub result_format: Format,
    /// The sizes of the result.
    pub result_dims: Vec<u64>,
    /// The number of values that the result stores, zeros included, where its format has a map.
    filled: Option<u64>,
    /// The computation, with the sizes that it names.
    pub expression: String,
    /// The flags, likewise.
    pub flags: String,
    /// The operands, in order of their first occurrence in the expression.
    pub inputs: Vec<(&'a str, DynTensor)>,
}

impl<'a> Case<'a> {
    /// Packs the operands. `None` where the kernel is not for this input.
    pub fn new(definition: &'a Definition, source: &'a Source, entries: &Entries) -> Result<Option<Case<'a>>> {
        let of_graph = definition.tensors.values().any(|tensor| tensor.from.is_some_and(Origin::is_graph));
        if !definition.is_for(source.name()) {
            return Ok(None);
        }
        if entries.order() != definition.file_order() || (of_graph && !entries.is_square()) {
            return Ok(None);
        }
        if entries.len() as u64 > definition.largest_input.unwrap_or(LARGEST_INPUT) {
            return Ok(None);
        }
        let mut packed: Vec<(&str, DynTensor)> = Vec::new();
        for name in definition.inputs() {
            let tensor = make(definition, name, entries, &packed)
                .with_context(|| format!("the tensor `{name}` can't be made"))?;
            let Some(tensor) = tensor else { return Ok(None) };
            packed.push((name, tensor));
        }
        if definition.largest_square.is_some_and(|largest| products_of_square(&packed[0].1) > largest) {
            return Ok(None);
        }
        if definition.symmetric && !is_symmetric(&packed[0].1) {
            return Ok(None);
        }
        let result_dims = result_dims(definition, &packed)?;
        let result_format = definition.format(definition.result())?;
        let size = result_dims.iter().try_fold(1u64, |product, &size| product.checked_mul(size));
        let too_large = |largest| !definition.fresh && size.is_none_or(|size| size > largest);
        if result_format.is_dense() && too_large(definition.largest_result.unwrap_or(LARGEST_DENSE)) {
            return Ok(None);
        }
        if definition.whole_blocks && !fill::has_whole_blocks(&result_format, &result_dims) {
            return Ok(None);
        }
        let filled = result_format.map().map(|_| fill::stored_values(&result_format, &*entries.list()?)).transpose()?;
        let of_each = filled.map(|values| values as f64 / entries.len().max(1) as f64);
        if let (Some(largest), Some(of_each)) = (definition.largest_fill, of_each)
            && of_each > largest
        {
            return Ok(None);
        }
        let expression = with_sizes(&definition.expression, &packed)?;
        let flags = with_sizes(&definition.flags, &packed)?;
        let (input, series) = (source.name(), source.series());
        Ok(Some(Case {
            definition,
            input,
            series,
            result_format,
            result_dims,
            filled,
            expression,
            flags,
            inputs: packed,
        }))
    }

    /// The number of stored values of the first operand, which comes from the file.
    pub fn nnz(&self) -> u64 {
        self.inputs.first().map_or(0, |(_, tensor)| tensor.nnz())
    }

    /// The least number of bytes that have to be read and written: those of all operands, and of a result of `values`
    /// values, or of as many values as its padded format stores.
    pub fn bytes(&self, values: u64) -> u64 {
        self.inputs.iter().map(|(_, tensor)| tensor.bytes()).sum::<u64>() + self.bytes_of_result(values)
    }

    /// The bytes of the result.
    pub fn bytes_of_result(&self, values: u64) -> u64 {
        let compressed = self.result_format.levels().last().is_some_and(|level| level.letter() == 's');
        let each = if compressed { 12 } else { 8 };
        each * self.filled.unwrap_or(values)
    }

    /// The most values that the result can have; where that would be very many, an engine is asked.
    pub fn values_of_result(&self, engine: &mut dyn Engine) -> Result<u64> {
        let most = self.items();
        if most < MANY || self.result_format.is_dense() { Ok(most) } else { Ok(engine.check()?.values) }
    }

    /// The memory in bytes that an engine needs for the operands and a dense result.
    pub fn memory(&self) -> u64 {
        let is_dense = self.result_format.is_dense();
        self.bytes(if is_dense { self.result_dims.iter().product() } else { 0 })
    }

    /// The bytes of the largest dense operand, whose places the entries of others choose; 0 where there is none.
    pub fn chosen_bytes(&self) -> u64 {
        let dense = self.inputs.iter().filter(|(_, tensor)| tensor.format().is_dense());
        dense.map(|(_, tensor)| tensor.bytes()).max().unwrap_or(0)
    }

    /// The things by which the kernel's operations are counted: entries or products.
    pub fn items(&self) -> u64 {
        match self.definition.work.per {
            Per::Entry => self.nnz(),
            Per::Operand => self.inputs.iter().map(|(_, tensor)| tensor.nnz()).sum(),
            Per::Product => self.inputs.first().map_or(0, |(_, tensor)| products_of_square(tensor)),
        }
    }

    /// The operations that the kernel takes by its definition.
    pub fn flops(&self) -> u64 {
        self.items().saturating_mul(self.definition.work.flops)
    }
}

/// True for a symmetric matrix.
fn is_symmetric(tensor: &DynTensor) -> bool {
    let symmetric = Named::find("symmetric").and_then(|named| named.structure(tensor.dims().len(), &[]).ok());
    let params: Vec<i64> = tensor.dims().iter().map(|size| i64::try_from(*size).unwrap_or(i64::MAX)).collect();
    symmetric.is_some_and(|structure| tensor.check_structure(&structure, &params).is_ok())
}

/// An operand; `None` where it is too large.
fn make(
    definition: &Definition,
    name: &str,
    entries: &Entries,
    before: &[(&str, DynTensor)],
) -> Result<Option<DynTensor>> {
    let (format, tensor) = (definition.format(name)?, &definition.tensors[name]);
    let made = match tensor.from {
        Some(Origin::File) => entries.pack(&format),
        Some(Origin::Shifted) => entries.pack_shifted(&format, tensor.by),
        Some(Origin::Lower) => graph::links(entries, &format, Links::Lower),
        Some(Origin::Undirected) => graph::links(entries, &format, Links::Both),
        Some(Origin::Graph) => graph::links(entries, &format, Links::Directed),
        Some(Origin::Lengths) => graph::with_lengths(entries, &format),
        Some(Origin::Start) => graph::start(before, &format, tensor.value.unwrap_or(1.0)),
        Some(origin @ (Origin::Random | Origin::Indices)) => {
            let dims = tensor.dims.iter().map(|size| resolve(size, before)).collect::<Result<Vec<u64>>>()?;
            let values = dims.iter().try_fold(1u64, |product, &size| product.checked_mul(size));
            if values.is_none_or(|values| values > LARGEST_DENSE) {
                return Ok(None);
            }
            match (origin, tensor.value) {
                (Origin::Indices, Some(below)) => graph::indices(dims, &format, below),
                _ => Ok(generate(&Generator::Rand, dims, DType::F64, &format, 42)?),
            }
        }
        None => bail!("an operand needs `from`"),
    };
    made.map(Some)
}

/// `A.1` as a number.
fn resolve(size: &Size, tensors: &[(&str, DynTensor)]) -> Result<u64> {
    match size {
        Size::Number(number) => Ok(*number),
        Size::Of(text) => {
            let known = text.split_once('.').and_then(|(name, dimension)| {
                let (_, tensor) = tensors.iter().find(|(known, _)| *known == name)?;
                tensor.dims().get(dimension.parse::<usize>().ok()?).copied()
            });
            known.with_context(|| format!("`{text}` names no dimension of an operand before it"))
        }
    }
}

/// A text with numbers for the sizes that it names: `{A.1} * i + j`, `-d i:{A.0+B.0}`. Other braces stay.
fn with_sizes(text: &str, tensors: &[(&str, DynTensor)]) -> Result<String> {
    let mut written = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('{') {
        let inside = behind.split_once('}').filter(|(inside, _)| inside.contains('.') && !inside.contains(' '));
        written += before;
        match inside {
            Some((inside, after)) => {
                let sizes = inside.split('+').map(|size| resolve(&Size::Of(size.to_string()), tensors));
                written += &sizes.sum::<Result<u64>>()?.to_string();
                rest = after;
            }
            None => {
                written.push('{');
                rest = behind;
            }
        }
    }
    Ok(written + rest)
}

/// The sizes of the result: those of its index variables in the operands.
fn result_dims(definition: &Definition, inputs: &[(&str, DynTensor)]) -> Result<Vec<u64>> {
    let mut dims = Vec::new();
    for variable in definition.variables(definition.result()) {
        let size = inputs.iter().find_map(|(name, tensor)| {
            let place = definition.variables(name).iter().position(|other| *other == variable)?;
            tensor.dims().get(place).copied()
        });
        // A fresh result tells its sizes itself.
        let size = size.or_else(|| definition.fresh.then_some(0));
        // An operand that occurs twice, as in `A(i,k) * A(k,j)`, is square: any of its dimensions will do.
        let size = size.or_else(|| inputs.first().and_then(|(_, tensor)| tensor.dims().last().copied()));
        dims.push(size.with_context(|| format!("the size of `{variable}` is unknown"))?);
    }
    Ok(dims)
}

/// The number of products in the square of a matrix by rows; very many where it is not square.
fn products_of_square(matrix: &DynTensor) -> u64 {
    let square = matrix.dims().first() == matrix.dims().last();
    let arrays = matrix.levels().last().and_then(|level| Some((level.pos()?, level.crd()?)));
    let arrays = arrays.and_then(|(pos, crd)| Some((pos.as_slice::<u32>()?, crd.as_slice::<u32>()?)));
    let (Some((pos, crd)), true) = (arrays, square) else { return u64::MAX };
    let length = |row: u32| u64::from(pos[row as usize + 1] - pos[row as usize]);
    crd.iter().map(|&row| length(row)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lacunar_runtime::Values;

    /// A conversion to a format, under conditions, of a matrix of one diagonal.
    fn bytes(format: &str, conditions: &str, size: u64) -> Option<u64> {
        let text = format!(
            "name = 'a'\nexpression = 'B(i,j) = A(i,j)'\nwork = {{ per = 'entry', flops = 0 }}\n{conditions}\n\
             [tensors]\nA = {{ format = 'coo', from = 'file' }}\nB = {{ format = '{format}' }}"
        );
        let definition: Definition = toml::from_str(&text).expect("well-formed");
        let mut coo = lacunar::Coo::empty(vec![size, size], DType::F64);
        for place in 0..size {
            coo.coords.iter_mut().for_each(|column| column.push(place));
        }
        coo.values = Values::F64(vec![1.0; size as usize]);
        let source = Source::Tensor("diagonal", [0; 3], 0);
        let case = Case::new(&definition, &source, &Entries::List(coo)).expect("it can be packed");
        case.map(|case| case.bytes(case.nnz()))
    }

    #[test]
    fn inputs_that_blocks_and_diagonals_do_not_suit_are_left_out() {
        let operand = |size: u64| 16 * size + 8;
        assert_eq!(bytes("csr", "largest_fill = 0.5", 9), Some(operand(9) + 9 * 12));
        assert_eq!(bytes("bcsr(3,3)", "largest_fill = 3.0", 9), Some(operand(9) + 27 * 8));
        assert_eq!(bytes("bcsr(3,3)", "largest_fill = 2.9", 9), None);
        assert_eq!(bytes("bcsr(3,3)", "whole_blocks = true", 9), Some(operand(9) + 27 * 8));
        assert_eq!(bytes("bcsr(3,3)", "whole_blocks = true", 10), None);
        assert_eq!(bytes("dia", "largest_fill = 1.0", 10), Some(operand(10) + 10 * 8));
    }
}

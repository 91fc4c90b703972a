//! The description of a kernel over packed tensors, and the making of its inputs.
//!
//! ```text
//! symmv     y(i) = A(i,j) * x(j)                       A packed(symmetric)
//! lrc       C(i,j) = f(i) * f(j)                       C packed(symmetric): creation of a covariance matrix;  lra: a sum of two
//! pr2c      C(i,j,k,l) = f(i) * f(j) * f(k) * f(l)     of a tensor of degree 2;  pr2a: a sum of two
//! lr-13     C(i,j) = X(t,i) * X(t,j)                   of a join X of 13 columns, which join-13 makes;  pr2-13: of degree 2
//! ```
//!
//! Values follow from places, so that peers make the same ones: the value at place `p` of a tensor's storage is `(1 + p mod 13) / 16`, and
//! that of a key `31 p` modulo the rows that it may name.

use anyhow::{Context, Result};
use lacunar::{Buffer, DType, DynTensor, Element, Format, FormatSpec, Kernel as Compiled, Options};
use lacunar_runtime::pool::with_threads;

use super::table;

/// A kernel.
#[derive(Clone, Copy)]
pub struct Kernel {
    /// Its name, for filters and peers.
    pub name: &'static str,
    /// The program.
    pub text: &'static str,
    /// The operands that it reads.
    pub operands: &'static [Operand],
    /// The name of the result, and its format.
    pub result: (&'static str, &'static str),
    /// The sizes of variables that no operand tells.
    pub variables: &'static [(&'static str, Size)],
    /// The values of `n`; the first is that of quick runs.
    pub sizes: &'static [u64],
    /// NumPy takes part up to this size: whole tensors of larger ones do not fit.
    pub whole_up_to: u64,
    /// The statement that computes every element of a dense result, though some follow from others: one that adds to it.
    pub plain: Option<&'static str>,
    /// The formats in which taco stores what is packed here, the result among it; empty where taco takes no part.
    pub taco: &'static [(&'static str, &'static str)],
}

/// The size of a dimension.
#[derive(Clone, Copy)]
pub enum Size {
    /// The size that the kernel is measured for.
    N,
    /// Always the same.
    Of(u64),
}

/// An operand.
#[derive(Clone, Copy)]
pub struct Operand {
    /// Its name.
    pub name: &'static str,
    /// Its format.
    pub format: &'static str,
    /// Its dimensions.
    pub dims: &'static [Size],
    /// Its values.
    pub values: Values,
}

/// The values of an operand.
#[derive(Clone, Copy)]
pub enum Values {
    /// Numbers that follow from places.
    Places,
    /// The rows of a table of so many.
    Keys(u64),
    /// The result of another kernel.
    Result(&'static str),
}

impl Size {
    fn of(self, n: u64) -> u64 {
        match self {
            Size::N => n,
            Size::Of(size) => size,
        }
    }
}

impl Operand {
    /// The operand with the values of the result of a kernel.
    pub const fn made_by(self, kernel: &'static str) -> Operand {
        Operand { values: Values::Result(kernel), ..self }
    }

    fn tensor(&self, n: u64) -> Result<DynTensor> {
        let dims: Vec<u64> = self.dims.iter().map(|size| size.of(n)).collect();
        let format = self.format.parse::<FormatSpec>()?.resolve(dims.len())?;
        match self.values {
            Values::Places => stored(dims, &format, DType::F64, |place| (1 + place % 13) as f64 / 16.0),
            Values::Keys(rows) => stored(dims, &format, DType::I64, |place| (31 * place % rows) as i64),
            Values::Result(kernel) => {
                let kernel = table::all().find(|own| own.name == kernel).context("a kernel that is not there")?;
                let made = kernel.compiled(n)?.result()?;
                Ok(if *made.format() == format { made } else { made.convert(&format)? })
            }
        }
    }
}

/// A kernel that is ready to run.
pub struct Prepared {
    pub kernel: Compiled,
    /// Its inputs, in its order.
    pub inputs: Vec<DynTensor>,
}

impl Prepared {
    /// The result of a run on one thread.
    pub fn result(&self) -> Result<DynTensor> {
        let given: Vec<(&str, &DynTensor)> = self.kernel.inputs().zip(&self.inputs).collect();
        let results = with_threads(1, || self.kernel.run_named(&given))?.results;
        Ok(results.into_iter().next().context("a kernel without a result")?.1)
    }
}

impl Kernel {
    /// The kernel for tensors of a size.
    pub fn compiled(&self, n: u64) -> Result<Prepared> {
        self.prepared(self.text, self.result.1, n)
    }

    /// The same that computes every element, if there is such a statement.
    pub fn compiled_plain(&self, n: u64) -> Result<Option<Prepared>> {
        self.plain.map(|text| self.prepared(text, "dense", n)).transpose()
    }

    fn prepared(&self, text: &str, result: &str, n: u64) -> Result<Prepared> {
        let operands = self.operands.iter().map(|operand| Ok((operand.name, operand.tensor(n)?)));
        let operands = operands.collect::<Result<Vec<_>>>()?;
        let mut options = Options::new().tuned(false).format(self.result.0, result.parse::<FormatSpec>()?);
        for (name, size) in self.variables {
            options = options.size(name, size.of(n));
        }
        for (name, tensor) in &operands {
            options = options.tensor(name, tensor);
        }
        let kernel = with_threads(1, || Compiled::compile(text, &options)).with_context(|| text.to_string())?;
        let mut operands: Vec<Option<(&str, DynTensor)>> = operands.into_iter().map(Some).collect();
        let mut inputs = Vec::new();
        for name in kernel.inputs() {
            let own = operands.iter_mut().find(|operand| operand.as_ref().is_some_and(|(own, _)| *own == name));
            inputs.push(own.and_then(Option::take).context("an input that is no operand")?.1);
        }
        Ok(Prepared { kernel, inputs })
    }
}

/// A tensor whose values follow from their places in its storage.
fn stored<T: Element>(dims: Vec<u64>, format: &Format, dtype: DType, value: impl Fn(u64) -> T) -> Result<DynTensor> {
    // In the memory of tensors, whose pages are huge, as those of the peers are.
    let made = |count: u64| -> Result<Buffer> {
        let mut buffer = Buffer::zeroed(dtype, count)?;
        let values = buffer.as_mut_slice::<T>().context("a buffer of its own")?;
        values.iter_mut().zip(0..).for_each(|(own, place)| *own = value(place));
        Ok(buffer)
    };
    if format.packing().is_none() {
        return Ok(DynTensor::from_dense(dims.clone(), made(dims.iter().product())?, format)?);
    }
    let (format, levels, count) = DynTensor::packed_levels(&dims, format)?;
    Ok(DynTensor::from_parts(dims, &format, levels, made(count)?)?)
}

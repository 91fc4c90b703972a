//! Kernels of Lacunar as engines: through LLVM, `lacunar`; through the C compiler, `lacunar-c`.

use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use lacunar::{Backend, DynTensor, Kernel, Options, Tensor};

use crate::case::Case;
use crate::engine::{Check, Engine};

/// A compiled kernel with its operands.
pub struct LacunarEngine<'a> {
    name: &'static str,
    kernel: Kernel,
    inputs: &'a [(&'a str, DynTensor)],
    /// A dense result, whose memory is used again by each run.
    dense: Option<Tensor<f64>>,
}

impl<'a> LacunarEngine<'a> {
    /// Compiles the kernel of a case.
    pub fn new(case: &'a Case<'a>, backend: Backend) -> Result<LacunarEngine<'a>> {
        let result = case.definition.result();
        let mut options = Options::new().backend(backend).format(result, case.result_format.clone());
        for (name, tensor) in &case.inputs {
            options = options.tensor(name, tensor);
        }
        let kernel =
            Kernel::compile(&case.definition.expression, &options).map_err(|error| anyhow!(error.render(false)))?;
        let dense = case.result_format.is_dense();
        let dense = dense.then(|| Tensor::zeros(&case.result_dims, case.result_format.clone())).transpose()?;
        let name = if backend == Backend::C { "lacunar-c" } else { "lacunar" };
        Ok(LacunarEngine { name, kernel, inputs: &case.inputs, dense })
    }

    /// Runs once: the time, and the result where it is new.
    fn compute(&mut self) -> Result<(f64, Option<DynTensor>)> {
        if let Some(dense) = &mut self.dense {
            let inputs: Vec<&DynTensor> = self.inputs.iter().map(|(_, tensor)| tensor).collect();
            let start = Instant::now();
            self.kernel.run(dense, &inputs)?;
            return Ok((start.elapsed().as_secs_f64() * 1e3, None));
        }
        let inputs: Vec<(&str, &DynTensor)> = self.inputs.iter().map(|(name, tensor)| (*name, tensor)).collect();
        let start = Instant::now();
        let run = self.kernel.run_named(&inputs)?;
        let time = start.elapsed().as_secs_f64() * 1e3;
        let (_, result) = run.results.into_iter().next().context("there is no result")?;
        Ok((time, Some(result)))
    }
}

impl Engine for LacunarEngine<'_> {
    fn name(&self) -> &str {
        self.name
    }

    fn run(&mut self, times: usize) -> Result<Vec<f64>> {
        (0..times).map(|_| Ok(self.compute()?.0)).collect()
    }

    fn check(&mut self) -> Result<Check> {
        let (_, fresh) = self.compute()?;
        let values = match (&fresh, &self.dense) {
            (Some(result), _) => result.values().as_slice::<f64>(),
            (None, Some(dense)) => Some(dense.values()),
            (None, None) => None,
        };
        Ok(Check::of(values.context("the result is not of type f64")?))
    }
}

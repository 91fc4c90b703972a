//! Kernels of Lacunar as engines: through LLVM, `lacunar`; planned from formats alone, `lacunar-formats`; through the C compiler,
//! `lacunar-c`.

use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};
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
    /// Compiles the kernel of a case, to be run on so many threads.
    pub fn new(case: &'a Case<'a>, backend: Backend, threads: usize) -> Result<LacunarEngine<'a>> {
        let name = if backend == Backend::C { "lacunar-c" } else { "lacunar" };
        let given = |options: Options, name: &str, tensor: &DynTensor| options.tensor(name, tensor);
        LacunarEngine::planned(name, case, Options::new().backend(backend).threads(threads), given)
    }

    /// Compiles the kernel of a case from the formats of its operands, whose sizes and numbers of values are not known.
    pub fn of_formats(case: &'a Case<'a>, threads: usize) -> Result<LacunarEngine<'a>> {
        let given = |options: Options, name: &str, tensor: &DynTensor| {
            options.format(name, tensor.format().clone()).dtype(name, tensor.dtype())
        };
        LacunarEngine::planned("lacunar-formats", case, Options::new().threads(threads), given)
    }

    fn planned(
        name: &'static str,
        case: &'a Case<'a>,
        options: Options,
        given: impl Fn(Options, &str, &DynTensor) -> Options,
    ) -> Result<LacunarEngine<'a>> {
        let result = case.definition.result();
        let mut options = options.tuned(false).format(result, case.result_format.clone());
        for (name, tensor) in &case.inputs {
            options = given(options, name, tensor);
        }
        let kernel =
            Kernel::compile(&case.definition.expression, &options).map_err(|error| anyhow!(error.render(false)))?;
        let dense = case.result_format.is_dense();
        let dense = dense.then(|| Tensor::zeros(&case.result_dims, case.result_format.clone())).transpose()?;
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
        match (&fresh, &self.dense) {
            (Some(result), _) => Check::of(result),
            (None, Some(dense)) => Check::of(dense.as_dyn()),
            (None, None) => bail!("there is no result"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{self, Wanted};
    use crate::definition::Definition;

    /// Every definition that is for an input runs on it, and through both back ends comes to the same.
    #[test]
    fn definitions_run() {
        let definitions = Definition::read_all().expect("the definitions are well-formed");
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("written");
        write("a.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 4\n1 1 2\n1 3 1\n3 1 5\n3 2 4\n");
        write("b.tns", "1 1 1 2\n1 1 3 1\n2 2 1 5\n2 1 2 4\n");
        let wanted = Wanted { folder: Some(folder.path()), made_up: false, scaling: false, quick: false };
        let sources = data::sources(&wanted).expect("the folder can be read");
        let mut run = 0;
        for source in &sources {
            let entries = source.read().expect("well-formed");
            for definition in &definitions {
                let Some(case) = Case::new(definition, source, &entries).expect("the case fits") else {
                    continue;
                };
                let check = |backend| LacunarEngine::new(&case, backend, 2).and_then(|mut engine| engine.check());
                let first = check(Backend::default()).expect("it runs");
                let second = check(Backend::Interpreter).expect("it is interpreted");
                assert!(first.agrees(&second), "{}: {first:?} {second:?}", definition.name);
                assert!(first.values > 0, "{}", definition.name);
                run += 1;
            }
        }
        assert_eq!(run, definitions.len());
    }
}

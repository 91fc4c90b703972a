//! Kernels of Lacunar as engines: through LLVM, `lacunar`; with tensors in other formats, or given by unique elements,
//! `lacunar:NAME`; planned from formats
//! alone, `lacunar-formats`; through the C compiler, `lacunar-c`.

use std::borrow::Cow;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};
use lacunar::inside::front::structure;
use lacunar::{
    Backend, Demand, DynTensor, Format, FormatSpec, Kernel, Options, Structured, Tensor, choose, with_threads,
};

use crate::case::Case;
use crate::definition::Ours;
use crate::engine::{Check, Engine};
use crate::program::Flags;
use crate::record::OURS;

/// A compiled kernel with its operands.
pub struct LacunarEngine<'a> {
    name: String,
    kernel: Kernel,
    inputs: Vec<(&'a str, Cow<'a, DynTensor>)>,
    /// The name of the result.
    result: &'a str,
    /// A dense result, whose memory is used again by each run.
    dense: Option<Tensor<f64>>,
    inspection_ms: f64,
}

/// The tensors with which a kernel is run.
struct Operands<'a> {
    inputs: Vec<(&'a str, Cow<'a, DynTensor>)>,
    result_format: Format,
    /// The time in which they were converted.
    inspection_ms: f64,
}

impl<'a> LacunarEngine<'a> {
    /// Compiles the kernel of a case, to be run on so many threads.
    pub fn new(case: &'a Case<'a>, backend: Backend, threads: usize) -> Result<LacunarEngine<'a>> {
        let name = if backend == Backend::C { "lacunar-c" } else { OURS };
        let given = |options: Options, name: &str, tensor: &DynTensor| options.tensor(name, tensor);
        let options = Options::new().backend(backend).threads(threads);
        LacunarEngine::planned(name.to_string(), case, Operands::of(case), options, given)
    }

    /// Compiles the kernel of a case from the formats of its operands, whose sizes and numbers of values are not known.
    pub fn of_formats(case: &'a Case<'a>, threads: usize) -> Result<LacunarEngine<'a>> {
        let given = |options: Options, name: &str, tensor: &DynTensor| {
            options.format(name, tensor.format().clone()).dtype(name, tensor.dtype())
        };
        let options = Options::new().threads(threads);
        LacunarEngine::planned("lacunar-formats".to_string(), case, Operands::of(case), options, given)
    }

    /// Converts operands to the formats of a variant, and compiles the kernel for them.
    pub fn variant(case: &'a Case<'a>, ours: &Ours, threads: usize) -> Result<LacunarEngine<'a>> {
        let given = |options: Options, name: &str, tensor: &DynTensor| options.tensor(name, tensor);
        let operands = with_threads(threads, || Operands::converted(case, ours))?;
        let mut options = Options::new().threads(threads).structures_hold();
        for (name, structure) in &ours.structures {
            let declared = options.structure(&format!("{name}:{structure}"));
            options = declared.map_err(|error| anyhow!(error.render(false)))?.unique(name);
        }
        LacunarEngine::planned(ours.engine(), case, operands, options, given)
    }

    fn planned(
        name: String,
        case: &'a Case<'a>,
        operands: Operands<'a>,
        options: Options,
        given: impl Fn(Options, &str, &DynTensor) -> Options,
    ) -> Result<LacunarEngine<'a>> {
        let Operands { mut inputs, result_format, inspection_ms } = operands;
        let result = case.definition.result();
        let flags = Flags::parse(&case.flags)?;
        for (name, tensor) in &mut inputs {
            if let Some(typed) = flags.typed(name, tensor)? {
                *tensor = Cow::Owned(typed);
            }
        }
        let is_given = |name: &str| inputs.iter().any(|(given, _)| *given == name);
        let mut options = flags.declare(options.tuned(false).format(result, result_format.clone()), is_given)?;
        for (name, tensor) in &inputs {
            options = given(options, name, tensor);
        }
        let kernel = Kernel::compile(&case.expression, &options).map_err(|error| anyhow!(error.render(false)))?;
        let is_kept = result_format.is_dense() && !case.definition.fresh;
        let dense = is_kept.then(|| Tensor::zeros(&case.result_dims, result_format)).transpose()?;
        Ok(LacunarEngine { name, kernel, inputs, result, dense, inspection_ms })
    }

    /// Runs once: the time, and the result where it is new.
    fn compute(&mut self) -> Result<(f64, Option<DynTensor>)> {
        if let Some(dense) = &mut self.dense {
            let inputs: Vec<&DynTensor> = self.inputs.iter().map(|(_, tensor)| tensor.as_ref()).collect();
            let start = Instant::now();
            self.kernel.run(dense, &inputs)?;
            return Ok((start.elapsed().as_secs_f64() * 1e3, None));
        }
        let inputs: Vec<(&str, &DynTensor)> =
            self.inputs.iter().map(|(name, tensor)| (*name, tensor.as_ref())).collect();
        let start = Instant::now();
        let run = self.kernel.run_printing(&inputs, &mut std::io::sink())?;
        let time = start.elapsed().as_secs_f64() * 1e3;
        let is_wanted = |(name, _): &(String, DynTensor)| name == self.result;
        let (_, result) = run.results.into_iter().find(is_wanted).context("there is no result")?;
        Ok((time, Some(result)))
    }
}

impl<'a> Operands<'a> {
    /// The case's operands, as they are.
    fn of(case: &'a Case<'a>) -> Operands<'a> {
        let inputs = case.inputs.iter().map(|(name, tensor)| (*name, Cow::Borrowed(tensor))).collect();
        Operands { inputs, result_format: case.result_format.clone(), inspection_ms: 0.0 }
    }

    /// The case's operands, in the formats that a variant names.
    fn converted(case: &'a Case<'a>, ours: &Ours) -> Result<Operands<'a>> {
        let mut operands = Operands::of(case);
        let format = |name: &str, tensor: Option<&DynTensor>| -> Result<Option<Format>> {
            let Some(text) = ours.formats.get(name) else { return Ok(None) };
            match (text.parse::<FormatSpec>()?.uses(), tensor) {
                (Some(uses), Some(tensor)) => Ok(Some(choose(tensor, &Demand::of(uses))?.format().clone())),
                _ => case.definition.format_of(name, text).map(Some),
            }
        };
        let start = Instant::now();
        for (name, tensor) in &mut operands.inputs {
            if let Some(format) = format(name, Some(tensor))? {
                let converted = tensor.convert(&format).with_context(|| format!("`{name}` can't be converted"))?;
                *tensor = Cow::Owned(converted);
            }
            if let Some(structure) = ours.structures.get(*name) {
                let order = tensor.dims().len();
                let (_, spec) = structure::parse(&format!("{name}:{structure}"))
                    .map_err(|found| anyhow!("{structure}: {}", found.message))?;
                let structure = spec.resolve(order).map_err(|found| anyhow!("{structure}: {}", found.message))?;
                let params = tensor.dims().iter().map(|size| i64::try_from(*size)).collect::<Result<Vec<_>, _>>()?;
                *tensor = Cow::Owned(tensor.keep_unique(&structure, &params)?);
            }
        }
        operands.inspection_ms = start.elapsed().as_secs_f64() * 1e3;
        if let Some(format) = format(case.definition.result(), None)? {
            operands.result_format = format;
        }
        Ok(operands)
    }
}

impl Engine for LacunarEngine<'_> {
    fn name(&self) -> &str {
        &self.name
    }

    fn inspection_ms(&self) -> f64 {
        self.inspection_ms
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
    use std::collections::BTreeSet;

    use super::*;
    use crate::data::{self, Wanted};
    use crate::definition::{Definition, KERNELS};

    /// Every definition that is for an input runs on it, and through both back ends comes to the same.
    #[test]
    fn definitions_run() {
        let definitions = Definition::read_all(KERNELS).expect("the definitions are well-formed");
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("written");
        write("a.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 4\n1 1 2\n1 3 1\n3 1 5\n3 2 4\n");
        write("s.mtx", "%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n1 1 2\n3 1 5\n3 2 4\n");
        write("b.tns", "1 1 1 2\n1 1 3 1\n2 2 1 5\n2 1 2 4\n");
        let wanted = Wanted { folder: Some(folder.path()), made_up: false, scaling: false, quick: false };
        let sources = data::sources(&wanted).expect("the folder can be read");
        let mut run = BTreeSet::new();
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
                run.insert(definition.name.clone());
            }
        }
        assert_eq!(run.len(), definitions.len());
    }

    #[test]
    fn variants_convert_their_operands() {
        let text = "name = 'a'\nexpression = 'y(i) = A(i,j) * x(j)'\nwork = { per = 'entry', flops = 2 }\n\
                    ours = [{ name = 'sliced', class = 'inspected', formats = { A = 'sell(2)' } }]\n\
                    [tensors]\ny = { format = 'd' }\nA = { format = 'csr', from = 'file' }\n\
                    x = { format = 'd', from = 'random', dims = ['A.1'] }";
        let definition: Definition = toml::from_str(text).expect("well-formed");
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.mtx");
        std::fs::write(&path, "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 2\n1 3 1\n3 2 4\n")
            .expect("written");
        let source = data::Source::File(path);
        let entries = source.read().expect("well-formed");
        let case = Case::new(&definition, &source, &entries).expect("the case fits").expect("the kernel is for it");
        let mut plain = LacunarEngine::new(&case, Backend::default(), 1).expect("it is compiled");
        let mut sliced = LacunarEngine::variant(&case, &definition.ours[0], 1).expect("it is compiled");
        assert_eq!(sliced.name(), "lacunar:sliced");
        assert!(sliced.inspection_ms() > 0.0 && plain.inspection_ms() == 0.0);
        assert_ne!(sliced.inputs[0].1.format(), plain.inputs[0].1.format());
        assert!(sliced.check().expect("it runs").agrees(&plain.check().expect("it runs")));
        let classes = crate::class::Classes::default();
        assert_eq!(classes.of(&definition, "lacunar:sliced"), crate::class::Class::Inspected);
    }
}

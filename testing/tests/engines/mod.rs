//! The engines that tests compare: every back end of the public crate.

use std::collections::BTreeMap;

use lacunar::{Backend, DynTensor, Error, Kernel, Optimization, Options, Phase, Search};
use lacunar_notation::Tensor;
use lacunar_runtime::pool::with_threads;
use lacunar_testing::data;
use lacunar_testing::instance::Instance;
use lacunar_testing::runner::{Engine, Failure, Found, Results};

/// Threads of runs: chunks are as many as that times a few, whatever the machine.
const THREADS: &[usize] = &[3];
/// Threads of native code's runs of random programs.
const SEVERAL: &[usize] = &[1, 3, 7];

/// A back end, and how many instances it runs: one in so many, chosen by its id.
struct BackEnd {
    backend: Backend,
    one_in: u64,
    one_in_sweeps: u64,
    optimization: Optimization,
}

/// The engines named in `LACUNAR_ENGINES` (`interp,llvm,c`) on every instance; otherwise all that were built in: the
/// interpreter on every instance, LLVM on a quarter of the sweeps, and C, which starts a compiler for each, on a sample.
/// `LACUNAR_OPTIMIZATION` (`least`, `most`) says how much the back ends work on code.
pub fn all() -> Vec<Box<dyn Engine>> {
    let wanted = std::env::var("LACUNAR_ENGINES").unwrap_or_default();
    let optimization = match std::env::var("LACUNAR_OPTIMIZATION").as_deref() {
        Ok("least") => Optimization::Least,
        Ok("most") => Optimization::Most,
        _ => Optimization::Usual,
    };
    let mut engines = vec![
        BackEnd { backend: Backend::Interpreter, one_in: 1, one_in_sweeps: 1, optimization },
        BackEnd { backend: Backend::C, one_in: 20, one_in_sweeps: 100, optimization },
    ];
    if cfg!(feature = "llvm") {
        engines.push(BackEnd { backend: Backend::Llvm, one_in: 1, one_in_sweeps: 4, optimization });
    }
    if !wanted.is_empty() {
        engines.retain(|engine| wanted.split(',').any(|name| name.trim() == engine.backend.name()));
        engines.iter_mut().for_each(|engine| (engine.one_in, engine.one_in_sweeps) = (1, 1));
    }
    engines.into_iter().map(|engine| Box::new(engine) as Box<dyn Engine>).collect()
}

impl BackEnd {
    fn compile(&self, instance: &Instance, phase: Phase) -> Result<Kernel, Error> {
        let setup = &instance.setup;
        let options = Options {
            declarations: instance.declarations.clone(),
            backend: self.backend,
            search: if setup.plain { Search::Plain } else { Search::Cost },
            schedule: setup.schedule_text().into(),
            phase,
            strict: setup.strict,
            // Sizes as constants, and as parameters: each on some engine, and both on the interpreter.
            specialize: match self.backend {
                Backend::Interpreter => data::seed(&[&instance.source]).is_multiple_of(2),
                backend => backend == Backend::Llvm,
            },
            // The smallest pieces of work are shared out, so that loops are cut into chunks on small inputs too.
            grain: 1,
            optimization: self.optimization,
            // What was tuned on this machine is another program's matter.
            tuned: false,
            ..Options::new()
        };
        Kernel::compile(&instance.source, &options)
    }
}

impl Engine for BackEnd {
    fn name(&self) -> &str {
        self.backend.name()
    }

    fn takes(&self, instance: &Instance) -> bool {
        let one_in = if instance.id.starts_with("sweep") { self.one_in_sweeps } else { self.one_in };
        data::seed(&[&instance.id]).is_multiple_of(one_in)
    }

    fn refuses(&self, instance: &Instance) -> Option<String> {
        let judge = BackEnd { backend: Backend::Interpreter, ..*self };
        match judge.compile(instance, Phase::Fused) {
            Err(Error::Schedule { diagnostics, .. }) => diagnostics.first().map(|found| found.code.to_string()),
            _ => None,
        }
    }

    fn run(&self, instance: &Instance) -> Result<Vec<Results>, Failure> {
        let phase = if instance.setup.phases { Phase::Assemble } else { Phase::Fused };
        let kernel = self.compile(instance, phase).map_err(|error| failure("compile", error))?;
        let declared: BTreeMap<&str, &Tensor> =
            kernel.program().tensors.iter().map(|(_, tensor)| (tensor.name.as_str(), tensor)).collect();
        let mut given = Vec::new();
        for (name, entries) in &instance.given {
            let format = &declared.get(name.as_str()).ok_or_else(|| failure("pack", format!("no `{name}`")))?.format;
            let tensor = entries.packed(format).map_err(|error| failure("pack", error))?;
            given.push((name.as_str(), tensor));
        }
        let given: Vec<(&str, &DynTensor)> = given.iter().map(|(name, tensor)| (*name, tensor)).collect();
        let several = self.backend != Backend::Interpreter && instance.id.starts_with("random/");
        let own = instance.setup.threads.map(|threads| vec![threads]);
        let counts = own.unwrap_or(if several { SEVERAL } else { THREADS }.to_vec());
        let mut second = None;
        let mut runs = Vec::new();
        for &threads in &counts {
            let run = |kernel: &Kernel, given: &[(&str, &DynTensor)]| {
                with_threads(threads, || kernel.run_named(given)).map_err(|error| failure("run", error))
            };
            let mut results = run(&kernel, &given)?.results;
            if instance.setup.phases {
                if second.is_none() {
                    second = Some(self.compile(instance, Phase::Compute).map_err(|error| failure("compile", error))?);
                }
                let patterns = results.iter().map(|(name, tensor)| (name.as_str(), tensor));
                let given: Vec<(&str, &DynTensor)> = given.iter().copied().chain(patterns).collect();
                results = second.as_ref().map_or(Ok(Vec::new()), |kernel| Ok(run(kernel, &given)?.results))?;
            }
            let tensors = results.into_iter().map(|(name, tensor)| Ok((name, validated(tensor)?)));
            let how = if counts.len() > 1 { format!(", threads {threads}") } else { String::new() };
            runs.push(Results { how, tensors: tensors.collect::<Result<_, Failure>>()? });
        }
        Ok(runs)
    }
}

/// The stored entries of a result, after its arrays have been checked as those of a stranger are.
fn validated(tensor: DynTensor) -> Result<Found, Failure> {
    let fill = tensor.fill().into();
    let (dims, format, levels, values) = tensor.into_parts();
    let tensor = DynTensor::from_parts(dims, &format, levels, values).map_err(|error| failure("validate", error))?;
    let coo = tensor.to_coo().map_err(|error| failure("enumerate", error))?;
    Ok(Found { coo, fill })
}

fn failure(stage: &str, message: impl ToString) -> Failure {
    Failure { stage: stage.to_string(), message: message.to_string() }
}

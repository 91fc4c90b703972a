//! The engines that tests compare: every back end of the public crate.

use std::collections::BTreeMap;

use lacunar::{Backend, DynTensor, Kernel, Options};
use lacunar_notation::Tensor;
use lacunar_runtime::coo::Coo;
use lacunar_testing::data;
use lacunar_testing::instance::Instance;
use lacunar_testing::runner::{Engine, Failure};

/// A back end. C, which takes a compiler's start for every kernel, runs one instance in so many, chosen by its id.
struct BackEnd {
    backend: Backend,
    one_in: u64,
}

/// The engines named in `LACUNAR_ENGINES` (`interp,llvm,c`), or all that were built in.
pub fn all() -> Vec<Box<dyn Engine>> {
    let wanted = std::env::var("LACUNAR_ENGINES").unwrap_or_default();
    let mut backends = vec![(Backend::Interpreter, 1), (Backend::C, 20)];
    if cfg!(feature = "llvm") {
        backends.insert(1, (Backend::Llvm, 1));
    }
    let named = |backend: Backend| wanted.split(',').any(|name| name.trim() == backend.name());
    let chosen = backends.into_iter().filter(|(backend, _)| wanted.is_empty() || named(*backend));
    let one_in = |all: u64| if wanted.is_empty() { all } else { 1 };
    chosen.map(|(backend, all)| Box::new(BackEnd { backend, one_in: one_in(all) }) as Box<dyn Engine>).collect()
}

impl Engine for BackEnd {
    fn name(&self) -> &str {
        self.backend.name()
    }

    fn takes(&self, instance: &Instance) -> bool {
        data::seed(&[&instance.id]).is_multiple_of(self.one_in)
    }

    fn run(&self, instance: &Instance) -> Result<Vec<(String, Coo)>, Failure> {
        let options = Options { declarations: instance.declarations.clone(), ..Options::new() }.backend(self.backend);
        let kernel = Kernel::compile(&instance.source, &options).map_err(|error| failure("compile", error))?;
        let declared: BTreeMap<&str, &Tensor> =
            kernel.program().tensors.iter().map(|(_, tensor)| (tensor.name.as_str(), tensor)).collect();
        let mut given = Vec::new();
        for (name, entries) in &instance.given {
            let format = &declared.get(name.as_str()).ok_or_else(|| failure("pack", format!("no `{name}`")))?.format;
            let tensor = DynTensor::from_coo(entries.to_coo(), format).map_err(|error| failure("pack", error))?;
            given.push((name.as_str(), tensor));
        }
        let given: Vec<(&str, &DynTensor)> = given.iter().map(|(name, tensor)| (*name, tensor)).collect();
        let run = kernel.run_named(&given).map_err(|error| failure("run", error))?;
        run.results.into_iter().map(|(name, tensor)| Ok((name, validated(tensor)?))).collect()
    }
}

/// The stored entries of a result, after its arrays have been checked as those of a stranger are.
fn validated(tensor: DynTensor) -> Result<Coo, Failure> {
    let (dims, format, levels, values) = tensor.into_parts();
    let tensor = DynTensor::from_parts(dims, &format, levels, values).map_err(|error| failure("validate", error))?;
    tensor.to_coo().map_err(|error| failure("enumerate", error))
}

fn failure(stage: &str, message: impl ToString) -> Failure {
    Failure { stage: stage.to_string(), message: message.to_string() }
}

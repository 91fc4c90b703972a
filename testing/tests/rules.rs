//! Programs of rules: the files of `tests/rules`, and random ones, on every engine, at the sizes that they name, with dense and with sparse
//! inputs. Their meaning is found by enumeration. `LACUNAR_SEED` and `LACUNAR_RANDOM` say which random ones, and how many.

mod engines;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use lacunar::{DType, Format};
use lacunar_formats::Kind;
use lacunar_front::stur::{self, Program};
use lacunar_front::{Declarations, Language};
use lacunar_notation::Role;
use lacunar_testing::day::today;
use lacunar_testing::entries::Entries;
use lacunar_testing::instance::Instance;
use lacunar_testing::rules::{Symbols, Values, dtype, evaluate, random, sizes, structured, tries};
use lacunar_testing::runner::Reference;
use lacunar_testing::scalar::Scalar;
use lacunar_testing::suite::{Wanted, arguments, batches, summary};
use libtest_mimic::Trial;

/// So many random programs are tried, others each day.
const RANDOM: u64 = 20;

/// The storage of an instance's inputs.
#[derive(Clone, Copy, Debug)]
enum Stored {
    Dense,
    Sparse,
}

fn main() -> ExitCode {
    let (arguments, suite) = (arguments(), engines::suite("rules"));
    let mut files = files();
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse().ok());
    let first = number("LACUNAR_SEED").unwrap_or_else(|| today() * 1000);
    for seed in first..first + number("LACUNAR_RANDOM").unwrap_or(RANDOM) {
        files.push((format!("random-{seed}"), random(seed)));
    }
    let together = files.clone();
    let all = move |_: &Wanted<'_>| {
        let instances = together.iter().map(|(name, text)| instances(name, text)).collect::<Result<Vec<_>, _>>()?;
        Ok(instances.into_iter().flatten().collect())
    };
    let mut trials = batches(&suite, all);
    for (name, text) in files {
        let suite = Arc::clone(&suite);
        trials.push(Trial::test(name.clone(), move || {
            let instances = instances(&name, &text)?;
            let right = |instance: &Instance| suite.verify(instance, Reference::Oracle);
            let faults: Vec<String> = instances.iter().filter_map(|instance| right(instance).err()).collect();
            summary("", &faults, instances.len())
        }));
    }
    suite.conclude(&arguments, trials)
}

/// The programs, by name.
fn files() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/rules");
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if let (Some(name), Ok(text)) = (path.file_stem(), fs::read_to_string(&path)) {
            files.push((name.to_string_lossy().into_owned(), text));
        }
    }
    files.sort();
    files
}

/// A program with all choices of symbols and of the storage of inputs.
fn instances(name: &str, text: &str) -> Result<Vec<Instance>, String> {
    let render = |found: Vec<lacunar::Diagnostic>| {
        found.iter().map(|mistake| mistake.render(text, name, false)).collect::<String>()
    };
    let tried = tries(text);
    if tried.len() < 2 {
        return Err(format!("{name} says fewer than two choices of symbols"));
    }
    let mut instances = Vec::new();
    for symbols in &tried {
        let program = stur::parse_with(text, &|name| symbols.get(name).copied()).map_err(render)?;
        for stored in [Stored::Dense, Stored::Sparse] {
            instances.push(instance(name, (text, &program), symbols, stored)?);
        }
    }
    Ok(instances)
}

fn instance(
    name: &str,
    (text, program): (&str, &Program),
    symbols: &Symbols,
    stored: Stored,
) -> Result<Instance, String> {
    let sizes = sizes(program, symbols);
    let mut declarations = Declarations { language: Language::Rules, ..Declarations::new() };
    for (symbol, value) in symbols {
        declarations = declarations.size(symbol, u64::try_from(*value).map_err(|error| error.to_string())?);
    }
    let mut inputs = BTreeMap::new();
    let mut random = fastrand::Rng::with_seed(7);
    for (tensor, order, _) in program.tensors().into_iter().filter(|(_, _, role)| *role == Role::Input) {
        let dims = sizes.get(&tensor).cloned().unwrap_or_default();
        let values = structured(program, symbols, &tensor, &input(dims, (stored, dtype(text)), &mut random));
        let format = match (stored, order) {
            (Stored::Dense, _) | (_, 0) => Format::dense(order),
            (Stored::Sparse, 1) => Format::sv(),
            (Stored::Sparse, 2) => Format::csr(),
            (Stored::Sparse, _) => Format::csf(order),
        };
        declarations = declarations.format(&tensor, format);
        inputs.insert(tensor, values);
    }
    let expected = evaluate(program, symbols, &inputs);
    let given = inputs.iter().map(|(name, values)| (name.clone(), entries(values, dtype(text)))).collect();
    let id = format!("{name} {symbols:?} {stored:?}");
    let mut instance = Instance::new(id, text.to_string(), declarations, given)?;
    let results = instance.program.tensors.iter().map(|(_, tensor)| (&tensor.name, tensor.dtype));
    let expect = |(name, dtype): (&String, DType)| Some((name.clone(), entries(expected.get(name)?, dtype)));
    instance.expected = results.filter_map(expect).collect();
    Ok(instance)
}

/// Values of a tensor: of all elements, or of some.
fn input(dims: Vec<i64>, (stored, dtype): (Stored, DType), random: &mut fastrand::Rng) -> Values {
    let mut points = vec![Vec::new()];
    for size in &dims {
        let longer = |point: &Vec<i64>| (0..*size).map(|at| [point.as_slice(), &[at]].concat()).collect::<Vec<_>>();
        points = points.iter().flat_map(longer).collect();
    }
    let mut elements = BTreeMap::new();
    for point in points {
        if matches!(stored, Stored::Dense) || dims.is_empty() || random.u8(0..5) < 3 {
            let value = f64::from(random.u8(1..9));
            elements.insert(point, if dtype.kind() == Kind::Real { value * 0.5 } else { value });
        }
    }
    Values { dims, elements }
}

fn entries(values: &Values, dtype: DType) -> Entries {
    let dims = values.dims.iter().map(|size| u64::try_from(*size).unwrap_or(0)).collect();
    let mut entries = Entries::empty(dims, dtype);
    for (point, value) in &values.elements {
        let point = point.iter().map(|at| u64::try_from(*at).unwrap_or(0)).collect();
        let value = match dtype.kind() {
            Kind::Real => Scalar::Real(*value),
            // A fraction would be a fault, which a number that no sum reaches shows.
            _ => Scalar::Int(if value.fract() == 0.0 { *value as i128 } else { i128::MAX }),
        };
        entries.values.insert(point, value);
    }
    entries
}

//! Structures with every named format of matrices: triangles, symmetric matrices and bands, times a vector, added, multiplied with a
//! sparse matrix, and sampled from a product. Results are right, and no operand becomes dense.
//!
//! Symmetric tensors of order 3 and 4 are read once in products with matrices along their modes (TTM, MTTKRP): no statement completes them.
//!
//! On random matrices: one of each, in a format in three, others every day; `LACUNAR_RANDOM` says how many of each, and with
//! `LACUNAR_PAIRS=all` every format is taken. `LACUNAR_SEED` says which matrices.

mod engines;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;

use lacunar::{Backend, DType, Kernel, Options};
use lacunar_formats::{Format, FormatSpec};
use lacunar_front::{Declarations, structure};
use lacunar_testing::data;
use lacunar_testing::day::{chosen, today};
use lacunar_testing::instance::Instance;
use lacunar_testing::pairs::{Named, all_wanted, matrices};
use lacunar_testing::runner::Reference;
use lacunar_testing::suite::{arguments, batches, summary};
use libtest_mimic::Trial;

/// One format in so many is taken on a day.
const FORMATS_ONE_IN: u64 = 3;
/// The rows and columns of matrices. Blocks of most formats do not divide them.
const SIZE: u64 = 7;

const STRUCTURES: [&str; 4] = ["lower", "symmetric", "banded(1,1)", "skew"];

/// A statement that reads a structured matrix `A`, and the formats of its other tensors, if not that of `A`.
type Statement = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

const STATEMENTS: [Statement; 4] = [
    ("spmv", "y(i) = A(i,j) * x(j)", &[("x", "dense"), ("y", "dense")]),
    ("add", "C(i,j) = A(i,j) + B(i,j)", &[("C", "csr")]),
    ("spgemm", "C(i,j) = A(i,k) * B(k,j)", &[("C", "csr")]),
    ("sddmm", "C(i,j) = A(i,j) * X(i,k) * Z(k,j)", &[("X", "dense"), ("Z", "dense"), ("C", "csr")]),
];

/// Products of symmetric tensors with matrices, each with the levels of the tensor `T`.
const READ_ONCE: [(&str, &str); 6] = [
    ("y(i) = T(i,j,k) * u(j) * u(k)", "sss"),
    ("D(i,r) = T(i,j,k) * B(j,r) * C(k,r)", "sss"),
    ("D(i,r) = T(i,j,k) * B(j,r) * C(k,r)", "packed(symmetric)"),
    ("D(i,j,r) = T(i,j,k) * B(k,r)", "dss"),
    ("D(i,r) = T(i,j,k,l) * B(j,r) * C(k,r) * E(l,r)", "ssss"),
    ("D(i,j,k,r) = T(i,j,k,l) * B(l,r)", "dsss"),
];

fn main() -> ExitCode {
    let (arguments, suite) = (arguments(), engines::suite("structures"));
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let first = number("LACUNAR_SEED").unwrap_or_else(|| today() * 1000);
    let seeds = first..first + number("LACUNAR_RANDOM").unwrap_or(1);
    let mut formats = matrices();
    formats.retain(|format| all_wanted() || chosen(&format.name, today(), FORMATS_ONE_IN));
    let (sampled, own) = (formats.clone(), seeds.clone());
    let mut trials = batches(&suite, move |_| {
        let of = |format: &Named| instances(format, own.clone()).unwrap_or_default();
        Ok(sampled.iter().flat_map(of).collect())
    });
    for format in formats {
        let (suite, seeds) = (Arc::clone(&suite), seeds.clone());
        trials.push(Trial::test(format.name.clone(), move || {
            let instances = instances(&format, seeds)?;
            let right =
                |instance: &Instance| keeps_sparse(instance).and_then(|()| suite.verify(instance, Reference::Oracle));
            let faults: Vec<String> = instances.iter().filter_map(|instance| right(instance).err()).collect();
            summary("", &faults, instances.len())
        }));
    }
    for (text, format) in READ_ONCE {
        trials.push(Trial::test(format!("once {text} {format}"), move || Ok(is_read_once(text, format)?)));
    }
    suite.conclude(&arguments, trials)
}

/// All statements with all structures of a matrix in a format, given whole and, where elements follow from others, by unique elements alone.
fn instances(format: &Named, seeds: std::ops::Range<u64>) -> Result<Vec<Instance>, String> {
    let mut found = Vec::new();
    for seed in seeds {
        for (name, source, others) in STATEMENTS {
            for text in STRUCTURES {
                for is_unique in [false, true] {
                    let is_related = ["symmetric", "skew"].contains(&text);
                    if is_unique && !is_related {
                        continue;
                    }
                    let id = format!("structures/{}/{name}/{text}/{seed}/{is_unique}", format.name);
                    found.push(instance((id, source), format, others, (text, is_unique), seed)?);
                }
            }
        }
    }
    Ok(found)
}

fn instance(
    (id, source): (String, &str),
    format: &Named,
    others: &[(&str, &str)],
    (text, is_unique): (&str, bool),
    seed: u64,
) -> Result<Instance, String> {
    let mut declarations = Declarations::new();
    let (_, spec) = structure::parse(&format!("A:{text}")).map_err(|found| found.message)?;
    declarations = declarations.structure("A", spec);
    if is_unique {
        declarations.unique.insert("A".to_string());
    }
    let mut given = BTreeMap::new();
    for (number, tensor) in ["A", "B", "X", "Z", "x"].into_iter().enumerate() {
        if !source.contains(&format!("{tensor}(")) {
            continue;
        }
        let order = if tensor == "x" { 1 } else { 2 };
        let known = others.iter().find(|(name, _)| *name == tensor);
        let own = match known {
            Some(_) => Format::dense(order),
            None => format.format(order)?,
        };
        let density = if known.is_some() { 1.0 } else { 0.4 };
        declarations = declarations.format(tensor, own);
        let dims = vec![SIZE; order];
        given.insert(tensor.to_string(), data::entries(seed * 5 + number as u64, &dims, DType::F64, density, false));
    }
    for (name, format) in others.iter().filter(|(name, _)| ["C", "y"].contains(name)) {
        declarations = declarations.format(*name, if *format == "csr" { Format::csr() } else { Format::dense(1) });
    }
    Instance::new(id, source.to_string(), declarations, given)
}

/// No operand that is stored sparsely is read as a dense one.
fn keeps_sparse(instance: &Instance) -> Result<(), String> {
    let declarations = instance.declarations.clone();
    let options = Options { declarations, backend: Backend::Interpreter, tuned: false, ..Options::new() };
    let kernel = Kernel::compile(&instance.source, &options).map_err(|error| error.render(false))?;
    for step in kernel.statements() {
        for conversion in &step.plan().conversions {
            let source = &instance.program.tensors[conversion.source].format;
            let made = &step.kernel().tensors[conversion.tensor].format;
            if made.is_dense() && !source.is_dense() {
                return Err(format!("{}: an operand becomes dense\n{}", instance.id, kernel.explain().join("\n")));
            }
        }
    }
    Ok(())
}

/// A tensor of which the unique elements alone are stored is not completed.
fn is_read_once(text: &str, format: &str) -> Result<(), String> {
    let order = if text.contains("k,l") { 4 } else { 3 };
    let spec: FormatSpec = format.parse().map_err(|fault| format!("{format}: {fault}"))?;
    let mut options = Options { backend: Backend::Interpreter, tuned: false, ..Options::new() }.format("T", spec);
    if !format.starts_with("packed") {
        options = options.structure("T:symmetric").map_err(|error| error.render(false))?.unique("T");
    }
    let kernel = Kernel::compile(text, &options.dims("T", &vec![4; order])).map_err(|error| error.render(false))?;
    for step in kernel.statements() {
        let of_tensor = |tensor: &&lacunar_notation::Tensor| tensor.name == "T";
        let read = step.kernel().tensors.iter().map(|(_, tensor)| tensor).find(of_tensor);
        let is_once = read.is_some_and(|tensor| tensor.is_unique && !tensor.format.is_dense());
        if !is_once {
            return Err(format!("{text}: the tensor is completed\n{}", kernel.explain().join("\n")));
        }
    }
    Ok(())
}

//! `docs/language.md` lists every function as it is, and its examples give the results that it says.

#![allow(clippy::unwrap_used)] // A failure is what a test is for.

use std::collections::BTreeMap;

use lacunar::inside::notation::{BinaryFn, Function, Monoid};
use lacunar::{Backend, DType, DynTensor, Format, Kernel, Options, Tensor};

const LANGUAGE: &str = include_str!("../../../../docs/language.md");

/// The types whose columns the tables have.
const TYPES: [DType; 4] = [DType::Bool, DType::I64, DType::F64, DType::C128];

/// The program's result, of operands by name.
fn run(source: &str, operands: &BTreeMap<&str, DynTensor>) -> DynTensor {
    let options = Options::new().backend(Backend::Interpreter);
    let names = lacunar::inside::front::einsum::tensors(source, None).unwrap();
    let given: Vec<(&str, &DynTensor)> =
        operands.iter().filter(|(name, _)| names.iter().any(|(used, _)| used == *name)).map(|(n, t)| (*n, t)).collect();
    let options = given.iter().fold(options, |options, (name, tensor)| options.tensor(name, tensor));
    let kernel = Kernel::compile(source, &options).unwrap_or_else(|error| panic!("{source}: {error:?}"));
    let last = kernel.results().last().unwrap().to_string();
    let mut results = kernel.run_named(&given).unwrap_or_else(|error| panic!("{source}: {error}")).results;
    results.retain(|(name, _)| *name == last);
    results.remove(0).1
}

/// The result of a function whose operands are all absent.
fn of_absent(call: &str, dtype: DType) -> String {
    let absent = || DynTensor::zeros(vec![1], &Format::sv(), dtype).unwrap();
    let operands = [("a", absent()), ("b", absent())].into();
    run(&format!("y(i) = {call}"), &operands).to_string().trim_matches(['[', ']']).to_string()
}

/// All names of a function, and the sign that it is written with.
fn names(function: Function) -> String {
    let names = Function::names().filter(|name| Function::parse(name) == Some(function));
    let sign = match function {
        Function::Binary(binary) => binary.symbol(),
        Function::Unary(_) | Function::Select => None,
    };
    names.chain(sign).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" ")
}

/// The cells of a function's row but for its meaning, which is the second.
fn row(function: Function) -> Vec<String> {
    let types = TYPES.map(|dtype| match function {
        Function::Unary(unary) => unary.types(dtype).map(|(_, result)| result),
        Function::Binary(binary) => binary.result_type(dtype),
        Function::Select => Some(dtype),
    });
    let shown = types.map(|dtype| dtype.map_or("-".to_string(), |dtype| dtype.to_string()));
    let dtype = if types[2].is_some() { DType::F64 } else { DType::I64 };
    let name = function.name();
    let mut cells = vec![names(function)];
    cells.extend(shown);
    match function {
        Function::Unary(_) => cells.push(of_absent(&format!("{name}(a(i))"), dtype)),
        Function::Select => {
            cells.push(of_absent(&format!("{name}(a(i), a(i), b(i))"), dtype));
            cells.push("the first and the last".to_string());
        }
        Function::Binary(binary) => {
            cells.push(of_absent(&format!("{name}(a(i), b(i))"), dtype));
            cells.push(absence(binary).to_string());
        }
    }
    cells
}

/// The operands that make the result absent by being so.
fn absence(function: BinaryFn) -> &'static str {
    match function.annihilates() {
        (true, true) => "either",
        (true, false) => "the first",
        _ if function.keeps_zero() => "both",
        _ => "none",
    }
}

/// The cells of each row of a table that begins with a name.
fn rows() -> Vec<Vec<String>> {
    let rows = LANGUAGE.lines().filter(|line| line.starts_with("| `"));
    rows.map(|line| line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_string()).collect()).collect()
}

#[test]
fn the_table_of_reductions_lists_every_monoid() {
    let listed: Vec<Vec<String>> = rows().into_iter().filter(|cells| cells[0].contains('(')).collect();
    // Places of values are told apart from them.
    let monoids = || Monoid::all().filter(|monoid| monoid.compared().is_none());
    let expected: Vec<String> = monoids().map(|monoid| format!("`{}(k, ..)`", monoid.name())).collect();
    assert_eq!(listed.iter().map(|cells| cells[0].clone()).collect::<Vec<_>>(), expected);
    for (cells, monoid) in listed.iter().zip(monoids()) {
        assert!(cells[1].starts_with(&format!("`{}`", monoid.sign())), "{cells:?}");
    }
}

#[test]
fn the_tables_list_every_function_as_it_is() {
    let rows = rows().into_iter().filter(|cells| !cells[0].contains('(')).collect::<Vec<_>>();
    let mut functions: Vec<Function> = Vec::new();
    for function in Function::names().filter_map(Function::parse) {
        if !functions.contains(&function) {
            functions.push(function);
        }
    }
    let mut missing = String::new();
    for &function in &functions {
        let expected = row(function);
        let found = rows.iter().find(|cells| cells.first() == expected.first()).cloned();
        let found: Option<Vec<String>> = found.map(|mut cells| {
            let meaning = cells.remove(1);
            assert!(!meaning.is_empty(), "{} has no meaning", cells[0]);
            cells
        });
        if found.as_ref() != Some(&expected) {
            missing.push_str(&format!("| {} |\n", expected.join(" | ")));
        }
    }
    assert!(missing.is_empty(), "rows, without meanings, that docs/language.md should have:\n{missing}");
    assert_eq!(rows.len(), functions.len(), "rows of what is no function");
}

/// The tensors that the examples are about.
fn samples() -> BTreeMap<&'static str, DynTensor> {
    let sparse = |rows: [[f64; 2]; 2]| Tensor::from(rows).convert(Format::csr()).unwrap().into_dyn();
    [
        ("A", sparse([[1.0, 0.0], [2.0, 3.0]])),
        ("B", sparse([[0.0, 4.0], [5.0, 0.0]])),
        ("x", DynTensor::from(vec![10.0, 20.0])),
        ("z", DynTensor::from(vec![-1.0, 0.5])),
        ("n", DynTensor::from(vec![7i64, -2])),
        ("q", DynTensor::from(vec![1i64, 0, 1])),
        ("p", DynTensor::from(vec![true, false])),
        ("c", DynTensor::from(2.0)),
    ]
    .into()
}

#[test]
fn the_examples_give_what_is_said() {
    let (samples, mut examples) = (samples(), 0);
    for block in LANGUAGE.split("```lacunar\n").skip(1) {
        let block = block.split("```").next().unwrap();
        for line in block.lines().filter(|line| !line.trim().is_empty()) {
            let (source, expected) =
                line.split_once('#').unwrap_or_else(|| panic!("`{line}` does not say what it gives"));
            assert_eq!(run(source, &samples).to_string(), expected.trim(), "{source}");
            examples += 1;
        }
    }
    assert!(examples >= 20, "only {examples} examples");
}

//! taco: a command that is asked for the C code of the same expression in the same formats, which is compiled with a
//! driver of ours.

use std::env;
use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::case::Case;
use crate::definition::Taco;
use crate::peers::program::{Program, compile, run_to_end};

/// The command, if the environment variable `TACO` names it.
pub fn command() -> Option<String> {
    env::var("TACO").ok().filter(|command| !command.is_empty())
}

/// A request for code from taco.
pub struct Wanted<'a> {
    pub expression: &'a str,
    /// The formats of tensors that have others than dense ones, in taco's letters.
    pub formats: Vec<(&'a str, &'a str)>,
    /// Further arguments.
    pub arguments: Vec<String>,
    /// The calls of the generated functions, on tensors `t[0], t[1], ...`.
    pub calls: String,
    /// True if a run assembles the result.
    pub assembles: bool,
}

/// Lets taco generate code, and compiles it.
pub fn made(taco: &str, wanted: &Wanted, program: &Path) -> Result<Program> {
    let generated = program.with_extension("generated.c");
    let mut command = Command::new(taco);
    command.arg(wanted.expression).arg("-prefix=taco_").args(&wanted.arguments);
    command.args(wanted.formats.iter().map(|(name, format)| format!("-f={name}:{format}")));
    command.arg(format!("-write-source={}", generated.display()));
    run_to_end(&mut command)?;
    let flags = [
        format!("-DKERNEL_FILE=\"{}\"", generated.display()),
        format!("-DCALL={}", wanted.calls),
        format!("-DASSEMBLES={}", u8::from(wanted.assembles)),
    ];
    compile("cc", "taco.c", &flags, program)?;
    Ok(Program::new(program))
}

/// Lets taco generate code for the kernel, with its published schedule or without, and compiles it.
pub fn build(taco: &str, how: &Taco, scheduled: bool, case: &Case, program: &Path) -> Result<Program> {
    let definition = case.definition;
    let expression = how.expression.as_ref().filter(|_| scheduled).unwrap_or(&definition.expression);
    let formats = definition.tensors.iter().map(|(name, tensor)| (name.as_str(), tensor.format.as_str()));
    let schedule = how.schedule.iter().filter(|_| scheduled).map(|transformation| format!("-s={transformation}"));
    let wanted = Wanted {
        expression,
        formats: formats.filter(|(_, format)| !format.is_empty()).collect(),
        arguments: how.options.iter().cloned().chain(schedule).collect(),
        calls: calls(how, scheduled, case, expression),
        assembles: !case.result_format.is_dense(),
    };
    made(taco, &wanted, program)
}

/// The calls of the generated functions. Their arguments stand in the order of the expression that taco was given, the
/// tensors of the file in that of the definition's.
fn calls(how: &Taco, scheduled: bool, case: &Case, expression: &str) -> String {
    let given = case.definition.inputs();
    let wanted = case.definition.inputs_of(expression);
    let places = wanted.iter().filter_map(|name| given.iter().position(|other| other == name));
    let arguments: String = places.map(|place| format!(",t[{}]", place + 1)).collect();
    let functions: &[&str] = match case.result_format.is_dense() {
        true => &["compute"],
        false if how.phases || scheduled => &["assemble", "compute"],
        false => &["evaluate"],
    };
    functions.iter().map(|function| format!("taco_{function}(t[0]{arguments});")).collect()
}

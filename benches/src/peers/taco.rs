//! taco: a command that is asked for the C code of the same expression in the same formats, which is compiled with a
//! driver of ours.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::case::Case;
use crate::definition::Taco;
use crate::peers::program::{Program, compile, run_to_end};

/// Lets taco generate code for the kernel, with its published schedule or without, and compiles it.
pub fn build(taco: &str, how: &Taco, scheduled: bool, case: &Case, program: &Path) -> Result<Program> {
    let generated = program.with_extension("generated.c");
    let definition = case.definition;
    let expression = how.expression.as_ref().filter(|_| scheduled).unwrap_or(&definition.expression);
    let mut command = Command::new(taco);
    command.arg(expression).arg("-prefix=taco_").args(&how.options);
    for (name, tensor) in &definition.tensors {
        if !tensor.format.is_empty() {
            command.arg(format!("-f={name}:{}", tensor.format));
        }
    }
    if scheduled {
        command.args(how.schedule.iter().map(|transformation| format!("-s={transformation}")));
    }
    command.arg(format!("-write-source={}", generated.display()));
    run_to_end(&mut command)?;
    let flags = [
        format!("-DKERNEL_FILE=\"{}\"", generated.display()),
        format!("-DCALL={}", calls(how, scheduled, case, expression)),
        format!("-DASSEMBLES={}", u8::from(!case.result_format.is_dense())),
    ];
    compile("cc", "taco.c", &flags, program)?;
    Ok(Program::new(program))
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

//! `lacunar compile`: a program becomes the texts of the stages that are asked for; nothing runs.

use lacunar::{Kernel, Stage};

use crate::args::ProgramArgs;
use crate::failure::Failure;
use crate::prepare::{Prepared, Values, prepare};
use crate::program::Program;
use crate::{emit, output, report};

/// Compiles a program and prints it: as C, where nothing else is asked for.
///
/// # Errors
/// Mistakes in what was written, files that can't be read.
pub fn compile(program: &Program, args: &ProgramArgs) -> Result<(), Failure> {
    let Prepared { request, mut options, .. } = prepare(program, args, Values::FilesOnly)?;
    let stages = stages(&request.stages, args);
    options.emit = stages.iter().map(|stage| stage.0.to_string()).collect();
    let kernel = Kernel::compile(&program.text, &options).map_err(|error| program.failure(error))?;
    let mut text = String::new();
    if args.json {
        text = report::compiled_json(&kernel, &stages, &request, args)?;
    } else if args.emit_to.is_none() {
        text = emit::text(&kernel, &stages);
    }
    if let Some(folder) = &args.emit_to {
        for file in emit::to_folder(&kernel, &stages, folder)? {
            eprintln!("wrote {file}");
        }
    }
    if args.explain && !args.json {
        text += &report::explanation(&kernel, &request);
    }
    output::print(text.as_bytes())
}

/// The stages that are asked for, or what stands for them.
fn stages(asked: &[Stage], args: &ProgramArgs) -> Vec<Stage> {
    match (asked, &args.emit_to) {
        ([], Some(_)) => Stage::ALL.to_vec(),
        ([], None) if args.explain || args.json => Vec::new(),
        ([], None) => vec![Stage("c")],
        (asked, _) => asked.to_vec(),
    }
}

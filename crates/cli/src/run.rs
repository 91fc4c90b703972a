//! `lacunar run`: a program is compiled, run, measured, checked, and its results are written.

use lacunar::{DynTensor, Kernel, Run};

use crate::args::ProgramArgs;
use crate::failure::Failure;
use crate::measure::ms;
use crate::prepare::{Prepared, Values, prepare};
use crate::program::Program;
use crate::report::Outcome;
use crate::{check, emit, flops, output, report};

/// Runs a program.
///
/// # Errors
/// Mistakes in what was written, files that can't be read or written, memory that is refused, a difference found by
/// `--check`.
pub fn run(program: &Program, args: &ProgramArgs) -> Result<(), Failure> {
    let Prepared { request, inputs, mut options, times: load } = prepare(program, args, Values::All)?;
    let stages = if request.stages.is_empty() && args.emit_to.is_some() {
        lacunar::Stage::ALL.to_vec()
    } else {
        request.stages.clone()
    };
    options.emit = stages.iter().map(|stage| stage.0.to_string()).collect();
    let kernel = Kernel::compile(&program.text, &options).map_err(|error| program.failure(&request, error))?;
    let given: Vec<(&str, &DynTensor)> = inputs.iter().map(|input| (input.name.as_str(), &input.tensor)).collect();
    let Measured { last, times, converts } = measure(&kernel, &given, args.time)?;

    let mut aside = match &args.emit_to {
        Some(folder) => {
            emit::to_folder(&kernel, &stages, folder)?;
            String::new()
        }
        None => emit::text(&kernel, &stages),
    };
    report::warn(&kernel, args);
    if args.explain {
        aside += &report::explanation(&kernel, &request);
    }
    let tensor = |name: &str| {
        let results = last.results.iter().map(|(name, tensor)| (name.as_str(), tensor));
        results.chain(given.iter().copied()).find(|(other, _)| *other == name).map(|(_, tensor)| tensor)
    };
    let flops = flops::of_program(kernel.program(), &tensor)?;
    let verdict = match args.check {
        true => Some(check::check(&kernel, (&program.text, &options.declarations), &given, &last.results, args.seed)?),
        false => None,
    };
    let outcome = Outcome {
        kernel: &kernel,
        request: &request,
        inputs: &inputs,
        results: &last.results,
        load,
        times: &times,
        converts: &converts,
        flops,
        verdict: verdict.as_ref(),
    };
    if args.json {
        eprint!("{aside}");
        output::print(outcome.json()?.as_bytes())?;
    } else if request.outputs.iter().any(|(_, file)| file == "-") {
        // The result alone goes to standard output, so that it can be piped.
        eprint!("{aside}{}", outcome.text()?);
    } else {
        output::print(format!("{aside}{}", outcome.text()?).as_bytes())?;
    }
    match verdict {
        Some(verdict) if !verdict.differences.is_empty() => return Err(Failure::Difference(verdict.to_string())),
        _ => {}
    }
    for (name, file) in &request.outputs {
        if let Some((_, tensor)) = last.results.iter().find(|(result, _)| result == name) {
            output::write(tensor, file)?;
        }
    }
    Ok(())
}

/// The last run, and how long all of them took, in milliseconds.
struct Measured {
    last: Run,
    times: Vec<f64>,
    converts: Vec<f64>,
}

/// Runs once; or, where times are asked for, so many times after one to warm up.
fn measure(kernel: &Kernel, given: &[(&str, &DynTensor)], repeat: Option<u32>) -> Result<Measured, Failure> {
    if repeat.is_some() {
        kernel.run_named(given)?;
    }
    let (mut times, mut converts) = (Vec::new(), Vec::new());
    let mut measured = || -> Result<Run, Failure> {
        let run = kernel.run_named(given)?;
        times.push(ms(run.kernel));
        converts.push(ms(run.convert));
        Ok(run)
    };
    let mut last = measured()?;
    for _ in 1..repeat.unwrap_or(1) {
        // The memory of the run before is free again when the next one asks for its own.
        last.results.clear();
        last = measured()?;
    }
    Ok(Measured { last, times, converts })
}

//! `lacunar run`: a program is compiled, run, measured, checked, and its results are written.

use std::io::Write;

use lacunar::{Backend, DynTensor, FormatSpec, Kernel, Options, Run, Schedule};

use crate::args::ProgramArgs;
use crate::check::Verdict;
use crate::failure::Failure;
use crate::inputs::{Input, tensor_of};
use crate::measure::ms;
use crate::prepare::{Prepared, Values, prepare};
use crate::program::Program;
use crate::report::Outcome;
use crate::request::Request;
use crate::{check, emit, flops, output, report};

/// Runs a program.
///
/// # Errors
/// Mistakes in the user's text, files that can't be read or written, memory that is refused, a difference found by
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
    for (value, (name, file)) in args.outputs.iter().zip(&request.outputs) {
        if tensor_of(kernel.program(), name).is_some_and(|tensor| !tensor.format.is_dense()) {
            output::check_list(value, file)?;
        }
    }
    let given: Vec<(&str, &DynTensor)> = inputs.iter().map(|input| (input.name.as_str(), &input.tensor)).collect();
    let shown = Shown::of(&request, args);
    let mut aside = match &args.emit_to {
        Some(folder) => {
            emit::to_folder(&kernel, &stages, folder)?;
            String::new()
        }
        None => emit::text(&kernel, &stages),
    };
    report::warn(&kernel, args);
    if args.explain {
        aside += &report::explanation(&kernel, &request, &inputs);
    }
    if args.check {
        check::refuse(&kernel)?;
    }
    // Whoever waits for a long run sees its work.
    shown.print(&aside, &report::before(&kernel, &inputs))?;
    let Measured { last, times, converts, totals } = measure(&kernel, &given, args.time, &shown)?;

    let shared = last.others.len();
    let mut all = last.others;
    all.extend(last.results);
    let tensor = |name: &str| {
        let results = all.iter().map(|(name, tensor)| (name.as_str(), tensor));
        results.chain(given.iter().copied()).find(|(other, _)| *other == name).map(|(_, tensor)| tensor)
    };
    let flops = flops::of_program(kernel.program(), &last.counts, &tensor)?;
    let (kernel, request, inputs) = (&kernel, &request, inputs.as_slice());
    // The results that the program is for.
    let results = all.get(shared..).unwrap_or_default();
    let (times, converts, totals) = (&times, &converts, &totals);
    let mut outcome = Outcome { kernel, request, inputs, results, load, times, converts, totals, flops, verdict: None };
    if !args.json {
        shown.print("", &outcome.text()?)?;
    }
    let verdict = match args.check {
        true => Some(checked((program, kernel), &options, inputs, &all, args.seed)?),
        false => None,
    };
    outcome.verdict = verdict.as_ref();
    if args.json {
        output::print(outcome.json()?.as_bytes())?;
    }
    match &verdict {
        Some(verdict) if !verdict.differences.is_empty() => return Err(Failure::Difference(verdict.to_string())),
        Some(verdict) => shown.print("", &report::agreement(verdict))?,
        None => {}
    }
    let mut written = Vec::new();
    for (name, file) in &request.outputs {
        let found = all.iter().find(|(result, _)| result == name);
        let (_, tensor) = found.ok_or_else(|| {
            let message = format!("`{name}` has no value for {file}: no statement that gives it one was carried out");
            lacunar::Error::NoValue(message)
        })?;
        written.push((tensor, file));
    }
    written.into_iter().try_for_each(|(tensor, file)| output::write(tensor, file, request.base))
}

/// Compares results with the values that the program defines, of whole inputs, whatever is known of their structures.
fn checked(
    (program, kernel): (&Program, &Kernel),
    options: &Options,
    inputs: &[Input],
    results: &[(String, DynTensor)],
    seed: u64,
) -> Result<Verdict, Failure> {
    let are_whole = inputs.iter().all(|input| input.unique_of.is_none());
    if options.declarations.structures.is_empty() && are_whole {
        let given: Vec<(&str, &DynTensor)> = inputs.iter().map(|input| (input.name.as_str(), &input.tensor)).collect();
        return check::check(kernel, (&program.text, &options.declarations), &given, results, seed);
    }
    let mut plain = Options { backend: Backend::Interpreter, emit: Vec::new(), ..options.clone() };
    // Numbers of structures are of nothing else.
    let parameters: Vec<String> =
        plain.declarations.structures.values().flat_map(|spec| spec.parameters().to_vec()).collect();
    let program_names = kernel.program().vars.iter().map(|(_, var)| var.name.clone()).collect::<Vec<_>>();
    for name in parameters.iter().filter(|name| !program_names.contains(name)) {
        plain.declarations.dims.shift_remove(name);
        plain.declarations.sizes.shift_remove(name);
    }
    plain.declarations.structures.clear();
    plain.declarations.unique.clear();
    // A schedule is for the loops that structures make, and no part of the meaning.
    plain.schedule = Schedule::default();
    // Results would have to be of the structures that their formats declare.
    for (_, tensor) in kernel.program().tensors.iter().filter(|(_, tensor)| tensor.format.packing().is_some()) {
        if inputs.iter().all(|input| input.name != tensor.name) {
            plain.declarations.formats.insert(tensor.name.clone(), FormatSpec::Dense);
        }
    }
    let kernel = Kernel::compile(&program.text, &plain).map_err(Failure::Library)?;
    let wholes = inputs.iter().map(Input::completed).collect::<Result<Vec<_>, Failure>>()?;
    let given = inputs.iter().zip(&wholes);
    let given: Vec<(&str, &DynTensor)> =
        given.map(|(input, whole)| (input.name.as_str(), whole.as_ref().unwrap_or(&input.tensor))).collect();
    check::check(&kernel, (&program.text, &plain.declarations), &given, results, seed)
}

/// The streams to which the texts about a run go.
enum Shown {
    /// To standard output.
    Out,
    /// To standard error: a result alone goes to standard output, so that it can be piped.
    Err,
    /// Requested stages and explanations go to standard error, and the rest is part of one JSON object.
    Json,
    /// The same go to standard error, and the rest nowhere; the text that the program prints goes to standard output unless a result does.
    Quiet { is_piped: bool },
}

impl Shown {
    fn of(request: &Request, args: &ProgramArgs) -> Shown {
        let is_piped = request.outputs.iter().any(|(_, file)| file == "-");
        match (args.json, args.quiet) {
            (true, _) => Shown::Json,
            (false, true) => Shown::Quiet { is_piped },
            (false, false) if is_piped => Shown::Err,
            (false, false) => Shown::Out,
        }
    }

    /// Prints the requested stages and explanations (`aside`), and the text about the run.
    fn print(&self, aside: &str, text: &str) -> Result<(), Failure> {
        match self {
            Shown::Out => output::print(format!("{aside}{text}").as_bytes())?,
            Shown::Err => output::tell(&format!("{aside}{text}")),
            Shown::Json | Shown::Quiet { .. } => output::tell(aside),
        }
        Ok(())
    }
}

/// The last run, and the times of all of them, in milliseconds.
struct Measured {
    last: Run,
    times: Vec<f64>,
    converts: Vec<f64>,
    totals: Vec<f64>,
}

/// Runs once; or, where times are asked for, so many times after one to warm up. Only the last run prints the text of the program.
fn measure(
    kernel: &Kernel,
    given: &[(&str, &DynTensor)],
    repeat: Option<u32>,
    shown: &Shown,
) -> Result<Measured, Failure> {
    if repeat.is_some() {
        kernel.run_printing(given, &mut std::io::sink())?;
    }
    let (mut times, mut converts, mut totals) = (Vec::new(), Vec::new(), Vec::new());
    let mut measured = |out: &mut dyn Write| -> Result<Run, Failure> {
        let run = kernel.run_printing(given, out)?;
        times.push(ms(run.kernel));
        converts.push(ms(run.convert));
        totals.push(ms(run.total));
        Ok(run)
    };
    for _ in 1..repeat.unwrap_or(1) {
        // The memory of this run is free again when the next one asks for its own.
        measured(&mut std::io::sink())?;
    }
    let last = match shown {
        Shown::Out | Shown::Quiet { is_piped: false } => measured(&mut std::io::stdout()),
        Shown::Err | Shown::Json | Shown::Quiet { is_piped: true } => measured(&mut std::io::stderr()),
    }?;
    Ok(Measured { last, times, converts, totals })
}

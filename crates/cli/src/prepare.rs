//! From flags to the input of the library: the tensors, and the options that follow from them.

use std::collections::BTreeSet;
use std::io::IsTerminal;

use lacunar::{Category, DType, Options};
use lacunar_front::concrete::Line;
use lacunar_front::einsum::{Action, ActionKind, Ast, index_tensors};
use lacunar_front::{Declarations, Language, check, stur};

use crate::args::ProgramArgs;
use crate::failure::Failure;
use crate::inputs::{self, Input, LoadTimes};
use crate::program::Program;
use crate::request::{Origin, Request};
use crate::structured;

/// Tells if inputs are made up: needed to run, not to compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Every input has values.
    All,
    /// Files are read, because compilation follows their sizes; nothing is made up.
    FilesOnly,
}

/// Everything that is known before compilation.
#[derive(Debug)]
pub struct Prepared {
    /// The request of the flags.
    pub request: Request,
    /// The inputs.
    pub inputs: Vec<Input>,
    /// The options that the program is compiled with.
    pub options: Options,
    /// The times that it took to get the inputs.
    pub times: LoadTimes,
}

/// Reads flags, program and inputs.
///
/// # Errors
/// Mistakes in them, files that can't be read, memory that is refused.
pub fn prepare(program: &Program, args: &ProgramArgs, values: Values) -> Result<Prepared, Failure> {
    let mut request = Request::new(args)?;
    if values == Values::All {
        request.read_outputs(args)?;
    }
    if let Some(folder) = &args.emit_to {
        crate::output::check_folder(folder)?;
    }
    let ast = program.parse()?;
    request.declarations.language = program.language;
    Line::describe(&ast, &mut request.declarations);
    if program.language == Language::Rules {
        // Files that do not tell their sizes have those that rules say.
        for (name, dims) in stur::sizes(&program.text, &request.declarations) {
            if request.givens.contains_key(&name) {
                request.declarations.dims.entry(name).or_insert(dims);
            }
        }
    }
    request.give_read(&ast);
    inputs::choose_pattern_formats(&ast, &mut request);
    let mut declarations = request.declarations.clone();
    if values == Values::All {
        declarations.inputs = Some(request.givens.keys().cloned().collect());
    }
    leave_open(&request, values, &ast, &mut declarations);
    // Rules cannot be checked before all sizes are known.
    let indices = match program.language {
        Language::Statements => {
            check_early(program, &declarations)?;
            index_tensors(&program.text, &declarations)
        }
        _ => BTreeSet::new(),
    };
    check_outputs(&request, args, &ast)?;
    inputs::declare_by_actions(&ast, &indices, &request, &mut declarations);
    let mut times = LoadTimes::default();
    let progress = std::io::stderr().is_terminal();
    let mut read = inputs::load(&ast, (&request, &indices), progress, &mut times)?;
    for input in &read {
        declare(&mut declarations, input);
    }
    for (name, given) in &request.givens {
        let order = crate::program::order_of(&ast, &declarations, name);
        if let (Origin::Generated(kind), Some(order)) = (&given.origin, order) {
            let format = || kind.format(order).into();
            declarations.formats.entry(name.clone()).or_insert_with(format);
        }
    }
    if values == Values::All {
        let checked = check(&program.text, &declarations).map_err(|mistakes| program.mistakes(mistakes))?;
        let made = inputs::make(program, &checked, &request, args.seed, &mut times)?;
        for input in &made {
            declare(&mut declarations, input);
        }
        read.extend(made);
    }
    structured::apply(program, &request, &mut declarations, &mut read)?;
    let mut options = options(&request, args, declarations);
    for input in &mut read {
        if inputs::choose_format((program, &request), &options, input, &mut times)? {
            declare(&mut options.declarations, input);
        }
    }
    // Shipped kernels take whole tensors, unless the flags say otherwise.
    match values {
        Values::All => structured::keep_unique(program, &mut options.declarations, &mut read)?,
        Values::FilesOnly => options.declarations.unique.clone_from(&request.unique),
    }
    Ok(Prepared { request, inputs: read, options, times })
}

/// The options of the flags.
fn options(request: &Request, args: &ProgramArgs, declarations: Declarations) -> Options {
    Options {
        declarations,
        backend: request.backend,
        search: request.search,
        schedule: request.schedule.as_str().into(),
        threads: args.threads.map(|threads| threads as usize),
        machine: args.machine.clone(),
        strict: args.strict,
        tuned: !args.no_tuned,
        reuse: !args.no_cache,
        base: request.base,
        // They have been compared.
        structures_hold: true,
        emit: request.stages.iter().map(|stage| stage.0.to_string()).collect(),
        ..Options::default()
    }
}

/// Takes inputs whose format is chosen from their entries as stored in rows until these are known.
fn leave_open(request: &Request, values: Values, ast: &Ast, declarations: &mut Declarations) {
    for (name, given) in &request.givens {
        let known = values == Values::All || !matches!(given.origin, Origin::Generated(_));
        let order = crate::program::indices_of(ast, name).map(|indices| indices.len());
        let open = declarations.formats.get_mut(name).filter(|spec| known && spec.uses().is_some());
        if let (Some(spec), Some(order)) = (open, order) {
            let is_pattern = declarations.dtypes.get(name) == Some(&DType::Pattern);
            let format = if is_pattern { inputs::pattern_format(order) } else { inputs::listed_format(order) };
            *spec = format.into();
        }
    }
}

/// Tells mistakes of names, formats and statements before files are read. Types, sizes, facts that follow from them and the tensors that no
/// statement has wait for the files'.
fn check_early(program: &Program, declarations: &Declarations) -> Result<(), Failure> {
    let Err(mut mistakes) = check(&program.text, declarations) else { return Ok(()) };
    mistakes.retain(|mistake| {
        let of_files = ["E0214", "E0301", "E0302", "E0609", "E0610", "E0612", "E0620"];
        let waits = of_files.contains(&mistake.code) || mistake.code.starts_with("E05");
        !waits || mistake.category != Category::User
    });
    if mistakes.is_empty() { Ok(()) } else { Err(program.mistakes(mistakes)) }
}

/// Declares the facts that an input tells of itself.
pub(crate) fn declare(declarations: &mut Declarations, input: &Input) {
    let options = Options { declarations: std::mem::take(declarations), ..Options::default() };
    *declarations = options.tensor(&input.name, &input.tensor).declarations;
}

/// Asks that every output is a result, and that its file can be written.
fn check_outputs(request: &Request, args: &ProgramArgs, ast: &Ast) -> Result<(), Failure> {
    let mut results: Vec<&str> = ast.statements.iter().map(|statement| statement.name.text.as_str()).collect();
    Action::visit(&ast.body, &mut |action| {
        if let ActionKind::Swap(a, b) = &action.kind {
            results.extend([a.text.as_str(), b.text.as_str()]);
        }
    });
    match request.outputs.iter().find(|(name, _)| !results.contains(&name.as_str())) {
        None => {
            let mut files = args.outputs.iter().zip(&request.outputs);
            files.try_for_each(|(value, (name, file))| {
                let order = crate::program::indices_of(ast, name).map(|indices| indices.len());
                crate::output::check_tensor(value, file, order)
            })
        }
        Some((name, _)) => {
            let diagnostic = lacunar::Diagnostic::error("E1013", format!("`{name}` is not a result of the program"))
                .label(lacunar_base::Span::new(0, name.len()), "not assigned to")
                .hint(format!("results: {}", results.join(", ")));
            Err(Failure::text(name, "-o", diagnostic))
        }
    }
}

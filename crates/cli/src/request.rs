//! The values of the flags; nothing is looked up in files or in the program yet.

use indexmap::{IndexMap, IndexSet};
use lacunar::{Backend, Diagnostic, Proposal, Search, Stage};
use lacunar_base::Span;
use lacunar_front::Declarations;
use lacunar_front::einsum::{ActionKind, Ast};
use lacunar_front::options::{self, Scalar, Source};
use lacunar_front::structure;
use lacunar_runtime::io::IndexBase;
use lacunar_runtime::random::Generator;

use crate::args::ProgramArgs;
use crate::failure::Failure;
use crate::program::read_text;

/// The origin of an input's values.
#[derive(Clone, Debug, PartialEq)]
pub enum Origin {
    /// A file.
    File(String),
    /// The flag itself.
    Value(Scalar),
    /// They are made up.
    Generated(Generator),
}

/// An input, and the flag that gives it.
#[derive(Clone, Debug)]
pub struct Given {
    /// The origin of its values.
    pub origin: Origin,
    /// `-i` or `-g`, or the program's own `read`.
    pub flag: &'static str,
    /// The flag's value.
    pub value: String,
}

impl Given {
    /// A mistake in the flag.
    pub fn mistake(&self, label: String, diagnostic: Diagnostic) -> Failure {
        let diagnostic = diagnostic.label(Span::new(0, self.value.len()), label);
        Failure::text(&self.value, self.flag, diagnostic)
    }
}

/// A value of `-s`, or the content of the file that it names.
#[derive(Clone, Debug, PartialEq)]
pub struct ScheduleText {
    /// A file's name, or `-s`.
    pub origin: String,
    /// Commands, or `auto` or `none`.
    pub text: String,
}

/// The request that the flags make.
#[derive(Debug)]
pub struct Request {
    /// Formats, types, fill values and sizes; every size stands under `dims`, whatever it is of.
    pub declarations: Declarations,
    /// Every input, in order of the flags.
    pub givens: IndexMap<String, Given>,
    /// The structured tensors that are given by their unique elements alone.
    pub unique: IndexSet<String>,
    /// The first index of files that do not tell.
    pub base: IndexBase,
    /// Results and their files.
    pub outputs: Vec<(String, String)>,
    /// Stages to print, in order of the pipeline.
    pub stages: Vec<Stage>,
    /// It decides everything that the schedule leaves open.
    pub search: Search,
    /// Transformations of the loops, as text.
    pub schedule: String,
    /// The values of `-s`, each by itself.
    pub schedules: Vec<ScheduleText>,
    /// The back end that makes the code.
    pub backend: Backend,
}

impl Request {
    /// Reads the flags of `run` and `compile`, but for `-o`.
    ///
    /// # Errors
    /// The first mistake in a flag's value, or what is asked for is not available yet.
    pub fn new(args: &ProgramArgs) -> Result<Request, Failure> {
        let schedules = args.schedules.iter().map(|value| schedule_text(value)).collect::<Result<Vec<_>, _>>()?;
        let (search, schedule) = schedule(&schedules);
        let mut request = Request {
            declarations: Declarations::new(),
            givens: IndexMap::new(),
            unique: args.unique.iter().cloned().collect(),
            base: args.files.base(),
            outputs: Vec::new(),
            stages: Vec::new(),
            search,
            schedule,
            schedules,
            backend: args.backend.as_deref().map_or(Ok(Backend::default()), backend)?,
        };
        for value in &args.formats {
            let (name, format) = options::format(value).map_err(in_flag("-f", value))?;
            request.declarations.formats.insert(name, format);
        }
        for value in &args.types {
            let (name, dtype) = options::dtype(value).map_err(in_flag("-t", value))?;
            request.declarations.dtypes.insert(name, dtype);
        }
        for value in &args.fills {
            let (name, fill) = options::fill(value).map_err(in_flag("--fill", value))?;
            request.declarations.fills.insert(name, fill);
        }
        for value in &args.sizes {
            let (name, sizes) = options::sizes(value).map_err(in_flag("-d", value))?;
            request.declarations.dims.insert(name, sizes);
        }
        for value in &args.inputs {
            let (name, source) = options::input(value).map_err(in_flag("-i", value))?;
            let origin = match source {
                Source::File(file) => Origin::File(file),
                Source::Value(scalar) => Origin::Value(scalar),
            };
            request.give("-i", value, name, origin)?;
        }
        for value in &args.generators {
            let (name, kind) = options::generator(value).map_err(in_flag("-g", value))?;
            request.give("-g", value, name, Origin::Generated(kind))?;
        }
        for value in &args.structures {
            let (name, spec) = structure::parse(value).map_err(in_flag("-p", value))?;
            if request.declarations.structures.insert(name.clone(), spec).is_some() {
                let diagnostic = Diagnostic::error("E1022", format!("two structures are declared for `{name}`"))
                    .label(Span::new(0, value.len()), "the second one")
                    .hint("write one rule with several parts: `-p 'A(i,j): i <= j; j <= i + 2'`");
                return Err(Failure::text(value, "-p", diagnostic));
            }
        }
        request.stages = stages(&args.emit)?;
        Ok(request)
    }

    /// Reads the flags that name files for results.
    ///
    /// # Errors
    /// The first mistake in a flag's value.
    pub fn read_outputs(&mut self, args: &ProgramArgs) -> Result<(), Failure> {
        for value in &args.outputs {
            let output = options::output(value).map_err(in_flag("-o", value))?;
            if output.1 == "-" && args.json {
                let diagnostic = Diagnostic::error("E1006", "standard output belongs to --json")
                    .label(Span::new(0, value.len()), "asks for standard output, too")
                    .hint("name a file");
                return Err(Failure::text(value, "-o", diagnostic));
            }
            self.outputs.push(output);
        }
        crate::output::distinct(
            args.outputs.iter().zip(&self.outputs).map(|(value, (_, file))| (value.as_str(), file.as_str())),
        )
    }

    fn give(&mut self, flag: &'static str, value: &str, name: String, origin: Origin) -> Result<(), Failure> {
        let given = Given { origin, flag, value: value.to_string() };
        if let Some(before) = self.givens.get(&name).filter(|before| before.flag != flag) {
            let diagnostic = Diagnostic::error("E1004", format!("`{name}` is given twice"))
                .hint("leave one of `-i` and `-g` away; of two flags of one kind, the last counts");
            return Err(given.mistake(format!("given by `{} {}` already", before.flag, before.value), diagnostic));
        }
        self.givens.insert(name, given);
        Ok(())
    }

    /// Gives the tensors that the program reads from files before it does anything else with them, unless a flag does: so their sizes,
    /// types and formats are known when the program is compiled.
    pub fn give_read(&mut self, ast: &Ast) {
        for action in &ast.body {
            match &action.kind {
                ActionKind::Read(name, file) if !self.givens.contains_key(&name.text) => {
                    let origin = Origin::File(file.clone());
                    self.givens.insert(name.text.clone(), Given { origin, flag: "read", value: file.clone() });
                }
                ActionKind::Read(..) | ActionKind::Clock(_) => {}
                _ => return,
            }
        }
    }

    /// The values of `-s`, each a schedule of its own. `auto` and `none` apply to the schedules that follow.
    pub fn proposals(&self) -> Vec<Proposal> {
        let mut search = Search::default();
        let mut proposals = Vec::new();
        for value in &self.schedules {
            match search_word(&value.text) {
                Some(word) => search = word,
                None => proposals.push(Proposal { search, schedule: value.text.as_str().into() }),
            }
        }
        proposals
    }

    /// The origin of a schedule's text: the file, or the flag.
    pub fn origin_of(&self, schedule: &str) -> &str {
        self.schedules.iter().find(|value| value.text == schedule).map_or("-s", |value| &value.origin)
    }

    /// The sizes that are declared for a tensor: under its own name, or under those of all its variables.
    pub fn declared_dims(&self, ast: &Ast, tensor: &str) -> Option<Vec<u64>> {
        let dims = &self.declarations.dims;
        if let Some(sizes) = dims.get(tensor) {
            return Some(sizes.clone());
        }
        let variables = crate::program::indices_of(ast, tensor)?;
        let size = |variable: Option<String>| match dims.get(&variable?)?.as_slice() {
            &[size] => Some(size),
            _ => None,
        };
        variables.into_iter().map(size).collect()
    }
}

/// Puts a mistake into the flag that it is in.
fn in_flag(flag: &str, value: &str) -> impl FnOnce(Diagnostic) -> Failure {
    move |diagnostic| Failure::text(value, flag, diagnostic)
}

fn not_yet(what: &str) -> Diagnostic {
    Diagnostic::error("E1001", format!("{what} not available yet"))
}

/// Reads a value of `-s`: `@FILE` stands for the content of the file.
fn schedule_text(value: &str) -> Result<ScheduleText, Failure> {
    Ok(match value.trim().strip_prefix('@') {
        Some(file) => ScheduleText { origin: file.to_string(), text: read_text(file, "commands of a schedule")? },
        None => ScheduleText { origin: "-s".to_string(), text: value.to_string() },
    })
}

/// The search that a schedule of one word names.
fn search_word(text: &str) -> Option<Search> {
    match text.trim() {
        "auto" => Some(Search::Cost),
        "none" => Some(Search::Plain),
        _ => None,
    }
}

/// The values of `-s` together. `auto` and `none` begin anew.
fn schedule(values: &[ScheduleText]) -> (Search, String) {
    let (mut search, mut commands) = (Search::default(), Vec::new());
    for value in values {
        if let Some(word) = search_word(&value.text) {
            search = word;
            commands.clear();
        } else {
            commands.push(value.text.as_str());
        }
    }
    // In a file, the last line may end with a comment.
    let separator = if commands.iter().any(|text| text.contains('\n')) { "\n" } else { ", " };
    (search, commands.join(separator))
}

fn backend(name: &str) -> Result<Backend, Failure> {
    let place = Span::new(0, name.len());
    match name {
        "llvm" if cfg!(feature = "llvm") => Ok(Backend::Llvm),
        "c" => Ok(Backend::C),
        "interp" => Ok(Backend::Interpreter),
        "llvm" | "cuda" => {
            let diagnostic =
                Diagnostic::error("E1002", format!("the back end `{name}` is not available in this build"))
                    .label(place, "not in this build")
                    .hint(if cfg!(feature = "llvm") { "use `llvm`, `c` or `interp`" } else { "use `c` or `interp`" });
            Err(Failure::text(name, "--backend", diagnostic))
        }
        _ => {
            let diagnostic = Diagnostic::error("E1003", format!("there is no back end `{name}`"))
                .label(place, "not a back end")
                .hint("back ends: llvm c interp");
            Err(Failure::text(name, "--backend", diagnostic))
        }
    }
}

/// The stages that are asked for, each once, in order of the pipeline.
fn stages(words: &[String]) -> Result<Vec<Stage>, Failure> {
    let names: Vec<&str> = Stage::ALL.iter().map(|stage| stage.0).collect();
    for word in words {
        let place = Span::new(0, word.len());
        if matches!(word.as_str(), "cuda" | "ptx") {
            let diagnostic = not_yet(&format!("the stage `{word}` is"))
                .label(place, "a stage to come")
                .hint(format!("stages: {} all", names.join(" ")));
            return Err(Failure::text(word, "--emit", diagnostic));
        }
        if word != "all" && !names.contains(&word.as_str()) {
            let diagnostic = Diagnostic::error("E1005", format!("there is no stage `{word}`"))
                .label(place, "not a stage")
                .hint(format!("stages: {} all", names.join(" ")));
            return Err(Failure::text(word, "--emit", diagnostic));
        }
    }
    Ok(Stage::ALL.into_iter().filter(|stage| words.iter().any(|word| word == "all" || word == stage.0)).collect())
}

//! Code for verified functions, by each back end.
//!
//! Compiling a program ends here, once for each function. Sizes are parameters of functions, so that functions of programs for
//! tensors of other sizes are often the same; the code of one that was compiled before is taken, from this process or from a folder
//! ([`Options::reuse`]). [`Kernel::regenerate`] comes here with the functions of several programs,
//! which the C back end prints into one file: starting a C compiler takes longer than compiling a kernel.
//!
//! ```
//! use lacunar::{Backend, Kernel, Optimization, Options};
//! # fn main() -> Result<(), lacunar::Error> {
//! let options = Options::new().backend(Backend::Interpreter);
//! let texts = ["y(i) = 2 * x(i)", "s = x(i) * x(i)"];
//! let mut kernels: Vec<Kernel> = texts.iter().map(|text| Kernel::compile(text, &options)).collect::<Result<_, _>>()?;
//! Kernel::regenerate(&mut kernels, Backend::C, Optimization::Least)?;
//! assert!(kernels.iter().all(|kernel| kernel.backend() == Some(Backend::C)));
//! # Ok(())
//! # }
//! ```

use std::collections::VecDeque;
#[cfg(feature = "llvm")]
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use lacunar_backend_c::{COptions, CcOptions, compile_shared, print_all};
use lacunar_compiler::lower::Phase;
use lacunar_imp::{Function, Verified};
use lacunar_machine::Machine;
use lacunar_notation::Program;
use lacunar_runtime::load::SharedKernel;
use lacunar_runtime::scratch::ScratchFolder;

use crate::compile::{Backend, Code};
use crate::error::Error;
use crate::kernel::Kernel;
use crate::options::{Optimization, Options};
#[cfg(feature = "llvm")]
use crate::store;

impl Kernel {
    /// Gives programs that are compiled already code by another back end, or with another options. The C compiler is called once
    /// for all of them, or twice where some forbid that sums are reassociated.
    ///
    /// # Errors
    /// The back end fails; the programs keep the code that they have.
    pub fn regenerate(kernels: &mut [Kernel], backend: Backend, optimization: Optimization) -> Result<(), Error> {
        let mut wanted = Vec::new();
        for kernel in &*kernels {
            for step in kernel.steps().iter().filter(|step| !step.is_conversion()) {
                wanted.push(Wanted::new(step.function(), kernel.program(), step.statement(), step.phase()));
            }
        }
        // Kernels that are made together are for one machine.
        let Some(machine) = kernels.first().map(|kernel| Arc::clone(kernel.machine())) else { return Ok(()) };
        let mut codes = generate(&wanted, backend, &CodeOptions::anew(optimization, &machine))?.into_iter();
        for step in kernels.iter_mut().flat_map(Kernel::steps_mut) {
            match step.code_mut() {
                Code::Conversion(_, wanted) => *wanted = backend,
                code => *code = codes.next().ok_or_else(|| Error::Internal("a function got no code".to_string()))?,
            }
        }
        Ok(())
    }
}

/// The options of making code.
#[derive(Clone, Debug)]
pub(crate) struct CodeOptions {
    pub optimization: Optimization,
    /// The machine that it is for.
    #[cfg(feature = "llvm")]
    pub machine: Arc<Machine>,
    /// True if code that was made before is taken, and new code is kept.
    pub reuse: bool,
    /// The folder in which it is kept for other processes.
    #[cfg(feature = "llvm")]
    pub folder: Option<PathBuf>,
}

impl CodeOptions {
    /// The part of a program's options that concerns code.
    pub fn of(options: &Options, machine: &Arc<Machine>) -> CodeOptions {
        #[cfg(not(feature = "llvm"))]
        let _ = machine;
        CodeOptions {
            optimization: options.optimization,
            #[cfg(feature = "llvm")]
            machine: Arc::clone(machine),
            reuse: options.reuse,
            #[cfg(feature = "llvm")]
            folder: store::folder(options).map(|folder| folder.join("code")),
        }
    }

    /// Code made anew.
    fn anew(optimization: Optimization, machine: &Arc<Machine>) -> CodeOptions {
        #[cfg(not(feature = "llvm"))]
        let _ = machine;
        CodeOptions {
            optimization,
            #[cfg(feature = "llvm")]
            machine: Arc::clone(machine),
            reuse: false,
            #[cfg(feature = "llvm")]
            folder: None,
        }
    }
}

/// A function of which code is wanted.
#[derive(Clone, Debug)]
pub(crate) struct Wanted<'f> {
    function: &'f Verified<Function>,
    /// Its name in perf and gdb.
    #[cfg(feature = "llvm")]
    name: String,
}

impl<'f> Wanted<'f> {
    /// The function of a statement, or of one phase of it.
    pub fn new(function: &'f Verified<Function>, program: &Program, statement: usize, phase: Phase) -> Wanted<'f> {
        #[cfg(not(feature = "llvm"))]
        let _ = (program, statement, phase);
        Wanted {
            function,
            #[cfg(feature = "llvm")]
            name: shown_name(program, statement, phase),
        }
    }
}

/// The most characters of a name that perf and gdb show.
#[cfg(feature = "llvm")]
const LONGEST_NAME: usize = 100;

/// The name of a statement's code in perf and gdb: `lacunar::compute y(i)=A(i,j)*x(j)`.
#[cfg(feature = "llvm")]
fn shown_name(program: &Program, statement: usize, phase: Phase) -> String {
    let verb = if phase == Phase::Assemble { "assemble" } else { "compute" };
    let text = program.statements.get(statement).map_or_else(String::new, |found| program.statement_text(found));
    let name = format!("lacunar::{verb} {}", text.split_whitespace().collect::<String>());
    match name.char_indices().nth(LONGEST_NAME) {
        Some((end, _)) => format!("{}..", &name[..end]),
        None => name,
    }
}

/// The code of each function.
///
/// # Errors
/// The back end fails for one of them.
pub(crate) fn generate(wanted: &[Wanted<'_>], backend: Backend, options: &CodeOptions) -> Result<Vec<Code>, Error> {
    match backend {
        Backend::Llvm => wanted.iter().map(|wanted| by_llvm(wanted, options)).collect(),
        Backend::C if options.reuse => wanted.iter().map(|wanted| known_by_c(wanted.function, options)).collect(),
        Backend::C => by_c(wanted, options.optimization),
        Backend::Interpreter => Ok(wanted.iter().map(|_| Code::Interpreter).collect()),
    }
}

/// The code of a function from a library of its own.
fn known_by_c(function: &Verified<Function>, options: &CodeOptions) -> Result<Code, Error> {
    static KNOWN: Known<Optimization, SharedKernel> = Known::new();
    let make = || {
        let kernel = library(std::iter::once(function), options.optimization)?.pop();
        kernel.ok_or_else(|| Error::Internal("a function got no code".to_string()))
    };
    KNOWN.code(function, &options.optimization, make).map(Code::C)
}

/// One library of the functions that have to be computed as they are written, and one of the others.
fn by_c(wanted: &[Wanted<'_>], optimization: Optimization) -> Result<Vec<Code>, Error> {
    let mut codes: Vec<Option<Code>> = wanted.iter().map(|_| None).collect();
    for strict in [false, true] {
        let chosen: Vec<usize> = (0..wanted.len()).filter(|&place| wanted[place].function.strict == strict).collect();
        let library = library(chosen.iter().map(|&place| wanted[place].function), optimization)?;
        for (place, kernel) in chosen.into_iter().zip(library) {
            codes[place] = Some(Code::C(Arc::new(kernel)));
        }
    }
    Ok(codes.into_iter().flatten().collect())
}

/// The kernels of a shared library that a C compiler makes.
fn library<'f>(
    functions: impl ExactSizeIterator<Item = &'f Verified<Function>>,
    optimization: Optimization,
) -> Result<Vec<SharedKernel>, Error> {
    if functions.len() == 0 {
        return Ok(Vec::new());
    }
    let failed = |error: &dyn std::fmt::Display| Error::Backend(error.to_string());
    let source = print_all(functions, &COptions { comments: false, ..COptions::default() });
    let dir = ScratchFolder::new().map_err(|error| failed(&error))?;
    let optimization = if optimization == Optimization::Least { 1 } else { 3 };
    let options = CcOptions { optimization, ..CcOptions::default() };
    let path = compile_shared(&source, &options, dir.path()).map_err(|error| failed(&error))?;
    // The system loads a library once and counts who needs it.
    let open = |symbol: &String| SharedKernel::open(&path, symbol).map_err(|error| failed(&error));
    source.symbols.iter().map(open).collect()
}

#[cfg(feature = "llvm")]
fn by_llvm(Wanted { function, name }: &Wanted<'_>, options: &CodeOptions) -> Result<Code, Error> {
    use lacunar_backend_llvm::{CompileOptions, JitKernel, Optimization as Passes, compile, compile_stored};
    static KNOWN: Known<CompileOptions, JitKernel> = Known::new();
    let optimization = match options.optimization {
        Optimization::Least => Passes::None,
        Optimization::Usual => Passes::Kernel,
        Optimization::Most => Passes::Full,
    };
    let asked = CompileOptions { optimization, ..CompileOptions::of(&options.machine) };
    if !options.machine.instructions.runs_here() {
        return Ok(Code::Foreign(options.machine.name.clone()));
    }
    let make = || {
        let made = match options.folder.as_deref().filter(|_| options.reuse) {
            Some(folder) => compile_stored(function, &asked, folder),
            None => compile(function, &asked),
        };
        let mut made = made.map_err(|error| Error::Backend(error.to_string()))?;
        made.show(name);
        Ok(made)
    };
    let code = if options.reuse { KNOWN.code(function, &asked, make)? } else { Arc::new(make()?) };
    Ok(Code::Llvm(code))
}

#[cfg(not(feature = "llvm"))]
fn by_llvm(_wanted: &Wanted<'_>, _options: &CodeOptions) -> Result<Code, Error> {
    Err(Error::Backend("this build has no LLVM; use the back end `c` or `interp`".to_string()))
}

/// The number of kernels that a process keeps, for each back end.
const CAPACITY: usize = 256;

/// Code that this process has made or loaded: the text of its function tells it, and the options `O` of the back end.
struct Known<O, T>(Mutex<VecDeque<(String, O, Arc<T>)>>);

impl<O: Clone + PartialEq, T> Known<O, T> {
    const fn new() -> Known<O, T> {
        Known(Mutex::new(VecDeque::new()))
    }

    /// The code of a function, made by `make` if it is not known.
    fn code(
        &self,
        function: &Verified<Function>,
        options: &O,
        make: impl FnOnce() -> Result<T, Error>,
    ) -> Result<Arc<T>, Error> {
        let text = function.to_string();
        // Entries are only added whole. Nobody waits while code is made.
        let all = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |(known, made_with, _): &&(String, O, Arc<T>)| made_with == options && *known == text;
        if let Some((.., code)) = all().iter().rev().find(is_it) {
            return Ok(Arc::clone(code));
        }
        let code = Arc::new(make()?);
        let mut all = all();
        if all.len() >= CAPACITY {
            all.pop_front();
        }
        all.push_back((text, options.clone(), Arc::clone(&code)));
        Ok(code)
    }
}

//! Code for verified functions: what each back end makes of them.
//!
//! Compiling a program ends here, once for each function. [`Kernel::regenerate`] comes here with the functions of several programs,
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

use lacunar_backend_c::{COptions, CcOptions, compile_shared, print_all};
use lacunar_imp::{Function, Verified};
use lacunar_runtime::load::SharedKernel;
use lacunar_runtime::scratch::ScratchFolder;

use crate::compile::{Backend, Code, Step};
use crate::error::Error;
use crate::kernel::Kernel;
use crate::options::Optimization;

impl Kernel {
    /// Gives programs that are compiled already code by another back end, or with another effort. The C compiler is called once
    /// for all of them, or twice where some forbid that sums are reassociated.
    ///
    /// # Errors
    /// The back end fails; the programs keep the code that they have.
    pub fn regenerate(kernels: &mut [Kernel], backend: Backend, optimization: Optimization) -> Result<(), Error> {
        let all = || kernels.iter().flat_map(Kernel::steps);
        let functions: Vec<_> = all().filter(|step| !step.is_conversion()).map(Step::function).collect();
        let mut codes = generate(&functions, backend, optimization)?.into_iter();
        for step in kernels.iter_mut().flat_map(Kernel::steps_mut) {
            match step.code_mut() {
                Code::Conversion(_, wanted) => *wanted = backend,
                code => *code = codes.next().ok_or_else(|| Error::Internal("a function got no code".to_string()))?,
            }
        }
        Ok(())
    }
}

/// The code of each function.
///
/// # Errors
/// The back end fails for one of them.
pub(crate) fn generate(
    functions: &[&Verified<Function>],
    backend: Backend,
    optimization: Optimization,
) -> Result<Vec<Code>, Error> {
    match backend {
        Backend::Llvm => functions.iter().map(|function| by_llvm(function, optimization)).collect(),
        Backend::C => by_c(functions, optimization),
        Backend::Interpreter => Ok(functions.iter().map(|_| Code::Interpreter).collect()),
    }
}

/// One library of the functions that have to be computed as they are written, and one of the others.
fn by_c(functions: &[&Verified<Function>], optimization: Optimization) -> Result<Vec<Code>, Error> {
    let mut codes: Vec<Option<Code>> = functions.iter().map(|_| None).collect();
    for strict in [false, true] {
        let chosen: Vec<usize> = (0..functions.len()).filter(|&place| functions[place].strict == strict).collect();
        let library = library(chosen.iter().map(|&place| functions[place]), optimization)?;
        for (place, kernel) in chosen.into_iter().zip(library) {
            codes[place] = Some(Code::C(kernel));
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
fn by_llvm(function: &Verified<Function>, optimization: Optimization) -> Result<Code, Error> {
    use lacunar_backend_llvm::{CompileOptions, Optimization as Passes};
    let optimization = match optimization {
        Optimization::Least => Passes::None,
        Optimization::Usual => Passes::Kernel,
        Optimization::Most => Passes::Full,
    };
    let options = CompileOptions { optimization, ..CompileOptions::default() };
    let kernel =
        lacunar_backend_llvm::compile(function, &options).map_err(|error| Error::Backend(error.to_string()))?;
    Ok(Code::Llvm(kernel))
}

#[cfg(not(feature = "llvm"))]
fn by_llvm(_function: &Verified<Function>, _optimization: Optimization) -> Result<Code, Error> {
    Err(Error::Backend("this build has no LLVM; use the back end `c` or `interp`".to_string()))
}

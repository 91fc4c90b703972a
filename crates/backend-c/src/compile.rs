//! The system's C compiler: from printed kernels to a shared library.
//!
//! The compiler is `$CC`, or `cc`. `$CC` may hold arguments after the name (`ccache gcc`), separated by blanks; no shell
//! sees it. Flags, and why NaN and infinity stay right under them:
//!
//! - `-fwrapv`: arithmetic on indices wraps, as the IR says.
//! - `-ffp-contract=fast` (strict: `off`): a product and a sum may be one instruction.
//! - `-fno-math-errno -fno-trapping-math`: nobody asks for `errno` or traps; results are the same.
//! - `-fcx-fortran-rules` (strict too): products of complex numbers by the textbook formula, quotients by Smith's.
//! - `-fopenmp`, if a kernel has directives for it. A compiler that refuses it gets the source without, and the loops are
//!   serial.
//! - `-fassociative-math -fno-signed-zeros`, only with [`CcOptions::reassociate`]: sums may be taken apart, so that loops
//!   over them become vector code. `-0.0` may become `0.0`, and `(a + b) - a` becomes `b` even where `a` is infinite:
//!   hence not the default.
//!
//! `-ffast-math` and `-ffinite-math-only` are never passed.
//!
//! ```no_run
//! # let kernel = lacunar_imp::verify(lacunar_imp::Builder::new("nothing").finish()).unwrap();
//! use lacunar_backend_c::{CcOptions, compile_shared, print};
//! let folder = tempfile::tempdir().unwrap();
//! let library = compile_shared(&print(&kernel, &Default::default()), &CcOptions::default(), folder.path()).unwrap();
//! // Load the library; then the folder may go.
//! ```

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use thiserror::Error;

use crate::print::CSource;

/// The options of the C compiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CcOptions {
    /// The compiler and its first arguments; `$CC` or `cc` if empty.
    pub compiler: Vec<OsString>,
    /// `-O0` to `-O3`.
    pub optimization: u8,
    /// True if all instructions of this machine are used.
    pub native: bool,
    /// True if sums may be reassociated, unless a kernel is strict. C compilers then drop terms that cancel, infinite or not.
    pub reassociate: bool,
    /// Further flags, after the others.
    pub flags: Vec<OsString>,
}

impl Default for CcOptions {
    fn default() -> Self {
        CcOptions { compiler: Vec::new(), optimization: 3, native: true, reassociate: false, flags: Vec::new() }
    }
}

/// The reason why there is no library.
#[derive(Debug, Error)]
pub enum CcError {
    /// The compiler could not be started.
    #[error("the C compiler `{compiler}` could not be started (set CC to another one)")]
    NotStarted {
        /// Its name.
        compiler: String,
        /// The reason.
        #[source]
        source: io::Error,
    },
    /// The compiler refused the source.
    #[error("the C compiler failed: {command}\n{message}")]
    Failed {
        /// The command that was run.
        command: String,
        /// The compiler's message.
        message: String,
    },
    /// A file could not be written.
    #[error("could not write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The reason.
        #[source]
        source: io::Error,
    },
}

/// Compiles kernels into a shared library in the folder `dir`, next to their header and source; gives its path.
///
/// Files of the same names are replaced: pass a folder of its own (`tempfile::tempdir()`), which may be removed as soon
/// as the library is loaded.
pub fn compile_shared(source: &CSource, options: &CcOptions, dir: &Path) -> Result<PathBuf, CcError> {
    compile(source, options, dir, "so")
}

/// Compiles kernels into an object file of the folder, as [`compile_shared`] does into a library.
///
/// # Errors
/// As [`compile_shared`].
pub fn compile_object(source: &CSource, options: &CcOptions, dir: &Path) -> Result<PathBuf, CcError> {
    compile(source, options, dir, "o")
}

/// Makes a shared library of an object file.
///
/// # Errors
/// The compiler, which calls the linker, can't be started or refuses.
pub fn link_shared(object: &Path, library: &Path, options: &CcOptions) -> Result<(), CcError> {
    let mut command = cc(options);
    command.args(["-shared", "-pthread", "-o"]).arg(library).arg(object).args(&options.flags).arg("-lm");
    run(command)
}

/// Compiles to a file with an extension: `so`, a shared library, or `o`, an object.
fn compile(source: &CSource, options: &CcOptions, dir: &Path, extension: &str) -> Result<PathBuf, CcError> {
    // An absolute path can't be taken for an option.
    let dir = std::path::absolute(dir).map_err(|source| CcError::Write { path: dir.to_path_buf(), source })?;
    let file = |extension: &str| dir.join(format!("{}.{extension}", source.file_name));
    let (header_path, source_path, output_path) = (file("h"), file("c"), file(extension));
    for (path, text) in [(&header_path, &source.header), (&source_path, &source.source)] {
        std::fs::write(path, text).map_err(|source| CcError::Write { path: path.clone(), source })?;
    }
    let compile = |openmp: &[&str]| {
        let mut command = cc(options);
        command.args(flags(source.strict, options)).args(openmp);
        command.args(["-fPIC", if extension == "o" { "-c" } else { "-shared" }, "-o"]);
        command.arg(&output_path).arg(&source_path).args(&options.flags);
        if extension == "so" {
            command.arg("-lm");
        }
        run(command)
    };
    let done = match compile(if source.openmp { &["-fopenmp"] } else { &[] }) {
        Err(CcError::Failed { .. }) if source.openmp => compile(&[]),
        done => done,
    };
    done.map(|()| output_path.clone())
}

/// The compiler with its first arguments.
fn cc(options: &CcOptions) -> Command {
    let mut words = compiler(options).into_iter();
    let mut command = Command::new(words.next().unwrap_or_else(|| OsString::from("cc")));
    command.args(words);
    command
}

fn run(mut command: Command) -> Result<(), CcError> {
    let output = command.output().map_err(|source| CcError::NotStarted {
        compiler: command.get_program().to_string_lossy().into_owned(),
        source,
    })?;
    if output.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(CcError::Failed { command: format!("{command:?}"), message })
}

fn compiler(options: &CcOptions) -> Vec<OsString> {
    if !options.compiler.is_empty() {
        return options.compiler.clone();
    }
    let cc = std::env::var("CC").unwrap_or_default();
    cc.split_whitespace().map(OsString::from).collect()
}

/// The flags that give C the meaning of the IR, and make it fast.
fn flags(strict: bool, options: &CcOptions) -> Vec<String> {
    let mut flags: Vec<String> = ["-std=c99", "-fwrapv", "-fno-math-errno", "-fno-trapping-math", "-fcx-fortran-rules"]
        .map(String::from)
        .to_vec();
    flags.push(format!("-O{}", options.optimization.min(3)));
    flags.push(format!("-ffp-contract={}", if strict { "off" } else { "fast" }));
    if options.native {
        flags.push("-march=native".to_string());
    }
    if options.reassociate && !strict {
        // With these, compilers take a power of one half for a square root, which is not that of -inf.
        flags.extend(
            ["-fassociative-math", "-fno-signed-zeros", "-fno-builtin-pow", "-fno-builtin-powf"].map(String::from),
        );
    }
    flags
}

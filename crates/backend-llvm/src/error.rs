//! Errors of compiling a kernel with LLVM. No error depends on the data that a kernel runs on.

use inkwell::builder::BuilderError;

/// The reason why a kernel could not be compiled.
#[derive(Debug, thiserror::Error)]
pub enum LlvmError {
    /// LLVM's library could not be loaded.
    #[error(
        "LLVM 19 was not found ({0}); install its library (Debian and Ubuntu: apt-get install libllvm19), name the file in the \
         environment variable LACUNAR_LLVM, or choose the C back end (`--backend c`, `Options::backend`)"
    )]
    Missing(String),
    /// The processor asked for is unknown, or LLVM was built without it.
    #[error("LLVM has no code generator for {0}")]
    Target(String),
    /// LLVM refused an instruction: a defect of the back end.
    #[error("LLVM refused an instruction: {0}")]
    Build(#[from] BuilderError),
    /// LLVM's verifier or passes refused the module: a defect of the back end.
    #[error("LLVM refused the module: {0}")]
    Module(String),
    /// The code could not be written.
    #[error("LLVM could not generate code: {0}")]
    Codegen(String),
    /// The code could not be loaded into the process.
    #[error("LLVM could not load the code: {0}")]
    Load(String),
    /// The function is not one that the verifier accepts.
    #[error("malformed function: {0}")]
    Malformed(&'static str),
    /// The kernel has the name of a function that it calls.
    #[error("a kernel cannot be named `{0}`: it calls the function of that name")]
    ReservedName(String),
}

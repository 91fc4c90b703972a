//! The options of code generation.
//!
//! ```
//! use lacunar_backend_llvm::{CompileOptions, Cpu};
//! let portable = CompileOptions { cpu: Cpu::Named("x86-64-v3".to_string()), ..CompileOptions::default() };
//! assert_ne!(portable, CompileOptions::default());
//! ```

use lacunar_machine::{InstructionSet, Machine, Tuning};

/// The options of compiling a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct CompileOptions {
    /// The processor the code is for.
    pub cpu: Cpu,
    /// The effort of LLVM on it.
    pub optimization: Optimization,
    /// The widest vectors to use, in bits; `None` leaves it to LLVM's tuning for the processor. (That is 256 on processors
    /// with AVX-512 of today; 512 makes products of CSR matrices with short rows slower, for the rows end up in the
    /// scalar remainder of the loop.)
    pub vector_width: Option<u32>,
    /// The choices that follow from the machine's costs.
    pub tuning: Tuning,
}

impl CompileOptions {
    /// Code for a machine, of the instructions that it has, chosen by their costs.
    ///
    /// ```
    /// use lacunar_backend_llvm::{CompileOptions, Cpu};
    /// use lacunar_machine::Machine;
    /// let zen4 = CompileOptions::of(&Machine::named("zen4").unwrap());
    /// assert_eq!(zen4.cpu, Cpu::Named("x86-64-v4".to_string()));
    /// ```
    pub fn of(machine: &Machine) -> CompileOptions {
        let baseline = |level: &str| Cpu::BASELINES.iter().find(|name| **name == level).or(Cpu::BASELINES.first());
        let named = |level: &str| baseline(level).map_or(Cpu::Host, |name| Cpu::Named((*name).to_string()));
        let cpu = match machine.instructions {
            InstructionSet::Host => Cpu::Host,
            InstructionSet::Baseline => named("x86-64"),
            InstructionSet::V2 => named("x86-64-v2"),
            InstructionSet::V3 => named("x86-64-v3"),
            InstructionSet::V4 => named("x86-64-v4"),
        };
        CompileOptions { cpu, tuning: machine.tuning(), ..CompileOptions::default() }
    }
}

/// A processor of the host's architecture.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Cpu {
    /// The one the process runs on, with all its features.
    #[default]
    Host,
    /// A portable baseline by its name, one of [`Cpu::BASELINES`].
    Named(String),
}

impl Cpu {
    /// The names of baselines of this architecture. LLVM knows more names, but ends the process for one it does not know.
    pub const BASELINES: &[&str] =
        if cfg!(target_arch = "x86_64") { &["x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"] } else { &["generic"] };

    /// The versions that a kernel is shipped in, from the least to the best.
    pub const VERSIONS: &[Version] = if cfg!(target_arch = "x86_64") {
        &[
            Version { name: "x86_64", cpu: "x86-64", machine: "generic" },
            Version { name: "x86_64_v3", cpu: "x86-64-v3", machine: "generic-v3" },
            Version { name: "x86_64_v4", cpu: "x86-64-v4", machine: "generic-v4" },
        ]
    } else {
        &[Version { name: "generic", cpu: "generic", machine: "generic" }]
    };
}

/// A kind of processor that a version of a shipped kernel is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// The ending of its symbols.
    pub name: &'static str,
    /// The least processor, one of [`Cpu::BASELINES`].
    pub cpu: &'static str,
    /// The costs by which its code is chosen, a name of [`Machine::named`].
    pub machine: &'static str,
}

impl Version {
    /// True if the processor of this process runs it.
    pub fn runs_here(&self) -> bool {
        Machine::named(self.machine).is_none_or(|machine| machine.instructions.runs_here())
    }
}

/// The effort of LLVM on a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Optimization {
    /// As little as possible.
    None,
    /// The passes that matter for kernels (see `optimize.rs`): the speed of `Full` at a fraction of the time.
    #[default]
    Kernel,
    /// LLVM's `default<O3>`, where a function can have all of it.
    Full,
}

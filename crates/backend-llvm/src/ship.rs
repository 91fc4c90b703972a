//! Kernels to be taken elsewhere: one module with each kernel in several versions, the choice between them, and the
//! functions of the runtime table that they need.
//!
//! A kernel that is compiled in its process is tuned to the processor there. One that is shipped meets processors that
//! are not known yet, so it is emitted and optimized once for each of [`Cpu::VERSIONS`], with vectors as wide as that
//! version's; its entry point asks the processor once (`ship/x86_64.ll`) and remembers the answer.
//!
//! ```text
//! spmv                    calls the best of the following that the processor runs
//! spmv_x86_64             SSE2
//! spmv_x86_64_v3          AVX2, FMA
//! spmv_x86_64_v4          AVX-512
//! lac.table, ...          local: functions of the runtime table, for callers that pass none (`ship/runtime.ll`)
//! ```
//!
//! All of these take a kernel's argument words (see the [crate]); only `args[0]` may be null. They remain to be linked
//! with the C library, its mathematics and POSIX threads.

use inkwell::attributes::AttributeLoc;
use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::{Linkage, Module};
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::{FileType, TargetMachine};
use lacunar_formats::{DType, Kind};
use lacunar_imp::{Function, VarId, Verified};
use lacunar_machine::{Machine, Tuning};

use crate::emit::{Emitted, Needs, RUNTIME_FUNCTIONS, Table, emit};
use crate::machine::{filling, generate, target_machine};
use crate::optimize::optimize;
use crate::options::Version;
use crate::{CompileOptions, Cpu, LlvmError};

/// A kernel to be shipped.
#[derive(Clone, Copy, Debug)]
pub struct Shipped<'f> {
    /// The code.
    pub function: &'f Verified<Function>,
    /// The name of its entry point, an identifier of C that is not the C library's.
    pub symbol: &'f str,
    /// The parameter that tells how many threads may share a loop; where there is none, it is the number of processors.
    pub threads: Option<VarId>,
}

/// The forms in which shipped kernels are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A relocatable object file.
    Object,
    /// Assembly.
    Assembly,
    /// LLVM IR.
    Ir,
}

/// Compiles kernels to be linked into somebody's program.
pub fn ship(kernels: &[Shipped<'_>], form: Form) -> Result<Vec<u8>, LlvmError> {
    let oldest = options(&Cpu::VERSIONS[0]);
    let baseline = target_machine(&oldest, oldest.tuning.filling)?;
    let context = Context::create();
    let whole = context.create_module("lacunar");
    prepare(&whole, &baseline);
    let mut used = [false; RUNTIME_FUNCTIONS.len()];
    let mut texts = Vec::new();
    for kernel in kernels {
        for version in Cpu::VERSIONS {
            let symbol = version_symbol(kernel.symbol, version);
            let (module, needs) = one_version(&context, kernel, &symbol, version)?;
            used.iter_mut().zip(needs).for_each(|(used, needed)| *used |= needed);
            whole.link_in_module(module).map_err(refused)?;
        }
        if Cpu::VERSIONS.len() > 1 {
            texts.push(entry_point(kernel.symbol));
        }
    }
    if Cpu::VERSIONS.len() > 1 {
        texts.push(include_str!("ship/x86_64.ll").to_string());
    }
    if used.contains(&true) {
        texts.push(runtime(&used));
    }
    let support = parse(&context, &texts.concat())?;
    prepare(&support, &baseline);
    support.verify().map_err(refused)?;
    optimize(&support, Needs { loops: true, scalars: false }, &baseline, &oldest)?;
    whole.link_in_module(support).map_err(refused)?;
    // The kernels find the table by its name, which is of no concern to others.
    if let Some(table) = whole.get_function("lac.table") {
        table.set_linkage(Linkage::Internal);
    }
    whole.run_passes("globaldce", &baseline, PassBuilderOptions::create()).map_err(refused)?;
    whole.verify().map_err(refused)?;
    Ok(match form {
        Form::Object => generate(&baseline, &whole, FileType::Object)?.as_slice().to_vec(),
        Form::Assembly => {
            let buffer = generate(&baseline, &whole, FileType::Assembly)?;
            // The buffer ends with a null that is not text.
            buffer.as_slice().strip_suffix(b"\0").unwrap_or(buffer.as_slice()).to_vec()
        }
        Form::Ir => whole.print_to_string().to_bytes().to_vec(),
    })
}

/// The symbol of one version of a kernel; the kernel's own where there is one only.
pub fn version_symbol(symbol: &str, version: &Version) -> String {
    if Cpu::VERSIONS.len() > 1 { format!("{symbol}_{}", version.name) } else { symbol.to_string() }
}

fn options(version: &Version) -> CompileOptions {
    let machine = Machine::named(version.machine);
    let tuning = machine.map_or_else(Tuning::default, |machine| machine.tuning());
    CompileOptions { cpu: Cpu::Named(version.cpu.to_string()), tuning, ..CompileOptions::default() }
}

/// A kernel for one kind of processor, and which functions of the runtime table it calls.
fn one_version<'ctx>(
    context: &'ctx Context,
    kernel: &Shipped<'_>,
    symbol: &str,
    version: &Version,
) -> Result<(Module<'ctx>, [bool; RUNTIME_FUNCTIONS.len()]), LlvmError> {
    let options = options(version);
    let machine = target_machine(&options, filling(kernel.function, &options))?;
    crate::emit::silence(context);
    let table = Table::OwnUnlessGiven { threads: kernel.threads };
    let Emitted { module, needs, called } = emit(context, kernel.function, symbol, (&machine, options.tuning), table)?;
    // The code generator sees all versions at once: each function tells its own processor.
    let cpu = context.create_string_attribute("target-cpu", version.cpu);
    for function in module.get_functions().filter(|function| function.count_basic_blocks() > 0) {
        function.add_attribute(AttributeLoc::Function, cpu);
    }
    optimize(&module, needs, &machine, &options)?;
    Ok((module, called))
}

/// The function that calls the version for the processor, which it looks for in its first call. Threads that do so at the
/// same time find the same.
fn entry_point(symbol: &str) -> String {
    let versions: Vec<String> = Cpu::VERSIONS.iter().map(|version| version_symbol(symbol, version)).collect();
    let declared: String = versions.iter().map(|version| format!("declare i32 @{version}(ptr)\n")).collect();
    let mut chosen = format!("@{}", versions[0]);
    let mut choices = String::new();
    for (level, version) in versions.iter().enumerate().skip(1) {
        choices += &format!(
            "  %above{level} = icmp sge i32 %level, {level}\n  \
             %best{level} = select i1 %above{level}, ptr @{version}, ptr {chosen}\n"
        );
        chosen = format!("%best{level}");
    }
    format!(
        "{declared}\
         @{symbol}.chosen = internal global ptr null\n\
         define i32 @{symbol}(ptr %args) nounwind {{\n\
         entry:\n  \
         %known = load atomic ptr, ptr @{symbol}.chosen monotonic, align 8\n  \
         %unknown = icmp eq ptr %known, null\n  \
         br i1 %unknown, label %choose, label %go\n\
         choose:\n  \
         %level = call i32 @lac.level()\n{choices}  \
         store atomic ptr {chosen}, ptr @{symbol}.chosen monotonic, align 8\n  \
         br label %go\n\
         go:\n  \
         %version = phi ptr [ %known, %entry ], [ {chosen}, %choose ]\n  \
         %status = tail call i32 %version(ptr %args)\n  \
         ret i32 %status\n\
         }}\n\n"
    )
}

/// The functions of the runtime table, and the table with those that are used.
fn runtime(used: &[bool]) -> String {
    let entries: Vec<String> = RUNTIME_FUNCTIONS
        .iter()
        .zip(used)
        .map(|(name, used)| if *used { format!("ptr @{name}") } else { "ptr null".to_string() })
        .collect();
    let table = format!("@lac.functions = internal constant [{} x ptr] [{}]\n\n", entries.len(), entries.join(", "));
    let shifts: String = DType::ALL.iter().filter(|ty| ty.is_integer()).map(|&ty| shift(ty)).collect();
    include_str!("ship/runtime.ll").replace("{online}", ONLINE) + &table + &shifts
}

/// The C library's number for "how many processors are there" (`_SC_NPROCESSORS_ONLN`).
const ONLINE: &str = if cfg!(target_os = "linux") { "84" } else { "58" };

/// Adds to integers of a type.
fn shift(ty: DType) -> String {
    let bits = 8 * ty.size();
    let (extend, limit) = match ty.kind() {
        Kind::Signed => ("sext", (1i128 << (bits - 1)) - 1),
        _ => ("zext", (1i128 << bits) - 1),
    };
    include_str!("ship/shift.ll")
        .replace("{name}", ty.name())
        .replace("{bits}", &bits.to_string())
        .replace("{extend}", extend)
        .replace("{limit}", &limit.to_string())
}

fn parse<'ctx>(context: &'ctx Context, text: &str) -> Result<Module<'ctx>, LlvmError> {
    let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "support");
    context.create_module_from_ir(buffer).map_err(refused)
}

fn prepare(module: &Module, machine: &TargetMachine) {
    module.set_triple(&machine.get_triple());
    module.set_data_layout(&machine.get_target_data().get_data_layout());
}

fn refused(message: impl std::fmt::Display) -> LlvmError {
    LlvmError::Module(message.to_string())
}

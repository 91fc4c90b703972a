//! Target machines, and their output for a function: LLVM IR, assembly, object files.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::OnceLock;

use inkwell::OptimizationLevel;
use inkwell::context::Context;
use inkwell::llvm_sys::support::LLVMParseCommandLineOptions;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use inkwell::targets::{
    CodeModel, FileType, InitializationConfig, RelocMode, Target, TargetMachine, TargetMachineOptions,
};
use lacunar_imp::{Function, Verified, loops};
use lacunar_machine::Filling;

use crate::emit::{Emitted, Table, emit, strided};
use crate::optimize::optimize;
use crate::{CompileOptions, Cpu, LlvmError, Optimization};

/// The processor of the machine, which the process looks up once.
struct Host {
    cpu: String,
    features: String,
}

/// The host, with LLVM's code generator for it ready; an error if LLVM has none.
fn host() -> Result<&'static Host, LlvmError> {
    static HOST: OnceLock<Option<Host>> = OnceLock::new();
    crate::library::load()?;
    let host = HOST.get_or_init(|| {
        let generator = InitializationConfig::default();
        #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
        Target::initialize_x86(&generator);
        #[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
        Target::initialize_native(&generator).ok()?;
        if cfg!(target_arch = "x86_64") {
            leave_counters_alone();
        }
        Some(Host {
            cpu: TargetMachine::get_host_cpu_name().to_string(),
            features: TargetMachine::get_host_cpu_features().to_string(),
        })
    });
    host.as_ref().ok_or_else(|| LlvmError::Target("this machine".to_string()))
}

/// Takes LLVM's loop strength reduction out of the code generator, for the whole process: there is no other way to. It takes a tenth
/// of a compilation, and replaces indices that x86's addressing modes compute for nothing by counters of their own. Measured in
/// turns on the benchmark's quick inputs (an Intel processor with AVX-512), kernels are as fast without it to within the noise, and
/// those that merge, such as counting triangles, up to 1.4 times as fast.
#[allow(unsafe_code)]
fn leave_counters_alone() {
    let arguments = [c"lacunar".as_ptr(), c"-disable-lsr".as_ptr()];
    // SAFETY: two C strings, which LLVM only reads; no other thread compiles yet, for each asks for the host first.
    unsafe { LLVMParseCommandLineOptions(arguments.len() as i32, arguments.as_ptr(), std::ptr::null()) };
}

/// LLVM's name of the processor that the process runs on, and its features.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn host_cpu() -> Result<(&'static str, &'static str), LlvmError> {
    host().map(|host| (host.cpu.as_str(), host.features.as_str()))
}

/// LLVM's passes join neighboring loads to gathers where the target has them, whatever these cost.
const NO_GATHERS: &str = "+prefer-no-gather";

/// The way in which LLVM's passes may fill vectors in a function. A function with loops over elements at a distance and without vector loops
/// never gathers.
pub(crate) fn filling(function: &Function, options: &CompileOptions) -> Filling {
    match loops::gather_scattered(function) {
        true => options.tuning.filling_scattered,
        false if strided::are_all(function) => Filling::Inserts,
        false => options.tuning.filling,
    }
}

/// The target machine for the options, and for vectors that are filled in a way. Reading the features of a processor takes LLVM as long as a small kernel's passes, so each
/// thread keeps the machines that it has made.
pub(crate) fn target_machine(options: &CompileOptions, filling: Filling) -> Result<Rc<TargetMachine>, LlvmError> {
    type Made = (Cpu, Optimization, Filling, Rc<TargetMachine>);
    thread_local!(static MADE: RefCell<Vec<Made>> = const { RefCell::new(Vec::new()) });
    let host = host()?;
    let (cpu, features) = match &options.cpu {
        Cpu::Host => (host.cpu.as_str(), host.features.as_str()),
        Cpu::Named(name) if Cpu::BASELINES.contains(&name.as_str()) => (name.as_str(), ""),
        Cpu::Named(name) => return Err(LlvmError::Target(name.clone())),
    };
    MADE.with_borrow_mut(|made| {
        let known = made
            .iter()
            .find(|(cpu, level, filled, _)| (cpu, *level, *filled) == (&options.cpu, options.optimization, filling));
        if let Some((.., machine)) = known {
            return Ok(Rc::clone(machine));
        }
        let features = match filling {
            Filling::Inserts if cfg!(target_arch = "x86_64") => format!("{features},{NO_GATHERS}"),
            _ => features.to_string(),
        };
        let machine = Rc::new(new_machine(cpu, &features, options.optimization)?);
        made.push((options.cpu.clone(), options.optimization, filling, Rc::clone(&machine)));
        Ok(machine)
    })
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
/// A target machine for the linker, which asks it for the layout of data and nothing about the processor.
pub(crate) fn plain_machine() -> Result<TargetMachine, LlvmError> {
    host()?;
    new_machine("", "", Optimization::None)
}

fn new_machine(cpu: &str, features: &str, optimization: Optimization) -> Result<TargetMachine, LlvmError> {
    let triple = TargetMachine::get_default_triple();
    let unknown = || LlvmError::Target(format!("{cpu} ({triple})"));
    let level = match optimization {
        Optimization::None => OptimizationLevel::None,
        Optimization::Kernel => OptimizationLevel::Default,
        Optimization::Full => OptimizationLevel::Aggressive,
    };
    let options = TargetMachineOptions::new()
        .set_cpu(cpu)
        .set_features(features)
        .set_level(level)
        .set_reloc_mode(RelocMode::PIC)
        .set_code_model(CodeModel::Default);
    let target = Target::from_triple(&triple).map_err(|_| unknown())?;
    target.create_target_machine_from_options(&triple, options).ok_or_else(unknown)
}

/// Emits and optimizes a function.
pub(crate) fn build<'ctx>(
    context: &'ctx Context,
    function: &Function,
    symbol: &str,
    machine: &TargetMachine,
    options: &CompileOptions,
) -> Result<Module<'ctx>, LlvmError> {
    crate::emit::silence(context);
    let Emitted { module, needs, .. } = emit(context, function, symbol, (machine, options.tuning), Table::Given)?;
    optimize(&module, needs, machine, options)?;
    Ok(module)
}

fn write(function: &Function, options: &CompileOptions, kind: FileType) -> Result<MemoryBuffer<'static>, LlvmError> {
    let machine = target_machine(options, filling(function, options))?;
    let context = Context::create();
    let module = build(&context, function, &function.name, &machine, options)?;
    generate(&machine, &module, kind)
}

/// Generates code for a module.
pub(crate) fn generate(
    machine: &TargetMachine,
    module: &Module,
    kind: FileType,
) -> Result<MemoryBuffer<'static>, LlvmError> {
    machine.write_to_memory_buffer(module, kind).map_err(|error| LlvmError::Codegen(error.to_string()))
}

/// The function as LLVM IR, optimized as the options say ([`Optimization::None`]: as emitted).
pub fn llvm_ir(function: &Verified<Function>, options: &CompileOptions) -> Result<String, LlvmError> {
    let machine = target_machine(options, filling(function, options))?;
    let context = Context::create();
    Ok(build(&context, function, &function.name, &machine, options)?.print_to_string().to_string())
}

/// The function as assembly.
pub fn assembly(function: &Verified<Function>, options: &CompileOptions) -> Result<String, LlvmError> {
    let buffer = write(function, options, FileType::Assembly)?;
    Ok(String::from_utf8_lossy(buffer.as_slice()).trim_end_matches('\0').to_string())
}

/// The function as an object file; it needs the C library (with its mathematics) and nothing else.
pub fn object(function: &Verified<Function>, options: &CompileOptions) -> Result<Vec<u8>, LlvmError> {
    let buffer = write(function, options, FileType::Object)?;
    Ok(buffer.as_slice().to_vec())
}

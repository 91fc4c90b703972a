//! Native code in the process: an object file from LLVM's code generator, linked by LLVM's ORC.
//!
//! Each kernel has its own `LLJIT`, which owns the kernel's memory and nothing else, so that kernels share no state and can
//! be dropped one by one. Symbols of the C library are found in the process.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::ptr;

use inkwell::context::Context;
use inkwell::llvm_sys::error::{LLVMDisposeErrorMessage, LLVMErrorRef, LLVMGetErrorMessage};
use inkwell::llvm_sys::orc2::lljit::{
    LLVMOrcCreateLLJIT, LLVMOrcCreateLLJITBuilder, LLVMOrcDisposeLLJIT, LLVMOrcLLJITAddObjectFile,
    LLVMOrcLLJITBuilderSetJITTargetMachineBuilder, LLVMOrcLLJITGetMainJITDylib, LLVMOrcLLJITLookup, LLVMOrcLLJITRef,
};
use inkwell::llvm_sys::orc2::{LLVMOrcExecutorAddress, LLVMOrcJITTargetMachineBuilderCreateFromTargetMachine};
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::targets::FileType;
use lacunar_imp::{Function, Verified};

use crate::machine::{build, generate, plain_machine, target_machine};
use crate::{CompileOptions, LlvmError};

/// A kernel's entry point; see the [crate] for what the argument words are.
pub type KernelFn = unsafe extern "C" fn(*mut u64) -> i32;

/// The symbol of every kernel in its object.
const SYMBOL: &CStr = c"lacunar_kernel";

/// Machine code of one kernel, alive as long as this value.
#[derive(Debug)]
pub struct JitKernel {
    entry: KernelFn,
    object: Vec<u8>,
    /// Given up before the code is.
    #[cfg(target_os = "linux")]
    shown: crate::visible::Shown,
    /// Owns the code.
    _linker: Linker,
}

/// Compiles a function for the process.
pub fn compile(function: &Verified<Function>, options: &CompileOptions) -> Result<JitKernel, LlvmError> {
    let context = Context::create();
    let machine = target_machine(options)?;
    let symbol = SYMBOL.to_string_lossy();
    let module = build(&context, function, &symbol, &machine, options)?;
    let buffer = generate(&machine, &module, FileType::Object)?;
    JitKernel::load(buffer.as_slice(), SYMBOL)
}

impl JitKernel {
    /// Links an object into the process.
    fn load(object: &[u8], symbol: &CStr) -> Result<JitKernel, LlvmError> {
        let linker = Linker::new()?;
        linker.add(object)?;
        let entry = linker.entry(symbol)?;
        Ok(JitKernel {
            entry,
            object: object.to_vec(),
            #[cfg(target_os = "linux")]
            shown: crate::visible::Shown::default(),
            _linker: linker,
        })
    }

    /// Loads code that [`JitKernel::object`] gave earlier, perhaps in another process.
    ///
    /// # Safety
    /// The bytes are those of an object of this version of the crate, for a processor that this machine is.
    pub unsafe fn from_object(object: &[u8]) -> Result<JitKernel, LlvmError> {
        JitKernel::load(object, SYMBOL)
    }

    /// Loads a kernel, or a version of one, from an object that [`crate::ship`] made.
    ///
    /// # Safety
    /// The bytes are those of such an object, in which the symbol is a kernel or a version that this machine can run.
    pub unsafe fn from_shipped(object: &[u8], symbol: &CStr) -> Result<JitKernel, LlvmError> {
        JitKernel::load(object, symbol)
    }

    /// The entry point. It is valid as long as `self`.
    pub fn entry(&self) -> KernelFn {
        self.entry
    }

    /// Lets perf and gdb see the code under a name, where the environment asks for that (`LACUNAR_PERF=1`, `LACUNAR_GDB=1`; on
    /// Linux).
    pub fn show(&mut self, name: &str) {
        #[cfg(target_os = "linux")]
        {
            let entry = self.entry as usize as u64;
            self.shown = crate::visible::show(&self.object, &SYMBOL.to_string_lossy(), entry, name);
        }
        #[cfg(not(target_os = "linux"))]
        let _ = name;
    }

    /// The object file that the code was linked from, for [`JitKernel::from_object`].
    pub fn object(&self) -> &[u8] {
        &self.object
    }
}

/// An `LLJIT` with one object in it.
#[derive(Debug)]
struct Linker(LLVMOrcLLJITRef);

// SAFETY: an LLJIT is not bound to a thread, and after `load` nothing but `drop` uses it. The kernel's code is immutable.
unsafe impl Send for Linker {}
// SAFETY: as above; `&Linker` gives access to nothing once the kernel is loaded.
unsafe impl Sync for Linker {}

impl Linker {
    fn new() -> Result<Linker, LlvmError> {
        // The default would look up the processor's features each time, and nothing here asks for them.
        let machine = plain_machine()?;
        let mut jit = ptr::null_mut();
        // SAFETY: the builder takes over the description that it is made from, and that one the machine, which is given up
        // here; `LLVMOrcCreateLLJIT` takes over the builder. `jit` is a place for the result.
        let made = unsafe {
            let description = LLVMOrcJITTargetMachineBuilderCreateFromTargetMachine(machine.as_mut_ptr());
            std::mem::forget(machine);
            let builder = LLVMOrcCreateLLJITBuilder();
            LLVMOrcLLJITBuilderSetJITTargetMachineBuilder(builder, description);
            LLVMOrcCreateLLJIT(&mut jit, builder)
        };
        check(made)?;
        Ok(Linker(jit))
    }

    fn add(&self, object: &[u8]) -> Result<(), LlvmError> {
        let buffer = MemoryBuffer::create_from_memory_range_copy(object, "kernel");
        let raw = buffer.as_mut_ptr();
        std::mem::forget(buffer);
        // SAFETY: the LLJIT is alive and takes over the buffer, which is given up here.
        check(unsafe { LLVMOrcLLJITAddObjectFile(self.0, LLVMOrcLLJITGetMainJITDylib(self.0), raw) })
    }

    fn entry(&self, symbol: &CStr) -> Result<KernelFn, LlvmError> {
        let mut address: LLVMOrcExecutorAddress = 0;
        // SAFETY: the LLJIT is alive, `address` is a place for the result, the symbol is a C string.
        check(unsafe { LLVMOrcLLJITLookup(self.0, &mut address, symbol.as_ptr()) })?;
        if address == 0 {
            return Err(LlvmError::Load("the kernel has no address".to_string()));
        }
        // SAFETY: the address is that of a function which was emitted with this signature.
        Ok(unsafe { std::mem::transmute::<usize, KernelFn>(address as usize) })
    }
}

impl Drop for Linker {
    fn drop(&mut self) {
        // SAFETY: the LLJIT is disposed of once. A failure would leave memory behind; there is nobody to tell.
        let _ = check(unsafe { LLVMOrcDisposeLLJIT(self.0) });
    }
}

/// Turns an error of LLVM's C interface into one of ours.
fn check(error: LLVMErrorRef) -> Result<(), LlvmError> {
    if error.is_null() {
        return Ok(());
    }
    // SAFETY: the error is consumed once; the message is a C string of ours to release once.
    unsafe {
        let message = LLVMGetErrorMessage(error);
        let text = CStr::from_ptr(message).to_string_lossy().into_owned();
        LLVMDisposeErrorMessage(message);
        Err(LlvmError::Load(text))
    }
}

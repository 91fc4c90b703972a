//! Linking by LLVM's ORC.
//!
//! Each object has its own `LLJIT`, which owns its memory and nothing else, so that kernels share no state and can be dropped one by
//! one. Symbols of the C library are found in the process.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::ptr;

use inkwell::llvm_sys::error::{LLVMDisposeErrorMessage, LLVMErrorRef, LLVMGetErrorMessage};
use inkwell::llvm_sys::orc2::lljit::{
    LLVMOrcCreateLLJIT, LLVMOrcCreateLLJITBuilder, LLVMOrcDisposeLLJIT, LLVMOrcLLJITAddObjectFile,
    LLVMOrcLLJITBuilderSetJITTargetMachineBuilder, LLVMOrcLLJITGetMainJITDylib, LLVMOrcLLJITLookup, LLVMOrcLLJITRef,
};
use inkwell::llvm_sys::orc2::{LLVMOrcExecutorAddress, LLVMOrcJITTargetMachineBuilderCreateFromTargetMachine};
use inkwell::memory_buffer::MemoryBuffer;

use crate::LlvmError;
use crate::machine::plain_machine;

/// An `LLJIT` with one object in it.
#[derive(Debug)]
pub(crate) struct Linked(LLVMOrcLLJITRef);

// SAFETY: an LLJIT is not bound to a thread, and after `new` only look-ups and `drop` use it. The code is immutable.
unsafe impl Send for Linked {}
// SAFETY: as above; look-ups may be done by several threads at once.
unsafe impl Sync for Linked {}

impl Linked {
    /// Links an object.
    pub(crate) fn new(object: &[u8]) -> Result<Linked, LlvmError> {
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
        let linked = Linked(jit);
        let buffer = MemoryBuffer::create_from_memory_range_copy(object, "kernel");
        let raw = buffer.as_mut_ptr();
        std::mem::forget(buffer);
        // SAFETY: the LLJIT is alive and takes over the buffer, which is given up here.
        check(unsafe { LLVMOrcLLJITAddObjectFile(linked.0, LLVMOrcLLJITGetMainJITDylib(linked.0), raw) })?;
        Ok(linked)
    }

    /// The address of a symbol of the object.
    pub(crate) fn address(&self, symbol: &CStr) -> Result<usize, LlvmError> {
        let mut address: LLVMOrcExecutorAddress = 0;
        // SAFETY: the LLJIT is alive, `address` is a place for the result, the symbol is a C string.
        check(unsafe { LLVMOrcLLJITLookup(self.0, &mut address, symbol.as_ptr()) })?;
        if address == 0 {
            return Err(LlvmError::Load("the kernel has no address".to_string()));
        }
        Ok(address as usize)
    }
}

impl Drop for Linked {
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

//! Native code in the process: an object file from LLVM's code generator, linked by [`crate::linker`].
//!
//! Each kernel owns the memory of its code, so that kernels share no state and can be dropped one by one. Symbols of the C library
//! are found in the process.
#![allow(unsafe_code)]

use std::ffi::CStr;

use inkwell::context::Context;
use inkwell::targets::FileType;
use lacunar_imp::{Function, Verified};

use crate::linker::Linked;
use crate::machine::{build, filling, generate, target_machine};
use crate::{CompileOptions, LlvmError};

/// A kernel's entry point; the [crate] describes the argument words.
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
    _code: Linked,
}

/// Compiles a function for the process.
pub fn compile(function: &Verified<Function>, options: &CompileOptions) -> Result<JitKernel, LlvmError> {
    let machine = target_machine(options, filling(function, options))?;
    let context = Context::create();
    let symbol = SYMBOL.to_string_lossy();
    let module = build(&context, function, &symbol, &machine, options)?;
    let buffer = generate(&machine, &module, FileType::Object)?;
    JitKernel::load(buffer.as_slice(), SYMBOL)
}

impl JitKernel {
    /// Links an object into the process.
    fn load(object: &[u8], symbol: &CStr) -> Result<JitKernel, LlvmError> {
        let code = Linked::new(object)?;
        // SAFETY: the address is that of a function which was emitted with this signature.
        let entry = unsafe { std::mem::transmute::<usize, KernelFn>(code.address(symbol)?) };
        Ok(JitKernel {
            entry,
            object: object.to_vec(),
            #[cfg(target_os = "linux")]
            shown: crate::visible::Shown::default(),
            _code: code,
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

//! The processor of this machine as a text: part of the key of code and of measurements that are kept.
//!
//! On x86-64 it is read from `cpuid`, so that LLVM need not be asked: the name, family, model and stepping, and the words of features
//! (leaves 1, 7, 13 and 8000_0001h; Intel, *Software Developer's Manual*, volume 2A) with those that the system has switched on.
//!
//! ```text
//! Intel(R) Xeon(R) Processor 806f8 fed83203 1f8bfbff f1bf07ab ...
//! ```
#![allow(unsafe_code)]

use crate::LlvmError;

/// The processor of this machine and its features.
///
/// ```
/// assert_eq!(lacunar_backend_llvm::processor().unwrap(), lacunar_backend_llvm::processor().unwrap());
/// ```
///
/// # Errors
/// Where LLVM has to be asked: it has no code generator for the machine.
#[cfg(target_arch = "x86_64")]
pub fn processor() -> Result<String, LlvmError> {
    use std::arch::x86_64::{__cpuid, __cpuid_count, _xgetbv};
    use std::fmt::Write;
    let mut text = String::new();
    if __cpuid(0x8000_0000).eax >= 0x8000_0004 {
        let words = (0x8000_0002..=0x8000_0004).flat_map(|leaf| {
            let found = __cpuid(leaf);
            [found.eax, found.ebx, found.ecx, found.edx]
        });
        let name: Vec<u8> = words.flat_map(u32::to_le_bytes).take_while(|byte| *byte != 0).collect();
        text += String::from_utf8_lossy(&name).trim();
    }
    let most = __cpuid(0).eax;
    let first = __cpuid(1);
    // The bits of `ebx`, and one of `ecx`, say on which core the thread runs and how: they change.
    let mut words = vec![first.eax, first.ecx, first.edx];
    if most >= 7 {
        let (seventh, more) = (__cpuid_count(7, 0), __cpuid_count(7, 1));
        words.extend([seventh.ebx, seventh.ecx, seventh.edx, more.eax, more.ebx, more.edx]);
    }
    if most >= 13 {
        words.push(__cpuid_count(13, 1).eax);
    }
    let extended = __cpuid(0x8000_0001);
    words.extend([extended.ecx, extended.edx]);
    const OSXSAVE: u32 = 1 << 27;
    if first.ecx & OSXSAVE != 0 {
        // SAFETY: the bit says that the system lets programs ask which registers it keeps.
        words.push(unsafe { enabled() });
    }
    for word in words {
        // Writing to a string cannot fail.
        let _ = write!(text, " {word:x}");
    }
    return Ok(text);

    #[target_feature(enable = "xsave")]
    fn enabled() -> u32 {
        // SAFETY: register 0 is there where the instruction is.
        unsafe { _xgetbv(0) as u32 }
    }
}

/// The processor of this machine and its features.
///
/// # Errors
/// LLVM has no code generator for the machine.
#[cfg(not(target_arch = "x86_64"))]
pub fn processor() -> Result<String, LlvmError> {
    crate::machine::host_cpu().map(|(cpu, features)| format!("{cpu} {features}"))
}

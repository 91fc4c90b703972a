//! LLVM's library, which is loaded when a function of it is first called. Loading it takes 20 ms, and a process that finds its code in
//! the cache does not need it.
//!
//! The bindings call functions such as `LLVMContextCreate`. On x86-64 under Linux these are defined here, each as a jump through a
//! table; at first the table leads to code that looks the function up in the library and enters it into the table. (`names.txt` has
//! the names of all functions of LLVM 19's C interface.) Elsewhere the bindings link the library as usual.
//!
//! ```text
//! LLVMContextCreate:  jmp *table[17]          table[17]: look_up_17, then the function in libLLVM
//! look_up_17:         push 17; jmp look_up    saves the arguments, asks `lacunar_llvm_function(17)`, jumps there
//! ```
//!
//! The library is `libLLVM.so.19.1`, or the file that the variable `LACUNAR_LLVM` names.
#![allow(unsafe_code)]

use crate::LlvmError;

/// Loads the library, so that functions of LLVM can be called.
///
/// # Errors
/// There is no such library; the error says what to install.
#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
pub(crate) fn load() -> Result<(), LlvmError> {
    Ok(())
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub(crate) use lazy::load;

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod lazy {
    use std::ffi::{CStr, OsString};
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use libloading::os::unix::{Library, RTLD_LAZY, RTLD_LOCAL};

    use super::LlvmError;

    // `NAMES`, and the jumps.
    include!(concat!(env!("OUT_DIR"), "/library.rs"));

    /// The names that the library is looked for under: Debian's, and others'.
    const FILES: [&str; 4] = [
        "libLLVM.so.19.1",
        "libLLVM-19.so",
        "/usr/lib/llvm-19/lib/libLLVM.so.19.1",
        "/usr/lib64/llvm19/lib64/libLLVM.so.19.1",
    ];

    // SAFETY: the code of the jumps defines it, with a word for each name.
    unsafe extern "C" {
        /// By function: the target of its jump.
        static lacunar_llvm_table: [AtomicUsize; NAMES.len()];
    }

    /// Loads the library, so that functions of LLVM can be called.
    ///
    /// # Errors
    /// There is no such library; the error says what to install.
    pub(crate) fn load() -> Result<(), LlvmError> {
        library().map(|_| ())
    }

    fn library() -> Result<&'static Library, LlvmError> {
        static LIBRARY: OnceLock<Result<Library, String>> = OnceLock::new();
        let loaded = LIBRARY.get_or_init(|| {
            let named = std::env::var_os("LACUNAR_LLVM").filter(|file| !file.is_empty());
            let files = named.map_or_else(|| FILES.map(OsString::from).to_vec(), |file| vec![file]);
            let mut first = None;
            for file in files {
                // SAFETY: LLVM's library may be loaded into any process; it stays as long as the process.
                match unsafe { Library::open(Some(&file), RTLD_LAZY | RTLD_LOCAL) } {
                    Ok(library) if is_ours(&library) => return Ok(library),
                    Ok(_) => first = first.or(Some(format!("{} is another library", file.to_string_lossy()))),
                    Err(error) => first = first.or(Some(error.to_string())),
                }
            }
            Err(first.unwrap_or_default())
        });
        loaded.as_ref().map_err(|why| LlvmError::Missing(why.clone()))
    }

    /// True for a library that says it is LLVM of the version whose functions are called.
    fn is_ours(library: &Library) -> bool {
        type GetVersion = unsafe extern "C" fn(*mut u32, *mut u32, *mut u32);
        let (mut major, mut minor, mut patch) = (0, 0, 0);
        // SAFETY: a function of this name is LLVM's, which writes three numbers.
        unsafe {
            let Ok(version) = library.get::<GetVersion>(b"LLVMGetVersion\0") else { return false };
            version(&mut major, &mut minor, &mut patch);
        }
        major == 19
    }

    /// The address of a function by its number, which its jump leads to from now on. The code of the jumps calls it.
    ///
    /// The process ends if the library lacks the function: there is no address to return. [`load`] is called before any function of
    /// LLVM, and refuses libraries of other versions.
    // SAFETY: no other function has this name.
    #[unsafe(no_mangle)]
    extern "C" fn lacunar_llvm_function(number: usize) -> usize {
        let found = library().and_then(|library| {
            let name: &CStr = NAMES[number];
            // SAFETY: the symbol is only used as an address, by code that calls it as the bindings declare it.
            let symbol = unsafe { library.get::<*const ()>(name.to_bytes_with_nul()) };
            symbol.map(|symbol| symbol.into_raw() as usize).map_err(|error| LlvmError::Missing(error.to_string()))
        });
        match found {
            Ok(address) => {
                // SAFETY: the table has a word for each name, and is written to with atomic stores only.
                unsafe { lacunar_llvm_table[number].store(address, Ordering::Relaxed) };
                address
            }
            Err(error) => {
                eprintln!("{error}");
                std::process::abort();
            }
        }
    }
}

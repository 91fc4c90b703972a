//! Kernels in shared libraries: printed kernels that a C compiler compiled, or libraries that were built ahead of time.
//!
//! [`SharedKernel::open`] loads a library and finds a kernel's entry by name. The library stays loaded as long as the
//! [`SharedKernel`] lives; its file may be removed as soon as it is loaded. The parts of OpenMP that it needs stay for
//! ever.
//!
//! ```no_run
//! use lacunar_runtime::abi::{self, Args};
//! use lacunar_runtime::load::SharedKernel;
//! let kernel = SharedKernel::open("kernels/librowsum.so", "rowsum")?;
//! let mut args = Args::new();
//! // SAFETY: `rowsum` was compiled for these arguments.
//! unsafe { abi::call(kernel.entry(), &mut args) }.unwrap();
//! # Ok::<(), lacunar_runtime::load::LoadError>(())
//! ```

#![allow(unsafe_code)]

use std::path::{Path, PathBuf};

use libloading::Library;
use thiserror::Error;

use crate::abi::Entry;

/// The reason why a kernel could not be loaded.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The library could not be loaded.
    #[error("could not load the library {}", path.display())]
    Library {
        /// The library.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: libloading::Error,
    },
    /// The library has no such symbol.
    #[error("the library {} has no kernel `{symbol}`", path.display())]
    Symbol {
        /// The library.
        path: PathBuf,
        /// The kernel's name.
        symbol: String,
        /// The system's error.
        #[source]
        source: libloading::Error,
    },
}

/// A kernel in a shared library, with the library.
#[derive(Debug)]
pub struct SharedKernel {
    entry: Entry,
    /// Kept for `entry`, which points into it.
    _library: Library,
}

impl SharedKernel {
    /// Loads the library at `path` and finds the kernel `symbol` in it.
    ///
    /// Loading a library runs its initializers: `path` must be one that the caller made or trusts, as with a program
    /// that is to be started. A path without a folder is taken from the current folder, not from where the system keeps
    /// its libraries.
    ///
    /// # Errors
    /// The file is missing or no library, or lacks the symbol.
    pub fn open(path: impl AsRef<Path>, symbol: &str) -> Result<SharedKernel, LoadError> {
        let path = path.as_ref();
        let failed = |source| LoadError::Library { path: path.to_path_buf(), source };
        let place = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        // SAFETY: the caller trusts the library; those that the compiler makes have no initializers.
        let library = unsafe { Library::new(place) }.map_err(failed)?;
        keep_openmp();
        // SAFETY: every kernel has this type; whoever calls the entry promises that the symbol is a kernel.
        let entry = unsafe { library.get::<Entry>(symbol.as_bytes()) }.map(|entry| *entry);
        match entry {
            Ok(entry) => Ok(SharedKernel { entry, _library: library }),
            Err(source) => Err(LoadError::Symbol { path: path.to_path_buf(), symbol: symbol.to_string(), source }),
        }
    }

    /// The kernel; valid as long as `self` lives.
    pub fn entry(&self) -> Entry {
        self.entry
    }
}

/// Keeps the runtime of OpenMP loaded, if a library has brought it: its threads wait for work in its code, also when the
/// last library that needed it is gone.
fn keep_openmp() {
    #[cfg(target_os = "linux")]
    for name in [c"libgomp.so.1", c"libomp.so.5", c"libomp.so", c"libiomp5.so"] {
        let flags = libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE;
        // SAFETY: nothing is loaded and no code is run; a library that is there is marked as one that stays.
        unsafe { libc::dlopen(name.as_ptr(), flags) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::{self, Args};
    use crate::buffer::Buffer;
    use std::process::Command;

    #[test]
    fn what_is_no_library_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kernel.so");
        assert!(matches!(SharedKernel::open(&path, "kernel"), Err(LoadError::Library { .. })));
        std::fs::write(&path, "no library").unwrap();
        let error = SharedKernel::open(&path, "kernel").unwrap_err();
        assert!(error.to_string().contains("kernel.so"), "{error}");
    }

    /// Compiles a kernel into a library in a folder; `None`, and says so, where that cannot be done.
    fn compiled(name: &str, body: &str, flags: &[&str]) -> Option<(tempfile::TempDir, PathBuf)> {
        let folder = tempfile::tempdir().unwrap();
        let (source, library) = (folder.path().join("kernel.c"), folder.path().join("kernel.so"));
        std::fs::write(&source, format!("#include <stdint.h>\nint32_t {name}(uint64_t *words)\n{body}\n")).unwrap();
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
        let mut words = compiler.split_whitespace();
        let mut command = Command::new(words.next().unwrap_or("cc"));
        command.args(words).args(["-std=c99", "-shared", "-fPIC"]).args(flags).arg("-o").arg(&library).arg(&source);
        if !command.status().is_ok_and(|status| status.success()) {
            eprintln!("SKIPPED {name}: there is no C compiler `{compiler}` for {flags:?}");
            return None;
        }
        Some((folder, library))
    }

    #[test]
    fn a_kernel_outlives_its_file() {
        let body = "{ double *y = (double *)words[1]; for (uint64_t k = 0; k < words[2]; k++) y[k] *= 2.0; return 0; }";
        let Some((folder, library)) = compiled("twice", body, &[]) else { return };
        assert!(matches!(SharedKernel::open(&library, "thrice"), Err(LoadError::Symbol { .. })));
        assert!(matches!(SharedKernel::open(&library, "tw\0ice"), Err(LoadError::Symbol { .. })));
        let kernel = SharedKernel::open(&library, "twice").unwrap();
        drop(folder);
        let mut y = Buffer::from_vec(vec![1.0, 2.5]);
        let mut args = Args::new();
        args.write(&mut y).unwrap();
        // SAFETY: the kernel takes one array of doubles, to be written in place.
        unsafe { abi::call(kernel.entry(), &mut args) }.unwrap();
        drop(args);
        assert_eq!(y.as_slice::<f64>(), Some(&[2.0, 5.0][..]));
    }

    #[test]
    fn threads_of_openmp_outlive_the_kernel_that_started_them() {
        let body = "{\n#pragma omp parallel num_threads(4)\n    { }\n    return 0; }";
        let Some((_folder, library)) = compiled("forks", body, &["-fopenmp"]) else { return };
        for _ in 0..3 {
            let kernel = SharedKernel::open(&library, "forks").unwrap();
            // SAFETY: the kernel takes nothing.
            unsafe { abi::call(kernel.entry(), &mut Args::new()) }.unwrap();
            drop(kernel);
            // The threads stop looking for work and sleep, in the code of OpenMP's runtime.
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

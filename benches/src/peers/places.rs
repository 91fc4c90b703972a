//! The places of libraries: below the folder that an environment variable names, else beside the Python interpreter
//! (whose packages carry oneMKL and GraphBLAS), else where systems put them. A missing library is no error: the peer is
//! left out.
//!
//! | peer | variable | Python package | Debian package |
//! |---|---|---|---|
//! | oneMKL | `MKLROOT` | `mkl mkl-include` | |
//! | SuiteSparse:GraphBLAS | `GRAPHBLAS_ROOT` | `suitesparse-graphblas` | `libgraphblas-dev` |
//! | Eigen | `EIGEN_ROOT` | | `libeigen3-dev` |
//! | librsb | `LIBRSB_ROOT` | | `librsb-dev` |
//! | SciPy | `PYTHON`, an interpreter that has it | `scipy` | `python3-scipy` |
//! | taco | `TACO`, the command | | |

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The Python interpreter: `PYTHON`, or `python3` of the search path.
pub struct Python {
    /// The command.
    pub command: String,
    /// Its installation, and the folders of its packages.
    folders: Vec<PathBuf>,
}

impl Python {
    /// Asks the interpreter where its packages are; no folders where there is none.
    pub fn find() -> Python {
        let command = env::var("PYTHON").unwrap_or_else(|_| "python3".to_string());
        let script = "import site, sys\nfor place in [sys.prefix, *site.getsitepackages(), site.getusersitepackages()]: print(place)";
        let output = Command::new(&command).args(["-c", script]).stdin(Stdio::null()).output();
        let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        Python { command, folders: text.lines().map(PathBuf::from).collect() }
    }

    /// True if it has a module.
    pub fn has(&self, module: &str) -> bool {
        let mut command = Command::new(&self.command);
        command.args(["-c", &format!("import {module}")]).stdin(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }
}

/// The folders in which the parts of a library may be: that of the variable alone, or the usual ones.
fn roots(variable: &str, python: &Python) -> Vec<PathBuf> {
    if let Some(root) = env::var_os(variable).filter(|root| !root.is_empty()) {
        return vec![root.into()];
    }
    let mut roots = python.folders.clone();
    roots.extend(["/usr/local", "/usr", "/opt/intel/oneapi/mkl/latest", "/opt/homebrew"].map(PathBuf::from));
    roots
}

/// A header's folder: `name` below one of the folders in which a root keeps headers.
pub fn include(variable: &str, python: &Python, folders: &[&str], name: &str) -> Option<PathBuf> {
    let places = roots(variable, python).into_iter().flat_map(|root| folders.iter().map(move |sub| root.join(sub)));
    places.into_iter().find(|folder| folder.join(name).is_file())
}

/// A shared library: a file whose name begins with `stem`, in one of the folders in which a root keeps libraries.
pub fn library(variable: &str, python: &Python, folders: &[&str], stem: &str) -> Option<PathBuf> {
    let places = roots(variable, python).into_iter().flat_map(|root| folders.iter().map(move |sub| root.join(sub)));
    places.into_iter().find_map(|folder| shared(&folder, stem))
}

/// The shortest name in a folder that begins with `stem` and is a shared library's: `libx.so` before `libx.so.3`.
fn shared(folder: &Path, stem: &str) -> Option<PathBuf> {
    let names = fs::read_dir(folder).ok()?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let fitting = names.filter(|name| name.starts_with(stem) && (name.contains(".so") || name.ends_with(".dylib")));
    fitting.min_by_key(|name| (name.len(), name.clone())).map(|name| folder.join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plainest_library_is_taken() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["libx.so.3.1", "libx.so", "libx.a", "liby.so"] {
            fs::write(folder.path().join(name), "").expect("written");
        }
        assert_eq!(shared(folder.path(), "libx"), Some(folder.path().join("libx.so")));
        assert_eq!(shared(folder.path(), "libz"), None);
        assert_eq!(shared(&folder.path().join("nowhere"), "libx"), None);
    }
}

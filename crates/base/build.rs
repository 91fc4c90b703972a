//! With the feature `llvm`: prints advice if there is no LLVM 19. On x86-64 under Linux nothing of LLVM is needed to build:
//! its library is loaded when a kernel is compiled.
//!
//! The bindings to LLVM (`llvm-sys`) report that too, but neither which feature needs it nor how to do without. Cargo builds this
//! crate before them, as all others depend on it.

use std::env;
use std::path::PathBuf;
use std::process::Command;

/// The environment variable that names the folder of LLVM.
const PREFIX: &str = "LLVM_SYS_191_PREFIX";

/// The oldest version that will do.
const VERSION: u32 = 19;

/// The names under which the bindings look for the program that tells the version.
const NAMES: [&str; 6] =
    ["llvm-config", "llvm-config-19", "llvm-config19", "llvm19-config", "llvm-config-19.1", "llvm-config191"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={PREFIX}");
    let target = |what: &str| env::var(format!("CARGO_CFG_TARGET_{what}")).unwrap_or_default();
    let is_loaded = target("ARCH") == "x86_64" && target("OS") == "linux";
    // On macOS the bindings ask Homebrew besides.
    let is_asked = env::var_os("CARGO_FEATURE_LLVM").is_some() && !is_loaded && !cfg!(target_os = "macos");
    if is_asked && env::var_os("DOCS_RS").is_none() && !has_llvm() {
        println!("cargo::error=the feature `llvm` of Lacunar needs LLVM {VERSION}, which was not found");
        println!(
            "cargo::error=install it (Debian and Ubuntu: apt-get install llvm-{VERSION}-dev) and set {PREFIX} to its folder, for \
             example /usr/lib/llvm-{VERSION}"
        );
        println!(
            "cargo::error=or build without the feature (`default-features = false`, `--no-default-features`): kernels then run \
             through the system's C compiler"
        );
    }
}

/// True if one of the programs that the bindings ask answers with a version that will do.
fn has_llvm() -> bool {
    let folder = env::var_os(PREFIX).map(|prefix| PathBuf::from(prefix).join("bin")).unwrap_or_default();
    NAMES.iter().any(|name| {
        let output = Command::new(folder.join(name)).arg("--version").output().ok();
        let version = output.and_then(|output| String::from_utf8(output.stdout).ok());
        let major = version.and_then(|version| version.split('.').next()?.trim().parse::<u32>().ok());
        major.is_some_and(|major| major >= VERSION)
    })
}

//! Lists the texts of the schemas that every program has: each file `src/schema/builtin/*.node` is one.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let folder = Path::new("src/schema/builtin");
    println!("cargo::rerun-if-changed={}", folder.display());
    println!("cargo::rerun-if-changed=build.rs");
    let mut files = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<PathBuf>>>()?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "node"));
    files.sort();
    let root = env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?;
    let texts: Vec<String> =
        files.iter().map(|path| format!("include_str!({:?})", Path::new(&root).join(path))).collect();
    let out = env::var("OUT_DIR").map_err(io::Error::other)?;
    fs::write(Path::new(&out).join("schemas.rs"), format!("&[{}]", texts.join(", ")))
}

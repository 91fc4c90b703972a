//! A digest of the sources, which is part of the key of code that is kept: another compiler makes other code.

use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::{fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=src");
    let mut files = Vec::new();
    find(Path::new("src"), &mut files)?;
    files.sort();
    let mut hasher = DefaultHasher::new();
    for file in files {
        hasher.write(file.to_string_lossy().as_bytes());
        hasher.write(&fs::read(&file)?);
    }
    println!("cargo::rustc-env=LACUNAR_BACK_END={:016x}", hasher.finish());
    Ok(())
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { find(&path, files)? } else { files.push(path) }
    }
    Ok(())
}

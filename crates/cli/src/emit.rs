//! Stages of the compiler as text: on standard output, or in files.

use std::path::Path;

use lacunar::{Category, Diagnostic, Kernel, Stage};

use crate::failure::Failure;

/// The texts of the stages. Where there are several, each has a headline.
pub fn text(kernel: &Kernel, stages: &[Stage]) -> String {
    let mut text = String::new();
    for stage in stages {
        let Some(found) = kernel.text(stage.0) else { continue };
        if stages.len() > 1 {
            text += &format!("======== {} ========\n", stage.0);
        }
        text += &found;
        if !found.ends_with('\n') {
            text.push('\n');
        }
    }
    text
}

/// Writes each stage into a file of a folder, which is made if it is not there, and gives the names of the files.
///
/// # Errors
/// The folder or a file can't be written.
pub fn to_folder(kernel: &Kernel, stages: &[Stage], folder: &Path) -> Result<Vec<String>, Failure> {
    let failed = |path: &Path, error: std::io::Error| {
        let diagnostic = Diagnostic::error("E1014", format!("cannot write {}: {error}", path.display()));
        Failure::plain(diagnostic.category(Category::File))
    };
    std::fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    let mut written = Vec::new();
    for stage in stages {
        let Some(text) = kernel.text(stage.0) else { continue };
        let path = folder.join(file_name(stage.0));
        replace(&path, &text).map_err(|error| failed(&path, error))?;
        written.push(path.display().to_string());
    }
    Ok(written)
}

/// Writes a file beside its place, then renames it.
fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    use std::io::Write;
    let mut file = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(Path::new(".")))?;
    file.write_all(text.as_bytes())?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

fn file_name(stage: &str) -> String {
    match stage {
        "graph" => "graph.dot".to_string(),
        "c" => "kernel.c".to_string(),
        "llvm" => "kernel.ll".to_string(),
        "asm" => "kernel.s".to_string(),
        other => format!("{other}.txt"),
    }
}

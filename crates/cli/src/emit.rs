//! Stages of the compiler as text: on standard output, or in files.

use std::path::Path;

use lacunar::{Category, Diagnostic, Kernel, Stage};
use lacunar_compiler::iterate::graph::graph;
use lacunar_runtime::io;

use crate::failure::Failure;
use crate::plot;

/// The texts of the stages. If there are several, each has a headline.
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
        let mut files = vec![(file_name(stage.0), text)];
        files.extend(drawings(kernel, *stage));
        for (name, text) in files {
            let path = folder.join(name);
            io::replace(&path, text.as_bytes()).map_err(|error| failed(&path, error))?;
            written.push(path.display().to_string());
        }
    }
    Ok(written)
}

/// The iteration graph, or the provenance of the variables, of each statement as SVG; nothing for other stages.
fn drawings(kernel: &Kernel, stage: Stage) -> Vec<(String, String)> {
    let statements = &kernel.program().statements;
    let drawing = |step: &lacunar::Step| {
        let title = kernel.program().statement_text(&statements[step.statement()]);
        let drawing = match stage.0 {
            "graph" => plot::graph(&graph(step.kernel()), &title),
            "provenance" => plot::provenance(&step.kernel().provenance_graph(), &title),
            _ => return None,
        };
        let place = if statements.len() == 1 { String::new() } else { format!("-{}", step.statement() + 1) };
        Some((format!("{}{place}.svg", stage.0), drawing.to_svg()))
    };
    kernel.statements().filter_map(drawing).collect()
}

fn file_name(stage: &str) -> String {
    match stage {
        "graph" | "provenance" => format!("{stage}.dot"),
        "c" => "kernel.c".to_string(),
        "llvm" => "kernel.ll".to_string(),
        "asm" => "kernel.s".to_string(),
        other => format!("{other}.txt"),
    }
}

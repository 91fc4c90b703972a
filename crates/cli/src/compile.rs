//! `lacunar compile`: a program becomes the texts of the stages that are asked for, or files that other programs can be
//! linked with; nothing runs.
//!
//! `-o spmv.o` writes `spmv.o`, and beside it the header `spmv.h`; with `--json`, the kernel's parameters are printed
//! as data.

use std::path::Path;

use lacunar::{Category, Diagnostic, Kernel, Shape, Signature, Stage};
use lacunar_base::Span;
use lacunar_runtime::io;

use crate::args::ProgramArgs;
use crate::failure::Failure;
use crate::prepare::{Prepared, Values, prepare};
use crate::program::Program;
use crate::{emit, output, report};

/// Compiles a program and prints it: as C, where nothing else is asked for.
///
/// # Errors
/// Mistakes in the user's text, files that can't be read.
pub fn compile(program: &Program, args: &ProgramArgs) -> Result<(), Failure> {
    let files = args.outputs.iter().map(|file| Ok((file.as_str(), shape(file)?)));
    let files = files.collect::<Result<Vec<_>, Failure>>()?;
    output::distinct(args.outputs.iter().map(|file| (file.as_str(), file.as_str())))?;
    for file in &args.outputs {
        output::check_file(file, Path::new(file))?;
    }
    let Prepared { request, inputs, mut options, .. } = prepare(program, args, Values::FilesOnly)?;
    options.alone = !args.outputs.is_empty();
    let stages = stages(&request.stages, args);
    options.emit = stages.iter().map(|stage| stage.0.to_string()).collect();
    let kernel = Kernel::compile(&program.text, &options).map_err(|error| program.failure(&request, error))?;
    let mut signatures = Vec::new();
    for (file, shape) in &files {
        let (written, own) = ship(&kernel, Path::new(file), *shape)?;
        written.iter().for_each(|file| output::tell(&format!("wrote {file}\n")));
        signatures.extend(own);
    }
    let mut text = String::new();
    if args.json {
        text = report::compiled_json(&kernel, &stages, (&request, &inputs), args, &signatures)?;
    } else if args.emit_to.is_none() {
        text = emit::text(&kernel, &stages);
    }
    if let Some(folder) = &args.emit_to {
        for file in emit::to_folder(&kernel, &stages, folder)? {
            output::tell(&format!("wrote {file}\n"));
        }
    }
    report::warn(&kernel, args);
    if args.explain && !args.json {
        text += &report::explanation(&kernel, &request, &inputs);
    }
    output::print(text.as_bytes())
}

/// The stages that are asked for, or the usual ones.
fn stages(asked: &[Stage], args: &ProgramArgs) -> Vec<Stage> {
    match (asked, &args.emit_to) {
        ([], Some(_)) => Stage::ALL.to_vec(),
        ([], None) if args.explain || args.json || !args.outputs.is_empty() => Vec::new(),
        ([], None) => vec![Stage("c")],
        (asked, _) => asked.to_vec(),
    }
}

/// The kind of code that a file is to hold, by its extension.
fn shape(file: &str) -> Result<Shape, Failure> {
    let path = Path::new(file);
    let extension = path.file_stem().and(path.extension()).and_then(|extension| extension.to_str());
    let found = Shape::ALL.into_iter().find(|shape| extension == Some(shape.extension()));
    found.ok_or_else(|| {
        let names: Vec<String> = Shape::ALL.iter().map(|shape| format!(".{}", shape.extension())).collect();
        let diagnostic = Diagnostic::error("E1017", "the name tells no kind of code")
            .label(Span::new(0, file.len()), "neither object nor source")
            .hint(format!("names end with {}", names.join(" ")));
        Failure::text(file, "-o", diagnostic)
    })
}

/// Writes a program's kernels and their header. Gives the names of the files and the kernels' signatures.
fn ship(kernel: &Kernel, path: &Path, shape: Shape) -> Result<([String; 2], Vec<Signature>), Failure> {
    let name = path.file_stem().map(|stem| stem.to_string_lossy()).unwrap_or_default();
    let shipment = kernel.ship(&name, shape)?;
    let header = path.with_file_name(format!("{}.h", shipment.header_name));
    let write = |path: &Path, content: &[u8]| {
        io::replace(path, content).map(|()| path.display().to_string()).map_err(|error| {
            let diagnostic = Diagnostic::error("E1014", format!("cannot write {}: {error}", path.display()));
            Failure::plain(diagnostic.category(Category::File))
        })
    };
    let files = [write(path, &shipment.content)?, write(&header, shipment.header.as_bytes())?];
    Ok((files, shipment.signatures))
}

//! Golden tests of the stages: each file of `tests/stages/` holds a program, flags, and the texts of stages.
//!
//! ```text
//! # What the case shows.
//! y(i) = A(i,j) * x(j)
//! -f A:csr                   the command's flags, one a line; also -d, -t, -s, --assemble, --compute, --strict
//! == concrete ==
//! forall(i, ...
//! ```
//!
//! A block for a stage is a line with its name, then the text that `lacunar compile --emit STAGE` prints. With
//! `LACUNAR_BLESS=1` in the environment the blocks that are there are written anew; so to add a block, write its first
//! line and bless. A file without blocks, and a block that no stage prints, is a failure.

use std::path::{Path, PathBuf};
use std::{env, fs};

use lacunar::{Backend, Diagnostic, Kernel, Options, Phase, Stage};
use lacunar_front::options;
use libtest_mimic::{Arguments, Failed, Trial};
use similar::TextDiff;

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/stages");
    let mut cases: Vec<PathBuf> = match fs::read_dir(&folder) {
        Ok(entries) => entries.filter_map(|entry| Some(entry.ok()?.path())).collect(),
        Err(error) => panic!("{} cannot be read: {error}", folder.display()),
    };
    cases.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
    cases.sort();
    let mut trials: Vec<Trial> = cases
        .into_iter()
        .map(|path| {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().to_string();
            Trial::test(name, move || golden(&path))
        })
        .collect();
    trials.push(Trial::test("every_stage_has_a_block", move || stages_are_shown(&folder)));
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// A file of `tests/stages/`.
struct Case {
    source: String,
    options: Options,
    /// The lines before the first block.
    head: String,
    /// Stages with their expected texts.
    blocks: Vec<(Stage, String)>,
}

fn golden(path: &Path) -> Result<(), Failed> {
    let case = read(&fs::read_to_string(path)?)?;
    let kernel = Kernel::compile(&case.source, &case.options)?;
    let mut found = Vec::new();
    for (stage, _) in &case.blocks {
        let text = kernel.text(stage.0).ok_or_else(|| format!("stage `{}` printed nothing", stage.0))?;
        found.push((*stage, normal(&text)));
    }
    if env::var_os("LACUNAR_BLESS").is_some_and(|value| value == "1") {
        let blocks = found.iter().map(|(stage, text)| format!("== {} ==\n{text}", stage.0));
        return Ok(fs::write(path, case.head.clone() + &blocks.collect::<String>())?);
    }
    let differences: Vec<String> = case
        .blocks
        .iter()
        .zip(&found)
        .filter(|((_, expected), (_, found))| expected != found)
        .map(|((stage, expected), (_, found))| {
            let diff = TextDiff::from_lines(expected, found);
            diff.unified_diff().header(&format!("{} expected", stage.0), &format!("{} found", stage.0)).to_string()
        })
        .collect();
    if differences.is_empty() {
        return Ok(());
    }
    Err(format!("run with LACUNAR_BLESS=1 to accept:\n{}", differences.concat()).into())
}

/// Without blanks at the ends of lines, which editors would lose, and with one newline at the end.
fn normal(text: &str) -> String {
    text.trim_end().lines().map(|line| line.trim_end().to_string() + "\n").collect()
}

fn read(text: &str) -> Result<Case, Failed> {
    // The interpreter needs no code of the machine that the test runs on.
    let mut case = Case {
        source: String::new(),
        options: Options::new().backend(Backend::Interpreter).machine("generic"),
        head: String::new(),
        blocks: Vec::new(),
    };
    for line in text.lines() {
        let block = line.strip_prefix("== ").and_then(|line| line.strip_suffix(" =="));
        if let Some(name) = block {
            let stage = Stage::ALL.into_iter().find(|stage| stage.0 == name);
            case.blocks.push((stage.ok_or_else(|| format!("no stage is called `{name}`"))?, String::new()));
            case.options = case.options.emit(name);
        } else if let Some((_, expected)) = case.blocks.last_mut() {
            *expected += &format!("{line}\n");
        } else {
            case.head += &format!("{line}\n");
            if line.starts_with('-') {
                case.options = flag(case.options, line)?;
            } else if !line.starts_with('#') {
                case.source += &format!("{line}\n");
            }
        }
    }
    if case.blocks.is_empty() {
        return Err("the file has no block".into());
    }
    Ok(case)
}

/// Takes one line of flags.
fn flag(mut options: Options, line: &str) -> Result<Options, Failed> {
    let (flag, value) = line.split_once(' ').unwrap_or((line, ""));
    let wrong = |error: Diagnostic| Failed::from(error.render(value, flag, false));
    match flag {
        "-f" => {
            let (name, format) = options::format(value).map_err(wrong)?;
            Ok(options.format(&name, format))
        }
        "-t" => {
            let (name, dtype) = options::dtype(value).map_err(wrong)?;
            Ok(options.dtype(&name, dtype))
        }
        "-d" => {
            let (name, sizes) = options::sizes(value).map_err(wrong)?;
            Ok(options.dims(&name, &sizes))
        }
        "-p" => Ok(options.structure(value)?),
        "--unique" => Ok(options.unique(value)),
        "--assemble" => Ok(options.phase(Phase::Assemble)),
        "--compute" => Ok(options.phase(Phase::Compute)),
        "-s" => Ok(options.schedule(value)),
        "--strict" => {
            options.strict = true;
            Ok(options)
        }
        other => Err(format!("unknown flag `{other}`").into()),
    }
}

/// Each stage whose text does not depend on the machine is shown by a file, and so is each flag.
fn stages_are_shown(folder: &Path) -> Result<(), Failed> {
    let mut all = String::new();
    for entry in fs::read_dir(folder)? {
        all += &fs::read_to_string(entry?.path())?;
    }
    let portable = Stage::ALL.iter().filter(|stage| !["llvm", "asm"].contains(&stage.0));
    let blocks = portable.map(|stage| format!("\n== {} ==\n", stage.0));
    let flags = ["-f", "-t", "-d", "-s", "--assemble", "--compute", "--strict"].map(|flag| format!("\n{flag}"));
    match blocks.chain(flags).find(|line| !all.contains(line)) {
        Some(line) => Err(format!("no file of tests/stages has the line `{}`", line.trim()).into()),
        None => Ok(()),
    }
}

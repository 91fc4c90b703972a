//! Golden tests of scheduling transformations: each file of `tests/schedules/` is about one command, and has cases like
//!
//! ```text
//! # What the case shows.
//! y(i) = A(i,j) * x(j)
//! -f A:csr                        flags, one a line: -f, -d and at last -s
//! -s split(i, i0, i1, 32)
//! suchthat(forall(i0, ..), split(i, i0, i1, 32))
//! ```
//!
//! A blank line ends a case. Behind the schedule stands the statement in concrete notation, on one line, then a line for each
//! conversion; or the refusal: its code and message, the part of the schedule that it is about, and the help. With
//! `LACUNAR_BLESS=1` in the environment, this part is written anew.
//!
//! For every schedule that is not refused, the test also checks that the plan prints a schedule that makes the same kernel.

use std::path::{Path, PathBuf};
use std::{env, fs};

use lacunar_base::Diagnostic;
use lacunar_compiler::plan::{Plan, Request, plan};
use lacunar_front::{Declarations, check, options, schedule};
use lacunar_notation::Program;
use libtest_mimic::{Arguments, Failed, Trial};

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schedules");
    let mut files: Vec<PathBuf> = match fs::read_dir(&folder) {
        Ok(entries) => entries.filter_map(|entry| Some(entry.ok()?.path())).collect(),
        Err(error) => panic!("{} cannot be read: {error}", folder.display()),
    };
    files.sort();
    let mut trials: Vec<Trial> = files
        .into_iter()
        .map(|path| {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().to_string();
            Trial::test(name, move || golden(&path))
        })
        .collect();
    trials.push(Trial::test("every_transformation_has_cases", move || every_transformation_has_cases(&folder)));
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// Each file of `src/schedule/` that is named as a command has a file here.
fn every_transformation_has_cases(folder: &Path) -> Result<(), Failed> {
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/schedule"))? {
        let name = entry?.file_name().to_string_lossy().replace(".rs", "");
        let shared = ["mod", "nest", "part", "forward", "copy"].contains(&name.as_str());
        if !shared && !folder.join(format!("{name}.txt")).is_file() {
            return Err(format!("no cases of `{name}`").into());
        }
    }
    Ok(())
}

fn golden(path: &Path) -> Result<(), Failed> {
    let text = fs::read_to_string(path)?;
    let mut found = Vec::new();
    for case in text.split("\n\n").map(str::trim).filter(|case| !case.is_empty()) {
        let given: Vec<&str> = match case.lines().position(|line| line.starts_with("-s ")) {
            Some(last) => case.lines().take(last + 1).collect(),
            None => return Err(format!("no schedule:\n{case}").into()),
        };
        found.push(format!("{}\n{}", given.join("\n"), outcome(&given)?));
    }
    let found = found.join("\n\n") + "\n";
    if env::var_os("LACUNAR_BLESS").is_some_and(|value| value == "1") {
        fs::write(path, found)?;
        return Ok(());
    }
    let different =
        found.split("\n\n").zip(text.split("\n\n")).find(|(found, expected)| found.trim() != expected.trim());
    match different {
        Some((found, expected)) => Err(format!("expected\n{expected}\n\nfound\n{found}").into()),
        None if found.is_empty() => Err("no case".into()),
        None => Ok(()),
    }
}

/// The outcome of a case, as text.
fn outcome(given: &[&str]) -> Result<String, Failed> {
    let wrong = |error: Diagnostic| Failed::from(error.render("", "case", false));
    let mut declarations = Declarations::new();
    let (mut source, mut commands) = ("", "");
    for line in given {
        match line.split_once(' ') {
            Some(("#", _)) => {}
            Some(("-f", format)) => {
                let (tensor, format) = options::format(format).map_err(wrong)?;
                declarations = declarations.format(tensor, format);
            }
            Some(("-d", size)) => match options::sizes(size).map_err(wrong)? {
                (var, sizes) if sizes.len() == 1 => declarations = declarations.size(var, sizes[0]),
                (tensor, sizes) => declarations = declarations.dims(tensor, sizes),
            },
            Some(("-s", text)) => commands = text,
            _ => source = line,
        }
    }
    let program = check(source, &declarations).map_err(|errors| format!("{source}: {errors:?}"))?;
    let planned = match scheduled(&program, commands)? {
        Ok(planned) => planned,
        Err(refusal) => return Ok(refused(&refusal, commands)),
    };
    let printed = planned.commands();
    let again = scheduled(&program, &printed.join(", "))?;
    let again = again.map_err(|refusal| format!("{printed:?} is refused: {refusal:?}"))?;
    if again.kernel.to_string() != planned.kernel.to_string() {
        return Err(format!("{printed:?} makes another kernel:\n{}{}", planned.kernel, again.kernel).into());
    }
    let mut text = planned.kernel.stmt_text();
    for conversion in &planned.conversions {
        let (made, of) = (&planned.kernel.tensors[conversion.tensor], &planned.kernel.tensors[conversion.source].name);
        text += &format!("\n{}: {} of `{of}`", made.name, made.format);
    }
    Ok(text)
}

fn scheduled(program: &Program, commands: &str) -> Result<Result<Plan, Diagnostic>, Failed> {
    let schedules = schedule::check(commands, program).map_err(|errors| format!("{commands}: {errors:?}"))?;
    let request = Request { schedule: schedules.first(), ..Request::default() };
    Ok(plan(program, &program.statements[0], &request))
}

fn refused(refusal: &Diagnostic, commands: &str) -> String {
    let mut text = format!("{}: {}", refusal.code, refusal.message);
    for label in &refusal.labels {
        let about = commands.get(label.span.start as usize..label.span.end as usize).unwrap_or_default();
        text += &format!("\nat {about}");
    }
    for help in refusal.notes.iter().chain(&refusal.hint) {
        text += &format!("\n{help}");
    }
    text
}

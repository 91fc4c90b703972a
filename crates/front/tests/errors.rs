//! Golden tests of messages: each file of `tests/errors/` holds a program, flags, and the message they give.
//!
//! ```text
//! y(i) = A(i,j) * x(j)
//! ---- flags
//! -f A:csr
//! inputs A, y            (the tensors that are given; without this line any may be)
//! -s split(i,i0,i1,32)   (the message is that of the schedule)
//! -p A:symmetric         (the message is that of the structure, for the order that the tensor has in the program)
//! stur                   (the program is one of rules, of which the structures are wanted)
//! rules                  (the program is one of rules, and is to be computed)
//! ---- repeat 1000       (the program as many times over; for those that are too long)
//! ---- error
//! error[E0203]: ...
//! ```
//!
//! The file's name begins with the code. With `LACUNAR_BLESS=1` in the environment the messages are written anew.
//! Another test asks that each code is explained in `docs/errors.md` and has a file here.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs};

use lacunar_base::Diagnostic;
use lacunar_front::{Declarations, check, options, schedule, structure, stur};
use libtest_mimic::{Arguments, Failed, Trial};

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut cases: Vec<PathBuf> = match fs::read_dir(root.join("tests/errors")) {
        Ok(entries) => entries.filter_map(|entry| Some(entry.ok()?.path())).collect(),
        Err(error) => panic!("tests/errors cannot be read: {error}"),
    };
    cases.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
    cases.sort();
    let names: Vec<String> =
        cases.iter().map(|path| path.file_stem().unwrap_or_default().to_string_lossy().into()).collect();
    let mut trials: Vec<Trial> = cases
        .into_iter()
        .zip(&names)
        .map(|(path, name)| {
            let code = name.split('-').next().unwrap_or_default().to_string();
            Trial::test(name, move || golden(&path, &code))
        })
        .collect();
    trials.push(Trial::test("every_code_is_explained_and_tested", move || codes(&root, &names)));
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// A file of `tests/errors/`.
#[derive(Default)]
struct Case {
    source: String,
    declarations: Declarations,
    schedule: Option<String>,
    is_stur: bool,
    /// The mistakes in flags.
    flag_errors: String,
    expected: Option<String>,
    /// The file up to the expected message.
    head: String,
}

fn golden(path: &Path, code: &str) -> Result<(), Failed> {
    let case = read(&fs::read_to_string(path)?)?;
    let found = if case.is_stur {
        let structures = |program: stur::Program| program.structures().map_err(|error| vec![error]);
        let errors = stur::parse(&case.source).and_then(structures).err().unwrap_or_default();
        errors.iter().map(|error| error.render(&case.source, "program.stur", false)).collect()
    } else if let Some(schedule) = &case.schedule {
        let Ok(program) = check(&case.source, &case.declarations) else {
            return Err("the program is wrong, not its schedule".into());
        };
        let errors = schedule::check(schedule, &program).err().unwrap_or_default();
        errors.iter().map(|error| error.render(schedule, "-s", false)).collect()
    } else if case.flag_errors.is_empty() {
        let errors = check(&case.source, &case.declarations).err().unwrap_or_default();
        errors.iter().map(|error| error.render(&case.source, "program", false)).collect()
    } else {
        case.flag_errors
    };
    // Trailing blanks would be lost in editors.
    let found: String = found.trim_end().lines().map(|line| line.trim_end().to_string() + "\n").collect();
    if !found.contains(&format!("error[{code}]")) {
        return Err(format!("there is no error {code}; found:\n{found}").into());
    }
    if !found.contains("hint: ") {
        return Err(format!("the message gives no hint:\n{found}").into());
    }
    if env::var_os("LACUNAR_BLESS").is_some_and(|value| value == "1") {
        return Ok(fs::write(path, format!("{}---- error\n{found}", case.head))?);
    }
    match case.expected {
        Some(expected) if expected == found => Ok(()),
        Some(expected) => Err(format!("expected:\n{expected}\nfound:\n{found}").into()),
        None => Err(format!("no message is expected; run with LACUNAR_BLESS=1 to accept:\n{found}").into()),
    }
}

fn read(text: &str) -> Result<Case, Failed> {
    let mut case = Case::default();
    let mut section = "source";
    let mut repeat = 1;
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("---- ") {
            match name.strip_prefix("repeat ") {
                Some(times) => repeat = times.parse::<usize>()?,
                None => section = name,
            }
            if section == "error" {
                case.expected = Some(String::new());
                continue;
            }
        } else {
            match section {
                "source" => case.source += &format!("{line}\n"),
                "flags" => flag(&mut case, line)?,
                "error" => {
                    case.expected.get_or_insert_default().push_str(&format!("{line}\n"));
                    continue;
                }
                other => return Err(format!("unknown section `{other}`").into()),
            }
        }
        case.head += &format!("{line}\n");
    }
    case.source = case.source.trim_end_matches('\n').repeat(repeat);
    Ok(case)
}

/// Takes one line of the flags.
fn flag(case: &mut Case, line: &str) -> Result<(), Failed> {
    let (flag, value) = line.split_once(' ').unwrap_or((line, ""));
    let declarations = std::mem::take(&mut case.declarations);
    let done: Result<Declarations, Diagnostic> = match flag {
        "-f" => options::format(value).map(|(name, format)| declarations.format(name, format)),
        "-t" => options::dtype(value).map(|(name, dtype)| declarations.dtype(name, dtype)),
        "--fill" => options::fill(value).map(|(name, fill)| declarations.fill(name, fill)),
        "-d" => options::sizes(value).map(|(name, dims)| declarations.dims(name, dims)),
        "-i" => options::input(value).map(|(name, _)| declarations.input(name)),
        "-g" => options::generator(value).map(|(name, _)| declarations.input(name)),
        "-o" => options::output(value).map(|_| declarations),
        "-s" => {
            case.schedule = Some(value.to_string());
            Ok(declarations)
        }
        "-p" => structure::parse(value).and_then(|(name, spec)| {
            let program = check(&case.source, &Declarations::new()).unwrap_or_default();
            let order =
                program.tensors.iter().find(|(_, tensor)| tensor.name == name).map_or(0, |(_, tensor)| tensor.order());
            spec.resolve(order).map(|_| declarations.structure(name, spec))
        }),
        "rules" => {
            let language = lacunar_front::Language::Rules;
            Ok(Declarations { language, ..declarations })
        }
        "stur" => {
            case.is_stur = true;
            Ok(declarations)
        }
        "inputs" => Ok(value.split(',').fold(declarations, |declarations, name| declarations.input(name.trim()))),
        other => return Err(format!("unknown flag `{other}`").into()),
    };
    match done {
        Ok(declarations) => case.declarations = declarations,
        Err(error) => case.flag_errors += &error.render(value, flag, false),
    }
    Ok(())
}

/// Each code of the crate's sources is a heading of `docs/errors.md` and the beginning of a case's name; and the other
/// way around.
fn codes(root: &Path, names: &[String]) -> Result<(), Failed> {
    let mut used = BTreeSet::new();
    let sources = root.join("crates/front/src");
    let mut files = [
        "options/error.rs",
        "schedule/error.rs",
        "concrete/error.rs",
        "structure/error.rs",
        "stur/error.rs",
        "words.rs",
    ]
    .map(|file| sources.join(file))
    .to_vec();
    for entry in fs::read_dir(sources.join("einsum/error"))? {
        files.push(entry?.path());
    }
    for file in files {
        let text = fs::read_to_string(file)?;
        used.extend(text.split('"').filter(|word| is_code(word)).map(str::to_string));
    }
    let docs = fs::read_to_string(root.join("docs/errors.md"))?;
    let headings = docs.lines().filter_map(|line| line.strip_prefix("### "));
    // E9000 and codes of later stages are documented there, too.
    let of_front = |code: &&str| {
        ("E0100".."E0800").contains(code) || ("E0900".."E0930").contains(code) || ("E1400".."E1600").contains(code)
    };
    let documented: BTreeSet<String> =
        headings.filter_map(|line| line.split(':').next()).filter(of_front).map(str::to_string).collect();
    let tested: BTreeSet<String> = names.iter().filter_map(|name| name.split('-').next()).map(str::to_string).collect();
    if used != documented {
        return Err(format!("in the sources: {used:?}\nin docs/errors.md: {documented:?}").into());
    }
    if used != tested {
        return Err(format!("in the sources: {used:?}\nin tests/errors: {tested:?}").into());
    }
    Ok(())
}

fn is_code(word: &str) -> bool {
    word.len() == 5 && word.starts_with('E') && word[1..].bytes().all(|b| b.is_ascii_digit())
}

//! Faults, injected by hand, that the tests have to see: `testing/faults/*.patch`.
//!
//! A file describes the fault in its first lines, then has its place, the old text and the new text:
//!
//! ```text
//! The intersection of two operands also has what only the first one has.
//! file: crates/compiler/src/iterate/lattice.rs
//! <<<<<<<
//! old text
//! =======
//! new text
//! >>>>>>>
//! ```
//!
//! Without arguments, every old text has to be there exactly once: a fault that no longer applies is written anew. `./x faults [NAME...]`
//! applies each in a worktree of its own, runs the quick part of the tests there, the tests of the changed crate first, until one fails,
//! and prints a table of the faults and the tests that caught them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use lacunar_testing::suite::arguments;
use libtest_mimic::{Failed, Trial};

/// The quick part of the tests, in order: a package, the targets, and the packages whose faults they can see besides its own.
const QUICK: [(&str, &[&str], &[&str]); 10] = [
    ("lacunar-imp", &["--tests"], &[]),
    ("lacunar-front", &["--tests"], &[]),
    ("lacunar-runtime", &["--tests"], &[]),
    ("lacunar-compiler", &["--tests"], &["lacunar-front"]),
    ("lacunar-backend-c", &["--tests"], &["lacunar-imp"]),
    ("lacunar-backend-llvm", &["--tests"], &["lacunar-imp"]),
    ("lacunar", &["--tests"], ALL),
    ("lacunar-testing", &["--test", "corpus"], ALL),
    ("lacunar-testing", &["--test", "random", "--test", "treatments", "--test", "pairs", "--test", "casts"], ALL),
    ("lacunar-testing", &["--lib", "--test", "conversions", "--test", "conformance", "--test", "ship"], ALL),
];

/// The crates whose faults the tests of the whole pipeline can see.
const ALL: &[&str] = &[
    "lacunar-imp",
    "lacunar-front",
    "lacunar-runtime",
    "lacunar-compiler",
    "lacunar-backend-c",
    "lacunar-backend-llvm",
];

/// A fault.
struct Fault {
    name: String,
    what: String,
    file: String,
    old: String,
    new: String,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let faults = faults();
    if let [run, names @ ..] = words.as_slice()
        && run == "--run"
    {
        return run_all(&faults, names);
    }
    let trials = faults.into_iter().map(|fault| {
        let name = fault.as_ref().map_or_else(|what| what.clone(), |fault| fault.name.clone());
        Trial::test(name, move || {
            let fault = fault.map_err(Failed::from)?;
            fault.changed(&root()).map(drop).map_err(Failed::from)
        })
    });
    libtest_mimic::run(&arguments(), trials.collect()).exit_code()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All faults, by name.
fn faults() -> Vec<Result<Fault, String>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("faults");
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths.iter().map(|path| Fault::read(path)).collect()
}

impl Fault {
    fn read(path: &Path) -> Result<Fault, String> {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(path).map_err(|error| format!("{name}: {error}"))?;
        let parts = || {
            let (what, rest) = text.split_once("\nfile: ")?;
            let (file, rest) = rest.split_once("\n<<<<<<<\n")?;
            let (old, rest) = rest.split_once("=======\n")?;
            let (new, _) = rest.split_once(">>>>>>>")?;
            Some([what, file, old, new].map(str::to_string))
        };
        let [what, file, old, new] = parts().ok_or_else(|| format!("{name} has not the parts of a fault"))?;
        Ok(Fault { name, what: what.replace('\n', " "), file, old, new })
    }

    /// The file with the fault in it.
    fn changed(&self, root: &Path) -> Result<String, String> {
        let text = std::fs::read_to_string(root.join(&self.file)).map_err(|error| format!("{}: {error}", self.file))?;
        match text.matches(&self.old).count() {
            1 if self.old != self.new => Ok(text.replacen(&self.old, &self.new, 1)),
            count => Err(format!(
                "{}: its text is {count} times in {}; say in testing/faults what the same fault is now:\n{}",
                self.name, self.file, self.old
            )),
        }
    }

    /// The package whose file it changes.
    fn package(&self) -> Option<String> {
        let folder = self.file.strip_prefix("crates/")?.split('/').next()?;
        Some(if folder == "lacunar" { folder.to_string() } else { format!("lacunar-{folder}") })
    }
}

/// Runs the quick part with each fault, and prints the table.
fn run_all(faults: &[Result<Fault, String>], names: &[String]) -> ExitCode {
    let target = target();
    let tree = target.join("tree");
    let git = |arguments: &[&str]| Command::new("git").current_dir(root()).args(arguments).status();
    let place = tree.display().to_string();
    // Removes the work tree that an earlier run has left.
    let _ = git(&["worktree", "remove", "--force", &place]);
    if !git(&["worktree", "add", "--force", "--detach", &place, "HEAD"]).is_ok_and(|status| status.success()) {
        println!("there is no worktree {place}");
        return ExitCode::FAILURE;
    }
    let (mut table, mut all_caught) = (String::new(), true);
    let _ = writeln!(table, "| fault | what it is | caught by |\n|---|---|---|");
    for fault in faults {
        let fault = match fault {
            Ok(fault) if names.is_empty() || names.contains(&fault.name) => fault,
            Ok(_) => continue,
            Err(what) => {
                println!("{what}");
                all_caught = false;
                continue;
            }
        };
        let begun = Instant::now();
        let verdict = caught(fault, &tree, &target);
        let verdict = verdict.unwrap_or_else(|what| {
            all_caught = false;
            what
        });
        println!("{}: {verdict} ({} s)", fault.name, begun.elapsed().as_secs());
        let _ = writeln!(table, "| {} | {} | {verdict} |", fault.name, fault.what);
    }
    let _ = git(&["worktree", "remove", "--force", &place]);
    print!("{table}");
    if all_caught { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The folder that is built in: one of its own, for files that are built with a fault have the names of those that are built without.
fn target() -> PathBuf {
    let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
    temporary.parent().unwrap_or(temporary).join("faults")
}

/// The first test that fails with a fault.
fn caught(fault: &Fault, tree: &Path, target: &Path) -> Result<String, String> {
    let path = tree.join(&fault.file);
    let before = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", fault.file))?;
    std::fs::write(&path, fault.changed(tree)?).map_err(|error| error.to_string())?;
    let found = first_failure(fault, tree, target);
    std::fs::write(&path, before).map_err(|error| error.to_string())?;
    found?.ok_or_else(|| "MISSED".to_string())
}

fn first_failure(fault: &Fault, tree: &Path, target: &Path) -> Result<Option<String>, String> {
    let package = fault.package().unwrap_or_default();
    let sees = |(own, _, others): &&(&str, &[&str], &[&str])| *own == package || others.contains(&package.as_str());
    let (own, others): (Vec<_>, Vec<_>) = QUICK.iter().filter(sees).partition(|(own, ..)| *own == package);
    for (own, targets, _) in own.into_iter().chain(others) {
        let mut cargo = Command::new("cargo");
        cargo.current_dir(tree).args(["test", "--no-fail-fast", "-p", own]).args(targets.iter());
        cargo.env("CARGO_TARGET_DIR", target).env("LACUNAR_PASSED", "off").env("LACUNAR_RANDOM", "600");
        let output = cargo.output().map_err(|error| error.to_string())?;
        if output.status.success() {
            continue;
        }
        let errors = String::from_utf8_lossy(&output.stderr);
        if errors.contains("could not compile") {
            return Err(format!(
                "NOT BUILT: {}",
                errors.lines().filter(|line| line.starts_with("error")).collect::<String>()
            ));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let failed = text.lines().filter_map(|line| line.strip_prefix("---- ")?.strip_suffix(" ----"));
        let failed: Vec<&str> = failed.map(|name| name.trim_end_matches(" stdout")).collect();
        let first = failed.first().copied().unwrap_or("a crash");
        let more = if failed.len() > 1 { format!(" and {} more", failed.len() - 1) } else { String::new() };
        return Ok(Some(format!("`{first}`{more} of {own}")));
    }
    Ok(None)
}

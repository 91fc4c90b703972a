//! Kernels as C that a sanitizer watches: each access of memory, each shift and conversion, or the races of threads.
//!
//! A process that runs kernels so has an environment of its own: a C compiler with the sanitizer's flags, and the sanitizer's library
//! loaded before all others, because the process itself is compiled without. Memory that is not released is no fault: it is kept
//! for later kernels. OpenMP's library is not compiled with the thread sanitizer either; a library between (`openmp.c`) reports the
//! order that it makes.
//!
//! [`corpus`] runs the corpus in such processes, one for each sanitizer, and finds the reports in their output:
//!
//! ```text
//! corpus --sanitize thread nodes/sum
//!   -> child: LACUNAR_ENGINES=c LACUNAR_THREADS=1,2,7 OMP_NUM_THREADS=7 CC="env -u LD_PRELOAD gcc -g -fsanitize=thread" corpus c/
//!        instance nodes/sum[A=d{list},B=csr,C=csr]
//!        WARNING: ThreadSanitizer: data race ...
//!   -> thread: nodes/sum[A=d{list},B=csr,C=csr]
//!      WARNING: ThreadSanitizer: data race ...
//! ```
//!
//! Paper: Serebryany and Iskhodzhanov, *ThreadSanitizer: Data Race Detection in Practice* (WBIA 2009).

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use crate::day::today;
use crate::suite::BATCHES;

/// The numbers of threads for which work is cut into chunks, and the threads that take them.
const THREADS: &str = "1,2,7";
const TAKING: &str = "7";
/// Most lines of a report, and most reports of a run, that are shown.
const LINES: usize = 30;
const REPORTS: usize = 5;
/// The first line of a report contains one of these texts.
pub(crate) const BEGINNINGS: [&str; 4] =
    ["ERROR: AddressSanitizer", "ERROR: ThreadSanitizer", "WARNING: ThreadSanitizer", "runtime error:"];
/// The line that names an instance begins with this word ([`announce`]).
const INSTANCE: &str = "instance ";

/// A sanitizer of the C compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sanitizer {
    /// Accesses outside of arrays and undefined behavior.
    Address,
    /// Data races.
    Thread,
}

impl Sanitizer {
    /// Both.
    pub const ALL: [Sanitizer; 2] = [Sanitizer::Address, Sanitizer::Thread];

    /// Its name in commands.
    pub fn name(self) -> &'static str {
        match self {
            Sanitizer::Address => "address",
            Sanitizer::Thread => "thread",
        }
    }

    /// The environment of a process whose kernels it watches. Code that has to be compiled for that is put into a folder, and must stay
    /// there as long as processes are started.
    ///
    /// # Errors
    /// There is no GCC, or it lacks the sanitizer.
    pub fn environment(self, folder: &Path) -> Result<Vec<(&'static str, OsString)>, String> {
        let flags = match self {
            Sanitizer::Address => "env -u LD_PRELOAD gcc -g -fsanitize=address,undefined",
            Sanitizer::Thread => "env -u LD_PRELOAD gcc -g -fsanitize=thread",
        };
        let libraries = match self {
            Sanitizer::Address => library("libasan.so")?,
            Sanitizer::Thread => format!("{}:{}", library("libtsan.so")?, order_of_openmp(folder)?),
        };
        Ok(vec![
            ("LACUNAR_ENGINES", "c".into()),
            ("LACUNAR_OPTIMIZATION", "least".into()),
            ("CC", flags.into()),
            ("LD_PRELOAD", libraries.into()),
            ("ASAN_OPTIONS", "detect_leaks=0".into()),
            ("UBSAN_OPTIONS", "print_stacktrace=1".into()),
            // Other code, whose locks it does not see, is not watched.
            ("TSAN_OPTIONS", "ignore_noninstrumented_modules=1".into()),
        ])
    }
}

/// The path of one of GCC's libraries.
fn library(name: &str) -> Result<String, String> {
    let output = Command::new("gcc").arg(format!("-print-file-name={name}")).output();
    let output = output.map_err(|error| format!("gcc cannot be started: {error}"))?;
    let path = String::from_utf8_lossy(&output.stdout).trim().to_string();
    // A library that is not there is its bare name.
    if Path::new(&path).is_absolute() { Ok(path) } else { Err(format!("gcc has no {name}")) }
}

/// Compiles `openmp.c`.
fn order_of_openmp(folder: &Path) -> Result<String, String> {
    let (source, library) = (folder.join("openmp.c"), folder.join("liborder.so"));
    std::fs::write(&source, include_str!("openmp.c")).map_err(|error| error.to_string())?;
    let mut command = Command::new("gcc");
    command.args(["-O1", "-fPIC", "-shared", "-o"]).arg(&library).arg(&source);
    // OpenMP's library is loaded along with it, where its functions are looked for.
    command.args(["-Wl,--no-as-needed", "-lgomp", "-ldl"]);
    let output = command.output().map_err(|error| format!("gcc cannot be started: {error}"))?;
    if output.status.success() {
        Ok(library.display().to_string())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// Says which instance is run, where somebody listens: reports that follow are about it.
pub fn announce(instance: &str) {
    if std::env::var_os("LACUNAR_SHOW").is_some() {
        eprintln!("{INSTANCE}{instance}");
    }
}

/// Runs the instances of the corpus with a text in their names, with all sanitizers or the one named, from the words of the
/// command: `[address|thread] [--sample] [TEXT]`. `--sample` takes a sixteenth of the instances, another one every day.
///
/// # Errors
/// A sanitizer is not there.
pub fn corpus(words: &[&str], folder: &Path) -> Result<ExitCode, String> {
    let named = Sanitizer::ALL.into_iter().filter(|sanitizer| words.contains(&sanitizer.name())).collect::<Vec<_>>();
    let sanitizers = if named.is_empty() { Sanitizer::ALL.to_vec() } else { named };
    let text = words.iter().find(|word| !word.starts_with("--") && Sanitizer::ALL.iter().all(|s| s.name() != **word));
    let sample = words.contains(&"--sample");
    let batches = if sample { format!("c/{} of", today() % BATCHES as u64 + 1) } else { "c/".to_string() };
    let mut clean = true;
    for sanitizer in sanitizers {
        let own = std::env::current_exe().map_err(|error| error.to_string())?;
        let mut command = Command::new(own);
        command.arg(&batches).args(["--test-threads", "1"]).envs(sanitizer.environment(folder)?);
        command.env("LACUNAR_INSTANCE", text.copied().unwrap_or("nodes/")).env("LACUNAR_PASSED", "off");
        command.env("LACUNAR_THREADS", THREADS).env("OMP_NUM_THREADS", TAKING);
        clean &= watched(sanitizer.name(), command).map_err(|error| error.to_string())?;
    }
    Ok(if clean { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs a process and shows the reports of its sanitizer; true if there are none, and it succeeds with something to do.
fn watched(name: &str, mut command: Command) -> std::io::Result<bool> {
    let mut child = command.env("LACUNAR_SHOW", "1").stderr(Stdio::piped()).spawn()?;
    let (mut instances, mut reports, mut shown) = (0, 0, 0);
    let mut instance = String::new();
    for line in child.stderr.take().into_iter().flat_map(|errors| BufReader::new(errors).split(b'\n')) {
        let line = String::from_utf8_lossy(&line?).into_owned();
        if let Some(next) = line.strip_prefix(INSTANCE) {
            instance = next.to_string();
            instances += 1;
            shown = 0;
        } else if BEGINNINGS.iter().any(|beginning| line.contains(beginning)) {
            reports += 1;
            shown = if reports <= REPORTS { LINES } else { 0 };
            if shown > 0 {
                println!("{name}: {instance}");
            }
        }
        if shown > 0 {
            println!("{line}");
            shown -= 1;
        }
    }
    let status = child.wait()?;
    println!("{name}: {instances} instances, {reports} reports, {status}");
    Ok(reports == 0 && status.success() && instances > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program of C in which threads do something to the number `x`; by a static schedule each of them does.
    fn program(schedule: &str, work: &str) -> String {
        let pragma = format!("_Pragma(\"omp parallel for schedule({schedule}, 1)\")");
        format!(
            "int x, y; int main(int n, char **_) {{ {pragma} for (int c = 0; c < 64 * n; c++) {{ {work} }} \
             {pragma} for (int c = 0; c < 64; c++) {{ {work} }} y = x; return 0; }}"
        )
    }

    /// True if a sanitizer has nothing to say about a program; `None` where it is not there.
    fn is_clean(sanitizer: Sanitizer, source: &str) -> Option<bool> {
        let folder = tempfile::tempdir().unwrap();
        let Ok(environment) = sanitizer.environment(folder.path()) else {
            println!("skipped: no sanitizer");
            return None;
        };
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("program.c"), source).unwrap();
        let value = |name: &str| environment.iter().find(|(key, _)| *key == name).map(|(_, value)| value.clone());
        let compiler = value("CC").unwrap().into_string().unwrap();
        let mut words = compiler.split_whitespace();
        let mut command = Command::new(words.next().unwrap());
        command.args(words).args(["-O1", "-fopenmp", "-o"]).arg(path("program")).arg(path("program.c"));
        assert!(command.status().unwrap().success());
        let mut command = Command::new(path("program"));
        command.envs(environment).env("OMP_NUM_THREADS", "4");
        let errors = String::from_utf8_lossy(&command.output().unwrap().stderr).into_owned();
        Some(!BEGINNINGS.iter().any(|beginning| errors.contains(beginning)))
    }

    #[test]
    fn races_are_seen_and_orders_of_openmp_are_none() {
        let verdict = |schedule: &str, work: &str| {
            is_clean(Sanitizer::Thread, &program(schedule, work)).unwrap_or(work != "x++;")
        };
        assert!(!verdict("static", "x++;"));
        for schedule in ["static", "dynamic"] {
            assert!(verdict(schedule, "_Pragma(\"omp atomic\") x += c;"));
            assert!(verdict(schedule, "_Pragma(\"omp critical(one)\") { x += c; }"));
        }
    }

    #[test]
    fn accesses_outside_of_arrays_are_seen() {
        let source = |at: u32| {
            format!(
                "#include <stdlib.h>\nint main(int n, char **_) {{ int *a = malloc(16); a[n - 1 + {at}] = n; return a[n - 1 + {at}] - n; }}"
            )
        };
        let verdict = |at: u32| is_clean(Sanitizer::Address, &source(at)).unwrap_or(at < 4);
        assert!(verdict(3));
        assert!(!verdict(4));
    }
}

//! The machine that kernels are made for: named by the caller or the environment, kept on disk, or measured.
//!
//! ```text
//! Options::machine, else LACUNAR_MACHINE     a name (zen4, generic-v3, ..) or a file in TOML
//! else machine/HASH.toml in the cache        measured before, on this processor
//! else                                       measured now, in some milliseconds, and kept there
//! ```
//!
//! A process measures once. A file is written beside its place and renamed; one that cannot be read is measured anew.

use std::hash::Hasher;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use lacunar_machine::{Machine, model};
use lacunar_runtime::{io, pool};
use rustc_hash::FxHasher;

use crate::error::Error;
use crate::options::Options;
use crate::store;

/// The variable that names the machine.
const VARIABLE: &str = "LACUNAR_MACHINE";
/// Counts up when the probes change, so that the machine is measured again.
const PROBES: u32 = 2;
/// The longest file that is read.
const LONGEST: u64 = 1 << 16;

/// The machine that these options make kernels for.
///
/// ```
/// use lacunar::Options;
/// let machine = lacunar::machine(&Options::new().machine("zen4"))?;
/// assert_eq!(machine.name, "zen4");
/// assert!(lacunar::machine(&Options::new())?.vectors.insert > 0.0);
/// assert!(lacunar::machine(&Options::new().machine("abacus")).is_err());
/// # Ok::<(), lacunar::Error>(())
/// ```
///
/// # Errors
/// The name is none that is known and no file, or the file is no machine.
pub fn machine(options: &Options) -> Result<Arc<Machine>, Error> {
    let variable = || std::env::var(VARIABLE).ok().filter(|name| !name.is_empty());
    if let Some(name) = options.machine.clone().or_else(variable) {
        return named(&name).map(Arc::new);
    }
    static HERE: OnceLock<Arc<Machine>> = OnceLock::new();
    Ok(Arc::clone(HERE.get_or_init(|| Arc::new(here(store::folder(options).as_deref())))))
}

/// The machine of a name, or in a file.
fn named(name: &str) -> Result<Machine, Error> {
    if let Some(machine) = Machine::named(name) {
        return Ok(machine);
    }
    let wrong = |why: String| Error::Machine { name: name.to_string(), why };
    let path = Path::new(name);
    let size = std::fs::metadata(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => wrong(format!("names are {}; there is no such file either", names())),
        _ => wrong(error.to_string()),
    })?;
    if !size.is_file() || size.len() > LONGEST {
        return Err(wrong("it is no file that describes a machine".to_string()));
    }
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    Machine::from_toml(&text).map_err(|error| wrong(error.to_string().trim_end().to_string()))
}

fn names() -> String {
    model::NAMES.join(", ")
}

/// The processor at hand: as it was measured before, or measured now.
fn here(folder: Option<&Path>) -> Machine {
    let processor = store::processor();
    let kept = folder.map(|folder| file(folder, &processor));
    if let Some(machine) = kept.as_deref().and_then(|path| read(path, &processor)) {
        return machine;
    }
    let machine = lacunar_machine::measure(&processor, &mut fork);
    if let Some(path) = kept {
        // A later process measures again where nothing can be kept.
        let _ = path.parent().map(std::fs::create_dir_all);
        let _ = io::replace(&path, machine.to_toml().as_bytes());
    }
    machine
}

/// Hands an iteration to each thread. Each waits for the others, so that no thread does the work of one that is not awake yet; but not
/// for long, for other programs may hold the processors.
fn fork() {
    const LONG: Duration = Duration::from_micros(200);
    let (threads, started) = (pool::threads(), AtomicUsize::new(0));
    let meet = |_| {
        started.fetch_add(1, Ordering::Relaxed);
        let start = Instant::now();
        while started.load(Ordering::Relaxed) < threads && start.elapsed() < LONG {
            std::hint::spin_loop();
        }
        0
    };
    pool::run(0, threads as i64, &meet);
}

/// The machine in a file, if it is this processor's.
fn read(path: &Path, processor: &str) -> Option<Machine> {
    let text = std::fs::metadata(path).ok().filter(|info| info.is_file() && info.len() <= LONGEST);
    let text = text.and_then(|_| std::fs::read_to_string(path).ok())?;
    Machine::from_toml(&text).ok().filter(|machine| machine.name == processor)
}

fn file(folder: &Path, processor: &str) -> PathBuf {
    let mut hasher = FxHasher::default();
    hasher.write(format!("{PROBES} {processor}").as_bytes());
    folder.join("machine").join(format!("{:016x}.toml", hasher.finish()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{file, here, named, read};
    use crate::{Format, Kernel, Options, store};

    #[test]
    fn what_is_measured_is_kept_and_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let measured = here(Some(folder.path()));
        let path = file(folder.path(), &store::processor());
        assert_eq!(read(&path, &store::processor()).as_ref(), Some(&measured));
        // Another machine's, or a broken one, is not taken.
        assert_eq!(read(&path, "abacus"), None);
        let mut other = measured.clone();
        other.fork = 77.0;
        std::fs::write(&path, other.to_toml()).unwrap();
        assert_eq!(here(Some(folder.path())), other);
        std::fs::write(&path, "name = 1").unwrap();
        assert_ne!(here(Some(folder.path())).fork, 77.0);
        assert!(read(&path, &store::processor()).is_some());
    }

    #[test]
    fn a_file_is_a_machine() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mine.toml");
        let text = named("zen4").unwrap().to_toml();
        std::fs::write(&path, &text).unwrap();
        assert_eq!(named(path.to_str().unwrap()).unwrap(), named("zen4").unwrap());
        std::fs::write(&path, text.replace("fork", "spoon")).unwrap();
        let error = named(path.to_str().unwrap()).unwrap_err();
        assert!(error.code() == Some("E1304") && error.to_string().contains("spoon"), "{error}");
        let error = named("abacus").unwrap_err().to_string();
        assert!(error.contains("`abacus`") && error.contains("generic-v3"), "{error}");
        assert!(named(folder.path().to_str().unwrap()).is_err());
    }

    #[test]
    fn kernels_say_which_machine_they_are_for() {
        let options = Options::new().format("A", Format::csr()).machine("zen4");
        let notes = Kernel::compile("y(i) = A(i,j) * x(j)", &options).unwrap().explain().join("\n");
        assert!(notes.contains("zen4"), "{notes}");
    }
}

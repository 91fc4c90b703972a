//! Comparisons that passed before, and need not be run again as long as nothing has changed that they depend on.
//!
//! A comparison has a key: the hash of the program with its data and expected results, of the kernels' imperative IR, of the plans
//! around them, and of the options of the back ends ([`crate::runner`]). Everything behind the IR is in the *fingerprint* of a file of
//! keys: the sources of the back ends, of the runtime, of the oracle and of the tests, the toolchain, the C compiler, LLVM, and the
//! processor. The crate `compiler` is not in it, because the keys hold its output: a change of the lowering runs those programs again
//! whose kernels it changes.
//!
//! Only comparisons that passed are kept. A file of other sources, of another version, or one that is damaged, is as good
//! as none. With `LACUNAR_ALL`, or `LACUNAR_PASSED=off`, nothing is known.
//!
//! ```text
//! version  fingerprint  number of keys  keys, the newest first ...  hash of all words before
//! ```

use std::collections::HashSet;
use std::fmt;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::day;

/// The version of the files. Counts up whenever a key means something else.
const VERSION: u64 = 0x6c61_6370_6173_0001;
/// The most keys of a file.
const MOST: usize = 1 << 19;

/// The folders of the repository whose files determine the results of a kernel.
const BEHIND_THE_IR: [&str; 11] = [
    "crates/base",
    "crates/formats",
    "crates/notation",
    "crates/front",
    "crates/imp",
    "crates/backend-c",
    "crates/backend-llvm",
    "crates/runtime",
    "crates/oracle",
    "crates/lacunar",
    "testing",
];

/// Keys of comparisons that have passed, from a file and from this run.
#[derive(Debug, Default)]
pub struct Passed {
    /// The file in which they are kept; `None` if nothing is to be known.
    path: Option<PathBuf>,
    before: Vec<u64>,
    known: HashSet<u64>,
    now: Mutex<HashSet<u64>>,
    /// The number of comparisons that were not run.
    spared: AtomicUsize,
}

impl Passed {
    /// Knows nothing and keeps nothing.
    pub fn none() -> Passed {
        Passed::default()
    }

    /// Reads the keys that the file of a test program holds.
    pub fn open(folder: &str, name: &str) -> Passed {
        let off = std::env::var("LACUNAR_PASSED").is_ok_and(|value| value == "off");
        if off || day::all_wanted() {
            return Passed::none();
        }
        let path = Path::new(folder).join(format!("passed-{name}.bin"));
        let before = fs::read(&path).ok().and_then(|bytes| keys_of(&bytes, fingerprint())).unwrap_or_default();
        Passed { path: Some(path), known: before.iter().copied().collect(), before, ..Passed::default() }
    }

    /// True if a comparison has passed before.
    pub fn knows(&self, key: u64) -> bool {
        let known = self.known.contains(&key);
        if known {
            self.spared.fetch_add(1, Ordering::Relaxed);
            self.add(key);
        }
        known
    }

    /// The number of comparisons that were not run.
    pub fn spared(&self) -> usize {
        self.spared.load(Ordering::Relaxed)
    }

    /// Notes that a comparison has passed.
    pub fn add(&self, key: u64) {
        if self.path.is_some() {
            self.now.lock().unwrap_or_else(PoisonError::into_inner).insert(key);
        }
    }

    /// Writes the keys of this run, and behind them earlier ones as far as there is room.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn keep(&self) -> std::io::Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        let now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        let earlier = self.before.iter().copied().filter(|key| !now.contains(key));
        let keys: Vec<u64> = now.iter().copied().chain(earlier).take(MOST).collect();
        lacunar_runtime::io::replace(path, &bytes_of(&keys, fingerprint()))
    }
}

/// `1204 comparisons passed before, with the same kernels, data and sources`.
impl fmt::Display for Passed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} comparisons passed before, with the same kernels, data and sources", self.spared())
    }
}

/// A hash that text is written to.
#[derive(Debug, Default)]
pub struct Digest(DefaultHasher);

impl Digest {
    /// Takes bytes that are no text.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    /// The hash of all that was written.
    pub fn finish(&self) -> u64 {
        self.0.finish()
    }
}

impl fmt::Write for Digest {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}

fn bytes_of(keys: &[u64], fingerprint: u64) -> Vec<u8> {
    let mut words = vec![VERSION, fingerprint, keys.len() as u64];
    words.extend(keys);
    words.push(hash_of(&words));
    words.into_iter().flat_map(u64::to_le_bytes).collect()
}

/// The keys of a file's content; `None` where it is not whole, or was written for other sources.
fn keys_of(bytes: &[u8], fingerprint: u64) -> Option<Vec<u64>> {
    let words: Vec<u64> =
        bytes.chunks_exact(8).filter_map(|word| Some(u64::from_le_bytes(word.try_into().ok()?))).collect();
    let (check, content) = words.split_last()?;
    let [VERSION, written_for, count, keys @ ..] = content else { return None };
    let whole = bytes.len().is_multiple_of(8) && *count == keys.len() as u64 && *check == hash_of(content);
    (whole && *written_for == fingerprint).then(|| keys.to_vec())
}

fn hash_of(words: &[u64]) -> u64 {
    let mut hasher = DefaultHasher::new();
    words.hash(&mut hasher);
    hasher.finish()
}

/// The hash of everything behind the IR that results depend on.
fn fingerprint() -> u64 {
    static FINGERPRINT: OnceLock<u64> = OnceLock::new();
    *FINGERPRINT.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut hasher = DefaultHasher::new();
        let mut files = ["Cargo.toml", "Cargo.lock"].map(|name| root.join(name)).to_vec();
        BEHIND_THE_IR.iter().for_each(|folder| collect(&root.join(folder), &mut files));
        files.sort();
        for file in files {
            (file.strip_prefix(&root).ok(), fs::read(&file).ok()).hash(&mut hasher);
        }
        let variable = |name: &str| std::env::var(name).unwrap_or_default();
        let cc = variable("CC");
        let cc: Vec<&str> = if cc.trim().is_empty() { vec!["cc"] } else { cc.split_whitespace().collect() };
        let llvm = Path::new(&variable("LLVM_SYS_191_PREFIX")).join("bin/llvm-config");
        said(Command::new(cc[0]).args(&cc[1..]).arg("--version")).hash(&mut hasher);
        said(Command::new("rustc").arg("-vV")).hash(&mut hasher);
        said(Command::new(llvm).arg("--version")).hash(&mut hasher);
        cfg!(debug_assertions).hash(&mut hasher);
        // The processor: code is for the one that it is generated on.
        let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let tells =
            |line: &&str| ["model name", "flags", "Features", "CPU part"].iter().any(|word| line.starts_with(word));
        processors.lines().filter(tells).take(2).collect::<Vec<_>>().hash(&mut hasher);
        hasher.finish()
    })
}

/// The output of a program; empty if it cannot be started.
fn said(command: &mut Command) -> Vec<u8> {
    command.output().map(|output| output.stdout).unwrap_or_default()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => collect(&path, files),
            false => files.push(path),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A failure is what a test is for.
mod tests {
    use super::*;

    #[test]
    fn only_whole_files_for_the_same_sources_are_read() {
        let bytes = bytes_of(&[3, 1, 2], 7);
        assert_eq!(keys_of(&bytes, 7), Some(vec![3, 1, 2]));
        assert_eq!(keys_of(&bytes, 8), None);
        for cut in 0..bytes.len() {
            assert_eq!(keys_of(&bytes[..cut], 7), None, "{cut} bytes");
            let mut damaged = bytes.clone();
            damaged[cut] ^= 1;
            assert_eq!(keys_of(&damaged, 7), None, "byte {cut}");
        }
    }

    #[test]
    fn what_passed_is_known_to_the_next_run() {
        let folder = std::env::temp_dir().join(format!("lacunar-passed-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let place = folder.to_str().unwrap();
        let first = Passed { path: Some(folder.join("passed-here.bin")), ..Passed::default() };
        assert!(!first.knows(5));
        first.add(5);
        // Within a run nothing is spared: a program that occurs twice is run twice.
        assert!(!first.knows(5));
        first.keep().unwrap();
        let second = Passed::open(place, "here");
        if second.path.is_some() {
            assert!(second.knows(5) && !second.knows(6));
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}

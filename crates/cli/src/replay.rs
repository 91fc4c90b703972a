//! Replay files: when Lacunar itself is at fault, they hold everything that is needed to see it happen again.
//!
//! A panic ends in exit code 70 and a file such as
//!
//! ```text
//! lacunar 0.1.0 (linux x86_64)
//! fault: panicked at src/check.rs:10: index out of bounds
//! folder: /data
//! command: lacunar run 'y(i) = A(i,j) * x(j)' -i A:a.mtx -g x:rand
//! ```
//!
//! which names the input files in the command, but does not hold their content.

use std::ffi::OsString;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Mutex;

use crate::failure::INTERNAL;
use crate::output;

/// The folders in which a replay file may be put, in order of preference.
pub fn places() -> Vec<PathBuf> {
    vec![PathBuf::from("."), std::env::temp_dir()]
}

/// Runs `run`, which gives an exit code; if it panics, writes a replay file into the first of `folders` that takes it.
pub fn guarded(argv: &[OsString], folders: &[PathBuf], run: impl FnOnce() -> u8) -> u8 {
    static FAULT: Mutex<Option<String>> = Mutex::new(None);
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(|panic| {
        if let Ok(mut fault) = FAULT.lock() {
            fault.get_or_insert_with(|| panic.to_string());
        }
    }));
    let outcome = catch_unwind(AssertUnwindSafe(run));
    std::panic::set_hook(before);
    let fault = FAULT.lock().ok().and_then(|mut fault| fault.take());
    outcome.unwrap_or_else(|_| {
        let fault = fault.unwrap_or_else(|| "panicked".to_string());
        output::tell(&format!("error: internal error: {fault}\n"));
        write_and_tell(argv, folders, &fault);
        INTERNAL
    })
}

/// Writes a replay file and names it on standard error.
pub fn write_and_tell(argv: &[OsString], folders: &[PathBuf], fault: &str) {
    let text = content(argv, fault);
    match folders.iter().find_map(|folder| write(folder, &text)) {
        Some(path) => {
            output::tell(&format!("This is a fault of lacunar. To report it, send {} along.\n", path.display()));
        }
        None => output::tell(&format!("This is a fault of lacunar. To report it, send this along:\n{text}\n")),
    }
}

fn write(folder: &std::path::Path, text: &str) -> Option<PathBuf> {
    let mut file = tempfile::Builder::new().prefix("lacunar-replay-").suffix(".txt").tempfile_in(folder).ok()?;
    file.write_all(text.as_bytes()).ok()?;
    file.keep().ok().map(|(_, path)| path)
}

fn content(argv: &[OsString], fault: &str) -> String {
    let words: Vec<String> = argv.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let command = shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| format!("{words:?}"));
    let folder = std::env::current_dir().map_or_else(|_| "unknown".to_string(), |folder| folder.display().to_string());
    format!(
        "lacunar {} ({} {})\nfault: {fault}\nfolder: {folder}\ncommand: {command}\n",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS,
        std::env::consts::ARCH,
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::guarded;
    use std::ffi::OsString;

    #[test]
    fn a_panic_leaves_a_replay_file_and_code_70() {
        let folder = tempfile::tempdir().unwrap();
        let argv = ["lacunar", "run", "y = x y"].map(OsString::from);
        let missing = folder.path().join("missing");
        let folders = [missing, folder.path().to_path_buf()];
        assert_eq!(guarded(&argv, &folders, || 3), 3);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        assert_eq!(guarded(&argv, &folders, || panic!("a fault")), 70);
        let files: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        let text = std::fs::read_to_string(&files[0]).unwrap();
        assert!(text.contains("a fault") && text.contains("command: lacunar run 'y = x y'\n"), "{text}");
    }
}

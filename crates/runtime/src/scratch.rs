//! Files and folders that are there for a while only: the part of a file that is being written, the folder that a compiler works
//! in. They vanish when they are dropped, and when a signal ends the process, if the program asked for that.
//!
//! A list has the files and folders that are there now. A thread of its own waits for the signals, so that no handler runs in the
//! middle of other code; it removes the listed files and lets the signal end the process as it would have. The list stays locked
//! meanwhile: nothing is made any more, and no file gets its name. A limit on the size of files ends no process: a write past it
//! gives an error.
//!
//! ```
//! use std::io::Write;
//! use lacunar_runtime::scratch::ScratchFile;
//! let folder = tempfile::tempdir()?;
//! let place = folder.path().join("y.tns");
//! let mut part = ScratchFile::for_file(&place)?;
//! part.write_all(b"1 1\n")?;
//! assert!(!place.exists());
//! part.persist()?;
//! assert_eq!(std::fs::read(&place)?, b"1 1\n");
//! # Ok::<(), std::io::Error>(())
//! ```

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::{NamedTempFile, TempDir};

/// The paths to remove if the process ends now.
static LISTED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn listed() -> MutexGuard<'static, Vec<PathBuf>> {
    // A list of paths is whole after every step.
    LISTED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn forget(list: &mut Vec<PathBuf>, path: &Path) {
    list.retain(|known| known != path);
}

/// A file without its name yet.
#[derive(Debug)]
pub struct ScratchFile {
    /// There until the file is dropped or gets its name.
    file: Option<NamedTempFile>,
    place: PathBuf,
}

impl ScratchFile {
    /// A file beside `place`, whose name it takes in the end. It has the rights of the file that is there, or those of
    /// a new one.
    ///
    /// # Errors
    /// The folder can't be written.
    pub fn for_file(place: &Path) -> io::Result<ScratchFile> {
        let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut builder = tempfile::Builder::new();
        builder.prefix(".lacunar-").suffix(".part");
        let rights = rights_of(place);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // The user's mask takes from these; by default only the owner may read.
            builder.permissions(rights.clone().unwrap_or_else(|| PermissionsExt::from_mode(0o666)));
        }
        let mut list = listed();
        let file = builder.tempfile_in(folder)?;
        list.push(file.path().to_path_buf());
        drop(list);
        let scratch = ScratchFile { file: Some(file), place: place.to_path_buf() };
        if let (Some(rights), Some(file)) = (rights, &scratch.file) {
            file.as_file().set_permissions(rights)?;
        }
        Ok(scratch)
    }

    /// The path of the file, until it gets its name.
    pub fn path(&self) -> &Path {
        self.file.as_ref().map_or(Path::new(""), NamedTempFile::path)
    }

    /// Gives the file its name, whole as it is.
    ///
    /// # Errors
    /// The system's error; then the file vanishes.
    pub fn persist(mut self) -> io::Result<()> {
        let Some(file) = self.file.take() else { return Ok(()) };
        let mut list = listed();
        forget(&mut list, file.path());
        file.persist(&self.place).map(drop).map_err(|error| error.error)
    }
}

/// The rights of a file that is there, but for those that make it run as somebody else.
fn rights_of(place: &Path) -> Option<std::fs::Permissions> {
    let rights = std::fs::metadata(place).ok().filter(std::fs::Metadata::is_file)?.permissions();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        Some(PermissionsExt::from_mode(rights.mode() & 0o777))
    }
    #[cfg(not(unix))]
    Some(rights)
}

impl Write for ScratchFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.as_mut().map_or(Ok(0), |file| file.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), |file| file.flush())
    }
}

impl Drop for ScratchFile {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            let mut list = listed();
            forget(&mut list, file.path());
            drop(file);
        }
    }
}

/// A folder of its own.
#[derive(Debug)]
pub struct ScratchFolder {
    /// There until the folder is dropped.
    folder: Option<TempDir>,
    path: PathBuf,
}

impl ScratchFolder {
    /// An empty folder in the system's place for temporary files.
    ///
    /// # Errors
    /// The system's error.
    pub fn new() -> io::Result<ScratchFolder> {
        let mut list = listed();
        let folder = tempfile::Builder::new().prefix("lacunar-").tempdir()?;
        let path = folder.path().to_path_buf();
        list.push(path.clone());
        Ok(ScratchFolder { folder: Some(folder), path })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        let mut list = listed();
        forget(&mut list, &self.path);
        drop(self.folder.take());
    }
}

/// From here on, the signals by which others end a program (hangup, interrupt, termination, a limit on time) remove the temporary files and
/// folders first. For programs, before they start a thread: a library leaves signals to the program that it is part of.
#[cfg(unix)]
pub fn remove_on_signals() {
    signals::watch();
}

/// There are no such signals here.
#[cfg(not(unix))]
pub fn remove_on_signals() {}

#[cfg(unix)]
#[allow(unsafe_code)]
mod signals {
    use std::mem::MaybeUninit;
    use std::time::Duration;

    /// The number of tries to remove a folder that a compiler still writes to, and the pause in between.
    const TRIES: usize = 50;
    const PAUSE: Duration = Duration::from_millis(10);

    pub(super) fn watch() {
        let ending = [
            libc::SIGHUP,
            libc::SIGINT,
            libc::SIGTERM,
            libc::SIGQUIT,
            libc::SIGXCPU,
            libc::SIGALRM,
            libc::SIGUSR1,
            libc::SIGUSR2,
        ];
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: a set of signals is made empty before anything else is done with it, and signals of the system are
        // put in. `sigaction` with a null action only asks for the action of a signal, into memory that is large enough
        // for it and read only if the call succeeded.
        let set = unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            for signal in ending {
                let mut action = MaybeUninit::<libc::sigaction>::zeroed();
                let known = libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) == 0;
                // Signals that the caller had ignored stay ignored: `nohup` asks for it.
                if known && action.assume_init().sa_sigaction != libc::SIG_IGN {
                    libc::sigaddset(set.as_mut_ptr(), signal);
                }
            }
            // Threads made later block them too, and children are started with none blocked.
            libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut());
            // If a file would be larger than the limit (`ulimit -f`), a thread gets an error where the signal is blocked;
            // nobody waits for it.
            let mut limits = MaybeUninit::<libc::sigset_t>::uninit();
            libc::sigemptyset(limits.as_mut_ptr());
            libc::sigaddset(limits.as_mut_ptr(), libc::SIGXFSZ);
            libc::pthread_sigmask(libc::SIG_BLOCK, limits.as_ptr(), std::ptr::null_mut());
            set.assume_init()
        };
        let started = std::thread::Builder::new().name("signals".to_string()).spawn(move || wait(&set));
        if started.is_err() {
            // SAFETY: the set was made above.
            unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut()) };
        }
    }

    fn wait(set: &libc::sigset_t) {
        let mut signal = 0;
        // SAFETY: the set is one of signals, and the number goes to a variable for it.
        if unsafe { libc::sigwait(set, &raw mut signal) } != 0 {
            return;
        }
        let list = super::listed();
        for path in list.iter() {
            for _ in 0..TRIES {
                let gone = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
                if gone.is_ok() || !path.exists() {
                    break;
                }
                std::thread::sleep(PAUSE);
            }
        }
        // SAFETY: the signal has its default action, which ends the process, as soon as this thread does not block it;
        // the list is locked until then.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::pthread_sigmask(libc::SIG_UNBLOCK, set, std::ptr::null_mut());
            libc::raise(signal);
        }
        drop(list);
    }
}

//! Code that is kept in a folder, for later processes.
//!
//! A file holds the key of one kernel, all of it, and its object. The key is everything that the object was made of: the text of the
//! function, the options, the processor with its features, and a digest of this crate's sources, which name LLVM's version. A file is
//! used if it is whole, its key is the one that is looked for, and it belongs to the user of the process, who alone can write to it; any
//! other counts as none, and is replaced. Files are written whole or not at all, so that processes can share a folder.
//!
//! ```text
//! magic | length of the key | length of the object | checksum | key | object            numbers of 64 bits, little-endian
//! ```
//!
//! A folder holds at most [`MOST_BYTES`]: the files that were not used for the longest time go first.

#![allow(unsafe_code)]

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use lacunar_imp::{Function, Verified};

use crate::{CompileOptions, JitKernel, LlvmError, compile, processor};

/// Every file begins with this text. Its number counts up when the layout changes.
const MAGIC: &[u8; 16] = b"lacunar code 01\n";
/// The place at which the key begins.
const HEAD: usize = MAGIC.len() + 3 * size_of::<u64>();
/// The largest number of bytes that a folder holds.
pub const MOST_BYTES: u64 = 256 << 20;
/// The largest number of bytes of a file.
const LONGEST: u64 = 32 << 20;
/// A file that is used is marked so if that was not done for so long.
const FRESH: Duration = Duration::from_secs(24 * 60 * 60);

/// Compiles a function, or takes its code from a folder; code that is made is kept there, if the folder can be written to.
///
/// ```
/// use lacunar_backend_llvm::{CompileOptions, compile_stored};
/// use lacunar_imp::{Builder, verify};
/// let function = verify(Builder::new("nothing").finish()).unwrap();
/// let folder = tempfile::tempdir().unwrap();
/// let made = compile_stored(&function, &CompileOptions::default(), folder.path()).unwrap();
/// let found = compile_stored(&function, &CompileOptions::default(), folder.path()).unwrap();
/// assert_eq!(made.object(), found.object());
/// ```
///
/// # Errors
/// LLVM cannot compile the function.
pub fn compile_stored(
    function: &Verified<Function>,
    options: &CompileOptions,
    folder: &Path,
) -> Result<JitKernel, LlvmError> {
    let key = key(function, options)?;
    let path = folder.join(format!("{:016x}.o", hash(key.as_bytes())));
    if let Some(kernel) = find(&path, &key) {
        return Ok(kernel);
    }
    let kernel = compile(function, options)?;
    // A later process compiles code again that cannot be kept.
    let _ = keep(&path, &key, kernel.object());
    Ok(kernel)
}

/// Everything that an object is made of.
fn key(function: &Verified<Function>, options: &CompileOptions) -> Result<String, LlvmError> {
    let processor = processor()?;
    let (version, sources) = (env!("CARGO_PKG_VERSION"), env!("LACUNAR_BACK_END"));
    Ok(format!("{version} {sources}\n{processor}\n{options:?}\n{}", &**function))
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

/// The code in a file; `None` if there is none of this key that can be trusted.
fn find(path: &Path, key: &str) -> Option<JitKernel> {
    let info = fs::symlink_metadata(path).ok()?;
    if !info.is_file() || info.len() > LONGEST || !is_own(&info) {
        return None;
    }
    let content = fs::read(path).ok()?;
    let object = object_of(&content, key)?;
    // SAFETY: the file belongs to the user of the process and nobody else can write to it; it is whole; and its key says that this
    // version of this crate made it for this processor.
    let kernel = unsafe { JitKernel::from_object(object) }.ok()?;
    let used = info.modified().ok().and_then(|used| used.elapsed().ok());
    if used.is_none_or(|used| used > FRESH) {
        // Files that cannot be marked are only forgotten earlier.
        let _ = File::options().append(true).open(path).and_then(|file| file.set_modified(SystemTime::now()));
    }
    Some(kernel)
}

/// The object in a file's content, if that is whole and of a key.
fn object_of<'c>(content: &'c [u8], key: &str) -> Option<&'c [u8]> {
    let (head, rest) = content.split_at_checked(HEAD)?;
    let (magic, numbers) = head.split_at_checked(MAGIC.len())?;
    let number = |place: usize| {
        let bytes = numbers.get(8 * place..8 * (place + 1))?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    };
    let (lengths, sum) = ((number(0)?, number(1)?), number(2)?);
    let (found, object) = rest.split_at_checked(usize::try_from(lengths.0).ok()?)?;
    let whole = magic == MAGIC && object.len() as u64 == lengths.1 && hash(rest) == sum;
    (whole && found == key.as_bytes()).then_some(object)
}

/// Writes a file, and makes room for it.
fn keep(path: &Path, key: &str, object: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let body = [key.as_bytes(), object].concat();
    let mut content = MAGIC.to_vec();
    for number in [key.len() as u64, object.len() as u64, hash(&body)] {
        content.extend(number.to_le_bytes());
    }
    content.extend(body);
    if content.len() as u64 > LONGEST {
        return Ok(());
    }
    make_room(folder, content.len() as u64, MOST_BYTES)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(&content)?;
    file.persist(path)?;
    Ok(())
}

/// Removes the files that were not used for the longest time, until there is room for so many bytes more below a limit.
/// Files left by processes that were killed as they wrote go likewise.
fn make_room(folder: &Path, bytes: u64, limit: u64) -> io::Result<()> {
    let mut files: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
    for entry in fs::read_dir(folder)?.flatten() {
        if let Ok(info) = entry.metadata()
            && info.is_file()
        {
            files.push((info.modified().unwrap_or(SystemTime::UNIX_EPOCH), info.len(), entry.path()));
        }
    }
    let mut total = files.iter().fold(bytes, |total, (_, len, _)| total.saturating_add(*len));
    if total <= limit {
        return Ok(());
    }
    files.sort_unstable();
    for (_, len, path) in files {
        // Half of it: the next files find room without a look at all others.
        if total <= limit / 2 {
            break;
        }
        // Another process may have removed it.
        if fs::remove_file(path).is_ok() {
            total -= len;
        }
    }
    Ok(())
}

/// Returns whether a file belongs to the user of the process, and nobody else can write to it.
#[cfg(unix)]
fn is_own(info: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    // SAFETY: a query without arguments.
    let user = unsafe { libc::geteuid() };
    info.uid() == user && info.mode() & 0o022 == 0
}

#[cfg(not(unix))]
fn is_own(_info: &fs::Metadata) -> bool {
    true
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A failure is what a test is for.
mod tests {
    use lacunar_imp::{Builder, verify};

    use super::*;

    fn function(name: &str) -> Verified<Function> {
        verify(Builder::new(name).finish()).unwrap()
    }

    fn only_file(folder: &Path) -> PathBuf {
        let files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(files.len(), 1, "{files:?}");
        files[0].clone()
    }

    #[test]
    fn damaged_and_foreign_files_are_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let options = CompileOptions::default();
        let made = compile_stored(&function("f"), &options, folder.path()).unwrap();
        let path = only_file(folder.path());
        let whole = fs::read(&path).unwrap();
        let key = key(&function("f"), &options).unwrap();
        assert_eq!(object_of(&whole, &key), Some(made.object()));
        for at in (0..whole.len()).step_by(7) {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x40;
            assert_eq!(object_of(&damaged, &key), None, "byte {at}");
            assert_eq!(object_of(&whole[..at], &key), None, "cut at {at}");
        }
        assert_eq!(object_of(&whole, "another key"), None);
        for content in [&b""[..], b"no code", &whole[..whole.len() - 1]] {
            fs::write(&path, content).unwrap();
            assert!(find(&path, &key).is_none());
            compile_stored(&function("f"), &options, folder.path()).unwrap();
            assert_eq!(fs::read(only_file(folder.path())).unwrap(), whole);
        }
    }

    #[test]
    #[cfg(unix)]
    fn files_that_others_can_write_to_are_not_used() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let options = CompileOptions::default();
        compile_stored(&function("f"), &options, folder.path()).unwrap();
        let (path, key) = (only_file(folder.path()), key(&function("f"), &options).unwrap());
        assert!(find(&path, &key).is_some());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        assert!(find(&path, &key).is_none());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let link = folder.path().join("link.o");
        symlink(&path, &link).unwrap();
        assert!(find(&path, &key).is_some() && find(&link, &key).is_none());
    }

    #[test]
    fn what_was_not_used_for_the_longest_time_goes_first() {
        let folder = tempfile::tempdir().unwrap();
        for (name, age) in [("a", 30), ("b", 20), ("c", 10)] {
            let path = folder.path().join(name);
            fs::write(&path, [0; 100]).unwrap();
            let used = SystemTime::now() - Duration::from_secs(age);
            File::options().append(true).open(&path).unwrap().set_modified(used).unwrap();
        }
        let left = || {
            let mut names: Vec<_> =
                fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        };
        make_room(folder.path(), 80, 380).unwrap();
        assert_eq!(left(), ["a", "b", "c"]);
        make_room(folder.path(), 81, 380).unwrap();
        assert_eq!(left(), ["c"]);
    }

    #[test]
    fn a_folder_that_cannot_be_written_to_is_no_fault() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(compile_stored(&function("f"), &CompileOptions::default(), &file.path().join("below")).is_ok());
    }
}

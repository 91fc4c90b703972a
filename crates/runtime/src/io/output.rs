//! Writing a file whole or not at all, made by all threads.
//!
//! The content is made in pieces, in parallel; each piece is compressed by the thread that made it (as a gzip member or
//! a Zstandard frame of its own, which together are a valid file), and the pieces are written in order while the next
//! ones are made. They go to a temporary file in the same folder, which takes the file's name when it is whole and
//! vanishes if anything fails.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::write::GzEncoder;

use super::Compression;
use super::error::IoError;
use super::progress::Progress;
use crate::parallel;
use crate::pool;
use crate::scratch::ScratchFile;

/// Zstandard's own default.
const ZSTD_LEVEL: i32 = 3;
/// Pieces that a thread makes before they are written.
const PIECES_AHEAD: usize = 4;

/// Writes `count` pieces, each made by `make` from its number. An error of `make` is the reason why the content cannot
/// be written.
pub(super) fn write_pieces(
    path: &Path,
    compression: Compression,
    progress: bool,
    count: usize,
    make: impl Fn(usize) -> Result<Vec<u8>, String> + Sync,
) -> Result<(), IoError> {
    let write_error = |source| IoError::Write { file: path.to_path_buf(), source };
    let label = format!("writing {}", path.file_name().unwrap_or_default().to_string_lossy());
    let mut progress = Progress::start(label, count as u64, progress);
    let mut target = Target::open(path).map_err(write_error)?;
    let make_piece = |piece: usize| -> Result<Vec<u8>, IoError> {
        let text = make(piece).map_err(|reason| IoError::Unwritable { file: path.to_path_buf(), reason })?;
        compress(text, compression).map_err(write_error)
    };
    let wave = pool::threads() * PIECES_AHEAD;
    let (mut ready, mut next): (Vec<Vec<u8>>, usize) = (Vec::new(), 0);
    loop {
        let end = (next + wave).min(count);
        let write = Task::Write(target.writer(), &ready);
        let tasks = std::iter::once(write).chain((next..end).map(Task::Make));
        let made = parallel::map(tasks, |_, task| match task {
            Task::Write(writer, pieces) => {
                pieces.iter().try_for_each(|piece| writer.write_all(piece)).map_err(write_error).map(|()| None)
            }
            Task::Make(piece) => make_piece(piece).map(Some),
        });
        progress.advance(ready.len() as u64);
        // The error of writing comes first.
        ready = made.into_iter().filter_map(Result::transpose).collect::<Result<_, _>>()?;
        if ready.is_empty() {
            return target.finish().map_err(write_error);
        }
        next = end;
    }
}

/// Writes the output of `make`, one piece after the other.
pub(super) fn write_stream(
    path: &Path,
    compression: Compression,
    make: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), IoError> {
    let write = || {
        let mut target = Target::open(path)?;
        let mut writer = BufWriter::new(target.writer());
        match compression {
            Compression::None => make(&mut writer)?,
            Compression::Gzip => {
                let mut encoder = GzEncoder::new(&mut writer, flate2::Compression::default());
                make(&mut encoder)?;
                encoder.finish()?;
            }
            Compression::Zstd => {
                let mut encoder = zstd::Encoder::new(&mut writer, ZSTD_LEVEL)?;
                make(&mut encoder)?;
                encoder.finish()?;
            }
        }
        writer.flush()?;
        drop(writer);
        target.finish()
    };
    write().map_err(|source| IoError::Write { file: path.to_path_buf(), source })
}

/// Writes the output of `make` into a file of a name that it is given: one beside the place, or, if that is a device or the content
/// is compressed, a temporary one.
#[cfg(feature = "binsparse")]
pub(super) fn write_file(
    path: &Path,
    compression: Compression,
    make: impl FnOnce(&Path) -> io::Result<()>,
) -> Result<(), IoError> {
    let write_error = |source| IoError::Write { file: path.to_path_buf(), source };
    let target = Target::open(path).map_err(write_error)?;
    if let (Target::Beside(file), Compression::None) = (&target, compression) {
        make(file.path()).map_err(write_error)?;
        return target.finish().map_err(write_error);
    }
    drop(target);
    let folder = crate::scratch::ScratchFolder::new().map_err(write_error)?;
    let content = folder.path().join("content");
    make(&content).map_err(write_error)?;
    write_stream(path, compression, |writer| {
        let mut content = File::open(&content)?;
        io::copy(&mut content, writer).map(drop)
    })
}

/// A task of one thread.
enum Task<'a> {
    /// Write the pieces that are ready.
    Write(&'a mut (dyn Write + Send), &'a [Vec<u8>]),
    /// Make a piece.
    Make(usize),
}

/// Compresses a piece on its own.
fn compress(text: Vec<u8>, compression: Compression) -> io::Result<Vec<u8>> {
    match compression {
        Compression::None => Ok(text),
        Compression::Gzip => {
            let mut encoder = GzEncoder::new(Vec::with_capacity(text.len() / 2), flate2::Compression::default());
            encoder.write_all(&text)?;
            encoder.finish()
        }
        Compression::Zstd => zstd::bulk::compress(&text, ZSTD_LEVEL),
    }
}

/// The target that a file is written to.
enum Target {
    /// A file that takes its name at the end.
    Beside(ScratchFile),
    /// A device or a pipe, which has no content to protect.
    Direct(File),
}

impl Target {
    fn open(path: &Path) -> io::Result<Target> {
        let place = place_of(path);
        if is_device(&place)? {
            return Ok(Target::Direct(File::options().write(true).open(&place)?));
        }
        Ok(Target::Beside(beside(&place)?))
    }

    fn writer(&mut self) -> &mut (dyn Write + Send) {
        match self {
            Target::Beside(file) => file,
            Target::Direct(file) => file,
        }
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Target::Beside(file) => file.persist(),
            Target::Direct(mut file) => file.flush(),
        }
    }
}

/// True if there is a device or a pipe; a folder is an error.
fn is_device(place: &Path) -> io::Result<bool> {
    match fs::metadata(place) {
        Ok(metadata) if metadata.is_dir() => Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder")),
        Ok(metadata) => Ok(!metadata.is_file()),
        Err(_) => Ok(false),
    }
}

/// A file that will take this place.
fn beside(place: &Path) -> io::Result<ScratchFile> {
    let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        let (shown, exists) = (folder.display(), folder.exists());
        let message = if exists { format!("{shown} is no folder") } else { format!("there is no folder {shown}") };
        return Err(io::Error::new(io::ErrorKind::NotFound, message));
    }
    // The name of the temporary file says nothing to whoever named the other one.
    ScratchFile::for_file(place).map_err(|error| io::Error::from(error.kind()))
}

/// Checks that a file can be written there: its folder is there and can be written, and no folder has its name.
///
/// ```
/// use lacunar_runtime::io::check_place;
/// let folder = tempfile::tempdir()?;
/// assert!(check_place(&folder.path().join("y.tns")).is_ok());
/// assert!(check_place(&folder.path().join("none/y.tns")).is_err() && check_place(folder.path()).is_err());
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// Why it can't.
pub fn check_place(path: &Path) -> io::Result<()> {
    let place = place_of(path);
    if is_device(&place)? { Ok(()) } else { beside(&place).map(drop) }
}

/// The most links that lead from one to the next, as of most systems.
const LINKS: usize = 40;

/// The file that a path leads to through links, which need not be there yet. Writing to the path writes to this file,
/// so that the links stay.
pub fn place_of(path: &Path) -> PathBuf {
    let mut place = path.to_path_buf();
    for _ in 0..LINKS {
        let Ok(next) = fs::read_link(&place) else { break };
        place = place.parent().unwrap_or(Path::new("")).join(next);
    }
    let folder = match place.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    match (fs::canonicalize(&place), fs::canonicalize(folder), place.file_name()) {
        (Ok(place), ..) => place,
        (Err(_), Ok(folder), Some(name)) => folder.join(name),
        _ => place,
    }
}

/// Writes a file, whole or not at all: a link stays, and the file that it leads to is replaced.
///
/// # Errors
/// The system's error.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut target = Target::open(path)?;
    target.writer().write_all(content)?;
    target.finish()
}

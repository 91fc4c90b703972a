//! The decompressed text of a file, as blocks of whole lines.
//!
//! A file is never held whole: its bytes are read (and decompressed, as its first bytes say, whatever its name says)
//! into blocks of a few MiB that end at a line border. All blocks after the first come from a thread of their own, so
//! reading and decompressing overlap with parsing; at most [`BLOCKS_AHEAD`] blocks wait. Memory therefore does not
//! depend on the expansion of a compressed file.
//!
//! ```text
//! next_line    next_line    next_block ...
//! |banner...\n|3 4 5\n     |1 1 1.5\n2 2 -2\n ... \n| next block: 1 4 4\n ... |
//! ```
//!
//! A text is taken line by line at first (headers) and block by block after (entries).

use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, sync_channel};

use flate2::bufread::MultiGzDecoder;
use memchr::memrchr;

use super::Compression;
use super::error::IoError;
use super::progress::Progress;

/// The size of a block before it is cut at a line border.
const BLOCK_BYTES: usize = 8 << 20;
/// The byte order mark of UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// The number of blocks that may wait for the parser.
const BLOCKS_AHEAD: usize = 2;
/// The longest line taken. No format here has long lines; rubbish (or a compressed stream of zeros) may.
const LINE_BYTES: usize = 64 << 20;
/// The number of bytes of text that a compressed byte is believed to stand for, when memory is set aside ahead of reading.
const BELIEVED_EXPANSION: u64 = 16;

/// The text of a file, consumed from the front.
pub(super) struct Text {
    file: PathBuf,
    compression: Compression,
    believed_bytes: u64,
    block: Vec<u8>,
    at: usize,
    line: u64,
    /// True if commas in blocks are blanks.
    commas: bool,
    rest: Option<Receiver<io::Result<Vec<u8>>>>,
}

impl Text {
    /// Opens a file and reads its first block.
    pub(super) fn open(path: &Path, progress: bool) -> Result<Text, IoError> {
        let read_error = |source| IoError::Read { file: path.to_path_buf(), source };
        let Source { bytes: source, compression, file_bytes } = Source::open(path, progress)?;
        let mut blocks = Blocks { source, carry: Vec::new() };
        let block = blocks.next().map_err(read_error)?.unwrap_or_default();
        let rest = if block.len() < BLOCK_BYTES && blocks.carry.is_empty() {
            // Too short to have been cut: the end of the file was seen, and no thread is needed.
            None
        } else {
            Some(blocks.in_background().map_err(read_error)?)
        };
        let expansion = if compression == Compression::None { 1 } else { BELIEVED_EXPANSION };
        let believed_bytes = file_bytes.saturating_mul(expansion).max(block.len() as u64);
        // Some editors and spreadsheets write a mark of the encoding first.
        let at = if block.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        Ok(Text { file: path.to_path_buf(), compression, believed_bytes, block, at, line: 0, commas: false, rest })
    }

    /// The file read.
    pub(super) fn file(&self) -> &Path {
        &self.file
    }

    /// The compression of the file.
    pub(super) fn compression(&self) -> Compression {
        self.compression
    }

    /// The number of items of at least `bytes_each` bytes of text that the file may hold, going by its size.
    pub(super) fn believable(&self, bytes_each: u64) -> usize {
        usize::try_from(self.believed_bytes / bytes_each).unwrap_or(usize::MAX)
    }

    /// The text read but not yet consumed: at the start, the first bytes of the file.
    pub(super) fn ahead(&self) -> &[u8] {
        &self.block[self.at..]
    }

    /// The number of the line consumed last, counted from 1; 0 at the start.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// Consumes a line and returns it without its line end; `None` at the end of the text.
    pub(super) fn next_line(&mut self) -> Result<Option<&[u8]>, IoError> {
        if self.at == self.block.len() && !self.refill()? {
            return Ok(None);
        }
        let start = self.at;
        let end = memchr::memchr(b'\n', &self.block[start..]).map_or(self.block.len(), |n| start + n);
        self.at = (end + 1).min(self.block.len());
        self.line += 1;
        let line = &self.block[start..end];
        Ok(Some(line.strip_suffix(b"\r").unwrap_or(line)))
    }

    /// Goes back to a mark set just before the last call of [`Text::next_line`], so that the line is read again.
    pub(super) fn unread_line(&mut self, start: Mark) {
        self.at = start.at;
        self.line = start.line;
    }

    /// The place before the line that [`Text::next_line`] would return, for [`Text::unread_line`].
    pub(super) fn mark(&mut self) -> Result<Mark, IoError> {
        if self.at == self.block.len() {
            self.refill()?;
        }
        Ok(Mark { at: self.at, line: self.line })
    }

    /// Consumes all whole lines at hand, and returns them; `None` at the end of the text. The caller then owes
    /// [`Text::count_lines`] their number.
    pub(super) fn next_block(&mut self) -> Result<Option<&[u8]>, IoError> {
        if self.at == self.block.len() && !self.refill()? {
            return Ok(None);
        }
        let start = std::mem::replace(&mut self.at, self.block.len());
        if self.commas {
            blank_commas(&mut self.block[start..]);
        }
        Ok(Some(&self.block[start..]))
    }

    /// From here on, blocks have blanks in the place of commas that separate fields; a comma without a field before it
    /// stays.
    pub(super) fn blank_commas(&mut self) {
        self.commas = true;
    }

    /// Adds to the number of lines consumed.
    pub(super) fn count_lines(&mut self, lines: u64) {
        self.line += lines;
    }

    /// An error at `line`.
    pub(super) fn malformed(&self, line: u64, expected: impl Into<String>, found: impl Into<String>) -> IoError {
        let (file, expected, found) = (self.file.clone(), expected.into(), found.into());
        IoError::Malformed { file, line, expected, found, hint: None }
    }

    /// An error at the end of the file.
    pub(super) fn ends(&self, expected: impl Into<String>) -> IoError {
        self.malformed(self.line.max(1), expected, "the end of the file")
    }

    /// Replaces the consumed block by the next one; `false` at the end of the text.
    fn refill(&mut self) -> Result<bool, IoError> {
        let Some(rest) = &self.rest else { return Ok(false) };
        match rest.recv() {
            Ok(Ok(block)) => {
                self.block = block;
                self.at = 0;
                Ok(true)
            }
            Ok(Err(source)) => Err(IoError::Read { file: self.file.clone(), source }),
            // The reading thread hung up after its last block.
            Err(_) => {
                self.rest = None;
                Ok(false)
            }
        }
    }
}

/// Puts blanks in the place of commas behind a field.
fn blank_commas(block: &mut [u8]) {
    let mut behind_field = false;
    for byte in block {
        match *byte {
            b',' if behind_field => {
                *byte = b' ';
                behind_field = false;
            }
            b'\n' => behind_field = false,
            b' ' | b'\t' | b'\r' => {}
            _ => behind_field = true,
        }
    }
}

/// A place at the start of a line, valid until the next block is read.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    at: usize,
    line: u64,
}

/// The decompressed bytes of a file.
pub(super) struct Source {
    pub(super) bytes: Box<dyn Read + Send>,
    /// The compression of the file.
    pub(super) compression: Compression,
    /// The size of the file.
    pub(super) file_bytes: u64,
}

impl Source {
    /// Opens a file.
    pub(super) fn open(path: &Path, progress: bool) -> Result<Source, IoError> {
        let open_error = |source| IoError::Open { file: path.to_path_buf(), source };
        let read_error = |source| IoError::Read { file: path.to_path_buf(), source };
        let mut file = File::open(path).map_err(open_error)?;
        let file_bytes = file.metadata().map_err(open_error)?.len();
        let mut magic = Vec::with_capacity(4);
        file.by_ref().take(4).read_to_end(&mut magic).map_err(read_error)?;
        let compression = Compression::of_magic(&magic);
        let source: Box<dyn Read + Send> = match file.rewind() {
            Ok(()) => Box::new(file),
            // A pipe cannot go back.
            Err(_) => Box::new(io::Cursor::new(magic).chain(file)),
        };
        let source = Counted::new(source, path, file_bytes, progress);
        let bytes: Box<dyn Read + Send> = match compression {
            Compression::None => Box::new(source),
            Compression::Gzip => Box::new(MultiGzDecoder::new(BufReader::with_capacity(1 << 18, source))),
            Compression::Zstd => Box::new(zstd::stream::read::Decoder::new(source).map_err(read_error)?),
        };
        Ok(Source { bytes, compression, file_bytes })
    }
}

/// Cuts a byte stream into blocks of whole lines.
struct Blocks {
    source: Box<dyn Read + Send>,
    carry: Vec<u8>,
}

impl Blocks {
    /// The next block, not empty; `None` at the end.
    fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut block = Vec::with_capacity(self.carry.len() + BLOCK_BYTES);
        block.append(&mut self.carry);
        loop {
            let old = block.len();
            self.source.by_ref().take(BLOCK_BYTES as u64).read_to_end(&mut block)?;
            if block.len() < old + BLOCK_BYTES {
                return Ok(Some(block).filter(|block| !block.is_empty()));
            }
            if let Some(end) = memrchr(b'\n', &block[old..]) {
                self.carry = block.split_off(old + end + 1);
                return Ok(Some(block));
            }
            if block.len() > LINE_BYTES {
                let message = format!("a line is longer than {} MiB", LINE_BYTES >> 20);
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
        }
    }

    /// Reads on in a thread, which ends at the end of the text, on an error, or when the receiver is dropped.
    fn in_background(mut self) -> io::Result<Receiver<io::Result<Vec<u8>>>> {
        let (sender, receiver) = sync_channel(BLOCKS_AHEAD);
        std::thread::Builder::new().name("reader".to_owned()).spawn(move || {
            loop {
                let block = self.next();
                let last = !matches!(block, Ok(Some(_)));
                if let Some(block) = block.transpose()
                    && sender.send(block).is_err()
                {
                    return;
                }
                if last {
                    return;
                }
            }
        })?;
        Ok(receiver)
    }
}

/// A reader that tells how far it came.
pub(super) struct Counted<R> {
    inner: R,
    pub(super) progress: Progress,
}

impl<R> Counted<R> {
    /// Reads the file at a path, which has so many bytes.
    pub(super) fn new(inner: R, path: &Path, bytes: u64, progress: bool) -> Counted<R> {
        let label = format!("reading {}", path.file_name().unwrap_or_default().to_string_lossy());
        Counted { inner, progress: Progress::start(label, bytes, progress) }
    }
}

impl<R: Seek> Seek for Counted<R> {
    fn seek(&mut self, place: io::SeekFrom) -> io::Result<u64> {
        self.inner.seek(place)
    }
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.progress.advance(count as u64);
        Ok(count)
    }
}

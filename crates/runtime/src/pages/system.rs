//! The calls of the system behind versions: files without a name, ranges of addresses, and which pages of a private range are its own.
//!
//! Linux has a word for each page in `/proc/self/pagemap`, with bits that tell if it is there (63), swapped out (62), or the file's
//! (61). A page of a private range that is there and not the file's has been written to. If that file does not exist or says something
//! else, a test at the first use finds out, and versions are copies.

#![allow(unsafe_code)]

use std::fs::File;
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;
use std::ptr::NonNull;
use std::sync::OnceLock;

use super::store::Extent;

/// The bytes of a page.
pub(super) fn page() -> usize {
    static PAGE: OnceLock<usize> = OnceLock::new();
    *PAGE.get_or_init(|| {
        // SAFETY: a query without arguments in memory.
        let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        usize::try_from(size).ok().filter(|size| size.is_power_of_two()).unwrap_or(4096)
    })
}

/// A file in memory.
pub(super) fn file() -> Option<File> {
    // SAFETY: the name ends with 0; the descriptor is new and nobody else's.
    unsafe {
        let descriptor = libc::memfd_create(c"lacunar".as_ptr(), libc::MFD_CLOEXEC);
        (descriptor >= 0).then(|| File::from_raw_fd(descriptor))
    }
}

/// Gives the memory of pages of a file back, which read as zeros from then on. A failure keeps it.
pub(super) fn give_back(file: &File, pages: Range<usize>) {
    let (first, len) = ((pages.start * page()) as libc::off_t, (pages.len() * page()) as libc::off_t);
    let how = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: a call with a descriptor and numbers alone.
    unsafe { libc::fallocate(file.as_raw_fd(), how, first, len) };
}

/// A range of addresses, of which the first ones are memory.
#[derive(Debug)]
pub(super) struct Span {
    base: NonNull<u8>,
    len: usize,
    /// The bytes that are memory.
    mapped: usize,
}

// SAFETY: the range is the span's alone until it is dropped, and is written to by way of an exclusive reference only.
unsafe impl Send for Span {}
// SAFETY: as above.
unsafe impl Sync for Span {}

impl Span {
    /// A range of addresses that nothing else uses, none of them memory.
    pub fn reserve(len: usize) -> Option<Span> {
        let how = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: an anonymous private mapping at an address of the system's choice touches nothing that exists.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), len, libc::PROT_NONE, how, -1, 0) };
        let base = NonNull::new(base.cast::<u8>()).filter(|_| base != libc::MAP_FAILED)?;
        Some(Span { base, len, mapped: 0 })
    }

    /// Maps pages of a file behind those that are mapped; privately, or so that whoever maps the file sees the writes.
    pub fn map(&mut self, file: &File, extent: Extent, is_private: bool) -> Option<()> {
        let (start, len) = (extent.page * page(), extent.pages * page());
        if start != self.mapped || len > self.len - start {
            return None;
        }
        if len == 0 {
            return Some(());
        }
        let how = if is_private { libc::MAP_PRIVATE | libc::MAP_NORESERVE } else { libc::MAP_SHARED } | libc::MAP_FIXED;
        let (access, from) = (libc::PROT_READ | libc::PROT_WRITE, (extent.at * page()) as libc::off_t);
        // SAFETY: the addresses are the span's, and no memory yet.
        let base =
            unsafe { libc::mmap(self.base.as_ptr().add(start).cast(), len, access, how, file.as_raw_fd(), from) };
        (base != libc::MAP_FAILED).then(|| self.mapped += len)
    }

    /// The first address.
    pub fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// The number of addresses.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Bytes that are memory.
    pub fn bytes(&self, range: Range<usize>) -> &[u8] {
        assert!(range.start <= range.end && range.end <= self.mapped, "{range:?} of {}", self.mapped);
        // SAFETY: the range is memory, all of whose bytes the system initialised.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr().add(range.start), range.len()) }
    }

    /// Gives bytes that are memory a value; none if the range ends before it begins.
    pub fn fill(&mut self, range: Range<usize>, byte: u8) {
        assert!(range.end <= self.mapped, "{range:?} of {}", self.mapped);
        if range.start < range.end {
            // SAFETY: the range is memory of the span's own.
            unsafe { std::ptr::write_bytes(self.base.as_ptr().add(range.start), byte, range.len()) };
        }
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        // SAFETY: the addresses are the span's, and this is their last use.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
    }
}

/// The pages from an address on, so many of a range that is mapped privately, that were written to; `None` if the system does not tell.
pub(super) fn changed(base: usize, pages: usize) -> Option<Vec<Range<usize>>> {
    const WORD: usize = size_of::<u64>();
    const THERE: u64 = 1 << 63;
    const SWAPPED: u64 = 1 << 62;
    const OF_FILE: u64 = 1 << 61;
    let map = File::open("/proc/self/pagemap").ok()?;
    let mut ranges: Vec<Range<usize>> = Vec::new();
    let mut bytes = vec![0u8; pages.min(1 << 14) * WORD];
    let mut first = 0;
    while first < pages {
        let count = (pages - first).min(1 << 14);
        let part = &mut bytes[..count * WORD];
        map.read_exact_at(part, u64::try_from((base / page() + first) * WORD).ok()?).ok()?;
        for (at, word) in (first..).zip(part.as_chunks::<WORD>().0) {
            let word = u64::from_ne_bytes(*word);
            if word & (THERE | SWAPPED) != 0 && word & OF_FILE == 0 {
                match ranges.last_mut().filter(|last| last.end == at) {
                    Some(last) => last.end = at + 1,
                    None => ranges.push(at..at + 1),
                }
            }
        }
        first += count;
    }
    Some(ranges)
}

/// True if the system tells which pages were written to, which is tried once.
pub(super) fn tells_changes() -> bool {
    static TELLS: OnceLock<bool> = OnceLock::new();
    *TELLS.get_or_init(|| {
        let page = page();
        let tried = || {
            let file = file()?;
            file.set_len(4 * page as u64).ok()?;
            let mut span = Span::reserve(4 * page)?;
            span.map(&file, Extent { page: 0, at: 0, pages: 4 }, true)?;
            let is_zero = span.bytes(0..2 * page).iter().all(|byte| *byte == 0);
            span.fill(page..page + 1, 1);
            span.fill(3 * page..4 * page, 1);
            let changed = changed(span.base().as_ptr() as usize, 4)?;
            Some(is_zero && changed == [1..2, 3..4])
        };
        tried().unwrap_or(false)
    })
}

//! Positions beyond 2^31 and 2^32, without memory for so many entries: the coordinates of rows are pages that are mapped again and
//! again.
//!
//! ```text
//! | 0 1 2 .. 65535 | 0 1 2 .. 65535 | ..       rows of a full matrix: the same pages, so many times
//! ```
//!
//! Conversions of so many entries are not run, as their results would take the memory; their routes are asked for.

#![allow(unsafe_code, clippy::unwrap_used)]

use std::sync::Arc;

use lacunar_base::day::is_turn;
use lacunar_formats::{Format, FormatSpec, One};
use lacunar_runtime::storage::LevelStorage;
use lacunar_runtime::{Buffer, Element, StorageError, Tensor};

/// The columns of a full row of 16-bit coordinates.
const COLUMNS: u64 = 1 << 16;

/// Memory that is mapped until it is dropped.
struct Mapping {
    data: *mut u8,
    bytes: usize,
}

// SAFETY: nobody writes to it once it is shared.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// So many bytes that read as zeros; `None` if the system does not map so many without memory for them.
    fn untouched(bytes: usize) -> Option<Mapping> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping, anywhere.
        let data = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, flags, -1, 0) };
        (data != libc::MAP_FAILED).then_some(Mapping { data: data.cast(), bytes })
    }

    /// The bytes so many times, one behind the other; they are whole pages.
    fn repeated(content: &[u8], times: usize) -> Option<Mapping> {
        let all = Mapping::untouched(content.len() * times)?;
        // SAFETY: the file is new, and all of it is written before it is mapped, in place of pages of this mapping.
        unsafe {
            let file = libc::memfd_create(c"repeated".as_ptr(), 0);
            let written = libc::write(file, content.as_ptr().cast(), content.len());
            let mut whole = file >= 0 && written == content.len() as isize;
            for k in 0..times {
                let (at, flags) = (all.data.add(k * content.len()), libc::MAP_SHARED | libc::MAP_FIXED);
                let mapped = libc::mmap(at.cast(), content.len(), libc::PROT_READ, flags, file, 0);
                whole &= mapped != libc::MAP_FAILED;
            }
            libc::close(file);
            whole.then_some(all)
        }
    }

    fn buffer<T: Element>(self, len: usize) -> Buffer {
        assert!(len * size_of::<T>() <= self.bytes);
        // SAFETY: zeros and numbers are elements; the memory lives as long as the owner.
        Buffer::borrow(Arc::new(self), |mapping| unsafe { std::slice::from_raw_parts(mapping.data.cast::<T>(), len) })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is this one's, and given back once.
        unsafe { libc::munmap(self.data.cast(), self.bytes) };
    }
}

/// A full matrix of ones with so many rows of 16-bit columns, and positions of this type.
fn full<P: Element>(rows: u64, position: impl Fn(u64) -> P, format: &str) -> Option<Result<Tensor, StorageError>> {
    // 16 rows fill a huge page.
    let times = rows.div_ceil(16) as usize;
    let content: Vec<u8> = (0..16).flat_map(|_| (0..=u16::MAX).flat_map(u16::to_ne_bytes)).collect();
    let entries = (rows * COLUMNS) as usize;
    let columns = Mapping::repeated(&content, times)?.buffer::<u16>(entries);
    let starts = Buffer::from_vec((0..=rows).map(|row| position(row * COLUMNS)).collect());
    let ones = Buffer::borrow(Arc::new(()), |_| {
        // SAFETY: its elements have no size.
        unsafe { std::slice::from_raw_parts(std::ptr::NonNull::<One>::dangling().as_ptr(), entries) }
    });
    let levels = vec![LevelStorage::dense(rows), LevelStorage::compressed(starts, columns)];
    let format = format.parse::<FormatSpec>().unwrap().resolve(2).unwrap();
    Some(Tensor::from_parts(vec![rows, COLUMNS], &format, levels, ones))
}

/// Says loudly that a test could not be run.
fn skipped() {
    eprintln!("SKIPPED: the system does not map pages without memory for them");
}

fn checks_rows(a: &Tensor) {
    let rows = a.dims()[0];
    assert_eq!((a.nnz(), a.heaviest()), (rows * COLUMNS, Some(COLUMNS)));
    assert_eq!(a.level_counts(), [rows, rows * COLUMNS]);
    assert_eq!(a.position_of(&[rows - 1, 7]), Some(((rows - 1) * COLUMNS + 7) as usize));
    // Counters of 32 bits would not do: no leg of the way counts so many.
    let route = a.route(&Format::csc()).unwrap().to_string();
    assert_eq!(route.contains("count: "), a.nnz() <= u64::from(u32::MAX), "{route}");
}

#[test]
fn rows_beyond_2_to_the_31() {
    if !is_turn(0, 3) {
        return;
    }
    let Some(a) = full((1 << 15) + 1, |start| start as u32, "ds16") else { return skipped() };
    checks_rows(&a.unwrap());
}

#[test]
fn rows_beyond_2_to_the_32() {
    if !is_turn(1, 3) {
        return;
    }
    let rows = (1 << 16) + 1;
    let Some(a) = full(rows, |start| start as i64, "ds16@64") else { return skipped() };
    checks_rows(&a.unwrap());
    // Rows whose starts wrap around are no rows, and neither are those that do not begin at the first entry.
    let Some(wrapped) = full(rows, |start| start as u32, "ds16") else { return skipped() };
    assert!(wrapped.unwrap_err().to_string().contains("positions descend"));
    let Some(late) = full(1, |start| start + 5_000_000_000, "ds16@64") else { return skipped() };
    assert!(late.unwrap_err().to_string().contains("the first position is not 0"));
}

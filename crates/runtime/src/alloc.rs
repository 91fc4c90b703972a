//! The one allocator of tensors and of compiled kernels.
//!
//! Memory is aligned to 64 bytes (a cache line, the widest vector). A block of 2 MiB or more is mapped fresh from the
//! system on a 2 MiB boundary and asks for huge pages, so a large zeroed block costs no pass over it, and growing one
//! moves page tables instead of bytes. A header in front of the data keeps the facts that freeing needs; so a block is
//! released by its pointer alone, whether Rust or a kernel allocated it. The last blocks of 256 KiB or more that were
//! released are kept for a while and given out again, unless a very large block is to be zeroed. So a kernel that runs
//! again and again does not pay for fresh pages each time.
//!
//! Layout:
//!
//! ```text
//! small:  | header, 64 bytes | data ...                                    (the Rust allocator's)
//! large:  | one page, the header at its end | data, on a 2 MiB boundary ... (mapped)
//! ```
//!
//! No function aborts or unwinds: a failure is `None`.

#![allow(unsafe_code)]

use std::alloc::Layout;
use std::collections::TryReserveError;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// The alignment of every block.
pub const ALIGNMENT: usize = 64;
/// Blocks from this size on, that of a huge page, are mapped, where the system is Linux.
pub const LARGE: usize = 2 << 20;

/// The header in the 64 bytes before the data.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
struct Header {
    /// Usable bytes of the block.
    capacity: usize,
    /// The number of them that were used, as far as is known: pages behind them may never have been touched.
    used: usize,
    /// The bytes that were used before the block was kept and given out again.
    touched: usize,
    /// First byte of the allocation or mapping.
    base: *mut u8,
    /// Bytes of the allocation or mapping.
    total: usize,
    mapped: bool,
    /// True if it was kept, and given out again.
    reused: bool,
}

const HEADER: usize = size_of::<Header>();

/// Blocks from this size on are kept for a while after they were released: smaller ones the Rust allocator keeps.
const KEPT: usize = 256 << 10;

/// Blocks up to this size are cleared where a kept one is asked for as zero: a pass over memory that is at hand costs less than fresh
/// pages, which the system clears as well. Not every page of a larger block may be used.
const CLEARED: usize = 16 << 20;

/// A new block may be a kept one that is so many times as large as it has to be.
const ROOMY: usize = 2;

/// A block that grows may take a kept one that is so many times as large as it has to be: it is likely to grow on.
const AHEAD: usize = 64;

/// A block that grows prefers a kept one that is so many times as large as it has to be: then it is not copied again soon.
const GROWS: usize = 4;

/// A block that will grow no more is cut where it is so many times as large as it has to be: not where it is only larger, for
/// whoever fills it again will ask for as much.
const SPARE: usize = 4;

/// A block of at least `bytes` bytes, all zero if `zeroed`, else of any content.
pub fn allocate(bytes: usize, zeroed: bool) -> Option<NonNull<u8>> {
    allocate_or_clear(bytes, zeroed, CLEARED)
}

/// A block of at least `bytes` bytes, all zero, of which all pages are going to be used.
pub fn allocate_cleared(bytes: usize) -> Option<NonNull<u8>> {
    allocate_or_clear(bytes, true, usize::MAX)
}

/// The same as [`allocate`]; a kept block of up to so many bytes is cleared.
fn allocate_or_clear(bytes: usize, zeroed: bool, cleared: usize) -> Option<NonNull<u8>> {
    if bytes >= KEPT
        && (!zeroed || bytes <= cleared)
        && let Some(block) = kept::reuse((bytes, bytes), ROOMY)
    {
        if zeroed {
            // SAFETY: the block has room for so many bytes, and is nobody else's.
            unsafe { std::ptr::write_bytes(block.as_ptr(), 0, bytes) };
        }
        return Some(block);
    }
    #[cfg(target_os = "linux")]
    if bytes >= LARGE {
        return mapped::allocate(bytes);
    }
    // Without room to spare in builds that look for faults, so that a checker of accesses sees the first one behind the
    // block.
    let rounding = if cfg!(debug_assertions) { 1 } else { ALIGNMENT };
    let total = bytes.max(1).checked_next_multiple_of(rounding)?.checked_add(HEADER)?;
    let layout = Layout::from_size_align(total, ALIGNMENT).ok()?;
    // SAFETY: the layout's size is not zero.
    let base = unsafe { if zeroed { std::alloc::alloc_zeroed(layout) } else { std::alloc::alloc(layout) } };
    let base = NonNull::new(base)?;
    // SAFETY: the allocation has `total > HEADER` bytes and is aligned for a header.
    unsafe {
        let capacity = total - HEADER;
        let header =
            Header { capacity, used: capacity, touched: 0, base: base.as_ptr(), total, mapped: false, reused: false };
        base.cast::<Header>().write(header);
        Some(base.add(HEADER))
    }
}

/// True if a block of so many bytes would be one that is kept.
pub fn is_kept(bytes: usize) -> bool {
    bytes >= KEPT && kept::fits(bytes, ROOMY)
}

/// Makes the block hold `bytes` bytes, keeping the first `used`, and zeroes `zero_from .. bytes`.
///
/// The block may move. On `None` it is as it was, and still the caller's.
///
/// # Safety
/// `block` came from this module and is not released; its first `used` bytes are within its capacity.
pub unsafe fn grow(block: NonNull<u8>, used: usize, bytes: usize, zero_from: usize) -> Option<NonNull<u8>> {
    // SAFETY: passed on.
    let old = unsafe { capacity(block) };
    // Bytes from `clean` on are known to be zero.
    let (grown, clean) = if bytes <= old {
        (block, bytes)
    } else if let Some(warm) =
        (bytes >= KEPT).then(|| kept::reuse((bytes, bytes.saturating_mul(GROWS)), AHEAD)).flatten()
    {
        // To copy the used bytes costs less than fresh pages for the rest.
        // SAFETY: passed on.
        (unsafe { replace(block, warm, used) }, bytes)
    } else {
        // SAFETY: passed on.
        match unsafe { remap(block, bytes) } {
            Some(moved) => (moved, old),
            None => {
                let fresh = allocate(bytes, zero_from < bytes)?;
                // SAFETY: passed on.
                (unsafe { replace(block, fresh, used) }, used)
            }
        }
    };
    if zero_from < clean {
        // SAFETY: `clean <= bytes`, which is within the capacity.
        unsafe { std::ptr::write_bytes(grown.as_ptr().add(zero_from), 0, clean - zero_from) };
    }
    Some(grown)
}

/// Copies the first `used` bytes of a block, which is released, into another one.
///
/// # Safety
/// Both blocks are the caller's, distinct, and hold `used` bytes.
unsafe fn replace(block: NonNull<u8>, by: NonNull<u8>, used: usize) -> NonNull<u8> {
    // SAFETY: by the caller's promise; the old block is released once.
    unsafe {
        std::ptr::copy_nonoverlapping(block.as_ptr(), by.as_ptr(), used.min(capacity(block)));
        release(block);
    }
    by
}

/// Says that a block will grow no more, and gives the memory behind its first `bytes` bytes back to the system if that
/// is nearly all of it.
///
/// # Safety
/// `block` came from this module and is not released; nobody uses the memory behind those bytes.
pub unsafe fn settle(block: NonNull<u8>, bytes: usize) {
    // SAFETY: passed on.
    unsafe {
        let header = header_of(block);
        #[cfg(target_os = "linux")]
        if (*header).mapped && (*header).capacity / SPARE > bytes.max(LARGE) {
            mapped::trim(block, bytes);
        }
        say_used(block, bytes);
    }
}

/// Says that the first `bytes` bytes of a block alone were used.
///
/// # Safety
/// `block` came from this module and is not released.
pub unsafe fn say_used(block: NonNull<u8>, bytes: usize) {
    // SAFETY: every block has a header before it.
    unsafe {
        let header = header_of(block);
        (*header).used = bytes.max((*header).touched).min((*header).capacity);
    }
}

/// Gives a block back.
///
/// # Safety
/// `block` came from this module and is not used afterwards.
pub unsafe fn release(block: NonNull<u8>) {
    // SAFETY: passed on.
    unsafe {
        if capacity(block) >= KEPT {
            kept::keep(block);
        } else {
            discard(block);
        }
    }
}

/// Gives scratch memory back, which nobody will ask for again in that size: to the system at once, but to where it came from if
/// it had been kept.
///
/// # Safety
/// As for [`release`].
pub unsafe fn release_scratch(block: NonNull<u8>) {
    // SAFETY: every block has a header before it; the rest is passed on.
    unsafe {
        if (*header_of(block)).reused {
            release(block);
        } else {
            discard(block);
        }
    }
}

/// Gives a block back to the system at once.
///
/// # Safety
/// As for [`release`].
unsafe fn discard(block: NonNull<u8>) {
    // SAFETY: every block has a header before it.
    let header = unsafe { *header_of(block) };
    #[cfg(target_os = "linux")]
    if header.mapped {
        mapped::unmap(header.base, header.total);
        return;
    }
    // SAFETY: the layout is the one `allocate` used, which was valid.
    unsafe { std::alloc::dealloc(header.base, Layout::from_size_align_unchecked(header.total, ALIGNMENT)) };
}

/// The capacity of the block in bytes.
///
/// # Safety
/// `block` came from this module and is not released.
pub unsafe fn capacity(block: NonNull<u8>) -> usize {
    // SAFETY: every block has a header before it.
    unsafe { (*header_of(block)).capacity }
}

/// # Safety
/// `block` came from this module.
unsafe fn header_of(block: NonNull<u8>) -> *mut Header {
    // SAFETY: `allocate` put the header there.
    unsafe { block.as_ptr().sub(HEADER).cast() }
}

/// Grows a mapped block by moving its pages; `None` if it is not mapped or the system refuses.
///
/// # Safety
/// As for [`grow`].
#[cfg(target_os = "linux")]
unsafe fn remap(block: NonNull<u8>, bytes: usize) -> Option<NonNull<u8>> {
    // SAFETY: passed on.
    unsafe { if (*header_of(block)).mapped { mapped::grow(block, bytes) } else { None } }
}

#[cfg(not(target_os = "linux"))]
unsafe fn remap(_block: NonNull<u8>, _bytes: usize) -> Option<NonNull<u8>> {
    None
}

/// Makes room in a vector for so many more items, at least; on huge pages, if they take as much: a large array that is read from a file becomes
/// a tensor's, and kernels read it faster there.
///
/// # Errors
/// The memory is refused; the vector is as it was.
pub fn make_room<T>(items: &mut Vec<T>, more: usize) -> Result<(), TryReserveError> {
    let before = items.capacity();
    items.try_reserve(more)?;
    #[cfg(target_os = "linux")]
    if items.capacity() > before {
        let room = items.spare_capacity_mut();
        mapped::ask_for_huge_pages(room.as_mut_ptr().cast(), size_of_val(room));
    }
    Ok(())
}

/// Moves memory, which others may have made, to huge pages where it does not lie on them, as far as whole ones fit in it. The system copies
/// it, and its addresses stay; a system that cannot (before Linux 6.1) leaves it where it is.
pub fn move_to_huge_pages(memory: &mut [MaybeUninit<u8>]) {
    #[cfg(target_os = "linux")]
    mapped::move_to_huge_pages(memory);
    #[cfg(not(target_os = "linux"))]
    let _ = memory;
}

/// The bytes of memory of the machine; 0 where that is not known.
#[cfg(target_os = "linux")]
fn memory() -> usize {
    // SAFETY: queries without arguments in memory.
    let (pages, size) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    usize::try_from(pages).unwrap_or(0).saturating_mul(usize::try_from(size).unwrap_or(0))
}

#[cfg(not(target_os = "linux"))]
fn memory() -> usize {
    0
}

mod kept {
    //! Blocks that were released and wait for somebody who needs one of their size.

    use super::{Header, discard, header_of};
    use std::ptr::NonNull;
    use std::sync::{Mutex, OnceLock, PoisonError};

    /// The bytes that are kept at least, and the part of the machine's memory.
    const BYTES: usize = 512 << 20;
    const SHARE: usize = 16;
    /// The most blocks that are kept: some for each thread.
    const BLOCKS: usize = 256;

    /// The most bytes that are kept.
    fn limit() -> usize {
        static LIMIT: OnceLock<usize> = OnceLock::new();
        *LIMIT.get_or_init(|| BYTES.max(super::memory() / SHARE))
    }

    /// A block that nobody uses.
    struct Kept {
        block: NonNull<u8>,
        capacity: usize,
        used: usize,
    }

    impl Kept {
        /// True if the block holds `bytes`, and is not more than `times` as large.
        fn fits(&self, bytes: usize, times: usize) -> bool {
            self.capacity >= bytes && self.capacity / times <= bytes
        }
    }

    // SAFETY: a kept block is owned by the list alone.
    unsafe impl Send for Kept {}

    /// Released blocks, the oldest first. The list is locked for a search through it, never while the system is at
    /// work.
    static LIST: Mutex<Vec<Kept>> = Mutex::new(Vec::new());

    /// Keeps a block for later, and gives those back that are too many.
    ///
    /// # Safety
    /// The block came from this module and is not used afterwards.
    pub(super) unsafe fn keep(block: NonNull<u8>) {
        // SAFETY: passed on.
        let Header { capacity, used, .. } = unsafe { *header_of(block) };
        let mut surplus = Vec::new();
        {
            // A panic elsewhere cannot have left the list half-changed: it is only pushed to and removed from.
            let mut list = LIST.lock().unwrap_or_else(PoisonError::into_inner);
            list.push(Kept { block, capacity, used });
            let mut bytes: usize = list.iter().map(|kept| kept.used).sum();
            while bytes > limit() || list.len() > BLOCKS {
                let oldest = list.remove(0);
                bytes -= oldest.used;
                surplus.push(oldest);
            }
        }
        // SAFETY: nobody has used them since they were released.
        surplus.into_iter().for_each(|kept| unsafe { discard(kept.block) });
    }

    /// True if there is a block that [`reuse`] would give.
    pub(super) fn fits(bytes: usize, times: usize) -> bool {
        LIST.lock().unwrap_or_else(PoisonError::into_inner).iter().any(|kept| kept.fits(bytes, times))
    }

    /// A kept block of at least `bytes` and at most `times` as many: the smallest with `wanted` bytes, or else the largest. Of several blocks
    /// of one size it is the one that was released last, which caches may still hold.
    pub(super) fn reuse((bytes, wanted): (usize, usize), times: usize) -> Option<NonNull<u8>> {
        let mut list = LIST.lock().unwrap_or_else(PoisonError::into_inner);
        let fitting = || list.iter().enumerate().filter(|(_, kept)| kept.fits(bytes, times));
        let roomy = fitting().rev().filter(|(_, kept)| kept.capacity >= wanted).min_by_key(|(_, kept)| kept.capacity);
        let best = roomy.or_else(|| fitting().max_by_key(|(_, kept)| kept.capacity));
        let (index, _) = best?;
        let Kept { block, capacity, used } = list.remove(index);
        // SAFETY: the block came from this module, and is nobody else's now.
        unsafe {
            (*header_of(block)).touched = used;
            (*header_of(block)).used = capacity;
            (*header_of(block)).reused = true;
        }
        Some(block)
    }
}

#[cfg(target_os = "linux")]
mod mapped {
    //! Blocks of whole pages. A fresh mapping reads as zero.

    use super::{HEADER, Header, header_of};
    use std::mem::MaybeUninit;
    use std::ptr::NonNull;

    const HUGE: usize = 2 << 20;

    pub(super) fn allocate(bytes: usize) -> Option<NonNull<u8>> {
        let page = page_size();
        let data = map_aligned(page, bytes.checked_next_multiple_of(page)?)?;
        write_header(data, page, bytes.checked_next_multiple_of(page)?);
        Some(data)
    }

    /// # Safety
    /// `block` is a mapped block.
    pub(super) unsafe fn grow(block: NonNull<u8>, bytes: usize) -> Option<NonNull<u8>> {
        // SAFETY: passed on.
        let old = unsafe { *header_of(block) };
        let page = page_size();
        let usable = bytes.checked_next_multiple_of(page)?;
        let target = map_aligned(page, usable)?;
        // SAFETY: `target - page` starts a mapping of `page + usable` bytes that nothing else uses; the old mapping
        // is moved onto it, pages and header alike.
        unsafe {
            let base = target.as_ptr().sub(page);
            let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
            let moved = libc::mremap(old.base.cast(), old.total, page + usable, flags, base.cast::<libc::c_void>());
            if moved == libc::MAP_FAILED {
                unmap(base, page + usable);
                return None;
            }
        }
        advise(target, page, usable);
        write_header(target, page, usable);
        Some(target)
    }

    /// # Safety
    /// `block` is a mapped block, and nobody uses the memory behind its first `bytes` bytes, fewer than it has.
    pub(super) unsafe fn trim(block: NonNull<u8>, bytes: usize) {
        let page = page_size();
        let Some(usable) = bytes.checked_next_multiple_of(page) else { return };
        // SAFETY: passed on: the pages from `usable` on are the block's and not used.
        unsafe {
            let old = *header_of(block);
            unmap(block.as_ptr().add(usable), old.capacity - usable);
        }
        write_header(block, page, usable);
    }

    pub(super) fn unmap(base: *mut u8, total: usize) {
        // SAFETY: only whole mappings made here are passed, each once. A failure leaves the pages mapped: a leak.
        unsafe { libc::munmap(base.cast(), total) };
    }

    /// Maps one page and, on the next 2 MiB boundary after it, `usable` bytes; returns the latter's start.
    fn map_aligned(page: usize, usable: usize) -> Option<NonNull<u8>> {
        let reserve = usable.checked_add(HUGE)?.checked_add(page)?;
        if reserve > isize::MAX as usize {
            return None;
        }
        // SAFETY: an anonymous private mapping at an address of the system's choice touches nothing that exists.
        let base = unsafe {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(std::ptr::null_mut(), reserve, access, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0)
        };
        if base == libc::MAP_FAILED {
            return None;
        }
        let base = base.cast::<u8>();
        let start = base as usize;
        let data = (start + page).next_multiple_of(HUGE);
        let (before, after) = (data - page - start, start + reserve - (data + usable));
        // SAFETY: `before` and `after` are the ends of the mapping just made, outside of the part that is kept.
        unsafe {
            if before > 0 {
                unmap(base, before);
            }
            if after > 0 {
                unmap(base.add(reserve - after), after);
            }
            let data = NonNull::new(base.add(data - start))?;
            advise(data, page, usable);
            Some(data)
        }
    }

    /// Asks for huge pages for memory that was not touched yet, if it is as large as one.
    pub(super) fn ask_for_huge_pages(memory: *mut u8, bytes: usize) {
        let before = memory.align_offset(page_size());
        if bytes >= HUGE && before < bytes {
            // SAFETY: the range is the caller's memory; the advice changes no content, and refusing it is harmless.
            unsafe { libc::madvise(memory.add(before).cast(), bytes - before, libc::MADV_HUGEPAGE) };
        }
    }

    pub(super) fn move_to_huge_pages(memory: &mut [MaybeUninit<u8>]) {
        let before = memory.as_ptr().align_offset(HUGE);
        let Some(inner) = memory.get_mut(before..) else { return };
        let bytes = inner.len() / HUGE * HUGE;
        if bytes > 0 {
            // SAFETY: the range is the caller's memory, which nobody else uses; its content stays, and refusing is harmless.
            unsafe { libc::madvise(inner.as_mut_ptr().cast(), bytes, libc::MADV_COLLAPSE) };
        }
    }

    /// Asks for huge pages: for all of a mapping, whose pages could not be moved together if they were not of one kind.
    fn advise(data: NonNull<u8>, page: usize, usable: usize) {
        // SAFETY: the range is mapped; the advice changes no content, and refusing it is harmless.
        unsafe { libc::madvise(data.as_ptr().sub(page).cast(), page + usable, libc::MADV_HUGEPAGE) };
    }

    fn write_header(data: NonNull<u8>, page: usize, usable: usize) {
        // SAFETY: the page before the data is mapped and holds the header at its end.
        unsafe {
            let base = data.as_ptr().sub(page);
            let header = Header {
                capacity: usable,
                used: usable,
                touched: 0,
                base,
                total: page + usable,
                mapped: true,
                reused: false,
            };
            data.as_ptr().sub(HEADER).cast::<Header>().write(header);
        }
    }

    fn page_size() -> usize {
        // SAFETY: a query without arguments in memory.
        let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        usize::try_from(size).ok().filter(|size| size.is_power_of_two()).unwrap_or(4096)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_aligned_zeroed_and_keep_their_content_when_they_grow() {
        for start in [0usize, 1, 64, 1000, LARGE - 1, LARGE, LARGE + 12345] {
            let block = allocate(start, true).unwrap();
            assert_eq!(block.as_ptr() as usize % if start >= LARGE { 2 << 20 } else { ALIGNMENT }, 0);
            // SAFETY: every access below is within the sizes asked for; each block is released once.
            unsafe {
                assert!(std::slice::from_raw_parts(block.as_ptr(), start).iter().all(|&b| b == 0));
                std::ptr::write_bytes(block.as_ptr(), 7, start);
                let mut block = block;
                let mut used = start;
                for size in [start + 1, start + 100, start * 2 + 64, LARGE + start, 3 * LARGE] {
                    let size = size.max(used);
                    block = grow(block, used, size, used).unwrap();
                    assert!(capacity(block) >= size);
                    let bytes = std::slice::from_raw_parts(block.as_ptr(), size);
                    assert!(bytes[..start].iter().all(|&b| b == 7));
                    assert!(bytes[start..].iter().all(|&b| b == 0));
                    used = size;
                }
                release(block);
            }
        }
    }

    #[test]
    fn memory_that_was_written_is_cleared() {
        let bytes = CLEARED + 12345;
        for _ in 0..3 {
            let block = allocate_cleared(bytes).unwrap();
            // SAFETY: the accesses are within the block, which is released once.
            unsafe {
                assert!(std::slice::from_raw_parts(block.as_ptr(), bytes).iter().all(|byte| *byte == 0));
                std::ptr::write_bytes(block.as_ptr(), 7, bytes);
                release(block);
            }
        }
    }

    #[test]
    fn threads_allocate_and_release_large_blocks_at_once() {
        std::thread::scope(|scope| {
            for thread in 0..4u8 {
                scope.spawn(move || {
                    for round in 0..20usize {
                        let bytes = LARGE + round * 100_000;
                        let block = allocate(bytes, round % 3 == 0).unwrap();
                        // SAFETY: the accesses are within the block, which is released once.
                        unsafe {
                            assert!(round % 3 != 0 || (*block.as_ptr() == 0 && *block.as_ptr().add(bytes - 1) == 0));
                            let ends = [block.as_ptr(), block.as_ptr().add(bytes - 1)];
                            ends.into_iter().for_each(|end| end.write(thread));
                            std::thread::yield_now();
                            assert!(ends.into_iter().all(|end| end.read() == thread));
                            release(block);
                        }
                    }
                });
            }
        });
    }

    #[test]
    fn vectors_keep_their_items_when_they_get_room_and_other_pages() {
        let mut items: Vec<u32> = Vec::new();
        for more in [5, 100_000, 3_000_000] {
            make_room(&mut items, more).unwrap();
            assert!(items.capacity() >= items.len() + more);
            items.extend(0..more as u32);
        }
        let expected = items.clone();
        for memory in [&mut items[..], &mut [][..]] {
            // SAFETY: the bytes are those of the items, which are not changed.
            let bytes = unsafe { std::slice::from_raw_parts_mut(memory.as_mut_ptr().cast(), size_of_val(memory)) };
            move_to_huge_pages(bytes);
        }
        assert_eq!(items, expected);
        assert!(make_room(&mut items, usize::MAX / 4).is_err());
    }

    #[test]
    fn what_cannot_be_had_is_none() {
        assert!(allocate(usize::MAX, false).is_none());
        assert!(allocate(usize::MAX / 2, true).is_none());
        let block = allocate(10, true).unwrap();
        // SAFETY: the block is ours, and released once.
        unsafe {
            assert!(grow(block, 10, usize::MAX - 1, usize::MAX).is_none());
            release(block);
        }
    }
}

//! Filling large arrays with all threads: for kernels, through the [`RuntimeTable`](crate::abi::RuntimeTable).
//!
//! Kernels fill small arrays themselves.

#![allow(unsafe_code)]

use crate::kernel_parts::PIECE;
use crate::pool;

/// The memory that a fill writes to: shared by the threads, each of which writes pieces of its own.
struct Target(*mut u8);

// SAFETY: pieces do not overlap, and each is written once.
unsafe impl Sync for Target {}

/// Writes the `size` bytes of `pattern` (1, 2, 4, 8 or 16) again and again, `count` times.
///
/// # Safety
/// `data` has room for that, on a boundary of the smaller of `size` and 8 bytes, and nobody else uses it.
pub(crate) unsafe extern "C" fn fill(data: *mut u8, count: u64, pattern: *const u8, size: u64) {
    let (target, size) = (Target(data), size as usize);
    let Some(least) = PIECE.checked_div(size) else { return };
    // Long pieces: memory that is set in one piece beyond the caches is not read first.
    let piece = least.max((count as usize).div_ceil(pool::threads()));
    // SAFETY: the pattern has so many bytes.
    let pattern = unsafe { std::slice::from_raw_parts(pattern, size) };
    let pieces = count.div_ceil(piece as u64);
    pool::run(0, pieces as i64, &|number| {
        let start = number as usize * piece;
        let len = piece.min(count as usize - start);
        // SAFETY: the piece is within the array.
        unsafe { fill_piece({ &target }.0.add(start * size), len, pattern) };
        0
    });
}

/// # Safety
/// `to` has room for so many times the pattern, on the boundary that [`fill`] demands.
unsafe fn fill_piece(to: *mut u8, count: usize, pattern: &[u8]) {
    // SAFETY: passed on.
    unsafe {
        match *pattern {
            [first, ref rest @ ..] if rest.iter().all(|&byte| byte == first) => {
                std::ptr::write_bytes(to, first, count * pattern.len());
            }
            [a, b] => repeat(to, count, u16::from_ne_bytes([a, b])),
            [a, b, c, d] => repeat(to, count, u32::from_ne_bytes([a, b, c, d])),
            [a, b, c, d, e, f, g, h] => repeat(to, count, u64::from_ne_bytes([a, b, c, d, e, f, g, h])),
            _ => (0..count).for_each(|k| {
                std::ptr::copy_nonoverlapping(pattern.as_ptr(), to.add(k * pattern.len()), pattern.len());
            }),
        }
    }
}

/// # Safety
/// As for [`fill_piece`].
unsafe fn repeat<T: Copy>(to: *mut u8, count: usize, value: T) {
    // SAFETY: passed on.
    (0..count).for_each(|k| unsafe { to.cast::<T>().add(k).write(value) });
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn check<T: Copy + PartialEq + std::fmt::Debug>(old: T, new: T, count: usize) {
        let mut array = vec![old; count + 2];
        let size = size_of::<T>() as u64;
        // SAFETY: the array has room for the elements between its first and last.
        unsafe { fill(array[1..].as_mut_ptr().cast(), count as u64, std::ptr::from_ref(&new).cast(), size) };
        assert_eq!((array[0], array[count + 1]), (old, old));
        assert!(array[1..=count].iter().all(|&element| element == new));
    }

    #[test]
    fn elements_of_any_size_are_written_and_no_others() {
        for count in [0, 1, 5, 40_000, 600_001] {
            check(1u8, 2, count);
            check(7u16, 0x0102, count);
            check(7u32, 0, count);
            check(1.5f32, -2.5, count);
            check(1.5f64, 0.1, count);
            check([1.0f64, 2.0], [3.0, 4.0], count);
        }
    }
}

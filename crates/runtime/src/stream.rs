//! Copies of more bytes than the caches hold.
//!
//! A store to a cache line that is not in the cache reads the line from memory first. A non-temporal store does not. So a copy moves two bytes
//! for each byte that it copies (one read, one write) instead of three. The copy is not in the caches afterwards; so much data would not fit
//! into them anyway.

#![allow(unsafe_code)]

/// Copies of so many bytes and more go past the caches: the last one of a processor, or the part of it that a core is given, is smaller.
pub(crate) const LARGE: usize = 32 << 20;

/// Copies bytes past the caches, if the processor can.
///
/// # Safety
/// As for [`std::ptr::copy_nonoverlapping`].
pub(crate) unsafe fn copy(from: *const u8, to: *mut u8, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};
        const LINE: usize = 64;
        let head = to.align_offset(LINE).min(bytes);
        let lines = (bytes - head) / LINE;
        // SAFETY: all is within the bytes that the caller names; places that are streamed to are aligned. The fence lets whoever is told
        // that the copy is done see it.
        unsafe {
            std::ptr::copy_nonoverlapping(from, to, head);
            for line in 0..lines {
                let at = head + line * LINE;
                let (from, to) = (from.add(at).cast::<__m128i>(), to.add(at).cast::<__m128i>());
                let quarters = [0, 1, 2, 3].map(|k| _mm_loadu_si128(from.add(k)));
                quarters.into_iter().enumerate().for_each(|(k, quarter)| _mm_stream_si128(to.add(k), quarter));
            }
            let done = head + lines * LINE;
            std::ptr::copy_nonoverlapping(from.add(done), to.add(done), bytes - done);
            _mm_sfence();
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: passed on.
    unsafe {
        std::ptr::copy_nonoverlapping(from, to, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_arrive_wherever_they_begin_and_end() {
        let from: Vec<u8> = (0..2000u32).map(|k| (k % 251) as u8).collect();
        for (start, place, bytes) in
            [(0, 0, 0), (0, 3, 5), (1, 0, 63), (7, 1, 64), (3, 60, 1000), (64, 64, 1024), (5, 17, 1900)]
        {
            let mut to = vec![255; 2100];
            // SAFETY: both ranges are within their vectors.
            unsafe { copy(from.as_ptr().add(start), to.as_mut_ptr().add(place), bytes) };
            assert_eq!(to[place..place + bytes], from[start..start + bytes]);
            assert!(to[..place].iter().chain(&to[place + bytes..]).all(|byte| *byte == 255));
        }
    }
}

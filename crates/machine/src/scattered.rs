//! The probe of vectors that are filled with elements which lie scattered over the third level of caches, while indices and factors come
//! from memory: `sum += values[k] * elements[indices[k]]`.
//!
//! On entry: the array of elements is twice as large as the second level, and indices have no order. Each run begins with indices and values
//! in memory: their lines are flushed from all caches. On exit: the time of an element that is gathered, and of one that is inserted.
//!
//! Costs of near elements do not tell these. (On Zen 4 a near element costs 1.4 cycles gathered and 0.8 inserted; a scattered one 3.7 and
//! 4.8. Where the indices alone come from memory, both cost the same.)
//!
//! ```text
//! for 8 indices { sums += values * gather(elements, indices) }                                   gathered
//! for 4 indices { sums += values * [elements[a], elements[b], elements[c], elements[d]] }        inserted
//! ```
#![allow(unsafe_code)]

use std::arch::asm;
use std::arch::x86_64::{_mm_clflush, _mm_mfence};
use std::hint::black_box;
use std::time::Instant;

/// The indices of a run.
const INDICES: usize = 1 << 14;
/// The number of runs; the least time counts.
const ROUNDS: usize = 5;
/// The bytes of a cache line.
const LINE: usize = 64;

/// The nanoseconds of an element that is gathered and of one that is inserted; 0 if the processor does not have the instructions.
pub(crate) fn costs(level_2: u64, numbers: impl Iterator<Item = u32>) -> [f64; 2] {
    if !is_x86_feature_detected!("avx2") || !is_x86_feature_detected!("fma") {
        return [0.0; 2];
    }
    let bytes = (2 * level_2).clamp(1 << 20, 4 << 20);
    let elements = vec![1f64; bytes as usize / size_of::<f64>()];
    let indices: Vec<u32> = numbers.map(|number| number % elements.len() as u32).take(INDICES).collect();
    let values = vec![1f64; indices.len()];
    let is_wide = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl");
    let gathered = if is_wide { gathered_8 } else { gathered_4 };
    // SAFETY: the processor has the instructions; indices are below the number of elements, 16 divides their number, and there are as
    // many values.
    [gathered, inserted].map(|run| unsafe { least(&elements, &indices, &values, run) })
}

/// A loop over all indices: elements, indices, values.
type Loop = unsafe fn(&[f64], &[u32], &[f64]);

/// The least nanoseconds of an element.
///
/// # Safety
/// As the loop demands.
unsafe fn least(elements: &[f64], indices: &[u32], values: &[f64], run: Loop) -> f64 {
    let times = (0..=ROUNDS).map(|_| {
        flush(indices);
        flush(values);
        let start = Instant::now();
        // SAFETY: the caller's.
        unsafe { run(black_box(elements), indices, values) };
        start.elapsed().as_nanos() as f64
    });
    times.fold(f64::INFINITY, f64::min) / indices.len() as f64
}

/// Flushes the lines of an array from all caches.
fn flush<T>(array: &[T]) {
    let (first, bytes) = (array.as_ptr().cast::<u8>(), size_of_val(array));
    // SAFETY: all lines have bytes of the array; every processor of this architecture has the instructions.
    unsafe {
        (0..bytes).step_by(LINE).for_each(|byte| _mm_clflush(first.add(byte)));
        _mm_mfence();
    }
}

/// # Safety
/// There is AVX-512VL; indices are below the number of elements, 16 divides their number, and there are as many values.
unsafe fn gathered_8(elements: &[f64], indices: &[u32], values: &[f64]) {
    let range = indices.as_ptr_range();
    // SAFETY: indices are read in sixteens with their values, and elements at them.
    unsafe {
        asm!(
            "2:",
            "vmovdqu ymm0, [{p}]", "kxnorw k1, k1, k1", "vpxor xmm2, xmm2, xmm2",
            "vgatherdpd zmm2{{k1}}, [{x} + ymm0*8]", "vfmadd231pd zmm6, zmm2, [{v}]",
            "vmovdqu ymm3, [{p} + 32]", "kxnorw k2, k2, k2", "vpxor xmm5, xmm5, xmm5",
            "vgatherdpd zmm5{{k2}}, [{x} + ymm3*8]", "vfmadd231pd zmm7, zmm5, [{v} + 64]",
            "add {p}, 64", "add {v}, 128", "cmp {p}, {end}", "jb 2b", "vzeroupper",
            p = inout(reg) range.start => _, end = in(reg) range.end, x = in(reg) elements.as_ptr(),
            v = inout(reg) values.as_ptr() => _, out("zmm0") _, out("zmm2") _, out("zmm3") _, out("zmm5") _,
            out("zmm6") _, out("zmm7") _, out("k1") _, out("k2") _, options(readonly, nostack)
        );
    }
}

/// # Safety
/// There are AVX2 and fused multiply-adds; else as [`gathered_8`].
unsafe fn gathered_4(elements: &[f64], indices: &[u32], values: &[f64]) {
    let range = indices.as_ptr_range();
    // SAFETY: indices are read in eights with their values, and elements at them.
    unsafe {
        asm!(
            "2:",
            "vmovdqu xmm0, [{p}]", "vpcmpeqd ymm1, ymm1, ymm1", "vxorpd ymm2, ymm2, ymm2",
            "vgatherdpd ymm2, [{x} + xmm0*8], ymm1", "vfmadd231pd ymm6, ymm2, [{v}]",
            "vmovdqu xmm3, [{p} + 16]", "vpcmpeqd ymm4, ymm4, ymm4", "vxorpd ymm5, ymm5, ymm5",
            "vgatherdpd ymm5, [{x} + xmm3*8], ymm4", "vfmadd231pd ymm7, ymm5, [{v} + 32]",
            "add {p}, 32", "add {v}, 64", "cmp {p}, {end}", "jb 2b", "vzeroupper",
            p = inout(reg) range.start => _, end = in(reg) range.end, x = in(reg) elements.as_ptr(),
            v = inout(reg) values.as_ptr() => _, out("ymm0") _, out("ymm1") _, out("ymm2") _, out("ymm3") _,
            out("ymm4") _, out("ymm5") _, out("ymm6") _, out("ymm7") _, options(readonly, nostack)
        );
    }
}

/// # Safety
/// There are AVX2 and fused multiply-adds; else as [`gathered_8`].
unsafe fn inserted(elements: &[f64], indices: &[u32], values: &[f64]) {
    let range = indices.as_ptr_range();
    // SAFETY: indices are read in eights with their values, and elements at them.
    unsafe {
        asm!(
            "2:",
            "mov {a:e}, [{p}]", "mov {b:e}, [{p} + 4]", "mov {c:e}, [{p} + 8]", "mov {d:e}, [{p} + 12]",
            "vmovsd xmm0, qword ptr [{x} + {a}*8]", "vmovhpd xmm0, xmm0, qword ptr [{x} + {b}*8]",
            "vmovsd xmm1, qword ptr [{x} + {c}*8]", "vmovhpd xmm1, xmm1, qword ptr [{x} + {d}*8]",
            "vinsertf128 ymm0, ymm0, xmm1, 1", "vfmadd231pd ymm2, ymm0, [{v}]",
            "mov {a:e}, [{p} + 16]", "mov {b:e}, [{p} + 20]", "mov {c:e}, [{p} + 24]", "mov {d:e}, [{p} + 28]",
            "vmovsd xmm3, qword ptr [{x} + {a}*8]", "vmovhpd xmm3, xmm3, qword ptr [{x} + {b}*8]",
            "vmovsd xmm4, qword ptr [{x} + {c}*8]", "vmovhpd xmm4, xmm4, qword ptr [{x} + {d}*8]",
            "vinsertf128 ymm3, ymm3, xmm4, 1", "vfmadd231pd ymm5, ymm3, [{v} + 32]",
            "add {p}, 32", "add {v}, 64", "cmp {p}, {end}", "jb 2b", "vzeroupper",
            p = inout(reg) range.start => _, end = in(reg) range.end, x = in(reg) elements.as_ptr(),
            v = inout(reg) values.as_ptr() => _, a = out(reg) _, b = out(reg) _, c = out(reg) _, d = out(reg) _,
            out("ymm0") _, out("ymm1") _, out("ymm2") _, out("ymm3") _, out("ymm4") _, out("ymm5") _,
            options(readonly, nostack)
        );
    }
}

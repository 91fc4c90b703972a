//! The probes: small loops whose times make a [`Machine`] of the processor at hand.
//!
//! On entry nothing is known but the instructions that the processor says it has; on exit all costs are. A probe runs a loop of a few
//! microseconds some times and takes the least time, because whatever disturbs a loop makes it slower. The loops are written in
//! assembly ([`x86`]), so that they are the same in every build. All probes together take about five milliseconds. Sizes of caches are
//! asked for (`cpuid`), not measured.
//!
//! ```text
//! for 8 indices { sum += gather(x, indices) }              gather_8 = time / elements / cycle
//! for 4 indices { sum += [x[a], x[b], x[c], x[d]] }        insert
//! ```
//!
//! Processors of other architectures than x86-64 are taken for the generic machine, but for the costs of threads.

use std::hint::black_box;
use std::time::Instant;

use crate::model::{InstructionSet, Machine};

/// The number of times that a loop is run; the least time counts.
const ROUNDS: u32 = 7;

/// The processor at hand, called `name`. `fork` hands an empty loop to all threads and waits for them.
///
/// ```
/// let machine = lacunar_machine::measure("here", &mut || {});
/// assert!(machine.cycle > 0.0 && machine.vectors.insert > 0.0 && machine.vectors.multiply_add_32 > 0.0);
/// ```
pub fn measure(name: &str, fork: &mut dyn FnMut()) -> Machine {
    // The first forks wake threads up.
    const FORKS: u32 = 20;
    (0..FORKS).for_each(|_| fork());
    let fork = round(least(|| (0..FORKS).for_each(|_| fork())) / f64::from(FORKS));
    let machine = Machine { name: name.to_string(), instructions: InstructionSet::Host, fork, ..Machine::generic() };
    #[cfg(target_arch = "x86_64")]
    return x86::measured(machine);
    #[cfg(not(target_arch = "x86_64"))]
    machine
}

/// A number with three digits: more are noise.
fn round(number: f64) -> f64 {
    if number.is_nan() || number <= 0.0 {
        return 0.0;
    }
    let unit = 10f64.powf(number.log10().floor() - 2.0);
    let rounded = (number / unit).round() * unit;
    // The shortest text of the number, as it is written to disk.
    format!("{rounded:.6}").parse().unwrap_or(rounded)
}

/// The least nanoseconds of a loop, which is run once beforehand.
fn least<T>(mut run: impl FnMut() -> T) -> f64 {
    black_box(run());
    let times = (0..ROUNDS).map(|_| {
        let start = Instant::now();
        black_box(run());
        start.elapsed().as_nanos() as f64
    });
    times.fold(f64::INFINITY, f64::min)
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    //! The loops of x86-64, and the processor's description of its caches.
    #![allow(unsafe_code)]

    use std::arch::asm;
    use std::arch::x86_64::{__cpuid, __cpuid_count};

    use super::{least, round};
    use crate::model::{Caches, Machine, Vectors};
    use crate::scattered;

    /// The indices of the loops over scattered elements, and the elements, which the first level of caches holds.
    const INDICES: usize = 2048;
    const ELEMENTS: usize = 512;
    /// The turns of the loops without operands.
    const TURNS: usize = 500;

    /// The machine with all that is measured of the processor itself.
    pub(super) fn measured(machine: Machine) -> Machine {
        // A chain of multiplications that wait for each other: three cycles each on every processor of the last fifteen years.
        const CHAIN: usize = 4;
        let cycle = (least(multiplications) / (3 * CHAIN * TURNS) as f64).max(1e-3);
        let caches = caches(&machine.caches);
        Machine {
            cycle: round(cycle),
            missed_branch: round(missed_branch() / cycle),
            vectors: vectors(&machine.vectors, caches.level_2, cycle),
            caches,
            ..machine
        }
    }

    fn multiplications() {
        // SAFETY: only the registers that are named change.
        unsafe {
            asm!(
                "2:", "imul {x}, {x}", "imul {x}, {x}", "imul {x}, {x}", "imul {x}, {x}", "dec {n}", "jnz 2b",
                x = inout(reg) 3u64 => _, n = inout(reg) TURNS => _, options(nomem, nostack)
            );
        }
    }

    /// Numbers without a pattern (Marsaglia 2003, *Xorshift RNGs*).
    fn numbers() -> impl Iterator<Item = u32> {
        std::iter::successors(Some(0x9e37_79b9_u32), |&state| {
            let state = state ^ (state << 13);
            let state = state ^ (state >> 17);
            Some(state ^ (state << 5))
        })
    }

    /// The nanoseconds of a branch that nothing predicts, beyond those of one that always goes the same way.
    fn missed_branch() -> f64 {
        // So many are not learned by heart in a few rounds: Zen 3 learns 8192.
        const BRANCHES: usize = 1 << 16;
        let bits = |mask: u32| -> Vec<u8> { numbers().take(BRANCHES).map(|word| (word >> 7 & mask) as u8).collect() };
        let walk = |bits: &[u8]| {
            let range = bits.as_ptr_range();
            // SAFETY: only bytes of the slice are read, which is not empty.
            unsafe {
                asm!(
                    "2:", "cmp byte ptr [{p}], 0", "je 3f", "inc {n}", "3:", "inc {p}", "cmp {p}, {end}", "jb 2b",
                    p = inout(reg) range.start => _, end = in(reg) range.end, n = inout(reg) 0u64 => _,
                    options(readonly, nostack)
                );
            }
        };
        let (random, steady) = (bits(1), bits(0));
        // Half of the random ones are missed.
        (least(|| walk(&random)) - least(|| walk(&steady))).max(0.0) / (BRANCHES as f64 / 2.0)
    }

    /// The costs of vector instructions, as far as the processor has them.
    fn vectors(unknown: &Vectors, level_2: u64, cycle: f64) -> Vectors {
        let scattered = scattered::costs(level_2, numbers()).map(|time| round(time / cycle));
        let [gather_scattered, insert_scattered] = scattered;
        let without = Vectors { gather_4: 0.0, gather_8: 0.0, multiply_add_64: 0.0, ..*unknown };
        let mut found = Vectors { gather_scattered, insert_scattered, ..without };
        let elements = vec![1f64; ELEMENTS];
        let indices: Vec<u32> = numbers().take(INDICES).map(|word| word % ELEMENTS as u32).collect();
        let cycles = |time: f64, count: usize| round(time / count as f64 / cycle);
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the processor has the instructions; all indices are below the number of elements.
            unsafe {
                found.gather_4 = cycles(least(|| gather_4(&elements, &indices)), INDICES);
                found.insert = cycles(least(|| insert(&elements, &indices)), INDICES);
                found.multiply_add_32 = cycles(least(|| multiply_add_32()), 12 * TURNS);
            }
        }
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl") {
            let mut room = vec![0f64; ELEMENTS];
            // SAFETY: as above; the room has as many elements as there are vectors stored.
            unsafe {
                found.gather_8 = cycles(least(|| gather_8(&elements, &indices)), INDICES);
                found.multiply_add_64 = cycles(least(|| multiply_add_64()), 12 * TURNS);
                found.masked_load = cycles(least(|| masked_load(&elements)), 4 * TURNS);
                found.masked_store = cycles(least(|| masked_store(&mut room)), 4 * TURNS);
            }
        }
        found
    }

    /// # Safety
    /// There is AVX2; indices are below the number of elements, and so many that 8 divides their number.
    unsafe fn gather_4(elements: &[f64], indices: &[u32]) {
        let range = indices.as_ptr_range();
        // SAFETY: indices are read in eights, and elements at them.
        unsafe {
            asm!(
                "2:",
                "vmovdqu xmm0, [{p}]", "vpcmpeqd ymm1, ymm1, ymm1", "vxorpd ymm2, ymm2, ymm2",
                "vgatherdpd ymm2, [{x} + xmm0*8], ymm1", "vaddpd ymm6, ymm6, ymm2",
                "vmovdqu xmm3, [{p} + 16]", "vpcmpeqd ymm4, ymm4, ymm4", "vxorpd ymm5, ymm5, ymm5",
                "vgatherdpd ymm5, [{x} + xmm3*8], ymm4", "vaddpd ymm7, ymm7, ymm5",
                "add {p}, 32", "cmp {p}, {end}", "jb 2b", "vzeroupper",
                p = inout(reg) range.start => _, end = in(reg) range.end, x = in(reg) elements.as_ptr(),
                out("ymm0") _, out("ymm1") _, out("ymm2") _, out("ymm3") _, out("ymm4") _, out("ymm5") _,
                out("ymm6") _, out("ymm7") _, options(readonly, nostack)
            );
        }
    }

    /// # Safety
    /// There is AVX-512VL; indices are below the number of elements, and so many that 16 divides their number.
    unsafe fn gather_8(elements: &[f64], indices: &[u32]) {
        let range = indices.as_ptr_range();
        // SAFETY: indices are read in sixteens, and elements at them.
        unsafe {
            asm!(
                "2:",
                "vmovdqu ymm0, [{p}]", "kxnorw k1, k1, k1", "vpxor xmm2, xmm2, xmm2",
                "vgatherdpd zmm2{{k1}}, [{x} + ymm0*8]", "vaddpd zmm6, zmm6, zmm2",
                "vmovdqu ymm3, [{p} + 32]", "kxnorw k2, k2, k2", "vpxor xmm5, xmm5, xmm5",
                "vgatherdpd zmm5{{k2}}, [{x} + ymm3*8]", "vaddpd zmm7, zmm7, zmm5",
                "add {p}, 64", "cmp {p}, {end}", "jb 2b", "vzeroupper",
                p = inout(reg) range.start => _, end = in(reg) range.end, x = in(reg) elements.as_ptr(),
                out("zmm0") _, out("zmm2") _, out("zmm3") _, out("zmm5") _, out("zmm6") _, out("zmm7") _,
                out("k1") _, out("k2") _, options(readonly, nostack)
            );
        }
    }

    /// # Safety
    /// There is AVX2; indices are below the number of elements, and so many that 4 divides their number.
    unsafe fn insert(elements: &[f64], indices: &[u32]) {
        let range = indices.as_ptr_range();
        // SAFETY: indices are read in fours, and elements at them.
        unsafe {
            asm!(
                "2:",
                "mov {a:e}, [{p}]", "mov {b:e}, [{p} + 4]", "mov {c:e}, [{p} + 8]", "mov {d:e}, [{p} + 12]",
                "vmovsd xmm0, qword ptr [{x} + {a}*8]", "vmovhpd xmm0, xmm0, qword ptr [{x} + {b}*8]",
                "vmovsd xmm1, qword ptr [{x} + {c}*8]", "vmovhpd xmm1, xmm1, qword ptr [{x} + {d}*8]",
                "vinsertf128 ymm0, ymm0, xmm1, 1", "vaddpd ymm2, ymm2, ymm0",
                "add {p}, 16", "cmp {p}, {end}", "jb 2b", "vzeroupper",
                p = inout(reg) range.start => _, end = in(reg) range.end, x = in(reg) elements.as_ptr(),
                a = out(reg) _, b = out(reg) _, c = out(reg) _, d = out(reg) _,
                out("ymm0") _, out("ymm1") _, out("ymm2") _, options(readonly, nostack)
            );
        }
    }

    /// # Safety
    /// There are AVX2 and fused multiply-adds.
    unsafe fn multiply_add_32() {
        // SAFETY: only the registers that are named change. Twelve sums hide the latency of the instruction.
        unsafe {
            asm!(
                "vpxor ymm12, ymm12, ymm12",
                "2:",
                "vfmadd231pd ymm0, ymm12, ymm12", "vfmadd231pd ymm1, ymm12, ymm12", "vfmadd231pd ymm2, ymm12, ymm12",
                "vfmadd231pd ymm3, ymm12, ymm12", "vfmadd231pd ymm4, ymm12, ymm12", "vfmadd231pd ymm5, ymm12, ymm12",
                "vfmadd231pd ymm6, ymm12, ymm12", "vfmadd231pd ymm7, ymm12, ymm12", "vfmadd231pd ymm8, ymm12, ymm12",
                "vfmadd231pd ymm9, ymm12, ymm12", "vfmadd231pd ymm10, ymm12, ymm12", "vfmadd231pd ymm11, ymm12, ymm12",
                "dec {n}", "jnz 2b", "vzeroupper", n = inout(reg) TURNS => _,
                out("ymm0") _, out("ymm1") _, out("ymm2") _, out("ymm3") _, out("ymm4") _, out("ymm5") _,
                out("ymm6") _, out("ymm7") _, out("ymm8") _, out("ymm9") _, out("ymm10") _, out("ymm11") _,
                out("ymm12") _, options(nomem, nostack)
            );
        }
    }

    /// # Safety
    /// There is AVX-512F.
    unsafe fn multiply_add_64() {
        // SAFETY: only the registers that are named change. Twelve sums hide the latency of the instruction.
        unsafe {
            asm!(
                "vpxorq zmm12, zmm12, zmm12", "2:",
                "vfmadd231pd zmm0, zmm12, zmm12", "vfmadd231pd zmm1, zmm12, zmm12", "vfmadd231pd zmm2, zmm12, zmm12",
                "vfmadd231pd zmm3, zmm12, zmm12", "vfmadd231pd zmm4, zmm12, zmm12", "vfmadd231pd zmm5, zmm12, zmm12",
                "vfmadd231pd zmm6, zmm12, zmm12", "vfmadd231pd zmm7, zmm12, zmm12", "vfmadd231pd zmm8, zmm12, zmm12",
                "vfmadd231pd zmm9, zmm12, zmm12", "vfmadd231pd zmm10, zmm12, zmm12", "vfmadd231pd zmm11, zmm12, zmm12",
                "dec {n}", "jnz 2b", "vzeroupper", n = inout(reg) TURNS => _,
                out("zmm0") _, out("zmm1") _, out("zmm2") _, out("zmm3") _, out("zmm4") _, out("zmm5") _,
                out("zmm6") _, out("zmm7") _, out("zmm8") _, out("zmm9") _, out("zmm10") _, out("zmm11") _,
                out("zmm12") _, options(nomem, nostack)
            );
        }
    }

    /// # Safety
    /// There is AVX-512F; there are 32 elements.
    unsafe fn masked_load(elements: &[f64]) {
        // SAFETY: the first 32 elements are read.
        unsafe {
            asm!(
                "kmovw k1, {mask:e}", "2:",
                "vmovupd zmm0{{k1}}{{z}}, [{x}]", "vmovupd zmm1{{k1}}{{z}}, [{x} + 64]",
                "vmovupd zmm2{{k1}}{{z}}, [{x} + 128]", "vmovupd zmm3{{k1}}{{z}}, [{x} + 192]",
                "dec {n}", "jnz 2b", "vzeroupper",
                n = inout(reg) TURNS => _, x = in(reg) elements.as_ptr(), mask = in(reg) 0x7fu32, out("k1") _,
                out("zmm0") _, out("zmm1") _, out("zmm2") _, out("zmm3") _, options(readonly, nostack)
            );
        }
    }

    /// # Safety
    /// There is AVX-512F; there is room for 32 elements.
    unsafe fn masked_store(room: &mut [f64]) {
        // SAFETY: the first 32 elements are written.
        unsafe {
            asm!(
                "kmovw k1, {mask:e}", "vpxorq zmm0, zmm0, zmm0", "2:",
                "vmovupd [{x}]{{k1}}, zmm0", "vmovupd [{x} + 64]{{k1}}, zmm0",
                "vmovupd [{x} + 128]{{k1}}, zmm0", "vmovupd [{x} + 192]{{k1}}, zmm0",
                "dec {n}", "jnz 2b", "vzeroupper",
                n = inout(reg) TURNS => _, x = in(reg) room.as_mut_ptr(), mask = in(reg) 0x7fu32, out("k1") _,
                out("zmm0") _, options(nostack)
            );
        }
    }

    /// The caches of the processor, and their reading speeds.
    fn caches(unknown: &Caches) -> Caches {
        let (level_1, level_2, level_3) = sizes().unwrap_or((unknown.level_1, unknown.level_2, unknown.level_3));
        let bandwidth = |bytes: u64| {
            let data = vec![1u8; bytes as usize / 64 * 64];
            let range = data.as_ptr_range();
            let read = || {
                // SAFETY: only bytes of the vector are read, 64 at a time.
                unsafe {
                    asm!(
                        "2:", "movups xmm0, [{p}]", "movups xmm1, [{p} + 16]", "movups xmm2, [{p} + 32]",
                        "movups xmm3, [{p} + 48]", "add {p}, 64", "cmp {p}, {end}", "jb 2b",
                        p = inout(reg) range.start => _, end = in(reg) range.end,
                        out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, options(readonly, nostack)
                    );
                }
            };
            round(data.len() as f64 / least(read))
        };
        // Beyond the second level, the loops of large tensors read the cache that cores share, or memory.
        let from_level_2 = bandwidth((level_2 / 2).clamp(64 << 10, 1 << 20));
        let from_beyond = bandwidth((2 * level_2).clamp(1 << 20, 4 << 20));
        let asked_ahead = round(asked_ahead((2 * level_2).clamp(1 << 20, 4 << 20)));
        Caches { level_1, level_2, level_3, from_level_2, from_beyond, asked_ahead }
    }

    /// The time of sums over segments of so many bytes in all where each asks for one behind it, over the time without.
    fn asked_ahead(bytes: u64) -> f64 {
        let count = bytes as usize / 12 / SEGMENT * SEGMENT;
        let elements = vec![1f64; ELEMENTS];
        let indices: Vec<u32> = (0..count as u32).map(|k| k % ELEMENTS as u32).collect();
        let values = vec![1f64; count];
        // SAFETY: indices are below the number of elements; there are as many values, and a whole number of segments.
        let times = unsafe {
            [least(|| segments_ahead(&elements, &indices, &values)), least(|| segments(&elements, &indices, &values))]
        };
        times[0] / times[1].max(1.0)
    }

    /// The elements of a segment.
    const SEGMENT: usize = 5;

    /// A loop that sums up the products of values and scattered elements, segment after segment.
    macro_rules! sums {
        ($name:ident, $($ahead:literal),*) => {
            /// # Safety
            /// Indices are below the number of elements, and there are as many values; their number is a multiple of that of a segment.
            unsafe fn $name(elements: &[f64], indices: &[u32], values: &[f64]) {
                let range = indices.as_ptr_range();
                // SAFETY: indices, values and elements are read, and segments are whole; what is prefetched need not be there.
                unsafe {
                    asm!(
                        "2:", $($ahead,)* "xorps xmm0, xmm0",
                        "mov {a:e}, [{p}]", "movsd xmm1, [{v}]", "mulsd xmm1, [{x} + {a}*8]", "addsd xmm0, xmm1",
                        "mov {a:e}, [{p} + 4]", "movsd xmm1, [{v} + 8]", "mulsd xmm1, [{x} + {a}*8]", "addsd xmm0, xmm1",
                        "mov {a:e}, [{p} + 8]", "movsd xmm1, [{v} + 16]", "mulsd xmm1, [{x} + {a}*8]", "addsd xmm0, xmm1",
                        "mov {a:e}, [{p} + 12]", "movsd xmm1, [{v} + 24]", "mulsd xmm1, [{x} + {a}*8]", "addsd xmm0, xmm1",
                        "mov {a:e}, [{p} + 16]", "movsd xmm1, [{v} + 32]", "mulsd xmm1, [{x} + {a}*8]", "addsd xmm0, xmm1",
                        "add {p}, 20", "add {v}, 40", "cmp {p}, {end}", "jb 2b",
                        p = inout(reg) range.start => _, end = in(reg) range.end, v = inout(reg) values.as_ptr() => _,
                        x = in(reg) elements.as_ptr(), a = out(reg) _, out("xmm0") _, out("xmm1") _,
                        options(readonly, nostack)
                    );
                }
            }
        };
    }

    sums!(segments,);
    sums!(segments_ahead, "prefetcht0 [{p} + 2048]", "prefetcht0 [{v} + 4096]");

    /// The sizes of the caches for data of three levels, as far as there are any (Intel, *Software Developer's Manual*, volume 2A,
    /// leaf 4; AMD64 *Programmer's Manual*, volume 3, leaf 8000_001Dh).
    fn sizes() -> Option<(u64, u64, u64)> {
        let is_amd = __cpuid(0).ecx == u32::from_le_bytes(*b"cAMD");
        let (leaf, most) = if is_amd { (0x8000_001d, __cpuid(0x8000_0000).eax) } else { (4, __cpuid(0).eax) };
        if most < leaf {
            return None;
        }
        let mut found = [0u64; 4];
        for number in 0..8 {
            let cache = __cpuid_count(leaf, number);
            let (kind, level) = (cache.eax & 31, (cache.eax >> 5 & 7) as usize);
            const NONE: u32 = 0;
            const CODE: u32 = 2;
            if kind == NONE {
                break;
            }
            if kind != CODE && level < found.len() {
                // Each field holds one less than it means: ways, partitions, bytes of a line; and sets.
                let field = |from: u32, bits: u32| u64::from(cache.ebx >> from & ((1 << bits) - 1)) + 1;
                found[level] = field(22, 10) * field(12, 10) * field(0, 12) * (u64::from(cache.ecx) + 1);
            }
        }
        (found[1] > 0 && found[2] > 0).then_some((found[1], found[2], found[3]))
    }

    #[cfg(test)]
    mod tests {
        use super::numbers;

        #[test]
        fn numbers_without_a_pattern_differ() {
            let mut numbers: Vec<u32> = numbers().take(1000).collect();
            numbers.sort_unstable();
            numbers.dedup();
            assert_eq!(numbers.len(), 1000);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::round;
    use crate::{InstructionSet, Machine, measure};

    #[test]
    fn what_is_measured_is_a_machine() {
        let mut forks = 0;
        let machine = measure("here", &mut || forks += 1);
        assert!(forks > 20 && machine.instructions == InstructionSet::Host);
        assert_eq!(Machine::from_toml(&machine.to_toml()).as_ref(), Ok(&machine));
        let caches = machine.caches;
        assert!(caches.level_1 >= 4 << 10 && caches.level_2 > caches.level_1, "{caches:?}");
        // A cycle of 10 GHz or 100 MHz would be a fault, however busy the machine is.
        assert!((0.1..10.0).contains(&machine.cycle), "{machine:?}");
    }

    #[test]
    fn numbers_have_three_digits() {
        assert_eq!([round(1234.5), round(0.98765), round(-1.0), round(f64::NAN)], [1230.0, 0.988, 0.0, 0.0]);
    }
}

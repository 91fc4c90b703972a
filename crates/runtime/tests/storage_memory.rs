//! Packing and conversion stay within their memory budgets: packing below three times the coordinates and values of its
//! input, conversion of a matrix at the result and once more the input.
//!
//! Measures the process's peak of resident memory, so this file holds one test and no other.

#![allow(unsafe_code, clippy::unwrap_used)]

use std::fs;

use lacunar_formats::{Format, FormatSpec};
use lacunar_runtime::{Coo, Coordinates, Tensor, Values};

/// Bytes of a line such as `VmHWM:   1234 kB` of the process's status.
fn status(name: &str) -> Option<u64> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
}

/// Packs `entries` random entries of so many dimensions, and returns peak and input in bytes.
fn measure(entries: usize, dims: &[u64], values: Values, format: &Format) -> Option<(u64, u64)> {
    let mut state = 1u64;
    let mut next = |size: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((u128::from(state) * u128::from(size)) >> 64) as u32
    };
    let coords = dims.iter().map(|&size| Coordinates::U32((0..entries).map(|_| next(size)).collect())).collect();
    let input = (entries * (4 * dims.len() + values.dtype().size())) as u64;
    let coo = Coo { dims: dims.to_vec(), coords, values };
    // Forgets the peak so far.
    fs::write("/proc/self/clear_refs", "5").ok()?;
    let before = status("VmRSS:")?;
    let tensor = Tensor::from_coo(coo, format).unwrap();
    let peak = status("VmHWM:")?;
    assert!(tensor.nnz() > 0);
    convert(&tensor)?;
    // The system counts pages in portions.
    Some((peak.saturating_sub(before) + input, input))
}

/// Converts a matrix, by rows or as a list, to others, and compares the memory this takes on top.
fn convert(tensor: &Tensor) -> Option<()> {
    if tensor.dims().iter().any(|&size| size > 1 << 20) {
        return Some(());
    }
    let targets = ["csc", "csr", "bcsr(3,3)", "sell(8)", "sell(8,64)"];
    // Made of compressed levels, which a list has to be converted to.
    let others = ["dt", "dl", "dr", "dh"].iter().filter(|_| *tensor.format() == Format::csr());
    for text in targets.iter().chain(others) {
        let target = text.parse::<FormatSpec>().unwrap().resolve(2).unwrap();
        let converted = taken(tensor, &target)?;
        if !target.is_padded() {
            taken(&converted, &Format::csr())?;
        }
    }
    Some(())
}

/// Converts a tensor, and compares the memory this takes on top.
fn taken(tensor: &Tensor, target: &Format) -> Option<Tensor> {
    fs::write("/proc/self/clear_refs", "5").ok()?;
    let before = status("VmRSS:")?;
    let converted = tensor.convert(target).unwrap();
    let taken = status("VmHWM:")?.saturating_sub(before);
    let (result, source) = (converted.bytes(), tensor.bytes());
    println!("{} to {target}: {taken} taken, result {result}, source {source}", tensor.format());
    assert!(taken < result + source + SLACK, "{} to {target}: {taken} for {result} from {source}", tensor.format());
    Some(converted)
}

/// The threads' scratch memory and pages that are used in part.
const SLACK: u64 = 8 << 20;

#[test]
fn peaks_are_within_their_budgets() {
    // Vectors that are freed must go back to the system at once, or the peak counts them on.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: sets a number; no other thread of the test allocates meanwhile.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 1 << 20);
    }
    let n = 2_000_000;
    let cases = [
        (vec![1 << 20, 1 << 20], Values::F64(vec![1.0; n]), Format::csr()),
        (vec![1 << 20, 1 << 20], Values::F64(vec![1.0; n]), Format::coo(2)),
        (vec![1 << 32], Values::Bool(vec![true; n]), Format::sv()),
        (vec![1 << 31, 1 << 31, 1 << 31], Values::Bool(vec![true; n]), Format::csf(3)),
        (vec![1 << 31; 5], Values::F32(vec![1.0; n]), Format::coo(5)),
    ];
    for (dims, values, format) in cases {
        let Some((peak, input)) = measure(n, &dims, values, &format) else {
            println!("SKIPPED: the system does not tell the peak of resident memory");
            return;
        };
        println!("{format} of order {}: peak {peak}, input {input}", dims.len());
        assert!(peak < 3 * input + SLACK, "{format}: peak {peak} for an input of {input} bytes");
    }
}

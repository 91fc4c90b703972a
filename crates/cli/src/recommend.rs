//! The formats that suit a matrix: the recommendation of `lacunar info`, with reasons.
//!
//! A product of a sparse matrix and a vector reads the matrix once, so that formats are compared by their bytes:
//! coordinates that blocks, diagonals or bitmaps save, against the zeros that fill them up. Loops over short rows cost
//! more than their bytes; slots run several rows at once. If rows of a slice differ in length, sorting them in windows
//! saves places, for an array of ranks.
//!
//! ```text
//! recommended bcsr(3,3): blocks of 3 x 3 are 98% full; 2.5 MB instead of 3.5 MB as csr
//! ```
//!
//! On entry: the matrix in rows. On exit: candidates, the best first; `csr` is always one of them. With their products measured,
//! the fastest is the first.
//!
//! Papers: Vuduc, *Automatic Performance Tuning of Sparse Matrix Kernels* (2003), §4 (block sizes by fill); Im, Yelick and Vuduc,
//! *Sparsity* (IJHPCA 2004); Kreutzer et al., *A Unified Sparse Matrix Data Format* (SISC 2014), §4 (sorting windows by fill).

use std::collections::HashSet;
use std::ops::Range;
use std::time::Instant;

use lacunar::{
    Category, DType, Diagnostic, DynTensor, Format, FormatSpec, IndexWidth, Kernel, Options, Tensor, median,
};
use serde::Serialize;

use crate::failure::Failure;
use crate::inputs::sizes_text;
use crate::lists::Lists;
use crate::measure::bytes_text;

/// A format that may suit a matrix.
#[derive(Clone, Debug, Serialize)]
pub struct Candidate {
    /// The format, as `-f` takes it.
    pub format: String,
    /// Bytes of all arrays.
    pub bytes: u64,
    /// The reason for it, or against it.
    pub why: String,
    /// The estimated cost of a product with a vector, in bytes that it could read meanwhile.
    #[serde(skip)]
    cost: u64,
    /// The median time of `y(i) = A(i,j) * x(j)`, in milliseconds, where it was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spmv_ms: Option<f64>,
}

/// Sizes of square blocks that are looked at.
const BLOCKS: [u64; 5] = [2, 3, 4, 6, 8];
/// Rows of a slice: the lanes of a vector.
const SLICE: u64 = 8;
/// Windows in which rows may be sorted, the smallest first: in larger ones, neighboring rows are less likely to read neighboring
/// elements of the vector.
const WINDOWS: [u64; 4] = [64, 256, 1024, 4096];
/// A window that costs this much more than another is as good if it is smaller.
const HARDLY: f64 = 0.01;
/// Places that a word of a bitmap is of.
const WORD: u64 = 64;
/// The bytes of a matrix that a core has in its caches.
const CACHE: u64 = 2 << 20;
/// The cost of the loop over a row, or over a row of blocks: measured on roads (3 entries a row) and meshes (6).
const LOOP: u64 = 24;
/// A format other than csr has to save this part of its cost.
const SAVING: f64 = 0.1;
/// How many times as much as csr a candidate may cost.
const FAR: u64 = 2;
/// A matrix has few rows with entries if it has so many times as many rows.
const FEW: u64 = 8;
/// The memory that a measured format and the vectors may take each: this, or so many times what the entries take as a list.
const BUDGET: u64 = 1 << 30;
const TIMES_ENTRIES: u64 = 16;
/// The places that names of formats take at least.
const SHORT: usize = 11;
/// How often the measured products take turns, how often each then runs, after runs that bring it into the caches, and about how
/// long each may take in all, in seconds.
const ROUNDS: usize = 5;
const RUNS: usize = 10;
const WARM: usize = 3;
const LONG: f64 = 0.5;

/// Formats for a matrix of these sizes that is given in rows, the best first; a value takes so many bytes.
pub fn candidates(by_rows: Lists<'_>, [rows, columns]: [u64; 2], nnz: u64, value: u64) -> Vec<Candidate> {
    let width = |largest: u64| if largest <= IndexWidth::W32.max() { 4 } else { 8 };
    let (position, coordinate) = (width(nnz), width(columns.saturating_sub(1)));
    let entries = nnz.saturating_mul(coordinate + value);
    let starts = |count: u64| count.saturating_add(1).saturating_mul(position);
    let csr = candidate("csr", entries.saturating_add(starts(rows)), rows, "coordinates of every entry");
    let mut found = Vec::new();
    for block in BLOCKS.into_iter().filter(|block| *block <= rows.min(columns)) {
        let blocks = count_blocks(by_rows, block);
        let full = nnz as f64 / (blocks * block * block).max(1) as f64;
        let places = blocks.saturating_mul(block * block * value + 4);
        let why = format!("blocks of {block} x {block} are {:.0}% full", 100.0 * full);
        let bytes = places.saturating_add(starts(rows.div_ceil(block)));
        found.push(candidate(&format!("bcsr({block},{block})"), bytes, rows.div_ceil(block), &why));
    }
    let (slices, mean) = (rows.div_ceil(SLICE), nnz as f64 / rows.max(1) as f64);
    let of_slots = |places: u64, sorted: Option<u64>| {
        let full = 100.0 * nnz as f64 / places.max(1) as f64;
        let ranks = if sorted.is_some() { rows.saturating_mul(4) } else { 0 };
        let bytes = places.saturating_mul(value + 4).saturating_add(starts(slices)).saturating_add(ranks);
        let order = sorted.map_or_else(String::new, |window| format!("sorted by length in windows of {window}, "));
        let why = format!("rows of {mean:.1} entries, {order}{SLICE} at a time in vector lanes, {full:.0}% full");
        let arguments = sorted.map_or_else(|| SLICE.to_string(), |window| format!("{SLICE},{window}"));
        candidate(&format!("sell({arguments})"), bytes, slices, &why)
    };
    let unsorted = of_slots(count_slots(by_rows, SLICE), None);
    let sorted: Vec<Candidate> =
        WINDOWS.into_iter().map(|window| of_slots(count_slots(by_rows, window), Some(window))).collect();
    let least = sorted.iter().map(|one| one.cost).min().unwrap_or(0);
    let sorted = sorted.into_iter().find(|one| one.cost as f64 <= least as f64 * (1.0 + HARDLY));
    found.extend(sorted.filter(|sorted| sorted.cost < unsorted.cost));
    found.push(unsorted);
    let full_rows = by_rows.len();
    if full_rows.saturating_mul(FEW) <= rows {
        let why = format!("{full_rows} of {rows} rows have entries");
        let lists = starts(full_rows)
            .saturating_add(starts(1))
            .saturating_add(full_rows.saturating_mul(width(rows.saturating_sub(1))));
        found.push(candidate("dcsr", entries.saturating_add(lists), full_rows, &why));
    }
    // More diagonals than these cost too much, however many they are.
    let most = csr.bytes.max(csr.cost).saturating_mul(FAR) / rows.saturating_mul(value).max(1);
    if let Some(diagonals) = count_diagonals(by_rows, rows, most) {
        let places = diagonals.saturating_mul(rows);
        let why = format!("{diagonals} diagonals, {:.0}% full", 100.0 * nnz as f64 / places.max(1) as f64);
        found.push(candidate("dia", places.saturating_mul(value).saturating_add(diagonals * 4), 0, &why));
    }
    let all = rows.saturating_mul(columns);
    let why = format!("{:.1}% of all places hold entries", 100.0 * nnz as f64 / all.max(1) as f64);
    found.push(candidate("dense", all.saturating_mul(value), 0, &why));
    let words = rows.saturating_mul(columns.div_ceil(WORD));
    let bytes = nnz.saturating_mul(value).saturating_add(words.saturating_mul(8 + 4));
    // Measured at densities from 20 to 60%: finding out what is stored costs a byte a place, half of it hidden behind the memory.
    let places = if csr.bytes < CACHE { all } else { all / 2 };
    found.push(candidate("db", bytes, rows.saturating_add(places / LOOP), &why));
    found.retain(|other| other.bytes.max(other.cost) <= csr.bytes.max(csr.cost).saturating_mul(FAR));
    found.push(csr);
    rank(&mut found, |one| one.cost as f64);
    found
}

/// Measures the product with a vector in every candidate's format, and ranks them by it. They take turns, so that other
/// work of the machine affects all of them.
///
/// # Errors
/// Memory is refused, or the vectors of the product would take much more than the matrix.
pub fn measure(found: &mut [Candidate], matrix: &DynTensor) -> Result<(), Failure> {
    let budget = matrix.bytes().saturating_mul(TIMES_ENTRIES).max(BUDGET);
    let vectors = matrix.dims().iter().fold(0u64, |bytes, size| bytes.saturating_add(size.saturating_mul(8)));
    if vectors > budget {
        let what = format!(
            "the vectors of a product with a {} matrix take {}",
            sizes_text(matrix.dims()),
            bytes_text(vectors)
        );
        let diagnostic =
            Diagnostic::error("E1020", what).hint("leave `--measure` away: formats are recommended without it, too");
        return Err(Failure::plain(diagnostic.category(Category::Memory)));
    }
    let matrix = matrix.cast(DType::F64)?;
    let x = Tensor::from_slice(&[matrix.dims()[1]], &vec![1.0; matrix.dims()[1] as usize])?;
    let mut y = Tensor::<f64>::zeros(&matrix.dims()[..1], Format::dense(1))?;
    let mut running = Vec::new();
    for candidate in found.iter_mut().filter(|candidate| candidate.bytes <= budget) {
        let format = candidate.format.parse::<FormatSpec>().ok().and_then(|spec| spec.resolve(2).ok());
        let Some(format) = format else { continue };
        let stored = matrix.convert(&format)?;
        let options = Options::new().tensor("A", &stored).tensor("x", x.as_dyn()).tuned(false);
        let kernel = Kernel::compile("y(i) = A(i,j) * x(j)", &options)?;
        running.push((candidate, stored, kernel, Vec::new()));
    }
    let start = Instant::now();
    for round in 0..ROUNDS {
        if round > 0 && start.elapsed().as_secs_f64() > LONG * running.len() as f64 {
            break;
        }
        for (_, stored, kernel, times) in &mut running {
            for run in 0..WARM + RUNS {
                let start = Instant::now();
                kernel.run(&mut y, &[stored, x.as_dyn()])?;
                times.extend((run >= WARM).then(|| start.elapsed().as_secs_f64()));
            }
        }
    }
    for (candidate, _, _, times) in running {
        candidate.spmv_ms = Some(1e3 * median(&times));
    }
    rank(found, |one| one.spmv_ms.unwrap_or(f64::INFINITY));
    Ok(())
}

/// The recommendation, in words.
pub fn text(found: &[Candidate]) -> Vec<String> {
    let Some(best) = found.first() else { return Vec::new() };
    let csr = found.iter().find(|one| one.format == "csr");
    let against = match csr {
        Some(csr) if csr.format != best.format => {
            format!("; {} instead of {} as csr", bytes_text(best.bytes), bytes_text(csr.bytes))
        }
        // The next candidate shows why nothing else is recommended.
        _ => found.get(1).map_or(String::new(), |next| {
            let (bytes, csr) = (bytes_text(next.bytes), bytes_text(best.bytes));
            format!("; next is {}, {bytes} instead of {csr}: {}", next.format, next.why)
        }),
    };
    let mut lines = vec![format!("recommended {}: {}{against}", best.format, best.why)];
    let width = found.iter().map(|one| one.format.len()).fold(SHORT, usize::max);
    for one in found.iter().filter(|one| one.spmv_ms.is_some()) {
        let time = one.spmv_ms.unwrap_or_default();
        lines.push(format!(
            "{:<width$} {:.4} ms for y(i) = A(i,j) * x(j), {}, {}",
            one.format,
            time,
            bytes_text(one.bytes),
            one.why
        ));
    }
    lines
}

/// `loops` says how many loops over entries a product consists of.
fn candidate(format: &str, bytes: u64, loops: u64, why: &str) -> Candidate {
    let cost = bytes.saturating_add(loops.saturating_mul(LOOP));
    Candidate { format: format.to_string(), bytes, why: why.to_string(), cost, spmv_ms: None }
}

/// The least first, unless csr is hardly more.
fn rank(found: &mut [Candidate], cost: impl Fn(&Candidate) -> f64) {
    let judged = |one: &Candidate| cost(one) * if one.format == "csr" { 1.0 - SAVING } else { 1.0 };
    found.sort_by(|a, b| judged(a).total_cmp(&judged(b)));
}

/// Divides the rows with entries into bands of so many rows. `row` puts items into the list of a band; `end` gets the
/// list at the end of the band, and the list is emptied.
fn each_band<T>(
    lists: Lists<'_>,
    rows: u64,
    mut row: impl FnMut(&mut Vec<T>, Range<usize>),
    mut end: impl FnMut(&mut Vec<T>),
) {
    let mut band = Vec::new();
    let mut current = 0;
    for (number, places) in lists.rows() {
        if number / rows != current {
            end(&mut band);
            band.clear();
            current = number / rows;
        }
        row(&mut band, places);
    }
    end(&mut band);
}

/// How many places slots have in slices of rows, where rows are sorted by their lengths in windows of so many.
fn count_slots(lists: Lists<'_>, window: u64) -> u64 {
    let mut slots = 0u64;
    let row = |lengths: &mut Vec<u64>, places: Range<usize>| lengths.push(places.len() as u64);
    each_band(lists, window, row, |lengths| {
        // The longest first, and empty ones behind them: each slice is as long as its first row.
        lengths.sort_unstable_by(|a, b| b.cmp(a));
        slots = lengths.iter().step_by(SLICE as usize).fold(slots, |slots, length| slots.saturating_add(*length));
    });
    slots.saturating_mul(SLICE)
}

/// How many blocks of a size have entries.
fn count_blocks(lists: Lists<'_>, block: u64) -> u64 {
    let mut blocks = 0;
    let row = |columns: &mut Vec<u64>, places: Range<usize>| {
        columns.extend(places.map(|place| lists.column(place) / block));
    };
    each_band(lists, block, row, |columns| {
        // Rows that are in order each.
        columns.sort();
        columns.dedup();
        blocks += columns.len() as u64;
    });
    blocks
}

/// How many diagonals have entries; `None` if they are more than so many.
fn count_diagonals(lists: Lists<'_>, rows: u64, most: u64) -> Option<u64> {
    let mut seen = HashSet::new();
    for (row, places) in lists.rows() {
        for place in places {
            if seen.insert(lists.column(place) + (rows - 1 - row)) && seen.len() as u64 > most {
                return None;
            }
        }
    }
    Some(seen.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(dims: [u64; 2], entries: &[[u64; 2]]) -> Vec<Candidate> {
        let entries: Vec<(&[u64], f64)> = entries.iter().map(|at| (at.as_slice(), 1.0)).collect();
        let matrix = Tensor::from_entries(&dims, &entries, Format::dcsr()).unwrap();
        candidates(Lists::of(matrix.as_dyn()).unwrap(), dims, matrix.as_dyn().nnz(), 8)
    }

    fn best(dims: [u64; 2], entries: &[[u64; 2]]) -> String {
        of(dims, entries)[0].format.clone()
    }

    #[test]
    fn bitmaps_are_for_the_densities_between() {
        let every = |n: u64| -> Vec<[u64; 2]> {
            (0..300u64)
                .flat_map(|i| (0..300).map(move |j| [i, j]))
                .filter(|[i, j]| (i * 37 + j * j * 11) % 20 < n)
                .collect()
        };
        assert_eq!(best([300, 300], &every(2)), "csr");
        assert_eq!(best([300, 300], &every(12)), "db");
        assert_eq!(best([300, 300], &every(20)), "dense");
    }

    #[test]
    fn blocks_and_diagonals_are_found() {
        let blocks: Vec<[u64; 2]> =
            (0..40).flat_map(|b| (0..9).map(move |k| [3 * b + k / 3, 3 * (b * 7 % 40) + k % 3])).collect();
        assert_eq!(best([120, 120], &blocks), "bcsr(3,3)");
        let line: Vec<[u64; 2]> = (0..200u64)
            .flat_map(|i| [i.checked_sub(1), Some(i), Some(i + 1)].into_iter().flatten().map(move |j| [i, j]))
            .filter(|[_, j]| *j < 200)
            .collect();
        assert_eq!(best([200, 200], &line), "dia");
        let scattered: Vec<[u64; 2]> = (0..300u64).map(|k| [k * 7 % 300, k * k % 299]).collect();
        assert_eq!(best([300, 300], &scattered), "sell(8)");
        let uneven: Vec<[u64; 2]> =
            (0..640u64).flat_map(|i| (0..1 + 5 * (i % 2)).map(move |k| [i, (i * 31 + k * 57) % 640])).collect();
        let found = of([640, 640], &uneven);
        assert_eq!(found[0].format, "sell(8,64)");
        assert_eq!(
            found[0].why,
            "rows of 3.5 entries, sorted by length in windows of 64, 8 at a time in vector lanes, 100% full"
        );
        let heavy: Vec<[u64; 2]> = scattered.iter().copied().chain((0..299).map(|j| [(j * 31) % 300, j])).collect();
        let rows: Vec<[u64; 2]> =
            heavy.iter().flat_map(|&[i, j]| (0..8).map(move |k| [i, (j + 37 * k) % 300])).collect();
        assert_eq!(best([300, 300], &rows), "csr");
        // The next candidate's text says why.
        let said = text(&of([300, 300], &rows))[0].clone();
        assert!(said.starts_with("recommended csr: coordinates of every entry; next is "), "{said}");
        assert!(said.contains(" instead of ") && said.ends_with("% full"), "{said}");
    }

    #[test]
    fn work_goes_with_entries_and_not_with_sizes() {
        let found = of([1 << 62, (1 << 62) + 1], &[[0, 5], [1 << 40, 1 << 61], [(1 << 62) - 1, 1 << 62]]);
        assert_eq!((found[0].format.as_str(), found[0].bytes), ("dcsr", 3 * 16 + (4 + 2) * 4 + 3 * 8));
    }
}

//! The time to put random coordinates with values into hashed levels, beside a hash map: entries in no order, a few of them
//! repeated, whose values are added up.
//!
//! ```text
//! entries     into     lacunar ms   hashbrown ms   ratio
//! 100000      h              1.28           1.66    0.77
//! 100000      dh             1.63           1.67    0.98      rows of about 16 entries
//! ```
//!
//! Both take turns, on one thread; medians are compared. The map has the row and the column in one key, and room for all entries
//! from the start; the list of entries is made before. The time to free either does not count.

use std::hint::black_box;
use std::time::Instant;

use anyhow::{Result, ensure};
use hashbrown::HashMap;
use lacunar::{Coo, DynTensor, Format, FormatSpec, median};
use lacunar_runtime::pool::with_threads;
use lacunar_runtime::{Coordinates, Values};
use rustc_hash::FxBuildHasher;

/// Numbers of entries.
const COUNTS: [usize; 5] = [1_000, 10_000, 100_000, 1_000_000, 4_000_000];
/// Entries of a row.
const ROW: usize = 16;
/// Sizes of a vector and of a row.
const SIZE: u64 = 1 << 31;
const COLUMNS: u64 = 1 << 20;

/// Measures and prints the ratios.
///
/// # Errors
/// Memory is refused, or both do not hold the same.
pub fn measure(rounds: usize, quick: bool) -> Result<()> {
    println!("{:10} {:4} {:>12} {:>13} {:>6}", "entries", "into", "lacunar ms", "hashbrown ms", "ratio");
    let counts = COUNTS.into_iter().filter(|count| !quick || *count <= 100_000);
    for (count, format) in counts.flat_map(|count| [(count, "h"), (count, "dh")]) {
        let dims = if format == "h" { vec![SIZE] } else { vec![count.div_ceil(ROW) as u64, COLUMNS] };
        let format: Format = format.parse::<FormatSpec>()?.resolve(dims.len())?;
        let list = entries(&dims, count);
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let own = list.clone();
            let start = Instant::now();
            let tensor = with_threads(1, || DynTensor::from_coo(own, &format))?;
            ours.push(start.elapsed().as_secs_f64() * 1e3);
            let start = Instant::now();
            let map = map(&list);
            theirs.push(start.elapsed().as_secs_f64() * 1e3);
            let stored = tensor.convert(&Format::coo(dims.len()))?.nnz();
            ensure!(stored == map.len() as u64, "{stored} coordinates, and {} keys", map.len());
            black_box((tensor, map));
        }
        let (ours, theirs) = (median(&ours), median(&theirs));
        let letters = format.letters();
        println!("{count:<10} {letters:4} {ours:12.3} {theirs:13.3} {:6.2}", ours / theirs);
    }
    Ok(())
}

/// Random entries.
fn entries(dims: &[u64], count: usize) -> Coo {
    let mut rng = fastrand::Rng::with_seed(count as u64);
    let mut column = |size: u64| Coordinates::U32((0..count).map(|_| rng.u64(..size) as u32).collect());
    let coords = dims.iter().map(|&size| column(size)).collect();
    Coo { dims: dims.to_vec(), coords, values: Values::F64((0..count).map(|k| k as f64).collect()) }
}

/// The same entries in a map, by row and column.
fn map(list: &Coo) -> HashMap<u64, f64, FxBuildHasher> {
    let mut map = HashMap::with_capacity_and_hasher(list.len(), FxBuildHasher);
    let (Some(Coordinates::U32(last)), Values::F64(values)) = (list.coords.last(), &list.values) else { return map };
    for (k, (&column, &value)) in last.iter().zip(values).enumerate() {
        let row = match list.coords.as_slice() {
            [Coordinates::U32(rows), _] => u64::from(rows[k]),
            _ => 0,
        };
        *map.entry(row << 32 | u64::from(column)).or_insert(0.0) += value;
    }
    map
}

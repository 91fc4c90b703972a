//! Bitmaps beside compressed levels, by the part of a matrix's places that hold entries: the density from which on the first are faster.
//!
//! ```text
//! kernel         size density   csr ms   bitmap ms   ratio      below 1: bitmaps are faster
//! spmv            512    20 %    0.110       0.082    0.75
//! ```
//!
//! Both formats take turns, on one thread; medians are compared. Small matrices stay in the cache, so that the
//! computations of a kernel count; for large ones its reads count.

use std::time::Instant;

use anyhow::Result;
use lacunar::{Coo, DType, DynTensor, Format, FormatSpec, Kernel, Options, median};
use lacunar_runtime::pool::with_threads;
use lacunar_runtime::{Coordinates, Values};

/// Rows and columns of the matrices.
const SIZES: [u64; 2] = [512, 6000];
/// Shares of places that hold entries, in percent.
const DENSITIES: [u32; 7] = [5, 10, 20, 30, 40, 50, 60];
/// Kernels, with the format of the result.
const KERNELS: [(&str, &str, &str); 4] = [
    ("spmv", "y(i) = A(i,j) * x(j)", "d"),
    ("multiply", "y(i,j) = A(i,j) * B(i,j)", "same"),
    ("add", "y(i,j) = A(i,j) + B(i,j)", "same"),
    ("add dense", "y(i,j) = A(i,j) + B(i,j)", "dd"),
];

/// Measures and prints the ratios.
///
/// # Errors
/// A kernel is not compiled, or memory is refused.
pub fn measure(rounds: usize, quick: bool) -> Result<()> {
    println!("{:12} {:>6} {:>7} {:>9} {:>9} {:>6}", "kernel", "size", "density", "csr ms", "bitmap ms", "ratio");
    for ((name, text, result), size) in KERNELS.into_iter().flat_map(|kernel| SIZES.map(|size| (kernel, size))) {
        let rounds = if size > SIZES[0] { rounds.div_ceil(10) } else { rounds };
        for density in DENSITIES.into_iter().filter(|density| !quick || density % 20 == 0) {
            let mut runs = ["ds", "db"].map(|letters| Prepared::new((text, result), letters, size, density));
            let mut times = [Vec::new(), Vec::new()];
            for _ in 0..rounds {
                for (prepared, times) in runs.iter_mut().zip(&mut times) {
                    let Prepared { kernel, operands } =
                        prepared.as_mut().map_err(|error| anyhow::anyhow!("{error:#}"))?;
                    let given: Vec<(&str, &DynTensor)> =
                        operands.iter().map(|(name, tensor)| (*name, tensor)).collect();
                    let start = Instant::now();
                    with_threads(1, || kernel.run_named(&given))?;
                    times.push(start.elapsed().as_secs_f64() * 1e3);
                }
            }
            let [csr, bitmap] = times.map(|times| median(&times));
            println!("{name:12} {size:>6} {density:>5} % {csr:9.4} {bitmap:9.4} {:6.2}", bitmap / csr);
        }
    }
    Ok(())
}

/// A kernel and its operands.
struct Prepared {
    kernel: Kernel,
    operands: Vec<(&'static str, DynTensor)>,
}

impl Prepared {
    fn new((text, result): (&str, &str), letters: &str, size: u64, density: u32) -> Result<Prepared> {
        let format = |letters: &str, order| -> Result<Format> { Ok(letters.parse::<FormatSpec>()?.resolve(order)?) };
        let mut operands = vec![("A", DynTensor::from_coo(matrix(size, density, 1), &format(letters, 2)?)?)];
        operands.push(match text.contains("x(j)") {
            true => ("x", DynTensor::from_coo(vector(size), &Format::dense(1))?),
            false => ("B", DynTensor::from_coo(matrix(size, density, 2), &format(letters, 2)?)?),
        });
        let mut options = Options::new().tuned(false);
        for (name, tensor) in &operands {
            options = options.tensor(name, tensor);
        }
        let result = if result == "same" { letters } else { result };
        options.declarations = options.declarations.format("y", result.parse::<FormatSpec>()?);
        Ok(Prepared { kernel: Kernel::compile(text, &options)?, operands })
    }
}

/// A matrix with random entries.
fn matrix(size: u64, density: u32, seed: u64) -> Coo {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut coo = Coo::empty(vec![size, size], DType::F64);
    let mut values = Vec::new();
    for (row, column) in (0..size).flat_map(|row| (0..size).map(move |column| (row, column))) {
        if rng.u32(..100) < density {
            coo.coords[0].push(row);
            coo.coords[1].push(column);
            values.push(rng.f64());
        }
    }
    Coo { values: Values::F64(values), ..coo }
}

fn vector(size: u64) -> Coo {
    let coords = Coordinates::U32((0..size as u32).collect());
    Coo { dims: vec![size], coords: vec![coords], values: Values::F64(vec![0.5; size as usize]) }
}

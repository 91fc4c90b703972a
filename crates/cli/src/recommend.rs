//! The formats that suit a matrix: the recommendation of `lacunar info`, with reasons, and their measurement.
//!
//! The library chooses ([`lacunar::choose`]), as it does for `auto`; the measurements here check it.
//!
//! ```text
//! recommended bcsr(3,3): blocks of 3 x 3 are 98% full; 2.5 MB instead of 3.5 MB as csr; about 0.32 ns an entry instead of 0.43; ..
//! ```
//!
//! On entry: the matrix in rows. On exit: candidates, the best first; `csr` is always one of them. With their products measured,
//! the fastest is the first.

use std::time::Instant;

use lacunar::{
    Candidate, Category, Choice, DType, Demand, Diagnostic, DynTensor, Format, Kernel, Options, Tensor, choose, median,
};
use serde::Serialize;

use crate::failure::Failure;
use crate::inputs::sizes_text;
use lacunar_base::amounts::bytes_text;

/// A format that may suit a matrix, as `--json` tells it.
#[derive(Clone, Debug, Serialize)]
pub struct Recommended {
    /// The format, as `-f` takes it.
    format: String,
    /// Bytes of all arrays.
    bytes: u64,
    /// The reason for it, or against it.
    why: String,
    /// The estimated time of a product with a vector, in nanoseconds for each entry.
    ns_an_entry: f64,
    /// The number of such products that take as long as the conversion from compressed rows.
    conversion_uses: f64,
    /// The median time of `y(i) = A(i,j) * x(j)`, in milliseconds, where it was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    spmv_ms: Option<f64>,
}

/// Formats that may suit a matrix.
#[derive(Clone, Debug)]
pub struct Recommendation {
    choice: Choice,
}

/// The memory that a measured format and the vectors may take each: this, or so many times the memory of the entries as a list.
const BUDGET: u64 = 1 << 30;
const TIMES_ENTRIES: u64 = 16;
/// The places that names of formats take at least.
const SHORT: usize = 11;
/// Another format than csr has to save this part of its measured time.
const SAVING: f64 = 0.05;
/// The number of turns of the measured products, of runs in each turn, of runs before them that bring it into the caches, and
/// the time that each may take in all, about, in seconds.
const ROUNDS: usize = 5;
const RUNS: usize = 10;
const WARM: usize = 3;
const LONG: f64 = 0.5;

impl Recommendation {
    /// The recommendation for a matrix, for as many uses as `auto` takes.
    ///
    /// # Errors
    /// Memory is refused.
    pub fn of(matrix: &DynTensor) -> Result<Recommendation, Failure> {
        let uses = Format::auto().uses().unwrap_or_default();
        Ok(Recommendation { choice: choose(matrix, &Demand { exact: false, ..Demand::of(uses) })? })
    }

    /// Measures the product with a vector in every candidate's format, and ranks them by it. They take turns, so that other
    /// work of the machine affects all of them.
    ///
    /// # Errors
    /// Memory is refused, or the vectors of the product would take much more than the matrix.
    pub fn measure(&mut self, matrix: &DynTensor) -> Result<(), Failure> {
        measure(&mut self.choice.candidates, matrix)
    }

    /// The candidates, the best first.
    pub fn formats(&self) -> Vec<Recommended> {
        let candidates = self.choice.candidates.iter().map(|one| Recommended {
            format: one.format.to_string(),
            bytes: one.bytes,
            why: one.why.clone(),
            ns_an_entry: one.nanoseconds / self.choice.entries.max(1) as f64,
            conversion_uses: one.convert / one.nanoseconds.max(1.0),
            spmv_ms: one.measured,
        });
        candidates.collect()
    }

    /// The recommendation, in words.
    pub fn text(&self) -> Vec<String> {
        let mut lines = vec![format!("recommended {}: {}", self.choice.format(), self.choice.reason())];
        let candidates = &self.choice.candidates;
        let width = candidates.iter().map(|one| one.format.to_string().len()).fold(SHORT, usize::max);
        for one in candidates {
            if let Some(time) = one.measured {
                let (format, bytes) = (one.format.to_string(), bytes_text(one.bytes));
                lines.push(format!("{format:<width$} {time:.4} ms for y(i) = A(i,j) * x(j), {bytes}, {}", one.why));
            }
        }
        lines
    }
}

/// See [`Recommendation::measure`].
fn measure(found: &mut [Candidate], matrix: &DynTensor) -> Result<(), Failure> {
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
        let stored = matrix.convert(&candidate.format)?;
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
        candidate.measured = Some(1e3 * median(&times));
    }
    let judged = |one: &Candidate| {
        one.measured.unwrap_or(f64::INFINITY) * if one.format == Format::csr() { 1.0 - SAVING } else { 1.0 }
    };
    found.sort_by(|a, b| judged(a).total_cmp(&judged(b)));
    Ok(())
}

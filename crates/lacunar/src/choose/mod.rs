//! Formats chosen from a tensor's entries: the choice of [`Format::auto`] and of `lacunar info`.
//!
//! A choice is an estimate from the tensor's structure, and from the formats that the loops of a program can walk through: nothing
//! is run. The cost of the conversion is shared by the uses of the tensor that are expected; few uses are not worth any.
//!
//! ```text
//! entries --structure--> lengths of rows, blocks, diagonals --estimate--> candidates --walked--> the best that is not converted back
//! ```
//!
//! On entry: a tensor in any format. On exit: a [`Choice`], whose format holds the tensor's entries. Compressed rows (or columns) are
//! always a candidate, and chosen unless something else is clearly faster.
//!
//! Paper: Vuduc, *Automatic Performance Tuning of Sparse Matrix Kernels* (2003), §4, chooses by estimates as well, and lets uses pay
//! for the conversion (§4.3).

mod estimate;
mod higher;
mod structure;
mod walked;

use std::sync::Arc;

use lacunar_formats::{DType, Format, FormatSpec};
use lacunar_machine::Machine;
use lacunar_runtime::lists::Lists;
use lacunar_runtime::{Coo, Route, Tensor as DynTensor};

use crate::error::Error;
use crate::machine::machine;
use crate::options::Options;
pub use estimate::Costs;
use estimate::Matrix;
use walked::{Walk, walk};

/// Any other format has to save this part of the time of compressed rows.
const SAVING: f64 = 0.05;
/// A matrix whose rows are this many more than its entries is listed by the rows that have some.
const EMPTY: u64 = 8;

/// A format that may suit a tensor.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The format.
    pub format: Format,
    /// Bytes of all arrays.
    pub bytes: u64,
    /// The estimated time of one use by one thread, in nanoseconds: of a product with a vector, or of one pass over the entries.
    pub nanoseconds: f64,
    /// The estimated time of the conversion from compressed rows, in nanoseconds.
    pub convert: f64,
    /// The reason for it, or against it, in words.
    pub why: String,
    /// The time of one use, in milliseconds, where somebody has measured it.
    pub measured: Option<f64>,
}

/// The format that was chosen for a tensor, and the others.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The candidates, the chosen one first.
    pub candidates: Vec<Candidate>,
    /// The number of uses that it was chosen for.
    pub uses: u64,
    /// The number of the tensor's entries.
    pub entries: u64,
}

/// The demands on a choice.
#[derive(Clone, Copy, Debug)]
pub struct Demand<'a> {
    /// The number of times that the tensor is used, after one conversion.
    pub uses: u64,
    /// The program that uses it; without one, any format may be chosen, as for a product of a matrix with a vector.
    pub needs: Option<Needs<'a>>,
    /// True if zeros that are stored stay entries, as [`DynTensor::entries`] counts them. No sum over the entries tells the
    /// difference, but blocks, diagonals and arrays cannot be chosen for a tensor that has some.
    pub exact: bool,
    /// The costs of kernels and conversions on the machine.
    pub costs: Costs,
}

/// A program that uses a tensor.
#[derive(Clone, Copy, Debug)]
pub struct Needs<'a> {
    /// Its text.
    pub program: &'a str,
    /// The name of the tensor in it.
    pub tensor: &'a str,
    /// Its schedule, and everything that is declared about its tensors. The format of this one is not looked at.
    pub options: &'a Options,
}

impl Demand<'_> {
    /// So many uses by products with vectors, of a tensor that keeps its entries, on the machine at hand.
    pub fn of(uses: u64) -> Demand<'static> {
        Demand { uses, needs: None, exact: true, costs: costs(None) }
    }
}

impl Choice {
    /// The candidate that was chosen.
    pub fn best(&self) -> &Candidate {
        &self.candidates[0]
    }

    /// The chosen format.
    pub fn format(&self) -> &Format {
        &self.best().format
    }

    /// The choice and its reasons, in words.
    ///
    /// ```
    /// use lacunar::{Demand, Format, Tensor, choose};
    /// # fn main() -> Result<(), lacunar::Error> {
    /// let (rows, columns): (Vec<u64>, Vec<u64>) = (0..900).map(|k| (k / 3, k * k % 300)).unzip();
    /// let a = Tensor::from_triplets([300, 300], &rows, &columns, &[1.0; 900], Format::csr())?;
    /// let choice = choose(a.as_dyn(), &Demand::of(1000))?;
    /// // "rows of .. entries, 8 at a time in vector lanes, ..% full; .. kB instead of .. kB as csr; about .. ns an entry instead of .."
    /// println!("{}", choice.reason());
    /// assert!(choice.reason().contains(" as csr; about "));
    /// # Ok(())
    /// # }
    /// ```
    pub fn reason(&self) -> String {
        let best = self.best();
        let other = self.candidates.iter().find(|one| one.convert == 0.0 && one.format != best.format);
        let mut reason = best.why.clone();
        match other {
            Some(plain) => {
                reason += &format!("; {}", estimate::against(best, plain, self.entries));
                let products = (best.convert / best.nanoseconds.max(1.0)).ceil();
                reason += &format!("; the conversion takes as long as {products} uses of {}", self.uses);
            }
            // The next candidate shows why nothing else is chosen.
            None => {
                if let Some(next) = self.candidates.get(1) {
                    reason += &format!("; next is {}, {}", next.format, estimate::against(next, best, self.entries));
                    reason += &format!(": {}", next.why);
                }
            }
        }
        reason
    }
}

/// Chooses a format for a tensor from its entries.
///
/// The time grows with the tensor's rows and a sample of its entries; a tensor in a format other than compressed rows (columns,
/// where a program walks through these) is converted to look at it.
///
/// ```
/// use lacunar::{Demand, Format, Tensor, choose};
/// # fn main() -> Result<(), lacunar::Error> {
/// // The matrix of a line of points.
/// let points: Vec<(u64, u64)> = (0..5000).flat_map(|i: u64| [i.saturating_sub(1), i, i + 1].map(|j| (i, j))).collect();
/// let (rows, columns): (Vec<u64>, Vec<u64>) = points.into_iter().filter(|(_, j)| *j < 5000).unzip();
/// let a = Tensor::from_triplets([5000, 5000], &rows, &columns, &vec![1.0; rows.len()], Format::csr())?;
/// assert_eq!(choose(a.as_dyn(), &Demand::of(1000))?.format(), &Format::dia());
/// // A single product does not pay for a conversion.
/// assert_eq!(choose(a.as_dyn(), &Demand::of(1))?.format(), &Format::csr());
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// The program of the demand has a mistake, or memory is refused.
pub fn choose(tensor: &DynTensor, demand: &Demand<'_>) -> Result<Choice, Error> {
    let walk = match &demand.needs {
        Some(needs) => walk(needs, &plain_format(tensor.dims(), tensor.nnz()))?,
        None => Walk::of_any(tensor.order()),
    };
    let mut candidates = match tensor.order() {
        2 => of_matrix(tensor, &walk, &demand.costs)?,
        _ => higher::candidates(tensor, &walk, &demand.costs)?,
    };
    // Blocks, diagonals and arrays cannot tell such entries from padding.
    let zeros = demand.exact && !tensor.format().is_dense() && tensor.stores_zeros();
    let told = zeros || tensor.dtype() == DType::Pattern || !tensor.fill().is_zero();
    if tensor.order() > 0 && told {
        candidates.retain(|one| one.format.tells_entries());
    }
    // Every element of an array is an entry.
    let places = tensor.dims().iter().try_fold(1u64, |places, size| places.checked_mul(*size));
    if demand.exact && !tensor.format().is_dense() && places != Some(tensor.count_entries()) {
        candidates.retain(|one| !one.format.is_dense());
    }
    rank(&mut candidates, demand.uses);
    let chosen = match &demand.needs {
        Some(needs) => walked::first_walked(needs, &walk, &candidates)?,
        None => 0,
    };
    candidates[..=chosen].rotate_right(1);
    Ok(Choice { candidates, uses: demand.uses, entries: tensor.nnz() })
}

/// The format without choice of a tensor with these sizes and so many entries: compressed rows (only those with entries, where most
/// have none), a tree of coordinates for other orders. [`choose`] looks at tensors in it without a conversion.
///
/// ```
/// use lacunar::{Format, plain_format};
/// assert_eq!(plain_format(&[100, 100], 500), Format::csr());
/// assert_eq!(plain_format(&[1_000_000, 100], 500), Format::dcsr());
/// assert_eq!(plain_format(&[100, 100, 100], 500), Format::csf(3));
/// ```
pub fn plain_format(dims: &[u64], entries: u64) -> Format {
    match dims {
        [] => Format::dense(0),
        [_] => Format::sv(),
        [rows, _] if *rows / EMPTY <= entries => Format::csr(),
        _ => Format::csf(dims.len()),
    }
}

/// Candidates for a matrix.
fn of_matrix(tensor: &DynTensor, walk: &Walk, costs: &Costs) -> Result<Vec<Candidate>, Error> {
    let modes = &walk.modes;
    let (rows, columns) = (tensor.dims()[modes[0]], tensor.dims()[modes[1]]);
    let wanted = plain_format(&[rows, columns], tensor.nnz()).with_mode_order(modes.clone())?;
    let converted;
    let listed = match Lists::of(tensor).filter(|_| tensor.format().mode_order() == modes) {
        Some(_) => tensor,
        None => {
            converted = tensor.convert(&wanted)?;
            &converted
        }
    };
    let lists = Lists::of(listed).ok_or_else(|| Error::Internal("a matrix has no list of rows".to_string()))?;
    let value = tensor.dtype().size() as u64;
    let (padded, narrow) = (walk.padded, walk.narrow);
    let mut found = Matrix { lists, rows, columns, value, padded, narrow, costs }.candidates()?;
    for one in &mut found {
        one.format = one.format.clone().with_mode_order(modes.clone())?;
    }
    Ok(found)
}

/// The costs on the machine that a program is compiled for, or on the one at hand; if the named one does not exist, which compiling
/// reports, those on any.
fn costs(options: Option<&Options>) -> Costs {
    let machine = options.map_or_else(|| machine(&Options::new()), machine);
    Costs::of(&machine.unwrap_or_else(|_| Arc::new(Machine::generic())))
}

/// The least time of all uses with the conversion first; compressed rows, which need none, unless something is clearly less.
fn rank(candidates: &mut [Candidate], uses: u64) {
    let judged = |one: &Candidate| {
        let total = one.nanoseconds * uses as f64 + one.convert;
        total * if one.convert == 0.0 { 1.0 - SAVING } else { 1.0 }
    };
    candidates.sort_by(|a, b| judged(a).total_cmp(&judged(b)));
}

/// A list of entries, stored as a specification says; where that is `auto`, with the choice.
///
/// # Errors
/// As [`choose`] and [`DynTensor::from_coo`]; the format does not fit.
pub fn store(coo: Coo, format: &FormatSpec, needs: Option<Needs<'_>>) -> Result<(DynTensor, Option<Choice>), Error> {
    match format.uses() {
        None => {
            let format = format.resolve(coo.dims.len())?;
            Ok((DynTensor::from_coo(coo, &format)?, None))
        }
        Some(_) => {
            let rows = plain_format(&coo.dims, coo.values.len() as u64);
            restore(DynTensor::from_coo(coo, &rows)?, format, needs)
        }
    }
}

/// A tensor, stored as a specification says; where that is `auto`, with the choice. Without a program, stored zeros stay entries.
///
/// ```
/// use lacunar::{Format, Tensor, restore};
/// # fn main() -> Result<(), lacunar::Error> {
/// let a = Tensor::from_slice(&[2, 2], &[1.0, 0.0, 0.0, 2.0])?;
/// let (stored, choice) = restore(a.into_dyn(), &Format::auto(), None)?;
/// assert_eq!(stored.format(), choice.expect("it was chosen").format());
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As [`choose`] and [`DynTensor::convert`]; the format does not fit.
pub fn restore(
    tensor: DynTensor,
    format: &FormatSpec,
    needs: Option<Needs<'_>>,
) -> Result<(DynTensor, Option<Choice>), Error> {
    let Some(uses) = format.uses() else {
        let format = format.resolve(tensor.order())?;
        return Ok((if *tensor.format() == format { tensor } else { tensor.convert(&format)? }, None));
    };
    let exact = needs.is_none();
    let costs = costs(needs.map(|needs| needs.options));
    let choice = choose(&tensor, &Demand { uses, needs, exact, costs })?;
    let stored = if tensor.format() == choice.format() { tensor } else { tensor.convert(choice.format())? };
    Ok((stored, Some(choice)))
}

/// The route of a tensor's entries to a format of a specification.
pub(crate) fn route(tensor: &DynTensor, format: &FormatSpec) -> Result<Route, Error> {
    let format = match format.uses() {
        Some(uses) => choose(tensor, &Demand::of(uses))?.format().clone(),
        None => format.resolve(tensor.order())?,
    };
    Ok(tensor.route(&format)?)
}

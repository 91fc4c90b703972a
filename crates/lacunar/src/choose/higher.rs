//! Candidates for tensors that are not matrices: trees of coordinates in the order of the loops, in index arrays as narrow as they
//! fit, under a dense level where most outermost coordinates are used; or all elements.
//!
//! ```text
//! order 0, 1     dense, or a list of coordinates
//! order 3, ...   csf, narrow; d above it if the outermost coordinates are used; dense if most places hold entries
//! ```

use lacunar_formats::{Format, IndexWidth, Level};
use lacunar_runtime::Tensor as DynTensor;

use super::Candidate;
use super::estimate::Costs;
use super::walked::Walk;
use crate::error::Error;

/// A dense outermost level has at most so many times the coordinates that are used.
const SPARE: u64 = 2;

/// Candidates for a tensor of another order than 2; the first is a tree of coordinates.
pub(super) fn candidates(tensor: &DynTensor, walk: &Walk, costs: &Costs) -> Result<Vec<Candidate>, Error> {
    let order = tensor.order();
    let places = tensor.dims().iter().fold(1.0, |product, size| product * *size as f64);
    let value = tensor.dtype().size() as f64;
    let (entries, bytes) = (tensor.nnz() as f64, places * value);
    let full = 100.0 * entries / places.max(1.0);
    let all = Candidate {
        format: Format::dense(order).with_mode_order(walk.modes.clone())?,
        bytes: bytes as u64,
        nanoseconds: costs.read(bytes).max(places * costs.place),
        convert: if order == 0 { 0.0 } else { places * costs.placed },
        why: format!("{full:.1}% of all places hold entries"),
        measured: None,
    };
    if order == 0 {
        return Ok(vec![all]);
    }
    let tree = Format::csf(order).with_mode_order(walk.modes.clone())?;
    let stored = if *tensor.format() == tree { None } else { Some(tensor.convert(&tree)?) };
    let counts = stored.as_ref().unwrap_or(tensor).level_counts();
    let mut found = vec![branches(&tree, tensor, &counts, costs)];
    found[0].convert = 0.0;
    let narrow = if walk.narrow { narrowed(tree.clone(), tensor.dims()) } else { tree.clone() };
    let outermost = walk.modes.first().map_or(0, |&mode| tensor.dims()[mode]);
    let mut others = if narrow == tree { Vec::new() } else { vec![narrow.clone()] };
    if order > 1 && counts.first().is_some_and(|used| outermost <= used.saturating_mul(SPARE)) {
        let mut levels = narrow.levels().to_vec();
        levels[0] = Level::DENSE;
        others.push(Format::new(levels, walk.modes.clone())?.with_widths_of(&narrow));
    }
    found.extend(others.iter().map(|format| branches(format, tensor, &counts, costs)));
    if walk.padded && all.nanoseconds <= found[0].nanoseconds {
        found.push(all);
    }
    Ok(found)
}

/// A tree of coordinates, of which each level has so many.
fn branches(format: &Format, tensor: &DynTensor, counts: &[u64], costs: &Costs) -> Candidate {
    let entries = counts.last().copied().unwrap_or(1) as f64;
    let mut bytes = entries * tensor.dtype().size() as f64;
    let mut above = 1.0;
    for (level, count) in counts.iter().enumerate() {
        let kind = format.levels()[level].kind;
        let size = tensor.dims()[format.mode_order()[level]];
        let here = if kind.has_coordinates() { *count as f64 } else { size as f64 };
        if kind.has_coordinates() {
            bytes += here * f64::from(format.coordinates(level).bits() / 8);
            bytes += (above + 1.0) * f64::from(format.positions(level).bits() / 8);
        }
        above = here;
    }
    let fibers = counts.iter().rev().nth(1).copied().unwrap_or(1);
    let nanoseconds = costs.read(bytes).max(entries * costs.entry) + fibers as f64 * (costs.row + costs.changed);
    let why = match format.order() {
        1 => format!("a list of {entries:.0} of {} elements", tensor.dims()[0]),
        _ => format!(
            "a tree of coordinates, {:.1} entries for each of the {fibers} before the last",
            entries / fibers.max(1) as f64
        ),
    };
    let convert = entries * costs.narrowed;
    Candidate { format: format.clone(), bytes: bytes as u64, nanoseconds, convert, why, measured: None }
}

/// Coordinates in 16 bits where they fit.
fn narrowed(format: Format, dims: &[u64]) -> Format {
    let order = format.order();
    (0..order).fold(format, |format, level| {
        let size = dims[format.mode_order()[level]];
        if size <= 1 << 16 { format.with_coordinates(level, IndexWidth::W16) } else { format }
    })
}

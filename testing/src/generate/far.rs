//! Programs over enormous spaces: a loop over all of one does not end, so that only those are run that visit stored coordinates alone.
//!
//! ```text
//! y(i) = A(i,j) * x(j), j of size 2^40      runs: A stores some coordinates
//! y(i) = A(i,j) + x(j), A with fill value 1 does not: every sum has 2^40 terms
//! ```

use lacunar_formats::Term;

use crate::sketch::{Sketch, Statement};

/// Variables of this size and above are in no tensor whose memory grows with its sizes.
pub(super) const FAR: u64 = 1 << 20;

/// True if a program over an enormous space ends, and no index in it exceeds 64 bits.
pub(super) fn can_be_run(sketch: &Sketch) -> bool {
    ends(sketch) && !has_diagonals(sketch) && has_small_places(sketch)
}

/// True if a tensor is stored by diagonals: of an enormous dimension there are too many for loops that visit each of them, as those
/// over a union with another tensor do.
fn has_diagonals(sketch: &Sketch) -> bool {
    let maps = sketch.tensors.iter().filter_map(|tensor| tensor.format.map());
    maps.flat_map(|map| map.terms()).any(|term| matches!(term, Term::Difference(..)))
}

/// True if some variable has more values than memory has bytes.
pub(super) fn is_far(sizes: &[u64]) -> bool {
    sizes.iter().any(|&size| size >= FAR)
}

/// True if a program over an enormous space visits stored coordinates only, whatever they are: coordinates that no
/// tensor stores have nothing, even if all that is stored elsewhere is full. The oracle decides it, but for sums of fill values, which
/// are computed wherever they are, though they may come to the fill value of the result.
fn ends(sketch: &Sketch) -> bool {
    if sketch.tensors.iter().any(|tensor| tensor.fill.is_some()) && sums(sketch).next().is_some() {
        return false;
    }
    let filled = |far: f64| {
        let mut full = sketch.clone();
        for tensor in &mut full.tensors {
            tensor.density = if is_far(&tensor.dims) { far } else { 1.0 };
        }
        full
    };
    let ends = |sketch: &Sketch| sketch.instance().is_ok_and(|instance| instance.evaluated().is_ok());
    ends(sketch) && ends(&filled(0.0)) && ends(&filled(1.0))
}

/// True if a program over an enormous space ends strictly, too. Factors stay outside of sums then, so that a sum is computed wherever its
/// terms have values, though an absent factor may leave nothing of it.
pub(super) fn ends_strictly(sketch: &Sketch) -> bool {
    sums(sketch).all(|statement| statement.rhs.keeps_zero())
}

/// The statements that sum over variables.
fn sums(sketch: &Sketch) -> impl Iterator<Item = &Statement> {
    let is_summed = |own: &Statement, var: &usize| !own.vars.contains(var);
    sketch.statements.iter().filter(move |own| own.rhs.vars().iter().any(|var| is_summed(own, var)))
}

/// True if sums and differences of indices stay below 2^62, as they have to.
fn has_small_places(sketch: &Sketch) -> bool {
    let is_small = sketch.sizes.iter().all(|size| *size < 1 << 61);
    is_small || sketch.statements.iter().all(|statement| !statement.rhs.has_places())
}

//! Facts about coordinates that follow from the unique elements of a tensor, where these alone are stored.
//!
//! ```text
//! A symmetric, i <= j stored      under a row i: j < i of no entry, j <= i of one at most
//! ```
//!
//! On entry: a kernel in which a tensor is [unique](lacunar_notation::Tensor::is_unique). The caller of the kernel has compared the
//! stored values with the structure. Each fact is a set of points that is empty, for all sizes; a fact that cannot be decided is dropped.

use lacunar_formats::Level;
use lacunar_notation::VarId;
use lacunar_notation::concrete::Kernel;
use lacunar_sets::{Affine, Piece};

use crate::comparisons::Sum;
use crate::iterate::iterators::{AccessKey, level_var};

/// The pieces of the elements of an access that are stored, if its tensor's unique elements alone are, and coordinates of `var` are those of a
/// compressed level without repetitions, the innermost: others may have places for elements that are not there, as may levels below.
fn stored<'k>(kernel: &'k Kernel, access: &AccessKey, var: VarId) -> Option<&'k [Piece]> {
    let tensor = &kernel.tensors[access.tensor];
    let structure = tensor.structure.as_deref().filter(|_| tensor.is_unique)?;
    let number = (0..access.vars.len()).find(|number| level_var(kernel, access, *number) == var)?;
    let levels = tensor.format.levels();
    let is_list = levels[number] == Level::COMPRESSED && number + 1 == levels.len();
    is_list.then(|| structure.unique().pieces())
}

/// True if a sum is at least 0 of all stored elements of an access, `var` being a coordinate of them.
pub(super) fn is_everywhere(kernel: &Kernel, access: &AccessKey, var: VarId, sum: &Sum) -> bool {
    let fails = |piece: &Piece| {
        let place = |own: VarId| access.vars.iter().position(|&each| each == own).map(|dim| piece.column(dim));
        let mut part = piece.clone();
        part.at_least(sum.over(place)?.negated()?.shifted(-1)?);
        Some(part)
    };
    stored(kernel, access, var).is_some_and(|pieces| pieces.iter().all(|piece| fails(piece).is_some_and(is_empty)))
}

/// True if a sum is negative of one coordinate of `var` at most, wherever the levels above are.
pub(super) fn fails_once(kernel: &Kernel, access: &AccessKey, var: VarId, sum: &Sum) -> bool {
    stored(kernel, access, var).is_some_and(|pieces| {
        let mut pairs = pieces.iter().flat_map(|a| pieces.iter().map(move |b| (a, b)));
        pairs.all(|pair| both_fail(&access.vars, var, pair, sum).is_some_and(is_empty))
    })
}

fn is_empty(piece: Piece) -> bool {
    piece.tidied().is_none_or(|piece| piece.is_empty().is_yes())
}

/// The points of a piece of which a sum is negative, beside a greater coordinate of `var`, with which they are points of another piece and
/// the sum is negative as well.
fn both_fail(vars: &[VarId], var: VarId, (first, second): (&Piece, &Piece), sum: &Sum) -> Option<Piece> {
    let (params, order) = (first.params(), first.dims());
    let other = params + order;
    let column = |dim: usize, own: VarId, is_second: bool| if is_second && own == var { other } else { params + dim };
    let columns = |is_second: bool| {
        let of_dims = vars.iter().enumerate().map(move |(dim, &own)| column(dim, own, is_second));
        (0..params).chain(of_dims).map(Affine::variable).collect::<Vec<Affine>>()
    };
    let place = |is_second: bool| {
        move |own: VarId| vars.iter().position(|&each| each == own).map(|dim| column(dim, own, is_second))
    };
    let mut both = first.pulled(&Piece::universe(params, order + 1), &columns(false))?;
    both = second.pulled(&both, &columns(true))?;
    for is_second in [false, true] {
        both.at_least(sum.over(place(is_second))?.negated()?.shifted(-1)?);
    }
    let own = Affine::variable(place(false)(var)?);
    both.at_least(Affine::variable(other).minus(&own)?.shifted(-1)?);
    Some(both)
}

#[cfg(test)]
mod tests {
    use lacunar_base::Handle;
    use lacunar_sets::Set;

    use super::{Sum, VarId, both_fail, is_empty};

    /// True if `j - i - least` is negative of one `j` at most of each row of a set of points `[i, j]`.
    fn fails_once(set: &str, least: i64) -> Option<bool> {
        let set: Set = set.parse().ok()?;
        let [i, j] = [0, 1].map(|number| -> VarId { Handle::from_index(number) });
        let mut sum = Sum::number(-least);
        sum.add_term(j, 1)?;
        sum.add_term(i, -1)?;
        let mut pairs = set.pieces().iter().flat_map(|a| set.pieces().iter().map(move |b| (a, b)));
        Some(pairs.all(|pair| both_fail(&[i, j], j, pair, &sum).is_some_and(is_empty)))
    }

    #[test]
    fn one_element_of_an_upper_row_is_not_behind_the_diagonal() {
        let upper = "[n] -> { [i, j] : 0 <= i <= j < n }";
        assert_eq!([0, 1, 2].map(|least| fails_once(upper, least)), [Some(true), Some(true), Some(false)]);
        let pieces = "[n] -> { [i, j] : 0 <= i < j < n or 0 <= i < n and j = i - 1 or 0 <= i < n and j = i - 3 }";
        assert_eq!([1, -1].map(|least| fails_once(pieces, least)), [Some(false), Some(true)]);
    }
}

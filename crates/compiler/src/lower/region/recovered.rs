//! Stored dimensions: their sizes, and the bounds of loops whose variables others are recovered from.
//!
//! ```text
//! i = 4 i0 + i1, of size n:       for i0 in 0 .. ceil(n / 4)      for i1 in 0 .. min(4, n - 4 i0)
//! j = k + i - (m - 1), of size n:  for k in 0 .. m + n - 1         for i in max(0, m - 1 - k) .. min(m, n + m - 1 - k)
//! ```
//!
//! The last of the loops over a recovered variable's terms visits only values with which it is one of the dimension's coordinates.
//! Loops over every coordinate need that; entries in sparse levels have such coordinates anyway. There are as many ranks as
//! coordinates: they are confined alike.
//!
//! On entry: a kernel over stored dimensions (`plan/maps.rs`). Papers: Chou et al. 2018, Figure 5 (range and offset levels of
//! diagonals); Senanayake et al. 2020, §6.2 (bounds).

use lacunar_base::Diagnostic;
use lacunar_imp::{BinaryOp, Builder, CompareOp, ExprId};
use lacunar_notation::concrete::Kernel;
use lacunar_notation::stored::{Recovered, StoredSize};
use lacunar_notation::{TensorId, VarId};

use super::Restriction;
use crate::iterate::lattice::Lattice;
use crate::lower::derive::coordinate;
use crate::lower::scope::{Fact, Interval, Scope};
use crate::lower::sizes::ceil_div;
use crate::lower::{Lowerer, SPECIALIZED_SIZE};

/// Variables with those whose sizes tell about them.
pub(in crate::lower) fn with_sources(kernel: &Kernel, mut vars: Vec<VarId>) -> Vec<VarId> {
    let mut next = 0;
    while let Some(&var) = vars.get(next) {
        next += 1;
        let sources = match kernel.stored.size(var) {
            Some(StoredSize::Blocks(of, _)) => vec![of],
            Some(StoredSize::Diagonals(a, b)) => vec![a, b],
            Some(StoredSize::Inside(_) | StoredSize::Slots(..)) | None => Vec::new(),
        };
        let recovered = kernel.stored.recovered_from(var).flat_map(|recovered| [Some(recovered.var), recovered.less]);
        for source in sources.into_iter().chain(recovered.flatten()) {
            if !vars.contains(&source) {
                vars.push(source);
            }
        }
    }
    vars
}

/// The size of a variable of a stored dimension, where it follows from those of variables made before it.
pub(in crate::lower) fn stored_size(b: &mut Builder, kernel: &Kernel, var: VarId, sizes: &[ExprId]) -> Option<ExprId> {
    let one = b.int(1);
    Some(match kernel.stored.size(var)? {
        StoredSize::Blocks(of, block) => {
            let block = b.int(i64::from(block));
            ceil_div(b, sizes[of.index()], block)
        }
        StoredSize::Inside(block) => b.int(i64::from(block)),
        StoredSize::Diagonals(of, other) => {
            let (of, other, zero) = (sizes[of.index()], sizes[other.index()], b.int(0));
            let sum = b.add(of, other);
            let diagonals = b.sub(sum, one);
            let smaller = b.binary(BinaryOp::Min, of, other);
            let some = b.compare(CompareOp::Gt, smaller, zero);
            b.select(some, diagonals, zero)
        }
        StoredSize::Slots(..) => return None,
    })
}

/// A block that lies inside of its dimension where a condition holds.
pub(in crate::lower) struct WholeBlock {
    pub var: VarId,
    pub cond: ExprId,
}

/// Restricts a value that is recovered from a variable to the coordinates of its dimension.
pub(in crate::lower) struct InsideDimension;

impl Restriction for InsideDimension {
    fn confine(
        &self,
        cx: &mut Lowerer<'_>,
        var: VarId,
        _lattice: &Lattice,
        scope: &mut Scope,
    ) -> Result<(), Diagnostic> {
        let kernel = cx.kernel;
        for recovered in kernel.stored.recovered_from(var) {
            if is_last_of(kernel, recovered, var, &scope.bound())
                && !fills_blocks(kernel, recovered)
                && !scope.is_whole_block(recovered.var)
            {
                let interval = inside(cx, recovered, var, scope)?;
                scope.know(Fact::Region(var, interval));
            }
        }
        Ok(())
    }

    /// All that lies in the dimension is visited.
    fn leaves_out(&self, _kernel: &Kernel, _var: VarId) -> bool {
        false
    }
}

/// The values of a variable, within its region, with which the variable recovered from it is a coordinate of its dimension, if the
/// others that it is recovered from have values.
fn inside(cx: &mut Lowerer<'_>, recovered: &Recovered, var: VarId, scope: &Scope) -> Result<Interval, Diagnostic> {
    let whole = (cx.b.int(0), cx.size(var));
    let (mut low, mut high): Interval = scope.region(var).unwrap_or(whole);
    let mut rest = match recovered.less {
        Some(less) => {
            let one = cx.b.int(1);
            cx.b.sub(one, cx.size(less))
        }
        None => cx.b.int(0),
    };
    for &(term, factor) in recovered.terms.iter().filter(|(term, _)| *term != var) {
        let value = coordinate(cx, term, scope)?;
        let factor = cx.b.int(i64::from(factor));
        let part = cx.b.mul(value, factor);
        rest = cx.b.add(rest, part);
    }
    let factor = recovered.terms.iter().find(|(term, _)| *term == var).map_or(1, |(_, factor)| *factor);
    let (zero, factor) = (cx.b.int(0), cx.b.int(i64::from(factor)));
    let left = cx.b.sub(cx.size(recovered.var), rest);
    let left = cx.b.binary(BinaryOp::Max, left, zero);
    let end = ceil_div(&mut cx.b, left, factor);
    high = cx.b.binary(BinaryOp::Min, high, end);
    if recovered.less.is_some() {
        let missing = cx.b.sub(zero, rest);
        low = cx.b.binary(BinaryOp::Max, low, missing);
    }
    let name = cx.var_name(var);
    Ok((cx.b.define(&format!("{name}_low"), low), cx.b.define(&format!("{name}_high"), high)))
}

/// True if a loop over a variable is confined to the inside of dimensions, when the variables `bound` have values.
pub(in crate::lower) fn is_confined(kernel: &Kernel, var: VarId, bound: &[VarId]) -> bool {
    kernel.stored.recovered_from(var).any(|recovered| is_last_of(kernel, recovered, var, bound))
}

/// True if all variables that another one is recovered from have values, but for one.
fn is_last_of(kernel: &Kernel, recovered: &Recovered, var: VarId, bound: &[VarId]) -> bool {
    let mut others = recovered.terms.iter().filter(|(term, _)| *term != var);
    others.all(|(term, _)| kernel.provenance.is_known(*term, bound))
}

/// The condition under which a whole block lies inside of its dimension, when the block's number is known and the place inside it
/// is not. Its loops then have constant bounds, and only the last block has others:
///
/// ```text
/// if i0 < n / 4 { for i1 in 0 .. 4 { .. } } else { for i1 in 0 .. n - 4 i0 { .. } }
/// ```
pub(in crate::lower) fn is_whole_block(
    cx: &mut Lowerer<'_>,
    var: VarId,
    scope: &Scope,
) -> Result<Option<WholeBlock>, Diagnostic> {
    let kernel = cx.kernel;
    if scope.is_last_block() || kernel.stored.recovered_from(var).next().is_none() {
        return Ok(None);
    }
    let bound = scope.bound();
    let mut blocks = kernel.stored.recovered_from(var).filter(|recovered| {
        let inner = recovered.terms.iter().find(|(term, _)| *term != var);
        let size = inner.and_then(|(inner, _)| kernel.vars[*inner].size);
        recovered.less.is_none()
            && size.is_some_and(|size| size <= SPECIALIZED_SIZE)
            && inner.is_some_and(|(inner, factor)| *factor == 1 && !kernel.provenance.is_known(*inner, &bound))
            && !scope.is_whole_block(recovered.var)
    });
    let Some(recovered) = blocks.next().filter(|recovered| !fills_blocks(kernel, recovered)) else {
        return Ok(None);
    };
    let block = recovered.terms.iter().map(|(_, factor)| i64::from(*factor)).max().unwrap_or(1);
    let (number, block) = (coordinate(cx, var, scope)?, cx.b.int(block));
    let whole = cx.b.binary(BinaryOp::Div, cx.size(recovered.var), block);
    let cond = cx.b.compare(CompareOp::Lt, number, whole);
    Ok(Some(WholeBlock { var: recovered.var, cond }))
}

/// True if the storage of a tensor under values of some variables has places that loops do not come to, as they lie outside of a
/// dimension: behind the last block, or at the ends of diagonals.
pub(in crate::lower) fn has_outside_places(kernel: &Kernel, tensor: TensorId, vars: &[VarId], scope: &Scope) -> bool {
    let view = kernel.tensors[tensor].view.as_ref();
    view.is_some_and(|view| view.format.map().is_some())
        && kernel.stored.recovered.iter().any(|recovered| {
            recovered.terms.iter().any(|(term, _)| vars.contains(term))
                && !fills_blocks(kernel, recovered)
                && !scope.is_whole_block(recovered.var)
        })
}

/// True if a dimension is known to be made of whole blocks.
fn fills_blocks(kernel: &Kernel, recovered: &Recovered) -> bool {
    let size = kernel.vars[recovered.var].size;
    let block = recovered.terms.iter().map(|(_, factor)| u64::from(*factor)).max().unwrap_or(1);
    recovered.less.is_none() && size.is_some_and(|size| size % block == 0)
}

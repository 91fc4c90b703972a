//! Sizes of dimensions in indices: `size(A, 0)` is the number of rows of `A`.
//!
//! ```text
//! C(i + size(A, 0), j) += B(i,j)      A: 3 x 4      C(i + 3, j) += B(i,j)
//! ```
//!
//! The tensor is one whose sizes are declared, or given with its values. In an index, `size` is this word; `size[A]` is an element of a
//! tensor.

use crate::einsum::ast::{Callee, Expr, ExprKind, Number};
use crate::einsum::declarations::Declarations;
use crate::einsum::error::{AccessMistake, Error, SizeMistake};

/// The word.
pub(in crate::einsum::check) const SIZE: &str = "size";

/// An index with a number in the place of each size of a dimension: any, if nothing is to be known of sizes.
///
/// # Errors
/// A size that is not known, or of another form.
pub(super) fn numbered(index: &Expr, declarations: Option<&Declarations>) -> Result<Expr, Error> {
    let kind = match &index.kind {
        ExprKind::Apply { name, args, callee: Callee::Named } if name.text == SIZE => {
            ExprKind::Number(Number::Int(extent(index, args, declarations)?))
        }
        ExprKind::Apply { name, args, callee } => {
            let args = args.iter().map(|arg| numbered(arg, declarations)).collect::<Result<Vec<_>, _>>()?;
            ExprKind::Apply { name: name.clone(), args, callee: *callee }
        }
        ExprKind::List { values, index: Some(place) } => {
            let index = Some(Box::new(numbered(place, declarations)?));
            ExprKind::List { values: values.clone(), index }
        }
        ExprKind::Neg(a) => ExprKind::Neg(Box::new(numbered(a, declarations)?)),
        ExprKind::Binary(op, a, b) => {
            let (a, b) = (numbered(a, declarations)?, numbered(b, declarations)?);
            ExprKind::Binary(*op, Box::new(a), Box::new(b))
        }
        kind => kind.clone(),
    };
    Ok(Expr { kind, ..index.clone() })
}

/// The size that the arguments of `size` name.
fn extent(of: &Expr, args: &[Expr], declarations: Option<&Declarations>) -> Result<u64, Error> {
    let span = of.span;
    let (tensor, dimension) = match args {
        [tensor, dimension] => match (&tensor.kind, &dimension.kind) {
            (ExprKind::Name(tensor), ExprKind::Number(Number::Int(dimension))) => (tensor, *dimension),
            _ => return Err(AccessMistake::Extent { span }.into()),
        },
        _ => return Err(AccessMistake::Extent { span }.into()),
    };
    let Some(declarations) = declarations else { return Ok(1) };
    let one = declarations.sizes.get(tensor).map(std::slice::from_ref);
    let Some(dims) = declarations.dims.get(tensor).map(Vec::as_slice).or(one) else {
        return Err(SizeMistake::UnknownExtent { name: tensor.clone(), span }.into());
    };
    let known = usize::try_from(dimension).ok().and_then(|dimension| dims.get(dimension)).copied();
    known.ok_or_else(|| {
        let (name, order) = (tensor.clone(), dims.len());
        SizeMistake::NoDimension { name, span, dimension, order }.into()
    })
}

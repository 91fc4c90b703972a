//! Structures in products: a tensor is read where it may be other than 0.
//!
//! A product with an element that is 0 is 0, and adds nothing to a sum. So the conditions under which a tensor's elements may be others are
//! [patterns](crate::comparisons) beside the tensor, and confine the loops over it as any sparse operand does:
//!
//! ```text
//! y(i) = A(i,j) * x(j)         A lower:           y(i) = [i - j >= 0] * A(i,j) * x(j)         for j in 0 .. i + 1
//! C(i,j) = A(i,k) * B(k,j)     B banded(1,1):     C(i,j) = A(i,k) * [..] * [..] * B(k,j)      for k in j - 1 .. j + 2
//! ```
//!
//! Only tensors without gaps need that: other tensors do not store zeros. Conditions that are no patterns, for example that a sum of
//! coordinates is even, leave nothing out; nor do conditions that differ between the parts of a support. Both are sound: the elements
//! there are 0.
//!
//! On entry: an expression of a program whose tensors have structures. On exit: the same values, for tensors that have these structures.
//! Paper: Ghorbani et al. 2023, §5.5: sets as bounds of loops.

use lacunar_formats::DType;
use lacunar_notation::structure::bounds;
use lacunar_notation::{
    Access, AssignOp, Assignment, BinaryFn, Expr, ExprKind, Monoid, Program, Role, Structure, UnaryFn, VarId,
};
use lacunar_sets::{Constraint, Piece, Relation, Set};

use crate::comparisons::{Patterns, Sum};

/// A statement's expression with patterns beside the tensors in its products.
pub(crate) fn confined(program: &mut Program, patterns: &mut Patterns, statement: &Assignment, rhs: Expr) -> Expr {
    if !program.tensors.iter().any(|(_, tensor)| tensor.structure.is_some()) {
        return rhs;
    }
    let leaves = match statement.op {
        AssignOp::Set => true,
        AssignOp::Reduce(monoid) => leaves_out_zeros(monoid, rhs.dtype),
    };
    let mut confine = Confine { program, patterns, is_mirrored: false };
    if leaves { confine.terms(rhs, &statement.lhs.vars, true) } else { confine.term(rhs, false) }
}

/// True if a reduction is the same without elements that are 0.
fn leaves_out_zeros(monoid: Monoid, dtype: DType) -> bool {
    monoid.compared().is_none() && monoid.identity(dtype).is_some_and(|identity| identity.is_zero())
}

struct Confine<'p> {
    program: &'p mut Program,
    patterns: &'p mut Patterns,
    /// True if some tensor of the product is read by its unique elements. Only its own patterns are those of the stored elements:
    /// beside the product of an element that follows, other tensors are read at other coordinates.
    is_mirrored: bool,
}

impl Confine<'_> {
    /// The terms of a statement, over each of which the variables that the result has not are summed. Beside other terms, one without a
    /// sum stays as it is, if it reads all of its operands' elements: it would be merged with them.
    fn terms(&mut self, expr: Expr, kept: &[VarId], is_alone: bool) -> Expr {
        match &expr.kind {
            ExprKind::Binary(BinaryFn::Add | BinaryFn::Sub, ..) => {
                expr.map_children(&mut |child| self.terms(child, kept, false))
            }
            ExprKind::Unary(UnaryFn::Neg, _) => expr.map_children(&mut |child| self.terms(child, kept, is_alone)),
            _ => {
                let is_summed = expr.free_vars().iter().any(|var| !kept.contains(var));
                // Elements that follow from unique ones are no zeros: what stands in their places is no summand.
                let is_unique = expr.accesses().iter().any(|access| self.program.tensors[access.tensor].is_unique);
                self.term(expr, is_alone || is_summed || is_unique)
            }
        }
    }

    /// A term, or an expression that is none.
    fn term(&mut self, expr: Expr, leaves: bool) -> Expr {
        self.is_mirrored = expr.accesses().iter().any(|access| self.program.tensors[access.tensor].is_unique);
        self.expression(expr, leaves)
    }

    /// An expression; `leaves` says that it is 0 where it is absent, and adds nothing then.
    fn expression(&mut self, expr: Expr, leaves: bool) -> Expr {
        match &expr.kind {
            ExprKind::Access(access) if leaves && !expr.dtype.is_storage() => {
                let access = access.clone();
                self.access(&access, expr)
            }
            // Nothing is computed in types for storage.
            ExprKind::Cast(element) if leaves && element.dtype.is_storage() => match &element.kind {
                ExprKind::Access(access) => {
                    let access = access.clone();
                    self.access(&access, expr)
                }
                _ => expr,
            },
            // Whole tensors in quotients are read where they are 0, too.
            ExprKind::Binary(BinaryFn::Div, ..) if self.is_mirrored => {
                let mut is_dividend = true;
                expr.map_children(&mut |child| self.expression(child, std::mem::take(&mut is_dividend) && leaves))
            }
            ExprKind::Binary(BinaryFn::Mul | BinaryFn::And, ..)
            | ExprKind::Unary(UnaryFn::Neg, _)
            | ExprKind::Cast(_) => expr.map_children(&mut |child| self.expression(child, leaves)),
            ExprKind::Reduce(monoid, ..) => {
                let leaves = leaves_out_zeros(*monoid, expr.dtype);
                expr.map_children(&mut |child| self.expression(child, leaves))
            }
            _ => expr.map_children(&mut |child| self.expression(child, false)),
        }
    }

    /// An element with the patterns of its tensor's structure.
    fn access(&mut self, access: &Access, element: Expr) -> Expr {
        let tensor = &self.program.tensors[access.tensor];
        let is_left = self.is_mirrored && !tensor.is_unique;
        let is_whole = tensor.role == Role::Input && tensor.format.is_dense() && !is_left;
        let Some(structure) = tensor.structure.as_deref().filter(|_| is_whole) else { return element };
        let stored = if tensor.is_unique { Some(structure.unique().clone()) } else { structure.support() };
        let sums: Vec<(Sum, bool)> = conditions(structure, stored)
            .into_iter()
            .filter_map(|condition| {
                Some((sum_of(&condition, &tensor.dims, access)?, condition.relation == Relation::Equal))
            })
            .collect();
        let product = if element.dtype == DType::Bool { BinaryFn::And } else { BinaryFn::Mul };
        sums.into_iter().fold(element, |product_so_far, (sum, is_equation)| {
            match self.patterns.where_sum(self.program, sum, is_equation, &product_so_far) {
                Some(pattern) => {
                    let dtype = product_so_far.dtype;
                    Expr::binary(product, pattern, product_so_far, dtype)
                }
                None => product_so_far,
            }
        })
    }
}

/// The conditions that hold of all stored elements that may be other than 0, besides those of the tensor's box, without divisions.
fn conditions(structure: &Structure, stored: Option<Set>) -> Vec<Constraint> {
    let context = bounds(structure.space(), structure.context());
    let Some((support, context)) = stored.map(|stored| stored.coalesced().simplified()).zip(context) else {
        return Vec::new();
    };
    let ([first, rest @ ..], [context]) = (support.pieces(), context.pieces()) else { return Vec::new() };
    let mut common = Piece::universe(first.params(), first.dims());
    for constraint in first.constraints().filter(|constraint| constraint.form.factors().len() <= first.outer()) {
        let is_common = rest.iter().all(|piece| {
            let only = Set::of_piece(structure.space().clone(), piece.clone());
            let mut half = Piece::universe(first.params(), first.dims());
            half.constrain(constraint.clone());
            only.is_subset(&Set::of_piece(structure.space().clone(), half)).is_yes()
        });
        if is_common {
            common.constrain(constraint);
        }
    }
    common.gist(context).constraints().collect()
}

/// The sum that a condition compares with 0, of the variables of an access to a tensor of these sizes. `None` if it needs a size that is not
/// known.
fn sum_of(condition: &Constraint, dims: &[Option<u64>], access: &Access) -> Option<Sum> {
    let mut sum = Sum::number(condition.form.offset());
    for (column, factor) in condition.form.terms() {
        match column.checked_sub(dims.len()) {
            Some(dim) => sum.add_term(*access.vars.get(dim)?, factor)?,
            None => {
                let size = i64::try_from((*dims.get(column)?)?).ok()?;
                sum.add_number(size.checked_mul(factor)?)?;
            }
        }
    }
    Some(sum)
}

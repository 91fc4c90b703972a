//! Statements that only store a tensor otherwise: conversions, for which no kernel is run.
//!
//! ```text
//! B(j,i) = A(i,j)      A: csr, B: csr      A is converted to csc, whose arrays are those of B
//! ```
//!
//! Demands: one operand of the result's type and fill value and with the same variables, none of them twice, and a sparse result.
//! As in any conversion, values that cannot be told from padding (the zeros of dense levels and of blocks) are left out. Paper:
//! Chou, Kjolstad and Amarasinghe 2020, §2, treat conversion as such a statement.

use lacunar_formats::Format;
use lacunar_notation::{AssignOp, Assignment, ExprKind, Program, Role, TensorId};

/// A result that is an operand stored otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    /// The operand.
    pub source: TensorId,
    /// The format to store the operand in.
    pub format: Format,
    /// The operand's mode for each mode of the result.
    pub modes: Vec<usize>,
}

/// The copy that a statement makes, if it only stores an operand otherwise.
pub(super) fn copied(program: &Program, statement: &Assignment) -> Option<Copied> {
    let (lhs, ExprKind::Access(rhs)) = (&statement.lhs, &statement.rhs.kind) else { return None };
    let (result, source) = (&program.tensors[lhs.tensor], &program.tensors[rhs.tensor]);
    let fits = statement.op == AssignOp::Set
        && lhs.tensor != rhs.tensor
        && source.role != Role::Index
        && result.dtype == source.dtype
        && result.fill() == source.fill()
        && !result.format.is_dense();
    let place = |var| rhs.vars.iter().position(|other| *other == var);
    let modes: Vec<usize> = lhs.vars.iter().map(|var| place(*var)).collect::<Option<_>>()?;
    let mut seen = modes.clone();
    seen.sort_unstable();
    if !fits || !seen.into_iter().eq(0..rhs.vars.len()) {
        return None;
    }
    let format = result.format.clone().with_dimensions(&modes).ok()?;
    Some(Copied { source: rhs.tensor, format, modes })
}

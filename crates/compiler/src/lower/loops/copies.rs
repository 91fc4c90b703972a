//! Copies of loop bodies: one for each case of a loop, and of those around it. Their number is bounded.

use lacunar_notation::concrete::Stmt;

use crate::iterate::lattice::Lattice;
use crate::lower::scope::{Fact, Scope};
use crate::lower::strategy::copies_of;

/// The most copies of loops and assignments that loops around them may make, one for each case of each: with more, a loop tests its
/// operands instead.
pub(super) const MOST_COPIES: u64 = 500;

/// The number of operands that an assignment has without counting as several.
const OPERANDS: usize = 3;

/// The lattice of a loop around a body, and the most copies that this loop and those around it make of the body. The lattice is coarsened
/// if its cases would make too many.
pub(super) fn with_few(lattice: Lattice, body: &Stmt, scope: &Scope) -> (Lattice, u64) {
    let around = self::around(scope);
    let copies = |lattice: &Lattice| around.saturating_mul(copies_of(lattice, body));
    let are_many = copies(&lattice).saturating_mul(size_of(body)) > MOST_COPIES;
    let lattice = if are_many && lattice.points.len() > 1 { lattice.coarsened() } else { lattice };
    let all = copies(&lattice);
    (lattice, all)
}

/// The number of loops that a workspace counts as: code clears it, sorts its list and visits its entries.
const WORKSPACE: u64 = 8;

/// The most copies that the loops around a place make of their body.
pub(super) fn around(scope: &Scope) -> u64 {
    let told = |fact: &Fact| if let Fact::Copies(copies) = fact { Some(*copies) } else { None };
    scope.facts().find_map(told).unwrap_or(1)
}

/// The number of loops and assignments in a statement. A long assignment counts as several, a workspace as [`WORKSPACE`].
pub(super) fn size_of(stmt: &Stmt) -> u64 {
    match stmt {
        Stmt::Assign(assign) => assign.rhs.accesses().len().div_ceil(OPERANDS).max(1) as u64,
        Stmt::Forall(_, body) => 1 + size_of(body),
        Stmt::Where { consumer, producer } => WORKSPACE + size_of(consumer) + size_of(producer),
        Stmt::Sequence(stmts) => stmts.iter().map(size_of).sum(),
    }
}

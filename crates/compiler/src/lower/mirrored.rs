//! Results whose places are those of the elements of a packed operand, and of the elements that follow from these: each is set once.
//!
//! ```text
//! C(i,j) = A(i,j) * x(j)      A: packed(symmetric), read once:   C(i,j) += A(i,j) * x(j)                    i <= j
//!                                                                C(j,i) += select(j > i, A(i,j) * x(i), 0)  i < j
//! ```
//!
//! Integer sets say that no place is among those of two assignments, and that together they are all of them. An assignment under a
//! condition is carried out only if it holds then, as there is nothing to be added to.
//!
//! On entry: a kernel whose loops are over the variables of the result alone.

use lacunar_formats::structure::bounds;
use lacunar_notation::concrete::{Assign, Kernel, Stmt};
use lacunar_notation::{Access, BinaryFn, Expr, ExprKind, VarId};
use lacunar_sets::{Affine, Answer, Piece, Set};

use super::{once, region};
use crate::comparisons::compared;
use crate::iterate::iterators::AccessKey;
use crate::iterate::lattice::Lattice;
use crate::iterate::position_space::{original_loops, replaced_by};
use crate::iterate::races::combines_nothing;

/// The most assignments: each is compared with each other one.
const MOST: usize = 6;

/// True if the assignments of a kernel go to each place of its result once together, where their conditions hold.
pub(super) fn writes_once(kernel: &Kernel, result: &AccessKey) -> bool {
    let mut nests = Vec::new();
    if !collect(&kernel.stmt, &mut Vec::new(), &mut nests) {
        return false;
    }
    let assigns: Vec<&Assign> = nests.iter().map(|(_, assign)| *assign).collect();
    let Some(source) = assigns.first().and_then(|assign| source(kernel, assign)) else { return false };
    let fits = |assign: &&Assign| {
        assign.lhs.tensor == result.tensor
            && assign.op.monoid().is_none_or(|monoid| monoid.compared().is_none())
            && assign.rhs.accesses().contains(&source)
    };
    (2..=MOST).contains(&assigns.len())
        && assigns.iter().all(fits)
        && !once::has_copies(kernel)
        && nests.iter().all(|(loops, assign)| goes_through(kernel, source, loops, assign))
        && covers(kernel, source, &assigns).unwrap_or(false)
}

/// Collects the assignments of a statement, each with the loops around it; false if there are workspaces.
fn collect<'s>(stmt: &'s Stmt, around: &mut Vec<VarId>, found: &mut Vec<(Vec<VarId>, &'s Assign)>) -> bool {
    match stmt {
        Stmt::Assign(assign) => {
            found.push((around.clone(), assign));
            true
        }
        Stmt::Forall(var, body) => {
            around.push(*var);
            let is_plain = collect(body, around, found);
            around.pop();
            is_plain
        }
        Stmt::Sequence(stmts) => stmts.iter().all(|stmt| collect(stmt, around, found)),
        Stmt::Where { .. } => false,
    }
}

/// The packed operand of an assignment that stores unique elements alone.
fn source<'k>(kernel: &Kernel, assign: &'k Assign) -> Option<&'k Access> {
    assign.rhs.accesses().into_iter().find(|access| {
        let tensor = &kernel.tensors[access.tensor];
        tensor.is_unique && tensor.format.packing().is_some()
    })
}

/// True if loops come to each element of an operand, once, and to nothing else. The elements of an operand that is an array are those where
/// conditions hold ([`elements`]).
fn goes_through(kernel: &Kernel, source: &Access, loops: &[VarId], assign: &Assign) -> bool {
    let (nest, key) = (Stmt::foralls(loops, Stmt::Assign(assign.clone())), AccessKey::from(source));
    let loops = original_loops(kernel, &nest);
    let (mut stmt, mut met) = (&loops, Vec::new());
    while let Stmt::Forall(var, body) = stmt {
        let is_led = Lattice::build(kernel, body, *var).is_ok_and(|lattice| {
            let mut iterators = lattice.iterators.iter().chain(&lattice.confining);
            let leads = |access: &AccessKey| *access == key || kernel.tensors[access.tensor].indicator.is_some();
            lattice.points.len() == 1 && iterators.all(|iterator| leads(&iterator.access))
        });
        if !is_led || met.contains(var) || replaced_by(kernel, *var).is_some() || region::leaves_out(kernel, *var) {
            return false;
        }
        met.push(*var);
        stmt = body;
    }
    met.len() == source.vars.len() && source.vars.iter().all(|var| met.contains(var))
}

/// True if no two assignments have a place in common, and each place is one of them.
fn covers(kernel: &Kernel, source: &Access, assigns: &[&Assign]) -> Option<bool> {
    let structure = kernel.tensors[source.tensor].structure.as_deref()?;
    let all = bounds(structure.space(), structure.context())?;
    let whole = places(&all, source, assigns.first()?)?;
    let mut together = Set::empty(structure.space().clone());
    for assign in assigns {
        let condition = condition(kernel, source, &assign.rhs, structure.space().universe())?;
        let stored = elements(kernel, source, assign)?;
        let own = stored.intersect(&Set::of_piece(structure.space().clone(), condition))?;
        let own = places(&own, source, assign)?;
        if together.intersect(&own)?.is_empty() != Answer::Yes {
            return Some(false);
        }
        together = together.union(&own)?;
    }
    Some(whole.is_subset(&together) == Answer::Yes)
}

/// The elements of an operand that loops come to for an assignment: those that it stores. If it is an array, they come to those where the
/// conditions of coordinates that the value is multiplied by hold; `None` if these are not of its coordinates alone, or hold elsewhere, too.
pub(crate) fn elements(kernel: &Kernel, source: &Access, assign: &Assign) -> Option<Set> {
    let structure = kernel.tensors[source.tensor].structure.as_deref()?;
    let accesses = assign.rhs.accesses();
    let mut conditions = accesses
        .into_iter()
        .filter_map(|access| Some((access, kernel.tensors[access.tensor].indicator.as_deref()?)))
        .peekable();
    if conditions.peek().is_none() && !kernel.tensors[source.tensor].format.is_dense() {
        return Some(structure.unique().clone());
    }
    let mut piece = structure.space().universe();
    for (access, indicator) in conditions {
        let sum =
            indicator.sum().filter(|_| indicator.gather().is_none() && combines_nothing(kernel, assign, access))?;
        let column = |var: &VarId| source.vars.iter().position(|own| own == var).map(|place| piece.column(place));
        let mut terms = access.vars.iter().zip(&sum.factors).map(|(var, factor)| Some((column(var)?, *factor)));
        let form = terms.try_fold(Affine::constant(sum.constant), |form, term| {
            let (column, factor) = term?;
            form.plus(&Affine::term(column, factor))
        })?;
        if indicator.equation().is_some() {
            piece.equal(form);
        } else {
            piece.at_least(form);
        }
    }
    let all = bounds(structure.space(), structure.context())?;
    let own = all.intersect(&Set::of_piece(structure.space().clone(), piece))?;
    own.is_subset(structure.unique()).is_yes().then_some(own)
}

/// The places of a result that an assignment writes to for some elements of an operand, by dimension of the result.
fn places(elements: &Set, source: &Access, assign: &Assign) -> Option<Set> {
    let params = elements.space().params.len();
    let place = |var: &VarId| assign.lhs.vars.iter().position(|own| own == var);
    let dims = source.vars.iter().map(|var| Some(Affine::variable(params + place(var)?)));
    let columns = (0..params).map(|param| Some(Affine::variable(param))).chain(dims).collect::<Option<Vec<_>>>()?;
    (assign.lhs.vars.len() == source.vars.len()).then(|| elements.preimage(elements.space().clone(), &columns))?
}

/// The elements of an operand at which a value is selected, among those of a piece; all, if it is not under a condition.
fn condition(kernel: &Kernel, source: &Access, value: &Expr, within: Piece) -> Option<Piece> {
    match &value.kind {
        ExprKind::Select(operands) if operands[2].kind == Expr::zero(value.dtype).kind => {
            holding(kernel, source, &operands[0], within)
        }
        ExprKind::Select(_) => None,
        _ => Some(within),
    }
}

/// The elements of an operand at which a condition of coordinates holds, among those of a piece.
fn holding(kernel: &Kernel, source: &Access, condition: &Expr, mut within: Piece) -> Option<Piece> {
    let ExprKind::Binary(function, a, b) = &condition.kind else { return None };
    if *function == BinaryFn::And {
        within = holding(kernel, source, a, within)?;
        return holding(kernel, source, b, within);
    }
    let (sum, is_equation) = compared(&kernel.tensors, *function, a, b)?;
    let form = sum.over(|var| Some(within.column(source.vars.iter().position(|own| *own == var)?)))?;
    if is_equation {
        within.equal(form);
    } else {
        within.at_least(form);
    }
    Some(within)
}

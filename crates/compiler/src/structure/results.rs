//! The structures of results, inferred from those of the operands, and compared with the declared ones.
//!
//! ```text
//! C(i,j) = L(i,k) * M(k,j)        L, M lower; C declared lower: it is. C declared diagonal: element (1, 0) is not known to be 0.
//! C(i,j) = X(t,i) * X(t,j)        C declared symmetric: it is, whatever X is
//! ```
//!
//! On entry: a program whose statements have the types and formats of their tensors. On exit: a structure for each result of a statement
//! that sets it, if something is known; an error for a declared one that does not follow. A packed format declares a structure, and a value
//! that is added to such a result has to have it, too. A result whose values come from statements alone, or are given, has the declared
//! structure before each statement as well, since each is checked to keep it: a statement may read its own result. Paper: Ghorbani et al.
//! 2023, §5.1.

use std::collections::BTreeMap;

use lacunar_base::Diagnostic;
use lacunar_notation::{Action, AssignOp, Assignment, Expr, ExprKind, Monoid, Program, Structure, TensorId};
use lacunar_sets::{Affine, Answer, Map, MapPiece, Set, Space};

use super::infer::{infer, is_symmetric};
use crate::reduction::make_explicit;

/// The sizes that counter-examples are looked for in.
const SIZES: std::ops::Range<i64> = 1..5;
/// The most points that are looked at for one.
const MOST_POINTS: usize = 1 << 16;

/// The structure of the value of each statement, as far as it follows from those of operands.
pub fn results(program: &Program) -> Vec<(TensorId, Option<Structure>)> {
    let mut known: BTreeMap<TensorId, Structure> = BTreeMap::new();
    let held: Vec<TensorId> = held(program);
    for (id, tensor) in program.tensors.iter() {
        let is_assigned = program.statements.iter().any(|statement| statement.lhs.tensor == id);
        let is_certain = !is_assigned || held.contains(&id);
        if let Some(structure) = tensor.structure.as_deref().filter(|_| is_certain) {
            known.insert(id, structure.clone());
        }
    }
    let mut found = Vec::new();
    for statement in &program.statements {
        let (mut vars, target) = (program.vars.clone(), statement.lhs.tensor);
        let mut explicit = make_explicit(statement, &mut vars);
        let is_held = held.contains(&target);
        if is_held && explicit.op == AssignOp::Reduce(Monoid::SUM) {
            // The values before have the structure that is declared, and so have sums of such.
            explicit.op = AssignOp::Set;
        } else if is_held && let Some(updated) = updated(program, &explicit) {
            explicit = updated;
        }
        let declared = program.tensors[target].structure.as_deref();
        let inferred = match declared.filter(|declared| is_symmetric(&explicit, declared, &known)) {
            Some(declared) => Some(declared.clone()),
            None => infer(&explicit, &program.tensors, &vars, &known),
        };
        found.push((target, inferred.clone()));
        // A later statement of a program without loops reads the value of the last assignment before it.
        let is_whole = explicit.op == statement.op && program.is_sequence();
        let after = inferred.filter(|structure| is_whole && is_of_sizes(structure));
        match after.or_else(|| declared.filter(|_| is_held).cloned()) {
            Some(structure) => known.insert(target, structure),
            None => known.remove(&target),
        };
    }
    found
}

/// Rewrites `A op= e` as `A = A op e`. `None` if an element of `A` may have no value before the statement: in a sparse format, and in a result
/// that begins with the identity of `op`.
fn updated(program: &Program, statement: &Assignment) -> Option<Assignment> {
    let (target, vars) = (&program.tensors[statement.lhs.tensor], &statement.lhs.vars);
    let AssignOp::Reduce(monoid) = statement.op else { return None };
    let is_given = target.fill.is_some_and(|fill| fill.is_zero());
    let has_all = is_given && (target.format.packing().is_some() || target.format.is_dense());
    let is_whole = (1..vars.len()).all(|place| !vars[..place].contains(&vars[place]));
    if !(has_all && is_whole) {
        return None;
    }
    let before = Expr { kind: ExprKind::Access(statement.lhs.clone()), dtype: target.dtype, span: statement.span };
    let rhs = Expr::binary(monoid.function(), before, statement.rhs.clone(), target.dtype);
    Some(Assignment { op: AssignOp::Set, rhs, ..statement.clone() })
}

/// The tensors that have what is declared of them before and after each statement: those in packed formats, and those that nothing but
/// statements, callers and files give values, with which they are compared, if what has no value yet is 0. They may take the values of others
/// that have the same.
fn held(program: &Program) -> Vec<TensorId> {
    let (mut changed, mut exchanged) = (Vec::new(), Vec::new());
    Action::visit(&program.body, &mut |action| match action {
        Action::Fill(tensor, _) | Action::Random { tensor, .. } | Action::Change { tensor, .. } => {
            changed.push(*tensor)
        }
        Action::Swap(a, b) | Action::Snapshot(a, b) => exchanged.push([*a, *b]),
        _ => {}
    });
    let is_declared = |id: TensorId| {
        let tensor = &program.tensors[id];
        tensor.structure.is_some() && tensor.fill().is_zero() && !changed.contains(&id)
    };
    let is_packed = |id: TensorId| program.tensors[id].format.packing().is_some();
    let mut held: Vec<TensorId> = program.tensors.handles().filter(|id| is_packed(*id) || is_declared(*id)).collect();
    let structure = |id: TensorId| &program.tensors[id].structure;
    loop {
        let differs = |[a, b]: &[TensorId; 2]| structure(*a) != structure(*b) || held.contains(a) != held.contains(b);
        let lost: Vec<TensorId> = exchanged.iter().filter(|pair| differs(pair)).flatten().copied().collect();
        let before = held.len();
        held.retain(|id| is_packed(*id) || !lost.contains(id));
        if held.len() == before {
            return held;
        }
    }
}

/// True if the sizes of a tensor are all that its structure depends on.
fn is_of_sizes(structure: &Structure) -> bool {
    structure.space().params.len() == structure.order()
}

/// Compares the declared structures of results with the inferred ones.
///
/// # Errors
/// E1310 for the first result of which it does not follow, with an element if there is one.
pub fn check(program: &Program) -> Result<(), Diagnostic> {
    let is_declared = |id: TensorId| program.tensors[id].structure.is_some();
    if !program.statements.iter().any(|statement| is_declared(statement.lhs.tensor)) {
        return Ok(());
    }
    for ((target, inferred), statement) in results(program).into_iter().zip(&program.statements) {
        let tensor = &program.tensors[target];
        let Some(declared) = tensor.structure.as_deref() else { continue };
        let fault = match &inferred {
            None => Some("what is known of the operands does not tell its structure".to_string()),
            Some(inferred) => contradiction(declared, inferred, parameters(program, target, inferred).as_deref()),
        };
        if let Some(fault) = fault {
            let message = format!("`{}` need not have the structure that is declared", tensor.name);
            let hint = "declare structures of the operands from which it follows, or leave this one away";
            return Err(Diagnostic::error("E1310", message).label(statement.lhs.span, fault).hint(hint));
        }
    }
    Ok(())
}

/// The values of the parameters of a structure that was inferred for a tensor: the sizes of its dimensions, then those of variables. `None` if
/// one is not known.
pub fn parameters(program: &Program, tensor: TensorId, inferred: &Structure) -> Option<Vec<i64>> {
    let own = program.tensors[tensor].dims.iter().copied();
    let of = |param: &String| {
        let var = program.vars.iter().find(|(_, var)| param.strip_prefix("n_") == Some(var.name.as_str()))?;
        var.1.size
    };
    let others = inferred.space().params.iter().skip(inferred.order()).map(of);
    own.chain(others).map(|size| i64::try_from(size?).ok()).collect()
}

/// The reason why a tensor with the inferred structure need not have the declared one; `None` if it has. The reason names an element of a small
/// tensor, or of a tensor of the known sizes.
fn contradiction(declared: &Structure, inferred: &Structure, known: Option<&[i64]>) -> Option<String> {
    let unknown = || Some("it can't be told whether it has".to_string());
    if declared == inferred {
        return None;
    }
    let Some((support, relations)) = over(declared, inferred.space()) else { return unknown() };
    let Some(sizes) = of_sizes(declared, inferred.space()) else { return unknown() };
    let own = inferred.support().and_then(|own| own.intersect(&sizes));
    let closed = inferred.closed().and_then(|closed| closed.restricted(&sizes));
    let (Some(own), Some(closed)) = (own, closed) else { return unknown() };
    let Some(outside) = own.subtract(&support) else { return unknown() };
    if !outside.is_empty().is_yes() {
        return match example(inferred, known, |params, point| outside.contains(params, point)) {
            Some((sizes, point)) => Some(format!("of {sizes}, element {point} is not known to be 0")),
            None => unknown(),
        };
    }
    for map in relations {
        let (Some(kept), Some(through)) = (closed.restricted(&map.domain()), map.then(&closed)) else {
            return unknown();
        };
        if kept.equals(&through) == Answer::Yes {
            continue;
        }
        let differs = |params: &[i64], point: &[i64]| Some(kept.at(params, point)? != through.at(params, point)?);
        return match example(inferred, known, differs) {
            Some((sizes, point)) => Some(format!("of {sizes}, element {point} is not known to follow from the other")),
            None => unknown(),
        };
    }
    None
}

/// The support and the relations of a structure, over the space of another one whose first parameters are the sizes.
fn over(structure: &Structure, space: &Space) -> Option<(Set, Vec<Map>)> {
    let (order, params) = (structure.order(), space.params.len());
    let columns = (0..order).chain(params..params + order).map(Affine::variable).collect::<Vec<_>>();
    let support = structure.support()?.preimage(space.clone(), &columns)?;
    let placed = |relation: &Map| -> Option<Map> {
        let mut map = Map::empty(space.clone(), space.dims.clone());
        for piece in relation.pieces() {
            let (domain, target) = piece.pulled(&space.universe(), &columns)?;
            map.add_apart(MapPiece { domain, target, coefficient: piece.coefficient })?;
        }
        Some(map)
    };
    Some((support, structure.relations()?.iter().map(placed).collect::<Option<_>>()?))
}

/// All points of the sizes that a structure is of, over the space of another one whose first parameters are the sizes.
fn of_sizes(structure: &Structure, space: &Space) -> Option<Set> {
    let columns: Vec<Affine> = (0..structure.order()).map(Affine::variable).collect();
    let sizes = structure.context().pulled(&space.universe(), &columns)?;
    Some(Set::of_piece(space.clone(), sizes))
}

/// Sizes and a point of which something holds, in words.
fn example(
    structure: &Structure,
    known: Option<&[i64]>,
    mut holds: impl FnMut(&[i64], &[i64]) -> Option<bool>,
) -> Option<(String, String)> {
    let order = structure.order();
    let words = |numbers: &[i64], between: &str| numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(between);
    let mut found = |sizes: &[i64], left: &mut usize| {
        let point = point_of(structure, sizes, left, &mut holds)?;
        Some((words(&sizes[..order], " x "), format!("({})", words(&point, ", "))))
    };
    let mut sizes = vec![SIZES.start; structure.space().params.len()];
    let mut left = MOST_POINTS;
    loop {
        if let Some(example) = found(&sizes, &mut left) {
            return Some(example);
        }
        if left == 0 || !advance(&mut sizes, |_| SIZES) {
            break;
        }
    }
    found(known?, &mut { MOST_POINTS })
}

/// A point of a tensor of some sizes of which something holds, among the first so many.
fn point_of(
    structure: &Structure,
    sizes: &[i64],
    left: &mut usize,
    holds: &mut impl FnMut(&[i64], &[i64]) -> Option<bool>,
) -> Option<Vec<i64>> {
    let mut point = vec![0; structure.order()];
    let mut is_left = !sizes.contains(&0) && structure.context().contains(sizes, &[]) == Some(true);
    while is_left {
        *left = left.checked_sub(1)?;
        if holds(sizes, &point) == Some(true) {
            return Some(point);
        }
        is_left = advance(&mut point, |dim| 0..sizes[dim]);
    }
    None
}

/// The next numbers in their ranges, the last changing the fastest; false after the last ones.
fn advance(numbers: &mut [i64], range: impl Fn(usize) -> std::ops::Range<i64>) -> bool {
    for place in (0..numbers.len()).rev() {
        numbers[place] += 1;
        if numbers[place] < range(place).end {
            return true;
        }
        numbers[place] = range(place).start;
    }
    false
}

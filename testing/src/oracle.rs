//! The dense oracle: what a program means, evaluated by definition on coordinate lists.
//!
//! It visits every point of the iteration space and shares no code with the compiler. A value is *stored* (computed of some
//! entry that is present), *written* (a constant of the program, or computed of such and of absent zeros), or *absent*: an
//! entry that is not present, which has the fill value of its tensor, and what follows from it ([`crate::absence`]):
//!
//! - an absent operand that annihilates makes the result absent: 0 in a product, and as a dividend; an infinity in a sum; the
//!   least value of a minimum, the greatest of a maximum;
//! - `absent + x` and `x - absent` are `x`, `absent - x` is `-x`, where the fill value is 0;
//! - other functions take the fill value for what is absent; they are absent if no operand is stored, and 0 if all absent
//!   operands are 0 (then none may be written);
//! - a sum passes over absent zeros, and is absent if it has no other terms.
//!
//! A result has an entry unless it is absent and 0, or, where its fill value is another, unless it is not stored and that.
//! Unless declared, the fill value of a sparse result is its value where no operand has entries, if an operand has a fill
//! value that is not 0. Where the result's format stores more entries than are present ([`Entries::stored_in`]), later
//! statements read them as present fill values.
//!
//! Each value comes with the largest magnitude that occurred on the way to it, by which rounding errors are judged. Where
//! a sum is a factor, a dividend or an argument, an engine may move the rest into the sum or out of it; if infinities,
//! NaN or divisors of zero occur there, what comes out depends on that, and the value is *moot*.

use std::collections::{BTreeMap, BTreeSet};

use lacunar_notation::{AssignOp, Assignment, BinaryFn, Program, Role, Tensor, TensorId, VarId};
use rustc_hash::FxHashMap;

use crate::absence::{Value, binary, cast, unary};
use crate::compare::tolerance;
use crate::entries::{Entries, coordinates};
use crate::scalar::Scalar;
use crate::sums::{Node, Term, with_sums};

/// The largest iteration space that is evaluated, in nodes of the expression times points.
pub const MAX_WORK: u64 = 50_000_000;

/// What a program gives for one of its results.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The result's name.
    pub name: String,
    /// Entries that are present.
    pub entries: Entries,
    /// The largest finite magnitude that occurred in the computation of each present entry.
    pub scale: BTreeMap<Vec<u64>, f64>,
    /// Coordinates whose value is moot.
    pub moot: BTreeSet<Vec<u64>>,
}

impl Outcome {
    /// Entries that are known, without what they were computed from.
    pub fn known(name: &str, entries: Entries) -> Outcome {
        Outcome { name: name.to_string(), entries, scale: BTreeMap::new(), moot: BTreeSet::new() }
    }
}

/// Evaluates a program: every result, in the order of first assignment.
///
/// `given` has the entries of each input, and of results that have values before the program runs (for `+=`); `dims`
/// the sizes of further tensors, where the inputs do not tell a variable's size. An input stored dense is given with
/// all its entries, or is completed here.
///
/// # Errors
/// An input or a size that is missing, sizes that disagree, an iteration space beyond [`MAX_WORK`].
pub fn evaluate(
    program: &Program,
    given: &BTreeMap<String, Entries>,
    dims: &BTreeMap<String, Vec<u64>>,
) -> Result<Vec<Outcome>, String> {
    let sizes = sizes(program, given, dims)?;
    let mut fills: Vec<Scalar> = program.tensors.iter().map(|(_, tensor)| Scalar::from(tensor.fill())).collect();
    let mut stored = Vec::new();
    for (id, tensor) in program.tensors.iter() {
        stored.push(match given.get(&tensor.name) {
            Some(entries) => Some(Lookup::new(&filled(entries, tensor).stored_in(&tensor.format)?)?),
            None if tensor.role == Role::Input && is_read(program, id) => {
                return Err(format!("input `{}` has no values", tensor.name));
            }
            None => None,
        });
    }
    let mut outcomes: Vec<Outcome> = Vec::new();
    for statement in &program.statements {
        let tensor = &program.tensors[statement.lhs.tensor];
        let before = match outcomes.iter().position(|outcome| outcome.name == tensor.name) {
            Some(place) => Some(outcomes.remove(place)),
            None => given.get(&tensor.name).map(|entries| Outcome::known(&tensor.name, filled(entries, tensor))),
        };
        infer_fill(program, statement, &mut fills);
        let outcome = run(program, statement, &sizes, (&stored, &fills), before)?;
        let lookup = Lookup::new(&outcome.entries.stored_in(&tensor.format)?)?;
        stored[statement.lhs.tensor.index()] = Some(lookup);
        outcomes.push(outcome);
    }
    Ok(outcomes)
}

/// The entries of a tensor with the fill value that is declared for it.
fn filled(entries: &Entries, tensor: &Tensor) -> Entries {
    entries.clone().with_fill(Scalar::from(tensor.fill()))
}

/// Sets the fill value of a sparse result that has none declared: the value of what is assigned, where nothing is stored.
fn infer_fill(program: &Program, statement: &Assignment, fills: &mut [Scalar]) {
    let target = statement.lhs.tensor;
    let tensor = &program.tensors[target];
    let reads_filled = statement.rhs.accesses().iter().any(|access| !fills[access.tensor.index()].is_zero());
    if statement.op != AssignOp::Set || tensor.fill.is_some() || tensor.format.is_dense() || !reads_filled {
        return;
    }
    let value = blank(program, &with_sums(statement), fills);
    if let Value::Written(value) | Value::Absent(value) = value
        && !value.is_zero()
    {
        fills[target.index()] = value;
    }
}

/// The value of a term where no tensor has an entry; those without gaps have entries everywhere, of whatever value.
fn blank(program: &Program, term: &Term, fills: &[Scalar]) -> Value {
    match &term.node {
        Node::Constant(value) => value.map_or(Value::Absent(Scalar::zero(term.dtype)), Value::Written),
        Node::Element(tensor, _) if program.tensors[*tensor].format.is_dense() => {
            Value::Stored(Scalar::zero(term.dtype))
        }
        Node::Element(tensor, _) => Value::Absent(fills[tensor.index()]),
        Node::Cast(a) => cast(blank(program, a, fills), term.dtype),
        Node::Unary(function, a) => unary(blank(program, a, fills), |value| value.unary(*function, a.dtype)),
        Node::Binary(function, a, b) => binary(*function, blank(program, a, fills), blank(program, b, fills), a.dtype),
        // How many terms there are is not known.
        Node::Sum { body, .. } => match blank(program, body, fills) {
            Value::Absent(zero) if zero.is_zero() => Value::Absent(zero),
            other => Value::Stored(other.scalar()),
        },
    }
}

/// Whether every statement's iteration space is small enough to enumerate.
pub fn is_small(program: &Program, given: &BTreeMap<String, Entries>) -> bool {
    let Ok(sizes) = sizes(program, given, &BTreeMap::new()) else { return false };
    program.statements.iter().all(|statement| total_work(statement, &with_sums(statement), &sizes).is_some())
}

/// How many nodes are evaluated for a statement; `None` if they are more than [`MAX_WORK`].
fn total_work(statement: &Assignment, rhs: &Term, sizes: &[u64]) -> Option<u64> {
    let points = statement.lhs.vars.iter().try_fold(1u64, |product, var| product.checked_mul(sizes[var.index()]))?;
    points.checked_mul(work(rhs, sizes)?).filter(|&work| work <= MAX_WORK)
}

fn is_read(program: &Program, tensor: TensorId) -> bool {
    program.statements.iter().any(|s| s.rhs.accesses().iter().any(|access| access.tensor == tensor))
}

/// The size of each variable, by its index; 0 for a variable that no tensor has (it is nowhere iterated).
fn sizes(
    program: &Program,
    given: &BTreeMap<String, Entries>,
    dims: &BTreeMap<String, Vec<u64>>,
) -> Result<Vec<u64>, String> {
    let mut sizes: Vec<Option<u64>> = program.vars.iter().map(|(_, var)| var.size).collect();
    let accesses = program.statements.iter().flat_map(|s| std::iter::once(&s.lhs).chain(s.rhs.accesses()));
    let accesses: Vec<_> = accesses.collect();
    for access in &accesses {
        let tensor = &program.tensors[access.tensor];
        let known: Vec<Option<u64>> = match given.get(&tensor.name).map(|e| &e.dims).or(dims.get(&tensor.name)) {
            Some(dims) => dims.iter().copied().map(Some).collect(),
            None => tensor.dims.clone(),
        };
        if known.len() != access.vars.len() {
            return Err(format!("`{}` has {} sizes and {} variables", tensor.name, known.len(), access.vars.len()));
        }
        for (&var, size) in access.vars.iter().zip(known) {
            let slot = &mut sizes[var.index()];
            match (*slot, size) {
                (Some(old), Some(new)) if old != new => {
                    return Err(format!("variable `{}` has sizes {old} and {new}", program.vars[var].name));
                }
                (None, Some(_)) => *slot = size,
                _ => {}
            }
        }
    }
    for access in accesses {
        if let Some(var) = access.vars.iter().find(|var| sizes[var.index()].is_none()) {
            return Err(format!("variable `{}` has no size", program.vars[*var].name));
        }
    }
    Ok(sizes.into_iter().map(|size| size.unwrap_or(0)).collect())
}

/// The entries of a tensor under their row-major numbers.
struct Lookup {
    dims: Vec<u64>,
    values: FxHashMap<u64, Scalar>,
}

impl Lookup {
    fn new(entries: &Entries) -> Result<Lookup, String> {
        let volume = entries.dims.iter().try_fold(1u64, |product, &size| product.checked_mul(size.max(1)));
        volume.ok_or("a tensor is too large for a test")?;
        let number = |c: &[u64]| c.iter().zip(&entries.dims).fold(0, |n, (&c, &size)| n * size + c);
        let values = entries.values.iter().map(|(c, &value)| (number(c), value)).collect();
        Ok(Lookup { dims: entries.dims.clone(), values })
    }
}

/// One statement under evaluation.
struct Run<'a> {
    sizes: &'a [u64],
    stored: &'a [Option<Lookup>],
    /// The fill value of each tensor.
    fills: &'a [Scalar],
    /// The value of each variable.
    at: Vec<u64>,
    /// The largest finite magnitude since it was last reset.
    peak: f64,
    /// Whether an infinity, a NaN or a divisor of zero occurred since it was last reset.
    exceptional: bool,
}

fn run(
    program: &Program,
    statement: &Assignment,
    sizes: &[u64],
    (stored, fills): (&[Option<Lookup>], &[Scalar]),
    before: Option<Outcome>,
) -> Result<Outcome, String> {
    let tensor = &program.tensors[statement.lhs.tensor];
    let rhs = with_sums(statement);
    let space: Vec<u64> = statement.lhs.vars.iter().map(|var| sizes[var.index()]).collect();
    if total_work(statement, &rhs, sizes).is_none() {
        return Err(format!(
            "the iteration space of `{}` is too large to enumerate",
            program.statement_text(statement)
        ));
    }
    let fill = fills[statement.lhs.tensor.index()];
    let fresh = || Outcome::known(&tensor.name, Entries::empty(space.clone(), tensor.dtype).with_fill(fill));
    let mut outcome = match statement.op {
        AssignOp::Set => fresh(),
        AssignOp::Reduce(_) => before.unwrap_or_else(fresh),
    };
    let mut state = Run { sizes, stored, fills, at: vec![0; sizes.len()], peak: 0.0, exceptional: false };
    let movable = has_movable_sum(&rhs);
    // What is computed in a shorter type stays as inexact in a result of a wider one.
    let rounding = (inexactness(program, &rhs) / tolerance(tensor.dtype)).max(1.0);
    for coordinate in coordinates(&space) {
        for (var, &c) in statement.lhs.vars.iter().zip(&coordinate) {
            state.at[var.index()] = c;
        }
        (state.peak, state.exceptional) = (0.0, false);
        let value = state.value(&rhs);
        if movable && state.exceptional {
            outcome.moot.insert(coordinate.clone());
        }
        let value = cast(value, tensor.dtype);
        let old = outcome.entries.values.get(&coordinate).copied();
        let new = match statement.op {
            AssignOp::Set => value,
            AssignOp::Reduce(_) => {
                binary(BinaryFn::Add, old.map_or(Value::Absent(fill), Value::Stored), value, tensor.dtype)
            }
        };
        if new.rests_at(fill) {
            continue;
        }
        let scale = outcome.scale.entry(coordinate.clone()).or_insert(0.0);
        *scale = scale.max(state.peak * rounding);
        *scale = scale.max(finite(old)).max(finite(Some(new.scalar())));
        outcome.entries.values.insert(coordinate, new.scalar());
    }
    Ok(outcome)
}

/// How many nodes are evaluated for one value of a term; `None` if they cannot be counted.
fn work(term: &Term, sizes: &[u64]) -> Option<u64> {
    let below = match &term.node {
        Node::Constant(_) | Node::Element(..) => 0,
        Node::Unary(_, a) | Node::Cast(a) => work(a, sizes)?,
        Node::Binary(_, a, b) => work(a, sizes)?.checked_add(work(b, sizes)?)?,
        Node::Sum { var, body, .. } => work(body, sizes)?.checked_mul(sizes[var.index()])?,
    };
    below.checked_add(1)
}

/// Whether a sum is an operand of something else than a sum or difference.
fn has_movable_sum(term: &Term) -> bool {
    fn has_sum(term: &Term) -> bool {
        matches!(term.node, Node::Sum { .. }) || children(term).into_iter().any(has_sum)
    }
    match &term.node {
        Node::Binary(BinaryFn::Add | BinaryFn::Sub, ..) | Node::Sum { .. } => {
            children(term).into_iter().any(has_movable_sum)
        }
        _ => children(term).into_iter().any(has_sum),
    }
}

/// How far a part of the term may be from the true value. Inputs are what they are.
fn inexactness(program: &Program, term: &Term) -> f64 {
    let own = match term.node {
        Node::Element(tensor, _) if program.tensors[tensor].role == Role::Input => 0.0,
        _ => tolerance(term.dtype),
    };
    children(term).into_iter().map(|child| inexactness(program, child)).fold(own, f64::max)
}

fn children(term: &Term) -> Vec<&Term> {
    match &term.node {
        Node::Constant(_) | Node::Element(..) => Vec::new(),
        Node::Unary(_, a) | Node::Cast(a) | Node::Sum { body: a, .. } => vec![a],
        Node::Binary(_, a, b) => vec![a, b],
    }
}

fn finite(value: Option<Scalar>) -> f64 {
    value.map(Scalar::magnitude).filter(|m| m.is_finite()).unwrap_or(0.0)
}

impl Run<'_> {
    /// The value of a term at the current point.
    fn value(&mut self, term: &Term) -> Value {
        let value = match &term.node {
            Node::Constant(value) => value.map_or(Value::Absent(Scalar::zero(term.dtype)), Value::Written),
            Node::Element(tensor, vars) => self.element(*tensor, vars),
            Node::Cast(a) => cast(self.value(a), term.dtype),
            Node::Unary(function, a) => unary(self.value(a), |value| value.unary(*function, a.dtype)),
            Node::Binary(function, a, b) => {
                let (left, right) = (self.value(a), self.value(b));
                let divides = matches!(function, BinaryFn::Div | BinaryFn::Rem);
                self.exceptional |= divides && right.scalar().is_zero();
                binary(*function, left, right, a.dtype)
            }
            Node::Sum { var, body, .. } => self.sum(*var, body),
        };
        self.peak = self.peak.max(finite(Some(value.scalar())));
        self.exceptional |= !value.scalar().magnitude().is_finite();
        value
    }

    fn element(&self, tensor: TensorId, vars: &[VarId]) -> Value {
        let found = self.stored[tensor.index()].as_ref().and_then(|lookup| {
            let number = vars.iter().zip(&lookup.dims).fold(0, |n, (var, &size)| n * size + self.at[var.index()]);
            lookup.values.get(&number).copied()
        });
        found.map_or(Value::Absent(self.fills[tensor.index()]), Value::Stored)
    }

    fn sum(&mut self, var: VarId, body: &Term) -> Value {
        let outer = self.at[var.index()];
        let mut total: Option<Scalar> = None;
        for c in 0..self.sizes[var.index()] {
            self.at[var.index()] = c;
            let value = self.value(body);
            if value.rests_at(Scalar::zero(body.dtype)) {
                continue;
            }
            let value = value.scalar();
            let sum = total.map_or(value, |total| total.binary(BinaryFn::Add, value, body.dtype));
            self.peak = self.peak.max(finite(Some(sum)));
            total = Some(sum);
        }
        self.at[var.index()] = outer;
        total.map_or(Value::Absent(Scalar::zero(body.dtype)), Value::Stored)
    }
}

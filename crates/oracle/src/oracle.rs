//! The dense oracle: the meaning of a program, evaluated by definition on coordinate lists.
//!
//! It visits every point of the iteration space and shares no code with the compiler. A value is *stored* (computed of some
//! entry that is present), *written* (a constant of the program, or computed of such and of absent zeros), or *absent*: an
//! entry that is not present, which has the fill value of its tensor, and what follows from it ([`crate::absence`]):
//!
//! - an absent operand that annihilates makes the result absent: 0 in a product, and as a dividend; an infinity in a sum; the
//!   least value of a minimum, the greatest of a maximum;
//! - `absent + x` and `x - absent` are `x`, `absent - x` is `-x`, where the fill value is 0;
//! - `select(c, a, b)` is `a` or `b` as it is where `c` is not stored, and absent where `a` and `b` are not stored and the same
//!   ([`crate::absence::selected`]);
//! - other functions take an absent operand as its fill value; they are absent if one operand is and none is stored, and, if all
//!   absent operands are 0, if the value is, too;
//! - a reduction passes over absent values that are its identity, and is absent if it has no other terms. It is also if all are absent,
//!   and repetitions of one do not count.
//!
//! A result has an entry unless it is absent and 0, or, if its fill value is another, unless it is not stored and that. Unless
//! declared, the fill value of a sparse result is its value where no operand has entries, if an operand has a fill value that is
//! not 0. If the result's format stores more entries than are present ([`Entries::stored_in`]), later statements read them as
//! present fill values.
//!
//! Actions are carried out in their order ([`crate::read::Action`]); prints and written files are not looked at.
//!
//! Each value comes with the largest magnitude that occurred on the way to it, by which rounding errors are judged. If a sum is a
//! factor, a dividend or an argument, or has a factor that is the same in all terms, an engine may move the rest into the sum or out of
//! it. If infinities, NaN or divisors of zero occur there, the value depends on that, and is *moot*. So it is if the factors of a product over
//! variables overflow in some order, or if an operator's identity does not leave a term as it is. A value is also moot if padding of
//! the storage was read: an engine that converts the tensor finds nothing there, and behind a map the oracle does not know such places.
//! A dense tensor's zeros are such padding if it has a structure: an engine takes what is outside of that as absent.
//! The same holds for a fill value that an earlier statement computed, which a copy leaves out. All values of a statement that reads
//! moot ones are moot, too.
//!
//! An operator that multiplies, such as `a + b + a * b`, may come to the product of all its operands in some order, which is larger than any
//! number on the oracle's way: that is the largest magnitude then. A pruned value that is as near to the fill value as rounding errors are
//! is *uncertain*: it may be stored or not.

mod actions;
mod lookup;
mod places;
mod value;

use std::collections::{BTreeMap, BTreeSet};

use lacunar_formats::{DType, Format};
use lacunar_front::concrete::Line;
use lacunar_front::einsum::parse_with;
use lacunar_front::stur::translate;
use lacunar_front::{Declarations, Language};
use lacunar_notation::{BinaryFn, TensorId, UnaryFn, VarId};

use crate::absence::{Value, binary, cast, selected, unary};
use crate::compare::{near, tolerance};
use crate::entries::{Entries, coordinates};
use crate::operators::Operation;
use crate::patterns::is_pattern_of;
use crate::read::{Action, Known, Reading, Sizes, Statement, collect, read};
use crate::scalar::Scalar;
use crate::sums::{Index, Node, Term, gives_index, indices_of, variables, with_reductions};
use actions::State;
use lookup::Lookup;
use value::{Run, finite};

/// The largest iteration space that is evaluated, in nodes of the expression times points.
pub const MAX_WORK: u64 = 50_000_000;

/// The oracle's result for one result of a program.
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
    /// Coordinates of pruned values that are as near to the fill value as rounding errors are: an engine may come to that value, and store
    /// nothing, or to another.
    pub uncertain: BTreeSet<Vec<u64>>,
    /// True if fill values may be stored anywhere: a reduction met absent values other than its identity, so that an engine visits
    /// every coordinate.
    pub is_loose: bool,
}

impl Outcome {
    /// Entries that are known, without the numbers that they were computed from.
    pub fn known(name: &str, entries: Entries) -> Outcome {
        let (name, scale) = (name.to_string(), BTreeMap::new());
        Outcome { name, entries, scale, moot: BTreeSet::new(), uncertain: BTreeSet::new(), is_loose: false }
    }

    /// Says if a coordinate is uncertain, whose value was computed from numbers of a scale.
    fn set_uncertain(&mut self, coordinate: &[u64], scale: f64, is_uncertain: bool) {
        if is_uncertain {
            self.uncertain.insert(coordinate.to_vec());
            self.scale.insert(coordinate.to_vec(), scale);
        } else {
            self.uncertain.remove(coordinate);
        }
    }
}

/// A question to the oracle: the meaning of a program, with these tensors.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The program.
    pub source: &'a str,
    /// Types, fill values, sizes; the formats are not looked at.
    pub declarations: &'a Declarations,
    /// The formats of tensors. A tensor that is not here is dense. The meaning does not depend on it but for the entries that later
    /// statements find stored, and for the fill value of a sparse result.
    pub formats: &'a BTreeMap<String, Format>,
    /// The entries of each input, and of results that have values before the program runs (for `+=`). An input stored dense is
    /// given with all its entries, or is completed here.
    pub given: &'a BTreeMap<String, Entries>,
}

/// A program that was read, with its sizes.
struct Program {
    reading: Reading,
    formats: Vec<Format>,
    /// The size of each variable, by its index.
    sizes: Vec<u64>,
    /// The sizes of the dimensions of each tensor, by its index.
    dims: Vec<Vec<u64>>,
    /// The coordinates of each variable that are looked at, if they are not all.
    places: Vec<Option<Places>>,
    /// True for each tensor with a declared structure, by its index.
    is_structured: Vec<bool>,
}

impl Program {
    fn new(question: &Question<'_>) -> Result<Program, String> {
        // The oracle evaluates statements; those of rules are compared with the rules themselves by tests.
        if question.declarations.language == Language::Rules {
            let translated = translate(question.source, question.declarations)
                .map_err(|found| found.into_iter().map(|mistake| mistake.message).collect::<Vec<_>>().join("; "))?;
            let (source, declarations) = (translated.text.as_str(), &translated.declarations);
            return Program::new(&Question { source, declarations, ..*question });
        }
        // Lines of the text declare tensors, too.
        let declarations = &Line::declare(
            &parse_with(question.source, &question.declarations.operators, true).0,
            question.declarations,
        );
        let reading = read(question.source, declarations)?;
        let given = |name: &str| question.given.get(name).map(|entries| entries.dims.clone());
        let Sizes { vars: sizes, dims } = crate::read::sizes(&reading, declarations, &given)?;
        let format = |tensor: &Known| {
            let known = question.formats.get(&tensor.name).filter(|format| format.order() == tensor.order);
            known.cloned().unwrap_or(Format::dense(tensor.order))
        };
        let formats = reading.tensors.iter().map(format).collect();
        let places = places(&reading, &sizes, question.given);
        let has_structure = |tensor: &Known| declarations.structures.contains_key(&tensor.name);
        let is_structured = reading.tensors.iter().map(has_structure).collect();
        Ok(Program { reading, formats, sizes, dims, places, is_structured })
    }

    /// True if a tensor has a structure, by a declaration or by its format.
    fn knows_structures(&self) -> bool {
        self.is_structured.contains(&true) || self.formats.iter().any(|format| format.packing().is_some())
    }

    fn tensor(&self, id: TensorId) -> &Known {
        &self.reading.tensors[id.index()]
    }

    /// The number of coordinates of a variable that are looked at.
    fn count(&self, var: VarId) -> u64 {
        self.places[var.index()].as_ref().map_or(self.sizes[var.index()], |places| places.all.len() as u64)
    }

    fn whole(&self, statement: &Statement) -> Term {
        with_reductions(&statement.rhs, &statement.vars, statement.combines.as_ref().unwrap_or(&Operation::SUM))
    }
}

/// Some coordinates of a variable.
struct Places {
    all: Vec<u64>,
    /// The one of them at which no tensor has an entry.
    stranger: Option<u64>,
}

/// In a variable of at least so many values, only the coordinates that occur in entries are looked at, and one that does not: it
/// stands for all others, and nothing may be there.
const MANY: u64 = 1 << 20;

/// The coordinates of each variable that has many, among entries of tensors that are given.
fn places(reading: &Reading, sizes: &[u64], given: &BTreeMap<String, Entries>) -> Vec<Option<Places>> {
    let mut accesses = Vec::new();
    for statement in &reading.statements {
        accesses.push((statement.target, statement.indices.as_slice()));
        statement.indices.iter().for_each(|index| index.collect(&mut accesses));
        collect(&statement.rhs, &mut accesses);
    }
    // Statements may hand coordinates from one variable to another: variables of one size share theirs.
    let of_size = |size: u64| {
        let mut found = BTreeSet::new();
        for (tensor, indices) in &accesses {
            let Some(entries) = given.get(&reading.tensors[tensor.index()].name) else { continue };
            let vars = indices.iter().map(Index::variable).enumerate();
            for (dimension, _) in vars.filter(|(_, var)| var.is_some_and(|var| sizes[var.index()] == size)) {
                found.extend(entries.values.keys().map(|at| at[dimension]));
            }
        }
        let stranger = (0..size).find(|at| !found.contains(at));
        found.extend(stranger);
        Places { all: found.into_iter().collect(), stranger }
    };
    sizes.iter().map(|&size| (size >= MANY).then(|| of_size(size))).collect()
}

/// Evaluates a program: every result, in the order of first assignment.
///
/// # Errors
/// An input or a size that is missing, sizes that disagree, an iteration space beyond [`MAX_WORK`].
pub fn evaluate(question: &Question<'_>) -> Result<Vec<Outcome>, String> {
    let program = Program::new(question)?;
    let tensors = &program.reading.tensors;
    let declared = |tensor: &Known| tensor.fill.unwrap_or(Scalar::zero(tensor.dtype));
    let fills: Vec<Scalar> = tensors.iter().map(declared).collect();
    let made = Action::made(&program.reading.body);
    let filled = |entries: &Entries, tensor: &Known| entries.clone().with_fill(declared(tensor));
    let mut stored = Vec::new();
    for (number, (tensor, format)) in tensors.iter().zip(&program.formats).enumerate() {
        if let Some(list) = program.reading.lists.get(&number) {
            let mut entries = Entries::empty(vec![list.len() as u64], DType::I64);
            let values = (0..).zip(list).map(|(place, &value)| (vec![place], Scalar::Int(i128::from(value))));
            entries.values.extend(values);
            stored.push(Some(Lookup::new(&entries)?));
            continue;
        }
        stored.push(match question.given.get(&tensor.name) {
            Some(entries) => Some(Lookup::new(&filled(entries, tensor).stored_in(format)?)?),
            None if !tensor.result && !made.contains(&TensorId::from_index(number)) => {
                return Err(format!("input `{}` has no values", tensor.name));
            }
            None => None,
        });
    }
    let mut state = State::new(&program, question, (stored, fills));
    state.actions(&program.reading.body)?;
    let results: BTreeSet<&str> =
        tensors.iter().filter(|tensor| tensor.result).map(|tensor| tensor.name.as_str()).collect();
    state.outcomes.retain(|outcome| results.contains(outcome.name.as_str()));
    Ok(state.outcomes)
}

/// Sets the fill value of a result that has none declared: the identity of the operation that it begins with, or, of a sparse result,
/// the value that is assigned where nothing is stored.
fn infer_fill(program: &Program, statement: &Statement, (is_first, fills): (bool, &mut [Scalar])) {
    let target = statement.target.index();
    let mut read = Vec::new();
    collect(&statement.rhs, &mut read);
    let reads_filled = read.iter().any(|(tensor, _)| !fills[tensor.index()].is_zero());
    // An operator may have a value of its own where nothing is present.
    let may_differ = reads_filled || leaves_out(&statement.rhs);
    let declared = program.reading.tensors[target].fill.is_some();
    let is_placed = |index: &Index| index.variable().is_none();
    if let Some(operation) = statement.combines.as_ref().filter(|_| is_first && !declared) {
        fills[target] = operation.identity(program.reading.tensors[target].dtype);
    }
    // Elements that the indices do not come to are not assigned.
    let partly = statement.indices.iter().any(is_placed);
    let format = &program.formats[target];
    let has_all = format.is_dense() || format.packing().is_some();
    if statement.combines.is_some() || declared || partly || has_all || !may_differ {
        return;
    }
    let value = blank(program, &program.whole(statement), fills, false);
    if let Value::Written(value) | Value::Absent(value) = value
        && !value.is_zero()
    {
        fills[target] = value;
    }
}

/// True if a term is pruned, and then perhaps converted: elements with the fill value of the result have no entry.
fn is_pruned(term: &Term) -> bool {
    match &term.node {
        Node::Unary(UnaryFn::Prune, _) => true,
        Node::Cast(a) => is_pruned(a),
        _ => false,
    }
}

/// True if a term is an operator that leaves out regions, and then perhaps converted.
fn leaves_out(term: &Term) -> bool {
    match &term.node {
        Node::Apply(operator, _) => operator.has_regions && operator.bodies.iter().skip(1).any(Option::is_none),
        Node::Cast(a) => leaves_out(a),
        _ => false,
    }
}

/// The value of a term where no tensor has an entry; tensors without gaps have entries everywhere, of whatever value.
fn blank(program: &Program, term: &Term, fills: &[Scalar], all_have_gaps: bool) -> Value {
    let blank = |term: &Term| blank(program, term, fills, all_have_gaps);
    match &term.node {
        Node::Constant(value) => value.map_or(Value::Absent(Scalar::zero(term.dtype)), Value::Written),
        // At an index that is no variable, there may be nothing.
        Node::Element(tensor, indices)
            if (!all_have_gaps || indices.is_empty())
                && program.formats[tensor.index()].is_dense()
                && indices.iter().all(|index| index.variable().is_some()) =>
        {
            Value::Stored(Scalar::zero(term.dtype))
        }
        Node::Element(tensor, _) => Value::Absent(fills[tensor.index()]),
        Node::Index(_) => Value::Stored(Scalar::zero(term.dtype)),
        Node::Related(..) => Value::Absent(Scalar::zero(term.dtype)),
        Node::Cast(a) => cast(blank(a), term.dtype),
        Node::Unary(function, a) => unary(blank(a), |value| value.unary(*function, a.dtype)),
        Node::Binary(function, a, b) => {
            let zero = |operand: &Term| Value::Absent(Scalar::zero(operand.dtype));
            let of = |operand| if is_pattern_of(*function, operand) { zero(operand) } else { blank(operand) };
            binary(*function, of(a), of(b), a.dtype)
        }
        Node::Select(operands) => selected(operands.each_ref().map(blank)),
        Node::Apply(operator, operands) => {
            let values: Vec<Value> = operands.iter().map(blank).collect();
            operator.value(&values, &rests(program, operands, fills))
        }
        Node::Operand(_) => Value::Written(Scalar::zero(term.dtype)),
        Node::Reduce { operation, .. } if gives_index(operation).is_some() => Value::Stored(Scalar::zero(term.dtype)),
        // The number of terms is not known.
        Node::Reduce { operation, body, .. } => match blank(body) {
            Value::Written(value) if value == operation.identity(body.dtype) && !value.is_zero() => {
                Value::Absent(value)
            }
            kept @ (Value::Absent(value) | Value::Written(value))
                if value == operation.identity(body.dtype) || operation.is_idempotent(body.dtype) =>
            {
                kept
            }
            other => Value::Stored(other.scalar()),
        },
    }
}

/// For each operand of an operator, the value where no tensor has entries, dense ones neither, if it is absent there.
fn rests(program: &Program, operands: &[Term], fills: &[Scalar]) -> Vec<Option<Scalar>> {
    let rest = |operand: &Term| match blank(program, operand, fills, true) {
        Value::Absent(value) => Some(value),
        Value::Stored(_) | Value::Written(_) => None,
    };
    operands.iter().map(rest).collect()
}

/// True if every statement's iteration space is small enough to enumerate.
pub fn is_small(question: &Question<'_>) -> bool {
    let Ok(program) = Program::new(question) else { return false };
    let mut statements = program.reading.statements.iter();
    statements.all(|statement| total_work(&program, statement, &program.whole(statement)).is_some())
}

/// The number of nodes that are evaluated for a statement; `None` if they are more than [`MAX_WORK`].
fn total_work(program: &Program, statement: &Statement, rhs: &Term) -> Option<u64> {
    let points = statement.vars.iter().try_fold(1u64, |product, &var| product.checked_mul(program.count(var)))?;
    points.checked_mul(work(program, rhs)?).filter(|&work| work <= MAX_WORK)
}

fn run(
    program: &Program,
    statement: &Statement,
    (stored, fills, inexact): (&[Option<Lookup>], &[Scalar], &[f64]),
    before: Option<Outcome>,
) -> Result<Outcome, String> {
    let tensor = program.tensor(statement.target);
    let rhs = program.whole(statement);
    let space = program.dims[statement.target.index()].clone();
    if total_work(program, statement, &rhs).is_none() {
        return Err(format!("the iteration space of `{}` is too large to enumerate", statement.text));
    }
    let fill = fills[statement.target.index()];
    let fresh = || Outcome::known(&tensor.name, Entries::empty(space.clone(), tensor.dtype).with_fill(fill));
    let mut outcome = if statement.combines.is_some() { before.unwrap_or_else(fresh) } else { fresh() };
    let mut state = Run::new(program, stored, fills);
    let (movable, is_reduced) = (has_movable_sum(&rhs), has_reduction(&rhs));
    let prunes = is_pruned(&rhs);
    let is_packed = program.formats[statement.target.index()].packing().is_some();
    // A value that is computed in a shorter type stays as inexact in a result of a wider one.
    let rounding = (inexactness(program, inexact, &rhs) / tolerance(tensor.dtype)).max(1.0);
    let is_shifted = statement.indices.iter().any(|index| index.variable().is_none());
    let has_number = is_shifted && has_number(&rhs);
    let counts: Vec<u64> = statement.vars.iter().map(|&var| program.count(var)).collect();
    for numbers in coordinates(&counts) {
        let stray = state.go_to(&statement.vars, &numbers);
        let at = state.coordinate(statement.target, &statement.indices);
        let inside = |at: &Vec<u64>| at.iter().zip(&space).all(|(at, size)| at < size);
        let Some(coordinate) = at.filter(inside) else { continue };
        state.reset();
        let value = state.value(&rhs);
        let is_moot = state.is_moot(movable, (rhs.dtype, tensor.dtype));
        if is_moot {
            outcome.moot.insert(coordinate.clone());
        }
        let value = cast(value, tensor.dtype);
        let old = outcome.entries.values.get(&coordinate).copied();
        // An engine visits every coordinate that such an index comes to, and may store the combined value there.
        if let (Some(operation), true, Value::Absent(_)) = (&statement.combines, is_shifted, value) {
            state.loosened |= !value.rests_at(operation.identity(tensor.dtype));
        }
        // So it may store a number that comes to 0 beside elements that are absent.
        state.loosened |= has_number && matches!(value, Value::Absent(_));
        let new = match &statement.combines {
            None => value,
            Some(operation) => operation.of_values(old.map_or(Value::Absent(fill), Value::Stored), value, tensor.dtype),
        };
        let values = [old.unwrap_or(fill), value.scalar(), new.scalar()];
        let is_open = |by: &Operation| is_open_combination(by, values, is_reduced, tensor.dtype);
        // A fill value that only fills up storage may annihilate, or not.
        let may_annihilate = old == Some(fill) && state.exceptional;
        if statement.combines.as_ref().is_some_and(|by| may_annihilate || is_open(by)) {
            outcome.moot.insert(coordinate.clone());
        }
        let peak = state.peak * growth(&statement.combines, old);
        let scale = (peak * rounding).max(finite(old)).max(finite(Some(new.scalar())));
        outcome.set_uncertain(&coordinate, scale, prunes && near(new.scalar(), fill, scale, tensor.dtype));
        let is_left_out = prunes && new.scalar() == fill;
        // A number that is combined with nothing may be stored, though it comes to the fill value.
        let may_rest = statement.combines.is_some() && matches!(value, Value::Written(_));
        // A packed format has no place for a value that its structure does not allow.
        let is_misplaced = is_moot && is_packed && new.scalar().magnitude().is_nan();
        if is_left_out || is_misplaced || (new.rests_at(fill) && !may_rest) {
            // The earlier value may be annihilated by the one that is added.
            outcome.entries.values.remove(&coordinate);
            continue;
        }
        state.strayed |= stray;
        outcome.scale.entry(coordinate.clone()).and_modify(|other| *other = other.max(scale)).or_insert(scale);
        outcome.entries.values.insert(coordinate, new.scalar());
    }
    outcome.is_loose |= state.loosened;
    if state.strayed {
        return Err(format!("too many elements of `{}` have values", statement.text));
    }
    Ok(outcome)
}

/// The factor by which an old value may increase the numbers on the way: an operator that multiplies may combine it with all of them.
fn growth(combines: &Option<Operation>, old: Option<Scalar>) -> f64 {
    if combines.as_ref().is_some_and(Operation::multiplies) { 1.0 + finite(old) } else { 1.0 }
}

/// True if engines may come to different combinations of an old and another value, of which the third is one: where the identity changes
/// the other value, or it is that of a reduction, which may be absent and annihilate, or be a number like any other.
fn is_open_combination(by: &Operation, [old, value, new]: [Scalar; 3], is_reduced: bool, dtype: DType) -> bool {
    let is_nan = |value: Scalar| value.magnitude().is_nan();
    by.is_changed_by_identity(value, dtype) || (is_reduced && is_nan(by.of_numbers(old, value, dtype)) != is_nan(new))
}

/// The number of nodes that are evaluated for one value of a term; `None` if they cannot be counted.
fn work(program: &Program, term: &Term) -> Option<u64> {
    let below = match &term.node {
        Node::Constant(_) | Node::Element(..) | Node::Index(_) | Node::Related(..) | Node::Operand(_) => 0,
        Node::Apply(_, operands) => {
            operands.iter().try_fold(0u64, |sum, operand| sum.checked_add(work(program, operand)?))?
        }
        Node::Unary(_, a) | Node::Cast(a) => work(program, a)?,
        Node::Binary(_, a, b) => work(program, a)?.checked_add(work(program, b)?)?,
        Node::Select(operands) => {
            operands.iter().try_fold(0u64, |sum, operand| sum.checked_add(work(program, operand)?))?
        }
        Node::Reduce { var, body, .. } => work(program, body)?.checked_mul(program.count(*var))?,
    };
    below.checked_add(1)
}

/// True if a term has a reduction in it. An index that is no variable is summed over, too.
fn has_reduction(term: &Term) -> bool {
    match &term.node {
        Node::Reduce { .. } => true,
        Node::Element(_, indices) => indices.iter().any(|index| index.variable().is_none()),
        _ => children(term).into_iter().any(has_reduction),
    }
}

/// True if a number is written in a term.
fn has_number(term: &Term) -> bool {
    matches!(term.node, Node::Constant(Some(_))) || children(term).into_iter().any(has_number)
}

/// True if a sum is an operand of something else than a sum or difference, or has a factor that is the same in all of its terms.
fn has_movable_sum(term: &Term) -> bool {
    match &term.node {
        Node::Reduce { operation: Operation::Function(BinaryFn::Add), var, body, .. } => {
            let factors = factors(body);
            (factors.len() > 1 && factors.into_iter().any(|factor| !depends(factor, *var))) || has_movable_sum(body)
        }
        Node::Binary(BinaryFn::Add | BinaryFn::Sub, ..) => children(term).into_iter().any(has_movable_sum),
        _ => children(term).into_iter().any(has_reduction),
    }
}

/// The factors of a product, also of one in sums and conversions.
fn factors(term: &Term) -> Vec<&Term> {
    match &term.node {
        Node::Binary(BinaryFn::Mul | BinaryFn::Div, a, b) => [factors(a), factors(b)].concat(),
        Node::Reduce { body, .. } | Node::Cast(body) | Node::Unary(UnaryFn::Neg, body) => factors(body),
        _ => vec![term],
    }
}

/// True if the value of a term changes with a variable.
fn depends(term: &Term, var: VarId) -> bool {
    match &term.node {
        Node::Element(..) | Node::Related(..) => variables(indices_of(&term.node)).contains(&var),
        Node::Index(own) => *own == var,
        _ => children(term).into_iter().any(|child| depends(child, var)),
    }
}

/// The largest distance that a part of the term may have from the true value. Inputs are exact.
fn inexactness(program: &Program, inexact: &[f64], term: &Term) -> f64 {
    let own = match term.node {
        Node::Element(tensor, _) if !program.tensor(tensor).result => 0.0,
        Node::Element(tensor, _) => inexact[tensor.index()].max(tolerance(term.dtype)),
        _ => tolerance(term.dtype),
    };
    children(term).into_iter().map(|child| inexactness(program, inexact, child)).fold(own, f64::max)
}

/// The terms that a term is made of.
pub(crate) fn children(term: &Term) -> Vec<&Term> {
    match &term.node {
        Node::Constant(_) | Node::Element(..) | Node::Index(_) | Node::Related(..) | Node::Operand(_) => Vec::new(),
        Node::Apply(_, operands) => operands.iter().collect(),
        Node::Unary(_, a) | Node::Cast(a) | Node::Reduce { body: a, .. } => vec![a],
        Node::Binary(_, a, b) => vec![a, b],
        Node::Select(operands) => operands.iter().collect(),
    }
}

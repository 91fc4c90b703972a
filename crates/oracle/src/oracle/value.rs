//! The value of a term at a point of a statement's iteration space.

use lacunar_formats::{DType, Kind};
use lacunar_notation::{BinaryFn, TensorId, UnaryFn, VarId};

use super::lookup::Lookup;
use super::{Program, rests};
use crate::absence::{Value, binary, cast, pruned, selected, unary};
use crate::operators::Operation;
use crate::patterns::{holding, is_pattern_of};
use crate::scalar::Scalar;
use crate::sums::{Asked, Index, Node, Term, coordinate, gives_index};

/// One statement under evaluation.
pub(super) struct Run<'a> {
    pub(super) program: &'a Program,
    pub(super) stored: &'a [Option<Lookup>],
    /// The fill value of each tensor.
    pub(super) fills: &'a [Scalar],
    /// The value of each variable.
    pub(super) at: Vec<u64>,
    /// The largest finite magnitude since it was last reset.
    pub(super) peak: f64,
    /// True if an infinity, a NaN or a divisor of zero occurred since it was last reset.
    pub(super) exceptional: bool,
    /// True if a place was read, since it was last reset, that may be padding: an engine finds a stored fill value there, or nothing.
    pub(super) filled_up: bool,
    /// True if a reduction whose identity is not 0 was over no values at all, since it was last reset.
    pub(super) emptied: bool,
    /// The binary logarithms of the factors in products over variables, summed since they were last reset: those of factors beyond 1,
    /// and those of the others, negated.
    pub(super) exponents: [f64; 2],
    /// The binary logarithm of the largest number that operators which multiply may come to, in any order of what they combine over
    /// variables, since it was last reset.
    pub(super) grown: f64,
    /// True if a reduction that is not its identity was over absent values alone, since it was last reset: whether a pattern has an entry
    /// for it is open.
    pub(super) of_nothing: bool,
    /// True if a pattern was made, since the last reset, of a value that may be padding, or of a reduction over absent values alone.
    pub(super) opened: bool,
    /// True if an operator's identity, combined with a term, was not that term, since it was last reset.
    pub(super) misled: bool,
    /// True if values other than the least are as near to it as rounding errors are, since it was last reset.
    pub(super) tied: bool,
    /// True if a reduction met absent values other than its identity.
    pub(super) loosened: bool,
    /// True if something was at a coordinate that stands for others.
    pub(super) strayed: bool,
}

pub(super) fn finite(value: Option<Scalar>) -> f64 {
    value.map(Scalar::magnitude).filter(|m| m.is_finite()).unwrap_or(0.0)
}

impl<'a> Run<'a> {
    /// Nothing has occurred, and all variables are 0.
    pub(super) fn new(program: &'a Program, stored: &'a [Option<Lookup>], fills: &'a [Scalar]) -> Run<'a> {
        Run {
            program,
            stored,
            fills,
            at: vec![0; program.sizes.len()],
            peak: 0.0,
            exceptional: false,
            filled_up: false,
            emptied: false,
            exponents: [0.0; 2],
            grown: 0.0,
            of_nothing: false,
            opened: false,
            misled: false,
            tied: false,
            loosened: false,
            strayed: false,
        }
    }

    /// The coordinate of this number among those of a variable that are looked at; true if it stands for others.
    pub(super) fn place(&self, var: VarId, number: u64) -> (u64, bool) {
        match &self.program.places[var.index()] {
            None => (number, false),
            Some(places) => {
                let place = places.all[number as usize];
                (place, places.stranger == Some(place))
            }
        }
    }

    /// Goes to the point of these numbers of variables; true if it stands for others.
    pub(super) fn go_to(&mut self, vars: &[VarId], numbers: &[u64]) -> bool {
        let mut is_stray = false;
        for (&var, &number) in vars.iter().zip(numbers) {
            let (place, stands_for_others) = self.place(var, number);
            self.at[var.index()] = place;
            is_stray |= stands_for_others;
        }
        is_stray
    }

    /// The value of a term at the current point.
    pub(super) fn value(&mut self, term: &Term) -> Value {
        let value = match &term.node {
            Node::Constant(value) => value.map_or(Value::Absent(Scalar::zero(term.dtype)), Value::Written),
            Node::Element(tensor, indices) => self.element(*tensor, indices),
            Node::Index(var) => Value::Stored(Scalar::Int(i128::from(self.at[var.index()]))),
            Node::Related(function, sides) => self.related(*function, sides),
            Node::Cast(a) => {
                let value = self.value(a);
                if term.dtype == DType::Pattern {
                    // Stored zeros are true.
                    self.exceptional |= value.scalar().is_zero();
                    self.opened |= self.of_nothing || self.filled_up;
                }
                cast(value, term.dtype)
            }
            Node::Unary(UnaryFn::Prune, a) => pruned(self.value(a)),
            Node::Unary(function, a) => unary(self.value(a), |value| value.unary(*function, a.dtype)),
            Node::Binary(function, a, b) => {
                let mut of = |operand: &Term| {
                    let value = self.value(operand);
                    if is_pattern_of(*function, operand) { holding(value) } else { value }
                };
                let (left, right) = (of(a), of(b));
                let divides = matches!(function, BinaryFn::Div | BinaryFn::Rem);
                self.exceptional |= divides && right.scalar().is_zero();
                // Where structures are known, a product with a zero that is written is taken for 0 whatever the other factor is.
                let is_zero = |value: Value| matches!(value, Value::Written(zero) if zero.is_zero());
                let vanishes = match function {
                    BinaryFn::Mul => is_zero(left) || is_zero(right),
                    BinaryFn::Div | BinaryFn::IntDiv | BinaryFn::Rem => is_zero(left),
                    _ => false,
                };
                self.filled_up |= vanishes && self.program.knows_structures();
                binary(*function, left, right, a.dtype)
            }
            Node::Select(operands) => {
                let [condition, a, b] = &**operands;
                selected([self.value(condition), self.value(a), self.value(b)])
            }
            Node::Apply(operator, operands) => {
                let values: Vec<Value> = operands.iter().map(|operand| self.value(operand)).collect();
                let rests = if operator.has_regions { rests(self.program, operands, self.fills) } else { Vec::new() };
                operator.value(&values, &rests)
            }
            Node::Operand(_) => Value::Written(Scalar::zero(term.dtype)),
            Node::Reduce { operation, var, body, .. } => match gives_index(operation) {
                Some(function) => self.index_of(function, *var, body),
                None => self.reduce(operation, *var, body),
            },
        };
        self.peak = self.peak.max(finite(Some(value.scalar())));
        self.exceptional |= !value.scalar().magnitude().is_finite();
        value
    }

    /// The coordinate of a tensor that indices are at the current point.
    pub(super) fn coordinate(&self, tensor: TensorId, indices: &[Index]) -> Option<Vec<u64>> {
        let element = |tensor: TensorId, at: &[u64]| self.number(tensor, at);
        coordinate(tensor, indices, &self.at, Asked { element: &element, dims: &self.program.dims })
    }

    /// The element of a tensor of integers at a coordinate, unless that lies outside.
    pub(super) fn number(&self, tensor: TensorId, at: &[u64]) -> Option<i128> {
        let is_inside = at.iter().zip(&self.program.dims[tensor.index()]).all(|(at, size)| at < size);
        let stored = self.stored[tensor.index()].as_ref().filter(|_| is_inside)?;
        let value = stored.get(at.iter().copied()).map_or(self.fills[tensor.index()], |(value, _)| value);
        match value {
            Scalar::Int(value) => Some(value),
            _ => None,
        }
    }

    /// True, where a relation of index variables holds at the current point, and else nothing. A border is that of the dimension of the
    /// variable on the left.
    pub(super) fn related(&self, function: BinaryFn, sides: &[Index; 2]) -> Value {
        let size = sides[0].variable().map_or(0, |var| self.program.sizes[var.index()]);
        let element = |tensor: TensorId, at: &[u64]| self.number(tensor, at);
        let asked = Asked { element: &element, dims: &self.program.dims };
        let [left, right] = sides.each_ref().map(|side| side.value(size, &self.at, asked));
        let holds = left.zip(right).is_some_and(|(left, right)| match function {
            BinaryFn::Eq => left == right,
            BinaryFn::Ge => left >= right,
            BinaryFn::Gt => left > right,
            BinaryFn::Le => left <= right,
            _ => left < right,
        });
        let value = Scalar::Bool(holds);
        if holds { Value::Stored(value) } else { Value::Absent(value) }
    }

    pub(super) fn element(&mut self, tensor: TensorId, indices: &[Index]) -> Value {
        let at = self.coordinate(tensor, indices);
        let stored = self.stored[tensor.index()].as_ref();
        let found = at.and_then(|at| stored.and_then(|lookup| lookup.get(at.into_iter())));
        let (format, fill) = (&self.program.formats[tensor.index()], self.fills[tensor.index()]);
        // An engine visits every coordinate that such an index comes to.
        self.loosened |= !fill.is_zero() && indices.iter().any(|index| index.variable().is_none());
        let Some((value, scale)) = found else {
            // The storage of a packed tensor gives all elements, also those that follow from others; loops over stored dimensions may
            // gather those of a map in an array.
            let gives_all = format.map().is_some() || format.packing().is_some();
            self.filled_up |= gives_all || stored.is_some_and(|lookup| lookup.is_loose);
            return Value::Absent(fill);
        };
        let may_be_left_out = match format.is_dense() {
            true => self.program.is_structured[tensor.index()],
            false => format.is_padded() || self.program.tensor(tensor).result,
        };
        self.filled_up |= value == fill && may_be_left_out;
        self.peak = self.peak.max(scale);
        Value::Stored(value)
    }

    pub(super) fn reduce(&mut self, operation: &Operation, var: VarId, body: &Term) -> Value {
        let (outer, dtype) = (self.at[var.index()], body.dtype);
        let identity = operation.identity(dtype);
        let mut total: Option<Scalar> = None;
        let (mut is_stored, mut is_written) = (!operation.is_idempotent(dtype), true);
        let mut is_absent = true;
        let count = self.program.count(var);
        for number in 0..count {
            let (c, stray) = self.place(var, number);
            self.at[var.index()] = c;
            let value = self.value(body);
            if value.rests_at(identity) {
                continue;
            }
            self.count_exponent(operation, body, value.scalar());
            self.count_growth(operation, body, value.scalar());
            self.misled |= operation.is_changed_by_identity(value.scalar(), dtype);
            self.loosened |= matches!(value, Value::Absent(_));
            is_stored |= matches!(value, Value::Stored(_));
            is_written &= matches!(value, Value::Written(_));
            is_absent &= matches!(value, Value::Absent(_));
            self.strayed |= stray;
            let value = value.scalar();
            let so_far = total.map_or(value, |total| operation.of_numbers(total, value, dtype));
            self.peak = self.peak.max(finite(Some(so_far)));
            total = Some(so_far);
        }
        self.at[var.index()] = outer;
        self.emptied |= count == 0 && !identity.is_zero();
        self.of_nothing |= is_absent && total.is_some();
        match total {
            None => Value::Absent(identity),
            Some(total) if is_stored => Value::Stored(total),
            Some(total) if is_written => Value::Written(total),
            Some(total) => Value::Absent(total),
        }
    }

    /// Takes note of a factor of a product over a variable, unless that is a product over another one, whose factors were counted.
    fn count_exponent(&mut self, operation: &Operation, body: &Term, value: Scalar) {
        let is_product = |operation: &Operation| matches!(operation, Operation::Function(BinaryFn::Mul));
        let counts = is_product(operation)
            && !matches!(&body.node, Node::Reduce { operation, .. } if is_product(operation))
            && value.magnitude().is_normal();
        if counts {
            let exponent = value.magnitude().log2();
            self.exponents[usize::from(exponent < 0.0)] += exponent.abs();
        }
    }

    /// Takes note of a value that an operator which multiplies combines with others over a variable, unless it is such a combination over
    /// another one, whose values were counted.
    fn count_growth(&mut self, operation: &Operation, body: &Term, value: Scalar) {
        if operation.multiplies()
            && !matches!(&body.node, Node::Reduce { operation: own, .. } if own == operation)
            && value.magnitude().is_finite()
        {
            self.grown += (1.0 + value.magnitude()).log2();
            self.peak = self.peak.max(self.grown.exp2());
        }
    }

    /// Forgets all that occurred on the way to a value.
    pub(super) fn reset(&mut self) {
        (self.peak, self.exceptional, self.filled_up, self.emptied) = (0.0, false, false, false);
        (self.tied, self.exponents, self.grown, self.misled) = (false, [0.0; 2], 0.0, false);
        (self.of_nothing, self.opened) = (false, false);
    }

    /// True if engines may come to different values: of a term with a sum that can be moved or without, computed in one type and stored
    /// in another.
    pub(super) fn is_moot(&self, movable: bool, (computed, stored): (DType, DType)) -> bool {
        let depends_on_place = (movable || self.filled_up) && self.exceptional;
        let depends_on_order = self.may_overflow(computed) || self.misled;
        let is_open = self.opened || ((self.of_nothing || self.filled_up) && stored == DType::Pattern);
        depends_on_place || depends_on_order || is_open || self.emptied || self.tied
    }

    /// True if products over variables, or combinations that multiply, may leave the range of a type in some order of their operands.
    pub(super) fn may_overflow(&self, dtype: DType) -> bool {
        let most = match dtype.part() {
            DType::F64 => f64::from(f64::MAX_EXP),
            _ => f64::from(f32::MAX_EXP),
        };
        matches!(dtype.kind(), Kind::Real | Kind::Complex)
            && self.exponents.iter().chain([&self.grown]).any(|&sum| sum > most - 3.0)
    }
}

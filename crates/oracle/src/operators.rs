//! Operators that a program declares, by definition: their bodies are evaluated on numbers.
//!
//! - An operator with one body takes an absent operand as its fill value. One that is the annihilator makes the result absent; one that is
//!   the identity leaves the other operand, whatever the body gives.
//! - An operator with regions asks of each operand if it is *present*: if its value differs from the value where nothing is stored. An
//!   operand without such a value is always present. The body is that of the region; where there is none, the value is that of the region
//!   in which nothing is present, or 0. The result is absent unless all operands of some region with a body are stored.
//!
//! The properties are taken as they are declared.

use std::rc::Rc;

use lacunar_formats::{DType, External};
use lacunar_front::einsum::{Bodies, Declared};
use lacunar_notation::{BinaryFn, Literal};

use crate::absence::{self, Value};
use crate::oracle::children;
use crate::scalar::Scalar;
use crate::sums::{Node, Term};

/// An operator for operands of a type.
#[derive(Clone, Debug, PartialEq)]
pub struct Defined {
    /// Its name.
    pub name: String,
    /// The type of the operands.
    pub operand: DType,
    /// The type of the result.
    pub result: DType,
    /// The body, or that of each region, by the number whose bits are the operands that are present.
    pub bodies: Vec<Option<Term>>,
    /// True if the bodies are those of regions.
    pub has_regions: bool,
    /// The function of other code that gives the value, if there are no bodies.
    pub external: Option<External>,
    identity: Option<Scalar>,
    annihilator: Option<Scalar>,
    is_idempotent: bool,
}

impl Defined {
    /// An operator for a type, with its bodies.
    pub fn new(declared: &Declared, operand: DType, bodies: Vec<Option<Term>>, has_regions: bool) -> Defined {
        let declaration = declared.operator.declaration();
        let value = |literal: Literal| match literal {
            Literal::Int(value) => Scalar::Int(value).cast(operand),
            Literal::Float(value) => Scalar::Real(value).cast(operand),
            Literal::Bool(value) => Scalar::Bool(value).cast(operand),
            Literal::Absent => Scalar::zero(operand),
            Literal::Fill(value) => Scalar::from(value).cast(operand),
        };
        let external = match &declared.bodies {
            Bodies::External(function) => Some(*function),
            _ => None,
        };
        let result = bodies.iter().flatten().next().map_or(operand, |body| body.dtype);
        let result = external.map_or(result, |function| function.signature().result);
        Defined {
            name: declaration.name.clone(),
            operand,
            result,
            bodies,
            has_regions,
            external,
            identity: declaration.properties.identity.map(value),
            annihilator: declaration.properties.annihilator.map(value),
            is_idempotent: declaration.properties.idempotent,
        }
    }

    /// The value for operands that are not present at these values.
    pub fn value(&self, operands: &[Value], rests: &[Option<Scalar>]) -> Value {
        let values: Vec<Scalar> = operands.iter().map(|operand| operand.scalar()).collect();
        if self.has_regions {
            return self.in_region(operands, &values, rests);
        }
        let absent = |operand: &Value| match operand {
            Value::Absent(value) => Some(*value),
            _ => None,
        };
        if let Some(by) = self.annihilator.filter(|by| operands.iter().any(|operand| absent(operand) == Some(*by))) {
            return Value::Absent(by.cast(self.result));
        }
        let is_identity = |operand: &Value| self.identity.is_some() && absent(operand) == self.identity;
        let value = match operands {
            [a, b] if is_identity(a) => b.scalar(),
            [a, b] if is_identity(b) => a.scalar(),
            _ if self.external.is_some() => {
                self.external.map_or(Scalar::zero(self.result), |function| called(function, &values, self.operand))
            }
            _ => {
                self.bodies.first().and_then(Option::as_ref).map_or(Scalar::zero(self.result), |body| of(body, &values))
            }
        };
        if operands.iter().any(|operand| matches!(operand, Value::Stored(_))) {
            return Value::Stored(value);
        }
        let from_fill = operands.iter().filter_map(absent).any(|fill| !fill.is_zero());
        let is_zero = operands.iter().any(|operand| absent(operand).is_some()) && value.is_zero();
        if from_fill || is_zero { Value::Absent(value) } else { Value::Written(value) }
    }

    fn in_region(&self, operands: &[Value], values: &[Scalar], rests: &[Option<Scalar>]) -> Value {
        let bits =
            |holds: &dyn Fn(usize) -> bool| (0..operands.len()).filter(|k| holds(*k)).fold(0, |set, k| set | 1 << k);
        let stored = bits(&|k| !matches!(operands[k], Value::Absent(_)));
        let same = |a: Scalar, b: Scalar| a == b || (a.magnitude().is_nan() && b.magnitude().is_nan());
        let rest = |k: usize| rests.get(k).copied().flatten();
        let region = bits(&|k| stored >> k & 1 == 1 && rest(k).is_none_or(|rest| !same(values[k], rest)));
        let at_rest: Vec<Scalar> = (0..values.len()).map(|k| rest(k).unwrap_or(Scalar::zero(self.operand))).collect();
        let otherwise = || match self.bodies.first() {
            Some(Some(body)) => of(body, &at_rest),
            _ => Scalar::zero(self.result),
        };
        let value = match self.bodies.get(region) {
            Some(Some(body)) if region != 0 => of(body, values),
            _ => otherwise(),
        };
        let is_told = (1..self.bodies.len()).any(|set| self.bodies[set].is_some() && set & stored == set);
        if is_told { Value::Stored(value) } else { Value::Absent(value) }
    }
}

/// The value of a function of other code.
fn called(function: External, operands: &[Scalar], dtype: DType) -> Scalar {
    let operands: Vec<lacunar_formats::Scalar> = operands.iter().map(|operand| operand.fill(dtype)).collect();
    Scalar::from(function.call(&operands))
}

/// The value of a body.
fn of(body: &Term, operands: &[Scalar]) -> Scalar {
    let value = |term: &Term| of(term, operands);
    match &body.node {
        Node::Constant(value) => value.unwrap_or(Scalar::zero(body.dtype)),
        Node::Operand(k) => operands.get(*k).copied().unwrap_or(Scalar::zero(body.dtype)),
        Node::Unary(function, a) => value(a).unary(*function, a.dtype),
        Node::Binary(function, a, b) => value(a).binary(*function, value(b), a.dtype),
        Node::Cast(a) => value(a).cast(body.dtype),
        Node::Select(parts) => {
            let [condition, a, b] = &**parts;
            if value(condition).is_zero() { value(b) } else { value(a) }
        }
        Node::Apply(operator, parts) => {
            let values: Vec<Value> = parts.iter().map(|part| Value::Stored(value(part))).collect();
            operator.value(&values, &[]).scalar()
        }
        // A body has its operands alone.
        Node::Element(..) | Node::Related(..) | Node::Index(_) | Node::Reduce { .. } => Scalar::zero(body.dtype),
    }
}

/// True if a body has a product of its two operands.
fn multiplies(body: &Term) -> bool {
    let is_product = match &body.node {
        Node::Binary(BinaryFn::Mul, a, b) => (uses(a, 0) && uses(b, 1)) || (uses(a, 1) && uses(b, 0)),
        _ => false,
    };
    is_product || children(body).into_iter().any(multiplies)
}

/// True if a body has an operand.
fn uses(body: &Term, operand: usize) -> bool {
    matches!(body.node, Node::Operand(own) if own == operand)
        || children(body).into_iter().any(|child| uses(child, operand))
}

/// An operation that combines values.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// A function of the language.
    Function(BinaryFn),
    /// An operator that the program declares.
    Operator(Rc<Defined>),
}

impl Operation {
    /// The sum.
    pub const SUM: Operation = Operation::Function(BinaryFn::Add);

    /// The value that it leaves others as they are with.
    pub fn identity(&self, dtype: DType) -> Scalar {
        match self {
            Operation::Function(function) => absence::identity(*function, dtype),
            Operation::Operator(operator) => operator.identity.unwrap_or(Scalar::zero(dtype)),
        }
    }

    /// True if it gives the value of a value and itself.
    pub fn is_idempotent(&self, dtype: DType) -> bool {
        match self {
            Operation::Function(function) => absence::is_idempotent(*function, dtype),
            Operation::Operator(operator) => operator.is_idempotent,
        }
    }

    /// True if it multiplies what it combines, beside other things: what cancels at the end may have become large on the way, in some order
    /// of the operands. So it is with `a + b + a * b`.
    pub fn multiplies(&self) -> bool {
        match self {
            Operation::Function(_) => false,
            Operation::Operator(operator) => operator.bodies.iter().flatten().any(multiplies),
        }
    }

    /// Two numbers combined.
    pub fn of_numbers(&self, a: Scalar, b: Scalar, dtype: DType) -> Scalar {
        match self {
            Operation::Function(function) => a.binary(*function, b, dtype),
            Operation::Operator(operator) => operator.value(&[Value::Stored(a), Value::Stored(b)], &[]).scalar(),
        }
    }

    /// True if the declared identity of an operator, combined with a number, is no number where that is one, or the other way round:
    /// it depends on an engine if the two are combined. So it is with `a + b + a * b`, identity 0, and an infinity.
    pub fn is_changed_by_identity(&self, value: Scalar, dtype: DType) -> bool {
        let combined = || self.of_numbers(self.identity(dtype), value, dtype);
        matches!(self, Operation::Operator(_)) && combined().magnitude().is_nan() != value.magnitude().is_nan()
    }

    /// Two values combined.
    pub fn of_values(&self, a: Value, b: Value, dtype: DType) -> Value {
        match self {
            Operation::Function(function) => absence::binary(*function, a, b, dtype),
            Operation::Operator(operator) => operator.value(&[a, b], &[]),
        }
    }
}

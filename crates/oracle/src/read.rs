//! The program as the oracle reads it: from the syntax tree of the text, by rules of its own.
//!
//! The front end's check has no part in it, so that its changes and omissions are seen. The oracle is given a program that is
//! right, and needs to know of it:
//!
//! - which names are tensors and which are variables: `name(...)` is a conversion, a function or a reduction if it is called like one,
//!   and else an element;
//! - the type of each part ([`crate::types`]): constants take the type of the operand beside them, or are `i64` and `f64`;
//!   constants alone are computed at once; values of types for storage only (`f16`, `bf16`, `pattern`) are computed with in a wider
//!   type, and rounded where they are written, by a conversion or an assignment;
//! - the size of each variable: that of every dimension it runs through.

use std::collections::BTreeMap;

use lacunar_formats::{DType, Kind};
use lacunar_front::einsum::{Expr, ExprKind, Number, Statement as Written};
use lacunar_front::{Declarations, parse};
use lacunar_notation::{BinaryFn, Function, TensorId, UnaryFn, VarId};

use crate::scalar::Scalar;
use crate::sums::{Node, Term, cast, reduce};
use crate::types::{computed_in, mixed, of_binary, of_unary};

/// A program as it was written.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// The tensors.
    pub tensors: Vec<Known>,
    /// The names of the variables.
    pub vars: Vec<String>,
    /// The statements.
    pub statements: Vec<Statement>,
}

/// The facts that are known of a tensor.
#[derive(Clone, Debug)]
pub struct Known {
    /// Its name.
    pub name: String,
    /// Its number of dimensions.
    pub order: usize,
    /// Its type: declared, or that of the first value that is assigned, or `f64`.
    pub dtype: DType,
    /// The value of elements that are not stored, if it is declared.
    pub fill: Option<Scalar>,
    /// True if it is assigned to.
    pub result: bool,
}

/// A statement.
#[derive(Clone, Debug)]
pub struct Statement {
    /// The tensor that is assigned to.
    pub target: TensorId,
    /// Its variables.
    pub vars: Vec<VarId>,
    /// The operation that combines the value with the earlier one, if it does not replace it.
    pub combines: Option<BinaryFn>,
    /// The value, in the type of the target; reductions that are not written are not there yet.
    pub rhs: Term,
    /// The text.
    pub text: String,
}

/// Reads a program that checks.
///
/// # Errors
/// The text is no program, or not one that the front end may let through.
pub fn read(source: &str, declarations: &Declarations) -> Result<Reading, String> {
    let (ast, errors) = parse(source);
    if let Some(error) = errors.first() {
        return Err(error.message.clone());
    }
    let mut reader = Reader { declarations, reading: Reading::default(), types: Vec::new() };
    for statement in &ast.statements {
        reader.targets(statement);
    }
    for statement in &ast.statements {
        reader.statement(statement, source)?;
    }
    let types = reader.types;
    let mut reading = reader.reading;
    for (tensor, dtype) in reading.tensors.iter_mut().zip(types) {
        tensor.dtype = dtype.unwrap_or(DType::F64);
        tensor.fill = declarations.fills.get(&tensor.name).map(|&fill| Scalar::from(fill).declared_fill(tensor.dtype));
    }
    Ok(reading)
}

struct Reader<'a> {
    declarations: &'a Declarations,
    reading: Reading,
    /// The type of each tensor, once it is known.
    types: Vec<Option<DType>>,
}

/// A value whose type may still be open.
enum Value {
    /// A constant.
    Open(Constant),
    /// A term, and the type by which it mixes. The term's own type is there to compute in.
    Typed(Term, DType),
}

#[derive(Clone, Copy)]
enum Constant {
    Whole(i128),
    Fraction(f64),
}

impl Constant {
    /// Its type if nothing else says one.
    fn alone(self) -> DType {
        match self {
            Constant::Whole(value) if value > i128::from(i64::MAX) => DType::U64,
            Constant::Whole(_) => DType::I64,
            Constant::Fraction(_) => DType::F64,
        }
    }

    /// Its type, and that of the operand, beside an operand of a type.
    fn beside(self, other: DType) -> DType {
        match (self, other.kind()) {
            (_, Kind::Bool) => self.alone(),
            (Constant::Fraction(_), Kind::Signed | Kind::Unsigned) => DType::F64,
            _ => other,
        }
    }

    fn real(self) -> f64 {
        match self {
            Constant::Whole(value) => value as f64,
            Constant::Fraction(value) => value,
        }
    }

    fn of(self, dtype: DType) -> Term {
        let value = match (self, dtype.kind()) {
            (Constant::Whole(value), Kind::Signed | Kind::Unsigned) => Scalar::Int(value),
            // A number of the program is rounded once.
            _ => Scalar::Real(self.real()).cast(dtype),
        };
        Term { node: Node::Constant(Some(value)), dtype }
    }
}

impl Reader<'_> {
    fn targets(&mut self, statement: &Written) {
        let tensor = self.tensor(&statement.name.text, statement.indices.len());
        self.reading.tensors[tensor.index()].result = true;
        if !self.declarations.dtypes.contains_key(&statement.name.text) {
            self.types[tensor.index()] = None;
        }
    }

    fn statement(&mut self, statement: &Written, source: &str) -> Result<(), String> {
        let target = self.tensor(&statement.name.text, statement.indices.len());
        let vars = self.vars(&statement.indices)?;
        let value = self.value(&statement.rhs)?;
        let rhs = match (self.types[target.index()], value) {
            (None, value) => {
                let dtype = alone(&value);
                self.types[target.index()] = Some(dtype);
                cast(settled(value, dtype), dtype)
            }
            // The type that a constant has alone says if it is a number or a truth value.
            (Some(dtype), Value::Open(constant)) => {
                let own = match (constant, dtype.kind()) {
                    (_, Kind::Bool) => constant.alone(),
                    (Constant::Fraction(_), Kind::Signed | Kind::Unsigned) => DType::F64,
                    _ => computed_in(dtype),
                };
                cast(constant.of(own), dtype)
            }
            (Some(dtype), Value::Typed(term, _)) => cast(term, dtype),
        };
        let combines = statement.op.monoid().map(|monoid| monoid.function());
        let text = source.get(statement.span.start as usize..statement.span.end as usize).unwrap_or(source).to_string();
        self.reading.statements.push(Statement { target, vars, combines, rhs, text });
        Ok(())
    }

    fn tensor(&mut self, name: &str, order: usize) -> TensorId {
        let known = self.reading.tensors.iter().position(|tensor| tensor.name == name);
        TensorId::from_index(known.unwrap_or_else(|| {
            let dtype = self.declarations.dtypes.get(name).copied().unwrap_or(DType::F64);
            self.types.push(Some(dtype));
            self.reading.tensors.push(Known { name: name.to_string(), order, dtype, fill: None, result: false });
            self.types.len() - 1
        }))
    }

    fn vars(&mut self, indices: &[Expr]) -> Result<Vec<VarId>, String> {
        let mut found = Vec::new();
        for index in indices {
            let ExprKind::Name(name) = &index.kind else { return Err("an index is no variable".to_string()) };
            let known = self.reading.vars.iter().position(|var| var == name);
            found.push(VarId::from_index(known.unwrap_or_else(|| {
                self.reading.vars.push(name.clone());
                self.reading.vars.len() - 1
            })));
        }
        Ok(found)
    }

    fn value(&mut self, expr: &Expr) -> Result<Value, String> {
        Ok(match &expr.kind {
            ExprKind::Number(Number::Int(value)) => Value::Open(Constant::Whole(i128::from(*value))),
            ExprKind::Number(Number::Float(value)) => Value::Open(Constant::Fraction(*value)),
            ExprKind::Bool(value) => {
                let node = Node::Constant(Some(Scalar::Bool(*value)));
                Value::Typed(Term { node, dtype: DType::Bool }, DType::Bool)
            }
            ExprKind::Name(name) => self.element(name, &[])?,
            ExprKind::Cast { dtype, operand } => {
                let dtype = DType::parse(&dtype.text).ok_or_else(|| format!("`{}` is no type", dtype.text))?;
                self.converted(operand, dtype)?
            }
            ExprKind::Neg(operand) => {
                let operand = self.value(operand)?;
                unary(UnaryFn::Neg, operand)
            }
            ExprKind::Binary(op, left, right) => {
                use lacunar_front::einsum::BinaryOp::{Add, Div, Mul, Sub};
                let function = match op {
                    Add => BinaryFn::Add,
                    Sub => BinaryFn::Sub,
                    Mul => BinaryFn::Mul,
                    Div => BinaryFn::Div,
                };
                let (left, right) = (self.value(left)?, self.value(right)?);
                match (left, right) {
                    (Value::Open(a), Value::Open(b)) => Value::Open(computed(function, a, b)),
                    (left, right) => binary(function, left, right),
                }
            }
            ExprKind::Apply { name, args, brackets: true } => self.element(&name.text, args)?,
            ExprKind::Apply { name, args, brackets: false } => self.applied(&name.text, args)?,
        })
    }

    /// `name(args)`.
    fn applied(&mut self, name: &str, args: &[Expr]) -> Result<Value, String> {
        let first = || args.first().ok_or_else(|| format!("`{name}` has no operand"));
        if let Some(operation) = reduction(name, args) {
            let Some((body, vars)) = args.split_last() else { return Err("a reduction of nothing".to_string()) };
            let vars = self.vars(vars)?;
            let body = self.value(body)?;
            let mixes = alone(&body);
            let total =
                vars.into_iter().rev().fold(settled(body, mixes), |body, var| reduce(operation, body, var, true));
            return Ok(Value::Typed(total, mixes));
        }
        match (Function::parse(name), DType::parse(name)) {
            (Some(Function::Unary(function)), _) => {
                let operand = self.value(first()?)?;
                Ok(unary(function, operand))
            }
            (Some(Function::Binary(function)), _) => {
                let mut value = self.value(first()?)?;
                for other in &args[1..] {
                    let other = self.value(other)?;
                    value = binary(function, value, other);
                }
                Ok(value)
            }
            (None, Some(dtype)) => self.converted(first()?, dtype),
            (None, None) => self.element(name, args),
        }
    }

    fn element(&mut self, name: &str, indices: &[Expr]) -> Result<Value, String> {
        let tensor = self.tensor(name, indices.len());
        let vars = self.vars(indices)?;
        let dtype = self.types[tensor.index()].ok_or_else(|| format!("`{name}` is read before it has a value"))?;
        let element = Term { node: Node::Element(tensor, vars), dtype };
        Ok(Value::Typed(cast(element, computed_in(dtype)), dtype))
    }

    fn converted(&mut self, operand: &Expr, dtype: DType) -> Result<Value, String> {
        let operand = self.value(operand)?;
        let own = alone(&operand);
        let stored = cast(settled(operand, own), dtype);
        Ok(Value::Typed(cast(stored, computed_in(dtype)), dtype))
    }
}

/// The operation of `name(k, .., body)`, if that is a reduction: what stands before the last argument are indices in it.
fn reduction(name: &str, args: &[Expr]) -> Option<BinaryFn> {
    let (body, vars) = args.split_last()?;
    let is_var = |var: &Expr| matches!(&var.kind, ExprKind::Name(name) if is_index(name, body));
    let operation = match name {
        "sum" => return Some(BinaryFn::Add),
        "prod" => return Some(BinaryFn::Mul),
        "min" => BinaryFn::Min,
        "max" => BinaryFn::Max,
        "and" => BinaryFn::And,
        "or" => BinaryFn::Or,
        "xor" => BinaryFn::Xor,
        "any" => BinaryFn::Any,
        _ => return None,
    };
    (!vars.is_empty() && vars.iter().all(is_var)).then_some(operation)
}

/// True if an element in an expression has an index of this name.
fn is_index(name: &str, expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Apply { name: applied, args, brackets } => {
            let is_name = |arg: &Expr| matches!(&arg.kind, ExprKind::Name(own) if own == name);
            let is_call = Function::parse(applied.text.as_str()).is_some()
                || DType::parse(&applied.text).is_some()
                || matches!(applied.text.as_str(), "sum" | "prod");
            let is_element = *brackets || !is_call;
            (is_element && args.iter().any(is_name)) || args.iter().any(|arg| is_index(name, arg))
        }
        ExprKind::Neg(a) | ExprKind::Cast { operand: a, .. } => is_index(name, a),
        ExprKind::Binary(_, a, b) => is_index(name, a) || is_index(name, b),
        ExprKind::Number(_) | ExprKind::Bool(_) | ExprKind::Name(_) => false,
    }
}

fn alone(value: &Value) -> DType {
    match value {
        Value::Open(constant) => constant.alone(),
        Value::Typed(_, DType::Pattern) => DType::Bool,
        Value::Typed(_, dtype) => *dtype,
    }
}

/// The value in the type that a type is computed in.
fn settled(value: Value, dtype: DType) -> Term {
    match value {
        Value::Open(constant) => constant.of(computed_in(dtype)),
        Value::Typed(term, _) => cast(term, computed_in(dtype)),
    }
}

fn unary(function: UnaryFn, operand: Value) -> Value {
    match (function, &operand) {
        (UnaryFn::Neg, &Value::Open(Constant::Whole(value))) => return Value::Open(Constant::Whole(-value)),
        (UnaryFn::Neg, &Value::Open(Constant::Fraction(value))) => return Value::Open(Constant::Fraction(-value)),
        _ => {}
    }
    let (from, to) = of_unary(function, alone(&operand));
    let node = Node::Unary(function, Box::new(settled(operand, from)));
    Value::Typed(Term { node, dtype: computed_in(to) }, to)
}

fn binary(function: BinaryFn, left: Value, right: Value) -> Value {
    let mixes = match (&left, &right) {
        (&Value::Open(a), Value::Open(b)) => mixed(a.alone(), b.alone()),
        (&Value::Open(constant), other) | (other, &Value::Open(constant)) => constant.beside(alone(other)),
        (left, right) => mixed(alone(left), alone(right)),
    };
    let (from, to) = of_binary(function, mixes);
    let node = Node::Binary(function, Box::new(settled(left, from)), Box::new(settled(right, from)));
    Value::Typed(Term { node, dtype: computed_in(to) }, to)
}

/// An operation on constants.
fn computed(function: BinaryFn, a: Constant, b: Constant) -> Constant {
    match (function, a, b) {
        (BinaryFn::Add, Constant::Whole(a), Constant::Whole(b)) => Constant::Whole(a + b),
        (BinaryFn::Sub, Constant::Whole(a), Constant::Whole(b)) => Constant::Whole(a - b),
        (BinaryFn::Mul, Constant::Whole(a), Constant::Whole(b)) => Constant::Whole(a * b),
        (BinaryFn::Add, ..) => Constant::Fraction(a.real() + b.real()),
        (BinaryFn::Sub, ..) => Constant::Fraction(a.real() - b.real()),
        (BinaryFn::Mul, ..) => Constant::Fraction(a.real() * b.real()),
        _ => Constant::Fraction(a.real() / b.real()),
    }
}

/// The size of each variable of a program; 0 for one that nothing has. Tensors are given, or declared.
///
/// # Errors
/// Sizes that disagree, or are not known.
pub fn sizes(
    reading: &Reading,
    declarations: &Declarations,
    dims: &dyn Fn(&str) -> Option<Vec<u64>>,
) -> Result<Vec<u64>, String> {
    let mut accesses: Vec<(TensorId, &[VarId])> = Vec::new();
    for statement in &reading.statements {
        accesses.push((statement.target, &statement.vars));
        collect(&statement.rhs, &mut accesses);
    }
    let one = |dims: &Vec<u64>| if let [size] = dims[..] { Some(size) } else { None };
    let declared =
        |name: &str| declarations.sizes.get(name).copied().or_else(|| declarations.dims.get(name).and_then(one));
    let mut sizes: Vec<Option<u64>> = reading.vars.iter().map(|name| declared(name)).collect();
    let mut known: Vec<Vec<Option<u64>>> = Vec::new();
    for tensor in &reading.tensors {
        let own = dims(&tensor.name).or_else(|| declarations.dims.get(&tensor.name).cloned());
        let own = own.or_else(|| declarations.sizes.get(&tensor.name).map(|&size| vec![size]));
        let own: Vec<Option<u64>> = own.map_or(vec![None; tensor.order], |dims| dims.into_iter().map(Some).collect());
        if own.len() != tensor.order {
            return Err(format!("`{}` has {} sizes and {} variables", tensor.name, own.len(), tensor.order));
        }
        known.push(own);
    }
    let mut changes = true;
    while changes {
        changes = false;
        for (tensor, vars) in &accesses {
            for (dimension, var) in vars.iter().enumerate() {
                let (of_dimension, of_var) = (&mut known[tensor.index()][dimension], &mut sizes[var.index()]);
                match (*of_dimension, *of_var) {
                    (Some(a), Some(b)) if a != b => {
                        return Err(format!("variable `{}` has sizes {a} and {b}", reading.vars[var.index()]));
                    }
                    (None, Some(_)) => (*of_dimension, changes) = (*of_var, true),
                    (Some(_), None) => (*of_var, changes) = (*of_dimension, true),
                    _ => {}
                }
            }
        }
    }
    for var in accesses.iter().flat_map(|(_, vars)| vars.iter()) {
        if sizes[var.index()].is_none() {
            return Err(format!("variable `{}` has no size", reading.vars[var.index()]));
        }
    }
    Ok(sizes.into_iter().map(|size| size.unwrap_or(0)).collect())
}

/// All elements of a term.
pub fn collect<'t>(term: &'t Term, found: &mut Vec<(TensorId, &'t [VarId])>) {
    match &term.node {
        Node::Constant(_) => {}
        Node::Element(tensor, vars) => found.push((*tensor, vars)),
        Node::Unary(_, a) | Node::Cast(a) | Node::Reduce { body: a, .. } => collect(a, found),
        Node::Binary(_, a, b) => {
            collect(a, found);
            collect(b, found);
        }
    }
}

/// The statements of a program, by the tensors that they assign to.
pub fn results(reading: &Reading) -> BTreeMap<&str, &Known> {
    reading.tensors.iter().filter(|tensor| tensor.result).map(|tensor| (tensor.name.as_str(), tensor)).collect()
}

//! Step 3: the type of every expression, with the conversions made explicit.
//!
//! Types mix as in NumPy 2. Constants are *weak*: `2 * A(i)` has the type of `A`, `2.5 * A(i)` has it too unless `A`
//! holds integers or truth values, then it is `f64`. Operations on constants alone are done here. On exit an operand has
//! the type that its function asks for, through [`ExprKind::Cast`] where it had another.
//!
//! A type for storage only ([`DType::is_storage`]) mixes by its own rules, but another type computes its values: `A(i) * x(i)` of
//! two `f16` is `f32(A(i)) * f32(x(i))` and makes an `f16` of an open result. The value is rounded once, in the assignment.

use std::collections::BTreeMap;

use lacunar_base::Span;
use lacunar_formats::{DType, Kind, Scalar};
use lacunar_notation::index::values_name;
use lacunar_notation::operator::Typed;
use lacunar_notation::{
    Access, AssignOp, BinaryFn, Expr, ExprKind, Function, Literal, Monoid, Operator, Program, Role, TensorId, UnaryFn,
};

use super::super::ast::{self, Name, Number, Statement};
use super::super::declarations::Declarations;
use super::super::error::{Error, StatementMistake, TypeMistake};
use super::super::operators;
use super::exchanged;
use super::names::{Entry, Meaning, Names, meaning};

/// The declared type of a tensor, or the one that inputs have by default.
pub(super) fn declared(declarations: &Declarations, name: &str) -> DType {
    declarations.dtypes.get(name).copied().unwrap_or(DType::F64)
}

/// The type of a tensor as far as it is declared; the values of index variables, and those that are indices, are `i64`.
pub(super) fn of_entry(declarations: &Declarations, name: &str, entry: &Entry) -> DType {
    match entry.role {
        Role::Index => DType::I64,
        Role::Indicator => DType::Pattern,
        _ if entry.is_index => declarations.dtypes.get(name).copied().unwrap_or(DType::I64),
        _ => declared(declarations, name),
    }
}

/// Sets the fill values that are declared, and those of results that have values before. They are converted to the types of their
/// tensors, which are known.
pub(super) fn fill(program: &mut Program, declarations: &Declarations, errors: &mut Vec<Error>) {
    for id in program.tensors.handles() {
        let tensor = &mut program.tensors[id];
        let (name, span, dtype) = (&tensor.name, tensor.span, tensor.dtype);
        let known = declarations.fills.get(name).copied();
        let is_given = tensor.role == Role::Result && declarations.given.contains(name);
        let Some(declared) = known.or(is_given.then(|| Scalar::zero(dtype))) else { continue };
        match declared.to(dtype) {
            // Zeros of either sign are 0.
            Some(fill) => tensor.fill = Some(if fill.is_zero() { Scalar::zero(dtype) } else { fill }),
            None => {
                errors.push(TypeMistake::Fill { name: name.clone(), span, value: declared.to_string(), dtype }.into())
            }
        }
    }
}

/// Gives types to the statements of a program, in order.
pub(super) struct Typer<'a> {
    names: &'a Names,
    /// The type of each tensor; `None` of a result until its first assignment, and if that is wrong.
    dtypes: Vec<Option<DType>>,
    /// The integers whose assignment decided the type of a tensor, and their places.
    begins: BTreeMap<TensorId, (i128, Span)>,
    errors: &'a mut Vec<Error>,
}

/// An expression before the type of a constant is settled.
enum Value {
    /// A number, whose type its surroundings decide.
    Weak(Weak, Span),
    /// An expression of one type. A value of a type for storage only is computed in [`DType::arithmetic`], the expression's own
    /// type.
    Typed(Expr, DType),
}

/// A number as computed from the text.
#[derive(Clone, Copy)]
enum Weak {
    Int(i128),
    Float(f64),
}

impl<'a> Typer<'a> {
    pub fn new(names: &'a Names, declarations: &Declarations, errors: &'a mut Vec<Error>) -> Typer<'a> {
        let dtypes = names.tensors.iter().map(|(name, entry)| {
            let open = entry.is_open() && !declarations.dtypes.contains_key(name);
            (!open).then(|| of_entry(declarations, name, entry))
        });
        Typer { names, dtypes: dtypes.collect(), begins: BTreeMap::new(), errors }
    }

    /// The type of a tensor, once it is decided.
    pub fn dtype(&self, tensor: TensorId) -> Option<DType> {
        self.dtypes[tensor.index()]
    }

    /// Decides the type of a tensor.
    pub fn decide(&mut self, tensor: TensorId, dtype: DType) {
        self.dtypes[tensor.index()] = Some(dtype);
    }

    /// The way of assigning and the right-hand side of a statement that assigns to `target`, in the type of the target, which it
    /// decides if it is open. `None` after a mistake.
    pub fn value(&mut self, statement: &Statement, target: TensorId) -> Option<(AssignOp, Expr)> {
        if let Some(monoid) = statement.op.monoid().filter(|monoid| monoid.compared().is_some()) {
            self.errors.push(StatementMistake::IndexOperator { span: statement.span, name: monoid.name() }.into());
            return None;
        }
        let value = self.assigned(statement, target)?;
        if let (AssignOp::Reduce(monoid), Some(dtype)) = (statement.op, self.dtypes[target.index()]) {
            let monoid = self.monoid(monoid, dtype.arithmetic(), statement.span)?;
            // A pattern has no values to be combined; an element that is added to it is stored.
            let is_defined = match dtype {
                DType::Pattern => monoid == Monoid::SUM,
                dtype => monoid.is_defined(dtype.arithmetic()),
            };
            if !is_defined {
                self.not_defined(monoid.sign(), dtype, statement.span);
                return None;
            }
            return Some((AssignOp::Reduce(monoid), value));
        }
        Some((statement.op, value))
    }

    fn assigned(&mut self, statement: &Statement, target: TensorId) -> Option<Expr> {
        let value = self.expr(&statement.rhs)?;
        if self.dtypes[target.index()] == Some(DType::Pattern) {
            return Some(convert(self.settle_alone(value)?, DType::Pattern));
        }
        let Some(to) = self.dtypes[target.index()] else {
            let dtype = self.alone(&value);
            if let Value::Weak(Weak::Int(number), span) = value {
                self.begins.insert(target, (number, span));
            }
            let expr = self.settle(value, dtype)?;
            self.dtypes[target.index()] = Some(dtype);
            return Some(convert(expr, dtype));
        };
        let begins = self.begins.get(&target).copied();
        self.taken_by((&statement.name, to), value, (&statement.rhs, statement.op), begins)
    }

    /// The value that all elements of a tensor of a type get. `None` after a mistake.
    pub fn filled(&mut self, tensor: (&Name, DType), expr: &ast::Expr) -> Option<Expr> {
        let value = self.expr(expr)?;
        let own = match tensor.1 {
            DType::Pattern => self.settle_alone(value)?,
            _ => self.taken_by(tensor, value, (expr, AssignOp::Set), None)?,
        };
        // The text may round the value to the tensor's type itself: a second rounding would change nothing.
        let arithmetic = tensor.1.arithmetic();
        let rounded = match &own.kind {
            ExprKind::Cast(wide) if wide.dtype == arithmetic => match &wide.kind {
                ExprKind::Cast(stored) if stored.dtype == own.dtype => Some((**wide).clone()),
                _ => None,
            },
            _ => None,
        };
        Some(rounded.unwrap_or_else(|| own.cast(arithmetic)))
    }

    /// A value in the type of the tensor that takes it; the number that decided this type, and its place, are told in a mistake.
    fn taken_by(
        &mut self,
        (name, to): (&Name, DType),
        value: Value,
        (rhs, op): (&ast::Expr, AssignOp),
        begins: Option<(i128, Span)>,
    ) -> Option<Expr> {
        let from = match &value {
            Value::Weak(Weak::Int(_), _) if to == DType::Bool => DType::I64,
            Value::Weak(Weak::Float(_), _) if !to.is_float() => DType::F64,
            Value::Weak(..) => to,
            Value::Typed(_, dtype) => *dtype,
        };
        if from.can_assign_to(to) {
            return match value {
                Value::Typed(expr, _) => match confined(rhs) {
                    Some(_) => Some(convert(self.confined_to(expr, rhs, to.arithmetic()), to)),
                    None => Some(convert(by_way_of_reals(expr, to), to)),
                },
                // An unsigned type has no negative numbers: the positive number is negated, which wraps around.
                Value::Weak(Weak::Int(number), span)
                    if number < 0 && to.kind() == Kind::Unsigned && op == AssignOp::Reduce(Monoid::SUM) =>
                {
                    let value = self.settle(Value::Weak(Weak::Int(-number), span), to)?;
                    let kind = ExprKind::Unary(UnaryFn::Neg, Box::new(value));
                    Some(Expr { kind, dtype: to, span })
                }
                weak => Some(convert(self.settle(weak, to)?, to)),
            };
        }
        let (name, span) = (name.text.clone(), rhs.span);
        let is_whole = to.is_integer();
        let divides = is_whole && matches!(&value, Value::Typed(expr, _) if divides_integers(expr));
        self.errors.push(TypeMistake::Assignable { name, span, from, to, divides, begins }.into());
        None
    }

    /// An expression that stands alone. `None` after a mistake.
    pub fn expression(&mut self, expr: &ast::Expr) -> Option<Expr> {
        let value = self.expr(expr)?;
        self.settle_alone(value)
    }

    fn expr(&mut self, expr: &ast::Expr) -> Option<Value> {
        let span = expr.span;
        match &expr.kind {
            ast::ExprKind::Number(Number::Int(value)) => Some(Value::Weak(Weak::Int(i128::from(*value)), span)),
            ast::ExprKind::Number(Number::Float(value)) => Some(Value::Weak(Weak::Float(*value), span)),
            ast::ExprKind::Bool(value) => {
                let kind = ExprKind::Literal(Literal::Bool(*value));
                Some(Value::Typed(Expr { kind, dtype: DType::Bool, span }, DType::Bool))
            }
            // In its place beside a value, it has been typed there.
            ast::ExprKind::Identity(_) => None,
            // It is told where names are resolved.
            ast::ExprKind::List { .. } => None,
            ast::ExprKind::Name(name) if self.names.is_value(name) => {
                self.access(&values_name(name), std::slice::from_ref(expr), span)
            }
            ast::ExprKind::Name(name) => self.access(name, &[], span),
            ast::ExprKind::Apply { name, args, callee } => match meaning(&name.text, args, *callee) {
                Meaning::Access => self.access(&name.text, args, span),
                Meaning::Cast(dtype) => self.cast(dtype, args.first()?, span),
                Meaning::Reduction(monoid) => self.reduction(monoid, args, span),
                Meaning::Operator(operator) => self.applied(operator, args, span),
                Meaning::Function(Function::Unary(function)) => {
                    let operand = self.expr(args.first()?)?;
                    self.unary(function, operand, span)
                }
                Meaning::Function(Function::Binary(function)) => self.call(function, args, span),
                Meaning::Function(Function::Select) => self.select(args, span),
            },
            ast::ExprKind::Cast { dtype, operand } => match DType::parse(&dtype.text) {
                Some(dtype) => self.cast(dtype, operand, span),
                None => {
                    self.errors.push(TypeMistake::UnknownType { span: dtype.span, word: dtype.text.clone() }.into());
                    None
                }
            },
            ast::ExprKind::Neg(operand) => {
                let operand = self.expr(operand)?;
                self.unary(UnaryFn::Neg, operand, span)
            }
            ast::ExprKind::Binary(op, left, right) => {
                // Both are looked at, so that the mistakes of both are found.
                let (left, right) = (self.expr(left), self.expr(right));
                self.binary(op.function(), left?, right?, span)
            }
        }
    }

    fn access(&mut self, name: &str, indices: &[ast::Expr], span: Span) -> Option<Value> {
        let tensor = self.names.tensor(name);
        let dtype = self.dtypes[tensor.index()].or_else(|| self.taken(tensor))?;
        self.decide(tensor, dtype);
        let access = Access { tensor, vars: self.names.indices(indices), span };
        let access = Expr { kind: ExprKind::Access(access), dtype, span };
        Some(Value::Typed(convert(access, dtype.arithmetic()), of_value(dtype)))
    }

    /// The type of a tensor that is read before it is assigned to, but takes the value of another by a swap or a snapshot.
    fn taken(&self, tensor: TensorId) -> Option<DType> {
        exchanged(self.names, tensor).into_iter().find_map(|other| self.dtypes[other.index()])
    }

    fn cast(&mut self, dtype: DType, operand: &ast::Expr, span: Span) -> Option<Value> {
        let operand = self.expr(operand)?;
        let operand = self.settle_alone(operand)?;
        // A conversion to `bool` asks if the value is not zero, as for every type; one to `pattern` asks if there is a value.
        if operand.dtype.is_complex() && !dtype.is_complex() && dtype.kind() != Kind::Bool {
            self.errors.push(TypeMistake::ComplexCast { span: operand.span, from: operand.dtype, to: dtype }.into());
            return None;
        }
        let stored = Expr { span, ..convert(operand, dtype) };
        Some(Value::Typed(convert(stored, dtype.arithmetic()), of_value(dtype)))
    }

    fn reduction(&mut self, monoid: Monoid, args: &[ast::Expr], span: Span) -> Option<Value> {
        let (body, vars) = args.split_last()?;
        let body = self.expr(body)?;
        let stored = self.alone(&body);
        let body = self.settle(body, stored)?;
        let dtype = body.dtype;
        let monoid = self.monoid(monoid, dtype, span)?;
        if !monoid.compared().unwrap_or(monoid).is_defined(dtype) {
            return self.not_defined(monoid.name(), dtype, span);
        }
        if monoid.compared().is_some() {
            return self.index_of(monoid, body, vars, span);
        }
        let kind = ExprKind::Reduce(monoid, self.names.indices(vars), Box::new(body));
        Some(Value::Typed(Expr { kind, dtype, span }, stored))
    }

    /// `argmin(k, e)`: a reduction of the values of `k`, each beside the `e` that it is the index of.
    fn index_of(&mut self, monoid: Monoid, value: Expr, vars: &[ast::Expr], span: Span) -> Option<Value> {
        let [ast::Expr { kind: ast::ExprKind::Name(name), span: place, .. }] = vars else { return None };
        let access =
            Access { tensor: self.names.tensor(&values_name(name)), vars: self.names.indices(vars), span: *place };
        let index = Expr { kind: ExprKind::Access(access), dtype: DType::I64, span: *place };
        let kind = ExprKind::Reduce(monoid, self.names.indices(vars), Box::new(Expr::at(value, index)));
        Some(Value::Typed(Expr { kind, dtype: DType::I64, span }, DType::I64))
    }

    /// A call of a function of two operands, or of `min` or `max` with more.
    fn call(&mut self, function: BinaryFn, args: &[ast::Expr], span: Span) -> Option<Value> {
        let values: Vec<_> = args.iter().map(|arg| self.expr(arg)).collect();
        let mut values = values.into_iter();
        let mut result = values.next()??;
        for value in values {
            result = self.binary(function, result, value?, span)?;
        }
        Some(result)
    }

    fn unary(&mut self, function: UnaryFn, operand: Value, span: Span) -> Option<Value> {
        if let (UnaryFn::Neg, &Value::Weak(number, _)) = (function, &operand) {
            let negated = match number {
                Weak::Int(value) => Weak::Int(-value),
                Weak::Float(value) => Weak::Float(-value),
            };
            return Some(Value::Weak(negated, span));
        }
        let alone = self.alone(&operand);
        let Some((operand_type, dtype)) = function.types(alone) else {
            let name = if function == UnaryFn::Neg { "-" } else { Function::Unary(function).name() };
            return self.not_defined(name, alone, span);
        };
        let operand = self.settle(operand, operand_type)?;
        let kind = ExprKind::Unary(function, Box::new(operand));
        Some(Value::Typed(Expr { kind, dtype: dtype.arithmetic(), span }, dtype))
    }

    fn binary(&mut self, function: BinaryFn, left: Value, right: Value, span: Span) -> Option<Value> {
        if let (&Value::Weak(a, _), &Value::Weak(b, _)) = (&left, &right)
            && matches!(function, BinaryFn::Add | BinaryFn::Sub | BinaryFn::Mul | BinaryFn::Div)
        {
            let number = fold(function, a, b);
            if number.is_none() {
                self.errors.push(TypeMistake::Constant { span }.into());
            }
            return Some(Value::Weak(number?, span));
        }
        let promoted = self.promoted(&left, &right);
        let (Some(operand), Some(dtype)) = (function.operand_type(promoted), function.result_type(promoted)) else {
            let name = function.symbol().unwrap_or(Function::Binary(function).name());
            return self.not_defined(name, promoted, span);
        };
        let left = self.settle(left, operand)?;
        let right = self.settle(right, operand)?;
        let expr = Expr { span, ..Expr::binary(function, left, right, dtype.arithmetic()) };
        Some(Value::Typed(expr, dtype))
    }

    /// `select(c, a, b)`: the condition is a `bool`, and the values mix as operands of a function do.
    fn select(&mut self, args: &[ast::Expr], span: Span) -> Option<Value> {
        if let [condition, value, ast::Expr { kind: ast::ExprKind::Identity(monoid), .. }] = args {
            return self.confined(condition, value, *monoid, span);
        }
        let values: Vec<_> = args.iter().map(|arg| self.expr(arg)).collect();
        let Ok([condition, a, b]) = <[_; 3]>::try_from(values) else { return None };
        let (condition, a, b) = (condition?, a?, b?);
        let dtype = self.promoted(&a, &b);
        let condition = self.settle_alone(condition)?;
        let [a, b] = [self.settle(a, dtype)?, self.settle(b, dtype)?];
        let expr = Expr { span, ..Expr::select(convert(condition, DType::Bool), a, b) };
        Some(Value::Typed(expr, dtype))
    }

    /// A value where a condition holds, and elsewhere the identity of a monoid.
    fn confined(&mut self, condition: &ast::Expr, value: &ast::Expr, monoid: Monoid, span: Span) -> Option<Value> {
        let (condition, value) = (self.expr(condition)?, self.expr(value)?);
        let own = self.alone(&value);
        let (condition, value) = (self.settle_alone(condition)?, self.settle_alone(value)?);
        let dtype = value.dtype;
        // One that is not defined on the type is reported where it is assigned.
        let identity = self.monoid(monoid, dtype, span)?.identity(dtype).unwrap_or(Scalar::zero(dtype));
        let expr = Expr { span, ..Expr::select(convert(condition, DType::Bool), value, Expr::fill(identity)) };
        Some(Value::Typed(expr, own))
    }

    /// The same, of the type of the tensor that it is assigned to: the identity there is that of this type, which no conversion gives of that
    /// of the value's type (the least `i16` is no `u64`). The value may be confined itself.
    fn confined_to(&mut self, expr: Expr, text: &ast::Expr, dtype: DType) -> Expr {
        let (Some((monoid, inner)), ExprKind::Select(parts)) = (confined(text), &expr.kind) else {
            return convert(expr, dtype);
        };
        let [condition, value, _] = (**parts).clone();
        let identity = self.monoid(monoid, dtype, expr.span).and_then(|monoid| monoid.identity(dtype));
        let identity = identity.unwrap_or(Scalar::zero(dtype));
        let value = self.confined_to(value, inner, dtype);
        Expr { span: expr.span, ..Expr::select(condition, value, Expr::fill(identity)) }
    }

    /// A call of an operator that the program declares: its operands mix into one type.
    fn applied(&mut self, operator: Operator, args: &[ast::Expr], span: Span) -> Option<Value> {
        let values: Vec<Option<Value>> = args.iter().map(|arg| self.expr(arg)).collect();
        let values: Vec<Value> = values.into_iter().collect::<Option<_>>()?;
        let mixed = self.mixed(&values, None);
        let dtype = operators::operand_of(operator, mixed.arithmetic());
        let operator = self.of_type(operator, dtype, span)?;
        let Typed { operand, result, .. } = operator.typed()?;
        let operands = values.into_iter().map(|value| self.settle(value, *operand)).collect::<Option<_>>()?;
        let kind = ExprKind::Apply(operator, operands);
        // Numbers of a type for storage remain of it, as those of functions do.
        let stays = mixed.is_float() && mixed.is_storage() && *result == mixed.arithmetic();
        Some(Value::Typed(Expr { kind, dtype: *result, span }, if stays { mixed } else { *result }))
    }

    /// The bodies of an operator in one type: that which they mix into beside an operand.
    pub fn bodies(&mut self, bodies: &[&ast::Expr], operand: DType) -> Option<Vec<Expr>> {
        let values = bodies.iter().map(|body| self.expr(body)).collect::<Option<Vec<_>>>()?;
        let dtype = self.mixed(&values, Some(operand)).arithmetic();
        values.into_iter().map(|value| self.settle(value, dtype)).collect()
    }

    /// An operator for operands of a type.
    fn of_type(&mut self, operator: Operator, dtype: DType, span: Span) -> Option<Operator> {
        match operators::for_type(operator, dtype) {
            Ok(typed) => Some(typed),
            Err(why) => {
                let name = operator.name();
                self.errors.push(TypeMistake::Operator { span, name, dtype, why }.into());
                None
            }
        }
    }

    /// A monoid on a type: an operator that the program declares is made for it.
    fn monoid(&mut self, monoid: Monoid, dtype: DType, span: Span) -> Option<Monoid> {
        match monoid.function() {
            BinaryFn::User(operator) => {
                let operator = self.of_type(operator, dtype, span)?;
                // More is known of a minimum than can be declared: that it is one value at the end, and of machine instructions.
                let extremum = operator.typed().and_then(Typed::extremum);
                Monoid::of(extremum.unwrap_or(BinaryFn::User(operator)))
            }
            _ => Some(monoid),
        }
    }

    /// The type that values mix into; of constants alone, that beside an operand, if there is one.
    fn mixed(&self, values: &[Value], operand: Option<DType>) -> DType {
        let typed = values.iter().filter_map(|value| match value {
            Value::Typed(_, dtype) => Some(*dtype),
            Value::Weak(..) => None,
        });
        let constants = || {
            values.iter().filter_map(|value| match value {
                Value::Weak(number, _) => Some(*number),
                Value::Typed(..) => None,
            })
        };
        match typed.reduce(DType::promote).or(operand) {
            Some(dtype) => constants().fold(dtype, |dtype, number| number.beside(dtype)),
            None => constants().map(Weak::alone).reduce(DType::promote).unwrap_or(DType::F64),
        }
    }

    /// The type that two values mix into.
    fn promoted(&self, left: &Value, right: &Value) -> DType {
        match (left, right) {
            (&Value::Weak(number, _), &Value::Typed(_, dtype)) | (&Value::Typed(_, dtype), &Value::Weak(number, _)) => {
                number.beside(dtype)
            }
            (left, right) => DType::promote(self.alone(left), self.alone(right)),
        }
    }

    fn not_defined(&mut self, name: &str, dtype: DType, span: Span) -> Option<Value> {
        self.errors.push(TypeMistake::NotDefined { span, function: format!("`{name}`"), dtype }.into());
        None
    }

    /// The type of a value that stands alone.
    fn alone(&self, value: &Value) -> DType {
        match value {
            Value::Weak(number, _) => number.alone(),
            Value::Typed(_, dtype) => *dtype,
        }
    }

    fn settle_alone(&mut self, value: Value) -> Option<Expr> {
        let dtype = self.alone(&value);
        self.settle(value, dtype)
    }

    /// The value as an expression of a type, or of the one that this type is computed in.
    fn settle(&mut self, value: Value, dtype: DType) -> Option<Expr> {
        let dtype = dtype.arithmetic();
        match value {
            Value::Typed(expr, _) => Some(convert(expr, dtype)),
            Value::Weak(number, span) => {
                let literal = number.literal(dtype);
                if literal.is_none() {
                    self.errors.push(TypeMistake::OutOfRange { span, value: number.to_string(), dtype }.into());
                }
                Some(Expr { kind: ExprKind::Literal(literal?), dtype, span })
            }
        }
    }
}

/// The monoid whose identity an expression is where a condition does not hold, and its value elsewhere, if it is one that is confined to a
/// condition.
fn confined(expr: &ast::Expr) -> Option<(Monoid, &ast::Expr)> {
    match &expr.kind {
        ast::ExprKind::Apply { args, .. } => match args.as_slice() {
            [_, value, ast::Expr { kind: ast::ExprKind::Identity(monoid), .. }] => Some((*monoid, value)),
            _ => None,
        },
        _ => None,
    }
}

/// The type by which elements mix: the stored entries of a pattern are true.
fn of_value(dtype: DType) -> DType {
    if dtype == DType::Pattern { DType::Bool } else { dtype }
}

/// The expression in another type. An element of a tensor loses nothing by being read in the type that it is computed with, and is
/// converted from the type that it is stored in. No other conversion is left out: each may change the value, and the text decides
/// where a sum is rounded.
fn convert(expr: Expr, dtype: DType) -> Expr {
    match expr.kind {
        ExprKind::Cast(read) if is_access(&read) && read.dtype.arithmetic() == expr.dtype => read.cast(dtype),
        kind => Expr { kind, ..expr }.cast(dtype),
    }
}

/// Integers and truth values become reals before they are summed, also where the result stores reals of another type.
fn by_way_of_reals(expr: Expr, stored: DType) -> Expr {
    let is_rounded = matches!(stored, DType::F16 | DType::BF16) && !expr.dtype.is_float();
    if is_rounded { convert(expr, stored.arithmetic()) } else { expr }
}

fn is_access(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Access(_))
}

/// The result of an operator on two constants; `None` if it is out of range.
fn fold(function: BinaryFn, a: Weak, b: Weak) -> Option<Weak> {
    if let (Weak::Int(a), Weak::Int(b)) = (a, b)
        && function != BinaryFn::Div
    {
        return match function {
            BinaryFn::Add => a.checked_add(b),
            BinaryFn::Sub => a.checked_sub(b),
            _ => a.checked_mul(b),
        }
        // More than any type holds; keeps negation from overflowing, too.
        .filter(|value| value.unsigned_abs() <= u128::from(u64::MAX))
        .map(Weak::Int);
    }
    let (a, b) = (a.float(), b.float());
    let value = match function {
        BinaryFn::Add => a + b,
        BinaryFn::Sub => a - b,
        BinaryFn::Mul => a * b,
        _ => a / b,
    };
    value.is_finite().then_some(Weak::Float(value))
}

impl Weak {
    fn float(self) -> f64 {
        match self {
            Weak::Int(value) => value as f64,
            Weak::Float(value) => value,
        }
    }

    /// The type of a constant alone.
    fn alone(self) -> DType {
        match self {
            Weak::Int(value) if value > i128::from(i64::MAX) => DType::U64,
            Weak::Int(_) => DType::I64,
            Weak::Float(_) => DType::F64,
        }
    }

    /// The type that a constant and an operand of type `other` have together.
    fn beside(self, other: DType) -> DType {
        match self {
            Weak::Int(_) if other != DType::Bool => other,
            Weak::Float(_) if other.is_float() => other,
            _ => self.alone(),
        }
    }

    /// The constant as a literal of a type; `None` if it does not fit.
    fn literal(self, dtype: DType) -> Option<Literal> {
        let bits = 8 * dtype.size() as u32;
        match self {
            // True if it is not 0, as of numbers that are not constant.
            Weak::Int(value) if dtype == DType::Bool => Some(Literal::Bool(value != 0)),
            Weak::Float(value) if dtype == DType::Bool => Some(Literal::Bool(value != 0.0)),
            Weak::Int(value) if dtype.is_integer() => {
                let (low, high) = match dtype.kind() {
                    Kind::Signed => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
                    _ => (0, (1i128 << bits) - 1),
                };
                (low..=high).contains(&value).then_some(Literal::Int(value))
            }
            number if dtype.is_float() => {
                let value = number.float();
                let fits = dtype.part() == DType::F64 || value.is_infinite() || (value as f32).is_finite();
                fits.then_some(Literal::Float(value))
            }
            _ => None,
        }
    }
}

impl std::fmt::Display for Weak {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Weak::Int(value) => write!(f, "`{value}`"),
            Weak::Float(value) => write!(f, "`{value:?}`"),
        }
    }
}

/// True if an expression is, or has in it, a quotient of integers, which are converted for it.
fn divides_integers(expr: &Expr) -> bool {
    let is_whole = |operand: &Expr| match &operand.kind {
        ExprKind::Cast(of) => of.dtype.is_integer(),
        ExprKind::Literal(literal) => !matches!(literal, Literal::Float(value) if value.fract() != 0.0),
        _ => false,
    };
    match &expr.kind {
        ExprKind::Binary(BinaryFn::Div, a, b) if is_whole(a) && is_whole(b) => true,
        _ => expr.children().into_iter().any(divides_integers),
    }
}

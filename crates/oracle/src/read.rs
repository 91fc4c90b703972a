//! The program as the oracle reads it: from the syntax tree of the text, by rules of its own.
//!
//! The front end's check has no part in it, so that its changes and omissions are seen. The oracle is given a program that is
//! right, and needs to know of it:
//!
//! - which names are tensors and which are variables: `name(...)` is a conversion, a function or a reduction if it is called like one,
//!   and else an element; a name alone that no tensor has is a variable's value if it is an index of its statement;
//! - the type of each part ([`crate::types`]): constants take the type of the operand beside them, or are `i64` and `f64`;
//!   constants alone are computed at once; values of types for storage only (`f16`, `bf16`, `pattern`) are computed with in a wider
//!   type, and rounded where they are written, by a conversion or an assignment;
//! - the size of each variable: that of every dimension it runs through.

mod actions;
mod names;
mod operators;
mod sizes;
mod values;

use std::collections::BTreeMap;

use lacunar_formats::{DType, Kind};
use lacunar_front::Declarations;
use lacunar_front::einsum::parse_with;
use lacunar_front::einsum::{Ast, Bracket, Callee, Declared, Expr, ExprKind, Number, Statement as Written};
use lacunar_notation::{BinaryFn, Function, TensorId, UnaryFn, VarId};

use crate::operators::Operation;
use crate::scalar::Scalar;
use crate::sums::{Border, Index, Node, Term, cast, gives_index, reduce, variables};
use crate::types::computed_in;
pub use actions::{Action, COUNT};
pub use sizes::{Sizes, sizes};

use names::{binds, indices_of, reduction};
use values::{Constant, Value, alone, binary, computed, mixed_values, settled, unary};

/// A program as it was written.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// The tensors.
    pub tensors: Vec<Known>,
    /// The names of the variables.
    pub vars: Vec<String>,
    /// The statements.
    pub statements: Vec<Statement>,
    /// The actions, with every statement once.
    pub body: Vec<Action>,
    /// The lists that are indices, by the numbers of the tensors that stand for them.
    pub lists: BTreeMap<usize, Vec<u64>>,
    /// The relations in brackets: the name of the tensor that stands for each, its variables, and the two sides.
    pub relations: Vec<(String, Vec<VarId>, [Index; 2])>,
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
    /// Its indices.
    pub indices: Vec<Index>,
    /// The variables of these.
    pub vars: Vec<VarId>,
    /// The operation that combines the value with the earlier one, if it does not replace it.
    pub combines: Option<Operation>,
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
    let (ast, errors) = parse_with(source, &declarations.operators, true);
    if let Some(error) = errors.first() {
        return Err(error.message.clone());
    }
    let mut reader = Reader {
        declarations,
        reading: Reading::default(),
        values: Vec::new(),
        declared: &ast.operators,
        ast: &ast,
        operands: Vec::new(),
        types: Vec::new(),
        exchanges: Vec::new(),
        told: declarations.dtypes.iter().map(|(name, dtype)| (name.clone(), *dtype)).collect(),
        made: 0,
    };
    for statement in &ast.statements {
        reader.targets(statement);
    }
    reader.share_types(&ast.body);
    for statement in &ast.statements {
        reader.statement(statement, source)?;
    }
    reader.reading.body = reader.actions(&ast.body)?;
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
    /// The pairs of tensors that are swapped, or of which one becomes a snapshot of the other.
    exchanges: Vec<[String; 2]>,
    /// The types that are declared, also those of tensors that are swapped with a declared one, or become snapshots of it.
    told: BTreeMap<String, DType>,
    /// The names that are indices in the statement, and no tensors.
    values: Vec<String>,
    /// The operators that the program declares.
    declared: &'a [Declared],
    /// The tree, which has the relations in brackets by the names of the tensors in their place.
    ast: &'a Ast,
    /// In the body of an operator: its operands, with their types.
    operands: Vec<(String, DType)>,
    /// The type of each tensor, once it is known.
    types: Vec<Option<DType>>,
    /// The number of tensors that have been made up so far.
    made: i128,
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
        let indices = self.indices(&statement.indices)?;
        let vars = variables(&indices);
        self.values.clear();
        indices_of(&statement.indices, &statement.rhs, &mut self.values);
        let inputs = self.declarations.inputs.iter().flatten();
        let given: Vec<&String> = inputs.chain(&self.declarations.given).collect();
        let tensors = &self.reading.tensors;
        self.values.retain(|name| !tensors.iter().any(|tensor| tensor.name == *name) && !given.contains(&name));
        let value = self.value(&statement.rhs)?;
        let rhs = match (self.types[target.index()], value) {
            (None, value) => {
                let dtype = alone(&value);
                self.types[target.index()] = Some(dtype);
                self.exchange(target, dtype);
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
            // Integers and truth values become reals before they are summed.
            (Some(dtype @ (DType::F16 | DType::BF16)), Value::Typed(term, _))
                if !matches!(term.dtype.kind(), Kind::Real | Kind::Complex) =>
            {
                cast(cast(term, computed_in(dtype)), dtype)
            }
            (Some(dtype), Value::Typed(term, _)) => cast(term, dtype),
        };
        let combines = match statement.op.monoid().map(|monoid| monoid.function()) {
            Some(function) => Some(self.operation(function, rhs.dtype)?),
            None => None,
        };
        let text = source.get(statement.span.start as usize..statement.span.end as usize).unwrap_or(source).to_string();
        self.reading.statements.push(Statement { target, indices, vars, combines, rhs, text });
        Ok(())
    }

    fn tensor(&mut self, name: &str, order: usize) -> TensorId {
        let known = self.reading.tensors.iter().position(|tensor| tensor.name == name);
        TensorId::from_index(known.unwrap_or_else(|| {
            let dtype = self.told.get(name).copied().unwrap_or(DType::F64);
            self.types.push(Some(dtype));
            self.reading.tensors.push(Known { name: name.to_string(), order, dtype, fill: None, result: false });
            self.types.len() - 1
        }))
    }

    fn vars(&mut self, indices: &[Expr]) -> Result<Vec<VarId>, String> {
        let mut found = Vec::new();
        for index in indices {
            let ExprKind::Name(name) = &index.kind else { return Err("no variable is reduced over".to_string()) };
            found.push(self.var(name));
        }
        Ok(found)
    }

    fn var(&mut self, name: &str) -> VarId {
        let known = self.reading.vars.iter().position(|var| var == name);
        VarId::from_index(known.unwrap_or_else(|| {
            self.reading.vars.push(name.to_string());
            self.reading.vars.len() - 1
        }))
    }

    fn indices(&mut self, indices: &[Expr]) -> Result<Vec<Index>, String> {
        indices.iter().map(|index| self.index(index)).collect()
    }

    fn index(&mut self, index: &Expr) -> Result<Index, String> {
        use lacunar_front::einsum::BinaryOp::{Add, Mul, Sub};
        let scaled = |index: Index, by: i64| Index {
            terms: index
                .terms
                .into_iter()
                .map(|(var, factor)| (var, factor * by))
                .filter(|(_, factor)| *factor != 0)
                .collect(),
            elements: index.elements.into_iter().map(|(of, at, factor)| (of, at, factor * by)).collect(),
            constant: index.constant * by,
            is_sum: true,
            border: None,
        };
        let sum = |a: Index, b: Index| {
            let mut sum = a;
            for (var, factor) in b.terms {
                match sum.terms.iter_mut().find(|(own, _)| *own == var) {
                    Some((_, own)) => *own += factor,
                    None => sum.terms.push((var, factor)),
                }
            }
            sum.terms.retain(|(_, factor)| *factor != 0);
            sum.elements.extend(b.elements);
            sum.constant += b.constant;
            sum.is_sum = true;
            sum
        };
        Ok(match &index.kind {
            ExprKind::Name(name) => self.var(name).into(),
            ExprKind::Number(Number::Int(value)) => {
                Index { terms: Vec::new(), elements: Vec::new(), constant: *value as i64, is_sum: true, border: None }
            }
            ExprKind::Apply { name, args, callee: Callee::Named } if name.text == "size" => {
                let size = self.extent(args).ok_or("the size of a dimension is not known")?;
                Index {
                    constant: size,
                    ..self.index(&Expr { kind: ExprKind::Number(Number::Int(0)), ..index.clone() })?
                }
            }
            ExprKind::Apply { name, args, callee: Callee::Named } if border(&name.text).is_some() => {
                let [sum] = args.as_slice() else { return Err("a border takes one index".to_string()) };
                Index { border: border(&name.text), ..self.index(sum)? }
            }
            ExprKind::Apply { name, args, .. } => {
                let tensor = self.tensor(&name.text, args.len());
                let is_open = !self.told.contains_key(&name.text);
                if is_open && !self.reading.tensors[tensor.index()].result {
                    self.types[tensor.index()] = Some(DType::I64);
                }
                gathered(tensor, self.indices(args)?)
            }
            ExprKind::List { values, index } => {
                let number = self.reading.lists.len() + 1;
                let tensor = self.tensor(&format!("list {number}"), 1);
                self.types[tensor.index()] = Some(DType::I64);
                self.reading.lists.insert(tensor.index(), values.clone());
                let place = match index {
                    Some(index) => self.index(index)?,
                    None => self.var(&format!("place {number}")).into(),
                };
                gathered(tensor, vec![place])
            }
            ExprKind::Neg(a) => scaled(self.index(a)?, -1),
            ExprKind::Binary(op, a, b) => {
                let (a, b) = (self.index(a)?, self.index(b)?);
                match op {
                    Add => sum(a, b),
                    Sub => sum(a, scaled(b, -1)),
                    Mul if is_number(&a) => scaled(b, a.constant),
                    Mul if is_number(&b) => scaled(a, b.constant),
                    _ => return Err("an index is no sum".to_string()),
                }
            }
            _ => return Err("an index is no sum".to_string()),
        })
    }

    /// The size of a dimension that is declared, by the name of the tensor and the number of the dimension.
    fn extent(&self, args: &[Expr]) -> Option<i64> {
        let [Expr { kind: ExprKind::Name(name), .. }, Expr { kind: ExprKind::Number(Number::Int(dimension)), .. }] =
            args
        else {
            return None;
        };
        let dims = self.declarations.dims.get(name).cloned();
        let dims = dims.or_else(|| Some(vec![*self.declarations.sizes.get(name)?]))?;
        dims.get(usize::try_from(*dimension).ok()?).map(|size| *size as i64)
    }

    fn value(&mut self, expr: &Expr) -> Result<Value, String> {
        Ok(match &expr.kind {
            ExprKind::Number(Number::Int(value)) => Value::Open(Constant::Whole(i128::from(*value))),
            ExprKind::Number(Number::Float(value)) => Value::Open(Constant::Fraction(*value)),
            ExprKind::Bool(value) => {
                let node = Node::Constant(Some(Scalar::Bool(*value)));
                Value::Typed(Term { node, dtype: DType::Bool }, DType::Bool)
            }
            // In the body of an operator, its operands stand before the indices of the statement.
            ExprKind::Name(name) if let Some(k) = self.operands.iter().position(|(operand, _)| operand == name) => {
                let dtype = self.operands[k].1;
                Value::Typed(Term { node: Node::Operand(k), dtype }, dtype)
            }
            ExprKind::Name(name) if self.values.contains(name) => {
                let var = self.vars(std::slice::from_ref(expr))?;
                let [var] = var[..] else { return Err(format!("`{name}` is no variable")) };
                Value::Typed(Term { node: Node::Index(var), dtype: DType::I64 }, DType::I64)
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
                use lacunar_front::einsum::BinaryOp;
                let (function, is_number) = match op {
                    BinaryOp::Add => (BinaryFn::Add, true),
                    BinaryOp::Sub => (BinaryFn::Sub, true),
                    BinaryOp::Mul => (BinaryFn::Mul, true),
                    BinaryOp::Div => (BinaryFn::Div, true),
                    BinaryOp::Eq => (BinaryFn::Eq, false),
                    BinaryOp::Ne => (BinaryFn::Ne, false),
                    BinaryOp::Lt => (BinaryFn::Lt, false),
                    BinaryOp::Le => (BinaryFn::Le, false),
                    BinaryOp::Gt => (BinaryFn::Gt, false),
                    BinaryOp::Ge => (BinaryFn::Ge, false),
                };
                let (left, right) = (self.value(left)?, self.value(right)?);
                match (left, right) {
                    (Value::Open(a), Value::Open(b)) if is_number => Value::Open(computed(function, a, b)),
                    (left, right) => binary(function, left, right),
                }
            }
            ExprKind::Identity(_) => return Err("an identity stands beside a value".to_string()),
            ExprKind::List { .. } => return Err("a list is no value".to_string()),
            ExprKind::Apply { name, args, callee: Callee::Tensor } => self.element(&name.text, args)?,
            ExprKind::Apply { name, args, callee: Callee::Named } => self.applied(&name.text, args)?,
            ExprKind::Apply { args, callee: Callee::Operator(operator), .. } => self.operator(*operator, args)?,
        })
    }

    /// `name(args)`.
    fn applied(&mut self, name: &str, args: &[Expr]) -> Result<Value, String> {
        let first = || args.first().ok_or_else(|| format!("`{name}` has no operand"));
        if let Some(function) = reduction(name, args) {
            let Some((body, vars)) = args.split_last() else { return Err("a reduction of nothing".to_string()) };
            let vars = self.vars(vars)?;
            let body = self.value(body)?;
            let mixes = alone(&body);
            let body = settled(body, mixes);
            let operation = self.operation(function, body.dtype)?;
            let index = gives_index(&operation);
            if index.is_some() && vars.len() != 1 {
                return Err(format!("`{name}` is over one variable"));
            }
            let total = vars.into_iter().rev().fold(body, |body, var| reduce(operation.clone(), body, var, true));
            return Ok(Value::Typed(total, index.map_or(mixes, |_| DType::I64)));
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
            (Some(Function::Select), _) => self.chosen(args),
            (None, Some(dtype)) => self.converted(first()?, dtype),
            (None, None) => self.element(name, args),
        }
    }

    /// `select(c, a, b)`: the condition is asked if it is not 0, and the other two mix.
    fn chosen(&mut self, args: &[Expr]) -> Result<Value, String> {
        let [condition, a, b] = args else { return Err("`select` has three operands".to_string()) };
        let (condition, a) = (self.value(condition)?, self.value(a)?);
        let b = match &b.kind {
            // It has the type of the value that it stands beside.
            ExprKind::Identity(monoid) => {
                let dtype = computed_in(alone(&a));
                let identity = self.operation(monoid.function(), dtype)?.identity(dtype);
                Value::Typed(Term { node: Node::Constant(Some(identity)), dtype }, alone(&a))
            }
            _ => self.value(b)?,
        };
        let own = alone(&condition);
        let condition = cast(settled(condition, own), DType::Bool);
        let mixes = mixed_values(&a, &b);
        let operands = [condition, settled(a, mixes), settled(b, mixes)];
        Ok(Value::Typed(Term { node: Node::Select(Box::new(operands)), dtype: computed_in(mixes) }, mixes))
    }

    fn element(&mut self, name: &str, indices: &[Expr]) -> Result<Value, String> {
        if let Some(bracket) = self.ast.brackets.get(name) {
            return self.relation(name, bracket, indices);
        }
        let tensor = self.tensor(name, indices.len());
        let indices = self.indices(indices)?;
        // One that is read before it is assigned is given, as inputs are.
        let dtype = self.type_of(tensor);
        let element = Term { node: Node::Element(tensor, indices), dtype };
        Ok(Value::Typed(cast(element, computed_in(dtype)), dtype))
    }

    /// A relation in brackets, of these variables.
    fn relation(&mut self, name: &str, bracket: &Bracket, vars: &[Expr]) -> Result<Value, String> {
        let to = self.vars(vars)?;
        let from: Vec<VarId> = bracket.vars.iter().map(|name| self.var(name)).collect();
        let renamed = |var: VarId| {
            from.iter().position(|own| *own == var).and_then(|place| to.get(place).copied()).unwrap_or(var)
        };
        let sides = [self.index(&bracket.left)?.renamed(&renamed), self.index(&bracket.right)?.renamed(&renamed)];
        self.reading.relations.push((name.to_string(), to, sides.clone()));
        let node = Node::Related(bracket.op.function(), Box::new(sides));
        Ok(Value::Typed(cast(Term { node, dtype: DType::Pattern }, DType::Bool), DType::Pattern))
    }

    fn converted(&mut self, operand: &Expr, dtype: DType) -> Result<Value, String> {
        let operand = self.value(operand)?;
        let own = alone(&operand);
        let stored = cast(settled(operand, own), dtype);
        Ok(Value::Typed(cast(stored, computed_in(dtype)), dtype))
    }
}

/// An index that is an element.
fn gathered(tensor: TensorId, indices: Vec<Index>) -> Index {
    Index { terms: Vec::new(), elements: vec![(tensor, indices, 1)], constant: 0, is_sum: false, border: None }
}

/// The border that a word in an index says.
fn border(word: &str) -> Option<Border> {
    match word {
        "wrap" => Some(Border::Wrap),
        "clamp" => Some(Border::Clamp),
        _ => None,
    }
}

/// True if an index is a number.
fn is_number(index: &Index) -> bool {
    index.terms.is_empty() && index.elements.is_empty()
}

/// All elements of a term.
pub fn collect<'t>(term: &'t Term, found: &mut Vec<(TensorId, &'t [Index])>) {
    match &term.node {
        Node::Constant(_) | Node::Index(_) | Node::Operand(_) => {}
        Node::Element(tensor, indices) => {
            found.push((*tensor, indices));
            indices.iter().for_each(|index| index.collect(found));
        }
        Node::Related(_, sides) => sides.iter().for_each(|index| index.collect(found)),
        Node::Unary(_, a) | Node::Cast(a) | Node::Reduce { body: a, .. } => collect(a, found),
        Node::Binary(_, a, b) => {
            collect(a, found);
            collect(b, found);
        }
        Node::Select(operands) => operands.iter().for_each(|operand| collect(operand, found)),
        Node::Apply(_, operands) => operands.iter().for_each(|operand| collect(operand, found)),
    }
}

/// The statements of a program, by the tensors that they assign to.
pub fn results(reading: &Reading) -> BTreeMap<&str, &Known> {
    reading.tensors.iter().filter(|tensor| tensor.result).map(|tensor| (tensor.name.as_str(), tensor)).collect()
}

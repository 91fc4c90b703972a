//! Operators that a program declares: the rules for declarations, and the operator for a type of operands.
//!
//! A declaration is judged once, at its place: names are those of operands and of functions, bodies have no tensors and no reductions,
//! properties fit the number of operands. Types are those of a call: an operator is made for each type that it is called with
//! ([`for_type`]), from the declaration's text.
//!
//! ```text
//! op mean(a, b) = (a + b) / 2        of f64: f64        of i32: f64, as `/` of integers is
//! op first(a, b) = a                 of any type: that type
//! ```
//!
//! Paper: Henry et al., *Compilation of Sparse Array Programming Models* (OOPSLA 2021), §3, §4.

use lacunar_base::{Arena, Diagnostic, Span};
use lacunar_formats::{DType, External, Format, Scalar};
use lacunar_notation::operator::{self, Declaration, Properties, Typed};
use lacunar_notation::{BinaryFn, Function, IndexVar, Literal, Monoid, Operator, Program, Role, Tensor, UnaryFn};

use super::ast::{Bodies, Callee, Declared, Expr, ExprKind, Name};
use super::check;
use super::error::{AccessMistake, Error, NameMistake, OperatorMistake};
use super::parser::{Parser, parse_with};
use crate::words;

/// A declaration as it is written.
pub(super) struct Written {
    pub name: Name,
    pub params: Vec<Name>,
    pub body: Option<Expr>,
    /// The place of `extern`, where that stands in the place of a body.
    pub external: Option<Span>,
    /// The operands that are present as the bits of a number, the place of the words that say it, the body.
    pub regions: Vec<(usize, Span, Expr)>,
    /// Properties with a constant.
    pub values: Vec<(Name, Literal)>,
    /// Other properties.
    pub flags: Vec<Name>,
}

/// The operator of a declaration whose line is `text`, where others are known.
///
/// # Errors
/// The first mistake in it.
pub(super) fn judged(written: Written, text: String, known: &[Operator]) -> Result<Declared, Error> {
    let Written { name, params, .. } = &written;
    taken(name, known)?;
    let many = params.len() > Declaration::MOST_PARAMS;
    if params.is_empty() || many {
        return Err(OperatorMistake::Operands { span: name.span, count: params.len() }.into());
    }
    for (place, param) in params.iter().enumerate() {
        if let Some(first) = params[..place].iter().find(|first| first.text == param.text) {
            let (name, span) = (param.text.clone(), param.span);
            return Err(OperatorMistake::Taken { name, span, what: "another operand", first: first.span }.into());
        }
        if matches!(param.text.as_str(), "true" | "false" | "inf") {
            return Err(NameMistake::Reserved { name: param.text.clone(), span: param.span, what: "a value" }.into());
        }
    }
    regions(&written)?;
    let properties = properties(&written)?;
    let external = written.external.map(|span| external(&written, span)).transpose()?;
    let bodies: Vec<&Expr> = written.body.iter().chain(written.regions.iter().map(|(.., body)| body)).collect();
    let mut reader = Reader { name, params, known, uses: Vec::new(), size: 0 };
    bodies.into_iter().try_for_each(|body| reader.body(body))?;
    let (uses, size, has_regions) = (reader.uses, reader.size.max(1), written.body.is_none() && external.is_none());
    let depth = 1 + uses.iter().map(|used| used.declaration().depth).max().unwrap_or(0);
    if size > Declaration::MOST_NODES || depth > Declaration::MOST_DEPTH {
        return Err(OperatorMistake::TooLarge { span: name.span }.into());
    }
    let declaration = Declaration {
        name: name.text.clone(),
        params: params.iter().map(|param| param.text.clone()).collect(),
        text,
        properties,
        has_regions,
        uses,
        size,
        depth,
    };
    let Written { name, body, regions, .. } = written;
    let bodies = match (body, external) {
        (_, Some(function)) => Bodies::External(function),
        (Some(body), None) => Bodies::One(body),
        (None, None) => Bodies::Regions(regions.into_iter().map(|(region, _, body)| (region, body)).collect()),
    };
    Ok(Declared { operator: Operator::declare(declaration), name, bodies })
}

/// The function of other code that an operator is, which has as many operands.
fn external(written: &Written, span: Span) -> Result<External, Error> {
    let (name, count) = (&written.name.text, written.params.len());
    let found = External::find(name).filter(|found| found.signature().operands == count);
    found.ok_or_else(|| OperatorMistake::NoExternal { span, name: name.clone(), count }.into())
}

/// Asks that nothing else has the name of an operator.
fn taken(name: &Name, known: &[Operator]) -> Result<(), Error> {
    let text = name.text.as_str();
    let what = if known.iter().any(|other| other.name() == text) {
        "an operator that is declared before"
    } else if Function::parse(text).is_some() {
        "a function"
    } else if Monoid::parse(text).is_some() {
        "a reduction"
    } else if DType::parse(text).is_some() {
        "an element type"
    } else if matches!(text, "true" | "false" | "inf" | "cast" | "nnz") {
        "a word of the language"
    } else {
        return Ok(());
    };
    Err(OperatorMistake::Taken { name: name.text.clone(), span: name.span, what, first: Span::NONE }.into())
}

/// The mistake of a name in a body that is no operand.
pub(super) fn not_a_parameter(name: &str, span: Span, params: &[Name]) -> Error {
    let known = params.iter().map(|param| param.text.as_str());
    let hint =
        words::did_you_mean(name, known, "a body has its operands, numbers, functions, and operators declared before");
    OperatorMistake::NotAnOperand { name: name.to_string(), span, hint }.into()
}

fn properties(written: &Written) -> Result<Properties, Error> {
    let mut found = Properties::default();
    let names: Vec<&Name> = written.values.iter().map(|(name, _)| name).chain(&written.flags).collect();
    for (place, name) in names.iter().enumerate() {
        let wrong = |why| Error::from(OperatorMistake::Property { span: name.span, name: name.text.clone(), why });
        if names[..place].iter().any(|other| other.text == name.text) {
            return Err(wrong("it is claimed twice"));
        }
        if written.body.is_none() && written.external.is_none() {
            return Err(wrong("an operator with regions has none: its regions say where there is something"));
        }
        match (name.text.as_str(), written.params.len()) {
            ("annihilator", 1) => {
                return Err(wrong("an operator of one operand has none: its body says what it gives"));
            }
            ("annihilator", _) | (_, 2) => {}
            _ => return Err(wrong("it is a property of operators of two operands")),
        }
    }
    for (name, value) in &written.values {
        let property = if name.text == "identity" { &mut found.identity } else { &mut found.annihilator };
        *property = Some(*value);
    }
    let is_claimed = |flag: &str| written.flags.iter().any(|name| name.text == flag);
    found.commutative = is_claimed("commutative");
    found.associative = is_claimed("associative");
    found.idempotent = is_claimed("idempotent");
    Ok(found)
}

/// Asks for one body, or regions of which none is there twice.
fn regions(written: &Written) -> Result<(), Error> {
    let span = written.name.span;
    let has_body = written.body.is_some() || written.external.is_some();
    match (has_body, written.regions.as_slice()) {
        (false, []) => return Err(OperatorMistake::NoBody { span }.into()),
        (true, [(_, span, _), ..]) => return Err(OperatorMistake::BodyAndRegion { span: *span }.into()),
        _ => {}
    }
    for (place, (region, span, _)) in written.regions.iter().enumerate() {
        if let Some((_, first, _)) = written.regions[..place].iter().find(|(other, ..)| other == region) {
            return Err(OperatorMistake::RegionTwice { span: *span, first: *first }.into());
        }
    }
    Ok(())
}

/// Reads bodies, with their calls and their size.
struct Reader<'a> {
    name: &'a Name,
    params: &'a [Name],
    known: &'a [Operator],
    uses: Vec<Operator>,
    size: usize,
}

impl Reader<'_> {
    fn body(&mut self, expr: &Expr) -> Result<(), Error> {
        self.size = self.size.saturating_add(1);
        let span = expr.span;
        match &expr.kind {
            ExprKind::Number(_) | ExprKind::Bool(_) | ExprKind::Identity(_) => Ok(()),
            ExprKind::Name(name) if self.params.iter().any(|param| param.text == *name) => Ok(()),
            ExprKind::Name(name) => Err(not_a_parameter(name, span, self.params)),
            ExprKind::Neg(a) => self.body(a),
            ExprKind::Cast { dtype, operand } => {
                match DType::parse(&dtype.text) {
                    Some(DType::Pattern) => return Err(OperatorMistake::NotInBody { span, what: "a pattern" }.into()),
                    Some(_) => {}
                    None => {
                        return Err(super::error::TypeMistake::UnknownType {
                            span: dtype.span,
                            word: dtype.text.clone(),
                        }
                        .into());
                    }
                }
                self.body(operand)
            }
            ExprKind::Binary(_, a, b) => {
                self.body(a)?;
                self.body(b)
            }
            ExprKind::List { .. } => Err(AccessMistake::ListAsValue { span }.into()),
            ExprKind::Apply { name, args, callee } => {
                self.call(name, args, *callee, span)?;
                args.iter().try_for_each(|arg| self.body(arg))
            }
        }
    }

    fn call(&mut self, name: &Name, args: &[Expr], callee: Callee, span: Span) -> Result<(), Error> {
        let text = name.text.as_str();
        let arguments = |expected: usize, or_more: bool| {
            let found = args.len();
            let fits = found == expected || (or_more && found > expected);
            let mistake = AccessMistake::Arguments { name: name.text.clone(), span: name.span, expected, found };
            if fits { Ok(()) } else { Err(Error::from(mistake)) }
        };
        match (callee, Function::parse(text), DType::parse(text)) {
            (Callee::Operator(operator), ..) if operator.declaration().has_regions => {
                Err(OperatorMistake::NoRegions { span, name: operator.name() }.into())
            }
            (Callee::Operator(operator), ..) => {
                if !self.uses.contains(&operator) {
                    self.uses.push(operator);
                }
                self.size = self.size.saturating_add(operator.declaration().size);
                arguments(operator.arity(), false)
            }
            _ if text == self.name.text => Err(OperatorMistake::Recursive { span, name: text.to_string() }.into()),
            (Callee::Named, Some(Function::Unary(UnaryFn::Prune)), _) => {
                Err(OperatorMistake::NotInBody { span, what: "`prune`" }.into())
            }
            (Callee::Named, Some(Function::Unary(_)), _) => arguments(1, false),
            (Callee::Named, Some(Function::Binary(function)), _) => {
                arguments(2, matches!(function, BinaryFn::Min | BinaryFn::Max))
            }
            (Callee::Named, Some(Function::Select), _) => arguments(3, false),
            (Callee::Named, None, Some(DType::Pattern)) => {
                Err(OperatorMistake::NotInBody { span, what: "a pattern" }.into())
            }
            (Callee::Named, None, Some(_)) => arguments(1, false),
            (Callee::Named, None, None) if Monoid::parse(text).is_some() => {
                Err(OperatorMistake::NotInBody { span, what: "a reduction" }.into())
            }
            (Callee::Tensor, ..) => Err(OperatorMistake::NotInBody { span, what: "an element of a tensor" }.into()),
            (Callee::Named, None, None) => {
                let known = Function::names().chain(self.known.iter().map(|known| known.name()));
                let hint =
                    words::did_you_mean(text, known, "a body calls functions, and operators that are declared before");
                Err(NameMistake::UnknownFunction { name: text.to_string(), span: name.span, hint }.into())
            }
        }
    }
}

/// The operators that a program declares, in the order of the text; it need not have a statement.
///
/// # Errors
/// The mistakes in the program.
///
/// ```
/// use lacunar_front::einsum::operators::{declared, for_type};
/// use lacunar_formats::DType;
/// let found = declared("op mean(a, b) = (a + b) / 2").unwrap();
/// let mean = for_type(found[0], DType::I32).unwrap();
/// assert_eq!(mean.typed().unwrap().result, DType::F64);
/// assert!(for_type(declared("op lower(a) = floor(a)").unwrap()[0], DType::C64).is_err());
/// ```
pub fn declared(source: &str) -> Result<Vec<Operator>, Vec<Diagnostic>> {
    let (ast, errors) = parse_with(source, &[], false);
    if errors.is_empty() { Ok(ast.operators.iter().map(|declared| declared.operator).collect()) } else { Err(errors) }
}

/// The operator for operands of a type.
///
/// # Errors
/// The reason why it is not defined on the type, in words.
pub fn for_type(operator: Operator, operand: DType) -> Result<Operator, String> {
    if let Some(known) = operator.for_type(operand) {
        return Ok(known);
    }
    let declaration = operator.declaration();
    let unread = || "its declaration cannot be read again".to_string();
    let declared = Parser::again(operator).ok_or_else(unread)?;
    let exprs: Vec<&Expr> = match &declared.bodies {
        Bodies::External(_) => Vec::new(),
        Bodies::One(body) => vec![body],
        Bodies::Regions(regions) => regions.iter().map(|(_, body)| body).collect(),
    };
    let program = of_params(&declaration.params, operand);
    let bodies = check::bodies(&program, &exprs, operand);
    let mut bodies = bodies.map_err(|errors| {
        let first = errors.into_iter().next().map(|error| error.into_diagnostic().message);
        first.unwrap_or_else(unread)
    })?;
    let result = match &declared.bodies {
        Bodies::External(function) if function.signature().operand != operand => {
            return Err(format!("it takes {}", function.signature().operand));
        }
        Bodies::External(function) => function.signature().result,
        _ => bodies.first().map_or(operand, |body| body.dtype),
    };
    let Properties { identity, annihilator, associative, idempotent, .. } = declaration.properties;
    if result != operand && (identity.is_some() || associative || idempotent) {
        return Err(format!(
            "it gives {result}, and so has neither an identity nor can it be associative or idempotent"
        ));
    }
    let constant = |literal: Option<Literal>, what: &str| {
        let value = literal.map(|literal| value_of(literal).and_then(|value| value.to(operand)));
        if value == Some(None) {
            Err(format!("{operand} does not have the value of its {what}"))
        } else {
            Ok(value.flatten())
        }
    };
    let (identity, annihilator) = (constant(identity, "identity")?, constant(annihilator, "annihilator")?);
    let bodies = match &declared.bodies {
        Bodies::External(function) => operator::Bodies::External(*function),
        Bodies::One(_) => operator::Bodies::One(bodies.pop().ok_or_else(unread)?),
        Bodies::Regions(regions) => {
            let mut found = vec![None; 1 << declaration.params.len()];
            for ((region, _), body) in regions.iter().zip(bodies) {
                found[*region] = Some(body);
            }
            operator::Bodies::Regions(found)
        }
    };
    Ok(operator.with_types(Typed { operand, result, bodies, identity, annihilator, rests: Vec::new() }))
}

/// The type that operands which mix into a type are converted to: of a function of other code its own, if that is as wide.
pub(super) fn operand_of(operator: Operator, mixed: DType) -> DType {
    let external = Parser::again(operator).and_then(|declared| match declared.bodies {
        Bodies::External(function) => Some(function.signature().operand),
        _ => None,
    });
    external.filter(|own| DType::promote(mixed, *own) == *own).unwrap_or(mixed)
}

/// A program in which operands are numbers.
fn of_params(params: &[String], dtype: DType) -> Program {
    let mut tensors = Arena::default();
    for name in params {
        tensors.push(Tensor {
            name: name.clone(),
            format: Format::dense(0),
            dtype,
            fill: None,
            dims: Vec::new(),
            role: Role::Input,
            nnz: None,
            heaviest: None,
            steady: None,
            scattered: None,
            view: None,
            indicator: None,
            structure: None,
            is_unique: false,
            span: Span::NONE,
        });
    }
    Program { tensors, vars: Arena::<IndexVar>::default(), ..Program::default() }
}

/// A constant in a type that has it.
fn value_of(literal: Literal) -> Option<Scalar> {
    match literal {
        Literal::Bool(value) => Some(Scalar::bool(value)),
        Literal::Int(value) => match (i64::try_from(value), u64::try_from(value)) {
            (Ok(value), _) => Some(Scalar::int(DType::I64, value)),
            (_, Ok(value)) => Some(Scalar { ty: DType::U64, bits: value, imag: 0 }),
            _ => None,
        },
        Literal::Float(value) => Some(Scalar::real(DType::F64, value)),
        Literal::Absent | Literal::Fill(_) => None,
    }
}

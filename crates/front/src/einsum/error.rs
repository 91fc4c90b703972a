//! The mistakes a program can have, and the words for each. The codes are explained in `docs/errors.md`.
//!
//! Every mistake of this language is a variant with its places; [`Error::into_diagnostic`] alone puts it into words.

use lacunar_base::{Diagnostic, Span};
use lacunar_formats::DType;

use super::ast::MAX_HEIGHT;
use super::lexer::MAX_SOURCE;
use crate::words;

/// A mistake in a program.
#[derive(Clone, Debug)]
pub(crate) enum Error {
    // Syntax.
    Character {
        span: Span,
        found: char,
    },
    Expected {
        span: Span,
        expected: &'static str,
        found: String,
    },
    Unclosed {
        open: Span,
        span: Span,
        closing: &'static str,
        found: String,
    },
    Number {
        span: Span,
        number: String,
        suffix: String,
    },
    NumberTooLarge {
        span: Span,
    },
    TooDeep {
        span: Span,
    },
    NoStatement,
    TooLong {
        length: usize,
    },
    Trailing {
        span: Span,
        found: String,
    },
    Operator {
        span: Span,
        sign: &'static str,
    },

    // Names and accesses.
    /// `compared`: the function, `max` or `min`, that it is an argument of.
    TensorAndVariable {
        name: String,
        tensor: Span,
        variable: Span,
        compared: Option<String>,
    },
    IndexCount {
        name: String,
        span: Span,
        count: usize,
        first: Span,
        first_count: usize,
    },
    /// `hint`: the alternatives to giving it a value.
    Undeclared {
        name: String,
        span: Span,
        hint: Option<String>,
    },
    UnknownFunction {
        name: String,
        span: Span,
        hint: String,
    },
    Arguments {
        name: String,
        span: Span,
        expected: usize,
        found: usize,
    },
    Reserved {
        name: String,
        span: Span,
        what: &'static str,
    },
    NotAnIndex {
        span: Span,
    },
    NotInProgram {
        name: String,
        what: &'static str,
        hint: String,
    },
    BoundTwice {
        name: String,
        span: Span,
        first: Span,
    },
    ReductionVariables {
        span: Span,
        name: &'static str,
    },
    Pruned {
        span: Span,
    },

    // Sizes.
    Sizes {
        variable: String,
        first: SizeUse,
        second: SizeUse,
    },
    UnknownSize {
        variable: String,
        span: Span,
        summed: bool,
    },
    DimensionCount {
        name: String,
        span: Span,
        declared: usize,
        order: usize,
    },
    OneSize {
        name: String,
        span: Span,
        declared: usize,
    },

    // Formats.
    FormatOrder {
        name: String,
        span: Span,
        message: String,
        order: usize,
    },
    AutoFormat {
        name: String,
        span: Span,
        format: String,
        result: bool,
    },
    ScalarPattern {
        name: String,
        span: Span,
    },
    PaddedPattern {
        name: String,
        span: Span,
        format: String,
    },

    // Types.
    Assignable {
        name: String,
        span: Span,
        from: DType,
        to: DType,
        /// It is a quotient of integers.
        divides: bool,
    },
    NotDefined {
        span: Span,
        function: String,
        dtype: DType,
    },
    OutOfRange {
        span: Span,
        value: String,
        dtype: DType,
    },
    UnknownType {
        span: Span,
        word: String,
    },
    Constant {
        span: Span,
    },
    ComplexCast {
        span: Span,
        from: DType,
        to: DType,
    },
    Fill {
        name: String,
        span: Span,
        value: String,
        dtype: DType,
    },

    // Statements.
    ReductionOperator {
        span: Span,
        op: String,
    },
    AssignedInput {
        name: String,
        span: Span,
        read: Option<Span>,
    },
    AssignedTwice {
        name: String,
        span: Span,
        first: Span,
    },
    Repeated {
        variable: String,
        span: Span,
        first: Span,
    },
    ReadsItself {
        name: String,
        span: Span,
        target: Span,
    },
    NotATarget {
        span: Span,
    },
    NoAssignment {
        span: Span,
        continued: bool,
    },
}

/// A size, and the place that it comes from.
#[derive(Clone, Debug)]
pub(crate) struct SizeUse {
    /// The access, or the variable.
    pub span: Span,
    /// The size.
    pub size: u64,
    /// The owner of the size, e.g. ``dimension 1 of `A` ``.
    pub whose: String,
}

impl Error {
    /// The mistake in words.
    pub fn into_diagnostic(self) -> Diagnostic {
        match self {
            Error::Character { span, found } => Diagnostic::error(
                "E0101",
                if found.is_control() {
                    format!("unexpected character `{}`", found.escape_unicode())
                } else {
                    format!("unexpected character `{found}`")
                },
            )
            .label(span, "not part of the language")
            .hint("names are made of the letters a-z, A-Z, digits and `_`; operators are `+ - * /`"),
            Error::Expected { span, expected, found } => {
                Diagnostic::error("E0102", format!("expected {expected}, found {found}"))
                    .label(span, format!("expected {expected}"))
                    .hint("a statement looks like `y(i) = A(i,j) * x(j) + b(i)`")
            }
            Error::Unclosed { open, span, closing, found } => {
                Diagnostic::error("E0103", format!("expected `{closing}`, found {found}"))
                    .label(span, format!("expected `{closing}`"))
                    .secondary(open, "opened here")
                    .hint(format!("close it with `{closing}`"))
            }
            Error::Number { span, number, suffix } => {
                let hint = if suffix.starts_with(|c: char| c.is_ascii_alphabetic() && !c.eq_ignore_ascii_case(&'e')) {
                    format!("write `{number} * {suffix}` for a product; a name cannot begin with a digit")
                } else {
                    "numbers look like `12`, `2.5` or `1e-3`".to_string()
                };
                Diagnostic::error("E0104", format!("`{number}{suffix}` is not a number"))
                    .label(span, "malformed")
                    .hint(hint)
            }
            Error::NumberTooLarge { span } => Diagnostic::error("E0104", "the number is too large")
                .label(span, "does not fit")
                .hint("integers reach 18446744073709551615, real numbers about 1.8e308"),
            Error::TooDeep { span } => {
                Diagnostic::error("E0105", format!("the expression is nested more than {MAX_HEIGHT} levels deep"))
                    .label(span, "too deep here")
                    .hint("compute a part of it in a statement of its own")
            }
            Error::NoStatement => Diagnostic::error("E0106", "there is no statement")
                .hint("write one, for example `y(i) = A(i,j) * x(j)`"),
            Error::TooLong { length } => {
                Diagnostic::error("E0107", format!("the text has {length} bytes; at most {MAX_SOURCE} are read"))
                    .hint("make it shorter, or split it into several programs")
            }
            Error::Trailing { span, found } => {
                Diagnostic::error("E0108", format!("unexpected {found} after the statement"))
                    .label(span, "the statement is complete before this")
                    .hint("put an operator before it, or `;` or a new line if it begins another statement")
            }
            Error::Operator { span, sign } => Diagnostic::error("E0109", format!("there is no operator `{sign}`"))
                .label(span, "not an operator here")
                .hint(operator_hint(sign)),

            Error::TensorAndVariable { name, tensor, variable, compared } => {
                Diagnostic::error("E0201", format!("`{name}` is both a tensor and an index variable"))
                    .label(tensor, "a tensor here")
                    .secondary(variable, "an index variable here")
                    .hint(match compared {
                        Some(function) => format!(
                            "`{function}({name}, ...)` reduces over index variables of what follows; otherwise the arguments of `{function}` are values"
                        ),
                        None => "rename one of them; the value of an index variable cannot be used in an expression".to_string(),
                    })
            }
            Error::IndexCount { name, span, count, first, first_count } => {
                let words = |count| words::count(count, "index", "indices");
                let message = format!("`{name}` has {} here and {} before", words(count), words(first_count));
                Diagnostic::error("E0202", message)
                    .label(span, words(count))
                    .secondary(first, words(first_count))
                    .hint("a tensor has one index for each of its dimensions, everywhere")
            }
            Error::Undeclared { name, span, hint } => {
                let message = format!("`{name}` has no value: it is neither given nor assigned before");
                Diagnostic::error("E0203", message).label(span, "read here").hints(
                    hint.clone().unwrap_or_else(|| "give it a value under its name".to_string()),
                    hint.unwrap_or_else(|| {
                        format!("give it a value, for example `-i {name}:FILE` or `-g {name}:rand`")
                    }),
                )
            }
            Error::UnknownFunction { name, span, hint } => {
                Diagnostic::error("E0204", format!("there is no function `{name}`"))
                    .label(span, "not a function")
                    .hint(hint)
            }
            Error::Arguments { name, span, expected, found } => {
                let message =
                    format!("`{name}` takes {}, not {found}", words::count(expected, "argument", "arguments"));
                Diagnostic::error("E0205", message).label(span, format!("{found} given")).hint(if expected == 1 {
                    format!("write `{name}(a)`")
                } else {
                    format!("write `{name}(a, b)`")
                })
            }
            Error::Reserved { name, span, what } => {
                Diagnostic::error("E0206", format!("a tensor cannot be called `{name}`"))
                    .label(span, format!("`{name}` is {what}"))
                    .hint("choose another name")
            }
            Error::NotAnIndex { span } => Diagnostic::error("E0207", "an index must be an index variable")
                .label(span, "not a variable")
                .hint("use a name such as `i`; constants, sums and other expressions as indices are not available yet"),
            Error::NotInProgram { name, what, hint } => {
                Diagnostic::error("E0208", format!("{what} is declared for `{name}`, which is not in the program"))
                    .hint(hint)
            }
            Error::BoundTwice { name, span, first } => {
                Diagnostic::error("E0209", format!("`{name}` is reduced over, but it has a meaning here already"))
                    .label(span, "bound again")
                    .secondary(first, "bound here")
                    .hint("reduce over a variable of another name")
            }
            Error::ReductionVariables { span, name } => {
                Diagnostic::error("E0210", format!("`{name}` needs one or more index variables and then an expression"))
                    .label(span, "variables come first, the expression last")
                    .hint(format!("write `{name}(k, A(i,k) * x(k))`"))
            }
            Error::Pruned { span } => {
                Diagnostic::error("E0211", "`prune` says what a result stores, so that it stands outermost")
                    .label(span, "inside of another expression, or added to what is there")
                    .hint("write `C(i,j) = prune(..)`; a part is pruned into a tensor of its own first")
            }
            Error::Sizes { variable, first, second } => {
                let message = format!("`{variable}` runs over {} and over {} coordinates", first.size, second.size);
                Diagnostic::error("E0301", message)
                    .label(second.span, format!("{} has size {}", second.whose, second.size))
                    .secondary(first.span, format!("{} has size {}", first.whose, first.size))
                    .hints(
                        "dimensions that one index variable runs over have one size: check the operands and what is declared",
                        "dimensions that one index variable runs over have one size: check the operands and `-d`",
                    )
            }
            Error::UnknownSize { variable, span, summed } => {
                let place = if summed { "in what is summed" } else { "on the right" };
                Diagnostic::error("E0302", format!("nothing tells the size of `{variable}`"))
                    .label(span, format!("`{variable}` does not occur {place}"))
                    .hints(
                        match summed {
                            true => format!("use it {place}, or declare its size with `Options::size`"),
                            false => format!(
                                "use it {place}, or declare its size with `Options::size`; in `einsum!`, give a tensor of \
                                 that size that the result is put into (`&mut`)"
                            ),
                        },
                        format!("use it {place}, or declare its size, for example `-d {variable}:100`"),
                    )
            }
            Error::DimensionCount { name, span, declared, order } => {
                let sizes = words::count(declared, "size is", "sizes are");
                let indices = words::count(order, "index", "indices");
                Diagnostic::error("E0303", format!("{sizes} declared for `{name}`, which has {indices}"))
                    .label(span, indices)
                    .hints(
                        match order {
                            0 => "a scalar has no sizes: remove the declaration",
                            _ => "declare one for each dimension",
                        },
                        match order {
                            0 => "a scalar has no sizes: remove the declaration".to_string(),
                            _ => format!(
                                "declare one for each dimension, for example `-d {name}:{}`",
                                vec!["5"; order.min(8)].join(",")
                            ),
                        },
                    )
            }
            Error::OneSize { name, span, declared } => {
                Diagnostic::error("E0303", format!("{declared} sizes are declared for the index variable `{name}`"))
                    .label(span, "an index variable has one size")
                    .hints("declare one", format!("declare one, for example `-d {name}:5`"))
            }

            Error::FormatOrder { name, span, message, order } => Diagnostic::error("E0401", message)
                .label(span, format!("`{name}` has {}", words::count(order, "index", "indices")))
                .hint(
                    "a format has one level for each dimension, for example `A:ds`; `dense`, `coo` and `csf` fit any",
                ),
            Error::AutoFormat { name, span, format, result } => {
                let message = format!("the format of `{name}` cannot be chosen: its entries are not known here");
                let hint = match result {
                    true => format!("leave the format of `{name}` away: the program tells one that suits its result"),
                    false => format!("read `{name}` from a file, or name a format, for example csr"),
                };
                Diagnostic::error("E0409", message).label(span, format!("declared `{format}`")).hint(hint)
            }
            Error::ScalarPattern { name, span } => {
                Diagnostic::error("E0407", format!("`{name}` is a scalar and cannot be a pattern"))
                    .label(span, "it is one value, and a pattern has none")
                    .hints(format!("declare that `{name}` is of type bool"), format!("declare `-t {name}:bool`"))
            }
            Error::PaddedPattern { name, span, format } => {
                Diagnostic::error("E0407", format!("`{name}` is a pattern and cannot be stored as {format}"))
                    .label(span, "some of its places only fill up, and without values nothing tells which")
                    .hints(
                        "choose a format that stores entries only, such as csf, or declare the type bool",
                        format!(
                            "choose a format that stores entries only, such as `-f {name}:csf`, or declare \
                             `-t {name}:bool`"
                        ),
                    )
            }
            Error::Assignable { name, span, from, to, divides } => {
                let other = if divides {
                    format!("`/` of integers gives a real number: write `idiv(a, b)` for a whole one, or `{to}(...)`")
                } else if from.is_complex() {
                    "take a part, for example `real(...)`".to_string()
                } else {
                    format!("convert it with `{to}(...)`")
                };
                Diagnostic::error(
                    "E0501",
                    format!("a value of type {from} cannot be assigned to `{name}` of type {to}"),
                )
                .label(span, format!("of type {from}"))
                .hints(
                    format!("{other}, or declare that `{name}` is of type {from}"),
                    format!("{other}, or declare `-t {name}:{from}`"),
                )
            }
            Error::NotDefined { span, function, dtype } => {
                Diagnostic::error("E0502", format!("{function} is not defined on {dtype}"))
                    .label(span, format!("operands of type {dtype}"))
                    .hint("convert the operands, for example with `f64(x)`, `i64(x)`, `real(x)` or `abs(x)`")
            }
            Error::OutOfRange { span, value, dtype } => {
                Diagnostic::error("E0503", format!("{value} does not fit in {dtype}"))
                    .label(span, format!("taken as {dtype}, the type of the other operand or of the result"))
                    .hint("convert the other operand to a wider type, for example with `i64(x)` or `f64(x)`")
            }
            Error::UnknownType { span, word } => words::unknown_type(span, &word),
            Error::Constant { span } => Diagnostic::error("E0505", "the value of the constant is out of range")
                .label(span, "infinite, undefined, or too large")
                .hint("constants are computed before anything runs; check for a division by zero"),
            Error::ComplexCast { span, from, to } => {
                Diagnostic::error("E0506", format!("{from} cannot be converted to {to}"))
                    .label(span, format!("of type {from}"))
                    .hint("take a part first, with `real(x)`, `imag(x)` or `abs(x)`")
            }
            Error::Fill { name, span, value, dtype } => {
                Diagnostic::error("E0507", format!("the fill value {value} of `{name}` is no value of type {dtype}"))
                    .label(span, format!("of type {dtype}"))
                    .hints(
                        format!("declare another type, for example f64, or a fill value that {dtype} has"),
                        format!("declare another type, for example `-t {name}:f64`, or a fill value that {dtype} has"),
                    )
            }
            Error::ReductionOperator { span, op } => {
                Diagnostic::error("E0601", format!("`{op}` is no way of assigning"))
                    .label(span, "not a monoid's operation")
                    .hint("use `=`, or one of `+= -= *= min= max= and= or= xor= any=`")
            }
            Error::AssignedInput { name, span, read } => {
                let error = Diagnostic::error("E0602", format!("`{name}` is an input and cannot be assigned to"))
                    .label(span, "assigned here");
                match read {
                    Some(read) => error
                        .secondary(read, "read here, before it has been assigned")
                        .hint("assign to a tensor of another name, or move this statement before that one"),
                    None => error.hint("assign to a tensor of another name, or use `+=` to add to it"),
                }
            }
            Error::AssignedTwice { name, span, first } => {
                Diagnostic::error("E0603", format!("`{name}` is assigned twice"))
                    .label(span, "assigned again")
                    .secondary(first, "first here")
                    .hint("use `+=` to add to it, or a tensor of another name")
            }
            Error::Repeated { variable, span, first } => {
                Diagnostic::error("E0604", format!("`{variable}` occurs twice on the left"))
                    .label(span, "again here")
                    .secondary(first, "first here")
                    .hint("use distinct index variables on the left; on the right they may repeat")
            }
            Error::ReadsItself { name, span, target } => {
                Diagnostic::error("E0605", format!("`{name}` is read by the statement that assigns to it"))
                    .label(span, "read here")
                    .secondary(target, "assigned here")
                    .hint("assign to a tensor of another name, or use `+=` to add to it")
            }
            Error::NotATarget { span } => Diagnostic::error("E0606", "this cannot be assigned to")
                .label(span, "not a tensor")
                .hint("the left-hand side is a tensor with its indices, for example `y(i)`"),
            Error::NoAssignment { span, continued } => {
                Diagnostic::error("E0606", "a statement assigns to a tensor, this one does not")
                    .label(span, "`=` or `+=` is missing")
                    .hint(if continued {
                        "a new line begins a statement: to continue one, end the line before with the operator"
                    } else {
                        "write `y(i) = ...`"
                    })
            }
        }
    }
}

/// The hint of what to write instead of an operator that the language lacks.
fn operator_hint(sign: &str) -> String {
    let function = match sign {
        "**" | "^" => "pow",
        "%" => "mod",
        "==" => "eq",
        "!=" => "neq",
        "<" => "lt",
        "<=" => "lte",
        ">" => "gt",
        ">=" => "gte",
        "&" | "&&" => "and",
        "|" | "||" => "or",
        "!" => return "call the function: `not(a)`".to_string(),
        "@" => return "write the indices: `C(i,k) = A(i,j) * B(j,k)`".to_string(),
        _ => return "operators are `+ - * /`; statements look like `C(i,k) = A(i,j) * B(j,k)`".to_string(),
    };
    format!("call the function: `{function}(a, b)`")
}

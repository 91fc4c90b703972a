//! Mistakes in types of elements.

use lacunar_base::{Diagnostic, Span};
use lacunar_formats::DType;

use crate::words;

/// A mistake in types of elements.
#[derive(Clone, Debug)]
pub(crate) enum TypeMistake {
    Assignable {
        name: String,
        span: Span,
        from: DType,
        to: DType,
        /// True if it is a quotient of integers.
        divides: bool,
        /// The integer whose assignment decided the type of the tensor, and its place.
        begins: Option<(i128, Span)>,
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
    Operator {
        span: Span,
        name: &'static str,
        dtype: DType,
        why: String,
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
}

impl TypeMistake {
    pub(super) fn into_diagnostic(self) -> Diagnostic {
        match self {
            TypeMistake::Assignable { name, span, from, to, begins: Some((value, first)), .. } if from.is_float() => {
                let message = format!("a value of type {from} cannot be assigned to `{name}` of type {to}");
                let begin = format!("`{name}` is {to} because it begins with `{value}`: begin with `{value}.0`");
                Diagnostic::error("E0501", message)
                    .label(span, format!("of type {from}"))
                    .secondary(first, format!("`{name}` becomes {to} here"))
                    .hints(
                        format!("{begin}, or declare that `{name}` is of type {from}"),
                        format!("{begin}, or declare `-t {name}:{from}`"),
                    )
            }
            TypeMistake::Assignable { name, span, from, to, divides, .. } => {
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
            TypeMistake::NotDefined { span, function, dtype } => {
                Diagnostic::error("E0502", format!("{function} is not defined on {dtype}"))
                    .label(span, format!("operands of type {dtype}"))
                    .hint("convert the operands, for example with `f64(x)`, `i64(x)`, `real(x)` or `abs(x)`")
            }
            TypeMistake::OutOfRange { span, value, dtype } => {
                Diagnostic::error("E0503", format!("{value} does not fit in {dtype}"))
                    .label(span, format!("taken as {dtype}, the type of the other operand or of the result"))
                    .hint("convert the other operand to a wider type, for example with `i64(x)` or `f64(x)`")
            }
            TypeMistake::UnknownType { span, word } => words::unknown_type(span, &word),
            TypeMistake::Constant { span } => Diagnostic::error("E0505", "the value of the constant is out of range")
                .label(span, "infinite, undefined, or too large")
                .hint("constants are computed before anything runs; check for a division by zero"),
            TypeMistake::Operator { span, name, dtype, why } => {
                Diagnostic::error("E0508", format!("`{name}` is not defined on {dtype}"))
                    .label(span, why)
                    .hint("convert the operands, for example with `f64(x)`, or declare another operator for this type")
            }
            TypeMistake::ComplexCast { span, from, to } => {
                Diagnostic::error("E0506", format!("{from} cannot be converted to {to}"))
                    .label(span, format!("of type {from}"))
                    .hint("take a part first, with `real(x)`, `imag(x)` or `abs(x)`")
            }
            TypeMistake::Fill { name, span, value, dtype } => {
                Diagnostic::error("E0507", format!("the fill value {value} of `{name}` is no value of type {dtype}"))
                    .label(span, format!("of type {dtype}"))
                    .hints(
                        format!("declare another type, for example f64, or a fill value that {dtype} has"),
                        format!("declare another type, for example `-t {name}:f64`, or a fill value that {dtype} has"),
                    )
            }
        }
    }
}

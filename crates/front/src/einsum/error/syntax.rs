//! Mistakes in texts that are no program.

use lacunar_base::{Diagnostic, Span};

use crate::einsum::ast::MAX_HEIGHT;
use crate::einsum::lexer::MAX_SOURCE;

/// A mistake in texts that are no program.
#[derive(Clone, Debug)]
pub(crate) enum SyntaxMistake {
    Character {
        span: Span,
        found: char,
    },
    Expected {
        span: Span,
        expected: &'static str,
        found: String,
    },
    /// In an action that begins with a word.
    Action {
        span: Span,
        expected: &'static str,
        found: String,
        form: &'static str,
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
    /// A comparison where none can be.
    Comparison {
        span: Span,
        sign: &'static str,
    },
    /// A comparison behind one.
    ComparedAgain {
        span: Span,
        sign: &'static str,
        first: Span,
    },
}

impl SyntaxMistake {
    pub(super) fn into_diagnostic(self) -> Diagnostic {
        match self {
            SyntaxMistake::Character { span, found } => Diagnostic::error(
                "E0101",
                if found.is_control() || found == '\u{feff}' {
                    format!("unexpected character `{}`", found.escape_unicode())
                } else {
                    format!("unexpected character `{found}`")
                },
            )
            .label(span, "not part of the language")
            .hint("names are made of the letters a-z, A-Z, digits and `_`; operators are `+ - * /`"),
            SyntaxMistake::Expected { span, expected, found } => {
                Diagnostic::error("E0102", format!("expected {expected}, found {found}"))
                    .label(span, format!("expected {expected}"))
                    .hint("a statement looks like `y(i) = A(i,j) * x(j) + b(i)`")
            }
            SyntaxMistake::Action { span, expected, found, form } => {
                Diagnostic::error("E0102", format!("expected {expected}, found {found}"))
                    .label(span, format!("expected {expected}"))
                    .hint(format!("this action looks like `{form}`"))
            }
            SyntaxMistake::Unclosed { open, span, closing, found } => {
                Diagnostic::error("E0103", format!("expected `{closing}`, found {found}"))
                    .label(span, format!("expected `{closing}`"))
                    .secondary(open, "opened here")
                    .hint(format!("close it with `{closing}`"))
            }
            SyntaxMistake::Number { span, number, suffix } => {
                let hint = if suffix.starts_with(|c: char| c.is_ascii_alphabetic() && !c.eq_ignore_ascii_case(&'e')) {
                    format!("write `{number} * {suffix}` for a product; a name cannot begin with a digit")
                } else {
                    "numbers look like `12`, `2.5` or `1e-3`".to_string()
                };
                Diagnostic::error("E0104", format!("`{number}{suffix}` is not a number"))
                    .label(span, "malformed")
                    .hint(hint)
            }
            SyntaxMistake::NumberTooLarge { span } => Diagnostic::error("E0104", "the number is too large")
                .label(span, "does not fit")
                .hint("integers reach 18446744073709551615, real numbers about 1.8e308"),
            SyntaxMistake::TooDeep { span } => {
                Diagnostic::error("E0105", format!("the expression is nested more than {MAX_HEIGHT} levels deep"))
                    .label(span, "too deep here")
                    .hint("compute a part of it in a statement of its own")
            }
            SyntaxMistake::NoStatement => Diagnostic::error("E0106", "there is no statement")
                .hint("write one, for example `y(i) = A(i,j) * x(j)`"),
            SyntaxMistake::TooLong { length } => {
                Diagnostic::error("E0107", format!("the text has {length} bytes; at most {MAX_SOURCE} are read"))
                    .hint("make it shorter, or split it into several programs")
            }
            SyntaxMistake::Trailing { span, found } => {
                Diagnostic::error("E0108", format!("unexpected {found} after the statement"))
                    .label(span, "the statement is complete before this")
                    .hint("put an operator before it, or `;` or a new line if it begins another statement")
            }
            SyntaxMistake::Operator { span, sign } => {
                Diagnostic::error("E0109", format!("there is no operator `{sign}`"))
                    .label(span, "not an operator here")
                    .hint(operator_hint(sign))
            }
            SyntaxMistake::Comparison { span, sign } => {
                let hint = match sign {
                    "==" => "write `=` to assign",
                    _ => "a comparison is a value, and stands on the right: `y(i) = x(i) < 2`",
                };
                Diagnostic::error("E0109", format!("`{sign}` cannot stand here"))
                    .label(span, "not an operator here")
                    .hint(hint)
            }
            SyntaxMistake::ComparedAgain { span, sign, first } => {
                Diagnostic::error("E0109", format!("`{sign}` follows another comparison"))
                    .label(span, "compares a truth value")
                    .secondary(first, "true or false")
                    .hint("write `and(a < b, b < c)`, or parentheses if truth values are to be compared")
            }
        }
    }
}

/// The hint for an operator that the language lacks: the text to write instead.
fn operator_hint(sign: &str) -> String {
    let function = match sign {
        "**" | "^" => "pow",
        "%" => "mod",
        "&" | "&&" => "and",
        "|" | "||" => "or",
        "!" => return "call the function: `not(a)`".to_string(),
        "@" => return "write the indices: `C(i,k) = A(i,j) * B(j,k)`".to_string(),
        _ => {
            return "operators are `+ - * /` and comparisons; statements look like `C(i,k) = A(i,j) * B(j,k)`"
                .to_string();
        }
    };
    format!("call the function: `{function}(a, b)`")
}

//! Mistakes in indices of tensors and arguments of functions.

use lacunar_base::{Diagnostic, Span};
use lacunar_notation::Indicator;

use crate::words;

/// A mistake in indices of tensors and arguments of functions.
#[derive(Clone, Debug)]
pub(crate) enum AccessMistake {
    IndexCount { name: String, span: Span, count: usize, first: Span, first_count: usize },
    Arguments { name: String, span: Span, expected: usize, found: usize },
    NotAnIndex { span: Span },
    LargeIndex { span: Span },
    IndexInLoops { span: Span },
    ReductionVariables { span: Span, name: &'static str },
    OneIndex { span: Span, name: &'static str },
    Pruned { span: Span },
}

impl AccessMistake {
    pub(super) fn into_diagnostic(self) -> Diagnostic {
        match self {
            AccessMistake::IndexCount { name, span, count, first, first_count } => {
                let words = |count| words::count(count, "index", "indices");
                let message = format!("`{name}` has {} here and {} before", words(count), words(first_count));
                Diagnostic::error("E0202", message)
                    .label(span, words(count))
                    .secondary(first, words(first_count))
                    .hint("a tensor has one index for each of its dimensions, everywhere")
            }
            AccessMistake::Arguments { name, span, expected, found } => {
                let message =
                    format!("`{name}` takes {}, not {found}", words::count(expected, "argument", "arguments"));
                Diagnostic::error("E0205", message).label(span, format!("{found} given")).hint(match expected {
                    1 => format!("write `{name}(a)`"),
                    2 => format!("write `{name}(a, b)`"),
                    _ => format!("write `{name}(c, a, b)`"),
                })
            }
            AccessMistake::NotAnIndex { span } => {
                Diagnostic::error("E0207", "an index is a sum of index variables, each times a number, and a number")
                    .label(span, "not of that form")
                    .hint("use a name such as `i`, or `i + 1`, `2*i + k`, `3`")
            }
            AccessMistake::LargeIndex { span } => {
                Diagnostic::error("E0212", format!("a number in an index is larger than {}", Indicator::MOST))
                    .label(span, "too large")
                    .hint("read a part of the tensor into a smaller one first")
            }
            AccessMistake::IndexInLoops { span } => {
                Diagnostic::error("E1412", "an index in loops by hand is a variable")
                    .label(span, "a sum, or a number")
                    .hint("write the statement without its loops, and a schedule for them")
            }
            AccessMistake::ReductionVariables { span, name } => {
                Diagnostic::error("E0210", format!("`{name}` needs one or more index variables and then an expression"))
                    .label(span, "variables come first, the expression last")
                    .hint(format!("write `{name}(k, A(i,k) * x(k))`"))
            }
            AccessMistake::OneIndex { span, name } => {
                let inner = name.trim_start_matches("arg");
                Diagnostic::error("E0210", format!("`{name}` gives the coordinate of one index variable"))
                    .label(span, "over several")
                    .hint(format!("reduce over the others inside: write `{name}(k, {inner}(j, A(k,j)))`"))
            }
            AccessMistake::Pruned { span } => {
                Diagnostic::error("E0211", "`prune` says what a result stores, so that it stands outermost")
                    .label(span, "inside of another expression, or added to what is there")
                    .hint("write `C(i,j) = prune(..)`; a part is pruned into a tensor of its own first")
            }
        }
    }
}

//! Mistakes in indices of tensors and arguments of functions.

use lacunar_base::{Diagnostic, Span};
use lacunar_formats::DType;
use lacunar_notation::{Equation, Gather};

use crate::words;

/// A mistake in indices of tensors and arguments of functions.
#[derive(Clone, Debug)]
pub(crate) enum AccessMistake {
    IndexCount { name: String, span: Span, count: usize, first: Span, first_count: usize },
    Arguments { name: String, span: Span, expected: usize, found: usize },
    NotAnIndex { span: Span },
    BorderInside { span: Span, name: &'static str },
    Extent { span: Span },
    LargeIndex { span: Span },
    IndexInLoops { span: Span },
    ReductionVariables { span: Span, name: &'static str },
    OneIndex { span: Span, name: &'static str },
    Pruned { span: Span },
    LongList { span: Span, length: usize },
    ListAsValue { span: Span },
    IndexType { name: String, span: Span, dtype: DType },
    Listed { span: Span, value: u64, size: u64 },
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
            AccessMistake::NotAnIndex { span } => Diagnostic::error(
                "E0207",
                "an index is a sum of index variables and elements, each times a number, and a number",
            )
            .label(span, "not of that form")
            .hint("use a name such as `i`, or `i + 1`, `2*i + k`, `3`, `p(i)`, `{1, 3, 5}(i)`, `wrap(i + 1)`"),
            AccessMistake::BorderInside { span, name } => {
                Diagnostic::error("E0207", format!("`{name}` stands around a whole index"))
                    .label(span, "a part of one")
                    .hint(format!("write `x({name}(2*i + 1))`, and not `x(2*{name}(i) + 1)`"))
            }
            AccessMistake::Extent { span } => {
                Diagnostic::error("E0205", "`size` takes a tensor and the number of a dimension")
                    .label(span, "of another form")
                    .hint("write `size(A, 0)` for the first dimension of `A`")
            }
            AccessMistake::LargeIndex { span } => {
                Diagnostic::error("E0212", format!("a number in an index is larger than {}", Equation::MOST))
                    .label(span, "too large")
                    .hint("read a part of the tensor into a smaller one first")
            }
            AccessMistake::IndexInLoops { span } => {
                Diagnostic::error("E1412", "an index in loops by hand is a variable")
                    .label(span, "a sum, or a number")
                    .hint("give it a loop of its own, `forall(d, .. [d == i + 1] * x(d))`, or write the statement without its loops")
            }
            AccessMistake::ReductionVariables { span, name } => {
                Diagnostic::error("E0210", format!("`{name}` needs one or more index variables and then an expression"))
                    .label(span, "variables come first, the expression last")
                    .hint(format!("write `{name}(k, A(i,k) * x(k))`"))
            }
            AccessMistake::LongList { span, length } => {
                Diagnostic::error("E0213", format!("a list has at most {} numbers", Gather::MOST))
                    .label(span, format!("{length} numbers"))
                    .hint("give them as a tensor of integers, `x(p(i))`")
            }
            AccessMistake::ListAsValue { span } => Diagnostic::error("E0213", "a list stands only as an index")
                .label(span, "a value is expected")
                .hint("write `x({1, 3, 5}(i))`, or give the numbers as a tensor"),
            AccessMistake::IndexType { name, span, dtype } => Diagnostic::error(
                "E0214",
                format!("an index is an integer, but `{name}` has elements of type {dtype}"),
            )
            .label(span, format!("values of type {dtype}"))
            .hints(
                format!("declare the type, `Options::dtype(\"{name}\", DType::I64)`, or convert the values, `i64(..)`"),
                format!("declare the type, `-t {name}:i64`, or convert the values, `i64(..)`"),
            ),
            AccessMistake::Listed { span, value, size } => {
                Diagnostic::error("E0215", format!("the coordinate {value} lies outside of a dimension of size {size}"))
                    .label(span, format!("{value} is on the list"))
                    .hint(match size.checked_sub(1) {
                        Some(last) => format!("coordinates are 0 to {last}"),
                        None => "the dimension has no coordinates".to_string(),
                    })
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

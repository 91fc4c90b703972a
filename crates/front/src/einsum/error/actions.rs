//! Mistakes in the actions between statements.

use lacunar_base::{Diagnostic, Span};
use lacunar_formats::Generator;

use crate::words;

/// A mistake in the actions between statements.
#[derive(Clone, Debug)]
pub(crate) enum ActionMistake {
    NoRound { span: Span, first: u64, end: u64 },
    NotWhole { span: Span },
    NotANumber { span: Span },
    NoTensor { name: String, span: Span, hint: String },
    Swapped { names: [String; 2], span: Span, differ: String },
    Snapshot { names: [String; 2], span: Span, differ: String },
    Structured { name: String, span: Span },
    Clock { name: String, span: Span },
    Generator { span: Span, word: String },
    Count { span: Span },
    CountOf { span: Span },
}

impl ActionMistake {
    pub(super) fn into_diagnostic(self) -> Diagnostic {
        match self {
            ActionMistake::NoRound { span, first, end } => {
                Diagnostic::error("E0607", format!("the range from {first} to {end} is empty"))
                    .label(span, "no round")
                    .hint("the second number is behind the last: `0 .. 20` has 20 rounds")
            }
            ActionMistake::NotWhole { span } => {
                Diagnostic::error("E0607", "the ends of a range and seeds are integers")
                    .label(span, "another type")
                    .hint("convert it, as in `for k in 0 .. i64(n) { .. }`")
            }
            ActionMistake::NotANumber { span } => Diagnostic::error("E0608", "a condition asks numbers alone")
                .label(span, "not a number")
                .hint("compute it in a statement before, as in `r = sum(i, x(i) * x(i))`, or count entries: `nnz(A)`"),
            ActionMistake::NoTensor { name, span, hint } => {
                Diagnostic::error("E0609", format!("no statement has a tensor `{name}`"))
                    .label(span, "unknown")
                    .hint(hint)
            }
            ActionMistake::Swapped { names: [a, b], span, differ } => {
                Diagnostic::error("E0610", format!("`{a}` and `{b}` cannot be swapped"))
                    .label(span, differ)
                    .hint("tensors of one format, type and size are swapped; else assign, as in `x(i) = y(i)`")
            }
            ActionMistake::Snapshot { names: [a, b], span, differ } => {
                Diagnostic::error("E0620", format!("`{a}` cannot be a snapshot of `{b}`"))
                    .label(span, differ)
                    .hint("a snapshot has the format, the type and the sizes of its tensor")
            }
            ActionMistake::Structured { name, span } => {
                Diagnostic::error("E0621", format!("entries of `{name}`, which has a structure, cannot change"))
                    .label(span, "the structure is compared when the tensor is given")
                    .hint("leave the structure away")
            }
            ActionMistake::Generator { span, word } => {
                let usual = "write, for example, `random A sparse(0.01) seed 7`";
                let diagnostic = match Generator::WORDS.contains(&word.as_str()) {
                    true => Diagnostic::error("E0622", format!("`{word}` does not take this argument"))
                        .label(span, "not that of the kind")
                        .hint(usual),
                    false => Diagnostic::error("E0622", "this is no kind of made-up tensor")
                        .label(span, "not a kind")
                        .hint(words::did_you_mean(&word, Generator::WORDS, usual)),
                };
                diagnostic.note("kinds: rand, ones, arange, sparse(DENSITY, from 0 to 1), uniform(ENTRIES PER ROW)")
            }
            ActionMistake::Count { span } => {
                Diagnostic::error("E0623", "`nnz` counts entries between statements alone")
                    .label(span, "in a statement")
                    .hint("ask it in a condition, a range or `fill`, as in `fill n nnz(A)`, and read `n` here")
            }
            ActionMistake::CountOf { span } => Diagnostic::error("E0623", "`nnz` takes the name of a tensor")
                .label(span, "of another form")
                .hint("write `nnz(A)`, without indices"),
            ActionMistake::Clock { name, span } => {
                Diagnostic::error("E0611", format!("the clock `{name}` is read before it is set"))
                    .label(span, "not set")
                    .hint(format!("set it before: `clock {name}`"))
            }
        }
    }
}

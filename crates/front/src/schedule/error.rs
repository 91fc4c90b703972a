//! The mistakes a schedule can have, and the words for each. The codes are explained in `docs/errors.md`.

use lacunar_base::{Diagnostic, Span};

use super::forms;
use crate::{einsum, words};

/// A mistake in a schedule.
#[derive(Clone, Debug)]
pub(crate) enum Error {
    // Syntax.
    /// A mistake that statements can have as well.
    Text(einsum::Error),
    Expected {
        span: Span,
        expected: &'static str,
        found: String,
    },

    // Forms.
    Command {
        span: Span,
        name: String,
    },
    Count {
        span: Span,
        form: &'static str,
        found: usize,
    },
    /// An index that is no variable.
    Index {
        span: Span,
    },
    Argument {
        span: Span,
        expected: &'static str,
        form: &'static str,
    },
    Word {
        span: Span,
        word: String,
        what: &'static str,
        words: Vec<&'static str>,
    },
    Separately {
        span: Span,
    },

    // Names.
    Variable {
        span: Span,
        name: String,
        hint: String,
    },
    Derived {
        span: Span,
        name: String,
    },
    Replaced {
        span: Span,
        name: String,
        by: Span,
        into: Vec<String>,
    },
    Taken {
        span: Span,
        name: String,
        what: &'static str,
        before: Option<Span>,
    },
    Tensor {
        span: Span,
        name: String,
        what: &'static str,
        hint: String,
    },
    Access {
        span: Span,
        text: String,
        others: Vec<String>,
    },
    Repeated {
        span: Span,
        name: String,
        first: Span,
    },
    Lengths {
        span: Span,
        vars: usize,
        into: usize,
    },

    // Statements.
    WhichStatement {
        span: Span,
        command: String,
        results: Vec<String>,
    },
    NoStatement {
        span: Span,
        names: Vec<String>,
    },
    UnknownStatement {
        span: Span,
        text: String,
        results: Vec<String>,
    },
    WhichAccess {
        span: Span,
        tensor: String,
        accesses: Vec<String>,
    },
    Nothing {
        span: Span,
    },
}

impl Error {
    /// A mistake found by the parser of expressions.
    pub fn of_expression(error: einsum::Error) -> Error {
        match error {
            einsum::Error::Syntax(einsum::SyntaxMistake::Expected { span, expected, found }) => {
                Error::Expected { span, expected, found }
            }
            other => Error::Text(other),
        }
    }

    /// The mistake in words.
    pub fn into_diagnostic(self) -> Diagnostic {
        match self {
            Error::Text(error) => error.into_diagnostic(),
            Error::Expected { span, expected, found } => {
                Diagnostic::error("E0901", format!("expected {expected}, found {found}"))
                    .label(span, format!("expected {expected}"))
                    .hint("a schedule looks like `split(i, i0, i1, 32), parallelize(i0, cpu)`")
            }
            Error::Command { span, name } => Diagnostic::error("E0902", format!("there is no command `{name}`"))
                .label(span, "not a command")
                .note(format!("commands: {}", forms::names().collect::<Vec<_>>().join(" ")))
                .hint(words::did_you_mean(&name, forms::names(), "use one of these")),
            Error::Count { span, form, found } => count(span, form, found),
            Error::Argument { span, expected, form } => Diagnostic::error("E0904", format!("expected {expected}"))
                .label(span, format!("not {expected}"))
                .hint(format!("write, for example, `{form}`")),
            Error::Index { span } => Diagnostic::error("E0904", "an index in a command is a variable")
                .label(span, "a sum, a number or an element")
                .hint("name the variable that its loop has, as in `A(i_at)`: `--emit concrete` prints it"),
            Error::Word { span, word, what, words } => {
                Diagnostic::error("E0905", format!("{} is not {what}", words::quoted(&word)))
                    .label(span, format!("not {what}"))
                    .hint(words::did_you_mean(&word, words.iter().copied(), format!("use one of: {}", words.join(" "))))
            }
            Error::Separately { span } => {
                Diagnostic::error("E0905", "the phase that counts a result's entries has no schedule of its own")
                    .label(span, "asks for one")
                    .hint("leave the third argument away")
            }
            Error::Variable { span, name, hint } => {
                Diagnostic::error("E0906", format!("there is no index variable `{name}` here"))
                    .label(span, "not a variable of the statement, nor made by a command before")
                    .hint(hint)
            }
            Error::Derived { span, name } => {
                Diagnostic::error("E0906", format!("`{name}` is not an index variable of the statement"))
                    .label(span, "made by a command before")
                    .hint("write accesses as they are in the statement; they keep their variables")
            }
            Error::Replaced { span, name, by, into } => replaced(span, &name, by, &into),
            Error::Taken { span, name, what, before } => taken(span, &name, what, before),
            Error::Tensor { span, name, what, hint } => Diagnostic::error("E0909", format!("`{name}` is not {what}"))
                .label(span, format!("not {what}"))
                .hint(hint),
            Error::Access { span, text, others } => {
                Diagnostic::error("E0909", format!("the statement does not read `{text}`"))
                    .label(span, "does not occur")
                    .hint(format!("it reads {}", quoted_list(&others)))
            }
            Error::Repeated { span, name, first } => Diagnostic::error("E0910", format!("`{name}` occurs twice"))
                .label(span, "again here")
                .secondary(first, "first here")
                .hint("name each variable once"),
            Error::Lengths { span, vars, into } => Diagnostic::error(
                "E0910",
                format!("{} but {}", words::count(vars, "variable", "variables"), words::count(into, "name", "names")),
            )
            .label(span, "as many names as variables are needed")
            .hint("write, for example, `precompute(A(i,j) * x(j), {i, j}, {iw, jw})`"),
            Error::WhichStatement { span, command, results } => which_statement(span, &command, &results),
            Error::NoStatement { span, names } => no_statement(span, &names),
            Error::UnknownStatement { span, text, results } => unknown_statement(span, &text, &results),
            Error::WhichAccess { span, tensor, accesses } => {
                Diagnostic::error("E0911", format!("`{tensor}` is read in several ways"))
                    .label(span, "which one is meant?")
                    .hint(format!("write {}", quoted_list(&accesses)))
            }
            Error::Nothing { span } => Diagnostic::error("E0912", "there is nothing to compute beforehand")
                .label(span, "no tensor is read here")
                .hint("write a part of the statement, for example `precompute(A(i,j) * x(j), j, jw)`"),
        }
    }
}

/// `` `a`, `b` or `c` ``.
fn quoted_list(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} or {last}", before.join(", ")),
        Some((last, _)) => last.clone(),
        None => "no tensor".to_string(),
    }
}

fn count(span: Span, form: &str, found: usize) -> Diagnostic {
    let name = form.split('(').next().unwrap_or_default();
    let found = words::count(found, "argument", "arguments");
    Diagnostic::error("E0903", format!("`{name}` does not take {found}"))
        .label(span, format!("{found} given"))
        .hint(format!("write `{form}`"))
}

fn taken(span: Span, name: &str, what: &str, before: Option<Span>) -> Diagnostic {
    let error = Diagnostic::error("E0908", format!("the name `{name}` is taken"))
        .label(span, format!("`{name}` is {what}"))
        .hint("choose a name that is new");
    match before {
        Some(before) => error.secondary(before, "made here"),
        None => error,
    }
}

fn no_statement(span: Span, names: &[String]) -> Diagnostic {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    Diagnostic::error("E0911", format!("no statement has all of {}", names.join(", ")))
        .label(span, "names of several statements")
        .hint("a command is for one statement; write one for each")
}

fn which_statement(span: Span, command: &str, results: &[String]) -> Diagnostic {
    Diagnostic::error("E0911", format!("`{command}` fits several statements"))
        .label(span, "which one is meant?")
        .note(format!("statements: {}", results.join(" ")))
        .hint(format!(
            "write the result before it, `{}: {command}(...)`, or the number of the statement, `1: {command}(...)`",
            results.first().map_or("y", String::as_str)
        ))
}

fn unknown_statement(span: Span, text: &str, results: &[String]) -> Diagnostic {
    let otherwise = format!("results: {}; numbers: 1 to {}", results.join(" "), results.len());
    Diagnostic::error("E0911", format!("there is no statement `{text}`"))
        .label(span, "neither a result nor a number of a statement")
        .hint(words::did_you_mean(text, results.iter().map(String::as_str), otherwise))
}

fn replaced(span: Span, name: &str, by: Span, into: &[String]) -> Diagnostic {
    let into = into.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" and ");
    Diagnostic::error("E0907", format!("there is no loop over `{name}` any more"))
        .label(span, format!("`{name}` has become {into}"))
        .secondary(by, "by this command")
        .hint(format!("use {into}, or move this command before that one"))
}

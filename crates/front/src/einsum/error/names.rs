//! Mistakes in names and their meanings.

use lacunar_base::{Diagnostic, Span};

/// A mistake in names and their meanings.
#[derive(Clone, Debug)]
pub(crate) enum NameMistake {
    /// `compared`: the function, `max` or `min`, that it is an argument of; `is_number`: the tensor has no indices.
    TensorAndVariable {
        name: String,
        tensor: Span,
        variable: Span,
        compared: Option<String>,
        is_number: bool,
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
    Reserved {
        name: String,
        span: Span,
        what: &'static str,
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
}

impl NameMistake {
    pub(super) fn into_diagnostic(self) -> Diagnostic {
        match self {
            NameMistake::TensorAndVariable { name, tensor, variable, compared, is_number } => {
                Diagnostic::error("E0201", format!("`{name}` is both a tensor and an index variable"))
                    .label(tensor, "a tensor here")
                    .secondary(variable, "an index variable here")
                    .hint(match compared {
                        Some(function) => format!(
                            "`{function}({name}, ...)` reduces over index variables of what follows; otherwise the arguments of `{function}` are values"
                        ),
                        None if is_number => format!("the value of the number `{name}` as an index is written `{name}()`; otherwise rename one of them"),
                        None => "rename one of them; only a name that is no tensor's stands for the value of an index variable".to_string(),
                    })
            }
            NameMistake::Undeclared { name, span, hint } => {
                let message = format!("`{name}` has no value: it is neither given nor assigned before");
                Diagnostic::error("E0203", message).label(span, "read here").hints(
                    hint.clone().unwrap_or_else(|| "give it a value under its name".to_string()),
                    hint.unwrap_or_else(|| {
                        format!("give it a value, for example `-i {name}:FILE` or `-g {name}:rand`")
                    }),
                )
            }
            NameMistake::UnknownFunction { name, span, hint } => {
                Diagnostic::error("E0204", format!("there is no function `{name}`"))
                    .label(span, "not a function")
                    .hint(hint)
            }
            NameMistake::Reserved { name, span, what } => {
                Diagnostic::error("E0206", format!("a tensor cannot be called `{name}`"))
                    .label(span, format!("`{name}` is {what}"))
                    .hint("choose another name")
            }
            NameMistake::NotInProgram { name, what, hint } => {
                Diagnostic::error("E0208", format!("{what} is declared for `{name}`, which is not in the program"))
                    .hint(hint)
            }
            NameMistake::BoundTwice { name, span, first } => {
                Diagnostic::error("E0209", format!("`{name}` is reduced over, but it has a meaning here already"))
                    .label(span, "bound again")
                    .secondary(first, "bound here")
                    .hint("reduce over a variable of another name")
            }
        }
    }
}

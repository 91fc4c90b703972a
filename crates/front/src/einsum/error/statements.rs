//! Mistakes in the assignments of a statement.

use lacunar_base::{Diagnostic, Span};

/// A mistake in the assignments of a statement.
#[derive(Clone, Debug)]
pub(crate) enum StatementMistake {
    ReductionOperator { span: Span, op: String, is_condition: bool },
    IndexOperator { span: Span, name: &'static str },
    AssignedInput { name: String, span: Span, read: Option<Span> },
    AssignedTwice { name: String, span: Span, first: Span },
    Repeated { variable: String, span: Span, first: Span },
    Overlapping { span: Span, variable: String },
    Scattered { span: Span, why: Meeting },
    NotATarget { span: Span },
    NoAssignment { span: Span, continued: bool },
}

/// The reason why two values may be assigned to one element.
#[derive(Clone, Debug)]
pub(crate) enum Meeting {
    /// The index is a value of a tensor.
    Values(String),
    /// The index is on a list that has a number twice.
    Listed,
    /// The index stays inside, by a rule of this name.
    Border(&'static str),
}

impl StatementMistake {
    pub(super) fn into_diagnostic(self) -> Diagnostic {
        match self {
            StatementMistake::ReductionOperator { span, op, is_condition } => {
                Diagnostic::error("E0601", format!("`{op}` is no way of assigning"))
                    .label(span, "not a monoid's operation")
                    .hint(match is_condition {
                        true => "a condition compares by `==`: `if x == 3 { .. }`",
                        false => "use `=`, or one of `+= -= *= min= max= and= or= xor= any=`",
                    })
            }
            StatementMistake::IndexOperator { span, name } => {
                Diagnostic::error("E0601", format!("`{name}=` is no way of assigning"))
                    .label(span, "an index does not tell the value that it is of")
                    .hint(format!("use `=`, and write `c(i) = {name}(k, A(i,k))`"))
            }
            StatementMistake::AssignedInput { name, span, read } => {
                let error = Diagnostic::error("E0602", format!("`{name}` is an input and cannot be assigned to"))
                    .label(span, "assigned here");
                match read {
                    Some(read) => error
                        .secondary(read, "read here, before it has been assigned")
                        .hint("assign to a tensor of another name, or move this statement before that one"),
                    None => error.hint("assign to a tensor of another name, or use `+=` to add to it"),
                }
            }
            StatementMistake::AssignedTwice { name, span, first } => {
                Diagnostic::error("E0603", format!("`{name}` is assigned twice"))
                    .label(span, "assigned again")
                    .secondary(first, "first here")
                    .hint("use `+=` to add to it, or a tensor of another name")
            }
            StatementMistake::Repeated { variable, span, first } => {
                Diagnostic::error("E0604", format!("`{variable}` occurs twice on the left"))
                    .label(span, "again here")
                    .secondary(first, "first here")
                    .hint("use distinct index variables on the left, where `A(i,i + 0)` is a diagonal; on the right they may repeat")
            }
            StatementMistake::Overlapping { span, variable } => {
                let hint = "combine the values, with `+=` or another assignment of a monoid; or declare the sizes by which they are \
                            told apart";
                Diagnostic::error("E0612", "an element would be assigned several values")
                    .label(span, format!("the indices do not tell `{variable}`"))
                    .hint(hint)
            }
            StatementMistake::Scattered { span, why } => {
                Diagnostic::error("E0619", "two values may be assigned to one element")
                    .label(
                        span,
                        match why {
                            Meeting::Values(name) => format!("values of `{name}` may be equal"),
                            Meeting::Listed => "a number is there twice".to_string(),
                            Meeting::Border(name) => format!("what `{name}` brings inside may meet another value"),
                        },
                    )
                    .hint("combine the values, with `+=` or another assignment of a monoid; `any=` takes one of them")
            }
            StatementMistake::NotATarget { span } => Diagnostic::error("E0606", "this cannot be assigned to")
                .label(span, "not a tensor")
                .hint("the left-hand side is a tensor with its indices, for example `y(i)`"),
            StatementMistake::NoAssignment { span, continued } => {
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

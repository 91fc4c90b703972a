//! Mistakes in declarations of operators.

use lacunar_base::{Diagnostic, Span};
use lacunar_notation::operator::{Declaration, Operator};

/// A mistake in the declaration of an operator.
#[derive(Clone, Debug)]
pub(crate) enum OperatorMistake {
    /// `first`: the place where the name has its meaning, if that is in the text.
    Taken {
        name: String,
        span: Span,
        what: &'static str,
        first: Span,
    },
    InBlock {
        span: Span,
    },
    Operands {
        span: Span,
        count: usize,
    },
    NotAnOperand {
        name: String,
        span: Span,
        hint: String,
    },
    NotInBody {
        span: Span,
        what: &'static str,
    },
    Recursive {
        span: Span,
        name: String,
    },
    /// It is called where no tensors are.
    NoRegions {
        span: Span,
        name: &'static str,
    },
    TooLarge {
        span: Span,
    },
    NoExternal {
        span: Span,
        name: String,
        count: usize,
    },
    NoBody {
        span: Span,
    },
    BodyAndRegion {
        span: Span,
    },
    RegionTwice {
        span: Span,
        first: Span,
    },
    OtherRegion {
        span: Span,
        word: String,
        params: usize,
    },
    Property {
        span: Span,
        name: String,
        why: &'static str,
    },
    /// `index`: the index that it is called with, if that is not its sign.
    NoMonoid {
        span: Span,
        operator: Operator,
        index: Option<String>,
    },
}

impl OperatorMistake {
    pub(super) fn into_diagnostic(self) -> Diagnostic {
        match self {
            OperatorMistake::Taken { name, span, what, first } => {
                let diagnostic =
                    Diagnostic::error("E0613", format!("`{name}` is taken")).label(span, format!("`{name}` is {what}"));
                let diagnostic =
                    if first == Span::NONE { diagnostic } else { diagnostic.secondary(first, "here first") };
                diagnostic.hint("choose another name")
            }
            OperatorMistake::InBlock { span } => {
                Diagnostic::error("E0614", "an operator is declared inside of a block")
                    .label(span, "a declaration")
                    .hint("declare it before the loop or condition: it is known from there on")
            }
            OperatorMistake::Operands { span, count } => {
                Diagnostic::error("E0614", format!("an operator cannot have {count} operands"))
                    .label(span, "declared here")
                    .hint(format!("it has 1 to {}, as in `op f(a, b) = a + b`", Declaration::MOST_PARAMS))
            }
            OperatorMistake::NoExternal { span, name, count } => {
                let operands = if count == 1 { "one operand".to_string() } else { format!("{count} operands") };
                Diagnostic::error("E0624", format!("no function `{name}` of {operands} is given from outside"))
                    .label(span, "not known")
                    .hint("a program in Rust gives it, by `Operator::external`; else write a body")
            }
            OperatorMistake::NoBody { span } => Diagnostic::error("E0614", "the operator has no body")
                .label(span, "declared here")
                .hint("write one, as in `op f(a, b) = a + b`, or regions: `op f(a, b) { both a * b, left a }`"),
            OperatorMistake::TooLarge { span } => {
                Diagnostic::error("E0614", "the operator is too large").label(span, "declared here").hint(format!(
                    "with the operators that it calls it has at most {} nodes and calls {} inside of each other",
                    Declaration::MOST_NODES,
                    Declaration::MOST_DEPTH
                ))
            }
            OperatorMistake::NotAnOperand { name, span, hint } => {
                Diagnostic::error("E0615", format!("`{name}` is no operand of the operator"))
                    .label(span, "unknown")
                    .hint(hint)
            }
            OperatorMistake::NotInBody { span, what } => {
                Diagnostic::error("E0615", format!("the body of an operator cannot have {what}"))
                    .label(span, "not in a body")
                    .hint("a body is computed of its operands alone; pass it to the operator as an operand")
            }
            OperatorMistake::Recursive { span, name } => Diagnostic::error("E0615", format!("`{name}` calls itself"))
                .label(span, "called here")
                .hint("a body calls functions, and operators that are declared before"),
            OperatorMistake::NoRegions { span, name } => {
                Diagnostic::error("E0615", format!("`{name}` has regions, and cannot be called here"))
                    .label(span, "of numbers, which are in no tensor")
                    .hint(
                        "only statements call it, as what is present there are elements of tensors; write `select(..)`",
                    )
            }
            OperatorMistake::BodyAndRegion { span } => {
                Diagnostic::error("E0616", "an operator has one body, or a body for each region")
                    .label(span, "a region beside the body")
                    .hint("leave out the body behind `=`, or the regions")
            }
            OperatorMistake::RegionTwice { span, first } => Diagnostic::error("E0616", "the region has two bodies")
                .label(span, "the second one")
                .secondary(first, "the first one")
                .hint("leave one of them out"),
            OperatorMistake::OtherRegion { span, word, params } => {
                let operands = if params == 1 { "one operand".to_string() } else { format!("{params} operands") };
                Diagnostic::error("E0616", format!("an operator of {operands} has no region `{word}`"))
                    .label(span, "no such region")
                    .hint(match params {
                        1 => "regions of one operand are `present` and `absent`",
                        2 => "regions of two operands are `both`, `left`, `right` and `neither`",
                        _ => "name the operands that are present, as in `at (a, c) a * c`",
                    })
            }
            OperatorMistake::Property { span, name, why } => {
                Diagnostic::error("E0617", format!("the operator cannot claim `{name}`"))
                    .label(span, why)
                    .hint("leave it out")
            }
            OperatorMistake::NoMonoid { span, operator, index } => {
                let name = operator.name();
                let otherwise = index.map(|index| format!("; for the value of the index, write `{index} + 0`"));
                Diagnostic::error("E0618", format!("`{name}` cannot combine the values of a reduction"))
                    .label(span, "not known to be a monoid")
                    .hint(format!("{}{}", to_declare(operator), otherwise.unwrap_or_default()))
            }
        }
    }
}

/// The properties that an operator's declaration lacks for a reduction by it, as a hint.
fn to_declare(operator: Operator) -> String {
    let claimed = operator.declaration().properties;
    let properties = [
        (claimed.identity.is_some(), "`identity 0` (or another value)"),
        (claimed.commutative, "`commutative`"),
        (claimed.associative, "`associative`"),
    ];
    let missing: Vec<&str> =
        properties.into_iter().filter(|(is_claimed, _)| !is_claimed).map(|(_, name)| name).collect();
    format!("declare what else holds of it, in braces: {}", missing.join(", "))
}

//! The mistakes of a program of rules, and the words for each. The codes are explained in `docs/errors.md`.

use lacunar_base::{Diagnostic, Span};
use lacunar_notation::structure::StructureFault;
use lacunar_sets::TextError;

use crate::structure::fault;

/// A mistake in a `.stur` file.
#[derive(Clone, Debug)]
pub(super) enum Error {
    Syntax { span: Span, found: String, expected: String },
    Deep { span: Span },
    Long { length: usize, most: usize },
    Unbound { span: Span, term: Span, name: String },
    Condition(TextError),
    Dimensions { span: Span, tensor: String },
    Target { span: Span, name: String },
    Coefficient { span: Span },
    Values { span: Span, tensor: String },
    Unknown { span: Span, name: String },
    Indices { span: Span, tensor: String, expected: usize },
    Fault { span: Span, fault: StructureFault },
    TooHard { span: Span },
}

impl Error {
    /// The mistake in words.
    pub fn into_diagnostic(self) -> Diagnostic {
        match self {
            Error::Syntax { span, found, expected } => {
                Diagnostic::error("E1521", format!("expected {expected}, found {found}"))
                    .label(span, "in this line")
                    .hint("a rule is `T(i,j) := A(i,k) * B(k,j) + (i = j)`; comparisons stand in parentheses")
            }
            Error::Deep { span } => Diagnostic::error("E1521", "parentheses are nested too deeply")
                .label(span, "here")
                .hint("write the inner sum as a rule of its own"),
            // The line itself would be too long to be shown.
            Error::Long { length, most } => {
                Diagnostic::error("E1521", format!("a line has {length} bytes; at most {most} are read"))
                    .hint("write parts of it as rules of their own")
            }
            Error::Unbound { span, term, name } => {
                Diagnostic::error("E1522", format!("the index `{name}` is missing in a term"))
                    .label(term, format!("`{name}` has any value here"))
                    .secondary(span, "in the head")
                    .hint(format!("say its range in the term, e.g. `(0 <= {name} < n)`"))
            }
            Error::Condition(error) => {
                Diagnostic::error("E1523", error.message).label(error.span, "in this comparison").hint(error.hint)
            }
            Error::Dimensions { span, tensor } => {
                Diagnostic::error("E1524", format!("the dimensions of `{tensor}` are not told"))
                    .label(span, "its size is needed")
                    .hint(format!("write a rule `{tensor}:D(i,j) := (0 <= i < m) * (0 <= j < n)` above"))
            }
            Error::Target { span, name } => {
                Diagnostic::error("E1525", format!("nothing tells `{name}`, an index of the target"))
                    .label(span, "a term of a redundancy map")
                    .hint(format!("say it by an equation of the point's indices, e.g. `({name} = i)`"))
            }
            Error::Coefficient { span } => {
                Diagnostic::error("E1526", "a coefficient that is no fraction of whole numbers")
                    .label(span, "this number")
                    .hint("write a whole number, `2^-1`, or a decimal of few digits")
            }
            Error::Values { span, tensor } => {
                Diagnostic::error("E1527", format!("values of `{tensor}` in a rule for a set"))
                    .label(span, "values")
                    .hint(format!("write `{tensor}:U` for the elements that are there"))
            }
            Error::Unknown { span, name } => Diagnostic::error("E1528", format!("no rule above tells `{name}`"))
                .label(span, "not known here")
                .hint("move its rule above this one"),
            Error::Indices { span, tensor, expected } => {
                Diagnostic::error("E1529", format!("another number of indices than `{tensor}` has"))
                    .label(span, format!("{expected} are expected"))
                    .hint("a redundancy map has an index for each of the point, then one for each of the target")
            }
            Error::Fault { span, fault: of } => Diagnostic::error("E1530", fault(&of))
                .label(span, "no structure with this rule")
                .hint("elements are unique or redundant, not both, and redundant ones lead to unique ones"),
            Error::TooHard { span } => Diagnostic::error("E1531", "it can't be told what this rule leaves")
                .label(span, "too many parts, or too large numbers")
                .hint("write it with fewer terms and smaller numbers"),
        }
    }
}

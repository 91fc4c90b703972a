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
    Inverse { span: Span, tensor: String },
    Bounds { span: Span, tensor: String },
    Symbol { span: Span, name: String },
    Sizes { span: Span, tensor: String, told: Vec<i64>, declared: Vec<i64> },
    Unsolved { span: Span, tensor: String, symbol: String, size: i64 },
    Twice { span: Span, first: Span, name: String },
    Unbounded { span: Span, name: String },
    Large { span: Span },
    Number { span: Span },
    Early { span: Span, name: String },
    Nothing,
    Output { name: String },
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
                    .hint("a tensor has as many indices everywhere; a redundancy map has those of a point, then those of its target")
            }
            Error::Fault { span, fault: of } => Diagnostic::error("E1530", fault(&of))
                .label(span, "no structure with this rule")
                .hint("elements are unique or redundant, not both, and redundant ones lead to unique ones"),
            Error::TooHard { span } => Diagnostic::error("E1531", "it can't be told what this rule leaves")
                .label(span, "too many parts, or too large numbers")
                .hint("write it with fewer terms and smaller numbers"),
            other => other.of_values(),
        }
    }

    /// A mistake that keeps a program from being computed.
    fn of_values(self) -> Diagnostic {
        match self {
            Error::Symbol { span, name } => {
                Diagnostic::error("E1532", format!("the value of the symbol `{name}` is not known"))
                    .label(span, "a number is needed here")
                    .hints(format!("declare it as a size, `size(\"{name}\", 8)`"), format!("declare it, `-d {name}:8`"))
            }
            Error::Sizes { span, tensor, told, declared } => {
                Diagnostic::error("E1533", format!("`{tensor}` has other sizes than its rule for dimensions says"))
                    .label(span, format!("{} by this rule, {} as given", sizes(&told), sizes(&declared)))
                    .hint("change the rule, or the values of the symbols in it")
            }
            Error::Unsolved { span, tensor, symbol, size } => {
                Diagnostic::error("E1533", format!("no whole number `{symbol}` gives `{tensor}` its size"))
                    .label(span, format!("the size is {size}"))
                    .hint("change the rule, or give a tensor of another size")
            }
            Error::Twice { span, first, name } => Diagnostic::error("E1534", format!("a second rule for `{name}`"))
                .label(span, "there is one already")
                .secondary(first, "here")
                .hint("write one rule, whose terms are added with `+`, or give this tensor another name"),
            Error::Unbounded { span, name } => {
                Diagnostic::error("E1535", format!("nothing tells the range of `{name}`"))
                    .label(span, format!("the sum over `{name}` has no end"))
                    .hint(format!(
                        "say its range, e.g. `(0 <= {name} < 8)`; a name with a given value stands behind `symbols:`"
                    ))
            }
            Error::Large { span } => Diagnostic::error("E1536", "numbers that are too large, or nested too deeply")
                .label(span, "here")
                .hint("compare sums of a few terms, whose values stay below 2^52"),
            Error::Number { span } => Diagnostic::error("E1536", "a factor that is no finite number")
                .label(span, "this number, or its product with those before")
                .hint("write numbers other than `0^-1` whose product is at most 1.7e308"),
            other => other.of_programs(),
        }
    }

    /// A mistake in how rules follow each other, or in a head.
    fn of_programs(self) -> Diagnostic {
        match self {
            Error::Inverse { span, tensor } => {
                Diagnostic::error("E1521", format!("expected `{tensor}` in a head, found `{tensor}^-1`"))
                    .label(span, "an inverse is read, not assigned")
                    .hint(format!("assign to `{tensor}`, and read `{tensor}^-1` in other rules"))
            }
            Error::Bounds { span, tensor } => {
                Diagnostic::error("E1524", format!("the dimensions of `{tensor}` have no upper bound"))
                    .label(span, "in this rule")
                    .hint(format!("say both bounds of each index, `{tensor}:D(i) := (0 <= i < n)`"))
            }
            Error::Early { span, name } => Diagnostic::error("E1538", format!("`{name}` is read before its rule"))
                .label(span, "it has no values here")
                .hint("move its rule above this one, or give the result another name"),
            Error::Output { name } => Diagnostic::error("E1539", format!("no rule assigns the output `{name}`"))
                .hint("name tensors that rules assign behind `outputs:`"),
            _ => Diagnostic::error("E1539", "no rule assigns values")
                .hint("write a rule for values, e.g. `y(i) := A(i,j) * x(j)`"),
        }
    }
}

/// `3x4`
fn sizes(dims: &[i64]) -> String {
    dims.iter().map(i64::to_string).collect::<Vec<_>>().join("x")
}

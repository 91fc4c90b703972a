//! The mistakes of a declared structure, and the words for each. The codes are explained in `docs/errors.md`.

use lacunar_base::{Diagnostic, Span};
use lacunar_notation::structure::{Named, StructureFault};
use lacunar_sets::TextError;

use crate::words;

/// A mistake in the text of a structure.
#[derive(Clone, Debug)]
pub(crate) enum Error {
    Form { span: Span },
    Unknown { span: Span, word: String },
    Order { span: Span, name: String, of: &'static str, order: usize },
    Arguments { span: Span, named: Named, order: usize },
    Argument { span: Span },
    Large { span: Span },
    Condition { start: usize, error: TextError },
    Head { span: Span, what: &'static str },
    Relation { span: Span, what: &'static str },
    Coefficient { span: Span, text: String },
    Dimensions { span: Span, written: usize, order: usize },
    TooHard { span: Span },
    Several { first: Span, span: Span },
    Parameter { span: Span, tensor: String, name: String },
    Elements { span: Span, tensor: String, what: String },
    Sizes { span: Span, tensor: String, dims: Vec<u64>, context: String },
    Packed { span: Span, tensor: String, packed: String },
}

impl Error {
    /// The mistake in words.
    pub fn into_diagnostic(self) -> Diagnostic {
        match self {
            Error::Form { span } => Diagnostic::error("E1505", "expected a tensor, then `:` and its structure")
                .label(span, "not of this form")
                .hint("write, for example, `-p A:symmetric` or `-p 'A(i,j): i <= j'`"),
            Error::Unknown { span, word } => {
                let names = Named::ALL.iter().map(|named| named.name);
                Diagnostic::error("E1501", format!("{} is not a structure", words::quoted(&word)))
                    .label(span, "not a structure")
                    .note(format!("structures: {}", names.clone().collect::<Vec<_>>().join(" ")))
                    .hint(words::did_you_mean(&word, names, "use one of these, or write a rule: `-p 'A(i,j): i <= j'`"))
            }
            Error::Order { span, name, of, order } => {
                let message = format!("`{name}` is a structure of {of}");
                Diagnostic::error("E1502", message)
                    .label(span, format!("of a tensor of {}", words::count(order, "dimension", "dimensions")))
                    .hint("write what holds as a rule, e.g. `-p 'T(i,j,k): i <= j'`")
            }
            Error::Arguments { span, named, order } => arguments(span, named, order),
            Error::Argument { span } => Diagnostic::error("E1503", "arguments of a structure are whole numbers")
                .label(span, "not a whole number")
                .hint("write, for example, `-p 'A:banded(2,1)'`"),
            Error::Large { span } => Diagnostic::error("E1503", "a number that is too large")
                .label(span, format!("more than {}", i64::MAX))
                .hint("write a number that some size of the tensor may reach"),
            Error::Condition { start, error } => {
                let at = |offset: u32| offset as usize + start;
                let span = Span::new(at(error.span.start), at(error.span.end));
                Diagnostic::error("E1504", error.message).label(span, "in this condition").hint(error.hint)
            }
            Error::Head { span, what } => Diagnostic::error("E1505", what)
                .label(span, "not a tensor with its dimensions")
                .hint("name each dimension once: `-p 'A(i,j): i <= j'`"),
            Error::Relation { span, what } => Diagnostic::error("E1506", what).label(span, "this relation").hint(
                "one side is the tensor at its dimensions, `A(i,j)`; the other at coordinates that lead back (`A(j,i)`), stay (`A(0,j)`), \
                 or are a constant distance away (`A(i+1,j+1)`)",
            ),
            Error::Coefficient { span, text } => Diagnostic::error("E1507", format!("{text} cannot stand in this relation"))
                .label(span, "this factor is not known here")
                .hint("where coordinates lead back, the factor is 1 or -1, perhaps with `conj(..)`; elsewhere 1"),
            Error::Dimensions { span, written, order } => {
                let message = format!("a rule for {}", words::count(written, "dimension", "dimensions"));
                Diagnostic::error("E1508", message)
                    .label(span, format!("the tensor has {order}"))
                    .hint("name as many dimensions as the tensor has")
            }
            Error::TooHard { span } => Diagnostic::error("E1509", "it can't be told what this structure leaves")
                .label(span, "too many parts, too large numbers, or a relation along lines that the condition cuts")
                .hint("write it with fewer parts and smaller numbers, or leave the relation away"),
            Error::Several { first, span } => Diagnostic::error("E1506", "a rule has one relation")
                .secondary(first, "the first one")
                .label(span, "another relation")
                .hint("keep the relation that the most elements follow from; conditions may stand beside it"),
            Error::Parameter { span, tensor, name } => {
                Diagnostic::error("E1510", format!("the structure of `{tensor}` depends on `{name}`, which has no value"))
                    .label(span, "of this tensor")
                    .hints(format!("declare it: `Options::size(\"{name}\", ..)`"), format!("give it as a size: `-d {name}:3`"))
            }
            Error::Elements { span, tensor, what } => {
                Diagnostic::error("E1511", format!("the structure of `{tensor}` does not fit its elements"))
                    .label(span, what)
                    .hint("leave the structure away, or declare other elements")
            }
            Error::Packed { span, tensor, packed } => {
                Diagnostic::error("E1513", format!("`{tensor}` is declared to have a structure, and is packed by another"))
                    .label(span, format!("its format is packed({packed})"))
                    .hint("leave one of the two away: a packed format declares its structure")
            }
            Error::Sizes { span, tensor, dims, context } => {
                let sizes: Vec<String> = dims.iter().map(u64::to_string).collect();
                Diagnostic::error("E1512", format!("the structure of `{tensor}` is of other sizes than {}", sizes.join(" x ")))
                    .label(span, format!("it has to be that {context}"))
                    .hint("leave the structure away, or give a tensor of such sizes")
            }
        }
    }
}

fn arguments(span: Span, named: Named, order: usize) -> Diagnostic {
    let Named { name, arguments, meaning, .. } = named;
    let message = match arguments {
        "" => format!("`{name}` does not take these arguments"),
        arguments => format!("`{name}` takes the arguments `{arguments}`"),
    };
    Diagnostic::error("E1503", message)
        .label(span, format!("does not fit a tensor of {}", words::count(order, "dimension", "dimensions")))
        .note(format!("{name}: {meaning}"))
        .hint(match arguments {
            "" => format!("write `-p A:{name}`"),
            arguments => format!("write numbers from 0 on in the places of `-p 'A:{name}{arguments}'`"),
        })
}

/// The reason why a set and a map are no structure, in words.
pub(crate) fn fault(fault: &StructureFault) -> &'static str {
    match fault {
        StructureFault::Space => "a set and a map of other dimensions",
        StructureFault::Both => "an element that is unique and follows from another",
        StructureFault::NotUnique => "an element that follows from one that is not unique",
        StructureFault::Unknown => "it can't be told whether this is a structure",
    }
}

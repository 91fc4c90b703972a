//! Mistakes in formats.

use lacunar_base::{Diagnostic, Span};
use lacunar_formats::{FormatError, FormatSpec, PackingFault};

use crate::words;

/// A mistake in formats.
#[derive(Clone, Debug)]
pub(crate) enum FormatMistake {
    FormatOrder { name: String, span: Span, order: usize, error: Box<FormatError> },
    Packing { name: String, span: Span, structure: String, fault: PackingFault },
    AutoFormat { name: String, span: Span, format: String, result: bool },
    ScalarPattern { name: String, span: Span },
    PaddedPattern { name: String, span: Span, format: String },
}

impl FormatMistake {
    pub(super) fn into_diagnostic(self) -> Diagnostic {
        match self {
            FormatMistake::FormatOrder { name, span, order, error } => {
                let message = match &*error {
                    FormatError::Order { format, levels, .. } => {
                        let stored = words::count(*levels, "dimension", "dimensions");
                        format!("format `{format}` stores {stored}, but `{name}` has {order}")
                    }
                    other => other.to_string(),
                };
                Diagnostic::error("E0401", message)
                    .label(span, format!("`{name}` has {}", words::count(order, "index", "indices")))
                    .hint(error.order_hint())
            }
            FormatMistake::Packing { name, span, structure, fault } => {
                let hint = FormatSpec::packing_hint(&structure, &fault);
                Diagnostic::error("E0411", format!("`{name}` cannot be packed as {}", words::quoted(&structure)))
                    .label(span, fault.to_string())
                    .hint(hint)
            }
            FormatMistake::AutoFormat { name, span, format, result } => {
                let message = format!("the format of `{name}` cannot be chosen: its entries are not known here");
                let hint = match result {
                    true => format!("leave the format of `{name}` away: the program tells one that suits its result"),
                    false => format!(
                        "read `{name}` from a file at the beginning, before all statements, of which one reads it; or name a format, \
                         for example csr"
                    ),
                };
                Diagnostic::error("E0409", message).label(span, format!("declared `{format}`")).hint(hint)
            }
            FormatMistake::ScalarPattern { name, span } => {
                Diagnostic::error("E0407", format!("`{name}` is a scalar and cannot be a pattern"))
                    .label(span, "it is one value, and a pattern has none")
                    .hints(format!("declare that `{name}` is of type bool"), format!("declare `-t {name}:bool`"))
            }
            FormatMistake::PaddedPattern { name, span, format } => {
                Diagnostic::error("E0407", format!("`{name}` is a pattern and cannot be stored as {format}"))
                    .label(span, "some of its places only fill up, and without values nothing tells which")
                    .hints(
                        "choose a format that stores entries only, such as csf, or declare the type bool",
                        format!(
                            "choose a format that stores entries only, such as `-f {name}:csf`, or declare \
                             `-t {name}:bool`"
                        ),
                    )
            }
        }
    }
}

//! Mistakes in sizes of dimensions.

use lacunar_base::{Diagnostic, Span};

use crate::words;

/// A mistake in sizes of dimensions.
#[derive(Clone, Debug)]
pub(crate) enum SizeMistake {
    Sizes { variable: String, first: SizeUse, second: SizeUse },
    UnknownSize { variable: String, span: Span, summed: bool },
    UnknownDimension { name: String, span: Span, dimension: usize },
    DimensionCount { name: String, span: Span, declared: usize, order: usize },
    UnknownExtent { name: String, span: Span },
    NoDimension { name: String, span: Span, dimension: u64, order: usize },
    OneSize { name: String, span: Span, declared: usize },
}

/// A size, and the place that it comes from.
#[derive(Clone, Debug)]
pub(crate) struct SizeUse {
    /// The access, or the variable.
    pub span: Span,
    /// The size.
    pub size: u64,
    /// The owner of the size, e.g. ``dimension 1 of `A` ``.
    pub whose: String,
}

impl SizeMistake {
    pub(super) fn into_diagnostic(self) -> Diagnostic {
        match self {
            SizeMistake::Sizes { variable, first, second } => {
                let message = format!("`{variable}` runs over {} and over {} coordinates", first.size, second.size);
                Diagnostic::error("E0301", message)
                    .label(second.span, format!("{} has size {}", second.whose, second.size))
                    .secondary(first.span, format!("{} has size {}", first.whose, first.size))
                    .hints(
                        "dimensions that one index variable runs over have one size in the whole program: use another name, or check the operands and what is declared",
                        "dimensions that one index variable runs over have one size in the whole program: use another name, or check the operands and `-d`",
                    )
            }
            SizeMistake::UnknownSize { variable, span, summed } => {
                let place = if summed { "in what is summed" } else { "on the right" };
                Diagnostic::error("E0302", format!("nothing tells the size of `{variable}`"))
                    .label(span, format!("`{variable}` does not occur {place}"))
                    .hints(
                        match summed {
                            true => format!("use it {place}, or declare its size with `Options::size`"),
                            false => format!(
                                "use it {place}, or declare its size with `Options::size`; in `einsum!`, give a tensor of \
                                 that size that the result is put into (`&mut`)"
                            ),
                        },
                        format!("use it {place}, or declare its size, for example `-d {variable}:100`"),
                    )
            }
            SizeMistake::UnknownDimension { name, span, dimension } => {
                Diagnostic::error("E0302", format!("nothing tells the size of dimension {dimension} of `{name}`"))
                    .label(span, "its index does not tell it")
                    .hints(
                        format!("declare its sizes with `Options::dims`, or give `{name}` a value before"),
                        format!("declare its sizes, for example `-d {name}:100`, or give it a value before"),
                    )
            }
            SizeMistake::DimensionCount { name, span, declared, order } => {
                let sizes = words::count(declared, "size is", "sizes are");
                let indices = words::count(order, "index", "indices");
                Diagnostic::error("E0303", format!("{sizes} declared for `{name}`, which has {indices}"))
                    .label(span, indices)
                    .hints(
                        match order {
                            0 => "a scalar has no sizes: remove the declaration",
                            _ => "declare one for each dimension",
                        },
                        match order {
                            0 => "a scalar has no sizes: remove the declaration".to_string(),
                            _ => format!(
                                "declare one for each dimension, for example `-d {name}:{}`",
                                vec!["5"; order.min(8)].join(",")
                            ),
                        },
                    )
            }
            SizeMistake::UnknownExtent { name, span } => {
                Diagnostic::error("E0302", format!("the sizes of `{name}` are not known before the program runs"))
                    .label(span, "has to be a number here")
                    .hints(
                        format!("declare them with `Options::dims(\"{name}\", ..)`"),
                        format!("declare them, for example `-d {name}:100`, or name a tensor that is given"),
                    )
            }
            SizeMistake::NoDimension { name, span, dimension, order } => {
                let dimensions = words::count(order, "dimension", "dimensions");
                Diagnostic::error("E0303", format!("`{name}` has {dimensions}, but no dimension {dimension}"))
                    .label(span, "no such dimension")
                    .hint("the first dimension is number 0")
            }
            SizeMistake::OneSize { name, span, declared } => {
                Diagnostic::error("E0303", format!("{declared} sizes are declared for the index variable `{name}`"))
                    .label(span, "an index variable has one size")
                    .hints("declare one", format!("declare one, for example `-d {name}:5`"))
            }
        }
    }
}

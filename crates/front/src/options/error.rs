//! The mistakes a flag's value can have, and the words for each. The codes are explained in `docs/errors.md`.

use lacunar_base::{Diagnostic, Span};
use lacunar_formats::{FormatSpec, Generator, Level, MapError, MapFault, PackingFault};

use crate::words;

/// A mistake in the value of a flag.
#[derive(Clone, Debug)]
pub(super) enum Error {
    Format { span: Span, word: String },
    Letter { span: Span, letter: char, word: String },
    Map { span: Span, error: MapError },
    FormatSizes { span: Span, word: String },
    Width { span: Span, reason: String },
    Schema { span: Span, name: String, closed: bool },
    Open { span: Span, word: String },
    Packing { span: Span, structure: String, fault: PackingFault },
    Ranks { span: Span },
    Form { span: Span, separators: String, example: &'static str },
    Name { span: Span, text: String, example: &'static str },
    Size { span: Span, text: String },
    Scalar { span: Span, text: String },
    Generator { span: Span, word: String },
    GeneratorArgument { span: Span, word: String, takes: &'static str },
    File { span: Span },
}

impl Error {
    /// The mistake in words.
    pub fn into_diagnostic(self) -> Diagnostic {
        let formats = || format!("formats: {}", FormatSpec::NAMES.join(" "));
        let letters = format!("letters: {}", Level::alphabet());
        match self {
            Error::Format { span, word } => {
                Diagnostic::error("E0402", format!("{} is not a format", words::quoted(&word)))
                    .label(span, "not a format")
                    .note(formats())
                    .note(letters)
                    .hint(FormatSpec::hint(&word))
            }
            Error::Letter { span, letter, word } => {
                Diagnostic::error("E0403", format!("`{letter}` is not a level kind"))
                    .label(span, "not a letter of a level")
                    .note(formats())
                    .note(letters)
                    .hint(FormatSpec::hint(&word))
            }
            Error::Map { span, error } => {
                Diagnostic::error("E0404", error.to_string()).label(span, map_label(&error.fault)).hint(error.hint())
            }
            Error::FormatSizes { span, word } => {
                let message = format!("{} does not have the sizes that the format takes", words::quoted(&word));
                let label = if word.contains('(') { "other sizes" } else { "sizes are missing" };
                Diagnostic::error("E0405", message).label(span, label).hint(sizes_hint(&word))
            }
            Error::Width { span, reason } => Diagnostic::error("E0406", reason).label(span, "not a width of this level").hint(
                "write the bits of coordinates behind a level's letter (8, 16, 32 or 64) and those of positions behind an `@` \
                 (32 or 64), e.g. `A:ds16` or `A:ds64@64`; what is not said is 32",
            ),
            Error::Schema { span, name, closed: true } => {
                Diagnostic::error("E0410", format!("no schema of nodes is called {}", words::quoted(&name)))
                    .label(span, "not the name of a schema")
                    .hint(FormatSpec::schema_hint(&name))
            }
            Error::Schema { span, .. } => Diagnostic::error("E0410", "the name of a schema is not closed")
                .label(span, "opened here")
                .hint("write the name in braces, e.g. `A:d{btree}`"),
            Error::Open { span, word } => Diagnostic::error("E0412", "a parenthesis is not closed")
                .label(span, "opened here")
                .hint(format!("write, for example, `{word})`")),
            Error::Packing { span, structure, fault } => {
                let hint = FormatSpec::packing_hint(&structure, &fault);
                Diagnostic::error("E0411", format!("{} cannot be packed", words::quoted(&structure)))
                    .label(span, fault.to_string())
                    .hint(hint)
            }
            Error::Ranks { span } => {
                Diagnostic::error("E0408", "slots of ranks are those of a level of kind `n`, and `n` keeps no others")
                    .label(span, "a term `#0~64` in another level, or a level `n` without")
                    .hint(
                        "write `n` where the map has the slots with their window, e.g. `A:dndp:0/8,#0~64,0%8,1`, which is \
                         `sell(8,64)`; or `e` and slots without a window, e.g. `A:dedp:0/8,#0,0%8,1`",
                    )
            }
            Error::Form { span, separators, example } => {
                Diagnostic::error("E0701", format!("expected a name, then {separators} and a value"))
                    .label(span, format!("no {separators} here"))
                    .hint(format!("write, for example, `{example}`"))
            }
            Error::Name { span, text, example } => {
                Diagnostic::error("E0702", format!("{} is not a name", words::quoted(&text)))
                    .label(span, "expected the name of a tensor or an index variable")
                    .hint(format!("names are made of letters, digits and `_`; write, for example, `{example}`"))
            }
            Error::Size { span, text } => Diagnostic::error("E0703", format!("{} is not a size", words::quoted(&text)))
                .label(span, "expected a whole number from 0 to 18446744073709551615")
                .hint("write the sizes with commas between them, for example `-d A:5,10`"),
            Error::Scalar { span, text } => Diagnostic::error(
                "E0704",
                format!("{} is not the value of a scalar", words::quoted(&text)),
            )
            .label(span, "expected a number or a truth value")
            .hint(
                "write, for example, `alpha=2.5`, `alpha=-3`, `alpha=1+2i` or `alpha=true`; `alpha:FILE` reads a file",
            ),
            Error::Generator { span, word } => {
                Diagnostic::error("E0705", format!("{} is not a kind of generated input", words::quoted(&word)))
                    .label(span, "not a kind")
                    .note("kinds: rand, ones, arange, sparse(DENSITY), uniform(ENTRIES PER ROW); letters: d r u s h")
                    .hint(words::did_you_mean(
                        &word,
                        Generator::WORDS,
                        "write, for example, `x:rand` or `A:sparse(0.01)`",
                    ))
            }
            Error::GeneratorArgument { span, word, takes } => {
                Diagnostic::error("E0706", format!("`{word}` takes {takes} in parentheses"))
                    .label(span, format!("expected {takes}"))
                    .hint(format!("write, for example, `{}`", generator_example(&word)))
            }
            Error::File { span } => Diagnostic::error("E0707", "the name of a file is missing")
                .label(span, "nothing here")
                .hint("write, for example, `A:matrix.mtx`"),
        }
    }
}

/// The label of the place of a mistake in a map.
fn map_label(fault: &MapFault) -> &'static str {
    match fault {
        MapFault::NoTerm(_) => "not a term",
        MapFault::Size(_) => "not a size",
        MapFault::Count { .. } => "another number of terms",
        MapFault::Missing(_) => "these terms leave it out",
        MapFault::Unpaired(_) | MapFault::Diagonal(_) => "not enough by itself",
        MapFault::Redundant(_) | MapFault::Slots(_) => "once more",
        MapFault::RankedDiagonal(_) | MapFault::RankedVector => "not with ranks",
        MapFault::Named(_) => "a map for levels that have one",
    }
}

/// A generated input of a kind, with its argument.
fn generator_example(word: &str) -> String {
    match word {
        "sparse" => "A:sparse(0.01)".to_string(),
        "uniform" => "A:uniform(8)".to_string(),
        word => format!("x:{word}"),
    }
}

/// The sizes that a format takes.
fn sizes_hint(word: &str) -> &'static str {
    match word.split('(').next().unwrap_or_default().trim().to_ascii_lowercase().as_str() {
        "bcsr" => "write the rows and columns of a block, whole numbers from 1 on, e.g. `bcsr(4,4)`",
        "csb" => "write the rows of a block, which has as many columns, a whole number from 1 on, e.g. `csb(64)`",
        "packed" => {
            "write the structure whose unique elements are stored, e.g. `packed(symmetric)` or `packed(banded(2,1))`"
        }
        "auto" => "write how many times the tensor is used, a whole number from 1 on, e.g. `auto(100)`, or `auto`",
        "hicoo" => "write the size of a block in every dimension, a whole number from 1 on, e.g. `hicoo(64)`",
        "sell" => {
            "write how many rows go together, and in how large windows rows are sorted, if they are: whole numbers from 1 on, \
             e.g. `sell(8)` or `sell(8,64)`"
        }
        "csr" | "csc" => "write `unordered` where rows need no order, e.g. `csr(unordered)`, or the name alone",
        _ => "this format takes none: write its name alone",
    }
}

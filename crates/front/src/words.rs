//! Words for messages: guesses at the user's meaning, and the names of things in lists; and the words that are names.

pub(crate) use lacunar_base::words::{count, nearest};
use lacunar_base::{Diagnostic, Span};
use lacunar_formats::DType;

/// `did you mean ...?`, or else another hint.
pub(crate) fn did_you_mean<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
    otherwise: impl Into<String>,
) -> String {
    match nearest(word, candidates) {
        Some(found) => format!("did you mean `{found}`?"),
        None => otherwise.into(),
    }
}

/// A word of the user in a message.
pub(crate) fn quoted(word: &str) -> String {
    if word.is_empty() { "the empty text".to_string() } else { format!("`{word}`") }
}

/// The error of a word that names no element type: of a cast, or of `-t`.
pub(crate) fn unknown_type(span: Span, word: &str) -> Diagnostic {
    let names = DType::ALL.iter().map(|dtype| dtype.name());
    let list = names.clone().collect::<Vec<_>>().join(" ");
    let others = ["double", "float", "int", "float64", "float32", "int64", "int32", "complex128", "complex64"];
    Diagnostic::error("E0504", format!("{} is not an element type", quoted(word)))
        .label(span, "not a type")
        .note(format!("element types: {list}"))
        .hint(did_you_mean(
            word,
            names.chain(others),
            "use one of these; `double`, `int32_t` or `float64` mean them too",
        ))
}

/// True for a name of the language: an identifier of C.
pub(crate) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

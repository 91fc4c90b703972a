//! Words for messages: guesses at the user's meaning, and the names of things in lists.
//!
//! ```text
//! nearest("squrt", ["sqrt", "square"]) = Some("sqrt")
//! ```

use lacunar_base::{Diagnostic, Span};
use lacunar_formats::DType;

/// The candidate that is a slip of the pen away from `word`: the nearest by edit distance, if it is near at all.
pub(crate) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: Vec<char> = word.chars().take(MAX_WORD).collect();
    let allowed = match word.len() {
        0 | 1 => 0,
        2 | 3 => 1,
        length => length / 3,
    };
    candidates
        .into_iter()
        .map(|candidate| (distance(&word, candidate), candidate))
        .filter(|&(distance, _)| distance <= allowed)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// Longer words are compared by their beginnings: bounds the time.
const MAX_WORD: usize = 64;

/// Levenshtein distance, a change of case alone counting nothing.
fn distance(word: &[char], candidate: &str) -> usize {
    let mut row: Vec<usize> = (0..=word.len()).collect();
    for (above, other) in candidate.chars().take(MAX_WORD).enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], above + 1);
        for (place, letter) in word.iter().enumerate() {
            let change = diagonal + usize::from(!letter.eq_ignore_ascii_case(&other));
            diagonal = row[place + 1];
            row[place + 1] = change.min(diagonal + 1).min(row[place] + 1);
        }
    }
    row[word.len()]
}

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

/// `1 index`, `2 indices`.
pub(crate) fn count(number: usize, one: &str, many: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {many}") }
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

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn nearest_word() {
        assert_eq!(nearest("squrt", ["sqrt", "square"]), Some("sqrt"));
        assert_eq!(nearest("CSR", ["csc", "csr"]), Some("csr"));
        assert_eq!(nearest("a", ["x", "A"]), Some("A"));
        assert_eq!(nearest("B", ["A", "x"]), None);
        assert_eq!(nearest("matrix", ["A", "x"]), None);
        assert_eq!(nearest("", ["long"]), None);
    }
}

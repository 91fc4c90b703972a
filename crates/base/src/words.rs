//! Words of messages: the word that somebody meant who wrote another, and counted nouns.
//!
//! ```
//! use lacunar_base::words::{count, nearest};
//! assert_eq!(nearest("squrt", ["sqrt", "square"]), Some("sqrt"));
//! assert_eq!([1, 2].map(|number| count(number, "index", "indices")), ["1 index", "2 indices"]);
//! ```

/// A number with its noun: `1 index`, `2 indices`.
pub fn count(number: usize, one: &str, many: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {many}") }
}

/// The candidate that is a slip of the pen away from `word`: the nearest by edit distance, if it is near at all.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
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

//! Sets and maps to text.
//!
//! A constraint has its negative terms on one side and its positive terms on the other: `j - i - 1 >= 0` is `i < j`. Comparisons that go on
//! from each other are one chain: `0 <= i <= j < n`.

use std::fmt;

use crate::affine::Affine;
use crate::map::Map;
use crate::piece::Piece;
use crate::set::{Set, Space};

/// A comparison in words: left, sign, right.
type Words = (String, &'static str, String);

/// A form in words, over the columns of a piece whose parameters and dimensions have these names.
///
/// ```
/// use lacunar_sets::{Affine, Space, print_form};
/// let space = Space::new(["n"], ["i"]);
/// assert_eq!(print_form(&Affine::new([1, -2], -1), &space, &space.universe()), "n - 2 i - 1");
/// ```
pub fn form(form: &Affine, space: &Space, piece: &Piece) -> String {
    sum(form, &names(space, piece))
}

/// The words for all columns.
fn names(space: &Space, piece: &Piece) -> Vec<String> {
    let mut names: Vec<String> = space.params.iter().chain(&space.dims).cloned().collect();
    for div in piece.divs() {
        let numerator = sum(&div.numerator, &names);
        let numerator = if numerator.contains(' ') { format!("({numerator})") } else { numerator };
        names.push(format!("floor({numerator}/{})", div.denominator));
    }
    names
}

fn sum(form: &Affine, names: &[String]) -> String {
    let mut text = String::new();
    // Positive terms lead, so that no form begins with a sign if it need not.
    let positive = form.terms().filter(|&(_, factor)| factor > 0);
    let negative = form.terms().filter(|&(_, factor)| factor < 0);
    for (column, factor) in positive.chain(negative) {
        join(&mut text, factor < 0);
        if factor.unsigned_abs() != 1 {
            text += &format!("{} ", factor.unsigned_abs());
        }
        text += names.get(column).map_or("?", String::as_str);
    }
    if form.offset() != 0 || text.is_empty() {
        join(&mut text, form.offset() < 0);
        text += &form.offset().unsigned_abs().to_string();
    }
    text
}

fn join(text: &mut String, negative: bool) {
    *text += match (text.is_empty(), negative) {
        (true, false) => "",
        (true, true) => "-",
        (false, false) => " + ",
        (false, true) => " - ",
    };
}

/// The part of a form that is subtracted, and the part that is added; the constant belongs to the latter, unless it is negative.
fn sides(form: &Affine, names: &[String], less: bool) -> (String, String) {
    let part = |sign: i64| {
        let keep = |&factor: &i64| if factor.signum() == sign { factor.saturating_abs() } else { 0 };
        form.factors().iter().map(keep).collect::<Vec<i64>>()
    };
    let offset = if less { form.offset().saturating_add(1) } else { form.offset() };
    let (low, high) = if offset < 0 { (offset.saturating_neg(), 0) } else { (0, offset) };
    (sum(&Affine::new(part(-1), low), names), sum(&Affine::new(part(1), high), names))
}

/// The constraints in words.
fn conditions(piece: &Piece, names: &[String]) -> String {
    let mut words: Vec<Words> = Vec::new();
    for form in piece.equalities() {
        let (low, high) = sides(form, names, false);
        words.push((high, "=", low));
    }
    let equalities = words.len();
    for form in piece.inequalities() {
        // `i < j` says the same as `i + 1 <= j`; but `1 <= i` is no worse than `0 < i`.
        let less = form.offset() == -1 && form.terms().any(|(_, factor)| factor < 0);
        let (low, high) = sides(form, names, less);
        words.push((low, if less { "<" } else { "<=" }, high));
    }
    let mut chains: Vec<String> = words.drain(..equalities).map(|(a, sign, b)| format!("{a} {sign} {b}")).collect();
    while !words.is_empty() {
        let is_first = |words: &Words, all: &[Words]| all.iter().all(|(_, _, right)| *right != words.0);
        let first = words.iter().position(|candidate| is_first(candidate, &words)).unwrap_or(0);
        let (left, sign, mut last) = words.remove(first);
        let mut chain = format!("{left} {sign} {last}");
        while let Some(next) = words.iter().position(|(left, _, _)| *left == last) {
            let (_, sign, right) = words.remove(next);
            chain += &format!(" {sign} {right}");
            last = right;
        }
        chains.push(chain);
    }
    chains.join(" and ")
}

fn write_params(f: &mut fmt::Formatter<'_>, params: &[String]) -> fmt::Result {
    if params.is_empty() { Ok(()) } else { write!(f, "[{}] -> ", params.join(", ")) }
}

fn write_conditions(f: &mut fmt::Formatter<'_>, conditions: &str) -> fmt::Result {
    if conditions.is_empty() { Ok(()) } else { write!(f, " : {conditions}") }
}

impl Set {
    /// The conditions of the points alone: `m = n` of `[m, n] -> { [] : m = n }`, and none where every point is in the set.
    ///
    /// ```
    /// use lacunar_sets::Set;
    /// let square: Set = "[m, n] -> { [] : m = n }".parse().unwrap();
    /// assert_eq!(square.conditions(), "m = n");
    /// ```
    pub fn conditions(&self) -> String {
        let of_pieces = self.pieces().iter().map(|piece| conditions(piece, &names(self.space(), piece)));
        of_pieces.collect::<Vec<_>>().join(", or ")
    }
}

impl fmt::Display for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let space = self.space();
        write_params(f, &space.params)?;
        f.write_str("{")?;
        let dims = space.dims.join(", ");
        if self.pieces().is_empty() && !space.dims.is_empty() {
            write!(f, " [{dims}] : false")?;
        }
        for (place, piece) in self.pieces().iter().enumerate() {
            write!(f, "{} [{dims}]", if place > 0 { ";" } else { "" })?;
            write_conditions(f, &conditions(piece, &names(space, piece)))?;
        }
        f.write_str(" }")
    }
}

impl fmt::Display for Map {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let space = self.space();
        write_params(f, &space.params)?;
        f.write_str("{")?;
        for (place, piece) in self.pieces().iter().enumerate() {
            let names = names(space, &piece.domain);
            let target: Vec<String> = piece.target.iter().map(|form| sum(form, &names)).collect();
            write!(f, "{} [{}] -> ", if place > 0 { ";" } else { "" }, space.dims.join(", "))?;
            if !piece.coefficient.is_one() {
                write!(f, "{} * ", piece.coefficient)?;
            }
            write!(f, "[{}]", target.join(", "))?;
            write_conditions(f, &conditions(&piece.domain, &names))?;
        }
        f.write_str(" }")
    }
}

//! Relations between two elements of a tensor: `A(j,i) = -A(i,j)`, `A(i,j) = conj(A(j,i))`, `A(i+1,j+1) = A(i,j)`, `A(i,j) = A(0,j)`.
//!
//! One side is the tensor at its dimensions. On exit a relation is a form for each dimension of the other side, and a coefficient: the
//! element at the dimensions is the coefficient times the element at the forms.

use lacunar_base::Span;
use lacunar_sets::{Affine, Coefficient, Expression, Space};

use super::Part;
use super::error::Error;

/// `T(x) = c T(g(x))`.
#[derive(Clone, Debug)]
pub(super) struct Relation {
    /// The forms of `g`, over parameters and dimensions.
    pub forms: Vec<Affine>,
    /// The coefficient.
    pub coefficient: Coefficient,
    /// Its place.
    pub span: Span,
}

/// One side of a relation.
struct Side {
    forms: Vec<Affine>,
    coefficient: Coefficient,
}

/// True if a part of a rule names the tensor with indices.
pub(super) fn is_relation(part: Part<'_>, tensor: &str) -> bool {
    part.text.match_indices(tensor).any(|(at, _)| {
        let before = part.text[..at].chars().next_back();
        let behind = part.text[at + tensor.len()..].trim_start();
        !before.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_') && behind.starts_with('(')
    })
}

impl Relation {
    /// Reads a relation.
    pub fn parse(part: Part<'_>, tensor: &str, space: &Space) -> Result<Relation, Error> {
        let wrong = |what| Error::Relation { span: part.span(), what };
        let sides = part.split('=');
        let [left, right] = sides.as_slice() else {
            return Err(wrong("a relation has two sides with `=` between them"));
        };
        let (left, right) = (Side::parse(*left, tensor, space)?, Side::parse(*right, tensor, space)?);
        let identity: Vec<Affine> =
            (0..space.dims.len()).map(|dim| Affine::variable(space.params.len() + dim)).collect();
        let (own, other) = if left.forms == identity { (left, right) } else { (right, left) };
        if own.forms != identity {
            return Err(wrong("a relation between two other elements than that at the dimensions"));
        }
        if other.forms == identity {
            return Err(wrong("a relation of an element with itself"));
        }
        // a x = b y, where x or y may be conjugated: x = (b/a) y.
        let too_large = || wrong("a coefficient that is 0 or too large");
        let (a, b) = (own.coefficient, other.coefficient);
        if a.numerator() == 0 || b.numerator() == 0 {
            return Err(too_large());
        }
        let inverse = Coefficient::new(a.denominator(), a.numerator(), a.conjugate).ok_or_else(too_large)?;
        let coefficient = b.times(inverse).ok_or_else(too_large)?;
        Ok(Relation { forms: other.forms, coefficient, span: part.span() })
    }
}

impl Side {
    /// `A(j,i)`, `-A(j,i)`, `2 * A(j,i)`, `-1/2 * conj(A(j,i))`.
    fn parse(part: Part<'_>, tensor: &str, space: &Space) -> Result<Side, Error> {
        let wrong = |what| Error::Relation { span: part.span(), what };
        let form = "a side is the tensor with indices, perhaps with a number, a sign and `conj(..)` before it";
        let (negative, text) = match part.text.strip_prefix('-') {
            Some(rest) => (true, rest.trim_start()),
            None => (false, part.text),
        };
        let digits = text.find(|c: char| !(c.is_ascii_digit() || c == '/')).unwrap_or(text.len());
        let (number, text) = text.split_at(digits);
        let text = text.trim_start();
        let text = if number.is_empty() { text } else { text.strip_prefix('*').unwrap_or(text).trim_start() };
        let (conjugate, text) = match text.strip_prefix("conj").map(str::trim_start) {
            Some(rest) if rest.starts_with('(') && tensor != "conj" => {
                let inside =
                    rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).ok_or_else(|| wrong(form))?;
                (true, inside.trim())
            }
            _ => (false, text),
        };
        let indices = text.strip_prefix(tensor).map(str::trim_start).and_then(|rest| rest.strip_prefix('('));
        let indices = indices.and_then(|rest| rest.strip_suffix(')')).ok_or_else(|| wrong(form))?;
        // Before the tensor's name stand only signs, digits and `conj(`.
        let name = if conjugate { part.text.find("conj").map_or(0, |at| at + "conj".len()) } else { 0 };
        let open =
            part.text[name..].find(tensor).and_then(|at| part.text[name + at..].find('(').map(|open| name + at + open));
        let start = part.start + open.map_or(0, |open| open + 1);
        let parts = Part::new(indices, start).split(',');
        if parts.len() != space.dims.len() {
            return Err(wrong("another number of indices than the tensor has dimensions"));
        }
        let mut piece = space.universe();
        let mut forms = Vec::new();
        for index in parts {
            let in_index = |error| Error::Condition { start: index.start, error };
            let expression = Expression::parse(index.text).map_err(in_index)?;
            forms.push(expression.form(space, &mut piece).map_err(in_index)?);
        }
        if !piece.divs().is_empty() {
            return Err(wrong("an index that is rounded"));
        }
        Ok(Side { forms, coefficient: number_of(number, negative, conjugate).ok_or_else(|| wrong(form))? })
    }
}

/// `3`, `1/2`, or nothing for 1.
fn number_of(text: &str, negative: bool, conjugate: bool) -> Option<Coefficient> {
    let (numerator, denominator) = match text.split_once('/') {
        _ if text.is_empty() => (1, 1),
        Some((above, below)) => (above.parse().ok()?, below.parse().ok()?),
        None => (text.parse::<i64>().ok()?, 1),
    };
    Coefficient::new(if negative { -numerator } else { numerator }, denominator, conjugate)
}

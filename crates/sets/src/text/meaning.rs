//! Formulas to sets, and whole texts to sets and maps.

use std::str::FromStr;

use lacunar_base::Span;

use super::TextError;
use super::parser::{Comparison, Expression, Formula, Parser};
use crate::affine::Affine;
use crate::coefficient::Coefficient;
use crate::map::{Map, MapPiece};
use crate::piece::Piece;
use crate::set::{Set, Space};

const TOO_LARGE: &str = "write it with smaller numbers and fewer parts";

impl Expression {
    /// The form that it stands for. Rounded quotients become divisions of `piece`, whose parameters and dimensions have the names of
    /// `space`.
    ///
    /// # Errors
    /// A name that is neither, a product of two forms, a number that does not fit.
    ///
    /// ```
    /// use lacunar_sets::{Affine, Expression, Space};
    /// let space = Space::new(["n"], ["i"]);
    /// let form = Expression::parse("2 i + n - 1").unwrap().form(&space, &mut space.universe()).unwrap();
    /// assert_eq!(form, Affine::new([1, 2], -1));
    /// ```
    pub fn form(&self, space: &Space, piece: &mut Piece) -> Result<Affine, TextError> {
        let too_large = || TextError::new(self.span(), "a number that is too large", TOO_LARGE);
        match self {
            Expression::Number(number, _) => Ok(Affine::constant(*number)),
            Expression::Name(name, span) => {
                let column = space.params.iter().chain(&space.dims).rposition_of(name);
                column.map(Affine::variable).ok_or_else(|| {
                    let known: Vec<&str> = space.params.iter().chain(&space.dims).map(String::as_str).collect();
                    let hint = format!("names that are known: {}", known.join(" "));
                    TextError::new(*span, format!("`{name}` is not known here"), hint)
                })
            }
            Expression::Sum(a, b, is_sum) => {
                let (a, b) = (a.form(space, piece)?, b.form(space, piece)?);
                a.combined(1, &b, if *is_sum { 1 } else { -1 }).ok_or_else(too_large)
            }
            Expression::Product(a, b) => {
                let (a, b) = (a.form(space, piece)?, b.form(space, piece)?);
                let (number, form) = if a.is_constant() { (a, b) } else { (b, a) };
                if !number.is_constant() {
                    let hint = "multiply by numbers alone; a product of two names is no affine form";
                    return Err(TextError::new(self.span(), "a product of two names", hint));
                }
                form.times(number.offset()).ok_or_else(too_large)
            }
            Expression::Quotient(inner, by, up, _) => {
                let inner = inner.form(space, piece)?;
                let rounded = if *up {
                    inner.negated().and_then(|form| piece.floor(&form, *by)?.negated())
                } else {
                    piece.floor(&inner, *by)
                };
                rounded.ok_or_else(too_large)
            }
            Expression::Remainder(inner, by, _) => {
                let inner = inner.form(space, piece)?;
                piece.modulo(&inner, *by).ok_or_else(too_large)
            }
        }
    }
}

/// The place of the last name that is alike: an inner one hides an outer one.
trait Named<'a>: Iterator<Item = &'a String> + Sized {
    fn rposition_of(self, name: &str) -> Option<usize> {
        self.enumerate().filter(|(_, other)| *other == name).map(|(place, _)| place).last()
    }
}

impl<'a, I: Iterator<Item = &'a String>> Named<'a> for I {}

impl Formula {
    /// The points of a space at which it holds.
    ///
    /// # Errors
    /// A name that the space does not have, a product of two names, numbers that do not fit, or too many pieces.
    ///
    /// ```
    /// use lacunar_sets::{Formula, Space};
    /// let set = Formula::parse("i < 3 or not i <= n").unwrap().set(&Space::new(["n"], ["i"])).unwrap();
    /// assert_eq!(set.contains(&[4], &[3]), Some(false));
    /// assert_eq!(set.contains(&[4], &[5]), Some(true));
    /// ```
    pub fn set(&self, space: &Space) -> Result<Set, TextError> {
        let given_up = || TextError::new(self.span(), "a condition that is too large", TOO_LARGE);
        match self {
            Formula::Constant(true) => Ok(Set::universe(space.clone())),
            Formula::Constant(false) => Ok(Set::empty(space.clone())),
            Formula::Chain(first, rest) => self.chain(space, first, rest),
            Formula::All(parts) => {
                let mut all = Set::universe(space.clone());
                for part in parts {
                    all = all.intersect(&part.set(space)?).ok_or_else(given_up)?;
                }
                Ok(all)
            }
            Formula::Any(parts) => {
                let mut any = Set::empty(space.clone());
                for part in parts {
                    any = any.union(&part.set(space)?).ok_or_else(given_up)?;
                }
                Ok(any)
            }
            Formula::Not(inner) => Set::universe(space.clone()).subtract(&inner.set(space)?).ok_or_else(given_up),
            Formula::Exists(names, inner) => {
                let mut inside = space.clone();
                inside.dims.extend(names.iter().map(|(name, _)| name.clone()));
                let bound: Vec<usize> = (space.dims.len()..inside.dims.len()).collect();
                inner.set(&inside)?.project_out(&bound).ok_or_else(given_up)
            }
        }
    }

    fn chain(&self, space: &Space, first: &Expression, rest: &[(Comparison, Expression)]) -> Result<Set, TextError> {
        let too_large = || TextError::new(self.span(), "a number that is too large", TOO_LARGE);
        let mut piece = space.universe();
        let mut left = first.form(space, &mut piece)?;
        // Both sides of each `!=`.
        let mut unequal = Vec::new();
        for (comparison, next) in rest {
            let right = next.form(space, &mut piece)?;
            let difference = |a: &Affine, b: &Affine, less: i64| a.minus(b).and_then(|form| form.shifted(-less));
            let at_least = match comparison {
                Comparison::AtMost => difference(&right, &left, 0),
                Comparison::Less => difference(&right, &left, 1),
                Comparison::AtLeast => difference(&left, &right, 0),
                Comparison::Greater => difference(&left, &right, 1),
                Comparison::Equal | Comparison::Unequal => difference(&left, &right, 0),
            };
            let form = at_least.ok_or_else(too_large)?;
            match comparison {
                Comparison::Equal => piece.equal(form),
                Comparison::Unequal => unequal.push(form),
                _ => piece.at_least(form),
            }
            left = right;
        }
        let mut pieces = vec![piece];
        for form in unequal {
            let sides = [form.negated().and_then(|form| form.shifted(-1)), form.shifted(-1)];
            let mut next = Vec::new();
            for side in sides {
                let side = side.ok_or_else(too_large)?;
                next.extend(pieces.iter().cloned().map(|mut piece| {
                    piece.at_least(side.clone());
                    piece
                }));
            }
            pieces = next;
            if pieces.len() > Set::MOST_PIECES {
                return Err(too_large());
            }
        }
        Ok(Set::of_disjoint(space.clone(), pieces))
    }

    /// The place of it, as far as it has names and numbers.
    fn span(&self) -> Span {
        match self {
            Formula::Constant(_) => Span::NONE,
            Formula::Chain(first, rest) => rest.last().map_or(first.span(), |(_, last)| first.span().to(last.span())),
            Formula::All(parts) | Formula::Any(parts) => {
                parts.iter().fold(Span::NONE, |span, part| span.to(part.span()))
            }
            Formula::Not(inner) | Formula::Exists(_, inner) => inner.span(),
        }
    }
}

/// The parameters before `->`, if there are some, and the brace behind.
fn head(parser: &mut Parser) -> Result<Vec<String>, TextError> {
    let mut params = Vec::new();
    if parser.takes("[") {
        params = parser.names("]")?.into_iter().map(|(name, _)| name).collect();
        parser.expect("]")?;
        parser.expect("->")?;
    }
    parser.expect("{")?;
    Ok(params)
}

/// The dimensions of a part, which are as many as those of the parts before.
fn dims(parser: &mut Parser, space: &mut Option<Space>, params: &[String]) -> Result<Space, TextError> {
    let start = parser.span();
    parser.expect("[")?;
    let names: Vec<String> = parser.names("]")?.into_iter().map(|(name, _)| name).collect();
    parser.expect("]")?;
    let own = Space { params: params.to_vec(), dims: names };
    let first = space.get_or_insert_with(|| own.clone());
    if first.is_like(&own) {
        return Ok(own);
    }
    let hint = format!("all parts of a set have as many dimensions, here {}", first.dims.len());
    Err(TextError::new(start, "another number of dimensions", hint))
}

impl FromStr for Set {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Set, TextError> {
        let mut parser = Parser::new(text)?;
        let params = head(&mut parser)?;
        let mut space = None;
        let mut pieces = Vec::new();
        let mut disjoint = None;
        while !parser.takes("}") {
            let own = dims(&mut parser, &mut space, &params)?;
            let part = if parser.takes(":") { parser.formula()?.set(&own)? } else { Set::universe(own) };
            disjoint = Some(disjoint.is_none() && part.is_disjoint());
            pieces.extend(part.pieces().iter().cloned());
            if !parser.takes(";") {
                parser.expect("}")?;
                break;
            }
        }
        parser.end()?;
        let space = space.unwrap_or(Space { params, dims: Vec::new() });
        Ok(if disjoint == Some(true) { Set::of_disjoint(space, pieces) } else { Set::of_pieces(space, pieces) })
    }
}

impl FromStr for Map {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Map, TextError> {
        let mut parser = Parser::new(text)?;
        let params = head(&mut parser)?;
        let mut space = None;
        let mut order = None;
        let mut pieces = Vec::new();
        while !parser.takes("}") {
            let start = parser.span();
            let own = dims(&mut parser, &mut space, &params)?;
            parser.expect("->")?;
            let coefficient = coefficient(&mut parser)?;
            let target = target(&mut parser)?;
            if *order.get_or_insert(target.len()) != target.len() {
                let hint = "all targets of a map have as many dimensions";
                return Err(TextError::new(start, "another number of dimensions", hint));
            }
            let part = if parser.takes(":") { parser.formula()?.set(&own)? } else { Set::universe(own.clone()) };
            for domain in part.pieces() {
                let mut domain = domain.clone();
                let forms = target.iter().map(|expression| expression.form(&own, &mut domain));
                let forms = forms.collect::<Result<Vec<Affine>, TextError>>()?;
                pieces.push(MapPiece { domain, target: forms, coefficient });
            }
            if !parser.takes(";") {
                parser.expect("}")?;
                break;
            }
        }
        parser.end()?;
        let space = space.unwrap_or(Space { params, dims: Vec::new() });
        let names = (0..order.unwrap_or(0)).map(|dim| format!("o{dim}")).collect();
        Map::new(space, names, pieces).ok_or_else(|| TextError::new(Span::NONE, "a map that is too large", TOO_LARGE))
    }
}

/// The factor before a target: `-1 *`, `1/2 conj *`.
fn coefficient(parser: &mut Parser) -> Result<Coefficient, TextError> {
    let start = parser.span();
    let negative = parser.takes("-");
    let numbers = parser.sees_number();
    let numerator = if numbers { parser.number()? } else { 1 };
    let denominator = if numbers && parser.takes("/") { parser.number()? } else { 1 };
    let conjugate = parser.takes_word("conj");
    if negative || numbers || conjugate {
        parser.expect("*")?;
    }
    let sign = if negative { -1 } else { 1 };
    Coefficient::new(sign * numerator, denominator, conjugate)
        .ok_or_else(|| TextError::new(start, "a division by 0", "write a number other than 0 behind the `/`"))
}

fn target(parser: &mut Parser) -> Result<Vec<Expression>, TextError> {
    parser.expect("[")?;
    let mut target = Vec::new();
    while !parser.takes("]") {
        target.push(parser.expression()?);
        if !parser.takes(",") {
            parser.expect("]")?;
            break;
        }
    }
    Ok(target)
}

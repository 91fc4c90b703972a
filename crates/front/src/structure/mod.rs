//! Declared structure of a tensor: the values of `-p`.
//!
//! ```text
//! A:symmetric                          a name of the library, for any order that it is defined for
//! A:banded(2,1)                        with arguments
//! A(i,j): i <= j                       a condition: elements outside are 0
//! A(i,j): A(j,i) = -A(i,j)             a relation: elements follow from others
//! A(i,j): A(j,i) = conj(A(i,j)); i - j <= 2 and j - i <= 2
//! ```
//!
//! Names in a condition that are no dimensions are parameters, whose values are given as sizes are. Text is read before the program is, so
//! that the order of a named structure is known later: [`StructureSpec::resolve`].
//!
//! ```
//! use lacunar_front::structure;
//! let (name, spec) = structure::parse("A(i,j): A(j,i) = -A(i,j)").unwrap();
//! let skew = spec.resolve(2).unwrap();
//! assert_eq!(name, "A");
//! assert_eq!(skew.unique().contains(&[3, 3], &[1, 1]), Some(false));
//! assert_eq!(structure::parse("A:symetric").unwrap_err().code, "E1501");
//! ```

mod error;
mod orbits;
mod relation;
mod rule;

use std::fmt;
use std::num::{IntErrorKind, ParseIntError};

use lacunar_base::{Diagnostic, Span};
use lacunar_notation::Structure;
use lacunar_notation::structure::{Named, NamedFault};

pub(crate) use error::{Error, fault};

/// A structure that is declared, before the order of its tensor is known.
#[derive(Clone, Debug, PartialEq)]
pub struct StructureSpec {
    kind: Kind,
    span: Span,
    /// The text behind the tensor's name, without the colon of a name.
    text: String,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Named { name: String, arguments: Vec<i64> },
    Rule(Box<Structure>),
}

/// `NAME:STRUCTURE` or `NAME(i,j): RULE`: a tensor's name and its structure.
///
/// # Errors
/// E1501 for the name of a structure, E1503 for its arguments, E1504 for a condition, E1505 for what stands before the colon, E1506 and
/// E1507 for a relation. The spans are within the text.
pub fn parse(text: &str) -> Result<(String, StructureSpec), Diagnostic> {
    read(text).map_err(Error::into_diagnostic)
}

fn read(text: &str) -> Result<(String, StructureSpec), Error> {
    let Some(colon) = text.find(':') else {
        return Err(Error::Form { span: Part::new(text, 0).span() });
    };
    let (head, value) = (Part::new(&text[..colon], 0), Part::new(&text[colon + 1..], colon + 1));
    if head.text.contains('(') {
        let (name, structure) = rule::read(head, value)?;
        let text = text[name.len() + text.find(&name).unwrap_or(0)..].trim().to_string();
        return Ok((name, StructureSpec { kind: Kind::Rule(Box::new(structure)), span: value.span(), text }));
    }
    if !crate::words::is_name(head.text) {
        return Err(Error::Form { span: head.span() });
    }
    let (name, arguments) = call(value)?;
    if Named::find(name.text).is_none() {
        return Err(Error::Unknown { span: name.span(), word: name.text.to_string() });
    }
    let kind = Kind::Named { name: name.text.to_string(), arguments };
    Ok((head.text.to_string(), StructureSpec { kind, span: value.span(), text: value.text.to_string() }))
}

impl StructureSpec {
    /// The names in it that are neither sizes nor dimensions, and need a number each.
    ///
    /// ```
    /// let (_, spec) = lacunar_front::structure::parse("A(i,j): i - j <= w").unwrap();
    /// assert_eq!(spec.parameters(), ["w"]);
    /// ```
    pub fn parameters(&self) -> &[String] {
        match &self.kind {
            Kind::Named { .. } => &[],
            Kind::Rule(structure) => structure.space().params.get(structure.order()..).unwrap_or_default(),
        }
    }

    /// Its text, with numbers in the places of the names that need one, in their order.
    ///
    /// ```
    /// let (_, spec) = lacunar_front::structure::parse("A(i,j): i - j <= w").unwrap();
    /// assert_eq!(spec.with_numbers(&[3]), "(i,j): i - j <= 3");
    /// ```
    pub fn with_numbers(&self, numbers: &[i64]) -> String {
        let is_in_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (mut text, mut rest) = (String::new(), self.text.as_str());
        while let Some(begin) = rest.find(is_in_name) {
            text.push_str(&rest[..begin]);
            let end = rest[begin..].find(|c| !is_in_name(c)).map_or(rest.len(), |length| begin + length);
            let word = &rest[begin..end];
            match self.parameters().iter().zip(numbers).find(|(name, _)| *name == word) {
                Some((_, number)) => text.push_str(&number.to_string()),
                None => text.push_str(word),
            }
            rest = &rest[end..];
        }
        text + rest
    }

    /// The structure of a tensor of an order.
    ///
    /// # Errors
    /// E1502 and E1508 for the order, E1503 for arguments; E1509 where a condition is too hard.
    pub fn resolve(&self, order: usize) -> Result<Structure, Diagnostic> {
        self.resolve_at(order, self.span).map_err(Error::into_diagnostic)
    }

    /// Resolves like [`StructureSpec::resolve`]; a mistake is one of the place where the tensor occurs.
    pub(crate) fn resolve_at(&self, order: usize, span: Span) -> Result<Structure, Error> {
        match &self.kind {
            Kind::Named { name, arguments } => named(name, arguments, order, span),
            Kind::Rule(structure) if structure.order() == order => Ok((**structure).clone()),
            Kind::Rule(structure) => Err(Error::Dimensions { span, written: structure.order(), order }),
        }
    }
}

/// The structure of a name of the library.
fn named(name: &str, arguments: &[i64], order: usize, span: Span) -> Result<Structure, Error> {
    let Some(named) = Named::find(name) else { return Err(Error::Unknown { span, word: name.to_string() }) };
    named.structure(order, arguments).map_err(|error| match error {
        NamedFault::Order(of) => Error::Order { span, name: name.to_string(), of, order },
        NamedFault::Arguments => Error::Arguments { span, named: *named, order },
        NamedFault::Structure(_) | NamedFault::Text(_) => Error::TooHard { span },
    })
}

/// The text behind the tensor's name: the name of a structure, or dimensions and a rule.
impl fmt::Display for StructureSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A name, perhaps with numbers in parentheses behind it.
fn call(value: Part<'_>) -> Result<(Part<'_>, Vec<i64>), Error> {
    let Some((name, rest)) = value.text.split_once('(') else { return Ok((value, Vec::new())) };
    let name = Part::new(name, value.start);
    let start = value.start + value.text.len() - rest.len();
    let Some(inside) = rest.strip_suffix(')') else {
        return Err(Error::Argument { span: Part::new(rest, start).span() });
    };
    let mut arguments = Vec::new();
    for part in Part::new(inside, start).split(',') {
        let number = part.text.parse().map_err(|error: ParseIntError| match error.kind() {
            IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => Error::Large { span: part.span() },
            _ => Error::Argument { span: part.span() },
        })?;
        arguments.push(number);
    }
    Ok((name, arguments))
}

/// A part of the text, without blanks around it, and its first byte.
#[derive(Clone, Copy)]
struct Part<'a> {
    text: &'a str,
    start: usize,
}

impl<'a> Part<'a> {
    fn new(text: &'a str, start: usize) -> Part<'a> {
        let trimmed = text.trim_start();
        Part { text: trimmed.trim_end(), start: start + text.len() - trimmed.len() }
    }

    fn span(self) -> Span {
        Span::new(self.start, self.start + self.text.len())
    }

    /// The parts between separators that stand in no parentheses.
    fn split(self, separator: char) -> Vec<Part<'a>> {
        let mut parts = Vec::new();
        let (mut depth, mut begin) = (0_i64, 0);
        for (at, c) in self.text.char_indices() {
            match c {
                '(' => depth += 1,
                ')' => depth -= 1,
                c if c == separator && depth == 0 => {
                    parts.push(Part::new(&self.text[begin..at], self.start + begin));
                    begin = at + c.len_utf8();
                }
                _ => {}
            }
        }
        parts.push(Part::new(&self.text[begin..], self.start + begin));
        parts
    }
}

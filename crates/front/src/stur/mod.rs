//! Programs of rules: files `.stur`, in the language of StructTensor.
//!
//! A rule assigns a sum of products of accesses, comparisons and numbers to an access. Beside a tensor's values, rules tell its dimensions
//! (`T:D`), its unique elements (`T:U`) and its redundant ones (`T:R`, with the target's indices behind the point's, named alike with a `p`):
//!
//! ```text
//! symbols: n
//! outputs: y
//! A:D(i, j) := (0 <= i < n) * (0 <= j < n)
//! A:U(i, j) := (0 <= i <= j < n)
//! A:R(i, j, ip, jp) := (0 <= j < i < n) * (ip = j) * (jp = i)
//! y(i) := A(i, j) * x(j)
//! ```
//!
//! `#` begins a comment; rules between `@preprocess_start` and `@preprocess_end` prepare layouts by hand. Products of sets are
//! intersections and sums are unions; variables that are not in the head exist. [`Program::structures`] gives the same data as `-p` does.
//!
//! Paper: Ghorbani, Huot, Hashemian and Shaikhha, *Compiling Structured Tensor Algebra* (OOPSLA 2023), Figs. 5 and 6; the grammar is that of
//! their implementation.
//!
//! ```
//! use lacunar_front::stur;
//! let text = "symbols: n\nA:D(i,j) := (0 <= i < n) * (0 <= j < n)\nA:U(i,j) := (0 <= i <= j < n)\n";
//! let program = stur::parse(text).unwrap();
//! let structures = program.structures().unwrap();
//! // Parameters: the sizes of both dimensions, then the symbols.
//! assert_eq!(structures["A"].unique().contains(&[3, 3, 3], &[1, 2]), Some(true));
//! assert_eq!(structures["A"].unique().contains(&[3, 3, 3], &[2, 1]), Some(false));
//! ```

mod check;
mod error;
mod extents;
mod form;
mod lexer;
mod meaning;
mod parser;
mod print;
mod product;
mod ranges;
mod symbols;
mod translate;

use lacunar_base::Span;
use lacunar_sets::Formula;

pub(crate) use check::check;
pub use check::{Translated, sizes, translate};
pub use parser::{names, parse, parse_with};

/// A program of rules.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// Names whose values are given: sizes, for the most part.
    pub symbols: Vec<String>,
    /// The tensors that are computed for the user.
    pub outputs: Vec<String>,
    /// For tensors the order of loops over their rule.
    pub iterators: Vec<(String, Vec<String>)>,
    /// The rules, in order.
    pub rules: Vec<Rule>,
}

/// An assignment of a sum of products to an access.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// The target.
    pub head: Access,
    /// The terms: each is a product of all of its atoms.
    pub terms: Vec<Term>,
    /// True if it prepares a layout, before computation begins.
    pub prepares: bool,
    /// Its place.
    pub span: Span,
}

/// A product.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// The factors.
    pub factors: Vec<Factor>,
    /// Its place.
    pub span: Span,
}

/// A factor of a product.
#[derive(Clone, Debug, PartialEq)]
pub enum Factor {
    /// An element of a tensor, or 1 at the points of a set.
    Access(Access),
    /// A comparison: 1 where it holds, else 0.
    Comparison {
        /// The condition that it compares for.
        condition: Formula,
        /// It as it is written.
        text: String,
        /// Its place.
        span: Span,
    },
    /// A number, as it is written.
    Number {
        /// It as it is written.
        text: String,
        /// True if its inverse is meant (`2^-1`).
        inverse: bool,
        /// Its place.
        span: Span,
    },
    /// A sum in parentheses.
    Sum(Vec<Term>),
}

/// A part of a tensor that rules speak of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Its values.
    Values,
    /// Its dimensions, `T:D`.
    Dimensions,
    /// Its unique elements, `T:U`.
    Unique,
    /// Its redundant elements, `T:R`.
    Redundant,
}

/// A tensor with indices.
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    /// The tensor's name.
    pub tensor: String,
    /// True if each element stands for its inverse, where there is one (`T^-1`).
    pub inverse: bool,
    /// The part that is meant.
    pub part: Part,
    /// The indices.
    pub indices: Vec<Index>,
    /// Its place.
    pub span: Span,
}

/// An index of an access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Index {
    /// A variable or a symbol.
    Name(String, Span),
    /// A number.
    Number(i64, Span),
}

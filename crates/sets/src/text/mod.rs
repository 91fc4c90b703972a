//! Sets and maps as text, in the manner of isl.
//!
//! ```text
//! set      := [params "->"] "{" [part (";" part)*] "}"             params := "[" names "]"
//! part     := "[" names "]" [":" formula]                          of a map: "[" names "]" "->" [coefficient "*"] "[" forms "]" ...
//! formula  := ["not"] comparison | "true" | "false" | formula ("and" | "or") formula | "exists" names ":" formula | "(" formula ")"
//! comparison := form (("<=" | "<" | "=" | "!=" | ">=" | ">") form)+
//! form     := number | name | form ("+" | "-" | "*" | "mod") form | ("floor" | "ceil") "(" form "/" number ")" | "(" form ")"
//! coefficient := ["-"] [number ["/" number]] ["conj"]
//! ```
//!
//! A number may stand before its other factor (`2 i`); `%` is `mod`, `==` is `=`. `exists` reaches as far as the formula behind it does;
//! `and` binds more closely than `or`. Printed text is read back as the same points.
//!
//! `lexer.rs` makes tokens, `parser.rs` [`Formula`]s and [`Expression`]s of them, `meaning.rs` sets and maps of these, and `print.rs` text
//! again.

mod lexer;
mod meaning;
mod parser;
mod print;

use std::fmt;

use lacunar_base::Span;

pub use parser::{Comparison, Expression, Formula};
pub use print::form as print_form;

/// A mistake in a text, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextError {
    /// The place.
    pub span: Span,
    /// The mistake: lower case, without a full stop.
    pub message: String,
    /// The advice.
    pub hint: String,
}

impl TextError {
    pub(crate) fn new(span: Span, message: impl Into<String>, hint: impl Into<String>) -> TextError {
        TextError { span, message: message.into(), hint: hint.into() }
    }
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at byte {}; {})", self.message, self.span.start, self.hint)
    }
}

impl std::error::Error for TextError {}

//! The mistakes in a schema's text: a code, the place, a sentence, and what to do about it.
//!
//! ```
//! use lacunar_formats::Schema;
//! let errors = Schema::parse("def bst {\n  e: elem nonempty\n  l: bsts\n}").unwrap_err();
//! assert_eq!((errors[0].code, errors[0].line, errors[0].column), ("E1603", 3, 6));
//! assert!(errors[0].to_string().contains("(hint: did you mean `bst`?)"));
//! ```

use std::fmt;

use lacunar_base::{Diagnostic, Span};

/// A mistake in the text of a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaError {
    /// The code, `E1601` and so on.
    pub code: &'static str,
    /// The place in the text.
    pub span: Span,
    /// The line of the place, from 1.
    pub line: u32,
    /// The column of the place, in characters from 1.
    pub column: u32,
    /// One sentence, without a full stop.
    pub message: String,
    /// The hint of what to do.
    pub hint: String,
}

impl SchemaError {
    /// A mistake at a place of a text.
    pub(crate) fn new(
        text: &str,
        code: &'static str,
        span: Span,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> SchemaError {
        let before = text.get(..span.start as usize).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        SchemaError {
            code,
            span,
            line: u32::try_from(line).unwrap_or(u32::MAX),
            column: u32::try_from(column).unwrap_or(u32::MAX),
            message: message.into(),
            hint: hint.into(),
        }
    }

    /// The same as an error that shows the text around the place.
    pub fn diagnostic(&self) -> Diagnostic {
        Diagnostic::error(self.code, self.message.clone()).label(self.span, "").hint(self.hint.clone())
    }
}

/// The message with its code, the place and the hint.
impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SchemaError { code, line, column, message, hint, .. } = self;
        write!(f, "error[{code}]: line {line}, column {column}: {message} (hint: {hint})")
    }
}

impl std::error::Error for SchemaError {}

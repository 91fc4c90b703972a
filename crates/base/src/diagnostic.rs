//! The one error type that a user sees: a message with places in the source, a code and a hint.
//!
//! Stages build [`Diagnostic`] values; only [`Diagnostic::render`] turns them into text (through codespan-reporting).
//!
//! ```
//! use lacunar_base::{Diagnostic, Span};
//! let error = Diagnostic::error("E0102", "index variable `k` is not used on the right")
//!     .label(Span::new(2, 3), "only here")
//!     .hint("sum over it, or remove it from the left");
//! let text = error.render("y(k) = b", "<expression>", false);
//! assert!(text.contains("E0102") && text.contains("hint: "));
//! ```

use codespan_reporting::diagnostic as codespan;
use codespan_reporting::files::SimpleFile;
use codespan_reporting::term;

use crate::span::Span;

/// The party that has to act on an error; decides the command's exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    /// A mistake in the user's text.
    User,
    /// A file that can't be read or is malformed.
    File,
    /// Out of memory, or a size that does not fit.
    Memory,
    /// A fault of Lacunar.
    Internal,
}

/// A place in the source with a word on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// The remark on it.
    pub message: String,
    /// True if this is the place of the error itself; false if it is one that explains the error.
    pub primary: bool,
}

/// One error, with everything needed to explain it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// A stable code such as `E0102`.
    pub code: &'static str,
    /// The party that has to act.
    pub category: Category,
    /// One sentence, lower case, without a full stop.
    pub message: String,
    /// Places in the source.
    pub labels: Box<[Label]>,
    /// Further facts.
    pub notes: Box<[String]>,
    /// The advice for the user.
    pub hint: Option<String>,
    /// The same for users of the command, in words of the command line, where these differ.
    pub command_hint: Option<Box<str>>,
}

impl Diagnostic {
    /// A mistake in the user's text.
    pub fn error(code: &'static str, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            code,
            category: Category::User,
            message: message.into(),
            labels: Box::default(),
            notes: Box::default(),
            hint: None,
            command_hint: None,
        }
    }

    /// A fault of Lacunar itself: an invariant that did not hold.
    pub fn internal(message: impl Into<String>) -> Diagnostic {
        Diagnostic { category: Category::Internal, ..Diagnostic::error("E9000", message) }
    }

    /// The same error in another category.
    pub fn category(mut self, category: Category) -> Diagnostic {
        self.category = category;
        self
    }

    /// Adds the place of the error.
    pub fn label(mut self, span: Span, message: impl Into<String>) -> Diagnostic {
        self.labels = with(self.labels, Label { span, message: message.into(), primary: true });
        self
    }

    /// Adds a place that explains the error.
    pub fn secondary(mut self, span: Span, message: impl Into<String>) -> Diagnostic {
        self.labels = with(self.labels, Label { span, message: message.into(), primary: false });
        self
    }

    /// Adds a fact.
    pub fn note(mut self, note: impl Into<String>) -> Diagnostic {
        self.notes = with(self.notes, note.into());
        self
    }

    /// Adds advice for the user.
    pub fn hint(mut self, hint: impl Into<String>) -> Diagnostic {
        self.hint = Some(hint.into());
        self
    }

    /// Adds a hint for users of the library, and one for users of the command.
    pub fn hints(self, library: impl Into<String>, command: impl Into<String>) -> Diagnostic {
        Diagnostic { command_hint: Some(command.into().into_boxed_str()), ..self.hint(library) }
    }

    /// The same error without words of the command line: its hint is that for users of the library.
    ///
    /// ```
    /// use lacunar_base::Diagnostic;
    /// let error = Diagnostic::error("E0303", "sizes are missing").hints("declare its sizes", "declare `-d A:5,10`");
    /// assert!(error.render("", "expression", false).contains("`-d A:5,10`"));
    /// assert!(error.for_library().render("", "expression", false).contains("hint: declare its sizes"));
    /// ```
    pub fn for_library(&self) -> Diagnostic {
        Diagnostic { command_hint: None, ..self.clone() }
    }

    /// The error as text: message, the source with the places underlined, notes and the hint, in words of the command line if it
    /// has some ([`Diagnostic::for_library`]).
    ///
    /// `source` is the text that the spans are ranges of, `name` its name in the report; `color` adds terminal colors.
    pub fn render(&self, source: &str, name: &str, color: bool) -> String {
        let mut notes = self.notes.to_vec();
        notes.extend(self.command_hint.as_deref().or(self.hint.as_deref()).map(|hint| format!("hint: {hint}")));
        let clamp = |offset: usize| {
            let mut offset = offset.min(source.len());
            while !source.is_char_boundary(offset) {
                offset -= 1;
            }
            offset
        };
        let labels = self
            .labels
            .iter()
            .filter(|label| label.span != Span::NONE)
            .map(|label| {
                let style = if label.primary { codespan::LabelStyle::Primary } else { codespan::LabelStyle::Secondary };
                let range = label.span.range();
                codespan::Label::new(style, (), clamp(range.start)..clamp(range.end)).with_message(&label.message)
            })
            .collect();
        let severity =
            if self.category == Category::Internal { codespan::Severity::Bug } else { codespan::Severity::Error };
        let report = codespan::Diagnostic::new(severity)
            .with_code(self.code)
            .with_message(&self.message)
            .with_labels(labels)
            .with_notes(notes);
        let file = SimpleFile::new(name, source);
        let config = term::Config::default();
        let mut text = String::new();
        let done = if color {
            let mut writer = codespan_reporting::term::termcolor::Ansi::new(Vec::new());
            let done = term::emit_to_write_style(&mut writer, &config, &file, &report);
            text = String::from_utf8_lossy(&writer.into_inner()).into_owned();
            done
        } else {
            term::emit_to_string(&mut text, &config, &file, &report)
        };
        match done {
            Ok(()) => text,
            // The report can only fail on a label outside the text, which is clamped above; the message still counts.
            Err(_) => format!("error[{}]: {}\n", self.code, self.message),
        }
    }
}

/// A list with another element. Diagnostics are small, as they are returned by every function that reads something.
fn with<T>(list: Box<[T]>, element: T) -> Box<[T]> {
    let mut list = list.into_vec();
    list.push(element);
    list.into_boxed_slice()
}

/// The message with its code and the hint for users of the library, without the source.
impl std::fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "error[{}]: {}", self.code, self.message)?;
        for note in &self.notes {
            write!(f, "; {note}")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, " (hint: {hint})")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostic {}

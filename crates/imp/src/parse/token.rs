//! Tokens of the text form: `a_1 += -2.5e-3f32;` is the name `a_1`, the symbols `+`, `=`, `-`, the number `2.5e-3f32`
//! and the symbol `;`.

use lacunar_base::{Diagnostic, Span};

use super::malformed;

/// A token and its place; its text is that of the place.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) span: Span,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A word.
    Name,
    /// Begins with a digit; has no sign.
    Number,
    /// One or two characters.
    Symbol,
    /// From `//` to the end of the line.
    Comment,
    /// The end of the text.
    #[default]
    End,
}

/// The tokens of a text, the last of which is its end.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, Diagnostic> {
    if u32::try_from(text.len()).is_err() {
        return Err(malformed(Span::NONE, "the text is longer than 4 GiB"));
    }
    let mut tokens = Vec::new();
    let mut start = 0;
    while let Some(c) = text[start..].chars().next() {
        let rest = &text[start..];
        let (kind, len) = if c.is_whitespace() {
            start += c.len_utf8();
            continue;
        } else if c.is_ascii_alphabetic() || c == '_' {
            (TokenKind::Name, word(rest))
        } else if c.is_ascii_digit() {
            (TokenKind::Number, number(rest))
        } else if rest.starts_with("//") {
            (TokenKind::Comment, rest.find('\n').unwrap_or(rest.len()))
        } else if ["==", "!=", "<=", ">=", ".."].iter().any(|symbol| rest.starts_with(symbol)) {
            (TokenKind::Symbol, 2)
        } else if "+-*/%&|^!<>=()[]{}:;,.".contains(c) {
            (TokenKind::Symbol, 1)
        } else {
            let span = Span::new(start, start + c.len_utf8());
            return Err(malformed(span, format!("`{}` has no meaning", c.escape_debug())));
        };
        tokens.push(Token { kind, span: Span::new(start, start + len) });
        start += len;
    }
    tokens.push(Token { kind: TokenKind::End, span: Span::new(start, start) });
    Ok(tokens)
}

/// The length of the word that a text begins with.
fn word(text: &str) -> usize {
    text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len())
}

/// The length of the number that a text begins with, its type included.
fn number(text: &str) -> usize {
    let mut len = word(text);
    if text.starts_with("0x") {
        return len;
    }
    let fraction = text[len..].strip_prefix('.').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    if fraction {
        len += 1 + word(&text[len + 1..]);
    }
    let signed = text[len..].starts_with(['+', '-']);
    if signed && text[..len].ends_with('e') && text[len + 1..].starts_with(|c: char| c.is_ascii_digit()) {
        len += 1 + word(&text[len + 1..]);
    }
    len
}

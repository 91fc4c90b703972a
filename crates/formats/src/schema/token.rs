//! The words, numbers and signs of a schema's text, with their places. `#` begins a comment, up to the end of its line.

use lacunar_base::Span;

/// The kinds of tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Letters, digits and `_`, the first no digit.
    Word(String),
    /// Digits; none if they are too many for 32 bits.
    Number(Option<u32>),
    /// One of `{ } [ ] , : = *`.
    Sign(char),
    /// Any other character.
    Other(char),
    /// The end of the text.
    End,
}

/// A token and its place.
#[derive(Clone, Debug)]
pub(super) struct Token {
    pub kind: Kind,
    pub span: Span,
}

impl Token {
    /// As it stands in a message.
    pub fn shown(&self) -> String {
        match &self.kind {
            Kind::Word(word) => format!("`{word}`"),
            Kind::Number(Some(number)) => format!("`{number}`"),
            Kind::Number(None) => "a number of more than 32 bits".to_string(),
            Kind::Sign(sign) | Kind::Other(sign) => format!("`{sign}`"),
            Kind::End => "the end of the text".to_string(),
        }
    }
}

/// The tokens of a text, the last of which is its end.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let length = |is_part: fn(char) -> bool| rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
        let (kind, length) = match first {
            '#' => (None, rest.find('\n').unwrap_or(rest.len())),
            c if c.is_whitespace() => (None, c.len_utf8()),
            c if c.is_ascii_alphabetic() || c == '_' => {
                let length = length(|c| c.is_ascii_alphanumeric() || c == '_');
                (Some(Kind::Word(rest[..length].to_string())), length)
            }
            c if c.is_ascii_digit() => {
                let length = length(|c| c.is_ascii_digit());
                (Some(Kind::Number(rest[..length].parse().ok())), length)
            }
            '{' | '}' | '[' | ']' | ',' | ':' | '=' | '*' => (Some(Kind::Sign(first)), 1),
            other => (Some(Kind::Other(other)), other.len_utf8()),
        };
        tokens.extend(kind.map(|kind| Token { kind, span: Span::new(at, at + length) }));
        at += length;
    }
    tokens.push(Token { kind: Kind::End, span: Span::new(at, at) });
    tokens
}

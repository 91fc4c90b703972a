//! A line of a `.stur` file to tokens.

use lacunar_base::Span;

use super::error::Error;

const SIGNS: &[&str] =
    &[":=", "->", "^-1", "<=", ">=", "!=", "==", ":", "<", ">", "=", "+", "-", "*", "/", "%", "(", ")", ",", ";", "@"];

/// A token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Name(String),
    /// A number, with a point if it has one.
    Number(String),
    Sign(&'static str),
    End,
}

/// The tokens of a line that begins at a byte; the last is its end.
pub(super) fn lex(line: &str, start: usize) -> Result<Vec<(Token, Span)>, Error> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(next) = line[at..].chars().next() {
        let rest = &line[at..];
        let length = |belongs: fn(char) -> bool| rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        let (token, length) = if next.is_whitespace() {
            at += next.len_utf8();
            continue;
        } else if next == '#' {
            break;
        } else if next.is_ascii_digit() {
            let length = length(|c| c.is_ascii_digit() || c == '.');
            (Token::Number(rest[..length].to_string()), length)
        } else if next.is_ascii_alphabetic() || next == '_' {
            let length = length(|c| c.is_ascii_alphanumeric() || c == '_');
            (Token::Name(rest[..length].to_string()), length)
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            (Token::Sign(sign), sign.len())
        } else {
            let span = Span::new(start + at, start + at + next.len_utf8());
            return Err(Error::Syntax {
                span,
                found: format!("`{}`", next.escape_debug()),
                expected: "a rule".to_string(),
            });
        };
        tokens.push((token, Span::new(start + at, start + at + length)));
        at += length;
    }
    tokens.push((Token::End, Span::new(start + at, start + at)));
    Ok(tokens)
}

//! Text to tokens: names, numbers and signs, with their places.

use lacunar_base::Span;

use super::TextError;

/// Longer texts are refused: bounds the time and memory of everything after, which may grow with the cube of the length.
const MAX_TEXT: usize = 8 * 1024;

const SIGNS: &[&str] = &[
    "->", "<=", ">=", "!=", "==", "&&", "||", "<", ">", "=", "+", "-", "*", "/", "%", "(", ")", "[", "]", "{", "}",
    ":", ",", ";",
];

/// A token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Name(String),
    Number(i64),
    Sign(&'static str),
    End,
}

/// The tokens of a text; the last is its end.
pub(super) fn lex(text: &str) -> Result<Vec<(Token, Span)>, TextError> {
    if text.len() > MAX_TEXT {
        let message = format!("a text of {} bytes is too long", text.len());
        return Err(TextError::new(Span::NONE, message, format!("at most {MAX_TEXT} bytes are read")));
    }
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(next) = text[at..].chars().next() {
        let rest = &text[at..];
        let length = |belongs: fn(char) -> bool| rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        let (token, length) = if next.is_whitespace() {
            at += next.len_utf8();
            continue;
        } else if next.is_ascii_digit() {
            let length = length(|c| c.is_ascii_digit());
            let Ok(number) = rest[..length].parse() else {
                let hint = "numbers go up to 9223372036854775807";
                return Err(TextError::new(Span::new(at, at + length), "a number that is too large", hint));
            };
            (Token::Number(number), length)
        } else if next.is_ascii_alphabetic() || next == '_' {
            let length = length(|c| c.is_ascii_alphanumeric() || c == '_' || c == '\'');
            (Token::Name(rest[..length].to_string()), length)
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            (Token::Sign(sign), sign.len())
        } else {
            let span = Span::new(at, at + next.len_utf8());
            let hint = "conditions are made of names, numbers, `+ - * mod floor(..)`, comparisons, `and` and `or`";
            return Err(TextError::new(span, format!("`{}` does not belong here", next.escape_debug()), hint));
        };
        tokens.push((token, Span::new(at, at + length)));
        at += length;
    }
    tokens.push((Token::End, Span::new(at, at)));
    Ok(tokens)
}

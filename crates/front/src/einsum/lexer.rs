//! Text to tokens.
//!
//! On exit the tokens cover the source in order and end with one [`TokenKind::End`]; characters that are no token are reported and
//! left out. `y(i) = 2.5 # half` gives `y ( i ) = 2.5 End`.

use lacunar_base::Span;

use super::ast::Number;
use super::error::{Error, SyntaxMistake};

/// Longer sources are refused: bounds the time and memory of everything after.
pub(super) const MAX_SOURCE: usize = 64 * 1024;

/// A token and its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub kind: TokenKind,
    pub span: Span,
}

/// The kinds of tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum TokenKind {
    /// A name; its text is the span's.
    Word,
    /// A number.
    Number(Number),
    /// A number that is none, reported already.
    BadNumber,
    /// A file's name in quotes; its place is with them.
    Text,
    /// A sign of one or more characters, e.g. `+=`.
    Sign(&'static str),
    /// The end of a line.
    Newline,
    /// The end of the source.
    End,
}

/// Signs, longer ones before their beginnings. Signs that the language does not use are here to be named in errors.
const SIGNS: &[&str] = &[
    "**", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "==", "!=", "<=", ">=", "->", "..", "&&", "||", "(", ")",
    "[", "]", ",", ";", "=", "+", "-", "*", "/", "<", ">", "%", "^", "&", "|", "!", "@", ":", ".", "{", "}",
];

/// All tokens of a source, and its mistakes with their places.
pub(super) fn lex(source: &str) -> (Vec<Token>, Vec<(Span, Error)>) {
    let mut lexer = Lexer { source, at: 0, tokens: Vec::new(), errors: Vec::new() };
    if source.len() > MAX_SOURCE {
        lexer.errors.push((Span::NONE, SyntaxMistake::TooLong { length: source.len() }.into()));
    } else {
        while let Some(next) = lexer.rest().chars().next() {
            lexer.token(next);
        }
    }
    lexer.push(TokenKind::End, lexer.at);
    (lexer.tokens, lexer.errors)
}

struct Lexer<'a> {
    source: &'a str,
    at: usize,
    tokens: Vec<Token>,
    errors: Vec<(Span, Error)>,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.source[self.at..]
    }

    fn push(&mut self, kind: TokenKind, start: usize) {
        self.tokens.push(Token { kind, span: Span::new(start, self.at) });
    }

    /// Moves on past all characters that `belongs` holds of.
    fn skip(&mut self, belongs: impl Fn(char) -> bool) {
        let rest = self.rest();
        self.at += rest.find(|c| !belongs(c)).unwrap_or(rest.len());
    }

    /// Reads one token, comment or blank that begins with `next`.
    fn token(&mut self, next: char) {
        let start = self.at;
        let rest = self.rest();
        if next == '\n' {
            self.at += 1;
            self.push(TokenKind::Newline, start);
        } else if next.is_whitespace() {
            self.at += next.len_utf8();
        } else if next == '#' || rest.starts_with("//") {
            self.skip(|c| c != '\n');
        } else if next.is_ascii_alphabetic() || next == '_' {
            self.skip(is_word);
            self.push(TokenKind::Word, start);
        } else if next.is_ascii_digit() || (next == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit())) {
            self.number();
        } else if next == '"' && self.names_file() {
            let length = rest[1..].find('"').map_or(rest.len(), |end| end + 2);
            self.at += length;
            self.push(TokenKind::Text, start);
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            self.at += sign.len();
            self.push(TokenKind::Sign(sign), start);
        } else {
            self.at += next.len_utf8();
            let span = Span::new(start, self.at);
            self.errors.push((span, SyntaxMistake::Character { span, found: next }.into()));
        }
    }

    /// True if a name in quotes is next, behind a word, and ends on the same line.
    fn names_file(&self) -> bool {
        let is_behind_word = self.tokens.last().is_some_and(|token| token.kind == TokenKind::Word);
        let line = self.rest().lines().next().unwrap_or_default();
        is_behind_word && line.matches('"').count() >= 2
    }

    /// Reads a number: `12`, `1.5`, `.5`, `1.`, `1e-3`.
    fn number(&mut self) {
        let start = self.at;
        self.skip(|c| c.is_ascii_digit());
        let mut float = false;
        if self.rest().starts_with('.') && !self.rest().starts_with("..") {
            float = true;
            self.at += 1;
            self.skip(|c| c.is_ascii_digit());
        }
        let exponent = self.rest().trim_start_matches(['e', 'E']);
        if exponent.len() + 1 == self.rest().len() {
            let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            if digits.starts_with(|c: char| c.is_ascii_digit()) {
                float = true;
                self.at = self.source.len() - digits.len();
                self.skip(|c| c.is_ascii_digit());
            }
        }
        let end = self.at;
        if !self.rest().starts_with("..") {
            self.skip(|c| is_word(c) || c == '.');
        }
        let span = Span::new(start, self.at);
        if self.at > end {
            let suffix = self.source[end..self.at].to_string();
            let number = self.source[start..end].to_string();
            self.errors.push((span, SyntaxMistake::Number { span, number, suffix }.into()));
            return self.push(TokenKind::BadNumber, start);
        }
        let text = &self.source[start..end];
        let number = if float {
            text.parse().ok().filter(|value: &f64| value.is_finite()).map(Number::Float)
        } else {
            text.parse().ok().map(Number::Int)
        };
        match number {
            Some(number) => self.push(TokenKind::Number(number), start),
            None => {
                self.errors.push((span, SyntaxMistake::NumberTooLarge { span }.into()));
                self.push(TokenKind::BadNumber, start);
            }
        }
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The words among the tokens of a text.
pub(super) fn words<'s>(source: &'s str, tokens: &[Token]) -> Vec<&'s str> {
    let words = tokens.iter().filter(|token| token.kind == TokenKind::Word);
    words.map(|token| &source[token.span.range()]).collect()
}

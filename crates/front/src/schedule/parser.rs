//! Tokens to calls, by recursive descent. Expressions are read by the parser of statements.
//!
//! On exit every command that could be read is in the tree, and each mistake is a diagnostic. After a mistake, reading
//! goes on at the next command:
//!
//! ```
//! let (ast, errors) = lacunar_front::schedule::parse("split(i, i0, ), unroll(j, 4)");
//! assert_eq!((ast.calls.len(), errors.len()), (1, 1));
//! ```

use lacunar_base::{Diagnostic, Span};
use lacunar_notation::Operator;

use super::ast::{Argument, Ast, Call};
use super::error::Error;
use crate::einsum::{self, Expr, ExprKind, MAX_ERRORS, Name, Number, Parser, TokenKind};

/// Reads a schedule. The tree holds the commands that are well formed, the diagnostics the mistakes in the others.
pub fn parse(source: &str) -> (Ast, Vec<Diagnostic>) {
    let (ast, mut errors) = read(source, &[], Vec::new());
    errors.truncate(MAX_ERRORS);
    (ast, errors.into_iter().map(Error::into_diagnostic).collect())
}

/// Reads a schedule of a program with these operators and relations of indices, each with the name of its tensor; and its mistakes as
/// data. Relations that the program does not have are comparisons.
pub(super) fn read(source: &str, operators: &[Operator], relations: Vec<(String, String)>) -> (Ast, Vec<Error>) {
    let mut parser = Parser::knowing(source, operators);
    parser.brackets.may_stand = true;
    parser.brackets.name(relations.into_iter());
    let errors: Vec<Error> = parser.take_errors().into_iter().map(Error::Text).collect();
    if matches!(errors[..], [Error::Text(einsum::Error::Syntax(einsum::SyntaxMistake::TooLong { .. }))]) {
        return (Ast::default(), errors);
    }
    let mut reader = Reader { parser: &mut parser, errors };
    let mut ast = reader.schedule();
    let errors = reader.errors;
    for argument in ast.calls.iter_mut().flat_map(|call| &mut call.arguments) {
        if let Argument::Expr(expr) = argument {
            parser.brackets.compare(expr);
        }
    }
    (ast, errors)
}

/// Reads one command inside of another language's text.
pub(super) fn read_call(parser: &mut Parser<'_>) -> Result<Call, Error> {
    Reader { parser, errors: Vec::new() }.call()
}

struct Reader<'p, 'a> {
    parser: &'p mut Parser<'a>,
    errors: Vec<Error>,
}

impl Reader<'_, '_> {
    fn schedule(&mut self) -> Ast {
        let mut calls = Vec::new();
        loop {
            while self.at_separator() {
                self.parser.advance();
            }
            if self.at_end() || self.errors.len() >= MAX_ERRORS {
                return Ast { calls };
            }
            let start = self.parser.peek().span;
            match self.whole_call() {
                Ok(call) => calls.push(call),
                Err(error) => self.recover(start, error),
            }
        }
    }

    /// Notes a mistake in the command that begins at `start`, and goes on to the end of it.
    fn recover(&mut self, start: Span, error: Error) {
        if !self.parser.is_told(start) {
            self.errors.push(error);
        }
        let mut open = self.parser.give_up();
        while !(self.at_end() || open == 0 && self.at_separator()) {
            match self.parser.advance().kind {
                TokenKind::Sign("(" | "[" | "{") => open += 1,
                TokenKind::Sign(")" | "]" | "}") => open = open.saturating_sub(1),
                // Ends a command wherever it stands.
                TokenKind::Sign(";") => return,
                _ => {}
            }
        }
    }

    fn at_end(&mut self) -> bool {
        self.parser.peek().kind == TokenKind::End
    }

    fn at_separator(&mut self) -> bool {
        matches!(self.parser.peek().kind, TokenKind::Newline | TokenKind::Sign("," | ";"))
    }

    fn expected(&mut self, expected: &'static str) -> Error {
        Error::Expected { span: self.parser.peek().span, expected, found: self.parser.found() }
    }

    fn whole_call(&mut self) -> Result<Call, Error> {
        let call = self.call()?;
        if self.at_end() || self.at_separator() { Ok(call) } else { Err(self.expected("`,` or `;` after the command")) }
    }

    fn call(&mut self) -> Result<Call, Error> {
        let mut name = self.name_or_number()?;
        let mut statement = None;
        if self.parser.take_sign(&[":"]).is_some() {
            statement = Some(name);
            name = self.name("the name of a command")?;
        } else if !is_word(&name.text) {
            return Err(Error::Expected {
                span: name.span,
                expected: "the name of a command",
                found: format!("`{}`", name.text),
            });
        }
        if !self.parser.at_sign("(") {
            return Err(self.expected("`(`"));
        }
        self.parser.open();
        let mut arguments = Vec::new();
        if !self.parser.at_sign(")") {
            loop {
                arguments.push(self.argument()?);
                if self.parser.take_sign(&[","]).is_none() {
                    break;
                }
            }
        }
        let end = self.parser.close(")", "`,` or `)`").map_err(Error::of_expression)?;
        let span = name.span.to(end);
        Ok(Call { statement, name, arguments, span })
    }

    /// A name, or the number of a statement.
    fn name_or_number(&mut self) -> Result<Name, Error> {
        match self.parser.peek().kind {
            TokenKind::Number(Number::Int(_)) => {
                let span = self.parser.advance().span;
                Ok(Name { text: self.parser.text(span).to_string(), span })
            }
            _ => self.name("the name of a command"),
        }
    }

    fn name(&mut self, expected: &'static str) -> Result<Name, Error> {
        if self.parser.peek().kind != TokenKind::Word {
            return Err(self.expected(expected));
        }
        let span = self.parser.advance().span;
        Ok(Name { text: self.parser.text(span).to_string(), span })
    }

    fn argument(&mut self) -> Result<Argument, Error> {
        if self.parser.at_sign("{") || (self.parser.at_sign("[") && !self.parser.at_bracket()) {
            return self.list();
        }
        let expr = self.parser.expression().map_err(Error::of_expression)?;
        if let Expr { kind: ExprKind::Number(Number::Int(count)), span, .. } = expr
            && self.parser.peek().kind == TokenKind::Word
        {
            let unit = self.name("`threads`")?;
            return match unit.text.eq_ignore_ascii_case("threads") {
                true => Ok(Argument::PerThread(count, span.to(unit.span))),
                false => {
                    let found = format!("`{}`", unit.text);
                    Err(Error::Expected { span: unit.span, expected: "`,` or `threads`", found })
                }
            };
        }
        Ok(Argument::Expr(expr))
    }

    /// Reads names in braces or brackets.
    fn list(&mut self) -> Result<Argument, Error> {
        let (closing, expected) = if self.parser.at_sign("{") { ("}", "`,` or `}`") } else { ("]", "`,` or `]`") };
        let start = self.parser.peek().span;
        self.parser.open();
        let mut names = Vec::new();
        if !self.parser.at_sign(closing) {
            loop {
                names.push(self.name("an index variable")?);
                if self.parser.take_sign(&[","]).is_none() {
                    break;
                }
            }
        }
        let end = self.parser.close(closing, expected).map_err(Error::of_expression)?;
        Ok(Argument::List(names, start.to(end)))
    }
}

fn is_word(text: &str) -> bool {
    !text.starts_with(|c: char| c.is_ascii_digit())
}

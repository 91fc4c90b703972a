//! Actions: blocks, loops, conditions, and the words before a tensor's name.
//!
//! A word begins an action unless it is assigned to: `for(i) = x(i)` and `print += 1` are statements. After a mistake before a
//! block, the block is read nevertheless, so that its mistakes are told and its end is known.
//!
//! ```
//! let (ast, errors) = lacunar_front::parse("for k in 0 .. 3 { y(i) = A(i,j) * x(j); swap x, y }\nfor = 1");
//! assert_eq!((ast.body.len(), ast.statements.len(), errors.len()), (2, 2, 0));
//! ```

use lacunar_base::Span;
use lacunar_formats::Generator;

use super::{MAX_ERRORS, Parser, node};
use crate::concrete;
use crate::einsum::action::{Action, ActionKind};
use crate::einsum::ast::{Callee, Expr, ExprKind, MAX_HEIGHT, Name, Statement};
use crate::einsum::error::{ActionMistake, Error, SyntaxMistake};
use crate::einsum::lexer::{Token, TokenKind};

/// The words that begin actions, each with an example of its action.
const WORDS: &[(&str, &str)] = &[
    ("for", "for k in 0 .. 20 { .. }"),
    ("while", "while r > 1e-8 { .. }"),
    ("if", "if r > 1e-8 { .. }"),
    ("swap", "swap x, y"),
    ("snapshot", "snapshot before, x"),
    ("print", "print y"),
    ("read", "read A \"A.mtx\""),
    ("write", "write y \"y.tns\""),
    ("fill", "fill x 0"),
    ("random", "random A sparse(0.01) seed 7"),
    ("insert", "insert A \"edges.tns\""),
    ("remove", "remove A \"edges.tns\""),
    ("clock", "clock start"),
    ("elapsed", "elapsed start"),
];

impl Parser<'_> {
    /// Reads actions up to the end of the text, or of the block that is open.
    pub(super) fn actions(&mut self, statements: &mut Vec<Statement>) -> Vec<Action> {
        let mut actions = Vec::new();
        loop {
            while self.at_sign(";") || self.peek().kind == TokenKind::Newline {
                self.advance();
            }
            let is_over = self.peek().kind == TokenKind::End || (self.blocks > 0 && self.at_sign("}"));
            if is_over || self.errors.len() >= MAX_ERRORS {
                return actions;
            }
            let start = self.peek().span;
            let read = match self.declares_operator() {
                true => self.operator(),
                false => self.action(statements).map(|action| actions.push(action)),
            };
            if let Err(error) = read {
                self.recover(start, error);
            }
        }
    }

    fn action(&mut self, statements: &mut Vec<Statement>) -> Result<Action, Error> {
        let Some((word, form, start)) = self.begins_action() else {
            let statement = if concrete::begins(self) { concrete::statement(self)? } else { self.statement()? };
            let span = statement.span;
            statements.push(statement);
            return Ok(Action { kind: ActionKind::Assign(statements.len() - 1), span });
        };
        self.advance();
        match word {
            "for" => self.counted(start, statements),
            "while" | "if" => self.conditional(start, word == "if", statements),
            _ => {
                let action = self.simple(word, start).map_err(|error| in_form(error, form))?;
                self.ends()?;
                Ok(action)
            }
        }
    }

    /// The word that begins an action, if one is next, with its example.
    fn begins_action(&mut self) -> Option<(&'static str, &'static str, Span)> {
        let Token { kind: TokenKind::Word, span } = self.peek() else { return None };
        let (word, form) = WORDS.iter().copied().find(|(word, _)| *word == self.text(span))?;
        (!self.is_assigned(self.at + 1)).then_some((word, form, span))
    }

    /// True if the tokens from `at` on, which follow a name, assign to it.
    fn is_assigned(&self, mut at: usize) -> bool {
        let kind = |at: usize| self.tokens.get(at).map_or(TokenKind::End, |token| token.kind);
        if let TokenKind::Sign("(" | "[") = kind(at) {
            let mut depth = 0usize;
            loop {
                match kind(at) {
                    TokenKind::Sign("(" | "[") => depth += 1,
                    TokenKind::Sign(")" | "]") => depth -= 1,
                    TokenKind::End => return false,
                    _ => {}
                }
                at += 1;
                if depth == 0 {
                    break;
                }
            }
        }
        let is_sign = |kind: TokenKind| {
            matches!(kind, TokenKind::Sign("=" | "+=" | "-=" | "*=" | "/=" | "%=" | "&=" | "|=" | "^="))
        };
        is_sign(kind(at)) || (kind(at) == TokenKind::Word && kind(at + 1) == TokenKind::Sign("="))
    }

    /// Reads an action without a block, behind its word.
    fn simple(&mut self, word: &str, start: Span) -> Result<Action, Error> {
        let name = self.name("a name")?;
        let mut end = name.span;
        let kind = match word {
            "swap" | "snapshot" => {
                if self.take_sign(&[","]).is_none() {
                    return Err(self.unexpected("`,` and another tensor"));
                }
                let other = self.name("a tensor")?;
                end = other.span;
                if word == "swap" { ActionKind::Swap(name, other) } else { ActionKind::Snapshot(name, other) }
            }
            "fill" => {
                let value = self.expression()?;
                end = value.span;
                ActionKind::Fill(name, value)
            }
            "random" => {
                let (kind, kind_end) = self.generator()?;
                let seed = if self.take_word("seed") { Some(self.expression()?) } else { None };
                end = seed.as_ref().map_or(kind_end.unwrap_or(end), |seed| seed.span);
                ActionKind::Random { tensor: name, kind, seed }
            }
            "print" => ActionKind::Print(name),
            "clock" => ActionKind::Clock(name),
            "elapsed" => ActionKind::Elapsed(name),
            _ => {
                let Token { kind: TokenKind::Text, span } = self.peek() else {
                    return Err(self.unexpected("a file's name in quotes"));
                };
                self.advance();
                end = span;
                let file = self.text(Span::new(span.range().start + 1, span.range().end - 1)).to_string();
                match word {
                    "read" => ActionKind::Read(name, file),
                    "write" => ActionKind::Write(name, file),
                    _ => {
                        let range = self.some_of()?;
                        end = range.as_ref().map_or(end, |(_, to)| to.span);
                        ActionKind::Change { tensor: name, file, range, removes: word == "remove" }
                    }
                }
            }
        };
        Ok(Action { kind, span: start.to(end) })
    }

    /// Reads the kind of a made-up tensor and gives the place where it ends; `rand`, if none is written.
    fn generator(&mut self) -> Result<(Generator, Option<Span>), Error> {
        let Token { kind: TokenKind::Word, span } = self.peek() else { return Ok((Generator::Rand, None)) };
        if self.text(span) == "seed" {
            return Ok((Generator::Rand, None));
        }
        self.advance();
        let mut whole = span;
        if self.at_sign("(") {
            self.open();
            self.expression()?;
            whole = span.to(self.close(")", "`)`")?);
        }
        let (text, word) = (self.text(whole).to_string(), self.text(span).to_string());
        let kind = text.parse().map_err(|_| ActionMistake::Generator { span: whole, word })?;
        Ok((kind, Some(whole)))
    }

    /// Reads `from .. to`, if more of the line is left.
    fn some_of(&mut self) -> Result<Option<(Expr, Expr)>, Error> {
        if self.at_end() || self.at_sign("}") {
            return Ok(None);
        }
        let from = self.expression()?;
        if self.take_sign(&[".."]).is_none() {
            return Err(self.unexpected("`..`"));
        }
        Ok(Some((from, self.expression()?)))
    }

    /// Reads `counter in from .. to { body }`, behind `for`.
    fn counted(&mut self, start: Span, statements: &mut Vec<Statement>) -> Result<Action, Error> {
        let head = self.head(|parser| {
            let counter = parser.name("a name")?;
            match parser.peek() {
                Token { kind: TokenKind::Word, span } if parser.text(span) == "in" => parser.advance(),
                _ => return Err(parser.unexpected("`in`")),
            };
            let from = parser.expression()?;
            if parser.take_sign(&[".."]).is_none() {
                return Err(parser.unexpected("`..`"));
            }
            Ok((counter, from, parser.expression()?))
        });
        let (body, (counter, from, to)) = self.with_block(head, statements)?;
        self.ends()?;
        let span = start.to(to.span);
        Ok(Action { kind: ActionKind::For { counter, from, to, body }, span })
    }

    /// Reads `condition { .. }`, behind `while`, or behind `if` with its other branches.
    fn conditional(&mut self, start: Span, is_if: bool, statements: &mut Vec<Statement>) -> Result<Action, Error> {
        let head = self.head(Parser::condition);
        let (body, condition) = self.with_block(head, statements)?;
        let otherwise = if is_if { self.otherwise(statements)? } else { None };
        if otherwise.is_none() {
            self.ends()?;
        }
        let span = start.to(condition.span);
        let kind = match is_if {
            true => ActionKind::If { condition, then: body, otherwise: otherwise.unwrap_or_default() },
            false => ActionKind::While { condition, body },
        };
        Ok(Action { kind, span })
    }

    /// Reads `else { .. }` or `else if ..`, also on the next line, if it is there.
    fn otherwise(&mut self, statements: &mut Vec<Statement>) -> Result<Option<Vec<Action>>, Error> {
        let before = self.at;
        self.skip_newlines();
        let Token { kind: TokenKind::Word, span } = self.peek() else {
            self.at = before;
            return Ok(None);
        };
        if self.text(span) != "else" || self.is_assigned(self.at + 1) {
            self.at = before;
            return Ok(None);
        }
        self.advance();
        match self.begins_action() {
            Some(("if", _, start)) => {
                self.advance();
                self.nested(start, |parser| Ok(Some(vec![parser.conditional(start, true, statements)?])))
            }
            _ => {
                let body = self.block(statements)?;
                self.ends()?;
                Ok(Some(body))
            }
        }
    }

    /// Reads the text before a block; after a mistake goes on to the block, if it begins on the same line.
    fn head<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        let was_in_head = std::mem::replace(&mut self.in_head, true);
        let head = read(self);
        self.in_head = was_in_head;
        if head.is_ok() {
            return head;
        }
        self.give_up();
        while !self.at_end() && !self.at_sign("{") {
            self.advance();
        }
        head
    }

    /// Reads the block behind its head. A mistake in the head is the one that is told.
    fn with_block<T>(
        &mut self,
        head: Result<T, Error>,
        statements: &mut Vec<Statement>,
    ) -> Result<(Vec<Action>, T), Error> {
        if head.is_err() && !self.at_sign("{") {
            return head.map(|head| (Vec::new(), head));
        }
        let body = self.block(statements);
        let head = head?;
        Ok((body?, head))
    }

    /// Reads `{ .. }`.
    fn block(&mut self, statements: &mut Vec<Statement>) -> Result<Vec<Action>, Error> {
        let open = self.peek();
        if !self.at_sign("{") {
            return Err(self.unexpected("`{`"));
        }
        self.nested(open.span, |parser| {
            parser.advance();
            let body = parser.actions(statements);
            if parser.take_sign(&["}"]).is_some() {
                return Ok(body);
            }
            let (span, found) = (parser.peek().span, parser.found());
            Err(SyntaxMistake::Unclosed { open: open.span, span, closing: "}", found }.into())
        })
    }

    /// Reads something inside of one more block; no more of them than [`MAX_HEIGHT`] are open.
    fn nested<T>(&mut self, at: Span, read: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        if self.blocks >= MAX_HEIGHT {
            return Err(SyntaxMistake::TooDeep { span: at }.into());
        }
        self.blocks += 1;
        let found = read(self);
        self.blocks -= 1;
        found
    }

    /// Reads a name.
    pub(super) fn name(&mut self, expected: &'static str) -> Result<Name, Error> {
        match self.peek() {
            Token { kind: TokenKind::Word, span } => {
                self.advance();
                Ok(Name { text: self.text(span).to_string(), span })
            }
            _ => Err(self.unexpected(expected)),
        }
    }

    // Conditions.

    /// Reads comparisons with `and`, `or` and `not` between them: calls of the functions of these names.
    pub(super) fn condition(&mut self) -> Result<Expr, Error> {
        let mut left = self.conjunction()?;
        while self.take_word("or") {
            left = call("or", vec![left, self.conjunction()?])?;
        }
        Ok(left)
    }

    fn conjunction(&mut self) -> Result<Expr, Error> {
        let mut left = self.negation()?;
        while self.take_word("and") {
            left = call("and", vec![left, self.negation()?])?;
        }
        Ok(left)
    }

    fn negation(&mut self) -> Result<Expr, Error> {
        let is_call = self.tokens.get(self.at + 1).is_some_and(|next| next.kind == TokenKind::Sign("("));
        if is_call || !self.take_word("not") {
            return self.expression();
        }
        let at = self.peek().span;
        self.nested(at, |parser| call("not", vec![parser.negation()?]))
    }

    /// Takes a word if it is next.
    fn take_word(&mut self, word: &str) -> bool {
        let next = self.peek();
        let found = next.kind == TokenKind::Word && self.text(next.span) == word;
        if found {
            self.advance();
        }
        found
    }
}

/// A mistake in an action, with an example of it.
fn in_form(error: Error, form: &'static str) -> Error {
    match error {
        Error::Syntax(SyntaxMistake::Expected { span, expected, found }) => {
            SyntaxMistake::Action { span, expected, found, form }.into()
        }
        other => other,
    }
}

/// A call of a function, where its operands stand.
fn call(function: &str, args: Vec<Expr>) -> Result<Expr, Error> {
    let span = match args.as_slice() {
        [first, .., last] => first.span.to(last.span),
        [only] => only.span,
        [] => Span::NONE,
    };
    let height = args.iter().map(|arg| arg.height).max().unwrap_or(0) + 1;
    let name = Name { text: function.to_string(), span };
    node(ExprKind::Apply { name, args, callee: Callee::Named }, span, height)
}

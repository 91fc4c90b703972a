//! Declarations of operators: `op name(a, b) = body { properties }`, or `op name(a, b) { regions }`.
//!
//! On exit a declaration that could be read is known to the text behind it, so that `name(..)` is a call and `name=` an assignment.
//! The declaration as a whole is judged by [`super::super::operators`].
//!
//! ```
//! let (ast, errors) = lacunar_front::parse("op f(a, b) = max(a, b) { commutative }\ny(i) = f(x(i), 0)");
//! assert_eq!((ast.operators.len(), ast.statements.len(), errors.len()), (1, 1, 0));
//! assert_eq!(ast.operators[0].operator.declaration().text, "op f(a, b) = max(a, b) { commutative }");
//! ```

use lacunar_notation::{Literal, Operator};

use super::Parser;
use crate::einsum::ast::{Declared, Name, Number};
use crate::einsum::error::{Error, OperatorMistake, SyntaxMistake};
use crate::einsum::lexer::{Token, TokenKind};
use crate::einsum::operators::{self, Written};

/// The words of properties that have a constant.
const VALUES: [&str; 2] = ["identity", "annihilator"];
/// The words of other properties.
const FLAGS: [&str; 3] = ["commutative", "associative", "idempotent"];
/// The words of regions, with the numbers of their operands, and those of the operands that are present.
const REGIONS: [(&str, usize, &[usize]); 6] = [
    ("both", 2, &[0, 1]),
    ("left", 2, &[0]),
    ("right", 2, &[1]),
    ("neither", 2, &[]),
    ("present", 1, &[0]),
    ("absent", 1, &[]),
];

impl Parser<'_> {
    /// True if the declaration of an operator is next: `op` and a name with a parenthesis behind it.
    pub(super) fn declares_operator(&mut self) -> bool {
        let first = self.peek();
        let mut kinds = self.kinds_ahead().skip(1);
        first.kind == TokenKind::Word
            && self.text(first.span) == "op"
            && kinds.next() == Some(TokenKind::Word)
            && kinds.next() == Some(TokenKind::Sign("("))
    }

    /// Reads the declaration of an operator.
    pub(super) fn operator(&mut self) -> Result<(), Error> {
        let (first, start) = (self.at, self.advance().span);
        if self.blocks > 0 {
            return Err(OperatorMistake::InBlock { span: start }.into());
        }
        let name = self.name("a name")?;
        self.open();
        let params = self.names(")")?;
        self.close(")", "`,` or `)`")?;
        let mut written = Written {
            name,
            params,
            body: None,
            external: None,
            regions: Vec::new(),
            values: Vec::new(),
            flags: Vec::new(),
        };
        if self.take_sign(&["="]).is_some() {
            self.skip_newlines();
            let next = self.peek();
            let is_external = next.kind == TokenKind::Word && self.text(next.span) == "extern";
            if is_external {
                self.advance();
                written.external = Some(next.span);
            } else {
                written.body = Some(self.expression()?);
            }
        }
        if self.at_sign("{") {
            self.open();
            self.items(&mut written)?;
            self.close("}", "`,` or `}`")?;
        }
        self.ends()?;
        let text = self.normal(first);
        let declared = operators::judged(written, text, &self.operators)?;
        self.operators.push(declared.operator);
        self.declared.push(declared);
        Ok(())
    }

    /// Reads names up to a sign, which stays.
    fn names(&mut self, end: &'static str) -> Result<Vec<Name>, Error> {
        let mut names = Vec::new();
        while !self.at_sign(end) {
            names.push(self.name("a name")?);
            if self.take_sign(&[","]).is_none() {
                break;
            }
        }
        Ok(names)
    }

    /// Reads properties and regions up to the brace that closes them.
    fn items(&mut self, written: &mut Written) -> Result<(), Error> {
        while !self.at_sign("}") {
            let Token { kind: TokenKind::Word, span } = self.peek() else {
                return Err(self.unexpected("a property or a region"));
            };
            let word = Name { text: self.text(span).to_string(), span };
            if VALUES.contains(&word.text.as_str()) {
                self.advance();
                let value = self.constant()?;
                written.values.push((word, value));
            } else if FLAGS.contains(&word.text.as_str()) {
                self.advance();
                written.flags.push(word);
            } else {
                let region = self.region(&word, written)?;
                written.regions.push((region, word.span, self.expression()?));
            }
            if self.take_sign(&[","]).is_none() {
                break;
            }
        }
        Ok(())
    }

    /// Reads the words before the body of a region: the number whose bits are those of the operands that are present.
    fn region(&mut self, word: &Name, written: &Written) -> Result<usize, Error> {
        let Name { text, span } = word;
        if text == "at" {
            self.advance();
            if !self.at_sign("(") {
                return Err(self.unexpected("`(`"));
            }
            self.open();
            let present = self.names(")")?;
            self.close(")", "`,` or `)`")?;
            let place = |name: &Name| {
                let found = written.params.iter().position(|param| param.text == name.text);
                found.ok_or_else(|| operators::not_a_parameter(&name.text, name.span, &written.params))
            };
            return present.iter().try_fold(0, |region, name| Ok(region | 1 << place(name)?));
        }
        match REGIONS.iter().find(|(known, ..)| known == text) {
            Some((_, arity, present)) if *arity == written.params.len() => {
                self.advance();
                Ok(present.iter().fold(0, |region, operand| region | 1 << operand))
            }
            Some(_) => {
                Err(OperatorMistake::OtherRegion { span: *span, word: text.clone(), params: written.params.len() }
                    .into())
            }
            None => Err(SyntaxMistake::Expected {
                span: *span,
                expected: "a property or a region",
                found: format!("`{text}`"),
            }
            .into()),
        }
    }

    /// Reads a number, a truth value or `inf`, with a sign.
    fn constant(&mut self) -> Result<Literal, Error> {
        let is_negative = self.take_sign(&["-"]).is_some();
        let token = self.peek();
        let literal = match (token.kind, self.text(token.span)) {
            (TokenKind::Number(Number::Int(value)), _) => Literal::Int(i128::from(value)),
            (TokenKind::Number(Number::Float(value)), _) => Literal::Float(value),
            (TokenKind::Word, "inf") => Literal::Float(f64::INFINITY),
            (TokenKind::Word, "true") if !is_negative => Literal::Bool(true),
            (TokenKind::Word, "false") if !is_negative => Literal::Bool(false),
            _ => return Err(self.unexpected("a number, `inf`, `true` or `false`")),
        };
        self.advance();
        Ok(match literal {
            Literal::Int(value) if is_negative => Literal::Int(-value),
            Literal::Float(value) if is_negative => Literal::Float(-value),
            literal => literal,
        })
    }

    /// The tokens from `first` on that have been read, as one line.
    fn normal(&self, first: usize) -> String {
        let mut line = String::new();
        let (mut before, mut is_negated): (Option<Token>, bool) = (None, false);
        let read = self.tokens[first..self.at].iter().filter(|token| token.kind != TokenKind::Newline);
        for token in read {
            let opens = token.kind == TokenKind::Sign("(");
            let is_tight = matches!(token.kind, TokenKind::Sign("," | ")"))
                || is_negated
                || before.is_none_or(|before| {
                    before.kind == TokenKind::Sign("(") || (before.kind == TokenKind::Word && opens)
                });
            if !is_tight {
                line.push(' ');
            }
            line.push_str(self.text(token.span));
            // A sign behind another one, or behind an opening parenthesis, belongs to the operand that follows.
            let is_behind_sign = matches!(before.map(|before| before.kind), Some(TokenKind::Sign(sign)) if sign != ")");
            is_negated = token.kind == TokenKind::Sign("-") && is_behind_sign;
            before = Some(*token);
        }
        line
    }

    /// Reads an operator again that was declared.
    pub(crate) fn again(operator: Operator) -> Option<Declared> {
        let declaration = operator.declaration();
        let mut parser = Parser::knowing(&declaration.text, &declaration.uses);
        parser.operator().ok()?;
        parser.declared.pop()
    }
}

//! Tokens to a syntax tree, by recursive descent.
//!
//! On exit every statement that could be read is in the tree, no expression is higher than [`MAX_HEIGHT`], and each
//! mistake is a diagnostic. After a mistake, reading goes on at the next line or `;`:
//!
//! ```
//! let (ast, errors) = lacunar_front::parse("y(i) = A(i,j * x(j); z(i) = y(i)");
//! assert_eq!((ast.statements.len(), errors.len()), (1, 1));
//! ```

mod actions;
mod operators;

use indexmap::IndexMap;
use lacunar_base::{Diagnostic, Span};
use lacunar_notation::{AssignOp, BinaryFn, Gather, Monoid, Operator};

use super::ast::{Ast, BinaryOp, Callee, Declared, Expr, ExprKind, MAX_HEIGHT, Name, Number, Statement};
use super::brackets::Brackets;
use super::error::{AccessMistake, Error, OperatorMistake, StatementMistake, SyntaxMistake};
use super::lexer::{Token, TokenKind, lex, words};
use crate::concrete;

/// No more mistakes than this are reported.
pub(crate) const MAX_ERRORS: usize = 20;

/// Signs of other languages that could stand between operands.
const OTHER_OPERATORS: &[&str] = &["**", "%", "^", "&&", "||", "&", "|", "!", "@", "->"];

/// Comparisons, with the operators of the tree.
const COMPARISONS: &[(&str, BinaryOp)] = &[
    ("==", BinaryOp::Eq),
    ("!=", BinaryOp::Ne),
    ("<", BinaryOp::Lt),
    ("<=", BinaryOp::Le),
    (">", BinaryOp::Gt),
    (">=", BinaryOp::Ge),
];

/// Reads a program. The tree holds the statements that are well formed, the diagnostics the mistakes in the others.
pub fn parse(source: &str) -> (Ast, Vec<Diagnostic>) {
    parse_with(source, &[], true)
}

/// Reads a program in which some operators are known, which are declared in the tree, too. It may have to have a statement.
pub fn parse_with(source: &str, known: &[Operator], has_statement: bool) -> (Ast, Vec<Diagnostic>) {
    let (text, lines, mistakes) = concrete::split(source);
    let mut parser = Parser::knowing(&text, known);
    parser.declared = known.iter().filter_map(|known| Parser::again(*known)).collect();
    parser.brackets.name(lines.iter().filter_map(|line| Some((line.relation.clone()?, line.name.clone()))));
    parser.sources = lines.iter().filter_map(|line| Some((line.name.clone(), line.source.clone()?))).collect();
    let mut ast = if matches!(parser.errors[..], [Error::Syntax(SyntaxMistake::TooLong { .. })]) {
        Ast::default()
    } else {
        parser.program(has_statement)
    };
    concrete::update(&mut ast, lines);
    parser.errors.extend(mistakes.into_iter().map(Error::from));
    parser.errors.truncate(MAX_ERRORS);
    (ast, parser.errors.into_iter().map(Error::into_diagnostic).collect())
}

/// Reads expressions; also those inside other languages.
pub(crate) struct Parser<'a> {
    source: &'a str,
    tokens: Vec<Token>,
    at: usize,
    /// The opening parentheses and brackets that are not closed yet; inside them newlines mean nothing.
    open: Vec<Token>,
    /// The number of factors that the one being read is inside of.
    depth: usize,
    /// The number of blocks that are open.
    blocks: usize,
    /// True while a condition or a range is read: parentheses may hold conditions.
    in_head: bool,
    /// The operators that are declared so far.
    operators: Vec<Operator>,
    /// The declarations of operators.
    declared: Vec<Declared>,
    /// The relations in brackets.
    pub brackets: Brackets,
    /// The tensors that lines say to be made of others, with these.
    pub sources: IndexMap<String, String>,
    /// The places of the mistakes that the lexer reported.
    bad: Vec<Span>,
    errors: Vec<Error>,
}

impl<'a> Parser<'a> {
    /// At the beginning of a text.
    pub fn new(source: &'a str) -> Parser<'a> {
        let (tokens, lexed) = lex(source);
        let (bad, errors) = lexed.into_iter().unzip();
        Parser {
            source,
            tokens,
            at: 0,
            open: Vec::new(),
            depth: 0,
            blocks: 0,
            in_head: false,
            operators: Vec::new(),
            declared: Vec::new(),
            brackets: Brackets::default(),
            sources: IndexMap::new(),
            bad,
            errors,
        }
    }

    /// At the beginning of a text in which some operators are known.
    pub fn knowing(source: &'a str, operators: &[Operator]) -> Parser<'a> {
        Parser { operators: operators.to_vec(), ..Parser::new(source) }
    }

    /// The mistakes in characters and numbers; known from the beginning.
    pub fn take_errors(&mut self) -> Vec<Error> {
        std::mem::take(&mut self.errors)
    }

    fn program(&mut self, has_statement: bool) -> Ast {
        let mut statements = Vec::new();
        let body = self.actions(&mut statements);
        if has_statement && body.is_empty() && self.errors.is_empty() {
            self.errors.push(SyntaxMistake::NoStatement.into());
        }
        let (operators, brackets) = (std::mem::take(&mut self.declared), std::mem::take(&mut self.brackets.found));
        Ast { statements, body, operators, lines: Vec::new(), brackets }
    }

    /// Notes a mistake in the statement that begins at `start`, and goes on to the end of it. A consequence of a mistake in the
    /// same statement that the lexer has noted is not another mistake.
    fn recover(&mut self, start: Span, error: Error) {
        if !self.is_told(start) {
            self.errors.push(error);
        }
        self.give_up();
        while !self.at_end() {
            self.advance();
        }
    }

    /// True if the lexer has noted a mistake between `start` and the next token.
    pub fn is_told(&mut self, start: Span) -> bool {
        let reached = self.peek().span;
        self.bad.iter().any(|bad| start.start <= bad.start && bad.end <= reached.end)
    }

    /// Forgets the open parentheses, brackets and factors, after a mistake. Returns the number of parentheses and brackets.
    pub fn give_up(&mut self) -> usize {
        let open = self.open.len();
        self.open.clear();
        self.depth = 0;
        open
    }

    // Tokens.

    /// The next token.
    pub fn peek(&mut self) -> Token {
        while !self.open.is_empty() && self.tokens[self.at].kind == TokenKind::Newline {
            self.at += 1;
        }
        self.tokens[self.at]
    }

    /// Takes the next token; the end stays.
    pub fn advance(&mut self) -> Token {
        let token = self.peek();
        if token.kind != TokenKind::End {
            self.at += 1;
        }
        token
    }

    /// True if a sign is next.
    pub fn at_sign(&mut self, sign: &'static str) -> bool {
        self.peek().kind == TokenKind::Sign(sign)
    }

    /// Takes one of some signs if it is next.
    pub fn take_sign(&mut self, signs: &[&'static str]) -> Option<(&'static str, Span)> {
        match self.peek() {
            Token { kind: TokenKind::Sign(sign), span } if signs.contains(&sign) => {
                self.at += 1;
                Some((sign, span))
            }
            _ => None,
        }
    }

    /// True if a statement may end here.
    fn at_end(&mut self) -> bool {
        match self.peek().kind {
            TokenKind::End | TokenKind::Newline | TokenKind::Sign(";") => true,
            TokenKind::Sign("}") => self.blocks > 0,
            _ => false,
        }
    }

    /// The kinds of the tokens from the next on, ends of lines among them.
    pub fn kinds_ahead(&self) -> impl Iterator<Item = TokenKind> + '_ {
        self.tokens[self.at..].iter().map(|token| token.kind)
    }

    /// The place of the next token that is no end of a line.
    pub fn next_on_a_line(&self) -> Span {
        let rest = self.tokens[self.at..].iter();
        rest.map(|token| (token.kind, token.span))
            .find(|(kind, _)| *kind != TokenKind::Newline)
            .map_or(Span::NONE, |(_, span)| span)
    }

    /// The place of the token before the next.
    pub fn before(&self) -> Span {
        self.at.checked_sub(1).map_or(Span::NONE, |before| self.tokens[before].span)
    }

    /// The number of characters before a place on its line.
    pub fn column(&self, span: Span) -> usize {
        let before = &self.source[..span.range().start];
        before.len() - before.rfind('\n').map_or(0, |end| end + 1)
    }

    /// Goes on to the next token that is no end of a line.
    pub fn skip_newlines(&mut self) {
        while self.tokens[self.at].kind == TokenKind::Newline {
            self.at += 1;
        }
    }

    /// The text at a place.
    pub fn text(&self, span: Span) -> &str {
        &self.source[span.range()]
    }

    /// The name of the next token in a message.
    pub fn found(&mut self) -> String {
        let token = self.peek();
        match token.kind {
            TokenKind::End => "the end of the text".to_string(),
            TokenKind::Newline => "the end of the line".to_string(),
            _ => format!("`{}`", self.text(token.span)),
        }
    }

    /// The mistake of the next token in the place of `expected`.
    pub fn unexpected(&mut self, expected: &'static str) -> Error {
        let token = self.peek();
        match token.kind {
            TokenKind::Sign(sign) if OTHER_OPERATORS.contains(&sign) => {
                SyntaxMistake::Operator { span: token.span, sign }.into()
            }
            TokenKind::Sign(sign) if COMPARISONS.iter().any(|(known, _)| *known == sign) => {
                SyntaxMistake::Comparison { span: token.span, sign }.into()
            }
            _ => SyntaxMistake::Expected { span: token.span, expected, found: self.found() }.into(),
        }
    }

    // Statements.

    fn statement(&mut self) -> Result<Statement, Error> {
        let mut statement = self.assignment()?;
        self.ends()?;
        concrete::read_sources(&mut statement, &self.sources);
        Ok(statement)
    }

    /// Reads an assignment, which something may follow.
    pub fn assignment(&mut self) -> Result<Statement, Error> {
        let start = self.peek();
        let target = self.sum()?;
        let (op, negated) = self.assign_op(start, &target)?;
        let (name, indices) = match target.kind {
            ExprKind::Name(text) => (Name { text, span: target.span }, Vec::new()),
            ExprKind::Apply { name, args, .. } => (name, args),
            _ => return Err(StatementMistake::NotATarget { span: target.span }.into()),
        };
        self.skip_newlines();
        let mut rhs = self.expression()?;
        if let Some(sign) = negated {
            let (span, height) = (sign.to(rhs.span), rhs.height + 1);
            rhs = node(ExprKind::Neg(Box::new(rhs)), span, height)?;
        }
        let span = target.span.to(rhs.span);
        Ok(Statement { name, indices, lhs_span: target.span, op, rhs, span, nest: None })
    }

    /// Asks that a statement or an action ends here.
    fn ends(&mut self) -> Result<(), Error> {
        if self.at_end() {
            return Ok(());
        }
        Err(match self.unexpected("") {
            Error::Syntax(SyntaxMistake::Expected { span, found, .. }) => {
                SyntaxMistake::Trailing { span, found }.into()
            }
            other => other,
        })
    }

    /// Reads `=`, `+=` or one of its kin, after the expression `target` whose first token is `start`; and the place of a `-=`, which
    /// adds the negated value.
    fn assign_op(&mut self, start: Token, target: &Expr) -> Result<(AssignOp, Option<Span>), Error> {
        if self.take_sign(&["="]).is_some() {
            return Ok((AssignOp::Set, None));
        }
        if let Some((_, span)) = self.take_sign(&["-="]) {
            return Ok((AssignOp::Reduce(Monoid::SUM), Some(span)));
        }
        if let Some((op, span)) = self.take_sign(&["+=", "*=", "/=", "%=", "&=", "|=", "^="]) {
            return self.reduction(op, span, start);
        }
        let next = self.peek();
        if next.kind == TokenKind::Word
            && let Some(&Token { kind: TokenKind::Sign("="), span }) = self.tokens.get(self.at + 1)
        {
            let op = format!("{}=", self.text(next.span));
            self.at += 2;
            return self.reduction(&op, next.span.to(span), start);
        }
        if self.at_end() {
            let continued = matches!(start.kind, TokenKind::Sign("+" | "-"));
            return Err(StatementMistake::NoAssignment { span: start.span.to(target.span), continued }.into());
        }
        Err(self.unexpected("`=`, `+=` or another assignment"))
    }

    /// The assignment that combines with the earlier value, by its sign; `start` is the first token of the statement.
    fn reduction(&self, op: &str, span: Span, start: Token) -> Result<(AssignOp, Option<Span>), Error> {
        let declared = self.operators.iter().find(|operator| operator.sign() == op);
        let monoid = match declared {
            Some(operator) => Monoid::of(BinaryFn::User(*operator)),
            None => Monoid::of_sign(op),
        };
        match (monoid, declared) {
            (Some(monoid), _) => Ok((AssignOp::Reduce(monoid), None)),
            (None, Some(operator)) => Err(OperatorMistake::NoMonoid { span, operator: *operator, index: None }.into()),
            (None, None) => {
                let is_condition = ["if", "while"].contains(&self.text(start.span));
                Err(StatementMistake::ReductionOperator { span, op: op.to_string(), is_condition }.into())
            }
        }
    }

    // Expressions.

    /// Reads an expression.
    pub fn expression(&mut self) -> Result<Expr, Error> {
        let left = self.sum()?;
        let Some(op) = self.take_comparison() else { return Ok(left) };
        let compared = binary(op, left, self.sum()?)?;
        match self.peek() {
            // Comparisons of truth values are seldom meant.
            Token { kind: TokenKind::Sign(sign), span } if COMPARISONS.iter().any(|(known, _)| *known == sign) => {
                Err(SyntaxMistake::ComparedAgain { span, sign, first: compared.span }.into())
            }
            _ => Ok(compared),
        }
    }

    /// Takes a comparison if it is next.
    fn take_comparison(&mut self) -> Option<BinaryOp> {
        let TokenKind::Sign(sign) = self.peek().kind else { return None };
        let &(_, op) = COMPARISONS.iter().find(|(known, _)| *known == sign)?;
        self.advance();
        self.skip_newlines();
        Some(op)
    }

    /// Reads an expression that is no comparison.
    fn sum(&mut self) -> Result<Expr, Error> {
        let mut left = self.term()?;
        while let Some((sign, _)) = self.take_sign(&["+", "-"]) {
            self.skip_newlines();
            let op = if sign == "+" { BinaryOp::Add } else { BinaryOp::Sub };
            left = binary(op, left, self.term()?)?;
        }
        Ok(left)
    }

    /// Reads the content of parentheses.
    fn argument(&mut self) -> Result<Expr, Error> {
        if self.in_head { self.condition() } else { self.expression() }
    }

    fn term(&mut self) -> Result<Expr, Error> {
        let mut left = self.factor()?;
        while let Some((sign, _)) = self.take_sign(&["*", "/"]) {
            self.skip_newlines();
            let op = if sign == "*" { BinaryOp::Mul } else { BinaryOp::Div };
            left = binary(op, left, self.factor()?)?;
        }
        Ok(left)
    }

    fn factor(&mut self) -> Result<Expr, Error> {
        self.depth += 1;
        if self.depth > MAX_HEIGHT {
            return Err(SyntaxMistake::TooDeep { span: self.peek().span }.into());
        }
        let factor = match self.take_sign(&["-", "+"]) {
            Some(("-", sign)) => {
                let operand = self.factor()?;
                let (span, height) = (sign.to(operand.span), operand.height + 1);
                node(ExprKind::Neg(Box::new(operand)), span, height)
            }
            Some(_) => self.factor(),
            None => self.primary(),
        };
        self.depth -= 1;
        factor
    }

    fn primary(&mut self) -> Result<Expr, Error> {
        let token = self.peek();
        let kind = match token.kind {
            TokenKind::Number(number) => ExprKind::Number(number),
            // Reported by the lexer; any number will do to go on.
            TokenKind::BadNumber => ExprKind::Number(Number::Int(0)),
            TokenKind::Word => return self.word(),
            TokenKind::Sign("(") => {
                self.open();
                let inner = self.argument()?;
                self.close(")", "`)` or an operator")?;
                return Ok(inner);
            }
            TokenKind::Sign("{") if !self.open.is_empty() => return self.list(),
            TokenKind::Sign("[") if self.brackets.may_stand => return self.bracket(),
            _ => return Err(self.unexpected("an expression")),
        };
        self.advance();
        node(kind, token.span, 1)
    }

    /// Reads a list of coordinates, and the place in parentheses behind it.
    fn list(&mut self) -> Result<Expr, Error> {
        let start = self.peek().span;
        self.open();
        let mut values = Vec::new();
        loop {
            let token = self.peek();
            let TokenKind::Number(Number::Int(value)) = token.kind else {
                return Err(self.unexpected("a coordinate, a whole number from 0"));
            };
            self.advance();
            values.push(value);
            if self.take_sign(&[","]).is_none() {
                break;
            }
        }
        let mut span = start.to(self.close("}", "`,` or `}`")?);
        if values.len() > Gather::MOST {
            return Err(AccessMistake::LongList { span, length: values.len() }.into());
        }
        let mut index = None;
        if self.at_sign("(") {
            self.open();
            index = Some(Box::new(self.argument()?));
            span = span.to(self.close(")", "`)` or an operator")?);
        }
        let height = index.as_ref().map_or(1, |index| index.height + 1);
        node(ExprKind::List { values, index }, span, height)
    }

    /// A new variable for an index that is none; the tensor that ties it to others, and the variables of that.
    pub fn tie(&mut self, index: &Expr) -> Result<(String, String, Vec<String>), Error> {
        self.brackets.tie(index, &words(self.source, &self.tokens))
    }

    /// True if the brackets that come next hold a comparison.
    pub fn at_bracket(&self) -> bool {
        let inside = self.kinds_ahead().take_while(|kind| *kind != TokenKind::Sign("]"));
        inside.into_iter().any(|kind| COMPARISONS.iter().any(|(sign, _)| kind == TokenKind::Sign(sign)))
    }

    /// Reads a relation of index variables in brackets: the tensor that is one where it holds.
    fn bracket(&mut self) -> Result<Expr, Error> {
        let start = self.peek().span;
        self.open();
        let compared = self.expression()?;
        let span = start.to(self.close("]", "`]`")?);
        let (name, vars) = self.brackets.access(self.source, compared, span, &words(self.source, &self.tokens))?;
        let args = vars.into_iter().map(|var| Expr { kind: ExprKind::Name(var), span, height: 1 }).collect();
        node(ExprKind::Apply { name: Name { text: name, span }, args, callee: Callee::Tensor }, span, 1)
    }

    /// Reads an expression that begins with a name.
    fn word(&mut self) -> Result<Expr, Error> {
        let span = self.advance().span;
        let name = Name { text: self.text(span).to_string(), span };
        if name.text == "cast" && self.at_sign("<") {
            return self.cast(span);
        }
        let brackets = self.at_sign("[");
        if brackets || self.at_sign("(") {
            return self.apply(name, brackets);
        }
        let kind = match name.text.as_str() {
            "true" => ExprKind::Bool(true),
            "false" => ExprKind::Bool(false),
            "inf" => ExprKind::Number(Number::Float(f64::INFINITY)),
            _ => ExprKind::Name(name.text),
        };
        node(kind, span, 1)
    }

    fn apply(&mut self, name: Name, brackets: bool) -> Result<Expr, Error> {
        self.open();
        let closing = if brackets { "]" } else { ")" };
        let mut args = Vec::new();
        if !self.at_sign(closing) {
            loop {
                args.push(self.argument()?);
                if self.take_sign(&[","]).is_none() {
                    break;
                }
            }
        }
        let expected = if brackets { "`,` or `]`" } else { "`,` or `)`" };
        let span = name.span.to(self.close(closing, expected)?);
        // `min` and `max` of many arguments become as many nested calls.
        let height = args.iter().map(|arg| arg.height).max().unwrap_or(0) + args.len().max(1);
        // Indices are not nested at all, however many there are.
        let flat = !matches!(name.text.as_str(), "min" | "max")
            && args.iter().all(|arg| matches!(arg.kind, ExprKind::Name(_)));
        let callee = match self.operators.iter().find(|known| !brackets && known.name() == name.text) {
            Some(operator) => Callee::Operator(*operator),
            None if brackets => Callee::Tensor,
            None => Callee::Named,
        };
        node(ExprKind::Apply { name, args, callee }, span, if flat { 1 } else { height })
    }

    /// Reads `<type>(operand)`, after `cast`.
    fn cast(&mut self, start: Span) -> Result<Expr, Error> {
        let mut inside = self.advance().span;
        inside.start = inside.end;
        while !self.at_sign(">") {
            let token = self.peek();
            let of_a_type = matches!(token.kind, TokenKind::Word | TokenKind::Sign("-"));
            if !of_a_type {
                return Err(SyntaxMistake::Expected {
                    span: token.span,
                    expected: "a type and `>`",
                    found: self.found(),
                }
                .into());
            }
            inside.end = self.advance().span.end;
        }
        self.advance();
        let written = self.text(inside);
        let blanks = written.len() - written.trim_start().len();
        let text = written.trim().to_string();
        let begin = inside.range().start + blanks;
        let dtype = Name { span: Span::new(begin, begin + text.len()), text };
        if !self.at_sign("(") {
            return Err(self.unexpected("`(`"));
        }
        self.open();
        let operand = self.expression()?;
        let span = start.to(self.close(")", "`)` or an operator")?);
        let height = operand.height + 1;
        node(ExprKind::Cast { dtype, operand: Box::new(operand) }, span, height)
    }

    /// Takes an opening parenthesis or bracket.
    pub fn open(&mut self) {
        let token = self.advance();
        self.open.push(token);
    }

    /// Takes the closing sign of the parenthesis or bracket that was opened last.
    pub fn close(&mut self, sign: &'static str, expected: &'static str) -> Result<Span, Error> {
        if let Some((_, span)) = self.take_sign(&[sign]) {
            self.open.pop();
            return Ok(span);
        }
        let next = self.peek();
        let ends = matches!(next.kind, TokenKind::End | TokenKind::Sign("=" | "+=" | ";" | ")" | "]"));
        let on_a_new_line = self.at > 0 && self.tokens[self.at - 1].kind == TokenKind::Newline;
        match self.open.last() {
            Some(open) if ends || on_a_new_line => {
                let open = open.span;
                Err(SyntaxMistake::Unclosed { open, span: next.span, closing: sign, found: self.found() }.into())
            }
            _ => Err(self.unexpected(expected)),
        }
    }
}

fn binary(op: BinaryOp, left: Expr, right: Expr) -> Result<Expr, Error> {
    let (span, height) = (left.span.to(right.span), left.height.max(right.height) + 1);
    node(ExprKind::Binary(op, Box::new(left), Box::new(right)), span, height)
}

fn node(kind: ExprKind, span: Span, height: usize) -> Result<Expr, Error> {
    if height > MAX_HEIGHT { Err(SyntaxMistake::TooDeep { span }.into()) } else { Ok(Expr { kind, span, height }) }
}

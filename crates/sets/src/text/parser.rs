//! Tokens to formulas and expressions, by recursive descent.
//!
//! Parentheses may hold a formula or an expression, which only shows at their end: so both are read by one function, and asked for their
//! kind afterwards.

use lacunar_base::Span;

use super::TextError;
use super::lexer::{Token, lex};

/// Parentheses are nested so deeply at most.
const MOST_DEPTH: usize = 64;

/// An affine expression as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expression {
    /// A number.
    Number(i64, Span),
    /// A parameter or a dimension.
    Name(String, Span),
    /// The sum of two, or with `false` their difference.
    Sum(Box<Expression>, Box<Expression>, bool),
    /// The product of two.
    Product(Box<Expression>, Box<Expression>),
    /// The quotient by a number, rounded down, or with `true` up.
    Quotient(Box<Expression>, i64, bool, Span),
    /// The remainder by a number.
    Remainder(Box<Expression>, i64, Span),
}

/// The comparison of two expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `<=`
    AtMost,
    /// `<`
    Less,
    /// `=`
    Equal,
    /// `!=`
    Unequal,
    /// `>=`
    AtLeast,
    /// `>`
    Greater,
}

/// A condition as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Formula {
    /// Always, or never.
    Constant(bool),
    /// Comparisons of neighbors in a chain.
    Chain(Expression, Vec<(Comparison, Expression)>),
    /// All of these.
    All(Vec<Formula>),
    /// Some of these.
    Any(Vec<Formula>),
    /// The negation of this.
    Not(Box<Formula>),
    /// For some values of these names.
    Exists(Vec<(String, Span)>, Box<Formula>),
}

/// The content of parentheses.
enum Either {
    Formula(Formula, Span),
    Expression(Expression),
}

impl Expression {
    /// Reads an expression.
    ///
    /// # Errors
    /// The first mistake.
    pub fn parse(text: &str) -> Result<Expression, TextError> {
        let mut parser = Parser::new(text)?;
        let expression = parser.expression()?;
        parser.end()?;
        Ok(expression)
    }

    /// The place of it.
    pub fn span(&self) -> Span {
        match self {
            Expression::Number(_, span) | Expression::Name(_, span) => *span,
            Expression::Quotient(_, _, _, span) | Expression::Remainder(_, _, span) => *span,
            Expression::Sum(a, b, _) | Expression::Product(a, b) => a.span().to(b.span()),
        }
    }

    /// The names in it, with their places.
    pub fn names(&self) -> Vec<(&str, Span)> {
        match self {
            Expression::Number(..) => Vec::new(),
            Expression::Name(name, span) => vec![(name, *span)],
            Expression::Quotient(inner, ..) | Expression::Remainder(inner, ..) => inner.names(),
            Expression::Sum(a, b, _) | Expression::Product(a, b) => [a.names(), b.names()].concat(),
        }
    }
}

impl Formula {
    /// Reads a condition.
    ///
    /// # Errors
    /// The first mistake.
    ///
    /// ```
    /// use lacunar_sets::Formula;
    /// let formula = Formula::parse("0 <= i <= j < n and i mod 2 = 0").unwrap();
    /// assert_eq!(formula.names().iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["i", "j", "n", "i"]);
    /// assert_eq!(Formula::parse("i < ").unwrap_err().span.start, 4);
    /// ```
    pub fn parse(text: &str) -> Result<Formula, TextError> {
        let mut parser = Parser::new(text)?;
        let formula = parser.formula()?;
        parser.end()?;
        Ok(formula)
    }

    /// The names in it that are bound by no `exists`, with their places.
    pub fn names(&self) -> Vec<(&str, Span)> {
        match self {
            Formula::Constant(_) => Vec::new(),
            Formula::Chain(first, rest) => {
                let rest = rest.iter().flat_map(|(_, expression)| expression.names());
                first.names().into_iter().chain(rest).collect()
            }
            Formula::All(parts) | Formula::Any(parts) => parts.iter().flat_map(Formula::names).collect(),
            Formula::Not(inner) => inner.names(),
            Formula::Exists(bound, inner) => {
                let is_free = |(name, _): &(&str, Span)| bound.iter().all(|(other, _)| other != name);
                inner.names().into_iter().filter(is_free).collect()
            }
        }
    }
}

pub(super) struct Parser {
    tokens: Vec<(Token, Span)>,
    at: usize,
    depth: usize,
}

impl Parser {
    pub fn new(text: &str) -> Result<Parser, TextError> {
        Ok(Parser { tokens: lex(text)?, at: 0, depth: 0 })
    }

    fn token(&self) -> &Token {
        self.tokens.get(self.at).map_or(&Token::End, |(token, _)| token)
    }

    pub fn span(&self) -> Span {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(Span::NONE, |&(_, span)| span)
    }

    /// Goes past a sign, if it is next.
    pub fn takes(&mut self, sign: &str) -> bool {
        let found = matches!(self.token(), Token::Sign(next) if *next == sign);
        self.at += usize::from(found);
        found
    }

    pub fn takes_word(&mut self, word: &str) -> bool {
        let found = matches!(self.token(), Token::Name(next) if next == word);
        self.at += usize::from(found);
        found
    }

    pub fn expect(&mut self, sign: &'static str) -> Result<(), TextError> {
        if self.takes(sign) { Ok(()) } else { Err(self.unexpected(&format!("`{sign}`"))) }
    }

    pub fn end(&self) -> Result<(), TextError> {
        if *self.token() == Token::End { Ok(()) } else { Err(self.unexpected("the end")) }
    }

    /// The next token is not the expected one.
    fn unexpected(&self, expected: &str) -> TextError {
        let found = match self.token() {
            Token::Name(name) => format!("`{name}`"),
            Token::Number(number) => format!("`{number}`"),
            Token::Sign(sign) => format!("`{sign}`"),
            Token::End => "the end".to_string(),
        };
        let hint = "conditions are comparisons with `and` and `or` between them, e.g. `0 <= i <= j < n`";
        TextError::new(self.span(), format!("expected {expected}, found {found}"), hint)
    }

    pub fn number(&mut self) -> Result<i64, TextError> {
        let Token::Number(number) = *self.token() else { return Err(self.unexpected("a number")) };
        self.at += 1;
        Ok(number)
    }

    /// True if a number is next.
    pub fn sees_number(&self) -> bool {
        matches!(self.token(), Token::Number(_))
    }

    fn name(&mut self) -> Result<(String, Span), TextError> {
        let span = self.span();
        let Token::Name(name) = self.token() else { return Err(self.unexpected("a name")) };
        let name = name.clone();
        self.at += 1;
        Ok((name, span))
    }

    /// Names with commas between them; perhaps none, before `end`.
    pub fn names(&mut self, end: &str) -> Result<Vec<(String, Span)>, TextError> {
        let mut names: Vec<(String, Span)> = Vec::new();
        if matches!(self.token(), Token::Sign(sign) if *sign == end) {
            return Ok(names);
        }
        loop {
            let (name, span) = self.name()?;
            if names.iter().any(|(other, _)| *other == name) {
                return Err(TextError::new(span, format!("`{name}` stands here twice"), "give each a name of its own"));
            }
            names.push((name, span));
            if !self.takes(",") {
                return Ok(names);
            }
        }
    }

    pub fn formula(&mut self) -> Result<Formula, TextError> {
        match self.any()? {
            Either::Formula(formula, _) => Ok(formula),
            Either::Expression(expression) => {
                let hint = "compare it with something, e.g. `i < n`";
                Err(TextError::new(expression.span(), "a number where a condition is expected", hint))
            }
        }
    }

    pub fn expression(&mut self) -> Result<Expression, TextError> {
        let either = self.sum()?;
        Parser::value(either)
    }

    fn value(either: Either) -> Result<Expression, TextError> {
        match either {
            Either::Expression(expression) => Ok(expression),
            Either::Formula(_, span) => Err(TextError::new(
                span,
                "a condition where a number is expected",
                "compare numbers, and join comparisons by `and`",
            )),
        }
    }

    fn condition(either: Either) -> Result<Formula, TextError> {
        match either {
            Either::Formula(formula, _) => Ok(formula),
            Either::Expression(expression) => {
                let hint = "compare it with something, e.g. `i < n`";
                Err(TextError::new(expression.span(), "a number where a condition is expected", hint))
            }
        }
    }

    /// Parts with `or` between them.
    fn any(&mut self) -> Result<Either, TextError> {
        self.joined(|parser| parser.joined(Parser::part, "and", "&&", Formula::All), "or", "||", Formula::Any)
    }

    fn joined(
        &mut self,
        part: impl Fn(&mut Parser) -> Result<Either, TextError>,
        word: &str,
        sign: &str,
        join: fn(Vec<Formula>) -> Formula,
    ) -> Result<Either, TextError> {
        let start = self.span();
        let first = part(self)?;
        let mut parts = Vec::new();
        while self.takes_word(word) || self.takes(sign) {
            parts.push(Parser::condition(part(self)?)?);
        }
        if parts.is_empty() {
            return Ok(first);
        }
        parts.insert(0, Parser::condition(first)?);
        Ok(Either::Formula(join(parts), start.to(self.behind())))
    }

    /// The place of the last token.
    fn behind(&self) -> Span {
        self.at.checked_sub(1).and_then(|at| self.tokens.get(at)).map_or(Span::NONE, |&(_, span)| span)
    }

    /// A comparison, a constant, a negation, `exists`, or a formula or expression in parentheses.
    fn part(&mut self) -> Result<Either, TextError> {
        let start = self.span();
        let formula = if self.takes_word("true") {
            Formula::Constant(true)
        } else if self.takes_word("false") {
            Formula::Constant(false)
        } else if self.takes_word("not") {
            let inner = self.deeper(Parser::part)?;
            Formula::Not(Box::new(Parser::condition(inner)?))
        } else if self.takes_word("exists") {
            let names = self.names(":")?;
            self.expect(":")?;
            let inner = self.deeper(Parser::any)?;
            Formula::Exists(names, Box::new(Parser::condition(inner)?))
        } else {
            let first = self.sum()?;
            return self.chain(first, start);
        };
        Ok(Either::Formula(formula, start.to(self.behind())))
    }

    fn chain(&mut self, first: Either, start: Span) -> Result<Either, TextError> {
        let mut rest = Vec::new();
        while let Some(comparison) = self.comparison() {
            let next = self.sum()?;
            rest.push((comparison, Parser::value(next)?));
        }
        if rest.is_empty() {
            return Ok(first);
        }
        Ok(Either::Formula(Formula::Chain(Parser::value(first)?, rest), start.to(self.behind())))
    }

    fn comparison(&mut self) -> Option<Comparison> {
        let comparison = match self.token() {
            Token::Sign("<=") => Comparison::AtMost,
            Token::Sign("<") => Comparison::Less,
            Token::Sign("=" | "==") => Comparison::Equal,
            Token::Sign("!=") => Comparison::Unequal,
            Token::Sign(">=") => Comparison::AtLeast,
            Token::Sign(">") => Comparison::Greater,
            _ => return None,
        };
        self.at += 1;
        Some(comparison)
    }

    fn sum(&mut self) -> Result<Either, TextError> {
        let mut first = self.product()?;
        while matches!(self.token(), Token::Sign("+" | "-")) {
            let is_sum = self.takes("+") || !self.takes("-");
            let next = self.product()?;
            let (a, b) = (Parser::value(first)?, Parser::value(next)?);
            first = Either::Expression(Expression::Sum(Box::new(a), Box::new(b), is_sum));
        }
        Ok(first)
    }

    fn product(&mut self) -> Result<Either, TextError> {
        let start = self.span();
        let mut first = self.primary()?;
        loop {
            if self.takes("*") || (self.is_number(&first) && self.begins_factor()) {
                let next = self.primary()?;
                let (a, b) = (Parser::value(first)?, Parser::value(next)?);
                first = Either::Expression(Expression::Product(Box::new(a), Box::new(b)));
            } else if self.takes_word("mod") || self.takes("%") {
                let inner = Box::new(Parser::value(first)?);
                let by = self.divisor()?;
                first = Either::Expression(Expression::Remainder(inner, by, start.to(self.behind())));
            } else {
                return Ok(first);
            }
        }
    }

    fn is_number(&self, either: &Either) -> bool {
        matches!(either, Either::Expression(Expression::Number(..)))
    }

    /// True if the next token can stand behind a number that multiplies it.
    fn begins_factor(&self) -> bool {
        match self.token() {
            Token::Name(name) => !["and", "or", "mod"].contains(&name.as_str()),
            Token::Sign(sign) => *sign == "(",
            _ => false,
        }
    }

    fn divisor(&mut self) -> Result<i64, TextError> {
        let span = self.span();
        let by = self.number()?;
        if by == 0 { Err(TextError::new(span, "a division by 0", "divide by a positive number")) } else { Ok(by) }
    }

    fn primary(&mut self) -> Result<Either, TextError> {
        let span = self.span();
        let expression = match self.token().clone() {
            Token::Number(number) => {
                self.at += 1;
                Expression::Number(number, span)
            }
            Token::Sign("-") => {
                self.at += 1;
                let inner = self.deeper(Parser::product)?;
                let inner = Box::new(Parser::value(inner)?);
                Expression::Product(Box::new(Expression::Number(-1, span)), inner)
            }
            Token::Sign("(") => {
                self.at += 1;
                let inner = self.deeper(Parser::any)?;
                self.expect(")")?;
                return Ok(inner);
            }
            Token::Name(name) if name == "floor" || name == "ceil" => {
                self.at += 1;
                self.expect("(")?;
                let inner = self.deeper(Parser::sum)?;
                let inner = Box::new(Parser::value(inner)?);
                self.expect("/")?;
                let by = self.divisor()?;
                self.expect(")")?;
                Expression::Quotient(inner, by, name == "ceil", span.to(self.behind()))
            }
            Token::Name(name) if !["and", "or", "mod", "not", "exists"].contains(&name.as_str()) => {
                self.at += 1;
                Expression::Name(name, span)
            }
            _ => return Err(self.unexpected("a name or a number")),
        };
        Ok(Either::Expression(expression))
    }

    /// Reads one level of nesting further in.
    fn deeper(&mut self, read: impl Fn(&mut Parser) -> Result<Either, TextError>) -> Result<Either, TextError> {
        if self.depth >= MOST_DEPTH {
            let hint = format!("nest at most {MOST_DEPTH} levels of parentheses");
            return Err(TextError::new(self.span(), "nested too deeply", hint));
        }
        self.depth += 1;
        let read = read(self);
        self.depth -= 1;
        read
    }
}

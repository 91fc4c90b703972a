//! Lines to rules, by recursive descent.
//!
//! A comparison stands in parentheses; so may a sum of products. The one is told from the other by a sign of comparison between its
//! parentheses, inside no others.

use lacunar_base::{Diagnostic, Span};
use lacunar_sets::{Comparison, Expression, Formula};

use super::error::Error;
use super::lexer::{Token, lex};
use super::{Access, Factor, Index, Part, Program, Rule, Term};

/// Parentheses are nested so deeply at most.
const MOST_DEPTH: usize = 64;

/// Longer lines are refused: bounds the time of all questions about a rule.
const MOST_BYTES: usize = 8 * 1024;

/// Divisors that are not known are this number: no quotient by it is anything simpler.
const OPEN: i64 = 1 << 40;

/// Reads a program whose divisors are numbers.
///
/// # Errors
/// All mistakes, one a line at most: E1521 for syntax, E1522 for an index of a head that a term does not have.
pub fn parse(text: &str) -> Result<Program, Vec<Diagnostic>> {
    parse_with(text, &|_| None)
}

/// Reads a program of which the names alone are wanted: divisors may be any.
///
/// # Errors
/// As of [`parse`].
pub fn names(text: &str) -> Result<Program, Vec<Diagnostic>> {
    parse_with(text, &|_| Some(OPEN))
}

/// Reads a program in which divisors may be names that stand for these numbers.
///
/// # Errors
/// As of [`parse`]; a divisor is no positive number.
pub fn parse_with(text: &str, values: &dyn Fn(&str) -> Option<i64>) -> Result<Program, Vec<Diagnostic>> {
    let mut program = Program::default();
    let mut errors = Vec::new();
    let mut prepares = false;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        match read_line((line, start), values, &mut program, &mut prepares) {
            Ok(()) => {}
            Err(error) => errors.push(error.into_diagnostic()),
        }
        start += line.len();
    }
    if errors.is_empty() { Ok(program) } else { Err(errors) }
}

fn read_line(
    (line, start): (&str, usize),
    values: &dyn Fn(&str) -> Option<i64>,
    program: &mut Program,
    prepares: &mut bool,
) -> Result<(), Error> {
    if line.len() > MOST_BYTES {
        return Err(Error::Long { length: line.len(), most: MOST_BYTES });
    }
    let mut parser = Parser { tokens: lex(line, start)?, at: 0, depth: 0, line, start, values };
    if parser.token() == &Token::End {
        return Ok(());
    }
    if parser.takes("@") {
        *prepares = if parser.takes_word("preprocess_start") {
            true
        } else if parser.takes_word("preprocess_end") {
            false
        } else {
            return Err(parser.unexpected("`preprocess_start` or `preprocess_end`"));
        };
        return parser.end();
    }
    match parser.declaration() {
        Some("symbols") => program.symbols.extend(parser.names()?),
        Some("outputs") => program.outputs.extend(parser.names()?),
        Some("iters") => program.iterators.extend(parser.iterators()?),
        _ => {
            let rule = parser.rule(*prepares)?;
            check(&rule)?;
            program.rules.push(rule);
        }
    }
    parser.end()
}

/// Each index of a head occurs in each term (Ghorbani et al. 2023, Fig. 6).
fn check(rule: &Rule) -> Result<(), Error> {
    for index in &rule.head.indices {
        let Index::Name(name, span) = index else { continue };
        if let Some(term) = rule.terms.iter().find(|term| !term.names().contains(&name.as_str())) {
            return Err(Error::Unbound { span: *span, term: term.span, name: name.clone() });
        }
    }
    Ok(())
}

impl Term {
    /// The names in it.
    pub(super) fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for factor in &self.factors {
            match factor {
                Factor::Access(access) => names.extend(access.indices.iter().filter_map(|index| match index {
                    Index::Name(name, _) => Some(name.as_str()),
                    Index::Number(..) => None,
                })),
                Factor::Comparison { condition, .. } => {
                    names.extend(condition.names().into_iter().map(|(name, _)| name))
                }
                Factor::Number { .. } => {}
                Factor::Sum(terms) => names.extend(terms.iter().flat_map(Term::names)),
            }
        }
        names
    }
}

struct Parser<'a> {
    tokens: Vec<(Token, Span)>,
    at: usize,
    depth: usize,
    line: &'a str,
    start: usize,
    /// The values of divisors that are names.
    values: &'a dyn Fn(&str) -> Option<i64>,
}

impl Parser<'_> {
    fn token(&self) -> &Token {
        self.ahead(0)
    }

    fn ahead(&self, by: usize) -> &Token {
        self.tokens.get(self.at + by).map_or(&Token::End, |(token, _)| token)
    }

    fn span(&self) -> Span {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(Span::NONE, |&(_, span)| span)
    }

    /// The place from a span to the last token.
    fn since(&self, start: Span) -> Span {
        let last = self.at.checked_sub(1).and_then(|at| self.tokens.get(at)).map_or(start, |&(_, span)| span);
        start.to(last)
    }

    fn takes(&mut self, sign: &str) -> bool {
        let found = matches!(self.token(), Token::Sign(next) if *next == sign);
        self.at += usize::from(found);
        found
    }

    fn takes_word(&mut self, word: &str) -> bool {
        let found = matches!(self.token(), Token::Name(next) if next == word);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, sign: &str) -> Result<(), Error> {
        if self.takes(sign) { Ok(()) } else { Err(self.unexpected(&format!("`{sign}`"))) }
    }

    fn end(&self) -> Result<(), Error> {
        if *self.token() == Token::End { Ok(()) } else { Err(self.unexpected("the end of the line")) }
    }

    fn unexpected(&self, expected: &str) -> Error {
        let found = match self.token() {
            Token::Name(name) | Token::Number(name) => format!("`{name}`"),
            Token::Sign(sign) => format!("`{sign}`"),
            Token::End => "the end of the line".to_string(),
        };
        Error::Syntax { span: self.span(), found, expected: expected.to_string() }
    }

    /// The word of a declaration, past its colon; a tensor may have such a name, too.
    fn declaration(&mut self) -> Option<&'static str> {
        let Token::Name(name) = self.token() else { return None };
        let word = ["symbols", "outputs", "iters"].into_iter().find(|word| word == name)?;
        if *self.ahead(1) != Token::Sign(":") {
            return None;
        }
        self.at += 2;
        Some(word)
    }

    fn name(&mut self) -> Result<String, Error> {
        let Token::Name(name) = self.token() else { return Err(self.unexpected("a name")) };
        let name = name.clone();
        self.at += 1;
        Ok(name)
    }

    fn names(&mut self) -> Result<Vec<String>, Error> {
        let mut names = Vec::new();
        while matches!(self.token(), Token::Name(_)) {
            names.push(self.name()?);
            if !self.takes(",") {
                break;
            }
        }
        Ok(names)
    }

    /// `y -> i, j; C -> i, k, j`
    fn iterators(&mut self) -> Result<Vec<(String, Vec<String>)>, Error> {
        let mut found = Vec::new();
        while matches!(self.token(), Token::Name(_)) {
            let tensor = self.name()?;
            self.expect("->")?;
            found.push((tensor, self.names()?));
            if !self.takes(";") {
                break;
            }
        }
        Ok(found)
    }

    fn rule(&mut self, prepares: bool) -> Result<Rule, Error> {
        let start = self.span();
        let head = self.access()?;
        self.expect(":=")?;
        let terms = self.terms()?;
        Ok(Rule { head, terms, prepares, span: self.since(start) })
    }

    fn terms(&mut self) -> Result<Vec<Term>, Error> {
        let mut terms = Vec::new();
        loop {
            let start = self.span();
            let mut factors = vec![self.factor()?];
            while self.takes("*") {
                factors.push(self.factor()?);
            }
            terms.push(Term { factors, span: self.since(start) });
            if !self.takes("+") {
                return Ok(terms);
            }
        }
    }

    fn factor(&mut self) -> Result<Factor, Error> {
        let start = self.span();
        match self.token().clone() {
            Token::Name(_) => Ok(Factor::Access(self.access()?)),
            Token::Sign("-") | Token::Number(_) => self.number(),
            Token::Sign("(") if self.holds_comparison() => {
                self.at += 1;
                let (condition, inner) = self.comparison()?;
                self.expect(")")?;
                let text = self.text(inner);
                Ok(Factor::Comparison { condition, text, span: self.since(start) })
            }
            Token::Sign("(") => {
                self.at += 1;
                let terms = self.deeper(Parser::terms)?;
                self.expect(")")?;
                // Parentheses around one factor say nothing.
                Ok(match <[Term; 1]>::try_from(terms) {
                    Ok([Term { mut factors, span }]) => match factors.pop() {
                        Some(only) if factors.is_empty() => only,
                        last => Factor::Sum(vec![Term { factors: factors.into_iter().chain(last).collect(), span }]),
                    },
                    Err(terms) => Factor::Sum(terms),
                })
            }
            _ => Err(self.unexpected("an access, a comparison or a number")),
        }
    }

    /// The source between two places of the line.
    fn text(&self, span: Span) -> String {
        let range = span.range();
        let inside = range.start.saturating_sub(self.start)..range.end.saturating_sub(self.start);
        self.line.get(inside).unwrap_or_default().to_string()
    }

    /// `3`, `-1`, `0.5`, `2^-1`
    fn number(&mut self) -> Result<Factor, Error> {
        let start = self.span();
        let sign = if self.takes("-") { "-" } else { "" };
        let Token::Number(number) = self.token().clone() else { return Err(self.unexpected("a number")) };
        self.at += 1;
        let inverse = self.takes("^-1");
        Ok(Factor::Number { text: format!("{sign}{number}"), inverse, span: self.since(start) })
    }

    fn access(&mut self) -> Result<Access, Error> {
        let start = self.span();
        let tensor = self.name()?;
        let inverse = self.takes("^-1");
        let part = if self.takes(":") {
            let word = self.name()?;
            match word.as_str() {
                "D" => Part::Dimensions,
                "U" => Part::Unique,
                "R" => Part::Redundant,
                _ => {
                    self.at -= 1;
                    return Err(self.unexpected("`D`, `U` or `R`"));
                }
            }
        } else {
            Part::Values
        };
        self.expect("(")?;
        let mut indices = Vec::new();
        while !self.takes(")") {
            indices.push(self.index()?);
            if !self.takes(",") {
                self.expect(")")?;
                break;
            }
        }
        Ok(Access { tensor, inverse, part, indices, span: self.since(start) })
    }

    fn index(&mut self) -> Result<Index, Error> {
        let span = self.span();
        match self.token().clone() {
            Token::Name(name) => {
                self.at += 1;
                Ok(Index::Name(name, span))
            }
            Token::Number(_) => Ok(Index::Number(self.integer()?, span)),
            _ => Err(self.unexpected("an index")),
        }
    }

    fn integer(&mut self) -> Result<i64, Error> {
        let Token::Number(number) = self.token() else { return Err(self.unexpected("a whole number")) };
        let whole = number.strip_suffix(".0").unwrap_or(number);
        let Ok(number) = whole.parse() else { return Err(self.unexpected("a whole number")) };
        self.at += 1;
        Ok(number)
    }

    /// True if the parentheses that are next hold a comparison.
    fn holds_comparison(&self) -> bool {
        let mut depth = 0;
        for (token, _) in self.tokens.iter().skip(self.at) {
            match token {
                Token::Sign("(") => depth += 1,
                Token::Sign(")") if depth == 1 => return false,
                Token::Sign(")") => depth -= 1,
                Token::Sign("<" | "<=" | ">" | ">=" | "=" | "==" | "!=") if depth == 1 => return true,
                _ => {}
            }
        }
        false
    }

    /// A chain of comparisons, and its place.
    fn comparison(&mut self) -> Result<(Formula, Span), Error> {
        let start = self.span();
        let first = self.sum()?;
        let mut rest = Vec::new();
        while let Token::Sign(sign) = *self.token() {
            let comparison = match sign {
                "<=" => Comparison::AtMost,
                "<" => Comparison::Less,
                "=" | "==" => Comparison::Equal,
                "!=" => Comparison::Unequal,
                ">=" => Comparison::AtLeast,
                ">" => Comparison::Greater,
                _ => break,
            };
            self.at += 1;
            rest.push((comparison, self.sum()?));
        }
        Ok((Formula::Chain(first, rest), self.since(start)))
    }

    fn sum(&mut self) -> Result<Expression, Error> {
        let mut first = self.product()?;
        loop {
            let plus = self.takes("+");
            if !plus && !self.takes("-") {
                return Ok(first);
            }
            first = Expression::Sum(Box::new(first), Box::new(self.product()?), plus);
        }
    }

    fn product(&mut self) -> Result<Expression, Error> {
        let start = self.span();
        let mut first = self.remainder()?;
        loop {
            if self.takes("*") {
                first = Expression::Product(Box::new(first), Box::new(self.remainder()?));
            } else if self.takes("/") {
                let by = self.divisor()?;
                first = Expression::Quotient(Box::new(first), by, false, self.since(start));
            } else {
                return Ok(first);
            }
        }
    }

    fn remainder(&mut self) -> Result<Expression, Error> {
        let start = self.span();
        let mut first = self.primary()?;
        while self.takes("%") {
            let by = self.divisor()?;
            first = Expression::Remainder(Box::new(first), by, self.since(start));
        }
        Ok(first)
    }

    fn divisor(&mut self) -> Result<i64, Error> {
        let at = self.at;
        let by = match self.token() {
            Token::Name(name) => {
                let value =
                    (self.values)(name).ok_or_else(|| self.unexpected("a number, or a symbol that is known"))?;
                self.at += 1;
                value
            }
            _ => self.integer()?,
        };
        if by <= 0 {
            self.at = at;
            return Err(self.unexpected("a divisor above 0"));
        }
        Ok(by)
    }

    fn primary(&mut self) -> Result<Expression, Error> {
        let span = self.span();
        match self.token().clone() {
            Token::Name(name) => {
                self.at += 1;
                Ok(Expression::Name(name, span))
            }
            Token::Number(_) => Ok(Expression::Number(self.integer()?, span)),
            Token::Sign("-") => {
                self.at += 1;
                let inner = self.deeper(Parser::primary)?;
                Ok(Expression::Product(Box::new(Expression::Number(-1, span)), Box::new(inner)))
            }
            Token::Sign("(") => {
                self.at += 1;
                let inner = self.deeper(Parser::sum)?;
                self.expect(")")?;
                Ok(inner)
            }
            _ => Err(self.unexpected("an index or a number")),
        }
    }

    /// Reads one level of nesting further in.
    fn deeper<T>(&mut self, read: impl Fn(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        if self.depth >= MOST_DEPTH {
            return Err(Error::Deep { span: self.span() });
        }
        self.depth += 1;
        let read = read(self);
        self.depth -= 1;
        read
    }
}

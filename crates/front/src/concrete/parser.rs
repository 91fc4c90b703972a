//! Tokens to a statement of concrete notation, by recursive descent. Expressions and assignments are read by the parser of
//! statements, relations by that of schedules.

use lacunar_notation::provenance::Tag;
use lacunar_notation::schedule::{CommandKind, Name as Said};

use super::ast::{Nest, Relation, RelationKind, Stmt};
use super::error::Mistake;
use super::{meaning, sources, targets, vars};
use crate::einsum::{Error, Name, Parser, Statement, SyntaxMistake, TokenKind};
use crate::schedule::{self, Form, MERGES, RACES, UNITS};

/// The words that a statement begins with.
const WORDS: [&str; 5] = ["forall", "where", "sequence", "suchthat", "assemble"];
/// The most statements that are inside of each other.
const MAX_DEPTH: usize = 100;

/// True if a statement of concrete notation comes next: one of its words that is not a tensor which is assigned to.
pub(crate) fn begins(parser: &mut Parser<'_>) -> bool {
    let word = parser.peek();
    if word.kind != TokenKind::Word || !WORDS.contains(&parser.text(word.span)) {
        return false;
    }
    match parser.kinds_ahead().nth(1) {
        Some(TokenKind::Word) => parser.text(word.span) == "forall",
        Some(TokenKind::Newline) => matches!(parser.text(word.span), "where" | "sequence"),
        Some(TokenKind::Sign("(")) => {
            let mut depth = 0_usize;
            let mut after = parser.kinds_ahead().skip(1).skip_while(|kind| {
                match kind {
                    TokenKind::Sign("(") => depth += 1,
                    TokenKind::Sign(")") => depth = depth.saturating_sub(1),
                    _ => {}
                }
                depth > 0
            });
            let assigns = |kind: Option<TokenKind>| matches!(kind, Some(TokenKind::Sign(sign)) if sign.ends_with('='));
            after.next();
            match after.next() {
                Some(TokenKind::Word) => !assigns(after.next()),
                next => !assigns(next),
            }
        }
        _ => false,
    }
}

/// Reads a statement of concrete notation as one of index notation that has the loops beside it.
pub(crate) fn statement(parser: &mut Parser<'_>) -> Result<Statement, Error> {
    let start = parser.peek().span;
    let column = parser.column(start);
    parser.brackets.may_stand = true;
    let read = nest(&mut Reader { parser, depth: 0 }, column);
    parser.brackets.may_stand = false;
    let mut nest = read?;
    sources::replace(&mut nest, &mut parser.brackets.found, &parser.sources);
    Ok(meaning::statement(nest, start.to(parser.before()))?)
}

/// Reads the loops of a statement that begins at a place and a column.
fn nest(reader: &mut Reader<'_, '_>, column: usize) -> Result<Nest, Error> {
    let (mut relations, mut is_inserted) = (Vec::new(), false);
    let body = match reader.word().as_deref() {
        Some("suchthat") => {
            reader.open()?;
            is_inserted = reader.word().as_deref() == Some("assemble");
            let body = if is_inserted { reader.assemble()? } else { reader.statement()? };
            reader.comma()?;
            relations = reader.relations()?;
            reader.close()?;
            body
        }
        Some("assemble") => {
            is_inserted = true;
            reader.assemble()?
        }
        _ => reader.block_at(column)?,
    };
    relations.extend(reader.lines_of_relations()?);
    let body = targets::expand(reader.parser, body)?;
    let vars::Numbered { vars, firsts, provenance } = vars::number(&body, &relations)?;
    let brackets = reader.parser.brackets.found.clone();
    Ok(Nest {
        body,
        relations,
        is_inserted,
        vars,
        firsts,
        provenance,
        workspaces: Vec::new(),
        brackets,
        placed: None,
        monoid: None,
        updates: false,
    })
}

struct Reader<'p, 'a> {
    parser: &'p mut Parser<'a>,
    depth: usize,
}

impl Reader<'_, '_> {
    /// The next token, if it is a word.
    fn word(&mut self) -> Option<String> {
        let token = self.parser.peek();
        (token.kind == TokenKind::Word).then(|| self.parser.text(token.span).to_string())
    }

    fn name(&mut self, expected: &'static str) -> Result<Name, Error> {
        match self.word() {
            Some(text) => Ok(Name { text, span: self.parser.advance().span }),
            None => Err(self.parser.unexpected(expected)),
        }
    }

    /// Takes a word and the opening parenthesis behind it.
    fn open(&mut self) -> Result<(), Error> {
        self.parser.advance();
        if !self.parser.at_sign("(") {
            return Err(self.parser.unexpected("`(`"));
        }
        self.parser.open();
        Ok(())
    }

    fn comma(&mut self) -> Result<(), Error> {
        self.parser.take_sign(&[","]).map(|_| ()).ok_or_else(|| self.parser.unexpected("`,`"))
    }

    fn close(&mut self) -> Result<(), Error> {
        self.parser.close(")", "`,` or `)`").map(|_| ())
    }

    /// `assemble(query, statement)`: the query only says how the entries are counted.
    fn assemble(&mut self) -> Result<Stmt, Error> {
        self.open()?;
        self.statement()?;
        self.comma()?;
        let compute = self.statement()?;
        self.close()?;
        Ok(compute)
    }

    /// A statement in parentheses.
    fn statement(&mut self) -> Result<Stmt, Error> {
        self.deeper()?;
        let stmt = match self.word().as_deref() {
            Some("forall") => {
                self.open()?;
                let var = self.name("a variable")?;
                self.comma()?;
                let body = Box::new(self.statement()?);
                let tags = if self.parser.take_sign(&[","]).is_some() { self.tags()? } else { Vec::new() };
                self.close()?;
                Stmt::Forall { var, tags, body }
            }
            Some("where") => {
                self.open()?;
                let consumer = Box::new(self.statement()?);
                self.comma()?;
                let producer = Box::new(self.statement()?);
                self.close()?;
                Stmt::Where { consumer, producer }
            }
            Some("sequence") => {
                self.open()?;
                let mut stmts = Vec::new();
                while !self.parser.at_sign(")") {
                    stmts.push(self.statement()?);
                    if self.parser.take_sign(&[","]).is_none() {
                        break;
                    }
                }
                self.close()?;
                Stmt::Sequence(stmts)
            }
            _ => Stmt::Assign(Box::new(self.parser.assignment()?)),
        };
        self.depth -= 1;
        Ok(stmt)
    }

    fn deeper(&mut self) -> Result<(), Error> {
        self.depth += 1;
        match self.depth > MAX_DEPTH {
            true => Err(SyntaxMistake::TooDeep { span: self.parser.peek().span }.into()),
            false => Ok(()),
        }
    }

    /// A statement in lines, the first of which begins at a column; or one in parentheses.
    fn block_at(&mut self, column: usize) -> Result<Stmt, Error> {
        self.deeper()?;
        let word = self.word().unwrap_or_default();
        let second = self.parser.kinds_ahead().nth(1);
        let stmt = match (word.as_str(), second) {
            ("forall", Some(TokenKind::Word)) => {
                self.parser.advance();
                let var = self.name("a variable")?;
                let mut tags = Vec::new();
                if self.parser.at_sign("(") {
                    self.parser.open();
                    tags = self.tags()?;
                    self.close()?;
                }
                let body = Box::new(self.block_below(column)?);
                Stmt::Forall { var, tags, body }
            }
            ("where", Some(TokenKind::Newline)) => {
                self.parser.advance();
                let producer = Box::new(self.block_below(column)?);
                self.parser.skip_newlines();
                if self.word().as_deref() != Some("do") {
                    return Err(self.parser.unexpected("`do`"));
                }
                self.parser.advance();
                let consumer = Box::new(self.block_below(column)?);
                Stmt::Where { consumer, producer }
            }
            ("sequence", Some(TokenKind::Newline)) => {
                self.parser.advance();
                let mut stmts = vec![self.block_below(column)?];
                while self.next_column() > column {
                    stmts.push(self.block_below(column)?);
                }
                Stmt::Sequence(stmts)
            }
            _ => {
                self.depth -= 1;
                return self.statement();
            }
        };
        self.depth -= 1;
        Ok(stmt)
    }

    /// The statement in the lines below one that begins at a column.
    fn block_below(&mut self, column: usize) -> Result<Stmt, Error> {
        if self.parser.peek().kind != TokenKind::Newline {
            return Err(self.parser.unexpected("the end of the line"));
        }
        let inner = self.next_column();
        self.parser.skip_newlines();
        if inner <= column {
            return Err(self.parser.unexpected("a statement that is indented more"));
        }
        self.block_at(inner)
    }

    /// The column of the first token behind the ends of lines that come next; 0 where the text ends.
    fn next_column(&mut self) -> usize {
        // A line for a tensor is blank, and may be the last.
        let next = self.parser.kinds_ahead().find(|kind| *kind != TokenKind::Newline);
        if next.is_none_or(|kind| kind == TokenKind::End) {
            return 0;
        }
        let span = self.parser.next_on_a_line();
        self.parser.column(span)
    }

    /// `cpu, none, unroll 4`.
    fn tags(&mut self) -> Result<Vec<Tag>, Error> {
        let mut tags = Vec::new();
        loop {
            let word = self.name("a tag")?;
            tags.extend(self.tag(&word)?);
            if self.parser.take_sign(&[","]).is_none() {
                return Ok(tags);
            }
        }
    }

    /// The tag that begins with a word; `None` for a unit of taco's that is none.
    fn tag(&mut self, word: &Name) -> Result<Option<Tag>, Error> {
        let unknown = |word: &Name| Mistake::Tag { span: word.span, word: word.text.clone() };
        if word.text == "unroll" {
            let times = match self.parser.peek().kind {
                TokenKind::Number(_) => self.number()?,
                _ => 0,
            };
            return Ok(Some(Tag::Unroll(times)));
        }
        if let Some(unit) = find(&UNITS, word) {
            self.comma()?;
            let race = self.name("how races are treated")?;
            let race = find(&RACES, &race).ok_or_else(|| unknown(&race))?;
            return Ok(unit.map(|unit| Tag::Parallel(unit, race)));
        }
        // A loop that combines the results of taco's threads, one after the other.
        if word.text == "CPUThreadGroupReduction" {
            self.comma()?;
            self.name("how races are treated")?;
            return Ok(None);
        }
        match find(&MERGES, word) {
            Some(merge) => Ok(Some(Tag::Merge(merge))),
            None => Err(unknown(word).into()),
        }
    }

    fn number(&mut self) -> Result<u32, Error> {
        let span = self.parser.peek().span;
        match self.parser.text(span).parse() {
            Ok(number) => {
                self.parser.advance();
                Ok(number)
            }
            Err(_) => Err(self.parser.unexpected("a whole number")),
        }
    }

    /// `split(i, i0, i1, 32) and fuse(j, k, f)`.
    fn relations(&mut self) -> Result<Vec<Relation>, Error> {
        let mut relations = vec![self.relation()?];
        while self.word().as_deref() == Some("and") {
            self.parser.advance();
            relations.push(self.relation()?);
        }
        Ok(relations)
    }

    /// `such that split(i, i0, i1, 32)` and the lines with `and` behind it.
    fn lines_of_relations(&mut self) -> Result<Vec<Relation>, Error> {
        let mut relations = Vec::new();
        loop {
            let span = self.parser.next_on_a_line();
            let word = if relations.is_empty() { "such" } else { "and" };
            if self.parser.text(span) != word {
                return Ok(relations);
            }
            self.parser.skip_newlines();
            self.parser.advance();
            if word == "such" {
                self.name("`that`")?;
            }
            relations.push(self.relation()?);
        }
    }

    fn relation(&mut self) -> Result<Relation, Error> {
        let start = self.parser.peek().span;
        if matches!(self.word().as_deref(), Some("rename" | "precompute")) {
            self.open()?;
            let parent = self.name("a variable")?;
            self.comma()?;
            let copy = self.name("a new name")?;
            self.close()?;
            return Ok(Relation { kind: RelationKind::Rename, parents: vec![parent], children: vec![copy] });
        }
        let form = schedule::command(self.parser).map_err(|error| Mistake::Relation(Box::new(error)))?;
        let span = start.to(self.parser.before());
        relation(form).ok_or_else(|| Mistake::NoRelation { span }.into())
    }
}

/// The relation that a command makes; `None` for other commands.
fn relation(form: Form) -> Option<Relation> {
    let name = |said: Said| Name { text: said.text, span: said.span };
    let (kind, parents, children) = match form {
        Form::Done(CommandKind::Split { var, outer, inner, size }) => {
            (RelationKind::Split(size), vec![var], vec![outer, inner])
        }
        Form::Done(CommandKind::Divide { var, outer, inner, parts }) => {
            (RelationKind::Divide(parts), vec![var], vec![outer, inner])
        }
        Form::Done(CommandKind::Fuse { outer, inner, fused }) => (RelationKind::Fuse, vec![outer, inner], vec![fused]),
        Form::Done(CommandKind::Coord { position, coordinate }) => {
            (RelationKind::Coord, vec![position], vec![coordinate])
        }
        Form::Done(CommandKind::Bound { var, bounded, size, kind }) => {
            (RelationKind::Bound(size, kind), vec![var], vec![bounded])
        }
        Form::Pos { var, position, tensor, vars: Some(vars), .. } => {
            let vars = vars.into_iter().map(name).collect();
            (RelationKind::Pos { tensor: name(tensor), vars }, vec![var], vec![position])
        }
        _ => return None,
    };
    let names = |said: Vec<Said>| said.into_iter().map(name).collect();
    Some(Relation { kind, parents: names(parents), children: names(children) })
}

/// The meaning of a word, in capitals or not.
fn find<T: Copy>(table: &[(&str, T)], word: &Name) -> Option<T> {
    table.iter().find(|(known, _)| known.eq_ignore_ascii_case(&word.text)).map(|(_, value)| *value)
}

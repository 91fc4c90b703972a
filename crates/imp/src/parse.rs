//! Reading the text form of a function, as [`crate::print`] describes it: recursive descent over tokens.
//!
//! Any text gives a function or a [`Diagnostic`] with the place at fault; recursion is bounded by the limits of the
//! verifier. Names are resolved here, everything else (types, scopes) is left to [`crate::verify()`]. Remarks between
//! statements are kept.
//!
//! ```
//! let text = "kernel one(out y: i64[]) {\n  y[0] = 1;\n}";
//! assert_eq!(lacunar_imp::parse(text).unwrap().to_string(), text);
//! assert!(lacunar_imp::parse("kernel one(out y: i64[]) { z[0] = 1; }").is_err());
//! ```

use lacunar_base::{Diagnostic, Span};
use lacunar_formats::DType;
use rustc_hash::FxHashMap;

use crate::ir::{
    Arg, Array, ArrayId, ArrayRole, BinaryOp, Block, Callee, Const, Expr, ExprId, Function, Lanes, LoopKind, Param,
    Status, Stmt, Turns, Var, VarId,
};
use crate::verify::MAX_NESTING;

mod expr;
mod parts;
mod token;

use token::{Token, TokenKind};

/// Reads a function from its text.
pub fn parse(text: &str) -> Result<Function, Diagnostic> {
    let tokens = token::tokens(text)?;
    let mut parser = Parser {
        text,
        tokens,
        next: 0,
        function: Function::default(),
        names: FxHashMap::default(),
        depths: Vec::new(),
        nesting: 0,
        recursion: 0,
    };
    parser.kernel()?;
    Ok(parser.function)
}

fn malformed(span: Span, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error("E0801", message).label(span, "here")
}

/// The meaning of a name.
#[derive(Clone, Copy)]
enum Named {
    Array(ArrayId),
    Var(VarId),
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    /// The next token.
    next: usize,
    function: Function,
    names: FxHashMap<&'a str, Named>,
    /// By expression: its depth.
    depths: Vec<u32>,
    /// The blocks around the next token.
    nesting: usize,
    /// The expressions around the next token.
    recursion: u32,
}

// Tokens.

impl<'a> Parser<'a> {
    fn token(&self, ahead: usize) -> Token {
        // The last token is the end, which stays.
        self.tokens.get(self.next + ahead).or(self.tokens.last()).copied().unwrap_or_default()
    }

    fn word(&self, ahead: usize) -> &'a str {
        self.text.get(self.token(ahead).span.range()).unwrap_or_default()
    }

    /// True if the token is this symbol or word.
    fn is(&self, ahead: usize, text: &str) -> bool {
        matches!(self.token(ahead).kind, TokenKind::Symbol | TokenKind::Name) && self.word(ahead) == text
    }

    fn is_name(&self, ahead: usize) -> bool {
        self.token(ahead).kind == TokenKind::Name
    }

    fn advance(&mut self) {
        self.next += 1;
    }

    fn accept(&mut self, text: &str) -> bool {
        let found = self.is(0, text);
        if found {
            self.advance();
        }
        found
    }

    fn expect(&mut self, text: &str) -> Result<(), Diagnostic> {
        if self.accept(text) { Ok(()) } else { self.fail(format!("`{text}` is missing")) }
    }

    fn fail<T>(&self, message: impl Into<String>) -> Result<T, Diagnostic> {
        Err(malformed(self.token(0).span, message))
    }

    fn name(&mut self) -> Result<&'a str, Diagnostic> {
        if !self.is_name(0) {
            return self.fail("a name is missing");
        }
        let word = self.word(0);
        self.advance();
        Ok(word)
    }

    fn dtype(&mut self) -> Result<DType, Diagnostic> {
        match dtype(self.word(0)) {
            Some(ty) => {
                self.advance();
                Ok(ty)
            }
            None => self.fail("a type is missing"),
        }
    }
}

fn dtype(word: &str) -> Option<DType> {
    DType::ALL.into_iter().find(|ty| ty.name() == word)
}

// The kernel, its parameters and names.

impl<'a> Parser<'a> {
    fn kernel(&mut self) -> Result<(), Diagnostic> {
        self.skip_comments();
        self.function.strict = self.accept("strict");
        self.expect("kernel")?;
        self.function.name = self.name()?.to_string();
        self.expect("(")?;
        while !self.accept(")") {
            self.parameter()?;
            if !self.is(0, ")") {
                self.expect(",")?;
            }
        }
        self.expect("{")?;
        while let Some(role) = self.role(&[ArrayRole::Local, ArrayRole::Parts]) {
            self.array(role)?;
            self.expect(";")?;
        }
        self.function.body = self.statements()?;
        self.skip_comments();
        if self.token(0).kind == TokenKind::End { Ok(()) } else { self.fail("the kernel has ended") }
    }

    fn skip_comments(&mut self) {
        while self.token(0).kind == TokenKind::Comment {
            self.advance();
        }
    }

    fn parameter(&mut self) -> Result<(), Diagnostic> {
        if let Some(role) = self.role(&[ArrayRole::Input, ArrayRole::Output, ArrayRole::Grown]) {
            let array = self.array(role)?;
            self.function.params.push(Param::Array(array));
        } else {
            let span = self.token(0).span;
            let name = self.name()?;
            self.expect(":")?;
            let ty = self.dtype()?;
            let var = self.define(span, name, ty, false)?;
            self.function.params.push(Param::Scalar(var));
        }
        Ok(())
    }

    /// The word for one of some roles, before the name of an array.
    fn role(&mut self, roles: &[ArrayRole]) -> Option<ArrayRole> {
        let role = roles.iter().copied().find(|role| self.is(0, role.name()) && self.is_name(1))?;
        self.advance();
        Some(role)
    }

    fn array(&mut self, role: ArrayRole) -> Result<ArrayId, Diagnostic> {
        let span = self.token(0).span;
        let name = self.name()?;
        self.expect(":")?;
        let elem = self.dtype()?;
        self.expect("[")?;
        let mut min_len = 0;
        if self.token(0).kind == TokenKind::Number {
            match self.word(0).parse() {
                Ok(len) => min_len = len,
                Err(_) => return self.fail("the least length is no number of elements"),
            }
            self.advance();
            self.expect("..")?;
        }
        self.expect("]")?;
        let array = self.function.arrays.push(Array { name: name.to_string(), elem, role, min_len });
        self.enter(span, name, Named::Array(array))?;
        Ok(array)
    }

    fn define(&mut self, span: Span, name: &'a str, ty: DType, mutable: bool) -> Result<VarId, Diagnostic> {
        let var = self.function.vars.push(Var { name: name.to_string(), ty, mutable });
        self.enter(span, name, Named::Var(var))?;
        Ok(var)
    }

    fn enter(&mut self, span: Span, name: &'a str, named: Named) -> Result<(), Diagnostic> {
        if self.names.insert(name, named).is_some() {
            return Err(malformed(span, format!("`{name}` is defined twice")));
        }
        Ok(())
    }

    fn array_name(&mut self) -> Result<ArrayId, Diagnostic> {
        let Some(&Named::Array(array)) = self.names.get(self.word(0)) else {
            return self.fail("the name of an array is missing");
        };
        self.advance();
        Ok(array)
    }

    fn var_name(&mut self) -> Result<VarId, Diagnostic> {
        let Some(&Named::Var(var)) = self.names.get(self.word(0)) else {
            return self.fail("a value is missing, or the variable is defined nowhere above");
        };
        self.advance();
        Ok(var)
    }
}

// Statements.

impl<'a> Parser<'a> {
    /// A block after its opening brace.
    fn statements(&mut self) -> Result<Block, Diagnostic> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return self.fail("the blocks are nested too deep");
        }
        let mut block = Block::new();
        while !self.accept("}") {
            block.push(self.stmt()?);
        }
        self.nesting -= 1;
        Ok(block)
    }

    fn body(&mut self) -> Result<Block, Diagnostic> {
        self.expect("{")?;
        self.statements()
    }

    fn stmt(&mut self) -> Result<Stmt, Diagnostic> {
        if self.token(0).kind == TokenKind::Comment {
            let text = self.word(0).trim_start_matches("//").trim().to_string();
            self.advance();
            return Ok(Stmt::Comment(text));
        }
        if self.is(1, "[") {
            return self.store();
        }
        if self.is(1, "=") {
            let var = self.var_name()?;
            self.advance();
            let value = self.expr()?;
            self.expect(";")?;
            return Ok(Stmt::Assign { var, value });
        }
        if self.is(1, "(") && Callee::from_name(self.word(0)).is_some() {
            return self.call(None);
        }
        let word = self.word(0);
        self.advance();
        match word {
            "let" => self.definition(false),
            "var" => self.definition(true),
            "for" => self.for_loop(),
            "while" => Ok(Stmt::While { cond: self.expr()?, body: self.body()? }),
            "if" => self.branch(),
            "break" => self.expect(";").map(|()| Stmt::Break),
            "fail" => self.failure(),
            "alloc" => self.alloc(),
            "grow" => self.grow(),
            "fill" => self.fill(),
            "prefetch" => self.prefetch(),
            "atomic" => self.atomic(),
            "deposit" => self.deposit(),
            _ => {
                self.next -= 1;
                self.fail("a statement is missing")
            }
        }
    }

    fn store(&mut self) -> Result<Stmt, Diagnostic> {
        let array = self.array_name()?;
        self.expect("[")?;
        let index = self.expr()?;
        self.expect("]")?;
        let reduce = BinaryOp::from_name(self.word(0));
        if reduce.is_some() {
            self.advance();
        }
        self.expect("=")?;
        let value = self.expr()?;
        let past = match self.word(0) {
            "past" => {
                self.advance();
                Some(self.expr()?)
            }
            _ => None,
        };
        self.expect(";")?;
        Ok(Stmt::Store { array, index, value, reduce, past })
    }

    /// After `let` or `var`: a definition, a load or a call with a result.
    fn definition(&mut self, mutable: bool) -> Result<Stmt, Diagnostic> {
        let span = self.token(0).span;
        let name = self.name()?;
        self.expect(":")?;
        let ty = self.dtype()?;
        self.expect("=")?;
        if !mutable && self.is_name(0) && self.is(1, "[") {
            let array = self.array_name()?;
            self.expect("[")?;
            let index = self.expr()?;
            self.expect("]")?;
            self.expect(";")?;
            let var = self.define(span, name, ty, false)?;
            return Ok(Stmt::Load { var, array, index });
        }
        if !mutable && self.is(0, "collect") && self.is_name(1) {
            return self.collect(span, name, ty);
        }
        if !mutable && self.is(1, "(") && Callee::from_name(self.word(0)).is_some() {
            return self.call(Some((span, name, ty)));
        }
        let value = self.expr()?;
        self.expect(";")?;
        let var = self.define(span, name, ty, mutable)?;
        Ok(Stmt::Define { var, value })
    }

    fn for_loop(&mut self) -> Result<Stmt, Diagnostic> {
        let span = self.token(0).span;
        let name = self.name()?;
        self.expect("in")?;
        let (begin, end) = self.range()?;
        let kind = self.loop_kind()?;
        let loads = if self.accept("loads") { Some(self.expr()?) } else { None };
        let var = self.define(span, name, DType::I64, false)?;
        Ok(Stmt::For { var, begin, end, loads, kind, body: self.body()? })
    }

    fn loop_kind(&mut self) -> Result<LoopKind, Diagnostic> {
        if self.accept("vector") {
            let width = self.times()?;
            let (steady, near) = (self.accept("steady"), self.accept("near"));
            return Ok(LoopKind::Vector(Lanes { width, steady, near, scattered: self.accept("scattered") }));
        }
        if self.accept("unroll") {
            let times = self.times()?;
            return Ok(LoopKind::Unrolled(Turns { times, near: self.accept("near") }));
        }
        Ok(if self.accept("parallel") { LoopKind::Parallel } else { LoopKind::Serial })
    }

    /// `(8)`; 0 if there is none.
    fn times(&mut self) -> Result<u32, Diagnostic> {
        if !self.accept("(") {
            return Ok(0);
        }
        match self.word(0).parse() {
            Ok(times) if times > 0 => {
                self.advance();
                self.expect(")")?;
                Ok(times)
            }
            _ => self.fail("a number of iterations is missing"),
        }
    }

    fn range(&mut self) -> Result<(ExprId, ExprId), Diagnostic> {
        let begin = self.expr()?;
        self.expect("..")?;
        Ok((begin, self.expr()?))
    }

    fn branch(&mut self) -> Result<Stmt, Diagnostic> {
        let cond = self.expr()?;
        let then = self.body()?;
        let otherwise = if self.accept("else") { self.body()? } else { Block::new() };
        Ok(Stmt::If { cond, then, otherwise })
    }

    fn failure(&mut self) -> Result<Stmt, Diagnostic> {
        let Some(status) = Status::from_name(self.word(0)) else { return self.fail("a status is missing") };
        self.advance();
        self.expect(";")?;
        Ok(Stmt::Fail(status))
    }

    fn alloc(&mut self) -> Result<Stmt, Diagnostic> {
        let array = self.array_name()?;
        self.expect("[")?;
        let len = self.expr()?;
        Ok(Stmt::Alloc { array, len, zeroed: self.zeroed()? })
    }

    fn grow(&mut self) -> Result<Stmt, Diagnostic> {
        let array = self.array_name()?;
        self.expect("[")?;
        let span = self.token(0).span;
        let product = self.expr()?;
        let (count, block) = match self.function.exprs[product] {
            Expr::Binary(BinaryOp::Mul, count, block) => (count, block),
            _ => (product, self.insert(span, Expr::Const(Const::one(DType::I64)))?),
        };
        Ok(Stmt::Grow { array, count, block, zeroed: self.zeroed()? })
    }

    /// `];` or `] = 0;`
    fn zeroed(&mut self) -> Result<bool, Diagnostic> {
        self.expect("]")?;
        let zeroed = self.accept("=");
        if zeroed {
            self.expect_zero()?;
        }
        self.expect(";")?;
        Ok(zeroed)
    }

    fn expect_zero(&mut self) -> Result<(), Diagnostic> {
        if self.word(0) != "0" {
            return self.fail("`0` is missing");
        }
        self.advance();
        Ok(())
    }

    fn fill(&mut self) -> Result<Stmt, Diagnostic> {
        let array = self.array_name()?;
        self.expect("[")?;
        let (begin, end) = self.range()?;
        self.expect("]")?;
        self.expect("=")?;
        let value = self.expr()?;
        self.expect(";")?;
        Ok(Stmt::Fill { array, begin, end, value })
    }

    fn prefetch(&mut self) -> Result<Stmt, Diagnostic> {
        let array = self.array_name()?;
        self.expect("[")?;
        let (begin, end) = self.range()?;
        self.expect("]")?;
        self.expect(";")?;
        Ok(Stmt::Prefetch { array, begin, end })
    }
}

impl<'a> Parser<'a> {
    /// A call, with the place, name and type of the variable that takes the result.
    fn call(&mut self, result: Option<(Span, &'a str, DType)>) -> Result<Stmt, Diagnostic> {
        let Some(callee) = Callee::from_name(self.word(0)) else {
            return self.fail("a function of the runtime is missing");
        };
        self.advance();
        self.expect("(")?;
        let mut args = Vec::new();
        while !self.accept(")") {
            args.push(match self.names.get(self.word(0)) {
                Some(&Named::Array(array)) => {
                    self.advance();
                    Arg::Array(array)
                }
                _ => Arg::Scalar(self.expr()?),
            });
            if !self.is(0, ")") {
                self.expect(",")?;
            }
        }
        self.expect(";")?;
        let result = match result {
            Some((span, name, ty)) => Some(self.define(span, name, ty, false)?),
            None => None,
        };
        Ok(Stmt::Call { callee, args, result })
    }
}

//! Expressions and constants of the text form: `-2.5f32`, `i64(p) + 1`, `select(a < b, a, min(b, 3))`.

use lacunar_base::{Diagnostic, Span};
use lacunar_formats::{DType, External, Kind};

use super::{Parser, TokenKind, dtype, malformed};
use crate::arith;
use crate::ir::{BinaryOp, CompareOp, Const, Expr, ExprId, UnaryOp, WordOp};
use crate::verify::MAX_EXPR_DEPTH;

/// A symbol between two operands.
#[derive(Clone, Copy)]
enum Infix {
    Binary(BinaryOp),
    Compare(CompareOp),
}

impl Parser<'_> {
    pub(super) fn expr(&mut self) -> Result<ExprId, Diagnostic> {
        self.infix(0)
    }

    /// Operands joined by symbols that bind at least this tightly; symbols of one strength join from the left.
    fn infix(&mut self, at_least: u8) -> Result<ExprId, Diagnostic> {
        let mut left = self.nested(Parser::prefix)?;
        while let Some((symbol, precedence)) = self.symbol().filter(|&(_, precedence)| precedence >= at_least) {
            let span = self.token(0).span;
            self.advance();
            let right = self.nested(|parser| parser.infix(precedence + 1))?;
            let expr = match symbol {
                Infix::Binary(op) => Expr::Binary(op, left, right),
                Infix::Compare(op) => Expr::Compare(op, left, right),
            };
            left = self.insert(span, expr)?;
        }
        Ok(left)
    }

    fn symbol(&self) -> Option<(Infix, u8)> {
        if self.token(0).kind != TokenKind::Symbol {
            return None;
        }
        if let Some(op) = CompareOp::from_name(self.word(0)) {
            return Some((Infix::Compare(op), CompareOp::PRECEDENCE));
        }
        let op = BinaryOp::from_name(self.word(0))?;
        op.precedence().map(|precedence| (Infix::Binary(op), precedence))
    }

    /// Bounds the recursion of reading by that of expressions: an operand takes two calls of this at most.
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Diagnostic>) -> Result<T, Diagnostic> {
        self.recursion += 1;
        if self.recursion > 3 * MAX_EXPR_DEPTH {
            return self.fail("the expression is too deep");
        }
        let done = read(self);
        self.recursion -= 1;
        done
    }

    /// Adds an expression.
    pub(super) fn insert(&mut self, span: Span, expr: Expr) -> Result<ExprId, Diagnostic> {
        let depth = 1 + expr.operands().map(|operand| self.depths[operand.index()]).max().unwrap_or(0);
        if depth > MAX_EXPR_DEPTH {
            return Err(malformed(span, "the expression is too deep"));
        }
        let id = self.function.exprs.insert(expr);
        if id.index() == self.depths.len() {
            self.depths.push(depth);
        }
        Ok(id)
    }

    fn prefix(&mut self) -> Result<ExprId, Diagnostic> {
        let span = self.token(0).span;
        if self.accept("!") {
            let operand = self.nested(Parser::prefix)?;
            return self.insert(span, Expr::Unary(UnaryOp::Not, operand));
        }
        if !self.accept("-") {
            return self.primary();
        }
        if self.token(0).kind == TokenKind::Number || self.is(1, ".") {
            let constant = self.constant(true)?;
            return self.insert(span, Expr::Const(constant));
        }
        let operand = self.nested(Parser::prefix)?;
        self.insert(span, Expr::Unary(UnaryOp::Neg, operand))
    }

    fn primary(&mut self) -> Result<ExprId, Diagnostic> {
        let span = self.token(0).span;
        if self.token(0).kind == TokenKind::Number || self.is(1, ".") {
            let constant = self.constant(false)?;
            return self.insert(span, Expr::Const(constant));
        }
        if self.accept("(") {
            let inner = self.expr()?;
            self.expect(")")?;
            return Ok(inner);
        }
        if self.is_name(0) && self.word(0) == "extern" && self.is_name(1) {
            self.advance();
            return self.external_call();
        }
        if self.is_name(0) && self.is(1, "(") {
            return self.function_call();
        }
        for value in [false, true] {
            if self.accept(if value { "true" } else { "false" }) {
                return self.insert(span, Expr::Const(Const::bool(value)));
            }
        }
        let var = self.var_name()?;
        self.insert(span, Expr::Var(var))
    }

    /// `name(operand, ..)` behind `extern`: a function of other code.
    fn external_call(&mut self) -> Result<ExprId, Diagnostic> {
        let (span, name) = (self.token(0).span, self.word(0));
        let unknown = || malformed(span, format!("no function `{name}` is known"));
        let function = External::find(name).ok_or_else(unknown)?;
        self.advance();
        self.expect("(")?;
        let first = self.expr()?;
        let second = if self.accept(",") { Some(self.expr()?) } else { None };
        self.expect(")")?;
        self.insert(span, Expr::Extern(function, first, second))
    }

    /// `name(operand, ..)`: an operation, a cast or a complex constant.
    fn function_call(&mut self) -> Result<ExprId, Diagnostic> {
        let (span, name) = (self.token(0).span, self.word(0));
        self.advance();
        self.advance();
        let mut args = vec![self.expr()?];
        while self.accept(",") {
            args.push(self.expr()?);
        }
        self.expect(")")?;
        let expr = match *args {
            [a] => match dtype(name) {
                Some(ty) => Some(Expr::Cast(ty, a)),
                None => UnaryOp::from_name(name).map(|op| Expr::Unary(op, a)),
            },
            [a, b] => match dtype(name) {
                Some(ty) => self.complex(ty, a, b).map(Expr::Const),
                None => match WordOp::from_name(name) {
                    Some(op) => Some(Expr::Word(op, a, b)),
                    None => BinaryOp::from_name(name).map(|op| Expr::Binary(op, a, b)),
                },
            },
            [a, b, c] if name == "select" => Some(Expr::Select(a, b, c)),
            _ => None,
        };
        match expr {
            Some(expr) => self.insert(span, expr),
            None => Err(malformed(span, format!("`{name}` is no operation on {} operands", args.len()))),
        }
    }

    /// A complex constant from its parts.
    fn complex(&self, ty: DType, re: ExprId, im: ExprId) -> Option<Const> {
        match (self.function.exprs[re], self.function.exprs[im]) {
            (Expr::Const(re), Expr::Const(im)) if ty.is_complex() && re.ty == ty.part() && im.ty == ty.part() => {
                Some(Const { ty, bits: re.bits, imag: im.bits })
            }
            _ => None,
        }
    }

    /// A constant after its sign.
    fn constant(&mut self, negative: bool) -> Result<Const, Diagnostic> {
        let span = self.token(0).span;
        let constant = if self.is(1, ".") {
            self.special(negative)?
        } else {
            let constant = number(self.word(0), negative);
            self.advance();
            constant
        };
        constant.ok_or_else(|| malformed(span, "the number does not fit its type"))
    }

    /// `f64.inf`, `f32.nan`, `f64.bits(0x7ff8000000000001)`
    fn special(&mut self, negative: bool) -> Result<Option<Const>, Diagnostic> {
        let ty = self.dtype()?;
        self.expect(".")?;
        let word = self.name()?;
        Ok(match word {
            "inf" => Some(Const::real(ty, if negative { f64::NEG_INFINITY } else { f64::INFINITY })),
            "nan" if !negative => Some(Const::real(ty, f64::NAN)),
            "bits" if !negative => {
                self.expect("(")?;
                let digits = self.word(0).strip_prefix("0x").unwrap_or_default();
                let bits = u64::from_str_radix(digits, 16).ok();
                self.advance();
                self.expect(")")?;
                bits.filter(|bits| bits.checked_shr(8 * ty.size() as u32).unwrap_or(0) == 0).map(|bits| Const {
                    ty,
                    bits,
                    imag: 0,
                })
            }
            _ => None,
        }
        .filter(|constant| constant.ty.is_real()))
    }
}

/// A number with the type behind it; without, `i64`, or `f64` if it has a fraction or exponent.
fn number(text: &str, negative: bool) -> Option<Const> {
    let typed = DType::ALL.into_iter().filter_map(|ty| Some((ty, text.strip_suffix(ty.name())?)));
    // `bf16` ends in `f16`.
    let typed = typed.max_by_key(|(ty, _)| ty.name().len());
    let (ty, digits) = match typed {
        Some(typed) => typed,
        None if text.contains(['.', 'e']) => (DType::F64, text),
        None => (DType::I64, text),
    };
    match ty.kind() {
        Kind::Signed | Kind::Unsigned => {
            let magnitude = i128::from(digits.parse::<u64>().ok()?);
            let value = if negative { -magnitude } else { magnitude };
            let constant = arith::wrap(ty, value as u64);
            let kept =
                if ty.kind() == Kind::Signed { i128::from(constant.bits as i64) } else { i128::from(constant.bits) };
            (kept == value).then_some(constant)
        }
        Kind::Real => {
            // Read in its own width: by way of `f64` an `f32` would be rounded twice.
            let value =
                if ty == DType::F32 { f64::from(digits.parse::<f32>().ok()?) } else { digits.parse::<f64>().ok()? };
            value.is_finite().then(|| Const::real(ty, if negative { -value } else { value }))
        }
        Kind::Bool | Kind::Complex => None,
    }
}

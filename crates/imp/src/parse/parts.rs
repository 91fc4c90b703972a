//! Statements of parallel loops: `atomic y[i] += v;`, `deposit p[c] = a[.. n];` and, after the loop,
//! `let n: i64 = collect a[0 ..] = p + q;`

use lacunar_base::{Diagnostic, Span};
use lacunar_formats::DType;

use super::Parser;
use crate::ir::{BinaryOp, Stmt};

impl<'a> Parser<'a> {
    /// After `atomic`.
    pub(super) fn atomic(&mut self) -> Result<Stmt, Diagnostic> {
        let array = self.array_name()?;
        self.expect("[")?;
        let index = self.expr()?;
        self.expect("]")?;
        let Some(op) = BinaryOp::from_name(self.word(0)) else { return self.fail("an operation is missing") };
        self.advance();
        self.expect("=")?;
        let value = self.expr()?;
        self.expect(";")?;
        Ok(Stmt::Atomic { array, index, value, op })
    }

    /// After `deposit`.
    pub(super) fn deposit(&mut self) -> Result<Stmt, Diagnostic> {
        let parts = self.array_name()?;
        self.expect("[")?;
        let slot = self.expr()?;
        self.expect("]")?;
        self.expect("=")?;
        let array = self.array_name()?;
        self.expect("[")?;
        self.expect("..")?;
        let len = self.expr()?;
        self.expect("]")?;
        self.expect(";")?;
        Ok(Stmt::Deposit { parts, slot, array, len })
    }

    /// At `collect`, with the place, name and type of the variable that takes the result.
    pub(super) fn collect(&mut self, span: Span, name: &'a str, ty: DType) -> Result<Stmt, Diagnostic> {
        self.expect("collect")?;
        let array = self.array_name()?;
        self.expect("[")?;
        let at = self.expr()?;
        self.expect("..")?;
        self.expect("]")?;
        self.expect("=")?;
        let parts = self.array_name()?;
        let bias = if self.accept("+") { Some(self.array_name()?) } else { None };
        self.expect(";")?;
        let result = self.define(span, name, ty, false)?;
        Ok(Stmt::Collect { array, at, parts, bias, result })
    }
}

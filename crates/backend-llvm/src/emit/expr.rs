//! Expressions: a walk over the hash-consed graph, each node once a statement.
//!
//! The walk keeps its own stack, so that deep expressions cannot overflow the machine's, and remembers the values that
//! the current statement has evaluated, so that shared operands are not evaluated once per path (which could be
//! exponentially many).

use inkwell::values::BasicValueEnum;
use lacunar_imp::{Expr, ExprId, VarId};

use super::Emitter;
use super::frame::Place;
use super::value::{self, Value};
use crate::LlvmError;

impl<'ctx> Emitter<'ctx, '_> {
    /// Forgets the values of the last statement: variables may have changed, and blocks may have ended.
    pub(super) fn begin_statement(&mut self) {
        for index in self.memoized.drain(..) {
            self.memo[index] = None;
        }
        for (expr, value) in &self.given {
            self.memo[expr.index()] = Some(*value);
            self.memoized.push(expr.index());
        }
    }

    /// The value of an expression at this point of the current statement.
    pub(super) fn eval(&mut self, root: ExprId) -> Result<Value<'ctx>, LlvmError> {
        let mut pending = vec![root];
        while let Some(&expr) = pending.last() {
            if self.memo[expr.index()].is_none() {
                let before = pending.len();
                for operand in self.source.exprs[expr].operands() {
                    if self.memo[operand.index()].is_none() {
                        pending.push(operand);
                    }
                }
                if pending.len() > before {
                    continue;
                }
                let value = self.combine(expr)?;
                self.memo[expr.index()] = Some(value);
                self.memoized.push(expr.index());
            }
            pending.pop();
        }
        self.known(root)
    }

    /// The value of an expression of type `I64` or `Bool`.
    pub(super) fn eval_int(&mut self, expr: ExprId) -> Result<inkwell::values::IntValue<'ctx>, LlvmError> {
        self.eval(expr)?.int()
    }

    fn known(&self, expr: ExprId) -> Result<Value<'ctx>, LlvmError> {
        self.memo[expr.index()].ok_or(LlvmError::Malformed("an operand follows its user"))
    }

    /// The value of an expression whose operands are known.
    fn combine(&mut self, expr: ExprId) -> Result<Value<'ctx>, LlvmError> {
        match self.source.exprs[expr] {
            Expr::Const(constant) => Ok(value::constant(self.context, constant)),
            Expr::Var(var) => self.read(var),
            Expr::Unary(op, a) => self.unary(op, self.source.type_of(a), self.known(a)?),
            Expr::Binary(op, a, b) => self.binary(op, self.source.type_of(a), self.known(a)?, self.known(b)?),
            Expr::Compare(op, a, b) => self.compare(op, self.source.type_of(a), self.known(a)?, self.known(b)?),
            Expr::Select(condition, a, b) => {
                let condition = self.known(condition)?.int()?;
                self.select(condition, self.known(a)?, self.known(b)?)
            }
            Expr::Cast(to, a) => self.cast(self.source.type_of(a), to, self.known(a)?),
            Expr::Extern(function, a, b) => {
                let operands =
                    std::iter::once(a).chain(b).map(|operand| self.known(operand)).collect::<Result<Vec<_>, _>>()?;
                self.external(function, &operands)
            }
            Expr::Word(op, word, place) => {
                self.word(op, self.source.type_of(word), self.known(word)?, self.known(place)?)
            }
        }
    }

    /// Chooses between two values of one type.
    pub(super) fn select(
        &self,
        condition: inkwell::values::IntValue<'ctx>,
        then: Value<'ctx>,
        otherwise: Value<'ctx>,
    ) -> Result<Value<'ctx>, LlvmError> {
        let ((a0, a1), (b0, b1)) = (then.parts(), otherwise.parts());
        let first = self.builder.build_select(condition, a0, b0, "")?;
        let second = match (a1, b1) {
            (Some(a1), Some(b1)) => Some(self.builder.build_select(condition, a1, b1, "")?),
            _ => None,
        };
        Ok(Value::from_parts(first, second))
    }

    /// The value of a variable.
    pub(super) fn read(&self, var: VarId) -> Result<Value<'ctx>, LlvmError> {
        match self.frame.places[var.index()] {
            Some(Place::Value(value)) => Ok(value),
            Some(Place::Slots(first, second)) => {
                let ty = value::register_type(self.context, self.source.vars[var].ty);
                let load = |slot| -> Result<BasicValueEnum<'ctx>, LlvmError> {
                    Ok(self.builder.build_load(ty, slot, &self.source.vars[var].name)?)
                };
                Ok(Value::from_parts(load(first)?, second.map(load).transpose()?))
            }
            None => Err(LlvmError::Malformed("a variable is read before its definition")),
        }
    }
}

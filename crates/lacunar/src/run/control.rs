//! The numbers that loops and conditions ask: computed as kernels compute them, of the values in the slots.

use lacunar_compiler::functions::{self, Constants};
use lacunar_formats::{DType, Scalar};
use lacunar_imp::arith;
use lacunar_notation::program::Operand;
use lacunar_notation::{Condition, Expr, ExprKind, TensorId};
use lacunar_runtime::Tensor;

use super::Runner;
use crate::bind::Slot;
use crate::error::Error;

impl Runner<'_, '_> {
    /// True if a condition is not zero.
    pub(super) fn holds(&self, condition: &Condition) -> Result<bool, Error> {
        Ok(!self.number(condition)?.is_zero())
    }

    /// The value of an end of a range.
    pub(super) fn whole(&self, condition: &Condition) -> Result<i64, Error> {
        let end = self.number(condition)?;
        match end.ty {
            DType::U64 => i64::try_from(end.bits).map_err(|_| Error::Range(end.to_string())),
            // The front end has made it an `i64`.
            _ => Ok(end.bits as i64),
        }
    }

    /// Sets the counter of a loop, in its memory where it has some.
    pub(super) fn count(&mut self, counter: TensorId, number: i64) {
        let slot = &mut self.slots[counter.index()];
        let place = match slot {
            Slot::Owned(tensor) => tensor.values_mut().into_slice::<i64>().and_then(|values| values.first_mut()),
            _ => None,
        };
        match place {
            Some(place) => *place = number,
            None => *slot = Slot::Owned(Tensor::scalar(number)),
        }
    }

    /// The value of a condition.
    pub(super) fn number(&self, condition: &Condition) -> Result<Scalar, Error> {
        self.value(condition, &condition.expr)
    }

    fn value(&self, condition: &Condition, expr: &Expr) -> Result<Scalar, Error> {
        Ok(match &expr.kind {
            ExprKind::Literal(literal) => literal.value(expr.dtype),
            ExprKind::Access(access) => match condition.operand(access.tensor) {
                Some(Operand::Value(tensor)) => self.tensor(tensor)?.element(&[]),
                Some(Operand::Count(tensor)) => {
                    let count = i64::try_from(self.tensor(tensor)?.entries()).unwrap_or(i64::MAX);
                    Scalar::int(DType::I64, count)
                }
                None => return Err(Error::Internal("a condition reads a tensor that is not there".to_string())),
            },
            ExprKind::Unary(function, a) => functions::unary(&mut Constants, *function, self.value(condition, a)?),
            ExprKind::Binary(function, a, b) => {
                let (a, b) = (self.value(condition, a)?, self.value(condition, b)?);
                functions::binary(&mut Constants, *function, a, b)
            }
            ExprKind::Select(operands) => {
                let [chosen, a, b] = &**operands;
                let holds = !self.value(condition, chosen)?.is_zero();
                self.value(condition, if holds { a } else { b })?
            }
            ExprKind::Apply(operator, operands) => {
                let values = operands.iter().map(|operand| self.value(condition, operand));
                functions::apply(&mut Constants, *operator, &values.collect::<Result<Vec<_>, _>>()?, 0)
            }
            ExprKind::Cast(a) => arith::cast(expr.dtype, self.value(condition, a)?),
            ExprKind::Reduce(..) => return Err(Error::Internal("a condition has a sum".to_string())),
        })
    }

    /// The tensor in a slot.
    pub(super) fn tensor(&self, id: TensorId) -> Result<&Tensor, Error> {
        let name = &self.program.tensors[id].name;
        let found = self.slots[id.index()].get();
        let hint = "assign it before; a loop without a round gives nothing a value";
        found.ok_or_else(|| Error::NoValue(format!("`{name}` is read before it has a value: {hint}")))
    }
}

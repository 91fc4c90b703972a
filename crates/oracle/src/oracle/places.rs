//! The places of least and greatest values: `argmin(k, e)` and `argmax(k, e)`.
//!
//! Every value of the variable is looked at, in order; the first of several equal values is taken, and NaN never. Values that are computed
//! may be rounded otherwise by an engine: if others are as near to the least as rounding errors are, the result is moot.
//!
//! ```text
//! argmin(k, x(k))      x = 5 nan 2 7 2       2
//!                      x = nan nan           -1
//! ```

use lacunar_notation::{BinaryFn, UnaryFn, VarId};

use super::Run;
use crate::absence::Value;
use crate::compare::close;
use crate::scalar::Scalar;
use crate::sums::{Node, Term};

impl Run<'_> {
    /// The first value of a variable at which a term is least, or greatest; -1 if it is a number nowhere.
    pub(super) fn index_of(&mut self, operation: BinaryFn, var: VarId, body: &Term) -> Value {
        let better = if operation == BinaryFn::ArgMax { BinaryFn::Gt } else { BinaryFn::Lt };
        let (outer, dtype, count) = (self.at[var.index()], body.dtype, self.program.count(var));
        let mut best: Option<(u64, Scalar)> = None;
        let mut all: Vec<(u64, Scalar)> = Vec::new();
        for number in 0..count {
            let (c, _) = self.place(var, number);
            self.at[var.index()] = c;
            let value = self.value(body).scalar();
            if matches!(value, Scalar::Real(value) if value.is_nan()) {
                continue;
            }
            if best.is_none_or(|(_, held)| value.binary(better, held, dtype) == Scalar::Bool(true)) {
                best = Some((c, value));
            }
            all.push((c, value));
        }
        self.at[var.index()] = outer;
        let Some((c, held)) = best else {
            let none = Scalar::Int(-1);
            return if count == 0 { Value::Absent(none) } else { Value::Stored(none) };
        };
        let is_near = |&(other, value): &(u64, Scalar)| other != c && close(value, held, self.peak, dtype);
        self.tied |= dtype.is_float() && !self.is_given(body) && all.iter().any(is_near);
        Value::Stored(Scalar::Int(i128::from(c)))
    }

    /// True if the values of a term are not rounded.
    fn is_given(&self, term: &Term) -> bool {
        match &term.node {
            Node::Constant(_) | Node::Index(_) | Node::Related(..) => true,
            Node::Element(tensor, _) => !self.program.tensor(*tensor).result,
            Node::Cast(a) | Node::Unary(UnaryFn::Neg, a) => self.is_given(a),
            _ => false,
        }
    }
}

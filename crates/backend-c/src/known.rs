//! Integer expressions whose value is known from constants and types.
//!
//! They are printed as literals, as a person would write them, and C compilers warn of comparisons that always come out
//! the same way. These are known: operations on known values; `x & 0`, `x * 0`, `x % 1`, `x - x`, `x ^ x`; comparisons
//! of a value with itself; comparisons of values whose types have no number in common that could make a difference
//! (also behind widening casts); and comparisons of a bitwise operation with a constant whose bits it can't have.
//!
//! ```text
//! 2 * 3 + 1        7
//! u >= 0           true         u of type u32
//! i64(b) < 256     true         b of type u8
//! x & 4 == 3       false
//! ```

use lacunar_formats::{DType, Kind};
use lacunar_imp::{BinaryOp, CompareOp, Const, Expr, ExprId, Function, UnaryOp, arith};

use crate::types::{integer_range, integer_value};

/// The known values of a function's integer and `Bool` expressions, in the order of the arena; `types` are their types.
pub fn known_values(function: &Function, types: &[DType]) -> Vec<Option<Const>> {
    let mut known = Known { function, types, values: Vec::with_capacity(types.len()) };
    for (id, expr) in function.exprs.iter() {
        let value = if types[id.index()].is_float() { None } else { known.value(expr) };
        known.values.push(value);
    }
    known.values
}

struct Known<'f> {
    function: &'f Function,
    types: &'f [DType],
    /// The values of the expressions seen so far.
    values: Vec<Option<Const>>,
}

impl Known<'_> {
    fn of(&self, id: ExprId) -> Option<Const> {
        self.values[id.index()]
    }

    fn type_of(&self, id: ExprId) -> DType {
        self.types[id.index()]
    }

    fn value(&self, expr: &Expr) -> Option<Const> {
        match *expr {
            Expr::Const(constant) => Some(constant),
            Expr::Var(_) => None,
            Expr::Unary(op, a) => self.of(a).map(|a| arith::unary(op, a)),
            Expr::Cast(ty, a) => self.of(a).map(|a| arith::cast(ty, a)),
            Expr::Binary(op, a, b) => match (self.of(a), self.of(b)) {
                (Some(a), Some(b)) => Some(arith::binary(op, a, b)),
                _ if self.is_zero(op, a, b) => Some(Const::zero(self.type_of(a))),
                _ if op == BinaryOp::Xor && self.type_of(a) == DType::Bool => self.comparison(CompareOp::Ne, a, b),
                _ => None,
            },
            Expr::Compare(op, a, b) => self.comparison(op, a, b),
            Expr::Select(_, a, b) if self.of(a) == self.of(b) => self.of(a),
            Expr::Select(..) | Expr::Extern(..) => None,
            Expr::Word(op, word, place) => Some(arith::word(op, self.of(word)?, self.of(place)?)),
        }
    }

    /// True if an operation on integers gives 0 whatever the unknown operand is.
    fn is_zero(&self, op: BinaryOp, a: ExprId, b: ExprId) -> bool {
        let is = |id: ExprId, wanted: i128| self.of(id).is_some_and(|value| integer_value(value) == wanted);
        match op {
            BinaryOp::And | BinaryOp::Mul => is(a, 0) || is(b, 0),
            BinaryOp::Rem => is(b, 1) || is(b, -1) || is(b, 0),
            BinaryOp::Sub | BinaryOp::Xor => self.transparent(a) == self.transparent(b),
            _ => false,
        }
    }

    fn comparison(&self, op: CompareOp, a: ExprId, b: ExprId) -> Option<Const> {
        let (a_least, a_greatest) = self.range(a)?;
        let (b_least, b_greatest) = self.range(b)?;
        let same = self.transparent(a) == self.transparent(b);
        let (below, above) = (a_greatest < b_least, b_greatest < a_least);
        let (at_most, at_least) = (same || a_greatest <= b_least, same || b_greatest <= a_least);
        let equal = at_most && at_least;
        let differ = below || above || self.bits_differ(a, b) || self.bits_differ(b, a);
        let (yes, no) = match op {
            CompareOp::Eq => (equal, differ),
            CompareOp::Ne => (differ, equal),
            CompareOp::Lt => (below, at_least),
            CompareOp::Le => (at_most, above),
            CompareOp::Gt => (above, at_most),
            CompareOp::Ge => (at_least, below),
        };
        (yes || no).then(|| Const::bool(yes))
    }

    /// The expression without operations that change nothing and are not printed.
    fn transparent(&self, id: ExprId) -> ExprId {
        let mut id = id;
        loop {
            id = match self.function.exprs[id] {
                Expr::Cast(to, a) if to == self.type_of(a) => a,
                Expr::Unary(UnaryOp::Abs, a) if self.type_of(a).kind() == Kind::Unsigned => a,
                Expr::Select(_, a, b) if a == b => a,
                _ => return id,
            };
        }
    }

    /// True if `a` is `x & c` or `x | c` and the known `b` has a bit that those can't have, or lacks one that they
    /// have.
    fn bits_differ(&self, a: ExprId, b: ExprId) -> bool {
        let known = |id: ExprId| self.of(id).map(integer_value);
        match (self.function.exprs[a], known(b)) {
            (Expr::Binary(op, x, y), Some(value)) => known(x).or(known(y)).is_some_and(|mask| match op {
                BinaryOp::And => value & !mask != 0,
                BinaryOp::Or => mask & !value != 0,
                _ => false,
            }),
            _ => false,
        }
    }

    /// The least and greatest value that an integer or `Bool` can have for its type, looking through widening casts.
    fn range(&self, id: ExprId) -> Option<(i128, i128)> {
        let ty = self.type_of(id);
        if ty.is_float() {
            return None;
        }
        if let Some(value) = self.of(id) {
            return Some((integer_value(value), integer_value(value)));
        }
        let own = if ty == DType::Bool { (0, 1) } else { integer_range(ty) };
        match self.function.exprs[id] {
            Expr::Cast(_, a) if ty != DType::Bool => {
                let inner = self.range(a).filter(|inner| own.0 <= inner.0 && inner.1 <= own.1);
                Some(inner.unwrap_or(own))
            }
            _ => Some(own),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::expression_types;
    use lacunar_imp::{ArrayRole, Builder};

    #[test]
    fn what_types_and_constants_say() {
        let mut b = Builder::new("f");
        let array = b.array_param("a", DType::U8, ArrayRole::Input);
        let n = b.scalar_param("n");
        let x = b.load("x", array, n);
        let wide = b.cast(DType::I64, x);
        let [zero, three, four, large] = [0, 3, 4, 256].map(|value| b.int(value));
        let masked = b.binary(BinaryOp::And, n, four);
        let cases = [
            (b.compare(CompareOp::Ge, wide, zero), Some(true)),
            (b.compare(CompareOp::Lt, large, wide), Some(false)),
            (b.compare(CompareOp::Gt, wide, zero), None),
            (b.compare(CompareOp::Ge, n, zero), None),
            (b.compare(CompareOp::Le, n, n), Some(true)),
            (b.compare(CompareOp::Eq, masked, three), Some(false)),
            (b.compare(CompareOp::Ne, masked, four), None),
            (b.compare(CompareOp::Lt, three, four), Some(true)),
        ];
        let twelve = b.expr(Expr::Binary(BinaryOp::Mul, three, four));
        let none = b.expr(Expr::Binary(BinaryOp::Sub, n, n));
        let function = b.finish();
        let values = known_values(&function, &expression_types(&function));
        for (expr, expected) in cases {
            assert_eq!(values[expr.index()], expected.map(Const::bool), "{:?}", function.exprs[expr]);
        }
        assert_eq!(values[twelve.index()], Some(Const::int(DType::I64, 12)));
        assert_eq!(values[none.index()], Some(Const::int(DType::I64, 0)));
        assert_eq!(values[n.index()], None);
    }
}

//! The functions of index notation: their names, and the types they give.
//!
//! The effect of an operator on *absent* entries (which have the fill value of their tensor, 0 unless said otherwise) decides how a
//! kernel may iterate. If an absent operand makes the result absent, stored coordinates are intersected; if not, they are united
//! (Henry et al., *Compilation of Sparse Array Programming Models*, OOPSLA 2021). [`BinaryFn::annihilated_by`] and [`Function`]'s
//! value at the fill values tell this effect.
//!
//! ```
//! use lacunar_formats::DType;
//! use lacunar_notation::{BinaryFn, Function};
//! assert_eq!(Function::parse("gt"), Some(Function::Binary(BinaryFn::Gt)));
//! assert_eq!(BinaryFn::Div.result_type(DType::I32), Some(DType::F64));
//! ```

use lacunar_formats::{DType, Kind, Scalar};

use crate::operator::Operator;

/// A function that an expression can call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Function {
    /// A function of one argument.
    Unary(UnaryFn),
    /// A function of two arguments; `min` and `max` also of more, from the left.
    Binary(BinaryFn),
    /// `select(c, a, b)`: the second argument where the first holds, else the third.
    Select,
}

/// Functions of one argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryFn {
    /// Negation, written `-x`.
    Neg,
    /// Logical not.
    Not,
    /// Absolute value or modulus.
    Abs,
    /// Real part.
    Real,
    /// Imaginary part.
    Imag,
    /// Complex conjugate.
    Conj,
    /// Square root.
    Sqrt,
    /// Cube root.
    Cbrt,
    /// Exponential.
    Exp,
    /// Natural logarithm.
    Log,
    /// Logarithm to base 10.
    Log10,
    /// Sine.
    Sin,
    /// Cosine.
    Cos,
    /// Tangent.
    Tan,
    /// Inverse sine.
    Asin,
    /// Inverse cosine.
    Acos,
    /// Inverse tangent.
    Atan,
    /// Hyperbolic sine.
    Sinh,
    /// Hyperbolic cosine.
    Cosh,
    /// Hyperbolic tangent.
    Tanh,
    /// Inverse hyperbolic sine.
    Asinh,
    /// Inverse hyperbolic cosine.
    Acosh,
    /// Inverse hyperbolic tangent.
    Atanh,
    /// Largest integer not above.
    Floor,
    /// Smallest integer not below.
    Ceil,
    /// Sign: -1, 0 or 1.
    Sign,
    /// `x * x`.
    Square,
    /// `x * x * x`.
    Cube,
    /// The operand; a sparse result stores nothing where it is the result's fill value.
    Prune,
}

/// Functions of two arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryFn {
    /// Sum, written `+`; on `bool`, or.
    Add,
    /// Difference, written `-`.
    Sub,
    /// Product, written `*`; on `bool`, and.
    Mul,
    /// Quotient, written `/`; of integers, a real number.
    Div,
    /// Quotient of integers truncated towards zero; by zero, 0.
    IntDiv,
    /// Remainder of truncated division.
    Rem,
    /// The smaller.
    Min,
    /// The larger.
    Max,
    /// Power.
    Pow,
    /// Angle of the point `(x, y)`: `atan2(y, x)`.
    Atan2,
    /// `heaviside(x, h)`: 0 below zero, `h` at zero, 1 above.
    Heaviside,
    /// Bitwise (on `bool`: logical) and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// The left operand, or the right one where the left is 0: one of the two, if not both are 0.
    Any,
    /// `at(e, k)`: the index `k`, with the value `e` beside it that it is the index of: the operand of `argmin`. Made by the front end,
    /// never by a user.
    At,
    /// The index of two whose value is less; the smaller index if the values are equal. The operation of a reduction.
    ArgMin,
    /// The index of two whose value is greater; the smaller index if the values are equal. The operation of a reduction.
    ArgMax,
    /// Equal, as `bool`.
    Eq,
    /// Not equal.
    Ne,
    /// Less.
    Lt,
    /// Less or equal.
    Le,
    /// Greater.
    Gt,
    /// Greater or equal.
    Ge,
    /// An operator that the program declares, for one type of operands.
    User(Operator),
}

/// Names of functions, the first of each being the one that is printed.
const NAMES: &[(&str, Function)] = {
    use BinaryFn as B;
    use Function::{Binary, Select, Unary};
    use UnaryFn as U;
    &[
        ("neg", Unary(U::Neg)),
        ("not", Unary(U::Not)),
        ("logical_not", Unary(U::Not)),
        ("abs", Unary(U::Abs)),
        ("absolute", Unary(U::Abs)),
        ("real", Unary(U::Real)),
        ("imag", Unary(U::Imag)),
        ("conj", Unary(U::Conj)),
        ("sqrt", Unary(U::Sqrt)),
        ("cbrt", Unary(U::Cbrt)),
        ("exp", Unary(U::Exp)),
        ("log", Unary(U::Log)),
        ("log10", Unary(U::Log10)),
        ("sin", Unary(U::Sin)),
        ("cos", Unary(U::Cos)),
        ("tan", Unary(U::Tan)),
        ("asin", Unary(U::Asin)),
        ("arcsin", Unary(U::Asin)),
        ("acos", Unary(U::Acos)),
        ("arccos", Unary(U::Acos)),
        ("atan", Unary(U::Atan)),
        ("arctan", Unary(U::Atan)),
        ("sinh", Unary(U::Sinh)),
        ("cosh", Unary(U::Cosh)),
        ("tanh", Unary(U::Tanh)),
        ("asinh", Unary(U::Asinh)),
        ("arcsinh", Unary(U::Asinh)),
        ("acosh", Unary(U::Acosh)),
        ("arccosh", Unary(U::Acosh)),
        ("atanh", Unary(U::Atanh)),
        ("arctanh", Unary(U::Atanh)),
        ("floor", Unary(U::Floor)),
        ("ceil", Unary(U::Ceil)),
        ("sign", Unary(U::Sign)),
        ("square", Unary(U::Square)),
        ("cube", Unary(U::Cube)),
        ("prune", Unary(U::Prune)),
        ("add", Binary(B::Add)),
        ("sub", Binary(B::Sub)),
        ("mul", Binary(B::Mul)),
        ("div", Binary(B::Div)),
        ("idiv", Binary(B::IntDiv)),
        ("mod", Binary(B::Rem)),
        ("fmod", Binary(B::Rem)),
        ("min", Binary(B::Min)),
        ("minimum", Binary(B::Min)),
        ("max", Binary(B::Max)),
        ("maximum", Binary(B::Max)),
        ("pow", Binary(B::Pow)),
        ("power", Binary(B::Pow)),
        ("atan2", Binary(B::Atan2)),
        ("arctan2", Binary(B::Atan2)),
        ("heaviside", Binary(B::Heaviside)),
        ("and", Binary(B::And)),
        ("bitwise_and", Binary(B::And)),
        ("or", Binary(B::Or)),
        ("bitwise_or", Binary(B::Or)),
        ("xor", Binary(B::Xor)),
        ("bitwise_xor", Binary(B::Xor)),
        ("any", Binary(B::Any)),
        ("eq", Binary(B::Eq)),
        ("equal", Binary(B::Eq)),
        ("neq", Binary(B::Ne)),
        ("not_equal", Binary(B::Ne)),
        ("lt", Binary(B::Lt)),
        ("less", Binary(B::Lt)),
        ("lte", Binary(B::Le)),
        ("less_equal", Binary(B::Le)),
        ("gt", Binary(B::Gt)),
        ("greater", Binary(B::Gt)),
        ("gte", Binary(B::Ge)),
        ("greater_equal", Binary(B::Ge)),
        ("select", Select),
        ("where", Select),
    ]
};

impl Function {
    /// The function of a name: ours, taco's, NumPy's.
    pub fn parse(name: &str) -> Option<Function> {
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, function)| *function)
    }

    /// The name that is printed.
    pub fn name(self) -> &'static str {
        match self {
            Function::Binary(BinaryFn::User(operator)) => operator.name(),
            _ => NAMES.iter().find(|(_, function)| *function == self).map_or("?", |(name, _)| name),
        }
    }

    /// Every name that can be called, for hints.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(name, _)| *name)
    }
}

impl UnaryFn {
    /// The type that operands are converted to before the function is applied, and the type of its result, for an operand of type
    /// `operand`; `None` if the function is not defined on it.
    pub fn types(self, operand: DType) -> Option<(DType, DType)> {
        let real = if operand.is_float() { operand } else { DType::F64 };
        match self {
            UnaryFn::Neg => (operand != DType::Bool).then_some((operand, operand)),
            UnaryFn::Not => Some((DType::Bool, DType::Bool)),
            UnaryFn::Abs | UnaryFn::Real | UnaryFn::Imag => Some((operand, operand.part())),
            UnaryFn::Conj | UnaryFn::Square | UnaryFn::Cube | UnaryFn::Prune => Some((operand, operand)),
            // The sign of a truth value is itself.
            UnaryFn::Sign => (!operand.is_complex()).then_some((operand, operand)),
            UnaryFn::Floor | UnaryFn::Ceil => match operand.kind() {
                Kind::Complex => None,
                _ => Some((operand, operand)),
            },
            UnaryFn::Sqrt
            | UnaryFn::Exp
            | UnaryFn::Log
            | UnaryFn::Sin
            | UnaryFn::Cos
            | UnaryFn::Tan
            | UnaryFn::Sinh
            | UnaryFn::Cosh
            | UnaryFn::Tanh => Some((real, real)),
            UnaryFn::Cbrt
            | UnaryFn::Log10
            | UnaryFn::Asin
            | UnaryFn::Acos
            | UnaryFn::Atan
            | UnaryFn::Asinh
            | UnaryFn::Acosh
            | UnaryFn::Atanh => (!operand.is_complex()).then_some((real, real)),
        }
    }

    /// True if the function gives 0 at 0, so that an absent operand leaves the result absent.
    pub fn keeps_zero(self) -> bool {
        !matches!(
            self,
            UnaryFn::Not
                | UnaryFn::Exp
                | UnaryFn::Log
                | UnaryFn::Log10
                | UnaryFn::Cos
                | UnaryFn::Acos
                | UnaryFn::Cosh
                | UnaryFn::Acosh
        )
    }
}

impl BinaryFn {
    /// The type that both operands (already promoted to one type) are converted to; `None` if the function is not defined on it.
    pub fn operand_type(self, promoted: DType) -> Option<DType> {
        let real = if promoted.is_float() { promoted } else { DType::F64 };
        match self {
            BinaryFn::Add | BinaryFn::Mul | BinaryFn::Eq | BinaryFn::Ne => Some(promoted),
            BinaryFn::Any => Some(promoted),
            // Its operands have a type each.
            BinaryFn::At => None,
            BinaryFn::ArgMin | BinaryFn::ArgMax => (promoted == DType::I64).then_some(promoted),
            BinaryFn::Sub | BinaryFn::Pow => (promoted != DType::Bool).then_some(promoted),
            BinaryFn::Div => Some(real),
            BinaryFn::IntDiv => promoted.is_integer().then_some(promoted),
            BinaryFn::Rem => (promoted != DType::Bool && !promoted.is_complex()).then_some(promoted),
            BinaryFn::Min | BinaryFn::Max | BinaryFn::Lt | BinaryFn::Le | BinaryFn::Gt | BinaryFn::Ge => {
                (!promoted.is_complex()).then_some(promoted)
            }
            BinaryFn::Atan2 | BinaryFn::Heaviside => (!promoted.is_complex()).then_some(real),
            BinaryFn::And | BinaryFn::Or | BinaryFn::Xor => (!promoted.is_float()).then_some(promoted),
            BinaryFn::User(operator) => operator.typed().map(|typed| typed.operand).filter(|own| *own == promoted),
        }
    }

    /// The type of the result for operands promoted to `promoted`; `None` if the function is not defined on it.
    pub fn result_type(self, promoted: DType) -> Option<DType> {
        let operand = self.operand_type(promoted)?;
        if let BinaryFn::User(operator) = self {
            return operator.typed().map(|typed| typed.result);
        }
        Some(if self.is_comparison() { DType::Bool } else { operand })
    }

    /// True if the result is a `bool` whatever the operands.
    pub fn is_comparison(self) -> bool {
        matches!(self, BinaryFn::Eq | BinaryFn::Ne | BinaryFn::Lt | BinaryFn::Le | BinaryFn::Gt | BinaryFn::Ge)
    }

    /// Tells if an absent left, and if an absent right operand makes the result absent, whatever the other is.
    ///
    /// An entry that is not stored is a structural zero: times anything, or divided by anything, it is absent; also
    /// where the other operand is NaN or infinite. IEEE arithmetic holds between stored values.
    pub fn annihilates(self) -> (bool, bool) {
        match self {
            BinaryFn::Mul | BinaryFn::And => (true, true),
            BinaryFn::Div | BinaryFn::IntDiv | BinaryFn::Rem => (true, false),
            _ => (false, false),
        }
    }

    /// The value of the function whatever the other operand is, for a left, and for a right operand that is absent with this fill
    /// value.
    ///
    /// Besides 0 ([`BinaryFn::annihilates`]) these are infinities in sums, the least value of a minimum and the greatest of a
    /// maximum, and the bits of all ones in `or`; as with 0, also if the other operand is NaN, or the opposite infinity.
    ///
    /// ```
    /// use lacunar_formats::{DType, Scalar};
    /// use lacunar_notation::BinaryFn;
    /// let infinite = Scalar::real(DType::F64, f64::INFINITY);
    /// assert_eq!(BinaryFn::Add.annihilated_by(infinite), (Some(infinite), Some(infinite)));
    /// assert_eq!(BinaryFn::Min.annihilated_by(infinite), (None, None));
    /// ```
    pub fn annihilated_by(self, fill: Scalar) -> (Option<Scalar>, Option<Scalar>) {
        let ty = fill.ty;
        if fill.is_zero() {
            let (left, right) = self.annihilates();
            return (left.then_some(Scalar::zero(ty)), right.then_some(Scalar::zero(ty)));
        }
        let either = match self {
            BinaryFn::Add => fill.is_infinite() || ty == DType::Bool,
            BinaryFn::Min => Scalar::lowest(ty) == Some(fill),
            BinaryFn::Max => Scalar::highest(ty) == Some(fill),
            BinaryFn::Or => is_all_ones(fill),
            _ => false,
        };
        // A subtrahend does not annihilate: in infinity less infinity, the left one decides.
        let left = either || (self == BinaryFn::Sub && fill.is_infinite());
        (left.then_some(fill), either.then_some(fill))
    }

    /// The values of a type that leave the other operand as it is, as the left, and as the right operand.
    pub fn identities(self, ty: DType) -> [Option<Scalar>; 2] {
        let zero = Some(Scalar::zero(ty));
        match self {
            BinaryFn::Add | BinaryFn::Or | BinaryFn::Xor | BinaryFn::Any => [zero, zero],
            BinaryFn::And => [all_ones(ty); 2],
            BinaryFn::Sub => [None, zero],
            BinaryFn::Mul => [Some(Scalar::one(ty)); 2],
            BinaryFn::Div => [None, Some(Scalar::one(ty))],
            BinaryFn::Min => [Scalar::highest(ty); 2],
            BinaryFn::Max => [Scalar::lowest(ty); 2],
            BinaryFn::ArgMin | BinaryFn::ArgMax if ty == DType::I64 => [Some(Scalar::int(ty, -1)); 2],
            BinaryFn::User(operator) => {
                let typed = operator.typed().filter(|typed| typed.operand == ty);
                [typed.and_then(|typed| typed.identity); 2]
            }
            _ => [None, None],
        }
    }

    /// True if the function gives 0 where both operands are absent.
    pub fn keeps_zero(self) -> bool {
        match self {
            BinaryFn::Pow | BinaryFn::Eq | BinaryFn::Le | BinaryFn::Ge => false,
            // `heaviside(0, h)` is `h`, which is 0 where `h` is absent.
            _ => true,
        }
    }

    /// The sign it is written with between its operands.
    pub fn symbol(self) -> Option<&'static str> {
        Some(match self {
            BinaryFn::Add => "+",
            BinaryFn::Sub => "-",
            BinaryFn::Mul => "*",
            BinaryFn::Div => "/",
            BinaryFn::Eq => "==",
            BinaryFn::Ne => "!=",
            BinaryFn::Lt => "<",
            BinaryFn::Le => "<=",
            BinaryFn::Gt => ">",
            BinaryFn::Ge => ">=",
            _ => return None,
        })
    }
}

/// True if all bits of an integer are 1.
fn is_all_ones(value: Scalar) -> bool {
    all_ones(value.ty) == Some(value)
}

/// The integer of a type, or truth value, whose bits are all 1.
fn all_ones(ty: DType) -> Option<Scalar> {
    match ty.kind() {
        Kind::Bool => Some(Scalar::bool(true)),
        Kind::Signed => Some(Scalar::int(ty, -1)),
        Kind::Unsigned => Scalar::highest(ty),
        Kind::Real | Kind::Complex => None,
    }
}

//! The operations, with their names, symbols and operand types: one table for the verifier, the printer, the parser and tests.
//! Their meaning is that of [`crate::ir`].
//!
//! `BinaryOp::Add` is printed `a + b` and taken by every type; `BinaryOp::Atan2` is printed `atan2(a, b)` and taken by
//! reals only.

use lacunar_formats::{DType, Kind};

use crate::arith;
use crate::ir::{Callee, Const, Expr, ExprId, Status, Stmt, VarId};

/// Operations on one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// Negation; not on `Bool`.
    Neg,
    /// Logical not, on `Bool`.
    Not,
    /// Absolute value, not of a `Bool`; of a complex number, its modulus as a real of the part's type.
    Abs,
    /// Real part of a complex number, as a real.
    Real,
    /// Imaginary part of a complex number, as a real.
    Imag,
    /// Complex conjugate.
    Conj,
    /// Square root. This and the following: real or complex operands.
    Sqrt,
    /// Cube root (real only).
    Cbrt,
    /// Exponential.
    Exp,
    /// Natural logarithm.
    Log,
    /// Logarithm to base 10 (real only).
    Log10,
    /// Sine.
    Sin,
    /// Cosine.
    Cos,
    /// Tangent.
    Tan,
    /// Inverse sine (real only).
    Asin,
    /// Inverse cosine (real only).
    Acos,
    /// Inverse tangent (real only).
    Atan,
    /// Hyperbolic sine.
    Sinh,
    /// Hyperbolic cosine.
    Cosh,
    /// Hyperbolic tangent.
    Tanh,
    /// Inverse hyperbolic sine (real only).
    Asinh,
    /// Inverse hyperbolic cosine (real only).
    Acosh,
    /// Inverse hyperbolic tangent (real only).
    Atanh,
    /// Largest integer not above (real only).
    Floor,
    /// Smallest integer not below (real only).
    Ceil,
    /// -1, 0 or 1 (reals and integers; NaN stays).
    Sign,
    /// The number of bits that are 1 (unsigned integers only).
    CountOnes,
    /// The number of bits below the lowest 1; of 0, all (unsigned integers only).
    TrailingZeros,
}

/// Operations on two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BinaryOp {
    /// Sum; or.
    Add,
    /// Difference; not on `Bool`.
    Sub,
    /// Product; and.
    Mul,
    /// Quotient; not on `Bool`.
    Div,
    /// Remainder of truncated division (`fmod` on reals); not on `Bool` or complex.
    Rem,
    /// The smaller; not on complex.
    Min,
    /// The larger; not on complex.
    Max,
    /// Power, not on `Bool`. Integers: by repeated multiplication, wrapping, a negative exponent truncates towards zero
    /// (and gives 0 for 0).
    Pow,
    /// `atan2(y, x)`, real only.
    Atan2,
    /// Bitwise and, on integers and `Bool`.
    And,
    /// Bitwise or, on integers and `Bool`.
    Or,
    /// Bitwise exclusive or, on integers and `Bool`.
    Xor,
    /// The bits of the first moved up by the second, modulo the number of bits (unsigned integers only).
    Shl,
    /// The bits of the first moved down by the second, modulo the number of bits (unsigned integers only).
    Shr,
}

/// Comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CompareOp {
    /// Equal.
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
}

/// Questions to the bits of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WordOp {
    /// True if the bit at a place is 1; the result is `Bool`.
    Bit,
    /// The number of bits below a place that are 1; the result is `I64`.
    Rank,
}

impl Stmt {
    /// The variable that it defines; a loop's counter is visible in the loop only, the others to the block's end.
    pub fn definition(&self) -> Option<VarId> {
        match *self {
            Stmt::Define { var, .. } | Stmt::Load { var, .. } | Stmt::For { var, .. } => Some(var),
            Stmt::Call { result, .. } => result,
            Stmt::Collect { result, .. } => Some(result),
            _ => None,
        }
    }
}

impl Expr {
    /// The expressions that it is made of, from left to right.
    pub fn operands(self) -> impl Iterator<Item = ExprId> {
        let operands = match self {
            Expr::Const(_) | Expr::Var(_) => [None, None, None],
            Expr::Unary(_, a) | Expr::Cast(_, a) => [Some(a), None, None],
            Expr::Binary(_, a, b) | Expr::Compare(_, a, b) | Expr::Word(_, a, b) => [Some(a), Some(b), None],
            Expr::Select(a, b, c) => [Some(a), Some(b), Some(c)],
            Expr::Extern(_, a, b) => [Some(a), b, None],
        };
        operands.into_iter().flatten()
    }
}

impl UnaryOp {
    /// Every operation on one operand.
    pub const ALL: [UnaryOp; 28] = [
        UnaryOp::Neg,
        UnaryOp::Not,
        UnaryOp::Abs,
        UnaryOp::Real,
        UnaryOp::Imag,
        UnaryOp::Conj,
        UnaryOp::Sqrt,
        UnaryOp::Cbrt,
        UnaryOp::Exp,
        UnaryOp::Log,
        UnaryOp::Log10,
        UnaryOp::Sin,
        UnaryOp::Cos,
        UnaryOp::Tan,
        UnaryOp::Asin,
        UnaryOp::Acos,
        UnaryOp::Atan,
        UnaryOp::Sinh,
        UnaryOp::Cosh,
        UnaryOp::Tanh,
        UnaryOp::Asinh,
        UnaryOp::Acosh,
        UnaryOp::Atanh,
        UnaryOp::Floor,
        UnaryOp::Ceil,
        UnaryOp::Sign,
        UnaryOp::CountOnes,
        UnaryOp::TrailingZeros,
    ];

    /// Its name in the text form; `Neg` and `Not` are printed as `-` and `!`.
    pub const fn name(self) -> &'static str {
        match self {
            UnaryOp::Neg => "-",
            UnaryOp::Not => "!",
            UnaryOp::Abs => "abs",
            UnaryOp::Real => "real",
            UnaryOp::Imag => "imag",
            UnaryOp::Conj => "conj",
            UnaryOp::Sqrt => "sqrt",
            UnaryOp::Cbrt => "cbrt",
            UnaryOp::Exp => "exp",
            UnaryOp::Log => "log",
            UnaryOp::Log10 => "log10",
            UnaryOp::Sin => "sin",
            UnaryOp::Cos => "cos",
            UnaryOp::Tan => "tan",
            UnaryOp::Asin => "asin",
            UnaryOp::Acos => "acos",
            UnaryOp::Atan => "atan",
            UnaryOp::Sinh => "sinh",
            UnaryOp::Cosh => "cosh",
            UnaryOp::Tanh => "tanh",
            UnaryOp::Asinh => "asinh",
            UnaryOp::Acosh => "acosh",
            UnaryOp::Atanh => "atanh",
            UnaryOp::Floor => "floor",
            UnaryOp::Ceil => "ceil",
            UnaryOp::Sign => "sign",
            UnaryOp::CountOnes => "count_ones",
            UnaryOp::TrailingZeros => "trailing_zeros",
        }
    }

    /// The operation with this name.
    pub fn from_name(name: &str) -> Option<UnaryOp> {
        UnaryOp::ALL.into_iter().find(|op| op.name() == name)
    }

    /// The type of the result for an operand of type `ty`.
    pub const fn result_type(self, ty: DType) -> DType {
        match self {
            UnaryOp::Abs | UnaryOp::Real | UnaryOp::Imag => ty.part(),
            _ => ty,
        }
    }

    /// True if an operand may have type `ty`.
    pub const fn accepts(self, ty: DType) -> bool {
        match self {
            _ if ty.is_storage() => false,
            UnaryOp::Neg | UnaryOp::Abs => !matches!(ty, DType::Bool),
            UnaryOp::Not => matches!(ty, DType::Bool),
            UnaryOp::Real | UnaryOp::Imag | UnaryOp::Conj => ty.is_complex(),
            UnaryOp::Sign => ty.is_real() || ty.is_integer(),
            UnaryOp::CountOnes | UnaryOp::TrailingZeros => matches!(ty.kind(), Kind::Unsigned),
            UnaryOp::Sqrt
            | UnaryOp::Exp
            | UnaryOp::Log
            | UnaryOp::Sin
            | UnaryOp::Cos
            | UnaryOp::Tan
            | UnaryOp::Sinh
            | UnaryOp::Cosh
            | UnaryOp::Tanh => ty.is_float(),
            UnaryOp::Cbrt
            | UnaryOp::Log10
            | UnaryOp::Asin
            | UnaryOp::Acos
            | UnaryOp::Atan
            | UnaryOp::Asinh
            | UnaryOp::Acosh
            | UnaryOp::Atanh
            | UnaryOp::Floor
            | UnaryOp::Ceil => ty.is_real(),
        }
    }
}

impl BinaryOp {
    /// Every operation on two operands.
    pub const ALL: [BinaryOp; 14] = [
        BinaryOp::Add,
        BinaryOp::Sub,
        BinaryOp::Mul,
        BinaryOp::Div,
        BinaryOp::Rem,
        BinaryOp::Min,
        BinaryOp::Max,
        BinaryOp::Pow,
        BinaryOp::Atan2,
        BinaryOp::And,
        BinaryOp::Or,
        BinaryOp::Xor,
        BinaryOp::Shl,
        BinaryOp::Shr,
    ];

    /// Its symbol, printed between the operands, or its name, printed before them.
    pub const fn name(self) -> &'static str {
        match self {
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::Rem => "%",
            BinaryOp::Min => "min",
            BinaryOp::Max => "max",
            BinaryOp::Pow => "pow",
            BinaryOp::Atan2 => "atan2",
            BinaryOp::And => "&",
            BinaryOp::Or => "|",
            BinaryOp::Xor => "^",
            BinaryOp::Shl => "shl",
            BinaryOp::Shr => "shr",
        }
    }

    /// The precedence of the symbol, as in C; `None` for operations printed as functions.
    pub const fn precedence(self) -> Option<u8> {
        match self {
            BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem => Some(6),
            BinaryOp::Add | BinaryOp::Sub => Some(5),
            BinaryOp::And => Some(3),
            BinaryOp::Xor => Some(2),
            BinaryOp::Or => Some(1),
            BinaryOp::Min | BinaryOp::Max | BinaryOp::Pow | BinaryOp::Atan2 | BinaryOp::Shl | BinaryOp::Shr => None,
        }
    }

    /// The operation with this symbol or name.
    pub fn from_name(name: &str) -> Option<BinaryOp> {
        BinaryOp::ALL.into_iter().find(|op| op.name() == name)
    }

    /// True if the operands may have type `ty`.
    pub const fn accepts(self, ty: DType) -> bool {
        match self {
            _ if ty.is_storage() => false,
            BinaryOp::Add | BinaryOp::Mul => true,
            BinaryOp::Sub | BinaryOp::Div | BinaryOp::Pow => !matches!(ty, DType::Bool),
            BinaryOp::Rem => ty.is_integer() || ty.is_real(),
            BinaryOp::Min | BinaryOp::Max => !ty.is_complex(),
            BinaryOp::Atan2 => ty.is_real(),
            BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => !ty.is_float(),
            BinaryOp::Shl | BinaryOp::Shr => matches!(ty.kind(), Kind::Unsigned),
        }
    }

    /// True if a sequence of it may be regrouped (up to rounding), so that a vector loop may accumulate with it.
    pub const fn is_associative(self) -> bool {
        self.is_atomic() || matches!(self, BinaryOp::Mul)
    }

    /// The value `c` of a type for which `c op x` is `c`, whatever `x` is: a reduction that has come to it may stop.
    ///
    /// ```
    /// use lacunar_formats::DType;
    /// use lacunar_imp::{BinaryOp, Const};
    /// assert_eq!(BinaryOp::Or.terminal(DType::Bool), Some(Const::bool(true)));
    /// assert_eq!(BinaryOp::Min.terminal(DType::U8), Some(Const::int(DType::U8, 0)));
    /// // A minimum of real numbers is not a number if one of them is not.
    /// assert_eq!(BinaryOp::Min.terminal(DType::F64), None);
    /// ```
    pub fn terminal(self, ty: DType) -> Option<Const> {
        match (self, ty.kind()) {
            (BinaryOp::Add | BinaryOp::Max | BinaryOp::Or, Kind::Bool) => Some(Const::bool(true)),
            (BinaryOp::Mul | BinaryOp::Min | BinaryOp::And, Kind::Bool) => Some(Const::bool(false)),
            (BinaryOp::And, Kind::Signed | Kind::Unsigned) => Some(Const::zero(ty)),
            (BinaryOp::Or, Kind::Signed | Kind::Unsigned) => Some(arith::wrap(ty, u64::MAX)),
            (BinaryOp::Min, Kind::Signed | Kind::Unsigned) => Const::lowest(ty),
            (BinaryOp::Max, Kind::Signed | Kind::Unsigned) => Const::highest(ty),
            _ => None,
        }
    }

    /// True if an element can be combined with a value by it indivisibly.
    pub const fn is_atomic(self) -> bool {
        matches!(self, BinaryOp::Add | BinaryOp::Min | BinaryOp::Max | BinaryOp::And | BinaryOp::Or | BinaryOp::Xor)
    }
}

impl CompareOp {
    /// Every comparison.
    pub const ALL: [CompareOp; 6] =
        [CompareOp::Eq, CompareOp::Ne, CompareOp::Lt, CompareOp::Le, CompareOp::Gt, CompareOp::Ge];

    /// The precedence of comparisons.
    pub const PRECEDENCE: u8 = 4;

    /// Its symbol.
    pub const fn name(self) -> &'static str {
        match self {
            CompareOp::Eq => "==",
            CompareOp::Ne => "!=",
            CompareOp::Lt => "<",
            CompareOp::Le => "<=",
            CompareOp::Gt => ">",
            CompareOp::Ge => ">=",
        }
    }

    /// The comparison with this symbol.
    pub fn from_name(name: &str) -> Option<CompareOp> {
        CompareOp::ALL.into_iter().find(|op| op.name() == name)
    }

    /// True if the operands may have type `ty`.
    pub const fn accepts(self, ty: DType) -> bool {
        !ty.is_storage() && (matches!(self, CompareOp::Eq | CompareOp::Ne) || !ty.is_complex())
    }
}

impl WordOp {
    /// Every question to a word.
    pub const ALL: [WordOp; 2] = [WordOp::Bit, WordOp::Rank];

    /// Its name, printed before the operands.
    pub const fn name(self) -> &'static str {
        match self {
            WordOp::Bit => "bit",
            WordOp::Rank => "rank",
        }
    }

    /// The question with this name.
    pub fn from_name(name: &str) -> Option<WordOp> {
        WordOp::ALL.into_iter().find(|op| op.name() == name)
    }

    /// The type of the answer.
    pub const fn result_type(self) -> DType {
        match self {
            WordOp::Bit => DType::Bool,
            WordOp::Rank => DType::I64,
        }
    }

    /// True if words may have type `ty`.
    pub const fn accepts(self, ty: DType) -> bool {
        matches!(ty.kind(), Kind::Unsigned)
    }
}

impl Callee {
    /// Every function of the runtime.
    pub const ALL: [Callee; 8] = [
        Callee::LowerBound,
        Callee::SortMarked,
        Callee::SortCombine,
        Callee::Unpack,
        Callee::Marks,
        Callee::Take,
        Callee::Raised,
        Callee::Length,
    ];

    /// Its name in the text form.
    pub const fn name(self) -> &'static str {
        match self {
            Callee::LowerBound => "lower_bound",
            Callee::SortMarked => "sort_marked",
            Callee::SortCombine => "sort_combine",
            Callee::Unpack => "unpack",
            Callee::Marks => "marks",
            Callee::Take => "take",
            Callee::Raised => "raised",
            Callee::Length => "length",
        }
    }

    /// The function with this name.
    pub fn from_name(name: &str) -> Option<Callee> {
        Callee::ALL.into_iter().find(|callee| callee.name() == name)
    }

    /// True if it gives an `I64`.
    pub const fn has_result(self) -> bool {
        !matches!(self, Callee::SortMarked)
    }
}

/// The lowest bit of the [`type_code`] that a caller of a kernel may put into the length of an array. A code of 0 says nothing of
/// the type.
pub const LENGTH_BITS: u32 = 56;

/// The code of an element type in a length; never 0.
pub const fn type_code(ty: DType) -> u8 {
    ty as u8 + 1
}

impl Status {
    /// Every reason to stop.
    pub const ALL: [Status; 6] = [
        Status::OutOfMemory,
        Status::SizeOverflow,
        Status::TooShort,
        Status::WrongType,
        Status::WrongSize,
        Status::OutOfRange,
    ];

    /// Its name in the text form.
    pub const fn name(self) -> &'static str {
        match self {
            Status::OutOfMemory => "out_of_memory",
            Status::SizeOverflow => "size_overflow",
            Status::TooShort => "too_short",
            Status::WrongType => "wrong_type",
            Status::WrongSize => "wrong_size",
            Status::OutOfRange => "out_of_range",
        }
    }

    /// The status with this name.
    pub fn from_name(name: &str) -> Option<Status> {
        Status::ALL.into_iter().find(|status| status.name() == name)
    }

    /// The kernel's return value.
    pub const fn code(self) -> i32 {
        self as i32
    }
}

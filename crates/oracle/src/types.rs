//! The oracle's own rules of types, written down a second time.
//!
//! Two types mix as in NumPy 2: into the smallest type that holds both, where `bool` is below the integers, these below the reals,
//! and these below the complex numbers. A real beside an integer has room for it if it has more bits, or if the integer has 8;
//! signed beside unsigned takes a type of twice the unsigned one's bits; `u64` beside a signed type is `f64`. A pattern mixes as
//! the `true` that it stores. `f16` and `bf16` mix as reals do, and into `f32` with each other.
//!
//! ```
//! use lacunar_formats::DType;
//! use lacunar_oracle::types::mixed;
//! assert_eq!(mixed(DType::U16, DType::I8), DType::I32);
//! assert_eq!(mixed(DType::I16, DType::F16), DType::F32);
//! assert_eq!(mixed(DType::F64, DType::C64), DType::C128);
//! ```

use lacunar_formats::{DType, Kind};
use lacunar_notation::{BinaryFn, UnaryFn};

/// The type in which values of a type are computed.
pub fn computed_in(stored: DType) -> DType {
    match stored {
        DType::F16 | DType::BF16 => DType::F32,
        DType::Pattern => DType::Bool,
        other => other,
    }
}

fn bits(dtype: DType) -> usize {
    match dtype {
        DType::Bool | DType::Pattern => 1,
        DType::I8 | DType::U8 => 8,
        DType::I16 | DType::U16 | DType::F16 | DType::BF16 => 16,
        DType::I32 | DType::U32 | DType::F32 => 32,
        DType::I64 | DType::U64 | DType::F64 | DType::C64 => 64,
        DType::C128 => 128,
    }
}

fn signed(bits: usize) -> DType {
    match bits {
        8 => DType::I8,
        16 => DType::I16,
        32 => DType::I32,
        64 => DType::I64,
        _ => DType::F64,
    }
}

/// The type that two types mix into.
pub fn mixed(a: DType, b: DType) -> DType {
    let of_value = |dtype| if dtype == DType::Pattern { DType::Bool } else { dtype };
    let (a, b) = (of_value(a), of_value(b));
    let wider = if bits(a) >= bits(b) { a } else { b };
    let real = |x: DType, int: DType| match bits(int) {
        8 => x,
        16 => mixed(x, DType::F32),
        _ => DType::F64,
    };
    match (a.kind(), b.kind()) {
        _ if a == b => a,
        (Kind::Bool, _) => b,
        (_, Kind::Bool) => a,
        (Kind::Complex, _) | (_, Kind::Complex) => match mixed(mixed(a.part(), b.part()), DType::F32) {
            DType::F64 => DType::C128,
            _ => DType::C64,
        },
        (Kind::Real, Kind::Real) if bits(a) == bits(b) => DType::F32,
        (Kind::Real, Kind::Real) => wider,
        (Kind::Real, _) => real(a, b),
        (_, Kind::Real) => real(b, a),
        (Kind::Unsigned, Kind::Signed) => signed(bits(b).max(2 * bits(a))),
        (Kind::Signed, Kind::Unsigned) => signed(bits(a).max(2 * bits(b))),
        _ => wider,
    }
}

/// The nearest type with fractions: itself, or `f64`.
fn with_fractions(dtype: DType) -> DType {
    if matches!(dtype.kind(), Kind::Real | Kind::Complex) { dtype } else { DType::F64 }
}

/// The types of the operand and of the value of a function of one operand.
pub fn of_unary(function: UnaryFn, operand: DType) -> (DType, DType) {
    let (real, complex) = (with_fractions(operand), operand.kind() == Kind::Complex);
    match function {
        UnaryFn::Not => (DType::Bool, DType::Bool),
        UnaryFn::Abs | UnaryFn::Real | UnaryFn::Imag if complex => (operand, operand.part()),
        UnaryFn::Neg
        | UnaryFn::Prune
        | UnaryFn::Abs
        | UnaryFn::Real
        | UnaryFn::Imag
        | UnaryFn::Conj
        | UnaryFn::Floor
        | UnaryFn::Ceil
        | UnaryFn::Sign
        | UnaryFn::Square
        | UnaryFn::Cube => (operand, operand),
        _ => (real, real),
    }
}

/// The types of the operands and of the value of a function of two operands that mix into a type.
pub fn of_binary(function: BinaryFn, mixed: DType) -> (DType, DType) {
    match function {
        BinaryFn::Div | BinaryFn::Atan2 | BinaryFn::Heaviside => (with_fractions(mixed), with_fractions(mixed)),
        BinaryFn::Eq | BinaryFn::Ne | BinaryFn::Lt | BinaryFn::Le | BinaryFn::Gt | BinaryFn::Ge => (mixed, DType::Bool),
        _ => (mixed, mixed),
    }
}

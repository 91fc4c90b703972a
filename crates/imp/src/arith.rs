//! The arithmetic of the IR: the results of operations on values, shared by the interpreter and constant folding.
//!
//! A value is a [`Const`]. The operands have the types that the operation accepts (see [`crate::ops`]); the verifier
//! has made sure of it. For types that it does not accept an operation gives zero.
//!
//! ```
//! use lacunar_formats::DType;
//! use lacunar_imp::{BinaryOp, Const, arith};
//! let (a, b) = (Const::int(DType::I8, -128), Const::int(DType::I8, -1));
//! assert_eq!(arith::binary(BinaryOp::Div, a, b), a); // wraps
//! assert_eq!(arith::cast(DType::U8, Const::real(DType::F64, 300.5)), Const::int(DType::U8, 255)); // saturates
//! ```

use lacunar_formats::{DType, Kind};
use num_complex::{Complex, ComplexFloat};
use num_traits::{Float, FloatConst};

use crate::ir::{BinaryOp, CompareOp, Const, UnaryOp, WordOp};

/// The Rust types of reals, to and from their bits.
trait Real: Float + FloatConst + std::fmt::Debug {
    fn load(bits: u64) -> Self;
    fn store(self) -> u64;
}

impl Real for f32 {
    fn load(bits: u64) -> f32 {
        f32::from_bits(bits as u32)
    }
    fn store(self) -> u64 {
        u64::from(self.to_bits())
    }
}

impl Real for f64 {
    fn load(bits: u64) -> f64 {
        f64::from_bits(bits)
    }
    fn store(self) -> u64 {
        self.to_bits()
    }
}

fn real<R: Real>(ty: DType, value: R) -> Const {
    Const { ty, bits: value.store(), imag: 0 }
}

fn complex<R: Real>(ty: DType, value: Complex<R>) -> Const {
    Const { ty, bits: value.re.store(), imag: value.im.store() }
}

fn complex_of<R: Real>(value: Const) -> Complex<R> {
    Complex::new(R::load(value.bits), R::load(value.imag))
}

/// An integer or `Bool` of type `ty` from 64 bits, of which it keeps as many as it has.
pub fn wrap(ty: DType, bits: u64) -> Const {
    let bits = match ty {
        DType::Bool | DType::Pattern => bits & 1,
        DType::I8 => bits as i8 as u64,
        DType::I16 => bits as i16 as u64,
        DType::I32 => bits as i32 as u64,
        DType::U8 => u64::from(bits as u8),
        DType::U16 => u64::from(bits as u16),
        DType::U32 => u64::from(bits as u32),
        _ => bits,
    };
    Const { ty, bits, imag: 0 }
}

/// The answer of a word about the bit at a place.
pub fn word(op: WordOp, word: Const, place: Const) -> Const {
    // The number of bits is a power of two, so that the remainder is that of a negative place too.
    let place = place.bits % width(word.ty);
    match op {
        WordOp::Bit => Const::bool(word.bits >> place & 1 != 0),
        WordOp::Rank => Const::int(DType::I64, (word.bits & ((1 << place) - 1)).count_ones().into()),
    }
}

/// The number of bits of a type.
fn width(ty: DType) -> u64 {
    8 * ty.size() as u64
}

/// The result of an operation on one operand.
pub fn unary(op: UnaryOp, a: Const) -> Const {
    match a.ty {
        DType::Bool => wrap(a.ty, !a.bits),
        DType::F32 => real_unary(op, a.ty, f32::load(a.bits)),
        DType::F64 => real_unary(op, a.ty, f64::load(a.bits)),
        DType::C64 => complex_unary::<f32>(op, a),
        DType::C128 => complex_unary::<f64>(op, a),
        DType::F16 | DType::BF16 => Const::zero(a.ty),
        _ => integer_unary(op, a),
    }
}

fn integer_unary(op: UnaryOp, a: Const) -> Const {
    let negative = a.ty.kind() == Kind::Signed && (a.bits as i64) < 0;
    let bits = match op {
        UnaryOp::Neg => a.bits.wrapping_neg(),
        UnaryOp::Abs if negative => a.bits.wrapping_neg(),
        UnaryOp::Abs => a.bits,
        UnaryOp::Sign if negative => u64::MAX,
        UnaryOp::Sign => u64::from(a.bits != 0),
        UnaryOp::CountOnes => u64::from(a.bits.count_ones()),
        UnaryOp::TrailingZeros => u64::from(a.bits.trailing_zeros()).min(width(a.ty)),
        _ => 0,
    };
    wrap(a.ty, bits)
}

fn real_unary<R: Real>(op: UnaryOp, ty: DType, x: R) -> Const {
    let value = match op {
        UnaryOp::Neg => -x,
        UnaryOp::Abs => x.abs(),
        UnaryOp::Sqrt => x.sqrt(),
        UnaryOp::Cbrt => x.cbrt(),
        UnaryOp::Exp => x.exp(),
        UnaryOp::Log => x.ln(),
        UnaryOp::Log10 => x.log10(),
        UnaryOp::Sin => x.sin(),
        UnaryOp::Cos => x.cos(),
        UnaryOp::Tan => x.tan(),
        UnaryOp::Asin => x.asin(),
        UnaryOp::Acos => x.acos(),
        UnaryOp::Atan => x.atan(),
        UnaryOp::Sinh => x.sinh(),
        UnaryOp::Cosh => x.cosh(),
        UnaryOp::Tanh => x.tanh(),
        UnaryOp::Asinh => x.asinh(),
        UnaryOp::Acosh => x.acosh(),
        UnaryOp::Atanh => x.atanh(),
        UnaryOp::Floor => x.floor(),
        UnaryOp::Ceil => x.ceil(),
        UnaryOp::Sign if x > R::zero() => R::one(),
        UnaryOp::Sign if x < R::zero() => -R::one(),
        // Zero and NaN stay.
        UnaryOp::Sign => x,
        UnaryOp::Not | UnaryOp::Real | UnaryOp::Imag | UnaryOp::Conj | UnaryOp::CountOnes | UnaryOp::TrailingZeros => {
            R::zero()
        }
    };
    real(ty, value)
}

fn complex_unary<R: Real>(op: UnaryOp, a: Const) -> Const {
    let z = complex_of::<R>(a);
    let value = match op {
        UnaryOp::Abs => return real(a.ty.part(), z.abs()),
        UnaryOp::Real => return real(a.ty.part(), z.re),
        UnaryOp::Imag => return real(a.ty.part(), z.im),
        UnaryOp::Conj => z.conj(),
        UnaryOp::Neg => -z,
        UnaryOp::Sqrt => z.sqrt(),
        UnaryOp::Exp => z.exp(),
        UnaryOp::Log => z.ln(),
        UnaryOp::Sin => z.sin(),
        UnaryOp::Cos => z.cos(),
        UnaryOp::Tan => tangent(z),
        UnaryOp::Sinh => z.sinh(),
        UnaryOp::Cosh => z.cosh(),
        // tanh(z) = -i tan(iz)
        UnaryOp::Tanh => {
            let tan = tangent(Complex::new(z.im, z.re));
            Complex::new(tan.im, tan.re)
        }
        _ => Complex::new(R::zero(), R::zero()),
    };
    complex(a.ty, value)
}

/// The tangent of a complex number, of which no part overflows on the way, as the quotient of a sine and a cosine does.
fn tangent<R: Real>(z: Complex<R>) -> Complex<R> {
    let (t, h, cosh) = (z.re.tan(), z.im.tanh(), z.im.cosh());
    let divisor = R::one() + (t * h) * (t * h);
    Complex::new(t / (cosh * cosh) / divisor, h * (R::one() + t * t) / divisor)
}

/// The result of an operation on two operands of one type.
pub fn binary(op: BinaryOp, a: Const, b: Const) -> Const {
    match a.ty {
        DType::F32 => real(a.ty, real_binary(op, f32::load(a.bits), f32::load(b.bits))),
        DType::F64 => real(a.ty, real_binary(op, f64::load(a.bits), f64::load(b.bits))),
        DType::C64 => complex(a.ty, complex_binary::<f32>(op, complex_of(a), complex_of(b))),
        DType::C128 => complex(a.ty, complex_binary::<f64>(op, complex_of(a), complex_of(b))),
        DType::Bool | DType::Pattern => wrap(a.ty, bool_binary(op, a.bits, b.bits)),
        DType::I8 | DType::I16 | DType::I32 | DType::I64 => {
            wrap(a.ty, signed_binary(op, a.bits as i64, b.bits as i64) as u64)
        }
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => {
            wrap(a.ty, unsigned_binary(op, width(a.ty), a.bits, b.bits))
        }
        DType::F16 | DType::BF16 => Const::zero(a.ty),
    }
}

fn bool_binary(op: BinaryOp, a: u64, b: u64) -> u64 {
    match op {
        BinaryOp::Add | BinaryOp::Max | BinaryOp::Or => a | b,
        BinaryOp::Mul | BinaryOp::Min | BinaryOp::And => a & b,
        BinaryOp::Xor => a ^ b,
        _ => 0,
    }
}

fn signed_binary(op: BinaryOp, a: i64, b: i64) -> i64 {
    match op {
        BinaryOp::Add => a.wrapping_add(b),
        BinaryOp::Sub => a.wrapping_sub(b),
        BinaryOp::Mul => a.wrapping_mul(b),
        BinaryOp::Div if b == 0 => 0,
        BinaryOp::Div => a.wrapping_div(b),
        BinaryOp::Rem if b == 0 => 0,
        BinaryOp::Rem => a.wrapping_rem(b),
        BinaryOp::Min => a.min(b),
        BinaryOp::Max => a.max(b),
        BinaryOp::Pow if b >= 0 => wrapping_pow(a as u64, b as u64) as i64,
        // 1 / a^|b|, truncated: only 1 and -1 leave something.
        BinaryOp::Pow if a == 1 || (a == -1 && b % 2 == 0) => 1,
        BinaryOp::Pow if a == -1 => -1,
        BinaryOp::And => a & b,
        BinaryOp::Or => a | b,
        BinaryOp::Xor => a ^ b,
        BinaryOp::Pow | BinaryOp::Atan2 | BinaryOp::Shl | BinaryOp::Shr => 0,
    }
}

fn unsigned_binary(op: BinaryOp, width: u64, a: u64, b: u64) -> u64 {
    match op {
        BinaryOp::Add => a.wrapping_add(b),
        BinaryOp::Sub => a.wrapping_sub(b),
        BinaryOp::Mul => a.wrapping_mul(b),
        BinaryOp::Div => a.checked_div(b).unwrap_or(0),
        BinaryOp::Rem => a.checked_rem(b).unwrap_or(0),
        BinaryOp::Min => a.min(b),
        BinaryOp::Max => a.max(b),
        BinaryOp::Pow => wrapping_pow(a, b),
        BinaryOp::And => a & b,
        BinaryOp::Or => a | b,
        BinaryOp::Xor => a ^ b,
        BinaryOp::Shl => a << (b % width),
        BinaryOp::Shr => a >> (b % width),
        BinaryOp::Atan2 => 0,
    }
}

/// `base^exponent` modulo 2^64, by squaring.
fn wrapping_pow(mut base: u64, mut exponent: u64) -> u64 {
    let mut power = 1u64;
    while exponent > 0 {
        if exponent & 1 == 1 {
            power = power.wrapping_mul(base);
        }
        base = base.wrapping_mul(base);
        exponent >>= 1;
    }
    power
}

fn real_binary<R: Real>(op: BinaryOp, a: R, b: R) -> R {
    match op {
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => a * b,
        BinaryOp::Div => a / b,
        BinaryOp::Rem => a % b,
        BinaryOp::Min | BinaryOp::Max if a.is_nan() => a,
        BinaryOp::Min | BinaryOp::Max if b.is_nan() => b,
        BinaryOp::Min => a.min(b),
        BinaryOp::Max => a.max(b),
        BinaryOp::Pow => a.powf(b),
        BinaryOp::Atan2 => a.atan2(b),
        BinaryOp::And | BinaryOp::Or | BinaryOp::Xor | BinaryOp::Shl | BinaryOp::Shr => R::zero(),
    }
}

fn complex_binary<R: Real>(op: BinaryOp, a: Complex<R>, b: Complex<R>) -> Complex<R> {
    match op {
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => a * b,
        BinaryOp::Div => complex_quotient(a, b),
        BinaryOp::Pow => a.powc(b),
        _ => Complex::new(R::zero(), R::zero()),
    }
}

/// Smith's formula (R. L. Smith, "Algorithm 116: Complex division", CACM 1962): nothing overflows where the quotient does not, and
/// a finite number over an infinite real one is 0.
fn complex_quotient<R: Real>(a: Complex<R>, b: Complex<R>) -> Complex<R> {
    if b.re.abs() < b.im.abs() {
        let ratio = b.re / b.im;
        let divisor = b.im + b.re * ratio;
        return Complex::new((a.im + a.re * ratio) / divisor, -((a.re - a.im * ratio) / divisor));
    }
    let ratio = b.im / b.re;
    let divisor = b.re + b.im * ratio;
    Complex::new((a.re + a.im * ratio) / divisor, (a.im - a.re * ratio) / divisor)
}

/// The result of a comparison.
pub fn compare(op: CompareOp, a: Const, b: Const) -> bool {
    match a.ty.kind() {
        Kind::Real => holds(op, &a.re(), &b.re()),
        Kind::Complex => complex_holds(op, a, b),
        Kind::Signed => holds(op, &(a.bits as i64), &(b.bits as i64)),
        Kind::Bool | Kind::Unsigned => holds(op, &a.bits, &b.bits),
    }
}

fn complex_holds(op: CompareOp, a: Const, b: Const) -> bool {
    let equal = a.re() == b.re() && a.im() == b.im();
    match op {
        CompareOp::Eq => equal,
        CompareOp::Ne => !equal,
        _ => false,
    }
}

fn holds<T: PartialOrd>(op: CompareOp, a: &T, b: &T) -> bool {
    match op {
        CompareOp::Eq => a == b,
        CompareOp::Ne => a != b,
        CompareOp::Lt => a < b,
        CompareOp::Le => a <= b,
        CompareOp::Gt => a > b,
        CompareOp::Ge => a >= b,
    }
}

/// The value converted to type `ty`.
pub fn cast(ty: DType, a: Const) -> Const {
    match (a.ty.kind(), ty.kind()) {
        (Kind::Bool | Kind::Signed | Kind::Unsigned, Kind::Bool) => Const::bool(a.bits != 0),
        (Kind::Real, Kind::Bool) => Const::bool(a.re() != 0.0),
        (Kind::Complex, Kind::Bool) => Const::bool(a.re() != 0.0 || a.im() != 0.0),
        (Kind::Bool | Kind::Signed | Kind::Unsigned, Kind::Signed | Kind::Unsigned) => wrap(ty, a.bits),
        (Kind::Real | Kind::Complex, Kind::Signed | Kind::Unsigned) => saturate(ty, a.re()),
        // Rounded once, so not by way of `f64` for an `f32`.
        (Kind::Bool | Kind::Signed | Kind::Unsigned, Kind::Real) if ty.is_storage() => {
            cast(ty, cast(ty.arithmetic(), a))
        }
        (Kind::Signed, Kind::Real | Kind::Complex) if ty.part() == DType::F32 => real(ty, a.bits as i64 as f32),
        (Kind::Signed, Kind::Real | Kind::Complex) => real(ty, a.bits as i64 as f64),
        (Kind::Bool | Kind::Unsigned, Kind::Real | Kind::Complex) if ty.part() == DType::F32 => real(ty, a.bits as f32),
        (Kind::Bool | Kind::Unsigned, Kind::Real | Kind::Complex) => real(ty, a.bits as f64),
        (Kind::Real | Kind::Complex, Kind::Real) => Const::real(ty, a.re()),
        (Kind::Real, Kind::Complex) => Const::real(ty, a.re()),
        (Kind::Complex, Kind::Complex) => Const::complex(ty, a.re(), a.im()),
    }
}

/// Truncation towards zero to an integer type; a value out of its range becomes its smallest or largest value.
fn saturate(ty: DType, value: f64) -> Const {
    // `as` from a float saturates and takes NaN to 0.
    let bits = match ty {
        DType::I8 => value as i8 as u64,
        DType::I16 => value as i16 as u64,
        DType::I32 => value as i32 as u64,
        DType::I64 => value as i64 as u64,
        DType::U8 => u64::from(value as u8),
        DType::U16 => u64::from(value as u16),
        DType::U32 => u64::from(value as u32),
        _ => value as u64,
    };
    Const { ty, bits, imag: 0 }
}

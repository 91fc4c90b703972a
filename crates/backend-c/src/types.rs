//! Element types and constants as C writes them.
//!
//! `DType::C128` is `double complex`; the constant 0.1 of type `F32` is `0.1f`; the smallest `I64` is `INT64_MIN`. `F16`
//! and `BF16`, which are only stored, are their bits: `uint16_t`.

use lacunar_formats::{DType, Kind};
use lacunar_imp::Const;

/// The type in C.
pub fn c_type(ty: DType) -> &'static str {
    match ty {
        // There are no arrays or variables of the latter.
        DType::Bool | DType::Pattern => "bool",
        DType::I8 => "int8_t",
        DType::I16 => "int16_t",
        DType::I32 => "int32_t",
        DType::I64 => "int64_t",
        DType::U8 => "uint8_t",
        DType::U16 => "uint16_t",
        DType::U32 => "uint32_t",
        DType::U64 => "uint64_t",
        DType::F16 | DType::BF16 => "uint16_t",
        DType::F32 => "float",
        DType::F64 => "double",
        DType::C64 => "float complex",
        DType::C128 => "double complex",
    }
}

/// The type in a header, which C and C++ read: complex numbers have names of their own there.
pub fn header_type(ty: DType) -> &'static str {
    match ty {
        DType::C64 => "lacunar_c64",
        DType::C128 => "lacunar_c128",
        ty => c_type(ty),
    }
}

/// The unsigned integer type of the same width, for arithmetic that wraps. Types of less than 32 bits take 32: C would
/// widen them to `int`, whose products can overflow.
pub fn wrapping_type(ty: DType) -> &'static str {
    if ty.size() == 8 { "uint64_t" } else { "uint32_t" }
}

/// The least and the greatest value of an integer type, as mathematical integers.
pub fn integer_range(ty: DType) -> (i128, i128) {
    let bits = 8 * ty.size() as u32;
    if ty.kind() == Kind::Signed { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
}

/// The value of a constant of integer type or `Bool`.
pub fn integer_value(constant: Const) -> i128 {
    match constant.ty {
        DType::Bool => i128::from(constant.bits != 0),
        DType::I8 => i128::from(constant.bits as i8),
        DType::I16 => i128::from(constant.bits as i16),
        DType::I32 => i128::from(constant.bits as i32),
        DType::I64 => i128::from(constant.bits as i64),
        DType::U8 => i128::from(constant.bits as u8),
        DType::U16 => i128::from(constant.bits as u16),
        DType::U32 => i128::from(constant.bits as u32),
        _ => i128::from(constant.bits),
    }
}

/// A constant as a literal, and a flag that is true if that is a single token (`-5` is two).
pub fn literal(constant: Const) -> (String, bool) {
    match constant.ty.kind() {
        _ if constant.ty.is_storage() => (format!("0x{:04x}", constant.bits), true),
        Kind::Bool => ((if constant.bits != 0 { "true" } else { "false" }).to_string(), true),
        Kind::Real => real_literal(constant.ty, constant.bits),
        Kind::Complex => {
            let part = constant.ty.part();
            let (re, im) = (real_literal(part, constant.bits).0, real_literal(part, constant.imag).0);
            (format!("lac_make_{}({re}, {im})", constant.ty), true)
        }
        Kind::Signed | Kind::Unsigned => integer_literal(constant.ty, integer_value(constant)),
    }
}

/// An integer of type `ty`. Small ones of signed types are plain numbers (of type `int`).
fn integer_literal(ty: DType, value: i128) -> (String, bool) {
    let small = i32::try_from(value).is_ok_and(|value| value != i32::MIN);
    match ty {
        DType::I32 if !small => ("INT32_MIN".to_string(), true),
        DType::I64 if value == i128::from(i64::MIN) => ("INT64_MIN".to_string(), true),
        DType::I64 if !small => {
            (format!("{}INT64_C({})", if value < 0 { "-" } else { "" }, value.unsigned_abs()), value >= 0)
        }
        DType::U32 => (format!("{value}u"), true),
        DType::U64 => (format!("UINT64_C({value})"), true),
        _ => (value.to_string(), value >= 0),
    }
}

fn real_literal(ty: DType, bits: u64) -> (String, bool) {
    let (value, digits) = if ty == DType::F32 {
        let value = f32::from_bits(bits as u32);
        (f64::from(value), format!("{:?}f", value.abs()))
    } else {
        let value = f64::from_bits(bits);
        (value, format!("{:?}", value.abs()))
    };
    let magnitude = if value.is_nan() {
        return ("NAN".to_string(), true);
    } else if value.is_infinite() {
        "INFINITY".to_string()
    } else {
        digits
    };
    if value.is_sign_negative() { (format!("-{magnitude}"), false) } else { (magnitude, true) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals() {
        let text = |constant| literal(constant).0;
        assert_eq!(text(Const::int(DType::I64, 5)), "5");
        assert_eq!(text(Const::int(DType::I64, i64::MIN)), "INT64_MIN");
        assert_eq!(text(Const::int(DType::I64, -1 << 40)), "-INT64_C(1099511627776)");
        assert_eq!(text(Const::int(DType::I32, i64::from(i32::MIN))), "INT32_MIN");
        assert_eq!(text(Const::int(DType::U64, -1)), "UINT64_C(18446744073709551615)");
        assert_eq!(text(Const::int(DType::U8, -1)), "255");
        assert_eq!(text(Const::real(DType::F32, 0.1)), "0.1f");
        assert_eq!(text(Const::real(DType::F64, -0.0)), "-0.0");
        assert_eq!(text(Const::real(DType::F64, 1e300)), "1e300");
        assert_eq!(text(Const::real(DType::F64, f64::NEG_INFINITY)), "-INFINITY");
        assert_eq!(text(Const::complex(DType::C64, 1.0, -2.5)), "lac_make_c64(1.0f, -2.5f)");
        assert_eq!(integer_range(DType::I8), (-128, 127));
        assert_eq!(integer_range(DType::U64), (0, i128::from(u64::MAX)));
    }
}

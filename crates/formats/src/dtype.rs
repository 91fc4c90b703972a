//! Element types: the possible values of a tensor, and the common type of two.
//!
//! The promotion rules are NumPy's (`numpy.result_type` on array types): the kind order is
//! bool < unsigned < signed < real < complex; within a kind the wider wins; mixing signed and
//! unsigned takes the smallest signed type that holds both (`u64` with a signed type gives `f64`);
//! integers of more than 16 bits with `f32` give `f64`, and so on.
//!
//! Some types are for *storage*: `f16` and `bf16` are read as `f32`, which arithmetic is done in, and written rounded to the
//! nearest, ties to even ([`DType::arithmetic`]). They mix as NumPy's `float16` does (and `bfloat16` likewise); with each other
//! they give `f32`. Elements of type `pattern` take no memory: a stored element is one, as in a Matrix Market file of that field,
//! and read as a `bool`. They mix as `bool` does.
//!
//! ```
//! use lacunar_formats::DType;
//! assert_eq!(DType::promote(DType::I32, DType::F32), DType::F64);
//! assert_eq!(DType::promote(DType::U8, DType::I8), DType::I16);
//! assert_eq!(DType::parse("double"), Some(DType::F64));
//! assert_eq!(DType::promote(DType::F16, DType::I8), DType::F16);
//! assert_eq!(DType::promote(DType::F16, DType::BF16), DType::F32);
//! assert_eq!(DType::F16.arithmetic(), DType::F32);
//! assert_eq!((DType::Pattern.size(), DType::Pattern.arithmetic()), (0, DType::Bool));
//! ```

use std::fmt;

/// The type of one element of a tensor, of a coordinate array, or of a scalar in a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DType {
    /// Boolean: one byte, 0 or 1. Addition is `or`, multiplication is `and`.
    Bool,
    /// Signed 8-bit integer. Integer arithmetic wraps, as in NumPy.
    I8,
    /// Signed 16-bit integer.
    I16,
    /// Signed 32-bit integer.
    I32,
    /// Signed 64-bit integer.
    I64,
    /// Unsigned 8-bit integer.
    U8,
    /// Unsigned 16-bit integer.
    U16,
    /// Unsigned 32-bit integer.
    U32,
    /// Unsigned 64-bit integer.
    U64,
    /// IEEE 754 binary16, for storage.
    F16,
    /// The upper half of a binary32, for storage.
    BF16,
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary64.
    F64,
    /// Two `f32`: real, imaginary.
    C64,
    /// Two `f64`: real, imaginary.
    C128,
    /// No bits: an element that is stored is one. For storage.
    Pattern,
}

/// An element of type [`DType::Pattern`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct One;

/// The kind of an element type, in promotion order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// `bool`, `pattern`
    Bool,
    /// `u8` to `u64`
    Unsigned,
    /// `i8` to `i64`
    Signed,
    /// `f16` to `f64`
    Real,
    /// `c64`, `c128`
    Complex,
}

impl DType {
    /// Every element type, in declaration order.
    pub const ALL: [DType; 16] = [
        DType::Bool,
        DType::I8,
        DType::I16,
        DType::I32,
        DType::I64,
        DType::U8,
        DType::U16,
        DType::U32,
        DType::U64,
        DType::F16,
        DType::BF16,
        DType::F32,
        DType::F64,
        DType::C64,
        DType::C128,
        DType::Pattern,
    ];

    /// The size of one element in bytes.
    #[inline]
    pub const fn size(self) -> usize {
        match self {
            DType::Bool | DType::I8 | DType::U8 => 1,
            DType::I16 | DType::U16 | DType::F16 | DType::BF16 => 2,
            DType::I32 | DType::U32 | DType::F32 => 4,
            DType::I64 | DType::U64 | DType::F64 | DType::C64 => 8,
            DType::C128 => 16,
            DType::Pattern => 0,
        }
    }

    /// The kind of the type.
    pub const fn kind(self) -> Kind {
        match self {
            DType::Bool | DType::Pattern => Kind::Bool,
            DType::U8 | DType::U16 | DType::U32 | DType::U64 => Kind::Unsigned,
            DType::I8 | DType::I16 | DType::I32 | DType::I64 => Kind::Signed,
            DType::F16 | DType::BF16 | DType::F32 | DType::F64 => Kind::Real,
            DType::C64 | DType::C128 => Kind::Complex,
        }
    }

    /// True if the type is a signed or unsigned integer (not `bool`).
    pub const fn is_integer(self) -> bool {
        matches!(self.kind(), Kind::Signed | Kind::Unsigned)
    }

    /// True if the type is real: `f16`, `bf16`, `f32` or `f64`.
    pub const fn is_real(self) -> bool {
        matches!(self.kind(), Kind::Real)
    }

    /// True if the type is `c64` or `c128`.
    pub const fn is_complex(self) -> bool {
        matches!(self.kind(), Kind::Complex)
    }

    /// True if the type is real or complex floating point.
    pub const fn is_float(self) -> bool {
        self.is_real() || self.is_complex()
    }

    /// The type of the real and imaginary part of a complex type; the type itself otherwise.
    pub const fn part(self) -> DType {
        match self {
            DType::C64 => DType::F32,
            DType::C128 => DType::F64,
            other => other,
        }
    }

    /// The type that operations on elements of this type are done in: `f32` for `f16` and `bf16`, `bool` for
    /// `pattern`, the type itself otherwise.
    pub const fn arithmetic(self) -> DType {
        match self {
            DType::F16 | DType::BF16 => DType::F32,
            DType::Pattern => DType::Bool,
            other => other,
        }
    }

    /// True if elements of the type are only stored, and converted for every operation.
    pub const fn is_storage(self) -> bool {
        matches!(self, DType::F16 | DType::BF16 | DType::Pattern)
    }

    /// The name in the command line, in printed notation and in the imperative IR.
    pub const fn name(self) -> &'static str {
        match self {
            DType::Bool => "bool",
            DType::I8 => "i8",
            DType::I16 => "i16",
            DType::I32 => "i32",
            DType::I64 => "i64",
            DType::U8 => "u8",
            DType::U16 => "u16",
            DType::U32 => "u32",
            DType::U64 => "u64",
            DType::F16 => "f16",
            DType::BF16 => "bf16",
            DType::F32 => "f32",
            DType::F64 => "f64",
            DType::C64 => "c64",
            DType::C128 => "c128",
            DType::Pattern => "pattern",
        }
    }

    /// Reads a type's name: ours, C's and taco's (`double`, `int32_t`, `complex-double`), NumPy's (`float64`).
    pub fn parse(text: &str) -> Option<DType> {
        Some(match text.trim() {
            "bool" | "bool_" | "_Bool" => DType::Bool,
            "i8" | "int8" | "int8_t" | "signed char" => DType::I8,
            "i16" | "int16" | "int16_t" | "short" => DType::I16,
            "i32" | "int32" | "int32_t" | "int" => DType::I32,
            "i64" | "int64" | "int64_t" | "long" | "long long" => DType::I64,
            "u8" | "uint8" | "uint8_t" | "unsigned char" | "uchar" => DType::U8,
            "u16" | "uint16" | "uint16_t" | "unsigned short" | "ushort" => DType::U16,
            "u32" | "uint32" | "uint32_t" | "unsigned int" | "unsigned" | "uint" => DType::U32,
            "u64" | "uint64" | "uint64_t" | "unsigned long" | "ulong" | "unsigned long long" => DType::U64,
            "f16" | "float16" | "_Float16" => DType::F16,
            "bf16" | "bfloat16" | "__bf16" => DType::BF16,
            "f32" | "float32" | "float" | "single" => DType::F32,
            "f64" | "float64" | "double" => DType::F64,
            "c64" | "complex64" | "complex-float" | "float complex" | "complex-single" => DType::C64,
            "c128" | "complex128" | "complex-double" | "double complex" | "complex" => DType::C128,
            "pattern" => DType::Pattern,
            _ => return None,
        })
    }

    /// The type that holds both, as `numpy.result_type` answers for two array types.
    pub fn promote(a: DType, b: DType) -> DType {
        let of_value = |dtype| if dtype == DType::Pattern { DType::Bool } else { dtype };
        let (a, b) = (of_value(a), of_value(b));
        if a == b {
            return a;
        }
        let (low, high) = if a.kind() <= b.kind() { (a, b) } else { (b, a) };
        match (low.kind(), high.kind()) {
            (Kind::Bool, _) => high,
            // Neither type holds the values of the other.
            (Kind::Real, Kind::Real) if a.is_storage() && b.is_storage() => DType::F32,
            (Kind::Unsigned, Kind::Unsigned)
            | (Kind::Signed, Kind::Signed)
            | (Kind::Real, Kind::Real)
            | (Kind::Complex, Kind::Complex) => {
                if a.size() >= b.size() {
                    a
                } else {
                    b
                }
            }
            (Kind::Unsigned, Kind::Signed) => match low {
                DType::U8 => widen_signed(high, 2),
                DType::U16 => widen_signed(high, 4),
                DType::U32 => DType::I64,
                _ => DType::F64,
            },
            (Kind::Unsigned | Kind::Signed, Kind::Real) => match low.size() {
                1 => high,
                2 => DType::promote(high, DType::F32),
                _ => DType::F64,
            },
            (Kind::Unsigned | Kind::Signed, Kind::Complex) => {
                if low.size() <= 2 {
                    high
                } else {
                    DType::C128
                }
            }
            (Kind::Real, Kind::Complex) => {
                if low.size() <= DType::F32.size() {
                    high
                } else {
                    DType::C128
                }
            }
            _ => high,
        }
    }

    /// True if a value of type `self` may be assigned to a tensor of type `to`: any widening, and any narrowing inside or up the
    /// kind order; a complex value does not go into a real tensor, nor a real one into an integer tensor (NumPy's `same_kind`), and
    /// integers of either sign mix. A pattern takes the places of values of any type.
    pub fn can_assign_to(self, to: DType) -> bool {
        to == DType::Pattern || self.kind() <= to.kind() || (self.is_integer() && to.is_integer())
    }
}

fn widen_signed(signed: DType, at_least: usize) -> DType {
    match signed.size().max(at_least) {
        1 => DType::I8,
        2 => DType::I16,
        4 => DType::I32,
        _ => DType::I64,
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

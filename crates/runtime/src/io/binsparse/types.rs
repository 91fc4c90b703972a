//! The names of element types: `float64`, `complex[float32]`, `iso[bint8]`.
//!
//! A complex number is two neighbors in an array of reals; in an `iso` array, one value stands for all. `bint8` is a byte with a
//! truth value. There is no type for reals of 16 bits: they are written as `float32`, which holds them exactly.

use lacunar_formats::DType;

/// The types of arrays.
const NAMES: [(&str, DType); 11] = [
    ("uint8", DType::U8),
    ("uint16", DType::U16),
    ("uint32", DType::U32),
    ("uint64", DType::U64),
    ("int8", DType::I8),
    ("int16", DType::I16),
    ("int32", DType::I32),
    ("int64", DType::I64),
    ("float32", DType::F32),
    ("float64", DType::F64),
    ("bint8", DType::Bool),
];

/// The type of an array of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ValueType {
    /// The type of the numbers in the array; of complex numbers, the type of their parts.
    pub(super) stored: DType,
    /// True if two neighbors are one number.
    pub(super) complex: bool,
    /// True if one value stands for all.
    pub(super) iso: bool,
}

impl ValueType {
    /// The type of a name.
    pub(super) fn named(name: &str) -> Option<ValueType> {
        let inside = |name: &'_ str, word: &str| {
            Some(name.strip_prefix(word)?.strip_prefix('[')?.strip_suffix(']')?.to_string())
        };
        let (name, iso) = inside(name, "iso").map_or((name.to_string(), false), |name| (name, true));
        let (name, complex) = inside(&name, "complex").map_or((name, false), |name| (name, true));
        let stored = NAMES.iter().find(|(known, _)| *known == name)?.1;
        let fits = !complex || matches!(stored, DType::F32 | DType::F64);
        fits.then_some(ValueType { stored, complex, iso })
    }

    /// The type that elements are written in; the elements of a pattern are written as one value.
    pub(super) fn of(dtype: DType) -> ValueType {
        let (stored, complex, iso) = match dtype {
            DType::F16 | DType::BF16 => (DType::F32, false, false),
            DType::C64 => (DType::F32, true, false),
            DType::C128 => (DType::F64, true, false),
            DType::Pattern => (DType::Bool, false, true),
            other => (other, false, false),
        };
        ValueType { stored, complex, iso }
    }

    /// The name in the specification.
    pub(super) fn name(self) -> String {
        let name = NAMES.iter().find(|(_, dtype)| *dtype == self.stored).map_or("", |(name, _)| name);
        let name = if self.complex { format!("complex[{name}]") } else { name.to_string() };
        if self.iso { format!("iso[{name}]") } else { name }
    }
}

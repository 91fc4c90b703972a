//! Elements as plain words of their size, for work in which only sums depend on the type of the values.
//!
//! Sorting, packing and converting move values about. The loops that do so are compiled for each size of elements, and
//! not for each of the element types ([`with_word`](crate::dispatch::with_word)). If entries have one coordinate, their
//! values are added up by a function that is chosen by the type.
//!
//! Sums: booleans by or. The elements of a pattern are one. Integers wrap, as in NumPy. Real and complex numbers add;
//! `f16` and `bf16` as `f32`, rounded.
//!
//! ```text
//! f32 1.5 is the word 3fc00000; sum(F32)(3fc00000, 40000000) = 40600000, which is 3.5
//! ```

use half::{bf16, f16};
use lacunar_formats::{DType, Kind, One, Scalar};

use crate::array::Plain;

/// The sum of two words of a type.
pub type Sum<V> = fn(V, V) -> V;

/// A word as large as elements of some types, and no stricter aligned than these.
pub trait Word: Plain + Default + PartialEq {
    /// The word of a scalar of this size.
    fn of(scalar: Scalar) -> Self;
    /// The scalar of a type of this size.
    fn scalar(self, ty: DType) -> Scalar;
    /// Exclusive or.
    fn xor(self, other: Self) -> Self;
    /// The function that adds up elements of a type of this size.
    fn sum(ty: DType) -> Sum<Self>;
}

/// The bits of an integer or of a real number as a scalar.
fn scalar(ty: DType, unsigned: u64, signed: i64) -> Scalar {
    let bits = if ty.kind() == Kind::Signed { signed as u64 } else { unsigned };
    Scalar { ty, bits, imag: 0 }
}

macro_rules! words {
    ($($word:ident $signed:ident: $($ty:ident $sum:expr),*;)*) => { $(
        impl Word for $word {
            fn of(scalar: Scalar) -> $word {
                scalar.bits as $word
            }
            fn scalar(self, ty: DType) -> Scalar {
                scalar(ty, u64::from(self), i64::from(self as $signed))
            }
            fn xor(self, other: $word) -> $word {
                self ^ other
            }
            fn sum(ty: DType) -> Sum<$word> {
                match ty {
                    $(DType::$ty => $sum,)*
                    _ => $word::wrapping_add,
                }
            }
        }
    )* };
}
words! {
    u8 i8: Bool |a, b| a | b;
    u16 i16: F16 |a, b| (f16::from_bits(a) + f16::from_bits(b)).to_bits(),
        BF16 |a, b| (bf16::from_bits(a) + bf16::from_bits(b)).to_bits();
    u32 i32: F32 |a, b| (f32::from_bits(a) + f32::from_bits(b)).to_bits();
}

/// Two halves as the number whose memory they are.
fn whole(halves: [u32; 2]) -> u64 {
    let [[a, b, c, d], [e, f, g, h]] = halves.map(u32::to_ne_bytes);
    u64::from_ne_bytes([a, b, c, d, e, f, g, h])
}

/// The memory of a number, in two halves.
fn halves(whole: u64) -> [u32; 2] {
    let [a, b, c, d, e, f, g, h] = whole.to_ne_bytes();
    [u32::from_ne_bytes([a, b, c, d]), u32::from_ne_bytes([e, f, g, h])]
}

impl Word for [u32; 2] {
    fn of(scalar: Scalar) -> [u32; 2] {
        if scalar.ty == DType::C64 { [scalar.bits as u32, scalar.imag as u32] } else { halves(scalar.bits) }
    }
    fn scalar(self, ty: DType) -> Scalar {
        match ty {
            DType::C64 => Scalar { ty, bits: u64::from(self[0]), imag: u64::from(self[1]) },
            _ => scalar(ty, whole(self), whole(self) as i64),
        }
    }
    fn xor(self, other: [u32; 2]) -> [u32; 2] {
        [self[0] ^ other[0], self[1] ^ other[1]]
    }
    fn sum(ty: DType) -> Sum<[u32; 2]> {
        match ty {
            DType::F64 => |a, b| halves((f64::from_bits(whole(a)) + f64::from_bits(whole(b))).to_bits()),
            DType::C64 => |a, b| [0, 1].map(|part| (f32::from_bits(a[part]) + f32::from_bits(b[part])).to_bits()),
            _ => |a, b| halves(whole(a).wrapping_add(whole(b))),
        }
    }
}

impl Word for [u64; 2] {
    fn of(scalar: Scalar) -> [u64; 2] {
        [scalar.bits, scalar.imag]
    }
    fn scalar(self, ty: DType) -> Scalar {
        Scalar { ty, bits: self[0], imag: self[1] }
    }
    fn xor(self, other: [u64; 2]) -> [u64; 2] {
        [self[0] ^ other[0], self[1] ^ other[1]]
    }
    fn sum(_: DType) -> Sum<[u64; 2]> {
        |a, b| [0, 1].map(|part| (f64::from_bits(a[part]) + f64::from_bits(b[part])).to_bits())
    }
}

/// A pattern has no values to fill up with: elements that it does not store are 0.
impl Word for One {
    fn of(_: Scalar) -> One {
        One
    }
    fn scalar(self, ty: DType) -> Scalar {
        Scalar::zero(ty)
    }
    fn xor(self, _: One) -> One {
        One
    }
    fn sum(_: DType) -> Sum<One> {
        |_, _| One
    }
}

//! The integers that entries are sorted by: the coordinates of an entry, packed into 32, 64 or 128 bits (see [`crate::keys`]).

use crate::array::Plain;

/// An integer that holds the packed coordinates of an entry.
pub trait Key: Plain + Ord + std::fmt::Debug {
    /// Zero.
    const ZERO: Self;
    /// True if keys like this are worth loops of their own.
    const FREQUENT: bool;
    /// The lowest bits of `self >> shift`, as many as `mask` has ones.
    fn digit(self, shift: u32, mask: u64) -> u64;
    /// `self`, with the bits of `coordinate` put in at `shift`.
    fn with(self, coordinate: u64, shift: u32) -> Self;
    /// `self >> shift`; 0 if nothing is left.
    fn above(self, shift: u32) -> Self;
    /// The bits that differ.
    fn difference(self, other: Self) -> Self;
    /// The bits that are set in either.
    fn union(self, other: Self) -> Self;
    /// The number of bits up to the highest that is set.
    fn width(self) -> u32;
    /// The sum, which wraps.
    fn plus(self, other: Self) -> Self;
    /// The product, which wraps.
    fn times(self, number: u64) -> Self;
    /// The number that gives 0 when added to `self`.
    fn negative(self) -> Self;
}

macro_rules! keys {
    ($($ty:ty),*) => { $(
        impl Key for $ty {
            const ZERO: $ty = 0;
            const FREQUENT: bool = <$ty>::BITS <= u64::BITS;
            #[inline(always)]
            fn digit(self, shift: u32, mask: u64) -> u64 {
                (self >> shift) as u64 & mask
            }
            #[inline(always)]
            fn with(self, coordinate: u64, shift: u32) -> Self {
                self | (coordinate as $ty) << shift
            }
            #[inline(always)]
            fn above(self, shift: u32) -> Self {
                self.checked_shr(shift).unwrap_or(0)
            }
            #[inline(always)]
            fn difference(self, other: Self) -> Self {
                self ^ other
            }
            #[inline(always)]
            fn union(self, other: Self) -> Self {
                self | other
            }
            fn width(self) -> u32 {
                <$ty>::BITS - self.leading_zeros()
            }
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn times(self, number: u64) -> Self {
                self.wrapping_mul(number as $ty)
            }
            #[inline(always)]
            fn negative(self) -> Self {
                self.wrapping_neg()
            }
        }
    )* };
}
keys!(u32, u64, u128);

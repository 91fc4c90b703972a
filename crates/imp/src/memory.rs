//! The memory that the interpreter runs a function on: one typed vector an array, one number a scalar parameter.
//!
//! ```
//! use lacunar_imp::{ArrayData, Memory};
//! let memory = Memory { arrays: vec![vec![1.0, 2.0].into(), vec![7u32].into()], scalars: vec![2] };
//! assert_eq!(memory.arrays[0], ArrayData::F64(vec![1.0, 2.0]));
//! assert_eq!(memory.arrays[1].len(), 1);
//! ```

use std::collections::TryReserveError;

use half::{bf16, f16};
use lacunar_formats::{DType, One};
use num_complex::Complex;

use crate::ir::Const;

/// The memory that a function is run on and leaves behind.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Memory {
    /// The array parameters, in the order of the parameters. Grown arrays come in empty and go out with their content.
    pub arrays: Vec<ArrayData>,
    /// The scalar parameters, in the order of the parameters.
    pub scalars: Vec<i64>,
}

/// A Rust type of elements, to and from the IR's values.
trait Element: Copy + Default {
    fn to_const(self, ty: DType) -> Const;
    fn from_const(value: Const) -> Self;
}

macro_rules! integer_element {
    ($($ty:ty),*) => { $(
        impl Element for $ty {
            fn to_const(self, ty: DType) -> Const {
                Const { ty, bits: self as u64, imag: 0 }
            }
            fn from_const(value: Const) -> Self {
                value.bits as $ty
            }
        }
    )* };
}
integer_element!(i8, i16, i32, i64, u8, u16, u32, u64);

impl Element for bool {
    fn to_const(self, _: DType) -> Const {
        Const::bool(self)
    }
    fn from_const(value: Const) -> Self {
        value.bits != 0
    }
}

macro_rules! half_element {
    ($($ty:ty),*) => { $(
        impl Element for $ty {
            fn to_const(self, ty: DType) -> Const {
                Const { ty, bits: u64::from(self.to_bits()), imag: 0 }
            }
            fn from_const(value: Const) -> Self {
                <$ty>::from_bits(value.bits as u16)
            }
        }
    )* };
}
half_element!(f16, bf16);

/// No array has such elements; the verifier refuses them.
impl Element for One {
    fn to_const(self, _: DType) -> Const {
        Const::bool(true)
    }
    fn from_const(_: Const) -> Self {
        One
    }
}

impl Element for f32 {
    fn to_const(self, ty: DType) -> Const {
        Const { ty, bits: u64::from(self.to_bits()), imag: 0 }
    }
    fn from_const(value: Const) -> Self {
        f32::from_bits(value.bits as u32)
    }
}

impl Element for f64 {
    fn to_const(self, ty: DType) -> Const {
        Const { ty, bits: self.to_bits(), imag: 0 }
    }
    fn from_const(value: Const) -> Self {
        f64::from_bits(value.bits)
    }
}

impl Element for Complex<f32> {
    fn to_const(self, ty: DType) -> Const {
        Const { ty, bits: u64::from(self.re.to_bits()), imag: u64::from(self.im.to_bits()) }
    }
    fn from_const(value: Const) -> Self {
        Complex::new(f32::from_bits(value.bits as u32), f32::from_bits(value.imag as u32))
    }
}

impl Element for Complex<f64> {
    fn to_const(self, ty: DType) -> Const {
        Const { ty, bits: self.re.to_bits(), imag: self.im.to_bits() }
    }
    fn from_const(value: Const) -> Self {
        Complex::new(f64::from_bits(value.bits), f64::from_bits(value.imag))
    }
}

macro_rules! array_data {
    ($($variant:ident $ty:ty),* $(,)?) => {
        /// The elements of an array.
        #[derive(Clone, Debug, PartialEq)]
        pub enum ArrayData {
            $(
                #[doc = concat!("Elements of type `", stringify!($variant), "`.")]
                $variant(Vec<$ty>),
            )*
        }

        impl ArrayData {
            /// No elements.
            pub fn empty(ty: DType) -> ArrayData {
                match ty { $(DType::$variant => ArrayData::$variant(Vec::new()),)* }
            }

            /// The type of the elements.
            pub fn dtype(&self) -> DType {
                match self { $(ArrayData::$variant(_) => DType::$variant,)* }
            }

            /// The number of elements.
            pub fn len(&self) -> usize {
                match self { $(ArrayData::$variant(v) => v.len(),)* }
            }

            /// An element; `None` outside the array.
            pub fn get(&self, index: usize) -> Option<Const> {
                match self { $(ArrayData::$variant(v) => v.get(index).map(|x| x.to_const(DType::$variant)),)* }
            }

            /// Replaces an element by a value of the array's type; false outside the array.
            pub fn set(&mut self, index: usize, value: Const) -> bool {
                match self { $(
                    ArrayData::$variant(v) => v.get_mut(index).map(|x| *x = <$ty>::from_const(value)).is_some(),
                )* }
            }

            /// Drops the elements from `len` on.
            pub fn truncate(&mut self, len: usize) {
                match self { $(ArrayData::$variant(v) => v.truncate(len),)* }
            }

            /// Makes the array longer or shorter; new elements are zero.
            pub fn resize(&mut self, len: usize) -> Result<(), TryReserveError> {
                match self { $(
                    ArrayData::$variant(v) => {
                        v.try_reserve(len.saturating_sub(v.len()))?;
                        v.resize(len, <$ty>::default());
                    }
                )* }
                Ok(())
            }
        }

        $(
            impl From<Vec<$ty>> for ArrayData {
                fn from(elements: Vec<$ty>) -> ArrayData {
                    ArrayData::$variant(elements)
                }
            }
        )*
    };
}

array_data! {
    Bool bool, I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64,
    F16 f16, BF16 bf16, F32 f32, F64 f64, C64 Complex<f32>, C128 Complex<f64>, Pattern One,
}

impl ArrayData {
    /// True if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// `len` zeros.
    pub fn zeros(ty: DType, len: usize) -> Result<ArrayData, TryReserveError> {
        let mut data = ArrayData::empty(ty);
        data.resize(len)?;
        Ok(data)
    }

    /// An array of the given values, each of type `ty`.
    pub fn from_values(ty: DType, values: &[Const]) -> Result<ArrayData, TryReserveError> {
        let mut data = ArrayData::zeros(ty, values.len())?;
        for (k, &value) in values.iter().enumerate() {
            data.set(k, value);
        }
        Ok(data)
    }
}

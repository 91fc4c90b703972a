//! Values of any element type, owned: the typed vectors behind coordinate lists and files.

use half::{bf16, f16};
use lacunar_formats::{DType, One};
use num_complex::Complex;

use crate::array::Plain;
use crate::scalars::ScalarBits;

/// A Rust type that is an element type of tensors.
///
/// Sealed: implemented for `bool`, the integers of 8 to 64 bits, `f16`, `bf16`, `f32`, `f64` the complex forms of the last two, and
/// [`One`], of which a tensor stores the places only.
pub trait Element: Plain + Default + PartialEq + std::fmt::Debug + ScalarBits {
    /// The element type's name at run time.
    const DTYPE: DType;
    /// Wraps a vector.
    fn wrap(values: Vec<Self>) -> Values;
    /// The vector inside, if it is of this type.
    fn unwrap(values: &Values) -> Option<&Vec<Self>>;
    /// The vector inside, if it is of this type.
    fn unwrap_mut(values: &mut Values) -> Option<&mut Vec<Self>>;
}

macro_rules! values {
    ($($variant:ident $ty:ty),* $(,)?) => {
        /// A vector of values of one element type.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Values {
            $(
                #[doc = concat!("Values of type `", stringify!($variant), "`.")]
                $variant(Vec<$ty>),
            )*
        }

        impl Values {
            /// No values.
            pub fn empty(dtype: DType) -> Values {
                match dtype { $(DType::$variant => Values::$variant(Vec::new()),)* }
            }

            /// `len` zeros; ones, of a pattern.
            pub fn zeros(dtype: DType, len: usize) -> Values {
                match dtype { $(DType::$variant => Values::$variant(vec![<$ty>::default(); len]),)* }
            }

            /// The element type.
            pub fn dtype(&self) -> DType {
                match self { $(Values::$variant(_) => DType::$variant,)* }
            }

            /// The number of values.
            pub fn len(&self) -> usize {
                match self { $(Values::$variant(v) => v.len(),)* }
            }

            /// True if there are none.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }
        }

        $(
            impl Element for $ty {
                const DTYPE: DType = DType::$variant;
                fn wrap(values: Vec<Self>) -> Values {
                    Values::$variant(values)
                }
                fn unwrap(values: &Values) -> Option<&Vec<Self>> {
                    match values { Values::$variant(v) => Some(v), _ => None }
                }
                fn unwrap_mut(values: &mut Values) -> Option<&mut Vec<Self>> {
                    match values { Values::$variant(v) => Some(v), _ => None }
                }
            }
        )*
    };
}

values! {
    Bool bool, I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64,
    F16 f16, BF16 bf16, F32 f32, F64 f64, C64 Complex<f32>, C128 Complex<f64>, Pattern One,
}

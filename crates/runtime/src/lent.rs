//! Tensors over arrays that somebody else keeps, for a while: a slice becomes an operand without a copy.
//!
//! The memory of a [`Lent`] tensor is the lender's for as long as the borrow says, and everything made of the tensor (a
//! clone, a conversion, a result) has memory of its own. So nothing that may outlive the arrays gets hold of them.
//!
//! ```
//! use lacunar_runtime::Lent;
//! let values = vec![1.0, 2.0, 3.0];
//! let vector = Lent::vector(&values).unwrap();
//! assert_eq!(vector.values().as_ptr(), values.as_ptr().cast());
//! let copy = vector.clone();
//! assert_ne!(copy.values().as_ptr(), values.as_ptr().cast());
//! ```

#![allow(unsafe_code)]

use std::any::TypeId;
use std::marker::PhantomData;
use std::ops::Deref;

use lacunar_formats::{Format, LevelKind};

use crate::buffer::Buffer;
use crate::error::StorageError;
use crate::storage::LevelStorage;
use crate::tensor::Tensor;
use crate::values::Element;

/// An array of a tensor whose memory is somebody else's during `'a`.
#[derive(Debug)]
pub struct LentArray<'a> {
    buffer: Buffer,
    memory: PhantomData<&'a [u8]>,
}

impl<'a> LentArray<'a> {
    /// The elements of a slice, not copied.
    pub fn of<T: Element>(slice: &'a [T]) -> LentArray<'a> {
        // SAFETY: the buffer stays in this array and in a `Lent` tensor of the same lifetime, which never give it away.
        LentArray { buffer: unsafe { Buffer::lend(slice) }, memory: PhantomData }
    }

    /// Positions or coordinates of any integer type, not copied; `None` for types that are no integers of 8 to 64 bits.
    ///
    /// ```
    /// use lacunar_runtime::LentArray;
    /// assert!(LentArray::indices(&[1usize, 2]).is_some());
    /// assert!(LentArray::indices(&["1"]).is_none());
    /// ```
    pub fn indices<I: Copy + 'static>(slice: &'a [I]) -> Option<LentArray<'a>> {
        fn same<I: 'static, T: Element>(slice: &[I]) -> Option<LentArray<'_>> {
            // SAFETY: it is the same type.
            let seen = || unsafe { std::slice::from_raw_parts(slice.as_ptr().cast::<T>(), slice.len()) };
            (TypeId::of::<I>() == TypeId::of::<T>()).then(|| LentArray::of(seen()))
        }
        fn wide<I: 'static>(slice: &[I]) -> Option<LentArray<'_>> {
            let is_wide = [TypeId::of::<usize>(), TypeId::of::<isize>()].contains(&TypeId::of::<I>());
            if !is_wide || size_of::<usize>() != size_of::<i64>() {
                return None;
            }
            // SAFETY: both are integers of one size and alignment; negative numbers stay the same.
            Some(LentArray::of(unsafe { std::slice::from_raw_parts(slice.as_ptr().cast::<i64>(), slice.len()) }))
        }
        let unsigned = same::<I, u32>(slice).or_else(|| same::<I, u64>(slice));
        let unsigned = unsigned.or_else(|| same::<I, u16>(slice)).or_else(|| same::<I, u8>(slice));
        let signed = || same::<I, i32>(slice).or_else(|| same::<I, i64>(slice));
        let narrow = || same::<I, i16>(slice).or_else(|| same::<I, i8>(slice));
        wide(slice).or(unsigned).or_else(signed).or_else(narrow)
    }

    /// An array with memory of its own.
    pub fn owned(buffer: Buffer) -> LentArray<'a> {
        LentArray { buffer, memory: PhantomData }
    }
}

/// The numbers of an index array, if they are of type `I`; 64-bit ones are `usize` where that has 64 bits.
///
/// ```
/// use lacunar_runtime::{Buffer, lent::integers};
/// let array = Buffer::from_vec(vec![1u64, 2]);
/// assert_eq!(integers::<usize>(&array), Some(&[1, 2][..]));
/// assert_eq!(integers::<u32>(&array), None);
/// ```
pub fn integers<I: Copy + 'static>(array: &Buffer) -> Option<&[I]> {
    fn same<I: 'static, T: Element>(array: &Buffer) -> Option<&[I]> {
        let word = size_of::<I>() == size_of::<T>() && TypeId::of::<I>() == TypeId::of::<usize>();
        let slice = array.as_slice::<T>().filter(|_| TypeId::of::<I>() == TypeId::of::<T>() || word)?;
        // SAFETY: it is the same type, or both are unsigned integers of one size.
        Some(unsafe { std::slice::from_raw_parts(slice.as_ptr().cast::<I>(), slice.len()) })
    }
    let wide = same::<I, u32>(array).or_else(|| same::<I, u64>(array));
    wide.or_else(|| same::<I, u16>(array)).or_else(|| same::<I, u8>(array))
}

/// A tensor whose arrays may be somebody else's during `'a`. It is used as the [`Tensor`] that it dereferences to.
#[derive(Debug)]
pub struct Lent<'a> {
    tensor: Tensor,
    memory: PhantomData<&'a [u8]>,
}

impl<'a> Lent<'a> {
    /// A dense tensor of order 1.
    ///
    /// # Errors
    /// A dense tensor cannot have elements of this type.
    pub fn vector<T: Element>(values: &'a [T]) -> Result<Lent<'a>, StorageError> {
        Lent::dense(vec![values.len() as u64], &Format::dense(1), values)
    }

    /// A tensor of values in the order of a format whose levels are dense.
    ///
    /// # Errors
    /// The number of values is not the product of the sizes, a level of the format is not dense, or a dense tensor cannot
    /// have elements of this type.
    pub fn dense<T: Element>(dims: Vec<u64>, format: &Format, values: &'a [T]) -> Result<Lent<'a>, StorageError> {
        let size = |mode: &usize| dims.get(*mode).copied().unwrap_or(0);
        let levels = format.mode_order().iter().map(|mode| (LevelKind::DENSE, size(mode), Vec::new())).collect();
        Lent::from_parts(dims, format, levels, LentArray::of(values))
    }

    /// A tensor of the given arrays, checked as [`Tensor::from_parts`] does. Each level has its kind, the size of its
    /// dimension, and its arrays.
    ///
    /// # Errors
    /// The first thing that is wrong with the arrays.
    pub fn from_parts(
        dims: Vec<u64>,
        format: &Format,
        levels: Vec<(LevelKind, u64, Vec<LentArray<'a>>)>,
        values: LentArray<'a>,
    ) -> Result<Lent<'a>, StorageError> {
        let level = |(kind, size, arrays): (LevelKind, u64, Vec<LentArray>)| {
            LevelStorage::new(kind, size, arrays.into_iter().map(|array| array.buffer).collect())
        };
        let levels = levels.into_iter().map(level).collect();
        let tensor = Tensor::from_parts(dims, format, levels, values.buffer)?;
        Ok(Lent { tensor, memory: PhantomData })
    }
}

/// A tensor with memory of its own.
impl From<Tensor> for Lent<'_> {
    fn from(tensor: Tensor) -> Self {
        Lent { tensor, memory: PhantomData }
    }
}

impl Deref for Lent<'_> {
    type Target = Tensor;

    fn deref(&self) -> &Tensor {
        &self.tensor
    }
}

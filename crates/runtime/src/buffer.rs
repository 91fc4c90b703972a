//! Untyped arrays: the values, positions and coordinates of tensors.
//!
//! A buffer knows its element type at run time. It owns its memory (from [`crate::alloc`], as compiled kernels do, so
//! that either side can take over the other's arrays), or it keeps a foreign owner alive and uses its memory without
//! a copy.
//!
//! ```
//! use lacunar_runtime::buffer::Buffer;
//! let mut buffer = Buffer::from_vec(vec![1.0f64, 2.0]);
//! buffer.as_mut_slice::<f64>().unwrap()[0] = 3.0;
//! assert_eq!(buffer.as_slice::<f64>(), Some(&[3.0, 2.0][..]));
//! assert_eq!(buffer.as_slice::<f32>(), None);
//! ```

#![allow(unsafe_code)]

use std::any::Any;
use std::fmt;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::Arc;

use lacunar_formats::{DType, IndexWidth};

use crate::alloc;
use crate::array::{Array, Plain};
use crate::dispatch::{with_element, with_word};
use crate::enumerate::to_vec;
use crate::error::{AllocError, StorageError};
use crate::pages::Pages;
use crate::values::{Element, Values};

/// `len` elements of one element type.
pub struct Buffer {
    /// Start of `len` initialised elements of `dtype`, aligned for it.
    data: NonNull<u8>,
    len: usize,
    dtype: DType,
    owner: Owner,
}

/// The owner of the memory, who frees it.
enum Owner {
    /// The buffer: `data` is a block of `alloc`.
    Block,
    /// The buffer: `data` is the start of such memory.
    Pages(Box<Pages>),
    /// Somebody else, who also allows writing: the buffer is the only user.
    Exclusive(#[expect(dead_code, reason = "kept only to be dropped")] Box<dyn Any + Send + Sync>),
    /// Somebody else, for reading only.
    Shared(Arc<dyn Any + Send + Sync>),
    /// Somebody else, for reading only and as long as this buffer is there: a second one has to be a copy.
    Lent,
}

// SAFETY: elements are plain data, and the owners are `Send + Sync`.
unsafe impl Send for Buffer {}
// SAFETY: shared access only reads.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// `len` zeros.
    ///
    /// # Errors
    /// The system refused the memory.
    pub fn zeroed(dtype: DType, len: u64) -> Result<Buffer, AllocError> {
        Buffer::allocate(dtype, len, true)
    }

    /// `len` elements of any content.
    ///
    /// # Safety
    /// Every element is written before it is read.
    ///
    /// # Errors
    /// The system refused the memory.
    pub unsafe fn uninitialized(dtype: DType, len: u64) -> Result<Buffer, AllocError> {
        Buffer::allocate(dtype, len, false)
    }

    fn allocate(dtype: DType, len: u64, zeroed: bool) -> Result<Buffer, AllocError> {
        let len = usize::try_from(len).map_err(|_| AllocError { bytes: u64::MAX })?;
        let bytes = len.checked_mul(dtype.size()).ok_or(AllocError { bytes: u64::MAX })?;
        let data = alloc::allocate(bytes, zeroed).ok_or(AllocError { bytes: bytes as u64 })?;
        Ok(Buffer { data, len, dtype, owner: Owner::Block })
    }

    /// Takes a vector's memory, without a copy.
    pub fn from_vec<T: Element>(mut vec: Vec<T>) -> Buffer {
        let data = NonNull::new(vec.as_mut_ptr().cast::<u8>()).unwrap_or(NonNull::dangling());
        let len = vec.len();
        Buffer { data, len, dtype: T::DTYPE, owner: Owner::Exclusive(Box::new(vec)) }
    }

    /// Takes the memory of values, without a copy.
    pub fn from_values(values: Values) -> Buffer {
        crate::dispatch::with_values!(values, vec => Buffer::from_vec(vec))
    }

    /// Moves memory that somebody else made to huge pages, if it is large: then kernels read it as fast as ours.
    pub(crate) fn move_to_huge_pages(&mut self) {
        if matches!(self.owner, Owner::Exclusive(_)) {
            alloc::move_to_huge_pages(self.bytes_mut());
        }
    }

    /// A copy of the values.
    ///
    /// # Errors
    /// The system refused the memory.
    pub(crate) fn to_values(&self) -> Result<Values, AllocError> {
        Ok(with_element!(self.dtype, T => T::wrap(to_vec(self.as_slice::<T>().unwrap_or_default())?)))
    }

    /// A copy of a slice.
    ///
    /// # Errors
    /// The system refused the memory.
    pub fn copy_of<T: Element>(slice: &[T]) -> Result<Buffer, AllocError> {
        Ok(Buffer::from_array(Array::copy_of(slice)?))
    }

    /// Takes an array's memory, without a copy.
    pub fn from_array<T: Element>(array: Array<T>) -> Buffer {
        let (data, len) = array.into_raw();
        Buffer { data, len, dtype: T::DTYPE, owner: Owner::Block }
    }

    /// Uses the slice that `view` finds in `owner`, without a copy, for reading. The owner lives as long as the buffer.
    pub fn borrow<T: Element, O: Send + Sync + 'static>(
        owner: Arc<O>,
        view: impl for<'a> FnOnce(&'a O) -> &'a [T],
    ) -> Buffer {
        let slice = view(&owner);
        let (data, len) = (NonNull::from(slice).cast(), slice.len());
        Buffer { data, len, dtype: T::DTYPE, owner: Owner::Shared(owner) }
    }

    /// Uses foreign memory, without a copy, for reading.
    ///
    /// # Safety
    /// `data` points to `len` initialised elements of `dtype`, aligned for it, that nobody writes to while `owner`
    /// lives.
    pub unsafe fn borrow_raw(data: NonNull<u8>, len: usize, dtype: DType, owner: Arc<dyn Any + Send + Sync>) -> Buffer {
        Buffer { data, len, dtype, owner: Owner::Shared(owner) }
    }

    /// Uses the memory of a slice, without a copy, for reading. Nothing made of the buffer shares that memory.
    ///
    /// # Safety
    /// The buffer is dropped before the slice's lifetime ends.
    pub(crate) unsafe fn lend<T: Element>(slice: &[T]) -> Buffer {
        let (data, len) = (NonNull::from(slice).cast(), slice.len());
        Buffer { data, len, dtype: T::DTYPE, owner: Owner::Lent }
    }

    /// Takes over a block of [`crate::alloc`] that holds `len` elements.
    ///
    /// # Safety
    /// `block` came from the allocator, nobody else uses or frees it, and its first `len` elements are initialised
    /// values of `dtype` within its capacity.
    pub unsafe fn from_block(block: NonNull<u8>, len: usize, dtype: DType) -> Buffer {
        Buffer { data: block, len, dtype, owner: Owner::Block }
    }

    /// The block, if the buffer owns one: the caller frees it.
    pub(crate) fn into_block(self) -> Option<NonNull<u8>> {
        match self.owner {
            Owner::Block => {
                let data = self.data;
                std::mem::forget(self);
                Some(data)
            }
            _ => None,
        }
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Bytes of the elements.
    pub fn bytes(&self) -> u64 {
        (self.len * self.dtype.size()) as u64
    }

    /// The number of elements that fit without moving.
    #[inline]
    pub fn capacity(&self) -> usize {
        match &self.owner {
            // SAFETY: the block is ours and not released.
            Owner::Block if self.dtype.size() > 0 => unsafe { alloc::capacity(self.data) / self.dtype.size() },
            Owner::Pages(pages) if self.dtype.size() > 0 => pages.capacity() / self.dtype.size(),
            _ => self.len,
        }
    }

    /// True if memory of its own has room for so many elements in all.
    #[inline]
    pub(crate) fn has_room(&self, len: u64) -> bool {
        let bytes = usize::try_from(len).ok().and_then(|len| len.checked_mul(self.dtype.size()));
        match &self.owner {
            // SAFETY: the block is ours and not released.
            Owner::Block => bytes.is_some_and(|bytes| bytes <= unsafe { alloc::capacity(self.data) }),
            Owner::Pages(pages) => bytes.is_some_and(|bytes| bytes <= pages.capacity()),
            _ => len <= self.len as u64 && !self.is_borrowed(),
        }
    }

    /// True if the memory is somebody else's, for reading only.
    #[inline]
    pub fn is_borrowed(&self) -> bool {
        matches!(self.owner, Owner::Shared(_) | Owner::Lent)
    }

    /// The start of the elements.
    pub fn as_ptr(&self) -> *const u8 {
        self.data.as_ptr()
    }

    /// The start of the elements, for writing; `None` if the buffer is borrowed for reading.
    pub fn as_mut_ptr(&mut self) -> Option<*mut u8> {
        (!self.is_borrowed()).then_some(self.data.as_ptr())
    }

    /// The elements, if they are of type `T`.
    pub fn as_slice<T: Element>(&self) -> Option<&[T]> {
        // SAFETY: the memory holds `len` initialised elements of the type.
        (T::DTYPE == self.dtype).then(|| unsafe { std::slice::from_raw_parts(self.data.as_ptr().cast(), self.len) })
    }

    /// The elements, if they are of type `T` and the buffer is not borrowed.
    pub fn as_mut_slice<T: Element>(&mut self) -> Option<&mut [T]> {
        let writable = T::DTYPE == self.dtype && !self.is_borrowed();
        // SAFETY: as for `as_slice`; the buffer is the only user of memory that is not shared.
        writable.then(|| unsafe { std::slice::from_raw_parts_mut(self.data.as_ptr().cast(), self.len) })
    }

    /// The elements as bytes.
    pub fn as_bytes(&self) -> &[u8] {
        // SAFETY: elements have no padding, and every byte is initialised.
        unsafe { std::slice::from_raw_parts(self.data.as_ptr(), self.len * self.dtype.size()) }
    }

    /// The memory of the elements, for writing; nothing, if the buffer is borrowed for reading. The bytes written have
    /// to be elements in the end.
    pub(crate) fn bytes_mut(&mut self) -> &mut [MaybeUninit<u8>] {
        let len = if self.is_borrowed() { 0 } else { self.len * self.dtype.size() };
        // SAFETY: the memory holds so many bytes, and the buffer is the only user of memory that is not shared.
        unsafe { std::slice::from_raw_parts_mut(self.data.as_ptr().cast(), len) }
    }

    /// The elements as positions or coordinates, if they are of an unsigned type.
    pub fn indices(&self) -> Option<Indices<'_>> {
        let wide = || self.as_slice().map(Indices::U32).or_else(|| self.as_slice().map(Indices::U64));
        wide().or_else(|| self.as_slice().map(Indices::U16)).or_else(|| self.as_slice().map(Indices::U8))
    }

    /// The same memory with the elements read as unsigned: coordinates from libraries that keep them signed.
    /// A negative number becomes one above the signed maximum; who validates the array must refuse those.
    pub fn into_unsigned(mut self) -> Buffer {
        self.dtype = match self.dtype {
            DType::I8 => DType::U8,
            DType::I16 => DType::U16,
            DType::I32 => DType::U32,
            DType::I64 => DType::U64,
            other => other,
        };
        self
    }

    /// Drops the elements from `len` on.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Appends zeros until there are `len` elements, or truncates.
    ///
    /// # Errors
    /// The system refused the memory; the buffer is as it was.
    pub fn resize(&mut self, len: u64) -> Result<(), AllocError> {
        let len = usize::try_from(len).map_err(|_| AllocError { bytes: u64::MAX })?;
        if len <= self.len {
            self.len = len;
            return Ok(());
        }
        let bytes = len.checked_mul(self.dtype.size()).ok_or(AllocError { bytes: u64::MAX })?;
        let used = self.len * self.dtype.size();
        if let Owner::Block = self.owner
            // SAFETY: the block is ours and not released.
            && bytes <= unsafe { alloc::capacity(self.data) }
        {
            // SAFETY: the bytes are within its capacity.
            unsafe { self.data.add(used).write_bytes(0, bytes - used) };
            self.len = len;
            return Ok(());
        }
        if let Owner::Pages(pages) = &mut self.owner {
            if pages.reserve(bytes) {
                pages.clear(used, bytes);
                self.len = len;
                return Ok(());
            }
            *self = self.deep_copy()?;
        }
        self.make_owned()?;
        // SAFETY: `make_owned` made `data` a block of ours, of which `used` bytes are used.
        let grown = unsafe { alloc::grow(self.data, used, bytes, used) };
        self.data = grown.ok_or(AllocError { bytes: bytes as u64 })?;
        self.len = len;
        Ok(())
    }

    /// Makes room for elements, `len` in all, without a change to those that are there.
    ///
    /// # Errors
    /// The system refused the memory; the buffer is as it was.
    pub(crate) fn reserve(&mut self, len: u64) -> Result<(), AllocError> {
        if let Owner::Pages(pages) = &mut self.owner
            && let Some(bytes) = usize::try_from(len).ok().and_then(|len| len.checked_mul(self.dtype.size()))
            && pages.reserve(bytes)
        {
            return Ok(());
        }
        let used = self.len;
        let grown = self.resize(len.max(used as u64));
        self.truncate(used);
        grown
    }

    /// Copies foreign memory into the buffer's own; nothing to do if it is its own already.
    ///
    /// # Errors
    /// The system refused the memory; the buffer is as it was.
    pub fn make_owned(&mut self) -> Result<(), AllocError> {
        if !matches!(self.owner, Owner::Block | Owner::Pages(_)) && !self.take_back() {
            *self = self.deep_copy()?;
        }
        Ok(())
    }

    /// The same for changes of so many elements: if these are few, only the pages that are written to from now on are copied of memory that
    /// was shared with another buffer.
    ///
    /// # Errors
    /// The system refused the memory; the buffer is as it was.
    #[inline]
    pub(crate) fn make_changeable(&mut self, changes: usize) -> Result<(), AllocError> {
        if let Owner::Block = self.owner {
            return Ok(());
        }
        self.take_for_changes(changes)
    }

    /// The same for memory that is not a block of the buffer's own.
    fn take_for_changes(&mut self, changes: usize) -> Result<(), AllocError> {
        if let Owner::Shared(owner) = &self.owner
            && let Some(whole) = owner.downcast_ref::<Buffer>().filter(|whole| whole.data == self.data)
            && Arc::strong_count(owner) > 1
        {
            let version = match &whole.owner {
                Owner::Pages(pages) => pages.version(self.as_bytes().len(), changes),
                _ => Pages::copy_of(self.as_bytes(), changes),
            };
            if let Some(pages) = version {
                self.set_pages(pages);
                return Ok(());
            }
        }
        self.make_owned()
    }

    /// Takes memory of the same content.
    fn set_pages(&mut self, pages: Pages) {
        let (data, len, dtype) = (pages.base(), self.len, self.dtype);
        *self = Buffer { data, len, dtype, owner: Owner::Pages(Box::new(pages)) };
    }

    /// A second buffer that uses the same memory. Either is as if borrowed from now on: whoever writes to it first copies it, unless the
    /// other one is gone by then.
    ///
    /// # Errors
    /// The system refused the memory, for a copy of memory that is lent.
    pub(crate) fn share(&mut self) -> Result<Buffer, AllocError> {
        if let Owner::Block | Owner::Pages(_) | Owner::Exclusive(_) = self.owner {
            let (data, len, dtype) = (self.data, self.len, self.dtype);
            let whole =
                std::mem::replace(self, Buffer { data: NonNull::dangling(), len: 0, dtype, owner: Owner::Lent });
            *self = Buffer { data, len, dtype, owner: Owner::Shared(Arc::new(whole)) };
        }
        self.try_clone()
    }

    /// Takes memory back that was shared with another buffer which is gone; returns true if it did.
    fn take_back(&mut self) -> bool {
        let Owner::Shared(owner) = &self.owner else { return false };
        // Nobody makes another reference in between: this is the last one.
        if Arc::strong_count(owner) > 1 || !owner.is::<Buffer>() {
            return false;
        }
        let (len, dtype) = (self.len, self.dtype);
        let none = Buffer { data: NonNull::dangling(), len: 0, dtype, owner: Owner::Lent };
        let Owner::Shared(owner) = std::mem::replace(&mut std::mem::replace(self, none).owner, Owner::Lent) else {
            return false;
        };
        if let Some(whole) = owner.downcast::<Buffer>().ok().and_then(Arc::into_inner) {
            *self = whole;
            (self.len, self.dtype) = (len, dtype);
        }
        match &self.owner {
            Owner::Block => true,
            // A version that would see the writes may have been made of it meanwhile.
            Owner::Pages(pages) if !pages.is_own() => match pages.version(self.as_bytes().len(), 1) {
                Some(version) => {
                    self.set_pages(version);
                    true
                }
                None => false,
            },
            Owner::Pages(_) => true,
            _ => false,
        }
    }

    /// A second buffer of the same content: shared memory is shared, owned memory is copied.
    ///
    /// # Errors
    /// The system refused the memory.
    pub fn try_clone(&self) -> Result<Buffer, AllocError> {
        match &self.owner {
            Owner::Shared(owner) => {
                let owner = Owner::Shared(Arc::clone(owner));
                Ok(Buffer { data: self.data, len: self.len, dtype: self.dtype, owner })
            }
            _ => self.deep_copy(),
        }
    }

    /// The same elements in memory of the buffer's own.
    ///
    /// # Errors
    /// The system refused the memory.
    pub(crate) fn deep_copy(&self) -> Result<Buffer, AllocError> {
        with_word!(self.dtype, V => Ok(Buffer::from_words(Array::copy_of(self.as_words::<V>())?, self.dtype)))
    }

    /// The same memory, of 8-bit integers, read as `bool`: the form of bool arrays from outside.
    ///
    /// # Errors
    /// [`StorageError::Bool`] with the first byte that is neither 0 nor 1; [`StorageError::Type`] for other types.
    pub fn into_bool(mut self) -> Result<Buffer, StorageError> {
        if !matches!(self.dtype, DType::Bool | DType::U8 | DType::I8) {
            return Err(StorageError::Type { what: "a bool array".into(), found: self.dtype, expected: "u8".into() });
        }
        let bytes = self.as_bytes();
        if let Some(place) = crate::parallel::first(bytes.len(), |k| (bytes[k] > 1).then_some(k)) {
            return Err(StorageError::Bool { place: place as u64 });
        }
        self.dtype = DType::Bool;
        Ok(self)
    }

    /// The elements as plain words of the same size, for moving them about.
    pub(crate) fn as_words<V: Plain>(&self) -> &[V] {
        let fits = size_of::<V>() == self.dtype.size() && self.data.as_ptr().cast::<V>().is_aligned();
        assert!(fits, "words of {} bytes for elements of type {}", size_of::<V>(), self.dtype);
        // SAFETY: every initialised memory of fitting size and alignment is a sequence of words.
        unsafe { std::slice::from_raw_parts(self.data.as_ptr().cast(), self.len) }
    }

    /// The same for writing; `None` if the elements are borrowed for reading. The words have to be moved about only: whatever is
    /// written has to be an element's.
    pub(crate) fn as_words_mut<V: Plain>(&mut self) -> Option<&mut [V]> {
        let (len, writable) = (self.as_words::<V>().len(), !self.is_borrowed());
        // SAFETY: `as_words` has checked size and alignment; the buffer is the only user of memory that is not shared.
        writable.then(|| unsafe { std::slice::from_raw_parts_mut(self.data.as_ptr().cast(), len) })
    }

    /// Takes an array of words that are elements of `dtype`, moved there from such a buffer, or zeros.
    pub(crate) fn from_words<V: Plain>(array: Array<V>, dtype: DType) -> Buffer {
        assert_eq!(size_of::<V>(), dtype.size(), "words for elements of type {dtype}");
        let (data, len) = array.into_raw();
        Buffer { data, len, dtype, owner: Owner::Block }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Owner::Block = self.owner {
            // SAFETY: the block is ours, and this is its last use.
            unsafe { alloc::release(self.data) };
        }
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        crate::dispatch::with_element!(self.dtype, T => {
            let slice = self.as_slice::<T>().unwrap_or_default();
            write!(f, "{}{:?}", self.dtype, &slice[..slice.len().min(64)])?;
            if slice.len() > 64 { write!(f, " and {} more", slice.len() - 64) } else { Ok(()) }
        })
    }
}

/// Equal types and elements (NaN differs from itself).
impl PartialEq for Buffer {
    fn eq(&self, other: &Buffer) -> bool {
        crate::dispatch::with_element!(self.dtype, T => self.as_slice::<T>() == other.as_slice::<T>())
    }
}

/// A number of a position or coordinate array.
pub trait Number: Copy + Ord + Sync {
    /// The number.
    fn get(self) -> u64;
    /// The lowest bits of a number.
    fn of(number: u64) -> Self;
}

macro_rules! numbers {
    ($($ty:ty),*) => { $(
        impl Number for $ty {
            #[inline(always)]
            fn get(self) -> u64 {
                self as u64
            }

            #[inline(always)]
            fn of(number: u64) -> $ty {
                number as $ty
            }
        }
    )* };
}
numbers!(u8, u16, u32, u64);

/// Evaluates the body with `$slice` bound to the slice inside `$indices`, whose elements are [`Number`]s.
macro_rules! with_indices {
    ($indices:expr, $slice:ident => $body:expr) => {
        match $indices {
            $crate::buffer::Indices::U8($slice) => $body,
            $crate::buffer::Indices::U16($slice) => $body,
            $crate::buffer::Indices::U32($slice) => $body,
            $crate::buffer::Indices::U64($slice) => $body,
        }
    };
}
pub(crate) use with_indices;

/// A position or coordinate array.
#[derive(Clone, Copy, Debug)]
pub enum Indices<'a> {
    /// 8-bit numbers; of coordinates only.
    U8(&'a [u8]),
    /// 16-bit numbers; of coordinates only.
    U16(&'a [u16]),
    /// 32-bit numbers.
    U32(&'a [u32]),
    /// 64-bit numbers.
    U64(&'a [u64]),
}

impl Indices<'_> {
    /// The number of numbers.
    pub fn len(&self) -> usize {
        with_indices!(self, numbers => numbers.len())
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number at `k`; 0 past the end.
    pub fn get(&self, k: usize) -> u64 {
        with_indices!(self, numbers => numbers.get(k).map_or(0, |number| number.get()))
    }

    /// The width of the numbers.
    pub fn width(&self) -> IndexWidth {
        match self {
            Indices::U8(_) => IndexWidth::W8,
            Indices::U16(_) => IndexWidth::W16,
            Indices::U32(_) => IndexWidth::W32,
            Indices::U64(_) => IndexWidth::W64,
        }
    }
}

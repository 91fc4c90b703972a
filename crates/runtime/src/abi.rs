//! The interface between compiled kernels and the runtime.
//!
//! A kernel is `extern "C" fn(arguments) -> status`. The arguments are 8-byte words:
//!
//! ```text
//! word 0                 pointer to the RuntimeTable
//! then, per parameter:   an array: two words {data pointer, capacity in elements}
//!                        a scalar: one word, an i64
//! ```
//!
//! An array is *read*, *written* in place, or *grown*: then the kernel may replace pointer and capacity, with memory of
//! the table's functions, and [`Args::take`] gives the array to the caller afterwards. The status is 0 when all went
//! well ([`KernelStatus`] else); after another status, grown arrays are released when the [`Args`] are dropped, and
//! the kernel has released what it allocated for itself.
//!
//! ```
//! use lacunar_formats::DType;
//! use lacunar_runtime::abi::{self, Args, Word};
//! // The code that a compiler would emit for `y[0] = x[0] + s`, in Rust.
//! unsafe extern "C" fn kernel(words: *mut Word) -> i32 {
//!     unsafe {
//!         let (x, y, s) = (*words.add(1) as *const f64, *words.add(3) as *mut f64, *words.add(5) as i64);
//!         *y = *x + s as f64;
//!     }
//!     0
//! }
//! let x = lacunar_runtime::Buffer::from_vec(vec![1.5]);
//! let mut y = lacunar_runtime::Buffer::zeroed(DType::F64, 1).unwrap();
//! let mut args = Args::new();
//! args.read(&x);
//! args.write(&mut y).unwrap();
//! args.scalar(2);
//! unsafe { abi::call(kernel, &mut args) }.unwrap();
//! drop(args);
//! assert_eq!(y.as_slice::<f64>(), Some(&[3.5][..]));
//! ```

#![allow(unsafe_code)]

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr::NonNull;

use lacunar_formats::DType;
use thiserror::Error;

use crate::alloc;
use crate::buffer::Buffer;
use crate::error::StorageError;
use crate::kernel_parts::{self, Header};
use crate::pool::{self, Body};
use crate::tensor::ValuesMut;
use crate::{kernel_fill, kernel_sort};

/// One word of a kernel's arguments.
pub type Word = u64;

/// The entry point of a compiled kernel.
pub type Entry = unsafe extern "C" fn(*mut Word) -> i32;

/// The reason why a kernel stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum KernelStatus {
    /// Status 1.
    #[error("the kernel ran out of memory")]
    OutOfMemory,
    /// Status 2.
    #[error("a size of the result does not fit its index arrays, or one of a workspace the address space")]
    SizeOverflow,
    /// Status 3.
    #[error("the kernel was cancelled")]
    Cancelled,
    /// Any other status.
    #[error("the kernel returned the unknown status {0}")]
    Internal(i32),
}

impl KernelStatus {
    /// The meaning of a status.
    ///
    /// # Errors
    /// Of every status but 0.
    #[inline]
    pub fn check(status: i32) -> Result<(), KernelStatus> {
        match status {
            0 => Ok(()),
            1 => Err(KernelStatus::OutOfMemory),
            2 => Err(KernelStatus::SizeOverflow),
            3 => Err(KernelStatus::Cancelled),
            other => Err(KernelStatus::Internal(other)),
        }
    }
}

/// The functions that the runtime offers kernels. No entry unwinds.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RuntimeTable {
    /// `bytes` bytes, all zero if `zeroed` is not 0; null if refused.
    pub allocate: unsafe extern "C" fn(bytes: u64, zeroed: u32) -> *mut u8,
    /// Makes an array hold `new_bytes`, keeping `old_bytes_used`, with bytes from `zero_from` on zeroed (`u64::MAX`:
    /// none). Null, and the array as it was, if refused. A null array is allocated.
    pub reallocate: unsafe extern "C" fn(ptr: *mut u8, old_bytes_used: u64, new_bytes: u64, zero_from: u64) -> *mut u8,
    /// Gives an array back; null is ignored.
    pub release: unsafe extern "C" fn(ptr: *mut u8),
    /// Sorts `list`, which holds the `n` coordinates `k` below `size` with `marks[k] == 1`, each once.
    pub sort_marked: unsafe extern "C" fn(list: *mut i64, n: i64, marks: *const u8, size: i64),
    /// Sorts `n` entries by `nkeys` coordinate columns, and adds up the values (of type `DType::ALL[dtype]`) of equal
    /// coordinates. Returns how many entries are left; -1 if memory is refused.
    pub sort_combine:
        unsafe extern "C" fn(keys: *const *mut i64, nkeys: u64, values: *mut u8, dtype: u32, n: i64) -> i64,
    /// Runs `body(context, k)` for each `k` of `begin .. end` on several threads (see [`crate::pool`]). Returns 0, or
    /// the first other status that an iteration returned.
    pub parallel: unsafe extern "C" fn(body: Body, context: *const c_void, begin: i64, end: i64) -> i32,
    /// Appends the parts of a list to an array (of type `DType::ALL[dtype]`) from element `at` on, and empties the
    /// list. Unless `bias` is null, the lengths of its first `c` parts are added to the elements of part `c`. Returns
    /// the end; the negative of a status if memory is refused, or a sum does not fit.
    pub collect:
        unsafe extern "C" fn(array: *mut Header, at: i64, list: *const Header, bias: *const Header, dtype: u32) -> i64,
    /// Releases the memory of a list, which holds the headers of `len` parts, and that of the parts; null is ignored.
    pub release_parts: unsafe extern "C" fn(data: *mut u8, len: u64),
    /// Writes the `size` bytes of a pattern (1, 2, 4, 8 or 16) `count` times, with all threads.
    pub fill: unsafe extern "C" fn(data: *mut u8, count: u64, pattern: *const u8, size: u64),
}

/// The functions of this process.
pub static TABLE: RuntimeTable = RuntimeTable {
    allocate,
    reallocate,
    release,
    sort_marked: kernel_sort::sort_marked_raw,
    sort_combine: kernel_sort::sort_combine_raw,
    parallel: pool::parallel,
    collect: kernel_parts::collect,
    release_parts: kernel_parts::release_parts,
    fill: kernel_fill::fill,
};

// SAFETY: kernels call it by the contract of `RuntimeTable`.
unsafe extern "C" fn allocate(bytes: u64, zeroed: u32) -> *mut u8 {
    let block = usize::try_from(bytes).ok().and_then(|bytes| alloc::allocate(bytes, zeroed != 0));
    block.map_or(std::ptr::null_mut(), NonNull::as_ptr)
}

// SAFETY: kernels call it by the contract of `RuntimeTable`.
unsafe extern "C" fn reallocate(ptr: *mut u8, old_bytes_used: u64, new_bytes: u64, zero_from: u64) -> *mut u8 {
    let Some(block) = NonNull::new(ptr) else {
        // SAFETY: `allocate` has no precondition.
        return unsafe { allocate(new_bytes, u32::from(zero_from < new_bytes)) };
    };
    let Ok(bytes) = usize::try_from(new_bytes) else { return std::ptr::null_mut() };
    let used = usize::try_from(old_bytes_used).unwrap_or(usize::MAX);
    let zero_from = usize::try_from(zero_from).unwrap_or(usize::MAX);
    // SAFETY: the kernel passes an array of the table's functions and how much of it is used.
    let grown = unsafe { alloc::grow(block, used, bytes, zero_from) };
    grown.map_or(std::ptr::null_mut(), NonNull::as_ptr)
}

// SAFETY: kernels call it by the contract of `RuntimeTable`.
unsafe extern "C" fn release(ptr: *mut u8) {
    if let Some(block) = NonNull::new(ptr) {
        // SAFETY: the kernel passes an array of the table's functions, once.
        unsafe { alloc::release(block) };
    }
}

/// The arguments of one call of a kernel, in the order of its parameters.
#[derive(Debug)]
pub struct Args<'a> {
    words: Vec<Word>,
    /// Grown arrays that nobody has taken yet.
    grown: Vec<Grown>,
    /// Arrays that the kernel reads or writes in place.
    arrays: PhantomData<&'a mut Buffer>,
}

/// A grown array: the place of its pointer among the words, and its element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grown {
    word: usize,
    dtype: DType,
}

impl Default for Args<'_> {
    fn default() -> Self {
        Args::new()
    }
}

impl<'a> Args<'a> {
    /// No arguments yet.
    pub fn new() -> Args<'a> {
        // Room for the arguments of most kernels, so that it is asked for once.
        let mut words = Vec::with_capacity(32);
        words.push(std::ptr::from_ref(&TABLE) as Word);
        Args { words, grown: Vec::new(), arrays: PhantomData }
    }

    /// An array that the kernel reads.
    pub fn read(&mut self, buffer: &'a Buffer) {
        self.words.extend([buffer.as_ptr() as Word, buffer.len() as Word]);
    }

    /// An array that the kernel writes in place.
    ///
    /// # Errors
    /// [`StorageError::ReadOnly`] if the buffer is borrowed for reading.
    pub fn write(&mut self, array: impl Into<ValuesMut<'a>>) -> Result<(), StorageError> {
        let buffer = array.into().into_buffer();
        let len = buffer.len() as Word;
        let what = || StorageError::ReadOnly { what: "an array of the result".into() };
        let data = buffer.as_mut_ptr().ok_or_else(what)?;
        self.words.extend([data as Word, len]);
        Ok(())
    }

    /// An array that the kernel may replace; it starts without memory.
    pub fn grown(&mut self, dtype: DType) -> Grown {
        self.words.extend([0, 0]);
        let grown = Grown { word: self.words.len() - 2, dtype };
        self.grown.push(grown);
        grown
    }

    /// An array that the kernel may replace; it starts with the memory of `buffer`, whose content is given up.
    ///
    /// # Errors
    /// Memory for a copy, where `buffer` does not own its memory, is refused.
    pub fn grown_from(&mut self, mut buffer: Buffer) -> Result<Grown, StorageError> {
        buffer.make_owned()?;
        let (dtype, capacity) = (buffer.dtype(), buffer.capacity());
        let grown = self.grown(dtype);
        if let Some(block) = buffer.into_block() {
            self.words[grown.word] = block.as_ptr() as Word;
            self.words[grown.word + 1] = capacity as Word;
        }
        Ok(grown)
    }

    /// A number.
    pub fn scalar(&mut self, value: i64) {
        self.words.push(value.cast_unsigned());
    }

    /// The words as the kernel gets them.
    pub fn words(&self) -> &[Word] {
        &self.words
    }

    /// The grown array with its first `len` elements, which the kernel has written. It can be taken once.
    ///
    /// # Safety
    /// The array's memory, if it is not empty, came from the [`TABLE`]'s functions, and `len` elements of it are
    /// initialised. Both hold after a kernel for these arguments has returned 0 and said that it wrote `len`.
    ///
    /// # Errors
    /// The array has been taken, or holds less than `len` elements.
    pub unsafe fn take(&mut self, grown: Grown, len: u64) -> Result<Buffer, StorageError> {
        let length = |found| StorageError::Length { what: "a grown array".into(), found, expected: len };
        let Some(index) = self.grown.iter().position(|other| *other == grown) else { return Err(length(0)) };
        let Some(block) = NonNull::new(self.words[grown.word] as *mut u8) else {
            return if len == 0 { Ok(Buffer::zeroed(grown.dtype, 0)?) } else { Err(length(0)) };
        };
        // SAFETY: by the caller's promise.
        let capacity = unsafe { alloc::capacity(block) }.checked_div(grown.dtype.size()).unwrap_or(0);
        let elements = usize::try_from(len).ok().filter(|&len| len <= capacity);
        let elements = elements.ok_or_else(|| length(capacity as u64))?;
        self.grown.swap_remove(index);
        self.words[grown.word] = 0;
        self.words[grown.word + 1] = 0;
        // SAFETY: only the elements are used from here on.
        unsafe { alloc::settle(block, elements * grown.dtype.size()) };
        // SAFETY: by the caller's promise, and the words do not hold the block any more.
        Ok(unsafe { Buffer::from_block(block, elements, grown.dtype) })
    }
}

impl Drop for Args<'_> {
    fn drop(&mut self) {
        for grown in &self.grown {
            // SAFETY: a grown array is null or a block of the allocator, and has not been taken.
            unsafe { release(self.words[grown.word] as *mut u8) };
        }
    }
}

/// Calls a kernel.
///
/// # Safety
/// `kernel` is machine code with parameters as in `args`, that accesses arrays within the lengths which the others
/// imply, replaces grown arrays only, and by memory of the table it gets.
///
/// # Errors
/// The kernel's status. Arrays that it writes in place have any content then.
pub unsafe fn call(kernel: Entry, args: &mut Args) -> Result<(), KernelStatus> {
    // SAFETY: by the caller's promise.
    KernelStatus::check(unsafe { kernel(args.words.as_mut_ptr()) })
}

/// Calls a kernel with arguments that were laid out before ([`Args::words`]), none of which it grows.
///
/// # Safety
/// As for [`call`]; the arrays are where they were.
///
/// # Errors
/// The kernel's status. Arrays that it writes in place have any content then.
#[inline]
pub unsafe fn call_again(kernel: Entry, words: &mut [Word]) -> Result<(), KernelStatus> {
    // SAFETY: by the caller's promise.
    KernelStatus::check(unsafe { kernel(words.as_mut_ptr()) })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Grows its array to `n` squares: `for k < n { if k == capacity { grow }; out[k] = k * k }`; fails at 1000.
    // SAFETY: the tests call it with the arguments it names.
    unsafe extern "C" fn squares(words: *mut Word) -> i32 {
        // SAFETY: the words are the table, a grown array of i64, and n.
        unsafe {
            let table = &*(*words as *const RuntimeTable);
            let n = *words.add(3);
            for k in 0..n {
                if k == 1000 {
                    return 2;
                }
                if k == *words.add(2) {
                    let capacity = (k * 2).max(4);
                    let block = (table.reallocate)(*words.add(1) as *mut u8, k * 8, capacity * 8, u64::MAX);
                    if block.is_null() {
                        return 1;
                    }
                    *words.add(1) = block as Word;
                    *words.add(2) = capacity;
                }
                *(*words.add(1) as *mut i64).add(k as usize) = (k * k) as i64;
            }
        }
        0
    }

    #[test]
    fn a_grown_array_comes_back() {
        let mut args = Args::new();
        let out = args.grown(DType::I64);
        args.scalar(100);
        // SAFETY: the kernel is written for these arguments.
        let buffer = unsafe {
            call(squares, &mut args).unwrap();
            assert!(matches!(args.take(out, 1000), Err(StorageError::Length { .. })));
            args.take(out, 100).unwrap()
        };
        assert_eq!(buffer.as_slice::<i64>().unwrap(), (0..100).map(|k| k * k).collect::<Vec<i64>>());
        // SAFETY: nothing is left to take.
        assert!(unsafe { args.take(out, 0) }.is_err());
    }

    #[test]
    fn a_grown_array_starts_with_given_memory_and_is_released_on_failure() {
        let mut args = Args::new();
        let out = args.grown_from(Buffer::from_vec(vec![7i64; 10])).unwrap();
        args.scalar(5000);
        // SAFETY: the kernel is written for these arguments.
        assert_eq!(unsafe { call(squares, &mut args) }, Err(KernelStatus::SizeOverflow));
        assert!(args.words()[out.word] != 0);
    }

    #[test]
    fn table_functions_allocate_grow_and_refuse() {
        // SAFETY: blocks are used within their sizes and released once.
        unsafe {
            assert!((TABLE.allocate)(u64::MAX, 0).is_null());
            let block = (TABLE.reallocate)(std::ptr::null_mut(), 0, 16, 0);
            assert!(std::slice::from_raw_parts(block, 16).iter().all(|&byte| byte == 0));
            assert!((TABLE.reallocate)(block, 16, u64::MAX - 1, u64::MAX).is_null());
            (TABLE.release)(block);
            (TABLE.release)(std::ptr::null_mut());
        }
    }

    #[test]
    fn statuses_have_meanings() {
        assert_eq!(KernelStatus::check(0), Ok(()));
        assert_eq!(KernelStatus::check(1), Err(KernelStatus::OutOfMemory));
        assert_eq!(KernelStatus::check(3), Err(KernelStatus::Cancelled));
        assert_eq!(KernelStatus::check(-9), Err(KernelStatus::Internal(-9)));
    }
}

//! Runs compiled kernels on the memory that the reference interpreter takes, with a runtime table of its own that counts
//! allocations, fills memory that is not zeroed with a pattern, and can be told to run out of memory.
//!
//! The table's state belongs to one run at a time: runs wait for each other. A run's own threads share it.
// Not every test file uses everything.
#![allow(unsafe_code, dead_code, clippy::unwrap_used)]

use std::alloc::Layout;
use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use lacunar_backend_llvm::{CompileOptions, JitKernel, compile};
use lacunar_formats::DType;
use lacunar_imp::{
    ArrayData, ArrayRole, BinaryOp, CompareOp, Const, Function, Memory, Param, Status, Verified, arith, generate,
    interpret, verify,
};
use lacunar_runtime::{Header, abi, pool};
use num_complex::Complex;

thread_local! {
    /// The number of allocations that succeed in the next runs of this thread.
    static BUDGET: Cell<usize> = const { Cell::new(usize::MAX) };
    /// The byte that memory is filled with that is not asked to be zero.
    static PATTERN: Cell<u8> = const { Cell::new(0xA5) };
}

/// Held by the run that the following belongs to.
static RUN: Mutex<()> = Mutex::new(());
/// The size of each allocated block, by address.
static LIVE: Mutex<Option<HashMap<usize, usize>>> = Mutex::new(None);
/// The number of allocations that still succeed.
static LEFT: AtomicUsize = AtomicUsize::new(usize::MAX);
static FILLER: AtomicUsize = AtomicUsize::new(0);

/// Lets this many allocations of a run succeed and all later ones fail.
pub fn set_budget(allocations: usize) {
    BUDGET.set(allocations);
}

/// Sets the byte that fresh memory is filled with.
pub fn set_pattern(byte: u8) {
    PATTERN.set(byte);
}

fn with_live<R>(f: impl FnOnce(&mut HashMap<usize, usize>) -> R) -> R {
    f(LIVE.lock().unwrap().get_or_insert_default())
}

/// Takes one allocation from the budget. True if there was one left.
fn spend() -> bool {
    LEFT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
}

fn layout(bytes: usize) -> Layout {
    Layout::from_size_align(bytes.max(1), 64).unwrap()
}

extern "C" fn allocate(bytes: u64, zeroed: u32) -> *mut c_void {
    if bytes > 1 << 32 || !spend() {
        return ptr::null_mut();
    }
    let bytes = bytes as usize;
    // SAFETY: the layout has at least one byte, and the block as many as are written.
    unsafe {
        let block = std::alloc::alloc(layout(bytes));
        block.write_bytes(if zeroed != 0 { 0 } else { FILLER.load(Ordering::Relaxed) as u8 }, bytes);
        with_live(|live| live.insert(block as usize, bytes));
        block.cast()
    }
}

extern "C" fn reallocate(old: *mut c_void, kept: u64, bytes: u64, zero_from: u64) -> *mut c_void {
    let block = allocate(bytes, 0);
    if !block.is_null() {
        // SAFETY: the new block has `bytes` bytes, the old one (if any) `kept`.
        unsafe {
            ptr::copy_nonoverlapping(
                old.cast::<u8>(),
                block.cast::<u8>(),
                if old.is_null() { 0 } else { kept as usize },
            );
            if zero_from < bytes {
                block.cast::<u8>().add(zero_from as usize).write_bytes(0, (bytes - zero_from) as usize);
            }
        }
        release(old);
    }
    block
}

extern "C" fn release(block: *mut c_void) {
    if block.is_null() {
        return;
    }
    let bytes = with_live(|live| live.remove(&(block as usize))).expect("released memory was allocated");
    // SAFETY: the block was allocated with this layout and is released once.
    unsafe { std::alloc::dealloc(block.cast(), layout(bytes)) }
}

extern "C" fn sort_marked(list: *mut i64, n: i64, _marks: *const u8, _size: i64) {
    // SAFETY: the list has `n` elements.
    unsafe { std::slice::from_raw_parts_mut(list, n as usize) }.sort_unstable();
}

extern "C" fn sort_combine(keys: *const *mut i64, nkeys: u64, values: *mut c_void, dtype: u32, n: i64) -> i64 {
    if LEFT.load(Ordering::Relaxed) == 0 {
        return -1;
    }
    let len = n as usize;
    // SAFETY: there are `nkeys` key arrays of `n` elements.
    let mut keys: Vec<&mut [i64]> = unsafe {
        let keys = std::slice::from_raw_parts(keys, nkeys as usize);
        keys.iter().map(|&key| std::slice::from_raw_parts_mut(key, len)).collect()
    };
    let old = copy_out(DType::ALL[dtype as usize], values, len);
    let mut order: Vec<usize> = (0..len).collect();
    order.sort_by_key(|&entry| keys.iter().map(|key| key[entry]).collect::<Vec<i64>>());
    let mut left: Vec<(Vec<i64>, Const)> = Vec::new();
    for entry in order {
        let (key, value) = (keys.iter().map(|key| key[entry]).collect(), old.get(entry).unwrap());
        match left.last_mut() {
            Some((last, sum)) if *last == key => *sum = arith::binary(BinaryOp::Add, *sum, value),
            _ => left.push((key, value)),
        }
    }
    let sums: Vec<Const> = left.iter().map(|&(_, sum)| sum).collect();
    let sums = ArrayData::from_values(old.dtype(), &sums).unwrap();
    copy_in(&sums, values);
    for (place, (key, _)) in left.iter().enumerate() {
        keys.iter_mut().zip(key).for_each(|(array, &k)| array[place] = k);
    }
    left.len() as i64
}

extern "C" fn release_parts(data: *mut u8, len: u64) {
    for part in parts(data, len) {
        release(part.data.cast());
    }
    release(data.cast());
}

/// The parts of a list.
fn parts<'a>(data: *mut u8, len: u64) -> &'a mut [Header] {
    let data = if data.is_null() { ptr::dangling_mut() } else { data.cast() };
    // SAFETY: a kernel passes the headers of a list.
    unsafe { std::slice::from_raw_parts_mut(data, len as usize) }
}

/// By definition: element after element.
extern "C" fn collect(array: *mut Header, at: i64, list: *const Header, bias: *const Header, dtype: u32) -> i64 {
    let dtype = DType::ALL[dtype as usize];
    // SAFETY: a kernel passes headers, and they are not used elsewhere.
    let (array, list) = unsafe { (&mut *array, parts((*list).data, (*list).len)) };
    // SAFETY: as above.
    let bias = (!bias.is_null()).then(|| unsafe { parts((*bias).data, (*bias).len) });
    let end = at + list.iter().map(|part| part.len as i64).sum::<i64>();
    let size = dtype.size() as u64;
    if end as u64 > array.len {
        let grown = reallocate(array.data.cast(), array.len * size, end as u64 * size, u64::MAX);
        if grown.is_null() {
            return -1;
        }
        *array = Header { data: grown.cast(), len: end as u64 };
    }
    let (mut to, mut offset) = (at as usize * size as usize, 0);
    for (number, part) in list.iter_mut().enumerate() {
        let values = copy_out(dtype, part.data.cast(), part.len as usize);
        let sums: Vec<Const> = (0..values.len())
            .map(|k| match values.get(k).unwrap() {
                value if offset == 0 => value,
                value => arith::binary(BinaryOp::Add, value, Const::int(dtype, offset)),
            })
            .collect();
        let wraps = |k: usize| arith::compare(CompareOp::Lt, sums[k], values.get(k).unwrap());
        if offset != 0 && (0..values.len()).any(wraps) {
            return -2;
        }
        // SAFETY: the array has room for all parts.
        copy_in(&ArrayData::from_values(dtype, &sums).unwrap(), unsafe { array.data.add(to) }.cast());
        to += sums.len() * size as usize;
        release(part.data.cast());
        *part = Header { data: ptr::null_mut(), len: 0 };
        offset += bias.as_ref().map_or(0, |bias| bias[number].len as i64);
    }
    end
}

/// The runtime table, in the order of the interface.
#[repr(C)]
struct Table {
    allocate: extern "C" fn(u64, u32) -> *mut c_void,
    reallocate: extern "C" fn(*mut c_void, u64, u64, u64) -> *mut c_void,
    release: extern "C" fn(*mut c_void),
    sort_marked: extern "C" fn(*mut i64, i64, *const u8, i64),
    sort_combine: extern "C" fn(*const *mut i64, u64, *mut c_void, u32, i64) -> i64,
    parallel: unsafe extern "C" fn(pool::Body, *const c_void, i64, i64) -> i32,
    collect: extern "C" fn(*mut Header, i64, *const Header, *const Header, u32) -> i64,
    release_parts: extern "C" fn(*mut u8, u64),
    fill: unsafe extern "C" fn(*mut u8, u64, *const u8, u64),
}

static TABLE: Table = Table {
    allocate,
    reallocate,
    release,
    sort_marked,
    sort_combine,
    parallel: pool::parallel,
    collect,
    release_parts,
    fill: abi::TABLE.fill,
};

// SAFETY: the declaration is that of the C library.
unsafe extern "C" {
    /// The C library's.
    fn free(block: *mut c_void);
}

/// The runtime table that a run gets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Runtime {
    /// The one above.
    Checking,
    /// The product's.
    Real,
    /// No runtime is passed: a shipped kernel has its own.
    Own,
}

macro_rules! by_type {
    ($($variant:ident $ty:ty),* $(,)?) => {
        fn data_pointer(data: &mut ArrayData) -> *mut c_void {
            match data { $(ArrayData::$variant(v) => v.as_mut_ptr().cast(),)* }
        }

        /// Copies elements into memory of the kernel's.
        fn copy_in(data: &ArrayData, to: *mut c_void) {
            match data { $(
                // SAFETY: the kernel's array has as many elements of this type at least.
                ArrayData::$variant(v) => unsafe { ptr::copy_nonoverlapping(v.as_ptr(), to.cast::<$ty>(), v.len()) },
            )* }
        }

        /// Copies `len` elements out of memory of the kernel's.
        fn copy_out(ty: DType, data: *const c_void, len: usize) -> ArrayData {
            match ty { $(
                DType::$variant => ArrayData::$variant(if len == 0 {
                    Vec::new()
                } else {
                    // SAFETY: the kernel handed out so many elements of this type.
                    unsafe { std::slice::from_raw_parts(data.cast::<$ty>(), len) }.to_vec()
                }),
            )* }
        }
    };
}

by_type! {
    Bool bool, I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64,
    F16 half::f16, BF16 half::bf16, F32 f32, F64 f64, C64 Complex<f32>, C128 Complex<f64>, Pattern lacunar_formats::One,
}

/// Runs a kernel; gives its status. Grown arrays come out with the capacity that they ended with.
///
/// Panics if the kernel leaves memory behind other than its grown arrays.
pub fn run(kernel: &JitKernel, function: &Function, memory: &mut Memory) -> i32 {
    run_with(Runtime::Checking, kernel, function, memory)
}

/// [`run`] with a choice of the table.
pub fn run_with(runtime: Runtime, kernel: &JitKernel, function: &Function, memory: &mut Memory) -> i32 {
    let running = RUN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    LEFT.store(BUDGET.get(), Ordering::Relaxed);
    FILLER.store(PATTERN.get().into(), Ordering::Relaxed);
    let table = match runtime {
        Runtime::Checking => ptr::from_ref(&TABLE) as u64,
        Runtime::Real => ptr::from_ref(&abi::TABLE) as u64,
        Runtime::Own => 0,
    };
    let mut words = vec![table];
    let (mut arrays, mut scalars) = (memory.arrays.iter_mut(), memory.scalars.iter());
    for &param in &function.params {
        match param {
            Param::Array(array) if function.arrays[array].role == ArrayRole::Grown => {
                arrays.next();
                words.extend([0, 0]);
            }
            Param::Array(_) => {
                let data = arrays.next().unwrap();
                words.extend([data_pointer(data) as u64, data.len() as u64]);
            }
            Param::Scalar(_) => words.push(*scalars.next().unwrap() as u64),
        }
    }
    // SAFETY: the words are the table and the parameters, as the interface demands.
    let status = unsafe { kernel.entry()(words.as_mut_ptr()) };
    let mut word = 1;
    let mut arrays = memory.arrays.iter_mut();
    for &param in &function.params {
        let Param::Array(array) = param else {
            word += 1;
            continue;
        };
        let data = arrays.next().unwrap();
        let array = &function.arrays[array];
        if array.role == ArrayRole::Grown {
            let (block, len) = (words[word] as *mut c_void, words[word + 1] as usize);
            *data = copy_out(array.elem, block, len);
            match runtime {
                Runtime::Checking => release(block),
                // SAFETY: the block is the kernel's, and released once.
                Runtime::Real => unsafe { (abi::TABLE.release)(block.cast()) },
                // SAFETY: as above.
                Runtime::Own => unsafe { free(block) },
            }
        }
        word += 2;
    }
    with_live(|live| {
        let left = std::mem::take(live).len();
        assert!(left == 0, "{left} blocks are left behind");
    });
    drop(running);
    status
}

/// Compiles and runs a function.
pub fn compile_and_run(function: &Verified<Function>, memory: &mut Memory) -> i32 {
    let kernel = compile(function, &CompileOptions::default()).unwrap();
    run(&kernel, function, memory)
}

/// A function of the generator, with the interpreter's results for it.
pub struct Random {
    pub function: Verified<Function>,
    pub text: String,
    /// The memory that the function is given.
    pub memory: Memory,
    /// The memory that it leaves.
    pub expected: Memory,
    /// The status with which it ends, if not with success.
    pub outcome: Option<Status>,
}

impl Random {
    /// The function of a seed.
    pub fn new(seed: u64) -> Random {
        let (function, memory) = generate::function(seed);
        let text = function.to_string();
        let function = verify(function).unwrap();
        let mut expected = memory.clone();
        let outcome = interpret(&function, &mut expected).unwrap();
        Random { function, text, memory, expected, outcome }
    }
}

//! Lists of arrays that the iterations of a parallel loop made, and their join into one array: for kernels, through the
//! [`RuntimeTable`](crate::abi::RuntimeTable).
//!
//! The parts are copied by all threads, in pieces of [`PIECE`] bytes. A part that makes up a good part of the result, with
//! nothing before it, is not copied: its memory becomes the result's, if it has room for all, or no other memory is at hand.
//! So a loop that was run as one iteration costs nothing more than one that had no parts.
//!
//! ```text
//! parts of C_crd:  [3, 5]  []  [1]      collected at 0:                       3, 5, 1    the end is 3
//! parts of C_pos:  [1, 2]  []  [1]      at 1, plus lengths of C_crd's parts:  1, 2, 3    the end is 4
//! ```

#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::ptr::NonNull;

use lacunar_formats::DType;

use crate::alloc;
use crate::pool;
use crate::stream;

/// An array's header: its memory and a number of elements. The number is the capacity of an array that grows, the
/// length of a part, and the number of parts of a list, whose memory holds their headers.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Header {
    /// A block of the allocator, or null.
    pub data: *mut u8,
    /// A number of elements.
    pub len: u64,
}

impl Header {
    const EMPTY: Header = Header { data: std::ptr::null_mut(), len: 0 };
}

/// The bytes that one iteration of a parallel loop copies or fills: enough for its start not to count, few enough for
/// balance.
pub(crate) const PIECE: usize = 256 << 10;

/// A first part that is no more than one in so many elements of the result is copied.
const LEAST_ADOPTED: usize = 8;

/// The reason why parts could not be collected: the negative of a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    OutOfMemory = -1,
    SizeOverflow = -2,
}

/// Releases a list and its parts.
///
/// # Safety
/// `data` is null or a block of the allocator with `len` headers of parts.
pub(crate) unsafe extern "C" fn release_parts(data: *mut u8, len: u64) {
    // SAFETY: passed on.
    unsafe {
        empty(parts_of(&Header { data, len }));
        release(data);
    }
}

/// Appends the parts of `list` to an array from element `at` on, adding to the elements of a part the lengths of those
/// before it in `bias` (null: nothing). The list then has as many parts as before, without memory. Gives the new end,
/// or the negative of a status, after which the array keeps its elements.
///
/// # Safety
/// `array` is the header of an array of type `DType::ALL[dtype]` with `at` elements that count, `list` that of a list
/// of parts of that type, `bias` null or that of a list; all memory is the allocator's. Nobody else uses them.
pub(crate) unsafe extern "C" fn collect(
    array: *mut Header,
    at: i64,
    list: *const Header,
    bias: *const Header,
    dtype: u32,
) -> i64 {
    // SAFETY: by the caller's promise.
    let outcome = unsafe {
        let parts = parts_of(&*list);
        let counts = if bias.is_null() { None } else { Some(&*parts_of(&*bias)) };
        append(&mut *array, at, parts, counts, dtype)
    };
    outcome.unwrap_or_else(|refusal| refusal as i64)
}

/// # Safety
/// As for [`collect`].
unsafe fn append(
    array: &mut Header,
    at: i64,
    parts: &mut [Header],
    bias: Option<&[Header]>,
    dtype: u32,
) -> Result<i64, Refusal> {
    let dtype =
        DType::ALL.get(dtype as usize).copied().filter(|dtype| dtype.size() > 0).ok_or(Refusal::SizeOverflow)?;
    let size = dtype.size();
    let end = parts.iter().try_fold(at.cast_unsigned(), |end, part| end.checked_add(part.len));
    let end = end.filter(|&end| end <= (isize::MAX as usize / size) as u64).ok_or(Refusal::SizeOverflow)? as usize;
    let at = usize::try_from(at).map_err(|_| Refusal::SizeOverflow)?;
    // SAFETY: passed on; `at <= end`, which is how many elements there is room for afterwards.
    unsafe {
        // A list for the bias that is too short counts as empty beyond its end.
        let mut lens = bias.unwrap_or_default().iter().map(|part| part.len).chain(std::iter::repeat(0));
        let (mut used, mut adopted, mut offset) = (at, 0, 0);
        let becomes_result = |first: &&mut Header| {
            // Without room, its pages are moved; where a block of that size is at hand, all threads copy all parts to it sooner.
            let is_large = || first.len as usize > end / LEAST_ADOPTED && !alloc::is_kept(end * size);
            first.len > 0 && (room_of(first) >= end * size || is_large())
        };
        if let Some(first) = parts.first_mut().filter(|_| at == 0).filter(becomes_result) {
            used = first.len as usize;
            release(std::mem::replace(array, std::mem::replace(first, Header::EMPTY)).data);
            (adopted, offset) = (1, lens.next().unwrap_or(0));
        }
        reserve(array, used, end, size)?;
        let pieces = cut(&parts[adopted..], used, lens, offset, size)?;
        let is_large = (end - used) * size >= stream::LARGE;
        Copies { pieces: &pieces, to: array.data, dtype, is_large }.run()?;
        // Loops make room for more than they find.
        let blocks = parts.iter().filter_map(|part| Some((NonNull::new(part.data)?, part.len as usize * size)));
        blocks.for_each(|(block, bytes)| alloc::say_used(block, bytes));
        empty(parts);
        Ok(end as i64)
    }
}

/// The bytes that an array has room for.
///
/// # Safety
/// The array's memory is the allocator's, or null.
unsafe fn room_of(array: &Header) -> usize {
    // SAFETY: passed on.
    NonNull::new(array.data).map_or(0, |block| unsafe { alloc::capacity(block) })
}

/// Makes an array hold `len` elements, keeping the first `used`.
///
/// # Safety
/// The array's memory is the allocator's and holds `used` elements of `size` bytes.
unsafe fn reserve(array: &mut Header, used: usize, len: usize, size: usize) -> Result<(), Refusal> {
    // SAFETY: by the caller's promise.
    unsafe {
        if len > room_of(array) / size {
            let grown = match NonNull::new(array.data) {
                // Without elements to keep, nothing is moved, and the new block may have warm pages.
                Some(block) if used > 0 => alloc::grow(block, used * size, len * size, usize::MAX),
                Some(_) | None => {
                    release(std::mem::replace(array, Header::EMPTY).data);
                    alloc::allocate(len * size, false)
                }
            };
            array.data = grown.ok_or(Refusal::OutOfMemory)?.as_ptr();
        }
        array.len = array.len.max(len as u64);
        Ok(())
    }
}

/// A run of elements to be copied.
struct Piece {
    from: *const u8,
    /// The element of the array that the first one becomes.
    to: usize,
    len: usize,
    /// The number that is added to each.
    bias: u64,
}

/// Cuts parts that are appended from element `to` on into pieces; `lens` tells how much each part adds to the bias of
/// those behind it, and `offset` is the first one's.
fn cut(
    parts: &[Header],
    mut to: usize,
    lens: impl Iterator<Item = u64>,
    mut offset: u64,
    size: usize,
) -> Result<Vec<Piece>, Refusal> {
    let mut pieces = Vec::new();
    let step = PIECE / size;
    for (part, adds) in parts.iter().zip(lens) {
        let len = part.len as usize;
        pieces.try_reserve(len.div_ceil(step)).map_err(|_| Refusal::OutOfMemory)?;
        for start in (0..len).step_by(step) {
            // SAFETY: the element is one of the part's.
            let from = unsafe { part.data.add(start * size) };
            pieces.push(Piece { from, to: to + start, len: step.min(len - start), bias: offset });
        }
        to += len;
        offset = offset.saturating_add(adds);
    }
    Ok(pieces)
}

/// The data of a copy that the threads share.
struct Copies<'a> {
    pieces: &'a [Piece],
    to: *mut u8,
    dtype: DType,
    /// True if the copy goes past the caches.
    is_large: bool,
}

// SAFETY: the pieces' elements differ, and each is copied once.
unsafe impl Sync for Copies<'_> {}

impl Copies<'_> {
    /// Copies everything, with all threads where that pays. Fails with the first sum that does not fit.
    ///
    /// # Safety
    /// The pieces and the places they go to are memory of the type.
    unsafe fn run(&self) -> Result<(), Refusal> {
        let elements: usize = self.pieces.iter().map(|piece| piece.len).sum();
        let copy = |piece: i64| {
            // SAFETY: passed on; the number is one of a piece.
            let fits = unsafe { self.piece(&self.pieces[piece as usize]) };
            i32::from(!fits)
        };
        let count = self.pieces.len() as i64;
        let failed = if elements * self.dtype.size() <= PIECE {
            (0..count).any(|piece| copy(piece) != 0)
        } else {
            pool::run(0, count, &copy) != 0
        };
        if failed { Err(Refusal::SizeOverflow) } else { Ok(()) }
    }

    /// Copies one piece; `false` if a sum does not fit.
    ///
    /// # Safety
    /// As for [`Copies::run`].
    unsafe fn piece(&self, piece: &Piece) -> bool {
        macro_rules! add {
            ($($variant:ident $ty:ty),*) => {
                match self.dtype {
                    _ if piece.bias == 0 => {
                        let size = self.dtype.size();
                        // SAFETY: by the caller's promise; source and destination are different blocks.
                        unsafe {
                            let (to, bytes) = (self.to.add(piece.to * size), piece.len * size);
                            if self.is_large {
                                stream::copy(piece.from, to, bytes);
                            } else {
                                std::ptr::copy_nonoverlapping(piece.from, to, bytes);
                            }
                        }
                        true
                    }
                    $(DType::$variant => {
                        let Ok(bias) = <$ty>::try_from(i128::from(piece.bias)) else { return false };
                        // SAFETY: as above.
                        let (from, to) = unsafe {
                            let to = self.to.cast::<MaybeUninit<$ty>>().add(piece.to);
                            (
                                std::slice::from_raw_parts(piece.from.cast::<$ty>(), piece.len),
                                std::slice::from_raw_parts_mut(to, piece.len),
                            )
                        };
                        let mut over = false;
                        for (to, &from) in to.iter_mut().zip(from) {
                            let (sum, wraps) = from.overflowing_add(bias);
                            over |= wraps;
                            to.write(sum);
                        }
                        !over
                    })*
                    // The verifier admits a bias on integers only.
                    DType::Bool
                    | DType::F16
                    | DType::BF16
                    | DType::F32
                    | DType::F64
                    | DType::C64
                    | DType::C128
                    | DType::Pattern => false,
                }
            };
        }
        add!(I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64)
    }
}

/// The parts of a list.
///
/// # Safety
/// The header is that of a list, which nobody else uses as long as the parts are borrowed.
unsafe fn parts_of<'a>(list: &Header) -> &'a mut [Header] {
    if list.data.is_null() {
        return &mut [];
    }
    // SAFETY: by the caller's promise; blocks are aligned for headers.
    unsafe { std::slice::from_raw_parts_mut(list.data.cast(), list.len as usize) }
}

/// Takes the parts' memory away.
///
/// # Safety
/// It is the allocator's, or null.
unsafe fn empty(parts: &mut [Header]) {
    for part in parts {
        // SAFETY: passed on; nothing is released twice, for the header is cleared.
        unsafe { release(std::mem::replace(part, Header::EMPTY).data) };
    }
}

/// # Safety
/// `data` is null or a block of the allocator that nobody uses any more.
unsafe fn release(data: *mut u8) {
    if let Some(block) = NonNull::new(data) {
        // SAFETY: passed on.
        unsafe { alloc::release(block) };
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A header with a copy of some elements.
    fn header<T: Copy>(elements: &[T]) -> Header {
        let block = alloc::allocate(size_of_val(elements), false).unwrap().as_ptr();
        // SAFETY: the block has room for the elements.
        unsafe { std::ptr::copy_nonoverlapping(elements.as_ptr(), block.cast(), elements.len()) };
        Header { data: block, len: elements.len() as u64 }
    }

    fn list<T: Copy>(parts: &[Vec<T>]) -> Header {
        header(&parts.iter().map(|part| header(part)).collect::<Vec<Header>>())
    }

    /// Collects parts behind some elements; gives the end and the elements up to there.
    fn collected(start: &[u32], parts: &[Vec<u32>], bias: Option<&[Vec<f64>]>) -> Result<Vec<u32>, i64> {
        let mut array = if start.is_empty() { Header::EMPTY } else { header(start) };
        let (parts, bias) = (list(parts), bias.map(list));
        let dtype = DType::ALL.iter().position(|&dtype| dtype == DType::U32).unwrap() as u32;
        let of_bias = bias.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: the headers are those of arrays of these types; everything is released once.
        unsafe {
            let end = collect(&mut array, start.len() as i64, &parts, of_bias, dtype);
            let elements = usize::try_from(end).map(|end| {
                assert!(array.len as usize >= end && (*parts_of(&parts)).iter().all(|part| part.data.is_null()));
                // An array of nothing has no memory.
                NonNull::new(array.data.cast())
                    .map_or(vec![], |data| std::slice::from_raw_parts(data.as_ptr(), end).to_vec())
            });
            release(array.data);
            release_parts(parts.data, parts.len);
            bias.iter().for_each(|list| release_parts(list.data, list.len));
            elements.map_err(|_| end)
        }
    }

    #[test]
    fn parts_that_exceed_the_caches_stand_one_behind_the_other() {
        let count = (stream::LARGE / size_of::<u32>() + 5) as u32;
        // The first part is too small to become the result's memory.
        let parts = [vec![7], (0..count).collect(), vec![8, 9]];
        let all = collected(&[], &parts, None).unwrap();
        assert!(all.iter().copied().eq([7].into_iter().chain(0..count).chain([8, 9])));
    }

    #[test]
    fn parts_stand_one_behind_the_other() {
        let parts = [vec![3, 5], vec![], vec![1]];
        assert_eq!(collected(&[], &parts, None).unwrap(), [3, 5, 1]);
        assert_eq!(collected(&[9, 8], &parts, None).unwrap(), [9, 8, 3, 5, 1]);
        assert_eq!(
            collected(&[0], &[vec![1, 2], vec![], vec![1]], Some(&[vec![0.0; 2], vec![], vec![0.0]])).unwrap(),
            [0, 1, 2, 3]
        );
        assert_eq!(collected(&[4], &[], None).unwrap(), [4]);
        assert_eq!(collected(&[4], &[vec![], vec![]], None).unwrap(), [4]);
    }

    #[test]
    fn large_parts_are_copied_in_pieces() {
        let part = |seed: u32, len: u32| (0..len).map(|k| k.wrapping_mul(seed) >> 8).collect::<Vec<u32>>();
        let all_lens = [
            [2_000_000, 10, 300_000, 0],
            [70_000, 70_001, 1_500_000, 1],
            [5, 2_000_000, 0, 100],
            // A first part that becomes the result, or is copied to memory that is at hand; two threads at least come here in turns.
            [400_000, 500_000, 600_000, 0],
            [0, 0, 0, 0],
        ];
        for lens in all_lens {
            let parts: Vec<Vec<u32>> = (1..).zip(lens).map(|(seed, len)| part(seed, len)).collect();
            let counts: Vec<Vec<f64>> = lens.iter().map(|&len| vec![0.0; len as usize / 100]).collect();
            for threads in [1, 2, 4] {
                for start in [&[][..], &[7, 7, 7]] {
                    let plain = pool::with_threads(threads, || collected(start, &parts, None)).unwrap();
                    assert_eq!(plain, [start, &parts.concat()].concat());
                    let biased = pool::with_threads(threads, || collected(start, &parts, Some(&counts))).unwrap();
                    let mut offset = 0;
                    let mut expected = start.to_vec();
                    for (part, count) in parts.iter().zip(&counts) {
                        expected.extend(part.iter().map(|x| x + offset));
                        offset += count.len() as u32;
                    }
                    assert_eq!(biased, expected);
                }
            }
        }
    }

    #[test]
    fn sums_that_do_not_fit_are_refused() {
        let parts = [vec![u32::MAX], vec![u32::MAX - 1]];
        assert_eq!(collected(&[], &parts, Some(&[vec![0.0], vec![]])).unwrap(), [u32::MAX, u32::MAX]);
        assert_eq!(collected(&[], &parts, Some(&[vec![0.0; 2], vec![]])), Err(-2));
        assert_eq!(collected(&[1], &parts, Some(&[vec![0.0; 2], vec![]])), Err(-2));
        // SAFETY: nothing is read of empty lists.
        unsafe {
            let (mut array, none) = (Header::EMPTY, Header::EMPTY);
            assert_eq!(collect(&mut array, -1, &none, std::ptr::null(), 0), -2);
            assert_eq!(collect(&mut array, i64::MAX, &none, std::ptr::null(), 3), -2);
            assert_eq!(collect(&mut array, 0, &none, std::ptr::null(), 99), -2);
        }
    }
}

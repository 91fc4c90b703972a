//! Small helpers for loops over large arrays with the threads of the [`pool`].
//!
//! Arrays below [`GRAIN`] elements are handled by the calling thread: handing out work costs more than it saves.
//!
//! A closure that is given here is called for a whole chunk, or is put into a loop over one. So the loop over elements
//! is compiled for each use, and the code that hands out the chunks for each type of element only: it sees the loop as
//! [`Chunks`] or [`Work`]. (Not a `dyn Fn`, of which the compiler makes a second copy, for closures that are given
//! away.)
//!
//! ```text
//! each([a, b, c], work)      work(a), work(b), work(c), each by one thread, at once where there are threads
//! ```

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::array::Array;
use crate::error::StorageError;
use crate::pool;

/// The number of elements that one task handles.
pub const GRAIN: usize = 1 << 16;

/// The work on each chunk of an array, given the number of its first element.
pub trait Chunks<T>: Sync {
    /// Does the work on a chunk.
    fn on(&self, start: usize, chunk: &mut [T]);
}

impl<T, F: Fn(usize, &mut [T]) + Sync> Chunks<T> for F {
    #[inline]
    fn on(&self, start: usize, chunk: &mut [T]) {
        self(start, chunk);
    }
}

/// The work on each task, given its number.
pub trait Work<T, R>: Sync {
    /// Does the work on a task.
    fn on(&self, number: usize, task: T) -> R;
}

impl<T, R, F: Fn(usize, T) -> R + Sync> Work<T, R> for F {
    #[inline]
    fn on(&self, number: usize, task: T) -> R {
        self(number, task)
    }
}

/// Calls `work(number, task)` for each task, on several threads.
pub fn each<T: Send>(tasks: impl IntoIterator<Item = T>, work: impl Fn(usize, T) + Sync) {
    each_of(tasks.into_iter().collect(), &work);
}

fn each_of<T: Send>(tasks: Vec<T>, work: &dyn Work<T, ()>) {
    let count = tasks.len() as i64;
    let left = Mutex::new(tasks.into_iter().enumerate());
    pool::run(0, count, &|_| {
        let task = locked(&left).next();
        if let Some((number, task)) = task {
            work.on(number, task);
        }
        0
    });
}

/// The content of a lock: nothing that is done under one of these can be left half done.
fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The results of `work(number, task)` for each task, in their order, on several threads.
pub fn map<T: Send, R: Send>(tasks: impl IntoIterator<Item = T>, work: impl Fn(usize, T) -> R + Sync) -> Vec<R> {
    map_of(tasks.into_iter().collect(), &work)
}

fn map_of<T: Send, R: Send>(tasks: Vec<T>, work: &dyn Work<T, R>) -> Vec<R> {
    let mut results = Vec::new();
    results.resize_with(tasks.len(), || None);
    let results = Mutex::new(results);
    each_of(tasks, &|number: usize, task: T| {
        let result = work.on(number, task);
        locked(&results)[number] = Some(result);
    });
    results.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().flatten().collect()
}

/// The number of parts that are worth splitting work on so many elements into: at most one for each thread.
pub fn parts(len: usize, grain: usize) -> usize {
    (len / grain).clamp(1, pool::threads())
}

/// Consecutive pieces of a slice, of these lengths.
pub fn split<'a, T>(slice: &'a mut [T], lengths: &[usize]) -> Vec<&'a mut [T]> {
    let mut rest = slice;
    let mut pieces = Vec::with_capacity(lengths.len());
    for &length in lengths {
        let (piece, behind) = rest.split_at_mut(length);
        pieces.push(piece);
        rest = behind;
    }
    pieces
}

/// The ranges of `grain` indices each that `0 .. len` is made of; the last may be shorter.
pub fn chunks(len: usize, grain: usize) -> impl ExactSizeIterator<Item = Range<usize>> {
    (0..len.div_ceil(grain)).map(move |chunk| chunk * grain..len.min((chunk + 1) * grain))
}

/// The starts of segments of these lengths, one behind the other, and the end of the last.
///
/// # Errors
/// That overflows, or memory is refused.
pub fn edges(len: usize, length: impl Fn(usize) -> u64 + Sync) -> Result<Array<u64>, StorageError> {
    summed_up(Array::of(len + 1, |k| if k == 0 { 0 } else { length(k - 1) })?)
}

fn summed_up(mut edges: Array<u64>) -> Result<Array<u64>, StorageError> {
    sum_up(&mut edges).ok_or_else(|| StorageError::overflow("the number of positions"))?;
    Ok(edges)
}

/// Turns each number into the sum of it and all before it; `None` if that overflows.
fn sum_up(numbers: &mut [u64]) -> Option<()> {
    let sum = |numbers: &[u64]| numbers.iter().try_fold(0u64, |sum, number| sum.checked_add(*number));
    let mut befores = Vec::with_capacity(numbers.len().div_ceil(GRAIN));
    let mut before = 0u64;
    for sum in map(numbers.chunks(GRAIN), |_, chunk| sum(chunk)) {
        befores.push(before);
        before = before.checked_add(sum?)?;
    }
    each(numbers.chunks_mut(GRAIN).zip(befores), |_, (chunk, mut sum)| {
        for number in chunk {
            sum += *number;
            *number = sum;
        }
    });
    Some(())
}

/// Ranges of neighboring segments, one for each task, from the beginnings of segments and the end of the last; and the length
/// of each range.
pub fn shares(edges: &[u64]) -> (Vec<Range<usize>>, Vec<usize>) {
    let segments = edges.len() - 1;
    // Empty segments are work as well.
    let work = |segment: usize| edges[segment] as usize + segment;
    let mut ranges = Vec::new();
    let mut first = 0;
    for chunk in chunks(work(segments), GRAIN) {
        let (mut low, mut high) = (first, segments);
        while low < high {
            let middle = low + (high - low) / 2;
            if work(middle) < chunk.end { low = middle + 1 } else { high = middle }
        }
        if low > first {
            ranges.push(first..low);
        }
        first = low;
    }
    let lengths = ranges.iter().map(|range| (edges[range.end] - edges[range.start]) as usize).collect();
    (ranges, lengths)
}

/// Copies `from` into `to`, which is as long.
pub fn copy<T: Copy + Send + Sync>(from: &[T], to: &mut [T]) {
    fill_chunks(to, GRAIN, |start, chunk| chunk.copy_from_slice(&from[start..start + chunk.len()]));
}

/// Sets every element of `to` to `value(index)`.
pub fn fill<T: Send>(to: &mut [T], value: impl Fn(usize) -> T + Sync) {
    fill_chunks(to, GRAIN, |start, chunk| {
        for (offset, slot) in chunk.iter_mut().enumerate() {
            *slot = value(start + offset);
        }
    });
}

/// Calls `work(start, chunk)` for consecutive chunks of `grain` elements of `to`.
pub fn fill_chunks<T: Send>(to: &mut [T], grain: usize, work: impl Fn(usize, &mut [T]) + Sync) {
    fill_chunks_of(to, grain, &work);
}

/// [`fill_chunks`] of work that is not known where this is compiled.
pub fn fill_chunks_of<T: Send>(to: &mut [T], grain: usize, work: &dyn Chunks<T>) {
    if to.len() <= grain {
        if !to.is_empty() {
            work.on(0, to);
        }
    } else {
        each_of(to.chunks_mut(grain).collect(), &|chunk: usize, slots: &mut [T]| work.on(chunk * grain, slots));
    }
}

/// The first index of `0 .. len` that `bad` answers for, with its answer.
pub fn first<E: Send>(len: usize, bad: impl Fn(usize) -> Option<E> + Sync) -> Option<E> {
    first_chunk(len, &|mut indices| indices.find_map(&bad))
}

/// The place of the first element that is `bad`, where the answer costs no more than a few instructions.
pub fn find<T: Sync>(slice: &[T], bad: impl Fn(&T) -> bool + Sync) -> Option<usize> {
    first_chunk(slice.len(), &|indices| {
        let start = indices.start;
        // Without a branch for each, many are answered for at once.
        let any = |block: &&[T]| block.iter().fold(false, |any, element| any | bad(element));
        let (number, block) = slice[indices].chunks(BLOCK).enumerate().find(|(_, block)| any(block))?;
        block.iter().position(&bad).map(|place| start + number * BLOCK + place)
    })
}

/// The number of elements that [`find`] looks at before it asks if one was bad.
const BLOCK: usize = 512;

/// The answer of the first of consecutive chunks that `scan` answers for.
fn first_chunk<E: Send>(len: usize, scan: &(dyn Fn(Range<usize>) -> Option<E> + Sync)) -> Option<E> {
    let found = Mutex::new((usize::MAX, None));
    // Chunks are begun in order: those that a failing one leaves undone come after it.
    pool::run_ascending(0, len.div_ceil(GRAIN) as i64, &|chunk| {
        let chunk = chunk as usize;
        let Some(answer) = scan(chunk * GRAIN..len.min((chunk + 1) * GRAIN)) else { return 0 };
        let mut found = locked(&found);
        if chunk < found.0 {
            *found = (chunk, Some(answer));
        }
        1
    });
    found.into_inner().unwrap_or_else(PoisonError::into_inner).1
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_several_is_found_and_results_keep_their_order() {
        for threads in 1..4 {
            pool::with_threads(threads, || {
                let answer = |k: usize| (k % (3 * GRAIN) == 3 * GRAIN - 1).then_some(k);
                assert_eq!(first(10 * GRAIN + 5, answer), Some(3 * GRAIN - 1));
                assert_eq!(first(3 * GRAIN - 1, answer), None);
                let numbers: Vec<usize> = (0..3 * GRAIN + 5).collect();
                assert_eq!(find(&numbers, |k| k % (GRAIN + 7) == GRAIN + 6), Some(GRAIN + 6));
                assert_eq!(find(&numbers, |&k| k > 3 * GRAIN + 3), Some(3 * GRAIN + 4));
                assert_eq!(find(&numbers, |&k| k > 3 * GRAIN + 4), None);
                assert_eq!(map([5, 6, 7], |number, task| (number, task)), [(0, 5), (1, 6), (2, 7)]);
                let edges = edges(3 * GRAIN, |k| k as u64 % 3).unwrap();
                assert_eq!(edges[..6], [0, 0, 1, 3, 3, 4]);
                assert_eq!(edges[3 * GRAIN], 3 * GRAIN as u64);
                let (ranges, lengths) = shares(&edges);
                assert!(ranges.len() > 3 && lengths.iter().sum::<usize>() == 3 * GRAIN, "{ranges:?}");
                assert_eq!((ranges[0].start, ranges[ranges.len() - 1].end), (0, 3 * GRAIN));
                assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start), "{ranges:?}");
                assert!(super::edges(GRAIN + 1, |k| u64::MAX * u64::from(k % GRAIN == 0)).is_err());
            });
        }
    }
}

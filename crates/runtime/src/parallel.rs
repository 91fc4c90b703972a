//! Small helpers for loops over large arrays with the threads of the [`pool`].
//!
//! Arrays below [`GRAIN`] elements are handled by the calling thread: handing out work costs more than it saves.
//!
//! ```text
//! each([a, b, c], work)      work(a), work(b), work(c), each by one thread, at once where there are threads
//! ```

use std::sync::{Mutex, PoisonError};

use crate::pool;

/// How many elements one task handles.
pub const GRAIN: usize = 1 << 16;

/// Calls `work(number, task)` for each task, on several threads.
pub fn each<T: Send>(tasks: impl IntoIterator<Item = T>, work: impl Fn(usize, T) + Sync) {
    // Each is taken out once, by whoever comes to it; the locks are never waited for.
    let tasks: Vec<Mutex<Option<T>>> = tasks.into_iter().map(|task| Mutex::new(Some(task))).collect();
    pool::run(0, tasks.len() as i64, &|number| {
        let number = number as usize;
        let task = tasks[number].lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task {
            work(number, task);
        }
        0
    });
}

/// What `work(number, task)` gives for each task, in their order, on several threads.
pub fn map<T: Send, R: Send>(tasks: impl IntoIterator<Item = T>, work: impl Fn(usize, T) -> R + Sync) -> Vec<R> {
    let tasks: Vec<T> = tasks.into_iter().collect();
    let mut results: Vec<Option<R>> = tasks.iter().map(|_| None).collect();
    each(tasks.into_iter().zip(&mut results), |number, (task, result)| *result = Some(work(number, task)));
    results.into_iter().flatten().collect()
}

/// Into how many parts work on so many elements is worth splitting: at most one for each thread.
pub fn parts(len: usize, grain: usize) -> usize {
    (len / grain).clamp(1, pool::threads())
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

/// Calls `work` for each element of `to` and the one of `from` at the same place.
pub fn zip<T: Send, U: Sync>(to: &mut [T], from: &[U], work: impl Fn(&mut T, &U) + Sync) {
    fill_chunks(to, GRAIN, |start, chunk| {
        chunk.iter_mut().zip(&from[start..]).for_each(|(to, from)| work(to, from));
    });
}

/// Calls `work(start, chunk)` for consecutive chunks of `grain` elements of `to`.
pub fn fill_chunks<T: Send>(to: &mut [T], grain: usize, work: impl Fn(usize, &mut [T]) + Sync) {
    // Handing out chunks is compiled once for each type, not for each use.
    fill_chunks_by(to, grain, &work);
}

fn fill_chunks_by<T: Send>(to: &mut [T], grain: usize, work: &(dyn Fn(usize, &mut [T]) + Sync)) {
    if to.len() <= grain {
        if !to.is_empty() {
            work(0, to);
        }
    } else {
        each(to.chunks_mut(grain), |chunk, slots| work(chunk * grain, slots));
    }
}

/// The first index of `0 .. len` that `bad` answers for, with its answer.
pub fn first<E: Send>(len: usize, bad: impl Fn(usize) -> Option<E> + Sync) -> Option<E> {
    let scan = |start: usize| (start..len.min(start + GRAIN)).find_map(&bad);
    let found = Mutex::new((usize::MAX, None));
    // Chunks are begun in order: what a failing one leaves undone comes after it.
    pool::run(0, len.div_ceil(GRAIN) as i64, &|chunk| {
        let chunk = chunk as usize;
        let Some(answer) = scan(chunk * GRAIN) else { return 0 };
        let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
        if chunk < found.0 {
            *found = (chunk, Some(answer));
        }
        1
    });
    found.into_inner().unwrap_or_else(PoisonError::into_inner).1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_several_is_found_and_results_keep_their_order() {
        for threads in 1..4 {
            pool::with_threads(threads, || {
                let answer = |k: usize| (k % (3 * GRAIN) == 3 * GRAIN - 1).then_some(k);
                assert_eq!(first(10 * GRAIN + 5, answer), Some(3 * GRAIN - 1));
                assert_eq!(first(3 * GRAIN - 1, answer), None);
                assert_eq!(map([5, 6, 7], |number, task| (number, task)), [(0, 5), (1, 6), (2, 7)]);
            });
        }
    }
}

//! Small helpers for loops over large arrays with all threads.
//!
//! Arrays below [`GRAIN`] elements are handled by the calling thread: handing out work costs more than it saves.

use rayon::prelude::*;

/// How many elements one task handles.
pub const GRAIN: usize = 1 << 16;

/// Copies `from` into `to`, which is as long.
pub fn copy<T: Copy + Send + Sync>(from: &[T], to: &mut [T]) {
    if from.len() <= GRAIN {
        to.copy_from_slice(from);
    } else {
        to.par_chunks_mut(GRAIN).zip(from.par_chunks(GRAIN)).for_each(|(to, from)| to.copy_from_slice(from));
    }
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
    if to.len() <= grain {
        if !to.is_empty() {
            work(0, to);
        }
    } else {
        to.par_chunks_mut(grain).enumerate().for_each(|(chunk, slots)| work(chunk * grain, slots));
    }
}

/// The first index of `0 .. len` that `bad` answers for, with its answer.
pub fn first<E: Send>(len: usize, bad: impl Fn(usize) -> Option<E> + Sync) -> Option<E> {
    let scan = |start: usize| (start..len.min(start + GRAIN)).find_map(&bad);
    if len <= GRAIN { scan(0) } else { (0..len.div_ceil(GRAIN)).into_par_iter().find_map_first(|c| scan(c * GRAIN)) }
}

//! Keeps a worker off the processor of the thread that it works for.
//!
//! A system that wakes a thread up may put it where the one that woke it is still at work, and leave it there for as long
//! as a short loop takes: both then share one processor while another idles. (Linux does, to keep caches warm; here it
//! was the rule after a pause of 60 ms.) A worker that finds itself there asks to be moved elsewhere, which it stays:
//! the next loop finds it on a processor of its own. It may be anywhere else where the process may be.
//!
//! ```text
//! caller on 1, woken worker on 1:  {0, 1} -> {0}      caller on 0 later, worker on 0:  {0} -> {1}
//! ```
//!
//! On systems other than Linux, nothing is done.

#![allow(unsafe_code)]

/// The processor that the calling thread is on, where that is known.
#[cfg(target_os = "linux")]
pub(crate) fn processor() -> Option<usize> {
    // SAFETY: a query without arguments in memory.
    usize::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// Moves the calling thread to another processor than `other`, if it is on that one and may be on others.
#[cfg(target_os = "linux")]
pub(crate) fn keep_off(other: Option<usize>) {
    use std::sync::OnceLock;

    /// The processors that the process may use: of the first thread that asks, before any was kept off.
    static ALLOWED: OnceLock<Option<libc::cpu_set_t>> = OnceLock::new();
    let size = size_of::<libc::cpu_set_t>();
    let allowed = ALLOWED.get_or_init(|| {
        // SAFETY: an all-zero set is the empty one; the system fills a set of the size that it is told.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            (libc::sched_getaffinity(0, size, &raw mut set) == 0).then_some(set)
        }
    });
    let Some(other) = other.filter(|other| processor() == Some(*other)) else { return };
    let Some(mut set) = *allowed else { return };
    // SAFETY: the set is initialized; a number beyond its end is refused by the check before.
    unsafe {
        if other < 8 * size && libc::CPU_ISSET(other, &set) && libc::CPU_COUNT(&set) > 1 {
            libc::CPU_CLR(other, &mut set);
            // A refusal leaves the thread where it is, which is only slower.
            libc::sched_setaffinity(0, size, &raw const set);
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn processor() -> Option<usize> {
    None
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn keep_off(_other: Option<usize>) {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_moves_away_and_may_move_again() {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..20 {
                    let here = processor();
                    keep_off(here);
                    let alone = std::thread::available_parallelism().map_or(1, usize::from) == 1;
                    assert!(alone || processor() != here);
                }
            });
        });
    }
}

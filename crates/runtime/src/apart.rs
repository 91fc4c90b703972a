//! Keeps workers off the processor of the thread that they work for.
//!
//! A system that wakes a thread up may put it where the one that woke it is still at work. It may leave it there for as long as a short
//! loop takes, or for a few milliseconds: both then share one processor while another idles. (Linux does, to keep caches warm; here it
//! was the rule after a pause of 60 ms.) So a worker that is asleep, or was last seen on its caller's processor, is moved before it is
//! woken, by its caller; a worker that finds itself there nevertheless moves away. It stays kept off that processor, and may be on any
//! other that the process may use.
//!
//! ```text
//! caller on 1, worker asleep:                          {0, 1} -> {0}
//! caller on 0 later, where the worker is and stays:    {0} -> {1}      it would not run before the caller sleeps
//! ```
//!
//! On systems other than Linux, nothing is done.

#![allow(unsafe_code)]

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};

/// No processor.
const NONE: usize = usize::MAX;

/// The place of a worker, as far as others know. Their knowledge may be out of date, and then a worker is moved for nothing, or late.
#[repr(align(128))]
pub(crate) struct Seat {
    /// The system's number of the thread; 0 before it is there.
    thread: AtomicI32,
    /// The number of its process, which is another in the child of a fork.
    process: AtomicI32,
    /// The processor that it was last seen on.
    at: AtomicUsize,
    /// The processor that it is kept off.
    off: AtomicUsize,
    is_asleep: AtomicBool,
}

impl Seat {
    pub(crate) const fn new() -> Seat {
        Seat {
            thread: AtomicI32::new(0),
            process: AtomicI32::new(0),
            at: AtomicUsize::new(NONE),
            off: AtomicUsize::new(NONE),
            is_asleep: AtomicBool::new(false),
        }
    }

    /// Sleeps, so that others know of it.
    pub(crate) fn asleep(&self, sleep: impl Fn()) {
        self.is_asleep.store(true, Ordering::Relaxed);
        sleep();
        self.is_asleep.store(false, Ordering::Relaxed);
    }

    /// Before the worker is woken by a thread on processor `caller`: keeps it off that one, if it could run there.
    pub(crate) fn keep_off(&self, caller: Option<usize>) {
        let Some(caller) = caller else { return };
        let is_there = self.at.load(Ordering::Relaxed) == caller;
        let may_go_there = self.is_asleep.load(Ordering::Relaxed) && self.off.load(Ordering::Relaxed) != caller;
        if is_there || may_go_there {
            self.move_off(caller);
        }
    }

    /// The worker begins to work for a thread that was on processor `caller`, and moves away if it is there as well.
    pub(crate) fn arrive(&self, caller: Option<usize>) {
        let at = processor().unwrap_or(NONE);
        self.at.store(at, Ordering::Relaxed);
        if caller == Some(at) {
            self.move_off(at);
        }
    }
}

/// The processor that the calling thread is on, where that is known.
#[cfg(target_os = "linux")]
pub(crate) fn processor() -> Option<usize> {
    // SAFETY: a query without arguments in memory.
    usize::try_from(unsafe { libc::sched_getcpu() }).ok()
}

#[cfg(target_os = "linux")]
impl Seat {
    /// The calling thread is the worker.
    pub(crate) fn take(&self) {
        // SAFETY: queries without arguments.
        let (process, thread) = unsafe { (libc::getpid(), libc::gettid()) };
        self.process.store(process, Ordering::Relaxed);
        self.thread.store(thread, Ordering::Relaxed);
    }

    /// Keeps the worker off a processor and on any other, where there is one.
    fn move_off(&self, other: usize) {
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
        let thread = self.thread.load(Ordering::Relaxed);
        // SAFETY: a query without arguments.
        let is_here = self.process.load(Ordering::Relaxed) == unsafe { libc::getpid() };
        let Some(mut set) = allowed.filter(|_| thread != 0 && is_here) else { return };
        // SAFETY: the set is initialized; a number beyond its end is refused by the check before.
        unsafe {
            if other < 8 * size && libc::CPU_ISSET(other, &set) && libc::CPU_COUNT(&set) > 1 {
                libc::CPU_CLR(other, &mut set);
                // A refusal leaves the thread where it is, which is only slower.
                libc::sched_setaffinity(thread, size, &raw const set);
                self.at.store(NONE, Ordering::Relaxed);
                self.off.store(other, Ordering::Relaxed);
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn processor() -> Option<usize> {
    None
}

#[cfg(not(target_os = "linux"))]
impl Seat {
    pub(crate) fn take(&self) {}

    fn move_off(&self, _other: usize) {}
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn is_alone() -> bool {
        std::thread::available_parallelism().map_or(1, usize::from) == 1
    }

    #[test]
    fn a_thread_moves_away_and_may_move_again() {
        let seat = Seat::new();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                seat.take();
                for _ in 0..20 {
                    let here = processor();
                    seat.arrive(here);
                    assert!(is_alone() || processor() != here);
                }
            });
        });
    }

    /// The processors that a thread may use.
    fn allowed(thread: i32) -> Vec<usize> {
        // SAFETY: an all-zero set is the empty one; the system fills a set of the size that it is told.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            assert_eq!(libc::sched_getaffinity(thread, size_of::<libc::cpu_set_t>(), &raw mut set), 0);
            (0..8 * size_of::<libc::cpu_set_t>()).filter(|&number| libc::CPU_ISSET(number, &set)).collect()
        }
    }

    #[test]
    fn a_worker_is_moved_by_its_caller() {
        let (seat, is_done) = (Seat::new(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let worker = scope.spawn(|| {
                seat.take();
                while !is_done.load(Ordering::Relaxed) {
                    std::thread::park();
                }
            });
            while seat.thread.load(Ordering::Relaxed) == 0 {
                std::thread::yield_now();
            }
            let thread = seat.thread.load(Ordering::Relaxed);
            let all = allowed(0);
            for &caller in all.iter().filter(|_| all.len() > 1) {
                let others: Vec<usize> = all.iter().copied().filter(|&number| number != caller).collect();
                // It was last seen there.
                seat.at.store(caller, Ordering::Relaxed);
                seat.keep_off(Some(caller));
                assert_eq!(allowed(thread), others);
                // It is awake elsewhere: it stays as it is.
                seat.keep_off(Some(others[0]));
                assert_eq!(allowed(thread), others);
                // It is asleep: it could be woken there.
                seat.asleep(|| seat.keep_off(Some(others[0])));
                assert!(!allowed(thread).contains(&others[0]) && allowed(thread).contains(&caller));
            }
            is_done.store(true, Ordering::Relaxed);
            worker.thread().unpark();
        });
    }
}

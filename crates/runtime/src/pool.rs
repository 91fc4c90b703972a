//! The threads that kernels run on: parallel loops fork onto them and join.
//!
//! Workers are made when a loop first wants them and live as long as the process. Each has a *mailbox*: idle, busy, or
//! the job it is to take part in. A caller puts its job into the mailboxes of idle workers, takes part itself, takes
//! the job back from those that have not looked, and waits for the others. So several callers share the workers, a
//! worker that is slow to wake (or is gone, in the child of a `fork`) delays nobody, and there is no lock.
//!
//! Each thread has a share of neighboring iterations, which it does one after the other; then it helps with the others' shares. A
//! loop that is run again so finds in a processor's caches what the same iterations left there, and neighbors find each other's data.
//! (Two threads of an Intel processor take 0.94 of the time that they take where all iterations are handed out by one counter, if the
//! caches of both together hold what the loop works on.) Within a share a counter hands out one iteration at a time.
//!
//! A worker without work spins for `SPIN` and then sleeps: loops that follow each other find it awake. A loop of two
//! iterations that wait for each other takes 0.7 microseconds while the worker spins, and 50 where it has to be woken
//! up (measured on a virtual machine; `pool_cost` among the tests prints it). A worker keeps off its caller's processor
//! (`apart.rs`). Zero iterations or one, a loop inside of
//! a loop, and a limit of one thread take no synchronization at all.
//!
//! ```
//! use lacunar_runtime::pool;
//! use std::sync::atomic::{AtomicI64, Ordering};
//! let sum = AtomicI64::new(0);
//! let status = pool::with_threads(2, || {
//!     pool::run(1, 101, &|k| {
//!         sum.fetch_add(k, Ordering::Relaxed);
//!         0
//!     })
//! });
//! assert_eq!((status, sum.into_inner()), (0, 5050));
//! ```

#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::c_void;
use std::num::NonZero;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::thread::Thread;
use std::time::{Duration, Instant};

use crate::apart;

/// The body of a loop: does one iteration and gives 0 or why it failed. It does not unwind.
pub type Body = unsafe extern "C" fn(context: *const c_void, iteration: i64) -> i32;

/// The most threads that take part in one loop.
const MOST: usize = 512;
/// How long a thread looks for work, or for the end of others' work, before it sleeps. Sleeping and waking cost about
/// as much.
const SPIN: Duration = Duration::from_micros(40);
/// How often a spinning thread looks before it reads the clock.
const LOOKS: u32 = 64;

thread_local! {
    /// How many threads a loop may use; 0: the default.
    static LIMIT: Cell<usize> = const { Cell::new(0) };
    /// True if the thread is in an iteration.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Calls `f` with at most `n` threads (0: the default number) for the parallel loops it starts from this thread.
pub fn with_threads<R>(n: usize, f: impl FnOnce() -> R) -> R {
    let _restored = Restore { cell: &LIMIT, old: LIMIT.replace(n) };
    f()
}

/// How many threads a parallel loop of this thread may use: the limit of [`with_threads`], else the number in the
/// environment variable `LACUNAR_THREADS`, else the number of processors.
pub fn threads() -> usize {
    static DEFAULT: OnceLock<usize> = OnceLock::new();
    match LIMIT.get() {
        0 => *DEFAULT.get_or_init(|| {
            let wanted = std::env::var("LACUNAR_THREADS").ok().and_then(|text| text.trim().parse().ok());
            wanted.filter(|&n| n > 0).unwrap_or_else(processors).min(MOST)
        }),
        limit => limit.min(MOST),
    }
}

fn processors() -> usize {
    static PROCESSORS: OnceLock<usize> = OnceLock::new();
    *PROCESSORS.get_or_init(|| std::thread::available_parallelism().map_or(1, NonZero::get))
}

/// Puts a thread's value back, also if the code in between unwinds.
struct Restore<T: Copy + 'static> {
    cell: &'static std::thread::LocalKey<Cell<T>>,
    old: T,
}

impl<T: Copy + 'static> Drop for Restore<T> {
    fn drop(&mut self) {
        self.cell.set(self.old);
    }
}

/// Runs `body` for each of `begin .. end`, on several threads. Gives 0, or the first status other than 0 that an
/// iteration gave; no iteration begins after it.
///
/// # Safety
/// `body` can be called with `context` from several threads at once, and does not unwind.
pub unsafe extern "C" fn parallel(body: Body, context: *const c_void, begin: i64, end: i64) -> i32 {
    if begin >= end {
        return 0;
    }
    let count = end.wrapping_sub(begin).cast_unsigned();
    let helpers = if INSIDE.get() { 0 } else { (threads() as u64).min(count) - 1 };
    if helpers == 0 {
        // SAFETY: by the caller's promise.
        return (begin..end).map(|k| unsafe { body(context, k) }).find(|&status| status != 0).unwrap_or(0);
    }
    let job = Job {
        body,
        context,
        begin,
        shares: std::array::from_fn(|number| Share::of(number as u64, helpers + 1, count)),
        parts: (helpers + 1).min(SHARES as u64) as usize,
        status: AtomicI32::new(0),
        finished: AtomicUsize::new(0),
        caller: std::thread::current(),
        processor: apart::processor(),
    };
    job.share(helpers as usize);
    job.status.into_inner()
}

/// [`parallel`] for a closure. If it panics, the process ends.
pub fn run(begin: i64, end: i64, body: &(dyn Fn(i64) -> i32 + Sync)) -> i32 {
    type Closure<'a> = &'a (dyn Fn(i64) -> i32 + Sync);
    extern "C" fn call(context: *const c_void, iteration: i64) -> i32 {
        // SAFETY: the context is a reference to the closure, and lives until the loop has ended.
        unsafe { (*context.cast::<Closure>())(iteration) }
    }
    // SAFETY: the closure can be shared between threads, and a function of this kind does not let a panic through.
    unsafe { parallel(call, std::ptr::from_ref::<Closure>(&body).cast(), begin, end) }
}

/// Iterations that one thread does first, in cache lines of their own.
#[repr(align(128))]
struct Share {
    /// The offset of the next one that nobody does yet; past the end if all are done.
    next: AtomicU64,
    /// One past the offset of the last one.
    end: u64,
}

impl Share {
    /// The share of a number, of `count` iterations for so many threads. Threads that there is no share for help the others.
    fn of(number: u64, threads: u64, count: u64) -> Share {
        let parts = threads.min(SHARES as u64);
        let (each, more) = (count / parts, count % parts);
        let begin = |number: u64| number.min(parts) * each + number.min(more);
        Share { next: AtomicU64::new(begin(number)), end: begin(number + 1) }
    }
}

/// The most shares of a loop.
const SHARES: usize = 16;

/// A loop being run. It lives on the stack of its caller, who leaves when nobody else knows it any more.
struct Job {
    body: Body,
    context: *const c_void,
    begin: i64,
    /// The shares of the threads, of which the first `parts` are used.
    shares: [Share; SHARES],
    parts: usize,
    status: AtomicI32,
    /// How many workers took part and are done.
    finished: AtomicUsize,
    caller: Thread,
    /// The processor that the caller was on.
    processor: Option<usize>,
}

impl Job {
    /// Runs the loop with so many workers, if they are idle.
    fn share(&self, helpers: usize) {
        let asked: Vec<&Worker> =
            (0..MOST).map_while(Worker::get).filter(|worker| worker.offer(self)).take(helpers).collect();
        {
            let _restored = Restore { cell: &INSIDE, old: INSIDE.replace(true) };
            self.work(0);
        }
        let taking_part = asked.iter().filter(|worker| !worker.withdraw(self)).count();
        wait_until(|| self.finished.load(Ordering::Acquire) == taking_part);
    }

    /// Does iterations until none are left, those of the share of this number first.
    fn work(&self, number: usize) {
        let shares = &self.shares[..self.parts];
        let (before, from) = shares.split_at(number % self.parts);
        for share in from.iter().chain(before) {
            // A counter goes no further than one past the end for each thread that has looked.
            while share.next.load(Ordering::Relaxed) < share.end {
                let offset = share.next.fetch_add(1, Ordering::Relaxed);
                if offset >= share.end {
                    break;
                }
                // SAFETY: by the promise of `parallel`'s caller.
                let status = unsafe { (self.body)(self.context, self.begin.wrapping_add_unsigned(offset)) };
                if status != 0 {
                    // Who comes second keeps the first one's status.
                    let _ = self.status.compare_exchange(0, status, Ordering::Relaxed, Ordering::Relaxed);
                    shares.iter().for_each(|share| share.next.store(share.end, Ordering::Relaxed));
                }
            }
        }
    }
}

/// A thread of the pool, as callers see it.
struct Worker {
    /// Null: idle; [`BUSY`]; otherwise a job to take part in.
    mailbox: &'static AtomicPtr<Job>,
    thread: Thread,
}

/// The mailbox's content while the worker is at work: no job has this address.
const BUSY: *mut Job = std::ptr::without_provenance_mut(1);

impl Worker {
    /// The worker of a number, made when it is first asked for; `None` if the system has no more threads.
    fn get(number: usize) -> Option<&'static Worker> {
        static WORKERS: [OnceLock<Option<Worker>>; MOST] = [const { OnceLock::new() }; MOST];
        static MAILBOXES: [Padded; MOST] = [const { Padded(AtomicPtr::new(std::ptr::null_mut())) }; MOST];
        let slot = WORKERS.get(number)?.get_or_init(|| {
            let mailbox = &MAILBOXES[number].0;
            let name = format!("lacunar-{number}");
            let thread = std::thread::Builder::new().name(name).spawn(move || serve(mailbox, number + 1)).ok()?;
            Some(Worker { mailbox, thread: thread.thread().clone() })
        });
        slot.as_ref()
    }

    /// Offers a job; `false` if the worker is not idle.
    fn offer(&self, job: &Job) -> bool {
        let job = std::ptr::from_ref(job).cast_mut();
        let idle = std::ptr::null_mut();
        let offered = self.mailbox.compare_exchange(idle, job, Ordering::Release, Ordering::Relaxed).is_ok();
        if offered {
            self.thread.unpark();
        }
        offered
    }

    /// Takes an offer back; `false` if the worker has accepted it.
    fn withdraw(&self, job: &Job) -> bool {
        let job = std::ptr::from_ref(job).cast_mut();
        self.mailbox.compare_exchange(job, std::ptr::null_mut(), Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

/// A mailbox in cache lines of its own: two, since processors fetch them in pairs.
#[repr(align(128))]
struct Padded(AtomicPtr<Job>);

/// The loop of a worker, which takes part in the jobs it is offered, with the share of its number.
fn serve(mailbox: &AtomicPtr<Job>, number: usize) {
    INSIDE.set(true);
    loop {
        let mut job = std::ptr::null_mut();
        wait_until(|| {
            let offer = mailbox.load(Ordering::Relaxed);
            let accepted =
                !offer.is_null() && mailbox.compare_exchange(offer, BUSY, Ordering::Acquire, Ordering::Relaxed).is_ok();
            if accepted {
                job = offer;
            }
            accepted
        });
        // SAFETY: the offer was accepted, so its caller waits for this worker to be counted as finished, and the job lives
        // until then.
        let caller = unsafe {
            apart::keep_off((*job).processor);
            (*job).work(number);
            (*job).caller.clone()
        };
        // Idle before it is counted: the caller's next loop shall find this worker.
        mailbox.store(std::ptr::null_mut(), Ordering::Relaxed);
        // SAFETY: as above; it is the last time that the job is used.
        unsafe { (*job).finished.fetch_add(1, Ordering::Release) };
        caller.unpark();
    }
}

/// Waits until a condition holds, after a change of which the thread is unparked: awake for a while, then asleep.
fn wait_until(mut holds: impl FnMut() -> bool) {
    if holds() {
        return;
    }
    // On one processor, nobody else runs while this thread spins.
    if processors() > 1 {
        let start = Instant::now();
        while start.elapsed() < SPIN {
            for _ in 0..LOOKS {
                if holds() {
                    return;
                }
                std::hint::spin_loop();
            }
        }
    }
    while !holds() {
        std::thread::park();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::sync::Mutex;

    #[test]
    fn every_iteration_runs_once_on_any_number_of_threads() {
        for threads in [1, 2, 3, 8] {
            with_threads(threads, || {
                for (begin, end) in [(0, 0), (5, 4), (7, 8), (-3, 1000), (i64::MAX - 100, i64::MAX)] {
                    let seen = Mutex::new(Vec::new());
                    assert_eq!(
                        run(begin, end, &|k| {
                            seen.lock().unwrap().push(k);
                            0
                        }),
                        0
                    );
                    let mut seen = seen.into_inner().unwrap();
                    seen.sort_unstable();
                    assert_eq!(seen, (begin..end).collect::<Vec<i64>>());
                }
            });
        }
    }

    #[test]
    fn shares_are_neighbors() {
        for (threads, count) in [(2, 16), (3, 2), (5, 17), (40, 1000), (2, u64::MAX)] {
            let mut next = 0;
            for number in 0..SHARES as u64 {
                let share = Share::of(number, threads, count);
                assert_eq!(share.next.into_inner(), next);
                assert!(share.end - next <= count.div_ceil(threads.min(SHARES as u64)));
                next = share.end;
            }
            assert_eq!(next, count);
        }
        // Both wait for each other, so that each thread has one half, in order.
        let halves = Mutex::new([const { Vec::new() }; 2]);
        let (met, start) = (AtomicU64::new(0), Instant::now());
        with_threads(2, || {
            run(0, 8, &|k| {
                halves.lock().unwrap()[usize::from(k >= 4)].push((k, std::thread::current().id()));
                let round = (k as u64 % 4 + 1) * 2;
                met.fetch_add(1, Ordering::Relaxed);
                while met.load(Ordering::Relaxed) < round && start.elapsed() < Duration::from_secs(5) {
                    std::hint::spin_loop();
                }
                0
            })
        });
        for (half, begin) in halves.into_inner().unwrap().iter().zip([0, 4]) {
            assert_eq!(half.iter().map(|(k, _)| *k).collect::<Vec<_>>(), [begin, begin + 1, begin + 2, begin + 3]);
            assert!(half.iter().all(|(_, id)| *id == half[0].1));
        }
    }

    #[test]
    fn the_first_failure_stops_the_loop() {
        for threads in [1, 2, 4] {
            let begun = AtomicU64::new(0);
            let status = with_threads(threads, || {
                run(0, i64::MAX, &|k| {
                    begun.fetch_add(1, Ordering::Relaxed);
                    if k >= 100 { 7 } else { 0 }
                })
            });
            assert_eq!(status, 7);
            assert!(begun.into_inner() <= 101 + threads as u64);
        }
    }

    #[test]
    fn a_loop_inside_of_a_loop_stays_on_its_thread() {
        let status = with_threads(4, || {
            run(0, 20, &|_| {
                let outer = std::thread::current().id();
                let strayed = |_| i32::from(std::thread::current().id() != outer);
                run(0, 50, &strayed)
            })
        });
        assert_eq!(status, 0);
    }

    #[test]
    fn several_callers_share_the_workers() {
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    with_threads(3, || {
                        for round in 0..200 {
                            let sum = AtomicI32::new(0);
                            run(0, round, &|k| {
                                sum.fetch_add(k as i32, Ordering::Relaxed);
                                0
                            });
                            assert_eq!(i64::from(sum.into_inner()), round * (round - 1) / 2);
                        }
                    });
                });
            }
        });
    }

    #[test]
    fn limits_are_kept_and_put_back() {
        let default = threads();
        assert!(default >= 1);
        with_threads(3, || {
            assert_eq!(threads(), 3);
            assert!(std::panic::catch_unwind(|| with_threads(2, || panic!("leaves"))).is_err());
            assert_eq!(threads(), 3);
            with_threads(0, || assert_eq!(threads(), default));
            let ids = Mutex::new(HashSet::new());
            run(0, 1000, &|_| {
                ids.lock().unwrap().insert(std::thread::current().id());
                0
            });
            assert!(ids.into_inner().unwrap().len() <= 3);
        });
        assert_eq!(threads(), default);
    }

    /// The cost of two iterations that wait for each other, so that the worker is needed for certain.
    #[test]
    fn pool_cost() {
        with_threads(2, || {
            let fork = || {
                let (met, start) = (AtomicU64::new(0), Instant::now());
                run(0, 2, &|_| {
                    met.fetch_add(1, Ordering::Relaxed);
                    while met.load(Ordering::Relaxed) < 2 && start.elapsed() < Duration::from_secs(1) {
                        std::hint::spin_loop();
                    }
                    i32::from(met.load(Ordering::Relaxed) < 2)
                })
            };
            let time = |loops: usize, pause: Duration| {
                let mut times: Vec<Duration> = (0..loops)
                    .map(|_| {
                        std::thread::sleep(pause);
                        let start = Instant::now();
                        assert_eq!(fork(), 0);
                        start.elapsed()
                    })
                    .collect();
                times.sort_unstable();
                times[loops / 2]
            };
            let (warm, cold) = (time(2000, Duration::ZERO), time(100, Duration::from_millis(1)));
            println!("fork and join with one worker: {warm:?} while it spins, {cold:?} after it went to sleep");
        });
    }
}

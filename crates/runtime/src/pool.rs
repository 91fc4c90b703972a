//! The threads that kernels run on: parallel loops fork onto them and join.
//!
//! Workers are made when a loop first wants them and live as long as the process. Each has a *mailbox*: idle, busy, or
//! the job it is to take part in. A caller puts its job into the mailboxes of idle workers, takes part itself, takes
//! the job back from those that have not looked, and waits for the others. So several callers share the workers, a
//! worker that is slow to wake (or is gone, in the child of a `fork`) delays nobody, and there is no lock.
//!
//! Iterations are cut into as many *parts* of neighbors as there are threads. A thread takes the iterations of its own part
//! one at a time, and then those that are left of the others' parts. So nobody waits while there is work; neighbors are read
//! and written by one processor; and a worker has the same part each time a loop is run, whose data its cache may still hold.
//!
//! ```text
//! 16 iterations, 2 threads     caller 0 1 2 3 4 5 6 7  15      worker 8 9 10 11 12 13 14
//! ```
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

use crate::apart::{self, Seat};

/// The body of a loop: does one iteration and gives 0 or why it failed. It does not unwind.
pub type Body = unsafe extern "C" fn(context: *const c_void, iteration: i64) -> i32;

/// The most threads that take part in one loop.
const MOST: usize = 512;
/// The time for which a thread looks for work, or for the end of others' work, before it sleeps. Sleeping and waking
/// cost about as much.
const SPIN: Duration = Duration::from_micros(40);
/// The number of looks of a spinning thread between two readings of the clock.
const LOOKS: u32 = 64;

thread_local! {
    /// The most threads that a loop may use; 0: the default.
    static LIMIT: Cell<usize> = const { Cell::new(0) };
    /// True if the thread is in an iteration.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Calls `f` with at most `n` threads (0: the default number) for the parallel loops it starts from this thread.
pub fn with_threads<R>(n: usize, f: impl FnOnce() -> R) -> R {
    let _restored = Restore { cell: &LIMIT, old: LIMIT.replace(n) };
    f()
}

/// The most threads that a parallel loop of this thread may use: the limit of [`with_threads`], else the number in the
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
    // SAFETY: by the caller's promise.
    unsafe { shared(body, context, (begin, end), Order::InParts) }
}

/// The order in which the iterations of a loop are handed out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    /// Each thread begins with a part of its own.
    InParts,
    /// Each iteration begins after those before it have begun.
    Ascending,
}

/// # Safety
/// As for [`parallel`].
unsafe fn shared(body: Body, context: *const c_void, (begin, end): (i64, i64), order: Order) -> i32 {
    if begin >= end {
        return 0;
    }
    let count = end.wrapping_sub(begin).cast_unsigned();
    let helpers = if INSIDE.get() { 0 } else { (threads() as u64).min(count) - 1 };
    if helpers == 0 {
        // SAFETY: by the caller's promise.
        return (begin..end).map(|k| unsafe { body(context, k) }).find(|&status| status != 0).unwrap_or(0);
    }
    let parts = if order == Order::Ascending { 1 } else { helpers + 1 };
    let job = Job {
        body,
        context,
        begin,
        parts: (0..parts).map(|number| Part::new(count, number, parts)).collect(),
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
    run_closure(begin, end, body, Order::InParts)
}

/// [`run`], with iterations that begin in their order: those that one with a status other than 0 leaves undone come after it.
pub fn run_ascending(begin: i64, end: i64, body: &(dyn Fn(i64) -> i32 + Sync)) -> i32 {
    run_closure(begin, end, body, Order::Ascending)
}

fn run_closure(begin: i64, end: i64, body: &(dyn Fn(i64) -> i32 + Sync), order: Order) -> i32 {
    type Closure<'a> = &'a (dyn Fn(i64) -> i32 + Sync);
    extern "C" fn call(context: *const c_void, iteration: i64) -> i32 {
        // SAFETY: the context is a reference to the closure, and lives until the loop has ended.
        unsafe { (*context.cast::<Closure>())(iteration) }
    }
    // SAFETY: the closure can be shared between threads, and a function of this kind does not let a panic through.
    unsafe { shared(call, std::ptr::from_ref::<Closure>(&body).cast(), (begin, end), order) }
}

/// A loop being run. It lives on the stack of its caller, who leaves when nobody else knows it any more.
struct Job {
    body: Body,
    context: *const c_void,
    begin: i64,
    parts: Vec<Part>,
    status: AtomicI32,
    /// The number of workers that took part and are done.
    finished: AtomicUsize,
    caller: Thread,
    /// The processor that the caller was on.
    processor: Option<usize>,
}

/// Iterations that one thread begins with, counted from the first of the loop. Threads count in cache lines of their own: two, since
/// processors fetch them in pairs.
#[repr(align(128))]
struct Part {
    /// The iteration to be handed out next.
    next: AtomicU64,
    end: u64,
}

impl Part {
    /// The part of a number, of so many that `count` iterations are cut into.
    fn new(count: u64, number: u64, parts: u64) -> Part {
        let (each, over) = (count / parts, count % parts);
        let before = |number: u64| number * each + number.min(over);
        Part { next: AtomicU64::new(before(number)), end: before(number + 1) }
    }

    /// An iteration that nobody else has.
    fn take(&self) -> Option<u64> {
        // Parts that are done are left alone by those who look for more, so that they do not take cache lines from each other.
        let is_left = self.next.load(Ordering::Relaxed) < self.end;
        is_left.then(|| self.next.fetch_add(1, Ordering::Relaxed)).filter(|taken| *taken < self.end)
    }
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
        wait_until(|| self.finished.load(Ordering::Acquire) == taking_part, std::thread::park);
    }

    /// Does iterations until none are left, those of the part of a number first.
    fn work(&self, own: usize) {
        let own = own % self.parts.len();
        let (before, behind) = self.parts.split_at(own);
        for part in behind.iter().chain(before) {
            while let Some(offset) = part.take() {
                // SAFETY: by the promise of `parallel`'s caller.
                let status = unsafe { (self.body)(self.context, self.begin.wrapping_add_unsigned(offset)) };
                if status != 0 {
                    // The first failure's status stays.
                    let _ = self.status.compare_exchange(0, status, Ordering::Relaxed, Ordering::Relaxed);
                    self.parts.iter().for_each(|part| part.next.store(part.end, Ordering::Relaxed));
                }
            }
        }
    }
}

/// A thread of the pool, as callers see it.
struct Worker {
    /// Null: idle; [`BUSY`]; otherwise a job to take part in.
    mailbox: &'static AtomicPtr<Job>,
    seat: &'static Seat,
    thread: Thread,
}

/// The mailbox's content while the worker is at work: no job has this address.
const BUSY: *mut Job = std::ptr::without_provenance_mut(1);

impl Worker {
    /// The worker of a number, made when it is first asked for; `None` if the system has no more threads.
    fn get(number: usize) -> Option<&'static Worker> {
        static WORKERS: [OnceLock<Option<Worker>>; MOST] = [const { OnceLock::new() }; MOST];
        static MAILBOXES: [Padded; MOST] = [const { Padded(AtomicPtr::new(std::ptr::null_mut())) }; MOST];
        static SEATS: [Seat; MOST] = [const { Seat::new() }; MOST];
        let slot = WORKERS.get(number)?.get_or_init(|| {
            let (mailbox, seat) = (&MAILBOXES[number].0, &SEATS[number]);
            let name = format!("lacunar-{number}");
            let thread = std::thread::Builder::new().name(name).spawn(move || serve(mailbox, seat, number + 1)).ok()?;
            Some(Worker { mailbox, seat, thread: thread.thread().clone() })
        });
        slot.as_ref()
    }

    /// Offers a job; `false` if the worker is not idle.
    fn offer(&self, job: &Job) -> bool {
        let caller = job.processor;
        let job = std::ptr::from_ref(job).cast_mut();
        let idle = std::ptr::null_mut();
        let offered = self.mailbox.compare_exchange(idle, job, Ordering::Release, Ordering::Relaxed).is_ok();
        if offered {
            self.seat.keep_off(caller);
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

/// The loop of a worker, which takes part in the jobs it is offered, with the part of a number first.
fn serve(mailbox: &AtomicPtr<Job>, seat: &Seat, part: usize) {
    INSIDE.set(true);
    seat.take();
    loop {
        let mut job = std::ptr::null_mut();
        let is_offered = || {
            let offer = mailbox.load(Ordering::Relaxed);
            let accepted =
                !offer.is_null() && mailbox.compare_exchange(offer, BUSY, Ordering::Acquire, Ordering::Relaxed).is_ok();
            if accepted {
                job = offer;
            }
            accepted
        };
        wait_until(is_offered, || seat.asleep(std::thread::park));
        // SAFETY: the offer was accepted, so its caller waits for this worker to be counted as finished, and the job lives
        // until then.
        let caller = unsafe {
            seat.arrive((*job).processor);
            (*job).work(part);
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
fn wait_until(mut holds: impl FnMut() -> bool, sleep: impl Fn()) {
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
        sleep();
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
    fn parts_hold_each_iteration_once_in_its_order() {
        for (count, parts) in [(1, 1), (16, 2), (17, 3), (5, 5), (u64::MAX, 2)] {
            let parts: Vec<Part> = (0..parts).map(|number| Part::new(count, number, parts)).collect();
            let begins = parts.iter().map(|part| part.next.load(Ordering::Relaxed));
            let ends = parts.iter().map(|part| part.end);
            assert!(begins.eq([0].into_iter().chain(ends).take(parts.len())));
            assert_eq!(parts.last().unwrap().end, count);
        }
        let part = Part::new(16, 1, 2);
        assert!(std::iter::from_fn(|| part.take()).eq(8..16));
        assert_eq!((part.take(), part.next.into_inner()), (None, 16));
    }

    #[test]
    fn iterations_begin_in_their_order_if_asked_to() {
        let begun = AtomicU64::new(0);
        let late = |k: i64| i32::from(k.cast_unsigned() > begun.fetch_add(1, Ordering::SeqCst) + 8);
        assert_eq!(with_threads(4, || run_ascending(0, 10_000, &late)), 0);
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

//! Packed tensors beside C that stores the same and NumPy that stores everything, with `./x bench --structures --peers`.
//!
//! ```text
//! kernels.rs    what a kernel is, its formats and inputs
//! table.rs      the kernels
//! rivals.rs     the peers at work
//! ```
//!
//! The C of `peers/structures.c` has the loops that a programmer writes over packed arrays, compiled with `-O3 -march=native -ffast-math`;
//! NumPy has `einsum` of whole tensors (`peers/structures.py`); taco has code of its own for tensors of order 3 in formats of compressed
//! and dense levels that store the same (`rivals.rs`). All run on one thread and take turns. In its turn each runs as often as fits ten
//! milliseconds, at least once, for whose tensors are still in the caches depends on who ran before, and then as often again; the mean of
//! these runs counts. So a kernel of a microsecond is not measured with the clock's own time. Ours are bound to the kernel, as those of C
//! lie where they are. A time is the median of the rounds; results are compared by the sum of the values that are stored.
//!
//! The gain from the structure of a join's covariances is measured beside: the same kernel that computes every element (`plain`), and the
//! time to make the whole tensor of the packed one (`rebuilt`).

mod kernels;
mod rivals;
mod table;

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use lacunar::{Bound, Format, Tensor, median};
use lacunar_runtime::pool::with_threads;

use self::kernels::{Kernel, Prepared};
use self::rivals::Peers;

/// A kernel with its operands, its last result, and its times.
struct Own<'k> {
    bound: Bound<'k, f64>,
    adds_to: Option<&'static str>,
    times: Vec<f64>,
}

impl<'k> Own<'k> {
    fn new(prepared: &'k Prepared, adds_to: Option<&'static str>) -> Result<Own<'k>> {
        let result = Tensor::try_from(prepared.result()?)?;
        let mut bound = prepared.kernel.bind(result, prepared.inputs.clone())?;
        with_threads(1, || bound.run())?;
        Ok(Own { bound, adds_to, times: Vec::new() })
    }

    /// The mean milliseconds of so many runs, in the memory of the last result, which holds zeros if the kernel adds to it.
    fn run(&mut self, count: u32) -> Result<f64> {
        if let Some(result) = self.adds_to {
            self.bound.values_mut::<f64>(result).context("a result of its own")?.fill(0.0);
        }
        let elapsed = with_threads(1, || {
            let start = Instant::now();
            (0..count).try_for_each(|_| self.bound.run()).map(|()| start.elapsed())
        })?;
        Ok(elapsed.as_secs_f64() * 1e3 / f64::from(count))
    }

    /// The sum of the values of its result, in the runs that count.
    fn turn(&mut self) -> Result<f64> {
        // A result that is added to is cleared once.
        let runs = if self.adds_to.is_some() { 1 } else { runs_after(self.run(1)?) };
        self.run(runs)?;
        let time = self.run(runs)?;
        self.times.push(time);
        Ok(self.bound.result().values().iter().sum())
    }

    /// The median of the times, without those of the first turns, which are for caches and pages.
    fn time(&self) -> f64 {
        median(&self.times[FIRST_TURNS..])
    }
}

/// The turns that are not counted.
const FIRST_TURNS: usize = 2;

/// The number of runs that are worth a turn, after one that took so many milliseconds.
fn runs_after(first: f64) -> u32 {
    const TURN: f64 = 10.0;
    const MOST: f64 = 100_000.0;
    (TURN / first).clamp(1.0, MOST) as u32
}

/// Fails unless a sum of values is the expected one, but for rounding.
fn same(name: &str, sum: f64, expected: f64) -> Result<()> {
    let is_same = (sum - expected).abs() <= 1e-9 * expected.abs().max(1.0);
    ensure!(is_same, "{name} comes to {sum} instead of {expected}");
    Ok(())
}

/// The times of a kernel and its peers, in milliseconds.
struct Measured {
    own: f64,
    /// Of the peers, in the order of [`rivals::NAMES`].
    peers: [Option<f64>; 3],
    /// The time of the same without structure, and the time to make the whole tensor of a packed result.
    plain: Option<(f64, f64)>,
}

impl Measured {
    fn print(&self, name: &str, size: u64) {
        let own = self.own;
        let ratio = |time: Option<f64>| time.map_or("-".to_string(), |time| format!("{:.2}", time / own));
        let peers: String = self
            .peers
            .iter()
            .map(|time| {
                let shown = time.map_or("-".to_string(), milliseconds);
                format!(" {shown:>10} {:>8}", ratio(*time))
            })
            .collect();
        let plain = ratio(self.plain.map(|(time, _)| time));
        let rebuilt = self.plain.map_or("-".to_string(), |(_, time)| format!("{:.2}%", 100.0 * time / own));
        println!("{name:16} {size:8} {:>10}{peers} {plain:>8} {rebuilt:>8}", milliseconds(own));
    }
}

/// Milliseconds with four digits, of which those of a short time stand further behind the point.
fn milliseconds(time: f64) -> String {
    let digits = if time < 0.01 { 6 } else { 4 };
    format!("{time:.digits$}")
}

/// Measures a kernel for a size, beside peers.
fn measured(kernel: &Kernel, size: u64, rounds: usize, peers: &Peers) -> Result<Measured> {
    let (prepared, plain) = (kernel.compiled(size)?, kernel.compiled_plain(size)?);
    let mut own = Own::new(&prepared, None)?;
    let mut plain = plain.as_ref().map(|plain| Own::new(plain, Some(kernel.result.0))).transpose()?;
    let mut rebuilt = Vec::new();
    let mut rivals = peers.start(kernel, size, &prepared);
    for _ in 0..rounds + FIRST_TURNS {
        let expected = own.turn()?;
        for rival in &mut rivals {
            rival.turn(expected).with_context(|| kernel.name.to_string())?;
        }
        let Some(plain) = &mut plain else { continue };
        let sum = plain.turn()?;
        let start = Instant::now();
        let whole = with_threads(1, || own.bound.result().convert(Format::dense(plain.bound.result().dims().len())))?;
        rebuilt.push(start.elapsed().as_secs_f64() * 1e3);
        let expected: f64 = whole.values().iter().sum();
        same("the kernel without structure", sum, expected).with_context(|| kernel.name.to_string())?;
    }
    let of = |name: &str| rivals.iter().find(|rival| rival.name() == name).map(|rival| rival.time());
    Ok(Measured {
        own: own.time(),
        peers: rivals::NAMES.map(of),
        plain: plain.map(|plain| (plain.time(), median(&rebuilt[FIRST_TURNS..]))),
    })
}

/// Keeps this program and those that it starts on the processor where it is: one that is moved between its two runs finds other caches.
#[cfg(target_os = "linux")]
fn stay() {
    use rustix::thread::{CpuSet, sched_getcpu, sched_setaffinity};

    let mut here = CpuSet::new();
    here.set(sched_getcpu());
    if let Err(error) = sched_setaffinity(None, &here) {
        println!("programs may be moved between processors: {error}");
    }
}

#[cfg(not(target_os = "linux"))]
fn stay() {}

/// Measures and prints the kernels that the filters choose, by their names.
///
/// # Errors
/// A kernel is not compiled, or engines come to different results.
pub fn measure(filters: &[String], rounds: usize, quick: bool, with_peers: bool) -> Result<()> {
    stay();
    let folder = tempfile::tempdir()?;
    let peers = Peers::build(folder.path(), with_peers);
    let peers_named: String = rivals::NAMES.iter().map(|name| format!(" {name:>10} {:>8}", "ratio")).collect();
    println!("{:16} {:>8} {:>10}{peers_named} {:>8} {:>8}", "kernel", "n", "ms", "plain", "rebuilt");
    let (mut product, mut count) = (0.0, 0);
    for kernel in table::all().filter(|kernel| super::is_wanted(filters, kernel.name)) {
        for &size in kernel.sizes.iter().take(if quick { 1 } else { usize::MAX }) {
            let measured = measured(&kernel, size, rounds, &peers)?;
            measured.print(kernel.name, size);
            if let Some(time) = measured.peers[0] {
                product += (time / measured.own).ln();
                count += 1;
            }
        }
    }
    if count > 0 {
        println!("geometric mean of the ratios to packed C: {:.2}", (product / f64::from(count)).exp());
    }
    Ok(())
}

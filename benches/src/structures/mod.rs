//! Packed tensors beside C that stores the same and NumPy that stores everything, with `./x bench --structures --peers`.
//!
//! ```text
//! kernels.rs    what a kernel is, its formats and inputs
//! table.rs      the kernels
//! ```
//!
//! The C of `peers/structures.c` has the loops that a programmer writes over packed arrays, compiled with `-O3 -march=native -ffast-math`;
//! NumPy has `einsum` of whole tensors (`peers/structures.py`). All run on one thread and take turns. In its turn each runs twice, and
//! the second time counts: whose tensors are still in the caches depends on who ran before. Ours are bound to the kernel, as those of C
//! lie where they are. A time is the median of the rounds; results are compared by the sum of the values that are stored.
//!
//! The gain from the structure of a join's covariances is measured beside: the same kernel that computes every element (`plain`), and the
//! time to make the whole tensor of the packed one (`rebuilt`).

mod kernels;
mod table;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use lacunar::{Bound, Format, Tensor, median};
use lacunar_runtime::pool::with_threads;

use self::kernels::{Kernel, Prepared};
use crate::peers::program::{Peer, Program, compile, sources};

/// The programs that could be built.
struct Peers {
    c: Option<Program>,
    numpy: Option<Program>,
}

impl Peers {
    fn build(folder: &Path, wanted: bool) -> Peers {
        if !wanted {
            return Peers { c: None, numpy: None };
        }
        let program: PathBuf = folder.join("structures");
        let c = match compile("cc", "structures.c", &["-ffast-math".to_string()], &program) {
            Ok(()) => Some(Program::new(&program)),
            Err(error) => {
                println!("packed C is left out: {error:#}");
                None
            }
        };
        let python = std::env::var_os("PYTHON").unwrap_or_else(|| "python3".into());
        let command = vec![python, sources().join("structures.py").into()];
        Peers { c, numpy: Some(Program { command, environment: Vec::new() }) }
    }
}

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

    /// Runs the kernel, in the memory of its last result, which holds zeros if the kernel adds to it.
    fn run(&mut self) -> Result<f64> {
        if let Some(result) = self.adds_to {
            self.bound.values_mut::<f64>(result).context("a result of its own")?.fill(0.0);
        }
        let elapsed = with_threads(1, || {
            let start = Instant::now();
            self.bound.run().map(|()| start.elapsed())
        })?;
        self.times.push(elapsed.as_secs_f64() * 1e3);
        Ok(self.bound.result().values().iter().sum())
    }

    /// The sum of the values of its result, in the second of two runs.
    fn turn(&mut self) -> Result<f64> {
        self.run()?;
        self.times.pop();
        self.run()
    }

    /// The median of the times, without those of the first turns, which are for caches and pages.
    fn time(&self) -> f64 {
        median(&self.times[FIRST_TURNS..])
    }
}

/// The turns that are not counted.
const FIRST_TURNS: usize = 2;

/// A peer at work, and its times.
struct Rival {
    name: &'static str,
    peer: Peer,
    times: Vec<f64>,
}

impl Rival {
    fn start(name: &'static str, program: &Program, kernel: &str, size: u64) -> Result<Rival> {
        let size = size.to_string();
        Ok(Rival { name, peer: Peer::start(name, program, Path::new(&size), kernel, 1)?, times: Vec::new() })
    }

    /// The second of two runs, whose result has to have this sum.
    fn turn(&mut self, expected: f64) -> Result<()> {
        self.peer.ask("step")?;
        let answer = self.peer.ask("step")?;
        let &[time, sum] = &answer[..] else { anyhow::bail!("{} answered {answer:?}", self.name) };
        same(self.name, sum, expected)?;
        self.times.push(time);
        Ok(())
    }

    fn time(&self) -> f64 {
        median(&self.times[FIRST_TURNS..])
    }
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
    c: Option<f64>,
    numpy: Option<f64>,
    /// The time of the same without structure, and the time to make the whole tensor of a packed result.
    plain: Option<(f64, f64)>,
}

impl Measured {
    fn print(&self, name: &str, size: u64) {
        let shown = |time: Option<f64>| match time {
            Some(time) => (format!("{time:.4}"), format!("{:.2}", time / self.own)),
            None => ("-".to_string(), "-".to_string()),
        };
        let ((c, to_c), (numpy, to_numpy)) = (shown(self.c), shown(self.numpy));
        let (_, to_plain) = shown(self.plain.map(|(time, _)| time));
        let rebuilt = self.plain.map_or("-".to_string(), |(_, time)| format!("{:.2}%", 100.0 * time / self.own));
        let own = self.own;
        println!(
            "{name:16} {size:8} {own:10.4} {c:>10} {to_c:>8} {numpy:>10} {to_numpy:>8} {to_plain:>8} {rebuilt:>8}"
        );
    }
}

/// Measures a kernel for a size, beside peers.
fn measured(kernel: &Kernel, size: u64, rounds: usize, peers: &Peers) -> Result<Measured> {
    let (prepared, plain) = (kernel.compiled(size)?, kernel.compiled_plain(size)?);
    let mut own = Own::new(&prepared, None)?;
    let mut plain = plain.as_ref().map(|plain| Own::new(plain, Some(kernel.result.0))).transpose()?;
    let mut rebuilt = Vec::new();
    let numpy = peers.numpy.as_ref().filter(|_| size <= kernel.whole_up_to);
    let mut rivals = Vec::new();
    for (name, program) in [("packed C", peers.c.as_ref()), ("numpy", numpy)] {
        let Some(program) = program else { continue };
        match Rival::start(name, program, kernel.name, size) {
            Ok(rival) => rivals.push(rival),
            Err(error) => println!("{name} is left out: {error:#}"),
        }
    }
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
    let of = |name: &str| rivals.iter().find(|rival| rival.name == name).map(Rival::time);
    Ok(Measured {
        own: own.time(),
        c: of("packed C"),
        numpy: of("numpy"),
        plain: plain.map(|plain| (plain.time(), median(&rebuilt[FIRST_TURNS..]))),
    })
}

/// Measures and prints the kernels that the filters choose, by their names.
///
/// # Errors
/// A kernel is not compiled, or engines come to different results.
pub fn measure(filters: &[String], rounds: usize, quick: bool, with_peers: bool) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let peers = Peers::build(folder.path(), with_peers);
    println!(
        "{:16} {:>8} {:>10} {:>10} {:>8} {:>10} {:>8} {:>8} {:>8}",
        "kernel", "n", "ms", "packed C", "ratio", "numpy", "ratio", "plain", "rebuilt"
    );
    let (mut product, mut count) = (0.0, 0);
    for kernel in table::all().filter(|kernel| super::is_wanted(filters, kernel.name)) {
        for &size in kernel.sizes.iter().take(if quick { 1 } else { usize::MAX }) {
            let measured = measured(&kernel, size, rounds, &peers)?;
            measured.print(kernel.name, size);
            if let Some(time) = measured.c {
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

//! Packed tensors beside C that stores the same and NumPy that stores everything, with `./x bench --structures --peers`.
//!
//! ```text
//! kernels.rs    the kernels, their formats and inputs
//! ```
//!
//! The C of `peers/structures.c` has the loops that a programmer writes over packed arrays, compiled with `-O3 -march=native -ffast-math`;
//! NumPy has `einsum` of whole tensors (`peers/structures.py`). All run on one thread and take turns. In its turn each runs twice, and the second
//! time counts: whose tensors are still in the caches depends on who ran before. Ours are bound to the kernel, as those of C lie where they are. A
//! time is the median of the rounds; results are compared by the sum of the values that are stored.

mod kernels;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use lacunar::{Bound, DynTensor, FormatSpec, Kernel, Options, Tensor, median};
use lacunar_runtime::pool::with_threads;

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
struct Prepared<'k> {
    bound: Bound<'k, f64>,
    times: Vec<f64>,
}

/// A kernel for operands.
fn compiled(of: &kernels::Kernel, size: u64) -> Result<(Kernel, Vec<DynTensor>)> {
    let operands = of.operands.iter().map(|&(name, format, order)| Ok((name, kernels::tensor(format, order, size)?)));
    let operands = operands.collect::<Result<Vec<_>>>()?;
    let mut options = Options::new().tuned(false).format(of.result.0, of.result.1.parse::<FormatSpec>()?);
    for (name, tensor) in &operands {
        options = options.tensor(name, tensor);
    }
    let kernel = with_threads(1, || Kernel::compile(of.text, &options)).with_context(|| of.text.to_string())?;
    let mut operands: Vec<Option<(&str, DynTensor)>> = operands.into_iter().map(Some).collect();
    let mut inputs = Vec::new();
    for name in kernel.inputs() {
        let own = operands.iter_mut().find(|operand| operand.as_ref().is_some_and(|(own, _)| *own == name));
        inputs.push(own.and_then(Option::take).context("an input that is no operand")?.1);
    }
    Ok((kernel, inputs))
}

impl<'k> Prepared<'k> {
    fn new(kernel: &'k Kernel, inputs: Vec<DynTensor>) -> Result<Prepared<'k>> {
        let given: Vec<(&str, &DynTensor)> = kernel.inputs().zip(&inputs).collect();
        let results = with_threads(1, || kernel.run_named(&given))?.results;
        let (_, result) = results.into_iter().next().context("a kernel without a result")?;
        let mut bound = kernel.bind(Tensor::try_from(result)?, inputs)?;
        with_threads(1, || bound.run())?;
        Ok(Prepared { bound, times: Vec::new() })
    }

    /// Runs the kernel, in the memory of its last result.
    fn run(&mut self) -> Result<f64> {
        let elapsed = with_threads(1, || {
            let start = std::time::Instant::now();
            self.bound.run().map(|()| start.elapsed())
        })?;
        self.times.push(elapsed.as_secs_f64() * 1e3);
        Ok(self.bound.result().values().iter().sum())
    }
}

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
}

/// Measures and prints what the filters choose, by the name of the kernel.
///
/// # Errors
/// A kernel is not compiled, or engines come to different results.
pub fn measure(filters: &[String], rounds: usize, quick: bool, with_peers: bool) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let peers = Peers::build(folder.path(), with_peers);
    println!(
        "{:16} {:>6} {:>10} {:>10} {:>8} {:>10} {:>8}",
        "kernel", "n", "ms", "packed C", "ratio", "numpy", "ratio"
    );
    let (mut product, mut count) = (0.0, 0);
    for kernel in kernels::KERNELS.iter().filter(|kernel| super::is_wanted(filters, kernel.name)) {
        for &size in kernel.sizes.iter().take(if quick { 1 } else { usize::MAX }) {
            let (compiled, inputs) = compiled(kernel, size)?;
            let mut own = Prepared::new(&compiled, inputs)?;
            let numpy = peers.numpy.as_ref().filter(|_| size <= kernel.whole_up_to);
            let mut rivals = Vec::new();
            for (name, program) in [("packed C", peers.c.as_ref()), ("numpy", numpy)] {
                let Some(program) = program else { continue };
                match Rival::start(name, program, kernel.name, size) {
                    Ok(rival) => rivals.push(rival),
                    Err(error) => println!("{name} is left out: {error:#}"),
                }
            }
            // The first turns are for caches and pages.
            for round in 0..rounds + 2 {
                own.run()?;
                own.times.pop();
                let expected = own.run()?;
                for rival in &mut rivals {
                    rival.peer.ask("step")?;
                    let answer = rival.peer.ask("step")?;
                    let &[time, sum] = &answer[..] else { anyhow::bail!("{} answered {answer:?}", rival.name) };
                    let is_right = (sum - expected).abs() <= 1e-9 * expected.abs().max(1.0);
                    ensure!(is_right, "{} of {}: {sum} instead of {expected}", rival.name, kernel.name);
                    if round >= 2 {
                        rival.times.push(time);
                    }
                }
            }
            let mine = median(&own.times[2..]);
            let shown = |name: &str| {
                let times = rivals.iter().find(|rival| rival.name == name).map(|rival| median(&rival.times));
                times.map_or(("-".to_string(), "-".to_string()), |time| {
                    (format!("{time:.4}"), format!("{:.2}", time / mine))
                })
            };
            if let Some(rival) = rivals.iter().find(|rival| rival.name == "packed C") {
                product += (median(&rival.times) / mine).ln();
                count += 1;
            }
            let ((c, to_c), (numpy, to_numpy)) = (shown("packed C"), shown("numpy"));
            println!("{:16} {size:6} {mine:10.4} {c:>10} {to_c:>8} {numpy:>10} {to_numpy:>8}", kernel.name);
        }
    }
    if count > 0 {
        println!("geometric mean of the ratios to packed C: {:.2}", (product / f64::from(count)).exp());
    }
    Ok(())
}

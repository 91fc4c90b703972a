//! Steps over a matrix of nodes, fresh (packed), aged (entries put in one after the other, in random order), and aged and compacted then,
//! beside the same in csr; and sums of a matrix of nodes and one in csr.
//!
//! ```text
//! y(i) = A(i,j) * x(j)     y(i) = A(i,j) * x(j) / d(j)     C(i,j) = A(i,j) + B(i,j)
//! ```
//!
//! The result is dense, or a vector of nodes, or in csr.

use anyhow::{Context, Result, bail, ensure};
use lacunar::{Coo, DynTensor, Format, FormatSpec, Kernel, One, Options};
use lacunar_runtime::pool::with_threads;
use lacunar_runtime::{Coordinates, Values};

use super::inputs::Input;
use super::least;
use crate::peers::program::Peer;

/// Formats that take part; ratios are to the first.
const FORMATS: [&str; 11] = [
    "csr",
    "d{blist<64>}",
    "d{blist<16>}",
    "d{vblist}",
    "d{btree}",
    "d{bst}",
    "d{ctree}",
    "d{pactree}",
    "{bst}{bst}",
    "{bst}{ctree}",
    "{btree}{btree}",
];
/// Formats of patterns that take part: like the graphs of Aspen, they have no values.
const PATTERNS: [&str; 3] = ["csr", "d{ctree}", "{bst}{ctree}"];
const STEP: &str = "y(i) = A(i,j) * x(j)";
const SCALED: &str = "y(i) = A(i,j) * x(j) / d(j)";
const SUM: &str = "C(i,j) = A(i,j) + B(i,j)";

/// The ways of peers to go through a matrix.
fn ways(peer: &str) -> &'static [&'static str] {
    match peer {
        "pam" => &["rows", "tree"],
        "cpam" => &["rows"],
        _ => &["map", "flat"],
    }
}

/// Matrices, and the vectors of nodes that products are stored in.
const INTO_TREES: [(&str, &str); 4] =
    [("d{bst}", "{bst}"), ("{bst}{bst}", "{bst}"), ("{bst}{ctree}", "{bst}"), ("{btree}{btree}", "{btree}")];

/// A kernel with its operands, and its times.
struct Prepared {
    kernel: Kernel,
    operands: Vec<(&'static str, DynTensor)>,
    threads: usize,
    times: Vec<f64>,
}

impl Prepared {
    fn new(
        text: &str,
        operands: Vec<(&'static str, DynTensor)>,
        result: Option<(&str, &str)>,
        threads: usize,
    ) -> Result<Prepared> {
        let mut options = Options::new().tuned(false);
        for (name, tensor) in &operands {
            options = options.tensor(name, tensor);
        }
        if let Some((name, format)) = result {
            options.declarations = options.declarations.format(name, format.parse::<FormatSpec>()?);
        }
        let kernel = with_threads(threads, || Kernel::compile(text, &options)).with_context(|| text.to_string())?;
        Ok(Prepared { kernel, operands, threads, times: Vec::new() })
    }

    /// Runs the kernel; the sum of the result's values.
    fn run(&mut self) -> Result<f64> {
        let given: Vec<(&str, &DynTensor)> = self.operands.iter().map(|(name, tensor)| (*name, tensor)).collect();
        let run = with_threads(self.threads, || self.kernel.run_named(&given))?;
        self.times.push((run.convert + run.kernel).as_secs_f64() * 1e3);
        let (_, result) = run.results.first().context("there is no result")?;
        // Nodes have room for values that are not there.
        if result.format().levels().iter().any(|level| level.kind.schema().is_some()) {
            let Values::F64(values) = result.to_coo()?.values else { bail!("the result is of another type") };
            return Ok(values.iter().sum());
        }
        Ok(result.values().as_slice::<f64>().map_or(0.0, |values| values.iter().sum()))
    }
}

/// A vector of values.
fn vector(size: u64, value: impl Fn(u64) -> f64) -> Result<DynTensor> {
    let coords = vec![Coordinates::U32((0..size as u32).collect())];
    let values = Values::F64((0..size).map(value).collect());
    Ok(DynTensor::from_coo(Coo { dims: vec![size], coords, values }, &Format::dense(1))?)
}

/// The history of a matrix.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Age {
    /// It was packed.
    Fresh,
    /// All its entries were put in as they arrived.
    Aged,
    /// It was compacted behind that.
    Compacted,
}

impl Age {
    const ALL: [(&'static str, Age); 3] = [("fresh", Age::Fresh), ("aged", Age::Aged), ("compacted", Age::Compacted)];
}

/// A matrix in a format, of an age.
fn matrix(input: &Input, format: &str, age: Age) -> Result<DynTensor> {
    of_age(input, (format, age), Input::pack, |tensor, k, at| Ok(tensor.insert(at, input.values[k]).map(drop)?))
}

/// The same without values.
fn pattern(input: &Input, format: &str, age: Age) -> Result<DynTensor> {
    of_age(input, (format, age), Input::pack_pattern, |tensor, _, at| Ok(tensor.insert(at, One).map(drop)?))
}

/// A matrix whose first entries `pack` packs, and into which `insert` puts the entry of a number at its coordinates.
fn of_age(
    input: &Input,
    (format, age): (&str, Age),
    pack: impl Fn(&Input, usize, &Format) -> Result<DynTensor>,
    insert: impl Fn(&mut DynTensor, usize, &[u64]) -> Result<()>,
) -> Result<DynTensor> {
    let format = format.parse::<FormatSpec>()?.resolve(2)?;
    if age == Age::Fresh || format.levels().iter().all(|level| level.kind.schema().is_none()) {
        return pack(input, input.len(), &format);
    }
    let mut tensor = pack(input, 0, &format)?;
    for (k, &(i, j)) in input.coordinates.iter().enumerate() {
        insert(&mut tensor, k, &[i.into(), j.into()])?;
    }
    if age == Age::Compacted {
        tensor.compact()?;
    }
    Ok(tensor)
}

/// Measures products.
pub fn measure(input: &Input, peers: &mut [(&'static str, Peer)], rounds: usize, threads: usize) -> Result<()> {
    for (name_of_age, age) in Age::ALL {
        let x = || vector(input.columns, |j| (1 + j % 7) as f64);
        let (mut steps, mut scaled) = (Vec::new(), Vec::new());
        for format in FORMATS {
            let tensor = matrix(input, format, age)?;
            steps.push(Prepared::new(STEP, vec![("A", tensor.try_clone()?), ("x", x()?)], None, threads)?);
            let degrees = vector(input.columns, |j| (1 + j % 5) as f64)?;
            scaled.push(Prepared::new(SCALED, vec![("A", tensor), ("x", x()?), ("d", degrees)], None, threads)?);
        }
        let mut patterns = Vec::new();
        for format in PATTERNS {
            let operands = vec![("A", pattern(input, format, age)?), ("x", x()?)];
            patterns.push(Prepared::new(STEP, operands, None, threads)?);
        }
        // Peers have no third age.
        let peers: &mut [(&'static str, Peer)] = if age == Age::Compacted { &mut [] } else { &mut *peers };
        for (_, peer) in peers.iter_mut() {
            peer.ask(&format!("load {name_of_age}"))?;
        }
        let mut theirs: Vec<(String, Vec<f64>)> = Vec::new();
        for round in 0..rounds {
            let expected = steps[0].run()?;
            for prepared in &mut steps[1..] {
                let sum = prepared.run()?;
                ensure!((sum - expected).abs() <= 1e-9 * expected.abs(), "{sum} instead of {expected}");
            }
            for prepared in &mut scaled {
                prepared.run()?;
            }
            let unweighted = patterns[0].run()?;
            for prepared in &mut patterns[1..] {
                ensure!(prepared.run()? == unweighted, "the products with patterns are not the same");
            }
            let mut next = 0;
            for (name, peer) in peers.iter_mut() {
                if round == 0 && *name != "cpam" {
                    peer.ask("step prepare")?;
                }
                for way in ways(name) {
                    let answer = peer.ask(&format!("step {way}"))?;
                    let is_right = (answer[1] - expected).abs() <= 1e-9 * expected.abs() || *name == "aspen";
                    ensure!(is_right, "{name} has {} instead of {expected}", answer[1]);
                    if round == 0 {
                        theirs.push((format!("{name} {way}"), Vec::new()));
                    }
                    theirs[next].1.push(answer[0]);
                    next += 1;
                }
            }
        }
        println!(
            "{:16} {:>9} {:>8} {:>11} {:>8}",
            format!("step, {name_of_age}"),
            "ms",
            "to csr",
            "x(j)/d(j)",
            "to csr"
        );
        let (csr, csr_scaled) = (least(&steps[0].times), least(&scaled[0].times));
        for ((format, step), scaled) in FORMATS.iter().zip(&steps).zip(&scaled) {
            let (own, own_scaled) = (least(&step.times), least(&scaled.times));
            println!("{format:16} {own:9.3} {:8.2} {own_scaled:11.3} {:8.2}", own / csr, own_scaled / csr_scaled);
        }
        for (format, step) in PATTERNS.iter().zip(&patterns) {
            let (own, name) = (least(&step.times), format!("{format}, a pattern"));
            println!("{name:16} {own:9.3} {:8.2}", own / csr);
        }
        for (name, times) in theirs {
            println!("{name:16} {:9.3} {:8.2}", least(&times), least(&times) / csr);
        }
    }
    Ok(())
}

/// Measures products that are stored in vectors of nodes.
pub fn measure_into_trees(
    input: &Input,
    peers: &mut [(&'static str, Peer)],
    rounds: usize,
    threads: usize,
) -> Result<()> {
    for (name_of_age, age) in [("fresh", Age::Fresh), ("aged", Age::Aged)] {
        let mut steps = Vec::new();
        for (format, result) in INTO_TREES {
            let x = vector(input.columns, |j| (1 + j % 7) as f64)?;
            let operands = vec![("A", matrix(input, format, age)?), ("x", x)];
            steps.push(Prepared::new(STEP, operands, Some(("y", result)), threads)?);
        }
        let mut theirs = Vec::new();
        for (_, peer) in peers.iter_mut().filter(|(name, _)| *name == "pam") {
            peer.ask(&format!("load {name_of_age}"))?;
            peer.ask("step prepare")?;
        }
        for _ in 0..rounds {
            let expected = steps[0].run()?;
            for prepared in &mut steps[1..] {
                let sum = prepared.run()?;
                ensure!((sum - expected).abs() <= 1e-9 * expected.abs(), "{sum} instead of {expected}");
            }
            for (_, peer) in peers.iter_mut().filter(|(name, _)| *name == "pam") {
                let answer = peer.ask("step map")?;
                ensure!((answer[1] - expected).abs() <= 1e-9 * expected, "{} instead of {expected}", answer[1]);
                theirs.push(answer[0]);
            }
        }
        println!("{:16} {:>9}", format!("trees, {name_of_age}"), "ms");
        for ((format, result), step) in INTO_TREES.iter().zip(&steps) {
            println!("{:16} {:9.3}", format!("{format} {result}"), least(&step.times));
        }
        if !theirs.is_empty() {
            println!("{:16} {:9.3}", "pam map", least(&theirs));
        }
    }
    Ok(())
}

/// Measures sums of a matrix of nodes and its shifted copy in csr.
pub fn measure_sum(input: &Input, peers: &mut [(&'static str, Peer)], rounds: usize, threads: usize) -> Result<()> {
    let other = Input {
        coordinates: input.coordinates.iter().map(|&(i, j)| (i, (j + 1) % input.columns as u32)).collect(),
        values: input.values.clone(),
        ..*input
    };
    for (name_of_age, age) in [("fresh", Age::Fresh), ("aged", Age::Aged)] {
        let formats = ["csr", "d{bst}", "d{ctree}", "d{btree}", "d{blist<64>}"];
        let prepare = |format: &&str| {
            let operands = vec![("A", matrix(input, format, age)?), ("B", matrix(&other, "csr", Age::Fresh)?)];
            Prepared::new(SUM, operands, Some(("C", "csr")), threads)
        };
        let mut sums = formats.iter().map(prepare).collect::<Result<Vec<_>>>()?;
        let mut theirs = Vec::new();
        for (_, peer) in peers.iter_mut().filter(|(name, _)| *name == "pam") {
            peer.ask(&format!("load {name_of_age}"))?;
            peer.ask("step prepare")?;
        }
        for _ in 0..rounds {
            let expected = sums[0].run()?;
            for prepared in &mut sums[1..] {
                ensure!((prepared.run()? - expected).abs() <= 1e-9 * expected, "the sums are not the same");
            }
            for (_, peer) in peers.iter_mut().filter(|(name, _)| *name == "pam") {
                let answer = peer.ask("step sum")?;
                ensure!((answer[1] - expected).abs() <= 1e-9 * expected, "{} instead of {expected}", answer[1]);
                theirs.push(answer[0]);
            }
        }
        println!("{:16} {:>9} {:>8}", format!("sum, {name_of_age}"), "ms", "to csr");
        let csr = least(&sums[0].times);
        for (format, sum) in formats.iter().zip(&sums) {
            println!("{format:16} {:9.3} {:8.2}", least(&sum.times), least(&sum.times) / csr);
        }
        if !theirs.is_empty() {
            println!("{:16} {:9.3} {:8.2}", "pam union", least(&theirs), least(&theirs) / csr);
        }
    }
    Ok(())
}

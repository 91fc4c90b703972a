//! Dynamic tensors beside their peers: PAM, CPAM and Aspen, with `./x bench --dynamic --peers`.
//!
//! ```text
//! inputs.rs    matrices whose entries arrive in random order
//! step.rs      products and sums over nodes, fresh and aged, beside csr
//! update.rs    entries put in and taken out, one at a time and in batches
//! peers.rs     the programs of benches/peers/dynamic*, and where the peers' headers are
//! ```
//!
//! All run on as many threads and take turns. A time is the least of the rounds; other programs may run on the machine.

mod inputs;
mod peers;
mod step;
mod update;

use anyhow::Result;

use inputs::Input;
use peers::Peers;

/// Measures and prints the cases that the filters choose, by "step/input", "tree/input", "add/input" and "update/input".
///
/// # Errors
/// An input can't be made, a kernel is not compiled, or engines come to different results.
pub fn measure(filters: &[String], rounds: usize, quick: bool, with_peers: bool, threads: usize) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let peers = if with_peers { Peers::build(folder.path(), threads) } else { Peers::default() };
    let wanted = |what: &str, input: &str| super::is_wanted(filters, &format!("{what}/{input}"));
    for name in inputs::names(quick) {
        if !["step", "tree", "add", "update"].iter().any(|what| wanted(what, &name)) {
            continue;
        }
        let input = Input::read(&name)?;
        println!("\n{name}: {} rows, {} entries, threads {threads}", input.rows, input.len());
        let path = folder.path().join("entries");
        input.write(&path)?;
        let mut started = peers.start(&path)?;
        if wanted("step", &name) {
            step::measure(&input, &mut started, rounds, threads)?;
        }
        if wanted("tree", &name) {
            step::measure_into_trees(&input, &mut started, rounds, threads)?;
        }
        if wanted("add", &name) {
            step::measure_sum(&input, &mut started, rounds, threads)?;
        }
        if wanted("update", &name) {
            update::measure(&input, &mut started, rounds.min(3), threads)?;
        }
    }
    Ok(())
}

/// The least of some times.
fn least(times: &[f64]) -> f64 {
    times.iter().copied().fold(f64::INFINITY, f64::min)
}

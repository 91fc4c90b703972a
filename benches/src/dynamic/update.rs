//! Entries that are put in and taken out: with the first half of a matrix stored, the other half arrives in batches, and goes again.
//!
//! ```text
//! batch of       1: insert, remove     1000: insert, remove     100000: insert, remove      million entries a second
//! ```
//!
//! Peers have a map or a tree for each row in an array, but for Aspen, whose rows are in a tree, and which gets no values. Aspen keeps
//! versions; `kept` are tensors of which a snapshot is taken before each batch, and kept until the next one.

use std::hint::black_box;
use std::time::Instant;

use anyhow::{Result, ensure};
use lacunar::{Batch, DynTensor, Format, FormatSpec};
use lacunar_runtime::pool::with_threads;

use super::inputs::Input;
use super::least;
use crate::peers::program::Peer;

/// Formats that take part.
const FORMATS: [&str; 8] =
    ["d{blist<64>}", "d{btree}", "d{bst}", "d{rbtree}", "d{ctree}", "d{pactree}", "{bst}{bst}", "{bst}{ctree}"];
/// The formats of which snapshots are kept as well.
const KEPT: [&str; 3] = ["d{btree}", "d{ctree}", "{bst}{ctree}"];
/// The number of changes in a batch.
const SIZES: [usize; 3] = [1, 1_000, 100_000];
/// The most entries that are put in (`peers/dynamic.h`).
const LIMIT: usize = 1_000_000;

/// The times of putting in and of taking out, by size of batches.
type Times = [[Vec<f64>; 2]; SIZES.len()];

/// Measures and prints.
pub fn measure(input: &Input, peers: &mut [(&'static str, Peer)], rounds: usize, threads: usize) -> Result<()> {
    let half = (input.len() / 2).max(input.len() - input.len().min(LIMIT));
    let changed = FORMATS.iter().map(|text| (*text, false)).chain(KEPT.iter().map(|text| (*text, true)));
    let formats = changed.map(|(text, keeps)| {
        let name = format!("{text}{}", if keeps { " kept" } else { "" });
        Ok((name, keeps, text.parse::<FormatSpec>()?.resolve(2)?))
    });
    let formats: Vec<(String, bool, Format)> = formats.collect::<Result<_>>()?;
    let mut ours: Vec<Times> = formats.iter().map(|_| Times::default()).collect();
    let mut theirs: Vec<Times> = peers.iter().map(|_| Times::default()).collect();
    for _ in 0..rounds {
        for (place, &size) in SIZES.iter().enumerate() {
            for ((_, keeps, format), times) in formats.iter().zip(&mut ours) {
                if *keeps && size == 1 {
                    continue;
                }
                let mut tensor = input.pack(half, format)?;
                let [put, taken] = with_threads(threads, || changes(input, half, (size, *keeps), &mut tensor))?;
                times[place][0].push(put);
                times[place][1].push(taken);
                ensure!(tensor.entries() == half as u64, "{} entries are left of {half}", tensor.entries());
                black_box(tensor);
            }
            for ((name, peer), times) in peers.iter_mut().zip(&mut theirs) {
                for (which, (request, left)) in [("insert", input.len()), ("remove", half)].into_iter().enumerate() {
                    let answer = peer.ask(&format!("{request} {size}"))?;
                    ensure!(answer[1] == left as f64, "{name} has {} entries instead of {left}", answer[1]);
                    times[place][which].push(answer[0]);
                }
            }
        }
    }
    println!("{:16} {}", "updates", SIZES.map(|size| format!("{:>10} {:>9}", format!("in {size}"), "out")).join(" "));
    let count = (input.len() - half) as f64;
    let own = formats.iter().map(|(name, ..)| name.as_str()).zip(&ours);
    for (name, times) in own.chain(peers.iter().map(|(name, _)| *name).zip(&theirs)) {
        let rate = |times: &Vec<f64>| match times.is_empty() {
            true => "-".to_string(),
            false => format!("{:.2}", count / least(times) / 1e3),
        };
        let cells = times.iter().map(|[put, taken]| format!("{:>10} {:>9}", rate(put), rate(taken)));
        println!("{name:16} {}", cells.collect::<Vec<_>>().join(" "));
    }
    Ok(())
}

/// Puts the entries from the half on into a tensor, and takes them out again, with a snapshot before each batch or none; the milliseconds of
/// both.
fn changes(input: &Input, half: usize, (size, keeps): (usize, bool), tensor: &mut DynTensor) -> Result<[f64; 2]> {
    let entries = || input.coordinates[half..].iter().zip(&input.values[half..]);
    let mut times = [0.0; 2];
    if size == 1 {
        let start = Instant::now();
        for (&(i, j), &value) in entries() {
            tensor.insert(&[i.into(), j.into()], value)?;
        }
        times[0] = start.elapsed().as_secs_f64() * 1e3;
        let start = Instant::now();
        for (&(i, j), _) in entries() {
            tensor.remove::<f64>(&[i.into(), j.into()])?;
        }
        times[1] = start.elapsed().as_secs_f64() * 1e3;
        return Ok(times);
    }
    for (which, time) in times.iter_mut().enumerate() {
        let all: Vec<_> = entries().collect();
        let mut kept = None;
        let start = Instant::now();
        for some in all.chunks(size) {
            let mut batch = Batch::new(2);
            for &(&(i, j), &value) in some {
                let at = [i.into(), j.into()];
                if which == 0 {
                    batch.set(&at, value)
                } else {
                    batch.remove(&at)
                };
            }
            if keeps {
                kept = Some(tensor.snapshot()?);
            }
            tensor.update(&batch)?;
        }
        *time = start.elapsed().as_secs_f64() * 1e3;
        black_box(kept);
    }
    Ok(times)
}

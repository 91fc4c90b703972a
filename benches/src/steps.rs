//! Steps in series: pairs of neighboring inputs from which our time for each entry or product grows by half or more.
//!
//! A step is explained if a cache holds the data of the smaller input and not those of the larger one: all operands and the result, or
//! the largest dense operand alone, whose places the entries of the other one choose; and if the machine was measured to read so much
//! more slowly. Runs of a few microseconds are mostly calls, and rows of a few entries mostly the cost of a row, which is said too.
//! Times are those of the shortest turn, the one least disturbed.

use std::collections::BTreeMap;

use crate::class::Class;
use crate::pages::size_in_words;
use crate::record::{Duel, Line};

/// Times of neighbors that differ by a greater factor are a step.
const STEP: f64 = 1.5;
/// A bandwidth that falls by a greater factor explains a step.
const SLOWER: f64 = 1.25;
/// Runs shorter than this, in milliseconds, are mostly calls.
const CALL: f64 = 0.01;

/// A line of text for each step; one that says that there are none.
pub fn text(duels: &[&Duel<'_>], caches: &[(u32, u64)]) -> Vec<String> {
    let mut series: BTreeMap<(&str, &str, usize), Vec<&Line>> = BTreeMap::new();
    for duel in duels.iter().filter(|duel| duel.class == Class::Plain) {
        if let Some(name) = &duel.ours.series {
            series.entry((duel.kernel, name, duel.threads)).or_default().push(duel.ours);
        }
    }
    let mut found = Vec::new();
    for ((kernel, name, threads), mut lines) in series {
        lines.sort_by(|a, b| a.at.unwrap_or(0.0).total_cmp(&b.at.unwrap_or(0.0)));
        let mut steps = Vec::new();
        for pair in lines.windows(2) {
            let (before, after) = (pair[0], pair[1]);
            let factor = nanoseconds(after) / nanoseconds(before);
            if !(1.0 / STEP..=STEP).contains(&factor) {
                steps.push(format!(
                    "  {} to {}: x {factor:.2} ({:.2} to {:.2} ns), {}",
                    before.input,
                    after.input,
                    nanoseconds(before),
                    nanoseconds(after),
                    reason(before, after, caches)
                ));
            }
        }
        let count = if steps.is_empty() { "no steps".to_string() } else { format!("{} steps", steps.len()) };
        found.push(format!("{kernel}, {name}, {}: {count}", crate::charts::threads_in_words(threads)));
        found.extend(steps);
    }
    found
}

/// The time for each entry or product.
pub fn nanoseconds(line: &Line) -> f64 {
    line.min_ms * 1e6 / line.items.max(1) as f64
}

/// The reason of a step between two inputs.
fn reason(before: &Line, after: &Line, caches: &[(u32, u64)]) -> String {
    let (fast, slow) = if nanoseconds(before) < nanoseconds(after) { (before, after) } else { (after, before) };
    let touched =
        [("operands and result", fast.bytes, slow.bytes), ("the dense operand", fast.chosen_bytes, slow.chosen_bytes)];
    let mut reasons = Vec::new();
    for &(level, size) in caches {
        for (what, small, large) in touched {
            if small <= size && size < large {
                reasons.push(format!(
                    "the cache of level {level} ({}) holds {} of {what} and not {}",
                    size_in_words(size),
                    size_in_words(small),
                    size_in_words(large)
                ));
            }
        }
    }
    let read = |line: &Line| line.limit_ms.map(|limit| line.bytes as f64 / limit * 1e-6);
    if let (Some(fast), Some(slow)) = (read(fast), read(slow))
        && fast > SLOWER * slow
    {
        reasons.push(format!("so much is read at {slow:.0} instead of {fast:.0} GB/s"));
    }
    if slow.min_ms < CALL {
        reasons.push(format!("the run takes {:.1} us, much of it the call", slow.min_ms * 1e3));
    }
    let rows = |line: &Line| line.values as f64 / line.items.max(1) as f64;
    if rows(slow) > 2.0 * rows(fast) {
        reasons.push(format!("{:.2} values of the result for each entry instead of {:.2}", rows(slow), rows(fast)));
    }
    if reasons.is_empty() { "which no cache explains".to_string() } else { reasons.join("; ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{duels, tests::line};

    fn of(at: f64, time: f64, bytes: u64) -> Line {
        let name = format!("entries-{at}");
        let own = line("spmv", &name, "lacunar", 1, time);
        Line { series: Some("entries".to_string()), at: Some(at), items: at as u64, bytes, ..own }
    }

    fn steps(lines: &[Line]) -> Vec<String> {
        let all = duels(lines);
        text(&all.iter().collect::<Vec<_>>(), &[(1, 48 << 10), (2, 2 << 20)])
    }

    #[test]
    fn steps_are_explained_by_caches_or_not() {
        let found = steps(&[
            of(1e5, 1.0, 1 << 20),
            of(1e6, 20.0, 10 << 20),
            of(1e7, 200.0, 100 << 20),
            of(1e8, 6000.0, 1000 << 20),
        ]);
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!(found[0], "spmv, entries, 1 thread: 2 steps");
        assert!(
            found[1].contains("x 2.00") && found[1].contains("level 2 (2 MiB) holds 1 MiB of operands"),
            "{found:?}"
        );
        assert!(found[2].contains("x 3.00") && found[2].ends_with("which no cache explains"), "{found:?}");
        assert_eq!(steps(&[of(1e5, 1.0, 1), of(1e6, 10.0, 2)]), ["spmv, entries, 1 thread: no steps"]);
        assert!(steps(&[line("spmv", "a", "lacunar", 1, 1.0)]).is_empty());
    }
}

//! The page of all processors: their geometric means side by side.

use std::collections::BTreeSet;

use super::{Means, Ratios, head, row};
use crate::charts::threads_in_words;

/// The page.
pub fn text(all: &[Means]) -> String {
    let mut text = "# Benchmarks by processor\n\n\
                    Time of the best peer over ours (above 1, ours is faster), geometric mean over the inputs, and the least. \
                    [benchmarks.md](../benchmarks.md) says what is measured and how. `./x bench --peers --report` writes this page from the \
                    files beside it, and the page of the processor on which it is run.\n"
        .to_string();
    text += &table(all, |mean| mean.peers.as_ref());
    if all.iter().flat_map(|means| &means.contests).any(|mean| mean.floor.is_some()) {
        text += "\nTime of the fastest kernel written by hand over ours:\n";
        text += &table(all, |mean| mean.floor.as_ref());
    }
    text
}

/// A column a processor and number of threads, a row a contest.
fn table(all: &[Means], of: impl Fn(&super::Mean) -> Option<&Ratios>) -> String {
    let mut columns: BTreeSet<(usize, usize)> = BTreeSet::new();
    let mut contests: BTreeSet<&str> = BTreeSet::new();
    for (place, means) in all.iter().enumerate() {
        for mean in means.contests.iter().filter(|mean| of(mean).is_some()) {
            columns.insert((place, mean.threads));
            contests.insert(&mean.contest);
        }
    }
    let title = |&(place, threads): &(usize, usize)| {
        let Means { file, processor, date, .. } = &all[place];
        format!("[{processor}]({file}.md), {}, {date}", threads_in_words(threads))
    };
    let mut cells = vec!["kernel".to_string()];
    cells.extend(columns.iter().map(title));
    let mut text = format!("\n{}", head(&cells));
    for contest in contests {
        let cell = |&(place, threads): &(usize, usize)| {
            let mut found =
                all[place].contests.iter().filter(|mean| mean.contest == contest && mean.threads == threads);
            let ratios = found.find_map(&of);
            ratios.map_or_else(String::new, |ratios| format!("{:.2} ({:.2})", ratios.mean, ratios.least))
        };
        text += &row(std::iter::once(contest.to_string()).chain(columns.iter().map(cell)));
    }
    text
}

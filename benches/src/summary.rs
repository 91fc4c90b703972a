//! The summary of a run, in tables of text: each kernel, in each class, against the best peer of each input, and against each
//! engine alone; kernels written by hand against ours.

use std::collections::BTreeMap;

use crate::record::{Duel, Line, compared, duels, geometric_mean};

/// The tables for which there are measurements.
pub fn summary(lines: &[Line]) -> String {
    let duels = duels(lines);
    let duels = compared(&duels);
    let mut kernels: BTreeMap<(&str, usize), Vec<&Duel<'_>>> = BTreeMap::new();
    for &duel in duels.iter().filter(|duel| !duel.peers.is_empty()) {
        kernels.entry((&duel.contest, duel.threads)).or_default().push(duel);
    }
    let mut text = String::new();
    if !kernels.is_empty() {
        text += "\nbest peer's time / ours: geometric mean over inputs, inputs on which ours is slower, worst input\n";
        text += "contest             threads    mean  slower      worst  on\n";
    }
    for ((kernel, threads), duels) in &kernels {
        text += &against_best(kernel, *threads, duels);
    }
    text += &(against_each(lines, &duels) + &against_floor(&duels));
    text + &disturbance(lines).map_or_else(String::new, |words| format!("\n{words}\n"))
}

/// A sentence about other programs, if any ran: if the load was more than the engine's threads and one more make.
pub fn disturbance(lines: &[Line]) -> Option<String> {
    let loads: Vec<f64> = lines.iter().map(|line| line.load - line.threads as f64).collect();
    let disturbed = loads.iter().filter(|load| **load > 1.0).count();
    (disturbed > 0).then(|| {
        format!(
            "Other programs ran during {disturbed} of {} measurements: {:.1} threads in the median, {:.1} at most. Ratios are more \
             reliable than times.",
            lines.len(),
            lacunar::median(&loads).max(0.0),
            loads.iter().copied().fold(0.0, f64::max)
        )
    })
}

fn against_best(kernel: &str, threads: usize, duels: &[&Duel<'_>]) -> String {
    let ratios: Vec<(f64, &Duel<'_>, &Line)> =
        duels.iter().filter_map(|&duel| duel.best().map(|best| (duel.speedup(best), duel, best))).collect();
    let slower = ratios.iter().filter(|(ratio, ..)| *ratio < 1.0).count();
    let mean = geometric_mean(ratios.iter().map(|(ratio, ..)| *ratio)).unwrap_or(1.0);
    let worst = ratios.iter().min_by(|a, b| a.0.total_cmp(&b.0));
    let worst = worst.map(|(ratio, duel, best)| format!("{ratio:>9.2}  {} ({})", duel.input, best.engine));
    let slower = format!("{slower}/{}", ratios.len());
    format!("{kernel:<19} {threads:>7} {mean:>7.2} {slower:>7} {}\n", worst.unwrap_or_default())
}

fn against_each(lines: &[Line], duels: &[&Duel<'_>]) -> String {
    let mut ratios: BTreeMap<(&str, usize, &str), Vec<f64>> = BTreeMap::new();
    for line in lines {
        let same =
            |duel: &&&Duel<'_>| (duel.kernel, duel.input, duel.threads) == (&line.kernel, &line.input, line.threads);
        let of_class = |duel: &&&Duel<'_>| same(duel) && duel.class == line.class;
        // Our variants are compared with the plain one.
        let duel = duels.iter().find(if line.is_ours() { &same as &dyn Fn(&&&Duel<'_>) -> bool } else { &of_class });
        if let Some(duel) = duel.filter(|duel| duel.ours.engine != line.engine) {
            ratios.entry((&duel.contest, line.threads, &line.engine)).or_default().push(duel.speedup(line));
        }
    }
    let mut text = String::new();
    if !ratios.is_empty() {
        text += "\neach engine's time / ours\ncontest             threads  engine                  mean   least  greatest  inputs\n";
    }
    for ((kernel, threads, engine), ratios) in ratios {
        let mean = geometric_mean(ratios.iter().copied()).unwrap_or(1.0);
        let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = ratios.iter().copied().fold(0.0, f64::max);
        let count = ratios.len();
        text +=
            &format!("{kernel:<19} {threads:>7}  {engine:<20} {mean:>7.2} {least:>7.2} {greatest:>9.2} {count:>7}\n");
    }
    text
}

/// The fastest kernel written by hand against ours, and the number of times that each variant is that fastest one.
fn against_floor(duels: &[&Duel<'_>]) -> String {
    let mut kernels: BTreeMap<(&str, usize), Vec<(&Duel<'_>, &Line)>> = BTreeMap::new();
    for &duel in duels {
        if let Some(floor) = duel.best_floor().filter(|_| duel.has_own_floor()) {
            kernels.entry((&duel.contest, duel.threads)).or_default().push((duel, floor));
        }
    }
    let mut text = String::new();
    if !kernels.is_empty() {
        text += "\nfastest variant written by hand, its time / ours\n";
        text += "contest             threads    mean   least  on; how often each variant is the fastest\n";
    }
    for ((kernel, threads), pairs) in kernels {
        let ratio = |(duel, floor): &(&Duel<'_>, &Line)| duel.speedup(floor);
        let mean = geometric_mean(pairs.iter().map(ratio)).unwrap_or(1.0);
        let least = pairs.iter().min_by(|a, b| ratio(a).total_cmp(&ratio(b)));
        let least = least.map(|pair| format!("{:>7.2}  {}", ratio(pair), pair.0.input)).unwrap_or_default();
        let mut wins: BTreeMap<&str, usize> = BTreeMap::new();
        for (_, floor) in &pairs {
            *wins.entry(floor.variant()).or_default() += 1;
        }
        let mut wins: Vec<(&str, usize)> = wins.into_iter().collect();
        wins.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let wins: Vec<String> = wins.iter().map(|(variant, count)| format!("{variant} {count}")).collect();
        text += &format!("{kernel:<19} {threads:>7} {mean:>7.2} {least}; {}\n", wins.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::line;

    #[test]
    fn summaries_name_the_worst_input() {
        let lines = [
            line("spmv", "a", "lacunar", 1, 2.0),
            line("spmv", "a", "mkl", 1, 4.0),
            line("spmv", "b", "lacunar", 1, 2.0),
            line("spmv", "b", "mkl", 1, 8.0),
            line("spmv", "b", "eigen", 1, 1.0),
        ];
        let text = summary(&lines);
        // The geometric mean of 2 and 1/2 is 1.
        let best = text.lines().find(|line| line.starts_with("spmv")).unwrap();
        let words: Vec<&str> = best.split_whitespace().collect();
        assert_eq!(words, ["spmv", "1", "1.00", "1/2", "0.50", "b", "(eigen)"]);
        assert!(text.lines().any(|line| line.split_whitespace().eq(["spmv", "1", "mkl", "2.83", "2.00", "4.00", "2"])));
        assert_eq!(summary(&[]), "");
    }

    #[test]
    fn other_programs_are_noticed() {
        let quiet = Line { load: 1.4, ..line("spmv", "a", "lacunar", 1, 2.0) };
        assert_eq!(disturbance(std::slice::from_ref(&quiet)), None);
        let text = disturbance(&[Line { load: 5.0, ..quiet.clone() }, quiet]).unwrap();
        assert!(text.starts_with("Other programs ran during 1 of 2 measurements"), "{text}");
    }

    #[test]
    fn kernels_written_by_hand_are_no_peers() {
        let lines = [
            line("spmv", "a", "lacunar", 1, 2.0),
            line("spmv", "a", "mkl", 1, 4.0),
            line("spmv", "a", "floor:one", 1, 1.5),
            line("spmv", "a", "floor:four", 1, 1.0),
        ];
        let text = summary(&lines);
        let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert!(rows.contains(&vec!["spmv", "1", "2.00", "0/1", "2.00", "a", "(mkl)"]), "{text}");
        assert!(rows.contains(&vec!["spmv", "1", "0.50", "0.50", "a;", "four", "1"]), "{text}");
    }
}

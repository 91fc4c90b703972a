//! Bars: how many times as long as ours each peer takes.
//!
//! [`overview`] has one group of bars a kernel, each the geometric mean over all inputs; [`kernel`] has one panel a peer,
//! with a bar for each input and one for their geometric mean. Bars start at 1, where both are equally fast; those that go
//! down from there, where the peer is faster, are hollow.

use std::collections::BTreeSet;

use super::canvas::{Anchor, Canvas, FAINT, GRID, INK, Pen, Style, width};
use super::looks::{self, Look};
use super::scale::{Scale, short};
use crate::record::{Duel, geometric_mean};

const LEFT: f64 = 58.0;
const RIGHT: f64 = 14.0;
const SMALL: f64 = 9.0;

/// The names of all peers, by which they are sorted.
fn families<'a>(duels: &[&Duel<'a>]) -> Vec<&'a str> {
    let names: BTreeSet<&str> = duels.iter().flat_map(|duel| duel.peers.keys().copied()).collect();
    names.into_iter().collect()
}

fn speedups(duels: &[&Duel<'_>], family: &str) -> Vec<f64> {
    duels.iter().filter_map(|duel| duel.peers.get(family).map(|line| duel.speedup(line))).collect()
}

/// An axis of ratios on which 1 is always to be seen.
fn axis(ratios: impl IntoIterator<Item = f64>, bottom: f64, top: f64) -> Scale {
    Scale::over(ratios.into_iter().chain([0.9, 2.0]), bottom, top).padded(0.06)
}

fn grid(canvas: &mut Canvas, scale: &Scale, right: f64) {
    for (value, label) in scale.ratios(15.0) {
        let y = scale.at(value);
        canvas.line(&[(LEFT, y), (right, y)], Pen::new(GRID, 0.8));
        canvas.text((LEFT - 5.0, y + 3.2), Style::new(SMALL, Anchor::End), &format!("{label}×"));
    }
}

/// A bar from 1 to the ratio.
fn bar(canvas: &mut Canvas, scale: &Scale, (left, right): (f64, f64), ratio: f64, color: &'static str) {
    let (one, end) = (scale.at(1.0), scale.at(ratio));
    if ratio < 1.0 {
        canvas.rectangle((left + 0.5, one), (right - 0.5, end), "#ffffff", Some(Pen::new(color, 1.0)));
    } else {
        canvas.rectangle((left, one), (right, end), color, None);
    }
}

fn number(ratio: f64) -> String {
    if ratio < 9.95 { format!("{ratio:.1}") } else { short(ratio.round()) }
}

/// The geometric means of all kernels. `None` where no peer was measured.
pub fn overview(duels: &[&Duel<'_>], threads: usize) -> Option<Canvas> {
    let families = families(duels);
    let kernels: Vec<&str> = duels.iter().map(|duel| duel.kernel).collect::<BTreeSet<_>>().into_iter().collect();
    let means = |kernel: &str| -> Vec<(&str, f64)> {
        let of_kernel: Vec<&Duel<'_>> = duels.iter().copied().filter(|duel| duel.kernel == kernel).collect();
        let mean = |family| geometric_mean(speedups(&of_kernel, family)).map(|mean| (family, mean));
        families.iter().copied().filter_map(mean).collect()
    };
    let groups: Vec<(&str, Vec<(&str, f64)>)> =
        kernels.iter().map(|&kernel| (kernel, means(kernel))).filter(|(_, means)| !means.is_empty()).collect();
    if groups.is_empty() {
        return None;
    }
    let (thick, gap) = (15.0, 18.0);
    let needs = |(kernel, means): &(&str, Vec<_>)| (means.len() as f64 * thick).max(width(kernel, 10.0) - gap + 8.0);
    let right = LEFT + gap / 2.0 + groups.iter().map(|group| needs(group) + gap).sum::<f64>();
    let right = right.max(LEFT + 360.0);
    let entries: Vec<(String, Look)> = families.iter().map(|family| looks::engine(family)).collect();
    let top = 34.0 + looks::legend_height(right - LEFT, &entries, false) + 14.0;
    let bottom = top + 210.0;
    let mut canvas = Canvas::new(right + RIGHT, bottom + 26.0);
    let title = format!("Time of each peer over Lacunar's, geometric mean, {}", looks::threads(threads));
    canvas.text((LEFT, 20.0), Style::new(12.0, Anchor::Start).bold(), &title);
    looks::legend(&mut canvas, (LEFT, 32.0), right - LEFT, &entries, false);
    let all = groups.iter().flat_map(|(_, means)| means.iter().map(|(_, mean)| *mean));
    let scale = axis(all, bottom, top + 8.0);
    grid(&mut canvas, &scale, right);
    let mut x = LEFT + gap / 2.0;
    for group in &groups {
        let room = needs(group);
        let (kernel, means) = group;
        let mut left = x + (room - means.len() as f64 * thick) / 2.0;
        for (family, mean) in means {
            bar(&mut canvas, &scale, (left + 1.0, left + thick - 1.0), *mean, looks::engine(family).1.color);
            let above = scale.at(mean.max(1.0)) - 4.0;
            canvas.text((left + thick / 2.0, above), Style::new(7.5, Anchor::Middle), &number(*mean));
            left += thick;
        }
        canvas.text((x + room / 2.0, bottom + 16.0), Style::new(10.0, Anchor::Middle), kernel);
        x += room + gap;
    }
    frame(&mut canvas, &scale, right, (top, bottom));
    Some(canvas)
}

/// The line of equal speed, and the axes.
fn frame(canvas: &mut Canvas, scale: &Scale, right: f64, (top, bottom): (f64, f64)) {
    canvas.line(&[(LEFT, scale.at(1.0)), (right, scale.at(1.0))], Pen::new(INK, 1.0));
    canvas.line(&[(LEFT, top), (LEFT, bottom)], Pen::new(INK, 1.0));
}

/// One kernel: a panel a peer, a bar an input. `None` where no peer was measured.
pub fn kernel(duels: &[&Duel<'_>], threads: usize) -> Option<Canvas> {
    let families = families(duels);
    let name = duels.first().filter(|_| !families.is_empty())?.kernel;
    let mut sorted: Vec<&Duel<'_>> = duels.to_vec();
    sorted.sort_by_key(|duel| (duel.ours.nnz, duel.input));
    let (thick, gap, height) = (15.0, 14.0, 92.0);
    let mean_left = LEFT + 6.0 + sorted.len() as f64 * thick + gap;
    let title = format!("{name}: time of each peer over Lacunar's, {}", looks::threads(threads));
    let right = (mean_left + 36.0).max(LEFT + width(&title, 12.0) * 1.12);
    let names = sorted.iter().map(|duel| width(duel.input, SMALL)).fold(60.0, f64::max);
    let panels_top = 30.0;
    let bottom = panels_top + families.len() as f64 * (height + 18.0);
    let tall = bottom + names * 0.77 + 26.0;
    let mut canvas = Canvas::new(right + RIGHT, tall);
    canvas.text((LEFT, 18.0), Style::new(12.0, Anchor::Start).bold(), &title);
    for (place, family) in families.iter().enumerate() {
        let top = panels_top + place as f64 * (height + 18.0);
        let ratios = speedups(&sorted, family);
        let scale = axis(ratios.iter().copied(), top + height + 12.0, top + 24.0);
        panel(&mut canvas, &scale, &sorted, family, (mean_left, right, thick));
        let (label, _) = looks::engine(family);
        canvas.text((LEFT + 6.0, top + 15.0), Style::new(10.0, Anchor::Start).bold(), &label);
        if let Some(mean) = geometric_mean(ratios) {
            let above = scale.at(mean.max(1.0)) - 4.0;
            canvas.text((mean_left + 14.0, above), Style::new(SMALL, Anchor::Middle).bold(), &number(mean));
        }
        frame(&mut canvas, &scale, right, (top + 20.0, top + height + 12.0));
    }
    let slanted = Style::new(SMALL, Anchor::End).turned(-50.0);
    for (place, duel) in sorted.iter().enumerate() {
        let x = LEFT + 6.0 + (place as f64 + 0.5) * thick;
        canvas.text((x + 3.0, bottom + 8.0), slanted, duel.input);
    }
    canvas.text((mean_left + 17.0, bottom + 8.0), slanted.bold(), "geometric mean");
    let below = "inputs by number of stored values; the fastest variant of each peer; hollow: the peer is faster";
    canvas.text((LEFT, tall - 6.0), Style::new(8.0, Anchor::Start).colored(FAINT), below);
    Some(canvas)
}

fn panel(
    canvas: &mut Canvas,
    scale: &Scale,
    duels: &[&Duel<'_>],
    family: &str,
    (mean_left, right, thick): (f64, f64, f64),
) {
    grid(canvas, scale, right);
    let color = looks::engine(family).1.color;
    for (place, duel) in duels.iter().enumerate() {
        if let Some(line) = duel.peers.get(family) {
            let left = LEFT + 6.0 + place as f64 * thick;
            bar(canvas, scale, (left + 1.5, left + thick - 1.5), duel.speedup(line), color);
        }
    }
    if let Some(mean) = geometric_mean(speedups(duels, family)) {
        bar(canvas, scale, (mean_left + 4.0, mean_left + 24.0), mean, INK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{duels, tests::line};

    #[test]
    fn every_peer_and_input_is_named() {
        let lines = [
            line("spmv", "wave", "lacunar", 1, 2.0),
            line("spmv", "wave", "mkl", 1, 4.0),
            line("spmv", "web", "lacunar", 1, 2.0),
            line("spmv", "web", "eigen", 1, 1.0),
        ];
        let all = duels(&lines);
        let all: Vec<&Duel<'_>> = all.iter().collect();
        let chart = kernel(&all, 1).unwrap().svg("spmv");
        for word in ["wave", "web", "oneMKL", "Eigen", "geometric mean", ">2.0<", ">0.5<"] {
            assert!(chart.contains(word), "{word}");
        }
        assert!(overview(&all, 1).unwrap().svg("all").contains("spmv"));
        let alone = duels(&lines[..1]);
        let alone: Vec<&Duel<'_>> = alone.iter().collect();
        assert!(kernel(&alone, 1).is_none() && overview(&alone, 1).is_none());
    }
}

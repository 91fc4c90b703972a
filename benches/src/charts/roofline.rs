//! The roofline (Williams, Waterman and Patterson, "Roofline: an insightful visual performance model", CACM 52, 2009): how
//! many operations a second each kernel does, over how many it has for each byte that must be moved.
//!
//! The roof is what the machine was measured to do: its bandwidth times that intensity, at most its peak. The dashed line is
//! the bandwidth of data that stay in the nearest cache.

use std::collections::BTreeSet;

use super::canvas::{Anchor, Canvas, FAINT, GRID, INK, Marker, Pen, Style};
use super::looks;
use super::scale::Scale;
use crate::machine::Limits;
use crate::record::{Duel, Line};

const LEFT: f64 = 62.0;
const RIGHT: f64 = 440.0;
const TOP: f64 = 32.0;
const BOTTOM: f64 = 322.0;

fn intensity(line: &Line) -> f64 {
    line.flops as f64 / line.bytes.max(1) as f64
}

/// All kernels that have operations, with so many threads. `None` where there is none.
pub fn roofline(duels: &[&Duel<'_>], limits: &Limits) -> Option<Canvas> {
    let shown: Vec<&Duel<'_>> = duels.iter().copied().filter(|duel| duel.ours.flops > 0).collect();
    let kernels: Vec<&str> = shown.iter().map(|duel| duel.kernel).collect::<BTreeSet<_>>().into_iter().collect();
    if kernels.is_empty() {
        return None;
    }
    let points = || shown.iter().flat_map(|duel| std::iter::once(duel.ours).chain(duel.best()));
    let ridge = limits.peak_gflops / limits.memory();
    let x = Scale::over(points().map(intensity).chain([ridge]), LEFT, RIGHT).padded(0.07);
    let speeds = points().map(|line| line.gflops).chain([limits.peak_gflops]);
    let y = Scale::over(speeds, BOTTOM, TOP).padded(0.06);
    let mut canvas = Canvas::new(RIGHT + 150.0, BOTTOM + 46.0);
    let title = format!("Roofline, {}", looks::threads(limits.threads));
    canvas.text((LEFT, 18.0), Style::new(12.0, Anchor::Start).bold(), &title);
    axes(&mut canvas, &x, &y);
    roof(&mut canvas, &x, &y, limits);
    for duel in &shown {
        let look = looks::kernel(kernels.iter().position(|kernel| *kernel == duel.kernel).unwrap_or(0));
        if let Some(best) = duel.best() {
            let at = (x.at(intensity(best)), y.at(best.gflops));
            canvas.marker(at, look.marker, 2.6, look.color, true);
        }
    }
    for duel in &shown {
        let look = looks::kernel(kernels.iter().position(|kernel| *kernel == duel.kernel).unwrap_or(0));
        canvas.marker((x.at(intensity(duel.ours)), y.at(duel.ours.gflops)), look.marker, 3.0, look.color, false);
    }
    key(&mut canvas, &kernels);
    Some(canvas)
}

fn axes(canvas: &mut Canvas, x: &Scale, y: &Scale) {
    let small = Style::new(9.0, Anchor::Middle);
    for (value, label) in x.decades(26.0) {
        canvas.line(&[(x.at(value), TOP), (x.at(value), BOTTOM)], Pen::new(GRID, 0.8));
        canvas.text((x.at(value), BOTTOM + 14.0), small, &label);
    }
    for (value, label) in y.decades(16.0) {
        canvas.line(&[(LEFT, y.at(value)), (RIGHT, y.at(value))], Pen::new(GRID, 0.8));
        canvas.text((LEFT - 6.0, y.at(value) + 3.2), Style::new(9.0, Anchor::End), &label);
    }
    canvas.rectangle((LEFT, TOP), (RIGHT, BOTTOM), "none", Some(Pen::new(INK, 1.0)));
    let middle = ((LEFT + RIGHT) / 2.0, (TOP + BOTTOM) / 2.0);
    canvas.text((middle.0, BOTTOM + 34.0), Style::new(10.0, Anchor::Middle), "operations per byte (FLOP/byte)");
    canvas.text((18.0, middle.1), Style::new(10.0, Anchor::Middle).turned(-90.0), "operations per second (GFLOP/s)");
}

/// The lines that nothing can pass, with their numbers.
fn roof(canvas: &mut Canvas, x: &Scale, y: &Scale, limits: &Limits) {
    let (peak, memory) = (limits.peak_gflops, limits.memory());
    let nearest = limits.read_gbytes_per_s.iter().map(|(_, speed)| *speed).fold(memory, f64::max);
    slope(canvas, x, y, (nearest, peak), Pen::new(FAINT, 1.0).dashed(), &format!("cache {nearest:.0} GB/s"));
    slope(canvas, x, y, (memory, peak), Pen::new(INK, 1.6), &format!("memory {memory:.0} GB/s"));
    let from = (peak / nearest).max(x.range().0);
    canvas.line(&[(x.at(from), y.at(peak)), (RIGHT, y.at(peak))], Pen::new(INK, 1.6));
    let label = format!("peak {peak:.0} GFLOP/s");
    canvas.text((RIGHT - 6.0, y.at(peak) - 5.0), Style::new(9.0, Anchor::End), &label);
}

/// The speed that a bandwidth allows, up to the peak, with a label along it.
fn slope(canvas: &mut Canvas, x: &Scale, y: &Scale, (bandwidth, peak): (f64, f64), pen: Pen, label: &str) {
    let (least, most) = x.range();
    let start = least.max(y.range().0 / bandwidth);
    let end = (peak / bandwidth).min(most);
    if start >= end {
        return;
    }
    let place = |intensity: f64| (x.at(intensity), y.at(bandwidth * intensity));
    let (from, to) = (place(start), place(end));
    canvas.line(&[from, to], pen);
    let angle = (to.1 - from.1).atan2(to.0 - from.0);
    let along = 12.0;
    let at = (from.0 + along * angle.cos() + 5.0 * angle.sin(), from.1 + along * angle.sin() - 5.0 * angle.cos());
    canvas.text(at, Style::new(9.0, Anchor::Start).turned(angle.to_degrees()).colored(pen.color), label);
}

/// The kernels' shapes, and what filled and hollow ones are.
fn key(canvas: &mut Canvas, kernels: &[&str]) {
    let left = RIGHT + 18.0;
    let small = Style::new(9.5, Anchor::Start);
    let mut y = TOP + 8.0;
    for (place, name) in kernels.iter().enumerate() {
        let look = looks::kernel(place);
        canvas.marker((left, y), look.marker, 3.4, look.color, false);
        canvas.text((left + 10.0, y + 3.4), small, name);
        y += 16.0;
    }
    y += 8.0;
    for (hollow, name) in [(false, "Lacunar"), (true, "best peer")] {
        canvas.marker((left, y), Marker::Circle, 3.4, FAINT, hollow);
        canvas.text((left + 10.0, y + 3.4), small, name);
        y += 16.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{duels, tests::line};

    #[test]
    fn the_roof_has_its_numbers() {
        let lines = [line("spmv", "wave", "lacunar", 1, 2.0), line("spmv", "wave", "mkl", 1, 4.0)];
        let all = duels(&lines);
        let all: Vec<&Duel<'_>> = all.iter().collect();
        let read_gbytes_per_s = vec![(1e5, 80.0), (1e9, 12.0)];
        let limits = Limits { threads: 1, read_gbytes_per_s, triad_gbytes_per_s: 11.0, peak_gflops: 99.0 };
        let chart = roofline(&all, &limits).unwrap().svg("roofline");
        for word in ["memory 12 GB/s", "cache 80 GB/s", "peak 99 GFLOP/s", "spmv"] {
            assert!(chart.contains(word), "{word}");
        }
        assert!(roofline(&[], &limits).is_none());
    }
}

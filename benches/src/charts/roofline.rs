//! The roofline (Williams, Waterman and Patterson, "Roofline: an insightful visual performance model", CACM 52, 2009): the
//! operations a second of each kernel, over its operations for each byte that must be moved.
//!
//! The roof is the measured limit of the machine: its bandwidth times that intensity, at most its peak. The dashed line is
//! the bandwidth of data that stay in the nearest cache.

use std::collections::BTreeSet;

use lacunar_draw::{Anchor, Color, Drawing, Marker, Path, Scale, Stroke, Text};

use super::looks::{self, width};
use crate::machine::Limits;
use crate::record::{Duel, Line};

const LEFT: f32 = 62.0;
const RIGHT: f32 = 440.0;
const TOP: f32 = 32.0;
const BOTTOM: f32 = 322.0;
const MEMORY: Stroke = Stroke::solid(Color::INK, 1.6);
const CACHE: Stroke = Stroke::solid(Color::FAINT, 1.0).with_dashes([4.0, 3.0]);

fn intensity(line: &Line) -> f64 {
    line.flops as f64 / line.bytes.max(1) as f64
}

/// All kernels that have operations, with so many threads. `None` where there is none.
pub fn roofline(duels: &[&Duel<'_>], limits: &Limits) -> Option<Drawing> {
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
    let names = kernels.iter().map(|kernel| width(kernel, 9.5));
    let room = names.fold(width(&memory_words(limits), 9.5), f32::max).max(width(&peak_words(limits), 9.5));
    let key_height = 22.0 + 15.0 * (kernels.len() + 5) as f32;
    let mut drawing = Drawing::new(RIGHT + 39.0 + room + 12.0, (BOTTOM + 46.0).max(TOP + key_height), "");
    let title = format!("Roofline, {}", looks::threads(limits.threads));
    drawing.add(Text::new([LEFT, 18.0], Anchor::Start, 12.0, &title).bold());
    axes(&mut drawing, &x, &y);
    roof(&mut drawing, &x, &y, limits);
    for duel in &shown {
        let look = looks::kernel(kernels.iter().position(|kernel| *kernel == duel.kernel).unwrap_or(0));
        if let Some(best) = duel.best() {
            let at = [x.at(intensity(best)), y.at(best.gflops)];
            drawing.add(look.marker.path(at, 2.6, look.color, true));
        }
    }
    for duel in &shown {
        let look = looks::kernel(kernels.iter().position(|kernel| *kernel == duel.kernel).unwrap_or(0));
        drawing.add(look.marker.path([x.at(intensity(duel.ours)), y.at(duel.ours.gflops)], 3.0, look.color, false));
    }
    key(&mut drawing, &kernels, limits);
    Some(drawing)
}

fn axes(drawing: &mut Drawing, x: &Scale, y: &Scale) {
    for (value, label) in x.decades(26.0) {
        drawing.add(Path::line([x.at(value), TOP], [x.at(value), BOTTOM], Stroke::solid(Color::GRID, 0.8)));
        drawing.add(Text::new([x.at(value), BOTTOM + 14.0], Anchor::Middle, 9.0, &label));
    }
    for (value, label) in y.decades(16.0) {
        drawing.add(Path::line([LEFT, y.at(value)], [RIGHT, y.at(value)], Stroke::solid(Color::GRID, 0.8)));
        drawing.add(Text::new([LEFT - 6.0, y.at(value) + 3.2], Anchor::End, 9.0, &label));
    }
    drawing.add(Path::frame([LEFT, TOP], [RIGHT, BOTTOM], Stroke::solid(Color::INK, 1.0)));
    let middle = ((LEFT + RIGHT) / 2.0, (TOP + BOTTOM) / 2.0);
    drawing.add(Text::new([middle.0, BOTTOM + 34.0], Anchor::Middle, 10.0, "operations per byte (FLOP/byte)"));
    drawing.add(Text::new([18.0, middle.1], Anchor::Middle, 10.0, "operations per second (GFLOP/s)").turned(-90.0));
}

/// The bandwidth of the nearest cache, or of memory where no cache is faster.
fn nearest(limits: &Limits) -> f64 {
    limits.read_gbytes_per_s.iter().map(|(_, speed)| *speed).fold(limits.memory(), f64::max)
}

/// The lines that nothing can pass.
fn roof(drawing: &mut Drawing, x: &Scale, y: &Scale, limits: &Limits) {
    let (peak, cache) = (limits.peak_gflops, nearest(limits));
    for (bandwidth, pen) in [(cache, CACHE), (limits.memory(), MEMORY)] {
        // The speed that the bandwidth allows, up to the peak.
        let start = x.range().0.max(y.range().0 / bandwidth);
        let end = (peak / bandwidth).min(x.range().1);
        if start < end {
            let place = |intensity: f64| [x.at(intensity), y.at(bandwidth * intensity)];
            drawing.add(Path::line(place(start), place(end), pen));
        }
    }
    let from = (peak / cache).max(x.range().0);
    drawing.add(Path::line([x.at(from), y.at(peak)], [RIGHT, y.at(peak)], MEMORY));
}

/// The key to lines and points.
fn key(drawing: &mut Drawing, kernels: &[&str], limits: &Limits) {
    let left = RIGHT + 24.0;
    let words = |at: [f32; 2], name: &str| Text::new(at, Anchor::Start, 9.5, name);
    let mut y = TOP + 6.0;
    for (pen, name) in
        [(Some(CACHE), cache_words(limits)), (Some(MEMORY), memory_words(limits)), (None, peak_words(limits))]
    {
        if let Some(pen) = pen {
            drawing.add(Path::line([left - 10.0, y], [left + 10.0, y], pen));
        }
        drawing.add(words([left + 15.0, y + 3.4], &name));
        y += 15.0;
    }
    y += 7.0;
    for (place, name) in kernels.iter().enumerate() {
        let look = looks::kernel(place);
        drawing.add(look.marker.path([left, y], 3.4, look.color, false));
        drawing.add(words([left + 15.0, y + 3.4], name));
        y += 15.0;
    }
    y += 7.0;
    for (hollow, name) in [(false, "Lacunar"), (true, "best peer")] {
        drawing.add(Marker::Circle.path([left, y], 3.4, Color::FAINT, hollow));
        drawing.add(words([left + 15.0, y + 3.4], name));
        y += 15.0;
    }
}

fn cache_words(limits: &Limits) -> String {
    format!("cache, {:.0} GB/s", nearest(limits))
}

fn memory_words(limits: &Limits) -> String {
    format!("memory, {:.0} GB/s", limits.memory())
}

fn peak_words(limits: &Limits) -> String {
    format!("peak {:.0} GFLOP/s", limits.peak_gflops)
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
        let chart = roofline(&all, &limits).unwrap().to_svg();
        for word in ["memory, 12 GB/s", "cache, 80 GB/s", "peak 99 GFLOP/s", "spmv"] {
            assert!(chart.contains(word), "{word}");
        }
        assert!(roofline(&[], &limits).is_none());
    }
}

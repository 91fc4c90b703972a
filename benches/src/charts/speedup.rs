//! Bars: the ratio of each peer's time to ours.
//!
//! [`overview`] has one group of bars a kernel, each the geometric mean over all inputs; [`kernel`] has one panel a peer,
//! with a bar for each input and one for their geometric mean. Bars start at 1, where both are equally fast; those that go
//! down from there, where the peer is faster, are hollow.

use std::collections::BTreeSet;

use lacunar_draw::words::short;
use lacunar_draw::{Anchor, Color, Drawing, Path, Scale, Stroke, Text, Weight};

use super::looks::{self, Look, width};
use crate::record::{Duel, geometric_mean};

const LEFT: f32 = 58.0;
const RIGHT: f32 = 14.0;
const SMALL: f32 = 9.0;
const MEAN: &str = "geometric mean";
const BELOW: &str = "inputs by number of stored values; the fastest variant of each peer; hollow: the peer is faster";

/// The names of all peers, by which they are sorted.
fn families<'a>(duels: &[&Duel<'a>]) -> Vec<&'a str> {
    let names: BTreeSet<&str> = duels.iter().flat_map(|duel| duel.peers.keys().copied()).collect();
    names.into_iter().collect()
}

fn speedups(duels: &[&Duel<'_>], family: &str) -> Vec<f64> {
    duels.iter().filter_map(|duel| duel.peers.get(family).map(|line| duel.speedup(line))).collect()
}

/// An axis of ratios on which 1 is always to be seen.
fn axis(ratios: impl IntoIterator<Item = f64>, bottom: f32, top: f32) -> Scale {
    Scale::over(ratios.into_iter().chain([0.9, 2.0]), bottom, top).padded(0.06)
}

fn grid(drawing: &mut Drawing, scale: &Scale, right: f32) {
    for (value, label) in scale.ratios(15.0) {
        let y = scale.at(value);
        drawing.add(Path::line([LEFT, y], [right, y], Stroke::solid(Color::GRID, 0.8)));
        drawing.add(Text::new([LEFT - 5.0, y + 3.2], Anchor::End, SMALL, format!("{label}×")));
    }
}

/// A bar from 1 to the ratio.
fn bar(drawing: &mut Drawing, scale: &Scale, (left, right): (f32, f32), ratio: f64, color: Color) {
    let (one, end) = (scale.at(1.0), scale.at(ratio));
    if ratio < 1.0 {
        drawing.add(
            Path::between([left + 0.5, one], [right - 0.5, end], Color::WHITE).outlined(Stroke::solid(color, 1.0)),
        );
    } else {
        drawing.add(Path::between([left, one], [right, end], color));
    }
}

/// The number of a bar, beyond its end.
fn number(drawing: &mut Drawing, scale: &Scale, x: f32, ratio: f64, (size, weight): (f32, Weight)) {
    let text = match ratio {
        ..1.995 => format!("{ratio:.2}"),
        ..9.95 => format!("{ratio:.1}"),
        _ => short(ratio.round()),
    };
    let y = scale.at(ratio) + if ratio < 1.0 { size + 2.0 } else { -4.0 };
    drawing.add(Text { weight, ..Text::new([x, y], Anchor::Middle, size, text) });
}

/// A kernel's name, and its geometric means by peer.
type Group<'a> = (&'a str, Vec<(&'a str, f64)>);

fn groups<'a>(duels: &[&'a Duel<'_>], families: &[&'a str]) -> Vec<Group<'a>> {
    let kernels: BTreeSet<&str> = duels.iter().map(|duel| duel.contest.as_str()).collect();
    let group = |kernel| {
        let of_kernel: Vec<&Duel<'_>> = duels.iter().copied().filter(|duel| duel.contest == kernel).collect();
        let mean = |family| geometric_mean(speedups(&of_kernel, family)).map(|mean| (family, mean));
        (kernel, families.iter().copied().filter_map(mean).collect())
    };
    kernels.into_iter().map(group).filter(|(_, means): &Group<'_>| !means.is_empty()).collect()
}

/// The thickness of a bar of the overview, with the space around it, and the distance between groups.
const THICK: f32 = 18.0;
const GAP: f32 = 18.0;
/// A row of groups is not longer than this, so that it fits a page.
const LONGEST: f32 = 720.0;

fn length((kernel, means): &Group<'_>) -> f32 {
    (means.len() as f32 * THICK).max(width(kernel, 10.0) - GAP + 8.0)
}

/// The geometric means of all kernels, in as many rows as they need. `None` where no peer was measured.
pub fn overview(duels: &[&Duel<'_>], threads: usize) -> Option<Drawing> {
    let families = families(duels);
    let groups = groups(duels, &families);
    if groups.is_empty() {
        return None;
    }
    let mut rows: Vec<(f32, Vec<&Group<'_>>)> = vec![(0.0, Vec::new())];
    for group in &groups {
        let more = length(group) + GAP;
        match rows.last_mut().filter(|(used, _)| used + more <= LONGEST) {
            Some((used, row)) => {
                *used += more;
                row.push(group);
            }
            None => rows.push((more, vec![group])),
        }
    }
    let right = LEFT + GAP / 2.0 + rows.iter().map(|(used, _)| *used).fold(360.0, f32::max);
    let entries: Vec<(String, Look)> = families.iter().map(|family| looks::engine(family)).collect();
    let first = 34.0 + looks::legend_height(right - LEFT, &entries, false) + 14.0;
    let (height, below) = (150.0, 42.0);
    let mut drawing = Drawing::new(right + RIGHT, first + rows.len() as f32 * (height + below) - 12.0, "");
    let title = format!("Time of each peer over Lacunar's, geometric mean, {}", looks::threads(threads));
    drawing.add(Text::new([LEFT, 20.0], Anchor::Start, 12.0, &title).bold());
    looks::legend(&mut drawing, [LEFT, 32.0], right - LEFT, &entries, false);
    let all: Vec<f64> = groups.iter().flat_map(|(_, means)| means.iter().map(|(_, mean)| *mean)).collect();
    for (place, (_, row)) in rows.iter().enumerate() {
        let top = first + place as f32 * (height + below);
        let bottom = top + height;
        let scale = axis(all.iter().copied(), bottom - 9.0, top + 9.0);
        grid(&mut drawing, &scale, right);
        let mut x = LEFT + GAP / 2.0;
        for group in row {
            draw_group(&mut drawing, &scale, [x, bottom], group);
            x += length(group) + GAP;
        }
        frame(&mut drawing, &scale, right, (top, bottom));
    }
    Some(drawing)
}

fn draw_group(drawing: &mut Drawing, scale: &Scale, [x, bottom]: [f32; 2], group: &Group<'_>) {
    let (kernel, means) = group;
    let mut left = x + (length(group) - means.len() as f32 * THICK) / 2.0;
    for (family, mean) in means {
        bar(drawing, scale, (left + 1.0, left + THICK - 1.0), *mean, looks::engine(family).1.color);
        number(drawing, scale, left + THICK / 2.0, *mean, (7.5, Weight::Regular));
        left += THICK;
    }
    drawing.add(Text::new([x + length(group) / 2.0, bottom + 15.0], Anchor::Middle, 10.0, *kernel));
}

/// The line of equal speed, and the axes.
fn frame(drawing: &mut Drawing, scale: &Scale, right: f32, (top, bottom): (f32, f32)) {
    drawing.add(Path::line([LEFT, scale.at(1.0)], [right, scale.at(1.0)], Stroke::solid(Color::INK, 1.0)));
    drawing.add(Path::line([LEFT, top], [LEFT, bottom], Stroke::solid(Color::INK, 1.0)));
}

/// One kernel: a panel a peer, a bar an input. `None` where no peer was measured.
pub fn kernel(duels: &[&Duel<'_>], threads: usize) -> Option<Drawing> {
    let families = families(duels);
    let name = duels.first().filter(|_| !families.is_empty())?.contest.as_str();
    let mut sorted: Vec<&Duel<'_>> = duels.to_vec();
    sorted.sort_by_key(|duel| (duel.ours.nnz, duel.input));
    let title = format!("{name}: time of each peer over Lacunar's, {}", looks::threads(threads));
    let least = (width(&title, 12.0) * 1.12).max(width(BELOW, 8.0));
    let (gap, height) = (14.0, 92.0);
    let thick = ((least - gap - 42.0) / sorted.len() as f32).clamp(15.0, 40.0);
    let mean_left = LEFT + 6.0 + sorted.len() as f32 * thick + gap;
    let right = mean_left + 36.0;
    let names = sorted.iter().map(|duel| width(duel.input, SMALL)).fold(width(MEAN, SMALL) * 1.14, f32::max);
    let panels_top = 30.0;
    let bottom = panels_top + families.len() as f32 * (height + 18.0);
    let tall = bottom + names * 0.77 + 32.0;
    let mut drawing = Drawing::new(right.max(LEFT + least) + RIGHT, tall, "");
    drawing.add(Text::new([LEFT, 18.0], Anchor::Start, 12.0, &title).bold());
    for (place, family) in families.iter().enumerate() {
        let top = panels_top + place as f32 * (height + 18.0);
        let ratios = speedups(&sorted, family);
        let scale = axis(ratios.iter().copied(), top + height + 12.0, top + 24.0);
        panel(&mut drawing, &scale, &sorted, family, (mean_left, right, thick));
        let (label, _) = looks::engine(family);
        drawing.add(Text::new([LEFT + 6.0, top + 15.0], Anchor::Start, 10.0, &label).bold());
        if let Some(mean) = geometric_mean(ratios) {
            number(&mut drawing, &scale, mean_left + 14.0, mean, (SMALL, Weight::Bold));
        }
        frame(&mut drawing, &scale, right, (top + 20.0, top + height + 12.0));
    }
    let slanted = |x: f32, name: &str| Text::new([x, bottom + 8.0], Anchor::End, SMALL, name).turned(-50.0);
    for (place, duel) in sorted.iter().enumerate() {
        let x = LEFT + 6.0 + (place as f32 + 0.5) * thick;
        drawing.add(slanted(x + 3.0, duel.input));
    }
    drawing.add(slanted(mean_left + 17.0, MEAN).bold());
    drawing.add(Text::new([LEFT, tall - 6.0], Anchor::Start, 8.0, BELOW).colored(Color::FAINT));
    Some(drawing)
}

fn panel(
    drawing: &mut Drawing,
    scale: &Scale,
    duels: &[&Duel<'_>],
    family: &str,
    (mean_left, right, thick): (f32, f32, f32),
) {
    grid(drawing, scale, right);
    let color = looks::engine(family).1.color;
    for (place, duel) in duels.iter().enumerate() {
        if let Some(line) = duel.peers.get(family) {
            let left = LEFT + 6.0 + place as f32 * thick;
            bar(drawing, scale, (left + 1.5, left + thick - 1.5), duel.speedup(line), color);
        }
    }
    if let Some(mean) = geometric_mean(speedups(duels, family)) {
        bar(drawing, scale, (mean_left + 4.0, mean_left + 24.0), mean, Color::INK);
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
        let chart = kernel(&all, 1).unwrap().to_svg();
        for word in ["wave", "web", "oneMKL", "Eigen", "geometric mean", ">2.0<", ">0.50<"] {
            assert!(chart.contains(word), "{word}");
        }
        assert!(overview(&all, 1).unwrap().to_svg().contains("spmv"));
        let alone = duels(&lines[..1]);
        let alone: Vec<&Duel<'_>> = alone.iter().collect();
        assert!(kernel(&alone, 1).is_none() && overview(&alone, 1).is_none());
    }
}

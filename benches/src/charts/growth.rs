//! Lines: how speed grows with the size of the input, and with the number of threads. One panel a kernel (and series).

use std::collections::{BTreeMap, BTreeSet};

use super::canvas::{Anchor, Canvas, GRID, INK, Pen, Style};
use super::looks::{self, Look};
use super::scale::Scale;
use crate::record::{Duel, Line, OURS, geometric_mean};

const PANEL: (f64, f64) = (196.0, 132.0);
const BETWEEN: (f64, f64) = (58.0, 56.0);
const LEFT: f64 = 62.0;
const COLUMNS: usize = 3;

/// A panel: its title, and the points of each engine.
struct Panel<'a> {
    title: String,
    curves: BTreeMap<&'a str, Vec<(f64, f64)>>,
}

/// What is written at the axes.
struct Words {
    title: String,
    x: &'static str,
    y: &'static str,
}

/// Our measurement and the best variant of each peer.
fn engines<'a>(duel: &Duel<'a>) -> impl Iterator<Item = &'a Line> {
    std::iter::once(duel.ours).chain(duel.peers.values().copied())
}

/// Stored values a second over stored values, for inputs of a series. `None` where there are none.
pub fn sizes(duels: &[&Duel<'_>], threads: usize) -> Option<Canvas> {
    let mut panels: BTreeMap<(&str, &str), Panel<'_>> = BTreeMap::new();
    for duel in duels {
        let Some(series) = duel.ours.series.as_deref() else { continue };
        let panel = panels
            .entry((duel.kernel, series))
            .or_insert_with(|| Panel { title: format!("{}, {series}", duel.kernel), curves: BTreeMap::new() });
        for line in engines(duel) {
            let speed = line.nnz as f64 / line.median_ms * 1e3;
            panel.curves.entry(line.family()).or_default().push((line.nnz as f64, speed));
        }
    }
    let panels: Vec<Panel<'_>> =
        panels.into_values().filter(|panel| panel.curves.values().any(|c| c.len() > 1)).collect();
    let title = format!("Speed by size of the input, {}", looks::threads(threads));
    let words = Words { title, x: "stored values", y: "stored values per second" };
    draw(&panels, &words, |panel| {
        let points = || panel.curves.values().flatten();
        let x = Scale::over(points().map(|point| point.0), 0.0, PANEL.0).padded(0.05);
        let y = Scale::over(points().map(|point| point.1), PANEL.1, 0.0).padded(0.08);
        let (across, up) = (x.decades(30.0), y.decades(16.0));
        Axes { x, y, across, up, ideal: None }
    })
}

/// Each engine's speed over its own with the fewest threads, geometric mean over inputs. `None` where only one number of
/// threads was measured.
pub fn threads(duels: &[&Duel<'_>]) -> Option<Canvas> {
    let counts: Vec<usize> = duels.iter().map(|duel| duel.threads).collect::<BTreeSet<_>>().into_iter().collect();
    let &[fewest, .., most] = &counts[..] else { return None };
    let mut times: BTreeMap<(&str, &str, &str, usize), f64> = BTreeMap::new();
    for duel in duels {
        for line in engines(duel) {
            times.insert((duel.kernel, line.family(), duel.input, duel.threads), line.median_ms);
        }
    }
    let mut ratios: BTreeMap<(&str, &str, usize), Vec<f64>> = BTreeMap::new();
    for (&(kernel, family, input, count), time) in &times {
        if let Some(alone) = times.get(&(kernel, family, input, fewest)) {
            ratios.entry((kernel, family, count)).or_default().push(alone / time);
        }
    }
    let mut panels: BTreeMap<&str, Panel<'_>> = BTreeMap::new();
    for ((kernel, family, count), ratios) in ratios {
        let panel =
            panels.entry(kernel).or_insert_with(|| Panel { title: kernel.to_string(), curves: BTreeMap::new() });
        if let Some(mean) = geometric_mean(ratios) {
            panel.curves.entry(family).or_default().push((count as f64, mean));
        }
    }
    let panels: Vec<Panel<'_>> = panels.into_values().collect();
    let title = format!("Speed-up with threads over {}, geometric mean over inputs", looks::threads(fewest));
    let words = Words { title, x: "threads", y: "speed-up" };
    let best = most as f64 / fewest as f64;
    draw(&panels, &words, |panel| {
        let speeds = panel.curves.values().flatten().map(|point| point.1);
        let x = Scale::over([fewest as f64, most as f64], 0.0, PANEL.0).padded(0.08);
        let y = Scale::over(speeds.chain([0.9, best]), PANEL.1, 0.0).padded(0.06);
        let across = counts.iter().map(|&count| (count as f64, count.to_string())).collect();
        let up = y.decades(16.0);
        Axes { x, y, across, up, ideal: Some([(fewest as f64, 1.0), (most as f64, best)]) }
    })
}

/// The axes of a panel, whose top left corner is at (0, 0).
struct Axes {
    x: Scale,
    y: Scale,
    across: Vec<(f64, String)>,
    up: Vec<(f64, String)>,
    /// A dashed line between two points.
    ideal: Option<[(f64, f64); 2]>,
}

fn draw(panels: &[Panel<'_>], words: &Words, axes: impl Fn(&Panel<'_>) -> Axes) -> Option<Canvas> {
    let families: BTreeSet<&str> = panels.iter().flat_map(|panel| panel.curves.keys().copied()).collect();
    if families.is_empty() {
        return None;
    }
    let mut families: Vec<&str> = families.into_iter().collect();
    families.sort_by_key(|family| *family != OURS);
    let entries: Vec<(String, Look)> = families.iter().map(|family| looks::engine(family)).collect();
    let columns = panels.len().clamp(2, COLUMNS);
    let rows = panels.len().div_ceil(columns);
    let right = LEFT + columns as f64 * (PANEL.0 + BETWEEN.0) - BETWEEN.0;
    let legend = looks::legend_height(right - LEFT, &entries, true);
    let first = 32.0 + legend + 26.0;
    let bottom = first + rows as f64 * (PANEL.1 + BETWEEN.1) - BETWEEN.1;
    let mut canvas = Canvas::new(right + 16.0, bottom + 40.0);
    canvas.text((LEFT, 20.0), Style::new(12.0, Anchor::Start).bold(), &words.title);
    looks::legend(&mut canvas, (LEFT, 30.0), right - LEFT, &entries, true);
    for (place, panel) in panels.iter().enumerate() {
        let left = LEFT + (place % columns) as f64 * (PANEL.0 + BETWEEN.0);
        let top = first + (place / columns) as f64 * (PANEL.1 + BETWEEN.1);
        one(&mut canvas, (left, top), panel, &axes(panel));
        canvas.text((left + PANEL.0 / 2.0, top + PANEL.1 + 29.0), Style::new(9.5, Anchor::Middle), words.x);
    }
    let middle = (first + bottom) / 2.0;
    canvas.text((16.0, middle), Style::new(10.0, Anchor::Middle).turned(-90.0), words.y);
    Some(canvas)
}

fn one(canvas: &mut Canvas, (left, top): (f64, f64), panel: &Panel<'_>, axes: &Axes) {
    let (right, bottom) = (left + PANEL.0, top + PANEL.1);
    let at = |(x, y): (f64, f64)| (left + axes.x.at(x), top + axes.y.at(y));
    for (value, label) in &axes.across {
        let x = left + axes.x.at(*value);
        canvas.line(&[(x, top), (x, bottom)], Pen::new(GRID, 0.8));
        canvas.text((x, bottom + 13.0), Style::new(9.0, Anchor::Middle), label);
    }
    for (value, label) in &axes.up {
        let y = top + axes.y.at(*value);
        canvas.line(&[(left, y), (right, y)], Pen::new(GRID, 0.8));
        canvas.text((left - 5.0, y + 3.2), Style::new(9.0, Anchor::End), label);
    }
    if let Some([from, to]) = axes.ideal {
        canvas.line(&[at(from), at(to)], Pen::new("#999999", 1.0).dashed());
    }
    let mut curves: Vec<(&&str, &Vec<(f64, f64)>)> = panel.curves.iter().collect();
    // Ours is painted last.
    curves.sort_by_key(|(family, _)| **family == OURS);
    for (family, points) in curves {
        let look = looks::engine(family).1;
        let mut places: Vec<(f64, f64)> = points.iter().map(|&point| at(point)).collect();
        places.sort_by(|a, b| a.0.total_cmp(&b.0));
        canvas.line(&places, Pen::new(look.color, 1.6));
        for place in places {
            canvas.marker(place, look.marker, 2.6, look.color, false);
        }
    }
    canvas.rectangle((left, top), (right, bottom), "none", Some(Pen::new(INK, 1.0)));
    canvas.text((left, top - 6.0), Style::new(10.0, Anchor::Start).bold(), &panel.title);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{duels, tests::line};

    #[test]
    fn lines_need_two_points() {
        let small = |threads| {
            let sized = |nnz, mut line: Line| {
                line.nnz = nnz;
                line.series = Some("random".to_string());
                line
            };
            let engines = ["lacunar", "mkl"];
            let lines = engines.map(|engine| sized(1000, line("spmv", "random-10", engine, threads, 1.0)));
            let more = engines.map(|engine| sized(9000, line("spmv", "random-90", engine, threads, 5.0)));
            lines.into_iter().chain(more).collect::<Vec<Line>>()
        };
        let one = small(1);
        let all = duels(&one);
        let all: Vec<&Duel<'_>> = all.iter().collect();
        assert!(threads(&all).is_none());
        assert!(sizes(&all, 1).unwrap().svg("sizes").contains("spmv, random"));
        assert!(sizes(&all[..1], 1).is_none());
        let two: Vec<Line> = one.iter().cloned().chain(small(2)).collect();
        let two = duels(&two);
        let two: Vec<&Duel<'_>> = two.iter().collect();
        assert!(threads(&two).unwrap().svg("threads").contains("Speed-up with threads over 1 thread"));
    }
}

//! Lines: the time for an entry over series of inputs, and speed over the number of threads. One panel a kernel (and
//! series).

use std::collections::{BTreeMap, BTreeSet};

use lacunar_draw::{Anchor, Color, Drawing, Path, Scale, Stroke, Text};

use super::looks::{self, Look};
use crate::record::{Duel, Line, OURS, geometric_mean};
use crate::steps::nanoseconds;

const PANEL: [f32; 2] = [196.0, 132.0];
const BETWEEN: [f32; 2] = [58.0, 56.0];
const LEFT: f32 = 62.0;
/// The speed-up that threads can have at best.
const IDEAL: Stroke = Stroke::solid(Color::new(0x999999), 1.0).with_dashes([4.0, 3.0]);
const COLUMNS: usize = 3;

/// A panel: its title, the words below it, and the points of each engine.
struct Panel<'a> {
    title: String,
    x: &'a str,
    curves: BTreeMap<&'a str, Vec<(f64, f64)>>,
}

/// The title, and the words at the upright axes.
struct Words {
    title: String,
    y: &'static str,
}

/// Our measurement and the best variant of each peer.
fn engines<'a>(duel: &Duel<'a>) -> impl Iterator<Item = &'a Line> {
    std::iter::once(duel.ours).chain(duel.peers.values().copied())
}

/// The time for each entry or product over the thing that grows in a series. `None` where there are no series.
pub fn series(duels: &[&Duel<'_>], threads: usize) -> Option<Drawing> {
    let mut panels: BTreeMap<(&str, &str), Panel<'_>> = BTreeMap::new();
    for duel in duels {
        let (Some(series), Some(at)) = (duel.ours.series.as_deref(), duel.ours.at) else { continue };
        let x = if series == "skew" { "longest row over the mean" } else { series };
        let panel = panels.entry((duel.kernel, series)).or_insert_with(|| Panel {
            title: format!("{}, {series}", duel.kernel),
            x,
            curves: BTreeMap::new(),
        });
        for line in engines(duel) {
            panel.curves.entry(line.family()).or_default().push((at, nanoseconds(line)));
        }
    }
    let panels: Vec<Panel<'_>> =
        panels.into_values().filter(|panel| panel.curves.values().any(|c| c.len() > 1)).collect();
    let title = format!("Time for each entry or product, {}", looks::threads(threads));
    let words = Words { title, y: "nanoseconds" };
    draw(&panels, &words, |panel| {
        let points = || panel.curves.values().flatten();
        let x = Scale::over(points().map(|point| point.0), 0.0, PANEL[0]).padded(0.05);
        let y = Scale::over(points().map(|point| point.1), PANEL[1], 0.0).padded(0.08);
        let (across, up) = (x.decades(30.0), y.decades(16.0));
        Axes { x, y, across, up, ideal: None }
    })
}

/// Each engine's speed over its own with the fewest threads, geometric mean over inputs. `None` where only one number of
/// threads was measured.
pub fn threads(duels: &[&Duel<'_>]) -> Option<Drawing> {
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
        let panel = panels.entry(kernel).or_insert_with(|| Panel {
            title: kernel.to_string(),
            x: "threads",
            curves: BTreeMap::new(),
        });
        if let Some(mean) = geometric_mean(ratios) {
            panel.curves.entry(family).or_default().push((count as f64, mean));
        }
    }
    let panels: Vec<Panel<'_>> = panels.into_values().collect();
    let title = format!("Speed-up with threads over {}, geometric mean over inputs", looks::threads(fewest));
    let words = Words { title, y: "speed-up" };
    let best = most as f64 / fewest as f64;
    draw(&panels, &words, |panel| {
        let speeds = panel.curves.values().flatten().map(|point| point.1);
        let x = Scale::over([fewest as f64, most as f64], 0.0, PANEL[0]).padded(0.08);
        let y = Scale::over(speeds.chain([0.9, best]), PANEL[1], 0.0).padded(0.06);
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

fn draw(panels: &[Panel<'_>], words: &Words, axes: impl Fn(&Panel<'_>) -> Axes) -> Option<Drawing> {
    let families: BTreeSet<&str> = panels.iter().flat_map(|panel| panel.curves.keys().copied()).collect();
    if families.is_empty() {
        return None;
    }
    let mut families: Vec<&str> = families.into_iter().collect();
    families.sort_by_key(|family| *family != OURS);
    let entries: Vec<(String, Look)> = families.iter().map(|family| looks::engine(family)).collect();
    let columns = panels.len().clamp(2, COLUMNS);
    let rows = panels.len().div_ceil(columns);
    let right = LEFT + columns as f32 * (PANEL[0] + BETWEEN[0]) - BETWEEN[0];
    let legend = looks::legend_height(right - LEFT, &entries, true);
    let first = 32.0 + legend + 26.0;
    let bottom = first + rows as f32 * (PANEL[1] + BETWEEN[1]) - BETWEEN[1];
    let mut drawing = Drawing::new(right + 16.0, bottom + 40.0, "");
    drawing.add(Text::new([LEFT, 20.0], Anchor::Start, 12.0, &words.title).bold());
    looks::legend(&mut drawing, [LEFT, 30.0], right - LEFT, &entries, true);
    for (place, panel) in panels.iter().enumerate() {
        let left = LEFT + (place % columns) as f32 * (PANEL[0] + BETWEEN[0]);
        let top = first + (place / columns) as f32 * (PANEL[1] + BETWEEN[1]);
        one(&mut drawing, [left, top], panel, &axes(panel));
        drawing.add(Text::new([left + PANEL[0] / 2.0, top + PANEL[1] + 29.0], Anchor::Middle, 9.5, panel.x));
    }
    let middle = (first + bottom) / 2.0;
    drawing.add(Text::new([16.0, middle], Anchor::Middle, 10.0, words.y).turned(-90.0));
    Some(drawing)
}

fn one(drawing: &mut Drawing, [left, top]: [f32; 2], panel: &Panel<'_>, axes: &Axes) {
    let (right, bottom) = (left + PANEL[0], top + PANEL[1]);
    let at = |(x, y): (f64, f64)| [left + axes.x.at(x), top + axes.y.at(y)];
    for (value, label) in &axes.across {
        let x = left + axes.x.at(*value);
        drawing.add(Path::line([x, top], [x, bottom], Stroke::solid(Color::GRID, 0.8)));
        drawing.add(Text::new([x, bottom + 13.0], Anchor::Middle, 9.0, label));
    }
    for (value, label) in &axes.up {
        let y = top + axes.y.at(*value);
        drawing.add(Path::line([left, y], [right, y], Stroke::solid(Color::GRID, 0.8)));
        drawing.add(Text::new([left - 5.0, y + 3.2], Anchor::End, 9.0, label));
    }
    if let Some([from, to]) = axes.ideal {
        drawing.add(Path::line(at(from), at(to), IDEAL));
    }
    let mut curves: Vec<(&&str, &Vec<(f64, f64)>)> = panel.curves.iter().collect();
    // Ours is painted last.
    curves.sort_by_key(|(family, _)| **family == OURS);
    for (family, points) in curves {
        let look = looks::engine(family).1;
        let mut places: Vec<[f32; 2]> = points.iter().map(|&point| at(point)).collect();
        places.sort_by(|a, b| a[0].total_cmp(&b[0]));
        drawing.add(Path::polyline(&places, Stroke::solid(look.color, 1.6).rounded()));
        for place in places {
            drawing.add(look.marker.path(place, 2.6, look.color, false));
        }
    }
    drawing.add(Path::frame([left, top], [right, bottom], Stroke::solid(Color::INK, 1.0)));
    drawing.add(Text::new([left, top - 6.0], Anchor::Start, 10.0, &panel.title).bold());
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
                (line.series, line.at, line.items) = (Some("random".to_string()), Some(nnz as f64), nnz);
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
        assert!(series(&all, 1).unwrap().to_svg().contains("spmv, random"));
        assert!(series(&all[..1], 1).is_none());
        let two: Vec<Line> = one.iter().cloned().chain(small(2)).collect();
        let two = duels(&two);
        let two: Vec<&Duel<'_>> = two.iter().collect();
        assert!(threads(&two).unwrap().to_svg().contains("Speed-up with threads over 1 thread"));
    }
}

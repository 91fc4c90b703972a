//! Random formats: any sequence of level kinds in any order of modes, and every kind of dimension-to-level map.
//!
//! Maps are diagonals of any two dimensions in any place of the levels (`dia`, `sd:1-0,0`, `dd:0-1,1`, `ssd:0,2-1,1`), blocks of
//! some dimensions in any order (`bcsr`, `csb`, `hicoo`, `dbdd:...`), both at once, and slots of coordinates or of ranks, in
//! slices or not (`ell`, `sell(3,5)`).

use std::sync::LazyLock;

use fastrand::Rng;
use lacunar_base::random::Draw;
use lacunar_formats::{Format, Level, LevelKind, Term};

/// A random format of an order, with a map in so many of 100. `holds_all` says that it has to hold any entries.
pub fn format(rng: &mut Rng, order: usize, holds_all: bool, mapped: u32) -> Format {
    if order > 0
        && rng.percent(mapped)
        && let Some(format) = self::mapped(rng, order)
    {
        return format;
    }
    unmapped(rng, order, holds_all)
}

/// A random format that stores the coordinates of any sizes, the greatest too, in memory for the stored entries alone.
pub fn unbounded(rng: &mut Rng, order: usize) -> Format {
    let blocks = order > 0 && rng.bool();
    let terms: Vec<Term> = match (order, blocks) {
        (2, true) if rng.bool() => {
            let first = rng.usize(..2);
            vec![Term::Difference(first, 1 - first), Term::Whole(1 - first)]
        }
        (_, true) => blocked(rng, order, 1),
        (_, false) => (0..order).map(Term::Whole).collect(),
    };
    let inside = terms.iter().filter(|term| matches!(term, Term::Remainder(..))).count();
    let lists = terms.len() >= 2 && rng.bool();
    let kind = |level: usize| match level {
        _ if level + inside >= terms.len() => [Level::DENSE, Level::COMPRESSED][usize::from(level.is_multiple_of(2))],
        _ if !lists => Level::COMPRESSED,
        0 if terms.len() - inside > 1 => Level::COMPRESSED_NONUNIQUE,
        0 => Level::COMPRESSED,
        _ if level + 1 + inside == terms.len() => Level::SINGLETON,
        _ => Level::SINGLETON_NONUNIQUE,
    };
    let levels: Vec<Level> = (0..terms.len()).map(kind).collect();
    Format::mapped(levels, terms).unwrap_or_else(|_| Format::csf(order))
}

/// A random format whose levels store blocks, diagonals, or slots.
fn mapped(rng: &mut Rng, order: usize) -> Option<Format> {
    if order == 2 && rng.one_in(4) {
        return slots(rng);
    }
    let terms = if order >= 2 && rng.bool() { diagonals(rng, order) } else { blocked(rng, order, 3) };
    let levels = unmapped(rng, terms.len(), true).levels().to_vec();
    Format::mapped(levels, terms).ok()
}

/// Blocks of so many dimensions of 4, on average.
fn blocked(rng: &mut Rng, order: usize, most: u8) -> Vec<Term> {
    let (mut terms, mut inside) = (Vec::new(), Vec::new());
    for dimension in 0..order {
        if rng.u8(..4) >= most {
            terms.push(Term::Whole(dimension));
        } else {
            // Seldom larger than the dimension.
            let size = if rng.one_in(8) { rng.u32(4..9) } else { rng.u32(1..4) };
            terms.push(Term::Quotient(dimension, size));
            inside.push(Term::Remainder(dimension, size));
        }
    }
    rng.shuffle(&mut terms);
    rng.shuffle(&mut inside);
    terms.extend(inside);
    terms
}

/// The diagonals of two dimensions; others are stored as they are, or now and then in blocks.
fn diagonals(rng: &mut Rng, order: usize) -> Vec<Term> {
    let mut dimensions: Vec<usize> = (0..order).collect();
    rng.shuffle(&mut dimensions);
    let (first, other) = (dimensions[0], dimensions[1]);
    let kept = if rng.one_in(8) { first } else { other };
    let mut terms = vec![Term::Difference(first, other), Term::Whole(kept)];
    let mut inside = Vec::new();
    for &dimension in &dimensions[2..] {
        if rng.one_in(4) {
            let size = rng.u32(1..4);
            terms.push(Term::Quotient(dimension, size));
            inside.push(Term::Remainder(dimension, size));
        } else {
            terms.push(Term::Whole(dimension));
        }
    }
    if rng.bool() {
        rng.shuffle(&mut terms);
    }
    terms.extend(inside);
    terms
}

/// A random format with slots of one dimension's entries, of coordinates or of ranks, in slices or not.
fn slots(rng: &mut Rng) -> Option<Format> {
    let first = rng.usize(..2);
    let rows = if rng.one_in(4) { 8 } else { rng.u32(1..5) };
    let (outside, inside) = match rng.bool() {
        true => (Some(Term::Quotient(first, rows)), Term::Remainder(first, rows)),
        false => (None, Term::Whole(first)),
    };
    let (slots, letter) = match rng.bool() {
        true => (Term::RankedOrdinal(first, rng.u32(1..9)), 'n'),
        false => (Term::Ordinal(first), 'e'),
    };
    let terms = outside.into_iter().chain([slots, inside, Term::Whole(1 - first)]).collect();
    let of_slots = [Level::from_letter(letter)?, Level::DENSE, Level::from_letter('p')?];
    Format::mapped(outside.map(|_| Level::DENSE).into_iter().chain(of_slots).collect(), terms).ok()
}

/// A level of nodes of each schema that every program has, with little room in them.
static NODES: LazyLock<Vec<Level>> = LazyLock::new(|| {
    let named = crate::pairs::nodes().filter_map(|(_, text)| LevelKind::nodes_named(text.trim_matches(['{', '}'])));
    named.map(|kind| Level { kind, unique: true }).collect()
});

/// A random format without a map.
fn unmapped(rng: &mut Rng, order: usize, holds_all: bool) -> Format {
    let kinds = LevelKind::unmapped().into_iter().map(|kind| Level { kind, unique: true });
    let open: Vec<Level> = kinds.filter(|level| !holds_all || !level.properties().single).collect();
    let nodes = &*NODES;
    let dense = rng.one_in(4);
    let mut levels = Vec::new();
    while levels.len() < order {
        let left = order - levels.len();
        match rng.u8(..8) {
            _ if dense => levels.push(Level::DENSE),
            0 | 1 => levels.push(Level::DENSE),
            2 if left >= 2 => {
                let length = rng.usize(2..=left);
                levels.push(Level::COMPRESSED_NONUNIQUE);
                levels.extend(vec![Level::SINGLETON_NONUNIQUE; length - 2]);
                levels.push(Level::SINGLETON);
            }
            3 if !open.is_empty() => levels.push(open[rng.usize(..open.len())]),
            4 if !nodes.is_empty() => levels.push(nodes[rng.usize(..nodes.len())]),
            _ => levels.push(Level::COMPRESSED),
        }
    }
    let mut modes: Vec<usize> = (0..order).collect();
    if rng.u8(..5) < 2 {
        rng.shuffle(&mut modes);
    }
    // A shuffled list of all modes is a permutation, which is all that can be wrong.
    Format::new(levels, modes).unwrap_or_else(|_| Format::dense(order))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_map_occurs() {
        let mut rng = Rng::with_seed(1);
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..20_000 {
            let order = rng.usize(1..=3);
            seen.insert(format(&mut rng, order, true, 90).letters());
        }
        for wanted in ["sd:1-0,0", "ss:0-1,1", "dd:0-1,1"] {
            assert!(seen.contains(wanted), "{wanted} of {} formats", seen.len());
        }
        let maps = |wanted: &str| seen.iter().any(|letters| letters.contains(wanted));
        assert!(maps(":0,2-1,1") && maps(":0/2,1/3,") && maps(":#0,0,1") && maps("#1~") && seen.len() > 2000);
    }
}

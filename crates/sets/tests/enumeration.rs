//! Every operation against enumeration: random sets of two and three dimensions with one parameter, over windows of points.
//!
//! Sets are made of random constraints with small factors, remainders among them, and are compared point by point with the
//! definition of the operation. An operation may say that it does not know; [`known`] counts how often, so that it stays rare.

#![allow(clippy::unwrap_used)] // A failure is what a test is for.

use lacunar_sets::{Affine, Answer, Coefficient, Map, MapPiece, Nest, Piece, Set, Space};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

const REACH: i64 = 5;

/// A constraint: its kind, the factors of n, i, j, k, the constant, and the divisor of a remainder.
type Drawn = (u8, [i64; 4], i64, i64);

fn drawn() -> impl Strategy<Value = Drawn> {
    (0_u8..8, prop::array::uniform4(-3_i64..=3), -6_i64..=6, 2_i64..=4)
}

fn drawn_set(pieces: usize) -> impl Strategy<Value = Vec<Vec<Drawn>>> {
    prop::collection::vec(prop::collection::vec(drawn(), 0..4), 1..=pieces)
}

fn space(dims: usize) -> Space {
    Space::new(["n"], ["i", "j", "k"].into_iter().take(dims))
}

/// The piece of some constraints; in a window if it is to be finite.
fn piece(drawn: &[Drawn], dims: usize, finite: bool) -> Piece {
    let mut piece = Piece::universe(1, dims);
    for &(kind, factors, constant, modulus) in drawn {
        let form = Affine::new(&factors[..=dims], constant);
        match kind {
            0..=3 => piece.at_least(form),
            4 => piece.equal(form),
            5 => {
                let rest = piece.modulo(&form, modulus).unwrap();
                piece.equal(rest);
            }
            6 => {
                let rest = piece.modulo(&form, modulus).unwrap();
                piece.at_least(rest.shifted(-1).unwrap());
            }
            _ => {
                let rounded = piece.floor(&form, modulus).unwrap();
                piece.at_least(rounded.minus(&Affine::variable(1)).unwrap());
            }
        }
    }
    if finite {
        for column in 0..=dims {
            piece.at_least(Affine::term(column, 1).shifted(REACH).unwrap());
            piece.at_least(Affine::term(column, -1).shifted(REACH).unwrap());
        }
    }
    piece
}

fn set(drawn: &[Vec<Drawn>], dims: usize, finite: bool) -> Set {
    Set::of_pieces(space(dims), drawn.iter().map(|drawn| piece(drawn, dims, finite)).collect())
}

/// All points of a window, with all values of the parameter in it.
fn points(dims: usize, reach: i64) -> impl Iterator<Item = (i64, Vec<i64>)> {
    let width = 2 * reach + 1;
    (0..width.pow(dims as u32 + 1)).map(move |mut number| {
        let mut next = || {
            let value = number % width - reach;
            number /= width;
            value
        };
        let n = next();
        (n, (0..dims).map(|_| next()).collect())
    })
}

fn holds(set: &Set, n: i64, point: &[i64]) -> bool {
    set.contains(&[n], point).expect("small numbers fit")
}

/// Runs a property; it tells if the operation said something. At least `share` percent have to.
fn known<S: Strategy>(strategy: S, cases: u32, share: u32, property: impl Fn(S::Value) -> Result<bool, TestCaseError>) {
    let told = std::cell::Cell::new(0_u32);
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let result = runner.run(&strategy, |value| {
        told.set(told.get() + u32::from(property(value)?));
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    assert!(told.get() * 100 >= cases * share, "only {} of {cases} are known", told.get());
}

#[test]
fn emptiness() {
    known(drawn_set(1), 2000, 99, |drawn| {
        let piece = piece(&drawn[0], 3, true);
        let found = points(3, REACH).any(|(n, point)| piece.contains(&[n], &point) == Some(true));
        match piece.is_empty() {
            Answer::Yes => prop_assert!(!found),
            Answer::No => prop_assert!(found),
            Answer::Unknown => return Ok(false),
        }
        Ok(true)
    });
}

#[test]
fn tidied_and_simplified_are_the_same() {
    known(drawn_set(1), 1000, 100, |drawn| {
        let piece = piece(&drawn[0], 2, false);
        for simpler in [piece.tidied(), piece.simplified()] {
            for (n, point) in points(2, REACH + 2) {
                let after = simpler.as_ref().is_some_and(|piece| piece.contains(&[n], &point) == Some(true));
                prop_assert_eq!(after, piece.contains(&[n], &point) == Some(true));
            }
        }
        Ok(true)
    });
}

#[test]
fn union_intersection_difference() {
    known((drawn_set(3), drawn_set(2)), 500, 99, |(a, b)| {
        let (a, b) = (set(&a, 2, false), set(&b, 2, false));
        let (Some(union), Some(both), Some(rest)) = (a.union(&b), a.intersect(&b), a.subtract(&b)) else {
            return Ok(false);
        };
        for (n, point) in points(2, REACH) {
            let (in_a, in_b) = (holds(&a, n, &point), holds(&b, n, &point));
            prop_assert_eq!(holds(&union, n, &point), in_a || in_b);
            prop_assert_eq!(holds(&both, n, &point), in_a && in_b);
            prop_assert_eq!(holds(&rest, n, &point), in_a && !in_b);
        }
        Ok(true)
    });
}

#[test]
fn disjoint_pieces_and_coalesced_ones() {
    known(drawn_set(4), 400, 98, |drawn| {
        let set = set(&drawn, 2, false);
        let coalesced = set.coalesced();
        prop_assert!(coalesced.pieces().len() <= set.pieces().len());
        let disjoint = set.disjoint();
        for (n, point) in points(2, REACH) {
            prop_assert_eq!(holds(&coalesced, n, &point), holds(&set, n, &point));
            if let Some(disjoint) = &disjoint {
                let holding = |piece: &&Piece| piece.contains(&[n], &point) == Some(true);
                let count = disjoint.pieces().iter().filter(holding).count();
                prop_assert_eq!(count, usize::from(holds(&set, n, &point)));
            }
        }
        Ok(disjoint.is_some())
    });
}

#[test]
fn subsets_and_equality() {
    known((drawn_set(2), drawn_set(2)), 1000, 97, |(a, b)| {
        let (a, b) = (set(&a, 2, true), set(&b, 2, true));
        let inside = points(2, REACH).all(|(n, point)| !holds(&a, n, &point) || holds(&b, n, &point));
        let alike = points(2, REACH).all(|(n, point)| holds(&a, n, &point) == holds(&b, n, &point));
        let (subset, equal) = (a.is_subset(&b), a.equals(&b));
        for (answer, truth) in [(subset, inside), (equal, alike)] {
            prop_assert!(answer == Answer::Unknown || answer == Answer::from(truth));
        }
        Ok(subset != Answer::Unknown && equal != Answer::Unknown)
    });
}

#[test]
fn gist_in_its_context() {
    known((drawn_set(1), drawn_set(1)), 1000, 100, |(a, context)| {
        let (a, context) = (piece(&a[0], 2, false), piece(&context[0], 2, false));
        let gist = a.gist(&context);
        for (n, point) in points(2, REACH) {
            if context.contains(&[n], &point) == Some(true) {
                prop_assert_eq!(gist.contains(&[n], &point), a.contains(&[n], &point));
            }
        }
        Ok(true)
    });
}

#[test]
fn projection() {
    known(drawn_set(1), 400, 90, |drawn| {
        let set = set(&drawn, 3, true);
        let Some(projected) = set.project_out(&[1]) else { return Ok(false) };
        for (n, point) in points(2, REACH) {
            let partner = (-REACH..=REACH).any(|j| holds(&set, n, &[point[0], j, point[1]]));
            prop_assert_eq!(holds(&projected, n, &point), partner);
        }
        let Some(two) = set.project_out(&[0, 2]) else { return Ok(false) };
        for (n, point) in points(1, REACH) {
            let mut others = points(1, REACH);
            let partner = others.any(|(i, k)| holds(&set, n, &[i, point[0], k[0]]));
            prop_assert_eq!(holds(&two, n, &point), partner);
        }
        Ok(true)
    });
}

/// The points that the loops of a nest visit, in order.
fn visited(nest: &Nest, n: i64) -> Vec<Vec<i64>> {
    let mut found = Vec::new();
    if nest.condition.contains(&[n], &[]) == Some(true) {
        visit(nest, &[n], &mut found);
    }
    found
}

fn visit(nest: &Nest, values: &[i64], found: &mut Vec<Vec<i64>>) {
    let Some(level) = nest.levels.get(values.len() - 1) else {
        found.push(values[1..].to_vec());
        return;
    };
    let with_divs = |value: i64| {
        let mut all = [values, &[value]].concat();
        for div in &level.divs {
            let numerator = div.numerator.at(&all).unwrap();
            all.push(numerator.div_euclid(div.denominator));
        }
        all
    };
    // Bounds use neither the value nor the divisions that depend on it, so that any value serves here.
    let outer = with_divs(0);
    let up = |value: i64, by: i64| -(-value).div_euclid(by);
    let low = level.lower.iter().map(|bound| up(bound.form.at(&outer).unwrap(), bound.denominator)).max().unwrap();
    let high =
        level.upper.iter().map(|bound| bound.form.at(&outer).unwrap().div_euclid(bound.denominator)).min().unwrap();
    for value in low..=high {
        let all = with_divs(value);
        let strides =
            level.strides.iter().all(|stride| (value - stride.offset.at(&all).unwrap()) % stride.modulus == 0);
        let mut piece = Piece::universe(all.len(), 0);
        level.guards.iter().for_each(|guard| piece.constrain(guard.clone()));
        if strides && piece.contains(&all, &[]) == Some(true) {
            visit(nest, &[values, &[value]].concat(), found);
        }
    }
}

#[test]
fn nests_visit_every_point_in_order() {
    known(drawn_set(1), 1500, 90, |drawn| {
        let piece = piece(&drawn[0], 2, true);
        let mut context = Piece::universe(1, 0);
        context.at_least(Affine::variable(0));
        let Some(nest) = piece.nest(&context) else { return Ok(false) };
        for n in 0..=REACH {
            let mut expected: Vec<Vec<i64>> =
                points(2, REACH).filter(|(at, _)| *at == n).map(|(_, point)| point).collect();
            expected.retain(|point| piece.contains(&[n], point) == Some(true));
            expected.sort();
            prop_assert_eq!(visited(&nest, n), expected);
        }
        Ok(true)
    });
}

#[test]
fn counts() {
    known(drawn_set(2), 1000, 30, |drawn| {
        let set = set(&drawn, 2, true);
        let Some(count) = set.count() else { return Ok(false) };
        for n in -REACH..=REACH {
            let points = points(2, REACH).filter(|(at, point)| *at == n && holds(&set, n, point)).count();
            prop_assert_eq!(count.at(&[n]), Some(points as i128));
        }
        Ok(true)
    });
}

#[test]
fn text_is_read_back() {
    known(drawn_set(3), 1000, 100, |drawn| {
        let set = set(&drawn, 2, false);
        let text = set.to_string();
        let read: Set = text.parse().map_err(|error| TestCaseError::fail(format!("{text}: {error}")))?;
        for (n, point) in points(2, REACH) {
            prop_assert_eq!(holds(&read, n, &point), holds(&set, n, &point), "{}", text);
        }
        Ok(true)
    });
}

#[test]
fn preimages() {
    let columns = (prop::array::uniform3(-2_i64..=2), prop::array::uniform3(-2_i64..=2), -3_i64..=3);
    known((drawn_set(2), columns), 1000, 99, |(drawn, (first, second, constant))| {
        let set = set(&drawn, 2, false);
        let (first, second) = (Affine::new(first, constant), Affine::new(second, -constant));
        let columns = [Affine::variable(0), first.clone(), second.clone()];
        let Some(pulled) = set.preimage(space(2), &columns) else { return Ok(false) };
        for (n, point) in points(2, 3) {
            let values = [n, point[0], point[1]];
            let target = [first.at(&values).unwrap(), second.at(&values).unwrap()];
            prop_assert_eq!(holds(&pulled, n, &point), holds(&set, n, &target));
        }
        Ok(true)
    });
}

/// A piece of a map: its constraints, the factors of its targets, and a flag that is true if it has a coefficient.
type DrawnPart = (Vec<Drawn>, [i64; 3], [i64; 3], bool);

/// A map of two dimensions from drawn pieces and targets.
fn map(drawn: &[DrawnPart]) -> Option<Map> {
    let pieces = drawn.iter().map(|(constraints, first, second, skew)| {
        let mut domain = piece(constraints, 2, true);
        let half = domain.floor(&Affine::variable(1), 2).unwrap();
        let target = vec![Affine::new(*first, 1), Affine::new(*second, 0).plus(&half).unwrap()];
        let sign = if *skew { -1 } else { 1 };
        MapPiece { domain, target, coefficient: Coefficient::new(sign, 1, *skew).unwrap() }
    });
    Map::new(space(2), vec!["a".to_string(), "b".to_string()], pieces.collect())
}

fn drawn_map() -> impl Strategy<Value = Vec<DrawnPart>> {
    let factors = || prop::array::uniform3(-1_i64..=1);
    prop::collection::vec((prop::collection::vec(drawn(), 0..3), factors(), factors(), any::<bool>()), 1..3)
}

#[test]
fn maps() {
    known((drawn_map(), drawn_map(), drawn_set(2)), 100, 85, |(first, second, within)| {
        let within = set(&within, 2, true);
        let (Some(first), Some(second)) = (map(&first), map(&second)) else { return Ok(false) };
        let at = |map: &Map, n: i64, point: &[i64]| map.at(&[n], point).expect("small numbers fit");
        let (Some(then), Some(back), Some(less)) =
            (first.then(&second), first.preimage(&within), first.restricted(&within))
        else {
            return Ok(false);
        };
        let (Some(alike), Some(fixed)) = (first.agreement(&second), first.fixed()) else { return Ok(false) };
        let domain = first.domain();
        for (n, point) in points(2, REACH) {
            let target = at(&first, n, &point);
            prop_assert_eq!(holds(&domain, n, &point), target.is_some());
            let onward = target.as_ref().and_then(|(target, c)| {
                let (end, d) = at(&second, n, target)?;
                Some((end, c.times(d)?))
            });
            prop_assert_eq!(at(&then, n, &point), onward);
            prop_assert_eq!(
                holds(&back, n, &point),
                target.as_ref().is_some_and(|(target, _)| holds(&within, n, target))
            );
            let left = target.clone().filter(|_| holds(&within, n, &point));
            prop_assert_eq!(at(&less, n, &point), left);
            let same = target.is_some() && target == at(&second, n, &point);
            prop_assert_eq!(holds(&alike, n, &point), same);
            prop_assert_eq!(holds(&fixed, n, &point), target == Some((point.clone(), Coefficient::ONE)));
        }
        let text = first.to_string();
        let read: Map = text.parse().map_err(|error| TestCaseError::fail(format!("{text}: {error}")))?;
        prop_assert!(first.pieces().is_empty() || !read.equals(&first).is_no(), "{}", text);
        let Some(image) = first.image(&within) else { return Ok(false) };
        for n in -REACH..=REACH {
            let reached: Vec<Vec<i64>> = points(2, REACH)
                .filter(|(at, point)| *at == n && holds(&within, n, point))
                .filter_map(|(_, point)| Some(at(&first, n, &point)?.0))
                .collect();
            for (_, point) in points(2, 8).filter(|(at, _)| *at == n) {
                prop_assert_eq!(holds(&image, n, &point), reached.contains(&point));
            }
        }
        Ok(true)
    });
}

const TOKENS: [&str; 34] = [
    "[",
    "]",
    "{",
    "}",
    "->",
    ":",
    "[i]",
    "[i, j]",
    "i",
    "j",
    "n",
    "n",
    "(",
    ")",
    ",",
    ";",
    "=",
    "<=",
    "<",
    "!=",
    ">=",
    "+",
    "-",
    "*",
    "mod",
    "2",
    "9223372036854775807",
    "floor(i/2)",
    "and",
    "or",
    "not",
    "exists k:",
    "k",
    "conj",
];

#[test]
fn no_text_panics() {
    let words = prop::collection::vec(prop::sample::select(&TOKENS[..]), 0..16);
    known(words, 2000, 0, |words| {
        let text = words.join(" ");
        for text in [text.clone(), format!("[n] -> {{ [i, j] : {text} }}"), format!("{{ [i] -> [j] : {text} }}")] {
            if let Ok(set) = text.parse::<Set>() {
                prop_assert!(set.to_string().parse::<Set>().is_ok(), "{}", set);
            }
            if let Ok(map) = text.parse::<Map>() {
                prop_assert!(map.to_string().parse::<Map>().is_ok(), "{}", map);
            }
        }
        Ok(true)
    });
}

#[test]
fn large_numbers_are_told() {
    // Whatever is said of numbers near the limits is right; most of it is not known.
    let large = prop::sample::select(vec![0, 1, -1, i64::MAX, i64::MIN, i64::MAX / 2, i64::MIN + 1, 1 << 40]);
    let rows = prop::collection::vec((prop::array::uniform3(large.clone()), large, any::<bool>()), 1..4);
    known(rows, 700, 0, |rows| {
        let mut piece = Piece::universe(1, 2);
        for (factors, constant, equal) in &rows {
            let form = Affine::new(&factors[..], *constant);
            if *equal { piece.equal(form) } else { piece.at_least(form) }
        }
        let around = points(2, 1).any(|(n, point)| piece.contains(&[n], &point) == Some(true));
        prop_assert!(!(around && piece.is_empty().is_yes()));
        let set = Set::of_piece(space(2), piece.clone());
        for (n, point) in points(2, 1) {
            let inside = piece.contains(&[n], &point);
            if let Some(rest) = Set::universe(space(2)).subtract(&set)
                && let (Some(inside), Some(outside)) = (inside, rest.contains(&[n], &point))
            {
                prop_assert_ne!(inside, outside);
            }
            if let Some(projected) = set.project_out(&[0])
                && let (Some(true), Some(partner)) = (inside, projected.contains(&[n], &point[1..]))
            {
                prop_assert!(partner);
            }
        }
        let _ = (set.coalesced(), set.count(), piece.nest(&Piece::universe(1, 0)));
        Ok(true)
    });
}

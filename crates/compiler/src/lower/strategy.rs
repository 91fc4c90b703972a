//! Strategies: the ways to run the loop over a variable of the statement.
//!
//! The choice follows from the merge lattice, from the properties of its iterators, from the schedule, and from the region of the
//! loop. It is made here, once, before any code is emitted; `--emit loops` prints it, and `loops/` has a file for each strategy.
//!
//! ```text
//! y(i) = A(i,j) * x(j)      A: csr        i: every coordinate     j: positions of A2
//! C(i,j) = A(i,j) + B(i,j)  all csr       j: merge {A2, B2}, {A2}, {B2}
//! C(i,j) = A(i,j) * B(i,j)  all bitmaps   j: words {A2, B2}
//! ```
//!
//! Pure: nothing here knows of the code so far.

use std::fmt;

use lacunar_imp::{LoopKind, Turns};
use lacunar_notation::VarId;
use lacunar_notation::concrete::{Kernel, Stmt};
use lacunar_notation::schedule::{Merge, Unit};

use super::iter::Traits;
use crate::iterate::lattice::{Lattice, MOST_OUTER_PIECES, MOST_PIECES, Point};

/// The most lattice points that get loops and cases of their own, in an innermost loop and in one around others.
const MOST_POINTS: usize = 7;
const MOST_OUTER_POINTS: usize = 3;

/// The way to run a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Strategy {
    /// Nothing is done at any coordinate.
    Nothing,
    /// Every coordinate of the region is visited.
    Dense,
    /// Every coordinate is visited, in pieces between borders.
    Borders,
    /// Every coordinate is visited, in pieces in one of which more is known of what is inside.
    Parts,
    /// Every coordinate is visited in lanes, in which operands are tested.
    Tested,
    /// Like [`Strategy::Tested`], or, if few coordinates are stored, over a list of them.
    Listed,
    /// The positions of one iterator are visited.
    Positions(usize),
    /// One iterator has a coordinate, or has not.
    AtMostOne(usize),
    /// The runs of one iterator are visited, and the neighbors in each.
    Runs(usize),
    /// The nodes of one iterator are visited, and the elements of each that are neighbors.
    Blocks(usize),
    /// Iterators are advanced together: one loop for each of these sets, the largest first.
    Merge(Vec<MergeLoop>),
    /// Intervals of coordinates are merged piece by piece, in which one of these sets is present: the largest first.
    Pieces(Vec<Point>),
    /// Iterators that lag jump to the coordinate of the one that leads.
    Gallop(Point),
    /// Words of 64 coordinates that are stored are combined.
    Words(Vec<Point>),
    /// Words of 64 coordinates are made of iterators, and combined.
    Bits(Vec<Point>),
    /// All iterators are advanced together in one loop, each of which may be absent.
    Union,
}

/// One loop of a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MergeLoop {
    /// The iterators that have coordinates left.
    pub point: Point,
    /// The coordinates that it visits, and the form of its body.
    pub kind: MergeKind,
}

/// The kind of one loop of a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MergeKind {
    /// The coordinates that are left of the dimension.
    RestOfDimension,
    /// The positions that are left of one iterator.
    RestOfPositions,
    /// The least coordinate of several, with a case for each combination.
    Cases,
    /// The least coordinate of two, each of which may be absent: a branch for each combination, with its steps.
    Branches,
    /// The least coordinate of several, all of which may be absent: one branch, the rest is selected.
    Select,
}

/// The surroundings and the body of a loop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Circumstances {
    /// The kind of loop that the schedule asks for.
    pub kind: LoopKind,
    /// The way to merge iterators that the schedule asks for.
    pub merge: Merge,
    /// True if it is known to visit the whole dimension.
    pub is_whole: bool,
    /// True if it assigns to one place, whatever the coordinate.
    pub reduces: bool,
    /// True if its body is an assignment.
    pub is_innermost: bool,
    /// True if some operand in the body that is none of its iterators may be absent.
    pub is_uncertain: bool,
    /// True if it is worth parting by the borders of indices.
    pub has_borders: bool,
    /// It has a part in which more is known of what is inside.
    pub has_parts: bool,
}

/// The kind that the schedule asks for in the loop over a leaf, threads aside.
pub(super) fn loop_kind(kernel: &Kernel, leaf: VarId) -> LoopKind {
    match kernel.provenance.parallel(leaf) {
        Some((Unit::CpuVector, _)) => LoopKind::VECTOR,
        _ => match kernel.provenance.unroll(leaf) {
            Some(times) => LoopKind::Unrolled(Turns { times, near: false }),
            None => LoopKind::Serial,
        },
    }
}

/// True if a lattice has too many points for a loop and a case each.
pub(super) fn is_large(lattice: &Lattice, body: &Stmt) -> bool {
    let limit = if matches!(body, Stmt::Assign(_)) { MOST_POINTS } else { MOST_OUTER_POINTS };
    lattice.is_coarse || (lattice.points.len() > limit && lattice.searched() == Point::ALL)
}

/// True if lanes can test all operands of a loop: each is tested, and has its values right there.
pub(super) fn can_test(traits: &[Traits], circumstances: &Circumstances) -> bool {
    let is_tested = |traits: &Traits| traits.words && traits.innermost && !traits.uncertain;
    circumstances.kind == LoopKind::VECTOR
        && circumstances.is_innermost
        && !traits.is_empty()
        && traits.iter().all(is_tested)
}

/// The sets of iterators that are advanced together, the largest first.
pub(super) fn loops_of(lattice: &Lattice) -> Vec<Point> {
    let searched = lattice.searched();
    let mut loops: Vec<Point> = lattice.points.iter().map(|point| Point(point.0 & !searched.0)).collect();
    loops.sort_by_key(|point| (std::cmp::Reverse(point.0.count_ones()), point.0));
    loops.dedup();
    loops
}

/// The most copies that a loop makes of its body: one for each lattice point that can be met in each of its merge loops.
pub(super) fn copies_of(lattice: &Lattice, body: &Stmt) -> u64 {
    let (loops, searched) = (loops_of(lattice), lattice.searched());
    if is_large(lattice, body) && loops.len() > 1 {
        return 1;
    }
    let is_in = |point: &Point, whole: &Point| whole.contains(Point(point.0 & !searched.0));
    let cases = |whole: &Point| lattice.points.iter().filter(|point| is_in(point, whole)).count() as u64;
    let all = if lattice.is_coarse { loops.len() as u64 } else { loops.iter().map(cases).sum() };
    all.max(1)
}

/// Chooses how a loop is run.
pub(super) fn choose(lattice: &Lattice, body: &Stmt, traits: &[Traits], circumstances: &Circumstances) -> Strategy {
    let loops = loops_of(lattice);
    let merged = Point::union(&loops);
    let steps = |k: usize| traits[k].contiguous && !traits[k].repeats;
    match loops.as_slice() {
        [] => Strategy::Nothing,
        [Point::ALL] if can_test(traits, circumstances) => {
            let is_single = traits.len() == 1 && lattice.points == [Point::of([0])];
            if is_single && circumstances.is_whole && circumstances.reduces {
                Strategy::Listed
            } else {
                Strategy::Tested
            }
        }
        [Point::ALL] if circumstances.has_borders => Strategy::Borders,
        [Point::ALL] if circumstances.has_parts => Strategy::Parts,
        [Point::ALL] => Strategy::Dense,
        _ if !loops.contains(&Point::ALL) && merged.members().all(|k| traits[k].words) => Strategy::Words(loops),
        [only] if only.0.count_ones() == 1 => {
            let k = only.0.trailing_zeros() as usize;
            if traits[k].runs && !traits[k].repeats && !traits[k].uncertain {
                Strategy::Runs(k)
            } else if traits[k].blocks && circumstances.is_whole {
                Strategy::Blocks(k)
            } else if !steps(k) {
                Strategy::Merge(vec![MergeLoop { point: *only, kind: MergeKind::Cases }])
            } else if traits[k].single {
                Strategy::AtMostOne(k)
            } else {
                Strategy::Positions(k)
            }
        }
        _ if is_merged_by_bits(lattice, &loops, traits, circumstances) => Strategy::Bits(loops),
        _ if !lattice.is_coarse && is_in_pieces(&loops, traits, circumstances) => Strategy::Pieces(loops),
        _ if is_large(lattice, body) && loops.len() > 1 => Strategy::Union,
        [only] if circumstances.merge == Merge::Gallop && !lattice.visits_all() && only.members().all(steps) => {
            Strategy::Gallop(*only)
        }
        _ => {
            let kind = |point: Point| merge_kind(lattice, point, traits, circumstances);
            Strategy::Merge(loops.iter().map(|&point| MergeLoop { point, kind: kind(point) }).collect())
        }
    }
}

/// The kind of one loop of a merge.
fn merge_kind(lattice: &Lattice, point: Point, traits: &[Traits], circumstances: &Circumstances) -> MergeKind {
    let steps = |k: usize| traits[k].contiguous && !traits[k].repeats;
    match (lattice.visits_all(), point.0.count_ones()) {
        (true, 0) => MergeKind::RestOfDimension,
        (false, 1) if point.members().all(steps) => MergeKind::RestOfPositions,
        (false, 2) if is_plain_union(lattice, point, traits, circumstances) => MergeKind::Branches,
        (false, _) if is_plain_union(lattice, point, traits, circumstances) => MergeKind::Select,
        _ => MergeKind::Cases,
    }
}

/// True if a merge has a value at every coordinate it meets, and everything it reads there is at hand. A marked workspace has its
/// values at their coordinates, not at its cursor.
fn is_plain_union(lattice: &Lattice, point: Point, traits: &[Traits], circumstances: &Circumstances) -> bool {
    let is_at_hand = |k: usize| {
        let Traits { innermost, marked, contiguous, repeats, .. } = traits[k];
        innermost && !marked && contiguous && !repeats && lattice.points.contains(&Point(1 << k))
    };
    circumstances.is_innermost
        && !circumstances.is_uncertain
        && (0..traits.len()).all(|k| point.has(k) || !traits[k].uncertain)
        && point.0.count_ones() > 1
        && lattice.searched() == Point::ALL
        && point.members().all(is_at_hand)
}

/// True if the operands of a loop are to be merged by words: the schedule says so, something is merged, and all have a coordinate
/// at every position, so that counting finds them.
fn is_merged_by_bits(lattice: &Lattice, loops: &[Point], traits: &[Traits], circumstances: &Circumstances) -> bool {
    let merged = Point::union(loops).0.count_ones();
    let others = 1 - u32::from(lattice.visits_all());
    let is_contiguous = |point: &Point| point.members().all(|k| traits[k].contiguous);
    circumstances.merge == Merge::Bitmap && merged > others && loops.iter().all(is_contiguous)
}

/// True if all iterators that are merged are intervals of coordinates, and few enough for a loop over each piece.
fn is_in_pieces(loops: &[Point], traits: &[Traits], circumstances: &Circumstances) -> bool {
    let is_interval = |k: usize| traits[k].gapless && !traits[k].repeats && !traits[k].uncertain;
    let most = if circumstances.is_innermost { MOST_PIECES } else { MOST_OUTER_PIECES };
    circumstances.merge == Merge::Coiterate && loops.len() <= most && Point::union(loops).members().all(is_interval)
}

/// A strategy in words, with the names of iterators.
pub(super) struct InWords<'a>(pub &'a Strategy, pub &'a [String]);

impl fmt::Display for InWords<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let InWords(strategy, names) = *self;
        let set = |point: Point| {
            let members: Vec<&str> = point.members().map(|k| names[k].as_str()).collect();
            format!("{{{}}}", members.join(", "))
        };
        let sets = |points: &[Point]| points.iter().map(|point| set(*point)).collect::<Vec<_>>().join(", ");
        match strategy {
            Strategy::Nothing => write!(f, "nothing is done"),
            Strategy::Dense => write!(f, "every coordinate"),
            Strategy::Borders => write!(f, "every coordinate, between borders"),
            Strategy::Parts => write!(f, "every coordinate, a part that is known apart"),
            Strategy::Tested => write!(f, "every coordinate, {} tested", names.join(", ")),
            Strategy::Listed => {
                write!(f, "every coordinate, {} tested, or a list of what it stores", names[0])
            }
            Strategy::Positions(k) => write!(f, "positions of {}", names[*k]),
            Strategy::AtMostOne(k) => write!(f, "at most one position of {}", names[*k]),
            Strategy::Runs(k) => write!(f, "runs of {}", names[*k]),
            Strategy::Blocks(k) => write!(f, "blocks of {}", names[*k]),
            Strategy::Merge(loops) => {
                let one = |of: &MergeLoop| match of.kind {
                    MergeKind::RestOfDimension => "the rest of the dimension".to_string(),
                    MergeKind::RestOfPositions => format!("the rest of {}", set(of.point)),
                    MergeKind::Cases | MergeKind::Branches => set(of.point),
                    MergeKind::Select => format!("{} without branches", set(of.point)),
                };
                write!(f, "merge {}", loops.iter().map(one).collect::<Vec<_>>().join(", "))
            }
            Strategy::Pieces(points) => write!(f, "pieces {}", sets(points)),
            Strategy::Gallop(point) => write!(f, "intersection {} by jumps", set(*point)),
            Strategy::Words(loops) => write!(f, "words {}", sets(loops)),
            Strategy::Bits(loops) => write!(f, "merge by bits {}", sets(loops)),
            Strategy::Union => write!(f, "union of {}, each under a condition", names.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iterate::iterators::{AccessKey, Iterator, Mode};
    use lacunar_base::Span;
    use lacunar_notation::TensorId;
    use lacunar_notation::concrete::Assign;
    use lacunar_notation::{Access, AssignOp, Expr, ExprKind, Literal};

    /// A compressed level with one coordinate at each position, which is the innermost of its tensor.
    const PLAIN: Traits = Traits {
        contiguous: true,
        gapless: false,
        repeats: false,
        shared: false,
        runs: false,
        blocks: false,
        single: false,
        words: false,
        innermost: true,
        marked: false,
        uncertain: false,
    };
    const BITMAP: Traits = Traits { contiguous: false, words: true, ..PLAIN };
    const COO: Traits = Traits { repeats: true, innermost: false, ..PLAIN };
    const DELTA: Traits = Traits { contiguous: false, ..PLAIN };
    const INTERVAL: Traits = Traits { gapless: true, ..PLAIN };
    const OUTER: Traits = Traits { innermost: false, ..PLAIN };

    /// An innermost serial loop over a whole dimension.
    const HERE: Circumstances = Circumstances {
        kind: LoopKind::Serial,
        merge: Merge::Coiterate,
        is_whole: true,
        reduces: true,
        is_innermost: true,
        is_uncertain: false,
        has_borders: false,
        has_parts: false,
    };
    const LANES: Circumstances = Circumstances { kind: LoopKind::VECTOR, ..HERE };

    /// A lattice with these points, whose iterators are advanced unless they are among the `searched`.
    fn lattice(points: &[&[usize]], searched: &[usize]) -> Lattice {
        let last = points.iter().flat_map(|point| point.iter()).chain(searched).max();
        let iterator = |k: usize| Iterator {
            access: AccessKey { tensor: TensorId::from_index(k), vars: Vec::new() },
            level: 0,
            mode: if searched.contains(&k) { Mode::Search } else { Mode::Coiterate },
        };
        let points = points.iter().map(|point| Point::of(point.iter().copied())).collect();
        Lattice {
            iterators: last.map_or(0..0, |last| 0..last + 1).map(iterator).collect(),
            points,
            is_coarse: false,
            confining: Vec::new(),
        }
    }

    #[test]
    fn a_lattice_with_points_left_out_has_no_loop_for_each() {
        let coarse = |points: &[&[usize]], searched: &[usize]| Lattice { is_coarse: true, ..lattice(points, searched) };
        let few = coarse(&[&[0, 1, 2], &[0], &[1], &[2]], &[]);
        assert_eq!(chosen(&few, &[PLAIN; 3], &HERE), "union of a, b, c, each under a condition");
        assert_eq!(chosen(&few, &[INTERVAL; 3], &HERE), "union of a, b, c, each under a condition");
        let with_searched = coarse(&[&[0, 1, 2], &[0], &[1], &[2]], &[2]);
        assert_eq!(chosen(&with_searched, &[PLAIN; 3], &HERE), "union of a, b, c, each under a condition");
        let led = coarse(&[&[0, 1, 2], &[0, 1], &[0, 2]], &[1, 2]);
        assert_eq!(chosen(&led, &[PLAIN; 3], &HERE), "positions of a");
    }

    fn assignment() -> Stmt {
        let rhs = Expr {
            kind: ExprKind::Literal(Literal::Absent),
            dtype: lacunar_formats::DType::F64,
            span: Span::default(),
        };
        let lhs = Access { tensor: TensorId::from_index(0), vars: Vec::new(), span: Span::default() };
        Stmt::Assign(Assign { lhs, op: AssignOp::Set, rhs })
    }

    fn chosen(lattice: &Lattice, traits: &[Traits], circumstances: &Circumstances) -> String {
        let names: Vec<String> = ["a", "b", "c", "d"].map(String::from).into();
        InWords(&choose(lattice, &assignment(), traits, circumstances), &names[..traits.len()]).to_string()
    }

    #[test]
    fn one_iterator() {
        let single = lattice(&[&[0]], &[]);
        for (traits, circumstances, wanted) in [
            (PLAIN, HERE, "positions of a"),
            (PLAIN, LANES, "positions of a"),
            (Traits { single: true, ..PLAIN }, HERE, "at most one position of a"),
            (COO, HERE, "merge {a}"),
            (DELTA, HERE, "merge {a}"),
            (BITMAP, HERE, "words {a}"),
            (Traits { runs: true, ..PLAIN }, HERE, "runs of a"),
            (Traits { runs: true, uncertain: true, ..DELTA }, HERE, "merge {a}"),
            (Traits { blocks: true, ..DELTA }, HERE, "blocks of a"),
            (Traits { blocks: true, ..DELTA }, Circumstances { is_whole: false, ..HERE }, "merge {a}"),
        ] {
            assert_eq!(chosen(&single, &[traits], &circumstances), wanted);
        }
    }

    #[test]
    fn every_coordinate() {
        let all = lattice(&[&[]], &[]);
        assert_eq!(chosen(&all, &[], &HERE), "every coordinate");
        assert_eq!(chosen(&lattice(&[], &[]), &[], &HERE), "nothing is done");
        let searched = lattice(&[&[0]], &[0]);
        for (traits, circumstances, wanted) in [
            (PLAIN, LANES, "every coordinate"),
            (BITMAP, HERE, "every coordinate"),
            (BITMAP, LANES, "every coordinate, a tested, or a list of what it stores"),
            (BITMAP, Circumstances { is_whole: false, ..LANES }, "every coordinate, a tested"),
            (BITMAP, Circumstances { reduces: false, ..LANES }, "every coordinate, a tested"),
            (Traits { innermost: false, ..BITMAP }, LANES, "every coordinate"),
            (Traits { uncertain: true, ..BITMAP }, LANES, "every coordinate"),
        ] {
            assert_eq!(chosen(&searched, &[traits], &circumstances), wanted);
        }
    }

    #[test]
    fn several_iterators() {
        let (product, sum) = (lattice(&[&[0, 1]], &[]), lattice(&[&[0, 1], &[0], &[1]], &[]));
        let with_dense = lattice(&[&[0, 1], &[0], &[1], &[]], &[]);
        let gallop = Circumstances { merge: Merge::Gallop, ..HERE };
        let bits = Circumstances { merge: Merge::Bitmap, ..HERE };
        for (lattice, traits, circumstances, wanted) in [
            (&product, [PLAIN; 2], HERE, "merge {a, b}"),
            (&product, [PLAIN; 2], gallop, "intersection {a, b} by jumps"),
            (&product, [PLAIN, COO], gallop, "merge {a, b}"),
            (&product, [PLAIN; 2], bits, "merge by bits {a, b}"),
            (&product, [PLAIN, DELTA], bits, "merge {a, b}"),
            (&product, [BITMAP; 2], HERE, "words {a, b}"),
            (&sum, [PLAIN; 2], HERE, "merge {a, b}, the rest of {a}, the rest of {b}"),
            (&sum, [PLAIN, DELTA], HERE, "merge {a, b}, the rest of {a}, {b}"),
            (&sum, [OUTER; 2], HERE, "merge {a, b}, the rest of {a}, the rest of {b}"),
            (
                &sum,
                [PLAIN; 2],
                Circumstances { is_uncertain: true, ..HERE },
                "merge {a, b}, the rest of {a}, the rest of {b}",
            ),
            (&sum, [PLAIN; 2], gallop, "merge {a, b}, the rest of {a}, the rest of {b}"),
            (&product, [INTERVAL; 2], HERE, "pieces {a, b}"),
            (&sum, [INTERVAL; 2], HERE, "pieces {a, b}, {a}, {b}"),
            (&sum, [INTERVAL, PLAIN], HERE, "merge {a, b}, the rest of {a}, the rest of {b}"),
            (&with_dense, [INTERVAL; 2], HERE, "pieces {a, b}, {a}, {b}, {}"),
            (&with_dense, [PLAIN; 2], HERE, "merge {a, b}, {a}, {b}, the rest of the dimension"),
        ] {
            assert_eq!(chosen(lattice, &traits, &circumstances), wanted);
        }
    }

    #[test]
    fn unions_of_many() {
        let sets: Vec<Vec<usize>> = (1..16usize).map(|bits| (0..4).filter(|k| bits >> k & 1 == 1).collect()).collect();
        let points: Vec<&[usize]> = sets.iter().map(Vec::as_slice).collect();
        let union = lattice(&points, &[]);
        assert_eq!(chosen(&union, &[PLAIN; 4], &HERE), "union of a, b, c, d, each under a condition");
        assert_eq!(chosen(&union, &[BITMAP; 4], &HERE).split(' ').next(), Some("words"));
    }
}

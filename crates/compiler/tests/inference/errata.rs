//! The mistakes of Ghorbani et al. 2023 that the rules here do not have, each by an expression at which their rule goes wrong.
//!
//! Values judge every structure; beside them stand the numbers of elements of the support and of those that follow from others, which a rule
//! that only knew less would miss.

use super::*;

/// The mistake, the program, the structures of its inputs, the size of all variables, and the expected numbers: of elements that may be
/// other than 0, and of those among them that follow from others.
type Erratum = (&'static str, &'static str, &'static [(&'static str, &'static str)], u64, (usize, usize));

const ERRATA: &[Erratum] = &[
    (
        "§5.1: the support of a sum is the union, not the intersection",
        "C(i,j) = A(i,j) + B(i,j)",
        &[("A", "strictly_lower"), ("B", "diagonal")],
        4,
        (10, 0),
    ),
    ("Fig. 9: unique elements of a projection come of unique rows", "C(i) = S(i,j)", &[("S", "lower")], 4, (4, 0)),
    (
        "Fig. 10: the pairs of coordinates of a self-product are sorted in lexicographic order",
        "C(i,j,k,l) = S(i,j) * S(k,l)",
        &[],
        3,
        (81, 36),
    ),
    (
        "Fig. 10: factors may disagree on what they share",
        "C(i,j) = A(i,k) * B(k,j)",
        &[("A", "symmetric"), ("B", "symmetric")],
        3,
        (9, 0),
    ),
    ("§5.5: a redundant element has the coordinates exchanged", "C(i,j) = S(j,i)", &[("S", "symmetric")], 4, (16, 6)),
    (
        "Fig. 8: the unique half of a symmetric matrix ends at its size",
        "C(i,j) = S(i,j)",
        &[("S", "symmetric")],
        4,
        (16, 6),
    ),
    (
        "Fig. 9: a repetition of something that is empty has no unique element",
        "C(i,j) = v(j)",
        &[("v", "zero")],
        3,
        (0, 0),
    ),
    ("Fig. 9: a repetition has one row", "C(i,j) = v(j)", &[], 1, (1, 0)),
    ("§5.1: a chess board of odd size has its last row and column", "C(i,j) = A(i,j)", &[("A", "chess")], 3, (5, 0)),
    (
        "§5.1: an upper half of a symmetric matrix has no redundant element",
        "C(i,j) = A(i,j) * S(i,j)",
        &[("A", "upper"), ("S", "symmetric")],
        4,
        (10, 0),
    ),
    (
        "§6: many redundant elements may follow from one",
        "C(i,j) = A(i,j) + B(i,j)",
        &[("A", "identical_rows"), ("B", "identical_rows")],
        4,
        (16, 12),
    ),
    (
        "Fig. 11: what is read for a redundant element has both coordinates exchanged",
        "C(i) = S(i,j) * v(j)",
        &[("S", "symmetric")],
        4,
        (4, 0),
    ),
    (
        "Fig. 9: a sum keeps the redundancy that both leave it",
        "C(i,j) = A(i,j) + B(i,j)",
        &[("A", "symmetric"), ("B", "diagonal")],
        4,
        (16, 6),
    ),
];

#[test]
fn errata() {
    for (what, text, structures, size, expected) in ERRATA {
        let of = |name: &str, order: usize| {
            let found = structures.iter().find(|(own, _)| *own == name);
            found.and_then(|(_, structure)| named(structure, order, &[]))
        };
        let sizes = ["i", "j", "k", "l"].map(|var| (var, *size));
        let case = Case::new(text, &sizes, of, 11).unwrap_or_else(|| panic!("{text} is not valid"));
        let (_, supported, redundant) = case.judge(what);
        assert_eq!((supported, redundant), *expected, "{what}: {text}");
    }
}

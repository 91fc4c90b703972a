//! Every pair of eleven structures under the operations of a tensor algebra: products, sums, Kronecker products, direct sums, transpositions.
//!
//! The inferred support is that of the values if these never cancel, and elements that follow from others have their values. If the result
//! of an operation has a structure with a name (Ghorbani et al. 2023, §4.2 and §5.1), it is that structure, element by element.
//! `LACUNAR_PAIRS=all` takes all pairs, of matrices of 1 to 4 rows and, where the structures have such, of as many other columns; otherwise
//! an operation has one of these sizes and one pair in [`ONE_IN`], others each day.

use super::*;

/// One in so many pairs of structures is taken on a day.
const ONE_IN: u64 = 9;

/// The structures, with their arguments.
const NAMES: [(&str, &[i64]); 11] = [
    ("zero", &[]),
    ("general", &[]),
    ("onehot", &[1, 2]),
    ("row", &[1]),
    ("column", &[2]),
    ("diagonal", &[]),
    ("upper", &[]),
    ("lower", &[]),
    ("symmetric", &[]),
    ("skew", &[]),
    ("banded", &[1, 1]),
];

/// A program over matrices of so many rows and columns, in which `M` and `N` stand for these numbers.
type Operation = (&'static str, &'static str);

const OPERATIONS: [Operation; 9] = [
    ("product", "C(i,j) = A(i,k) * B(k,j)"),
    ("elementwise", "C(i,j) = A(i,j) * B(i,j)"),
    ("sum", "C(i,j) = A(i,j) + B(i,j)"),
    ("kronecker", "C(M*i + k, N*j + l) = A(i,j) * B(k,l)"),
    ("outer", "C(i,j,k,l) = A(i,j) * B(k,l)"),
    ("direct sum", "C[p,q] = A[p + 0, q + 0] + B[p - M, q - N]"),
    ("transposition", "C(i,j) = A(j,i)"),
    ("sum with a transpose", "C(i,j) = A(j,i) + B(i,j)"),
    ("product with a transpose", "C(i,j) = A(i,k) * B(j,k)"),
];

/// Sizes: rows and columns.
const SIZES: [(i64, i64); 7] = [(3, 3), (4, 4), (2, 2), (1, 1), (3, 4), (4, 2), (2, 3)];

fn text(operation: &str, (rows, columns): (i64, i64)) -> String {
    operation.replace('M', &rows.to_string()).replace('N', &columns.to_string())
}

/// A program over matrices of some structures and sizes; nothing, if they cannot have these sizes.
fn case(operation: &Operation, size: (i64, i64), of: [(&str, &[i64]); 2]) -> Option<Case> {
    let (rows, columns) = (size.0 as u64, size.1 as u64);
    let dims = |name: &str| -> [u64; 2] {
        match (operation.0, name) {
            // The second operand of a product has as many rows as the first has columns.
            ("product", "B") => [columns, rows],
            ("transposition" | "sum with a transpose", "A") => [columns, rows],
            _ => [rows, columns],
        }
    };
    let mut known = Declarations::new().dims("A", dims("A"));
    if operation.1.contains("B") {
        known = known.dims("B", dims("B"));
    }
    if operation.0 == "direct sum" {
        known = known.dims("C", [2 * rows, 2 * columns]);
    }
    let [first, second] = of;
    let structure = |name: &str, order: usize| match name {
        "A" => named(first.0, order, first.1),
        "B" => named(second.0, order, second.1),
        _ => None,
    };
    Case::declared(DType::C128, &text(operation.1, size), known, structure, 3)
}

#[test]
fn supports_of_pairs() {
    let all = std::env::var("LACUNAR_PAIRS").is_ok_and(|value| value == "all");
    let days = today();
    let mut tried = 0;
    for (place, operation) in (0..).zip(&OPERATIONS) {
        for (number, size) in (0..).zip(&SIZES) {
            if !all && number != (days + place) % SIZES.len() as u64 {
                continue;
            }
            for (row, first) in (0..).zip(NAMES) {
                for (column, second) in (0..).zip(NAMES) {
                    if !all && !(row + column + days).is_multiple_of(ONE_IN) {
                        continue;
                    }
                    let label = format!("{} of {first:?} and {second:?}, {size:?}", operation.0);
                    let Some(case) = case(operation, *size, [first, second]) else { continue };
                    tried += 1;
                    case.judge(&label);
                    assert_support(&case, &label);
                }
            }
        }
    }
    println!("{tried} pairs of structures under operations");
    assert!(tried > 20, "only {tried} pairs are possible");
}

/// The structure that an operation makes of two: its name, theirs, and the result's.
type Stated =
    (&'static str, (&'static str, &'static [i64]), (&'static str, &'static [i64]), (&'static str, &'static [i64]));

const STATED: &[Stated] = &[
    ("product", ("zero", &[]), ("general", &[]), ("zero", &[])),
    ("product", ("general", &[]), ("zero", &[]), ("zero", &[])),
    ("product", ("general", &[]), ("general", &[]), ("general", &[])),
    ("product", ("onehot", &[1, 2]), ("onehot", &[2, 0]), ("onehot", &[1, 0])),
    ("product", ("onehot", &[1, 2]), ("onehot", &[1, 2]), ("zero", &[])),
    ("product", ("onehot", &[1, 2]), ("row", &[2]), ("row", &[1])),
    ("product", ("onehot", &[1, 2]), ("row", &[1]), ("zero", &[])),
    ("product", ("onehot", &[1, 2]), ("column", &[0]), ("onehot", &[1, 0])),
    ("product", ("onehot", &[1, 2]), ("diagonal", &[]), ("onehot", &[1, 2])),
    ("product", ("onehot", &[1, 2]), ("general", &[]), ("row", &[1])),
    ("product", ("general", &[]), ("onehot", &[1, 2]), ("column", &[2])),
    ("product", ("row", &[1]), ("column", &[2]), ("onehot", &[1, 2])),
    ("product", ("row", &[1]), ("general", &[]), ("row", &[1])),
    ("product", ("general", &[]), ("column", &[2]), ("column", &[2])),
    ("product", ("column", &[2]), ("row", &[1]), ("zero", &[])),
    ("product", ("column", &[2]), ("row", &[2]), ("general", &[])),
    ("product", ("row", &[1]), ("row", &[1]), ("row", &[1])),
    ("product", ("diagonal", &[]), ("diagonal", &[]), ("diagonal", &[])),
    ("product", ("diagonal", &[]), ("upper", &[]), ("upper", &[])),
    ("product", ("lower", &[]), ("diagonal", &[]), ("lower", &[])),
    ("product", ("diagonal", &[]), ("row", &[1]), ("row", &[1])),
    ("product", ("diagonal", &[]), ("banded", &[1, 1]), ("banded", &[1, 1])),
    ("product", ("upper", &[]), ("upper", &[]), ("upper", &[])),
    ("product", ("lower", &[]), ("lower", &[]), ("lower", &[])),
    ("product", ("symmetric", &[]), ("symmetric", &[]), ("general", &[])),
    ("product", ("banded", &[1, 1]), ("banded", &[1, 1]), ("banded", &[2, 2])),
    ("elementwise", ("zero", &[]), ("symmetric", &[]), ("zero", &[])),
    ("elementwise", ("general", &[]), ("upper", &[]), ("upper", &[])),
    ("elementwise", ("upper", &[]), ("lower", &[]), ("diagonal", &[])),
    ("elementwise", ("row", &[1]), ("column", &[2]), ("onehot", &[1, 2])),
    ("elementwise", ("symmetric", &[]), ("symmetric", &[]), ("symmetric", &[])),
    ("elementwise", ("skew", &[]), ("symmetric", &[]), ("skew", &[])),
    ("elementwise", ("diagonal", &[]), ("symmetric", &[]), ("diagonal", &[])),
    ("elementwise", ("skew", &[]), ("diagonal", &[]), ("zero", &[])),
    ("elementwise", ("banded", &[1, 1]), ("general", &[]), ("banded", &[1, 1])),
    ("sum", ("zero", &[]), ("skew", &[]), ("skew", &[])),
    ("sum", ("symmetric", &[]), ("zero", &[]), ("symmetric", &[])),
    ("sum", ("symmetric", &[]), ("symmetric", &[]), ("symmetric", &[])),
    ("sum", ("symmetric", &[]), ("diagonal", &[]), ("symmetric", &[])),
    ("sum", ("skew", &[]), ("skew", &[]), ("skew", &[])),
    ("sum", ("upper", &[]), ("diagonal", &[]), ("upper", &[])),
    ("sum", ("upper", &[]), ("lower", &[]), ("general", &[])),
    ("sum", ("diagonal", &[]), ("diagonal", &[]), ("diagonal", &[])),
    ("sum", ("banded", &[1, 1]), ("diagonal", &[]), ("banded", &[1, 1])),
    ("sum", ("general", &[]), ("symmetric", &[]), ("general", &[])),
    ("kronecker", ("diagonal", &[]), ("diagonal", &[]), ("diagonal", &[])),
    ("kronecker", ("zero", &[]), ("general", &[]), ("zero", &[])),
    ("kronecker", ("general", &[]), ("general", &[]), ("general", &[])),
    ("kronecker", ("onehot", &[1, 2]), ("onehot", &[1, 2]), ("onehot", &[4, 8])),
    ("kronecker", ("row", &[1]), ("row", &[1]), ("row", &[4])),
    ("kronecker", ("column", &[2]), ("column", &[2]), ("column", &[8])),
    ("direct sum", ("diagonal", &[]), ("diagonal", &[]), ("diagonal", &[])),
    ("direct sum", ("zero", &[]), ("zero", &[]), ("zero", &[])),
    ("direct sum", ("general", &[]), ("general", &[]), ("block_diagonal", &[3])),
    ("direct sum", ("onehot", &[1, 2]), ("zero", &[]), ("onehot", &[1, 2])),
    ("direct sum", ("zero", &[]), ("onehot", &[1, 2]), ("onehot", &[4, 5])),
    ("transposition", ("zero", &[]), ("zero", &[]), ("zero", &[])),
    ("transposition", ("general", &[]), ("zero", &[]), ("general", &[])),
    ("transposition", ("onehot", &[1, 2]), ("zero", &[]), ("onehot", &[2, 1])),
    ("transposition", ("row", &[1]), ("zero", &[]), ("column", &[1])),
    ("transposition", ("column", &[2]), ("zero", &[]), ("row", &[2])),
    ("transposition", ("diagonal", &[]), ("zero", &[]), ("diagonal", &[])),
    ("transposition", ("upper", &[]), ("zero", &[]), ("lower", &[])),
    ("transposition", ("lower", &[]), ("zero", &[]), ("upper", &[])),
    ("transposition", ("symmetric", &[]), ("zero", &[]), ("symmetric", &[])),
    ("transposition", ("skew", &[]), ("zero", &[]), ("skew", &[])),
    ("transposition", ("banded", &[1, 1]), ("zero", &[]), ("banded", &[1, 1])),
    ("sum with a transpose", ("upper", &[]), ("lower", &[]), ("lower", &[])),
    ("product with a transpose", ("upper", &[]), ("lower", &[]), ("upper", &[])),
    ("product with a transpose", ("column", &[2]), ("column", &[2]), ("general", &[])),
];

#[test]
fn what_is_stated() {
    for (name, first, second, expected) in STATED {
        let operation = OPERATIONS.iter().find(|(own, _)| own == name).unwrap();
        let case = case(operation, (3, 3), [*first, *second]).unwrap_or_else(|| panic!("{name} is not valid"));
        let found = case.infer().unwrap();
        let vars = &case.statement.lhs.vars;
        let expected = named(expected.0, vars.len(), expected.1).unwrap();
        let params = case.params(&found);
        let dims: Vec<i64> = vars.iter().map(|var| case.sizes[var]).collect();
        // Any one of several elements that follow from each other may be the unique one.
        let times = |a: Coefficient, b: Coefficient| a.times(b).unwrap();
        let (mut own_unique, mut stated_unique) = (0, 0);
        for point in points(&dims) {
            let (own, stated) = (found.element(&params, &point).unwrap(), expected.element(&dims, &point).unwrap());
            let through = own.as_ref().map(|(target, by)| {
                let (last, again) = expected.element(&dims, target).unwrap().unwrap();
                (last, times(*by, again))
            });
            let label = format!("{name} of {first:?} and {second:?} at {point:?}");
            assert_eq!(through, stated, "{label}: found\n{found}\nstated\n{expected}");
            own_unique += usize::from(own.is_some_and(|(target, _)| target == point));
            stated_unique += usize::from(stated.is_some_and(|(target, _)| target == point));
        }
        assert_eq!(own_unique, stated_unique, "{name} of {first:?} and {second:?}: found\n{found}\nstated\n{expected}");
    }
}

/// The support is exactly where a term has all of its factors.
fn assert_support(case: &Case, label: &str) {
    let found = case.infer().unwrap();
    let params = case.params(&found);
    let vars = &case.statement.lhs.vars;
    let dims: Vec<i64> = vars.iter().map(|var| case.sizes[var]).collect();
    for point in points(&dims) {
        let mut at: BTreeMap<VarId, i64> = vars.iter().copied().zip(point.iter().copied()).collect();
        let expected = present(case, &case.statement.rhs, &mut at);
        let element = found.element(&params, &point).unwrap();
        assert_eq!(element.is_some(), expected, "{label} at {point:?}\n{found}");
    }
}

fn present(case: &Case, expr: &Expr, at: &mut BTreeMap<VarId, i64>) -> bool {
    match &expr.kind {
        ExprKind::Access(access) => {
            let point: Vec<i64> = access.vars.iter().map(|var| at[var]).collect();
            match case.program.tensors[access.tensor].indicator {
                Some(_) => case.value(expr, at) != (0, 0),
                None => case.values[&access.tensor].contains_key(&point),
            }
        }
        ExprKind::Cast(inner) => present(case, inner, at),
        ExprKind::Binary(BinaryFn::Mul, a, b) => present(case, a, at) && present(case, b, at),
        ExprKind::Binary(_, a, b) => present(case, a, at) || present(case, b, at),
        ExprKind::Reduce(_, vars, term) => {
            let dims: Vec<i64> = vars.iter().map(|var| case.sizes[var]).collect();
            points(&dims).any(|point| {
                vars.iter().zip(&point).for_each(|(var, value)| {
                    at.insert(*var, *value);
                });
                present(case, term, at)
            })
        }
        _ => true,
    }
}

//! The oracle against results worked out by hand.
#![allow(clippy::unwrap_used)] // A failure is what a test is for.

use lacunar_formats::DType;
use lacunar_oracle::Outcome;

use crate::case::CaseFile;
use crate::entries::Entries;
use crate::scalar::Scalar;

/// Evaluates a case given as TOML without its head; the outcome of the last statement.
fn outcome(expr: &str, rest: &str) -> Outcome {
    let text = format!("[[case]]\nname = \"t\"\nexpr = {expr:?}\n{rest}");
    let file = CaseFile::parse(&text).unwrap();
    let instance = file.instances("t", &file.case[0]).unwrap().remove(0);
    instance.evaluated().unwrap().pop().unwrap()
}

fn present(expr: &str, rest: &str) -> Vec<(Vec<u64>, f64)> {
    let entries: Entries = outcome(expr, rest).entries;
    let real = |value: Scalar| match value.cast(DType::F64) {
        Scalar::Real(value) => value,
        _ => f64::NAN,
    };
    entries.values.into_iter().map(|(coordinate, value)| (coordinate, real(value))).collect()
}

/// A is [2 . 3; . . .; 4 . .], b is [10 . 30] and c is [. . 7], all sparse; w is [1 2 3], dense.
const DATA: [(&str, &str, &str); 4] = [
    ("A", "csr", "[[0, 0, 2], [0, 2, 3], [2, 0, 4]]"),
    ("b", "sv", "[[0, 10], [2, 30]]"),
    ("c", "sv", "[[2, 7]]"),
    ("w", "dense", "[[0, 1], [1, 2], [2, 3]]"),
];

/// The present entries of the sparse vector `y` that an expression over [`DATA`] gives.
fn vector(expr: &str) -> Vec<(u64, f64)> {
    let mut rest = String::from("formats.y = \"sv\"\nsizes.i = 3\n");
    for (name, format, rows) in DATA {
        if expr.contains(&format!("{name}(")) {
            rest += &format!("formats.{name} = {format:?}\ninputs.{name} = {rows}\n");
        }
    }
    if expr.contains('j') {
        rest += "sizes.j = 3\n";
    }
    present(expr, &rest).into_iter().map(|(coordinate, value)| (coordinate[0], value)).collect()
}

#[test]
fn absent_entries_are_structural_zeros() {
    assert_eq!(vector("y(i) = b(i) * w(i)"), [(0, 10.0), (2, 90.0)]);
    assert_eq!(vector("y(i) = b(i) + c(i)"), [(0, 10.0), (2, 37.0)]);
    assert_eq!(vector("y(i) = c(i) - b(i)"), [(0, -10.0), (2, -23.0)]);
    assert_eq!(vector("y(i) = b(i) * c(i)"), [(2, 210.0)]);
    assert_eq!(vector("y(i) = c(i) / b(i)"), [(2, 7.0 / 30.0)]);
    assert_eq!(vector("y(i) = b(i) / c(i)"), [(0, f64::INFINITY), (2, 30.0 / 7.0)]);
    assert_eq!(vector("y(i) = sqrt(b(i))"), [(0, 10f64.sqrt()), (2, 30f64.sqrt())]);
    assert_eq!(vector("y(i) = cos(c(i))"), [(0, 1.0), (1, 1.0), (2, 7f64.cos())]);
    assert_eq!(vector("y(i) = max(c(i), -b(i))"), [(0, 0.0), (2, 7.0)]);
    assert_eq!(vector("y(i) = eq(c(i), b(i))"), [(0, 0.0), (1, 1.0), (2, 0.0)]);
    assert_eq!(vector("y(i) = b(i) + 1"), [(0, 11.0), (1, 1.0), (2, 31.0)]);
}

#[test]
fn implicit_sums_are_per_term() {
    assert_eq!(vector("y(i) = A(i,j) * w(j)"), [(0, 11.0), (2, 4.0)]);
    assert_eq!(vector("y(i) = b(i) + A(i,j) * w(j)"), [(0, 21.0), (2, 34.0)]);
    assert_eq!(vector("y(i) = (A(i,j) * w(j) + c(i)) * 2"), [(0, 22.0), (2, 22.0)]);
    assert_eq!(vector("y(i) = (A(i,j) + c(i)) * w(j)"), [(0, 11.0), (2, 4.0 + 7.0 * 6.0)]);
    assert_eq!(vector("y(i) = square(A(i,j))"), [(0, 13.0), (2, 16.0)]);
    assert_eq!(vector("y(i) = square(sum(j, A(i,j)))"), [(0, 25.0), (2, 16.0)]);
    assert_eq!(vector("y(i) = sum(j, A(i,j) * w(j) + b(i))"), [(0, 41.0), (2, 94.0)]);
    assert_eq!(vector("y(i) = A(i,j) / 2 - w(j)"), [(0, -3.5), (1, -6.0), (2, -4.0)]);
    assert_eq!(vector("y(i) = -(A(i,j) - c(i))"), [(0, -5.0), (2, 3.0)]);
}

#[test]
fn a_sum_of_two_variables_does_not_count_a_term_of_one_twice() {
    let rest = r#"
sizes = { i = 2, j = 3 }
inputs.x = [[0, 1], [1, 2]]
inputs.A = [[0, 0, 1], [0, 1, 1], [1, 2, 1]]
inputs.b = [[0, 10], [1, 100]]
"#;
    // sum(i, x(i) * (sum(j, A(i,j)) + b(i))) = 1*(2+10) + 2*(1+100)
    assert_eq!(present("a = x(i) * (A(i,j) + b(i))", rest), [(vec![], 214.0)]);
    assert_eq!(present("a = (A(i,j) + b(i)) * x(i)", rest), [(vec![], 214.0)]);
}

#[test]
fn integers_wrap_and_a_diagonal_is_a_diagonal() {
    let rest = "dtypes = { x = \"u8\" }\nsizes = { i = 3 }\ninputs.x = [[0, 200], [1, 100], [2, 7]]";
    assert_eq!(present("a = x(i)", rest), [(vec![], 51.0)]);
    let rest = "formats.A = \"csr\"\nsizes = { i = 2 }\ninputs.A = [[0, 0, 5], [0, 1, 6], [1, 1, 7]]";
    assert_eq!(present("a = A(i,i)", rest), [(vec![], 12.0)]);
    assert_eq!(present("d(i) = A(i,i)", rest), [(vec![0], 5.0), (vec![1], 7.0)]);
}

#[test]
fn statements_follow_each_other_and_add() {
    let rest = "formats = { x = \"sv\", y = \"sv\" }\nsizes = { i = 3 }\ninputs.x = [[1, 2]]";
    assert_eq!(present("y(i) = x(i)\nz(i) = y(i) * y(i)", rest), [(vec![1], 4.0)]);
    assert_eq!(present("y(i) = x(i)\ny(i) += 3 * x(i)", rest), [(vec![1], 8.0)]);
    let given = format!("{rest}\ninputs.y = [[1, 1], [2, 5]]");
    assert_eq!(present("y(i) += x(i)", &given), [(vec![1], 3.0), (vec![2], 5.0)]);
}

#[test]
fn an_empty_sum_is_absent_and_stored_zeros_are_present() {
    let rest = "formats = { x = \"sv\", y = \"sv\" }\nsizes = { i = 3, j = 2 }\ninputs.x = []";
    assert_eq!(present("y(j) = x(i)", rest), []);
    let rest = "formats = { x = \"sv\", y = \"sv\" }\nsizes = { i = 2 }\ninputs.x = [[0, 0.0]]\ninputs.z = [[0, inf]]";
    let product = present("y(i) = x(i) * z(i)", rest);
    assert!(product.len() == 1 && product[0].1.is_nan(), "{product:?}");
}

#[test]
fn what_is_too_large_is_refused() {
    let refused = |expr: &str, size: u64| {
        let text = format!(
            "[[case]]\nname = \"t\"\nexpr = {expr:?}\nsizes = {{ i = {size}, j = {size} }}\nformats = {{ x = \"sv\", z = \"sv\" }}\ninputs.x = []\ninputs.z = []"
        );
        let file = CaseFile::parse(&text).unwrap();
        file.instances("t", &file.case[0]).unwrap().remove(0).evaluated().unwrap_err()
    };
    assert!(refused("y(i) = square(x(i) * z(j))", 10_000).contains("too large"));
    assert!(refused("y(i,j) = x(i) + z(j) + 1", 1 << 40).contains("too many"));
}

#[test]
fn of_a_space_without_end_what_is_there_is_enumerated() {
    let last = u64::MAX / 2 - 1;
    let matrix = format!("sizes = {{ i = {0}, j = {0} }}\ninputs.A = [[0, 3, 2], [{last}, {last}, 5]]\n", last + 1);
    assert_eq!(present("s = A(i,j)", &format!("formats.A = \"coo\"\n{matrix}")), [(vec![], 7.0)]);
    let rest = format!("formats = {{ A = \"coo\", x = \"sv\", y = \"sv\" }}\n{matrix}inputs.x = [[{last}, 10]]");
    assert_eq!(present("y(i) = A(i,j) * x(j)", &rest), [(vec![last], 50.0)]);
}

#[test]
fn types_are_those_of_the_text() {
    let rest = "dtypes = { x = \"f16\" }\nsizes = { i = 1 }\ninputs.x = [[0, 2.75]]";
    assert_eq!(present("y(i) = 1.0 * i64(x(i))", rest), [(vec![0], 2.0)]);
    assert_eq!(present("y(i) = f64(bool(x(i))) + 1", rest), [(vec![0], 2.0)]);
    assert_eq!(present("y(i) = f64(i8(x(i) * 100))", rest), [(vec![0], 127.0)]);
    assert_eq!(present("y(i) = f64(bf16(x(i) + 256))", rest), [(vec![0], 258.0)]);
}

#[test]
fn operators_that_multiply_may_come_to_large_numbers_on_the_way() {
    let rest = "sizes = { i = 3 }\ninputs.x = [[0, -1], [1, 1e20], [2, 1e30]]";
    let op = |body: &str| format!("op f(a, b) = {body} {{ identity 0, commutative, associative }}\ns f= x(i)");
    let scale = |body: &str| outcome(&op(body), rest).scale[&vec![]];
    assert!(scale("a + b + a * b") > 1e50);
    assert!(scale("sqrt(a * a + b * b)") < 1e40);
}

#[test]
fn pruned_values_may_be_rounded_to_nothing() {
    let rest = "sizes = { i = 2, k = 2 }\ninputs.x = [[0, 2.75], [1, -0.75]]";
    let uncertain = |expr: &str| outcome(expr, rest).uncertain.len();
    assert_eq!((uncertain("s = prune(sin(x(k) - x(i)))"), uncertain("s = prune(sin(x(k) - 2 * x(i)))")), (1, 0));
    assert_eq!(uncertain("s = sin(x(k) - x(i))"), 0);
}

#[test]
fn values_that_depend_on_where_a_sum_is_taken_are_moot() {
    let rest = "sizes = { i = 2 }\ninputs.x = [[0, 1], [1, 2]]\ninputs.y = [[0, inf], [1, 1]]";
    assert!(outcome("a = x(i) * y(i)", rest).moot.is_empty());
    let rest = "sizes = { i = 2 }\ninputs.x = [[0, 1], [1, 2]]\ninputs.s = [[inf]]";
    assert_eq!(outcome("a = s * x(i)", rest).moot.len(), 1);
    assert!(outcome("a = s * x(i)", &rest.replace("inf", "3")).moot.is_empty());
}

//! The meaning of a program: roles, sizes, types and formats, shown as the checked program's text.

use lacunar_formats::{DType, Format, FormatSpec};
use lacunar_front::{Declarations, check};

/// The checked program as text.
fn text(source: &str, declarations: Declarations) -> String {
    match check(source, &declarations) {
        Ok(program) => program.to_string(),
        Err(errors) => panic!("{}", errors.iter().map(|e| e.render(source, "program", false)).collect::<String>()),
    }
}

fn none() -> Declarations {
    Declarations::new()
}

/// The line of a tensor.
fn line(source: &str, declarations: Declarations, tensor: &str) -> String {
    let text = text(source, declarations);
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("{tensor}: ")));
    line.unwrap_or_default().to_string()
}

/// The first statement as it is after the check.
fn statement(source: &str, declarations: Declarations) -> String {
    text(source, declarations).lines().next().unwrap_or_default().to_string()
}

#[test]
fn statements_and_lines() {
    let source = "# two statements\ny(i) = (A(i,j)\n  * x(j)) +\n  b[i] // to here\n\nz = y(i) ; w() += z";
    let statements = "y(i) = A(i,j) * x(j) + b(i)\nz = y(i)\nw += z\n";
    assert!(text(source, none()).starts_with(statements));
}

#[test]
fn roles() {
    assert_eq!(line("y(i) = x(i); z = y(i)", none(), "y"), "f64 dense result");
    assert_eq!(line("y(i) = x(i); z = y(i)", none(), "x"), "f64 dense input");
    assert_eq!(line("y(i) += x(i)", none().input("x").input("y"), "y"), "f64 dense result");
    assert_eq!(line("y(i) = x(i); y(i) += x(i)", none().input("x"), "y"), "f64 dense result");
}

#[test]
fn sizes() {
    let spmv = "y(i) = A(i,j) * x(j)";
    assert_eq!(line(spmv, none().dims("A", [3, 4]), "y"), "f64 dense result 3");
    assert_eq!(line(spmv, none().dims("A", [3, 4]), "x"), "f64 dense input 4");
    assert_eq!(line(spmv, none().size("i", 3).dims("x", [4]), "A"), "f64 dense input 3x4");
    // A size under the other kind of name.
    assert_eq!(line(spmv, none().dims("i", [3]).size("x", 4), "A"), "f64 dense input 3x4");
    // From a later statement to an earlier one, through the result of the earlier.
    assert_eq!(line("y(i) = x(i); z(k) = y(k) * w(k)", none().dims("w", [5]), "x"), "f64 dense input 5");
    // A variable of the left alone.
    assert_eq!(line("Y(i,j) = x(i)", none().size("i", 2).size("j", 3), "Y"), "f64 dense result 2x3");
    assert_eq!(line("y(i) = A(i,i)", none().dims("A", [0, 0]), "y"), "f64 dense result 0");
}

#[test]
fn constants_are_weak() {
    let x = |dtype| none().dtype("x", dtype);
    assert_eq!(statement("y(i) = 2 * x(i)", x(DType::F32)), "y(i) = 2.0 * x(i)");
    assert_eq!(line("y(i) = 2 * x(i)", x(DType::F32), "y"), "f32 dense result");
    assert_eq!(line("y(i) = 2.5 * x(i)", x(DType::F32), "y"), "f32 dense result");
    assert_eq!(statement("y(i) = 2 * x(i)", x(DType::I8)), "y(i) = 2 * x(i)");
    assert_eq!(line("y(i) = 2 * x(i)", x(DType::I8), "y"), "i8 dense result");
    assert_eq!(statement("y(i) = 2.5 * x(i)", x(DType::I8)), "y(i) = 2.5 * f64(x(i))");
    assert_eq!(statement("y(i) = 2 * x(i)", x(DType::Bool)), "y(i) = 2 * i64(x(i))");
    assert_eq!(statement("y(i) = 1/2 * x(i)", x(DType::C64)), "y(i) = 0.5 * x(i)");
    assert_eq!(line("y(i) = 1/2 * x(i)", x(DType::C64), "y"), "c64 dense result");
    assert_eq!(statement("y = 2 * (3 + 4) - -1", none()), "y = 15");
    assert_eq!(line("y = 2", none(), "y"), "i64 scalar result");
    assert_eq!(line("y = 2.0", none(), "y"), "f64 scalar result");
    assert_eq!(line("y = 18446744073709551615", none(), "y"), "u64 scalar result");
    assert_eq!(line("y = 2", none().dtype("y", DType::F32), "y"), "f32 scalar result");
    assert_eq!(line("y = true", none(), "y"), "bool scalar result");
}

#[test]
fn types_mix_as_in_numpy() {
    let ab = |a, b| none().dtype("a", a).dtype("b", b);
    assert_eq!(statement("y(i) = a(i) + b(i)", ab(DType::I32, DType::F32)), "y(i) = f64(a(i)) + f64(b(i))");
    assert_eq!(statement("y(i) = a(i) * b(i)", ab(DType::U8, DType::I8)), "y(i) = i16(a(i)) * i16(b(i))");
    assert_eq!(statement("y(i) = a(i) / b(i)", ab(DType::I32, DType::I32)), "y(i) = f64(a(i)) / f64(b(i))");
    assert_eq!(statement("y(i) = sqrt(a(i)) * b(i)", ab(DType::I8, DType::F32)), "y(i) = sqrt(f64(a(i))) * f64(b(i))");
    assert_eq!(line("y(i) = gt(a(i), b(i))", ab(DType::I32, DType::F32), "y"), "bool dense result");
    assert_eq!(line("y(i) = abs(a(i)) + b(i)", ab(DType::C64, DType::F32), "y"), "f32 dense result");
    assert_eq!(
        statement("y(i) = min(a(i), b(i), 3)", ab(DType::I8, DType::I16)),
        "y(i) = min(min(i16(a(i)), b(i)), 3)"
    );
    assert_eq!(statement("y(i) = cast<float complex>(a(i))", none()), "y(i) = c64(a(i))");
    // A declared result.
    assert_eq!(statement("y(i) = a(i) * b(i)", none().dtype("y", DType::C64)), "y(i) = c64(a(i) * b(i))");
    assert_eq!(statement("y(i) = a(i)", none().dtype("y", DType::F32)), "y(i) = f32(a(i))");
}

#[test]
fn formats_of_results() {
    let format = |source: &str, sparse: &[&str]| {
        let csf = || FormatSpec::Csf;
        let declarations = sparse.iter().fold(none(), |declarations, name| declarations.format(*name, csf()));
        let first = source.split('(').next().unwrap_or_default();
        line(source, declarations, first).split(' ').nth(1).unwrap_or_default().to_string()
    };
    assert_eq!(format("C(i,k) = A(i,j) * B(j,k)", &["A", "B"]), "csr");
    assert_eq!(format("C(i,k) = A(i,j) * B(j,k)", &["A"]), "dense");
    assert_eq!(format("C(i,j) = A(i,j) + B(i,j)", &["A", "B"]), "csr");
    assert_eq!(format("C(i,j) = A(i,j) + B(i,j)", &["A"]), "dense");
    assert_eq!(format("C(i,j) = A(i,j) * B(i,j)", &["A"]), "csr");
    assert_eq!(format("C(i,j) = A(i,j) / B(i,j)", &["B"]), "dense");
    assert_eq!(format("C(i,j) = -sqrt(2 * A(i,j))", &["A"]), "csr");
    assert_eq!(format("C(i,j) = exp(A(i,j))", &["A"]), "dense");
    assert_eq!(format("C(i,j) = A(i,j) * B(i,k) * D(k,j)", &["A"]), "csr");
    assert_eq!(format("C(i,j) = A(i,k,l) * B(k,j) * D(l,j)", &["A"]), "dense");
    assert_eq!(format("C(i,j,k) = A(i,j,k) + B(i,j,k)", &["A", "B"]), "csf");
    assert_eq!(format("c(i) = a(i) + b(i)", &["a", "b"]), "dense");
    // Through other results, and of all statements together.
    assert_eq!(format("C(i,j) = 2 * A(i,j); D(i,j) = C(i,j)", &["A"]), "csr");
    assert_eq!(format("C(i,j) = A(i,j); D(i,j) = exp(C(i,j)); C(i,j) += D(i,j)", &["A"]), "dense");
    let declared = none().format("A", Format::csc()).format("C", FormatSpec::Dense);
    assert_eq!(line("C(i,j) = A(i,j)", declared, "C"), "f64 dense result");
}

#[test]
fn names_that_are_functions_and_reductions() {
    assert_eq!(statement("y(i) = min(j, A(i,j))", none()), "y(i) = min(j, A(i,j))");
    assert_eq!(statement("y(i) = min(a, x(i))", none()), "y(i) = min(a, x(i))");
    assert_eq!(statement("y(i) = max(j, k, A(i,j) * x(k))", none()), "y(i) = max(j, k, A(i,j) * x(k))");
    assert_eq!(statement("y(i) -= A(i,j) * x(j)", none()), "y(i) += -(A(i,j) * x(j))");
    assert_eq!(statement("y(i) |= bool(x(i))", none().dtype("y", DType::Bool)), "y(i) or= bool(x(i))");
    // The check of a call does not repeat that of the calls inside of it for every call around.
    let nested = format!("y(i) = {}A(i,j){}", "min(a, ".repeat(90), ")".repeat(90));
    assert!(statement(&nested, none()).starts_with("y(i) = min(a, min(a, "));
}

//! What a program means: roles, sizes, types, formats. And that printed programs read back as they were.
use lacunar_formats::{DType, Format};
use lacunar_front::{Declarations, check};

/// The program as text, or its first diagnostic.
fn text(source: &str, declarations: Declarations) -> String {
    match check(source, &declarations) {
        Ok(program) => program.to_string(),
        Err(errors) => errors.iter().map(|e| e.render(source, "program", false)).collect(),
    }
}

#[test]
fn smoke() {
    let csr = || Declarations::new().format("A", Format::csr());
    for (s, d) in [
        ("y(i) = A(i,j) * x(j)", csr().dims("A", [3, 4])),
        ("C(i,k) = A(i,j) * B(j,k)", csr()),
        ("C(i,k) = A(i,j) * B(j,k)", csr().format("B", Format::csr())),
        ("y(i) = 2 * A(i,j) * x(j) / 3 + 1/2\nz = sum(i, y(i)); w(i,j) += y(i)*A(i,j)", csr().dtype("A", DType::I32)),
        ("y(i) = A(i,j * x(j); z(i) = y(i)", csr()),
        ("y(i) = A(i,j) * x(j)", csr().dims("A", [3, 4]).dims("x", [5])),
        ("y(i) = cast<float complex>(A(i,j)) * -1.5", csr()),
    ] {
        println!("{}", text(s, d));
    }
}

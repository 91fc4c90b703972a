//! The small parts of the language: numbers, comments and signs, scalars of flags, and indices that are sums of variables.

use lacunar_front::einsum::{ExprKind, Number};
use lacunar_front::options::{self, Scalar, Source};
use lacunar_front::{Declarations, check, parse};

/// The value of `y = TEXT`, if the text is a number.
fn number(text: &str) -> Result<Number, usize> {
    let (ast, errors) = parse(&format!("y = {text}"));
    match ast.statements.first().map(|statement| &statement.rhs.kind) {
        Some(ExprKind::Number(number)) if errors.is_empty() => Ok(*number),
        _ => Err(errors.len()),
    }
}

#[test]
fn numbers() {
    for (text, wanted) in [("1", 1), ("007", 7), ("18446744073709551615", u64::MAX)] {
        assert_eq!(number(text), Ok(Number::Int(wanted)), "{text}");
    }
    for (text, wanted) in [("2.5", 2.5), (".5", 0.5), ("1.", 1.0), ("1e-3", 0.001), ("7e2", 700.0)] {
        assert_eq!(number(text), Ok(Number::Float(wanted)), "{text}");
    }
    for wrong in ["1.2.3", "1e", "2x", "1e+", "99999999999999999999", "1e999"] {
        assert_eq!(number(wrong), Err(1), "{wrong}");
    }
}

#[test]
fn comments_end_with_the_line_and_signs_need_no_spaces() {
    let (ast, errors) = parse("a+=b // c\n# d\n");
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(ast.statements.len(), 1);
    let program = check("a+=b // c\n# d\n", &Declarations::new()).expect("a program");
    assert_eq!(program.to_string().lines().next(), Some("a += b"));
}

#[test]
fn scalars_of_flags() {
    let read = |text: &str| match options::input(&format!("alpha={text}")) {
        Ok((name, Source::Value(scalar))) if name == "alpha" => Some(scalar),
        _ => None,
    };
    assert_eq!(read("true"), Some(Scalar::Bool(true)));
    assert_eq!(read("-3"), Some(Scalar::Int(-3)));
    assert_eq!(read("18446744073709551615"), Some(Scalar::Int(i128::from(u64::MAX))));
    assert_eq!(read("2.5e-1"), Some(Scalar::Float(0.25)));
    assert_eq!(read("1+2i"), Some(Scalar::Complex(1.0, 2.0)));
    assert_eq!(read("-1e-2-2e+1j"), Some(Scalar::Complex(-0.01, -20.0)));
    assert_eq!(read("2i"), Some(Scalar::Complex(0.0, 2.0)));
    assert_eq!(read("-i"), Some(Scalar::Complex(0.0, -1.0)));
    for wrong in ["", "+", "18446744073709551616", "1+", "1+2", "1ii", "x", "--1", "1+2i3", "é+i"] {
        assert_eq!(read(wrong), None, "{wrong}");
    }
}

#[test]
fn sums_of_variables_times_numbers_are_indices() {
    // The index as the checked program has it, where each variable has a size.
    let index = |text: &str| {
        let declarations = Declarations::new().size("i", 3).size("k", 3).dims("x", [100]);
        let program = check(&format!("y(i,k) = x({text}) * i * k"), &declarations).ok()?.to_string();
        let (_, behind) = program.split_once("x(")?;
        Some(behind.split_once(')')?.0.to_string())
    };
    for (text, wanted) in [
        ("i + 1", "i + 1"),
        ("2 * (i - 3) + i", "3 * i - 6"),
        ("-(4 - i * 2)", "2 * i - 4"),
        ("i - i + 7", "7"),
        ("i + k", "i + k"),
    ] {
        assert_eq!(index(text).as_deref(), Some(wanted), "{text}");
    }
    for wrong in ["i * 5000000000", "9223372036854775807 + 1", "i / 2", "1.5"] {
        assert_eq!(index(wrong), None, "{wrong}");
    }
}

//! Properties: no text makes the front end panic, and a printed program reads back as it was.

use lacunar_base::Span;
use lacunar_formats::{DType, Format, FormatSpec};
use lacunar_front::{Declarations, check, options, parse};
use lacunar_notation::{Access, Expr, ExprKind, Program, Role};
use proptest::prelude::*;

/// Everything that can be said of a program's tensors and variables, declared.
fn declarations_of(program: &Program) -> Declarations {
    let mut declarations = Declarations { inputs: Some(Default::default()), ..Declarations::new() };
    for (_, tensor) in program.tensors.iter() {
        declarations = declarations.format(&tensor.name, tensor.format.clone()).dtype(&tensor.name, tensor.dtype);
        if let Some(dims) = tensor.dims.iter().copied().collect::<Option<Vec<u64>>>() {
            declarations = declarations.dims(&tensor.name, dims);
        }
        if tensor.role == Role::Input {
            declarations = declarations.input(&tensor.name);
        }
    }
    for (_, var) in program.vars.iter() {
        if let Some(size) = var.size {
            declarations = declarations.size(&var.name, size);
        }
    }
    declarations
}

/// The program without places.
fn without_spans(mut program: Program) -> Program {
    fn access(access: Access) -> Access {
        Access { span: Span::NONE, ..access }
    }
    fn expr(old: Expr) -> Expr {
        let new = old.map_children(&mut expr);
        let kind = match new.kind {
            ExprKind::Access(old) => ExprKind::Access(access(old)),
            kind => kind,
        };
        Expr { kind, span: Span::NONE, ..new }
    }
    for id in program.tensors.handles() {
        program.tensors[id].span = Span::NONE;
    }
    for id in program.vars.handles() {
        program.vars[id].span = Span::NONE;
    }
    for statement in &mut program.statements {
        statement.span = Span::NONE;
        statement.lhs.span = Span::NONE;
        let zero = Expr::zero(DType::F64);
        statement.rhs = expr(std::mem::replace(&mut statement.rhs, zero));
    }
    program
}

fn round_trip(program: Program) {
    let text: Vec<String> = program.statements.iter().map(|statement| program.statement_text(statement)).collect();
    let text = text.join("\n");
    match check(&text, &declarations_of(&program)) {
        Ok(again) => {
            let (again, program) = (without_spans(again), without_spans(program));
            assert_eq!(format!("{again:#?}"), format!("{program:#?}"), "{text}");
        }
        Err(errors) => panic!("{}", errors.iter().map(|e| e.render(&text, "printed", false)).collect::<String>()),
    }
}

#[test]
fn programs_read_back() {
    let programs = [
        "y(i) = A(i,j) * x(j)",
        "a = -2",
        "a = 2.5e-7 - -3",
        "alpha = -beta",
        "a = b * c",
        "y(i) = alpha * A(i,j) * x(j) + beta * z(i)",
        "A(i,j) = B(i,k,l) * D(l,j) * C(k,j)",
        "a(i) = b(i) - (c(i) - d(i))",
        "a(i) = b(i) / (c(i) / d(i)) / e(i)",
        "a(i) = -(b(i) + c(i)) * -d(i)",
        "a(i) = - - b(i)",
        "y(i) = b(i) - sum(k, A(i,k) * x(k))",
        "y = sum(i, j, A(i,j) * sum(k, B(i,k)))",
        "y(i) += A(i,j) * x(j); z = y(i) * y(i)",
        "y(i) = A(i,i)",
        "y(i) = min(a(i), b(i), c(i), 2) + max(a(i), 1/3)",
        "y(i) = pow(x(i), 2) + sqrt(square(x(i)))",
        "y(i) = cast<float complex>(x(i)) * i8(z(i))",
        "y(i) = gt(x(i), 1) + lt(x(i), -1)",
        "y(i) = not(gt(x(i), z(i))) * true",
        "y(i) = add(x(i), mul(z(i), neg(x(i))))",
        "y(i) = heaviside(x(i), 0.5) + atan2(x(i), 5)",
        "y = sqrt(3) * 2 * 4 - 1/4 + 0.1",
        "y(i) = i64(7) * u8(3) + x(i)",
        "y(i) = i64(x(i)) / 2",
        "y[i] = A[i,j] * x[j] # comment\nz() = y(i) // another",
        "y = 1e200 * 18446744073709551615",
        "y = idiv(i64(x), 3) + mod(x, 7) + 18446744073709551615",
    ];
    for source in programs {
        for (format, dtype) in [("dense", DType::F64), ("coo", DType::F32), ("csf", DType::I32), ("coo", DType::C64)] {
            let Ok(plain) = check(source, &Declarations::new()) else { panic!("{source}") };
            let format: FormatSpec = format.parse().expect("a format");
            let inputs = plain.tensors.iter().filter(|(_, tensor)| tensor.role == Role::Input);
            let declarations = inputs.fold(Declarations::new(), |declarations, (_, tensor)| {
                let dims = (0..tensor.order()).map(|_| 4);
                declarations.format(&tensor.name, format.clone()).dtype(&tensor.name, dtype).dims(&tensor.name, dims)
            });
            round_trip(plain);
            // Some functions are not defined on all types.
            if let Ok(program) = check(source, &declarations) {
                round_trip(program);
            }
        }
    }
}

/// Expressions over `a(i)`, `A(i,j)`, scalars and constants.
fn expression() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("a(i)".to_string()),
        Just("A(i,j)".to_string()),
        Just("B[j,i]".to_string()),
        Just("s".to_string()),
        Just("true".to_string()),
        any::<u16>().prop_map(|number| number.to_string()),
        any::<f64>()
            .prop_filter("finite", |number| number.is_finite())
            .prop_map(|number| format!("{:?}", number.abs())),
    ];
    leaf.prop_recursive(6, 40, 3, |inner| {
        let two = (inner.clone(), inner.clone());
        let operator = prop::sample::select(vec!["+", "-", "*", "/"]);
        let function = prop::sample::select(vec!["min", "max", "pow", "atan2", "and", "gt", "eq", "add", "div", "mod"]);
        let unary = prop::sample::select(vec!["-", "+", "sqrt", "not", "real", "f32", "i16", "c64", "sum", "abs"]);
        prop_oneof![
            (two.clone(), operator).prop_map(|((a, b), op)| format!("({a}) {op} ({b})")),
            (two.clone(), prop::sample::select(vec!["+", "*"])).prop_map(|((a, b), op)| format!("{a} {op} {b}")),
            (two, function).prop_map(|((a, b), name)| format!("{name}({a}, {b})")),
            (inner, unary).prop_map(|(a, name)| match name {
                "-" | "+" => format!("{name}({a})"),
                "sum" => format!("sum(j, {a})"),
                name => format!("{name}({a})"),
            }),
        ]
    })
}

/// A sequence of tokens, most of them not a program.
fn tokens() -> impl Strategy<Value = String> {
    let words = "y A x i j k sum min sqrt cast f64 true ( ) ( ) [ ] , , = += + - * / < > ; \n 1 2.5 .5 1e9 # // ** .";
    let word = prop::sample::select(words.split(' ').collect::<Vec<_>>());
    prop::collection::vec(word, 0..60).prop_map(|words| words.join(" "))
}

/// Every diagnostic can be shown, and its places are in the text.
fn show(source: &str, declarations: &Declarations) {
    let (_, errors) = parse(source);
    for error in errors.into_iter().chain(check(source, declarations).err().unwrap_or_default()) {
        assert!(error.hint.is_some(), "{error}");
        for label in &error.labels {
            assert!(source.get(label.span.range()).is_some(), "{error} at {:?}", label.span);
        }
        assert!(error.render(source, "random", false).contains(error.code));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn random_expressions_read_back(
        expr in expression(),
        dtypes in prop::collection::vec(prop::sample::select(DType::ALL.to_vec()), 4),
    ) {
        let source = format!("y(i) = a(i) + A(i,j) + B(j,i) + s\nz(i) = {expr}");
        let declarations = ["a", "A", "B", "s"].iter().zip(dtypes)
            .fold(Declarations::new().format("A", Format::csr()).size("i", 3).size("j", 4), |declarations, (name, dtype)| {
                declarations.dtype(*name, dtype)
            });
        show(&source, &declarations);
        if let Ok(program) = check(&source, &declarations) {
            round_trip(program);
        }
    }

    #[test]
    fn random_text_does_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..200), text in "\\PC{0,80}") {
        show(&String::from_utf8_lossy(&bytes), &Declarations::new());
        show(&text, &Declarations::new());
    }

    #[test]
    fn random_tokens_do_no_harm(source in tokens(), size in any::<u64>()) {
        show(&source, &Declarations::new());
        show(&source, &Declarations::new().format("A", Format::csc()).dims("A", [size, 3]).dims("x", [size, 1, 2]));
        show(&format!("y(i) = {source}"), &Declarations::new().input("A").dtype("x", DType::Bool).size("i", size));
    }

    #[test]
    fn random_flags_do_no_harm(value in "\\PC{0,20}", form in "[Aix_]{1,2}[:=][-+.0-9a-z,:()éi]{0,12}") {
        for value in [value, form] {
            let errors = [
                options::format(&value).err(), options::dtype(&value).err(), options::sizes(&value).err(),
                options::input(&value).err(), options::generator(&value).err(), options::output(&value).err(),
            ];
            for error in errors.into_iter().flatten() {
                assert!(error.labels.iter().all(|label| value.get(label.span.range()).is_some()), "{error}");
                assert!(error.render(&value, "-x", false).contains(error.code));
            }
        }
    }
}

#[test]
fn deep_and_long_texts_do_no_harm() {
    for piece in
        ["(", "-", "f(", "A[", "sum(i,", "cast<f64>(", "x + ", "x * ", "1,", "min(a,", "y(i) = ", ";", "\n", "é"]
    {
        for times in [100, 199, 200, 201, 5000, 70000] {
            show(&format!("y = {}", piece.repeat(times)), &Declarations::new());
            show(&format!("y = {}x{}", piece.repeat(times), ")".repeat(times)), &Declarations::new());
        }
    }
    let names: Vec<String> = (0..3000).map(|number| format!("i{number}")).collect();
    show(&format!("y({0}) = A({0})", names.join(",")), &Declarations::new());
    let statements: Vec<String> = (1..3000).map(|number| format!("a{number}(i) = a{}(i)", number - 1)).collect();
    show(&statements.join("\n"), &Declarations::new());
    // Every result depends on the next one, and the last one is dense.
    let sparse = (0..800).map(|number| format!("a{number}(i,j) = A(i,j)"));
    let sums = (1..800).map(|number| format!("a{}(i,j) += a{number}(i,j)", number - 1));
    let source: Vec<String> = sparse.chain(sums).chain(["a799(i,j) += B(i,j)".to_string()]).collect();
    let program = check(&source.join("\n"), &Declarations::new().format("A", Format::csr())).expect("a program");
    assert!(program.tensors.iter().all(|(_, tensor)| tensor.name == "A" || tensor.format.is_dense()));
}

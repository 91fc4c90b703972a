//! Operators that programs declare, and those of closures: printed and read back, on every back end, in registers, shipped.

#![allow(clippy::unwrap_used)] // A failure is what a test is for.

use lacunar::{Backend, DynTensor, Format, Kernel, Operator, Options, Shape, Tensor, Traced};

const REGIONS: &str = "op u(a, b) { both a * b, left (-a) }\nC(i,j) = u(A(i,j), B(i,j))";
const REDUCTION: &str =
    "op top(a, b) = select(a > b, a, b) { identity -inf, commutative, associative, idempotent }\ny(i) top= A(i,j)";

fn backends() -> Vec<Backend> {
    let mut backends = vec![Backend::Interpreter, Backend::C];
    if cfg!(feature = "llvm") {
        backends.push(Backend::Llvm);
    }
    backends
}

fn vector(values: &[f64]) -> DynTensor {
    Tensor::from(values.to_vec()).into_dyn()
}

fn matrices() -> [DynTensor; 2] {
    let sparse = |rows: [[f64; 3]; 2]| Tensor::from(rows).convert(Format::csr()).unwrap().into_dyn();
    [sparse([[1.0, 2.0, 0.0], [0.0, -3.0, 0.0]]), sparse([[5.0, 0.0, 7.0], [0.0, 2.0, 0.0]])]
}

/// The result of a program on two matrices.
fn result(source: &str, options: Options) -> String {
    let [a, b] = matrices();
    let options = options.tensor("A", &a);
    let options = if source.contains("B(i") { options.tensor("B", &b) } else { options };
    let kernel = Kernel::compile(source, &options).unwrap_or_else(|error| panic!("{source}: {error}"));
    let given = [("A", &a), ("B", &b)];
    let used = given.into_iter().filter(|(name, _)| source.contains(&format!("{name}(i")));
    let results = kernel.run_named(&used.collect::<Vec<_>>()).unwrap().results;
    let (_, found) = results.last().unwrap();
    found.convert(&Format::dense(found.order())).unwrap().to_string()
}

#[test]
fn texts_are_read_back_with_their_operators() {
    let [a, b] = matrices();
    for (source, stages) in [(REGIONS, ["notation", "concrete"]), (REDUCTION, ["notation", "concrete"])] {
        let options = Options::new().tensor("A", &a).tensor("B", &b).format("C", Format::csr());
        let options = if source == REDUCTION { Options::new().tensor("A", &a) } else { options };
        let mut keeping = options.clone();
        keeping.emit = stages.iter().map(|stage| (*stage).to_string()).collect();
        let kernel = Kernel::compile(source, &keeping).unwrap();
        let expected = result(source, Options::new());
        for stage in stages {
            let text = kernel.text(stage).unwrap();
            assert!(text.starts_with("op "), "{text}");
            assert_eq!(result(&text, Options::new()), expected, "{text}");
        }
    }
}

#[test]
fn closures_are_what_texts_are_on_every_back_end() {
    let u = Operator::of("u", &["a", "b"])
        .region(&["a", "b"], |of| of[0].clone() * of[1].clone())
        .region(&["a"], |of| -of[0].clone());
    let top = Operator::binary("top", Traced::max).identity(f64::NEG_INFINITY).commutative().associative().idempotent();
    for backend in backends() {
        let on = |operator: Option<&Operator>| {
            let options = Options::new().backend(backend);
            operator.map_or(options.clone(), |operator| options.operator(operator).unwrap())
        };
        let of_text = result(REGIONS, on(None));
        assert_eq!(of_text, "[[5, -2, 0], [0, -6, 0]]");
        assert_eq!(result("C(i,j) = u(A(i,j), B(i,j))", on(Some(&u))), of_text);
        let of_text = result(REDUCTION, on(None));
        assert_eq!(of_text, "[2, 0]");
        assert_eq!(result("y(i) top= A(i,j)", on(Some(&top))), of_text);
    }
}

#[test]
fn a_closure_that_is_no_operator_is_refused() {
    let wrong = Operator::unary("f", |a| a).identity(0.0);
    let error = Options::new().operator(&wrong).unwrap_err().to_string();
    assert!(error.contains("E0617"), "{error}");
}

#[test]
fn operators_of_one_name_are_told_apart() {
    let x = vector(&[3.0]);
    for (factor, expected) in [(2.0, 6.0), (5.0, 15.0), (2.0, 6.0)] {
        let source = format!("op f(a) = {factor} * a; y(i) = f(x(i))");
        let kernel = Kernel::compile(&source, &Options::new().tensor("x", &x)).unwrap();
        assert_eq!(kernel.call::<Vec<f64>>(&[("x", &x)]).unwrap(), [expected]);
        assert_eq!(lacunar::einsum!("op f(a) = 2 * a; y(i) = f(x(i))", x = &[3.0] -> Vec<f64>).unwrap(), [6.0]);
    }
}

#[test]
fn kernels_with_operators_are_shipped() {
    let [a, b] = matrices();
    let options = Options::new().tensor("A", &a).tensor("B", &b).format("C", Format::csr());
    let shipment = Kernel::compile(REGIONS, &options).unwrap().ship("merged", Shape::Source).unwrap();
    assert_eq!(shipment.signatures[0].expression, "C(i,j) = u(A(i,j), B(i,j))");
}

#[cfg(all(feature = "llvm", target_arch = "x86_64"))]
#[test]
fn operators_work_in_vector_registers() {
    let mut options = Options::new().size("i", 4096).backend(Backend::Llvm);
    options.emit = vec!["asm".to_string()];
    options.machine = Some("generic-v4".to_string());
    let source = "op soft(a, b) = max(a - b, 0) - max(-a - b, 0); y(i) = soft(x(i), z(i))";
    let asm = Kernel::compile(source, &options).unwrap().text("asm").unwrap();
    assert!(asm.contains("%zmm") || asm.contains("%ymm"), "{asm}");
}

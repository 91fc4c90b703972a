//! Programs of actions: loops, conditions, exchanged tensors, files, and statements that read their own results.

#![allow(clippy::unwrap_used)] // A failure is what a test is for.

use lacunar::{DynTensor, Error, Format, Kernel, Options, Run, Tensor};

fn vector(values: &[f64]) -> DynTensor {
    Tensor::from(values.to_vec()).into_dyn()
}

fn run(source: &str, options: &Options, given: &[(&str, &DynTensor)]) -> Result<(Run, String), Error> {
    let kernel = Kernel::compile(source, options)?;
    let mut printed = Vec::new();
    let run = kernel.run_printing(given, &mut printed)?;
    Ok((run, String::from_utf8(printed).unwrap()))
}

/// The text that a program prints of these tensors.
fn printed(source: &str, given: &[(&str, &DynTensor)]) -> String {
    match run(source, &Options::new(), given) {
        Ok((_, printed)) => printed,
        Err(error) => panic!("{source}: {error}"),
    }
}

fn value(run: &Run, name: &str) -> Vec<f64> {
    let (_, tensor) = run.results.iter().find(|(result, _)| result == name).unwrap();
    Tensor::<f64>::try_from(tensor.convert(&Format::dense(tensor.order())).unwrap()).unwrap().values().to_vec()
}

#[test]
fn loops_count_and_conditions_choose() {
    let x = vector(&[1.0, 2.0]);
    let source = "
        s = 0.0
        for k in 0 .. 4 {
            s += k * x(i)
            if k == 2 { print s } else if k > 2 and not s < 10 { print k } else { t = s }
        }
        while s > 1 { s = s / 2 }
        print s; print k; print t";
    assert_eq!(printed(source, &[("x", &x)]), "s = 9\nk = 3\ns = 0.5625\nk = 3\nt = 3\n");
}

#[test]
fn what_a_program_makes_up_is_no_input() -> Result<(), Error> {
    let source = "fill w 0.5; random v ones; y(i) = w(j) * A(i,j) * v(j) + z(i)";
    let kernel = Kernel::compile(source, &Options::new().format("A", Format::csr()))?;
    assert_eq!(kernel.inputs().collect::<Vec<_>>(), ["A", "z"]);
    let a = Tensor::from_triplets([2, 3], &[0, 1, 1], &[2, 0, 1], &[4.0, 2.0, 6.0], Format::csr())?;
    let (z, mut y) = (Tensor::from(vec![1.0, 0.0]), Tensor::from(vec![0.0; 2]));
    kernel.run(&mut y, &[&a, &z])?;
    assert_eq!(y.values(), [3.0, 4.0]);
    let error = kernel.run(&mut y, &[&a]).unwrap_err();
    assert!(error.to_string().contains("2 inputs are needed (A, z), not 1"), "{error}");
    Ok(())
}

#[test]
fn ranges_are_of_any_integers() {
    for dtype in ["u64", "i64", "i32", "u8"] {
        let source = format!("n = {dtype}(3); c = 0; for k in {dtype}(0) .. n {{ c += 1 }}; print c");
        assert_eq!(printed(&source, &[]), "c = 3\n", "{source}");
    }
    let too_far = run("n = u64(18446744073709551615); for k in 0 .. n { c = 1 }", &Options::new(), &[]).unwrap_err();
    assert!(too_far.to_string().contains("which no counter reaches"), "{too_far}");
}

#[test]
fn what_is_read_and_assigned_keeps_its_old_value() {
    let x = vector(&[1.0, 2.0, 4.0]);
    assert_eq!(printed("x(i) = 0.5 * x(i); print x", &[("x", &x)]), "x = [0.5, 1, 2]\n");
    let a = Tensor::from([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]).into_dyn();
    for format in [Format::csr(), Format::csc(), Format::dense(2)] {
        let a = a.convert(&format).unwrap();
        let options = Options::new().tensor("A", &a);
        let (found, _) = run("for k in 0 .. 2 { x(i) = A(i,j) * x(j) }", &options, &[("A", &a), ("x", &x)]).unwrap();
        assert_eq!(value(&found, "x"), [4.0, 1.0, 2.0]);
        let source = "for k in 0 .. 2 { x(i) += A(i,j) * x(j) }";
        let (found, _) = run(source, &options, &[("A", &a), ("x", &x)]).unwrap();
        assert_eq!(value(&found, "x"), [1.0 + 4.0 + 4.0, 2.0 + 8.0 + 1.0, 4.0 + 2.0 + 2.0]);
        let source = "for k in 0 .. 3 { A(j,i) = A(i,j) + A(j,i) }";
        let options = options.format("A", format);
        let (found, _) = run(source, &options, &[("A", &a)]).unwrap();
        assert_eq!(value(&found, "A"), [0.0, 4.0, 4.0, 4.0, 0.0, 4.0, 4.0, 4.0, 0.0]);
    }
}

#[test]
fn swapped_tensors_are_exchanged() {
    let (x, y) = (vector(&[1.0, 2.0]), vector(&[3.0, 4.0]));
    let source = "for k in 0 .. 3 { y(i) = 2 * x(i); swap x, y }; print x; print y";
    assert_eq!(printed(source, &[("x", &x)]), "x = [8, 16]\ny = [4, 8]\n");
    let source = "swap x, y; z(i) = x(i) - y(i); print z";
    assert_eq!(printed(source, &[("x", &x), ("y", &y)]), "z = [2, 2]\n");
    // The caller's tensors stay.
    assert_eq!(x, vector(&[1.0, 2.0]));
}

#[test]
fn entries_are_counted_and_sparse_tensors_carried() {
    let a = Tensor::from_triplets([4, 4], &[0, 1, 2], &[1, 2, 3], &[1.0, 1.0, 1.0], Format::csr()).unwrap().into_dyn();
    let f = Tensor::from_entries(&[4], &[(&[0], 1.0)], Format::sv()).unwrap().into_dyn();
    let options = Options::new().tensor("A", &a).tensor("f", &f).format("g", Format::sv());
    let source = "steps = 0; while nnz(f) > 0 { g(j) = f(i) * A(i,j); swap f, g; steps += 1 }; print steps";
    let (_, printed) = run(source, &options, &[("A", &a), ("f", &f)]).unwrap();
    assert_eq!(printed, "steps = 4\n");
}

#[test]
fn words_of_actions_name_tensors_too() {
    let x = vector(&[1.0]);
    let source = "for(i) = x(i); if = 2.0; print(i) = if * for(i); swap(i) += x(i); print print; while min= 3 * if";
    assert_eq!(printed(source, &[("x", &x)]), "print = [2]\n");
}

#[test]
fn files_are_read_and_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let matrix = "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 3\n2 1 5\n";
    std::fs::write(file("a.mtx"), matrix).unwrap();
    let source = format!("read A \"{}\"; y(i) = A(i,j) * x(j); write y \"{}\"", file("a.mtx"), file("y.tns"));
    let options = Options::new().format("A", Format::csr());
    let x = vector(&[1.0, 10.0]);
    run(&source, &options, &[("x", &x)]).unwrap();
    assert_eq!(std::fs::read_to_string(file("y.tns")).unwrap(), "1 30.0\n2 5.0\n");
    // A tensor that is given takes the file's place.
    let a = Tensor::from_triplets([2, 2], &[0], &[0], &[1.0], Format::csr()).unwrap().into_dyn();
    let (found, _) = run(&source, &options, &[("x", &x), ("A", &a)]).unwrap();
    assert_eq!(value(&found, "y"), [1.0, 0.0]);
    let missing = source.replace("a.mtx", "b.mtx");
    assert!(run(&missing, &options, &[("x", &x)]).unwrap_err().to_string().contains("b.mtx"));
}

#[test]
fn clocks_tell_seconds_and_a_run_its_time() {
    let x = vector(&[1.0]);
    let (run, printed) = run("clock c; x(i) = x(i) + 1; elapsed c", &Options::new(), &[("x", &x)]).unwrap();
    assert!(printed.starts_with("c: 0.") && printed.ends_with(" s\n"), "{printed}");
    assert!(run.total >= run.kernel);
}

#[test]
fn a_tensor_without_a_value_is_told() {
    let error = run("for k in 0 .. 3 { x(i) = 2 * x(i) }", &Options::new(), &[]).unwrap_err();
    assert_eq!(error.to_string(), "`x` is not given");
    let error = run("c = 1; if c > 2 { t = 1.0 }; s = 2 * t; print s", &Options::new(), &[]).unwrap_err();
    assert!(error.to_string().contains("`t`"), "{error}");
}

#[test]
fn a_program_that_repeats_has_one_phase() {
    let options = Options::new().phase(lacunar::Phase::Assemble);
    let error = Kernel::compile("for k in 0 .. 3 { y(i) = k * x(i) }", &options).unwrap_err();
    assert!(error.to_string().contains("in two runs"), "{error}");
}

#[test]
fn programs_are_printed_as_they_are_read() {
    let source = "read A \"a.mtx\"\nclock c\nr = 1.0\nfor k in 0 .. 2 * 3 {\n  while r > 1e-3 and nnz(A) != 0 {\n    y(i) = A(i,j) * x(j)\n    swap x, y\n    if not (r < 1) or r == k {\n      r = r / 2\n    } else {\n      print y\n    }\n  }\n}\nelapsed c\nwrite y \"y.tns\"\n";
    let options = Options::new().emit("program");
    let text = Kernel::compile(source, &options).unwrap().text("program").unwrap();
    let again = Kernel::compile(&text, &options).unwrap().text("program").unwrap();
    assert_eq!(text, again);
    let lines = |text: &str| text.lines().map(|line| line.trim_end().to_string()).collect::<Vec<_>>();
    let expected = source
        .replace("0 .. 2 * 3", "0 .. 6")
        .replace("r > 1e-3 and nnz(A) != 0", "and(r > 0.001, nnz(A) != 0)")
        .replace("not (r < 1) or r == k", "or(not(r < 1.0), r == f64(k))")
        .replace("r / 2", "r / 2.0");
    assert_eq!(lines(&text), lines(&expected));
}

#[test]
fn the_page_about_programs_says_what_they_print() {
    let page = include_str!("../../../../docs/programs.md");
    let a = Tensor::from_triplets([2, 2], &[0, 1, 1], &[0, 0, 1], &[1.0, 2.0, 3.0], Format::csr()).unwrap().into_dyn();
    let x = vector(&[10.0, 20.0]);
    let mut checked = 0;
    for block in page.split("```lacunar\n").skip(1) {
        let (source, rest) = block.split_once("```").unwrap();
        let expected = rest.split("```text\n").nth(1).and_then(|text| text.split_once("```")).unwrap().0;
        let all = [("A", &a), ("x", &x)];
        let given: Vec<_> = all.into_iter().filter(|(name, _)| source.contains(&format!("{name}("))).collect();
        let options = given.iter().fold(Options::new(), |options, (name, tensor)| options.tensor(name, tensor));
        let (_, printed) = run(source, &options, &given).unwrap_or_else(|error| panic!("{source}: {error}"));
        assert_eq!(printed, expected, "{source}");
        checked += 1;
    }
    assert_eq!(checked, 5);
}

#[test]
fn a_macro_puts_old_values_in_and_new_ones_out() {
    let a = Tensor::from_triplets([2, 2], &[0, 1, 1], &[0, 0, 1], &[1.0, 2.0, 3.0], Format::csr()).unwrap();
    let mut x = Tensor::from(vec![10.0, 20.0]);
    lacunar::einsum!("for k in 0 .. 2 { x(i) = A(i,j) * x(j) }", A = &a, x = &mut x).unwrap();
    assert_eq!(x.values(), [10.0, 260.0]);
}

//! The messages of the interface for calls that do not fit. No call panics, and each message names the mistake.

use lacunar::{Backend, Category, DType, DynTensor, Error, Format, FormatSpec, Kernel, Options, Tensor, einsum};

fn spmv() -> Result<Kernel, Error> {
    let options = Options::new().format("A", Format::csr()).backend(Backend::Interpreter);
    Kernel::compile("y(i) = A(i,j) * x(j)", &options)
}

fn matrix(format: Format) -> Result<Tensor<f64>, Error> {
    Tensor::from_entries(&[2, 3], &[(&[0, 2], 5.0), (&[1, 0], 6.0)], format)
}

/// The message, which is one that the user can act on.
fn message<T: std::fmt::Debug>(outcome: Result<T, Error>) -> String {
    let error = outcome.expect_err("a mistake");
    assert_eq!(error.category(), Category::User, "{error}");
    error.to_string()
}

#[test]
fn tensors_that_do_not_fit_the_kernel() -> Result<(), Error> {
    let kernel = spmv()?;
    let (a, x) = (matrix(Format::csr())?, Tensor::from_slice(&[3], &[1.0, 2.0, 3.0])?);
    let mut y = Tensor::<f64>::zeros(&[2], Format::dense(1))?;
    let mut run = |a: &DynTensor, x: &DynTensor| message(kernel.run(&mut y, &[a, x]));

    let csc = matrix(Format::csc())?;
    let text = run(csc.as_dyn(), x.as_dyn());
    assert!(text.contains("`A` is stored as csc") && text.contains("compiled for csr"), "{text}");

    let single = Tensor::from_slice(&[3], &[1.0f32, 2.0, 3.0])?;
    let text = run(a.as_dyn(), single.as_dyn());
    assert!(text.contains("`x` has elements of type f32") && text.contains("expects f64"), "{text}");

    assert!(text.contains("`Options::dtype(\"x\", DType::F32)`"), "{text}");

    let short = Tensor::from_slice(&[2], &[1.0, 2.0])?;
    let text = run(a.as_dyn(), short.as_dyn());
    let sizes = ["index variable `j` has two sizes", "dimension 0 of `x` is 2", "dimension 1 of `A` is 3"];
    assert!(sizes.iter().all(|part| text.contains(part)), "{text}");

    let square = Tensor::from_slice(&[3, 1], &[1.0, 2.0, 3.0])?;
    let text = run(a.as_dyn(), square.as_dyn());
    assert!(text.contains("`x`"), "{text}");
    Ok(())
}

/// A result that is added to must have the size of the values that are added, and stays as it is otherwise, in whatever way it is given.
#[test]
fn results_of_another_size_are_not_replaced() -> Result<(), Error> {
    let x = Tensor::from_slice(&[3], &[1.0, 2.0, 3.0])?;
    let short = Tensor::from_slice(&[2], &[10.0, 20.0])?;
    let sizes = ["index variable `i` has two sizes", "dimension 0 of `y` is 2", "dimension 0 of `x` is 3"];
    let check = |text: String| assert!(sizes.iter().all(|part| text.contains(part)), "{text}");
    for format in [Format::dense(1), Format::sv()] {
        let options = Options::new().backend(Backend::Interpreter).format("y", format.clone());
        let kernel = Kernel::compile("y(i) += x(i)", &options)?;
        let mut y = short.convert(&format)?;
        check(message(kernel.run(&mut y, &[x.as_dyn()])));
        assert_eq!(y.to_dense()?, [10.0, 20.0]);
        check(message(kernel.run_named(&[("y", y.as_dyn()), ("x", x.as_dyn())])));
        let mut y = Tensor::from_slice(&[3], &[10.0, 20.0, 30.0])?.convert(&format)?;
        kernel.run(&mut y, &[x.as_dyn()])?;
        assert_eq!(y.to_dense()?, [11.0, 22.0, 33.0]);
    }
    let y = short;
    let text = message(einsum!("y(i) += x(i)", y = &y, x = &x));
    assert!(text.contains("`i` runs over 2 and over 3 coordinates"), "{text}");
    // The size that an earlier statement tells is checked, too.
    let w = Tensor::from_slice(&[2], &[1.0, 1.0])?;
    let kernel = Kernel::compile("y(i) = w(i); y(j) += x(j)", &Options::new().backend(Backend::Interpreter))?;
    let text = message(kernel.run_named(&[("w", w.as_dyn()), ("x", x.as_dyn())]));
    assert!(text.contains("dimension 0 of `y` is 2"), "{text}");
    Ok(())
}

#[test]
fn tensors_that_are_missing_or_unknown() -> Result<(), Error> {
    let kernel = spmv()?;
    let (a, x) = (matrix(Format::csr())?, Tensor::from_slice(&[3], &[1.0, 2.0, 3.0])?);
    let mut y = Tensor::<f64>::zeros(&[2], Format::dense(1))?;
    assert_eq!(message(kernel.run(&mut y, &[a.as_dyn()])), "2 inputs are needed (A, x), not 1");
    assert_eq!(message(kernel.run_named(&[("A", a.as_dyn())])), "`x` is not given");
    let given = [("A", a.as_dyn()), ("x", x.as_dyn()), ("z", x.as_dyn())];
    assert_eq!(message(kernel.run_named(&given)), "the program has no tensor `z`");
    let called = Kernel::compile("y(i) = foo(p(i))", &Options::new().backend(Backend::Interpreter))?;
    let text = message(called.run_named(&[("p", Tensor::from_slice(&[2], &[1_i64, 0])?.as_dyn())]));
    assert!(text.starts_with("`foo` is not given: there is no function `foo`"), "{text}");
    let mut single = Tensor::<f32>::zeros(&[2], Format::dense(1))?;
    assert_eq!(
        message(kernel.run(&mut single, &[a.as_dyn(), x.as_dyn()])),
        "`y` is of type f64, not f32; declare the type when compiling: `Options::dtype(\"y\", DType::F32)`, on the command line \
         `-t y:f32`"
    );
    Ok(())
}

#[test]
fn a_failed_run_leaves_a_result_that_can_be_used() -> Result<(), Error> {
    let kernel = spmv()?;
    let (a, x) = (matrix(Format::csr())?, Tensor::from_slice(&[3], &[1.0, 2.0, 3.0])?);
    let mut y = Tensor::<f64>::zeros(&[2], Format::dense(1))?;
    let short = Tensor::from_slice(&[2], &[1.0, 2.0])?;
    assert!(kernel.run(&mut y, &[a.as_dyn(), short.as_dyn()]).is_err());
    kernel.run(&mut y, &[a.as_dyn(), x.as_dyn()])?;
    assert_eq!(y.to_dense()?, [15.0, 6.0]);
    // A result of other sizes is replaced.
    let mut long = Tensor::<f64>::zeros(&[7], Format::dense(1))?;
    kernel.run(&mut long, &[a.as_dyn(), x.as_dyn()])?;
    assert_eq!(long.to_dense()?, [15.0, 6.0]);
    Ok(())
}

#[test]
fn several_results_are_told_apart_by_name() -> Result<(), Error> {
    let options = Options::new().backend(Backend::Interpreter);
    let kernel = Kernel::compile("y(i) = 2 * x(i)\nz(i) = 3 * y(i)", &options)?;
    let x = Tensor::from_slice(&[2], &[1.0, 2.0])?;
    let mut y = Tensor::<f64>::zeros(&[2], Format::dense(1))?;
    assert!(message(kernel.run(&mut y, &[x.as_dyn()])).contains("`run_named`"));
    let run = kernel.run_named(&[("x", x.as_dyn())])?;
    let names: Vec<&str> = run.results.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["y", "z"]);
    assert_eq!(run.results[1].1.to_dense::<f64>()?, [6.0, 12.0]);
    Ok(())
}

#[test]
fn programs_with_mistakes_say_where() {
    let compile = |source: &str| Kernel::compile(source, &Options::new()).map(|_| ());
    for (source, code) in
        [("y(i) = A(i,j", "E01"), ("y(i) = q(j,", "E01"), ("y(i) = foo(A(i,j) / 2, 1)", "E02"), ("", "E01")]
    {
        let error = compile(source).expect_err(source);
        assert_eq!(error.category(), Category::User, "{error}");
        assert!(error.render(false).contains(&format!("error[{code}")), "{}", error.render(false));
    }
    let options = Options::new().format("A", Format::csf(3));
    let error = Kernel::compile("y(i) = A(i,j) * x(j)", &options).expect_err("order 3");
    assert!(error.render(false).contains("`A` has 2 ind"), "{}", error.render(false));
}

#[test]
fn results_of_another_type_are_converted_in_the_expression() {
    let x = [1.0, 2.0];
    let hint = "convert what is assigned, as in `f64(A(i,j))`";
    let found = message(einsum!("y(i) = lt(x(i), 2)", x = &x -> Vec<f64>));
    assert!(found.contains("of type bool, not f64") && found.contains(hint), "{found}");
    assert!(message(einsum!("y(i) = lt(x(i), 2)", x = &x -> Tensor<f64>)).contains(hint));
    assert!(message(einsum!("s = lt(x(i), 2)", x = &x -> f64)).contains(hint));
    let mut y = Tensor::from(vec![0.0; 2]);
    let found = message(einsum!("y(i) = lt(x(i), 2)", x = &x, y = &mut y));
    assert!(found.contains("`y` is of type bool, not f64") && found.contains(hint), "{found}");
    assert!(einsum!("y(i) = f64(lt(x(i), 2))", x = &x, y = &mut y).is_ok_and(|()| y.values() == [1.0, 0.0]));
}

#[test]
fn results_tell_the_sizes_that_no_operand_does() -> Result<(), Error> {
    for length in [3, 5] {
        let mut y = Tensor::from(vec![0.0; length]);
        for _ in 0..2 {
            einsum!("y(i) = c", c = 3.0, y = &mut y)?;
            assert_eq!(y.values(), vec![3.0; length]);
        }
    }
    let x = [1.0, 2.0];
    let mut outer = Tensor::<f64>::zeros(&[2, 4], Format::dense(2))?;
    einsum!("Y(i,j) = x(i)", x = &x, Y = &mut outer)?;
    assert_eq!(outer.to_dense()?, [1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0]);
    let mut outer = Tensor::<f64>::zeros(&[3, 4], Format::dense(2))?;
    let found = message(einsum!("Y(i,j) = x(i)", x = &x, Y = &mut outer));
    assert!(found.contains("E0301") && outer.dims() == [3, 4], "{found}");
    // If operands tell all sizes, a result is replaced by one of other sizes.
    let mut y = Tensor::from(vec![0.0; 7]);
    einsum!("y(i) = 2 * x(i)", x = &x, y = &mut y)?;
    assert_eq!(y.values(), [2.0, 4.0]);
    let found = message(einsum!("y(i) = c", c = 3.0));
    assert!(found.contains("E0302") && found.contains("`&mut`"), "{found}");
    Ok(())
}

#[test]
fn errors_at_run_time_have_codes() -> Result<(), Error> {
    let options = Options::new().backend(Backend::Interpreter).schedule("bound(i, b, 16, maxexact)");
    let kernel = Kernel::compile("y(i) = 2 * x(i)", &options)?;
    let error = kernel.call::<Vec<f64>>(&[("x", &[1.0, 2.0])]).expect_err("a promise");
    assert_eq!((error.code(), error.category()), (Some("E1208"), Category::User));
    assert!(error.report(false).starts_with("error[E1208]: `i` has 2 values"), "{error:?}");
    let huge = Tensor::from_slice(&[1 << 62, 4], &[1.0]).expect_err("too large");
    assert!(huge.report(false).starts_with("error[E1303]: the number of values does not fit"), "{huge:?}");
    let order = Tensor::<f64>::zeros(&[2], Format::csr()).expect_err("another order");
    assert_eq!(order.code(), Some("E0401"));
    let unknown = "csx".parse::<FormatSpec>().map_err(Error::from).expect_err("no format");
    assert!(unknown.report(false).starts_with("error[E0402]: no format is called `csx` (hint: did you mean `csr`?)"));
    let kernel = Kernel::compile("y(i) = 2 * x(i)", &Options::new().backend(Backend::Interpreter))?;
    let integers = Tensor::from(vec![1i32, 2]);
    let other = kernel.call::<Vec<f64>>(&[("x", &integers)]).expect_err("another type");
    assert!(other.report(false).starts_with("error[E1312]: `x` has elements of type i32"), "{other:?}");
    let short = Tensor::from_slice(&[2, 2], &[1.0]).expect_err("too few");
    assert_eq!(short.code(), Some("E1313"), "{short:?}");
    Ok(())
}

#[test]
fn tensors_that_contradict_themselves() -> Result<(), Error> {
    assert!(message(Tensor::from_slice(&[2, 2], &[1.0])).contains("1 elements, but 4 are needed"));
    let huge = Tensor::from_slice(&[1 << 62, 4], &[1.0]).expect_err("too large");
    assert_eq!(huge.category(), Category::Memory);
    assert_eq!(huge.to_string(), "the number of values does not fit into 64 bits");
    let outside = Tensor::from_entries(&[2, 2], &[(&[0, 2], 1.0)], Format::csr());
    assert!(message(outside).contains("coordinate 2 of entry 0 is outside dimension 1 of size 2"));
    let short = Tensor::from_entries(&[2, 2], &[(&[0], 1.0)], Format::csr());
    assert!(message(short).contains("entry 0 has 1 coordinates, but the order is 2"));
    assert!(message(Tensor::<f64>::zeros(&[2], Format::csr())).contains("stores 2 dimensions, but the tensor has 1"));
    let single = Tensor::<f32>::try_from(DynTensor::scalar(1.0f64));
    assert_eq!(message(single), "the elements are of type f64, not f32");
    assert_eq!(Tensor::scalar(1.5f32).as_dyn().dtype(), DType::F32);
    Ok(())
}

#[test]
fn imaginary_parts_are_not_dropped() -> Result<(), Error> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("c.mtx");
    let text = "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 2.0 3.0\n";
    std::fs::write(&path, text).expect("a file");
    let text = message(Tensor::<f64>::read(&path, Format::csr()));
    assert!(text.contains("complex (c128)") && text.contains("f64"), "{text}");
    let whole = Tensor::<num_complex::Complex<f64>>::read(&path, Format::csr())?;
    assert_eq!(whole.values(), [num_complex::Complex::new(2.0, 3.0)]);
    Ok(())
}

#[test]
fn errors_speak_of_the_library_and_show_the_program() {
    let error = Kernel::compile("y(i) = 1", &Options::new()).expect_err("a size");
    let shown = format!("{error:?}");
    assert!(shown.contains("1 │ y(i) = 1") && shown.contains("E0302"), "{shown}");
    assert!(shown.contains("declare its size with `Options::size`") && !shown.contains("-d "), "{shown}");
    assert_eq!(shown.trim(), error.report(false).trim());
    assert!(!error.to_string().contains("`-d"), "{error}");
    // The command says how its users do it.
    assert!(error.render(false).contains("`-d i:100`"));
    let plain = Tensor::<f64>::read("missing.mtx", Format::csr()).expect_err("no file");
    assert!(format!("{plain:?}").contains("missing.mtx"), "{plain:?}");
}

#[test]
fn loops_give_a_place_of_a_sparse_result_one_value() {
    for (loops, format) in [
        ("sequence(forall(i, R(i) += x(i)), forall(i, R(i) += z(i)))", Format::sv()),
        ("forall(i, forall(j, sequence(R(i,j) += A(i,j), R(i,j) += B(i,j))))", Format::csr()),
    ] {
        let error = Kernel::compile(loops, &Options::new().format("R", format)).unwrap_err();
        assert_eq!(error.code(), Some("E1214"), "{error}");
    }
}

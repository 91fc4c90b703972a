//! Assembling a result and computing it in two steps gives the same as a fused kernel, on every back end.

use lacunar::{Backend, DynTensor, Error, Format, FormatSpec, Kernel, Optimization, Options, Phase, Tensor};
use lacunar_base::day::is_turn;

/// A program with its formats, operands by name.
struct Case {
    source: &'static str,
    formats: &'static [(&'static str, &'static str)],
    result: &'static str,
}

const CASES: [Case; 6] = [
    Case { source: "C(i,k) = A(i,j) * B(j,k)", formats: &[("A", "csr"), ("B", "csr"), ("C", "csr")], result: "C" },
    Case { source: "C(i,j) = A(i,j) + B(i,j)", formats: &[("A", "csr"), ("B", "csr"), ("C", "csr")], result: "C" },
    Case { source: "C(i,j) = A(i,j) + B(i,j)", formats: &[("A", "csr"), ("B", "csr"), ("C", "csc")], result: "C" },
    Case {
        source: "C(i,j) = A(i,j) * D(i,k) * E(j,k)",
        formats: &[("A", "csr"), ("C", "csr"), ("D", "dense"), ("E", "dense")],
        result: "C",
    },
    Case { source: "C(i,j) = T(i,j,k) * v(k)", formats: &[("T", "csf"), ("v", "dense"), ("C", "dcsr")], result: "C" },
    Case { source: "C(i,j) += A(i,j)", formats: &[("A", "csr"), ("C", "csr")], result: "C" },
];

fn backends() -> Vec<Backend> {
    let mut backends = vec![Backend::Interpreter, Backend::C];
    if cfg!(feature = "llvm") {
        backends.push(Backend::Llvm);
    }
    backends
}

/// About a quarter of the places of a tensor, by a rule; the values are integers, so sums are exact in any order.
fn operand(dims: &[u64], format: &str, salt: u64) -> Result<DynTensor, Error> {
    let places: u64 = dims.iter().product();
    let coordinates = |mut place: u64| -> Vec<u64> {
        let mut coordinate: Vec<u64> = dims
            .iter()
            .rev()
            .map(|size| {
                let c = place % size;
                place /= size;
                c
            })
            .collect();
        coordinate.reverse();
        coordinate
    };
    let chosen: Vec<(Vec<u64>, f64)> = (0..places)
        .filter(|place| format == "dense" || (place * 7 + salt * 3) % 11 < 3)
        .map(|place| (coordinates(place), ((place * 5 + salt) % 9) as f64 - 4.0))
        .collect();
    let entries: Vec<(&[u64], f64)> =
        chosen.iter().map(|(coordinate, value)| (coordinate.as_slice(), *value)).collect();
    let format: FormatSpec = format.parse().map_err(|error| Error::Argument(format!("{error}")))?;
    let tensor = Tensor::from_entries(dims, &entries, format)?;
    Ok(tensor.as_dyn().try_clone().map_err(lacunar::StorageError::from)?)
}

fn dims(name: &str) -> &'static [u64] {
    match name {
        "T" => &[8, 8, 5],
        "v" => &[5],
        "D" | "E" => &[8, 3],
        _ => &[8, 8],
    }
}

fn only(run: lacunar::Run) -> DynTensor {
    let [(_, tensor)] = <[_; 1]>::try_from(run.results).expect("one result");
    tensor
}

#[test]
fn assemble_then_compute_is_fused() {
    for case in &CASES {
        let adds = case.source.contains("+=");
        let operands: Vec<(&str, DynTensor)> = case
            .formats
            .iter()
            .enumerate()
            .filter(|(_, (name, _))| *name != case.result || adds)
            .map(|(salt, (name, format))| (*name, operand(dims(name), format, salt as u64).expect(case.source)))
            .collect();
        let given: Vec<(&str, &DynTensor)> = operands.iter().map(|(name, tensor)| (*name, tensor)).collect();
        for backend in backends() {
            let context = format!("{} on {}", case.source, backend.name());
            let compile = |phase| {
                let mut options = Options::new().backend(backend).phase(phase);
                options.optimization = Optimization::Least;
                for (name, format) in case.formats {
                    options = options.format(name, format.parse::<FormatSpec>().expect("a format"));
                }
                Kernel::compile(case.source, &options).expect(&context)
            };
            let fused = only(compile(Phase::Fused).run_named(&given).expect(&context));
            let assembled = only(compile(Phase::Assemble).run_named(&given).expect(&context));
            assert_eq!(fused.levels(), assembled.levels(), "pattern of {context}");
            let compute = compile(Phase::Compute);
            if adds {
                // The old values are an operand, so a pattern cannot be given beside them.
                let error = compute.run_named(&given).expect_err(&context);
                assert!(error.to_string().contains("can't be given as a pattern"), "{error}");
                continue;
            }
            let mut with_pattern = given.clone();
            with_pattern.push((case.result, &assembled));
            let first = only(compute.run_named(&with_pattern).expect(&context));
            assert_eq!(fused, first, "values of {context}");
            // Again, with new values in the memory of the old ones.
            let mut again = Tensor::<f64>::try_from(first).expect(&context);
            again.values_mut().expect(&context).fill(f64::NAN);
            let inputs: Vec<&DynTensor> = given.iter().map(|(_, tensor)| *tensor).collect();
            compute.run(&mut again, &inputs).expect(&context);
            assert_eq!(&fused, again.as_dyn(), "second run of {context}");
        }
    }
}

#[test]
fn a_pattern_that_does_not_fit_is_refused() {
    let a = operand(&[8, 8], "csr", 0).expect("A");
    let b = operand(&[8, 8], "csr", 1).expect("B");
    for backend in backends() {
        let options = Options::new().backend(backend).format("A", Format::csr()).format("B", Format::csr());
        let options = options.format("C", Format::csr()).phase(Phase::Compute);
        let kernel = Kernel::compile("C(i,j) = A(i,j) + B(i,j)", &options).expect("a kernel");
        let missing = kernel.run_named(&[("A", &a), ("B", &b)]).expect_err("no pattern");
        assert!(missing.to_string().contains("no pattern"), "{missing}");
        let larger = operand(&[9, 8], "csr", 0).expect("a pattern");
        let error = kernel.run_named(&[("A", &a), ("B", &b), ("C", &larger)]).expect_err("another size");
        assert!(error.to_string().contains("no pattern"), "{error}");
        let dense = operand(&[8, 8], "dense", 0).expect("a pattern");
        let error = kernel.run_named(&[("A", &a), ("B", &b), ("C", &dense)]).expect_err("another format");
        assert!(error.to_string().contains("convert it"), "{error}");
    }
}

#[test]
fn threads_keep_to_their_parts_of_a_pattern() {
    let diagonal: Vec<(&[u64], f64)> = vec![(&[0, 0], 1.0), (&[1, 1], 2.0), (&[2, 2], 3.0), (&[3, 3], 4.0)];
    // As many entries as the result has, in other rows.
    let shifted: Vec<(&[u64], f64)> = vec![(&[0, 0], 0.0), (&[0, 1], 0.0), (&[1, 1], 0.0), (&[2, 2], 0.0)];
    let tensor = |entries: &[(&[u64], f64)]| Tensor::from_entries(&[4, 4], entries, Format::csr()).expect("a matrix");
    let (a, wrong) = (tensor(&diagonal), tensor(&shifted));
    for backend in backends() {
        let mut options = Options::new().backend(backend).phase(Phase::Compute).threads(4);
        options.grain = Some(1);
        for name in ["A", "B", "C"] {
            options = options.format(name, Format::csr());
        }
        let options = options.schedule("parallelize(i, cpu)");
        let kernel = Kernel::compile("C(i,j) = A(i,j) + B(i,j)", &options).expect("a kernel");
        let run =
            |pattern: &Tensor<f64>| kernel.run_named(&[("A", a.as_dyn()), ("B", a.as_dyn()), ("C", pattern.as_dyn())]);
        let right = only(run(&a).expect("the pattern of the result"));
        assert_eq!(Tensor::<f64>::try_from(right).expect("reals").values(), [2.0, 4.0, 6.0, 8.0]);
        let error = run(&wrong).expect_err("another pattern");
        assert!(error.to_string().contains("not that of the result"), "{error}");
    }
}

#[test]
fn a_pattern_with_as_many_entries_elsewhere_is_refused() {
    // Each of as many entries as the result, of which one is in another column, row, or both.
    let places: [&[[u64; 2]]; 5] = [
        &[[0, 1], [1, 0], [2, 1], [3, 3]],
        &[[0, 0], [1, 1], [2, 1], [3, 3]],
        &[[0, 0], [0, 1], [2, 2], [3, 3]],
        &[[0, 0], [0, 1], [0, 2], [0, 3]],
        &[[3, 0], [3, 1], [3, 2], [3, 3]],
    ];
    let diagonal = [[0, 0], [1, 1], [2, 2], [3, 3]];
    let tensor = |places: &[[u64; 2]], format: &str| {
        let entries: Vec<(&[u64], f64)> = places.iter().map(|place| (place.as_slice(), 1.0)).collect();
        Tensor::from_entries(&[4, 4], &entries, format.parse::<FormatSpec>().expect("a format")).expect("a matrix")
    };
    let formats = ["csr", "csc", "dcsr", "coo", "db", "sd", "csf"].into_iter().enumerate();
    for (_, format) in formats.filter(|(number, _)| is_turn(*number, 3)) {
        let a = tensor(&diagonal, "csr");
        for (backend, threads) in backends().into_iter().flat_map(|backend| [(backend, 1), (backend, 3)]) {
            let mut options = Options::new().backend(backend).phase(Phase::Compute).threads(threads);
            options.grain = Some(1);
            for name in ["A", "B"] {
                options = options.format(name, Format::csr());
            }
            let options = options.format("C", format.parse::<FormatSpec>().expect("a format"));
            for source in ["C(i,j) = A(i,j) + B(i,j)", "C(i,k) = A(i,j) * B(j,k)"] {
                let kernel = Kernel::compile(source, &options).expect("a kernel");
                let run = |pattern: &Tensor<f64>| {
                    kernel.run_named(&[("A", a.as_dyn()), ("B", a.as_dyn()), ("C", pattern.as_dyn())])
                };
                let context = format!("{source} as {format} on {} with {threads}", backend.name());
                let right = only(run(&tensor(&diagonal, format)).expect(&context));
                assert_eq!(right.nnz(), tensor(&diagonal, format).as_dyn().nnz(), "{context}");
                for (number, places) in places.iter().enumerate() {
                    let wrong = tensor(places, format);
                    if wrong.as_dyn().levels() == right.levels() {
                        continue;
                    }
                    let error = run(&wrong).expect_err(&format!("{context}, pattern {number}"));
                    assert!(error.to_string().contains("not that of the result"), "{context}: {error}");
                }
            }
        }
    }
}

#[test]
fn two_phases_of_a_schedule() {
    let formats = [("A", "csc"), ("B", "csr"), ("C", "csc")];
    let operands: Vec<(&str, DynTensor)> = [("A", "csc", 0), ("B", "csr", 1)]
        .map(|(name, format, salt)| (name, operand(&[8, 8], format, salt).expect(name)))
        .into();
    let given: Vec<(&str, &DynTensor)> = operands.iter().map(|(name, tensor)| (*name, tensor)).collect();
    for backend in backends() {
        let compile = |schedule: &str| {
            let mut options = Options::new().backend(backend).schedule(schedule).emit("imp");
            for (name, format) in formats {
                options = options.format(name, format.parse::<FormatSpec>().expect("a format"));
            }
            Kernel::compile("C(i,k) = A(i,j) * B(j,k)", &options).expect("a kernel")
        };
        let (append, insert) =
            (compile("reorder(i, j, k), assemble(C, append)"), compile("reorder(i, j, k), assemble(C, insert)"));
        assert_eq!((append.steps().len(), insert.steps().len(), insert.statements().count()), (1, 2, 1));
        // Its operand and its result are both converted.
        let plan = insert.steps()[0].plan();
        assert!(!plan.conversions.is_empty() && plan.convert_result.is_some());
        let text = insert.text("imp").expect("both kernels");
        assert!(text.contains("kernel assemble_C(") && text.contains("kernel compute_C("), "{text}");
        assert!(insert.explain().iter().any(|note| note.contains("two phases")), "{:?}", insert.explain());
        assert_eq!(insert.schedule().to_string(), "reorder(i, j, k), assemble(C, insert)");
        let results = [&append, &insert].map(|kernel| only(kernel.run_named(&given).expect("a run")));
        assert_eq!(results[0], results[1]);
    }
}

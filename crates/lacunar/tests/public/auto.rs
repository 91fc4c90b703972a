//! Formats that are chosen from the entries: `auto`.

#![allow(clippy::unwrap_used)]

use lacunar::{
    Builder, Candidate, Costs, DType, Demand, DynTensor, Error, Format, FormatSpec, Kernel, Options, Tensor, choose,
};

/// A matrix of these sizes with an entry wherever this says so.
fn matrix([rows, columns]: [u64; 2], at: impl Fn(u64, u64) -> bool) -> Tensor<f64> {
    let mut builder = Builder::new(&[rows, columns]);
    for (i, j) in (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j))).filter(|(i, j)| at(*i, *j)) {
        builder.push(&[i, j], 1.0 + (i * 7 + j) as f64 % 11.0).unwrap();
    }
    builder.build(Format::csr()).unwrap()
}

fn named(text: &str) -> Format {
    text.parse::<FormatSpec>().unwrap().resolve(2).unwrap()
}

/// Rows of different lengths.
fn scattered() -> Tensor<f64> {
    matrix([400, 300], |i, j| (i * 7 + j * j * 13) % 97 < 1 + i % 5)
}

/// Slots of eight rows.
const SLOTS: &str = "dndp16:0/8,#0~1024,0%8,1";

/// Matrices, each with the format that suits a product with a vector: slots only where the processor has masks.
fn matrices() -> Vec<(Tensor<f64>, &'static str)> {
    let of_scattered = choose(scattered().as_dyn(), &Demand::of(1000)).unwrap();
    let slots = if of_scattered.format() == &named(SLOTS) { SLOTS } else { "csr" };
    vec![
        (matrix([240, 240], |i, j| j / 3 == i / 3 || j / 3 == (i / 3 * 7) % 80), "bcsr(3,3)"),
        (matrix([300, 300], |i, j| i.abs_diff(j) < 2 || i.abs_diff(j) == 17), "dia"),
        (matrix([300, 300], |_, _| true), "dense"),
        (scattered(), slots),
    ]
}

#[test]
fn the_format_suits_the_entries() {
    for (a, format) in matrices() {
        let auto = a.convert(Format::auto()).unwrap();
        assert_eq!(auto.format(), &named(format), "{}", choose(a.as_dyn(), &Demand::of(1000)).unwrap().reason());
        assert_eq!(auto.to_dense().unwrap(), a.to_dense().unwrap());
        // One use pays for no conversion.
        assert_eq!(a.convert(Format::auto_for(1)).unwrap().format(), &Format::csr());
        assert!(a.route(Format::auto_for(1)).unwrap().is_empty());
        let columns = a.convert(Format::csc()).unwrap().convert(Format::auto()).unwrap();
        assert_eq!(columns.format(), &named(format));
    }
}

/// The time that a conversion saves in each use depends on the processor, and with it the number of uses after which it pays.
#[test]
fn the_choice_follows_the_machine() {
    let a = scattered();
    let of = |name: &str| lacunar::machine(&Options::new().machine(name)).unwrap();
    let chosen = |name: &str, uses: u64| {
        let costs = Costs::of(&of(name));
        choose(a.as_dyn(), &Demand { costs, ..Demand::of(uses) }).unwrap().format().clone()
    };
    let first_paying = |name: &str| (1..400).find(|uses| chosen(name, *uses) != Format::csr());
    let paying = ["zen5", "icelake"].map(first_paying);
    assert!(paying.iter().all(Option::is_some) && paying[0] != paying[1], "{paying:?}");
    // Without masks, lanes of slots are selected, which takes as long as rows; and so it does where vectors of 64 bytes take two cycles.
    let slots = ["zen5", "icelake", "zen4", "generic-v2"].map(|name| chosen(name, 1000) == named(SLOTS));
    assert_eq!(slots, [true, true, false, false]);
}

#[test]
fn tensors_are_made_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mtx");
    let (a, format) = matrices().swap_remove(0);
    a.write(&path).unwrap();
    assert_eq!(Tensor::<f64>::read(&path, Format::auto()).unwrap().format(), &named(format));
    let (mut rows, mut columns, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for ([i, j], value) in a.entries().unwrap() {
        rows.push(i);
        columns.push(j);
        values.push(value);
    }
    let made = Tensor::from_triplets([240, 240], &rows, &columns, &values, Format::auto()).unwrap();
    assert_eq!((made.format(), made.to_dense().unwrap()), (&named(format), a.to_dense().unwrap()));
    // Nothing is known of a tensor without entries, and arrays are in a format already.
    assert_eq!(Tensor::<f64>::zeros(&[3, 3], Format::auto()).unwrap_err().code(), Some("E0409"));
    assert_eq!(Tensor::from_parts(&[0], Format::auto(), Vec::new(), vec![0.0]).unwrap_err().code(), Some("E0409"));
    for dims in [&[0, 5][..], &[5, 0], &[0, 0, 3], &[], &[7]] {
        Builder::<f64>::new(dims).build(Format::auto()).unwrap();
    }
}

/// A program's result with the tensor `A` in the format that is chosen for it, beside the one with `A` in compressed levels. No plan
/// converts it back.
fn agrees(program: &str, a: &DynTensor, others: &[(&str, &DynTensor)]) -> Format {
    let declared = others.iter().fold(Options::new(), |options, (name, tensor)| options.tensor(name, tensor));
    let run = |options: &Options, a: &DynTensor| {
        let kernel = Kernel::compile(program, options).unwrap();
        let given: Vec<(&str, &DynTensor)> = others.iter().copied().chain([("A", a)]).collect();
        let mut results = kernel.run_named(&given).unwrap().results;
        (kernel.explain(), results.swap_remove(0).1)
    };
    let (_, expected) = run(&declared.clone().tensor("A", a), a);
    let (options, chosen) = declared.format("A", Format::auto()).choose(program, "A", a.try_clone().unwrap()).unwrap();
    let (notes, found) = run(&options, &chosen);
    let values = |tensor: &DynTensor| tensor.to_dense::<f64>().unwrap();
    for (expected, found) in values(&expected).iter().zip(values(&found)) {
        assert!((expected - found).abs() <= 1e-9 * expected.abs(), "{program} with A as {}", chosen.format());
    }
    // If one of two is converted, the other one is not.
    let converted = notes.iter().filter(|note| note.starts_with("`A` (") && note.contains("converted")).count();
    assert!(converted < program.matches("A(").count(), "{program}: {notes:?}");
    chosen.format().clone()
}

#[test]
fn loops_walk_through_it() {
    for (a, format) in matrices() {
        let [rows, columns] = [a.dims()[0], a.dims()[1]];
        let vector = |size: u64| Tensor::from_slice(&[size], &vec![0.5; size as usize]).unwrap();
        let (x, z) = (vector(columns), vector(rows));
        let b = Tensor::from_slice(&[columns, 4], &vec![2.0; 4 * columns as usize]).unwrap();
        let spmv = agrees("y(i) = A(i,j) * x(j)", a.as_dyn(), &[("x", x.as_dyn())]);
        assert_eq!(spmv, named(format));
        let back = agrees("y(j) = A(i,j) * z(i)", a.as_dyn(), &[("z", z.as_dyn())]);
        // Columns are summed up: rows would be scattered.
        assert_ne!(back, Format::csr());
        // Filled-up places cost a loop over the columns of `b`.
        let spmm = agrees("Y(i,k) = A(i,j) * b(j,k)", a.as_dyn(), &[("b", b.as_dyn())]);
        assert!(spmm.tells_entries() && spmm.map().is_none(), "{spmm}");
        let other = matrix([rows, columns], |i, j| (i + j) % 9 == 0);
        assert_eq!(agrees("C(i,j) = A(i,j) + B(i,j)", a.as_dyn(), &[("B", other.as_dyn())]), Format::csr());
        let other = other.convert(Format::csc()).unwrap();
        let added = agrees("y(i,j) = A(i,j) * B(i,j)", a.as_dyn(), &[("B", other.as_dyn())]);
        assert!(added == Format::csr() || added == Format::csc(), "{added}");
        if rows == columns {
            assert_eq!(agrees("C(i,k) = A(i,j) * A(j,k)", a.as_dyn(), &[]), Format::csr());
        }
    }
}

/// A schedule over the variables of the program would have the loops over blocks, and the blocks converted back.
#[test]
fn a_schedule_keeps_its_loops() {
    let (a, format) = matrices().swap_remove(0);
    let program = "y(i) = A(i,j) * x(j)";
    let x = Tensor::from_slice(&[240], &[1.0; 240]).unwrap();
    let options = Options::new().format("A", Format::auto()).tensor("x", x.as_dyn());
    let (_, free) = options.clone().choose(program, "A", a.as_dyn().try_clone().unwrap()).unwrap();
    assert_eq!(free.format(), &named(format));
    let split = options.schedule("split(i, io, ii, 16), parallelize(io, cpu, none)");
    let (options, scheduled) = split.choose(program, "A", a.into_dyn()).unwrap();
    let kernel = Kernel::compile(program, &options).unwrap();
    assert!(!kernel.explain().iter().any(|note| note.contains("converted")), "{:?}", kernel.explain());
    assert!(scheduled.format().map().is_none(), "{}", scheduled.format());
}

#[test]
fn arrays_are_for_full_matrices() {
    let best = |n: u64| matrix([300, 300], |i, j| (i * 37 + j * j * 11) % 20 < n).convert(Format::auto()).unwrap();
    assert!(!best(5).format().is_dense());
    assert_eq!(best(20).format(), &Format::dense(2));
}

#[test]
fn work_goes_with_entries_and_not_with_sizes() {
    let entries: [(&[u64], f64); 3] = [(&[0, 5], 1.0), (&[1 << 40, 1 << 61], 2.0), (&[(1 << 62) - 1, 1 << 62], 3.0)];
    let a = Tensor::from_entries(&[1 << 62, (1 << 62) + 1], &entries, Format::auto()).unwrap();
    assert_eq!((a.format().to_string(), a.nnz()), ("s64s64".to_string(), 3));
    let found = choose(a.as_dyn(), &Demand::of(1000)).unwrap();
    assert_eq!(found.best().bytes, 3 * 16 + (4 + 2) * 4 + 3 * 8);
}

#[test]
fn tensors_of_other_orders() {
    let mut builder = Builder::new(&[20, 30, 40]);
    for k in 0..900u64 {
        builder.push(&[k % 20, (k * 7) % 30, (k * k) % 40], k as f64).unwrap();
    }
    let t = builder.build(Format::csf(3)).unwrap();
    let auto = t.convert(Format::auto()).unwrap();
    let found = choose(t.as_dyn(), &Demand::of(1000)).unwrap().candidates;
    assert!(found.iter().any(|one| one.format.to_string() == "ds16s16"), "{found:?}");
    assert_eq!(auto.to_dense().unwrap(), t.to_dense().unwrap());
    let x = Tensor::from_slice(&[40], &[1.0; 40]).unwrap();
    let y = Tensor::from_slice(&[20], &[1.0; 20]).unwrap();
    agrees("B(i,j) = A(i,j,k) * x(k)", t.as_dyn(), &[("x", x.as_dyn())]);
    agrees("B(j,k) = A(i,j,k) * y(i)", t.as_dyn(), &[("y", y.as_dyn())]);
    let full = Tensor::from_slice(&[4], &[1.0, 2.0, 3.0, 4.0]).unwrap().convert(Format::auto()).unwrap();
    assert_eq!(full.format(), &Format::dense(1));
    let few = Tensor::from_triplets([1, 1000], &[0], &[7], &[1.0], Format::auto()).unwrap();
    assert_eq!(few.nnz(), 1);
}

#[test]
fn entries_stay_entries() {
    // Blocks, of which one holds a zero that is stored, and of a pattern, which has no values.
    let (a, _) = matrices().swap_remove(0);
    let mut zero = a.try_clone().unwrap();
    zero.values_mut().unwrap()[0] = 0.0;
    let auto = zero.convert(Format::auto()).unwrap();
    assert_eq!((auto.nnz(), auto.format().tells_entries()), (a.nnz(), true));
    let pattern = a.as_dyn().cast(DType::Pattern).unwrap();
    let found = choose(&pattern, &Demand::of(1000)).unwrap();
    assert!(found.candidates.iter().all(|Candidate { format, .. }| format.tells_entries()), "{found:?}");
    let filled = a.with_fill(f64::INFINITY).unwrap().convert(Format::auto()).unwrap();
    assert!(filled.format().tells_entries());
}

#[test]
fn a_program_without_entries_has_nothing_to_choose_by() {
    for name in ["A", "y"] {
        let options = Options::new().format(name, Format::auto());
        let error = Kernel::compile("y(i) = A(i,j) * x(j)", &options).unwrap_err();
        assert!(matches!(error, Error::Program { .. }) && error.code() == Some("E0409"), "{error}");
    }
    for (text, code) in [("auto(0)", "E0405"), ("auto(1,2)", "E0405"), ("auto:1,0", "E0404"), ("auto:0/2,1", "E0404")] {
        assert_eq!(Error::from(text.parse::<FormatSpec>().unwrap_err()).code(), Some(code), "{text}");
    }
    assert_eq!(
        (Format::auto().to_string(), Format::auto_for(7).to_string()),
        ("auto".to_string(), "auto(7)".to_string())
    );
}

#[test]
fn unique_elements_are_stored_in_a_format_that_is_chosen() {
    let program = "y(i) = A(i,j) * x(j)";
    let half = matrix([300, 300], |i, j| i / 3 == j / 3 && i <= j).into_dyn();
    let x = Tensor::from_slice(&[300], &[1.0; 300]).unwrap();
    let [chosen, rows] = [Format::auto(), Format::csr().into()].map(|format: FormatSpec| {
        let options = Options::new().format("A", format).structure("A:symmetric").unwrap().unique("A");
        let (options, a) = options.choose(program, "A", half.clone()).unwrap();
        let kernel = Kernel::compile(program, &options).unwrap();
        let mut run = kernel.run_named(&[("A", &a), ("x", x.as_dyn())]).unwrap();
        run.results.swap_remove(0).1.to_dense::<f64>().unwrap()
    });
    assert_eq!(chosen, rows);
}

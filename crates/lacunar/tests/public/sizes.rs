//! Dimensions up to the greatest index, also in schedules and maps: results are right or refused, never wrong.

use lacunar::{Backend, Error, Format, FormatSpec, Kernel, Options, Tensor};
use lacunar_machine::Reach;

/// The greatest size of a dimension.
const GREATEST: u64 = i64::MAX as u64;

fn spec(format: &str) -> FormatSpec {
    format.parse().expect("a format")
}

/// A square matrix with an entry in its first row, and one in its last.
fn corners(size: u64, format: &str) -> Result<Tensor<f64>, Error> {
    let last = size - 1;
    Tensor::from_entries(&[size, size], &[(&[0, 0], 3.0), (&[last, last], 4.0)], spec(format))
}

/// The entries of the result of a statement about such a matrix; once with the size in the kernel, once without.
fn run(source: &str, size: u64, format: &str, schedule: &str) -> Result<Vec<f64>, Error> {
    let a = corners(size, format)?;
    let mut found = Vec::new();
    for known in [true, false] {
        let options =
            Options::new().threads(3).tuned(false).schedule(schedule).format("A", a.as_dyn().format().clone());
        let options = if source.starts_with('y') { options.format("y", spec("s64")) } else { options };
        let options = if known { options.tensor("A", a.as_dyn()) } else { options };
        let backend = if known { Backend::default() } else { Backend::Interpreter };
        let kernel = Kernel::compile(source, &options.backend(backend))?;
        let results = kernel.run_named(&[("A", a.as_dyn())])?.results;
        let values = Tensor::<f64>::try_from(results.into_iter().next().expect("a result").1)?;
        found.push(values.values().to_vec());
    }
    assert_eq!(found[0], found[1], "{source} {format} {schedule}");
    Ok(found.swap_remove(0))
}

#[test]
fn sums_over_the_greatest_dimensions_are_right() {
    let blocks = "ssss:0/8,1/8,0%8,1%8";
    for format in ["ss", "rr", "gg", "tt", "hh", "uq", "hicoo(4)", blocks] {
        for schedule in [
            "",
            "parallelize(i, cpu, temporary)",
            "split(i, a, b, 4611686018427387904)",
            "split(j, a, b, 18446744073709551615)",
            "divide(i, a, b, 3), parallelize(a, cpu, temporary)",
        ] {
            let found = run("s = A(i,j)", GREATEST, format, schedule);
            assert!(matches!(found.as_deref(), Ok([7.0])), "{format} {schedule}: {found:?}");
        }
    }
}

#[test]
fn sparse_results_have_the_entries_of_the_greatest_dimensions() {
    for format in ["ss", "rr", "hh", "hicoo(4)"] {
        for schedule in ["", "split(i, a, b, 4611686018427387904)", "divide(i, a, b, 3), parallelize(a, cpu)"] {
            let found = run("y(i) = A(i,j)", GREATEST, format, schedule);
            assert!(matches!(found.as_deref(), Ok([3.0, 4.0])), "{format} {schedule}: {found:?}");
        }
    }
}

#[test]
fn tables_are_not_searched_for_every_coordinate() {
    for schedule in ["", "parallelize(i, cpu)", "split(i, a, b, 4611686018427387904)", "divide(j, a, b, 3)"] {
        let found = run("s = A(i,j)", 1 << 62, "hh", schedule);
        assert!(matches!(found.as_deref(), Ok([7.0])), "{schedule}: {found:?}");
    }
}

#[test]
fn what_loops_cannot_count_is_refused() {
    for (schedule, message) in [
        ("fuse(i, j, f)", "`f` has"),
        ("fuse(i, j, f), split(f, f0, f1, 32)", "`f` has"),
        ("split(i, i0, i1, 32)", "the loop over `i0` goes through"),
        ("split(i, i0, i1, 4611686018427387904), reorder(i1, i0)", "the loop over `i1` goes through"),
    ] {
        let error = run("s = A(i,j)", GREATEST, "ss", schedule).expect_err(schedule).to_string();
        assert!(error.contains(message), "{schedule}: {error}");
    }
    // Positions are counted instead of pairs.
    let found =
        run("s = A(i,j)", GREATEST, "ss", "fuse(i, j, f), pos(f, p, A(i,j)), split(p, p0, p1, 4611686018427387904)");
    assert!(matches!(found.as_deref(), Ok([7.0])), "{found:?}");
}

#[test]
fn maps_whose_levels_cannot_be_counted_are_not_walked_through() {
    // The differences of coordinates fit, their number does not.
    for format in ["ss:1-0,0", "hs:1-0,0"] {
        if let Ok(found) = run("s = A(i,j)", GREATEST, format, "") {
            assert_eq!(found, [7.0], "{format}");
        }
        let found = run("s = A(i,j)", 1 << 61, format, "");
        assert!(matches!(found.as_deref(), Ok([7.0])), "{format}: {found:?}");
    }
}

#[test]
fn rows_of_a_converted_operand_take_memory_that_is_there() {
    let conversion = |rows: u64| {
        let mut options = Options::new();
        for (name, format) in [("A", "csc"), ("B", "csr"), ("C", "csr")] {
            options = options.format(name, spec(format)).dims(name, &[rows, 100]);
        }
        let kernel = Kernel::compile("C(i,j) = A(i,j) * B(i,j)", &options).expect("a program");
        kernel.explain().join("\n")
    };
    assert!(conversion(1000).contains("`A` (csc) is converted to csr"), "{}", conversion(1000));
    assert!(conversion(1 << 32).contains("`A` (csc) is converted to dcsr"), "{}", conversion(1 << 32));
}

#[test]
fn short_rows_take_short_vectors() {
    let lanes = |entries_a_row: u64| {
        let rows = 100u64;
        let entries: Vec<([u64; 2], f64)> =
            (0..rows * entries_a_row).map(|at| ([at / entries_a_row, at % entries_a_row * 7], 1.0)).collect();
        let entries: Vec<(&[u64], f64)> = entries.iter().map(|(at, value)| (at.as_slice(), *value)).collect();
        let a = Tensor::from_entries(&[rows, 200], &entries, Format::csr()).expect("rows of csr");
        let options = Options::new().tensor("A", a.as_dyn()).backend(Backend::Interpreter).emit("imp");
        let kernel = Kernel::compile("y(i) = A(i,j) * x(j)", &options).expect("rows of csr");
        kernel.text("imp").expect("rows of csr").contains("vector(4)")
    };
    assert_eq!([1, 4, 5, 20].map(lanes), [true, true, false, false]);
}

/// Lanes of a matrix that comes from memory gather otherwise from an array that the third level of caches holds, if columns have no order.
#[test]
fn scattered_columns_are_gathered_as_the_machine_says() {
    let rows = 40_000u64;
    let anywhere = |at: u64| ((at + 1) * 0x9e37_79b9) >> 5;
    let near = |at: u64| at / 8 + at % 8;
    let (from_memory, scattered_from, scattered_to) = (rows * 8 * 11, 8 * 50_000, 8 * 90_000);
    let reach = Reach { from_memory, scattered_from, scattered_to, ..Reach::NOTHING };
    let check = |columns: u64, column: &dyn Fn(u64) -> u64, reach: Reach, backend: Backend| {
        let x: Vec<f64> = (0..columns).map(|j| (j % 11) as f64).collect();
        let mut sums = vec![0.0; rows as usize];
        let entries: Vec<([u64; 2], f64)> =
            (0..rows * 8).map(|at| ([at / 8, column(at) % columns], 1.0 + (at % 5) as f64)).collect();
        entries.iter().for_each(|([i, j], value)| sums[*i as usize] += value * x[*j as usize]);
        let entries: Vec<(&[u64], f64)> = entries.iter().map(|(at, value)| (at.as_slice(), *value)).collect();
        let a = Tensor::from_entries(&[rows, columns], &entries, Format::csr()).expect("rows of csr");
        let mut options = Options::new().tensor("A", a.as_dyn()).dims("x", &[columns]).backend(backend).emit("imp");
        options.reach = Some(reach);
        let kernel = Kernel::compile("y(i) = A(i,j) * x(j)", &options).expect("a program");
        let x = Tensor::from_slice(&[columns], &x).expect("a vector");
        let run = kernel.run_named(&[("A", a.as_dyn()), ("x", x.as_dyn())]).expect("a run");
        assert_eq!(run.results[0].1.to_dense::<f64>().expect("an array"), sums);
        kernel.text("imp").expect("the stage").contains(" scattered")
    };
    for backend in [Backend::Interpreter, Backend::default()] {
        let sizes = [49_999, 50_000, 90_000, 90_001];
        assert_eq!(sizes.map(|size| check(size, &anywhere, reach, backend)), [false, true, true, false]);
        assert!(!check(60_000, &near, reach, backend), "neighbors");
        let larger = Reach { from_memory: rows * 8 * 12 + 1, ..reach };
        assert!(!check(60_000, &anywhere, larger, backend), "the caches hold the matrix");
    }
}

/// A matrix whose rows have these numbers of entries, and the products of its rows with `x(j) = j`.
fn rows_of(lengths: &[u64]) -> (Tensor<f64>, Vec<f64>) {
    let row =
        |(i, length): (usize, &u64)| (0..*length).map(move |k| ([i as u64, (7 * k + i as u64) % 64], (k + 1) as f64));
    let entries: Vec<([u64; 2], f64)> = lengths.iter().enumerate().flat_map(row).collect();
    let mut sums = vec![0.0; lengths.len()];
    entries.iter().for_each(|(at, value)| sums[at[0] as usize] += value * at[1] as f64);
    let entries: Vec<(&[u64], f64)> = entries.iter().map(|(at, value)| (at.as_slice(), *value)).collect();
    (Tensor::from_entries(&[lengths.len() as u64, 64], &entries, Format::csr()).expect("rows of csr"), sums)
}

/// Rows that end where those before led one to expect, and others: each sum is of all its products and of no others.
#[test]
fn rows_of_every_length_end_where_they_end() {
    let x: Vec<f64> = (0..64u32).map(f64::from).collect();
    let x = Tensor::from_slice(&[64], &x).expect("a vector");
    let check = |lengths: &[u64], backend: Backend, facts: [bool; 2], machine: &str| {
        let (a, expected) = rows_of(lengths);
        let options = Options::new().tensor("A", a.as_dyn()).backend(backend).machine(machine).emit("imp");
        let kernel = Kernel::compile("y(i) = A(i,j) * x(j)", &options).expect("a program");
        let text = kernel.text("imp").expect("the stage");
        assert_eq!([text.contains(" steady"), text.contains(" near")], facts, "{machine}: {text}");
        let run = kernel.run_named(&[("A", a.as_dyn()), ("x", x.as_dyn())]).expect("a run");
        assert_eq!(run.results[0].1.to_dense::<f64>().expect("an array"), expected, "{lengths:?}");
    };
    // Caches of `zen4` hold the rows, and asking ahead pays on `generic` in any case.
    for (machine, near) in [("zen4", true), ("generic", false)] {
        let runs =
            |machine| lacunar::machine(&Options::new().machine(machine)).is_ok_and(|own| own.instructions.runs_here());
        let backends =
            if runs(machine) { vec![Backend::Interpreter, Backend::default()] } else { vec![Backend::Interpreter] };
        for backend in backends {
            for length in 0..40 {
                check(&[length; 30], backend, [true, near], machine);
                check(&[length, 40 - length].repeat(15), backend, [true, near], machine);
            }
            let random: Vec<u64> = (0..200u64).map(|i| 1 + ((i * i * 2_654_435_761) >> 7) % 8).collect();
            check(&random, backend, [false, near], machine);
        }
    }
}

#[test]
fn indices_tell_sizes_as_if_all_were_known() {
    // The size of `k` comes with `x`, and then that of `i` follows from the first index of `T`, not from the second one.
    let t = Tensor::from_entries(&[4, 1], &[(&[3, 0], 2.0)], Format::dense(2)).expect("an element");
    let x = Tensor::from_slice(&[4], &[10.0, 20.0, 30.0, 40.0]).expect("a vector");
    for is_known in [false, true] {
        let options = Options::new().dims("T", &[4, 1]);
        let options = if is_known { options.dims("x", &[4]) } else { options };
        let kernel = Kernel::compile("y(k) = T(k + i + 2, i - 1) + x(k)", &options).expect("a program");
        let y: Vec<f64> = kernel.call(&[("T", &t), ("x", &x)]).expect("it runs");
        assert_eq!(y, [12.0, 20.0, 30.0, 40.0], "{is_known}");
    }
}

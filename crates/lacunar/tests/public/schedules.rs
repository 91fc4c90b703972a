//! Schedules in the interface: commands as methods and as text, their mistakes, and that results do not change.

use lacunar::{
    Assembly, Backend, BoundKind, Category, DynTensor, Error, Format, Kernel, Merge, Options, Parts, Race, Schedule,
    Tensor, Unit, WorkspaceKind, einsum,
};
use lacunar_front::{Declarations, check, schedule};

#[test]
fn every_method_is_a_command_of_the_language() {
    let builder = Schedule::new()
        .split("i", "i0", "i1", 32)
        .divide("i1", "i2", "i3", 4)
        .divide("i2", "i4", "i5", Parts::PerThread(2))
        .reorder(["i0", "i4", "i5", "i3", "j"])
        .fuse("i3", "j", "f")
        .pos("f", "p", "A(i,j)")
        .coord("p", "c")
        .bound("c", "b", 16, BoundKind::MaxConstraint)
        .precompute("A(i,j) * x(j)", ["b"], ["bw"])
        .precompute_into("x(j)", ["i0", "b"], ["i0", "bv"], WorkspaceKind::Dense)
        .mergeby("b", Merge::Gallop)
        .assemble("y", Assembly::Insert)
        .unroll("i5", 4)
        .unroll("i4", 0)
        .fission(["i4"])
        .parallelize("i0", Unit::CpuThread, Race::Temporary)
        .of("y", "parallelize(bw, vector)");
    let program = check("y(i) = A(i,j) * x(j)", &Declarations::new()).expect("a program");
    let schedules = schedule::check(builder.text(), &program).expect("a schedule");
    let expected = "split(i, i0, i1, 32), divide(i1, i2, i3, 4), divide(i2, i4, i5, 2 threads), \
                    reorder(i0, i4, i5, i3, j), fuse(i3, j, f), pos(f, p, A(i,j)), coord(p, c), \
                    bound(c, b, 16, maxconstraint), precompute(A(i,j) * x(j), b, bw), \
                    precompute(x(j), {i0, b}, {i0, bv}, dense), mergeby(b, gallop), assemble(y, insert), \
                    unroll(i5, 4), unroll(i4), fission(i4), parallelize(i0, cpu, temporary), parallelize(bw, vector)";
    assert_eq!(program.schedule_text(&schedules[0]), expected);
}

fn matrix() -> Result<Tensor<f64>, Error> {
    Tensor::from_entries(&[2, 3], &[(&[0, 2], 5.0), (&[1, 0], 6.0)], Format::csr())
}

#[test]
fn a_schedule_does_not_change_the_result() -> Result<(), Error> {
    let (a, x) = (matrix()?, Tensor::from_slice(&[3], &[1.0, 2.0, 3.0])?);
    let shared = Schedule::new().parallelize("i", Unit::CpuThread, Race::None);
    for schedule in [Schedule::new(), shared, Schedule::from("unroll(j, 2)")] {
        let options = Options::new().format("A", Format::csr()).backend(Backend::Interpreter);
        let kernel = Kernel::compile("y(i) = A(i,j) * x(j)", &options.schedule(schedule.clone()).threads(2))?;
        if !schedule.is_empty() {
            assert_eq!(kernel.schedule(), schedule);
        }
        let mut y = Tensor::<f64>::zeros(&[2], Format::dense(1))?;
        kernel.run(&mut y, &[a.as_dyn(), x.as_dyn()])?;
        assert_eq!(y.to_dense()?, [15.0, 6.0]);
    }
    let y = einsum!("y(i) = A(i,j) * x(j)", "parallelize(i, cpu, none)", A = &a, x = &x)?;
    assert_eq!(y.to_dense::<f64>()?, [15.0, 6.0]);
    // The same program with another schedule is another kernel.
    let wrong = einsum!("y(i) = A(i,j) * x(j)", "parallelize(k, cpu, none)", A = &a, x = &x);
    assert!(matches!(wrong, Err(Error::Schedule { .. })));
    Ok(())
}

#[test]
fn mistakes_are_shown_in_the_schedule() {
    let options = Options::new().schedule("unroll(i, 2), split(k, k0, k1, 8)");
    let error = Kernel::compile("y(i) = A(i,j) * x(j)", &options).expect_err("no `k`");
    assert_eq!(error.category(), Category::User);
    let text = error.render(false);
    assert!(text.contains("error[E0906]") && text.contains("schedule:1:21"), "{text}");
}

#[test]
fn threads_are_counted_where_loops_are_shared() -> Result<(), Error> {
    let threads = |schedule: &str| -> Result<usize, Error> {
        let options = Options::new().backend(Backend::Interpreter).schedule(schedule).threads(3);
        Ok(Kernel::compile("y(i) = A(i,j) * x(j)", &options)?.threads())
    };
    assert_eq!((threads("parallelize(i, cpu, none)")?, threads("unroll(i, 2)")?), (3, 1));
    Ok(())
}

/// Each row is looked up in by all rows that it names, though comparisons of coordinates confine the loops.
#[test]
fn intersections_with_a_row_that_stays_are_looked_up() {
    let a = Tensor::from_triplets([4, 4], &[0, 0, 1, 1, 2], &[1, 2, 2, 3, 3], &[1.0; 5], Format::csr()).unwrap();
    let options = Options::new().tensor("A", a.as_dyn());
    for (program, expected) in [
        ("t = A(i,j) * A(j,k) * A(i,k)", 2.0),
        ("t = A(i,j) * A(j,k) * A(i,k) * (i < j) * (j < k)", 2.0),
        ("t = A(i,j) * A(j,k) * A(i,k) * (k < 3)", 1.0),
    ] {
        let kernel = Kernel::compile(program, &options).unwrap();
        let schedule = kernel.schedule().text().to_string();
        assert!(schedule.contains("precompute(A(i,k), k, k, marked)"), "{program}: {schedule}");
        let results = kernel.run_named(&[("A", a.as_dyn())]).unwrap().results;
        assert_eq!(results[0].1.to_dense::<f64>().unwrap(), [expected], "{program}");
    }
    // Nothing is looked up where only a comparison confines the loop over a row.
    let kernel = Kernel::compile("t = A(i,j) * x(k) * A(i,k) * (j < k)", &options).unwrap();
    assert!(!kernel.schedule().text().contains("marked"));
}

/// Rows that each have every third of some columns, from the row's number on.
fn long_rows(rows: u64, columns: u64) -> Result<DynTensor, Error> {
    let places: Vec<[u64; 2]> = (0..rows).flat_map(|i| (i % 3..columns).step_by(3).map(move |j| [i, j])).collect();
    let entries: Vec<(&[u64], f64)> = places.iter().map(|at| (at.as_slice(), ((at[0] + at[1]) % 7) as f64)).collect();
    Ok(Tensor::from_entries(&[rows, columns], &entries, Format::csr())?.into_dyn())
}

#[test]
fn few_long_rows_are_multiplied_in_bands() -> Result<(), Error> {
    const COLUMNS: u64 = 40_000;
    let text = "C(i,k) = A(i,j) * B(j,k)";
    // Short rows in registers, long ones in memory; one row, for which nothing is read again; few columns, which stay in the caches anyway.
    for (rows, columns, width, in_bands) in
        [(9, COLUMNS, 16, true), (9, COLUMNS, 150, true), (1, COLUMNS, 16, false), (9, 2000, 16, false)]
    {
        let a = long_rows(rows, columns)?;
        let values: Vec<f64> = (0..columns * width).map(|place| (place % 11) as f64 - 4.0).collect();
        let b = Tensor::from_slice(&[columns, width], &values)?;
        let options = || Options::new().tensor("A", &a).tensor("B", b.as_dyn()).machine("generic-v2");
        let plain = Kernel::compile(text, &options().schedule("reorder(i, j, k)"))?;
        let expected: Tensor<f64> = plain.call(&[("A", &a), ("B", &b)])?;
        for threads in [1, 3] {
            let kernel = Kernel::compile(text, &options().threads(threads))?;
            let schedule = kernel.schedule().text().to_string();
            assert_eq!(schedule.contains("reorder(j0, i, j1, k)"), in_bands, "{rows} {columns} {width}: {schedule}");
            let sums: Tensor<f64> = kernel.call(&[("A", &a), ("B", &b)])?;
            assert_eq!(sums.values(), expected.values(), "{rows} {columns} {width}, {threads} threads");
        }
    }
    Ok(())
}

//! Streaming stores and prefetches change no value: products of a sparse matrix and a dense one, of every number of columns, and
//! products and sums of rows of nodes. Loops come in the order that moves few lines.

#![allow(clippy::unwrap_used)] // A failure is what a test is for.

use lacunar::{Backend, Format, FormatSpec, Kernel, Options, Tensor};
use lacunar_machine::{Machine, Reach};

const PRODUCT: &str = "C(i,k) = A(i,j) * B(j,k)";
/// The rows of the matrix, of which each fifth is empty, and its columns.
const ROWS: u64 = 23;
const COLUMNS: u64 = 31;

/// The entries of row `i`.
fn row(i: u64) -> impl Iterator<Item = u64> {
    (0..if i.is_multiple_of(5) { 0 } else { i % 7 + 1 }).map(move |n| (i * 3 + n * 4) % COLUMNS)
}

fn value(j: u64, k: u64) -> i32 {
    (j * 5 + k * 3) as i32 % 13 - 6
}

/// Products of all those numbers of columns, in a kernel for each or in one.
macro_rules! check {
    ($ty:ty, $options:expr, $columns:expr) => {
        for columns in $columns {
            let entries: Vec<([u64; 2], $ty)> =
                (0..ROWS).flat_map(|i| row(i).map(move |j| ([i, j], (i % 3 + 1) as $ty))).collect();
            let entries: Vec<(&[u64], $ty)> = entries.iter().map(|(at, value)| (at.as_slice(), *value)).collect();
            let a = Tensor::from_entries(&[ROWS, COLUMNS], &entries, Format::csr()).unwrap();
            let places = (0..COLUMNS).flat_map(|j| (0..columns).map(move |k| value(j, k) as $ty));
            let b = Tensor::from_slice(&[COLUMNS, columns], &places.collect::<Vec<_>>()).unwrap();
            let options: Options = $options;
            let options = options.tensor("A", a.as_dyn()).tensor("B", b.as_dyn());
            let kernel = Kernel::compile(PRODUCT, &options).unwrap();
            let mut c = Tensor::<$ty>::zeros(&[ROWS, columns], Format::dense(2)).unwrap();
            kernel.run(&mut c, &[a.as_dyn(), b.as_dyn()]).unwrap();
            let sum = |i: u64, k: u64| row(i).map(|j| (i % 3 + 1) as i32 * value(j, k)).sum::<i32>() as $ty;
            let expected: Vec<$ty> = (0..ROWS).flat_map(|i| (0..columns).map(move |k| sum(i, k))).collect();
            assert_eq!(c.to_dense().unwrap(), expected, "{columns} columns");
        }
    };
}

fn nothing_is_kept(threads: usize) -> Options {
    let mut options = Options::new().threads(threads);
    (options.grain, options.reach) = (Some(1), Some(Reach::NOTHING));
    options
}

#[test]
fn every_number_of_columns() {
    for threads in [1, 3] {
        check!(f64, nothing_is_kept(threads), (1..=40).chain([64, 100, 128]));
        check!(f32, nothing_is_kept(threads), (1..=40).chain([64, 100, 128]));
        let unknown = || {
            let mut options = nothing_is_kept(threads);
            options.specialize = false;
            options
        };
        check!(f64, unknown(), [1, 8, 31, 32, 33, 96, 100, 128, 160]);
    }
    if Backend::default() == Backend::Llvm {
        check!(f64, nothing_is_kept(2).backend(Backend::C), [8, 33]);
    }
}

#[test]
fn rows_of_nodes_that_come_next_are_fetched() {
    let formats = [
        "list",
        "blist<4>",
        "blist_holes<3>",
        "blist_unsorted<4>",
        "vblist",
        "bst",
        "rbtree",
        "ctree<4>",
        "btree<3>",
        "pactree<6,3>",
    ];
    let entries: Vec<([u64; 2], f64)> =
        (0..ROWS).flat_map(|i| row(i).map(move |j| ([i, j], value(i, j).into()))).collect();
    let all: Vec<(&[u64], f64)> = entries.iter().map(|(at, value)| (at.as_slice(), *value)).collect();
    let x = Tensor::from((0..COLUMNS).map(|j| j as f64).collect::<Vec<f64>>());
    let backends = [Backend::default(), Backend::Interpreter];
    // An empty matrix has no node to read.
    for (schema, entries) in formats.iter().flat_map(|schema| [(schema, &all[..]), (schema, &[])]) {
        let spec = || format!("d{{{schema}}}").parse::<FormatSpec>().unwrap();
        let a = Tensor::from_entries(&[ROWS, COLUMNS], entries, spec()).unwrap();
        let b = Tensor::from_entries(&[ROWS, COLUMNS], entries, Format::csr()).unwrap();
        for (backend, threads) in backends.into_iter().flat_map(|backend| [(backend, 1), (backend, 3)]) {
            let options = || nothing_is_kept(threads).backend(backend);
            let (with_a, with_b) = (options().format("A", spec()), options().format("B", Format::csr()));
            let with_both = with_a.clone().format("B", Format::csr());
            let product = Kernel::compile("y(i) = A(i,j) * x(j)", &with_a).unwrap();
            let said = product.explain().join("\n");
            assert!(said.contains("rows of `A` are prefetched"), "{said}");
            let plain = Kernel::compile("y(i) = B(i,j) * x(j)", &with_b).unwrap();
            let own: Vec<f64> = product.call(&[("A", &a), ("x", &x)]).unwrap();
            let expected: Vec<f64> = plain.call(&[("B", &b), ("x", &x)]).unwrap();
            assert_eq!(own, expected, "{schema}");
            let sum = Kernel::compile("y(i) = sum(j, A(i,j) + 2 * B(i,j))", &with_both).unwrap();
            let plain = Kernel::compile("y(i) = sum(j, 3 * B(i,j))", &with_b).unwrap();
            let own: Vec<f64> = sum.call(&[("A", &a), ("B", &b)]).unwrap();
            let expected: Vec<f64> = plain.call(&[("B", &b)]).unwrap();
            assert_eq!(own, expected, "{schema}");
        }
    }
}

#[test]
fn a_plan_says_what_it_does_beyond_the_caches() {
    let options = || Options::new().machine("zen4").format("A", Format::csr());
    let notes = |sizes: &str, options: &Options| {
        let sized = options.clone().size("k", sizes.parse().unwrap());
        Kernel::compile(PRODUCT, &sized).unwrap().explain().join("\n")
    };
    let kept = Machine::named("zen4").unwrap().reach().kept >> 20;
    let said = notes("32", &options());
    assert!(said.contains(&format!("`C` is stored past the caches where it has more than {kept} MiB")), "{said}");
    assert!(said.contains("rows of `B` are prefetched 16 entries ahead where"), "{said}");
    // Rows of a line are found no sooner than they are read; a sparse result is appended to, and a result that is added to is read.
    assert!(!notes("8", &options()).contains("prefetched"));
    assert!(!notes("32", &options().format("C", Format::csr())).contains("past the caches"));
    assert!(!notes("33", &options()).contains("past the caches"));
    let added = Kernel::compile("C(i,k) += A(i,j) * B(j,k)", &options().size("k", 32)).unwrap().explain().join("\n");
    assert!(!added.contains("past the caches"), "{added}");
}

/// Arrays whose rows lie across each other: loops come to whole lines of as many as they can.
#[test]
fn loops_over_arrays_that_lie_across_move_few_lines() {
    let order = |program: &str, result: (&str, &[u64])| {
        let columns = "dense:1,0".parse::<FormatSpec>().unwrap();
        let mut options = Options::new().machine("zen4").threads(1).dims(result.0, result.1);
        if result.1.len() == 2 {
            options = options.format(result.0, columns);
        }
        let notes = Kernel::compile(program, &options).unwrap().explain().join("\n");
        let order = notes.split("loop order ").nth(1).unwrap_or(&notes);
        order.split(" (").next().unwrap_or_default().to_string()
    };
    // Four columns are written at once, and rows of four elements are read once.
    assert_eq!(order("X(t,i) = F(t,i)", ("X", &[1_000_000, 4])), "t, i");
    assert_eq!(order("X(t,i) = F(t,i)", ("X", &[4, 1_000_000])), "i, t");
    // Neither order is better than that of the result.
    assert_eq!(order("X(t,i) = F(t,i)", ("X", &[4000, 4000])), "i, t");
    // A plane of both tensors fits a cache.
    assert_eq!(order("C(i,j,k) = A(k,j,i)", ("C", &[600, 600, 600])), "j, i, k");
}

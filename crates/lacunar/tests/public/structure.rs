//! Data with structure, against the values that the structures give each element one by one.

use lacunar::inside::notation::Structure;
use lacunar::inside::notation::structure::Named;
use lacunar::inside::sets::Coefficient;
use lacunar::{Backend, DynTensor, Format, FormatSpec, Kernel, Options, Shape, StructureError, Structured, Tensor};
use lacunar_base::day::is_turn;
use num_complex::Complex;

type C128 = Complex<f64>;

/// Every structure of matrices, with some arguments.
fn all() -> Vec<(String, Structure)> {
    let arguments = |named: &Named| -> Vec<Vec<i64>> {
        match named.name {
            "onehot" => vec![vec![2, 1], vec![0, 9]],
            "fixed" => vec![vec![1, 2], vec![0, 0], vec![0, 1, 1, 2]],
            "diagonal" => vec![vec![], vec![1, 0]],
            "row" | "column" => vec![vec![1]],
            "banded" => vec![vec![2, 1], vec![1], vec![0, 3]],
            "block_diagonal" => vec![vec![2], vec![3]],
            "arrow" => vec![vec![], vec![2]],
            _ => vec![vec![]],
        }
    };
    let named = |named: &Named| {
        let of = |arguments: Vec<i64>| {
            let structure = named.structure(2, &arguments).expect("a structure of matrices");
            (format!("{}{arguments:?}", named.name), structure)
        };
        arguments(named).into_iter().map(of).collect::<Vec<_>>()
    };
    Named::ALL.iter().flat_map(named).collect()
}

fn formats() -> Vec<Format> {
    ["dense", "csr", "csc", "coo", "bcsr(2,2)", "dia"]
        .map(|text| text.parse::<FormatSpec>().expect("a format").resolve(2).expect("of matrices"))
        .to_vec()
}

fn square(structure: &Structure) -> bool {
    structure.context().contains(&[2, 3], &[]) == Some(false)
}

fn times(by: Coefficient, value: C128) -> C128 {
    by.number() * if by.conjugate { value.conj() } else { value }
}

/// Numbers that follow from a seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, count: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % count
    }

    fn value(&mut self) -> C128 {
        Complex::new(1.0 + self.below(9) as f64, self.below(9) as f64 - 4.0)
    }
}

/// A matrix with all its elements, and the values that a structure gives them.
#[derive(Clone)]
struct Dense {
    dims: [u64; 2],
    values: Vec<C128>,
}

impl Dense {
    fn random(dims: [u64; 2], numbers: &mut Numbers) -> Dense {
        let count = dims[0] * dims[1];
        let mut value = |_| if numbers.below(3) == 0 { C128::default() } else { numbers.value() };
        Dense { dims, values: (0..count).map(&mut value).collect() }
    }

    fn params(&self) -> [i64; 2] {
        self.dims.map(|size| size as i64)
    }

    fn points(&self) -> impl Iterator<Item = [i64; 2]> {
        let [m, n] = self.params();
        (0..m).flat_map(move |i| (0..n).map(move |j| [i, j]))
    }

    fn at(&self, point: &[i64]) -> C128 {
        self.values[(point[0] * self.params()[1] + point[1]) as usize]
    }

    /// The matrix with the elements that a structure makes 0 or lets follow from others.
    fn within(&self, structure: &Structure) -> Dense {
        let value = |point: [i64; 2]| match structure.element(&self.params(), &point).expect("numbers fit") {
            None => C128::default(),
            Some((target, by)) => times(by, self.settled(&target, structure)),
        };
        Dense { dims: self.dims, values: self.points().map(value).collect() }
    }

    /// A unique element, which may be known to equal a multiple of itself.
    fn settled(&self, point: &[i64], structure: &Structure) -> C128 {
        let own = self.at(point);
        match multiple(structure, &self.params(), point) {
            Some(by) => (own + times(by, own)) / 2.0,
            None => own,
        }
    }

    fn tensor(&self, format: &Format) -> DynTensor {
        let dense = Tensor::from_slice(&self.dims, &self.values).expect("all elements");
        dense.convert(format.clone()).expect("a format of matrices").into_dyn()
    }
}

/// The coefficient by which a unique element is known to be a multiple of itself.
fn multiple(structure: &Structure, params: &[i64], point: &[i64]) -> Option<Coefficient> {
    let (elements, by) = structure.tied()?;
    (elements.contains(params, point) == Some(true)).then_some(*by)
}

/// The elements one of which contradicts first, in the order of storage: several that are missing follow from one.
fn contradicting(tensor: &Tensor<C128>, dense: &Dense, structure: &Structure) -> Option<Vec<[i64; 2]>> {
    let element = |point: &[i64; 2]| structure.element(&dense.params(), point).expect("numbers fit");
    let mut first = None;
    tensor.for_each_entry(|at, value| {
        let point = [at[0] as i64, at[1] as i64];
        let mut wrong = Vec::new();
        match element(&point) {
            None if value != C128::default() => wrong.push(point),
            None => {}
            Some((target, by)) if target != point && times(by, dense.at(&target)) != value => wrong.push(point),
            Some((target, _)) if target != point => {}
            Some(_) if multiple(structure, &dense.params(), &point).is_some_and(|by| times(by, value) != value) => {
                wrong.push(point);
            }
            Some(_) => wrong.extend(dense.points().filter(|other| {
                let follows = element(other).is_some_and(|(target, _)| target == point) && *other != point;
                let stored = tensor.get_stored(&[other[0] as u64, other[1] as u64]).is_some();
                follows && !stored && value != C128::default()
            })),
        }
        if !wrong.is_empty() && first.is_none() {
            first = Some(wrong);
        }
    });
    first
}

#[test]
fn tensors_are_checked_in_every_format() {
    let mut numbers = Numbers(7);
    for (name, structure) in all() {
        for (m, n) in (0..6u64).flat_map(|m| (0..6u64).map(move |n| (m, n))) {
            if square(&structure) && m != n {
                let any = Dense::random([m, n], &mut numbers).tensor(&Format::csr());
                let error = any.check_structure(&structure, &[m as i64, n as i64]).unwrap_err();
                assert!(matches!(error, StructureError::Context { .. }), "{name}: {error}");
                continue;
            }
            let whole = Dense::random([m, n], &mut numbers).within(&structure);
            let mut spoilt = whole.clone();
            if m * n > 0 {
                let place = numbers.below(m * n) as usize;
                let zero = spoilt.values[place] != C128::default() && numbers.below(2) == 0;
                spoilt.values[place] = if zero { C128::default() } else { spoilt.values[place] + numbers.value() };
            }
            for format in formats() {
                let context = format!("{name} of {m} x {n} in {format}");
                let params = whole.params();
                whole
                    .tensor(&format)
                    .check_structure(&structure, &params)
                    .unwrap_or_else(|error| panic!("{context}: {error}"));
                let tensor = Tensor::from_slice(&spoilt.dims, &spoilt.values).unwrap().convert(format).unwrap();
                let expected = contradicting(&tensor, &spoilt, &structure);
                match (tensor.as_dyn().check_structure(&structure, &params), expected) {
                    (Ok(()), None) => {}
                    (Err(StructureError::Element(found)), Some(expected)) => {
                        let at: Vec<i64> = found.coordinates.iter().map(|&c| c as i64).collect();
                        assert!(
                            expected.iter().any(|point| point[..] == at),
                            "{context}: {found}, not of {expected:?}"
                        );
                    }
                    (found, expected) => panic!("{context}: {found:?}, expected {expected:?} of {:?}", spoilt.values),
                }
            }
        }
    }
}

#[test]
fn tensors_are_made_to_have_a_structure() {
    let mut numbers = Numbers(11);
    for (name, structure) in all() {
        for (m, n) in [(0, 0), (1, 1), (1, 3), (4, 2), (3, 5), (4, 4), (5, 5)] {
            if square(&structure) && m != n {
                continue;
            }
            let any = Dense::random([m, n], &mut numbers);
            let made = any.within(&structure);
            let unique: Vec<C128> = any
                .points()
                .map(|point| match structure.unique().contains(&any.params(), &point) {
                    Some(true) => any.settled(&point, &structure),
                    _ => C128::default(),
                })
                .collect();
            for format in formats() {
                let context = format!("{name} of {m} x {n} in {format}");
                let (tensor, params) = (any.tensor(&format), any.params());
                let found = tensor.with_structure(&structure, &params).unwrap();
                assert_eq!(found.format(), tensor.format(), "{context}");
                assert_eq!(found.to_dense::<C128>().unwrap(), made.values, "{context}");
                found.check_structure(&structure, &params).unwrap_or_else(|error| panic!("{context}: {error}"));
                let found = tensor.keep_unique(&structure, &params).unwrap();
                assert_eq!(found.format(), tensor.format(), "{context}");
                assert_eq!(found.to_dense::<C128>().unwrap(), unique, "{context}");
            }
        }
    }
}

#[test]
fn cubes_are_checked() {
    let symmetric = Named::find("symmetric").unwrap().structure(3, &[]).unwrap();
    let values: Vec<i64> = (0..64).map(|k| k * k % 17).collect();
    for format in ["dense", "csf", "coo", "dss:2,0,1"] {
        let format: FormatSpec = format.parse().unwrap();
        let any = Tensor::from_slice(&[4, 4, 4], &values).unwrap().convert(format).unwrap();
        let mut made = any.as_dyn().with_structure(&symmetric, &[4, 4, 4]).unwrap();
        made.check_structure(&symmetric, &[4, 4, 4]).unwrap();
        let place = made.position_of(&[3, 1, 2]).unwrap();
        made.values_mut().into_slice::<i64>().unwrap()[place] += 1;
        let error = made.check_structure(&symmetric, &[4, 4, 4]).unwrap_err().to_string();
        assert!(error.starts_with("element (3, 1, 2) is ") && error.ends_with(", as element (1, 2, 3) is"), "{error}");
    }
}

#[test]
fn equal_is_exact_but_for_the_signs_of_zeros_and_what_is_no_number() {
    let of = |name: &str| Named::find(name).unwrap().structure(2, &[]).unwrap();
    let check = |values: &[f64], name: &str| {
        Tensor::from_slice(&[2, 2], values).unwrap().as_dyn().check_structure(&of(name), &[2, 2])
    };
    assert!(check(&[0.0, f64::NAN, f64::NAN, 1.0], "symmetric").is_ok());
    assert!(check(&[-0.0, 0.0, -0.0, 0.0], "skew").is_ok());
    assert!(check(&[0.0, 0.1 + 0.2, 0.3, 0.0], "symmetric").is_err());
    let shifted = Tensor::from_slice(&[2, 2], &[1.0; 4]).unwrap().with_fill(1.0).unwrap();
    let error = shifted.as_dyn().check_structure(&of("symmetric"), &[2, 2]).unwrap_err();
    assert_eq!(error.to_string(), "elements that are not stored are 1, but structures leave out zeros");
    let pattern = Tensor::from_slice(&[2, 2], &[0.0, 1.0, 0.0, 0.0]).unwrap().convert(Format::csr()).unwrap();
    let error = pattern.into_dyn().into_pattern().unwrap().check_structure(&of("symmetric"), &[2, 2]).unwrap_err();
    assert_eq!(error.to_string(), "element (1, 0) is false, but by its structure it is true, as element (0, 1) is");
}

#[test]
fn what_is_missing_is_found_without_going_through_all_that_follows() {
    // A billion elements follow from one.
    let size = 1_000_000_000;
    let corner = Tensor::from_entries(&[size, size], &[(&[0, 0], 1.0)], "dcsr".parse::<FormatSpec>().unwrap()).unwrap();
    for name in ["toeplitz", "constant", "circulant", "identical_rows"] {
        let structure = Named::find(name).unwrap().structure(2, &[]).unwrap();
        let error = corner.as_dyn().check_structure(&structure, &[size as i64; 2]).unwrap_err();
        assert!(error.to_string().ends_with("but by its structure it is 1, as element (0, 0) is"), "{name}: {error}");
    }
}

#[test]
fn threads_find_the_same_element_first() {
    let symmetric = Named::find("symmetric").unwrap().structure(2, &[]).unwrap();
    let size = 300u64;
    let values: Vec<f64> = (0..size * size).map(|k| ((k / size) + (k % size)) as f64).collect();
    for (i, j, zero) in [(7, 280, false), (280, 7, false), (3, 200, true), (200, 3, true)] {
        let mut spoilt = values.clone();
        spoilt[(i * size + j) as usize] = if zero { 0.0 } else { -1.0 };
        for format in formats() {
            let tensor = Tensor::from_slice(&[size; 2], &spoilt).unwrap().convert(format.clone()).unwrap();
            let found = [1, 2, 5].map(|threads| {
                let check = || tensor.as_dyn().check_structure(&symmetric, &[size as i64; 2]);
                lacunar::with_threads(threads, check).unwrap_err().to_string()
            });
            assert!(found.iter().all(|text| *text == found[0]), "{format}: {found:?}");
        }
    }
}

/// The structures that are found, as `-p` takes them.
fn found(tensor: &DynTensor) -> Vec<String> {
    tensor.structures().expect("it is searched").iter().map(ToString::to_string).collect()
}

#[test]
fn structures_are_found() {
    let of = |rows: &[&[i32]]| {
        let dims = [rows.len() as u64, rows.first().map_or(0, |row| row.len() as u64)];
        found(Tensor::from_slice(&dims, &rows.concat()).unwrap().as_dyn())
    };
    assert_eq!(of(&[&[2, 1, 0, 0], &[1, 3, 1, 0], &[0, 1, 5, 1], &[0, 0, 1, 7]]), ["symmetric", "banded(1,1)"]);
    let mesh = ["symmetric", "banded(1,1)", "toeplitz", "centrosymmetric"];
    assert_eq!(of(&[&[2, 1, 0, 0], &[1, 2, 1, 0], &[0, 1, 2, 1], &[0, 0, 1, 2]]), mesh);
    assert_eq!(of(&[&[2, 1, 4], &[0, 3, 1], &[0, 0, 5]]), ["upper"]);
    assert_eq!(of(&[&[2, 0, 0], &[0, 3, 0], &[0, 0, 5]]), ["diagonal"]);
    assert_eq!(of(&[&[0, 0], &[0, 0]]), ["zero"]);
    assert_eq!(of(&[&[0, 1, 2], &[-1, 0, 3], &[-2, -3, 0]]), ["skew"]);
    assert_eq!(of(&[&[1, 2, 3], &[3, 1, 2], &[2, 3, 1]]), ["circulant"]);
    assert_eq!(of(&[&[1, 2, 3], &[4, 1, 2], &[5, 4, 1], &[6, 5, 4]]), ["toeplitz"]);
    assert_eq!(of(&[&[1, 2, 3], &[2, 3, 4], &[3, 4, 9]]), ["hankel"]);
    assert_eq!(of(&[&[1, 2, 0, 0], &[3, 4, 0, 0], &[0, 0, 5, 6], &[0, 0, 7, 9]]), ["block_diagonal(2)"]);
    assert_eq!(of(&[&[7, 7], &[7, 7]]), ["constant"]);
    assert_eq!(of(&[&[1, 2, 3], &[1, 2, 3]]), ["identical_rows"]);
    assert_eq!(of(&[&[0, 0, 0], &[1, 2, 3]]), ["row(1)"]);
    assert_eq!(of(&[&[0, 0, 0], &[0, 0, 3]]), ["onehot(1,2)"]);
    assert_eq!(of(&[&[5, 0, 3], &[0, 2, 0], &[1, 0, 4]]), ["chess"]);
    assert_eq!(of(&[&[1, 2], &[3, 4]]), [""; 0]);
    assert_eq!(of(&[&[1]]), [""; 0]);
    assert_eq!(of(&[]), [""; 0]);
    let (i, one) = (Complex::new(0.0, 1.0), Complex::new(1.0, 0.0));
    let matrix = Tensor::from_slice(&[2, 2], &[one, i, -i, 3.0 * one]).unwrap();
    assert_eq!(found(matrix.as_dyn()), ["hermitian"]);
    let matrix = Tensor::from_slice(&[2, 2], &[i, one, -one, 2.0 * i]).unwrap();
    assert_eq!(found(matrix.as_dyn()), ["skew_hermitian"]);
    let values: Vec<u8> = (0..27).map(|k| [k / 9, k / 3 % 3, k % 3].map(|c| c * c + 1).iter().product()).collect();
    assert_eq!(found(Tensor::from_slice(&[3, 3, 3], &values).unwrap().as_dyn()), ["symmetric"]);
    let values: Vec<u8> = (0..27).map(|k| if k / 3 % 3 == 1 { k } else { 0 }).collect();
    assert_eq!(found(Tensor::from_slice(&[3, 3, 3], &values).unwrap().as_dyn()), ["fixed(1,1)"]);
}

#[test]
fn what_is_found_holds_and_implies_what_a_matrix_was_made_with() {
    let mut numbers = Numbers(3);
    // Bands, blocks and arrows are told where they are narrow, which matrices of these sizes are not.
    let wide = |name: &str| ["banded", "block_diagonal", "arrow"].iter().any(|other| name.starts_with(other));
    for (name, structure) in all().into_iter().filter(|(name, _)| !wide(name)) {
        for size in 1..6 {
            let any = Dense::random([size; 2], &mut numbers);
            let made = any.within(&structure);
            for (_, format) in (0..).zip(formats()).filter(|(number, _)| is_turn(number + size as usize, 3)) {
                let context = format!("{name} of {size} x {size} in {format}");
                let told = made.tensor(&format).structures().unwrap();
                // Another matrix that has one of the structures that were told has the first structure, too.
                let other = Dense::random([size; 2], &mut numbers);
                for one in &told {
                    assert_eq!(made.within(&one.structure).values, made.values, "{context}: {one}");
                }
                let implies = |one: &Structure| {
                    let other = other.within(one);
                    other.within(&structure).values == other.values
                };
                // Of a diagonal it is not told that its elements are real.
                let mut places = made.values.iter().enumerate();
                let is_diagonal =
                    places.all(|(k, value)| k / size as usize == k % size as usize || value.norm() == 0.0);
                let says_nothing = other.within(&structure).values == other.values;
                let says_nothing = says_nothing || (structure.tied().is_some() && is_diagonal);
                assert!(says_nothing || told.iter().any(|one| implies(&one.structure)), "{context}: {told:?}");
            }
        }
    }
}

#[test]
fn sizes_that_overflow_together_are_no_matter() {
    // A dimension of size 0 beside some whose product does not fit.
    let symmetric = Named::find("symmetric").unwrap().structure(2, &[]).unwrap();
    let upper = Named::find("upper").unwrap().structure(3, &[]).unwrap();
    for dims in [[1 << 40, 1 << 40, 0], [0, 1 << 40, 1 << 40]] {
        let empty = Tensor::<f64>::zeros(&dims, "dense".parse::<FormatSpec>().unwrap()).map(Tensor::into_dyn);
        let Ok(empty) = empty else { continue };
        let params = dims.map(|size| size as i64);
        empty.check_structure(&upper, &params).unwrap();
        assert_eq!(empty.with_structure(&upper, &params).unwrap().nnz(), 0);
        assert_eq!(found(&empty), [""; 0]);
    }
    let large =
        Tensor::from_entries(&[1 << 60; 2], &[(&[5, 9], 1.0), (&[9, 5], 1.0)], "dcsr".parse::<FormatSpec>().unwrap());
    let large = large.unwrap().into_dyn();
    large.check_structure(&symmetric, &[1 << 60; 2]).unwrap();
    assert_eq!(found(&large), ["symmetric", "block_diagonal(5)", "arrow(6)", "chess"]);
}

#[test]
fn kernels_that_complete_unique_elements_are_not_shipped() {
    let options = Options::new().format("A", Format::csr()).structure("A:symmetric").unwrap();
    let ship = |source: &str, options: &Options| Kernel::compile(source, options).unwrap().ship("own", Shape::Source);
    let (product, square) = ("y(i) = A(i,j) * x(j)", "C(i,k) = A(i,j) * A(j,k)");
    assert!(ship(product, &options).is_ok() && ship(square, &options).is_ok());
    let options = options.unique("A");
    let taken = &ship(product, &options).unwrap().signatures[0].tensors[1];
    assert_eq!(taken.unique.as_deref(), Some("[m, n] -> { [i, j] : m = n and 0 <= i <= j < n }"));
    assert_eq!(ship(square, &options).err().unwrap().code(), Some("E1018"));
}

#[test]
fn sizes_are_compared_whoever_vouches_for_elements() {
    let options = Options::new().structure("A:symmetric").unwrap().unique("A").structures_hold();
    let kernel = Kernel::compile("y(i) = A(i,j) * x(j)", &options.backend(Backend::Interpreter)).unwrap();
    let (wide, x) = (Tensor::from([[1.0, 2.0, 3.0], [0.0, 4.0, 5.0]]), Tensor::from(vec![1.0, 1.0, 1.0]));
    assert!(kernel.call::<Vec<f64>>(&[("A", &wide), ("x", &x)]).is_err());
    let upper = Tensor::from([[1.0, 2.0], [0.0, 4.0]]);
    let y: Vec<f64> = kernel.call(&[("A", &upper), ("x", &[1.0, 10.0])]).unwrap();
    assert_eq!(y, [21.0, 42.0]);
}

#[test]
fn numbers_of_packed_tensors_are_those_of_all_elements() {
    let cases =
        [("symmetric", [1.0, -2.0, -2.0, 4.0]), ("skew", [0.0, 3.0, -3.0, 0.0]), ("lower", [1.0, 0.0, 5.0, 2.0])];
    for (name, values) in cases {
        let whole = Tensor::from_slice(&[2, 2], &values).unwrap();
        let half = whole.convert(Format::packed(name, 2).unwrap()).unwrap();
        let numbers = |tensor: &Tensor<f64>| (tensor.sum(), tensor.norm(), tensor.min(), tensor.max());
        assert_eq!(numbers(&half), numbers(&whole), "{name}");
    }
    // The only zeros here are the elements that are not stored.
    let ones = Tensor::from_slice(&[2, 2], &[1.0; 4]).unwrap();
    let half = ones.convert(Format::packed("symmetric", 2).unwrap()).unwrap();
    assert_eq!((half.nnz(), half.min()), (3, Some(1.0)));
}

#[test]
fn relations_at_a_distance_are_checked_in_sparse_storage() {
    let sparse = [[1.0, 0.0, 2.0, 0.0, 0.0, 0.0], [0.0, 3.0, 0.0, 0.0, 0.0, 0.0]];
    let element = |i: usize, j: usize| {
        let down = (i / 2).min(j / 2);
        sparse.get(i - 2 * down).map_or(0.0, |row| row[j - 2 * down])
    };
    let mut values: Vec<f64> = (0..36).map(|place| element(place / 6, place % 6)).collect();
    let options = Options::new().structure("A(i,j): A(i+2,j+2) = A(i,j)").unwrap().format("A", Format::csr());
    let kernel = Kernel::compile("y(i) = A(i,j) * x(j)", &options.backend(Backend::Interpreter)).unwrap();
    let run = |values: &[f64]| {
        let a = Tensor::from_slice(&[6, 6], values).unwrap().convert(Format::csr()).unwrap();
        kernel.call::<Vec<f64>>(&[("A", &a), ("x", &vec![1.0; 6])])
    };
    let sums: Vec<f64> = values.chunks(6).map(|row| row.iter().sum()).collect();
    assert_eq!(run(&values).unwrap(), sums);
    values[21] = 9.0;
    let error = run(&values).unwrap_err();
    assert_eq!(error.code(), Some("E1308"), "{error}");
}

#[test]
fn packed_results_have_the_sizes_of_their_run() {
    for backend in [Backend::Llvm, Backend::Interpreter] {
        let options = Options::new().format("C", "packed(symmetric)".parse::<FormatSpec>().unwrap());
        let kernel = Kernel::compile("C(i,j) = f(i) * f(j)", &options.backend(backend)).unwrap();
        let result = |size: u64| -> Tensor<f64> {
            let values: Vec<f64> = (1..=size).map(|k| k as f64).collect();
            kernel.call(&[("f", &Tensor::from_slice(&[size], &values).unwrap())]).unwrap()
        };
        // Results of one size share their arrays, and each has values of its own.
        let kept: Vec<(u64, Tensor<f64>)> = [3, 5, 5, 0, 3].into_iter().map(|size| (size, result(size))).collect();
        for (size, result) in kept {
            assert_eq!(result.nnz(), size * (size + 1) / 2);
            let whole = result.convert(Format::dense(2)).unwrap();
            let expected: Vec<f64> = (1..=size).flat_map(|i| (1..=size).map(move |j| (i * j) as f64)).collect();
            assert_eq!(whole.values(), expected);
        }
    }
}

//! Levels of nodes in kernels: long lists, a schema of one's own, formats that are converted, kernels for other programs.

use std::error::Error;

use lacunar::{Format, FormatSpec, Kernel, Options, Shape, Tensor};
use lacunar_formats::{Level, LevelKind, Schema};

const PRODUCT: &str = "y(i) = A(i,j) * x(j)";

fn format(text: &str) -> Result<FormatSpec, Box<dyn Error>> {
    Ok(text.parse::<FormatSpec>()?)
}

#[test]
fn rows_of_a_million_nodes_are_walked_without_recursion() -> Result<(), Box<dyn Error>> {
    const COUNT: u64 = 1_000_000;
    let coordinates: Vec<[u64; 2]> = (0..COUNT).map(|j| [1, j]).collect();
    let entries: Vec<(&[u64], f64)> = coordinates.iter().map(|at| (at.as_slice(), (at[1] % 7) as f64)).collect();
    let x = Tensor::from(vec![1.0; COUNT as usize]);
    let sum: f64 = entries.iter().map(|(_, value)| value).sum();
    for text in ["d{list}", "d{vblist}", "d{bst}", "d{btree}"] {
        let a = Tensor::from_entries(&[3, COUNT], &entries, format(text)?)?;
        let kernel = Kernel::compile(PRODUCT, &Options::new().format("A", format(text)?))?;
        let y: Vec<f64> = kernel.call(&[("A", &a), ("x", &x)])?;
        assert_eq!(y, [0.0, sum, 0.0], "{text}");
    }
    Ok(())
}

#[test]
fn columns_of_skewed_rows_are_shared_by_threads() -> Result<(), Box<dyn Error>> {
    const COUNT: u64 = 1 << 18;
    let mut coordinates: Vec<[u64; 2]> = (0..COUNT).map(|j| [3, j]).collect();
    coordinates.extend((0..100).map(|i| [i + 4, i * i]));
    let entries: Vec<(&[u64], f64)> = coordinates.iter().map(|at| (at.as_slice(), (at[1] % 7) as f64)).collect();
    let x = Tensor::from(vec![1.0; COUNT as usize]);
    let mut expected = vec![0.0; 200];
    entries.iter().for_each(|(at, value)| expected[at[0] as usize] += value);
    for text in ["d{bst}", "d{btree}", "d{pactree}"] {
        let a = Tensor::from_entries(&[200, COUNT], &entries, format(text)?)?.into_dyn();
        assert_eq!(a.heaviest(), Some(COUNT), "{text}");
        for threads in [1, 2, 5] {
            let kernel = Kernel::compile(PRODUCT, &Options::new().tensor("A", &a).threads(threads))?;
            let schedule = kernel.schedule().text().to_string();
            assert!(schedule.contains("divide(j, chunk, place,"), "{text}: {schedule}");
            let y: Vec<f64> = kernel.call(&[("A", &a), ("x", &x)])?;
            assert_eq!(y, expected, "{text}, {threads} threads");
        }
    }
    Ok(())
}

#[test]
fn results_take_the_levels_of_operands() -> Result<(), Box<dyn Error>> {
    let entries: Vec<[u64; 2]> = (0..300).map(|k| [k % 5, (k * k + 3 * k) % 97]).collect();
    let mut once: Vec<(&[u64], f64)> = entries.iter().map(|at| (at.as_slice(), at[1] as f64 + 1.0)).collect();
    once.sort_by_key(|(at, _)| (at[0], at[1]));
    once.dedup_by_key(|(at, _)| (at[0], at[1]));
    for text in ["d{bst}", "{btree}{ctree}", "d{blist_unsorted}", "d{vblist}"] {
        let mut a = Tensor::from_entries(&[5, 97], &once, format(text)?)?;
        // Positions that nothing is stored at.
        a.remove(&[0, once[0].0[1]])?;
        let options = Options::new().format("A", format(text)?).format("B", format(text)?);
        let kernel = Kernel::compile("B(i,j) = A(i,j) * 2", &options)?;
        assert!(kernel.explain().join(" ").contains("`B` has the pattern of `A`"), "{text}");
        let mut b: Tensor<f64> = kernel.call(&[("A", &a)])?;
        b.validate()?;
        for at in (0..5).flat_map(|i| (0..97).map(move |j| [i, j])) {
            assert_eq!(b.get_stored(&at), a.get_stored(&at).map(|value| 2.0 * value), "{text}, {at:?}");
        }
        // The result can be changed by itself.
        b.insert(&[4, 96], 7.0)?;
        b.validate()?;
        assert_eq!(b.get(&[4, 96]), Some(7.0));
        a.validate()?;
    }
    Ok(())
}

#[test]
fn kernels_follow_a_schema_of_ones_own() -> Result<(), Box<dyn Error>> {
    let text = "
        def supertype twig
        def fork : twig { e: elem nonempty  l: twig  r: twig  below: uint32  seq = l, e, r }
        def bud : twig { e: elem[B] nonempty  B: size in [1,3]  seq = {e} }
        def twig_root { r: twig }
    ";
    let level =
        Level { kind: LevelKind::nodes(Schema::parse(text).map_err(|errors| errors[0].to_string())?)?, unique: true };
    let own = FormatSpec::Exact(Format::new(vec![Level::DENSE, level], vec![0, 1])?);
    let entries: Vec<[u64; 2]> = (0..200).map(|k| [k % 3, (k * k + k) % 97]).collect();
    let entries: Vec<(&[u64], f64)> = entries.iter().map(|at| (at.as_slice(), at[1] as f64 + 1.0)).collect();
    let mut once = entries.clone();
    once.sort_by_key(|(at, _)| (at[0], at[1]));
    once.dedup_by_key(|(at, _)| (at[0], at[1]));
    let (stored, plain) =
        (Tensor::from_entries(&[3, 97], &once, own.clone())?, Tensor::from_entries(&[3, 97], &once, format("csr")?)?);
    let x = Tensor::from((0..97).map(f64::from).collect::<Vec<f64>>());
    let of = |spec: FormatSpec, a: &Tensor<f64>| -> Result<Vec<f64>, Box<dyn Error>> {
        Ok(Kernel::compile(PRODUCT, &Options::new().format("A", spec))?.call(&[("A", a), ("x", &x)])?)
    };
    assert_eq!(of(own, &stored)?, of(format("csr")?, &plain)?);
    Ok(())
}

#[test]
fn what_cannot_be_merged_is_converted_and_said() -> Result<(), Box<dyn Error>> {
    let explain = |of: &str| -> Result<String, Box<dyn Error>> {
        let options = Options::new().format("A", format(of)?).format("B", Format::csr()).format("C", Format::csr());
        Ok(Kernel::compile("C(i,j) = A(i,j) + B(i,j)", &options)?.explain().join("\n"))
    };
    assert!(explain("d{blist_unsorted}")?.contains("converted"));
    assert!(!explain("d{blist}")?.contains("converted"));
    Ok(())
}

#[test]
fn kernels_of_nodes_are_not_shipped() -> Result<(), Box<dyn Error>> {
    let kernel = Kernel::compile(PRODUCT, &Options::new().format("A", format("d{btree}")?))?;
    let error = kernel.ship("spmv", Shape::Source).expect_err("nodes are not checked");
    assert_eq!(error.code(), Some("E1018"), "{error}");
    assert!(error.to_string().contains("nodes"), "{error}");
    Ok(())
}

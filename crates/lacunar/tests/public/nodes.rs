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

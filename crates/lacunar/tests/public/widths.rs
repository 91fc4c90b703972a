//! Widths of index arrays if kernels are compiled before sizes are known: tensors that do not fit are refused, and
//! formats declared with their sizes are widened.

use lacunar::{Backend, DynTensor, Error, FormatSpec, Kernel, Options, Tensor};

fn spec(format: &str) -> FormatSpec {
    format.parse().expect("a format")
}

/// A matrix with an entry in the last column of each row.
fn matrix(columns: u64, format: &str) -> Result<Tensor<f64>, Error> {
    Tensor::from_entries(
        &[2, columns],
        &[(&[0, 0], 1.0), (&[0, columns - 1], 2.0), (&[1, columns - 1], 3.0)],
        spec(format),
    )
}

fn compile(source: &str, formats: &[(&str, &str)], columns: Option<u64>) -> Result<Kernel, Error> {
    let options = Options::new().backend(Backend::Interpreter);
    let options = formats.iter().fold(options, |options, (name, format)| options.format(name, spec(format)));
    Kernel::compile(source, &columns.into_iter().fold(options, |options, size| options.size("j", size)))
}

fn result(kernel: &Kernel, name: &str, given: &[(&str, &DynTensor)]) -> Result<DynTensor, Error> {
    let run = kernel.run_named(given)?;
    Ok(run.results.into_iter().find(|(result, _)| result == name).expect("a result").1)
}

#[test]
fn results_that_do_not_fit_are_refused_or_widened() -> Result<(), Error> {
    let formats = [("A", "ds16"), ("C", "ds8")];
    let (small, large) = (matrix(256, "ds16")?, matrix(1000, "ds16")?);
    let open = compile("C(i,j) = 2 * A(i,j)", &formats, None)?;
    let doubled = result(&open, "C", &[("A", small.as_dyn())])?;
    assert_eq!(doubled.format().to_string(), "ds8");
    assert_eq!(doubled.convert(small.as_dyn().format())?.levels(), small.as_dyn().levels());
    let error = result(&open, "C", &[("A", large.as_dyn())]).expect_err("coordinates of 8 bits").to_string();
    assert!(error.contains("`C` as ds8") && error.contains("declare the sizes"), "{error}");
    let sized = compile("C(i,j) = 2 * A(i,j)", &formats, Some(1000))?;
    let doubled = result(&sized, "C", &[("A", large.as_dyn())])?;
    assert_eq!(doubled.format().to_string(), "ds16");
    assert_eq!(doubled.levels(), large.as_dyn().levels());
    Ok(())
}

#[test]
fn operands_have_the_widths_that_were_declared() -> Result<(), Error> {
    let kernel = compile("C(i,j) = 2 * A(i,j)", &[("A", "ds8"), ("C", "csr")], None)?;
    let error = result(&kernel, "C", &[("A", matrix(1000, "ds8")?.as_dyn())]).expect_err("another width").to_string();
    assert!(error.contains("`A` is stored as ds16") && error.contains("compiled for ds8"), "{error}");
    // With its size, a declared format is that of the tensors that are packed in it.
    let kernel = compile("C(i,j) = 2 * A(i,j)", &[("A", "ds8"), ("C", "csr")], Some(1000))?;
    assert!(result(&kernel, "C", &[("A", matrix(1000, "ds8")?.as_dyn())]).is_ok());
    Ok(())
}

#[test]
fn what_is_made_between_statements_is_not_misread() -> Result<(), Error> {
    let source = "C(i,j) = 2 * A(i,j); D(i,j) = 3 * C(i,j)";
    for between in ["ds8", "ds8:1,0", "dh8", "hicoo(300)"] {
        let formats = [("A", "csr"), ("C", between), ("D", "csr")];
        for columns in [200, 256, 1000] {
            let a = matrix(columns, "csr")?;
            let kernel = compile(source, &formats, Some(columns))?;
            let expected = result(&kernel, "D", &[("A", a.as_dyn())])?;
            assert_eq!(expected.levels(), a.as_dyn().levels(), "{between} of {columns} columns");
            let open = compile(source, &formats, None)?;
            match result(&open, "D", &[("A", a.as_dyn())]) {
                Ok(found) => assert_eq!(found, expected, "{between} of {columns} columns"),
                Err(error) => assert!(columns > 255 && error.to_string().contains("compiled"), "{error}"),
            }
        }
    }
    Ok(())
}

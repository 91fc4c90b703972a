//! Every level kind has its arrays and its code, also one that is made while the program runs: it is stored and found again,
//! and kernels go through it and make it.

use std::error::Error;

use lacunar::{Backend, DynTensor, Format, FormatSpec, Kernel, Level, Options, Shape, Tensor};
use lacunar_compiler::lower::Binding;
use lacunar_formats::{DType, Description, IndexWidth, LevelKind};
use lacunar_imp::{ArrayData, Memory, Param, Status, interpret};
use lacunar_runtime::Buffer;

/// Entries of a matrix of 3 x 4, some beside each other, with an empty row, and one in each column.
const ENTRIES: [(&[u64], f64); 4] = [(&[0, 0], 1.0), (&[0, 2], 2.0), (&[0, 3], 2.0), (&[2, 1], 4.0)];

fn matrix(format: Format) -> Result<Tensor<f64>, Box<dyn Error>> {
    Ok(Tensor::from_entries(&[3, 4], &ENTRIES, FormatSpec::Exact(format))?)
}

fn result(
    source: &str,
    formats: &[(&str, &Format)],
    given: &[(&str, &DynTensor)],
) -> Result<DynTensor, Box<dyn Error>> {
    let options = Options::new().backend(Backend::Interpreter);
    let spec = |format: &Format| FormatSpec::Exact(format.clone());
    let options = formats.iter().fold(options, |options, (name, format)| options.format(name, spec(format)));
    let run = Kernel::compile(source, &options)?.run_named(given)?;
    Ok(run.results.into_iter().next().expect("a result").1)
}

/// A format of a matrix with a level of the kind; the ranks of rows are kept in the outer of two levels, with a map.
fn format_with(kind: LevelKind) -> Result<Format, Box<dyn Error>> {
    let level = Level { kind, unique: true };
    if kind.is_ranked() {
        let format = Format::sell_sorted(2, 2)?;
        let levels = format.levels().iter().map(|own| if own.kind.is_ranked() { level } else { *own }).collect();
        let terms = format.map().expect("a map").terms().to_vec();
        return Ok(Format::mapped(levels, terms)?);
    }
    if kind.info().properties.single {
        return Ok(Format::new(vec![Level::COMPRESSED, level], vec![1, 0])?);
    }
    Ok(Format::new(vec![Level::DENSE, level], vec![0, 1])?)
}

fn check(kind: LevelKind) -> Result<(), Box<dyn Error>> {
    let format = format_with(kind)?;
    let (csr, a) = (matrix(Format::csr())?, matrix(format.clone())?);
    assert!(a.as_dyn().levels().iter().any(|level| level.kind() == kind), "{kind:?}");
    assert_eq!(a.as_dyn().to_dense::<f64>()?, csr.as_dyn().to_dense::<f64>()?, "{kind:?}");
    assert_eq!(csr.as_dyn().convert(&format)?.levels(), a.as_dyn().levels(), "{kind:?}");
    let doubled = result("C(i,j) = 2 * A(i,j)", &[("A", &format), ("C", &format)], &[("A", a.as_dyn())])?;
    assert!(doubled.levels().iter().any(|level| level.kind() == kind), "{kind:?}");
    let twice: Vec<f64> = csr.as_dyn().to_dense::<f64>()?.iter().map(|value| 2.0 * value).collect();
    assert_eq!(doubled.to_dense::<f64>()?, twice, "{kind:?}");
    Ok(())
}

#[test]
fn every_kind_is_stored_and_has_code() -> Result<(), Box<dyn Error>> {
    // Other tests make kinds meanwhile.
    LevelKind::all().into_iter().try_for_each(check)
}

/// The memory that the interpreter takes for the parameters of `y(i) = A(i,j) * x(j)`, with the name of each array.
fn memory(kernel: &Kernel, a: &DynTensor) -> Result<(Memory, Vec<String>), Box<dyn Error>> {
    let step = &kernel.steps()[0];
    let (mut memory, mut names) = (Memory::default(), Vec::new());
    for (param, binding) in step.parameters() {
        let array = match binding {
            Binding::Size(var) => {
                memory.scalars.push(if step.kernel().vars[var].name == "i" { 3 } else { 4 });
                continue;
            }
            Binding::Threads | Binding::Stored(_) => {
                memory.scalars.push(1);
                continue;
            }
            Binding::Level(_, level, part) => a.levels()[level].array(part.name).ok_or("an array")?,
            Binding::Values(tensor) => match step.kernel().tensors[tensor].name.trim_end_matches("_seen") {
                "A" => a.values(),
                "x" => &Buffer::from_vec(vec![1.0, 10.0, 100.0, 1000.0]),
                _ => &Buffer::from_vec(vec![-1.0; 3]),
            },
        };
        if let Param::Array(id) = param {
            names.push(step.function().arrays[*id].name.clone());
        }
        memory.arrays.push(match array.dtype() {
            DType::F64 => ArrayData::F64(array.as_slice::<f64>().ok_or("numbers")?.to_vec()),
            DType::U64 => ArrayData::U64(array.as_slice::<u64>().ok_or("numbers")?.to_vec()),
            _ => ArrayData::U32(array.as_slice::<u32>().ok_or("numbers")?.to_vec()),
        });
    }
    Ok((memory, names))
}

/// The same array without its last element.
fn shortened(array: &ArrayData) -> ArrayData {
    match array {
        ArrayData::F64(values) => ArrayData::F64(values[..values.len() - 1].to_vec()),
        ArrayData::U64(values) => ArrayData::U64(values[..values.len() - 1].to_vec()),
        ArrayData::U32(values) => ArrayData::U32(values[..values.len() - 1].to_vec()),
        other => panic!("{other:?}"),
    }
}

/// Runs the function that is shipped on a matrix of a format, and on each array without its last element; returns true if there
/// is such a function.
fn takes_no_shorter(format: Format) -> Result<bool, Box<dyn Error>> {
    let options = Options::new().backend(Backend::Interpreter).format("A", FormatSpec::Exact(format.clone()));
    let kernel = Kernel::compile("y(i) = A(i,j) * x(j)", &options)?;
    // Some kinds are converted before the kernel runs.
    if kernel.ship("spmv", Shape::Source).is_err() {
        return Ok(false);
    }
    let a = matrix(format.clone())?;
    let function = kernel.steps()[0].checked_function()?;
    let (whole, names) = memory(&kernel, a.as_dyn())?;
    let mut used = whole.clone();
    let status = interpret(&function, &mut used).map_err(|error| format!("{format}: {error}"))?;
    assert_eq!(status, None, "{format}");
    assert!(used.arrays.contains(&ArrayData::F64(vec![2201.0, 0.0, 40.0])), "{format}: {used:?}");
    for (place, name) in names.iter().enumerate().filter(|(place, _)| !whole.arrays[*place].is_empty()) {
        let mut short = whole.clone();
        short.arrays[place] = shortened(&whole.arrays[place]);
        let before = short.clone();
        let status = interpret(&function, &mut short).map_err(|error| format!("{format}, {name}: {error}"))?;
        assert_eq!(status, Some(Status::TooShort), "{format}: {name}");
        assert_eq!(short, before, "{format}: {name}");
    }
    Ok(true)
}

#[test]
fn shipped_kernels_take_arrays_as_long_as_each_kind_has_them_and_no_shorter() -> Result<(), Box<dyn Error>> {
    let mut formats = vec![Format::bcsr(2, 3)?, Format::dia(), Format::ell()?, Format::sell(2)?, Format::csc()];
    formats.extend([Format::coo(2), Format::dcsr(), Format::dense(2)]);
    for kind in LevelKind::all() {
        formats.push(format_with(kind)?);
    }
    let mut kinds = Vec::new();
    for format in formats {
        let widened = |format: Format, level| {
            format.with_positions(level, IndexWidth::W64).with_coordinates(level, IndexWidth::W64)
        };
        let wide = (0..format.levels().len()).fold(format.clone(), widened);
        for format in [format, wide] {
            if takes_no_shorter(format.clone())? {
                kinds.extend(format.levels().iter().map(|level| level.kind.info().name));
            }
        }
    }
    let found = |kind: &LevelKind| kinds.contains(&kind.info().name);
    let missing: Vec<_> =
        LevelKind::all().into_iter().filter(|kind| !found(kind)).map(|kind| kind.info().name).collect();
    assert_eq!(missing.iter().filter(|name| !name.ends_with("_too")).collect::<Vec<_>>(), Vec::<&&str>::new());
    Ok(())
}

#[test]
fn kinds_that_are_made_have_the_code_of_their_family() -> Result<(), Box<dyn Error>> {
    let own = LevelKind::all().into_iter().filter(|kind| !kind.is_plain() && !kind.info().name.ends_with("_too"));
    // There is one letter fewer than kinds.
    for (own, letter) in own.rev().zip("afijmvwxyz".chars()) {
        let name = format!("{}_too", own.info().name);
        let kind = LevelKind::intern(&Description { name: &name, letter, ..own.info().clone() })?;
        assert_ne!(kind, own);
        check(kind)?;
        // The same numbers stand in the arrays, which are of another kind all the same.
        let (made, a) = (matrix(format_with(kind)?)?, matrix(format_with(own)?)?);
        assert_ne!(made.as_dyn().levels(), a.as_dyn().levels());
        let arrays = |tensor: &Tensor<f64>| format!("{:?}", tensor.as_dyn().levels()).replace("_too", "");
        assert_eq!(arrays(&made), arrays(&a));
        let text = made.as_dyn().format().to_string();
        assert_eq!(text.parse::<FormatSpec>()?.resolve(2)?, *made.as_dyn().format(), "{text}");
    }
    Ok(())
}

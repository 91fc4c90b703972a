//! Work that is left out, where reductions end early and where masks forbid a value: it is counted in steps of the interpreter, of which
//! each iteration takes a few.

use std::error::Error;

use lacunar::{Backend, Format, FormatSpec, Kernel, Options, Tensor};
use lacunar_compiler::lower::Binding;
use lacunar_formats::DType;
use lacunar_imp::{ArrayData, Fault, Limits, Memory, interpret_within};

/// The rows and columns of the matrix.
const SIZE: i64 = 1000;

/// The memory of a kernel on a matrix `A` of truth values, of which the first are true, with `threads`. If it is in rows, it stores all
/// elements. All elements of vectors are true.
fn memory(kernel: &Kernel, first: usize, threads: i64) -> Memory {
    let (step, size) = (&kernel.steps()[0], SIZE as usize);
    let mut memory = Memory::default();
    for (_, binding) in step.parameters() {
        match binding {
            Binding::Size(_) => memory.scalars.push(SIZE),
            Binding::Threads | Binding::Stored(_) => memory.scalars.push(threads),
            Binding::Level(_, _, part) if part.name == "pos" => {
                memory.arrays.push(ArrayData::U32((0..=size).map(|row| (row * size) as u32).collect()));
            }
            Binding::Level(..) => {
                memory.arrays.push(ArrayData::U32((0..size * size).map(|at| (at % size) as u32).collect()));
            }
            Binding::Values(tensor) => {
                memory.arrays.push(ArrayData::Bool(match step.kernel().tensors[tensor].name.as_str() {
                    "A" => (0..size * size).map(|at| at < first).collect(),
                    "a" => vec![false],
                    _ => vec![true; size],
                }))
            }
        }
    }
    memory
}

/// True if a program's kernel ends within so many steps.
fn ends_within(
    steps: u64,
    source: &str,
    matrix: Format,
    (first, threads, seed): (usize, i64, u64),
) -> Result<bool, Box<dyn Error>> {
    let options = Options::new().backend(Backend::Interpreter).format("A", FormatSpec::Exact(matrix));
    let options = ["A", "x", "m"]
        .iter()
        .filter(|name| source.contains(&format!("{name}(")))
        .fold(options, |options, name| options.dtype(name, DType::Bool));
    let kernel = Kernel::compile(source, &options)?;
    let function = kernel.steps()[0].checked_function()?;
    let limits = Limits { steps: Some(steps), seed, ..Limits::default() };
    match interpret_within(&function, &mut memory(&kernel, first, threads), limits) {
        Ok(_) => Ok(true),
        Err(error) if matches!(error.fault, Fault::Steps(_)) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[test]
fn the_first_true_element_ends_both_loops() -> Result<(), Box<dyn Error>> {
    for format in [Format::dense(2), Format::csr()] {
        // A strip of a vector loop is read as a whole.
        assert!(ends_within(10_000, "a or= A(i,j)", format.clone(), (1, 1, 0))?, "{format}");
        assert!(!ends_within(1_000_000, "a or= A(i,j)", format.clone(), (0, 1, 0))?, "{format}");
        // Other types have no last value.
        assert!(!ends_within(1_000_000, "a xor= A(i,j)", format.clone(), (1, 1, 0))?, "{format}");
    }
    Ok(())
}

#[test]
fn one_hit_of_each_row_is_read() -> Result<(), Box<dyn Error>> {
    let all = (SIZE * SIZE) as usize;
    let statements = [
        ("y(i) = any(j, A(i,j) * x(j))", 40_000),
        // Lanes read a strip of 64.
        ("y(i) = m(i) * or(j, A(i,j) * x(j))", 600_000),
    ];
    for (source, steps) in statements {
        assert!(ends_within(steps, source, Format::csr(), (all, 1, 0))?, "{source}");
        assert!(!ends_within(1_000_000, source, Format::csr(), (0, 1, 0))?, "{source}");
    }
    Ok(())
}

#[test]
fn chunks_that_begin_later_do_nothing() -> Result<(), Box<dyn Error>> {
    // The chunk with the one element that is true comes at any place in the order.
    let ends = |seed| ends_within(1_000_000, "a or= A(i,j)", Format::csr(), (1, 4, seed));
    let outcomes = (0..12).map(ends).collect::<Result<Vec<bool>, _>>()?;
    assert!(outcomes.contains(&true), "{outcomes:?}");
    Ok(())
}

/// The steps of `C(i,j)` times a product of two matrices, if `mask` and `operand` say which elements of each row are stored.
fn masked(
    source: &str,
    mask: impl Fn(u32) -> Vec<u32>,
    operand: impl Fn(u32) -> Vec<u32>,
) -> Result<u64, Box<dyn Error>> {
    let rows = |name: &str| -> Vec<Vec<u32>> {
        (0..SIDE).map(|row| if name == "M" { mask(row) } else { operand(row) }).collect()
    };
    // The planner asks how many elements are stored.
    let stored = |name: &str| {
        let rows = rows(name);
        let of_row = |(row, columns): (usize, &Vec<u32>)| vec![row as u64; columns.len()];
        let in_rows: Vec<u64> = rows.iter().enumerate().flat_map(of_row).collect();
        let in_columns: Vec<u64> = rows.concat().into_iter().map(u64::from).collect();
        Tensor::from_triplets([u64::from(SIDE); 2], &in_rows, &in_columns, &vec![1.0; in_rows.len()], Format::csr())
    };
    let mut options = Options::new().backend(Backend::Interpreter).format("C", FormatSpec::Exact(Format::csr()));
    for name in ["M", "A", "B"] {
        options = options.tensor(name, stored(name)?.as_dyn());
    }
    let kernel = Kernel::compile(source, &options)?;
    let step = &kernel.steps()[0];
    let mut memory = Memory::default();
    for (_, binding) in step.parameters() {
        let rows = |tensor| rows(step.kernel().tensors[tensor].name.as_str());
        match binding {
            Binding::Size(_) => memory.scalars.push(i64::from(SIDE)),
            Binding::Threads | Binding::Stored(_) => memory.scalars.push(1),
            Binding::Level(tensor, ..) | Binding::Values(tensor) if step.kernel().tensors[tensor].name == "C" => {
                let is_value = matches!(binding, Binding::Values(_));
                memory.arrays.push(if is_value { ArrayData::F64(Vec::new()) } else { ArrayData::U32(Vec::new()) });
            }
            Binding::Level(tensor, _, part) if part.name == "pos" => {
                let ends = rows(tensor).iter().fold(vec![0], |mut ends, row| {
                    ends.push(ends[ends.len() - 1] + row.len() as u32);
                    ends
                });
                memory.arrays.push(ArrayData::U32(ends));
            }
            Binding::Level(tensor, ..) => memory.arrays.push(ArrayData::U32(rows(tensor).concat())),
            Binding::Values(tensor) => {
                memory.arrays.push(ArrayData::F64(vec![1.0; rows(tensor).concat().len()]));
            }
        }
    }
    let function = step.checked_function()?;
    for steps in (0..).map(|power| SIDE as u64 * 2u64.pow(power)) {
        match interpret_within(&function, &mut memory.clone(), Limits { steps: Some(steps), ..Limits::default() }) {
            Ok(_) => return Ok(steps),
            Err(error) if matches!(error.fault, Fault::Steps(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(u64::MAX)
}

/// The rows and columns of masked products.
const SIDE: u32 = 64;

#[test]
fn masked_products_do_what_the_mask_leaves() -> Result<(), Box<dyn Error>> {
    let all = u64::from(SIDE).pow(3);
    let full = |_| (0..SIDE).collect();
    let plain = |mask: &dyn Fn(u32) -> Vec<u32>| masked("C(i,j) = M(i,j) * (A(i,k) * B(k,j))", mask, full);
    assert!(plain(&|_| Vec::new())? <= all / 16);
    assert!(plain(&|row| vec![row])? <= all / 2);
    assert!(plain(&full)? >= all);
    Ok(())
}

#[test]
fn masked_products_do_not_go_through_a_long_column_for_each_row() -> Result<(), Box<dyn Error>> {
    // All rows have the first column, whose row is as short as others.
    let star = |row: u32| if row == 0 { vec![0, 1] } else { vec![0, row] };
    let steps = masked("C(i,j) = M(i,j) * A(i,k) * B(k,j)", star, star)?;
    assert!(steps <= 2 * u64::from(SIDE).pow(2), "{steps}");
    Ok(())
}

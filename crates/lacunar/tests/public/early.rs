//! Reductions end early: how many elements are read is counted in steps of the interpreter, of which each iteration takes a few.

use std::error::Error;

use lacunar::{Backend, Format, FormatSpec, Kernel, Options};
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

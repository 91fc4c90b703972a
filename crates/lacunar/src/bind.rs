//! Tensors meet a compiled statement: sizes are read from them and checked against each other.
//!
//! On entry: the tensors of the program, by handle. On exit: a size for every variable of the statement, such that every
//! tensor has the dimensions that the kernel will walk through; formats and types are those it was compiled for.

use lacunar_base::Span;
use lacunar_compiler::lower::Binding;
use lacunar_formats::{DType, Format, diagonals};
use lacunar_notation::concrete::Kernel;
use lacunar_notation::provenance::Relation;
use lacunar_notation::stored::StoredSize;
use lacunar_notation::{Access, AssignOp, IndexVar, Indicator, Program, Role, Tensor as Declared, TensorId, VarId};
use lacunar_runtime::{StorageError, Tensor};

use crate::compile::Step;
use crate::error::Error;

/// The content of one of a program's tensors at run time.
#[derive(Debug)]
pub(crate) enum Slot<'a> {
    /// Nothing yet.
    Empty,
    /// The caller's.
    Borrowed(&'a Tensor),
    /// Computed, or handed over by the caller.
    Owned(Tensor),
}

impl Slot<'_> {
    pub fn get(&self) -> Option<&Tensor> {
        match self {
            Slot::Empty => None,
            Slot::Borrowed(tensor) => Some(tensor),
            Slot::Owned(tensor) => Some(tensor),
        }
    }
}

/// Checks that a kernel was compiled for such a tensor. `is_read` says that the kernel reads its values.
pub(crate) fn check_tensor(declared: &Declared, tensor: &Tensor, is_read: bool) -> Result<(), Error> {
    let name = &declared.name;
    if tensor.order() != declared.order() {
        let indices = declared.order();
        return Err(Error::Argument(format!(
            "`{name}` has {} dimensions, but {indices} indices in the program",
            tensor.order()
        )));
    }
    if tensor.format() != &declared.format {
        return Err(Error::Argument(format!(
            "`{name}` is stored as {}, but the kernel was compiled for {}; convert it, or declare its format",
            tensor.format(),
            declared.format
        )));
    }
    if tensor.dtype() != declared.dtype {
        let (found, expected) = (tensor.dtype(), declared.dtype);
        return Err(Error::Argument(format!(
            "`{name}` has elements of type {found}, but the kernel expects {expected}; {}",
            declare_type(name, found)
        )));
    }
    // A dense tensor has no elements that are not stored.
    if is_read && !declared.format.is_dense() && tensor.fill() != declared.fill() {
        let (found, expected) = (tensor.fill(), declared.fill());
        return Err(Error::Argument(format!(
            "`{name}` has the fill value {found}, but the kernel was compiled for {expected}; declare it, or give a \
             tensor `with_fill` {expected}"
        )));
    }
    Ok(())
}

/// The hint that tells how to compile a kernel for elements of another type.
pub(crate) fn declare_type(name: &str, dtype: DType) -> String {
    format!(
        "declare the type when compiling: `Options::dtype(\"{name}\", DType::{dtype:?})`, on the command line `-t {name}:{dtype}`"
    )
}

/// A dimension of a tensor of the program, and its size.
#[derive(Clone, Copy)]
struct Dimension {
    tensor: TensorId,
    number: usize,
    size: u64,
}

/// The size of every variable of a statement, by its index; 0 for those it does not use.
pub(crate) fn sizes(program: &Program, step: &Step, slots: &[Slot]) -> Result<Vec<u64>, Error> {
    let kernel = step.kernel();
    let seen = dimensions(program, step, slots)?;
    let mut own: Vec<Option<u64>> =
        kernel.vars.iter().zip(&seen).map(|((_, var), seen)| seen.map(|at| at.size).or(var.size)).collect();
    if kernel.tensors.iter().any(|(_, tensor)| tensor.role == Role::Indicator) {
        known_elsewhere(program, slots, &mut own);
        share_with_renamed(kernel, &mut own);
        infer(program, step, &mut own)?;
    }
    share_with_renamed(kernel, &mut own);
    kernel.share_sizes(&mut own);
    // A kernel is never run with a size that nobody knows.
    let is_stored = |var: VarId| kernel.stored.sizes.iter().any(|(stored, _)| *stored == var);
    let unknown = |own: &[Option<u64>]| {
        step.parameters().find_map(|(_, binding)| match binding {
            Binding::Size(var) => (own[renamed_from(kernel, var).index()].is_none() && !is_stored(var)).then_some(var),
            _ => None,
        })
    };
    // An operand may tell the size that the kernel does not read: the pattern of others is all that the result takes.
    if unknown(&own).is_some() {
        known_elsewhere(program, slots, &mut own);
        share_with_renamed(kernel, &mut own);
    }
    if let Some(var) = unknown(&own) {
        return Err(Error::Argument(format!("nothing tells the size of index variable `{}`", kernel.vars[var].name)));
    }
    let known = |var: VarId| own[renamed_from(kernel, var).index()];
    let mut sizes: Vec<u64> = kernel.vars.handles().map(|var| known(var).unwrap_or(0)).collect();
    for &(var, size) in &kernel.stored.sizes {
        let of = |var: VarId| sizes[var.index()];
        sizes[var.index()] = match size {
            StoredSize::Blocks(var, block) => of(var).div_ceil(u64::from(block)),
            StoredSize::Inside(block) => u64::from(block),
            // More than can be counted are refused before the kernel is run.
            StoredSize::Diagonals(a, b) => diagonals(of(a), of(b)).unwrap_or(u64::MAX),
            StoredSize::Slots(tensor, level) => {
                let stored = slots.get(tensor.index()).and_then(Slot::get).map(Tensor::stored_dims).transpose()?;
                stored.and_then(|dims| dims.get(level).copied()).unwrap_or(0)
            }
        };
    }
    Ok(sizes)
}

/// Gives a variable that was renamed the size of the other, or the other its size: both first appear at the same place, and one has a
/// number behind its name.
fn share_with_renamed(kernel: &Kernel, sizes: &mut [Option<u64>]) {
    let is_numbered = |name: &str, of: &str| {
        let number = name.strip_prefix(of);
        number.is_some_and(|number| !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit()))
    };
    let is_same = |a: &IndexVar, b: &IndexVar| {
        a.span == b.span && (is_numbered(&a.name, &b.name) || is_numbered(&b.name, &a.name))
    };
    for var in kernel.vars.handles().filter(|var| kernel.vars[*var].span != Span::NONE) {
        let own = &kernel.vars[var];
        let like = |(other, info): (VarId, &IndexVar)| sizes[other.index()].filter(|_| is_same(own, info));
        sizes[var.index()] = sizes[var.index()].or_else(|| kernel.vars.iter().find_map(like));
    }
}

/// Finds the sizes of variables that other statements tell.
fn known_elsewhere(program: &Program, slots: &[Slot], sizes: &mut [Option<u64>]) {
    for statement in &program.statements {
        for access in statement.rhs.accesses().into_iter().chain([&statement.lhs]) {
            // The first dimensions of an indicator are those of the tensor whose values it gathers.
            let of = program.tensors[access.tensor].gathered().unwrap_or(access.tensor);
            let Some(found) = slots.get(of.index()).and_then(Slot::get) else { continue };
            for (var, &size) in access.vars.iter().zip(found.dims()) {
                sizes[var.index()].get_or_insert(size);
            }
        }
    }
}

/// Finds the sizes that only indicators tell.
///
/// # Errors
/// A size for which the sums of an indicator would not fit an index.
fn infer(program: &Program, step: &Step, sizes: &mut [Option<u64>]) -> Result<(), Error> {
    let statement = &step.plan().statement;
    let accesses = statement.rhs.accesses().into_iter().chain([&statement.lhs]);
    let tied = |access: &'_ Access| step.kernel().tensors[access.tensor].indicator.as_deref();
    let tied: Vec<(&Indicator, &Access)> = accesses.filter_map(|access| Some((tied(access)?, access))).collect();
    let of = |sizes: &[Option<u64>], access: &Access| -> Vec<Option<u64>> {
        access.vars.iter().map(|var| sizes[var.index()]).collect()
    };
    let part = |sizes: &[Option<u64>], (indicator, access): &(&Indicator, &Access)| {
        let (place, size) = indicator.inferred(&of(sizes, access))?;
        (place + 1 < access.vars.len()).then_some((access.vars[place], size))
    };
    // Sizes of the operands of all statements come first: a variable has one size in the program, and a result has room for all
    // that it is assigned. Of the dimensions that have a part for each of its values, the largest tells it, also one of a result that
    // is declared or given.
    let all: Vec<((&Indicator, &Access), bool)> = program
        .statements
        .iter()
        .flat_map(|other| other.rhs.accesses().into_iter().map(move |access| (other, access)))
        .filter_map(|(other, access)| {
            let is_target = access.vars.last().is_some_and(|last| other.lhs.vars.contains(last));
            Some(((program.tensors[access.tensor].indicator.as_deref()?, access), is_target))
        })
        .collect();
    let of_operands = || all.iter().filter(|(_, is_target)| !is_target);
    while let Some((var, size)) = of_operands().find_map(|(tied, _)| part(sizes, tied)) {
        let others = all.iter().filter_map(|(other, _)| part(sizes, other)).filter(|(other, _)| *other == var);
        sizes[var.index()] = Some(others.map(|(_, size)| size).fold(size, u64::max));
        share_with_renamed(step.kernel(), sizes);
    }
    let inferred = |sizes: &[Option<u64>]| {
        tied.iter().find_map(|(indicator, access)| {
            let (place, size) = indicator.inferred(&of(sizes, access))?;
            let var = access.vars[place];
            if place + 1 < access.vars.len() {
                // The largest of several dimensions that have a part for each of its values tells the size.
                let others = tied.iter().filter_map(|other| part(sizes, other)).filter(|(other, _)| *other == var);
                return Some((var, others.map(|(_, size)| size).fold(size, u64::max)));
            }
            // The sizes of operands are given; a dimension of a result has room for the values that other statements assign to it.
            let dimension = statement.lhs.vars.iter().position(|own| *own == var)?;
            Some((var, size.max(room(program, (statement.lhs.tensor, dimension), sizes))))
        })
    };
    while let Some((var, size)) = inferred(sizes) {
        sizes[var.index()] = Some(size);
        share_with_renamed(step.kernel(), sizes);
    }
    match tied.iter().all(|(indicator, access)| indicator.fits(&of(sizes, access))) {
        true => Ok(()),
        false => Err(Error::Storage(StorageError::overflow("an index of a tensor"))),
    }
}

/// The room that all indices of a dimension of a result come to, as far as the sizes of their variables are known.
fn room(program: &Program, (tensor, dimension): (TensorId, usize), sizes: &[Option<u64>]) -> u64 {
    let rooms = program.statements.iter().filter(|statement| statement.lhs.tensor == tensor).flat_map(|statement| {
        let last = statement.lhs.vars.get(dimension).copied();
        let accesses = statement.rhs.accesses().into_iter().filter(move |access| access.vars.last().copied() == last);
        accesses.filter_map(|access| {
            let known: Vec<Option<u64>> = access.vars.iter().map(|var| sizes[var.index()]).collect();
            let (place, size) = program.tensors[access.tensor].indicator.as_deref()?.inferred(&known)?;
            (place + 1 == access.vars.len()).then_some(size)
        })
    });
    rooms.max().unwrap_or(0)
}

/// The dimension that tells the size of each variable of a statement, by its index.
///
/// # Errors
/// A variable has two sizes, or another one than the kernel was compiled for.
fn dimensions(program: &Program, step: &Step, slots: &[Slot]) -> Result<Vec<Option<Dimension>>, Error> {
    let kernel = step.kernel();
    let mut seen: Vec<Option<Dimension>> = vec![None; kernel.vars.len()];
    let mut fault = None;
    let mut meet = |access: &Access, tensor: TensorId| {
        let tensor = program.tensors.get(tensor).and_then(Declared::gathered).unwrap_or(tensor);
        let Some(found) = slots.get(tensor.index()).and_then(Slot::get) else { return };
        for (number, (&var, &size)) in access.vars.iter().zip(found.dims()).enumerate() {
            let (here, var) = (Dimension { tensor, number, size }, renamed_from(kernel, var));
            let there = *seen[var.index()].get_or_insert(here);
            if there.size != size && fault.is_none() {
                fault = Some((var, here, there));
            }
        }
    };
    kernel.stmt.visit_assigns(&mut |assign| {
        for access in assign.rhs.accesses() {
            let info = &kernel.tensors[access.tensor];
            // Tensors that are walked through by stored dimensions are met in the statement.
            if !matches!(info.role, Role::Workspace(_)) && info.view.is_none() {
                meet(access, source(step, access.tensor));
            }
        }
    });
    if !kernel.stored.sizes.is_empty() {
        step.plan().statement.rhs.accesses().into_iter().for_each(|access| meet(access, access.tensor));
    }
    // Values that are added to have to be those of the coordinates that are assigned; and old values tell the sizes of a result whose
    // indices leave them open.
    let statement = &step.plan().statement;
    let accesses = statement.rhs.accesses();
    let reads_itself = accesses.iter().any(|access| source(step, access.tensor) == statement.lhs.tensor);
    let is_tied = |access: &&Access| {
        let last = access.vars.last();
        kernel.tensors[access.tensor].indicator.is_some() && last.is_some_and(|var| statement.lhs.vars.contains(var))
    };
    if statement.op != AssignOp::Set || (reads_itself && accesses.iter().copied().any(|access| is_tied(&access))) {
        meet(&statement.lhs, statement.lhs.tensor);
    }
    if let Some((var, here, there)) = fault {
        let place = |at: Dimension| format!("dimension {} of `{}`", at.number, program.tensors[at.tensor].name);
        return Err(Error::Argument(format!(
            "index variable `{}` has two sizes: {} is {}, but {} is {}",
            kernel.vars[var].name,
            place(here),
            here.size,
            place(there),
            there.size
        )));
    }
    let differs = kernel.vars.iter().zip(&seen).find_map(|((_, info), seen)| {
        let (declared, found) = (info.size?, (*seen)?);
        (declared != found.size).then_some((info, declared, found))
    });
    match differs {
        Some((info, declared, found)) => Err(Error::Argument(format!(
            "the kernel was compiled for `{}` of size {declared}, but dimension {} of `{}` is {}",
            info.name, found.number, program.tensors[found.tensor].name, found.size
        ))),
        None => Ok(seen),
    }
}

/// The variable that one was renamed from, or itself: both have the same values.
fn renamed_from(kernel: &Kernel, mut var: VarId) -> VarId {
    while let Some(Relation::Rename { parent, .. }) = kernel.provenance.origin(var) {
        var = *parent;
    }
    var
}

/// The sizes of the dimensions of a kernel's result: the stored ones, where the kernel walks through these.
pub(crate) fn result_dims(step: &Step, sizes: &[u64]) -> Vec<u64> {
    let kernel = step.kernel();
    let result = step.result();
    let mut vars = &step.plan().statement.lhs.vars;
    if kernel.tensors[result].view.as_ref().is_some_and(|view| view.format.map().is_some()) {
        kernel.stmt.visit_assigns(&mut |assign| {
            if assign.lhs.tensor == result {
                vars = &assign.lhs.vars;
            }
        });
    }
    vars.iter().map(|var| sizes[var.index()]).collect()
}

/// The format in which a tensor of a kernel is stored, in terms of the program's dimensions.
pub(crate) fn own_format(declared: &Declared) -> Format {
    let Some(view) = &declared.view else { return declared.format.as_stored() };
    let Some(map) = view.format.map() else { return view.format.clone() };
    let map = if keeps_ranks(declared) { &map.of_ranks() } else { map };
    let terms = declared.format.mode_order().iter().map(|&level| map.terms()[level]).collect();
    match Format::mapped(declared.format.levels().to_vec(), terms) {
        Ok(format) => format.with_widths_of(&declared.format),
        // The terms are those of the map, in another order.
        Err(_) => view.format.clone(),
    }
}

/// True if a tensor of a kernel is stored by ranks, but without the ranking.
pub(crate) fn keeps_ranks(declared: &Declared) -> bool {
    let ranked = declared.view.as_ref().and_then(|view| view.format.map()?.ranked());
    ranked.is_some() && !declared.format.levels().iter().any(|level| level.kind.is_ranked())
}

/// The tensor of the program that a tensor of the kernel is made of.
pub(crate) fn source(step: &Step, tensor: TensorId) -> TensorId {
    let made = step.plan().conversions.iter().find(|conversion| conversion.tensor == tensor);
    made.map_or(tensor, |conversion| conversion.source)
}

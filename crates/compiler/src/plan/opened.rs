//! Operands whose rows are looked up again and again: they are read from storage that has a place for every row.
//!
//! ```text
//! C(i,j) = A(i,k) * A(k,j)      A: dcsr, coo, {btree}{btree}
//!   i, k, j    for each i, the columns of row i are merged with the rows that A has: as many steps as there are rows
//!   k, i, j    A(i,k) is converted to be read by columns, and the values of C come in any order
//! A_by_order: csr of A          row k is where an array says: i, k, j, with nothing to merge
//! ```
//!
//! So are operands in blocks, or in other storage that loops cannot follow row by row. Demands: several sparse operands, and sizes and numbers
//! of values that are known. An operand is converted if the cost model says that the loops and the conversion are then less than half the
//! work. Schedules name the operand by its own name.
//!
//! On entry: a statement of a program. On exit: the same, reading tensors that are made of others, and a plan for it as one of the program.
//! Source: Buluç and Gilbert, *On the representation and multiplication of hypersparse matrices* (IPDPS 2008), where both ways are compared.

use lacunar_base::Diagnostic;
use lacunar_formats::{Format, Level};
use lacunar_notation::concrete::Kernel;
use lacunar_notation::{Access, Assignment, Program, Role, Tensor, TensorId};

use super::convert::{rename, stored_otherwise};
use super::cost::CONVERSION;
use super::storage::{distinct_accesses, may_be_rows, usual_widths, with_widths_of};
use super::{Conversion, Plan, Request, Search, Source, flat, given, maps, order, plan_as_it_is};
use crate::iterate::iterators::AccessKey;

/// A conversion has to make the work less by so many times: estimates are rough.
const GAIN: f64 = 2.0;

/// A statement that reads operands in other storage.
#[derive(Clone)]
struct Opened {
    program: Program,
    statement: Assignment,
    /// The tensors that are made for it, and those of the program that they are made of.
    made: Vec<Conversion>,
    notes: Vec<String>,
}

/// A plan with operands in other storage, if that is less work.
pub(super) fn plan(
    program: &Program,
    statement: &Assignment,
    request: &Request<'_>,
) -> Option<Result<Plan, Diagnostic>> {
    let opened = opened(program, statement, request)?;
    let mut schedule = request.schedule.cloned();
    for command in schedule.iter_mut().flat_map(|schedule| &mut schedule.commands) {
        given::redirect(&mut command.kind, &opened.statement.rhs, &opened.made);
    }
    let request = Request { schedule: schedule.as_ref(), ..*request };
    let plan = plan_as_it_is(&opened.program, &opened.statement, &request);
    Some(plan.map(|plan| opened.of_program(plan)))
}

/// The statement with the operands converted that are worth it; `None` if none is.
fn opened(program: &Program, statement: &Assignment, request: &Request<'_>) -> Option<Opened> {
    if request.search != Search::Cost || request.alone || !program.loops.is_empty() {
        return None;
    }
    let mut candidates = candidates_of(program, statement, request);
    if candidates.is_empty() {
        return None;
    }
    let mut now =
        Opened { program: program.clone(), statement: statement.clone(), made: Vec::new(), notes: Vec::new() };
    let mut work = now.work(request)?;
    while !candidates.is_empty() {
        let tried = candidates.iter().filter_map(|(key, format)| {
            let (opened, conversion) = now.with(key, format);
            let may_be_worth_it = conversion * GAIN < work;
            may_be_worth_it.then(|| Some((opened.work(request)? + conversion, opened)))?
        });
        let best = tried.min_by(|(a, _), (b, _)| a.total_cmp(b)).filter(|(least, _)| least * GAIN < work);
        let Some(best) = best else { break };
        (work, now) = best;
        candidates = candidates_of(&now.program, &now.statement, request);
    }
    (!now.made.is_empty()).then_some(now)
}

impl Opened {
    /// The estimated work of the statement.
    fn work(&self, request: &Request<'_>) -> Option<f64> {
        let rewritten = maps::requested(&self.program, &self.statement, None);
        let source = Source::new(&self.program, &self.statement, rewritten.as_ref());
        let (kernel, lhs, rhs) = flat(source, request)?;
        Some(order::choose(&kernel, &lhs, &rhs, Search::Cost, request.memory).cost)
    }

    /// The statement that reads an access from a format, and the work of the conversion.
    fn with(&self, key: &AccessKey, format: &Format) -> (Opened, f64) {
        let mut made = self.clone();
        let Program { tensors, vars, .. } = &mut made.program;
        let own = &tensors[key.tensor];
        let rows = format.mode_order().first().and_then(|mode| own.dims[*mode]).unwrap_or(0);
        let work = own.nnz.unwrap_or(0) as f64 * CONVERSION + rows as f64;
        let mut kernel = Kernel { tensors: std::mem::take(tensors), vars: vars.clone(), ..Kernel::default() };
        let why = "its rows are looked up again and again";
        let tensor = stored_otherwise(&mut kernel, key.tensor, format, why, &mut made.made, &mut made.notes);
        *tensors = kernel.tensors;
        made.statement.rhs =
            rename(made.statement.rhs.clone(), &|access| (AccessKey::from(access) == *key).then_some(tensor));
        (made, work)
    }

    /// A plan for the statement as one of the program.
    fn of_program(self, mut plan: Plan) -> Plan {
        let origin = |tensor: TensorId| self.made.iter().find(|made| made.tensor == tensor).map(|made| made.source);
        for conversion in &mut plan.conversions {
            conversion.source = origin(conversion.source).unwrap_or(conversion.source);
        }
        let read = plan.kernel.reads();
        plan.conversions.extend(self.made.iter().filter(|made| read.contains(&made.tensor)).cloned());
        let back = |access: &Access| origin(access.tensor);
        plan.statement.rhs = rename(plan.statement.rhs, &back);
        for command in &mut plan.schedule.commands {
            given::rename_in(&mut command.kind, &back);
        }
        plan.notes = self.notes.into_iter().chain(plan.notes).collect();
        plan
    }
}

/// The operands that loops cannot follow row by row, each in formats that have a place for every coordinate of a dimension.
fn candidates_of(program: &Program, statement: &Assignment, request: &Request<'_>) -> Vec<(AccessKey, Format)> {
    let accesses = distinct_accesses(&statement.rhs);
    let is_sparse = |key: &&AccessKey| {
        let tensor = &program.tensors[key.tensor];
        tensor.role != Role::Indicator && !tensor.format.is_dense()
    };
    if accesses.iter().filter(is_sparse).count() < 2 {
        return Vec::new();
    }
    let is_read = |key: &&AccessKey| key.tensor != statement.lhs.tensor;
    let of = |key: &AccessKey| -> Vec<(AccessKey, Format)> {
        let tensor = &program.tensors[key.tensor];
        let is_told = request.schedule.is_some() && tensor.format.map().is_some();
        let modes = if is_closed(tensor) && !is_told { 0..tensor.order() } else { 0..0 };
        modes.filter_map(|mode| Some((key.clone(), opened_by(tensor, mode)?))).collect()
    };
    accesses.iter().filter(is_read).flat_map(of).collect()
}

/// True for an operand whose rows have to be searched for, or come in pieces.
fn is_closed(tensor: &Tensor) -> bool {
    let format = &tensor.format;
    let is_stored = !tensor.role.is_computed() && tensor.view.is_none() && !tensor.is_unique;
    let has_rows = format.levels().first().is_some_and(|level| level.properties().full) && format.is_plain();
    is_stored && format.packing().is_none() && format.order() > 1 && (format.map().is_some() || !has_rows)
}

/// A format with a place for every coordinate of a dimension, if there are not many more than the tensor has values.
fn opened_by(tensor: &Tensor, rows: usize) -> Option<Format> {
    let size = tensor.dims[rows]?;
    if tensor.format.is_dense() || !may_be_rows(Some(size), Some(tensor.nnz?)) {
        return None;
    }
    let mut levels = vec![Level::COMPRESSED; tensor.order()];
    levels[0] = Level::DENSE;
    let modes = std::iter::once(rows).chain((0..tensor.order()).filter(|mode| *mode != rows)).collect();
    match tensor.format.map() {
        Some(_) => Some(usual_widths(Format::new(levels, modes).ok()?, &tensor.format).fitted(&tensor.dims, 0)),
        None => Some(with_widths_of(tensor, levels, modes)),
    }
}

//! The demands of a program's loops on the format of a tensor, as the planner tells them.
//!
//! A statement that would convert the tensor, or that would assemble its result otherwise than it does with compressed rows, has no use
//! for a format. Formats that fill places up are for statements whose loops are over the tensor alone: a place that is filled up
//! costs as much there as it takes bytes, and many times that where other loops are inside.
//!
//! ```text
//! y(i) = A(i,j) * x(j)              any format
//! y(j) = A(i,j) * x(i)              the same of its columns, so that threads share a loop without races
//! C(i,k) = A(i,j) * B(j,k)          rows; narrow indices, if B is dense
//! C(i,j) = A(i,j) + B(i,j)          rows, if B is stored in rows
//! ```

use lacunar_base::Category;
use lacunar_compiler::plan::{self, Memory, Plan, Request};
use lacunar_compiler::structure::settle;
use lacunar_formats::{Format, FormatSpec};
use lacunar_front::Declarations;
use lacunar_notation::schedule::{CommandKind, Race, Unit};
use lacunar_notation::{Assignment, Program, Role, TensorId};

use super::{Candidate, Needs};
use crate::bind::own_format;
use crate::compile::check_schedule;
use crate::error::Error;
use crate::machine::machine;

/// The formats that a program walks through.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    /// The dimensions in the order of its loops.
    pub modes: Vec<usize>,
    /// True if places may be filled up.
    pub padded: bool,
    /// True if indices may be narrower than those of other tensors.
    pub narrow: bool,
    /// The number of tensors that the program converts if the tensor is stored in rows.
    conversions: usize,
}

impl Walk {
    /// Any format, in the order of the dimensions.
    pub fn of_any(order: usize) -> Walk {
        Walk { modes: (0..order).collect(), padded: true, narrow: true, conversions: 0 }
    }
}

/// The demands of a program on a tensor, for which `plain` is a format.
pub(super) fn walk(needs: &Needs<'_>, plain: &Format) -> Result<Walk, Error> {
    let order = plain.order();
    let (program, tensor, completed) = checked(needs, plain)?;
    let Some(tensor) = tensor else { return Ok(Walk::of_any(order)) };
    // A schedule that cannot be carried out is told where the program is compiled.
    let Some(natural) = plans(needs, &program)? else {
        return Ok(Walk { modes: (0..order).collect(), padded: false, narrow: false, conversions: 0 });
    };
    let mut modes: Vec<usize> = (0..order).collect();
    let mut best = completed + conversions(&natural);
    let wanted = natural.iter().find_map(|plan| converted_to(plan, &program, tensor));
    let turned = match wanted {
        Some(format) if format.map().is_none() => Some(format.mode_order().to_vec()),
        // Rows that are scattered may be columns that are summed up.
        _ if order == 2 => Some(vec![1, 0]),
        _ => None,
    };
    if let Some(turned) = turned.filter(|turned| *turned != modes) {
        let (program_turned, _, completed) = checked(needs, &plain.clone().with_mode_order(turned.clone())?)?;
        let merit = |plans: &[Plan], program: &Program| {
            let kept = plans.iter().all(|plan| converted_to(plan, program, tensor).is_none());
            (kept, std::cmp::Reverse(conversions(plans)), shared_without_races(plans))
        };
        let others = plans(needs, &program_turned)?;
        if let Some(others) = others.filter(|others| merit(others, &program_turned) > merit(&natural, &program)) {
            (modes, best) = (turned, completed + conversions(&others));
        }
    }
    let reading = |statement: &&Assignment| statement.rhs.accesses().iter().any(|access| access.tensor == tensor);
    let mut reading = program.statements.iter().filter(reading).peekable();
    let narrow =
        reading.peek().is_some() && reading.clone().all(|statement| others_are_dense(&program, statement, tensor));
    let padded = narrow && reading.all(|statement| is_over(statement, tensor));
    Ok(Walk { modes, padded, narrow, conversions: best })
}

/// The place of the first candidate that the program walks through as it is; the last one that is asked for otherwise.
pub(super) fn first_walked(needs: &Needs<'_>, walk: &Walk, candidates: &[Candidate]) -> Result<usize, Error> {
    for (place, candidate) in candidates.iter().enumerate() {
        let (program, tensor, completed) = checked(needs, &candidate.format)?;
        let Some(tensor) = tensor else { return Ok(0) };
        let Some(plans) = plans(needs, &program)? else { continue };
        let kept = plans.iter().all(|plan| converted_to(plan, &program, tensor).is_none());
        if kept && completed + conversions(&plans) <= walk.conversions {
            return Ok(place);
        }
    }
    // Every format is converted: the one that needs no conversion before is as good as any.
    Ok(candidates.iter().position(|one| one.convert == 0.0).unwrap_or(0))
}

/// The program with the tensor in a format; the tensor, if it is in it; and the number of tensors that are completed first, as their unique
/// elements are not enough.
fn checked(needs: &Needs<'_>, format: &Format) -> Result<(Program, Option<TensorId>, usize), Error> {
    let mut declarations: Declarations = needs.options.declarations.clone();
    // Other tensors whose format is chosen, too, are taken as stored in rows until it is their turn.
    for spec in declarations.formats.values_mut().filter(|spec| spec.uses().is_some()) {
        *spec = FormatSpec::Csf;
    }
    declarations.formats.insert(needs.tensor.to_string(), format.into());
    let mut program = lacunar_front::check(needs.program, &declarations)
        .map_err(|diagnostics| Error::program(needs.program, diagnostics))?;
    let completed = settle(&mut program).len();
    let tensor = program.tensors.iter().find(|(_, tensor)| tensor.name == needs.tensor).map(|(id, _)| id);
    Ok((program, tensor, completed))
}

/// A plan for each statement, by the program's schedule where it has one; `None` if that is refused.
fn plans(needs: &Needs<'_>, program: &Program) -> Result<Option<Vec<Plan>>, Error> {
    let options = needs.options;
    let Ok(schedules) = check_schedule(options.schedule.text(), program) else { return Ok(None) };
    let machine = machine(options)?;
    let (memory, grain) = (Memory::of(&machine), options.grain.unwrap_or_else(|| machine.grain()));
    let mut plans = Vec::with_capacity(program.statements.len());
    for (statement, schedule) in program.statements.iter().zip(&schedules) {
        let given = (!schedule.commands.is_empty()).then_some(schedule);
        let crate::Options { search, strict, alone, .. } = *options;
        let request = Request { search, strict, schedule: given, memory, grain, alone };
        match plan::plan(program, statement, &request) {
            Ok(plan) => plans.push(plan),
            Err(diagnostic) if given.is_some() && diagnostic.category == Category::User => return Ok(None),
            Err(diagnostic) => return Err(Error::program("", vec![diagnostic])),
        }
    }
    Ok(Some(plans))
}

/// The format to which a plan converts a tensor.
fn converted_to(plan: &Plan, program: &Program, tensor: TensorId) -> Option<Format> {
    let from = &program.tensors[tensor].format;
    let made = plan.conversions.iter().filter(|conversion| conversion.source == tensor);
    made.map(|conversion| own_format(&plan.kernel.tensors[conversion.tensor])).find(|format| format != from)
}

/// The number of tensors that are converted: operands and results.
fn conversions(plans: &[Plan]) -> usize {
    let results = plans.iter().filter(|plan| plan.convert_result.is_some()).count();
    let operands = plans.iter().flat_map(|plan| plan.conversions.iter().map(move |one| (plan, one)));
    let changed = operands.filter(|(plan, one)| {
        let stored = |tensor| own_format(&plan.kernel.tensors[tensor]);
        stored(one.tensor) != stored(one.source)
    });
    results + changed.count()
}

/// True if threads share a loop of every statement, and no two add to the same place.
fn shared_without_races(plans: &[Plan]) -> bool {
    plans.iter().all(|plan| {
        plan.schedule.commands.iter().any(|command| {
            matches!(&command.kind, CommandKind::Parallelize { unit: Unit::CpuThread, race: Race::None, .. })
        })
    })
}

/// True if a statement reads the tensor once, and everything else in it is dense.
fn others_are_dense(program: &Program, statement: &Assignment, tensor: TensorId) -> bool {
    let accesses = statement.rhs.accesses();
    let once = accesses.iter().filter(|access| access.tensor == tensor).count() == 1;
    let dense = |access: &lacunar_notation::Access| program.tensors[access.tensor].format.is_dense();
    let others = accesses.iter().all(|access| access.tensor == tensor || dense(access));
    once && others && dense(&statement.lhs) && program.tensors[tensor].role == Role::Input
}

/// True if all loops of a statement are over the dimensions of the tensor.
fn is_over(statement: &Assignment, tensor: TensorId) -> bool {
    let accesses = statement.rhs.accesses();
    let Some(own) = accesses.iter().find(|access| access.tensor == tensor) else { return false };
    let inside = |access: &lacunar_notation::Access| access.vars.iter().all(|var| own.vars.contains(var));
    accesses.iter().all(|access| inside(access)) && inside(&statement.lhs)
}

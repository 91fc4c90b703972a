//! Planning: the order of the loops, and the conversions that it needs.
//!
//! On entry: one statement of a checked program. On exit: a [`Plan`]: a kernel in concrete notation that the lowering accepts, the
//! conversions of inputs it relies on, and a format for the result if it is to be converted afterwards. No expression is refused:
//! if the storage orders of operands contradict each other, some are converted, and a note says so.
//!
//! `draft` takes the steps; `order` searches for the cheapest order under the cost model of `cost`; `storage` says which
//! conversions an order needs, `convert` makes them; `workspaces` chooses how temporaries are stored.
//!
//! Paper: Kjolstad et al. 2017, §4.2, requires the graph of storage orders to be acyclic and refuses the rest; Ahrens et al.,
//! *Autoscheduling for Sparse Tensor Algebra* (PLDI 2022), choose orders by asymptotic cost, as is done here with sizes.

mod across;
mod auto;
mod bands;
mod candidates;
mod combined;
mod commands;
pub(crate) mod conditions;
pub(crate) mod convert;
mod copy;
mod cost;
mod diagonals;
mod draft;
mod factor;
mod finish;
mod gathers;
mod given;
mod insert;
mod lists;
mod lookup;
mod maps;
mod opened;
mod order;
mod packed;
mod panels;
mod rows;
mod same;
mod skew;
mod storage;
mod strips;
mod terms;
mod tile;
mod traffic;
mod workspaces;
mod written;

pub use candidates::{Candidate, candidates};
pub use copy::Copied;
pub use insert::unknown_pattern;
pub use maps::over_stored_dimensions;
pub use traffic::Memory;

use lacunar_base::{Arena, Diagnostic};
use lacunar_formats::Format;
use lacunar_notation::concrete::Kernel;
use lacunar_notation::gather;
use lacunar_notation::index::read_by;
use lacunar_notation::schedule::{Command, CommandKind, Schedule};
use lacunar_notation::{
    Access, Assignment, Expr, ExprKind, IndexVar, Indicator, Program, Role, Tensor, TensorId, VarId,
};

use self::draft::draft;
use crate::algebra::with_pruned_mask;
use crate::concretize::flatten;
use crate::gaps;
use crate::reduction::{fresh_name, make_explicit, with_patterns_of_terms};
use crate::schedule::stands_outside;
use crate::structure::as_stored;

/// The kernel, the conversions and the notes for one statement.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The kernel. Its first tensors are those of the program, with the same handles.
    pub kernel: Kernel,
    /// The tensor of the program that is assigned to.
    pub result: TensorId,
    /// The statement in reduction notation, over the user's dimensions.
    pub statement: Assignment,
    /// Inputs of the kernel that are made of tensors of the program.
    pub conversions: Vec<Conversion>,
    /// The statement only stores a tensor otherwise: the kernel need not run, if the whole result is asked for.
    pub copied: Option<Copied>,
    /// The kernel's result has this format and is converted to the one the program asks for; to that of its stored dimensions
    /// first, where the kernel walks through these.
    pub convert_result: Option<Format>,
    /// The choices and their reasons, in words for people.
    pub notes: Vec<String>,
    /// The facts that may surprise the user, in words for people.
    pub warnings: Vec<String>,
    /// True if the result is sparse and stores every element.
    pub is_full: bool,
    /// The schedule that was given or chosen. Planning with it makes the same kernel.
    pub schedule: Schedule,
}

impl Plan {
    /// The kernel as text that can be read again: the line of a tensor that is made of another one names that.
    pub fn text(&self) -> String {
        let source = |tensor| self.conversions.iter().find(|made| made.tensor == tensor).map(|made| made.source);
        let mut kernel = named_apart(self.kernel.clone());
        // The entries of a relation are stored for the kernel; whoever reads the text has the relation.
        for made in &self.conversions {
            if let Some(indicator) = self.kernel.tensors[made.source].indicator.clone() {
                let stored = &mut kernel.tensors[made.tensor];
                (stored.indicator, stored.role) = (Some(indicator), Role::Indicator);
            }
        }
        kernel.text(&source)
    }

    /// The commands of the schedule as text. A gather names the tensor of the program that holds its coordinates, as accesses name theirs,
    /// whatever these were converted to.
    pub fn commands(&self) -> Vec<String> {
        let (tensors, vars) = (self.kernel.tensors.clone(), self.kernel.vars.clone());
        let mut kernel = Kernel { tensors, vars, ..Kernel::default() };
        for tensor in kernel.tensors.handles() {
            let Some(Indicator::Gather(own)) = kernel.tensors[tensor].indicator.as_deref_mut() else { continue };
            let made = self.conversions.iter().find(|made| own.source == gather::Source::Tensor(made.tensor));
            if let Some(made) = made {
                own.source = gather::Source::Tensor(made.source);
            }
        }
        self.schedule.commands.iter().map(|command| kernel.command_text(command)).collect()
    }
}

/// The kernel with a name of its own for each variable. A loop that only a producer has keeps the name of the one that it is a copy of, under
/// which schedules know it; in a text they would be one variable.
pub fn named_apart(mut kernel: Kernel) -> Kernel {
    for var in kernel.vars.handles() {
        let name = kernel.vars[var].name.clone();
        if kernel.vars.iter().any(|(other, info)| other < var && info.name == name) {
            kernel.vars[var].name = fresh_name(&kernel.vars, &name);
        }
    }
    kernel
}

/// A tensor of a kernel that is another tensor in other storage, or its value before the statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversion {
    /// The tensor of the kernel.
    pub tensor: TensorId,
    /// The tensor of the program it is made of.
    pub source: TensorId,
}

/// The way to choose the order of the loops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Search {
    /// By the cost model.
    #[default]
    Cost,
    /// By nobody: the first order that needs no conversion, or else the natural one.
    Plain,
}

/// The demands on a plan.
#[derive(Clone, Copy, Debug, Default)]
pub struct Request<'a> {
    /// The way to choose the order of the loops.
    pub search: Search,
    /// True if products are not taken out of sums, which would round otherwise.
    pub strict: bool,
    /// The user's schedule. Without one, the planner chooses.
    pub schedule: Option<&'a Schedule>,
    /// The cost of cache lines on the machine.
    pub memory: Memory,
    /// The work that is worth a thread ([`crate::lower::Options::grain`]). No kernel is known to have less than twice as much if it is 0.
    pub grain: u64,
    /// True if operands are not converted only to make the kernel faster: nothing runs before it.
    pub alone: bool,
}

/// Plans one statement of a program.
///
/// # Errors
/// The reason why the user's schedule cannot be carried out, with the place in its text; an internal error if the plan violates the
/// invariants of concrete notation.
pub fn plan(program: &Program, statement: &Assignment, request: &Request<'_>) -> Result<Plan, Diagnostic> {
    if let Some(stored) = as_stored(program, statement) {
        return plan(&stored, statement, request);
    }
    opened::plan(program, statement, request).unwrap_or_else(|| plan_as_it_is(program, statement, request))
}

/// Plans a statement whose operands are read as they are stored, unless its loops demand otherwise.
fn plan_as_it_is(program: &Program, statement: &Assignment, request: &Request<'_>) -> Result<Plan, Diagnostic> {
    use packed::Sight;
    if let Some(plan) = across::plan(program, statement, request) {
        return Ok(plan);
    }
    let Some(settled) = packed::settled(program, statement, Sight::Arrays) else {
        return plan_as_seen(program, statement, request);
    };
    // The dimensions of what is packed are not taken apart.
    let is_seen = settled.is_in_place || !settled.sourced.is_empty();
    let is_mapped = is_seen && maps::requested(&settled.program, statement, request.schedule).is_some();
    let sights = if is_mapped { [Sight::Whole; 2] } else { [Sight::Arrays, Sight::Levels] };
    for sight in sights {
        let Some(settled) = packed::settled(program, statement, sight) else { continue };
        let plan = plan_as_seen(&settled.program, statement, request)?;
        // Loops over parts of a dimension come to other elements, too.
        if !settled.has_arrays || plan.kernel.provenance.relations.is_empty() {
            return Ok(settled.planned(program, plan));
        }
    }
    Err(Diagnostic::internal("a packed tensor is seen as an array against its loops"))
}

/// Plans a statement of a program whose formats say how tensors are seen.
fn plan_as_seen(program: &Program, statement: &Assignment, request: &Request<'_>) -> Result<Plan, Diagnostic> {
    if let Some(plan) = written::plan(program, statement, request) {
        return plan;
    }
    let rewritten = maps::requested(program, statement, request.schedule);
    let source = Source::new(program, statement, rewritten.as_ref());
    let mut plan = source.planned(request)?;
    if let (Search::Cost, None, Some(copied)) = (request.search, request.schedule, copy::copied(program, statement)) {
        let (result, source) = (&program.tensors[plan.result].name, &program.tensors[copied.source].name);
        plan.notes = vec![format!("`{result}` is `{source}`, stored otherwise: it is converted, and no kernel is run")];
        (plan.copied, plan.schedule) = (Some(copied), Schedule::default());
        (plan.warnings, plan.is_full) = (Vec::new(), false);
    }
    Ok(plan)
}

/// The statement to plan, over stored dimensions if tensors have maps.
#[derive(Clone, Copy)]
struct Source<'a> {
    program: &'a Program,
    statement: &'a Assignment,
    rewritten: Option<&'a maps::Rewritten>,
}

impl<'a> Source<'a> {
    fn new(program: &'a Program, statement: &'a Assignment, rewritten: Option<&'a maps::Rewritten>) -> Source<'a> {
        let found = rewritten.map(|rewritten| (&rewritten.program, &rewritten.statement));
        let (program, statement) = found.unwrap_or((program, statement));
        Source { program, statement, rewritten }
    }

    /// The statement in reduction notation. A statement over stored dimensions has explicit sums already: it no longer shows
    /// which variables follow from which, so that no sum may be made around anything again.
    fn explicit(&self, vars: &mut Arena<IndexVar>) -> Assignment {
        let mut explicit =
            if self.rewritten.is_some() { self.statement.clone() } else { make_explicit(self.statement, vars) };
        explicit.rhs = with_patterns_of_terms(explicit.rhs, &self.program.tensors);
        with_pruned_mask(&self.program.tensors, explicit)
    }

    /// The expression that is computed for a statement in reduction notation. It is the written one where a schedule divides or joins loops,
    /// and where a statement is over stored dimensions.
    fn computed(&self, explicit: &Assignment, request: &Request<'_>, vars: &Arena<IndexVar>) -> Expr {
        let may_change = request.search == Search::Cost
            && self.rewritten.is_none()
            && !request.schedule.is_some_and(given::wants_flat_nest);
        let counted = may_change.then(|| gaps::counted(explicit, &self.program.tensors, vars)).flatten();
        counted.unwrap_or_else(|| explicit.rhs.clone())
    }

    fn planned(self, request: &Request<'_>) -> Result<Plan, Diagnostic> {
        // Schedules for whole nests do not know of the products beside those of unique elements.
        let tensors = &self.program.tensors;
        let is_mirrored = self.statement.rhs.accesses().iter().any(|access| tensors[access.tensor].is_unique);
        if is_mirrored {
            return draft(self, request);
        }
        if let (Search::Cost, None) = (request.search, request.schedule)
            && let Some((schedule, why)) = special(self, request)
            && let Ok(mut plan) = draft(self, &Request { schedule: Some(&schedule), ..*request })
        {
            plan.notes.push(why.to_string());
            return Ok(plan);
        }
        let plan = self.drafted(request)?;
        if let (Search::Cost, None, None) = (request.search, request.schedule, self.rewritten)
            && let Some((kernel, lhs, rhs)) = flat(self, request)
            && let Some(schedule) = rows::schedule(&kernel, &lhs, &rhs, &plan.schedule, request)
            && let Ok(mut in_rows) = draft(self, &Request { schedule: Some(&schedule), ..*request })
        {
            let said = |schedule: &Schedule| schedule.commands.iter().filter_map(auto::said).collect::<Vec<String>>();
            let (before, now) = (said(&plan.schedule), said(&schedule));
            // The loops of threads and lanes are others now, and their order may be.
            let order = |schedule: &Schedule| schedule.commands.iter().find_map(reordered);
            let is_kept = order(&plan.schedule) == order(&schedule);
            let holds = |note: &String| !before.contains(note) && (is_kept || !note.starts_with("loop order "));
            let mut notes: Vec<String> = plan.notes.into_iter().filter(holds).collect();
            let why = "rows, or strips of them, are summed up in registers".to_string();
            for note in now.into_iter().chain(in_rows.notes).chain([why]) {
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
            in_rows.notes = notes;
            return Ok(in_rows);
        }
        // Sums that are not long, where no tiles of registers form the elements.
        if let (Search::Cost, None) = (request.search, request.schedule)
            && let Some((kernel, lhs, rhs)) = flat(self, request)
            && let Some(schedule) = strips::schedule(&kernel, &lhs, &rhs, request, true)
            && let Ok(mut in_strips) = draft(self, &Request { schedule: Some(&schedule), ..*request })
        {
            in_strips.notes.push("strips of a sum stay in the cache".to_string());
            return Ok(in_strips);
        }
        Ok(plan)
    }

    /// A draft with the loops in the cheapest order; where an expression that a schedule precomputes stands outside of the loop that it
    /// names, in the cheapest order in which it stands inside, unless the schedule says the order. So a schedule that fits the cheapest
    /// order on one machine is not refused on another.
    fn drafted(self, request: &Request<'_>) -> Result<Plan, Diagnostic> {
        /// The most orders that are tried.
        const ORDERS: usize = 24;
        let (refusal, schedule) = match (draft(self, request), request.schedule) {
            (Err(refusal), Some(schedule)) if request.search == Search::Cost && stands_outside(&refusal) => {
                (refusal, schedule)
            }
            (outcome, _) => return outcome,
        };
        let Some((kernel, lhs, rhs)) = flat(self, request) else { return Err(refusal) };
        if schedule.commands.iter().any(|command| matches!(command.kind, CommandKind::Reorder(_))) {
            return Err(refusal);
        }
        let costs = cost::Costs::new(&kernel, &lhs, &rhs, request.memory);
        let estimate = |order: &[VarId]| costs.of(order);
        let natural = order::natural_order(&kernel, &lhs, &rhs);
        let (orders, _) = order::ranked(&natural, &order::Ties::of(&kernel, &rhs), estimate);
        let tried = orders.iter().take(ORDERS).find_map(|(_, order)| {
            let first = commands::order_command(&kernel, order)?;
            let commands = [first].into_iter().chain(schedule.commands.iter().cloned()).collect();
            draft(self, &Request { schedule: Some(&Schedule { commands }), ..*request }).ok()
        });
        tried.ok_or(refusal)
    }
}

/// The names of the loops that a command puts in order.
fn reordered(command: &Command) -> Option<Vec<String>> {
    match &command.kind {
        CommandKind::Reorder(names) => Some(names.iter().map(|name| name.text.clone()).collect()),
        _ => None,
    }
}

/// A schedule for a statement that is better not computed by loops over its variables and merges alone, and why.
fn special(source: Source<'_>, request: &Request<'_>) -> Option<(Schedule, &'static str)> {
    let (kernel, lhs, rhs) = flat(source, request)?;
    let in_bands = bands::schedule(&kernel, &lhs, &rhs, request);
    let in_bands = in_bands.map(|found| (found, "bands of columns stay in the cache for all rows"));
    let skewed = || {
        let found = skew::schedule(&kernel, &lhs, &rhs)?;
        Some((found, "threads share stored values, not rows: one row holds a large part of them"))
    };
    let looked_up = || {
        let found = lookup::schedule(&kernel, &lhs, &rhs, request.memory).filter(|found| !names_made(found, source))?;
        Some((found, "an operand that stays the same is looked up, not merged again and again"))
    };
    let tiled =
        || Some((tile::schedule(&kernel, &lhs, &rhs, request.memory)?, "tiles of the result stay in the cache"));
    let in_strips =
        || Some((strips::schedule(&kernel, &lhs, &rhs, request, false)?, "strips of a long sum stay in the cache"));
    in_bands.or_else(skewed).or_else(looked_up).or_else(tiled).or_else(in_strips)
}

/// True if a schedule precomputes of a tensor that is made for the loops, which its text could not name.
fn names_made(schedule: &Schedule, source: Source<'_>) -> bool {
    let is_made = |access: &&Access| {
        let is_alias = |rewritten: &maps::Rewritten| rewritten.aliases.iter().any(|made| made.tensor == access.tensor);
        let Tensor { role, view, .. } = &source.program.tensors[access.tensor];
        let is_computed = *role == Role::Indicator || (*role == Role::Index && view.is_some());
        is_computed || source.rewritten.is_some_and(is_alias)
    };
    schedule.commands.iter().any(|command| match &command.kind {
        CommandKind::Precompute { expr, .. } => expr.accesses().iter().any(is_made),
        _ => false,
    })
}

/// The tensors and variables of a statement, its target, and the sum that it assigns, unless the sum reads the result or, for a
/// strict kernel, differs from the written one.
fn flat(source: Source<'_>, request: &Request<'_>) -> Option<(Kernel, Access, Expr)> {
    let program = source.program;
    let mut kernel = Kernel { tensors: program.tensors.clone(), vars: program.vars.clone(), ..Kernel::default() };
    let statement = source.explicit(&mut kernel.vars);
    let computed = source.computed(&statement, request, &kernel.vars);
    let rhs = flatten(&kernel.tensors, computed.clone());
    if request.strict && rhs != computed {
        return None;
    }
    // The result has no room for the values beside indices.
    if matches!(&rhs.kind, ExprKind::Reduce(monoid, ..) if monoid.compared().is_some()) {
        return None;
    }
    let reads_result = read_by(&kernel.tensors, &rhs).contains(&statement.lhs.tensor);
    (!reads_result).then_some((kernel, statement.lhs, rhs))
}

//! Candidates: a handful of schedules for one statement, among which measuring may choose.
//!
//! The planner's own choice is the first. Each of the others changes one thing of it: the plain loop nest, one thread, other orders
//! of the loops that agree with the storage, threads that share stored values, look-ups in place of merges, sums without factors
//! taken out, tiles, vector lanes, unrolled loops, merges that gallop. A candidate is left out if the checks refuse it, or if one
//! before it makes the same kernel.
//!
//! ```text
//! y(i) = A(i,j) * x(j)      reorder(i, j), parallelize(i, cpu, none), parallelize(j, vector, ignore)
//!                           the same without threads; without vector lanes; with unroll(j, 4)
//!                           reorder(i, j), fuse(i, j, i_j), pos(i_j, at, A(i,j)), divide(at, chunk, place, 8 threads), ..
//! ```
//!
//! Orders whose estimated work is many times that of the best are no candidates: measuring one would take longer than it
//! could ever save. Paper: Ansel et al., *OpenTuner* (PACT 2014), measure as well; here the cost model leaves so few that all
//! of them can be measured.

use lacunar_base::Diagnostic;
use lacunar_notation::concrete::{Kernel, Stmt};
use lacunar_notation::schedule::{Command, CommandKind, Merge, Name, Race, Schedule, Unit};
use lacunar_notation::{Access, Assignment, Expr, Program, VarId};

use super::commands::{command, fresh, name, order_command};
use super::cost::Costs;
use super::draft::draft;
use super::storage::{discordant, distinct_accesses, is_sparse};
use super::traffic::Memory;
use super::{Plan, Request, Search, Source, auto, flat, lookup, maps, order, plan, skew, written};
use crate::concretize::REGISTER_BYTES;
use crate::iterate::iterators::AccessKey;
use crate::iterate::lattice::Lattice;

/// The most candidates of a statement.
const MOST: usize = 12;
/// The most orders of loops besides the planner's.
const ORDERS: usize = 3;
/// An order may have at most this many times the least estimated work.
const FAR: f64 = 16.0;
/// The number of copies of an unrolled body.
const UNROLLED: u32 = 4;

/// One way to compute a statement.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// It decides everything that the schedule leaves open.
    pub search: Search,
    /// The commands; without any, the loops stay as they are.
    pub schedule: Schedule,
    /// The difference from the planner's choice, in a few words.
    pub idea: String,
}

/// Candidates for one statement, the planner's choice first, then the schedule of the request, if it has one.
///
/// # Errors
/// An internal error, if the statement cannot be planned at all.
pub fn candidates(
    program: &Program,
    statement: &Assignment,
    request: &Request<'_>,
) -> Result<Vec<Candidate>, Diagnostic> {
    if written::loops(program, statement).is_some() {
        let schedule = request.schedule.cloned().unwrap_or_default();
        return Ok(vec![Candidate { search: Search::Cost, schedule, idea: "the loops as written".to_string() }]);
    }
    let automatic = Request { search: Search::Cost, schedule: None, ..*request };
    let rewritten = maps::requested(program, statement, request.schedule);
    let source = Source::new(program, statement, rewritten.as_ref());
    let chosen = plan(program, statement, &automatic)?;
    let ordinary = draft(source, &automatic)?;
    let mut pool =
        Pool { source, strict: request.strict, memory: request.memory, found: Vec::new(), kernels: Vec::new() };
    pool.keep(Search::Cost, &chosen, "the planner's choice");
    if let Some(given) = request.schedule {
        pool.offer(request.search, given.clone(), "as given");
    }
    let terms = flat(source, &automatic);
    match &terms {
        Some((kernel, lhs, rhs)) => pool.loops(kernel, lhs, rhs, &ordinary),
        None => pool.offer(Search::Plain, Schedule::default(), "the plain loop nest"),
    }
    pool.offer(Search::Cost, ordinary.schedule.clone(), "loops over coordinates, and merges");
    pool.offer(Search::Cost, without(&ordinary.schedule, Unit::CpuThread), "one thread");
    pool.offer(Search::Cost, without(&chosen.schedule, Unit::CpuVector), "no vector lanes");
    pool.innermost(&chosen);
    pool.offer(Search::Plain, ordinary.schedule.clone(), "sums as they are written");
    if let Some((kernel, lhs, rhs)) = &terms {
        pool.tiles(kernel, lhs, rhs, &ordinary);
    }
    Ok(pool.found)
}

/// The candidates that were found, with the kernels that they make.
struct Pool<'a> {
    source: Source<'a>,
    strict: bool,
    memory: Memory,
    found: Vec<Candidate>,
    kernels: Vec<String>,
}

impl Pool<'_> {
    fn planned(&self, search: Search, schedule: &Schedule) -> Option<Plan> {
        let request = Request {
            search,
            strict: self.strict,
            schedule: Some(schedule),
            memory: self.memory,
            ..Request::default()
        };
        draft(self.source, &request).ok()
    }

    /// Adds a schedule, unless the checks refuse it or its kernel is known.
    fn offer(&mut self, search: Search, schedule: Schedule, idea: &str) {
        if let Some(plan) = self.planned(search, &schedule) {
            self.keep(search, &plan, idea);
        }
    }

    fn keep(&mut self, search: Search, plan: &Plan, idea: &str) {
        let kernel = plan.kernel.to_string();
        if self.found.len() < MOST && !self.kernels.contains(&kernel) {
            self.kernels.push(kernel);
            self.found.push(Candidate { search, schedule: plan.schedule.clone(), idea: idea.to_string() });
        }
    }

    /// Adds a schedule, completed by the planner's choices for its loops: those that threads share, and those that run in vector
    /// lanes.
    fn offer_completed(&mut self, mut schedule: Schedule, idea: &str) {
        let Some(Plan { mut kernel, .. }) = self.planned(Search::Cost, &schedule) else { return };
        let shared = schedule.commands.iter().any(|command| runs_on(command, Unit::CpuThread));
        let chosen = auto::schedule(&mut kernel, 0, &mut Vec::new());
        schedule.commands.extend(chosen.into_iter().filter(|command| !shared || runs_on(command, Unit::CpuVector)));
        self.offer(Search::Cost, schedule, idea);
    }

    /// Other loops: over positions, with look-ups, plain, in other orders.
    fn loops(&mut self, kernel: &Kernel, lhs: &Access, rhs: &Expr, ordinary: &Plan) {
        if let Some(schedule) = skew::over_positions(kernel, lhs, rhs) {
            self.offer_completed(schedule, "threads share stored values");
        }
        if let Some(schedule) = lookup::schedule(kernel, lhs, rhs, self.memory) {
            self.offer(Search::Cost, schedule, "look-ups in place of merges");
        }
        let natural = order::natural_order(kernel, lhs, rhs);
        let costs = Costs::new(kernel, lhs, rhs, self.memory);
        let (ranked, _) = order::ranked(&natural, &order::Ties::of(kernel, rhs), |order| costs.of(order));
        let least = ranked.first().map_or(0.0, |(cost, _)| *cost);
        if order::choose(kernel, lhs, rhs, Search::Plain, self.memory).cost <= least * FAR {
            self.offer(Search::Plain, Schedule::default(), "the plain loop nest");
        }
        let own = order_of(&ordinary.schedule);
        let agreeing = ranked.iter().filter(|(cost, order)| {
            let known = own.is_some_and(|own| own.iter().map(|name| &name.text).eq(names(kernel, order)));
            !known && *cost <= least * FAR && discordant(kernel, lhs, rhs, order).is_empty()
        });
        for (_, order) in agreeing.take(ORDERS) {
            let schedule = Schedule { commands: order_command(kernel, order).into_iter().collect() };
            let names: Vec<&str> = names(kernel, order).map(String::as_str).collect();
            self.offer_completed(schedule, &format!("loops over {}", names.join(", ")));
        }
    }

    /// Other ways to run the innermost loops of the planner's choice.
    fn innermost(&mut self, chosen: &Plan) {
        let kernel = &chosen.kernel;
        let mut loops = Vec::new();
        innermost_loops(&kernel.stmt, &mut loops);
        loops.retain(|(var, _)| kernel.provenance.tags(*var).next().is_none());
        let mut each = |idea: &str, wanted: &dyn Fn(VarId, &Stmt) -> bool, say: &dyn Fn(Name) -> CommandKind| {
            let mut vars: Vec<VarId> = Vec::new();
            for (var, body) in &loops {
                if !vars.contains(var) && wanted(*var, body) {
                    vars.push(*var);
                }
            }
            let Some(first) = vars.first() else { return };
            let idea = format!("{idea} {}", kernel.vars[*first].name);
            let added = vars.iter().map(|var| command(say(name(kernel, *var))));
            let commands = chosen.schedule.commands.iter().cloned().chain(added).collect();
            self.offer(Search::Cost, Schedule { commands }, &idea);
        };
        each("vector lanes over", &|_, _| true, &|var| CommandKind::Parallelize {
            var,
            unit: Unit::CpuVector,
            race: Race::Auto,
        });
        let meets = |var, body: &Stmt| {
            Lattice::build(kernel, body, var)
                .is_ok_and(|lattice| lattice.points.len() == 1 && lattice.points[0].0.count_ones() > 1)
        };
        each("galloping over", &meets, &|var| CommandKind::Mergeby { var, strategy: Merge::Gallop });
        each("unrolled loop over", &|_, _| true, &|var| CommandKind::Unroll { var, times: UNROLLED });
    }

    /// Strips of the innermost loop that fit the registers, if the whole of it does not.
    fn tiles(&mut self, kernel: &Kernel, lhs: &Access, rhs: &Expr, ordinary: &Plan) {
        let Some([outer @ .., before, last]) = order_of(&ordinary.schedule) else { return };
        let Some(var) = lhs.vars.iter().copied().find(|var| kernel.vars[*var].name == last.text) else { return };
        let size = REGISTER_BYTES / rhs.dtype.arithmetic().size() as u64;
        let sparse = |key: &AccessKey| key.vars.contains(&var) && is_sparse(kernel, key.tensor);
        if kernel.vars[var].size.is_none_or(|whole| whole <= size) || distinct_accesses(rhs).iter().any(sparse) {
            return;
        }
        let strip = fresh(kernel, &format!("{last}0"));
        let inside = fresh(kernel, &format!("{last}1"));
        let order = outer.iter().cloned().chain([strip.clone(), before.clone(), inside.clone()]).collect();
        let mut commands = vec![
            command(CommandKind::Split { var: last.clone(), outer: strip, inner: inside.clone(), size }),
            command(CommandKind::Reorder(order)),
        ];
        commands.extend(ordinary.schedule.commands.iter().filter(|one| runs_on(one, Unit::CpuThread)).cloned());
        let lanes = CommandKind::Parallelize { var: inside, unit: Unit::CpuVector, race: Race::Ignore };
        commands.push(command(lanes));
        self.offer(Search::Cost, Schedule { commands }, &format!("tiles of {last}"));
    }
}

fn runs_on(command: &Command, wanted: Unit) -> bool {
    matches!(command.kind, CommandKind::Parallelize { unit, .. } if unit == wanted)
}

fn without(schedule: &Schedule, unit: Unit) -> Schedule {
    Schedule { commands: schedule.commands.iter().filter(|command| !runs_on(command, unit)).cloned().collect() }
}

/// The order of the loops that a schedule says.
fn order_of(schedule: &Schedule) -> Option<&[Name]> {
    schedule.commands.iter().find_map(|command| match &command.kind {
        CommandKind::Reorder(names) => Some(names.as_slice()),
        _ => None,
    })
}

fn names<'a>(kernel: &'a Kernel, vars: &'a [VarId]) -> impl Iterator<Item = &'a String> {
    vars.iter().map(|var| &kernel.vars[*var].name)
}

/// The loops that hold an assignment alone, with it.
fn innermost_loops<'s>(stmt: &'s Stmt, found: &mut Vec<(VarId, &'s Stmt)>) {
    match stmt {
        Stmt::Assign(_) => {}
        Stmt::Forall(var, body) if matches!(**body, Stmt::Assign(_)) => found.push((*var, body)),
        Stmt::Forall(_, body) => innermost_loops(body, found),
        Stmt::Where { consumer, producer } => {
            innermost_loops(producer, found);
            innermost_loops(consumer, found);
        }
        Stmt::Sequence(stmts) => stmts.iter().for_each(|stmt| innermost_loops(stmt, found)),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use lacunar_formats::Format;
    use lacunar_front::{Declarations, check, schedule};
    use lacunar_notation::Program;

    use super::{Candidate, MOST, candidates};
    use crate::plan::{Request, Search, plan};

    fn program(source: &str, tensors: &[(&str, Format, &[u64], u64)]) -> Program {
        let mut declarations = Declarations::new();
        for (name, format, dims, nnz) in tensors {
            declarations.formats.insert((*name).to_string(), format.clone().into());
            declarations.dims.insert((*name).to_string(), dims.to_vec());
            declarations.nnz.insert((*name).to_string(), *nnz);
        }
        check(source, &declarations).unwrap()
    }

    fn of(program: &Program, request: &Request<'_>) -> Vec<Candidate> {
        candidates(program, &program.statements[0], request).unwrap()
    }

    fn ideas(found: &[Candidate]) -> Vec<&str> {
        found.iter().map(|candidate| candidate.idea.as_str()).collect()
    }

    const SIZE: u64 = 10_000;

    #[test]
    fn each_is_another_kernel_and_its_text_makes_it_again() {
        let csr = || Format::csr();
        let square: &[u64] = &[SIZE, SIZE];
        let tall: &[u64] = &[SIZE, 512];
        let programs = [
            program("y(i) = A(i,j) * x(j)", &[("A", csr(), square, 80_000), ("x", Format::dense(1), &[SIZE], SIZE)]),
            program(
                "C(i,k) = A(i,j) * B(j,k)",
                &[("A", csr(), square, 80_000), ("B", Format::dense(2), tall, SIZE << 9)],
            ),
            program(
                "C(i,k) = A(i,j) * B(j,k)",
                &[("A", csr(), square, 80_000), ("B", csr(), square, 80_000), ("C", csr(), square, 1 << 20)],
            ),
            program("t = L(i,j) * L(j,k) * L(i,k)", &[("L", csr(), square, 80_000)]),
            program("y(i) += A(i,j) * x(j)", &[("A", csr(), square, 80_000)]),
            program("s = 2", &[]),
        ];
        for program in &programs {
            let found = of(program, &Request::default());
            assert!(found.len() <= MOST && found[0].idea == "the planner's choice", "{found:?}");
            let planned = plan(program, &program.statements[0], &Request::default()).unwrap();
            let mut kernels = vec![planned.kernel.to_string()];
            for candidate in &found[1..] {
                let planned = |schedule| {
                    let request = Request { search: candidate.search, schedule: Some(schedule), ..Request::default() };
                    plan(program, &program.statements[0], &request).unwrap()
                };
                let text = planned(&candidate.schedule).commands().join(", ");
                let read = schedule::check(&text, program).unwrap();
                let kernel = planned(&read[0]).kernel.to_string();
                assert!(!kernels.contains(&kernel), "{candidate:?}\n{kernel}");
                kernels.push(kernel);
            }
        }
    }

    #[test]
    fn what_applies_is_there() {
        let csr = Format::csr();
        let product = "C(i,k) = A(i,j) * B(j,k)";
        let dense = ("B", Format::dense(2), &[SIZE, 512][..], SIZE << 9);
        let found = of(&program(product, &[("A", csr.clone(), &[SIZE, SIZE], 80_000), dense]), &Request::default());
        for idea in ["threads share stored values", "one thread", "tiles of k"] {
            assert!(ideas(&found).contains(&idea), "{idea}: {:?}", ideas(&found));
        }
        let square = |name| (name, csr.clone(), &[SIZE, SIZE][..], 80_000);
        let found = of(&program("t = A(i,j) * B(i,j)", &[square("A"), square("B")]), &Request::default());
        assert!(ideas(&found).contains(&"galloping over j"), "{:?}", ideas(&found));
    }

    #[test]
    fn a_schedule_that_is_given_takes_part() {
        let program = program("y(i) = A(i,j) * x(j)", &[("A", Format::csr(), &[SIZE, SIZE], 80_000)]);
        let given = schedule::check("split(i, i0, i1, 64), parallelize(i0, cpu, none)", &program).unwrap();
        let found = of(&program, &Request { schedule: Some(&given[0]), ..Request::default() });
        assert_eq!(found[1].idea, "as given");
        assert_eq!(found[1].schedule, given[0]);
        assert_eq!((found[0].search, found[1].search), (Search::Cost, Search::Cost));
    }
}

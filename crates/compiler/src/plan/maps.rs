//! Statements over tensors whose formats map dimensions to levels: rewritten into statements over stored dimensions, or over
//! tensors that are converted first.
//!
//! On entry: a checked statement. On exit: one in reduction notation in which every tensor stores one dimension a level, so that
//! all later stages know nothing of maps. Each variable whose dimension some map takes apart is replaced by those of the stored
//! dimensions ([`lacunar_notation::stored`]); dense tensors are seen through views. Entries of a tensor with slots are summed up
//! over the slots, each entry being in one of them:
//!
//! ```text
//! y(i) = sum(j, A(i,j) * x(j))       A: ell      y(i) = sum(s, j, A(s,i,j) * x(j))
//! ```
//!
//! If a dimension is stored by the ranks of its coordinates, loops are over ranks, and dense tensors are seen at the coordinates
//! that have them. Two tensors rank a dimension in two ways, so that one at most is walked through.
//!
//! A dimension that is recovered in reverse, from the far end of a diagonal (`ds:1-0,1`), would be walked through downwards: such
//! tensors are always converted.
//!
//! All maps of a statement have to take a variable's dimension apart in the same way, and tensors that are not dense have to store
//! it so too. Otherwise, tensors with maps are converted to formats without, and those with few values give way first; results are
//! converted afterwards. So every statement has a plan, whatever the formats.
//!
//! Paper: Chou et al. 2020, §4, remaps the coordinates of conversions; here every statement is remapped.

mod rewriter;
mod walked;

use lacunar_notation::schedule::{Effect, Schedule};
use lacunar_notation::stored::StoredSpace;
use lacunar_notation::{Access, Assignment, Program, VarId};

use self::rewriter::rewritten;
pub(super) use self::rewriter::without_map;
use self::walked::{Apart, agree, candidates, contradiction};
use super::Conversion;
use super::diagonals::Diagonals;
use crate::iterate::iterators::AccessKey;
use crate::reduction::make_explicit;

/// A statement without maps.
#[derive(Clone, Debug)]
pub(super) struct Rewritten {
    /// The tensors and variables of the program, in other formats and with more behind them.
    pub program: Program,
    /// The statement over the user's dimensions.
    pub written: Assignment,
    /// The statement over stored ones.
    pub statement: Assignment,
    /// Inputs that are other tensors of the program, as they are or converted.
    pub aliases: Vec<Conversion>,
    /// The ties between stored dimensions and the others.
    pub space: StoredSpace,
    /// True if the result has a map, and the statement gives it in a format without.
    pub result_without_map: bool,
    /// The decisions, in words for people.
    pub notes: Vec<String>,
}

/// Rewrites a statement; `None` if no tensor of it has a map. `walks` says that maps may be walked through, else all tensors that
/// have one are converted.
pub(super) fn rewrite(program: &Program, statement: &Assignment, walks: bool) -> Option<Rewritten> {
    let mut accesses = statement.rhs.accesses().into_iter().chain([&statement.lhs]);
    if accesses.all(|access| program.tensors[access.tensor].format.map().is_none()) {
        return None;
    }
    let mut program = program.clone();
    let explicit = make_explicit(statement, &mut program.vars);
    let mut walked: Vec<AccessKey> = if walks { candidates(&program, &explicit) } else { Vec::new() };
    let (statement, vars, apart) = loop {
        let (apart, kept) = agree(&program, &walked);
        walked = kept;
        let counted_from = |var: VarId| match apart.get(&var) {
            Some(Apart::Diagonals(other)) => Some(*other),
            _ => None,
        };
        let mut vars = program.vars.clone();
        let diagonals = Diagonals { counted_from: &counted_from, walked: &walked };
        let arranged = diagonals.arrange(&program.tensors, &explicit, &mut vars);
        let fault = match &arranged {
            Ok(statement) => contradiction(&program, statement, &walked, &apart),
            Err(place) => Some(*place),
        };
        match (arranged, fault) {
            (Ok(statement), None) => break (statement, vars, apart),
            (_, place) => drop(walked.remove(place.unwrap_or(0))),
        }
    };
    program.vars = vars;
    Some(rewritten(&program, &statement, walked, apart))
}

/// A program of one statement over the stored dimensions of its tensors, whose variables a schedule may name; `None` if no tensor
/// is walked through so.
pub fn over_stored_dimensions(program: &Program) -> Option<Program> {
    let [statement] = program.statements.as_slice() else { return None };
    let Rewritten { program, statement, space, .. } = rewrite(program, statement, true)?;
    (!space.sizes.is_empty()).then(|| Program { statements: vec![statement], ..program })
}

/// The statement that a request asks for: over stored dimensions, unless its schedule names other variables.
pub(super) fn requested(program: &Program, statement: &Assignment, schedule: Option<&Schedule>) -> Option<Rewritten> {
    let walked = rewrite(program, statement, true)?;
    let Some(schedule) = schedule else { return Some(walked) };
    let mut known: Vec<&str> = Vec::new();
    let accesses: Vec<&Access> = walked.statement.rhs.accesses().into_iter().chain([&walked.statement.lhs]).collect();
    for var in accesses.iter().flat_map(|access| &access.vars) {
        known.push(&walked.program.vars[*var].name);
    }
    let is_met = |access: &Access| accesses.iter().any(|met| AccessKey::from(*met) == AccessKey::from(access));
    for command in &schedule.commands {
        let Effect { uses, makes, .. } = command.kind.effect();
        let unmet = command.kind.accesses().into_iter().any(|access| !is_met(access));
        if unmet || uses.iter().any(|name| !known.contains(&name.text.as_str())) {
            return rewrite(program, statement, false);
        }
        known.extend(makes.into_iter().map(|name| name.text.as_str()));
    }
    Some(walked)
}

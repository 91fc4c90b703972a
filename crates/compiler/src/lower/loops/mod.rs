//! Loops over variables of the statement: `forall(i, body)` by its merge lattice. A file emits one strategy or two that are much
//! alike:
//!
//! | file | strategy |
//! |---|---|
//! | `dense` | every coordinate of the region |
//! | `borders` | every coordinate of the region, in pieces between borders (`Borders`) |
//! | `parts` | every coordinate of the region, in pieces in one of which more is known (`Parts`) |
//! | `lanes` | every coordinate, in lanes in which operands are tested (`Tested`) |
//! | `listed` | lists of the coordinates that a tested operand stores |
//! | `positions` | the positions of one iterator, or at most one of them |
//! | `runs` | runs of neighboring coordinates |
//! | `blocks` | blocks of elements in nodes |
//! | `merge` | several iterators, advanced together |
//! | `pieces` | several iterators of neighboring coordinates, piece by piece |
//! | `gallop` | an intersection, by jumps |
//! | `union` | a union without a case for every combination, and steps of plain unions |
//! | `words` | stored words of 64 coordinates |
//! | `bits` | words that are made of iterators |
//!
//! Eight more are parts of them: `stretches` and `whole` find the parts of `parts`, `here` describes a loop and its circumstances,
//! `copies` counts how often a body may be repeated, `ahead` reads values before loops inside, `together` opens iterators that are
//! advanced together, `divided` takes conditions out of loops over positions, and `lanes` also appends to a result the coordinates
//! that loops over stored words visit.
//!
//! Inside of each loop there is one case for every lattice point that it contains (`cases`), and in each case the residual
//! statement, with the coordinate and the positions of the point's iterators known.
//!
//! Paper: Kjolstad et al. 2017, §4.3 and §6.

mod ahead;
mod behind;
mod bits;
mod blocks;
mod borders;
mod cases;
mod copies;
mod dense;
mod divided;
mod gallop;
mod here;
mod lanes;
mod listed;
mod merge;
mod parts;
mod pieces;
mod positions;
mod runs;
mod stretches;
mod together;
mod union;
mod whole;
mod words;

use lacunar_base::Diagnostic;
use lacunar_imp::LoopKind;
use lacunar_notation::VarId;
use lacunar_notation::concrete::Stmt;

use super::scope::{Fact, Scope};
use super::strategy::{InWords, Strategy, choose};
use super::{Lowerer, iter, region};
use crate::iterate::lattice::Lattice;
use here::{Loop, circumstances};

/// The loops over an original variable, within the limits of the scope.
pub(super) fn original(cx: &mut Lowerer<'_>, var: VarId, body: &Stmt, scope: &Scope) -> Result<(), Diagnostic> {
    let lattice = Lattice::build(cx.kernel, body, var).map_err(|error| {
        Diagnostic::internal(format!("{} sparse operands meet in one loop; at most 64 can", error.0))
    })?;
    let (lattice, copies) = copies::with_few(lattice, body, scope);
    let scope = &region::confine(cx, var, &lattice, scope)?.with(Fact::Copies(copies));
    let traits = iter::traits(cx, &lattice, scope);
    let l = Loop { var, body, lattice: &lattice, traits: &traits, scope };
    let strategy = choose(&lattice, body, &traits, &circumstances(cx, &l));
    let names: Vec<String> =
        lattice.iterators.iter().map(|it| format!("{}{}", cx.name(it.access.tensor), it.level + 1)).collect();
    let kind = match cx.loop_kind(var, scope) {
        LoopKind::Vector(_) => ", in lanes".to_string(),
        LoopKind::Unrolled(turns) => format!(", unrolled {} times", turns.times),
        LoopKind::Serial | LoopKind::Parallel => String::new(),
    };
    cx.say(scope, &format!("{}: {}{kind}", cx.var_name(var), InWords(&strategy, &names)));
    match &strategy {
        Strategy::Nothing => Ok(()),
        Strategy::Dense => dense::emit(cx, &l),
        Strategy::Borders => borders::emit(cx, &l),
        Strategy::Parts => parts::emit(cx, &l),
        Strategy::Tested => lanes::emit(cx, &l),
        Strategy::Listed => listed::emit(cx, &l),
        Strategy::Positions(k) => positions::emit(cx, &l, *k),
        Strategy::AtMostOne(k) => positions::emit_one(cx, &l, *k),
        Strategy::Runs(k) => runs::emit(cx, &l, *k),
        Strategy::Blocks(k) => blocks::emit(cx, &l, *k),
        Strategy::Merge(loops) => merge::emit(cx, &l, loops),
        Strategy::Pieces(points) => pieces::emit(cx, &l, points),
        Strategy::Gallop(point) => gallop::emit(cx, &l, *point),
        Strategy::Words(loops) => words::emit(cx, &l, loops),
        Strategy::Bits(loops) => bits::emit(cx, &l, loops),
        Strategy::Union => union::emit(cx, &l),
    }
}

//! Runs the iterations of a vector loop in turn where they may meet at an element.
//!
//! ```text
//! for k in 0 .. n vector {           for k in 0 .. n {
//!   for m in b .. e {                  for m in b .. e {
//!     let r: u32 = pos[i];     ->        let r: u32 = pos[i];
//!     y[i64(r)] += 1.0;                  y[i64(r)] += 1.0;
//!   }                                  }
//! }                                  }
//! ```
//!
//! Iterations may combine with one element only if its index is the same expression throughout ([`crate::ir`]). The passes move what does not
//! change out of loops, but not a load that an inner loop without iterations would not make: the index stays one of variables inside, though
//! nothing in it follows the counter. So this is for vector loops around others. A back end vectorizes none of these.

use rustc_hash::FxHashSet;

use crate::ir::{Block, Function, LoopKind, Stmt, VarId};
use crate::walk::{Changes, assigned, blocks, blocks_mut, exprs, reads, visit};

/// Makes vector loops around others serial if iterations may meet.
pub fn in_turn(mut function: Function) -> Function {
    let mut body = std::mem::take(&mut function.body);
    block_in_turn(&function, &mut body);
    function.body = body;
    function
}

fn block_in_turn(function: &Function, block: &mut Block) {
    for stmt in block {
        let is_around = blocks(stmt).flatten().any(|inner| blocks(inner).next().is_some());
        let is_vector = matches!(stmt, Stmt::For { kind: LoopKind::Vector(_), .. });
        let meets = is_vector && is_around && may_meet(function, stmt);
        if let Stmt::For { kind, loads, .. } = stmt
            && meets
        {
            (*kind, *loads) = (LoopKind::Serial, None);
        }
        blocks_mut(stmt).for_each(|inner| block_in_turn(function, inner));
    }
}

/// True if a loop combines with elements at an index that does not follow its counter, and yet is made of variables that it gives values.
fn may_meet(function: &Function, stmt: &Stmt) -> bool {
    let changes = Changes::of(function, stmt);
    let Stmt::For { var, .. } = stmt else { return false };
    let mut following = FxHashSet::from_iter([*var]);
    while follow(function, &changes, stmt, false, &mut following) {}
    let mut meets = false;
    visit(stmt, &mut |inner| {
        if let Stmt::Store { index, reduce: Some(_), .. } = inner {
            let follows = reads(function, *index, &|var| following.contains(&var));
            meets |= changes.touch(function, *index) && !follows;
        }
    });
    meets
}

/// Adds the variables in a statement that follow others: their values, or the conditions under which they get these. True if there are new
/// ones.
fn follow(
    function: &Function,
    changes: &Changes,
    stmt: &Stmt,
    is_chosen: bool,
    following: &mut FxHashSet<VarId>,
) -> bool {
    let has_following = exprs(stmt).into_iter().any(|expr| reads(function, expr, &|var| following.contains(&var)));
    let is_loaded = match stmt {
        Stmt::Load { array, .. } => changes.arrays[array.index()],
        Stmt::Call { .. } => true,
        _ => false,
    };
    let is_new = (is_chosen || has_following || is_loaded) && assigned(stmt).is_some_and(|var| following.insert(var));
    let chooses = is_chosen || has_following && !matches!(stmt, Stmt::Define { .. } | Stmt::Assign { .. });
    let mut found = is_new;
    for block in blocks(stmt) {
        for inner in block {
            found |= follow(function, changes, inner, chooses, following);
        }
    }
    found
}

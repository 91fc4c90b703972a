//! Position space: the access that a variable's loop takes its coordinates from, if the schedule says so.
//!
//! ```text
//! fuse(i, j, f), pos(f, fp, A(i,j))      i and j are driven by A, through levels 0 and 1
//! ```
//!
//! Paper: Senanayake et al. 2020, §4.1.

use std::ops::Range;

use lacunar_notation::concrete::{Kernel, Stmt};
use lacunar_notation::provenance::Relation;
use lacunar_notation::{Access, VarId};

use super::iterators::{AccessKey, level_var};

/// The access whose positions take the place of a variable's coordinates in its loop.
pub fn replaced_by(kernel: &Kernel, var: VarId) -> Option<&Access> {
    let back = kernel.provenance.relations.iter().any(
        |relation| matches!(relation, Relation::Coord { coordinate, .. } if kernel.provenance.derives(*coordinate, var)),
    );
    if back { None } else { driver(kernel, var) }
}

/// The access whose positions a variable, or one that derives from it, runs over.
pub fn driver(kernel: &Kernel, var: VarId) -> Option<&Access> {
    kernel.provenance.relations.iter().find_map(|relation| match relation {
        Relation::Pos { coordinate, access, position } => {
            let related = kernel.provenance.derives(*coordinate, var) || kernel.provenance.derives(var, *position);
            related.then_some(access)
        }
        _ => None,
    })
}

/// The levels of an access that store original variables, which follow each other in its format.
pub fn pos_levels(kernel: &Kernel, key: &AccessKey, originals: &[VarId]) -> Range<usize> {
    let first = originals.first().and_then(|first| (0..key.vars.len()).find(|l| level_var(kernel, key, *l) == *first));
    let first = first.unwrap_or(0);
    first..first + originals.len()
}

/// The variables that count the strips which a variable, or the variable that it derives from, is the place inside of.
pub fn numbers_of_strips(kernel: &Kernel, var: VarId) -> Vec<VarId> {
    let ancestors = kernel.provenance.ancestors(var).into_iter();
    let numbers = ancestors.filter_map(|var| match *kernel.provenance.origin(var)? {
        Relation::Split { outer, inner, .. } | Relation::Divide { outer, inner, .. } => (inner == var).then_some(outer),
        _ => None,
    });
    numbers.collect()
}

/// A statement with loops over original variables only, each in the place of the first loop of those that derive from it: the
/// computation without its order. For analyses that ask which places a statement reaches.
pub fn original_loops(kernel: &Kernel, stmt: &Stmt) -> Stmt {
    fn strip(kernel: &Kernel, stmt: &Stmt, started: &mut Vec<VarId>) -> Stmt {
        match stmt {
            Stmt::Assign(_) => stmt.clone(),
            Stmt::Forall(var, body) => {
                let depth = started.len();
                let new: Vec<VarId> =
                    kernel.provenance.originals(*var).into_iter().filter(|var| !started.contains(var)).collect();
                started.extend(&new);
                let body = strip(kernel, body, started);
                started.truncate(depth);
                Stmt::foralls(&new, body)
            }
            Stmt::Where { consumer, producer } => Stmt::Where {
                consumer: Box::new(strip(kernel, consumer, started)),
                producer: Box::new(strip(kernel, producer, started)),
            },
            Stmt::Sequence(stmts) => Stmt::Sequence(stmts.iter().map(|stmt| strip(kernel, stmt, started)).collect()),
        }
    }
    if kernel.provenance.relations.is_empty() {
        return stmt.clone();
    }
    strip(kernel, stmt, &mut Vec::new())
}

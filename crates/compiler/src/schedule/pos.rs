//! `pos(i, ip, A(i,j))`: a loop over coordinates becomes one over the positions of the level of `A` that stores them.
//!
//! Demands: `i` is a variable of the statement, or several fused, that `A` stores in levels which follow each other in this order;
//! the last of them stores none of them twice; the levels above belong to loops around; and the expression has values only where `A` has.
//! Relation: pos.
//!
//! ```text
//! forall(i, forall(j, y(i) += A(i,j) * x(j)))  ->  forall(i, forall(jp, y(i) += A(i,j) * x(j)))       pos(j, jp, A(i,j))
//! ```
//!
//! Paper: Senanayake et al. 2020, §4.1 and §5.1.

use std::ops::Range;

use lacunar_base::{Diagnostic, Span};
use lacunar_formats::Level;
use lacunar_notation::concrete::{Kernel, Stmt};
use lacunar_notation::provenance::Relation;
use lacunar_notation::schedule::Name;
use lacunar_notation::{Access, Role, Tensor, VarId};

use super::nest::{each_loop, replace_loops};
use super::{Forward, Transformed, new_var, refuse, replaceable};
use crate::iterate::iterators::{AccessKey, Mode, level_var};
use crate::iterate::lattice::Lattice;
use crate::iterate::position_space::{numbers_of_strips, pos_levels};
use crate::levels::is_iterated;

pub(super) fn pos(kernel: &Kernel, name: &Name, position: &Name, access: &Access, span: Span) -> Transformed {
    let wanted = Wanted {
        kernel,
        name,
        coordinate: replaceable(kernel, name)?,
        key: AccessKey::from(access),
        tensor: &kernel.tensors[access.tensor],
        written: written(kernel, access),
        span,
    };
    wanted.check_access()?;
    let originals = kernel.provenance.originals(wanted.coordinate);
    let levels = wanted.levels(&originals)?;
    wanted.check_loops(&originals, levels.start)?;
    let coordinate = wanted.coordinate;
    let mut made = kernel.clone();
    let position = new_var(&mut made, position, None);
    made.provenance.relations.push(Relation::Pos { coordinate, position, access: access.clone() });
    made.stmt = replace_loops(made.stmt, coordinate, &mut |body| Stmt::Forall(position, Box::new(body)));
    Ok((made, Forward::default().replaced(coordinate, [position])))
}

/// The name in the program of a tensor, which may be one that the plan has made of that: both first appear at one place.
fn written<'a>(kernel: &'a Kernel, access: &Access) -> &'a str {
    let tensor = &kernel.tensors[access.tensor];
    let same = |other: &&Tensor| other.span == tensor.span && other.span != Span::NONE;
    kernel.tensors.iter().map(|(_, other)| other).find(same).map_or(&tensor.name, |own| &own.name)
}

/// The positions that a loop is to run over.
struct Wanted<'a> {
    kernel: &'a Kernel,
    name: &'a Name,
    coordinate: VarId,
    key: AccessKey,
    tensor: &'a Tensor,
    /// The name of the tensor in the program.
    written: &'a str,
    span: Span,
}

impl Wanted<'_> {
    /// The coordinate is a whole variable, or several, or a place inside of strips of one; and the loops read the tensor.
    fn check_access(&self) -> Result<(), Diagnostic> {
        let Wanted { kernel, name, written: tensor, .. } = *self;
        let provenance = &kernel.provenance;
        let origins = || provenance.ancestors(self.coordinate).into_iter().map(|var| (var, provenance.origin(var)));
        let is_number = |(var, origin): (VarId, Option<&Relation>)| match origin {
            Some(Relation::Split { outer, .. } | Relation::Divide { outer, .. }) => *outer == var,
            _ => false,
        };
        let is_pair = origins().any(|(_, origin)| matches!(origin, Some(Relation::Fuse { .. })));
        let is_placed =
            origins().any(|(_, origin)| matches!(origin, Some(Relation::Pos { .. } | Relation::Coord { .. })));
        let numbers = numbers_of_strips(kernel, self.coordinate);
        if is_placed || origins().any(is_number) || (is_pair && !numbers.is_empty()) {
            let message = format!("`{name}` is a part of what it was split from, and has no positions of its own");
            return Err(refuse("E1205", name.span, message, "a part")
                .hint("take the positions first and split these, or those of the place inside a strip"));
        }
        let mut read = false;
        kernel.stmt.visit_assigns(&mut |assign| {
            read |= assign.rhs.accesses().into_iter().any(|other| AccessKey::from(other) == self.key)
        });
        // One coordinate of a packed level may stand for all others.
        let is_own = self.tensor.format.packing().is_none_or(|packing| packing.sources().is_none());
        let is_stored = self.tensor.indicator.is_none() && self.tensor.format.map().is_none() && is_own;
        if read && is_stored {
            return Ok(());
        }
        let message = format!("the loops do not read `{tensor}` by these variables and as it is stored");
        Err(refuse("E1206", self.span, message, "no such positions").hint(format!(
            "name an access to `{tensor}` of the statement, and leave the loops in an order that needs no conversion of it"
        )))
    }

    /// The levels that store the variables, whose positions can be enumerated.
    fn levels(&self, originals: &[VarId]) -> Result<Range<usize>, Diagnostic> {
        let Wanted { kernel, name, span, ref key, .. } = *self;
        let (tensor, format) = (self.written, &self.tensor.format);
        let levels = pos_levels(kernel, key, originals);
        let stores = levels.end <= key.vars.len()
            && levels.clone().zip(originals).all(|(level, var)| level_var(kernel, key, level) == *var);
        if !stores {
            let message =
                format!("`{tensor}` ({format}) does not store `{name}` in levels that follow each other in that order");
            let stored: Vec<&str> =
                (0..key.vars.len()).map(|level| kernel.vars[level_var(kernel, key, level)].name.as_str()).collect();
            return Err(refuse("E1206", span, message, "no such positions")
                .hint(format!("the levels of `{tensor}` store {}", stored.join(", "))));
        }
        if !format.levels()[levels.end - 1].properties().unique {
            let message = format!("`{tensor}` stores a value of `{name}` at several positions, which belong together");
            return Err(refuse("E1206", span, message, "no positions of its own").hint(format!(
                "`fuse` the loop over `{name}` with those over the levels below, and take their positions"
            )));
        }
        let numbered = |level: &&Level| {
            level.properties().full || (level.capabilities().iterate_positions && is_iterated(**level))
        };
        if let Some(level) = format.levels()[levels.clone()].iter().find(|level| !numbered(level)) {
            let message = format!("positions of {level} levels, such as one of `{tensor}`, cannot be enumerated");
            return Err(refuse("E1206", span, message, "no such positions")
                .hint(format!("store `{tensor}` in compressed levels, or keep the loop over `{name}`")));
        }
        Ok(levels)
    }

    /// Wherever the loop stands, the positions of the levels above `first` are known, and positions miss nothing.
    fn check_loops(&self, originals: &[VarId], first: usize) -> Result<(), Diagnostic> {
        let Wanted { kernel, name, span, ref key, .. } = *self;
        let tensor = self.written;
        let mut outcome = Ok(());
        each_loop(&kernel.stmt, self.coordinate, &mut |body, around| {
            let unknown = |level: &usize| !kernel.provenance.is_known(level_var(kernel, key, *level), around);
            if let Some(above) = (0..first).rfind(unknown) {
                let above = &kernel.vars[level_var(kernel, key, above)].name;
                let message = format!("the positions of `{tensor}` here lie under a value of `{above}`");
                outcome = Err(refuse("E1204", span, message, "too early")
                    .hint(format!("the loop over `{above}` has to stand around, or be fused with `{name}`")));
            }
            let numbers = numbers_of_strips(kernel, self.coordinate);
            if let Some(number) = numbers.into_iter().find(|number| !kernel.provenance.is_known(*number, around)) {
                let number = &kernel.vars[number].name;
                let message = format!("the positions of `{name}` are those of a strip, which `{number}` counts");
                outcome = Err(refuse("E1204", span, message, "too early")
                    .hint(format!("the loop over `{number}` has to stand around")));
            }
            if let Some(missed) = missed(kernel, body, originals, key) {
                let message = format!("there can be values where `{tensor}` has none; its positions would miss them");
                outcome = Err(refuse("E1207", span, message, "these positions")
                    .note(format!("at a value of `{}`", kernel.vars[missed].name)));
            }
        });
        outcome
    }
}

/// A variable at which a body can have values where the access has none: one of the loop's, or of the levels above.
fn missed(kernel: &Kernel, body: &Stmt, originals: &[VarId], key: &AccessKey) -> Option<VarId> {
    let above = (0..pos_levels(kernel, key, originals).start).map(|level| level_var(kernel, key, level));
    let vars: Vec<VarId> = above.chain(originals.iter().copied()).collect();
    (0..vars.len()).find_map(|place| {
        let inner = Stmt::foralls(&vars[place + 1..], body.clone());
        let lattice = Lattice::build(kernel, &inner, vars[place]).ok()?;
        let own = lattice.iterators.iter().position(|it| it.access == *key && it.mode == Mode::Coiterate);
        let covered = match own {
            Some(own) => lattice.points.iter().all(|point| point.has(own)) && !begins_anew(kernel, body, vars[place]),
            // A dense level has all coordinates, unless a level below stores the same variable: then loops that do not go through it have
            // none.
            None => {
                let is_full = kernel.tensors[key.tensor].format.levels()[place].properties().full;
                is_full && key.vars.iter().filter(|var| **var == vars[place]).count() == 1
            }
        };
        (!covered).then_some(vars[place])
    })
}

/// True if values are combined into a sparse result whose fill value is not the identity. An element that no value reaches is the identity
/// then, and has to be stored.
///
/// ```text
/// y(i) = sum(j, A(i,j))      y sparse, with fill value 1: 0 where a row of A is empty
/// ```
fn begins_anew(kernel: &Kernel, body: &Stmt, var: VarId) -> bool {
    let mut found = false;
    body.visit_assigns(&mut |assign| {
        let result = &kernel.tensors[assign.lhs.tensor];
        let has_gaps = result.role == Role::Result && !result.format.is_dense() && assign.lhs.vars.contains(&var);
        found |= has_gaps && assign.op.monoid().is_some_and(|own| own.identity(result.dtype) != Some(result.fill()));
    });
    found
}

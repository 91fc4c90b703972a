//! `parallelize(i, unit, race)`: the iterations of a loop are shared out.
//!
//! Demands, for threads: no other loop around or inside is shared; the race strategy handles tensors that the iterations write
//! together; a sparse result is assembled by the outermost loop, over its first level, so that parts follow each other. For
//! vectors: loops inside count coordinates, or the positions of one operand, whatever the lane. The units of a GPU are refused, as
//! no back end makes code for one. It changes nothing but a tag. Workspaces are not added to indivisibly: there, `atomics` is
//! carried out as `temporary`. Lanes reduce among themselves.
//!
//! Paper: Senanayake et al. 2020, §5.1.

use lacunar_base::{Diagnostic, Span};
use lacunar_imp::BinaryOp;
use lacunar_notation::concrete::{Kernel, Stmt};
use lacunar_notation::provenance::Tag;
use lacunar_notation::schedule::{Name, Race, Unit};
use lacunar_notation::{Monoid, Role, Tensor, TensorId, VarId, WorkspaceKind};

use super::nest::{each_loop, loops};
use super::{Forward, Transformed, leaf, refuse, tagged};
use crate::functions::reduction;
use crate::iterate::iterators::{AccessKey, level_var};
use crate::iterate::lattice::{Lattice, is_single};
use crate::iterate::position_space::{pos_levels, replaced_by};
use crate::iterate::races::{filled_inside, written_together};

pub(super) fn parallelize(kernel: &Kernel, name: &Name, unit: Unit, race: Race, span: Span) -> Transformed {
    let var = leaf(kernel, name)?;
    if let Some((other, _)) = kernel.provenance.parallel(var) {
        return Err(refuse(
            "E1209",
            name.span,
            format!("`{name}` is parallelized already ({})", other.name()),
            "again",
        )
        .hint("one unit runs a loop; `split` it for two"));
    }
    let race = match unit {
        Unit::CpuThread => threads(kernel, name, var, race, span)?,
        Unit::CpuVector => lanes(kernel, name, var, race, span)?,
        Unit::GpuBlock | Unit::GpuWarp | Unit::GpuThread => {
            let message = format!("no back end makes code for a GPU: `{}` has nobody to run `{name}`", unit.name());
            return Err(
                refuse("E1219", span, message, "a unit to come").hint("the units that there are: `cpu`, `vector`")
            );
        }
    };
    Ok((tagged(kernel, var, Tag::Parallel(unit, race)), Forward::default()))
}

/// The race strategy with which vector lanes can share the loops over a variable. Lanes that all add to one place reduce among
/// themselves.
fn lanes(kernel: &Kernel, name: &Name, var: VarId, race: Race, span: Span) -> Result<Race, Diagnostic> {
    let (mut innermost, mut together, mut scattered, mut filled) = (true, None, None, None);
    each_loop(&kernel.stmt, var, &mut |body, _| {
        let is_array = |tensor: &TensorId| kernel.tensors[*tensor].order() > 0;
        filled = filled.or(filled_inside(body).into_iter().find(is_array));
        innermost &=
            is_single(kernel, body) || loops(body).into_iter().all(|inner| is_uniform(kernel, var, body, inner));
        let written = written_together(kernel, var, body);
        together = together.or(written.first().copied());
        scattered = scattered.or(written.into_iter().find(|tensor| is_placed_inside(kernel, body, *tensor)));
    });
    if !innermost {
        let message = format!("a loop inside that over `{name}` is not the same for all lanes");
        return Err(refuse("E1209", name.span, message, "not innermost").hint(
            "lanes run an innermost loop, or one inside of which loops count coordinates or the positions of one operand, \
             whatever the lane; `reorder` it inside",
        ));
    }
    if let Some(tensor) = filled {
        let message = format!(
            "workspace `{}` is filled inside the loop over `{name}`, and lanes have one",
            kernel.tensors[tensor].name
        );
        return Err(refuse("E1209", name.span, message, "not for lanes")
            .hint("a workspace without variables is one for each lane; another loop can run in lanes"));
    }
    if let Some(tensor) = scattered {
        let message =
            format!("a loop inside that over `{name}` chooses the places of `{}`", kernel.tensors[tensor].name);
        return Err(refuse("E1210", span, message, "a race")
            .hint("lanes may meet at one place or at several, which nothing orders; another loop can run in lanes"));
    }
    let combined = together.and_then(|tensor| Some((tensor, uncombined(kernel, tensor, |_| true)?)));
    if let Some((tensor, monoid)) = combined {
        let message = format!(
            "vector lanes do not combine by `{}`, as values of `{}` are",
            monoid.name(),
            kernel.tensors[tensor].name
        );
        return Err(refuse("E1210", span, message, "a race").hint("another loop can run in lanes"));
    }
    match (race, together) {
        (Race::Auto, None) => Ok(Race::None),
        (Race::Auto, Some(_)) => Ok(Race::ParallelReduction),
        (Race::None, Some(tensor)) => {
            let message = format!("iterations of `{name}` add to the same places of `{}`", kernel.tensors[tensor].name);
            Err(refuse("E1210", span, message, "a race").hint("say `reduction`: lanes reduce among themselves"))
        }
        (Race::Atomics | Race::Temporary, _) => {
            let message = format!("vector lanes have no `{}`", race.name());
            Err(refuse("E1210", span, message, "lanes").hint("say `reduction`: lanes reduce among themselves"))
        }
        _ => Ok(race),
    }
}

/// The monoid by which values are combined in a tensor, if it is no operation of the IR of which `fits` holds.
fn uncombined(kernel: &Kernel, tensor: TensorId, fits: impl Fn(BinaryOp) -> bool) -> Option<Monoid> {
    let mut found = None;
    kernel.stmt.visit_assigns(&mut |assign| {
        let monoid = assign.op.monoid().filter(|_| assign.lhs.tensor == tensor);
        found = found.or(monoid.filter(|monoid| !reduction(*monoid).is_some_and(&fits)));
    });
    found
}

/// True if threads cannot combine values in a tensor indivisibly.
fn needs_copies(kernel: &Kernel, tensor: TensorId) -> bool {
    is_workspace(kernel, tensor) || uncombined(kernel, tensor, BinaryOp::is_atomic).is_some()
}

/// True if a loop inside of one that lanes share counts coordinates or the positions of one operand, the same for all lanes.
fn is_uniform(kernel: &Kernel, lanes: VarId, body: &Stmt, leaf: VarId) -> bool {
    let shared = kernel.provenance.originals(lanes);
    // Positions lie under those of the levels above.
    let is_under_lane =
        |key: &AccessKey, level: usize| (0..level).any(|above| shared.contains(&level_var(kernel, key, above)));
    let mut uniform = true;
    each_loop(body, leaf, &mut |inside, _| {
        uniform &= kernel.provenance.originals(leaf).into_iter().all(|original| {
            if let Some(access) = replaced_by(kernel, original) {
                let key = AccessKey::from(access);
                return !is_under_lane(&key, pos_levels(kernel, &key, &[original]).start);
            }
            Lattice::build(kernel, inside, original).is_ok_and(|lattice| match lattice.iterators.as_slice() {
                [] => true,
                [one] => lattice.points.len() == 1 && !is_under_lane(&one.access, one.level),
                _ => false,
            })
        });
    });
    uniform
}

/// True if loops inside a body choose the place of a tensor that is assigned to. If iterations of a loop around write the tensor
/// together, their places are then neither the same nor known to be different:
///
/// ```text
/// forall(k, forall(j, y(j) += A(s,k,j)))      A: ell; under each k one j, which other k may have too
/// ```
///
/// A tensor with a list has no places: lanes do not carry out a loop that appends to one.
fn is_placed_inside(kernel: &Kernel, body: &Stmt, tensor: TensorId) -> bool {
    if is_listed(kernel, tensor) {
        return false;
    }
    let inner: Vec<VarId> = loops(body).into_iter().flat_map(|leaf| kernel.provenance.originals(leaf)).collect();
    let mut inside = false;
    body.visit_assigns(&mut |assign| {
        inside |= assign.lhs.tensor == tensor && assign.lhs.vars.iter().any(|var| inner.contains(var));
    });
    inside
}

/// Checks that threads and lanes can share the loops that they are said to share, after all other transformations too.
///
/// # Errors
/// They cannot; `span_of` gives the place to name, of the command that shares the loop over a variable.
pub(crate) fn check_shared(kernel: &Kernel, span_of: impl Fn(&str) -> Span) -> Result<(), Diagnostic> {
    for (var, tag) in &kernel.provenance.tags {
        if let Tag::Parallel(unit @ (Unit::CpuThread | Unit::CpuVector), race) = tag {
            let text = kernel.vars[*var].name.clone();
            let span = span_of(&text);
            let name = Name { text, span };
            let settled = match unit {
                Unit::CpuVector => lanes(kernel, &name, *var, *race, span)?,
                _ => threads(kernel, &name, *var, *race, span)?,
            };
            if settled != *race {
                let message = format!("a race over `{name}` needs `{}` now, not `{}`", settled.name(), race.name());
                return Err(refuse("E1210", span, message, "after this"));
            }
        }
    }
    Ok(())
}

/// The race strategy with which threads can share the loops over a variable.
fn threads(kernel: &Kernel, name: &Name, var: VarId, race: Race, span: Span) -> Result<Race, Diagnostic> {
    let shared = |other: &VarId| *other == var || kernel.provenance.is_shared(*other);
    // A loop inside one that is shared runs on one thread; some loop over each variable has to be outside of all others.
    let idle = loops(&kernel.stmt).into_iter().filter(shared).find(|own| {
        let mut alone = false;
        each_loop(&kernel.stmt, *own, &mut |_, around| alone |= !around.iter().any(shared));
        !alone
    });
    if let Some(idle) = idle {
        let message = format!("threads share a loop around that over `{}` already", kernel.vars[idle].name);
        return Err(refuse("E1209", span, message, "one loop of a nest at most")
            .hint("threads share one loop of a nest; another unit may run a loop inside"));
    }
    let mut chosen = race;
    let mut fault = None;
    each_loop(&kernel.stmt, var, &mut |body, around| {
        if around.iter().any(shared) {
            return;
        }
        if let Err(error) = assembled(kernel, name, var, body, around, span) {
            fault = Some(error);
            return;
        }
        let together = written_together(kernel, var, body);
        // A copy has a flag of its own.
        if let Some(tensor) = flagged(kernel, body).filter(|tensor| !together.contains(tensor)) {
            let name = &kernel.tensors[tensor].name;
            let message =
                format!("one flag says if workspace `{name}` was given anything, and all threads would set it");
            fault = Some(refuse("E1210", span, message, "a race").hint("parallelize a loop around the workspace"));
            return;
        }
        let Some(&tensor) = together.first() else {
            if chosen == Race::Auto {
                chosen = Race::None;
            }
            return;
        };
        let info = &kernel.tensors[tensor];
        if is_listed(kernel, tensor) {
            let message =
                format!("all iterations of `{name}` put coordinates on the list of workspace `{}`", info.name);
            fault = Some(refuse("E1210", span, message, "a race").hint("parallelize a loop around the workspace"));
            return;
        }
        match race {
            Race::None => {
                let message = format!("iterations of `{name}` add to the same places of `{}`", info.name);
                fault = Some(
                    refuse("E1210", span, message, "a race")
                        .hint("say `temporary` for a copy for each chunk, or `atomics`"),
                );
            }
            Race::Auto | Race::ParallelReduction => chosen = Race::Temporary,
            Race::Atomics if together.iter().any(|tensor| needs_copies(kernel, *tensor)) => chosen = Race::Temporary,
            Race::Temporary | Race::Atomics | Race::Ignore => {}
        }
        if race == Race::Ignore {
            let message =
                format!("iterations of `{name}` write different values to the same places of `{}`", info.name);
            fault = Some(
                refuse("E1210", span, message, "a race that cannot be ignored")
                    .hint("say `temporary` for a copy for each chunk, or `atomics`"),
            );
        }
    });
    match fault {
        Some(fault) => Err(fault),
        // If nothing is written together, every strategy is the same.
        None if chosen == Race::Auto => Ok(Race::None),
        None => Ok(chosen),
    }
}

/// A dense workspace that a body fills for a sparse result around it, which asks if there is anything in it.
fn flagged(kernel: &Kernel, body: &Stmt) -> Option<TensorId> {
    let is_sparse = |tensor: &Tensor| tensor.role == Role::Result && !tensor.format.is_dense();
    if !kernel.tensors.iter().any(|(_, tensor)| is_sparse(tensor)) {
        return None;
    }
    let inside = filled_inside(body);
    let is_dense = |tensor: &TensorId| kernel.tensors[*tensor].role == Role::Workspace(WorkspaceKind::Dense);
    body.writes().into_iter().find(|tensor| is_dense(tensor) && !inside.contains(tensor))
}

fn is_listed(kernel: &Kernel, tensor: TensorId) -> bool {
    kernel.tensors[tensor].role.is_listed()
}

/// True if a tensor is a workspace: a variable, or an array, beside which a flag says if it was given anything. Neither is
/// updated by atomic operations.
fn is_workspace(kernel: &Kernel, tensor: TensorId) -> bool {
    matches!(kernel.tensors[tensor].role, Role::Workspace(_))
}

/// Checks that a loop that appends to a sparse result does it in pieces that follow each other.
fn assembled(
    kernel: &Kernel,
    name: &Name,
    var: VarId,
    body: &Stmt,
    around: &[VarId],
    span: Span,
) -> Result<(), Diagnostic> {
    let sparse =
        |tensor: &TensorId| kernel.tensors[*tensor].role == Role::Result && !kernel.tensors[*tensor].format.is_dense();
    let Some(tensor) = body.writes().into_iter().find(sparse) else { return Ok(()) };
    let mut first = None;
    body.visit_assigns(&mut |assign| {
        if assign.lhs.tensor == tensor {
            first = Some(level_var(kernel, &AccessKey::from(&assign.lhs), 0));
        }
    });
    let info = &kernel.tensors[tensor];
    let dense = info.format.levels()[0].properties().full;
    let outermost = around.is_empty() && matches!(&kernel.stmt, Stmt::Forall(own, _) if *own == var);
    let follows = first.is_some_and(|first| {
        kernel.provenance.originals(var) == [first] && !(dense && replaced_by(kernel, first).is_some())
    });
    if outermost && follows {
        return Ok(());
    }
    let first = first.map_or_else(String::new, |first| kernel.vars[first].name.clone());
    Err(refuse(
        "E1214",
        span,
        format!(
            "chunks of the loop over `{name}` do not assemble parts of `{}` ({}) that follow each other",
            info.name, info.format
        ),
        "not this loop",
    )
    .hint(format!("parallelize the outermost loop, over `{first}` or over strips of it")))
}

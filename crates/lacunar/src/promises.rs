//! The promises that a kernel relies on about the sizes of a run; a run that breaks one is refused.
//!
//! The promises of a schedule hold. Strips may be of two lengths, the last one shorter:
//!
//! ```text
//! split(i, i0, i1, 32), bound(i1, b, 32, maxexact)      with i of size 300: strips of 32 and of 12, refused
//! ```
//!
//! The values of every variable can be counted, those of fused ones and of stored dimensions too, and strips can be gone through,
//! one by one, in a time that somebody waits for:
//!
//! ```text
//! fuse(i, j, f)                                         with i and j of size 2^32: 2^64 pairs, refused
//! fuse(i, j, f), pos(f, p, A(i,j))                      positions are counted, not pairs
//! split(i, i0, i1, 32)                                  with i of size 2^60: 2^55 strips, refused
//! ```

use lacunar_base::Diagnostic;
use lacunar_compiler::lower::SPECIALIZED_SIZE;
use lacunar_notation::VarId;
use lacunar_notation::concrete::{Kernel, Stmt};
use lacunar_notation::provenance::Relation;
use lacunar_notation::schedule::{BoundKind, Parts};

use crate::error::Error;

/// The most strips that a loop goes through: those without anything in them take an hour.
const MOST_STRIPS: u128 = 1 << 40;

/// Checks every promise of a kernel, whose original variables have these sizes, and that the values of its loops can be
/// counted.
///
/// # Errors
/// The first promise that does not hold, or variable with too many values.
pub(crate) fn check(kernel: &Kernel, sizes: &[u64]) -> Result<(), Error> {
    check_counts(kernel, sizes)?;
    for relation in &kernel.provenance.relations {
        let &Relation::Bound { parent, size, kind, .. } = relation else { continue };
        let name = &kernel.vars[parent].name;
        let Some((least, most)) = extents(kernel, parent, sizes) else {
            let message = format!("how many values `{name}` has is not known before the kernel is run");
            return Err(broken(message, "promise nothing of it, or the number of what it is made of"));
        };
        let holds = match kind {
            BoundKind::MaxExact => least == size && most == size,
            BoundKind::MaxConstraint => most <= size,
            // Loops begin at 0.
            BoundKind::MinExact | BoundKind::MinConstraint => size == 0,
        };
        if !holds {
            let found = if least == most { most.to_string() } else { format!("{least} to {most}") };
            let message = format!("`{name}` has {found} values, but the schedule promises {} of {size}", kind.name());
            return Err(broken(message, "promise what is so, or nothing"));
        }
    }
    Ok(())
}

/// The error of a promise that does not hold.
fn broken(message: String, hint: &str) -> Error {
    of_schedule(Diagnostic::error("E1208", message).hint(hint))
}

/// A mistake of the schedule that sizes show. The kernel knows no more where in the schedule it stood.
fn of_schedule(diagnostic: Diagnostic) -> Error {
    Error::Schedule { source_text: String::new(), diagnostics: vec![diagnostic] }
}

/// Checks that the values of stored dimensions, and of fused variables with loops over pairs, can be counted.
fn check_counts(kernel: &Kernel, sizes: &[u64]) -> Result<(), Error> {
    let stored = kernel.stored.sizes.iter().map(|(var, _)| *var);
    let fused = kernel.provenance.relations.iter().filter_map(|relation| match relation {
        Relation::Fuse { fused, .. } if is_counted(kernel, *fused) => Some(*fused),
        _ => None,
    });
    for var in stored.chain(fused) {
        let most = most(kernel, var, sizes);
        if i64::try_from(most).is_err() {
            let name = &kernel.vars[var].name;
            let message = format!("`{name}` has {most} values, more than the {} that a loop can count", i64::MAX);
            let hint = "loop over fewer variables at once, or over what is stored (`pos`)";
            return Err(of_schedule(Diagnostic::error("E1221", message).hint(hint)));
        }
    }
    let mut fault = None;
    each_leaf(&kernel.stmt, &mut Vec::new(), &mut |var, around| {
        let count = most(kernel, var, sizes);
        if fault.is_none() && count > MOST_STRIPS && counts_strips(kernel, var, around) {
            let name = &kernel.vars[var].name;
            fault = Some(format!("the loop over `{name}` goes through {count} values one by one"));
        }
    });
    let of_strips = |message| of_schedule(Diagnostic::error("E1221", message).hint("make longer strips"));
    fault.map_or(Ok(()), |message| Err(of_strips(message)))
}

/// Calls `look` on the variable of each loop, with those of the loops around it.
fn each_leaf(stmt: &Stmt, around: &mut Vec<VarId>, look: &mut impl FnMut(VarId, &[VarId])) {
    match stmt {
        Stmt::Assign(_) => {}
        Stmt::Forall(var, body) => {
            look(*var, around);
            around.push(*var);
            each_leaf(body, around, look);
            around.pop();
        }
        Stmt::Where { consumer, producer } => {
            each_leaf(consumer, around, look);
            each_leaf(producer, around, look);
        }
        Stmt::Sequence(stmts) => stmts.iter().for_each(|stmt| each_leaf(stmt, around, look)),
    }
}

/// True if a loop counts strips, or places inside of them, and does not go through the entries in one.
fn counts_strips(kernel: &Kernel, var: VarId, around: &[VarId]) -> bool {
    match kernel.provenance.origin(var) {
        Some(&(Relation::Split { parent, outer, .. } | Relation::Divide { parent, outer, .. })) => {
            var == outer || !kernel.provenance.is_known(outer, around) || counts_strips(kernel, parent, around)
        }
        Some(&Relation::Bound { parent, .. }) => counts_strips(kernel, parent, around),
        _ => false,
    }
}

/// True if loops count the values of a fused variable, and not positions instead.
fn is_counted(kernel: &Kernel, fused: VarId) -> bool {
    kernel.provenance.uses(fused).all(|relation| match *relation {
        Relation::Pos { .. } => false,
        Relation::Fuse { fused: next, .. } | Relation::Bound { bounded: next, .. } => is_counted(kernel, next),
        _ => true,
    })
}

/// A number that the values of a variable do not exceed, its pairs or strips counted as the loops over them do.
fn most(kernel: &Kernel, var: VarId, sizes: &[u64]) -> u128 {
    let of = |var: VarId| most(kernel, var, sizes);
    let Some(relation) = kernel.provenance.origin(var) else {
        return sizes.get(var.index()).map_or(0, |size| u128::from(*size));
    };
    match *relation {
        Relation::Rename { parent, .. } | Relation::Bound { parent, .. } => of(parent),
        Relation::Split { parent, outer, size, .. } => {
            let (whole, size) = (of(parent), u128::from(size.max(1)));
            // Short strips are counted as if all had their length.
            if var == outer { whole.div_ceil(size) } else { size.min(whole.max(u128::from(SPECIALIZED_SIZE))) }
        }
        Relation::Divide { parent, outer, parts: Parts::Count(parts), .. } => {
            let (whole, parts) = (of(parent), u128::from(parts.max(1)));
            if var == outer { parts.min(whole) } else { whole.div_ceil(parts) }
        }
        // The length of strips depends on the threads.
        Relation::Divide { parent, .. } => of(parent),
        Relation::Fuse { outer, inner, .. } => match kernel.provenance.origin(outer) {
            Some(Relation::Divide { parent, outer: first, inner: second, parts: Parts::PerThread(_) })
                if [*first, *second] == [outer, inner] || [*second, *first] == [outer, inner] =>
            {
                of(*parent).saturating_mul(2)
            }
            _ => of(outer).saturating_mul(of(inner)),
        },
        // They lie in memory.
        Relation::Pos { .. } | Relation::Coord { .. } => 0,
    }
}

/// The least and the largest number of values that a variable takes, one after the other; `None` where the sizes do not tell.
fn extents(kernel: &Kernel, var: VarId, sizes: &[u64]) -> Option<(u64, u64)> {
    let Some(relation) = kernel.provenance.origin(var) else {
        let size = *sizes.get(var.index())?;
        return Some((size, size));
    };
    match *relation {
        Relation::Rename { parent, .. } | Relation::Bound { parent, .. } => extents(kernel, parent, sizes),
        Relation::Split { parent, inner, size, .. } => strips(extents(kernel, parent, sizes)?, var == inner, |_| size),
        Relation::Divide { parent, inner, parts: Parts::Count(parts), .. } => {
            strips(extents(kernel, parent, sizes)?, var == inner, |whole| whole.div_ceil(parts))
        }
        Relation::Fuse { outer, inner, .. } => {
            let (a, b) = (extents(kernel, outer, sizes)?, extents(kernel, inner, sizes)?);
            Some((a.0.checked_mul(b.0)?, a.1.checked_mul(b.1)?))
        }
        Relation::Divide { .. } | Relation::Pos { .. } | Relation::Coord { .. } => None,
    }
}

/// The numbers of values inside a strip, or of strips, of something with so many values, cut by a size.
fn strips((least, most): (u64, u64), inside: bool, size: impl Fn(u64) -> u64) -> Option<(u64, u64)> {
    if least != most {
        return None;
    }
    let size = size(most).max(1);
    Some(match most % size {
        _ if !inside => (most.div_ceil(size), most.div_ceil(size)),
        0 => (size.min(most), size.min(most)),
        rest => (rest, size.min(most)),
    })
}

#[cfg(test)]
mod tests {
    use crate::{Backend, Error, Format, Kernel, Options, Tensor};

    /// Runs a matrix of 5 rows on a kernel that was compiled before its size was known.
    fn run(schedule: &str) -> Result<Vec<f64>, Error> {
        let options = Options::new().format("A", Format::csr()).backend(Backend::Interpreter).schedule(schedule);
        let kernel = Kernel::compile("y(i) = A(i,j) * x(j)", &options)?;
        let a = Tensor::from_entries(&[5, 2], &[(&[0, 1], 2.0), (&[4, 0], 3.0)], Format::csr())?;
        let x = Tensor::from_slice(&[2], &[1.0, 10.0])?;
        let mut y = Tensor::<f64>::zeros(&[5], Format::dense(1))?;
        kernel.run(&mut y, &[a.as_dyn(), x.as_dyn()])?;
        y.to_dense()
    }

    #[test]
    fn promises_that_hold() {
        for schedule in [
            "bound(i, b, 5, maxexact)",
            "bound(i, b, 8, maxconstraint)",
            "bound(i, b, 0, minexact)",
            "split(i, i0, i1, 2), bound(i0, b, 3, maxexact)",
            "split(i, i0, i1, 5), bound(i1, b, 5, maxexact)",
            "divide(i, i0, i1, 2), bound(i1, b, 3, maxconstraint)",
        ] {
            assert_eq!(
                run(schedule).map_err(|error| error.to_string()),
                Ok(vec![20.0, 0.0, 0.0, 0.0, 3.0]),
                "{schedule}"
            );
        }
    }

    #[test]
    fn promises_that_do_not_hold() {
        for (schedule, message) in [
            ("bound(i, b, 6, maxexact)", "`i` has 5 values"),
            ("bound(i, b, 4, maxexact)", "`i` has 5 values"),
            ("bound(i, b, 4, maxconstraint)", "promises maxconstraint of 4"),
            ("split(i, i0, i1, 2), bound(i1, b, 2, maxexact)", "`i1` has 1 to 2 values"),
            ("split(i, i0, i1, 2), bound(i0, b, 2, maxexact)", "`i0` has 3 values"),
            ("divide(i, i0, i1, threads), bound(i1, b, 2, maxexact)", "not known before the kernel is run"),
            ("pos(j, p, A), bound(p, b, 9, maxexact)", "not known before the kernel is run"),
        ] {
            let found = run(schedule).expect_err(schedule).to_string();
            assert!(found.contains(message) && found.starts_with("error[E1208]: "), "{schedule}: {found}");
        }
    }
}

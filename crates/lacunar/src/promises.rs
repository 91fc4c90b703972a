//! The promises of a schedule (`bound(i, b, 16, maxexact)`), checked against the sizes that a kernel is run with.
//!
//! A kernel relies on them, so that a run which breaks one is refused. Strips may be of two lengths, the last one shorter:
//!
//! ```text
//! split(i, i0, i1, 32), bound(i1, b, 32, maxexact)      with i of size 300: strips of 32 and of 12, refused
//! ```

use lacunar_notation::VarId;
use lacunar_notation::concrete::Kernel;
use lacunar_notation::provenance::Relation;
use lacunar_notation::schedule::{BoundKind, Parts};

use crate::error::Error;

/// Checks every promise of a kernel, whose original variables have these sizes.
///
/// # Errors
/// The first promise that does not hold.
pub(crate) fn check(kernel: &Kernel, sizes: &[u64]) -> Result<(), Error> {
    for relation in &kernel.provenance.relations {
        let &Relation::Bound { parent, size, kind, .. } = relation else { continue };
        let name = &kernel.vars[parent].name;
        let Some((least, most)) = extents(kernel, parent, sizes) else {
            let message =
                format!("how many values `{name}` has is not known before the kernel is run, so no `bound` of it");
            return Err(Error::Argument(message));
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
            return Err(Error::Argument(message));
        }
    }
    Ok(())
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
            assert!(found.contains(message), "{schedule}: {found}");
        }
    }
}

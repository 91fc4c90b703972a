//! Values that loops over runs of a packed result have in common are read before them.
//!
//! ```text
//! C(i,j,k) = f(i) * f(j) * f(k)     C: packed(symmetric)     for i { let f_v = f_vals[i]; for j { let f_v_2 = f_vals[j]; for k { .. } } }
//! ```
//!
//! Runs are short, so what is read again for each takes most of the time. A back end moves a load before one loop at most: it does not know
//! that the loops around it are entered. At coordinates that loops come to, a dense operand has a value in any case.
//!
//! On entry: a place inside of a loop over coordinates. On exit: the scope there, with the values that are known.

use lacunar_base::Diagnostic;
use lacunar_notation::concrete::Stmt;
use lacunar_notation::{Access, Role};

use crate::iterate::iterators::AccessKey;
use crate::lower::Lowerer;
use crate::lower::compute::read;
use crate::lower::scope::{Fact, Scope};

/// Reads the values of dense operands at coordinates that are known, if loops inside read them.
pub(super) fn read_ahead(cx: &mut Lowerer<'_>, body: &Stmt, mut scope: Scope) -> Result<Scope, Diagnostic> {
    let is_packed = cx.kernel.followers.as_ref().is_some_and(|followers| followers.is_packed);
    if !is_packed || !cx.options.phase.computes() || !matches!(body, Stmt::Forall(..)) {
        return Ok(scope);
    }
    let bound = scope.bound();
    let mut known: Vec<Access> = Vec::new();
    body.visit_assigns(&mut |assign| {
        for access in assign.rhs.accesses() {
            let is_known = access.vars.iter().all(|var| bound.contains(var));
            if is_known && is_array(cx, access) && !known.contains(access) {
                known.push(access.clone());
            }
        }
    });
    for access in known {
        let key = AccessKey::from(&access);
        if scope.read(&key).is_none() && scope.uncertain(&key).is_none() {
            let value = read(cx, &access, &scope)?;
            scope.know(Fact::Read(key, value));
        }
    }
    Ok(scope)
}

/// True if an operand has a value in storage at each of its coordinates.
fn is_array(cx: &Lowerer<'_>, access: &Access) -> bool {
    let tensor = &cx.kernel.tensors[access.tensor];
    let is_plain = tensor.view.is_none() && tensor.format.map().is_none() && tensor.format.packing().is_none();
    tensor.role == Role::Input && tensor.format.is_dense() && is_plain
}

//! Results that have the pattern of an input: each value goes to the position that the input's value has.
//!
//! ```text
//! B(i,j) = 2 * A(i,j)     A, B: dense, btree     for p in begin .. end { B_vals[p] = 2 * A_vals[p] }     block by block
//! ```
//!
//! On entry: every loop over a variable of the result goes through the levels of the input ([`crate::plan`]). Positions at which the
//! input has no element are not written: whoever calls the kernel gives memory that holds something.

use std::rc::Rc;

use lacunar_base::Diagnostic;
use lacunar_notation::TensorId;

use super::{Addition, Sink};
use crate::iterate::iterators::AccessKey;
use crate::lower::Lowerer;
use crate::lower::derive::value_position;
use crate::lower::scope::Scope;
use crate::lower::storage::values;

/// A result with the pattern of an input.
#[derive(Debug)]
struct Alongside {
    /// The input's access.
    of: AccessKey,
}

/// Makes a result ready whose values lie where those of an input do.
pub(super) fn begin(access: AccessKey, of: TensorId, scope: &Scope) -> Scope {
    let result = access.tensor;
    scope.writing(result, Rc::new(Alongside { of: AccessKey { tensor: of, ..access } }))
}

impl Sink for Alongside {
    fn add(&self, cx: &mut Lowerer<'_>, addition: &Addition, scope: &Scope) -> Result<(), Diagnostic> {
        let at = value_position(cx, &self.of, scope)?;
        let array = values(cx, addition.key.tensor, scope)?;
        cx.b.store(array, at, addition.value);
        Ok(())
    }

    fn is_array(&self) -> bool {
        true
    }
}

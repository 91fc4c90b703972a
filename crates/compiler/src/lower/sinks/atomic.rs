//! Indivisible additions: several chunks add to one place, and no addition is lost.
//!
//! ```text
//! y(j) += A(i,j) * x(i), i shared, atomics        y_vals[j] += ..  atomically
//! ```
//!
//! Paper: Senanayake et al. 2020, §5.1 (race strategies).

use std::rc::Rc;

use lacunar_base::Diagnostic;
use lacunar_imp::BinaryOp;
use lacunar_notation::{Monoid, TensorId};

use super::values::set_given;
use super::{Addition, Sink};
use crate::functions;
use crate::lower::derive::value_position;
use crate::lower::scope::{Fact, Scope};
use crate::lower::storage::values;
use crate::lower::{Lowerer, MutableVar};

/// The values of a tensor that several threads add to.
#[derive(Debug)]
struct Atomic {
    of: Rc<dyn Sink>,
}

/// From here on, additions to a tensor are indivisible.
pub(in crate::lower) fn begin(tensor: TensorId, scope: &mut Scope) {
    if let Some(of) = scope.sink(tensor).filter(|of| of.is_array()) {
        scope.know(Fact::Sink(tensor, Rc::new(Atomic { of })));
    }
}

impl Sink for Atomic {
    fn add(&self, cx: &mut Lowerer<'_>, addition: &Addition, scope: &Scope) -> Result<(), Diagnostic> {
        let &Addition { ref key, op, value, .. } = addition;
        let op = functions::reduction(op.monoid().unwrap_or(Monoid::SUM)).filter(|op| op.is_atomic());
        let op: BinaryOp =
            op.ok_or_else(|| Diagnostic::internal("a combination that memory does not do indivisibly"))?;
        let at = value_position(cx, key, scope)?;
        let array = values(cx, key.tensor, scope)?;
        cx.b.atomic(array, at, op, value);
        set_given(cx, self.given());
        Ok(())
    }

    fn hidden(&self) -> Option<&Rc<dyn Sink>> {
        Some(&self.of)
    }

    fn is_array(&self) -> bool {
        true
    }

    fn given(&self) -> Option<MutableVar> {
        self.of.given()
    }
}

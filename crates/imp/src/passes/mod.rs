//! Passes: functions from a function to one with the same meaning that is faster.
//!
//! Each takes and leaves a function that the verifier passes, keeps every value to the last bit and every failure, keeps the names
//! of variables, and does nothing when run again on its own result. Work that a C compiler or LLVM does anyway (register
//! allocation, common parts of expressions) is left to them; the passes do work that those cannot do, because they know less of
//! arrays.
//!
//! [`PASSES`] is the pipeline. [`optimize`] runs it: it records the time of each pass, prints the changes of each as the
//! stage `passes`, and in builds with debug assertions verifies the result of each.
//!
//! ```text
//! simplify
//! @@ -1,3 +1,3 @@
//!  kernel f(out y: i64[]) {
//! -  y[1 + 2] = 0;
//! +  y[3] = 0;
//!  }
//! ```

use lacunar_base::Trace;
use similar::TextDiff;
use thiserror::Error;

use crate::ir::Function;
use crate::verify::{Verified, VerifyError, check, verify};

mod abreast;
mod cse;
mod dce;
mod fills;
mod flatten;
mod hoist;
mod in_turn;
mod leave;
mod scalar_promote;
mod simplify;

pub use abreast::{AddTo, abreast};
pub use dce::remove_dead;
pub use flatten::flatten;
pub use in_turn::in_turn;
pub use leave::left_early;

/// A pass.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// Its name in records and texts.
    pub name: &'static str,
    /// The function that it runs.
    pub run: fn(Function) -> Function,
}

/// All passes, in the order in which they run. Some run again, on the results of others.
pub const PASSES: [Pass; 8] = [
    Pass { name: "simplify", run: simplify::simplify },
    Pass { name: "remove_repeated", run: cse::remove_repeated },
    Pass { name: "hoist_invariant", run: hoist::hoist_invariant },
    // Statements that came out of two loops next to each other may be the same.
    Pass { name: "remove_repeated", run: cse::remove_repeated },
    Pass { name: "promote_scalars", run: scalar_promote::promote_scalars },
    Pass { name: "leave_early", run: leave::leave_early },
    // Promotion guards loops; some guards are constant.
    Pass { name: "simplify", run: simplify::simplify },
    Pass { name: "remove_dead", run: dce::remove_dead },
];

/// A pass left a function that breaks a promise.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("after `{pass}`: {error}")]
pub struct PassError {
    /// The pass; if functions are verified at the end only, the last one.
    pub pass: &'static str,
    /// The promise, and the part of the function that breaks it.
    pub error: VerifyError,
}

/// Runs all passes in order.
///
/// # Errors
/// A pass is wrong.
pub fn optimize(function: Verified<Function>, trace: &mut Trace) -> Result<Verified<Function>, PassError> {
    let mut function = function.into_inner();
    let mut changes = String::new();
    let mut last = "";
    for pass in PASSES {
        let before = trace.wants("passes").then(|| function.to_string());
        function = trace.time(pass.name, || (pass.run)(function));
        if let Some(before) = before {
            changes += &change(pass.name, &before, &function.to_string());
        }
        last = pass.name;
        if cfg!(debug_assertions) {
            check(&function).map_err(|error| PassError { pass: last, error })?;
        }
    }
    trace.print("passes", || if changes.is_empty() { "no pass changes anything\n".to_string() } else { changes });
    trace.time("verify", || verify(function)).map_err(|error| PassError { pass: last, error })
}

/// The name of a pass with its changes of a function's text; nothing if it changed nothing.
fn change(pass: &str, before: &str, after: &str) -> String {
    if before == after {
        return String::new();
    }
    // The text of a function has no newline at its end.
    let (before, after) = (format!("{before}\n"), format!("{after}\n"));
    format!("{pass}\n{}", TextDiff::from_lines(&before, &after).unified_diff())
}

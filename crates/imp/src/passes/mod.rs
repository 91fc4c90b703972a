//! Passes: functions from a function to one that does the same, sooner.
//!
//! Each takes and leaves a function that the verifier passes, keeps every value to the last bit and every failure,
//! keeps the names of variables, and does nothing when run again on what it made. Work that a C compiler or LLVM does
//! anyway (register allocation, common parts of expressions) is left to them; what they cannot see, because they know
//! less of arrays, is done here.

use crate::ir::Function;

mod cse;
mod dce;
mod hoist;
mod scalar_promote;
mod simplify;

pub use cse::remove_repeated;
pub use dce::remove_dead;
pub use hoist::hoist_invariant;
pub use scalar_promote::promote_scalars;
pub use simplify::simplify;

/// Runs all passes in order.
pub fn optimize(function: Function) -> Function {
    let function = simplify(function);
    let function = remove_repeated(function);
    let function = hoist_invariant(function);
    // What came out of two loops next to each other may be the same.
    let function = remove_repeated(function);
    let function = promote_scalars(function);
    // Promotion guards loops; some guards are constant.
    let function = simplify(function);
    remove_dead(function)
}

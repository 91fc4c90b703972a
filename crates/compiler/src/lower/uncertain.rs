//! Accesses that may be absent at a place, and the reading of their values there.
//!
//! ```text
//! C(i) = A(i) + B(i), as one branch     A_v = A stands on i ? A_vals[p] : 0       read and then ignored
//! ```

use lacunar_imp::ExprId;

/// An access that is present if a condition holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Uncertain {
    pub present: ExprId,
    pub reading: Reading,
}

/// The way to read the value of an access that may be absent.
#[derive(Clone, Copy, Debug)]
pub(super) enum Reading {
    /// Its position exists even where it is absent (a cursor on another coordinate): it is read and then ignored.
    Ignored,
    /// It is read only if it is present.
    Guarded,
    /// It was read, or is the fill value.
    Done(ExprId),
}

//! Units that share the iterations of a loop: today threads; lanes are a kind of loop of the IR, which loops ask for themselves.
//!
//! A unit says how many pieces of a loop are worth making, which values each piece has, and how pieces that meet at one place of a
//! result get along (copies, carried sums, indivisible additions: [`super::sinks`]). The body of a piece is lowered as if it were
//! alone.

pub(super) mod pieces;
pub(super) mod threads;
pub(super) mod work;

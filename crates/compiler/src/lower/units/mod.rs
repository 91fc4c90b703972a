//! Units that share the iterations of a loop: today threads; lanes are a kind of loop of the IR, which loops ask for themselves.
//!
//! A unit decides the number of pieces that a loop is worth, the values that each piece has, and the combination of pieces that
//! meet at one place of a result (copies, carried sums, indivisible additions: [`super::sinks`]). The body of a piece is lowered
//! as if it were alone.

mod balance;
mod chunks;
mod ends;
pub(super) mod pieces;
pub(super) mod threads;
pub(super) mod work;

//! Notation to imperative IR, pure: no file, no clock, no machine code.
//!
//! In reading order: [`reduction`] makes sums explicit, [`plan`] chooses the order of loops, conversions and
//! workspaces and writes concrete notation, [`iterate`] says what each loop visits, [`levels`] what each format emits, and
//! [`lower`] puts it together as imperative IR.

pub mod algebra;
pub mod concretize;
pub mod functions;
pub mod iterate;
pub mod levels;
pub mod lower;
pub mod plan;
pub mod reduction;
pub mod schedule;

//! Waist 1: what to compute. Index notation as the user writes it, concrete notation with explicit loops, and their
//! printers and verifiers. Data only: the compiler's stages transform it.
//!
//! Papers: Kjolstad et al. 2017, §3 (index notation); Kjolstad et al., *Tensor Algebra Compilation with Workspaces*
//! (CGO 2019), §3 (concrete notation); Senanayake et al., OOPSLA 2020 (schedules, provenance).

pub mod border;
pub mod concrete;
pub mod follow;
pub mod gather;
pub mod index;
pub mod indicator;
pub mod inequality;
pub mod monoid;
pub mod operator;
pub mod ops;
pub mod print;
pub mod program;
pub mod provenance;
pub mod schedule;
pub mod stored;

pub use border::{Border, Rule};
pub use gather::{Gather, Source};
pub use index::{
    Access, AssignOp, Assignment, Expr, ExprKind, IndexVar, Literal, Program, Role, Tensor, TensorId, VarId,
    WorkspaceKind,
};
pub use indicator::{Equation, Indicator};
pub use inequality::Inequality;
/// Facts about a tensor's elements that hold before any is given; formats that store unique elements alone have them, too.
pub use lacunar_formats::structure;
pub use lacunar_formats::structure::Structure;
pub use monoid::Monoid;
pub use operator::Operator;
pub use ops::{BinaryFn, Function, UnaryFn};
pub use program::{Action, Condition};

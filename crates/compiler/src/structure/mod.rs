//! The structure of the elements of results, inferred from that of the operands.
//!
//! A tensor's [`Structure`](lacunar_notation::Structure) says which elements are 0, and which follow from others. [`infer()`] says it of a
//! statement's result. Papers and rules: Ghorbani et al. 2023, §5; the rules here are stated for closed maps, in which an element that is
//! unique maps to itself, so that one formula serves both kinds.
//!
//! ```text
//! C(i,j) = L(i,k) * M(k,j)        L, M lower triangles:   C is a lower triangle
//! C(i,j) = X(t,i) * X(t,j)        nothing known:          C is symmetric
//! C(i,j) = S(i,j) + D(i,j)        S symmetric, D diagonal: C is symmetric
//! ```
//!
//! | file | |
//! |---|---|
//! | `infer` | the structure of a statement's result, one rule a file |
//! | `results.rs` | those of a program's results, compared with the declared ones |
//! | `confine.rs` | loops leave out elements that are 0 |
//! | `follow.rs` | elements of a result that follow from others are copied |
//! | `coarse.rs` | the result of a statement that repeats another is copied |
//! | `alone.rs` | a statement that reads unique elements alone needs nothing else of a tensor |
//! | `mirror.rs` | the products of elements that follow from others are computed beside those |
//! | `obstacle.rs` | the reason why a statement needs all elements |

mod alone;
mod coarse;
mod confine;
mod follow;
pub mod infer;
pub(crate) mod mirror;
mod obstacle;
mod results;

pub(crate) use alone::{as_stored, reads_unique_alone};
pub use coarse::share;
pub(crate) use confine::confined;
pub(crate) use follow::{followers, packed};
pub use infer::infer;
pub use mirror::settle;
pub use results::{check, parameters, results};

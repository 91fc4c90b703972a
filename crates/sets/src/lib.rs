//! Sets of integer points: unions of pieces between affine bounds, and maps between them.
//!
//! A [`Set`] is a union of [`Piece`]s. A piece is the integer points that satisfy affine equalities and inequalities of parameters,
//! dimensions and *divisions*, which are rounded quotients such as `floor((i + 1)/2)` of those before them. So strides and blocks are
//! exact, no set has an unknown that is not a function of its point, and a difference of two sets is a set again. A [`Map`] is a list of
//! pieces with an affine target each, and a [`Coefficient`].
//!
//! ```text
//! [n] -> { [i, j] : 0 <= i <= j < n }                 an upper triangle
//! [n] -> { [i, j] -> [j, i] : 0 <= j < i < n }        the lower one, mapped onto it
//! { [i] : 0 <= i < 10 and i mod 2 = 0 }               every other number
//! ```
//!
//! Numbers are of 64 bits and never wrap around: an operation that would leave them, or that takes too long, says that it does not
//! know, by [`Answer::Unknown`] or `None`. Every other answer holds for all integers.
//!
//! | file | question | source |
//! |---|---|---|
//! | `empty.rs` | is there a point? | Pugh, *The Omega test* (CACM 1992) |
//! | `subtract.rs`, `disjoint.rs` | which points are in one set and not in others? | Verdoolaege, *isl* (ICMS 2010) |
//! | `gist.rs`, `coalesce.rs` | which constraints, which pieces say nothing new? | the same |
//! | `project.rs` | which points have a partner? | Fourier-Motzkin elimination, by rounded quotients |
//! | `bounds.rs` | which loops visit the points in order? | Ancourt and Irigoin, *Scanning polyhedra with DO loops* (PPoPP 1991) |
//! | `count.rs` | how many are there? | Faulhaber's sums |
//!
//! ```
//! use lacunar_sets::{Answer, Set};
//! let upper: Set = "[n] -> { [i, j] : 0 <= i <= j < n }".parse().unwrap();
//! let lower: Set = "[n] -> { [i, j] : 0 <= j <= i < n }".parse().unwrap();
//! let diagonal = upper.intersect(&lower).unwrap();
//! let expected = "[n] -> { [i, j] : i = j and 0 <= i < n }".parse().unwrap();
//! assert_eq!(diagonal.equals(&expected), Answer::Yes);
//! ```

mod affine;
mod answer;
mod bounds;
mod coalesce;
mod coefficient;
mod count;
mod disjoint;
mod empty;
mod gist;
mod map;
mod piece;
mod polynomial;
mod project;
mod rows;
mod set;
mod subtract;
mod text;

pub use affine::Affine;
pub use answer::Answer;
pub use bounds::{Bound, Level, Nest, Stride};
pub use coefficient::Coefficient;
pub use count::Count;
pub use map::{Map, MapPiece, Target};
pub use piece::{Constraint, Div, Piece, Relation};
pub use polynomial::Polynomial;
pub use set::{Set, Space};
pub use text::{Comparison, Expression, Formula, TextError, print_form};

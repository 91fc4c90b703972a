//! The dense oracle: the meaning of a program, evaluated by definition, and the comparison of results with it.
//!
//! It begins at the text ([`read`]) with rules of its own for types ([`types`]), implicit sums ([`sums`]), absent entries
//! ([`absence`]) and arithmetic ([`scalar`]), and shares no code with the compiler, and the parser alone with the front end.
//! Tensors are lists of their present entries ([`entries`]).
//!
//! ```
//! use lacunar_front::Declarations;
//! use lacunar_oracle::{Question, evaluate, scalar::Scalar};
//! let declarations = Declarations::new().size("i", 2);
//! let (source, none) = ("y(i) = 1.0 * i8(2.75)", Default::default());
//! let question = Question { source, declarations: &declarations, formats: &Default::default(), given: &none };
//! assert_eq!(evaluate(&question).unwrap()[0].entries.values[&vec![1]], Scalar::Real(2.0));
//! ```

pub mod absence;
pub mod compare;
pub mod entries;
pub mod operators;
mod oracle;
mod patterns;
pub mod read;
pub mod scalar;
pub mod sums;
pub mod types;

pub use oracle::{MAX_WORK, Outcome, Question, evaluate, is_small};

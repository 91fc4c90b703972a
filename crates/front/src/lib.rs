//! Text to notation: the user's text becomes a checked [`lacunar_notation::Program`], or diagnostics.
//!
//! One folder for each language: [`einsum`] reads statements (`y(i) = A(i,j) * x(j)`), [`options`] reads the values of the command's flags
//! (`A:csr`, `y:f32`, `i:100`), [`schedule`] reads schedules (`split(i, i0, i1, 32)`), [`structure`] reads declared structures
//! (`A:symmetric`, `A(i,j): i <= j`), and [`stur`] programs of rules. No text makes anything here panic, hang or overflow the stack.
//!
//! ```
//! use lacunar_front::{Declarations, check};
//! use lacunar_formats::Format;
//! let declarations = Declarations::new().format("A", Format::csr()).dims("A", [3, 4]);
//! let program = check("y(i) = A(i,j) * x(j)", &declarations).unwrap();
//! assert_eq!(program.to_string(), "y(i) = A(i,j) * x(j)\ny: f64 dense result 3\nA: f64 csr input 3x4\nx: f64 dense input 4\n");
//! ```

pub mod concrete;
pub mod einsum;
pub mod options;
pub mod schedule;
pub mod structure;
pub mod stur;
mod words;

pub use einsum::{Ast, Declarations, Language, check, parse};

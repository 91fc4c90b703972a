//! The programs that make the example data of Lacunar.
//!
//! Every file in `examples/data` is the output of a program of this crate, and a test compares the two, so the origin
//! of each number can be read here:
//!
//! | file | program | what it is |
//! |---|---|---|
//! | `stiffness.mtx` | `fem stiffness` | stiffness matrix of the Poisson problem on an irregular mesh |
//! | `convection.tns` | `fem convection` | order-3 convection tensor of a coarser such mesh |
//! | `karate.mtx` | `karate` | Zachary's karate club, a small social network |
//!
//! The program `grid` makes inputs of any size for measurements; nothing of it is shipped.
//!
//! Reading order: [`mesh`] places points and joins them by [`delaunay`]; [`fem`] integrates over the triangles;
//! [`files`] writes the results. [`graph`] and [`grid`] stand alone.
//!
//! All arithmetic is either on integers or uses only `+ - * /` of IEEE 754, so that the files come out the same on
//! every machine.

pub mod delaunay;
pub mod fem;
pub mod files;
pub mod graph;
pub mod grid;
pub mod mesh;
pub mod random;

//! The einsum! macro of Lacunar.

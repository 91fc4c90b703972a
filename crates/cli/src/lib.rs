//! The command lacunar.

//! Example programs of Lacunar.

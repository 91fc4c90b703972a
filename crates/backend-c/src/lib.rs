//! C99 back end of Lacunar.

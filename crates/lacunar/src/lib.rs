//! Lacunar: a compiler for tensors with gaps.

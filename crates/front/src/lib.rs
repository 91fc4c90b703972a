//! Text to notation for Lacunar: expressions, programs, formats.

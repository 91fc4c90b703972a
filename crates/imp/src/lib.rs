//! The imperative IR of Lacunar: data, verifier, printer, parser, interpreter, passes.

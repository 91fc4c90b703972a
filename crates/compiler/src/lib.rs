//! Index notation to imperative IR: concretize, plan, iterate, lower.

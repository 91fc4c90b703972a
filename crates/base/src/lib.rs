//! Spans, diagnostics, typed handles and the pass trace of Lacunar.

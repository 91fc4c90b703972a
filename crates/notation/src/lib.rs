//! Index notation and concrete notation of Lacunar: data, printers, verifiers.

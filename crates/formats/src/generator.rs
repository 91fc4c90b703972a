//! Kinds of made-up tensors: `rand`, `ones`, `arange`, `sparse(0.01)`, `uniform(8)`.
//!
//! This file has their names, and their formats if nothing else is declared; the runtime makes them.
//!
//! ```
//! use lacunar_formats::{Format, Generator};
//! let kind: Generator = "sparse(0.01)".parse().unwrap();
//! assert_eq!((kind, kind.to_string().as_str()), (Generator::Sparse(0.01), "sparse(0.01)"));
//! assert_eq!(kind.format(2), Format::csr());
//! ```

use std::fmt;
use std::str::FromStr;

use crate::format::Format;

/// A kind of made-up tensor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Generator {
    /// Every entry random.
    Rand,
    /// Every entry 1.
    Ones,
    /// Every entry, counting from 0.
    Arange,
    /// Each entry with this probability, from 0 to 1.
    Sparse(f64),
    /// The number of entries in each row.
    Uniform(u64),
}

/// A text that names no generator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratorError {
    /// The text.
    pub text: String,
}

impl FromStr for Generator {
    type Err = GeneratorError;

    fn from_str(text: &str) -> Result<Generator, GeneratorError> {
        let error = || GeneratorError { text: text.to_string() };
        let trimmed = text.trim();
        let (name, argument) = match trimmed.split_once('(') {
            Some((name, rest)) => (name.trim(), Some(rest.strip_suffix(')').ok_or_else(error)?.trim())),
            None => (trimmed, None),
        };
        match (name, argument) {
            ("rand" | "r", None) => Ok(Generator::Rand),
            ("ones", None) => Ok(Generator::Ones),
            ("arange" | "d", None) => Ok(Generator::Arange),
            ("s", None) => Ok(Generator::Sparse(0.07)),
            ("h", None) => Ok(Generator::Sparse(0.005)),
            ("sparse", Some(density)) => {
                let density = density.parse::<f64>().ok().filter(|density| (0.0..=1.0).contains(density));
                density.map(Generator::Sparse).ok_or_else(error)
            }
            ("uniform", Some(count)) => count.parse().map(Generator::Uniform).map_err(|_| error()),
            _ => Err(error()),
        }
    }
}

impl fmt::Display for Generator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Generator::Rand => f.write_str("rand"),
            Generator::Ones => f.write_str("ones"),
            Generator::Arange => f.write_str("arange"),
            Generator::Sparse(density) => write!(f, "sparse({density})"),
            Generator::Uniform(count) => write!(f, "uniform({count})"),
        }
    }
}

impl Generator {
    /// The words for the kinds, without their arguments.
    pub const WORDS: [&str; 5] = ["rand", "ones", "arange", "sparse", "uniform"];

    /// The format of such a tensor of an order where none is declared.
    pub fn format(&self, order: usize) -> Format {
        match (self, order) {
            (Generator::Rand | Generator::Ones | Generator::Arange, _) | (_, 0) => Format::dense(order),
            (Generator::Sparse(_) | Generator::Uniform(_), 1) => Format::sv(),
            (Generator::Sparse(_) | Generator::Uniform(_), 2) => Format::csr(),
            (Generator::Sparse(_) | Generator::Uniform(_), _) => Format::csf(order),
        }
    }
}

impl std::error::Error for GeneratorError {}

impl fmt::Display for GeneratorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let GeneratorError { text } = self;
        write!(
            f,
            "`{text}` is not a generator; there are rand, ones, arange, sparse(P) with P from 0 to 1, and uniform(N)"
        )
    }
}

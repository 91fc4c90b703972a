//! Classes of engines, so that like is compared with like.
//!
//! ```text
//! plain       computes the result, in order, from operands as they come
//! inspected   may convert or analyze the operands beforehand                (mkl:inspected, librsb; lacunar:auto)
//! unordered   may leave the rows of a sparse result in any order            (oneMKL's products)
//! ```
//!
//! In a contest of a class, plain engines take part as well, because they ask for less; engines of the other class do not.
//! `classes.toml` says the classes of peers and of kernels written by hand, definitions those of our variants.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::definition::Definition;

/// The freedom that an engine takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// None: it computes the kernel.
    #[default]
    Plain,
    /// It converts or analyzes operands beforehand.
    Inspected,
    /// It leaves rows of the result in any order.
    Unordered,
}

impl Class {
    /// All classes.
    pub const ALL: [Class; 3] = [Class::Plain, Class::Inspected, Class::Unordered];

    /// True if an engine of another class may take part in a contest of this one.
    pub fn admits(self, other: Class) -> bool {
        other == Class::Plain || other == self
    }

    /// The name of a kernel's contest: `spmv`, `spmv inspected`.
    pub fn contest(self, kernel: &str) -> String {
        match self {
            Class::Plain => kernel.to_string(),
            Class::Inspected => format!("{kernel} inspected"),
            Class::Unordered => format!("{kernel} unordered"),
        }
    }
}

/// The classes of peers and of kernels written by hand.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Classes {
    inspected: BTreeSet<String>,
    unordered: BTreeSet<String>,
}

impl Classes {
    /// Reads `classes.toml`.
    ///
    /// # Errors
    /// The file is missing or not of this form.
    pub fn read() -> Result<Classes> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("classes.toml");
        let text = fs::read_to_string(&path).with_context(|| format!("{} can't be read", path.display()))?;
        toml::from_str(&text).with_context(|| format!("{} is no table of classes", path.display()))
    }

    /// The class of an engine, ours or another, on a kernel.
    pub fn of(&self, definition: &Definition, engine: &str) -> Class {
        if let Some(ours) = definition.ours.iter().find(|ours| ours.engine() == engine) {
            return ours.class;
        }
        let of_kernel = format!("{}/{engine}", definition.name);
        let is_in = |names: &BTreeSet<String>| names.contains(engine) || names.contains(&of_kernel);
        if is_in(&self.inspected) {
            Class::Inspected
        } else if is_in(&self.unordered) {
            Class::Unordered
        } else {
            Class::Plain
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::KERNELS;

    /// Every engine that the table names is one of some definition, and the other way round each has one class.
    #[test]
    fn classes_are_those_of_engines() {
        let classes = Classes::read().expect("well-formed");
        let definitions = Definition::read_all(KERNELS).expect("well-formed");
        let mut engines: BTreeSet<String> = BTreeSet::new();
        for definition in &definitions {
            let of = |peer: &str, kernel: &str| match kernel.split_once(':') {
                Some((_, variant)) => format!("{peer}:{variant}"),
                None => peer.to_string(),
            };
            let peers =
                definition.peers.iter().flat_map(|(peer, kernels)| kernels.iter().map(|kernel| of(peer, kernel)));
            for engine in peers.chain(definition.floor.iter().map(|kernel| of("floor", kernel))) {
                engines.insert(format!("{}/{engine}", definition.name));
                engines.insert(engine);
            }
        }
        for name in classes.inspected.iter().chain(&classes.unordered) {
            assert!(engines.contains(name), "{name} is no engine");
        }
        let of = |kernel: &str, engine: &str| {
            let definition = definitions.iter().find(|definition| definition.name == kernel).expect("there");
            classes.of(definition, engine)
        };
        assert_eq!(of("spgemm", "mkl"), Class::Unordered);
        assert_eq!(of("spgemm", "mkl:sorted"), Class::Plain);
        assert_eq!(of("spgemm", "scipy"), Class::Unordered);
        assert_eq!(of("spmv", "mkl"), Class::Plain);
        assert_eq!(of("spmv", "librsb:tuned"), Class::Inspected);
    }

    #[test]
    fn plain_engines_take_part_everywhere() {
        assert!(Class::ALL.iter().all(|class| class.admits(Class::Plain)));
        assert!(!Class::Unordered.admits(Class::Inspected) && !Class::Plain.admits(Class::Unordered));
        assert_eq!(Class::Inspected.contest("spmv"), "spmv inspected");
    }
}

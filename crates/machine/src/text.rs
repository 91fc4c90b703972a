//! The model as a text in TOML, which is kept on disk, printed by `lacunar info --machine`, and may be written by hand.
//!
//! ```toml
//! name = "zen4"
//! instructions = "x86-64-v4"
//! cycle = 0.25
//! missed_branch = 13.0
//! fork = 2000.0
//!
//! [vectors]
//! gather_4 = 3.0
//! gather_8 = 3.0
//! # ..
//! ```

use crate::model::{Caches, Machine, Vectors};

/// A text that is not a machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MachineError {
    /// The text is not TOML, or lacks an entry, or has one too many; with the place.
    #[error("{0}")]
    Text(String),
    /// A number that no machine has.
    #[error("`{0}` is not a number that a machine can have: it has to be finite and must not be negative")]
    Number(&'static str),
}

impl Machine {
    /// The machine that a text says.
    ///
    /// ```
    /// use lacunar_machine::{Machine, MachineError};
    /// let text = Machine::named("zen4").unwrap().to_toml();
    /// assert_eq!(Machine::from_toml(&text).unwrap().vectors.gather_8, 3.0);
    /// let negative = text.replace("gather_8 = 3.0", "gather_8 = -3.0");
    /// assert_eq!(Machine::from_toml(&negative), Err(MachineError::Number("gather_8")));
    /// ```
    ///
    /// # Errors
    /// The text is not TOML, entries are missing or unknown, or a number is none that a machine has.
    pub fn from_toml(text: &str) -> Result<Machine, MachineError> {
        let machine: Machine = toml::from_str(text).map_err(|error| MachineError::Text(error.to_string()))?;
        let wrong = machine.numbers().into_iter().find(|(_, number)| !number.is_finite() || *number < 0.0);
        match wrong {
            Some((name, _)) => Err(MachineError::Number(name)),
            None => Ok(machine),
        }
    }

    /// The text of the machine.
    pub fn to_toml(&self) -> String {
        // Strings, numbers and tables of them can be written as TOML.
        toml::to_string(self).unwrap_or_default()
    }

    fn numbers(&self) -> [(&'static str, f64); 15] {
        let Vectors { gather_4, gather_8, insert, gather_scattered, insert_scattered, .. } = self.vectors;
        let Vectors { multiply_add_32, multiply_add_64, masked_load, masked_store, .. } = self.vectors;
        let Caches { from_level_2, from_beyond, asked_ahead, .. } = self.caches;
        [
            ("cycle", self.cycle),
            ("missed_branch", self.missed_branch),
            ("fork", self.fork),
            ("gather_4", gather_4),
            ("gather_8", gather_8),
            ("insert", insert),
            ("gather_scattered", gather_scattered),
            ("insert_scattered", insert_scattered),
            ("multiply_add_32", multiply_add_32),
            ("multiply_add_64", multiply_add_64),
            ("masked_load", masked_load),
            ("masked_store", masked_store),
            ("from_level_2", from_level_2),
            ("from_beyond", from_beyond),
            ("asked_ahead", asked_ahead),
        ]
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::{Machine, MachineError, model::NAMES};

    #[test]
    fn texts_are_read_as_they_are_written() {
        for name in NAMES {
            let machine = Machine::named(name).unwrap();
            assert_eq!(Machine::from_toml(&machine.to_toml()).unwrap(), machine);
        }
    }

    #[test]
    fn broken_texts_are_refused() {
        let text = Machine::named("zen4").unwrap().to_toml();
        for broken in [
            String::new(),
            text[..text.len() / 2].to_string(),
            text.replace("cycle", "circle"),
            text.replace("x86-64-v4", "x87"),
            format!("{text}\nmore = 1\n"),
            text.replace("level_2 = 1048576", "level_2 = -1"),
        ] {
            assert!(matches!(Machine::from_toml(&broken), Err(MachineError::Text(_))), "{broken}");
        }
        let infinite = text.replace("fork = 2000.0", "fork = inf");
        assert_eq!(Machine::from_toml(&infinite), Err(MachineError::Number("fork")));
    }
}

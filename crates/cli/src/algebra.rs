//! `--check-algebra`: the properties that a program declares of its operators are tried; nothing is compiled and nothing runs.
//!
//! ```text
//! error: declared properties do not hold:
//!   `most` is declared with `identity`, which does not hold on f64: most(0, -1) is 0, and -1 is -1
//! ```

use lacunar::{AlgebraReport, Error, Language, check_algebra};

use crate::failure::Failure;
use crate::output;
use crate::program::Program;

/// Tries the properties of a program's operators, and prints the findings.
///
/// # Errors
/// Mistakes in the declarations; properties that do not hold.
pub fn algebra(program: &Program) -> Result<(), Failure> {
    // Rules declare no operators.
    let text = if program.language == Language::Rules { "y = 0" } else { &program.text };
    let report = check_algebra(text).map_err(|error| match error {
        Error::Program { diagnostics, .. } => program.mistakes(diagnostics),
        other => Failure::Library(other),
    })?;
    let AlgebraReport { properties, operators, violations } = &report;
    if !violations.is_empty() {
        let found: Vec<String> = violations.iter().map(|violation| format!("\n  {violation}")).collect();
        return Err(Failure::Difference(format!("declared properties do not hold:{}", found.concat())));
    }
    let names: Vec<String> = operators.iter().map(|name| format!("`{name}`")).collect();
    let text = match properties {
        0 => "no operator is declared with a property\n".to_string(),
        _ => format!("{properties} properties hold of all values that were tried: {}\n", names.join(", ")),
    };
    output::print(text.as_bytes())
}

//! Schemas of nodes that the command line or a program names: they are made known before formats are read.

use lacunar_base::Diagnostic;
use lacunar_formats::{SchemaError, Template};

use crate::args::SchemaArgs;
use crate::failure::Failure;
use crate::program::read_text;

/// Makes the schemas of files known.
///
/// # Errors
/// A file can't be read, or there are mistakes in it.
pub fn define(args: &SchemaArgs) -> Result<(), Failure> {
    for file in &args.schemas {
        let text = read_text(file, "schemas of nodes")?;
        Template::define_all(&text).map_err(|errors| mistakes(&text, file, &errors))?;
    }
    Ok(())
}

/// A program's text without the schemas that it defines, which are made known.
///
/// # Errors
/// There are mistakes in them.
pub fn without(text: String, origin: &str) -> Result<String, Failure> {
    match Template::in_program(&text) {
        (rest, Ok(_)) => Ok(rest),
        (_, Err(errors)) => Err(mistakes(&text, origin, &errors)),
    }
}

fn mistakes(text: &str, origin: &str, errors: &[SchemaError]) -> Failure {
    let diagnostics: Vec<Diagnostic> = errors.iter().map(SchemaError::diagnostic).collect();
    Failure::Text { text: text.to_string(), origin: origin.to_string(), diagnostics }
}

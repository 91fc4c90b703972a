//! The promises about names: `A_vals` keeps them; `2x`, `int` and a name that is already taken do not.

use rustc_hash::FxHashSet;

use super::{Rule, VerifyError, error};
use crate::ir::Function;

/// Checks the names of a function, its arrays and variables.
pub(super) fn check(function: &Function) -> Result<(), VerifyError> {
    check_name(&function.name)?;
    let arrays = function.arrays.iter().map(|(_, array)| &array.name);
    let vars = function.vars.iter().map(|(_, var)| &var.name);
    let mut seen = FxHashSet::default();
    for name in arrays.chain(vars) {
        check_name(name)?;
        if !seen.insert(name) {
            return Err(error(Rule::DuplicateName, name));
        }
    }
    Ok(())
}

fn check_name(name: &str) -> Result<(), VerifyError> {
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if !starts || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err(error(Rule::NotAnIdentifier, format!("`{}`", name.escape_debug())));
    }
    if is_c_keyword(name) {
        return Err(error(Rule::Keyword, name));
    }
    Ok(())
}

/// True if a name is a keyword of C (up to C23, and the names that the headers of kernels define as such).
pub fn is_c_keyword(name: &str) -> bool {
    const KEYWORDS: [&str; 57] = [
        "alignas",
        "alignof",
        "asm",
        "auto",
        "bool",
        "break",
        "case",
        "char",
        "complex",
        "const",
        "constexpr",
        "continue",
        "default",
        "do",
        "double",
        "else",
        "enum",
        "extern",
        "false",
        "float",
        "for",
        "goto",
        "if",
        "inline",
        "int",
        "long",
        "nullptr",
        "register",
        "restrict",
        "return",
        "short",
        "signed",
        "sizeof",
        "static",
        "static_assert",
        "struct",
        "switch",
        "thread_local",
        "true",
        "typedef",
        "typeof",
        "union",
        "unsigned",
        "void",
        "volatile",
        "while",
        "I",
        "NULL",
        "NAN",
        "INFINITY",
        "INT64_MIN",
        "INT64_MAX",
        "SIZE_MAX",
        "main",
        "imaginary",
        "typeof_unqual",
        "fortran",
    ];
    // `_Bool`, `_Complex` and whatever else begins like this is reserved.
    let reserved = name.strip_prefix('_').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()));
    reserved || KEYWORDS.contains(&name)
}

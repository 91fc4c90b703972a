//! The mistakes a program can have, and the words for each. The codes are explained in `docs/errors.md`.
//!
//! Every mistake of this language is a variant with its places, in a file for each kind of mistake; `into_diagnostic` alone puts it
//! into words.

mod accesses;
mod actions;
mod formats;
mod names;
mod operators;
mod sizes;
mod statements;
mod syntax;
mod types;

use lacunar_base::Diagnostic;

pub(crate) use accesses::AccessMistake;
pub(crate) use actions::ActionMistake;
pub(crate) use formats::FormatMistake;
pub(crate) use names::NameMistake;
pub(crate) use operators::OperatorMistake;
pub(crate) use sizes::{SizeMistake, SizeUse};
pub(crate) use statements::{Meeting, StatementMistake};
pub(crate) use syntax::SyntaxMistake;
pub(crate) use types::TypeMistake;

use crate::concrete::Mistake;
pub(crate) use crate::structure::Error as StructureMistake;

/// A mistake in a program.
#[derive(Clone, Debug)]
pub(crate) enum Error {
    Syntax(SyntaxMistake),
    Name(NameMistake),
    Access(AccessMistake),
    Size(SizeMistake),
    Format(FormatMistake),
    Type(TypeMistake),
    Statement(StatementMistake),
    Action(ActionMistake),
    Operator(OperatorMistake),
    Concrete(Mistake),
    Structure(StructureMistake),
}

impl Error {
    /// The mistake in words.
    pub fn into_diagnostic(self) -> Diagnostic {
        match self {
            Error::Syntax(error) => error.into_diagnostic(),
            Error::Name(error) => error.into_diagnostic(),
            Error::Access(error) => error.into_diagnostic(),
            Error::Size(error) => error.into_diagnostic(),
            Error::Format(error) => error.into_diagnostic(),
            Error::Type(error) => error.into_diagnostic(),
            Error::Statement(error) => error.into_diagnostic(),
            Error::Action(error) => error.into_diagnostic(),
            Error::Operator(error) => error.into_diagnostic(),
            Error::Concrete(error) => error.into_diagnostic(),
            Error::Structure(error) => error.into_diagnostic(),
        }
    }
}

macro_rules! kinds {
    ($($kind:ident: $mistake:ident),*) => {
        $(impl From<$mistake> for Error {
            fn from(error: $mistake) -> Error {
                Error::$kind(error)
            }
        })*
    };
}

kinds!(Syntax: SyntaxMistake, Name: NameMistake, Access: AccessMistake, Size: SizeMistake, Format: FormatMistake, Type: TypeMistake, Statement: StatementMistake, Action: ActionMistake, Operator: OperatorMistake, Concrete: Mistake, Structure: StructureMistake);

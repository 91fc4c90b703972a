//! The syntax tree of a schedule: calls as written, with nothing resolved.
//!
//! `y: split(i, i0, i1, 32)` is a [`Call`] of `split` with four arguments, for the statement `y`.

use lacunar_base::Span;

use crate::einsum::{Expr, ExprKind, Name};

/// Commands in order.
#[derive(Clone, Debug, Default)]
pub struct Ast {
    /// The commands that could be read.
    pub calls: Vec<Call>,
}

/// `name(arguments)`.
#[derive(Clone, Debug)]
pub struct Call {
    /// The word before a colon: the result of a statement, or its number.
    pub statement: Option<Name>,
    /// The command.
    pub name: Name,
    /// The arguments inside the parentheses.
    pub arguments: Vec<Argument>,
    /// All of it, without the statement.
    pub span: Span,
}

/// An argument of a command.
#[derive(Clone, Debug)]
pub enum Argument {
    /// A name, a number, an access, or any other expression.
    Expr(Expr),
    /// Names in braces or brackets.
    List(Vec<Name>, Span),
    /// `4 threads`.
    PerThread(u64, Span),
}

impl Call {
    /// The names among the arguments.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.arguments.iter().flat_map(|argument| match argument {
            Argument::Expr(Expr { kind: ExprKind::Name(name), .. }) => vec![name.as_str()],
            Argument::List(names, _) => names.iter().map(|name| name.text.as_str()).collect(),
            Argument::Expr(_) | Argument::PerThread(..) => Vec::new(),
        })
    }
}

impl Argument {
    /// Its place.
    pub fn span(&self) -> Span {
        match self {
            Argument::Expr(expr) => expr.span,
            Argument::List(_, span) | Argument::PerThread(_, span) => *span,
        }
    }
}

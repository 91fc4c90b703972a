//! The syntax tree of a statement of concrete notation, with its variables resolved: names are numbered as they occur.

use indexmap::IndexMap;
use lacunar_base::Span;
use lacunar_notation::provenance::{Provenance, Tag};
use lacunar_notation::schedule::{BoundKind, Parts};
use lacunar_notation::{Monoid, VarId};

use crate::einsum::{Bracket, Name, Statement};

/// A statement of concrete notation.
#[derive(Clone, Debug)]
pub struct Nest {
    /// The loops and assignments.
    pub(crate) body: Stmt,
    /// The relations as written.
    pub(crate) relations: Vec<Relation>,
    /// True for taco's `assemble`: the result is made in two phases.
    pub(crate) is_inserted: bool,
    /// All variables, each with the place where it first occurs. A variable's place in the map is its handle's index.
    pub(crate) vars: IndexMap<String, Span>,
    /// The first name of each variable that relations make: a producer has other names for the variables of its consumer.
    pub(crate) firsts: IndexMap<String, String>,
    /// The derivations of variables from each other. Accesses of `pos` name the tensor by the number of its relation.
    pub(crate) provenance: Provenance,
    /// The tensors that are filled and read inside, in the order of their first assignments.
    pub(crate) workspaces: Vec<String>,
    /// The relations in brackets, by the names of their tensors.
    pub(crate) brackets: IndexMap<String, Bracket>,
    /// The target that is assigned by sums in brackets, each of which has to tell its terms.
    pub(crate) placed: Option<Span>,
    /// The operation that combines values into the result.
    pub(crate) monoid: Option<Monoid>,
    /// True if an assignment, as it is written, combines the result's value before, which a line names.
    pub(crate) updates: bool,
}

/// A part of the statement.
#[derive(Clone, Debug)]
pub(crate) enum Stmt {
    /// An assignment; its expression has no reductions.
    Assign(Box<Statement>),
    /// A loop.
    Forall { var: Name, tags: Vec<Tag>, body: Box<Stmt> },
    /// The producer first, then the consumer.
    Where { consumer: Box<Stmt>, producer: Box<Stmt> },
    /// One after the other.
    Sequence(Vec<Stmt>),
}

/// A relation of variables as written.
#[derive(Clone, Debug)]
pub(crate) struct Relation {
    pub kind: RelationKind,
    pub parents: Vec<Name>,
    pub children: Vec<Name>,
}

/// The content of a relation besides its variables.
#[derive(Clone, Debug)]
pub(crate) enum RelationKind {
    Split(u64),
    Divide(Parts),
    Fuse,
    Pos { tensor: Name, vars: Vec<Name> },
    Coord,
    Bound(u64, BoundKind),
    Rename,
}

impl Nest {
    /// True if a workspace of this name is filled inside.
    pub(crate) fn fills(&self, name: &str) -> bool {
        self.workspaces.iter().any(|workspace| workspace == name)
    }

    /// The handle of a variable.
    pub(crate) fn var(&self, name: &str) -> Option<VarId> {
        self.vars.get_index_of(name).map(VarId::from_index)
    }

    /// The first name of a variable.
    pub(crate) fn first<'n>(&'n self, name: &'n str) -> &'n str {
        self.firsts.get(name).map_or(name, String::as_str)
    }

    /// The name of a variable.
    pub(crate) fn name(&self, var: VarId) -> &str {
        self.vars.get_index(var.index()).map_or("", |(name, _)| name)
    }
}

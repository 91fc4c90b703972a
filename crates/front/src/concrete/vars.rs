//! The variables of a statement, and their derivations from each other.
//!
//! On exit every variable has a number, and each relation makes variables that were not there before, or that are made of another name
//! of its variables in the same way.

use indexmap::IndexMap;
use lacunar_base::Span;
use lacunar_notation::provenance::{Provenance, Relation as Known};
use lacunar_notation::{Access, TensorId, VarId};

use super::ast::{Relation, RelationKind, Stmt};
use super::error::Mistake;
use crate::einsum::{ExprKind, Name};

/// The variables of a statement.
pub(super) struct Numbered {
    /// Their names, by numbers.
    pub vars: IndexMap<String, Span>,
    /// The first names of those that relations make.
    pub firsts: IndexMap<String, String>,
    pub provenance: Provenance,
}

/// Numbers the variables of loops, indices and relations.
///
/// # Errors
/// A variable that is made twice, but of another name of what it is made of, or after another was made of it.
pub(super) fn number(body: &Stmt, relations: &[Relation]) -> Result<Numbered, Mistake> {
    let mut vars = IndexMap::new();
    collect(body, &mut vars);
    for name in relations.iter().flat_map(|relation| relation.parents.iter().chain(&relation.children)) {
        vars.entry(name.text.clone()).or_insert(name.span);
    }
    let mut provenance = Provenance::default();
    let (mut known, mut replaced): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    let (mut before, mut firsts): (Vec<Made>, IndexMap<String, String>) = (Vec::new(), IndexMap::new());
    for (place, relation) in relations.iter().enumerate() {
        for Name { text, span } in &relation.parents {
            known.push(text);
            if matches!(relation.kind, RelationKind::Rename) {
                continue;
            }
            if replaced.contains(&text.as_str()) {
                return Err(Mistake::Replaced { span: *span, name: text.clone() });
            }
            replaced.push(text);
        }
        let made = Made::of(relation, &firsts);
        for (at, Name { text, span }) in relation.children.iter().enumerate() {
            let shares = |other: &Made| other.is_shared(&made, at);
            if known.contains(&text.as_str()) && !(before.iter().any(shares) && is_around(body, text, false)) {
                return Err(Mistake::Taken { span: *span, name: text.clone() });
            }
            known.push(text);
            let first = match relation.kind {
                RelationKind::Rename => made.parents.first().cloned(),
                _ => before.iter().find(|other| other.is_alike(&made)).and_then(|other| other.name(at)),
            };
            let own = firsts.get(text).cloned().or(first).unwrap_or_else(|| text.clone());
            firsts.insert(text.clone(), own);
        }
        before.push(made);
        provenance.relations.push(numbered(place, relation, &vars));
    }
    Ok(Numbered { vars, firsts, provenance })
}

/// A relation, and the first names of the variables that it makes variables of: a producer has other names for the variables of its
/// consumer, and for the variables that are made of them in the same way.
///
/// ```text
/// bound(i, b, 29, maxexact) and split(b, i0, i1, 8)
/// rename(i, i2) and bound(i2, b2, 29, maxexact) and split(b2, i0, p, 8)     b2 is b, and p is i1 by another name
/// ```
struct Made<'a> {
    relation: &'a Relation,
    parents: Vec<String>,
    /// The first names of the indices at the tensor whose positions it makes.
    indices: Vec<String>,
}

impl<'a> Made<'a> {
    fn of(relation: &'a Relation, firsts: &IndexMap<String, String>) -> Made<'a> {
        let of = |names: &[Name]| -> Vec<String> {
            names.iter().map(|name| firsts.get(&name.text).unwrap_or(&name.text).clone()).collect()
        };
        let indices = match &relation.kind {
            RelationKind::Pos { vars, .. } => of(vars),
            _ => Vec::new(),
        };
        Made { relation, parents: of(&relation.parents), indices }
    }

    /// The name of the variable that it makes at a place.
    fn name(&self, at: usize) -> Option<String> {
        self.relation.children.get(at).map(|child| child.text.clone())
    }

    /// True if two relations make variables in one way, of one variable or of other names of it.
    fn is_alike(&self, other: &Made) -> bool {
        let is_same_kind = match (&self.relation.kind, &other.relation.kind) {
            (RelationKind::Split(a), RelationKind::Split(b)) => a == b,
            (RelationKind::Divide(a), RelationKind::Divide(b)) => a == b,
            (RelationKind::Bound(a, kind), RelationKind::Bound(b, other)) => (a, kind) == (b, other),
            (RelationKind::Fuse, RelationKind::Fuse) => true,
            (RelationKind::Pos { tensor: a, .. }, RelationKind::Pos { tensor: b, .. }) => a.text == b.text,
            _ => false,
        };
        is_same_kind && (&self.parents, &self.indices) == (&other.parents, &other.indices)
    }

    /// True if two relations make one variable at a place, of a variable and of another name of it: the loop is over parts of both.
    ///
    /// ```text
    /// rename(i, i2) and split(i, i0, i1, 4) and split(i2, i0, iw, 4)     i0, at the first place
    /// ```
    fn is_shared(&self, other: &Made, at: usize) -> bool {
        let texts = |made: &Made| made.relation.parents.iter().map(|name| name.text.clone()).collect::<Vec<_>>();
        self.is_alike(other) && self.name(at) == other.name(at) && texts(self) != texts(other)
    }
}

/// True if a loop over a variable is around a producer and its consumer.
fn is_around(stmt: &Stmt, name: &str, is_inside: bool) -> bool {
    match stmt {
        Stmt::Assign(_) => false,
        Stmt::Forall { var, body, .. } => is_around(body, name, is_inside || var.text == name),
        Stmt::Where { consumer, producer } => {
            is_inside || is_around(consumer, name, false) || is_around(producer, name, false)
        }
        Stmt::Sequence(stmts) => stmts.iter().any(|stmt| is_around(stmt, name, is_inside)),
    }
}

fn collect(stmt: &Stmt, vars: &mut IndexMap<String, Span>) {
    match stmt {
        Stmt::Assign(statement) => {
            for index in &statement.indices {
                if let ExprKind::Name(name) = &index.kind {
                    vars.entry(name.clone()).or_insert(index.span);
                }
            }
        }
        Stmt::Forall { var, body, .. } => {
            vars.entry(var.text.clone()).or_insert(var.span);
            collect(body, vars);
        }
        Stmt::Where { consumer, producer } => {
            collect(producer, vars);
            collect(consumer, vars);
        }
        Stmt::Sequence(stmts) => stmts.iter().for_each(|stmt| collect(stmt, vars)),
    }
}

/// A relation between numbers. The tensor of a `pos` is the place of the relation.
fn numbered(place: usize, relation: &Relation, vars: &IndexMap<String, Span>) -> Known {
    let id = |name: &Name| VarId::from_index(vars.get_index_of(&name.text).unwrap_or_default());
    let of = |names: &[Name], at: usize| names.get(at).map(id).unwrap_or_else(|| VarId::from_index(0));
    let (parent, child) = (of(&relation.parents, 0), of(&relation.children, 0));
    match &relation.kind {
        RelationKind::Split(size) => {
            Known::Split { parent, outer: child, inner: of(&relation.children, 1), size: *size }
        }
        RelationKind::Divide(parts) => {
            Known::Divide { parent, outer: child, inner: of(&relation.children, 1), parts: *parts }
        }
        RelationKind::Fuse => Known::Fuse { outer: parent, inner: of(&relation.parents, 1), fused: child },
        RelationKind::Pos { vars, .. } => {
            let access =
                Access { tensor: TensorId::from_index(place), vars: vars.iter().map(id).collect(), span: Span::NONE };
            Known::Pos { coordinate: parent, position: child, access }
        }
        RelationKind::Coord => Known::Coord { position: parent, coordinate: child },
        RelationKind::Bound(size, kind) => Known::Bound { parent, bounded: child, size: *size, kind: *kind },
        RelationKind::Rename => Known::Rename { parent, copy: child },
    }
}

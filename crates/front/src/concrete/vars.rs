//! The variables of a statement, and how they derive from each other.
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

/// Numbers the variables of loops, indices and relations.
///
/// # Errors
/// A variable that is made twice, but of another name of what it is made of, or after another was made of it.
pub(super) fn number(body: &Stmt, relations: &[Relation]) -> Result<(IndexMap<String, Span>, Provenance), Mistake> {
    let mut vars = IndexMap::new();
    collect(body, &mut vars);
    for name in relations.iter().flat_map(|relation| relation.parents.iter().chain(&relation.children)) {
        vars.entry(name.text.clone()).or_insert(name.span);
    }
    let mut provenance = Provenance::default();
    let (mut known, mut replaced): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
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
        let before = &relations[..place];
        let shares = |at: usize| before.iter().any(|other| is_shared(other, relation, at, before));
        for (at, Name { text, span }) in relation.children.iter().enumerate() {
            if known.contains(&text.as_str()) && !(shares(at) && is_around(body, text, false)) {
                return Err(Mistake::Taken { span: *span, name: text.clone() });
            }
            known.push(text);
        }
        provenance.relations.push(numbered(place, relation, &vars));
    }
    Ok((vars, provenance))
}

/// True if two relations make one variable at a place, of a variable and of another name of it: the loop is over parts of both.
///
/// ```text
/// rename(i, i2) and split(i, i0, i1, 4) and split(i2, i0, iw, 4)     i0, at the first place
/// ```
fn is_shared(one: &Relation, other: &Relation, at: usize, relations: &[Relation]) -> bool {
    let renames = || relations.iter().filter(|relation| matches!(relation.kind, RelationKind::Rename));
    let first = |name: &Name| {
        // A name is made before others are made of it.
        renames().rev().fold(name.text.clone(), |first, rename| match (&rename.parents[..], &rename.children[..]) {
            ([parent], [copy]) if copy.text == first => parent.text.clone(),
            _ => first,
        })
    };
    let texts = |names: &[Name]| names.iter().map(|name| name.text.clone()).collect::<Vec<_>>();
    let firsts = |names: &[Name]| names.iter().map(first).collect::<Vec<_>>();
    let is_same_kind = match (&one.kind, &other.kind) {
        (RelationKind::Split(a), RelationKind::Split(b)) => a == b,
        (RelationKind::Divide(a), RelationKind::Divide(b)) => a == b,
        (RelationKind::Bound(a, kind), RelationKind::Bound(b, other)) => (a, kind) == (b, other),
        (RelationKind::Fuse, RelationKind::Fuse) => true,
        (RelationKind::Pos { tensor: a, vars }, RelationKind::Pos { tensor: b, vars: other }) => {
            a.text == b.text && firsts(vars) == firsts(other)
        }
        _ => false,
    };
    is_same_kind
        && texts(&one.children).get(at) == texts(&other.children).get(at)
        && firsts(&one.parents) == firsts(&other.parents)
        && texts(&one.parents) != texts(&other.parents)
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

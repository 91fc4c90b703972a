//! The reason why a statement does not read a symmetric tensor once, in words.
//!
//! ```text
//! r(i) = A(i,j) * x(j) / d(i)     a sum is divided: it could be a statement of its own, `t(i) = A(i,j) * x(j)`
//! C(i,k) = A(i,j) * B(j,k)        `k` is no index of `A`
//! ```
//!
//! On entry: a statement in reduction notation that [`mirrors`](super::mirror::mirrors) nothing in, and a tensor that it reads. On exit: the first
//! of the demands of `mirror.rs` that the statement does not meet; `None` if that is none which can be told in a few words.

use lacunar_base::Arena;
use lacunar_notation::{Access, Assignment, Expr, ExprKind, IndexVar, Monoid, Tensor, TensorId, VarId};

use super::mirror::{has_conditions, is_full, is_product};
use crate::concretize::{additive_terms, flatten};

pub(super) fn obstacle(
    tensors: &Arena<Tensor>,
    vars: &Arena<IndexVar>,
    statement: &Assignment,
    id: TensorId,
) -> Option<String> {
    let name = &tensors[id].name;
    if has_conditions(tensors, &statement.rhs) {
        return Some("conditions of indices choose elements".to_string());
    }
    let result = &tensors[statement.lhs.tensor];
    if !result.format.is_dense() || result.format.map().is_some() {
        return Some(format!("`{}` is stored as {}, not as an array", result.name, result.format));
    }
    let rhs = flatten(tensors, statement.rhs.clone());
    let terms = additive_terms(&rhs);
    let mut reading = terms.iter().filter(|term| term.accesses().iter().any(|access| access.tensor == id));
    reading.find_map(|term| of_term(tensors, vars, statement, term, (id, name)))
}

/// The same of one term.
fn of_term(
    tensors: &Arena<Tensor>,
    vars: &Arena<IndexVar>,
    statement: &Assignment,
    term: &Expr,
    (id, name): (TensorId, &str),
) -> Option<String> {
    let own: Vec<&Access> = term.accesses().into_iter().filter(|access| access.tensor == id).collect();
    let [access] = own.as_slice() else { return Some(format!("`{name}` stands more than once in a term")) };
    let (monoid, body) = match &term.kind {
        ExprKind::Reduce(monoid, _, body) => (*monoid, &**body),
        _ => (Monoid::SUM, term),
    };
    if monoid != Monoid::SUM {
        return Some(format!("the products are reduced by `{}`, not added", monoid.name()));
    }
    if !body.reduced_vars().is_empty() {
        let sum = format!("the sum with `{name}` is an operand of something else");
        return Some(format!("{sum}; as a statement of its own it would read `{name}` once"));
    }
    if !is_product(body, access) {
        return Some(format!("`{name}` is no factor and no dividend there"));
    }
    let named = |var: &VarId| vars[*var].name.as_str();
    if let Some(other) = body.accesses().into_iter().find(|other| other != access && !is_full(&tensors[other.tensor])) {
        let other = &tensors[other.tensor];
        return Some(format!("`{}` is stored as {}, not as an array", other.name, other.format));
    }
    let known = body.free_vars();
    if let Some(var) = statement.lhs.vars.iter().find(|var| !known.contains(var)) {
        return Some(format!("the term with `{name}` has no index `{}`", named(var)));
    }
    let is_matrix = access.vars.len() == 2;
    let foreign = known.iter().find(|var| is_matrix && !access.vars.contains(var))?;
    Some(format!("`{}` is no index of `{name}`", named(foreign)))
}

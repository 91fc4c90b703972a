//! Relations in brackets, in loops that are written: the facts about their tensors.
//!
//! On exit each is an indicator as those that are made for indices are: it tells if its index is of the tensor that is assigned, and the
//! size of the last dimension if that is none of a tensor.
//!
//! ```text
//! forall(i, forall(d, y(i) += [d == i + 1] * x(d)))       d: a dimension of `x`
//! forall(i, forall(e, forall(d, y(i) += [d == e + 1] * ([e == p(i)] * x(d)))))       e: whatever `p` holds
//! ```

use indexmap::{IndexMap, IndexSet};
use lacunar_notation::gather::room_for;
use lacunar_notation::{AssignOp, Gather};

use super::replaced::Replaced;
use super::{Affine, Expansion, Indicators, Made, Relation};
use crate::einsum::Bracket;
use crate::einsum::ast::{Ast, Expr, ExprKind, Statement};
use crate::einsum::check::names::{Meaning, meaning};

/// The indicators that the brackets of a program are.
pub(super) fn indicators(ast: &Ast) -> Indicators {
    let made = |(name, bracket): (&String, &Bracket)| {
        // A bracket that is none is refused where it is read.
        Some((name.clone(), Made::new(bracket.relation().ok()?)))
    };
    ast.brackets.iter().filter_map(made).collect()
}

impl Expansion<'_> {
    /// Notes the use of a statement's brackets.
    pub(super) fn bracketed(&mut self, statement: &Statement) {
        let mut accesses: Vec<(&str, Vec<&str>)> = Vec::new();
        collect(&statement.rhs, &mut accesses);
        let target: IndexSet<&str> = statement.indices.iter().filter_map(Expr::variable).collect();
        // The variables that are dimensions of tensors and of lists.
        let mut of_tensors = target.clone();
        for (name, vars) in &accesses {
            let known = match self.indicators.get(*name).map(|made| &made.relation) {
                None => vars.len(),
                Some(Relation::Values(_) | Relation::List(_)) => vars.len().saturating_sub(1),
                Some(_) => 0,
            };
            of_tensors.extend(&vars[..known]);
        }
        if let Some(span) = statement.nest.as_ref().and_then(|nest| nest.placed) {
            let forms = target.iter().map(|index| {
                let tied = accesses.iter().find_map(|(name, vars)| {
                    let sum = self.indicators.get(*name)?.relation.sum()?;
                    let terms = vars.iter().map(|var| (*var).to_string()).zip(sum.factors.iter().copied());
                    (vars.last() == Some(index)).then(|| terms.take(vars.len() - 1).collect())
                });
                let terms = tied.unwrap_or_else(|| IndexMap::from([((*index).to_string(), 1)]));
                (None, Affine { terms, constant: 0 })
            });
            let forms = forms.collect();
            self.replaced.push(Replaced { span, forms });
        }
        for (name, vars) in &accesses {
            let Some(&last) = vars.last() else { continue };
            // The numbers that variables are multiplied by in the index that the last one is a summand of.
            let factors = accesses.iter().find_map(|(other, vars)| {
                let sum = self.indicators.get(*other)?.relation.sum()?;
                let others = &vars[..vars.len().saturating_sub(1)];
                others.contains(&last).then(|| sum.factors[..others.len().min(sum.factors.len())].to_vec())
            });
            let Some(made) = self.indicators.get_mut(*name) else { continue };
            made.is_target |= target.contains(last);
            made.replaced |= target.contains(last) && statement.op == AssignOp::Set;
            made.size = match &made.relation {
                _ if of_tensors.contains(last) => made.size,
                Relation::List(values) => Some(room_for(values)),
                Relation::Values(_) => factors.map(|factors| Gather::summand_size(factors.into_iter())),
                _ => made.size,
            };
        }
    }
}

/// The accesses of an expression: names, and the variables that their indices are.
fn collect<'e>(expr: &'e Expr, found: &mut Vec<(&'e str, Vec<&'e str>)>) {
    match &expr.kind {
        ExprKind::Number(_) | ExprKind::Bool(_) | ExprKind::Identity(_) | ExprKind::Name(_) => {}
        ExprKind::List { index, .. } => index.iter().for_each(|index| collect(index, found)),
        ExprKind::Cast { operand, .. } | ExprKind::Neg(operand) => collect(operand, found),
        ExprKind::Binary(_, left, right) => {
            collect(left, found);
            collect(right, found);
        }
        ExprKind::Apply { name, args, callee } => {
            if matches!(meaning(&name.text, args, *callee), Meaning::Access) {
                found.push((&name.text, args.iter().filter_map(Expr::variable).collect()));
            }
            args.iter().for_each(|arg| collect(arg, found));
        }
    }
}

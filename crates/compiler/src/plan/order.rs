//! The search for an order of the loops.
//!
//! All orders of up to five variables are compared; beyond that a beam of the best prefixes is kept, each judged by the
//! cost of its completion in natural order. Among orders of equal cost the natural one wins: the variables of the
//! result in the order of its levels, then the summed ones as they occur.

use lacunar_notation::concrete::Kernel;
use lacunar_notation::{Access, Expr, ExprKind, VarId};

use super::Search;
use super::cost::cost;
use super::factor::{factor, may_factor};
use super::storage::{appends_in, distinct_accesses, is_concordant, is_walked};
use super::traffic::Memory;
use crate::iterate::iterators::AccessKey;

/// How many prefixes a search keeps.
const BEAM: usize = 24;
/// Up to how many variables every order is looked at.
const EXHAUSTIVE: usize = 5;

/// The chosen order.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    /// All variables of the statement, the outermost first.
    pub order: Vec<VarId>,
    /// Its estimated work.
    pub cost: f64,
    /// The reason for the choice.
    pub reason: String,
}

/// Chooses the order of the loops of `lhs = rhs`.
pub(super) fn choose(kernel: &Kernel, lhs: &Access, rhs: &Expr, search: Search, memory: Memory) -> Choice {
    let natural = natural_order(kernel, lhs, rhs);
    let summed = natural.len() > lhs.vars.len();
    let agrees = |order: &[VarId]| {
        appends_in(&kernel.tensors[lhs.tensor].format, lhs, order)
            && distinct_accesses(rhs).iter().all(|access| is_concordant(kernel, access, order))
    };
    let chosen = |order: Vec<VarId>, reason: &str| {
        let cost = cost(kernel, lhs, rhs, &order, memory);
        Choice { order, cost, reason: reason.to_string() }
    };
    if natural.len() < 2 {
        return chosen(natural, "the only one");
    }
    if !summed && agrees(&natural) {
        return chosen(natural, "that of the storage");
    }
    if search == Search::Plain {
        let order = first_agreeing(&natural, &agrees).unwrap_or(natural);
        return chosen(order, "the plain loop nest");
    }
    let (ranked, looked_at) = ranked(&natural, |order| cost(kernel, lhs, rhs, order, memory));
    match ranked.into_iter().next() {
        Some((cost, order)) => {
            let reason = format!("estimated work {cost:.3e}, least of {looked_at} estimates");
            Choice { order, cost, reason }
        }
        None => chosen(natural, "the only one"),
    }
}

/// Chooses the order of the loops of `lhs = flat` if common factors are multiplied behind the inner sums that each order has: the
/// order and the factored sum, if that is less work than `least`.
pub(super) fn choose_factored(
    kernel: &Kernel,
    lhs: &Access,
    flat: &Expr,
    least: f64,
    memory: Memory,
) -> Option<(Choice, Expr)> {
    let natural = natural_order(kernel, lhs, flat);
    // One sum, or two factors, leave nothing to be multiplied behind another sum.
    let factors = flat.accesses().len();
    let few = flat.reduced_vars().len() < 2 || factors < 3;
    if few || natural.len() > EXHAUSTIVE || !may_factor(kernel, lhs, flat) {
        return None;
    }
    let factored = |order: &[VarId]| cost(kernel, lhs, &factor(flat.clone(), order), order, memory);
    let (ranked_factored, looked_at) = ranked(&natural, factored);
    let (cost, order) = ranked_factored.into_iter().next().filter(|(cost, _)| *cost < least)?;
    let reason = format!("estimated work {cost:.3e}, least of {looked_at} estimates");
    let sum = factor(flat.clone(), &order);
    Some((Choice { order, cost, reason }, sum))
}

/// Orders with their estimated work, the least first: all of few variables, of many those that the search came upon. Also gives the
/// number of estimates that this took.
pub(super) fn ranked(natural: &[VarId], cost: impl Fn(&[VarId]) -> f64) -> (Vec<(f64, Vec<VarId>)>, usize) {
    let mut beam: Vec<(f64, Vec<VarId>)> = vec![(0.0, Vec::new())];
    let width = if natural.len() <= EXHAUSTIVE { usize::MAX } else { BEAM };
    let mut looked_at = 0;
    for _ in 0..natural.len() {
        let mut next: Vec<(f64, Vec<VarId>)> = Vec::new();
        for (_, prefix) in &beam {
            for &var in natural.iter().filter(|var| !prefix.contains(var)) {
                let mut order = prefix.clone();
                order.push(var);
                let rest = natural.iter().copied().filter(|var| !order.contains(var));
                let whole: Vec<VarId> = order.iter().copied().chain(rest).collect();
                looked_at += 1;
                next.push((cost(&whole), order));
            }
        }
        // Stable: among equals the natural order stays first.
        next.sort_by(|a, b| a.0.total_cmp(&b.0));
        next.truncate(width);
        beam = next;
    }
    (beam, looked_at)
}

/// The first order, counting from the natural one, that agrees with all storage.
fn first_agreeing(natural: &[VarId], agrees: &impl Fn(&[VarId]) -> bool) -> Option<Vec<VarId>> {
    fn extend(
        prefix: &mut Vec<VarId>,
        natural: &[VarId],
        agrees: &impl Fn(&[VarId]) -> bool,
        budget: &mut usize,
    ) -> Option<Vec<VarId>> {
        if prefix.len() == natural.len() {
            *budget = budget.checked_sub(1)?;
            return agrees(prefix).then(|| prefix.clone());
        }
        for &var in natural {
            if !prefix.contains(&var) {
                prefix.push(var);
                let found = extend(prefix, natural, agrees, budget);
                prefix.pop();
                if found.is_some() || *budget == 0 {
                    return found;
                }
            }
        }
        None
    }
    extend(&mut Vec::new(), natural, agrees, &mut 5040)
}

/// The result's variables in the order of its levels, then the others as they occur; where the result is dense, before them
/// those of the first operand that is walked through by stored dimensions.
pub(super) fn natural_order(kernel: &Kernel, lhs: &Access, rhs: &Expr) -> Vec<VarId> {
    let levels = |access: &AccessKey| -> Vec<VarId> {
        kernel.tensors[access.tensor].format.mode_order().iter().map(|&mode| access.vars[mode]).collect()
    };
    let mut order = match distinct_accesses(rhs).iter().find(|access| is_walked(kernel, access)) {
        Some(walked) if kernel.tensors[lhs.tensor].format.is_dense() => levels(walked),
        _ => Vec::new(),
    };
    for var in levels(&AccessKey::from(lhs)) {
        if !order.contains(&var) {
            order.push(var);
        }
    }
    rhs.visit(&mut |expr| {
        let vars = match &expr.kind {
            ExprKind::Access(access) => &access.vars,
            ExprKind::Reduce(_, vars, _) => vars,
            _ => return,
        };
        for var in vars {
            if !order.contains(var) {
                order.push(*var);
            }
        }
    });
    order
}

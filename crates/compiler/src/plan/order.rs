//! The search for an order of the loops.
//!
//! All orders of up to five variables are compared. Beyond that, a beam of the best prefixes is kept. Each is judged by the cost of its
//! completion in natural order, or in one in which places that several operands are moved to come last. Among orders of equal cost the
//! natural one wins: the variables of the result in the order of its levels, then the summed ones as they occur.

use std::collections::BTreeMap;

use lacunar_notation::concrete::Kernel;
use lacunar_notation::{Access, Expr, ExprKind, VarId};

use super::Search;
use super::cost::{Costs, cost};
use super::factor::{factor, may_factor};
use super::storage::{appends_in, distinct_accesses, is_concordant, is_sparse, is_walked};
use super::traffic::Memory;
use crate::iterate::iterators::AccessKey;

/// The number of prefixes that a search keeps.
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
    let costs = Costs::new(kernel, lhs, rhs, memory);
    let chosen = |order: Vec<VarId>, reason: &str| {
        let cost = costs.of(&order);
        Choice { order, cost, reason: reason.to_string() }
    };
    if natural.len() < 2 {
        return chosen(natural, "the only one");
    }
    if !summed && agrees(&natural) && !is_crossed(kernel, lhs, rhs, &natural) {
        return chosen(natural, "that of the storage");
    }
    if search == Search::Plain {
        let order = first_agreeing(&natural, &agrees).unwrap_or(natural);
        return chosen(order, "the plain loop nest");
    }
    let (ranked, looked_at) = ranked(&natural, &Ties::of(kernel, rhs), |order| costs.of(order));
    match ranked.into_iter().next() {
        Some((cost, order)) => {
            let reason = format!("estimated work {cost:.3e}, least of {looked_at} estimates");
            Choice { order, cost, reason }
        }
        None => chosen(natural, "the only one"),
    }
}

/// True if all tensors are arrays, and innermost loops in an order would go across the rows of one: another order may move fewer lines.
fn is_crossed(kernel: &Kernel, lhs: &Access, rhs: &Expr, order: &[VarId]) -> bool {
    let mut all = distinct_accesses(rhs);
    all.push(AccessKey::from(lhs));
    let is_across = |access: &AccessKey| {
        let last = kernel.tensors[access.tensor].format.mode_order().last().map(|&mode| access.vars[mode]);
        order.last().is_some_and(|inner| access.vars.contains(inner)) && last != order.last().copied()
    };
    all.iter().all(|access| !is_sparse(kernel, access.tensor)) && all.iter().any(is_across)
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
    // Two factors leave nothing to be multiplied behind a sum.
    if flat.reduced_vars().is_empty()
        || flat.accesses().len() < 3
        || natural.len() > EXHAUSTIVE
        || !may_factor(kernel, lhs, flat)
    {
        return None;
    }
    let factored = |order: &[VarId]| cost(kernel, lhs, &factor(flat.clone(), order), order, memory);
    let (ranked_factored, looked_at) = ranked(&natural, &Ties::of(kernel, flat), factored);
    let (cost, order) = ranked_factored.into_iter().next().filter(|(cost, _)| *cost < least)?;
    let reason = format!("estimated work {cost:.3e}, least of {looked_at} estimates");
    let sum = factor(flat.clone(), &order);
    Some((Choice { order, cost, reason }, sum))
}

/// Sets of variables, those of indicators, each with the variables in it that follow from all its others.
pub(super) struct Ties(Vec<(Vec<VarId>, Vec<VarId>)>);

impl Ties {
    /// The sets in an expression.
    pub fn of(kernel: &Kernel, rhs: &Expr) -> Ties {
        let tied = |access: &AccessKey| kernel.tensors[access.tensor].indicator.is_some();
        let told = |access: AccessKey| {
            let tells = |place: &usize| kernel.tensors[access.tensor].tells(*place);
            let told = (0..access.vars.len()).filter(tells).map(|place| access.vars[place]).collect();
            (access.vars, told)
        };
        Ties(distinct_accesses(rhs).into_iter().filter(tied).map(told).collect())
    }

    /// A variable that follows from those of the loops so far: its loop has one iteration at most and costs nothing here.
    fn determined(&self, order: &[VarId]) -> Option<VarId> {
        self.0.iter().find_map(|(tied, told)| {
            let mut open = tied.iter().filter(|var| !order.contains(var));
            open.next().filter(|var| open.next().is_none() && told.contains(var)).copied()
        })
    }

    /// True if a variable is in several sets, of which one has other variables without loops.
    fn is_shared(&self, var: VarId, order: &[VarId]) -> bool {
        let open = |tied: &[VarId]| tied.iter().any(|own| *own != var && !order.contains(own));
        self.0.iter().any(|(tied, _)| tied.contains(&var) && open(tied))
    }

    /// An order that begins so, with the rest of the natural one.
    fn completed(&self, prefix: &[VarId], natural: &[VarId]) -> Vec<VarId> {
        complete(prefix, natural, |order| self.determined(order))
    }

    /// An order that begins so, in which variables that several sets have come behind all others of these, if there are such.
    fn completed_late(&self, prefix: &[VarId], natural: &[VarId]) -> Option<Vec<VarId>> {
        let (late, early): (Vec<VarId>, Vec<VarId>) = natural.iter().partition(|var| self.is_in_several(**var));
        let next = |order: &[VarId]| self.determined(order).filter(|var| !self.is_shared(*var, order));
        (!late.is_empty()).then(|| complete(prefix, &[early, late].concat(), next))
    }

    /// True if several sets have a variable.
    fn is_in_several(&self, var: VarId) -> bool {
        self.0.iter().filter(|(tied, _)| tied.contains(&var)).count() > 1
    }
}

/// An order that begins with a prefix: the variables that `next` gives follow, or else the first one that is left of the natural order.
fn complete(prefix: &[VarId], natural: &[VarId], next: impl Fn(&[VarId]) -> Option<VarId>) -> Vec<VarId> {
    let mut order = prefix.to_vec();
    loop {
        let open = || natural.iter().copied().find(|var| !order.contains(var));
        match next(&order).or_else(open) {
            Some(var) => order.push(var),
            None => return order,
        }
    }
}

/// Orders with their estimated work, the least first: all of few variables, of many those that the search came upon. It also
/// returns the number of estimates that this took.
pub(super) fn ranked(
    natural: &[VarId],
    ties: &Ties,
    cost: impl Fn(&[VarId]) -> f64,
) -> (Vec<(f64, Vec<VarId>)>, usize) {
    let mut beam: Vec<(f64, Vec<VarId>)> = vec![(0.0, Vec::new())];
    // Each set leaves one choice less, but not one of the sets.
    let choices = natural.len().saturating_sub(ties.0.len().min(2));
    let width = if choices <= EXHAUSTIVE { usize::MAX } else { BEAM };
    let mut looked_at = 0;
    // A beginning is judged by the same whole order as one of its continuations.
    let mut known: BTreeMap<Vec<VarId>, f64> = BTreeMap::new();
    let mut cost = |order: Vec<VarId>| *known.entry(order).or_insert_with_key(|order| cost(order));
    for _ in 0..natural.len() {
        let mut next: Vec<(f64, Vec<VarId>)> = Vec::new();
        for (_, prefix) in &beam {
            // One that several sets have may come behind the others of these as well.
            let determined = ties.determined(prefix).filter(|var| !ties.is_shared(*var, prefix));
            let is_next = |var: &&VarId| !prefix.contains(var) && determined.is_none_or(|only| only == **var);
            for &var in natural.iter().filter(is_next) {
                let mut order = prefix.clone();
                order.push(var);
                looked_at += 1;
                let late = ties.completed_late(&order, natural).map(&mut cost);
                let least = late.into_iter().fold(cost(ties.completed(&order, natural)), f64::min);
                next.push((least, order));
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

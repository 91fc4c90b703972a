//! `precompute(e, {i}, {iw}, kind)`: a part of an expression is computed into a workspace first.
//!
//! Demands: `e` is a part of the right-hand side of one assignment (of a product or a sum: some of its operands), and the loops
//! over the named variables stand around it. Relations: rename, where the workspace's loops have new names, and copies of those
//! that the named variables derive by (`copy.rs`).
//!
//! ```text
//! forall(i, forall(j, y(i) += A(i,j) * x(j)))
//!   ->  forall(i, where(y(i) = t, forall(j, t += A(i,j) * x(j))))                      precompute(A(i,j) * x(j), {}, {})
//! forall(i, y(i) = b(i) * c(i))
//!   ->  where(forall(i, y(i) = w(i)), forall(iw, w(iw) = b(iw) * c(iw)))               precompute(b(i) * c(i), i, iw)
//! ```
//!
//! Loops of sums that only the part needs move into the producer, if the part is a factor of the summand (`exp(A(i,j))` is not the
//! same of a sum). The producer stands outside of loops that it does not depend on, and inside of those that the part and the rest
//! both depend on and that the workspace is not over.
//! Papers: Kjolstad et al. 2019, §4; Senanayake et al. 2020, §5.1.

use lacunar_base::{Diagnostic, Span};
use lacunar_formats::Scalar;
use lacunar_notation::concrete::{Assign, Kernel, Stmt};
use lacunar_notation::provenance::Relation;
use lacunar_notation::schedule::Name;
use lacunar_notation::{Access, AssignOp, Expr, ExprKind, Monoid, Role, Tensor, TensorId, VarId, WorkspaceKind};

use crate::iterate::iterators::AccessKey;
use crate::iterate::position_space::pos_levels;

use super::copy::{self, Copy};
use super::part::{Found, find, is_factor, rename, replace, substitute};
use super::reorder::check_positions;
use super::{Forward, Transformed, leaf, refuse};

/// The label of a loop that is not around the expression.
const NOT_AROUND: &str = "not around";

/// True if a schedule is refused as a loop that it names is not around the expression, which depends on the order of the loops.
pub fn stands_outside(refusal: &Diagnostic) -> bool {
    refusal.labels.iter().any(|label| label.message == NOT_AROUND)
}

pub(super) fn precompute(
    kernel: &Kernel,
    expr: &Expr,
    vars: &[Name],
    into: &[Name],
    kind: Option<WorkspaceKind>,
    span: Span,
) -> Transformed {
    let leaves = vars.iter().map(|name| leaf(kernel, name)).collect::<Result<Vec<_>, _>>()?;
    let behind = copy::behind_copies(kernel, expr);
    let expr = if find(&kernel.stmt, expr).is_some() { expr } else { &behind };
    let Some(found) = find(&kernel.stmt, expr) else {
        return Err(refuse("E1212", span, "the expression is no part of what is computed", "this")
            .hint("name operands of one sum or product as they stand in the statement"));
    };
    if let Some((name, _)) = vars.iter().zip(&leaves).find(|(_, var)| !found.loops.contains(var)) {
        let message = format!("the loop over `{name}` is not around the expression");
        let around: Vec<String> = found.loops.iter().map(|var| format!("`{}`", kernel.vars[*var].name)).collect();
        let refusal = refuse("E1212", name.span, message, NOT_AROUND);
        let hint = format!("directly around it are loops over {}; `reorder` gives others", around.join(", "));
        return Err(if around.is_empty() { refusal } else { refusal.hint(hint) });
    }
    let Some((rest, part)) = replace(&found.assign.rhs, expr, &Expr::zero(expr.dtype)) else {
        return Err(Diagnostic::internal("the expression to precompute is lost"));
    };
    let mut other_vars = rest.free_vars();
    other_vars.extend(&found.assign.lhs.vars);
    let wanted = Wanted { kernel, expr, part, part_vars: expr.free_vars(), other_vars, vars, leaves, found, span };
    wanted.check_needed()?;
    let place = wanted.place()?;
    let (consumer, producer) = wanted.shared_out(place);
    wanted.check_sum(place)?;
    let kind = wanted.kind(kind)?;
    wanted.transformed(place, &consumer, wanted.renamed(place, into, producer)?, kind)
}

/// The part to compute beforehand.
struct Wanted<'a> {
    kernel: &'a Kernel,
    /// The part as the command names it.
    expr: &'a Expr,
    /// The part as the statement has it.
    part: Expr,
    /// The variables that it depends on.
    part_vars: Vec<VarId>,
    /// The variables that the rest of the assignment depends on.
    other_vars: Vec<VarId>,
    /// The names of the variables that the workspace is over.
    vars: &'a [Name],
    /// Their loops.
    leaves: Vec<VarId>,
    found: Found<'a>,
    span: Span,
}

/// A producer in the making.
struct Producer {
    /// The kernel, with new variables.
    kernel: Kernel,
    forward: Forward,
    /// The variables of its loops.
    loops: Vec<VarId>,
    /// The variables that the workspace is over.
    over: Vec<VarId>,
    /// The expression that it computes.
    part: Expr,
}

impl Wanted<'_> {
    /// True if an expression that depends on `vars` depends on a loop.
    fn needs(&self, vars: &[VarId], leaf: VarId) -> bool {
        let provenance = &self.kernel.provenance;
        // Workspaces are over derived variables too.
        let mut originals = provenance.originals(leaf).into_iter();
        originals.any(|original| vars.contains(&original)) || vars.iter().any(|var| provenance.derives(leaf, *var))
    }

    /// True if the part depends on a loop.
    fn is_needed(&self, leaf: VarId) -> bool {
        self.needs(&self.part_vars, leaf)
    }

    /// True if only the part depends on a loop, which sums it up.
    fn is_summed(&self, leaf: VarId) -> bool {
        self.is_needed(leaf) && !self.needs(&self.other_vars, leaf)
    }

    /// Checks that the expression depends on the named loops over derived variables. It would be repeated for each value of another
    /// one, which is part of a coordinate only together with loops that the producer does not have.
    fn check_needed(&self) -> Result<(), Diagnostic> {
        let is_idle = |leaf: VarId| self.kernel.provenance.origin(leaf).is_some() && !self.is_needed(leaf);
        match self.vars.iter().zip(&self.leaves).find(|(_, leaf)| is_idle(**leaf)) {
            Some((name, _)) => {
                let message = format!("the expression does not depend on `{name}`");
                Err(refuse("E1212", name.span, message, "not needed").hint(format!("leave `{name}` out")))
            }
            None => Ok(()),
        }
    }

    /// The number of the loops that stand outside of producer and consumer.
    fn place(&self) -> Result<usize, Diagnostic> {
        let Wanted { kernel, ref leaves, ref found, .. } = *self;
        let loops = &found.loops;
        // The loops before the first that the workspace, or only the part, runs over stay outside.
        let inside = |var: &VarId| leaves.contains(var) || self.is_summed(*var);
        let both = |var: VarId| self.is_needed(var) && self.needs(&self.other_vars, var);
        let mut place = loops.iter().position(inside).unwrap_or(loops.len());
        let shared = loops.iter().rposition(|var| !leaves.contains(var) && both(*var));
        if let Some(shared) = shared.filter(|shared| *shared >= place) {
            if let Some(leaf) = loops[..shared].iter().find(|var| leaves.contains(var)) {
                let (name, leaf) = (&kernel.vars[loops[shared]].name, &kernel.vars[*leaf].name);
                let message = format!("the expression and the rest both depend on `{name}`");
                return Err(refuse("E1212", self.span, message, "this").hint(format!(
                    "name `{name}` among the variables, or `reorder` its loop outside of that over `{leaf}`"
                )));
            }
            place = shared + 1;
        }
        // Loops that the part does not depend on would only repeat it.
        while place > 0 && !leaves.is_empty() && !self.is_needed(loops[place - 1]) {
            place -= 1;
        }
        Ok(place)
    }

    /// The loops of the consumer and of the producer, of those from `place` on.
    fn shared_out(&self, place: usize) -> (Vec<VarId>, Vec<VarId>) {
        let over = |var: VarId| self.leaves.contains(&var);
        let consumes = |var: VarId| over(var) || self.needs(&self.other_vars, var) || !self.is_needed(var);
        let inside = self.found.loops[place..].iter().copied();
        let consumer = inside.clone().filter(|var| consumes(*var)).collect();
        (consumer, inside.filter(|var| over(*var) || self.is_needed(*var)).collect())
    }

    /// Checks that a part which is summed up before the rest is computed is a factor of the sum.
    fn check_sum(&self, place: usize) -> Result<(), Diagnostic> {
        let summed = |var: &&VarId| !self.leaves.contains(var) && self.is_summed(**var);
        match self.found.loops[place..].iter().find(summed) {
            Some(summed) if !self.is_factor() => {
                let name = &self.kernel.vars[*summed].name;
                let message = format!("the expression is not a factor of what is summed up over `{name}`");
                Err(refuse("E1212", self.span, message, "this")
                    .hint(format!("name `{name}` among the variables of the workspace")))
            }
            _ => Ok(()),
        }
    }

    /// True if the reduction of the part, times the rest, is the reduction of the products.
    fn is_factor(&self) -> bool {
        let Assign { op, rhs, .. } = self.found.assign;
        let product = op.monoid().unwrap_or(Monoid::SUM).product(rhs.dtype);
        product.is_some_and(|product| is_factor(rhs, self.expr, product))
    }

    /// The kind of storage of the workspace, as far as that is said or follows from its variables.
    fn kind(&self, kind: Option<WorkspaceKind>) -> Result<Option<WorkspaceKind>, Diagnostic> {
        let kernel = self.kernel;
        let varying =
            self.vars.iter().zip(&self.leaves).find_map(|(name, leaf)| Some((name, first_varies(kernel, *leaf)?)));
        if let Some((name, tensor)) = varying {
            let message =
                format!("the first position `{name}` of `{}` is not the same everywhere", kernel.tensors[tensor].name);
            return Err(refuse("E1212", name.span, message, "positions under those of other loops")
                .hint("split the positions and name the inner part, or leave the loop over coordinates"));
        }
        let derived = |leaf: &&VarId| kernel.provenance.is_made(**leaf);
        if let (Some(WorkspaceKind::Scalar), Some(name)) = (kind, self.vars.first()) {
            let message = format!("a `scalar` workspace has one value, and none for each `{name}`");
            return Err(refuse("E1212", name.span, message, "several values")
                .hint("such a workspace is `dense`, `marked`, `bitmap`, `stamped`, `hashed` or `sorted`; a `scalar` one has `{}` for its variables"));
        }
        match (kind, self.leaves.iter().find(derived)) {
            (Some(kind), Some(leaf)) if Role::Workspace(kind).is_listed() => {
                let message = format!("`{}` counts iterations, all of which have a place", kernel.vars[*leaf].name);
                Err(refuse("E1212", self.span, message, "not a list").hint("such a workspace is `dense`"))
            }
            (None, Some(_)) => Ok(Some(WorkspaceKind::Dense)),
            _ => Ok(kind),
        }
    }

    /// The producer with loops over new variables if these have names of their own.
    fn renamed(&self, place: usize, into: &[Name], loops: Vec<VarId>) -> Result<Producer, Diagnostic> {
        let kernel = self.kernel;
        let mut names: Vec<(VarId, &Name)> = self.leaves.iter().copied().zip(into).collect();
        names.retain(|(var, name)| name.text != kernel.vars[*var].name);
        let path = &self.found.path;
        let around = &path[..path.len() - (self.found.loops.len() - place)];
        let mut copy = Copy::new(kernel, around, &loops, names);
        copy.relations(&self.leaves)?;
        let renamed = |var: &VarId| copy.of(*var);
        let part = copy.originals().fold(self.part.clone(), |part, (from, to)| rename(part, from, to));
        let mut forward = copy.leaves().fold(Forward::default(), |forward, (var, now)| {
            let stays = self.leaves.contains(&var);
            forward.replaced(var, if stays { vec![var, now] } else { vec![now] })
        });
        for (before, after) in self.part.accesses().into_iter().zip(part.accesses()) {
            if before.vars != after.vars {
                forward = forward.redirected(before, after);
            }
        }
        let (over, made) = (self.leaves.iter().map(renamed).collect(), loops.iter().map(renamed).collect());
        Ok(Producer { kernel: copy.kernel, forward, loops: made, over, part })
    }

    /// The kernel, with the producer before the consumer of the workspace.
    fn transformed(
        &self,
        place: usize,
        consumer: &[VarId],
        producer: Producer,
        kind: Option<WorkspaceKind>,
    ) -> Transformed {
        let Wanted { kernel, ref leaves, ref found, span, .. } = *self;
        let (assign, inside) = (found.assign, &found.loops[place..]);
        let reduces = producer.loops.iter().any(|var| !producer.over.contains(var));
        let Producer { kernel: mut made, forward, loops, over, part } = producer;
        // Values that are only stored are added up where coordinates are repeated.
        let monoid = assign.op.monoid().filter(|_| reduces).unwrap_or(Monoid::SUM);
        let fill = monoid.identity(part.dtype).unwrap_or(Scalar::zero(part.dtype));
        let tensor = workspace(&mut made, leaves, kind, fill, part.span);
        if kind.is_some() {
            made.provenance.stored.push(tensor);
        }
        let read = Access { tensor, vars: leaves.clone(), span };
        let value = Expr { kind: ExprKind::Access(read), dtype: part.dtype, span };
        let rhs = replace(&assign.rhs, self.expr, &value).map_or_else(|| assign.rhs.clone(), |(rhs, _)| rhs);
        // If no loop of the sum is left around the consumer, and no other term is added, it assigns.
        let summed = |var: &VarId| {
            let originals = kernel.provenance.originals(*var);
            !originals.iter().all(|original| assign.lhs.vars.contains(original)) && !assign.lhs.vars.contains(var)
        };
        let left = consumer.iter().chain(&found.around[..found.around.len() - inside.len()]).any(summed);
        let mut assigned = 0;
        kernel.stmt.visit_assigns(&mut |other| assigned += usize::from(other.lhs.tensor == assign.lhs.tensor));
        let op = if left || kernel.updates || assigned > 1 { assign.op } else { AssignOp::Set };
        let consumer = Stmt::foralls(consumer, Stmt::Assign(Assign { lhs: assign.lhs.clone(), op, rhs }));
        let op = if reduces { AssignOp::Reduce(monoid) } else { AssignOp::Set };
        let fill = Access { tensor, vars: over, span };
        let producer = Stmt::foralls(&loops, Stmt::Assign(Assign { lhs: fill, op, rhs: part }));
        let pair = Stmt::Where { consumer: Box::new(consumer), producer: Box::new(producer) };
        let target = Stmt::foralls(inside, Stmt::Assign(assign.clone()));
        made.stmt = substitute(made.stmt, &target, &pair);
        check_positions(&made, &made.stmt, &mut Vec::new(), span)?;
        Ok((made, forward))
    }
}

/// The tensor whose positions a variable runs over, if they do not begin at the root: they have no place in a workspace.
fn first_varies(kernel: &Kernel, leaf: VarId) -> Option<TensorId> {
    match kernel.provenance.origin(leaf)? {
        Relation::Pos { coordinate, access, .. } => {
            let levels = pos_levels(kernel, &AccessKey::from(access), &kernel.provenance.originals(*coordinate));
            (levels.start > 0).then_some(access.tensor)
        }
        _ => None,
    }
}

/// A new workspace. If no kind is given, it is chosen when all commands are carried out.
fn workspace(kernel: &mut Kernel, vars: &[VarId], kind: Option<WorkspaceKind>, fill: Scalar, span: Span) -> TensorId {
    let order = vars.len();
    let kind = kind.unwrap_or(WorkspaceKind::Sorted).for_order(order);
    let base = if order == 0 { "t" } else { "w" };
    let mut number = 1;
    let name = loop {
        let name = if number == 1 { base.to_string() } else { format!("{base}{number}") };
        if !kernel.tensors.iter().any(|(_, tensor)| tensor.name == name) {
            break name;
        }
        number += 1;
    };
    let dims = vars.iter().map(|var| kernel.vars[*var].size).collect();
    kernel.tensors.push(Tensor::workspace(name, kind, dims, fill, span))
}

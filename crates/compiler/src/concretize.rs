//! Index notation to concrete notation, for a given order of the variables.
//!
//! On entry: a statement in reduction notation and a total order of its variables. On exit: loops in that order. A
//! reduction becomes a workspace with a producer, placed as deep as the order allows: inside all loops that come
//! before its first summed variable. Its workspace has the variables that come after.
//!
//! ```text
//! y(i)   = b(i) + sum(j, A(i,j) * x(j))   i, j     forall(i, where(y(i) = b(i) + t, forall(j, t += A(i,j) * x(j))))
//! C(i,k) = sum(j, A(i,j) * B(j,k))        i, j, k  forall(i, where(forall(k, C(i,k) = w(k)),
//!                                                           forall(j, forall(k, w(k) += A(i,j) * B(j,k)))))
//! ```
//!
//! As in the papers, `where(consumer, producer)` names the consumer first. `--emit concrete` prints the producer first, as it
//! runs: `where` producer `do` consumer.
//!
//! A workspace over blocks that fit the registers is kept there while the sum is formed, and stored once.
//! A sum that is added to a dense result needs no workspace: its producer adds into the result (the second line with a dense `C`
//! is `forall(i, forall(j, forall(k, C(i,k) += A(i,j) * B(j,k))))`). The same holds if only the innermost levels of the result are
//! dense, and the sum is inside the loops over the others. The statement is split into its additive terms for that.
//!
//! A reduction that may end early (`y(i) or= A(i,j)`) is formed in a variable all the same, which its loops can ask.
//!
//! Papers: Kjolstad et al. 2017, §3 (index variables to loops); Kjolstad et al. 2019, §3-4 (where statements, and when
//! a workspace is needed).

use lacunar_base::{Arena, Span};
use lacunar_formats::{DType, Scalar};
use lacunar_notation::concrete::{Assign, Kernel, Stmt};
use lacunar_notation::{
    Access, AssignOp, BinaryFn, Expr, ExprKind, Monoid, Tensor, TensorId, UnaryFn, VarId, WorkspaceKind,
};

use crate::iterate::in_order::is_appended;

/// Writes `lhs op rhs` as concrete notation into `kernel`, whose tensors it adds workspaces to. `in_registers` says that sums are
/// formed in workspaces that fit the registers, where they could be added to the result: over blocks, whose sizes a format tells.
pub fn concretize(kernel: &mut Kernel, lhs: &Access, op: AssignOp, rhs: &Expr, order: &[VarId], in_registers: bool) {
    let mut writer = Writer { kernel, order, in_registers, count: 0 };
    kernel.stmt = writer.result(lhs, op, rhs);
}

/// The turn of a variable in an order of loops: the number of variables before it.
pub(crate) fn turn(order: &[VarId], var: VarId) -> usize {
    order.iter().position(|other| *other == var).unwrap_or(order.len())
}

struct Writer<'a> {
    kernel: &'a mut Kernel,
    order: &'a [VarId],
    in_registers: bool,
    count: usize,
}

impl Writer<'_> {
    fn turn(&self, var: VarId) -> usize {
        turn(self.order, var)
    }

    /// The turn of the first variable that is summed over in an expression, sums inside sums included: so that loops are
    /// in order along every path of the nest.
    fn first_summed(&self, expr: &Expr) -> usize {
        expr.reduced_vars().into_iter().map(|var| self.turn(var)).min().unwrap_or(usize::MAX)
    }

    fn sorted(&self, vars: &[VarId]) -> Vec<VarId> {
        let mut vars = vars.to_vec();
        vars.sort_by_key(|var| self.turn(*var));
        vars.dedup();
        vars
    }

    /// Loops over `vars` around `lhs op rhs`, with producers for the reductions in `rhs`.
    fn nest(&mut self, lhs: &Access, op: AssignOp, rhs: &Expr, vars: &[VarId]) -> Stmt {
        if let (AssignOp::Reduce(own), ExprKind::Reduce(monoid, summed, body)) = (op, &rhs.kind)
            && own == *monoid
        {
            return self.nest(lhs, op, body, &[vars, summed].concat());
        }
        let loops = self.sorted(vars);
        self.nest_from(lhs, op, rhs.clone(), &loops, 0)
    }

    fn nest_from(&mut self, lhs: &Access, op: AssignOp, mut rhs: Expr, loops: &[VarId], depth: usize) -> Stmt {
        let limit = loops.get(depth).map_or(usize::MAX, |var| self.turn(*var));
        let mut producers = Vec::new();
        rhs = self.extract(rhs, limit, &loops[depth..], &mut producers);
        let consumer = match loops.get(depth) {
            Some(&var) => Stmt::Forall(var, Box::new(self.nest_from(lhs, op, rhs, loops, depth + 1))),
            None => Stmt::Assign(Assign { lhs: lhs.clone(), op, rhs }),
        };
        let producer = match producers.len() {
            0 => return consumer,
            1 => producers.remove(0),
            _ => Stmt::Sequence(producers),
        };
        Stmt::Where { consumer: Box::new(consumer), producer: Box::new(producer) }
    }

    /// Replaces each reduction that has to be done before the loop of turn `limit` by a workspace over those of the
    /// loops `inner` that it depends on; the statements that fill them go to `producers`.
    fn extract(&mut self, expr: Expr, limit: usize, inner: &[VarId], producers: &mut Vec<Stmt>) -> Expr {
        let ExprKind::Reduce(monoid, summed, body) = &expr.kind else {
            return expr.map_children(&mut |child| self.extract(child, limit, inner, producers));
        };
        if self.first_summed(&expr) > limit {
            return expr;
        }
        if self.keeps_partial_sums((*monoid, summed, body), limit, inner) {
            let inner = self.sorted(&[inner, summed].concat());
            return expr.map_children(&mut |child| self.extract(child, limit, &inner, producers));
        }
        let free = expr.free_vars();
        let over: Vec<VarId> = inner.iter().copied().filter(|var| free.contains(var)).collect();
        let Some(fill) = monoid.identity(expr.dtype) else { return expr };
        let tensor = self.workspace(&over, fill, expr.span);
        let access = Access { tensor, vars: over.clone(), span: expr.span };
        let vars = [over, summed.clone()].concat();
        producers.push(self.nest(&access, AssignOp::Reduce(*monoid), body, &vars));
        Expr { kind: ExprKind::Access(access), dtype: expr.dtype, span: expr.span }
    }

    /// True if a sum is one of partial sums that are formed by outer loops, each in a register of its own: those inside of it are
    /// formed first, and added up once.
    ///
    /// ```text
    /// y(i0,i1) = sum(j1, sum(j0, A(i0,j0,i1,j1) * x(j0,j1)))    i0, j0, i1, j1, with i1 and j1 below 4
    ///   forall(i0, where(forall(i1, y(i0,i1) = sum(j1, w(i1,j1))), forall(j0, forall(i1, forall(j1, w(i1,j1) += ..)))))
    /// ```
    fn keeps_partial_sums(
        &self,
        (own, summed, body): (Monoid, &[VarId], &Expr),
        limit: usize,
        inner: &[VarId],
    ) -> bool {
        let ExprKind::Reduce(monoid, _, partial) = &body.kind else { return false };
        let free = partial.free_vars();
        let kept: Vec<VarId> = inner.iter().chain(summed).copied().filter(|var| free.contains(var)).collect();
        own == *monoid && summed.iter().all(|var| self.turn(*var) > limit) && self.fits_registers(&kept, body.dtype)
    }

    fn fits_registers(&self, vars: &[VarId], dtype: DType) -> bool {
        self.in_registers && fits_registers(self.kernel, vars, dtype)
    }

    /// A new workspace; the statements that read and fill it decide its kind later.
    fn workspace(&mut self, vars: &[VarId], fill: Scalar, span: Span) -> TensorId {
        let kind = if vars.is_empty() { WorkspaceKind::Scalar } else { WorkspaceKind::Sorted };
        let base = if vars.is_empty() { "t" } else { "w" };
        let name = loop {
            self.count += 1;
            let name = if self.count == 1 { base.to_string() } else { format!("{base}{}", self.count) };
            let taken = |(_, tensor): (TensorId, &Tensor)| tensor.name == name;
            if !self.kernel.tensors.iter().any(taken) {
                break name;
            }
        };
        let dims = vars.iter().map(|var| self.kernel.vars[*var].size).collect();
        self.kernel.tensors.push(Tensor::workspace(name, kind, dims, fill, span))
    }

    /// The statement itself: reductions that would need a workspace are combined into the result, one after the other, if its places
    /// are there to be combined with.
    fn result(&mut self, lhs: &Access, op: AssignOp, rhs: &Expr) -> Stmt {
        let monoids = op.monoid().map_or_else(|| monoids_of(rhs), |own| vec![own]);
        let parted = monoids.into_iter().find_map(|monoid| {
            let terms = terms_of(monoid, rhs).into_iter();
            let parts: (Vec<Expr>, Vec<Expr>) = terms.partition(|term| self.scatters(lhs, monoid, term));
            (!parts.0.is_empty()).then_some((monoid, parts))
        });
        let Some((monoid, (scattered, kept))) = parted else {
            if let Some(stmt) = self.appended(lhs, op, rhs) {
                return stmt;
            }
            return match self.may_end_early(lhs, op, rhs) {
                true => self.nest_from(lhs, op, rhs.clone(), &self.sorted(&lhs.vars), 0),
                false => self.nest(lhs, op, rhs, &lhs.vars),
            };
        };
        let outer = self.sorted(&lhs.vars);
        let first = scattered.iter().chain(&kept).map(|term| self.first_summed(term)).min().unwrap_or(0);
        let shared = outer.iter().take_while(|var| self.turn(**var) < first).count();
        let (shared, inner) = outer.split_at(shared);
        // A sparse result is walked through once: the terms meet inside the loops over the variables that are not in its blocks.
        if !inner.iter().all(|var| is_in_block(self.kernel, lhs, *var)) {
            return self.nest(lhs, op, rhs, &lhs.vars);
        }
        let mut stmts = Vec::new();
        if let Some(kept) = kept.into_iter().reduce(|a, b| combined(monoid, a, b)) {
            stmts.push(self.nest(lhs, op, &kept, inner));
        }
        for term in scattered {
            stmts.push(self.nest(lhs, AssignOp::Reduce(monoid), &term, inner));
        }
        let body = if stmts.len() == 1 { stmts.remove(0) } else { Stmt::Sequence(stmts) };
        Stmt::foralls(shared, body)
    }

    /// The statement without a workspace, if the loops over summed variables come to the places of a sparse result in order,
    /// each combination once.
    ///
    /// ```text
    /// C(i,j) = sum(d, [d == i + 1] * A(d,j))     forall(i, forall(d, forall(j, C(i,j) = [d == i + 1] * A(d,j))))
    /// ```
    fn appended(&self, lhs: &Access, op: AssignOp, rhs: &Expr) -> Option<Stmt> {
        let ExprKind::Reduce(monoid, summed, body) = &rhs.kind else { return None };
        let is_value = op == AssignOp::Set && monoid.compared().is_none() && has_no_sum(body);
        let loops = self.sorted(&[lhs.vars.as_slice(), summed].concat());
        let is_direct = is_value && is_appended(&self.kernel.tensors, lhs, body, &loops);
        is_direct.then(|| {
            let assign = Assign { lhs: lhs.clone(), op, rhs: (**body).clone() };
            Stmt::foralls(&loops, Stmt::Assign(assign))
        })
    }

    /// True if values are combined with the result by a reduction that comes to a value which nothing changes any more, and that is
    /// inside of all loops over the result: it is formed in a variable first, which its loops can ask.
    fn may_end_early(&self, lhs: &Access, op: AssignOp, rhs: &Expr) -> bool {
        let ends = |monoid: Monoid| monoid.terminal(rhs.dtype).is_some() || monoid.keeps_first();
        let first = self.first_summed(rhs);
        let reduces =
            matches!((op, &rhs.kind), (AssignOp::Reduce(own), ExprKind::Reduce(monoid, ..)) if own == *monoid);
        reduces && op.monoid().is_some_and(ends) && lhs.vars.iter().all(|var| self.turn(*var) < first)
    }

    /// True if a term is a reduction over a variable that comes before one of the result's, and can be combined into the result in
    /// that order: it has all of the result's variables, and no conversion stands between.
    fn scatters(&self, lhs: &Access, monoid: Monoid, term: &Expr) -> bool {
        // A result has no room for the values beside indices.
        if !matches!(term.kind, ExprKind::Reduce(own, ..) if own == monoid) || monoid.compared().is_some() {
            return false;
        }
        let (free, first) = (term.free_vars(), self.first_summed(term));
        let inner: Vec<VarId> = lhs.vars.iter().copied().filter(|var| self.turn(*var) > first).collect();
        if self.fits_registers(&inner, term.dtype) {
            return false;
        }
        let result = &self.kernel.tensors[lhs.tensor];
        // If nothing is combined with it, an element of a dense result is the identity; an element of another result is absent.
        term.dtype == result.dtype
            && (result.format.is_dense() || monoid.identity(term.dtype) == Some(result.fill()))
            && lhs.vars.iter().all(|var| free.contains(var))
            && lhs.vars.iter().any(|var| self.turn(*var) > first)
            && lhs.vars.iter().all(|var| self.turn(*var) < first || is_in_block(self.kernel, lhs, *var))
    }
}

/// True if an array over variables is known to be so small that it can be kept in registers while a sum is formed in it.
pub(crate) fn fits_registers(kernel: &Kernel, vars: &[VarId], dtype: DType) -> bool {
    let elements = vars.iter().try_fold(1u64, |product, var| product.checked_mul(kernel.vars[*var].size?));
    elements.is_some_and(|elements| (2..=REGISTER_BYTES / dtype.arithmetic().size() as u64).contains(&elements))
}

/// Half of the bytes that 32 vector registers of 64 bytes hold.
pub(crate) const REGISTER_BYTES: u64 = 1024;

/// True if a variable of a result is stored in dense levels only, from its own to the innermost: all its values have a place as
/// soon as the coordinates of the levels above have one.
pub(crate) fn is_in_block(kernel: &Kernel, lhs: &Access, var: VarId) -> bool {
    let format = &kernel.tensors[lhs.tensor].format;
    let level = format.mode_order().iter().position(|&mode| lhs.vars[mode] == var).unwrap_or(0);
    format.levels()[level..].iter().all(|level| level.properties().full)
}

fn combined(monoid: Monoid, a: Expr, b: Expr) -> Expr {
    let dtype = a.dtype;
    match b.kind {
        ExprKind::Unary(UnaryFn::Neg, b) if monoid == Monoid::SUM => Expr::binary(BinaryFn::Sub, a, *b, dtype),
        _ => Expr::binary(monoid.function(), a, b, dtype),
    }
}

/// The monoids of the reductions in an expression.
fn monoids_of(expr: &Expr) -> Vec<Monoid> {
    let mut found = Vec::new();
    expr.visit(&mut |part| match &part.kind {
        ExprKind::Reduce(monoid, ..) if !found.contains(monoid) => found.push(*monoid),
        _ => {}
    });
    found
}

/// The terms of which an expression is the combination.
fn terms_of(monoid: Monoid, expr: &Expr) -> Vec<Expr> {
    match &expr.kind {
        _ if monoid == Monoid::SUM => additive_terms(expr),
        ExprKind::Binary(function, a, b) if *function == monoid.function() => {
            [terms_of(monoid, a), terms_of(monoid, b)].concat()
        }
        _ => vec![pull_reduction(expr.clone(), &has_no_sum)],
    }
}

/// The terms whose sum an expression is. Signs and factors go inside a term's sum: `-(2 * sum(j, e))` is the term
/// `sum(j, -(2 * e))`.
pub(crate) fn additive_terms(expr: &Expr) -> Vec<Expr> {
    match &expr.kind {
        ExprKind::Binary(BinaryFn::Add, a, b) => [additive_terms(a), additive_terms(b)].concat(),
        ExprKind::Binary(BinaryFn::Sub, a, b) => {
            let mut terms = additive_terms(a);
            terms.extend(additive_terms(b).into_iter().map(negate));
            terms
        }
        ExprKind::Unary(UnaryFn::Neg, a) => additive_terms(a).into_iter().map(negate).collect(),
        _ => vec![pull_reduction(expr.clone(), &has_no_sum)],
    }
}

fn negate(term: Expr) -> Expr {
    let (dtype, span) = (term.dtype, term.span);
    let kind = match term.kind {
        ExprKind::Reduce(Monoid::SUM, vars, body) => ExprKind::Reduce(Monoid::SUM, vars, Box::new(negate(*body))),
        kind => ExprKind::Unary(UnaryFn::Neg, Box::new(Expr { kind, dtype, span })),
    };
    Expr { kind, dtype, span }
}

/// The expression with reductions pulled out of the products that distribute over them as far as they go, and reductions of
/// reductions made one.
///
/// ```text
/// sum(j, sum(i, A(i,j)) * B(j))  ->  sum(j, i, A(i,j) * B(j))
/// ```
///
/// Products of reductions stay, as one over all pairs would be more work; but for those over the one value that an index has.
pub(crate) fn flatten(tensors: &Arena<Tensor>, expr: Expr) -> Expr {
    flatten_with(expr, &|factor| has_one_value(tensors, factor))
}

/// True if every variable that an expression reduces over follows from others by an indicator there.
fn has_one_value(tensors: &Arena<Tensor>, expr: &Expr) -> bool {
    let mut holds = true;
    expr.visit(&mut |part| {
        let ExprKind::Reduce(_, vars, body) = &part.kind else { return };
        let is_told = |var: &VarId| {
            body.accesses().iter().any(|access| {
                let others = access.vars.iter().filter(|own| vars.contains(own)).count();
                let place = access.vars.iter().position(|own| own == var);
                place.is_some_and(|place| tensors[access.tensor].tells(place)) && others == 1
            })
        };
        holds &= vars.iter().all(is_told);
    });
    holds
}

/// Flattens like [`flatten`], and also makes a product of reductions one reduction over all pairs: the same value with more work, for
/// nests that schedules apply to.
///
/// ```text
/// sum(j, A(i,j)) * sum(k, B(i,k))  ->  sum(j, k, A(i,j) * B(i,k))
/// ```
pub(crate) fn one_sum(expr: Expr) -> Expr {
    flatten_with(expr, &|_| true)
}

/// True if nothing is summed up in an expression.
pub(crate) fn has_no_sum(expr: &Expr) -> bool {
    expr.reduced_vars().is_empty()
}

fn flatten_with(expr: Expr, goes_inside: &impl Fn(&Expr) -> bool) -> Expr {
    let expr = pull_reduction(expr.map_children(&mut |child| flatten_with(child, goes_inside)), goes_inside);
    let (dtype, span) = (expr.dtype, expr.span);
    match expr.kind {
        ExprKind::Reduce(monoid, mut vars, body) => match body.kind {
            ExprKind::Reduce(own, inner, body) if own == monoid => {
                vars.extend(inner);
                Expr { kind: ExprKind::Reduce(monoid, vars, body), dtype, span }
            }
            kind => {
                let body = Box::new(Expr { kind, dtype: body.dtype, span: body.span });
                Expr { kind: ExprKind::Reduce(monoid, vars, body), dtype, span }
            }
        },
        kind => Expr { kind, dtype, span },
    }
}

/// `c * sum(j, e)` as `sum(j, c * e)`, for each factor `c` that `goes_inside` of a reduction and has none of its variables; likewise
/// `c + min(j, e)` as `min(j, c + e)`, and wherever an operation distributes over the reduction ([`Monoid::product`]; up to rounding).
fn pull_reduction(expr: Expr, goes_inside: &impl Fn(&Expr) -> bool) -> Expr {
    let (dtype, span) = (expr.dtype, expr.span);
    let (function, a, b) = match expr.kind {
        ExprKind::Binary(function, a, b) if Monoid::all().any(|monoid| monoid.product(dtype) == Some(function)) => {
            (function, pull_reduction(*a, goes_inside), pull_reduction(*b, goes_inside))
        }
        kind => return Expr { kind, dtype, span },
    };
    let takes = |reduction: &Expr, factor: &Expr| match &reduction.kind {
        ExprKind::Reduce(monoid, vars, _) => {
            let own = [factor.free_vars(), factor.reduced_vars()].concat();
            monoid.product(dtype) == Some(function) && goes_inside(factor) && !own.iter().any(|var| vars.contains(var))
        }
        _ => false,
    };
    let product = |a: Expr, b: Expr| Box::new(pull_reduction(Expr::binary(function, a, b, dtype), goes_inside));
    let (a_takes, b_takes) = (takes(&a, &b), takes(&b, &a));
    let kind = match (a.kind, b.kind) {
        (ExprKind::Reduce(op, vars, body), kind) if a_takes => {
            ExprKind::Reduce(op, vars, product(*body, Expr { kind, dtype: b.dtype, span: b.span }))
        }
        (kind, ExprKind::Reduce(op, vars, body)) if b_takes => {
            ExprKind::Reduce(op, vars, product(Expr { kind, dtype: a.dtype, span: a.span }, *body))
        }
        (a_kind, b_kind) => ExprKind::Binary(
            function,
            Box::new(Expr { kind: a_kind, dtype: a.dtype, span: a.span }),
            Box::new(Expr { kind: b_kind, dtype: b.dtype, span: b.span }),
        ),
    };
    Expr { kind, dtype, span }
}

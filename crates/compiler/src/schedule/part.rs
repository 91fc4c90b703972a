//! Parts of a computation: finding them in a statement, comparing them, and putting something else in their place.
//!
//! A part is an expression as it stands in an assignment, or some operands of one product or sum, whatever their order:
//!
//! ```text
//! y(i) += A(i,j) * alpha * x(j)      part: A(i,j) * x(j)      replaced by w(i,j): y(i) += w(i,j) * alpha
//! ```
//!
//! On entry: concrete notation, whose expressions have no reductions. The replacement of a part has its type.

use lacunar_notation::concrete::{Assign, Stmt};
use lacunar_notation::{BinaryFn, Expr, ExprKind, TensorId, UnaryFn, VarId};

/// The assignment that computes an expression.
pub(super) struct Found<'s> {
    pub(super) assign: &'s Assign,
    /// The loops that stand around it without a workspace between.
    pub(super) loops: Vec<VarId>,
    /// All loops around it since its target was empty; those of `loops` are the last.
    pub(super) around: Vec<VarId>,
    /// All loops around it.
    pub(super) path: Vec<VarId>,
}

/// The first assignment that computes an expression.
pub(super) fn find<'s>(stmt: &'s Stmt, expr: &Expr) -> Option<Found<'s>> {
    find_below(stmt, expr, &mut Path::default())
}

/// The loops on the way to an assignment.
#[derive(Default)]
struct Path {
    loops: Vec<VarId>,
    /// The number of loops outside of the last workspace.
    outer: usize,
    /// Workspaces that are filled here, each with the number of loops outside.
    filled: Vec<(TensorId, usize)>,
}

fn find_below<'s>(stmt: &'s Stmt, expr: &Expr, path: &mut Path) -> Option<Found<'s>> {
    match stmt {
        Stmt::Assign(assign) => {
            replace(&assign.rhs, expr, &Expr::zero(expr.dtype))?;
            let empty = path.filled.iter().rev().find(|(tensor, _)| *tensor == assign.lhs.tensor);
            let around = path.loops[empty.map_or(0, |(_, depth)| *depth)..].to_vec();
            Some(Found { assign, loops: path.loops[path.outer..].to_vec(), around, path: path.loops.clone() })
        }
        Stmt::Forall(var, body) => {
            path.loops.push(*var);
            let found = find_below(body, expr, path);
            path.loops.pop();
            found
        }
        Stmt::Where { consumer, producer } => {
            let (outer, depth) = (path.outer, path.loops.len());
            path.outer = depth;
            let found = find_below(consumer, expr, path).or_else(|| {
                let others = path.filled.len();
                path.filled.extend(producer.writes().into_iter().map(|tensor| (tensor, depth)));
                let found = find_below(producer, expr, path);
                path.filled.truncate(others);
                found
            });
            path.outer = outer;
            found
        }
        Stmt::Sequence(stmts) => {
            let outer = std::mem::replace(&mut path.outer, path.loops.len());
            let found = stmts.iter().find_map(|stmt| find_below(stmt, expr, path));
            path.outer = outer;
            found
        }
    }
}

/// True if a part stands in an expression as a factor, so that a sum of the whole is the whole of the part's sum.
pub(super) fn is_factor(within: &Expr, part: &Expr, product: BinaryFn) -> bool {
    match &within.kind {
        _ if same(within, part) => true,
        ExprKind::Binary(function, a, b) if *function == product => {
            let (all, wanted) = (within.operands(product), part.operands(product));
            wanted.iter().all(|want| all.iter().any(|have| same(have, want)))
                || is_factor(a, part, product)
                || is_factor(b, part, product)
        }
        ExprKind::Binary(BinaryFn::Div, a, _) | ExprKind::Unary(UnaryFn::Neg, a) if product == BinaryFn::Mul => {
            is_factor(a, part, product)
        }
        _ => false,
    }
}

/// The statement with its first part that is `target` replaced.
pub(super) fn substitute(stmt: Stmt, target: &Stmt, made: &Stmt) -> Stmt {
    if stmt == *target {
        return made.clone();
    }
    match stmt {
        Stmt::Assign(_) => stmt,
        Stmt::Forall(var, body) => Stmt::Forall(var, Box::new(substitute(*body, target, made))),
        Stmt::Where { consumer, producer } => Stmt::Where {
            consumer: Box::new(substitute(*consumer, target, made)),
            producer: Box::new(substitute(*producer, target, made)),
        },
        Stmt::Sequence(stmts) => Stmt::Sequence(stmts.into_iter().map(|stmt| substitute(stmt, target, made)).collect()),
    }
}

/// The expression with a part replaced, and the part as it stands there.
pub(super) fn replace(within: &Expr, part: &Expr, by: &Expr) -> Option<(Expr, Expr)> {
    let (stored, computed) = (within.dtype, within.dtype.arithmetic());
    if stored != computed && matches!(within.kind, ExprKind::Access(_)) && same(within, part) {
        let by = Expr { dtype: computed, ..by.clone() };
        return Some((by.cast(stored), within.clone().cast(computed)));
    }
    // A value that is converted in order to be stored is computed before.
    if stored == computed && same(within, part) {
        let by = if by.dtype == within.dtype { by.clone() } else { Expr { dtype: within.dtype, ..by.clone() } };
        return Some((by, within.clone()));
    }
    if let (ExprKind::Binary(op @ (BinaryFn::Mul | BinaryFn::Add), ..), ExprKind::Binary(other, ..)) =
        (&within.kind, &part.kind)
        && op == other
    {
        // Some operands of a longer product or sum.
        let (mut all, wanted) = (within.operands(*op), part.operands(*op));
        let mut taken = Vec::new();
        let found = wanted.iter().all(|want| {
            let place = all.iter().position(|have| same(have, want));
            place.map(|place| taken.push(all.remove(place))).is_some()
        });
        if found {
            let join = |a: Expr, b: Expr| Expr::binary(*op, a, b, within.dtype);
            let taken = taken.into_iter().cloned().reduce(join)?;
            let by = Expr { dtype: taken.dtype, ..by.clone() };
            let rest = std::iter::once(by).chain(all.into_iter().cloned()).reduce(join)?;
            return Some((rest, taken));
        }
    }
    let mut found = None;
    let replaced = within.clone().map_children(&mut |child| match &found {
        None => match replace(&child, part, by) {
            Some((replaced, taken)) => {
                found = Some(taken);
                replaced
            }
            None => child,
        },
        Some(_) => child,
    });
    found.map(|taken| (replaced, taken))
}

/// True if two expressions are the same, wherever they stand and whatever the types.
fn same(a: &Expr, b: &Expr) -> bool {
    match (&a.kind, &b.kind) {
        (ExprKind::Access(a), ExprKind::Access(b)) => a.tensor == b.tensor && a.vars == b.vars,
        (ExprKind::Literal(a), ExprKind::Literal(b)) => a == b,
        (ExprKind::Unary(f, a), ExprKind::Unary(g, b)) => f == g && same(a, b),
        (ExprKind::Binary(f, a, c), ExprKind::Binary(g, b, d)) => f == g && same(a, b) && same(c, d),
        (ExprKind::Apply(f, a), ExprKind::Apply(g, b)) => {
            f.base() == g.base() && a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (ExprKind::Select(a), ExprKind::Select(b)) => a.iter().zip(b.iter()).all(|(a, b)| same(a, b)),
        (ExprKind::Reduce(f, v, a), ExprKind::Reduce(g, w, b)) => f == g && v == w && same(a, b),
        (ExprKind::Cast(a), ExprKind::Cast(b)) => same(a, b),
        (ExprKind::Cast(a), _) => same(a, b),
        (_, ExprKind::Cast(b)) => same(a, b),
        _ => false,
    }
}

/// The expression with a variable in the place of another one.
pub(super) fn rename(expr: Expr, from: VarId, to: VarId) -> Expr {
    match expr.kind {
        ExprKind::Access(mut access) => {
            access.vars.iter_mut().filter(|var| **var == from).for_each(|var| *var = to);
            Expr { kind: ExprKind::Access(access), ..expr }
        }
        _ => expr.map_children(&mut |child| rename(child, from, to)),
    }
}

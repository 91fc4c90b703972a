//! Statements that compute the same as an earlier one, with dimensions in another order: the result is a copy of the other.
//!
//! ```text
//! C(i,j,k) = X(t,i) * X(t,j) * f(k)             is computed
//! D(k,i,j) = f(k) * X(t,i) * X(t,j)             D(k,i,j) = C(i,j,k)
//! ```
//!
//! Sums and products of which only the order of the operands differs are the same, where sums may be formed in any order. Expressions are
//! compared under a bijection of their variables, which the accesses of one tensor tell; of all that there are, the one is taken that moves
//! the fewest dimensions. Expressions that are hardly more work than a copy stay as they are.
//!
//! On entry: a checked program of statements in order. On exit: the same results; statements that repeat another read its result. Paper:
//! Ghorbani et al. 2023, §3: the outer product of `f` and of `f` with itself is one computation in either layout.

use lacunar_base::Arena;
use lacunar_formats::Format;
use lacunar_notation::index::read_by;
use lacunar_notation::{
    Access, AssignOp, Assignment, BinaryFn, Expr, ExprKind, IndexVar, Program, Role, Tensor, TensorId, VarId,
};

use crate::reduction::make_explicit;

/// The most steps of a comparison, and the most bijections that it keeps. Statements that need more are taken as different.
const MOST_STEPS: usize = 1 << 14;
const MOST_BIJECTIONS: usize = 64;

/// Lets statements that repeat an earlier one read the result of that, if `may` says that they may be changed. Returns their numbers,
/// each with a note for people.
///
/// ```
/// use lacunar_compiler::structure::share;
/// let text = "C(i,k) = A(i,j) * B(j,k); D(a,b) = B(c,a) * A(b,c)";
/// let mut program = lacunar_front::check(text, &lacunar_front::Declarations::new()).unwrap();
/// assert_eq!(share(&mut program, |_| true)[0].1, "`D` is the same as `C`, with dimensions in another order: it is copied");
/// assert!(program.to_string().contains("D(a,b) = C(b,a)"));
/// ```
pub fn share(program: &mut Program, may: impl Fn(usize) -> bool) -> Vec<(usize, String)> {
    let mut notes = Vec::new();
    if !program.is_sequence() || !program.loops.is_empty() {
        return notes;
    }
    for later in (1..program.statements.len()).filter(|later| may(*later)) {
        let found = (0..later).find_map(|earlier| Some((earlier, same(program, earlier, later)?)));
        let Some((earlier, vars)) = found else { continue };
        let tensor = program.statements[earlier].lhs.tensor;
        let statement = &mut program.statements[later];
        let order = if vars == statement.lhs.vars { "" } else { ", with dimensions in another order" };
        let (name, of) = (&program.tensors[statement.lhs.tensor].name, &program.tensors[tensor].name);
        notes.push((later, format!("`{name}` is the same as `{of}`{order}: it is copied")));
        let (span, dtype) = (statement.rhs.span, program.tensors[tensor].dtype);
        let access = Access { tensor, vars, span };
        statement.rhs = Expr { kind: ExprKind::Access(access), dtype, span }.cast(statement.rhs.dtype);
    }
    notes
}

/// The variables of the later of two statements at which the result of the earlier one has the values that it computes.
fn same(program: &Program, earlier: usize, later: usize) -> Option<Vec<VarId>> {
    let (first, second) = (&program.statements[earlier], &program.statements[later]);
    let tensors = &program.tensors;
    let (own, other) = (&tensors[first.lhs.tensor], &tensors[second.lhs.tensor]);
    let is_set_once = |tensor: TensorId| program.statements.iter().filter(|all| all.lhs.tensor == tensor).count() == 1;
    let read = read_by(tensors, &first.rhs);
    let is_unchanged = |statement: &Assignment| !read.contains(&statement.lhs.tensor);
    let fits = first.op == AssignOp::Set
        && second.op == AssignOp::Set
        && first.lhs.vars.len() == second.lhs.vars.len()
        && is_set_once(first.lhs.tensor)
        && is_set_once(second.lhs.tensor)
        && are_stored_alike(own, other)
        && is_work(tensors, second)
        && read_by(tensors, &second.rhs).len() == read.len()
        && program.statements[earlier..later].iter().all(is_unchanged);
    if !fits {
        return None;
    }
    let mut vars = program.vars.clone();
    let [a, b] = [first, second].map(|statement| make_explicit(statement, &mut vars));
    let mut comparison = Comparison { tensors, vars: &vars, steps: 0 };
    let found = comparison.bijections(&a.rhs, &b.rhs, &Bijection::new());
    let orders = found.iter().filter_map(|bijection| {
        let at = |var: &VarId| bijection.iter().find(|(from, _)| from == var).map(|(_, to)| *to);
        let order: Vec<VarId> = a.lhs.vars.iter().map(at).collect::<Option<_>>()?;
        let is_permutation = b.lhs.vars.iter().all(|var| order.contains(var));
        let has_sizes = order.iter().zip(&own.dims).all(|(var, dim)| {
            let place = b.lhs.vars.iter().position(|own| own == var);
            place.is_some_and(|place| other.dims[place] == *dim) || is_told(tensors, &b.rhs, *var)
        });
        (is_permutation && has_sizes).then_some(order)
    });
    let moved = |order: &Vec<VarId>| order.iter().zip(&b.lhs.vars).filter(|(a, b)| a != b).count();
    orders.min_by_key(|order| (moved(order), order.clone()))
}

/// True if one result can be a copy of another, with the entries that it would have: both are dense, or have the same levels.
fn are_stored_alike(a: &Tensor, b: &Tensor) -> bool {
    let is_plain = |format: &Format| format.map().is_none() && format.packing().is_none();
    let is_alike = a.format.is_dense() && b.format.is_dense() || a.format.levels() == b.format.levels();
    is_alike
        && is_plain(&a.format)
        && is_plain(&b.format)
        && a.dtype == b.dtype
        && !a.dtype.is_storage()
        && a.fill() == b.fill()
}

/// True if a statement is more work than a copy: it has a sum, or several operations on elements.
fn is_work(tensors: &Arena<Tensor>, statement: &Assignment) -> bool {
    let rhs = &statement.rhs;
    let mut operations = 0;
    let mut has_sum = rhs.free_vars().iter().any(|var| !statement.lhs.vars.contains(var));
    rhs.visit(&mut |inner| match inner.kind {
        ExprKind::Binary(..) | ExprKind::Apply(..) | ExprKind::Unary(..) => operations += 1,
        ExprKind::Reduce(..) => has_sum = true,
        _ => {}
    });
    let elements = rhs.accesses().into_iter().filter(|access| !tensors[access.tensor].role.is_computed()).count();
    has_sum || elements > 1 && operations > 1
}

/// True if an operand that is stored has a dimension of a variable, which tells its size.
fn is_told(tensors: &Arena<Tensor>, expr: &Expr, var: VarId) -> bool {
    let accesses = expr.accesses();
    accesses.iter().any(|access| !tensors[access.tensor].role.is_computed() && access.vars.contains(&var))
}

/// The variables of one expression, each with that of another.
type Bijection = Vec<(VarId, VarId)>;

/// A comparison of two expressions.
struct Comparison<'a> {
    tensors: &'a Arena<Tensor>,
    vars: &'a Arena<IndexVar>,
    steps: usize,
}

impl Comparison<'_> {
    /// All bijections that extend a given one and make the first expression the second.
    fn bijections(&mut self, a: &Expr, b: &Expr, known: &Bijection) -> Vec<Bijection> {
        self.steps += 1;
        if self.steps > MOST_STEPS || a.dtype != b.dtype {
            return Vec::new();
        }
        match (&a.kind, &b.kind) {
            (ExprKind::Literal(a), ExprKind::Literal(b)) if a == b => vec![known.clone()],
            (ExprKind::Access(a), ExprKind::Access(b)) => self.accesses(a, b, known).into_iter().collect(),
            (ExprKind::Binary(op @ (BinaryFn::Mul | BinaryFn::Add), ..), ExprKind::Binary(other, ..))
                if op == other =>
            {
                self.in_any_order(&a.operands(*op), &b.operands(*op), known)
            }
            (ExprKind::Reduce(monoid, vars, a), ExprKind::Reduce(other, others, b))
                if monoid == other && vars.len() == others.len() =>
            {
                let mut found = self.bijections(a, b, known);
                found.retain(|all| {
                    vars.iter().all(|var| all.iter().any(|(from, to)| from == var && others.contains(to)))
                });
                found
            }
            (ExprKind::Unary(f, _), ExprKind::Unary(g, _)) if f == g => self.in_order(a, b, known),
            (ExprKind::Binary(f, ..), ExprKind::Binary(g, ..)) if f == g => self.in_order(a, b, known),
            (ExprKind::Apply(f, _), ExprKind::Apply(g, _)) if f == g => self.in_order(a, b, known),
            (ExprKind::Cast(_), ExprKind::Cast(_)) | (ExprKind::Select(_), ExprKind::Select(_)) => {
                self.in_order(a, b, known)
            }
            _ => Vec::new(),
        }
    }

    /// The same for the operands of two functions, one after the other.
    fn in_order(&mut self, a: &Expr, b: &Expr, known: &Bijection) -> Vec<Bijection> {
        let (a, b) = (a.children(), b.children());
        if a.len() != b.len() {
            return Vec::new();
        }
        a.into_iter().zip(b).fold(vec![known.clone()], |all, (a, b)| self.extended(&all, a, b))
    }

    /// The same for operands that may change places.
    fn in_any_order(&mut self, a: &[&Expr], b: &[&Expr], known: &Bijection) -> Vec<Bijection> {
        let Some((first, rest)) = a.split_first() else { return vec![known.clone()] };
        let mut found = Vec::new();
        if a.len() == b.len() {
            for place in 0..b.len() {
                let others: Vec<&Expr> = [&b[..place], &b[place + 1..]].concat();
                for extended in self.bijections(first, b[place], known) {
                    found.extend(self.in_any_order(rest, &others, &extended));
                }
            }
        }
        limited(found)
    }

    fn extended(&mut self, all: &[Bijection], a: &Expr, b: &Expr) -> Vec<Bijection> {
        limited(all.iter().flat_map(|known| self.bijections(a, b, known)).collect())
    }

    /// The bijection of the variables of two accesses to one tensor, or to two that are the same relation of coordinates.
    fn accesses(&self, a: &Access, b: &Access, known: &Bijection) -> Option<Bijection> {
        let (own, other) = (&self.tensors[a.tensor], &self.tensors[b.tensor]);
        let is_same = a.tensor == b.tensor
            || match (own.role, other.role) {
                (Role::Index, Role::Index) => true,
                (Role::Indicator, Role::Indicator) => own.indicator == other.indicator && own.format == other.format,
                _ => false,
            };
        if !is_same || a.vars.len() != b.vars.len() {
            return None;
        }
        let mut extended = known.clone();
        for pair @ (from, to) in a.vars.iter().copied().zip(b.vars.iter().copied()) {
            match extended.iter().find(|(own, other)| *own == from || *other == to) {
                Some(found) if *found == pair => {}
                Some(_) => return None,
                None if self.vars[from].size != self.vars[to].size => return None,
                None => extended.push(pair),
            }
        }
        Some(extended)
    }
}

/// Different bijections, and not too many.
fn limited(mut found: Vec<Bijection>) -> Vec<Bijection> {
    found.iter_mut().for_each(|bijection| bijection.sort_unstable());
    found.sort_unstable();
    found.dedup();
    found.truncate(MOST_BIJECTIONS);
    found
}

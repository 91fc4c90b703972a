//! Sums over the variables of tensors that are stored by diagonals, arranged so that loops can go along the diagonals.
//!
//! On entry: a statement in reduction notation, and accesses with maps that are to be walked through. On exit: an equal
//! statement. In it, a sum over a variable `k` that a map stores as the diagonal `k - j` stands only where `j` has a value and an
//! access that is walked through uses `k`. There, and only there, the loop over `k` can become one over diagonals:
//! `k = kd + j - (size of j - 1)`.
//!
//! Unlike blocks and ranks, a diagonal alone tells no coordinate: it takes the other variable's. So a sum over `k` may not
//! stand around the sum over `j`, and a term without the tensor keeps a loop over `k` itself:
//!
//! ```text
//! y = A(j,k) * x(k)       sum(k, sum(j, A(j,k)) * x(k))             sum(k, j, A(j,k) * x(k))                 A: dia
//! y = A(j,k) + x(k)       sum(j, k, A(j,k)) + sum(k, x(k))          sum(j, k, A(j,k)) + sum(k2, x(k2))
//! ```
//!
//! Paper: Chou et al. 2020, §4, recovers coordinates from remapped ones; here this restricts where a recovered variable is bound.

use lacunar_base::Arena;
use lacunar_notation::{Assignment, Expr, ExprKind, IndexVar, Tensor, VarId};

use crate::concretize::flatten;
use crate::iterate::iterators::AccessKey;
use crate::reduction::{fresh_name, substitute_var};

/// The variables that are recovered from a diagonal and another variable, and the accesses that are stored so.
pub(super) struct Diagonals<'a> {
    /// The variable from whose coordinate a variable's diagonals are counted, if it is stored so.
    pub counted_from: &'a dyn Fn(VarId) -> Option<VarId>,
    /// The accesses that loops are to walk through.
    pub walked: &'a [AccessKey],
}

impl Diagonals<'_> {
    /// The statement, arranged; new variables go into `vars`.
    ///
    /// # Errors
    /// The place among the walked accesses of one that cannot be walked through: its diagonals are summed over outside of the sum
    /// over the variable that they are counted from, and the sums cannot be made one.
    pub(super) fn arrange(
        &self,
        tensors: &Arena<Tensor>,
        statement: &Assignment,
        vars: &mut Arena<IndexVar>,
    ) -> Result<Assignment, usize> {
        let bound = &statement.lhs.vars;
        let rhs = match self.out_of_place(&statement.rhs, &mut bound.clone()) {
            None => statement.rhs.clone(),
            Some(_) => {
                let flat = flatten(tensors, statement.rhs.clone());
                match self.out_of_place(&flat, &mut bound.clone()) {
                    None => flat,
                    Some(place) => return Err(place),
                }
            }
        };
        let rhs = self.set_apart(rhs, vars);
        Ok(Assignment { rhs, ..statement.clone() })
    }

    /// The place of a walked access that occurs where a variable of it has a value before that from which its diagonals are
    /// counted.
    fn out_of_place(&self, expr: &Expr, bound: &mut Vec<VarId>) -> Option<usize> {
        let mut found = None;
        self.visit_sums(expr, bound, &mut |this, summed, body, bound| {
            let early = |var: &VarId| (this.counted_from)(*var).filter(|from| !bound.contains(from));
            for (var, from) in summed.iter().filter_map(|var| Some((*var, early(var)?))) {
                let place = body.accesses().into_iter().find_map(|access| {
                    let key = AccessKey::from(access);
                    let both = key.vars.contains(&var) && key.vars.contains(&from);
                    both.then(|| this.walked.iter().position(|walked| *walked == key)).flatten()
                });
                found = found.or(place);
            }
        });
        found
    }

    /// Calls `f` with each sum's variables, its body, and the variables that have a value in the body.
    fn visit_sums(&self, expr: &Expr, bound: &mut Vec<VarId>, f: &mut impl FnMut(&Self, &[VarId], &Expr, &[VarId])) {
        let depth = bound.len();
        if let ExprKind::Reduce(_, summed, body) = &expr.kind {
            bound.extend(summed);
            f(self, summed, body, bound);
        }
        for child in expr.children() {
            self.visit_sums(child, bound, f);
        }
        bound.truncate(depth);
    }

    /// The expression with variables of their own in sums over diagonals in which no access is walked through by these.
    fn set_apart(&self, expr: Expr, vars: &mut Arena<IndexVar>) -> Expr {
        let (dtype, span) = (expr.dtype, expr.span);
        let ExprKind::Reduce(op, mut summed, mut body) = expr.kind else {
            return expr.map_children(&mut |child| self.set_apart(child, vars));
        };
        for var in &mut summed {
            let walks = |key: &AccessKey| key.vars.contains(var) && self.walked.contains(key);
            let used = body.accesses().into_iter().any(|access| walks(&AccessKey::from(access)));
            if !used && (self.counted_from)(*var).is_some() {
                let base = vars[*var].clone();
                let own = vars.push(IndexVar { name: fresh_name(vars, &base.name), ..base });
                *body = substitute_var(*body, *var, own);
                *var = own;
            }
        }
        let body = Box::new(self.set_apart(*body, vars));
        Expr { kind: ExprKind::Reduce(op, summed, body), dtype, span }
    }
}

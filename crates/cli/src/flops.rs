//! The number of scalar operations that a program stands for: an estimate that does not depend on its compilation.
//!
//! Sums are cut into terms. A term is a product (or another expression without `+` and `-` on its way to the top); its
//! *points* are the coordinates of its variables at which all its sparse factors are stored. If the term is summed,
//! each point counts one addition and the operators between the factors that are summed over; the other factors, and
//! everything in a term that is not summed, count once for each point of the result's variables.
//!
//! ```text
//! y(i) = A(i,j) * x(j)                nnz(A) * (1 + 1)
//! C(i,j) = A(i,j) + B(i,j)            nnz(A) + nnz(B)
//! D(i,l) = A(i,j) * B(j,k) * C(k,l)   the points at which A and B are stored, times l, times (2 + 1)
//! ```
//!
//! Points are counted for one sparse factor and for two that share one variable; else they are estimated as if the
//! coordinates of each factor were uniform and independent.

use lacunar::DynTensor;
use lacunar_notation::{Access, BinaryFn, Expr, ExprKind, Indicator, Program, UnaryFn, VarId};

use crate::failure::Failure;

/// A tensor of the program by its name.
pub type Lookup<'a, 't> = dyn Fn(&str) -> Option<&'t DynTensor> + 'a;

/// The operations of a whole program, each of whose statements was carried out so often: as many every time as with the last
/// tensors.
///
/// # Errors
/// Memory is refused.
pub fn of_program(program: &Program, counts: &[u64], tensor: &Lookup<'_, '_>) -> Result<f64, Failure> {
    let mut total = 0.0;
    for (place, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        total += of_statement(program, place, tensor)? * count as f64;
    }
    Ok(total)
}

/// The operations of one statement.
///
/// # Errors
/// Memory is refused.
pub fn of_statement(program: &Program, place: usize, tensor: &Lookup<'_, '_>) -> Result<f64, Failure> {
    let statement = &program.statements[place];
    let counter = Counter { program, tensor, sizes: sizes(program, tensor), kept: &statement.lhs.vars };
    counter.expression(&statement.rhs)
}

/// The size of each variable; 1 where nothing tells it.
fn sizes(program: &Program, tensor: &Lookup<'_, '_>) -> Vec<f64> {
    let mut sizes: Vec<f64> = program.vars.iter().map(|(_, var)| var.size.map_or(1.0, |size| size as f64)).collect();
    let accesses = program.statements.iter().flat_map(|s| std::iter::once(&s.lhs).chain(s.rhs.accesses()));
    for access in accesses {
        let Some(tensor) = tensor(&program.tensors[access.tensor].name) else { continue };
        for (var, &size) in access.vars.iter().zip(tensor.dims()) {
            sizes[var.index()] = size as f64;
        }
    }
    sizes
}

struct Counter<'a, 't> {
    program: &'a Program,
    tensor: &'a Lookup<'a, 't>,
    sizes: Vec<f64>,
    /// The variables of the result.
    kept: &'a [VarId],
}

impl Counter<'_, '_> {
    fn expression(&self, expr: &Expr) -> Result<f64, Failure> {
        match &expr.kind {
            ExprKind::Binary(BinaryFn::Add | BinaryFn::Sub, left, right) => {
                Ok(self.expression(left)? + self.expression(right)?)
            }
            ExprKind::Unary(UnaryFn::Neg, operand) | ExprKind::Cast(operand) | ExprKind::Reduce(_, _, operand) => {
                self.expression(operand)
            }
            _ => self.term(expr),
        }
    }

    fn term(&self, term: &Expr) -> Result<f64, Failure> {
        let factors = term.operands(BinaryFn::Mul);
        let accesses: Vec<&Access> = term.accesses();
        let is_summed = |factor: &&Expr| {
            factor.accesses().iter().any(|access| access.vars.iter().any(|var| !self.kept.contains(var)))
        };
        let (inner, outer): (Vec<&Expr>, Vec<&Expr>) = factors.into_iter().partition(is_summed);
        let points = self.points(&accesses)?;
        let within = |factors: &[&Expr]| factors.iter().map(|factor| operators(factor)).sum::<usize>();
        if inner.is_empty() {
            return Ok(points * (within(&outer) + outer.len()) as f64);
        }
        let results = self.results(&accesses)?.min(points);
        Ok(points * (within(&inner) + inner.len()) as f64 + results * (within(&outer) + outer.len()) as f64)
    }

    /// The points of the result's variables in a term: those where its factors without summed variables are stored.
    fn results(&self, accesses: &[&Access]) -> Result<f64, Failure> {
        let is_kept = |var: &VarId| self.kept.contains(var);
        let outer: Vec<&Access> = accesses.iter().copied().filter(|access| access.vars.iter().all(is_kept)).collect();
        let covered = |var: &VarId| outer.iter().any(|access| access.vars.contains(var));
        let mut others: Vec<VarId> = accesses.iter().flat_map(|access| access.vars.iter().copied()).collect();
        others.retain(|var| is_kept(var) && !covered(var));
        Ok(self.points(&outer)? * self.volume(&mut others))
    }

    /// The points of the iteration space of some variables.
    fn volume(&self, vars: &mut Vec<VarId>) -> f64 {
        vars.sort();
        vars.dedup();
        vars.iter().map(|var| self.sizes[var.index()]).product()
    }

    /// The points at which all sparse factors are stored.
    fn points(&self, accesses: &[&Access]) -> Result<f64, Failure> {
        let mut sparse: Vec<(&Access, &DynTensor)> = Vec::new();
        for access in accesses {
            let Some(tensor) = (self.tensor)(&self.program.tensors[access.tensor].name) else { continue };
            let known = sparse.iter().any(|(other, _)| other.tensor == access.tensor && other.vars == access.vars);
            if !tensor.format().is_dense() && !known {
                sparse.push((access, tensor));
            }
        }
        let mut vars: Vec<VarId> = accesses.iter().flat_map(|access| access.vars.iter().copied()).collect();
        let mut bound: Vec<VarId> = sparse.iter().flat_map(|(access, _)| access.vars.iter().copied()).collect();
        let free = self.volume(&mut vars) / self.volume(&mut bound).max(1.0);
        let stored = match sparse.as_slice() {
            [] => return Ok(self.volume(&mut vars) * self.told(accesses)),
            [(_, tensor)] => tensor.entries() as f64,
            [first, second] => match shared(first.0, second.0).as_slice() {
                &[var] => joined(*first, *second, var)?,
                _ => self.estimate(&sparse),
            },
            _ => self.estimate(&sparse),
        };
        Ok(stored * free * self.told(accesses))
    }

    /// The part of the points at which indicators hold: an equation or a gather tells one of its variables, an inequality leaves half.
    fn told(&self, accesses: &[&Access]) -> f64 {
        let indicators = accesses.iter().enumerate().filter(|(place, access)| {
            let known = accesses[..*place].iter().any(|other| other.tensor == access.tensor);
            self.program.tensors[access.tensor].indicator.is_some() && !known
        });
        let part = |access: &Access| match self.program.tensors[access.tensor].indicator.as_deref() {
            Some(Indicator::Inequality(_)) => 0.5,
            _ => 1.0 / access.vars.iter().map(|var| self.sizes[var.index()]).fold(1.0, f64::max),
        };
        indicators.map(|(_, access)| part(access)).product()
    }

    /// The points at which several factors are stored, if each has its entries anywhere: but where a factor adds no
    /// variable, as many as the sparser one has, because patterns are alike more often than not.
    fn estimate(&self, sparse: &[(&Access, &DynTensor)]) -> f64 {
        let mut points = 1.0;
        let mut seen: Vec<VarId> = Vec::new();
        for (access, tensor) in sparse {
            let nnz = tensor.entries() as f64;
            let mut common: Vec<VarId> = access.vars.iter().copied().filter(|var| seen.contains(var)).collect();
            let adds = access.vars.iter().any(|var| !seen.contains(var));
            let rows = self.volume(&mut common).max(1.0);
            points = if adds { points * nnz / rows } else { f64::min(points, nnz * (points / rows).max(1.0)) };
            seen.extend(&access.vars);
        }
        points
    }
}

/// The functions and operators in an expression.
fn operators(expr: &Expr) -> usize {
    let mut count = 0;
    expr.visit(&mut |expr| count += usize::from(matches!(expr.kind, ExprKind::Unary(..) | ExprKind::Binary(..))));
    count
}

/// The variables that two accesses have in common.
fn shared(a: &Access, b: &Access) -> Vec<VarId> {
    let mut vars: Vec<VarId> = a.vars.iter().copied().filter(|var| b.vars.contains(var)).collect();
    vars.sort();
    vars.dedup();
    vars
}

/// The pairs of entries of two tensors that have the same coordinate of a variable.
fn joined(a: (&Access, &DynTensor), b: (&Access, &DynTensor), var: VarId) -> Result<f64, Failure> {
    let (left, right) = (counts(a.0, a.1, var)?, counts(b.0, b.1, var)?);
    let mut behind = right.iter().peekable();
    let pairs = left.into_iter().map(|(at, count)| {
        while behind.next_if(|(other, _)| *other < at).is_some() {}
        behind.next_if(|(other, _)| *other == at).map_or(0.0, |(_, other)| count as f64 * *other as f64)
    });
    Ok(pairs.sum())
}

/// The coordinates of a variable at which a tensor has entries, in order, each with the number of these.
fn counts(access: &Access, tensor: &DynTensor, var: VarId) -> Result<Vec<(u64, u64)>, Failure> {
    let dimension = access.vars.iter().position(|&other| other == var).unwrap_or_default();
    let coo = tensor.to_coo()?;
    let column = &coo.coords[dimension];
    let mut counts: Vec<(u64, u64)> = Vec::new();
    counts.try_reserve_exact(column.len()).map_err(|_| {
        lacunar::StorageError::from(lacunar_runtime::AllocError { bytes: (column.len() as u64).saturating_mul(16) })
    })?;
    counts.extend((0..column.len()).filter_map(|place| Some((column.get(place)?, 1))));
    // Rows are in order already in most formats.
    counts.sort_by_key(|(at, _)| *at);
    counts.dedup_by(|next, kept| {
        let is_same = next.0 == kept.0;
        kept.1 += if is_same { next.1 } else { 0 };
        is_same
    });
    Ok(counts)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use lacunar::{DType, Format, FormatSpec};
    use lacunar_front::{Declarations, check};
    use lacunar_runtime::random::{Generator, generate};

    /// The operations of a program; letters `A` to `C` are 10 x 10 with 2 entries a row, others dense.
    fn flops(source: &str) -> f64 {
        let matrix = generate(&Generator::Uniform(2), vec![10, 10], DType::F64, &Format::csr(), 1).unwrap();
        let vector = generate(&Generator::Ones, vec![10], DType::F64, &Format::dense(1), 1).unwrap();
        let dense = generate(&Generator::Ones, vec![10, 10], DType::F64, &Format::dense(2), 1).unwrap();
        let mut declarations = Declarations::new();
        for name in ["A", "B", "C"] {
            declarations = declarations.format(name, FormatSpec::Exact(Format::csr()));
        }
        declarations.formats.retain(|name, _| source.contains(name.as_str()));
        let program = check(source, &declarations).unwrap();
        let lookup = |name: &str| match name {
            "A" | "B" | "C" => Some(&matrix),
            "X" | "Y" => Some(&dense),
            "x" | "y" | "z" => Some(&vector),
            _ => None,
        };
        of_program(&program, &vec![1; program.statements.len()], &lookup).unwrap()
    }

    #[test]
    fn counts_are_those_of_the_usual_conventions() {
        assert_eq!(flops("y(i) = A(i,j) * x(j)"), 40.0);
        assert_eq!(flops("y(i) = alpha * A(i,j) * x(j) + z(i)"), 40.0 + 10.0 + 10.0);
        assert_eq!(flops("Y(i,k) = A(i,j) * X(j,k)"), 400.0);
        assert_eq!(flops("S(i,j) = A(i,j) + B(i,j)"), 40.0);
        assert_eq!(flops("S(i,j) = A(i,j) * X(i,k) * Y(k,j)"), 400.0 + 20.0);
        assert_eq!(flops("S(i,j) = A(i,j) * B(i,j)"), 40.0);
    }
}

//! The work of a kernel, in scalar iterations: estimated, when the kernel is run, from the sizes and the numbers of stored values.
//!
//! ```text
//! y(i) = A(i,j) * x(j)     A: csr      max(i_size * j_size * stored / (i_size * j_size), stored)  =  stored
//! ```
//!
//! Small kernels are not worth handing to threads: how many chunks a kernel is worth is its work over the grain
//! ([`crate::lower::Options::grain`]).

use lacunar_formats::DType;
use lacunar_imp::{BinaryOp, Const, ExprId};
use lacunar_notation::concrete::Assign;
use lacunar_notation::{Role, VarId};

use crate::iterate::iterators::{AccessKey, level_var, sparse_levels};
use crate::lower::Lowerer;
use crate::lower::scope::{Fact, Scope};
use crate::lower::storage::count_positions;

/// Estimates the work of a kernel that has loops which threads share: the scope then knows how many chunks it is worth.
pub(in crate::lower) fn estimate(cx: &mut Lowerer<'_>, scope: &Scope) -> Scope {
    if !cx.kernel.provenance.tags.iter().any(|(var, _)| cx.race(*var).is_some()) {
        return scope.clone();
    }
    let mut assigns: Vec<&Assign> = Vec::new();
    cx.kernel.stmt.visit_assigns(&mut |assign| assigns.push(assign));
    let works: Vec<ExprId> = assigns.into_iter().map(|assign| work_of(cx, assign, scope)).collect();
    let Some(work) = works.into_iter().reduce(|sum, own| cx.b.add(sum, own)) else { return scope.clone() };
    let grain = cx.b.constant(Const::real(DType::F64, cx.options.grain.max(1) as f64));
    let worth = cx.b.binary(BinaryOp::Div, work, grain);
    let worth = cx.b.cast(DType::I64, worth);
    scope.with(Fact::MostChunks(cx.b.define("most_chunks", worth)))
}

/// The combinations of coordinates that an assignment is met at, if stored ones are spread evenly; at least the stored
/// values of each operand.
fn work_of(cx: &mut Lowerer<'_>, assign: &Assign, scope: &Scope) -> ExprId {
    let accesses: Vec<AccessKey> = assign.rhs.accesses().into_iter().map(AccessKey::from).collect();
    let mut vars: Vec<VarId> = Vec::new();
    for &var in assign.lhs.vars.iter().chain(accesses.iter().flat_map(|access| &access.vars)) {
        // A place inside of strips, by which a workspace is indexed, is one of the values that the strips are cut from.
        for original in cx.kernel.provenance.originals(var) {
            if !vars.contains(&original) {
                vars.push(original);
            }
        }
    }
    let one = cx.b.constant(Const::real(DType::F64, 1.0));
    let mut met = one;
    for &var in &vars {
        let size = real_size(cx, var);
        met = cx.b.mul(met, size);
    }
    let mut least = one;
    for access in &accesses {
        if matches!(cx.kernel.tensors[access.tensor].role, Role::Workspace(_)) {
            continue;
        }
        let Some((level, _)) = sparse_levels(cx.kernel, access.tensor).last() else { continue };
        let Some(stored) = count_positions(cx, access, level, scope) else { continue };
        let stored = cx.b.cast(DType::F64, stored);
        least = cx.b.binary(BinaryOp::Max, least, stored);
        let mut places = one;
        for above in 0..=level {
            let size = real_size(cx, level_var(cx.kernel, access, above));
            places = cx.b.mul(places, size);
        }
        let places = cx.b.binary(BinaryOp::Max, places, one);
        let density = cx.b.binary(BinaryOp::Div, stored, places);
        met = cx.b.mul(met, density);
    }
    cx.b.binary(BinaryOp::Max, met, least)
}

fn real_size(cx: &mut Lowerer<'_>, var: VarId) -> ExprId {
    let size = cx.size(var);
    cx.b.cast(DType::F64, size)
}

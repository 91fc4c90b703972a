//! The work of a kernel, in scalar iterations: estimated, when the kernel is run, from the sizes and the numbers of stored values.
//!
//! ```text
//! y(i) = A(i,j) * x(j)     A: csr      max(i_size * j_size * stored / (i_size * j_size), stored)  =  stored
//! ```
//!
//! A producer is run where its consumer is: the factors of the consumer restrict the loops around both.
//!
//! ```text
//! forall(i, forall(j, where(C(i,j) = A(i,j) * t, forall(k, t += D(i,k) * E(j,k)))))
//!     of the producer: i_size * j_size * k_size * stored / (i_size * j_size)
//! ```
//!
//! A packed tensor, also a result, stores some places of all: loops of whose coordinates it is made come to these alone.
//!
//! Small kernels are not worth handing to threads: a kernel is worth as many chunks as its work has grains
//! ([`crate::lower::Options::grain`]).

use std::collections::BTreeSet;

use lacunar_formats::DType;
use lacunar_imp::{BinaryOp, Const, ExprId};
use lacunar_notation::concrete::{Assign, Kernel, Stmt};
use lacunar_notation::{BinaryFn, ExprKind, Role, TensorId, VarId};

use crate::iterate::iterators::{AccessKey, level_var, sparse_levels};
use crate::lower::Lowerer;
use crate::lower::scope::{Fact, Scope};
use crate::lower::storage::count_positions;

/// Estimates the work of a kernel that has loops which threads share: the scope then knows how many chunks it is worth.
pub(in crate::lower) fn estimate(cx: &mut Lowerer<'_>, scope: &Scope) -> Scope {
    if !cx.kernel.provenance.tags.iter().any(|(var, _)| cx.race(*var).is_some()) {
        return scope.clone();
    }
    let mut assigns = Vec::new();
    collect(cx.kernel, &cx.kernel.stmt, &mut Vec::new(), &[], &mut assigns);
    let works: Vec<ExprId> = assigns.into_iter().map(|(assign, around)| work_of(cx, assign, &around, scope)).collect();
    let Some(work) = works.into_iter().reduce(|sum, own| cx.b.add(sum, own)) else { return scope.clone() };
    let grain = cx.b.constant(Const::real(DType::F64, cx.options.grain.max(1) as f64));
    let worth = cx.b.binary(BinaryOp::Div, work, grain);
    let worth = cx.b.cast(DType::I64, worth);
    scope.with(Fact::MostChunks(cx.b.define("most_chunks", worth)))
}

/// The assignments of a statement, each with the factors of consumers that restrict the loops around it.
fn collect<'s>(
    kernel: &Kernel,
    stmt: &'s Stmt,
    loops: &mut Vec<VarId>,
    factors: &[AccessKey],
    found: &mut Vec<(&'s Assign, Vec<AccessKey>)>,
) {
    match stmt {
        Stmt::Assign(assign) => found.push((assign, factors.to_vec())),
        Stmt::Sequence(stmts) => stmts.iter().for_each(|stmt| collect(kernel, stmt, loops, factors, found)),
        Stmt::Forall(var, body) => {
            loops.push(*var);
            collect(kernel, body, loops, factors, found);
            loops.pop();
        }
        Stmt::Where { consumer, producer } => {
            let mut more = factors.to_vec();
            if let Stmt::Assign(assign) = &**consumer {
                let own = assign.rhs.operands(BinaryFn::Mul).into_iter().filter_map(|factor| match &factor.kind {
                    ExprKind::Access(access) => Some(AccessKey::from(access)),
                    _ => None,
                });
                more.extend(own.filter(|access| access.vars.iter().all(|var| kernel.provenance.is_known(*var, loops))));
            }
            collect(kernel, producer, loops, &more, found);
            collect(kernel, consumer, loops, factors, found);
        }
    }
}

/// The combinations of coordinates that an assignment is met at, if stored ones are spread evenly; at least the stored
/// values of each operand. Operands of other statements restrict the loops around.
fn work_of(cx: &mut Lowerer<'_>, assign: &Assign, around: &[AccessKey], scope: &Scope) -> ExprId {
    let mut accesses: Vec<AccessKey> = assign.rhs.accesses().into_iter().map(AccessKey::from).collect();
    for access in around {
        if !accesses.contains(access) {
            accesses.push(access.clone());
        }
    }
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
    // Its arrays are those by which loops go, so it comes first.
    let result = AccessKey::from(&assign.lhs);
    if is_packed(cx.kernel, result.tensor) {
        accesses.insert(0, result);
    }
    let mut of_packed: Vec<BTreeSet<VarId>> = Vec::new();
    let mut least = one;
    for access in &accesses {
        if matches!(cx.kernel.tensors[access.tensor].role, Role::Workspace(_)) {
            continue;
        }
        let level = if is_packed(cx.kernel, access.tensor) {
            // Two packed operands with the same variables store the same places.
            let vars: BTreeSet<VarId> = access.vars.iter().copied().collect();
            if of_packed.contains(&vars) {
                continue;
            }
            of_packed.push(vars);
            access.vars.len().checked_sub(1)
        } else {
            sparse_levels(cx.kernel, access.tensor).last().map(|(level, _)| level)
        };
        let Some(level) = level else { continue };
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

/// True if loops come to the places alone that a tensor stores, as it is packed.
fn is_packed(kernel: &Kernel, tensor: TensorId) -> bool {
    kernel.tensors[tensor].format.packing().is_some_and(|packing| packing.sources().is_none())
}

fn real_size(cx: &mut Lowerer<'_>, var: VarId) -> ExprId {
    let size = cx.size(var);
    cx.b.cast(DType::F64, size)
}

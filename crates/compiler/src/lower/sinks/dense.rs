//! Dense results: values are written in place. They are set to the fill value first, unless every one is certain to be written.
//!
//! ```text
//! y(i) += A(i,j) * x(j)      for i { y_vals[i] = 0; for p .. { y_vals[i] += .. } }       as far inside as loops walk in order
//! y(j) += A(i,j) * x(i)      y_vals[..] = 0; for i { for p .. { y_vals[j] += .. } }      else around all loops
//! y(i) = a(i - j) * x(j)     y_vals[first ..] = 0; for i in 0 .. first { y_vals[i] = t }   or what no loop comes to
//! split(j, j0, j1, 512)      for j0 { y_vals[512 j0 ..] = 0; .. }                        or strip by strip, which stays in the cache
//! D(i,j,l) = A(i,j,k)*B(k,l) if apart { D_vals[..] = 0 }; for i { if !apart { .. } .. }  or around all, where few rows are written
//! ```
//!
//! Memory is cleared in one piece without being read first, and a plane of which few rows are written next has no use for the cache.

use std::rc::Rc;

use lacunar_base::Diagnostic;
use lacunar_imp::{BinaryOp, CompareOp, ExprId, UnaryOp};
use lacunar_notation::concrete::{Kernel, Stmt};
use lacunar_notation::provenance::Relation;
use lacunar_notation::{AssignOp, VarId};

use super::values::{add_to, clear_block, cleared_value};
use super::{Addition, Checkpoint, Sink};
use crate::iterate::iterators::{AccessKey, level_var};
use crate::iterate::lattice::Lattice;
use crate::iterate::position_space::{original_loops, replaced_by};
use crate::levels::Position;
use crate::lower::caches::{is_more_than_kept, past};
use crate::lower::coverage::{has_shared_loop, writes_all, writes_interval};
use crate::lower::derive::position;
use crate::lower::region::recovered::{has_outside_places, is_confined};
use crate::lower::region::{self, leaves_out};
use crate::lower::scope::Scope;
use crate::lower::sizes::constant;
use crate::lower::storage::{code, count_positions, count_values, extent, is_inside_dimension};
use crate::lower::{Lowerer, mirrored, once};

/// A result is cleared at once where less than one row in so many is written.
const FEW: i64 = 4;

/// A dense result.
#[derive(Debug)]
struct Dense {
    access: AccessKey,
    clearing: Clearing,
    /// The condition that values are stored past the caches, if they may be.
    past: Option<ExprId>,
    /// The condition that all of it is cleared before, instead of each part inside of loops.
    apart: Option<ExprId>,
    /// One addition is made to each value, which is set by it, if so.
    once: Option<Once>,
}

/// The reason why one addition is made to each value of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Once {
    /// One term of a sum adds to it.
    Term,
    /// It is an element of a packed operand, or follows from one: others add nothing to it.
    Mirrored,
}

/// The loops in which a dense result is set to its fill value.
#[derive(Clone, Copy, Debug)]
enum Clearing {
    /// Nowhere: every value is written.
    Never,
    /// Before all loops: the rows that the outermost loop does not reach.
    Outside,
    /// Inside of so many loops over variables of the statement.
    Inside(usize),
    /// In a loop over strips of a variable of the statement.
    Strips { leaf: VarId, of: VarId, size: u64 },
}

/// Makes a dense result ready.
pub(super) fn begin(cx: &mut Lowerer<'_>, access: AccessKey, scope: &Scope) -> Result<Scope, Diagnostic> {
    let once = once(cx, &access);
    let clearing = if once.is_some() { Clearing::Never } else { clearing(cx, &access) };
    let past = match clearing {
        Clearing::Never | Clearing::Outside => past(cx, &access, scope).map(|past| cx.b.define("past", past)),
        // The elements that were cleared are in the cache.
        Clearing::Inside(_) | Clearing::Strips { .. } => None,
    };
    let mut dense = Dense { access, clearing, past, apart: None, once };
    dense.clear(cx, scope)?;
    dense.clear_outside(cx, scope)?;
    dense.clear_apart(cx, scope)?;
    Ok(scope.writing(dense.access.tensor, Rc::new(dense)))
}

/// Decides where a dense result is cleared: nowhere if every place is written, else as far inside as the loops walk through it in
/// storage order.
fn clearing(cx: &Lowerer<'_>, access: &AccessKey) -> Clearing {
    let (kernel, scope) = (cx.kernel, Scope::default());
    let loops = original_loops(kernel, &kernel.stmt);
    let has_others = || has_outside_places(kernel, access.tensor, &access.vars, &scope);
    let is_written = || writes_all(kernel, &loops, access.tensor, &access.vars) && !has_others();
    if !cx.options.phase.computes() || kernel.updates || is_written() {
        return Clearing::Never;
    }
    if visited(kernel, access, &loops).is_some() && !has_others() {
        return Clearing::Outside;
    }
    let (mut depth, mut strip, mut bound) = (0, None, Vec::new());
    // If values go to other places than those that the loops walk through, the whole tensor is cleared first.
    let mut stmt = &kernel.stmt;
    // The values of a packed result under one coordinate are not as many as under another.
    if !is_written_by_one(kernel, access) || kernel.tensors[access.tensor].format.packing().is_some() {
        return Clearing::Inside(0);
    }
    while let Stmt::Forall(leaf, body) = stmt {
        // Only loops over the next variable of the result, and over strips of it, come to each of its values once.
        let originals = kernel.provenance.originals(*leaf);
        // The values under a place inside a dimension are not one block.
        if is_inside_dimension(cx, access, depth) {
            break;
        }
        let next = access.vars.get(depth).map(|_| level_var(kernel, access, depth));
        let (&[var], true) = (originals.as_slice(), originals.first().copied() == next) else { break };
        bound.push(*leaf);
        if kernel.provenance.is_known(var, &bound) {
            let confined =
                is_confined(kernel, var, &bound) && has_outside_places(kernel, access.tensor, &[var], &scope);
            let visits_all = Lattice::build(kernel, body, var).is_ok_and(|lattice| lattice.is_dense());
            if confined || !visits_all || replaced_by(kernel, var).is_some() || leaves_out(kernel, var) {
                break;
            }
            depth += 1;
            strip = None;
        } else {
            // Copies of chunks are added to all strips.
            strip = strips_of(cx, *leaf, var).filter(|_| !has_shared_loop(cx, body));
            if strip.is_none() {
                break;
            }
        }
        stmt = body;
    }
    strip.unwrap_or(Clearing::Inside(depth))
}

/// The loop over the coordinates of a result's outermost level, if all values under those that it comes to are written, which are an interval.
fn visited(kernel: &Kernel, access: &AccessKey, loops: &Stmt) -> Option<(VarId, Lattice)> {
    let is_array = kernel.tensors[access.tensor].format.packing().is_none();
    let vars: Vec<VarId> = (0..access.vars.len()).map(|level| level_var(kernel, access, level)).collect();
    writes_interval(kernel, loops, access.tensor, &vars).filter(|_| is_array)
}

/// The reason why one addition is made to each value of a result, all of which are computed, if it is so.
fn once(cx: &Lowerer<'_>, access: &AccessKey) -> Option<Once> {
    let Kernel { tensors, updates, followers, .. } = cx.kernel;
    let tensor = &tensors[access.tensor];
    let is_array = tensor.view.is_none() && tensor.format.map().is_none() && tensor.format.packing().is_none();
    if !cx.options.phase.computes() || *updates || followers.is_some() || !is_array {
        return None;
    }
    if once::writes_once(cx, access) {
        return Some(Once::Term);
    }
    mirrored::writes_once(cx.kernel, access).then_some(Once::Mirrored)
}

/// True if all assignments to a result are to the places of one access.
fn is_written_by_one(kernel: &Kernel, access: &AccessKey) -> bool {
    let mut is_one = true;
    kernel.stmt.visit_assigns(&mut |assign| {
        is_one &= assign.lhs.tensor != access.tensor || AccessKey::from(&assign.lhs) == *access;
    });
    is_one
}

/// A loop over strips of a variable of the statement, if it is one.
fn strips_of(cx: &Lowerer<'_>, leaf: VarId, of: VarId) -> Option<Clearing> {
    match *cx.kernel.provenance.origin(leaf)? {
        Relation::Split { parent, outer, size, .. } if outer == leaf && parent == of => {
            Some(Clearing::Strips { leaf, of, size })
        }
        _ => None,
    }
}

impl Dense {
    /// Clears all of a result before its loops where it is more than caches keep, and an operand that chooses rows of it has few of them.
    fn clear_apart(&mut self, cx: &mut Lowerer<'_>, scope: &Scope) -> Result<(), Diagnostic> {
        let Clearing::Inside(depth) = self.clearing else { return Ok(()) };
        let order = self.access.vars.len();
        if depth == 0 || depth + 1 >= order {
            return Ok(());
        }
        let row = level_var(cx.kernel, &self.access, depth);
        let mut chosen: Vec<(AccessKey, usize)> = Vec::new();
        cx.kernel.stmt.visit_assigns(&mut |assign| {
            for access in assign.rhs.accesses() {
                let (key, format) = (AccessKey::from(access), &cx.kernel.tensors[access.tensor].format);
                let number = (depth..key.vars.len()).find(|number| level_var(cx.kernel, &key, *number) == row);
                let has_few = |number: &usize| format.levels()[*number].properties().compact && !format.is_dense();
                chosen.extend(number.filter(has_few).map(|number| (key, number)));
            }
        });
        let Some((chooser, number)) = chosen.into_iter().next() else { return Ok(()) };
        let Some(values) = code(cx, self.access.tensor, scope).values else { return Ok(()) };
        let Some(written) = count_positions(cx, &chooser, number, scope) else { return Ok(()) };
        let rows = extent(cx, &self.access, 0, depth + 1, scope);
        let (four, is_large) = (cx.b.int(FEW), is_more_than_kept(cx, &self.access));
        let share = cx.b.binary(BinaryOp::Div, rows, four);
        let is_few = cx.b.compare(CompareOp::Lt, written, share);
        let apart = cx.b.and(is_large, is_few);
        let apart = cx.b.define("apart", apart);
        let block = count_values(cx, &self.access, scope);
        cx.when(apart, |cx| {
            let first = cx.b.int(0);
            clear_block(cx, self.access.tensor, values, first, block);
        });
        cx.note(format!("`{}` is cleared at once where few of its rows are written", cx.name(self.access.tensor)));
        self.apart = Some(apart);
        Ok(())
    }

    /// Fills the rows that the outermost loop does not reach.
    fn clear_outside(&self, cx: &mut Lowerer<'_>, scope: &Scope) -> Result<(), Diagnostic> {
        let loops = original_loops(cx.kernel, &cx.kernel.stmt);
        let found = visited(cx.kernel, &self.access, &loops).filter(|_| matches!(self.clearing, Clearing::Outside));
        let (Some((var, lattice)), Some(values)) = (found, code(cx, self.access.tensor, scope).values) else {
            return Ok(());
        };
        let within = region::confine(cx, var, &lattice, scope)?;
        let Some((low, high)) = within.region(var) else { return Ok(()) };
        let (zero, size) = (cx.b.int(0), cx.size(var));
        let block = extent(cx, &self.access, 1, self.access.vars.len(), scope);
        let value = cleared_value(cx, self.access.tensor);
        for (begin, end) in [(zero, low), (high, size)] {
            let ends = (cx.b.mul(begin, block), cx.b.mul(end, block));
            cx.fill(values, ends, value);
        }
        Ok(())
    }

    /// Sets the part of the result that lies under the current coordinates to its fill value, if this is the place to.
    fn clear(&self, cx: &mut Lowerer<'_>, scope: &Scope) -> Result<(), Diagnostic> {
        if !matches!(self.clearing, Clearing::Inside(depth) if depth == scope.depth) {
            return Ok(());
        }
        let Some(values) = code(cx, self.access.tensor, scope).values else { return Ok(()) };
        let first = position(cx, &self.access, scope.depth.checked_sub(1), scope)?.first();
        let block = match scope.depth {
            0 => count_values(cx, &self.access, scope),
            depth => extent(cx, &self.access, depth, self.access.vars.len(), scope),
        };
        let within = self.apart.map(|apart| cx.b.unary(UnaryOp::Not, apart));
        cx.when_some(within, |cx| clear_block(cx, self.access.tensor, values, first, block));
        Ok(())
    }
}

impl Sink for Dense {
    fn add(&self, cx: &mut Lowerer<'_>, addition: &Addition, scope: &Scope) -> Result<(), Diagnostic> {
        // A copy or a piece is read soon.
        let past = self.past.filter(|_| scope.code(self.access.tensor).is_none());
        let op = if self.once.is_some() { AssignOp::Set } else { addition.op };
        add_to(cx, &Addition { op, key: addition.key.clone(), ..*addition }, past, scope)
    }

    fn is_array(&self) -> bool {
        true
    }

    fn takes_selected(&self) -> bool {
        self.once == Some(Once::Mirrored)
    }

    /// Sets the values under a strip to the fill value, if it is a strip whose loop does so: they are in the cache then when
    /// something is added to them.
    fn enter_strip(&self, cx: &mut Lowerer<'_>, leaf: VarId, number: ExprId, scope: &Scope) -> Result<(), Diagnostic> {
        let Clearing::Strips { leaf: own, of, size } = self.clearing else { return Ok(()) };
        let values = code(cx, self.access.tensor, scope).values.filter(|_| own == leaf);
        let Some(values) = values else { return Ok(()) };
        let Position::One(parent) = position(cx, &self.access, scope.depth.checked_sub(1), scope)? else {
            return Err(Diagnostic::internal("a dense result under repeated coordinates"));
        };
        let whole = cx.size(of);
        let size = constant(&mut cx.b, size);
        let low = cx.b.mul(number, size);
        let rest = cx.b.sub(whole, low);
        let len = cx.b.binary(BinaryOp::Min, size, rest);
        let high = cx.b.add(low, len);
        let first = cx.b.mul(parent, whole);
        let block = extent(cx, &self.access, scope.depth + 1, self.access.vars.len(), scope);
        let (begin, end) = (cx.b.add(first, low), cx.b.add(first, high));
        let (begin, end) = (cx.b.mul(begin, block), cx.b.mul(end, block));
        let value = cleared_value(cx, self.access.tensor);
        cx.fill(values, (begin, end), value);
        Ok(())
    }

    fn before(
        &self,
        cx: &mut Lowerer<'_>,
        _var: VarId,
        _body: &Stmt,
        scope: &Scope,
    ) -> Result<(Checkpoint, Scope), Diagnostic> {
        self.clear(cx, scope)?;
        Ok((Checkpoint::default(), scope.clone()))
    }
}

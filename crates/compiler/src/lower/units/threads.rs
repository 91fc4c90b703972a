//! Loops that threads share: the iterations of a loop with the tag `parallelize(.., cpu, ..)` are cut into chunks.
//!
//! ```text
//! chunks = the work of the kernel / what is worth a thread's while, at most a few for each thread
//! for c in 0 .. chunks parallel {
//!   the loop, over its values number n * c / chunks up to n * (c + 1) / chunks
//! }
//! ```
//!
//! The pool gives each thread the same chunks first at every run, so that it finds their operands in its cache. Workspaces with arrays
//! that live inside the loop, but for small ones, belong to threads, not to chunks: their contents are taken back behind each of their uses,
//! so that the next chunk finds them as the first one did.
//!
//! ```text
//! for worker in 0 .. min(threads, chunks) parallel {
//!   c = take(next)
//!   if c < chunks {
//!     workspaces that live inside the loop
//!     while c < chunks { the loop over the values of chunk c;  c = take(next) }
//!   }
//! }
//! ```
//!
//! On entry: the schedule has the strategy for chunks that add to one place; [`copies`], [`carried`] and [`atomic`] combine their
//! additions. There are only as many chunks as the work is worth copies. A single chunk adds to the tensor itself, and so does the first of
//! several if the tensor is an array. The outermost loop assembles a sparse result in pieces ([`piece`]), or in the arrays of the whole if
//! operands tell the place of each piece ([`exact`]). Values for a given pattern find their place in it ([`placed`]).
//!
//! A loop may compute only variables that reach a value which nothing changes any more (`or`, `any`). Then a chunk that has
//! reached it raises a flag, and chunks that begin after that do nothing:
//!
//! ```text
//! for chunk parallel { t = false;  if !raised(done) { the loop, which is left when t is true };  if t { done |= true } }
//! ```
//!
//! In a `strict` kernel, the number of chunks does not depend on the number of threads: sums are then formed in the same order for
//! any number of threads.
//!
//! Paper: Senanayake et al. 2020, §5.1.

use lacunar_base::Diagnostic;
use lacunar_formats::DType;
use lacunar_imp::{ArrayId, BinaryOp, CompareOp, ExprId, LoopKind, UnaryOp};
use lacunar_notation::concrete::{Kernel, Stmt};
use lacunar_notation::schedule::{Race, Unit};
use lacunar_notation::{Role, TensorId, VarId, WorkspaceKind};

use super::balance::has_rows_of_others;
use super::chunks::{Cuts, shares};
use super::ends;
use crate::iterate::iterators::result_of;
use crate::iterate::races::{filled_inside, written_together};
use crate::lower::derive::{first_below, range};
use crate::lower::nest::leaf_loop;
use crate::lower::room::with_room;
use crate::lower::scope::{Fact, Interval, Scope};
use crate::lower::sinks::carried::Room;
use crate::lower::sinks::copies::{Copies, Extent, Shares};
use crate::lower::sinks::{Append, atomic, carried, copies, exact, finish_result, given, piece, placed, workspace};
use crate::lower::storage::code;
use crate::lower::{INDEX, Lowerer, Phase};

/// The number of threads that a strict kernel counts on, whatever the actual number is.
pub(in crate::lower) const STRICT_THREADS: i64 = 8;

/// The treatment of races in the loop over a leaf, if the schedule says that threads share it.
pub(in crate::lower) fn race(kernel: &Kernel, var: VarId) -> Option<Race> {
    match kernel.provenance.parallel(var) {
        Some((Unit::CpuThread, race)) => Some(race),
        _ => None,
    }
}

/// True if some loop that threads were to share appends to the result in a way that they cannot: inside other loops, or where its
/// pattern is given and does not tell their places.
pub(in crate::lower) fn must_be_serial(kernel: &Kernel, phase: Phase) -> bool {
    let Some(access) = result_of(kernel) else { return false };
    if kernel.tensors[access.tensor].format.is_dense() {
        return false;
    }
    let in_pieces = phase.assembles().then(|| given::cut_by(kernel)).flatten().or(given::placed_by(kernel, phase));
    match &kernel.stmt {
        Stmt::Forall(var, _) if in_pieces == Some(*var) => false,
        stmt => writes_in_shared_loop(kernel, stmt, access.tensor),
    }
}

fn writes_in_shared_loop(kernel: &Kernel, stmt: &Stmt, tensor: TensorId) -> bool {
    match stmt {
        Stmt::Assign(_) => false,
        Stmt::Forall(var, body) if race(kernel, *var).is_some() => body.writes().contains(&tensor),
        Stmt::Forall(_, body) => writes_in_shared_loop(kernel, body, tensor),
        Stmt::Sequence(stmts) => stmts.iter().any(|stmt| writes_in_shared_loop(kernel, stmt, tensor)),
        Stmt::Where { consumer, producer } => {
            writes_in_shared_loop(kernel, consumer, tensor) || writes_in_shared_loop(kernel, producer, tensor)
        }
    }
}

/// The way in which the chunks of a loop combine their sums.
struct ChunkSums {
    copies: Vec<Copies>,
    /// True if the first chunk adds to the tensors themselves.
    first_adds: bool,
    carried: Option<Room>,
    /// The flag of chunks that leave others nothing to do.
    done: Option<ArrayId>,
}

/// The loop over a leaf, shared by threads.
pub(in crate::lower) fn parallel_loop(
    cx: &mut Lowerer<'_>,
    var: VarId,
    race: Race,
    body: &Stmt,
    scope: &Scope,
) -> Result<(), Diagnostic> {
    let outside = scope;
    let mut scope = scope.clone();
    scope.start(cx.kernel.provenance.originals(var));
    let interval = range(cx, var, &mut scope)?;
    let mut added = written_together(cx.kernel, var, body);
    // A dense result that is only assembled has no values to add to.
    added
        .retain(|tensor| cx.kernel.tensors[*tensor].role != Role::Result || code(cx, *tensor, &scope).values.is_some());
    let is_atomic = race == Race::Atomics;
    let depth = |tensor: &TensorId| carried::depth_of(cx, var, body, *tensor).map(|depth| (*tensor, depth));
    let carries = added.iter().find_map(depth).filter(|_| !is_atomic && added.len() == 1);
    let copied: &[TensorId] = match race {
        Race::Atomics | Race::None | Race::Ignore => &[],
        _ if carries.is_some() => &[],
        _ => &added,
    };
    let mut chunks = shares(cx, var, interval, body, !copied.is_empty(), &scope, "chunks");
    let all = copied.iter().map(|tensor| copies::extent_of(cx, *tensor, &scope));
    let extents = all.collect::<Result<Vec<Extent>, _>>()?;
    let arrays: Vec<&Extent> = extents.iter().filter(|extent| !extent.is_variable(cx, &scope)).collect();
    if !arrays.is_empty() {
        for extent in &arrays {
            chunks = copies::worth_copying(cx, chunks, extent, &scope);
        }
        chunks = cx.b.define("copied_chunks", chunks);
    }
    let first_adds = !arrays.is_empty() && copies::first_adds(cx, &extents, &scope);
    let shares = Shares { chunks, var, first_adds };
    let shared = |cx: &mut Lowerer<'_>| {
        let copies = extents.iter().map(|extent| copies::declare(cx, extent, shares, &scope)).collect();
        let carried = carries.map(|(tensor, depth)| carried::declare(cx, tensor, depth, chunks, &scope));
        let done = done_flag(cx, &added, copied, body);
        let sums = ChunkSums { copies, first_adds, carried, done };
        let mut inside = scope.clone();
        if is_atomic {
            added.iter().for_each(|tensor| atomic::begin(*tensor, &mut inside));
        }
        let cuts = Cuts::new(cx, var, interval, chunks, body, &inside);
        in_chunks(cx, var, &cuts, &inside, |cx, number, share, scope| {
            chunk(cx, var, (number, share), body, &sums, scope)
        })?;
        for of in &sums.copies {
            let one = cx.b.int(1);
            let is_some = first_adds.then(|| cx.b.compare(CompareOp::Gt, chunks, one));
            cx.when_some(is_some, |cx| copies::add_up(cx, of, shares, &scope))?;
        }
        match sums.carried {
            Some(room) => carried::add_up(cx, room, chunks, &scope),
            None => Ok(()),
        }
    };
    if arrays.is_empty() || first_adds {
        let how = if first_adds { ", each chunk but the first with copies of its own" } else { "" };
        cx.say(outside, &format!("{}: threads{how}", cx.var_name(var)));
        return shared(cx);
    }
    cx.say(outside, &format!("{}: one chunk, where copies are not worth their work", cx.var_name(var)));
    let one = cx.b.int(1);
    let is_alone = cx.b.compare(CompareOp::Le, chunks, one);
    let (alone, outcome) = cx.block(|cx| {
        with_room(cx, &scope.with(Fact::Shared), |cx, scope| {
            let scope = workspace::declare(cx, Some(var), scope);
            leaf_loop(cx, var, interval, body, &scope)
        })
    });
    outcome?;
    cx.say(outside, &format!("{}: threads, each chunk with copies of its own", cx.var_name(var)));
    let (together, outcome) = cx.block(shared);
    outcome?;
    cx.branch(is_alone, alone, together);
    Ok(())
}

/// The body of one chunk.
fn chunk(
    cx: &mut Lowerer<'_>,
    var: VarId,
    (number, share): (ExprId, Interval),
    body: &Stmt,
    sums: &ChunkSums,
    scope: &Scope,
) -> Result<(), Diagnostic> {
    let mut scope = scope.clone();
    if sums.first_adds {
        let (zero, one) = (cx.b.int(0), cx.b.int(1));
        let (own, outcome) = cx.block(|cx| leaf_loop(cx, var, share, body, &scope));
        outcome?;
        let (copied, outcome) = cx.block(|cx| {
            let copy = cx.b.sub(number, one);
            sums.copies.iter().for_each(|of| copies::begin(cx, of, (copy, share.0), &mut scope));
            leaf_loop(cx, var, share, body, &scope)
        });
        outcome?;
        let is_first = cx.b.compare(CompareOp::Eq, number, zero);
        cx.branch(is_first, own, copied);
        return Ok(());
    }
    for of in &sums.copies {
        copies::begin(cx, of, (number, share.0), &mut scope);
    }
    if let Some(room) = sums.carried {
        carried::begin(cx, room, number, var, share, &mut scope)?;
    }
    match sums.done {
        Some(done) => {
            let raised = cx.b.raised(done);
            let goes_on = cx.b.unary(UnaryOp::Not, raised);
            cx.when(goes_on, |cx| leaf_loop(cx, var, share, body, &scope))?;
        }
        None => leaf_loop(cx, var, share, body, &scope)?,
    }
    for of in &sums.copies {
        copies::end(cx, of, number, &scope);
    }
    let conditions: Vec<ExprId> = match sums.done {
        Some(_) => sums.copies.iter().filter_map(|of| copies::is_done(cx, of, &scope)).collect(),
        None => Vec::new(),
    };
    let all = conditions.into_iter().reduce(|a, b| cx.b.and(a, b));
    if let (Some(done), Some(all)) = (sums.done, all) {
        let (zero, yes) = (cx.b.int(0), cx.b.bool(true));
        cx.b.if_then(all, |b| b.atomic(done, zero, BinaryOp::Or, yes));
    }
    Ok(())
}

/// A flag for chunks to raise that leave others nothing to do, if there are such: the loop does nothing but give values to `added`,
/// which chunks have copies of, and all come to a value that nothing changes any more.
fn done_flag(cx: &mut Lowerer<'_>, added: &[TensorId], copied: &[TensorId], body: &Stmt) -> Option<ArrayId> {
    let own = filled_inside(body);
    let alone = body.writes().into_iter().all(|tensor| added.contains(&tensor) || own.contains(&tensor));
    let may_be = !added.is_empty() && added == copied && added.iter().all(|tensor| copies::may_be_done(cx, *tensor));
    if !alone || !may_be {
        return None;
    }
    let names: Vec<String> = added.iter().map(|tensor| format!("`{}`", cx.name(*tensor))).collect();
    cx.note(format!("chunks are passed over once nothing changes {} any more", names.join(" and ")));
    let done = cx.b.local_array("done", DType::Bool);
    let one = cx.b.int(1);
    cx.b.alloc(done, one, true);
    Some(done)
}

/// True if the loop over a leaf, the outermost of the kernel, assembles the result in pieces.
pub(in crate::lower) fn assembles_in_pieces(cx: &Lowerer<'_>, var: VarId) -> bool {
    cx.race(var).is_some() && cx.options.phase.assembles() && given::cut_by(cx.kernel) == Some(var)
}

/// The kernel: its outermost loop in chunks, and the result put together from their pieces.
pub(in crate::lower) fn assemble_in_pieces(
    cx: &mut Lowerer<'_>,
    var: VarId,
    body: &Stmt,
    scope: &Scope,
) -> Result<(), Diagnostic> {
    cx.say(scope, &format!("{}: threads, each a piece of the result", cx.var_name(var)));
    let Some(access) = result_of(cx.kernel) else { return Ok(()) };
    let tensor = access.tensor;
    let mut scope = scope.clone();
    scope.start(cx.kernel.provenance.originals(var));
    let interval = range(cx, var, &mut scope)?;
    // If the work is proportional to the stored values, a piece for each thread is enough, and the first need not be copied. Values say how
    // much of a reduction is left that may stop.
    let is_listed = |tensor: TensorId| cx.kernel.tensors[tensor].role != Role::Workspace(WorkspaceKind::Scalar);
    let is_uneven = |tensor: &TensorId| is_listed(*tensor) || copies::may_be_done(cx, *tensor);
    let is_even = !filled_inside(body).iter().any(is_uneven) && !has_rows_of_others(cx.kernel, var, body);
    let copied = exact::with_room(cx, var, body, &access, &scope);
    let is_few = is_even || copied.is_some();
    let shares = shares(cx, var, interval, body, is_few, &scope, if is_few { "chunks" } else { "shares" });
    let cuts = Cuts::new(cx, var, interval, shares, body, &scope);
    let lists = piece::declare(cx, tensor, shares, copied.is_some(), &scope)?;
    let appended = if is_few || cuts.is_ready() {
        in_chunks(cx, var, &cuts, &scope, |cx, number, interval, scope| {
            let mut scope = scope.clone();
            let first = first_below(cx, var, interval.0, &mut scope)?;
            let end = first_below(cx, var, interval.1, &mut scope)?;
            let start = copied.as_ref().and_then(|operands| exact::count_before(cx, &access, operands, first, &scope));
            let len = piece::length(cx, (first, end));
            let len = cx.b.define("part_len", len);
            let own = piece::begin(cx, tensor, (first, len), start, &lists, &scope)?;
            leaf_loop(cx, var, interval, body, &own.scope)?;
            piece::end(cx, number, &own, &lists);
            Ok(own.scope.appended().map(|append| append.groups.clone()))
        })?
    } else {
        ends::in_pieces(cx, var, &cuts, body, (tensor, &lists), &scope)?
    };
    if let Some(groups) = appended {
        piece::collect(cx, &Append { access, groups, stored: None, start: None }, &lists, &scope);
    }
    Ok(())
}

/// The kernel: its outermost loop in chunks, each of which fills the values of its piece of a pattern that is given.
pub(in crate::lower) fn compute_in_pieces(
    cx: &mut Lowerer<'_>,
    var: VarId,
    body: &Stmt,
    scope: &Scope,
) -> Result<(), Diagnostic> {
    cx.say(scope, &format!("{}: threads, each a piece of the pattern", cx.var_name(var)));
    let mut scope = scope.clone();
    scope.start(cx.kernel.provenance.originals(var));
    let interval = range(cx, var, &mut scope)?;
    let chunks = shares(cx, var, interval, body, false, &scope, "chunks");
    let cuts = Cuts::new(cx, var, interval, chunks, body, &scope);
    in_chunks(cx, var, &cuts, &scope, |cx, _, interval, scope| {
        let mut scope = scope.clone();
        let first = first_below(cx, var, interval.0, &mut scope)?;
        let end = first_below(cx, var, interval.1, &mut scope)?;
        let scope = placed::begin(cx, (first, end), &scope)?;
        leaf_loop(cx, var, interval, body, &scope)?;
        finish_result(cx, &scope);
        Ok(())
    })
}

/// `for c in 0 .. chunks parallel`, with the values of the variable that chunk `c` has. If the loop fills workspaces with arrays that are not
/// small, threads take chunks one after the other and keep these.
fn in_chunks<T>(
    cx: &mut Lowerer<'_>,
    var: VarId,
    cuts: &Cuts,
    scope: &Scope,
    build: impl FnOnce(&mut Lowerer<'_>, ExprId, Interval, &Scope) -> Result<T, Diagnostic>,
) -> Result<T, Diagnostic> {
    let one_chunk = |cx: &mut Lowerer<'_>, chunk: ExprId, inside: &Scope| {
        let (begin, end) = (cuts.begin_of(cx, chunk, scope)?, cuts.end_of(cx, chunk, scope)?);
        let share = (cx.b.define("chunk_begin", begin), cx.b.define("chunk_end", end));
        build(cx, chunk, share, inside)
    };
    let inside = scope.with(Fact::Shared);
    if !cuts.is_ready() && workspace::has_arrays(cx, var) {
        return by_workers(cx, var, cuts.shares, &inside, one_chunk);
    }
    let name = if cuts.is_ready() { cx.var_name(var) } else { "chunk" };
    let zero = cx.b.int(0);
    cx.each(LoopKind::Parallel, name, (zero, cuts.shares), |cx, chunk| {
        with_room(cx, &inside, |cx, scope| {
            let scope = workspace::declare(cx, Some(var), scope);
            one_chunk(cx, chunk, &scope)
        })
    })
}

/// Chunks that threads take, each with workspaces that it has made for its first one.
fn by_workers<T>(
    cx: &mut Lowerer<'_>,
    var: VarId,
    chunks: ExprId,
    scope: &Scope,
    build: impl FnOnce(&mut Lowerer<'_>, ExprId, &Scope) -> Result<T, Diagnostic>,
) -> Result<T, Diagnostic> {
    let (zero, one, threads) = (cx.b.int(0), cx.b.int(1), cx.threads());
    let next = cx.b.local_array("next_chunk", INDEX);
    cx.b.alloc(next, one, true);
    let workers = cx.b.binary(BinaryOp::Min, threads, chunks);
    cx.each(LoopKind::Parallel, "worker", (zero, workers), |cx, _| {
        let first = cx.b.take(next);
        let is_any = cx.b.compare(CompareOp::Lt, first, chunks);
        cx.when(is_any, |cx| {
            with_room(cx, scope, |cx, scope| {
                let scope = workspace::declare(cx, Some(var), scope);
                let current = cx.b.declare("current", first);
                let chunk = cx.b.var(current);
                let is_left = cx.b.compare(CompareOp::Lt, chunk, chunks);
                cx.repeat(is_left, |cx| {
                    let chunk = cx.b.define("chunk", chunk);
                    let built = build(cx, chunk, &scope);
                    let taken = cx.b.take(next);
                    cx.b.assign(current, taken);
                    built
                })
            })
        })
    })
}

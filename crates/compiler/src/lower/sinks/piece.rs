//! Pieces of sparse results: each chunk of the outermost loop appends to arrays of its own, and these are put one behind the other.
//!
//! ```text
//! C(i,k): csr                            a chunk has the rows first .. end and counts positions from 0
//! for chunk in 0 .. chunks parallel {
//!   C2_n = 0
//!   for i in first .. end { ..; C2_pos_part[i - first] = C2_n }      as in a serial kernel, but without a leading zero
//!   deposit C2_pos_part, C2_crd_part and C_vals_part as number `chunk` of their lists
//! }
//! C2_pos = 0, then all of C2_pos_parts, each with the numbers of coordinates before it in C2_crd_parts added
//! C2_crd, C_vals = all of C2_crd_parts, all of C_vals_parts
//! ```
//!
//! On entry: the outermost loop is over the variable of the result's first level, or over strips of it, in order, so that
//! pieces follow each other as chunks do. All that the loop fills, workspaces included, is the chunk's own.
//!
//! If operands tell beforehand where each piece begins ([`super::exact`]), pieces are written into the arrays of the whole, but for positions:
//!
//! ```text
//! C(i,j) = A(i,j) * x(j)                 C2_crd and C_vals get room for all; in a chunk, C2_n begins with A2_pos[first]
//! C2_pos = 0, then all of C2_pos_parts
//! ```
//!
//! This takes the place of the counting phase of COMET (Tian et al. 2021, §5) and of taco's assembled inserts: the pattern is found
//! once, at the cost of a copy of all pieces but the first. (In the IR, a list of arrays has the role `Parts`.)

use std::rc::Rc;

use lacunar_base::Diagnostic;
use lacunar_formats::Holds;
use lacunar_imp::{ArrayId, BinaryOp, ExprId};
use lacunar_notation::TensorId;

use super::append::{Append, Group};
use super::checks::fail_unless_fits;
use super::{Sink, begin_result};
use crate::iterate::iterators::{level_var, result_of};
use crate::levels::{self, level_code};
use crate::lower::scope::{Fact, Interval, Scope};
use crate::lower::storage::{code, extent};
use crate::lower::{Lowerer, TensorCode};

/// The outermost coordinates of a result that a chunk assembles.
#[derive(Clone, Copy, Debug)]
pub(in crate::lower) struct Slab {
    pub tensor: TensorId,
    /// The first coordinate of its first level, where that is dense.
    pub first: ExprId,
    /// The number of coordinates of its first level, where that is dense.
    pub len: ExprId,
    /// The position of the whole result that it begins with, if that is known.
    pub start: Option<ExprId>,
}

/// The lists that the arrays of all pieces of a result are deposited in.
pub(in crate::lower) struct Lists {
    /// By level, and by its array.
    levels: Vec<Vec<(levels::Part, ArrayId)>>,
    values: Option<ArrayId>,
    /// True if the place of each piece is known: only positions, which are those of the whole, have lists.
    is_placed: bool,
}

/// Makes room for so many values of a matrix of compressed rows, into which pieces are written whose places are known.
pub(super) fn make_room(cx: &mut Lowerer<'_>, tensor: TensorId, total: ExprId, scope: &Scope) {
    let own = code(cx, tensor, scope);
    fail_unless_fits(cx, tensor, 1, total);
    own.levels[1].append_reserve(&mut cx.b, total);
    if let Some(values) = own.values {
        let one = cx.b.int(1);
        cx.b.grow(values, total, one, false);
    }
}

/// Makes the lists for the pieces of a result, whose places may be known.
pub(in crate::lower) fn declare(
    cx: &mut Lowerer<'_>,
    tensor: TensorId,
    chunks: ExprId,
    is_placed: bool,
    scope: &Scope,
) -> Result<Lists, Diagnostic> {
    let info = &cx.kernel.tensors[tensor];
    let whole = code(cx, tensor, scope);
    let has_values = whole.values.is_some() && !is_placed;
    let b = &mut cx.b;
    let mut levels = Vec::new();
    for (level, kind) in info.format.levels().iter().enumerate() {
        let mut lists = Vec::new();
        let zero = b.int(0);
        level_code(info, level, zero, true, &mut |part, name, dtype| {
            if let Some(array) = whole.levels[level].array(part).filter(|_| is_placed && part.holds != Holds::Positions)
            {
                return array;
            }
            let list = b.parts_array(&format!("{name}_parts"), dtype);
            b.alloc(list, chunks, false);
            lists.push((part, list));
            list
        });
        debug_assert!(is_placed || lists.len() == kind.kind.info().parts.len());
        levels.push(lists);
    }
    let values = has_values.then(|| {
        let list = b.parts_array(&format!("{}_vals_parts", info.name), info.dtype);
        b.alloc(list, chunks, false);
        list
    });
    Ok(Lists { levels, values, is_placed })
}

/// A chunk's piece of the result while it is assembled.
pub(in crate::lower) struct Own {
    /// The scope in which the loop of the chunk is lowered.
    pub scope: Scope,
    /// By level, its arrays, as far as there are lists for them.
    arrays: Vec<Vec<ArrayId>>,
}

/// The number of coordinates from `first` to `end`, which may lie before it.
pub(in crate::lower) fn length(cx: &mut Lowerer<'_>, (first, end): Interval) -> ExprId {
    let (len, zero) = (cx.b.sub(end, first), cx.b.int(0));
    cx.b.binary(BinaryOp::Max, len, zero)
}

/// Makes the piece of a chunk ready that has `len` coordinates of the first level from `first` on: arrays of its own, to which it appends, or,
/// if it is known with which position of the whole it starts, those of the whole. `len` may be a variable which says how many there are at most,
/// and how many there are when the piece ends.
pub(in crate::lower) fn begin(
    cx: &mut Lowerer<'_>,
    tensor: TensorId,
    (first, len): (ExprId, ExprId),
    start: Option<ExprId>,
    lists: &Lists,
    scope: &Scope,
) -> Result<Own, Diagnostic> {
    let info = &cx.kernel.tensors[tensor];
    let first = cx.b.define("part_first", first);
    let whole = code(cx, tensor, scope);
    let start = start.map(|start| cx.b.define("part_start", start));
    let mut scope = scope.with(Fact::Slab(Slab { tensor, first, len, start }));
    let mut own = TensorCode::default();
    let mut all = Vec::new();
    let result = result_of(cx.kernel).filter(|access| access.tensor == tensor);
    let access = result.ok_or_else(|| Diagnostic::internal("pieces of what is no result"))?;
    for level in 0..info.order() {
        let size = cx.size(level_var(cx.kernel, &access, level));
        let mut arrays = Vec::new();
        let b = &mut cx.b;
        let code = level_code(info, level, size, false, &mut |part, name, dtype| {
            let placed = whole.levels[level].array(part).filter(|_| lists.is_placed && part.holds != Holds::Positions);
            if let Some(array) = placed {
                return array;
            }
            let array = b.local_array(&format!("{name}_part"), dtype);
            arrays.push(array);
            array
        });
        own.levels.push(code);
        all.push(arrays);
    }
    own.values = match lists.values {
        Some(_) => Some(cx.b.local_array(&format!("{}_vals_part", info.name), info.dtype)),
        None => whole.values,
    };
    scope.know(Fact::Code(tensor, Rc::new(own)));
    Ok(Own { scope: begin_result(cx, &scope)?, arrays: all })
}

/// Ends the piece of a chunk: its arrays go to the lists.
pub(in crate::lower) fn end(cx: &mut Lowerer<'_>, chunk: ExprId, own: &Own, lists: &Lists) {
    let scope = &own.scope;
    let Some(append) = scope.appended() else { return };
    append.finish(cx, scope);
    let code = code(cx, append.access.tensor, scope);
    for (number, group) in append.groups.iter().enumerate() {
        let count = cx.b.var(group.counter);
        let parents = append.parents(cx, number, scope);
        let levels = own.arrays.iter().zip(&lists.levels).enumerate();
        for (level, (arrays, lists)) in levels.skip(group.head).take(group.tail + 1 - group.head) {
            for (&array, &(part, list)) in arrays.iter().zip(lists) {
                // The first level's segment ends with the whole result.
                let length = code.levels[level].part_length(&mut cx.b, part, parents, count);
                if let Some(length) = length.filter(|_| level > 0 || part.holds != Holds::Positions) {
                    cx.b.deposit(list, chunk, array, length);
                }
            }
        }
        let is_innermost = number + 1 == append.groups.len();
        if let (true, Some(list), Some(array)) = (is_innermost, lists.values, code.values) {
            let block = append.block(cx, *group, scope);
            let len = cx.b.mul(count, block);
            cx.b.deposit(list, chunk, array, len);
        }
    }
}

/// Puts all pieces one behind the other. `append` is how any chunk appended.
pub(in crate::lower) fn collect(cx: &mut Lowerer<'_>, append: &Append, lists: &Lists, scope: &Scope) {
    // The number of positions of the group above, and its tail.
    let mut above: Option<(ExprId, usize)> = None;
    for group in &append.groups {
        let total = collect_group(cx, append, *group, above, lists, scope);
        above = Some((total, group.tail));
    }
    let tensor = append.access.tensor;
    if let (Some(values), Some(list)) = (code(cx, tensor, scope).values, lists.values) {
        let zero = cx.b.int(0);
        cx.b.collect("stored_vals", values, zero, list, None);
    }
}

/// Collects the arrays of a group's levels; gives its number of positions in all pieces together.
fn collect_group(
    cx: &mut Lowerer<'_>,
    append: &Append,
    group: Group,
    above: Option<(ExprId, usize)>,
    lists: &Lists,
    scope: &Scope,
) -> ExprId {
    let tensor = append.access.tensor;
    let own = code(cx, tensor, scope);
    let (zero, one) = (cx.b.int(0), cx.b.int(1));
    let list = |level: usize, wanted: levels::Part| {
        lists.levels[level].iter().find(|(part, _)| *part == wanted).map(|(_, list)| *list)
    };
    let coordinates = list(group.head, levels::Part::COORDINATES);
    let positions = list(group.head, levels::Part::POSITIONS);
    let pos = own.levels[group.head].array(levels::Part::POSITIONS);
    if let (Some(pos), Some(positions)) = (pos, positions) {
        let edges = if group.head == 0 { cx.b.int(2) } else { one };
        cx.b.grow(pos, edges, one, false);
        cx.b.store_index(pos, zero, zero);
        if group.head > 0 {
            cx.b.collect("edges", pos, one, positions, coordinates);
        }
    }
    let mut total = zero;
    for level in group.head..=group.tail {
        let crd = own.levels[level].array(levels::Part::COORDINATES);
        if let (Some(crd), Some(coordinates)) = (crd, list(level, levels::Part::COORDINATES)) {
            total = cx.b.collect("stored", crd, zero, coordinates, None);
        }
    }
    let words = lists.levels[group.head].iter().find(|(part, _)| part.holds == Holds::Words);
    if let Some(&(part, list)) = words {
        let parents = extent(cx, &append.access, above.map_or(0, |(_, tail)| tail + 1), group.head, scope);
        let parents = above.map_or(parents, |(count, _)| cx.b.mul(count, parents));
        if let Some(array) = own.levels[group.head].array(part) {
            cx.b.collect("words", array, zero, list, None);
        }
        own.levels[group.head].append_finish(&mut cx.b, parents, zero, true);
        total = own.levels[group.head].count_positions(&mut cx.b, parents, zero);
    }
    fail_unless_fits(cx, tensor, group.head, total);
    if let (0, Some(pos)) = (group.head, pos) {
        cx.b.store_index(pos, one, total);
    }
    total
}

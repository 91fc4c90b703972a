//! The cost model: the number of iterations that the loops of a statement make, in a given order.
//!
//! Each nest (the statement itself, and the producer of each sum) costs the iterations of all its loops. The iterators
//! that restrict a loop give its number of iterations: the least number of coordinates among factors, the sum of those
//! of summands, the size of the dimension if nothing restricts it. The average segment of a level is the ratio of the
//! numbers of positions of the level and of the one above.
//!
//! Weights are in units of one scalar iteration, from measurements on x86 with AVX-512. An innermost dense loop over contiguous
//! operands runs in vectors. An operand walked across its storage order misses the cache. A value that is scattered into a
//! workspace costs a few iterations, into a sorted one a good many. A converted value costs its share of a sort. To these come the
//! cache lines of dense tensors that a nest brings in ([`super::traffic`]).
//!
//! ```text
//! C(i,k) = A(i,j) * B(j,k), all CSR, n rows, 16 a row:
//!   i, j, k   n + 16n + 256n (marked workspace)        i, k, j   n + n*n + ...   (B converted)
//! ```

use std::collections::BTreeMap;

use lacunar_formats::Format;
use lacunar_formats::schema::{Extent, FieldKind, Node, Schema};
use lacunar_notation::concrete::{Assign, Kernel};
use lacunar_notation::{Access, AssignOp, Equation, Expr, ExprKind, Indicator, TensorId, VarId};

use super::combined::{Combined, Met, Part, Sum, Visits};
use super::storage::{appends_in, discordant, is_sparse, is_walked_in_order};
use super::traffic::{self, Memory, Trip};
use crate::algebra::{Support, preserves_fill, without};
use crate::concretize::{fits_registers, is_in_block, turn};
use crate::iterate::iterators::AccessKey;

/// Size of a dimension that is not known.
const UNKNOWN_SIZE: f64 = 1000.0;
/// Values per coordinate of the largest dimension of a sparse tensor whose number of values is not known.
const UNKNOWN_SEGMENT: f64 = 8.0;
/// Work of one converted value. (Emerald Rapids, CSR to CSC: 4 to 6 nanoseconds of one thread.)
pub(super) const CONVERSION: f64 = 24.0;
/// Work of one value put into a marked, and into a sorted workspace.
const MARKED: f64 = 4.0;
const SORTED: f64 = 40.0;
/// Work of one coordinate in a merge of two lists: a comparison, and a branch that the processor mispredicts.
const MERGED: f64 = 3.0;
/// Work of an innermost iteration in a vector loop, and of a strided or gathered operand in it.
const VECTOR: f64 = 0.25;
const CONTIGUOUS: f64 = 0.12;
const STRIDED: f64 = 2.0;
/// Work of an operation in an innermost iteration, in a vector loop.
const OPERATION: f64 = 0.03;
const GATHERED: f64 = 0.5;
/// Work of going from one node to the next, and the elements of a node that may have any number.
const FROM_NODE_TO_NODE: f64 = 2.0;
const UNBOUNDED: f64 = 64.0;
/// Work of loops that come to the places of a block, or to those of a diagonal, one at a time instead of one after the other.
const DISORDERED: f64 = 8.0;

/// The cost of evaluating `lhs = rhs` with loops in an order.
pub(super) fn cost(kernel: &Kernel, lhs: &Access, rhs: &Expr, order: &[VarId], memory: Memory) -> f64 {
    Costs::new(kernel, lhs, rhs, memory).of(order)
}

/// The costs of evaluating `lhs = rhs` with loops in different orders.
pub(super) struct Costs<'a> {
    kernel: &'a Kernel,
    lhs: &'a Access,
    memory: Memory,
    /// The whole right-hand side: it restricts the loops around a producer.
    root: Part<'a>,
    /// True if there is nothing to do where no operand of it is stored.
    preserves_fill: bool,
    /// The number of positions of each level of an operand in its own format.
    positions: BTreeMap<TensorId, Vec<f64>>,
}

impl<'a> Costs<'a> {
    pub fn new(kernel: &'a Kernel, lhs: &'a Access, rhs: &'a Expr, memory: Memory) -> Costs<'a> {
        let whole = Assign { lhs: lhs.clone(), op: AssignOp::Set, rhs: rhs.clone() };
        let preserves_fill = preserves_fill(&kernel.tensors, &whole);
        let root = Part::of(kernel, rhs, Visits::Stored { left_out: preserves_fill });
        let of = |access: &AccessKey| {
            let tensor = access.tensor;
            (tensor, positions(kernel, tensor, &kernel.tensors[tensor].format))
        };
        let positions = root.accesses.iter().map(of).collect();
        Costs { kernel, lhs, memory, root, preserves_fill, positions }
    }

    /// The cost with loops in this order.
    pub fn of(&self, order: &[VarId]) -> f64 {
        let Costs { kernel, lhs, root, .. } = self;
        let converted = discordant(kernel, lhs, root.expr, order).into_iter();
        let converted = converted.map(|(access, format)| {
            let positions = positions(kernel, access.tensor, &format);
            (access, format, positions)
        });
        let model = Model { costs: self, order, converted: converted.collect() };
        let conversion = |(access, _, positions): &(AccessKey, Format, Vec<f64>)| {
            if kernel.tensors[access.tensor].is_in_any_order() {
                return 0.0;
            }
            values(kernel, access.tensor) * CONVERSION + positions[0]
        };
        let mut total: f64 = model.converted.iter().map(conversion).sum();
        let format = &kernel.tensors[lhs.tensor].format;
        let (sums, drained) = model.sums(root, &lhs.vars, true);
        // The values of a scattered sum are visited where they are, and the rest of the statement by loops of its own.
        let (own, values) = match model.first_scattered() {
            None => model.nest(root, &lhs.vars, true, None),
            Some(first) => {
                let outer: Vec<VarId> = lhs.vars.iter().copied().filter(|var| turn(order, *var) < first).collect();
                let around = model.nest(root, &outer, false, None).0;
                let rest = model.without_scattered();
                let rest = match rest.is_absent() {
                    true => (0.0, 0.0),
                    false => model.nest(&Part::of(kernel, &rest, root.visits), &lhs.vars, true, None),
                };
                (around + drained + rest.0, drained + rest.1)
            }
        };
        total += own;
        if !appends_in(format, lhs, order) {
            total += values * CONVERSION;
        }
        let disordered = root.accesses.iter().any(|access| !is_walked_in_order(kernel, access, order));
        (total + sums) * if disordered { DISORDERED } else { 1.0 }
    }
}

/// The costs in one order.
struct Model<'a> {
    costs: &'a Costs<'a>,
    order: &'a [VarId],
    /// Operands that this order demands in another format than theirs, with the number of positions of each level.
    converted: Vec<(AccessKey, Format, Vec<f64>)>,
}

fn size(kernel: &Kernel, var: VarId) -> f64 {
    kernel.vars[var].size.map_or(UNKNOWN_SIZE, |size| size as f64)
}

/// The number of stored values of a tensor, known or guessed.
fn values(kernel: &Kernel, tensor: TensorId) -> f64 {
    let info = &kernel.tensors[tensor];
    if let Some(nnz) = info.nnz {
        return nnz as f64;
    }
    if let Some(count) = info.packed_count() {
        return count as f64;
    }
    if let Some(Indicator::Gather(_)) = info.indicator.as_deref() {
        let sizes = info.dims.iter().map(|size| size.map_or(UNKNOWN_SIZE, |size| size as f64));
        return sizes.take(info.order() - 1).product::<f64>();
    }
    if let Some(indicator) = info.indicator.as_deref() {
        let sizes = info.dims.iter().map(|size| size.map_or(UNKNOWN_SIZE, |size| size as f64));
        let halved = matches!(indicator, Indicator::Inequality(_));
        return sizes.clone().product::<f64>() / if halved { 2.0 } else { sizes.fold(1.0, f64::max) };
    }
    // Under each coordinate of the last sparse level, dense levels store every coordinate.
    let levels = info.format.levels();
    let full = levels.iter().rev().take_while(|level| level.properties().full).count();
    let size = |&mode: &usize| info.dims[mode].map_or(UNKNOWN_SIZE, |size| size as f64);
    let (outer, inner) = info.format.mode_order().split_at(levels.len() - full);
    let coordinates = outer.iter().map(size).reduce(f64::max).map_or(1.0, |most| most * UNKNOWN_SEGMENT);
    coordinates * inner.iter().map(size).product::<f64>()
}

/// The number of positions of each level of a tensor in a format.
fn positions(kernel: &Kernel, tensor: TensorId, format: &Format) -> Vec<f64> {
    let info = &kernel.tensors[tensor];
    // The sizes tell the number of positions of a packed level.
    let packed = format.packing().filter(|_| !format.is_dense()).and_then(|packing| {
        let dims: Vec<u64> = info.dims.iter().copied().collect::<Option<_>>()?;
        (0..format.order()).map(|level| Some(packing.positions(&dims, level)? as f64)).collect::<Option<Vec<f64>>>()
    });
    if let Some(counts) = packed {
        return counts;
    }
    if let Some(Indicator::Equation(equation)) = info.indicator.as_deref() {
        return solvable(kernel, tensor, equation, format);
    }
    let values = values(kernel, tensor);
    let mut positions = 1.0;
    let mut counts = Vec::with_capacity(format.order());
    for (level, &mode) in format.levels().iter().zip(format.mode_order()) {
        let size = info.dims[mode].map_or(UNKNOWN_SIZE, |size| size as f64);
        positions *= size;
        if !level.properties().full {
            positions = f64::min(positions, values);
        }
        counts.push(positions);
    }
    if counts.is_empty() { vec![1.0] } else { counts }
}

/// The number of positions of each level of an equation: of the coordinates so far that the others can solve it for. Sums of a
/// term with others have about one value in the range of the largest term, which the range of the other side has to meet.
///
/// ```text
/// d == 1000 i + k, 3 x 2     i, k, d: 3, 6, 6      d, i, k: 2002 (all between the first and the last), 12, 6
/// ```
fn solvable(kernel: &Kernel, tensor: TensorId, equation: &Equation, format: &Format) -> Vec<f64> {
    let size = |mode: usize| kernel.tensors[tensor].dims[mode].map_or(UNKNOWN_SIZE, |size| size as f64);
    let range = |mode: &usize| equation.factors[*mode].unsigned_abs() as f64 * (size(*mode) - 1.0).max(0.0);
    let modes = format.mode_order();
    let count = |level: usize| {
        let (bound, open) = modes.split_at(level + 1);
        if open.is_empty() {
            return values(kernel, tensor);
        }
        let (largest, other) = (bound.iter().map(range).fold(0.0, f64::max), open.iter().map(range).sum::<f64>());
        bound.iter().map(|mode| size(*mode)).product::<f64>() * ((other + 1.0) / (largest + 1.0)).min(1.0)
    };
    (0..modes.len()).map(count).collect()
}

impl Model<'_> {
    fn kernel(&self) -> &Kernel {
        self.costs.kernel
    }

    fn size(&self, var: VarId) -> f64 {
        size(self.kernel(), var)
    }

    /// The format in which an access is iterated, and the number of positions of each level.
    fn format(&self, access: &Access) -> (&Format, &[f64]) {
        let is_own =
            |(key, ..): &&(AccessKey, Format, Vec<f64>)| key.tensor == access.tensor && key.vars == access.vars;
        match self.converted.iter().find(is_own) {
            Some((_, format, positions)) => (format, positions),
            None => (&self.kernel().tensors[access.tensor].format, &self.costs.positions[&access.tensor]),
        }
    }

    /// The average number of coordinates of `var` that an access leaves if the variables `bound` have values; `None` if it does not
    /// restrict `var`. A level under one that is not bound is met anywhere.
    fn segment(&self, access: &Access, var: VarId, bound: &[VarId]) -> Option<f64> {
        let (format, counts) = self.format(access);
        let level = format.mode_order().iter().position(|&mode| access.vars[mode] == var)?;
        if format.levels()[level].properties().full {
            return None;
        }
        if !format.mode_order()[..level].iter().all(|&mode| bound.contains(&access.vars[mode])) {
            return Some(self.size(var).min(values(self.kernel(), access.tensor)));
        }
        let above = level.checked_sub(1).map_or(1.0, |above| counts[above]);
        Some((counts[level] / above.max(1.0)).min(self.size(var)))
    }

    /// The work of going to the next of an access's coordinates of `var`. From node to node it takes about two iterations more, which
    /// the elements of a node share.
    fn visit(&self, access: &Access, var: VarId) -> f64 {
        let (format, _) = self.format(access);
        let level = format.mode_order().iter().position(|&mode| access.vars[mode] == var);
        let schema = level.and_then(|level| format.levels()[level].kind.schema());
        schema.map_or(1.0, |schema| 1.0 + FROM_NODE_TO_NODE / most_elements(schema))
    }

    /// The number of iterations that an expression leaves a loop over `var`, and the number of coordinates that are looked at.
    /// Operands with fill values other than 0 restrict it if these are `left_out`.
    fn trip(&self, expr: &Combined<'_>, left_out: bool, var: VarId, bound: &[VarId]) -> Option<(f64, f64)> {
        match expr {
            Combined::Number => None,
            Combined::Access(access) if !left_out && !self.kernel().tensors[access.tensor].fill().is_zero() => None,
            Combined::Access(access) => {
                self.segment(access, var, bound).map(|segment| (segment, segment * self.visit(access, var)))
            }
            Combined::Same(a) => self.trip(a, left_out, var, bound),
            Combined::Pair(support, met, operands) => {
                let (a, b) =
                    (self.trip(&operands[0], left_out, var, bound), self.trip(&operands[1], left_out, var, bound));
                match (support, a, b) {
                    (Support::Intersection, Some(a), Some(b)) => {
                        let looked_at = match met {
                            Met::Left => a.1,
                            Met::Right => b.1,
                            Met::Both => (a.1 + b.1) * MERGED,
                        };
                        Some((a.0.min(b.0), looked_at))
                    }
                    (Support::Intersection, one, None) | (Support::Intersection, None, one) => one,
                    (Support::Left, one, _) | (Support::Right, _, one) => one,
                    (Support::Union, Some(a), Some(b)) => {
                        let together = (a.0 + b.0).min(self.size(var));
                        let in_pieces = operands.iter().all(|operand| self.is_interval(operand, var));
                        Some((together, if in_pieces { together } else { a.1 + b.1 }))
                    }
                    // A dense operand of a sum: every coordinate.
                    (Support::Union, ..) => None,
                }
            }
            Combined::Sets(sets, operands) => {
                let trips: Vec<_> = operands.iter().map(|operand| self.trip(operand, left_out, var, bound)).collect();
                let of_set = |set: &Vec<usize>| {
                    let demanded = set.iter().filter_map(|k| trips[*k]);
                    demanded.reduce(|a, b| (a.0.min(b.0), a.1 + b.1))
                };
                let all = sets.iter().map(of_set).collect::<Option<Vec<_>>>()?;
                let (met, merged) = all.into_iter().fold((0.0, 0.0), |a, b| (a.0 + b.0, f64::max(a.1, b.1)));
                Some((met.min(self.size(var)), merged))
            }
            Combined::Choice { is_same, parts } => {
                let [condition, usual, other] = &**parts;
                let condition = self.trip(condition, left_out, var, bound);
                let other = if *is_same { self.trip(other, left_out, var, bound) } else { None };
                let other = match (condition, other) {
                    (Some(a), Some(b)) => (a.0.min(b.0), a.1 + b.1),
                    (one, None) | (None, one) => one?,
                };
                match (usual, self.trip(usual, left_out, var, bound)) {
                    (_, Some(usual)) => Some(((usual.0 + other.0).min(self.size(var)), usual.1 + other.1)),
                    (Combined::Number, None) => Some(other),
                    (_, None) => None,
                }
            }
        }
    }

    /// True if the value of `var` follows from those of `bound` by an indicator: it has one at most, which takes no loop.
    fn is_told(&self, part: &Part<'_>, var: VarId, bound: &[VarId]) -> bool {
        part.expr.accesses().into_iter().any(|access| {
            let is_last = || self.format(access).0.mode_order().last().is_some_and(|&mode| access.vars[mode] == var);
            let place = access.vars.iter().position(|own| *own == var);
            place.is_some_and(|place| self.kernel().tensors[access.tensor].tells(place))
                && is_last()
                && access.vars.iter().all(|own| *own == var || bound.contains(own))
        })
    }

    /// True if only indicators restrict `var`: to intervals, which are merged piece by piece.
    fn is_interval(&self, expr: &Combined<'_>, var: VarId) -> bool {
        match expr {
            Combined::Number => true,
            Combined::Access(access) => {
                let indicator = self.kernel().tensors[access.tensor].indicator.as_deref();
                indicator.is_some_and(|own| own.gather().is_none()) || self.segment(access, var, &[]).is_none()
            }
            Combined::Same(a) => self.is_interval(a, var),
            Combined::Pair(_, _, parts) => parts.iter().all(|part| self.is_interval(part, var)),
            Combined::Sets(_, parts) => parts.iter().all(|part| self.is_interval(part, var)),
            Combined::Choice { parts, .. } => parts.iter().all(|part| self.is_interval(part, var)),
        }
    }

    /// The cost of the loops over `vars` around a part, of which those before `first` are shared with the whole
    /// statement; and how often the innermost is entered. They write to the result, or do not.
    fn nest(&self, part: &Part<'_>, vars: &[VarId], writes: bool, first: Option<usize>) -> (f64, f64) {
        let mut vars = vars.to_vec();
        vars.sort_by_key(|var| turn(self.order, *var));
        let mut entered = 1.0;
        let mut total = 0.0;
        let mut trips = Vec::with_capacity(vars.len());
        for (depth, &var) in vars.iter().enumerate() {
            let shared = first.is_some_and(|first| turn(self.order, var) < first);
            let outer = || self.trip(&self.costs.root.combined, self.costs.preserves_fill, var, &vars[..depth]);
            let outer = if shared { outer() } else { None };
            let own = match part.visits {
                Visits::All => None,
                Visits::Stored { left_out } => self.trip(&part.combined, left_out, var, &vars[..depth]),
            };
            let restricted = match (outer, own) {
                (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.min(b.1))),
                (one, None) | (None, one) => one,
            };
            let (iterations, visited) = restricted.unwrap_or((self.size(var), self.size(var)));
            let innermost = depth + 1 == vars.len();
            let weight = match innermost {
                true if self.is_told(part, var, &vars[..depth]) => CONTIGUOUS,
                true => self.weight(part, var, restricted.is_some()),
                false => 1.0,
            };
            total += entered * visited.max(1.0) * weight;
            entered *= iterations;
            trips.push(Trip { var, iterations, size: self.size(var) });
        }
        let memory = &self.costs.memory;
        let adds_to = writes.then(|| AccessKey::from(self.costs.lhs));
        let lines = traffic::lines(self.kernel(), memory, &part.own_accesses, adds_to, &trips);
        (total + lines * memory.line, entered)
    }

    /// The work of one iteration of an innermost loop.
    fn weight(&self, part: &Part<'_>, var: VarId, sparse: bool) -> f64 {
        let mut weight = if sparse { 1.0 } else { VECTOR } + OPERATION * part.operations;
        for access in part.accesses.iter().chain([&AccessKey::from(self.costs.lhs)]) {
            let format = &self.kernel().tensors[access.tensor].format;
            if is_sparse(self.kernel(), access.tensor) || !access.vars.contains(&var) {
                continue;
            }
            let last = format.mode_order().last().map(|&mode| access.vars[mode]);
            weight += match (last == Some(var), sparse) {
                (true, false) => CONTIGUOUS,
                (true, true) => GATHERED,
                (false, _) => STRIDED,
            };
        }
        weight
    }

    /// The turn of the first variable that a sum sums over.
    fn first_of(&self, reduced: &[VarId]) -> Option<usize> {
        reduced.iter().map(|var| turn(self.order, *var)).min()
    }

    /// True if a sum over these variables is done before a variable of the result gets its value.
    fn is_scattered(&self, reduced: &[VarId]) -> bool {
        let is_later = |first: usize| self.costs.lhs.vars.iter().any(|var| turn(self.order, *var) > first);
        self.first_of(reduced).is_some_and(is_later)
    }

    /// The turn of the first variable of any sum that is scattered.
    fn first_scattered(&self) -> Option<usize> {
        let scattered = self.costs.root.sums.iter().filter(|sum| self.is_scattered(&sum.reduced));
        scattered.filter_map(|sum| self.first_of(&sum.reduced)).min()
    }

    /// The right-hand side without the sums that are scattered.
    fn without_scattered(&self) -> Expr {
        let emptied = self.empty_scattered(self.costs.root.expr.clone());
        without(&self.kernel().tensors, &emptied, &|_: &Access| false)
    }

    fn empty_scattered(&self, expr: Expr) -> Expr {
        match &expr.kind {
            ExprKind::Reduce(..) if self.is_scattered(&expr.reduced_vars()) => Expr::absent(expr.dtype),
            ExprKind::Reduce(..) => expr,
            _ => expr.map_children(&mut |child| self.empty_scattered(child)),
        }
    }

    /// The cost of the producers of the sums in a part, and the number of values that they scatter. `outermost`
    /// says that the part is not inside a sum, so that its sums can be added to the result.
    fn sums(&self, part: &Part<'_>, around: &[VarId], outermost: bool) -> (f64, f64) {
        let each = part.sums.iter().map(|sum| self.sum(sum, around, outermost));
        each.fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1))
    }

    fn sum(&self, sum: &Sum<'_>, around: &[VarId], outermost: bool) -> (f64, f64) {
        let (kernel, lhs) = (self.kernel(), self.costs.lhs);
        let first = self.first_of(&sum.reduced).unwrap_or(0);
        let is_later = |var: &VarId| turn(self.order, *var) > first && sum.free.contains(var);
        let scattered: Vec<VarId> = around.iter().copied().filter(is_later).collect();
        let outer = around.iter().copied().filter(|var| turn(self.order, *var) < first);
        let vars: Vec<VarId> = outer.chain(scattered.iter().copied()).chain(sum.summed.iter().copied()).collect();
        let (own, entered) = self.nest(&sum.body, &vars, !scattered.is_empty(), Some(first));
        // Into a dense result, or a block of one, a sum is added directly.
        let direct = |var: &VarId| outermost && lhs.vars.contains(var) && is_in_block(kernel, lhs, *var);
        let dense = kernel.tensors[lhs.tensor].format.is_dense();
        let scatter = match scattered.len() {
            _ if scattered.iter().all(direct) || fits_registers(kernel, &scattered, sum.expr.dtype) => 0.0,
            1 => MARKED,
            // Into an array of the size of the result.
            _ if dense && scattered.iter().all(|var| lhs.vars.contains(var)) => 0.0,
            _ => SORTED,
        };
        let inner = self.sums(&sum.body, &vars, false).0;
        (own + entered * scatter + inner, if scattered.is_empty() { 0.0 } else { entered })
    }
}

/// The most elements that a node of a schema has.
fn most_elements(schema: &Schema) -> f64 {
    let count = |node: &Node, array: Option<Extent>| match array {
        None => 1.0,
        Some(Extent::Const(count)) => f64::from(count),
        Some(Extent::Size(size)) => match node.fields[size].kind {
            FieldKind::Size { most: Some(most), .. } => f64::from(most),
            _ => UNBOUNDED,
        },
    };
    let of_node = |node: &Node| node.elems().map(|(_, field)| count(node, field.array())).sum::<f64>();
    schema.nodes().iter().map(of_node).fold(1.0, f64::max)
}

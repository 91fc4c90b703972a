//! Sparse results assembled by threads: each chunk of the outermost loop appends to arrays of its own, and the parts are put
//! one behind the other.
//!
//! ```text
//! C(i,k): csr                            a chunk has the rows first .. last and counts positions from 0
//! for chunk in 0 .. chunks parallel {
//!   C_n = 0
//!   for i in first .. last { ..; pos[i - first] = C_n }      as in a serial kernel, but without a leading zero
//!   deposit pos, crd and vals as part number `chunk`
//! }
//! C_pos = 0, then all pos, each with the numbers of coordinates in the parts before it added
//! C_crd, C_vals = all crd, all vals
//! ```
//!
//! On entry: the outermost loop is over the variable of the result's first level, or over strips of it, in order, so that
//! parts follow each other as chunks do. All that the loop fills, workspaces included, is the chunk's own.
//!
//! This takes the place of the counting pass of COMET (Tian et al. 2021, §5) and of taco's assembled inserts: the pattern is found
//! once, and what it costs is a copy of all parts but the first.

use lacunar_base::Diagnostic;
use lacunar_formats::Holds;
use lacunar_imp::{ArrayId, ExprId};
use lacunar_notation::concrete::Stmt;
use lacunar_notation::{Role, TensorId, VarId, WorkspaceKind};

use super::assemble::{Appended, Group};
use super::pattern::{cut_by, placed_by};
use super::space::Interval;
use super::{Lowerer, Scope, TensorCode};
use crate::iterate::races::filled_inside;
use crate::levels::{self, level_code};

/// The part of a result that a chunk assembles.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub tensor: TensorId,
    /// The first coordinate of its first level, where that is dense.
    pub first: ExprId,
    /// How many coordinates of its first level it has, where that is dense.
    pub len: ExprId,
}

/// The lists that parts of one array are deposited in.
struct Lists {
    /// By level and array of the level.
    levels: Vec<Vec<(levels::Part, ArrayId)>>,
    values: Option<ArrayId>,
}

impl Lowerer<'_> {
    /// Whether the loop over a leaf, the outermost of the kernel, assembles the result in parts.
    pub(super) fn assembles_in_parts(&self, var: VarId) -> bool {
        self.shared(var).is_some() && self.phase.assembles() && cut_by(self.kernel) == Some(var)
    }

    /// The kernel: its outermost loop in chunks, and the result put together from their parts.
    pub(super) fn assemble_in_parts(&mut self, var: VarId, body: &Stmt) -> Result<(), Diagnostic> {
        let Some(access) = self.result() else { return Ok(()) };
        let tensor = access.tensor;
        let mut scope = Scope { started: self.kernel.provenance.originals(var), ..Scope::default() };
        let interval = self.range(var, &mut scope)?;
        // Where work goes with what is stored, a part for each thread is enough, and the first need not be copied.
        let listed = |tensor: &TensorId| self.kernel.tensors[*tensor].role != Role::Workspace(WorkspaceKind::Scalar);
        let even = !filled_inside(body).iter().any(listed);
        let chunks = self.chunks(var, interval, body, even);
        let whole = std::mem::take(&mut self.tensors[tensor.index()]);
        let lists = self.declare_lists(tensor, chunks, whole.values.is_some())?;
        let mut groups = Vec::new();
        self.in_chunks(var, interval, chunks, body, |this, chunk, part| {
            this.part_of_result(var, chunk, part, body, &scope, &lists, &mut groups)
        })?;
        self.tensors[tensor.index()] = whole;
        self.collect(&Appended { access, groups }, &lists);
        Ok(())
    }

    fn declare_lists(&mut self, tensor: TensorId, chunks: ExprId, values: bool) -> Result<Lists, Diagnostic> {
        let info = self.kernel.tensors[tensor].clone();
        let mut levels = Vec::new();
        for (level, kind) in info.format.levels().iter().enumerate() {
            let mut lists = Vec::new();
            let zero = self.b.int(0);
            level_code(&info.name, &info.format, level, zero, true, &mut |part, name, dtype| {
                let list = self.b.parts_array(&format!("{name}_parts"), dtype);
                self.b.alloc(list, chunks, false);
                lists.push((part, list));
                list
            })?;
            debug_assert_eq!(lists.len(), kind.kind.info().parts.len());
            levels.push(lists);
        }
        let values = values.then(|| {
            let list = self.b.parts_array(&format!("{}_vals_parts", info.name), info.dtype);
            self.b.alloc(list, chunks, false);
            list
        });
        Ok(Lists { levels, values })
    }

    /// One chunk: the loop over its part of the interval, appending to arrays of its own, which are deposited.
    #[expect(clippy::too_many_arguments, reason = "a part is described by all of these")]
    fn part_of_result(
        &mut self,
        var: VarId,
        chunk: ExprId,
        interval: Interval,
        body: &Stmt,
        scope: &Scope,
        lists: &Lists,
        groups: &mut Vec<Group>,
    ) -> Result<(), Diagnostic> {
        let Some(access) = self.result() else { return Ok(()) };
        let tensor = access.tensor;
        let info = self.kernel.tensors[tensor].clone();
        self.declare_workspaces(Some(var));
        let mut scope = scope.clone();
        let first = self.first_below(var, interval.0, &mut scope)?;
        let end = self.first_below(var, interval.1, &mut scope)?;
        let len = self.b.sub(end, first);
        let zero = self.b.int(0);
        let len = self.b.binary(lacunar_imp::BinaryOp::Max, len, zero);
        let (first, len) = (self.b.define("part_first", first), self.b.define("part_len", len));
        self.part = Some(Part { tensor, first, len });
        let mut code = TensorCode::default();
        let mut own: Vec<Vec<ArrayId>> = Vec::new();
        for level in 0..info.order() {
            let size = self.size(self.level_var(&access, level));
            let mut arrays = Vec::new();
            let b = &mut self.b;
            code.levels.push(level_code(&info.name, &info.format, level, size, false, &mut |_, name, dtype| {
                let array = b.local_array(&format!("{name}_part"), dtype);
                arrays.push(array);
                array
            })?);
            own.push(arrays);
        }
        code.values = lists.values.map(|_| self.b.local_array(&format!("{}_vals_part", info.name), info.dtype));
        self.tensors[tensor.index()] = code;
        self.begin_result()?;
        self.leaf_loop(var, interval, body, &scope)?;
        let Some(appended) = self.appended.take() else { return Ok(()) };
        self.finish_groups(&appended);
        for (place, group) in appended.groups.iter().enumerate() {
            let count = self.b.var(group.counter);
            let parents = self.parents_of(&appended, place);
            let levels = own.iter().zip(&lists.levels).enumerate();
            for (level, (arrays, lists)) in levels.skip(group.head).take(group.last + 1 - group.head) {
                for (&array, &(part, list)) in arrays.iter().zip(lists) {
                    let code = &self.tensors[tensor.index()].levels[level];
                    // The first level's segment ends with the whole result.
                    let length = code.part_length(&mut self.b, part, parents, count);
                    if let Some(length) = length.filter(|_| level > 0 || part.holds != Holds::Positions) {
                        self.b.deposit(list, chunk, array, length);
                    }
                }
            }
            let innermost = place + 1 == appended.groups.len();
            if let (true, Some(list), Some(array)) = (innermost, lists.values, self.tensors[tensor.index()].values) {
                let block = self.extent(&access, group.last + 1, access.vars.len());
                let len = self.b.mul(count, block);
                self.b.deposit(list, chunk, array, len);
            }
        }
        self.part = None;
        *groups = appended.groups;
        Ok(())
    }

    /// All parts, one behind the other.
    fn collect(&mut self, appended: &Appended, lists: &Lists) {
        let tensor = appended.access.tensor;
        let (zero, one) = (self.b.int(0), self.b.int(1));
        let list = |level: usize, wanted: levels::Part| {
            lists.levels[level].iter().find(|(part, _)| *part == wanted).map(|(_, list)| *list)
        };
        // Of the group above: how many positions it has, and its last level.
        let mut above: Option<(ExprId, usize)> = None;
        for group in &appended.groups {
            let coordinates = list(group.head, levels::Part::COORDINATES);
            let positions = list(group.head, levels::Part::POSITIONS);
            let pos = self.tensors[tensor.index()].levels[group.head].array(levels::Part::POSITIONS);
            if let (Some(pos), Some(positions)) = (pos, positions) {
                let edges = if group.head == 0 { self.b.int(2) } else { one };
                self.b.grow(pos, edges, one, false);
                self.b.store_index(pos, zero, zero);
                if group.head > 0 {
                    self.b.collect("edges", pos, one, positions, coordinates);
                }
            }
            let mut total = zero;
            for level in group.head..=group.last {
                let crd = self.tensors[tensor.index()].levels[level].array(levels::Part::COORDINATES);
                if let (Some(crd), Some(coordinates)) = (crd, list(level, levels::Part::COORDINATES)) {
                    total = self.b.collect("stored", crd, zero, coordinates, None);
                }
            }
            let words = lists.levels[group.head].iter().find(|(part, _)| part.holds == Holds::Words);
            if let Some(&(part, list)) = words {
                let parents = self.extent(&appended.access, above.map_or(0, |(_, last)| last + 1), group.head);
                let parents = above.map_or(parents, |(count, _)| self.b.mul(count, parents));
                let code = &self.tensors[tensor.index()].levels[group.head];
                if let Some(array) = code.array(part) {
                    self.b.collect("words", array, zero, list, None);
                }
                code.append_finish(&mut self.b, parents, true);
                total = code.count_positions(&mut self.b, parents, zero);
            }
            above = Some((total, group.last));
            self.fail_unless_fits(tensor, group.head, total);
            if let (0, Some(pos)) = (group.head, pos) {
                self.b.store_index(pos, one, total);
            }
        }
        if let (Some(values), Some(list)) = (self.tensors[tensor.index()].values, lists.values) {
            self.b.collect("stored_vals", values, zero, list, None);
        }
    }

    /// Whether some loop that threads were to share appends to the result in a way that they cannot: inside other loops, or where
    /// its pattern is given and does not tell their places.
    pub(super) fn must_be_serial(&self) -> bool {
        let Some(access) = self.result() else { return false };
        if self.kernel.tensors[access.tensor].format.is_dense() {
            return false;
        }
        match &self.kernel.stmt {
            Stmt::Forall(var, _) if self.assembles_in_parts(*var) => false,
            Stmt::Forall(var, _) if placed_by(self.kernel, self.phase) == Some(*var) => false,
            stmt => self.shared_loop_writes(stmt, access.tensor),
        }
    }

    fn shared_loop_writes(&self, stmt: &Stmt, tensor: TensorId) -> bool {
        match stmt {
            Stmt::Assign(_) => false,
            Stmt::Forall(var, body) if self.shared(*var).is_some() => body.writes().contains(&tensor),
            Stmt::Forall(_, body) => self.shared_loop_writes(body, tensor),
            Stmt::Sequence(stmts) => stmts.iter().any(|stmt| self.shared_loop_writes(stmt, tensor)),
            Stmt::Where { consumer, producer } => {
                self.shared_loop_writes(consumer, tensor) || self.shared_loop_writes(producer, tensor)
            }
        }
    }
}

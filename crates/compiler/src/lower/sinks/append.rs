//! Results that grow by appending: a sparse result is built in the order of its levels.
//!
//! Its iterated levels form *groups*: a compressed level with the singleton levels below it, which share positions. Each group has
//! a counter, the position that is appended next:
//!
//! ```text
//! C: csr, around its levels           C2_n = 0                       one group, its counter
//! forall i (dense level, located)       for i
//!   forall k (compressed level)           for k ..
//!     C(i,k) = ..                           C_vals[C2_n] = ..; C2_crd[C2_n] = k; C2_n += 1
//!                                         C2_pos[i + 1] = C2_n       the edge
//! ```
//!
//! A coordinate of an outer group is appended only if something was appended below it, so that a result never holds
//! coordinates without values.
//!
//! If the pattern of the result is given, its positions are counted in the same way, and only values are stored. If the given
//! pattern may be wrong, coordinates are compared instead of stored ([`super::given`]).
//!
//! Paper: Chou et al. 2018, §5.3 (append).

use std::rc::Rc;

use lacunar_base::Diagnostic;
use lacunar_imp::{BinaryOp, CompareOp, ExprId};
use lacunar_notation::concrete::{Kernel, Stmt};
use lacunar_notation::{TensorId, VarId};

use super::checks::{fail_if, fail_unless_fits};
use super::most::most_appended;
use super::values::{add_to, clear_block};
use super::{Addition, Checkpoint, Sink, given};
use crate::iterate::in_order::is_tied;
use crate::iterate::iterators::{AccessKey, level_var};
use crate::iterate::position_space::original_loops;
use crate::levels::Slot;
use crate::lower::coverage::{has_shared_loop, is_certain, reaches_all, writes_all};
use crate::lower::derive::{coordinate, position};
use crate::lower::region::recovered::has_outside_places;
use crate::lower::scope::{Fact, Scope};
use crate::lower::storage::{code, extent, level};
use crate::lower::{Lowerer, MutableVar, Phase, Written};

/// The most values for which room is made before they are found. The system may refuse room for more, although it has room for the result.
const AHEAD: i64 = 1 << 26;

/// A result that is assembled by appending.
#[derive(Clone, Debug)]
pub(in crate::lower) struct Append {
    pub access: AccessKey,
    pub groups: Vec<Group>,
    /// The number of its values, if its pattern is given.
    pub stored: Option<ExprId>,
    /// The position that is appended first, of a piece whose place in the arrays of the whole is known: there is room for it.
    pub start: Option<ExprId>,
}

/// Levels of a result that share positions: `head` is compressed, those up to `tail` are singletons.
#[derive(Clone, Copy, Debug)]
pub(in crate::lower) struct Group {
    pub head: usize,
    pub tail: usize,
    pub counter: MutableVar,
    /// The number of positions of the given pattern, if it is compared.
    pub given: Option<ExprId>,
}

/// Makes a result ready that is appended to.
pub(super) fn begin(cx: &mut Lowerer<'_>, access: AccessKey, scope: &Scope) -> Scope {
    let tensor = access.tensor;
    let groups = groups_of(cx, tensor);
    let start = scope.slab().filter(|slab| slab.tensor == tensor).and_then(|slab| slab.start);
    let mut append = Append { access, groups, stored: cx.parameters.stored, start };
    if let Some(start) = start {
        append.groups.iter().for_each(|group| cx.b.assign(group.counter, start));
    }
    if cx.options.phase.assembles() {
        for group in &append.groups {
            let parents = append.is_fixed(cx, *group).then(|| extent(cx, &append.access, 0, group.head, scope));
            code(cx, tensor, scope).levels[group.head].append_init(&mut cx.b, parents);
        }
    }
    if cx.compares() {
        given::count(cx, &mut append, scope);
    }
    if let Some(most) =
        (cx.options.phase.assembles() && start.is_none()).then(|| most_appended(cx, &append, scope)).flatten()
    {
        append.reserve(cx, append.groups.len().wrapping_sub(1), most, scope);
    }
    scope.writing(tensor, Rc::new(append))
}

/// The groups of a result's levels, with counters that are 0.
fn groups_of(cx: &mut Lowerer<'_>, tensor: TensorId) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (level, kind) in cx.kernel.tensors[tensor].format.levels().iter().enumerate() {
        if kind.properties().full {
            continue;
        }
        match groups.last_mut() {
            Some(group) if kind.properties().branchless && group.tail + 1 == level => group.tail = level,
            _ => {
                let zero = cx.b.int(0);
                let counter = cx.b.declare(&format!("{}{}_n", cx.kernel.tensors[tensor].name, level + 1), zero);
                groups.push(Group { head: level, tail: level, counter, given: None });
            }
        }
    }
    groups
}

impl Append {
    /// Makes room for `more` positions of a group, and for their values if it is the innermost.
    pub fn reserve(&self, cx: &mut Lowerer<'_>, number: usize, more: ExprId, scope: &Scope) {
        let Some(&group) = self.groups.get(number).filter(|_| self.start.is_none()) else { return };
        let is_innermost = number + 1 == self.groups.len();
        let own = code(cx, self.access.tensor, scope);
        let so_far = cx.b.var(group.counter);
        let count = cx.b.add(so_far, more);
        if cx.options.phase.assembles() {
            for level in group.head..=group.tail {
                own.levels[level].append_reserve(&mut cx.b, count);
            }
        }
        if let (true, Some(stored)) = (is_innermost, self.stored) {
            // A given pattern has no room for more values than it has.
            let block = self.block(cx, group, scope);
            let needed = cx.b.mul(count, block);
            fail_if(cx, CompareOp::Gt, needed, stored);
        }
        if let (true, Phase::Fused, Some(values)) = (is_innermost, cx.options.phase, own.values) {
            let block = self.block(cx, group, scope);
            cx.b.grow(values, count, block, false);
        }
    }

    /// Makes room for `more` values that are expected, not found.
    pub fn reserve_ahead(&self, cx: &mut Lowerer<'_>, more: ExprId, scope: &Scope) {
        let Some(&group) = self.groups.last().filter(|_| self.stored.is_none()) else { return };
        let (one, block, most) = (cx.b.int(1), self.block(cx, group, scope), cx.b.int(AHEAD));
        let block = cx.b.binary(BinaryOp::Max, block, one);
        let most = cx.b.binary(BinaryOp::Div, most, block);
        let more = cx.b.binary(BinaryOp::Min, more, most);
        self.reserve(cx, self.groups.len().wrapping_sub(1), more, scope);
    }

    /// The number of positions of the innermost group so far.
    pub fn count(&self, cx: &mut Lowerer<'_>) -> ExprId {
        match self.groups.last() {
            Some(group) => cx.b.var(group.counter),
            None => cx.b.int(0),
        }
    }

    /// The number of values under a position of a group.
    pub fn block(&self, cx: &mut Lowerer<'_>, group: Group, scope: &Scope) -> ExprId {
        extent(cx, &self.access, group.tail + 1, self.access.vars.len(), scope)
    }

    /// True if the parent positions of a group are known in advance.
    pub fn is_fixed(&self, cx: &Lowerer<'_>, group: Group) -> bool {
        let levels = cx.kernel.tensors[self.access.tensor].format.levels();
        levels[..group.head].iter().all(|level| level.properties().full)
    }

    /// True if the body of a loop, which is over none of the result's variables, is a loop over the innermost level, whose coordinate
    /// follows from the loops around it: it appends once at most, so that room and the edge are matters of the loop around it.
    fn is_told(&self, kernel: &Kernel, var: VarId, body: &Stmt) -> bool {
        let Stmt::Forall(innermost, inner) = body else { return false };
        let Stmt::Assign(assign) = &**inner else { return false };
        let is_level =
            |group: &Group| group.head == group.tail && level_var(kernel, &self.access, group.tail) == *innermost;
        let is_own = (0..self.access.vars.len()).any(|level| level_var(kernel, &self.access, level) == var);
        assign.lhs.tensor == self.access.tensor
            && !is_own
            && self.groups.last().is_some_and(is_level)
            && is_tied(&kernel.tensors, &assign.rhs, *innermost)
    }

    /// The number of parent positions of a group.
    pub fn parents(&self, cx: &mut Lowerer<'_>, number: usize, scope: &Scope) -> ExprId {
        let above = number.checked_sub(1).map(|above| self.groups[above]);
        let first = above.map_or(0, |above| above.tail + 1);
        let parents = extent(cx, &self.access, first, self.groups[number].head, scope);
        match above {
            Some(above) => {
                let count = cx.b.var(above.counter);
                cx.b.mul(count, parents)
            }
            None => parents,
        }
    }

    /// True if a value may turn out to be missing when the loops come to the position of a group that has a single one. A given
    /// pattern is asked for room only when there is a value then.
    fn may_be_given_nothing(&self, cx: &Lowerer<'_>, group: Group, body: &Stmt, scope: &Scope) -> bool {
        let tensor = self.access.tensor;
        group.tail + 1 == self.access.vars.len()
            && !scope.is_given()
            && !is_certain(cx, &original_loops(cx.kernel, body), tensor, true, scope)
    }

    /// Makes the block of values under the position that is appended next ready; returns a variable that is true if it was
    /// given anything, if it may not be.
    fn begin_block(&self, cx: &mut Lowerer<'_>, group: Group, body: &Stmt, scope: &Scope) -> Option<MutableVar> {
        let (tensor, order) = (self.access.tensor, self.access.vars.len());
        let inner: Vec<VarId> =
            (group.tail + 1..order).map(|level| level_var(cx.kernel, &self.access, level)).collect();
        if inner.is_empty() {
            return None;
        }
        let covered = original_loops(cx.kernel, body);
        if let Some(values) = code(cx, tensor, scope).values
            && (!writes_all(cx.kernel, &covered, tensor, &inner)
                || has_outside_places(cx.kernel, tensor, &inner, scope))
        {
            let block = self.block(cx, group, scope);
            let position = cx.b.var(group.counter);
            clear_block(cx, tensor, values, position, block);
        }
        if is_certain(cx, &covered, tensor, true, scope) || has_shared_loop(cx, body) {
            return None;
        }
        let no = cx.b.bool(false);
        Some(cx.b.declare(&format!("{}_given", cx.name(tensor)), no))
    }

    /// Appends the coordinates of a group where the scope is, or compares them with those that are given.
    fn append(&self, cx: &mut Lowerer<'_>, number: usize, scope: &Scope) -> Result<(), Diagnostic> {
        let (access, group) = (&self.access, self.groups[number]);
        let next = cx.b.var(group.counter);
        if cx.options.phase.assembles() {
            let parent = position(cx, access, group.head.checked_sub(1), scope)?.first();
            let slot = Slot { parent, position: next, fixed: self.is_fixed(cx, group) };
            for of in group.head..=group.tail {
                let stored = coordinate(cx, level_var(cx.kernel, access, of), scope)?;
                level(cx, access, of, scope)?.append_coordinate(&mut cx.b, slot, stored);
            }
        } else if cx.compares() {
            given::compare(cx, self, number, scope)?;
        }
        let one = cx.b.int(1);
        let behind = cx.b.add(next, one);
        cx.b.assign(group.counter, behind);
        Ok(())
    }
}

impl Sink for Append {
    fn add(&self, cx: &mut Lowerer<'_>, addition: &Addition, scope: &Scope) -> Result<(), Diagnostic> {
        // Lanes have room for all of a word.
        if self.stored.is_some() && !scope.is_reserved() && scope.slot().is_none() {
            let one = cx.b.int(1);
            self.reserve(cx, self.groups.len().wrapping_sub(1), one, scope);
        }
        add_to(cx, addition, None, scope)
    }

    fn is_array(&self) -> bool {
        true
    }

    fn as_append(&self) -> Option<&Append> {
        Some(self)
    }

    /// If the loops append to the innermost group, makes room for all that they can append, so that they need not ask.
    fn enter(&self, cx: &mut Lowerer<'_>, var: VarId, body: &Stmt, most: super::Most<'_>, scope: &Scope) -> Scope {
        let innermost = self.groups.len().wrapping_sub(1);
        let group = self.groups.get(innermost).filter(|_| cx.options.phase.assembles() && !scope.is_told());
        let appends = |group: &&Group| {
            level_var(cx.kernel, &self.access, group.tail) == var && body.writes().contains(&self.access.tensor)
        };
        let is_told = self.is_told(cx.kernel, var, body);
        if group.filter(|group| is_told || appends(group)).is_none() {
            return scope.clone();
        }
        let mut most = most(cx);
        // A share of the loop may end before it begins, if nothing is left of the loop that it was cut from.
        if scope.region(var).is_some() || !scope.windows().is_empty() {
            let zero = cx.b.int(0);
            most = cx.b.binary(BinaryOp::Max, most, zero);
        }
        self.reserve(cx, innermost, most, scope);
        let scope = scope.with(Fact::Reserved);
        if is_told { scope.with(Fact::Told) } else { scope }
    }

    /// Makes room for a value, or remembers the position so far.
    fn before(
        &self,
        cx: &mut Lowerer<'_>,
        var: VarId,
        body: &Stmt,
        scope: &Scope,
    ) -> Result<(Checkpoint, Scope), Diagnostic> {
        let ends = |group: &Group| level_var(cx.kernel, &self.access, group.tail) == var;
        let number = self.groups.iter().position(ends).filter(|_| body.writes().contains(&self.access.tensor));
        let Some(number) = number else { return Ok((Checkpoint::default(), scope.clone())) };
        let is_late = self.stored.is_some() && self.may_be_given_nothing(cx, self.groups[number], body, scope);
        let mut scope = scope.clone();
        if !scope.is_reserved() && !is_late {
            let one = cx.b.int(1);
            self.reserve(cx, number, one, &scope);
            if self.stored.is_some() && number + 1 == self.groups.len() {
                scope.know(Fact::Reserved);
            }
        }
        if let Some(below) = self.groups.get(number + 1) {
            let so_far = cx.b.var(below.counter);
            let so_far = cx.b.define(&format!("{}_before", cx.kernel.vars[var].name), so_far);
            return Ok((Checkpoint { group: Some(number), below: Some(so_far), given: None, is_late }, scope));
        }
        let given = self.begin_block(cx, self.groups[number], body, &scope);
        if let Some(given) = given {
            scope.know(Fact::BlockGiven(given));
        }
        Ok((Checkpoint { group: Some(number), below: None, given, is_late }, scope))
    }

    /// Appends the coordinate, if a value was written.
    fn after(
        &self,
        cx: &mut Lowerer<'_>,
        var: VarId,
        checkpoint: Checkpoint,
        written: Written,
        scope: &Scope,
    ) -> Result<(), Diagnostic> {
        let Some(number) = checkpoint.group else { return Ok(()) };
        debug_assert_eq!(level_var(cx.kernel, &self.access, self.groups[number].tail), var);
        let condition = match (checkpoint.below, self.groups.get(number + 1)) {
            (Some(before), Some(below)) => {
                let now = cx.b.var(below.counter);
                Some(cx.b.compare(CompareOp::Gt, now, before))
            }
            _ => checkpoint.given.map(|given| cx.b.var(given)).or(written.condition()),
        };
        cx.found.conditional |= checkpoint.below.is_none() && condition.is_some() && !checkpoint.is_late;
        cx.when_some(condition, |cx| self.append(cx, number, scope))
    }

    /// The edge of the group that begins with a variable.
    fn leave(&self, cx: &mut Lowerer<'_>, var: VarId, body: &Stmt, scope: &Scope) -> Result<(), Diagnostic> {
        let access = &self.access;
        let begins = |group: &&Group| level_var(cx.kernel, access, group.head) == var;
        let told = self.groups.last().filter(|_| self.is_told(cx.kernel, var, body));
        let Some(group) = self.groups.iter().find(begins).or(told).copied().filter(|_| !scope.is_told()) else {
            return Ok(());
        };
        if !cx.options.phase.assembles() || !body.writes().contains(&access.tensor) {
            return Ok(());
        }
        let is_fixed = self.is_fixed(cx, group);
        let parent = position(cx, access, group.head.checked_sub(1), scope)?.first();
        let end = cx.b.var(group.counter);
        level(cx, access, group.head, scope)?.append_edge(&mut cx.b, parent, end, is_fixed);
        Ok(())
    }

    fn finish(&self, cx: &mut Lowerer<'_>, scope: &Scope) {
        let (kernel, access) = (cx.kernel, &self.access);
        if let (Some(stored), Some(&group)) = (self.stored, self.groups.last()) {
            // A pattern that was given has to be that of the result.
            let block = self.block(cx, group, scope);
            let count = cx.b.var(group.counter);
            let needed = cx.b.mul(count, block);
            fail_if(cx, CompareOp::Ne, needed, stored);
        }
        if !cx.options.phase.assembles() {
            return;
        }
        for (number, group) in self.groups.iter().enumerate() {
            let parents = self.parents(cx, number, scope);
            let outer: Vec<VarId> = (0..group.head).map(|level| level_var(kernel, access, level)).collect();
            let is_complete = match number.checked_sub(1) {
                Some(above) => self.groups[above].tail + 1 == group.head,
                // Parents that lie outside of a dimension have no loops.
                None => {
                    reaches_all(kernel, &original_loops(kernel, &kernel.stmt), &outer)
                        && !has_outside_places(kernel, access.tensor, &outer, scope)
                }
            };
            let start = self.start.unwrap_or_else(|| cx.b.int(0));
            let own = code(cx, access.tensor, scope);
            own.levels[group.head].append_finish(&mut cx.b, parents, start, is_complete);
            let count = cx.b.var(group.counter);
            fail_unless_fits(cx, access.tensor, group.head, count);
        }
    }
}

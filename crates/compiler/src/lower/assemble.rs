//! Assembling results: dense results are cleared where needed; sparse ones grow by appending.
//!
//! A sparse result is built in the order of its levels. Its iterated levels form *groups*: a compressed level with the
//! singleton levels below it, which share positions. Each group has a counter, the position that is appended next:
//!
//! ```text
//! C: csr, around its levels           C_n = 0                        one group, its counter
//! forall i (dense level, located)       for i
//!   forall k (compressed level)           for k ..
//!     C(i,k) = ..                           vals[C_n] = ..; crd[C_n] = k; C_n += 1
//!                                         pos[i + 1] = C_n           the edge
//! ```
//!
//! A coordinate of an outer group is appended only if something was appended below it, so that a result never holds
//! coordinates without values. Paper: Chou et al. 2018, §5.3 (append).

use lacunar_base::Diagnostic;
use lacunar_formats::{Properties, Scalar};
use lacunar_imp::{BinaryOp, CompareOp, ExprId, Status};
use lacunar_notation::concrete::Stmt;
use lacunar_notation::provenance::Relation;
use lacunar_notation::stored::ViewStep;
use lacunar_notation::{AssignOp, Expr, ExprKind, Role, TensorId, VarId};

use super::coverage::{reaches_all, writes_all};
use super::sizes::{constant, product};
use super::{Counter, Lowerer, Phase, Scope, Written};
use crate::algebra::{Meet, meet, rests};
use crate::iterate::iterators::AccessKey;
use crate::iterate::lattice::{Lattice, Point};
use crate::iterate::space::{original_loops, replaced_by};
use crate::levels::{Position, Slot};

/// A result that is assembled by appending.
#[derive(Debug)]
pub(super) struct Appended {
    pub access: AccessKey,
    pub groups: Vec<Group>,
}

/// Levels of a result that share positions: `head` is compressed, those up to `last` are singletons.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub head: usize,
    pub last: usize,
    pub counter: Counter,
    /// How many positions the pattern has that is given, where it is compared.
    pub given: Option<ExprId>,
}

/// A loop over strips, of a size, of a variable of the statement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Strip {
    leaf: VarId,
    of: VarId,
    size: u64,
}

/// What has to be remembered from before the body at a coordinate of a result.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mark {
    /// The group that ends with this variable.
    group: Option<usize>,
    /// The counter of the group below, before the body.
    below: Option<ExprId>,
    /// Whether the body gave the block under the position anything, where it may not.
    given: Option<Counter>,
}

impl Lowerer<'_> {
    pub(super) fn result(&self) -> Option<AccessKey> {
        let mut found = None;
        self.kernel.stmt.visit_assigns(&mut |assign| {
            if self.kernel.tensors[assign.lhs.tensor].role == Role::Result {
                found = Some(AccessKey::from(&assign.lhs));
            }
        });
        found
    }

    pub(super) fn level_var(&self, access: &AccessKey, level: usize) -> VarId {
        crate::iterate::iterators::level_var(self.kernel, access, level)
    }

    /// The product of the sizes of levels `from .. to` of an access.
    pub(super) fn extent(&mut self, access: &AccessKey, from: usize, to: usize) -> ExprId {
        let one = self.b.int(1);
        let view = self.kernel.tensors[access.tensor].view.clone();
        (from..to).fold(one, |so_far, level| {
            // Of the levels that walk through a dimension together, the first stands for all.
            let var = match view.as_ref().and_then(|view| view.steps.get(level)) {
                Some(ViewStep::First(var, _)) => return self.extent_of(so_far, *var),
                Some(ViewStep::Next(_)) => return so_far,
                _ => self.level_var(access, level),
            };
            let size = match &self.part {
                Some(part) if part.tensor == access.tensor && level == 0 => part.len,
                _ => self.size(var),
            };
            product(&mut self.b, so_far, size)
        })
    }

    fn extent_of(&mut self, so_far: ExprId, var: VarId) -> ExprId {
        let size = self.size(var);
        product(&mut self.b, so_far, size)
    }

    pub(super) fn begin_result(&mut self) -> Result<(), Diagnostic> {
        let Some(access) = self.result() else { return Ok(()) };
        let levels = self.kernel.tensors[access.tensor].format.levels().to_vec();
        if self.kernel.tensors[access.tensor].format.is_dense() {
            return self.plan_clearing(&access);
        }
        let mut groups: Vec<Group> = Vec::new();
        for (level, kind) in levels.iter().enumerate() {
            if kind.properties().full {
                continue;
            }
            match groups.last_mut() {
                Some(group) if kind.properties().branchless && group.last + 1 == level => group.last = level,
                _ => {
                    let zero = self.b.int(0);
                    let counter = self.b.declare(&format!("{}{}_n", self.name(access.tensor), level + 1), zero);
                    groups.push(Group { head: level, last: level, counter, given: None });
                }
            }
        }
        if self.phase.assembles() {
            for group in &groups {
                let parents = self.is_fixed(&access, *group).then(|| self.extent(&access, 0, group.head));
                self.tensors[access.tensor.index()].levels[group.head].append_init(&mut self.b, parents);
            }
        }
        if self.compared {
            self.count_given(&access, &mut groups);
        }
        let innermost = groups.len().wrapping_sub(1);
        self.appended = Some(Appended { access, groups });
        if let Some(most) = self.phase.assembles().then(|| self.most_results()).flatten() {
            self.reserve(innermost, most);
        }
        Ok(())
    }

    /// The largest number of positions that the innermost group of the result can get, where the operands tell.
    fn most_results(&mut self) -> Option<ExprId> {
        let appended = self.appended.as_ref()?;
        let (result, last) = (appended.access.clone(), appended.groups.last()?.last);
        let vars: Vec<VarId> = (0..=last).map(|level| self.level_var(&result, level)).collect();
        self.most_assigned(result.tensor, &vars)
    }

    /// How many combinations of `vars` a tensor can be given values at.
    fn most_assigned(&mut self, tensor: TensorId, vars: &[VarId]) -> Option<ExprId> {
        let mut filled = None;
        self.kernel.stmt.visit_assigns(&mut |assign| {
            if assign.lhs.tensor == tensor {
                filled = Some(assign);
            }
        });
        let filled = filled.filter(|assign| rests(&self.kernel.tensors, assign))?;
        self.most_of(&filled.rhs, vars)
    }

    /// How many combinations of `vars` an expression can differ from its background at, if these are restricted to stored ones.
    fn most_of(&mut self, expr: &'_ Expr, vars: &[VarId]) -> Option<ExprId> {
        match &expr.kind {
            ExprKind::Literal(_) => None,
            ExprKind::Cast(a) | ExprKind::Unary(_, a) | ExprKind::Reduce(_, _, a) => self.most_of(a, vars),
            ExprKind::Binary(function, a, b) => {
                let (most_a, most_b) = (self.most_of(a, vars), self.most_of(b, vars));
                match (meet(&self.kernel.tensors, *function, a, b), most_a, most_b) {
                    (Meet::Both, Some(a), Some(b)) => Some(self.b.binary(BinaryOp::Min, a, b)),
                    (Meet::Both, one, other) => one.or(other),
                    (Meet::Left, one, _) | (Meet::Right, _, one) => one,
                    (Meet::Either, Some(a), Some(b)) => Some(self.b.add(a, b)),
                    (Meet::Either, ..) => None,
                }
            }
            ExprKind::Access(access) => {
                let key = AccessKey::from(access);
                if matches!(self.kernel.tensors[access.tensor].role, Role::Workspace(_)) {
                    return self.most_assigned(access.tensor, vars);
                }
                let levels = 0..key.vars.len();
                let at = |var: &VarId| levels.clone().find(|level| self.level_var(&key, *level) == *var);
                let deepest = vars.iter().map(at).collect::<Option<Vec<usize>>>()?.into_iter().max()?;
                // More than the tensor has, if dense levels are among them.
                let levels = self.kernel.tensors[access.tensor].format.levels();
                let sparse = |level: usize| {
                    let Properties { full, compact, shared, .. } = levels[level].properties();
                    !full && compact && !shared
                };
                let stored = sparse(deepest) && (1..deepest).all(sparse);
                stored.then(|| self.count_here(&key, deepest)).flatten()
            }
        }
    }

    /// The number of positions of a level of an operand that belong to what is assembled here: all of them, or those of
    /// the rows of a part. `None` where the part says nothing of them.
    fn count_here(&mut self, access: &AccessKey, level: usize) -> Option<ExprId> {
        let Some(part) = self.part.clone() else { return self.count_positions(access, level) };
        let result = self.result()?;
        let rows = self.level_var(access, 0) == self.level_var(&result, 0)
            && self.tensors[result.tensor.index()].levels.len() > 1;
        let dense = |tensor: TensorId| self.kernel.tensors[tensor].format.levels()[0].properties().full;
        if !rows || level == 0 || !dense(access.tensor) || !dense(result.tensor) {
            return None;
        }
        let end = self.b.add(part.first, part.len);
        let (begin, end) = self.descend(access, 1..=level, (part.first, end)).ok()?;
        Some(self.b.sub(end, begin))
    }

    /// The number of positions of a level of an operand.
    pub(super) fn count_positions(&mut self, access: &AccessKey, level: usize) -> Option<ExprId> {
        let parents = match level.checked_sub(1) {
            Some(above) => self.count_positions(access, above)?,
            None => self.b.int(1),
        };
        let size = self.size(self.level_var(access, level));
        let code = self.tensors[access.tensor.index()].levels.get(level)?;
        Some(code.count_positions(&mut self.b, parents, size))
    }

    /// Decides where a dense result is set to its fill value: nowhere if every place is written, else as far inside as the loops
    /// walk through it in storage order.
    fn plan_clearing(&mut self, access: &AccessKey) -> Result<(), Diagnostic> {
        if !self.phase.computes()
            || self.kernel.updates
            || (writes_all(self.kernel, &original_loops(self.kernel, &self.kernel.stmt), access.tensor, &access.vars)
                && !self.has_outside_places(access.tensor, &access.vars, &Scope::default()))
        {
            return Ok(());
        }
        let mut depth = 0;
        let mut stmt = &self.kernel.stmt;
        let (mut bound, scope) = (Vec::new(), Scope::default());
        let mut strip = None;
        while let Stmt::Forall(leaf, body) = stmt {
            // Only loops over the next variable of the result, and over strips of it, come to each of its values once.
            let originals = self.kernel.provenance.originals(*leaf);
            // What lies under a place inside a dimension is not one block.
            if self.is_inside_dimension(access, depth) {
                break;
            }
            let next = access.vars.get(depth).map(|_| self.level_var(access, depth));
            let (&[var], true) = (originals.as_slice(), originals.first().copied() == next) else { break };
            bound.push(*leaf);
            if self.kernel.provenance.is_known(var, &bound) {
                let lattice = Lattice::build(self.kernel, body, var);
                let confined = self.is_confined(var, &bound) && self.has_outside_places(access.tensor, &[var], &scope);
                let everywhere = lattice.is_ok_and(|lattice| lattice.points == [Point::ALL]) && !confined;
                if !everywhere || replaced_by(self.kernel, var).is_some() {
                    break;
                }
                depth += 1;
                strip = None;
            } else {
                // Copies of chunks are added to all strips.
                strip = self.strip_of(*leaf, var).filter(|_| !self.shares(body));
                if strip.is_none() {
                    break;
                }
            }
            stmt = body;
        }
        self.clear_strip = strip;
        if strip.is_none() {
            self.clear_at = Some(depth);
        }
        self.clear_result(&Scope::default())
    }

    /// A loop over strips of a variable of the statement, if it is one.
    fn strip_of(&self, leaf: VarId, of: VarId) -> Option<Strip> {
        match *self.kernel.provenance.origin(leaf)? {
            Relation::Split { parent, outer, size, .. } if outer == leaf && parent == of => {
                Some(Strip { leaf, of, size })
            }
            _ => None,
        }
    }

    /// Sets what lies under a strip to the fill value, if it is one whose loop does so: what is added to it is in the cache then.
    pub(super) fn clear_strip(&mut self, leaf: VarId, number: ExprId, scope: &Scope) -> Result<(), Diagnostic> {
        let Some(strip) = self.clear_strip.filter(|strip| strip.leaf == leaf) else { return Ok(()) };
        let Some(access) = self.result() else { return Ok(()) };
        let Some(values) = self.tensors[access.tensor.index()].values else { return Ok(()) };
        let Position::One(parent) = self.position(&access, scope.depth.checked_sub(1), scope)? else {
            return Err(Diagnostic::internal("a dense result under repeated coordinates"));
        };
        let whole = self.size(strip.of);
        let size = constant(&mut self.b, strip.size);
        let low = self.b.mul(number, size);
        let rest = self.b.sub(whole, low);
        let len = self.b.binary(BinaryOp::Min, size, rest);
        let high = self.b.add(low, len);
        let first = self.b.mul(parent, whole);
        let block = self.extent(&access, scope.depth + 1, access.vars.len());
        let (begin, end) = (self.b.add(first, low), self.b.add(first, high));
        let (begin, end) = (self.b.mul(begin, block), self.b.mul(end, block));
        let value = self.cleared_value(access.tensor);
        self.b.push(lacunar_imp::Stmt::Fill { array: values, begin, end, value });
        Ok(())
    }

    /// Whether a level of a view walks through a dimension together with others.
    pub(super) fn is_inside_dimension(&self, access: &AccessKey, level: usize) -> bool {
        let view = self.kernel.tensors[access.tensor].view.as_ref();
        view.and_then(|view| view.steps.get(level)).is_some_and(|step| *step != ViewStep::Whole)
    }

    /// Sets the part of the dense result that lies under the current coordinates to its fill value, if this is the place to.
    pub(super) fn clear_result(&mut self, scope: &Scope) -> Result<(), Diagnostic> {
        if self.clear_at != Some(scope.depth) {
            return Ok(());
        }
        let Some(access) = self.result() else { return Ok(()) };
        let Some(values) = self.tensors[access.tensor.index()].values else { return Ok(()) };
        let first = match self.position(&access, scope.depth.checked_sub(1), scope)? {
            Position::One(position) => position,
            Position::Range(position, _) => position,
        };
        let block = self.extent(&access, scope.depth, access.vars.len());
        self.fill_block(access.tensor, values, first, block);
        Ok(())
    }

    /// What the elements of a result are before any is assigned: the fill value, or nothing added up.
    fn cleared_value(&mut self, tensor: TensorId) -> ExprId {
        let info = &self.kernel.tensors[tensor];
        let mut set = false;
        self.kernel.stmt.visit_assigns(&mut |assign| set |= assign.lhs.tensor == tensor && assign.op == AssignOp::Set);
        self.b.constant(if set { info.fill() } else { Scalar::zero(info.dtype) })
    }

    /// Sets block number `number` of the values to the fill value.
    fn fill_block(&mut self, tensor: TensorId, values: lacunar_imp::ArrayId, number: ExprId, block: ExprId) {
        let begin = self.b.mul(number, block);
        let value = self.cleared_value(tensor);
        match self.b.as_const(block) {
            Some(one) if one.bits == 1 => self.b.store(values, begin, value),
            _ => {
                let end = self.b.add(begin, block);
                self.b.push(lacunar_imp::Stmt::Fill { array: values, begin, end, value });
            }
        }
    }

    /// The position in an appended result: the counter of the level's group.
    pub(super) fn appended_position(&mut self, tensor: TensorId, level: usize) -> Option<ExprId> {
        let appended = self.appended.as_ref().filter(|appended| appended.access.tensor == tensor)?;
        let group = appended.groups.iter().find(|group| (group.head..=group.last).contains(&level))?;
        let innermost = appended.groups.last().is_some_and(|last| last.head == group.head);
        let counter = group.counter;
        Some(self.slot.filter(|_| innermost).unwrap_or_else(|| self.b.var(counter)))
    }

    /// Whether the result is assembled by appending.
    pub(super) fn appends(&self) -> bool {
        self.appended.is_some()
    }

    /// The result that is assembled by appending.
    pub(super) fn appended_tensor(&self) -> Option<TensorId> {
        self.appended.as_ref().map(|appended| appended.access.tensor)
    }

    /// Whether threads share a loop of a statement.
    fn shares(&self, stmt: &Stmt) -> bool {
        match stmt {
            Stmt::Assign(_) => false,
            Stmt::Forall(var, body) => (!self.serial && self.kernel.provenance.is_shared(*var)) || self.shares(body),
            Stmt::Sequence(stmts) => stmts.iter().any(|stmt| self.shares(stmt)),
            Stmt::Where { consumer, producer } => self.shares(consumer) || self.shares(producer),
        }
    }

    /// Before the loops over `var`: where they append to the innermost group, makes room for all that they can append, so
    /// that they need not ask. `most` gives the largest number of coordinates they can visit. Says whether it did.
    pub(super) fn reserve_ahead(
        &mut self,
        var: VarId,
        body: &Stmt,
        scope: &Scope,
        most: &mut dyn FnMut(&mut Self) -> ExprId,
    ) -> bool {
        let Some(appended) = self.appended.as_ref().filter(|_| self.phase.assembles()) else { return false };
        let (tensor, last) = (appended.access.tensor, appended.groups.len().wrapping_sub(1));
        let Some(group) = appended.groups.get(last) else { return false };
        if self.level_var(&appended.access, group.last) != var || !body.writes().contains(&tensor) {
            return false;
        }
        let mut most = most(self);
        // A part of the loop may end before it begins, where there is nothing of what it was cut from.
        if scope.confined.contains_key(&var) || !scope.windows.is_empty() {
            let zero = self.b.int(0);
            most = self.b.binary(BinaryOp::Max, most, zero);
        }
        self.reserve(last, most);
        true
    }

    /// Makes room for `more` positions of a group, and for their values if it is the innermost.
    pub(super) fn reserve(&mut self, place: usize, more: ExprId) {
        let Some(appended) = &self.appended else { return };
        let (access, group) = (appended.access.clone(), appended.groups[place]);
        let innermost = place + 1 == appended.groups.len();
        let so_far = self.b.var(group.counter);
        let count = self.b.add(so_far, more);
        if self.phase.assembles() {
            for level in group.head..=group.last {
                self.tensors[access.tensor.index()].levels[level].append_reserve(&mut self.b, count);
            }
        }
        if let (true, Some(stored)) = (innermost, self.stored) {
            // A pattern that was given has no more room than it has.
            let block = self.extent(&access, group.last + 1, access.vars.len());
            let needed = self.b.mul(count, block);
            self.fail_if(CompareOp::Gt, needed, stored);
        }
        if let (true, Phase::Fused, Some(values)) = (innermost, self.phase, self.tensors[access.tensor.index()].values)
        {
            let block = self.extent(&access, group.last + 1, access.vars.len());
            self.b.grow(values, count, block, false);
        }
    }

    /// Before the body at a coordinate of `var`: makes room for a value, or remembers what was appended so far.
    pub(super) fn before_append(&mut self, var: VarId, body: &Stmt, scope: &Scope) -> Result<Mark, Diagnostic> {
        let Some(appended) = &self.appended else { return Ok(Mark::default()) };
        let access = appended.access.clone();
        let ends = |group: &Group| self.level_var(&access, group.last) == var;
        let Some(place) = appended.groups.iter().position(ends) else { return Ok(Mark::default()) };
        if !body.writes().contains(&access.tensor) {
            return Ok(Mark::default());
        }
        let group = appended.groups[place];
        let below = appended.groups.get(place + 1).map(|below| below.counter);
        if !self.reserved {
            let one = self.b.int(1);
            self.reserve(place, one);
        }
        if let Some(below) = below {
            let so_far = self.b.var(below);
            let so_far = self.b.define(&format!("{}_before", self.kernel.vars[var].name), so_far);
            return Ok(Mark { group: Some(place), below: Some(so_far), given: None });
        }
        let order = access.vars.len();
        let inner: Vec<VarId> = (group.last + 1..order).map(|level| self.level_var(&access, level)).collect();
        let mut given = None;
        if !inner.is_empty() {
            let covered = original_loops(self.kernel, body);
            if let Some(values) = self.tensors[access.tensor.index()].values
                && (!writes_all(self.kernel, &covered, access.tensor, &inner)
                    || self.has_outside_places(access.tensor, &inner, scope))
            {
                let block = self.extent(&access, group.last + 1, order);
                let number = self.b.var(group.counter);
                self.fill_block(access.tensor, values, number, block);
            }
            if !self.is_certain(&covered, access.tensor, true, scope) && !self.shares(body) {
                let no = self.b.bool(false);
                given = Some(self.b.declare(&format!("{}_given", self.name(access.tensor)), no));
            }
        }
        self.block_given = given;
        Ok(Mark { group: Some(place), below: None, given })
    }

    /// After the body at a coordinate: appends it, if a value was written (under the condition `written`).
    pub(super) fn append(&mut self, var: VarId, mark: Mark, written: Written, scope: &Scope) -> Result<(), Diagnostic> {
        let (Some(place), Some(appended)) = (mark.group, &self.appended) else { return Ok(()) };
        let (access, group) = (appended.access.clone(), appended.groups[place]);
        let below = appended.groups.get(place + 1).map(|group| group.counter);
        let condition = match (mark.below, below) {
            (Some(before), Some(counter)) => {
                let now = self.b.var(counter);
                Some(self.b.compare(CompareOp::Gt, now, before))
            }
            _ => mark.given.map(|given| self.b.var(given)).or(written),
        };
        if mark.below.is_none() && condition.is_some() {
            self.conditional = true;
        }
        self.block_given = None;
        self.b.begin_block();
        let number = self.b.var(group.counter);
        if self.phase.assembles() {
            let parent = self.position(&access, group.head.checked_sub(1), scope)?.first();
            let fixed = self.is_fixed(&access, group);
            for level in group.head..=group.last {
                let stored = self.level_var(&access, level);
                let coordinate = self.coordinate(stored, scope)?;
                let slot = Slot { parent, position: number, fixed };
                self.tensors[access.tensor.index()].levels[level].append_coordinate(&mut self.b, slot, coordinate);
            }
        } else if self.compared {
            self.compare(&access, place, scope)?;
        }
        let one = self.b.int(1);
        let next = self.b.add(number, one);
        self.b.assign(group.counter, next);
        let block = self.b.end_block();
        debug_assert_eq!(self.level_var(&access, group.last), var);
        match condition {
            Some(cond) => self.b.push(lacunar_imp::Stmt::If { cond, then: block, otherwise: Vec::new() }),
            None => block.into_iter().for_each(|stmt| self.b.push(stmt)),
        }
        Ok(())
    }

    /// After all coordinates of `var` under one parent: the edge of the group that begins with it.
    pub(super) fn append_edges(&mut self, var: VarId, body: &Stmt, scope: &Scope) -> Result<(), Diagnostic> {
        let Some(appended) = &self.appended else { return Ok(()) };
        let access = appended.access.clone();
        let begins = |group: &&Group| self.level_var(&access, group.head) == var;
        let Some(group) = appended.groups.iter().find(begins).copied() else { return Ok(()) };
        if !self.phase.assembles() || !body.writes().contains(&access.tensor) {
            return Ok(());
        }
        let fixed = self.is_fixed(&access, group);
        let parent = self.position(&access, group.head.checked_sub(1), scope)?.first();
        let end = self.b.var(group.counter);
        self.tensors[access.tensor.index()].levels[group.head].append_edge(&mut self.b, parent, end, fixed);
        Ok(())
    }

    /// Whether the parent positions of a group are known in advance.
    pub(super) fn is_fixed(&self, access: &AccessKey, group: Group) -> bool {
        let levels = self.kernel.tensors[access.tensor].format.levels();
        levels[..group.head].iter().all(|level| level.properties().full)
    }

    pub(super) fn finish_result(&mut self) -> Result<(), Diagnostic> {
        let Some(appended) = self.appended.take() else { return Ok(()) };
        self.finish_groups(&appended);
        Ok(())
    }

    /// The number of parent positions of a group of a result.
    pub(super) fn parents_of(&mut self, appended: &Appended, place: usize) -> ExprId {
        let above = place.checked_sub(1).map(|above| appended.groups[above]);
        let first = above.map_or(0, |above| above.last + 1);
        let parents = self.extent(&appended.access, first, appended.groups[place].head);
        match above {
            Some(above) => {
                let count = self.b.var(above.counter);
                self.b.mul(count, parents)
            }
            None => parents,
        }
    }

    /// Everything is appended to these groups.
    pub(super) fn finish_groups(&mut self, appended: &Appended) {
        let access = &appended.access;
        if let (Some(stored), Some(group)) = (self.stored, appended.groups.last()) {
            // A pattern that was given has to be that of the result.
            let block = self.extent(access, group.last + 1, access.vars.len());
            let count = self.b.var(group.counter);
            let needed = self.b.mul(count, block);
            self.fail_if(CompareOp::Ne, needed, stored);
        }
        if !self.phase.assembles() {
            return;
        }
        for (place, group) in appended.groups.iter().enumerate() {
            let above = place.checked_sub(1).map(|above| appended.groups[above]);
            let parents = self.parents_of(appended, place);
            let outer: Vec<VarId> = (0..group.head).map(|level| self.level_var(access, level)).collect();
            let complete = match above {
                Some(above) => above.last + 1 == group.head,
                None => reaches_all(self.kernel, &original_loops(self.kernel, &self.kernel.stmt), &outer),
            };
            self.tensors[access.tensor.index()].levels[group.head].append_finish(&mut self.b, parents, complete);
            let count = self.b.var(group.counter);
            self.fail_unless_fits(access.tensor, group.head, count);
        }
    }

    /// Ends the kernel where a number of positions of a level of a result does not fit its position array.
    pub(super) fn fail_unless_fits(&mut self, tensor: TensorId, level: usize, count: ExprId) {
        let widest = self.kernel.tensors[tensor].format.positions(level).max();
        if let Ok(widest) = i64::try_from(widest) {
            let widest = self.b.int(widest);
            self.fail_if(CompareOp::Gt, count, widest);
        }
    }

    /// Ends the kernel where two numbers compare in a way that a size cannot.
    pub(super) fn fail_if(&mut self, op: CompareOp, a: ExprId, b: ExprId) {
        let wrong = self.b.compare(op, a, b);
        self.b.if_then(wrong, |b| b.fail(Status::SizeOverflow));
    }
}

//! The meaning of a statement of concrete notation: a statement of index notation, with each workspace replaced by the expression that
//! fills it.
//!
//! ```text
//! forall(i, where(forall(k, C(i,k) = w(k)), forall(j, forall(k, w(k) += A(i,j) * B(j,k)))))
//!   ->  C(i,k) = sum(j, A(i,j) * B(j,k))
//! ```
//!
//! An assignment with an operation reduces over the variables that become known between the statement that its target lives in and
//! itself, and that the target does not have. A loop over strips makes a variable known only together with the loop inside of
//! them; the value that strips are combined to is *partial* until the other loop is met, and may only be combined further by the
//! same operation:
//!
//! ```text
//! suchthat(forall(i0, where(s += t, forall(i1, t += a(i)))), split(i, i0, i1, 4))  ->  s = sum(i, a(i))
//! ```

use indexmap::{IndexMap, IndexSet};
use lacunar_base::Span;
use lacunar_notation::provenance::Relation;
use lacunar_notation::{AssignOp, Monoid, VarId};

use super::ast::{Nest, Stmt};
use super::error::Mistake;
use super::terms::{access, built, combined, exchange, factors, index_name, reduction, renamed, visit};
use crate::einsum::{Expr, ExprKind, MAX_HEIGHT, Meaning, Name, Statement, meaning};

/// The most operands of a statement that workspaces are written out in.
const MAX_SIZE: usize = 20_000;

/// The statement that a nest means, with the nest.
pub(super) fn statement(mut nest: Nest, span: Span) -> Result<Statement, Mistake> {
    nest.workspaces = workspaces(&nest.body);
    let mut meaning = Evaluation {
        nest: &nest,
        loops: Vec::new(),
        values: IndexMap::new(),
        read: IndexSet::new(),
        size: 0,
        placed: None,
    };
    meaning.run(&nest.body, 0)?;
    if let Some(name) = nest.workspaces.iter().find(|name| !meaning.read.contains(*name)) {
        return Err(Mistake::NotRead { span, name: name.clone() });
    }
    let is_result = |name: &&String| !nest.fills(name);
    let results: Vec<String> = meaning.values.keys().filter(is_result).cloned().collect();
    let [result] = results.as_slice() else {
        let names = results.iter().map(|name| format!("`{name}`")).collect();
        return Err(Mistake::Results { span, names });
    };
    let Some(value) = meaning.values.swap_remove(result) else {
        return Err(Mistake::Results { span, names: Vec::new() });
    };
    if let Some(part) = value.missing.first() {
        return Err(Mistake::Part { span: value.lhs_span, part: nest.name(*part).to_string() });
    }
    if value.rhs.height > MAX_HEIGHT {
        return Err(Mistake::TooLong { span });
    }
    let placed = meaning.placed;
    nest.monoid = value.monoid;
    nest.placed = placed;
    let name = Name { text: result.clone(), span: value.lhs_span };
    let Value { indices, lhs_span, rhs, .. } = value;
    Ok(Statement { name, indices, lhs_span, op: AssignOp::Set, rhs, span, nest: Some(Box::new(nest)) })
}

/// The tensors that a producer fills and its consumer, or another producer, reads. One that is assigned outside of producers as well and that
/// nothing reads is the result, which is combined with at several places.
fn workspaces(body: &Stmt) -> Vec<String> {
    #[derive(Default)]
    struct Found {
        inside: Vec<String>,
        outside: IndexSet<String>,
        read: IndexSet<String>,
    }
    fn filled(stmt: &Stmt, is_inside: bool, found: &mut Found) {
        match stmt {
            Stmt::Assign(statement) => {
                let name = &statement.name.text;
                if !is_inside {
                    found.outside.insert(name.clone());
                } else if !found.inside.contains(name) {
                    found.inside.push(name.clone());
                }
                visit(&statement.rhs, &mut |name, _| {
                    found.read.insert(name.to_string());
                });
            }
            Stmt::Forall { body, .. } => filled(body, is_inside, found),
            Stmt::Where { consumer, producer } => {
                filled(producer, true, found);
                filled(consumer, is_inside, found);
            }
            Stmt::Sequence(stmts) => stmts.iter().for_each(|stmt| filled(stmt, is_inside, found)),
        }
    }
    let mut found = Found::default();
    filled(body, false, &mut found);
    let Found { mut inside, outside, read } = found;
    inside.retain(|name| read.contains(name) || !outside.contains(name));
    inside
}

/// The values that a tensor has been assigned so far.
#[derive(Clone)]
struct Value {
    indices: Vec<Expr>,
    lhs_span: Span,
    rhs: Expr,
    /// The operation that combined it last.
    monoid: Option<Monoid>,
    /// The loops that have to be met before the value is whole.
    missing: Vec<VarId>,
}

struct Evaluation<'a> {
    nest: &'a Nest,
    loops: Vec<VarId>,
    values: IndexMap<String, Value>,
    /// The workspaces that are read.
    read: IndexSet<String>,
    /// The operands that were written out so far.
    size: usize,
    /// The target that is assigned by sums, each of which has to tell its terms.
    placed: Option<Span>,
}

impl Evaluation<'_> {
    /// Follows a statement whose target lives in the outermost `outside` of the loops around.
    fn run(&mut self, stmt: &Stmt, outside: usize) -> Result<(), Mistake> {
        match stmt {
            Stmt::Assign(statement) => self.assign(statement, outside),
            Stmt::Forall { var, body, .. } => {
                let id = self.nest.var(&var.text).ok_or_else(|| no_loop(var.span, &var.text))?;
                self.enter(id, var)?;
                self.loops.push(id);
                self.run(body, outside)?;
                self.loops.pop();
                Ok(())
            }
            Stmt::Where { consumer, producer } => {
                let mut inside = Vec::new();
                assigned(producer, &mut inside);
                // It starts empty every time.
                for name in inside.into_iter().filter(|name| self.nest.fills(name)) {
                    self.values.swap_remove(name);
                }
                self.run(producer, self.loops.len())?;
                self.run(consumer, outside)
            }
            Stmt::Sequence(stmts) => stmts.iter().try_for_each(|stmt| self.run(stmt, outside)),
        }
    }

    fn enter(&self, var: VarId, name: &Name) -> Result<(), Mistake> {
        let provenance = &self.nest.provenance;
        let (span, text) = (name.span, name.text.clone());
        if provenance.uses(var).any(|relation| !matches!(relation, Relation::Rename { .. })) {
            return Err(Mistake::Replaced { span, name: text });
        }
        match provenance.is_known(var, &self.loops) {
            true => Err(Mistake::TwoLoops { span, name: text }),
            false => Ok(()),
        }
    }

    fn assign(&mut self, statement: &Statement, outside: usize) -> Result<(), Mistake> {
        let provenance = &self.nest.provenance;
        let name = &statement.name.text;
        // The result lives outside of all loops, wherever it is combined with.
        let outside = if self.nest.fills(name) { outside } else { 0 };
        let carried = self.carried(statement)?;
        let lhs = self.indices(&statement.indices)?;
        if !self.nest.fills(name) {
            self.are_whole(name, &statement.indices)?;
        }
        let value = self.expr(&statement.rhs)?;
        // The variables of the target and of the loops around it, and those of all loops.
        let told: Vec<VarId> = self.loops[..outside].iter().chain(&lhs).copied().collect();
        let mut reduced: Vec<VarId> = Vec::new();
        let mut missing = carried.clone();
        let inner: Vec<VarId> = self.loops[outside..].iter().copied().filter(|var| !lhs.contains(var)).collect();
        missing.retain(|part| !inner.contains(part));
        for &leaf in &self.loops[outside..] {
            let originals = self.originals(leaf);
            let known = |original: &VarId| provenance.is_known(*original, &self.loops);
            // It is a part of a variable alone: only values that are partial in the operands are combined.
            if !originals.iter().any(known) && !carried.contains(&leaf) {
                return Err(Mistake::Part { span: statement.span, part: self.nest.name(leaf).to_string() });
            }
            for original in originals.into_iter().filter(known) {
                if !provenance.is_known(original, &told) && !reduced.contains(&original) {
                    reduced.push(original);
                    missing.extend(told.iter().copied().filter(|part| self.originals(*part).contains(&original)));
                }
            }
        }
        // If loops tell both a variable and another name of it, the producer has the latter.
        let named: Vec<VarId> = reduced.iter().filter_map(|var| self.parent(*var)).collect();
        reduced.retain(|var| !named.contains(var));
        // Parts that were combined before are no longer there to be combined.
        let again = |original: &VarId| !carried.iter().any(|part| self.originals(*part).contains(original));
        let names: Vec<String> = reduced.iter().filter(|var| again(var)).map(|var| self.shown(*var)).collect();
        let rhs = match statement.op {
            AssignOp::Set if reduced.is_empty() => value,
            // Each element has one value all the same.
            AssignOp::Set if self.are_told(&statement.rhs, &reduced, &told) => {
                reduction(Monoid::SUM, &names, value, statement.span)
            }
            // Sizes tell whether it has, as the digits of a number tell it.
            AssignOp::Set if self.may_be_told(statement, &reduced) => {
                self.placed = Some(statement.lhs_span);
                reduction(Monoid::SUM, &names, value, statement.span)
            }
            AssignOp::Set => {
                let var = self.nest.name(reduced[0]).to_string();
                return Err(Mistake::Overwritten { span: statement.span, name: name.clone(), var });
            }
            AssignOp::Reduce(_) if names.is_empty() => value,
            AssignOp::Reduce(monoid) => reduction(monoid, &names, value, statement.span),
        };
        let indices = statement.indices.iter().map(|index| self.index(index)).collect();
        let new = Value { indices, lhs_span: statement.lhs_span, rhs, monoid: statement.op.monoid(), missing };
        let new = match self.values.swap_remove(name) {
            Some(before) => self.after(before, new, statement, outside)?,
            None => new,
        };
        self.values.insert(name.clone(), new);
        Ok(())
    }

    /// True if relations in brackets, which the value is multiplied by, leave one value to each of some variables.
    fn are_told(&self, value: &Expr, reduced: &[VarId], told: &[VarId]) -> bool {
        let relations = factors(value, &self.nest.brackets);
        let mut open: Vec<VarId> = reduced.to_vec();
        loop {
            let is_known = |var: &VarId| self.nest.provenance.is_known(*var, told) || !open.contains(var);
            let found = relations.iter().find_map(|(bracket, args)| {
                let vars: Vec<VarId> = args.iter().filter_map(|arg| self.nest.var(index_name(arg))).collect();
                let mut unknown = (0..vars.len()).filter(|place| !is_known(&vars[*place]));
                let (place, rest) = (unknown.next()?, unknown.next());
                (rest.is_none() && bracket.relation().ok()?.tells(place, vars.len())).then_some(vars[place])
            });
            match found {
                Some(found) => open.retain(|var| *var != found),
                None => return open.is_empty(),
            }
        }
    }

    /// True if each of some variables is a term of a sum in brackets that an index of the target is, which is the result.
    fn may_be_told(&self, statement: &Statement, reduced: &[VarId]) -> bool {
        let indices: Vec<&str> = statement.indices.iter().map(index_name).collect();
        let relations = factors(&statement.rhs, &self.nest.brackets);
        let sums = relations.iter().filter(|(bracket, args)| {
            let is_index = args.last().is_some_and(|last| indices.contains(&index_name(last)));
            is_index && bracket.relation().is_ok_and(|relation| relation.is_equation())
        });
        let terms: Vec<&str> = sums.flat_map(|(_, args)| args.iter().map(index_name)).collect();
        !self.nest.fills(&statement.name.text) && reduced.iter().all(|var| terms.contains(&self.nest.name(*var)))
    }

    /// The variables of accesses that a loop derives from: of a loop that producer and consumer share, those of both.
    fn originals(&self, leaf: VarId) -> Vec<VarId> {
        let mut found = Vec::new();
        let relations = &self.nest.provenance.relations;
        for relation in relations.iter().filter(|relation| relation.children().contains(&leaf)) {
            match relation {
                Relation::Rename { .. } => found.push(leaf),
                _ => relation.parents().into_iter().for_each(|parent| found.extend(self.originals(parent))),
            }
        }
        if found.is_empty() { vec![leaf] } else { found }
    }

    /// The variable that one is another name of.
    fn parent(&self, var: VarId) -> Option<VarId> {
        match self.nest.provenance.origin(var) {
            Some(Relation::Rename { parent, .. }) => Some(*parent),
            _ => None,
        }
    }

    /// The parts that the operands still miss. If there are any, it is read alone, and combined by the operation that made it.
    fn carried(&self, statement: &Statement) -> Result<Vec<VarId>, Mistake> {
        let mut partial = None;
        visit(&statement.rhs, &mut |name, span| {
            let value = self.values.get(name).filter(|value| !value.missing.is_empty());
            partial = partial.or(value.map(|value| (value, span)));
        });
        let Some((value, span)) = partial else { return Ok(Vec::new()) };
        let is_combined = statement.op.monoid().is_some() && statement.op.monoid() == value.monoid;
        if let Some((_, read)) = access(&statement.rhs).filter(|_| is_combined) {
            let read_as = |part: &VarId| {
                let is_part = |filled: &Expr| self.nest.var(index_name(filled)) == Some(*part);
                let place = value.indices.iter().position(is_part)?;
                self.nest.var(index_name(read.get(place)?))
            };
            return Ok(value.missing.iter().map(|part| read_as(part).unwrap_or(*part)).collect());
        }
        let part = value.missing.first().map_or("", |part| self.nest.name(*part));
        Err(Mistake::Part { span, part: part.to_string() })
    }

    /// A value that is assigned after another one. One for another place of the tensor has the other's indices exchanged for those of the
    /// first in all of it, so that its summed variables stay apart:
    ///
    /// ```text
    /// y(j) += sum(i, A(i,j) * x(i)), y(i) += sum(j, A(i,j) * x(j))     y(j) = sum(i, A(i,j) * x(i)) + sum(i, A(j,i) * x(i))
    /// ```
    fn after(&self, before: Value, mut new: Value, statement: &Statement, outside: usize) -> Result<Value, Mistake> {
        let mixed = || Mistake::Mixed { span: statement.span, name: statement.name.text.clone() };
        let monoid = new.monoid.filter(|monoid| monoid.compared().is_none()).ok_or_else(mixed)?;
        let shown = |value: &Value| value.indices.iter().map(|index| index_name(index).to_string()).collect::<Vec<_>>();
        let (names, own) = (shown(&before), shown(&new));
        let is_around = |name: &String| {
            self.nest.var(name).is_some_and(|var| self.nest.provenance.is_known(var, &self.loops[..outside]))
        };
        let exchanged = exchange(&own, &names).filter(|pairs| !pairs.keys().any(is_around)).ok_or_else(mixed)?;
        let fits = before.monoid.is_none_or(|earlier| earlier == monoid);
        if !fits || !before.missing.is_empty() || !new.missing.is_empty() {
            return Err(mixed());
        }
        renamed(&mut new.rhs, &exchanged);
        let rhs = combined(monoid, before.rhs, new.rhs, statement.span);
        Ok(Value { rhs, monoid: Some(monoid), ..before })
    }

    /// The variables of a target, all of which have values.
    fn indices(&self, indices: &[Expr]) -> Result<Vec<VarId>, Mistake> {
        indices.iter().map(|index| self.known(index)).collect()
    }

    fn known(&self, index: &Expr) -> Result<VarId, Mistake> {
        let name = index_name(index);
        let found = self.nest.var(name).filter(|var| self.nest.provenance.is_known(*var, &self.loops));
        found.ok_or_else(|| no_loop(index.span, name))
    }

    /// True for a variable that a relation makes of others, and not as another name.
    fn is_part(&self, name: &str) -> bool {
        let origin = |var| self.nest.provenance.origin(var);
        self.nest.var(name).is_some_and(|var| !matches!(origin(var), None | Some(Relation::Rename { .. })))
    }

    /// Refuses parts of variables as indices of a tensor of the program: number and place of a strip are no coordinates.
    fn are_whole(&self, tensor: &str, indices: &[Expr]) -> Result<(), Mistake> {
        let Some(index) = indices.iter().find(|index| self.is_part(index_name(index))) else { return Ok(()) };
        let (part, tensor) = (index_name(index).to_string(), tensor.to_string());
        Err(Mistake::PartIndex { span: index.span, part, tensor })
    }

    /// The name of a variable in the statement that is meant: a copy has the name of its original.
    fn shown(&self, var: VarId) -> String {
        let is_around = |parent: VarId| self.nest.provenance.is_known(parent, &self.loops);
        match self.parent(var) {
            Some(parent) if !is_around(parent) => self.shown(parent),
            _ => self.nest.name(var).to_string(),
        }
    }

    fn index(&self, index: &Expr) -> Expr {
        let name = self.nest.var(index_name(index)).map_or_else(String::new, |var| self.shown(var));
        Expr { kind: ExprKind::Name(name), ..index.clone() }
    }

    /// An expression without workspaces.
    fn expr(&mut self, expr: &Expr) -> Result<Expr, Mistake> {
        self.size += 1;
        if self.size > MAX_SIZE {
            return Err(Mistake::TooLong { span: expr.span });
        }
        if let Some((name, args)) = access(expr) {
            return self.read(name, args, expr);
        }
        let span = expr.span;
        Ok(match &expr.kind {
            ExprKind::Apply { name, args, callee } => {
                if matches!(meaning(&name.text, args, *callee), Meaning::Reduction(_)) {
                    return Err(Mistake::Reduction { span });
                }
                let args = args.iter().map(|arg| self.expr(arg)).collect::<Result<Vec<_>, _>>()?;
                built(ExprKind::Apply { name: name.clone(), args, callee: *callee }, span)
            }
            ExprKind::Cast { dtype, operand } => {
                let operand = Box::new(self.expr(operand)?);
                built(ExprKind::Cast { dtype: dtype.clone(), operand }, span)
            }
            ExprKind::Neg(operand) => built(ExprKind::Neg(Box::new(self.expr(operand)?)), span),
            ExprKind::Binary(op, left, right) => {
                let left = Box::new(self.expr(left)?);
                built(ExprKind::Binary(*op, left, Box::new(self.expr(right)?)), span)
            }
            ExprKind::Number(_) | ExprKind::Bool(_) | ExprKind::Identity(_) | ExprKind::Name(_) => expr.clone(),
            // It is no value, which the check of names tells.
            ExprKind::List { .. } => expr.clone(),
        })
    }

    /// The tensor that an access reads.
    fn read(&mut self, name: &str, args: &[Expr], expr: &Expr) -> Result<Expr, Mistake> {
        // An index that is no variable is told by the check of names.
        if args.iter().any(|arg| index_name(arg).is_empty()) {
            return Ok(expr.clone());
        }
        let vars = self.indices(args)?;
        if args.is_empty() && !self.nest.fills(name) && self.nest.var(name).is_some() {
            // The value of a variable.
            self.known(expr)?;
            if self.is_part(name) {
                return Err(Mistake::PartValue { span: expr.span, part: name.to_string() });
            }
            return Ok(self.index(expr));
        }
        if !self.nest.fills(name) {
            self.are_whole(name, args)?;
            let args = args.iter().map(|arg| self.index(arg)).collect();
            return Ok(match &expr.kind {
                ExprKind::Apply { name, callee, .. } => {
                    built(ExprKind::Apply { name: name.clone(), args, callee: *callee }, expr.span)
                }
                _ => expr.clone(),
            });
        }
        self.read.insert(name.to_string());
        let Some(value) = self.values.get(name).cloned() else {
            return Err(Mistake::NotFilled { span: expr.span, name: name.to_string() });
        };
        if value.indices.len() != vars.len() {
            return Err(Mistake::OtherParts { span: expr.span, name: name.to_string() });
        }
        let mut names = IndexMap::new();
        for (filled, var) in value.indices.iter().zip(vars) {
            let (filled, read) = (index_name(filled).to_string(), self.shown(var));
            // Two parts stand for each other only if one relation makes both, of a variable and of its other name.
            let is_same = match (self.is_part(&filled), self.is_part(&read)) {
                (true, true) => self.nest.first(&filled) == self.nest.first(&read),
                (filled, read) => filled == read,
            };
            if !is_same {
                return Err(Mistake::OtherParts { span: expr.span, name: name.to_string() });
            }
            names.insert(filled, read);
        }
        let mut rhs = value.rhs;
        self.size += renamed(&mut rhs, &names);
        match self.size > MAX_SIZE || rhs.height > MAX_HEIGHT {
            true => Err(Mistake::TooLong { span: expr.span }),
            false => Ok(rhs),
        }
    }
}

fn no_loop(span: Span, name: &str) -> Mistake {
    Mistake::NoLoop { span, name: name.to_string() }
}

/// The names of the tensors that a statement assigns to.
fn assigned<'s>(stmt: &'s Stmt, found: &mut Vec<&'s str>) {
    match stmt {
        Stmt::Assign(statement) => found.push(&statement.name.text),
        Stmt::Forall { body, .. } => assigned(body, found),
        Stmt::Where { consumer, producer } => {
            assigned(producer, found);
            assigned(consumer, found);
        }
        Stmt::Sequence(stmts) => stmts.iter().for_each(|stmt| assigned(stmt, found)),
    }
}

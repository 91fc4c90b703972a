//! Loops that the user has written: the statement is checked and completed, never rearranged.
//!
//! ```text
//! forall(i, forall(j, y(i) += A(i,j) * x(j)))     A: csc
//!   read_old_values         a result that the loops read is read as it was before
//!   check_relations         each relation of variables could have been made by its command
//!   convert_operands        A_by_order: csr of A, for the loops ask for rows
//!   finish                  forall(i, where(y(i) = t, forall(j, t += A_by_order(i,j) * x(j))))
//!   workspaces              t is a variable
//!   tags                    threads, lanes and merges, where they are allowed
//! ```
//!
//! On entry: a kernel of concrete notation whose meaning is the program's statement. On exit: a [`Plan`], verified.

use lacunar_base::{Category, Diagnostic, Span};
use lacunar_formats::Format;
use lacunar_notation::concrete::{Assign, Kernel, Stmt, verify};
use lacunar_notation::provenance::{Relation, Tag};
use lacunar_notation::schedule::{Assembly, Command, CommandKind, Name, Race, Schedule};
use lacunar_notation::{
    Access, AssignOp, Assignment, Expr, ExprKind, Program, Role, Tensor, TensorId, VarId, WorkspaceKind,
};

use super::convert::{free_name, old_values, read_converted, rename, stored_as, stored_otherwise};
use super::draft::combined;
use super::maps::without_map;
use super::{Conversion, Plan, Request, finish, gathers, given, insert, lists, same, storage, workspaces};
use crate::iterate::iterators::AccessKey;
use crate::reduction::make_explicit;
use crate::schedule::{apply, apply_all};
use crate::structure::{followers, packed};

/// The loops of a statement, if they are written.
pub(super) fn loops<'p>(program: &'p Program, statement: &Assignment) -> Option<&'p Kernel> {
    let mut written = program.loops.iter();
    written.find(|(number, _)| program.statements.get(*number) == Some(statement)).map(|(_, kernel)| kernel)
}

/// The plan of a statement whose loops are written; `None` if they are not.
pub(super) fn plan(
    program: &Program,
    statement: &Assignment,
    request: &Request<'_>,
) -> Option<Result<Plan, Diagnostic>> {
    let mut kernel = loops(program, statement)?.clone();
    let result = statement.lhs.tensor;
    // Fill values and widths are settled after the loops are read.
    for tensor in program.tensors.handles() {
        let role = kernel.tensors[tensor].role;
        kernel.tensors[tensor] = program.tensors[tensor].clone();
        kernel.tensors[tensor].role = role;
    }
    let mut written = Written { kernel, result, conversions: Vec::new(), notes: Vec::new() };
    let planned = written.planned(program, statement, request);
    Some(planned.map_err(|refusal| placed(refusal, statement.span)))
}

/// The refusal with a place: that of the statement, where it has none.
fn placed(mut refusal: Diagnostic, statement: Span) -> Diagnostic {
    for label in refusal.labels.iter_mut().filter(|label| label.span == Span::NONE) {
        label.span = statement;
    }
    refusal
}

struct Written {
    kernel: Kernel,
    result: TensorId,
    conversions: Vec<Conversion>,
    notes: Vec<String>,
}

impl Written {
    fn planned(
        &mut self,
        program: &Program,
        statement: &Assignment,
        request: &Request<'_>,
    ) -> Result<Plan, Diagnostic> {
        let nothing = Schedule::default();
        let tags = std::mem::take(&mut self.kernel.provenance.tags);
        let stmt = std::mem::take(&mut self.kernel.stmt);
        self.kernel.stmt = with_consumers(&self.kernel, stmt);
        self.read_old_values();
        self.assign_once();
        let without_map = self.leave_maps();
        // Positions are those of levels that store variables, as those of tensors without a map do.
        check_relations(&self.kernel)?;
        self.gather();
        lists::arrange(&mut self.kernel);
        self.convert_operands()?;
        let convert_result = self.assemble_result(request)?.or(without_map);
        // A loop with the tag `atomics` adds to the result itself, not to a variable of each thread.
        let is_atomic = |(_, tag): &&(VarId, Tag)| matches!(tag, Tag::Parallel(_, Race::Atomics));
        self.kernel.provenance.tags = tags.iter().filter(is_atomic).copied().collect();
        self.finish()?;
        self.kernel.provenance.tags.clear();
        workspaces::choose(&mut self.kernel, &mut self.notes);
        for (var, tag) in tags {
            self.kernel = apply(&self.kernel, &command(&self.kernel, var, tag))?.0;
        }
        let given = request.schedule.unwrap_or(&nothing);
        self.kernel = apply_all(&self.kernel, &given.commands)?.0;
        finish::check(&self.kernel, given)?;
        if self.kernel.assembly == Assembly::Insert {
            insert::check(&self.kernel, self.result, &self.conversions, given)?;
        }
        verify(&self.kernel)
            .map_err(|fault| Diagnostic::internal(format!("the loops are not well-formed: {fault}")))?;
        let mut vars = program.vars.clone();
        let statement = make_explicit(statement, &mut vars);
        self.notes.insert(0, "the loops are as written".to_string());
        if let Some(packing) = self.kernel.tensors[self.result].format.packing() {
            self.kernel.followers = packed(packing);
        } else if !self.kernel.updates {
            self.kernel.followers = followers(&program.tensors, &vars, &statement);
        }
        Ok(Plan {
            kernel: self.kernel.clone(),
            result: self.result,
            statement,
            conversions: std::mem::take(&mut self.conversions),
            copied: None,
            convert_result,
            notes: std::mem::take(&mut self.notes),
            warnings: Vec::new(),
            is_full: false,
            schedule: given.clone(),
        })
    }

    /// Makes a tensor for the result's old values, if the loops read them.
    fn read_old_values(&mut self) {
        let (result, mut is_read, mut begins) = (self.result, false, false);
        self.kernel.stmt.visit_assigns(&mut |assign| {
            let reads = assign.rhs.accesses().iter().any(|access| access.tensor == result);
            is_read |= reads;
            begins |= reads && assign.lhs.tensor == result && assign.op == AssignOp::Set;
        });
        if is_read {
            // If loops assign a result its own earlier values, they begin with these, unless it is updated in place.
            self.kernel.updates &= !begins || self.kernel.tensors[result].format.is_dense();
            let old = old_values(&mut self.kernel, result, &mut self.conversions);
            let stmt = std::mem::take(&mut self.kernel.stmt);
            let redirect = |access: &Access| (access.tensor == result).then_some(old);
            self.kernel.stmt = given::map_exprs(stmt, &mut |expr| rename(expr, &redirect));
        }
    }

    /// A result that has one assignment, in no loop but those over its own variables, is assigned and not combined. If it has earlier
    /// values and cannot be updated in place, the assigned values are combined with these.
    fn assign_once(&mut self) {
        let result = self.result;
        let mut assignments = 0;
        self.kernel.stmt.visit_assigns(&mut |assign| assignments += usize::from(assign.lhs.tensor == result));
        let info = &self.kernel.tensors[result];
        let is_in_place = info.format.is_dense() && !info.dtype.is_storage();
        if assignments != 1 || (self.kernel.updates && is_in_place) {
            return;
        }
        let mut kernel = self.kernel.clone();
        let mut conversions = self.conversions.clone();
        let old = kernel.updates.then(|| old_values(&mut kernel, result, &mut conversions));
        let stmt = std::mem::take(&mut kernel.stmt);
        if let Some(stmt) = assigned_once(&kernel, (result, old), stmt, &mut Vec::new()) {
            self.kernel = Kernel { stmt, updates: false, ..kernel };
            self.conversions = conversions;
        }
    }

    /// Gives the statement the variable or the workspace that it needs. One that adds to earlier values, or that appends as it is,
    /// stays as it is.
    fn finish(&mut self) -> Result<(), Diagnostic> {
        let nothing = Schedule::default();
        let is_dense = self.kernel.tensors[self.result].format.is_dense();
        if (is_dense && !self.kernel.updates) || finish::check(&self.kernel, &nothing).is_err() {
            finish::finish(&mut self.kernel, &nothing)?;
        }
        finish::assign_appended(&mut self.kernel);
        Ok(())
    }

    /// Reads operands that are stored by other dimensions than the loops know from tensors without a map. Returns the format of a
    /// result of that kind, which is converted back.
    fn leave_maps(&mut self) -> Option<Format> {
        for (assign, _) in given::known_orders(&self.kernel) {
            for key in storage::distinct_accesses(&assign.rhs) {
                let tensor = &self.kernel.tensors[key.tensor];
                if let Some(map) = tensor.format.map() {
                    let (format, why) =
                        (without_map(tensor, map).fitted(&tensor.dims, 0), "the loops are over its dimensions");
                    read_converted(&mut self.kernel, &key, &format, why, &mut self.conversions, &mut self.notes);
                }
            }
        }
        let tensor = &mut self.kernel.tensors[self.result];
        let plain = without_map(tensor, tensor.format.map()?).fitted(&tensor.dims, 0);
        (tensor.dtype, tensor.fill) = stored_as(tensor, &plain);
        tensor.format = plain.clone();
        Some(plain)
    }

    /// Reads tensors whose values are coordinates of an indicator from dense ones.
    fn gather(&mut self) {
        for (assign, _) in given::known_orders(&self.kernel) {
            let read = (self.result, &assign.rhs);
            gathers::read_values(&mut self.kernel, read, &mut self.conversions, &mut self.notes);
        }
    }

    /// Reads operands that the loops cannot walk through from tensors in another format: each assignment from those that its loops can.
    fn convert_operands(&mut self) -> Result<(), Diagnostic> {
        // Computed tensors have their levels in the order of the loops, which the others are compared with.
        let mut arranged: Vec<TensorId> = Vec::new();
        for (assign, order) in given::known_orders(&self.kernel) {
            for (key, format) in storage::discordant(&self.kernel, &assign.lhs, &assign.rhs, &order) {
                if self.kernel.tensors[key.tensor].is_in_any_order() && !arranged.contains(&key.tensor) {
                    self.kernel.tensors[key.tensor].format = format;
                    arranged.push(key.tensor);
                }
            }
        }
        let mut read: Vec<Vec<(AccessKey, TensorId)>> = Vec::new();
        for (assign, order) in given::known_orders(&self.kernel) {
            let mut own = Vec::new();
            for (key, format) in storage::discordant(&self.kernel, &assign.lhs, &assign.rhs, &order) {
                let info = &self.kernel.tensors[key.tensor];
                if info.is_in_any_order() {
                    own.push((key.clone(), self.computed_again(key.tensor, format)));
                    continue;
                }
                let is_given = matches!(info.role, Role::Input | Role::Indicator);
                if given::is_positioned(&self.kernel, key.tensor, &key.vars) || !is_given {
                    return Err(self.contradicted(key.tensor));
                }
                let why = "the loops take its coordinates in another way";
                let (conversions, notes) = (&mut self.conversions, &mut self.notes);
                let tensor = stored_otherwise(&mut self.kernel, key.tensor, &format, why, conversions, notes);
                own.push((key, tensor));
            }
            read.push(own);
        }
        let mut read = read.into_iter();
        self.kernel.stmt.visit_assigns_mut(&mut |assign| {
            let own = read.next().unwrap_or_default();
            let to = |access: &Access| {
                own.iter().find(|(key, _)| *key == AccessKey::from(access)).map(|(_, tensor)| *tensor)
            };
            assign.rhs = rename(assign.rhs.clone(), &to);
        });
        Ok(())
    }

    /// A computed tensor with its levels in the order of a format.
    fn computed_again(&mut self, tensor: TensorId, format: Format) -> TensorId {
        let info = self.kernel.tensors[tensor].clone();
        let is_same = |other: &Tensor| (&other.indicator, &other.format) == (&info.indicator, &format);
        let known = self.kernel.tensors.iter().find(|(_, other)| is_same(other)).map(|(id, _)| id);
        known.unwrap_or_else(|| {
            let name = free_name(&self.kernel.tensors, &format!("{}_by_order", info.name));
            self.kernel.tensors.push(Tensor { name, format, ..info })
        })
    }

    fn contradicted(&self, tensor: TensorId) -> Diagnostic {
        let mut refusal = finish::contradicted(&self.kernel, tensor, &Schedule::default());
        let mut place = Span::NONE;
        self.kernel.stmt.visit_assigns(&mut |assign| {
            let found = assign.rhs.accesses().into_iter().find(|access| access.tensor == tensor);
            place = found.map_or(place, |access| access.span);
        });
        refusal.labels.iter_mut().for_each(|label| label.span = place);
        refusal
    }

    /// Assembles a result that the loops cannot append to in another format, which is given.
    fn assemble_result(&mut self, request: &Request<'_>) -> Result<Option<Format>, Diagnostic> {
        let tensor = &self.kernel.tensors[self.result];
        if self.kernel.updates && !tensor.format.is_dense() {
            let message = format!("`{}` ({}) is sparse and cannot be updated in place", tensor.name, tensor.format);
            let hint = format!("store `{}` densely, or combine with its earlier values in index notation", tensor.name);
            return Err(Diagnostic::error("E1214", message).label(Span::NONE, "these loops").hint(hint));
        }
        let wanted = tensor.format.clone();
        let assigned =
            given::known_orders(&self.kernel).into_iter().find(|(assign, _)| assign.lhs.tensor == self.result);
        let Some((assign, order)) = assigned else { return Ok(None) };
        let format = storage::assembled_format(&self.kernel, &assign.lhs, &order);
        let Some(format) = format.filter(|format| *format != wanted) else { return Ok(None) };
        let keeps_loops =
            request.schedule.is_none_or(given::keeps_loops) && self.kernel.provenance.relations.is_empty();
        let is_nest = finish::chain(&self.kernel.stmt).1 == &Stmt::Assign(assign.clone());
        let Assign { lhs, op, rhs } = &assign;
        if keeps_loops && is_nest && same::take(&mut self.kernel, (lhs, *op, rhs), &mut self.notes) {
            return Ok(None);
        }
        let tensor = &mut self.kernel.tensors[self.result];
        self.notes.push(format!("`{}` is assembled as {format} and then converted to {wanted}", tensor.name));
        (tensor.dtype, tensor.fill) = stored_as(tensor, &format);
        tensor.format = format.clone();
        Ok(Some(format))
    }
}

/// The statement in which each workspace is read by a consumer: parts of a producer that read what other parts before them have filled are a
/// consumer of these, and a producer inside of it. Parts beside a workspace with marks that are read in order consume it, too: it is counted
/// for one producer.
///
/// ```text
/// where(R(j) = w(j), sequence(v(j) += .., w(j) += v(j)))  ->  where(where(R(j) = w(j), w(j) += v(j)), v(j) += ..)
/// ```
fn with_consumers(kernel: &Kernel, stmt: Stmt) -> Stmt {
    let is_counted = |tensor: &TensorId| kernel.tensors[*tensor].role == Role::Workspace(WorkspaceKind::Bitmap);
    let together = |mut parts: Vec<Stmt>| if parts.len() == 1 { parts.remove(0) } else { Stmt::Sequence(parts) };
    match stmt {
        Stmt::Assign(_) => stmt,
        Stmt::Forall(var, body) => Stmt::Forall(var, Box::new(with_consumers(kernel, *body))),
        Stmt::Sequence(stmts) => Stmt::Sequence(stmts.into_iter().map(|stmt| with_consumers(kernel, stmt)).collect()),
        Stmt::Where { consumer, producer } => {
            let (consumer, producer) = (with_consumers(kernel, *consumer), with_consumers(kernel, *producer));
            let Stmt::Sequence(mut parts) = producer else {
                return Stmt::Where { consumer: Box::new(consumer), producer: Box::new(producer) };
            };
            let filled = |parts: &[Stmt]| parts.iter().flat_map(Stmt::writes).collect::<Vec<TensorId>>();
            let splits = |place: &usize| {
                let (before, behind) = (filled(&parts[..*place]), filled(&parts[*place..]));
                let reads = |part: &Stmt| before.iter().any(|tensor| reads(part, *tensor));
                let is_needed = parts[*place..].iter().any(reads) || before.iter().chain(&behind).any(is_counted);
                is_needed && !before.iter().any(|tensor| behind.contains(tensor))
            };
            let Some(place) = (1..parts.len()).find(splits) else {
                return Stmt::Where { consumer: Box::new(consumer), producer: Box::new(Stmt::Sequence(parts)) };
            };
            let behind = Box::new(together(parts.split_off(place)));
            let inner = with_consumers(kernel, Stmt::Where { consumer: Box::new(consumer), producer: behind });
            Stmt::Where { consumer: Box::new(inner), producer: Box::new(together(parts)) }
        }
    }
}

/// True if a statement reads a tensor.
fn reads(stmt: &Stmt, tensor: TensorId) -> bool {
    let mut is_read = false;
    stmt.visit_assigns(&mut |assign| is_read |= assign.rhs.accesses().iter().any(|access| access.tensor == tensor));
    is_read
}

/// The statement with a result that is assigned, with its old values combined with the new ones; `None` if a loop sums into it.
fn assigned_once(
    kernel: &Kernel,
    result: (TensorId, Option<TensorId>),
    stmt: Stmt,
    loops: &mut Vec<VarId>,
) -> Option<Stmt> {
    Some(match stmt {
        Stmt::Assign(mut assign) if assign.lhs.tensor == result.0 => {
            if loops.iter().any(|leaf| finish::is_summed(kernel, &assign, *leaf)) {
                return None;
            }
            if let (Some(old), AssignOp::Reduce(monoid)) = (result.1, assign.op) {
                assign.rhs = combined(kernel, monoid, Access { tensor: old, ..assign.lhs.clone() }, assign.rhs);
            }
            assign.op = AssignOp::Set;
            Stmt::Assign(assign)
        }
        Stmt::Assign(assign) => Stmt::Assign(assign),
        Stmt::Forall(var, body) => {
            loops.push(var);
            let body = assigned_once(kernel, result, *body, loops)?;
            loops.pop();
            Stmt::Forall(var, Box::new(body))
        }
        Stmt::Where { consumer, producer } => {
            Stmt::Where { consumer: Box::new(assigned_once(kernel, result, *consumer, loops)?), producer }
        }
        Stmt::Sequence(stmts) => {
            let assigned = stmts.into_iter().map(|stmt| assigned_once(kernel, result, stmt, loops));
            Stmt::Sequence(assigned.collect::<Option<_>>()?)
        }
    })
}

/// The command that gives a loop a tag.
fn command(kernel: &Kernel, var: VarId, tag: Tag) -> Command {
    let var = name(kernel, var);
    let span = var.span;
    let kind = match tag {
        Tag::Parallel(unit, race) => CommandKind::Parallelize { var, unit, race },
        Tag::Unroll(times) => CommandKind::Unroll { var, times },
        Tag::Merge(strategy) => CommandKind::Mergeby { var, strategy },
    };
    Command { kind, span }
}

fn name(kernel: &Kernel, var: VarId) -> Name {
    let var = &kernel.vars[var];
    Name { text: var.name.clone(), span: var.span }
}

/// Checks that every relation could have been made by its command, in a statement with loops over the variables before it.
fn check_relations(kernel: &Kernel) -> Result<(), Diagnostic> {
    let kernel = &without_names(kernel.clone());
    let relations = &kernel.provenance.relations;
    for (place, relation) in relations.iter().enumerate() {
        let Some(kind) = made_by(kernel, relation) else { continue };
        let mut probe = kernel.clone();
        probe.stmt = relations[place..].iter().rev().fold(probe.stmt, undone);
        probe.provenance.relations.truncate(place);
        let span = relation.parents().first().map_or(Span::NONE, |parent| kernel.vars[*parent].span);
        // A workspace over parts, or over another name, of a variable that is not cut yet is no fault.
        if let Err(refusal) = apply(&probe, &Command { kind, span })
            && refusal.category == Category::User
        {
            return Err(refusal);
        }
    }
    Ok(())
}

/// The kernel with every variable under its first name.
fn without_names(mut kernel: Kernel) -> Kernel {
    let relations = std::mem::take(&mut kernel.provenance.relations);
    for relation in relations.iter().rev() {
        let Relation::Rename { parent, copy } = *relation else {
            kernel.provenance.relations.insert(0, relation.clone());
            continue;
        };
        let first = |var: &mut VarId| *var = if *var == copy { parent } else { *var };
        kernel.stmt = with_vars(kernel.stmt, &first);
        for relation in &mut kernel.provenance.relations {
            match relation {
                Relation::Split { parent, .. } | Relation::Divide { parent, .. } | Relation::Bound { parent, .. } => {
                    first(parent);
                }
                Relation::Fuse { outer, inner, .. } => [outer, inner].into_iter().for_each(first),
                Relation::Pos { coordinate, access, .. } => {
                    first(coordinate);
                    access.vars.iter_mut().for_each(first);
                }
                Relation::Coord { position, .. } => first(position),
                Relation::Rename { .. } => {}
            }
        }
    }
    let mut names: Vec<(VarId, VarId)> = Vec::new();
    for relation in std::mem::take(&mut kernel.provenance.relations) {
        let relation = relation.map(|var| first_name(&names, var));
        match kernel.provenance.relations.iter().find(|other| is_made_again(other, &relation)) {
            Some(other) => names.extend(relation.children().into_iter().zip(other.children())),
            None => kernel.provenance.relations.push(relation),
        }
    }
    kernel.stmt = with_vars(kernel.stmt, &|var: &mut VarId| *var = first_name(&names, *var));
    kernel
}

fn first_name(names: &[(VarId, VarId)], var: VarId) -> VarId {
    names.iter().find(|(name, _)| *name == var).map_or(var, |(_, first)| *first)
}

/// True if two relations have the same kind, the same sizes and the same parents. A producer has other names for the variables that its
/// consumer has.
fn is_made_again(one: &Relation, other: &Relation) -> bool {
    let (ours, theirs) = (one.children(), other.children());
    let renamed = other.map(|var| {
        theirs.iter().position(|child| *child == var).map_or(var, |place| ours.get(place).copied().unwrap_or(var))
    });
    let alike = match (one, &renamed) {
        (
            Relation::Pos { coordinate, position, access },
            Relation::Pos { coordinate: a, position: b, access: read },
        ) => (coordinate, position) == (a, b) && AccessKey::from(access) == AccessKey::from(read),
        (one, renamed) => one == renamed,
    };
    ours.len() == theirs.len() && alike
}

/// A statement with other variables.
fn with_vars(stmt: Stmt, to: &impl Fn(&mut VarId)) -> Stmt {
    fn renamed(expr: Expr, to: &impl Fn(&mut VarId)) -> Expr {
        match expr.kind {
            ExprKind::Access(mut access) => {
                access.vars.iter_mut().for_each(to);
                Expr { kind: ExprKind::Access(access), ..expr }
            }
            _ => expr.map_children(&mut |child| renamed(child, to)),
        }
    }
    match stmt {
        Stmt::Assign(mut assign) => {
            assign.lhs.vars.iter_mut().for_each(to);
            assign.rhs = renamed(assign.rhs, to);
            Stmt::Assign(assign)
        }
        Stmt::Forall(mut var, body) => {
            to(&mut var);
            Stmt::Forall(var, Box::new(with_vars(*body, to)))
        }
        Stmt::Where { consumer, producer } => {
            Stmt::Where { consumer: Box::new(with_vars(*consumer, to)), producer: Box::new(with_vars(*producer, to)) }
        }
        Stmt::Sequence(stmts) => Stmt::Sequence(stmts.into_iter().map(|stmt| with_vars(stmt, to)).collect()),
    }
}

/// The command that makes a relation; `None` for names.
fn made_by(kernel: &Kernel, relation: &Relation) -> Option<CommandKind> {
    let name = |var: VarId| name(kernel, var);
    Some(match relation.clone() {
        Relation::Split { parent, outer, inner, size } => {
            CommandKind::Split { var: name(parent), outer: name(outer), inner: name(inner), size }
        }
        Relation::Divide { parent, outer, inner, parts } => {
            CommandKind::Divide { var: name(parent), outer: name(outer), inner: name(inner), parts }
        }
        Relation::Fuse { outer, inner, fused } => {
            CommandKind::Fuse { outer: name(outer), inner: name(inner), fused: name(fused) }
        }
        Relation::Pos { coordinate, position, access } => {
            CommandKind::Pos { var: name(coordinate), position: name(position), access }
        }
        Relation::Coord { position, coordinate } => {
            CommandKind::Coord { position: name(position), coordinate: name(coordinate) }
        }
        Relation::Bound { parent, bounded, size, kind } => {
            CommandKind::Bound { var: name(parent), bounded: name(bounded), size, kind }
        }
        Relation::Rename { .. } => return None,
    })
}

/// The statement with loops over the variables that a relation is made of, instead of those that it makes.
fn undone(stmt: Stmt, relation: &Relation) -> Stmt {
    match stmt {
        Stmt::Assign(_) => stmt,
        Stmt::Forall(var, body) => {
            let body = undone(*body, relation);
            let instead = |vars: &[VarId]| Stmt::foralls(vars, body.clone());
            match *relation {
                Relation::Split { parent, outer, .. } | Relation::Divide { parent, outer, .. } if var == outer => {
                    instead(&[parent])
                }
                Relation::Split { inner, .. } | Relation::Divide { inner, .. } if var == inner => body,
                Relation::Fuse { outer, inner, fused } if var == fused => instead(&[outer, inner]),
                Relation::Pos { coordinate, position, .. } if var == position => instead(&[coordinate]),
                Relation::Coord { position, coordinate } if var == coordinate => instead(&[position]),
                Relation::Bound { parent, bounded, .. } if var == bounded => instead(&[parent]),
                _ => Stmt::Forall(var, Box::new(body)),
            }
        }
        Stmt::Where { consumer, producer } => Stmt::Where {
            consumer: Box::new(undone(*consumer, relation)),
            producer: Box::new(undone(*producer, relation)),
        },
        Stmt::Sequence(stmts) => Stmt::Sequence(stmts.into_iter().map(|stmt| undone(stmt, relation)).collect()),
    }
}

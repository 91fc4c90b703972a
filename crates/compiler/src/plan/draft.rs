//! A plan in the making: the steps from a statement to the kernel that the lowering accepts.
//!
//! ```text
//! a(i) += B(j,i) * a(i)     read_old_values      a_old beside a
//!   ordered                 the order i, j
//!   convert_operands        B_by_order: csc of B
//!   assemble_result         a is appended to as it is
//!   make_loops              where(.., ..) inside forall(i, ..), then the schedule's commands
//!   choose                  threads, lanes
//! ```
//!
//! On entry: a statement in reduction notation. On exit: a [`Plan`], verified. If the schedule needs a nest of loops and nothing
//! else ([`given::flat_nest`]), its commands are carried out first, and the order follows from them.

use lacunar_base::Diagnostic;
use lacunar_formats::{DType, Format};
use lacunar_notation::concrete::{Assign, Kernel, verify};
use lacunar_notation::schedule::{Assembly, Command, CommandKind, Schedule};
use lacunar_notation::stored::StoredSpace;
use lacunar_notation::{Access, AssignOp, Assignment, Expr, ExprKind, Monoid, Role, Tensor, TensorId, VarId};

use super::commands::order_command;
use super::convert::{free_name, old_values, read_converted, read_from, rename, stored_as};
use super::{
    Conversion, Plan, Request, Search, Source, across, auto, cost, factor, finish, gathers, given, insert, lists,
    order, same, storage, terms, workspaces,
};
use crate::algebra::{background, fills, is_left_out, preserves_fill, selected};
use crate::concretize::{concretize, flatten, one_sum};
use crate::iterate::iterators::AccessKey;
use crate::schedule::apply_all;
use crate::structure::mirror::{self, Mirror};
use crate::structure::{followers, packed};

/// Plans a statement.
pub(super) fn draft(source: Source<'_>, request: &Request<'_>) -> Result<Plan, Diagnostic> {
    let mut draft = Draft::new(source, request);
    draft.read_old_values();
    gathers::read_values(&mut draft.kernel, (draft.result, &draft.rhs), &mut draft.conversions, &mut draft.notes);
    let mut schedule = request.schedule.cloned().unwrap_or_default();
    // A command about a tensor applies to the tensor that the statement reads in its place.
    for command in &mut schedule.commands {
        given::redirect(&mut command.kind, &draft.rhs, &draft.conversions);
    }
    let (orders, others) = given::orders_first(&schedule);
    draft.warn_if_full();
    draft.note_what_is_visited();
    let mirrors = draft.mirrored()?;
    let is_flat = draft.make_flat_nest(&schedule, &mirrors)?;
    let order = match is_flat {
        true => draft.order_of_nest(),
        false => draft.ordered(&orders)?,
    };
    draft.convert_operands(&order, is_flat, &schedule)?;
    let wanted = draft.kernel.tensors[draft.result].format.clone();
    let convert_result = draft.assemble_result(&order);
    match is_flat {
        true => finish::finish(&mut draft.kernel, &schedule)?,
        false => {
            let in_registers = source.rewritten.is_some();
            // The places of a result that others are combined with as well are not set.
            let op = if mirrors.is_empty() { draft.op } else { AssignOp::Set };
            concretize(&mut draft.kernel, &draft.lhs, op, &draft.rhs, &order, in_registers);
            mirror::beside(&mut draft.kernel, &mirrors, &|access| read_for(access, &draft.rhs, &draft.conversions))?;
        }
    }
    workspaces::choose(&mut draft.kernel, &mut draft.notes);
    if !is_flat {
        draft.transform(&others, !given::wants_flat_nest(&schedule))?;
    }
    let chosen = draft.choose(&order);
    draft.follow(source.rewritten.is_some());
    draft.convert_tried(&schedule)?;
    draft.check(&schedule)?;
    let Draft { kernel, result, conversions, notes, warnings, is_full, .. } = draft;
    let rewritten = source.rewritten;
    let plain = rewritten.filter(|rewritten| rewritten.result_without_map).map(|_| wanted);
    let convert_result = convert_result.or(plain);
    let statement = rewritten.map_or(draft.statement, |rewritten| rewritten.written.clone());
    let schedule = request.schedule.cloned().unwrap_or(Schedule { commands: chosen });
    let copied = None;
    Ok(Plan { kernel, result, statement, conversions, copied, convert_result, notes, warnings, is_full, schedule })
}

/// The decisions so far.
struct Draft<'a> {
    request: &'a Request<'a>,
    kernel: Kernel,
    result: TensorId,
    /// The statement in reduction notation.
    statement: Assignment,
    /// It, as it is computed.
    lhs: Access,
    op: AssignOp,
    rhs: Expr,
    conversions: Vec<Conversion>,
    notes: Vec<String>,
    warnings: Vec<String>,
    is_full: bool,
}

impl<'a> Draft<'a> {
    fn new(source: Source<'_>, request: &'a Request<'a>) -> Draft<'a> {
        let Source { program, rewritten, .. } = source;
        let mut kernel = Kernel { tensors: program.tensors.clone(), vars: program.vars.clone(), ..Kernel::default() };
        let result = source.statement.lhs.tensor;
        for tensor in program.tensors.handles() {
            let role = &mut kernel.tensors[tensor].role;
            *role = match *role {
                Role::Index | Role::Indicator => *role,
                _ if tensor == result => Role::Result,
                _ => Role::Input,
            };
        }
        kernel.stored = rewritten.map_or_else(StoredSpace::default, |rewritten| rewritten.space.clone());
        let statement = source.explicit(&mut kernel.vars);
        let rhs = source.computed(&statement, request, &kernel.vars);
        let mut notes = rewritten.map_or_else(Vec::new, |rewritten| rewritten.notes.clone());
        if rhs != statement.rhs {
            notes.push("what a reduction meets wherever nothing is stored is combined once".to_string());
        }
        Draft {
            request,
            result,
            lhs: statement.lhs.clone(),
            op: statement.op,
            rhs,
            kernel,
            statement,
            conversions: rewritten.map_or_else(Vec::new, |rewritten| rewritten.aliases.clone()),
            notes,
            warnings: Vec::new(),
            is_full: false,
        }
    }

    /// Makes a tensor for the result's old values, if they are read or cannot be added to in place.
    fn read_old_values(&mut self) {
        let result = self.result;
        if self.rhs.accesses().iter().any(|access| access.tensor == result) {
            let old = old_values(&mut self.kernel, result, &mut self.conversions);
            self.rhs = rename(self.rhs.clone(), &|access| (access.tensor == result).then_some(old));
            let name = &self.kernel.tensors[result].name;
            self.notes.push(format!("`{name}` is read and written: its old values are kept beside it"));
        }
        let dtype = self.kernel.tensors[result].dtype;
        if let AssignOp::Reduce(monoid) = self.op
            && (!self.kernel.tensors[result].format.is_dense() || dtype.is_storage())
        {
            let old = old_values(&mut self.kernel, result, &mut self.conversions);
            self.rhs = combined(&self.kernel, monoid, Access { tensor: old, ..self.lhs.clone() }, self.rhs.clone());
            self.op = AssignOp::Set;
        }
        self.kernel.updates = self.op != AssignOp::Set;
    }

    /// Notes reductions that visit every coordinate, because absent elements change their values.
    fn note_what_is_visited(&mut self) {
        let tensors = &self.kernel.tensors;
        let mut notes = Vec::new();
        self.rhs.visit(&mut |expr| {
            if let ExprKind::Reduce(monoid, vars, body) = &expr.kind
                && let Some(found) = background(tensors, body).filter(|found| found.absent)
                && !is_left_out(*monoid, found.value)
            {
                let vars: Vec<&str> = vars.iter().map(|var| self.kernel.vars[*var].name.as_str()).collect();
                let (vars, body, value) = (vars.join("`, `"), self.kernel.expr_text(body), found.value);
                notes.push(format!(
                    "`{}` over `{vars}` visits every coordinate: `{body}` is {value} where nothing is stored, which is not left out",
                    monoid.name()
                ));
            }
        });
        self.notes.extend(notes);
    }

    /// Warns if a sparse result is given every element.
    fn warn_if_full(&mut self) {
        let result = &self.kernel.tensors[self.result];
        let assign = Assign { lhs: self.lhs.clone(), op: self.op, rhs: self.rhs.clone() };
        let is_selected = selected(&self.kernel.tensors, &assign).is_some();
        if result.format.is_dense()
            || self.op != AssignOp::Set
            || is_selected
            || preserves_fill(&self.kernel.tensors, &assign)
        {
            return;
        }
        let due = fills(&self.kernel.tensors, &self.rhs, result.fill());
        let due = match background(&self.kernel.tensors, due) {
            Some(found) => format!("`{}` is {} where nothing is stored", self.kernel.expr_text(due), found.value),
            None => format!("`{}` has a value everywhere", self.kernel.expr_text(due)),
        };
        let full = format!("`{}` ({}) gets every element: {due}", result.name, result.format);
        self.warnings.push(full);
        self.is_full = true;
    }

    /// Finds the elements that follow from the stored ones of structured tensors, and splits the statement into terms, each with the
    /// products that stand beside it.
    fn mirrored(&mut self) -> Result<Vec<Mirror>, Diagnostic> {
        let tensors = &self.kernel.tensors;
        let is_unique = |access: &Access| tensors[access.tensor].is_unique;
        if !self.rhs.accesses().into_iter().any(is_unique) {
            return Ok(Vec::new());
        }
        let statement = Assignment { rhs: self.rhs.clone(), ..self.statement.clone() };
        let fault = || Diagnostic::internal("a statement reads unique elements alone, but can't be mirrored");
        let mirrors = mirror::mirrors(tensors, &statement).ok_or_else(fault)?;
        self.rhs = mirror::as_terms(tensors, &self.rhs);
        for found in &mirrors {
            let name = &tensors[found.access.tensor].name;
            let note = format!("`{name}` is read once: what follows from its elements is computed beside them");
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        Ok(mirrors)
    }

    /// Makes a nest of loops and nothing else, and carries out a schedule that needs it; tells if the schedule does and there is
    /// such a nest.
    fn make_flat_nest(&mut self, schedule: &Schedule, mirrors: &[Mirror]) -> Result<bool, Diagnostic> {
        if !given::wants_flat_nest(schedule) {
            return Ok(false);
        }
        let sum = one_sum(self.rhs.clone());
        let natural = order::natural_order(&self.kernel, &self.lhs, given::summand(&sum));
        let Some(nest) = given::flat_nest(&self.lhs, self.op, &sum, &natural) else { return Ok(false) };
        self.kernel.stmt = nest;
        mirror::beside(&mut self.kernel, mirrors, &|access| access.tensor)?;
        self.kernel = apply_all(&self.kernel, &schedule.commands)?.0;
        Ok(true)
    }

    /// The order in which the loops of a nest make the variables of the result's assignment known.
    fn order_of_nest(&self) -> Vec<VarId> {
        let mut orders = given::known_orders(&self.kernel).into_iter();
        orders.find(|(assign, _)| assign.lhs.tensor == self.result).map(|(_, order)| order).unwrap_or_default()
    }

    /// The order of the loops: searched for, then as the schedule says.
    fn ordered(&mut self, orders: &[&Command]) -> Result<Vec<VarId>, Diagnostic> {
        let Request { search, strict, memory, .. } = *self.request;
        let mut choice = order::choose(&self.kernel, &self.lhs, &self.rhs, search, memory);
        // A sum inside a product can be done first, or for each term of the product: the cheaper is chosen. A strict kernel
        // computes the expression as written.
        let flat = flatten(&self.kernel.tensors, self.rhs.clone());
        let is_mirrored = self.rhs.accesses().iter().any(|access| self.kernel.tensors[access.tensor].is_unique);
        if flat != self.rhs && !strict && !is_mirrored {
            let other = order::choose(&self.kernel, &self.lhs, &flat, search, memory);
            if other.cost < choice.cost || search == Search::Plain {
                (self.rhs, choice) = (flat, other);
            } else if self.rhs.reduced_vars().len() > 1 {
                self.notes.push("sums inside of sums are formed first".to_string());
            }
        }
        if search == Search::Cost
            && !strict
            && !is_mirrored
            && let Some((other, factored)) = {
                let flat = flatten(&self.kernel.tensors, self.rhs.clone());
                order::choose_factored(&self.kernel, &self.lhs, &flat, choice.cost, memory)
            }
        {
            (self.rhs, choice) = (factored, other);
            self.notes.push("common factors are multiplied behind the inner sums".to_string());
        }
        for command in orders {
            if let CommandKind::Reorder(names) = &command.kind {
                choice.order = given::reordered(&self.kernel, &choice.order, names)?;
                choice.reason = "given".to_string();
            }
        }
        // Common factors of a product over the inner loops can be multiplied behind them.
        if search == Search::Cost && !strict && !is_mirrored && factor::may_factor(&self.kernel, &self.lhs, &self.rhs) {
            let cost = cost::cost(&self.kernel, &self.lhs, &self.rhs, &choice.order, memory);
            let factored = factor::factor(self.rhs.clone(), &choice.order);
            let less = cost::cost(&self.kernel, &self.lhs, &factored, &choice.order, memory);
            if factored != self.rhs && less < cost {
                self.rhs = factored;
                let note = format!("common factors are multiplied behind the inner sums (estimated work {less:.3e})");
                self.notes.push(note);
            }
        }
        let names: Vec<&str> = choice.order.iter().map(|var| self.kernel.vars[*var].name.as_str()).collect();
        if !names.is_empty() {
            self.notes.push(format!("loop order {} ({})", names.join(", "), choice.reason));
        }
        Ok(choice.order)
    }

    /// Reads operands whose storage order contradicts the loops from tensors in another format.
    fn convert_operands(&mut self, order: &[VarId], is_flat: bool, schedule: &Schedule) -> Result<(), Diagnostic> {
        let read: Vec<(Access, Expr, Vec<VarId>)> = match is_flat {
            true => {
                lists::arrange(&mut self.kernel);
                let orders = given::known_orders(&self.kernel);
                orders.into_iter().map(|(assign, order)| (assign.lhs, assign.rhs, order)).collect()
            }
            false => vec![(self.lhs.clone(), self.rhs.clone(), order.to_vec())],
        };
        let mut discordant: Vec<(AccessKey, Format)> = Vec::new();
        for (key, format) in
            read.iter().flat_map(|(lhs, rhs, order)| storage::discordant(&self.kernel, lhs, rhs, order))
        {
            if !discordant.iter().any(|(known, _)| *known == key) {
                discordant.push((key, format));
            }
        }
        for (key, format) in discordant.clone() {
            let source = key.tensor;
            // Most indicators have their levels in any order: they are computed. Values of a tensor are coordinates in the order in which
            // they are stored, and those of a border in that of its variables.
            let tensor = &self.kernel.tensors[source];
            if tensor.is_in_any_order() {
                let is_other = |access: &AccessKey| access.tensor == source && *access != key;
                let agrees =
                    |access: &AccessKey| discordant.iter().any(|(other, wanted)| other == access && *wanted == format);
                let mut accesses = read.iter().flat_map(|(_, rhs, _)| storage::distinct_accesses(rhs));
                let own = match accesses.any(|access| is_other(&access) && !agrees(&access)) {
                    // Another access of it has an order of its own.
                    true => {
                        let name = free_name(&self.kernel.tensors, &tensor.name);
                        let copy = Tensor { name, ..tensor.clone() };
                        self.kernel.tensors.push(copy)
                    }
                    false => source,
                };
                self.kernel.tensors[own].format = format;
                read_from(&mut self.kernel, &key, own);
                self.rhs = rename(self.rhs.clone(), &|access| (AccessKey::from(access) == key).then_some(own));
                continue;
            }
            if given::is_positioned(&self.kernel, source, &key.vars) {
                return Err(finish::contradicted(&self.kernel, source, schedule));
            }
            let own = &self.kernel.tensors[source].format;
            let own_role = self.kernel.tensors[source].role;
            let why = match own.plain() == format {
                true if own.levels().iter().any(|level| !level.properties().ordered) => {
                    "its coordinates have to be in order in this statement"
                }
                true => "its levels cannot be walked through in this statement",
                false if own_role == Role::Indicator => "the loops go through its values, not their places",
                false => "its storage order contradicts the order of the loops",
            };
            let tensor = self.read_converted(&key, &format, why);
            self.rhs = rename(self.rhs.clone(), &|access| (AccessKey::from(access) == key).then_some(tensor));
        }
        Ok(())
    }

    fn read_converted(&mut self, key: &AccessKey, format: &Format, why: &str) -> TensorId {
        read_converted(&mut self.kernel, key, format, why, &mut self.conversions, &mut self.notes)
    }

    /// Assembles a result that cannot be appended to in an order in another format, which is given.
    fn assemble_result(&mut self, order: &[VarId]) -> Option<Format> {
        let wanted = self.kernel.tensors[self.result].format.clone();
        let format = storage::assembled_format(&self.kernel, &self.lhs, order).filter(|format| *format != wanted)?;
        let keeps_loops = self.request.schedule.is_none_or(given::keeps_loops);
        if keeps_loops && same::take(&mut self.kernel, (&self.lhs, self.op, &self.rhs), &mut self.notes) {
            return None;
        }
        let tensor = &mut self.kernel.tensors[self.result];
        self.notes.push(format!("`{}` is assembled as {format} and then converted to {wanted}", tensor.name));
        (tensor.dtype, tensor.fill) = stored_as(tensor, &format);
        tensor.format = format.clone();
        Some(format)
    }

    /// Carries out commands on the loops of the planned statement, which is `single` where a nest of loops could not do.
    fn transform(&mut self, commands: &[&Command], single: bool) -> Result<(), Diagnostic> {
        let terms = "the commands apply to the loops of a planned statement, for it is more than one sum";
        let made = apply_all(&self.kernel, commands.iter().copied());
        self.kernel = made.map_err(|refusal| if single { refusal } else { refusal.note(terms) })?.0;
        Ok(())
    }

    /// Adds the planner's commands if the user gives none; gives these commands, with the order.
    fn choose(&mut self, order: &[VarId]) -> Vec<Command> {
        if self.request.search != Search::Cost || self.request.schedule.is_some() {
            return Vec::new();
        }
        let mut chosen: Vec<Command> = order_command(&self.kernel, order).into_iter().collect();
        chosen.extend(across::tiles(&mut self.kernel, self.request.memory, &mut self.notes));
        chosen.extend(terms::apart(&mut self.kernel, self.request.memory, &mut self.notes));
        chosen.extend(auto::schedule(&mut self.kernel, self.request.grain, &mut self.notes));
        chosen
    }

    /// Finds the elements of the result that follow from others, and need not be computed.
    fn follow(&mut self, is_rewritten: bool) {
        if let Some(packing) = self.kernel.tensors[self.result].format.packing().filter(|_| !is_rewritten) {
            self.kernel.followers = packed(packing);
            return;
        }
        if is_rewritten || self.kernel.updates {
            return;
        }
        self.kernel.followers = followers(&self.kernel.tensors, &self.kernel.vars, &self.statement);
        if self.kernel.followers.is_some() {
            let name = &self.kernel.tensors[self.result].name;
            self.notes.push(format!("elements of `{name}` that follow from others are copied"));
        }
    }

    /// Converts operands that loops over parts of a dimension would look up at every coordinate.
    fn convert_tried(&mut self, schedule: &Schedule) -> Result<(), Diagnostic> {
        for (assign, _) in given::known_orders(&self.kernel) {
            for key in storage::distinct_accesses(&assign.rhs) {
                let input = self.kernel.tensors[key.tensor].role == Role::Input;
                if input && storage::is_tried(&self.kernel, &assign, &key) {
                    if given::is_positioned(&self.kernel, key.tensor, &key.vars) {
                        return Err(finish::contradicted(&self.kernel, key.tensor, schedule));
                    }
                    let format = self.kernel.tensors[key.tensor].format.plain();
                    self.read_converted(&key, &format, "loops over parts of a dimension take its coordinates in order");
                }
            }
        }
        Ok(())
    }

    /// Checks that the kernel can be lowered, and that the schedule's promises hold.
    fn check(&mut self, schedule: &Schedule) -> Result<(), Diagnostic> {
        if self.request.schedule.is_some() {
            finish::check(&self.kernel, schedule)?;
            insert::check(&self.kernel, self.result, &self.conversions, schedule)?;
        }
        if self.kernel.assembly == Assembly::Insert {
            let name = &self.kernel.tensors[self.result].name;
            self.notes.push(format!("`{name}` comes into being in two phases: its pattern, then its values"));
        }
        verify(&self.kernel).map_err(|fault| Diagnostic::internal(format!("the plan is not well-formed: {fault}")))
    }
}

/// The tensor that an expression reads in place of another at the same coordinates.
fn read_for(access: &Access, rhs: &Expr, conversions: &[Conversion]) -> TensorId {
    let is_made = |own: &&&Access| {
        let made = Conversion { tensor: own.tensor, source: access.tensor };
        own.vars == access.vars && conversions.contains(&made)
    };
    rhs.accesses().iter().find(is_made).map_or(access.tensor, |own| own.tensor)
}

/// A result's earlier value combined with the value that is assigned to it; if its type is only stored, the outcome is rounded once.
pub(super) fn combined(kernel: &Kernel, monoid: Monoid, before: Access, value: Expr) -> Expr {
    let (function, dtype) = (monoid.function(), kernel.tensors[before.tensor].dtype);
    let before = Expr { span: before.span, kind: ExprKind::Access(before), dtype };
    if !dtype.is_storage() {
        return Expr::binary(function, before, value, dtype);
    }
    let exact = match value.kind {
        ExprKind::Cast(exact) => *exact,
        kind => Expr { kind, ..value },
    };
    let computed = monoid.operand(DType::promote(exact.dtype, dtype).arithmetic());
    Expr::binary(function, before.cast(computed), exact.cast(computed), computed).cast(dtype)
}

//! Planning: the order of the loops, and what has to be converted for it.
//!
//! On entry: one statement of a checked program. On exit: a [`Plan`]: a kernel in concrete notation that the lowering
//! accepts, the conversions of inputs it relies on, and whether its result has to be converted afterwards. No expression
//! is refused: where the storage orders of operands contradict each other, some are converted, and a note says so.
//!
//! `order` searches for the cheapest order under the cost model of `cost`; `storage` says which conversions an
//! order needs; `workspaces` chooses how temporaries are stored.
//!
//! Paper: Kjolstad et al. 2017, §4.2, requires the graph of storage orders to be acyclic and refuses the rest; Ahrens et al.,
//! *Autoscheduling for Sparse Tensor Algebra* (PLDI 2022), choose orders by asymptotic cost, as is done here with sizes.

mod auto;
mod candidates;
mod copy;
mod cost;
mod diagonals;
mod factor;
mod finish;
mod given;
mod insert;
mod lookup;
mod maps;
mod order;
mod skew;
mod storage;
mod tile;
mod workspaces;

pub use candidates::{Candidate, candidates};
pub use copy::Copied;
pub use insert::unknown_pattern;
pub use maps::over_stored_dimensions;

use lacunar_base::{Arena, Diagnostic, Span};
use lacunar_formats::{DType, Format, Scalar};
use lacunar_notation::concrete::{Kernel, Stmt, verify};
use lacunar_notation::schedule::{Assembly, CommandKind, Schedule};
use lacunar_notation::stored::StoredSpace;
use lacunar_notation::{
    Access, AssignOp, Assignment, BinaryFn, Expr, ExprKind, IndexVar, Program, ReduceOp, Role, Tensor, TensorId, VarId,
};

use crate::concretize::{concretize, flatten, one_sum};
use crate::iterate::iterators::AccessKey;
use crate::reduction::make_explicit;
use crate::schedule::apply_all;

/// What has to be done to run one statement.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The kernel. Its first tensors are those of the program, with the same handles.
    pub kernel: Kernel,
    /// The tensor of the program that is assigned to.
    pub result: TensorId,
    /// The statement in reduction notation, over the user's dimensions.
    pub statement: Assignment,
    /// Inputs of the kernel that are made of tensors of the program.
    pub conversions: Vec<Conversion>,
    /// The statement only stores a tensor otherwise: the kernel need not run, if the whole result is asked for.
    pub copied: Option<Copied>,
    /// The kernel's result has this format and is converted to the one the program asks for; to that of its stored dimensions
    /// first, where the kernel walks through these.
    pub convert_result: Option<Format>,
    /// What was chosen and why, for people.
    pub notes: Vec<String>,
    /// The schedule that was given, or chosen: given, it makes the same kernel.
    pub schedule: Schedule,
}

/// A tensor of a kernel that is another tensor in other storage, or its value before the statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversion {
    /// The tensor of the kernel.
    pub tensor: TensorId,
    /// The tensor of the program it is made of.
    pub source: TensorId,
}

/// Who chooses the order of the loops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Search {
    /// The cost model.
    #[default]
    Cost,
    /// Nobody: the first order that needs no conversion, or else the natural one.
    Plain,
}

/// What a plan has to respect.
#[derive(Clone, Copy, Debug, Default)]
pub struct Request<'a> {
    /// Who chooses the order of the loops.
    pub search: Search,
    /// Products are not taken out of sums, which would round otherwise.
    pub strict: bool,
    /// The user's schedule. Without one, the planner chooses.
    pub schedule: Option<&'a Schedule>,
}

/// Plans one statement of a program.
///
/// # Errors
/// Why the user's schedule cannot be carried out, with the place in its text; an internal error if the plan violates the
/// invariants of concrete notation.
pub fn plan(program: &Program, statement: &Assignment, request: &Request<'_>) -> Result<Plan, Diagnostic> {
    let rewritten = maps::requested(program, statement, request.schedule);
    let source = Source::new(program, statement, rewritten.as_ref());
    let mut plan = source.planned(request)?;
    if let (Search::Cost, None, Some(copied)) = (request.search, request.schedule, copy::copied(program, statement)) {
        let (result, source) = (&program.tensors[plan.result].name, &program.tensors[copied.source].name);
        plan.notes = vec![format!("`{result}` is `{source}`, stored otherwise: it is converted, and no kernel is run")];
        (plan.copied, plan.schedule) = (Some(copied), Schedule::default());
    }
    Ok(plan)
}

/// What is planned: a statement, over stored dimensions where tensors have maps.
#[derive(Clone, Copy)]
struct Source<'a> {
    program: &'a Program,
    statement: &'a Assignment,
    rewritten: Option<&'a maps::Rewritten>,
}

impl<'a> Source<'a> {
    fn new(program: &'a Program, statement: &'a Assignment, rewritten: Option<&'a maps::Rewritten>) -> Source<'a> {
        let found = rewritten.map(|rewritten| (&rewritten.program, &rewritten.statement));
        let (program, statement) = found.unwrap_or((program, statement));
        Source { program, statement, rewritten }
    }

    /// The statement in reduction notation. One over stored dimensions is in it already: which variables follow from which is no
    /// longer seen in it, so that no sum may be made around anything again.
    fn explicit(&self, vars: &mut Arena<IndexVar>) -> Assignment {
        if self.rewritten.is_some() { self.statement.clone() } else { make_explicit(self.statement, vars) }
    }

    fn planned(self, request: &Request<'_>) -> Result<Plan, Diagnostic> {
        if let (Search::Cost, None) = (request.search, request.schedule)
            && let Some((schedule, why)) = special(self)
            && let Ok(mut plan) = made(self, &Request { schedule: Some(&schedule), ..*request })
        {
            plan.notes.push(why.to_string());
            return Ok(plan);
        }
        made(self, request)
    }
}

/// A schedule for a statement that is better not computed by loops over its variables and merges alone, and why.
fn special(source: Source<'_>) -> Option<(Schedule, &'static str)> {
    let (kernel, lhs, rhs) = flat(source)?;
    let skewed = skew::schedule(&kernel, &lhs, &rhs);
    let skewed =
        skewed.map(|found| (found, "threads share stored values, not rows: one row holds a large part of them"));
    let looked_up = || {
        let found = lookup::schedule(&kernel, &lhs, &rhs)?;
        Some((found, "an operand that stays the same is looked up, not merged again and again"))
    };
    let tiled = || Some((tile::schedule(&kernel, &lhs, &rhs)?, "tiles of the result stay in the cache"));
    skewed.or_else(looked_up).or_else(tiled)
}

/// The tensors and variables of a statement, what it assigns to, and the sum that it assigns, unless that reads the result.
fn flat(source: Source<'_>) -> Option<(Kernel, Access, Expr)> {
    let program = source.program;
    let mut kernel = Kernel { tensors: program.tensors.clone(), vars: program.vars.clone(), ..Kernel::default() };
    let statement = source.explicit(&mut kernel.vars);
    let rhs = flatten(statement.rhs);
    let reads_result = rhs.accesses().iter().any(|access| access.tensor == statement.lhs.tensor);
    (!reads_result).then_some((kernel, statement.lhs, rhs))
}

fn made(source: Source<'_>, request: &Request<'_>) -> Result<Plan, Diagnostic> {
    let Request { search, strict, schedule: given } = *request;
    let Source { program, rewritten, .. } = source;
    let mut kernel = Kernel { tensors: program.tensors.clone(), vars: program.vars.clone(), ..Kernel::default() };
    let result = source.statement.lhs.tensor;
    for tensor in program.tensors.handles() {
        kernel.tensors[tensor].role = if tensor == result { Role::Result } else { Role::Input };
    }
    let mut conversions = rewritten.map_or_else(Vec::new, |rewritten| rewritten.aliases.clone());
    let mut notes = rewritten.map_or_else(Vec::new, |rewritten| rewritten.notes.clone());
    kernel.stored = rewritten.map_or_else(StoredSpace::default, |rewritten| rewritten.space.clone());
    let statement = source.explicit(&mut kernel.vars);
    let mut lhs = statement.lhs.clone();
    let (mut op, mut rhs) = (statement.op, statement.rhs.clone());

    // The result's old values, where they are read.
    if rhs.accesses().iter().any(|access| access.tensor == result) {
        let old = old_values(&mut kernel, result, &mut conversions);
        rhs = rename(rhs, &|access| (access.tensor == result).then_some(old));
        notes
            .push(format!("`{}` is read and written: its old values are kept beside it", program.tensors[result].name));
    }
    let dtype = kernel.tensors[result].dtype;
    if op != AssignOp::Set && (!kernel.tensors[result].format.is_dense() || dtype.is_storage()) {
        let old = old_values(&mut kernel, result, &mut conversions);
        let before = Access { tensor: old, ..lhs.clone() };
        let before = Expr { kind: ExprKind::Access(before), dtype, span: lhs.span };
        rhs = added(before, rhs);
        op = AssignOp::Set;
    }
    kernel.updates = op == AssignOp::Reduce(ReduceOp::Add);

    let mut schedule = given.cloned().unwrap_or_default();
    // What a schedule says of a tensor holds of what the statement reads in its place.
    for command in &mut schedule.commands {
        given::redirect(&mut command.kind, &rhs, &conversions);
    }
    let (orders, others) = given::orders_first(&schedule);
    let flat = flatten(rhs.clone());
    let nest = if given::wants_flat_nest(&schedule) {
        let sum = one_sum(rhs.clone());
        given::flat_nest(&lhs, op, &sum, &order::natural_order(&kernel, &lhs, given::summand(&sum)))
    } else {
        None
    };
    let order = match nest {
        Some(nest) => {
            kernel.stmt = nest;
            kernel = apply_all(&kernel, &schedule.commands)?.0;
            let orders = given::known_orders(&kernel);
            orders
                .into_iter()
                .find(|(assign, _)| assign.lhs.tensor == result)
                .map(|(_, order)| order)
                .unwrap_or_default()
        }
        None => {
            let mut choice = order::choose(&kernel, &lhs, &rhs, search);
            // A sum inside a product can be done first, or for each term of the product: what is cheaper.
            if flat != rhs {
                let other = order::choose(&kernel, &lhs, &flat, search);
                if other.cost < choice.cost || search == Search::Plain {
                    (rhs, choice) = (flat, other);
                } else if rhs.reduced_vars().len() > 1 {
                    notes.push("partial sums are formed before they are multiplied".to_string());
                }
            }
            for command in orders {
                if let CommandKind::Reorder(names) = &command.kind {
                    choice.order = given::reordered(&kernel, &choice.order, names)?;
                    choice.reason = "given".to_string();
                }
            }
            // What a product has in common over the inner loops can be multiplied behind them.
            if search == Search::Cost && !strict {
                let cost = cost::cost(&kernel, &lhs, &rhs, &choice.order);
                let factored = factor::factor(rhs.clone(), &choice.order);
                let less = cost::cost(&kernel, &lhs, &factored, &choice.order);
                if factored != rhs && less < cost {
                    rhs = factored;
                    notes.push(format!(
                        "common factors are multiplied behind the inner sums (estimated work {less:.3e})"
                    ));
                }
            }
            let names: Vec<&str> = choice.order.iter().map(|var| kernel.vars[*var].name.as_str()).collect();
            if !names.is_empty() {
                notes.push(format!("loop order {} ({})", names.join(", "), choice.reason));
            }
            choice.order
        }
    };
    let flat_nest = !matches!(&kernel.stmt, Stmt::Sequence(stmts) if stmts.is_empty());

    // Operands whose storage order contradicts the loops.
    let read: Vec<(Access, Expr, Vec<VarId>)> = match flat_nest {
        true => {
            let orders = given::known_orders(&kernel);
            orders.into_iter().map(|(assign, order)| (assign.lhs, assign.rhs, order)).collect()
        }
        false => vec![(lhs.clone(), rhs.clone(), order.clone())],
    };
    let mut discordant: Vec<(AccessKey, Format)> = Vec::new();
    for (key, format) in read.iter().flat_map(|(lhs, rhs, order)| storage::discordant(&kernel, lhs, rhs, order)) {
        if !discordant.iter().any(|(known, _)| *known == key) {
            discordant.push((key, format));
        }
    }
    for (key, format) in discordant {
        let source = key.tensor;
        if given::is_positioned(&kernel, source, &key.vars) {
            return Err(finish::contradicted(&kernel, source, &schedule));
        }
        let why = match kernel.tensors[source].format.plain() == format {
            true => "its levels cannot be walked through in this statement",
            false => "its storage order contradicts the order of the loops",
        };
        let tensor = read_converted(&mut kernel, &key, &format, why, &mut conversions, &mut notes);
        rhs = rename(rhs, &|access| (AccessKey::from(access) == key).then_some(tensor));
    }

    // A result that cannot be appended to in this order.
    let wanted = kernel.tensors[result].format.clone();
    let convert_result = storage::assembled_format(&kernel, &lhs, &order).filter(|format| *format != wanted);
    if let Some(format) = &convert_result {
        notes
            .push(format!("`{}` is assembled as {format} and then converted to {wanted}", kernel.tensors[result].name));
        let tensor = &mut kernel.tensors[result];
        (tensor.dtype, tensor.fill) = stored_as(tensor, format);
        tensor.format = format.clone();
    }
    lhs.tensor = result;

    if flat_nest {
        finish::finish(&mut kernel, &schedule)?;
        workspaces::choose(&mut kernel, &mut notes);
    } else {
        concretize(&mut kernel, &lhs, op, &rhs, &order);
        workspaces::choose(&mut kernel, &mut notes);
        let single = !given::wants_flat_nest(&schedule);
        let terms = "the commands apply to the loops of a planned statement, for it is more than one sum";
        let scheduled = apply_all(&kernel, others);
        kernel = scheduled.map_err(|refusal| if single { refusal } else { refusal.note(terms) })?.0;
    }
    if search == Search::Cost && given.is_none() {
        schedule.commands.extend(given::order_command(&kernel, &order));
        schedule.commands.extend(auto::schedule(&mut kernel, &mut notes));
    }
    // Operands that loops over parts of a dimension would look up at every coordinate.
    for (assign, _) in given::known_orders(&kernel) {
        for key in storage::distinct_accesses(&assign.rhs) {
            if kernel.tensors[key.tensor].role == Role::Input && storage::is_tried(&kernel, &assign, &key) {
                let format = kernel.tensors[key.tensor].format.plain();
                let why = "loops over parts of a dimension take its coordinates in order";
                read_converted(&mut kernel, &key, &format, why, &mut conversions, &mut notes);
            }
        }
    }
    if given.is_some() {
        finish::check(&kernel, &schedule)?;
        insert::check(&kernel, result, &conversions, &schedule)?;
    }
    if kernel.assembly == Assembly::Insert {
        let name = &kernel.tensors[result].name;
        notes.push(format!("`{name}` comes into being in two passes: its pattern, then its values"));
    }
    verify(&kernel).map_err(|fault| Diagnostic::internal(format!("the plan is not well-formed: {fault}")))?;
    let plain = rewritten.filter(|rewritten| rewritten.result_without_map).map(|_| wanted);
    let convert_result = convert_result.or(plain);
    let statement = rewritten.map_or(statement, |rewritten| rewritten.written.clone());
    let schedule = given.cloned().unwrap_or(schedule);
    Ok(Plan { kernel, result, statement, conversions, copied: None, convert_result, notes, schedule })
}

/// The sum of what a result held before and of what is assigned to it; where that is only stored, it is rounded once.
fn added(before: Expr, value: Expr) -> Expr {
    let dtype = before.dtype;
    if !dtype.is_storage() {
        return Expr::binary(BinaryFn::Add, before, value, dtype);
    }
    let exact = match value.kind {
        ExprKind::Cast(exact) => *exact,
        kind => Expr { kind, ..value },
    };
    let computed = DType::promote(exact.dtype, dtype).arithmetic();
    Expr::binary(BinaryFn::Add, before.cast(computed), exact.cast(computed), computed).cast(dtype)
}

/// A tensor of the kernel for what the result held before.
fn old_values(kernel: &mut Kernel, result: TensorId, conversions: &mut Vec<Conversion>) -> TensorId {
    if let Some(known) = made_of(kernel, conversions, result, &kernel.tensors[result]) {
        return known;
    }
    let tensor = Tensor {
        name: free_name(&kernel.tensors, &format!("{}_old", kernel.tensors[result].name)),
        role: Role::Input,
        span: Span::NONE,
        ..kernel.tensors[result].clone()
    };
    let tensor = kernel.tensors.push(tensor);
    conversions.push(Conversion { tensor, source: result });
    tensor
}

/// The tensor of the kernel that is made of `source` and stored as another one is. Tensors of the user's dimensions and of stored ones
/// may have the same levels: what they are the storage of tells them apart.
fn made_of(kernel: &Kernel, conversions: &[Conversion], source: TensorId, as_is: &Tensor) -> Option<TensorId> {
    let same =
        |tensor: &Tensor| (&tensor.format, &tensor.view, tensor.dtype) == (&as_is.format, &as_is.view, as_is.dtype);
    let made = conversions.iter().filter(|conversion| conversion.source == source).map(|conversion| conversion.tensor);
    made.into_iter().find(|tensor| same(&kernel.tensors[*tensor]))
}

/// The type of elements and the fill value in another format: patterns become truth values where nothing else would tell what
/// only fills up.
fn stored_as(tensor: &Tensor, format: &Format) -> (DType, Option<Scalar>) {
    let as_values = tensor.dtype == DType::Pattern && format.is_padded();
    if as_values { (DType::Bool, None) } else { (tensor.dtype, tensor.fill) }
}

/// A tensor of the kernel for `source` in another format.
fn converted(kernel: &mut Kernel, source: TensorId, format: &Format, conversions: &mut Vec<Conversion>) -> TensorId {
    // What is converted may itself stand for the old values of the result.
    let origin = conversions.iter().find(|conversion| conversion.tensor == source).map_or(source, |c| c.source);
    let (dtype, fill) = stored_as(&kernel.tensors[source], format);
    let tensor = Tensor {
        name: free_name(&kernel.tensors, &format!("{}_by_order", kernel.tensors[source].name)),
        format: format.clone(),
        dtype,
        fill,
        ..kernel.tensors[source].clone()
    };
    if let Some(known) = made_of(kernel, conversions, origin, &tensor) {
        return known;
    }
    let tensor = kernel.tensors.push(tensor);
    conversions.push(Conversion { tensor, source: origin });
    tensor
}

/// The statement reads an access from a tensor of the kernel in another format, which is given.
fn read_converted(
    kernel: &mut Kernel,
    key: &AccessKey,
    format: &Format,
    why: &str,
    conversions: &mut Vec<Conversion>,
    notes: &mut Vec<String>,
) -> TensorId {
    let tensor = converted(kernel, key.tensor, format, conversions);
    let source = &kernel.tensors[key.tensor];
    notes.push(format!("`{}` ({}) is converted to {format}: {why}", source.name, source.format));
    let redirect = |access: &Access| (AccessKey::from(access) == *key).then_some(tensor);
    let stmt = std::mem::take(&mut kernel.stmt);
    kernel.stmt = given::map_exprs(stmt, &mut |expr| rename(expr, &redirect));
    tensor
}

fn free_name(tensors: &Arena<Tensor>, base: &str) -> String {
    let taken = |name: &str| tensors.iter().any(|(_, tensor)| tensor.name == name);
    let mut name = base.to_string();
    while taken(&name) {
        name.push('_');
    }
    name
}

/// The expression with accesses redirected to the tensors that `to` gives.
fn rename(expr: Expr, to: &impl Fn(&Access) -> Option<TensorId>) -> Expr {
    match expr.kind {
        ExprKind::Access(mut access) => {
            access.tensor = to(&access).unwrap_or(access.tensor);
            Expr { kind: ExprKind::Access(access), ..expr }
        }
        _ => expr.map_children(&mut |child| rename(child, to)),
    }
}

//! Statements over tensors whose formats map dimensions to levels: rewritten into statements over stored dimensions, or over
//! tensors that are converted first.
//!
//! On entry: a checked statement. On exit: one in reduction notation in which every tensor stores one dimension a level, so that all
//! later stages know nothing of maps. Each variable whose dimension some map takes apart is replaced by those of the stored
//! dimensions ([`lacunar_notation::stored`]); dense tensors are seen through views. Entries of a tensor with slots are summed up
//! over the slots, each entry being in one of them:
//!
//! ```text
//! y(i) = sum(j, A(i,j) * x(j))       A: ell      y(i) = sum(s, j, A(s,i,j) * x(j))
//! ```
//!
//! Where a dimension is stored by the ranks of its coordinates, loops are over ranks, and dense tensors are seen at the
//! coordinates that have them. Two tensors rank a dimension in two ways, so that one at most is walked through.
//!
//! A dimension that is recovered in reverse, from the far end of a diagonal (`ds:1-0,1`), would be walked through downwards: such
//! tensors are always converted.
//!
//! All maps of a statement have to take a variable's dimension apart in the same way, and what is not dense has to store it so
//! too. Where that does not hold, tensors with maps are converted to formats without, those with few values first to give way;
//! and results are converted afterwards. So every statement has a plan, whatever the formats.
//!
//! Paper: Chou et al. 2020, §4, remaps the coordinates of conversions; here every statement is remapped.

use lacunar_base::Span;
use lacunar_formats::{DType, Format, Level, Map, Recovery, Term, diagonals};
use lacunar_notation::schedule::{Effect, Schedule};
use lacunar_notation::stored::{Recovered, StoredSize, StoredSpace, View, ViewStep};
use lacunar_notation::{
    Access, Assignment, BinaryFn, Expr, ExprKind, IndexVar, Program, ReduceOp, Tensor, TensorId, UnaryFn, VarId,
};
use rustc_hash::FxHashMap;

use super::diagonals::Diagonals;
use super::storage::{is_near, usual_widths};
use super::{Conversion, free_name};
use crate::iterate::iterators::AccessKey;
use crate::reduction::{fresh_name, make_explicit};

/// The largest dimension with a place for each coordinate, whatever is stored.
const MOST_ROWS: u64 = 1 << 32;

/// A statement without maps.
#[derive(Clone, Debug)]
pub(super) struct Rewritten {
    /// The tensors and variables of the program, in other formats and with more behind them.
    pub program: Program,
    /// The statement over the user's dimensions.
    pub written: Assignment,
    /// The statement over stored ones.
    pub statement: Assignment,
    /// Inputs that are other tensors of the program, as they are or converted.
    pub aliases: Vec<Conversion>,
    /// How stored dimensions are tied to the others.
    pub space: StoredSpace,
    /// The result has a map, and the statement gives it in a format without.
    pub result_without_map: bool,
    /// What was done, for people.
    pub notes: Vec<String>,
}

/// How the dimension that a variable runs over is taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Apart {
    Not,
    /// Blocks of a size; those of the ranks of coordinates, where a tensor stores these.
    Blocks(u32, Option<TensorId>),
    /// The ranks that a tensor stores.
    Ranks(TensorId),
    /// Along the diagonals, from the coordinate of another variable.
    Diagonals(VarId),
}

/// Rewrites a statement; `None` if no tensor of it has a map. `walks` says that maps may be walked through, else all tensors that
/// have one are converted.
pub(super) fn rewrite(program: &Program, statement: &Assignment, walks: bool) -> Option<Rewritten> {
    let mut accesses = statement.rhs.accesses().into_iter().chain([&statement.lhs]);
    if accesses.all(|access| program.tensors[access.tensor].format.map().is_none()) {
        return None;
    }
    let mut program = program.clone();
    let explicit = make_explicit(statement, &mut program.vars);
    let mut walked: Vec<AccessKey> = if walks { candidates(&program, &explicit) } else { Vec::new() };
    let (statement, vars, apart) = loop {
        let (apart, kept) = agree(&program, &walked);
        walked = kept;
        let counted_from = |var: VarId| match apart.get(&var) {
            Some(Apart::Diagonals(other)) => Some(*other),
            _ => None,
        };
        let mut vars = program.vars.clone();
        let diagonals = Diagonals { counted_from: &counted_from, walked: &walked };
        let arranged = diagonals.arrange(&explicit, &mut vars);
        let fault = match &arranged {
            Ok(statement) => contradiction(&program, statement, &walked, &apart),
            Err(place) => Some(*place),
        };
        match (arranged, fault) {
            (Ok(statement), None) => break (statement, vars, apart),
            (_, place) => drop(walked.remove(place.unwrap_or(0))),
        }
    };
    program.vars = vars;
    let (program, statement) = (&program, &statement);
    let mut rewriter = Rewriter {
        done: Rewritten {
            program: program.clone(),
            written: statement.clone(),
            statement: statement.clone(),
            aliases: Vec::new(),
            space: StoredSpace::default(),
            result_without_map: false,
            notes: Vec::new(),
        },
        source: program,
        walked,
        apart,
        blocks: FxHashMap::default(),
        ranks: FxHashMap::default(),
        diagonals: FxHashMap::default(),
        aliased: Vec::new(),
    };
    rewriter.run(statement);
    Some(rewriter.done)
}

/// A program of one statement over the stored dimensions of its tensors, whose variables a schedule may name; `None` if no tensor
/// is walked through so.
pub fn over_stored_dimensions(program: &Program) -> Option<Program> {
    let [statement] = program.statements.as_slice() else { return None };
    let Rewritten { program, statement, space, .. } = rewrite(program, statement, true)?;
    (!space.sizes.is_empty()).then(|| Program { statements: vec![statement], ..program })
}

/// The statement that a request asks for: over stored dimensions, unless its schedule names other variables.
pub(super) fn requested(program: &Program, statement: &Assignment, schedule: Option<&Schedule>) -> Option<Rewritten> {
    let walked = rewrite(program, statement, true)?;
    let Some(schedule) = schedule else { return Some(walked) };
    let mut known: Vec<&str> = Vec::new();
    let accesses: Vec<&Access> = walked.statement.rhs.accesses().into_iter().chain([&walked.statement.lhs]).collect();
    for var in accesses.iter().flat_map(|access| &access.vars) {
        known.push(&walked.program.vars[*var].name);
    }
    let is_met = |access: &Access| accesses.iter().any(|met| AccessKey::from(*met) == AccessKey::from(access));
    for command in &schedule.commands {
        let Effect { uses, makes, .. } = command.kind.effect();
        let unmet = command.kind.accesses().into_iter().any(|access| !is_met(access));
        if unmet || uses.iter().any(|name| !known.contains(&name.text.as_str())) {
            return rewrite(program, statement, false);
        }
        known.extend(makes.into_iter().map(|name| name.text.as_str()));
    }
    Some(walked)
}

/// The accesses with maps that could be walked through, those of tensors with many values first.
fn candidates(program: &Program, statement: &Assignment) -> Vec<AccessKey> {
    let mut found: Vec<AccessKey> = Vec::new();
    for access in statement.rhs.accesses() {
        let key = AccessKey::from(access);
        let Some(map) = program.tensors[access.tensor].format.map() else { continue };
        let distinct = key.vars.iter().enumerate().all(|(k, var)| !key.vars[..k].contains(var));
        let other_result = access.tensor != statement.lhs.tensor;
        // What fills up slots is added to nothing only if it is 0.
        let unfilled = program.tensors[key.tensor].fill().is_zero();
        let slots = map.ordinal().is_none() || (unfilled && is_linear(&statement.rhs, access));
        let tensor = &program.tensors[key.tensor];
        let passable = is_walkable(map) && has_countable(tensor, map);
        if distinct && other_result && slots && passable && !found.contains(&key) {
            found.push(key);
        }
    }
    found.sort_by_key(|key| std::cmp::Reverse(program.tensors[key.tensor].nnz.unwrap_or(u64::MAX)));
    found
}

/// Whether loops over a map's levels come to the coordinates of each dimension upwards.
fn is_walkable(map: &Map) -> bool {
    (0..map.order()).all(|d| !matches!(map.recovery(d), Some(Recovery::Diagonal { reverse: true, .. })))
}

/// Whether the values of every stored dimension of a tensor can be counted, as far as its sizes are known.
fn has_countable(tensor: &Tensor, map: &Map) -> bool {
    let dims: Option<Vec<u64>> = tensor.dims.iter().copied().collect();
    let countable = |size: &Option<u64>| size.is_none_or(|size| i64::try_from(size).is_ok());
    dims.is_none_or(|dims| map.stored_dims(&dims).is_some_and(|sizes| sizes.iter().all(countable)))
}

/// Whether an access occurs once in an expression, and the value is a sum of terms of which one is a multiple of it.
fn is_linear(expr: &Expr, access: &Access) -> bool {
    let is_it = |other: &&Access| other.tensor == access.tensor;
    if expr.accesses().into_iter().filter(is_it).count() != 1 {
        return false;
    }
    let has = |expr: &Expr| expr.accesses().iter().any(is_it);
    match &expr.kind {
        ExprKind::Access(_) => true,
        ExprKind::Cast(a) => is_linear(a, access),
        ExprKind::Unary(UnaryFn::Neg, a) | ExprKind::Reduce(ReduceOp::Add, _, a) => is_linear(a, access),
        ExprKind::Binary(BinaryFn::Add | BinaryFn::Sub | BinaryFn::Mul, a, b) => {
            expr.dtype != DType::Bool && is_linear(if has(a) { a } else { b }, access)
        }
        ExprKind::Binary(BinaryFn::Div, a, _) => has(a) && expr.dtype.is_float() && is_linear(a, access),
        _ => false,
    }
}

/// A stored value, or the sum of it over places of which one at most holds it, in another type: what is summed up is converted, so
/// that the sum can become one with others.
fn in_sum(stored: Expr, dtype: DType) -> Expr {
    let sum = match stored.kind {
        ExprKind::Cast(sum) if matches!(sum.kind, ExprKind::Reduce(..)) => *sum,
        kind => Expr { kind, ..stored },
    };
    match sum.kind {
        ExprKind::Reduce(op, vars, held) if dtype.arithmetic() == dtype => {
            Expr { kind: ExprKind::Reduce(op, vars, Box::new(held.cast(dtype))), dtype, ..sum }
        }
        kind => Expr { kind, ..sum }.cast(dtype),
    }
}

/// How variables are taken apart by the first of some accesses, and those of them that agree with it.
fn agree(program: &Program, walked: &[AccessKey]) -> (FxHashMap<VarId, Apart>, Vec<AccessKey>) {
    let mut apart: FxHashMap<VarId, Apart> = FxHashMap::default();
    let mut kept = Vec::new();
    for key in walked {
        let Some(map) = program.tensors[key.tensor].format.map() else { continue };
        let own = wanted(map, key);
        let agrees = own.iter().all(|(var, way)| apart.get(var).is_none_or(|known| known == way));
        if agrees {
            apart.extend(own);
            kept.push(key.clone());
        }
    }
    (apart, kept)
}

/// How a map takes the variables of an access apart.
fn wanted(map: &Map, key: &AccessKey) -> Vec<(VarId, Apart)> {
    let ranked = |dimension: usize| map.ranked().filter(|ranked| ranked.dimension == dimension).map(|_| key.tensor);
    let ways = key.vars.iter().enumerate().map(|(dimension, &var)| {
        let way = match map.recovery(dimension) {
            Some(Recovery::Block { size, .. }) => Apart::Blocks(size, ranked(dimension)),
            Some(Recovery::Diagonal { other, .. }) => Apart::Diagonals(key.vars[other]),
            Some(Recovery::Whole(_)) | None => ranked(dimension).map_or(Apart::Not, Apart::Ranks),
        };
        (var, way)
    });
    ways.collect()
}

/// One of the walked accesses that takes a variable apart which another tensor of the statement stores otherwise.
fn contradiction(
    program: &Program,
    statement: &Assignment,
    walked: &[AccessKey],
    apart: &FxHashMap<VarId, Apart>,
) -> Option<usize> {
    let ways = |var: &VarId| apart.get(var).copied().unwrap_or(Apart::Not);
    let lhs = AccessKey::from(&statement.lhs);
    let others = statement.rhs.accesses().into_iter().map(AccessKey::from).chain([lhs.clone()]);
    for key in others {
        if walked.contains(&key) && key != lhs {
            continue;
        }
        let written = key == lhs;
        if written && is_stored_so(program, &key, apart) {
            continue;
        }
        let format = &program.tensors[key.tensor].format;
        let clash = key.vars.iter().enumerate().find(|(dimension, var)| match ways(var) {
            Apart::Not => false,
            // Elements of a result would be met several times.
            Apart::Diagonals(_) if written => true,
            Apart::Blocks(..) | Apart::Ranks(_) | Apart::Diagonals(_) => {
                let level = format.level_of(*dimension).map(|level| format.levels()[level]);
                // What has a map is converted to a sparse format without.
                format.map().is_some() || level != Some(Level::DENSE)
            }
        });
        // Levels of a view are those of a dense tensor.
        let sparse = clash.is_none() && !format.is_dense() && key.vars.iter().any(|var| ways(var) != Apart::Not);
        let var = match clash {
            Some((_, var)) => Some(*var),
            None if sparse => key.vars.iter().copied().find(|var| ways(var) != Apart::Not),
            None => None,
        };
        if let Some(var) = var {
            return walked.iter().rposition(|own| own.vars.contains(&var));
        }
    }
    None
}

/// Whether a result has a map that takes its variables apart as the operands' maps do.
fn is_stored_so(program: &Program, key: &AccessKey, apart: &FxHashMap<VarId, Apart>) -> bool {
    program.tensors[key.tensor].format.map().is_some_and(|map| {
        map.ordinal().is_none()
            && is_walkable(map)
            && wanted(map, key).iter().all(|(var, way)| match way {
                Apart::Not => apart.get(var).is_none_or(|known| *known == Apart::Not),
                way => apart.get(var) == Some(way),
            })
    })
}

struct Rewriter<'a> {
    done: Rewritten,
    source: &'a Program,
    walked: Vec<AccessKey>,
    apart: FxHashMap<VarId, Apart>,
    /// The block's number and the place inside it, of variables that are taken apart so.
    blocks: FxHashMap<VarId, (VarId, VarId)>,
    /// The rank of variables that are stored so.
    ranks: FxHashMap<VarId, VarId>,
    /// The diagonal of variables that are taken apart so.
    diagonals: FxHashMap<VarId, VarId>,
    /// Accesses that were seen already, and the tensors in their place.
    aliased: Vec<(AccessKey, Access)>,
}

impl Rewriter<'_> {
    fn run(&mut self, statement: &Assignment) {
        let mut ways: Vec<(VarId, Apart)> = self.apart.iter().map(|(var, way)| (*var, *way)).collect();
        ways.sort_by_key(|(var, _)| var.index());
        for (var, way) in ways {
            match way {
                Apart::Not => {}
                Apart::Blocks(size, ranked) => self.take_blocks(var, size, ranked),
                Apart::Ranks(tensor) => self.take_ranks(var, tensor),
                Apart::Diagonals(other) => self.take_diagonals(var, other),
            }
        }
        for key in self.walked.clone() {
            let info = &self.source.tensors[key.tensor];
            self.done.notes.push(format!("`{}` ({}) is walked through as it is stored", info.name, info.format));
        }
        self.done.statement.lhs = self.result(&statement.lhs);
        self.done.statement.rhs = self.expression(statement.rhs.clone());
    }

    fn new_var(&mut self, base: String, size: StoredSize) -> VarId {
        let vars = &self.done.program.vars;
        let taken = |name: &str| vars.iter().any(|(_, var)| var.name == name);
        let name = if taken(&base) { fresh_name(vars, &base) } else { base };
        let of = |var: VarId| vars[var].size;
        let known = match size {
            StoredSize::Blocks(var, block) => of(var).map(|size| size.div_ceil(u64::from(block))),
            StoredSize::Inside(block) => Some(u64::from(block)),
            StoredSize::Diagonals(a, b) => of(a).zip(of(b)).and_then(|(a, b)| diagonals(a, b)),
            StoredSize::Slots(..) => None,
        };
        let var = self.done.program.vars.push(IndexVar { name, size: known, span: Span::NONE });
        self.done.space.sizes.push((var, size));
        var
    }

    fn take_blocks(&mut self, var: VarId, size: u32, ranked: Option<TensorId>) {
        let name = self.source.vars.get(var).map_or_else(String::new, |var| var.name.clone());
        let outer = self.new_var(format!("{name}0"), StoredSize::Blocks(var, size));
        let inner = self.new_var(format!("{name}1"), StoredSize::Inside(size));
        self.blocks.insert(var, (outer, inner));
        let ranked = ranked.and_then(|tensor| self.ranking(tensor));
        self.done.space.recovered.push(Recovered { var, terms: vec![(outer, size), (inner, 1)], less: None, ranked });
    }

    fn take_ranks(&mut self, var: VarId, tensor: TensorId) {
        let name = self.source.vars.get(var).map_or_else(String::new, |var| var.name.clone());
        let rank = self.new_var(format!("{name}r"), StoredSize::Blocks(var, 1));
        self.ranks.insert(var, rank);
        let ranked = self.ranking(tensor);
        self.done.space.recovered.push(Recovered { var, terms: vec![(rank, 1)], less: None, ranked });
    }

    /// The level of a tensor that keeps the coordinate of each rank.
    fn ranking(&self, tensor: TensorId) -> Option<(TensorId, usize)> {
        let ranked = self.source.tensors[tensor].format.map()?.ranked()?;
        Some((tensor, ranked.level))
    }

    fn take_diagonals(&mut self, var: VarId, other: VarId) {
        let name = self.source.vars.get(var).map_or_else(String::new, |var| var.name.clone());
        let diagonal = self.new_var(format!("{name}d"), StoredSize::Diagonals(var, other));
        self.diagonals.insert(var, diagonal);
        let terms = vec![(diagonal, 1), (other, 1)];
        self.done.space.recovered.push(Recovered { var, terms, less: Some(other), ranked: None });
    }

    /// The result, seen as the loops will come to it.
    fn result(&mut self, lhs: &Access) -> Access {
        let key = AccessKey::from(lhs);
        let tensor = &self.source.tensors[lhs.tensor];
        match tensor.format.map() {
            Some(map) if is_stored_so(self.source, &key, &self.apart) => {
                let vars = self.stored_vars(map, &key);
                self.as_stored(lhs.tensor);
                Access { vars, ..lhs.clone() }
            }
            Some(map) => {
                let format = without_map(tensor, map).fitted(&tensor.dims, 0);
                self.done
                    .notes
                    .push(format!("`{}` is assembled as {format} and then stored as {}", tensor.name, tensor.format));
                self.done.program.tensors[lhs.tensor].format = format;
                self.done.result_without_map = true;
                lhs.clone()
            }
            None => self.seen(lhs, lhs.tensor),
        }
    }

    fn expression(&mut self, expr: Expr) -> Expr {
        let (dtype, span) = (expr.dtype, expr.span);
        let expr = match expr.kind {
            ExprKind::Access(access) => return self.operand(access, dtype, span),
            // One place at most holds the value, so that its sum is converted to what the value is.
            ExprKind::Cast(stored) if matches!(stored.kind, ExprKind::Access(_)) => {
                return in_sum(self.expression(*stored), dtype);
            }
            ExprKind::Reduce(op, vars, body) => {
                let body = self.expression(*body);
                return self.reduction(op, &vars, body, dtype, span);
            }
            kind => Expr { kind, dtype, span },
        };
        expr.map_children(&mut |child| self.expression(child))
    }

    /// A sum over variables, some of which are taken apart. Sums over blocks are inside those over places in blocks: what is
    /// added up at each place can stay in a register of its own.
    fn reduction(&self, op: ReduceOp, vars: &[VarId], body: Expr, dtype: DType, span: Span) -> Expr {
        let mut outside = Vec::new();
        let mut inside = Vec::new();
        for var in vars {
            if let Some(&(outer, inner)) = self.blocks.get(var) {
                inside.push(outer);
                outside.push(inner);
            } else {
                inside.push(self.diagonals.get(var).or(self.ranks.get(var)).copied().unwrap_or(*var));
            }
        }
        let sum = |vars: Vec<VarId>, body: Expr| match vars.is_empty() {
            true => body,
            false => Expr { kind: ExprKind::Reduce(op, vars, Box::new(body)), dtype, span },
        };
        sum(outside, sum(inside, body))
    }

    fn operand(&mut self, access: Access, dtype: DType, span: Span) -> Expr {
        let key = AccessKey::from(&access);
        let plain = |access: Access| Expr { kind: ExprKind::Access(access), dtype, span };
        let Some(map) = self.source.tensors[access.tensor].format.map() else {
            let known = self.aliased.iter().find(|(known, _)| *known == key).map(|(_, seen)| seen.clone());
            let seen = known.unwrap_or_else(|| {
                let seen = self.seen_operand(&access);
                self.aliased.push((key, seen.clone()));
                seen
            });
            return plain(seen);
        };
        if !self.walked.contains(&key) {
            return plain(self.converted(access, map));
        }
        let vars = self.stored_vars(map, &key);
        self.as_stored(access.tensor);
        let slots: Vec<VarId> = map.ordinal().and_then(|(level, _)| vars.get(level).copied()).into_iter().collect();
        let walked = plain(Access { vars, ..access });
        match slots.is_empty() {
            true => walked,
            false => Expr::sum(slots, walked),
        }
    }

    /// The variables of the levels of an access with a map.
    fn stored_vars(&mut self, map: &Map, key: &AccessKey) -> Vec<VarId> {
        let mut vars = Vec::new();
        for (level, term) in map.terms().iter().enumerate() {
            let own = key.vars[term.dimension()];
            vars.push(match term {
                Term::Whole(_) => self.ranks.get(&own).copied().unwrap_or(own),
                Term::Quotient(..) => self.blocks.get(&own).map_or(own, |(outer, _)| *outer),
                Term::Remainder(..) => self.blocks.get(&own).map_or(own, |(_, inner)| *inner),
                Term::Difference(..) => self.diagonals.get(&own).copied().unwrap_or(own),
                Term::Ordinal(_) | Term::RankedOrdinal(..) => {
                    self.new_var("s".to_string(), StoredSize::Slots(key.tensor, level))
                }
            });
        }
        vars
    }

    /// The tensor is from here on that of its stored dimensions.
    fn as_stored(&mut self, tensor: TensorId) {
        let format = self.source.tensors[tensor].format.clone();
        let dims: Option<Vec<u64>> = self.source.tensors[tensor].dims.iter().copied().collect();
        let info = &mut self.done.program.tensors[tensor];
        let sizes = format.map().zip(dims).and_then(|(map, dims)| map.stored_dims(&dims));
        info.dims = sizes.unwrap_or_else(|| vec![None; format.levels().len()]);
        info.format = format.stored();
        info.view = Some(View { format, steps: Vec::new() });
    }

    /// An operand without a map, as the loops come to it: through a view, where they are over variables of its dimensions'
    /// parts.
    fn seen_operand(&mut self, access: &Access) -> Access {
        if self.is_whole(access) {
            return access.clone();
        }
        let tensor = self.alias(access.tensor, "seen");
        self.seen(access, tensor)
    }

    fn is_whole(&self, access: &Access) -> bool {
        let apart = [&self.diagonals, &self.ranks];
        access
            .vars
            .iter()
            .all(|var| !self.blocks.contains_key(var) && apart.iter().all(|apart| !apart.contains_key(var)))
    }

    /// A dense tensor seen through a view, in the place of `tensor`.
    fn seen(&mut self, access: &Access, tensor: TensorId) -> Access {
        if self.is_whole(access) {
            return access.clone();
        }
        let info = self.source.tensors[access.tensor].clone();
        let (mut vars, mut steps) = (Vec::new(), Vec::new());
        for &mode in info.format.mode_order() {
            let own = access.vars[mode];
            let recovered = self.done.space.recovered.iter().find(|recovered| recovered.var == own);
            let Some(Recovered { terms, .. }) = recovered else {
                vars.push(own);
                steps.push(ViewStep::Whole);
                continue;
            };
            for (place, &(var, factor)) in terms.iter().enumerate() {
                vars.push(var);
                steps.push(if place == 0 { ViewStep::First(own, factor) } else { ViewStep::Next(factor) });
            }
        }
        let dims = vars.iter().map(|var| self.done.program.vars[*var].size).collect();
        let seen = &mut self.done.program.tensors[tensor];
        seen.format = Format::dense(vars.len());
        seen.dims = dims;
        seen.view = Some(View { format: info.format, steps });
        Access { tensor, vars, span: access.span }
    }

    /// An operand with a map that is converted to a format without.
    fn converted(&mut self, access: Access, map: &Map) -> Access {
        let info = &self.source.tensors[access.tensor];
        let format = without_map(info, map).fitted(&info.dims, 0);
        let made = |conversion: &&Conversion| conversion.source == access.tensor;
        let known = self.done.aliases.iter().filter(made).map(|conversion| conversion.tensor);
        let known = known.into_iter().find(|tensor| self.done.program.tensors[*tensor].format == format);
        let tensor = known.unwrap_or_else(|| {
            let (name, stored) = (&info.name, &info.format);
            self.done
                .notes
                .push(format!("`{name}` ({stored}) is converted to {format}: the loops do not go through {stored}"));
            let tensor = self.alias(access.tensor, "plain");
            self.done.program.tensors[tensor].format = format;
            tensor
        });
        Access { tensor, ..access }
    }

    /// A further tensor that is another one of the program.
    fn alias(&mut self, source: TensorId, what: &str) -> TensorId {
        let info = self.source.tensors[source].clone();
        let name = free_name(&self.done.program.tensors, &format!("{}_{what}", info.name));
        let tensor = self.done.program.tensors.push(Tensor { name, ..info });
        self.done.aliases.push(Conversion { tensor, source });
        tensor
    }
}

/// A format without a map for the same tensor: compressed levels, the outermost dense where it is now and not known to be too large for
/// that, in the order in which the map first stores something of each dimension.
fn without_map(tensor: &Tensor, map: &Map) -> Format {
    let format = &tensor.format;
    let mut modes: Vec<usize> = Vec::new();
    for term in map.terms().iter().filter(|term| !term.is_ordinal() && !matches!(term, Term::Difference(..))) {
        if !modes.contains(&term.dimension()) {
            modes.push(term.dimension());
        }
    }
    modes.extend((0..map.order()).filter(|d| !modes.contains(d)).collect::<Vec<_>>());
    let small = match (modes.first().and_then(|&mode| tensor.dims[mode]), tensor.nnz) {
        (Some(size), Some(nnz)) => is_near(size, nnz),
        (Some(size), None) => size <= MOST_ROWS,
        (None, _) => true,
    };
    let dense = small
        && map.order() > 1
        && !matches!(map.terms().first(), Some(Term::Whole(_) | Term::Quotient(..)) if format.levels().first() != Some(&Level::DENSE));
    let mut levels = vec![Level::COMPRESSED; map.order()];
    if let (true, Some(first)) = (dense, levels.first_mut()) {
        *first = Level::DENSE;
    }
    match Format::new(levels, modes) {
        Ok(plain) => usual_widths(plain, format),
        // The modes are those of the map, each once.
        Err(_) => Format::csf(map.order()),
    }
}

//! The rewriting: variables taken apart, tensors of their stored dimensions, dense ones seen through views, others converted.
//!
//! ```text
//! y(i) = sum(j, A(i,j) * x(j))       A: bcsr(4,4)
//!   ->  y(i0,i1) = sum(j1, sum(j0, A(i0,j0,i1,j1) * x(j0,j1)))      i = 4 i0 + i1, j = 4 j0 + j1
//! ```
//!
//! On entry: the accesses that are walked through and the way variables are taken apart, which go together ([`super::walked`]). On
//! exit: no tensor of the statement has a map.

use lacunar_base::Span;
use lacunar_formats::{DType, Format, Level, Map, Term, diagonals};
use lacunar_notation::stored::{Recovered, StoredSize, StoredSpace, View, ViewStep};
use lacunar_notation::{Access, Assignment, Expr, ExprKind, IndexVar, Monoid, Program, Role, Tensor, TensorId, VarId};
use rustc_hash::FxHashMap;

use super::Rewritten;
use super::walked::{Apart, is_stored_so};
use crate::iterate::iterators::AccessKey;
use crate::plan::Conversion;
use crate::plan::convert::free_name;
use crate::plan::storage::{may_be_rows, usual_widths};
use crate::reduction::fresh_name;

/// Rewrites a statement of a program, whose accesses `walked` are walked through.
pub(super) fn rewritten(
    program: &Program,
    statement: &Assignment,
    walked: Vec<AccessKey>,
    apart: FxHashMap<VarId, Apart>,
) -> Rewritten {
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
    rewriter.done
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
        self.done.statement.rhs = self.expression(statement.rhs.clone()).cast(statement.rhs.dtype);
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
            // At most one place holds the value, so that its sum is converted to the value's type.
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

    /// A sum over variables, some of which are taken apart. Sums over blocks are inside those over places in blocks: the sum at
    /// each place can stay in a register of its own.
    fn reduction(&self, monoid: Monoid, vars: &[VarId], body: Expr, dtype: DType, span: Span) -> Expr {
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
            false => Expr { kind: ExprKind::Reduce(monoid, vars, Box::new(body)), dtype, span },
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
            // A result that the statement reads at other places, too, is seen through a view by now.
            let is_seen = self.done.program.tensors[access.tensor].view != self.source.tensors[access.tensor].view;
            let tensor = if is_seen { self.alias(access.tensor, "whole") } else { access.tensor };
            return Access { tensor, ..access.clone() };
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
        // The values of a variable are made of nothing.
        let is_made = info.role != Role::Index;
        let tensor = self.done.program.tensors.push(Tensor { name, ..info });
        self.done.aliases.extend(is_made.then_some(Conversion { tensor, source }));
        tensor
    }
}

/// A stored value, or the sum of it over places of which one at most holds it, in another type. The summand is converted, so that
/// the sum can become one with others.
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

/// A format without a map for the same tensor: compressed levels, the outermost dense where it is now and not known to be too large
/// for that, in the order in which the map first stores something of each dimension.
pub(in crate::plan) fn without_map(tensor: &Tensor, map: &Map) -> Format {
    let format = &tensor.format;
    let mut modes: Vec<usize> = Vec::new();
    for term in map.terms().iter().filter(|term| !term.is_ordinal() && !matches!(term, Term::Difference(..))) {
        if !modes.contains(&term.dimension()) {
            modes.push(term.dimension());
        }
    }
    modes.extend((0..map.order()).filter(|d| !modes.contains(d)).collect::<Vec<_>>());
    let dense = may_be_rows(modes.first().and_then(|&mode| tensor.dims[mode]), tensor.nnz)
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

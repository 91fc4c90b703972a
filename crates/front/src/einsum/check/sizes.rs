//! Step 2: the size of each index variable and of each dimension.
//!
//! An access says that a dimension of a tensor and a variable have one size. Dimensions and variables that are so
//! connected form classes (union-find); a class has at most one size, the one declared for its members. In
//! `y(i) = A(i,j) * x(j)` with `A: 3x4`, `{A.0, i, y.0}` has size 3 and `{A.1, j, x.0}` size 4.

use std::collections::BTreeSet;

use indexmap::IndexSet;
use lacunar_base::Span;
use lacunar_notation::{Access, Assignment, Expr, ExprKind, Program, Role, VarId};

use super::super::declarations::Declarations;
use super::super::error::{ActionMistake, Error, SizeMistake, SizeUse};
use super::indices::{Made, Relation};
use super::names::Names;

/// The classes of dimensions and variables, and their sizes.
pub(super) struct Sizes {
    /// For each member one that is nearer to the representative of the class, which is its own.
    parent: Vec<usize>,
    /// At representatives: the number of members of the class.
    members: Vec<usize>,
    /// At representatives: the size of the class and where it is from.
    size: Vec<Option<SizeUse>>,
    /// The member that is a tensor's first dimension.
    first_dimension: Vec<usize>,
    /// The member that is the first variable.
    first_var: usize,
}

/// Finds all sizes that follow from the declared ones.
pub(super) fn unify(names: &Names, declarations: &Declarations) -> Result<Sizes, Vec<Error>> {
    let mut errors = Vec::new();
    let dims = declared_dims(names, declarations, &mut errors);
    let mut sizes = Sizes::new(names);
    for (var, (name, &span)) in names.vars.iter().enumerate() {
        match declared_size(name, declarations) {
            Some(&[size]) => {
                let class = sizes.var(var);
                sizes.size[class] = Some(SizeUse { span, size, whose: format!("`{name}`") });
            }
            Some(declared) => {
                errors.push(SizeMistake::OneSize { name: name.clone(), span, declared: declared.len() }.into());
            }
            None => {}
        }
    }
    for (tensor, vars, span) in &names.accesses {
        let Some((name, _)) = names.tensors.get_index(*tensor) else { continue };
        let Some(made) = names.indicators.get(name) else { continue };
        if let (Some(size), Some(&last)) = (made.size, vars.last()) {
            let class = sizes.var(last);
            sizes.size[class] = Some(SizeUse { span: *span, size, whose: "what is added to an index".to_string() });
        }
        if let Relation::List(values) = &made.relation {
            let class = sizes.find(sizes.first_dimension[*tensor]);
            sizes.size[class] = Some(SizeUse { span: *span, size: values.len() as u64, whose: "the list".to_string() });
        }
    }
    // Tensors that no statement has are as large as is declared.
    for (tensor, (name, entry)) in names.tensors.iter().enumerate() {
        let is_accessed = names.accesses.iter().any(|(other, ..)| *other == tensor);
        for (dimension, &size) in dims[tensor].iter().flat_map(|dims| dims.iter().enumerate()).filter(|_| !is_accessed)
        {
            let whose = format!("dimension {dimension} of `{name}`");
            let member = sizes.first_dimension[tensor] + dimension;
            sizes.size[member] = Some(SizeUse { span: entry.span, size, whose });
        }
    }
    let mut told = vec![false; names.vars.len()];
    for (tensor, vars, span) in &names.accesses {
        let declared = dims[*tensor];
        for (dimension, &var) in vars.iter().enumerate() {
            let here = declared.map(|dims| SizeUse {
                span: *span,
                size: dims[dimension],
                whose: format!("dimension {dimension} of `{}`", tensor_name(names, *tensor)),
            });
            let connected = sizes.connect(sizes.first_dimension[*tensor] + dimension, sizes.first_var + var, here);
            if let Err((first, second)) = connected
                && !std::mem::replace(&mut told[var], true)
                && let Some((name, _)) = names.vars.get_index(var)
            {
                errors.push(SizeMistake::Sizes { variable: name.clone(), first, second }.into());
            }
        }
    }
    let swaps = names.swaps.iter().map(|of| (of, true));
    for (&(a, b, span), is_swap) in swaps.chain(names.snapshots.iter().map(|of| (of, false))) {
        for dimension in 0..names.tensors[a].order {
            let member = |tensor: usize| sizes.first_dimension[tensor] + dimension;
            let (first, second) = (member(a), member(b));
            if let Err((first, second)) = sizes.connect(first, second, None) {
                let names = [a, b].map(|tensor| tensor_name(names, tensor).to_string());
                let differ = format!("dimension {dimension} has the sizes {} and {}", first.size, second.size);
                errors.push(match is_swap {
                    true => ActionMistake::Swapped { names, span, differ }.into(),
                    false => ActionMistake::Snapshot { names, span, differ }.into(),
                });
                break;
            }
        }
    }
    sizes.infer(names);
    if errors.is_empty() { Ok(sizes) } else { Err(errors) }
}

/// The declared sizes of each tensor, if there is one for each dimension.
fn declared_dims<'a>(names: &Names, declarations: &'a Declarations, errors: &mut Vec<Error>) -> Vec<Option<&'a [u64]>> {
    let mut dims = Vec::new();
    for (name, entry) in &names.tensors {
        let declared = declared_size(name, declarations);
        let fits = declared.filter(|declared| declared.len() == entry.order);
        if let (Some(declared), None) = (declared, fits) {
            let (declared, order) = (declared.len(), entry.order);
            errors.push(SizeMistake::DimensionCount { name: name.clone(), span: entry.span, declared, order }.into());
        }
        dims.push(fits);
    }
    dims
}

/// The sizes under a name, whether declared as a tensor's or as a variable's.
fn declared_size<'a>(name: &str, declarations: &'a Declarations) -> Option<&'a [u64]> {
    let sizes = declarations.sizes.get(name).map(std::slice::from_ref);
    declarations.dims.get(name).map(Vec::as_slice).or(sizes)
}

fn tensor_name(names: &Names, tensor: usize) -> &str {
    names.tensors.get_index(tensor).map_or("", |(name, _)| name)
}

impl Sizes {
    fn new(names: &Names) -> Sizes {
        let mut members = 0;
        let mut first_dimension = Vec::new();
        for entry in names.tensors.values() {
            first_dimension.push(members);
            members += entry.order;
        }
        let first_var = members;
        members += names.vars.len();
        Sizes {
            parent: (0..members).collect(),
            members: vec![1; members],
            size: vec![None; members],
            first_dimension,
            first_var,
        }
    }

    fn find(&self, mut member: usize) -> usize {
        while self.parent[member] != member {
            member = self.parent[member];
        }
        member
    }

    fn var(&self, var: usize) -> usize {
        self.find(self.first_var + var)
    }

    /// Joins two classes and gives the class a size, if one is given; the two sizes that differ, if any do.
    fn connect(&mut self, a: usize, b: usize, size: Option<SizeUse>) -> Result<(), (SizeUse, SizeUse)> {
        let (mut a, mut b) = (self.find(a), self.find(b));
        let mut size_of_a = None;
        if a != b {
            // The smaller class goes below the larger one, so that no member is far from its representative.
            if self.members[a] > self.members[b] {
                std::mem::swap(&mut a, &mut b);
            }
            self.parent[a] = b;
            self.members[b] += self.members[a];
            size_of_a = self.size[a].take();
        }
        let mut uses = [self.size[b].take(), size_of_a, size].into_iter().flatten();
        let Some(first) = uses.next() else { return Ok(()) };
        let differing = uses.find(|other| other.size != first.size);
        self.size[b] = Some(first.clone());
        differing.map_or(Ok(()), |second| Err((first, second)))
    }

    /// Finds sizes that only indicators tell, from those that are known. Sizes that come with values when the program runs count as known:
    /// sizes that follow from them are found then, and no other index tells them before.
    fn infer(&mut self, names: &Names) {
        let tied = names.accesses.iter().filter_map(|(tensor, vars, span)| {
            let (name, _) = names.tensors.get_index(*tensor)?;
            Some((names.indicators.get(name)?, vars, *span))
        });
        let tied: Vec<_> = tied.collect();
        // Classes of variables whose sizes are found when the program runs.
        let mut later: Vec<usize> = Vec::new();
        while let Some((var, size, span)) = self.inferred(names, &tied, &later) {
            let class = self.var(var);
            let Some(size) = size else {
                later.push(class);
                continue;
            };
            let whose = names.vars.get_index(var).map_or(String::new(), |(name, _)| format!("`{name}`"));
            self.size[class] = Some(SizeUse { span, size, whose });
        }
    }

    /// The first variable whose size an indicator tells, and the size, unless it is found when the program runs.
    fn inferred(
        &self,
        names: &Names,
        tied: &[(&Made, &Vec<usize>, Span)],
        later: &[usize],
    ) -> Option<(usize, Option<u64>, Span)> {
        // Sizes of operands come first: a result has room for all that it is assigned.
        let of_operands = tied.iter().filter(|(made, ..)| !made.is_target);
        of_operands.chain(tied).find_map(|&(made, vars, span)| {
            let own: Vec<Option<u64>> = vars.iter().map(|&var| self.of_var(var)).collect();
            let comes = |var: usize| later.contains(&self.var(var)) || self.is_given(names, var);
            let known: Vec<Option<u64>> =
                vars.iter().zip(&own).map(|(&var, size)| size.or_else(|| comes(var).then_some(1))).collect();
            let (place, size) = made.indicator(vars.len(), names).inferred(&known)?;
            let is_last = place + 1 == vars.len();
            // Values may be anything: an index that depends on them tells no size.
            let is_anything = |var: &usize| {
                tied.iter().any(|(of, own, _)| {
                    of.size.is_some() && !matches!(of.relation, Relation::List(_)) && own.last() == Some(var)
                })
            };
            let is_open = is_last && (!made.replaced || vars[..place].iter().any(is_anything));
            if self.is_given(names, vars[place]) || is_open {
                return None;
            }
            // A list tells its sizes; a part of a dimension is told by the size of the whole, and that by those of all parts.
            let is_told = matches!(made.relation, Relation::List(_))
                || if is_last {
                    own[..place].iter().all(Option::is_some)
                } else {
                    own.last().is_none_or(Option::is_some)
                };
            // The largest of several dimensions that have a part for each value of a variable tells its size.
            let room = match is_last {
                true => Some(self.room(names, tied, vars[place])),
                false => self.parts(names, tied, self.var(vars[place]), &comes),
            };
            Some((vars[place], room.filter(|_| is_told).map(|room| size.max(room)), span))
        })
    }

    /// The largest size that a dimension tells which has a part for each value of some variables; `None` if one is found when the program
    /// runs.
    fn parts(
        &self,
        names: &Names,
        tied: &[(&Made, &Vec<usize>, Span)],
        class: usize,
        comes: &dyn Fn(usize) -> bool,
    ) -> Option<u64> {
        let told = tied.iter().filter_map(|&(made, vars, _)| {
            let own = |&var: &usize| self.of_var(var).or_else(|| comes(var).then_some(1));
            let known: Vec<Option<u64>> = vars.iter().map(own).collect();
            let (place, size) = made.indicator(vars.len(), names).inferred(&known)?;
            let is_part = place + 1 < vars.len() && self.var(vars[place]) == class;
            let is_told = matches!(made.relation, Relation::List(_))
                || vars.last().is_none_or(|&last| self.of_var(last).is_some());
            is_part.then_some(is_told.then_some(size))
        });
        told.into_iter().try_fold(0, |most: u64, size| Some(most.max(size?)))
    }

    /// The room that all indices of the dimension which a variable runs over come to, as far as their variables have sizes.
    fn room(&self, names: &Names, tied: &[(&Made, &Vec<usize>, Span)], var: usize) -> u64 {
        let class = self.var(var);
        let own = tied
            .iter()
            .filter(|(made, vars, _)| made.is_target && vars.last().is_some_and(|&last| self.var(last) == class));
        let rooms = own.filter_map(|(made, vars, _)| {
            let known: Vec<Option<u64>> = vars.iter().map(|&var| self.of_var(var)).collect();
            let (place, size) = made.indicator(vars.len(), names).inferred(&known)?;
            (place + 1 == vars.len()).then_some(size)
        });
        rooms.max().unwrap_or(0)
    }

    /// True if a variable runs over a dimension of a tensor that is given when the program runs, and tells its size then.
    fn is_given(&self, names: &Names, var: usize) -> bool {
        let class = self.var(var);
        names.tensors.values().enumerate().any(|(tensor, entry)| {
            let first = self.first_dimension[tensor];
            let is_given = entry.role == Role::Input || entry.may_be_given || entry.is_given;
            is_given && (first..first + entry.order).any(|dimension| self.find(dimension) == class)
        })
    }

    /// The size of a dimension of a tensor, if it is known.
    pub fn of_dimension(&self, tensor: usize, dimension: usize) -> Option<u64> {
        self.size[self.find(self.first_dimension[tensor] + dimension)].as_ref().map(|known| known.size)
    }

    /// The size of a variable, if it is known.
    pub fn of_var(&self, var: usize) -> Option<u64> {
        self.size[self.var(var)].as_ref().map(|known| known.size)
    }
}

/// Checks that every variable of a left-hand side, of a sum or of a value has a size: it is an index on the right or in the summand,
/// or its size is known.
///
/// A dimension of a result whose index is a value has a size if the result has values before, or it is declared.
pub(super) fn require(program: &Program, declarations: &Declarations, errors: &mut Vec<Error>) {
    for statement in &program.statements {
        let target = &program.tensors[statement.lhs.tensor];
        let given =
            |inputs: &IndexSet<String>| inputs.contains(&target.name) || declarations.given.contains(&target.name);
        if declarations.inputs.as_ref().is_none_or(given) {
            continue;
        }
        let accesses = statement.rhs.accesses();
        let told_by = |var: VarId| accesses.iter().filter(move |access| access.vars.last() == Some(&var));
        let is_element = |var: VarId| told_by(var).any(|access| program.tensors[access.tensor].gathered().is_some());
        let scattered = |var: VarId| {
            told_by(var).any(|access| {
                let in_sum = access.vars.iter().any(|&own| own != var && is_element(own));
                is_element(var) || program.tensors[access.tensor].border().is_some() || in_sum
            })
        };
        let open = |var: &VarId| program.vars[*var].size.is_none() && scattered(*var);
        if let Some(dimension) = statement.lhs.vars.iter().position(open) {
            let (name, span) = (target.name.clone(), statement.lhs.span);
            errors.push(SizeMistake::UnknownDimension { name, span, dimension }.into());
        }
    }
    for statement in &program.statements {
        for var in untold_in_sums(program, statement) {
            let (variable, span) = (program.vars[var].name.clone(), statement.lhs.span);
            errors.push(SizeMistake::UnknownSize { variable, span, summed: false }.into());
        }
    }
    let mut check = |var: VarId, used: &[VarId], span: Span, summed: bool| {
        let entry = &program.vars[var];
        if !used.contains(&var) && entry.size.is_none() {
            errors.push(SizeMistake::UnknownSize { variable: entry.name.clone(), span, summed }.into());
        }
    };
    for statement in &program.statements {
        let used = indexing(program, &statement.rhs);
        statement.lhs.vars.iter().for_each(|&var| check(var, &used, statement.lhs.span, false));
        statement.rhs.visit(&mut |expr| {
            if let ExprKind::Reduce(_, vars, body) = &expr.kind {
                let used = indexing(program, body);
                vars.iter().for_each(|&var| check(var, &used, expr.span, true));
            }
        });
        for value in statement.rhs.accesses().into_iter().filter(|access| is_value(program, access)) {
            let used = [indexing(program, &statement.rhs), statement.lhs.vars.clone()].concat();
            value.vars.iter().for_each(|&var| check(var, &used, value.span, true));
        }
    }
}

/// The variables that occur in sums of indices on the left, such as `n` of `y(n + j) += x(j)`, and index nothing in the program.
fn untold_in_sums(program: &Program, statement: &Assignment) -> Vec<VarId> {
    // Coordinates that are a tensor's values have the sizes of this tensor.
    let is_sum = |access: &&Access| {
        let tensor = &program.tensors[access.tensor];
        tensor.indicator.is_some() && tensor.gathered().is_none()
    };
    let all = program.statements.iter().flat_map(|statement| {
        let right = statement.rhs.accesses().into_iter().filter(|access| !is_sum(access) && !is_value(program, access));
        right.chain([&statement.lhs]).flat_map(|access| access.vars.iter().copied())
    });
    let told: BTreeSet<VarId> = all.collect();
    let sums = statement.rhs.accesses().into_iter().filter(|access| {
        let is_open = |var: &VarId| program.vars[*var].size.is_none() && statement.lhs.vars.contains(var);
        is_sum(access) && access.vars.last().is_some_and(is_open)
    });
    let parts: BTreeSet<VarId> = sums.flat_map(|access| access.vars.iter().copied()).collect();
    parts.into_iter().filter(|var| program.vars[*var].size.is_none() && !told.contains(var)).collect()
}

fn is_value(program: &Program, access: &Access) -> bool {
    program.tensors[access.tensor].role == Role::Index
}

/// The variables that index tensors in an expression, and do not only stand as values.
fn indexing(program: &Program, expr: &Expr) -> Vec<VarId> {
    let accesses = expr.accesses().into_iter().filter(|access| !is_value(program, access));
    accesses.flat_map(|access| access.vars.iter().copied()).collect()
}

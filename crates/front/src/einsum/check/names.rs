//! Step 1: the meaning of each name.
//!
//! On exit every name is a tensor of one order, an index variable, or a function; every tensor is an input or a result; every
//! declaration is of something in the program. `actions` goes through the program in its order. A mistake that follows from another one
//! is not told. In `y(i) = sqrt(A(i,j))`, `y` is a result of order 1, `A` an input of order 2, `i` and `j` are variables.

mod actions;

use indexmap::{IndexMap, IndexSet};
use lacunar_base::Span;
use lacunar_formats::DType;
use lacunar_notation::index::values_name;
use lacunar_notation::{
    AssignOp, BinaryFn, Function, Monoid, Operator, Program, Role, Tensor, TensorId, UnaryFn, VarId,
};

use super::super::action::ActionKind;
use super::super::ast::{Ast, Callee, Expr, ExprKind, Name, Statement};
use super::super::declarations::Declarations;
use super::super::error::{AccessMistake, ActionMistake, Error, NameMistake, OperatorMistake, StatementMistake};
use super::indices::extents::SIZE;
use super::indices::{Indicators, Made, Relation};
use super::values;
use crate::structure::StructureSpec;
use crate::words;

/// The tensors and variables of a program. A tensor's or variable's place in its map is its handle's index.
#[derive(Default)]
pub(super) struct Names {
    pub tensors: IndexMap<String, Entry>,
    pub vars: IndexMap<String, Span>,
    /// Every access, in the order of the text: tensor, variables, place.
    pub accesses: Vec<(usize, Vec<usize>, Span)>,
    /// The tensors that are indicators.
    pub indicators: Indicators,
    /// The tensors that are swapped, and where.
    pub swaps: Vec<(usize, usize, Span)>,
    /// Tensors that become snapshots of others, with their places.
    pub snapshots: Vec<(usize, usize, Span)>,
}

/// The facts that are known of a tensor.
pub(super) struct Entry {
    pub order: usize,
    pub span: Span,
    pub role: Role,
    /// True if values are combined with those that it may have before.
    pub may_be_given: bool,
    /// True if a value is read before any is assigned, so that a caller has to give it.
    pub is_given: bool,
    /// True if its values are indices of other tensors.
    pub is_index: bool,
}

/// The meaning of `name(...)`.
#[derive(Clone, Copy)]
pub(crate) enum Meaning {
    Access,
    Function(Function),
    Cast(DType),
    Reduction(Monoid),
    Operator(Operator),
}

/// The meaning of `name(...)` or `name[...]`. A name that is a monoid's and a function's is a reduction if the arguments before the
/// last are index variables of it: `min(k, A(i,k))`, and not `min(a, x(i))`.
pub(crate) fn meaning(name: &str, args: &[Expr], callee: Callee) -> Meaning {
    match callee {
        Callee::Tensor => return Meaning::Access,
        Callee::Operator(operator) => {
            return match Monoid::of(BinaryFn::User(operator)).filter(|_| binds_indices(args)) {
                Some(monoid) => Meaning::Reduction(monoid),
                None => Meaning::Operator(operator),
            };
        }
        Callee::Named => {}
    }
    match (Monoid::parse(name), Function::parse(name), DType::parse(name)) {
        (Some(monoid), None, _) => Meaning::Reduction(monoid),
        (Some(monoid), Some(_), _) if binds_indices(args) => Meaning::Reduction(monoid),
        (_, Some(function), _) => Meaning::Function(function),
        (_, _, Some(dtype)) => Meaning::Cast(dtype),
        _ => Meaning::Access,
    }
}

/// True if arguments are names and then an expression that uses each of them as an index.
fn binds_indices(args: &[Expr]) -> bool {
    let Some((body, vars)) = args.split_last() else { return false };
    let is_bound = |var: &Expr| var.variable().is_some_and(|name| is_index_in(name, body));
    !vars.is_empty() && vars.iter().all(is_bound)
}

/// True if a name is an index of some access in an expression.
fn is_index_in(name: &str, expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Number(_) | ExprKind::Bool(_) | ExprKind::Name(_) | ExprKind::Identity(_) => false,
        ExprKind::Neg(a) | ExprKind::Cast { operand: a, .. } => is_index_in(name, a),
        ExprKind::Binary(_, a, b) => is_index_in(name, a) || is_index_in(name, b),
        ExprKind::List { index, .. } => {
            index.as_ref().is_some_and(|index| has_term(name, index) || is_index_in(name, index))
        }
        // Only the name's meaning is asked for: the answer whether it reduces would depend on this question.
        ExprKind::Apply { name: applied, args, callee } => {
            let is_access = match callee {
                Callee::Tensor => true,
                Callee::Named => reserved(&applied.text).is_none(),
                Callee::Operator(_) => false,
            };
            args.iter().any(|arg| (is_access && has_term(name, arg)) || is_index_in(name, arg))
        }
    }
}

/// True if an index is a variable, or a sum in which it occurs.
fn has_term(name: &str, index: &Expr) -> bool {
    match &index.kind {
        ExprKind::Name(own) => own == name,
        ExprKind::Neg(a) => has_term(name, a),
        ExprKind::Binary(_, a, b) => has_term(name, a) || has_term(name, b),
        _ => false,
    }
}

/// Resolves all names.
pub(super) fn resolve(ast: &Ast, indicators: Indicators, declarations: &Declarations) -> Result<Names, Vec<Error>> {
    let mut resolver = Resolver::new(Names { indicators, ..Names::default() }, declarations);
    resolver.targets = ast.statements.iter().map(|statement| statement.name.text.as_str()).collect();
    resolver.is_sequence = ast.body.iter().all(|action| matches!(action.kind, ActionKind::Assign(_)));
    resolver.updated = ast.lines.iter().filter_map(|line| line.source.as_deref()).collect();
    resolver.operators = ast.operators.iter().map(|declared| declared.operator).collect();
    resolver.actions(ast, &ast.body);
    resolver.known_by_actions(&ast.body);
    resolver.clashes();
    // A name may be missing only because of a mistake that is told already.
    if resolver.errors.is_empty() {
        resolver.declared();
    }
    if resolver.errors.is_empty() { Ok(resolver.names) } else { Err(resolver.errors) }
}

/// Resolves an expression whose names are known.
pub(super) fn resolve_expression(names: Names, declarations: &Declarations, expr: &Expr) -> Result<Names, Vec<Error>> {
    let known = names.vars.keys().filter(|var| names.is_value(var)).cloned().collect();
    let mut resolver = Resolver::new(names, declarations);
    resolver.values = known;
    resolver.expr(expr);
    if resolver.errors.is_empty() { Ok(resolver.names) } else { Err(resolver.errors) }
}

impl Names {
    /// The names of a checked program. Its places are of another text and so left out.
    pub fn of(program: &Program) -> Names {
        let tensor = |tensor: &Tensor| {
            let entry = Entry::new(tensor.order(), Span::NONE, tensor.role);
            (tensor.name.clone(), entry)
        };
        Names {
            tensors: program.tensors.iter().map(|(_, declared)| tensor(declared)).collect(),
            vars: program.vars.iter().map(|(_, var)| (var.name.clone(), Span::NONE)).collect(),
            accesses: Vec::new(),
            indicators: Indicators::new(),
            swaps: Vec::new(),
            snapshots: Vec::new(),
        }
    }

    /// Puts the tensors into the order of some names; the others come behind them.
    pub fn arrange<'n>(&mut self, names: impl Iterator<Item = &'n str>) {
        let order: IndexSet<&str> = names.collect();
        let before: Vec<String> = self.tensors.keys().cloned().collect();
        self.tensors.sort_by_key(|name, _| order.get_index_of(name.as_str()).unwrap_or(order.len()));
        let pairs = self.swaps.iter_mut().chain(&mut self.snapshots).flat_map(|(a, b, _)| [a, b]);
        for tensor in self.accesses.iter_mut().map(|(tensor, ..)| tensor).chain(pairs) {
            *tensor = self.tensors.get_index_of(&before[*tensor]).unwrap_or_default();
        }
    }

    /// The handle of a tensor of the program.
    pub fn tensor(&self, name: &str) -> TensorId {
        TensorId::from_index(self.tensors.get_index_of(name).unwrap_or_default())
    }

    /// The handle of a variable of the program.
    pub fn var(&self, name: &str) -> VarId {
        VarId::from_index(self.vars.get_index_of(name).unwrap_or_default())
    }

    /// True if a name that stands alone is the value of an index variable.
    pub fn is_value(&self, name: &str) -> bool {
        !self.tensors.contains_key(name) && self.tensors.contains_key(&values_name(name))
    }

    /// The handles of indices, which are variables.
    pub fn indices(&self, indices: &[Expr]) -> Vec<VarId> {
        indices.iter().filter_map(Expr::variable).map(|name| self.var(name)).collect()
    }
}

struct Resolver<'a> {
    names: Names,
    declarations: &'a Declarations,
    /// The tensors that some statement assigns to.
    targets: IndexSet<&'a str>,
    /// The tensors whose value before has a line: one that is not given begins with its fill value.
    updated: IndexSet<&'a str>,
    /// Tensors that are reported to have no value, each once.
    undeclared: IndexSet<String>,
    /// Results, each with the place where it is first assigned.
    assigned: IndexMap<String, Span>,
    /// Names that stand alone as arguments of `max` and `min`, each with the function.
    compared: IndexMap<String, String>,
    /// The variables of the statement: those whose names can stand as values.
    values: IndexSet<String>,
    /// Variables that are bound at the resolver's place: those on the left, and of the reductions around.
    bound: Vec<(String, Span)>,
    /// The whole right-hand side of the statement, without conversions of it, if nothing else is assigned.
    outermost: Option<Span>,
    /// True if there are only statements, each carried out once.
    is_sequence: bool,
    /// The tensors that actions read before any gives them a value.
    read_first: IndexSet<String>,
    /// The number of blocks around.
    blocks: usize,
    /// The clocks that are set.
    clocks: IndexSet<&'a str>,
    /// The tensors whose entries conditions count.
    counted: Vec<(&'a str, Span)>,
    /// The operators that the program declares.
    operators: Vec<Operator>,
    errors: Vec<Error>,
}

impl<'a> Resolver<'a> {
    fn new(names: Names, declarations: &'a Declarations) -> Resolver<'a> {
        Resolver {
            names,
            declarations,
            targets: IndexSet::new(),
            updated: IndexSet::new(),
            undeclared: IndexSet::new(),
            assigned: IndexMap::new(),
            compared: IndexMap::new(),
            values: IndexSet::new(),
            bound: Vec::new(),
            outermost: None,
            is_sequence: true,
            read_first: IndexSet::new(),
            blocks: 0,
            clocks: IndexSet::new(),
            counted: Vec::new(),
            operators: Vec::new(),
            errors: Vec::new(),
        }
    }

    fn statement(&mut self, statement: &Statement) {
        let Statement { name, indices, lhs_span, .. } = statement;
        self.values = values::variables(statement);
        self.bound.clear();
        for index in indices {
            let Some(variable) = index.variable() else { continue };
            match self.bound.iter().find(|(bound, _)| bound == variable) {
                Some(&(_, first)) => {
                    self.errors.push(
                        StatementMistake::Repeated { variable: variable.to_string(), span: index.span, first }.into(),
                    );
                }
                None => self.bound.push((variable.to_string(), index.span)),
            }
        }
        let known = self.names.tensors.contains_key(&name.text);
        self.access(name, indices, *lhs_span);
        let first = self.names.accesses.len();
        self.outermost = (statement.op == AssignOp::Set).then_some(converted(&statement.rhs).span);
        self.expr(&statement.rhs);
        // Only now, so that mistakes inside the right-hand side come first.
        let reads_itself = self.reads(first, name);
        self.target(statement, known, reads_itself);
        self.assigned.entry(name.text.clone()).or_insert(*lhs_span);
    }

    /// Asks that the tensors which a statement reads, those of the accesses from `first` on, have a value. Returns
    /// whether one of them is `target`, the tensor that it assigns to.
    fn reads(&mut self, first: usize, target: &Name) -> bool {
        let mut reads_itself = false;
        for place in first..self.names.accesses.len() {
            let (tensor, _, span) = self.names.accesses[place];
            let Some((name, _)) = self.names.tensors.get_index(tensor) else { continue };
            if self.names.tensors[tensor].role.is_computed() {
                continue;
            }
            let name = name.clone();
            reads_itself |= name == target.text;
            self.read(&name, span, Some(target));
        }
        reads_itself
    }

    /// Asks that a tensor has a value where it is read: an earlier action assigns it, or it is given. `target` is the tensor that the
    /// statement assigns to, if a statement reads it.
    fn read(&mut self, name: &str, span: Span, target: Option<&Name>) {
        let is_old = target.is_some_and(|target| target.text == name) && self.updated.contains(name);
        if self.assigned.contains_key(name) || is_old {
            return;
        }
        match self.names.tensors.get_mut(name) {
            Some(entry) => entry.is_given = true,
            None => _ = self.read_first.insert(name.to_string()),
        }
        let Some(inputs) = self.declarations.inputs.as_ref().filter(|inputs| !inputs.contains(name)) else { return };
        if !self.undeclared.insert(name.to_string()) {
            return;
        }
        let hint = if target.is_some_and(|target| target.text == name) {
            Some("a statement reads old values, not those that it computes: give it one before".to_string())
        } else if name == SIZE {
            Some("`size(A, 0)` stands in indices alone".to_string())
        } else if self.targets.contains(name) {
            Some(match self.is_sequence {
                true => "move the statement that assigns it before this one".to_string(),
                false => format!("give it a value before: assign it, `read {name} \"file\"`, or use `-i` or `-g`"),
            })
        } else {
            let with_values = inputs.iter().chain(self.assigned.keys()).map(String::as_str);
            words::nearest(name, with_values).map(|found| format!("did you mean `{found}`?"))
        };
        self.errors.push(NameMistake::Undeclared { name: name.to_string(), span, hint }.into());
    }

    /// Checks that a statement may assign to its tensor, and makes it a result. `known`: it occurs in an earlier one. A program of
    /// statements alone assigns each tensor once, before it is read, unless the old value is used.
    fn target(&mut self, statement: &Statement, known: bool, reads_itself: bool) {
        let (name, span) = (&statement.name.text, statement.lhs_span);
        let declarations = self.declarations;
        let is_input = declarations.inputs.as_ref().is_some_and(|inputs| inputs.contains(name));
        let given = is_input || declarations.given.contains(name);
        let replaces = statement.op == AssignOp::Set && !reads_itself;
        let Some(entry) = self.names.tensors.get_mut(name) else { return };
        let is_read_before = known && self.is_sequence && !reads_itself;
        let is_never_read = given && replaces && self.blocks == 0 && !entry.is_given;
        if let Some(&first) = self.assigned.get(name) {
            if replaces && self.is_sequence {
                self.errors.push(StatementMistake::AssignedTwice { name: name.clone(), span, first }.into());
            } else {
                entry.role = Role::Result;
            }
        } else if self.undeclared.contains(name) {
            // Told already, where it is read.
        } else if is_read_before || is_never_read {
            let read = known.then_some(entry.span);
            self.errors.push(StatementMistake::AssignedInput { name: name.clone(), span, read }.into());
        } else {
            entry.role = Role::Result;
            entry.may_be_given = !replaces;
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Number(_) | ExprKind::Bool(_) | ExprKind::Identity(_) => {}
            ExprKind::List { .. } => self.errors.push(AccessMistake::ListAsValue { span: expr.span }.into()),
            ExprKind::Name(text) if self.is_value(text) => self.value(text, expr.span),
            ExprKind::Name(text) => self.access(&Name { text: text.clone(), span: expr.span }, &[], expr.span),
            ExprKind::Cast { operand, .. } | ExprKind::Neg(operand) => self.expr(operand),
            ExprKind::Binary(_, left, right) => {
                self.expr(left);
                self.expr(right);
            }
            ExprKind::Apply { name, args, callee } => match meaning(&name.text, args, *callee) {
                Meaning::Access => self.access(name, args, expr.span),
                Meaning::Reduction(monoid) => self.reduction(monoid, args, expr.span),
                Meaning::Function(function) => {
                    if function == Function::Unary(UnaryFn::Prune) && self.outermost != Some(expr.span) {
                        self.errors.push(AccessMistake::Pruned { span: expr.span }.into());
                    }
                    self.arguments(name, args.len(), function);
                    if let Function::Binary(BinaryFn::Max | BinaryFn::Min) = function {
                        let alone = args.iter().filter_map(Expr::variable);
                        self.compared.extend(alone.map(|arg| (arg.to_string(), name.text.clone())));
                    }
                    args.iter().for_each(|arg| self.expr(arg));
                }
                Meaning::Operator(operator) => {
                    self.operands(name, args.len(), operator);
                    // It looks like a reduction, and would be the function of the index's value.
                    if operator.arity() == 2 && binds_indices(args) {
                        let index = args.first().and_then(Expr::variable).map(str::to_string);
                        self.errors.push(OperatorMistake::NoMonoid { span: name.span, operator, index }.into());
                    }
                    args.iter().for_each(|arg| self.expr(arg));
                }
                Meaning::Cast(_) => {
                    if args.len() != 1 {
                        let (name, span, found) = (name.text.clone(), name.span, args.len());
                        self.errors.push(AccessMistake::Arguments { name, span, expected: 1, found }.into());
                    }
                    args.iter().for_each(|arg| self.expr(arg));
                }
            },
        }
    }

    fn arguments(&mut self, name: &Name, found: usize, function: Function) {
        let (expected, more) = match function {
            Function::Unary(_) => (1, false),
            Function::Binary(function) => (2, matches!(function, BinaryFn::Min | BinaryFn::Max)),
            Function::Select => (3, false),
        };
        if found != expected && !(more && found > expected) {
            self.errors
                .push(AccessMistake::Arguments { name: name.text.clone(), span: name.span, expected, found }.into());
        }
    }

    fn operands(&mut self, name: &Name, found: usize, operator: Operator) {
        let expected = operator.arity();
        if found != expected {
            self.errors
                .push(AccessMistake::Arguments { name: name.text.clone(), span: name.span, expected, found }.into());
        }
    }

    fn reduction(&mut self, monoid: Monoid, args: &[Expr], span: Span) {
        let is_written = |vars: &[Expr]| !vars.is_empty() && vars.iter().all(|var| var.variable().is_some());
        let Some((body, vars)) = args.split_last().filter(|(_, vars)| is_written(vars)) else {
            return self.errors.push(AccessMistake::ReductionVariables { span, name: monoid.name() }.into());
        };
        let depth = self.bound.len();
        for var in vars {
            let Some(name) = var.variable() else { continue };
            self.names.vars.entry(name.to_string()).or_insert(var.span);
            match self.bound.iter().find(|(bound, _)| bound == name) {
                Some(&(_, first)) => {
                    self.errors.push(NameMistake::BoundTwice { name: name.to_string(), span: var.span, first }.into());
                }
                None => self.bound.push((name.to_string(), var.span)),
            }
        }
        self.expr(body);
        if monoid.compared().is_some() {
            match vars {
                [index] => index.variable().into_iter().for_each(|name| self.value(name, index.span)),
                _ => self.errors.push(AccessMistake::OneIndex { span, name: monoid.name() }.into()),
            }
        }
        self.bound.truncate(depth);
    }

    /// True if a name that stands alone is an index variable of the statement, and no tensor.
    fn is_value(&self, name: &str) -> bool {
        let Declarations { inputs, given, .. } = self.declarations;
        let is_given = inputs.as_ref().is_some_and(|inputs| inputs.contains(name)) || given.contains(name);
        let is_tensor = self.names.tensors.contains_key(name) || self.targets.contains(name);
        self.values.contains(name) && !is_given && !is_tensor
    }

    /// The value of an index variable: an access of the tensor of its values.
    fn value(&mut self, name: &str, span: Span) {
        let known = self.names.tensors.entry(values_name(name));
        let tensor = known.index();
        known.or_insert(Entry::new(1, span, Role::Index));
        let known = self.names.vars.entry(name.to_string());
        let var = known.index();
        known.or_insert(span);
        self.names.accesses.push((tensor, vec![var], span));
    }

    /// An access, or an expression that looks like one.
    fn access(&mut self, name: &Name, indices: &[Expr], span: Span) {
        if self.counts(name, indices) {
            return self.errors.push(ActionMistake::Count { span }.into());
        }
        if let Some(index) = indices.iter().find(|index| index.variable().is_none()) {
            let is_tensor = self.targets.contains(name.text.as_str())
                || self.declarations.inputs.as_ref().is_some_and(|inputs| inputs.contains(&name.text));
            return self.errors.push(match is_tensor {
                true => AccessMistake::NotAnIndex { span: index.span }.into(),
                false => not_an_access(name, index),
            });
        }
        let is_operator = self.operators.iter().any(|operator| operator.name() == name.text);
        if let Some(what) = is_operator.then_some("an operator that is declared before").or(reserved(&name.text)) {
            return self.errors.push(NameMistake::Reserved { name: name.text.clone(), span: name.span, what }.into());
        }
        let order = indices.len();
        let known = self.names.tensors.entry(name.text.clone());
        let tensor = known.index();
        let role = if self.names.indicators.contains_key(&name.text) { Role::Indicator } else { Role::Input };
        let entry = known.or_insert(Entry::new(order, span, role));
        if entry.order != order {
            let (first, first_count) = (entry.span, entry.order);
            let name = name.text.clone();
            return self.errors.push(AccessMistake::IndexCount { name, span, count: order, first, first_count }.into());
        }
        let vars = indices
            .iter()
            .filter_map(|index| Some((index.variable()?, index.span)))
            .map(|(variable, span)| {
                let entry = self.names.vars.entry(variable.to_string());
                let place = entry.index();
                entry.or_insert(span);
                place
            })
            .collect();
        self.names.accesses.push((tensor, vars, span));
        if let Some(Made { relation: Relation::Values(of), .. }) = self.names.indicators.get(&name.text) {
            let (of, others) = (of.clone(), &indices[..order.saturating_sub(1)]);
            self.access(&of, others, span);
            if let Some(entry) = self.names.tensors.get_mut(&of.text) {
                entry.is_index = true;
            }
        }
    }

    /// True of `nnz(A)` for a tensor `A`, if no tensor is called `nnz`.
    fn counts(&self, name: &Name, indices: &[Expr]) -> bool {
        let Declarations { inputs, given, formats, dtypes, .. } = self.declarations;
        let is_given = |name: &str| inputs.as_ref().is_some_and(|inputs| inputs.contains(name)) || given.contains(name);
        let is_assigned = |name: &str| self.targets.contains(name);
        let is_tensor = |name: &str| {
            let is_declared = formats.contains_key(name) || dtypes.contains_key(name);
            self.names.tensors.contains_key(name) || is_given(name) || is_assigned(name) || is_declared
        };
        let [of] = indices else { return false };
        let own = name.text.as_str();
        own == Expr::COUNT && !is_given(own) && !is_assigned(own) && of.variable().is_some_and(is_tensor)
    }

    /// Names that are both a tensor's and a variable's; that such a tensor has no value is no mistake of its own.
    fn clashes(&mut self) {
        for (name, &variable) in &self.names.vars {
            if let Some(entry) = self.names.tensors.get(name) {
                without_undeclared(&mut self.errors, name);
                let is_counted = |(tensor, vars, _): &&(usize, Vec<usize>, Span)| {
                    let is_count = self.names.tensors.get_index(*tensor).is_some_and(|(own, _)| own == Expr::COUNT);
                    is_count
                        && vars.iter().any(|var| self.names.vars.get_index(*var).is_some_and(|(own, _)| own == name))
                };
                if let Some((_, _, span)) = self.names.accesses.iter().find(is_counted) {
                    without_undeclared(&mut self.errors, Expr::COUNT);
                    self.errors.push(ActionMistake::Count { span: *span }.into());
                    continue;
                }
                let compared = self.compared.get(name).cloned();
                let (name, tensor, is_number) = (name.clone(), entry.span, entry.order == 0);
                self.errors.push(NameMistake::TensorAndVariable { name, tensor, variable, compared, is_number }.into());
            }
        }
    }

    /// Finds declarations of names that are not in the program.
    fn declared(&mut self) {
        let Names { tensors, vars, .. } = &self.names;
        let declarations = self.declarations;
        let no_tensor = |name: &&str| !tensors.contains_key(*name);
        let is_parameter = |name: &str| {
            let mut parameters = declarations.structures.values().flat_map(StructureSpec::parameters);
            parameters.any(|parameter| parameter == name)
        };
        let nothing = |name: &&str| !tensors.contains_key(*name) && !vars.contains_key(*name) && !is_parameter(name);
        let written = tensors.iter().filter(|(_, entry)| entry.role != Role::Index);
        let tensor_names = written.map(|(name, _)| name.as_str());
        let all_names: IndexSet<&str> = tensor_names.clone().chain(vars.keys().map(String::as_str)).collect();
        let otherwise = "remove the declaration, or use the name in the program";
        for name in declarations.tensor_names().into_iter().filter(no_tensor) {
            let what = if declarations.formats.contains_key(name) {
                "a format"
            } else if declarations.dtypes.contains_key(name) {
                "a type"
            } else if declarations.structures.contains_key(name) {
                "a structure"
            } else {
                "a value"
            };
            let hint = words::did_you_mean(name, tensor_names.clone(), otherwise);
            self.errors.push(NameMistake::NotInProgram { name: name.to_string(), what, hint }.into());
        }
        for name in declarations.sized_names().into_iter().filter(nothing) {
            let hint = words::did_you_mean(name, all_names.iter().copied(), otherwise);
            self.errors.push(NameMistake::NotInProgram { name: name.to_string(), what: "a size", hint }.into());
        }
    }
}

/// The mistake in `name(... index ...)`, where `index` is no variable: an unknown function, or an index that cannot be.
fn not_an_access(name: &Name, index: &Expr) -> Error {
    fn has_access(expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Apply { .. } | ExprKind::Cast { .. } => true,
            ExprKind::List { .. } => false,
            ExprKind::Neg(operand) => has_access(operand),
            ExprKind::Binary(_, left, right) => has_access(left) || has_access(right),
            ExprKind::Number(_) | ExprKind::Bool(_) | ExprKind::Name(_) | ExprKind::Identity(_) => false,
        }
    }
    if name.text == Expr::COUNT {
        return ActionMistake::Count { span: name.span }.into();
    }
    if !has_access(index) {
        return AccessMistake::NotAnIndex { span: index.span }.into();
    }
    let known = Function::names().chain(Monoid::all().map(Monoid::name));
    let otherwise = "functions are, among others: sqrt exp log abs min max pow sin cos select";
    let hint = match name.text.as_str() {
        "relu" => "write `max(0, x)`".to_string(),
        other => words::did_you_mean(other, known, otherwise),
    };
    NameMistake::UnknownFunction { name: name.text.clone(), span: name.span, hint }.into()
}

/// The meaning of a word that cannot name a tensor.
fn reserved(name: &str) -> Option<&'static str> {
    match name {
        "true" | "false" => Some("a truth value"),
        "inf" => Some("infinity"),
        _ if Monoid::parse(name).is_some() => Some("a reduction over index variables"),
        _ if Function::parse(name).is_some() => Some("a function"),
        _ if DType::parse(name).is_some() => Some("an element type"),
        _ => None,
    }
}

/// The expression that conversions convert.
fn converted(expr: &Expr) -> &Expr {
    match &expr.kind {
        ExprKind::Cast { operand, .. } => converted(operand),
        ExprKind::Apply { name, args, callee } => match (meaning(&name.text, args, *callee), args.as_slice()) {
            (Meaning::Cast(_), [operand]) => converted(operand),
            _ => expr,
        },
        _ => expr,
    }
}

/// Takes away the mistakes that a tensor has no value, where another one says more of its name.
fn without_undeclared(errors: &mut Vec<Error>, tensor: &str) {
    errors.retain(|error| !matches!(error, Error::Name(NameMistake::Undeclared { name, .. }) if name == tensor));
}

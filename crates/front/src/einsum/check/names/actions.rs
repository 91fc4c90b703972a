//! The names in actions: the tensors that have values at each place, in the order of the text.
//!
//! A round of a loop may read values that an earlier round has assigned; the first can read only those from before the loop. So
//! a tensor has a value from the first action in the text that gives it one.

use lacunar_base::Span;
use lacunar_notation::Role;

use super::super::super::action::{Action, ActionKind};
use super::super::super::ast::{Ast, Expr, ExprKind, Name};
use super::super::super::declarations::Declarations;
use super::super::super::error::{ActionMistake, NameMistake, OperatorMistake};
use super::{Entry, Meaning, Resolver, meaning, reserved};
use crate::words;

impl<'a> Resolver<'a> {
    /// Resolves the names in actions and in their blocks.
    pub(super) fn actions(&mut self, ast: &'a Ast, actions: &'a [Action]) {
        for action in actions {
            self.action(ast, action);
        }
    }

    fn action(&mut self, ast: &'a Ast, action: &'a Action) {
        match &action.kind {
            ActionKind::Assign(statement) => self.statement(&ast.statements[*statement]),
            ActionKind::Swap(a, b) => {
                for name in [a, b] {
                    self.read(&name.text, name.span, None);
                }
            }
            ActionKind::Print(name) | ActionKind::Write(name, _) => self.read(&name.text, name.span, None),
            ActionKind::Fill(name, value) => {
                self.scalar(value);
                self.assigned.entry(name.text.clone()).or_insert(name.span);
            }
            ActionKind::Random { tensor: name, seed, .. } => {
                seed.iter().for_each(|seed| self.scalar(seed));
                self.assigned.entry(name.text.clone()).or_insert(name.span);
            }
            ActionKind::Read(name, _) => {
                self.assigned.entry(name.text.clone()).or_insert(name.span);
            }
            ActionKind::Change { tensor, range, .. } => {
                for end in range.iter().flat_map(|(from, to)| [from, to]) {
                    self.scalar(end);
                }
                self.assigned.entry(tensor.text.clone()).or_insert(tensor.span);
            }
            ActionKind::Snapshot(name, of) => {
                self.read(&of.text, of.span, None);
                self.assigned.entry(name.text.clone()).or_insert(name.span);
            }
            ActionKind::Clock(name) => {
                self.clocks.insert(&name.text);
            }
            ActionKind::Elapsed(name) => {
                if !self.clocks.contains(name.text.as_str()) {
                    self.errors.push(ActionMistake::Clock { name: name.text.clone(), span: name.span }.into());
                }
            }
            ActionKind::For { counter, from, to, body } => {
                self.scalar(from);
                self.scalar(to);
                self.range(from, to);
                self.bound.clear();
                self.access(counter, &[], counter.span);
                if let Some(entry) = self.names.tensors.get_mut(&counter.text) {
                    entry.role = Role::Result;
                }
                self.assigned.entry(counter.text.clone()).or_insert(counter.span);
                self.block(ast, body);
            }
            ActionKind::While { condition, body } => {
                self.scalar(condition);
                self.block(ast, body);
            }
            ActionKind::If { condition, then, otherwise } => {
                self.scalar(condition);
                self.block(ast, then);
                self.block(ast, otherwise);
            }
        }
    }

    fn block(&mut self, ast: &'a Ast, body: &'a [Action]) {
        self.blocks += 1;
        self.actions(ast, body);
        self.blocks -= 1;
    }

    /// Checks a range whose ends are written as numbers: it has to have a round.
    fn range(&mut self, from: &Expr, to: &Expr) {
        let literal = |expr: &Expr| match expr.kind {
            ExprKind::Number(super::super::super::ast::Number::Int(value)) => Some(value),
            _ => None,
        };
        if let (Some(first), Some(end)) = (literal(from), literal(to))
            && first >= end
        {
            self.errors.push(ActionMistake::NoRound { span: from.span.to(to.span), first, end }.into());
        }
    }

    /// Resolves the names in a number that is computed between statements.
    fn scalar(&mut self, expr: &'a Expr) {
        if let Some((name, span)) = expr.counted() {
            self.counted.push((name, span));
            return self.read(name, span, None);
        }
        match &expr.kind {
            ExprKind::Number(_) | ExprKind::Bool(_) | ExprKind::Identity(_) => {}
            ExprKind::List { .. } => self.errors.push(ActionMistake::NotANumber { span: expr.span }.into()),
            ExprKind::Name(text) => {
                self.access(&Name { text: text.clone(), span: expr.span }, &[], expr.span);
                self.read(text, expr.span, None);
            }
            ExprKind::Cast { operand, .. } | ExprKind::Neg(operand) => self.scalar(operand),
            ExprKind::Binary(_, left, right) => {
                self.scalar(left);
                self.scalar(right);
            }
            ExprKind::Apply { name, args, callee } => match meaning(&name.text, args, *callee) {
                Meaning::Function(function) => {
                    self.arguments(name, args.len(), function);
                    args.iter().for_each(|arg| self.scalar(arg));
                }
                Meaning::Operator(operator) if operator.declaration().has_regions => {
                    self.errors.push(OperatorMistake::NoRegions { span: expr.span, name: operator.name() }.into());
                }
                Meaning::Operator(operator) => {
                    self.operands(name, args.len(), operator);
                    args.iter().for_each(|arg| self.scalar(arg));
                }
                Meaning::Cast(_) if args.len() == 1 => args.iter().for_each(|arg| self.scalar(arg)),
                Meaning::Access if name.text == Expr::COUNT => {
                    self.errors.push(ActionMistake::CountOf { span: expr.span }.into());
                }
                Meaning::Access | Meaning::Reduction(_) | Meaning::Cast(_) => {
                    self.errors.push(ActionMistake::NotANumber { span: expr.span }.into());
                }
            },
        }
    }

    /// Asks that the tensors which actions name are in statements, which tell their orders; notes those that are swapped.
    pub(super) fn known_by_actions(&mut self, actions: &'a [Action]) {
        let counted: Vec<(&str, Span)> = std::mem::take(&mut self.counted);
        let mut named = counted.clone();
        let (mut swaps, mut snapshots) = (Vec::new(), Vec::new());
        Action::visit(actions, &mut |action| match &action.kind {
            ActionKind::Swap(a, b) => {
                named.extend([a, b].map(|name| (name.text.as_str(), name.span)));
                swaps.push((a, b, action.span));
            }
            ActionKind::Snapshot(a, b) => {
                named.extend([a, b].map(|name| (name.text.as_str(), name.span)));
                snapshots.push((a, b, action.span));
            }
            ActionKind::Print(name)
            | ActionKind::Read(name, _)
            | ActionKind::Write(name, _)
            | ActionKind::Fill(name, _)
            | ActionKind::Change { tensor: name, .. }
            | ActionKind::Random { tensor: name, .. } => named.push((&name.text, name.span)),
            _ => {}
        });
        let alike = [swaps.as_slice(), snapshots.as_slice()].concat();
        self.ordered_by_declarations(&named, &alike);
        if self.numbers_filled(actions, &counted) {
            self.ordered_by_declarations(&named, &alike);
        }
        for (name, span) in named {
            if let Some(what) = reserved(name) {
                self.errors.push(NameMistake::Reserved { name: name.to_string(), span, what }.into());
            } else if !self.names.tensors.contains_key(name) {
                let tensors = self.names.tensors.keys().map(String::as_str);
                let otherwise =
                    format!("no statement tells its dimensions: declare their sizes, for example `-d {name}:100,100`");
                let hint = words::did_you_mean(name, tensors, otherwise);
                self.errors.push(ActionMistake::NoTensor { name: name.to_string(), span, hint }.into());
            }
        }
        for (a, b, span) in snapshots {
            let places = [a, b].map(|name| self.names.tensors.get_index_of(&name.text));
            let [Some(first), Some(second)] = places else { continue };
            let orders = [first, second].map(|tensor| self.names.tensors[tensor].order);
            if orders[0] == orders[1] {
                self.names.snapshots.push((first, second, span));
            } else {
                let differ = format!("{} and {} indices", orders[0], orders[1]);
                let names = [a, b].map(|name| name.text.clone());
                self.errors.push(ActionMistake::Snapshot { names, span, differ }.into());
            }
        }
        for (a, b, span) in swaps {
            let places = [a, b].map(|name| self.names.tensors.get_index_of(&name.text));
            let [Some(first), Some(second)] = places else { continue };
            let orders = [first, second].map(|tensor| self.names.tensors[tensor].order);
            if orders[0] == orders[1] {
                self.names.swaps.push((first, second, span));
                [first, second].into_iter().for_each(|tensor| self.names.tensors[tensor].role = Role::Result);
            } else {
                let differ = format!("{} and {} indices", orders[0], orders[1]);
                let names = [a, b].map(|name| name.text.clone());
                self.errors.push(ActionMistake::Swapped { names, span, differ }.into());
            }
        }
    }
}

impl Resolver<'_> {
    /// Adds tensors that are filled and have no dimensions by anything else in the program: a number, as in `fill n nnz(A)`. A
    /// tensor of which entries are counted, read, made up or changed is none. Returns true if there is one.
    fn numbers_filled(&mut self, actions: &[Action], counted: &[(&str, Span)]) -> bool {
        let (mut filled, mut others) = (Vec::new(), Vec::new());
        Action::visit(actions, &mut |action| match &action.kind {
            ActionKind::Fill(name, _) => filled.push(name),
            ActionKind::Read(name, _)
            | ActionKind::Change { tensor: name, .. }
            | ActionKind::Random { tensor: name, .. } => others.push(name.text.as_str()),
            _ => {}
        });
        filled.retain(|name| {
            let is_other = others.contains(&name.text.as_str()) || counted.iter().any(|(other, _)| *other == name.text);
            !is_other && !self.names.tensors.contains_key(&name.text)
        });
        for name in &filled {
            let entry = Entry::new(0, name.span, Role::Input);
            self.names.tensors.entry(name.text.clone()).or_insert(entry);
        }
        !filled.is_empty()
    }

    /// Adds the tensors that no statement has and of which declarations tell the number of dimensions, or another that they become.
    fn ordered_by_declarations(&mut self, named: &[(&str, Span)], alike: &[(&Name, &Name, Span)]) {
        let Declarations { dims, sizes, formats, .. } = self.declarations;
        let declared = |name: &str| {
            let one = sizes.contains_key(name).then_some(1);
            dims.get(name).map(Vec::len).or(one).or_else(|| formats.get(name)?.order())
        };
        loop {
            let before = self.names.tensors.len();
            for &(name, span) in named.iter().filter(|(name, _)| !self.names.tensors.contains_key(*name)) {
                let others = alike.iter().filter_map(|(a, b, _)| match (a.text == name, b.text == name) {
                    (true, _) => Some(&b.text),
                    (_, true) => Some(&a.text),
                    _ => None,
                });
                let order = declared(name);
                let order =
                    order.or_else(|| others.into_iter().find_map(|other| Some(self.names.tensors.get(other)?.order)));
                let Some(order) = order else { continue };
                let is_given = self.read_first.contains(name);
                let entry = Entry { is_given, ..Entry::new(order, span, Role::Input) };
                self.names.tensors.insert(name.to_string(), entry);
                break;
            }
            if self.names.tensors.len() == before {
                return;
            }
        }
    }
}

impl Entry {
    /// A tensor of which nothing is known yet but where it first occurs.
    pub(in crate::einsum::check) fn new(order: usize, span: Span, role: Role) -> Entry {
        Entry { order, span, role, may_be_given: false, is_given: false, is_index: false }
    }

    /// True if the type and the format follow from the assigned value.
    pub(in crate::einsum::check) fn is_open(&self) -> bool {
        self.role == Role::Result && !self.is_given
    }
}

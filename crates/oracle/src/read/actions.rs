//! Actions as the oracle reads them: those that change the values of tensors.

use std::collections::BTreeSet;

use lacunar_formats::{DType, Generator};
use lacunar_front::Declarations;
use lacunar_front::einsum::{self, ActionKind, Callee, Expr, ExprKind};
use lacunar_notation::TensorId;

use super::{Known, Reader, alone, settled};
use crate::scalar::Scalar;
use crate::sums::{Node, Term, cast};

/// An action.
#[derive(Clone, Debug)]
pub enum Action {
    /// Carries out the statement of this number.
    Assign(usize),
    /// Exchanges two tensors.
    Swap(TensorId, TensorId),
    /// The first tensor becomes a copy of the second one.
    Snapshot(TensorId, TensorId),
    /// Changes a tensor by entries of a file.
    Change(TensorId),
    /// Reads a tensor from a file, in whose place it is given. False for another file than the first that is read for it.
    Read(TensorId, bool),
    /// Gives every element of a tensor a number.
    Fill(TensorId, Term),
    /// Makes up the elements of a tensor, from a seed.
    Random(TensorId, Generator, Term),
    /// Carries out a body for each number of a range.
    For {
        /// Has the number.
        counter: TensorId,
        /// The first number, and the one behind the last.
        range: [Term; 2],
        /// The actions of a round.
        body: Vec<Action>,
    },
    /// Carries out a body as long as a condition is not zero.
    While(Term, Vec<Action>),
    /// Carries out one of two bodies.
    If(Term, Vec<Action>, Vec<Action>),
}

impl Action {
    /// The tensors that actions give a value to.
    pub fn made(actions: &[Action]) -> BTreeSet<TensorId> {
        let mut found = BTreeSet::new();
        for action in actions {
            match action {
                Action::Fill(tensor, _)
                | Action::Random(tensor, ..)
                | Action::Snapshot(tensor, _)
                | Action::Read(tensor, _)
                | Action::Change(tensor) => {
                    found.insert(*tensor);
                }
                Action::For { body, .. } | Action::While(_, body) => found.extend(Action::made(body)),
                Action::If(_, then, otherwise) => {
                    found.extend([then, otherwise].into_iter().flat_map(|body| Action::made(body)))
                }
                Action::Assign(_) | Action::Swap(..) => {}
            }
        }
        found
    }

    /// The pairs of tensors that actions exchange, or make the same.
    pub fn pairs(actions: &[Action]) -> Vec<[TensorId; 2]> {
        let of = |action: &Action| match action {
            Action::Swap(a, b) | Action::Snapshot(a, b) => vec![[*a, *b]],
            Action::For { body, .. } | Action::While(_, body) => Action::pairs(body),
            Action::If(_, then, otherwise) => [Action::pairs(then), Action::pairs(otherwise)].concat(),
            _ => Vec::new(),
        };
        actions.iter().flat_map(of).collect()
    }

    /// The statements whose target another action gives a value before them in the text, be it in a branch that is not taken.
    /// `made` are the tensors that actions before these give one, and then those of these, too.
    pub fn continued(
        actions: &[Action],
        target: &dyn Fn(usize) -> TensorId,
        made: &mut BTreeSet<TensorId>,
    ) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        for action in actions {
            match action {
                Action::Assign(statement) => found.extend(made.contains(&target(*statement)).then_some(*statement)),
                Action::Swap(a, b) => made.extend([*a, *b]),
                Action::For { counter, body, .. } => {
                    made.insert(*counter);
                    found.extend(Action::continued(body, target, made));
                }
                Action::While(_, body) => found.extend(Action::continued(body, target, made)),
                Action::If(_, then, otherwise) => {
                    found.extend(Action::continued(then, target, made));
                    found.extend(Action::continued(otherwise, target, made));
                }
                other => made.extend(Action::made(std::slice::from_ref(other))),
            }
        }
        found
    }
}

/// The beginning of the name of the number that stands for the entries of a tensor. No text has such a name.
pub const COUNT: &str = "nnz of ";

impl Reader<'_> {
    /// Gives counters their type, and tensors that are swapped with others those that are declared for these.
    pub(super) fn share_types(&mut self, actions: &[einsum::Action]) {
        let (mut swaps, mut copies) = (Vec::new(), Vec::new());
        let mut assigned: BTreeSet<&str> = BTreeSet::new();
        einsum::Action::visit(actions, &mut |action| match &action.kind {
            ActionKind::Assign(statement) => _ = assigned.insert(&self.ast.statements[*statement].name.text),
            // A tensor that has a value before any statement gives it one holds numbers.
            ActionKind::Read(name, _)
            | ActionKind::Change { tensor: name, .. }
            | ActionKind::Fill(name, _)
            | ActionKind::Random { tensor: name, .. }
                if !assigned.contains(name.text.as_str()) =>
            {
                let known = self.reading.tensors.iter().position(|tensor| tensor.name == name.text);
                if let Some(known) = known {
                    self.types[known].get_or_insert(DType::F64);
                }
            }
            ActionKind::For { counter, .. } => {
                let counter = self.tensor(&counter.text, 0);
                self.types[counter.index()] = Some(DType::I64);
                self.reading.tensors[counter.index()].result = true;
            }
            ActionKind::Swap(a, b) => swaps.push([a.text.clone(), b.text.clone()]),
            ActionKind::Snapshot(a, b) => copies.push([a.text.clone(), b.text.clone()]),
            _ => {}
        });
        self.exchanges = swaps.iter().chain(&copies).cloned().collect();
        let known = &mut self.told;
        for _ in 0..swaps.len() + copies.len() {
            for [a, b] in swaps.iter().chain(&copies) {
                let both = known.get(a).or(known.get(b)).copied();
                if let Some(dtype) = both {
                    known.entry(a.clone()).or_insert(dtype);
                    known.entry(b.clone()).or_insert(dtype);
                }
            }
        }
        for (tensor, own) in self.reading.tensors.iter_mut().zip(&mut self.types) {
            let is_swapped = swaps.iter().flatten().any(|name| *name == tensor.name);
            let is_copied = copies.iter().flatten().any(|name| *name == tensor.name);
            tensor.result |= is_swapped;
            if let Some(&dtype) = known.get(&tensor.name).filter(|_| is_swapped || is_copied) {
                *own = Some(dtype);
            }
        }
    }

    /// The tensors that a tensor is swapped with, or is a snapshot of, and those that these are.
    fn exchanged(&mut self, tensor: TensorId) -> Vec<(String, TensorId)> {
        let Known { name, order, .. } = self.reading.tensors[tensor.index()].clone();
        let mut reached = vec![name];
        let mut next = 0;
        while let Some(from) = reached.get(next).cloned() {
            for pair in self.exchanges.iter().filter(|pair| pair.contains(&from)) {
                for name in pair.iter().filter(|name| !reached.contains(name)).cloned().collect::<Vec<_>>() {
                    reached.push(name);
                }
            }
            next += 1;
        }
        let others = reached.into_iter().skip(1);
        others.map(|name| (name.clone(), self.tensor(&name, order))).collect()
    }

    /// Gives the type of a tensor to those that are swapped with it, or become snapshots of it, and of which nothing else tells one.
    pub(super) fn exchange(&mut self, tensor: TensorId, dtype: DType) {
        for (name, other) in self.exchanged(tensor) {
            let is_told = self.told.contains_key(&name) || self.types[other.index()].is_none();
            let is_assigned = self.ast.statements.iter().any(|statement| statement.name.text == name);
            if !is_told && !is_assigned {
                self.types[other.index()] = Some(dtype);
            }
        }
    }

    /// The type of a tensor that is read: the one that is known, or that of a tensor that it is exchanged with.
    pub(super) fn type_of(&mut self, tensor: TensorId) -> DType {
        let of_others = |reader: &mut Self| {
            reader
                .exchanged(tensor)
                .into_iter()
                .find_map(|(_, other)| reader.types[other.index()])
                .unwrap_or(DType::F64)
        };
        let dtype = self.types[tensor.index()].unwrap_or_else(|| of_others(self));
        self.types[tensor.index()] = Some(dtype);
        dtype
    }

    /// The first file that the program reads for a tensor.
    fn first_file(&self, tensor: &str) -> Option<&String> {
        let mut first = None;
        einsum::Action::visit(&self.ast.body, &mut |action| {
            if let ActionKind::Read(name, file) = &action.kind
                && name.text == tensor
            {
                first = first.or(Some(file));
            }
        });
        first
    }

    /// Reads actions; all statements are read.
    pub(super) fn actions(&mut self, actions: &[einsum::Action]) -> Result<Vec<Action>, String> {
        let mut read = Vec::new();
        for action in actions {
            read.push(match &action.kind {
                ActionKind::Assign(statement) => Action::Assign(*statement),
                ActionKind::Swap(a, b) => {
                    let swapped = [self.named(&a.text)?, self.named(&b.text)?];
                    // No statement has to have them.
                    swapped.iter().for_each(|tensor| self.reading.tensors[tensor.index()].result = true);
                    Action::Swap(swapped[0], swapped[1])
                }
                ActionKind::Snapshot(a, b) => Action::Snapshot(self.named(&a.text)?, self.named(&b.text)?),
                ActionKind::Change { tensor, .. } => Action::Change(self.named(&tensor.text)?),
                ActionKind::Read(name, file) => {
                    Action::Read(self.named(&name.text)?, self.first_file(&name.text) == Some(file))
                }
                ActionKind::Fill(name, value) => {
                    // Nothing else may tell the number of dimensions: then it is a number.
                    let tensor = self.named(&name.text).unwrap_or_else(|_| self.tensor(&name.text, 0));
                    let value = self.number(value)?;
                    // A pattern filled with 0 has no entries.
                    let dtype = match self.types[tensor.index()] {
                        Some(DType::Pattern) => DType::Bool,
                        other => other.unwrap_or(DType::F64),
                    };
                    Action::Fill(tensor, cast(value, dtype))
                }
                ActionKind::Random { tensor, kind, seed } => {
                    let seed = match seed {
                        Some(seed) => self.number(seed)?,
                        None => Term { node: Node::Constant(Some(Scalar::Int(self.made))), dtype: DType::I64 },
                    };
                    self.made += 1;
                    Action::Random(self.named(&tensor.text)?, *kind, seed)
                }
                ActionKind::Print(_) | ActionKind::Write(..) | ActionKind::Clock(_) | ActionKind::Elapsed(_) => {
                    continue;
                }
                ActionKind::For { counter, from, to, body } => Action::For {
                    counter: self.named(&counter.text)?,
                    range: [self.number(from)?, self.number(to)?],
                    body: self.actions(body)?,
                },
                ActionKind::While { condition, body } => Action::While(self.number(condition)?, self.actions(body)?),
                ActionKind::If { condition, then, otherwise } => {
                    Action::If(self.number(condition)?, self.actions(then)?, self.actions(otherwise)?)
                }
            });
        }
        Ok(read)
    }

    /// A tensor of actions: one of a statement, or one whose number of dimensions is declared.
    fn named(&mut self, name: &str) -> Result<TensorId, String> {
        let place = self.reading.tensors.iter().position(|tensor| tensor.name == name);
        if let Some(place) = place {
            return Ok(TensorId::from_index(place));
        }
        let Declarations { dims, sizes, formats, .. } = self.declarations;
        let order = dims.get(name).map(Vec::len).or(sizes.get(name).map(|_| 1));
        let order = order.or_else(|| formats.get(name)?.order());
        Ok(self.tensor(name, order.ok_or_else(|| format!("`{name}` is in no statement"))?))
    }

    /// A number that is computed between statements.
    fn number(&mut self, expr: &Expr) -> Result<Term, String> {
        let counted = self.counted(expr);
        let value = self.value(&counted)?;
        let dtype = alone(&value);
        Ok(settled(value, dtype))
    }

    /// The expression with a number of its own for each `nnz(A)`.
    fn counted(&mut self, expr: &Expr) -> Expr {
        let mut counted = expr.clone();
        match &mut counted.kind {
            ExprKind::Apply { name, args, callee: Callee::Named } if name.text == "nnz" => {
                let name = match args.first().map(|arg| &arg.kind) {
                    Some(ExprKind::Name(tensor)) => format!("{COUNT}{tensor}"),
                    _ => COUNT.to_string(),
                };
                if !self.reading.tensors.iter().any(|tensor| tensor.name == name) {
                    let dtype = DType::I64;
                    self.reading.tensors.push(Known { name: name.clone(), order: 0, dtype, fill: None, result: true });
                    self.types.push(Some(dtype));
                }
                counted.kind = ExprKind::Name(name);
            }
            ExprKind::Apply { args, .. } => {
                for arg in args {
                    *arg = self.counted(arg);
                }
            }
            ExprKind::List { .. } => {}
            ExprKind::Neg(a) | ExprKind::Cast { operand: a, .. } => **a = self.counted(a),
            ExprKind::Binary(_, a, b) => {
                **a = self.counted(a);
                **b = self.counted(b);
            }
            ExprKind::Number(_) | ExprKind::Bool(_) | ExprKind::Identity(_) | ExprKind::Name(_) => {}
        }
        counted
    }
}

//! Step 5: the actions, with their conditions typed.
//!
//! Types, sizes and formats of all tensors are known. A condition is checked like an expression of numbers; `nnz(A)` stands in it as
//! a number of its own, of type `i64`, whose handle follows those of the program's tensors.
//!
//! ```text
//! while nnz(f) > 0 and r > 1e-8 { .. }      and(gt(nnz(f), 0), gt(r, 1e-8)), counted: f
//! ```

use std::collections::BTreeSet;

use lacunar_base::Span;
use lacunar_formats::{DType, Generator};
use lacunar_notation::{Action, Condition, Program, Role, TensorId};

use super::super::action::{self, ActionKind};
use super::super::ast::{Ast, Expr, ExprKind, Name, Number};
use super::super::declarations::Declarations;
use super::super::error::{ActionMistake, Error};
use super::names::{Entry, Names};
use super::types;

/// The declarations, with those of a tensor that is swapped for all that it is swapped with, and so for snapshots; with the types of
/// counters, and of tensors that get their first entries from files or are made up: numbers, unless something else is declared; and with
/// the formats of those that are made up.
pub(super) fn shared(ast: &Ast, names: &Names, declarations: &Declarations) -> Declarations {
    let mut shared = declarations.clone();
    let (mut swaps, mut assigned) = (Vec::new(), BTreeSet::new());
    action::Action::visit(&ast.body, &mut |action| match &action.kind {
        ActionKind::Swap(a, b) | ActionKind::Snapshot(a, b) => swaps.push((&a.text, &b.text)),
        ActionKind::For { counter, .. } => {
            shared.dtypes.insert(counter.text.clone(), DType::I64);
        }
        ActionKind::Assign(statement) => {
            assigned.insert(&ast.statements[*statement].name.text);
        }
        ActionKind::Read(name, _)
        | ActionKind::Change { tensor: name, .. }
        | ActionKind::Fill(name, _)
        | ActionKind::Random { tensor: name, .. }
            if !assigned.contains(&name.text) =>
        {
            let is_index = names.tensors.get(&name.text).is_some_and(|entry| entry.is_index);
            let usual = if is_index { DType::I64 } else { DType::F64 };
            let dtype = *shared.dtypes.entry(name.text.clone()).or_insert(usual);
            let kind = match &action.kind {
                ActionKind::Random { kind, .. } => *kind,
                // Without values, nothing in dense storage tells the entries.
                ActionKind::Fill(..) if dtype == DType::Pattern => Generator::Sparse(1.0),
                _ => return,
            };
            let kind = if dtype == DType::Pattern { Generator::Sparse(1.0) } else { kind };
            if let Some(entry) = names.tensors.get(&name.text) {
                shared.formats.entry(name.text.clone()).or_insert_with(|| kind.format(entry.order).into());
            }
        }
        _ => {}
    });
    // One round for each swap, so that knowledge of one tensor reaches the end of a chain.
    for _ in 0..swaps.len() {
        for (a, b) in &swaps {
            for (from, to) in [(*a, *b), (*b, *a)] {
                copy(&mut shared.formats, from, to);
                copy(&mut shared.dtypes, from, to);
                copy(&mut shared.fills, from, to);
            }
        }
    }
    shared
}

fn copy<T: Clone>(known: &mut indexmap::IndexMap<String, T>, from: &str, to: &str) {
    if let Some(value) = known.get(from).filter(|_| !known.contains_key(to)).cloned() {
        known.insert(to.to_string(), value);
    }
}

/// The checked actions.
pub(super) fn checked(program: &Program, actions: &[action::Action], errors: &mut Vec<Error>) -> Vec<Action> {
    Checker { program, made: 0, errors }.actions(actions)
}

struct Checker<'a> {
    program: &'a Program,
    /// The number of tensors that have been made up so far.
    made: u64,
    errors: &'a mut Vec<Error>,
}

impl Checker<'_> {
    fn actions(&mut self, actions: &[action::Action]) -> Vec<Action> {
        actions.iter().filter_map(|action| self.action(action)).collect()
    }

    /// One action; `None` after a mistake.
    fn action(&mut self, action: &action::Action) -> Option<Action> {
        Some(match &action.kind {
            ActionKind::Assign(statement) => Action::Assign(*statement),
            ActionKind::Swap(a, b) => {
                let (first, second) = (self.tensor(&a.text)?, self.tensor(&b.text)?);
                let differ = self.difference(first, second);
                if let Some(differ) = differ {
                    let names = [a, b].map(|name| name.text.clone());
                    self.errors.push(ActionMistake::Swapped { names, span: action.span, differ }.into());
                }
                Action::Swap(first, second)
            }
            ActionKind::Print(name) => Action::Print(self.tensor(&name.text)?),
            ActionKind::Read(name, file) => Action::Read(self.tensor(&name.text)?, file.clone()),
            ActionKind::Write(name, file) => Action::Write(self.tensor(&name.text)?, file.clone()),
            ActionKind::Fill(name, value) => {
                let tensor = self.changed(name)?;
                let dtype = self.program.tensors[tensor].dtype;
                Action::Fill(tensor, self.typed(value, |typer, value| typer.filled((name, dtype), value))?)
            }
            ActionKind::Random { tensor, kind, seed } => {
                let tensor = self.changed(tensor)?;
                let own = Expr { kind: ExprKind::Number(Number::Int(self.made)), span: action.span, height: 1 };
                self.made += 1;
                let seed = self.end(seed.as_ref().unwrap_or(&own))?;
                Action::Random { tensor, kind: *kind, seed }
            }
            ActionKind::Change { tensor, file, range, removes } => {
                let range = match range {
                    Some((from, to)) => Some((self.end(from)?, self.end(to)?)),
                    None => None,
                };
                let tensor = self.changed(tensor)?;
                Action::Change { tensor, file: file.clone(), range, removes: *removes }
            }
            ActionKind::Snapshot(a, b) => {
                let (first, second) = (self.tensor(&a.text)?, self.tensor(&b.text)?);
                if let Some(differ) = self.difference(first, second) {
                    let names = [a, b].map(|name| name.text.clone());
                    self.errors.push(ActionMistake::Snapshot { names, span: action.span, differ }.into());
                }
                Action::Snapshot(first, second)
            }
            ActionKind::Clock(name) => Action::Clock(name.text.clone()),
            ActionKind::Elapsed(name) => Action::Elapsed(name.text.clone()),
            ActionKind::For { counter, from, to, body } => {
                let (from, to) = (self.end(from), self.end(to));
                let (counter, body) = (self.tensor(&counter.text), self.actions(body));
                Action::For { counter: counter?, from: from?, to: to?, body }
            }
            ActionKind::While { condition, body } => {
                let (condition, body) = (self.condition(condition), self.actions(body));
                Action::While { condition: condition?, body }
            }
            ActionKind::If { condition, then, otherwise } => {
                let condition = self.condition(condition);
                let (then, otherwise) = (self.actions(then), self.actions(otherwise));
                Action::If { condition: condition?, then, otherwise }
            }
        })
    }

    fn tensor(&self, name: &str) -> Option<TensorId> {
        self.program.tensors.iter().find(|(_, tensor)| tensor.name == name).map(|(id, _)| id)
    }

    /// The difference of two tensors that are to be swapped, or of which one is to be a snapshot of the other.
    fn difference(&self, a: TensorId, b: TensorId) -> Option<String> {
        let (a, b) = (&self.program.tensors[a], &self.program.tensors[b]);
        if a.dtype != b.dtype {
            return Some(format!("elements of {} and {}", a.dtype, b.dtype));
        }
        if a.format != b.format {
            return Some(format!("stored as {} and {}", a.format, b.format));
        }
        // If all of one has to be there, all of it is made.
        (a.structure != b.structure).then(|| "with two structures".to_string())
    }

    /// An end of a range, as an `i64`, or as a `u64` that may be too large for one.
    fn end(&mut self, expr: &Expr) -> Option<Condition> {
        let mut end = self.condition(expr)?;
        if !end.expr.dtype.is_integer() {
            self.errors.push(ActionMistake::NotWhole { span: expr.span }.into());
            return None;
        }
        if end.expr.dtype != DType::U64 {
            end.expr = end.expr.cast(DType::I64);
        }
        Some(end)
    }

    /// A tensor that gets other values, which has no structure.
    fn changed(&mut self, tensor: &Name) -> Option<TensorId> {
        let found = self.tensor(&tensor.text)?;
        if self.program.tensors[found].structure.is_some() {
            let (name, span) = (tensor.text.clone(), tensor.span);
            self.errors.push(ActionMistake::Structured { name, span }.into());
        }
        Some(found)
    }

    /// A number that is computed between statements.
    fn condition(&mut self, expr: &Expr) -> Option<Condition> {
        self.typed(expr, |typer, expr| typer.expression(expr))
    }

    /// An expression over numbers, with its types.
    fn typed(
        &mut self,
        expr: &Expr,
        with_types: impl FnOnce(&mut types::Typer<'_>, &Expr) -> Option<lacunar_notation::Expr>,
    ) -> Option<Condition> {
        let (mut names, mut declarations) = (Names::of(self.program), Declarations::new());
        for (_, tensor) in self.program.tensors.iter() {
            declarations = declarations.dtype(&tensor.name, tensor.dtype);
        }
        let (mut counts, mut expr) = (Vec::new(), expr.clone());
        name_counts(&mut expr, &mut |tensor| counts.push(tensor));
        for count in &counts {
            let name = format!("nnz({count})");
            declarations = declarations.dtype(&name, DType::I64);
            let entry = Entry { is_given: true, ..Entry::new(0, Span::NONE, Role::Input) };
            names.tensors.entry(name).or_insert(entry);
        }
        let first = self.program.tensors.len();
        let name =
            |name: &String| name.strip_prefix("nnz(").and_then(|rest| rest.strip_suffix(')')).map(str::to_string);
        let counted: Vec<String> = names.tensors.keys().skip(first).filter_map(name).collect();
        let counted = counted.iter().map(|name| self.tensor(name)).collect::<Option<Vec<_>>>()?;
        let expr = with_types(&mut types::Typer::new(&names, &declarations, self.errors), &expr)?;
        Some(Condition { expr, first_count: first, counted })
    }
}

/// Replaces `nnz(A)` by a name of its own, which no text can have; `found` gets `A`.
fn name_counts(expr: &mut Expr, found: &mut dyn FnMut(String)) {
    if let Some((tensor, _)) = expr.counted() {
        let tensor = tensor.to_string();
        expr.kind = ExprKind::Name(format!("nnz({tensor})"));
        return found(tensor);
    }
    match &mut expr.kind {
        ExprKind::Number(_) | ExprKind::Bool(_) | ExprKind::Name(_) | ExprKind::Identity(_) => {}
        ExprKind::List { index, .. } => index.iter_mut().for_each(|index| name_counts(index, found)),
        ExprKind::Neg(a) | ExprKind::Cast { operand: a, .. } => name_counts(a, found),
        ExprKind::Binary(_, a, b) => {
            name_counts(a, found);
            name_counts(b, found);
        }
        ExprKind::Apply { args, .. } => args.iter_mut().for_each(|arg| name_counts(arg, found)),
    }
}

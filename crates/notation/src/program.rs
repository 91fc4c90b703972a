//! Programs of actions: the operations on the tensors of a program, in their order.
//!
//! A statement is compiled once and may be carried out many times. Loops and conditions ask [`Condition`]s, which are computed
//! of tensors of order 0; the rest moves whole tensors:
//!
//! ```text
//! for k in 0 .. 20 {           For { counter: k, .., body: [Assign(0), Swap(x, y)] }
//!   y(i) = A(i,j) * x(j)
//!   swap x, y
//! }
//! print x                      Print(x)
//! ```
//!
//! Invariants (of a program that `front` has checked): every statement is assigned by one action; counters are of type `i64` and
//! order 0, as are the bounds of their ranges; tensors that are swapped have one format and one type; a clock that is read has
//! been set by an action before, in the order of the text. [`Program::verify`] checks them.

use std::collections::BTreeSet;

use lacunar_formats::{DType, Generator};

use crate::index::{Expr, Program, TensorId, read_by};

/// One action.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Carries out the statement of this number.
    Assign(usize),
    /// Exchanges two tensors; no element is copied.
    Swap(TensorId, TensorId),
    /// Prints a tensor with its name, on a line.
    Print(TensorId),
    /// Reads a tensor from a file, into the tensor's format and type.
    Read(TensorId, String),
    /// Writes a tensor to a file.
    Write(TensorId, String),
    /// Gives every element of a tensor a number.
    Fill(TensorId, Condition),
    /// Makes up the elements of a tensor.
    Random {
        /// The tensor.
        tensor: TensorId,
        /// The kind of numbers.
        kind: Generator,
        /// The number that the elements follow from.
        seed: Condition,
    },
    /// Puts entries of a file into a tensor, or takes those out that have their coordinates.
    Change {
        /// The tensor.
        tensor: TensorId,
        /// The file.
        file: String,
        /// The numbers of the first entry and of that behind the last; all entries, if there are none.
        range: Option<(Condition, Condition)>,
        /// True if the entries go.
        removes: bool,
    },
    /// The first tensor becomes a copy of the second one, which later changes of that one leave as it is.
    Snapshot(TensorId, TensorId),
    /// Sets a clock to zero.
    Clock(String),
    /// Prints the seconds since a clock was set.
    Elapsed(String),
    /// Carries out a body once for each number of a range, which is computed before.
    For {
        /// Has the number in each round, and keeps it afterwards.
        counter: TensorId,
        /// The first number.
        from: Condition,
        /// The number behind the last.
        to: Condition,
        /// The actions of a round.
        body: Vec<Action>,
    },
    /// Carries out a body as long as a condition holds, which is asked before each round.
    While {
        /// Holds if it is not zero.
        condition: Condition,
        /// The actions of a round.
        body: Vec<Action>,
    },
    /// Carries out one of two bodies.
    If {
        /// Holds if it is not zero.
        condition: Condition,
        /// The actions if it holds.
        then: Vec<Action>,
        /// The actions if it does not.
        otherwise: Vec<Action>,
    },
}

/// A number that is computed between statements: of tensors of order 0, and of the numbers of tensors' entries.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// The expression. An access is of a tensor of order 0 of the program; or, with a handle from `first_count` on, of the number of
    /// entries (`i64`) of the tensor at this place of `counted`.
    pub expr: Expr,
    /// The number of tensors that the program had when the condition was made: those that it has got since are in no condition.
    pub first_count: usize,
    /// The tensors whose entries are counted: `nnz(A)`.
    pub counted: Vec<TensorId>,
}

/// An operand of a [`Condition`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// The value of a tensor of order 0.
    Value(TensorId),
    /// The number of entries that a tensor stores.
    Count(TensorId),
}

impl Condition {
    /// The meaning of an access in the condition; `None` of one that breaks the invariants.
    pub fn operand(&self, tensor: TensorId) -> Option<Operand> {
        match tensor.index().checked_sub(self.first_count) {
            None => Some(Operand::Value(tensor)),
            Some(place) => self.counted.get(place).copied().map(Operand::Count),
        }
    }
}

impl Action {
    /// Calls `f` on each of some actions and on those in their bodies, in the order of the text.
    pub fn visit<'a>(actions: &'a [Action], f: &mut dyn FnMut(&'a Action)) {
        for action in actions {
            f(action);
            match action {
                Action::For { body, .. } | Action::While { body, .. } => Action::visit(body, f),
                Action::If { then, otherwise, .. } => {
                    Action::visit(then, f);
                    Action::visit(otherwise, f);
                }
                _ => {}
            }
        }
    }

    /// Keeps, of some actions and of those in their bodies, those that `keep` holds for.
    pub fn retain(actions: &mut Vec<Action>, keep: &dyn Fn(&Action) -> bool) {
        actions.retain(keep);
        for action in actions {
            match action {
                Action::For { body, .. } | Action::While { body, .. } => Action::retain(body, keep),
                Action::If { then, otherwise, .. } => {
                    Action::retain(then, keep);
                    Action::retain(otherwise, keep);
                }
                _ => {}
            }
        }
    }

    /// The conditions that the action itself asks.
    pub fn conditions(&self) -> Vec<&Condition> {
        match self {
            Action::For { from, to, .. } | Action::Change { range: Some((from, to)), .. } => vec![from, to],
            Action::While { condition, .. } | Action::If { condition, .. } => vec![condition],
            Action::Fill(_, number) | Action::Random { seed: number, .. } => vec![number],
            _ => Vec::new(),
        }
    }
}

impl Program {
    /// True if the program is its statements, each carried out once, one after the other.
    pub fn is_sequence(&self) -> bool {
        let places = self.body.iter().zip(0..);
        self.body.len() == self.statements.len() && places.into_iter().all(|(action, n)| *action == Action::Assign(n))
    }

    /// True if its statements are carried out once, one after the other, whatever else is shown or written between them.
    pub fn assigns_in_order(&self) -> bool {
        let shows = |action: &&Action| {
            matches!(action, Action::Print(_) | Action::Write(..) | Action::Clock(_) | Action::Elapsed(_))
        };
        let assigned = self.body.iter().filter(|action| !shows(action));
        assigned.map(Some).chain([None]).zip(0..).all(|(action, n)| match action {
            Some(action) => *action == Action::Assign(n),
            None => n == self.statements.len(),
        })
    }

    /// True for a result that the program is for: all are, if it does not say which.
    pub fn is_output(&self, tensor: TensorId) -> bool {
        self.outputs.is_empty() || self.outputs.contains(&tensor)
    }

    /// The tensors whose values are read before any action gives them one, in the order of the text: a caller has to.
    pub fn given(&self) -> BTreeSet<TensorId> {
        let (mut given, mut known) = (BTreeSet::new(), BTreeSet::new());
        Action::visit(&self.body, &mut |action| {
            let mut read = |tensor: TensorId, known: &BTreeSet<TensorId>| {
                if !known.contains(&tensor) && !self.tensors[tensor].role.is_computed() {
                    given.insert(tensor);
                }
            };
            for condition in action.conditions() {
                let accesses = condition.expr.accesses().into_iter();
                let operands = accesses.filter_map(|access| condition.operand(access.tensor));
                for Operand::Value(tensor) | Operand::Count(tensor) in operands {
                    read(tensor, &known);
                }
            }
            match action {
                Action::Assign(number) => {
                    let statement = &self.statements[*number];
                    // Loops that combine with a value before begin with the fill value where there is none.
                    let updates = self.loops.iter().any(|(own, kernel)| own == number && kernel.updates);
                    let is_old = |tensor: &TensorId| updates && *tensor == statement.lhs.tensor;
                    let operands = read_by(&self.tensors, &statement.rhs).into_iter();
                    operands.filter(|tensor| !is_old(tensor)).for_each(|tensor| read(tensor, &known));
                    known.insert(statement.lhs.tensor);
                }
                Action::Swap(a, b) => {
                    [*a, *b].into_iter().for_each(|tensor| read(tensor, &known));
                }
                Action::Print(tensor) | Action::Write(tensor, _) => read(*tensor, &known),
                Action::Read(tensor, _)
                | Action::Fill(tensor, _)
                | Action::Random { tensor, .. }
                | Action::Change { tensor, .. } => {
                    known.insert(*tensor);
                }
                Action::Snapshot(tensor, of) => {
                    read(*of, &known);
                    known.insert(*tensor);
                }
                Action::For { counter, .. } => {
                    known.insert(*counter);
                }
                Action::Clock(_) | Action::Elapsed(_) | Action::While { .. } | Action::If { .. } => {}
            }
        });
        given
    }

    /// For each statement, the tensors that other actions before it in the text give a value, be it in a branch that is not taken.
    pub fn made_before(&self) -> Vec<BTreeSet<TensorId>> {
        let (mut before, mut made) = (vec![BTreeSet::new(); self.statements.len()], BTreeSet::new());
        Action::visit(&self.body, &mut |action| match action {
            Action::Assign(statement) => {
                if let Some(before) = before.get_mut(*statement) {
                    before.clone_from(&made);
                }
            }
            Action::Read(tensor, _)
            | Action::Fill(tensor, _)
            | Action::Random { tensor, .. }
            | Action::Change { tensor, .. }
            | Action::Snapshot(tensor, _)
            | Action::For { counter: tensor, .. } => _ = made.insert(*tensor),
            Action::Swap(a, b) => made.extend([*a, *b]),
            Action::Print(_)
            | Action::Write(..)
            | Action::Clock(_)
            | Action::Elapsed(_)
            | Action::While { .. }
            | Action::If { .. } => {}
        });
        before
    }

    /// Checks the invariants of the actions.
    ///
    /// # Errors
    /// The first that does not hold, in words.
    pub fn verify(&self) -> Result<(), String> {
        let mut assigned = vec![0usize; self.statements.len()];
        let (mut fault, mut clocks) = (None, BTreeSet::new());
        let mut demand = |holds: bool, what: &str| {
            if !holds && fault.is_none() {
                fault = Some(what.to_string());
            }
        };
        Action::visit(&self.body, &mut |action| {
            for condition in action.conditions() {
                let operands = condition.expr.accesses();
                let is_known = |tensor| match condition.operand(tensor) {
                    Some(Operand::Value(tensor)) => self.tensors[tensor].order() == 0,
                    Some(Operand::Count(tensor)) => self.tensors.get(tensor).is_some(),
                    None => false,
                };
                demand(operands.iter().all(|access| is_known(access.tensor)), "a condition reads what is no number");
            }
            match action {
                Action::Assign(statement) => match assigned.get_mut(*statement) {
                    Some(count) => *count += 1,
                    None => demand(false, "an action assigns by a statement that is not there"),
                },
                Action::Swap(a, b) | Action::Snapshot(a, b) => {
                    let (a, b) = (&self.tensors[*a], &self.tensors[*b]);
                    demand(a.format == b.format && a.dtype == b.dtype, "tensors of two kinds are swapped");
                }
                Action::For { counter, from, to, .. } => {
                    let counter = &self.tensors[*counter];
                    demand(counter.order() == 0 && counter.dtype == DType::I64, "a counter is no `i64`");
                    // They are of `u64` where the text says so: the run shows if the number is one that the counter reaches.
                    let is_whole = |end: &&Condition| matches!(end.expr.dtype, DType::I64 | DType::U64);
                    demand([from, to].iter().all(is_whole), "a range is of neither `i64` nor `u64`");
                }
                Action::Fill(tensor, value) => {
                    let dtype = self.tensors[*tensor].dtype.arithmetic();
                    demand(value.expr.dtype == dtype, "a tensor is filled with a number of another type");
                }
                Action::Random { seed, .. } => {
                    demand(matches!(seed.expr.dtype, DType::I64 | DType::U64), "a seed is of neither `i64` nor `u64`");
                }
                Action::Clock(name) => {
                    clocks.insert(name.clone());
                }
                Action::Elapsed(name) => demand(clocks.contains(name), "a clock is read that was not set"),
                _ => {}
            }
        });
        demand(assigned.iter().all(|count| *count == 1), "a statement is not carried out by one action");
        fault.map_or(Ok(()), Err)
    }
}

//! The syntax tree of actions: the order in which a program's statements are carried out, and everything else that it does.
//!
//! ```text
//! for k in 0 .. 20 {          For
//!   y(i) = A(i,j) * x(j)      Assign(0)
//!   swap x, y                 Swap
//! }
//! ```

use lacunar_base::Span;
use lacunar_formats::Generator;

use super::ast::{Expr, Name};

/// An action and its place.
#[derive(Clone, Debug)]
pub struct Action {
    /// The kind of action.
    pub kind: ActionKind,
    /// Its place; of one with a block, the part before the block.
    pub span: Span,
}

/// The kinds of actions.
#[derive(Clone, Debug)]
pub enum ActionKind {
    /// The statement of this number.
    Assign(usize),
    /// `swap x, y`
    Swap(Name, Name),
    /// `print x`
    Print(Name),
    /// `read A "file"`
    Read(Name, String),
    /// `write y "file"`
    Write(Name, String),
    /// `fill x 1.5`
    Fill(Name, Expr),
    /// `random A sparse(0.01) seed 7`
    Random {
        /// The tensor that is made up.
        tensor: Name,
        /// The kind of numbers.
        kind: Generator,
        /// The seed of the numbers; if none is written, it follows from the place of the action.
        seed: Option<Expr>,
    },
    /// `insert A "file"`, `remove A "file" from .. to`
    Change {
        /// The tensor that changes.
        tensor: Name,
        /// The file with entries.
        file: String,
        /// The numbers of the first of them and of that behind the last; all, if there are none.
        range: Option<(Expr, Expr)>,
        /// True if the entries go.
        removes: bool,
    },
    /// `snapshot x, A`
    Snapshot(Name, Name),
    /// `clock name`
    Clock(Name),
    /// `elapsed name`
    Elapsed(Name),
    /// `for counter in from .. to { body }`
    For {
        /// The number of order 0 that counts.
        counter: Name,
        /// Its first value.
        from: Expr,
        /// The value behind its last.
        to: Expr,
        /// The actions of each round.
        body: Vec<Action>,
    },
    /// `while condition { body }`
    While {
        /// Asked before each round.
        condition: Expr,
        /// The actions of each round.
        body: Vec<Action>,
    },
    /// `if condition { then } else { otherwise }`
    If {
        /// Asked once.
        condition: Expr,
        /// The actions if it holds.
        then: Vec<Action>,
        /// The actions if it does not.
        otherwise: Vec<Action>,
    },
}

impl Action {
    /// Calls `f` on each of some actions and on those in their blocks, in the order of the text.
    pub fn visit<'a>(actions: &'a [Action], f: &mut dyn FnMut(&'a Action)) {
        for action in actions {
            f(action);
            match &action.kind {
                ActionKind::For { body, .. } | ActionKind::While { body, .. } => Action::visit(body, f),
                ActionKind::If { then, otherwise, .. } => {
                    Action::visit(then, f);
                    Action::visit(otherwise, f);
                }
                _ => {}
            }
        }
    }

    /// The tensors that it names, but for those in conditions and numbers.
    pub fn named(&self) -> impl Iterator<Item = &Name> {
        let named = match &self.kind {
            ActionKind::Swap(a, b) | ActionKind::Snapshot(a, b) => [Some(a), Some(b)],
            ActionKind::Read(name, _)
            | ActionKind::Write(name, _)
            | ActionKind::Print(name)
            | ActionKind::Fill(name, _)
            | ActionKind::Random { tensor: name, .. }
            | ActionKind::Change { tensor: name, .. } => [Some(name), None],
            ActionKind::Assign(_)
            | ActionKind::Clock(_)
            | ActionKind::Elapsed(_)
            | ActionKind::For { .. }
            | ActionKind::While { .. }
            | ActionKind::If { .. } => [None, None],
        };
        named.into_iter().flatten()
    }

    /// The tensors that it, and no statement, gives values to.
    pub fn given(&self) -> impl Iterator<Item = &Name> {
        let given = match &self.kind {
            ActionKind::Swap(a, b) => [Some(a), Some(b)],
            ActionKind::Read(name, _)
            | ActionKind::Fill(name, _)
            | ActionKind::Random { tensor: name, .. }
            | ActionKind::Change { tensor: name, .. }
            | ActionKind::Snapshot(name, _) => [Some(name), None],
            _ => [None, None],
        };
        given.into_iter().flatten()
    }
}

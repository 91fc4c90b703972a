//! Commands of schedules that the planner writes. They have no place in a text.
//!
//! ```text
//! name(i), part(i, 0), fresh("at")             i, i0, at         with `_` behind a name that is taken
//! in_order([i, j, k], [parallelize(i, cpu)])   reorder(i, j, k), parallelize(i, cpu)
//! ```

use lacunar_base::Span;
use lacunar_notation::VarId;
use lacunar_notation::concrete::Kernel;
use lacunar_notation::schedule::{Command, CommandKind, Name, Schedule};

/// The name of a variable.
pub(super) fn name(kernel: &Kernel, var: VarId) -> Name {
    Name { text: kernel.vars[var].name.clone(), span: Span::NONE }
}

/// A name for a part of a variable.
pub(super) fn part(kernel: &Kernel, var: VarId, number: u32) -> Name {
    fresh(kernel, &format!("{}{number}", kernel.vars[var].name))
}

/// A name that neither a variable nor a tensor has.
pub(super) fn fresh(kernel: &Kernel, base: &str) -> Name {
    let taken = |name: &str| {
        kernel.vars.iter().any(|(_, var)| var.name == name)
            || kernel.tensors.iter().any(|(_, tensor)| tensor.name == name)
    };
    let mut name = base.to_string();
    while taken(&name) {
        name.push('_');
    }
    Name { text: name, span: Span::NONE }
}

/// A command of a kind.
pub(super) fn command(kind: CommandKind) -> Command {
    Command { kind, span: Span::NONE }
}

/// A command of each kind.
pub(super) fn commands(kinds: impl IntoIterator<Item = CommandKind>) -> Vec<Command> {
    kinds.into_iter().map(command).collect()
}

/// A command that says the order of the loops; none for a single loop.
pub(super) fn order_command(kernel: &Kernel, order: &[VarId]) -> Option<Command> {
    let names = order.iter().map(|var| name(kernel, *var)).collect();
    (order.len() > 1).then_some(command(CommandKind::Reorder(names)))
}

/// A schedule that gives the loops an order first.
pub(super) fn in_order(kernel: &Kernel, order: &[VarId], kinds: impl IntoIterator<Item = CommandKind>) -> Schedule {
    let first = order_command(kernel, order).into_iter();
    Schedule { commands: first.chain(kinds.into_iter().map(command)).collect() }
}

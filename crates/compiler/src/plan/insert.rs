//! Results in two phases, `assemble(C, insert)`: the statements that must not use them.
//!
//! ```text
//! C(i,j) = A(i,j) + B(i,j)      the pattern, then the values
//! C(i,j) += A(i,j)              refused: the first phase would overwrite what the second one adds to
//! C(i,k) = A(i,j) * B(j,k)      C: sd, refused: a row is stored whole, and only its values tell if it has any
//! ```

use lacunar_base::{Diagnostic, Span};
use lacunar_notation::TensorId;
use lacunar_notation::concrete::Kernel;
use lacunar_notation::schedule::{Assembly, CommandKind, Schedule};

use super::{Conversion, Plan};

const HINT: &str = "leave `insert` out: results are appended to at once, by threads in pieces";

/// Refuses two phases over a statement that reads the values which the first one replaces.
pub(super) fn check(
    kernel: &Kernel,
    result: TensorId,
    conversions: &[Conversion],
    schedule: &Schedule,
) -> Result<(), Diagnostic> {
    let reads = conversions.iter().any(|conversion| conversion.source == result);
    if kernel.assembly != Assembly::Insert || !reads {
        return Ok(());
    }
    let name = &kernel.tensors[result].name;
    let message = format!("`{name}` is read by the statement: finding its pattern first would lose its old values");
    Err(Diagnostic::error("E1215", message).label(span_of(schedule), "in two phases").hint(HINT))
}

/// The refusal of two phases if the first one cannot know the pattern.
pub fn unknown_pattern(plan: &Plan) -> Diagnostic {
    let name = &plan.kernel.tensors[plan.result].name;
    let message = format!("only when the values of `{name}` are computed is it known which of them are stored");
    Diagnostic::error("E1215", message).label(span_of(&plan.schedule), "in two phases").hint(HINT)
}

/// The command that asks for two phases.
fn span_of(schedule: &Schedule) -> Span {
    let asks = |kind: &CommandKind| matches!(kind, CommandKind::Assemble { how: Assembly::Insert, .. });
    schedule.commands.iter().rfind(|command| asks(&command.kind)).map_or(Span::NONE, |command| command.span)
}

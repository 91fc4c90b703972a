//! Programs of actions as text that `front` reads back: blocks are indented by two blanks, conditions are calls of functions. A statement
//! whose loops are written is printed as these.

use std::fmt::Write;

use lacunar_base::{Arena, Span};
use lacunar_formats::{DType, Format};

use super::{Names, declarations};
use crate::index::{Program, Role, Tensor};
use crate::program::{Action, Condition};

// Writing to a `String` cannot fail, so the results of `writeln!` carry nothing.
impl Program {
    /// The program's operators and its actions as text, one a line. Read again, with the same declarations, it is the same program.
    pub fn actions_text(&self) -> String {
        let mut text = declarations(&self.operators);
        self.write_actions(&mut text, &self.body, 0);
        text
    }

    /// A condition of the program as text.
    pub fn condition_text(&self, condition: &Condition) -> String {
        let mut tensors = Arena::new();
        for (_, tensor) in self.tensors.iter().take(condition.first_count) {
            tensors.push(tensor.clone());
        }
        for &counted in &condition.counted {
            tensors.push(Tensor {
                name: format!("nnz({})", self.tensors[counted].name),
                format: Format::dense(0),
                dtype: DType::I64,
                fill: None,
                dims: Vec::new(),
                role: Role::Input,
                nnz: None,
                heaviest: None,
                steady: None,
                scattered: None,
                view: None,
                indicator: None,
                structure: None,
                is_unique: false,
                span: Span::NONE,
            });
        }
        let mut text = String::new();
        Names::new(&tensors, &self.vars).expr(&mut text, &condition.expr, 0);
        text
    }

    fn write_actions(&self, text: &mut String, actions: &[Action], depth: usize) {
        let indent = "  ".repeat(depth);
        let name = |tensor: &_| self.tensors[*tensor].name.as_str();
        for action in actions {
            text.push_str(&indent);
            let _ = match action {
                Action::Assign(statement) => match self.loops.iter().find(|(written, _)| written == statement) {
                    Some((_, loops)) => writeln!(text, "{}", loops.stmt_text()),
                    None => writeln!(text, "{}", self.statement_text(&self.statements[*statement])),
                },
                Action::Swap(a, b) => writeln!(text, "swap {}, {}", name(a), name(b)),
                Action::Print(tensor) => writeln!(text, "print {}", name(tensor)),
                Action::Read(tensor, file) => writeln!(text, "read {} \"{file}\"", name(tensor)),
                Action::Write(tensor, file) => writeln!(text, "write {} \"{file}\"", name(tensor)),
                Action::Fill(tensor, value) => writeln!(text, "fill {} {}", name(tensor), self.condition_text(value)),
                Action::Random { tensor, kind, seed } => {
                    writeln!(text, "random {} {kind} seed {}", name(tensor), self.condition_text(seed))
                }
                Action::Change { tensor, file, range, removes } => {
                    let word = if *removes { "remove" } else { "insert" };
                    let _ = write!(text, "{word} {} \"{file}\"", name(tensor));
                    if let Some((from, to)) = range {
                        let _ = write!(text, " {} .. {}", self.condition_text(from), self.condition_text(to));
                    }
                    writeln!(text)
                }
                Action::Snapshot(a, b) => writeln!(text, "snapshot {}, {}", name(a), name(b)),
                Action::Clock(clock) => writeln!(text, "clock {clock}"),
                Action::Elapsed(clock) => writeln!(text, "elapsed {clock}"),
                Action::For { counter, from, to, body } => {
                    let (from, to) = (self.condition_text(from), self.condition_text(to));
                    let _ = writeln!(text, "for {} in {from} .. {to} {{", name(counter));
                    self.write_actions(text, body, depth + 1);
                    writeln!(text, "{indent}}}")
                }
                Action::While { condition, body } => {
                    let _ = writeln!(text, "while {} {{", self.condition_text(condition));
                    self.write_actions(text, body, depth + 1);
                    writeln!(text, "{indent}}}")
                }
                Action::If { condition, then, otherwise } => {
                    let _ = writeln!(text, "if {} {{", self.condition_text(condition));
                    self.write_actions(text, then, depth + 1);
                    if !otherwise.is_empty() {
                        let _ = writeln!(text, "{indent}}} else {{");
                        self.write_actions(text, otherwise, depth + 1);
                    }
                    writeln!(text, "{indent}}}")
                }
            };
        }
    }
}

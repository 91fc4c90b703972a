//! The program to run: the text of an expression, or a file `PROGRAM.lac` of actions and flags, or one `PROGRAM.stur` of rules and flags.
//!
//! ```text
//! # PageRank, one step                          comments as in the language
//! def queue { e: elem nonempty  n: queue }      schemas of nodes, which formats may name
//! -f A:csc -i 'A:web graph.mtx'                 flags: lines that begin with `-`, quoted as in a shell
//! r(i) = 0.85 * A(i,j) * p(j) + b(i)            statements
//! ```
//!
//! Lines of flags, and schemas, are blanked, so that places in the text are those in the file.

use std::ops::Range;
use std::path::Path;

use lacunar::{Category, Diagnostic, Error};
use lacunar_base::Span;
use lacunar_front::einsum::{Action, ActionKind, Ast, Callee, Expr, ExprKind, parse};
use lacunar_front::{Declarations, Language, stur};
use lacunar_notation::Role;

use crate::failure::Failure;
use crate::request::Request;
use crate::schemas;

/// The longest program file that is read. The language has a lower limit for the statements.
const MAX_FILE: u64 = 1 << 20;

/// The remark on an action whose file is wrong.
const NAMED: &str = "the file is named here";

/// A program's text and where it is from.
#[derive(Debug)]
pub struct Program {
    /// The statements.
    pub text: String,
    /// A file's name, or `expression`.
    pub origin: String,
    /// The flags in the file, in order.
    pub flags: Vec<String>,
    /// The places of the lines of flags in the file's text.
    flag_lines: Vec<Range<usize>>,
    /// The file's text, flags and all.
    content: String,
    /// The language of the text.
    pub language: Language,
}

impl Program {
    /// The program that an argument names: the file, if it ends in `.lac` or `.stur`, or the argument itself.
    ///
    /// # Errors
    /// The file can't be read, or a line of flags has a quote that is not closed.
    pub fn open(argument: &str) -> Result<Program, Failure> {
        let (language, what) = match Path::new(argument).extension().and_then(|extension| extension.to_str()) {
            Some("lac") => (Language::Statements, "statements and flags"),
            Some("stur") => (Language::Rules, "rules and flags"),
            _ => {
                let origin = "expression".to_string();
                let text = schemas::without(argument.to_string(), &origin)?;
                let (flags, flag_lines, content) = (Vec::new(), Vec::new(), String::new());
                return Ok(Program { text, origin, flags, flag_lines, content, language: Language::Statements });
            }
        };
        let program = Program::from_file(&read_text(argument, what)?, argument)?;
        match language {
            Language::Statements => Ok(Program { text: schemas::without(program.text, argument)?, ..program }),
            Language::Rules => Ok(Program { language, ..program }),
        }
    }

    fn from_file(content: &str, origin: &str) -> Result<Program, Failure> {
        let mut program = Program {
            text: String::new(),
            origin: origin.to_string(),
            flags: Vec::new(),
            flag_lines: Vec::new(),
            content: content.to_string(),
            language: Language::Statements,
        };
        let (mut open, mut next) = (0usize, 0usize);
        for whole in content.split_inclusive('\n') {
            let begin = next;
            next += whole.len();
            let line = whole.trim_end_matches('\n').trim_end_matches('\r');
            if line.trim_start().starts_with('-') && open == 0 && !goes_on(&program.text) {
                let words = shlex::split(line).ok_or_else(|| {
                    let diagnostic = Diagnostic::error("E1008", "a quote is not closed")
                        .label(Span::new(begin, begin + line.len()), "in these flags")
                        .hint("close it, or write `\\` before a quote that is meant as a character");
                    Failure::text(content, origin, diagnostic)
                })?;
                program.flags.extend(words);
                program.flag_lines.push(begin..begin + line.len());
            } else {
                program.text.push_str(line);
                open = still_open(open, line);
            }
            program.text.push('\n');
        }
        Ok(program)
    }

    /// Reads the statements; of rules, statements with the same tensors, of which nothing else is right.
    ///
    /// # Errors
    /// The mistakes in them.
    pub fn parse(&self) -> Result<Ast, Failure> {
        let (ast, mistakes) = match self.language {
            Language::Statements => parse(&self.text),
            Language::Rules => {
                let rules = stur::names(&self.text).map_err(|mistakes| self.mistakes(mistakes))?;
                parse(&names_text(&rules))
            }
        };
        if mistakes.is_empty() { Ok(ast) } else { Err(self.mistakes(mistakes)) }
    }

    /// Mistakes in this program.
    pub fn mistakes(&self, diagnostics: Vec<Diagnostic>) -> Failure {
        Failure::Text { text: self.text.clone(), origin: self.origin.clone(), diagnostics }
    }

    /// Gives a failure its place in the program, if the program's file has the flag that is wrong, or an action names the file that is wrong.
    pub fn placed(&self, failure: Failure) -> Failure {
        match failure {
            Failure::Text { text, origin, diagnostics } if origin.starts_with('-') => {
                self.in_flags(text, origin, diagnostics)
            }
            Failure::Text { text: file, origin, diagnostics } if origin == "read" => match self.action_of(&file) {
                Some(place) => self.mistakes(diagnostics.into_iter().map(|fault| moved(fault, |_| place)).collect()),
                None => Failure::Text { text: file, origin, diagnostics },
            },
            Failure::Text { text, origin: file, diagnostics } if text.is_empty() => match self.action_of(&file) {
                Some(place) => self.mistakes(diagnostics.into_iter().map(|fault| fault.label(place, NAMED)).collect()),
                None => Failure::Text { text, origin: file, diagnostics },
            },
            other => other,
        }
    }

    /// Mistakes in the value of a flag. They get places in the program's file if it has this value as a whole word.
    fn in_flags(&self, text: String, origin: String, diagnostics: Vec<Diagnostic>) -> Failure {
        let parts = |sign: char| sign.is_whitespace() || matches!(sign, '\'' | '"' | '=');
        let within = |place: &Range<usize>| {
            let line = &self.content[place.clone()];
            let is_word = |&(column, word): &(usize, &str)| {
                let (before, behind) = (&line[..column], &line[column + word.len()..]);
                (before.ends_with(parts) || before.ends_with(&origin))
                    && (behind.is_empty() || behind.starts_with(parts))
            };
            line.match_indices(&text).find(is_word).map(|(column, _)| place.start + column)
        };
        let Some(offset) = self.flag_lines.iter().find_map(within).filter(|_| !text.is_empty()) else {
            return Failure::Text { text, origin, diagnostics };
        };
        let shifted = |span: Span| Span::new(span.range().start + offset, span.range().end + offset);
        let diagnostics = diagnostics.into_iter().map(|fault| moved(fault, shifted)).collect();
        Failure::Text { text: self.content.clone(), origin: self.origin.clone(), diagnostics }
    }

    /// The place of the first action that reads, writes or changes a tensor by a file.
    fn action_of(&self, file: &str) -> Option<Span> {
        let (ast, mut place) = (self.parse().ok()?, None);
        Action::visit(&ast.body, &mut |action| {
            if let ActionKind::Read(_, named) | ActionKind::Write(_, named) | ActionKind::Change { file: named, .. } =
                &action.kind
                && named == file
            {
                place = place.or(Some(action.span));
            }
        });
        place
    }

    /// The failure for an error of the library, with its mistakes under the names of this program and its schedule.
    pub fn failure(&self, request: &Request, error: Error) -> Failure {
        match error {
            Error::Program { diagnostics, .. } => self.mistakes(diagnostics),
            Error::Schedule { source_text, diagnostics } => {
                Failure::Text { origin: request.origin_of(&source_text).to_string(), text: source_text, diagnostics }
            }
            other => Failure::from(other),
        }
    }
}

/// A mistake with its places somewhere else.
fn moved(mut fault: Diagnostic, to: impl Fn(Span) -> Span) -> Diagnostic {
    fault.labels.iter_mut().for_each(|label| label.span = to(label.span));
    fault
}

/// Counts the parentheses and brackets that are open behind a line, given how many are open before it. A statement goes on inside them.
fn still_open(before: usize, line: &str) -> usize {
    let mut is_text = false;
    let outside = line.chars().filter(|&sign| {
        is_text ^= sign == '"';
        !is_text
    });
    code_of(&outside.collect::<String>()).chars().fold(before, |open, sign| match sign {
        '(' | '[' => open + 1,
        ')' | ']' => open.saturating_sub(1),
        _ => open,
    })
}

/// A line without its comment.
fn code_of(line: &str) -> &str {
    let code = line.split('#').next().unwrap_or_default();
    code.split("//").next().unwrap_or_default().trim_end()
}

/// True if the last line ends with an operator, behind which a statement goes on.
fn goes_on(text: &str) -> bool {
    code_of(text.lines().next_back().unwrap_or_default()).ends_with(['+', '-', '*', '/', '=', '<', '>'])
}

/// Statements that have the tensors of rules, each with as many indices as there.
fn names_text(rules: &stur::Program) -> String {
    let access = |(name, order, _): &(String, usize, Role)| {
        let indices: Vec<String> = (0..*order).map(|place| format!("index_{place}")).collect();
        format!("{name}[{}]", indices.join(","))
    };
    let tensors = rules.tensors();
    let (inputs, results): (Vec<_>, Vec<_>) = tensors.iter().partition(|(_, _, role)| *role == Role::Input);
    let values: Vec<String> = inputs.into_iter().map(access).chain(["0".to_string()]).collect();
    results.into_iter().map(|result| format!("{} = {}\n", access(result), values.join(" + "))).collect()
}

/// The content of a text file that holds `what`.
///
/// # Errors
/// The file can't be read, or is too large.
pub fn read_text(file: &str, what: &str) -> Result<String, Failure> {
    let unreadable = |reason: String| {
        let diagnostic = Diagnostic::error("E1007", format!("cannot read {file}: {reason}"));
        Failure::plain(diagnostic.category(Category::File).hint(format!("name a text file of {what}")))
    };
    let length = std::fs::metadata(file).map_err(|error| unreadable(error.to_string()))?.len();
    if length > MAX_FILE {
        return Err(unreadable(format!("it has {length} bytes; such files have at most {MAX_FILE}")));
    }
    std::fs::read_to_string(file).map_err(|error| unreadable(error.to_string()))
}

/// The variables with which a name is accessed first; `None` if it is not in the program. An index that is no variable
/// (a mistake that is told elsewhere) has no name.
pub fn indices_of(ast: &Ast, tensor: &str) -> Option<Vec<Option<String>>> {
    let in_statements = ast.statements.iter().find_map(|statement| {
        if statement.name.text == tensor {
            return Some(names(&statement.indices));
        }
        statement.indices.iter().chain([&statement.rhs]).find_map(|expr| find(expr, tensor))
    });
    let in_relations = || ast.brackets.values().find_map(|relation| find(&relation.right, tensor));
    let mut in_conditions = None;
    Action::visit(&ast.body, &mut |action| {
        in_conditions =
            in_conditions.take().or_else(|| numbers(action).into_iter().find_map(|expr| find(expr, tensor)));
    });
    in_statements.or_else(in_relations).or(in_conditions)
}

/// The numbers that an action asks for.
fn numbers(action: &Action) -> Vec<&Expr> {
    match &action.kind {
        ActionKind::For { from, to, .. } => vec![from, to],
        ActionKind::While { condition, .. } | ActionKind::If { condition, .. } => vec![condition],
        ActionKind::Fill(_, number) | ActionKind::Random { seed: Some(number), .. } => vec![number],
        ActionKind::Change { range: Some((from, to)), .. } => vec![from, to],
        _ => Vec::new(),
    }
}

/// The tensors whose entries a number counts.
fn counted<'a>(expr: &'a Expr, found: &mut Vec<&'a str>) {
    match &expr.kind {
        ExprKind::Number(_) | ExprKind::Bool(_) | ExprKind::Identity(_) | ExprKind::Name(_) | ExprKind::List { .. } => {
        }
        ExprKind::Apply { args, .. } => match expr.counted() {
            Some((tensor, _)) => found.push(tensor),
            None => args.iter().for_each(|arg| counted(arg, found)),
        },
        ExprKind::Cast { operand, .. } | ExprKind::Neg(operand) => counted(operand, found),
        ExprKind::Binary(_, left, right) => {
            counted(left, found);
            counted(right, found);
        }
    }
}

/// The number of dimensions of a tensor: that of its accesses, or, if no statement has it, that of its declaration.
pub fn order_of(ast: &Ast, declarations: &Declarations, tensor: &str) -> Option<usize> {
    let accessed = indices_of(ast, tensor).map(|indices| indices.len());
    let declared = || declarations.dims.get(tensor).map(Vec::len).or_else(|| declarations.formats.get(tensor)?.order());
    accessed.or_else(|| if names_in_actions(ast).contains(&tensor) { declared() } else { None })
}

/// The tensors that are read, written, changed, made up or counted between statements.
pub fn names_in_actions(ast: &Ast) -> Vec<&str> {
    let mut found = Vec::new();
    Action::visit(&ast.body, &mut |action| {
        numbers(action).into_iter().for_each(|number| counted(number, &mut found));
        match &action.kind {
            ActionKind::Print(name)
            | ActionKind::Read(name, _)
            | ActionKind::Write(name, _)
            | ActionKind::Fill(name, _)
            | ActionKind::Random { tensor: name, .. }
            | ActionKind::Change { tensor: name, .. } => found.push(name.text.as_str()),
            ActionKind::Swap(a, b) | ActionKind::Snapshot(a, b) => found.extend([a.text.as_str(), b.text.as_str()]),
            _ => {}
        }
    });
    found
}

fn find(expr: &Expr, tensor: &str) -> Option<Vec<Option<String>>> {
    match &expr.kind {
        ExprKind::Number(_) | ExprKind::Bool(_) | ExprKind::Identity(_) => None,
        ExprKind::List { index, .. } => index.as_ref().and_then(|index| find(index, tensor)),
        ExprKind::Name(name) => (name == tensor).then(Vec::new),
        ExprKind::Apply { name, args, .. } if name.text == tensor => Some(names(args)),
        // The size of a dimension and the number of entries name the tensor alone.
        ExprKind::Apply { name, args, callee: Callee::Named } if is_size(&name.text, args) => None,
        ExprKind::Apply { .. } if expr.counted().is_some() => None,
        ExprKind::Apply { args, .. } => args.iter().find_map(|arg| find(arg, tensor)),
        ExprKind::Cast { operand, .. } | ExprKind::Neg(operand) => find(operand, tensor),
        ExprKind::Binary(_, left, right) => find(left, tensor).or_else(|| find(right, tensor)),
    }
}

/// True of `size(A, 0)`.
fn is_size(name: &str, args: &[Expr]) -> bool {
    matches!(args, [tensor, dimension] if name == "size"
        && matches!((&tensor.kind, &dimension.kind), (ExprKind::Name(_), ExprKind::Number(_))))
}

fn names(indices: &[Expr]) -> Vec<Option<String>> {
    indices.iter().map(|index| index.variable().map(str::to_string)).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Program, indices_of};

    #[test]
    fn flags_in_a_file_are_blanked_and_split_as_by_a_shell() {
        let program = Program::from_file("# c\n -f A:csr -i 'A:my file.mtx'\ny(i) = A(i,j)\n-o y:-", "p.lac").unwrap();
        assert_eq!(program.text, "# c\n\ny(i) = A(i,j)\n\n");
        assert_eq!(program.flags, ["-f", "A:csr", "-i", "A:my file.mtx", "-o", "y:-"]);
        assert_eq!(Program::from_file("-f 'A", "p.lac").unwrap_err().code(), 2);
    }

    #[test]
    fn accesses_are_found_wherever_they_stand() {
        let program = Program::open("y(i) = sqrt(A(i,j)) * sum(k, -B[k,i,j]) + f32(alpha)").unwrap();
        let ast = program.parse().unwrap();
        let order = |name| indices_of(&ast, name).map(|indices| indices.len());
        assert_eq!([order("A"), order("B"), order("alpha"), order("y")], [Some(2), Some(3), Some(0), Some(1)]);
        assert_eq!(order("z"), None);
        let program = Program::open("y(size(A, 1)*i + j) = A(i,j) * size(t, x)").unwrap();
        assert_eq!(indices_of(&program.parse().unwrap(), "A").map(|indices| indices.len()), Some(2));
    }
}

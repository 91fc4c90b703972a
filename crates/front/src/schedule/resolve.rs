//! Calls to commands: every call is given to the statement that it is about, and its names are those of the program.
//!
//! A command is about the statement that has all tensors and variables it names; if several have them, the text says which one. In
//! the schedule
//!
//! ```text
//! split(j, j0, j1, 8); z: unroll(i)        of     y(i) = A(i,j) * x(j); z(i) = 2 * y(i)
//! ```
//!
//! the first command is about `y`, because `z` has no `j`.

use std::collections::BTreeSet;

use lacunar_base::{Diagnostic, Span};
use lacunar_notation::index::values_name;
use lacunar_notation::schedule::{Command, CommandKind, Name, Schedule};
use lacunar_notation::{Access, Assignment, Program, Role, TensorId};

use super::ast::Call;
use super::error::Error;
use super::forms::{Form, form};
use super::parser::read;
use super::scope::Scope;
use crate::einsum::{Expr, ExprKind, MAX_ERRORS, Meaning, expression, meaning};
use crate::words;

/// Reads a schedule of a checked program: the commands of each of its statements.
///
/// # Errors
/// All mistakes that were found; spans are of `source`.
pub fn check(source: &str, program: &Program) -> Result<Vec<Schedule>, Vec<Diagnostic>> {
    let (ast, mut errors) = read(source, &program.operators, program.relations());
    if errors.is_empty() {
        let parts = program.statements.iter().map(|statement| Part {
            statement,
            scope: Scope::new(program, statement),
            schedule: Schedule::default(),
        });
        let mut resolver = Resolver { program, parts: parts.collect() };
        let mut doubtful = BTreeSet::new();
        for call in &ast.calls {
            let Err(found) = resolver.call(call) else { continue };
            // A variable that a wrong command would have made is not another mistake.
            let is_new = |error: &Error| !matches!(error, Error::Variable { name, .. } if doubtful.contains(name));
            errors.extend(found.into_iter().filter(is_new));
            doubtful.extend(call.names().map(str::to_string));
        }
        if errors.is_empty() {
            return Ok(resolver.parts.into_iter().map(|part| part.schedule).collect());
        }
    }
    errors.truncate(MAX_ERRORS);
    Err(errors.into_iter().map(Error::into_diagnostic).collect())
}

struct Resolver<'a> {
    program: &'a Program,
    parts: Vec<Part<'a>>,
}

/// A statement, and its schedule so far.
struct Part<'a> {
    statement: &'a Assignment,
    scope: Scope,
    schedule: Schedule,
}

/// A name that a command finds in its statement.
struct Used<'a> {
    name: &'a str,
    span: Span,
    what: What,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    /// One that has, or had, a loop.
    Variable,
    /// One of the statement.
    Original,
    Operand,
    Result,
}

impl Resolver<'_> {
    fn call(&mut self, call: &Call) -> Result<(), Vec<Error>> {
        let one = |error| vec![error];
        let form = form(call).map_err(one)?;
        let names = names_of(&form);
        let place = self.statement(call, &names).map_err(one)?;
        let kind = self.parts[place].resolve(self.program, form)?;
        let Some(kind) = kind else { return Ok(()) };
        let part = &mut self.parts[place];
        part.scope.apply(self.program, &kind, call.span).map_err(one)?;
        part.schedule.commands.push(Command { kind, span: call.span });
        Ok(())
    }

    /// The place of the statement that a call with these names is about.
    fn statement(&self, call: &Call, names: &[Used<'_>]) -> Result<usize, Error> {
        let places = self.meant(call)?;
        let has = |place: usize, used: &Used<'_>| self.parts[place].has(self.program, used);
        let fitting = |&place: &usize| names.iter().all(|used| has(place, used));
        let mut fit = places.iter().copied().filter(fitting);
        match (fit.next(), fit.next()) {
            (Some(place), None) => Ok(place),
            (Some(_), Some(_)) => {
                let command = call.name.text.clone();
                Err(Error::WhichStatement { span: call.name.span, command, results: self.results() })
            }
            (None, _) => match names.iter().find(|used| !places.iter().any(|&place| has(place, used))) {
                Some(unknown) => Err(self.unknown(unknown, &places)),
                None => {
                    let names = names.iter().map(|used| used.name.to_string()).collect();
                    Err(Error::NoStatement { span: call.span, names })
                }
            },
        }
    }

    /// The places of the statements that the text before a call means; all, if there is no text.
    fn meant(&self, call: &Call) -> Result<Vec<usize>, Error> {
        let all = 0..self.parts.len();
        let Some(text) = &call.statement else { return Ok(all.collect()) };
        let numbered = text.text.parse().ok().and_then(|number: usize| number.checked_sub(1));
        let of_result = |place: &usize| self.result(*place) == text.text;
        let places: Vec<usize> = match numbered {
            Some(place) => all.filter(|&other| other == place).collect(),
            None => all.filter(of_result).collect(),
        };
        if places.is_empty() {
            let (span, text) = (text.span, text.text.clone());
            return Err(Error::UnknownStatement { span, text, results: self.results() });
        }
        Ok(places)
    }

    /// The name of the result of a statement.
    fn result(&self, place: usize) -> &str {
        &self.program.tensors[self.parts[place].statement.lhs.tensor].name
    }

    fn results(&self) -> Vec<String> {
        (0..self.parts.len()).map(|place| self.result(place).to_string()).collect()
    }

    /// The mistake of a name that none of the statements has.
    fn unknown(&self, used: &Used<'_>, places: &[usize]) -> Error {
        let (span, name) = (used.span, used.name.to_string());
        let parts = || places.iter().map(|&place| &self.parts[place]);
        let tensor = |id: TensorId| self.program.tensors[id].name.as_str();
        let results = || parts().map(|part| tensor(part.statement.lhs.tensor));
        let is_named = |access: &&Access| self.program.tensors[access.tensor].role != Role::Index;
        let read = || parts().flat_map(|part| part.statement.rhs.accesses()).filter(is_named);
        let operands = || read().map(|access| tensor(access.tensor));
        let hint = |candidates: Vec<&str>| {
            let mut list = candidates.clone();
            list.sort_unstable();
            list.dedup();
            words::did_you_mean(used.name, candidates, format!("there are: {}", list.join(" ")))
        };
        match used.what {
            What::Original if parts().any(|part| part.scope.knows(used.name)) => Error::Derived { span, name },
            What::Variable | What::Original => {
                let hint = hint(parts().flat_map(|part| part.scope.live()).collect());
                Error::Variable { span, name, hint }
            }
            What::Operand => Error::Tensor {
                span,
                name,
                what: "a tensor that the statement reads",
                hint: hint(operands().collect()),
            },
            What::Result => Error::Tensor { span, name, what: "a result", hint: hint(results().collect()) },
        }
    }
}

impl Part<'_> {
    /// True if the statement has the variable or tensor that a command names.
    fn has(&self, program: &Program, used: &Used<'_>) -> bool {
        let is = |tensor: TensorId| program.tensors[tensor].name == used.name;
        match used.what {
            What::Variable => self.scope.knows(used.name),
            What::Original => self.scope.is_original(used.name),
            What::Operand => {
                let values = values_name(used.name);
                let is_value = |tensor: TensorId| program.tensors[tensor].name == values;
                let mut tensors = self.statement.rhs.accesses().into_iter().map(|access| access.tensor);
                tensors.any(|tensor| is(tensor) || is_value(tensor))
            }
            What::Result => is(self.statement.lhs.tensor),
        }
    }

    /// The command that a form means, whose names the statement has; none, if it changes nothing.
    fn resolve(&self, program: &Program, form: Form) -> Result<Option<CommandKind>, Vec<Error>> {
        Ok(Some(match form {
            Form::Done(kind) => kind,
            Form::Serial { .. } => return Ok(None),
            Form::Assemble { how, .. } => CommandKind::Assemble { tensor: self.statement.lhs.tensor, how },
            Form::Pos { var, position, tensor, vars, span } => {
                let access = self.access(program, &var, &tensor, vars, span).map_err(|error| vec![error])?;
                CommandKind::Pos { var, position, access }
            }
            Form::Precompute { expr, vars, into, kind } => {
                let typed = expression(program, &expr)
                    .map_err(|errors| errors.into_iter().map(Error::Text).collect::<Vec<_>>())?;
                if typed.accesses().is_empty() {
                    return Err(vec![Error::Nothing { span: expr.span }]);
                }
                CommandKind::Precompute { expr: typed, vars, into, kind }
            }
        }))
    }

    /// The access that `pos` means: the one that is written, or else the one that has the variable.
    fn access(
        &self,
        program: &Program,
        var: &Name,
        tensor: &Name,
        vars: Option<Vec<Name>>,
        span: Span,
    ) -> Result<Access, Error> {
        let mut accesses: Vec<&Access> = Vec::new();
        for access in self.statement.rhs.accesses() {
            let known = accesses.iter().any(|other| other.vars == access.vars);
            if program.tensors[access.tensor].name == tensor.text && !known {
                accesses.push(access);
            }
        }
        let names =
            |access: &Access| -> Vec<&str> { access.vars.iter().map(|&var| program.vars[var].name.as_str()).collect() };
        let text = |names: Vec<&str>| format!("{}({})", tensor.text, names.join(","));
        let texts = || accesses.iter().map(|access| text(names(access))).collect::<Vec<_>>();
        let found = match &vars {
            Some(written) => {
                let written: Vec<&str> = written.iter().map(|name| name.text.as_str()).collect();
                let found = accesses.iter().find(|access| names(access) == written);
                found.ok_or_else(|| Error::Access { span, text: text(written), others: texts() })?
            }
            None => {
                let originals = self.scope.originals(&var.text);
                let fits = |access: &&&Access| originals.iter().all(|original| access.vars.contains(original));
                let mut fitting = accesses.iter().filter(fits);
                match (accesses.as_slice(), fitting.next(), fitting.next()) {
                    ([only], ..) => only,
                    (_, Some(found), None) => found,
                    _ => return Err(Error::WhichAccess { span, tensor: tensor.text.clone(), accesses: texts() }),
                }
            }
        };
        Ok(Access { span, ..(*found).clone() })
    }
}

/// The names by which a command finds its statement, from the left.
fn names_of(form: &Form) -> Vec<Used<'_>> {
    match form {
        Form::Done(kind) => kind.effect().uses.into_iter().map(variable_of).collect(),
        Form::Serial { var } => vec![variable_of(var)],
        Form::Assemble { tensor, .. } => vec![Used { what: What::Result, ..variable_of(tensor) }],
        Form::Pos { var, tensor, vars, .. } => {
            let mut names = vec![variable_of(var), Used { what: What::Operand, ..variable_of(tensor) }];
            names.extend(vars.iter().flatten().map(variable_of));
            names
        }
        Form::Precompute { expr, vars, .. } => {
            let mut names = Vec::new();
            expression_names(expr, &mut names);
            names.extend(vars.iter().map(variable_of));
            names
        }
    }
}

fn variable_of(name: &Name) -> Used<'_> {
    Used { name: &name.text, span: name.span, what: What::Variable }
}

/// The tensors and variables of an expression.
fn expression_names<'a>(expr: &'a Expr, names: &mut Vec<Used<'a>>) {
    let span = expr.span;
    match &expr.kind {
        ExprKind::Number(_) | ExprKind::Bool(_) | ExprKind::Identity(_) => {}
        ExprKind::List { index, .. } => index.iter().for_each(|index| expression_names(index, names)),
        ExprKind::Name(name) => names.push(Used { name, span, what: What::Operand }),
        ExprKind::Cast { operand, .. } | ExprKind::Neg(operand) => expression_names(operand, names),
        ExprKind::Binary(_, left, right) => {
            expression_names(left, names);
            expression_names(right, names);
        }
        ExprKind::Apply { name, args, callee } => {
            let indices = match meaning(&name.text, args, *callee) {
                Meaning::Access => {
                    names.push(Used { name: &name.text, span: name.span, what: What::Operand });
                    args.len()
                }
                Meaning::Reduction(_) => args.len().saturating_sub(1),
                Meaning::Function(_) | Meaning::Operator(_) | Meaning::Cast(_) => 0,
            };
            for (place, arg) in args.iter().enumerate() {
                match &arg.kind {
                    ExprKind::Name(name) if place < indices => {
                        names.push(Used { name, span: arg.span, what: What::Original });
                    }
                    _ => expression_names(arg, names),
                }
            }
        }
    }
}

//! The arguments of each command: calls to commands whose numbers and words are read, but whose names are not looked up yet.
//!
//! ```text
//! parallelize(i, CPUThread, NoRaces)    Form::Done(Parallelize { var: i, unit: CpuThread, race: None })
//! pos(f, fp, A(i,j))                    Form::Pos { var: f, position: fp, tensor: A, vars: Some([i, j]) }
//! ```

use lacunar_base::Span;
use lacunar_notation::WorkspaceKind;
use lacunar_notation::schedule::{Assembly, BoundKind, CommandKind, Merge, Name, Parts, Race, Unit};

use super::ast::{Argument, Call};
use super::error::Error;
use crate::einsum::{self, Expr, ExprKind, Meaning, Number, meaning};

/// A command that is well-formed.
pub(crate) enum Form {
    /// The text holds everything it needs.
    Done(CommandKind),
    /// `pos`, whose tensor is to be found.
    Pos { var: Name, position: Name, tensor: Name, vars: Option<Vec<Name>>, span: Span },
    /// `precompute`, whose expression is to be checked.
    Precompute { expr: Expr, vars: Vec<Name>, into: Vec<Name>, kind: Option<WorkspaceKind> },
    /// `assemble`, whose tensor is to be found.
    Assemble { tensor: Name, how: Assembly },
    /// `parallelize(i, NotParallel, ...)`: a loop stays as it is.
    Serial { var: Name },
}

/// A way to read the arguments of a command.
type Read = fn(&Arguments<'_>) -> Result<Form, Error>;

/// Every command: its form, the least and the greatest number of its arguments, and the function that reads them.
const COMMANDS: [(&str, usize, usize, Read); 13] = [
    ("reorder(i, j)", 1, usize::MAX, reorder),
    ("fuse(i, j, f)", 3, 3, fuse),
    ("split(i, i0, i1, 32)", 4, 4, split),
    ("divide(i, i0, i1, 4)", 4, 4, divide),
    ("pos(j, p, A(i,j))", 3, 3, pos),
    ("coord(p, j0)", 2, 2, coord),
    ("parallelize(i, cpu, none)", 2, 3, parallelize),
    ("unroll(i, 4)", 1, 2, unroll),
    ("fission(i)", 1, usize::MAX, fission),
    ("bound(i, ib, 16, maxexact)", 4, 4, bound),
    ("precompute(A(i,j) * x(j), j, jw)", 3, 4, precompute),
    ("assemble(C, insert)", 2, 3, assemble),
    ("mergeby(i, gallop)", 2, 2, mergeby),
];

pub(crate) const UNITS: [(&str, Option<Unit>); 8] = [
    ("cpu", Some(Unit::CpuThread)),
    ("vector", Some(Unit::CpuVector)),
    ("gpublock", Some(Unit::GpuBlock)),
    ("gpuwarp", Some(Unit::GpuWarp)),
    ("gputhread", Some(Unit::GpuThread)),
    ("CPUThread", Some(Unit::CpuThread)),
    ("CPUVector", Some(Unit::CpuVector)),
    ("NotParallel", None),
];

pub(crate) const RACES: [(&str, Race); 9] = [
    ("auto", Race::Auto),
    ("none", Race::None),
    ("ignore", Race::Ignore),
    ("atomics", Race::Atomics),
    ("temporary", Race::Temporary),
    ("reduction", Race::ParallelReduction),
    ("NoRaces", Race::None),
    ("IgnoreRaces", Race::Ignore),
    ("ParallelReduction", Race::ParallelReduction),
];

const BOUNDS: [(&str, BoundKind); 4] = [
    ("maxexact", BoundKind::MaxExact),
    ("maxconstraint", BoundKind::MaxConstraint),
    ("minexact", BoundKind::MinExact),
    ("minconstraint", BoundKind::MinConstraint),
];

const WORKSPACES: [(&str, WorkspaceKind); 7] = [
    ("dense", WorkspaceKind::Dense),
    ("marked", WorkspaceKind::Marked),
    ("bitmap", WorkspaceKind::Bitmap),
    ("stamped", WorkspaceKind::Stamped),
    ("hashed", WorkspaceKind::Hashed),
    ("sorted", WorkspaceKind::Sorted),
    ("scalar", WorkspaceKind::Scalar),
];

const ASSEMBLIES: [(&str, Assembly); 2] = [("append", Assembly::Append), ("insert", Assembly::Insert)];

pub(crate) const MERGES: [(&str, Merge); 4] = [
    ("coiterate", Merge::Coiterate),
    ("gallop", Merge::Gallop),
    ("bitmap", Merge::Bitmap),
    ("TwoFinger", Merge::Coiterate),
];

/// The names of all commands.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    COMMANDS.iter().map(|(form, ..)| command(form))
}

fn command(form: &'static str) -> &'static str {
    form.split('(').next().unwrap_or_default()
}

/// Reads the arguments of a call.
pub(super) fn form(call: &Call) -> Result<Form, Error> {
    let found = COMMANDS.iter().find(|(form, ..)| command(form).eq_ignore_ascii_case(&call.name.text));
    let Some(&(form, least, most, read)) = found else {
        return Err(Error::Command { span: call.name.span, name: call.name.text.clone() });
    };
    let count = call.arguments.len();
    if !(least..=most).contains(&count) {
        return Err(Error::Count { span: call.span, form, found: count });
    }
    read(&Arguments { call, form })
}

/// The arguments of a command, whose number is right.
struct Arguments<'a> {
    call: &'a Call,
    /// The form of the command, for hints.
    form: &'static str,
}

impl<'a> Arguments<'a> {
    /// True if there is an argument at a place.
    fn has(&self, place: usize) -> bool {
        place < self.call.arguments.len()
    }

    fn wrong(&self, place: usize, expected: &'static str) -> Error {
        let span = self.call.arguments.get(place).map_or(self.call.span, Argument::span);
        Error::Argument { span, expected, form: self.form }
    }

    /// An argument as an expression.
    fn expr(&self, place: usize, expected: &'static str) -> Result<&'a Expr, Error> {
        match self.call.arguments.get(place) {
            Some(Argument::Expr(expr)) => match computed_index(expr) {
                Some(index) => Err(Error::Index { span: index.span }),
                None => Ok(expr),
            },
            _ => Err(self.wrong(place, expected)),
        }
    }

    /// An argument that is a name.
    fn name(&self, place: usize, expected: &'static str) -> Result<Name, Error> {
        plain_name(self.expr(place, expected)?).ok_or_else(|| self.wrong(place, expected))
    }

    fn var(&self, place: usize) -> Result<Name, Error> {
        self.name(place, "an index variable")
    }

    /// Variables, as many as there are arguments.
    fn all_vars(&self) -> Result<Vec<Name>, Error> {
        (0..self.call.arguments.len()).map(|place| self.var(place)).collect()
    }

    /// One variable, or a list of them.
    fn vars(&self, place: usize) -> Result<Vec<Name>, Error> {
        match self.call.arguments.get(place) {
            Some(Argument::List(names, _)) => Ok(names.iter().map(name).collect()),
            _ => Ok(vec![self.name(place, "an index variable or a list of them")?]),
        }
    }

    fn number(&self, place: usize, least: u64, expected: &'static str) -> Result<u64, Error> {
        match self.expr(place, expected)?.kind {
            ExprKind::Number(Number::Int(number)) if number >= least => Ok(number),
            _ => Err(self.wrong(place, expected)),
        }
    }

    /// One of some words; `what` names them in messages.
    fn word<T: Copy>(&self, place: usize, what: &'static str, table: &[(&'static str, T)]) -> Result<T, Error> {
        let word = self.name(place, what)?;
        let found = table.iter().find(|(known, _)| known.eq_ignore_ascii_case(&word.text));
        found.map(|&(_, value)| value).ok_or_else(|| {
            let words = table.iter().map(|&(word, _)| word).collect();
            Error::Word { span: word.span, word: word.text, what, words }
        })
    }
}

/// The name, of an expression that is a name alone.
fn plain_name(expr: &Expr) -> Option<Name> {
    match &expr.kind {
        ExprKind::Name(text) => Some(Name { text: text.clone(), span: expr.span }),
        _ => None,
    }
}

fn name(name: &einsum::Name) -> Name {
    Name { text: name.text.clone(), span: name.span }
}

fn reorder(arguments: &Arguments<'_>) -> Result<Form, Error> {
    Ok(Form::Done(CommandKind::Reorder(arguments.all_vars()?)))
}

fn fuse(arguments: &Arguments<'_>) -> Result<Form, Error> {
    let (outer, inner, fused) = (arguments.var(0)?, arguments.var(1)?, arguments.name(2, "a new name")?);
    Ok(Form::Done(CommandKind::Fuse { outer, inner, fused }))
}

fn split(arguments: &Arguments<'_>) -> Result<Form, Error> {
    let (var, outer, inner) = (arguments.var(0)?, arguments.name(1, "a new name")?, arguments.name(2, "a new name")?);
    let size = arguments.number(3, 1, "a whole number from 1")?;
    Ok(Form::Done(CommandKind::Split { var, outer, inner, size }))
}

fn divide(arguments: &Arguments<'_>) -> Result<Form, Error> {
    let (var, outer, inner) = (arguments.var(0)?, arguments.name(1, "a new name")?, arguments.name(2, "a new name")?);
    let expected = "a whole number from 1, `threads`, or `4 threads`";
    let parts = match arguments.call.arguments.get(3) {
        Some(Argument::PerThread(count, _)) if *count > 0 => Parts::PerThread(*count),
        Some(Argument::Expr(expr)) if plain_name(expr).is_some_and(|name| is_threads(&name)) => Parts::PerThread(1),
        _ => Parts::Count(arguments.number(3, 1, expected)?),
    };
    Ok(Form::Done(CommandKind::Divide { var, outer, inner, parts }))
}

fn is_threads(name: &Name) -> bool {
    name.text.eq_ignore_ascii_case("threads")
}

/// The first index of an access in an expression that is no variable.
fn computed_index(expr: &Expr) -> Option<&Expr> {
    match &expr.kind {
        ExprKind::Number(_) | ExprKind::Bool(_) | ExprKind::Identity(_) | ExprKind::Name(_) | ExprKind::List { .. } => {
            None
        }
        ExprKind::Apply { name, args, callee } => match meaning(&name.text, args, *callee) {
            Meaning::Access => args.iter().find(|index| index.variable().is_none()),
            _ => args.iter().find_map(computed_index),
        },
        ExprKind::Cast { operand, .. } | ExprKind::Neg(operand) => computed_index(operand),
        ExprKind::Binary(_, left, right) => computed_index(left).or_else(|| computed_index(right)),
    }
}

fn pos(arguments: &Arguments<'_>) -> Result<Form, Error> {
    let expected = "a tensor, with or without its indices";
    let (var, position, access) = (arguments.var(0)?, arguments.name(1, "a new name")?, arguments.expr(2, expected)?);
    let span = access.span;
    if let Some(tensor) = plain_name(access) {
        return Ok(Form::Pos { var, position, tensor, vars: None, span });
    }
    match &access.kind {
        ExprKind::Apply { name: tensor, args, callee }
            if matches!(meaning(&tensor.text, args, *callee), Meaning::Access) =>
        {
            let vars = args.iter().map(|index| plain_name(index).ok_or_else(|| arguments.wrong(2, expected)));
            Ok(Form::Pos { var, position, tensor: name(tensor), vars: Some(vars.collect::<Result<_, _>>()?), span })
        }
        _ => Err(arguments.wrong(2, expected)),
    }
}

fn coord(arguments: &Arguments<'_>) -> Result<Form, Error> {
    let (position, coordinate) = (arguments.var(0)?, arguments.name(1, "a new name")?);
    Ok(Form::Done(CommandKind::Coord { position, coordinate }))
}

fn parallelize(arguments: &Arguments<'_>) -> Result<Form, Error> {
    let var = arguments.var(0)?;
    let unit = arguments.word(1, "a parallel unit", &UNITS)?;
    let race = if arguments.has(2) { arguments.word(2, "a way to treat races", &RACES)? } else { Race::Auto };
    Ok(match unit {
        Some(unit) => Form::Done(CommandKind::Parallelize { var, unit, race }),
        None => Form::Serial { var },
    })
}

fn unroll(arguments: &Arguments<'_>) -> Result<Form, Error> {
    let var = arguments.var(0)?;
    let expected = "a whole number from 1 to 4294967295";
    let times = match arguments.has(1) {
        true => u32::try_from(arguments.number(1, 1, expected)?).map_err(|_| arguments.wrong(1, expected))?,
        false => 0,
    };
    Ok(Form::Done(CommandKind::Unroll { var, times }))
}

fn fission(arguments: &Arguments<'_>) -> Result<Form, Error> {
    Ok(Form::Done(CommandKind::Fission(arguments.all_vars()?)))
}

fn bound(arguments: &Arguments<'_>) -> Result<Form, Error> {
    let (var, bounded) = (arguments.var(0)?, arguments.name(1, "a new name")?);
    let size = arguments.number(2, 0, "a whole number")?;
    let kind = arguments.word(3, "a kind of bound", &BOUNDS)?;
    Ok(Form::Done(CommandKind::Bound { var, bounded, size, kind }))
}

fn precompute(arguments: &Arguments<'_>) -> Result<Form, Error> {
    let expr = arguments.expr(0, "an expression")?.clone();
    let (vars, into) = (arguments.vars(1)?, arguments.vars(2)?);
    if vars.len() != into.len() {
        return Err(Error::Lengths { span: arguments.call.span, vars: vars.len(), into: into.len() });
    }
    let kind = arguments.has(3).then(|| arguments.word(3, "a kind of workspace", &WORKSPACES));
    Ok(Form::Precompute { expr, vars, into, kind: kind.transpose()? })
}

fn assemble(arguments: &Arguments<'_>) -> Result<Form, Error> {
    let (tensor, how) = (arguments.name(0, "a result")?, arguments.word(1, "a way to assemble", &ASSEMBLIES)?);
    // taco's third argument: it says if later commands mean the phase that counts.
    if arguments.has(2) {
        let expected = "`true` or `false`";
        match arguments.expr(2, expected)? {
            Expr { kind: ExprKind::Bool(false), .. } => {}
            Expr { kind: ExprKind::Bool(true), span, .. } => return Err(Error::Separately { span: *span }),
            _ => return Err(arguments.wrong(2, expected)),
        }
    }
    Ok(Form::Assemble { tensor, how })
}

fn mergeby(arguments: &Arguments<'_>) -> Result<Form, Error> {
    let (var, strategy) = (arguments.var(0)?, arguments.word(1, "a way to merge", &MERGES)?);
    Ok(Form::Done(CommandKind::Mergeby { var, strategy }))
}

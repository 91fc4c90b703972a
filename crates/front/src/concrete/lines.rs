//! Lines for tensors, which follow a program as `--emit concrete` prints it: the format of each.
//!
//! ```text
//! line := name ':' type format role [size ('x' size)*] ['fill' value] ['structure' words | 'of' name]
//!       | variable ':' 'index' size
//! role := ['unique'] 'input' | ['updated' | 'inserted'] 'result' | kind 'workspace' | 'indicator', with the relation behind the sizes
//! ```
//!
//! A line with `of` is for a tensor that is another one in other storage, or the result before the statement: the other one is read in its
//! place, and converted again where the loops need it.
//!
//! A declaration of the caller overrules a line. On exit the lines are blank in the text, so that places in it stay.

use indexmap::IndexSet;
use lacunar_base::Span;
use lacunar_formats::{DType, FormatSpec, Scalar};
use lacunar_notation::{AssignOp, WorkspaceKind};

use super::error::Mistake;
use super::terms::visit;
use crate::einsum::{Action, Ast, Declarations};
use crate::options;
use crate::structure::{self, StructureSpec};
use crate::words::is_name;

/// The declarations of a line for a tensor.
#[derive(Clone, Debug)]
pub struct Line {
    /// The tensor.
    pub name: String,
    /// The type of its elements.
    pub dtype: DType,
    /// Its format.
    pub format: FormatSpec,
    /// Its origin.
    pub role: LineRole,
    /// Its sizes, if they are said.
    pub dims: Option<Vec<u64>>,
    /// The value of elements that are not stored, if it is not 0.
    pub fill: Option<Scalar>,
    /// The facts that are known of its elements.
    pub structure: Option<StructureSpec>,
    /// The relation in brackets that the tensor stands for.
    pub relation: Option<String>,
    /// The tensor that it is made of.
    pub source: Option<String>,
    /// The line.
    pub span: Span,
}

/// The origin of a tensor's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineRole {
    /// Given by the user.
    Input,
    /// Assigned by a statement.
    Result,
    /// A result with values before, which the statement combines with others.
    Updated,
    /// A result whose pattern is found first, and then its values.
    Inserted,
    /// Made inside of a statement.
    Workspace(WorkspaceKind),
    /// A relation of indices.
    Indicator,
    /// None: it is an index variable.
    Variable,
}

impl Line {
    /// The line for a tensor that belongs to a statement: the next one behind it, or else the last.
    pub(crate) fn of<'a>(lines: &'a [Line], tensor: &str, statement: Span) -> Option<&'a Line> {
        let mut own = lines.iter().filter(|line| line.name == tensor);
        let is_behind = |line: &&Line| line.span.range().start > statement.range().start;
        own.clone().find(is_behind).or_else(|| own.next_back())
    }

    /// True for a tensor of the program, whose name the user gives values to or asks for.
    pub fn is_outside(&self) -> bool {
        matches!(self.role, LineRole::Input | LineRole::Result | LineRole::Updated | LineRole::Inserted)
    }

    /// The lines for tensors whose names a program has, and that are made of no others.
    ///
    /// A kernel's text has lines for tensors, too, that others are made of and that it does not read: these say nothing.
    fn own(ast: &Ast) -> impl Iterator<Item = &Line> {
        let mut named = IndexSet::new();
        for statement in &ast.statements {
            named.insert(statement.name.text.as_str());
            visit(&statement.rhs, &mut |name, _| {
                named.insert(name);
            });
        }
        for bracket in ast.brackets.values() {
            visit(&bracket.right, &mut |name, _| {
                named.insert(name);
            });
        }
        Action::visit(&ast.body, &mut |action| named.extend(action.named().map(|name| name.text.as_str())));
        let is_own = |line: &&Line| line.is_outside() && line.source.is_none();
        ast.lines.iter().filter(is_own).filter(move |line| named.contains(line.name.as_str()))
    }

    /// Adds to the declarations the formats, types and fill values that lines say and they do not, by which files are read. Sizes are
    /// left to the files.
    pub fn describe(ast: &Ast, declarations: &mut Declarations) {
        for line in Line::own(ast) {
            let name = || line.name.clone();
            declarations.formats.entry(name()).or_insert_with(|| line.format.clone());
            declarations.dtypes.entry(name()).or_insert(line.dtype);
            if let Some(fill) = line.fill {
                declarations.fills.entry(name()).or_insert(fill);
            }
            if let Some(structure) = &line.structure {
                declarations.structures.entry(name()).or_insert_with(|| structure.clone());
            }
        }
    }

    /// The declarations, completed by those of lines.
    pub fn declare(ast: &Ast, declarations: &Declarations) -> Declarations {
        let mut all = declarations.clone();
        Line::describe(ast, &mut all);
        for line in Line::own(ast) {
            if let Some(dims) = &line.dims {
                all.dims.entry(line.name.clone()).or_insert_with(|| dims.clone());
            }
            all.fills.entry(line.name.clone()).or_insert(Scalar::zero(line.dtype));
        }
        let has_loop = |line: &&Line| {
            ast.statements.iter().any(|own| own.nest.as_ref().is_some_and(|nest| nest.var(&line.name).is_some()))
        };
        for line in ast.lines.iter().filter(|line| line.role == LineRole::Variable).filter(has_loop) {
            all.dims.entry(line.name.clone()).or_insert_with(|| line.dims.clone().unwrap_or_default());
        }
        // A relation's line says how far its variables run.
        let is_relation = |line: &&Line| line.role == LineRole::Indicator && ast.brackets.contains_key(&line.name);
        for line in ast.lines.iter().filter(is_relation) {
            let dims = line
                .dims
                .clone()
                .filter(|dims| Some(dims.len()) == ast.brackets.get(&line.name).map(|own| own.vars.len()));
            if let Some(dims) = dims {
                all.dims.entry(line.name.clone()).or_insert(dims);
            }
        }
        all
    }
}

/// A program without its lines for tensors, and these lines, or the mistakes in them.
pub(crate) fn split(source: &str) -> (String, Vec<Line>, Vec<Mistake>) {
    let (mut text, mut lines, mut mistakes) = (String::with_capacity(source.len()), Vec::new(), Vec::new());
    for line in source.split_inclusive('\n') {
        let start = text.len();
        match read(line.trim_end(), start) {
            None => text.push_str(line),
            Some(read) => {
                text.extend(line.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
                match read {
                    Ok(line) => lines.push(line),
                    Err(mistake) => mistakes.push(mistake),
                }
            }
        }
    }
    (text, lines, mistakes)
}

/// Gives a program its lines. The result that is said to be updated, or that loops combine with its value before, has its earlier value
/// combined.
pub(crate) fn update(ast: &mut Ast, mut lines: Vec<Line>) {
    for statement in &mut ast.statements {
        let Some(nest) = &statement.nest else { continue };
        let own = Line::of(&lines, &statement.name.text, statement.span).map(|line| line.span);
        let Some(line) = lines.iter_mut().find(|line| Some(line.span) == own) else { continue };
        if line.role == LineRole::Result && nest.updates {
            line.role = LineRole::Updated;
        }
        if let Some(monoid) = nest.monoid.filter(|_| line.role == LineRole::Updated) {
            statement.op = AssignOp::Reduce(monoid);
        }
    }
    ast.lines = lines;
}

/// Reads a line that begins at a place of the text; `None` if it is not one for a tensor.
fn read(text: &str, start: usize) -> Option<Result<Line, Mistake>> {
    let (name, rest) = text.split_once(':')?;
    let mut words = rest.split_whitespace();
    let first = words.next()?;
    if !is_name(name) {
        return None;
    }
    let span = Span::new(start, start + text.len());
    let words: Vec<&str> = words.collect();
    if first == "index" {
        return Some(variable(name, &words, span));
    }
    Some(said(name, DType::parse(first)?, &words, span))
}

/// The line of a variable whose size no tensor tells.
fn variable(name: &str, words: &[&str], span: Span) -> Result<Line, Mistake> {
    let size = match words {
        [size] => size.parse().ok(),
        _ => None,
    };
    let dims = Some(vec![size.ok_or(Mistake::Line { span, expected: "the size of an index variable" })?]);
    Ok(Line {
        name: name.to_string(),
        dtype: DType::I64,
        format: FormatSpec::Dense,
        role: LineRole::Variable,
        dims,
        fill: None,
        structure: None,
        relation: None,
        source: None,
        span,
    })
}

fn said(name: &str, dtype: DType, words: &[&str], span: Span) -> Result<Line, Mistake> {
    let wrong = |expected| Mistake::Line { span, expected };
    let at = words.iter().position(|word| matches!(*word, "input" | "result" | "workspace" | "indicator"));
    let at = at.ok_or(wrong("`input`, `result`, `workspace` or `indicator`"))?;
    let (words, relation) = match words.iter().position(|word| word.starts_with('[')) {
        Some(begin) if words[at] == "indicator" && begin > at => (&words[..begin], Some(words[begin..].join(" "))),
        _ => (words, None),
    };
    let (words, structure) = match words.iter().position(|word| *word == "structure") {
        Some(begin) if begin > at => (&words[..begin], Some(structure_of(name, &words[begin + 1..], span)?)),
        _ => (words, None),
    };
    let (words, source) = match words {
        // A tensor that planning stores in another way under its own name is itself.
        [all @ .., "of", source] if all.len() > at => (all, Some((*source).to_string()).filter(|own| own != name)),
        _ => (words, None),
    };
    let (before, after) = (&words[..at], &words[at + 1..]);
    let (kind, format) = before.split_last().map_or(("", before), |(kind, format)| (*kind, format));
    let (role, format) = match (words[at], kind) {
        ("input" | "result", "stored") => return Err(Mistake::Stored { span, name: name.to_string() }),
        ("input", "unique") => return Err(Mistake::Unique { span, name: name.to_string() }),
        ("input", _) => (LineRole::Input, before),
        ("result", "updated") => (LineRole::Updated, format),
        ("result", "inserted") => (LineRole::Inserted, format),
        ("result", _) => (LineRole::Result, before),
        ("indicator", _) => (LineRole::Indicator, before),
        (_, kind) => {
            if dtype.is_storage() {
                return Err(wrong("a workspace of a type that is computed with, as `f32`"));
            }
            let found = WorkspaceKind::ALL.into_iter().find(|known| known.name() == kind);
            (LineRole::Workspace(found.ok_or(wrong("a kind of workspace"))?), format)
        }
    };
    let text = format.join(" ");
    let text = if text == "scalar" { "" } else { &text };
    let format = text.parse().map_err(|_| wrong("a format"))?;
    let (dims, fill) = match after {
        [] => (None, None),
        ["fill", value] => (None, Some(*value)),
        [dims] => (Some(*dims), None),
        [dims, "fill", value] => (Some(*dims), Some(*value)),
        _ => return Err(wrong("sizes as `5x7`, or `fill` and a value")),
    };
    let sizes = |text: &str| text.split('x').map(str::parse).collect::<Result<Vec<u64>, _>>().ok();
    let dims = dims.map(|text| sizes(text).ok_or(wrong("sizes as `5x7`"))).transpose()?;
    if role == LineRole::Input && has_followers(&format, dims.as_ref().map(Vec::len)) {
        return Err(Mistake::Packed { span, name: name.to_string() });
    }
    let value = |text: &str| options::fill(&format!("{name}:{text}")).ok().map(|(_, value)| value);
    let fill = fill.map(|text| value(text).ok_or(wrong("a fill value"))).transpose()?;
    Ok(Line { name: name.to_string(), dtype, format, role, dims, fill, structure, relation, source, span })
}

/// The structure that words of a line declare.
fn structure_of(name: &str, words: &[&str], span: Span) -> Result<StructureSpec, Mistake> {
    let words = words.join(" ");
    let colon = if words.starts_with('(') { "" } else { ":" };
    let (_, spec) = structure::parse(&format!("{name}{colon}{words}"))
        .map_err(|error| Mistake::Structure { span, error: Box::new(error) })?;
    Ok(spec)
}

/// True if a tensor in a format, of this order if it is known, has elements that are not stored and follow from others: loops
/// over the stored elements do not mean the tensor.
fn has_followers(format: &FormatSpec, order: Option<usize>) -> bool {
    /// No structure is of a higher order.
    const HIGHEST: usize = 5;
    let orders = order.map_or(1..=HIGHEST, |order| order..=order);
    let mut formats = orders.filter_map(|order| format.resolve(order).ok());
    formats.any(|format| format.packing().is_some_and(|packing| !packing.structure().is_without_redundancy()))
}

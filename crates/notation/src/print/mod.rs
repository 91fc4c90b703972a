//! Printers: index notation, concrete notation and schedules as text.
//!
//! The text of a statement of index notation, or of a schedule, is one that `front` reads back to the same. Concrete notation that
//! a schedule has transformed shows the tags of loops, and the relations of their variables, as Senanayake et al. 2020 do:
//!
//! ```text
//! suchthat(forall(i0, forall(i1, forall(j, y(i) += A(i,j) * x(j))), cpu, none), split(i, i0, i1, 32))
//! ```

mod indices;
mod program;
mod provenance;
mod schedule;

use std::fmt::{self, Display, Write};

use lacunar_base::Arena;
use lacunar_formats::DType;

use crate::concrete::{Kernel, Stmt};
use crate::index::{
    Access, AssignOp, Assignment, Expr, ExprKind, IndexVar, Literal, Program, Role, Tensor, TensorId, VarId,
};
use crate::indicator::Indicator;
use crate::monoid::Monoid;
use crate::operator::Operator;
use crate::ops::{BinaryFn, Function, UnaryFn};
use crate::provenance::{Provenance, Relation};
use crate::schedule::Assembly;
use crate::stored::ViewStep;
use crate::structure::Structure;
pub use provenance::{Node, ProvenanceGraph, Step};

/// Names for printing: the tensors and variables of a program or a kernel.
#[derive(Clone, Copy)]
struct Names<'a> {
    tensors: &'a Arena<Tensor>,
    vars: &'a Arena<IndexVar>,
    /// Texts in the place of the names of some variables.
    placed: &'a [(VarId, String)],
    /// True if indices are those of loops, each a variable: the relations that tie them are shown in brackets.
    in_loops: bool,
}

impl<'a> Names<'a> {
    fn new(tensors: &'a Arena<Tensor>, vars: &'a Arena<IndexVar>) -> Names<'a> {
        Names { tensors, vars, placed: &[], in_loops: false }
    }

    /// The names of a kernel's loops.
    fn of_loops(kernel: &'a Kernel) -> Names<'a> {
        Names { in_loops: true, ..Names::new(&kernel.tensors, &kernel.vars) }
    }

    /// An index as text.
    fn index(self, var: VarId) -> &'a str {
        let placed = self.placed.iter().find(|(own, _)| *own == var);
        placed.map_or(self.vars[var].name.as_str(), |(_, text)| text)
    }
}

/// A line for each operator, actions one a line, then a line for each tensor: `A: f64 csr input 5x7`.
impl Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.actions_text())?;
        let written = self.tensors.iter().filter(|(_, tensor)| !tensor.role.is_computed());
        write_tensors(f, written, role_text, |_| None)
    }
}

impl Program {
    /// One statement as text.
    pub fn statement_text(&self, statement: &Assignment) -> String {
        let Assignment { lhs, op, rhs, .. } = statement;
        let mut text = String::new();
        Names::new(&self.tensors, &self.vars).assign(&mut text, lhs, *op, rhs);
        text
    }

    /// An expression of the program as text.
    pub fn expr_text(&self, expr: &Expr) -> String {
        let mut text = String::new();
        Names::new(&self.tensors, &self.vars).expr(&mut text, expr, 0);
        text
    }
}

/// A line for each operator, the statement indented, the relations of its variables, then a line for each tensor.
impl Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(&|_| None))
    }
}

impl Kernel {
    /// The same, where the line of a tensor that is made of another names that: `B_by_order: f64 csr input 4x4 of B`.
    pub fn text(&self, made_of: &dyn Fn(TensorId) -> Option<TensorId>) -> String {
        let names = Names::of_loops(self);
        let mut text = self.operators_text();
        names.stmt(&mut text, &self.provenance, &self.stmt, 0);
        for (place, relation) in self.provenance.relations.iter().enumerate() {
            let word = if place == 0 { "such that" } else { "and" };
            let _ = writeln!(text, "{word} {}", names.relation(relation));
        }
        let written = self.tensors.iter().filter(|(_, tensor)| tensor.role != Role::Index);
        let role = |role| match (role, self.assembly) {
            (Role::Result, _) if self.updates => "updated result".to_string(),
            (Role::Result, Assembly::Insert) => "inserted result".to_string(),
            (role, _) => role_text(role),
        };
        let mut relations: Vec<(TensorId, String)> = Vec::new();
        self.stmt.visit_assigns(&mut |assign| {
            for Access { tensor, vars, .. } in assign.rhs.accesses() {
                if let Some(indicator) = self.tensors[*tensor].indicator.as_deref()
                    && relations.iter().all(|(known, _)| known != tensor)
                {
                    relations.push((*tensor, names.bracket_text(indicator, vars)));
                }
            }
        });
        let behind = |tensor| match relations.iter().find(|(known, _)| *known == tensor) {
            Some((_, relation)) => Some(relation.clone()),
            None => made_of(tensor).map(|source| format!("of {}", self.tensors[source].name)),
        };
        let _ = write_tensors(&mut text, written, role, behind);
        for var in self.untold() {
            if let IndexVar { name, size: Some(size), .. } = &self.vars[var] {
                let _ = writeln!(text, "{name}: index {size}");
            }
        }
        text
    }

    /// The variables of loops whose sizes no tensor tells.
    fn untold(&self) -> Vec<VarId> {
        let first = |mut var: VarId| {
            while let Some(Relation::Rename { parent, .. }) = self.provenance.origin(var) {
                var = *parent;
            }
            var
        };
        let mut told = Vec::new();
        self.stmt.visit_assigns(&mut |assign| {
            for access in assign.rhs.accesses().into_iter().chain([&assign.lhs]) {
                if matches!(self.tensors[access.tensor].role, Role::Input | Role::Result | Role::Indicator) {
                    told.extend(access.vars.iter().map(|var| first(*var)));
                }
            }
        });
        let mut untold: Vec<VarId> = Vec::new();
        self.stmt.visit_loops(&mut |leaf| {
            let all = self.provenance.originals(leaf).into_iter().map(first);
            untold.extend(all.filter(|var| self.provenance.origin(*var).is_none() && !told.contains(var)));
        });
        untold.sort_unstable();
        untold.dedup();
        untold
    }

    /// The statement on one line: `forall(i, forall(j, y(i) += A(i,j) * x(j)))`. With it, in `suchthat`, the relations of its
    /// variables whose loops are all in the statement.
    pub fn stmt_text(&self) -> String {
        let names = Names::of_loops(self);
        let mut text = String::new();
        names.inline(&mut text, &self.provenance, &self.stmt);
        let relations = provenance::closed(&self.provenance, &self.stmt);
        if relations.is_empty() {
            return text;
        }
        let relations: Vec<String> = relations.into_iter().map(|relation| names.relation(relation)).collect();
        format!("suchthat({text}, {})", relations.join(" and "))
    }

    /// The lines that declare the operators of the statement.
    pub fn operators_text(&self) -> String {
        let mut found = Vec::new();
        self.stmt.visit_assigns(&mut |assign| {
            assign.rhs.operators(&mut found);
            if let Some(monoid) = assign.op.monoid() {
                monoid.operators(&mut found);
            }
        });
        declarations(&found)
    }

    /// An access of the kernel as text.
    pub fn access_text(&self, access: &Access) -> String {
        let mut text = String::new();
        Names::of_loops(self).access(&mut text, access);
        text
    }

    /// An expression of the kernel as text.
    pub fn expr_text(&self, expr: &Expr) -> String {
        let mut text = String::new();
        Names::of_loops(self).expr(&mut text, expr, 0);
        text
    }
}

/// The lines that declare operators.
fn declarations(operators: &[Operator]) -> String {
    operators.iter().map(|operator| format!("{}\n", operator.declaration().text)).collect()
}

fn role_text(role: Role) -> String {
    match role {
        Role::Input | Role::Index => "input".to_string(),
        Role::Result => "result".to_string(),
        Role::Indicator => "indicator".to_string(),
        Role::Workspace(kind) => format!("{} workspace", kind.name()),
    }
}

/// A line for each of some tensors, each with the text behind its storage.
fn write_tensors<'t>(
    f: &mut dyn Write,
    tensors: impl Iterator<Item = (TensorId, &'t Tensor)>,
    role_text: impl Fn(Role) -> String,
    behind: impl Fn(TensorId) -> Option<String>,
) -> fmt::Result {
    for (id, tensor) in tensors {
        let role = role_text(tensor.role);
        let read = match tensor.view.as_ref().is_some_and(|view| view.format.map().is_some()) {
            true => "stored ",
            false if reads_unique(tensor) => "unique ",
            false => "",
        };
        write!(f, "{}: {} {} {read}{role}", tensor.name, tensor.dtype, tensor.format)?;
        if tensor.order() > 0 && tensor.dims.iter().all(Option::is_some) {
            let dims: Vec<String> = tensor.dims.iter().flatten().map(u64::to_string).collect();
            write!(f, " {}", dims.join("x"))?;
        }
        if let Some(fill) = tensor.fill.filter(|fill| !fill.is_zero()) {
            write!(f, " fill {fill}")?;
        }
        let said = tensor.structure.as_deref().and_then(|structure| structure.said(&tensor.name));
        match (behind(id), said) {
            (Some(behind), _) => write!(f, " {behind}")?,
            (None, Some(said)) => write!(f, " structure {said}")?,
            (None, None) => {}
        }
        writeln!(f)?;
    }
    Ok(())
}

/// True if loops read an element of a tensor for all that follow from it.
fn reads_unique(tensor: &Tensor) -> bool {
    let has_followers = |structure: &Structure| !structure.is_without_redundancy();
    tensor.is_unique && tensor.structure.as_deref().is_some_and(has_followers)
}

/// The term of a reduction as it is written: the variable that is reduced over tells the index that stands beside a value.
fn reduced(monoid: Monoid, term: &Expr) -> &Expr {
    term.as_at().filter(|_| monoid.compared().is_some()).map_or(term, |(value, _)| value)
}

/// The precedence of operators: comparisons 0, `+ -` 1, `* /` 2, negation 3.
fn precedence(expr: &Expr) -> u8 {
    match &expr.kind {
        ExprKind::Binary(function, ..) if function.is_comparison() => 0,
        ExprKind::Binary(BinaryFn::Add | BinaryFn::Sub, ..) => 1,
        ExprKind::Binary(BinaryFn::Mul | BinaryFn::Div, ..) => 2,
        ExprKind::Unary(UnaryFn::Neg, _) => 3,
        ExprKind::Literal(Literal::Int(value)) if *value < 0 => 3,
        ExprKind::Literal(Literal::Float(value)) if value.is_sign_negative() => 3,
        ExprKind::Literal(Literal::Fill(value)) if value.ty.is_complex() => 1,
        ExprKind::Literal(Literal::Fill(value)) if value.to_string().starts_with('-') => 3,
        _ => 4,
    }
}

// Writing to a `String` cannot fail, so the results of `write!` carry nothing.
impl Names<'_> {
    fn stmt(self, text: &mut String, provenance: &Provenance, stmt: &Stmt, depth: usize) {
        let indent = "  ".repeat(depth);
        match stmt {
            Stmt::Assign(assign) => {
                text.push_str(&indent);
                self.assign(text, &assign.lhs, assign.op, &assign.rhs);
                text.push('\n');
            }
            Stmt::Forall(var, body) => {
                let tags = provenance::tags(provenance, *var);
                let tags = if tags.is_empty() { tags } else { format!(" ({tags})") };
                let _ = writeln!(text, "{indent}forall {}{tags}", self.vars[*var].name);
                self.stmt(text, provenance, body, depth + 1);
            }
            Stmt::Where { consumer, producer } => {
                let _ = writeln!(text, "{indent}where");
                self.stmt(text, provenance, producer, depth + 1);
                let _ = writeln!(text, "{indent}do");
                self.stmt(text, provenance, consumer, depth + 1);
            }
            Stmt::Sequence(stmts) => {
                let _ = writeln!(text, "{indent}sequence");
                stmts.iter().for_each(|stmt| self.stmt(text, provenance, stmt, depth + 1));
            }
        }
    }

    fn inline(self, text: &mut String, provenance: &Provenance, stmt: &Stmt) {
        match stmt {
            Stmt::Assign(assign) => self.assign(text, &assign.lhs, assign.op, &assign.rhs),
            Stmt::Forall(var, body) => {
                let _ = write!(text, "forall({}, ", self.vars[*var].name);
                self.inline(text, provenance, body);
                let tags = provenance::tags(provenance, *var);
                if !tags.is_empty() {
                    let _ = write!(text, ", {tags}");
                }
                text.push(')');
            }
            Stmt::Where { consumer, producer } => {
                text.push_str("where(");
                self.inline(text, provenance, consumer);
                text.push_str(", ");
                self.inline(text, provenance, producer);
                text.push(')');
            }
            Stmt::Sequence(stmts) => {
                text.push_str("sequence(");
                for (place, stmt) in stmts.iter().enumerate() {
                    if place > 0 {
                        text.push_str(", ");
                    }
                    self.inline(text, provenance, stmt);
                }
                text.push(')');
            }
        }
    }

    /// An assignment rounds to a type for storage only by itself: the printed conversion would be one more.
    fn assign(self, text: &mut String, lhs: &Access, op: AssignOp, rhs: &Expr) {
        let rhs = match &rhs.kind {
            ExprKind::Cast(value) if rhs.dtype.is_storage() && rhs.dtype == self.tensors[lhs.tensor].dtype => value,
            _ => rhs,
        };
        let assigned = self.assigned(lhs, op, rhs);
        let (rhs, placed) = assigned.as_ref().map_or((rhs, self.placed), |(rest, placed)| (rest, placed.as_slice()));
        Names { placed, ..self }.access(text, lhs);
        let _ = write!(text, " {} ", op.monoid().map_or("=", Monoid::sign));
        let rhs = op.monoid().map_or(rhs, |monoid| reduced(monoid, rhs));
        self.expr(text, rhs, 0);
    }

    fn access(self, text: &mut String, access: &Access) {
        let tensor = &self.tensors[access.tensor];
        if let Some(indicator) = &tensor.indicator {
            if self.in_loops {
                text.push_str(&self.bracket_text(indicator, &access.vars));
                return;
            }
            return self.relation_of(text, indicator, &access.vars);
        }
        if tensor.role == Role::Index {
            // Behind a view, the variables are those of the stored dimensions.
            let seen = tensor.view.as_ref().and_then(|view| view.steps.first());
            let own = match seen {
                Some(ViewStep::First(own, _)) => Some(own),
                _ => access.vars.first(),
            };
            return text.push_str(own.map_or("?", |var| &self.vars[*var].name));
        }
        text.push_str(&tensor.name);
        if !access.vars.is_empty() {
            let vars: Vec<&str> = access.vars.iter().map(|&var| self.index(var)).collect();
            let _ = write!(text, "({})", vars.join(","));
        }
    }

    /// The relation that an indicator is: solved for its last variable, `(d == i + 1)`, or as a comparison, `(2 * i >= 3 * j)`.
    fn relation_of(self, text: &mut String, indicator: &Indicator, vars: &[VarId]) {
        let last = vars.last().map_or("", |var| self.vars[*var].name.as_str());
        let _ = match (self.index_text(indicator, vars), indicator) {
            (Some(index), _) => write!(text, "({last} == {index})"),
            (None, Indicator::Equation(equation)) => {
                write!(text, "({})", self.comparison_text(equation, "==", vars))
            }
            (None, Indicator::Inequality(inequality)) => {
                write!(text, "({})", self.comparison_text(&inequality.border, ">=", vars))
            }
            (None, Indicator::Gather(_)) => Ok(()),
        };
    }

    fn expr(self, text: &mut String, expr: &Expr, outer: u8) {
        if let Some((access, placed)) = self.element(expr) {
            return Names { placed: &placed, ..self }.access(text, access);
        }
        let own = precedence(expr);
        if own < outer {
            text.push('(');
        }
        match &expr.kind {
            ExprKind::Literal(Literal::Bool(value)) => {
                let _ = write!(text, "{value}");
            }
            ExprKind::Literal(Literal::Int(value)) => {
                let _ = write!(text, "{value}");
            }
            ExprKind::Literal(Literal::Float(value)) => {
                let _ = write!(text, "{value:?}");
            }
            ExprKind::Literal(Literal::Absent) if expr.dtype == DType::Bool => text.push_str("false"),
            ExprKind::Literal(Literal::Absent) => text.push('0'),
            ExprKind::Literal(Literal::Fill(value)) => {
                let number = value.to_string();
                // A whole number is a real one by its fraction.
                let is_open = value.ty.is_real() && number.chars().all(|c| c.is_ascii_digit() || c == '-');
                let _ = write!(text, "{number}{}", if is_open { ".0" } else { "" });
            }
            ExprKind::Access(access) => self.access(text, access),
            ExprKind::Unary(UnaryFn::Neg, a) => {
                text.push('-');
                self.expr(text, a, 4);
            }
            ExprKind::Unary(function, a) => self.call(text, Function::Unary(*function).name(), &[a]),
            ExprKind::Binary(function, a, b) => match function.symbol() {
                Some(symbol) => {
                    // Comparisons of comparisons are in parentheses on both sides.
                    self.expr(text, a, own.max(1));
                    let _ = write!(text, " {symbol} ");
                    self.expr(text, b, own + 1);
                }
                None => self.call(text, Function::Binary(*function).name(), &[a, b]),
            },
            ExprKind::Select(operands) => {
                let [condition, a, b] = &**operands;
                // A reader would give two numbers their default type. A conversion of the first keeps the type that they have.
                let is_other = type_of_numbers(a, b).is_some_and(|dtype| dtype != expr.dtype);
                let (dtype, span) = (expr.dtype, expr.span);
                let converted = is_other.then(|| Expr { kind: ExprKind::Cast(Box::new(a.clone())), dtype, span });
                self.call(text, Function::Select.name(), &[condition, converted.as_ref().unwrap_or(a), b]);
            }
            ExprKind::Apply(operator, operands) => {
                self.call(text, operator.name(), &operands.iter().collect::<Vec<_>>());
            }
            ExprKind::Cast(a) => self.call(text, expr.dtype.name(), &[a]),
            ExprKind::Reduce(monoid, vars, a) => {
                let _ = write!(text, "{}(", monoid.name());
                for &var in vars {
                    let _ = write!(text, "{}, ", self.vars[var].name);
                }
                self.expr(text, reduced(*monoid, a), 0);
                text.push(')');
            }
        }
        if own < outer {
            text.push(')');
        }
    }

    fn call(self, text: &mut String, name: &str, args: &[&Expr]) {
        let _ = write!(text, "{name}(");
        for (place, arg) in args.iter().enumerate() {
            if place > 0 {
                text.push_str(", ");
            }
            self.expr(text, arg, 0);
        }
        text.push(')');
    }
}

/// The type that the reader gives to the branches of `select(c, a, b)`; `None` unless both are numbers without a type in the text.
fn type_of_numbers(a: &Expr, b: &Expr) -> Option<DType> {
    let alone = |expr: &Expr| match &expr.kind {
        ExprKind::Literal(Literal::Int(_) | Literal::Absent) if expr.dtype != DType::Bool => Some(DType::I64),
        ExprKind::Literal(Literal::Float(_)) => Some(DType::F64),
        ExprKind::Literal(Literal::Fill(value)) if value.ty.is_integer() => Some(DType::I64),
        ExprKind::Literal(Literal::Fill(value)) if value.ty.is_real() => Some(DType::F64),
        _ => None,
    };
    let (a, b) = (alone(a)?, alone(b)?);
    Some(if a == DType::F64 { a } else { b })
}

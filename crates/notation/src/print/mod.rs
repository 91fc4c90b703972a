//! Printers: index notation, concrete notation and schedules as text.
//!
//! The text of a statement of index notation, or of a schedule, is one that `front` reads back to the same. Concrete notation that
//! a schedule has transformed shows the tags of loops, and the relations of their variables, as Senanayake et al. 2020 do:
//!
//! ```text
//! suchthat(forall(i0, forall(i1, forall(j, y(i) += A(i,j) * x(j))), cpu, none), split(i, i0, i1, 32))
//! ```

mod provenance;
mod schedule;

use std::fmt::{self, Display, Write};

use lacunar_base::Arena;

use crate::concrete::{Kernel, Stmt};
use crate::index::{Access, AssignOp, Assignment, Expr, ExprKind, IndexVar, Literal, Program, Role, Tensor};
use crate::monoid::Monoid;
use crate::ops::{BinaryFn, Function, UnaryFn};
use crate::provenance::Provenance;
pub use provenance::{Node, ProvenanceGraph, Step};

/// Names for printing: the tensors and variables of a program or a kernel.
#[derive(Clone, Copy)]
struct Names<'a> {
    tensors: &'a Arena<Tensor>,
    vars: &'a Arena<IndexVar>,
}

/// Statements one a line, then a line for each tensor: `A: f64 csr input 5x7`.
impl Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for statement in &self.statements {
            writeln!(f, "{}", self.statement_text(statement))?;
        }
        write_tensors(f, &self.tensors)
    }
}

impl Program {
    /// One statement as text. An assignment rounds to a type for storage only by itself: the printed conversion would be one more.
    pub fn statement_text(&self, statement: &Assignment) -> String {
        let names = Names { tensors: &self.tensors, vars: &self.vars };
        let Assignment { lhs, op, rhs, .. } = statement;
        let assigned = match &rhs.kind {
            ExprKind::Cast(value) if rhs.dtype.is_storage() && rhs.dtype == self.tensors[lhs.tensor].dtype => value,
            _ => rhs,
        };
        let mut text = String::new();
        names.assign(&mut text, lhs, *op, assigned);
        text
    }

    /// An expression of the program as text.
    pub fn expr_text(&self, expr: &Expr) -> String {
        let mut text = String::new();
        Names { tensors: &self.tensors, vars: &self.vars }.expr(&mut text, expr, 0);
        text
    }
}

/// The statement indented, the relations of its variables, then a line for each tensor.
impl Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Names { tensors: &self.tensors, vars: &self.vars };
        let mut text = String::new();
        names.stmt(&mut text, &self.provenance, &self.stmt, 0);
        f.write_str(&text)?;
        for (place, relation) in self.provenance.relations.iter().enumerate() {
            let word = if place == 0 { "such that" } else { "and" };
            writeln!(f, "{word} {}", names.relation(relation))?;
        }
        write_tensors(f, &self.tensors)
    }
}

impl Kernel {
    /// The statement on one line: `forall(i, forall(j, y(i) += A(i,j) * x(j)))`. With it, in `suchthat`, the relations of its
    /// variables whose loops are all in the statement.
    pub fn stmt_text(&self) -> String {
        let names = Names { tensors: &self.tensors, vars: &self.vars };
        let mut text = String::new();
        names.inline(&mut text, &self.provenance, &self.stmt);
        let relations = provenance::closed(&self.provenance, &self.stmt);
        if relations.is_empty() {
            return text;
        }
        let relations: Vec<String> = relations.into_iter().map(|relation| names.relation(relation)).collect();
        format!("suchthat({text}, {})", relations.join(" and "))
    }

    /// An access of the kernel as text.
    pub fn access_text(&self, access: &Access) -> String {
        let mut text = String::new();
        Names { tensors: &self.tensors, vars: &self.vars }.access(&mut text, access);
        text
    }

    /// An expression of the kernel as text.
    pub fn expr_text(&self, expr: &Expr) -> String {
        let mut text = String::new();
        Names { tensors: &self.tensors, vars: &self.vars }.expr(&mut text, expr, 0);
        text
    }
}

fn write_tensors(f: &mut fmt::Formatter<'_>, tensors: &Arena<Tensor>) -> fmt::Result {
    for (_, tensor) in tensors.iter() {
        let role = match tensor.role {
            Role::Input => "input".to_string(),
            Role::Result => "result".to_string(),
            Role::Workspace(kind) => format!("{} workspace", kind.name()),
        };
        write!(f, "{}: {} {} {role}", tensor.name, tensor.dtype, tensor.format)?;
        if tensor.order() > 0 && tensor.dims.iter().all(Option::is_some) {
            let dims: Vec<String> = tensor.dims.iter().flatten().map(u64::to_string).collect();
            write!(f, " {}", dims.join("x"))?;
        }
        if let Some(fill) = tensor.fill.filter(|fill| !fill.is_zero()) {
            write!(f, " fill {fill}")?;
        }
        writeln!(f)?;
    }
    Ok(())
}

/// How tightly operators bind: `+ -` 1, `* /` 2, negation 3.
fn precedence(expr: &Expr) -> u8 {
    match &expr.kind {
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
            Stmt::Sequence(stmts) => stmts.iter().for_each(|stmt| self.stmt(text, provenance, stmt, depth)),
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

    fn assign(self, text: &mut String, lhs: &Access, op: AssignOp, rhs: &Expr) {
        self.access(text, lhs);
        let _ = write!(text, " {} ", op.monoid().map_or("=", Monoid::sign));
        self.expr(text, rhs, 0);
    }

    fn access(self, text: &mut String, access: &Access) {
        text.push_str(&self.tensors[access.tensor].name);
        if !access.vars.is_empty() {
            let vars: Vec<&str> = access.vars.iter().map(|&var| self.vars[var].name.as_str()).collect();
            let _ = write!(text, "({})", vars.join(","));
        }
    }

    fn expr(self, text: &mut String, expr: &Expr, outer: u8) {
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
            ExprKind::Literal(Literal::Absent) => text.push('0'),
            ExprKind::Literal(Literal::Fill(value)) => {
                let _ = write!(text, "{value}");
            }
            ExprKind::Access(access) => self.access(text, access),
            ExprKind::Unary(UnaryFn::Neg, a) => {
                text.push('-');
                self.expr(text, a, 4);
            }
            ExprKind::Unary(function, a) => self.call(text, Function::Unary(*function).name(), &[a]),
            ExprKind::Binary(function, a, b) => match function.symbol() {
                Some(symbol) => {
                    self.expr(text, a, own);
                    let _ = write!(text, " {symbol} ");
                    self.expr(text, b, own + 1);
                }
                None => self.call(text, Function::Binary(*function).name(), &[a, b]),
            },
            ExprKind::Cast(a) => self.call(text, expr.dtype.name(), &[a]),
            ExprKind::Reduce(monoid, vars, a) => {
                let _ = write!(text, "{}(", monoid.name());
                for &var in vars {
                    let _ = write!(text, "{}, ", self.vars[var].name);
                }
                self.expr(text, a, 0);
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

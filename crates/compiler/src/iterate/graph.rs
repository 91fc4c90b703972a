//! Pictures of a kernel's iteration: the iteration graph in Graphviz's language, and its merge lattices as text.
//!
//! The iteration graph has a node for every loop variable and, for every tensor, a path through the variables in the order
//! of its levels: an edge of the path says that one level is stored inside the other (Kjolstad et al. 2017, §4.2).
//!
//! ```text
//! digraph iteration { root -> i -> j }     A: csr, solid where the level is iterated, dashed where it is located
//! ```

use std::fmt::Write;

use lacunar_notation::concrete::{Kernel, Stmt};
use lacunar_notation::{Access, Role};

use super::iterators::{AccessKey, Mode};
use super::lattice::{Lattice, Point};

// Writing to a `String` cannot fail, so the results of `write!` carry nothing.

/// The iteration graph as Graphviz text.
pub fn dot(kernel: &Kernel) -> String {
    let mut text =
        String::from("digraph iteration {\n  rankdir=TB;\n  node [shape=circle, fontname=\"sans-serif\"];\n");
    text.push_str("  root [shape=point];\n");
    let mut order = Vec::new();
    loops(&kernel.stmt, &mut order);
    for var in &order {
        let name = &kernel.vars[*var].name;
        let _ = writeln!(text, "  \"{name}\" [label=\"{name}\"];");
    }
    let mut seen: Vec<AccessKey> = Vec::new();
    let mut path = |access: &Access, written: bool| {
        let key = AccessKey::from(access);
        if seen.contains(&key) {
            return;
        }
        seen.push(key);
        let tensor = &kernel.tensors[access.tensor];
        let color = match tensor.role {
            _ if written => "#c44e52",
            Role::Workspace(_) => "#8172b2",
            _ => "#4c72b0",
        };
        let mut from = "root".to_string();
        for (level, (kind, &mode)) in tensor.format.levels().iter().zip(tensor.format.mode_order()).enumerate() {
            let to = &kernel.vars[access.vars[mode]].name;
            let style = if kind.properties().full { "dashed" } else { "solid" };
            let _ = writeln!(
                text,
                "  \"{from}\" -> \"{to}\" [label=\"{}{}\", style={style}, color=\"{color}\", fontcolor=\"{color}\"];",
                tensor.name,
                level + 1
            );
            from = to.clone();
        }
    };
    kernel.stmt.visit_assigns(&mut |assign| {
        path(&assign.lhs, true);
        assign.rhs.accesses().into_iter().for_each(|access| path(access, false));
    });
    text.push_str("}\n");
    text
}

fn loops(stmt: &Stmt, order: &mut Vec<lacunar_notation::VarId>) {
    match stmt {
        Stmt::Assign(_) => {}
        Stmt::Forall(var, body) => {
            if !order.contains(var) {
                order.push(*var);
            }
            loops(body, order);
        }
        Stmt::Where { consumer, producer } => {
            loops(producer, order);
            loops(consumer, order);
        }
        Stmt::Sequence(stmts) => stmts.iter().for_each(|stmt| loops(stmt, order)),
    }
}

/// The merge lattice of every loop, from the outermost: its iterators, and the points with what is computed there.
pub fn lattices(kernel: &Kernel) -> String {
    let mut text = String::new();
    write_lattices(kernel, &kernel.stmt, 0, &mut text);
    text
}

fn write_lattices(kernel: &Kernel, stmt: &Stmt, depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth);
    match stmt {
        Stmt::Assign(_) => {}
        Stmt::Forall(var, body) => {
            let _ = writeln!(text, "{indent}forall {}", kernel.vars[*var].name);
            if let Ok(lattice) = Lattice::build(kernel, body, *var) {
                for &point in &lattice.points {
                    let _ = writeln!(text, "{indent}  {}", point_text(kernel, &lattice, body, point));
                }
            }
            write_lattices(kernel, body, depth + 1, text);
        }
        Stmt::Where { consumer, producer } => {
            write_lattices(kernel, producer, depth, text);
            write_lattices(kernel, consumer, depth, text);
        }
        Stmt::Sequence(stmts) => stmts.iter().for_each(|stmt| write_lattices(kernel, stmt, depth, text)),
    }
}

fn point_text(kernel: &Kernel, lattice: &Lattice, body: &Stmt, point: Point) -> String {
    let members: Vec<String> = point
        .members()
        .filter_map(|k| lattice.iterators.get(k))
        .map(|iterator| {
            let mark = if iterator.mode == Mode::Search { "?" } else { "" };
            format!("{}{}{mark}", kernel.tensors[iterator.access.tensor].name, iterator.level + 1)
        })
        .collect();
    let rest = lattice.residual(body, point);
    let rest = rest.map(|stmt| Kernel { stmt, ..kernel.clone() }.stmt_text()).unwrap_or_default();
    let members = if members.is_empty() { "every coordinate".to_string() } else { members.join(", ") };
    format!("{{ {members} }}  {rest}")
}

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
use super::position_space::original_loops;

// Writing to a `String` cannot fail, so the results of `write!` carry nothing.

/// The loops of a kernel and how the levels of its tensors nest in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IterationGraph {
    /// The names of the loop variables, from the outermost.
    pub nodes: Vec<String>,
    /// The levels of the tensors: those of one access follow each other, from its first level.
    pub edges: Vec<Edge>,
}

/// One level of one access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The name of the tensor.
    pub tensor: String,
    /// The number of the level, from 1.
    pub level: usize,
    /// The node of the level around this one; `None` is the root.
    pub from: Option<usize>,
    /// The node of the level's variable.
    pub to: usize,
    /// True if every coordinate of the level is stored, so that it can be located instead of iterated.
    pub full: bool,
    /// The part of the tensor in the kernel.
    pub part: Part,
}

/// The part that a tensor has in a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// It is read.
    Operand,
    /// It is written.
    Result,
    /// It lives inside the kernel and is read here.
    Workspace,
}

impl Part {
    /// The color its paths are drawn in, as `#rrggbb`.
    pub const fn color(self) -> &'static str {
        match self {
            Part::Operand => "#4c72b0",
            Part::Result => "#c44e52",
            Part::Workspace => "#8172b2",
        }
    }
}

impl IterationGraph {
    /// The graph as Graphviz text.
    pub fn dot(&self) -> String {
        let mut text =
            String::from("digraph iteration {\n  rankdir=TB;\n  node [shape=circle, fontname=\"sans-serif\"];\n");
        text.push_str("  root [shape=point];\n");
        for name in &self.nodes {
            let _ = writeln!(text, "  \"{name}\" [label=\"{name}\"];");
        }
        let name = |node: usize| self.nodes.get(node).map_or("", String::as_str);
        for Edge { tensor, level, from, to, full, part } in &self.edges {
            let (from, to) = (from.map_or("root", name), name(*to));
            let style = if *full { "dashed" } else { "solid" };
            let color = part.color();
            let _ = writeln!(
                text,
                "  \"{from}\" -> \"{to}\" [label=\"{tensor}{level}\", style={style}, \
                 color=\"{color}\", fontcolor=\"{color}\"];"
            );
        }
        text.push_str("}\n");
        text
    }
}

/// The iteration graph of a kernel.
pub fn graph(kernel: &Kernel) -> IterationGraph {
    let mut order = Vec::new();
    loops(&original_loops(kernel, &kernel.stmt), &mut order);
    let mut edges = Vec::new();
    let mut seen: Vec<AccessKey> = Vec::new();
    let mut path = |access: &Access, written: bool| {
        let key = AccessKey::from(access);
        if seen.contains(&key) {
            return;
        }
        seen.push(key);
        let tensor = &kernel.tensors[access.tensor];
        let part = match tensor.role {
            _ if written => Part::Result,
            Role::Workspace(_) => Part::Workspace,
            _ => Part::Operand,
        };
        let mut from = None;
        for (level, (kind, &mode)) in tensor.format.levels().iter().zip(tensor.format.mode_order()).enumerate() {
            let var = access.vars[mode];
            let to = order.iter().position(|&other| other == var).unwrap_or_else(|| {
                order.push(var);
                order.len() - 1
            });
            let (name, full) = (tensor.name.clone(), kind.properties().full);
            edges.push(Edge { tensor: name, level: level + 1, from, to, full, part });
            from = Some(to);
        }
    };
    kernel.stmt.visit_assigns(&mut |assign| {
        path(&assign.lhs, true);
        assign.rhs.accesses().into_iter().for_each(|access| path(access, false));
    });
    IterationGraph { nodes: order.iter().map(|&var| kernel.vars[var].name.clone()).collect(), edges }
}

/// The iteration graph of a kernel as Graphviz text.
pub fn dot(kernel: &Kernel) -> String {
    graph(kernel).dot()
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

/// The merge lattice of every loop, from the outermost: its iterators, and the points with the computation at each.
pub fn lattices(kernel: &Kernel) -> String {
    let mut text = String::new();
    write_lattices(kernel, &original_loops(kernel, &kernel.stmt), 0, &mut text);
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
                if lattice.is_coarse {
                    let _ = writeln!(text, "{indent}  and points in between");
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
    let rest = lattice.residual(kernel, body, point);
    let rest = rest.map(|stmt| Kernel { stmt, ..kernel.clone() }.stmt_text()).unwrap_or_default();
    let members = if members.is_empty() { "every coordinate".to_string() } else { members.join(", ") };
    format!("{{ {members} }}  {rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dot_names_the_ends_of_every_level() {
        let edge = |level, from, to, full| Edge { tensor: "A".to_string(), level, from, to, full, part: Part::Result };
        let edges = vec![edge(1, None, 0, true), edge(2, Some(0), 1, false)];
        let text = IterationGraph { nodes: vec!["i".to_string(), "j".to_string()], edges }.dot();
        let paint = "color=\"#c44e52\", fontcolor=\"#c44e52\"";
        assert!(text.contains(&format!("\"root\" -> \"i\" [label=\"A1\", style=dashed, {paint}];\n")), "{text}");
        assert!(text.contains(&format!("\"i\" -> \"j\" [label=\"A2\", style=solid, {paint}];\n")), "{text}");
    }
}

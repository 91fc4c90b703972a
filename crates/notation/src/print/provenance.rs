//! Provenance as text: the relations of a kernel (`split(i, i0, i1, 32)`), and as a graph in Graphviz's language.
//!
//! ```text
//! i --split 32--> i0      i: framed, for it is a variable of the statement
//!   --split 32--> i1      i0, i1: doubled, for they have loops
//! ```

use std::fmt::Write;

use super::Names;
use crate::concrete::{Kernel, Stmt};
use crate::index::{Access, VarId};
use crate::provenance::{Provenance, Relation, Tag};

/// The derivations of a kernel's variables from each other, with names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProvenanceGraph {
    /// The variables, before those that derive from them.
    pub nodes: Vec<Node>,
    /// The relations, in the order in which they were made.
    pub steps: Vec<Step>,
}

/// A variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// True if it is a variable of the statement.
    pub is_original: bool,
    /// True if it has a loop.
    pub is_leaf: bool,
    /// The tags of its loop: `cpu, none`.
    pub tags: String,
}

/// One or two variables become one or two others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The relation: `split 32`.
    pub label: String,
    /// The nodes of the variables.
    pub parents: Vec<usize>,
    /// The nodes of the variables that they become.
    pub children: Vec<usize>,
}

impl ProvenanceGraph {
    /// The graph as Graphviz text.
    pub fn dot(&self) -> String {
        let mut text =
            String::from("digraph provenance {\n  rankdir=TB;\n  node [shape=ellipse, fontname=\"sans-serif\"];\n");
        // Writing to a `String` cannot fail, so the results of `write!` carry nothing.
        for Node { name, is_original, is_leaf, tags } in &self.nodes {
            let shape = if *is_original { ", shape=box" } else { "" };
            let rings = if *is_leaf { ", peripheries=2" } else { "" };
            let label = if tags.is_empty() { name.clone() } else { format!("{name}\\n{tags}") };
            let _ = writeln!(text, "  \"{name}\" [label=\"{label}\"{shape}{rings}];");
        }
        let name = |node: usize| self.nodes.get(node).map_or("", |node| node.name.as_str());
        for Step { label, parents, children } in &self.steps {
            for (from, to) in parents.iter().flat_map(|from| children.iter().map(move |to| (from, to))) {
                let _ = writeln!(text, "  \"{}\" -> \"{}\" [label=\"{label}\"];", name(*from), name(*to));
            }
        }
        text.push_str("}\n");
        text
    }
}

impl Kernel {
    /// The derivations of the kernel's variables from each other.
    pub fn provenance_graph(&self) -> ProvenanceGraph {
        let mut vars = originals(&self.stmt, &self.provenance);
        for child in self.provenance.relations.iter().flat_map(Relation::children) {
            if !vars.contains(&child) {
                vars.push(child);
            }
        }
        let loops = loops(&self.stmt);
        let names = Names::new(&self.tensors, &self.vars);
        let node = |&var: &VarId| Node {
            name: self.vars[var].name.clone(),
            is_original: self.provenance.origin(var).is_none(),
            is_leaf: loops.contains(&var),
            tags: tags(&self.provenance, var),
        };
        let places = |of: Vec<VarId>| -> Vec<usize> {
            of.into_iter().filter_map(|var| vars.iter().position(|other| *other == var)).collect()
        };
        let step = |relation: &Relation| Step {
            label: names.label(relation),
            parents: places(relation.parents()),
            children: places(relation.children()),
        };
        let steps = self.provenance.relations.iter().map(step).collect();
        ProvenanceGraph { nodes: vars.iter().map(node).collect(), steps }
    }
}

/// The variables of the statement: those that have loops, or that others derive from.
fn originals(stmt: &Stmt, provenance: &Provenance) -> Vec<VarId> {
    let mut found = Vec::new();
    let leaves = loops(stmt).into_iter();
    for var in leaves.chain(provenance.relations.iter().flat_map(Relation::parents)) {
        for original in provenance.originals(var) {
            if !found.contains(&original) {
                found.push(original);
            }
        }
    }
    found
}

/// The variables of the loops, from the outermost.
pub(super) fn loops(stmt: &Stmt) -> Vec<VarId> {
    match stmt {
        Stmt::Assign(_) => Vec::new(),
        Stmt::Forall(var, body) => [vec![*var], loops(body)].concat(),
        Stmt::Where { consumer, producer } => [loops(producer), loops(consumer)].concat(),
        Stmt::Sequence(stmts) => stmts.iter().flat_map(loops).collect(),
    }
}

/// The tags of the loop over a variable: `cpu, none, unroll 4`.
pub(super) fn tags(provenance: &Provenance, var: VarId) -> String {
    let words = provenance.tags(var).map(|tag| match tag {
        Tag::Parallel(unit, race) => format!("{}, {}", unit.name(), race.name()),
        Tag::Unroll(0) => "unroll".to_string(),
        Tag::Unroll(times) => format!("unroll {times}"),
        Tag::Merge(merge) => merge.name().to_string(),
    });
    words.collect::<Vec<_>>().join(", ")
}

/// The relations that a statement alone makes good: all variables that they made have values inside of it.
pub(super) fn closed<'a>(provenance: &'a Provenance, stmt: &Stmt) -> Vec<&'a Relation> {
    let bound = loops(stmt);
    let known = |relation: &&Relation| relation.children().into_iter().all(|child| provenance.is_known(child, &bound));
    provenance.relations.iter().filter(known).collect()
}

impl Names<'_> {
    /// A relation as a schedule writes it: `split(i, i0, i1, 32)`.
    pub(super) fn relation(self, relation: &Relation) -> String {
        let vars = [relation.parents(), relation.children()].concat();
        let mut arguments: Vec<String> = vars.iter().map(|&var| self.vars[var].name.clone()).collect();
        arguments.extend(self.parameters(relation));
        format!("{}({})", relation.name(), arguments.join(", "))
    }

    /// A relation as the label of an edge: `split 32`.
    fn label(self, relation: &Relation) -> String {
        let words = std::iter::once(relation.name().to_string()).chain(self.parameters(relation));
        words.collect::<Vec<_>>().join(" ")
    }

    /// The parameters of a relation besides its variables.
    fn parameters(self, relation: &Relation) -> Vec<String> {
        let text = |access: &Access| {
            let mut text = String::new();
            self.access(&mut text, access);
            text
        };
        match relation {
            Relation::Split { size, .. } => vec![size.to_string()],
            Relation::Divide { parts, .. } => vec![parts.to_string()],
            Relation::Pos { access, .. } => vec![text(access)],
            Relation::Bound { size, kind, .. } => vec![size.to_string(), kind.name().to_string()],
            Relation::Fuse { .. } | Relation::Coord { .. } | Relation::Rename { .. } => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use lacunar_base::{Arena, Span};
    use lacunar_formats::{DType, Format};

    use crate::concrete::{Assign, Kernel, Stmt};
    use crate::index::{Access, AssignOp, Expr, ExprKind, IndexVar, Role, Tensor, VarId};
    use crate::provenance::{Provenance, Relation, Tag};
    use crate::schedule::{Race, Unit};

    /// `y(i) = x(i)` with `i` split into `i0` and `i1`, which is the outer loop.
    fn split() -> Kernel {
        let mut vars = Arena::new();
        let [i, i0, i1]: [VarId; 3] =
            ["i", "i0", "i1"].map(|name| vars.push(IndexVar { name: name.to_string(), size: None, span: Span::NONE }));
        let mut tensors = Arena::new();
        let [y, x] = [("y", Role::Result), ("x", Role::Input)].map(|(name, role)| {
            let (name, format) = (name.to_string(), Format::dense(1));
            tensors.push(Tensor {
                name,
                format,
                dtype: DType::F64,
                dims: vec![None],
                role,
                nnz: None,
                heaviest: None,
                steady: None,
                scattered: None,
                view: None,
                indicator: None,
                structure: None,
                is_unique: false,
                fill: None,
                span: Span::NONE,
            })
        });
        let access = |tensor| Access { tensor, vars: vec![i], span: Span::NONE };
        let rhs = Expr::new(ExprKind::Access(access(x)), DType::F64);
        let body = Stmt::Assign(Assign { lhs: access(y), op: AssignOp::Set, rhs });
        let provenance = Provenance {
            relations: vec![Relation::Split { parent: i, outer: i0, inner: i1, size: 8 }],
            tags: vec![(i1, Tag::Parallel(Unit::CpuThread, Race::None)), (i0, Tag::Unroll(4))],
            stored: Vec::new(),
        };
        Kernel { tensors, vars, stmt: Stmt::foralls(&[i1, i0], body), updates: false, provenance, ..Kernel::default() }
    }

    #[test]
    fn relations_follow_the_statement() {
        let kernel = split();
        let loops = "forall(i1, forall(i0, y(i) = x(i), unroll 4), cpu, none)";
        assert_eq!(kernel.stmt_text(), format!("suchthat({loops}, split(i, i0, i1, 8))"));
        let text = "forall i1 (cpu, none)\n  forall i0 (unroll 4)\n    y(i) = x(i)\nsuch that split(i, i0, i1, 8)\ny: ";
        assert!(kernel.to_string().starts_with(text), "{kernel}");
        // A part in which one of the loops is missing does not make the relation good.
        let Stmt::Forall(_, body) = kernel.stmt.clone() else { panic!("no loop") };
        assert_eq!(Kernel { stmt: *body, ..kernel }.stmt_text(), "forall(i0, y(i) = x(i), unroll 4)");
    }

    #[test]
    fn the_graph_frames_what_is_of_the_statement_and_doubles_what_has_loops() {
        let dot = split().provenance_graph().dot();
        for line in [
            "  \"i\" [label=\"i\", shape=box];\n",
            "  \"i0\" [label=\"i0\\nunroll 4\", peripheries=2];\n",
            "  \"i1\" [label=\"i1\\ncpu, none\", peripheries=2];\n",
            "  \"i\" -> \"i0\" [label=\"split 8\"];\n  \"i\" -> \"i1\" [label=\"split 8\"];\n",
        ] {
            assert!(dot.contains(line), "{line}{dot}");
        }
    }
}

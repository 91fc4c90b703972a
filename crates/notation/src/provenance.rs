//! The provenance graph: the derivations of the loops' variables from those of the statement.
//!
//! Accesses keep the variables of the statement (*original* ones, `A(i,j)`); loops are over *derived* ones. Each
//! relation makes one or two new variables of one or two old ones:
//!
//! ```text
//! i --split 32--> i0, i1         i = 32 i0 + i1         loops over i0 and i1 instead of i
//! i, j --fuse--> f               f = i |j| + j
//! f --pos A(i,j)--> fp           fp: a position of the level of A that stores j, which knows both i and j
//! ```
//!
//! A variable without relations below it is a *leaf*: it has a loop. The relations tell the coordinate of `i` once all leaves of
//! `i` have values, and the range of a leaf (`compiler/src/lower/derive.rs`).
//!
//! Paper: Senanayake et al. 2020, §4.2 (provenance graph) and §6.2.

use crate::index::{Access, TensorId, VarId};
use crate::schedule::{BoundKind, Merge, Parts, Race, Unit};

/// The derivations of a kernel's variables from each other, and the tags of its loops.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Provenance {
    /// The relations, in the order in which they were made.
    pub relations: Vec<Relation>,
    /// The tags of loops.
    pub tags: Vec<(VarId, Tag)>,
    /// The workspaces whose kind of storage is said.
    pub stored: Vec<TensorId>,
}

/// An edge (or pair of edges) of the graph.
#[derive(Clone, Debug, PartialEq)]
pub enum Relation {
    /// `parent = first + size * outer + inner`, with `inner < size`, where `first` is the first value of `parent`.
    Split {
        /// The variable that was split.
        parent: VarId,
        /// Over the strips.
        outer: VarId,
        /// Inside a strip.
        inner: VarId,
        /// Iterations of a strip.
        size: u64,
    },
    /// Splits like [`Relation::Split`], by the size that gives so many strips.
    Divide {
        /// The variable that was divided.
        parent: VarId,
        /// Over the strips.
        outer: VarId,
        /// Inside a strip.
        inner: VarId,
        /// The number of strips.
        parts: Parts,
    },
    /// All pairs in lexicographic order.
    Fuse {
        /// The first of the pair.
        outer: VarId,
        /// The second.
        inner: VarId,
        /// The pair.
        fused: VarId,
    },
    /// The positions of the level that stores a coordinate variable (of a fused one, its last).
    Pos {
        /// The coordinate variable.
        coordinate: VarId,
        /// The position variable.
        position: VarId,
        /// The tensor.
        access: Access,
    },
    /// The coordinates that a range of positions holds.
    Coord {
        /// The position variable.
        position: VarId,
        /// The coordinate variable.
        coordinate: VarId,
    },
    /// The same values, with a promise about them.
    Bound {
        /// The variable.
        parent: VarId,
        /// Its new name.
        bounded: VarId,
        /// The promised number.
        size: u64,
        /// The kind of promise.
        kind: BoundKind,
    },
    /// The same values: the name of a variable in the loops that fill a workspace.
    Rename {
        /// The variable.
        parent: VarId,
        /// Its name there.
        copy: VarId,
    },
}

/// A tag that a schedule gives a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// It is shared out.
    Parallel(Unit, Race),
    /// It is unrolled.
    Unroll(u32),
    /// The way to merge its operands.
    Merge(Merge),
}

impl Relation {
    /// The variables it was made of.
    pub fn parents(&self) -> Vec<VarId> {
        match *self {
            Relation::Split { parent, .. }
            | Relation::Divide { parent, .. }
            | Relation::Bound { parent, .. }
            | Relation::Rename { parent, .. } => vec![parent],
            Relation::Fuse { outer, inner, .. } => vec![outer, inner],
            Relation::Pos { coordinate, .. } => vec![coordinate],
            Relation::Coord { position, .. } => vec![position],
        }
    }

    /// The variables that it made.
    pub fn children(&self) -> Vec<VarId> {
        match *self {
            Relation::Split { outer, inner, .. } | Relation::Divide { outer, inner, .. } => vec![outer, inner],
            Relation::Fuse { fused, .. } => vec![fused],
            Relation::Pos { position, .. } => vec![position],
            Relation::Coord { coordinate, .. } => vec![coordinate],
            Relation::Bound { bounded, .. } => vec![bounded],
            Relation::Rename { copy, .. } => vec![copy],
        }
    }

    /// The relation between other variables: those that `of` gives for its own.
    pub fn map(&self, of: impl Fn(VarId) -> VarId) -> Relation {
        match self.clone() {
            Relation::Split { parent, outer, inner, size } => {
                Relation::Split { parent: of(parent), outer: of(outer), inner: of(inner), size }
            }
            Relation::Divide { parent, outer, inner, parts } => {
                Relation::Divide { parent: of(parent), outer: of(outer), inner: of(inner), parts }
            }
            Relation::Fuse { outer, inner, fused } => {
                Relation::Fuse { outer: of(outer), inner: of(inner), fused: of(fused) }
            }
            Relation::Pos { coordinate, position, mut access } => {
                access.vars.iter_mut().for_each(|var| *var = of(*var));
                Relation::Pos { coordinate: of(coordinate), position: of(position), access }
            }
            Relation::Coord { position, coordinate } => {
                Relation::Coord { position: of(position), coordinate: of(coordinate) }
            }
            Relation::Bound { parent, bounded, size, kind } => {
                Relation::Bound { parent: of(parent), bounded: of(bounded), size, kind }
            }
            Relation::Rename { parent, copy } => Relation::Rename { parent: of(parent), copy: of(copy) },
        }
    }

    /// Its name in a schedule.
    pub const fn name(&self) -> &'static str {
        match self {
            Relation::Split { .. } => "split",
            Relation::Divide { .. } => "divide",
            Relation::Fuse { .. } => "fuse",
            Relation::Pos { .. } => "pos",
            Relation::Coord { .. } => "coord",
            Relation::Bound { .. } => "bound",
            Relation::Rename { .. } => "rename",
        }
    }
}

impl Provenance {
    /// The relation that made a variable; `None` for an original one.
    pub fn origin(&self, var: VarId) -> Option<&Relation> {
        self.relations.iter().find(|relation| relation.children().contains(&var))
    }

    /// The relations that a variable was replaced by. A variable has one, but for names it has in several workspaces.
    pub fn uses(&self, var: VarId) -> impl Iterator<Item = &Relation> {
        self.relations.iter().filter(move |relation| relation.parents().contains(&var))
    }

    /// The variables of accesses that a variable derives from, in order: original ones, and names in a workspace's loops.
    pub fn originals(&self, var: VarId) -> Vec<VarId> {
        match self.origin(var) {
            None | Some(Relation::Rename { .. }) => vec![var],
            Some(relation) => relation.parents().into_iter().flat_map(|parent| self.originals(parent)).collect(),
        }
    }

    /// A variable and all that it derives from, names included.
    pub fn ancestors(&self, var: VarId) -> Vec<VarId> {
        let mut found = vec![var];
        if let Some(relation) = self.origin(var) {
            found.extend(relation.parents().into_iter().flat_map(|parent| self.ancestors(parent)));
        }
        found
    }

    /// True if `var` is `ancestor`, or derives from it other than by name.
    pub fn derives(&self, var: VarId, ancestor: VarId) -> bool {
        var == ancestor
            || self.origin(var).is_some_and(|relation| {
                !matches!(relation, Relation::Rename { .. })
                    && relation.parents().into_iter().any(|parent| self.derives(parent, ancestor))
            })
    }

    /// True if the values of a variable are no coordinates of the statement's variables, but made by a relation: places in strips,
    /// numbers of these, or positions.
    pub fn is_made(&self, var: VarId) -> bool {
        self.origin(var).is_some_and(|relation| !matches!(relation, Relation::Rename { .. }))
    }

    /// True if a variable takes part in no relation but as a name, so that its loop is an ordinary one.
    pub fn is_plain(&self, var: VarId) -> bool {
        !self.is_made(var) && self.uses(var).all(|relation| matches!(relation, Relation::Rename { .. }))
    }

    /// True if the value of a variable is known when `bound` have values: it is among them, or all that some relation made of it
    /// (and of a partner) are known.
    pub fn is_known(&self, var: VarId, bound: &[VarId]) -> bool {
        bound.contains(&var)
            || self.uses(var).any(|relation| {
                !matches!(relation, Relation::Rename { .. })
                    && relation.children().into_iter().all(|child| self.is_known(child, bound))
            })
    }

    /// The tags of the loop over a variable.
    pub fn tags(&self, var: VarId) -> impl Iterator<Item = Tag> {
        self.tags.iter().filter(move |(tagged, _)| *tagged == var).map(|(_, tag)| *tag)
    }

    /// The way to share out the loop over a variable.
    pub fn parallel(&self, var: VarId) -> Option<(Unit, Race)> {
        self.tags(var).find_map(|tag| match tag {
            Tag::Parallel(unit, race) => Some((unit, race)),
            _ => None,
        })
    }

    /// True if threads share the loop over a variable.
    pub fn is_shared(&self, var: VarId) -> bool {
        matches!(self.parallel(var), Some((Unit::CpuThread, _)))
    }

    /// The number of times that the body of the loop over a variable is repeated.
    pub fn unroll(&self, var: VarId) -> Option<u32> {
        self.tags(var).find_map(|tag| match tag {
            Tag::Unroll(times) => Some(times),
            _ => None,
        })
    }

    /// The way to merge the operands of the loop over a variable.
    pub fn merge(&self, var: VarId) -> Merge {
        let found = self.tags(var).find_map(|tag| match tag {
            Tag::Merge(merge) => Some(merge),
            _ => None,
        });
        found.unwrap_or_default()
    }
}

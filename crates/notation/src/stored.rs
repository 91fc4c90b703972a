//! Stored dimensions: the way of a kernel through tensors whose formats map dimensions to levels.
//!
//! A statement over tensors with maps becomes one over the variables of the stored dimensions. A tensor with a map is then an
//! ordinary one of its stored dimensions, and the others are seen through *views*:
//!
//! ```text
//! y(i) = A(i,j) * x(j)      A: bcsr(4,4)      y(i0,i1) = A(i0,j0,i1,j1) * x(j0,j1)      i = 4 i0 + i1,  j = 4 j0 + j1
//! y(i) = A(i,j) * x(j)      A: dia            y(i) = A(k,i) * x(k,i)                    j = k + i - (size of i - 1)
//! ```
//!
//! A variable of the statement that has no loop of its own is *recovered*: loops visit only such values of the others that it is
//! one of its dimension's coordinates. If a dimension is stored by the ranks of its coordinates, a rank is recovered from the
//! others, and an array of the tensor tells the coordinate that has it. Every coordinate has one rank, so that loops that come to
//! each rank once come to each coordinate once:
//!
//! ```text
//! y(i) = A(i,j) * x(j)      A: sell(4,64)    y(i0,i1) = A(i0,s,i1,j) * x(j)                 i = ranking[4 i0 + i1]
//! ```
//!
//! Papers: Chou et al. 2020, §4 (coordinate remapping); Senanayake et al. 2020, §6 (recovered variables).

use lacunar_formats::Format;

use crate::index::{TensorId, VarId};

/// The ties between the variables of stored dimensions and those of the statement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredSpace {
    /// Variables of stored dimensions, with their sizes.
    pub sizes: Vec<(VarId, StoredSize)>,
    /// Variables of the statement without loops.
    pub recovered: Vec<Recovered>,
}

/// The number of values of a variable of a stored dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredSize {
    /// The blocks of a size that a variable's values fill.
    Blocks(VarId, u32),
    /// A block's size.
    Inside(u32),
    /// The diagonals of a matrix whose dimensions two variables run over.
    Diagonals(VarId, VarId),
    /// The slots that a level of a tensor has at most.
    Slots(TensorId, usize),
}

/// A variable that follows from others: the sum of `terms`, each a variable times a number; if `less` names a variable, the size of
/// that is taken off, and one is added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// The variable of the statement.
    pub var: VarId,
    /// The variables it follows from, with their factors.
    pub terms: Vec<(VarId, u32)>,
    /// The variable whose size, less one, is taken off.
    pub less: Option<VarId>,
    /// The level of a tensor that keeps the coordinate of each rank, if the sum is a rank.
    pub ranked: Option<(TensorId, usize)>,
}

/// The storage of a tensor of the program as a kernel sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// The format of the program's tensor: one with a map, whose stored dimensions are those here; or a dense one.
    pub format: Format,
    /// The step of each level, for a dense one.
    pub steps: Vec<ViewStep>,
}

/// The part of a dimension that a level of a view walks through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViewStep {
    /// A dimension.
    Whole,
    /// The first of several levels that walk through the dimension of a recovered variable together; and its factor.
    First(VarId, u32),
    /// A following one.
    Next(u32),
}

impl StoredSpace {
    /// The recovered variable among whose terms a variable is.
    pub fn recovered_from(&self, var: VarId) -> impl Iterator<Item = &Recovered> {
        self.recovered.iter().filter(move |recovered| recovered.terms.iter().any(|(term, _)| *term == var))
    }

    /// The size of a variable of a stored dimension, if it is one.
    pub fn size(&self, var: VarId) -> Option<StoredSize> {
        self.sizes.iter().find(|(known, _)| *known == var).map(|(_, size)| *size)
    }
}

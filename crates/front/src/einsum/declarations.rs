//! Declarations: the facts about a program's tensors and index variables that are not in its text.
//!
//! ```
//! use lacunar_formats::{DType, Format};
//! use lacunar_front::Declarations;
//! let declarations = Declarations::new().format("A", Format::csr()).dtype("y", DType::F32).size("i", 100);
//! assert_eq!(declarations.sizes["i"], 100);
//! ```

use indexmap::{IndexMap, IndexSet};
use lacunar_formats::{DType, FormatSpec, Scalar};
use lacunar_notation::Operator;

use crate::structure::StructureSpec;

/// The language of a program's text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// Statements and actions: [`crate::einsum`].
    #[default]
    Statements,
    /// Rules: [`crate::stur`]. Sizes of variables are values of symbols.
    Rules,
}

/// The declared facts about a program's tensors and index variables; everything may be left out.
#[derive(Clone, Debug, Default)]
pub struct Declarations {
    /// The formats of tensors. Undeclared inputs are dense; an undeclared result is dense too, unless its entries are
    /// absent wherever those of the sparse operands are.
    pub formats: IndexMap<String, FormatSpec>,
    /// Types of elements. Undeclared inputs are `f64`, undeclared results have the type of their expression.
    pub dtypes: IndexMap<String, DType>,
    /// Values of the elements that are not stored, of any type that converts to that of the elements. Undeclared, that of an
    /// input is 0.
    pub fills: IndexMap<String, Scalar>,
    /// The structures of tensors: the elements that are 0, and those that follow from others.
    pub structures: IndexMap<String, StructureSpec>,
    /// Structured tensors of which the unique elements alone are given.
    pub unique: IndexSet<String>,
    /// Sizes of tensors. One size under the name of an index variable is taken as that variable's.
    pub dims: IndexMap<String, Vec<u64>>,
    /// Sizes of index variables. A size under the name of a tensor of order 1 is taken as that tensor's.
    pub sizes: IndexMap<String, u64>,
    /// Numbers of stored values.
    pub nnz: IndexMap<String, u64>,
    /// Numbers of stored values under that coordinate of the outermost level that has the most.
    pub heaviest: IndexMap<String, u64>,
    /// True of tensors whose innermost segments have steady lengths, false of others.
    pub steady: IndexMap<String, bool>,
    /// True of tensors whose innermost segments have scattered coordinates, false of others.
    pub scattered: IndexMap<String, bool>,
    /// All tensors that are given. `None`: any tensor that is read and not assigned.
    pub inputs: Option<IndexSet<String>>,
    /// Tensors that are given, beside which others may be.
    pub given: IndexSet<String>,
    /// Operators that the program may call without declaring them.
    pub operators: Vec<Operator>,
    /// The language that the program is written in.
    pub language: Language,
}

impl Declarations {
    /// Nothing known.
    pub fn new() -> Declarations {
        Declarations::default()
    }

    /// Declares a tensor's format.
    pub fn format(mut self, tensor: impl Into<String>, format: impl Into<FormatSpec>) -> Declarations {
        self.formats.insert(tensor.into(), format.into());
        self
    }

    /// Declares a tensor's element type.
    pub fn dtype(mut self, tensor: impl Into<String>, dtype: DType) -> Declarations {
        self.dtypes.insert(tensor.into(), dtype);
        self
    }

    /// Declares the value of a tensor's elements that are not stored.
    pub fn fill(mut self, tensor: impl Into<String>, fill: Scalar) -> Declarations {
        self.fills.insert(tensor.into(), fill);
        self
    }

    /// Declares a tensor's structure.
    pub fn structure(mut self, tensor: impl Into<String>, structure: StructureSpec) -> Declarations {
        self.structures.insert(tensor.into(), structure);
        self
    }

    /// Declares a tensor's sizes.
    pub fn dims(mut self, tensor: impl Into<String>, dims: impl IntoIterator<Item = u64>) -> Declarations {
        self.dims.insert(tensor.into(), dims.into_iter().collect());
        self
    }

    /// Declares an index variable's size.
    pub fn size(mut self, variable: impl Into<String>, size: u64) -> Declarations {
        self.sizes.insert(variable.into(), size);
        self
    }

    /// Declares a tensor's number of stored values.
    pub fn nnz(mut self, tensor: impl Into<String>, nnz: u64) -> Declarations {
        self.nnz.insert(tensor.into(), nnz);
        self
    }

    /// Declares a tensor as given; from then on, reading one that is neither given nor assigned is an error.
    pub fn input(mut self, tensor: impl Into<String>) -> Declarations {
        self.inputs.get_or_insert_default().insert(tensor.into());
        self
    }

    /// The names that must be those of tensors, each once.
    pub(super) fn tensor_names(&self) -> IndexSet<&str> {
        self.formats
            .keys()
            .chain(self.dtypes.keys())
            .chain(self.fills.keys())
            .chain(self.nnz.keys())
            .chain(self.structures.keys())
            .chain(&self.unique)
            .chain(self.inputs.iter().flatten())
            .chain(&self.given)
            .map(String::as_str)
            .collect()
    }

    /// The names that may be those of tensors or of index variables, each once.
    pub(super) fn sized_names(&self) -> IndexSet<&str> {
        self.dims.keys().chain(self.sizes.keys()).map(String::as_str).collect()
    }
}

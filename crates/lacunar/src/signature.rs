//! The signature of a shipped kernel, as data: for headers, and for programs that make calls.
//!
//! ```
//! use lacunar::{Format, Kernel, Options, Shape};
//! # fn main() -> Result<(), lacunar::Error> {
//! let kernel = Kernel::compile("y(i) = A(i,j) * x(j)", &Options::new().format("A", Format::csr()))?;
//! let shipment = kernel.ship("spmv", Shape::Source)?;
//! let signature = &shipment.signatures[0];
//! assert_eq!((signature.symbol.as_str(), signature.expression.as_str()), ("spmv", "y(i) = A(i,j) * x(j)"));
//! let pos = signature.parameters.iter().find(|parameter| parameter.name == "A2_pos").expect("A is csr");
//! assert_eq!((pos.dtype, pos.access), ("u32", Some("in")));
//! assert_eq!(pos.meaning, "`pos` of level 2 of A");
//! # Ok(())
//! # }
//! ```

use lacunar_backend_c::{About, Field, meaning, status_name};
use lacunar_compiler::lower::{Binding, Phase};
use lacunar_imp::{ArrayRole, Param, Status, type_code};
use lacunar_notation::index::read_by;
use serde::Serialize;

use crate::bind::source;
use crate::compile::{Step, commands};
use crate::kernel::Kernel;

/// A kernel as other programs call it. The function takes the address of a structure of words of 8 bytes: the address of the
/// functions to call (or NULL), then the parameters, each array followed by its capacity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Signature {
    /// The name of the function.
    pub symbol: String,
    /// The statement that it computes.
    pub expression: String,
    /// The part of the result that it computes: `pattern` or `values` if there are two phases, or `all`.
    pub computes: &'static str,
    /// The schedule of the loops.
    pub schedule: String,
    /// The tensors of the statement, the result first.
    pub tensors: Vec<ShippedTensor>,
    /// The parameters, in their order.
    pub parameters: Vec<Parameter>,
    /// The statuses that it may return.
    pub statuses: Vec<ShippedStatus>,
}

/// A status that a shipped kernel may return.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShippedStatus {
    /// The name in C.
    pub name: String,
    /// The number.
    pub code: i32,
    /// The meaning, in words.
    pub meaning: &'static str,
}

/// A tensor of a shipped kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShippedTensor {
    /// The name.
    pub name: String,
    /// The format.
    pub format: String,
    /// The type of its elements.
    pub dtype: String,
    /// Its sizes; `null` for a size that is not known.
    pub dims: Vec<Option<u64>>,
    /// The value of every element that is not stored; `null` if that is 0.
    pub fill: Option<String>,
    /// The elements that it has, if those alone are stored that others of its structure follow from: a set of coordinates.
    pub unique: Option<String>,
}

/// A parameter of a shipped kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Parameter {
    /// The name of the field.
    pub name: String,
    /// The field behind it that has the number of elements; `null` for a number.
    pub capacity: Option<String>,
    /// The type of a number, or of an array's elements.
    pub dtype: &'static str,
    /// The code that the eight upper bits of an array's capacity may hold, so that the type is checked; `null` for a number, and
    /// for an array that is made.
    pub type_code: Option<u8>,
    /// The use of an array: `in` is only read, `out` is there and written, `made` gets its memory from the kernel.
    pub access: Option<&'static str>,
    /// The meaning, in words.
    pub meaning: String,
}

impl Kernel {
    /// The signature of a step, still without the names of the function and its parameters in C.
    pub(crate) fn signature(&self, step: &Step) -> Signature {
        let (program, plan) = (self.program(), step.plan());
        let statement = &program.statements[step.statement()];
        let mut tensors = vec![statement.lhs.tensor];
        let read = read_by(&program.tensors, &statement.rhs).into_iter();
        for tensor in read.filter(|tensor| !program.tensors[*tensor].role.is_computed()) {
            if !tensors.contains(&tensor) {
                tensors.push(tensor);
            }
        }
        let operand = |tensor| {
            let declared = &program.tensors[tensor];
            let (format, dtype) = (declared.format.to_string(), declared.dtype.to_string());
            let fill = Some(declared.fill()).filter(|fill| !fill.is_zero()).map(|fill| fill.to_string());
            let structure = declared.structure.as_deref().filter(|_| declared.is_unique);
            let unique = structure.map(|structure| structure.unique().to_string());
            ShippedTensor { name: declared.name.clone(), format, dtype, dims: declared.dims.clone(), fill, unique }
        };
        Signature {
            symbol: String::new(),
            expression: program.statement_text(statement),
            computes: match step.phase() {
                Phase::Assemble => "pattern",
                Phase::Compute => "values",
                Phase::Fused => "all",
            },
            schedule: commands(program, step.statement(), plan).join(", "),
            tensors: tensors.into_iter().map(operand).collect(),
            parameters: step.parameters().map(|(param, binding)| parameter(step, param, binding)).collect(),
            statuses: statuses(),
        }
    }
}

impl Signature {
    /// The signature with the names that its function and its parameters have in C.
    pub(crate) fn named(mut self, symbol: &str, fields: &[Field]) -> Signature {
        self.symbol = symbol.to_string();
        for (parameter, field) in self.parameters.iter_mut().zip(fields) {
            (parameter.name, parameter.capacity) = (field.name.clone(), field.capacity.clone());
        }
        self
    }

    /// The text about it in a header.
    pub(crate) fn about(&self) -> About {
        let mut lines = vec![match self.computes {
            "pattern" => format!("the pattern of {}", self.expression),
            "values" => format!("the values of {}, for a pattern that is given", self.expression),
            _ => self.expression.clone(),
        }];
        for ShippedTensor { name, format, dtype, dims, fill, unique } in &self.tensors {
            let known = dims.iter().any(Option::is_some);
            let sizes: Vec<String> =
                dims.iter().map(|size| size.map_or("?".to_string(), |size| size.to_string())).collect();
            let sizes = if known { format!(", {}", sizes.join(" x ")) } else { String::new() };
            let fill = fill.as_ref().map_or(String::new(), |fill| format!(", {fill} where nothing is stored"));
            lines.push(format!("{name}: {dtype}, {format}{sizes}{fill}"));
            lines.extend(unique.as_ref().map(|unique| format!("{name} has these elements alone: {unique}")));
        }
        if !self.schedule.is_empty() {
            lines.push(format!("schedule: {}", self.schedule));
        }
        About { lines, parameters: self.parameters.iter().map(|parameter| parameter.meaning.clone()).collect() }
    }
}

fn statuses() -> Vec<ShippedStatus> {
    let ok = ShippedStatus { name: "LACUNAR_OK".to_string(), code: 0, meaning: "all went well" };
    let status =
        |status: Status| ShippedStatus { name: status_name(status), code: status.code(), meaning: meaning(status) };
    std::iter::once(ok).chain(Status::ALL.map(status)).collect()
}

fn parameter(step: &Step, param: &Param, binding: Binding) -> Parameter {
    let kernel = step.kernel();
    // The caller knows nothing of the views that a plan makes.
    let tensor = |id| {
        let of = source(step, id);
        let before = if of == step.result() && of != id { ", as it was before" } else { "" };
        format!("{}{before}", kernel.tensors[of].name)
    };
    let meaning = match binding {
        Binding::Size(var) => format!("the size of index variable {}", kernel.vars[var].name),
        Binding::Level(id, level, part) => format!("`{}` of level {} of {}", part.name, level + 1, tensor(id)),
        Binding::Values(id) => format!("the values of {}", tensor(id)),
        Binding::Stored(id) => format!("how many values the pattern of {} has", tensor(id)),
        Binding::Threads => {
            "how many threads may run it, from 1 to 65536; another number counts as the nearest of these".to_string()
        }
    };
    let (dtype, access, type_code) = match *param {
        Param::Scalar(_) => ("i64", None, None),
        Param::Array(id) => {
            let array = &step.function().arrays[id];
            let access = match array.role {
                ArrayRole::Input => "in",
                ArrayRole::Output => "out",
                ArrayRole::Grown | ArrayRole::Local | ArrayRole::Parts => "made",
            };
            (array.elem.name(), Some(access), (access != "made").then(|| type_code(array.elem)))
        }
    };
    Parameter { name: String::new(), capacity: None, dtype, type_code, access, meaning }
}

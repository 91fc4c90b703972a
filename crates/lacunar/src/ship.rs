//! Kernels for somebody else's program: source, objects, libraries, each with a header.
//!
//! Machine code of a [`Kernel`] is tuned to the processor of its process. Shipped code runs on any processor of the
//! architecture, and as well as each can: it holds versions for several, and chooses when it is called first.
//!
//! ```
//! use lacunar::{Format, Kernel, Options, Shape};
//! # fn main() -> Result<(), lacunar::Error> {
//! let kernel = Kernel::compile("y(i) = A(i,j) * x(j)", &Options::new().format("A", Format::csr()))?;
//! let shipment = kernel.ship("spmv", Shape::Source)?;
//! assert!(shipment.header.contains("int32_t spmv(struct spmv_args *args);"));
//! # Ok(())
//! # }
//! ```

use lacunar_backend_c::namer::Namer;
use lacunar_backend_c::{COptions, CSource, CcOptions, Purpose, compile_object, compile_shared, print_all};
use lacunar_base::{Category, Diagnostic};
use lacunar_compiler::lower::Binding;
use lacunar_formats::Format;
use lacunar_imp::{Expr, Function, Param, Verified, verify};
use lacunar_runtime::scratch::ScratchFolder;

use crate::bind::{own_format, source};
use crate::compile::{Backend, Step};
use crate::error::Error;
use crate::kernel::Kernel;
use crate::signature::Signature;

/// A form in which a kernel is shipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// C99.
    Source,
    /// An object file.
    Object,
    /// A shared library.
    Library,
    /// Assembly.
    Assembly,
    /// LLVM IR.
    Ir,
}

impl Shape {
    /// All shapes.
    pub const ALL: [Shape; 5] = [Shape::Source, Shape::Object, Shape::Library, Shape::Assembly, Shape::Ir];

    /// The extension of its files.
    pub const fn extension(self) -> &'static str {
        match self {
            Shape::Source => "c",
            Shape::Object => "o",
            Shape::Library => "so",
            Shape::Assembly => "s",
            Shape::Ir => "ll",
        }
    }
}

/// A shipped program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shipment {
    /// The names of the kernels, one for each statement, or for each phase of it.
    pub symbols: Vec<String>,
    /// The signature of each.
    pub signatures: Vec<Signature>,
    /// The names of their versions in machine code by LLVM, each with a flag that is true if this machine runs it.
    pub versions: Vec<(String, bool)>,
    /// The name of the header's file without `.h`: that which a source includes.
    pub header_name: String,
    /// Declarations and explanations, in C.
    pub header: String,
    /// The code.
    pub content: Vec<u8>,
}

impl Kernel {
    /// Makes code that other programs can call: for each statement a kernel called `name`, with a number behind it
    /// where there are several statements; for the first of two phases of a statement `name_assemble`. A name that
    /// means something in C or C++ (`int`, `main`) has an underscore behind it. The back end that the kernel was
    /// compiled with makes the machine code; source is always C.
    ///
    /// # Errors
    /// A statement needs conversions, which are the runtime's and not the kernel's; the back end does not make this shape, or
    /// fails.
    pub fn ship(&self, name: &str, shape: Shape) -> Result<Shipment, Error> {
        if !self.program().assigns_in_order() {
            let message = "the program does more than carry out its statements in order, which kernels alone do not do";
            let diagnostic = Diagnostic::error("E1018", message)
                .hint("give the statements alone, and write the loops, exchanges and files around their kernels in the other program");
            return Err(Error::program("", vec![diagnostic.category(Category::User)]));
        }
        let (mut functions, mut names) = (Vec::new(), Namer::for_functions());
        for (number, step) in self.steps().iter().enumerate() {
            self.stands_alone(step)?;
            let mut name = name.to_string();
            if self.program().statements.len() > 1 {
                name += &format!("_{}", step.statement() + 1);
            }
            if self.steps().get(number + 1).is_some_and(|next| next.statement() == step.statement()) {
                name += "_assemble";
            }
            functions.push(renamed(step, names.unique(&identifier(&name)))?);
        }
        let signatures: Vec<Signature> = self.steps().iter().map(|step| self.signature(step)).collect();
        let print = |purpose| {
            let about = signatures.iter().map(Signature::about).collect();
            print_all(
                &functions,
                &COptions { file_name: Some(name.to_string()), purpose, about, ..COptions::default() },
            )
        };
        let source = print(Purpose::Versions);
        let header = match shape {
            Shape::Source => source.header.clone(),
            _ => print(Purpose::MachineCode).header,
        };
        let content = match (shape, self.backend()) {
            (Shape::Source, _) => source.source.clone().into_bytes(),
            (_, Some(Backend::Llvm)) => self.machine_code(&functions, &source.symbols, shape)?,
            (Shape::Object | Shape::Library, _) => compiled(&source, shape)?,
            _ => return Err(Error::Backend("assembly and LLVM IR are the back end `llvm`'s".to_string())),
        };
        let versions = match self.backend() {
            Some(Backend::Llvm) if shape != Shape::Source => versions(&source.symbols),
            _ => Vec::new(),
        };
        let named = signatures.into_iter().zip(&source.symbols).zip(&source.fields);
        let signatures = named.map(|((signature, symbol), fields)| signature.named(symbol, fields)).collect();
        let (symbols, header_name) = (source.symbols, source.file_name);
        Ok(Shipment { symbols, signatures, versions, header_name, header, content })
    }

    /// Asks that a statement's kernel is all that there is to do.
    fn stands_alone(&self, step: &Step) -> Result<(), Error> {
        let (plan, tensors) = (step.plan(), &step.kernel().tensors);
        let converted = plan.conversions.iter().find(|conversion| {
            self.program().tensors[conversion.source].format != own_format(&tensors[conversion.tensor])
        });
        let completed = self.program().tensors.iter().find(|(id, _)| self.completes(*id));
        let has_nodes = |format: &Format| format.levels().iter().any(|level| level.kind.schema().is_some());
        let linked = step.kernel().reads().into_iter().find(|id| has_nodes(&tensors[*id].format));
        let external = step.function().exprs.iter().find_map(|(_, expr)| match expr {
            Expr::Extern(function, ..) => Some(function.name()),
            _ => None,
        });
        if let Some(name) = external {
            let message = format!("the operator `{name}` is a function of this process, which no other program has");
            let diagnostic = Diagnostic::error("E1018", message).hint("declare the operator with a body");
            return Err(Error::program("", vec![diagnostic.category(Category::User)]));
        }
        let what = match (completed, converted, &plan.convert_result) {
            (Some((_, tensor)), ..) => {
                format!("`{}` is given by its unique elements, and completed before the kernel runs", tensor.name)
            }
            (None, Some(conversion), _) => {
                let name = &self.program().tensors[conversion.source].name;
                format!("`{name}` is converted to {} before the kernel runs", own_format(&tensors[conversion.tensor]))
            }
            (None, None, Some(format)) => {
                format!("the result is made as {format} and converted after the kernel has run")
            }
            (None, None, None) if tensors[step.result()].format.packing().is_some() => {
                let result = &tensors[step.result()];
                format!("`{}` ({}) gets the arrays of its rows before the kernel runs", result.name, result.format)
            }
            (None, None, None) => {
                let Some(linked) = linked.map(|id| &tensors[id]) else { return Ok(()) };
                format!(
                    "`{}` ({}) is made of nodes, which are checked before the kernel runs",
                    linked.name, linked.format
                )
            }
        };
        let diagnostic = Diagnostic::error("E1018", format!("{what}, which needs Lacunar's runtime"))
            .hints(
                "declare that format, and convert outside; or choose another order of loops by a schedule",
                "declare that format, and convert outside; or choose another order of loops with `-s`",
            )
            .category(Category::User);
        Err(Error::program("", vec![diagnostic]))
    }

    #[cfg(feature = "llvm")]
    fn machine_code(
        &self,
        functions: &[Verified<Function>],
        symbols: &[String],
        shape: Shape,
    ) -> Result<Vec<u8>, Error> {
        use lacunar_backend_llvm::{Form, Shipped, ship};
        let failed = |error: &dyn std::fmt::Display| Error::Backend(error.to_string());
        let mut kernels = Vec::new();
        for ((function, symbol), step) in functions.iter().zip(symbols).zip(self.steps()) {
            let mut bound = function.params.iter().zip(step.parameters());
            let threads = bound.find_map(|(param, (_, binding))| match (param, binding) {
                (Param::Scalar(var), Binding::Threads) => Some(*var),
                _ => None,
            });
            kernels.push(Shipped { function, symbol, threads });
        }
        let form = match shape {
            Shape::Assembly => Form::Assembly,
            Shape::Ir => Form::Ir,
            Shape::Source | Shape::Object | Shape::Library => Form::Object,
        };
        let code = ship(&kernels, form).map_err(|error| failed(&error))?;
        if shape != Shape::Library {
            return Ok(code);
        }
        let folder = ScratchFolder::new().map_err(|error| failed(&error))?;
        let (object, library) = (folder.path().join("kernel.o"), folder.path().join("kernel.so"));
        std::fs::write(&object, code).map_err(|error| failed(&error))?;
        lacunar_backend_c::link_shared(&object, &library, &CcOptions::default()).map_err(|error| failed(&error))?;
        std::fs::read(&library).map_err(|error| failed(&error))
    }

    #[cfg(not(feature = "llvm"))]
    fn machine_code(&self, _: &[Verified<Function>], _: &[String], _: Shape) -> Result<Vec<u8>, Error> {
        Err(Error::Backend("this build has no LLVM; use the back end `c`".to_string()))
    }
}

/// Object or library by the C compiler.
fn compiled(source: &CSource, shape: Shape) -> Result<Vec<u8>, Error> {
    let failed = |error: &dyn std::fmt::Display| Error::Backend(error.to_string());
    let folder = ScratchFolder::new().map_err(|error| failed(&error))?;
    let options = CcOptions { native: false, ..CcOptions::default() };
    let file = match shape {
        Shape::Library => compile_shared(source, &options, folder.path()),
        _ => compile_object(source, &options, folder.path()),
    };
    std::fs::read(file.map_err(|error| failed(&error))?).map_err(|error| failed(&error))
}

/// A function under another name.
fn renamed(step: &Step, name: String) -> Result<Verified<Function>, Error> {
    let mut renamed = Function { name, ..step.checked_function()?.into_inner() };
    let tensors = &step.kernel().tensors;
    for (param, binding) in step.parameters() {
        let (Param::Array(array), Binding::Level(tensor, ..) | Binding::Values(tensor)) = (param, binding) else {
            continue;
        };
        // The values of the result before have arrays beside those that it gets.
        let of = source(step, tensor);
        if of == step.result() && of != tensor {
            continue;
        }
        let (made, own) = (&tensors[tensor].name, &tensors[of].name);
        let name = &mut renamed.arrays[*array].name;
        if let Some(part) = name.strip_prefix(made.as_str()) {
            *name = format!("{own}{part}");
        }
    }
    verify(renamed).map_err(|error| {
        Error::program("", vec![Diagnostic::internal(format!("the imperative IR is not well-formed: {error}"))])
    })
}

/// An identifier of C like a text.
fn identifier(text: &str) -> String {
    let name: String = text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) { name } else { format!("kernel_{name}") }
}

/// The versions of kernels in machine code.
#[cfg(feature = "llvm")]
fn versions(symbols: &[String]) -> Vec<(String, bool)> {
    use lacunar_backend_llvm::{Cpu, version_symbol};
    let of = |symbol: &String| {
        let symbol = symbol.clone();
        Cpu::VERSIONS.iter().map(move |version| (version_symbol(&symbol, version), version.runs_here()))
    };
    symbols.iter().flat_map(of).collect()
}

#[cfg(not(feature = "llvm"))]
fn versions(_: &[String]) -> Vec<(String, bool)> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::Shape;
    use crate::{Error, FormatSpec, Kernel, Options};

    /// A kernel that walks through stored dimensions sees `x` otherwise than it is; the caller passes the same array.
    #[test]
    fn headers_name_the_tensors_of_the_program() -> Result<(), Error> {
        for format in ["bcsr(2,2)", "sell(4,16)", "dia"] {
            let options = Options::new().format("A", format.parse::<FormatSpec>()?);
            let shipment = Kernel::compile("y(i) = A(i,j) * x(j)", &options)?.ship("spmv", Shape::Source)?;
            let named = shipment.header.contains("const double *x_vals;");
            assert!(named && !shipment.header.contains("x_seen"), "{format}: {}", shipment.header);
            assert!(
                shipment.signatures[0].parameters.iter().any(|found| found.meaning == "the values of x"),
                "{format}"
            );
        }
        Ok(())
    }
}

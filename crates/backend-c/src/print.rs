//! Whole files: a header and a source of one kernel or several.
//!
//! The header has the includes, the declarations that all kernels share, and for each kernel the explanation, the
//! argument structure and the prototype. The source includes it and has the helpers that are used, then the kernels.

use lacunar_formats::DType;
use lacunar_imp::{Function, Verified};

use crate::facts::expression_types;
use crate::helpers::{Helper, Helpers};
use crate::interface::{
    BUILDING_MACHINE_CODE, COMPLEX, Names, building_source, declarations, explanation, fields, shared,
};
use crate::kernel::print_kernel;
use crate::namer::Namer;

/// The use of the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Purpose {
    /// It is compiled for the processor that it is compiled on, or for any one.
    #[default]
    Compile,
    /// It is compiled for processors that are not known yet: in versions for several, if GCC can do that.
    Versions,
    /// Its header goes with machine code of the kernels; the source is not used.
    MachineCode,
}

/// The look of the C text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct COptions {
    /// True if the arguments are explained and the function's remarks printed.
    pub comments: bool,
    /// The name of the header without `.h`; the (first) kernel's if there is none.
    pub file_name: Option<String>,
    /// The use of the text.
    pub purpose: Purpose,
    /// The facts for the explanation of each kernel, in the order in which they are passed.
    pub about: Vec<About>,
}

/// The facts about a kernel that its code does not tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// Its computation and how it is done, a line each.
    pub lines: Vec<String>,
    /// The meaning of each parameter.
    pub parameters: Vec<String>,
}

/// A parameter of a kernel in C: a field of its structure of arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The name.
    pub name: String,
    /// The field behind it that has the number of elements; `None` for a number.
    pub capacity: Option<String>,
}

impl Default for COptions {
    fn default() -> Self {
        COptions { comments: true, file_name: None, purpose: Purpose::Compile, about: Vec::new() }
    }
}

/// Kernels as C99.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CSource {
    /// The kernels' names in C, in the order in which they were passed. A name that means something else in C is changed.
    pub symbols: Vec<String>,
    /// The parameters of each kernel.
    pub fields: Vec<Vec<Field>>,
    /// The name that the source includes the header by, without `.h`.
    pub file_name: String,
    /// The header.
    pub header: String,
    /// The source, which includes the header.
    pub source: String,
    /// True if any of the kernels forbids contraction and reassociation.
    pub strict: bool,
    /// True if any of the kernels has directives for OpenMP.
    pub openmp: bool,
}

impl CSource {
    /// Header and source as one file.
    pub fn single_file(&self) -> String {
        self.source.replacen(&self.include(), &self.header, 1)
    }

    /// The name in C of the (first) kernel.
    pub fn symbol(&self) -> &str {
        self.symbols.first().map_or("", String::as_str)
    }

    fn include(&self) -> String {
        include_line(&self.file_name)
    }
}

fn include_line(file_name: &str) -> String {
    format!("#include \"{file_name}.h\"\n")
}

/// Prints a kernel.
pub fn print(function: &Verified<Function>, options: &COptions) -> CSource {
    print_all([function], options)
}

/// Prints several kernels into one header and one source, with one set of helpers.
pub fn print_all<'f>(functions: impl IntoIterator<Item = &'f Verified<Function>>, options: &COptions) -> CSource {
    let functions: Vec<&Function> = functions.into_iter().map(|function| &**function).collect();
    let mut namer = Namer::for_functions();
    let names: Vec<Names> = functions.iter().map(|function| Names::of(function, &mut namer)).collect();
    let symbols: Vec<String> = names.iter().map(|names| names.symbol.clone()).collect();
    let wanted = options.file_name.clone().or_else(|| symbols.first().cloned()).unwrap_or_default();
    let file_name = file_name(&wanted);
    let mut helpers = Helpers::default();
    let (mut kernels, mut openmp) = (String::new(), Vec::new());
    for (function, names) in functions.iter().zip(&names) {
        let mut kernel = print_kernel(function, names, options.comments);
        if options.purpose == Purpose::Versions {
            kernel.text = format!("{} {}", kernel.helpers.name(Helper::Versions), kernel.text);
        }
        helpers.merge(kernel.helpers);
        openmp.push(kernel.directives);
        kernels.push('\n');
        kernels.push_str(&kernel.text);
    }
    let header = header(&file_name, &functions, &names, &openmp, options);
    let includes: String = helpers.includes().iter().map(|name| format!("#include <{name}>\n")).collect();
    let includes = if includes.is_empty() { includes } else { format!("\n{includes}") };
    let source = format!("{}{includes}\n{}{}", include_line(&file_name), helpers.text(), kernels.trim_start());
    let strict = functions.iter().any(|function| function.strict);
    let fields = functions.iter().zip(&names).map(|(function, names)| fields(function, names)).collect();
    CSource { symbols, fields, file_name, header, source, strict, openmp: openmp.contains(&true) }
}

fn header(file_name: &str, functions: &[&Function], names: &[Names], openmp: &[bool], options: &COptions) -> String {
    let guard = format!("LACUNAR_{}_H", guard_name(file_name));
    let includes = ["stdbool.h", "stddef.h", "stdint.h"].map(|name| format!("#include <{name}>\n")).concat();
    let complex = functions.iter().any(|function| has_complex(function));
    let complex = if complex { format!("\n{COMPLEX}") } else { String::new() };
    let nothing = About::default();
    let kernels: String = functions
        .iter()
        .zip(names)
        .zip(openmp)
        .enumerate()
        .map(|(number, ((function, names), &openmp))| {
            let about = options.about.get(number).unwrap_or(&nothing);
            let building = match options.purpose {
                Purpose::Compile | Purpose::Versions => building_source(function, openmp),
                Purpose::MachineCode => BUILDING_MACHINE_CODE.to_string(),
            };
            let explanation =
                if options.comments { explanation(function, names, about, &building) } else { String::new() };
            format!("\n{explanation}{}", declarations(function, names))
        })
        .collect();
    format!(
        "#ifndef {guard}\n#define {guard}\n\n{includes}{complex}\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n{}{kernels}\n\
         #ifdef __cplusplus\n}}\n#endif\n\n#endif\n",
        shared()
    )
}

/// True if a kernel has complex arrays, variables or expressions.
fn has_complex(function: &Function) -> bool {
    function.arrays.iter().any(|(_, array)| array.elem.is_complex())
        || function.vars.iter().any(|(_, var)| var.ty.is_complex())
        || expression_types(function).into_iter().any(DType::is_complex)
}

/// A name that is safe in a file system and in `#include`: letters, digits and `_ - .`, not too long.
fn file_name(wanted: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.') { c } else { '_' };
    let name: String = wanted.chars().take(100).map(safe).collect();
    if name.trim_matches('.').is_empty() { "kernels".to_string() } else { name }
}

fn guard_name(file_name: &str) -> String {
    file_name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

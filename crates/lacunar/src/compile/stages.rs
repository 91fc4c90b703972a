//! The texts of stages that can be printed.

use lacunar_base::Trace;
use lacunar_compiler::plan::Plan;
use lacunar_compiler::structure;
use lacunar_formats::{Schema, Template};
#[cfg(feature = "llvm")]
use lacunar_imp::{Function, Verified};
#[cfg(feature = "llvm")]
use lacunar_machine::Machine;
use lacunar_notation::{Access, Program, Role, VarId};

use super::commands;

/// The structures of a program's tensors: declared, or inferred of a statement's result.
pub(super) fn structures(program: &Program) -> String {
    let declared = program.tensors.iter().filter_map(|(_, tensor)| Some((tensor, tensor.structure.as_deref()?)));
    let mut text: String =
        declared.map(|(tensor, structure)| format!("{}: declared\n{structure}\n", tensor.name)).collect();
    for (target, inferred) in structure::results(program) {
        let name = &program.tensors[target].name;
        text += &match inferred {
            Some(structure) => format!("{name}: inferred\n{structure}\n"),
            None => format!("{name}: unknown\n"),
        };
    }
    let sizes = made_sizes(program);
    let used = sizes.into_iter().filter(|(name, _)| words(&text).any(|word| word == name)).collect::<Vec<_>>();
    used.into_iter().for_each(|(name, of)| text += &format!("{name}: {of}\n"));
    text
}

/// The parameters for sizes of variables that the text does not name, such as that of `i - j` in `a(i - j)`, and what they are the sizes of.
fn made_sizes(program: &Program) -> Vec<(String, String)> {
    let accesses: Vec<&Access> = program.statements.iter().flat_map(|statement| statement.rhs.accesses()).collect();
    let is_indicator = |access: &&&Access| program.tensors[access.tensor].role == Role::Indicator;
    let mut made: Vec<VarId> =
        accesses.iter().filter(is_indicator).filter_map(|access| access.vars.last().copied()).collect();
    made.sort_unstable();
    made.dedup();
    let of = |var: VarId| {
        let access =
            accesses.iter().filter(|access| !is_indicator(access)).find(|access| access.vars.contains(&var))?;
        let dimension = access.vars.iter().position(|own| *own == var)?;
        let name = &program.tensors[access.tensor].name;
        Some((format!("n_{}", program.vars[var].name), format!("the size of dimension {dimension} of `{name}`")))
    };
    made.into_iter().filter_map(of).collect()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
}

/// The layouts of nodes of each schema that a format names.
pub(super) fn nodes(program: &Program) -> String {
    schemas(program).iter().map(|schema| format!("# {}\n{}", schema.name(), schema.layouts())).collect()
}

/// The schemas that formats name, each once.
fn schemas(program: &Program) -> Vec<&'static Schema> {
    let levels = |tensor: &lacunar_notation::Tensor| tensor.format.levels().to_vec();
    let schemas = program.tensors.iter().flat_map(|(_, tensor)| levels(tensor)).filter_map(|level| level.kind.schema());
    let mut seen: Vec<&Schema> = Vec::new();
    for schema in schemas {
        if !seen.contains(&schema) {
            seen.push(schema);
        }
    }
    seen
}

/// The definitions of those schemas that are not built in: with them, a text that names these is read wherever it comes.
pub(super) fn definitions(program: &Program) -> String {
    let named: Vec<&str> = schemas(program).into_iter().map(Schema::name).collect();
    let is_named = |template: &Template| named.iter().any(|name| name.split('<').next() == Some(template.name()));
    Template::defined()
        .into_iter()
        .filter(is_named)
        .map(|template| format!("{}\n", template.text().trim_end()))
        .collect()
}

/// Prints the stages that a plan shows.
pub(super) fn print_plan(trace: &mut Trace, program: &Program, number: usize, plan: &Plan) {
    trace.print("schedule", || match commands(program, number, plan) {
        commands if commands.is_empty() => "# the loops as they are\n".to_string(),
        commands => commands.join("\n") + "\n",
    });
    // Definitions stand once in a text, before the first statement.
    trace.print("concrete", || if number == 0 { definitions(program) + &plan.text() } else { plan.text() });
    trace.print("provenance", || plan.kernel.provenance_graph().dot());
    trace.print("graph", || lacunar_compiler::iterate::graph::dot(&plan.kernel));
    trace.print("lattice", || lacunar_compiler::iterate::graph::lattices(&plan.kernel));
}

#[cfg(feature = "llvm")]
pub(super) fn emit_llvm(trace: &mut Trace, function: &Verified<Function>, machine: &Machine) {
    let options = lacunar_backend_llvm::CompileOptions::of(machine);
    let text = |outcome: Result<String, lacunar_backend_llvm::LlvmError>| {
        outcome.unwrap_or_else(|error| format!("; {error}\n"))
    };
    trace.print("llvm", || text(lacunar_backend_llvm::llvm_ir(function, &options)));
    trace.print("asm", || text(lacunar_backend_llvm::assembly(function, &options)));
}

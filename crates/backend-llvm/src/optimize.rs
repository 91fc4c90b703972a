//! LLVM's passes over an emitted module.

use inkwell::attributes::AttributeLoc;
use inkwell::module::Module;
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::TargetMachine;

use crate::emit::Needs;
use crate::{CompileOptions, LlvmError, Optimization};

/// The passes that matter for kernels. Loops arrive rotated, with 64-bit counters and alias scopes, so most passes of
/// `default<O3>` before it vectorizes are not needed; there are no calls to inline. Short loops of known length are
/// unrolled first, so that small workspaces, the sums of a row of blocks for example, become registers. Loops that the
/// vectorizer makes are unrolled again, and loads and stores then moved out of the loop around them: so a row of a
/// result with a few columns stays in registers while a sparse row is walked. Loops that ask for it are unrolled in
/// part.
///
/// `instcombine` must not check that it has reached a fixpoint: that check ends the process.
const KERNEL_PASSES: &str = "function(\
    sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,\
    loop-mssa(licm),loop(loop-idiom,loop-deletion,loop-unroll-full),sroa,early-cse,\
    loop-vectorize,loop(loop-unroll-full),\
    loop-unroll<no-partial;no-peeling;no-runtime;no-upperbound;no-profile-peeling>,slp-vectorizer,instcombine<no-verify-fixpoint>,\
    early-cse<memssa>,simplifycfg,loop-mssa(licm),simplifycfg)";

/// The passes for a module with nothing to unroll or to vectorize ([`Needs`]): the others, which take half of the time, would change
/// nothing.
const PLAIN_PASSES: &str = "function(\
    sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,\
    loop-mssa(licm),instcombine<no-verify-fixpoint>,\
    early-cse<memssa>,simplifycfg,loop-mssa(licm),simplifycfg)";

/// Runs the passes that the options ask for.
pub(crate) fn optimize(
    module: &Module,
    needs: Needs,
    machine: &TargetMachine,
    options: &CompileOptions,
) -> Result<(), LlvmError> {
    if let Some(bits) = options.vector_width {
        let context = module.get_context();
        for function in module.get_functions().filter(|function| function.count_basic_blocks() > 0) {
            let width = context.create_string_attribute("prefer-vector-width", &bits.to_string());
            function.add_attribute(AttributeLoc::Function, width);
        }
    }
    let passes = match options.optimization {
        Optimization::None => return Ok(()),
        Optimization::Kernel if !needs.loops => PLAIN_PASSES,
        // `default<O3>` has the superword vectorizer whatever the settings say.
        Optimization::Kernel | Optimization::Full if needs.scalars => &KERNEL_PASSES.replace("slp-vectorizer,", ""),
        Optimization::Kernel => KERNEL_PASSES,
        Optimization::Full => "default<O3>",
    };
    let settings = PassBuilderOptions::create();
    settings.set_loop_interleaving(true);
    settings.set_loop_vectorization(true);
    settings.set_loop_unrolling(true);
    module.run_passes(passes, machine, settings).map_err(|error| LlvmError::Module(error.to_string()))
}

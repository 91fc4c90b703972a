//! Loop metadata: how LLVM's vectorizer should treat a loop.
//!
//! Left to itself, the vectorizer runs a loop that gathers (`t += a[p] * x[crd[p]]`) in several interleaved copies of wide
//! vectors, which pays for long rows only: what is left over runs one element at a time, and rows of sparse matrices are
//! short. One 256-bit vector without interleaving, and what is left over in one more under a mask, was the best compromise
//! on seven matrices with 3 to 17,000 values a row (x86 with AVX-512; widths 1, 4 and 8, 1 to 8 copies, with and without
//! masks): up to 1.9 times as fast on short rows of varying length, at most 1.2 times slower on rows of exactly 7.
//!
//! ```text
//! br i1 %more, label %for, label %end_for, !llvm.loop !1
//! !1 = distinct !{!1, !{!"llvm.loop.vectorize.width", i32 4}, !{!"llvm.loop.interleave.count", i32 1}}
//! ```

#![allow(unsafe_code)]

use std::ffi::c_void;

use inkwell::context::AsContextRef;
use inkwell::llvm_sys::core::{
    LLVMConstInt, LLVMContextSetDiagnosticHandler, LLVMGetMDKindIDInContext, LLVMInt32TypeInContext,
    LLVMMDNodeInContext2, LLVMMDStringInContext2, LLVMMetadataAsValue, LLVMSetMetadata, LLVMValueAsMetadata,
};
use inkwell::llvm_sys::debuginfo::{LLVMMetadataReplaceAllUsesWith, LLVMTemporaryMDNode};
use inkwell::llvm_sys::prelude::{LLVMDiagnosticInfoRef, LLVMMetadataRef};
use inkwell::values::{AsValueRef, InstructionValue};
use lacunar_imp::{Block, ExprId, Function, Stmt, VarId};

/// The bytes of a vector in a loop that gathers.
const GATHER_BYTES: usize = 32;

/// How a loop should be vectorized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LoopHint {
    /// Elements of a vector.
    width: u32,
    /// Copies of the body that run at once.
    interleave: u32,
    /// What is left over runs in one more vector under a mask, rather than one element at a time.
    masked: bool,
}

impl LoopHint {
    /// The hint for a loop with a body: for those that read where something they have just read points to, and have
    /// nothing in them that keeps a loop from being vectorized. `masked` says that the processor has masked vectors.
    pub(super) fn for_body(function: &Function, body: &Block, masked: bool) -> Option<LoopHint> {
        let straight = |stmt: &Stmt| {
            matches!(stmt, Stmt::Load { .. } | Stmt::Define { .. } | Stmt::Assign { .. } | Stmt::Comment(_))
        };
        if !body.iter().all(straight) {
            return None;
        }
        let mut loaded: Vec<VarId> = Vec::new();
        let mut widest = 0;
        for stmt in body {
            if let Stmt::Load { var, array, index } = stmt {
                if reads(function, *index, &loaded) {
                    widest = widest.max(function.arrays[*array].elem.size());
                }
                loaded.push(*var);
            }
        }
        (widest > 0).then(|| LoopHint {
            width: (GATHER_BYTES / widest.min(GATHER_BYTES)) as u32,
            interleave: 1,
            masked,
        })
    }

    /// Puts the hint on the branch back to the start of a loop.
    pub(super) fn set<'ctx>(self, context: impl AsContextRef<'ctx>, latch: InstructionValue<'ctx>) {
        let context = context.as_ctx_ref();
        // SAFETY: every value belongs to `context`, which outlives them; names are passed with their lengths. The first
        // operand of a loop's node is the node itself, so a temporary one stands in its place while it is made.
        unsafe {
            let number = |name: &str, value: u32| -> LLVMMetadataRef {
                let value = LLVMConstInt(LLVMInt32TypeInContext(context), u64::from(value), 0);
                let mut pair =
                    [LLVMMDStringInContext2(context, name.as_ptr().cast(), name.len()), LLVMValueAsMetadata(value)];
                LLVMMDNodeInContext2(context, pair.as_mut_ptr(), pair.len())
            };
            let flag = |name: &str| -> LLVMMetadataRef {
                let value = LLVMConstInt(inkwell::llvm_sys::core::LLVMInt1TypeInContext(context), 1, 0);
                let mut pair =
                    [LLVMMDStringInContext2(context, name.as_ptr().cast(), name.len()), LLVMValueAsMetadata(value)];
                LLVMMDNodeInContext2(context, pair.as_mut_ptr(), pair.len())
            };
            let own = LLVMTemporaryMDNode(context, std::ptr::null_mut(), 0);
            let mut operands = vec![
                own,
                number("llvm.loop.vectorize.width", self.width),
                number("llvm.loop.interleave.count", self.interleave),
            ];
            if self.masked {
                operands.push(flag("llvm.loop.vectorize.predicate.enable"));
            }
            let node = LLVMMDNodeInContext2(context, operands.as_mut_ptr(), operands.len());
            LLVMMetadataReplaceAllUsesWith(own, node);
            let name = "llvm.loop";
            let kind = LLVMGetMDKindIDInContext(context, name.as_ptr().cast(), name.len() as u32);
            LLVMSetMetadata(latch.as_value_ref(), kind, LLVMMetadataAsValue(context, node));
        }
    }
}

/// Keeps LLVM from writing to the standard error what it thinks of a loop that it could not treat as asked.
pub(crate) fn silence<'ctx>(context: impl AsContextRef<'ctx>) {
    extern "C" fn ignore(_: LLVMDiagnosticInfoRef, _: *mut c_void) {}
    // SAFETY: the handler takes whatever it is given and outlives every context.
    unsafe { LLVMContextSetDiagnosticHandler(context.as_ctx_ref(), Some(ignore), std::ptr::null_mut()) };
}

/// Whether an expression reads one of some variables.
fn reads(function: &Function, expr: ExprId, vars: &[VarId]) -> bool {
    let expr = &function.exprs[expr];
    match expr {
        lacunar_imp::Expr::Var(var) => vars.contains(var),
        other => other.operands().into_iter().any(|operand| reads(function, operand, vars)),
    }
}

//! Loop metadata: hints to LLVM's vectorizer.
//!
//! Left to itself, the vectorizer runs a loop that gathers (`t += a[p] * x[crd[p]]`) in several interleaved copies of
//! wide vectors. This pays for long rows only: the remainder runs one element at a time, and rows of sparse matrices
//! are short. One 256-bit vector without interleaving, and the remainder in one more under a mask, was the best
//! compromise on seven matrices with 3 to 17,000 values a row (x86 with AVX-512; widths 1, 4 and 8, 1 to 8 copies, with
//! and without masks). It is up to 1.9 times as fast on short rows of varying length, and at most 1.2 times slower on
//! rows of exactly 7.
//!
//! A loop that is to be unrolled has metadata that says so.
//!
//! [`Needs`] says if there is anything for such passes to do. Most kernels have neither loops of constant length nor loops that LLVM
//! could vectorize: their vector loops are written out (`vector.rs`), and their other loops search, merge or scatter.
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
use inkwell::targets::TargetMachine;
use inkwell::values::{AsValueRef, InstructionValue};
use lacunar_formats::Kind;
use lacunar_imp::{BinaryOp, Block, Expr, ExprId, Function, Stmt, VarId};
use lacunar_machine::{Filling, Tuning};

use super::vector::Known;

/// The most iterations of a loop that LLVM unrolls whole.
const SHORT: i64 = 32;
/// The number of vectors that accumulate independent sums, so that an addition does not wait for the one before. (An Intel processor with AVX-512, 16 products a
/// sum, 8000 sums: vectors of 32 bytes take 9.7 us one by one, and 7.5 in twos; those of 64 bytes 7.6, 7.0, and 6.3 in fours, of which
/// short rows have none.)
const CHAINS: u32 = 2;

/// The bytes of a vector in a loop that gathers: by an instruction, or by inserts, which make halves of the widest vectors anyway.
const GATHER_BYTES: usize = 64;
const INSERT_BYTES: usize = 32;

/// The abilities of the processor's vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Vectors {
    /// The bytes of the widest.
    pub(super) bytes: usize,
    /// True if there are loads, gathers and arithmetic under a mask.
    pub(super) masked: bool,
    /// True if bytes can be compressed by a mask.
    pub(super) compresses_bytes: bool,
    /// True if there are conversions between `f16` and `f32`.
    pub(super) halves: bool,
    /// The way to fill a vector with elements that lie apart.
    pub(super) filling: Filling,
    /// The same in loops whose elements lie scattered ([`Lanes::scattered`](lacunar_imp::Lanes::scattered)).
    pub(super) filling_scattered: Filling,
}

impl Vectors {
    /// The vectors of a machine, as far as they are worth using.
    pub(super) fn of(machine: &TargetMachine, tuning: Tuning) -> Vectors {
        let (cpu, features) =
            (machine.get_cpu().to_string(), machine.get_feature_string().to_string_lossy().into_owned());
        let masked = features.contains("+avx512vl") || cpu == "x86-64-v4";
        let wide = features.contains("+avx2") || cpu == "x86-64-v3";
        Vectors {
            bytes: if masked {
                64.min(tuning.vector_bytes as usize)
            } else if wide {
                32
            } else {
                16
            },
            masked,
            compresses_bytes: masked && features.contains("+avx512vbmi2"),
            halves: features.contains("+f16c")
                || ["x86-64-v3", "x86-64-v4"].contains(&cpu.as_str())
                || cfg!(target_arch = "aarch64"),
            filling: tuning.filling,
            filling_scattered: tuning.filling_scattered,
        }
    }

    /// The bytes of a vector in a loop that gathers in a way.
    pub(super) fn gather_bytes(self, filling: Filling) -> usize {
        match filling {
            Filling::Gathers => self.bytes.min(GATHER_BYTES),
            Filling::Inserts => self.bytes.min(INSERT_BYTES),
        }
    }
}

/// The work that a function has for LLVM's passes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    /// True if there are loops that may be unrolled, vectorized or replaced by calls, or complex numbers, whose parts become vectors.
    pub(crate) loops: bool,
    /// True if the superword vectorizer has to be left out: [`converts_computed`].
    pub(crate) scalars: bool,
}

/// True if a function converts unsigned integers to real numbers that it has not just loaded.
///
/// LLVM 19's superword vectorizer computes integers in as few bits as they need, and then converts those that it takes as signed as if they
/// were not: two of `uitofp (sext i16 %x to i32)` become `uitofp <2 x i16>`, and -4 becomes 65532 instead of 4294967292. What is loaded
/// is not narrowed, and zeros are all that is left out of an unsigned number that is made wider.
pub(super) fn converts_computed(function: &Function) -> bool {
    fn collect(block: &Block, computed: &mut Vec<VarId>) {
        for stmt in block {
            match stmt {
                Stmt::Define { var, .. } | Stmt::Assign { var, .. } => computed.push(*var),
                Stmt::For { body, .. } | Stmt::While { body, .. } => collect(body, computed),
                Stmt::If { then, otherwise, .. } => {
                    collect(then, computed);
                    collect(otherwise, computed);
                }
                _ => {}
            }
        }
    }
    let is_unsigned = |expr: ExprId| function.type_of(expr).kind() == Kind::Unsigned;
    let converted: Vec<ExprId> = function
        .exprs
        .iter()
        .filter_map(|(_, expr)| match *expr {
            Expr::Cast(to, from) if is_unsigned(from) && matches!(to.kind(), Kind::Real | Kind::Complex) => Some(from),
            _ => None,
        })
        .collect();
    if converted.is_empty() {
        return false;
    }
    let mut computed = Vec::new();
    collect(&function.body, &mut computed);
    converted.into_iter().any(|mut expr| {
        loop {
            match function.exprs[expr] {
                Expr::Cast(_, from) if matches!(function.type_of(from).kind(), Kind::Unsigned | Kind::Bool) => {
                    expr = from
                }
                Expr::Var(var) => break computed.contains(&var),
                Expr::Const(_) => break false,
                _ => break true,
            }
        }
    })
}

/// True if LLVM may be able to vectorize a loop with a body, or to unroll it: all loops but those that have others in them, and
/// those that store at indices just read, where iterations may meet.
///
/// ```text
/// for p in begin .. end { let j = crd[p]; w[j] += a[p]; }     no
/// for p in begin .. end { let j = crd[p]; t = t + w[j]; }     yes
/// ```
pub(super) fn may_be_treated(function: &Function, body: &Block) -> bool {
    fn fits(function: &Function, body: &Block, loaded: &mut Vec<VarId>) -> bool {
        body.iter().all(|stmt| match stmt {
            Stmt::Define { .. } | Stmt::Assign { .. } | Stmt::Comment(_) => true,
            Stmt::Load { var, .. } => {
                loaded.push(*var);
                true
            }
            Stmt::Store { index, .. } => !reads(function, *index, loaded),
            Stmt::If { then, otherwise, .. } => fits(function, then, loaded) && fits(function, otherwise, loaded),
            _ => false,
        })
    }
    fits(function, body, &mut Vec::new())
}

/// True if a `while` loop counts a variable up in each turn and goes on as long as one comparison of it holds.
pub(super) fn counts(function: &Function, cond: ExprId, body: &Block) -> bool {
    let Expr::Compare(_, left, right) = function.exprs[cond] else { return false };
    let counted = |stmt: &Stmt| match *stmt {
        Stmt::Assign { var, value } => match function.exprs[value] {
            Expr::Binary(BinaryOp::Add, old, step) => {
                let compared = [left, right].iter().any(|side| reads(function, *side, &[var]));
                let ours = function.exprs[old] == Expr::Var(var);
                compared && ours && matches!(function.exprs[step], Expr::Const(_))
            }
            _ => false,
        },
        _ => false,
    };
    body.iter().any(counted)
}

/// The treatment of a loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LoopHint {
    /// Elements of a vector; 0: as LLVM likes.
    width: u32,
    /// Copies of the body that run at once; 0: as LLVM likes.
    interleave: u32,
    /// True if the remaining elements take one more vector under a mask, rather than one step each.
    masked: bool,
    /// The number of copies of the body; 0: one for every iteration.
    unroll: Option<u32>,
}

impl LoopHint {
    /// The hint for a loop with a body: for loops that index with elements just read, and contain nothing that keeps a
    /// loop from being vectorized.
    pub(super) fn for_body(function: &Function, body: &Block, vectors: Vectors) -> Option<LoopHint> {
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
                    widest = widest.max(function.arrays[*array].elem.arithmetic().size());
                }
                loaded.push(*var);
            }
        }
        (widest > 0).then(|| LoopHint {
            width: (vectors.gather_bytes(vectors.filling) / widest).max(1) as u32,
            interleave: 1,
            masked: vectors.masked,
            unroll: None,
        })
    }

    /// The hint for a loop around loops of a constant length, which are unrolled, with a body whose iterations work on neighbors: it has as
    /// many lanes as fit the machine's vectors, twice. Left to itself, LLVM takes half of them on Intel processors.
    pub(super) fn around(function: &Function, counter: VarId, body: &Block, vectors: Vectors) -> Option<LoopHint> {
        let is_short = |begin: ExprId, end: ExprId| {
            let ends = [begin, end].map(|end| match function.exprs[end] {
                Expr::Const(end) => i64::try_from(end.bits).ok(),
                _ => None,
            });
            matches!(ends, [Some(begin), Some(end)] if end.saturating_sub(begin) <= SHORT)
        };
        let loops = body.iter().filter_map(|stmt| match *stmt {
            Stmt::For { begin, end, .. } => Some(is_short(begin, end)),
            _ => None,
        });
        let are_short = loops.reduce(|all, is_short| all && is_short)?;
        let known = Known::of(function, counter, body).filter(|known| are_short && known.is_along(function, body))?;
        let width = vectors.bytes.checked_div(known.widest()).filter(|width| *width > 1)?;
        Some(LoopHint { width: width as u32, interleave: CHAINS, ..LoopHint::default() })
    }

    /// The hint for a loop that is to be vectorized (see `vector.rs`) and has something in it that only LLVM's
    /// vectorizer may be able to treat.
    pub(super) fn vector(function: &Function, body: &Block, width: u32, vectors: Vectors) -> LoopHint {
        let sizes = body.iter().filter_map(|stmt| match stmt {
            Stmt::Load { array, .. } | Stmt::Store { array, .. } => {
                Some(function.arrays[*array].elem.arithmetic().size())
            }
            _ => None,
        });
        let widest = sizes.max().unwrap_or(8);
        let width = if width == 0 { (vectors.bytes / widest) as u32 } else { width };
        LoopHint { width: width.next_power_of_two(), masked: vectors.masked, ..LoopHint::default() }
    }

    /// The hint for a loop whose body is to be repeated so often; 0: for every iteration.
    pub(super) fn unrolled(times: u32) -> LoopHint {
        LoopHint { unroll: Some(times), ..LoopHint::default() }
    }

    /// The hint for the remainder of a vector loop: a few iterations.
    pub(super) fn scalar() -> LoopHint {
        LoopHint { width: 1, interleave: 1, ..LoopHint::default() }
    }

    /// The hint for a loop that stays as it is.
    pub(super) fn kept() -> LoopHint {
        LoopHint { unroll: Some(1), ..LoopHint::scalar() }
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
            let word = |name: &str| -> LLVMMetadataRef {
                let mut name = LLVMMDStringInContext2(context, name.as_ptr().cast(), name.len());
                LLVMMDNodeInContext2(context, &mut name, 1)
            };
            let flag = |name: &str| -> LLVMMetadataRef {
                let value = LLVMConstInt(inkwell::llvm_sys::core::LLVMInt1TypeInContext(context), 1, 0);
                let mut pair =
                    [LLVMMDStringInContext2(context, name.as_ptr().cast(), name.len()), LLVMValueAsMetadata(value)];
                LLVMMDNodeInContext2(context, pair.as_mut_ptr(), pair.len())
            };
            let own = LLVMTemporaryMDNode(context, std::ptr::null_mut(), 0);
            let mut operands = vec![own];
            if self.width > 0 {
                operands.push(number("llvm.loop.vectorize.width", self.width));
            }
            if self.interleave > 0 {
                operands.push(number("llvm.loop.interleave.count", self.interleave));
            }
            if self.masked {
                operands.push(flag("llvm.loop.vectorize.predicate.enable"));
            }
            match self.unroll {
                Some(0) => operands.push(word("llvm.loop.unroll.full")),
                Some(times) => operands.push(number("llvm.loop.unroll.count", times)),
                None => {}
            }
            let node = LLVMMDNodeInContext2(context, operands.as_mut_ptr(), operands.len());
            LLVMMetadataReplaceAllUsesWith(own, node);
            let name = "llvm.loop";
            let kind = LLVMGetMDKindIDInContext(context, name.as_ptr().cast(), name.len() as u32);
            LLVMSetMetadata(latch.as_value_ref(), kind, LLVMMetadataAsValue(context, node));
        }
    }
}

/// Keeps LLVM from writing messages about loops that it could not treat as asked to standard error.
pub(crate) fn silence<'ctx>(context: impl AsContextRef<'ctx>) {
    extern "C" fn ignore(_: LLVMDiagnosticInfoRef, _: *mut c_void) {}
    // SAFETY: the handler takes whatever it is given and outlives every context.
    unsafe { LLVMContextSetDiagnosticHandler(context.as_ctx_ref(), Some(ignore), std::ptr::null_mut()) };
}

/// True if an expression reads one of some variables.
fn reads(function: &Function, expr: ExprId, vars: &[VarId]) -> bool {
    let expr = &function.exprs[expr];
    match expr {
        Expr::Var(var) => vars.contains(var),
        other => other.operands().into_iter().any(|operand| reads(function, operand, vars)),
    }
}

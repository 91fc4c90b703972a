//! Small arrays of constant size, which live on the stack: after loops over them are unrolled, in registers.
//!
//! ```text
//! alloc acc[32];                      %acc = alloca [32 x double], align 64
//! for k in 0 .. 32 { acc[k] = 0; }
//! ```

use lacunar_imp::{Arg, ArrayId, ArrayRole, Block, Callee, Expr, ExprId, Function, Stmt};

use super::Emitter;

/// The most bytes of one array, and of all arrays of a function.
const LARGEST: u64 = 4 << 10;
const MOST: u64 = 64 << 10;

/// By array: the number of its elements if it can live on the stack. These are local arrays that are neither grown nor
/// handed over, and are allocated with small constant sizes only.
pub(super) fn small_arrays(function: &Function) -> Vec<Option<u32>> {
    let mut sizes = vec![Size::Unknown; function.arrays.len()];
    visit(function, &function.body, &mut sizes);
    let mut total = 0;
    let fits = |(size, (_, array)): (Size, (_, &lacunar_imp::Array))| {
        let Size::Elements(len) = size else { return None };
        let bytes = len * array.elem.size() as u64;
        if array.role != ArrayRole::Local || bytes > LARGEST || total + bytes > MOST {
            return None;
        }
        total += bytes;
        u32::try_from(len).ok()
    };
    sizes.into_iter().zip(function.arrays.iter()).map(fits).collect()
}

impl Emitter<'_, '_> {
    /// The number of elements of an array that lives on the stack and that nobody else works on at the same time. Elements of
    /// it may be stored again as they are.
    pub(super) fn tile(&self, array: ArrayId) -> Option<u32> {
        self.stack[array.index()].filter(|_| !self.frame.shared.contains(&array))
    }
}

/// The knowledge of an array's size.
#[derive(Clone, Copy, PartialEq)]
enum Size {
    /// Nothing was allocated yet.
    Unknown,
    /// At most so many elements.
    Elements(u64),
    /// It varies, or the memory is handed over.
    Varies,
}

fn visit(function: &Function, block: &Block, sizes: &mut [Size]) {
    for stmt in block {
        match stmt {
            Stmt::Alloc { array, len, .. } => {
                let size = &mut sizes[array.index()];
                *size = match (*size, constant(function, *len)) {
                    (Size::Unknown, Some(len)) if len <= LARGEST => Size::Elements(len),
                    (Size::Elements(old), Some(len)) if len <= LARGEST => Size::Elements(old.max(len)),
                    _ => Size::Varies,
                };
            }
            Stmt::Grow { array, .. } | Stmt::Deposit { array, .. } | Stmt::Collect { array, .. } => {
                sizes[array.index()] = Size::Varies;
            }
            Stmt::Call { callee: Callee::Unpack | Callee::Marks, .. } => {}
            Stmt::Call { args, .. } => {
                for arg in args {
                    if let Arg::Array(array) = arg {
                        sizes[array.index()] = Size::Varies;
                    }
                }
            }
            Stmt::For { body, .. } | Stmt::While { body, .. } => visit(function, body, sizes),
            Stmt::If { then, otherwise, .. } => {
                visit(function, then, sizes);
                visit(function, otherwise, sizes);
            }
            _ => {}
        }
    }
}

fn constant(function: &Function, expr: ExprId) -> Option<u64> {
    match function.exprs[expr] {
        // A negative length is a huge one here.
        Expr::Const(constant) => Some(constant.bits),
        _ => None,
    }
}

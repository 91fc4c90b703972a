//! Random functions for differential tests: of back ends with the interpreter, of functions before and after a pass.
//!
//! A function is made from a seed, passes the verifier, ends within some ten thousand steps, stays inside its arrays
//! and reads nothing that it did not write. Over a few hundred seeds every operation, type, statement and runtime
//! function occurs.
//!
//! Results can be compared between machines that round differently: values that depend on rounding or on a mathematical
//! library decide no branch, index or integer, are not divided by, and enter sums linearly, so that differences stay
//! small; [`compare`] does it. Complex numbers stay finite, for the ways to multiply complex infinities differ. If the
//! function fails with a status, only the status is comparable.
//!
//! ```
//! use lacunar_imp::{generate, interpret, verify};
//! let (function, mut memory) = generate::function(7);
//! let mut again = generate::function(7).1;
//! let function = verify(function).unwrap();
//! assert_eq!(interpret(&function, &mut memory), interpret(&function, &mut again));
//! assert_eq!(generate::compare(&memory, &again, 0.0), Ok(()));
//! ```

use lacunar_base::random::{Draw, SplitMix};
use lacunar_formats::DType;

use crate::build::Builder;
use crate::ir::{ArrayId, ArrayRole, BinaryOp, Const, ExprId, Function, Param, Stmt, VarId};
use crate::memory::{ArrayData, Memory};

mod expr;
mod loops;
mod search;
mod stmt;

/// The length of all arrays that are not grown, a power of two.
const LEN: i64 = 8;

/// A random function and memory to run it on.
pub fn function(seed: u64) -> (Function, Memory) {
    let mut generator = Generator {
        b: Builder::new("random"),
        rng: SplitMix(seed),
        known: Vec::new(),
        places: Vec::new(),
        values: Vec::new(),
        inputs: Vec::new(),
        writable: Vec::new(),
        loops: 0,
        budget: 0,
        next_array: 0,
        in_parallel: false,
    };
    generator.b.set_strict(generator.rng.one_in(2));
    let mut memory = generator.parameters();
    generator.budget = 10 + generator.rng.below(30);
    while generator.budget > 0 {
        generator.stmt(3);
    }
    let function = generator.b.finish();
    // Grown arrays have been added on the way; they come in empty.
    let arrays = function.params.iter().filter_map(|&param| match param {
        Param::Array(array) => Some(&function.arrays[array]),
        Param::Scalar(_) => None,
    });
    let grown: Vec<ArrayData> =
        arrays.filter(|array| array.role == ArrayRole::Grown).map(|array| ArrayData::empty(array.elem)).collect();
    memory.arrays.extend(grown);
    (function, memory)
}

/// Compares the memory after two runs, reals to a relative and absolute `tolerance` (`F32` and `C64`: to no less than 1e-4, unless
/// it is 0). NaN equals NaN. The error tells the difference.
pub fn compare(a: &Memory, b: &Memory, tolerance: f64) -> Result<(), String> {
    if a.scalars != b.scalars || a.arrays.len() != b.arrays.len() {
        return Err("different parameters".to_string());
    }
    for (number, (left, right)) in a.arrays.iter().zip(&b.arrays).enumerate() {
        if left.len() != right.len() || left.dtype() != right.dtype() {
            return Err(format!("array {number} has {} and {} elements", left.len(), right.len()));
        }
        for index in 0..left.len() {
            let (Some(x), Some(y)) = (left.get(index), right.get(index)) else { continue };
            if !close(x, y, tolerance) {
                return Err(format!("element {index} of array {number}: {x} and {y}"));
            }
        }
    }
    Ok(())
}

fn close(a: Const, b: Const, tolerance: f64) -> bool {
    if !a.ty.is_float() {
        return a == b;
    }
    let least = match a.ty.part() {
        DType::F16 => 2e-3,
        DType::BF16 => 2e-2,
        DType::F32 => 1e-4,
        _ => 0.0,
    };
    let tolerance = if tolerance > 0.0 { tolerance.max(least) } else { tolerance };
    let near = |x: f64, y: f64| {
        x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= tolerance * x.abs().max(y.abs()).max(1.0)
    };
    near(a.re(), b.re()) && (!a.ty.is_complex() || near(a.im(), b.im()))
}

/// A variable that may be used.
#[derive(Clone, Copy)]
struct Known {
    expr: ExprId,
    ty: DType,
    /// If it is mutable and may be assigned to.
    mutable: Option<VarId>,
    worth: Worth,
}

/// The uses that a floating-point value is fit for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Worth {
    /// It adds up rounded values: it is only stored.
    Sum,
    /// It is rounded.
    Rounded,
    /// It is the same on every machine.
    Exact,
}

struct Generator {
    b: Builder,
    rng: SplitMix,
    known: Vec<Known>,
    /// Elements and values that were used and can be used again, as passes look for repetitions.
    places: Vec<(ArrayId, DType, ExprId)>,
    values: Vec<(ExprId, Worth)>,
    inputs: Vec<(ArrayId, DType)>,
    /// Output and local arrays of `LEN` defined elements.
    writable: Vec<(ArrayId, DType)>,
    loops: u32,
    /// The number of statements still to be made.
    budget: u64,
    next_array: u32,
    /// True if the statements to come stand in a parallel loop.
    in_parallel: bool,
}

impl Generator {
    /// Makes the parameters, and memory for them.
    fn dtype(&mut self) -> DType {
        let types: Vec<DType> = DType::ALL.into_iter().filter(|ty| ty.size() > 0).collect();
        self.rng.pick(&types).unwrap_or(DType::F64)
    }

    /// A type that operations take.
    fn operand_type(&mut self) -> DType {
        self.dtype().arithmetic()
    }

    fn parameters(&mut self) -> Memory {
        let mut memory = Memory::default();
        for number in 0..3 {
            let ty = self.dtype();
            let least = self.rng.below(LEN as u64 + 1);
            let input = self.b.array_param_with_len(&format!("a{number}"), ty, ArrayRole::Input, least);
            self.inputs.push((input, ty));
            memory.arrays.push(self.data(ty));
            let ty = if self.rng.one_in(3) { self.dtype() } else { ty };
            let output = self.b.array_param(&format!("y{number}"), ty, ArrayRole::Output);
            self.writable.push((output, ty));
            memory.arrays.push(self.data(ty));
        }
        for name in ["m", "n"] {
            let expr = self.b.scalar_param(name);
            self.known.push(Known { expr, ty: DType::I64, mutable: None, worth: Worth::Exact });
            memory.scalars.push(self.rng.below(LEN as u64 + 1) as i64);
        }
        // The last input is the one that ascends, for `lower_bound`.
        let ty = self.rng.pick(&[DType::U8, DType::U16, DType::U32, DType::U64]).unwrap_or(DType::U32);
        let sorted = self.b.array_param("sorted", ty, ArrayRole::Input);
        let mut values: Vec<i64> = (0..LEN).map(|_| self.rng.below(20) as i64).collect();
        values.sort_unstable();
        let values: Vec<Const> = values.into_iter().map(|value| Const::int(ty, value)).collect();
        memory.arrays.push(data_of(ty, &values));
        self.inputs.push((sorted, ty));
        memory
    }

    fn data(&mut self, ty: DType) -> ArrayData {
        let values: Vec<Const> = (0..LEN).map(|_| self.constant(ty)).collect();
        data_of(ty, &values)
    }

    /// A random constant; complex ones are finite and both parts differ from zero.
    fn constant(&mut self, ty: DType) -> Const {
        let extreme = self.rng.one_in(6);
        if ty.is_complex() {
            let mut part = || {
                let size = 1 + self.rng.below(16);
                if self.rng.one_in(2) { size as f64 / 8.0 } else { size as f64 / -8.0 }
            };
            let re = part();
            Const::complex(ty, re, part())
        } else if ty.is_real() {
            let special = [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
            let usual = (self.rng.below(65) as f64 - 32.0) / 8.0;
            let value = if extreme { self.rng.pick(&special).unwrap_or(usual) } else { usual };
            Const::real(ty, value)
        } else if extreme {
            let special = [0, 1, u64::MAX, 1 << 63, 1 << 7, 1 << 15, 1 << 31, i64::MAX as u64];
            crate::arith::wrap(ty, self.rng.pick(&special).unwrap_or(0))
        } else {
            crate::arith::wrap(ty, self.rng.below(24).wrapping_sub(8))
        }
    }

    /// A new local array of `LEN` elements, with values.
    fn local(&mut self, ty: DType) -> ArrayId {
        self.next_array += 1;
        let array = self.b.local_array(&format!("w{}", self.next_array), ty);
        let len = self.b.int(LEN);
        let zeroed = self.rng.one_in(2);
        self.b.alloc(array, len, zeroed);
        if !zeroed {
            let (begin, value) = (self.b.int(0), self.constant(ty));
            let value = self.b.constant(value);
            self.b.push(Stmt::Fill { array, begin, end: len, value });
        }
        array
    }

    /// The operations that may be accumulated with: integers take all, sums of reals stay linear.
    fn reductions(ty: DType) -> Vec<BinaryOp> {
        let tame = |op: &BinaryOp| {
            op.accepts(ty)
                && (!ty.is_float() || matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Min | BinaryOp::Max))
        };
        BinaryOp::ALL.into_iter().filter(tame).collect()
    }
}

/// An array of `LEN` constants, which is small enough for memory always to be found.
fn data_of(ty: DType, values: &[Const]) -> ArrayData {
    ArrayData::from_values(ty, values).unwrap_or_else(|_| ArrayData::empty(ty))
}

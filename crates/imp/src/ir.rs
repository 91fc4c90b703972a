//! The imperative IR: the operations of a kernel, with no tensor in it.
//!
//! # Meaning
//!
//! A [`Function`] has *parameters* (arrays and integer scalars), *local arrays*, *variables* and a [`Block`].
//! Running it executes the block and yields a status: 0, or the [`Status`] of the first statement that failed.
//!
//! **Expressions** are pure and live hash-consed in `Function::exprs`: equal handles mean equal values at one point of
//! execution. They read variables and never memory. An expression is evaluated where a statement uses it, every time
//! it is used. Operands precede their users in the arena.
//!
//! **Statements** have the effects: loads and stores, definitions and assignments, control flow, memory, calls. They
//! form a tree.
//!
//! **Variables.** An immutable variable is defined exactly once in the text ([`Stmt::Define`], [`Stmt::Load`], a loop's
//! counter, a call's result, or a scalar parameter) and is visible until the end of the block that defines it. A
//! mutable variable is also defined once (its declaration, which resets it every time it is executed) and may be
//! assigned to wherever it is visible.
//!
//! **Arithmetic.** Both operands of a binary operation have the type of the result. Integer `Add`, `Sub`, `Mul`, `Neg` wrap. `Div`
//! and `Rem` on integers truncate towards zero (`Rem` has the sign of the dividend); by zero they give 0; the smallest signed
//! integer divided by -1 wraps. Shifts take the amount modulo the type's number of bits. On `Bool`, `Add` and `Max` are or, `Mul`
//! and `Min` are and. Floating point is IEEE 754, but unless a function is `strict`, a sum may be reassociated and a product and
//! sum contracted. `Min`/`Max` on reals give NaN if either operand is NaN; of zeros of both signs they give either. Complex
//! products follow the textbook formula, complex quotients Smith's; where these give NaN, a back end may give infinity. Casts: to an integer
//! truncates towards zero and saturates (NaN gives 0); between integers wraps; to `Bool` tests for non-zero; real to complex has
//! imaginary part 0; complex to real takes the real part. `F16` and `BF16` are only stored: variables may hold them, select between
//! them and convert them, and no other operation takes them. They are converted by way of `F32`, which is rounded to the nearest,
//! ties to even. Nothing here has the type `Pattern`.
//!
//! **Words.** An unsigned number is also a set of small numbers: those of its bits that are 1, counted from the lowest. `bit(w, k)`
//! says if `k` is in the set, and `rank(w, k)` how many numbers less than `k` are; `k` is an `I64`, taken modulo the number of
//! bits. With `w` the word of a bitmap, `bit` says if a coordinate is stored and `rank` how many of the word are stored before it.
//! If `k` counts the lanes of a vector loop and `w` stays the same, the bits are a mask, and elements at `first + rank(w, k)` under
//! this mask are neighbors.
//!
//! **Index type.** Coordinates, positions, sizes and array indices are `I64`. Arrays of coordinates hold
//! unsigned numbers of any width; a load gives the array's element type, to be cast.
//!
//! **Arrays.** No two arrays of a function share memory. `Input` arrays are never written. An index must be at least 0
//! and below the array's capacity; back ends do not check this, the interpreter does. `Grown` and `Local` arrays start
//! with capacity 0; [`Stmt::Grow`] and [`Stmt::Alloc`] give them memory. Local arrays are released when the function
//! ends, however it ends. `Bool` arrays hold one byte an element, 0 or 1.
//!
//! **Loops.** [`Stmt::For`] evaluates its bounds once; the counter takes `begin, begin+1, ..` while it is below `end`.
//! [`Stmt::Break`] leaves the innermost loop, which is a `While` or a serial `For`. The kind of a loop says how it may be run:
//!
//! - *Serial*: one iteration after the other, in order, up to the one that leaves the loop, if any does.
//! - *Parallel*: iterations in any order, at the same time on several threads; each is meant to be a large piece of
//!   work. A variable declared outside is read and not assigned to. A local array that is allocated, grown or deposited
//!   in the body is the iteration's own: it is used nowhere else, has no memory when the iteration begins, and is
//!   released when it ends (unless it was deposited). Other arrays and lists of parts are neither allocated, grown nor
//!   collected inside. No iteration may store an element of an array from outside that another one loads or stores,
//!   except that several may combine with the same element by [`Stmt::Atomic`] of one operation, which none of them
//!   loads or stores otherwise. If one fails, the kernel ends with its status; others may have run or not. A parallel
//!   loop inside another runs serially. Iterations can share numbers out among themselves ([`Callee::Take`]): so data that are
//!   worth making once for each thread, and not for each piece of work, are made by an iteration that takes many pieces. They can
//!   tell each other that there is nothing left to do ([`Callee::Raised`]).
//! - *Vector*: as serial, but a back end may run up to `width` neighboring iterations (0: as many as suit the machine)
//!   at once, statement by statement. No iteration may store or assign a variable or an element that another one loads,
//!   stores, reads or assigns, except for reductions: a variable declared outside that the body uses in statements
//!   `v = v op e` of one associative `op` only, or an element at an index that is the same throughout, combined with by
//!   stores of one associative `op` and not loaded. These may be reassociated, unless the function is `strict`: then the
//!   loop is serial. A loop of definitions, assignments and loads alone may say that its loads are in bounds for all
//!   counters from `begin` up to a number `loads`, at or behind its end, if it has an iteration. A back end need not mask
//!   them there.
//! - *Unrolled*: as serial; a hint to repeat the body `times` for each turn of the loop (0: for every iteration, where
//!   the bounds are constants).
//!
//! **Parts.** An array of role `Parts` is a list of arrays, one for each iteration of a parallel loop whose results are
//! to stand one behind the other. [`Stmt::Alloc`] makes it a list of `len` empty parts; in the loop [`Stmt::Deposit`]
//! hands an iteration's own array over as one of them; after it [`Stmt::Collect`] appends all parts, in order, to a
//! grown or local array. So that positions that count from the beginning of their part become positions of the whole,
//! `Collect` can add to each element the number of elements that the parts before it have in another list.
//!
//! ```text
//! alloc C2_crd_parts[n];
//! for c in 0 .. n parallel {
//!   grow C2_crd_part[count]; ...
//!   deposit C2_crd_parts[c] = C2_crd_part[.. count];
//! }
//! let stored: i64 = collect C2_crd[0 ..] = C2_crd_parts;
//! let rows: i64 = collect C2_pos[1 ..] = C2_pos_parts + C2_crd_parts;
//! ```
//!
//! # Example
//!
//! Row sums of a CSR matrix, printed:
//!
//! ```text
//! kernel rowsum(in A_pos: u32[], in A_vals: f64[], out y_vals: f64[], m: i64) {
//!   for i in 0 .. m {
//!     let p0: u32 = A_pos[i];
//!     let p1: u32 = A_pos[i + 1];
//!     var t: f64 = 0.0;
//!     for p in i64(p0) .. i64(p1) {
//!       let v: f64 = A_vals[p];
//!       t = t + v;
//!     }
//!     y_vals[i] = t;
//!   }
//! }
//! ```

use lacunar_base::{Arena, Handle, UniqueArena};
pub use lacunar_formats::Scalar as Const;
use lacunar_formats::{DType, External};

pub use crate::ops::{BinaryOp, CompareOp, UnaryOp, WordOp};

/// Names a pure expression of a function.
pub type ExprId = Handle<Expr>;
/// Names a variable of a function.
pub type VarId = Handle<Var>;
/// Names an array of a function.
pub type ArrayId = Handle<Array>;

/// A kernel.
#[derive(Clone, Debug, Default)]
pub struct Function {
    /// Its name: an identifier of C.
    pub name: String,
    /// True if sums must not be reassociated nor products and sums contracted.
    pub strict: bool,
    /// Parameters, in the order of the kernel interface.
    pub params: Vec<Param>,
    /// Arrays: parameters and locals.
    pub arrays: Arena<Array>,
    /// Variables, scalar parameters included.
    pub vars: Arena<Var>,
    /// Expressions, hash-consed.
    pub exprs: UniqueArena<Expr>,
    /// The statements of its body.
    pub body: Block,
}

/// A parameter of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Param {
    /// An array whose role is not `Local`.
    Array(ArrayId),
    /// An immutable variable of type `I64`.
    Scalar(VarId),
}

/// An array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    /// Its name: an identifier of C, unique among arrays and variables of the function.
    pub name: String,
    /// The type of its elements.
    pub elem: DType,
    /// The owner and the use of its memory.
    pub role: ArrayRole,
    /// The number of elements that a parameter is certain to have, so that these may be read early. `Grown` and `Local` arrays: 0.
    pub min_len: u64,
}

/// The owner of an array's memory, and its permitted use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArrayRole {
    /// The caller's, only read. Printed `in`.
    Input,
    /// The caller's, read and written, of fixed capacity. Printed `out`.
    Output,
    /// Allocated by the kernel and handed to the caller. Printed `grown`.
    Grown,
    /// Allocated by the kernel and released at its end.
    Local,
    /// Allocated by the kernel and released at its end: a list of arrays, filled by the iterations of a parallel loop.
    /// It is used by [`Stmt::Alloc`], [`Stmt::Deposit`] and [`Stmt::Collect`] only. Printed `parts`.
    Parts,
}

/// A variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Var {
    /// Its name: an identifier of C, unique among arrays and variables of the function.
    pub name: String,
    /// Its type.
    pub ty: DType,
    /// True if it can be assigned to after its definition.
    pub mutable: bool,
}

/// Statements in order.
pub type Block = Vec<Stmt>;

/// A pure expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Expr {
    /// A constant.
    Const(Const),
    /// The value of a variable.
    Var(VarId),
    /// An operation on one operand; the result has its type (but see [`UnaryOp::Abs`], [`UnaryOp::Not`]).
    Unary(UnaryOp, ExprId),
    /// An operation on two operands of one type, which is also the result's.
    Binary(BinaryOp, ExprId, ExprId),
    /// A comparison of two operands of one type (ordering: not complex); the result is `Bool`.
    Compare(CompareOp, ExprId, ExprId),
    /// `condition ? then : otherwise`; all three are evaluated.
    Select(ExprId, ExprId, ExprId),
    /// Conversion to a type.
    Cast(DType, ExprId),
    /// A question to a word, an unsigned number, about the place of a bit, of type `I64`.
    Word(WordOp, ExprId, ExprId),
    /// A call of a function of other code, which gives the same value for the same operands and does nothing else.
    Extern(External, ExprId, Option<ExprId>),
}

/// The way in which a `for` loop may be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum LoopKind {
    /// One iteration after the other.
    #[default]
    Serial,
    /// Iterations on several threads.
    Parallel,
    /// Several neighboring iterations at once.
    Vector(Lanes),
    /// The body repeated for each turn.
    Unrolled(Turns),
}

impl LoopKind {
    /// As many neighboring iterations at once as suit the machine.
    pub const VECTOR: LoopKind = LoopKind::Vector(Lanes { width: 0, steady: false, near: false, scattered: false });
}

/// The turns of a loop whose body is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Turns {
    /// The number of times that each turn repeats the body; 0: for every iteration.
    pub times: u32,
    /// True if the caches hold what the loop reads by its counter.
    pub near: bool,
}

/// The neighboring iterations that a vector loop takes at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Lanes {
    /// Up to so many; 0: as many as suit the machine.
    pub width: u32,
    /// True if the loop runs over segments whose lengths are steady: a processor foresees most branches that depend on them.
    pub steady: bool,
    /// True if the caches hold what the loop reads by its counter.
    pub near: bool,
    /// True if that comes from memory, and what the loop gathers lies scattered over the third level of caches.
    pub scattered: bool,
}

/// The reason why a kernel stopped. The numbers are the kernel's return values; 3 is that of a process that cancels it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Status {
    /// Memory could not be allocated.
    OutOfMemory = 1,
    /// A size or position does not fit its type.
    SizeOverflow = 2,
    /// The caller hands over an array that is shorter than the sizes say, or memory that is not there.
    TooShort = 4,
    /// The caller says of an array that its elements are of another type.
    WrongType = 5,
    /// The caller hands over a size that none can be.
    WrongSize = 6,
    /// A value that is an index lies outside of its dimension.
    OutOfRange = 7,
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Stmt {
    /// Declares a variable and gives it a value. `let x: i64 = e;`, `var x: i64 = e;`
    Define {
        /// The variable.
        var: VarId,
        /// Its value; of the variable's type.
        value: ExprId,
    },
    /// Gives a mutable variable a new value. `x = e;`
    Assign {
        /// The variable.
        var: VarId,
        /// Its value; of the variable's type.
        value: ExprId,
    },
    /// Declares an immutable variable with an element of an array. `let x: f64 = a[e];`
    Load {
        /// The variable; of the array's element type.
        var: VarId,
        /// The array.
        array: ArrayId,
        /// The index of the element.
        index: ExprId,
    },
    /// Writes an element. `a[e] = v;`, or `a[e] += v;` with a reduction.
    Store {
        /// The array, not an input.
        array: ArrayId,
        /// The index of the element.
        index: ExprId,
        /// The value that is written, or combined with the old one.
        value: ExprId,
        /// Combine with the old value instead of replacing it.
        reduce: Option<BinaryOp>,
        /// For a value that replaces another: if this condition holds, nobody reads the element soon, and a back end may write it
        /// past the caches. It changes no value. `a[e] = v past c;`
        past: Option<ExprId>,
    },
    /// Says that elements `begin .. end` of an input may be loaded soon: a back end may bring them near. It changes no value,
    /// and the elements need not be there. `prefetch a[b .. e];`
    Prefetch {
        /// The array, an input.
        array: ArrayId,
        /// First element.
        begin: ExprId,
        /// One past the last element.
        end: ExprId,
    },
    /// A counted loop. `for i in b .. e { .. }`
    For {
        /// The counter, of type `I64`, immutable.
        var: VarId,
        /// Its first value.
        begin: ExprId,
        /// One past its last value.
        end: ExprId,
        /// For a vector loop: a number of iterations, counted from 0, whose loads are in bounds, also behind the end. A back end
        /// may carry out their loads, and leave these out of the reductions. `for i in b .. e vector loads l { .. }`
        loads: Option<ExprId>,
        /// The way in which it may be run.
        kind: LoopKind,
        /// The statements of the body.
        body: Block,
    },
    /// Repeats while a condition over variables holds. `while c { .. }`
    While {
        /// The condition.
        cond: ExprId,
        /// The statements of the body.
        body: Block,
    },
    /// Leaves the innermost loop, a `while` or a serial `for` (not across a loop of another kind). `break;`
    Break,
    /// `if c { .. } else { .. }`
    If {
        /// The condition.
        cond: ExprId,
        /// The statements if it holds.
        then: Block,
        /// The statements if it does not.
        otherwise: Block,
    },
    /// Gives a local array memory for `len` elements, dropping its contents; makes a list of parts one of `len` empty
    /// parts. `alloc a[len];`, `alloc a[len] = 0;`
    Alloc {
        /// The array, `Local` or `Parts`.
        array: ArrayId,
        /// The number of elements; a negative number is a `SizeOverflow`.
        len: ExprId,
        /// True if the elements are zero; otherwise they are undefined.
        zeroed: bool,
    },
    /// Makes sure that a `Grown` or `Local` array has room for `count * block` elements, keeping its content; a
    /// negative factor, or a product that does not fit, is a `SizeOverflow`. Memory grows at least twofold, so that
    /// appending is linear in total, but a function may only count on the largest capacity that it has asked for.
    /// `grow a[count * block];`, `grow a[count * block] = 0;`, and `grow a[count];` if a block is one element
    Grow {
        /// The array.
        array: ArrayId,
        /// The number of blocks.
        count: ExprId,
        /// The number of elements of a block.
        block: ExprId,
        /// True if new memory is zeroed; otherwise its elements are undefined. New elements are zero for certain only if this and
        /// every earlier `Grow` of the array are zeroed.
        zeroed: bool,
    },
    /// Combines an element with a value, indivisibly where the iterations of a parallel loop meet.
    /// `atomic a[e] += v;`
    Atomic {
        /// The array, not an input.
        array: ArrayId,
        /// The index of the element.
        index: ExprId,
        /// The value that it is combined with.
        value: ExprId,
        /// The operation: `Add`, `Min`, `Max`, `And`, `Or` or `Xor`.
        op: BinaryOp,
    },
    /// Makes the first `len` elements of an iteration's own array part number `slot` of a list; the array has no memory
    /// afterwards. Each part is deposited once at most. The array belongs to the innermost parallel loop.
    /// `deposit p[slot] = a[.. len];`
    Deposit {
        /// The list, of role `Parts` and the array's element type.
        parts: ArrayId,
        /// The number of the part.
        slot: ExprId,
        /// The array, `Local`, the iteration's own.
        array: ArrayId,
        /// The number of its elements; at most its capacity.
        len: ExprId,
    },
    /// Grows an array as far as needed and puts all parts of a list into it, in order, from `at` on. The list has no
    /// parts afterwards. `result` is one past the last element written, or `at`.
    /// `let n: i64 = collect a[at ..] = p + q;`
    Collect {
        /// The array, `Grown` or `Local`.
        array: ArrayId,
        /// The index at which the first part begins; at most the array's capacity.
        at: ExprId,
        /// The list, of the array's element type.
        parts: ArrayId,
        /// To each element of part `c`, an integer, the number of elements in the parts before part `c` of this other
        /// list is added; it has as many parts, and has not been collected yet. A sum that does not fit the element
        /// type is a `SizeOverflow`.
        bias: Option<ArrayId>,
        /// The immutable variable, of type `I64`, that takes the end.
        result: VarId,
    },
    /// Writes one value to `begin .. end`; to nothing unless `begin < end`. `fill a[b .. e] = v;`
    Fill {
        /// The array, not an input.
        array: ArrayId,
        /// First element.
        begin: ExprId,
        /// One past the last element.
        end: ExprId,
        /// The value.
        value: ExprId,
    },
    /// Calls a function of the runtime. `let n: i64 = sort_combine(..);`
    Call {
        /// The function.
        callee: Callee,
        /// Arrays and scalars, as the callee demands.
        args: Vec<Arg>,
        /// The immutable variable that takes the result, if there is one.
        result: Option<VarId>,
    },
    /// Ends the kernel with a status. `fail size_overflow;`
    Fail(Status),
    /// A remark for readers.
    Comment(String),
}

/// An argument of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arg {
    /// An array.
    Array(ArrayId),
    /// A value.
    Scalar(ExprId),
}

/// A function of the runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Callee {
    /// `lower_bound(a, begin, end, key) -> I64`: the first `p` of `begin .. end` with `a[p] >= key`, else `end`. `a` is
    /// an array of an unsigned type, ascending in the range, with `begin <= end`; `key` is `I64`.
    LowerBound,
    /// `sort_marked(list, n, marks, size)`: `list[0..n]` (`I64`) are the `n` distinct coordinates `k` below `size`
    /// whose `marks[k]` (`Bool`) is true, in any order; afterwards they ascend. `marks` is only read.
    SortMarked,
    /// `sort_combine(n, values, key_0, .., key_r) -> I64`: sorts the first `n` entries by their keys (`I64` arrays,
    /// `key_0` most significant), adds up the values of equal keys, and gives the number of entries left; the elements
    /// behind these, up to `n`, are undefined. The arrays differ. Fails with `OutOfMemory`.
    SortCombine,
    /// `unpack(list, at, word, base) -> I64`: writes `base + k` for each 1 of `word` (`U64`), at bit `k`, to `list` (`U16`)
    /// from `at` on, ascending, and gives their number. The elements behind them, up to `at + 64`, which the list has room
    /// for, are undefined afterwards. `0 <= base <= 65472`.
    Unpack,
    /// `marks(a, at) -> I64`: 64 elements of `a` (`Bool`) from `at` on as a set of bits: bit `k` is `a[at + k]`. `a` is only
    /// read.
    Marks,
    /// `take(a) -> I64`: the first element of `a` (`I64`), which is one more afterwards, indivisibly where the iterations of a
    /// parallel loop meet: they share the numbered work, and each number is taken once. No iteration uses that element
    /// otherwise. The work of an iteration after it takes a number may be done at the same time as its work before, but for
    /// its own variables and arrays: it must not depend on which iteration takes which numbers.
    Take,
    /// `raised(a) -> I64`: 1 if the first element of `a` (`Bool`) is true, else 0. Iterations of a parallel loop may raise such a
    /// flag by `atomic a[0] |= true`, and use the array in no other way. If an iteration raises it at the same time, the result is
    /// either: the values that the loop computes must not depend on it, only the time that it takes.
    Raised,
    /// `length(a) -> I64`: the number of a parameter's elements by the caller's word, which may be more than there are;
    /// not in a parallel loop. Fails with `WrongType` where the caller says that they are of another type, and with
    /// `TooShort` where it says that there are some but gives no memory. (The interpreter's callers give the length.)
    Length,
}

//! The functions in C that a kernel needs because C has no operator with the IR's meaning.
//!
//! Each [`Helper`] is one C function (or a few) with its text; a printed file holds those that its kernels use and no
//! others, so that a compiler has nothing to warn of.
//!
//! `Helper::Max(DType::F32)` is
//!
//! ```text
//! /* The larger of two numbers; NaN if either is. */
//! static inline float lac_max_f32(float a, float b) { return a > b || a != a ? a : b; }
//! ```

use std::collections::BTreeSet;

use lacunar_formats::{DType, External, Kind, Signature};
use lacunar_imp::{BinaryOp, LENGTH_BITS, WordOp};

use crate::types::{c_type, integer_range, wrapping_type};

mod length;
mod text;

use length::LENGTH;
use text::{
    ABS, ALLOCATE, ATOMIC, BIT, COUNT_ONES, DIV_SIGNED, DIV_UNSIGNED, ELEMENTS, FROM_BF16, FROM_F16, GNU, GROW,
    JOIN_PARTS, JOIN_SHIFTED, LOWER_BOUND, MAKE, MARKS, MAX_INTEGER, MAX_REAL, MEMORY, MIN_INTEGER, MIN_REAL, NEG, OMP,
    PART, PLACE_PARTS, POW, POW_NEGATIVE, PREFETCH, RAISED, RANK, RELEASE, RELEASE_PARTS, REM_SIGNED, REM_UNSIGNED,
    SHIFT, SIGN_INTEGER, SIGN_REAL, SORT_COMBINE, SORT_MARKED, SORT_ORDER, TAKE, TO_BF16, TO_F16, TO_INTEGER,
    TRAILING_ZEROS, UNPACK, VERSIONS, WRAPPING,
};

/// A function of the printed file; the order is the order in the file, so a helper comes after those it calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Helper {
    /// Versions of a function for several processors, where the compiler makes them.
    Versions,
    /// A directive for OpenMP, if that is on.
    Omp,
    /// A directive for GCC and its like.
    Gnu,
    /// A function of the process that the code runs in.
    Extern(External),
    /// A complex number from its parts.
    Make(DType),
    /// `-a`, wrapping.
    Neg(DType),
    /// `a + b`, wrapping.
    Add(DType),
    /// `a - b`, wrapping.
    Sub(DType),
    /// `a * b`, wrapping.
    Mul(DType),
    /// `a / b` of integers, defined for every `b`.
    Div(DType),
    /// `a % b` of integers, defined for every `b`.
    Rem(DType),
    /// Powers of integers.
    Pow(DType),
    /// The absolute value of a signed integer, wrapping.
    Abs(DType),
    /// -1, 0 or 1.
    Sign(DType),
    /// The smaller.
    Min(DType),
    /// The larger.
    Max(DType),
    /// Bits moved up, by the amount modulo their number.
    Shl(DType),
    /// Bits moved down, by the amount modulo their number.
    Shr(DType),
    /// The number of ones among the bits.
    CountOnes(DType),
    /// The number of zeros below the lowest one.
    TrailingZeros(DType),
    /// A question to the bits of a word.
    Word(WordOp, DType),
    /// An element combined with a value, indivisibly.
    Atomic(BinaryOp, DType),
    /// A real number to an integer, saturating.
    ToInteger(DType),
    /// `F16` or `BF16` as a `float`.
    Widen(DType),
    /// A `float` as `F16` or `BF16`.
    Narrow(DType),
    /// The first element not below a key.
    LowerBound(DType),
    /// The length of an array that the caller hands over.
    Length,
    /// The ones of a word, as a list.
    Unpack,
    /// 64 marks as bits.
    Marks,
    /// A number that threads share out among themselves.
    Take,
    /// A flag that threads raise.
    Raised,
    /// Elements brought near.
    Prefetch,
    /// The description of an array's memory.
    Memory,
    /// Memory given back.
    Release,
    /// Memory for a local array.
    Allocate,
    /// `count * block`, if it fits.
    Elements,
    /// More memory for an array.
    Grow,
    /// A list of marked coordinates, sorted.
    SortMarked,
    /// An array that a parallel iteration has made.
    Part,
    /// A list of parts given back.
    ReleaseParts,
    /// Parts put behind each other.
    PlaceParts,
    /// Parts moved to an array.
    JoinParts,
    /// Parts moved to an array, with lengths added.
    JoinShifted(DType),
    /// The order of entries by their keys.
    SortOrder,
    /// Entries sorted, equal ones added up.
    SortCombine(DType),
}

impl Helper {
    /// The name of the C function.
    pub fn name(self) -> String {
        match self {
            Helper::Versions => "LACUNAR_VERSIONS".to_string(),
            Helper::Omp => "LACUNAR_OMP".to_string(),
            Helper::Gnu => "LACUNAR_GNU".to_string(),
            Helper::Extern(function) => format!("lac_extern_{}", function.name()),
            Helper::Make(ty) => format!("lac_make_{ty}"),
            Helper::Neg(ty) => format!("lac_neg_{ty}"),
            Helper::Add(ty) => format!("lac_add_{ty}"),
            Helper::Sub(ty) => format!("lac_sub_{ty}"),
            Helper::Mul(ty) => format!("lac_mul_{ty}"),
            Helper::Div(ty) => format!("lac_div_{ty}"),
            Helper::Rem(ty) => format!("lac_rem_{ty}"),
            Helper::Pow(ty) => format!("lac_pow_{ty}"),
            Helper::Abs(ty) => format!("lac_abs_{ty}"),
            Helper::Sign(ty) => format!("lac_sign_{ty}"),
            Helper::Min(ty) => format!("lac_min_{ty}"),
            Helper::Max(ty) => format!("lac_max_{ty}"),
            Helper::Shl(ty) => format!("lac_shl_{ty}"),
            Helper::Shr(ty) => format!("lac_shr_{ty}"),
            Helper::CountOnes(ty) => format!("lac_count_ones_{ty}"),
            Helper::TrailingZeros(ty) => format!("lac_trailing_zeros_{ty}"),
            Helper::Word(op, ty) => format!("lac_{}_{ty}", op.name()),
            Helper::Atomic(op, ty) => format!("lac_atomic_{}_{ty}", word(op)),
            Helper::ToInteger(ty) => format!("lac_to_{ty}"),
            Helper::Widen(ty) => format!("lac_from_{ty}"),
            Helper::Narrow(ty) => format!("lac_to_{ty}"),
            Helper::LowerBound(ty) => format!("lac_lower_bound_{ty}"),
            Helper::Length => "lac_length".to_string(),
            Helper::Unpack => "lac_unpack".to_string(),
            Helper::Marks => "lac_marks".to_string(),
            Helper::Take => "lac_take".to_string(),
            Helper::Raised => "lac_raised".to_string(),
            Helper::Prefetch => "lac_prefetch".to_string(),
            Helper::Memory => "lac_memory".to_string(),
            Helper::Release => "lac_release".to_string(),
            Helper::Allocate => "lac_allocate".to_string(),
            Helper::Elements => "lac_elements".to_string(),
            Helper::Grow => "lac_grow".to_string(),
            Helper::SortMarked => "lac_sort_marked".to_string(),
            Helper::Part => "lac_part".to_string(),
            Helper::ReleaseParts => "lac_release_parts".to_string(),
            Helper::PlaceParts => "lac_place_parts".to_string(),
            Helper::JoinParts => "lac_join_parts".to_string(),
            Helper::JoinShifted(ty) => format!("lac_join_shifted_{ty}"),
            Helper::SortOrder => "lac_sort_order".to_string(),
            Helper::SortCombine(ty) => format!("lac_sort_combine_{ty}"),
        }
    }

    /// The helpers whose functions this one's call.
    fn calls(self) -> Vec<Helper> {
        match self {
            Helper::Atomic(BinaryOp::Min, ty) => vec![Helper::Omp, Helper::Min(ty)],
            Helper::Atomic(BinaryOp::Max, ty) => vec![Helper::Omp, Helper::Max(ty)],
            Helper::Atomic(BinaryOp::Add, ty) => vec![Helper::Omp, Helper::Add(ty)],
            Helper::Atomic(..) | Helper::Take | Helper::Raised => vec![Helper::Omp],
            Helper::Allocate => vec![Helper::Memory, Helper::Release],
            Helper::Grow => vec![Helper::Memory],
            Helper::ReleaseParts => vec![Helper::Part, Helper::Release],
            Helper::PlaceParts => vec![Helper::Part],
            Helper::JoinParts | Helper::JoinShifted(_) => vec![Helper::Omp, Helper::Part, Helper::Release],
            Helper::Unpack => vec![Helper::TrailingZeros(DType::U64)],
            Helper::Word(WordOp::Rank, ty) => vec![Helper::CountOnes(ty)],
            Helper::Pow(ty) if wraps_by_function(ty) => vec![Helper::Mul(ty)],
            Helper::Abs(ty) => vec![Helper::Neg(ty)],
            Helper::Div(ty) if ty.kind() == Kind::Signed => vec![Helper::Neg(ty)],
            Helper::SortCombine(ty) if wraps_by_function(ty) => vec![Helper::SortOrder, Helper::Add(ty)],
            Helper::SortCombine(_) => vec![Helper::SortOrder],
            _ => Vec::new(),
        }
    }

    /// The text of the function.
    fn text(self) -> String {
        let name = self.name();
        match self {
            Helper::Versions => VERSIONS.to_string(),
            Helper::Omp => OMP.to_string(),
            Helper::Gnu => GNU.to_string(),
            Helper::Extern(function) => external(function),
            Helper::Make(ty) => MAKE.replace("{part}", c_type(ty.part())).replace("{T}", c_type(ty)),
            Helper::Neg(ty) => binary_wrap(NEG, ty),
            Helper::Add(ty) => binary_wrap(WRAPPING, ty).replace("{op}", "+"),
            Helper::Sub(ty) => binary_wrap(WRAPPING, ty).replace("{op}", "-"),
            Helper::Mul(ty) => binary_wrap(WRAPPING, ty).replace("{op}", "*"),
            Helper::Div(ty) => typed(if ty.kind() == Kind::Signed { DIV_SIGNED } else { DIV_UNSIGNED }, ty),
            Helper::Rem(ty) => typed(if ty.kind() == Kind::Signed { REM_SIGNED } else { REM_UNSIGNED }, ty),
            Helper::Pow(ty) => {
                let negative = if ty.kind() == Kind::Signed { POW_NEGATIVE } else { "" };
                let product = |a, b| {
                    if wraps_by_function(ty) { format!("lac_mul_{ty}({a}, {b})") } else { format!("{a} * {b}") }
                };
                let text = POW.replace("{negative}", negative).replace("{result * a}", &product("result", "a"));
                typed(&text.replace("{a * a}", &product("a", "a")), ty)
            }
            Helper::Abs(ty) => typed(ABS, ty),
            Helper::Sign(ty) => typed(if ty.is_real() { SIGN_REAL } else { SIGN_INTEGER }, ty),
            Helper::Min(ty) => typed(if ty.is_real() { MIN_REAL } else { MIN_INTEGER }, ty),
            Helper::Max(ty) => typed(if ty.is_real() { MAX_REAL } else { MAX_INTEGER }, ty),
            Helper::Shl(ty) => bitwise(SHIFT, ty).replace("{op}", "<<").replace("{way}", "up"),
            Helper::Shr(ty) => bitwise(SHIFT, ty).replace("{op}", ">>").replace("{way}", "down"),
            Helper::CountOnes(ty) => bitwise(COUNT_ONES, ty),
            Helper::TrailingZeros(ty) => bitwise(TRAILING_ZEROS, ty),
            Helper::Word(op, ty) => bitwise(if op == WordOp::Bit { BIT } else { RANK }, ty),
            Helper::Atomic(op, ty) => typed(ATOMIC, ty).replace("{combined}", &combined(op, ty)),
            Helper::ToInteger(ty) => to_integer(ty),
            Helper::Widen(DType::BF16) => FROM_BF16.to_string(),
            Helper::Widen(_) => FROM_F16.to_string(),
            Helper::Narrow(DType::BF16) => TO_BF16.to_string(),
            Helper::Narrow(_) => TO_F16.to_string(),
            Helper::LowerBound(ty) => typed(LOWER_BOUND, ty),
            Helper::Length => LENGTH.replace("{bits}", &LENGTH_BITS.to_string()),
            Helper::Unpack => UNPACK.to_string(),
            Helper::Marks => MARKS.to_string(),
            Helper::Take => TAKE.to_string(),
            Helper::Raised => RAISED.to_string(),
            Helper::Prefetch => PREFETCH.to_string(),
            Helper::Memory => MEMORY.to_string(),
            Helper::Release => RELEASE.to_string(),
            Helper::Allocate => ALLOCATE.to_string(),
            Helper::Elements => ELEMENTS.to_string(),
            Helper::Grow => GROW.to_string(),
            Helper::SortMarked => SORT_MARKED.to_string(),
            Helper::Part => PART.to_string(),
            Helper::ReleaseParts => RELEASE_PARTS.to_string(),
            Helper::PlaceParts => PLACE_PARTS.to_string(),
            Helper::JoinParts => JOIN_PARTS.to_string(),
            Helper::JoinShifted(ty) => typed(JOIN_SHIFTED, ty).replace("{sum}", &shifted_sum(ty)),
            Helper::SortOrder => SORT_ORDER.to_string(),
            Helper::SortCombine(ty) => {
                let sum = if ty == DType::Bool {
                    "total || value".to_string()
                } else if wraps_by_function(ty) {
                    format!("lac_add_{ty}(total, value)")
                } else {
                    "total + value".to_string()
                };
                let number = DType::ALL.iter().position(|&other| other == ty).unwrap_or_default();
                typed(SORT_COMBINE, ty).replace("{sum}", &sum).replace("{number}", &number.to_string())
            }
        }
        .replace("{name}", &name)
    }

    /// The header of C's library that the function needs.
    fn includes(self) -> &'static [&'static str] {
        match self {
            Helper::Make(_) | Helper::Widen(_) | Helper::Narrow(_) => &["string.h"],
            Helper::Release | Helper::SortMarked => &["stdlib.h"],
            Helper::Allocate => &["stdlib.h"],
            Helper::Grow => &["stdlib.h", "string.h"],
            Helper::SortCombine(_) => &["stdlib.h", "string.h"],
            Helper::JoinParts => &["string.h"],
            _ => &[],
        }
    }
}

/// The helpers and headers that a file uses.
#[derive(Clone, Debug, Default)]
pub struct Helpers {
    used: BTreeSet<Helper>,
    includes: BTreeSet<&'static str>,
}

impl Helpers {
    /// Notes that a helper is used and gives the name of its function.
    pub fn name(&mut self, helper: Helper) -> String {
        self.add(helper);
        helper.name()
    }

    /// Adds another kernel's helpers.
    pub fn merge(&mut self, other: Helpers) {
        self.used.extend(other.used);
        self.includes.extend(other.includes);
    }

    /// Notes that a header of C's library is used.
    pub fn include(&mut self, header: &'static str) {
        self.includes.insert(header);
    }

    fn add(&mut self, helper: Helper) {
        if self.used.insert(helper) {
            self.includes.extend(helper.includes());
            for callee in helper.calls() {
                self.add(callee);
            }
        }
    }

    /// The headers of C's library that the helpers and kernels need.
    pub fn includes(&self) -> &BTreeSet<&'static str> {
        &self.includes
    }

    /// The functions, in an order in which each is declared before it is called.
    pub fn text(&self) -> String {
        self.used.iter().map(|helper| helper.text() + "\n").collect()
    }
}

/// True if wrapping arithmetic on this integer type takes a function: C's operators would overflow (signed types) or
/// give an `int` (short types).
pub fn wraps_by_function(ty: DType) -> bool {
    ty.is_integer() && !matches!(ty, DType::U32 | DType::U64)
}

/// The name of a function of the process, by its address there.
fn external(function: External) -> String {
    let Signature { operand, operands, result } = function.signature();
    let (result, operands) = (c_type(result), vec![c_type(operand); operands].join(", "));
    let name = Helper::Extern(function).name();
    format!(
        "/* `{}`, at its place in the process that this code is compiled for. */\n\
         static {result} (*const {name})({operands}) = ({result} (*)({operands}))UINT64_C({});\n",
        function.name(),
        function.address()
    )
}

fn typed(text: &str, ty: DType) -> String {
    text.replace("{T}", c_type(ty)).replace("{t}", ty.name())
}

/// The text of a function on the bits of a number, for a type.
fn bitwise(text: &str, ty: DType) -> String {
    let bits = 8 * ty.size();
    typed(text, ty).replace("{bits}", &bits.to_string()).replace("{last}", &(bits - 1).to_string())
}

fn binary_wrap(text: &str, ty: DType) -> String {
    text.replace("{U}", wrapping_type(ty)).replace("{T}", c_type(ty))
}

/// The statements that add `shift`, which is not negative, to `from[k]`, and note whether the sum fits.
fn shifted_sum(ty: DType) -> String {
    let (sum, fits) = match ty {
        DType::U64 => ("const uint64_t sum = from[k] + (uint64_t)others[c].before", "sum >= from[k]".to_string()),
        DType::I64 => (
            "const int64_t sum = (int64_t)((uint64_t)from[k] + (uint64_t)others[c].before)",
            "sum >= from[k]".to_string(),
        ),
        _ => ("const int64_t sum = from[k] + others[c].before", format!("sum <= {}_MAX", macro_type(ty))),
    };
    format!("{sum};\n            fits = fits && {fits};")
}

/// The word for an atomic operation in a helper's name.
fn word(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "add",
        BinaryOp::And => "and",
        BinaryOp::Or => "or",
        BinaryOp::Xor => "xor",
        other => other.name(),
    }
}

/// `a` combined with `b`, for the operations and types that a [`Helper::Atomic`] is for.
fn combined(op: BinaryOp, ty: DType) -> String {
    match op {
        BinaryOp::Xor if ty == DType::Bool => "a != b".to_string(),
        BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => format!("({})(a {} b)", c_type(ty), op.name()),
        _ => format!("lac_{}_{ty}(a, b)", word(op)),
    }
}

/// The type's name in the macros of `stdint.h`: `INT32`.
fn macro_type(ty: DType) -> String {
    c_type(ty).trim_end_matches("_t").to_uppercase()
}

fn to_integer(ty: DType) -> String {
    let (least, greatest) = integer_range(ty);
    let macro_type = macro_type(ty);
    let least_name = if least == 0 { "0".to_string() } else { format!("{macro_type}_MIN") };
    // One past the greatest value is a power of two, hence a double, where the greatest value may not be.
    typed(TO_INTEGER, ty)
        .replace("{least}", &format!("{least}.0"))
        .replace("{beyond}", &format!("{}.0", greatest + 1))
        .replace("{LEAST}", &least_name)
        .replace("{GREATEST}", &format!("{macro_type}_MAX"))
}

//! The functions in C that a kernel needs because C has no operator for what the IR means.
//!
//! Each [`Helper`] is one C function (or a few) with its text; a printed file holds those that its kernels use and no
//! others, so that a compiler has nothing to warn of. The texts are templates: `{T}` stands for the element type, `{t}`
//! for its name in the IR, `{U}` for the unsigned type that arithmetic wraps in, `{f}` for the suffix of `math.h`.
//!
//! `Helper::Max(DType::F32)` is
//!
//! ```text
//! /* The larger of two numbers; NaN if either is. */
//! static inline float lac_max_f32(float a, float b) { return a > b || a != a ? a : b; }
//! ```

use std::collections::BTreeSet;

use lacunar_formats::{DType, Kind};

use crate::types::{c_type, integer_range, wrapping_type};

/// A function of the printed file; the order is the order in the file, so a helper comes after those it calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Helper {
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
    /// A real number to an integer, saturating.
    ToInteger(DType),
    /// The first element not below a key.
    LowerBound(DType),
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
    /// The order of entries by their keys.
    SortOrder,
    /// Entries sorted, equal ones added up.
    SortCombine(DType),
}

impl Helper {
    /// The name of the C function.
    pub fn name(self) -> String {
        match self {
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
            Helper::ToInteger(ty) => format!("lac_to_{ty}"),
            Helper::LowerBound(ty) => format!("lac_lower_bound_{ty}"),
            Helper::Memory => "lac_memory".to_string(),
            Helper::Release => "lac_release".to_string(),
            Helper::Allocate => "lac_allocate".to_string(),
            Helper::Elements => "lac_elements".to_string(),
            Helper::Grow => "lac_grow".to_string(),
            Helper::SortMarked => "lac_sort_marked".to_string(),
            Helper::SortOrder => "lac_sort_order".to_string(),
            Helper::SortCombine(ty) => format!("lac_sort_combine_{ty}"),
        }
    }

    /// The helpers whose functions this one's call.
    fn calls(self) -> Vec<Helper> {
        match self {
            Helper::Allocate => vec![Helper::Memory, Helper::Release],
            Helper::Grow => vec![Helper::Memory],
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
            Helper::ToInteger(ty) => to_integer(ty),
            Helper::LowerBound(ty) => typed(LOWER_BOUND, ty),
            Helper::Memory => MEMORY.to_string(),
            Helper::Release => RELEASE.to_string(),
            Helper::Allocate => ALLOCATE.to_string(),
            Helper::Elements => ELEMENTS.to_string(),
            Helper::Grow => GROW.to_string(),
            Helper::SortMarked => SORT_MARKED.to_string(),
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
            Helper::Make(_) => &["string.h"],
            Helper::Release | Helper::SortMarked => &["stdlib.h"],
            Helper::Allocate => &["stdlib.h"],
            Helper::Grow => &["stdlib.h", "string.h"],
            Helper::SortCombine(_) => &["stdlib.h", "string.h"],
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

/// Whether wrapping arithmetic on this integer type takes a function: C's operators would overflow (signed types) or
/// give an `int` (short types).
pub fn wraps_by_function(ty: DType) -> bool {
    ty.is_integer() && !matches!(ty, DType::U32 | DType::U64)
}

fn typed(text: &str, ty: DType) -> String {
    text.replace("{T}", c_type(ty)).replace("{t}", ty.name())
}

fn binary_wrap(text: &str, ty: DType) -> String {
    text.replace("{U}", wrapping_type(ty)).replace("{T}", c_type(ty))
}

fn to_integer(ty: DType) -> String {
    let (least, greatest) = integer_range(ty);
    let macro_type = c_type(ty).trim_end_matches("_t").to_uppercase();
    let least_name = if least == 0 { "0".to_string() } else { format!("{macro_type}_MIN") };
    // One past the greatest value is a power of two, hence a double, where the greatest value may not be.
    typed(TO_INTEGER, ty)
        .replace("{least}", &format!("{least}.0"))
        .replace("{beyond}", &format!("{}.0", greatest + 1))
        .replace("{LEAST}", &least_name)
        .replace("{GREATEST}", &format!("{macro_type}_MAX"))
}

const MAKE: &str = "\
/* A complex number from its parts, each as it is: re + im * I would turn an infinite part into NaN. */
static inline {T} {name}({part} re, {part} im)
{
    const {part} parts[2] = {re, im};
    {T} z;
    memcpy(&z, parts, sizeof z);
    return z;
}
";

const NEG: &str = "\
static inline {T} {name}({T} a) { return ({T})(0u - ({U})a); }
";

const WRAPPING: &str = "\
static inline {T} {name}({T} a, {T} b) { return ({T})(({U})a {op} ({U})b); }
";

const DIV_SIGNED: &str = "\
/* a / b, truncated; 0 if b is 0; wraps around if the quotient does not fit. */
static inline {T} {name}({T} a, {T} b)
{
    if (b == 0) {
        return 0;
    }
    return b == -1 ? lac_neg_{t}(a) : ({T})(a / b);
}
";

const DIV_UNSIGNED: &str = "\
/* a / b; 0 if b is 0. */
static inline {T} {name}({T} a, {T} b) { return b == 0 ? 0 : ({T})(a / b); }
";

const REM_SIGNED: &str = "\
/* a % b with the sign of a; 0 if b is 0. */
static inline {T} {name}({T} a, {T} b) { return b == 0 || b == -1 ? 0 : ({T})(a % b); }
";

const REM_UNSIGNED: &str = "\
/* a % b; 0 if b is 0. */
static inline {T} {name}({T} a, {T} b) { return b == 0 ? 0 : ({T})(a % b); }
";

const POW_NEGATIVE: &str = "    if (n < 0) {
        const {T} odd = n % 2 != 0;
        return a == 1 ? 1 : a == -1 ? ({T})(1 - 2 * odd) : 0;
    }
";

const POW: &str = "\
/* a to the power of n by repeated multiplication, wrapping around. */
static inline {T} {name}({T} a, {T} n)
{
{negative}    {T} result = 1;
    while (n != 0) {
        if (n % 2 != 0) {
            result = {result * a};
        }
        a = {a * a};
        n = ({T})(n / 2);
    }
    return result;
}
";

const ABS: &str = "\
static inline {T} {name}({T} a) { return a < 0 ? lac_neg_{t}(a) : a; }
";

const SIGN_REAL: &str = "\
/* -1, 0 or 1; NaN stays. */
static inline {T} {name}({T} a) { return a > 0 ? 1 : a < 0 ? -1 : a; }
";

const SIGN_INTEGER: &str = "\
/* -1, 0 or 1. */
static inline {T} {name}({T} a) { return a > 0 ? 1 : a == 0 ? 0 : ({T})-1; }
";

const MIN_REAL: &str = "\
/* The smaller of two numbers; NaN if either is. */
static inline {T} {name}({T} a, {T} b) { return a < b || a != a ? a : b; }
";

const MAX_REAL: &str = "\
/* The larger of two numbers; NaN if either is. */
static inline {T} {name}({T} a, {T} b) { return a > b || a != a ? a : b; }
";

const MIN_INTEGER: &str = "\
static inline {T} {name}({T} a, {T} b) { return a < b ? a : b; }
";

const MAX_INTEGER: &str = "\
static inline {T} {name}({T} a, {T} b) { return a > b ? a : b; }
";

const TO_INTEGER: &str = "\
/* A real number as an integer: truncated, at most the nearest that fits, 0 for NaN. */
static inline {T} {name}(double a)
{
    if (a != a) {
        return 0;
    }
    return a <= {least} ? {LEAST} : a >= {beyond} ? {GREATEST} : ({T})a;
}
";

const LOWER_BOUND: &str = "\
/* The first p of begin .. end with a[p] >= key, or end; a ascends. */
static inline int64_t {name}(const {T} *a, int64_t begin, int64_t end, int64_t key)
{
    while (begin < end) {
        const int64_t middle = begin + (end - begin) / 2;
        if (key > 0 && a[middle] < (uint64_t)key) {
            begin = middle + 1;
        } else {
            end = middle;
        }
    }
    return begin;
}
";

const MEMORY: &str = "\
/* The memory of an array: where it starts, how many elements there is room for, and whether it could be had. */
struct lac_memory {
    void *start;
    uint64_t capacity;
    int32_t status;
};
";

const RELEASE: &str = "\
static inline void {name}(const struct lacunar_runtime *runtime, void *memory)
{
    if (memory == NULL) {
        return;
    }
    if (runtime != NULL) {
        runtime->release(memory);
    } else {
        free(memory);
    }
}
";

const ALLOCATE: &str = "\
/* Memory for len elements of size bytes each, in place of the old memory. */
static inline struct lac_memory {name}(const struct lacunar_runtime *runtime, void *old, int64_t len,
                                             uint64_t size, bool zeroed)
{
    struct lac_memory memory = {NULL, 0, LACUNAR_OUT_OF_MEMORY};
    lac_release(runtime, old);
    if (len < 0 || (uint64_t)len > UINT64_MAX / size) {
        memory.status = LACUNAR_SIZE_OVERFLOW;
        return memory;
    }
    const uint64_t bytes = len == 0 ? size : (uint64_t)len * size;
    if (runtime != NULL) {
        memory.start = runtime->allocate(bytes, zeroed);
    } else {
        memory.start = zeroed ? calloc(bytes, 1) : malloc(bytes);
    }
    if (memory.start != NULL) {
        memory.capacity = (uint64_t)len;
        memory.status = LACUNAR_OK;
    }
    return memory;
}
";

const ELEMENTS: &str = "\
/* count * block, or UINT64_MAX if that is negative or does not fit. */
static inline uint64_t {name}(int64_t count, int64_t block)
{
    const bool small = (uint64_t)(count | block) <= UINT32_MAX / 2;
    if (!small && (count < 0 || block < 0 || (block > 0 && count > INT64_MAX / block))) {
        return UINT64_MAX;
    }
    return (uint64_t)count * (uint64_t)block;
}
";

const GROW: &str = "\
/* Room for as many elements of size bytes each as are needed, and for twice as many as before, with the old ones kept
   and, if zeroed, the new ones zero. If that fails, the old memory stays. */
static inline struct lac_memory {name}(const struct lacunar_runtime *runtime, void *old, uint64_t capacity,
                                         uint64_t needed, uint64_t size, bool zeroed)
{
    struct lac_memory memory = {old, capacity, LACUNAR_OUT_OF_MEMORY};
    const uint64_t wanted = capacity > needed / 2 ? 2 * capacity : needed;
    if (needed > INT64_MAX || wanted > UINT64_MAX / size) {
        memory.status = LACUNAR_SIZE_OVERFLOW;
        return memory;
    }
    const uint64_t kept = capacity * size;
    void *start;
    if (runtime != NULL) {
        start = runtime->reallocate(old, kept, wanted * size, zeroed ? kept : UINT64_MAX);
    } else {
        start = realloc(old, wanted * size);
        if (start != NULL && zeroed) {
            memset((char *)start + kept, 0, wanted * size - kept);
        }
    }
    if (start != NULL) {
        memory.start = start;
        memory.capacity = wanted;
        memory.status = LACUNAR_OK;
    }
    return memory;
}
";

const SORT_MARKED: &str = "\
static inline int lac_compare_i64(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a;
    const int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Sorts list[0 .. n], the n coordinates k below size with marks[k]; reads the marks off if they are not many more. */
static inline void {name}(const struct lacunar_runtime *runtime, int64_t *list, int64_t n, const bool *marks,
                                   int64_t size)
{
    if (runtime != NULL) {
        runtime->sort_marked(list, n, (const uint8_t *)marks, size);
    } else if (n > size / 32) {
        int64_t found = 0;
        for (int64_t k = 0; k < size && found < n; k++) {
            if (marks[k]) {
                list[found] = k;
                found++;
            }
        }
    } else if (n > 1) {
        qsort(list, (size_t)n, sizeof *list, lac_compare_i64);
    }
}
";

const SORT_ORDER: &str = "\
/* Compares entries a and b by their keys, the first key first: below, at or above 0. */
static inline int lac_compare_keys(int64_t *const *keys, uint64_t nkeys, int64_t a, int64_t b)
{
    for (uint64_t k = 0; k < nkeys; k++) {
        if (keys[k][a] != keys[k][b]) {
            return keys[k][a] < keys[k][b] ? -1 : 1;
        }
    }
    return 0;
}

/* The entries 0 .. n in the order of their keys, equal ones as they were: merges runs of doubling length. The result is
   in one of the two arrays given; the other one is spare. */
static inline int64_t *lac_sort_order(int64_t *const *keys, uint64_t nkeys, int64_t n, int64_t *order, int64_t *spare)
{
    for (int64_t k = 0; k < n; k++) {
        order[k] = k;
    }
    for (int64_t width = 1; width < n; width *= 2) {
        for (int64_t low = 0; low < n; low += 2 * width) {
            const int64_t middle = width < n - low ? low + width : n;
            const int64_t high = 2 * width < n - low ? low + 2 * width : n;
            int64_t a = low;
            int64_t b = middle;
            for (int64_t k = low; k < high; k++) {
                if (b == high || (a < middle && lac_compare_keys(keys, nkeys, order[a], order[b]) <= 0)) {
                    spare[k] = order[a];
                    a++;
                } else {
                    spare[k] = order[b];
                    b++;
                }
            }
        }
        int64_t *const sorted = spare;
        spare = order;
        order = sorted;
    }
    return order;
}
";

const SORT_COMBINE: &str = "\
/* Sorts n entries by their keys and adds up the values of equal keys; how many entries are left, or -1 without memory. */
static inline int64_t {name}(const struct lacunar_runtime *runtime, int64_t **keys, uint64_t nkeys,
                                         {T} *values, int64_t n)
{
    if (runtime != NULL) {
        return runtime->sort_combine(keys, nkeys, values, {number}, n);
    }
    if (n <= 0) {
        return 0;
    }
    if (n > INT64_MAX / 16) {
        return -1;
    }
    int64_t *const orders = malloc((size_t)n * 2 * sizeof *orders);
    {T} *const totals = malloc((size_t)n * sizeof *totals);
    if (orders == NULL || totals == NULL) {
        free(orders);
        free(totals);
        return -1;
    }
    const int64_t *const order = lac_sort_order(keys, nkeys, n, orders, orders + n);
    int64_t *const first = order == orders ? orders + n : orders;
    int64_t count = 0;
    for (int64_t k = 0; k < n; k++) {
        const {T} value = values[order[k]];
        if (k > 0 && lac_compare_keys(keys, nkeys, order[k - 1], order[k]) == 0) {
            const {T} total = totals[count - 1];
            totals[count - 1] = {sum};
        } else {
            totals[count] = value;
            first[count] = order[k];
            count++;
        }
    }
    memcpy(values, totals, (size_t)count * sizeof *totals);
    int64_t *const key = first == orders ? orders + n : orders;
    for (uint64_t k = 0; k < nkeys; k++) {
        for (int64_t e = 0; e < count; e++) {
            key[e] = keys[k][first[e]];
        }
        memcpy(keys[k], key, (size_t)count * sizeof *key);
    }
    free(orders);
    free(totals);
    return count;
}
";

//! Names that C takes: each array, variable and argument field is named once, before anything is printed.
//!
//! The IR allows every identifier of C. Some mean something else in the printed file: keywords (`double`), macros of
//! the standard headers (`I`, `NULL`), functions that the file calls (`sqrt`, `free`), names kept for compilers
//! (`__linux__`) and the printer's own (`args`, `lac_grow`). Such names get a trailing underscore, and a number if that
//! is taken too.
//!
//! ```
//! use lacunar_backend_c::namer::Namer;
//! let mut namer = Namer::new();
//! assert_eq!(namer.unique("B_vals"), "B_vals");
//! assert_eq!(namer.unique("double"), "double_");
//! assert_eq!(namer.unique("double"), "double_2");
//! ```

use std::collections::HashSet;

use lacunar_imp::is_c_keyword;

use crate::library::LIBRARY;

/// Keywords of C99 and later and of C++ (a header may be read by a C++ compiler).
const KEYWORDS: &str = "auto break case char const continue default do double else enum extern float for goto if inline
    int long register restrict return short signed sizeof static struct switch typedef union unsigned void volatile
    while asm typeof alignas alignof constexpr nullptr static_assert thread_local typeof_unqual
    and and_eq bitand bitor catch char16_t char32_t char8_t class compl concept consteval constinit const_cast
    co_await co_return co_yield decltype delete dynamic_cast explicit export friend mutable namespace new noexcept not
    not_eq operator or or_eq private protected public reinterpret_cast requires static_cast template this throw try
    typeid typename using virtual wchar_t xor xor_eq";

/// Macros, types and objects of the standard headers, and macros that compilers define outside of ISO mode.
const MACROS: &str = "I NULL EOF NAN INFINITY HUGE_VAL HUGE_VALF HUGE_VALL NDEBUG MB_CUR_MAX RAND_MAX EXIT_SUCCESS
    EXIT_FAILURE BUFSIZ FILENAME_MAX CHAR_BIT bool true false complex imaginary errno assert offsetof isnan isinf
    isfinite isnormal signbit fpclassify isgreater isgreaterequal isless islessequal islessgreater isunordered
    math_errhandling stdin stdout stderr va_start va_end va_arg va_copy setjmp linux unix i386 size_t ptrdiff_t float_t
    double_t div_t ldiv_t lldiv_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t intptr_t uintptr_t
    intmax_t uintmax_t INT8_MIN INT16_MIN INT32_MIN INT64_MIN INT8_MAX INT16_MAX INT32_MAX INT64_MAX UINT8_MAX
    UINT16_MAX UINT32_MAX UINT64_MAX INT8_C INT16_C INT32_C INT64_C UINT8_C UINT16_C UINT32_C UINT64_C INTMAX_C
    UINTMAX_C SIZE_MAX PTRDIFF_MIN PTRDIFF_MAX INTPTR_MIN INTPTR_MAX UINTPTR_MAX INTMAX_MIN INTMAX_MAX UINTMAX_MAX
    WCHAR_MIN WCHAR_MAX WINT_MIN WINT_MAX SIG_ATOMIC_MIN SIG_ATOMIC_MAX FP_NAN FP_INFINITE FP_ZERO FP_SUBNORMAL
    FP_NORMAL FP_ILOGB0 FP_ILOGBNAN FP_FAST_FMA FP_FAST_FMAF M_E M_LOG2E M_LOG10E M_LN2 M_LN10 M_PI M_PI_2 M_PI_4
    M_1_PI M_2_PI M_2_SQRTPI M_SQRT1_2 M_SQRT2 MAXFLOAT DOMAIN SING OVERFLOW UNDERFLOW PLOSS TLOSS min max near far";

/// Functions that the printed file may call.
const CALLED: &str = "malloc calloc realloc free memset memcpy qsort";

/// Functions of `math.h` that the printed file may call, and their `float` forms with an `f` behind.
const MATH: &str = "fabs sqrt cbrt exp log log10 sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh floor ceil fmod pow atan2";

/// Functions of `complex.h`, likewise.
const COMPLEX: &str = "cabs creal cimag conj csqrt cexp clog csin ccos ctan csinh ccosh ctanh cpow";

/// Names the printer uses in every kernel.
const OWN: &str = "args runtime status memory cleanup";

/// Gives names, each at most once.
#[derive(Clone, Debug)]
pub struct Namer {
    taken: HashSet<String>,
}

impl Default for Namer {
    fn default() -> Self {
        Namer::new()
    }
}

impl Namer {
    /// A namer for the arrays, variables and fields of one kernel.
    pub fn new() -> Namer {
        let mut taken: HashSet<String> =
            [KEYWORDS, MACROS, CALLED, OWN].iter().flat_map(|list| list.split_whitespace()).map(String::from).collect();
        for name in [MATH, COMPLEX].iter().flat_map(|list| list.split_whitespace()) {
            taken.insert(name.to_string());
            taken.insert(format!("{name}f"));
        }
        Namer { taken }
    }

    /// A namer for kernels, which are visible to the linker.
    pub fn for_functions() -> Namer {
        let mut namer = Namer::new();
        namer.taken.extend(LIBRARY.split_whitespace().map(String::from));
        namer
    }

    /// `wanted` if it is free and means nothing else in C; otherwise `wanted_`, `wanted_2`, `wanted_3`, ...
    pub fn unique(&mut self, wanted: &str) -> String {
        let wanted = if kept_for_others(wanted) { format!("k{wanted}") } else { wanted.to_string() };
        let mut name = wanted.clone();
        let mut count = 1_u64;
        while self.taken.contains(&name) || is_c_keyword(&name) {
            name = if count == 1 { format!("{wanted}_") } else { format!("{wanted}_{count}") };
            count += 1;
        }
        self.taken.insert(name.clone());
        name
    }
}

/// Names that compilers keep (`__x`, `_X`), and the prefixes of the printed file's own functions and types.
fn kept_for_others(name: &str) -> bool {
    let mut chars = name.chars();
    let reserved = chars.next() == Some('_') && chars.next().is_none_or(|c| c == '_' || c.is_ascii_uppercase());
    reserved || name.starts_with("lac_") || name.starts_with("lacunar_") || name.starts_with("LACUNAR_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_means_something_in_c_is_renamed() {
        let mut namer = Namer::new();
        for name in ["I", "complex", "double", "errno", "sqrtf", "csqrt", "memcpy", "args", "status", "restrict"] {
            assert_eq!(namer.unique(name), format!("{name}_"));
        }
        for name in ["int", "class", "co_await", "fortran", "main", "sqrtl", "pthread_create", "uint"] {
            assert_eq!(Namer::for_functions().unique(name), format!("{name}_"));
        }
        assert_eq!(namer.unique("lac_grow"), "klac_grow");
        assert_eq!(namer.unique("__linux__"), "k__linux__");
        assert_eq!(namer.unique("_Bool"), "k_Bool");
        assert_eq!(namer.unique("_x"), "_x");
    }

    #[test]
    fn a_renamed_name_does_not_take_another_one() {
        let mut namer = Namer::new();
        assert_eq!(namer.unique("I_"), "I_");
        assert_eq!(namer.unique("I"), "I_2");
        assert_eq!(namer.unique("I"), "I_3");
        assert_eq!(namer.unique("printf"), "printf");
        assert_eq!(Namer::for_functions().unique("printf"), "printf_");
    }
}

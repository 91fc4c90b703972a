//! The public parts of a kernel: its argument structure, its prototype, and the text that explains them.
//!
//! The structure is a flat sequence of words of 8 bytes: first the runtime's function table, then the parameters in
//! order, two words for an array (address, capacity in elements) and one for a scalar. The IR's `rowsum(in A_pos: u32[],
//! out y: f64[], m: i64)` gives
//!
//! ```text
//! struct rowsum_args {
//!     const struct lacunar_runtime *runtime;
//!     const uint32_t *A_pos;
//!     uint64_t A_pos_capacity;
//!     double *y;
//!     uint64_t y_capacity;
//!     int64_t m;
//! };
//! ```

use std::fmt::Write;

use lacunar_formats::DType;
use lacunar_imp::{ArrayRole, Callee, Function, LENGTH_BITS, Param, Status, Stmt, type_code};

use crate::namer::Namer;
use crate::print::{About, Field};
use crate::types::header_type;

/// The names of a kernel's parts in C.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    /// The kernel's function.
    pub(crate) symbol: String,
    /// Arrays, by their handles.
    pub(crate) arrays: Vec<String>,
    /// Arrays' capacities, by the arrays' handles.
    pub(crate) capacities: Vec<String>,
    /// Variables, by their handles.
    pub(crate) vars: Vec<String>,
    /// Knows all of these.
    pub(crate) namer: Namer,
}

impl Names {
    /// Names the parts of a kernel; `functions` names the kernel itself.
    pub(crate) fn of(function: &Function, functions: &mut Namer) -> Names {
        let symbol = functions.unique(&function.name);
        let mut namer = Namer::new();
        let arrays: Vec<String> = function.arrays.iter().map(|(_, array)| namer.unique(&array.name)).collect();
        let vars = function.vars.iter().map(|(_, var)| namer.unique(&var.name)).collect();
        let capacities = arrays.iter().map(|array| namer.unique(&format!("{array}_capacity"))).collect();
        Names { symbol, arrays, capacities, vars, namer }
    }
}

/// The declarations that all kernels share, once however many headers are included.
const SHARED: &str = "\
#ifndef LACUNAR_KERNELS
#define LACUNAR_KERNELS

/* What a kernel returns. */
enum {
{statuses}};

/* The capacity of an array may say as well of what type its elements are, which is checked then: LACUNAR_U32(n). A plain number
   says nothing of that. */
{types}

/* Memory, and how many elements it has; those of a list of parts are lacunar_arrays themselves. */
struct lacunar_array {
    void *memory;
    uint64_t length;
};

/* Functions that a kernel calls in place of its own, which are built on malloc; if it has parallel loops, on several
   threads at the same time. */
struct lacunar_runtime {
    /* Memory of so many bytes (at least 1), zero if asked for; NULL if there is none. */
    void *(*allocate)(uint64_t bytes, uint32_t zeroed);
    /* The same for more bytes, with the first ones kept, and zero from a byte on (UINT64_MAX: none). NULL if there is
       none; then the old memory stays. */
    void *(*reallocate)(void *old, uint64_t bytes_kept, uint64_t new_bytes, uint64_t zero_from_byte);
    /* Gives memory back. */
    void (*release)(void *memory);
    /* Sorts a list of the n coordinates k below size with marks[k]. */
    void (*sort_marked)(int64_t *list, int64_t n, const uint8_t *marks, int64_t size);
    /* Sorts n entries by their keys and adds up the values of equal keys; how many are left, or -1 without memory. */
    int64_t (*sort_combine)(int64_t **keys, uint64_t nkeys, void *values, uint32_t dtype, int64_t n);

    /* Machine code calls the following too; kernels in C do without. */

    /* Calls the body for each k of begin .. end, in any order, on several threads at once if there are any; 0, or what a
       call gave that was not 0. */
    int32_t (*parallel)(int32_t (*body)(const void *context, int64_t k), const void *context, int64_t begin, int64_t end);
    /* Moves the elements of a list's parts to an array from element at on, which gets memory if that is necessary; adds to
       those of each part the number of elements in the parts before the same one of another list, which may be NULL. The
       end, or the negative of what a kernel returns. */
    int64_t (*collect)(struct lacunar_array *array, int64_t at, const struct lacunar_array *list,
                       const struct lacunar_array *other, uint32_t dtype);
    /* Gives back the memory of a list of n parts and that of the parts. */
    void (*release_parts)(struct lacunar_array *list, uint64_t n);
    /* Writes the bytes of a pattern (1, 2, 4, 8 or 16) so many times. */
    void (*fill)(void *memory, uint64_t times, const void *pattern, uint64_t bytes);
};

/* The argument structures are sequences of words of 8 bytes. */
typedef char lacunar_pointers_have_8_bytes[sizeof(void *) == 8 ? 1 : -1];

#endif
";

/// Complex numbers, once however many headers are included: C++ has none of C's, and its own are stored alike.
pub(crate) const COMPLEX: &str = "\
#ifndef LACUNAR_COMPLEX
#define LACUNAR_COMPLEX

#ifdef __cplusplus
#include <complex>
typedef std::complex<float> lacunar_c64;
typedef std::complex<double> lacunar_c128;
#else
#include <complex.h>
typedef float complex lacunar_c64;
typedef double complex lacunar_c128;
#endif

#endif
";

/// The declarations that all kernels share.
pub(crate) fn shared() -> String {
    let ok = "    LACUNAR_OK = 0,\n".to_string();
    let status = |status: Status| {
        let comment = format!("/* {} */", meaning(status));
        format!("    {:<27}{comment}\n", format!("{} = {},", status_name(status), status.code()))
    };
    let statuses = ok + &Status::ALL.map(status).concat();
    let named = DType::ALL.iter().filter(|ty| ty.size() > 0);
    let types = named.map(|&ty| {
        let (name, code) = (ty.name().to_uppercase(), type_code(ty));
        format!("#define LACUNAR_{name}(length) ((uint64_t)(length) | (uint64_t){code} << {LENGTH_BITS})\n")
    });
    SHARED.replace("{statuses}", &statuses).replace("{types}\n", &types.collect::<String>())
}

/// The name of a status in C.
pub fn status_name(status: Status) -> String {
    format!("LACUNAR_{}", status.name().to_uppercase())
}

/// The meaning of a status, in words.
pub const fn meaning(status: Status) -> &'static str {
    match status {
        Status::OutOfMemory => "memory could not be had",
        Status::SizeOverflow => {
            "a size of the result does not fit its index arrays, or a given pattern has another number of values"
        }
        Status::TooShort => "an array is shorter than the sizes say, or NULL; nothing is written",
        Status::WrongType => "a capacity says another type than that of the array; nothing is written",
        Status::WrongSize => "a size is negative; nothing is written",
        Status::OutOfRange => "a value that is an index lies outside of its dimension; nothing is written",
    }
}

/// The fields of a kernel's structure of arguments.
pub(crate) fn fields(function: &Function, names: &Names) -> Vec<Field> {
    let field = |param: &Param| match *param {
        Param::Scalar(var) => Field { name: names.vars[var.index()].clone(), capacity: None },
        Param::Array(id) => {
            Field { name: names.arrays[id.index()].clone(), capacity: Some(names.capacities[id.index()].clone()) }
        }
    };
    function.params.iter().map(field).collect()
}

/// The structure and the prototype.
pub(crate) fn declarations(function: &Function, names: &Names) -> String {
    let symbol = &names.symbol;
    let mut text = format!("struct {symbol}_args {{\n    const struct lacunar_runtime *runtime;\n");
    for param in &function.params {
        match *param {
            Param::Scalar(var) => text.push_str(&format!("    int64_t {};\n", names.vars[var.index()])),
            Param::Array(id) => {
                let array = &function.arrays[id];
                let qualifier = if array.role == ArrayRole::Input { "const " } else { "" };
                let (name, capacity) = (&names.arrays[id.index()], &names.capacities[id.index()]);
                text.push_str(&format!("    {qualifier}{} *{name};\n", header_type(array.elem)));
                text.push_str(&format!("    uint64_t {capacity};\n"));
            }
        }
    }
    text + &format!("}};\n\nint32_t {symbol}(struct {symbol}_args *args);\n")
}

/// The instructions for building machine code, in the comment.
pub(crate) const BUILDING_MACHINE_CODE: &str =
    "Link with -lm; add -pthread where the C library has no threads, and -fopenmp if a C compiler made the code.";

/// The instructions for building a kernel's source, which may have directives for OpenMP, in the comment.
pub(crate) fn building_source(function: &Function, openmp: bool) -> String {
    let flags = if function.strict { "-std=c99 -O2 -ffp-contract=off" } else { "-std=c99 -O3" };
    let threads = if openmp { " and -fopenmp, or without for one thread" } else { "" };
    format!(
        "Compile with {flags}{threads}; add -fwrapv for arithmetic on indices that\n \
         * wraps around as that on values does (it can't overflow unless a size is wrong)."
    )
}

/// True if a kernel checks its arguments, as shipped ones do.
fn is_checked(function: &Function) -> bool {
    function.body.iter().any(|stmt| matches!(stmt, Stmt::Call { callee: Callee::Length, .. }))
}

/// The statuses that a kernel returns, in words.
fn returns(function: &Function) -> &'static str {
    if is_checked(function) {
        "LACUNAR_OK, LACUNAR_OUT_OF_MEMORY or LACUNAR_SIZE_OVERFLOW; before anything is written, where arguments cannot\n \
         * be right, LACUNAR_TOO_SHORT, LACUNAR_WRONG_TYPE or LACUNAR_WRONG_SIZE"
    } else {
        "LACUNAR_OK, LACUNAR_OUT_OF_MEMORY or LACUNAR_SIZE_OVERFLOW"
    }
}

/// The comment that explains a kernel: arguments, a call, the returned status, the build.
pub(crate) fn explanation(function: &Function, names: &Names, about: &About, building: &str) -> String {
    let symbol = &names.symbol;
    let mut text = format!("/*\n * {symbol}: a kernel made by Lacunar.\n");
    for known in &about.lines {
        // A comment of C ends at the first end of one.
        text.push_str(&format!(" *   {}\n", known.replace("*/", "* /")));
    }
    text.push_str(&format!(" *\n * Arguments, fields of struct {symbol}_args:\n"));
    let mut line = |name: &str, what: &str| {
        // Writing to a string does not fail.
        let _ = writeln!(text, " *   {name:<16} {what}");
    };
    line("runtime", "functions to call instead of malloc and the like; may be NULL");
    for (number, param) in function.params.iter().enumerate() {
        let meaning = about.parameters.get(number).map_or_else(String::new, |meaning| format!(": {meaning}"));
        match *param {
            Param::Scalar(var) => line(&names.vars[var.index()], &format!("int64_t{meaning}")),
            Param::Array(id) => {
                let array = &function.arrays[id];
                let least = if array.min_len > 0 { format!(", at least {}", array.min_len) } else { String::new() };
                let use_of_it = match array.role {
                    ArrayRole::Input => "only read",
                    ArrayRole::Output => "read and written",
                    ArrayRole::Grown | ArrayRole::Local | ArrayRole::Parts => {
                        "made by the kernel: pass NULL and 0, free it when done"
                    }
                };
                line(
                    &names.arrays[id.index()],
                    &format!("array of {}{least}{meaning}; {use_of_it}", header_type(array.elem)),
                );
            }
        }
    }
    let types = if is_checked(function) { "; LACUNAR_U32(n) and the like\n * say their type as well" } else { "" };
    text.push_str(&format!(
        " *\n * The capacity of an array is its number of elements{types}. No two arrays may overlap.\n *\n"
    ));
    text.push_str(&format!(" * Call:\n *   struct {symbol}_args args = {{.runtime = NULL"));
    for param in &function.params {
        let (name, capacity) = match *param {
            Param::Scalar(var) => (&names.vars[var.index()], None),
            Param::Array(id) => (&names.arrays[id.index()], Some(&names.capacities[id.index()])),
        };
        let separator = if text.len() - text.rfind('\n').unwrap_or(0) > 90 { ",\n *       " } else { ", " };
        text.push_str(&format!("{separator}.{name} = ..."));
        if let Some(capacity) = capacity {
            text.push_str(&format!(", .{capacity} = ..."));
        }
    }
    text.push_str(&format!(
        "}};\n *   int32_t status = {symbol}(&args);\n *\n \
         * Returns {}.\n * {building}\n */\n",
        returns(function)
    ));
    text
}

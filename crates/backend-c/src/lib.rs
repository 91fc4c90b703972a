//! C99 back end: kernels as readable, self-contained C, and the system's compiler to run them.
//!
//! [`print()`] takes a verified function and gives a header and a source file that depend on nothing but C's library.
//! They compile without warnings under `-std=c99 -Wall -Wextra`. [`compile_shared`] runs the system's C compiler on
//! them. The meaning of the IR is written in `lacunar_imp::ir`; this is how C says it:
//!
//! | IR | C |
//! |---|---|
//! | parameters | fields of `struct NAME_args`, words of 8 bytes |
//! | integer arithmetic on values | functions `lac_add_i32`, ...: wrapping, division by zero gives 0 |
//! | arithmetic on indices | `i * n + j`: can't overflow as long as sizes are right; `-fwrapv` defines it anyway |
//! | `Min`, `Max` on reals | functions that give NaN if an operand is NaN |
//! | complex arithmetic | C99's operators; `-fcx-fortran-rules` makes products the textbook formula and quotients Smith's, as in the other back ends |
//! | `Grow`, `Alloc` | `realloc` and `malloc`, or the functions of the runtime's table |
//! | failure | `goto cleanup`, which hands back grown arrays and releases local ones |
//! | parallel loop | `omp parallel for`; arrays of its own are declared in its body |
//! | vector loop | `omp simd` with the reductions that OpenMP does as the IR does; otherwise a plain loop |
//! | unrolled loop | `GCC unroll` |
//! | `Atomic` | `omp atomic`; GCC's compare and exchange, or else `omp critical`, for operations that it lacks |
//! | `Deposit`, `Collect` | a list of pointers; the elements are copied behind each other |
//!
//! OpenMP is not necessary: without it (`-fopenmp`) the loops are serial.
//!
//! Unless a function is strict, contraction (`-ffp-contract=fast`) is allowed; reassociation is left to
//! [`CcOptions::reassociate`], because C compilers then also ignore the sign of zero and lose NaN in `(a + b) - a`.
//!
//! ```
//! use lacunar_formats::DType;
//! use lacunar_imp::{ArrayRole, Builder, verify};
//! let mut b = Builder::new("double_all");
//! let n = b.scalar_param("n");
//! let y = b.array_param("y", DType::F64, ArrayRole::Output);
//! let zero = b.int(0);
//! b.for_loop("i", zero, n, |b, i| {
//!     let v = b.load("v", y, i);
//!     let twice = b.add(v, v);
//!     b.store(y, i, twice);
//! });
//! let kernel = verify(b.finish()).unwrap();
//! let c = lacunar_backend_c::print(&kernel, &Default::default());
//! assert!(c.source.contains("for (int64_t i = 0; i < n; i++) {"));
//! assert!(c.header.contains("int32_t double_all(struct double_all_args *args);"));
//! ```

pub mod compile;
mod expr;
mod facts;
mod helpers;
mod interface;
mod kernel;
mod known;
mod library;
mod loops;
mod memory;
pub mod namer;
mod print;
mod types;

pub use compile::{CcError, CcOptions, compile_object, compile_shared, link_shared};
pub use interface::{meaning, status_name};
pub use print::{About, COptions, CSource, Field, Purpose, print, print_all};

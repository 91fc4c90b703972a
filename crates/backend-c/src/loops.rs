//! Counted loops of every kind, and the common work of their iterations.
//!
//! Directives are written `LACUNAR_OMP(omp ...)`, which is a pragma where the compiler has OpenMP and nothing
//! elsewhere: the loops are then serial, and right. An iteration of a parallel loop can't leave the function: it notes
//! a failure, jumps to its end, and the others do nothing from then on.
//!
//! ```text
//! for c in 0 .. n parallel {        LACUNAR_OMP(omp parallel for schedule(dynamic, 1))
//!   alloc w[m];                     for (int64_t c = 0; c < n; c++) {
//!   ..                                  int32_t failure;
//! }                                     LACUNAR_OMP(omp atomic read)
//!                                       failure = status;
//!                                       if (failure != LACUNAR_OK) { continue; }
//!                                       ..                                          failures: goto end_c
//!                                   end_c:
//!                                       lac_release(runtime, w);
//!                                       if (failure != LACUNAR_OK) {
//!                                           LACUNAR_OMP(omp atomic write)
//!                                           status = failure;
//!                                       }
//!                                   }
//!                                   if (status != LACUNAR_OK) { goto cleanup; }
//! ```

use lacunar_formats::{DType, Kind};
use lacunar_imp::{ArrayId, BinaryOp, Block, Expr, ExprId, LoopKind, Reduction, Stmt, VarId, loops};

use crate::expr::{Binding, Text};
use crate::facts::visit;
use crate::helpers::Helper;
use crate::kernel::{KernelPrinter, Scope};
use crate::types::c_type;

/// The greatest number that GCC takes for the times that a loop is unrolled.
const MOST_UNROLLED: i64 = 65534;
/// The longest loop that is unrolled as a whole, lest it be more text than it is worth.
const LONGEST_UNROLLED: i64 = 256;

impl KernelPrinter<'_> {
    /// Prints the loop `stmt`: counter, bounds and body are its own.
    pub(crate) fn for_loop(
        &mut self,
        stmt: &Stmt,
        kind: LoopKind,
        (var, begin, end): (VarId, ExprId, ExprId),
        body: &Block,
    ) {
        self.name_shared(&[begin, end]);
        let count = self.as_int(begin).zip(self.as_int(end)).map(|(begin, end)| end.saturating_sub(begin));
        let name = self.var_name(var);
        let (begin, mut bound) = (self.bound(begin), self.bound(end));
        // The bound is evaluated once, and the values that it reads may change. The smallest integer as a bound would
        // make compilers warn of a comparison that always fails.
        if self.changes(body, end) || self.as_int(end) == Some(i64::MIN) {
            let once = self.namer.unique(&format!("{name}_end"));
            self.line(format_args!("const int64_t {once} = {};", bound.text));
            bound = Text::primary(once);
        }
        let bound = bound.at_least(Binding::Sum);
        let head = format!("for (int64_t {name} = {}; {name} < {bound}; {name}++)", begin.text);
        match kind {
            LoopKind::Serial => {}
            LoopKind::Parallel => return self.parallel_loop(&name, &head, body),
            LoopKind::Vector(lanes) => self.simd(stmt, lanes.width, body),
            LoopKind::Unrolled(turns) => self.unroll(turns.times, count),
        }
        self.braces(head, |printer| printer.block(body));
    }

    /// True if a block may change the value of an expression: it assigns to a variable that the expression reads.
    fn changes(&self, block: &Block, expr: ExprId) -> bool {
        // Only expressions that a reader can take in at a glance are looked through.
        if !self.facts.reads_mutable(expr) || self.facts.tree_size(expr) > 8 {
            return self.facts.reads_mutable(expr);
        }
        let mut read = Vec::new();
        let mut pending = vec![expr];
        while let Some(expr) = pending.pop() {
            pending.extend(self.facts.printed_operands(self.function, expr));
            if let Expr::Var(var) = self.function.exprs[expr] {
                read.push(var);
            }
        }
        let mut assigned = false;
        visit(block, &mut |stmt| assigned |= matches!(stmt, Stmt::Assign { var, .. } if read.contains(var)));
        assigned
    }

    /// A directive for OpenMP.
    fn directive(&mut self, text: &str) {
        self.directives = true;
        let omp = self.helpers.name(Helper::Omp);
        self.line(format_args!("{omp}({text})"));
    }

    /// The directive before a vector loop; none where OpenMP's reductions are not the IR's.
    fn simd(&mut self, stmt: &Stmt, width: u32, body: &Block) {
        let Some(reductions) = loops::reductions(self.function, body) else { return };
        let mut clauses = if width > 1 { format!(" simdlen({width})") } else { String::new() };
        for Reduction { var, op } in reductions.into_iter().filter(|reduction| self.facts.is_live(reduction.var)) {
            let ty = self.function.vars[var].ty;
            let Some(operator) = reduction_operator(op, ty).filter(|_| !(self.function.strict && ty.is_float())) else {
                return;
            };
            clauses.push_str(&format!(" reduction({operator}: {})", self.var_name(var)));
        }
        // Elements that are added up would have to be variables.
        if loops::reduced_elements(self.function, stmt).is_empty() {
            self.directive(&format!("omp simd{clauses}"));
        }
    }

    /// The directive before a loop to be unrolled, so many times or, if that is 0, as often as it has iterations.
    fn unroll(&mut self, times: u32, count: Option<i64>) {
        let times = if times > 0 { Some(i64::from(times)) } else { count.filter(|&count| count <= LONGEST_UNROLLED) };
        if let Some(times) = times.filter(|&times| times > 1) {
            let gnu = self.helpers.name(Helper::Gnu);
            self.line(format_args!("{gnu}(GCC unroll {})", times.min(MOST_UNROLLED)));
        }
    }

    fn parallel_loop(&mut self, counter: &str, head: &str, body: &Block) {
        let own: Vec<ArrayId> = loops::private_arrays(self.function, body);
        let own: Vec<ArrayId> = own.into_iter().filter(|&array| self.facts.is_used(array)).collect();
        let inner = Scope {
            status: self.namer.unique("failure"),
            memory: self.namer.unique("memory"),
            exit: self.namer.unique(&format!("end_{counter}")),
            uses_memory: false,
            jumps: false,
        };
        let outer = std::mem::replace(&mut self.scope, inner);
        let before = std::mem::take(&mut self.out);
        self.parallel += 1;
        self.indent += 1;
        self.block(body);
        self.parallel -= 1;
        self.indent -= 1;
        let text = std::mem::replace(&mut self.out, before);
        let inner = std::mem::replace(&mut self.scope, outer);
        // Within another parallel loop the threads are taken.
        let on_threads = self.parallel == 0;
        if on_threads {
            self.directive("omp parallel for schedule(dynamic, 1)");
        }
        self.braces(head, |printer| {
            printer.begin_iteration(&inner, on_threads);
            own.iter().for_each(|&array| printer.declare_array(array));
            printer.out.push_str(&text);
            if inner.jumps {
                // A label stands before a statement.
                let empty = if own.is_empty() { " ;" } else { "" };
                printer.out.push_str(&format!("{}:{empty}\n", inner.exit));
            }
            own.iter().for_each(|&array| printer.release_array(array));
            printer.end_iteration(&inner, on_threads);
        });
        if inner.jumps {
            self.leave_if_failed();
        }
    }

    /// Skips the iteration if another one has failed.
    fn begin_iteration(&mut self, inner: &Scope, on_threads: bool) {
        if inner.jumps {
            self.line(format_args!("int32_t {};", inner.status));
            if on_threads {
                self.directive("omp atomic read");
            }
            self.line(format!("{} = {};", inner.status, self.scope.status));
            self.braces(format_args!("if ({} != LACUNAR_OK)", inner.status), |printer| printer.line("continue;"));
        }
        if inner.uses_memory {
            self.line(format_args!("struct lac_memory {};", inner.memory));
        }
    }

    /// Tells the others if the iteration has failed.
    fn end_iteration(&mut self, inner: &Scope, on_threads: bool) {
        if !inner.jumps {
            return;
        }
        self.braces(format_args!("if ({} != LACUNAR_OK)", inner.status), |printer| {
            if on_threads {
                printer.directive("omp atomic write");
            }
            printer.line(format!("{} = {};", printer.scope.status, inner.status));
        });
    }

    /// Combines an element with a value, indivisibly if there can be several threads.
    pub(crate) fn atomic(&mut self, array: ArrayId, index: ExprId, value: ExprId, op: BinaryOp) {
        let ty = self.function.arrays[array].elem;
        if self.parallel == 0 {
            return self.store(array, index, value, Some(op));
        }
        if let (DType::Bool, Some(decisive)) = (ty, decisive(op)) {
            return self.atomic_flag(array, index, value, decisive);
        }
        self.name_shared(&[index, value]);
        let (element, value) = (format!("{}[{}]", self.array_name(array), self.index(index)), self.expr(value));
        if ty.is_complex() {
            return self.atomic_parts(&element, &value, ty);
        }
        if !has_atomic(op, ty) {
            let combine = self.helpers.name(Helper::Atomic(op, ty));
            self.directives = true;
            return self.line(format_args!("{combine}(&{element}, {});", value.text));
        }
        let operator = op.name();
        self.directive("omp atomic");
        if ty.kind() == Kind::Signed && op == BinaryOp::Add {
            // The sum of unsigned integers wraps.
            let unsigned = if ty == DType::I64 { "uint64_t" } else { "uint32_t" };
            let value = value.at_least(Binding::Prefix);
            self.line(format_args!("*({unsigned} *)&{element} += ({unsigned}){value};"));
        } else {
            self.line(format_args!("{element} {operator}= {};", value.text));
        }
    }

    /// Sets an element of type `Bool` to `decisive` if the value is that, which decides the result.
    fn atomic_flag(&mut self, array: ArrayId, index: ExprId, value: ExprId, decisive: bool) {
        let known = self.facts.known(value).map(|value| value.bits != 0);
        self.name_shared(&[index, value]);
        let (element, value) = (format!("{}[{}]", self.array_name(array), self.index(index)), self.expr(value));
        let set = |printer: &mut Self| {
            printer.directive("omp atomic write");
            printer.line(format_args!("{element} = {decisive};"));
        };
        if known == Some(decisive) {
            return set(self);
        }
        let cond = if decisive { value.text } else { format!("!{}", value.at_least(Binding::Prefix)) };
        self.braces(format_args!("if ({cond})"), set);
    }

    /// Adds to both parts of a complex element.
    fn atomic_parts(&mut self, element: &str, value: &Text, ty: DType) {
        self.helpers.include("complex.h");
        let (part, suffix) = (c_type(ty.part()), if ty == DType::C64 { "f" } else { "" });
        let term = self.namer.unique("term");
        self.braces("", |printer| {
            printer.line(format_args!("const {} {term} = {};", c_type(ty), value.text));
            for (number, function) in ["creal", "cimag"].into_iter().enumerate() {
                printer.directive("omp atomic");
                printer.line(format_args!("(({part} *)&{element})[{number}] += {function}{suffix}({term});"));
            }
        });
    }
}

/// OpenMP's operator for a reduction that gives the same as the IR's, on every value.
fn reduction_operator(op: BinaryOp, ty: DType) -> Option<&'static str> {
    let bitwise = matches!(op, BinaryOp::And | BinaryOp::Or | BinaryOp::Xor);
    match ty.kind() {
        // OpenMP's minimum loses NaN, and signed sums could overflow in it; compilers find the latter's vectors anyway.
        Kind::Real => matches!(op, BinaryOp::Add | BinaryOp::Mul).then(|| op.name()),
        Kind::Signed => (bitwise || matches!(op, BinaryOp::Min | BinaryOp::Max)).then(|| op.name()),
        Kind::Unsigned => {
            let wraps = matches!(ty, DType::U32 | DType::U64);
            (wraps || !matches!(op, BinaryOp::Add | BinaryOp::Mul)).then(|| op.name())
        }
        Kind::Bool => match op {
            BinaryOp::Xor => Some("^"),
            _ => decisive(op).map(|decisive| if decisive { "||" } else { "&&" }),
        },
        Kind::Complex => None,
    }
}

/// The value of type `Bool` that decides an operation's result whatever the other operand is.
fn decisive(op: BinaryOp) -> Option<bool> {
    match op {
        BinaryOp::Add | BinaryOp::Max | BinaryOp::Or => Some(true),
        BinaryOp::Mul | BinaryOp::Min | BinaryOp::And => Some(false),
        _ => None,
    }
}

/// True if OpenMP can combine an element with a value indivisibly: C has an operator that does it, on the type itself
/// and not on an `int`.
fn has_atomic(op: BinaryOp, ty: DType) -> bool {
    match op {
        BinaryOp::Add => ty.is_real() || (ty.is_integer() && ty.size() >= 4),
        BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => ty.is_integer() && ty.size() >= 4,
        _ => false,
    }
}

//! One kernel as a C function: statements, and the way in and out.
//!
//! On entry the fields of the argument structure become local variables of the same names. On every exit, be it the end
//! or a failure, the memory of grown arrays is handed back through the structure and that of local arrays is released;
//! where there is such work, failures `goto cleanup`.
//!
//! ```text
//! grow y_crd[n * 1];        memory = lac_grow(runtime, y_crd, y_crd_capacity, (uint64_t)n, sizeof *y_crd, false);
//!                           y_crd = memory.start;
//!                           y_crd_capacity = memory.capacity;
//!                           status = memory.status;
//!                           if (status != LACUNAR_OK) { goto cleanup; }
//! ```

use std::fmt::Display;

use lacunar_formats::DType;
use lacunar_imp::{
    Arg, Array, ArrayId, ArrayRole, BinaryOp, Block, Callee, Expr, ExprId, Function, Param, Status, Stmt, VarId,
    type_code,
};
use rustc_hash::FxHashMap;

use crate::expr::{Binding, Text};
use crate::facts::{Facts, shared_subexpressions};
use crate::helpers::{Helper, Helpers};
use crate::interface::Names;
use crate::namer::Namer;
use crate::types::c_type;

/// Prints the body of one kernel.
pub(crate) struct KernelPrinter<'f> {
    pub(crate) function: &'f Function,
    pub(crate) facts: Facts,
    pub(crate) helpers: Helpers,
    /// Subexpressions of the statement being printed that have a variable of their own.
    pub(crate) temporaries: FxHashMap<ExprId, String>,
    names: &'f Names,
    pub(crate) namer: Namer,
    remarks: bool,
    pub(crate) indent: usize,
    pub(crate) out: String,
    pub(crate) uses_runtime: bool,
    pub(crate) scope: Scope,
    /// The number of parallel loops around the statement being printed.
    pub(crate) parallel: usize,
    /// True if there are directives for OpenMP.
    pub(crate) directives: bool,
}

/// A part that can fail and has a way out: the function, or the body of a parallel loop.
pub(crate) struct Scope {
    /// The variable that takes the status of a failure.
    pub(crate) status: String,
    /// The variable that takes the memory of an allocation.
    pub(crate) memory: String,
    /// The label of the way out.
    pub(crate) exit: String,
    pub(crate) uses_memory: bool,
    pub(crate) jumps: bool,
}

/// The text of a kernel's function and the helpers that it calls.
pub(crate) struct KernelText {
    pub(crate) text: String,
    pub(crate) helpers: Helpers,
    /// True if it has directives for OpenMP.
    pub(crate) directives: bool,
}

/// Prints the definition of a kernel's function. `names` are its names in C; `remarks` is true if comments are printed.
pub(crate) fn print_kernel(function: &Function, names: &Names, remarks: bool) -> KernelText {
    let mut printer = KernelPrinter {
        function,
        facts: Facts::of(function),
        helpers: Helpers::default(),
        temporaries: FxHashMap::default(),
        names,
        namer: names.namer.clone(),
        remarks,
        indent: 1,
        out: String::new(),
        uses_runtime: false,
        scope: Scope::of_function(),
        parallel: 0,
        directives: false,
    };
    printer.block(&function.body);
    let body = std::mem::take(&mut printer.out);
    printer.epilogue();
    let epilogue = std::mem::take(&mut printer.out);
    printer.prologue();
    let symbol = &names.symbol;
    let space = if printer.out.is_empty() { "" } else { "\n" };
    let text = format!("int32_t {symbol}(struct {symbol}_args *args)\n{{\n{}{space}{body}{epilogue}}}\n", printer.out);
    KernelText { text, helpers: printer.helpers, directives: printer.directives }
}

impl Scope {
    fn of_function() -> Scope {
        let [status, memory, exit] = ["status", "memory", "cleanup"].map(String::from);
        Scope { status, memory, exit, uses_memory: false, jumps: false }
    }
}

impl KernelPrinter<'_> {
    pub(crate) fn line(&mut self, text: impl Display) {
        for _ in 0..self.indent {
            self.out.push_str("    ");
        }
        self.out.push_str(&text.to_string());
        self.out.push('\n');
    }

    /// A line that opens a block, the block's content, and its end.
    pub(crate) fn braces(&mut self, head: impl Display, content: impl FnOnce(&mut Self)) {
        self.line(format!("{head} {{").trim_start());
        self.indent += 1;
        content(self);
        self.indent -= 1;
        self.line("}");
    }

    pub(crate) fn var_name(&self, var: VarId) -> String {
        self.names.vars[var.index()].clone()
    }

    pub(crate) fn array_name(&self, array: ArrayId) -> String {
        self.names.arrays[array.index()].clone()
    }

    pub(crate) fn capacity_name(&self, array: ArrayId) -> String {
        self.names.capacities[array.index()].clone()
    }

    // The way in and out.

    /// Arrays whose memory the kernel has to hand back or release.
    fn owned(&self, role: ArrayRole) -> Vec<ArrayId> {
        let arrays = self.function.arrays.iter().filter(|(_, array)| array.role == role);
        arrays.map(|(id, _)| id).filter(|&id| self.facts.is_used(id) && !self.facts.is_private(id)).collect()
    }

    /// Arrays and lists of parts that the kernel releases at its end.
    fn released(&self) -> Vec<ArrayId> {
        [self.owned(ArrayRole::Local), self.owned(ArrayRole::Parts)].concat()
    }

    fn has_cleanup(&self) -> bool {
        let grown = self.owned(ArrayRole::Grown).iter().any(|&array| self.facts.is_grown(array));
        grown || !self.released().is_empty()
    }

    fn prologue(&mut self) {
        if self.uses_runtime {
            self.line("const struct lacunar_runtime *const runtime = args->runtime;");
        }
        let mut unpacked = self.uses_runtime;
        for &param in &self.function.params {
            unpacked |= self.unpack(param);
        }
        if !unpacked {
            self.line("(void)args;");
        }
        for array in self.released() {
            self.declare_array(array);
        }
        if self.scope.uses_memory {
            self.line("struct lac_memory memory;");
        }
        if self.scope.jumps {
            self.line("int32_t status = LACUNAR_OK;");
        }
    }

    /// Makes a field of the argument structure a local variable; not if nothing reads it.
    fn unpack(&mut self, param: Param) -> bool {
        match param {
            Param::Scalar(var) if self.facts.is_live(var) => {
                let name = self.var_name(var);
                self.line(format_args!("const int64_t {name} = args->{name};"));
            }
            Param::Array(id) if self.facts.is_used(id) => {
                let array = &self.function.arrays[id];
                let (name, capacity) = (self.array_name(id), self.capacity_name(id));
                let qualifier = if array.role == ArrayRole::Input { "const " } else { "" };
                self.line(format_args!("{qualifier}{} *restrict {name} = args->{name};", c_type(array.elem)));
                if self.facts.is_grown(id) {
                    self.line(format_args!("uint64_t {capacity} = args->{capacity};"));
                }
            }
            _ => return false,
        }
        true
    }

    fn epilogue(&mut self) {
        if self.scope.jumps {
            self.out.push_str("\ncleanup:\n");
        }
        for array in self.owned(ArrayRole::Grown) {
            if !self.facts.is_grown(array) {
                continue;
            }
            let (name, capacity) = (self.array_name(array), self.capacity_name(array));
            self.line(format_args!("args->{name} = {name};"));
            self.line(format_args!("args->{capacity} = {capacity};"));
        }
        for array in self.released() {
            self.release_array(array);
        }
        self.line(if self.scope.jumps { "return status;" } else { "return LACUNAR_OK;" });
    }

    fn fail(&mut self, status: Status) {
        let name = match status {
            Status::OutOfMemory => "LACUNAR_OUT_OF_MEMORY",
            Status::SizeOverflow => "LACUNAR_SIZE_OVERFLOW",
            Status::TooShort => "LACUNAR_TOO_SHORT",
            Status::WrongType => "LACUNAR_WRONG_TYPE",
            Status::WrongSize => "LACUNAR_WRONG_SIZE",
            Status::OutOfRange => "LACUNAR_OUT_OF_RANGE",
        };
        self.fail_with(name);
    }

    /// Leaves with a status that an expression gives.
    fn fail_with(&mut self, status: &str) {
        if self.parallel > 0 || self.has_cleanup() {
            self.line(format!("{} = {status};", self.scope.status));
            self.jump();
        } else {
            self.line(format_args!("return {status};"));
        }
    }

    /// Leaves by the way out, with the status that has been noted.
    pub(crate) fn jump(&mut self) {
        self.scope.jumps = true;
        self.line(format!("goto {};", self.scope.exit));
    }

    // Statements.

    pub(crate) fn block(&mut self, block: &Block) {
        for stmt in block {
            self.stmt(stmt);
        }
    }

    /// Gives the large or deep common parts of a statement's expressions variables, printed before it.
    pub(crate) fn name_shared(&mut self, roots: &[ExprId]) {
        self.temporaries.clear();
        for expr in shared_subexpressions(self.function, &self.facts, roots) {
            let value = self.expr(expr);
            let name = self.namer.unique("shared");
            self.line(format_args!("const {} {name} = {};", c_type(self.facts.type_of(expr)), value.text));
            self.temporaries.insert(expr, name);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match *stmt {
            Stmt::Define { var, .. } | Stmt::Assign { var, .. } | Stmt::Load { var, .. }
                if !self.facts.is_live(var) => {}
            Stmt::Define { var, value } => {
                self.name_shared(&[value]);
                let value = self.expr(value);
                self.define(var, &value.text);
            }
            Stmt::Assign { var, value } => {
                self.name_shared(&[value]);
                let (name, text) = (self.var_name(var), self.expr(value));
                match self.function.exprs[value] {
                    Expr::Binary(op, a, b) if self.function.exprs[a] == Expr::Var(var) => {
                        let operand = self.expr(b);
                        self.update(&name, op, &operand, &text);
                    }
                    _ => self.line(format_args!("{name} = {};", text.text)),
                }
            }
            Stmt::Load { var, array, index } => {
                self.name_shared(&[index]);
                let (array, index) = (self.array_name(array), self.index(index));
                self.define(var, &format!("{array}[{index}]"));
            }
            Stmt::Store { array, index, value, reduce, .. } => self.store(array, index, value, reduce),
            Stmt::For { var, begin, end, kind, ref body, .. } => self.for_loop(stmt, kind, (var, begin, end), body),
            Stmt::While { cond, ref body } => self.while_loop(cond, body),
            Stmt::Break => self.line("break;"),
            Stmt::If { cond, ref then, ref otherwise } => {
                self.name_shared(&[cond]);
                self.branch(cond, then, otherwise);
            }
            Stmt::Alloc { array, len, .. } if self.function.arrays[array].role == ArrayRole::Parts => {
                self.alloc_parts(array, len);
            }
            Stmt::Alloc { array, len, zeroed } => self.alloc(array, len, zeroed),
            Stmt::Grow { array, count, block, zeroed } => self.grow(array, count, block, zeroed),
            Stmt::Atomic { array, index, value, op } => self.atomic(array, index, value, op),
            Stmt::Deposit { parts, slot, array, len } => self.deposit(parts, slot, array, len),
            Stmt::Collect { array, at, parts, bias, result } => self.collect(array, at, parts, bias, result),
            Stmt::Fill { array, begin, end, value } => self.fill(array, begin, end, value),
            Stmt::Call { callee, ref args, result } => self.call(callee, args, result),
            Stmt::Fail(status) => self.fail(status),
            Stmt::Prefetch { array, begin, end } => self.prefetch(array, begin, end),
            Stmt::Comment(ref text) => self.comment(text),
        }
    }

    pub(crate) fn define(&mut self, var: VarId, value: &str) {
        let declared = &self.function.vars[var];
        let qualifier = if declared.mutable { "" } else { "const " };
        let (ty, name) = (c_type(declared.ty), self.var_name(var));
        self.line(format_args!("{qualifier}{ty} {name} = {value};"));
    }

    pub(crate) fn store(&mut self, array: ArrayId, index: ExprId, value: ExprId, reduce: Option<BinaryOp>) {
        self.name_shared(&[index, value]);
        let element = format!("{}[{}]", self.array_name(array), self.index(index));
        let value = self.expr(value);
        let Some(op) = reduce else {
            self.line(format_args!("{element} = {};", value.text));
            return;
        };
        let ty = self.function.arrays[array].elem;
        let plain = ty == DType::I64 && !self.facts.holds_values(array);
        let combined = self.binary(op, ty, &Text::primary(element.clone()), &value, plain);
        self.update(&element, op, &value, &combined);
    }

    /// Gives `place` the value `combined`, which is `place op operand`: with C's `op=` where C has the operator.
    fn update(&mut self, place: &str, op: BinaryOp, operand: &Text, combined: &Text) {
        let operator = op.name();
        if combined.text.starts_with(&format!("{place} {operator} ")) {
            self.line(format_args!("{place} {operator}= {};", operand.text));
        } else {
            self.line(format_args!("{place} = {};", combined.text));
        }
    }

    fn while_loop(&mut self, cond: ExprId, body: &Block) {
        if shared_subexpressions(self.function, &self.facts, &[cond]).is_empty() {
            self.temporaries.clear();
            let cond = self.expr(cond);
            self.braces(format_args!("while ({})", cond.text), |printer| printer.block(body));
            return;
        }
        self.braces("while (true)", |printer| {
            printer.name_shared(&[cond]);
            let cond = printer.expr(cond);
            printer.braces(format_args!("if (!({}))", cond.text), |printer| printer.line("break;"));
            printer.block(body);
        });
    }

    /// A branch whose condition's shared parts have been printed; `else if` where the alternative is just a branch.
    fn branch(&mut self, cond: ExprId, then: &Block, otherwise: &Block) {
        let mut head = format!("if ({})", self.expr(cond).text);
        let (mut then, mut otherwise) = (then, otherwise);
        loop {
            self.line(format_args!("{head} {{"));
            self.indent += 1;
            self.block(then);
            self.indent -= 1;
            match otherwise.as_slice() {
                [] => break,
                [Stmt::If { cond, then: next_then, otherwise: next_otherwise }]
                    if shared_subexpressions(self.function, &self.facts, &[*cond]).is_empty() =>
                {
                    self.temporaries.clear();
                    head = format!("}} else if ({})", self.expr(*cond).text);
                    (then, otherwise) = (next_then, next_otherwise);
                }
                _ => {
                    let before = self.out.len();
                    self.line("} else {");
                    let opened = self.out.len();
                    self.indent += 1;
                    self.block(otherwise);
                    self.indent -= 1;
                    if self.out.len() == opened {
                        self.out.truncate(before);
                    }
                    break;
                }
            }
        }
        self.line("}");
    }

    fn fill(&mut self, array: ArrayId, begin: ExprId, end: ExprId, value: ExprId) {
        self.name_shared(&[begin, end, value]);
        let [begin, end, value] = [begin, end, value].map(|expr| self.expr(expr));
        let (name, at) = (self.array_name(array), self.namer.unique("at"));
        let head = format!("for (int64_t {at} = {}; {at} < {}; {at}++)", begin.text, end.at_least(Binding::Sum));
        self.braces(head, |printer| printer.line(format_args!("{name}[{at}] = {};", value.text)));
    }

    fn prefetch(&mut self, array: ArrayId, begin: ExprId, end: ExprId) {
        self.name_shared(&[begin, end]);
        let (name, size) = (self.array_name(array), self.function.arrays[array].elem.size());
        let [begin, end] = [begin, end].map(|expr| self.expr(expr).text);
        let prefetch = self.helpers.name(Helper::Prefetch);
        self.line(format_args!("{prefetch}({name}, {begin}, {end}, {size});"));
    }

    // Calls.

    fn call(&mut self, callee: Callee, args: &[Arg], result: Option<VarId>) {
        let result = result.filter(|&var| self.facts.is_live(var));
        if callee == Callee::LowerBound && result.is_none() {
            return;
        }
        let scalars: Vec<ExprId> = args.iter().filter_map(|arg| scalar(*arg)).collect();
        self.name_shared(&scalars);
        let scalars: Vec<String> = scalars.into_iter().map(|expr| self.expr(expr).text).collect();
        let arrays: Vec<ArrayId> = args.iter().filter_map(|arg| array(*arg)).collect();
        let names: Vec<String> = arrays.iter().map(|&array| self.array_name(array)).collect();
        // The verifier has checked the arguments: a callee without them is not printed.
        match (callee, arrays.as_slice()) {
            (Callee::LowerBound, &[searched]) => {
                let search = self.helpers.name(Helper::LowerBound(self.function.arrays[searched].elem));
                if let Some(var) = result {
                    self.define(var, &format!("{search}({}, {})", names[0], scalars.join(", ")));
                }
            }
            (Callee::Unpack, [_]) => {
                let unpack = self.helpers.name(Helper::Unpack);
                if let ([at, rest @ ..], [list]) = (scalars.as_slice(), names.as_slice()) {
                    let call = format!("{unpack}(&{list}[{at}], {})", rest.join(", "));
                    match result {
                        Some(var) => self.define(var, &call),
                        None => self.line(format_args!("{call};")),
                    }
                }
            }
            (Callee::Marks, [_]) => {
                let marks = self.helpers.name(Helper::Marks);
                if let (Some(var), [at], [array]) = (result, scalars.as_slice(), names.as_slice()) {
                    self.define(var, &format!("{marks}(&{array}[{at}])"));
                }
            }
            (Callee::Take, [_]) => {
                self.directives = true;
                let call = format!("{}({})", self.helpers.name(Helper::Take), names[0]);
                match result {
                    Some(var) => self.define(var, &call),
                    None => self.line(format_args!("{call};")),
                }
            }
            (Callee::Raised, [_]) => {
                self.directives = true;
                let raised = self.helpers.name(Helper::Raised);
                if let Some(var) = result {
                    self.define(var, &format!("{raised}({})", names[0]));
                }
            }
            (Callee::Length, &[array]) => self.length(array, result),
            (Callee::SortMarked, [_, _]) => {
                self.uses_runtime = true;
                let sort = self.helpers.name(Helper::SortMarked);
                let [list, marks] = [&names[0], &names[1]];
                let (n, size) = (scalars.first(), scalars.get(1));
                if let (Some(n), Some(size)) = (n, size) {
                    self.line(format_args!("{sort}(runtime, {list}, {n}, {marks}, {size});"));
                }
            }
            (Callee::SortCombine, &[values, ..]) => {
                self.uses_runtime = true;
                let sort = self.helpers.name(Helper::SortCombine(self.function.arrays[values].elem));
                let keys = names[1..].join(", ");
                let number = names.len() - 1;
                let call =
                    format!("{sort}(runtime, (int64_t *[]){{{keys}}}, {number}, {}, {})", names[0], scalars.join(", "));
                let failed = match result {
                    Some(var) => {
                        self.define(var, &call);
                        format!("{} < 0", self.var_name(var))
                    }
                    None => format!("{call} < 0"),
                };
                self.braces(format_args!("if ({failed})"), |printer| printer.fail(Status::OutOfMemory));
            }
            _ => {}
        }
    }

    /// The length that the caller gives an array, from the structure: a mistake in it is its status, negative.
    fn length(&mut self, array: ArrayId, result: Option<VarId>) {
        let length = self.helpers.name(Helper::Length);
        let (name, capacity) = (self.array_name(array), self.capacity_name(array));
        let Array { role, elem, .. } = self.function.arrays[array];
        // The caller gives no type code for arrays that the kernel makes.
        let code = if role == ArrayRole::Grown { 0 } else { type_code(elem) };
        let given = match result {
            Some(var) => self.var_name(var),
            None => self.namer.unique("given"),
        };
        self.line(format_args!("const int64_t {given} = {length}(args->{name}, args->{capacity}, {code});"));
        self.braces(format_args!("if ({given} < 0)"), |printer| {
            printer.fail_with(&format!("(int32_t)-{given}"));
        });
    }

    pub(crate) fn as_int(&self, expr: ExprId) -> Option<i64> {
        self.facts.known(expr).filter(|value| value.ty == DType::I64).map(|value| value.bits as i64)
    }

    fn comment(&mut self, text: &str) {
        if self.remarks {
            for line in text.lines() {
                self.line(format_args!("// {}", comment_text(line)).to_string().trim_end());
            }
        }
    }
}

fn scalar(arg: Arg) -> Option<ExprId> {
    match arg {
        Arg::Scalar(expr) => Some(expr),
        Arg::Array(_) => None,
    }
}

fn array(arg: Arg) -> Option<ArrayId> {
    match arg {
        Arg::Array(array) => Some(array),
        Arg::Scalar(_) => None,
    }
}

/// A line of a remark as a comment that ends with the line: it has no control characters, none that turn the direction
/// of writing, and no backslash (nor its trigraph) at the end, which would continue the comment on the next line.
fn comment_text(line: &str) -> String {
    let turns = |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let ends = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    let text: String = line.chars().map(|c| if turns(c) || ends(c) { ' ' } else { c }).collect();
    let text = text.trim_end();
    if text.ends_with('\\') || text.ends_with("??/") { format!("{text} .") } else { text.to_string() }
}
